"""The calls of other programs (logging, backlog, diagnostics, metrics), and the documentation of
all calls: `/api/openapi.json` for programs, `/api/docs` for people, the table of roles in the
reference."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from assay.core.errors import InputError
from assay.web.access import GET, POST, AppRoute
from assay.web.page_frame import body, json, page, query, service_of
from assay.workbench.project import health, logs
from assay.workbench.review.queue import BacklogFigures, backlog_figures

MAX_RECORDS = 1000  # in one request; taste
READING_SECONDS = 30.0  # for the citations in the texts of one request; taste
REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")  # of a path, without what may stand there
_WHERE = re.compile(
    rf'(?<=")({re.escape(REFERENCE.format(name=""))})?assay\.(?:\w+\.)*(\w+)\.(\w+)(?=")'
)
DOORS = {
    "session": {"type": "apiKey", "in": "cookie", "name": "assay_session"},
    "key": {"type": "http", "scheme": "bearer"},
}

JsonObject = dict[str, Any]


class DecisionsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`corpus`, once or several times, resolves citations in the texts; `same_case=1` keeps to
    searches made for the decision's own case."""

    corpus: list[str] = []
    same_case: str = ""


def log(request: Request) -> Response:
    """One search or a list of them. Answers at once: the store is written behind."""
    logged = logs.log_searches(service_of(request), _sent_records(request))
    answer = json(logged, 503 if logged.dropped else 202)
    if logged.dropped:
        answer.headers["Retry-After"] = "5"
    return answer


def feedback(request: Request) -> Response:
    """Clicks and votes."""
    sent = _with_positions(_sent_records(request))
    return json(logs.record_feedback(service_of(request), sent), 202)


def decisions(request: Request) -> Response:
    """Finalised decisions."""
    sent, asked = _with_positions(_sent_records(request)), query(request, DecisionsQuery)
    done = logs.record_decisions(
        service_of(request),
        sent,
        corpora=[name for name in asked.corpus if name],
        same_case=asked.same_case == "1",
        seconds=READING_SECONDS,
    )
    return json(done, 202)


def diagnostics(request: Request) -> Response:
    probe = request.query_params.get("probe") == "1"
    parts = health.diagnostics(service_of(request), probe=probe)
    return json(parts, 200 if parts.store.status == "ok" else 503)


def backlog(request: Request) -> Response:
    gold = request.query_params.get("gold", "")
    return json(backlog_figures(service_of(request), gold=gold))


def metrics(request: Request) -> Response:
    text = health.prometheus(service_of(request))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _sent_records(request: Request) -> list[object]:
    """The body as a list of objects."""
    sent = body(request, object)
    rows = sent if isinstance(sent, list) else [sent]
    if len(rows) > MAX_RECORDS:
        raise InputError(
            f"{len(rows)} records are more than {MAX_RECORDS}", hint="Send less at a time."
        )
    return rows


def _with_positions(rows: list[object]) -> list[tuple[str, object]]:
    """Each record with its place in the list, for complaints."""
    return [(f"[{number}]", row) for number, row in enumerate(rows)]


# ── the documentation ─────────────────────────────────────────────────────────────────────────────


class CallError(msgspec.Struct, frozen=True):
    """The answer of a call that failed."""

    error: str


def document(table: Iterable[AppRoute], version: str) -> JsonObject:
    """OpenAPI 3.1 of every call in a table; pages are left out."""
    calls = [row for row in table if row.is_api]
    used = [kind for row in calls for kind in (row.body, row.answer, row.query)]
    shapes, components = _with_short_names(
        msgspec.json.schema_components(
            [*filter(_has_schema, used), CallError], ref_template=REFERENCE
        )
    )
    remaining = iter(shapes)  # in the order of `used`
    refused = shapes[-1]  # by its own name: another type may be called so too
    paths: dict[str, JsonObject] = {}
    for row in calls:
        sent, answered, asked = (
            next(remaining) if _has_schema(kind) else None
            for kind in (row.body, row.answer, row.query)
        )
        call = _call(row, sent, answered, _query_parameters(asked, components), refused)
        for method in row.methods:
            paths.setdefault(_PARAMETER.sub(r"{\1}", row.path), {})[method.lower()] = call
    return {
        "openapi": "3.1.0",
        "info": {"title": "Assay", "version": version},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": DOORS},
    }


def _with_short_names(schemas: Any) -> Any:
    """Types that share a name come with their place in the source. Readers get it as one word:
    ReviewItemGrade, and not assay.workbench.review.item.Grade."""

    def word(match: re.Match[str]) -> str:
        return (match[1] or "") + match[2].title().replace("_", "") + match[3]

    return msgspec.json.decode(_WHERE.sub(word, msgspec.json.encode(schemas).decode()))


def _has_schema(kind: Any) -> bool:
    """Whether JSON Schema can describe a type; one that it cannot is left out."""
    try:
        msgspec.json.schema_components([kind])
    except TypeError:
        return False
    return kind is not None


def _call(
    row: AppRoute, body: object, answered: object, parameters: list[JsonObject], refused: object
) -> JsonObject:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(row.path)
    ]
    doors = [] if row.role == "anyone" else ["session", *(["key"] if row.key else [])]
    call = {
        "summary": row.summary,
        "description": f"Role: {row.role}.{f' Or a key of kind {row.key}.' if row.key else ''}",
        "x-role": row.role,
        "parameters": in_path + parameters,
        "responses": {
            "2XX": {"description": "Done"} | _content(answered),
            "4XX": {"description": "Why not"} | _content(refused),
        },
        "security": [{door: []} for door in doors],
    }
    return call | ({"requestBody": {"required": True} | _content(body)} if body else {})


def _query_parameters(reference: Any, components: Any) -> list[JsonObject]:
    """The fields of a query string."""
    if reference is None:
        return []
    shape = components[reference["$ref"].rsplit("/", 1)[1]]
    return [
        {"name": name, "in": "query", "required": name in shape["required"], "schema": kind}
        for name, kind in shape["properties"].items()
    ]


def _content(shape: object) -> JsonObject:
    return {"content": {"application/json": {"schema": shape}}} if shape else {}


def describe(app: Starlette) -> JsonObject:
    """The documentation of a server, made once: its table does not change."""
    from assay import __version__

    state = app.state
    if not hasattr(state, "openapi"):
        state.openapi = document(state.table, __version__)
    described: JsonObject = state.openapi
    return described


def openapi(request: Request) -> Response:
    return json(describe(request.app))


def docs(request: Request) -> Response:
    """The page that documents the calls."""
    described = describe(request.app)
    calls = [
        (
            path,
            method,
            call,
            _shape_of(call.get("requestBody")),
            _shape_of(call["responses"]["2XX"]),
        )
        for path, methods in described["paths"].items()
        for method, call in methods.items()
    ]
    shapes = {
        name: msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()
        for name, shape in described["components"]["schemas"].items()
    }
    return page(request, "openapi.html", calls=calls, shapes=shapes, named=type_name)


def _shape_of(part: JsonObject | None) -> str:
    if not part or "content" not in part:
        return ""
    return type_name(part["content"]["application/json"]["schema"])


def type_name(shape: object) -> str:
    """A type in a few letters: the name of a shape, or what JSON calls it."""
    if not isinstance(shape, dict):
        return "…"
    if "$ref" in shape:
        return str(shape["$ref"]).rsplit("/", 1)[1]
    if shape.get("type") == "array":
        return f"[{type_name(shape.get('items'))}]"
    if "enum" in shape:
        return " | ".join(map(str, shape["enum"]))
    if "anyOf" in shape:
        return " | ".join(type_name(one) for one in shape["anyOf"])
    return str(shape.get("type", "…"))


def role_table(table: Iterable[AppRoute]) -> str:
    """A Markdown table of the lowest role for each page and call, narrow enough for a phone."""
    lines = ["| who | call |", "|---|---|"]
    for row in table:
        who = f"{row.key} key, {row.role}" if row.key else row.role
        lines.append(f"| {who} | `{'/'.join(row.methods)} {row.path}`<br>{row.summary} |")
    return "\n".join(lines) + "\n"


API_ROUTES = [
    AppRoute(
        "/api/log",
        log,
        POST,
        "admin",
        "Log searches: one, or a list",
        logs.SentSearch | list[logs.SentSearch],
        logs.LoggedSearches,
        key="log",
    ),
    AppRoute(
        "/api/feedback",
        feedback,
        POST,
        "admin",
        "Log clicks and votes: one, or a list",
        logs.SentFeedback | list[logs.SentFeedback],
        key="log",
    ),
    AppRoute(
        "/api/decisions",
        decisions,
        POST,
        "admin",
        "Log finalised decisions: one, or a list",
        logs.SentDecision | list[logs.SentDecision],
        logs.InferredFeedback,
        query=DecisionsQuery,
        key="log",
    ),
    AppRoute(
        "/api/backlog",
        backlog,
        GET,
        "reader",
        "What waits for review",
        answer=BacklogFigures,
        key="watch",
    ),
    AppRoute(
        "/api/system/diagnostics",
        diagnostics,
        GET,
        "reader",
        "What works and what does not; probe=1 tries the engines",
        answer=health.Diagnostics,
        key="watch",
    ),
    AppRoute("/metrics", metrics, GET, "reader", "Figures for Prometheus", key="watch"),
    AppRoute("/api/openapi.json", openapi, GET, "reader", "This documentation, for programs"),
    AppRoute("/api/docs", docs, GET, "reader", "This documentation, for people"),
]

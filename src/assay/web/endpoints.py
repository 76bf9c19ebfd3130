"""The calls of other programs without a page beside them: logging, backlog, diagnostics and
metrics."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from assay.core.errors import InputError
from assay.web.access import GET, POST, Guarded
from assay.web.page_frame import body, json, service_of
from assay.workbench.project import health, logs
from assay.workbench.review.backlog import BacklogFigures, backlog_figures

MAX_RECORDS = 1000


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
    """Finalised decisions. `?corpus=NAME`, once or several times, resolves citations in their text;
    `?same_case=1` keeps to their own case."""
    sent = _with_positions(_sent_records(request))
    asked = request.query_params
    done = logs.record_decisions(
        service_of(request),
        sent,
        corpora=[name for name in asked.getlist("corpus") if name],
        same_case=asked.get("same_case") == "1",
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


API_ROUTES = [
    Guarded(
        "/api/log",
        log,
        POST,
        "admin",
        "Log searches: one, or a list",
        logs.SentSearch | list[logs.SentSearch],
        logs.Logged,
        key="log",
    ),
    Guarded(
        "/api/feedback",
        feedback,
        POST,
        "admin",
        "Log clicks and votes: one, or a list",
        logs.SentFeedback | list[logs.SentFeedback],
        key="log",
    ),
    Guarded(
        "/api/decisions",
        decisions,
        POST,
        "admin",
        "Log finalised decisions: one, or a list",
        logs.SentDecision | list[logs.SentDecision],
        logs.Inferred,
        query=DecisionsQuery,
        key="log",
    ),
    Guarded(
        "/api/backlog",
        backlog,
        GET,
        "reader",
        "What waits for review",
        answer=BacklogFigures,
        key="watch",
    ),
    Guarded(
        "/api/system/diagnostics",
        diagnostics,
        GET,
        "reader",
        "What works and what does not; probe=1 tries the engines",
        answer=health.Diagnostics,
        key="watch",
    ),
    Guarded("/metrics", metrics, GET, "reader", "Figures for Prometheus", key="watch"),
]

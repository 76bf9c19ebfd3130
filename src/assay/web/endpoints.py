"""The JSON endpoints: what other programs call."""

from __future__ import annotations

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from assay.core.errors import InputError
from assay.workbench import health, logs
from assay.workbench.backlog import backlog_figures
from assay.workbench.opening import Service

MAX_BODY = 4 * 2**20
MAX_RECORDS = 1000


async def log(request: Request) -> Response:
    """One search or a list of them. Answers at once: the store is written behind."""
    logged = logs.log_searches(service_of(request), await _rows(request))
    answer = _json(logged, 503 if logged.dropped else 202)
    if logged.dropped:
        answer.headers["Retry-After"] = "5"
    return answer


async def feedback(request: Request) -> Response:
    """Clicks and votes."""
    sent = _placed(await _rows(request))
    done = await run_in_threadpool(logs.record_feedback, service_of(request), sent)
    return _json(done, 202)


async def decisions(request: Request) -> Response:
    """Finalised decisions. `?corpus=NAME` resolves citations in their text; `?same_case=1` keeps to
    their own case."""
    sent = _placed(await _rows(request))
    asked = request.query_params
    done = await run_in_threadpool(
        logs.record_decisions,
        service_of(request),
        sent,
        corpus=asked.get("corpus", ""),
        same_case=asked.get("same_case") == "1",
    )
    return _json(done, 202)


def diagnostics(request: Request) -> Response:
    probe = request.query_params.get("probe") == "1"
    parts = health.diagnostics(service_of(request), probe=probe)
    return _json(parts, 200 if parts.store.status == "ok" else 503)


def backlog(request: Request) -> Response:
    gold = request.query_params.get("gold", "")
    return _json(backlog_figures(service_of(request), gold=gold))


def metrics(request: Request) -> Response:
    text = health.prometheus(service_of(request))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


async def body_of(request: Request) -> bytes:
    """The body, read no further than the limit."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise InputError(
                f"the body is larger than {MAX_BODY // 2**20} MiB", hint="Send less at a time."
            )
    return bytes(body)


async def _rows(request: Request) -> list[object]:
    """The body as a list of objects."""
    try:
        sent = msgspec.json.decode(await body_of(request))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error
    rows = sent if isinstance(sent, list) else [sent]
    if len(rows) > MAX_RECORDS:
        raise InputError(
            f"{len(rows)} records are more than {MAX_RECORDS}", hint="Send less at a time."
        )
    return rows


def _placed(rows: list[object]) -> list[tuple[str, object]]:
    """Each record with its place in the list, for complaints."""
    return [(f"[{number}]", row) for number, row in enumerate(rows)]


API_ROUTES = [
    Route("/api/log", log, methods=["POST"]),
    Route("/api/feedback", feedback, methods=["POST"]),
    Route("/api/decisions", decisions, methods=["POST"]),
    Route("/api/backlog", backlog),
    Route("/api/system/diagnostics", diagnostics),
    Route("/metrics", metrics),
]

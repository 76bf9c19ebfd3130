"""The JSON endpoints: what other programs call."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from assay.core.errors import InputError
from assay.workbench.desk import Desk, search_from

MAX_BODY = 4 * 2**20
MAX_RECORDS = 1000


async def log(request: Request) -> Response:
    """One search or a list of them. Answers at once: the store is written behind."""
    rows = await _rows(request)
    searches = [search_from(row, f"[{number}]") for number, row in enumerate(rows)]
    recorder = _desk(request).recorder
    if recorder is None:
        raise InputError("this server does not record searches")
    dropped = sum(not recorder.put(search) for search in searches)
    answer = {"ids": [search.id for search in searches], "dropped": dropped}
    return JSONResponse(
        answer, status_code=503 if dropped else 202, headers={"Retry-After": "5"} if dropped else {}
    )


async def feedback(request: Request) -> Response:
    """Clicks and votes."""
    rows = [(f"[{number}]", row) for number, row in enumerate(await _rows(request))]
    done = await run_in_threadpool(_desk(request).record_feedback, rows)
    return _json(done, 202)


async def decisions(request: Request) -> Response:
    """Finalised decisions. `?corpus=NAME` resolves citations in their text; `?same_case=1` keeps to
    their own case."""
    rows = [(f"[{number}]", row) for number, row in enumerate(await _rows(request))]
    asked = request.query_params
    done = await run_in_threadpool(
        _desk(request).record_decisions,
        rows,
        corpus=asked.get("corpus", ""),
        same_case=asked.get("same_case") == "1",
    )
    return _json(done, 202)


def diagnostics(request: Request) -> Response:
    found = _desk(request).diagnostics(probe=request.query_params.get("probe") == "1")
    return _json(found, 200 if found["store"].get("status") == "ok" else 503)


def backlog(request: Request) -> Response:
    return _json(_desk(request).metrics(gold=request.query_params.get("gold", "")))


def metrics(request: Request) -> Response:
    return PlainTextResponse(
        _desk(request).prometheus(), media_type="text/plain; version=0.0.4; charset=utf-8"
    )


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


async def body_of(request: Request) -> bytes:
    """The body, read no further than the limit."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise InputError(
                f"the body is larger than {MAX_BODY // 2**20} MiB", hint="Send less at a time."
            )
    return bytes(body)


async def _rows(request: Request) -> list[Any]:
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


API_ROUTES = [
    Route("/api/log", log, methods=["POST"]),
    Route("/api/feedback", feedback, methods=["POST"]),
    Route("/api/decisions", decisions, methods=["POST"]),
    Route("/api/backlog", backlog),
    Route("/api/system/diagnostics", diagnostics),
    Route("/metrics", metrics),
]

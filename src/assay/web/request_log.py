"""The log of requests as JSON lines, and the probes `/healthz` and `/readyz`.

No line has anything that a person wrote: of a request it says the route and not the address, whose
query string is a search and whose path may name a document or hold an invitation; of an error its
kind and the places in the code, and not its message, which may repeat what was asked. The times,
levels and names of our own messages stay, with their texts, which are ours."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
import traceback
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.core.errors import AssayError
from assay.web.page_frame import json
from assay.workbench.project.service import Service

LogFormat = Literal["text", "json"]
PROBES = ("/healthz", "/readyz")
READY_SECONDS = 5.0  # in which the store must answer a probe; taste
FRAMES = 8  # of a traceback
_log = logging.getLogger("assay.requests")


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        request = getattr(record, "request", None)
        if isinstance(request, dict):
            line |= request
        elif record.name.partition(".")[0] == "assay":
            line["message"] = _safe_message(record)
        else:
            line["message"] = ""  # of a library: its texts are not ours to vouch for
        if record.exc_info and record.exc_info[1] is not None:
            line |= _error_fields(record.exc_info[1])
        return msgspec.json.encode(line).decode()


def _safe_message(record: logging.LogRecord) -> str:
    """Our own text, with the numbers that are filled in and nothing else."""
    given = record.args if isinstance(record.args, tuple) else ()
    known = tuple(one if isinstance(one, int | float) else "…" for one in given)
    try:
        return str(record.msg) % known
    except (TypeError, ValueError):
        return str(record.msg)


def _error_fields(error: BaseException) -> dict[str, object]:
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames]
    return {"error": type(error).__name__, "at_code": places}


class _StderrHandler(logging.Handler):
    """Where stderr is when something is said: logging's own handler stays with the one it was made
    with, which may be closed by then."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


def write_json_lines() -> None:
    """All that is logged goes to stderr as JSON lines."""
    handler = _StderrHandler()
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("assay.requests", "assay.server"):
        logging.getLogger(name).setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True


class RequestLog:
    """One line a request: method, route, status, milliseconds, bytes. Nothing of who or what."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _log.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        started, status, size = time.perf_counter(), 500, 0

        async def noted(message: Any) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            fields = {
                "method": scope["method"],
                "route": _route_of(scope),
                "status": status,
                "millis": round((time.perf_counter() - started) * 1000, 1),
                "bytes": size,
            }
            _log.info("request", extra={"request": fields})


def _route_of(scope: Scope) -> str:
    """The path of a route as its table has it, with placeholders; empty for unknown addresses."""
    path = str(scope.get("path", ""))
    if path in PROBES:
        return path
    route = scope.get("route")
    return str(getattr(route, "path", "")) if route is not None else ""


# ── alive and ready ───────────────────────────────────────────────────────────────────────────────


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    status: Literal["ok", "ready", "not ready"]


class Probes:
    """`/healthz` and `/readyz`, before anybody is looked at: a probe has no account, no token and
    no name of a host. They say yes or no; why not is for those who may see the diagnostics."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._desk = CapacityLimiter(2)  # threads of its own, however many others wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["path"]
        if asked not in PROBES:
            await self._app(scope, receive, send)
            return
        answer = json(Probed(status="ok"))  # the process answers, whatever the store does
        if asked == "/readyz":
            well = await self._is_ready()
            answer = json(Probed(status="ready" if well else "not ready"), 200 if well else 503)
        await answer(scope, receive, send)

    async def _is_ready(self) -> bool:
        """Whether the store can be read and written, and soon."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                await to_thread.run_sync(self._use, limiter=self._desk, abandon_on_cancel=True)
        except (AssayError, TimeoutError):
            return False
        return True

    def _use(self) -> None:
        """Writing nothing needs the right to write: who holds the store locked is noticed."""
        self._service.store.append_audit([])

"""The web application and its server: route tables, headers, error pages, who may connect from
where, the log of requests, and the probes `/healthz` and `/readyz`.

A room of the workbench is a file `ROOM_pages.py` with a table `ROOM_ROUTES`; adding it to `TABLES`
is all that it takes to be served, guarded, documented and tested by role.

No line of the log of requests has anything that a person wrote. It has the route of a request, not
the address, whose query string is a search and whose path may name a document or hold an
invitation. It has the kind of an error and the places in the code, not the message, which may
repeat a query."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import re
import signal
import socket
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import msgspec
import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Match, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.core.errors import AssayError, Declined, InputError, NotHere, NotWritten
from assay.core.workspace import workspace
from assay.reports.html import compile_templates
from assay.reports.words import page_words
from assay.web.access import (
    CHANGES,
    Access,
    AppRoute,
    Limiter,
    Refusal,
    ThreadPools,
    identify_at_rate,
    routes,
    visitor_of,
)
from assay.web.api_calls import API_ROUTES
from assay.web.decision_pages import DECIDE_ROUTES, TUNE_ROUTES
from assay.web.judge_pages import ANSWER_ROUTES, JUDGE_ROUTES
from assay.web.page_frame import (
    WEB_FOLDER,
    error_page,
    is_api,
    json,
    language_for,
    local_path,
    message_of,
    without_folders,
)
from assay.web.people_pages import PEOPLE_ROUTES
from assay.web.review_pages import REVIEW_ROUTES
from assay.web.search_pages import SEARCH_ROUTES
from assay.web.start_pages import JOB_ROUTES, START_ROUTES
from assay.workbench.judging.page import open_set_for_judging
from assay.workbench.project import health, logs, people
from assay.workbench.project.service import Service

TABLES: tuple[list[AppRoute], ...] = (
    API_ROUTES,
    JOB_ROUTES,  # before /runs/{run}
    DECIDE_ROUTES,
    TUNE_ROUTES,
    SEARCH_ROUTES,
    PEOPLE_ROUTES,
    JUDGE_ROUTES,
    ANSWER_ROUTES,
    REVIEW_ROUTES,
    START_ROUTES,
)

SHORTEST = 16  # characters of a secret that is given from outside; chosen
DIFFERENT = 8  # characters of such a secret that differ; chosen
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_FORWARD = (_ALPHABET, "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_ROWS = tuple(row[::way] for row in _FORWARD for way in (1, -1))
# uvicorn's limits; where other machines come in, the proxy in front has stricter ones
MOST_HEADERS = 32 * 2**10  # bytes of a request before its body; taste
MOST_CONNECTIONS = 400  # at a time, then 503; the usual limit of open files is 1,024
IDLE_SECONDS = 5  # between two requests on one connection; uvicorn's default
STOP_SECONDS = 10  # for requests under way when the server stops; taste
_log = logging.getLogger(__name__)

LOCAL = ("localhost", "127.0.0.1", "[::1]")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # with none at all, a browser hides its own origin from us too
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def create_app(
    service: Service, *, hosts: Sequence[str] = (), access: Access | None = None
) -> Starlette:
    """The application. `hosts` are the names it is served under beside localhost; `access` is how
    it knows people: by default everybody is an admin, which is for this machine alone."""

    @contextlib.asynccontextmanager
    async def until_stopped(app: Starlette) -> AsyncIterator[None]:
        # the first reader waits as little as the second: what is quick is done before anybody is
        # let in, the rest behind, by threads that give way to a reader at once
        sys.setswitchinterval(0.001)
        _make_ready(service)
        yield
        # a signal ends the process right after this: what was accepted is written first
        logs.flush(service)
        if hasattr(app.state, "run_queue"):
            app.state.run_queue.close()

    table = [row for rows in TABLES for row in rows]
    app = Starlette(
        lifespan=until_stopped,
        routes=[*routes(table), Mount("/static", StaticFiles(directory=WEB_FOLDER / "static"))],
        middleware=[
            Middleware(RequestLog),
            Middleware(Probes, service=service),
            Middleware(SiteGuard),
            Middleware(TrustedHostMiddleware, allowed_hosts=[*LOCAL, *hosts]),
        ],
        exception_handlers={
            AssayError: _show_error,
            OSError: _show_disk_error,
            Refusal: _show_refusal,
            HTTPException: _show_missing,
        },
    )
    app.state.service = service = replace(service, opens_files=False)
    app.state.configuration = time.time_ns(), ""  # when it was read, and what is wrong with it
    app.state.access = access or Access()
    app.state.table = table
    app.state.pages = {row.path: row for row in table if "GET" in row.methods}
    app.state.limiter = Limiter()
    app.state.desks = ThreadPools()
    return app


def _make_ready(service: Service) -> None:
    """Compile templates and open the sets, so that the first reader waits as little as the next;
    remove what killed processes left behind."""
    health.sweep(service)
    compile_templates()
    compile_templates(WEB_FOLDER / "templates")
    for name in service.gold_sets:
        with contextlib.suppress(AssayError, OSError):  # the set's own page says what is wrong
            open_set_for_judging(service, name)


def _show_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AssayError)
    is_ours = isinstance(error, InputError) and not isinstance(error, NotWritten)
    status = 400 if is_ours else 503
    if isinstance(error, NotHere):
        status = 404
    if isinstance(error, Declined) and error.word == "not_yours":
        status = 403
    if is_api(request):
        message = message_of(request, error) if isinstance(error, Declined) else str(error)
        return json({"error": without_folders(request, message)}, status)
    message = error.message if isinstance(error, NotHere) else message_of(request, error)
    return error_page(request, message, status)


def _show_disk_error(request: Request, error: Exception) -> Response:
    """A disk that is full or read-only, where no part of ours has said so in its own words."""
    if not (isinstance(error, OSError) and error.errno in DISK_ERRORS):
        raise error
    return _show_error(request, NotWritten(f"cannot write: {str(error.strerror).lower()}"))


def _show_refusal(request: Request, error: Exception) -> Response:
    """The answer to a refused request: an error for a call; for a person the page to sign in or to
    choose a name, or an error page."""
    assert isinstance(error, Refusal)
    known = page_words(language_for(request))
    message = known[error.word]
    if error.role and (user := visitor_of(request)) is not None:
        facts = {"needed": known[f"role {error.role}"], "role": known[f"role {user.role}"]}
        message = f"{message} {known['allowed_role'].format(**facts)}"
    if is_api(request):
        answer = json({"error": message}, error.status)
        if error.status == 401:
            answer.headers["WWW-Authenticate"] = "Bearer"
        if error.status in (429, 503):
            answer.headers["Retry-After"] = "1"
        return answer
    way = {401: "/sign-in", 409: "/me"}.get(error.status)
    if way is None:
        heading = "error_blind" if error.word.startswith("blind") else ""
        return error_page(request, message, error.status, heading)
    return RedirectResponse(f"{way}?next={quote(_page_open(request), safe='')}", status_code=303)


def _page_open(request: Request) -> str:
    """The address of the page that a browser asks for, or whose form it sends."""
    if request.method not in CHANGES:
        return str(request.url.replace(scheme="", netloc=""))
    sender = urlsplit(request.headers.get("referer", ""))
    if sender.netloc != request.url.netloc:
        return "/"
    return local_path(sender._replace(scheme="", netloc="").geturl()) or "/"


def _show_missing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = page_words(language_for(request))
    message = known["not_found"] if error.status_code == 404 else str(error.detail)
    if is_api(request):
        answer = json({"error": message}, error.status_code)
        if error.status_code == 405:
            answer.headers["Allow"] = ", ".join(_methods_here(request))
        return answer
    with contextlib.suppress(Refusal, AssayError):
        request.state.user = identify_at_rate(request)
    return error_page(request, message, error.status_code)


def _methods_here(request: Request) -> list[str]:
    """The methods of all routes on this path: reading and changing may be two."""
    here = [route for route in request.app.routes if route.matches(request.scope)[0] != Match.NONE]
    return sorted({method for route in here for method in getattr(route, "methods", None) or ()})


class SiteGuard:
    """Headers on every answer, and no change by a form on another site."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [
                    (name.lower().encode(), value.encode()) for name, value in HEADERS.items()
                ]
            await send(message)

        request = Request(scope)
        if request.method not in ("GET", "HEAD") and _from_another_site(request):
            refused = PlainTextResponse("requests from other sites are refused\n", 403)
            await refused(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)


def _from_another_site(request: Request) -> bool:
    """Browsers say where a request comes from; programs say nothing."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = request.headers.get("origin", "")
    return bool(origin) and origin.partition("://")[2] != request.headers.get("host", "")


@dataclass(frozen=True, kw_only=True)
class Serving:
    """Where and how to serve. `address` is the one people use, where a reverse proxy stands in
    front; `behind_proxy` are the IP addresses or networks that the proxy connects from;
    `allowed_hosts` are other names; see `Access` for the rest."""

    host: str = "127.0.0.1"
    port: int = 8350
    accounts: bool = False
    address: str = ""
    behind_proxy: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    log_format: LogFormat = "text"
    token: str = field(default="", repr=False)
    proxy_secret: str = field(default="", repr=False)

    @property
    def own_address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def _hard_to_guess(secret: str) -> bool:
    """Long, of many letters, and neither one piece again and again nor mostly a row of neighbours:
    in the alphabet, among the digits or on the keyboard."""
    if len(secret) < SHORTEST or len(set(secret)) < DIFFERENT or re.search(r"\s", secret):
        return False
    lower = secret.lower()
    repeated = (lower + lower).find(lower, 1) < len(lower) or lower[: len(lower) // 2] in (
        lower[len(lower) // 2 :]
    )
    pairs = [first + second for first, second in pairwise(lower)]
    in_a_row = sum(pair in row for pair in pairs for row in _ROWS)
    return not repeated and in_a_row <= len(pairs) / 2


def prepare(service: Service, serving: Serving) -> tuple[Starlette, str]:
    """The application, and the link for the first admin where there is none yet. Other machines
    are let in through a proxy and with accounts only; once somebody has an account, everybody
    needs one."""
    accounts = serving.accounts or bool(serving.proxy_secret) or people.has_accounts(service)
    for name, secret in (("token", serving.token), ("proxy secret", serving.proxy_secret)):
        if secret and not _hard_to_guess(secret):
            raise InputError(
                f"the {name} is too short or too simple to keep anybody out",
                hint=f"Give at least {SHORTEST} characters, {DIFFERENT} different ones, no blanks, "
                "and no sequences or repetitions: openssl rand -hex 16",
            )
    _check_proxy(serving)
    if not _is_loopback(serving.host) and not accounts:
        raise InputError(
            f"serving on {serving.host} lets other machines in",
            hint="Give --accounts: the link for the first admin is printed. Or serve on 127.0.0.1.",
        )
    named = urlsplit(serving.address).hostname or ""
    hosts = [*serving.allowed_hosts, *([named] if named else [])]
    if (serving.behind_proxy or serving.host in ("0.0.0.0", "::")) and not hosts:
        raise InputError(
            f"serving on {serving.host} needs the name by which people reach it",
            hint="Give --address https://NAME, or --allowed-host NAME.",
        )
    access = Access(
        accounts=accounts,
        secret=people.server_secret(service),
        token=serving.token,
        proxy_secret=serving.proxy_secret,
        address=serving.address.rstrip("/"),
    )
    link = people.first_link(service) if accounts else None
    way_in = f"{access.address or serving.own_address}/invite/{link.token}" if link else ""
    names = [*hosts, *([] if serving.host in ("0.0.0.0", "::") else [serving.host])]
    return create_app(service, hosts=names, access=access), way_in


def _check_proxy(serving: Serving) -> None:
    """Refuse to let other machines in without a reverse proxy, and proxies that are not named by
    their IP addresses."""
    if not _is_loopback(serving.host) and not serving.behind_proxy:
        raise InputError(
            f"serving on {serving.host} lets other machines in, and this server has no TLS and "
            "waits for slow or half-sent requests",
            hint="Put a reverse proxy such as nginx in front of it, and name the address that the "
            "proxy connects from: --behind-proxy ADDRESS --accounts --address https://NAME. Or "
            "serve on 127.0.0.1.",
        )
    for address in serving.behind_proxy:
        try:
            trusted = ipaddress.ip_network(address)
        except ValueError as error:
            raise InputError(
                f"--behind-proxy {address} is not an IP address or network",
                hint="Give the address that the proxy connects from: 127.0.0.1, or 10.0.0.0/24.",
            ) from error
        if not trusted.prefixlen:
            raise InputError(
                f"--behind-proxy {address} would let all visitors choose their own address",
                hint="Give the address of the proxy, or its network: 10.0.0.0/24.",
            )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class AnnouncingServer(uvicorn.Server):
    """A uvicorn server that calls `announce` once it accepts connections, so that the address it
    prints can be used at once."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self.announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.announce()


def server_config(app: ASGIApp, serving: Serving) -> uvicorn.Config:
    """The settings of uvicorn: its limits, and whose word on visitors' addresses it takes."""
    return uvicorn.Config(
        app,
        host=serving.host,
        port=serving.port,
        log_level="warning",
        log_config=None if serving.log_format == "json" else uvicorn.config.LOGGING_CONFIG,
        access_log=False,
        # without a proxy in front, visitors would choose the address that limits go by
        proxy_headers=bool(serving.address or serving.behind_proxy),
        forwarded_allow_ips=list(serving.behind_proxy) or None,  # None: a proxy on this machine
        http="h11",  # the protocol that has the limit on headers
        ws="none",  # there are none, and they would have no limits
        h11_max_incomplete_event_size=MOST_HEADERS,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )


def serve(service: Service, serving: Serving, *, say: Callable[[str], None]) -> None:
    """Run the server until it is interrupted."""
    app, way_in = prepare(service, serving)
    _make_ready(service)  # before anybody is told the address

    def announce() -> None:
        say(f"serving on {serving.address or serving.own_address}/ (Ctrl-C stops it)")
        if way_in:
            say(f"the first admin joins here, once, within a day: {way_in}")

    with contextlib.suppress(ValueError):  # in a thread, which no signal ends
        # uvicorn sends itself the signal once more when it has ended. By default that kills the
        # process before the store is closed, and all of it may be in its log
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    if serving.log_format == "json":
        write_json_lines()
    server = AnnouncingServer(server_config(app, serving), announce)
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        raise AssayError("the server could not start: the reason is shown above")


# ── the log of requests, and the probes ───────────────────────────────────────────────────────────


LogFormat = Literal["text", "json"]
PROBES = ("/healthz", "/readyz")
READY_SECONDS = 5.0  # in which the store must answer a probe; taste
FRAMES = 8  # of a traceback; taste
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
ROOM = 2**20  # bytes that a disk must have free; SQLite needs about as much
_requests = logging.getLogger("assay.requests")


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
    """A log handler that writes to the current stderr: logging's own keeps the one it started with,
    which may be closed by then."""

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
    """Log one line per request: method, route, status, milliseconds and bytes, but no names or
    texts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _requests.isEnabledFor(logging.INFO):
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
            _requests.info("request", extra={"request": fields})


def _route_of(scope: Scope) -> str:
    """The path of a route as its table has it, with placeholders; empty for unknown addresses."""
    path = str(scope.get("path", ""))
    if path in PROBES:
        return path
    route = scope.get("route")
    return str(getattr(route, "path", "")) if route is not None else ""


# ── alive and ready ───────────────────────────────────────────────────────────────────────────────


class ProbeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    status: Literal["ok", "no disk", "ready", "not ready"]


class Probes:
    """`/healthz` and `/readyz`, before anybody is looked at: a probe has no account, no token and
    no name of a host. They say yes or no; why not is for those who may see the diagnostics. A full
    or read-only disk fails both, since nothing can be recorded; other faults of the store are
    only not ready, since starting again does not mend them."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        # threads of its own, however many others wait, also for a store that hangs
        self._desks = {name: CapacityLimiter(2) for name in PROBES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["path"]
        if asked not in PROBES:
            await self._app(scope, receive, send)
            return
        well = await self._succeeds(self._check_room, "/healthz")
        answer = json(ProbeAnswer(status="ok" if well else "no disk"), 200 if well else 503)
        if asked == "/readyz":
            well = well and await self._succeeds(self._use_store, "/readyz")
            answer = json(
                ProbeAnswer(status="ready" if well else "not ready"), 200 if well else 503
            )
        await answer(scope, receive, send)

    async def _succeeds(self, look: Callable[[], object], desk: str) -> bool:
        """Whether a look succeeds, and soon."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                await to_thread.run_sync(look, limiter=self._desks[desk], abandon_on_cancel=True)
        except (AssayError, OSError, TimeoutError):
            return False
        return True

    def _check_room(self) -> None:
        """Look at the disks that votes, decisions, searches and runs are written to."""
        folders = {path.parent for path in self._service.gold_sets.values()}
        home = workspace(self._service.home)
        for folder in folders | ({home} if home.is_dir() else set()):
            disk = os.statvfs(folder)
            if disk.f_flag & os.ST_RDONLY or disk.f_bavail * disk.f_frsize < ROOM:
                raise NotWritten("the disk is full or read-only")

    def _use_store(self) -> None:
        """Writing nothing needs the right to write: who holds the store locked is noticed."""
        self._service.store.append_audit([])

"""The application: its tables of routes, who may come in and from where. Nothing is loaded from
elsewhere.

A room of the workbench is a file `ROOM_pages.py` with a table `ROOM_ROUTES`; adding it to `TABLES`
is all that it takes to be served, guarded, documented and tested by role."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.core.errors import AssayError, InputError
from assay.reports.words import page_words
from assay.web.access import CHANGES, Access, Guarded, Refusal, routes
from assay.web.endpoints import API_ROUTES
from assay.web.pages import PAGE_ROUTES
from assay.web.people_pages import PEOPLE_ROUTES
from assay.web.review_api import REVIEW_API_ROUTES
from assay.web.review_pages import REVIEW_ROUTES
from assay.web.shell import HERE, error_page, is_api, json, language_for
from assay.workbench import logs
from assay.workbench.opening import Service

TABLES: tuple[list[Guarded], ...] = (
    API_ROUTES,
    PAGE_ROUTES,
    PEOPLE_ROUTES,
    REVIEW_API_ROUTES,
    REVIEW_ROUTES,
)

LOCAL = ("localhost", "127.0.0.1", "[::1]", "testserver")
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
        yield
        # a signal ends the process right after this: what was accepted is written first
        logs.flush(service)

    table = [row for rows in TABLES for row in rows]
    app = Starlette(
        lifespan=until_stopped,
        routes=[*routes(table), Mount("/static", StaticFiles(directory=HERE / "static"))],
        middleware=[
            Middleware(_Guard),
            Middleware(TrustedHostMiddleware, allowed_hosts=[*LOCAL, *hosts]),
        ],
        exception_handlers={AssayError: _failed, Refusal: _refused, HTTPException: _missed},
    )
    app.state.service = service
    app.state.access = access or Access()
    app.state.table = table
    return app


def _failed(request: Request, error: Exception) -> Response:
    status = 400 if isinstance(error, InputError) else 503
    if is_api(request):
        return json({"error": str(error)}, status)
    return error_page(request, str(error), status)


def _refused(request: Request, error: Exception) -> Response:
    """Calls are told; people are shown the way."""
    assert isinstance(error, Refusal)
    message = page_words(language_for(request))[error.word]
    if is_api(request):
        answer = json({"error": message}, error.status)
        if error.status == 401:
            answer.headers["WWW-Authenticate"] = "Bearer"
        return answer
    way = {401: "/sign-in", 409: "/me"}.get(error.status)
    if way is None:
        return error_page(request, message, error.status)
    asked = request.url.query if request.method not in CHANGES else ""
    here = f"{request.url.path}?{asked}" if asked else request.url.path
    return RedirectResponse(f"{way}?next={quote(here, safe='')}", status_code=303)


def _missed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = page_words(language_for(request))
    message = known["not_found"] if error.status_code == 404 else str(error.detail)
    if is_api(request):
        return json({"error": message}, error.status_code)
    return error_page(request, message, error.status_code)


class _Guard:
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


def serve(service: Service, *, host: str = "127.0.0.1", port: int = 8350) -> None:
    """Run the server until it is interrupted, on this machine only."""
    import uvicorn

    if host not in ("127.0.0.1", "localhost", "::1"):
        raise InputError(
            f"serving on {host} lets other machines in",
            hint="Serve on 127.0.0.1.",
        )
    uvicorn.run(create_app(service), host=host, port=port, log_level="warning")

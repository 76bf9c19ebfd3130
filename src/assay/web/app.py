"""The application: its routes, who may come in and from where. Nothing is loaded from elsewhere."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.core.errors import AssayError, InputError
from assay.web.endpoints import API_ROUTES
from assay.web.pages import PAGE_ROUTES, error_page
from assay.workbench import logs
from assay.workbench.opening import Service

LOCAL = ("localhost", "127.0.0.1", "[::1]", "testserver")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # with none at all, a browser hides its own origin from us too
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def create_app(service: Service, *, hosts: Sequence[str] = (), token: str = "") -> Starlette:
    """The application. `hosts` are the names it is served under beside localhost; with a `token`
    every request must carry it, as a bearer token or, in a browser, as the cookie that opening
    `/?token=…` sets."""

    @contextlib.asynccontextmanager
    async def until_stopped(app: Starlette) -> AsyncIterator[None]:
        yield
        # a signal ends the process right after this: what was accepted is written first
        logs.flush(service)

    app = Starlette(
        lifespan=until_stopped,
        routes=[*API_ROUTES, *PAGE_ROUTES],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=[*LOCAL, *hosts]),
            Middleware(_Guard, token=token),
        ],
        exception_handlers={AssayError: _refused},
    )
    app.state.service = service
    return app


def _refused(request: Request, error: Exception) -> Response:
    status = 400 if isinstance(error, InputError) else 503
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": str(error)}, status_code=status)
    return error_page(request, str(error), status)


class _Guard:
    """Who may come in, and from where: the token where there is one; no change to gold by a form on
    another site."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        answer = self._stopped(request)
        if answer is not None:
            await answer(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [
                    (name.lower().encode(), value.encode()) for name, value in HEADERS.items()
                ]
            await send(message)

        await self._app(scope, receive, with_headers)

    def _stopped(self, request: Request) -> Response | None:
        if self._token:
            given = request.query_params.get("token", "")
            if (
                given
                and request.method == "GET"
                and secrets.compare_digest(given.encode(), self._token.encode())
            ):
                answer = RedirectResponse(request.url.path, status_code=303)
                answer.set_cookie("assay_token", given, httponly=True, samesite="strict")
                return answer
            if not self._knows_token(request):
                return PlainTextResponse(
                    "a token is needed\n", status_code=401, headers={"WWW-Authenticate": "Bearer"}
                )
        if request.method not in ("GET", "HEAD") and _from_another_site(request):
            return PlainTextResponse("requests from other sites are refused\n", status_code=403)
        return None

    def _knows_token(self, request: Request) -> bool:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        offered = (bearer, request.cookies.get("assay_token", ""))
        return any(
            secrets.compare_digest(value.encode(), self._token.encode()) for value in offered
        )


def _from_another_site(request: Request) -> bool:
    """Browsers say where a request comes from; programs say nothing."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = request.headers.get("origin", "")
    return bool(origin) and origin.partition("://")[2] != request.headers.get("host", "")


def serve(service: Service, *, host: str = "127.0.0.1", port: int = 8350, token: str = "") -> None:
    """Run the server until it is interrupted. Other machines are let in with a token only."""
    import uvicorn

    if host not in ("127.0.0.1", "localhost", "::1") and not token:
        raise InputError(
            f"serving on {host} lets other machines in",
            hint="Give a --token, or serve on 127.0.0.1.",
        )
    hosts = ("*",) if host in ("0.0.0.0", "::") else (host,)
    uvicorn.run(
        create_app(service, hosts=hosts, token=token), host=host, port=port, log_level="warning"
    )

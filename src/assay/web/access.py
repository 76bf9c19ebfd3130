"""Route tables, and the check of roles before every page and call. A page or call is a row of a
table (`Guarded`); `routes` turns the rows into routes that check the role of the user and, for a
change, the token of the form.

Nothing in a form or a body says who somebody is: `user_of(request)` does. Without accounts, on this
machine alone, that is an admin under a name that is chosen once (`/me`); a row for judges and above
is reached with a name only.

`tests/web/test_roles.py` walks the tables, and `/api/openapi.json` is made of them."""

from __future__ import annotations

import asyncio
import hmac
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from assay.core.errors import InputError
from assay.web.limits import Desks, at_desk, check_call, identify_at_rate
from assay.web.visitors import (
    Access,
    Refusal,
    User,
    access_of,
    csrf_token,
    visitor_of,
)
from assay.workbench.project.people import ROLES, KeyKind, Role

__all__ = [
    "GET",
    "POST",
    "ROLES",
    "Access",
    "Guarded",
    "Refusal",
    "Role",
    "User",
    "access_of",
    "csrf_token",
    "is_chair",
    "page_and_call",
    "routes",
    "user_of",
    "visitor_of",
]

MAX_BODY = 4 * 2**20
BODY_SECONDS = 60.0
CHUNK_SECONDS = 10.0  # in which some of a body must come
# of somebody who is not signed in
STRANGERS_BODY = 2**18
STRANGERS_SECONDS = 10.0
MAX_FIELDS = 10_000
CHANGES = ("POST", "PUT", "PATCH", "DELETE")
GET, POST = ("GET",), ("POST",)

Endpoint = Callable[[Request], Response] | Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Guarded:
    """A row of a route table.

    `path` as Starlette writes it; `endpoint(request) -> Response`, plain or async (plain ones run
    in a thread, so they may call verbs at once); `methods` without HEAD; `role` is the lowest that
    may call it, or "anyone" who is not signed in too; `summary` is a line for the documentation.
    `query`, `body` and `answer` are the types (msgspec structs) of the query string, the JSON
    body and the JSON answer, for the documentation. `key` is the kind of service key that opens it
    as well."""

    path: str
    endpoint: Endpoint
    methods: tuple[str, ...]
    role: Role | Literal["anyone"]
    summary: str
    body: Any = None
    answer: Any = None
    query: type | None = None
    key: KeyKind | Literal[""] = ""

    @property
    def is_api(self) -> bool:
        return is_api_path(self.path)


def page_and_call(
    path: str,
    endpoint: Endpoint,
    methods: tuple[str, ...],
    role: Role,
    summary: str,
    body: Any = None,
    answer: Any = None,
    query: type | None = None,
    *,
    call: str = "",
) -> tuple[Guarded, Guarded]:
    """The rows of a page and of the JSON call that its handler answers as well: the call is at
    /api/PATH unless `call` says otherwise. The handler asks `is_api(request)` which one it is."""
    return (
        Guarded(path, endpoint, methods, role, summary, query=query),
        Guarded(call or f"/api{path}", endpoint, methods, role, summary, body, answer, query),
    )


def routes(rows: Sequence[Guarded]) -> list[Route]:
    """The routes of a table, each behind its check."""
    return [_route(row) for row in rows]


@cache  # a route keeps nothing of the application that it is in
def _route(row: Guarded) -> Route:
    return Route(row.path, _guarded(row), methods=list(row.methods))


def user_of(request: Request) -> User:
    """Who is signed in. On a row for "anyone" there may be nobody: see `visitor_of`."""
    user = visitor_of(request)
    if user is None:
        raise Refusal(401, "sign_in_first")
    return user


def is_chair(request: Request) -> bool:
    """Whether the user decides: a chair or an admin."""
    return ROLES.index(user_of(request).role) >= ROLES.index("chair")


def may(user: User | None, row: Guarded) -> bool:
    """Whether somebody may call a row."""
    if row.role == "anyone":
        return True
    if user is None:
        return False
    if user.key:
        return user.key == row.key
    return ROLES.index(user.role) >= ROLES.index(row.role)


def is_api_path(path: str) -> bool:
    return path.startswith("/api/") or path == "/metrics"


def _guarded(row: Guarded) -> Callable[[Request], Awaitable[Response]]:
    async def checked(request: Request) -> Response:
        desks: Desks = request.app.state.desks
        desk = desks.desk(request.method, watching=row.key == "watch")
        request.state.user = user = await at_desk(desk, identify_at_rate, request)
        if not may(user, row):
            if user is None:
                raise Refusal(401, "sign_in_first")
            raise Refusal(403, "not_allowed", row.role)
        if user is not None and access_of(request).accounts and row.is_api:
            check_call(request, user)
        if user is not None and _lacks_name(user, row):
            raise Refusal(409, "name_first")
        if request.method in CHANGES:
            request.state.body = await _limited(request, user)
            if not _is_meant(request, user):
                raise Refusal(403, "form_too_old")
        if inspect.iscoroutinefunction(row.endpoint):
            answer: Response = await row.endpoint(request)
            return answer
        plain: Callable[[Request], Response] = row.endpoint  # type: ignore[assignment]
        return await at_desk(desk, plain, request)

    return checked


def _lacks_name(user: User, row: Guarded) -> bool:
    return not user.name and not row.key and row.role in ROLES[ROLES.index("judge") :]


async def _limited(request: Request, user: User | None) -> bytes:
    """The body, read no further than the limit, and waited for no longer."""
    most, seconds = (MAX_BODY, BODY_SECONDS) if user else (STRANGERS_BODY, STRANGERS_SECONDS)
    body = bytearray()
    now = asyncio.get_running_loop().time
    end = now() + seconds
    try:
        async with asyncio.timeout_at(min(end, now() + CHUNK_SECONDS)) as patience:
            async for chunk in request.stream():
                patience.reschedule(min(end, now() + CHUNK_SECONDS))
                body += chunk
                if len(body) > most:
                    raise InputError(
                        f"the body is larger than {most / 2**20:g} MiB", hint="Send less at a time."
                    )
    except (TimeoutError, ClientDisconnect) as error:  # whoever hangs up is in no log of errors
        raise Refusal(408, "too_slow") from error
    return bytes(body)


# ── whether a change is meant ─────────────────────────────────────────────────────────────────────


def _is_meant(request: Request, user: User | None) -> bool:
    """A page of ours has sent it: other sites know no token. A program that is not a browser has
    no cookies to be misused: it needs none for calls."""
    if user is not None and user.key:
        return True
    by_browser = {"origin", "sec-fetch-site", "cookie"} & set(request.headers)
    if is_api_path(request.url.path) and not by_browser and not access_of(request).accounts:
        return True
    offered = request.headers.get("x-csrf-token", "") or _csrf_field(request)
    return hmac.compare_digest(offered.encode(), csrf_token(request).encode())


def _csrf_field(request: Request) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind not in ("", "application/x-www-form-urlencoded"):
        return ""
    return fields_of(request).get("csrf", [""])[0]


def fields_of(request: Request) -> dict[str, list[str]]:
    """The fields of a form that was sent."""
    body: bytes = getattr(request.state, "body", b"")
    try:
        return parse_qs(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError as error:
        raise InputError(f"this form cannot be read: {error}") from error

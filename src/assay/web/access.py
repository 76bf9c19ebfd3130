"""Who calls, what they may do and how often: identity, route tables with roles, and limits.

A page or call is a row of a table (`Guarded`); `routes` turns the rows into routes that check the
role of the user and, for a change, the token of the form. Nothing in a form or a body says who
somebody is: `user_of(request)` does, from a session, a key or a proxy that signs people in. Without
accounts, on this machine alone, everybody is an admin under a name that is chosen once (`/me`); a
row for judges and above is reached with a name only.

`tests/web/test_roles.py` walks the tables, and `/api/openapi.json` is made of them."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qs

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from assay.core.errors import InputError
from assay.workbench.project import people
from assay.workbench.project.people import ROLES, KeyKind, Role
from assay.workbench.project.service import Service, looking_once

NAME_COOKIE = "assay_me"
VISIT_COOKIE = "assay_visit"
YEAR = 365 * 86_400  # seconds
# headers of a proxy that signs people in, and how old its word may be, in seconds
PROXY_USER, PROXY_TIME, PROXY_SIGNATURE = "x-assay-user", "x-assay-time", "x-assay-signature"
PROXY_SECONDS = 60  # chosen
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


@dataclass(frozen=True, kw_only=True)
class Access:
    """How this server knows people. Without `accounts` everybody is an admin: loopback only.

    `token` is a logging key that is given from outside; `proxy_secret` is shared with a reverse
    proxy that signs people in; `address` is the one people use, where that is not this server's
    own."""

    accounts: bool = False
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    token: str = field(default="", repr=False)
    proxy_secret: str = field(default="", repr=False)
    address: str = ""


@dataclass(frozen=True)
class User:
    """The caller. A logging or monitoring service is no person: it has the kind of its key."""

    name: str
    role: Role
    key: KeyKind | Literal[""] = ""

    @property
    def actor(self) -> people.Actor:
        return people.Actor(self.name, self.role)


class Refusal(Exception):
    """A refused request: 401 not signed in, 403 not allowed, 409 no name chosen, 408 too slow, 429
    too often, 503 too busy. `word` is its key in the words of the pages, `role` the one that is
    needed."""

    def __init__(self, status: int, word: str, role: str = "") -> None:
        super().__init__(word)
        self.status, self.word, self.role = status, word, role


def access_of(request: Request) -> Access:
    access: Access = request.app.state.access
    return access


def visitor_of(request: Request) -> User | None:
    """The signed-in user, if any."""
    user: User | None = getattr(request.state, "user", None)
    return user


def network(host: str) -> str:
    """The network of an address, as limits go by it: an IPv6 visitor has 2**64 addresses."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return host


def network_of(request: Request) -> str:
    """The network that a request comes from."""
    return network(request.client.host if request.client else "")


def identify(request: Request) -> User | None:
    """The user of a request; none if nobody is signed in."""
    access = access_of(request)
    if not access.accounts:
        if any(header in request.headers for header in FORWARDED):
            raise Refusal(403, "behind_proxy")  # somebody has opened this machine to others
        return User(_chosen_name(request, access), "admin")
    service: Service = request.app.state.service
    bearer = request.headers.get("authorization", "")
    if bearer:
        return _service_user(service, access, bearer.removeprefix("Bearer ").strip())
    if access.proxy_secret and PROXY_USER in request.headers:
        account = people.account_of(service, _proxy_name(request, access))
    else:
        account = people.signed_in(service, request.cookies.get(session_cookie(request), ""))
    return User(account.name, account.role) if account else None


def _service_user(service: Service, access: Access, offered: str) -> User | None:
    if access.token and hmac.compare_digest(offered.encode(), access.token.encode()):
        return User("token", "reader", "log")
    key = people.key_of(service, offered)
    return User(key.name, "reader", key.kind) if key else None


def _proxy_name(request: Request, access: Access) -> str:
    """The user that the proxy has signed in; "" if its signature is wrong."""
    name, at = request.headers[PROXY_USER], request.headers.get(PROXY_TIME, "")
    expected = proxy_signature(access.proxy_secret, name, at, request.method, request.url.path)
    offered = request.headers.get(PROXY_SIGNATURE, "")
    fresh = at.isascii() and at.isdecimal() and abs(time.time() - int(at[:12])) <= PROXY_SECONDS
    if not fresh or not hmac.compare_digest(offered.encode(), expected.encode()):
        return ""
    return name.encode("latin-1", "replace").decode("utf-8", "replace")


def proxy_signature(secret: str, name: str, at: str, method: str, path: str) -> str:
    """What a proxy sends: HMAC-SHA256, in hexadecimal, of four lines: name, seconds since 1970,
    method and path. The name is as it stands in the header."""
    text = "\n".join((name, at, method, path)).encode("latin-1", "replace")
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


# ── cookies ───────────────────────────────────────────────────────────────────────────────────────


def is_secure(request: Request) -> bool:
    address = access_of(request).address
    return request.url.scheme == "https" or address.startswith("https:")


def session_cookie(request: Request) -> str:
    return "__Host-assay_session" if is_secure(request) else "assay_session"


def set_cookie(request: Request, answer: Response, name: str, value: str, seconds: int) -> None:
    """A cookie that no script reads and no other site sends."""
    answer.set_cookie(
        name,
        value,
        max_age=seconds,
        httponly=True,
        samesite="lax" if name == session_cookie(request) else "strict",
        secure=is_secure(request),
    )


def _chosen_name(request: Request, access: Access) -> str:
    """The name on this machine: a cookie that this server has signed."""
    signature, _, name = request.cookies.get(NAME_COOKIE, "").partition(".")
    name = bytes.fromhex(name).decode("utf-8", "replace") if _is_hex(name) else ""
    expected = signed(access, f"name {name}")
    return name if hmac.compare_digest(signature.encode(), expected.encode()) else ""


def name_cookie(access: Access, name: str) -> str:
    return f"{signed(access, f'name {name}')}.{name.encode().hex()}"


def _is_hex(text: str) -> bool:
    return len(text) % 2 == 0 and all(letter in "0123456789abcdef" for letter in text)


def signed(access: Access, text: str) -> str:
    return hmac.new(access.secret, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def csrf_token(request: Request) -> str:
    """The token that a form of this visitor carries, as the field `csrf` or the header
    `x-csrf-token`. It belongs to the session, or to the visit of somebody not signed in yet."""
    access, user = access_of(request), visitor_of(request)
    if not access.accounts:
        return signed(access, "form")
    session = request.cookies.get(session_cookie(request), "")
    if user is None:
        return signed(access, f"form of visit {visit_of(request)}")
    return signed(access, f"form of {user.name} {session}")


def visit_of(request: Request) -> str:
    """Somebody who is not signed in, told apart by a cookie; a new one is set with the page."""
    known = request.cookies.get(VISIT_COOKIE, "") or getattr(request.state, "visit", "")
    if not known:
        known = request.state.visit = secrets.token_urlsafe(16)
    return str(known)


# ── limits ────────────────────────────────────────────────────────────────────────────────────────


MOST_BUCKETS = 20_000  # visitors that are remembered, which bounds the memory; taste
LONGEST_LINE = 64  # requests that wait for one desk; taste
T = TypeVar("T")


@dataclass(frozen=True)
class Rate:
    """How many requests may come at once, and how many a second after that."""

    burst: float
    per_second: float


# Rates; taste: above what people and programs need, below what guessing needs.
# Signing in: by name and address together, by address, by name from anywhere
SIGN_IN_RATES = (Rate(6, 1 / 60), Rate(30, 1 / 5), Rate(60, 1 / 20))
PERSON_RATE = Rate(200, 40)
SERVICE_RATE = Rate(2000, 500)


class Limiter:
    """The token buckets of all visitors."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}  # key -> (left, when)
        self.known: set[bytes] = set()  # keys of services that were right, as digests

    def take(self, key: str, rate: Rate) -> None:
        """Take one token; `Refusal` if none is left."""
        with self._lock:
            now = self._clock()
            left, when = self._buckets.pop(key, (rate.burst, now))
            left = min(rate.burst, left + (now - when) * rate.per_second)
            if len(self._buckets) >= MOST_BUCKETS:  # the one that was quiet for longest
                del self._buckets[next(iter(self._buckets))]
            self._buckets[key] = (max(left - 1, 0) if left >= 1 else left, now)
            if left < 1:
                raise Refusal(429, "too_often")

    def give_back(self, key: str) -> None:
        """Return a token, for an attempt that was no guess."""
        with self._lock:
            if key in self._buckets:
                left, when = self._buckets[key]
                self._buckets[key] = (left + 1, when)

    def forget(self, key: str) -> None:
        with self._lock:
            self._buckets.pop(key, None)


class ThreadPools:
    """Thread limits by kind of work, so that decisions that wait for a locked store leave threads
    for reading and for monitoring. Static files have the rest."""

    def __init__(self) -> None:
        self.watching = CapacityLimiter(4)
        self.deciding = CapacityLimiter(12)
        self.reading = CapacityLimiter(24)

    def limiter(self, method: str, *, watching: bool) -> CapacityLimiter:
        if watching:
            return self.watching
        return self.reading if method in ("GET", "HEAD") else self.deciding


async def run_in_pool(desk: CapacityLimiter, work: Callable[[Request], T], request: Request) -> T:
    """Run `work` in a thread of this desk. Where a long line waits already, nobody joins it."""
    if desk.statistics().tasks_waiting >= LONGEST_LINE:
        raise Refusal(503, "too_busy")
    return await to_thread.run_sync(work, request, limiter=desk)


def limiter_of(request: Request) -> Limiter:
    limiter: Limiter = request.app.state.limiter
    return limiter


def check_call(request: Request, user: User) -> None:
    """Count one call of a user or a service against its rate."""
    limiter = limiter_of(request)
    if user.key:
        limiter.take(f"key {user.name}", SERVICE_RATE)
    else:
        limiter.take(f"user {user.name}", PERSON_RATE)


def check_door(request: Request, name: str) -> str:
    """Count an attempt to sign in; gives the key of the bucket to empty if it succeeds."""
    address = network_of(request)
    keys = (f"door {name} {address}", f"door from {address}", f"door of {name}")
    for key, rate in zip(keys, SIGN_IN_RATES, strict=True):
        limiter_of(request).take(key, rate)
    return keys[0]


def identify_at_rate(request: Request) -> User | None:
    """The caller, with a limit on wrong service keys like that on passwords; a key that was right
    before is not held up by others who guess from its address."""
    offered = request.headers.get("authorization", "")
    if not offered or not access_of(request).accounts:
        return identify(request)
    limiter, mark = limiter_of(request), hashlib.sha256(offered.encode()).digest()
    tried = f"keys from {network_of(request)}"
    is_new = mark not in limiter.known
    if is_new:
        limiter.take(tried, SIGN_IN_RATES[1])
    user = identify(request)
    if user is None:
        limiter.known.discard(mark)
    elif is_new:
        limiter.known.add(mark)
        limiter.give_back(tried)
    return user


# ── access ────────────────────────────────────────────────────────────────────────────────────────


# Limits on what a request sends, in bytes and seconds; taste.
MAX_BODY = 4 * 2**20
BODY_SECONDS = 60.0
CHUNK_SECONDS = 10.0  # in which some of a body must come
# of somebody who is not signed in
STRANGERS_BODY = 2**18
STRANGERS_SECONDS = 10.0
MAX_FIELDS = 10_000
CHANGES = ("POST", "PUT", "PATCH", "DELETE")
GET, POST = ("GET",), ("POST",)

Endpoint = Callable[[Request], Response]


@dataclass(frozen=True)
class AppRoute:
    """A row of a route table.

    `path` as Starlette writes it; `endpoint(request) -> Response`, which runs in a thread, so that
    it may call verbs at once; `methods` without HEAD; `role` is the lowest that
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
) -> tuple[AppRoute, AppRoute]:
    """The rows of a page and of the JSON call that its handler answers as well: the call is at
    /api/PATH unless `call` says otherwise. The handler asks `is_api(request)` which one it is."""
    return (
        AppRoute(path, endpoint, methods, role, summary, query=query),
        AppRoute(call or f"/api{path}", endpoint, methods, role, summary, body, answer, query),
    )


def routes(rows: Sequence[AppRoute]) -> list[Route]:
    """The routes of a table, each behind its check."""
    return [_route(row) for row in rows]


@cache  # a route keeps nothing of the application that it is in
def _route(row: AppRoute) -> Route:
    return Route(row.path, _guarded(row), methods=list(row.methods))


def user_of(request: Request) -> User:
    """The signed-in user. On a row for "anyone" there may be nobody: see `visitor_of`."""
    user = visitor_of(request)
    if user is None:
        raise Refusal(401, "sign_in_first")
    return user


def is_chair(request: Request) -> bool:
    """Whether the user decides: a chair or an admin."""
    return ROLES.index(user_of(request).role) >= ROLES.index("chair")


def may_call(user: User | None, row: AppRoute) -> bool:
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


def _guarded(row: AppRoute) -> Callable[[Request], Awaitable[Response]]:
    async def checked(request: Request) -> Response:
        desks: ThreadPools = request.app.state.desks
        desk = desks.limiter(request.method, watching=row.key == "watch")
        if request.method not in CHANGES:
            return await run_in_pool(desk, read, request)
        user = await run_in_pool(desk, admit, request)
        request.state.body = await _limited(request, user)
        if not _is_intended(request, user):
            raise Refusal(403, "form_too_old")
        return await run_in_pool(desk, row.endpoint, request)

    def read(request: Request) -> Response:
        admit(request)
        with looking_once():
            return row.endpoint(request)

    def admit(request: Request) -> User | None:
        request.state.user = user = identify_at_rate(request)
        _refuse(request, user, row)
        return user

    return checked


def _refuse(request: Request, user: User | None, row: AppRoute) -> None:
    """Refuse a caller who may not call a row, calls too often, or has chosen no name yet."""
    if not may_call(user, row):
        if user is None:
            raise Refusal(401, "sign_in_first")
        raise Refusal(403, "not_allowed", row.role)
    if user is not None and access_of(request).accounts and row.is_api:
        check_call(request, user)
    if user is not None and _lacks_name(user, row):
        raise Refusal(409, "name_first")


def _lacks_name(user: User, row: AppRoute) -> bool:
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


def _is_intended(request: Request, user: User | None) -> bool:
    """Whether a page of ours sent the request: other sites know no token. A program that is not a
    browser has no cookies to misuse, and needs no token for calls."""
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

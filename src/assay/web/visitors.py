"""The user behind a request: from a session, a key, a proxy that signs people in, or, without
accounts, the name chosen on this machine; with the cookies and tokens that carry it."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from dataclasses import dataclass, field
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from assay.workbench.project import people
from assay.workbench.project.people import KeyKind, Role
from assay.workbench.project.service import Service

NAME_COOKIE = "assay_me"
VISIT_COOKIE = "assay_visit"
YEAR = 31536000
# headers of a proxy that signs people in, and how old its word may be, in seconds
PROXY_USER, PROXY_TIME, PROXY_SIGNATURE = "x-assay-user", "x-assay-time", "x-assay-signature"
PROXY_SECONDS = 60
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
    """Who calls. A logging or watching service is no person: it has the kind of its key."""

    name: str
    role: Role
    key: KeyKind | Literal[""] = ""

    @property
    def actor(self) -> people.Actor:
        return people.Actor(self.name, self.role)


class Refusal(Exception):
    """Why a request goes no further: 401 nobody is signed in, 403 not this one, 409 no name is
    chosen yet, 408 too slow, 429 too often, 503 too busy. `word` is its key in the words of the
    pages, `role` the one that is needed."""

    def __init__(self, status: int, word: str, role: str = "") -> None:
        super().__init__(word)
        self.status, self.word, self.role = status, word, role


def access_of(request: Request) -> Access:
    access: Access = request.app.state.access
    return access


def visitor_of(request: Request) -> User | None:
    """Who is signed in, if anybody."""
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
    """Whom the proxy has signed in; "" where its word does not hold."""
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

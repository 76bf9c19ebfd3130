"""People, for programs and scripts of pages: the same verbs as the forms of `people_pages.py`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from assay.web.access import Guarded, access_of, user_of
from assay.web.page_frame import body, json, query, service_of
from assay.web.people_pages import GET, POST, link_to, need_accounts
from assay.workbench.project import people
from assay.workbench.project.audit_trail import AuditEntry, trail
from assay.workbench.project.people import KeyKind, People, Role


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Who is signed in. Without accounts the name is chosen on the page /me."""

    name: str
    role: Role
    accounts: bool


class InviteBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    role: Role


class NameBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    why: str = ""


class LinkBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`id` as /api/people lists it."""

    id: str


class KeyBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key of kind `log` can log and nothing else; one of kind `watch` reads figures."""

    name: str
    kind: KeyKind = "log"


class LinkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The link is shown now and never again."""

    link: str
    name: str
    role: Role
    expires_at: str


class KeyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The key is shown now and never again."""

    name: str
    kind: KeyKind
    key: str


class Done(msgspec.Struct, frozen=True, kw_only=True):
    done: bool = True


class Trail(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries of the audit trail."""

    subject: str = ""
    action: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    offset: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0


def me(request: Request) -> Response:
    user = user_of(request)
    return json(Me(name=user.name, role=user.role, accounts=access_of(request).accounts))


def list_people(request: Request) -> Response:
    return json(people.everybody(service_of(request)))


def audit(request: Request) -> Response:
    asked = query(request, Trail)
    return json(trail(service_of(request), **msgspec.structs.asdict(asked)))


def invite(request: Request) -> Response:
    need_accounts(request)
    asked = body(request, InviteBody)
    by = user_of(request).actor
    return _link(request, people.invite(service_of(request), asked.name, asked.role, by=by))


def new_password_link(request: Request) -> Response:
    need_accounts(request)
    name, by = body(request, NameBody).name, user_of(request).actor
    return _link(request, people.new_password_link(service_of(request), name, by=by))


def _link(request: Request, link: people.Link) -> Response:
    return json(
        LinkAnswer(
            link=link_to(request, link.token),
            name=link.name,
            role=link.role,
            expires_at=link.expires_at.isoformat(),
        ),
        201,
    )


def take_back(request: Request) -> Response:
    need_accounts(request)
    people.take_back(service_of(request), body(request, LinkBody).id, by=user_of(request).actor)
    return json(Done())


def change_role(request: Request) -> Response:
    need_accounts(request)
    asked, by = body(request, InviteBody), user_of(request).actor
    people.change_role(service_of(request), asked.name, asked.role, by=by)
    return json(Done())


def remove(request: Request) -> Response:
    need_accounts(request)
    asked, by = body(request, NameBody), user_of(request).actor
    people.remove(service_of(request), asked.name, by=by, why=asked.why)
    return json(Done())


def end_sessions(request: Request) -> Response:
    need_accounts(request)
    name, by = body(request, NameBody).name, user_of(request).actor
    people.sign_out_everywhere(service_of(request), name, by=by)
    return json(Done())


def make_key(request: Request) -> Response:
    need_accounts(request)
    asked, by = body(request, KeyBody), user_of(request).actor
    made = people.make_key(service_of(request), asked.name, asked.kind, by=by)
    return json(KeyAnswer(name=asked.name, kind=asked.kind, key=made), 201)


def end_key(request: Request) -> Response:
    need_accounts(request)
    people.end_key(service_of(request), body(request, NameBody).name, by=user_of(request).actor)
    return json(Done())


PEOPLE_API = [
    Guarded("/api/me", me, GET, "reader", "Who is signed in", answer=Me),
    Guarded("/api/people", list_people, GET, "chair", "People, links, keys", answer=People),
    Guarded(
        "/api/audit",
        audit,
        GET,
        "chair",
        "The audit trail, the newest first",
        answer=list[AuditEntry],
        query=Trail,
    ),
    Guarded("/api/people/invite", invite, POST, "chair", "Invite somebody", InviteBody, LinkAnswer),
    Guarded("/api/people/take-back", take_back, POST, "chair", "Take a link back", LinkBody, Done),
    Guarded(
        "/api/people/password",
        new_password_link,
        POST,
        "admin",
        "A link for a new password",
        NameBody,
        LinkAnswer,
    ),
    Guarded("/api/people/role", change_role, POST, "admin", "Change a role", InviteBody, Done),
    Guarded("/api/people/remove", remove, POST, "admin", "Take access away", NameBody, Done),
    Guarded("/api/people/sign-out", end_sessions, POST, "admin", "Sign out", NameBody, Done),
    Guarded("/api/keys", make_key, POST, "admin", "Make a key", KeyBody, KeyAnswer),
    Guarded("/api/keys/end", end_key, POST, "admin", "End a key", NameBody, Done),
]

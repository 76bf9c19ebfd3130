"""People: who may sign in, links that work once, passwords, sessions and the keys of services.

What opens a door (a link, a session, a key) is shown once and kept as a digest. Everything that is
changed is in the audit trail. Verbs that change take who does it: `by`."""

from __future__ import annotations

import secrets
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

import msgspec

from assay.core.errors import Declined
from assay.store import StoreConflict
from assay.store.records import (
    Account,
    AuditEntry,
    Invitation,
    KeyKind,
    Role,
    ServiceKey,
    Session,
    folded,
)
from assay.workbench.opening import Service
from assay.workbench.passwords import (
    digest,
    hashed,
    needs_rehash,
    nobodys,
    proper_password,
    verified,
)

__all__ = [
    "KEY_KINDS",
    "ROLES",
    "Account",
    "Invitation",
    "KeyKind",
    "Role",
    "Session",
    "folded",
]

ROLES: tuple[Role, ...] = get_args(Role)  # each may do what those before it may
KEY_KINDS: tuple[KeyKind, ...] = get_args(KeyKind)
TERMINAL = "terminal"  # who does what is done on the machine itself
LINK_DAYS = {"join": 7, "password": 1}
FIRST_LINK_DAYS = 1
SESSION_DAYS = 14
MAX_NAME = 80
LINK_OVER = "this link was used, or its time is over"


@dataclass(frozen=True)
class Actor:
    """Who does something, and what that person may do."""

    name: str
    role: Role


AT_THE_TERMINAL = Actor(TERMINAL, "admin")


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody with an account, as a chair sees it: nothing secret is in it."""

    name: str
    role: Role
    active: bool
    since: datetime
    invited_by: str
    sessions: int
    signed_in_at: datetime | None


class OpenLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that was given out and not used yet; `id` is what it is taken back by."""

    id: str
    kind: Literal["join", "password"]
    name: str
    role: Role
    by: str
    expires_at: datetime


class KnownKey(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: KeyKind
    by: str
    since: datetime


class People(msgspec.Struct, frozen=True, kw_only=True):
    people: list[Person]
    links: list[OpenLink]
    keys: list[KnownKey]


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A new link: `token` is shown now and never again."""

    token: str
    kind: Literal["join", "password"]
    name: str
    role: Role
    expires_at: datetime


# ── who there is ──────────────────────────────────────────────────────────────────────────────────


def has_accounts(service: Service) -> bool:
    """Whether anybody has an account: then the server asks everybody to sign in."""
    return any(account.active for account in service.store.accounts())


def everybody(service: Service) -> People:
    now = service.clock()
    sessions = service.store.sessions(now)
    last = {one.name: one.created_at for one in sessions}
    return People(
        people=[
            Person(
                name=one.name,
                role=one.role,
                active=one.active,
                since=one.created_at,
                invited_by=one.created_by,
                sessions=sum(session.name == one.name for session in sessions),
                signed_in_at=last.get(one.name),
            )
            for one in service.store.accounts()
        ],
        links=[
            OpenLink(
                id=one.id,
                kind=one.kind,
                name=one.name,
                role=one.role,
                by=one.by,
                expires_at=one.expires_at,
            )
            for one in _links(service)
        ],
        keys=[
            KnownKey(name=one.name, kind=one.kind, by=one.by, since=one.created_at)
            for one in service.store.service_keys()
        ],
    )


# ── links that work once ──────────────────────────────────────────────────────────────────────────


def first_link(service: Service) -> Link | None:
    """The way in for the first admin, while there is none; an earlier one stops working."""
    accounts = service.store.accounts()
    if any(one.active and one.role == "admin" for one in accounts):
        return None
    return _new_link(service, "join", "", "admin", by=TERMINAL, days=FIRST_LINK_DAYS)


def invite(service: Service, name: str, role: Role, *, by: Actor) -> Link:
    """A link for somebody to join under a name. Who has left can be invited again."""
    name = proper_name(name)
    _may_give(by, role)
    known = service.store.account(name)
    if known is not None and known.active:
        raise Declined(
            "taken",
            f"{known.name} has an account already",
            hint="Change the role, or make a link for a new password.",
            name=known.name,
        )
    return _new_link(service, "join", known.name if known else name, role, by=by.name)


def new_password_link(service: Service, name: str, *, by: Actor) -> Link:
    """For somebody who has lost the password. The old one works until the link is used."""
    account = _active(service, name)
    _may_give(by, account.role)
    return _new_link(service, "password", account.name, account.role, by=by.name)


def _new_link(
    service: Service,
    kind: Literal["join", "password"],
    name: str,
    role: Role,
    *,
    by: str,
    days: int = 0,
) -> Link:
    token, now = secrets.token_urlsafe(32), service.clock()
    invitation = Invitation(
        id=digest(token),
        kind=kind,
        name=name,
        role=role,
        by=by,
        created_at=now,
        expires_at=now + timedelta(days=days or LINK_DAYS[kind]),
    )
    action = {"join": "people.invited", "password": "people.new_password_link"}[kind]
    service.store.add_invitation(
        invitation, _entry(service, by, action, name or "the first admin", after={"role": role})
    )
    return Link(token=token, kind=kind, name=name, role=role, expires_at=invitation.expires_at)


def opened_link(service: Service, token: str) -> Invitation | None:
    """What a link is for; nothing where it was used or its time is over."""
    id = digest(token)
    return next((one for one in _links(service) if one.id == id), None)


def _links(service: Service) -> list[Invitation]:
    """Those that can be used: in time, and of somebody who may still give what they give."""
    active = {folded(one.name): one.role for one in service.store.accounts() if one.active}
    return [
        one
        for one in service.store.invitations(service.clock())
        if one.by == TERMINAL or _gives(active.get(folded(one.by)), one.role)
    ]


def accept(service: Service, token: str, *, name: str, password: str) -> Account:
    """Join, or set a new password; other sessions of the account end."""
    invitation = opened_link(service, token)
    if invitation is None:
        raise Declined("link_over", LINK_OVER, hint="Ask for a new one.")
    name = invitation.name or proper_name(name)
    known = service.store.account(name)
    if known is not None and known.active and invitation.kind == "join":
        raise Declined("taken", f"{known.name} has an account already", name=known.name)
    if invitation.kind == "password" and (known is None or not known.active):
        raise Declined("nobody", f"nobody has an account named {name!r}", name=name)
    now = service.clock()
    account = Account(
        name=known.name if known else name,
        role=known.role if known and invitation.kind == "password" else invitation.role,
        password=hashed(proper_password(password, name)),
        created_at=known.created_at if known else now,
        created_by=known.created_by if known and invitation.kind == "password" else invitation.by,
    )
    action = {"join": "people.joined", "password": "people.new_password"}[invitation.kind]
    entry = _entry(service, account.name, action, account.name, after={"role": account.role})
    try:
        service.store.accept_invitation(invitation.id, account, entry)
    except StoreConflict as error:
        raise Declined("link_over", LINK_OVER, hint="Ask for a new one.") from error
    return account


def take_back(service: Service, id: str, *, by: Actor) -> None:
    """A link that was not used yet stops working."""
    links = {one.id: one for one in service.store.invitations(service.clock())}
    if id not in links:
        raise Declined("link_over", LINK_OVER)
    _may_give(by, links[id].role)
    try:
        _end_link(service, links[id], by=by)
    except StoreConflict as error:
        raise Declined("link_over", LINK_OVER) from error


def _end_link(service: Service, link: Invitation, *, by: Actor) -> None:
    entry = _entry(service, by.name, "people.link_taken_back", link.name or "the first admin")
    service.store.end_invitation(link.id, entry)


# ── what admins do ────────────────────────────────────────────────────────────────────────────────


def change_role(service: Service, name: str, role: Role, *, by: Actor) -> None:
    account = _active(service, name)
    _may_give(by, max(role, account.role, key=ROLES.index))
    if account.role == role:
        return
    _keep_an_admin(service, account)
    before: dict[str, str] = {"role": account.role}
    after: dict[str, str] = {"role": role}
    entry = _entry(service, by.name, "people.role", account.name, before=before, after=after)
    service.store.put_account(msgspec.structs.replace(account, role=role), entry)
    _end_links(service, account, role, by=by)


def remove(service: Service, name: str, *, by: Actor, why: str = "") -> None:
    """Somebody leaves: votes and decisions stay, access goes at once."""
    account = _active(service, name)
    _may_give(by, account.role)
    _keep_an_admin(service, account)
    gone = msgspec.structs.replace(account, active=False, password="")
    was: dict[str, str] = {"role": account.role}
    entry = _entry(service, by.name, "people.removed", account.name, reason=why, before=was)
    service.store.put_account(gone, entry)
    service.store.end_sessions(name=account.name)
    _end_links(service, account, None, by=by)


def _end_links(service: Service, account: Account, role: Role | None, *, by: Actor) -> None:
    """The links that somebody has made go with the right to make them; without a role, those for
    that person go too."""
    own = folded(account.name)
    for one in service.store.invitations(service.clock()):
        made = folded(one.by) == own and not _gives(role, one.role)
        if made or (role is None and folded(one.name) == own):
            _end_link(service, one, by=by)


def _keep_an_admin(service: Service, account: Account) -> None:
    others = (
        one
        for one in service.store.accounts()
        if one.active and one.role == "admin" and one.name != account.name
    )
    if account.role == "admin" and not any(others):
        raise Declined(
            "only_admin",
            f"{account.name} is the only admin and must stay one",
            hint="Make somebody else an admin first.",
            name=account.name,
        )


def _gives(own: Role | None, role: Role) -> bool:
    """An admin deals with everybody, a chair with judges and readers."""
    return own == "admin" or (own == "chair" and ROLES.index(role) < ROLES.index("chair"))


def _may_give(by: Actor, role: Role) -> None:
    if _gives(by.role, role):
        return
    raise Declined("not_yours", f"a {by.role} cannot do this for a {role}", hint="Ask an admin.")


def _active(service: Service, name: str) -> Account:
    account = service.store.account(name)
    if account is None or not account.active:
        raise Declined("nobody", f"nobody has an account named {name!r}", name=name)
    return account


# ── signing in ────────────────────────────────────────────────────────────────────────────────────


def sign_in(service: Service, name: str, password: str, *, agent: str = "") -> str:
    """What the cookie of a new session holds, or "" where name and password do not belong
    together. It takes as long for a name that nobody has."""
    account = service.store.account(name)
    known = account is not None and account.active and bool(account.password)
    right = verified(account.password if known and account else nobodys(), password)
    if account is None or not known or not right:
        return ""
    if needs_rehash(account.password):
        stronger = msgspec.structs.replace(account, password=hashed(password))
        entry = _entry(service, account.name, "people.new_hash", account.name)
        service.store.put_account(stronger, entry)
    return start_session(service, account.name, agent=agent)


def start_session(service: Service, name: str, *, agent: str = "") -> str:
    token, now = secrets.token_urlsafe(32), service.clock()
    service.store.add_session(
        Session(
            id=digest(token),
            name=name,
            created_at=now,
            expires_at=now + timedelta(days=SESSION_DAYS),
            agent=agent[:200],
        )
    )
    return token


def signed_in(service: Service, token: str) -> Account | None:
    """Whose session it is."""
    return service.store.signed_in(digest(token), service.clock()) if token else None


def account_of(service: Service, name: str) -> Account | None:
    """An active account by its name."""
    account = service.store.account(name)
    return account if account is not None and account.active else None


def sessions_of(service: Service, name: str) -> list[Session]:
    """Where somebody is signed in."""
    ours = service.store.sessions(service.clock())
    return [one for one in ours if folded(one.name) == folded(name)]


def sign_out(service: Service, token: str) -> None:
    service.store.end_sessions(ids=[digest(token)])


def sign_out_everywhere(service: Service, name: str, *, by: Actor) -> int:
    account = _active(service, name)
    if folded(by.name) != folded(account.name):
        _may_give(by, account.role)
        entry = _entry(service, by.name, "people.signed_out", account.name)
        service.store.append_audit([entry])
    return service.store.end_sessions(name=account.name)


def change_password(service: Service, name: str, old: str, new: str) -> None:
    """One's own; every session ends."""
    account = _active(service, name)
    if account.password and not verified(account.password, old):
        raise Declined("password_wrong", "the present password is another one")
    changed = msgspec.structs.replace(account, password=hashed(proper_password(new, name)))
    service.store.put_account(
        changed, _entry(service, account.name, "people.new_password", account.name)
    )
    service.store.end_sessions(name=account.name)


# ── keys of services ──────────────────────────────────────────────────────────────────────────────


def make_key(service: Service, name: str, kind: KeyKind, *, by: Actor) -> str:
    """A key that a program carries: one that logs can log and nothing else, one that watches can
    read figures and nothing else. It is shown once."""
    name = proper_name(name)
    token = f"assay_{kind}_{secrets.token_urlsafe(32)}"
    key = ServiceKey(id=digest(token), name=name, kind=kind, by=by.name, created_at=service.clock())
    try:
        service.store.add_service_key(
            key, _entry(service, by.name, "key.made", name, after={"kind": kind})
        )
    except StoreConflict as error:
        raise Declined("key_taken", str(error), hint="Give another name.", name=name) from error
    return token


def end_key(service: Service, name: str, *, by: Actor) -> None:
    try:
        service.store.end_service_key(name, _entry(service, by.name, "key.ended", name))
    except StoreConflict as error:
        raise Declined("key_gone", str(error), name=name) from error


def key_of(service: Service, token: str) -> ServiceKey | None:
    return service.store.service_key(digest(token)) if token else None


def server_secret(service: Service) -> bytes:
    """What the server signs its cookies with: the same after a restart."""
    return bytes.fromhex(service.store.server_secret("cookies"))


# ── names and the record ──────────────────────────────────────────────────────────────────────────


def proper_name(name: str) -> str:
    """A name as it is kept: nothing in it that cannot be seen, and not that of the machine."""
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not name:
        raise Declined("name_missing", "a name is missing")
    if len(name) > MAX_NAME:
        raise Declined("name_long", f"a name has at most {MAX_NAME} letters", n=MAX_NAME)
    if any(unicodedata.category(letter)[0] == "C" for letter in name):
        raise Declined("name_unseen", "a name has letters that cannot be seen")
    if folded(name) == TERMINAL:
        raise Declined("name_reserved", f"{TERMINAL!r} stands for the machine itself")
    return name


def _entry(
    service: Service,
    by: str,
    action: str,
    subject: str,
    *,
    reason: str = "",
    before: dict[str, str] | None = None,
    after: dict[str, str] | None = None,
) -> AuditEntry:
    return AuditEntry(
        id=secrets.token_hex(16),
        at=service.clock(),
        by=by,
        action=action,
        subject=subject,
        reason=reason,
        before=dict(before) if before else None,
        after=dict(after) if after else None,
    )

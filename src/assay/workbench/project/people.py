"""People: who may sign in, links that work once, passwords, sessions and the keys of services.

Links, sessions and keys are shown once and kept as digests. The store checks every change against
the accounts as they are at that moment and adds it to the audit trail. Functions that change
something take the person who does it as `by`."""

from __future__ import annotations

import hashlib
import secrets
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, Declined
from assay.core.extras import imported
from assay.core.types import VoteKind
from assay.gold.people import IMPORTED
from assay.gold.votes import role_of
from assay.store import StoreConflict
from assay.store.records import (
    TERMINAL,
    Account,
    AccountAct,
    Invitation,
    KeyKind,
    Role,
    ServiceKey,
    Session,
    folded,
    spelling_skeleton,
)
from assay.workbench.judging.session import JudgingSession, open_session
from assay.workbench.project.service import Service

if TYPE_CHECKING:
    from argon2 import PasswordHasher

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
# Chosen, not measured: a lost link or laptop should not be of use for long.
LINK_DAYS = {"join": 7, "password": 1}
FIRST_LINK_DAYS = 1
SESSION_DAYS = 14
MAX_NAME = 80
HINTS = {
    "link_over": "Ask for a new one.",
    "only_admin": "Make somebody else an admin first.",
    "not_yours": "Ask an admin.",
    "key_taken": "Give another name.",
}

# ── passwords ─────────────────────────────────────────────────────────────────────────────────────

MIN_PASSWORD, MAX_PASSWORD = 10, 1000  # characters; chosen


def proper_password(password: str, name: str) -> str:
    if len(password) < MIN_PASSWORD:
        raise Declined(
            "password_short",
            f"a password must have at least {MIN_PASSWORD} characters",
            n=MIN_PASSWORD,
        )
    if len(password) > MAX_PASSWORD:
        raise Declined(
            "password_long",
            f"a password can have at most {MAX_PASSWORD} characters",
            n=MAX_PASSWORD,
        )
    if folded(password) == folded(name) or len(set(password)) < 4:
        raise Declined("password_easy", "this password is too easy to guess")
    return password


# one takes 64 MiB for a moment: a crowd at the door waits in line
_hash_slots = threading.Semaphore(2)


@cache
def _hasher() -> PasswordHasher:
    hasher: PasswordHasher = imported("argon2", "an account", "serve").PasswordHasher()
    return hasher


def hash_password(password: str) -> str:
    with _hash_slots:
        return _hasher().hash(password)


@cache
def unknown_password_hash() -> str:
    return hash_password(secrets.token_urlsafe(16))


def verify_password(known: str, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        with _hash_slots:
            return _hasher().verify(known, password[: MAX_PASSWORD + 1])
    except (VerificationError, InvalidHashError):
        return False


def needs_rehash(known: str) -> bool:
    """Whether it was made with weaker settings than today's."""
    return _hasher().check_needs_rehash(known)


def digest(token: str) -> str:
    """The stored digest of a token: tokens are long and random, so no salt is needed."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


# ── the judges of a project ───────────────────────────────────────────────────────────────────────


class Voter(msgspec.Struct, frozen=True, kw_only=True):
    """A judge, how many votes of theirs hold on all sets, without rulings, and the time of the
    last."""

    name: str
    kind: VoteKind
    votes: int
    last: str


def _sessions(service: Service) -> Iterator[JudgingSession]:
    """The sets that can be opened; the page of a set explains why it cannot."""
    for path in service.gold_sets.values():
        try:
            yield open_session(path)
        except (AssayError, OSError):
            continue


def dealt_to_others(service: Service, name: str, role: str) -> list[str]:
    """The judges that pools are dealt to, if a new judge is none of them."""
    pools = (session.pool for session in _sessions(service))
    names = {judge for pool in pools if pool is not None for judge in pool.judges}
    return sorted(names) if role == "judge" and name not in names else []


def voters(service: Service) -> list[Voter]:
    """Everybody who has voted, most votes first."""
    times: dict[tuple[str, VoteKind], list[str]] = {}
    for session in _sessions(service):
        with session.log.reading:
            for vote in session.votes.all_current_votes():
                if vote.judge != IMPORTED and not role_of(vote.source):
                    times.setdefault((vote.judge, vote.kind), []).append(vote.at)
    found = [
        Voter(name=name, kind=kind, votes=len(given), last=max(given))
        for (name, kind), given in times.items()
    ]
    return sorted(found, key=lambda voter: (-voter.votes, voter.name))


# ── accounts, links and keys ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Actor:
    """The person who acts, and their role."""

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


def list_people(service: Service) -> People:
    now = service.clock()
    sessions = service.store.sessions(now)
    last = {account.name: account.created_at for account in sessions}
    return People(
        people=[
            Person(
                name=account.name,
                role=account.role,
                active=account.active,
                since=account.created_at,
                invited_by=account.created_by,
                sessions=sum(session.name == account.name for session in sessions),
                signed_in_at=last.get(account.name),
            )
            for account in service.store.accounts()
        ],
        links=[
            msgspec.convert(account, thread_safe(OpenLink), from_attributes=True)
            for account in service.store.invitations(now)
        ],
        keys=[
            KnownKey(name=account.name, kind=account.kind, by=account.by, since=account.created_at)
            for account in service.store.service_keys()
        ],
    )


# ── links that work once ──────────────────────────────────────────────────────────────────────────


def first_link(service: Service) -> Link | None:
    """The way in for the first admin, while there is none; an earlier one stops working."""
    accounts = service.store.accounts()
    if any(account.active and account.role == "admin" for account in accounts):
        return None
    return _new_link(service, "join", "", "admin", by=AT_THE_TERMINAL, days=FIRST_LINK_DAYS)


def invite(service: Service, name: str, role: Role, *, by: Actor) -> Link:
    """Make a link for somebody to join under a name. Who has left can be invited again."""
    with _explained_conflicts(taken="Change the role, or make a link for a new password."):
        return _new_link(service, "join", _own_name(service, name), role, by=by)


def new_password_link(service: Service, name: str, *, by: Actor) -> Link:
    """Make a link for somebody who has lost the password, which works until the link is used."""
    with _explained_conflicts():  # the store knows the role
        return _new_link(service, "password", name, "reader", by=by)


def _new_link(
    service: Service,
    kind: Literal["join", "password"],
    name: str,
    role: Role,
    *,
    by: Actor,
    days: int = 0,
) -> Link:
    token, now = secrets.token_urlsafe(32), service.clock()
    invitation = Invitation(
        id=digest(token),
        kind=kind,
        name=name,
        role=role,
        by=by.name,
        created_at=now,
        expires_at=now + timedelta(days=days or LINK_DAYS[kind]),
    )
    kept = service.store.add_invitation(invitation, _act(service, by))
    return Link(token=token, kind=kind, name=kept.name, role=kept.role, expires_at=kept.expires_at)


def opened_link(service: Service, token: str) -> Invitation | None:
    """Return what a link is for, or None if it was used, is over, or its giver has no right to it
    any more."""
    id = digest(token)
    return next(
        (
            invitation
            for invitation in service.store.invitations(service.clock())
            if invitation.id == id
        ),
        None,
    )


def accept(service: Service, token: str, *, name: str, password: str) -> Account:
    """Join, or set a new password; other sessions of the account end."""
    invitation = opened_link(service, token)
    if invitation is None:
        message = "this link was used, or its time is over"
        raise Declined("link_over", message, hint=HINTS["link_over"])
    name = invitation.name or _own_name(service, name)
    new = hash_password(proper_password(password, name))
    with _explained_conflicts():
        return service.store.accept_invitation(
            invitation.id, name=name, password=new, at=service.clock()
        )


def take_back(service: Service, id: str, *, by: Actor) -> None:
    """Make a link that was not used yet stop working."""
    with _explained_conflicts(link_over=""):
        service.store.end_invitation(id, _act(service, by))


# ── what admins do ────────────────────────────────────────────────────────────────────────────────


def change_role(service: Service, name: str, role: Role, *, by: Actor) -> None:
    with _explained_conflicts():
        service.store.set_role(name, role, _act(service, by))


def remove(service: Service, name: str, *, by: Actor, why: str = "") -> None:
    """Take somebody's access away at once; votes and decisions stay."""
    with _explained_conflicts():
        service.store.deactivate(name, _act(service, by, why))


def _act(service: Service, by: Actor, why: str = "") -> AccountAct:
    return AccountAct(by=by.name, role=by.role, at=service.clock(), reason=why)


@contextmanager
def _explained_conflicts(**hints: str) -> Iterator[None]:
    """Say what the store refuses as pages say it, with a hint about what to do."""
    try:
        yield
    except StoreConflict as error:
        hint = (HINTS | hints).get(error.why, "")
        raise Declined(error.why, str(error), hint=hint, name=error.name) from error


# ── signing in ────────────────────────────────────────────────────────────────────────────────────


def sign_in(service: Service, name: str, password: str, *, agent: str = "") -> str:
    """Return what the cookie of a new session holds, or "" if name and password do not belong
    together. It takes as long for a name that nobody has."""
    account = service.store.account(name)
    known = account.password if account is not None and account.active else ""
    right = verify_password(known or unknown_password_hash(), password)
    if account is None or not known or not right:
        return ""
    try:
        if needs_rehash(known):
            stronger, now = hash_password(password), service.clock()
            service.store.set_password(
                account.name, stronger, known=known, at=now, end_sessions=False
            )
            known = stronger
        return _add_session(service, account.name, agent, known)
    except StoreConflict:  # removed, or with another password, while this one was checked
        return ""


def start_session(service: Service, name: str, *, agent: str = "") -> str:
    """Return what the cookie of a new session holds."""
    with _explained_conflicts():
        return _add_session(service, name, agent)


def _add_session(service: Service, name: str, agent: str, known: str | None = None) -> str:
    token, now = secrets.token_urlsafe(32), service.clock()
    session = Session(
        id=digest(token),
        name=name,
        created_at=now,
        expires_at=now + timedelta(days=SESSION_DAYS),
        agent=agent[:200],
    )
    service.store.add_session(session, known=known)
    return token


def signed_in(service: Service, token: str) -> Account | None:
    """The account whose session a token opens."""
    return service.store.signed_in(digest(token), service.clock()) if token else None


def account_of(service: Service, name: str) -> Account | None:
    """An active account by its name."""
    account = service.store.account(name)
    return account if account is not None and account.active else None


def sessions_of(service: Service, name: str) -> list[Session]:
    """The sessions of a person."""
    sessions = service.store.sessions(service.clock())
    return [session for session in sessions if folded(session.name) == folded(name)]


def sign_out(service: Service, token: str) -> None:
    service.store.end_sessions([digest(token)])


def sign_out_everywhere(service: Service, name: str, *, by: Actor) -> int:
    with _explained_conflicts():
        return service.store.sign_out(name, _act(service, by))


def change_password(service: Service, name: str, old: str, new: str) -> None:
    """Change one's own password; every session ends."""
    account = account_of(service, name)
    if account is None:
        raise Declined("nobody", f"nobody has an account named {name!r}", name=name)
    if account.password and not verify_password(account.password, old):
        raise Declined("password_wrong", "that is not your current password")
    new = hash_password(proper_password(new, name))
    with _explained_conflicts():
        service.store.set_password(name, new, known=account.password, at=service.clock())


# ── keys of services ──────────────────────────────────────────────────────────────────────────────


def make_key(service: Service, name: str, kind: KeyKind, *, by: Actor) -> str:
    """A key that a program carries: one that logs can log and nothing else, one that watches can
    read figures and nothing else. It is shown once."""
    name = _own_name(service, name)
    token = f"assay_{kind}_{secrets.token_urlsafe(32)}"
    key = ServiceKey(id=digest(token), name=name, kind=kind, by=by.name, created_at=service.clock())
    with _explained_conflicts():
        service.store.add_service_key(key)
    return token


def end_key(service: Service, name: str, *, by: Actor) -> None:
    with _explained_conflicts():
        service.store.end_service_key(name, _act(service, by))


def key_of(service: Service, token: str) -> ServiceKey | None:
    return service.store.service_key(digest(token)) if token else None


def server_secret(service: Service) -> bytes:
    """The secret that signs the server's cookies, which survives a restart."""
    return bytes.fromhex(service.store.server_secret("cookies"))


# ── names ─────────────────────────────────────────────────────────────────────────────────────────


BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800" + "".join(
    map(chr, range(0xFE00, 0xFE10))
)  # letters and marks that leave nothing to see, by their entries in Unicode


def _own_name(service: Service, name: str) -> str:
    """A proper name that nobody would take for somebody else's."""
    name, known = proper_name(name), list_people(service)
    lists = (
        (known_name.name for known_name in part) for part in (known.people, known.links, known.keys)
    )
    for other in chain.from_iterable(lists):
        if folded(other) != folded(name) and spelling_skeleton(other) == spelling_skeleton(name):
            message = f"this name looks like {other!r}, which is somebody else's"
            raise Declined("name_look_alike", message, hint="Choose another.", name=other)
    return name


def proper_name(name: str) -> str:
    """A name as it is kept: nothing in it that cannot be seen, and not that of the machine."""
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not name:
        raise Declined("name_missing", "a name is missing")
    if len(name) > MAX_NAME:
        raise Declined("name_long", f"a name can have at most {MAX_NAME} letters", n=MAX_NAME)
    if any(unicodedata.category(letter)[0] == "C" or letter in BLANK for letter in name):
        raise Declined("name_unseen", "the name contains invisible characters")
    if folded(name) == TERMINAL:
        raise Declined("name_reserved", f"{TERMINAL!r} is a reserved name")
    return name

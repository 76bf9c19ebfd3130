"""People in the store: accounts, sessions, invitations, keys of services, and the server's own
secret."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, delete, insert, select, update

from assay.store.contract import StoreConflict
from assay.store.database import NAMES_LOCK, lock, place_of, read, write
from assay.store.log_rows import insert_new, insert_new_or_change
from assay.store.records import (
    Account,
    AuditEntry,
    Invitation,
    ServiceKey,
    Session,
    StoreIdentity,
    folded,
)
from assay.store.reviews import append_audit
from assay.store.tables import invitations, server_secrets, service_keys, sessions, users

CHANGED = ("name", "role", "password", "active", "created_at", "created_by")


class Accounts:
    """The methods of a store that are about people. See `assay.store.contract.People`."""

    _engine: Engine

    def accounts(self) -> list[Account]:
        asked = select(users).order_by(users.c.key)
        return read(self._engine, lambda c: [_account(row) for row in c.execute(asked).mappings()])

    def account(self, name: str) -> Account | None:
        asked = select(users).where(users.c.key == folded(name))
        return read(self._engine, lambda c: _first(c, asked))

    def put_account(self, account: Account, entry: AuditEntry) -> None:
        def work(connection: Connection) -> None:
            _put(connection, account)
            append_audit(connection, [entry])

        write(self._engine, work)

    def add_session(self, session: Session) -> None:
        row = msgspec.structs.asdict(session)
        row["user_key"] = folded(row.pop("name"))

        def work(connection: Connection) -> None:
            connection.execute(delete(sessions).where(sessions.c.expires_at <= session.created_at))
            connection.execute(insert(sessions), row)

        write(self._engine, work)

    def signed_in(self, id: str, at: datetime) -> Account | None:
        asked = (
            select(users)
            .join(sessions, sessions.c.user_key == users.c.key)
            .where(sessions.c.id == id, sessions.c.expires_at > at, users.c.active == 1)
        )
        return read(self._engine, lambda c: _first(c, asked))

    def sessions(self, at: datetime) -> list[Session]:
        asked = (
            select(sessions, users.c.name)
            .join(users, sessions.c.user_key == users.c.key)
            .where(sessions.c.expires_at > at)
            .order_by(sessions.c.created_at, sessions.c.id)
        )
        return read(self._engine, lambda c: [_session(row) for row in c.execute(asked).mappings()])

    def end_sessions(self, *, name: str = "", ids: Sequence[str] = ()) -> int:
        ours = delete(sessions).where(
            (sessions.c.user_key == folded(name)) if name else sessions.c.id.in_(ids)
        )
        return write(self._engine, lambda connection: connection.execute(ours).rowcount)

    def add_invitation(self, invitation: Invitation, entry: AuditEntry) -> None:
        """Earlier ones of the same name and kind end."""

        def work(connection: Connection) -> None:
            connection.execute(
                update(invitations)
                .where(
                    invitations.c.ended_at.is_(None),
                    invitations.c.name == invitation.name,
                    invitations.c.kind == invitation.kind,
                )
                .values(ended_at=invitation.created_at)
            )
            connection.execute(insert(invitations), msgspec.structs.asdict(invitation))
            append_audit(connection, [entry])

        write(self._engine, work)

    def invitations(self, at: datetime) -> list[Invitation]:
        asked = (
            select(invitations)
            .where(invitations.c.ended_at.is_(None), invitations.c.expires_at > at)
            .order_by(invitations.c.created_at, invitations.c.id)
        )
        return read(
            self._engine, lambda c: [Invitation(**row) for row in c.execute(asked).mappings()]
        )

    def accept_invitation(self, id: str, account: Account, entry: AuditEntry) -> None:
        def work(connection: Connection) -> None:
            _end_invitation(connection, id, entry.at)
            _put(connection, account)
            connection.execute(delete(sessions).where(sessions.c.user_key == folded(account.name)))
            append_audit(connection, [entry])

        write(self._engine, work)

    def end_invitation(self, id: str, entry: AuditEntry) -> None:
        def work(connection: Connection) -> None:
            _end_invitation(connection, id, entry.at)
            append_audit(connection, [entry])

        write(self._engine, work)

    def add_service_key(self, key: ServiceKey, entry: AuditEntry) -> None:
        def work(connection: Connection) -> None:
            taken = select(service_keys.c.id).where(
                service_keys.c.name == key.name, service_keys.c.ended_at.is_(None)
            )
            if connection.execute(taken).first():
                raise StoreConflict(f"there is a key named {key.name!r} already")
            connection.execute(insert(service_keys), msgspec.structs.asdict(key))
            append_audit(connection, [entry])

        write(self._engine, work)

    def service_keys(self) -> list[ServiceKey]:
        asked = (
            select(service_keys)
            .where(service_keys.c.ended_at.is_(None))
            .order_by(service_keys.c.created_at, service_keys.c.id)
        )
        return read(
            self._engine, lambda c: [ServiceKey(**row) for row in c.execute(asked).mappings()]
        )

    def service_key(self, id: str) -> ServiceKey | None:
        asked = select(service_keys).where(
            service_keys.c.id == id, service_keys.c.ended_at.is_(None)
        )

        def work(connection: Connection) -> ServiceKey | None:
            row = connection.execute(asked).mappings().first()
            return ServiceKey(**row) if row else None

        return read(self._engine, work)

    def end_service_key(self, name: str, entry: AuditEntry) -> None:
        ending = (
            update(service_keys)
            .where(service_keys.c.name == name, service_keys.c.ended_at.is_(None))
            .values(ended_at=entry.at)
        )

        def work(connection: Connection) -> None:
            if not connection.execute(ending).rowcount:
                raise StoreConflict(f"there is no key named {name!r}")
            append_audit(connection, [entry])

        write(self._engine, work)

    def server_secret(self, name: str) -> str:
        asked = select(server_secrets.c.value).where(server_secrets.c.name == name)
        known = read(self._engine, lambda connection: connection.execute(asked).scalar())
        if known is not None:
            return str(known)

        def work(connection: Connection) -> str:
            row = {"name": name, "value": secrets.token_hex(32)}
            connection.execute(insert_new(connection, server_secrets), row)
            return str(connection.execute(asked).scalar_one())

        return write(self._engine, work)

    def identity(self) -> StoreIdentity:
        known, is_here = read(self._engine, _identity)
        return known if is_here else write(self._engine, _settled_identity)

    def renew_identity(self) -> None:
        write(self._engine, lambda connection: _new_identity(connection, _identity(connection)[0]))


# ── the store itself ──────────────────────────────────────────────────────────────────────────────

_OWN, _BEFORE, _PLACE = "identity", "identity before", "identity place"


def _identity(connection: Connection) -> tuple[StoreIdentity, bool]:
    """And whether it is of this database, and not of one that this is a copy of."""
    asked = select(server_secrets).where(server_secrets.c.name.in_((_OWN, _BEFORE, _PLACE)))
    kept = {row.name: row.value for row in connection.execute(asked)}
    known = StoreIdentity(own=kept.get(_OWN, ""), before=kept.get(_BEFORE, ""))
    return known, bool(known.own) and kept.get(_PLACE) == place_of(connection)


def _settled_identity(connection: Connection) -> StoreIdentity:
    lock(connection, NAMES_LOCK)
    known, is_here = _identity(connection)
    if is_here:  # another was faster
        return known
    asked = select(server_secrets.c.value).where(server_secrets.c.name == _PLACE)
    if known.own and connection.execute(asked).scalar() is None:  # of an older version: it is its
        _keep(connection, {_PLACE: place_of(connection)})
        return known
    return _new_identity(connection, known)


def _new_identity(connection: Connection, before: StoreIdentity) -> StoreIdentity:
    new = StoreIdentity(own=secrets.token_hex(32), before=before.own)
    _keep(connection, {_OWN: new.own, _BEFORE: new.before, _PLACE: place_of(connection)})
    return new


def _keep(connection: Connection, values: dict[str, str]) -> None:
    rows = [{"name": name, "value": value} for name, value in values.items()]
    changing = insert_new_or_change(connection, server_secrets, ("name",), ("value",))
    connection.execute(changing, rows)


def _put(connection: Connection, account: Account) -> None:
    row = msgspec.structs.asdict(account) | {
        "key": folded(account.name),
        "active": int(account.active),
    }
    connection.execute(insert_new_or_change(connection, users, ("key",), CHANGED), row)


def _end_invitation(connection: Connection, id: str, at: datetime) -> None:
    """Of two who open a link at once, one is told that it was used."""
    ended = connection.execute(
        update(invitations)
        .where(
            invitations.c.id == id,
            invitations.c.ended_at.is_(None),
            invitations.c.expires_at > at,
        )
        .values(ended_at=at)
    )
    if not ended.rowcount:
        raise StoreConflict("this link was used, or its time is over")


def _first(connection: Connection, asked: Any) -> Account | None:
    row = connection.execute(asked).mappings().first()
    return None if row is None else _account(row)


def _account(row: Any) -> Account:
    fields = {name: value for name, value in row.items() if name != "key"}
    return Account(**fields | {"active": bool(fields["active"])})


def _session(row: Any) -> Session:
    return Session(**{name: value for name, value in row.items() if name != "user_key"})

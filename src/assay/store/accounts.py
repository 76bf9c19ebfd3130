"""People in the store: accounts, sessions, invitations, keys of services, and the server's secret.

A change of an account is one transaction that reads again what the change depends on, updates
single columns, and adds the audit entry. A caller that acts on an account as it was is told so by
`StoreConflict`."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    literal,
    or_,
    select,
    update,
)

from assay.store.database import ACCOUNT_LOCK, insert_new, lock, reading, row_of, writing
from assay.store.records import (
    TERMINAL,
    Account,
    AccountAct,
    Invitation,
    JsonObject,
    Role,
    ServiceKey,
    Session,
    StoreConflict,
    StoreError,
    folded,
    may_manage,
)
from assay.store.tables import (
    audit_trail,
    invitations,
    server_secrets,
    service_keys,
    sessions,
    users,
)

_ACCOUNTS = select(*(column for column in users.columns if column.name != "key"))
# What was made later than now was made by a clock that ran ahead, and would outlive its days.
CLOCKS_DIFFER = timedelta(days=1)  # chosen: more than clocks and time zones are apart


def _in_time(table: Table, now: object, latest: object) -> tuple[ColumnElement[bool], ...]:
    """The conditions on sessions and invitations: not expired, and made at `latest` at the
    latest."""
    return table.c.expires_at > now, table.c.created_at <= latest


# of the store: sessions, and invitations that nobody used, whose time is over
_OVER = sessions.c.expires_at <= bindparam("now")
_OVER_UNUSED = (invitations.c.ended_at.is_(None), invitations.c.expires_at <= bindparam("now"))
_SIGNED_IN = (
    select(
        or_(exists().where(_OVER), exists().where(*_OVER_UNUSED)).label("any_over"),
        *_ACCOUNTS.selected_columns,
    )
    .select_from(select(literal(1)).subquery())
    .outerjoin(
        users.join(sessions, sessions.c.user_key == users.c.key),
        and_(
            sessions.c.id == bindparam("session"),
            *_in_time(sessions, bindparam("now"), bindparam("latest")),
            users.c.active == 1,
        ),
    )
)  # made once: every request asks
FIRST_ADMIN = "the first admin"  # the subject of audit entries about an invitation without a name


class Accounts:
    """The methods of a store for people. Names are compared without case. Of a session, an
    invitation and a key the store keeps only a digest."""

    _engine: Engine

    @reading
    def accounts(self, connection: Connection) -> list[Account]:
        """Return every account, also of people who have left, by name."""
        rows = connection.execute(_ACCOUNTS.order_by(users.c.key)).mappings()
        return [_account(row) for row in rows]

    @reading
    def account(self, connection: Connection, name: str) -> Account | None:
        return _find(connection, name)

    @writing
    def set_password(
        self,
        connection: Connection,
        name: str,
        new: str,
        *,
        known: str,
        at: datetime,
        end_sessions: bool = True,
    ) -> None:
        """Replace the password hash of an active account, if it still is `known`.

        Without `end_sessions` it is the same password with a stronger hash."""
        lock(connection, ACCOUNT_LOCK)
        account = _active(connection, name, password=known)
        _change(connection, account, password=new)
        if end_sessions:
            _end_sessions(connection, account)
        action = "people.new_password" if end_sessions else "people.new_hash"
        _note(
            connection, AccountAct(by=account.name, role=account.role, at=at), action, account.name
        )

    @writing
    def set_role(self, connection: Connection, name: str, role: Role, act: AccountAct) -> None:
        """Change a role, and end the invitations that the new role could not have given."""
        lock(connection, ACCOUNT_LOCK)
        account = _active(connection, name)
        _require_right(connection, act, account.role, role)
        if account.role == role:
            return
        _keep_an_admin(connection, account)
        _change(connection, account, role=role)
        before, after = {"role": account.role}, {"role": role}
        _note(connection, act, "people.role", account.name, before=before, after=after)
        own = folded(account.name)
        for invitation in _open_invitations(connection, act.at):
            if folded(invitation.by) == own and not may_manage(role, invitation.role):
                _take_back(connection, invitation, act)

    @writing
    def deactivate(self, connection: Connection, name: str, act: AccountAct) -> None:
        """Take access away: the password goes, sessions end, and so do the invitations by and for
        this person. The name stays with the votes and decisions made under it."""
        lock(connection, ACCOUNT_LOCK)
        account = _active(connection, name)
        _require_right(connection, act, account.role)
        _keep_an_admin(connection, account)
        _change(connection, account, active=0, password="")
        _end_sessions(connection, account)
        _note(connection, act, "people.removed", account.name, before={"role": account.role})
        own = folded(account.name)
        for invitation in _open_invitations(connection, act.at):
            if own in (folded(invitation.by), folded(invitation.name)):
                _take_back(connection, invitation, act)

    # ── sessions ──────────────────────────────────────────────────────────────────────────────────

    @writing
    def add_session(
        self, connection: Connection, session: Session, *, known: str | None = None
    ) -> None:
        """Keep a session of an active account, and delete expired sessions. With `known`, the
        account must still have this password hash."""
        lock(connection, ACCOUNT_LOCK, shared=True)
        _active(connection, session.name, password=known)
        connection.execute(delete(sessions).where(sessions.c.expires_at <= session.created_at))
        row = row_of(session) | {"user_key": folded(session.name)}
        del row["name"]
        connection.execute(insert(sessions), row)

    def signed_in(self, id: str, at: datetime) -> Account | None:
        """Return the account of a session that has not expired, while the account is active. What
        is seen to be expired ends for good: a clock that is set back does not revive it."""
        account, any_over = self._signed_in(id, at)
        if any_over:
            with contextlib.suppress(StoreError):
                self._end_expired(at)
        return account

    @reading
    def _signed_in(
        self, connection: Connection, id: str, at: datetime
    ) -> tuple[Account | None, bool]:
        values = {"session": id, "now": at, "latest": at + CLOCKS_DIFFER}
        row = dict(connection.execute(_SIGNED_IN, values).mappings().one())
        any_over = bool(row.pop("any_over"))
        return (None if row["name"] is None else _account(row)), any_over

    @writing
    def _end_expired(self, connection: Connection, at: datetime) -> None:
        connection.execute(delete(sessions).where(_OVER), {"now": at})
        ended = update(invitations).where(*_OVER_UNUSED).values(ended_at=at)
        connection.execute(ended, {"now": at})

    @reading
    def sessions(self, connection: Connection, at: datetime) -> list[Session]:
        """Return the sessions that have not expired, oldest first."""
        columns = [column for column in sessions.columns if column.name != "user_key"]
        query = (
            select(*columns, users.c.name)
            .join(users, sessions.c.user_key == users.c.key)
            .where(*_in_time(sessions, at, at + CLOCKS_DIFFER))
            .order_by(sessions.c.created_at, sessions.c.id)
        )
        return [Session(**row) for row in connection.execute(query).mappings()]

    @writing
    def end_sessions(self, connection: Connection, ids: Sequence[str]) -> int:
        """End the sessions with these ids and return how many there were."""
        return connection.execute(delete(sessions).where(sessions.c.id.in_(ids))).rowcount

    @writing
    def sign_out(self, connection: Connection, name: str, act: AccountAct) -> int:
        """End every session of an active account and return how many there were. Signing somebody
        else out needs the right to, and is in the audit trail."""
        lock(connection, ACCOUNT_LOCK)
        account = _active(connection, name)
        if folded(act.by) != folded(account.name):
            _require_right(connection, act, account.role)
            _note(connection, act, "people.signed_out", account.name)
        return _end_sessions(connection, account)

    # ── invitations ───────────────────────────────────────────────────────────────────────────────

    @writing
    def add_invitation(
        self, connection: Connection, invitation: Invitation, act: AccountAct
    ) -> Invitation:
        """Keep an invitation, and end an earlier one of the same name and kind. Return it with the
        name and the role as the account has them."""
        lock(connection, ACCOUNT_LOCK)
        account = _find(connection, invitation.name)
        if invitation.kind == "password":
            account = _active(connection, invitation.name)
            invitation = replace(invitation, role=account.role)
        _require_right(connection, act, invitation.role)
        if invitation.kind == "join":
            _require_free(account)
        invitation = replace(invitation, name=account.name if account else invitation.name)
        same = (invitations.c.name == invitation.name, invitations.c.kind == invitation.kind)
        earlier = update(invitations).where(invitations.c.ended_at.is_(None), *same)
        connection.execute(earlier.values(ended_at=invitation.created_at))
        connection.execute(insert(invitations), row_of(invitation))
        action = "people.invited" if invitation.kind == "join" else "people.new_password_link"
        subject, after = invitation.name or FIRST_ADMIN, {"role": invitation.role}
        _note(connection, act, action, subject, after=after)
        return invitation

    @reading
    def invitations(self, connection: Connection, at: datetime) -> list[Invitation]:
        """Return the invitations that can be used, oldest first: not used, not expired, and given
        by somebody who may still give them."""
        return [
            invitation
            for invitation in _open_invitations(connection, at)
            if _is_open(connection, invitation)
        ]

    @writing
    def accept_invitation(
        self, connection: Connection, id: str, *, name: str, password: str, at: datetime
    ) -> Account:
        """Use an invitation: to join, or to replace a password hash. The name is that of the
        invitation, and `name` where the invitation has none. Sessions of the account end."""
        lock(connection, ACCOUNT_LOCK)
        invitation = _usable_invitation(connection, id, at)
        name = invitation.name or name
        if invitation.kind == "password":
            account = _active(connection, name)
            action = "people.new_password"
        else:
            account = _join(connection, invitation, name, at)
            action = "people.joined"
        _change(connection, account, password=password)
        _end_invitation(connection, invitation, at)
        _end_sessions(connection, account)
        act = AccountAct(by=account.name, role=account.role, at=at)
        _note(connection, act, action, account.name, after={"role": account.role})
        return replace(account, password=password)

    @writing
    def end_invitation(self, connection: Connection, id: str, act: AccountAct) -> None:
        """Take an invitation back."""
        lock(connection, ACCOUNT_LOCK)
        invitation = _usable_invitation(connection, id, act.at)
        _require_right(connection, act, invitation.role)
        _take_back(connection, invitation, act)

    # ── keys of services, and the server itself ───────────────────────────────────────────────────

    @writing
    def add_service_key(self, connection: Connection, key: ServiceKey) -> None:
        lock(connection, ACCOUNT_LOCK)
        ours = (service_keys.c.name == key.name, service_keys.c.ended_at.is_(None))
        if connection.execute(select(service_keys.c.id).where(*ours)).first():
            message = f"there is a key named {key.name!r} already"
            raise StoreConflict(message, why="key_taken", name=key.name)
        connection.execute(insert(service_keys), row_of(key))
        act = AccountAct(by=key.by, role="admin", at=key.created_at)
        _note(connection, act, "key.made", key.name, after={"kind": key.kind})

    @reading
    def service_keys(self, connection: Connection) -> list[ServiceKey]:
        """Return the keys that have not ended, oldest first."""
        query = select(service_keys).where(service_keys.c.ended_at.is_(None))
        query = query.order_by(service_keys.c.created_at, service_keys.c.id)
        return [ServiceKey(**row) for row in connection.execute(query).mappings()]

    @reading
    def service_key(self, connection: Connection, id: str) -> ServiceKey | None:
        """Return a key that has not ended."""
        ours = (service_keys.c.id == id, service_keys.c.ended_at.is_(None))
        row = connection.execute(select(service_keys).where(*ours)).mappings().first()
        return ServiceKey(**row) if row else None

    @writing
    def end_service_key(self, connection: Connection, name: str, act: AccountAct) -> None:
        ours = (service_keys.c.name == name, service_keys.c.ended_at.is_(None))
        ended = update(service_keys).where(*ours).values(ended_at=act.at)
        if not connection.execute(ended).rowcount:
            raise StoreConflict(f"there is no key named {name!r}", why="key_gone", name=name)
        _note(connection, act, "key.ended", name)

    @writing
    def server_secret(self, connection: Connection, name: str) -> str:
        """Return a random text that is made once and is always the same for this store."""
        row = {"name": name, "value": secrets.token_hex(32)}
        connection.execute(insert_new(connection, server_secrets), row)
        query = select(server_secrets.c.value).where(server_secrets.c.name == name)
        return str(connection.execute(query).scalar_one())


# ── inside a transaction ──────────────────────────────────────────────────────────────────────────


def _account(row: Any) -> Account:
    return Account(**{**row, "active": bool(row["active"])})


def _find(connection: Connection, name: str) -> Account | None:
    row = connection.execute(_ACCOUNTS.where(users.c.key == folded(name))).mappings().first()
    return None if row is None else _account(row)


def _active(connection: Connection, name: str, *, password: str | None = None) -> Account:
    """An active account, which has this password hash where one is given."""
    account = _find(connection, name)
    if account is None or not account.active:
        raise StoreConflict(f"nobody has an account named {name!r}", why="nobody", name=name)
    if password not in (None, account.password):
        raise StoreConflict("that is not your current password", why="password_wrong")
    return account


def _require_free(account: Account | None) -> None:
    if account is not None and account.active:
        message = f"{account.name} has an account already"
        raise StoreConflict(message, why="taken", name=account.name)


def _require_right(connection: Connection, act: AccountAct, *roles: Role) -> None:
    """Refuse an act that its doer may not do for one of these roles, by the role that the doer has
    now."""
    own = _role_now(connection, act.by, act.role)
    for role in roles:
        if not may_manage(own, role):
            message = f"a {own or act.role} cannot do this for a {role}"
            raise StoreConflict(message, why="not_yours")


def _role_now(connection: Connection, name: str, otherwise: Role | None) -> Role | None:
    """The role of an account, and none of somebody who has left; `otherwise` without an account."""
    if name == TERMINAL:
        return "admin"
    account = _find(connection, name)
    if account is None:
        return otherwise
    return account.role if account.active else None


def _keep_an_admin(connection: Connection, account: Account) -> None:
    """Refuse to take the role of admin from the only one who has it."""
    others = select(users.c.key).where(
        users.c.active == 1, users.c.role == "admin", users.c.key != folded(account.name)
    )
    if account.role == "admin" and connection.execute(others).first() is None:
        message = f"{account.name} is the only admin and must stay one"
        raise StoreConflict(message, why="only_admin", name=account.name)


def _change(connection: Connection, account: Account, **columns: object) -> None:
    key = folded(account.name)
    connection.execute(update(users).where(users.c.key == key).values(**columns))


def _join(connection: Connection, invitation: Invitation, name: str, at: datetime) -> Account:
    """Add an account, or activate that of somebody who had left."""
    known = _find(connection, name)
    _require_free(known)
    if known is not None:
        by, role = invitation.by, invitation.role
        _change(connection, known, active=1, role=role, created_by=by)
        return replace(known, active=True, role=role, created_by=by)
    account = Account(name=name, role=invitation.role, created_at=at, created_by=invitation.by)
    connection.execute(insert(users), row_of(account) | {"key": folded(name), "active": 1})
    return account


def _end_sessions(connection: Connection, account: Account) -> int:
    ours = delete(sessions).where(sessions.c.user_key == folded(account.name))
    return connection.execute(ours).rowcount


def _open_invitations(connection: Connection, at: datetime) -> list[Invitation]:
    """The unused and unexpired invitations, oldest first."""
    in_time = _in_time(invitations, at, at + CLOCKS_DIFFER)
    query = select(invitations).where(invitations.c.ended_at.is_(None), *in_time)
    query = query.order_by(invitations.c.created_at, invitations.c.id)
    return [Invitation(**row) for row in connection.execute(query).mappings()]


def _is_open(connection: Connection, invitation: Invitation) -> bool:
    """Whether the giver may still give it. A link for a new password needs the right over the
    account as it is now: the person may have got a higher role since."""
    giver = _role_now(connection, invitation.by, None)
    account = _find(connection, invitation.name) if invitation.kind == "password" else None
    return may_manage(giver, invitation.role) and may_manage(
        giver, account.role if account else invitation.role
    )


def _usable_invitation(connection: Connection, id: str, at: datetime) -> Invitation:
    found = next(
        (invitation for invitation in _open_invitations(connection, at) if invitation.id == id),
        None,
    )
    if found is None or not _is_open(connection, found):
        raise StoreConflict("this link was used, or its time is over", why="link_over")
    return found


def _end_invitation(connection: Connection, invitation: Invitation, at: datetime) -> None:
    ours = invitations.c.id == invitation.id
    connection.execute(update(invitations).where(ours).values(ended_at=at))


def _take_back(connection: Connection, invitation: Invitation, act: AccountAct) -> None:
    _end_invitation(connection, invitation, act.at)
    subject = invitation.name or FIRST_ADMIN
    _note(connection, replace(act, reason=""), "people.link_taken_back", subject)


def _note(
    connection: Connection,
    act: AccountAct,
    action: str,
    subject: str,
    *,
    before: JsonObject | None = None,
    after: JsonObject | None = None,
) -> None:
    """Add an entry to the audit trail, together with the change that it records."""
    entry = {"id": secrets.token_hex(16), "at": act.at, "by": act.by, "reason": act.reason}
    change = {"action": action, "subject": subject, "before": before, "after": after}
    connection.execute(insert(audit_trail), entry | change)

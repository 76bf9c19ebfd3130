"""What every store promises about people, as the other promises: see `assay.store.promises`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from assay.store.contract import Store, StoreConflict
from assay.store.promises import DAY, NOW, refused, same
from assay.store.records import Account, AuditEntry, Invitation, ServiceKey, Session

OVER = "this link was used, or its time is over"


def _account(name: str, **fields: Any) -> Account:
    return replace(Account(name=name, role="judge", created_at=NOW, created_by="root"), **fields)


def _entry(id: str, **fields: Any) -> AuditEntry:
    plain = AuditEntry(id=id, at=NOW, by="root", action="people.test", subject=id)
    return replace(plain, **fields)


def _session(id: str, name: str, **fields: Any) -> Session:
    plain = Session(id=id, name=name, created_at=NOW, expires_at=NOW + DAY, agent="browser")
    return replace(plain, **fields)


def _invitation(id: str, **fields: Any) -> Invitation:
    plain = Invitation(
        id=id,
        kind="join",
        name="דנה",
        role="judge",
        by="root",
        created_at=NOW,
        expires_at=NOW + DAY,
    )
    return replace(plain, **fields)


def an_account_is_one_whatever_its_case(store: Store) -> None:
    store.put_account(_account("Päivi"), _entry("1"))
    store.put_account(_account("דנה", role="chair"), _entry("2"))
    same(store.account("PÄIVI"), _account("Päivi"))
    same(store.account("nobody"), None)
    store.put_account(_account("Päivi", role="admin", active=False), _entry("3"))
    same(
        [(one.name, one.role, one.active) for one in store.accounts()],
        [("Päivi", "admin", False), ("דנה", "chair", True)],
    )
    every = [entry.id for entry in store.audit(action="people.test")]
    same(set(every), {"1", "2", "3"})
    for offset in (0, 1, 3):  # page by page, in one order
        part = store.audit(action="people.test", limit=2, offset=offset)
        same([entry.id for entry in part], every[offset : offset + 2])


def a_session_lasts_until_its_time_or_its_end(store: Store) -> None:
    store.put_account(_account("a"), _entry("1"))
    for id in ("s1", "s2", "s3"):
        store.add_session(_session(id, "A"))
    same(
        [(one.id, one.name) for one in store.sessions(NOW)], [("s1", "a"), ("s2", "a"), ("s3", "a")]
    )
    same(store.signed_in("s1", NOW), _account("a"))
    same(store.signed_in("s1", NOW + DAY), None)
    same(store.signed_in("nothing", NOW), None)
    same(store.end_sessions(ids=["s1"]), 1)
    same(store.signed_in("s1", NOW), None)
    same(store.end_sessions(name="a"), 2)
    same(store.sessions(NOW), [])


def who_has_left_is_not_signed_in(store: Store) -> None:
    store.put_account(_account("a"), _entry("1"))
    store.add_session(_session("s", "a"))
    store.put_account(_account("a", active=False), _entry("2"))
    same(store.signed_in("s", NOW), None)


def an_invitation_works_once_and_in_time(store: Store) -> None:
    store.add_invitation(_invitation("i1"), _entry("1"))
    store.add_invitation(_invitation("i2"), _entry("2"))
    same([one.id for one in store.invitations(NOW)], ["i2"])  # the earlier one ended
    with refused(StoreConflict, OVER):
        store.accept_invitation("i1", _account("דנה"), _entry("3"))
    with refused(StoreConflict, OVER):
        store.accept_invitation("i2", _account("דנה"), _entry("4", at=NOW + DAY))
    same(store.accounts(), [])
    store.accept_invitation("i2", _account("דנה", password="hash"), _entry("5"))
    same(store.account("דנה"), _account("דנה", password="hash"))
    with refused(StoreConflict, OVER):
        store.accept_invitation("i2", _account("other"), _entry("6"))
    same(store.invitations(NOW), [])
    same({entry.id for entry in store.audit(action="people.test")}, {"1", "2", "5"})
    store.add_invitation(_invitation("i3", kind="password"), _entry("7"))
    store.add_session(_session("s", "דנה"))
    store.accept_invitation("i3", _account("דנה", password="new"), _entry("8"))
    same(store.sessions(NOW), [])  # a new password signs out everywhere


def a_key_opens_until_it_ends(store: Store) -> None:
    key = ServiceKey(id="k1", name="bot", kind="log", by="root", created_at=NOW)
    store.add_service_key(key, _entry("1"))
    with refused(StoreConflict, "there is a key named 'bot' already"):
        store.add_service_key(replace(key, id="k2"), _entry("2"))
    same(store.service_key("k1"), key)
    store.end_service_key("bot", _entry("3"))
    same((store.service_key("k1"), store.service_keys()), (None, []))
    with refused(StoreConflict, "there is no key named 'bot'"):
        store.end_service_key("bot", _entry("4"))
    store.add_service_key(replace(key, id="k2"), _entry("5"))
    same([one.id for one in store.service_keys()], ["k2"])


def a_secret_is_made_once(store: Store) -> None:
    first = store.server_secret("a")
    same(store.server_secret("a"), first)
    same(len({first, store.server_secret("b")}), 2)


def a_store_has_one_identity(store: Store) -> None:
    first = store.identity()
    same((store.identity(), len(first.own), first.before), (first, 64, ""))
    store.renew_identity()
    same((store.identity().before, store.identity().own != first.own), (first.own, True))


def an_entry_on_a_set_is_there_with_its_check_or_not_at_all(store: Store) -> None:
    def fails() -> None:
        raise StoreConflict("no")

    with refused(StoreConflict, "no"):
        store.append_audit([_entry("e1")], gold="g", then=fails)
    same((store.was_noted("g", "e1"), store.audit()), (False, []))
    store.append_audit([_entry("e1")], gold="g")
    same((store.was_noted("g", "e1"), store.was_noted("g", "e2")), (True, False))


PEOPLE_PROMISES: tuple[Callable[[Store], None], ...] = (
    an_account_is_one_whatever_its_case,
    a_session_lasts_until_its_time_or_its_end,
    who_has_left_is_not_signed_in,
    an_invitation_works_once_and_in_time,
    a_key_opens_until_it_ends,
    a_secret_is_made_once,
    a_store_has_one_identity,
    an_entry_on_a_set_is_there_with_its_check_or_not_at_all,
)

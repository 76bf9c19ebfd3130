"""Lists of the store in their order and in pages, and people, links, keys and sessions to the
moment they end (benchmarks/mutants.py)."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assay.core.types import Vote
from assay.store import Store
from assay.store.contract import StoreConflict
from assay.store.records import Account, AuditEntry, Invitation, RunRecord, ServiceKey, Session

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


def minute(n: int) -> datetime:
    return NOW + timedelta(minutes=n)


# ── votes, runs, the audit trail ──────────────────────────────────────────────────────────────────


def test_lists_come_in_their_order_and_in_pages(store: Store) -> None:
    dice = random.Random(2)
    votes = [
        Vote(id=f"v{n}", query_id=dice.choice("qr"), doc_id=dice.choice("ab"), grade=1, judge="j",
             kind="human", at=f"2026-0{dice.randint(1, 2)}")
        for n in range(9)
    ]  # fmt: skip
    assert store.append_votes("g", votes) == 9
    assert store.append_votes("g", votes[:2]) == 0
    assert store.append_votes("h", []) == 0
    ordered = sorted(votes, key=lambda vote: (vote.at, vote.query_id, vote.doc_id, vote.id))
    assert store.votes("g") == ordered
    assert store.votes("g", query_id="q") == [vote for vote in ordered if vote.query_id == "q"]
    assert store.votes("h") == []
    runs = [
        RunRecord(id=f"r{n}", at=minute(n // 2), engine="e", gold="gh"[n % 2], results={"n": n})
        for n in range(6)
    ]
    for run in runs:
        store.put_run(run)
    newest = [run.id for run in sorted(runs, key=lambda run: (run.at, run.id), reverse=True)]
    assert [run.id for run in store.runs()] == newest
    assert [run.id for run in store.runs(gold="g")] == ["r4", "r2", "r0"]
    assert [run.id for run in store.runs(limit=2, offset=1)] == newest[1:3]
    assert {run.results.get("n") for run in store.runs()} == {None}  # without what is long
    assert (store.run("r3"), store.run("none")) == (runs[3], None)
    entries = [
        AuditEntry(id=f"a{n}", at=minute(n // 2), by="b", action="xy"[n % 2], subject="st"[n // 3])
        for n in range(6)
    ]
    store.append_audit(entries)
    store.append_audit([])
    latest = sorted(entries, key=lambda entry: (entry.at, entry.id), reverse=True)
    assert store.audit() == latest
    assert store.audit(subject="s") == [entry for entry in latest if entry.subject == "s"]
    assert store.audit(action="y") == [entry for entry in latest if entry.action == "y"]
    assert store.audit(subject="t", action="y", limit=1, offset=1) == [
        entry for entry in latest if (entry.subject, entry.action) == ("t", "y")
    ][1:2]  # fmt: skip


# ── people ────────────────────────────────────────────────────────────────────────────────────────


def entry(n: int, at: int = 0) -> AuditEntry:
    return AuditEntry(id=f"e{n}", at=minute(at), by="root", action=f"x{n}", subject="s")


def test_links_keys_and_sessions_end_when_they_should(store: Store) -> None:
    def link(id: str, **more: Any) -> Invitation:
        fields = {"kind": "join", "name": "ada", "role": "judge", "by": "root", "created_at": NOW}
        return Invitation(id=id, **(fields | {"expires_at": minute(5)} | more))

    store.add_invitation(link("a"), entry(1))
    store.add_invitation(link("b", name="bea"), entry(2))
    store.add_invitation(link("c", kind="password"), entry(3))
    store.add_invitation(link("d", created_at=minute(1)), entry(4))  # ends "a" alone
    assert [each.id for each in store.invitations(minute(4))] == ["b", "c", "d"]
    assert store.invitations(minute(5)) == []
    account = Account(name="Ada", role="judge", created_at=NOW)
    store.put_account(Account(name="Bea", role="chair", created_at=NOW, active=False), entry(5))
    store.put_account(account, entry(6))
    for id, name in (("s1", "ADA"), ("s2", "bea"), ("s3", "ada")):
        store.add_session(Session(id=id, name=name, created_at=NOW, expires_at=minute(9)))
    for wrong, at in (("a", 1), ("none", 1), ("d", 5)):
        with pytest.raises(StoreConflict, match="this link was used, or its time is over"):
            store.accept_invitation(wrong, account, entry(7, at))
    store.accept_invitation("d", account, entry(8, 4))
    assert [each.id for each in store.sessions(minute(4))] == ["s2"]  # others of the name end
    with pytest.raises(StoreConflict):
        store.end_invitation("d", entry(9, 4))
    store.end_invitation("c", entry(10, 4))
    assert [each.id for each in store.invitations(minute(4))] == ["b"]
    assert [each.name for each in store.accounts()] == ["Ada", "Bea"]
    found = store.account(" ada")
    assert found == account
    assert store.account("none") is None
    assert store.signed_in("s2", minute(1)) is None  # she has left
    store.add_session(Session(id="s4", name="ada", created_at=minute(9), expires_at=minute(12)))
    assert [each.id for each in store.sessions(minute(1))] == ["s4"]  # what is over is forgotten
    signed = store.signed_in("s4", minute(11))
    assert signed is not None
    assert signed.name == "Ada"
    store.add_session(Session(id="s5", name="bea", created_at=minute(9), expires_at=minute(12)))
    assert store.end_sessions(name="ADA") == 1
    assert store.end_sessions(ids=["s5", "s4"]) == 1
    assert store.sessions(minute(1)) == []
    told = [each.action for each in store.audit()]
    assert sorted(told) == ["x1", "x10", "x2", "x3", "x4", "x5", "x6", "x8"]
    key = ServiceKey(id="k1", name="web", kind="log", by="root", created_at=NOW)
    store.add_service_key(key, entry(11))
    with pytest.raises(StoreConflict, match="there is a key named 'web' already"):
        store.add_service_key(key, entry(12))
    assert (store.service_key("k1"), store.service_key("k2")) == (key, None)
    with pytest.raises(StoreConflict, match="there is no key named 'other'"):
        store.end_service_key("other", entry(13))
    store.end_service_key("web", entry(14))
    assert (store.service_keys(), store.service_key("k1")) == ([], None)
    later = [ServiceKey(id=id, name=id, kind="log", by="root", created_at=minute(at))
             for id, at in (("z", 1), ("y", 2), ("x", 2))]  # fmt: skip
    for n, each in enumerate(later):
        store.add_service_key(each, entry(20 + n))
    assert [each.id for each in store.service_keys()] == ["z", "x", "y"]
    secret = store.server_secret("a")
    assert (len(secret), store.server_secret("a") == secret) == (64, True)
    assert store.server_secret("b") != secret

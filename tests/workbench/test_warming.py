"""What a server opens before anybody asks; what cannot be opened stops nothing."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.types import Vote
from assay.judging.votes import append, votes_path
from assay.store import Store
from assay.workbench import agreed, facing, warming
from assay.workbench.opening import Service
from decided import graded_set, kept, served

DOCS = [f"d{n}" for n in range(10)]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return graded_set(tmp_path)


@pytest.fixture
def service(store: Store, gold: Path, tmp_path: Path) -> Service:
    return served(store, tmp_path, gold)


def compared(service: Service) -> set[tuple[str, str]]:
    return {key[1:] for key in facing._changes.known() if key[0] == service.store.address}


def test_the_newest_runs_are_compared_both_ways(service: Service, gold: Path) -> None:
    runs = [kept(service, gold, f"e{days}", DOCS[days:], days=days).id for days in range(4)]
    warming.warm(service, threading.Event())
    newest = runs[: warming.NEWEST]
    assert compared(service) == {(one, other) for one in newest for other in newest if one != other}


def test_a_server_that_stops_reads_nothing_more(service: Service, gold: Path) -> None:
    for days in range(2):
        kept(service, gold, f"e{days}", DOCS[days:], days=days)
    stopping = threading.Event()
    stopping.set()
    warming.warm(service, stopping)
    assert compared(service) == set()


def test_a_new_run_is_read_ahead(service: Service, gold: Path) -> None:
    before = kept(service, gold, "a", DOCS, days=1).id
    assert compared(service) == set()
    new = kept(service, gold, "b", DOCS[3:]).id
    warming.show_ahead(service, new)
    both = {(before, new), (new, before)}  # and how far the better of them is ahead
    assert compared(service) == both
    warming.show_ahead(service, "none")
    assert compared(service) == both


def test_a_set_that_cannot_be_read_stops_nothing(
    service: Service, gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sets after it are opened too, and so are the runs."""
    votes = [
        Vote(
            id=f"{judge}-{n}",
            query_id="q0",
            doc_id=f"d{n}",
            grade=n,
            judge=judge,
            kind="human",
            at="2026-05-01T00:00:00Z",
        )
        for judge in ("Ada", "Ben")
        for n in range(2)
    ]
    append(votes_path(gold), votes)
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    both = replace(service, gold_sets={"broken": broken, **service.gold_sets})
    for days in range(2):
        kept(service, gold, f"e{days}", DOCS[days:], days=days)
    opened: list[str] = []
    ask = agreed.open_disputes
    monkeypatch.setattr(
        agreed, "open_disputes", lambda service, name: (opened.append(name), ask(service, name))[1]
    )
    warming.warm(both, threading.Event())
    assert opened == ["set"]
    assert len(compared(service)) == 2

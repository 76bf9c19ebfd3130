"""A gold set with one row that waits, and decisions on it in a process that dies at a given
place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.formats import gold_jsonl
from assay.formats.votes_jsonl import read_votes, votes_path
from assay.review import intents, rulings
from assay.review.bootstrap import Options, bootstrap
from assay.review.rulings import Word
from assay.store import Store, open_store
from assay.store.records import AuditEntry, Decision, Ruling, SearchLog, Shown
from assay.workbench.opening import open_service

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
WORD = Word(by="Dafna", why="right", at=NOW)


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    store = open_store(tmp_path / "assay.db")
    shown = (Shown("a", 1),)
    store.add_searches([SearchLog(id="l", at=NOW, query="first", corpus="c", results=shown)])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a",))])
    bootstrap(store, tmp_path / "gold-set.jsonl", Options(), now=NOW)
    store.close()
    return tmp_path / "gold-set.jsonl"


STEPS = ("before the commit", "after the commit", "after the votes", "after the file", "at the end")
MADE = STEPS[1:]


def killed_in(gold: Path, place: str, act: Callable[[Store], object] | None = None) -> None:
    """Promote a row in a process that dies at this place, as by SIGKILL."""
    child = os.fork()
    if child == 0:
        store = open_store(gold.with_name("assay.db"))
        rule, write, unlink = store.rule, intents.write_atomic, Path.unlink
        append = store.append_audit

        def noted(entries: Sequence[AuditEntry], gold: str, then: Callable[[], None]) -> None:
            append(entries, gold=gold, then=_dies if place == "before the commit" else then)
            if place == "after the commit":
                _dies()

        def ruled(given: Sequence[Ruling], then: Callable[[], None]) -> None:
            rule(given, then=_dies if place == "before the commit" else then)
            if place == "after the commit":
                _dies()

        def written(path: Path, content: bytes) -> None:
            if place == "after the votes" and not path.name.endswith(".ruling"):
                _dies()
            write(path, content)
            if place == "after the file" and not path.name.endswith(".ruling"):
                _dies()

        def unlinked(path: Path, missing_ok: bool = False) -> None:
            if place == "at the end" and path.name.endswith(".ruling"):
                _dies()
            unlink(path, missing_ok)

        store.rule = ruled  # type: ignore[assignment, method-assign]
        store.append_audit = noted  # type: ignore[assignment, method-assign]
        intents.write_atomic = written  # type: ignore[assignment]
        Path.unlink = unlinked  # type: ignore[assignment, method-assign]
        (act or promoted(gold))(store)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def promoted(gold: Path) -> Callable[[Store], object]:
    return lambda store: rulings.promote(store, gold, ["g001"], WORD)


def _dies() -> None:
    os._exit(9)


def left(gold: Path) -> list[str]:
    return [path.name for path in gold.parent.iterdir() if path.name.endswith(".ruling")]


def standing(gold: Path) -> tuple[str, int, int, str]:
    """The row's source, its votes, its entries in the audit trail, and its state in the queue."""
    store = open_store(gold.with_name("assay.db"))
    source = gold_jsonl.rows(gold_jsonl.read_lines(gold))[0].source
    votes = len(read_votes(votes_path(gold))) if votes_path(gold).exists() else 0
    found = source, votes, len(store.audit(action="review.approved")), store.review_items()[0].state
    store.close()
    return found


def start(gold: Path, database: str = "assay.db") -> list[str]:
    heard: list[str] = []
    with open_service(str(gold.with_name(database)), gold=[gold], say=heard.append):
        return heard

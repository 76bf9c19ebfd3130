"""PostgreSQL may go on committing what a process began that is dead by now."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.formats import gold_jsonl
from assay.formats.votes_jsonl import read_votes, votes_path
from assay.review import intents, rulings
from assay.store import Store, StoreUnavailable, database, reviews
from assay.store.records import Ruling
from waiting_rows import NOW, WORD, by_id, gold

__all__ = ["gold"]


@pytest.fixture
def store_url(postgres_url: str) -> str:
    return postgres_url


@pytest.mark.parametrize("commits", [True, False])
def test_a_decision_whose_commit_is_under_way_is_not_forgotten(
    store: Store, store_url: str, gold: Path, commits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", "1ms")
    lines = gold_jsonl.read_lines(gold)
    new = [gold_jsonl.edited_line(lines[0], source="chair"), *lines[1:]]
    change = intents.FileChange(gold, *map(gold_jsonl.assemble, (lines, new)))
    item = next(each for each in store.review_items() if each.ref == "g001")
    votes = rulings.votes_on("g001", {"a": 1, "b": 1}, WORD)
    given = [Ruling(item=item, state="approved", by=WORD.by, at=NOW, votes=votes)]
    dead = database.connect(store_url)
    with dead.connect() as connection:
        intents.begin(store, gold, given, change)
        reviews.rule(connection, given)
        for act in (
            lambda: intents.heal(store, gold),
            lambda: rulings.promote(store, gold, ["g002"], WORD),
        ):
            with pytest.raises(StoreUnavailable, match="still under way"):
                act()
        assert intents.interrupted(store, gold)
        connection.commit() if commits else connection.rollback()
    dead.dispose()
    assert bool(intents.heal(store, gold)) == commits
    assert by_id(gold)["g001"].source == ("chair" if commits else "bootstrap")
    assert len(read_votes(votes_path(gold))) == (2 if commits else 0)
    assert len(store.votes("gold-set")) == (2 if commits else 0)
    assert not intents.interrupted(store, gold)


def test_other_sets_do_not_wait(
    store: Store, store_url: str, gold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", "1ms")
    engine = database.connect(store_url)
    with engine.connect() as connection:
        database.lock_rulings(connection, "another-set")
        assert rulings.promote(store, gold, ["g001"], WORD).ids == ("g001",)
    engine.dispose()

"""Two files are two gold sets: whatever their names, each has its own history; and no two rows
share an id."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.formats import gold_jsonl
from assay.review import identity, rulings
from assay.review.bootstrap import Options, bootstrap
from assay.review.identity import name_of
from assay.review.rulings import Word
from assay.store import Store
from assay.store.records import Decision, ReviewItem, SearchLog, Shown

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


@pytest.fixture
def logged(store: Store) -> Store:
    """Two queries with one cited document each."""
    store.add_searches(
        [
            SearchLog(id=f"l{n}", at=NOW, query=query, corpus="c", results=(Shown("a", 1),))
            for n, query in enumerate(["היטל השבחה", "breach"])
        ]
    )
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a",))])
    return store


def rows(path: Path) -> dict[str, Any]:
    return {
        row["id"]: row
        for line in path.read_text().splitlines()
        if line[0] == "{"
        for row in [json.loads(line)]
    }


def add(path: Path, **row: Any) -> bytes:
    line = (
        json.dumps(
            {"corpus": "c", "relevant_case_law_ids": ["z"], **row}, ensure_ascii=False
        ).encode()
        + b"\n"
    )
    path.write_bytes(line + path.read_bytes())
    return line


class TestNames:
    def test_sets_of_one_file_name_do_not_share_history(
        self, logged: Store, tmp_path: Path
    ) -> None:
        one, two = tmp_path / "one" / "gold-set.jsonl", tmp_path / "two" / "gold-set.jsonl"
        for path in (one, two):
            bootstrap(logged, path, Options())
        rulings.reject(logged, one, ["g001"], Word(by="Dafna", why="not here"))
        assert not bootstrap(logged, two, Options()).changed, "rejected in one, and still in two"
        assert (list(rows(one)), list(rows(two))) == (["g002"], ["g001", "g002"])
        states = {(item.gold, item.ref): item.state for item in logged.review_items()}
        assert states[("gold-set", "g001")] == "rejected"
        assert states[("two/gold-set", "g001")] == "pending_review"
        assert logged.gold_names() == ["gold-set", "two/gold-set"]

    def test_a_history_without_an_owner_goes_to_the_first_that_asks(
        self, logged: Store, tmp_path: Path
    ) -> None:
        """As a store has it that was written before names had owners."""
        old = ReviewItem(
            id="i",
            gold="gold-set",
            kind="gold_row",
            key="c\tbreach",
            ref="g009",
            query="breach",
            created_at=NOW,
            corpus="c",
            state="rejected",
        )
        logged.add_review_items([old])
        assert bootstrap(logged, tmp_path / "gold-set.jsonl", Options()).rejected == 1
        assert bootstrap(logged, tmp_path / "other" / "gold-set.jsonl", Options()).rejected == 0

    def test_a_file_that_moved_takes_its_history_along(self, logged: Store, tmp_path: Path) -> None:
        bootstrap(logged, tmp_path / "old" / "gold-set.jsonl", Options())
        shutil.move(tmp_path / "old", tmp_path / "new")
        assert name_of(logged, tmp_path / "new" / "gold-set.jsonl") == "gold-set"

    def test_asking_for_a_name_claims_nothing(self, store: Store, tmp_path: Path) -> None:
        assert name_of(store, tmp_path / "gold.jsonl", claim=False) == "gold"
        assert store.gold_names() == []

    def test_checkouts_of_one_repository_share_a_history(
        self, logged: Store, tmp_path: Path
    ) -> None:
        places = [
            self.checkout(tmp_path / name, f"https://{name}:secret@example.org/team.git")
            for name in "ab"
        ]
        other = self.checkout(tmp_path / "c", "https://example.org/another.git")
        for path in (*places, other):
            bootstrap(logged, path, Options())
        identity._repository.cache_clear()
        assert [name_of(logged, path) for path in (*places, other)] == [
            "gold-set",
            "gold-set",
            "eval/gold-set",
        ]

    def checkout(self, folder: Path, origin: str) -> Path:
        subprocess.run(["git", "init", "-q", folder], check=True)
        subprocess.run(["git", "-C", folder, "remote", "add", "origin", origin], check=True)
        return folder / "eval" / "gold-set.jsonl"


class TestIds:
    @pytest.fixture
    def gold(self, logged: Store, tmp_path: Path) -> Path:
        bootstrap(logged, tmp_path / "gold-set.jsonl", Options())
        return tmp_path / "gold-set.jsonl"

    def test_a_chair_row_that_takes_an_id_leaves_that_query_its_row(
        self, logged: Store, gold: Path
    ) -> None:
        taken = next(id for id, row in rows(gold).items() if row["query"] == "breach")
        mine = add(gold, id=taken, query="the chair's own", source="chair")
        done = bootstrap(logged, gold, Options())
        assert (done.kept, gold.read_bytes().startswith(mine)) == (1, True)
        assert {row["query"]: id for id, row in rows(gold).items()}["breach"] == "g003"
        assert {item.query: (item.ref, item.state) for item in logged.review_items()}["breach"] == (
            "g003",
            "pending_review",
        )
        before = gold.read_bytes()
        assert not bootstrap(logged, gold, Options()).changed
        assert gold.read_bytes() == before

    def test_an_id_that_left_the_file_can_be_taken_without_losing_its_query(
        self, logged: Store, gold: Path
    ) -> None:
        left = next(id for id, row in rows(gold).items() if row["query"] == "breach")
        bootstrap(logged, gold, Options(min_support=2))
        add(gold, id=left, query="the chair's own", source="chair")
        bootstrap(logged, gold, Options())
        assert "breach" in {row["query"] for row in rows(gold).values()}

    def test_two_chair_rows_with_one_id_are_refused(self, logged: Store, gold: Path) -> None:
        add(gold, id="g007", query="one", source="chair")
        add(gold, id="g007", query="two", source="chair")
        before = gold.read_bytes()
        with pytest.raises(InputError, match=r"gold-set\.jsonl:2: id 'g007' is also on line 1"):
            bootstrap(logged, gold, Options())
        with pytest.raises(InputError, match=r"gold-set\.jsonl:1: id 'g007' is also on line 2"):
            rulings.promote(logged, gold, ["g007"], Word(by="Dafna"))
        assert gold.read_bytes() == before


def test_what_is_no_gold_file_does_not_become_a_set(logged: Store, tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "broken.jsonl").write_text("{")
    for name, message in {
        "folder.jsonl": "directory",
        "broken.jsonl": "not a gold row",
        "gold.txt": "jsonl",
    }.items():
        with pytest.raises(InputError, match=message):
            bootstrap(logged, tmp_path / name, Options())
    assert logged.gold_names() == []
    assert not (tmp_path / "gold.txt").exists()


def test_a_link_and_its_file_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "gold.jsonl")
    with (
        gold_jsonl.locked(tmp_path / "gold.jsonl"),
        pytest.raises(InputError, match="another process"),
        gold_jsonl.locked(tmp_path / "link.jsonl", wait=0),
    ):
        pass

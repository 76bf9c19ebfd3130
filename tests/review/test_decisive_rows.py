"""What a bootstrap makes of signs and lines, one at a time (benchmarks/mutants.py)."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import Line, row_line
from assay.review import rulings
from assay.review.bootstrap import (
    Group,
    Options,
    _is_of_other_cases,
    _is_right,
    bootstrap,
    groups_of,
    marked_ids,
    merge,
)
from assay.review.queue import sync_review
from assay.store import Store
from assay.store.records import Decision, ReviewItem, SearchLog, Shown, Support
from waiting_rows import NOW, WORD, by_id, gold, row, store_url

__all__ = ["gold", "store_url"]


# ── from signs to rows ────────────────────────────────────────────────────────────────────────────


def sign(kind: str, score: int, **more: Any) -> Support:
    fields = {"query": "q", "corpus": "c", "practice_area": "", "doc_id": "d", "rank": 1}
    return Support(kind=kind, relevance_score=score, **(fields | {"searches": 1} | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("signs", "options", "right"),
    [
        ([sign("citation", 3)], {}, True),
        ([sign("citation", 3)], {"min_support": 2}, False),
        ([sign("citation", 3), sign("citation", 3)], {"min_support": 2}, True),
        ([sign("vote", 2, searches=2)], {"min_support": 2}, True),
        ([sign("vote", 2)], {"min_support": 2}, False),
        ([sign("vote", 2, rank=5), sign("vote", 0)], {}, True),  # five times as much from rank 5
        ([sign("vote", 2, rank=5), sign("vote", 0)], {"eta": 0.0}, False),
        ([sign("vote", 1, searches=3)], {"min_support": 1}, False),
        ([sign("click", 1, searches=3)], {"min_support": 4}, False),
        ([sign("click", 1, searches=3)], {"min_support": 3}, True),
        ([sign("click", 1, searches=3)], {"click_rate": 0.31}, False),
        ([sign("click", 1, searches=1, doc_id="x")], {"click_rate": 1.0}, True),  # never shown: one
        ([sign("click", 1, searches=1, doc_id="x")], {"click_rate": 1.1}, False),
        ([sign("click", 1, searches=2), sign("click", 1, query="r")], {"click_rate": 0.3}, False),
        ([sign("click", 1, searches=2), sign("click", 1, query="r")], {"click_rate": 0.15}, True),
        ([], {}, False),
    ],
)
def test_what_makes_a_document_right(
    signs: list[Support], options: dict[str, Any], right: bool
) -> None:
    shown = {("q", "c", "d"): 10, ("r", "c", "d"): 10}
    given = Options(**({"min_grade": 1} | options))
    assert _is_right(signs, shown, given) == right


@pytest.mark.parametrize(
    ("signs", "others"),
    [
        ([sign("citation", 3, searches=2, other_case=2)], True),
        ([sign("citation", 3, searches=2, other_case=1)], False),
        ([sign("citation", 3, other_case=1), sign("vote", 2)], False),
        ([sign("vote", 2)], False),
        ([], False),
    ],
)
def test_what_only_other_cases_speak_for(signs: list[Support], others: bool) -> None:
    assert _is_of_other_cases(signs) == others


def group(query: str, *docs: str, corpus: str = "c", others: tuple[str, ...] = ()) -> Group:
    key = row("x", query, corpus=corpus).key
    return Group(key=key, query=query, corpus=corpus, practice_area="p", doc_ids=docs or ("d",),
                 of_other_cases=others)  # fmt: skip


def merged(old: list[Line], groups: list[Group], **more: Any) -> list[str]:
    issued, rejected = more.pop("issued", {}), more.pop("rejected", ())
    lines = merge(old, groups, issued, rejected, more.pop("corpora", ()), **more)
    return [
        f"{line.row.id} {line.row.query} {line.row.source}" if line.row else line.raw.decode()
        for line in lines
    ]


def test_rows_keep_their_ids_and_their_places() -> None:
    old = [row_line(row("g002", "two")), Line(b"# mine\n"), row_line(row("g009", "nine", "chair")),
           row_line(row("g001", "one"))]  # fmt: skip
    both = [group("one"), group("two")]
    two, mine, nine, one = "g002 two bootstrap", "# mine\n", "g009 nine chair", "g001 one bootstrap"
    assert merged(old, both) == [two, mine, nine, one]
    assert merged(old, []) == [mine, nine]
    assert merged(old, [group("nine"), *both]) == [two, mine, nine, one]
    assert merged(old, [*both, group("new"), group("newer")]) == [
        two, mine, nine, one, "g010 new bootstrap", "g011 newer bootstrap"]  # fmt: skip
    keys = {each.query: each.key for each in [group("new"), group("newer"), *both]}
    issued = {keys["new"]: "g020", keys["newer"]: "g003"}
    assert merged(old, [group("new"), group("newer")], issued=issued) == [
        mine, nine, "g003 newer bootstrap", "g020 new bootstrap"]  # fmt: skip
    taken = {keys["new"]: "g009"}
    assert merged(old, [group("new")], issued=taken) == [mine, nine, "g010 new bootstrap"]
    assert merged(old, both, rejected=[keys["one"]]) == [two, mine, nine]
    # a row of the chair settles the query that it was made from, unless that has a row
    assert merged(old, [group("new")], queued={keys["new"]: "g009"}) == [mine, nine]
    assert merged(old, both, queued={keys["one"]: "g009"}) == [two, mine, nine, one]
    assert merged(old, both, queued={keys["new"]: "g001"}) == [two, mine, nine, one]
    # where the chair has taken the id of a row that is still there, that row gets another
    theirs = [row_line(row("g001", "x", "chair")), row_line(row("g001", "one"))]
    assert merged(theirs, [group("one")]) == ["g001 x chair", "g002 one bootstrap"]
    # rows of corpora that are not asked for stay
    assert merged(old, [], corpora=["other"]) == [two, mine, nine, one]
    assert merged(old, [], corpora=["c"]) == [mine, nine]
    kept = [row_line(row("g005", "five", corpus="other"))]
    assert merged(kept, [group("new")], corpora=["c"])[1] == "g006 new bootstrap"
    issued = {keys["new"]: "g003", keys["newer"]: "g003"}
    assert merged([], [group("new"), group("newer")], issued=issued) == [
        "g003 new bootstrap", "g004 newer bootstrap"]  # fmt: skip
    twice = [row_line(row("g001", "one")), row_line(row("g001", "two"))]
    assert merged(twice, both) == ["g001 one bootstrap", "g002 two bootstrap"]
    ids = [row_line(row("g10", "ten")), row_line(row("x", "ex"))]
    assert merged(ids, [group("ten"), group("ex"), group("new")])[-1] == "g011 new bootstrap"


def test_labels_of_other_cases_are_marked_and_notes_stay() -> None:
    old = [row_line(row("g001", "one", note="n"), b"\r\n")]
    (line,) = merge(old, [group("one", "a", "b", others=("b",))], {}, ())
    assert json.loads(line.raw)["from_other_cases"] == ["b"]
    assert (line.raw[-2:], line.row and line.row.note) == (b"\r\n", "n")
    assert line.row is not None
    assert (line.row.practice_area, line.row.relevant_case_law_ids) == ("p", ("a", "b"))
    assert marked_ids(line) == ["b"]
    (plain,) = merge(old, [group("one", "a")], {}, ())
    assert b"from_other_cases" not in plain.raw
    assert marked_ids(plain) == []


def search(n: int, query: str, *docs: str, **more: Any) -> SearchLog:
    shown = tuple(Shown(doc, rank) for rank, doc in enumerate(docs, start=1))
    return SearchLog(id=f"s{n}", at=NOW, query=query, corpus="c", results=shown, **more)


def test_a_group_has_its_commonest_spelling_and_area(store: Store) -> None:
    store.add_searches(
        [
            search(1, "Gift  limit", "a", practice_area="z"),
            search(2, "gift limit?", "a", practice_area="y"),
            search(3, "gift limit?", "a"),
            search(4, "  ", "a"),
            search(5, "other", "x"),
            search(6, "gift limit", "b"),
        ]
    )
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a", "b"))])
    (found,) = groups_of(store, Options())
    assert (found.query, found.corpus, found.practice_area) == ("gift limit?", "c", "y")
    assert (found.doc_ids, found.of_other_cases) == (("a", "b"), ())
    (found,) = groups_of(store, Options(min_support=3))
    assert found.doc_ids == ("a",)
    assert groups_of(store, Options(min_support=4)) == []


def test_a_bootstrap_counts_what_it_did(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "gold-set.jsonl"
    store.add_searches([search(1, "one", "a"), search(2, "two", "a", "b"), search(3, "three", "b")])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a",))])

    def counts(**more: Any) -> tuple[int, ...]:
        done = bootstrap(store, path, Options(), now=NOW, **more)
        figures = (done.added, done.updated, done.removed, done.unchanged, done.kept, done.rejected)
        return (int(done.changed), *figures, int(done.dry_run))

    assert counts(dry_run=True) == (1, 2, 0, 0, 0, 0, 0, 1)
    assert not path.exists()
    assert counts() == (1, 2, 0, 0, 0, 0, 0, 0)
    assert counts() == (0, 0, 0, 0, 2, 0, 0, 0)
    store.add_decisions([Decision(id="E", at=NOW + timedelta(days=1), cites=("b",))])
    assert counts(dry_run=True) == (1, 1, 1, 0, 1, 0, 0, 1)
    assert counts() == (1, 1, 1, 0, 1, 0, 0, 0)
    rulings.reject(store, path, ["g001"], WORD)
    rulings.promote(store, path, ["g002"], WORD)
    assert counts() == (0, 0, 0, 0, 1, 1, 1, 0)
    store.purge(NOW + timedelta(days=9))
    assert counts() == (1, 0, 0, 1, 0, 1, 0, 0)
    with pytest.raises(InputError, match="a gold set from logs is a") as error:
        bootstrap(store, tmp_path / "gold.json", Options())
    assert error.value.hint == "Give gold-set.jsonl."


def test_the_queue_says_what_the_file_says(store: Store, gold: Path) -> None:
    """Rows made the chair's by hand are approved, suggestions on rows that are gone withdrawn."""
    pair = ReviewItem(id="p", gold="gold-set", kind="judgment", key="g001|z", ref="g001", query="q",
                      created_at=NOW)  # fmt: skip
    store.add_review_items([pair, msgspec.structs.replace(pair, id="r", key="x", ref="g007")])
    lines = gold_jsonl.read_lines(gold)
    lines[1] = gold_jsonl.edited_line(lines[1], source="chair", query="reworded")
    sync_review(store, "gold-set", lines, now=NOW)
    states = {item.ref: item.state for item in store.review_items(kind="gold_row")}
    assert states == {"g001": "pending_review", "g002": "approved"}
    (entry,) = store.audit(action="review.approved")
    assert (entry.by, entry.reason) == ("file", "source=chair was set in the file by hand")
    assert (entry.after or {})["query"] == "reworded"
    assert [item.id for item in store.review_items(kind="judgment")] == ["p"]
    assert [each.subject for each in store.audit(action="review.withdrawn")] == ["gold-set/g007"]


def test_what_experts_said_of_documents_is_kept_by_the_row(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "gold-set.jsonl"
    store.add_searches([search(1, "one", "a", "b")])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a", "b"))])
    bootstrap(store, path, Options(), now=NOW)
    said = Vote(id="v", query_id="g001", doc_id="b", grade=0, judge="j", kind="human", at="2026")
    store.append_votes("gold-set", [said])
    done = bootstrap(store, path, Options(), now=NOW)
    assert (done.updated, by_id(path)["g001"].relevant_case_law_ids) == (1, ("a",))

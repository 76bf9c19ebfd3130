"""What an expert decides on a gold set, with the whole sentence of every refusal, and what a
bootstrap makes of signs and lines (benchmarks/mutants.py)."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line, row_line
from assay.formats.votes_jsonl import append, read_votes, votes_path
from assay.review import rulings
from assay.review.bootstrap import (
    Group,
    Options,
    _is_of_other_cases,
    _is_right,
    bootstrap,
    groups_of,
    item_of,
    marked_ids,
    merge,
    sync_review,
)
from assay.review.intents import Intent, heal, intended, intent_path, interrupted
from assay.review.rulings import Correction, Word
from assay.review.second_thoughts import unapprove
from assay.store import Store
from assay.store.records import Decision, ReviewItem, Ruling, SearchLog, Shown, Support

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
WORD = Word(by="Dafna", why="right", at=NOW)


def row(id: str, query: str = "q", source: str = "bootstrap", **more: Any) -> GoldRow:
    fields = {"relevant_case_law_ids": ("a", "b"), "corpus": "c"} | more
    return GoldRow(id=id, query=query, source=source, **fields)


@pytest.fixture
def store_url(tmp_path: Path, migrated_file: Path) -> str:
    """One database: what is looked at here is above the store."""
    return str(shutil.copy(migrated_file, tmp_path / "assay.db"))


@pytest.fixture
def gold(store: Store, tmp_path: Path) -> Path:
    """Two rows that wait, and one of the chair."""
    path = tmp_path / "gold-set.jsonl"
    lines = [row_line(row("g001", "one")), row_line(row("g002", "two")),
             row_line(row("g003", "three", "chair"))]  # fmt: skip
    path.write_bytes(gold_jsonl.assemble(lines))
    store.gold_name(str(path.resolve()), ["gold-set"], gone=lambda _: False)
    sync_review(store, "gold-set", lines, now=NOW)
    return path


def by_id(path: Path) -> dict[str, GoldRow]:
    return {each.id: each for each in gold_jsonl.rows(gold_jsonl.read_lines(path))}


# ── rulings ───────────────────────────────────────────────────────────────────────────────────────

REFUSED: list[tuple[Any, str, str, str]] = [
    (lambda s, p: rulings.promote(s, p, ["g01"], WORD), "no row 'g01'", "{path}",
     "Did you mean g001, g003, g002?"),
    (lambda s, p: rulings.promote(s, p, ["zzzz"], WORD), "no row 'zzzz'", "{path}", ""),
    (lambda s, p: rulings.promote(s, p, ["g001"], Word(by=" ")), "say who decides", "",
     "Give the name with --by."),
    (lambda s, p: rulings.reject(s, p, ["g001"], Word(by="D", why=" ")), "to reject a row, say why",
     "", "Give the reason with --why."),
    (lambda s, p: rulings.correct(s, p, "g001", Correction(), Word(by="D")),
     "to correct a row, say why", "", "Give the reason with --why."),
    (lambda s, p: rulings.correct(s, p, "g001", Correction(remove=("x",)), WORD),
     "the row has no document 'x' to remove", "g001", "It has a, b."),
    (lambda s, p: rulings.correct(s, p, "g001", Correction(remove=("a", "b")), WORD),
     "no document would be left", "g001", "Reject the row instead."),
    (lambda s, p: rulings.correct(s, p, "g001", Correction(relevant=(" ",)), WORD),
     "no document would be left", "g001", "Reject the row instead."),
    (lambda s, p: rulings.correct(s, p, "g001", Correction(query="  "), WORD),
     "a gold row needs a query", "g001", ""),
    (lambda s, p: rulings.reopen(s, p, "g001", WORD), "row 'g001' is not rejected", "{path}", ""),
    (lambda s, p: rulings.promote(s, p.with_name("no.jsonl"), ["g001"], WORD), "no such gold set",
     "{folder}/no.jsonl", "Make one with `assay gold bootstrap`."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message", "where", "hint"), REFUSED)
def test_what_is_refused_says_what_to_do(
    store: Store, gold: Path, call: Any, message: str, where: str, hint: str
) -> None:
    before = gold.read_bytes()
    with pytest.raises(InputError) as error:
        call(store, gold)
    place = where.format(path=gold, folder=gold.parent)
    said = (error.value.message, error.value.where, error.value.hint)
    assert (said[0], said[1] or "") == (message, place)
    assert sorted(said[2] or "") == sorted(hint)  # of names that are as near any may come first
    assert gold.read_bytes() == before
    assert store.audit() == []


def test_an_id_on_two_lines_is_not_decided_on(store: Store, gold: Path) -> None:
    gold.write_bytes(gold.read_bytes() + b"\n" + row_line(row("g001", "again")).raw)
    gold.write_bytes(gold.read_bytes() + row_line(row("g001", "and again")).raw)
    with pytest.raises(InputError) as error:
        rulings.promote(store, gold, ["g001"], WORD)
    assert error.value.message == "id 'g001' is also on line 5, 6"
    assert error.value.where == f"{gold}:1"
    assert "`assay gold bootstrap` renumbers its own rows" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("correction", "ids"),
    [
        ({"add": ("c", "a", " ")}, ("a", "b", "c")),
        ({"remove": ("a",)}, ("b",)),
        ({"relevant": ("z", "a")}, ("z", "a")),
        ({"relevant": ("z",), "add": ("y",), "remove": ("a",)}, ("z", "y")),
        ({"note": "n"}, ("a", "b")),
    ],
)
def test_what_a_correction_leaves(
    store: Store, gold: Path, correction: dict[str, Any], ids: tuple[str, ...]
) -> None:
    done = rulings.correct(store, gold, "g001", Correction(**correction), WORD)
    assert (done.state, done.ids, done.already) == ("approved", ("g001",), ())
    assert (done.approval.approved, done.approval.total) == (2, 3)
    found = by_id(gold)["g001"]
    assert (found.relevant_case_law_ids, found.source) == (ids, "chair")
    given = {vote.doc_id: vote.grade for vote in read_votes(votes_path(gold))}
    assert given == {doc: int(doc in ids) for doc in dict.fromkeys(("a", "b", *ids))}
    assert all(
        (vote.query_id, vote.judge, vote.kind, vote.rationale, vote.source, vote.at)
        == ("g001", "Dafna", "human", "right", "adjudication", NOW.isoformat())
        for vote in read_votes(votes_path(gold))
    )


def test_rows_that_are_so_already_are_named_and_left(store: Store, gold: Path) -> None:
    done = rulings.promote(store, gold, ["g003", "g001", "g003"], WORD)
    assert (done.ids, done.already, done.state) == (("g001",), ("g003",), "approved")
    assert [entry.subject for entry in store.audit()] == ["gold-set/g001"]
    done = rulings.reject(store, gold, ["g001", "g002"], WORD)
    assert (done.ids, done.state, list(by_id(gold))) == (("g001", "g002"), "rejected", ["g003"])
    assert (done.approval.approved, done.approval.total, done.approval.share) == (1, 1, 1.0)
    grades = {(v.query_id, v.grade) for v in read_votes(votes_path(gold)) if v.grade == 0}
    assert grades == {("g001", 0), ("g002", 0)}


def test_a_rejection_taken_back(store: Store, gold: Path) -> None:
    gold.write_bytes(gold.read_bytes().replace(b"\n", b"\r\n"))
    rulings.promote(store, gold, ["g001"], WORD)
    rulings.reject(store, gold, ["g001", "g002"], WORD)
    done = rulings.reopen(store, gold, "g002", Word(by="Noa", at=NOW))
    assert (done.state, done.ids, done.already) == ("pending_review", ("g002",), ())
    assert (done.approval.approved, done.approval.total) == (1, 2)
    assert gold.read_bytes().endswith(b"\r\n")
    entry = store.audit(action="review.pending_review")[0]
    assert (entry.by, entry.reason, (entry.after or {})["id"]) == (
        "Noa", "rejection taken back", "g002")  # fmt: skip
    later = NOW + timedelta(hours=1)
    done = rulings.reopen(store, gold, "g001", Word(by="Noa", why="after all", at=later))
    assert (done.state, by_id(gold)["g001"].source) == ("approved", "chair")
    assert store.audit(subject="gold-set/g001", action="review.approved")[0].reason == "after all"
    back = [(v.query_id, v.grade) for v in read_votes(votes_path(gold)) if v.judge == "Noa"]
    assert back == [("g002", None), ("g002", None), ("g001", 1), ("g001", 1)]
    with pytest.raises(InputError, match="row 'g001' is not rejected"):
        rulings.reopen(store, gold, "g001", WORD)


def test_what_was_meant_is_decided_or_nothing(store: Store, gold: Path) -> None:
    items = {item.ref: item for item in store.review_items(gold="gold-set")}
    with pytest.raises(InputError) as error:
        rulings.promote(store, gold, ["g001"], WORD, [items["g001"], items["g002"]])
    assert error.value.message == "the file has another row under this id than the one that waits"
    assert (error.value.where, error.value.hint) == (
        "g002",
        "Nothing was changed. `assay gold bootstrap` brings the queue up to date.",
    )
    assert store.audit() == []
    rulings.promote(store, gold, ["g001"], WORD, [items["g001"]])
    rulings.reject(store, gold, ["g002"], WORD, [items["g002"]])
    with pytest.raises(InputError, match="row 'g002' is not rejected"):
        rulings.reopen(store, gold, "g002", WORD, [items["g001"]])
    assert rulings.reopen(store, gold, "g002", WORD, [items["g002"]]).ids == ("g002",)


def test_a_ruling_on_another_set_never_changes_this_file(store: Store, gold: Path) -> None:
    other = item_of(row("g001", "one"), "other", NOW)
    ruling = Ruling(item=other, state="approved", by="D", at=NOW)
    before = gold.read_bytes()
    with pytest.raises(
        InputError, match="this row belongs to the set other, not gold-set"
    ) as error:
        rulings.record(store, gold, [ruling], [])
    assert (error.value.where, gold.read_bytes()) == ("g001", before)


def test_a_row_of_the_chair_is_approved_where_it_still_waits_for_nobody_else(
    store: Store, gold: Path
) -> None:
    """Made the chair's by hand, it waits until the expert says so; a query that the bootstrap still
    has under another id waits for itself."""
    lines = gold_jsonl.read_lines(gold)
    lines[0] = gold_jsonl.edited_line(lines[0], source="chair")
    gold.write_bytes(gold_jsonl.assemble([*lines, row_line(row("g004", "one"))]))
    done = rulings.promote(store, gold, ["g001"], WORD)
    assert (done.already, store.audit()) == (("g001",), [])
    gold.write_bytes(gold_jsonl.assemble(lines))
    done = rulings.promote(store, gold, ["g001"], WORD)
    assert (done.already, [entry.subject for entry in store.audit()]) == (
        ("g001",), ["gold-set/g001"])  # fmt: skip


# ── what was interrupted ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("state", ["as before", "as after", "edited", "gone", "nothing changed"])
@pytest.mark.parametrize("committed", [False, True])
def test_what_was_interrupted_is_finished_or_undone(
    store: Store, gold: Path, state: str, committed: bool
) -> None:
    before, after = gold.read_bytes(), b"# after\n"
    items = store.review_items(gold="gold-set")
    votes = rulings.votes_on("g001", {"a": 1}, WORD)
    given = [
        Ruling(item=item, state="approved", by="D", at=NOW, votes=votes if not n else ())
        for n, item in enumerate(items)
    ]
    append(votes_path(gold), votes)
    with pytest.raises(KeyError), intended(gold, given, before, after):
        raise KeyError
    assert interrupted(gold)
    if committed:
        store.rule(given)
    else:  # what others decided is not this decision
        other = msgspec.structs.replace(given[0], by="somebody", votes=())
        store.rule([other])
    contents = {"as before": before, "as after": after, "edited": b"# mine\n"}
    if state in contents:
        gold.write_bytes(contents[state])
    elif state == "gone":
        gold.unlink()
    else:
        intent = msgspec.json.decode(intent_path(gold).read_bytes(), type=Intent)
        same = msgspec.structs.replace(intent, after=before)
        intent_path(gold).write_bytes(msgspec.json.encode(same))
    said = heal(store, gold)
    named = ", ".join(item.ref for item in items)
    undone = f"{gold}: a decision on {named} was interrupted and is undone; decide again"
    look = (
        f"{gold}: a decision on {named} was interrupted, and the file was edited since: "
        "look at these rows"
    )
    expected = {"as after": undone, "edited": look, "gone": look}
    assert said == ("" if committed else expected.get(state, ""))
    assert len(read_votes(votes_path(gold))) == committed
    if state == "as after":
        assert gold.read_bytes() == (after if committed else before)
    assert not interrupted(gold)
    assert not heal(store, gold)


def test_what_was_never_whole_was_never_begun(store: Store, gold: Path) -> None:
    intent_path(gold).write_bytes(b'{"before":')
    assert heal(store, gold) == ""
    assert not interrupted(gold)


def test_an_approval_that_is_not_the_rows_is_not_taken_back(store: Store, gold: Path) -> None:
    (item,) = (each for each in store.review_items() if each.ref == "g001")
    rulings.promote(store, gold, ["g001"], WORD)
    decided = next(each for each in store.review_items() if each.ref == "g001")
    for wrong in (
        {"decided_at": NOW + timedelta(seconds=1)},
        {"decided_by": "Noa"},
        {"kind": "judgment"},
    ):
        with pytest.raises(InputError, match="the approval was not given on this page") as error:
            unapprove(store, gold, [msgspec.structs.replace(decided, **wrong)], WORD)
        assert (error.value.where, error.value.hint) == (
            "g001", "A row that was made the chair's in the file is changed there.")  # fmt: skip
    unapprove(store, gold, [decided], Word(by="Noa", why="too early", at=NOW))
    assert store.audit(action="review.pending_review")[0].reason == "too early"
    assert by_id(gold)["g001"].source == "bootstrap"
    assert item.state == "pending_review"


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

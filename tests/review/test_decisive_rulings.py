"""What an expert decides on a gold set, with the whole sentence of every refusal
(benchmarks/mutants.py)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import InputError
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import row_line
from assay.formats.votes_jsonl import append, read_votes, votes_path
from assay.review import rulings, taking_back
from assay.review.intents import FileChange, begin, heal, intent_path, interrupted
from assay.review.one_step import Overtaken, record
from assay.review.queue import item_of
from assay.review.rulings import Correction, Word
from assay.review.taking_back import unapprove
from assay.store import Store
from assay.store.records import Ruling
from assay.workbench.health import gold_health
from waiting_rows import NOW, WORD, by_id, gold, row, store_url

__all__ = ["gold", "store_url"]


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
    (lambda s, p: taking_back.reopen(s, p, "g001", WORD),
     "row 'g001' is not rejected", "{path}", ""),
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
    spaced = b'{ "id" : "g003",'
    gold.write_bytes(gold.read_bytes().replace(b'{"id":"g003",', spaced))
    done = rulings.promote(store, gold, ["g003", "g001", "g003"], WORD)
    assert (done.ids, done.already, done.state) == (("g001",), ("g003",), "approved")
    assert [entry.subject for entry in store.audit()] == ["gold-set/g001"]
    assert spaced in gold.read_bytes()
    done = rulings.reject(store, gold, ["g001", "g002"], WORD)
    assert (done.ids, done.state, list(by_id(gold))) == (("g001", "g002"), "rejected", ["g003"])
    assert (done.approval.approved, done.approval.total, done.approval.share) == (1, 1, 1.0)
    grades = {(v.query_id, v.grade) for v in read_votes(votes_path(gold)) if v.grade == 0}
    assert grades == {("g001", 0), ("g002", 0)}


def test_a_rejection_taken_back(store: Store, gold: Path) -> None:
    gold.write_bytes(gold.read_bytes().replace(b"\n", b"\r\n"))
    rulings.promote(store, gold, ["g001"], WORD)
    rulings.reject(store, gold, ["g001", "g002"], WORD)
    done = taking_back.reopen(store, gold, "g002", Word(by="Noa", at=NOW))
    assert (done.state, done.ids, done.already) == ("pending_review", ("g002",), ())
    assert (done.approval.approved, done.approval.total) == (1, 2)
    assert gold.read_bytes().endswith(b"\r\n")
    entry = store.audit(action="review.pending_review")[0]
    assert (entry.by, entry.reason, (entry.after or {})["id"]) == (
        "Noa", "rejection taken back", "g002")  # fmt: skip
    later = NOW + timedelta(hours=1)
    done = taking_back.reopen(store, gold, "g001", Word(by="Noa", why="after all", at=later))
    assert (done.state, by_id(gold)["g001"].source) == ("approved", "chair")
    assert store.audit(subject="gold-set/g001", action="review.approved")[0].reason == "after all"
    back = [(v.judge, v.query_id, v.grade) for v in read_votes(votes_path(gold))[-4:]]
    assert back == [("Noa", "g002", None)] * 2 + [("Dafna", "g001", 1)] * 2
    with pytest.raises(InputError, match="row 'g001' is not rejected"):
        taking_back.reopen(store, gold, "g001", WORD)


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
    items = {item.ref: item for item in store.review_items(gold="gold-set")}
    with pytest.raises(InputError, match="row 'g002' is not rejected"):
        taking_back.reopen(store, gold, "g002", WORD, [items["g001"]])
    assert taking_back.reopen(store, gold, "g002", WORD, [items["g002"]]).ids == ("g002",)


def test_a_ruling_on_another_set_never_changes_this_file(store: Store, gold: Path) -> None:
    other = item_of(row("g001", "one"), "other", NOW)
    ruling = Ruling(item=other, state="approved", by="D", at=NOW)
    before = gold.read_bytes()
    with pytest.raises(
        InputError, match="this row belongs to the set other, not gold-set"
    ) as error:
        record(store, gold, [ruling], [], [])
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


def test_a_row_is_known_by_its_id_unless_that_was_rejected(store: Store, gold: Path) -> None:
    rulings.promote(store, gold, ["g001"], WORD)
    gold.write_bytes(gold.read_bytes().replace(b'"one"', b'"one, reworded"'))
    rulings.correct(store, gold, "g001", Correction(note="so"), WORD)
    rulings.reject(store, gold, ["g002"], WORD)
    with gold.open("ab") as stream:
        stream.write(row_line(row("g002", "another")).raw)
    rulings.promote(store, gold, ["g002"], WORD)
    found = [(item.ref, item.query, item.state) for item in store.review_items()]
    assert sorted(found) == [
        ("g001", "one", "approved"),
        ("g002", "another", "approved"),
        ("g002", "two", "rejected"),
    ]


# ── what was interrupted ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("state", ["as before", "as after", "edited", "gone", "nothing changed"])
@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("written", [0, 1, 2])
def test_what_was_interrupted_is_finished_or_forgotten(
    store: Store, gold: Path, state: str, committed: bool, written: int
) -> None:
    before, after = gold.read_bytes(), gold.read_bytes() + b"# after\n"
    items = store.review_items(gold="gold-set")
    votes = rulings.votes_on("g001", {"a": 1, "b": 0}, WORD)
    given = [
        Ruling(item=item, state="approved", by="D", at=NOW, votes=votes if not n else ())
        for n, item in enumerate(items)
    ]
    then = before if state == "nothing changed" else after
    begin(store, gold, given, FileChange(gold, before, then))
    assert interrupted(store, gold)
    if committed:
        store.rule(given)
        append(votes_path(gold), votes[:written])
    else:  # what others decided is not this decision
        other = msgspec.structs.replace(given[0], by="somebody", votes=())
        store.rule([other])
    contents = {"as after": after, "edited": b"# mine\n" + before}
    gold.write_bytes(contents.get(state, before))
    if state == "gone":
        gold.unlink()
        assert heal(store, gold) == ""
        assert interrupted(store, gold)
        gold.write_bytes(before)
    said = heal(store, gold)
    named = ", ".join(item.ref for item in items)
    told = f"{gold}: a decision on {named} was interrupted, and is finished now"
    assert said == (told if committed else "")
    assert read_votes(votes_path(gold)) == list(votes if committed else ())
    made = committed and state in ("as before", "gone")
    assert gold.read_bytes() == (after if made else contents.get(state, before))
    assert not interrupted(store, gold)
    assert not heal(store, gold)


def test_a_note_that_this_store_has_not_written_is_named_and_left_alone(
    store: Store, gold: Path
) -> None:
    given = [Ruling(item=store.review_items()[0], state="approved", by="D", at=NOW)]
    begin(store, gold, given, FileChange(gold.with_name("b.json"), b"", b"mine"))
    store.rule(given)
    note = intent_path(store, gold)
    elsewhere = note.read_bytes().replace(b"b.json", b"../b.json")
    for content in (b'{"before":', b"", elsewhere, note.read_bytes().partition(b"\n")[2]):
        note.write_bytes(content)
        for heard in (
            lambda: heal(store, gold),
            lambda: rulings.promote(store, gold, ["g002"], WORD),
        ):
            with pytest.raises(InputError, match="damaged, or another wrote it") as told:
                heard()
            assert told.value.where == str(note)
        assert note.read_bytes() == content
        assert not gold.with_name("b.json").exists()
        assert not gold.parent.with_name("b.json").exists()
    assert gold_health(store, {"gold-set": gold}).status == "failed"


def test_an_old_note_does_not_undo_what_was_decided_since(store: Store, gold: Path) -> None:
    before = gold.read_bytes()
    item = next(each for each in store.review_items() if each.ref == "g001")
    rulings.promote(store, gold, ["g001"], WORD)
    approved = next(each for each in store.review_items() if each.ref == "g001")
    given = Ruling(item=item, state="approved", by=WORD.by, at=NOW)
    begin(store, gold, [given], FileChange(gold, before, gold.read_bytes()))
    old = intent_path(store, gold).read_bytes()
    unapprove(store, gold, [approved], msgspec.structs.replace(WORD, at=NOW + timedelta(hours=1)))
    intent_path(store, gold).write_bytes(old)
    heal(store, gold)
    assert gold.read_bytes() == before
    assert not interrupted(store, gold)


def test_an_approval_that_is_not_the_rows_is_not_taken_back(store: Store, gold: Path) -> None:
    (item,) = (each for each in store.review_items() if each.ref == "g001")
    rulings.promote(store, gold, ["g001"], WORD)
    decided = next(each for each in store.review_items() if each.ref == "g001")
    for other in ({"decided_at": NOW + timedelta(seconds=1)}, {"decided_by": "Noa"}):
        with pytest.raises(Overtaken, match="g001 is approved already, by Dafna"):
            unapprove(store, gold, [msgspec.structs.replace(decided, **other)], WORD)
    with pytest.raises(InputError, match="the approval was not given on this page") as error:
        unapprove(store, gold, [msgspec.structs.replace(decided, kind="judgment")], WORD)
    assert (error.value.where, error.value.hint) == (
        "g001", "A row that was made the chair's in the file is changed there.")  # fmt: skip
    unapprove(store, gold, [decided], Word(by="Noa", why="too early", at=NOW))
    assert store.audit(action="review.pending_review")[0].reason == "too early"
    assert by_id(gold)["g001"].source == "bootstrap"
    assert item.state == "pending_review"

"""The expert's gate: what is promoted, corrected or rejected is in the file and in the record, or
in neither."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.formats.votes_jsonl import read_votes, votes_path
from assay.review import rulings, taking_back
from assay.review.bootstrap import Options, bootstrap
from assay.review.intents import interrupted
from assay.review.rulings import Correction, Word
from assay.store import Store
from assay.store.records import Decision, SearchLog, Shown
from command_line import Assay

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


@pytest.fixture
def gold(store: Store, tmp_path: Path) -> Path:
    for n, query in enumerate(["first", "second", "third"]):
        store.add_searches(
            [
                SearchLog(
                    id=f"l{n}",
                    at=NOW,
                    query=query,
                    corpus="c",
                    results=(Shown("a", 1), Shown("b", 2)),
                )
            ]
        )
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a", "b"))])
    path = tmp_path / "gold-set.jsonl"
    bootstrap(store, path, Options(), now=NOW)
    path.write_bytes(b"# head\n" + path.read_bytes())
    return path


def rows(path: Path) -> dict[str, Any]:
    return {
        row["id"]: row
        for line in path.read_text().splitlines()
        if line[0] == "{"
        for row in [json.loads(line)]
    }


def states(store: Store) -> dict[str, str]:
    return {item.ref: item.state for item in store.review_items()}


def test_promote(store: Store, gold: Path) -> None:
    done = rulings.promote(
        store, gold, ["g001", "g003"], Word(by="Dafna", why="right answers", at=NOW)
    )
    assert (done.ids, done.already, done.approval.approved, done.approval.total) == (
        ("g001", "g003"),
        (),
        2,
        3,
    )
    assert {id: row["source"] for id, row in rows(gold).items()} == {
        "g001": "chair",
        "g002": "bootstrap",
        "g003": "chair",
    }
    assert gold.read_bytes().startswith(b'# head\n{"id":"g001","query":"first"')
    assert states(store) == {"g001": "approved", "g002": "pending_review", "g003": "approved"}
    entry = store.audit(subject="gold-set/g001")[0]
    assert (entry.by, entry.at, entry.reason, entry.action) == (
        "Dafna",
        NOW,
        "right answers",
        "review.approved",
    )
    assert (entry.before or {})["source"] == "bootstrap"
    assert [
        (vote.doc_id, vote.grade, vote.judge) for vote in store.votes("gold-set", query_id="g001")
    ] == [("a", 1, "Dafna"), ("b", 1, "Dafna")]


def test_promoting_twice_says_so_and_records_once(store: Store, gold: Path) -> None:
    rulings.promote(store, gold, ["g001"], Word(by="Dafna"))
    before = gold.read_bytes()
    gold.write_bytes(before := before.replace(b'{"id":"g001",', b'{ "id" : "g001",'))
    assert rulings.promote(store, gold, ["g001", "g001"], Word(by="Noa")).already == ("g001",)
    assert gold.read_bytes() == before
    rulings.promote(store, gold, ["g001", "g002"], Word(by="Noa"))
    assert gold.read_bytes().startswith(before.split(b"\n{", 2)[0])
    assert [entry.subject for entry in store.audit()] == ["gold-set/g002", "gold-set/g001"]


def test_promoted_rows_survive_the_next_bootstrap(store: Store, gold: Path) -> None:
    rulings.promote(store, gold, ["g002"], Word(by="Dafna"))
    before = gold.read_bytes()
    assert not bootstrap(store, gold, Options()).changed
    assert gold.read_bytes() == before
    assert states(store)["g002"] == "approved"


def test_correct(store: Store, gold: Path) -> None:
    rulings.correct(
        store,
        gold,
        "g001",
        Correction(add=("c",), remove=("a",), note="b decides"),
        Word(by="Dafna", why="a is overruled"),
    )
    row = rows(gold)["g001"]
    assert (row["relevant_case_law_ids"], row["note"], row["source"]) == (
        ["b", "c"],
        "b decides",
        "chair",
    )
    assert {vote.doc_id: vote.grade for vote in store.votes("gold-set")} == {"a": 0, "b": 1, "c": 1}
    rulings.correct(
        store, gold, "g001", Correction(query="first, but clearer"), Word(by="Dafna", why="clearer")
    )
    assert not bootstrap(store, gold, Options()).changed, (
        "the query it was bootstrapped from does not come back"
    )
    assert len(store.audit(subject="gold-set/g001")) == 2


def test_reject_stays_rejected_until_taken_back(store: Store, gold: Path) -> None:
    rulings.reject(store, gold, ["g002"], Word(by="Dafna", why="nobody asks this"))
    assert "g002" not in rows(gold)
    done = bootstrap(store, gold, Options())
    assert (done.changed, done.rejected) == (False, 1)
    assert states(store)["g002"] == "rejected"
    taking_back.reopen(store, gold, "g002", Word(by="Dafna"))
    assert rows(gold)["g002"]["source"] == "bootstrap"
    assert not bootstrap(store, gold, Options()).changed
    assert states(store)["g002"] == "pending_review"
    assert [entry.action for entry in store.audit(subject="gold-set/g002")] == [
        "review.pending_review",
        "review.rejected",
    ]


def test_unknown_keys_stay_on_a_promoted_row(store: Store, gold: Path) -> None:
    gold.write_text(gold.read_text().replace('{"id":"g001",', '{"x":1,"id":"g001",'))
    rulings.promote(store, gold, ["g001"], Word(by="Dafna"))
    assert gold.read_text().splitlines()[1].startswith('{"x":1,"id":"g001","query":"first"')


def test_a_lost_store_loses_no_approval(store: Store, gold: Path, tmp_path: Path) -> None:
    from assay.store import open_store

    rulings.promote(store, gold, ["g001"], Word(by="Dafna"))
    fresh = open_store(tmp_path / "fresh.db")
    bootstrap(fresh, gold, Options())
    assert list(rows(gold)) == ["g001"]
    rulings.correct(fresh, gold, "g001", Correction(note="again"), Word(by="Dafna", why="to see"))
    assert [entry.by for entry in fresh.audit()] == ["Dafna"]
    fresh.close()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda s, p: rulings.promote(s, p, ["g0001"], Word(by="D")),
            "no row 'g0001'(?s:.*)Did you mean g001",
        ),
        (lambda s, p: rulings.promote(s, p, ["g001"], Word(by=" ")), "say who decides"),
        (lambda s, p: rulings.reject(s, p, ["g001"], Word(by="D", why="")), "say why"),
        (
            lambda s, p: rulings.correct(
                s, p, "g001", Correction(remove=("a", "b")), Word(by="D", why="w")
            ),
            "no document would be",
        ),
        (
            lambda s, p: rulings.correct(
                s, p, "g001", Correction(query=" "), Word(by="D", why="w")
            ),
            "needs a query",
        ),
        (lambda s, p: taking_back.reopen(s, p, "g001", Word(by="D")), "is not rejected"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    store: Store, gold: Path, call: Any, message: str
) -> None:
    before = gold.read_bytes()
    with pytest.raises(InputError, match=message):
        call(store, gold)
    assert gold.read_bytes() == before
    assert store.audit() == []


def test_file_and_record_change_together(
    store: Store, gold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rule = gold.read_bytes(), store.rule

    def lost(given: Any, then: Any) -> None:
        def before_the_commit() -> None:
            then()
            raise RuntimeError("the connection is gone before the commit")

        rule(given, then=before_the_commit)

    monkeypatch.setattr(store, "rule", lost)
    with pytest.raises(RuntimeError):
        rulings.promote(store, gold, ["g001"], Word(by="Dafna"))
    assert gold.read_bytes() == before
    assert read_votes(votes_path(gold)) == store.votes("gold-set") == store.audit() == []
    assert states(store)["g001"] == "pending_review"
    assert not interrupted(store, gold)


def test_a_row_made_the_chairs_by_hand_is_approved_when_the_expert_says_so(
    store: Store, gold: Path
) -> None:
    text = gold.read_text()
    gold.write_text(text.replace("bootstrap", "chair", 1))
    done = rulings.promote(store, gold, ["g001"], Word(by="Dafna"))
    assert (done.ids, done.already, states(store)["g001"]) == ((), ("g001",), "approved")
    assert gold.read_text() == text.replace("bootstrap", "chair", 1)
    assert rulings.promote(store, gold, ["g001"], Word(by="Dafna")).already == ("g001",)
    assert len(store.audit()) == 1


def test_taking_back_says_who(store: Store, gold: Path) -> None:
    rulings.reject(store, gold, ["g002"], Word(by="Dafna", why="nobody asks this"))
    with pytest.raises(InputError, match="say who decides"):
        taking_back.reopen(store, gold, "g002", Word(by=" "))
    assert states(store)["g002"] == "rejected"


def test_a_file_that_is_not_there_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "typo" / "gold-set.jsonl"
    with pytest.raises(InputError, match="no such gold set"):
        rulings.promote(store, path, ["g001"], Word(by="Dafna"))
    with pytest.raises(InputError, match="no such gold set"):
        taking_back.reopen(store, path, "g001", Word(by="Dafna"))
    assert not path.parent.exists()
    assert store.gold_names() == []


def test_a_rejection_of_the_chairs_row_taken_back_brings_the_chairs_row(
    store: Store, gold: Path
) -> None:
    rulings.correct(
        store, gold, "g002", Correction(add=("c",), note="see c"), Word(by="Dafna", why="missing")
    )
    before = rows(gold)["g002"]
    rulings.reject(store, gold, ["g002"], Word(by="Dafna", why="by mistake"))
    assert taking_back.reopen(store, gold, "g002", Word(by="Dafna")).state == "approved"
    assert rows(gold)["g002"] == before
    bootstrap(store, gold, Options(), now=NOW)
    assert (rows(gold)["g002"], states(store)["g002"]) == (before, "approved")


def test_a_ruling_is_a_vote_on_disk_in_the_experts_own_words(store: Store, gold: Path) -> None:
    beside = votes_path(gold)
    rulings.promote(store, gold, ["g001"], Word(by="Dafna", at=NOW))
    assert [(vote.doc_id, vote.grade, vote.rationale) for vote in read_votes(beside)] == [
        ("a", 1, ""),  # the record says "approved, no reason given", and nobody wrote that
        ("b", 1, ""),
    ]
    assert store.audit()[0].reason == "approved, no reason given"
    rulings.reject(store, gold, ["g001"], Word(by="Dafna", why="overruled", at=NOW))
    taking_back.reopen(store, gold, "g001", Word(by="Dafna", at=NOW))
    votes = read_votes(beside)
    assert [(vote.grade, vote.rationale) for vote in votes[2:]] == [
        (0, "overruled"),
        (0, "overruled"),
        (1, ""),
        (1, ""),
    ]
    assert {(vote.source, vote.kind, vote.judge) for vote in votes} == {
        ("adjudication", "human", "Dafna")
    }
    kept = store.votes("gold-set")
    assert sorted(vote.id for vote in kept) == sorted(vote.id for vote in votes)


def test_what_is_refused_is_no_vote(store: Store, gold: Path) -> None:
    with pytest.raises(InputError):
        rulings.reject(store, gold, ["g001"], Word(by="Dafna"))
    with pytest.raises(InputError):
        rulings.promote(store, gold, ["g001", "g999"], Word(by="Dafna"))
    assert read_votes(votes_path(gold)) == []


def test_a_ruling_whose_votes_cannot_be_written_is_no_ruling(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """Set, store and votes change together: said again once there is room, it is done whole."""
    gold = tmp_path / "gold-set.jsonl"
    row = {"id": "g001", "query": "q", "practice_area": "a", "corpus": "c"}
    row |= {"relevant_case_law_ids": ["A-1", "A-2"], "source": "bootstrap"}
    gold.write_text(json.dumps(row) + "\n", encoding="utf-8")
    before = gold.read_bytes()
    votes = tmp_path / "gold-set.votes.jsonl"
    votes.mkdir()
    said = ("gold", "correct", "g001", "--by", "eve", "--why", "no", "--remove", "A-2")
    refused = assay_cli(*said, "--gold", gold)
    assert (refused.code, gold.read_bytes()) == (2, before), refused.err
    votes.rmdir()
    assert assay_cli(*said, "--gold", gold).code == 0
    assert "A-2" not in json.loads(gold.read_text())["relevant_case_law_ids"]
    assert len(votes.read_text().splitlines()) == 2

"""From logs and decisions to gold-set.jsonl: spec 004, unit A2, line by line, on both databases."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import locked
from assay.review.bootstrap import Group, Options, bootstrap, merge
from assay.store import Store
from assay.store.records import Decision, Feedback, SearchLog, Shown
from assay.telemetry.feedback import (
    decision_from,
    infer_relevance_from_citations,
    moment,
    position_weight,
)

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)
KEYS = ["id", "query", "practice_area", "corpus", "relevant_case_law_ids", "source", "note"]


def log(
    store: Store,
    query: str,
    *docs: str,
    at: datetime = NOW,
    corpus: str = "precedent_library",
    practice_area: str = "betterment_levy",
    times: int = 1,
) -> list[str]:
    ids = [os.urandom(8).hex() for _ in range(times)]
    shown = tuple(Shown(doc, rank) for rank, doc in enumerate(docs, start=1))
    store.add_searches(
        [
            SearchLog(
                id=id, at=at, query=query, corpus=corpus, practice_area=practice_area, results=shown
            )
            for id in ids
        ]
    )
    return ids


def cite(store: Store, id: str, *docs: str, at: datetime = NOW + DAY) -> int:
    return infer_relevance_from_citations(store, [Decision(id=id, at=at, cites=docs)])


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return tmp_path / "data" / "eval" / "gold-set.jsonl"


@pytest.fixture
def logged(store: Store) -> Store:
    log(store, 'מועד קובע תב"ע', "p1", "p2", times=2)
    log(store, "מועד קובע תב״ע?", "p2", "p3", times=3, practice_area="")
    log(store, "Materiality", "p9", "p1", corpus="internal_decisions", practice_area="conflicts")
    log(store, "nobody cited these", "p7")
    cite(store, "D1", "p1", "p3")
    return store


def test_rows_are_exactly_as_in_the_spec(logged: Store, gold: Path) -> None:
    done = bootstrap(logged, gold, Options())
    assert (done.added, done.changed, done.approval.status) == (
        2,
        True,
        "provisional (bootstrap-only)",
    )
    found = rows(gold)
    assert [list(row) for row in found] == [KEYS, KEYS]
    assert found == [
        {
            "id": "g001",
            "query": "Materiality",
            "practice_area": "conflicts",
            "corpus": "internal_decisions",
            "relevant_case_law_ids": ["p1"],
            "source": "bootstrap",
            "note": "",
        },
        {
            "id": "g002",
            "query": "מועד קובע תב״ע?",
            "practice_area": "betterment_levy",
            "corpus": "precedent_library",
            "relevant_case_law_ids": ["p1", "p3"],
            "source": "bootstrap",
            "note": "",
        },
    ]


def test_a_second_run_changes_nothing(logged: Store, gold: Path) -> None:
    bootstrap(logged, gold, Options())
    before, when = gold.read_bytes(), gold.stat().st_mtime_ns
    again = bootstrap(logged, gold, Options())
    assert (again.changed, again.added, again.updated, again.removed, again.unchanged) == (
        False,
        0,
        0,
        0,
        2,
    )
    assert (gold.read_bytes(), gold.stat().st_mtime_ns) == (before, when)
    assert logged.health().rows["review_items"] == 2


CHAIR = [
    b"# reviewed by Dafna, May 2026\n",
    b'{"note": "mine",   "source":"chair", "id":"g007","query":"Materiality", '
    b'"corpus":"internal_decisions",'
    b'"extra":{"a":1},"relevant_case_law_ids":["x","x2"]}\r\n',
    b"\n",
    b"// a row of another hand, without a source\n",
    b'{"id":"own-1","query":"\xd7\x94\xd7\x99\xd7\x98\xd7\x9c","relevant_case_law_ids":[1,null],"practice_area":null}\n',
    b'  {"id" : "g003", "query" : "chair\\u2019s own", "source" : "chair"}  \n',
]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0), (1, 5, 0, 4, 2, 3)])
def test_lines_that_are_not_ours_are_kept_byte_for_byte(
    logged: Store, gold: Path, order: tuple[int, ...]
) -> None:
    ours = (
        b'{"id":"g005","query":"gone","corpus":"c",'
        b'"relevant_case_law_ids":["q"],"source":"bootstrap"}\n'
    )
    gold.parent.mkdir(parents=True)
    theirs = [CHAIR[n] for n in order]
    gold.write_bytes(b"\xef\xbb\xbf" + b"".join([*theirs[:3], ours, *theirs[3:]])[:-1])
    bootstrap(logged, gold, Options())
    lines = gold.read_bytes().split(b"\n")
    assert b"\n".join(lines[:6]) + b"\n" == b"\xef\xbb\xbf" + b"".join(theirs)
    # The chair has Materiality already, the old bootstrap row has no support; one new row, after
    # the highest number.
    assert [json.loads(line)["id"] for line in lines[6:] if line] == ["g008"]
    before = gold.read_bytes()
    assert not bootstrap(logged, gold, Options()).changed
    assert gold.read_bytes() == before


def test_a_file_with_windows_line_ends_keeps_them(logged: Store, gold: Path) -> None:
    bootstrap(logged, gold, Options())
    gold.write_bytes(gold.read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n"))
    log(logged, "another", "p1", corpus="internal_decisions")
    done = bootstrap(logged, gold, Options())
    assert (done.added, done.updated) == (1, 0)
    data = gold.read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n") == 3
    assert not bootstrap(logged, gold, Options()).changed


def test_ids_stay_with_their_query(logged: Store, gold: Path) -> None:
    bootstrap(logged, gold, Options())
    ids = {row["query"]: row["id"] for row in rows(gold)}
    log(logged, "aaa comes first in order", "p1", corpus="internal_decisions")
    log(logged, "MATERIALITY!", "p9", corpus="internal_decisions", times=5)
    cite(logged, "D2", "p9", at=NOW + 2 * DAY)
    done = bootstrap(logged, gold, Options())
    assert (done.added, done.updated) == (1, 1)
    assert {row["query"]: row["id"] for row in rows(gold)} == {
        "MATERIALITY!": ids["Materiality"],
        "מועד קובע תב״ע?": ids["מועד קובע תב״ע?"],
        "aaa comes first in order": "g003",
    }


def test_an_id_that_left_comes_back_to_its_query_and_to_no_other(logged: Store, gold: Path) -> None:
    bootstrap(logged, gold, Options())
    first = gold.read_bytes()
    assert bootstrap(logged, gold, Options(min_support=3)).removed == 1
    log(logged, "another", "p1", times=4)
    bootstrap(logged, gold, Options(min_support=3))
    assert [row["id"] for row in rows(gold) if row["query"] == "another"] == ["g003"]
    bootstrap(logged, gold, Options())
    assert {row["id"]: row["query"] for row in rows(gold)}["g001"] == "Materiality"
    gold.unlink()
    bootstrap(logged, gold, Options())
    assert gold.read_bytes().startswith(first)


def test_a_row_made_chair_by_hand_is_left_alone_even_with_another_query(
    logged: Store, gold: Path
) -> None:
    bootstrap(logged, gold, Options())
    edited = gold.read_text().replace('"Materiality"', '"materiality of the effect"', 1)
    edited = edited.replace('"source":"bootstrap"', '"source":"chair"', 1)
    gold.write_text(edited)
    done = bootstrap(logged, gold, Options())
    assert (done.changed, done.kept, done.approval.approved, done.approval.share) == (
        False,
        1,
        1,
        0.5,
    )
    item = logged.review_items(state="approved")[0]
    assert (item.ref, item.decided_by) == ("g001", "file")


def test_support_and_recency(logged: Store, gold: Path) -> None:
    log(logged, "old", "p1", at=NOW - 400 * DAY, times=9)
    cite(logged, "D1", "p1", "p3")
    assert bootstrap(logged, gold, Options(min_support=3, since=NOW - 30 * DAY)).added == 1
    assert [row["relevant_case_law_ids"] for row in rows(gold)] == [["p3"]]


def test_one_corpus_at_a_time_leaves_the_rows_of_others(logged: Store, gold: Path) -> None:
    bootstrap(logged, gold, Options())
    before = gold.read_bytes()
    done = bootstrap(logged, gold, Options(corpora=("internal_decisions",)))
    assert (done.changed, gold.read_bytes()) == (False, before)
    assert logged.health().rows["review_items"] == 2


def test_a_note_on_a_bootstrap_row_is_kept(logged: Store, gold: Path) -> None:
    bootstrap(logged, gold, Options())
    gold.write_text(gold.read_text().replace('"note":""', '"note":"look at this"', 1))
    assert not bootstrap(logged, gold, Options()).changed


def test_dry_run_shows_the_diff_and_changes_nothing(logged: Store, gold: Path) -> None:
    done = bootstrap(logged, gold, Options(), dry_run=True)
    assert (done.dry_run, done.changed, done.added) == (True, True, 2)
    assert "+++ b/gold-set.jsonl" in done.diff
    assert '+{"id":"g001","query":"Materiality"' in done.diff
    assert not gold.exists()
    assert logged.health().rows["review_items"] == logged.health().rows["issued_ids"] == 0
    assert logged.gold_identities() == {}


def test_no_feedback_makes_no_file(store: Store, gold: Path) -> None:
    log(store, "q", "a")
    log(store, "?!", "b")
    cite(store, "D", "b")
    assert not bootstrap(store, gold, Options()).changed
    assert not gold.exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id":"g001","source":"chair",}', "trailing comma"),
        (b"[1]", "expected an object, got an array"),
        (b'{"id":"g1","query":7,"source":"bootstrap"}', "expected a string, got a whole number"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_line_that_cannot_be_read_stops_everything(
    store: Store, gold: Path, line: bytes, message: str
) -> None:
    gold.parent.mkdir(parents=True)
    gold.write_bytes(b"# first\n" + line + b"\n")
    with pytest.raises(InputError, match=r"gold-set.jsonl:2: .*") as caught:
        bootstrap(store, gold, Options())
    assert message in str(caught.value)
    assert gold.read_bytes() == b"# first\n" + line + b"\n"


def test_two_writers(logged: Store, gold: Path) -> None:
    with (
        locked(gold),
        pytest.raises(InputError, match="another process is writing this gold set") as caught,
    ):
        bootstrap(logged, gold, Options(), wait=0.1)
    assert f"process {os.getpid()} since" in str(caught.value)
    bootstrap(logged, gold, Options())
    assert [path.name for path in gold.parent.iterdir()] == ["gold-set.jsonl"]


def _hold(path: Path) -> None:
    with locked(path):
        time.sleep(60)


def test_the_lock_of_a_killed_writer_is_free(logged: Store, gold: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_hold, args=(gold,))
    process.start()
    while not (gold.parent / ".gold-set.jsonl.lock").exists():
        time.sleep(0.01)
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    assert bootstrap(logged, gold, Options(), wait=0.5).changed


def test_a_link_to_the_gold_set_stays_a_link(logged: Store, gold: Path, tmp_path: Path) -> None:
    gold.parent.mkdir(parents=True)
    real = tmp_path / "real.jsonl"
    real.write_bytes(b"# the real file\n")
    gold.symlink_to(real)
    bootstrap(logged, gold, Options())
    assert gold.is_symlink()
    assert len(rows(real)) == 2


class TestWeakerSigns:
    def clicks(
        self, store: Store, ids: list[str], doc: str, kind: Any = "click", score: int = 1
    ) -> None:
        store.add_feedback(
            [
                Feedback(log_id=id, doc_id=doc, kind=kind, relevance_score=score, at=NOW)
                for id in ids
            ]
        )

    def docs(self, store: Store, gold: Path, **options: Any) -> list[str]:
        bootstrap(store, gold, Options(**options))
        return [
            doc
            for row in (rows(gold) if gold.exists() else [])
            for doc in row["relevant_case_law_ids"]
        ]

    def test_only_when_asked_for(self, store: Store, gold: Path) -> None:
        ids = log(store, "q", "a", "b", times=2)
        self.clicks(store, ids, "a")
        self.clicks(store, ids, "b", "vote", 2)
        assert self.docs(store, gold) == []
        assert self.docs(store, gold, min_grade=2) == ["b"]
        assert self.docs(store, gold, min_grade=1) == ["a", "b"]

    def test_a_click_further_down_says_more(self, store: Store, gold: Path) -> None:
        ids = log(store, "q", "top", "x", "x", "x", "low", times=10)
        self.clicks(store, ids[:2], "top")
        self.clicks(store, ids[:2], "low")
        assert self.docs(store, gold, min_grade=1) == ["low"]
        assert self.docs(store, gold, min_grade=1, eta=0.0) == []
        assert [position_weight(rank) for rank in (None, 1, 5, 100)] == [1.0, 1.0, 5.0, 10.0]

    def test_votes_against_outweigh_votes_for_and_clicks_but_no_citation(
        self, store: Store, gold: Path
    ) -> None:
        ids = log(store, "q", "a", times=4)
        self.clicks(store, ids, "a")
        self.clicks(store, ids[:1], "a", "vote", 2)
        self.clicks(store, ids[1:3], "a", "vote", 0)
        assert self.docs(store, gold, min_grade=1) == []
        cite(store, "D", "a")
        assert self.docs(store, gold, min_grade=1) == ["a"]


class TestDecisions:
    def test_citations_in_a_text_are_resolved(self) -> None:
        made = decision_from(
            "D1",
            "2026-05-31",
            text="see ערר 8011/19",
            cites=["p2", "D1"],
            resolve=lambda text: ["p1", "p2"],
        )
        assert made.cites == ("p2", "p1")
        assert made.at == datetime(2026, 5, 31, 23, 59, 59, 999999, tzinfo=UTC)

    def test_what_is_wrong_is_said(self) -> None:
        with pytest.raises(InputError, match="no corpus to resolve"):
            decision_from("D1", "2026-05-31", text="see ערר 8011/19")
        with pytest.raises(InputError, match="not a date or time"):
            moment("yesterday")
        with pytest.raises(InputError, match="needs an id"):
            decision_from(" ", "2026-05-31")

    def test_times(self) -> None:
        assert (
            moment("2026-05-31T12:00:00")
            == moment("2026-05-31T12:00:00Z")
            == moment("2026-05-31T15:00:00+03:00")
            == NOW
        )


GROUPS = st.lists(st.sampled_from("abcdef"), unique=True).map(
    lambda names: [
        Group(key=f"\t{n}", query=n, corpus="", practice_area="", doc_ids=("d",))
        for n in sorted(names)
    ]
)
LINES = st.lists(
    st.tuples(
        st.sampled_from(["chair", "bootstrap", "#"]), st.sampled_from("abcdef"), st.integers(1, 9)
    ),
    max_size=8,
)


@given(LINES, GROUPS, GROUPS)
def test_merging_is_idempotent_and_leaves_others_alone(
    spec: list[tuple[str, str, int]], one: Any, two: Any
) -> None:
    old = [
        gold_jsonl.Line(f"# {query}\n".encode())
        if source == "#"
        else gold_jsonl.row_line(
            gold_jsonl.GoldRow(id=f"g{number:03d}", query=query, source=source)
        )
        for source, query, number in spec
    ]
    theirs = [line.raw for line in old if not line.is_bootstrap]
    new = merge(old, one, {}, ())
    assert [line.raw for line in new if not line.is_bootstrap] == theirs
    assert merge(new, one, {}, ()) == new
    ours = [line.row for line in new if line.is_bootstrap and line.row]
    chair = {line.row.key for line in new if line.row and not line.is_bootstrap}
    assert {row.key for row in ours} == {group.key for group in one} - chair
    assert len({row.id for row in ours}) == len(ours)
    then = {
        row.key: row.id
        for row in gold_jsonl.rows(merge(new, two, {}, ()))
        if row.source == "bootstrap"
    }
    assert all(then[row.key] == row.id for row in ours if row.key in then)

"""Logging a search costs nothing, never raises, and loses nothing in silence."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from assay import telemetry
from assay.core.errors import InputError
from assay.core.types import Hit
from assay.store import Store, StoreError, StoreUnavailable, open_store
from assay.store.records import SearchLog, ShownResult
from assay.telemetry.recorder import Recorder, Recording
from assay.telemetry.records import Redaction, names_rule, redact, redactor, shown_results


@pytest.fixture
def recorder(store_url: str) -> Iterator[Recorder]:
    made = Recorder(lambda: open_store(store_url), Recording(interval=0.01))
    yield made
    made.close()


class Away:
    """A store that is down until it is brought back."""

    store: Any = None

    def __call__(self) -> Any:
        if self.store is None:
            raise StoreUnavailable("connection refused")
        return self.store


class Kept:
    """The part of a store that a recorder uses, refusing what it is told to refuse."""

    def __init__(self) -> None:
        self.searches: list[SearchLog] = []
        self.audit: list[Any] = []
        self.refuse = ""

    def add_searches(self, searches: list[SearchLog]) -> int:
        if self.refuse and any(self.refuse in search.query for search in searches):
            raise StoreError("refused")
        self.searches += searches
        return len(searches)

    def append_audit(self, entries: list[Any]) -> None:
        self.audit += entries

    def close(self) -> None: ...


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def keeping(kept: Kept) -> Iterator[Recorder]:
    """A recorder that writes to `kept`."""
    made = Recorder(lambda: kept, Recording(interval=0.01))  # type: ignore[arg-type, return-value]
    yield made
    made.close()


def logged_by(code: str, database: Path) -> int:
    """How many searches a program has logged when it ends."""
    env = {**os.environ, "ASSAY_STORE": str(database)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    store = open_store(database)
    rows = store.health().rows["search_logs"]
    store.close()
    return rows


def run_together(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_search_is_kept_with_what_it_showed(recorder: Recorder, store: Store) -> None:
    hits = [Hit(doc_id="a", score=2.0), "b", ("c", 1), {"doc_id": "d", "score": 0.5}, {"id": "e"}]
    log_id = recorder.log_search("q", hits, corpus="c", practice_area=None, millis=3, by="u")
    recorder.log_click(log_id, "b", by="u")
    recorder.log_vote(log_id, "c", relevant=True)
    assert recorder.flush()
    kept = store.searches([log_id])[0]
    assert kept.results == (
        ShownResult("a", 1, 2.0),
        ShownResult("b", 2),
        ShownResult("c", 3, 1.0),
        ShownResult("d", 4, 0.5),
        ShownResult("e", 5),
    )
    assert (kept.corpus, kept.practice_area, kept.millis) == ("c", "", 3.0)
    assert [(row.kind, row.relevance_score, row.rank) for row in store.feedback()] == [
        ("click", 1, 2),
        ("vote", 2, 3),
    ]


def test_the_caller_never_waits_for_the_store(kept: Kept, keeping: Recorder) -> None:
    """The store hangs in the middle of a write, and every search is served;
    benchmarks/log_latency.py has the times."""
    add, free = kept.add_searches, threading.Event()
    # type: ignore[method-assign]
    kept.add_searches = lambda searches: free.wait(30) and add(searches)
    for n in range(500):
        keeping.log_search(f"query {n}", ["a"])
    assert (kept.searches, keeping.counts().accepted, keeping.counts().dropped) == ([], 500, 0)
    free.set()
    assert keeping.flush()
    assert [search.query for search in kept.searches] == [f"query {n}" for n in range(500)]


def test_many_threads_lose_nothing(recorder: Recorder, store: Store) -> None:
    def search(worker: int) -> None:
        for n in range(200):
            recorder.log_search(f"query {n}", ["a"], by=str(worker))

    run_together([threading.Thread(target=search, args=(n,)) for n in range(8)])
    assert recorder.flush(60)
    assert store.health().rows["search_logs"] == recorder.counts().written == 1600


def test_the_store_is_unreachable(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder(Away(), Recording(capacity=50, interval=0.01, close_timeout=0.1))
    with caplog.at_level(logging.WARNING):
        for n in range(200):
            assert recorder.log_search(f"query {n}", ["a"])
        assert not recorder.flush(0.1)
        counts = recorder.counts()
        assert counts.accepted + counts.dropped == 200
        assert counts.dropped >= 100
        assert counts.last_error == "connection refused"
        recorder.close()
    after = recorder.counts()
    assert (after.written, after.lost, after.queued) == (0, after.accepted, 0)
    assert f"{after.dropped} dropped, {after.lost} lost (connection refused)" in caplog.text


def test_the_store_comes_back_and_is_told_what_it_missed() -> None:
    away, kept = Away(), Kept()
    recorder = Recorder(away, Recording(capacity=10, interval=0.01))
    for n in range(100):
        recorder.log_search(f"query {n}")
    away.store = kept
    assert recorder.flush() is False  # what was dropped is not written
    counts = recorder.counts()
    assert counts.written == len(kept.searches) == counts.accepted
    recorder.log_search("one more")
    assert recorder.flush()
    assert (
        sum(entry.after["dropped"] for entry in kept.audit)
        == counts.dropped
        == 100 - counts.accepted
    )
    recorder.close()


def test_one_bad_record_does_not_take_the_others_along(kept: Kept, keeping: Recorder) -> None:
    kept.refuse = "poison"
    for text in ("a", "poison", "b"):
        keeping.log_search(text)
    assert keeping.flush() is False
    assert [search.query for search in kept.searches] == ["a", "b"]
    assert (keeping.counts().written, keeping.counts().lost) == (2, 1)


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.log_search("q", object()),
        lambda r: r.log_search("q", [object()]),
        lambda r: r.log_search("q", iter("ab")),
        lambda r: r.log_search(Unprintable()),
        lambda r: r.log_search("q", nonsense=1),
        lambda r: r.log_click(Unprintable(), "d"),
    ],
)
def test_nonsense_is_counted_and_not_raised(call: Any) -> None:
    recorder = Recorder(Kept)  # type: ignore[arg-type]
    call(recorder)
    assert recorder.counts().unreadable == 1
    recorder.close()


def test_after_closing_searches_are_dropped_and_counted() -> None:
    recorder = Recorder(Kept)  # type: ignore[arg-type]
    recorder.log_search("q")
    recorder.close()
    recorder.log_search("late")
    assert (recorder.counts().written, recorder.counts().dropped) == (1, 1)


def test_what_is_queued_is_written_at_exit(tmp_path: Path) -> None:
    code = "from assay import telemetry\nfor n in range(300): telemetry.log_search(f'q{n}', ['a'])"
    assert logged_by(code, tmp_path / "assay.db") == 300


def test_no_two_ids_are_the_same() -> None:
    """Neither in workers that were forked from one program, nor in programs that seed their random
    numbers alike."""
    program = """
import os, random
from assay.telemetry.records import new_id
children = [os.fork() for _ in range(2)]  # four processes
random.seed(7)
os.write(1, (" ".join(new_id() for _ in range(500)) + "\\n").encode())
for child in children:
    if child:
        os.waitpid(child, 0)
"""
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(said) == 2000
    assert len({id[12:] for id in said}) == 2000


def test_a_forked_worker_logs_for_itself(tmp_path: Path) -> None:
    """As a web server with worker processes does: loaded once, then forked."""
    code = """
import os
from assay import telemetry
telemetry.log_search("parent"); telemetry.flush()
if os.fork() == 0:
    telemetry.log_search("child"); assert telemetry.flush(); os._exit(0)
assert os.wait()[1] == 0
telemetry.log_search("parent again")
"""
    assert logged_by(code, tmp_path / "assay.db") == 3


def test_an_id_that_no_index_takes_is_refused_and_said(
    recorder: Recorder, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not cut: two ids could become one."""
    noise = "x" * 501
    recorder.log_search("before", id=7)  # type: ignore[arg-type]
    assert recorder.flush(20)
    for fields in ({"corpus": noise}, {"case_id": noise}, {"practice_area": noise}, {"id": noise}):
        recorder.log_search("too long", ["a"], **fields)  # type: ignore[arg-type]
    recorder.log_search("too long", [noise])
    recorder.log_click("7", noise)
    recorder.log_search("last", ["y" * 500], id="last")
    assert recorder.flush(20) is False
    assert "6 searches could not be written (InputError: doc_id has 501 characters" in caplog.text
    assert [search.query for search in store.searches(["7", "last"])] == ["before", "last"]
    assert recorder.flush(20) is True  # said once


def test_old_searches_are_forgotten(store_url: str, store: Store) -> None:
    recorder = Recorder(lambda: open_store(store_url), Recording(interval=0.01, retention_days=30))
    now = datetime.now(UTC)
    recorder.log_search("old", id="old", at=now - timedelta(days=31))
    recorder.log_search("new", id="new", at=now - timedelta(days=29))
    recorder.close()
    assert [search.id for search in store.searches(["old", "new"])] == ["new"]


class TestDecorator:
    def test_results_and_errors_pass_untouched(self, kept: Kept, keeping: Recorder) -> None:
        class Engine:
            @telemetry.logged(recorder=keeping, corpus="c")
            def search(self, query: str, top_k: int = 20) -> list[str]:
                if query == "bad":
                    raise ValueError("no such word")
                return ["a", "b"][:top_k]

        answer = Engine().search("good", top_k=1)
        assert answer == ["a"]
        with pytest.raises(ValueError, match="no such word"):
            Engine().search(query="bad")
        assert keeping.flush()
        good, bad = kept.searches
        assert (good.query, good.results) == ("good", (ShownResult("a", 1),))
        assert (good.corpus, good.error) == ("c", "")
        assert (bad.query, bad.results, bad.error) == ("bad", (), "ValueError: no such word")
        assert good.millis is not None

    def test_async_and_iterators(self, kept: Kept, keeping: Recorder) -> None:
        @telemetry.logged(recorder=keeping)
        async def search(text: str) -> list[str]:
            return [text]

        @telemetry.logged(recorder=keeping)
        def stream(query: str) -> Iterator[str]:
            yield query

        assert asyncio.run(search("q")) == ["q"]
        assert list(stream("s")) == ["s"]
        assert keeping.flush()
        assert [(one.query, len(one.results)) for one in kept.searches] == [("q", 1), ("s", 0)]

    def test_answers_that_are_no_lists(self, kept: Kept, keeping: Recorder) -> None:
        @telemetry.logged(recorder=keeping, results=lambda answer: answer["hits"])
        def inside(query: str) -> dict[str, list[str]]:
            return {"hits": ["a"]} if query == "good" else {}

        @telemetry.logged(recorder=keeping)
        def unknown(query: str) -> dict[str, list[str]]:
            return {"hits": ["a"]}

        hits = {"hits": ["a"]}
        assert [inside("good"), inside("bad"), unknown("u")] == [hits, {}, hits]
        assert keeping.flush()
        found = [(one.query, len(one.results)) for one in kept.searches]
        assert found == [("good", 1), ("bad", 0), ("u", 0)]
        assert keeping.counts().unreadable == 2
        said = "TypeError: a search returned dict, expected a list of results"
        assert keeping.counts().last_error == said


def test_ids_and_scores_of_other_libraries() -> None:
    uuid = UUID("12345678123456781234567812345678")
    given = [(uuid, np.float32(0.5)), ("b", Decimal("0.25")), uuid]
    assert shown_results(given) == (
        ShownResult(str(uuid), 1, 0.5),
        ShownResult("b", 2, 0.25),
        ShownResult(str(uuid), 3),
    )


def test_threads_that_search_first_share_one_recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "_recorder", None)
    gate, found = threading.Barrier(8), list[Recorder]()

    def search() -> None:
        gate.wait()
        found.append(telemetry.current())

    run_together([threading.Thread(target=search) for _ in range(8)])
    assert len(set(map(id, found))) == 1


def test_a_gap_that_cannot_be_recorded_does_not_stop_the_log() -> None:
    class Mute(Kept):
        def append_audit(self, entries: Any) -> None:
            raise StoreError("permission denied for table audit_trail")

    away = Away()
    recorder = Recorder(away, Recording(capacity=1, interval=0.01))
    for _ in range(3):
        recorder.log_search("lost")
    away.store = kept = Mute()
    assert recorder.flush() is False
    for query in ("after", "and after"):
        recorder.log_search(query)
        assert recorder.flush()
    assert [search.query for search in kept.searches][-2:] == ["after", "and after"]
    recorder.close()


def test_errors_do_not_tell_queries(store: Store) -> None:
    bad = SearchLog(
        id="1", at=datetime.min.replace(tzinfo=timezone(timedelta(hours=9))), query="secret name"
    )
    with pytest.raises(StoreError) as raised:
        store.add_searches([bad])
    assert "secret" not in str(raised.value)


def test_an_id_with_a_nul_keeps_its_results(store: Store) -> None:
    store.add_searches(
        [SearchLog(id="a\0b", at=datetime.now(UTC), query="q", results=(ShownResult("x", 1),))]
    )
    assert store.searches(["ab"])[0].results == (ShownResult("x", 1),)


class TestRedaction:
    @pytest.mark.parametrize(
        ("rule", "text", "stored"),
        [
            ("email", "mail to dafna.l@court.gov.il now", "mail to [email] now"),
            ("israeli-id", "תיק של 123456782 נגד", "תיק של [id] נגד"),
            ("israeli-id", "ערר 8011-19 1234567890", "ערר 8011-19 1234567890"),
            ("finnish-id", "henkilö 131052-308T", "henkilö [id]"),
            ("israeli-id", "ת.ז.-123456782 ו 12345678-2", "ת.ז.-[id] ו [id]"),
            ("israeli-id", "ID:123456782/ כהן", "ID:[id]/ כהן"),
            ("israeli-id", "תיק 123456782-05-19", "תיק 123456782-05-19"),
            ("finnish-id", "131052-308t", "[id]"),
            ("phone", "נייד 0521234567 או +972521234567", "נייד [phone] או [phone]"),
            ("phone", "טל-052-1234567 ערר 8011-01-20", "טל-[phone] ערר 8011-01-20"),
            (
                names_rule(["דפנה לוי", "משה"]),
                "לדפנה לוי, ושמדפנה לוי ומשה; משהו",
                "[name], [name] [name]; משהו",
            ),
            ("us-ssn", "ssn 078-05-1120", "ssn [id]"),
            ("phone", "call 052-123-4567", "call [phone]"),
            (Redaction("case", r"case \d+", "[case]"), "in case 12 of", "in [case] of"),
            (
                names_rule(["דפנה לוי", "Cohen"]),
                "COHEN and דפנה לוי, not Cohenson",
                "[name] and [name], not Cohenson",
            ),
            (names_rule(["Dafna  Levi", "Levi"]), "dafna-levi, Dafna\u00a0 Levi", "[name], [name]"),
            (names_rule(["דפנה לוי"]), "ודפנה־לוי ולדפנה  לוי", "[name] [name]"),
            (Redaction("back", r"(x)", r"\1"), "x", r"\1"),
            (r"file=תיק \d+", "ראו תיק 12 וגם", "ראו [file] וגם"),
        ],
    )
    def test_rules(self, rule: str | Redaction, text: str, stored: str) -> None:
        assert redact(text, redactor([rule])) == stored

    @pytest.mark.parametrize("rule", ["=x", "case=", "nix", "case=("])
    def test_a_rule_that_is_none(self, rule: str) -> None:
        with pytest.raises(InputError, match="redaction rule"):
            redactor([rule])

    def test_the_store_never_sees_it(self, tmp_path: Path) -> None:
        made = Recorder(
            lambda: open_store(tmp_path / "a.db"),
            Recording(redactions=["israeli-id"], interval=0.01),
        )
        made.log_search("levy of 123456782")
        made.close()
        assert b"123456782" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())

    def test_a_bad_rule_is_an_error_at_once(self) -> None:
        with pytest.raises(InputError, match="no redaction rule 'nope'"):
            redactor(["nope"])
        with pytest.raises(InputError, match="not a regular expression"):
            redactor([Redaction("r", "(")])


class Area(Enum):
    LEVY = "betterment_levy"


def test_a_call_says_what_it_was_made_for(keeping: Recorder, kept: Kept) -> None:
    """By name, wherever the arguments stand; what a call does not say, the decorator does."""

    @telemetry.logged(recorder=keeping, corpus="precedent_library", engine="e")
    def search(query: str, practice_area: Any = "", limit: int = 10, **more: Any) -> list[str]:
        return ["a"]

    class Service:
        @telemetry.logged(recorder=keeping)
        async def search(
            self, limit: int, query: str, *, corpus: str = "internal_decisions", case_id: Any = None
        ) -> list[str]:
            return ["a"]

    search("one", "levy", corpus="internal_decisions", case_id=8021)
    search("two", Area.LEVY, corpus=None)
    search("three", practice_area=["no", "name"], case_id=UUID(int=1))
    asyncio.run(Service().search(5, "four"))
    asyncio.run(Service().search(5, query="five", corpus="c", case_id="8021/26"))
    assert keeping.flush()
    found = {each.query: (each.practice_area, each.corpus, each.case_id) for each in kept.searches}
    assert found == {
        "one": ("levy", "internal_decisions", "8021"),
        "two": ("betterment_levy", "precedent_library", ""),
        "three": ("", "precedent_library", str(UUID(int=1))),
        "four": ("", "internal_decisions", ""),
        "five": ("", "c", "8021/26"),
    }
    assert kept.searches[0].engine == "e"

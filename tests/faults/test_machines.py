"""State machines: any order of what people and programs do, held against a model that is simple
enough to be right. `python benchmarks/fuzz.py --machines 2000` runs them for longer, on other
examples each time."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.gold.log import open_log
from assay.gold.projection import state_of_file
from assay.gold.votes import RULING, WITHDRAWN, current_votes, not_before
from assay.judging.labels import Policy, compute_labels
from assay.judging.pool import Pool, PooledPair, write_pool
from assay.review import decision_acts
from assay.review.bootstrap import BootstrapOptions, bootstrap
from assay.review.decision_acts import Correction, ReviewDecision
from assay.review.queue import ReviewItem, items_of
from assay.store import open_store
from assay.store.records import Decision, Feedback, SearchLog, ShownResult
from assay.workbench.judging import rulings
from assay.workbench.judging.session import open_session, write_vote
from assay.workbench.project.service import Service
from assay.workbench.review import decisions as review
from assay.workbench.review import suggestions
from assay.workbench.review.decisions import DecisionForm

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
LONG = int(os.environ.get("ASSAY_MACHINES", "0"))


class Machine(RuleBasedStateMachine):
    """With a folder of its own, and a clock."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine"))
        self.count = 0
        self.put_back = timedelta()

    def tick(self) -> datetime:
        self.count += 1
        return NOW + timedelta(seconds=self.count) - self.put_back

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


# ── votes ─────────────────────────────────────────────────────────────────────────────────────────

JUDGES, DOCS, GRADES = st.sampled_from("ab"), st.sampled_from(["d1", "d2"]), st.integers(0, 2)


class Votes(Machine):
    """The model: what each judge last said of a document, and the last ruling on it."""

    def __init__(self) -> None:
        super().__init__()
        self.path = self.folder / "set.json"
        queries = [{"id": "q", "text": "first"}]
        self.path.write_text(json.dumps({"rubric": "fppc-relevance-2", "queries": queries}))
        pairs = tuple(PooledPair(query_id="q", doc_id=doc) for doc in ("d1", "d2"))
        write_pool(self.path, Pool(corpus="", judges=(), pairs=pairs))
        self.said: dict[tuple[str, str], tuple[str, int | None]] = {}
        self.ruled: dict[str, int] = {}
        self.ids: list[str] = []
        self.torn = 0
        self.is_cut = False

    def give(self, judge: str, doc: str, grade: int | None, source: str = "") -> str:
        """As the page gives it."""
        now, log = self.tick(), open_log(self.path)
        pair = ("q", doc)
        votes = [*log.book.current_votes(pair), *log.book.votes_to_supersede(judge, pair)]
        at = not_before(now, votes, now)
        vote = Vote(id=f"v{self.count}", query_id="q", doc_id=doc, grade=grade, judge=judge,
                    kind="human", at=at.isoformat(), source=source,
                    rationale="" if grade is None else "It decides the point.")  # fmt: skip
        write_vote(open_session(self.path), vote)
        write_vote(open_session(self.path), vote)  # the answer was lost, and it is sent again
        self.ids.append(vote.id)
        self.is_cut = False
        return vote.id

    @rule(judge=JUDGES, doc=DOCS, grade=GRADES | st.none())
    def vote(self, judge: str, doc: str, grade: int | None) -> None:
        self.said[judge, doc] = (self.give(judge, doc, grade), grade)

    @rule(judge=JUDGES, doc=DOCS, grade=GRADES)
    def rule_on(self, judge: str, doc: str, grade: int) -> None:
        why = f"ruling {self.count}"
        rulings.rule(self.path, "q", doc, grade, rationale=why, by=f"chair {judge}")
        last = open_log(self.path).votes()[-1]
        assert (last.source, last.grade, last.rationale) == (RULING, grade, why)
        assert not state_of_file(self.path)
        self.count += 1
        self.ids.append(last.id)
        self.ruled[doc] = grade
        self.is_cut = False

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def take_back(self, data: st.DataObject) -> None:
        judge, doc = key = data.draw(st.sampled_from(sorted(self.said)))
        self.give(judge, doc, None, WITHDRAWN)
        self.said.pop(key)

    @rule(hours=st.sampled_from([-3, 2, 30]))
    def put_the_clock_back(self, hours: int) -> None:
        self.put_back += timedelta(hours=hours)

    @precondition(lambda self: self.ids and not self.is_cut)  # the next write mends the end first
    @rule(part=st.integers(1, 80))
    def be_cut_off(self, part: int) -> None:
        """A write that a crash cut: it was never acknowledged."""
        self.is_cut = True
        self.torn += 1
        line = (
            b'{"v":1,"id":"torn","at":"2026-05-31T12:00:00+00:00","who":"\xc3\xa4","kind":"human",'
        )
        with open_log(self.path).path.open("ab") as stream:
            stream.write(line[:part])

    @invariant()
    def every_vote_is_there(self) -> None:
        log = open_log(self.path)
        assert [vote.id for vote in log.votes()] == self.ids
        assert len(log.damaged) == self.torn

    @invariant()
    def what_holds_is_what_was_said_last(self) -> None:
        votes = open_log(self.path).votes()
        for lines in (votes, votes[::-1]):  # lines may come in any order
            held = current_votes(lines)
            said = {(v.judge, v.doc_id): (v.id, v.grade) for v in held if v.source != RULING}
            assert said == self.said
            assert {v.doc_id: v.grade for v in held if v.source == RULING} == self.ruled

    @invariant()
    def labels_follow(self) -> None:
        made = compute_labels(open_log(self.path).votes(), Policy())
        for doc in ("d1", "d2"):
            label = made.get(("q", doc))
            assert (label.grade if label else None) == self.expected(doc)

    def expected(self, doc: str) -> int | None:
        if doc in self.ruled:
            return self.ruled[doc]
        given = Counter(grade for (_, about), (_, grade) in self.said.items()
                        if about == doc and grade is not None)  # fmt: skip
        most = given.most_common(2)
        return most[0][0] if most and (len(most) == 1 or most[0][1] > most[1][1]) else None


# ── review ────────────────────────────────────────────────────────────────────────────────────────


CHAIRS = st.sampled_from(["chair", "second"])


class Review(Machine):
    """The model: each query waits, is approved or is rejected; and it keeps its id. Of two chairs,
    one takes steps back. A row that comes back is the line that left, with the votes of then."""

    def __init__(self) -> None:
        super().__init__()
        self.store = open_store(self.folder / "assay.db")
        self.path = self.folder / "gold-set.jsonl"
        self.known: dict[str, str] = {}  # query -> state
        self.ids: dict[str, str] = {}
        self.steps: list[tuple[str, bool]] = []  # what one decided, the last word on each
        self.left: dict[str, tuple[list[bytes], set[tuple[object, ...]]]] = {}  # what was rejected
        self.cited = 0
        self.notes = 0
        self.service = Service(
            store=self.store, gold_sets={"gold-set": self.path}, home=self.folder, clock=self.tick
        )

    def teardown(self) -> None:
        self.store.close()
        super().teardown()

    @rule()
    def search_is_cited(self) -> None:
        self.cited += 1
        n = self.cited
        self.store.add_searches([SearchLog(id=f"s{n}", at=NOW, query=f"query {n}", corpus="c",
                                           results=(ShownResult(f"d{n}", 1),))])  # fmt: skip
        decision = Decision(id=f"D{n}", at=NOW + timedelta(days=1), cites=(f"d{n}",))
        self.store.add_decisions([decision])

    @rule()
    def boot(self) -> None:
        bootstrap(self.store, self.path, BootstrapOptions(), now=self.tick())
        for n in range(1, self.cited + 1):
            self.known.setdefault(f"query {n}", "pending_review")
        for row in gold_jsonl.rows(gold_jsonl.read_lines(self.path)):
            assert self.ids.setdefault(row.query, row.id) == row.id

    def items(self) -> list[ReviewItem]:
        return [x for x in items_of("gold-set", self.path) if x.kind == "gold_row"]

    def one(self, data: st.DataObject, *states: str) -> str | None:
        waiting = sorted(query for query, state in self.known.items() if state in states)
        return data.draw(st.sampled_from(waiting)) if waiting else None

    def decision(self, who: str = "chair") -> ReviewDecision:
        return ReviewDecision(by=who, reason="so", at=self.tick())

    def looks(self, query: str) -> tuple[list[bytes], set[tuple[object, ...]]]:
        """The line of a row, and the votes on it that stand."""
        lines = [x.raw for x in gold_jsonl.read_lines(self.path) if x.row and x.row.query == query]
        votes = open_log(self.path).book.all_current_votes()
        of_row = [vote for vote in votes if vote.query_id == self.ids[query]]
        return lines, {(vote.judge, vote.doc_id, vote.grade) for vote in of_row}

    @rule(hours=st.sampled_from([-3, 2, 30]))
    def put_the_clock_back(self, hours: int) -> None:
        self.put_back += timedelta(hours=hours)

    @rule(data=st.data(), verb=st.sampled_from([decision_acts.approve, decision_acts.reject]))
    def edit_and_decide(self, data: st.DataObject, verb: Callable[..., object]) -> None:
        """Somebody changes a row that waits in the file; who has not seen it is refused, and then
        sees it."""
        query = self.one(data, "pending_review")
        if query is None:
            return
        self.count += 1
        seen = [item for item in self.items() if item.query == query]
        lines = [
            gold_jsonl.edited_line(
                line, relevant_case_law_ids=(*line.row.relevant_case_law_ids, f"new {self.count}")
            )
            if line.row is not None and line.row.query == query
            else line
            for line in gold_jsonl.read_lines(self.path)
        ]
        gold_jsonl.save(self.path, lines)
        ids, votes = [self.ids[query]], open_log(self.path).votes()
        with pytest.raises(decision_acts.ChangedMeanwhile):
            verb(self.path, ids, msgspec.structs.replace(self.decision(), seen=tuple(seen)))
        assert open_log(self.path).votes() == votes

    def decided(self, query: str, state: str, *, who: str = "chair", back: bool = False) -> None:
        """`back`: whether it is an approval that can be taken back."""
        self.known[query] = state
        self.steps = [step for step in self.steps if step[0] != query]
        if who == "chair" and state != "pending_review":
            self.steps.append((query, back))

    @rule(data=st.data(), note=st.sampled_from(["", "see\t״z״"]), end=st.sampled_from(["", " "]))
    def write_on_a_row(self, data: st.DataObject, note: str, end: str) -> None:
        """A note, a key of their own and spaces, in a row that waits."""
        if query := self.one(data, "pending_review"):
            lines = gold_jsonl.read_lines(self.path)
            place = next(n for n, x in enumerate(lines) if x.row and x.row.query == query)
            values = msgspec.json.decode(lines[place].raw) | {"note": note, "mine": self.count}
            raw = json.dumps(values, ensure_ascii=False).encode() + end.encode() + b"\n"
            lines[place] = gold_jsonl.Line(raw, lines[place].row)
            self.path.write_bytes(gold_jsonl.assemble(lines))

    @rule(data=st.data())
    def turn_a_suggestion_down(self, data: st.DataObject) -> None:
        if query := self.one(data, "pending_review", "approved"):
            pair, by = (self.ids[query], f"d{self.count}"), f"m{self.count}"
            item = suggestions.suggest(
                self.service, "gold-set", pair, 1, rationale="", by=by, allow_unknown=True
            )
            review.reject(self.service, item.id, DecisionForm(reason="no"), by="second")

    @precondition(lambda self: self.steps)
    @rule()
    def take_the_last_step_back(self) -> None:
        query, back = self.steps[-1]
        last = review.last_decided(self.service, "chair")
        assert [item.query for item in last] == [query]
        if back:
            done = review.undo(self.service, [item.id for item in last], by="chair")
            assert done.done
            self.known[query] = "pending_review"
            self.steps.pop()

    @rule(data=st.data())
    def promote(self, data: st.DataObject) -> None:
        if query := self.one(data, "pending_review", "approved"):
            done = decision_acts.approve(self.path, [self.ids[query]], self.decision())
            if done.ids:
                self.decided(query, "approved", back=True)

    @rule(data=st.data(), text=st.sampled_from(["x", "״y״", "z\n"]))
    def correct(self, data: st.DataObject, text: str) -> None:
        if query := self.one(data, "pending_review", "approved"):
            change = Correction(note=text, add=(f"extra {self.count}",))
            decision_acts.correct(self.path, self.ids[query], change, self.decision())
            self.decided(query, "approved", back=self.known[query] == "pending_review")

    @rule(data=st.data(), who=CHAIRS)
    def reject(self, data: st.DataObject, who: str) -> None:
        if query := self.one(data, "pending_review", "approved"):
            self.left[query] = self.looks(query)
            decision_acts.reject(self.path, [self.ids[query]], self.decision(who))
            self.decided(query, "rejected", who=who)

    @rule(data=st.data(), who=CHAIRS)
    def reopen(self, data: st.DataObject, who: str) -> None:
        if query := self.one(data, "rejected"):
            done = decision_acts.reopen(self.path, self.ids[query], self.decision(who))
            assert self.looks(query) == self.left.pop(query)
            self.decided(query, done.state, who=who)

    @rule(data=st.data(), who=CHAIRS, back=CHAIRS)
    def reject_and_reopen(self, data: st.DataObject, who: str, back: str) -> None:
        """Every line is where it was."""
        if query := self.one(data, "pending_review", "approved"):
            before, state = self.path.read_bytes(), self.known[query]
            self.left[query] = self.looks(query)
            decision_acts.reject(self.path, [self.ids[query]], self.decision(who))
            done = decision_acts.reopen(self.path, self.ids[query], self.decision(back))
            assert (self.path.read_bytes(), done.state) == (before, state)
            assert self.looks(query) == self.left.pop(query)
            self.decided(query, done.state, who=back)

    @precondition(lambda self: self.known)
    @rule()
    def write_a_note(self) -> None:
        with self.path.open("ab") as stream:
            stream.write(b"# mine\n")
        self.notes += 1

    @invariant()
    def file_and_queue_say_the_same(self) -> None:
        rows = gold_jsonl.rows(gold_jsonl.read_lines(self.path))
        in_file = {r.query: "approved" if r.source == "chair" else "pending_review" for r in rows}
        left = {query: state for query, state in self.known.items() if state != "rejected"}
        assert in_file == left
        if self.path.exists():
            assert {item.query: item.state for item in self.items()} == self.known
        content = self.path.read_bytes() if self.path.exists() else b""
        assert content.count(b"# mine\n") == self.notes


# ── gold files ────────────────────────────────────────────────────────────────────────────────────

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


class GoldFiles(Machine):
    """The model: a list of lines. What nobody touches keeps its bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.path = self.folder / "gold-set.jsonl"
        self.lines: list[gold_jsonl.Line] = []

    def row(self, query: str, note: str) -> gold_jsonl.GoldRow:
        self.count += 1
        return gold_jsonl.GoldRow(id=f"g{self.count:03d}", query=f"q {query}", corpus="c",
                                  practice_area="", relevant_case_law_ids=("a",), source="chair",
                                  note=note)  # fmt: skip

    @rule(query=TEXT, note=TEXT, end=st.sampled_from([b"\n", b"\r\n"]))
    def add(self, query: str, note: str, end: bytes) -> None:
        self.lines.append(gold_jsonl.row_line(self.row(query, note), end))

    @rule(raw=st.sampled_from([b"# note\n", b"\n", b"// x\r\n", b"   \n"]))
    def comment(self, raw: bytes) -> None:
        self.lines.append(gold_jsonl.Line(raw, None))

    @rule(extra=TEXT)
    def add_with_a_key_of_their_own(self, extra: str) -> None:
        row = msgspec.to_builtins(self.row("x", "")) | {"mine": extra}
        raw = msgspec.json.encode(row) + b"\n"
        self.path.write_bytes(raw)
        self.lines += gold_jsonl.read_lines(self.path)

    @precondition(lambda self: any(line.row for line in self.lines))
    @rule(data=st.data(), note=TEXT)
    def edit(self, data: st.DataObject, note: str) -> None:
        places = [place for place, line in enumerate(self.lines) if line.row]
        place = data.draw(st.sampled_from(places))
        before = self.lines[place]
        after = gold_jsonl.edited_line(before, note=note)
        assert after.row is not None
        assert before.row is not None
        assert (after.row.id, after.row.query, after.row.note) == (
            before.row.id,
            before.row.query,
            note,
        )
        assert (b'"mine"' in after.raw) == (b'"mine"' in before.raw)
        self.lines[place] = after

    @precondition(lambda self: self.lines)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        self.lines.pop(data.draw(st.integers(0, len(self.lines) - 1)))

    @rule()
    def save_and_read(self) -> None:
        gold_jsonl.save(self.path, self.lines)
        again = gold_jsonl.read_lines(self.path)
        assert [line.row for line in again if line.row] == [x.row for x in self.lines if x.row]
        assert gold_jsonl.assemble(again) == gold_jsonl.assemble(self.lines)
        self.lines = again

    @invariant()
    def lines_are_kept_byte_for_byte(self) -> None:
        assert gold_jsonl.assemble(self.lines) == b"".join(line.raw for line in self.lines)


# ── the store ─────────────────────────────────────────────────────────────────────────────────────


class Stored(Machine):
    """The model: searches and decisions in dictionaries; who is cited by a later decision was
    right."""

    def __init__(self) -> None:
        super().__init__()
        self.store = open_store(self.folder / "assay.db")
        self.searches: dict[str, SearchLog] = {}
        self.decisions: dict[str, Decision] = {}
        self.clicks: set[tuple[str, str, str]] = set()

    def teardown(self) -> None:
        self.store.close()
        super().teardown()

    @rule(n=st.integers(0, 5), day=st.integers(0, 4), docs=st.sets(st.sampled_from("abc")))
    def search(self, n: int, day: int, docs: set[str]) -> None:
        shown = tuple(ShownResult(doc, rank) for rank, doc in enumerate(sorted(docs), 1))
        log = SearchLog(id=f"s{n}", at=NOW + timedelta(days=day), query=f"q{n}", corpus="c",
                        results=shown)  # fmt: skip
        assert self.store.add_searches([log, log]) == (log.id not in self.searches)
        self.searches.setdefault(log.id, log)

    @rule(n=st.integers(0, 3), day=st.integers(0, 4), docs=st.sets(st.sampled_from("abc")))
    def decide(self, n: int, day: int, docs: set[str]) -> None:
        cites = tuple(sorted(docs))
        decision = Decision(id=f"D{n}-{day}-{cites}", at=NOW + timedelta(days=day), cites=cites)
        self.store.add_decisions([decision])
        self.decisions[decision.id] = decision

    @precondition(lambda self: self.searches)
    @rule(data=st.data(), doc=st.sampled_from("abc"), by=st.sampled_from("xy"))
    def click(self, data: st.DataObject, doc: str, by: str) -> None:
        log = data.draw(st.sampled_from(sorted(self.searches)))
        new = (log, doc, by) not in self.clicks
        click = Feedback(log_id=log, doc_id=doc, kind="click", relevance_score=1, at=NOW, by=by)
        assert self.store.add_feedback([click]) == new
        self.clicks.add((log, doc, by))

    @rule(day=st.integers(0, 4))
    def forget(self, day: int) -> None:
        before = NOW + timedelta(days=day)
        self.store.purge(before)
        self.searches = {id: log for id, log in self.searches.items() if log.at >= before}
        self.clicks = {click for click in self.clicks if click[0] in self.searches}

    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = open_store(self.folder / "assay.db")

    @invariant()
    def searches_are_there(self) -> None:
        found = self.store.searches([f"s{n}" for n in range(6)])
        assert {log.id: log for log in found} == self.searches

    @invariant()
    def feedback_is_what_later_decisions_cited(self) -> None:
        rows = self.store.feedback(limit=10**6)
        cited = {(row.log_id, row.doc_id) for row in rows if row.kind == "citation"}
        assert cited == {
            (log.id, shown.doc_id)
            for log in self.searches.values()
            for shown in log.results
            for decision in self.decisions.values()
            if shown.doc_id in decision.cites and decision.at > log.at
        }
        clicked = [(row.log_id, row.doc_id, row.by) for row in rows if row.kind == "click"]
        assert sorted(clicked) == sorted(self.clicks)


@pytest.mark.parametrize("machine", [Votes, Review, GoldFiles, Stored])
def test_any_order_of_events(machine: type[Machine]) -> None:
    quick = settings(
        max_examples=LONG or 12,
        stateful_step_count=40 if LONG else 15,
        derandomize=not LONG,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    run_state_machine_as_test(machine, settings=quick)

"""What is decided from runs: where sets stand, which engine leads, which of two is better, and runs
that are started from a page."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.core.results import GradedEntry
from assay.core.results_file import to_json
from assay.core.types import Vote
from assay.judging.pool import Pool, PooledPair, write_pool
from assay.reports.wording import Sentences, answers
from assay.reports.words import Words
from assay.store import Store, open_store
from assay.workbench.deciding.run_boards import boards, run_page, verdict_today
from assay.workbench.deciding.run_comparison import compare_runs, lead_of
from assay.workbench.deciding.side_by_side import decisive_documents, two_rankings
from assay.workbench.judging.agreement import judges_agreement
from assay.workbench.judging.vote_totals import set_progress, uncounted
from assay.workbench.judging.votes_to_labels import append_votes, recompute_outdated_labels
from assay.workbench.project.audit_trail import trail
from assay.workbench.project.home import overview
from assay.workbench.scoring.history import store_run, stored_run
from assay.workbench.scoring.recording import record_here
from assay.workbench.scoring.request import ScoreRequest
from assay.workbench.scoring.run_queue import RunQueue, choices
from assay.workbench.scoring.score import score
from assay.workbench.searching.corpora import import_corpus, index_corpus
from kit.runs import HOSTILE, NOW, golden_set, graded_set, kept, ranking_file, served

SAMPLES = Path(__file__).parents[2] / "samples"
DOCS = [f"d{n}" for n in range(10)]
GATE = '[gold.set]\npath = "set.json"\n[engines.e]\nengine = "random"\ncorpus = "c.jsonl"\n'


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return graded_set(tmp_path)


class TestOverview:
    def test_what_waits_in_pool_and_votes(self, store: Store, gold: Path, tmp_path: Path) -> None:
        pairs = [("q0", f"n{n}") for n in range(4)]
        pool = Pool(pairs=tuple(PooledPair(query_id=q, doc_id=d) for q, d in pairs))
        write_pool(gold, pool)
        graded = [(1, 1), (0, 2), (2, 2)]
        votes = [
            Vote(
                id=f"{judge}{n}",
                query_id="q0",
                doc_id=f"n{n}",
                grade=grade,
                judge=judge,
                kind="human",
                at=f"2026-05-0{n + 1}T00:00:00Z",
            )
            for n, two in enumerate(graded)
            for judge, grade in zip("ab", two, strict=True)
        ]
        append_votes(gold, votes)
        found = overview(served(store, tmp_path, gold))
        assert (found.waiting.judge, found.waiting.disputes) == (1, 1)
        standing = found.sets[0].standing
        agreed = judges_agreement(gold)
        assert (standing.shared, standing.judges) == (agreed.pairs, len(agreed.judges))
        assert standing.kappa == pytest.approx(agreed.weighted_kappa.value)

    def test_a_set_that_cannot_be_read_is_named(self, store: Store, tmp_path: Path) -> None:
        bad = tmp_path / "bad.json"
        bad.write_text("{")
        seen = overview(served(store, tmp_path, bad))
        assert seen.sets[0].standing.error
        assert seen.waiting.total == 0

    def test_a_set_is_read_again_when_it_changes(self, gold: Path, tmp_path: Path) -> None:
        assert set_progress("set", gold).queries == 6
        time.sleep(0.2)
        graded_set(tmp_path, queries=5)
        os.utime(gold, ns=(1, 1))
        assert set_progress("set", gold).queries == 5

    @pytest.mark.parametrize(
        ("minimum", "headline"), [(0.1, "ship"), (0.99, "failing"), (0.6, "inconclusive")]
    )
    def test_the_first_sentence(
        self, store: Store, gold: Path, tmp_path: Path, minimum: float, headline: str
    ) -> None:
        toml = f'{GATE}[[gates]]\nmeasure = "nDCG@10"\nminimum = {minimum}\nsignificance = 0.05\n'
        service = served(store, tmp_path, gold, toml)
        assert overview(service).headline == "no_runs"
        kept(service, gold, "e", DOCS)
        seen = overview(service)
        assert seen.headline == headline
        assert seen.subject is not None
        assert seen.subject.engine == "e"

    def test_the_leading_engine_is_what_the_first_sentence_is_about(
        self, store: Store, gold: Path, tmp_path: Path
    ) -> None:
        toml = f'{GATE}[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.5\n'
        service = served(store, tmp_path, gold, toml)
        kept(service, gold, "good", [*DOCS], days=1)
        kept(service, gold, "bad", ["x1", "x2", "x3", "x4"])
        seen = overview(service)
        assert {line.engine: line.status for line in seen.verdicts} == {
            "good": "pass",
            "bad": "inconclusive",  # nothing it found is judged
        }
        assert seen.subject is not None
        assert (seen.headline, seen.subject.engine) == ("ship", "good")

    def test_a_set_that_changed_since_it_was_run_is_to_be_run_again(
        self, store: Store, tmp_path: Path
    ) -> None:
        gold = graded_set(tmp_path, judged=5)
        toml = f'{GATE}[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.05\nmin_judged = 0.9\n'
        service = served(store, tmp_path, gold, toml)
        kept(service, gold, "e", DOCS, days=1)
        seen = overview(service)
        assert (seen.headline, seen.sets[0].changed) == ("needs_judging", False)
        graded_set(tmp_path, judged=10)
        seen = overview(service)
        assert (seen.headline, seen.sets[0].changed) == ("changed", True)
        kept(service, gold, "e", DOCS)
        seen = overview(service)
        assert (seen.headline, seen.sets[0].changed) == ("ship", False)


class TestRuns:
    def test_over_time_and_leaders(self, store: Store, gold: Path, tmp_path: Path) -> None:
        service = served(store, tmp_path, gold)
        assert boards(service) == []
        kept(service, gold, "מנוע", DOCS, days=3)
        kept(service, gold, "b", ["x", *DOCS[:5]], days=2)
        last = kept(service, gold, "מנוע", DOCS[:8], days=1)
        (board,) = boards(service)
        assert [track.engine for track in board.tracks] == ["מנוע", "b"]
        assert [len(track.runs) for track in board.tracks] == [2, 1]
        assert board.leaders[0].id == last.id
        assert all(line.low is not None and line.high is not None for line in board.leaders)
        assert [line.engine for line in run_page(service, engine="b").items] == ["b"]
        assert run_page(service, limit=1).next_offset == 1

    def test_an_earlier_state_of_the_set_is_set_apart(
        self, store: Store, gold: Path, tmp_path: Path
    ) -> None:
        service = served(store, tmp_path, gold)
        old = kept(service, gold, "old", DOCS, days=2)
        graded_set(tmp_path, judged=9)
        kept(service, gold, "new", DOCS, days=1)
        (board,) = boards(service)
        assert [line.engine for line in board.leaders] == ["new"]
        assert [line.id for line in board.older] == [old.id]

    def test_gates_of_today_decide_on_runs_of_yesterday(
        self, store: Store, gold: Path, tmp_path: Path
    ) -> None:
        run = kept(served(store, tmp_path, gold), gold, "e", DOCS)
        toml = GATE + '[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.1\ngold = "set"\n'
        verdict = verdict_today(served(store, tmp_path, gold, toml), run)
        assert verdict is not None
        assert verdict.status == "pass"

    def test_a_baseline_that_cannot_be_read_leaves_the_gates(
        self, store: Store, gold: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "base.json").write_text("{}")
        gates = '[[gates]]\nmeasure = "nDCG@10"\nmax_drop = 0.02\n'
        toml = GATE.replace("[engines", f'baseline = "base.json"\n{gates}[engines', 1)
        run = kept(served(store, tmp_path, gold), gold, "a", DOCS)
        verdict = verdict_today(served(store, tmp_path, gold, toml), run)
        assert verdict is not None
        assert verdict.status == "inconclusive"

    def test_golden_runs(self, store: Store, tmp_path: Path) -> None:
        path = golden_set(tmp_path)
        service = served(store, tmp_path, path)
        ids = ["k1", "k2", "k3"]
        first = kept(service, path, "a", ["d1", "d2"], ids=ids, days=1)
        second = kept(service, path, "b", ["d3", "d2", "d1"], ids=ids)
        found = compare_runs(service, first.id, second.id)
        assert (found.b.kind, found.a.value, found.b.value) == ("golden", 2 / 3, 1.0)
        assert [(row.query_id, row.change) for row in found.change.queries][-1] == ("k3", 1.0)
        two = two_rankings(service, first.id, second.id, "k3")
        assert (two.a.value, two.b.value) == (0.0, 1.0)


class TestComparing:
    def test_two_runs(self, store: Store, gold: Path, tmp_path: Path) -> None:
        service = served(store, tmp_path, gold)
        best = sorted(DOCS, key=lambda doc: doc != "d0")
        first = kept(service, gold, "a", [*DOCS[5:], *DOCS[:5]], days=1)
        second = kept(service, gold, "b", ["x1", *best], days=0)
        found = compare_runs(service, first.id, second.id)
        change = found.change
        assert found.names == ("a", "b")
        assert found.ship == "no_gates"
        assert change.head.wins + change.head.ties + change.head.losses == 6
        assert [row.change for row in change.queries] == sorted(
            row.change for row in change.queries
        )
        assert change.slices[0].n == 6
        assert change.slices[0].change == pytest.approx(change.head.difference)
        assert {part.name for part in change.slices if part.kind == "type"} == {
            "keyword",
            "natural_language",
        }
        assert change.unjudged[1] == pytest.approx(1 / 10)

    def test_one_query_side_by_side(self, store: Store, gold: Path, tmp_path: Path) -> None:
        service = served(store, tmp_path, gold)
        first = kept(service, gold, "a", ["d0", "d1", "d2", "d3"], days=1)
        second = kept(service, gold, "b", ["d2", "x", "d0"])
        two = two_rankings(service, first.id, second.id, "q5")
        assert two.query_text == HOSTILE
        assert (two.previous, two.next) == ("q4", "")
        assert [(hit.doc_id, hit.other_rank, hit.moved) for hit in two.b.documents] == [
            ("d2", 3, 2),
            ("x", None, 0),
            ("d0", 1, -2),
        ]
        assert [hit.grade for hit in two.b.documents] == [2, None, 0]
        # grade 2 went from rank 3 to 1; ungraded documents and grade 0 explain nothing
        assert [(one.doc_id, before, after) for one, before, after in decisive_documents(two)] == [
            ("d2", 3, 1)
        ]
        back = two_rankings(service, second.id, first.id, "q5")
        assert [(one.doc_id, *ranks) for one, *ranks in decisive_documents(back)] == [("d2", 1, 3)]
        with pytest.raises(InputError, match="no query"):
            two_rankings(service, first.id, second.id, "q99")

    def test_texts_and_signals_of_our_own_engine(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
        import_corpus("fppc", SAMPLES / "en" / "opinions", name="ours", home=tmp_path)
        index_corpus("ours", home=tmp_path, dense=False)
        path = SAMPLES / "en" / "dataset.json"
        service = served(store, tmp_path, path)
        results = score(ScoreRequest(dataset=path, engine="ours")).results
        first = store_run(service, results, path, "ours")
        later = store_run(
            replace(service, clock=lambda: NOW.replace(hour=13)), results, path, "ours"
        )
        two = two_rankings(service, first.id, later.id, "q001")
        assert two.b.explained
        assert all(hit.title and hit.excerpt and hit.corpus == "ours" for hit in two.b.documents)
        assert two.b.documents[0].why
        assert all(hit.moved == 0 for hit in two.b.documents)

    def test_a_difference_that_is_not_shown_is_not_called_one(
        self, store: Store, gold: Path, tmp_path: Path
    ) -> None:
        service = served(store, tmp_path, gold)
        first = kept(service, gold, "a", DOCS, days=2)
        second = kept(service, gold, "a", DOCS, days=1)
        assert compare_runs(service, first.id, second.id).change.outcome == "same"
        third = kept(service, gold, "b", ["d1", "d0", *DOCS[2:]])
        change = compare_runs(service, first.id, third.id).change
        assert change.head.wins
        assert change.head.losses
        assert change.outcome == "not_shown"
        lead = lead_of(service, boards(service)[0])
        assert lead is not None
        assert lead.kind != "leads"

    def test_a_lead_that_is_proven(self, store: Store, tmp_path: Path) -> None:
        gold = graded_set(tmp_path, queries=30)
        service = served(store, tmp_path, gold)
        ids = [f"q{n}" for n in range(30)]
        first = kept(service, gold, "a", ["d9"], days=1, ids=ids)
        second = kept(service, gold, "b", DOCS, ids=ids)
        lead = lead_of(service, boards(service)[0])
        assert lead is not None
        assert (lead.kind, lead.engine, lead.other) == ("leads", "b", "a")
        assert compare_runs(service, first.id, second.id).change.outcome == "better"

    def test_a_lead_that_is_probable(self, store: Store, tmp_path: Path) -> None:
        """The pages, the report and `compare` say how sure it is, in the same words."""
        gold = golden_set(tmp_path)
        service, ids = served(store, tmp_path, gold), ["k1", "k2", "k3"]
        first = kept(service, gold, "a", ["d2"], days=1, ids=ids)
        second = kept(service, gold, "b", ["d1", "d2", "d3"], ids=ids)
        change = compare_runs(service, first.id, second.id).change
        lead = lead_of(service, boards(service)[0])
        assert lead is not None
        assert (lead.kind, lead.engine, lead.other) == ("probably", "b", "a")
        assert change.outcome == "probably_better"
        [answer] = answers(change.comparison, Sentences(Words("en")))
        assert change.head.sure == lead.sure is not None
        assert answer.text == f"b is probably better than a ({change.head.sure:.0%})"


class TestRecording:
    def test_without_a_store_nothing_is_kept_or_said(self, gold: Path, tmp_path: Path) -> None:
        run = ranking_file(tmp_path, "r", DOCS, ["q0"])
        results = score(ScoreRequest(dataset=gold, run=run)).results
        assert record_here([(results, gold, "")], home=tmp_path / "none") == ""
        assert not (tmp_path / "none").exists(), "no store is made for it"

    def test_the_same_results_are_kept_once(self, gold: Path, tmp_path: Path) -> None:
        open_store(tmp_path / "assay.db").close()
        run = ranking_file(tmp_path, "r", DOCS, ["q0"])
        results = score(ScoreRequest(dataset=gold, run=run)).results
        for _ in range(2):
            said = record_here([(results, gold, "mine")], home=tmp_path)
            assert said.startswith("recorded as run ")
        again = open_store(tmp_path / "assay.db")
        (record,) = again.runs()
        found = again.run(record.id)
        again.close()
        assert found is not None
        assert (found.engine, found.results) == ("mine", json.loads(json.dumps(to_json(results))))

    def test_a_broken_store_spoils_nothing(self, gold: Path, tmp_path: Path) -> None:
        (tmp_path / "assay.db").write_text("no database")
        run = ranking_file(tmp_path, "r", DOCS, ["q0"])
        results = score(ScoreRequest(dataset=gold, run=run)).results
        assert record_here([(results, gold, "")], home=tmp_path).startswith("warning: not recorded")


def vote_on(gold: Path, doc_id: str, grade: int, *, id: str = "v1") -> None:
    """As the judge page gives it: on disk, and not yet in the labels."""
    vote = Vote(
        id=id,
        query_id="q0",
        doc_id=doc_id,
        grade=grade,
        judge="דפנה",
        kind="human",
        at="2026-05-01T00:00:00Z",
        rationale="so",
    )
    append_votes(gold, [vote])


class TestVotesAndLabels:
    def test_judgments_that_the_labels_do_not_have_are_counted_out(
        self, store: Store, gold: Path, tmp_path: Path
    ) -> None:
        service = served(store, tmp_path, gold)
        assert uncounted(gold) == 0
        vote_on(gold, "new", 2)
        assert uncounted(gold) == 1
        assert overview(service).sets[0].standing.uncounted == 1
        assert recompute_outdated_labels(gold, by="me") == 1
        assert uncounted(gold) == 0
        assert recompute_outdated_labels(gold, by="me") == 0
        (entry,) = trail(service, action="gold.labelled")
        assert entry.by == "me"

    def test_a_run_is_scored_with_what_was_judged_before_it(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        gold = graded_set(tmp_path, judged=4)
        rows = [{"id": f"d{n}", "text": f"gift travel {n} lobbyist"} for n in range(10)]
        (tmp_path / "c.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        service = served(store, tmp_path, gold, GATE.replace("random", "bm25"))
        vote_on(gold, "d9", 2)
        queue = RunQueue(service)
        try:
            done = queue.wait(queue.start("set", "e", by="me").id)
        finally:
            queue.close()
        assert (done.state, done.counted) == ("done", 1)
        (first,) = [
            e for e in stored_run(service, done.run).results.per_query if e.query_id == "q0"
        ]
        assert isinstance(first, GradedEntry)
        assert first.grades[first.results.index("d9")] == 2


class TestQueue:
    @pytest.mark.parametrize("store_url", ["sqlite", "postgresql"], indirect=True)
    def test_a_run_from_start_to_history(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        gold = graded_set(tmp_path)
        rows = [{"id": f"d{n}", "text": f"gift travel {n} lobbyist"} for n in range(10)]
        (tmp_path / "c.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        toml = GATE.replace("random", "bm25") + (
            '[engines.broken]\nsearch_module = "nowhere"\n'
            '[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.01\nengine = "e"\n'
        )
        service = served(store, tmp_path, gold, toml)
        assert choices(service).engines == ["e", "broken"]
        queue = RunQueue(service)
        try:
            with pytest.raises(InputError, match="no engine"):
                queue.start("set", "os.system", by="me")
            with pytest.raises(InputError, match="no gold set"):
                queue.start("nothing", "e", by="me")
            first = queue.start("set", "e", by="דפנה")
            second = queue.start("set", "broken", by="me")
            assert queue.start("set", "broken", by="you").id == second.id, "asked for once"
            done = queue.wait(first.id)
            assert (done.state, done.error, done.done, done.by) == ("done", "", 6, "דפנה")
            run = stored_run(service, done.run)
            assert run.engine == "e"
            assert run.results.verdict is not None
            assert run.results.verdict.status == "pass"
            failed = queue.wait(second.id)
            assert failed.state == "failed"
            assert "nowhere" in failed.error
            assert [job.id for job in queue.jobs()] == [second.id, first.id]
            assert queue.job("nothing") is None
        finally:
            queue.close()


def test_a_folder_that_was_copied_with_its_store_keeps_its_runs(
    store: Store, tmp_path: Path
) -> None:
    gates = (
        '[gold.set]\npath = "set.json"\n[engines.e]\nengine = "bm25"\ncorpus = "c.jsonl"\n'
        '[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.1\n'
    )
    gold = graded_set(tmp_path)
    service = served(store, tmp_path, gold, gates)
    kept(service, gold, "e", DOCS)
    before = overview(service)
    assert before.headline in ("ship", "inconclusive", "failing", "judged")
    (tmp_path / "copy").mkdir()
    copy = graded_set(tmp_path / "copy")
    seen = overview(served(store, tmp_path / "copy", copy, gates))
    assert (seen.headline, seen.subject) == (before.headline, before.subject)


def test_ten_thousand_pairs_are_looked_at_fast(store: Store, tmp_path: Path) -> None:
    gold = graded_set(tmp_path, queries=100, judged=100)
    service = served(store, tmp_path, gold)
    ids = [f"q{n}" for n in range(100)]
    for days in range(4):
        kept(service, gold, f"e{days % 2}", [f"d{n}" for n in range(50)], days=days, ids=ids)
    overview(service)
    started = time.process_time()  # what other programs do at the time does not count
    for _ in range(5):
        overview(service)
        boards(service)
    assert (time.process_time() - started) / 5 < 0.15

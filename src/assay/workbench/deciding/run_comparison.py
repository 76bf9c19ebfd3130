"""Comparing two runs, or a run with its baseline: whether the second is better, by how much,
whether it may ship, which queries changed, and which documents to judge next to settle it.

To add a column to one of the four tables of the page: its value in the struct of the table, its
cell in `web/templates/compare.html`, and its heading in `reports/words/pages/decide.*.toml`, in
each language. The structs are `SliceChange` (where it changed), `QueryChange` (queries lost and
won), `Difference` in `evaluation/comparison.py` (every measure) and `Check` in `core/results.py`
(the gates, drawn in `_decide.html`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from assay.core.errors import AssayError, InputError
from assay.core.files import stamp_of
from assay.core.results import (
    SURE,
    Baseline,
    Entry,
    GoldenResults,
    Pair,
    Recorded,
    Results,
    Verdict,
    is_variant,
)
from assay.evaluation import statistics
from assay.evaluation.comparison import Comparison, Difference, compare
from assay.evaluation.golden.changes import with_same_judgments
from assay.evaluation.unjudged.verdict_stability import is_closed
from assay.judging.next import next_to_judge
from assay.reports.view import SMALL_SLICE, failed_musts
from assay.reports.wording import (
    Sentences,
    as_sentence,
    gold_change,
    headlines,
    hidden_loss,
    risk_in_words,
)
from assay.reports.words import Words
from assay.workbench.deciding.baseline import change_from_baseline, read_baseline
from assay.workbench.deciding.run_boards import (
    CHARTED_RUNS,
    Board,
    RunLine,
    Ship,
    baseline_of,
    board_of,
    judged_share,
    line_of,
    run_line,
    ship_of,
    verdict_risk,
    verdict_today,
)
from assay.workbench.deciding.single_judge_risk import (
    SingleJudgeRisk,
    find_single_judge_risk,
    second_judge_asked,
)
from assay.workbench.judging.session import open_session
from assay.workbench.judging.vote_totals import PairsByVotes, split_by_votes
from assay.workbench.project.service import (
    Service,
    compute_once,
    gold_path,
    path_of_stored_name,
    stored_name,
)
from assay.workbench.scoring.history import StoredRun, run_records, stored_run

__all__ = [
    "BaselineComparison",
    "BaselineSummary",
    "ComparedRuns",
    "Lead",
    "OpenQuestion",
    "PairToJudge",
    "QueryChange",
    "RunComparison",
    "RunToday",
    "SliceChange",
    "baseline_summary",
    "compare_runs",
    "compare_with_baseline",
    "lead_by",
    "lead_of",
    "names_of",
    "open_question",
    "pairs_by_votes",
    "run_today",
    "with_baseline_name",
]

ComparisonOutcome = Literal[
    "better", "worse", "probably_better", "probably_worse", "not_shown", "same", "open"
]
LeadKind = Literal["leads", "probably", "ahead_of", "turnable", "level"]

SLICES = ("type", "topic", "wording", "category", "language", "corpus")
ONE_SITTING = 20  # documents to judge if no number of them is expected to settle it (taste)


class QueryChange(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one query in both runs; of a golden question, 1 if it passed."""

    query_id: str
    query_text: str
    before: float
    after: float
    change: float


class SliceChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change over a part of the queries; `kind` is empty for all of them."""

    kind: str
    name: str
    n: int
    change: float
    low: float | None
    high: float | None
    few: bool


class ComparedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a comparison that does not depend on gates."""

    outcome: ComparisonOutcome
    head: Difference
    comparison: Comparison
    queries: list[QueryChange]  # the largest loss first
    slices: list[SliceChange]
    unjudged: tuple[float | None, float | None]  # shares of the top ten
    to_judge: list[Pair]  # expected to make it sure; none where it is, or judging cannot help
    sure: float | None  # how sure the sign is, with unjudged documents guessed
    expected: float | None  # the change with unjudged documents guessed


class RunComparison(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"single_judge_risk": "rests", "ship_risk": "ship_rests"},
):
    """The second run (`b`) against the first (`a`), and what the gates say of the second. What is
    said of either may rest on one judge."""

    a: RunLine
    b: RunLine
    names: tuple[str, str]
    change: ComparedRuns
    lead: Lead
    ship: Ship
    verdict: Verdict | None
    single_judge_risk: SingleJudgeRisk | None = None  # what is said of the change
    ship_risk: SingleJudgeRisk | None = None


class Lead(msgspec.Struct, frozen=True, kw_only=True):
    """Which of two engines on a set is ahead, and whether that is significant, probable, not
    significant, or open because of documents that nobody has judged. Every page says it in the
    words of `kind`, and what is not significant as a report does. `sure` is how probable it is. It
    names the `judge` where it rests on one whom nobody has checked."""

    kind: LeadKind
    engine: str
    other: str
    page: str = ""  # where it is told in full
    judge: str = ""
    sure: float | None = None


def compare_runs(service: Service, first: str, second: str) -> RunComparison:
    runs = _read_two_runs(service, first, second)
    verdict = verdict_today(service, runs[1])
    change = _known_change(service.store.address, runs)
    on = _change_risk(service, runs, change.outcome)
    return RunComparison(
        a=line_of(runs[0], runs[0].results),
        b=line_of(runs[1], runs[1].results, verdict),
        names=names_of(runs),
        change=change,
        lead=lead_by(names_of(runs), change.head, on.on.judge if on else ""),
        ship=ship_of(verdict),
        verdict=verdict,
        single_judge_risk=on,
        ship_risk=verdict_risk(service, runs[1], verdict),
    )


def pairs_that_decide(service: Service, first: str, second: str) -> list[Pair]:
    """The pairs to judge to be sure which of two runs is better. Votes do not change the list."""
    return _known_change(service.store.address, _read_two_runs(service, first, second)).to_judge


def _read_two_runs(service: Service, first: str, second: str) -> tuple[StoredRun, StoredRun]:
    if first == second:
        raise InputError("a run cannot be compared with itself", hint="Choose two runs.")
    runs = stored_run(service, first), stored_run(service, second)
    if isinstance(runs[0].results, GoldenResults) != isinstance(runs[1].results, GoldenResults):
        raise InputError(
            "one run is on a golden set and the other on a graded one",
            hint="Choose two runs on the same set.",
        )
    if runs[0].gold != runs[1].gold:
        raise InputError(
            f"one run is on {runs[0].gold} and the other on {runs[1].gold}",
            hint="Choose two runs on the same set.",
        )
    return runs


def lead_by(names: tuple[str, str], head: Difference, judge: str = "") -> Lead:
    """The one with the higher figure first; where that is not proven, the one in question."""
    kind = _kind(head)
    behind = head.verdict in ("worse", "probably worse")
    first, second = names if behind else names[::-1]
    return Lead(kind=kind, engine=first, other=second, judge=judge, sure=_shown_sureness(head))


def _shown_sureness(head: Difference) -> float | None:
    return None if head.sure is None else min(max(head.sure, 1 - head.sure), SURE)


def _change_risk(
    service: Service, runs: tuple[StoredRun, StoredRun], outcome: ComparisonOutcome
) -> SingleJudgeRisk | None:
    """Whether a proven outcome depends on the unchecked votes of one judge."""
    if outcome not in ("better", "worse") or runs[0].gold != runs[1].gold:
        return None
    try:
        dataset = path_of_stored_name(service, runs[1].gold)
    except AssayError:  # a set that is not open here
        return None
    key = (service.store.address, runs[0].id, runs[1].id)
    return find_single_judge_risk([run.results for run in runs], dataset, _outcome_by(runs), key)


def _outcome_by(
    runs: tuple[StoredRun, StoredRun],
) -> Callable[[Sequence[Results]], ComparisonOutcome]:
    """A function that gives the outcome of comparing two results of these engines."""

    def find_outcome(results: Sequence[Results]) -> ComparisonOutcome:
        found = compare(list(results), names_of(runs), force=True)
        return _outcome(_head(found))

    return find_outcome


def names_of(runs: Sequence[StoredRun]) -> tuple[str, str]:
    """The names of two runs: their engines, with the day or the time if those are the same."""
    for form in (
        "{0.engine}",
        "{0.engine} ({0.at:%Y-%m-%d})",
        "{0.engine} ({0.at:%Y-%m-%d %H:%M})",
    ):
        first, second = (form.format(run) for run in runs)
        if first != second:
            return first, second
    first, second = (f"{run.engine} ({run.id[:8]})" for run in runs)
    return first, second


def lead_of(service: Service, board: Board) -> Lead | None:
    """Whether the better of the best two engines on a set is proven to lead."""
    if len(board.leaders) < 2:
        return None
    best, other = board.leaders[:2]
    names, page = (other.engine, best.engine), f"/compare?a={other.id}&b={best.id}"
    try:
        lead = lead_between(service, other.id, best.id, names)
    except AssayError:
        return Lead(kind="ahead_of", engine=best.engine, other=other.engine, page=page)
    if best.value == other.value and lead.kind == "ahead_of":
        lead = msgspec.structs.replace(lead, kind="level")
    on = None
    if lead.kind == "leads":
        both = stored_run(service, other.id), stored_run(service, best.id)
        on = _change_risk(service, both, "better")
    return msgspec.structs.replace(lead, page=page, judge=on.on.judge if on else "")


def _kind(head: Difference) -> LeadKind:
    kinds: dict[ComparisonOutcome, LeadKind] = {
        "better": "leads",
        "worse": "leads",
        "probably_better": "probably",
        "probably_worse": "probably",
        "open": "turnable",
        "same": "level",
    }
    return kinds.get(_outcome(head), "ahead_of")


def lead_between(service: Service, first: str, second: str, names: tuple[str, str]) -> Lead:
    """The first sentence of the comparison of two runs, without the rest of its page."""

    def lead() -> Lead:
        head = _compare_runs((stored_run(service, first), stored_run(service, second)))[1]
        return lead_by(names, head)

    return compute_once(("lead", service.store.address, first, second, names), lead)


# ── the change ────────────────────────────────────────────────────────────────────────────────────


def _known_change(address: str, runs: tuple[StoredRun, StoredRun]) -> ComparedRuns:
    return compute_once(("change", address, runs[0].id, runs[1].id), lambda: _change(runs))


def _change(runs: tuple[StoredRun, StoredRun]) -> ComparedRuns:
    before, after = with_same_judgments([run.results for run in runs])[0]
    comparison, head = _compare_runs(runs)
    pairs = list(_pairs(before, after, head.key))
    if _scored(before, head.key) == _scored(after, head.key):
        # both leave out the same queries, which the page counts; only a difference is a warning
        warnings = [warning for warning in comparison.warnings if "both have scored" not in warning]
        comparison = msgspec.structs.replace(comparison, warnings=warnings)
    to_judge, sure, expected = _find_doubt(before, after, comparison, head)
    return ComparedRuns(
        outcome=_outcome(head),
        head=head,
        comparison=comparison,
        queries=_largest_losses_first(pairs, head.key),
        slices=[*_slices(pairs, head.key)],
        unjudged=(_unjudged(before), _unjudged(after)),
        to_judge=to_judge,
        sure=sure,
        expected=expected,
    )


def _compare_runs(runs: tuple[StoredRun, StoredRun]) -> tuple[Comparison, Difference]:
    found = compare([run.results for run in runs], names_of(runs), force=True)
    return found, _head(found)


def _head(comparison: Comparison) -> Difference:
    return next(row for row in comparison.differences if row.measure == comparison.headline)


def _outcome(head: Difference) -> ComparisonOutcome:
    """The verdict; `same` where no query differs and nothing is said of unjudged documents."""
    outcomes: dict[str, ComparisonOutcome] = {
        "better": "better",
        "worse": "worse",
        "probably better": "probably_better",
        "probably worse": "probably_worse",
        "open": "open",
    }
    found = outcomes.get(head.verdict, "not_shown")
    return "same" if found == "not_shown" and not head.wins and not head.losses else found


def _unjudged(results: Results) -> float | None:
    share = None if is_closed(results) else judged_share(results)
    return None if share is None else 1 - share


def _pairs(before: Results, after: Results, key: str) -> Iterator[tuple[Entry, Entry]]:
    """The queries that both have scored, without variants of others."""
    known = {entry.query_id for entry in before.per_query}
    entry_after: dict[str, Entry] = {entry.query_id: entry for entry in before.per_query}
    for entry in after.per_query:
        was = entry_after.get(entry.query_id)
        if was is None or is_variant(entry, known):
            continue
        if was.metrics.get(key) is not None and entry.metrics.get(key) is not None:
            yield was, entry


def _scored(results: Results, key: str) -> set[str]:
    return {entry.query_id for entry in results.per_query if entry.metrics.get(key) is not None}


def _value(entry: Entry, key: str) -> float:
    return float(entry.metrics.get(key) or 0.0)


def _largest_losses_first(pairs: Sequence[tuple[Entry, Entry]], key: str) -> list[QueryChange]:
    changes = [
        QueryChange(
            query_id=now.query_id,
            query_text=now.query_text,
            before=_value(was, key),
            after=_value(now, key),
            change=_value(now, key) - _value(was, key),
        )
        for was, now in pairs
    ]
    return sorted(changes, key=lambda change: (change.change, change.query_id))


def _slices(pairs: Sequence[tuple[Entry, Entry]], key: str) -> Iterator[SliceChange]:
    yield _slice("", "", pairs, key)
    for kind in SLICES:
        groups: dict[str, list[tuple[Entry, Entry]]] = {}
        for pair in pairs:
            if name := pair[1].in_slice(kind):
                groups.setdefault(name, []).append(pair)
        if len(groups) > 1:
            for name, some in sorted(groups.items(), key=lambda named: (-len(named[1]), named[0])):
                yield _slice(kind, name, some, key)


def _slice(kind: str, name: str, pairs: Sequence[tuple[Entry, Entry]], key: str) -> SliceChange:
    moves = np.array([[_value(now, key) - _value(was, key)] for was, now in pairs], np.float64)
    (interval,) = statistics.change_intervals(moves)
    return SliceChange(
        kind=kind,
        name=name,
        n=len(pairs),
        change=float(moves.mean()),
        low=interval.low,
        high=interval.high,
        few=len(pairs) < SMALL_SLICE,
    )


def _find_doubt(
    before: Results, after: Results, comparison: Comparison, head: Difference
) -> tuple[list[Pair], float | None, float | None]:
    """(documents to judge, how sure, the change expected) where unjudged documents leave a doubt
    that judging can remove."""
    if is_closed(before) or is_closed(after):
        return [], None, None
    same_set = before.receipt.gold.fingerprint == after.receipt.gold.fingerprint
    judged = any(entry.known_grades for entry in after.per_query)
    full = judged_share(before) == 1 and judged_share(after) == 1
    if not same_set or not judged or full:
        return [], None, None
    try:
        found = next_to_judge(before.per_query, after.per_query, measure=comparison.headline)
    except InputError:  # a measure that no guess is made for
        return [], None, None
    if found.as_judged:
        return [], None, None
    if found.first:  # nothing is known of the others
        return found.pairs[: found.first], None, None
    waits = head.verdict not in ("better", "worse") and head.stability is not None
    weighty = ONE_SITTING if waits and head.stability and head.stability.is_open else 0
    return found.pairs[: found.needed or weighty], found.confidence, found.expected


# ── against the baseline ──────────────────────────────────────────────────────────────────────────


class BaselineComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A run compared with the baseline `before`. `change` has every figure, over the queries that
    both have and judge alike."""

    before: Results
    comparison: Comparison
    change: Baseline


class BaselineSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run is better than the baseline, in the words of the pages: the deciding measure,
    the caveats, who recorded the baseline, and the change of every figure."""

    lead: Lead
    head: Difference
    lost: str
    changed: str
    risk: str
    recorded: Recorded | None
    change: Baseline


class RunToday(StoredRun, frozen=True, kw_only=True, rename={"single_judge_risk": "rests"}):
    """A run as its page shows it. `results` are as they were recorded, with the verdict and the
    baseline of that day; everything else is of today."""

    ship: Ship
    verdict: Verdict | None
    musts: tuple[str, ...]  # questions that must pass and did not
    single_judge_risk: SingleJudgeRisk | None
    since: BaselineSummary | None


def run_today(service: Service, run: StoredRun, language: str) -> RunToday:
    verdict, since = verdict_today(service, run), compare_with_baseline(service, run)
    return RunToday(
        **{field: getattr(run, field) for field in StoredRun.__struct_fields__},
        ship=ship_of(verdict),
        verdict=verdict,
        musts=failed_musts(run.results),
        single_judge_risk=verdict_risk(service, run, verdict),
        since=baseline_summary(since, language) if since else None,
    )


def baseline_summary(since: BaselineComparison, language: str) -> BaselineSummary:
    compared, sentences = with_baseline_name(since, language), Sentences(Words(language))
    head = headlines(compared)[0]
    return BaselineSummary(
        lead=lead_by((compared.baseline, head.system), head),
        head=head,
        lost=as_sentence(hidden_loss(head, compared, sentences)),
        changed=as_sentence(gold_change(head, compared, sentences)),
        risk=risk_in_words(head, sentences),
        recorded=since.before.recorded,
        change=since.change,
    )


def with_baseline_name(since: BaselineComparison, language: str) -> Comparison:
    """The comparison, in which the baseline is called so."""
    name = Words(language)("baseline_of", engine=since.before.engine)
    return msgspec.structs.replace(since.comparison, baseline=name)


def compare_with_baseline(service: Service, run: StoredRun) -> BaselineComparison | None:
    """Compare a run with the baseline of its set. None if no baseline is named, or if it has no
    query of the run."""
    path = baseline_of(service, run)
    if path is None:
        return None
    key = ("since baseline", service.store.address, run.id, str(path), stamp_of(path))
    return compute_once(key, lambda: _compare_with_file(run, path))


def _compare_with_file(run: StoredRun, path: Path) -> BaselineComparison | None:
    try:
        baseline = read_baseline(path, golden=isinstance(run.results, GoldenResults))
        if baseline is None:
            return None
        return BaselineComparison(
            before=baseline,
            comparison=compare([baseline, run.results], [baseline.engine, run.engine], force=True),
            change=change_from_baseline(run.results, baseline, path),
        )
    except AssayError:  # it cannot be read, or has no query in common
        return None


# ── what to judge next on a set ───────────────────────────────────────────────────────────────────


class PairToJudge(msgspec.Struct, frozen=True, kw_only=True):
    """A document to judge for a query."""

    query_id: str
    doc_id: str


class OpenQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The run in question, the run that it is compared with, if any, and the pairs left to judge. A
    `second` judge is wanted if the verdict depends on one judge."""

    run: RunLine
    other: RunLine | None
    pairs: list[PairToJudge]
    second: bool = False


def open_question(service: Service, name: str, judge: str = "") -> OpenQuestion | None:
    """The open question about the best engine on a set: whether it may ship, or else whether it is
    better than the next. If its verdict depends on one judge, another `judge` is first asked for
    the documents that this one judged alone. None if nothing is open, or judging cannot help."""
    try:
        gold = stored_name(service, name)
        records = run_records(service, gold=gold, limit=CHARTED_RUNS)
        leaders = board_of(gold, [run_line(service, record) for record in records]).leaders
        if not leaders or open_session(gold_path(service, name)).gold.from_logs:
            return None
        run, other = leaders[0], leaders[1] if len(leaders) > 1 else None
        stored = stored_run(service, run.id)
        verdict = verdict_today(service, stored)
        if pairs := _pairs_for_second_judge(service, stored, verdict, judge):
            return OpenQuestion(run=run, other=other, pairs=pairs, second=True)
        wanted = list(verdict.judge_next or ()) if verdict else []
        if not wanted and other is not None:
            wanted = pairs_that_decide(service, other.id, run.id)
    except AssayError:  # the pages of its runs say what is wrong
        return None
    left = pairs_by_votes(service, name, wanted, judge).left
    open_pairs = [PairToJudge(query_id=pair.query_id, doc_id=pair.doc_id) for pair in left]
    return OpenQuestion(run=run, other=other, pairs=open_pairs) if open_pairs else None


def _pairs_for_second_judge(
    service: Service, run: StoredRun, verdict: Verdict | None, judge: str
) -> list[PairToJudge]:
    """The documents on which the verdict depends, if this judge is asked for them and has not
    judged them."""
    found = verdict_risk(service, run, verdict) if judge else None
    path = path_of_stored_name(service, run.gold)
    if found is None or found.on.judge == judge or not second_judge_asked(path, found.pairs):
        return []
    session = open_session(path)
    with session.log.reading:
        left = [pair for pair in found.pairs if session.votes.current_vote_of(judge, pair) is None]
    return [PairToJudge(query_id=query, doc_id=doc) for query, doc in left]


def pairs_by_votes(
    service: Service, name: str, pairs: Sequence[Pair], judge: str = ""
) -> PairsByVotes:
    """The pairs by what their votes ask for: a judge, a ruling, or nothing more."""
    try:
        path = gold_path(service, name)
    except AssayError:
        return PairsByVotes(left=list(pairs), rulings=[], dealt=[], judged=[])
    return split_by_votes(path, pairs, judge)

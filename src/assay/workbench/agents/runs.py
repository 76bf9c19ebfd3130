"""Tools that score engines, compare runs and explain scores: the verdict first, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from assay.core.results import (
    Entry,
    GoldenEntry,
    GoldenHit,
    GoldenResults,
    GradedResults,
    MeasureLine,
    Results,
)
from assay.core.results_file import measure_to_json
from assay.core.types import JsonObject
from assay.evaluation.comparison import Comparison, Difference
from assay.reports import evaluation_report, tuning, view
from assay.reports.numbers import decimal
from assay.reports.wording import (
    CLOSE,
    COMMAND,
    Sentences,
    answers,
    deciding_measure,
    expected_and_outcome,
    inline,
    summary_of,
)
from assay.reports.words import Words
from assay.workbench.agents.gold_sets import GoldName, gold_names
from assay.workbench.agents.short_answers import (
    DEFAULT_CHARACTERS,
    MAX_LINES,
    Limit,
    Offset,
    encode_answer,
    fit_answer,
    round_figure,
)
from assay.workbench.deciding.run_boards import may_ship, ship_answer
from assay.workbench.deciding.tune import tune
from assay.workbench.project.config import CONFIG_NAME
from assay.workbench.project.service import Service
from assay.workbench.scoring import history
from assay.workbench.scoring.engines import engine_kinds
from assay.workbench.scoring.history import stored_run

FIGURES = ("ndcg@10", "map", "pass_rate_total", "pass_rate_must")  # of a run in a list
LONGEST_QUERY = 200  # characters of a query in a list; taste
MOST_RUNS = 8  # of a list: what fits in a short answer (taste)
MOST_FAILED, MOST_FAILED_LISTED = 50, 10  # failed questions of a run, alone and in a list; taste
MOST_CHANGES, MOST_MOVED = 3, 3  # measures and queries of a comparison; taste
MAX_HITS = 20  # hits of an explanation; taste
MOST_MISSED = 5  # relevant documents outside the ranking; taste
MOST_KINDS = 6  # kinds of queries, the worst ones; taste
RunId = Annotated[str, Meta(description="From run_evaluation or list_runs.")]


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


class EngineLine(msgspec.Struct, frozen=True):
    """An engine, and the gold sets that run_evaluation may score it on."""

    name: str
    kind: str
    gold_sets: list[str]


class Engines(msgspec.Struct, frozen=True, kw_only=True):
    engines: list[EngineLine]
    message: str = ""


def list_engines(service: Service) -> Engines:
    """List the search engines that run_evaluation can score."""
    lines = [EngineLine(*each) for each in engine_kinds(service.config)]
    none = "No engine is configured. A person configures one, and starts this server again."
    return Engines(engines=lines, message="" if lines else none)


class RunLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run with its most important figures. `may_ship` is yes, no, not_yet or no_gates, by the
    gates of the project, and `why` says why not. `failed` are the first golden questions that
    failed; list_failures says why."""

    run_id: str
    engine: str
    gold: str
    at: str
    figures: dict[str, float | None] = {}
    may_ship: str
    why: str = ""
    failed: list[str] = []


class Runs(msgspec.Struct, frozen=True, kw_only=True):
    runs: list[RunLine]
    next_offset: int | None = None


def list_runs(
    service: Service,
    gold: Annotated[str, Meta(description="Only runs on this gold set.")] = "",
    limit: Limit = 0,
    offset: Offset = 0,
) -> Runs:
    """List scored runs, the newest first: which engine on which set, its score, whether it may
    ship, and which golden questions it failed."""
    page = history.runs(service, gold=gold, limit=limit or MOST_RUNS, offset=offset)
    names = gold_names(service)
    lines = [_run_line(service, record.id, names) for record in page.items]
    answer = Runs(runs=lines, next_offset=page.next_offset)
    return answer if limit else fit_answer(answer, "runs", offset)


def _run_line(service: Service, run_id: str, names: dict[str, str]) -> RunLine:
    run = stored_run(service, run_id)
    overall = run.results.overall
    keys = [key for key in FIGURES if key in overall] or list(overall)[:2]
    ship, why = ship_answer(service, run)
    return RunLine(
        run_id=run.id,
        engine=run.engine,
        gold=names.get(run.gold, run.gold),
        at=run.at.isoformat(timespec="seconds"),
        figures={key: round_figure(overall[key]) for key in keys},
        may_ship=ship,
        why=why,
        failed=_failed_questions(run.results)[:MOST_FAILED_LISTED],
    )


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was just scored. `summary` has the result in words, with the unjudged share: do
    not report the score without it. `may_ship` says what each gate of the project found. `overall`
    is the mean of every measure over all queries, and `intervals` its 95% interval. In a golden
    set, `failed` are the questions that failed (list_failures says why), and n_failed counts engine
    calls that ended in an error, if any did."""

    run_id: str
    summary: str
    may_ship: str = ""
    engine: str
    gold: str
    gold_status: str
    queries: int
    overall: dict[str, float | None]
    intervals: dict[str, tuple[float | None, float | None]] = {}
    failed: list[str] = []


def run_evaluation(
    service: Service,
    gold: GoldName,
    engine: Annotated[str, Meta(description="The name of an engine, from list_engines.")],
) -> Evaluation:
    """Score an engine on a gold set, and see whether it may ship. The run is kept under its
    run_id."""
    run = history.evaluate(service, gold, engine)
    results = run.results
    return Evaluation(
        run_id=run.id,
        summary=summary_of(results),
        may_ship=may_ship(service, run).summarize(),
        engine=run.engine,
        gold=gold,
        gold_status=results.receipt.gold.status or "not recorded",
        queries=len(results.per_query),
        overall={
            name: round_figure(value)
            for name, value in results.overall.items()
            if name != "n_failed" or value
        },
        intervals={
            name: (round_figure(low), round_figure(high))
            for name, (low, high) in results.intervals.overall.items()
            if low is not None
        },
        failed=_failed_questions(results)[:MOST_FAILED],
    )


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a sweep. `honest` is the mean of the best setting on queries that it was not
    chosen on, `low` and `high` its 95% interval; `apparent` flatters it by `optimism`. `p` is
    corrected for the number of settings. `toml` is for assay.toml, where a setting is better."""

    verdict: str
    measure: str
    settings: int
    queries: int
    current: float
    apparent: float
    honest: float
    low: float | None
    high: float | None
    optimism: float
    p: float
    notes: list[str] = []
    toml: str = ""


def tune_engine(
    service: Service,
    name: Annotated[str, Meta(description="A table [tune.NAME] of assay.toml.")],
) -> Tuning:
    """Try the settings that a person configured for an engine, and say whether one is better than
    the current one. Report the honest figure, not the apparent one. Calls are kept: a sweep that
    takes too long goes on when it is called again."""
    report = tune(name, config=service.project / CONFIG_NAME, home=service.home)
    seen, choice = tuning.view(report), report.choice
    return Tuning(
        verdict=seen.headline,
        measure=report.measure,
        settings=len(report.trials),
        queries=choice.queries,
        current=round(choice.current_mean, 3),
        apparent=round(choice.apparent, 3),
        honest=round(choice.honest, 3),
        low=round_figure(choice.low),
        high=round_figure(choice.high),
        optimism=round(choice.optimism, 3),
        p=round(choice.p_adjusted, 3),
        notes=seen.notes,
        toml=seen.toml if choice.verdict == "better" else "",
    )


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A measure of one system against the baseline, rounded. `low` and `high` bound the 95%
    interval of the change; `better`, `same` and `worse` count queries. `p` is of the randomization
    test: for the measure that decides, corrected for the number of systems; for any other, for all
    tests (Holm)."""

    system: str
    measure: str
    before: float
    now: float
    change: float
    low: float | None
    high: float | None
    better: int
    same: int
    worse: int
    p: float


class MovedQuery(msgspec.Struct, frozen=True, kw_only=True):
    query_id: str
    before: float
    now: float


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison. `verdict` says in words whether a system is better, and `word` in one word for
    each: better, worse, probably better, probably worse, not significant or open. `may_ship` says
    whether each may ship, by the gates of the project: being better and being good enough are two
    questions. `decided_by` is the measure that decides; the others inform. `moved` are the queries
    that moved most. `gold_status` is how far the gold set is approved, empty if not recorded.
    `details` has everything, not rounded."""

    verdict: str
    may_ship: str = ""
    word: str
    baseline: str
    systems: list[str]
    decided_by: str
    changes: list[Change]
    moved: list[MovedQuery]
    warnings: list[str] = []
    gold_status: str = ""
    details: Comparison | None = None


def compare_runs(
    service: Service,
    run_ids: Annotated[
        list[str], Meta(min_length=2, description="From list_runs. The first is the baseline.")
    ],
    force: Annotated[
        bool, Meta(description="Compare even if gold sets or corpora differ.")
    ] = False,
    details: Annotated[
        bool, Meta(description="Return all measures, tests and documents. The answer is long.")
    ] = False,
) -> RunComparison:
    """Is one run better than another? The verdict in words comes first. Report it as it is: "open"
    means that there are too few judgments, and "not significant" does not mean "equal"."""
    found = history.compare_stored(service, run_ids, force=force)
    ships = [may_ship(service, stored_run(service, each)).summarize() for each in run_ids[1:]]
    deciding = [row for row in found.differences if row.measure == found.headline]
    others = [row for row in found.differences if row.measure != found.headline]
    verdict_says = "different gold sets" if found.gold_changed else ""
    warnings = [each for each in found.warnings if not verdict_says or verdict_says not in each]
    answer = RunComparison(
        verdict=" ".join(verdicts(found)),
        may_ship=" ".join(ships),
        word="; ".join(f"{row.system}: {row.verdict}" for row in deciding),
        baseline=found.baseline,
        systems=found.systems,
        decided_by=found.headline,
        changes=[_change(row) for row in [*deciding, *others][:MOST_CHANGES]],
        moved=[
            MovedQuery(
                query_id=row.query_id, before=round(row.baseline, 3), now=round(row.value, 3)
            )
            for row in found.moved[:MOST_MOVED]
            if row.value != row.baseline
        ],
        warnings=warnings[:2],
        gold_status=found.gold_status,
    )
    return msgspec.structs.replace(answer, details=found) if details else _fit_comparison(answer)


def _change(row: Difference) -> Change:
    return Change(
        system=row.system,
        measure=row.measure,
        before=round(row.baseline, 3),
        now=round(row.value, 3),
        change=round(row.difference, 3),
        low=round_figure(row.low),
        high=round_figure(row.high),
        better=row.wins,
        same=row.ties,
        worse=row.losses,
        p=round(row.p, 3),
    )


def _fit_comparison(answer: RunComparison) -> RunComparison:
    """A comparison that fits in `DEFAULT_CHARACTERS`: what says least is dropped first."""
    cuts: list[dict[str, object]] = [
        {"moved": []},
        {"changes": answer.changes[:1]},
        {"changes": [], "warnings": []},
        {"word": "see verdict", "may_ship": "ask for details"},
    ]
    for shorter in cuts:
        if len(encode_answer(answer)) <= DEFAULT_CHARACTERS:
            return answer
        answer = msgspec.structs.replace(answer, **shorter)
    if over := max(0, len(encode_answer(answer)) - DEFAULT_CHARACTERS):
        verdict = f"{answer.verdict[: -over - 40]} … (details)"
        answer = msgspec.structs.replace(answer, verdict=verdict)
    return answer


def verdicts(comparison: Comparison) -> list[str]:
    """The answer for each system in a few sentences, the verdict first."""
    lines = []
    for answer in answers(comparison, Sentences(Words("en"))):
        notes = [note.replace(COMMAND, "next_to_judge with these run_ids") for note in answer.notes]
        lines.append(" ".join([f"{answer.text}.", answer.change, *notes]))
    return lines


# ── why a run scores as it does ───────────────────────────────────────────────────────────────────


class HitLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hit of a golden question: `what` is expected, negative, trap, or nothing; `place` is the
    place in words, and the score."""

    rank: int
    doc_id: str
    what: str = ""
    place: str = ""


class ScoreExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The score of one query: what a good answer has (`expected`), and what the engine found
    (`outcome`). `results` is the ranking of a graded query, with the grade at every rank, null if
    unjudged; a golden question has `hits`. `missed` are relevant documents outside the ranking,
    each with its grade, the best first (read one to see why), and `more_missed` how many there are
    besides. `measures` has the formula behind every number: key, measure, cutoff, formula, source
    and settings (rel, gain, p, …); the same formula comes once."""

    query_id: str
    query: str
    passed: bool | None = None
    expected: str
    outcome: str
    results: list[str] = []
    grades: list[int | None] = []
    missed: dict[str, int] = {}
    more_missed: int = 0
    hits: list[HitLine] = []
    metrics: dict[str, float | None]
    measures: list[JsonObject] = []


def explain_score(
    service: Service,
    run_id: RunId,
    query_id: Annotated[str, Meta(description="See list_queries.")],
) -> ScoreExplanation:
    """Explain the score of one query of a run: what was expected, what the engine found, what is
    missing, and why a golden question passed or failed."""
    found = history.explain(service, run_id, query_id)
    entry = found.entry
    shown = entry.results[:MAX_HITS]
    relevant = history.relevant_to(service, run_id, query_id)
    missed = [each for each in relevant.items() if each[0] not in shown]
    expected, outcome = expected_and_outcome(entry)
    answer = ScoreExplanation(
        query_id=entry.query_id,
        query=entry.query_text,
        expected=expected,
        outcome=outcome,
        missed=dict(missed[:MOST_MISSED]),
        more_missed=max(len(missed) - MOST_MISSED, 0),
        metrics={name: round_figure(value) for name, value in entry.metrics.items()},
    )
    if isinstance(entry, GoldenEntry):
        hits = [
            HitLine(rank=rank, doc_id=hit.doc_id, what=hit.match, place=place)
            for rank, (hit, place) in enumerate(_hits_in_words(entry), start=1)
        ]
        return msgspec.structs.replace(answer, passed=entry.passed, hits=hits)
    formulas = _formulas(found.measures)
    answer = msgspec.structs.replace(
        answer, results=shown, grades=entry.grades[:MAX_HITS], measures=formulas
    )
    if len(encode_answer(answer)) <= DEFAULT_CHARACTERS:
        return answer
    unsourced = [
        {name: value for name, value in each.items() if name != "source"} for each in formulas
    ]
    return msgspec.structs.replace(answer, measures=unsourced)


def _formulas(lines: list[MeasureLine]) -> list[JsonObject]:
    """The measures without empty fields; a formula and its source stand where they come first."""
    known: set[str] = set()
    formulas = []
    for line in lines:
        if line.formula in known:
            line = msgspec.structs.replace(line, formula="", source="")
        known.add(line.formula)
        fields = measure_to_json(line)
        formulas.append({name: value for name, value in fields.items() if value not in ("", None)})
    return formulas


def _hits_in_words(entry: GoldenEntry, most: int = 10) -> list[tuple[GoldenHit, str]]:
    """The first hits of a golden question, each with its place and score in words."""
    sentences = Sentences(Words("en"))
    return [(hit, sentences.hit(hit)) for hit in entry.hits[: max(entry.k, most)]]


class FailureLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A query that failed: what a good answer has (`expected`), and what the engine found
    (`outcome`). `kind` is the type of the query, else its category or topic. A golden question has
    `must` if it must pass, and the `first` hit; a graded query its `score`."""

    query_id: str
    query: str
    kind: str = ""
    must: bool | None = None
    score: float | None = None
    expected: str
    outcome: str
    first: str = ""


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """What a run gets wrong. `kinds` has the score of each kind of query, the worst first, with the
    number of queries: if there are fewer than ten, say that they are few. `measure` is what graded
    queries are sorted by."""

    summary: str
    kinds: list[str] = []
    measure: str = ""
    failures: list[FailureLine]
    next_offset: int | None = None


def list_failures(
    service: Service, run_id: RunId, limit: Limit = 0, offset: Offset = 0
) -> Failures:
    """List what a run gets wrong. For a golden set: every failed question, those that must pass
    first, with what was expected and why it failed. For a graded set: the queries with the lowest
    scores. `kinds` shows which kind of question is worst."""
    results = stored_run(service, run_id).results
    line = None if isinstance(results, GoldenResults) else deciding_measure(results)
    key = line.key if line else ""
    entries, end = failed_entries(results), offset + (limit or MAX_LINES)
    answer = Failures(
        summary=summary_of(results),
        kinds=[] if offset else _kinds(results.per_query, key),
        measure=line.measure if line else "",
        failures=[_failure(entry, key) for entry in entries[offset:end]],
        next_offset=end if len(entries) > end else None,
    )
    return answer if limit else fit_answer(answer, "failures", offset)


def _failure(entry: Entry, key: str) -> FailureLine:
    expected, outcome = expected_and_outcome(entry)
    golden = entry if isinstance(entry, GoldenEntry) else None
    hits = _hits_in_words(golden, 1) if golden else []
    return FailureLine(
        query_id=entry.query_id,
        query=entry.query_text[:LONGEST_QUERY],
        kind=_kind(entry),
        must=(golden.must or None) if golden else None,
        score=None if golden else round_figure(entry.metrics.get(key)),
        expected=expected,
        outcome=outcome.replace(f" {CLOSE}", ""),
        first=hits[0][1] if hits else "",
    )


def _kind(entry: Entry) -> str:
    if isinstance(entry, GoldenEntry):
        return entry.category or entry.query_type or entry.query_topic
    return entry.query_type or entry.query_category or entry.query_topic


def _kinds(entries: Sequence[Entry], key: str) -> list[str]:
    """The score of each kind of query, the worst first; nothing if there is only one kind."""
    values: dict[str, list[float]] = {}
    for entry in entries:
        value = float(entry.passed) if isinstance(entry, GoldenEntry) else entry.metrics.get(key)
        if value is not None:
            values.setdefault(_kind(entry), []).append(value)
    if len(values) < 2:
        return []
    golden = isinstance(entries[0], GoldenEntry)
    means = sorted((sum(each) / len(each), kind, len(each)) for kind, each in values.items())
    wording = "{1}: {0:.0%} of {2} passed" if golden else "{1}: {0:.3f} over {2}"
    return [wording.format(*each) for each in means[:MOST_KINDS]]


def failed_entries(results: Results) -> Sequence[Entry]:
    """The failed questions of a golden set, those that must pass first; or every query of a graded
    set, the lowest score first and queries without a score last."""
    if isinstance(results, GoldenResults):
        failed = [entry for entry in results.per_query if not entry.passed]
        return sorted(failed, key=lambda entry: not entry.must)
    key = line.key if (line := deciding_measure(results)) else ""
    values = [(entry.metrics.get(key), entry) for entry in results.per_query]
    scored = [(value, entry) for value, entry in values if value is not None]
    unscored = [entry for value, entry in values if value is None]
    return [entry for _, entry in sorted(scored, key=lambda pair: pair[0])] + unscored


def _failed_questions(results: Results) -> list[str]:
    golden = isinstance(results, GoldenResults)
    return [entry.query_id for entry in failed_entries(results)] if golden else []


def report_of(service: Service, run_id: str) -> str:
    """The whole report of a run: whether it may ship by the gates of today, the unjudged share,
    every measure overall and by slice, and for a graded set every query."""
    run = stored_run(service, run_id)
    ship = may_ship(service, run)
    results = msgspec.structs.replace(run.results, verdict=ship.verdict)
    parts = [ship.summarize(), evaluation_report(view(results))]
    if isinstance(results, GradedResults) and results.receipt.measures:
        lines = results.receipt.measures[:3]
        head = ["query", "judged of the first 10", *(line.measure for line in lines)]
        rows = [
            [
                f"{entry.query_id} {inline(entry.query_text)}".replace("|", "/"),
                f"{sum(grade is not None for grade in entry.grades[:10])}",
                *(decimal(entry.metrics.get(line.key)) for line in lines),
            ]
            for entry in results.per_query
        ]
        table = [head, ["---"] * len(head), *rows]
        queries = "\n".join(f"| {' | '.join(row)} |" for row in table)
        parts = [parts[0], summary_of(results), *parts[1:], f"## Queries\n\n{queries}\n"]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"

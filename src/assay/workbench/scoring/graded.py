"""Scoring graded sets: the measures of a run over the grades that people gave, and with
`--with-machine-judgments` estimates from the machine votes on all queries, corrected by the queries
that people judged in full. The unit is the query.

People judged a query in full, for a measure, when every hit that the measure looks at has a label
of theirs, and so has, for a measure with an ideal, every document of the query that anybody voted
on: else people's ideal would be another than the machine's for want of labels.

An engine that searches other documents than a set is about scores 0 on every query, which does not
measure how well it searches: it is refused, or the results carry a warning."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from assay.core.errors import Declined, InputError, UsageError
from assay.core.results import (
    MIN_QUERIES,
    Doubt,
    GradedResults,
    Interval,
    MachineEstimate,
    MachineFigure,
    Results,
)
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Query, Run, Vote, judgment_frame
from assay.engines.engine_table import EngineConfig
from assay.engines.running import BASELINES
from assay.evaluation.graded import FAILED, evaluate, graded_results
from assay.evaluation.judged_hits import (
    UNJUDGED_QUERY,
    TopAndJudged,
    almost_matches,
    join_run,
    join_saved_run,
    with_judged_ids,
)
from assay.evaluation.measures import Measure, is_external, parse_measure, parse_measures
from assay.evaluation.prediction_powered import (
    Estimates,
    chance_of_imbalance,
    chance_of_shift,
    estimate,
)
from assay.evaluation.receipts import measure_lines
from assay.gold.rows import log_path
from assay.gold.votes import current_votes
from assay.judging.labels import Policy, compute_labels, read_policy
from assay.judging.votes import read_votes
from assay.reports.wording import run_warnings, warning, why_not_estimated
from assay.workbench.scoring.request import (
    DEFAULT_TOP_K,
    Progress,
    Say,
    ScoredRun,
    ScoreRequest,
    ask_engine_of,
    measures_of_set,
    no_common_queries,
    rubric_warnings,
    sign_results,
    signature_of,
)

if TYPE_CHECKING:  # corpora take long to load, and most engines search none of ours
    from assay.corpus.disk import Corpus


def score_graded(gold: GoldSet, request: ScoreRequest, progress: Progress, say: Say) -> ScoredRun:
    if request.k is not None or request.min_score is not None:
        raise UsageError(
            "--k and --min-score are for golden sets; this one is graded",
            where=str(request.dataset),
        )
    wanted = tuple(map(str, parse_measures(request.measures)))
    measures = wanted or measures_of_set(gold, request.dataset)
    primary = primary_of(request, gold, measures)
    with ThreadPoolExecutor(max_workers=1) as beside:
        # hashing a large run takes its time; an engine may start processes, and is left alone
        hashed = beside.submit(signature_of, request) if request.run is not None else None
        run, graded = _graded(gold, request, measures, progress, say)
        results = sign_results(graded, hashed.result() if hashed else signature_of(request))
    if primary:
        receipt = msgspec.structs.replace(results.receipt, primary=primary)
        results = msgspec.structs.replace(results, receipt=receipt)
    counts = results.receipt.counts
    warnings = (
        *_near_miss_warnings(results, gold),
        *run_warnings(counts),
        *_cut_warnings(run, measures),
        *_unjudged_warnings(results, request),
        *_empty_warnings(results),
        *_other_documents_warnings(results, gold, request.dataset),
        *rubric_warnings(gold, request.dataset),
        *_log_warnings(gold, request.dataset),
    )
    return ScoredRun(results=results, warnings=warnings, failed=counts["n_failed"])


def _log_warnings(gold: GoldSet, dataset: Path) -> Iterable[str]:
    """Whether the log of the set has moved on since its labels were made. The figures are those of
    the gold file alone."""
    if not log_path(dataset).exists():
        return
    from assay.gold.log import votes_since
    from assay.workbench.judging.vote_totals import rulings_needed

    since = votes_since(dataset, dataset.read_bytes())
    if since is None:
        yield warning("edited", dataset=dataset)
    elif since and not gold.from_logs:
        key = "not_counted_one" if since == 1 else "not_counted"
        yield warning(key, n=since, command=f"assay gold merge {dataset}")
    if rulings := rulings_needed(dataset):
        key = "ruling_one" if rulings == 1 else "ruling"
        yield warning(key, n=rulings, command=f"assay gold adjudicate {dataset}")


def primary_of(request: ScoreRequest, gold: GoldSet, measures: Sequence[str]) -> str:
    """The measure that decides, by name, where the configuration or the set names one; it has to be
    one of those scored."""
    wanted = request.primary or (gold.targets.primary if gold.targets else "")
    if not wanted:
        return ""
    lines = {line.key: line.measure for line in measure_lines(list(measures))}
    found = lines.get(wanted.casefold()) or str(parse_measure(wanted))
    if found not in measures:
        raise InputError(
            f"the measure that decides, {wanted}, is not one of those scored",
            where=str(request.dataset),
            hint=f"They are {', '.join(measures)}.",
        )
    return found


def _graded(
    gold: GoldSet, request: ScoreRequest, measures: Sequence[str], progress: Progress, say: Say
) -> tuple[Run, GradedResults]:
    run, prepared = _graded_run(gold, request, measures, progress, say)
    if not prepared.counts["n_run"]:
        where = str(request.run or run.engine)
        raise no_common_queries(gold, list(run.rows_by_query), where=where)
    keep = _hits_to_keep(request, measures)
    graded = graded_results(
        run, gold, measures, prepared=prepared, keep=keep, worst_case=request.worst_case
    )
    if request.with_machine_judgments:
        graded = with_machine_estimate(graded, run, gold, request.dataset)
    return run, graded


def _hits_to_keep(request: ScoreRequest, measures: Sequence[str]) -> int | None:
    """How many hits of a query the results keep; None for all."""
    if request.hits == "all":
        return None
    return request.hits or max(DEFAULT_TOP_K, _deepest(measures))


def _deepest(measures: Sequence[str]) -> int:
    return max((measure.cutoff or 0 for measure in parse_measures(measures)), default=0)


def _graded_run(
    gold: GoldSet, request: ScoreRequest, measures: Sequence[str], progress: Progress, say: Say
) -> TopAndJudged:
    if request.run is not None:
        # machine votes are on documents that need not be judged: they are looked for in all hits
        # and a measure that is not ours needs the whole run
        needs_all = request.with_machine_judgments or any(
            is_external(measure) for measure in parse_measures(measures)
        )
        keep = None if needs_all or request.loose_ids else _hits_to_keep(request, measures)
        looked = join_saved_run(request.run, gold, keep=keep)
        return _with_judged_ids(looked.run, gold) if request.loose_ids else looked
    deepest = _deepest(measures)
    depth = request.top_k or max(DEFAULT_TOP_K, deepest)
    if depth < deepest:
        say(f"warning: the engine is asked for {depth} hits, and a measure looks at {deepest}")
    name, answers = ask_engine_of(request, gold, depth, progress, say)
    run = run_from_results(name, answers, top_k=depth)
    return (
        _with_judged_ids(run, gold) if request.loose_ids else TopAndJudged(run, join_run(run, gold))
    )


def _with_judged_ids(run: Run, gold: GoldSet) -> TopAndJudged:
    named = with_judged_ids(run, gold)
    return TopAndJudged(named, join_run(named, gold))


def _near_miss_warnings(results: GradedResults, gold: GoldSet) -> Iterable[str]:
    """Results that would be judged if their ids were written as in the gold set."""
    if accepted := results.receipt.counts.get("loose_ids"):
        yield warning("loose_ids", n=accepted)
    missed = list(almost_matches(results, gold))
    if missed:
        first, n = missed[0], len(missed)
        written = {"returned": repr(first.returned), "judged": repr(first.judged)}
        yield warning("near_miss", n=n, **written)


def _cut_warnings(run: Run, measures: Sequence[str]) -> Iterable[str]:
    """Saved results may hold the top of each list only."""
    kept = run.environment.get("kept_hits")
    deeper = [
        str(measure)
        for measure in parse_measures(measures)
        if kept and (measure.cutoff or kept + 1) > kept
    ]
    if deeper:
        yield warning("cut", kept=kept, measures=", ".join(deeper))


def _unjudged_warnings(results: Results, request: ScoreRequest) -> Iterable[str]:
    """A figure says nothing of queries that nobody has judged; without any judgment there is
    none."""
    unjudged = sum(entry.reason == UNJUDGED_QUERY for entry in results.per_query)
    if not results.receipt.gold.judgments:
        command = f"assay gold pool {request.dataset} {_engine_options(request)}"
        yield warning("nothing_judged", command=command)
    elif unjudged:
        yield warning("unjudged", n=unjudged, all=len(results.per_query))


def _empty_warnings(results: Results) -> Iterable[str]:
    """A wrong index or filter is no error of the engine, and gives nothing but zeros."""
    asked = results.receipt.counts["n_run"] - results.receipt.counts["n_failed"]
    if asked > 0 and not any(entry.num_results for entry in results.per_query):
        yield warning("empty")


def _other_documents_warnings(
    results: GradedResults, gold: GoldSet, dataset: Path
) -> Iterable[str]:
    """A run that has no judged document at all may be of other documents than the set's."""
    if any(grade is not None for entry in results.per_query for grade in entry.grades):
        return ()

    return check_documents_known(results, gold, dataset)


def _engine_options(request: ScoreRequest) -> str:
    """The options of a command that name the same engine or run."""
    named = {
        "--engine": request.engine,
        "--search-module": request.search_module,
        "--run": request.run,
        "--corpus": request.corpus,
    }
    return " ".join(f"{option} {value}" for option, value in named.items() if value)


# ── estimates from machine votes, corrected by the queries that people judged in full ─────────────


Floats = np.ndarray[Any, np.dtype[np.float64]]
Grades = dict[str, dict[str, int]]  # query, document, grade

UNLIKELY = 0.01  # the usual level of a strict test; divided by the number of tests made
TO_THE_FIRST = ("RR", "Success")  # measures that look no further than the first relevant hit
WITHOUT_IDEAL = ("RR", "Success", "P", "RBP", "ERR", "Judged")  # no ideal ranking is needed


class _JudgedBy(NamedTuple):
    """The grades by people or by machines, with the value of every query and measure."""

    grades: Grades
    values: Floats
    reasons: tuple[str, ...]


class _EstimatedMeasure(NamedTuple):
    """A figure, with what tells whether the judged queries are a random part."""

    figure: MachineFigure
    judged: Sequence[int]  # rows
    others: Sequence[int]
    chance: float


def with_machine_estimate(
    results: GradedResults, run: Run, gold: GoldSet, dataset: Path
) -> GradedResults:
    """The results with the estimate from machine votes beside them."""
    votes = _read_both_votes(gold, dataset)
    top = max(gold.max_grade, *(vote.grade or 0 for vote in votes))
    gold = dataclasses.replace(gold, top_grade=top)  # one scale for people and machines
    measures = [line.measure for line in results.receipt.measures]
    people = _judged_by(run, gold, measures, grades_by_people(votes, read_policy(dataset)))
    machine = _judged_by(run, gold, measures, grades_by_machines(votes))
    seen = _voted_documents(votes)
    figures = {
        line.key: _estimate_measure(
            parse_measure(line.measure), column, run, gold, (people, machine, seen)
        )
        for column, line in enumerate(results.receipt.measures)
    }
    estimates = {key: each.figure for key, each in figures.items()}
    if all(figure.value is None for figure in estimates.values()):
        best = max(estimates.values(), key=lambda figure: figure.judged)
        raise InputError(
            f"no measure can be estimated: {best.measure}: {best.why}",
            where=str(log_path(dataset)),
            hint="`assay gold pool` lists the documents that people have left to judge. Judge "
            "whole queries, drawn at random.",
        )
    estimated = MachineEstimate(
        figures=estimates,
        judges=sorted({vote.judge for vote in votes if vote.kind == "machine"}),
        doubts=list(_sampling_doubts(gold.queries, figures)),
    )
    return msgspec.structs.replace(results, machine_estimate=estimated)


# ── votes ─────────────────────────────────────────────────────────────────────────────────────────


def _read_both_votes(gold: GoldSet, dataset: Path) -> list[Vote]:
    """The votes on the set's queries that hold now; machines and people must both have voted."""
    path = log_path(dataset)
    known = set(gold.query_ids)
    votes = [vote for vote in current_votes(read_votes(dataset)) if vote.query_id in known]
    kinds = {vote.kind for vote in votes if vote.grade is not None}
    if "machine" not in kinds:
        raise InputError(
            "there are no machine votes to estimate from"
            if path.exists()
            else "there are no votes: the estimate needs people's and machines'",
            where=str(path),
            hint="A machine judge of assay.toml votes with `assay gold judge`.",
        )
    if "human" not in kinds:
        raise InputError(
            "there are no human votes to correct the machine's votes with",
            where=str(path),
            hint=f"Let people judge at least {MIN_QUERIES} queries in full, drawn at random; their "
            "votes come in with `assay gold merge`.",
        )
    return votes


def grades_by_people(votes: Iterable[Vote], policy: Policy) -> Grades:
    """People's labels, by the policy of the set."""
    by_people = Policy(name=policy.name, counts=("human",), seniors=policy.seniors)
    grades: Grades = {}
    for (query_id, doc_id), label in compute_labels(votes, by_people).items():
        if label.grade is not None:
            grades.setdefault(query_id, {})[doc_id] = label.grade
    return grades


def grades_by_machines(votes: Iterable[Vote]) -> Grades:
    """The grade that most machines gave; where two are level the lower of the middle ones. Any rule
    will do: what it gets wrong, people correct."""
    grades_of_pair: dict[tuple[str, str], list[int]] = {}
    for vote in votes:
        if vote.kind == "machine" and vote.grade is not None:
            grades_of_pair.setdefault((vote.query_id, vote.doc_id), []).append(vote.grade)
    grades: Grades = {}
    for (query_id, doc_id), given in grades_of_pair.items():
        most = Counter(given).most_common(2)
        is_level = len(most) > 1 and most[0][1] == most[1][1]
        grade = sorted(given)[(len(given) - 1) // 2] if is_level else most[0][0]
        grades.setdefault(query_id, {})[doc_id] = grade
    return grades


def _voted_documents(votes: Iterable[Vote]) -> dict[str, set[str]]:
    """The documents of each query that anybody voted on."""
    seen: dict[str, set[str]] = {}
    for vote in votes:
        seen.setdefault(vote.query_id, set()).add(vote.doc_id)
    return seen


def _judged_by(run: Run, gold: GoldSet, measures: Sequence[str], grades: Grades) -> _JudgedBy:
    rows = [
        (query, document, grade)
        for query, graded in grades.items()
        for document, grade in graded.items()
    ]
    frame = judgment_frame(*(list(column) for column in zip(*rows, strict=True)))
    judged = dataclasses.replace(gold, judgments=frame)
    sheet = evaluate(run, judged, measures)
    return _JudgedBy(grades, sheet.values, sheet.reasons)


# ── one measure ───────────────────────────────────────────────────────────────────────────────────


def _estimate_measure(
    measure: Measure,
    column: int,
    run: Run,
    gold: GoldSet,
    both_kinds: tuple[_JudgedBy, _JudgedBy, Mapping[str, set[str]]],
) -> _EstimatedMeasure:
    """The estimate of one measure. A query on which people find nothing relevant has no value, here
    as anywhere, but it stays among the judged: it tells how many of the others have none."""
    people, machine, seen = both_kinds
    judged, others, left_out = list[int](), list[int](), 0
    for row, query in enumerate(gold.queries):
        hits = run.doc_ids(query.id)
        by_machine = machine.grades.get(query.id, {})
        by_people = people.grades.get(query.id, {})
        if people.reasons[row].startswith(FAILED):
            continue
        if not by_machine or not _all_graded(by_machine, hits, measure):
            left_out += 1
        elif _in_full(by_people, hits, measure, seen.get(query.id, set())):
            judged.append(row)
        else:
            others.append(row)
    said_there = people.values[judged, column]
    said_everywhere = machine.values[judged + others, column]
    nothing = int(np.isnan(said_there).sum())
    figure = MachineFigure(
        measure=str(measure),
        judged=len(judged),
        queries=len(judged) + len(others),
        left_out=left_out,
        nothing_relevant=nothing,
    )
    if len(judged) - nothing < MIN_QUERIES:
        return _EstimatedMeasure(
            msgspec.structs.replace(
                figure, why=why_not_estimated(figure.judged, figure.nothing_relevant)
            ),
            judged,
            others,
            1.0,
        )
    there, elsewhere = np.split(np.nan_to_num(said_everywhere), [len(judged)])
    figure = _with_estimate(figure, said_there, said_everywhere)
    return _EstimatedMeasure(figure, judged, others, chance_of_shift(there, elsewhere))


def _all_graded(grades: Mapping[str, int], hits: Sequence[str], measure: Measure) -> bool:
    """Whether every hit that the measure looks at is graded."""
    for doc_id in hits[: measure.cutoff]:
        grade = grades.get(doc_id)
        if grade is None:
            return False
        if measure.name in TO_THE_FIRST and grade >= measure.param("rel"):
            return True
    return True


def _in_full(
    grades: Mapping[str, int], hits: Sequence[str], measure: Measure, judged_ids: set[str]
) -> bool:
    if not grades or not _all_graded(grades, hits, measure):
        return False
    return measure.name in WITHOUT_IDEAL or judged_ids <= grades.keys()


def _with_estimate(figure: MachineFigure, people: Floats, machine: Floats) -> MachineFigure:
    """`machine` is on all queries, the judged ones first."""
    given = people[None], machine[None]
    found = estimate(*given)
    says = machine[~np.isnan(machine)]
    return msgspec.structs.replace(
        figure,
        value=float(found.value[0]),
        interval=_bounds(found),
        these_queries=_bounds(estimate(*given, finite=True)),
        weight=float(found.weight[0]),
        people=float(found.people[0]),
        people_interval=(float(found.people_low[0]), float(found.people_high[0])),
        machine=float(says.mean()) if len(says) else 0.0,
    )


def _bounds(estimates: Estimates) -> Interval:
    return float(estimates.low[0]), float(estimates.high[0])


# ── is it a random part? ──────────────────────────────────────────────────────────────────────────


def _sampling_doubts(
    queries: Sequence[Query], figures: Mapping[str, _EstimatedMeasure]
) -> Iterator[Doubt]:
    """Signs that the judged queries were not drawn at random."""
    known = [each for each in figures.values() if each.figure.value is not None and each.others]
    if not known:
        return
    for each in known:
        if each.chance < UNLIKELY / len(known):
            yield Doubt(chance=each.chance, measure=each.figure.measure)
    widest = max(known, key=lambda each: len(each.judged))
    rows = [*widest.judged, *widest.others]
    groups = [(kind, name) for kind in ("topic", "type") for name in _names(queries, kind)]
    for kind, name in groups:
        group = {row for row in rows if getattr(queries[row], kind) == name}
        judged = len(group & set(widest.judged))
        chance = chance_of_imbalance(judged, len(widest.judged), len(group), len(rows))
        if chance < UNLIKELY / len(groups):
            yield Doubt(chance=chance, kind=kind, name=name, judged=judged, queries=len(group))


def _names(queries: Iterable[Query], kind: str) -> list[str]:
    names = list(dict.fromkeys(name for query in queries if (name := getattr(query, kind))))
    return names if len(names) > 1 else []


# ── whether an engine searches the documents of a set ─────────────────────────────────────────────


# documents of a set that are looked up in each corpus: enough to find the corpus (taste)
LOOKED_UP_DOCUMENTS = 200


def refuse_other_documents(
    engine: EngineConfig, gold: GoldSet, dataset: Path, home: Path | None = None
) -> None:
    """Before a run, refuse an engine of ours whose corpus has no document that the set names, and
    no place that its questions expect. It is not known what other engines search."""
    corpora = _searched_corpora(engine, home)
    if not corpora:
        return
    named = _documents_of_set(gold, dataset)
    if named:
        if _any_in(named, corpora):
            return
    else:
        from assay.workbench.scoring.golden import expects_place_in

        if expects_place_in(gold, corpora):
            return
    name, where = engine.name or engine.engine, " and ".join(corpus.name for corpus in corpora)
    right = " or ".join(corpus.name for corpus in _corpora_holding(named, home))
    what = f"document that {gold.name} names" if named else f"place that {gold.name} expects"
    raise Declined(
        "engine_elsewhere",
        f"{name} searches {where}, and no {what} is there",
        hint=f"Choose an engine on {right}." if right else "Choose an engine on its documents.",
        gold=gold.name,
        engine=name,
        where=where,
    )


def check_documents_known(results: GradedResults, gold: GoldSet, dataset: Path) -> Iterator[str]:
    """After a run, refuse one that returned no document of the set, where the corpus of the set is
    in the workspace and has none of them either; otherwise warn."""
    found = {doc_id for entry in results.per_query for doc_id in entry.results}
    named = _documents_of_set(gold, dataset)
    if not found or not named or found & named:
        return
    corpora = _corpora_holding(named)
    if not corpora:
        yield warning("other_documents", engine=results.engine, gold=gold.name)
    elif not _any_in(found, corpora):
        where = " and ".join(corpus.name for corpus in corpora)
        raise InputError(
            f"{results.engine} returned no document of {gold.name} or of {where}, "
            "where the documents of the set are: nothing was measured",
            hint="Check which corpus the engine searches and which ids it uses.",
        )


def _documents_of_set(gold: GoldSet, dataset: Path) -> set[str]:
    """The documents of a set: those with a label, and those in its pool."""
    from assay.judging.pool import read_pool

    pool = read_pool(dataset)
    pooled = (pair.doc_id for pair in pool.pairs) if pool is not None else ()
    return {*gold.judgments["doc_id"].unique(), *pooled}


def _searched_corpora(engine: EngineConfig, home: Path | None) -> list[Corpus]:
    """The corpora that an engine of ours searches; none where one of them is not known."""
    found: dict[str, Corpus] = {}
    for part in engine.routes.values() or [engine]:
        name = (part.corpus if part.engine in BASELINES else part.engine) or ""
        if not name:
            return []
        from assay.corpus.lookup import corpus_named, is_corpus

        if not is_corpus(name, home):
            return []
        found[name] = corpus_named(name, home)
    return list(found.values())


def _corpora_holding(named: Collection[str], home: Path | None = None) -> list[Corpus]:
    """The corpora of the workspace that have documents of a set."""
    from assay.corpus.disk import list_corpora
    from assay.corpus.lookup import corpus_named

    some = sorted(named)[:LOOKED_UP_DOCUMENTS]
    opened = (corpus_named(name, home) for name in list_corpora(home))
    return [corpus for corpus in opened if _any_in(some, [corpus])]


def _any_in(documents: Iterable[str], corpora: Collection[Corpus]) -> bool:
    return any(doc_id in corpus for doc_id in documents for corpus in corpora)

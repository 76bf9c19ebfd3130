"""Scoring graded sets: the measures of a run over the grades that people gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from assay.core.errors import InputError, UsageError
from assay.core.results import GradedResults, Results
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Run
from assay.evaluation.graded import graded_results
from assay.evaluation.judged import UNJUDGED_QUERY, Looked, look_up, prepare
from assay.evaluation.loose_ids import near_misses, with_judged_ids
from assay.evaluation.measures import is_handed, parse_measure, parse_measures
from assay.evaluation.receipts import measure_lines
from assay.gold.rows import log_path
from assay.reports.wording import run_warnings, warning
from assay.workbench.scoring.request import (
    DEFAULT_TOP_K,
    Progress,
    Say,
    Scored,
    ScoreRequest,
    ask_engine_of,
    no_common_queries,
    sign_results,
    signature_of,
)
from assay.workbench.scoring.rubric_settings import measures_of_set, rubric_warnings


def score_graded(gold: GoldSet, request: ScoreRequest, progress: Progress, say: Say) -> Scored:
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
    return Scored(results=results, warnings=warnings, failed=counts["n_failed"])


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
    keep = _kept(request, measures)
    graded = graded_results(run, gold, measures, prepared=prepared, keep=keep)
    if request.with_machine_judgments:
        from assay.workbench.scoring.machine_estimate import with_machine_estimate

        graded = with_machine_estimate(graded, run, gold, request.dataset)
    return run, graded


def _kept(request: ScoreRequest, measures: Sequence[str]) -> int | None:
    """How many hits of a query the results keep; None for all."""
    if request.hits == "all":
        return None
    return request.hits or max(DEFAULT_TOP_K, _deepest(measures))


def _deepest(measures: Sequence[str]) -> int:
    return max((measure.cutoff or 0 for measure in parse_measures(measures)), default=0)


def _graded_run(
    gold: GoldSet, request: ScoreRequest, measures: Sequence[str], progress: Progress, say: Say
) -> Looked:
    if request.run is not None:
        # machine votes are on documents that need not be judged: they are looked for in all hits
        # and a measure that is not ours needs the whole run
        needs_all = request.with_machine_judgments or any(
            is_handed(measure) for measure in parse_measures(measures)
        )
        keep = None if needs_all or request.loose_ids else _kept(request, measures)
        looked = look_up(request.run, gold, keep=keep)
        return _with_judged_ids(looked.run, gold) if request.loose_ids else looked
    deepest = _deepest(measures)
    depth = request.top_k or max(DEFAULT_TOP_K, deepest)
    if depth < deepest:
        say(f"warning: the engine is asked for {depth} hits, and a measure looks at {deepest}")
    name, answers = ask_engine_of(request, gold, depth, progress, say)
    run = run_from_results(name, answers, top_k=depth)
    return _with_judged_ids(run, gold) if request.loose_ids else Looked(run, prepare(run, gold))


def _with_judged_ids(run: Run, gold: GoldSet) -> Looked:
    named = with_judged_ids(run, gold)
    return Looked(named, prepare(named, gold))


def _near_miss_warnings(results: GradedResults, gold: GoldSet) -> Iterable[str]:
    """Results that would be judged if their ids were written as in the gold set."""
    if accepted := results.receipt.counts.get("loose_ids"):
        yield warning("loose_ids", n=accepted)
    missed = list(near_misses(results, gold))
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
        command = f"assay gold pool {request.dataset} {_asked_again(request)}"
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
    from assay.workbench.scoring.engine_fit import check_documents_known

    return check_documents_known(results, gold, dataset)


def _asked_again(request: ScoreRequest) -> str:
    """The same engine or run, as options."""
    named = {
        "--engine": request.engine,
        "--search-module": request.search_module,
        "--run": request.run,
        "--corpus": request.corpus,
    }
    return " ".join(f"{option} {value}" for option, value in named.items() if value)

"""Score a run against a graded gold set: every value, the means by slice with their intervals, and
the receipt.

A mean is over the queries that have a value: one that the run lacks scores 0, one whose call failed
or that has no relevant document is left out and says why. Beside each mean stand its interval (see
`statistics`) and what the unjudged hits could do to it (see `unjudged`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from assay.core import cluster
from assay.core.results import (
    SLICE_KINDS,
    Bounds,
    GradedEntry,
    GradedReceipt,
    GradedResults,
    Intervals,
    Metrics,
    SliceCounts,
)
from assay.core.types import ASKED_BY_NEXT, GoldSet, Query, Run, ScoreSheet, Slice
from assay.evaluation import statistics
from assay.evaluation.judged_hits import (
    JoinedRun,
    Qrels,
    Scored,
    gold_from_dict,
    join_run,
    pack,
)
from assay.evaluation.measures import (
    BINARY_SUITE,
    GRADED_SUITE,
    MEASURES,
    JudgedHits,
    Measure,
    external_values,
    is_external,
    is_summed,
    parse_measures,
    suite_of,
)
from assay.evaluation.receipts import (
    CLOSED_POLICY,
    MISSING_POLICY,
    TIE_POLICY,
    UNJUDGED_POLICY,
    gold_card,
    is_closed,
    latency,
    measure_lines,
)
from assay.evaluation.unjudged import unjudged_bounds

FAILED = "failed: "  # how the reason of a failed call begins

Floats = np.ndarray[Any, np.dtype[np.float64]]


def evaluate(
    run: Run | Scored, gold: GoldSet | Qrels, measures: Iterable[str | Measure]
) -> ScoreSheet:
    """Score a run against a gold set; `assay.evaluate` tells what may be given and what comes."""
    wanted = parse_measures(str(measure) for measure in measures)
    return score_sheet(join_run(run, gold), wanted, _external_values(run, gold, wanted))


def _external_values(
    run: Run | Scored, gold: GoldSet | Qrels, wanted: Sequence[Measure]
) -> dict[str, Floats]:
    """The values of measures that are not ours, which need the whole run."""
    theirs = [str(measure) for measure in wanted if is_external(measure)]
    if not theirs:
        return {}
    gold_set = gold if isinstance(gold, GoldSet) else gold_from_dict(gold)
    return external_values(run, gold_set, theirs)


def score_sheet(
    prepared: JoinedRun, wanted: Sequence[Measure], outside: Mapping[str, Floats] = {}
) -> ScoreSheet:
    """Every value of every query, from judged hits; `outside` has those of measures that are not
    ours."""
    values = np.full((len(prepared.queries), len(wanted)), np.nan)
    for column, measure in enumerate(wanted):
        if str(measure) in outside:
            values[:, column] = outside[str(measure)]
    own = [each for each in enumerate(wanted) if str(each[1]) not in outside]
    columns = np.array([column for column, _ in own], np.int64)
    measures = [measure for _, measure in own]
    if measures:
        for rows, computed in cluster.map_on_cluster(compute_measures, pack(prepared), measures):
            values[np.ix_(rows, columns)] = computed
    values[~prepared.scorable] = np.nan
    return ScoreSheet(
        measures=tuple(map(str, wanted)),
        queries=prepared.queries,
        values=values,
        judged=_judged_at_10(prepared),
        reasons=prepared.reasons,
        slices=slices_of(prepared.queries, tuple(map(str, wanted)), values),
        counts=prepared.counts,
    )


def compute_measures(hits: JudgedHits, wanted: Sequence[Measure]) -> Floats:
    """Every measure of the queries of one block, here or on a worker."""
    return np.stack([MEASURES[each.name].compute(hits, each) for each in wanted], axis=1)


def default_measures(gold: GoldSet, relevant: int = 1, high: int = 2) -> tuple[str, ...]:
    """The graded suite where grades reach 2, the binary one where a document is right or not. A
    rubric may say from which grade on a document is `relevant`, and from which an answer."""
    if (relevant, high) == (1, 2):
        return GRADED_SUITE if gold.max_grade >= 2 else BINARY_SUITE
    return suite_of(relevant, high, graded=max(gold.max_grade, high) >= 2)


def _judged_at_10(prepared: JoinedRun) -> Floats:
    in_top = prepared.hit_query[prepared.hit_rank <= 10]
    judged = np.bincount(in_top, minlength=len(prepared.queries))
    looked_at = np.minimum(prepared.returned, 10).astype(np.float64)
    return np.where(looked_at > 0, judged / np.maximum(looked_at, 1), np.nan)


# ── slices ────────────────────────────────────────────────────────────────────────────────────────


def slices_of(
    queries: Sequence[Query], names: tuple[str, ...], values: Floats
) -> tuple[Slice, ...]:
    """Means overall and by every attribute the queries carry. Queries without a value are left out
    and not counted."""
    scored = ~np.isnan(values).all(axis=1) if values.size else np.zeros(len(queries), bool)
    slices = [_slice_of("overall", "", names, values[scored])]
    for kind in SLICE_KINDS:
        found = _slice_labels(queries, kind)
        if not any(found):
            continue
        labels = np.array(found, dtype=object)
        for label in dict.fromkeys(label for label in found if label):
            slices.append(_slice_of(kind, label, names, values[scored & (labels == label)]))
    return tuple(slices)


def _slice_labels(queries: Sequence[Query], kind: str) -> list[str]:
    if kind == "practice_area":
        return [_practice_area(query) for query in queries]
    return list(map(attrgetter(kind), queries))


def _practice_area(query: Query) -> str:
    """Of a set from logs it is the topic."""
    return str(query.extra.get("practice_area") or "")


def _slice_of(kind: str, name: str, measures: tuple[str, ...], values: Floats) -> Slice:
    n = len(values)
    means = values.mean(axis=0).tolist() if n else [None] * len(measures)
    for column, measure in enumerate(measures):
        if n and is_summed(measure):
            means[column] = float(values[:, column].sum())
    return Slice(kind=kind, name=name, n=n, means=dict(zip(measures, means, strict=True)))


# ── the results ───────────────────────────────────────────────────────────────────────────────────


def graded_results(
    run: Run,
    gold: GoldSet,
    measures: Sequence[str],
    *,
    prepared: JoinedRun | None = None,
    keep: int | None = None,
    worst_case: bool = False,
) -> GradedResults:
    """The scorecard, every query with its ranked ids and grades, and the receipt. When and where it
    was scored is for the caller to add.

    `keep` is how many hits of a query stay in the results, None for all. Who has joined the run
    with the gold set already gives what came of it as `prepared`; the run then needs no more hits
    than are kept. `worst_case` takes Gaffke's bound for the intervals."""
    with ThreadPoolExecutor(max_workers=1) as beside:
        card = beside.submit(gold_card, gold)  # hashes every judgment
        prepared = prepared or join_run(run, gold)
        wanted = parse_measures(measures)
        sheet = score_sheet(prepared, wanted, _external_values(run, gold, wanted))
        lines = measure_lines(sheet.measures)
        keys = {line.measure: line.key for line in lines}
        closed = is_closed(gold)
        unjudged = {} if closed else unjudged_bounds(prepared, measures)
        entries = list(_entries(sheet, prepared, top_of_run(run, keep), gold, keys))
        means = _intervals(sheet, keys, gold, worst_case)
    kinds = dict.fromkeys(("type", "topic", *(each.kind for each in sheet.slices[1:])))
    receipt = GradedReceipt(
        measures=lines,
        ties=TIE_POLICY[run.order],
        unjudged_policy=CLOSED_POLICY if closed else UNJUDGED_POLICY,
        missing_policy=MISSING_POLICY,
        unjudged=unjudged,
        n=_result_counts(sheet, gold),
        counts=dict(sheet.counts),
        latency_ms=latency(run),
        top_k=run.environment.get("top_k"),
        kept_hits=_hits_kept(run, prepared, keep),
        gold=card.result(),
        corpus_fingerprint=run.environment.get("corpus_fingerprint"),
    )
    return GradedResults(
        timestamp="",
        engine=run.engine,
        overall=_by_key(sheet.overall, keys),
        slices={
            gold.slice_name(kind): {
                name: _by_key(each, keys) for name, each in sheet.by(kind).items()
            }
            for kind in kinds
        },
        per_query=entries,
        receipt=receipt,
        intervals=means,
        worst_case=worst_case,
    )


def _by_key(part: Slice, keys: Mapping[str, str]) -> Metrics:
    return {keys[measure]: mean for measure, mean in part.means.items()}


def _result_counts(sheet: ScoreSheet, gold: GoldSet) -> SliceCounts:
    kinds = dict.fromkeys(each.kind for each in sheet.slices[1:])
    slices = {
        gold.slice_name(kind): {name: each.n for name, each in sheet.by(kind).items()}
        for kind in kinds
    }
    return SliceCounts(overall=sheet.overall.n, slices=slices)


def _intervals(
    sheet: ScoreSheet, keys: Mapping[str, str], gold: GoldSet, worst_case: bool
) -> Intervals:
    """The 95% interval of every mean, overall and by slice."""
    overall: dict[str, Bounds] = {}
    slices: dict[str, dict[str, dict[str, Bounds]]] = {}
    scored = ~np.isnan(sheet.values).any(axis=1)
    for each in sheet.slices:
        values = sheet.values[scored & _rows_of(sheet, each)]
        found = statistics.mean_intervals(values, worst_case=worst_case)
        bounds: dict[str, Bounds] = {
            keys[measure]: (None, None) if is_summed(measure) else (interval.low, interval.high)
            for measure, interval in zip(sheet.measures, found, strict=True)
        }
        if each.kind == "overall":
            overall = bounds
        else:
            slices.setdefault(gold.slice_name(each.kind), {})[each.name] = bounds
    return Intervals(overall=overall, slices=slices)


def _rows_of(sheet: ScoreSheet, part: Slice) -> Any:
    if part.kind == "overall":
        return np.ones(len(sheet.queries), bool)
    return np.array([label == part.name for label in _slice_labels(sheet.queries, part.kind)], bool)


def _entries(
    sheet: ScoreSheet, prepared: JoinedRun, run: Run, gold: GoldSet, keys: Mapping[str, str]
) -> Iterator[GradedEntry]:
    """One entry a query. Long columns become lists in one go, and are cut by query here."""
    results, begins = run.hits["doc_id"].to_list(), run.offsets.tolist()
    grades = _grades_of_hits(prepared, run)
    judged = prepared.gold_grade.tolist()
    best = np.searchsorted(prepared.gold_query, np.arange(len(prepared.queries) + 1)).tolist()
    asked = _judged_on_request(gold)
    millis = run.queries["millis"].to_list() if "millis" in run.queries.columns else None
    values = sheet.values.tolist()
    names = [keys[measure] for measure in sheet.measures]
    for row, query in enumerate(sheet.queries):
        reason = sheet.reasons[row]
        at = run.rows_by_query.get(query.id)
        hits = slice(begins[at], begins[at + 1]) if at is not None else slice(0)
        yield GradedEntry(
            query_id=query.id,
            query_text=query.text,
            query_type=query.type,
            query_topic=query.topic,
            query_wording=query.wording,
            query_category=query.category,
            query_corpus=query.corpus,
            query_language=query.language,
            query_practice_area=query.topic if gold.from_logs else _practice_area(query) or None,
            num_results=int(prepared.returned[row]),
            results=results[hits],
            metrics={
                name: None if value != value else value
                for name, value in zip(names, values[row], strict=True)
            },
            grades=grades[hits],
            known_grades=judged[best[row] : best[row + 1]],
            judged_on_request=[doc_id for doc_id in results[hits] if (query.id, doc_id) in asked]
            if asked
            else [],
            reason=reason,
            latency_ms=millis[at] if millis is not None and at is not None else None,
            error=reason.removeprefix(FAILED) if reason.startswith(FAILED) else None,
        )


def _hits_kept(run: Run, prepared: JoinedRun, keep: int | None) -> int | None:
    """None where every hit is kept; saved results may have been cut before."""
    if keep and prepared.returned.max(initial=0) > keep:
        return keep
    before: int | None = run.environment.get("kept_hits")
    return before


def top_of_run(run: Run, keep: int | None) -> Run:
    """The run with the top hits of every query, or with all."""
    lengths = np.diff(run.offsets)
    if keep is None or lengths.max(initial=0) <= keep:
        return run
    kept = np.minimum(lengths, keep)
    rows = np.repeat(run.offsets[:-1] - (np.cumsum(kept) - kept), kept) + np.arange(kept.sum())
    return replace(run, queries=run.queries.with_columns(n=kept), hits=run.hits[rows])


def _grades_of_hits(prepared: JoinedRun, run: Run) -> list[int | None]:
    """The grade of every hit of the run, None where it is not judged."""
    rows = run.rows_by_query
    begins = np.array([run.offsets[rows.get(query.id, -1)] for query in prepared.queries], np.int64)
    lengths = np.append(np.diff(run.offsets), 0)
    shown = np.array([lengths[rows.get(query.id, -1)] for query in prepared.queries], np.int64)
    inside = prepared.hit_rank <= shown[prepared.hit_query]
    at = begins[prepared.hit_query[inside]] + prepared.hit_rank[inside] - 1
    grades: list[int | None] = [None] * run.hits.height
    for place, grade in zip(at.tolist(), prepared.hit_grade[inside].tolist(), strict=True):
        grades[place] = grade
    return grades


def _judged_on_request(gold: GoldSet) -> set[tuple[str, str]]:
    """The pairs judged because `gold next` asked for them."""
    if "source" not in gold.judgments.columns:
        return set()
    sources = gold.judgments["source"].str.split(", ")  # of all the votes behind a label
    asked = gold.judgments.filter(sources.list.contains(ASKED_BY_NEXT))
    return set(asked.select("query_id", "doc_id").iter_rows())

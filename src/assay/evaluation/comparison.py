"""Is B better than A? Paired differences by query, tests with correction, and what moved.

Works on results objects (what `assay score` writes), so that a run of last year can be compared
with one of today."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from assay.core.errors import InputError
from assay.core.results import (
    Bounds,
    Entry,
    GoldenEntry,
    GoldenResults,
    GradedEntry,
    GradedResults,
    Receipt,
    Results,
    is_variant,
    standing_line,
)
from assay.core.types import counted
from assay.evaluation import statistics
from assay.evaluation.differences import (
    ALPHA,
    RANKS,
    Comparison,
    Difference,
    Equivalence,
    Found,
    Moved,
)
from assay.evaluation.doubts import SURE, Doubt, Rule, doubt_about, is_closed
from assay.evaluation.family import Held, family
from assay.evaluation.measures import Integers
from assay.evaluation.states import State, in_one_state
from assay.evaluation.unjudged import could_overturn, unscored

__all__ = ["ALPHA", "TIE", "Comparison", "Difference", "Moved", "compare", "incomparable"]

EXACT_ENOUGH = 200  # queries, above which the t test stands for the randomization test in draws
MOVED = 10  # how many of the queries that moved most are shown
STILL = 0.2  # the chance that judging shows a difference, up to which none is said to be shown
TIE = 1e-9  # a difference no larger than this is a tie


def compare(
    results: Sequence[Results],
    names: Sequence[str],
    *,
    force: bool = False,
    primary: str = "",
    equivalence: float | None = None,
    held: Held | None = None,
) -> Comparison:
    """Compare each of the results with the first. Raises InputError on other gold sets or corpora
    unless forced. `primary` is the measure that decides: what the results name, else nDCG@10, or
    else the first; the others inform. `equivalence` is a margin: what is shown to lie within it, or
    no worse, is said. All pairs are one family, whether they are shown or not; `held` is what a
    pair of a larger family is held to. Perturbed questions beside their parents are in `variants`
    alone."""
    warnings = _incomparable(results, names)
    if warnings and not force:
        raise InputError(
            warnings[0], hint="Score both on the same gold set. To compare anyway, give --force."
        )
    results, state = in_one_state(results)
    measures = _shared_measures(results)
    headline = _primary(primary or _named_primary(results), measures)
    if equivalence is not None and not 0 < equivalence < 1:
        raise InputError(f"a margin lies between 0 and 1, not {equivalence:g}")
    base, rows = results[0], list[Difference]()
    apart: list[Difference] = []
    moved: list[Moved] = []
    changes: dict[str, tuple[_Pair, dict[str, float]]] = {}
    column = list(measures).index(headline)
    together = {(0, 1): held} if held else family(deciding_values(results, headline))
    for place, (other, name) in enumerate(zip(results[1:], names[1:], strict=True), start=1):
        pair = _Pair(name=name, base=base, other=other, measures=measures, held=together[0, place])
        both = _common(pair, names[0], warnings)
        rows += [*_differences(pair, both), *_beside(pair)]
        moved += _moved(pair, both, column)
        moves = (both.right - both.left)[:, column].tolist()
        changes[name] = pair, dict(zip(both.ids, moves, strict=True))
        varied = _paired(_variant_means(base, measures), _variant_means(other, measures))
        apart += _differences(pair, varied) if varied.ids else []
    return Comparison(
        baseline=names[0],
        systems=list(names[1:]),
        headline=measures[headline],
        differences=[
            _in_state(_decided(row, equivalence, *changes[row.system]), state)
            if row.key == headline
            else _within(row, equivalence)
            for row in _corrected(rows)
        ],
        tests=len(together),
        gold_changed=state,
        moved=moved,
        warnings=warnings,
        gold_status=_gold_status(results),
        variants=_corrected(apart),
        margin=equivalence,
    )


def _common(pair: _Pair, first: str, warnings: list[str]) -> _Values:
    """The queries that both have scored; a warning says where that is not all of them."""
    both = _paired(_values(pair.base, pair.measures), _values(pair.other, pair.measures))
    if not both.ids:
        message = f"{first} and {pair.name} have no scored query in common"
        raise _nothing_in_common(pair.base, message)
    if len(both.ids) < max(len(_questions(pair.base)), len(_questions(pair.other))):
        said = f"compared on {counted(len(both.ids), 'query')} that both have scored"
        warnings.append(f"{pair.name}: {said}{unscored(pair.base)}")
    return both


# ── what can be compared ──────────────────────────────────────────────────────────────────────────


def incomparable(first: Receipt, second: Receipt) -> list[str]:
    """Which fingerprints of two receipts differ, in words. Corpora are compared where both are
    files, or both are corpora of the workspace: the same documents have another fingerprint as a
    file."""
    differing = []
    golds = [receipt.gold.fingerprint for receipt in (first, second)]
    if golds[0] != golds[1]:
        differing.append(
            f"scored on different gold sets (fingerprint {golds[0][:12]} and {golds[1][:12]})"
        )
    corpora = [receipt.corpus_fingerprint or "" for receipt in (first, second)]
    kinds = {
        fingerprint.partition(":")[0] if ":" in fingerprint else "file" for fingerprint in corpora
    }
    if all(corpora) and len(kinds) == 1 and corpora[0] != corpora[1]:
        shown = [fingerprint.rpartition(":")[2][:12] for fingerprint in corpora]
        differing.append(f"searched different corpora (fingerprint {shown[0]} and {shown[1]})")
    return differing


def _incomparable(results: Sequence[Results], names: Sequence[str]) -> list[str]:
    return [
        f"{names[0]} and {name}: {difference}"
        for other, name in zip(results[1:], names[1:], strict=True)
        for difference in incomparable(results[0].receipt, other.receipt)
    ]


def _gold_status(results: Sequence[Results]) -> str:
    lines = [standing_line(each.receipt.gold) for each in results]
    return "; ".join(dict.fromkeys(filter(None, lines)))


def _shared_measures(results: Sequence[Results]) -> dict[str, str]:
    """{result key: measure} of the measures that all results have."""
    tables = [{line.key: line.measure for line in each.receipt.measures} for each in results]
    shared = {
        key: measure
        for key, measure in tables[0].items()
        if all(table.get(key) == measure for table in tables[1:])
    }
    if not shared:
        raise InputError("the results have no measure in common")
    return shared


# ── the values, side by side ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Two results, the measures of both ({key: measure}), and what the second is called."""

    name: str
    base: Results
    other: Results
    measures: Mapping[str, str]
    held: Held


@dataclass(frozen=True, kw_only=True)
class _Values:
    """The values of the queries that both have scored, one row a query, in the same order."""

    ids: list[str]
    left: statistics.Floats
    right: statistics.Floats


def _questions(results: Results) -> list[Entry]:
    """The queries without perturbed variants of others among them."""
    known = {entry.query_id for entry in results.per_query}
    return [entry for entry in results.per_query if not is_variant(entry, known)]


def _nothing_in_common(base: Results, message: str) -> InputError:
    if base.receipt.gold.judgments or not isinstance(base, GradedResults):
        return InputError(message)
    return InputError(
        f"{message}: nothing is judged yet",
        hint="Have what they put on top judged: assay gold pool DATASET --run A.json --run B.json",
    )


def _values(results: Results, keys: Mapping[str, str]) -> dict[str, list[float]]:
    """The values of every query that has all of them."""
    return {
        entry.query_id: values
        for entry in _questions(results)
        if (values := _scored(entry, keys)) is not None
    }


def _variant_means(results: Results, keys: Mapping[str, str]) -> dict[str, list[float]]:
    """By question the means over its variants: variants of one question are not independent."""
    known = {entry.query_id for entry in results.per_query}
    groups: dict[str, list[list[float]]] = {}
    for entry in results.per_query:
        if is_variant(entry, known) and (values := _scored(entry, keys)) is not None:
            groups.setdefault(entry.parent, []).append(values)
    return {
        parent: [fmean(column) for column in zip(*group, strict=True)]
        for parent, group in groups.items()
    }


def _scored(entry: Entry, keys: Mapping[str, str]) -> list[float] | None:
    values = [entry.metrics.get(key) for key in keys]
    return None if None in values else [float(value) for value in values if value is not None]


def _paired(base: Mapping[str, list[float]], other: Mapping[str, list[float]]) -> _Values:
    ids = [query_id for query_id in base if query_id in other]
    left, right = (
        np.array([table[query_id] for query_id in ids], np.float64) for table in (base, other)
    )
    return _Values(ids=ids, left=left, right=right)


# ── differences ───────────────────────────────────────────────────────────────────────────────────


def _differences(pair: _Pair, values: _Values) -> list[Difference]:
    moves = values.right - values.left
    intervals = statistics.change_intervals(moves)
    tests = (
        statistics.randomization_test(moves),
        statistics.t_test(moves),
        statistics.wilcoxon_test(moves),
    )
    effects = statistics.effect_size(moves)
    detectable = statistics.detectable_difference(moves, alpha=ALPHA / pair.held.tests)
    inner = statistics.change_intervals(moves, level=1 - 2 * ALPHA)
    return [
        Difference(
            system=pair.name,
            measure=measure,
            key=key,
            n=len(moves),
            baseline=float(values.left[:, i].mean()),
            value=float(values.right[:, i].mean()),
            difference=float(moves[:, i].mean()),
            low=intervals[i].low,
            high=intervals[i].high,
            inner=(inner[i].low, inner[i].high),
            p_randomization=float(tests[0][i]),
            p_t=float(tests[1][i]),
            p_wilcoxon=float(tests[2][i]),
            p_holm=1.0,
            p_bh=1.0,
            effect_size=float(effects[i]) if np.isfinite(effects[i]) else None,
            detectable=float(detectable[i]) if 1e-12 < detectable[i] < np.inf else None,
            wins=int((moves[:, i] > TIE).sum()),
            ties=int((np.abs(moves[:, i]) <= TIE).sum()),
            losses=int((moves[:, i] < -TIE).sum()),
            could_flip=_could_flip(pair, measure, values.ids, float(moves[:, i].mean())),
            residuals=_residuals(pair, measure),
        )
        for i, (key, measure) in enumerate(pair.measures.items())
    ]


def _beside(pair: _Pair) -> Iterator[Difference]:
    """What a pass does not show: whether the first hit is right, and how high the first right one
    stands. Each over the questions that have it."""
    if not isinstance(pair.base, GoldenResults) or not isinstance(pair.other, GoldenResults):
        return
    for key, (measure, value) in GOLDEN.items():
        tables = (
            {
                entry.query_id: [found]
                for entry in _questions(each)
                if isinstance(entry, GoldenEntry) and (found := value(entry)) is not None
            }
            for each in (pair.base, pair.other)
        )
        both = _paired(*tables)
        if both.ids:
            yield from _differences(replace(pair, measures={key: measure}), both)


def _first_hit(entry: GoldenEntry) -> float | None:
    return float(entry.first_rank == 1) if entry.expected_any and entry.error is None else None


GOLDEN: dict[str, tuple[str, Callable[[GoldenEntry], float | None]]] = {
    "top1_rate": ("first hit right", _first_hit),
    "mrr_at_k": ("MRR@k", lambda entry: entry.metrics.get("mrr_at_k")),
}


def _could_flip(pair: _Pair, measure: str, ids: Sequence[str], lead: float) -> bool:
    """Whether grades of unjudged documents could turn the difference around, over the queries
    compared. Questions of a golden set pass or fail, whatever is judged."""
    if not isinstance(pair.base, GradedResults) or not isinstance(pair.other, GradedResults):
        return False
    before, after = (_in_order(each.per_query, ids) for each in (pair.base, pair.other))
    if lead > 0:
        return could_overturn(measure, after, before, lead)
    return could_overturn(measure, before, after, -lead)


def _in_order(entries: Sequence[GradedEntry], ids: Sequence[str]) -> list[GradedEntry]:
    by_id = {entry.query_id: entry for entry in entries}
    return [by_id[query_id] for query_id in ids]


def _residuals(pair: _Pair, measure: str) -> tuple[float, float] | None:
    """RBP alone: what is unknown, of both."""
    residuals = [
        bounds.residual
        for each in (pair.base, pair.other)
        if isinstance(each, GradedResults)
        and (bounds := each.receipt.unjudged.get(measure)) is not None
        and bounds.residual is not None
    ]
    return (residuals[0], residuals[1]) if len(residuals) == 2 else None


def _corrected(rows: list[Difference]) -> list[Difference]:
    """What informs is corrected over every measure and system: asking more questions raises the bar
    for each. The measure that decides alone is held to the family of pairs, in `_decided`."""
    p_values = [row.p_randomization for row in rows]
    by_holm, by_bh = statistics.holm(p_values), statistics.benjamini_hochberg(p_values)
    return [
        replace(row, p_holm=by_holm[index], p_bh=by_bh[index]) for index, row in enumerate(rows)
    ]


def deciding_values(results: Sequence[Results], primary: str) -> list[dict[str, float]]:
    """By system the values of the measure that decides, {query id: value}."""
    measures = _shared_measures(results)
    column = list(measures).index(_primary(primary, measures))
    return [
        {query_id: values[column] for query_id, values in _values(each, measures).items()}
        for each in results
    ]


def _named_primary(results: Sequence[Results]) -> str:
    """The measure that the newest of the results names."""
    named = [each.receipt.primary for each in results if isinstance(each, GradedResults)]
    return next(filter(None, reversed(named)), "")


def _primary(wanted: str, measures: Mapping[str, str]) -> str:
    """The key of the measure that decides, which may be named by key or in any spelling."""
    if not wanted:
        return "ndcg@10" if "ndcg@10" in measures else next(iter(measures))
    known = {key.casefold(): key for key in measures}
    known |= {measure.casefold(): key for key, measure in measures.items()}
    if wanted.casefold() not in known:
        raise InputError(
            f"the results do not all have the measure {wanted}",
            hint=f"They have {', '.join(measures.values())}.",
        )
    return known[wanted.casefold()]


def _decided(
    row: Difference, margin: float | None, pair: _Pair, moves: Mapping[str, float]
) -> Difference:
    """With the verdict: what the corrected test says, unless unjudged documents could turn it; and
    the same of the margin."""
    row = replace(_within(row, margin), p_holm=pair.held.p_holm)
    now = int(np.sign(row.difference)) if row.p_holm <= ALPHA else 0
    doubt = None
    if not (is_closed(pair.base) and is_closed(pair.other)):
        entries = (pair.base.per_query, pair.other.per_query)
        doubt = doubt_about(
            entries, row.measure, moves, _told_by_test(ALPHA / pair.held.tests), now
        )
        if margin is not None and doubt is not None and row.equivalence != "not shown":
            held = RANKS[row.equivalence or "not shown"]
            about = doubt_about(entries, row.measure, moves, _told_by_margin(margin), held)
            row = replace(row, equivalence="open") if about and about.is_open else row
    return replace(row, verdict=_verdict(now, doubt), doubt=doubt)


def _in_state(row: Difference, state: State) -> Difference:
    """Where no query is judged alike in both, nothing is said of the engines."""
    unknown = replace(row, verdict="open", equivalence=None, doubt=None)
    return unknown if state == "all" else row


def _verdict(now: int, doubt: Doubt | None) -> Found:
    """What the test says, where the unjudged leave no doubt. Where they do: better or worse, where
    the test says so now, that is the sign with 95% probability and the test is expected to show it
    then too; no difference shown, where with everything judged it stays so with 80%; and else it is
    open."""
    words: dict[int, Found] = {1: "better", -1: "worse", 0: "no difference"}
    if doubt is None:
        return words[now]
    if doubt.up is None or doubt.down is None or doubt.ahead is None:
        return "open" if doubt.is_open else words[now]
    if now > 0 and doubt.ahead >= SURE and doubt.up > 0.5:
        return "better"
    if now < 0 and doubt.ahead <= 1 - SURE and doubt.down > 0.5:
        return "worse"
    return "no difference" if not now and doubt.up + doubt.down <= STILL else "open"


def _told_by_test(alpha: float) -> Rule:
    def rule(columns: statistics.Floats) -> Integers:
        if len(columns) <= EXACT_ENOUGH:
            p = statistics.randomization_test(columns, samples=2_000)
        else:
            p = statistics.t_test(columns)
        return np.where(p <= alpha, np.sign(columns.mean(axis=0)), 0).astype(np.int64)

    return rule


def _told_by_margin(margin: float) -> Rule:
    def rule(columns: statistics.Floats) -> Integers:
        inner = statistics.change_intervals(columns, level=1 - 2 * ALPHA)
        found = [_margin_held((each.low, each.high), margin) for each in inner]
        return np.array([RANKS[each] for each in found], np.int64)

    return rule


def _within(row: Difference, margin: float | None) -> Difference:
    """Two one-sided tests (Schuirmann 1987) by the 90% interval."""
    if margin is None or None in row.inner:
        return row
    return replace(row, equivalence=_margin_held(row.inner, margin))


def _margin_held(inner: Bounds, margin: float) -> Equivalence:
    """Inside the margin on both sides the two are equivalent, on the lower side alone the system is
    no worse."""
    low, high = inner
    if low is None or high is None:
        return "not shown"
    if high < -margin:
        return "worse"
    if low <= -margin:
        return "not shown"
    return "equivalent" if high < margin else "no worse"


# ── what moved ────────────────────────────────────────────────────────────────────────────────────


def _moved(pair: _Pair, values: _Values, column: int) -> list[Moved]:
    """The queries whose value in this column moved most."""
    left, right = values.left[:, column], values.right[:, column]
    distance = np.abs(right - left)
    order = np.argsort(-distance, kind="stable")[:MOVED]
    before, after = (
        {entry.query_id: entry for entry in each.per_query} for each in (pair.base, pair.other)
    )
    return [
        _moved_query(pair.name, before[query_id], after[query_id], (left[row], right[row]))
        for row in order.tolist()
        if distance[row] > TIE
        for query_id in (values.ids[row],)
    ]


def _moved_query(system: str, before: Entry, after: Entry, values: tuple[float, float]) -> Moved:
    was, now = (
        dict(zip(entry.results[:10], entry.grades[:10], strict=True)) for entry in (before, after)
    )
    return Moved(
        system=system,
        query_id=before.query_id,
        query_text=before.query_text,
        baseline=float(values[0]),
        value=float(values[1]),
        entered=[(doc_id, grade) for doc_id, grade in now.items() if doc_id not in was],
        left=[(doc_id, grade) for doc_id, grade in was.items() if doc_id not in now],
    )

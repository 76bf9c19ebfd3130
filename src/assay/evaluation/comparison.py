"""Compare results: paired differences by query, corrected tests, and the queries that moved.

A difference is significant where its adjusted p is at most 0.05 and its sign is at least 95% sure
with the unjudged hits imputed. Else B is probably better where that is 70% sure or more:

    sure = mean over the draws of F(t),   t = mean change / standard error, n - 1 degrees of freedom

where a draw gives every unjudged hit a grade (`relevance_model`), and t is the one statistic of
`statistics`. With everything judged there is one draw, and sure = 1 - p/2 for a positive change.

Works on results objects (what `assay score` writes), so that a run of last year can be compared
with one of today."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import structs

from assay.core.errors import InputError
from assay.core.results import (
    ALPHA,
    SURE,
    Bounds,
    Entry,
    GoldenEntry,
    GoldenResults,
    GradedEntry,
    GradedResults,
    Receipt,
    Results,
    RiskyQueries,
    is_variant,
    standing_line,
)
from assay.core.types import counted
from assay.evaluation import statistics
from assay.evaluation.golden.changes import GoldDifference, with_same_judgments
from assay.evaluation.measures import Integers, parse_measure
from assay.evaluation.statistics import TIE, AdjustedTest, adjust_tests, risky_queries
from assay.evaluation.unjudged import (
    DEEPEST,
    PoolAdvice,
    could_overturn,
    pool_needed,
    unscored_reason,
)
from assay.evaluation.unjudged.verdict_stability import (
    Rule,
    Stability,
    is_closed,
    stability_of,
)

__all__ = [
    "ALPHA",
    "TIE",
    "Comparison",
    "Difference",
    "MovedQuery",
    "compare",
    "differing_fingerprints",
]

MOVES_SHOWN = 10  # how many of the queries that moved most are shown (taste)
PROBABLE = 0.7  # the sign is sure enough to be named, though not significant (decision 18)


# ── what a comparison says ────────────────────────────────────────────────────────────────────────

Equivalence = Literal["equivalent", "no worse", "worse", "not shown", "open"]
# as numbers in arrays; only a worse one is below 0
EQUIVALENCE_RANKS: dict[Equivalence, int] = {
    "equivalent": 1,
    "no worse": 2,
    "worse": -1,
    "not shown": 0,
}
# better and worse are significant; open where nothing is known about unjudged hits that decide it
ComparisonVerdict = Literal[
    "better", "worse", "probably better", "probably worse", "not significant", "open", ""
]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of one system against the baseline system, over the queries that both have.

    `p`, `low` and `high` come from one statistic; those adjusted are corrected for the tests made
    together. The measure that decides has a `verdict`, and `sure`: the probability that the mean
    change is above 0, with the unjudged hits imputed. `could_flip`: some grades of unjudged
    documents overturn the sign. `risk` says why the interval may be too narrow, and names the
    queries."""

    system: str
    measure: str
    key: str
    n: int
    baseline: float
    value: float
    difference: float
    low: float | None
    high: float | None
    p: float
    low_adjusted: float | None
    high_adjusted: float | None
    p_adjusted: float
    effect_size: float | None  # None where every query changed by the same amount
    spread: float | None  # the standard deviation of the changes; None of one query
    detectable: float | None  # the smallest change that would show; None where no query changed
    wins: int
    ties: int
    losses: int
    could_flip: bool
    inner: Bounds = (None, None)  # the 90% interval, for two one-sided tests at 5% each
    equivalence: Equivalence | None = None  # to the margin, where one is given
    residuals: tuple[float, float] | None = (
        None  # RBP: what the unknown could add, of the baseline and of the system
    )
    verdict: ComparisonVerdict = ""
    sure: float | None = None
    # None where nothing that counts is unjudged
    stability: Stability | None = msgspec.field(name="doubt", default=None)
    risk: RiskyQueries | None = None
    pool: PoolAdvice | None = None  # None where both lists are judged, or the set is closed
    p_randomization: float | None = None  # this and the next two on request
    p_wilcoxon: float | None = None
    p_bh: float | None = None


@dataclass(frozen=True, kw_only=True)
class MovedQuery:
    """A query that moved, and what entered and left its top 10, with grades."""

    system: str
    query_id: str
    query_text: str
    baseline: float
    value: float
    entered: list[tuple[str, int | None]]
    left: list[tuple[str, int | None]]


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """A system: its mean with the interval, and the letters it shares with those that it cannot be
    told from."""

    system: str
    value: float
    low: float | None
    high: float | None
    letters: str


@dataclass(frozen=True, kw_only=True)
class BoardPair:
    """Two systems: `verdict` is of the first, the one with the higher mean, and adjusted for all
    pairs."""

    system: str
    other: str
    difference: float
    low: float | None
    high: float | None
    p: float
    low_adjusted: float | None
    high_adjusted: float | None
    p_adjusted: float
    verdict: ComparisonVerdict
    sure: float | None  # that the mean change is above 0
    stands: float | None  # with everything judged; None where nothing is unjudged, or known of it

    @property
    def awaits_judgments(self) -> bool:
        """Whether unjudged documents could turn it."""
        return self.verdict == "open" or (self.stands is not None and self.stands < SURE)


@dataclass(frozen=True, kw_only=True)
class SliceLead:
    """The difference of a system from the best over a slice: as it is, and drawn towards that over
    all queries, with the 95% interval of the latter. `p` is corrected over all pairs and slices."""

    system: str
    slice: str
    n: int
    difference: float
    shrunk: float
    low: float
    high: float
    p: float

    @property
    def is_shown(self) -> bool:
        return self.p <= ALPHA and self.difference * self.shrunk > 0


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    measure: str
    n: int
    places: list[BoardRow]
    pairs: list[BoardPair]
    slices: list[SliceLead]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    baseline: str
    systems: list[str]
    headline: str  # the primary measure: it decides, and orders the queries that moved
    differences: list[Difference]
    moved: list[MovedQuery]
    warnings: list[str]
    gold_status: str = ""  # how far the gold set is approved; empty where there is nothing to
    variants: list[Difference] = []  # perturbed questions apart, each by the mean of its variants
    margin: float | None = None  # within which two engines count as equivalent
    leaderboard: Leaderboard | None = None  # of three systems or more
    gold_changed: GoldDifference = ""  # in between: `some` queries, which are left out, or `all`
    tests: int = 1  # systems that are tested together, which the adjusted p of the headline counts
    worst_case: bool = False  # by Gaffke's bound
    rulings: int = 0  # pairs of the gold set whose judges disagree, and that need a ruling


# ── each system against the first ─────────────────────────────────────────────────────────────────


def compare(
    results: Sequence[Results],
    names: Sequence[str],
    *,
    force: bool = False,
    primary: str = "",
    equivalence: float | None = None,
    tests: bool = False,
    worst_case: bool = False,
) -> Comparison:
    """Compare each of the results with the first. Raises InputError on other gold sets or corpora
    unless forced. `primary` is the measure that decides: what the results name, else nDCG@10, or
    else the first; the others inform. `equivalence` is a margin: what is shown to lie within it, or
    no worse, is said. The verdicts are corrected over the systems. `tests` adds other tests to the
    rows. `worst_case` takes Gaffke's bound for the interval and the p. Perturbed questions beside
    their parents are in `variants` alone."""
    warnings = _incomparable_warnings(results, names)
    if warnings and not force:
        raise InputError(
            warnings[0], hint="Score both on the same gold set. To compare anyway, give --force."
        )
    results, state = with_same_judgments(results)
    measures = _shared_measures(results)
    headline = _primary_key(primary or _named_primary(results), measures)
    if equivalence is not None and not 0 < equivalence < 1:
        raise InputError(f"a margin must be between 0 and 1, not {equivalence:g}")
    base = results[0]
    tested: list[TestedChange] = []
    variants: list[TestedChange] = []
    moved: list[MovedQuery] = []
    for other, name in zip(results[1:], names[1:], strict=True):
        pair = ComparedPair(
            name=name, base=base, other=other, measures=measures, worst_case=worst_case, tests=tests
        )
        both = _shared_values(pair, names[0], warnings)
        tested += [*_differences(pair, both), *_golden_differences(pair)]
        moved += _largest_moves(pair, both, list(measures).index(headline))
        varied = _pair_values(_variant_means(base, measures), _variant_means(other, measures))
        variants += _differences(pair, varied) if varied.ids else []
    heads = iter(adjust_tests([each.row.p for each in tested if each.row.key == headline]))
    rows = [
        _open_if_all_changed(with_verdict(each, next(heads), equivalence), state)
        if each.row.key == headline
        else _with_equivalence(with_adjustment(each, informing), equivalence)
        for each, informing in zip(tested, _adjust_tests(tested), strict=True)
    ]
    return Comparison(
        baseline=names[0],
        systems=list(names[1:]),
        headline=measures[headline],
        differences=_with_bh(rows) if tests else rows,
        tests=len(names) - 1,
        gold_changed=state,
        moved=moved,
        warnings=warnings,
        gold_status=_gold_status(results),
        variants=[
            with_adjustment(each, correction)
            for each, correction in zip(variants, _adjust_tests(variants), strict=True)
        ],
        margin=equivalence,
        worst_case=worst_case,
    )


def _shared_values(pair: ComparedPair, first: str, warnings: list[str]) -> _PairedValues:
    """The queries that both have scored; a warning says where that is not all of them."""
    both = _pair_values(
        _values_by_query(pair.base, pair.measures), _values_by_query(pair.other, pair.measures)
    )
    if not both.ids:
        message = f"{first} and {pair.name} have no scored query in common"
        raise _nothing_in_common(pair.base, message)
    if len(both.ids) < max(len(_questions(pair.base)), len(_questions(pair.other))):
        said = f"compared on {counted(len(both.ids), 'query')} that both have scored"
        warnings.append(f"{pair.name}: {said}{unscored_reason(pair.base)}")
    return both


# ── what can be compared ──────────────────────────────────────────────────────────────────────────


def differing_fingerprints(first: Receipt, second: Receipt) -> list[str]:
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


def _incomparable_warnings(results: Sequence[Results], names: Sequence[str]) -> list[str]:
    return [
        f"{names[0]} and {name}: {difference}"
        for other, name in zip(results[1:], names[1:], strict=True)
        for difference in differing_fingerprints(results[0].receipt, other.receipt)
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
class ComparedPair:
    """Two results, the measures of both ({key: measure}), what the second is called, and how the
    two are compared."""

    name: str
    base: Results
    other: Results
    measures: Mapping[str, str]
    tests: bool = False
    worst_case: bool = False


@dataclass(frozen=True, kw_only=True)
class _PairedValues:
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
        hint="Have their top results judged: assay gold pool DATASET --run A.json --run B.json",
    )


def _values_by_query(results: Results, keys: Mapping[str, str]) -> dict[str, list[float]]:
    """The values of every query that has all of them."""
    return {
        entry.query_id: values
        for entry in _questions(results)
        if (values := _complete_values(entry, keys)) is not None
    }


def _variant_means(results: Results, keys: Mapping[str, str]) -> dict[str, list[float]]:
    """By question the means over its variants: variants of one question are not independent."""
    known = {entry.query_id for entry in results.per_query}
    groups: dict[str, list[list[float]]] = {}
    for entry in results.per_query:
        if is_variant(entry, known) and (values := _complete_values(entry, keys)) is not None:
            groups.setdefault(entry.parent, []).append(values)
    return {
        parent: [fmean(column) for column in zip(*group, strict=True)]
        for parent, group in groups.items()
    }


def _complete_values(entry: Entry, keys: Mapping[str, str]) -> list[float] | None:
    values = [entry.metrics.get(key) for key in keys]
    return None if None in values else [float(value) for value in values if value is not None]


def _pair_values(
    base: Mapping[str, list[float]], other: Mapping[str, list[float]]
) -> _PairedValues:
    ids = [query_id for query_id in base if query_id in other]
    left, right = (
        np.array([table[query_id] for query_id in ids], np.float64) for table in (base, other)
    )
    return _PairedValues(ids=ids, left=left, right=right)


# ── differences ───────────────────────────────────────────────────────────────────────────────────


class TestedChange(NamedTuple):
    """A difference before it is adjusted for other tests, and the changes by query behind it."""

    row: Difference
    pair: ComparedPair
    changes: dict[str, float]

    @property
    def moves(self) -> statistics.Floats:
        """The changes as one column."""
        return np.array(list(self.changes.values()), np.float64)[:, None]


def _differences(pair: ComparedPair, values: _PairedValues) -> list[TestedChange]:
    return [
        _difference(pair, values, place, could_flip=True) for place in range(len(pair.measures))
    ]


def _difference(
    pair: ComparedPair, values: _PairedValues, place: int, *, could_flip: bool = False
) -> TestedChange:
    """One measure. Whether grades could turn it takes long to say, and is said on request."""
    key, measure = list(pair.measures.items())[place]
    before, after = values.left[:, place], values.right[:, place]
    moves = (after - before)[:, None]
    change = float(moves.mean())
    (interval,) = statistics.change_intervals(moves, worst_case=pair.worst_case)
    (inner,) = statistics.change_intervals(moves, level=1 - 2 * ALPHA, worst_case=pair.worst_case)
    p = float(statistics.change_tests(moves, worst_case=pair.worst_case)[0])
    effect = float(statistics.effect_size(moves)[0])
    row = Difference(
        system=pair.name,
        measure=measure,
        key=key,
        n=len(moves),
        baseline=float(before.mean()),
        value=float(after.mean()),
        difference=change,
        low=interval.low,
        high=interval.high,
        p=p,
        low_adjusted=interval.low,
        high_adjusted=interval.high,
        p_adjusted=p,
        inner=(inner.low, inner.high),
        effect_size=effect if math.isfinite(effect) else None,
        spread=float(moves.std(ddof=1)) if len(moves) > 1 else None,
        detectable=None,
        wins=int((moves > TIE).sum()),
        ties=int((np.abs(moves) <= TIE).sum()),
        losses=int((moves < -TIE).sum()),
        could_flip=could_flip and _could_flip(pair, measure, values.ids, change),
        residuals=_residuals(pair, measure),
        p_randomization=float(statistics.randomization_test(moves)[0]) if pair.tests else None,
        p_wilcoxon=float(statistics.wilcoxon_test(moves)[0]) if pair.tests else None,
    )
    return TestedChange(row, pair, dict(zip(values.ids, moves[:, 0].tolist(), strict=True)))


def with_adjustment(tested: TestedChange, correction: AdjustedTest) -> Difference:
    """The difference adjusted for the tests that are made together."""
    (interval,) = statistics.change_intervals(
        tested.moves, level=correction.level, worst_case=tested.pair.worst_case
    )
    return structs.replace(
        tested.row,
        low_adjusted=interval.low,
        high_adjusted=interval.high,
        p_adjusted=correction.p_adjusted,
        detectable=_detectable(tested, correction),
    )


def _detectable(tested: TestedChange, correction: AdjustedTest) -> float | None:
    row, moves = tested.row, tested.moves
    if row.spread is None or row.ties == row.n:
        return None
    if tested.pair.worst_case:
        (wider,) = statistics.change_intervals(
            moves, level=statistics.level_for_power(correction.level), worst_case=True
        )
        return row.difference - (wider.low or -1.0)
    return statistics.detectable_change(row.spread, row.n, alpha=1 - correction.level)


def _adjust_tests(tested: Sequence[TestedChange]) -> list[AdjustedTest]:
    """The measures that inform are corrected over every measure and system: asking more questions
    raises the bar for each. The measure that decides is corrected over the systems alone."""
    return adjust_tests([each.row.p for each in tested])


def _with_bh(rows: Sequence[Difference]) -> list[Difference]:
    corrected = statistics.benjamini_hochberg([row.p for row in rows])
    return [structs.replace(row, p_bh=p) for row, p in zip(rows, corrected, strict=True)]


def _golden_differences(pair: ComparedPair) -> Iterator[TestedChange]:
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
        both = _pair_values(*tables)
        if both.ids:
            yield from _differences(replace(pair, measures={key: measure}), both)


def _first_hit(entry: GoldenEntry) -> float | None:
    return float(entry.first_rank == 1) if entry.expected_any and entry.error is None else None


GOLDEN: dict[str, tuple[str, Callable[[GoldenEntry], float | None]]] = {
    "top1_rate": ("first hit right", _first_hit),
    "mrr_at_k": ("MRR@k", lambda entry: entry.metrics.get("mrr_at_k")),
}


def _could_flip(pair: ComparedPair, measure: str, ids: Sequence[str], lead: float) -> bool:
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


def _residuals(pair: ComparedPair, measure: str) -> tuple[float, float] | None:
    """RBP alone: what is unknown, of both."""
    residuals = [
        bounds.residual
        for each in (pair.base, pair.other)
        if isinstance(each, GradedResults)
        and (bounds := each.receipt.unjudged.get(measure)) is not None
        and bounds.residual is not None
    ]
    return (residuals[0], residuals[1]) if len(residuals) == 2 else None


def deciding_values(results: Sequence[Results], primary: str) -> list[dict[str, float]]:
    """By system the values of the measure that decides, {query id: value}."""
    measures = _shared_measures(results)
    column = list(measures).index(_primary_key(primary, measures))
    return [
        {query_id: values[column] for query_id, values in _values_by_query(each, measures).items()}
        for each in results
    ]


def tested_pair(
    pair: tuple[Results, Results],
    values: tuple[Mapping[str, float], Mapping[str, float]],
    measure: str,
    worst_case: bool,
) -> TestedChange:
    """The second of two results against the first, by one measure with these values by query."""
    key = _primary_key(measure, _shared_measures(pair))
    both = ComparedPair(
        name="", base=pair[0], other=pair[1], measures={key: measure}, worst_case=worst_case
    )
    columns = [{query: [value] for query, value in table.items()} for table in values]
    return _difference(both, _pair_values(*columns), 0)


def _named_primary(results: Sequence[Results]) -> str:
    """The measure that the newest of the results names."""
    named = [each.receipt.primary for each in results if isinstance(each, GradedResults)]
    return next(filter(None, reversed(named)), "")


def _primary_key(wanted: str, measures: Mapping[str, str]) -> str:
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


def with_verdict(
    tested: TestedChange, correction: AdjustedTest, margin: float | None = None
) -> Difference:
    """The difference with its verdict, which the unjudged documents have a part in, and with what
    is said of the margin."""
    row, pair = _with_equivalence(with_adjustment(tested, correction), margin), tested.pair
    alpha, worst_case = 1 - correction.level, pair.worst_case
    now = int(np.sign(row.difference)) if row.p_adjusted <= ALPHA else 0
    sure = float(statistics.chances_above(tested.moves, worst_case=worst_case)[0])
    stability = pool = None
    if not (is_closed(pair.base) and is_closed(pair.other)):
        entries = (pair.base.per_query, pair.other.per_query)
        pool = pool_needed(*entries, parse_measure(row.measure).cutoff or DEEPEST)
        rule = _significance_rule(alpha, worst_case)
        stability = stability_of(
            entries, row.measure, tested.changes, rule, now, worst_case=worst_case
        )
        if margin is not None and stability is not None and row.equivalence != "not shown":
            stands = EQUIVALENCE_RANKS[row.equivalence or "not shown"]
            by_margin = _margin_rule(margin, worst_case)
            about = stability_of(entries, row.measure, tested.changes, by_margin, stands)
            row = structs.replace(row, equivalence="open") if about and about.is_open else row
    unknown = stability is not None and stability.ahead is None and stability.is_open
    sure = stability.ahead if stability is not None and stability.ahead is not None else sure
    return structs.replace(
        row,
        verdict="open" if unknown else verdict_of(now, sure, stability),
        sure=None if unknown else sure,
        stability=stability,
        pool=pool,
        risk=None if worst_case else risky_queries(tested.changes),
    )


def verdict_of(now: int, sure: float, stability: Stability | None = None) -> ComparisonVerdict:
    """What is said of a change: `now` is its sign where it is significant, else 0; `sure` is the
    probability that it is above 0. A significant change whose sign the unjudged hits leave unsure
    is open; it is no more than probable where nothing is judged that one system alone returns."""
    if stability is None or not stability.one_sided:
        if now > 0 and sure >= SURE:
            return "better"
        if now < 0 and sure <= 1 - SURE:
            return "worse"
    if sure >= PROBABLE:
        return "probably better"
    if sure <= 1 - PROBABLE:
        return "probably worse"
    return "open" if now else "not significant"


def _open_if_all_changed(row: Difference, state: GoldDifference) -> Difference:
    """Where no query is judged alike in both, nothing is said of the engines."""
    unknown = structs.replace(row, verdict="open", sure=None, equivalence=None, stability=None)
    return unknown if state == "all" else row


def _significance_rule(alpha: float, worst_case: bool) -> Rule:
    def rule(columns: statistics.Floats) -> Integers:
        found = statistics.significant(columns, alpha=alpha, worst_case=worst_case)
        return found.astype(np.int64)

    return rule


def _margin_rule(margin: float, worst_case: bool) -> Rule:
    def rule(columns: statistics.Floats) -> Integers:
        inner = statistics.change_intervals(columns, level=1 - 2 * ALPHA, worst_case=worst_case)
        found = [_equivalence_of((each.low, each.high), margin) for each in inner]
        return np.array([EQUIVALENCE_RANKS[each] for each in found], np.int64)

    return rule


def _with_equivalence(row: Difference, margin: float | None) -> Difference:
    """Two one-sided tests (Schuirmann 1987) by the 90% interval."""
    if margin is None or None in row.inner:
        return row
    return structs.replace(row, equivalence=_equivalence_of(row.inner, margin))


def _equivalence_of(inner: Bounds, margin: float) -> Equivalence:
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


def _largest_moves(pair: ComparedPair, values: _PairedValues, column: int) -> list[MovedQuery]:
    """The queries whose value in this column moved most."""
    left, right = values.left[:, column], values.right[:, column]
    distance = np.abs(right - left)
    order = np.argsort(-distance, kind="stable")[:MOVES_SHOWN]
    before, after = (
        {entry.query_id: entry for entry in each.per_query} for each in (pair.base, pair.other)
    )
    return [
        _moved_query(pair.name, before[query_id], after[query_id], (left[row], right[row]))
        for row in order.tolist()
        if distance[row] > TIE
        for query_id in (values.ids[row],)
    ]


def _moved_query(
    system: str, before: Entry, after: Entry, values: tuple[float, float]
) -> MovedQuery:
    was, now = (
        dict(zip(entry.results[:10], entry.grades[:10], strict=True)) for entry in (before, after)
    )
    return MovedQuery(
        system=system,
        query_id=before.query_id,
        query_text=before.query_text,
        baseline=float(values[0]),
        value=float(values[1]),
        entered=[(doc_id, grade) for doc_id, grade in now.items() if doc_id not in was],
        left=[(doc_id, grade) for doc_id, grade in was.items() if doc_id not in now],
    )

"""Agreement between judges who judged the same documents independently: kappa, alpha and the share
of equal grades, with intervals, for a set and by judge, topic, type, grade and time.

Rulings and spot checks are left out: a ruling is made with the other votes in view, and spot checks
measure labels. People are compared with people and machines with machines; people against machines
are a group of their own. Each judge's current vote is compared; an unsure vote has no grade."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import structs

from assay.core.errors import InputError
from assay.core.types import GoldSet, Vote, counted
from assay.evaluation import concordance
from assay.evaluation.concordance import (
    LEVEL,
    MIN_CLUSTERS,
    SAMPLES,
    Estimate,
    Floats,
    Statistic,
    bootstrap_estimates,
    resampling_rows,
)
from assay.evaluation.statistics import SEED
from assay.gold.votes import EDITED, RULING, SPOT_CHECK, WITHDRAWN, VoteBook, book_of, by_pair

# ── the figures as values ─────────────────────────────────────────────────────────────────────────

Kind = Literal["human", "machine", "across", "all"]


class AgreementFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its 95% interval. Null where it is not defined; `note` says why, or what to
    know of the interval."""

    value: float | None
    interval: tuple[float, float] | None
    note: str = ""


class WeightedKappa(msgspec.Struct, frozen=True, kw_only=True):
    """Both weightings; `value` and `interval` are those of the linear one."""

    value: float | None
    interval: tuple[float, float] | None
    linear: AgreementFigure
    quadratic: AgreementFigure
    weights: Literal["linear"] = "linear"
    note: str = ""


class TwoSided(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement on relevant or not; `first` is the lowest grade that is relevant."""

    first: int
    exact: AgreementFigure
    cohen_kappa: AgreementFigure


class Confusion(msgspec.Struct, frozen=True, kw_only=True):
    """How often which two grades met. With more than two judges every two votes are counted both
    ways, and `rows` and `columns` name nobody."""

    grades: list[int]
    rows: str
    columns: str
    counts: list[list[int]]


class AgreementFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`pairs` are those that two or more judges graded, `comparisons` the two votes at a time."""

    pairs: int
    queries: int
    comparisons: int
    exact: AgreementFigure
    cohen_kappa: AgreementFigure
    weighted_kappa: WeightedKappa
    krippendorff_alpha: AgreementFigure
    far_apart: AgreementFigure
    relevant: TwoSided


class JudgeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One judge: how many votes, of which grades, and the agreement with all others."""

    kind: str
    votes: int
    unsure: int
    grades: dict[str, int]
    agreement: AgreementFigures


class PairFigures(msgspec.Struct, frozen=True, kw_only=True):
    judges: tuple[str, str]
    agreement: AgreementFigures
    confusion: Confusion


class GradeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`exact`: of the votes for this grade, the share whose other judge gave it too. `cohen_kappa`:
    this grade or another."""

    pairs: int
    exact: AgreementFigure
    cohen_kappa: AgreementFigure


class JudgeBias(msgspec.Struct, frozen=True, kw_only=True):
    """A judge against the mean of the others, grade minus mean: below 0 is strict, above it
    lenient. `leaning` is said only where the interval is off 0."""

    pairs: int
    difference: AgreementFigure
    leaning: Literal["strict", "lenient", ""]


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A judge over time. `repeated` is about the pairs judged twice, first against last; the rest
    about the difference from the others in the earlier and the later half of the votes."""

    repeated: int
    exact: AgreementFigure
    weighted_kappa: AgreementFigure
    repeated_change: AgreementFigure
    pairs: int
    earlier: AgreementFigure
    later: AgreementFigure
    change: AgreementFigure


class ExcludedVotes(msgspec.Struct, frozen=True, kw_only=True):
    rulings: int
    spot_checks: int
    citations: int
    other_judges: int
    unknown_queries: int


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """The agreement on a gold set; `kind` is who is compared with whom."""

    dataset: str
    kind: Kind
    statement: str
    pairs: int
    judges: list[str]
    queries: int
    votes: int
    unsure: int
    left_out: ExcludedVotes
    resampled: Literal["queries", "pairs"]
    level: float
    samples: int
    seed: int
    exact: AgreementFigure
    cohen_kappa: AgreementFigure
    weighted_kappa: WeightedKappa
    krippendorff_alpha: AgreementFigure
    far_apart: AgreementFigure
    relevant: TwoSided
    confusion: Confusion
    by_kind: dict[str, AgreementFigures]
    by_judge: dict[str, JudgeFigures]
    by_pair: list[PairFigures]
    by_topic: dict[str, AgreementFigures]
    by_type: dict[str, AgreementFigures]
    by_grade: dict[str, GradeFigures]
    consensus: dict[str, JudgeBias]
    drift: dict[str, Drift]


# ── two votes on one pair at a time ───────────────────────────────────────────────────────────────

Integers = np.ndarray[Any, np.dtype[np.int64]]

ONE_GRADE = "undefined: one grade only"
NO_OVERLAP = "undefined: no pair has two grades"
NEVER = "undefined: nobody gave it"
OVER_PAIRS = f"over pairs: fewer than {MIN_CLUSTERS} queries"
FAR = 2  # grades between two votes that are called far apart; taste


@dataclass(frozen=True, kw_only=True)
class GradeScale:
    """The grades there are, lowest first, and the first that is relevant."""

    lowest: int
    highest: int
    relevant_from: int

    @property
    def grades(self) -> list[int]:
        return list(range(self.lowest, self.highest + 1))


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """Pairs of votes on the same document, as columns: the query, the pair of query and document,
    the two judges, the grade of each as a place on the scale, and how many of the two are
    machines."""

    query: Integers
    unit: Integers
    between: Integers
    first: Integers
    second: Integers
    machines: Integers
    query_ids: tuple[str, ...]  # what `query` counts
    judges: tuple[tuple[str, str], ...]  # what `between` counts
    scale: GradeScale

    @property
    def queries(self) -> list[str]:
        return [self.query_ids[place] for place in np.unique(self.query)]

    def between_judges(self, judge_pairs: Collection[tuple[str, str]]) -> Comparisons:
        places = [place for place, two in enumerate(self.judges) if two in judge_pairs]
        return self._masked(np.isin(self.between, places))

    def of_queries(self, query_ids: Collection[str]) -> Comparisons:
        places = [place for place, name in enumerate(self.query_ids) if name in query_ids]
        return self._masked(np.isin(self.query, places))

    def of_kind(self, kind: Kind) -> Comparisons:
        return self if kind == "all" else self._masked(self.machines == MACHINES[kind])

    def _masked(self, mask: np.ndarray[Any, np.dtype[np.bool_]]) -> Comparisons:
        return replace(
            self,
            query=self.query[mask],
            unit=self.unit[mask],
            between=self.between[mask],
            first=self.first[mask],
            second=self.second[mask],
            machines=self.machines[mask],
        )


def compare_votes(votes: Iterable[Vote], scale: GradeScale) -> Comparisons:
    """Every two grades that different judges gave on one pair."""
    graded = by_pair(vote for vote in votes if vote.grade is not None)
    queries, judges, rows = dict[str, int](), dict[tuple[str, str], int](), array("q")
    for unit, pair in enumerate(sorted(graded)):
        for one, other in combinations(sorted(graded[pair], key=attrgetter("judge")), 2):
            if one.judge != other.judge:
                query = queries.setdefault(pair[0], len(queries))
                between = judges.setdefault((one.judge, other.judge), len(judges))
                grades = [(vote.grade or 0) - scale.lowest for vote in (one, other)]
                machines = (one.kind == "machine") + (other.kind == "machine")
                rows.extend((query, unit, between, *grades, machines))
    columns = np.frombuffer(rows, np.int64).reshape(-1, 6).T if rows else np.zeros((6, 0), np.int64)
    names = sorted(judges)
    place = np.array([names.index(two) for two in judges], np.int64)
    return Comparisons(
        query=columns[0],
        unit=columns[1],
        between=place[columns[2]],
        first=columns[3],
        second=columns[4],
        machines=columns[5],
        query_ids=tuple(queries),
        judges=tuple(names),
        scale=scale,
    )


def _weights(comparisons: Comparisons) -> Floats:
    """The weights of pairs of votes for alpha: each vote counts once, shared among its comparisons.
    If all judges of a pair are compared, this is Krippendorff's 1 / (votes - 1)."""
    names = sorted({name for two in comparisons.judges for name in two})
    ends = np.array([[names.index(name) for name in two] for two in comparisons.judges], np.int64)
    votes = comparisons.unit[:, None] * len(names) + ends[comparisons.between]
    _, inverse, times = np.unique(votes, return_inverse=True, return_counts=True)
    return np.asarray((1 / times[inverse.reshape(-1, 2)]).mean(axis=1))


# ── figures ───────────────────────────────────────────────────────────────────────────────────────


def figures_of(comparisons: Comparisons) -> AgreementFigures:
    size, judges = len(comparisons.scale.grades), np.unique(comparisons.between)
    relevant_from = min(max(comparisons.scale.relevant_from - comparisons.scale.lowest, 0), size)
    cells = max(len(judges), 1) * size * size

    def statistic(sums: Floats) -> Floats:
        tables = sums[:, :cells].reshape(len(sums), -1, size, size)
        together = sums[:, cells : cells + size * size].reshape(-1, size, size)
        two = concordance.two_grade_tables(tables, relevant_from)
        kappas = [concordance.kappa(tables, power) for power in (0, 1, 2)]
        figures = [
            concordance.exact_agreement(tables),
            *kappas,
            concordance.ordinal_alpha(together),
            concordance.mean_of(sums[:, -2:])[:, 0],
            concordance.exact_agreement(two),
            concordance.kappa(two),
        ]
        return np.stack(figures, axis=1)

    found = bootstrap_estimates(_resampling_rows(comparisons, judges, size), statistic)
    exact, cohen, linear, quadratic, alpha, far, two_exact, two_kappa = (
        _figure(estimate, comparisons) for estimate in found
    )
    return AgreementFigures(
        pairs=len(np.unique(comparisons.unit)),
        queries=len(comparisons.queries),
        comparisons=len(comparisons.unit),
        exact=exact,
        cohen_kappa=cohen,
        weighted_kappa=WeightedKappa(
            value=linear.value,
            interval=linear.interval,
            note=linear.note,
            linear=linear,
            quadratic=quadratic,
        ),
        krippendorff_alpha=alpha,
        far_apart=far,
        relevant=TwoSided(
            first=comparisons.scale.relevant_from, exact=two_exact, cohen_kappa=two_kappa
        ),
    )


def _resampling_rows(comparisons: Comparisons, judges: Integers, size: int) -> Floats:
    """One row per query, or per pair if queries are few: the table of every two judges, the
    coincidences of alpha, and how many pairs are far apart."""
    resampled = comparisons.query if len(comparisons.queries) >= MIN_CLUSTERS else comparisons.unit
    rows, row = resampling_rows(resampled)
    if not rows:
        return np.zeros((1, (max(len(judges), 1) + 1) * size * size + 2))
    place = np.searchsorted(judges, comparisons.between)
    tables = np.zeros((rows, len(judges), size, size))
    np.add.at(tables, (row, place, comparisons.first, comparisons.second), 1)
    together = np.zeros((rows, size, size))
    weight = _weights(comparisons)
    np.add.at(together, (row, comparisons.first, comparisons.second), weight)
    np.add.at(together, (row, comparisons.second, comparisons.first), weight)
    units, first_seen, unit = np.unique(comparisons.unit, return_index=True, return_inverse=True)
    spread = np.zeros(len(units))
    np.maximum.at(spread, unit, np.abs(comparisons.first - comparisons.second))
    apart = np.zeros((rows, 2))
    np.add.at(apart, row[first_seen], np.stack([spread >= FAR, np.ones(len(units))], axis=1))
    flat = [part.reshape(rows, -1) for part in (tables, together, apart)]
    return np.concatenate(flat, axis=1)


def _figure(estimate: Estimate, comparisons: Comparisons) -> AgreementFigure:
    figure = figure_of(estimate, ONE_GRADE if len(comparisons.unit) else NO_OVERLAP)
    if figure.interval and not figure.note and len(comparisons.queries) < MIN_CLUSTERS:
        return structs.replace(figure, note=OVER_PAIRS)
    return figure


def by_grade(comparisons: Comparisons) -> dict[str, GradeFigures]:
    size, judges = len(comparisons.scale.grades), np.unique(comparisons.between)
    cells = max(len(judges), 1) * size * size
    parts = _resampling_rows(comparisons, judges, size)[:, :cells]

    def statistic(sums: Floats) -> Floats:
        tables = sums.reshape(len(sums), -1, size, size)
        agreed = [concordance.specific_agreement(tables, grade) for grade in range(size)]
        alone = [concordance.one_against_rest(tables, grade) for grade in range(size)]
        return np.stack([*agreed, *(concordance.kappa(table) for table in alone)], axis=1)

    found = bootstrap_estimates(parts, statistic)
    given = {
        grade: len(
            np.unique(
                comparisons.unit[(comparisons.first == grade) | (comparisons.second == grade)]
            )
        )
        for grade in range(size)
    }
    return {
        str(grade + comparisons.scale.lowest): GradeFigures(
            pairs=given[grade],
            exact=figure_of(found[grade], NEVER),
            cohen_kappa=figure_of(found[size + grade], ONE_GRADE if given[grade] else NEVER),
        )
        for grade in range(size)
    }


def figure_of(estimate: Estimate, why: str) -> AgreementFigure:
    """An estimate as a figure; `why` explains one that is undefined."""
    return AgreementFigure(
        value=estimate.value,
        interval=estimate.interval,
        note=why if estimate.value is None else estimate.note,
    )


def confusion_of(comparisons: Comparisons) -> Confusion:
    size = len(comparisons.scale.grades)
    met = [comparisons.judges[place] for place in np.unique(comparisons.between)]
    judges = sorted({name for two in met for name in two})
    counts = np.zeros((size, size), np.int64)
    np.add.at(counts, (comparisons.first, comparisons.second), 1)
    two = len(judges) == 2
    return Confusion(
        grades=comparisons.scale.grades,
        rows=judges[0] if two else "one judge",
        columns=judges[1] if two else "another",
        counts=(counts if two else counts + counts.T).tolist(),
    )


# ── A judge against the others ────────────────────────────────────────────────────────────────────

ALONE = "undefined: no pair with another judge"
ONCE = "undefined: no pair was judged twice"
ONE_TIME = "undefined: all votes are from one time"


class GradeDifference(NamedTuple):
    """A judge's grade minus the mean of the other judges' on the same pair."""

    query_id: str
    doc_id: str
    at: str
    value: float


def differences(votes: Iterable[Vote]) -> dict[str, list[GradeDifference]]:
    """The differences of every judge from the others, in order of time."""
    found: dict[str, list[GradeDifference]] = {}
    for (query_id, doc_id), votes_on_pair in by_pair(votes).items():
        graded = [(vote, vote.grade) for vote in votes_on_pair if vote.grade is not None]
        total = sum(grade for _, grade in graded)
        for vote, grade in graded:
            mine = found.setdefault(vote.judge, [])
            if len(graded) > 1:
                others = (total - grade) / (len(graded) - 1)
                mine.append(GradeDifference(query_id, doc_id, vote.at, grade - others))
    return {
        judge: sorted(mine, key=attrgetter("at", "query_id", "doc_id"))
        for judge, mine in found.items()
    }


def bias_of(mine: Sequence[GradeDifference]) -> JudgeBias:
    sums = np.array([[difference.value, 1.0] for difference in mine]).reshape(-1, 2)
    (found,) = _resample_queries(mine, sums, concordance.mean_of)
    low, high = found.interval or (0.0, 0.0)
    return JudgeBias(
        pairs=len(mine),
        difference=figure_of(found, ALONE),
        leaning="lenient" if low > 0 else "strict" if high < 0 else "",
    )


def drift_of(votes: Sequence[Vote], mine: Sequence[GradeDifference], scale: GradeScale) -> Drift:
    """How a judge drifts; `votes` includes those that were superseded."""
    twice = _judged_twice(votes)
    size = len(scale.grades)
    tables = np.zeros((len(twice), size * size + 2))
    for row, (first, last) in enumerate(twice):
        before, after = (first.grade or 0) - scale.lowest, (last.grade or 0) - scale.lowest
        tables[row, before * size + after] = 1
        tables[row, -2:] = after - before, 1

    def statistic(sums: Floats) -> Floats:
        table = sums[:, :-2].reshape(len(sums), 1, size, size)
        agreed = concordance.exact_agreement(table), concordance.kappa(table, 1)
        return np.stack([*agreed, concordance.mean_of(sums[:, -2:])[:, 0]], axis=1)

    again = _resample_queries([first for first, _ in twice], tables, statistic)
    exact, kappa, changed = (figure_of(found, ONE_GRADE if twice else ONCE) for found in again)
    earlier, later, change = _halves(mine)
    return Drift(
        repeated=len(twice),
        exact=exact,
        weighted_kappa=kappa,
        repeated_change=changed,
        pairs=len(mine),
        earlier=earlier,
        later=later,
        change=change,
    )


def _judged_twice(votes: Sequence[Vote]) -> list[tuple[Vote, Vote]]:
    """The first and the last grade that a judge gave to one pair, without those taken back."""
    undone = {id for vote in votes if vote.source == WITHDRAWN for id in vote.supersedes.split()}
    kept = (vote for vote in votes if vote.grade is not None and vote.id not in undone)
    graded = by_pair(sorted(kept, key=attrgetter("at")))
    return [
        (votes_on_pair[0], votes_on_pair[-1])
        for votes_on_pair in graded.values()
        if len(votes_on_pair) > 1
    ]


def _halves(mine: Sequence[GradeDifference]) -> list[AgreementFigure]:
    """The mean difference from the others in the earlier and the later half, and the change. Votes
    of one moment stay on one side."""
    times = [difference.at for difference in mine]
    if not times or times[0] == times[-1]:
        why = ALONE if not times else ONE_TIME
        return [AgreementFigure(value=None, interval=None, note=why)] * 3
    middle = times[len(times) // 2]
    split = times.index(middle) or next(n for n, at in enumerate(times) if at > middle)
    sums = np.zeros((len(mine), 4))
    for row, difference in enumerate(mine):
        sums[row, 2 * (row >= split) :][:2] = difference.value, 1
    found = _resample_queries(mine, sums, concordance.change_of_means)
    return [figure_of(estimate, ALONE) for estimate in found]


def _resample_queries(
    places: Sequence[GradeDifference] | Sequence[Vote], rows: Floats, statistic: Statistic
) -> list[Estimate]:
    """Figures of the sum of the rows, resampled by query, or by pair where queries are few."""
    queries = [place.query_id for place in places]
    few = len(set(queries)) < MIN_CLUSTERS
    count, row = resampling_rows(range(len(rows)) if few else queries)
    parts = np.zeros((max(count, 1), rows.shape[1]))
    np.add.at(parts, row, rows)
    return [
        each._replace(note=OVER_PAIRS) if few and each.interval and not each.note else each
        for each in bootstrap_estimates(parts, statistic)
    ]


def votes_by_judge(votes: Iterable[Vote]) -> Mapping[str, list[Vote]]:
    found: dict[str, list[Vote]] = {}
    for vote in votes:
        found.setdefault(vote.judge, []).append(vote)
    return dict(sorted(found.items()))


# ── agreement of a set ────────────────────────────────────────────────────────────────────────────

WHO: Mapping[str, tuple[str, str]] = {
    "human": ("people", "no two people"),
    "machine": ("machines", "no two machines"),
    "across": ("people and machines", "no person and machine"),
    "all": ("judges", "no two of these judges"),
}
MACHINES: Mapping[Kind, int] = {"human": 0, "machine": 2, "across": 1}  # of the two who compare


def agreement(
    gold: GoldSet,
    votes: Sequence[Vote],
    *,
    relevant_from: int = 1,
    kind: Kind | None = None,
    judges: Collection[str] = (),
) -> Agreement:
    """Between people where two of them share a pair; else between machines; else between people and
    machines. `kind` says which, and named judges are all compared with each other."""
    book = book_of(votes)
    asked, left_out = _independent_votes(gold, book, judges)
    holding = [vote for vote in book.all_current_votes() if vote.id in asked]
    scale = _scale(gold, holding, relevant_from)
    everyone = compare_votes(holding, scale)
    groups = {name: everyone.of_kind(name) for name in MACHINES}
    by_kind: dict[str, AgreementFigures] = {
        name: figures_of(group) for name, group in groups.items() if len(group.unit)
    }
    first: Kind = next((name for name in MACHINES if name in by_kind), "human")
    chosen = kind or ("all" if judges else first)
    seen = everyone.of_kind(chosen)
    among = [vote for vote in holding if _is_of(vote, chosen)]
    figures = by_kind.get(chosen) or figures_of(seen)
    names = list(votes_by_judge(among))
    mine = differences(among)
    given = votes_by_judge(vote for vote in votes if vote.id in asked and _is_of(vote, chosen))
    return Agreement(
        dataset=gold.name,
        kind=chosen,
        statement=_statement(chosen, names, figures, by_kind, bool(holding)),
        pairs=figures.pairs,
        judges=names,
        queries=figures.queries,
        votes=len(among),
        unsure=sum(vote.grade is None for vote in among),
        left_out=left_out,
        resampled="queries" if figures.queries >= MIN_CLUSTERS or not figures.pairs else "pairs",
        level=LEVEL,
        samples=SAMPLES,
        seed=SEED,
        exact=figures.exact,
        cohen_kappa=figures.cohen_kappa,
        weighted_kappa=figures.weighted_kappa,
        krippendorff_alpha=figures.krippendorff_alpha,
        far_apart=figures.far_apart,
        relevant=figures.relevant,
        confusion=confusion_of(seen),
        by_kind=by_kind,
        by_judge=_by_judge(among, seen),
        by_pair=_by_pair(seen),
        by_topic=_by_query(gold, seen, "topic"),
        by_type=_by_query(gold, seen, "type"),
        by_grade=by_grade(seen),
        consensus={judge: bias_of(mine.get(judge, [])) for judge in given},
        drift={
            judge: drift_of(votes_of_judge, mine.get(judge, []), scale)
            for judge, votes_of_judge in given.items()
        },
    )


def _independent_votes(
    gold: GoldSet, book: VoteBook, judges: Collection[str]
) -> tuple[dict[str, None], ExcludedVotes]:
    """The ids of the votes that judges gave independently of each other, and how many others were
    left out and why."""
    votes = book.ids.values()
    known = {vote.judge for vote in votes}
    if missing := sorted(set(judges) - known):
        raise InputError(
            f"no judge {missing[0]!r} has voted",
            hint=f"Judges who have: {', '.join(sorted(known)) or 'nobody yet'}.",
        )
    queries = set(gold.query_ids)
    counts = dict.fromkeys(ExcludedVotes.__struct_fields__, 0)
    asked = dict[str, None]()
    held = {vote.id for pair in book.pairs() for vote in book.votes_in_memory(pair)}
    for vote in votes:
        source = book.original_vote(vote).source
        reasons = {
            "rulings": source in (RULING, EDITED),
            "spot_checks": source == SPOT_CHECK,
            "citations": vote.kind == "citation",
            "other_judges": bool(judges) and vote.judge not in judges,
            "unknown_queries": vote.query_id not in queries,
        }
        why = next((name for name, holds in reasons.items() if holds), "")
        if why in ("rulings", "spot_checks"):
            counts[why] += vote.id in held  # one that was undone is no ruling any more
        elif why:
            counts[why] += 1
        else:
            asked[vote.id] = None
    return asked, ExcludedVotes(**counts)


def _scale(gold: GoldSet, votes: Sequence[Vote], relevant_from: int) -> GradeScale:
    grades = [vote.grade for vote in votes if vote.grade is not None]
    return GradeScale(
        lowest=min(0, *grades, 0),
        highest=max(gold.max_grade, relevant_from, *grades, 0),
        relevant_from=relevant_from,
    )


def _is_of(vote: Vote, kind: Kind) -> bool:
    return kind in ("all", "across", vote.kind)


def _statement(
    kind: Kind,
    judges: Sequence[str],
    figures: AgreementFigures,
    by_kind: Collection[str],
    voted: bool,
) -> str:
    who, nobody = WHO[kind]
    if not voted:
        return "Nobody has voted on this set yet: there is nothing to compare."
    if figures.pairs:
        shared = f"{counted(figures.pairs, 'pair')} of {counted(figures.queries, 'query')}"
        return f"Agreement between {who} ({', '.join(judges)}) on {shared}."
    if len(judges) == 1:
        return f"One judge only ({judges[0]}): agreement needs a second one on the same pairs."
    others = [WHO[name][0] for name in by_kind]
    beside = f" There are figures between {', and between '.join(others)}." if others else ""
    return f"{nobody[0].upper()}{nobody[1:]} graded the same pair: nothing to compare.{beside}"


# ── by judge, query and time ──────────────────────────────────────────────────────────────────────


def _by_judge(votes: Sequence[Vote], comparisons: Comparisons) -> dict[str, JudgeFigures]:
    found = {}
    for judge, given in votes_by_judge(votes).items():
        graded = [vote.grade for vote in given if vote.grade is not None]
        found[judge] = JudgeFigures(
            kind=given[-1].kind,
            votes=len(given),
            unsure=len(given) - len(graded),
            grades={str(grade): graded.count(grade) for grade in comparisons.scale.grades},
            agreement=figures_of(
                comparisons.between_judges([two for two in comparisons.judges if judge in two])
            ),
        )
    return found


def _by_pair(comparisons: Comparisons) -> list[PairFigures]:
    found = []
    for place in np.unique(comparisons.between):
        judges = comparisons.judges[place]
        theirs = comparisons.between_judges([judges])
        agreed, table = figures_of(theirs), confusion_of(theirs)
        found.append(PairFigures(judges=judges, agreement=agreed, confusion=table))
    return found


def _by_query(
    gold: GoldSet, comparisons: Comparisons, attribute: str
) -> dict[str, AgreementFigures]:
    """The figures by topic or type, in the order of the set."""
    here, ids = set(comparisons.queries), dict[str, set[str]]()
    for query in gold.queries:
        if query.id in here and getattr(query, attribute):
            ids.setdefault(getattr(query, attribute), set()).add(query.id)
    return {name: figures_of(comparisons.of_queries(wanted)) for name, wanted in ids.items()}

"""Spot checks: an estimate of how many labels of a set are wrong, from a few that somebody judges
again.

The sample is drawn at random within each grade, so that rare grades are in it, and weighted back to
the set. It is kept in STEM.sample.json with the labels as they were at the draw. Its votes (source
`sample`) measure labels and make none.

The interval of one grade is Clopper and Pearson's; that of the whole set is the same on the
effective sample size, as Korn and Graubard (1998) have it for stratified samples. Both hold for
small counts: no error among thirty pairs does not make an error rate of nought."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError, UsageError
from assay.core.files import read_strict_json, write_atomic
from assay.core.types import GoldSet, Vote
from assay.evaluation.statistics import clopper_pearson
from assay.gold.rows import sibling_path
from assay.gold.votes import SPOT_CHECK, PairKey, by_pair, current_votes

LEAST = 5  # pairs of each grade in a sample, if there are so many; taste
LEVEL = 0.95  # the usual level of an interval
METHOD = "Clopper-Pearson on the effective sample size (Korn and Graubard 1998)"


class DrawnPair(msgspec.Struct, frozen=True, kw_only=True):
    """A pair of a draw, with the label that it had then."""

    query_id: str
    doc_id: str
    grade: int

    @property
    def key(self) -> PairKey:
        return self.query_id, self.doc_id


class Draw(msgspec.Struct, frozen=True, kw_only=True):
    """A sample of labels to check: `labels` counts the labels of each grade. `pairs` are in the
    order in which they are judged."""

    at: str
    seed: int
    labels: dict[int, int]
    pairs: tuple[DrawnPair, ...]


class Samples(msgspec.Struct, frozen=True, kw_only=True):
    format: int = 1
    draws: tuple[Draw, ...] = ()


class ErrorRate(msgspec.Struct, frozen=True, kw_only=True):
    """A share of wrong labels; None where nothing was judged."""

    value: float | None
    interval: tuple[float, float]
    level: float = LEVEL


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    grade: int
    labels: int
    drawn: int
    judged: int
    wrong: int
    error_rate: ErrorRate


class WrongLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label that the spot check found wrong; `now` is the label today."""

    query_id: str
    doc_id: str
    label: int
    found: int
    now: int | None
    said: list[str]


class SpotCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a spot check. `waiting` pairs have no judgment yet, on `undecided` ones the
    judges were unsure or disagreed; `own` were checked by a judge who made the label."""

    at: str
    drawn: int
    judged: int
    waiting: int
    undecided: int
    own: int
    wrong: int
    error_rate: ErrorRate
    method: str
    by_grade: list[Stratum]
    differ: list[WrongLabel]


# ── the file ──────────────────────────────────────────────────────────────────────────────────────


def sample_path(dataset: Path) -> Path:
    return sibling_path(dataset, "sample.json")


def read_samples(dataset: Path) -> Samples:
    path = sample_path(dataset)
    if not path.exists():
        return Samples()
    try:
        samples = msgspec.convert(read_strict_json(path), thread_safe(Samples), strict=False)
    except msgspec.ValidationError as error:
        raise InputError(
            f"not a record of samples: {error}",
            where=str(path),
            hint="It is written by `assay gold sample`.",
        ) from error
    return samples


def write_samples(dataset: Path, samples: Samples) -> None:
    content = msgspec.json.format(msgspec.json.encode(samples), indent=1)
    write_atomic(sample_path(dataset), content + b"\n")


def pairs_of(samples: Samples) -> frozenset[PairKey]:
    return frozenset(pair.key for draw in samples.draws for pair in draw.pairs)


# ── drawing ───────────────────────────────────────────────────────────────────────────────────────


def draw(gold: GoldSet, size: int, *, seed: int, at: str) -> Draw:
    """`size` labelled pairs at random, in proportion to the grades, with a few of each at least."""
    by_grade: dict[int, list[DrawnPair]] = {}
    for row in sorted(gold.iter_judgments(), key=lambda row: (row.query_id, row.doc_id)):
        pair = DrawnPair(query_id=row.query_id, doc_id=row.doc_id, grade=row.grade)
        by_grade.setdefault(row.grade, []).append(pair)
    if not by_grade:
        raise UsageError("nothing is labelled yet, so there is nothing to check")
    counts = {grade: len(pairs) for grade, pairs in sorted(by_grade.items())}
    lots = random.Random(seed)
    chosen = [
        pair
        for grade, wanted in _shares(counts, size).items()
        for pair in lots.sample(by_grade[grade], wanted)
    ]
    lots.shuffle(chosen)
    return Draw(at=at, seed=seed, labels=counts, pairs=tuple(chosen))


def _shares(counts: Mapping[int, int], size: int) -> dict[int, int]:
    """How many of each grade: the few that each gets first, then one by one to the grade that is
    furthest behind its share."""
    total = sum(counts.values())
    size = min(size, total)
    least = min(LEAST, size // len(counts))
    shares = {grade: min(least, n) for grade, n in counts.items()}
    while sum(shares.values()) < size:
        room = [grade for grade in counts if shares[grade] < counts[grade]]
        behind = max(room, key=lambda grade: size * counts[grade] / total - shares[grade])
        shares[behind] += 1
    return shares


# ── the estimate ──────────────────────────────────────────────────────────────────────────────────


def spot_check_report(last_draw: Draw, gold: GoldSet, votes: Iterable[Vote]) -> SpotCheck:
    """The error rate of the labels as they were at the draw."""
    votes_of_pair = by_pair(current_votes(votes))
    now = {(row.query_id, row.doc_id): row.grade for row in gold.iter_judgments()}
    found: dict[PairKey, int] = {}
    waiting, undecided, own = 0, 0, 0
    for pair in last_draw.pairs:
        checks = [vote for vote in votes_of_pair.get(pair.key, ()) if vote.source == SPOT_CHECK]
        makers = {
            vote.judge for vote in votes_of_pair.get(pair.key, ()) if vote.source != SPOT_CHECK
        }
        grade = _count_agreeing(checks)
        waiting += not checks
        undecided += bool(checks) and grade is None
        if grade is not None:
            own += any(vote.judge in makers for vote in checks)
            found[pair.key] = grade
    strata = [_stratum(grade, last_draw, found) for grade in last_draw.labels]
    differ = [
        WrongLabel(
            query_id=pair.query_id,
            doc_id=pair.doc_id,
            label=pair.grade,
            found=found[pair.key],
            now=now.get(pair.key),
            said=[_vote_in_words(vote) for vote in votes_of_pair[pair.key]],
        )
        for pair in sorted(last_draw.pairs, key=lambda pair: pair.key)
        if pair.key in found and found[pair.key] != pair.grade
    ]
    return SpotCheck(
        at=last_draw.at,
        drawn=len(last_draw.pairs),
        judged=len(found),
        waiting=waiting,
        undecided=undecided,
        own=own,
        wrong=len(differ),
        error_rate=overall(strata),
        method=METHOD,
        by_grade=strata,
        differ=differ,
    )


def _count_agreeing(checks: Sequence[Vote]) -> int | None:
    """The grade that most of those who checked gave; None on a tie, or where all were unsure."""
    grades = Counter(vote.grade for vote in checks if vote.grade is not None).most_common()
    if not grades or (len(grades) > 1 and grades[0][1] == grades[1][1]):
        return None
    return grades[0][0]


def _vote_in_words(vote: Vote) -> str:
    role = " (spot check)" if vote.source == SPOT_CHECK else ""
    grade = "unsure" if vote.grade is None else vote.grade
    return f"{vote.judge}{role}: {grade}. {vote.rationale}".rstrip()


def _stratum(grade: int, draw: Draw, grade_of: Mapping[PairKey, int]) -> Stratum:
    drawn_pairs = [pair for pair in draw.pairs if pair.grade == grade]
    judged = [grade_of[pair.key] for pair in drawn_pairs if pair.key in grade_of]
    wrong = sum(other != grade for other in judged)
    value = wrong / len(judged) if judged else None
    return Stratum(
        grade=grade,
        labels=draw.labels[grade],
        drawn=len(drawn_pairs),
        judged=len(judged),
        wrong=wrong,
        error_rate=ErrorRate(value=value, interval=clopper_pearson(wrong, len(judged), LEVEL)),
    )


def overall(strata: Sequence[Stratum]) -> ErrorRate:
    """The share of wrong labels in the whole set: each grade's share, weighted by its labels.
    Grades of which nothing was judged are left out of it."""
    judged = [stratum for stratum in strata if stratum.judged]
    total = sum(stratum.labels for stratum in judged)
    if not total:
        return ErrorRate(value=None, interval=(0.0, 1.0))
    shares = [(stratum.labels / total, stratum) for stratum in judged]
    value = sum(share * stratum.wrong / stratum.judged for share, stratum in shares)
    variance = sum(
        share**2 * (rate := stratum.wrong / stratum.judged) * (1 - rate) / stratum.judged
        for share, stratum in shares
    )
    # never more than the pairs judged, nor than their weights are worth (Kish)
    kish = 1 / sum(share**2 / stratum.judged for share, stratum in shares)
    sizes = [float(sum(stratum.judged for stratum in judged)), kish]
    if variance:
        sizes.append(value * (1 - value) / variance)
    size = min(sizes)
    return ErrorRate(value=value, interval=clopper_pearson(value * size, size, LEVEL))

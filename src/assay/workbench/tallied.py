"""What the votes of a set come to, kept: a vote changes one pair, so one is looked at again. Pages
ask for this after every vote, and a set has ten thousand pairs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import numpy as np

from assay.core.types import GoldSet, Vote
from assay.evaluation import concordance
from assay.judging.disputes import is_disputed
from assay.judging.labelling import grade_given
from assay.judging.policy import Label, Policy, label_of
from assay.judging.pool import Pool, PooledPair, still_wanted
from assay.judging.unchecked import Unchecked
from assay.judging.votes import Pair, role_of
from assay.workbench.desk import Desk


class Agreed:
    """How far people agree who judged apart from each other, without intervals."""

    def __init__(self) -> None:
        self._grades: dict[Pair, list[tuple[str, int | None]]] = {}
        self._votes: Counter[str] = Counter()
        self._met: Counter[tuple[str, str, int, int]] = Counter()  # two judges and their grades
        self.shared = 0  # documents that two of them graded

    def take(self, pair: Pair, said: Iterable[Vote]) -> None:
        self._count(self._grades.pop(pair, []), -1)
        self._grades[pair] = sorted(
            (
                (vote.judge, vote.grade)
                for vote in said
                if vote.kind == "human" and not role_of(vote.source)
            ),
            key=lambda given: given[0],
        )
        self._count(self._grades[pair], 1)

    def _count(self, given: Sequence[tuple[str, int | None]], by: int) -> None:
        for judge, _ in given:
            self._votes[judge] += by
        graded = [(judge, grade) for judge, grade in given if grade is not None]
        self.shared += by * (len({judge for judge, _ in graded}) > 1)
        for (one, first), (other, second) in combinations(graded, 2):
            if one != other:  # a judge may have voted in two copies of the project
                self._met[one, other, first, second] += by

    @property
    def judges(self) -> int:
        return sum(votes > 0 for votes in self._votes.values())

    @property
    def kappa(self) -> float | None:
        """Linear weighted kappa over all pairs of judges, as `gold agreement` has it."""
        met = {cell: times for cell, times in self._met.items() if times}
        if not met:
            return None
        size = 1 + max(max(cell[2:]) for cell in met)
        places = {two: place for place, two in enumerate({cell[:2]: None for cell in met})}
        tables = np.zeros((len(places), size, size))
        for (one, other, first, second), times in met.items():
            tables[places[one, other], first, second] = times
        value = float(concordance.kappa(tables, 1))
        return value if np.isfinite(value) else None


class Tally:
    """The votes as far as they were taken, by one policy; and how that stands to the labels and
    the pool of the set (`hold`)."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.disputed: dict[Pair, Label] = {}  # what waits for a ruling
        self.alone = Unchecked()
        self.agreed = Agreed()
        self.uncounted: set[Pair] = set()  # whose label in the set is another one
        self.wanted: set[Pair] = set()  # pairs of the pool that still want a judge
        self._grades: dict[Pair, int | None] = {}  # what the labels will be
        self._said: dict[Pair, Sequence[Vote]] = {}
        self._labels: dict[Pair, int] = {}
        self._queries: frozenset[str] = frozenset()
        self._pooled: dict[Pair, PooledPair] = {}

    def take(self, pair: Pair, said: Sequence[Vote]) -> None:
        """What holds of a pair now."""
        label = label_of(pair, said, self.policy)
        self._said[pair], self._grades[pair] = said, grade_given(label)
        if is_disputed(label):
            self.disputed[pair] = label
        else:
            self.disputed.pop(pair, None)
        self.alone.take(pair, said)
        self.agreed.take(pair, said)
        self._stand(pair)

    def hold(self, gold: GoldSet, pool: Pool | None) -> None:
        """Against the set and its pool, which seldom change."""
        rows = gold.judgments.select("query_id", "doc_id", "grade").iter_rows()
        self._labels = {(query_id, doc_id): grade for query_id, doc_id, grade in rows}
        self._queries = frozenset(gold.query_ids)
        self._pooled = {pair.key: pair for pair in pool.pairs} if pool is not None else {}
        self.uncounted, self.wanted = set(), set()
        for pair in {**self._grades, **self._pooled}:
            self._stand(pair)

    def _stand(self, pair: Pair) -> None:
        counts = pair[0] in self._queries and pair in self._grades
        _put(self.uncounted, pair, counts and self._grades[pair] != self._labels.get(pair))
        pooled = self._pooled.get(pair)
        said = self._said.get(pair, ())
        wanted = pooled is not None and still_wanted(pooled, said, pair in self._labels)
        _put(self.wanted, pair, bool(wanted))


def _put(where: set[Pair], pair: Pair, is_there: bool) -> None:
    where.add(pair) if is_there else where.discard(pair)


# ── of a set that is open ─────────────────────────────────────────────────────────────────────────


class _Read:
    """A tally, as far as the votes of the set were read."""

    def __init__(self, desk: Desk) -> None:
        self.tally, self.life = Tally(desk.policy), desk.log.life
        self.desk: Desk | None = None
        desk.votes.changed |= dict.fromkeys(desk.votes.pairs())

    def read_on(self, desk: Desk) -> None:
        votes = desk.votes
        if self.desk is not desk:
            self.tally.hold(desk.gold, desk.pool)
            self.desk = desk
        for pair in votes.changed:
            self.tally.take(pair, votes.everything(pair))
        votes.changed.clear()


_tallies: dict[Path, _Read] = {}
_lock = threading.Lock()


@contextmanager
def tallied(desk: Desk) -> Iterator[Tally]:
    """The tally of all votes of now, which nobody changes meanwhile."""
    place = desk.dataset.resolve()
    with _lock, desk.log.reading:
        known = _tallies.get(place)
        if known is None or (known.tally.policy, known.life) != (desk.policy, desk.log.life):
            known = _tallies[place] = _Read(desk)
        known.read_on(desk)
        yield known.tally

"""What the votes of a set come to, kept: a vote changes one pair, so one is looked at again. Pages
ask for this after every vote, and a set has ten thousand pairs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import cast

import numpy as np

from assay.core.types import GoldSet, Vote
from assay.evaluation import concordance
from assay.gold.votes import Held, VoteBook
from assay.judging.disputes import is_disputed
from assay.judging.labelling import grade_given
from assay.judging.policy import Policy, label_of
from assay.judging.pool import Pool, PooledPair, still_wanted
from assay.judging.unchecked import Unchecked
from assay.judging.votes import Pair, role_of
from assay.workbench.desk import Desk


class Agreed:
    """How far people agree who judged apart from each other, without intervals."""

    def __init__(self) -> None:
        self._votes: Counter[str] = Counter()
        self._met: Counter[tuple[str, str, int, int]] = Counter()  # two judges and their grades
        self.shared = 0  # documents that two of them graded

    def count(self, said: Iterable[Vote | Held], by: int) -> None:
        """Count what holds of a pair, or with `by` -1 no longer does."""
        given = sorted(
            (
                (vote.judge, vote.grade)
                for vote in said
                if vote.kind == "human" and not role_of(vote.source)
            ),
            key=lambda each: each[0],
        )
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
        self.disputed: set[Pair] = set()  # what waits for a ruling
        self.alone = Unchecked()
        self.agreed = Agreed()
        self.uncounted: set[Pair] = set()  # whose label in the set is another one
        self.wanted: set[Pair] = set()  # pairs of the pool that still want a judge
        self._grades: dict[Pair, int | None] = {}  # what the labels will be
        self._said: dict[Pair, Sequence[Vote | Held]] = {}
        self._labels: dict[Pair, int] = {}
        self._queries: frozenset[str] = frozenset()
        self._pooled: dict[Pair, PooledPair] = {}

    def take(self, pair: Pair, said: Sequence[Vote | Held]) -> None:
        """What holds of a pair now."""
        before = self._said.get(pair, ())
        label = label_of(pair, cast("Sequence[Vote]", said), self.policy)
        self._said[pair], self._grades[pair] = said, grade_given(label)
        _put(self.disputed, pair, is_disputed(label))
        for counted, by in ((before, -1), (said, 1)):
            self.alone.count(pair, counted, by)
            self.agreed.count(counted, by)
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
        given = cast("Sequence[Vote]", said)
        wanted = pooled is not None and still_wanted(pooled, given, pair in self._labels)
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
            self.tally.take(pair, _enough_of(votes, pair, desk.policy))
        votes.changed.clear()


def _enough_of(votes: VoteBook, pair: Pair, policy: Policy) -> Sequence[Vote | Held]:
    """What a label is made of. Most labels need no more of a vote than is kept in memory; the times
    of votes count where somebody ruled or checked, and where the last vote decides."""
    heads = votes.heads(pair)
    timed = policy.name == "latest" or any(role_of(vote.source) for vote in heads)
    return votes.everything(pair) if timed else heads


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

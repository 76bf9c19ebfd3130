"""`assay gold agreement` and the agreement page: the figures of `judging/agreement.py` for one set,
kept until a vote comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

import msgspec

from assay import formats
from assay.core.errors import AssayError, InputError, UsageError
from assay.core.files import write_atomic
from assay.judging import rubrics
from assay.judging.agreement import Agreement as Agreement
from assay.judging.agreement import AgreementFigure as AgreementFigure
from assay.judging.agreement import Kind, agreement
from assay.judging.votes import read_votes
from assay.workbench.judging.session import JudgingSession, open_session
from assay.workbench.judging.vote_totals import vote_totals
from assay.workbench.project.service import Service

# ── A cache for values that take long to compute ──────────────────────────────────────────────────

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

QUICK = 0.1  # seconds of processor time that a reader may wait; taste
PATIENCE = 30  # a slow value is kept for this many times the time it took; taste


@dataclass(frozen=True)
class _CacheEntry(Generic[V]):
    state: object
    value: V
    took: float  # seconds of processor time
    until: float  # when it may be computed again


class StaleCache(Generic[K, V]):
    """A cache of one value per key, with the state of the files it was computed from."""

    def __init__(self) -> None:
        self._entries: dict[K, _CacheEntry[V]] = {}
        self._locks: dict[K, threading.Lock] = {}

    def get(self, key: K, state: object, compute: Callable[[], V]) -> V:
        """The value for the current `state` of the files, or the last one if it was slow."""
        entry = self._entries.get(key)
        if entry is not None and entry.state == state:
            return entry.value
        lock = self._locks.setdefault(key, threading.Lock())
        if entry is None or entry.took <= QUICK:
            with lock:
                return self._compute_and_keep(key, state, compute)
        if time.monotonic() >= entry.until and lock.acquire(blocking=False):
            work = (key, state, compute, lock)
            threading.Thread(target=self._in_background, args=work, daemon=True).start()
        return entry.value

    def _in_background(
        self, key: K, state: object, compute: Callable[[], V], lock: threading.Lock
    ) -> None:
        try:
            self._compute_and_keep(key, state, compute)
        except AssayError:  # the next reader waits for the value, and gets the error
            self._entries.pop(key, None)
        finally:
            lock.release()

    def _compute_and_keep(self, key: K, state: object, compute: Callable[[], V]) -> V:
        entry = self._entries.get(key)
        if entry is not None and entry.state == state:  # another reader has computed it
            return entry.value
        begun = time.thread_time()
        value = compute()
        took = time.thread_time() - begun
        self._entries[key] = _CacheEntry(state, value, took, time.monotonic() + PATIENCE * took)
        return value


# ── agreement of a set ────────────────────────────────────────────────────────────────────────────


Strength = Literal["none", "minimal", "weak", "moderate", "strong", "almost perfect"]
# McHugh (2012), Interrater reliability: the kappa statistic
STRENGTHS: tuple[tuple[float, Strength], ...] = (
    (0.20, "none"),
    (0.39, "minimal"),
    (0.59, "weak"),
    (0.79, "moderate"),
    (0.90, "strong"),
    (1.00, "almost perfect"),
)


class AgreementRow(msgspec.Struct, frozen=True, kw_only=True):
    """A gold set in the list of the agreement page: documents that `people` and `machines` judged,
    without rulings and checks. `disputes` need a ruling."""

    name: str
    title: str
    votes: int = 0
    people: int = 0
    machines: int = 0
    disputes: int = 0
    error: str = ""


class TwoJudges(msgspec.Struct, frozen=True, kw_only=True):
    """How far two judges agree, for one sentence. `lenient` is the judge who gives higher grades,
    where that is certain."""

    judges: tuple[str, str]
    pairs: int
    exact: float | None
    kappa: float | None
    strength: Strength | None
    lenient: str = ""


# ── the command ───────────────────────────────────────────────────────────────────────────────────


def judges_agreement(
    dataset: Path, *, kind: Kind | None = None, judges: Collection[str] = ()
) -> Agreement:
    """The agreement between the judges of a set, computed from the votes in its log. A set whose
    rubric is missing counts documents as relevant from grade 1."""
    gold = formats.read_gold(dataset)
    try:
        rubric = rubrics.of_set(gold, dataset)
        relevant_from = rubric.relevant_from
    except InputError:
        relevant_from = 1
    votes = read_votes(dataset)
    return agreement(gold, votes, relevant_from=relevant_from, kind=kind, judges=judges)


def write_agreement(figures: Agreement, output: Path) -> None:
    from assay.reports.agreement import agreement_markdown

    if output.suffix != ".md":
        raise UsageError(
            f"the agreement must be written as .md, not {output.suffix or 'without an ending'}",
            where=str(output),
            hint="--json prints it for programs.",
        )
    write_atomic(output, agreement_markdown(figures))


# ── the page ──────────────────────────────────────────────────────────────────────────────────────


def agreement_list(service: Service) -> list[AgreementRow]:
    return [_row(name, dataset) for name, dataset in service.gold_sets.items()]


def _row(name: str, dataset: Path) -> AgreementRow:
    try:
        session = open_session(dataset)
    except AssayError as error:
        return AgreementRow(name=name, title=name, error=str(error))
    votes, kinds = session.votes.voted_documents, session.votes.kind_of_judge
    judges = {judge for judge, _ in votes if judge in kinds}
    people = {judge for judge in judges if kinds[judge] == "human"}
    with vote_totals(session) as totals:
        return AgreementRow(
            name=name,
            title=session.gold.name,
            votes=sum(len(docs) for (judge, _), docs in votes.items() if judge in judges),
            people=len(people),
            machines=len(judges - people),
            disputes=len(totals.disputes()),
        )


def agreement_of(dataset: Path) -> tuple[Agreement, int]:
    """The agreement on a set, and how many votes are newer than the figures: 10,000 pairs take
    0.8 seconds, which no reader waits for after the first."""
    session = open_session(dataset)
    state = session.stamps, session.log.generation, len(session.votes.ids)
    figures, counted = _figures.get(dataset, state, lambda: _compute(session))
    return figures, max(len(session.votes.ids) - counted, 0)


def _compute(session: JudgingSession) -> tuple[Agreement, int]:
    votes, relevant_from = session.log.votes(), session.rubric.relevant_from
    return agreement(session.gold, votes, relevant_from=relevant_from), len(votes)


_figures: StaleCache[Path, tuple[Agreement, int]] = StaleCache()


def facts_of(figures: Agreement) -> list[TwoJudges]:
    """The agreement of every two judges who share documents, most documents first."""
    found = []
    for two in figures.by_pair:
        kappa = two.agreement.weighted_kappa.value
        found.append(
            TwoJudges(
                judges=two.judges,
                pairs=two.agreement.pairs,
                exact=two.agreement.exact.value,
                kappa=kappa,
                strength=strength_of(kappa),
                lenient=_lenient(figures, two.judges),
            )
        )
    return sorted(found, key=lambda fact: -fact.pairs)


def strength_of(kappa: float | None) -> Strength | None:
    if kappa is None:
        return None
    return next(name for limit, name in STRENGTHS if round(kappa, 2) <= limit)


def _lenient(figures: Agreement, judges: tuple[str, str]) -> str:
    one, other = (
        figures.consensus[judge].leaning if judge in figures.consensus else "" for judge in judges
    )
    if "lenient" == one != other or "strict" == other != one:
        return judges[0]
    return judges[1] if other == "lenient" or one == "strict" else ""

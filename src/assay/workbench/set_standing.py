"""Where a gold set stands: how much is judged, approved and agreed on, and what waits for people.

Read from the files beside the set, and again when one of them changes: see `kept`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from assay import formats
from assay.core.errors import AssayError, InputError
from assay.core.fingerprints import gold_fingerprint
from assay.core.types import GoldSet, Vote, standing
from assay.evaluation import concordance
from assay.judging.comparisons import Comparisons, Scale, compared
from assay.judging.disputes import list_disputes
from assay.judging.policy import labels, policy_path, read_policy
from assay.judging.pool import PEOPLE, Pool, pool_path, read_pool, waiting
from assay.judging.votes import RULING, SAMPLE, current, read_votes, votes_path
from assay.workbench.desk import desk_of
from assay.workbench.disputed import open_labels, uncounted
from assay.workbench.kept import Kept


class SetStanding(msgspec.Struct, frozen=True, kw_only=True):
    """`approved` of `queries` rows, where the set has rows to approve; `kappa` where two people
    graded the same documents. `to_judge` are pairs of the pool, `disputes` wait for a ruling."""

    name: str
    path: str
    queries: int = 0
    judgments: int = 0
    golden: bool = False
    status: str = ""
    approved: int | None = None
    to_approve: int = 0
    kappa: float | None = None
    shared: int = 0  # documents that two people graded
    judges: int = 0
    to_judge: int = 0
    disputes: int = 0
    uncounted: int = 0  # documents judged since the labels were made
    fingerprint: str = ""  # of its queries and labels, as the receipt of a run has it
    by_machine: int = 0
    right_to_left: bool = False
    error: str = ""


def set_standing(name: str, path: Path) -> SetStanding:
    return msgspec.structs.replace(_standings.get(path, _state(path)), name=name)


def _looked_at(path: Path) -> SetStanding:
    try:
        return _read(path)
    except (AssayError, OSError) as error:
        return SetStanding(name=path.stem, path=str(path), error=str(error))


_standings: Kept[Path, SetStanding] = Kept(_looked_at)


def _state(path: Path) -> tuple[object, ...]:
    """What tells that a file changed; of a folder the files in it."""
    beside = [votes_path(path), pool_path(path), policy_path(path)]
    inside = sorted(path.rglob("*")) if path.is_dir() else []
    return tuple(_stamp(file) for file in (path, *beside, *inside))


def _stamp(file: Path) -> tuple[str, int, int]:
    try:
        status = file.stat()
    except OSError:
        return str(file), 0, -1
    return str(file), status.st_mtime_ns, status.st_size


def _read(path: Path) -> SetStanding:
    gold, votes, pool, disputes, newer = _opened(path)
    approved = gold.approved_rows if gold.from_logs else None
    total = len(gold.queries)
    people = _apart(votes)
    seen = _between_people(gold, people)
    return SetStanding(
        name=gold.name,
        path=str(path),
        queries=total,
        judgments=gold.judgments.height,
        golden=any(query.checks for query in gold.queries),
        status=standing(approved, total) if approved is not None else gold.status or "unknown",
        approved=approved,
        to_approve=total - approved if approved is not None else 0,
        kappa=_kappa(seen),
        shared=len(np.unique(seen.unit)),
        judges=len({vote.judge for vote in people}),
        to_judge=len(waiting(pool, gold, votes, PEOPLE)) if pool else 0,
        disputes=disputes,
        uncounted=newer,
        fingerprint=_fingerprint(path, gold),
        by_machine=gold.labelling.by_machine if gold.labelling else 0,
        right_to_left=_is_rtl(gold),
    )


_prints: dict[Path, tuple[GoldSet, str]] = {}


def _fingerprint(path: Path, gold: GoldSet) -> str:
    """Found once as long as the set is the same: votes change every second, and a set seldom."""
    known = _prints.get(path)
    if known is None or known[0] is not gold:
        known = _prints[path] = gold, gold_fingerprint(gold)
    return known[1]


def _is_rtl(gold: GoldSet) -> bool:
    some = "".join(query.text for query in gold.queries[:20])
    letters = [letter for letter in some if letter.isalpha()]
    return sum("\u0590" <= letter <= "\u07ff" for letter in letters) * 2 > len(letters) > 0


def _opened(path: Path) -> tuple[GoldSet, list[Vote], Pool | None, int, int]:
    """The set as it is open for judging; one whose rubric is not here can be looked at too."""
    try:
        desk = desk_of(path)
    except InputError:
        gold, votes = formats.read_gold(path), read_votes(votes_path(path))
        made = labels(votes, read_policy(path)).values()
        return gold, votes, read_pool(path), len(list_disputes(gold, made)), 0
    with desk.votes.reading:
        votes = list(desk.votes.ids.values())
    return desk.gold, votes, desk.pool, len(open_labels(desk)), uncounted(desk)


# ── agreement, without intervals ──────────────────────────────────────────────────────────────────


def _apart(votes: Sequence[Vote]) -> list[Vote]:
    """What people said who judged apart from each other."""
    return [
        vote
        for vote in current(votes)
        if vote.kind == "human" and vote.source not in (RULING, SAMPLE)
    ]


def _between_people(gold: GoldSet, votes: Sequence[Vote]) -> Comparisons:
    grades = [vote.grade for vote in votes if vote.grade is not None]
    scale = Scale(
        lowest=min([0, *grades]), highest=max([gold.max_grade, *grades, 1]), relevant_from=1
    )
    return compared(votes, scale, lambda one, other: one.judge != other.judge)


def _kappa(seen: Comparisons) -> float | None:
    """Linear weighted kappa over all pairs of judges, as `gold agreement` has it."""
    if not len(seen.unit):
        return None
    size = len(seen.scale.grades)
    tables = np.zeros((len(seen.judges), size, size))
    np.add.at(tables, (seen.between, seen.first, seen.second), 1)
    value = float(concordance.kappa(tables, 1))
    return value if np.isfinite(value) else None

"""Who has judged here: the names that stand beside votes, also where nobody has an account."""

from __future__ import annotations

import msgspec

from assay.core.errors import AssayError
from assay.core.types import VoteKind
from assay.judging.votes import UNNAMED, has_log, role_of
from assay.workbench.desk import desk_of
from assay.workbench.opening import Service

__all__ = ["Voter", "dealt_names", "dealt_to_others", "voters"]


class Voter(msgspec.Struct, frozen=True, kw_only=True):
    """A name with the votes that hold now, on all sets and without rulings, as Agreement counts
    them; and the moment of the last."""

    name: str
    kind: VoteKind
    votes: int
    last: str


def dealt_names(service: Service) -> list[str]:
    """The judges that pools are dealt to."""
    names: set[str] = set()
    for path in service.gold_sets.values():
        try:
            pool = desk_of(path).pool
        except (AssayError, OSError):  # the set's own page says what is wrong with it
            continue
        names.update(pool.judges if pool is not None else ())
    return sorted(names)


def dealt_to_others(service: Service, name: str, role: str) -> list[str]:
    """For a judge who is invited under a name that no pool knows: the names that pools know."""
    names = dealt_names(service) if role == "judge" else []
    return [] if name in names else names


def voters(service: Service) -> list[Voter]:
    """Those with most votes first."""
    known: dict[tuple[str, VoteKind], list[str]] = {}
    for path in service.gold_sets.values():
        if not has_log(path):
            continue
        try:
            desk = desk_of(path)
        except (AssayError, OSError):  # the set's own page says what is wrong with it
            continue
        with desk.log.reading:
            for vote in desk.votes.current():
                if vote.judge != UNNAMED and not role_of(vote.source):
                    known.setdefault((vote.judge, vote.kind), []).append(vote.at)
    found = [
        Voter(name=name, kind=kind, votes=len(moments), last=max(moments))
        for (name, kind), moments in known.items()
    ]
    return sorted(found, key=lambda voter: (-voter.votes, voter.name))

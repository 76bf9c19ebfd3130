"""The judges of a project: everybody who has voted, and everybody a pool is dealt to. They need no
account."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from assay.core.errors import AssayError
from assay.core.types import VoteKind
from assay.judging.votes import UNNAMED, role_of
from assay.workbench.judging_session import JudgingSession, open_session
from assay.workbench.opening import Service


class Voter(msgspec.Struct, frozen=True, kw_only=True):
    """A judge, how many votes of theirs hold on all sets, without rulings, and the time of the
    last."""

    name: str
    kind: VoteKind
    votes: int
    last: str


def _sessions(service: Service) -> Iterator[JudgingSession]:
    """The sets that can be opened; the page of a set explains why it cannot."""
    for path in service.gold_sets.values():
        try:
            yield open_session(path)
        except (AssayError, OSError):
            continue


def dealt_to_others(service: Service, name: str, role: str) -> list[str]:
    """The judges that pools are dealt to, if a new judge is none of them."""
    pools = (session.pool for session in _sessions(service))
    names = {judge for pool in pools if pool is not None for judge in pool.judges}
    return sorted(names) if role == "judge" and name not in names else []


def voters(service: Service) -> list[Voter]:
    """Everybody who has voted, most votes first."""
    times: dict[tuple[str, VoteKind], list[str]] = {}
    for session in _sessions(service):
        with session.log.reading:
            for vote in session.votes.current():
                if vote.judge != UNNAMED and not role_of(vote.source):
                    times.setdefault((vote.judge, vote.kind), []).append(vote.at)
    found = [
        Voter(name=name, kind=kind, votes=len(given), last=max(given))
        for (name, kind), given in times.items()
    ]
    return sorted(found, key=lambda voter: (-voter.votes, voter.name))

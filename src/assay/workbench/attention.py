"""What waits for people, in two numbers: the pill at the top of every page."""

from __future__ import annotations

from dataclasses import dataclass

from assay.workbench.backlog import backlog
from assay.workbench.opening import Service


@dataclass(frozen=True)
class Waiting:
    count: int
    oldest_days: int
    place: str  # the page where it is cleared


def waiting(service: Service, name: str = "") -> Waiting | None:
    """What waits for review; nothing when nothing does."""
    found = backlog(service)
    if not found.pending_review or found.oldest_pending_at is None:
        return None
    age = service.clock() - found.oldest_pending_at
    return Waiting(count=found.pending_review, oldest_days=age.days, place="/review")

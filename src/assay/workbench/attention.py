"""What waits for people, in two numbers: the pill at the top of every page."""

from __future__ import annotations

from dataclasses import dataclass

from assay.workbench.opening import Service


@dataclass(frozen=True)
class Waiting:
    count: int
    oldest_days: int
    place: str  # the page where it is cleared


def waiting(service: Service, name: str = "") -> Waiting | None:
    """What waits for review; nothing when nothing does."""
    count, oldest = service.store.waiting()
    if not count or oldest is None:
        return None
    return Waiting(count=count, oldest_days=(service.clock() - oldest).days, place="/review")

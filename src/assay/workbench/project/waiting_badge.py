"""What waits for people: the pill at the top of every page."""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.errors import AssayError
from assay.judging.pool import pool_path
from assay.workbench.judging.session import open_session
from assay.workbench.project.service import Service
from assay.workbench.review.queue import pending


@dataclass(frozen=True)
class Waiting:
    """Pairs that wait for this judge, and what waits for the chair."""

    judge: int
    review: int
    oldest_days: int  # of what waits for the chair


def waiting(service: Service, name: str = "") -> Waiting | None:
    """Nothing when nothing does."""
    pending_items = pending(service)
    review, oldest = len(pending_items), min((i.created_at for i in pending_items), default=None)
    judge = sum(_left(service, gold, name) for gold in service.gold_sets)
    if not judge and not review:
        return None
    days = (service.clock() - oldest).days if oldest is not None else 0
    return Waiting(judge=judge, review=review, oldest_days=days)


def _left(service: Service, gold: str, name: str) -> int:
    """A set that cannot be read says so on its own page."""
    path = service.gold_sets[gold]
    if not pool_path(path).exists():
        return 0
    try:
        return open_session(path).left(name)
    except (AssayError, OSError):
        return 0

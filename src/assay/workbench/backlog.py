"""`assay backlog`: what waits for the expert, as numbers; what is over its limit, and who is
told."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.review import waiting
from assay.review.waiting import Backlog, HalachaBacklog, Limits, breaches, notify
from assay.workbench.opening import Service, stored_name

__all__ = [
    "Backlog",
    "BacklogFigures",
    "HalachaBacklog",
    "Limits",
    "backlog",
    "backlog_figures",
    "check_backlog",
    "tell",
]


class BacklogFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The backlog in full, and as the block of six that the specification names."""

    backlog: Backlog
    halacha_backlog: HalachaBacklog


def backlog(service: Service, *, gold: str = "", weeks: int = 4) -> Backlog:
    """Of one gold set, or of all."""
    name = stored_name(service, gold)
    return waiting.backlog(service.store, gold=name, now=service.clock(), weeks=weeks)


def check_backlog(service: Service, limits: Limits, *, gold: str = "") -> tuple[Backlog, list[str]]:
    """The backlog and what is over its limit."""
    figures = backlog(service, gold=gold)
    return figures, breaches(figures, limits)


def tell(webhook: str, figures: Backlog, problems: Sequence[str]) -> None:
    """Tell a webhook what is over its limit."""
    notify(webhook, figures, problems)


def backlog_figures(service: Service, *, gold: str = "") -> BacklogFigures:
    figures = backlog(service, gold=gold)
    return BacklogFigures(backlog=figures, halacha_backlog=waiting.halacha_backlog(figures))

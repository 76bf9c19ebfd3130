"""`assay backlog`: what waits for the expert, as numbers; what is over its limit, and who is
told."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core.types import JsonObject
from assay.review import waiting
from assay.review.outside import TheirBacklog, their_backlogs
from assay.review.waiting import Backlog, HalachaBacklog, Limits, breaches, notify
from assay.workbench.config import CONFIG_NAME, read_config
from assay.workbench.opening import NoStore, Service
from assay.workbench.review_queue import items

__all__ = [
    "Backlog",
    "BacklogFigures",
    "HalachaBacklog",
    "Limits",
    "NoStore",
    "TheirBacklog",
    "backlog",
    "backlog_figures",
    "check_backlog",
    "configured_backlogs",
    "counted_lately",
    "own_backlogs",
    "tell",
    "with_theirs",
]


class BacklogFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Assay's own queue in full; the tables of the user's by their names; and the block of six that
    the specification names: that of a table called halacha where there is one, else the queue's,
    and none where that table cannot be read."""

    backlog: Backlog
    halacha_backlog: HalachaBacklog | None
    backlogs: dict[str, TheirBacklog] = {}


def backlog(service: Service, *, gold: str = "", weeks: int = 4) -> Backlog:
    """Of one gold set, or of all."""
    return waiting.backlog(items(service, gold), now=service.clock(), weeks=weeks)


def check_backlog(service: Service, limits: Limits, *, gold: str = "") -> tuple[Backlog, list[str]]:
    """The backlog and what is over its limit. A set that cannot be read is refused: a limit would
    hold because nothing of it is counted."""
    for name, path in service.gold_sets.items() if not gold else ():
        if path.exists():
            items(service, name)
    figures = backlog(service, gold=gold)
    return figures, breaches(figures, limits)


def tell(webhook: str, figures: Backlog, problems: Sequence[str]) -> None:
    """Tell a webhook what is over its limit."""
    notify(webhook, figures, problems)


def own_backlogs(service: Service) -> dict[str, TheirBacklog]:
    """The tables that `[backlog.NAME]` of the configuration names, each counted now."""
    sources = service.config.backlog if service.config is not None else {}
    return their_backlogs(sources, service.clock())


_counted: dict[bytes, tuple[float, dict[str, TheirBacklog]]] = {}
_lock = threading.Lock()
LATELY_SECONDS = 10.0


def counted_lately(service: Service) -> dict[str, TheirBacklog]:
    """The same for a service, counted every few seconds at most: somebody else's database is not
    asked for every visitor, nor twice at a time."""
    sources = service.config.backlog if service.config is not None else {}
    if not sources:
        return {}
    key = msgspec.json.encode(sources)
    with _lock:
        at, found = _counted.get(key, (0.0, {}))
        if not found or time.monotonic() - at > LATELY_SECONDS:
            found = own_backlogs(service)
            _counted[key] = time.monotonic(), found
    return found


def configured_backlogs() -> dict[str, TheirBacklog]:
    """Those of the configuration in this folder, where there is no store yet."""
    path = Path(CONFIG_NAME)
    sources = read_config(path).backlog if path.exists() else {}
    return their_backlogs(sources, datetime.now(UTC))


def backlog_figures(service: Service, *, gold: str = "") -> BacklogFigures:
    figures, theirs = backlog(service, gold=gold), counted_lately(service)
    table = theirs.get("halacha")
    return BacklogFigures(
        backlog=figures,
        halacha_backlog=waiting.halacha_backlog(figures) if table is None else _six(table),
        backlogs=theirs,
    )


def _six(table: TheirBacklog) -> HalachaBacklog | None:
    if (
        table.pending_review is None
        or table.approved is None
        or table.rejected is None
        or table.published is None
        or table.total is None
    ):
        return None
    return HalachaBacklog(
        pending_review=table.pending_review,
        approved=table.approved,
        rejected=table.rejected,
        published=table.published,
        total=table.total,
        oldest_pending_at=table.oldest_pending_at,
    )


def with_theirs(figures: Backlog | None, theirs: Mapping[str, TheirBacklog]) -> JsonObject:
    """For programs: the queue as it always was, and the user's own tables where there are some."""
    queue: JsonObject = msgspec.to_builtins(figures) if figures is not None else {}
    return queue | ({"backlogs": msgspec.to_builtins(theirs)} if theirs else {})

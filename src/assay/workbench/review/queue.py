"""The review queue of all gold sets: as a list, filtered by set, corpus, practice area, kind and
age, and as a backlog, with what is pending in external backlogs and what is over its limit."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.errors import AssayError, InputError
from assay.core.types import Page, page_of, page_size
from assay.review import backlog as figures_of_queue
from assay.review.backlog import Backlog as Backlog
from assay.review.backlog import ExternalBacklog as ExternalBacklog
from assay.review.backlog import (
    HalachaBacklog,
    breaches,
    count_external_backlog,
    count_external_backlogs,
)
from assay.review.backlog import Limits as Limits
from assay.review.backlog import notify as notify
from assay.review.queue import ReviewItem as ReviewItem
from assay.review.queue import is_stray, items_of
from assay.workbench.project.config import CONFIG_NAME, read_config
from assay.workbench.project.service import NoStore as NoStore
from assay.workbench.project.service import Service, gold_path

WEEK, MONTH = timedelta(days=7), timedelta(days=30)


class QueueFilter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of the queue; an empty value leaves everything in. `age`: `new` is a week at most,
    `week` and `month` are longer than that."""

    gold: str = ""
    corpus: str = ""
    practice_area: str = ""
    kind: str = ""
    age: Literal["", "new", "week", "month"] = ""
    state: str = "pending_review"


class FilterValue(msgspec.Struct, frozen=True):
    """A value of a filter, and how many pending items have it."""

    value: str
    items: int


class QueueFilterValues(msgspec.Struct, frozen=True, kw_only=True):
    gold: list[FilterValue]
    corpus: list[FilterValue]
    practice_area: list[FilterValue]
    kind: list[FilterValue]


class QueuedItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item, and how many days ago it was queued."""

    item: ReviewItem
    days: int


class QueueListing(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the filtered queue. `total` counts the items that pass the filter, `waiting` all
    pending items."""

    items: list[QueuedItem]
    total: int
    waiting: int
    offset: int
    next_offset: int | None
    choices: QueueFilterValues


class Neighbours(msgspec.Struct, frozen=True):
    """The place of an item in a list: how many come before it, and the ids beside it."""

    place: int
    previous: str
    next: str


def items(service: Service, gold: str = "") -> list[ReviewItem]:
    """The items of one gold set, or of all, pending and decided, the oldest first. Among all, a set
    that cannot be read is left out: its own page says why."""
    names = [gold] if gold else list(service.gold_sets)
    found: list[ReviewItem] = []
    for name in names:
        try:
            path = gold_path(service, name)
            if gold or path.exists():
                named = (key for key, file in service.gold_sets.items() if file == path)
                found += items_of(next(named, path.stem), path)
        except (AssayError, OSError):
            if gold:
                raise
    return sorted(found, key=_order) if len(names) > 1 else found


def find_item(service: Service, item_id: str) -> ReviewItem | None:
    """One item, whatever its state; None where there is no such item."""
    return next((item for item in items(service) if item.id == item_id), None)


def find_items(service: Service, ids: Sequence[str]) -> dict[str, ReviewItem]:
    wanted = set(ids)
    return {item.id: item for item in items(service) if item.id in wanted}


def pending_items(service: Service, gold: str = "") -> list[ReviewItem]:
    return [item for item in items(service, gold) if item.state == "pending_review"]


def stray_items(service: Service, gold: str = "") -> list[ReviewItem]:
    """Pending suggestions that cannot be accepted, since their query has left the gold set."""
    return [item for item in items(service, gold) if is_stray(item)]


def say_pending(service: Service) -> None:
    """Tell who starts a server how much of each set is pending, and which set cannot be read."""
    for name in service.gold_sets:
        try:
            count = len(pending_items(service, name))
        except (AssayError, OSError) as error:
            service.say(f"{name} cannot be read: {error}")
            continue
        if count:
            service.say(f"{name}: {count} pending review")


def filter_items(service: Service, queue_filter: QueueFilter) -> list[ReviewItem]:
    """The items that pass a filter, the oldest first."""
    now = service.clock()
    since = now - WEEK if queue_filter.age == "new" else None
    before = {"week": now - WEEK, "month": now - MONTH}.get(queue_filter.age)
    names = ("corpus", "practice_area", "kind", "state")
    wanted = {name: value for name in names if (value := getattr(queue_filter, name))}
    return [
        item
        for item in items(service, queue_filter.gold)
        if all(getattr(item, name) == value for name, value in wanted.items())
        and (since is None or item.created_at >= since)
        and (before is None or item.created_at < before)
    ]


def queue(
    service: Service,
    *,
    gold: str = "",
    limit: int = 50,
    offset: int = 0,
) -> Page[ReviewItem]:
    """A page of the pending items, the oldest first."""
    size = page_size(limit)
    found = filter_items(service, QueueFilter(gold=gold, state="pending_review"))
    return page_of(found[offset : offset + size + 1], offset, size)


def listing(
    service: Service, queue_filter: QueueFilter, *, limit: int = 50, offset: int = 0
) -> QueueListing:
    """A page of the items that pass a filter, and the values that filters can have."""
    passing, start = filter_items(service, queue_filter), max(offset, 0)
    page = page_of(passing[start : start + page_size(limit) + 1], start, page_size(limit))
    waiting, now = pending_items(service), service.clock()
    choices = {
        name: [
            FilterValue(value, n)
            for value, n in sorted(Counter(getattr(item, name) for item in waiting).items())
            if value
        ]
        for name in QueueFilterValues.__struct_fields__
    }
    return QueueListing(
        items=[
            QueuedItem(item=item, days=max((now - item.created_at).days, 0)) for item in page.items
        ],
        total=len(passing),
        waiting=len(waiting),
        offset=start,
        next_offset=page.next_offset,
        choices=QueueFilterValues(**choices),
    )


def neighbours(service: Service, queue_filter: QueueFilter, item: ReviewItem) -> Neighbours:
    """The place of an item among those that pass a filter, whether it passes itself or not."""
    others = [other for other in filter_items(service, queue_filter) if other.id != item.id]
    place = sum(_order(other) < _order(item) for other in others)
    return Neighbours(
        place=place,
        previous=others[place - 1].id if place else "",
        next=others[place].id if place < len(others) else "",
    )


def _order(item: ReviewItem) -> tuple[datetime, str, str]:
    return item.created_at, item.ref, item.id


# ── backlog ───────────────────────────────────────────────────────────────────────────────────────


RECENT_SECONDS = 10.0  # how long a server keeps the counts of external backlogs; taste


class BacklogFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The review queue, the external backlogs by name, and the six figures that the specification
    names: of the external backlog called halacha if there is one (None if it cannot be read), else
    of the review queue."""

    backlog: Backlog
    halacha_backlog: HalachaBacklog | None
    backlogs: dict[str, ExternalBacklog] = {}


def backlog(service: Service, *, gold: str = "") -> Backlog:
    """The backlog of one gold set, or of all."""
    return figures_of_queue.backlog(items(service, gold), service.clock())


def check_backlog(service: Service, limits: Limits, *, gold: str = "") -> tuple[Backlog, list[str]]:
    """The backlog and what is over its limit. A gold set that cannot be read is an error: its items
    would not be counted."""
    for name, path in service.gold_sets.items() if not gold else ():
        if path.exists():
            items(service, name)
    figures = backlog(service, gold=gold)
    return figures, breaches(figures, limits)


def external_backlogs(service: Service) -> dict[str, ExternalBacklog]:
    """The external backlogs of the configuration, counted now."""
    sources = service.config.backlog if service.config is not None else {}
    return count_external_backlogs(sources, service.clock())


_recent: dict[bytes, tuple[float, dict[str, ExternalBacklog]]] = {}
_lock = threading.Lock()


def recent_external_backlogs(service: Service) -> dict[str, ExternalBacklog]:
    """The external backlogs for a running service, which counts them every few seconds at most,
    however many visitors it has."""
    sources = service.config.backlog if service.config is not None else {}
    if not sources:
        return {}
    key = msgspec.json.encode(sources)
    with _lock:
        at, found = _recent.get(key, (0.0, {}))
        if not found or time.monotonic() - at > RECENT_SECONDS:
            found = external_backlogs(service)
            _recent[key] = time.monotonic(), found
    return found


def configured_backlogs() -> dict[str, ExternalBacklog]:
    """The external backlogs of the configuration in this folder, for when there is no store yet."""
    path = Path(CONFIG_NAME)
    sources = read_config(path).backlog if path.exists() else {}
    return count_external_backlogs(sources, datetime.now(UTC))


def backlog_figures(service: Service, *, gold: str = "") -> BacklogFigures:
    """The figures of everything pending, in one gold set or all, and of the external backlogs."""
    figures, external = backlog(service, gold=gold), recent_external_backlogs(service)
    six = external.get("halacha", figures)
    return BacklogFigures(
        backlog=figures,
        halacha_backlog=_six_figures(six) if six.total is not None else None,
        backlogs=external,
    )


def configured_backlog(name: str, config: Path) -> HalachaBacklog:
    """The figures of one external backlog of a configuration, counted now."""
    sources = read_config(config).backlog
    if name not in sources:
        known = f"It has {', '.join(sources)}." if sources else f"Add a table [backlog.{name}]."
        raise InputError(f"there is no backlog {name!r}", where=str(config), hint=known)
    return _six_figures(count_external_backlog(name, sources[name], datetime.now(UTC)))


def _six_figures(source: Backlog | ExternalBacklog) -> HalachaBacklog:
    """The counts of a source, with its other states as one count."""
    counts = {figure.name: getattr(source, figure.name) for figure in fields(HalachaBacklog)}
    if isinstance(source, ExternalBacklog):
        counts["other"] = sum(source.other.values())
    return HalachaBacklog(**counts)

"""The chair's queue as a list: what is pending, by set, corpus, practice area, kind and age."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from assay.core.errors import AssayError
from assay.review.queue import ReviewItem, items_of
from assay.workbench.opening import Service, gold_path
from assay.workbench.paging import page_of, page_size

__all__ = ["Asked", "Choice", "Listing", "Neighbours", "Waiting", "around", "items", "listing"]

Age = Literal["", "new", "week", "month"]
WEEK, MONTH = timedelta(days=7), timedelta(days=30)


class Asked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which part of the queue; what is empty is everything. `age`: `new` waits for a week at most,
    `week` and `month` for longer than that."""

    gold: str = ""
    corpus: str = ""
    practice_area: str = ""
    kind: str = ""
    age: Age = ""
    state: str = "pending_review"


class Choice(msgspec.Struct, frozen=True):
    """A value that can be asked for, and how many items have it."""

    value: str
    items: int


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    gold: list[Choice]
    corpus: list[Choice]
    practice_area: list[Choice]
    kind: list[Choice]


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list."""

    item: ReviewItem
    days: int  # since it was queued


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the list, how many pass, and what else could be asked for."""

    items: list[Waiting]
    total: int
    waiting: int  # whatever is asked for
    offset: int
    next_offset: int | None
    choices: Choices


class Neighbours(msgspec.Struct, frozen=True):
    """Where an item stands in a list: how many come before it, and the ids beside it."""

    place: int
    previous: str
    next: str


def items(service: Service, gold: str = "") -> list[ReviewItem]:
    """Everything that waits or was decided in one set, or in all; the oldest first. A set that
    cannot be read says so on its own page."""
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


def pending(service: Service, gold: str = "") -> list[ReviewItem]:
    return [item for item in items(service, gold) if item.state == "pending_review"]


def say_pending(service: Service) -> None:
    """Tell who starts a server how much of each set is pending, and which set cannot be read."""
    for name in service.gold_sets:
        try:
            waiting = len(pending(service, name))
        except (AssayError, OSError) as error:
            service.say(f"{name} cannot be read: {error}")
            continue
        if waiting:
            service.say(f"{name}: {waiting} pending review")


def asked_for(service: Service, asked: Asked) -> list[ReviewItem]:
    """The items that pass, the oldest first."""
    now = service.clock()
    since = now - WEEK if asked.age == "new" else None
    before = {"week": now - WEEK, "month": now - MONTH}.get(asked.age)
    names = ("corpus", "practice_area", "kind", "state")
    wanted = {name: value for name in names if (value := getattr(asked, name))}
    return [
        item
        for item in items(service, asked.gold)
        if all(getattr(item, name) == value for name, value in wanted.items())
        and (since is None or item.created_at >= since)
        and (before is None or item.created_at < before)
    ]


def listing(service: Service, asked: Asked, *, limit: int = 50, offset: int = 0) -> Listing:
    """A page of what was asked for."""
    passing, size, now = asked_for(service, asked), page_size(limit), service.clock()
    start = max(offset, 0)
    page = page_of(passing[start : start + size + 1], start, size)
    waiting = pending(service)
    choices = {
        name: [
            Choice(value, n)
            for value, n in sorted(Counter(getattr(item, name) for item in waiting).items())
            if value
        ]
        for name in Choices.__struct_fields__
    }
    return Listing(
        items=[Waiting(item=item, days=_days(item.created_at, now)) for item in page.items],
        total=len(passing),
        waiting=len(waiting),
        offset=start,
        next_offset=page.next_offset,
        choices=Choices(**choices),
    )


def around(service: Service, asked: Asked, item: ReviewItem) -> Neighbours:
    """Where an item stands, or would stand, in what was asked for."""
    others = [one for one in asked_for(service, asked) if one.id != item.id]
    place = sum(_order(one) < _order(item) for one in others)
    return Neighbours(
        place=place,
        previous=others[place - 1].id if place else "",
        next=others[place].id if place < len(others) else "",
    )


def _order(item: ReviewItem) -> tuple[datetime, str, str]:
    return item.created_at, item.ref, item.id


def _days(since: datetime, now: datetime) -> int:
    return max((now - since).days, 0)

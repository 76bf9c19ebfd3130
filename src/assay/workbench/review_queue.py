"""The chair's queue, as a list: what waits, by set, corpus, practice area, kind and age; how it is
filled from the sets that are served."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from assay import formats
from assay.core.errors import AssayError, InputError
from assay.formats import gold_jsonl
from assay.review.identity import name_of
from assay.review.intents import heal
from assay.review.queue import sync_review
from assay.store.records import Neighbours, ReviewFilter, ReviewItem
from assay.workbench.opening import Service, stored_name
from assay.workbench.paging import page_of, page_size

__all__ = ["Asked", "Choice", "Filled", "Listing", "Waiting", "around", "fill_queue", "listing"]

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
    """A value that can be asked for, and how many wait with it."""

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


def listing(service: Service, asked: Asked, *, limit: int = 50, offset: int = 0) -> Listing:
    """What was asked for, the oldest first."""
    wanted, size, now = filter_of(service, asked), page_size(limit), service.clock()
    start = max(offset, 0)
    page = page_of(service.store.find_items(wanted, limit=size + 1, offset=start), start, size)
    counts = service.store.queue_counts()
    by_name: dict[str, list[Choice]] = {}
    for name in Choices.__struct_fields__:
        summed: dict[str, int] = {}
        for count in counts:
            value = getattr(count, name)
            summed[value] = summed.get(value, 0) + count.items
        by_name[name] = [Choice(value, n) for value, n in sorted(summed.items()) if value]
    return Listing(
        items=[Waiting(item=item, days=_days(item.created_at, now)) for item in page.items],
        total=service.store.count_items(wanted),
        waiting=sum(count.items for count in counts),
        offset=start,
        next_offset=page.next_offset,
        choices=Choices(**by_name),
    )


def around(service: Service, asked: Asked, item: ReviewItem) -> Neighbours:
    """Where an item stands in what was asked for."""
    return service.store.item_neighbours(filter_of(service, asked), item)


def filter_of(service: Service, asked: Asked) -> ReviewFilter:
    now = service.clock()
    since = now - WEEK if asked.age == "new" else None
    before = {"week": now - WEEK, "month": now - MONTH}.get(asked.age)
    return ReviewFilter(
        gold=stored_name(service, asked.gold),
        kind=asked.kind,
        state=asked.state,
        corpus=asked.corpus,
        practice_area=asked.practice_area,
        since=since,
        before=before,
    )


def _days(since: datetime, now: datetime) -> int:
    return max((now - since).days, 0)


# ── from the sets to the queue ────────────────────────────────────────────────────────────────────


class Filled(msgspec.Struct, frozen=True, kw_only=True):
    """What of a set waits, once the queue says what its file says."""

    gold: str
    waiting: int


def fill_queue(service: Service) -> list[Filled]:
    """Rows of gold-set.jsonl files that nobody has approved wait in the queue; a second time
    changes nothing. A file that cannot be read is told, and stops no other."""
    filled = []
    for name, path in service.gold_sets.items():
        if path.suffix != ".jsonl" or not path.exists():
            continue
        try:
            formats.read_gold(path)  # one that is no gold set gets no name in the store
            with gold_jsonl.locked(path):
                heal(service.store, path)
                lines = gold_jsonl.read_lines(path)
                gold_jsonl.refuse_same_ids(lines, path)
                known = name_of(service.store, path)
                sync_review(service.store, known, lines, now=service.clock())
        except InputError as error:
            service.say(f"{name} is not in the queue: {error}")
            continue
        except AssayError as error:  # another writer, or a store that is away
            service.say(f"{name} is not in the queue now: {error}")
            continue
        waits = ReviewFilter(gold=known, state="pending_review")
        filled.append(Filled(gold=known, waiting=service.store.count_items(waits)))
    return filled

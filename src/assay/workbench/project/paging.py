"""Pages of long lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

MAX_PAGE = 200  # items in one answer, for pages and agents
T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a list, and where the next part begins; no next when this was the last."""

    items: list[T]
    offset: int
    next_offset: int | None


def page_size(limit: int) -> int:
    return min(max(limit, 1), MAX_PAGE)


def page_of(rows: Sequence[T], offset: int, limit: int) -> Page[T]:
    """The first `limit` of `rows`, which begin at `offset` and hold one more where there is
    more."""
    more = len(rows) > limit
    return Page(
        items=list(rows[:limit]), offset=offset, next_offset=offset + limit if more else None
    )

"""The backlog of the team's own tables, for its own dashboards and diagnostics."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TypedDict

from assay.workbench.review.queue import configured_backlog

__all__ = ["BacklogCounts", "backlog", "backlog_async"]


class BacklogCounts(TypedDict):
    """The rows of a backlog by state, ready for JSON. The four states and `other` sum to `total`;
    `oldest_pending_at` is in ISO 8601."""

    pending_review: int
    approved: int
    rejected: int
    published: int
    other: int
    total: int
    oldest_pending_at: str | None


def backlog(name: str, *, config: str | Path = "assay.toml") -> BacklogCounts:
    """Count the backlog that `[backlog.NAME]` names in a configuration. `InputError` if there is no
    such backlog, or if its table cannot be read; it takes at most a few seconds.

    >>> assay.backlog("halacha", config="backlog.toml")  # doctest: +NORMALIZE_WHITESPACE
    {'pending_review': 1, 'approved': 1, 'rejected': 0, 'published': 0, 'other': 1, 'total': 3,
     'oldest_pending_at': '2026-05-01T12:00:00+00:00'}
    """
    found = configured_backlog(name, Path(config))
    oldest = found.oldest_pending_at
    return BacklogCounts(
        pending_review=found.pending_review,
        approved=found.approved,
        rejected=found.rejected,
        published=found.published,
        other=found.other,
        total=found.total,
        oldest_pending_at=oldest.isoformat() if oldest is not None else None,
    )


async def backlog_async(name: str, *, config: str | Path = "assay.toml") -> BacklogCounts:
    """`backlog` for async code: it counts in a thread, and the event loop goes on.

    >>> import asyncio
    >>> asyncio.run(assay.backlog_async("halacha", config="backlog.toml"))["total"]
    3
    """
    return await asyncio.to_thread(backlog, name, config=config)

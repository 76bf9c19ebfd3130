"""The workspace database: search logs, feedback, votes, review queue, run history, audit trail. The
only SQL.

`open_store` takes a path or `sqlite:///…` (one file, nothing to set up) or `postgresql://…`. Losing
the store loses no approved gold: that is in the gold-set file."""

from __future__ import annotations

from pathlib import Path

from assay.core.extras import need
from assay.store.contract import NoStore, Store, StoreConflict, StoreError, StoreUnavailable

__all__ = [
    "NoStore",
    "Store",
    "StoreConflict",
    "StoreError",
    "StoreUnavailable",
    "load",
    "open_store",
]


def open_store(target: str | Path, *, create: bool = True) -> Store:
    """Open a store and bring its schema up to date. Safe to call from many processes at once.
    Without `create`, a store that is not there is an error, so that a mistyped path is not taken
    for an empty store."""
    need("store", "the database of a workspace")
    from assay.store.sql import (
        SqlStore,
    )  # SQLAlchemy takes a third of a second; callers that never open do not pay

    return SqlStore(target, create=create)


def load() -> None:
    """The modules of the database, now: for a program that is about to fork or to be timed."""
    need("store", "the database of a workspace")
    import assay.store.sql  # noqa: F401

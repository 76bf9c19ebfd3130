"""The workspace database: search logs, feedback, runs, accounts and the audit trail of the server.

`open_store` takes a path or `sqlite:///…` (one file, nothing to set up) or `postgresql://…`. This
package holds the only SQL. Losing the store loses no judgment and no review decision: those are in
the log beside each gold set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.extras import require_extra
from assay.store.records import NoStore, StoreConflict, StoreError, StoreOutdated, StoreUnavailable

if TYPE_CHECKING:
    from assay.store.store import Store

__all__ = [
    "NoStore",
    "Store",
    "StoreConflict",
    "StoreError",
    "StoreOutdated",
    "StoreUnavailable",
    "load",
    "open_store",
]


def open_store(target: str | Path, *, create: bool = True, read_only: bool = False) -> Store:
    """Open a store and bring its schema up to date. Safe to call from many processes at once.

    Without `create`, a missing store is an error, so that a mistyped path is not taken for an empty
    store. With `read_only`, nothing is written: a store of an earlier version is refused, and one
    on a read-only disk can be read."""
    require_extra("store", "the database of a workspace")
    # SQLAlchemy takes a third of a second to load: commands that open no store do not pay for it.
    from assay.store.store import Store

    return Store(target, create=create and not read_only, read_only=read_only)


def load() -> None:
    """Load the database modules now, for a program that is about to fork or to be timed."""
    require_extra("store", "the database of a workspace")
    import assay.store.store  # noqa: F401


def __getattr__(name: str) -> object:
    """Load `Store` on first use. For annotations, import it under TYPE_CHECKING instead."""
    if name == "Store":
        from assay.store.store import Store

        return Store
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

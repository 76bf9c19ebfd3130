"""The errors that a store may raise."""

from __future__ import annotations

from assay.core.errors import AssayError, InputError


class StoreError(AssayError):
    """The store refused or failed."""


class StoreUnavailable(StoreError):
    """The store cannot be reached now; the same call may succeed later."""


class StoreReadOnly(StoreUnavailable):
    """The store cannot be written."""

    exit_code = 2


class StoreConflict(StoreError):
    """The store no longer allows the change, because of what it holds now.

    `why` names the reason for programs, and `name` is the account or key that the reason is about.
    """

    def __init__(self, message: str, *, why: str = "", name: str = "") -> None:
        super().__init__(message)
        self.why, self.name = why, name


class NoStore(InputError):
    """The address names no store."""


class StoreOutdated(InputError):
    """The store lacks a table or a column, since an earlier version made it and nothing has
    upgraded it yet."""

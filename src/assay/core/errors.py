"""The exceptions that Assay raises on purpose, with their exit codes.

    AssayError               exit 4   the tool failed
    ├── InputError           exit 2   a file, an option or a record is wrong; says where, what to do
    │   ├── UsageError       exit 2   the command line itself
    │   ├── Declined         exit 2   an action that is refused, worded in the reader's language
    │   ├── NotHere          exit 2   a name that nothing here has; a page answers 404
    │   ├── NotWritten       exit 2   a disk is full or cannot be written; a page answers 503
    │   ├── NoStore          exit 2   the address names no store (store/records.py)
    │   └── StoreOutdated    exit 2   the store must be upgraded first (store/records.py)
    ├── EngineError          exit 4   the engine under test failed or broke its contract
    ├── IndexProblem         exit 2   an index is missing, outdated or damaged (search/index_files)
    └── StoreError           exit 4   the database failed, is away or in conflict (store/errors)
        └── StoreReadOnly    exit 2   the store cannot be written

An error says what was found, where, and what to do. The command line prints it as one message and
never a traceback.
"""

from __future__ import annotations

from collections.abc import Iterable


def nearest_name(name: str, known: Iterable[str]) -> str:
    """`Did you mean X? `, the start of a hint on an unknown name; empty where none is near."""
    import difflib  # most commands have no error to tell

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"Did you mean {near[0]}? " if near else ""


class AssayError(Exception):
    exit_code = 4


class InputError(AssayError):
    """Bad input. `where` is a file with line or JSON path; `hint` says what to do. Passwords in
    addresses are removed from the message."""

    exit_code = 2

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        from assay.core.redaction import without_password  # most commands have nothing to tell

        self.message = without_password(message)
        self.where = without_password(where)
        self.hint = hint
        super().__init__(f"{self.where}: {self.message}" if where else self.message)

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n  {self.hint}" if self.hint else text


class Declined(InputError):
    """An action that is refused. `word` is the key of the message in the wording of the pages, in
    the reader's language; the English message is for programs and the terminal."""

    def __init__(self, word: str, message: str, *, hint: str = "", **facts: object) -> None:
        super().__init__(message, hint=hint)
        self.word, self.facts = word, facts


class UsageError(InputError):
    """The command line asks for something that cannot be done."""


class NotHere(InputError):
    """A set, query, document or run of this name does not exist."""


class NotWritten(InputError):
    """A file cannot be written now: its disk is full or read-only."""


class EngineError(AssayError):
    exit_code = 4


def describe_error(error: BaseException) -> str:
    """The class and the message of an exception that is not ours."""
    return f"{type(error).__name__}: {error}"

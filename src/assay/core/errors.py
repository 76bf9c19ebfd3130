"""The exceptions that Assay raises on purpose, with their exit codes.

    AssayError               exit 4   the tool failed
    ├── InputError           exit 2   a file, an option or a record is wrong; says where, what to do
    │   ├── UsageError       exit 2   the command line itself
    │   ├── Declined         exit 2   what a page says in the language of its reader
    │   ├── NotHere          exit 2   a name that nothing here has; a page answers 404
    │   └── NoStore          exit 2   the address names no store (store/contract.py)
    ├── EngineError          exit 4   the engine under test failed or broke its contract
    ├── IndexProblem         exit 2   an index is missing, outdated or damaged (search/index_files)
    └── StoreError           exit 4   the database failed, is away or in conflict (store/contract)

An error says what was found, where, and what to do. The command line prints it as one message and
never a traceback.
"""

from __future__ import annotations


class AssayError(Exception):
    exit_code = 4


class InputError(AssayError):
    """Bad input. `where` is a file with line or JSON path; `hint` says what to do. An address that
    was given where a file or a name belongs is told without its password."""

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
    """What people cannot do, by its key in the words of their pages, where it is said in their own
    language; and in English, for programs and the terminal."""

    def __init__(self, word: str, message: str, *, hint: str = "", **facts: object) -> None:
        super().__init__(message, hint=hint)
        self.word, self.facts = word, facts


class UsageError(InputError):
    """The command line asks for something that cannot be done."""


class NotHere(InputError):
    """What is asked for by a name that nothing has: a set, a query, a document, a run."""


class EngineError(AssayError):
    exit_code = 4

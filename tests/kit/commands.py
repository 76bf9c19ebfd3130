"""Run `assay …` in this process, and keep what it printed."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

import assay.cli
from command_line import Outcome

__all__ = ["Outcome", "run_command"]


def run_command(*args: object) -> Outcome:
    """Run `assay ARGS` in the current folder through the same `main` as the command."""
    out, err = _Stream(), _Stream()
    given, sys.argv = sys.argv, ["assay", *map(str, args)]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            assay.cli.main()
    except SystemExit as stop:
        code = stop.code or 0
    finally:
        sys.argv = given
    return Outcome(code, out.text, err.text)


class _Stream(io.TextIOWrapper):
    """A text stream in memory. Commands also write to its `buffer`."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def text(self) -> str:
        return self.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined, no-any-return]

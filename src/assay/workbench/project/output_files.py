"""Checking output files before long work: that they can be written and do not overwrite an input.
And undoing a change to a file that cannot be recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from assay.core.errors import InputError, UsageError
from assay.core.files import refuse_unwritable, write_atomic


def refuse_outputs(*paths: Path | None) -> None:
    """Every file that a command will write at its end can be written."""
    for path in paths:
        if path is not None:
            refuse_unwritable(path)


def refuse_output(output: Path | None, *inputs: Path | None) -> None:
    """The output can be written, and is none of the inputs."""
    if output is None:
        return
    refuse_unwritable(output)
    if any(
        path is not None and path.exists() and output.exists() and output.samefile(path)
        for path in inputs
    ):
        raise UsageError(
            "the output would overwrite an input", where=str(output), hint="Give another file name."
        )


def write_text(text: str, output: Path) -> Path:
    """A whole file, or none."""
    write_atomic(output, text)
    return output


@contextlib.contextmanager
def or_undone(path: Path) -> Iterator[None]:
    """Change a file, then record the change. Where the record is refused, the file is as before."""
    before = path.read_bytes() if path.exists() else None
    try:
        yield
    except InputError:
        if before is None:
            path.unlink(missing_ok=True)
        else:
            write_atomic(path, before)
        raise

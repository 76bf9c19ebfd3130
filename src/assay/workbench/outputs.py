"""Before work that takes long: can what it will write be written, and does it spare its inputs?"""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import UsageError
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

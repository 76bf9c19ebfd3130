"""A helper process of an import: reads batches as JSON lines on its input and answers one line for
each.

A plain child process and not a pool of forks: a fork of a process with polars' threads can hang,
and a spawned pool runs the caller's script again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from assay.core.errors import AssayError, InputError
from assay.corpus.parts import Batch, read_batch


def main() -> None:
    decode = msgspec.json.Decoder(Batch).decode
    for line in sys.stdin.buffer:
        try:
            read_batch(decode(line))
            answer: dict[str, Any] = {}
        except InputError as error:
            answer = {"message": error.message, "where": error.where, "hint": error.hint}
        except Exception as error:
            answer = {"crash": f"{type(error).__name__}: {error}"}
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


@contextmanager
def helper() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", "from assay.corpus.worker import main; main()"]
    # a session of its own: Ctrl-C is for the import, which then ends its helpers
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.stdin:
            process.stdin.close()  # the helper ends when its input does
        if process.stdout:
            process.stdout.close()
        process.wait()


def ask(process: subprocess.Popen[bytes], batch: Batch) -> None:
    """Have the helper read a batch; raise what it raised."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(msgspec.json.encode(batch) + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except OSError as error:
        raise _died(batch) from error
    if not line:
        raise _died(batch)
    answer = msgspec.json.decode(line)
    if "crash" in answer:
        raise AssayError(
            f"an importer failed on {batch.units[0].path} or a file after it: {answer['crash']}"
        )
    if answer:
        raise InputError(answer["message"], where=answer["where"], hint=answer["hint"])


def _died(batch: Batch) -> AssayError:
    return AssayError(
        f"a helper process ended while reading {batch.units[0].path} or a file after it"
    )

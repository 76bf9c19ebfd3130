"""Lines of JSON from sources that are not ours: a bad line is a problem to report, and the next
line is read.

Unlike `assay.files.iter_json_lines`, which refuses a file at its first fault, this reads on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from assay.core.files import MAX_LINE_BYTES
from assay.corpus.importers.source import Problem

T = TypeVar("T")


def iter_records(path: Path, type: type[T]) -> Iterator[tuple[str, T | Problem]]:
    """(file:line, record or problem). A line over the limit is skipped without being read into
    memory."""
    decode = msgspec.json.Decoder(type).decode
    for where, line in iter_raw_lines(path):
        if isinstance(line, Problem):
            yield where, line
            continue
        try:
            yield where, decode(line)
        except msgspec.ValidationError as error:
            yield where, Problem(code="bad-record", where=where, reason=str(error))
        except (msgspec.DecodeError, RecursionError) as error:
            yield where, Problem(code="bad-json", where=where, reason=f"not valid JSON: {error}")
        except UnicodeDecodeError as error:
            yield (
                where,
                Problem(code="bad-encoding", where=where, reason=f"not UTF-8: {error.reason}"),
            )


def iter_raw_lines(path: Path) -> Iterator[tuple[str, bytes | Problem]]:
    number = 0
    try:
        with path.open("rb") as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                where = f"{path}:{number}"
                if len(line) > MAX_LINE_BYTES:
                    size = len(line) + _skip_rest(stream)
                    limit = MAX_LINE_BYTES // 2**20
                    reason = f"the line has {size:,} bytes, more than {limit} MiB: this does not look like a line of JSON"
                    yield where, Problem(code="line-too-long", where=where, reason=reason)
                    continue
                line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if line.strip():
                    yield where, line
    except OSError as error:
        yield str(path), unreadable(path, error)
    if number == 0:
        yield str(path), Problem(code="empty", where=str(path), reason="the file is empty")


def unreadable(path: Path, error: OSError) -> Problem:
    return Problem(
        code="unreadable", where=str(path), reason=(error.strerror or str(error)).lower()
    )


def _skip_rest(stream: BinaryIO) -> int:
    """Read to the end of an overlong line a block at a time."""
    skipped = 0
    while block := stream.readline(2**20):
        skipped += len(block)
        if block.endswith(b"\n"):
            break
    return skipped

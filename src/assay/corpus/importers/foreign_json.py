"""Read JSON and JSON lines of other programs without stopping at a bad line: the line becomes a
problem to report, and reading goes on.

Unlike `core.files.iter_json_lines`, which refuses a file at its first fault, this reads on.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from assay.core.decoding import thread_safe
from assay.core.files import MAX_LINE_BYTES, os_message
from assay.corpus.importers.kinds import Problem, Range, ranges_of

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


def convert_fitting_fields(record: object, kind: type[S]) -> tuple[S, list[str]]:
    """Convert the fields of a record that have the right type, and name those that do not: one bad
    field of somebody else's record is no reason to lose the rest. Null counts as absent."""
    given = record if isinstance(record, dict) else {}
    values: dict[str, object] = {}
    unfit: list[str] = []
    for field in _fields(kind):
        name, value = field.name, given.get(field.name)
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            values[name], within = convert_fitting_fields(value, field.type)
            is_other = value is not None and not isinstance(value, dict)
            unfit += [name] if is_other else [f"{name}.{inner}" for inner in within]
        elif value is not None:
            try:
                values[name] = msgspec.convert(value, thread_safe(field.type))
            except msgspec.ValidationError:
                unfit.append(name)
    return kind(**values), unfit


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a struct, cached because every annotation is evaluated."""
    return msgspec.structs.fields(kind)


def iter_records(
    path: Path, kind: type[T], within: Range | None = None
) -> Iterator[tuple[str, T | Problem]]:
    """(file:line, record or problem) of JSON lines; (file:number, …) of a `.json` file with an
    array. A line over the limit is skipped without being read into memory."""
    if path.suffix.lower() == ".json":
        yield from _iter_array(path, kind)
        return
    decode = msgspec.json.Decoder(thread_safe(kind)).decode
    for where, line in iter_raw_lines(path, within):
        if isinstance(line, Problem):
            yield where, line
            continue
        try:
            yield where, decode(line)
        except msgspec.ValidationError as error:
            yield where, Problem(code="bad-record", where=where, reason=_reason(error, kind))
        except (msgspec.DecodeError, RecursionError) as error:
            yield where, Problem(code="bad-json", where=where, reason=f"not valid JSON: {error}")
        except UnicodeDecodeError as error:
            reason = f"not UTF-8: {error.reason}"
            yield where, Problem(code="bad-encoding", where=where, reason=reason)


def _reason(error: msgspec.ValidationError, kind: type[Any]) -> str:
    """Why a record is not of a kind; of a missing key, also which ones a record must have."""
    missing = re.match(r"Object missing required field `([^`]*)`", str(error))
    if missing is None:
        return str(error)
    needed = ", ".join(
        field.encode_name for field in msgspec.structs.fields(kind) if field.required
    )
    return f"the key {missing[1]!r} is missing; a record has at least {needed}"


def _iter_array(path: Path, kind: type[T]) -> Iterator[tuple[str, T | Problem]]:
    try:
        if path.stat().st_size > 4 * MAX_LINE_BYTES:
            size = path.stat().st_size / 2**20
            reason = f"the file has {size:,.0f} MB: write one object a line, as .jsonl"
            yield str(path), Problem(code="too-large", where=str(path), reason=reason)
            return
        rows = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        yield str(path), unreadable(path, error)
        return
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = f"not valid JSON: {error}"
        yield str(path), Problem(code="bad-json", where=str(path), reason=reason)
        return
    if not isinstance(rows, list):
        lists = [value for value in rows.values() if isinstance(value, list)]
        rows = lists[0] if len(lists) == 1 else []
    if not rows:
        reason = "no array of records: expected [{…}, {…}]"
        yield str(path), Problem(code="bad-record", where=str(path), reason=reason)
    for number, row in enumerate(rows, start=1):
        where = f"{path}:{number}"
        try:
            yield where, msgspec.convert(row, thread_safe(kind))
        except msgspec.ValidationError as error:
            yield where, Problem(code="bad-record", where=where, reason=_reason(error, kind))


def cut_lines(path: Path, size: int) -> list[Range]:
    """The ranges of a file, cut at ends of lines."""
    with path.open("rb") as stream:
        return ranges_of(_whole_lines(stream, min(size, 2**20)), size)


def _whole_lines(stream: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    """How many bytes and lines there are up to the last end of a line in each block."""
    begun = 0  # bytes of a line that goes on in the next block
    while block := stream.read(size):
        end = block.rfind(b"\n") + 1
        if end:
            yield begun + end, block.count(b"\n")
            begun = 0
        begun += len(block) - end
    yield begun, 1


def iter_raw_lines(
    path: Path, within: Range | None = None
) -> Iterator[tuple[str, bytes | Problem]]:
    number = within.lines_before if within else 0
    left = within.end - within.start if within else sys.maxsize
    try:
        with path.open("rb") as stream:
            stream.seek(within.start if within else 0)
            while left > 0 and (line := stream.readline(MAX_LINE_BYTES + 1)):
                number += 1
                where = f"{path}:{number}"
                left -= len(line)
                if len(line) > MAX_LINE_BYTES:
                    skipped = _skip_rest(stream)
                    left -= skipped
                    yield where, _overlong(where, len(line) + skipped)
                    continue
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield where, line
    except OSError as error:
        yield str(path), unreadable(path, error)
    if number == 0:
        yield str(path), Problem(code="empty", where=str(path), reason="the file is empty")


def unreadable(path: Path, error: OSError) -> Problem:
    return Problem(code="unreadable", where=str(path), reason=os_message(error))


def _overlong(where: str, size: int) -> Problem:
    limit = f"{MAX_LINE_BYTES // 2**20} MiB"
    reason = (
        f"the line has {size:,} bytes, more than {limit}: this does not look like a line of JSON"
    )
    return Problem(code="line-too-long", where=where, reason=reason)


def _skip_rest(stream: BinaryIO) -> int:
    """Read to the end of an overlong line a block at a time."""
    skipped = 0
    while block := stream.readline(2**20):
        skipped += len(block)
        if block.endswith(b"\n"):
            break
    return skipped

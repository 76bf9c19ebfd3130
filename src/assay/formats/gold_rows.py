"""`gold-set.jsonl` as a person edits it: lines, of which some are rows. Lines that are not ours are
kept byte for byte: rows of the chair, comments (# or //), blank lines, whatever their order,
spacing, line ends or unknown keys."""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import os
import re
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.core.files import decode, refuse_repeated_keys, write_atomic
from assay.core.types import standing
from assay.law.queries import row_key

_BOM = b"\xef\xbb\xbf"
_NUMBERED = re.compile(r"g(\d+)")


class GoldRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the file. The order of the fields is the order of the keys."""

    id: str
    query: str
    practice_area: str = ""
    corpus: str = ""
    relevant_case_law_ids: tuple[str, ...] = ()
    source: str = ""
    note: str = ""

    @property
    def key(self) -> str:
        return row_key(self.query, self.corpus)


class Line(msgspec.Struct, frozen=True):
    """The bytes of a line with its line end, and the row in it, if it is one."""

    raw: bytes
    row: GoldRow | None = None

    @property
    def is_bootstrap(self) -> bool:
        """Anything else was written by a person, and is not ours to change."""
        return self.row is not None and self.row.source == "bootstrap"


def read_lines(path: Path) -> list[Line]:
    """The file as lines; an empty list when there is none yet. A line that cannot be read stops
    everything: writing the file without understanding it could lose a person's work."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError((error.strerror or str(error)).lower(), where=str(path)) from error
    decode(data, path)
    return [_line(raw, path, number) for number, raw in enumerate(_split(data), start=1)]


def _split(data: bytes) -> list[bytes]:
    """Only at \\n: other line separators are legal inside JSON text."""
    lines = [part + b"\n" for part in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _line(raw: bytes, path: Path, number: int) -> Line:
    text = raw.removeprefix(_BOM).strip()
    if not text or text.startswith((b"#", b"//")):
        return Line(raw)
    try:
        values = msgspec.json.decode(text)
        if not isinstance(values, dict):
            raise msgspec.ValidationError(f"expected an object, got {type(values).__name__}")
        refuse_repeated_keys(
            text.decode(), values, path, number
        )  # rewriting the line would lose one of the two
        return Line(raw, _row(values))
    except (msgspec.MsgspecError, RecursionError) as error:
        hint = "Correct the line, or make it a comment with #. Nothing was changed."
        raise InputError(f"not a gold row: {error}", where=f"{path}:{number}", hint=hint) from error


def _row(values: dict[str, Any]) -> GoldRow:
    """A bootstrap row must be right, since it will be rewritten. Of a person's row only what can be
    used is taken."""
    if values.get("source") == "bootstrap":
        return msgspec.convert(values, GoldRow)
    ids = values.get("relevant_case_law_ids")
    return GoldRow(
        relevant_case_law_ids=tuple(map(str, ids)) if isinstance(ids, list) else (),
        **{
            name: value if isinstance(value := values.get(name), str) else ""
            for name in ("id", "query", "practice_area", "corpus", "source", "note")
        },
    )


def row_line(row: GoldRow, end: bytes = b"\n") -> Line:
    return Line(msgspec.json.encode(row) + end, row)


def line_end(lines: Sequence[Line]) -> bytes:
    """How the lines of a file end: as on Windows when all do."""
    ended = [line.raw for line in lines if line.raw.endswith(b"\n")]
    return b"\r\n" if ended and all(raw.endswith(b"\r\n") for raw in ended) else b"\n"


def edited_line(line: Line, **changes: Any) -> Line:
    """The same line with some values changed: other keys, also unknown ones, keep their value and
    place."""
    end = line.raw[len(line.raw.rstrip(b"\r\n")) :]
    bom = _BOM if line.raw.startswith(_BOM) else b""
    values = msgspec.json.decode(line.raw.removeprefix(_BOM)) | changes
    encoded = msgspec.json.encode(values)
    return Line(bom + encoded + end, _row(msgspec.json.decode(encoded)))


def assemble(lines: Sequence[Line]) -> bytes:
    """The file. A last line that had no line end gets one as soon as another follows."""
    parts = [line.raw for line in lines]
    end = line_end(lines)
    for index, raw in enumerate(parts[:-1]):
        if not raw.endswith((b"\n", b"\r")):
            parts[index] = raw + end
    return b"".join(parts)


def refuse_same_ids(lines: Sequence[Line], path: Path) -> None:
    """Two rows of a person with one id cannot be told apart, and are not ours to change."""
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if line.row is None or line.is_bootstrap or not line.row.id:
            continue
        if line.row.id in seen:
            raise InputError(
                f"id {line.row.id!r} is also on line {seen[line.row.id]}",
                where=f"{path}:{number}",
                hint="Give each row its own id. Nothing was changed.",
            )
        seen[line.row.id] = number


def rows(lines: Sequence[Line]) -> list[GoldRow]:
    return [line.row for line in lines if line.row is not None]


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a gold set an expert has approved. A set with no approved row is provisional
    (bootstrap-only)."""

    approved: int
    total: int
    share: float
    status: str


def approval(rows: Sequence[GoldRow]) -> Approval:
    approved = sum(row.source == "chair" for row in rows)
    return Approval(
        approved=approved,
        total=len(rows),
        share=approved / len(rows) if rows else 0.0,
        status=standing(approved, len(rows)),
    )


def highest_number(ids: Sequence[str]) -> int:
    return max((int(found[1]) for id in ids if (found := _NUMBERED.fullmatch(id))), default=0)


def numbered(number: int) -> str:
    return f"g{number:03d}"


def diff(path: Path, old: bytes, new: bytes) -> str:
    """A unified diff for people, as git shows it."""
    before, after = (data.decode("utf-8").splitlines(keepends=True) for data in (old, new))
    return "".join(
        line if line.endswith("\n") else f"{line}\n"
        for line in difflib.unified_diff(before, after, f"a/{path.name}", f"b/{path.name}", n=1)
    )


def save(path: Path, lines: Sequence[Line]) -> bool:
    """Replace the file in one step if it would change."""
    data = assemble(lines)
    if (path.exists() and path.read_bytes() == data) or (not path.exists() and not data):
        return False
    write_atomic(path.resolve(), data)  # resolved, so that a link to the file stays a link
    return True


@contextlib.contextmanager
def locked(path: Path, *, wait: float = 5.0) -> Iterator[None]:
    """Be the only writer of a gold set. The lock is a file beside it that goes when its holder
    does; the kernel frees it when a holder is killed."""
    place = path.resolve()  # two links to one file are one file
    lock = place.with_name(f".{place.name}.lock")
    deadline = time.monotonic() + wait
    handle = None
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        while (handle := _try_lock(lock)) is None:
            if time.monotonic() >= deadline:
                raise InputError(
                    "another process is writing this gold set",
                    where=str(path),
                    hint=f"It says: {_holder(lock)}. Wait for it to end, then try again.",
                )
            time.sleep(0.05)
    except OSError as error:
        raise InputError(f"cannot lock: {error.strerror or error}", where=str(lock)) from error
    try:
        _remove_leftovers(place)
        yield
    finally:
        lock.unlink(missing_ok=True)  # while it is still ours: see _try_lock
        os.close(handle)


def _remove_leftovers(path: Path) -> None:
    """Half-written files of killed writers. Young ones may belong to a writer that takes no
    lock."""
    for left in path.parent.glob(f".{path.name}.????????"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > 600:
                left.unlink()


def _try_lock(lock: Path) -> int | None:
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The last holder may have removed the file between our open and our lock: then this lock
        # guards nothing.
        if os.fstat(handle).st_ino == os.stat(lock).st_ino:
            os.truncate(handle, 0)
            os.write(
                handle,
                f"process {os.getpid()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC".encode(),
            )
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(handle)
    return None


def _holder(lock: Path) -> str:
    try:
        return lock.read_text() or "nothing"
    except OSError:
        return "nothing"

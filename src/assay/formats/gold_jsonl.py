"""Read, edit and lock `gold-set.jsonl`: one query a line with the ids of its relevant documents,
bootstrapped from logs or written by the chair. People edit the file in git, so lines that are not
ours (rows of the chair, comments with # or //, blank lines) are kept byte for byte.

`read_gold` gives the set, and every row must be right. `read_lines` gives the lines, to change some
and keep the others. Both read the same way and complain in the same words."""

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

import msgspec

from assay.core.errors import InputError, NotWritten
from assay.core.files import (
    decode,
    os_message,
    refuse_long_lines,
    refuse_repeated_keys,
    resolved,
    write_atomic,
)
from assay.core.types import (
    GoldSet,
    JsonObject,
    Judgment,
    Query,
    approval_status,
    judgments_to_frame,
)
from assay.formats.schema import (
    explain_conflict,
    first_repeated,
    read_record,
    refuse_repeated,
    require_type,
    text_of,
    unknown_keys,
)

_BOM = b"\xef\xbb\xbf"
_NUMBERED = re.compile(r"g(\d+)")
_TO_MEND = "Correct the line, or make it a comment with #. Nothing was changed."


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
        from assay.law.queries import row_key  # takes long to load, and few files have rows

        return row_key(self.query, self.corpus)


class Line(msgspec.Struct, frozen=True):
    """The bytes of a line with its line end, and the row in it, if it is one."""

    raw: bytes
    row: GoldRow | None = None

    @property
    def is_bootstrap(self) -> bool:
        """Anything else was written by a person, and is not ours to change."""
        return self.row is not None and self.row.source == "bootstrap"


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def _read_content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(os_message(error), where=str(path)) from error


def _iter_objects(content: bytes, path: Path) -> Iterator[tuple[str, bytes, JsonObject | None]]:
    """(file:line, bytes, object) of every line; no object on a blank line or a comment."""
    decode(content, path)
    for number, raw in enumerate(_split(content), start=1):
        yield f"{path}:{number}", raw, _parse_object(raw, path, number)


def _split(content: bytes) -> list[bytes]:
    """Only at \\n: other line separators are legal inside JSON text."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _parse_object(raw: bytes, path: Path, number: int) -> JsonObject | None:
    text = raw.removeprefix(_BOM).strip()
    if not text or text.startswith((b"#", b"//")):
        return None
    try:
        values: JsonObject = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        message = f"not a gold row: not valid JSON: {error}"
        raise InputError(message, where=f"{path}:{number}", hint=_TO_MEND) from error
    if not isinstance(values, dict):
        require_type(values, dict, Path(f"{path}:{number}"), "$", "an object")
    # rewriting the line would lose one of the two
    refuse_repeated_keys(text.decode(), values, path, number)
    return values


def _require_row(values: JsonObject, where: str) -> GoldRow:
    try:
        return read_record(values, GoldRow, where, "$", _TO_MEND)
    except InputError as error:
        message = f"not a gold row: {error.message}"
        raise InputError(message, where=error.where, hint=error.hint) from error


# ── the gold set ──────────────────────────────────────────────────────────────────────────────────


def read_gold(path: Path) -> GoldSet:
    refuse_long_lines(path)
    seen: set[str] = set()
    queries: list[Query] = []
    judgments: list[Judgment] = []
    for where, _, values in _iter_objects(_read_content(path), path):
        if values is None:
            continue
        row = _require_row(values, where)
        text_of(row.query, where, "query")
        refuse_repeated(row.id, seen, where, "id", "query id")
        queries.append(_query(row, unknown_keys(values, GoldRow)))
        judgments += _judgments(row, where)
    approved = bool(queries) and all(query.source == "chair" for query in queries)
    return GoldSet(
        name=path.stem,
        queries=tuple(queries),
        judgments=judgments_to_frame(judgments),
        status="approved" if approved else "provisional",
        from_logs=True,
    )


def _query(row: GoldRow, extra: JsonObject) -> Query:
    return Query(
        id=row.id,
        text=row.query,
        topic=row.practice_area,
        corpus=row.corpus,
        source=row.source,
        notes=row.note,
        extra=extra,
    )


def _judgments(row: GoldRow, where: str) -> list[Judgment]:
    ids = row.relevant_case_law_ids
    if (twice := first_repeated(ids)) is not None:
        message = f"document {twice!r} appears twice on query {row.id!r}"
        raise InputError(message, where=where, hint="Keep it once.")
    return [Judgment(query_id=row.id, doc_id=doc_id, grade=1, source=row.source) for doc_id in ids]


def write_gold(gold: GoldSet, path: Path) -> list[Path]:
    relevant: dict[str, list[str]] = {query.id: [] for query in gold.queries}
    for judgment in gold.iter_judgments():
        if judgment.grade >= 1:
            relevant[judgment.query_id].append(judgment.doc_id)
    write_atomic(path, b"".join(_encode_query(query, relevant[query.id]) for query in gold.queries))
    return [path]


def _encode_query(query: Query, relevant: Sequence[str]) -> bytes:
    row = GoldRow(
        id=query.id,
        query=query.text,
        practice_area=query.topic,
        corpus=query.corpus,
        relevant_case_law_ids=tuple(relevant),
        source=query.source,
        note=query.notes,
    )
    return msgspec.json.encode(row) + b"\n"  # these keys and no others


# ── lines ─────────────────────────────────────────────────────────────────────────────────────────


def read_lines(path: Path) -> list[Line]:
    """The file as lines; an empty list when there is none yet. A line that cannot be read stops
    everything: writing the file without understanding it could lose a person's work."""
    if not path.exists() and not path.is_symlink():
        return []
    return lines_of(_read_content(path), path)


def lines_of(content: bytes, path: Path) -> list[Line]:
    """The lines of a file's content, now or in the past."""
    with explain_conflict(path, content):
        return [
            Line(raw, _lenient_row(values, where) if values is not None else None)
            for where, raw, values in _iter_objects(content, path)
        ]


def find_row(path: Path, id: str) -> GoldRow | None:
    """The row with an id, without reading the others where its line can be told by its bytes; None
    where there is no such row, or no file."""
    if not path.exists():
        return None
    written = msgspec.json.encode(id)
    for number, raw in enumerate(_split(path.read_bytes()), start=1):
        values = _parse_object(raw, path, number) if written in raw else None
        if values is not None and values.get("id") == id:
            return _lenient_row(values, str(path))
    return next((row for row in rows(read_lines(path)) if row.id == id), None)


def _lenient_row(values: JsonObject, where: str) -> GoldRow:
    """A row as far as it can be used. A bootstrap row must be right, since it will be rewritten; a
    row that a person wrote may have faults."""
    if values.get("source") == "bootstrap":
        return _require_row(values, where)
    ids = values.get("relevant_case_law_ids")
    texts = {
        name: value if isinstance(value := values.get(name), str) else ""
        for name in ("id", "query", "practice_area", "corpus", "source", "note")
    }
    relevant = tuple(map(str, ids)) if isinstance(ids, list) else ()
    return GoldRow(relevant_case_law_ids=relevant, **texts)


def row_line(row: GoldRow, end: bytes = b"\n") -> Line:
    """A line for a row, with the keys that every row has and no others."""
    return Line(msgspec.json.encode(row) + end, row)


def line_of(raw: bytes) -> Line:
    """The row that these bytes are, as they were in a file before."""
    return Line(raw, _lenient_row(msgspec.json.decode(raw.removeprefix(_BOM)), "a row of before"))


def line_end(lines: Sequence[Line]) -> bytes:
    """How the lines of a file end: as on Windows when all do."""
    ended = [line.raw for line in lines if line.raw.endswith(b"\n")]
    return b"\r\n" if ended and all(raw.endswith(b"\r\n") for raw in ended) else b"\n"


def edited_line(line: Line, **changes: str | tuple[str, ...]) -> Line:
    """The same line with some values changed: other keys, also unknown ones, keep their place, and
    their value byte for byte."""
    end = line.raw[len(line.raw.rstrip(b"\r\n")) :]
    bom = _BOM if line.raw.startswith(_BOM) else b""
    values = msgspec.json.decode(line.raw.removeprefix(_BOM), type=dict[str, msgspec.Raw]) | changes
    encoded = msgspec.json.encode(values)
    return Line(bom + encoded + end, _lenient_row(msgspec.json.decode(encoded), "a changed row"))


def assemble(lines: Sequence[Line]) -> bytes:
    """The lines as one file. A last line without a line end gets one as soon as another follows."""
    raw_lines = [line.raw for line in lines]
    end = line_end(lines)
    for place, raw in enumerate(raw_lines[:-1]):
        if not raw.endswith((b"\n", b"\r")):
            raw_lines[place] = raw + end
    return b"".join(raw_lines)


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
        status=approval_status(approved, len(rows)),
    )


def highest_number(ids: Sequence[str]) -> int:
    """The highest number of ids like g001; 0 where there are none."""
    return max((int(digits[1]) for id in ids if (digits := _NUMBERED.fullmatch(id))), default=0)


def row_id(number: int) -> str:
    return f"g{number:03d}"


def unified_diff(path: Path, old: bytes, new: bytes) -> str:
    """A unified diff for people, as git shows it."""
    before, after = (text.decode("utf-8").splitlines(keepends=True) for text in (old, new))
    return "".join(
        line if line.endswith("\n") else f"{line}\n"
        for line in difflib.unified_diff(before, after, f"a/{path.name}", f"b/{path.name}", n=1)
    )


def save(path: Path, lines: Sequence[Line]) -> bool:
    """Replace the file in one step if it would change."""
    content = assemble(lines)
    before = path.read_bytes() if path.exists() else b""
    if before == content:
        return False
    write_atomic(path.resolve(), content)  # resolved, so that a link to the file stays a link
    return True


# ── one writer at a time ──────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def lock_gold_set(path: Path, *, wait: float = 5.0) -> Iterator[None]:
    """Be the only writer of a gold set. The lock is a file beside it that goes when its holder
    does; the kernel frees it when a holder is killed."""
    place = resolved(path)  # two links to one file are one file
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
                    hint=f"It says: {_read_holder(lock)}. Wait for it to end, then try again.",
                )
            time.sleep(0.05)
    except OSError as error:
        raise NotWritten(
            f"cannot write: {os_message(error)}", where=str(path), hint="Nothing was changed."
        ) from error
    try:
        yield
    finally:
        try:
            lock.unlink(missing_ok=True)  # while it is still ours: see _try_lock
        finally:
            os.close(handle)


def _try_lock(lock: Path) -> int | None:
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The last holder may have removed the file between our open and our lock: then this lock
        # guards nothing.
        if os.fstat(handle).st_ino == os.stat(lock).st_ino:
            _write_holder(handle)
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(handle)  # or the lock would be held by nobody until this process ends
        raise
    os.close(handle)
    return None


def _write_holder(handle: int) -> None:
    """Who holds it, for people. A full disk has no room even for this; the lock holds anyway."""
    text = f"process {os.getpid()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC".encode()
    with contextlib.suppress(OSError):
        os.write(handle, text)
        # only the file of a killed holder is longer: ext4 writes a file to the disk when it is
        # closed after it was cut, which takes every vote 5 ms more
        if os.fstat(handle).st_size > len(text):
            os.truncate(handle, len(text))


def _read_holder(lock: Path) -> str:
    try:
        return lock.read_text() or "nothing"
    except OSError:
        return "nothing"

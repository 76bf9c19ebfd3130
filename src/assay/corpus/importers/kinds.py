"""The interface of an importer, and the table of the importers by kind.

An importer is one module with `SCHEME` (what its citations leave out), `VERSION` (raised when it
reads differently), `units(source, options)`, the files to read, and `read(source, unit, options)`,
a generator of documents and problems; a document may come with where it was read, (file:line,
document). `OPTIONS` names the options it has; without it any is taken. With `ISOLATED` files are
read by a process with limits; with `INCREMENTAL` files that have not changed are not read again.
With `cut(source, unit, options, size)` a large file is read by several processes: it returns the
ranges of the file, of about that size, or nothing where the file cannot be cut.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Protocol, cast

import msgspec

from assay.core import conninfo, plugins
from assay.core.errors import InputError
from assay.core.types import Document
from assay.core.workers import note
from assay.law.citation import Scheme

KINDS = {
    "documents": "assay.corpus.importers.documents",
    "fppc": "assay.corpus.importers.fppc",
    "akn": "assay.corpus.importers.akn",
    "finlex": "assay.corpus.importers.finlex",
    "report": "assay.corpus.importers.annual_report",
    "jsonl": "assay.corpus.importers.tabular",
    "json": "assay.corpus.importers.tabular",
    "csv": "assay.corpus.importers.tabular",
    "parquet": "assay.corpus.importers.tabular",
    "postgres": "assay.corpus.importers.postgres_rows",
}
IMPORTERS = plugins.PluginKind(name="importer", group="assay.importers", built_in=KINDS)

# A text or a mapping on the command line; from Python also a number, a choice or a list.
Option = str | int | float | bool | list[str] | Mapping[str, str] | None
Options = Mapping[str, Option]
Placed = tuple[str, Document]  # where it was read, file:line, and the document


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A record that could not be used, or was used only in part: where it is and why."""

    code: str
    where: str
    reason: str


class Range(msgspec.Struct, frozen=True):
    """A range of whole lines of a file: its first byte, the one after its last, and how many lines
    are before it."""

    start: int
    end: int
    lines_before: int


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One file to read, or a `range` of it. `path` is relative to the source; `id` names a record
    that has no id of its own. `refused` has what went over a limit of time or memory when it was
    read: the path of the file, or of one inside it, and the reason. A `kept` file is taken from the
    corpus as it is."""

    path: str
    id: str = ""
    size: int = 0
    mtime_ns: int = 0
    refused: dict[str, str] = {}
    kept: bool = False
    range: Range | None = None


class Importer(Protocol):
    """The shape of an importer's module."""

    SCHEME: Scheme
    VERSION: int

    def units(self, source: str, options: Options) -> list[Unit]: ...

    def read(
        self, source: str, unit: Unit, options: Options
    ) -> Iterator[Document | Placed | Problem]: ...


class Reading(msgspec.Struct, frozen=True):
    """What a process that reads files reports: the file it is at, and how many of its batch were
    before it (-1 where that is not said)."""

    path: str
    done: int


_last_told = [0.0]


def now_reading(path: str, done: int = -1, *, within: bool = False) -> None:
    """Report the file that is being read. It also shows that reading goes on: an importer reports
    each file inside another one, and `within` a file a record is reported once a second."""
    now = time.monotonic()
    if not within or now - _last_told[0] > 1:
        _last_told[0] = now
        note(Reading(path, done))


def ranges_of(rows: Iterable[tuple[int, int]], size: int) -> list[Range]:
    """Ranges of at least `size` bytes, from how many bytes and lines each row of a file has."""
    ranges: list[Range] = []
    start = end = lines = lines_before = 0
    for length, row_lines in rows:
        end += length
        lines += row_lines
        if end - start >= size:
            ranges.append(Range(start, end, lines_before))
            start, lines_before = end, lines
    return [*ranges, Range(start, end, lines_before)] if end > start else ranges


def refuse_unknown(kind: str, options: Options) -> None:
    """Refuse an option that the importer does not have, such as a mistyped one."""
    known: tuple[str, ...] | None = getattr(importer(kind), "OPTIONS", None)
    for key in options:
        if known is not None and key not in known:
            none = f"The importer {kind!r} has no options."
            hint = f"Known: {', '.join(known)}." if known else none
            raise InputError(f"unknown option {key!r} for the importer {kind!r}", hint=hint)


def importer(kind: str) -> Importer:
    """The importer of a kind: a module, or an object with the same names."""
    if not plugins.is_known(IMPORTERS, kind):
        known = plugins.names(IMPORTERS)
        hint = f"Known: {', '.join(known)}."
        if f".{kind}".lower() in DOCUMENTS:
            hint += " Leave the kind out, or use documents, for text, Markdown, HTML and Word."
        raise InputError(f"unknown kind of source {kind!r}", hint=hint)
    return cast(Importer, plugins.load(IMPORTERS, kind))


# ── the kind of a source, by its files ────────────────────────────────────────────────────────────

# Endings that say it; those of documents are in blocks.READERS.
BY_SUFFIX = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".xml": "akn", ".akn": "akn"}
DOCUMENTS = tuple(".txt .text .md .markdown .html .htm .xhtml .docx .eml .pdf .zip".split())
# taste: as much is read to guess the kind of a source
SEARCHED_FILES = 2_000  # files of a folder
PEEKED = 65_536  # bytes of a file of JSON


def guess_kind(source: str) -> str:
    """The kind of a file or folder: by the endings of its files, and for JSON by the keys of a
    record. A folder of several kinds is read as documents."""
    if not conninfo.is_path(source):
        return "postgres"
    root = Path(source)
    if root.is_file():
        return _kind_of_file(root) or _refuse_kind(source)
    if not root.is_dir():
        raise InputError("no such file or folder", where=source, hint="Check the path.")
    visible = (path for path in root.rglob("*") if path.is_file() and not _is_hidden(path, root))
    first_of: dict[str, Path] = {}  # by suffix
    counts: dict[str, int] = {}
    for path in islice(visible, SEARCHED_FILES):
        suffix = path.suffix.lower()
        first_of.setdefault(suffix, path)
        counts[suffix] = counts.get(suffix, 0) + 1
    if not counts:
        raise InputError("no files here", where=source, hint="Check the path.")
    read_as_documents = sum(counts.get(suffix, 0) for suffix in DOCUMENTS)
    others = {key: n for key, n in counts.items() if key in (*BY_SUFFIX, ".json", ".jsonl")}
    if read_as_documents >= sum(others.values()):
        return "documents" if read_as_documents else _refuse_kind(source)
    return _kind_of_file(first_of[max(others, key=others.__getitem__)]) or "documents"


def _kind_of_file(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".ndjson", ".json"):
        return _kind_of_json(path)
    return "documents" if suffix in DOCUMENTS else BY_SUFFIX.get(suffix, "")


def _kind_of_json(path: Path) -> str:
    """By the keys that the beginning of the file has."""
    with path.open("rb") as stream:
        head = stream.read(PEEKED).decode("utf-8", "replace")
    keys = set(re.findall(r'"(\w+)"\s*:', head))
    if {"law_id", "section_id"} <= keys:
        return "finlex"
    if path.suffix.lower() != ".json":
        return "jsonl"
    if {"pages", "page_num"} <= keys:
        return "report"
    is_array = head.lstrip("\ufeff \t\r\n").startswith("[")
    return "json" if is_array else "fppc" if keys & {"year", "sections", "content"} else ""


def _refuse_kind(source: str) -> str:
    raise InputError(
        "cannot tell what kind of documents these are",
        where=source,
        hint=f"Give it before the path: {', '.join(plugins.names(IMPORTERS))}.",
    )


def files_below(source: str, suffixes: tuple[str, ...]) -> list[Unit]:
    """The files of a source, one file or a folder, in name order. Without suffixes all are taken.
    Ids are the names without suffix, made unique."""
    root = Path(source)
    if not root.exists():
        where = source if conninfo.is_path(source) else ""  # an address may hold a password
        raise InputError("no such file or folder", where=where, hint="Check the path.")
    if root.is_file():
        return [_unit(root, root.name, root.stem)]
    found = (path for path in root.rglob("*") if not path.is_dir() and not _is_hidden(path, root))
    paths = sorted(path for path in found if not suffixes or path.suffix.lower() in suffixes)
    if not paths:
        message = f"no file here ends with {' or '.join(suffixes)}" if suffixes else "no files here"
        raise InputError(message, where=source, hint="Check the path and the kind.")
    seen: set[str] = set()
    units = []
    for path in paths:
        relative = path.relative_to(root)
        name = path.stem if path.stem not in seen else relative.with_suffix("").as_posix()
        seen.add(path.stem)
        units.append(_unit(path, _printable(relative.as_posix()), _printable(name)))
    return units


def _printable(name: str) -> str:
    """A name with escapes (\\udcff) for the bytes in it that are no UTF-8, which nothing else could
    hold."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


_ESCAPED_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")


_UNSAFE = re.compile(r"[^\w./-]+")


def safe_id(name: str) -> str:
    """A name without spaces and signs, which formats of runs could not hold."""
    return _UNSAFE.sub("-", name).strip("-") or "document"


def path_of(source: str, unit: Unit) -> Path:
    root = Path(source)
    path = root if root.is_file() else root / unit.path
    if _ESCAPED_BYTE.search(unit.path) and not path.exists():
        return root / _ESCAPED_BYTE.sub(lambda byte: chr(0xDC00 + int(byte[1], 16)), unit.path)
    return path


def _unit(path: Path, relative: str, name: str) -> Unit:
    try:
        status = path.stat()
    except OSError:  # a broken link or a file without permission: reading it reports why
        return Unit(path=relative, id=name)
    return Unit(path=relative, id=name, size=status.st_size, mtime_ns=status.st_mtime_ns)


def _is_hidden(path: Path, root: Path) -> bool:
    return any(name.startswith((".", "~$")) for name in path.relative_to(root).parts)

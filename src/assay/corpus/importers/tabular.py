"""Import tables (JSON lines or array, CSV, Parquet) by a column mapping, a document for each row.

A mapping says which column is what: `{"id": "doc_no", "title": "heading", "text": "body", "date":
"valid_from"}` reads `target: column`. Targets are a document's own fields (id, title, text,
language, valid_from, valid_to, citations, aliases), its locator (section, moment, page, table, row,
version), `fields.NAME` for a text to be searched apart, and `metadata.NAME`. Columns that are not
mapped become metadata under their own names. Without a mapping, columns that have the names of
targets are taken for them. A section with a list of `moments` (texts, or objects with a text and a
number) gives one document for each; a provision without an id gets the one of its place,
`act:section:moment`.

Options: `map` (the mapping), `language`, `encoding` and `delimiter` (CSV).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from msgspec.structs import replace

from assay.core.errors import InputError
from assay.core.files import MAX_LINE_BYTES
from assay.core.types import Document, Locator
from assay.corpus.importers.foreign_json import cut_lines, iter_records, unreadable
from assay.corpus.importers.kinds import (
    Options,
    Placed,
    Problem,
    Range,
    Unit,
    files_below,
    path_of,
    ranges_of,
)
from assay.language.detect import detect
from assay.law.citation import PLAIN
from assay.law.citing import title_of
from assay.law.places import normal_section

SCHEME = PLAIN
VERSION = 1  # raised when the same source gives other documents
OPTIONS = ("map", "language", "encoding", "delimiter")
SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
TEXTS = ("id", "title", "text", "language", "valid_from", "valid_to")
PLACES = tuple(name for name in Locator.__struct_fields__ if name != "doc_id")
TARGETS = (*TEXTS, *PLACES, "citations", "aliases")
CSV = (".csv", ".tsv")
PARQUET_ROWS = 4096  # read at a time (taste)
OTHER_NAMES = {
    "id": ("id", "_id", "doc_id", "docno", "node_id"),
    "title": ("title", "heading", "name"),
    "text": ("text", "body", "content", "contents"),
    "language": ("language", "lang"),
    "citations": ("citations", "cites"),
    "section": ("section", "section_id", "section_num"),
    "chapter": ("chapter",),
    "moment": ("moment",),
    "page": ("page", "page_num"),
    "valid_from": ("valid_from", "effective_from", "date"),
    "valid_to": ("valid_to", "effective_to"),
    "aliases": ("aliases", "case_number"),
}

Row = dict[str, Any]  # as the table has it


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, SUFFIXES)


def read(source: str, unit: Unit, options: Options) -> Iterator[Placed | Problem]:
    path = path_of(source, unit)
    given = given_mapping(options)
    language = _text(options.get("language"))
    # by columns: a line of JSON may leave out what it lacks
    mappings: dict[tuple[str, ...], dict[str, str]] = {}
    is_begin = unit.range is None or unit.range.start == 0
    rows: Iterator[tuple[str, Row | Problem]] = iter_records(path, Row, unit.range)
    if path.suffix.lower() in CSV:
        rows = _read_csv(path, options, unit.range)
    elif path.suffix.lower() == ".parquet":
        rows = _read_parquet(path)
    for where, row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        for one in _provisions(row):
            columns = tuple(one)
            if columns not in mappings:
                mappings[columns] = field_mapping(columns, given, first=is_begin and not mappings)
            made = document(one, mappings[columns], language, where)
            yield made if isinstance(made, Problem) else (where, made)


def cut(source: str, unit: Unit, options: Options, size: int) -> list[Range]:
    """Ranges of a large file of JSON lines or CSV."""
    path = path_of(source, unit)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return cut_lines(path, size)
    return _cut_csv(path, options, size) if path.suffix.lower() in CSV else []


def _provisions(row: Row) -> Iterator[Row]:
    """The moments of a row that lists them, with ids of their places; else the row itself."""
    named = any(row.get(name) for name in OTHER_NAMES["id"])
    act = row.get("law_id") or row.get("act") or row.get("law_key") or row.get("law")
    section = next((row[name] for name in OTHER_NAMES["section"] if row.get(name)), None)
    moments = row.get("moments")
    if section is None or (named and not isinstance(moments, list)):
        yield row
        return
    texts = moments if isinstance(moments, list) else [row]
    for number, text in enumerate(texts, start=1):
        given = text if isinstance(text, dict) else {"text": text}
        one = {key: value for key, value in row.items() if key != "moments"} | given
        if isinstance(moments, list):
            one["moment"] = given.get("moment") or given.get("number") or number
            one["section"] = normal_section(section)
        if not named or isinstance(moments, list):
            place = (act, row.get("chapter"), normal_section(section), one.get("moment"))
            one["id"] = ":".join(_text(part) for part in place if part not in (None, ""))
        if row.get("act") and not row.get("law") and row.get("title"):
            one |= {"law": row["title"], "law_id": row["act"], "title": ""}
            one |= {"section_title": row.get("heading") or ""}
            one.pop("heading", None)
        yield one


def given_mapping(options: Options) -> Mapping[str, str]:
    """target -> column, as the options say."""
    given = options.get("map") or {}
    if not isinstance(given, Mapping):
        raise InputError(f"{given!r} is not a mapping of columns", hint="Give --map TARGET=COLUMN.")
    return given


def field_mapping(
    columns: Sequence[str], given: Mapping[str, str], *, first: bool = True
) -> dict[str, str]:
    """target -> column: what is given, and well-known column names for the rest. The text may be
    missing from a later row."""
    for target, column in given.items():
        if target not in TARGETS and not target.startswith(("fields.", "metadata.")):
            message = f"a mapping to {target!r}, which a document does not have"
            hint = f"Known: {', '.join(TARGETS)}, fields.NAME, metadata.NAME."
            raise InputError(message, hint=hint)
        if column not in columns and (target == "id" or (first and target == "text")):
            message = f"no column {column!r} to take the {target} from"
            raise InputError(message, hint=f"Columns: {', '.join(columns)}.")
    mapping = dict(given)
    taken = set(given.values())
    for target, names in OTHER_NAMES.items():
        known = next((name for name in names if name in columns and name not in taken), None)
        if target not in given and known:
            mapping[target] = known
            taken.add(known)
    return mapping


def document(row: Row, mapping: Mapping[str, str], language: str, where: str) -> Document | Problem:
    """A row as a document. Columns that are not mapped at all become metadata; a date and aliases
    are also kept as they were."""
    cells = {target: row.get(column) for target, column in mapping.items()}
    texts = {name: _text(cells.get(name)) for name in TEXTS}
    places = {name: _text(cells.get(name)) or None for name in PLACES}
    page = places.pop("page")
    if not texts["id"].strip():
        return Problem(code="no-id", where=where, reason=_no_id(mapping.get("id"), list(row)))
    if reason := _text_problem(cells.get("text"), page):
        return Problem(code="bad-record", where=where, reason=reason)
    texts["language"] = texts["language"] or language or detect(texts["text"][:4_000])
    used = set(mapping.values()) - {mapping.get("aliases"), mapping.get("valid_from")}
    kept = [(column, value) for column, value in row.items() if column not in used]
    kept += [(target[9:], value) for target, value in cells.items() if target[:9] == "metadata."]
    metadata = {name: value for name, value in kept if value not in (None, "")}
    if aliases := _list(cells.get("aliases")):
        metadata["aliases"] = aliases
    named = {target[7:]: _text(cells[target]) for target in cells if target[:7] == "fields."}
    if places.get("section") and not metadata.get("section_title"):  # the heading of a provision
        named.setdefault("section_title", texts["title"])
    made = Document(
        **texts,
        fields={name: text for name, text in named.items() if text},
        locator=Locator(doc_id=texts["id"], page=int(page) if page else None, **places),
        citations=tuple(_list(cells.get("citations"))),
        metadata=metadata,
    )
    is_provision = places.get("section") and metadata.get("law") and not made.title
    return replace(made, title=title_of(made)) if is_provision else made


def _no_id(column: str | None, columns: Sequence[str]) -> str:
    if column:
        return f"no id: the column {column!r} is empty"
    return f"no id among: {', '.join(columns[:12])}"


def _text_problem(text: object, page: str | None) -> str:
    """Why these cannot be the text and the page of a document; empty where they can."""
    if isinstance(text, (dict, list)):
        return f"the text is {'an object' if isinstance(text, dict) else 'a list'}, not a string"
    if page is not None and not page.isdecimal():
        return f"the page {page!r} is not a number"
    return ""


def _cut_csv(path: Path, options: Options, size: int) -> list[Range]:
    """The ranges of a file, cut at ends of rows, which a quoted line end is not; none where it has
    a fault or an encoding of its own: read whole, it says which."""
    whole = Range(0, path.stat().st_size, 0)
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for line in _lines_within(path, whole):
            if "\r" in line.removesuffix("\r\n"):  # which ends a line too
                raise csv.Error
            read += len(line.encode())
            yield line.removeprefix("\ufeff")

    def rows() -> Iterator[tuple[int, int]]:
        bytes_before = lines_before = 0
        reader = _csv_reader(lines(), path, options)
        for _ in reader:
            yield read - bytes_before, reader.line_num - lines_before
            bytes_before, lines_before = read, reader.line_num

    try:
        return [] if options.get("encoding") else ranges_of(rows(), size)
    except (UnicodeDecodeError, csv.Error):
        return []


def _lines_within(path: Path, within: Range) -> Iterator[str]:
    left = within.end - within.start
    with path.open("rb") as stream:
        stream.seek(within.start)
        while left > 0 and (line := stream.readline()):
            left -= len(line)
            yield line.decode()


def _csv_reader(lines: Iterable[str], path: Path, options: Options) -> Any:
    delimiter = _text(options.get("delimiter")) or ("\t" if path.suffix.lower() == ".tsv" else ",")
    csv.field_size_limit(MAX_LINE_BYTES)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _read_csv(
    path: Path, options: Options, within: Range | None
) -> Iterator[tuple[str, dict[str, str] | Problem]]:
    encoding = _text(options.get("encoding")) or "utf-8-sig"
    number = 1
    lines_before = 0
    try:
        with path.open(encoding=encoding, newline="") as stream:
            rows = _csv_reader(stream, path, options)
            header = next(rows, None)
            if not header:
                yield str(path), Problem(code="empty", where=str(path), reason="the file is empty")
                return
            if within:
                lines_before = within.lines_before
                rows = _csv_reader(_lines_within(path, within), path, options)
                if within.start == 0:
                    next(rows)
            for row in rows:
                number = lines_before + rows.line_num
                where = f"{path}:{number}"
                if len(row) == len(header):
                    yield where, dict(zip(header, row, strict=True))
                elif row:
                    reason = f"{len(row)} fields, the header has {len(header)}"
                    yield where, Problem(code="bad-record", where=where, reason=reason)
    except OSError as error:
        yield str(path), unreadable(path, error)
    except UnicodeDecodeError as error:
        where = f"{path}:{number + 1}"
        byte = f"byte 0x{error.object[error.start]:02x}"
        reason = f"not {error.encoding}: {byte}; say which with the option `encoding`"
        yield where, Problem(code="bad-encoding", where=where, reason=reason)
    except (csv.Error, LookupError) as error:
        where = f"{path}:{number + 1}"
        yield where, Problem(code="bad-csv", where=where, reason=str(error))


def _read_parquet(path: Path) -> Iterator[tuple[str, Row | Problem]]:
    try:
        frame = pl.scan_parquet(path)
        height = frame.select(pl.len()).collect().item()
        for start in range(0, height, PARQUET_ROWS):
            rows = frame.slice(start, PARQUET_ROWS).collect()
            for number, row in enumerate(rows.iter_rows(named=True), start=start + 1):
                yield f"{path}:row {number}", row
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = f"not readable Parquet: {error}"
        yield str(path), Problem(code="unreadable", where=str(path), reason=reason)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (dict, list)):
        return ""
    return str(value)


def _list(value: object) -> list[str]:
    """A list, or a text with semicolons, pipes or line ends between its entries."""
    if isinstance(value, (list, tuple)):
        return [_text(entry) for entry in value if _text(entry)]
    entries = re.split(r"[;|\n]", _text(value))
    return [entry.strip() for entry in entries if entry.strip()]

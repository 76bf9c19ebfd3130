"""Rows of a table, JSON lines, CSV or Parquet, one document a row, by a field mapping.

A mapping says which column is what: `{"id": "doc_no", "title": "heading", "text": "body", "date":
"valid_from"}` reads `target: column`. Targets are a document's own fields (id, title, text,
language, valid_from, valid_to, citations, aliases), its locator (section, moment, page, table, row,
version), `fields.NAME` for a text to be searched apart, and `metadata.NAME`. Columns that are not
mapped become metadata under their own names. Without a mapping, columns that have the names of
targets are taken for them.

Options: `map` (the mapping), `language`, `encoding` and `delimiter` (CSV).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.errors import InputError
from assay.core.files import MAX_LINE_BYTES
from assay.core.types import Document, Locator
from assay.corpus.importers.jsonl import iter_records, unreadable
from assay.corpus.importers.source import Options, Placed, Problem, Unit, files_below, path_of
from assay.language.detect import detect
from assay.law.citation import PLAIN

SCHEME = PLAIN
VERSION = 1
OPTIONS = ("map", "language", "encoding", "delimiter")
SUFFIXES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
TEXTS = ("id", "title", "text", "language", "valid_from", "valid_to")
PLACES = tuple(name for name in Locator.__struct_fields__ if name != "doc_id")
TARGETS = (*TEXTS, *PLACES, "citations", "aliases")
PARQUET_ROWS = 4096  # read at a time
OTHER_NAMES = {
    "id": ("id", "_id", "doc_id", "docno", "node_id"),
    "title": ("title", "heading", "name"),
    "text": ("text", "body", "content", "contents"),
    "language": ("language", "lang"),
    "citations": ("citations", "cites"),
    "section": ("section", "section_id", "section_num"),
    "moment": ("moment",),
    "page": ("page", "page_num"),
    "valid_from": ("valid_from", "effective_from", "date"),
    "valid_to": ("valid_to", "effective_to"),
    "aliases": ("aliases", "case_number"),
}

Row = dict[str, Any]  # as the table has it
Rows = Iterator[tuple[str, Row | Problem]]  # with where each was read


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, SUFFIXES)


def read(source: str, unit: Unit, options: Options) -> Iterator[Placed | Problem]:
    path = path_of(source, unit)
    # by columns: a line of JSON may leave out what it lacks
    mappings: dict[tuple[str, ...], dict[str, str]] = {}
    readers = {".csv": _read_csv, ".tsv": _read_csv, ".parquet": _read_parquet}
    for where, row in readers.get(path.suffix.lower(), _read_jsonl)(path, options):
        if isinstance(row, Problem):
            yield row
            continue
        columns = tuple(row)
        if columns not in mappings:
            mappings[columns] = field_mapping(row, options, first=not mappings)
        made = document(row, mappings[columns], options, where)
        yield made if isinstance(made, Problem) else (where, made)


def field_mapping(row: Row, options: Options, *, first: bool = True) -> dict[str, str]:
    """target -> column: what the options say, and well-known column names for the rest. The text
    may be missing from a later row."""
    given = dict(options.get("map") or {})
    for target, column in given.items():
        if target not in TARGETS and not target.startswith(("fields.", "metadata.")):
            message = f"a mapping to {target!r}, which a document does not have"
            hint = f"Known: {', '.join(TARGETS)}, fields.NAME, metadata.NAME."
            raise InputError(message, hint=hint)
        if column not in row and (target == "id" or (first and target == "text")):
            message = f"no column {column!r} to take the {target} from"
            raise InputError(message, hint=f"Columns: {', '.join(row)}.")
    taken = set(given.values())
    for target, names in OTHER_NAMES.items():
        column = next((name for name in names if name in row and name not in taken), None)
        if target not in given and column:
            given[target] = column
            taken.add(column)
    return given


def document(
    row: Row, mapping: Mapping[str, str], options: Options, where: str
) -> Document | Problem:
    def column(target: str) -> object:
        return row.get(mapping.get(target, ""))

    texts = {name: _text(column(name)) for name in TEXTS}
    places = {name: _text(column(name)) or None for name in PLACES}
    if (problem := _wrong(row, mapping, texts["id"], places["page"])) is not None:
        return Problem(code=problem[0], where=where, reason=problem[1])
    stated = texts["language"] or _text(options.get("language"))
    texts["language"] = stated or detect(texts["text"][:4_000])
    page = places.pop("page")
    fields, metadata = _fields_and_metadata(row, mapping)
    if aliases := _list(column("aliases")):
        metadata["aliases"] = aliases
    return Document(
        **texts,
        fields=fields,
        locator=Locator(doc_id=texts["id"], page=int(page) if page else None, **places),
        citations=tuple(_list(column("citations"))),
        metadata=metadata,
    )


def _wrong(
    row: Row, mapping: Mapping[str, str], doc_id: str, page: str | None
) -> tuple[str, str] | None:
    """(code, reason) why a row cannot be a document."""
    if not doc_id.strip():
        if mapping.get("id"):
            return "no-id", f"no id: the column {mapping['id']!r} is empty"
        return "no-id", f"no id among: {', '.join(list(row)[:12])}"
    text = row.get(mapping.get("text", ""))
    if isinstance(text, (dict, list)):
        kind = "an object" if isinstance(text, dict) else "a list"
        return "bad-record", f"the text is {kind}, not a string"
    if page is not None and not page.isdigit():
        return "bad-record", f"the page {page!r} is not a number"
    return None


def _fields_and_metadata(
    row: Row, mapping: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, object]]:
    """What is mapped to fields and metadata, and every column that is not mapped at all. A date and
    aliases are also kept as they were."""
    used = set(mapping.values()) - {mapping.get("aliases"), mapping.get("valid_from")}
    fields: dict[str, str] = {}
    metadata = {
        key: value for key, value in row.items() if key not in used and value not in (None, "")
    }
    for target, column in mapping.items():
        kind, _, name = target.partition(".")
        if kind == "fields" and _text(row.get(column)):
            fields[name] = _text(row.get(column))
        elif kind == "metadata" and row.get(column) not in (None, ""):
            metadata[name] = row[column]
    return fields, metadata


def _read_jsonl(path: Path, options: Options) -> Rows:
    yield from iter_records(path, Row)


def _read_csv(path: Path, options: Options) -> Rows:
    delimiter = _text(options.get("delimiter")) or ("\t" if path.suffix.lower() == ".tsv" else ",")
    encoding = _text(options.get("encoding")) or "utf-8-sig"
    csv.field_size_limit(MAX_LINE_BYTES)
    number = 1
    try:
        with path.open(encoding=encoding, newline="") as stream:
            rows = csv.reader(stream, delimiter=delimiter, strict=True)
            header = next(rows, None)
            if not header:
                yield str(path), Problem(code="empty", where=str(path), reason="the file is empty")
                return
            for row in rows:
                number = rows.line_num
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


def _read_parquet(path: Path, options: Options) -> Rows:
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

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
PLACES = ("section", "moment", "page", "table", "row", "version")
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


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, SUFFIXES)


def read(source: str, unit: Unit, options: Options) -> Iterator[Placed | Problem]:
    path = path_of(source, unit)
    mappings: dict[
        tuple[str, ...], dict[str, str]
    ] = {}  # by columns: a line of JSON may leave out what it lacks
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


def field_mapping(
    row: Mapping[str, Any], options: Options, *, first: bool = True
) -> dict[str, str]:
    """target -> column: what the options say, and well-known column names for the rest. The text
    may be missing from a later row."""
    given = dict(options.get("map") or {})
    for target, column in given.items():
        if target not in (*TEXTS, *PLACES, "citations", "aliases") and not target.startswith(
            ("fields.", "metadata.")
        ):
            raise InputError(
                f"a mapping to {target!r}, which a document does not have",
                hint=f"Known: {', '.join((*TEXTS, *PLACES, 'citations', 'aliases'))}, fields.NAME, metadata.NAME.",
            )
        if column not in row and (target == "id" or (first and target == "text")):
            raise InputError(
                f"no column {column!r} to take the {target} from",
                hint=f"Columns: {', '.join(row)}.",
            )
    taken = set(given.values())
    for target, names in OTHER_NAMES.items():
        column = next((name for name in names if name in row and name not in taken), None)
        if target not in given and column:
            given[target] = column
            taken.add(column)
    return given


def document(
    row: Mapping[str, Any], mapping: Mapping[str, str], options: Options, where: str
) -> Document | Problem:
    texts = {name: _text(row.get(mapping.get(name, ""))) for name in TEXTS}
    if not texts["id"].strip():
        columns = ", ".join(list(row)[:12])
        reason = (
            f"no id: the column {mapping.get('id')!r} is empty"
            if mapping.get("id")
            else f"no id among: {columns}"
        )
        return Problem(code="no-id", where=where, reason=reason)
    if isinstance(row.get(mapping.get("text", "")), (dict, list)):
        kind = "an object" if isinstance(row[mapping["text"]], dict) else "a list"
        return Problem(code="bad-record", where=where, reason=f"the text is {kind}, not a string")
    places: dict[str, Any] = {
        name: _text(row.get(mapping.get(name, ""))) or None for name in PLACES
    }
    if places["page"] is not None and not str(places["page"]).isdigit():
        return Problem(
            code="bad-record", where=where, reason=f"the page {places['page']!r} is not a number"
        )
    places["page"] = int(places["page"]) if places["page"] else None
    texts["language"] = (
        texts["language"] or _text(options.get("language")) or detect(texts["text"][:4_000])
    )
    used = set(mapping.values()) - {mapping.get("aliases"), mapping.get("valid_from")}
    metadata = {
        key: value for key, value in row.items() if key not in used and value not in (None, "")
    }
    fields = {}
    for target, column in mapping.items():
        kind, _, name = target.partition(".")
        if kind == "fields" and _text(row.get(column)):
            fields[name] = _text(row.get(column))
        elif kind == "metadata" and row.get(column) not in (None, ""):
            metadata[name] = row[column]
    if aliases := _list(row.get(mapping.get("aliases", ""))):
        metadata["aliases"] = aliases
    return Document(
        **texts,
        fields=fields,
        locator=Locator(doc_id=texts["id"], **places),
        citations=tuple(_list(row.get(mapping.get("citations", "")))),
        metadata=metadata,
    )


def _read_jsonl(path: Path, options: Options) -> Iterator[tuple[str, dict[str, Any] | Problem]]:
    yield from iter_records(path, dict[str, Any])


def _read_csv(path: Path, options: Options) -> Iterator[tuple[str, dict[str, Any] | Problem]]:
    delimiter = _text(options.get("delimiter")) or ("\t" if path.suffix.lower() == ".tsv" else ",")
    csv.field_size_limit(MAX_LINE_BYTES)
    number = 1
    try:
        with path.open(
            encoding=_text(options.get("encoding")) or "utf-8-sig", newline=""
        ) as stream:
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
        reason = f"not {error.encoding}: byte 0x{error.object[error.start]:02x}; say which with the option `encoding`"
        yield where, Problem(code="bad-encoding", where=where, reason=reason)
    except (csv.Error, LookupError) as error:
        yield (
            f"{path}:{number + 1}",
            Problem(code="bad-csv", where=f"{path}:{number + 1}", reason=str(error)),
        )


def _read_parquet(path: Path, options: Options) -> Iterator[tuple[str, dict[str, Any] | Problem]]:
    try:
        frame = pl.scan_parquet(path)
        rows = frame.select(pl.len()).collect().item()
        for start in range(0, rows, 4096):
            for offset, row in enumerate(frame.slice(start, 4096).collect().iter_rows(named=True)):
                yield f"{path}:row {start + offset + 1}", row
    except (OSError, pl.exceptions.PolarsError) as error:
        yield (
            str(path),
            Problem(code="unreadable", where=str(path), reason=f"not readable Parquet: {error}"),
        )


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (dict, list)):
        return ""
    return str(value)


def _list(value: object) -> list[str]:
    """A list, or a text with one item between semicolons or pipes."""
    if isinstance(value, (list, tuple)):
        return [_text(item) for item in value if _text(item)]
    return [part.strip() for part in re.split(r"[;|\n]", _text(value)) if part.strip()]

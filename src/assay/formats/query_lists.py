"""Read a list of queries without judgments: a text file with one query a line, or a CSV with a
header."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from assay.core.errors import InputError
from assay.core.files import decode, iter_lines, read_bytes, refuse_long_lines
from assay.core.types import Query
from assay.formats.schema import repeated, text_of

TEXT_COLUMNS = ("text", "query")  # either
OWN_COLUMNS = ("id", "type", "topic", "issue", "notes")
KEPT_COLUMNS = ("language", "corpus")  # dataset.json keeps them with the query as they stand
COLUMNS = (*TEXT_COLUMNS, *OWN_COLUMNS, *KEPT_COLUMNS)

Found = tuple[str, Query]  # where it stands, and the query; its id is empty where none is given


def read_queries(path: Path) -> list[Found]:
    if path.suffix not in (".txt", ".csv"):
        raise InputError(
            f"queries are read from .txt or .csv, not {path.suffix or 'a file without an ending'}",
            where=str(path),
            hint="A text file has one query a line; a CSV has a column text or query.",
        )
    return list(_from_csv(path) if path.suffix == ".csv" else _from_text(path))


def _from_text(path: Path) -> Iterator[Found]:
    for number, line in iter_lines(path):
        where = f"{path}:{number}"
        yield where, Query(id="", text=text_of(line.strip(), Path(where), "text"))


def _from_csv(path: Path) -> Iterator[Found]:
    refuse_long_lines(path)
    text = decode(read_bytes(path), path)
    mark = max(",;\t", key=text.partition("\n")[0].count)  # as the spreadsheet's language has it
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
    try:
        column = _text_column([name.strip() for name in reader.fieldnames or ()], path)
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if None in row:
                raise InputError(
                    "the row has more fields than the header",
                    where=where,
                    hint="Put a text with a comma in quotation marks.",
                )
            values = {name: (value or "").strip() for name, value in row.items()}
            if any(values.values()):
                yield where, _query(values, column, where)
    except csv.Error as error:
        raise InputError(f"not valid CSV: {error}", where=f"{path}:{reader.line_num}") from error


def _text_column(names: list[str], path: Path) -> str:
    twice = repeated(names)
    unknown = [name for name in names if name not in COLUMNS]
    given = [name for name in TEXT_COLUMNS if name in names]
    if twice:
        raise InputError(f"the column {twice} comes twice", where=f"{path}:1")
    if len(given) != 1 or unknown:
        said = f"there is no column {unknown[0]!r}" if unknown else "one column text or query"
        raise InputError(
            f"the header is not that of a list of queries: {said}",
            where=f"{path}:1",
            hint=f"Expected text (or query), and of {', '.join(COLUMNS[2:])} what you have.",
        )
    return given[0]


def _query(values: dict[str, str], column: str, where: str) -> Query:
    if not values[column]:
        raise InputError("the row has no query text", where=where)
    return Query(
        id=values.get("id", ""),
        text=text_of(values[column], Path(where), column),
        type=values.get("type", ""),
        topic=values.get("topic", ""),
        issue=values.get("issue", ""),
        notes=values.get("notes", ""),
        extra={name: values[name] for name in KEPT_COLUMNS if values.get(name)},
    )

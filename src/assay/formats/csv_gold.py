"""Read and write gold sets as CSV, one row for each judgment: `query_id, query, doc_id, grade` and
optional columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import MAX_LINE_BYTES, decode, read_bytes, refuse_long_lines, write_atomic
from assay.core.types import (
    JUDGMENT_TEXT_COLUMNS,
    GoldSet,
    JsonObject,
    Judgment,
    Labelling,
    Query,
    judgments_to_frame,
)
from assay.formats.schema import first_repeated, grade_of, judged_twice, text_of
from assay.formats.spreadsheet import (
    csv_text,
    guarded_row,
    row_place,
    table_and_separator,
    unguard_cell,
)

REQUIRED = ("query_id", "doc_id", "grade")
QUERY_COLUMNS = ("type", "topic", "issue", "wording", "category", "language", "corpus", "notes")
KNOWN = ("query_id", "query", "doc_id", "grade", *QUERY_COLUMNS, *JUDGMENT_TEXT_COLUMNS)
JUDGED = ("unsure", "seconds", "document", "kind", "pairs")  # in what judges send back


def read_gold(path: Path) -> GoldSet:
    queries: dict[str, Query] = {}
    judgments: dict[tuple[str, str], Judgment] = {}
    for where, row in table_rows(path):
        _read_row(row, queries, judgments, where, path)
    if not queries:
        raise InputError("there are no rows below the header", where=str(path))
    return GoldSet(
        name=path.stem,
        queries=tuple(queries.values()),
        judgments=judgments_to_frame(judgments.values()),
    )


def table_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Each row with its place in the file. Spreadsheets separate by commas, semicolons or tabs,
    depending on their language."""
    refuse_long_lines(path)
    text, mark, skipped = table_and_separator(decode(read_bytes(path), path))
    csv.field_size_limit(MAX_LINE_BYTES)  # a packet has whole letters in its fields
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
    try:
        names = reader.fieldnames = [_column_name(name) for name in reader.fieldnames or ()]
    except csv.Error as error:
        raise InputError(f"not valid CSV: {error}", where=f"{path}:1") from error
    missing = [name for name in REQUIRED if name not in names]
    twice = first_repeated(names)
    if twice:
        raise InputError(f"the column {twice} appears twice", where=f"{path}:1")
    if missing:
        raise InputError(
            f"the column {missing[0]} is missing",
            where=f"{path}:1",
            hint=f"Expected a header with {', '.join(REQUIRED)} and optionally query.",
        )
    try:
        for number, row in enumerate(reader, start=2):
            yield row_place(path, reader.line_num + skipped, number), row
    except csv.Error as error:
        raise InputError(
            f"not valid CSV: {error}", where=f"{path}:{reader.line_num + skipped}"
        ) from error


def _column_name(column: str) -> str:
    """A column under its known name, in whatever case it is written."""
    name = column.strip().lower()
    return name if name in KNOWN or name in JUDGED else column


def _read_row(
    row: dict[str, str],
    queries: dict[str, Query],
    judgments: dict[tuple[str, str], Judgment],
    where: str,
    path: Path,
) -> None:
    values = {key: unguard_cell(value or "") for key, value in row.items() if key is not None}
    query_id, doc_id, grade = (values[name] for name in REQUIRED)
    if None in row or not query_id:
        raise InputError("the row has too many fields or no query_id", where=where)
    attributes: JsonObject = {name: values[name] for name in QUERY_COLUMNS if name in values}
    query = Query(id=query_id, text=values.get("query", ""), **attributes)
    if query.text:
        text_of(query.text, path, where)
    if queries.setdefault(query_id, query) != query:
        raise InputError(
            f"query {query_id!r} has a different text or attribute than on its first row",
            where=where,
        )
    if not doc_id and not grade:
        return  # a query without judgments
    if not doc_id:
        raise InputError("a grade without a doc_id", where=where)
    if (query_id, doc_id) in judgments:
        raise judged_twice(query_id, doc_id, where)
    text = {name: values[name] for name in JUDGMENT_TEXT_COLUMNS if values.get(name)}
    unknown = {name: value for name, value in values.items() if name not in KNOWN and value}
    if unknown:  # kept with the judgment, as the other formats keep keys they do not know
        text["extra"] = msgspec.json.encode(
            msgspec.json.decode(text.get("extra") or "{}") | unknown
        ).decode()
    judgments[query_id, doc_id] = Judgment(
        query_id=query_id, doc_id=doc_id, grade=grade_of(grade, where), **text
    )


def write_gold(gold: GoldSet, path: Path) -> list[Path]:
    write_atomic(path, content_of(gold))
    return [path]


def content_of(gold: GoldSet) -> str:
    text_columns = [name for name in JUDGMENT_TEXT_COLUMNS if name in gold.judgments.columns]
    query_columns = [
        name for name in QUERY_COLUMNS if any(getattr(query, name) for query in gold.queries)
    ]
    header = ["query_id", "query", *query_columns, "doc_id", "grade", *text_columns]
    table: list[list[object]] = [list(header)]
    judged: dict[str, list[Judgment]] = {query.id: [] for query in gold.queries}
    for judgment in gold.iter_judgments():
        judged[judgment.query_id].append(judgment)
    for query in gold.queries:
        attributes = [query.id, query.text, *(getattr(query, name) for name in query_columns)]
        for judgment in judged[query.id]:
            text = [getattr(judgment, name) for name in text_columns]
            table.append(guarded_row([*attributes, judgment.doc_id, judgment.grade, *text]))
        if not judged[query.id]:
            table.append(guarded_row([*attributes, "", "", *("" for _ in text_columns)]))
    return csv_text(table)


def content_with_labels(
    path: Path, judgments: Sequence[Judgment], labelling: Labelling, status: str
) -> bytes | None:
    """The file with these judgments; None where it already has them."""
    gold = read_gold(path)
    before = {(row.query_id, row.doc_id): row for row in gold.iter_judgments()}
    new = {(row.query_id, row.doc_id): row for row in judgments}
    rows = [_relabel_row(row, new[pair]) for pair, row in before.items() if pair in new]
    rows += [new[pair] for pair in sorted(new) if pair not in before]
    if rows == list(before.values()):
        return None
    return content_of(replace(gold, judgments=judgments_to_frame(rows))).encode()


def _relabel_row(before: Judgment, after: Judgment) -> Judgment:
    same = msgspec.structs.replace(after, extra=before.extra, supersedes=before.supersedes)
    return before if same == before else msgspec.structs.replace(after, extra=before.extra)

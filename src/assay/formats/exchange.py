"""The tasks that other judging tools receive, and the helpers that their formats share: grades as
choices, queries by text, CSV tables.

A format is a module with `write_tasks`, and a row in EXCHANGE_FORMATS of `formats/__init__.py`; its
`looks_like` and `read_ballots` bring back what was judged there, by a row in `ballots.OTHERS`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import decode, read_bytes, read_json, refuse_long_lines
from assay.core.types import JsonObject, Query, Vote
from assay.formats.ballots import NOTHING, UNSURE, Ballot, Ballots
from assay.formats.schema import grade_of, repeated
from assay.formats.spreadsheet import place, separated


class GradeChoice(msgspec.Struct, frozen=True, kw_only=True):
    value: int
    label: str
    definition: str


class Guide(msgspec.Struct, frozen=True, kw_only=True):
    """The instructions of a judge: the rubric as a page, and its grades, lowest first."""

    name: str  # of the set
    version: str
    markdown: str
    grades: tuple[GradeChoice, ...]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One pair to judge. `fields` are the named parts of the document, `document` its fingerprint;
    `label` and `votes` are what is known, for formats that carry it."""

    query: Query
    doc_id: str
    title: str = ""
    text: str = ""
    fields: dict[str, str] = {}
    document: str = ""
    label: int | None = None
    votes: tuple[Vote, ...] = ()


def choice_text(choice: GradeChoice) -> str:
    """As a judge reads it, and as tools send it back."""
    return f"{choice.value}: {choice.label}"


def choice_grade(text: str, where: str) -> int | None:
    """The grade of `2`, `2.0` or `2: Highly relevant`; None is unsure."""
    if text.strip().lower() in UNSURE:
        return None
    return grade_of(re.sub(r":.*", "", text, flags=re.DOTALL), where, NOTHING)


def first_record(path: Path) -> JsonObject:
    """The first object of a JSON array of objects; empty for any other file."""
    records = read_json(path) if path.suffix == ".json" else None
    first = records[0] if isinstance(records, list) and records else None
    return first if isinstance(first, dict) else {}


# ── queries by their text ─────────────────────────────────────────────────────────────────────────


def same_text(text: str) -> str:
    """The text of a query without the differences that tools make: they trim it, and put a space
    before a sign that a spreadsheet would take for a formula."""
    return " ".join(text.split())


def identified(ballots: Ballots, queries: Iterable[Query]) -> Ballots:
    """Ballots of formats that know queries by their text, with the ids of the set."""
    by_text: dict[str, list[str]] = {}
    for query in queries:
        by_text.setdefault(same_text(query.text), []).append(query.id)
    rows = [
        msgspec.structs.replace(ballot, query_id=_query_id_of(ballot, by_text), query="")
        if ballot.query
        else ballot
        for ballot in ballots.rows
    ]
    return msgspec.structs.replace(ballots, rows=rows)


def _query_id_of(ballot: Ballot, by_text: dict[str, list[str]]) -> str:
    ids = by_text.get(same_text(ballot.query), [])
    if len(ids) == 1:
        return ids[0]
    shown = ballot.query if len(ballot.query) <= 80 else f"{ballot.query[:80]}…"
    if not ids:
        message, hint = "no query of the set has this text", "Is it the set that was exported?"
    else:
        message = f"{len(ids)} queries of the set have this text ({', '.join(ids)})"
        hint = "Send these back in a format with query ids."
    raise InputError(f"{message}: {shown!r}", where=ballot.where, hint=f"{NOTHING} {hint}")


# ── tables ────────────────────────────────────────────────────────────────────────────────────────


def head_of(path: Path) -> list[str]:
    """The column names of a CSV; none where the file cannot be read as one."""
    if path.suffix not in (".csv", ".tsv") or not path.is_file():
        return []
    with path.open("rb") as stream:
        lines = stream.readline(2**20) + stream.readline(2**20)
    text, mark, _ = separated(lines.decode("utf-8", "replace").removeprefix("\ufeff"))
    line = text.partition("\n")[0].strip("\r")
    try:
        return _column_names(next(csv.reader([line], delimiter=mark), []))
    except csv.Error:
        return []


def rows_of(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Each row below the head, with where it stands; missing fields are empty."""
    refuse_long_lines(path)
    text, mark, skipped = separated(decode(read_bytes(path), path))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
    try:
        head = _column_names(next(reader))
        if (twice := repeated(head)) is not None:
            raise InputError(f"the column {twice} comes twice", where=f"{path}:1", hint=NOTHING)
        for number, row in enumerate(reader, start=2):
            where = place(path, reader.line_num + skipped, number)
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(head):
                raise InputError(
                    f"{len(row)} fields below {len(head)} columns", where=where, hint=NOTHING
                )
            yield where, [cell.strip() for cell in row] + [""] * (len(head) - len(row))
    except csv.Error as error:
        raise InputError(
            f"not valid CSV: {error}", where=f"{path}:{reader.line_num}", hint=NOTHING
        ) from error


def _column_names(head: list[str]) -> list[str]:
    """The names of columns; those that every such table has are known in any case."""
    names = [name.strip() for name in head]
    return [
        name.lower() if name.lower() in ("query", "docid", "rating") else name for name in names
    ]

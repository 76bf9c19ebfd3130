"""Read the files that judges send back (ballots), write blank ones to fill in, and describe the
tasks that other judging tools receive.

- A packet as JSONL: a first line about the packet (who judged, how many pairs), then a row a pair.
  The page of an HTML packet saves the same, without the texts.
- A packet as CSV, and the CSV of `gold next` and `gold pool`, filled in.
- STEM.votes.jsonl of another copy of the set: votes keep their ids.

Another tool's format is a module with `write_tasks` and a row in EXCHANGE_FORMATS of
`formats/__init__.py`; its `looks_like(path)` and `read_ballots(path)` bring back what was judged
there, by a row in OTHERS. A row
that nobody has filled in is counted as blank. A row that is wrong is kept apart with its line, so
that all of them can be named at once; a file that is wrong as a whole is refused."""

from __future__ import annotations

import csv
import importlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError, UsageError
from assay.core.files import (
    decode,
    iter_json_lines,
    iter_lines,
    read_bytes,
    read_json,
    refuse_long_lines,
    write_atomic,
)
from assay.core.types import JsonObject, Query, Vote, VoteKind
from assay.formats.csv_gold import table_rows
from assay.formats.schema import first_repeated, grade_of, read_record, require_type
from assay.formats.spreadsheet import (
    csv_text,
    guard_cell,
    row_place,
    table_and_separator,
    unguard_cell,
)

OTHERS: tuple[str, ...] = (  # modules of other formats, asked in this order
    "assay.formats.quepid",
    "assay.formats.quepid_book",
    "assay.formats.label_studio",
    "assay.formats.argilla",
)

UNSURE = ("unsure", "?")
_YES = ("1", "true", "yes", "x")
UNCHANGED = "Nothing was changed."


class Ballot(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one judge on one pair as a file has it; `where` is its file and line. Without a
    grade the judge was unsure. Fields that the file does not have are empty."""

    where: str
    query_id: str
    doc_id: str
    grade: int | None
    rationale: str = ""
    judge: str = ""
    at: str = ""
    seconds: float | None = None
    document: str = ""
    rubric: str = ""
    kind: VoteKind | None = None
    source: str = ""
    id: str = ""  # where the row is a vote already
    supersedes: str = ""
    echo: str = ""  # the id of the vote that was sent out with the pair; it may have been changed
    query: str = ""  # its text, where the file has no ids: `identified` finds the id


class BallotProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a row cannot be used, or what a file lacks."""

    where: str
    message: str
    hint: str = ""


class Ballots(msgspec.Struct, frozen=True, kw_only=True):
    """The ballots of a file. `has_rationales`: its format has a place for them; `blank` counts the
    rows that nobody has filled in; `bad` are the rows that cannot be read, and `missing` says that
    fewer came than the packet had."""

    rows: list[Ballot]
    has_rationales: bool = True
    blank: int = 0
    bad: list[BallotProblem] = []
    missing: BallotProblem | None = None

    @property
    def size(self) -> int:
        return len(self.rows) + self.blank + len(self.bad)


def problem_of(error: InputError) -> BallotProblem:
    return BallotProblem(where=error.where, message=error.message, hint=error.hint)


def read_ballots(path: Path) -> Ballots:
    if not path.exists():
        raise InputError("no such file", where=str(path), hint="Check the path.")
    for name in OTHERS:
        module = importlib.import_module(name)
        if module.looks_like(path):
            read: Ballots = module.read_ballots(path)
            return read
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        return _read_csv(path)
    if ending == ".jsonl":
        return _read_jsonl(path)
    message, hint = _NOT_VOTES.get(ending, _STRANGE)
    raise InputError(message, where=str(path), hint=f"{hint} {UNCHANGED}")


_PAGE = (
    "this is the page, and the votes are in the browser of the judge",
    "The judge opens the page, presses e, and sends the file that it saves: "
    "packet-NAME.votes.jsonl.",
)
_WORKBOOK = (
    "this is a workbook, and votes are read from tables as plain text",
    "Save it as CSV UTF-8.",
)
_STRANGE = (
    "this is none of the kinds of file that votes are read from",
    "Give a packet that was filled in (.jsonl or .csv), or an export of Quepid, Label Studio or "
    "Argilla.",
)
_NOT_VOTES = {
    ".html": _PAGE,
    ".htm": _PAGE,
    ".xlsx": _WORKBOOK,
    ".xls": _WORKBOOK,
    ".ods": _WORKBOOK,
    ".numbers": _WORKBOOK,
}


# ── packets and votes as JSON lines ───────────────────────────────────────────────────────────────


class _PacketRubric(msgspec.Struct, frozen=True):
    version: str = ""


class _PacketHeader(msgspec.Struct, frozen=True):
    packet: int
    pairs: int | None = None
    judge: str = ""
    kind: VoteKind | None = None
    rubric: _PacketRubric | str | None = None


class _PacketRow(msgspec.Struct, frozen=True):
    """The keys of a packet's row that matter here, and those of a vote."""

    query_id: str
    doc_id: str
    grade: int | float | str | None = None
    rationale: str | None = None
    seconds: float | None = None
    unsure: bool = False
    at: str | None = None
    judge: str | None = None
    rubric: str | None = None
    document: str | None = None
    kind: VoteKind | None = None
    source: str | None = None
    id: str | None = None
    supersedes: str = ""


def _read_jsonl(path: Path) -> Ballots:
    header = _PacketHeader(packet=0)
    rows, bad, blank, with_rationales = list[Ballot](), list[BallotProblem](), 0, False
    for number, value in _iter_packet_lines(path):
        where = Path(f"{path}:{number}")
        fields: JsonObject = require_type(value, dict, where, "$", "an object")
        if "packet" in fields and "query_id" not in fields:
            header = read_record(fields, _PacketHeader, where, "$", UNCHANGED)
            continue
        with_rationales |= "rationale" in fields
        try:
            row = read_record(fields, _PacketRow, where, "$", UNCHANGED)
            ballot = _ballot_of_row(_without_foreign_id(row, header, fields), header, str(where))
        except InputError as error:
            bad.append(problem_of(error))
            continue
        if ballot is None:
            blank += 1
        else:
            rows.append(ballot)
    came = len(rows) + blank + len(bad)
    return Ballots(
        rows=rows,
        has_rationales=with_rationales or not rows,
        blank=blank,
        bad=bad,
        missing=_missing_pairs(came, header.pairs, f"{path}:{_last_line(path)}"),
    )


def _without_foreign_id(row: _PacketRow, header: _PacketHeader, fields: JsonObject) -> _PacketRow:
    """The row, with its id only where it is a line of a votes file. Packets have no ids, and
    programs number rows as they like."""
    if not header.packet and fields.keys() >= _VOTE_KEYS:
        return row
    return msgspec.structs.replace(row, id=None, supersedes="")


_VOTE_KEYS = {"id", "judge", "kind", "at"}


def _missing_pairs(came: int, pairs: int | None, where: str) -> BallotProblem | None:
    if pairs is None or came == pairs:
        return None
    if came > pairs:
        raise InputError(
            f"the packet has more rows than it declares: {came} rows for {pairs} pairs",
            where=where,
            hint=f"Were two packets put together? {UNCHANGED}",
        )
    return BallotProblem(
        where=where,
        message=f"{came} of {pairs} pairs came: the file is cut, or rows were taken out",
        hint=f"Ask the judge for the whole file. {UNCHANGED}",
    )


def _iter_packet_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The values of the lines. A torn last line is reported with how much of the packet came."""
    before = 0
    pairs: int | None = None
    lines = iter_json_lines(path, strict=True)
    while True:
        try:
            number, value = next(lines)
        except StopIteration:
            return
        except InputError as error:
            last = _last_line(path)
            if "not valid JSON" in error.message and error.where == f"{path}:{last}" and pairs:
                raise InputError(
                    f"the packet is cut: {before} of {pairs} pairs came, up to line {last}, which "
                    "is torn",
                    where=error.where,
                    hint=f"{UNCHANGED} Ask the judge for the whole file, or save it again.",
                ) from error
            raise
        if isinstance(value, dict) and isinstance(value.get("pairs"), int):
            pairs = value["pairs"]
        else:
            before += 1
        yield number, value


def _last_line(path: Path) -> int:
    return max(number for number, _ in iter_lines(path))


def _ballot_of_row(row: _PacketRow, header: _PacketHeader, where: str) -> Ballot | None:
    rationale = (row.rationale or "").strip()
    unsure, grade = _parse_grade(row.grade, row.unsure, where)
    if grade is None and not unsure and not row.id:
        _refuse_half_done(rationale, where)
        return None
    version = header.rubric.version if isinstance(header.rubric, _PacketRubric) else header.rubric
    return Ballot(
        where=where,
        query_id=_require_id(row.query_id, "query_id", where),
        doc_id=_require_id(row.doc_id, "doc_id", where),
        grade=grade,
        rationale=rationale,
        judge=row.judge or header.judge,
        at=row.at or "",
        seconds=row.seconds,
        document=row.document or "",
        rubric=row.rubric or version or "",
        kind=row.kind or header.kind,
        source=row.source or "",
        id=row.id or "",
        supersedes=row.supersedes,
    )


def _parse_grade(
    given: int | float | str | None, unsure: bool, where: str
) -> tuple[bool, int | None]:
    """(unsure, the grade); 2.0 is 2, and 2,0 too."""
    text = "" if given is None else str(given).strip()
    if text.lower() in UNSURE or (unsure and not text):
        return True, None
    if not text:
        return False, None
    if unsure:
        raise InputError(
            f"grade {text}, and unsure too", where=where, hint=f"Keep one of them. {UNCHANGED}"
        )
    return False, grade_of(text, where, hint=f"Write the number, or unsure. {UNCHANGED}")


def _require_id(value: str, name: str, where: str) -> str:
    if not value.strip():
        raise InputError(f"the row has no {name}", where=where, hint=UNCHANGED)
    return value


def _refuse_half_done(rationale: str, where: str) -> None:
    if rationale:
        raise InputError(
            "a rationale without a grade",
            where=where,
            hint=f"Give the grade, or write unsure. {UNCHANGED}",
        )


# ── packets as CSV ────────────────────────────────────────────────────────────────────────────────


def _read_csv(path: Path) -> Ballots:
    rows, bad, blank, names, pairs = list[Ballot](), list[BallotProblem](), 0, frozenset[str](), ""
    where = f"{path}:1"
    for where, row in table_rows(path):
        try:
            values = _unguarded_cells(row, where)
            pairs = pairs or values.get("pairs", "")
            ballot = _ballot_of_cells(values, where)
        except InputError as error:
            bad.append(problem_of(error))
            continue
        finally:
            names = frozenset(row)
        if ballot is None:
            blank += 1
        else:
            rows.append(ballot)
    came = len(rows) + blank + len(bad)
    return Ballots(
        rows=rows,
        has_rationales="rationale" in names or not rows,
        blank=blank,
        bad=bad,
        missing=_missing_pairs(came, int(pairs) if pairs.isdecimal() else None, where),
    )


def _unguarded_cells(row: Mapping[str, str], where: str) -> dict[str, str]:
    if None in row:
        raise InputError("the row has more fields than the header", where=where, hint=UNCHANGED)
    if None in row.values():
        came = sum(value is not None for value in row.values())
        raise InputError(
            f"the row has {came} of {len(row)} fields; was the file cut?",
            where=where,
            hint=UNCHANGED,
        )
    return {key: unguard_cell(value).strip() for key, value in row.items()}


def _ballot_of_cells(values: dict[str, str], where: str) -> Ballot | None:
    row = _PacketRow(
        query_id=values["query_id"],
        doc_id=values["doc_id"],
        grade=values["grade"] or None,
        rationale=values.get("rationale"),
        seconds=_parse_seconds(values.get("seconds", ""), where),
        unsure=values.get("unsure", "").lower() in _YES,
        at=values.get("at"),
        judge=values.get("judge"),
        rubric=values.get("rubric"),
        document=values.get("document"),
        kind=_parse_kind(values.get("kind", ""), where),
        source=values.get("source"),
    )
    return _ballot_of_row(row, _PacketHeader(packet=0), where)


def _parse_seconds(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"{text[:40]!r} is not a number of seconds", where=where, hint=UNCHANGED
        ) from None


def _parse_kind(text: str, where: str) -> VoteKind | None:
    if not text:
        return None
    try:
        kind: VoteKind = msgspec.convert(text, thread_safe(VoteKind))
        return kind
    except msgspec.ValidationError:
        raise InputError(
            f"unknown kind of judge {text[:40]!r}", where=where, hint="Expected human or machine."
        ) from None


# ── blank ballots to fill in ──────────────────────────────────────────────────────────────────────

COLUMNS = (
    *("query_id", "query", "doc_id", "title", "said"),
    *("grade", "rationale", "unsure", "source"),
)


class BlankBallot(msgspec.Struct, frozen=True, kw_only=True):
    """A pair to judge. `said` holds the statements of other judges, where this judge may see
    them."""

    query_id: str
    query: str
    doc_id: str
    source: str
    title: str = ""  # of the document, where the corpus is here
    said: tuple[str, ...] = ()
    grade: int | None = None
    rationale: str = ""
    unsure: bool = False


class _BlankHeader(msgspec.Struct, frozen=True, kw_only=True):
    packet: int = 1
    set: str
    judge: str = ""
    pairs: int


def require_ending(output: Path) -> None:
    if output.suffix not in (".csv", ".jsonl"):
        raise UsageError(
            f"pairs to judge must be written as .csv or .jsonl, not "
            f"{output.suffix or 'without an ending'}",
            where=str(output),
        )


def write_blank(output: Path, rows: Sequence[BlankBallot], *, name: str) -> None:
    require_ending(output)
    if output.suffix == ".csv":
        write_atomic(output, _blank_table(rows))
        return
    lines = [_BlankHeader(set=name, pairs=len(rows)), *rows]
    write_atomic(output, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def _blank_table(rows: Sequence[BlankBallot]) -> str:
    table = [list(COLUMNS)]
    for row in rows:
        pair = (row.query_id, row.query, row.doc_id, row.title, "\n".join(row.said))
        table.append([guard_cell(cell) for cell in (*pair, "", "", "", row.source)])
    return csv_text(table)


# ── tasks for other judging tools ─────────────────────────────────────────────────────────────────


class GradeOption(msgspec.Struct, frozen=True, kw_only=True):
    value: int
    label: str
    definition: str


class Guide(msgspec.Struct, frozen=True, kw_only=True):
    """The instructions of a judge: the rubric as a page, and its grades, lowest first."""

    name: str  # of the set
    version: str
    markdown: str
    grades: tuple[GradeOption, ...]


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


def choice_text(choice: GradeOption) -> str:
    """As a judge reads it, and as tools send it back."""
    return f"{choice.value}: {choice.label}"


def choice_grade(text: str, where: str) -> int | None:
    """The grade of `2`, `2.0` or `2: Highly relevant`; None is unsure."""
    if text.strip().lower() in UNSURE:
        return None
    return grade_of(re.sub(r":.*", "", text, flags=re.DOTALL), where, UNCHANGED)


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
    raise InputError(f"{message}: {shown!r}", where=ballot.where, hint=f"{UNCHANGED} {hint}")


# ── tables ────────────────────────────────────────────────────────────────────────────────────────


def head_of(path: Path) -> list[str]:
    """The column names of a CSV; none where the file cannot be read as one."""
    if path.suffix not in (".csv", ".tsv") or not path.is_file():
        return []
    with path.open("rb") as stream:
        lines = stream.readline(2**20) + stream.readline(2**20)
    text, mark, _ = table_and_separator(lines.decode("utf-8", "replace").removeprefix("\ufeff"))
    line = text.partition("\n")[0].strip("\r")
    try:
        return _column_names(next(csv.reader([line], delimiter=mark), []))
    except csv.Error:
        return []


def rows_of(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Each row below the head, with where it stands; missing fields are empty."""
    refuse_long_lines(path)
    text, mark, skipped = table_and_separator(decode(read_bytes(path), path))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
    try:
        head = _column_names(next(reader))
        if (twice := first_repeated(head)) is not None:
            raise InputError(f"the column {twice} appears twice", where=f"{path}:1", hint=UNCHANGED)
        for number, row in enumerate(reader, start=2):
            where = row_place(path, reader.line_num + skipped, number)
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(head):
                raise InputError(
                    f"{len(row)} fields below {len(head)} columns", where=where, hint=UNCHANGED
                )
            yield where, [cell.strip() for cell in row] + [""] * (len(head) - len(row))
    except csv.Error as error:
        raise InputError(
            f"not valid CSV: {error}", where=f"{path}:{reader.line_num}", hint=UNCHANGED
        ) from error


def _column_names(head: list[str]) -> list[str]:
    """The names of columns; those that every such table has are known in any case."""
    names = [name.strip() for name in head]
    return [
        name.lower() if name.lower() in ("query", "docid", "rating") else name for name in names
    ]

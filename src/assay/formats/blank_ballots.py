"""Ballots to fill in, without the texts: a row a pair, as CSV or as JSONL. `read_ballots` takes
them back. What `source` says is kept, so that a spot check stays one, and a ruling too."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.errors import UsageError
from assay.core.files import write_atomic
from assay.formats.spreadsheet import guarded

COLUMNS = (
    *("query_id", "query", "doc_id", "title", "said"),
    *("grade", "rationale", "unsure", "source"),
)


class BlankBallot(msgspec.Struct, frozen=True, kw_only=True):
    """A pair to judge; `said` is what others have said of it, where the judge may know."""

    query_id: str
    query: str
    doc_id: str
    source: str
    title: str = ""  # of the document, where the corpus is here
    said: tuple[str, ...] = ()
    grade: int | None = None
    rationale: str = ""
    unsure: bool = False


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    packet: int = 1
    set: str
    judge: str = ""
    pairs: int


def require_ending(output: Path) -> None:
    if output.suffix not in (".csv", ".jsonl"):
        raise UsageError(
            f"pairs to judge are written as .csv or .jsonl, not "
            f"{output.suffix or 'without an ending'}",
            where=str(output),
        )


def write_blank(output: Path, rows: Sequence[BlankBallot], *, name: str) -> None:
    require_ending(output)
    if output.suffix == ".csv":
        write_atomic(output, _table(rows))
        return
    lines = [_Header(set=name, pairs=len(rows)), *rows]
    write_atomic(output, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def _table(rows: Sequence[BlankBallot]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        asked = (row.query_id, row.query, row.doc_id, row.title, "\n".join(row.said))
        cells = (*asked, "", "", "", row.source)
        writer.writerow(map(guarded, cells))
    return stream.getvalue()

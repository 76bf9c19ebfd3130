"""Read and write the ratings of a Quepid case, `query,docid,rating`: a whole gold set, or the
ratings of one judge.

Quepid knows a query by its text and has no ids, so queries are numbered in the order of the file. A
row without a document is a query that nobody has rated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay.core.errors import InputError
from assay.core.files import write_atomic
from assay.core.types import GoldSet, Judgment, Query, judgments_to_frame
from assay.formats.ballots import (
    UNCHANGED,
    Ballot,
    Ballots,
    Guide,
    Task,
    head_of,
    rows_of,
    same_text,
)
from assay.formats.schema import grade_of, text_of
from assay.formats.spreadsheet import csv_text, guarded_row, unguard_cell

HEAD = ("query", "docid", "rating")
FORMULA = "-=+@"  # Quepid puts a space before these, so that no spreadsheet computes them


def looks_like(path: Path) -> bool:
    return sorted(head_of(path)) == sorted(HEAD)


def read_gold(path: Path) -> GoldSet:
    queries: dict[str, Query] = {}
    judgments: dict[tuple[str, str], Judgment] = {}
    for where, text, doc_id, rating in _ratings(path):
        known = queries.setdefault(same_text(text), Query(id=f"q{len(queries) + 1}", text=text))
        if not doc_id or not rating:
            continue
        if (known.id, doc_id) in judgments:
            raise InputError(
                f"document {doc_id!r} is rated twice on this query",
                where=where,
                hint="Keep one rating per pair.",
            )
        judgments[known.id, doc_id] = Judgment(
            query_id=known.id, doc_id=doc_id, grade=grade_of(rating, where), source="imported"
        )
    if not queries:
        raise InputError("there are no rows below the header", where=str(path))
    return GoldSet(
        name=path.stem,
        queries=tuple(queries.values()),
        judgments=judgments_to_frame(judgments.values()),
    )


def write_gold(gold: GoldSet, path: Path) -> list[Path]:
    texts = texts_of(gold.queries)
    rated = {query.id: list[Judgment]() for query in gold.queries}
    for judgment in gold.iter_judgments():
        rated[judgment.query_id].append(judgment)
    rows: list[tuple[str, str, int | str]] = []
    for query in gold.queries:
        rows += [(texts[query.id], row.doc_id, row.grade) for row in rated[query.id]]
        rows += [] if rated[query.id] else [(texts[query.id], "", "")]
    write_table(path, HEAD, rows)
    return [path]


def write_tasks(tasks: Sequence[Task], guide: Guide, path: Path) -> list[Path]:
    """Every pair with its label, or with room for a rating where it has none."""
    texts = texts_of({task.query.id: task.query for task in tasks}.values())
    rows = [
        (texts[task.query.id], task.doc_id, "" if task.label is None else task.label)
        for task in tasks
    ]
    write_table(path, HEAD, rows)
    return [path]


def read_ballots(path: Path) -> Ballots:
    rows, blank = list[Ballot](), 0
    for where, text, doc_id, rating in _ratings(path):
        if not doc_id or not rating:
            blank += 1
            continue
        grade = grade_of(rating, where, UNCHANGED)
        rows.append(Ballot(where=where, query_id="", query=text, doc_id=doc_id, grade=grade))
    return Ballots(rows=rows, has_rationales=False, blank=blank)


def _ratings(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """(where, query, document, rating) of every row."""
    head = head_of(path)
    if sorted(head) != sorted(HEAD):
        raise InputError(
            f"the columns are {', '.join(head) or 'not there'}",
            where=f"{path}:1",
            hint=f"Expected {', '.join(HEAD)}. Import a book with gold merge.",
        )
    places = [head.index(name) for name in HEAD]
    for where, row in rows_of(path):
        text, doc_id, rating = (row[place] for place in places)
        if not text or (rating and not doc_id):
            missing = "query" if not text else "docid"
            raise InputError(f"the row has no {missing}", where=where, hint=UNCHANGED)
        yield where, text_of(unguard_cell(text), path, where), unguard_cell(doc_id), rating


def texts_of(queries: Iterable[Query]) -> dict[str, str]:
    """The text of every query, which must tell it from all others."""
    texts: dict[str, str] = {}
    seen: dict[str, str] = {}
    for query in queries:
        text = same_text(query.text)
        if not text or text in seen:
            why = f"has the text of {seen[text]!r}" if text else "has no text"
            raise InputError(
                f"query {query.id!r} {why}, and Quepid identifies queries by their texts",
                hint="Reword one of them.",
            )
        seen[text] = query.id
        texts[query.id] = f" {text}" if text[0] in FORMULA else text
    return texts


def write_table(path: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    table = [list[object](head)]
    for row in rows:
        query, *cells = guarded_row(row)
        # the space is Quepid's own guard, and it tells queries by their texts
        is_guarded = str(row[0]).startswith(" ")
        table.append([str(query).removeprefix("'") if is_guarded else query, *cells])
    write_atomic(path, csv_text(table))

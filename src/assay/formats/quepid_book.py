"""Read and write Quepid books: the ratings of every judge for every pair of query and document.

As CSV a book has `query,docid` and a column a judge, who may have left a cell empty. As JSON it has
`query_doc_pairs`, each with its `judgements`; of an unrateable pair the judge was unsure, and what
is to be judged later is not judged. Only JSON keeps what the judge wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import InputError, UsageError
from assay.core.files import read_json, write_json
from assay.core.types import JsonObject
from assay.formats.ballots import UNCHANGED, Ballot, Ballots, Guide, Task, head_of, rows_of
from assay.formats.quepid import texts_of, write_table
from assay.formats.schema import grade_of, read_record, require_type
from assay.formats.spreadsheet import unguard_cell

HEAD = ("query", "docid")


def looks_like(path: Path) -> bool:
    if path.suffix == ".json":
        value = read_json(path)
        return isinstance(value, dict) and "query_doc_pairs" in value
    head = head_of(path)
    return set(HEAD) <= set(head) and "rating" not in head


def read_ballots(path: Path) -> Ballots:
    return _read_json(path) if path.suffix == ".json" else _read_table(path)


def write_tasks(tasks: Sequence[Task], guide: Guide, path: Path) -> list[Path]:
    """The pairs, with the votes that are known. No position: it would tell what an engine said."""
    texts = texts_of({task.query.id: task.query for task in tasks}.values())
    if path.suffix == ".json":
        write_json(path, _book(tasks, guide, texts))
    elif path.suffix == ".csv":
        judges = list(dict.fromkeys(vote.judge for task in tasks for vote in task.votes))
        rows = [(texts[task.query.id], task.doc_id, *_cells(task, judges)) for task in tasks]
        write_table(path, (*HEAD, *judges), rows)
    else:
        raise UsageError(
            f"a book must be written as .csv or .json, not {path.suffix or 'without an ending'}",
            where=str(path),
        )
    return [path]


# ── CSV ───────────────────────────────────────────────────────────────────────────────────────────


def _cells(task: Task, judges: Sequence[str]) -> list[int | str]:
    """The grade of each judge; a judge who was unsure has an empty cell."""
    said = {vote.judge: vote.grade for vote in task.votes}
    grades = (said.get(judge) for judge in judges)
    return ["" if grade is None else grade for grade in grades]


def _read_table(path: Path) -> Ballots:
    head = head_of(path)
    query, document = (head.index(name) for name in HEAD)
    judges = [place for place, name in enumerate(head) if name not in HEAD]
    if "" in head:
        raise InputError("a column has no judge's name", where=f"{path}:1", hint=UNCHANGED)
    rows, blank = list[Ballot](), 0
    for where, row in rows_of(path):
        if not row[query] or not row[document]:
            missing = "query" if not row[query] else "docid"
            raise InputError(f"the row has no {missing}", where=where, hint=UNCHANGED)
        given = [place for place in judges if row[place]]
        blank += not given
        rows += [
            Ballot(
                where=where,
                query_id="",
                query=unguard_cell(row[query]),
                doc_id=unguard_cell(row[document]),
                grade=grade_of(row[place], where, UNCHANGED),
                judge=head[place],
            )
            for place in given
        ]
    return Ballots(rows=rows, has_rationales=False, blank=blank)


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────


class _Judgement(msgspec.Struct):
    rating: int | float | str | None = None
    unrateable: bool | None = None
    judge_later: bool | None = None
    user_email: str | None = None
    explanation: str | None = None


class _Pair(msgspec.Struct):
    query_text: str
    doc_id: str
    judgements: list[_Judgement] = []


def _book(tasks: Sequence[Task], guide: Guide, texts: dict[str, str]) -> JsonObject:
    pairs: list[JsonObject] = [
        {
            "query_text": texts[task.query.id],
            "doc_id": task.doc_id,
            "document_fields": {"title": task.title, **task.fields, "text": task.text},
            "judgements": [
                {
                    "rating": vote.grade,
                    "unrateable": vote.grade is None,
                    "judge_later": False,
                    "user_email": vote.judge,
                    "explanation": vote.rationale,
                }
                for vote in task.votes
            ],
        }
        for task in tasks
    ]
    return {"name": guide.name, "show_rank": False, "query_doc_pairs": pairs}


def _read_json(path: Path) -> Ballots:
    book = read_json(path)
    pairs: list[Any] = require_type(
        book["query_doc_pairs"], list, path, "$.query_doc_pairs", "an array"
    )
    rows, blank = list[Ballot](), 0
    for number, value in enumerate(pairs):
        at = f"$.query_doc_pairs[{number}]"
        pair = read_record(value, _Pair, path, at, UNCHANGED)
        if not pair.query_text.strip() or not pair.doc_id:
            raise InputError("no query_text or no doc_id", where=f"{path}: {at}", hint=UNCHANGED)
        given = [
            _ballot(pair, judgement, f"{path}: {at}.judgements[{place}]")
            for place, judgement in enumerate(pair.judgements)
            if judgement.unrateable or (judgement.rating is not None and not judgement.judge_later)
        ]
        rows += given
        blank += not given
    return Ballots(rows=rows, blank=blank)


def _ballot(pair: _Pair, judgement: _Judgement, where: str) -> Ballot:
    return Ballot(
        where=where,
        query_id="",
        query=pair.query_text,
        doc_id=pair.doc_id,
        grade=None if judgement.unrateable else grade_of(str(judgement.rating), where, UNCHANGED),
        rationale=(judgement.explanation or "").strip(),
        judge=judgement.user_email or "",
    )

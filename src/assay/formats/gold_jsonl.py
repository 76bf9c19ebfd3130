"""`gold-set.jsonl`: one query a line with the ids that are right, bootstrapped from logs or given
by the chair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.core.files import iter_json_lines, write_atomic
from assay.core.types import GoldSet, Judgment, Query, judgments_to_frame
from assay.formats.schema import expect, record, text_of, unique, unknown_keys


class _Row(msgspec.Struct):
    id: str
    query: str
    practice_area: str = ""
    corpus: str = ""
    relevant_case_law_ids: list[str] = []
    source: str = ""
    note: str = ""


def read_gold(path: Path) -> GoldSet:
    seen: set[str] = set()
    queries: list[Query] = []
    judgments: list[Judgment] = []
    for number, raw in iter_json_lines(path, comments=True, strict=True):
        at = f"line {number}"
        row = record(expect(raw, dict, path, at, "an object"), _Row, path, at)
        text_of(row.query, path, f"{at} query")
        unique(row.id, seen, path, f"{at} id", "query id")
        for doc_id in row.relevant_case_law_ids:
            if row.relevant_case_law_ids.count(doc_id) > 1:
                raise InputError(
                    f"document {doc_id!r} comes twice on query {row.id!r}",
                    where=f"{path}:{number}",
                    hint="Keep it once.",
                )
            judgments.append(Judgment(query_id=row.id, doc_id=doc_id, grade=1, source=row.source))
        queries.append(
            Query(
                id=row.id,
                text=row.query,
                topic=row.practice_area,
                corpus=row.corpus,
                source=row.source,
                notes=row.note,
                extra=unknown_keys(raw, _Row),
            )
        )
    approved = bool(queries) and all(query.source == "chair" for query in queries)
    return GoldSet(
        name=path.stem,
        queries=tuple(queries),
        judgments=judgments_to_frame(judgments),
        status="approved" if approved else "provisional",
        from_logs=True,
    )


def write_gold(gold: GoldSet, path: Path) -> list[Path]:
    relevant: dict[str, list[str]] = {query.id: [] for query in gold.queries}
    for judgment in gold.iter_judgments():
        if judgment.grade >= 1:
            relevant[judgment.query_id].append(judgment.doc_id)
    lines = []
    for query in gold.queries:
        row: dict[str, Any] = {
            "id": query.id,
            "query": query.text,
            "practice_area": query.topic,
            "corpus": query.corpus,
            "relevant_case_law_ids": relevant[query.id],
            "source": query.source,
            "note": query.notes,
            **query.extra,
        }
        lines.append(msgspec.json.encode(row) + b"\n")
    write_atomic(path, b"".join(lines))
    return [path]

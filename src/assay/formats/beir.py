"""Read and write BEIR: a folder with `queries.jsonl` and `qrels/SPLIT.tsv`, and results as JSON
`{query: {document: score}}`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.files import iter_json_lines, iter_lines, read_json, write_atomic
from assay.core.runs import run_from_scores
from assay.core.types import GoldSet, JsonObject, Judgment, Query, Run, judgments_to_frame
from assay.formats.schema import (
    finite_number,
    grade_of,
    id_of,
    judged_twice,
    read_record,
    refuse_repeated,
    require_type,
    type_in_words,
    unknown_keys,
)

HEADER = "query-id\tcorpus-id\tscore"
SPLITS = ("test", "dev", "train")
METADATA = ("type", "topic", "issue", "wording", "category", "language", "corpus", "notes")


class _Query(msgspec.Struct):
    _id: str
    text: str = ""
    metadata: JsonObject = {}


def read_gold(path: Path) -> GoldSet:
    """The folder; of several splits the first of test, dev, train. A `SPLIT.tsv` given itself picks
    the split."""
    folder, qrels = (path.parent.parent, path) if path.is_file() else (path, _qrels_of(path))
    queries: list[Query] = []
    seen: set[str] = set()
    for number, raw in iter_json_lines(folder / "queries.jsonl", strict=True):
        at = f"line {number}"
        row = read_record(
            require_type(raw, dict, folder / "queries.jsonl", at, "an object"),
            _Query,
            folder / "queries.jsonl",
            at,
        )
        refuse_repeated(row._id, seen, folder / "queries.jsonl", at, "query id")
        known = {
            key: row.metadata[key] for key in METADATA if isinstance(row.metadata.get(key), str)
        }
        rest = {
            key: value for key, value in row.metadata.items() if key not in known
        } | unknown_keys(raw, _Query)
        queries.append(Query(id=row._id, text=row.text, extra=rest, **known))
    judgments = _read_qrels(qrels, seen)
    return GoldSet(
        name=folder.name, queries=tuple(queries), judgments=judgments_to_frame(judgments)
    )


def _qrels_of(folder: Path) -> Path:
    for split in SPLITS:
        if (folder / "qrels" / f"{split}.tsv").exists():
            return folder / "qrels" / f"{split}.tsv"
    raise InputError(
        "no qrels/test.tsv, dev.tsv or train.tsv in the folder",
        where=str(folder),
        hint="A BEIR folder has queries.jsonl and qrels/SPLIT.tsv.",
    )


def _read_qrels(path: Path, known: set[str]) -> list[Judgment]:
    judgments: dict[tuple[str, str], Judgment] = {}
    for number, line in iter_lines(path):
        fields = line.split("\t")
        where = f"{path}:{number}"
        if number == 1 and fields[:1] == ["query-id"]:
            continue
        if len(fields) != 3:
            raise InputError(f"expected three fields: {HEADER.replace(chr(9), ', ')}", where=where)
        if fields[0] not in known:
            raise InputError(f"query {fields[0]!r} is not in queries.jsonl", where=where)
        if (fields[0], fields[1]) in judgments:
            raise judged_twice(fields[0], fields[1], where)
        grade = grade_of(fields[2], where)
        judgments[fields[0], fields[1]] = Judgment(
            query_id=fields[0], doc_id=fields[1], grade=grade
        )
    return list(judgments.values())


def write_gold(gold: GoldSet, path: Path) -> list[Path]:
    queries = []
    for query in gold.queries:
        metadata = {key: getattr(query, key) for key in METADATA if getattr(query, key)} | dict(
            query.extra
        )
        queries.append(
            msgspec.json.encode({"_id": query.id, "text": query.text, "metadata": metadata}) + b"\n"
        )
    rows = [HEADER + "\n"]
    for judgment in gold.iter_judgments():
        if (
            "\t" in judgment.query_id + judgment.doc_id
            or "\n" in judgment.query_id + judgment.doc_id
        ):
            raise InputError(
                f"the id {judgment.doc_id!r} has a tab or a line break "
                "and cannot be written to a TSV"
            )
        rows.append(f"{judgment.query_id}\t{judgment.doc_id}\t{judgment.grade}\n")
    written = [path / "queries.jsonl", path / "qrels" / "test.tsv"]
    write_atomic(written[0], b"".join(queries))
    write_atomic(written[1], "".join(rows))
    return written


def read_run(path: Path) -> Run:
    scores_by_query = require_type(read_json(path), dict, path, "$", "an object of queries")
    doc_ids: list[str] = []
    scores: list[float] = []
    lengths: list[int] = []
    for query_id, scored in scores_by_query.items():
        at = f"$.{id_of(query_id, path, '$')}"
        for doc_id, score in require_type(
            scored, dict, path, at, "an object of documents and scores"
        ).items():
            if isinstance(score, bool) or not isinstance(score, int | float):
                raise InputError(
                    f"expected a score, got {type_in_words(score)}", where=f"{path}: {at}.{doc_id}"
                )
            doc_ids.append(id_of(doc_id, path, at))
            scores.append(finite_number(score, path, f"{at}.{doc_id}"))
        lengths.append(len(scored))
    documents = pl.Series(doc_ids, dtype=pl.String)
    values = pl.Series(scores, dtype=pl.Float64)
    return run_from_scores(
        path.stem, list(scores_by_query), np.array(lengths, np.int64), documents, values
    )


def write_run(run: Run, path: Path) -> None:
    """{query: {document: score}}. Readers order by score, so the engine's order is written as one:
    a document that is not last has a higher score than the next."""
    answers = {}
    for query_id in run.rows_by_query:
        doc_ids = run.doc_ids(query_id)
        answers[query_id] = {id: float(len(doc_ids) - rank) for rank, id in enumerate(doc_ids)}
    write_atomic(path, msgspec.json.encode(answers))

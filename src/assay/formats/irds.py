"""Read the queries, judgments and documents of an ir_datasets data set: `irds:NAME`, as in
`--dataset irds:beir/scifact/test`."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.types import GoldSet, Query, judgment_frame

START = "irds:"
UNREACHED = re.compile(r"ConnectionPool\(host=\\*'([^'\\]+)")  # as urllib3 names a host
TEXTS = ("text", "title", "query")  # where a query has its text, the first that there is


def read_gold(path: Path | str) -> GoldSet:
    name = str(path).removeprefix(START)
    dataset = _load_dataset(name)
    try:
        queries = tuple(
            Query(id=query.query_id, text=_text(query)) for query in dataset.queries_iter()
        )
        rows = [(row.query_id, row.doc_id, int(row.relevance)) for row in dataset.qrels_iter()]
    except Exception as error:  # a download, a missing file, a format of its own
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hosts = dict.fromkeys(UNREACHED.findall(said))
        raise InputError(
            f"no connection to {' or '.join(hosts)}" if hosts else f"could not be read: {said}",
            where=f"{START}{name}",
            hint="ir_datasets downloads what it does not have; see its page of the data set.",
        ) from error
    known = {query.id for query in queries}
    queries += tuple(
        Query(id=id, text="") for id in dict.fromkeys(r[0] for r in rows) if id not in known
    )
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    judgments = judgment_frame(columns[0], columns[1], pl.Series(columns[2], dtype=pl.Int32))
    # of a pair that is judged twice the last word counts, as in the tools that read these files
    judgments = judgments.unique(["query_id", "doc_id"], keep="last", maintain_order=True)
    return GoldSet(name=name.replace("/", "-"), queries=queries, judgments=judgments)


def read_documents(path: Path | str) -> Iterator[tuple[str, str, str]]:
    """(id, title, text) of every document."""
    for document in _load_dataset(str(path).removeprefix(START)).docs_iter():
        yield document.doc_id, str(getattr(document, "title", "") or ""), _text(document)


def _load_dataset(name: str) -> Any:
    where = f"{START}{name}"
    ir_datasets = imported("ir_datasets", "a set of ir_datasets", "irds", where=where)
    ir_datasets.log.easy().logger().addFilter(_is_news)
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise InputError(
            "ir_datasets knows no data set of this name",
            where=where,
            hint="Its names are like beir/scifact/test.",
        ) from error
    for has, what in (("has_queries", "queries"), ("has_qrels", "judgments")):
        if not getattr(dataset, has)():
            raise InputError(
                f"the data set has no {what}",
                where=where,
                hint="Name a part of it that has, such as NAME/test.",
            )
    return dataset


def _is_news(record: logging.LogRecord) -> bool:
    """Failed downloads are told once, by our error. Terms of use and progress are left."""
    return not record.getMessage().lower().startswith(("download error", "download failed"))


def _text(query: Any) -> str:
    default = getattr(query, "default_text", None)
    if callable(default):
        return str(default())
    return next((str(getattr(query, key)) for key in TEXTS if getattr(query, key, None)), "")

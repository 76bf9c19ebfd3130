"""Document ids that almost match a judged one: the same but for case, spaces, dashes or invisible
characters. An engine that lowers the case of its ids finds nothing that is judged under them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl

from assay.core.results import GradedResults
from assay.core.types import GoldSet, Run

DROPPED = ("Cc", "Cf", "Zs", "Zl", "Zp")  # controls, invisible characters, spaces
DASH = "Pd"


class NearMiss(NamedTuple):
    """A result whose id almost matches one that is judged on its query."""

    query_id: str
    returned: str
    judged: str


def near_misses(results: GradedResults, gold: GoldSet) -> Iterator[NearMiss]:
    """The unjudged results of each query that almost match a document judged on it, which is not
    itself among the results."""
    judged: dict[str, dict[str, str]] = {}
    for query_id, doc_id in gold.judgments.select("query_id", "doc_id").iter_rows():
        judged.setdefault(query_id, {})[loose_id(doc_id)] = doc_id
    for entry in results.per_query:
        known = judged.get(entry.query_id, {})
        for doc_id, grade in zip(entry.results, entry.grades, strict=True):
            meant = known.get(loose_id(doc_id)) if grade is None else None
            if meant is not None and meant not in entry.results:
                yield NearMiss(entry.query_id, doc_id, meant)


def with_judged_ids(run: Run, gold: GoldSet) -> Run:
    """The run with the judged id in place of every id that almost matches it; a document that then
    appears twice for a query keeps its first place."""
    known = _judged_ids(gold)
    judged = set(known.values())
    ids = run.hits["doc_id"].to_list()
    meant = [id if id in judged else known.get(loose_id(id), id) for id in ids]
    row = np.repeat(np.arange(run.queries.height), run.queries["n"].to_numpy())
    hits = run.hits.with_columns(doc_id=pl.Series(meant, dtype=pl.String), row=row)
    hits = hits.unique(["row", "doc_id"], keep="first", maintain_order=True)
    lengths = np.bincount(hits["row"].to_numpy(), minlength=run.queries.height)
    counts = dict(run.counts) | {"loose_ids": sum(map(str.__ne__, ids, meant))}
    return replace(
        run,
        queries=run.queries.with_columns(n=pl.Series(lengths, dtype=run.queries["n"].dtype)),
        hits=hits.drop("row"),
        counts=counts,
    )


def _judged_ids(gold: GoldSet) -> Mapping[str, str]:
    """The judged id of each loose form; none for a form that two judged ids share."""
    found: dict[str, str] = {}
    shared = set()
    for doc_id in gold.judgments["doc_id"].unique().to_list():
        form = loose_id(doc_id)
        if form in found:
            shared.add(form)
        found[form] = doc_id
    return {form: doc_id for form, doc_id in found.items() if form not in shared}


@lru_cache(maxsize=100_000)
def loose_id(doc_id: str) -> str:
    """An id without case, spaces and invisible characters, with one kind of dash."""
    plain = unicodedata.normalize("NFKC", doc_id).casefold()
    kinds = ((char, unicodedata.category(char)) for char in plain)
    return "".join("-" if kind == DASH else char for char, kind in kinds if kind not in DROPPED)

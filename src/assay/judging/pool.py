"""Pooling, as in TREC (Spärck Jones & van Rijsbergen 1975): what any of several runs puts on top is
judged, so that none of them is scored on what only the others found."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.results import Entry, Results


class PooledPair(msgspec.Struct, frozen=True, kw_only=True):
    query_id: str
    query_text: str
    doc_id: str
    runs: int  # how many of the runs have it in their top


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    depth: int
    runs: list[str]
    pairs: list[PooledPair]


def pool(results: Sequence[Results], *, depth: int = 10) -> Pool:
    """The unjudged documents in the top `depth` of any run. In the order of queries and ids, which
    tells a judge nothing of ranks."""
    pairs: dict[tuple[str, str], PooledPair] = {}
    for scored in results:
        for entry in scored.per_query:
            for doc_id, grade in zip(entry.results[:depth], entry.grades, strict=False):
                if grade is not None:
                    continue
                known = pairs.get((entry.query_id, doc_id))
                pairs[entry.query_id, doc_id] = PooledPair(
                    query_id=entry.query_id,
                    query_text=entry.query_text,
                    doc_id=doc_id,
                    runs=known.runs + 1 if known else 1,
                )
    first: Sequence[Entry] = results[0].per_query
    places = {entry.query_id: place for place, entry in enumerate(first)}
    ordered = sorted(pairs, key=lambda key: (places.get(key[0], len(places)), key))
    return Pool(
        depth=depth,
        runs=[scored.engine for scored in results],
        pairs=[pairs[key] for key in ordered],
    )

"""A corpus in OpenSearch, by its documented protocol: an index whose fields hold our terms as they
are (analyzer `whitespace`), ranked with our k1 and b, and a `knn_vector`; loaded with `_bulk`,
asked with `_search`.

    [engines.mine]
    opensearch = "https://127.0.0.1:9200"
    collection = "opinions"              # the index
    headers = { Authorization = "env:SEARCH_KEY" }

OpenSearch counts terms itself: its scores differ from ours by the byte in which it keeps the length
of a field. No server runs in our tests: they replay the documented requests and answers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np

from assay.core.errors import EngineError, InputError
from assay.core.types import JsonObject
from assay.engines.carried import DENSE, About, Asked, CarriedEngine, LoadedRow, Values
from assay.engines.connecting import EngineKind
from assay.engines.secrets import filled, hidden, values_of
from assay.search.arrays import Floats
from assay.search.index import GRAM_B, GRAM_K1

MOST_TERMS = 1_000  # of one query; the server refuses more than 1,024 clauses
SECONDS = 60
JSON = "application/json"


class OpenSearchTable(msgspec.Struct, frozen=True, kw_only=True):
    opensearch: str
    collection: str
    headers: dict[str, str] = {}


class OpenSearchCarrier:
    def __init__(self, name: str, table: OpenSearchTable) -> None:
        self._name = name
        self._table = table

    # ── loading ───────────────────────────────────────────────────────────────────────────────────

    def begin(self, about: About) -> None:
        there = self._ask("GET", "/_mapping", missing=True)
        if there is not None and self.about() is None:
            raise InputError(
                f"there is an index {self._table.collection!r} already, and it was not loaded from "
                "here",
                where=f"engines.{self._name}.collection",
                hint="Name another index: it is made, and made anew each time.",
            )
        if there is not None:
            self._ask("DELETE", "")
        self._ask("PUT", "", _definition(about))

    def add(self, rows: Sequence[LoadedRow]) -> None:
        lines: list[JsonObject] = []
        for row in rows:
            document: JsonObject = {
                "row": row.row,
                "doc_id": row.doc_id,
                "title": row.title,
                "text": row.text,
            }
            document |= {_field(name): " ".join(terms) for name, terms in row.terms.items()}
            if row.vector is not None:
                document[DENSE] = row.vector.tolist()
            lines += [{"index": {"_id": str(row.row)}}, document]
        body = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        answer = self._ask("POST", "/_bulk", body)
        if answer.get("errors"):
            failed = [item["index"] for item in answer["items"] if "error" in item["index"]]
            why = failed[0]["error"].get("reason", "no reason was given")
            raise self._failed(f"{len(failed)} documents were not taken; the first: {why}")

    def finish(self, about: About) -> None:
        self._ask("POST", "/_refresh")
        self._ask("PUT", "/_mapping", {"_meta": {"assay": msgspec.to_builtins(about)}})

    # ── asking ────────────────────────────────────────────────────────────────────────────────────

    def about(self) -> About | None:
        answer = self._ask("GET", "/_mapping", missing=True)
        for index in (answer or {}).values():
            said = index.get("mappings", {}).get("_meta", {}).get("assay")
            return msgspec.convert(said, About) if said else None
        return None

    def best(
        self, field: str, asked: Asked, depth: int, among: Sequence[int] | None = None
    ) -> Values:
        chosen = sorted(asked, key=lambda term: (-asked[term], term))[:MOST_TERMS]
        terms = [
            {"term": {_field(field): {"value": term.split(":", 1)[1], "boost": asked[term]}}}
            for term in chosen
        ]
        query: JsonObject = {"bool": {"should": terms, "minimum_should_match": 1}}
        if among is not None:
            query["bool"]["filter"] = [{"terms": {"row": list(among)}}]
        return {
            int(hit["_source"]["row"]): float(hit["_score"]) for hit in self._hits(query, depth)
        }

    def nearest(self, vector: Floats, depth: int, among: Sequence[int] | None = None) -> Values:
        if among is not None and not among:
            return {}
        asked: JsonObject = {"vector": vector.tolist(), "k": depth}
        if among is not None:
            asked["filter"] = {"terms": {"row": list(among)}}
        # for cosinesimil the documented score is (1 + cosine) / 2
        return {
            int(hit["_source"]["row"]): 2 * float(hit["_score"]) - 1
            for hit in self._hits({"knn": {DENSE: asked}}, depth)
        }

    def vectors(self, rows: Sequence[int]) -> Floats:
        hits = self._hits({"terms": {"row": list(rows)}}, len(rows), ("row", DENSE))
        found = {int(hit["_source"]["row"]): hit["_source"][DENSE] for hit in hits}
        return np.array([found[row] for row in rows], np.float32)

    def shown(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        if not rows:
            return {}
        hits = self._hits({"terms": {"row": list(rows)}}, len(rows), ("row", "doc_id", "title"))
        sources = [hit["_source"] for hit in hits]
        return {int(one["row"]): (one["doc_id"], one.get("title", "")) for one in sources}

    def _hits(self, query: object, size: int, fields: Iterable[str] = ("row",)) -> Any:
        body = {"size": max(size, 1), "query": query, "_source": list(fields)}
        return self._ask("POST", "/_search", body)["hits"]["hits"]

    # ── the wire ──────────────────────────────────────────────────────────────────────────────────

    def _ask(self, method: str, path: str, body: object = None, *, missing: bool = False) -> Any:
        """The answer; None where it is missing and that is said to be fine."""
        table, where = self._table, f"engines.{self._name}"
        base = filled(table.opensearch, where).rstrip("/")
        url = f"{base}/{quote(table.collection, safe='')}{path}"
        text = body if isinstance(body, str) else json.dumps(body)
        data = None if body is None else text.encode()
        headers = {name: filled(value, where) for name, value in table.headers.items()}
        headers["Content-Type"] = "application/x-ndjson" if isinstance(body, str) else JSON
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404 and missing:
                return None
            said = error.read(2_000).decode(errors="replace")
            raise self._failed(f"{method} {path or '/'} gave {error.code}: {said}") from error
        except (OSError, ValueError) as error:
            raise self._failed(str(error)) from error

    def _failed(self, said: str) -> EngineError:
        named = [self._table.opensearch, *self._table.headers.values()]
        return EngineError(f"{self._name}: {hidden(said, values_of(named))[:500]}")


def _definition(about: About) -> object:
    profile = about.profile
    k1, b = (GRAM_K1, GRAM_B) if profile.kind != "stems" else (profile.k1, profile.b)
    terms = {"type": "text", "analyzer": "whitespace", "similarity": "assay"}
    properties: JsonObject = {
        "row": {"type": "integer"},
        "doc_id": {"type": "keyword"},
        "title": {"type": "text", "index": False},
        "text": {"type": "text", "index": False},
    }
    properties |= {_field(name): terms for name in about.fields}
    if about.dimensions:
        method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
        properties[DENSE] = {
            "type": "knn_vector",
            "dimension": about.dimensions,
            "method": method,
        }
    similarity = {"assay": {"type": "BM25", "k1": k1, "b": b}}
    return {
        "settings": {"index": {"knn": bool(about.dimensions), "similarity": similarity}},
        "mappings": {
            "dynamic": False,
            "_meta": {"assay": msgspec.to_builtins(about)},
            "properties": properties,
        },
    }


def _field(name: str) -> str:
    """A dot would be an object."""
    return name.replace(".", "_")


def carrier(name: str, table: OpenSearchTable) -> OpenSearchCarrier:
    return OpenSearchCarrier(name, table)


def _check(table: OpenSearchTable) -> tuple[str, str]:
    if "://" not in table.opensearch and "env:" not in table.opensearch:
        return "opensearch", "expected an address such as https://127.0.0.1:9200"
    return ("", "") if table.collection else ("collection", "the index has no name")


OPENSEARCH = EngineKind(
    settings=OpenSearchTable,
    make=lambda name, table: CarriedEngine(name, carrier(name, table)),
    check=_check,
)

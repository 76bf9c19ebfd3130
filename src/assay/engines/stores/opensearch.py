"""OpenSearch, by its documented protocol: an index that Assay loads with `_bulk` and asks with
`_search`. Its fields hold Assay's terms as they are (analyzer `whitespace`), ranked with Assay's k1
and b, and a `knn_vector`.

    [engines.mine]
    opensearch = "https://127.0.0.1:9200"
    collection = "opinions"              # the index
    headers = { Authorization = "env:SEARCH_KEY" }

OpenSearch counts terms itself: its scores differ from those of Assay's own index by the byte in
which it keeps the length of a field. No server runs in the tests: they replay the documented
requests and answers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import EngineError
from assay.core.types import JsonObject
from assay.engines.engine_table import EngineKind
from assay.engines.external_ranking import (
    DENSE,
    ExternalRankingEngine,
    LoadedCorpus,
    LoadedDocument,
    RowValues,
    TermWeights,
)
from assay.engines.secrets import values_of, with_secrets, without_secrets
from assay.search.arrays import Floats
from assay.search.index import GRAM_B, GRAM_K1

MOST_TERMS = 1_000  # of one query; the server's limit is 1,024 clauses
SECONDS = 60  # for one request; chosen
JSON = "application/json"


class OpenSearchTable(msgspec.Struct, frozen=True, kw_only=True):
    opensearch: str
    collection: str
    headers: dict[str, str] = {}


class OpenSearchCorpus:
    """An index of OpenSearch that Assay loads a corpus into and searches."""

    def __init__(self, name: str, table: OpenSearchTable) -> None:
        self._name = name
        self._table = table

    # ── loading ───────────────────────────────────────────────────────────────────────────────────

    def target(self) -> tuple[str, str, str]:
        return "index", self._table.collection, "collection"

    def exists(self) -> bool:
        return self._request("GET", "/_mapping", missing=True) is not None

    def begin(self, about: LoadedCorpus) -> None:
        if self.exists():
            self._request("DELETE", "")
        self._request("PUT", "", _definition(about))

    def add(self, documents: Sequence[LoadedDocument]) -> None:
        lines: list[JsonObject] = []
        for document in documents:
            source: JsonObject = {
                "row": document.row,
                "doc_id": document.doc_id,
                "title": document.title,
                "text": document.text,
            }
            source |= {_field(name): " ".join(terms) for name, terms in document.terms.items()}
            if document.vector is not None:
                source[DENSE] = document.vector.tolist()
            lines += [{"index": {"_id": str(document.row)}}, source]
        body = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        answer = self._request("POST", "/_bulk", body)
        if answer.get("errors"):
            failed = [item["index"] for item in answer["items"] if "error" in item["index"]]
            why = failed[0]["error"].get("reason", "no reason was given")
            raise self._failed(f"{len(failed)} documents were not taken; the first: {why}")

    def finish(self, about: LoadedCorpus) -> None:
        self._request("POST", "/_refresh")
        self._request("PUT", "/_mapping", {"_meta": {"assay": msgspec.to_builtins(about)}})

    def about(self) -> LoadedCorpus | None:
        answer = self._request("GET", "/_mapping", missing=True)
        for index in (answer or {}).values():
            about = index.get("mappings", {}).get("_meta", {}).get("assay")
            return msgspec.convert(about, thread_safe(LoadedCorpus)) if about else None
        return None

    # ── signals ───────────────────────────────────────────────────────────────────────────────────

    def best(
        self, field: str, terms: TermWeights, depth: int, among: Sequence[int] | None = None
    ) -> RowValues:
        chosen = sorted(terms, key=lambda term: (-terms[term], term))[:MOST_TERMS]
        clauses = [
            {"term": {_field(field): {"value": term.split(":", 1)[1], "boost": terms[term]}}}
            for term in chosen
        ]
        query: JsonObject = {"bool": {"should": clauses, "minimum_should_match": 1}}
        if among is not None:
            query["bool"]["filter"] = [{"terms": {"row": list(among)}}]
        return {
            int(hit["_source"]["row"]): float(hit["_score"]) for hit in self._hits(query, depth)
        }

    def nearest(self, vector: Floats, depth: int, among: Sequence[int] | None = None) -> RowValues:
        near: JsonObject = {"vector": vector.tolist(), "k": depth}
        if among is not None:
            near["filter"] = {"terms": {"row": list(among)}}
        # for cosinesimil the documented score is (1 + cosine) / 2
        return {
            int(hit["_source"]["row"]): 2 * float(hit["_score"]) - 1
            for hit in self._hits({"knn": {DENSE: near}}, depth)
        }

    def vectors(self, rows: Sequence[int]) -> dict[int, list[float]]:
        sources = self._sources(rows, (DENSE,))
        return {row: source[DENSE] for row, source in sources.items()}

    def names(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        sources = self._sources(rows, ("doc_id", "title"))
        return {row: (one["doc_id"], one.get("title", "")) for row, one in sources.items()}

    def _sources(self, rows: Sequence[int], fields: Iterable[str]) -> dict[int, Any]:
        hits = self._hits({"terms": {"row": list(rows)}}, len(rows), ("row", *fields))
        return {int(hit["_source"]["row"]): hit["_source"] for hit in hits}

    def _hits(self, query: object, size: int, fields: Iterable[str] = ("row",)) -> Any:
        body = {"size": max(size, 1), "query": query, "_source": list(fields)}
        return self._request("POST", "/_search", body)["hits"]["hits"]

    # ── requests ──────────────────────────────────────────────────────────────────────────────────

    def _request(
        self, method: str, path: str, body: object = None, *, missing: bool = False
    ) -> Any:
        """The answer to a request. With `missing`, None if there is no such index."""
        table, where = self._table, f"engines.{self._name}"
        base = with_secrets(table.opensearch, where).rstrip("/")
        url = f"{base}/{quote(table.collection, safe='')}{path}"
        text = body if isinstance(body, str) else json.dumps(body)
        data = None if body is None else text.encode()
        headers = {name: with_secrets(value, where) for name, value in table.headers.items()}
        headers["Content-Type"] = "application/x-ndjson" if isinstance(body, str) else JSON
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404 and missing:
                return None
            reason = error.read(2_000).decode(errors="replace")
            raise self._failed(f"{method} {path or '/'} gave {error.code}: {reason}") from error
        except (OSError, ValueError) as error:
            raise self._failed(str(error)) from error

    def _failed(self, reason: str) -> EngineError:
        named = [self._table.opensearch, *self._table.headers.values()]
        return EngineError(f"{self._name}: {without_secrets(reason, values_of(named))[:500]}")


def _definition(about: LoadedCorpus) -> object:
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
    """The name of a field: with a dot it would be an object."""
    return name.replace(".", "_")


def _check(table: OpenSearchTable) -> tuple[str, str]:
    if "://" not in table.opensearch and "env:" not in table.opensearch:
        return "opensearch", "expected an address such as https://127.0.0.1:9200"
    return ("", "") if table.collection else ("collection", "the index has no name")


OPENSEARCH = EngineKind(
    settings=OpenSearchTable,
    make=lambda name, table: ExternalRankingEngine(name, OpenSearchCorpus(name, table)),
    check=_check,
)

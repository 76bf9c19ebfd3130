"""Qdrant: a collection on a server, or in a folder of this machine.

    [engines.mine]
    qdrant = "http://127.0.0.1:6333"     # or a folder
    collection = "opinions"
    encoder = "minilm-l6"

A corpus is loaded as a sparse vector of impacts for each field and one dense vector a document; a
second collection, COLLECTION__assay, has the description of what was loaded. In a folder the client
is the whole engine, and compares sparse vectors one by one in Python. There the vectors of a field
are read once, and compared as arrays: the same sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.decoding import thread_safe
from assay.core.types import Hit, JsonObject
from assay.engines.engine_table import EngineKind
from assay.engines.external_ranking import (
    DENSE,
    LoadedCorpus,
    LoadedDocument,
    RowValues,
    TermWeights,
    check_ranking,
    own_or_external_ranking,
)
from assay.engines.stores.vector_store import (
    SHOWN_CHARACTERS,
    Filters,
    StoreTable,
    VectorStore,
    any_of,
    check_store_table,
    hash_terms,
    is_address,
)
from assay.search.arrays import Floats

PAGE = 500  # documents read at a time (taste)


class QdrantTable(StoreTable, frozen=True, kw_only=True):
    """`vector` is the name of the vector, where the collection has several; `filter` is one of
    Qdrant's own, as its JSON has it."""

    qdrant: str
    ranking: str = ""
    filter: JsonObject = {}


class SparseVectors(NamedTuple):
    """The sparse vectors of a field, in the order of their keys."""

    keys: NDArray[np.uint32]
    rows: NDArray[np.int64]
    impacts: Floats


class QdrantStore(VectorStore):
    """A collection of Qdrant: searched as it is, or loaded by Assay."""

    kind = "qdrant"
    package = "qdrant_client"
    title = "Qdrant"
    _table: QdrantTable

    def __init__(self, name: str, table: QdrantTable) -> None:
        super().__init__(name, table)
        self._sparse: dict[str, SparseVectors] = {}  # by field, in a folder

    def _connect(self, place: str, key: str) -> Any:
        if is_address(place):
            return self._module().QdrantClient(url=place, api_key=key or None)
        return self._module().QdrantClient(path=place)

    def _open(self, client: Any) -> Any:
        if not client.collection_exists(self._collection):
            known = client.get_collections().collections
            raise self._missing_collection(each.name for each in known)
        return client

    def _nearest(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        with self._turn():
            found = self._opened.query_points(
                self._collection,
                query=vector,
                using=self._table.vector or None,
                query_filter=_filter(self._models(), self._table.filter, filters),
                limit=top_k,
                with_payload=True,
            ).points
        return [self._hit(point.payload or {}, point.id, float(point.score)) for point in found]

    def _models(self) -> Any:
        return self._module(".models")

    # ── loading ───────────────────────────────────────────────────────────────────────────────────

    def exists(self) -> bool:
        return bool(self._call("collection_exists", self._collection))

    def begin(self, about: LoadedCorpus) -> None:
        self._sparse.clear()
        models = self._models()
        self._describe(about)
        if self.exists():
            self._call("delete_collection", self._collection)
        dot = models.Distance.DOT
        dense = {DENSE: models.VectorParams(size=about.dimensions, distance=dot)}
        self._call(
            "create_collection",
            self._collection,
            vectors_config=dense if about.dimensions else {},
            sparse_vectors_config={name: models.SparseVectorParams() for name in about.fields},
        )

    def add(self, documents: Sequence[LoadedDocument]) -> None:
        models = self._models()
        points = []
        for document in documents:
            vector: dict[str, Any] = {}
            for name in document.terms:
                start = f"{name}:"
                own = {key: it for key, it in document.impacts.items() if key.startswith(start)}
                keys, impacts = hash_terms(own)
                vector[name] = models.SparseVector(indices=keys, values=impacts)
            if document.vector is not None:
                vector[DENSE] = document.vector.tolist()
            payload = {
                "doc_id": document.doc_id,
                "title": document.title,
                "text": document.text[:SHOWN_CHARACTERS],
            }
            points.append(models.PointStruct(id=document.row, vector=vector, payload=payload))
        self._call("upsert", self._collection, points)

    def finish(self, about: LoadedCorpus) -> None:
        self._describe(about)

    def _describe(self, about: LoadedCorpus) -> None:
        models = self._models()
        if not self._call("collection_exists", self._description):
            size = models.VectorParams(size=1, distance=models.Distance.DOT)
            self._call("create_collection", self._description, vectors_config=size)
        payload = {"about": msgspec.json.encode(about).decode()}
        point = models.PointStruct(id=0, vector=[1.0], payload=payload)
        self._call("upsert", self._description, [point])

    def about(self) -> LoadedCorpus | None:
        if not self._call("collection_exists", self._description):
            return None
        found = self._call("retrieve", self._description, [0])
        if not found:
            return None
        about = msgspec.json.decode(found[0].payload["about"], type=thread_safe(LoadedCorpus))
        if self._has_sparse_vectors(about.fields):
            return about
        return msgspec.structs.replace(about, ready=False)

    def _has_sparse_vectors(self, fields: Sequence[str]) -> bool:
        """Whether each field has a vector of its own; older versions had one for all fields."""
        if not self.exists():
            return False
        config = self._call("get_collection", self._collection).config
        return {*fields} <= {*(config.params.sparse_vectors or {})}

    # ── signals ───────────────────────────────────────────────────────────────────────────────────

    def best(
        self, field: str, terms: TermWeights, depth: int, among: Sequence[int] | None = None
    ) -> RowValues:
        self._client()
        if not self._is_local:
            return self._best_on_server(field, terms, depth, among)
        every = self._best_in_folder(field, terms)
        if among is not None:
            return {row: every[row] for row in among if row in every}
        return dict(islice(every.items(), depth))

    def _best_on_server(
        self, field: str, terms: TermWeights, depth: int, among: Sequence[int] | None
    ) -> RowValues:
        keys, weights = hash_terms(terms)
        query = self._models().SparseVector(indices=keys, values=weights)
        found = self._find(query, field, depth, among)
        return {row: value for row, value in found.items() if value > 0}

    def _best_in_folder(self, field: str, terms: TermWeights) -> RowValues:
        """All documents that have one of the terms, best first."""
        with self._lock:
            if field not in self._sparse:
                self._sparse[field] = self._read_sparse_vectors(field)
        keys, rows, impacts = self._sparse[field]
        totals = np.zeros(int(rows.max(initial=-1)) + 1)
        for key, weight in zip(*hash_terms(terms), strict=True):
            start, end = np.searchsorted(keys, np.array([key, key + 1], np.uint32))
            totals[rows[start:end]] += weight * impacts[start:end]
        order = np.argsort(-totals, kind="stable")
        return {int(row): float(totals[row]) for row in order[: np.count_nonzero(totals > 0)]}

    def _read_sparse_vectors(self, field: str) -> SparseVectors:
        keys = [np.zeros(0, np.uint32)]
        rows = [np.zeros(0, int)]
        impacts = [np.zeros(0, np.float32)]
        start: Any = 0
        while start is not None:
            points, start = self._call(
                "scroll",
                self._collection,
                limit=PAGE,
                offset=start,
                with_payload=False,
                with_vectors=[field],
            )
            for point in points:
                vector = point.vector.get(field)
                if vector is None:  # a document without that field
                    continue
                keys.append(np.array(vector.indices, np.uint32))
                rows.append(np.full(len(vector.indices), point.id))
                impacts.append(np.array(vector.values, np.float32))
        every = np.concatenate(keys)
        order = np.argsort(every, kind="stable")
        return SparseVectors(
            every[order], np.concatenate(rows)[order], np.concatenate(impacts)[order]
        )

    def nearest(self, vector: Floats, depth: int, among: Sequence[int] | None = None) -> RowValues:
        return self._find(vector.tolist(), DENSE, depth, among)

    def _find(self, query: Any, using: str, depth: int, among: Sequence[int] | None) -> RowValues:
        models = self._models()
        only = None
        if among is not None:
            only = models.Filter(must=[models.HasIdCondition(has_id=list(among))])
        found = self._call(
            "query_points",
            self._collection,
            query=query,
            using=using,
            limit=depth,
            query_filter=only,
            with_payload=False,
        )
        return {int(point.id): float(point.score) for point in found.points}

    def vectors(self, rows: Sequence[int]) -> dict[int, list[float]]:
        found = self._call(
            "retrieve", self._collection, list(rows), with_vectors=[DENSE], with_payload=False
        )
        return {int(point.id): point.vector[DENSE] for point in found}

    def names(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        found = self._call(
            "retrieve", self._collection, list(rows), with_payload=["doc_id", "title"]
        )
        return {int(p.id): (p.payload["doc_id"], p.payload["title"]) for p in found}


def _filter(models: Any, own: Mapping[str, object], filters: Filters) -> Any:
    if not own and not filters:
        return None
    must = [
        models.FieldCondition(key=field, match=models.MatchAny(any=any_of(value)))
        for field, value in filters.items()
    ]
    if own:
        must.append(models.Filter.model_validate(dict(own)))
    return models.Filter(must=must)


def _check(table: QdrantTable) -> tuple[str, str]:
    return check_ranking(table.ranking) or check_store_table(table)


QDRANT = EngineKind(
    settings=QdrantTable,
    make=own_or_external_ranking("qdrant", QdrantStore),
    check=_check,
    files=("qdrant",),
)

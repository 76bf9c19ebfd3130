"""A corpus in Qdrant: a sparse vector of impacts for each field and one dense vector a document; a
second collection, COLLECTION__assay, says what was loaded.

In a folder the client is the whole engine, and compares sparse vectors one by one in Python. There
the vectors of a field are read once, and compared as arrays: the same sums."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.errors import AssayError, EngineError, InputError
from assay.core.extras import imported
from assay.engines.carried import DENSE, About, Asked, LoadedRow, Values
from assay.engines.qdrant import QdrantTable, open_client
from assay.engines.secrets import filled, hidden, values_of
from assay.engines.vector_store import is_address
from assay.search.arrays import Floats

SHOWN = 20_000  # characters of a text that are kept to be shown
KEYS = 2**32 - 1  # of a sparse vector
PAGE = 500  # documents read at a time


class Postings(NamedTuple):
    """The sparse vectors of a field, in the order of their keys."""

    keys: NDArray[np.uint32]
    rows: NDArray[np.int64]
    impacts: Floats


class QdrantCarrier:
    def __init__(self, name: str, table: QdrantTable) -> None:
        self._name = name
        self._table = table
        self._collection = table.collection
        self._kept = f"{table.collection}__assay"
        self._lock = threading.RLock()
        self._client: Any = None
        self._is_local = False
        self._postings: dict[str, Postings] = {}  # by field, in a folder

    # ── loading ───────────────────────────────────────────────────────────────────────────────────

    def begin(self, about: About) -> None:
        self._postings.clear()
        client, models = self._open()
        if client.collection_exists(self._collection) and self.about() is None:
            raise InputError(
                f"there is a collection {self._collection!r} already, and it was not loaded from "
                "here",
                where=f"engines.{self._name}.collection",
                hint="Name another collection: it is made, and made anew each time.",
            )
        self._write(about)
        if client.collection_exists(self._collection):
            client.delete_collection(self._collection)
        dot = models.Distance.DOT
        dense = {DENSE: models.VectorParams(size=about.dimensions, distance=dot)}
        client.create_collection(
            self._collection,
            vectors_config=dense if about.dimensions else {},
            sparse_vectors_config={name: models.SparseVectorParams() for name in about.fields},
        )

    def add(self, rows: Sequence[LoadedRow]) -> None:
        client, models = self._open()
        points = []
        for row in rows:
            vector: dict[str, Any] = {}
            for name in row.terms:
                own = {key: it for key, it in row.impacts.items() if key.startswith(f"{name}:")}
                keys, impacts = hashed(own)
                vector[name] = models.SparseVector(indices=keys, values=impacts)
            if row.vector is not None:
                vector[DENSE] = row.vector.tolist()
            payload = {"doc_id": row.doc_id, "title": row.title, "text": row.text[:SHOWN]}
            points.append(models.PointStruct(id=row.row, vector=vector, payload=payload))
        self._asked(lambda: client.upsert(self._collection, points))

    def finish(self, about: About) -> None:
        self._write(about)

    def _write(self, about: About) -> None:
        client, models = self._open()
        if not client.collection_exists(self._kept):
            size = models.VectorParams(size=1, distance=models.Distance.DOT)
            client.create_collection(self._kept, vectors_config=size)
        payload = {"about": msgspec.json.encode(about).decode()}
        point = models.PointStruct(id=0, vector=[1.0], payload=payload)
        self._asked(lambda: client.upsert(self._kept, [point]))

    # ── asking ────────────────────────────────────────────────────────────────────────────────────

    def about(self) -> About | None:
        client, _ = self._open()
        if not self._asked(lambda: client.collection_exists(self._kept)):
            return None
        found = self._asked(lambda: client.retrieve(self._kept, [0], with_payload=True))
        if not found:
            return None
        about = msgspec.json.decode(found[0].payload["about"], type=About)
        return about if self._has(about.fields) else msgspec.structs.replace(about, ready=False)

    def _has(self, fields: Sequence[str]) -> bool:
        """Whether each field has a vector of its own; once all had one together."""
        client, _ = self._open()
        if not self._asked(lambda: client.collection_exists(self._collection)):
            return False
        config = self._asked(lambda: client.get_collection(self._collection)).config
        return {*fields} <= {*(config.params.sparse_vectors or {})}

    def best(
        self, field: str, asked: Asked, depth: int, among: Sequence[int] | None = None
    ) -> Values:
        self._open()
        if not self._is_local:
            return self._by_words(field, asked, depth, among)
        every = self._scan(field, asked)
        if among is not None:
            return {row: every[row] for row in among if row in every}
        return dict(islice(every.items(), depth))

    def _scan(self, field: str, asked: Asked) -> Values:
        """All documents that have one of the words, best first."""
        with self._lock:
            if field not in self._postings:
                self._postings[field] = self._read(field)
        keys, rows, impacts = self._postings[field]
        totals = np.zeros(int(rows.max(initial=-1)) + 1)
        for key, times in zip(*hashed(asked), strict=True):
            start, end = np.searchsorted(keys, np.array([key, key + 1], np.uint32))
            totals[rows[start:end]] += times * impacts[start:end]
        order = np.argsort(-totals, kind="stable")
        return {int(row): float(totals[row]) for row in order[: np.count_nonzero(totals > 0)]}

    def _read(self, field: str) -> Postings:
        client, _ = self._open()
        keys, rows, impacts = (
            [np.zeros(0, np.uint32)],
            [np.zeros(0, int)],
            [np.zeros(0, np.float32)],
        )
        start: Any = 0
        while start is not None:
            points, start = self._asked(
                lambda start=start: client.scroll(
                    self._collection,
                    limit=PAGE,
                    offset=start,
                    with_payload=False,
                    with_vectors=[field],
                )
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
        return Postings(every[order], np.concatenate(rows)[order], np.concatenate(impacts)[order])

    def _by_words(
        self, field: str, asked: Asked, depth: int, among: Sequence[int] | None
    ) -> Values:
        _, models = self._open()
        keys, times = hashed(asked)
        found = self._found(models.SparseVector(indices=keys, values=times), field, depth, among)
        return {row: value for row, value in found.items() if value > 0}

    def nearest(self, vector: Floats, depth: int, among: Sequence[int] | None = None) -> Values:
        return self._found(vector.tolist(), DENSE, depth, among)

    def _found(self, query: Any, using: str, depth: int, among: Sequence[int] | None) -> Values:
        client, models = self._open()
        if among is not None and not among:
            return {}
        only = None
        if among is not None:
            only = models.Filter(must=[models.HasIdCondition(has_id=list(among))])
        found = self._asked(
            lambda: client.query_points(
                self._collection,
                query=query,
                using=using,
                limit=depth,
                query_filter=only,
                with_payload=False,
            )
        )
        return {int(point.id): float(point.score) for point in found.points}

    def vectors(self, rows: Sequence[int]) -> Floats:
        client, _ = self._open()
        found = self._asked(
            lambda: client.retrieve(
                self._collection, list(rows), with_vectors=[DENSE], with_payload=False
            )
        )
        by_row = {int(point.id): point.vector[DENSE] for point in found}
        return np.array([by_row[row] for row in rows], np.float32)

    def shown(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        client, _ = self._open()
        found = self._asked(
            lambda: client.retrieve(self._collection, list(rows), with_payload=["doc_id", "title"])
        )
        return {int(p.id): (p.payload["doc_id"], p.payload["title"]) for p in found}

    def _open(self) -> tuple[Any, Any]:
        models = imported("qdrant_client.models", "Qdrant", "qdrant")
        with self._lock:
            if self._client is None:
                where = f"engines.{self._name}"
                place, key = filled(self._table.qdrant, where), filled(self._table.key, where)
                self._is_local = not is_address(place)
                self._client = self._asked(lambda: open_client(place, key))
        return self._client, models

    def _asked(self, work: Any) -> Any:
        """In a folder one at a time, on a server as many as come."""
        try:
            with self._lock if self._is_local else contextlib.nullcontext():
                return work()
        except AssayError:
            raise
        except Exception as error:  # the client has errors of its own
            said = hidden(str(error), values_of([self._table.key, self._table.qdrant]))
            raise EngineError(f"{self._name}: {said}") from error


def hashed(terms: Mapping[str, float]) -> tuple[list[int], list[float]]:
    """Terms as numbers, by their hash; two of the same number are added up."""
    mmh3 = imported("mmh3", "Qdrant", "qdrant")
    values: dict[int, float] = {}
    for term, value in terms.items():
        key = mmh3.hash(term, 0, signed=False) % KEYS
        values[key] = values.get(key, 0.0) + value
    return list(values), list(values.values())


def carrier(name: str, table: QdrantTable) -> QdrantCarrier:
    return QdrantCarrier(name, table)

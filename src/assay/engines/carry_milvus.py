"""A corpus in Milvus: one sparse vector of impacts and one dense vector a document; a second
collection, COLLECTION__assay, says what was loaded."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from assay.core.errors import AssayError, EngineError, InputError
from assay.core.extras import imported
from assay.engines.carried import DENSE, About, Asked, LoadedRow, Values
from assay.engines.carry_qdrant import SHOWN, hashed
from assay.engines.milvus import MilvusTable, open_client
from assay.engines.secrets import filled, hidden, values_of
from assay.engines.vector_store import is_address
from assay.search.arrays import Floats

WORDS = "words"
LONGEST = 65_535  # bytes of a text
PIECE = 30_000  # characters of what is said of the collection, in one row
NONE = 2**32 - 2  # stands in a sparse vector without a word


class MilvusCarrier:
    def __init__(self, name: str, table: MilvusTable) -> None:
        self._name = name
        self._table = table
        self._collection = table.collection
        self._kept = f"{table.collection}__assay"
        self._lock = threading.RLock()
        self._client: Any = None
        self._is_server = False

    # ── loading ───────────────────────────────────────────────────────────────────────────────────

    def begin(self, about: About) -> None:
        client, types = self._open()
        if client.has_collection(self._collection) and self.about() is None:
            raise InputError(
                f"there is a collection {self._collection!r} already, and it was not loaded from "
                "here",
                where=f"engines.{self._name}.collection",
                hint="Name another collection: it is made, and made anew each time.",
            )
        self._write(about)
        client.drop_collection(self._collection)
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("row", types.INT64, is_primary=True)
        schema.add_field("doc_id", types.VARCHAR, max_length=2_048)
        schema.add_field("title", types.VARCHAR, max_length=LONGEST)
        schema.add_field("text", types.VARCHAR, max_length=LONGEST)
        schema.add_field(WORDS, types.SPARSE_FLOAT_VECTOR)
        indexes = client.prepare_index_params()
        indexes.add_index(WORDS, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        if about.dimensions:
            schema.add_field(DENSE, types.FLOAT_VECTOR, dim=about.dimensions)
            indexes.add_index(DENSE, index_type="AUTOINDEX", metric_type="IP")
        client.create_collection(self._collection, schema=schema, index_params=indexes)

    def add(self, rows: Sequence[LoadedRow]) -> None:
        client, _ = self._open()
        written = []
        for row in rows:
            keys, impacts = hashed(row.impacts)
            entity = {
                "row": row.row,
                "doc_id": row.doc_id,
                "title": _cut(row.title),
                "text": _cut(row.text),
                WORDS: dict(zip(keys, impacts, strict=True)) or {NONE: 1e-6},
            }
            if row.vector is not None:
                entity[DENSE] = row.vector.tolist()
            written.append(entity)
        self._asked(lambda: client.insert(self._collection, written))

    def finish(self, about: About) -> None:
        client, _ = self._open()
        self._asked(lambda: client.flush(self._collection))
        self._asked(lambda: client.load_collection(self._collection))
        self._write(about)

    def _write(self, about: About) -> None:
        client, types = self._open()
        client.drop_collection(self._kept)
        schema = client.create_schema(auto_id=False)
        schema.add_field("id", types.INT64, is_primary=True)
        schema.add_field("about", types.VARCHAR, max_length=LONGEST)
        schema.add_field("none", types.FLOAT_VECTOR, dim=2)  # a collection must have a vector
        indexes = client.prepare_index_params()
        indexes.add_index("none", index_type="AUTOINDEX", metric_type="IP")
        client.create_collection(self._kept, schema=schema, index_params=indexes)
        text = msgspec.json.encode(about).decode()
        pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
        rows = [{"id": n, "about": piece, "none": [1.0, 0.0]} for n, piece in enumerate(pieces)]
        self._asked(lambda: client.insert(self._kept, rows))
        self._asked(lambda: client.flush(self._kept))

    # ── asking ────────────────────────────────────────────────────────────────────────────────────

    def about(self) -> About | None:
        client, _ = self._open()
        if not self._asked(lambda: client.has_collection(self._kept)):
            return None
        for name in (self._kept, self._collection):  # each process that asks must load them
            if self._asked(lambda name=name: client.has_collection(name)):
                self._asked(lambda name=name: client.load_collection(name))
        found = self._asked(
            lambda: client.query(self._kept, filter="id >= 0", output_fields=["id", "about"])
        )
        text = "".join(row["about"] for row in sorted(found, key=lambda row: int(row["id"])))
        return msgspec.json.decode(text, type=About) if text else None

    def best(
        self, field: str, asked: Asked, depth: int, among: Sequence[int] | None = None
    ) -> Values:
        found = self._found(dict(zip(*hashed(asked), strict=True)), WORDS, depth, among)
        return {row: value for row, value in found.items() if value > 0}

    def nearest(self, vector: Floats, depth: int, among: Sequence[int] | None = None) -> Values:
        return self._found(vector.tolist(), DENSE, depth, among)

    def _found(self, query: Any, using: str, depth: int, among: Sequence[int] | None) -> Values:
        client, _ = self._open()
        if among is not None and not among:
            return {}
        found = self._asked(
            lambda: client.search(
                self._collection,
                data=[query],
                anns_field=using,
                limit=depth,
                filter=f"row in {list(among)}" if among is not None else "",
                output_fields=["row"],
            )
        )
        return {int(hit["row"]): float(hit["distance"]) for hit in found[0]}

    def vectors(self, rows: Sequence[int]) -> Floats:
        by_row = {int(row["row"]): row[DENSE] for row in self._got(rows, [DENSE])}
        return np.array([by_row[row] for row in rows], np.float32)

    def shown(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        found = self._got(rows, ["doc_id", "title"])
        return {int(row["row"]): (row["doc_id"], row["title"]) for row in found}

    def _got(self, rows: Sequence[int], fields: list[str]) -> Any:
        client, _ = self._open()
        if not rows:
            return []
        return self._asked(
            lambda: client.query(
                self._collection,
                filter=f"row in {list(rows)}",
                output_fields=["row", *fields],
            )
        )

    def _open(self) -> tuple[Any, Any]:
        types = imported("pymilvus", "Milvus", "milvus").DataType
        with self._lock:
            if self._client is None:
                where = f"engines.{self._name}"
                place, key = filled(self._table.milvus, where), filled(self._table.key, where)
                database = self._table.database
                self._is_server = is_address(place)
                self._client = self._asked(lambda: open_client(place, key, database))
        return self._client, types

    def _asked(self, work: Any) -> Any:
        """In a file one at a time, on a server as many as come."""
        try:
            with contextlib.nullcontext() if self._is_server else self._lock:
                return work()
        except AssayError:
            raise
        except Exception as error:  # the client has errors of its own
            said = hidden(str(error), values_of([self._table.key, self._table.milvus]))
            raise EngineError(f"{self._name}: {said}") from error


def _cut(text: str) -> str:
    """What fits, in bytes."""
    return text[:SHOWN].encode()[: LONGEST - 4].decode(errors="ignore")


def carrier(name: str, table: MilvusTable) -> MilvusCarrier:
    return MilvusCarrier(name, table)

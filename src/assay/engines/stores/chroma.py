"""Chroma, deprecated as a table of assay.toml: docs/examples-stores.md has it as a Python engine.

[engines.mine]
chroma = "http://127.0.0.1:8000"     # or a folder
collection = "opinions"
encoder = "minilm-l6"
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from assay.core.types import Hit, JsonObject
from assay.engines.engine_table import EngineKind
from assay.engines.stores.vector_store import (
    Filters,
    StoreTable,
    VectorStore,
    any_of,
    check_store_table,
    is_address,
)


class ChromaTable(StoreTable, frozen=True, kw_only=True):
    """`filter` is a `where` of Chroma's own; the text of a document is its document."""

    chroma: str
    filter: JsonObject = {}
    tenant: str = ""
    database: str = ""


class ChromaStore(VectorStore):
    kind = "chroma"
    package = "chromadb"
    title = "Chroma"
    _table: ChromaTable

    def _connect(self, place: str, key: str) -> Any:
        module = self._module()
        own = {"tenant": self._table.tenant, "database": self._table.database}
        options: dict[str, Any] = {name: value for name, value in own.items() if value}
        options["settings"] = module.Settings(anonymized_telemetry=False)
        if not is_address(place):
            return module.PersistentClient(path=place, **options)
        address = urlsplit(place)
        secure = address.scheme == "https"
        return module.HttpClient(
            host=address.hostname,
            port=address.port or (443 if secure else 80),
            ssl=secure,
            headers={"X-Chroma-Token": key} if key else None,
            **options,
        )

    def _open(self, client: Any) -> Any:
        names = [str(getattr(each, "name", each)) for each in client.list_collections()]
        if self._collection not in names:
            raise self._missing_collection(names)
        # without an embedding function: the vectors of queries are made here
        return client.get_collection(self._collection, embedding_function=None)

    def _nearest(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        terms: list[JsonObject] = [dict(self._table.filter)] if self._table.filter else []
        terms += [{field: {"$in": any_of(value)}} for field, value in filters.items()]
        found = self._opened.query(
            query_embeddings=[vector],
            n_results=top_k,
            where={"$and": terms} if len(terms) > 1 else terms[0] if terms else None,
            include=["metadatas", "documents", "distances"],
        )
        columns = (found[name][0] for name in ("ids", "distances", "metadatas", "documents"))
        return [
            self._hit({self._table.text: text, **(metadata or {})}, own_id, -float(distance))
            for own_id, distance, metadata, text in zip(*columns, strict=True)
        ]


CHROMA = EngineKind(
    settings=ChromaTable,
    make=ChromaStore,
    check=check_store_table,
    files=("chroma",),
    example="docs/examples-stores.md#chroma",
)

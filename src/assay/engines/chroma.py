"""Chroma: a collection on a server, or in a folder of this machine.

[engines.mine]
chroma = "http://127.0.0.1:8000"     # or a folder
collection = "opinions"
encoder = "minilm-l6"
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.types import Hit, JsonObject
from assay.engines.connecting import EngineKind
from assay.engines.vector_store import (
    Filters,
    StoreTable,
    VectorStore,
    any_of,
    check_encoder,
    is_address,
)


class ChromaTable(StoreTable, frozen=True, kw_only=True):
    """`filter` is a `where` of Chroma's own; the text of a document is its document."""

    chroma: str
    filter: JsonObject = {}
    tenant: str = ""
    database: str = ""


class ChromaEngine(VectorStore):
    _table: ChromaTable

    def _open(self) -> Any:
        table = self._table
        client = self._client(self._filled(table.chroma), self._filled(table.key))
        # a collection that was made with a model of its own would ask for it; vectors come from us
        names = [getattr(each, "name", each) for each in client.list_collections()]
        if table.collection not in names:
            raise InputError(
                f"there is no collection {table.collection!r}",
                where=f"engines.{self._name}.collection",
                hint=f"There is: {', '.join(map(str, names)) or 'none'}.",
            )
        return client.get_collection(table.collection, embedding_function=None)

    def _client(self, place: str, key: str) -> Any:
        module = imported("chromadb", "Chroma", "chroma")
        settings = module.Settings(anonymized_telemetry=False)
        table = self._table
        where = {"tenant": table.tenant, "database": table.database}
        where = {name: value for name, value in where.items() if value}
        if not is_address(place):
            place = self._existing("chroma", place)
            return module.PersistentClient(path=place, settings=settings, **where)
        address = urlsplit(place)
        secure = address.scheme == "https"
        return module.HttpClient(
            host=address.hostname,
            port=address.port or (443 if secure else 80),
            ssl=secure,
            headers={"X-Chroma-Token": key} if key else None,
            settings=settings,
            **where,
        )

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
            self._hit({self._table.text: text, **(metadata or {})}, own, -float(distance))
            for own, distance, metadata, text in zip(*columns, strict=True)
        ]


CHROMA = EngineKind(settings=ChromaTable, make=ChromaEngine, check=check_encoder, files=("chroma",))

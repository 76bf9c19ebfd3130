"""Qdrant: a collection on a server, or in a folder of this machine.

[engines.mine]
qdrant = "http://127.0.0.1:6333"     # or a folder
collection = "opinions"
encoder = "minilm-l6"
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.types import Hit, JsonObject
from assay.engines.connecting import EngineKind
from assay.engines.ranking import check_ranking, ranked
from assay.engines.vector_store import (
    Filters,
    StoreTable,
    VectorStore,
    any_of,
    check_encoder,
    is_address,
)


class QdrantTable(StoreTable, frozen=True, kw_only=True):
    """`vector` is the name of the vector, where the collection has several; `filter` is one of
    Qdrant's own, as its JSON has it."""

    qdrant: str
    ranking: str = ""
    filter: JsonObject = {}


class QdrantEngine(VectorStore):
    _table: QdrantTable
    _turn: contextlib.AbstractContextManager[object]

    def _open(self) -> Any:
        imported("qdrant_client", "Qdrant", "qdrant")
        place = self._existing("qdrant", self._filled(self._table.qdrant))
        # a collection in a folder is for one thread at a time, a server for any number
        self._turn = contextlib.nullcontext() if is_address(place) else self._lock
        client = open_client(place, self._filled(self._table.key))
        if not client.collection_exists(self._table.collection):
            known = ", ".join(each.name for each in client.get_collections().collections)
            raise InputError(
                f"there is no collection {self._table.collection!r}",
                where=f"engines.{self._name}.collection",
                hint=f"There is: {known or 'none'}.",
            )
        return client

    def _nearest(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        models = imported("qdrant_client.models", "Qdrant", "qdrant")
        with self._turn:
            found = self._opened.query_points(
                self._table.collection,
                query=vector,
                using=self._table.vector or None,
                query_filter=_filter(models, self._table.filter, filters),
                limit=top_k,
                with_payload=True,
            ).points
        return [self._hit(point.payload or {}, point.id, float(point.score)) for point in found]


def open_client(place: str, key: str = "") -> Any:
    module = imported("qdrant_client", "Qdrant", "qdrant")
    if is_address(place):
        return module.QdrantClient(url=place, api_key=key or None)
    return module.QdrantClient(path=place)


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
    return check_ranking(table.ranking) or check_encoder(table)


QDRANT = EngineKind(
    settings=QdrantTable, make=ranked("qdrant", QdrantEngine), check=_check, files=("qdrant",)
)

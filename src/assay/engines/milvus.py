"""Milvus: a collection of a cluster or a server, or one in a file of this machine (Milvus Lite);
the client is the same.

    [engines.mine]
    milvus = "http://127.0.0.1:19530"    # or a file that ends in .db
    collection = "opinions"
    encoder = "minilm-l6"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.types import Hit
from assay.engines.connecting import EngineKind
from assay.engines.ranking import check_ranking, ranked
from assay.engines.vector_store import (
    Filters,
    Scalar,
    StoreTable,
    VectorStore,
    any_of,
    check_encoder,
    quoted,
)


class MilvusTable(StoreTable, frozen=True, kw_only=True):
    """`vector` is the vector field, by default the only one; `filter` an expression of Milvus."""

    milvus: str
    ranking: str = ""
    filter: str = ""
    database: str = ""


class MilvusEngine(VectorStore):
    _table: MilvusTable

    def _open(self) -> Any:
        table = self._table
        imported("pymilvus", "Milvus", "milvus")
        place = self._existing("milvus", self._filled(table.milvus))
        client = open_client(place, self._filled(table.key), table.database)
        if not client.has_collection(table.collection):
            known = ", ".join(client.list_collections()) or "none"
            raise InputError(
                f"there is no collection {table.collection!r}",
                where=f"engines.{self._name}.collection",
                hint=f"There is: {known}.",
            )
        described = client.describe_collection(table.collection)["fields"]
        self._vector = table.vector or self._only_vector(described)
        primary = (field["name"] for field in described if field.get("is_primary"))
        self._primary = next(primary, "id")
        self._vectors = [field["name"] for field in described if "VECTOR" in _type(field)]
        client.load_collection(table.collection)
        return client

    def _only_vector(self, fields: Sequence[Mapping[str, object]]) -> str:
        plain = [
            str(f["name"]) for f in fields if "VECTOR" in _type(f) and "SPARSE" not in _type(f)
        ]
        if len(plain) != 1:
            raise InputError(
                f"the collection has {len(plain)} vector fields",
                where=f"engines.{self._name}.vector",
                hint=f"Name one with vector =: {', '.join(plain) or 'it has none'}.",
            )
        return plain[0]

    def _nearest(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        table = self._table
        terms = [f"({table.filter})"] if table.filter else []
        terms += [f"{field} in [{_listed(value)}]" for field, value in filters.items()]
        found = self._opened.search(
            table.collection,
            data=[vector],
            anns_field=self._vector,
            limit=top_k,
            filter=" and ".join(terms),
            output_fields=["*"],
        )[0]
        hits = []
        for hit in found:
            own = hit.get(self._primary, hit.get("id"))
            fields = {k: value for k, value in hit["entity"].items() if k not in self._vectors}
            hits.append(self._hit(fields, own, float(hit["distance"])))
        rising = len(hits) > 1 and (hits[0].score or 0) < (hits[-1].score or 0)
        return [_turned(hit) for hit in hits] if rising else hits


def open_client(place: str, key: str = "", database: str = "") -> Any:
    imported("pymilvus", "Milvus", "milvus")
    if place.endswith(".db"):
        imported("milvus_lite", "Milvus in a file", "milvus")
    client = imported("pymilvus", "Milvus", "milvus").MilvusClient
    return client(place, token=key, db_name=database) if key or database else client(place)


def _listed(value: Scalar | Sequence[Scalar]) -> str:
    return ", ".join(quoted(each, '"') for each in any_of(value))


def _turned(hit: Hit) -> Hit:
    """A distance (L2) is turned, so that the nearest has the highest score."""
    return Hit(
        doc_id=hit.doc_id,
        score=-(hit.score or 0.0),
        title=hit.title,
        text=hit.text,
        metadata=hit.metadata,
    )


def _type(field: Mapping[str, object]) -> str:
    return str(getattr(field["type"], "name", field["type"]))


def _check(table: MilvusTable) -> tuple[str, str]:
    return check_ranking(table.ranking) or check_encoder(table)


MILVUS = EngineKind(
    settings=MilvusTable, make=ranked("milvus", MilvusEngine), check=_check, files=("milvus",)
)

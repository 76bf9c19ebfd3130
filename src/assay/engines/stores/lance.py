"""LanceDB, deprecated as a table of assay.toml: docs/examples-stores.md has it as a Python engine.

[engines.mine]
lancedb = "data/lance"               # or s3://…, db://…
collection = "opinions"
encoder = "minilm-l6"
"""

from __future__ import annotations

from typing import Any

from assay.core.types import Hit
from assay.engines.engine_table import EngineKind
from assay.engines.stores.vector_store import (
    Filters,
    Scalar,
    StoreTable,
    VectorStore,
    any_of,
    check_store_table,
)


class LanceTable(StoreTable, frozen=True, kw_only=True):
    """`vector` is the column of vectors; `filter` a condition in SQL; `distance` how near is
    measured: cosine, dot or l2."""

    lancedb: str
    filter: str = ""
    distance: str = "cosine"


class LanceStore(VectorStore):
    kind = "lancedb"
    package = "lancedb"
    title = "LanceDB"
    noun = "table"
    _table: LanceTable

    def _connect(self, place: str, key: str) -> Any:
        return self._module().connect(place, **({"api_key": key} if key else {}))

    def _open(self, client: Any) -> Any:
        try:
            return client.open_table(self._collection)
        except (ValueError, FileNotFoundError) as error:
            raise self._missing_collection(client.table_names()) from error

    def _nearest(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        table = self._table
        terms = [f"({table.filter})"] if table.filter else []
        terms += [
            f"`{field}` IN ({', '.join(map(_sql, any_of(value)))})"
            for field, value in filters.items()
        ]
        search = self._opened.search(vector, vector_column_name=table.vector or self._only_vector())
        search = search.distance_type(table.distance).limit(top_k)
        if terms:
            search = search.where(" AND ".join(terms), prefilter=True)
        hits = []
        for row in search.to_list():
            distance = float(row.pop("_distance"))
            hits.append(self._hit(row, row.get("id"), -distance))
        return hits

    def _only_vector(self) -> str | None:
        """The column of vectors, if there is exactly one. LanceDB itself would look for a column
        with vectors of the query's length, and report another length as a missing column."""
        fields = self._opened.schema
        columns = [field.name for field in fields if hasattr(field.type, "list_size")]
        return columns[0] if len(columns) == 1 else None


def _sql(value: Scalar) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _check(table: LanceTable) -> tuple[str, str]:
    if table.distance not in ("cosine", "dot", "l2"):
        return "distance", f"{table.distance!r} is none of cosine, dot and l2"
    return check_store_table(table)


LANCE = EngineKind(
    settings=LanceTable,
    make=LanceStore,
    check=_check,
    files=("lancedb",),
    example="docs/examples-stores.md#lancedb",
)

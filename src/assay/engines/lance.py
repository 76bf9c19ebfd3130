"""LanceDB: a table in a folder, or in an object store by its address.

[engines.mine]
lancedb = "data/lance"               # or s3://…, db://…
collection = "opinions"
encoder = "minilm-l6"
"""

from __future__ import annotations

from typing import Any

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.types import Hit
from assay.engines.connecting import EngineKind
from assay.engines.vector_store import (
    Filters,
    StoreTable,
    VectorStore,
    any_of,
    check_encoder,
    quoted,
)


class LanceTable(StoreTable, frozen=True, kw_only=True):
    """`vector` is the column of vectors; `filter` a condition in SQL; `distance` how near is
    measured: cosine, dot or l2."""

    lancedb: str
    filter: str = ""
    distance: str = "cosine"


class LanceEngine(VectorStore):
    _table: LanceTable

    def _open(self) -> Any:
        table = self._table
        module = imported("lancedb", "LanceDB", "lancedb")
        key = self._filled(table.key)
        place = self._existing("lancedb", self._filled(table.lancedb))
        database = module.connect(place, **({"api_key": key} if key else {}))
        try:
            return database.open_table(table.collection)
        except (ValueError, FileNotFoundError) as error:
            known = ", ".join(database.table_names()) or "none"
            raise InputError(
                f"there is no table {table.collection!r}",
                where=f"engines.{self._name}.collection",
                hint=f"There is: {known}.",
            ) from error

    def _nearest(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        table = self._table
        terms = [f"({table.filter})"] if table.filter else []
        terms += [
            f"`{field}` IN ({', '.join(quoted(each) for each in any_of(value))})"
            for field, value in filters.items()
        ]
        asked = self._opened.search(vector, vector_column_name=table.vector or self._only_vector())
        asked = asked.distance_type(table.distance).limit(top_k)
        if terms:
            asked = asked.where(" AND ".join(terms), prefilter=True)
        hits = []
        for row in asked.to_list():
            distance = float(row.pop("_distance"))
            hits.append(self._hit(row, row.get("id"), -distance))
        return hits

    def _only_vector(self) -> str | None:
        """The column of vectors, where there is one: LanceDB itself looks for one of the length
        that it is asked with, and says of another that there is none."""
        fields = self._opened.schema
        columns = [field.name for field in fields if hasattr(field.type, "list_size")]
        return columns[0] if len(columns) == 1 else None


def _check(table: LanceTable) -> tuple[str, str]:
    if table.distance not in ("cosine", "dot", "l2"):
        return "distance", f"{table.distance!r} is none of cosine, dot and l2"
    return check_encoder(table)


LANCE = EngineKind(settings=LanceTable, make=LanceEngine, check=_check, files=("lancedb",))

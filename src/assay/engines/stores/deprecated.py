"""Milvus, Chroma and LanceDB, deprecated as tables of assay.toml: docs/examples-stores.md has each
as a Python engine.

    [engines.mine]
    milvus = "http://127.0.0.1:19530"    # or a file that ends in .db (Milvus Lite)
    chroma = "http://127.0.0.1:8000"     # or a folder
    lancedb = "data/lance"               # or s3://…, db://…
    collection = "opinions"
    encoder = "minilm-l6"

A table has one of the three addresses. A corpus is loaded into Milvus as one sparse vector of
impacts and one dense vector a document; a second collection, COLLECTION__assay, has the description
of what was loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.extras import imported
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
    Scalar,
    StoreTable,
    VectorStore,
    any_of,
    check_store_table,
    hash_terms,
    is_address,
)
from assay.search.arrays import Floats

WORDS = "words"
MAX_TEXT_BYTES = 65_535  # bytes of a text, by Milvus's own limit
PIECE = 30_000  # characters of the description in one row, at two bytes each within MAX_TEXT_BYTES
# the sparse vector of a document without terms: the last index, next to no weight (by hand)
PLACEHOLDER = {2**32 - 2: 1e-6}


class MilvusTable(StoreTable, frozen=True, kw_only=True):
    """`vector` is the vector field, by default the only one; `filter` an expression of Milvus."""

    milvus: str
    ranking: str = ""
    filter: str = ""
    database: str = ""


class MilvusStore(VectorStore):
    """A collection of Milvus: searched as it is, or loaded by Assay."""

    kind = "milvus"
    package = "pymilvus"
    title = "Milvus"
    _table: MilvusTable

    def _connect(self, place: str, key: str) -> Any:
        client = self._module().MilvusClient
        if place.endswith(".db"):
            imported("milvus_lite", "Milvus in a file", "milvus")
        database = self._table.database
        return client(place, token=key, db_name=database) if key or database else client(place)

    def _open(self, client: Any) -> Any:
        if not client.has_collection(self._collection):
            raise self._missing_collection(client.list_collections())
        fields = client.describe_collection(self._collection)["fields"]
        self._vector = self._table.vector or self._only_vector(fields)
        primary = (field["name"] for field in fields if field.get("is_primary"))
        self._primary = next(primary, "id")
        self._vectors = [field["name"] for field in fields if "VECTOR" in _type(field)]
        client.load_collection(self._collection)
        return client

    def _only_vector(self, fields: Sequence[Mapping[str, object]]) -> str:
        vectors = [field for field in fields if "VECTOR" in _type(field)]
        dense = [str(field["name"]) for field in vectors if "SPARSE" not in _type(field)]
        if len(dense) != 1:
            raise InputError(
                f"the collection has {len(dense)} vector fields",
                where=f"engines.{self._name}.vector",
                hint=f"Name one with vector =: {', '.join(dense) or 'it has none'}.",
            )
        return dense[0]

    def _nearest(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        terms = [f"({self._table.filter})"] if self._table.filter else []
        for field, value in filters.items():
            terms.append(f"{field} in {msgspec.json.encode(any_of(value)).decode()}")
        found = self._opened.search(
            self._collection,
            data=[vector],
            anns_field=self._vector,
            limit=top_k,
            filter=" and ".join(terms),
            output_fields=["*"],
        )[0]
        distances = [float(hit["distance"]) for hit in found]
        is_distance = len(found) > 1 and distances[0] < distances[-1]  # L2: the nearest is least
        hits = []
        for hit, distance in zip(found, distances, strict=True):
            own_id = hit.get(self._primary, hit.get("id"))
            fields = {k: value for k, value in hit["entity"].items() if k not in self._vectors}
            hits.append(self._hit(fields, own_id, -distance if is_distance else distance))
        return hits

    # ── loading ───────────────────────────────────────────────────────────────────────────────────

    def exists(self) -> bool:
        return bool(self._call("has_collection", self._collection))

    def begin(self, about: LoadedCorpus) -> None:
        types = self._module().DataType
        self._describe(about)
        fields = {
            "row": {"datatype": types.INT64, "is_primary": True},
            "doc_id": {"datatype": types.VARCHAR, "max_length": 2_048},
            "title": {"datatype": types.VARCHAR, "max_length": MAX_TEXT_BYTES},
            "text": {"datatype": types.VARCHAR, "max_length": MAX_TEXT_BYTES},
            WORDS: {"datatype": types.SPARSE_FLOAT_VECTOR},
        }
        indexes = {WORDS: "SPARSE_INVERTED_INDEX"}
        if about.dimensions:
            fields[DENSE] = {"datatype": types.FLOAT_VECTOR, "dim": about.dimensions}
            indexes[DENSE] = "AUTOINDEX"
        self._create(self._collection, fields, indexes)

    def add(self, documents: Sequence[LoadedDocument]) -> None:
        entities = []
        for document in documents:
            sparse = dict(zip(*hash_terms(document.impacts), strict=True))
            entity = {
                "row": document.row,
                "doc_id": document.doc_id,
                "title": _shortened(document.title),
                "text": _shortened(document.text),
                WORDS: sparse or PLACEHOLDER,
            }
            if document.vector is not None:
                entity[DENSE] = document.vector.tolist()
            entities.append(entity)
        self._call("insert", self._collection, entities)

    def finish(self, about: LoadedCorpus) -> None:
        self._call("flush", self._collection)
        self._call("load_collection", self._collection)
        self._describe(about)

    def _describe(self, about: LoadedCorpus) -> None:
        types = self._module().DataType
        fields = {
            "id": {"datatype": types.INT64, "is_primary": True},
            "about": {"datatype": types.VARCHAR, "max_length": MAX_TEXT_BYTES},
            "none": {"datatype": types.FLOAT_VECTOR, "dim": 2},  # a collection must have a vector
        }
        self._create(self._description, fields, {"none": "AUTOINDEX"})
        text = msgspec.json.encode(about).decode()
        pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
        rows = [{"id": n, "about": piece, "none": [1.0, 0.0]} for n, piece in enumerate(pieces)]
        self._call("insert", self._description, rows)
        self._call("flush", self._description)

    def _create(
        self, collection: str, fields: Mapping[str, Mapping[str, Any]], indexes: Mapping[str, str]
    ) -> None:
        """Create a collection, empty, in place of one that exists."""
        client = self._client()
        schema = client.create_schema(auto_id=False)
        for name, options in fields.items():
            schema.add_field(name, **options)
        params = client.prepare_index_params()
        for name, index_type in indexes.items():
            params.add_index(name, index_type=index_type, metric_type="IP")
        self._call("drop_collection", collection)
        self._call("create_collection", collection, schema=schema, index_params=params)

    def about(self) -> LoadedCorpus | None:
        if not self._call("has_collection", self._description):
            return None
        if self.exists():  # each process that searches must load it
            self._call("load_collection", self._collection)
        self._call("load_collection", self._description)
        found = self._query(self._description, "id >= 0", ["id", "about"])
        text = "".join(row["about"] for row in sorted(found, key=lambda row: int(row["id"])))
        return msgspec.json.decode(text, type=thread_safe(LoadedCorpus)) if text else None

    # ── signals ───────────────────────────────────────────────────────────────────────────────────

    def best(
        self, field: str, terms: TermWeights, depth: int, among: Sequence[int] | None = None
    ) -> RowValues:
        found = self._find(dict(zip(*hash_terms(terms), strict=True)), WORDS, depth, among)
        return {row: value for row, value in found.items() if value > 0}

    def nearest(self, vector: Floats, depth: int, among: Sequence[int] | None = None) -> RowValues:
        return self._find(vector.tolist(), DENSE, depth, among)

    def _find(self, query: Any, using: str, depth: int, among: Sequence[int] | None) -> RowValues:
        found = self._call(
            "search",
            self._collection,
            data=[query],
            anns_field=using,
            limit=depth,
            filter=f"row in {list(among)}" if among is not None else "",
            output_fields=["row"],
        )
        return {int(hit["row"]): float(hit["distance"]) for hit in found[0]}

    def vectors(self, rows: Sequence[int]) -> dict[int, list[float]]:
        found = self._query(self._collection, f"row in {list(rows)}", ["row", DENSE])
        return {int(row["row"]): row[DENSE] for row in found}

    def names(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        found = self._query(self._collection, f"row in {list(rows)}", ["row", "doc_id", "title"])
        return {int(row["row"]): (row["doc_id"], row["title"]) for row in found}

    def _query(self, collection: str, condition: str, fields: list[str]) -> Any:
        return self._call("query", collection, filter=condition, output_fields=fields)


def _shortened(text: str) -> str:
    """The start of a text that fits into a field, in bytes."""
    return text[:SHOWN_CHARACTERS].encode()[: MAX_TEXT_BYTES - 4].decode(errors="ignore")


def _type(field: Mapping[str, object]) -> str:
    return str(getattr(field["type"], "name", field["type"]))


def _check_milvus(table: MilvusTable) -> tuple[str, str]:
    return check_ranking(table.ranking) or check_store_table(table)


MILVUS = EngineKind(
    settings=MilvusTable,
    make=own_or_external_ranking("milvus", MilvusStore),
    check=_check_milvus,
    files=("milvus",),
    example="docs/examples-stores.md#milvus",
)


# ── Chroma ────────────────────────────────────────────────────────────────────────────────────────


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


# ── LanceDB ───────────────────────────────────────────────────────────────────────────────────────


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


def _check_lance(table: LanceTable) -> tuple[str, str]:
    if table.distance not in ("cosine", "dot", "l2"):
        return "distance", f"{table.distance!r} is none of cosine, dot and l2"
    return check_store_table(table)


LANCE = EngineKind(
    settings=LanceTable,
    make=LanceStore,
    check=_check_lance,
    files=("lancedb",),
    example="docs/examples-stores.md#lancedb",
)

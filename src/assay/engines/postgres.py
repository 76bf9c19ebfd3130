"""PostgreSQL: full text, pgvector and trigrams over one table of the team's own, fused by rank; or
a corpus that Assay loaded, ranked by external_ranking.py.

    from assay.engines.postgres import PostgresEngine, Settings
    settings = Settings(url="postgresql://…", table="case_law", text="body", config="english")
    engine = PostgresEngine(settings)

A way of searching that the database does not support is left out and named in `engine.missing`; if
none is left, that is an error. A team whose production path has its own SQL gives that instead
(`Settings.query`), and gets exactly that path measured."""

from __future__ import annotations

import logging
import threading
import weakref
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from assay.core import conninfo
from assay.core.decoding import thread_safe
from assay.core.errors import EngineError, InputError
from assay.core.extras import imported
from assay.core.types import Hit, SearchEngine
from assay.engines.engine_table import ROW, EngineKind
from assay.engines.external_ranking import (
    LoadedCorpus,
    LoadedDocument,
    RowValues,
    TermWeights,
    check_ranking,
    own_or_external_ranking,
)
from assay.engines.secrets import values_of, with_secrets, without_secrets
from assay.engines.stores.vector_store import (
    ENCODER,
    Filters,
    any_of,
    check_encoder,
    first_line,
    query_vector,
)
from assay.search.arrays import Floats

_log = logging.getLogger("assay.engines")
T = TypeVar("T")
Embed = Callable[[str], Sequence[float]]


class PostgresPlaces(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table and columns of the documents. `config` is a text-search configuration of the
    database ("simple", "english", …); `tsvector` a stored column of words, if there is one;
    `vector` a pgvector column, used when there is an embedder; `trigram` the column for trigrams,
    by default the text; `where` a condition on the rows.

    `query` replaces all of it: one SELECT with %(query)s and %(top_k)s that returns id and,
    optionally, score, the best first. The values of the gold set's row can be used too: %(corpus)s,
    %(practice_area)s, %(language)s, %(as_of)s (null if the row has none) and %(filters)s, as
    JSON."""

    table: str = ""
    id: str = "id"
    text: str = "text"
    title: str = ""
    vector: str = ""
    tsvector: str = ""
    trigram: str = ""
    config: str = "simple"
    where: str = ""
    query: str = ""
    depth: int = 100  # how deep each way of searching goes before fusion
    rrf_k: int = 60  # Cormack, Clarke and Büttcher 2009
    full_text_weight: float = 1.0
    vector_weight: float = 1.0
    trigram_weight: float = 0.5
    timeout_s: float = 30.0


class Settings(PostgresPlaces, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The places of the documents, with the address of the database."""

    url: str


class PostgresTable(PostgresPlaces, frozen=True, kw_only=True):
    """The table of an engine in assay.toml. `encoder` reads the query if there is a `vector`."""

    postgres: str
    encoder: str = ENCODER
    ranking: str = ""


class ThreadConnections:
    """The connections to a database, one for each thread, so that no thread waits for another. They
    are closed with this object. `prepare` gets each new connection."""

    def __init__(self, url: str, where: str, prepare: Callable[[Any], None]) -> None:
        self.driver = imported("psycopg", "PostgreSQL", "postgres")
        self._url, self._where, self._prepare = url, where, prepare
        self._own = threading.local()
        self._lock = threading.Lock()
        self._open: list[Any] = []
        weakref.finalize(self, _close, self._open)

    def get(self) -> Any:
        """The connection of this thread."""
        kept = getattr(self._own, "connection", None)
        if kept is not None and not kept.closed:
            return kept
        options = conninfo.address_parts(self._url, self._where) | {"connect_timeout": "10"}
        self._own.connection = connection = self.driver.connect(**options, autocommit=True)
        with self._lock:
            self._open[:] = [connection, *(each for each in self._open if not each.closed)]
        self._prepare(connection)
        return connection

    def drop(self) -> None:
        """Close the connection of this thread."""
        if (kept := getattr(self._own, "connection", None)) is not None:
            kept.close()


def _close(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()


# ── the team's own table ──────────────────────────────────────────────────────────────────────────


class PostgresEngine(SearchEngine):
    """The engine on a table of the team's own. Several threads may search at once."""

    def __init__(self, settings: Settings, *, embed: Embed | None = None, name: str = "") -> None:
        if not settings.table and not settings.query:
            raise InputError("the PostgreSQL engine needs a table or a query")
        self._settings, self._embed = settings, embed
        self._name = name or f"postgres:{settings.table or 'query'}"
        self._extensions: dict[str, str] = {}
        self._connections = ThreadConnections(
            settings.url, self._name, partial(_prepare, settings, self._extensions)
        )
        self._lock = threading.RLock()  # held while the ways of searching are found
        self._ways: dict[str, tuple[str, float]] | None = None
        self.missing: dict[str, str] = {}

    def name(self) -> str:
        return self._name

    def search(
        self, query: str, top_k: int = 20, *, filters: Filters | None = None, **known: object
    ) -> list[Hit]:
        """`known` has the values of the gold set's row, for a SELECT of your own."""
        return self._retried(lambda: self._search(query, top_k, filters or {}, known))

    def plans(self, query: str) -> dict[str, str]:
        """The query plan of each way of searching: it shows whether your indexes are used."""

        def work() -> dict[str, str]:
            own = self._settings.query
            statements = {"query": own} if own else self._statements({})
            values = self._values(query, self._settings.depth) | self._known({}, {})
            return {
                way: "\n".join(line for (line,) in self._rows(f"EXPLAIN {statement}", values))
                for way, statement in statements.items()
            }

        return self._retried(work)

    def _retried(self, work: Callable[[], T]) -> T:
        driver = self._connections.driver
        try:
            try:
                return work()
            except driver.OperationalError:
                self._connections.drop()  # the server may have closed an idle connection
                return work()
        except driver.Error as error:
            raise EngineError(f"{self.name()}: {first_line(error)}") from error

    def _search(
        self, query: str, top_k: int, filters: Filters, known: Mapping[str, object]
    ) -> list[Hit]:
        settings = self._settings
        if settings.query:
            values = self._values(query, top_k) | self._known(known, filters)
            return [
                Hit(
                    doc_id=str(row[0]),
                    score=float(row[1]) if len(row) > 1 and row[1] is not None else None,
                )
                for row in self._rows(settings.query, values)[:top_k]
            ]
        statements = self._statements(filters)
        values = self._values(query, top_k) | _filter_values(filters)
        ranked = {way: self._rows(statement, values) for way, statement in statements.items()}
        weights = {way: weight for way, (_, weight) in self._available().items()}
        hits = fuse(ranked, weights, settings.rrf_k)[:top_k]
        if not hits and not self._rows(f"SELECT 1 FROM {_identifier(settings.table)} LIMIT 1", {}):
            raise EngineError(f"{self.name()}: the table {settings.table!r} has no rows")
        return hits

    def _statements(self, filters: Filters) -> dict[str, str]:
        ways = self._available()
        return {way: _quoted(text, self._settings, filters) for way, (text, _) in ways.items()}

    def _known(self, known: Mapping[str, object], filters: Filters) -> dict[str, object]:
        """The values of the row for a SELECT of the team's own, and null for the rest."""
        written = msgspec.json.encode(filters).decode() if filters else None
        return {**dict.fromkeys(ROW), **known, "filters": written}

    def _values(self, query: str, top_k: int) -> dict[str, object]:
        query = query.replace("\0", "")
        values: dict[str, object] = {
            "query": query,
            "depth": max(self._settings.depth, top_k),
            "top_k": top_k,
        }
        if self._ways and "vector" in self._ways and self._embed is not None:
            values["vector"] = _vector_text(self._embed(query))
        return values

    # ── ways of searching ─────────────────────────────────────────────────────────────────────────

    def _available(self) -> dict[str, tuple[str, float]]:
        """The ways of searching that work here; the others are named once, with the reason."""
        with self._lock:
            if self._ways is None:
                self._ways = self._found_ways()
            return self._ways

    def _found_ways(self) -> dict[str, tuple[str, float]]:
        settings = self._settings
        self._connections.get()
        wanted = {
            "full_text": (FULL_TEXT, settings.full_text_weight),
            "vector": (VECTOR, settings.vector_weight if settings.vector else 0.0),
            "trigram": (TRIGRAM, settings.trigram_weight),
        }
        reasons = {"vector": self._why_no_vectors(), "trigram": self._why_no_trigrams()}
        self.missing = {way: why for way, why in reasons.items() if why and wanted[way][1] > 0}
        for way, why in self.missing.items():
            _log.warning("%s: no %s search: %s", self.name(), way.replace("_", "-"), why)
        ways = {
            way: (statement, weight)
            for way, (statement, weight) in wanted.items()
            if weight > 0 and way not in self.missing
        }
        if not ways:
            raise EngineError(
                f"{self.name()}: no way of searching is left: {'; '.join(self.missing.values())}"
            )
        return ways

    def _why_no_vectors(self) -> str:
        if "vector" not in self._extensions:
            return "the extension vector (pgvector) is not installed in this database"
        return "" if self._embed is not None else "there is no embedder for queries"

    def _why_no_trigrams(self) -> str:
        if "pg_trgm" in self._extensions:
            return ""
        return "the extension pg_trgm is not installed in this database"

    def _rows(self, statement: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._connections.get().execute(statement, values).fetchall()
        return rows


def _prepare(settings: Settings, extensions: dict[str, str], connection: Any) -> None:
    """Note the extensions of the database and set the options of a connection. An approximate index
    gives no more than its own depth, which must be that of the settings."""
    found = connection.execute("SELECT extname, extversion FROM pg_extension").fetchall()
    extensions.update(found)
    options = {"statement_timeout": str(int(settings.timeout_s * 1000))}
    if "vector" in extensions:
        options["hnsw.ef_search"] = str(min(max(settings.depth, 40), 1000))
        if _version(extensions["vector"]) >= (0, 8):  # scans until enough rows meet the condition
            options["hnsw.iterative_scan"] = "strict_order"
            options["ivfflat.iterative_scan"] = "relaxed_order"
    if "pg_trgm" in extensions:
        options["pg_trgm.word_similarity_threshold"] = str(SIMILAR)
    for name, value in options.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))


SIMILAR = 0.3  # of the query's trigrams (taste); the operator's own 0.6 misses inflected Hebrew
# Conditions and orders are written so that indexes serve them: GIN on to_tsvector(CONFIG, text) or
# on a stored tsvector; GIN or GiST with trigram operators; HNSW or IVFFlat with vector_cosine_ops,
# which allow no second sort key. Any word of the query may match, as in every engine that ranks:
# the database's own operator would require all of them.
FULL_TEXT = """
WITH words AS (
  SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS wanted
  FROM unnest(to_tsvector({config}, %(query)s))
)
SELECT {id}::text AS id, ts_rank_cd({words}, wanted, 1) AS score, {title} FROM {table}, words
{where_and} {words} @@ wanted ORDER BY score DESC, id LIMIT %(depth)s"""
VECTOR = """
WITH nearest AS MATERIALIZED (
  SELECT {id}::text AS id, {vector} <=> %(vector)s::vector AS distance, {title} AS title
  FROM {table}
  {where_and} {vector} IS NOT NULL ORDER BY {vector} <=> %(vector)s::vector LIMIT %(depth)s
)
SELECT id, 1 - distance, title FROM nearest ORDER BY distance, id"""
TRIGRAM = """
SELECT {id}::text AS id, word_similarity(%(query)s, {trigram}) AS score, {title} FROM {table}
{where_and} %(query)s <%% {trigram} ORDER BY score DESC, id LIMIT %(depth)s"""


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(".") if word.isdecimal())


def _quoted(statement: str, settings: Settings, filters: Filters) -> str:
    """The statement with names as quoted identifiers. `where` is the team's own SQL. The
    configuration is a constant, since an index on to_tsvector is found by it."""
    config = f"'{settings.config.replace(chr(39), chr(39) * 2).replace('%', '%%')}'::regconfig"
    text = _identifier(settings.text)
    conditions = [f"({settings.where})"] if settings.where else []
    conditions += [
        f"{_identifier(field)}::text = ANY(%(filter_{at})s::text[])"
        for at, field in enumerate(filters)
    ]
    return statement.format(
        id=_identifier(settings.id),
        table=_identifier(settings.table),
        vector=_identifier(settings.vector),
        config=config,
        trigram=_identifier(settings.trigram) if settings.trigram else text,
        title=_identifier(settings.title) if settings.title else "''",
        words=_identifier(settings.tsvector)
        if settings.tsvector
        else f"to_tsvector({config}, {text})",
        where_and=f"WHERE {' AND '.join(conditions)} AND" if conditions else "WHERE",
    )


def _filter_values(filters: Filters) -> dict[str, object]:
    """The values of the filters; columns are compared as text, so that a year may be a number."""
    return {
        f"filter_{at}": [str(e).lower() if isinstance(e, bool) else str(e) for e in any_of(value)]
        for at, value in enumerate(filters.values())
    }


def _identifier(name: str) -> str:
    """A quoted name; a dot separates schema and table."""
    words = name.split(".")
    return ".".join('"' + word.replace('"', '""').replace("%", "%%") + '"' for word in words)


def _vector_text(vector: Iterable[float]) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, map(float, vector)))}]"


def fuse(ranked: dict[str, list[tuple[Any, ...]]], weights: dict[str, float], k: int) -> list[Hit]:
    """The hits of several rankings by reciprocal rank fusion: the sum of weight / (k + rank), ties
    by id. Rows are (id, score, title), the best first."""
    scores: dict[str, float] = {}
    places: dict[str, dict[str, dict[str, float]]] = {}
    titles: dict[str, str] = {}
    for way, rows in ranked.items():
        for rank, (doc_id, score, title) in enumerate(rows, start=1):
            scores[doc_id] = scores.get(doc_id, 0.0) + weights[way] / (k + rank)
            places.setdefault(doc_id, {})[way] = {"rank": rank, "score": float(score)}
            titles[doc_id] = title or ""
    ordered = sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id))
    return [
        Hit(doc_id=id, score=scores[id], title=titles[id], explanation=places[id]) for id in ordered
    ]


# ── a corpus that Assay loaded ────────────────────────────────────────────────────────────────────

BLOCK_DOCUMENTS = 20_000  # documents in one list of a term (taste)
BEST = """
SELECT held.row, sum(held.impact * asked.weight)::float8 AS score
FROM unnest(%(terms)s::text[], %(weights)s::real[]) AS asked(term, weight)
JOIN {terms} AS listed ON listed.term = asked.term,
LATERAL unnest(listed.rows, listed.impacts) AS held(row, impact)
{where} GROUP BY held.row ORDER BY score DESC, held.row LIMIT %(depth)s"""
NEAREST = """
SELECT row, -(embedding <#> %(vector)s::vector) FROM {table} {where}
ORDER BY embedding <#> %(vector)s::vector LIMIT %(depth)s"""


class PostgresCorpus:
    """Three tables that Assay loads a corpus into: TABLE has the documents with their vectors,
    TABLE_terms has for each term the documents that hold it and their impacts (Mühleisen et al.
    2014, "Old Dogs Are Great at New Tricks"), TABLE_about has the description. The list of a term
    is cut into blocks of documents, so that the table can be partitioned by them."""

    def __init__(self, name: str, table: PostgresTable) -> None:
        where = f"engines.{name}"
        if not table.table:
            raise InputError("name the table to load into", where=f"{where}.table")
        self._name, self._table = name, table
        self._documents, self._terms, self._about = (
            _identifier(f"{table.table}{end}") for end in ("", "_terms", "_about")
        )
        url = with_secrets(table.postgres, f"{where}.postgres")
        self._connections = ThreadConnections(url, f"{where}.postgres", _search_deep)
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        self._block = 0

    # ── loading ───────────────────────────────────────────────────────────────────────────────────

    def target(self) -> tuple[str, str, str]:
        return "table", self._table.table, "table"

    def exists(self) -> bool:
        return self._is_table(self._documents)

    def begin(self, about: LoadedCorpus) -> None:
        """In one transaction: until it ends, searches find what was there before."""
        vector = ""
        if about.dimensions:
            self._execute("CREATE EXTENSION IF NOT EXISTS vector")
            vector = f", embedding vector({about.dimensions})"
        self._execute("BEGIN")
        for name in (self._documents, self._terms, self._about):
            self._execute(f"DROP TABLE IF EXISTS {name}")
        self._execute(
            f"CREATE TABLE {self._documents} "
            f"(row int PRIMARY KEY, id text, title text, text text{vector})"
        )
        self._execute(
            f"CREATE TABLE {self._terms} (term text, block int, rows int[], impacts real[], "
            "PRIMARY KEY (term, block))"
        )
        self._execute(f"CREATE TABLE {self._about} (about text)")
        self._postings, self._block = {}, 0

    def add(self, documents: Sequence[LoadedDocument]) -> None:
        columns = ["row", "id", "title", "text"]
        columns += ["embedding"] if documents[0].vector is not None else []
        self._copy(self._documents, columns, map(_document_row, documents))
        for document in documents:
            if document.row // BLOCK_DOCUMENTS != self._block:
                self._write_postings()
                self._block = document.row // BLOCK_DOCUMENTS
            for term, impact in document.impacts.items():
                held = self._postings.setdefault(_no_nulls(term), (array("i"), array("f")))
                held[0].append(document.row)
                held[1].append(impact)

    def finish(self, about: LoadedCorpus) -> None:
        self._write_postings()
        if about.dimensions:
            self._execute(f"CREATE INDEX ON {self._documents} USING hnsw (embedding vector_ip_ops)")
        text = msgspec.json.encode(about).decode()
        self._execute(f"INSERT INTO {self._about} VALUES (%s)", (text,))
        self._execute("COMMIT")
        for name in (self._documents, self._terms):
            self._execute(f"ANALYZE {name}")

    def _write_postings(self) -> None:
        lists = (
            (term, self._block, rows.tolist(), impacts.tolist())
            for term, (rows, impacts) in self._postings.items()
        )
        self._copy(self._terms, ["term", "block", "rows", "impacts"], lists)
        self._postings = {}

    def about(self) -> LoadedCorpus | None:
        if not self._is_table(self._about):
            return None
        rows = self._rows(f"SELECT about FROM {self._about}")
        return msgspec.json.decode(rows[0][0], type=thread_safe(LoadedCorpus)) if rows else None

    # ── signals ───────────────────────────────────────────────────────────────────────────────────

    def best(
        self, field: str, terms: TermWeights, depth: int, among: Sequence[int] | None = None
    ) -> RowValues:
        where = "" if among is None else "WHERE held.row = ANY(%(among)s)"
        values = {
            "terms": list(map(_no_nulls, terms)),
            "weights": list(terms.values()),
            "depth": depth,
            "among": list(among or ()),
        }
        return dict(self._rows(BEST.format(terms=self._terms, where=where), values))

    def nearest(self, vector: Floats, depth: int, among: Sequence[int] | None = None) -> RowValues:
        where = "" if among is None else "WHERE row = ANY(%(among)s)"
        values = {"vector": _vector_text(vector), "depth": depth, "among": list(among or ())}
        return dict(self._rows(NEAREST.format(table=self._documents, where=where), values))

    def vectors(self, rows: Sequence[int]) -> dict[int, list[float]]:
        found = self._columns("embedding::text", rows)
        return {row: msgspec.json.decode(text) for row, text in found}

    def names(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        return {row: (id, title) for row, id, title in self._columns("id, title", rows)}

    def _columns(self, columns: str, rows: Sequence[int]) -> list[Any]:
        statement = f"SELECT row, {columns} FROM {self._documents} WHERE row = ANY(%s)"
        return self._rows(statement, (list(rows),))

    # ── statements ────────────────────────────────────────────────────────────────────────────────

    def _is_table(self, name: str) -> bool:
        return bool(self._rows("SELECT to_regclass(%s) IS NOT NULL", (name,))[0][0])

    def _copy(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        with self._connections.get().cursor().copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

    def _rows(self, statement: str, values: Any = None) -> list[Any]:
        return list(self._execute(statement, values).fetchall())

    def _execute(self, statement: str, values: Any = None) -> Any:
        try:
            return self._connections.get().execute(statement, values)
        except self._connections.driver.Error as error:
            secrets = values_of([self._table.postgres])
            raise EngineError(
                f"{self._name}: {without_secrets(first_line(error), secrets)}"
            ) from error


def _search_deep(connection: Any) -> None:
    """Let the approximate index look at more rows than are asked for."""
    connection.execute("SELECT set_config('hnsw.ef_search', '400', false)")


def _document_row(document: LoadedDocument) -> tuple[Any, ...]:
    texts = map(_no_nulls, (document.doc_id, document.title, document.text))
    vector = () if document.vector is None else (_vector_text(document.vector),)
    return (document.row, *texts, *vector)


def _no_nulls(text: str) -> str:
    """The text without null characters, which PostgreSQL cannot hold."""
    return text.replace("\0", " ")


# ── in assay.toml ─────────────────────────────────────────────────────────────────────────────────


def _team_engine(name: str, table: PostgresTable) -> PostgresEngine:
    places = {key: getattr(table, key) for key in PostgresPlaces.__struct_fields__}
    settings = Settings(url=with_secrets(table.postgres, f"engines.{name}.postgres"), **places)
    embed = partial(query_vector, table.encoder) if table.vector else None
    return PostgresEngine(settings, embed=embed, name=name)


def _check(table: PostgresTable) -> tuple[str, str]:
    if not table.table and not table.query:
        return "table", "name a table, or give a query of your own"
    if wrong := check_ranking(table.ranking):
        return wrong
    return check_encoder(table.encoder) if table.vector else ("", "")


POSTGRES = EngineKind(
    settings=PostgresTable, make=own_or_external_ranking("postgres", _team_engine), check=_check
)

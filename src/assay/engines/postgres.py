"""A search that lives in PostgreSQL: full text, pgvector and trigrams over one table, fused by
rank.

    from assay.engines.postgres import PostgresEngine, Settings engine =
    PostgresEngine(Settings(url="postgresql://…", table="case_law", text="body", config="english"))

Each way of searching that the database cannot do is left out and named in `engine.missing`; with
none left it is an error. A team whose production path has its own SQL gives that instead
(`Settings.query`), and gets exactly that path measured."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from assay.core import conninfo
from assay.core.errors import EngineError, InputError
from assay.core.extras import imported
from assay.core.types import Hit, SearchEngine
from assay.engines.connecting import EngineKind
from assay.engines.ranking import check_ranking, ranked
from assay.engines.secrets import filled
from assay.engines.templates import ROW
from assay.engines.vector_store import (
    ENCODER,
    Filters,
    any_of,
    check_encoded,
    query_vector,
)

_log = logging.getLogger("assay.engines")
T = TypeVar("T")
Embed = Callable[[str], Sequence[float]]


class Places(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the documents are. `config` is a text-search configuration of the database ("simple",
    "english", …); `tsvector` a stored column of words, where there is one; `vector` a pgvector
    column, used when there is an embedder; `trigram` the column that trigrams look at, by default
    the text; `where` a condition on the rows.

    `query` replaces all of it: one SELECT with %(query)s and %(top_k)s that returns id and,
    optionally, score, the best first. What the row of a gold set knows is there too: %(corpus)s,
    %(practice_area)s, %(language)s, %(as_of)s (null where it does not say) and %(filters)s, as
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


class Settings(Places, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same, with the address of the database."""

    url: str


class PostgresTable(Places, frozen=True, kw_only=True):
    """The same in assay.toml. `encoder` reads the question where there is a `vector`."""

    postgres: str
    encoder: str = ENCODER
    ranking: str = ""


class PostgresEngine(SearchEngine):
    """It may be asked from several threads: each has a connection of its own, so that none waits
    for another."""

    def __init__(self, settings: Settings, *, embed: Embed | None = None, name: str = "") -> None:
        psycopg = imported("psycopg", "PostgreSQL", "postgres")
        if not settings.table and not settings.query:
            raise InputError("the PostgreSQL engine needs a table or a query")
        self._psycopg, self._settings, self._embed = psycopg, settings, embed
        self._name = name or f"postgres:{settings.table or 'query'}"
        self._own = threading.local()  # the connection of a thread
        self._lock = threading.RLock()  # held while ways are found, which opens a connection
        self._open: list[Any] = []  # all connections; closed with the engine
        weakref.finalize(self, _close, self._open)
        self._extensions: dict[str, str] = {}
        self._ways: dict[str, tuple[str, float]] | None = None
        self.missing: dict[str, str] = {}

    def name(self) -> str:
        return self._name

    def search(
        self, query: str, top_k: int = 20, *, filters: Filters | None = None, **known: object
    ) -> list[Hit]:
        """`known` is what the row of a gold set knows, for a SELECT of your own."""
        return self._asked(lambda: self._search(query, top_k, filters or {}, known))

    def plans(self, query: str) -> dict[str, str]:
        """How the database would go about each way of searching: whether it uses your indexes."""

        def work() -> dict[str, str]:
            own = self._settings.query
            statements = {"query": own} if own else self._statements({})
            values = self._values(query, self._settings.depth) | self._known({}, {})
            return {
                way: "\n".join(line for (line,) in self._rows(f"EXPLAIN {statement}", values))
                for way, statement in statements.items()
            }

        return self._asked(work)

    def _asked(self, work: Callable[[], T]) -> T:
        try:
            try:
                return work()
            except self._psycopg.OperationalError:
                if (kept := getattr(self._own, "connection", None)) is not None:
                    kept.close()  # the server may have closed an idle connection
                return work()
        except self._psycopg.Error as error:
            raise EngineError(f"{self.name()}: {_first_line(error)}") from error

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
        if not hits and not self._rows(f"SELECT 1 FROM {_name(settings.table)} LIMIT 1", {}):
            raise EngineError(f"{self.name()}: the table {settings.table!r} has no rows")
        return hits

    def _statements(self, filters: Filters) -> dict[str, str]:
        ways = self._available()
        return {way: _quoted(text, self._settings, filters) for way, (text, _) in ways.items()}

    def _known(self, known: Mapping[str, object], filters: Filters) -> dict[str, object]:
        """For a SELECT of the team's own: what the row knows, and null for the rest."""
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
            values["vector"] = f"[{','.join(map(repr, map(float, self._embed(query))))}]"
        return values

    # ── what the database can do ──────────────────────────────────────────────────────────────────

    def _available(self) -> dict[str, tuple[str, float]]:
        """The ways of searching that work here; the others are named once, with the reason."""
        with self._lock:
            if self._ways is None:
                self._ways = self._found_ways()
            return self._ways

    def _found_ways(self) -> dict[str, tuple[str, float]]:
        settings = self._settings
        self._connection()
        extensions = self._extensions
        wanted = {
            "full_text": (FULL_TEXT, settings.full_text_weight, ""),
            "vector": (
                VECTOR,
                settings.vector_weight if settings.vector else 0.0,
                self._why_no_vectors(extensions),
            ),
            "trigram": (
                TRIGRAM,
                settings.trigram_weight,
                ""
                if "pg_trgm" in extensions
                else "the extension pg_trgm is not installed in this database",
            ),
        }
        self.missing = {way: why for way, (_, weight, why) in wanted.items() if why and weight > 0}
        for way, why in self.missing.items():
            _log.warning("%s: no %s search: %s", self.name(), way.replace("_", "-"), why)
        ways = {
            way: (statement, weight)
            for way, (statement, weight, why) in wanted.items()
            if weight > 0 and not why
        }
        if not ways:
            raise EngineError(
                f"{self.name()}: no way of searching is left: {'; '.join(self.missing.values())}"
            )
        return ways

    def _why_no_vectors(self, extensions: dict[str, str]) -> str:
        if "vector" not in extensions:
            return "the extension vector (pgvector) is not installed in this database"
        return "" if self._embed is not None else "there is no embedder for queries"

    def _rows(self, statement: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._connection().execute(statement, values).fetchall()
        return rows

    def _connection(self) -> Any:
        """This thread's. An approximate index gives no more than its own depth: it must be as deep
        as ours."""
        kept = getattr(self._own, "connection", None)
        if kept is not None and not kept.closed:
            return kept
        settings = self._settings
        given = conninfo.parts(settings.url, self.name()) | {"connect_timeout": "10"}
        self._own.connection = connection = self._psycopg.connect(**given, autocommit=True)
        with self._lock:
            self._open[:] = [connection, *(each for each in self._open if not each.closed)]
        self._extensions = dict(
            connection.execute("SELECT extname, extversion FROM pg_extension").fetchall()
        )
        options = {"statement_timeout": str(int(settings.timeout_s * 1000))}
        if "vector" in self._extensions:
            options["hnsw.ef_search"] = str(min(max(settings.depth, 40), 1000))
            if _version(self._extensions["vector"]) >= (
                0,
                8,
            ):  # goes on until enough rows meet the condition
                options |= {
                    "hnsw.iterative_scan": "strict_order",
                    "ivfflat.iterative_scan": "relaxed_order",
                }
        if "pg_trgm" in self._extensions:
            options["pg_trgm.word_similarity_threshold"] = str(SIMILAR)
        for name, value in options.items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        return connection


SIMILAR = 0.3  # of the query's trigrams; the operator's own threshold, 0.6, misses inflected Hebrew
# Conditions and orders are written as the indexes know them: GIN on to_tsvector(CONFIG, text) or on
# a stored tsvector;
# GIN or GiST with trigram operators; HNSW or IVFFlat with vector_cosine_ops, which no second sort
# key may follow.
# Any word of the query may match, as in every engine that ranks: the database's own operator would
# want all of them.
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
    """Names as identifiers, so that a name can be anything and means nothing else. `where` is the
    team's own SQL. The configuration is a constant, since an index on to_tsvector is found by
    it."""
    config = f"'{settings.config.replace(chr(39), chr(39) * 2).replace('%', '%%')}'::regconfig"
    text = _name(settings.text)
    conditions = [f"({settings.where})"] if settings.where else []
    conditions += [
        f"{_name(field)}::text = ANY(%(filter_{at})s::text[])" for at, field in enumerate(filters)
    ]
    return statement.format(
        id=_name(settings.id),
        table=_name(settings.table),
        vector=_name(settings.vector),
        config=config,
        trigram=_name(settings.trigram) if settings.trigram else text,
        title=_name(settings.title) if settings.title else "''",
        words=_name(settings.tsvector) if settings.tsvector else f"to_tsvector({config}, {text})",
        where_and=f"WHERE {' AND '.join(conditions)} AND" if conditions else "WHERE",
    )


def _filter_values(filters: Filters) -> dict[str, object]:
    """Columns are compared as text, so that a year may be a number or not."""
    return {
        f"filter_{at}": [str(e).lower() if isinstance(e, bool) else str(e) for e in any_of(value)]
        for at, value in enumerate(filters.values())
    }


def _name(name: str) -> str:
    """A dot places schema and table."""
    return ".".join(
        f'"{word.replace(chr(34), chr(34) * 2).replace("%", "%%")}"' for word in name.split(".")
    )


def fuse(ranked: dict[str, list[tuple[Any, ...]]], weights: dict[str, float], k: int) -> list[Hit]:
    """Reciprocal rank fusion: weight / (k + rank), summed; ties by id, so that the order is always
    the same. Rows are (id, score, title), the best first."""
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


def _close(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


# ── in assay.toml ─────────────────────────────────────────────────────────────────────────────────


def _made(name: str, table: PostgresTable) -> PostgresEngine:
    places = {key: getattr(table, key) for key in Places.__struct_fields__}
    settings = Settings(url=filled(table.postgres, f"engines.{name}.postgres"), **places)
    embed = partial(query_vector, table.encoder) if table.vector else None
    return PostgresEngine(settings, embed=embed, name=name)


def _check(table: PostgresTable) -> tuple[str, str]:
    if not table.table and not table.query:
        return "table", "name a table, or give a query of your own"
    if wrong := check_ranking(table.ranking):
        return wrong
    return check_encoded(table.encoder) if table.vector else ("", "")


POSTGRES = EngineKind(settings=PostgresTable, make=ranked("postgres", _made), check=_check)

"""A search that lives in PostgreSQL: full text, pgvector and trigrams over one table, fused by
rank.

    from assay.engines.postgres import PostgresEngine, Settings engine =
    PostgresEngine(Settings(url="postgresql://…", table="case_law", text="body", config="english"))

Each way of searching that the database cannot do is left out and named in `engine.missing`; with
none left it is an error. A team whose production path has its own SQL gives that instead
(`Settings.query`), and gets exactly that path measured."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
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
from assay.engines.vector_store import ENCODER, check_encoded, query_vector

_log = logging.getLogger("assay.engines")
T = TypeVar("T")
Embed = Callable[[str], Sequence[float]]


class Places(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the documents are. `config` is a text-search configuration of the database ("simple",
    "english", …); `tsvector` a stored column of words, where there is one; `vector` a pgvector
    column, used when there is an embedder; `trigram` the column that trigrams look at, by default
    the text; `where` a condition on the rows.

    `query` replaces all of it: one SELECT with %(query)s and %(top_k)s that returns id and,
    optionally, score, the best first."""

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
    def __init__(self, settings: Settings, *, embed: Embed | None = None, name: str = "") -> None:
        psycopg = imported("psycopg", "PostgreSQL", "postgres")
        if not settings.table and not settings.query:
            raise InputError("the PostgreSQL engine needs a table or a query")
        self._psycopg, self._settings, self._embed = psycopg, settings, embed
        self._name = name or f"postgres:{settings.table or 'query'}"
        self._open: list[Any] = []  # the connection, once there is one; closed with the engine
        weakref.finalize(self, _close, self._open)
        self._extensions: dict[str, str] = {}
        self._ways: dict[str, tuple[str, float]] | None = None
        self.missing: dict[str, str] = {}

    def name(self) -> str:
        return self._name

    def search(self, query: str, top_k: int = 20) -> list[Hit]:
        return self._asked(lambda: self._search(query, top_k))

    def plans(self, query: str) -> dict[str, str]:
        """How the database would go about each way of searching: whether it uses your indexes."""

        def work() -> dict[str, str]:
            own = self._settings.query
            ways = {"query": (own, 1.0)} if own else self._available()
            values = self._values(query, self._settings.depth)
            return {
                way: "\n".join(line for (line,) in self._rows(f"EXPLAIN {statement}", values))
                for way, (statement, _) in ways.items()
            }

        return self._asked(work)

    def _asked(self, work: Callable[[], T]) -> T:
        try:
            try:
                return work()
            except self._psycopg.OperationalError:
                _close(
                    self._open
                )  # the server may have closed an idle connection: once more on a new one
                return work()
        except self._psycopg.Error as error:
            raise EngineError(f"{self.name()}: {_first_line(error)}") from error

    def _search(self, query: str, top_k: int) -> list[Hit]:
        settings = self._settings
        if settings.query:
            return [
                Hit(
                    doc_id=str(row[0]),
                    score=float(row[1]) if len(row) > 1 and row[1] is not None else None,
                )
                for row in self._rows(settings.query, self._values(query, top_k))[:top_k]
            ]
        ways = self._available()
        values = self._values(query, top_k)
        ranked = {way: self._rows(statement, values) for way, (statement, _) in ways.items()}
        return fuse(ranked, {way: weight for way, (_, weight) in ways.items()}, settings.rrf_k)[
            :top_k
        ]

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
        if self._ways is not None:
            return self._ways
        settings = self._settings
        self._connect()
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
        self._ways = {
            way: (_quoted(statement, settings), weight)
            for way, (statement, weight, why) in wanted.items()
            if weight > 0 and not why
        }
        if not self._ways:
            raise EngineError(
                f"{self.name()}: no way of searching is left: {'; '.join(self.missing.values())}"
            )
        return self._ways

    def _why_no_vectors(self, extensions: dict[str, str]) -> str:
        if "vector" not in extensions:
            return "the extension vector (pgvector) is not installed in this database"
        return "" if self._embed is not None else "there is no embedder for queries"

    def _rows(self, statement: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
        self._connect()
        rows: list[tuple[Any, ...]] = self._open[0].execute(statement, values).fetchall()
        return rows

    def _connect(self) -> None:
        """An approximate index gives no more than its own depth: it must be as deep as ours."""
        if self._open:
            return
        settings = self._settings
        given = conninfo.parts(settings.url, self.name()) | {"connect_timeout": "10"}
        connection = self._psycopg.connect(**given, autocommit=True)
        self._open.append(connection)
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


def _quoted(statement: str, settings: Settings) -> str:
    """Names as identifiers, so that a name can be anything and means nothing else. `where` is the
    team's own SQL. The configuration is a constant, since an index on to_tsvector is found by
    it."""
    config = f"'{settings.config.replace(chr(39), chr(39) * 2).replace('%', '%%')}'::regconfig"
    text = _name(settings.text)
    return statement.format(
        id=_name(settings.id),
        table=_name(settings.table),
        vector=_name(settings.vector),
        config=config,
        trigram=_name(settings.trigram) if settings.trigram else text,
        title=_name(settings.title) if settings.title else "''",
        words=_name(settings.tsvector) if settings.tsvector else f"to_tsvector({config}, {text})",
        where_and=f"WHERE ({settings.where}) AND" if settings.where else "WHERE",
    )


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

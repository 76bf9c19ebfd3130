"""A search that lives in PostgreSQL: full text, pgvector and trigrams over one table, fused by rank.

    from assay.engines.postgres import PostgresEngine, Settings
    engine = PostgresEngine(Settings(url="postgresql://…", table="case_law", text="body", config="english"))

Each way of searching that the database cannot do is left out and named in `engine.missing`; with none left it is an
error. A team whose production path has its own SQL gives that instead (`Settings.query`), and gets exactly that path
measured.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from assay.errors import EngineError, InputError
from assay.types import Hit, SearchEngine

_log = logging.getLogger("assay.engines")
Embed = Callable[[str], Sequence[float]]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the documents are. `config` is a text-search configuration of the database ("simple", "english", …);
    `tsvector` a stored column of words, where there is one; `vector` a pgvector column, used when there is an embedder;
    `where` a condition on the rows.

    `query` replaces all of it: one SELECT with %(query)s and %(top_k)s that returns id and, optionally, score, the best
    first.
    """

    url: str
    table: str = ""
    id: str = "id"
    text: str = "text"
    title: str = ""
    vector: str = ""
    tsvector: str = ""
    config: str = "simple"
    where: str = ""
    query: str = ""
    depth: int = 100  # how deep each way of searching goes before fusion
    rrf_k: int = 60  # Cormack, Clarke and Büttcher 2009
    full_text_weight: float = 1.0
    vector_weight: float = 1.0
    trigram_weight: float = 0.5
    timeout_s: float = 30.0


class PostgresEngine(SearchEngine):
    def __init__(self, settings: Settings, *, embed: Embed | None = None) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise EngineError("PostgreSQL needs psycopg: pip install 'assay[postgres]'") from error
        if not settings.table and not settings.query:
            raise InputError("the PostgreSQL engine needs a table or a query")
        self._psycopg, self._settings, self._embed = psycopg, settings, embed
        self._open: list[Any] = []  # the connection, once there is one; closed with the engine
        weakref.finalize(self, _close, self._open)
        self._ways: dict[str, tuple[str, float]] | None = None
        self.missing: dict[str, str] = {}

    def name(self) -> str:
        return f"postgres:{self._settings.table or 'query'}"

    def search(self, query: str, top_k: int = 20) -> list[Hit]:
        try:
            return self._search(query, top_k)
        except self._psycopg.OperationalError:
            _close(self._open)  # the server may have closed an idle connection: once more on a new one
            try:
                return self._search(query, top_k)
            except self._psycopg.Error as error:
                raise EngineError(f"{self.name()}: {_first_line(error)}") from error
        except self._psycopg.Error as error:
            raise EngineError(f"{self.name()}: {_first_line(error)}") from error

    def _search(self, query: str, top_k: int) -> list[Hit]:
        query = query.replace("\0", "")
        if self._settings.query:
            return self._own_query(query, top_k)
        ways = self._available()
        settings = self._settings
        values: dict[str, Any] = {"query": query, "depth": max(settings.depth, top_k), "config": settings.config}
        if "vector" in ways and self._embed is not None:
            values["vector"] = f"[{','.join(map(repr, map(float, self._embed(query))))}]"
        ranked = {way: self._rows(statement, values) for way, (statement, _) in ways.items()}
        return self._titled(fuse(ranked, {way: weight for way, (_, weight) in ways.items()}, settings.rrf_k)[:top_k])

    def _own_query(self, query: str, top_k: int) -> list[Hit]:
        rows = self._rows(self._settings.query, {"query": query, "top_k": top_k})
        return [Hit(doc_id=str(row[0]), score=float(row[1]) if len(row) > 1 and row[1] is not None else None)
                for row in rows[:top_k]]  # fmt: skip

    def _titled(self, hits: list[Hit]) -> list[Hit]:
        settings = self._settings
        if not settings.title or not hits:
            return hits
        statement = _quoted("SELECT {id}::text, {title} FROM {table} WHERE {id}::text = ANY(%(ids)s)", settings)
        titles = dict(self._rows(statement, {"ids": [hit.doc_id for hit in hits]}))
        return [msgspec.structs.replace(hit, title=titles.get(hit.doc_id) or "") for hit in hits]

    # ── what the database can do ─────────────────────────────────────────────────────────────────────────────────────

    def _available(self) -> dict[str, tuple[str, float]]:
        """The ways of searching that work here; the others are named once, with the reason."""
        if self._ways is not None:
            return self._ways
        settings = self._settings
        extensions = {row[0] for row in self._rows("SELECT extname FROM pg_extension", {})}
        wanted = {
            "full_text": (FULL_TEXT, settings.full_text_weight, ""),
            "vector": (VECTOR, settings.vector_weight if settings.vector else 0.0, self._why_no_vectors(extensions)),
            "trigram": (TRIGRAM, settings.trigram_weight,
                        "" if "pg_trgm" in extensions else "the extension pg_trgm is not installed in this database"),
        }  # fmt: skip
        self.missing = {way: why for way, (_, weight, why) in wanted.items() if why and weight > 0}
        for way, why in self.missing.items():
            _log.warning("%s: no %s search: %s", self.name(), way.replace("_", "-"), why)
        self._ways = {way: (_quoted(statement, settings), weight)
                      for way, (statement, weight, why) in wanted.items() if weight > 0 and not why}  # fmt: skip
        if not self._ways:
            raise EngineError(f"{self.name()}: no way of searching is left: {'; '.join(self.missing.values())}")
        return self._ways

    def _why_no_vectors(self, extensions: set[str]) -> str:
        if "vector" not in extensions:
            return "the extension vector (pgvector) is not installed in this database"
        return "" if self._embed is not None else "there is no embedder for queries"

    def _rows(self, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        if not self._open:
            connection = self._psycopg.connect(self._settings.url, autocommit=True, connect_timeout=10)
            self._open.append(connection)
            connection.execute(f"SET statement_timeout = {int(self._settings.timeout_s * 1000)}")
        found: list[tuple[Any, ...]] = self._open[0].execute(statement, values).fetchall()
        return found


# Any word of the query may match, as in every engine that ranks: the database's own operator would want all of them.
FULL_TEXT = """
WITH words AS (
  SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS wanted
  FROM unnest(to_tsvector(%(config)s::regconfig, %(query)s))
), texts AS (
  SELECT {id}::text AS id, {words} AS words FROM {table} {where}
)
SELECT texts.id, ts_rank_cd(texts.words, wanted, 1) AS score FROM texts, words WHERE texts.words @@ wanted
ORDER BY score DESC, id LIMIT %(depth)s"""
WORDS = "to_tsvector(%(config)s::regconfig, coalesce({text}, ''))"
VECTOR = """
SELECT {id}::text AS id, 1 - ({vector} <=> %(vector)s::vector) AS score FROM {table} {where_and} {vector} IS NOT NULL
ORDER BY {vector} <=> %(vector)s::vector, {id} LIMIT %(depth)s"""
TRIGRAM = """
SELECT {id}::text AS id, word_similarity(%(query)s, {text}) AS score FROM {table} {where_and}
word_similarity(%(query)s, {text}) > 0.3 ORDER BY score DESC, {id} LIMIT %(depth)s"""


def _quoted(statement: str, settings: Settings) -> str:
    """Names as identifiers, so that a name can be anything and means nothing else. `where` is the team's own SQL."""
    names = {name: ".".join(f'"{part.replace(chr(34), chr(34) * 2)}"' for part in getattr(settings, name).split("."))
             for name in ("id", "text", "title", "vector", "table", "tsvector")}  # fmt: skip
    words = names["tsvector"] if settings.tsvector else WORDS.format(**names)
    condition = f"WHERE ({settings.where})" if settings.where else ""
    return statement.format(
        **names, words=words, where=condition, where_and=f"{condition} AND" if condition else "WHERE"
    )


def fuse(ranked: dict[str, list[tuple[Any, ...]]], weights: dict[str, float], k: int) -> list[Hit]:
    """Reciprocal rank fusion: weight / (k + rank), summed; ties by id, so that the order is always the same."""
    scores: dict[str, float] = {}
    parts: dict[str, dict[str, Any]] = {}
    for way, rows in ranked.items():
        for rank, (doc_id, score) in enumerate(rows, start=1):
            scores[doc_id] = scores.get(doc_id, 0.0) + weights[way] / (k + rank)
            parts.setdefault(doc_id, {})[way] = {"rank": rank, "score": float(score)}
    ordered = sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id))
    return [Hit(doc_id=doc_id, score=scores[doc_id], explanation=parts[doc_id]) for doc_id in ordered]


def _close(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

"""A corpus in PostgreSQL: any version, with pgvector where there are vectors.

Three tables: TABLE has the documents with their vectors (and can be searched by a plain `postgres`
table too), TABLE_terms has for each term the documents that hold it and what it adds to their score
(Mühleisen et al. 2014, "Old Dogs Are Great at New Tricks"), TABLE_about says what was loaded. A
list of a term is cut into blocks of documents, so that the table can be partitioned by them."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from assay.core import conninfo
from assay.core.errors import EngineError, InputError
from assay.core.extras import imported
from assay.engines.carried import About, Asked, LoadedRow, Values
from assay.engines.secrets import filled, hidden, values_of
from assay.search.arrays import Floats

BLOCK = 20_000  # documents of one list
BEST = """
SELECT held.row, sum(held.impact * asked.times)::float8 AS score
FROM unnest(%(terms)s::text[], %(times)s::real[]) AS asked(term, times)
JOIN {terms} AS listed ON listed.term = asked.term,
LATERAL unnest(listed.rows, listed.impacts) AS held(row, impact)
{where} GROUP BY held.row ORDER BY score DESC, held.row LIMIT %(depth)s"""
NEAREST = """
SELECT row, -(embedding <#> %(vector)s::vector) FROM {table} {where}
ORDER BY embedding <#> %(vector)s::vector LIMIT %(depth)s"""


class PostgresCarrier:
    def __init__(self, name: str, url: str, table: str) -> None:
        self._name = name
        self._url = url
        self._table = table
        self._own = threading.local()  # a connection a thread, so that none waits for another
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        self._block = 0

    # ── loading ───────────────────────────────────────────────────────────────────────────────────

    def begin(self, about: About) -> None:
        """In one transaction: whoever asks meanwhile gets what was there before."""
        names = [self._quoted(end) for end in ("", "_terms", "_about")]
        there = self._rows("SELECT to_regclass(%s) IS NOT NULL", (names[0],))[0][0]
        if there and self.about() is None:
            raise InputError(
                f"there is a table {self._table!r} already, and it was not loaded from here",
                where=f"engines.{self._name}.table",
                hint="Name another table: it is made, and made anew each time.",
            )
        vector = ""
        if about.dimensions:
            self._execute("CREATE EXTENSION IF NOT EXISTS vector")
            vector = f", embedding vector({about.dimensions})"
        self._execute("BEGIN")
        for name in names:
            self._execute(f"DROP TABLE IF EXISTS {name}")
        self._execute(
            f"CREATE TABLE {names[0]} (row int PRIMARY KEY, id text, title text, text text{vector})"
        )
        self._execute(
            f"CREATE TABLE {names[1]} (term text, block int, rows int[], impacts real[], "
            "PRIMARY KEY (term, block))"
        )
        self._execute(f"CREATE TABLE {names[2]} (about text)")
        self._postings, self._block = {}, 0

    def add(self, rows: Sequence[LoadedRow]) -> None:
        columns = "row, id, title, text" + (", embedding" if rows[0].vector is not None else "")
        with self._open().cursor().copy(f"COPY {self._quoted('')} ({columns}) FROM STDIN") as copy:
            for row in rows:
                texts = (text.replace("\0", " ") for text in (row.doc_id, row.title, row.text))
                vector = () if row.vector is None else (_vector(row.vector),)
                copy.write_row((row.row, *texts, *vector))
        for row in rows:
            if row.row // BLOCK != self._block:
                self._write_postings()
                self._block = row.row // BLOCK
            for term, impact in row.impacts.items():
                held = self._postings.setdefault(term.replace("\0", " "), (array("i"), array("f")))
                held[0].append(row.row)
                held[1].append(impact)

    def finish(self, about: About) -> None:
        self._write_postings()
        if about.dimensions:
            self._execute(
                f"CREATE INDEX ON {self._quoted('')} USING hnsw (embedding vector_ip_ops)"
            )
        text = msgspec.json.encode(about).decode()
        self._execute(f"INSERT INTO {self._quoted('_about')} VALUES (%s)", (text,))
        self._execute("COMMIT")
        for end in ("", "_terms"):
            self._execute(f"ANALYZE {self._quoted(end)}")

    def _write_postings(self) -> None:
        with (
            self._open()
            .cursor()
            .copy(f"COPY {self._quoted('_terms')} (term, block, rows, impacts) FROM STDIN") as copy
        ):
            for term, (rows, impacts) in self._postings.items():
                copy.write_row((term, self._block, rows.tolist(), impacts.tolist()))
        self._postings = {}

    # ── asking ────────────────────────────────────────────────────────────────────────────────────

    def about(self) -> About | None:
        name = self._quoted("_about")
        if not self._rows("SELECT to_regclass(%s) IS NOT NULL", (name,))[0][0]:
            return None
        rows = self._rows(f"SELECT about FROM {name}", ())
        return msgspec.json.decode(rows[0][0], type=About) if rows else None

    def best(
        self, field: str, asked: Asked, depth: int, among: Sequence[int] | None = None
    ) -> Values:
        statement = BEST.format(
            terms=self._quoted("_terms"),
            where="" if among is None else "WHERE held.row = ANY(%(among)s)",
        )
        values = {
            "terms": [term.replace("\0", " ") for term in asked],
            "times": list(asked.values()),
            "depth": depth,
            "among": list(among or ()),
        }
        return dict(self._rows(statement, values))

    def nearest(self, vector: Floats, depth: int, among: Sequence[int] | None = None) -> Values:
        where = "" if among is None else "WHERE row = ANY(%(among)s)"
        statement = NEAREST.format(table=self._quoted(""), where=where)
        values = {"vector": _vector(vector), "depth": depth, "among": list(among or ())}
        return dict(self._rows(statement, values))

    def vectors(self, rows: Sequence[int]) -> Floats:
        statement = f"SELECT row, embedding::text FROM {self._quoted('')} WHERE row = ANY(%s)"
        found = {
            row: msgspec.json.decode(text) for row, text in self._rows(statement, (list(rows),))
        }
        return np.array([found[row] for row in rows], np.float32)

    def shown(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        statement = f"SELECT row, id, title FROM {self._quoted('')} WHERE row = ANY(%s)"
        return {row: (id, title) for row, id, title in self._rows(statement, (list(rows),))}

    # ── the connection ────────────────────────────────────────────────────────────────────────────

    def _open(self) -> Any:
        kept = getattr(self._own, "connection", None)
        if kept is not None and not kept.closed:
            return kept
        psycopg = imported("psycopg", "PostgreSQL", "postgres")
        where = f"engines.{self._name}.postgres"
        given = conninfo.parts(filled(self._url, where), where) | {"connect_timeout": "10"}
        try:
            self._own.connection = psycopg.connect(**given, autocommit=True)
            self._own.connection.execute("SELECT set_config('hnsw.ef_search', '400', false)")
        except psycopg.Error as error:
            raise self._failed(error) from error
        return self._own.connection

    def _rows(self, statement: str, values: Any) -> list[Any]:
        return list(self._run(statement, values).fetchall())

    def _execute(self, statement: str, values: Any = None) -> None:
        self._run(statement, values)

    def _run(self, statement: str, values: Any) -> Any:
        connection = self._open()
        psycopg = imported("psycopg", "PostgreSQL", "postgres")
        try:
            return connection.execute(statement, values)
        except psycopg.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> EngineError:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return EngineError(f"{self._name}: {hidden(said, values_of([self._url]))}")

    def _quoted(self, end: str) -> str:
        words = f"{self._table}{end}".split(".")
        return ".".join('"' + word.replace('"', '""').replace("%", "%%") + '"' for word in words)


def _vector(vector: Floats) -> str:
    return f"[{','.join(map(repr, map(float, vector)))}]"


def carrier(name: str, table: Any) -> PostgresCarrier:
    if not table.table:
        raise InputError("name the table to load into", where=f"engines.{name}.table")
    return PostgresCarrier(name, table.postgres, table.table)

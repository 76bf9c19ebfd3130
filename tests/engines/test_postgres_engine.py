"""The engine inside PostgreSQL, on a real server with pgvector and without pg_trgm."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from assay.core.errors import EngineError, InputError
from assay.core.types import Query
from assay.engines.calling import ask_all
from assay.engines.postgres import PostgresEngine, Settings, fuse

psycopg = pytest.importorskip("psycopg", reason="needs the package psycopg[binary]")

ROWS = [
    ("a", "Gift limits", "An official may not accept gifts above the limit.", [1, 0, 0]),
    (
        "b",
        "Recusal",
        "A commissioner must leave the room when the hearing concerns her home.",
        [0, 1, 0],
    ),
    (
        "c",
        "Gift of tickets",
        "Tickets are a gift; the limit applies to their face value.",
        [0.9, 0.1, 0],
    ),
    ("d", "היטל השבחה", "היטל השבחה ישולם במועד המימוש", [0, 0, 1]),
    ("e", "No text", None, None),
]


def embed(query: str) -> list[float]:
    return [1.0, 0.0, 0.0] if "gift" in query else [0.0, 0.0, 1.0]


@pytest.fixture
def url(postgres_url: str) -> str:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            'CREATE TABLE "case law" (id text, title text, body text, embedding vector(3))'
        )
        for id, title, body, vector in ROWS:
            connection.execute(
                'INSERT INTO "case law" VALUES (%s, %s, %s, %s)',
                (id, title, body, vector and str(vector)),
            )
    return postgres_url


def engine(url: str, *, embedder: Any = None, **settings: Any) -> PostgresEngine:
    return PostgresEngine(
        Settings(**{"url": url, "table": "case law", "text": "body", **settings}), embed=embedder
    )


def test_full_text_any_word_of_the_query(url: str) -> None:
    hits = engine(url, config="english", title="title").search(
        "what is the limit on a gift of tickets", 5
    )
    assert [hit.doc_id for hit in hits] == ["c", "a"]
    assert hits[0].title == "Gift of tickets"
    assert hits[0].explanation["full_text"]["rank"] == 1
    assert [hit.doc_id for hit in engine(url).search("היטל", 5)] == ["d"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            'ALTER TABLE "case law" ADD words tsvector '
            "GENERATED ALWAYS AS (to_tsvector('english', coalesce(body, ''))) STORED"
        )
    stored = engine(url, config="english", tsvector="words", title="title")
    assert stored.search("what is the limit on a gift of tickets", 5) == hits


def test_vectors_join_in(url: str) -> None:
    made = engine(url, embedder=embed, vector="embedding", config="english")
    hits = made.search("gifts", 3)
    assert [hit.doc_id for hit in hits][:2] == ["a", "c"]
    assert set(hits[0].explanation) == {"full_text", "vector"}
    assert made.search("gifts", 3) == hits


def test_what_the_database_lacks_is_named(url: str, caplog: pytest.LogCaptureFixture) -> None:
    made = engine(url)
    with caplog.at_level(logging.WARNING):
        made.search("gift", 3)
        made.search("gift", 3)
    assert made.missing["trigram"] == "the extension pg_trgm is not installed in this database"
    assert caplog.text.count("no trigram search") == 1
    with pytest.raises(EngineError, match=r"no way of searching is left: .*pg_trgm"):
        engine(url, full_text_weight=0).search("gift")


def test_a_condition_and_a_query_of_the_teams_own(url: str) -> None:
    assert [
        hit.doc_id
        for hit in engine(url, where="id <> 'c'", config="english").search("gift limit", 5)
    ] == ["a"]
    own = (
        "SELECT id, length(body) FROM \"case law\" WHERE body ILIKE '%%' || %(query)s || '%%' "
        "ORDER BY 2 DESC"
    )
    hits = PostgresEngine(Settings(url=url, query=own)).search("limit", 1)
    assert [(hit.doc_id, hit.score) for hit in hits] == [("c", 58.0)]


@pytest.mark.parametrize(
    "query", ["", '\'; DROP TABLE "case law"; --', "a\0b", "& | ! ( :*", "%s %(x)s", "x" * 5000]
)
def test_any_text_is_only_text(url: str, query: str) -> None:
    assert isinstance(engine(url, embedder=embed, vector="embedding").search(query, 3), list)
    assert engine(url, config="english").search("gift", 1)


def test_it_comes_back_after_a_broken_connection(url: str) -> None:
    made = engine(url, config="english")
    made.search("gift", 1)
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND datname = current_database()"
        )
    assert made.search("gift", 1)


@pytest.fixture
def large(postgres_url: str) -> str:
    """12,000 documents with the indexes that docs/logs-to-gold.md names."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for statement in (
            "CREATE EXTENSION vector",
            "CREATE TABLE case_law AS SELECT 'd' || n AS id, 'word' || n % 3000 || ' ' || "
            "md5(n::text) AS body, "
            "n % 2 AS open, ARRAY[sin(n), cos(n), sin(2 * n), cos(3 * n)]::vector(4) AS embedding "
            "FROM generate_series(1, 12000) n",
            "CREATE INDEX by_words ON case_law USING gin (to_tsvector('simple', body))",
            "CREATE INDEX by_vector ON case_law USING hnsw (embedding vector_cosine_ops)",
            "ANALYZE case_law",
        ):
            connection.execute(statement)
    return postgres_url


def test_indexes_are_used_and_give_all_that_is_asked_for(large: str) -> None:
    def made(**more: Any) -> PostgresEngine:
        settings = Settings(url=large, table="case_law", text="body", vector="embedding", **more)
        return PostgresEngine(settings, embed=lambda query: [0.1, 0.9, 0.3, 0.2])

    plans = made().plans("word17")
    assert "Index Scan on by_words" in plans["full_text"]
    assert "Index Scan using by_vector" in plans["vector"]
    assert len(made(full_text_weight=0, depth=300).search("x", 300)) == 300, (
        "the index stops at 40 by itself"
    )
    hits = made(full_text_weight=0, where="open = 1").search("x", 100)
    assert len(hits) == 100, "the condition does not eat what the index found"
    own = made(
        query="SELECT id FROM case_law WHERE to_tsvector('simple', body) @@ to_tsquery('simple', "
        "%(query)s)"
    )
    assert "by_words" in own.plans("word17")["query"]
    assert len(own.search("word17", 9)) == 4
    with pytest.raises(EngineError, match="does not exist"):
        engine(large, table="nowhere").plans("gift")


def test_errors(url: str) -> None:
    with pytest.raises(EngineError, match="does not exist"):
        engine(url, table="nowhere").search("gift")
    with pytest.raises(EngineError, match="postgres:case law"):
        engine("postgresql://127.0.0.1:1/x").search("gift")
    with pytest.raises(InputError, match="needs a table or a query"):
        PostgresEngine(Settings(url=url))


def test_fusion() -> None:
    hits = fuse(
        {"x": [("a", 2.0, "A"), ("b", 1.0, None)], "y": [("b", 9.0, None)]},
        {"x": 1.0, "y": 0.5},
        60,
    )
    assert [(hit.doc_id, round(hit.score or 0, 6)) for hit in hits] == [
        ("b", round(1 / 62 + 0.5 / 61, 6)),
        ("a", round(1 / 61, 6)),
    ]


def test_every_thread_has_a_connection_of_its_own(url: str) -> None:
    """Questions asked at once would wait for one another on one, and their time be the queue's."""
    made = engine(url, query="SELECT pg_backend_pid(), 1.0 WHERE %(query)s <> ''")
    at_once = threading.Barrier(3)

    def ask(query: str) -> str:
        at_once.wait(30)
        return made.search(query, 1)[0].doc_id

    with ThreadPoolExecutor(3) as threads:
        assert len(set(threads.map(ask, ["a", "b", "c"]))) == 3


def test_the_filters_of_a_row_are_conditions(url: str) -> None:
    made = engine(url, config="english", embedder=embed, vector="embedding", where="id <> 'd'")
    found = {
        title: {hit.doc_id for hit in made.search("gift limit", 9, filters={"title": title})}
        for title in ("Gift limits", ("Gift limits", "Recusal"), "'; DROP TABLE x; --")
    }
    assert list(found.values()) == [{"a"}, {"a", "b"}, set()]
    with pytest.raises(EngineError, match='column "court" does not exist'):
        made.search("gift", 9, filters={"court": "kho"})


def test_a_select_of_your_own_may_use_what_the_row_knows(url: str) -> None:
    own = "SELECT %(corpus)s || coalesce(%(language)s, '-') || coalesce(%(filters)s, '-'), 1.0"
    made = engine(url, query=f"{own} WHERE %(query)s <> ''")
    row = Query(id="q1", text="gift", corpus="acts", extra={"filters": {"year": 2024}})
    _, (answer,) = ask_all(made, [row], top_k=3)
    assert [hit.doc_id for hit in answer.hits] == ['acts-{"year":2024}']


def test_an_empty_table_is_no_answer(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare (id text, body text)")
    with pytest.raises(EngineError, match="the table 'bare' has no rows"):
        engine(url, table="bare").search("gift")
    assert engine(url, config="english").search("zebra") == []

"""What no command and no page shows: migrations against tables, what an upgrade reads of an older
store, and how connections write to the disk."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, event, inspect, text

from assay.store import StoreUnavailable, legacy, migrate, open_store
from assay.store.database import connect, write
from assay.store.tables import LEGACY, metadata
from kit import Project


def test_migrations_make_the_tables_and_take_them_away(store_url: str) -> None:
    engine = connect(store_url)
    for _ in range(2):
        migrate.upgrade(engine)
        with engine.connect() as connection:
            options = {"compare_type": _same_type, "include_name": _is_current}
            context = MigrationContext.configure(connection, opts=options)
            assert compare_metadata(context, metadata) == []
        assert set(LEGACY) < set(inspect(engine).get_table_names())
        migrate.downgrade(engine)
        assert set(inspect(engine).get_table_names()) == {"alembic_version"}
    engine.dispose()


def _same_type(
    _context: object, _column: object, _meta: object, found: object, declared: object
) -> bool | None:
    return None if type(found) is type(getattr(declared, "impl", declared)) else False


def _is_current(name: str | None, kind: str, _parents: object) -> bool:
    return kind != "table" or name not in LEGACY


INSERTS = """
INSERT INTO gold_sets VALUES ('./s.json', 's');
INSERT INTO issued_ids VALUES ('s', 'k1', 'g001'), ('other', 'k1', 'g009');
INSERT INTO review_items VALUES ('i1', 's', 'gold_row', 'k1', 'g001', 'q', '2026-05-31 12:00:00',
 'c', 'p', '["a", "b"]', 2, 'because', 'agent', 'approved', '2026-06-01 12:00:00', 'dana', 'so');
INSERT INTO review_items VALUES ('i2', 'other', 'gold_row', 'k1', 'g1', 'q', '2026-05-31 12:00:00',
 '', '', '[]', NULL, '', '', 'pending_review', NULL, '', '');
INSERT INTO audit_trail VALUES ('3', '2026-06-03', 'dana', 'review.approved', 's/g001', 'so',
 '{"x": 1}', NULL), ('1', '2026-06-01', 'dana', 'flag query', 's/q1', '', NULL, NULL),
 ('2', '2026-06-02', 'dana', 'gold.ruled', 's', '', NULL, NULL),
 ('4', '2026-06-02', 'dana', 'gold.ruled', 'S/q1', '', NULL, NULL),
 ('5', '2026-06-02', 'dana', 'people.joined', 's', '', NULL, NULL),
 ('6', '2026-06-02', 'dana', 'gold.ruled', 'sets/q1', '', NULL, NULL)
"""


def test_what_an_upgrade_reads_of_an_older_store(store_url: str) -> None:
    """Votes of schema 0002 have no kind, and a rationale that nobody wrote is none."""
    engine = connect(store_url)
    migrate.upgrade(engine)
    migrate.downgrade(engine, "0002")
    with engine.begin() as connection:
        for n, wrote in enumerate(("on point", "accepted")):
            connection.execute(
                text(
                    "INSERT INTO judgments (id, gold, query_id, doc_id, grade, judge, at, "
                    "rationale, source, rubric, supersedes) VALUES (:id, 's', 'q', 'd', 1, 'ada', "
                    "'2026-05-31 12:00:00', :wrote, '', '', '')"
                ),
                {"id": f"v{n}", "wrote": wrote},
            )
        for statement in INSERTS.split(";"):
            connection.exec_driver_sql(statement)
    engine.dispose()
    store = open_store(store_url)
    assert [(vote.rationale, vote.kind, vote.at[:19]) for vote in legacy.votes(store, "s")] == [
        ("on point", "human", "2026-05-31T12:00:00"),
        ("", "human", "2026-05-31T12:00:00"),
    ]
    known = {"./s.json": "s", "./other.jsonl": "other"}  # the second as the first versions had it
    assert legacy.identities(store) == known
    assert legacy.issued_ids(store, "s") == {"k1": "g001"}
    (item,) = legacy.review_items(store, "s")
    assert (item["ref"], item["doc_ids"], item["grade"], item["state"]) == (
        "g001",
        ["a", "b"],
        2,
        "approved",
    )
    assert item["decided_at"] == datetime(2026, 6, 1, 12, tzinfo=UTC)
    entries = legacy.audit(store, "s")
    assert [entry.id for entry in entries] == ["1", "2", "3"]
    assert entries[2].before == {"x": 1}
    assert legacy.votes(store, "none") == legacy.review_items(store, "none") == []
    with store._engine.begin() as connection:
        for table in LEGACY:
            connection.exec_driver_sql(f"DROP TABLE {table}")
    nothing = (legacy.identities(store), legacy.issued_ids(store, "s"), legacy.votes(store, "s"))
    assert (*nothing, legacy.review_items(store, "s")) == ({}, {}, [], [])
    store.close()


def test_short_names_come_back_with_an_older_schema(store_url: str) -> None:
    engine = connect(store_url)
    migrate.upgrade(engine)
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.exec_driver_sql("INSERT INTO gold_sets VALUES ('./eval/s.json', 's')")
        for gold in ("eval/s.json", "unknown"):
            connection.exec_driver_sql(
                "INSERT INTO runs (id, at, engine, gold, gold_fingerprint, corpus_fingerprint, "
                f"results) VALUES ('{gold}', '2026-05-31', 'e', '{gold}', '', '', '{{}}')"
            )
    migrate.downgrade(engine, "0004")
    with engine.connect() as connection:
        golds = connection.execute(text("SELECT gold FROM runs ORDER BY gold")).scalars().all()
    assert golds == ["s", "unknown"]
    engine.dispose()


def test_what_is_committed_is_on_the_disk(tmp_path: Path) -> None:
    engine = connect(tmp_path / "assay.db")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    engine.dispose()


def test_a_write_that_ends_in_a_moved_file_is_not_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "assay.db"
    store = open_store(path)
    with pytest.raises(StoreUnavailable, match="the database is gone"):
        write(store._engine, lambda connection: path.rename(tmp_path / "elsewhere.db"))
    store.close()


def test_the_first_approval_of_a_set_asks_the_store_three_times(tmp_path: Path) -> None:
    """Whose session it is, which schema the store has, and which sets an earlier version knew;
    from the second approval on only the first."""
    project = Project.make(tmp_path / "project")
    project.write_rows({"g001": "first", "g002": "second"})
    asked: list[str] = []

    def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement != "BEGIN":
            asked.append(statement)

    counts = []
    with project.serve(accounts=True) as server:
        chair = server.join(project.do("people", "invite", "Dafna", "chair").out, "Dafna")
        items = [chair.id("g001"), chair.id("g002")]
        event.listen(Engine, "before_cursor_execute", count)
        try:
            for item in items:
                asked.clear()
                chair.send(f"/api/review/{item}/approve", reason="right")
                counts.append(len(asked))
        finally:
            event.remove(Engine, "before_cursor_execute", count)
    assert counts == [3, 1], asked

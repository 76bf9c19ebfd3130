"""Opening, migrating, and being refused."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from assay.core.errors import InputError
from assay.store import StoreError, StoreUnavailable, migrate, open_store
from assay.store.database import connect
from assay.store.tables import metadata


def test_migrations_make_the_tables_and_take_them_away(store_url: str) -> None:
    engine = connect(store_url)
    for _ in range(2):
        migrate.upgrade(engine)
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": _same_type})
            assert compare_metadata(context, metadata) == []
        migrate.downgrade(engine)
        assert set(inspect(engine).get_table_names()) == {"alembic_version"}
    engine.dispose()


def test_votes_of_an_older_store_are_kept_without_words_that_nobody_wrote(store_url: str) -> None:
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
    engine.dispose()
    store = open_store(store_url)
    votes = store.votes("s")
    assert [(vote.rationale, vote.kind, vote.at[:19]) for vote in votes] == [
        ("on point", "human", "2026-05-31T12:00:00"),
        ("", "human", "2026-05-31T12:00:00"),
    ]
    store.close()


def test_the_last_migration_is_the_schema_that_is_wanted() -> None:
    """A file is named NUMBER_what.py by its revision: HEAD is read from the names."""
    folder = Path(migrate.__file__).parent / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    numbers = [script.revision for script in scripts.walk_revisions()]
    files = (folder / "versions").glob("[0-9]*.py")
    assert sorted(numbers) == sorted(path.name.partition("_")[0] for path in files)
    assert len({len(number) for number in numbers}) == 1, "the highest is found by sorting"
    assert scripts.get_heads() == [migrate.HEAD]


def _same_type(
    _context: object, _column: object, _meta: object, found: object, declared: object
) -> bool | None:
    return None if type(found) is type(getattr(declared, "impl", declared)) else False


def test_many_open_a_new_store_at_once(store_url: str) -> None:
    def open_and_close(_: int) -> str:
        store = open_store(store_url)
        schema: str = store.health().schema
        store.close()
        return schema

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(open_and_close, range(8))) == [migrate.HEAD] * 8


def test_a_store_of_a_newer_assay_is_refused(store_url: str) -> None:
    open_store(store_url).close()
    engine = connect(store_url)
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StoreError, match="newer than this Assay"):
        open_store(store_url)


def test_sqlite_is_one_file_with_a_write_ahead_log(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "50%" / "assay.db"
    open_store(path).close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("postgresql://user:secret@127.0.0.1:1/none", StoreUnavailable, "refused"),
        (
            "mysql://user:secret@host/db",
            InputError,
            r"no store on 'mysql'(?s:.*)sqlite:///FILE or postgresql://",
        ),
        ("sqlite://", InputError, "in-memory"),
        ("/proc/nowhere/assay.db", StoreUnavailable, "/proc/nowhere"),
    ],
)
def test_what_cannot_be_opened(target: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        open_store(target)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(
        "this is not a database, it is a long enough text file\n" * 100
    )
    with pytest.raises(InputError, match="not a database"):
        open_store(tmp_path / "notes.txt")


def test_reading_does_not_make_a_store(store_url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store here"):
        open_store(store_url, create=False)
    made = open_store(store_url)
    assert made.created
    made.close()
    again = open_store(store_url, create=False)
    assert not again.created
    again.close()
    with pytest.raises(InputError, match="is a folder"):
        open_store(tmp_path)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "theirs.db") as connection:
        connection.execute("CREATE TABLE customers (id INTEGER)")
    connection.close()
    with pytest.raises(InputError, match="another program, with tables customers"):
        open_store(tmp_path / "theirs.db")

"""Bringing a store's schema up to date, from any number of processes at once.

A migration is one file, `migrations/versions/NUMBER_what.py`, with the same number as its
`revision`. The highest number is the schema that this Assay wants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from assay.core.errors import InputError
from assay.store.database import MIGRATION_LOCK, address, lock, missing, read, write
from assay.store.errors import StoreError
from assay.store.tables import LEGACY, metadata

if TYPE_CHECKING:
    from alembic.config import Config

_FOLDER = Path(__file__).parent / "migrations"
# By the names of the files: a store that is up to date is opened without loading Alembic.
SCHEMAS = sorted(path.name.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*_*.py"))
HEAD = SCHEMAS[-1]


def upgrade(engine: Engine, *, create: bool = True) -> bool:
    """Run the migrations a store lacks; True when there was no store before. Alembic is loaded only
    when there is something to do."""
    now = read(engine, revision)
    if now == HEAD:
        return False
    if now is None and not create:
        raise missing(address(engine))
    if (
        now is None
        and engine.dialect.name == "sqlite"
        and (tables := read(engine, _foreign_tables))
    ):
        raise InputError(
            f"not a store: a database of another program, with tables {', '.join(tables[:3])}",
            where=address(engine),
            hint="Give a file that does not exist yet.",
        )
    write(engine, lambda connection: _migrate(connection, "head"))
    return now is None


def _foreign_tables(connection: Connection) -> list[str]:
    ours = {*metadata.tables, *LEGACY, "alembic_version"}
    return sorted(set(inspect(connection).get_table_names()) - ours)


def downgrade(engine: Engine, to: str = "base") -> None:
    write(engine, lambda connection: _migrate(connection, to))


def revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    asked = text("SELECT version_num FROM alembic_version")
    number: str | None = connection.execute(asked).scalar()
    return number


def create_at(connection: Connection, schema: str) -> None:
    """An empty store as it was at an earlier schema, for what a backup of that time has."""
    from alembic import command

    lock(connection, MIGRATION_LOCK)
    command.upgrade(_alembic(connection), schema)


def _alembic(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _migrate(connection: Connection, to: str) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory

    lock(connection, MIGRATION_LOCK)
    now = revision(connection)  # again, under the lock: another process may have been first
    if to == "head" and now == HEAD:
        return
    config = _alembic(connection)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if now is not None and now not in known:
        raise StoreError(
            f"the store has schema {now!r}, newer than this Assay ({HEAD}): upgrade Assay"
        )
    (command.upgrade if to == "head" else command.downgrade)(config, to)

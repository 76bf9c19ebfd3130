"""Connections and transactions: what differs between SQLite and PostgreSQL, and what happens when
they are busy.

SQLite: write-ahead log, so that readers never wait; every write takes the write lock at BEGIN, so
that no transaction fails half-way because another one got there first; and a busy answer is tried
again, never shown to the caller."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

import msgspec
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Executable,
    Table,
    bindparam,
    create_engine,
    event,
    exc,
    make_url,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite

from assay.core import conninfo
from assay.core.errors import InputError
from assay.core.extras import require_extra
from assay.core.files import resolved, sync_folder
from assay.core.redaction import without_password
from assay.store.records import NoStore, StoreError, StoreOutdated, StoreReadOnly, StoreUnavailable
from assay.store.tables import CleanText

T = TypeVar("T")
P = ParamSpec("P")

SUPPORTED = "A store is a file path, sqlite:///FILE or postgresql://USER@HOST/DATABASE."
BUSY_MILLIS = 10_000  # how long SQLite waits for a lock before it says that it is busy; chosen
ROOM = 2**20  # bytes that a disk must have for a store to be opened; about what SQLite needs
RETRY_SECONDS = 120.0  # how long a busy store is tried again; taste
_FILE = "assay_file"  # of a connection: which file it has open
# States of PostgreSQL.
CONTENTION, UNDEFINED, READ_ONLY = ("40001", "40P01", "55P03"), ("42P01", "42703"), "25006"
NOT_ALLOWED = "42501"
LOG, SHARED = "-wal", "-shm"  # what SQLite keeps beside a file
# Advisory locks of PostgreSQL, from "assa" in ASCII on. Writers of search logs share LOG_LOCK, and
# a writer of decisions has it alone: neither sees what the other has not committed, and no feedback
# between them may be lost. ACCOUNT_LOCK makes changes of accounts wait for each other.
LOG_LOCK = 0x61737361
MIGRATION_LOCK = 0x61737362
ACCOUNT_LOCK = 0x61737363
# Of a store on PostgreSQL, so that it can share a database with tables of other programs.
SCHEMA = "assay"
# Stores of earlier versions have their tables in the search path of the role, and stay there.
SET_SCHEMA = f"""SELECT set_config('search_path', CASE WHEN to_regclass('{SCHEMA}.alembic_version')
IS NULL AND to_regclass('alembic_version') IS NOT NULL AND to_regclass('shown_results') IS NOT NULL
AND to_regclass('decision_citations') IS NOT NULL
THEN current_setting('search_path') ELSE '{SCHEMA}' END, false)"""


def url_of(target: str | Path) -> URL:
    """A path, `sqlite:///file` or `postgresql://…`."""
    text_ = str(target)
    if "://" not in text_ or text_.startswith("sqlite:///"):
        path = text_.removeprefix("sqlite:///")
        if not conninfo.is_path(path.partition("?")[0]):
            # a file of this name would have the password in it, and so would a message
            raise InputError("a store is not a connection string", hint=SUPPORTED)
    if "://" not in text_:
        return URL.create("sqlite", database=text_)
    try:
        url = make_url(text_)
    except (exc.ArgumentError, ValueError):  # it says what it could not read
        raise InputError("not a store URL", hint=SUPPORTED) from None
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise InputError(f"no store on {backend!r}", hint=SUPPORTED)
    if backend == "sqlite":
        return url
    if "@" in f"{url.host}{url.database}":
        raise InputError("not a store URL", hint=conninfo.HINT)
    return url.set(drivername="postgresql+psycopg")


def connect(target: str | Path, *, create: bool = True, read_only: bool = False) -> Engine:
    """Make an engine for a store. `StoreReadOnly` where a file cannot be written, unless it is
    opened with `read_only`."""
    url = url_of(target)
    if url.get_backend_name() == "postgresql":
        return _postgres(url)
    if url.database in (None, "", ":memory:"):
        message = "a store is a file or a server; an in-memory database would be lost"
        raise InputError(f"{message} between connections", hint=SUPPORTED)
    path = Path(str(url.database)).expanduser()
    if path.is_dir():
        hint = "Give the file, assay.db for instance."
        raise InputError("is a folder, not a store", where=str(path), hint=hint)
    if not create and not path.exists():
        raise missing_store(str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES):
            raise read_only_store(str(path)) from error
        raise StoreUnavailable(f"{path}: {error.strerror or error}") from error
    if not read_only and not is_writable(path):
        raise read_only_store(str(path))
    # errors are shown; queries are not
    engine = create_engine(url.set(database=str(path)), hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    if not read_only:  # this changes a file that has no write-ahead log yet
        event.listen(engine, "connect", _write_ahead)
    event.listen(engine, "begin", _begin_sqlite)
    file = DatabaseFile(path)
    event.listen(engine, "do_connect", file.before_opening)
    event.listen(engine, "connect", file.opened)
    return engine


class FileIdentity(NamedTuple):
    """The file that a path names, links followed, and its log: each by device and number."""

    file: tuple[int, int]
    log: tuple[int, int] | None


class DatabaseFile:
    """The file that a path names. SQLite goes on writing to one that was moved away or replaced, or
    whose log was deleted, and says that all is well; so every connection knows its file and its
    log, and they are looked at before every transaction and after every write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._was_open = self._is_torn = False
        _make_private(path)

    def before_opening(
        self, _dialect: object, _record: object, args: list[Any], options: Any
    ) -> None:
        """SQLite would make a new, empty file where ours was. A file that cannot be written is
        opened as one that does not change, since SQLite would write even to read it, unless there
        is a log to read too."""
        if self._is_torn:
            raise self._log_gone()
        if self._was_open and not self._path.exists():
            raise self._database_gone()
        if not is_writable(self._path):
            file = self._path.resolve()
            how = "mode=ro" if _sibling_file(file, LOG).exists() else "immutable=1"
            args[0] = f"{file.as_uri()}?{how}"
            options["uri"] = True

    def opened(self, connection: Any, record: Any) -> None:
        self._was_open = True
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()  # opens the log
        record.info[_FILE] = (self, self.place())

    def require(self, connection: Connection, known: FileIdentity) -> None:
        """`StoreUnavailable` where the path has another file now, or none. One that was put in its
        place is taken from the next call on; without its log nothing is, until the next start."""
        try:
            now = self.place()
            if now.file != known.file:
                self._set_aside(known)
                raise StoreUnavailable(f"{self._path}: the database was replaced by another file")
            if now.log != known.log:
                self._is_torn = True
                raise self._log_gone()
        except StoreUnavailable:
            connection.invalidate()
            raise

    def place(self) -> FileIdentity:
        file = resolved(self._path)
        try:
            found = os.stat(file)
        except OSError as error:
            raise self._database_gone() from error
        if not found.st_size:
            raise self._database_gone()
        return FileIdentity((found.st_dev, found.st_ino), _number(_sibling_file(file, LOG)))

    def _set_aside(self, known: FileIdentity) -> None:
        """SQLite would read the log of the former file as that of the new one."""
        file = self._path.resolve()
        if known.log and _number(_sibling_file(file, LOG)) == known.log:
            for ending in (LOG, SHARED):
                with contextlib.suppress(OSError):
                    _sibling_file(file, ending).replace(_sibling_file(file, f"{ending}.former"))

    def _database_gone(self) -> StoreUnavailable:
        return StoreUnavailable(f"{self._path}: the database is gone")

    def _log_gone(self) -> StoreUnavailable:
        log = f"{self._path.name}{LOG}"
        return StoreUnavailable(f"{self._path}: {log} is gone; stop Assay and start it again")


def _sibling_file(file: Path, ending: str) -> Path:
    return file.with_name(f"{file.name}{ending}")


def _number(file: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_private(path: Path) -> None:
    """Searches and votes are read by those who run Assay: a new file is theirs alone, and an old
    one is closed to others. SQLite gives its log the same mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        sync_folder(path.parent)
    except FileExistsError:
        with contextlib.suppress(OSError):  # somebody else's: theirs to close
            mode = path.stat().st_mode & 0o777
            if mode & 0o007:
                path.chmod(mode & ~0o007)
    except OSError:
        pass  # SQLite says why


def is_writable(path: Path) -> bool:
    """Whether SQLite can write to a file: it also makes files beside it."""
    file = path.resolve()
    return os.access(file.parent, os.W_OK) and (not file.exists() or os.access(file, os.W_OK))


def read_only_store(where: str) -> StoreReadOnly:
    fix = "Make the file and its folder writable"
    if "://" in where:
        fix = "Use a server that accepts changes, and a role that may make them"
    message = f"{where}: the store cannot be written. {fix}, or name another store with --store."
    return StoreReadOnly(message)


def outdated_store(where: str) -> StoreOutdated:
    return StoreOutdated(
        "the store is of an earlier version, and this needs a newer one",
        where=where,
        hint="Upgrade it with `assay doctor --repair`, or with any command that writes to it.",
    )


def missing_store(where: str) -> NoStore:
    return NoStore(
        "there is no store here",
        where=where,
        hint="Check --store and $ASSAY_STORE. assay serve creates a store, and so do "
        "assay logs import, assay logs decisions and a program that logs.",
    )


def _postgres(url: URL) -> Engine:
    """The tables are in a schema of their own, unless the address names a search path."""
    require_extra("postgres", "a store on PostgreSQL")
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",  # who has waited for a lock sees what was done meanwhile
        connect_args={"connect_timeout": 10},
    )
    if "search_path" not in str(url.query.get("options", "")):
        # first of all: SQLAlchemy asks a new connection for its schema
        event.listen(engine, "connect", _choose_schema, insert=True)
    return engine


def _choose_schema(connection: Any, _record: Any) -> None:
    connection.execute(SET_SCHEMA)
    connection.commit()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # BEGIN is ours: the driver's own would be DEFERRED
    for pragma in (
        f"busy_timeout={BUSY_MILLIS}",
        "synchronous=FULL",  # what was committed outlives a power cut
        "foreign_keys=ON",
        "temp_store=MEMORY",
        "cache_size=-32768",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _write_ahead(connection: Any, _record: Any) -> None:
    """Use a write-ahead log, which the file remembers: not in a file of another program."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables or "shown_results" in tables:
        connection.execute("PRAGMA journal_mode=WAL")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def read(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Run `work` on one consistent view of the data."""

    def attempt() -> T:
        with engine.connect() as connection:
            _require_file(connection)
            if engine.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                return work(connection)

    return _with_retries(engine, attempt)


def write(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Run `work` in one transaction that has the right to write from its start. It may run more
    than once."""

    def attempt() -> T:
        with engine.connect().execution_options(writes=True) as connection:
            _require_file(connection)
            with connection.begin():
                done = work(connection)
            _require_file(connection)  # nobody is told "done" of what is in a file without a name
            return done

    return _with_retries(engine, attempt)


class StorePart(Protocol):
    """A part of a store: it has a database to work on."""

    _engine: Engine


S = TypeVar("S", bound=StorePart)


def reading(method: Callable[Concatenate[S, Connection, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make a method that takes a connection one read transaction. Callers do not pass the
    connection."""
    return _transaction(read, method)


def writing(method: Callable[Concatenate[S, Connection, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make a method that takes a connection one write transaction, as `write` runs it. Callers do
    not pass the connection."""
    return _transaction(write, method)


def _transaction(
    run: Callable[[Engine, Callable[[Connection], T]], T],
    method: Callable[Concatenate[S, Connection, P], T],
) -> Callable[Concatenate[S, P], T]:
    @wraps(method)
    def transaction(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        return run(self._engine, lambda connection: method(self, connection, *args, **options))

    return transaction


# ── statements that both databases spell in their own dialect ─────────────────────────────────────

CHUNK = 5000  # below both databases' limits on parameters in one statement
IDS = bindparam("ids", type_=CleanText(), expanding=True)


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def rows_with(connection: Connection, query: Executable, ids: Sequence[str]) -> Iterator[Any]:
    """Run a query with `IDS` in it for any number of ids."""
    for some in chunks(ids):
        yield from connection.execute(query, {"ids": some})


def insert_into(connection: Connection, table: Table) -> Any:
    """INSERT in the dialect of the connection, which can say what happens on a conflict."""
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)


def insert_new(connection: Connection, table: Table) -> Any:
    """INSERT that leaves existing rows alone."""
    return insert_into(connection, table).on_conflict_do_nothing()


def row_of(record: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


# ── faults ────────────────────────────────────────────────────────────────────────────────────────


def _require_file(connection: Connection) -> None:
    """PostgreSQL says itself when it is gone."""
    if _FILE in connection.info:
        file, known = connection.info[_FILE]
        file.require(connection, known)


def lock(connection: Connection, key: int, *, shared: bool = False) -> None:
    """Take a lock until the end of the transaction. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        connection.execute(text(f"SELECT {function}(:key)"), {"key": key})


def _with_retries(engine: Engine, attempt: Callable[[], T]) -> T:
    deadline = time.monotonic() + RETRY_SECONDS
    pause = 0.005
    while True:
        try:
            return attempt()
        except exc.DBAPIError as error:
            if not _is_contention(error):
                raise _as_store_error(engine, error) from error
            if time.monotonic() > deadline:
                message = f"{address(engine)}: busy for {RETRY_SECONDS:.0f} s"
                raise StoreUnavailable(message) from error
        except (exc.SQLAlchemyError, UnicodeEncodeError) as error:
            raise StoreError(f"{address(engine)}: {error}") from error
        # Random, so that writers that met once do not meet again.
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(pause * 2, 0.5)


def _codes(error: exc.DBAPIError) -> tuple[int, str]:
    """The code of SQLite and the state of PostgreSQL; 0 and "" of the other one. The low byte is
    the primary code: BUSY also comes as BUSY_SNAPSHOT and BUSY_RECOVERY."""
    code = getattr(error.orig, "sqlite_errorcode", 0)
    return code & 0xFF, getattr(error.orig, "sqlstate", None) or ""


def _is_contention(error: exc.DBAPIError) -> bool:
    code, state = _codes(error)
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or state in CONTENTION


def _as_store_error(engine: Engine, error: exc.DBAPIError) -> StoreError | InputError:
    lines = str(error.orig).strip().splitlines()
    first = lines[0] if lines else type(error.orig).__name__
    code, state = _codes(error)
    if code == sqlite3.SQLITE_READONLY or state == READ_ONLY:
        return read_only_store(address(engine))
    if state == NOT_ALLOWED:
        return InputError(
            f"the database does not allow this: {first}",
            where=address(engine),
            hint=f"Let an administrator run CREATE SCHEMA {SCHEMA} AUTHORIZATION followed by the "
            "role of the store, or give the role its rights.",
        )
    if first.startswith(("no such table", "no such column")) or state in UNDEFINED:
        return outdated_store(address(engine))
    if code == sqlite3.SQLITE_NOTADB:
        message = "not a store: the file is not a database"
        return InputError(message, where=address(engine), hint=SUPPORTED)
    # a database or a role; the driver gives no code for it
    if "FATAL" in first and "does not exist" in first:
        return NoStore(
            first.rpartition("FATAL:")[2].strip(),
            where=address(engine),
            hint="Check --store and $ASSAY_STORE; a new database is made with createdb.",
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        first = _disk_error(Path(str(engine.url.database)), first)
    message = f"{address(engine)}: {without_password(first)}"
    gone = isinstance(error, exc.OperationalError | exc.InterfaceError)
    too_large = state.startswith("54")  # for the server, and always will be
    if (gone or error.connection_invalidated) and not too_large:
        return StoreUnavailable(message)
    return StoreError(message)


def _disk_error(file: Path, message: str) -> str:
    """SQLite says "disk I/O error" where it cannot make the files that it needs beside its own."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(file.parent).free < ROOM:
            return "the disk is full. Reading needs room too: free 1 MB on it and try again"
    return f"{message}: the disk has a fault, or no file may become so large"


def address(engine: Engine) -> str:
    if engine.dialect.name == "sqlite":
        return str(engine.url.database)
    kept = {
        key: value for key, value in engine.url.query.items() if key in conninfo.SHOWN_PARAMETERS
    }
    shown = engine.url.set(drivername=engine.dialect.name, query=kept)
    return shown.render_as_string(hide_password=True)

"""`assay backup` and `assay restore`: a project in one file, and back into an empty place.

A backup is a compressed tar of data files: a copy of the store, `assay.toml` and the files it
names, every gold set with its log and everything else beside it, and the workspace. The last member
is a manifest with the SHA-256 of every other member. The sets are locked while they and the store
are copied, so that the two belong together.

A backup may come from a stranger, and other programs run what they find under a name they know:
`.git/hooks`, `conftest.py`, `pyproject.toml`. So a backup holds only data files, in folders that
are not hidden (`is_carried`), and restoring applies the same rule. The content of regular members
is copied to names that were checked, into a temporary folder, and verified there as a whole before
the first file is put in place."""

from __future__ import annotations

import contextlib
import glob
import gzip
import hashlib
import io
import os
import shutil
import sqlite3
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

import msgspec
from sqlalchemy import Connection, create_engine, inspect

from assay import __version__, formats
from assay.core import conninfo
from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.files import os_message, scratch_beside, sync_folder
from assay.core.workspace import DATABASE, DEFAULT, HOME, STORE, default_store, workspace
from assay.engines.engine_table import EngineConfig, kind_of
from assay.formats.gold_jsonl import lock_gold_set
from assay.store import migrate, open_store
from assay.store.database import address, connect, missing_store, read, url_of, write
from assay.store.records import StoreError
from assay.store.tables import LEGACY, metadata
from assay.workbench.project.config import CONFIG_NAME, Config, read_config
from assay.workbench.project.service import NoStore, open_service, sets_of

FORMAT = 2  # 1 was a zip file with the same members; it can still be restored
MANIFEST = "backup.json"
# Chosen: far above what backups need, and safe to hold in memory or to wait for.
LARGEST_MANIFEST = 256 * 2**20  # bytes
LONGEST_READ = 2**20  # bytes
MOST_MEMBERS = 50_000
MOST_STEPS = 40  # folders in each other
LOCK_SECONDS = 30.0
UNFINISHED = "job"  # in the workspace: the import that was under way
BACKUP_PARTS = ("store", "project", "outside", "workspace")
# Formats that Assay reads and writes, and tables and documents that may lie beside a set.
DATA = frozenset(
    f".{ending}"
    for ending in (
        "json jsonl csv tsv txt trec qrels run toml md html xml xlsx parquet arrow npy db copy pdf "
        "zip gz before-log"
    ).split()
)
FOREIGN = frozenset("pyproject.toml pytest.toml tox.toml uv.toml package.json".split())


class MemberDigest(msgspec.Struct, frozen=True, kw_only=True):
    size: int
    sha256: str


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest. `parts` are the members by name: the first step of a name is one of
    BACKUP_PARTS, the rest is the path from there. `left_out` are files that were found and that no
    backup holds."""

    format: int = FORMAT
    assay: str = ""
    at: str = ""
    store: StoreCopy | None = None
    gold: list[str] = []
    parts: dict[str, MemberDigest] = {}
    left_out: list[str] = []


class BackupSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A backup in a few lines: the store, the gold sets, and the number of files of each kind."""

    store: str
    gold_sets: list[str]
    files: dict[str, int]
    bytes: int
    left_out: list[str] = []


class RestoreSummary(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    workspace: str
    store: str  # empty if the backup has no store
    files: int
    outside: list[str] = []  # files that were outside the project, where they are now


def is_carried(name: str) -> bool:
    """Whether a backup may hold a member of this name."""
    kind, *steps = name.split("/")
    if (
        kind not in BACKUP_PARTS
        or not 0 < len(steps) <= MOST_STEPS
        or not all(map(_is_plain, steps))
    ):
        return False
    file = steps[-1].lower()
    ending = PurePosixPath(file).suffix
    known = ending in DATA or (kind == "workspace" and file == UNFINISHED)
    return file not in FOREIGN and (known or formats.is_added(ending))


def _is_plain(step: str) -> bool:
    """Whether one step of a path is neither hidden nor a way up, nor a path of another system."""
    return bool(step) and step.isprintable() and step[0] != "." and not set(step) & {"\\", ":"}


class _HashedReader:
    """A file that is hashed as it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        block = self._file.read(size)
        self.digest.update(block)
        return block


# ── making a backup ───────────────────────────────────────────────────────────────────────────────


@dataclass
class _Writer:
    """Adds files to an archive and keeps their digests. A file that no backup holds is named in
    `left_out` instead."""

    archive: tarfile.TarFile
    parts: dict[str, MemberDigest] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, name: str, path: Path) -> None:
        if name in self.parts or str(path) in self.left_out:
            return
        if not is_carried(name):
            self.left_out.append(str(path))
            return
        if len(self.parts) >= MOST_MEMBERS:
            raise InputError(
                f"there are more than {MOST_MEMBERS:,} files to back up",
                hint="Leave the indexes out with --no-indexes, or move documents elsewhere.",
            )
        member = tarfile.TarInfo(name)
        member.mode = 0o600
        try:
            with path.open("rb") as file:
                member.size = os.fstat(file.fileno()).st_size
                source = _HashedReader(file)
                self.archive.addfile(member, source)
        except OSError as error:
            raise InputError(f"cannot be copied: {os_message(error)}", where=str(path)) from error
        self.parts[name] = MemberDigest(size=member.size, sha256=source.digest.hexdigest())


def make_backup(
    target: Path,
    *,
    store: str = "",
    gold: Sequence[Path] = (),
    config: Path | None = None,
    indexes: bool = True,
) -> BackupSummary:
    """Write a backup of the project to a new file. Without `indexes`, search indexes are left out:
    they are rebuilt when they are needed. There need not be a store unless one is named."""
    if os.path.lexists(target):
        raise InputError("the file already exists", where=str(target), hint="Give a new name.")
    path = config or Path(CONFIG_NAME)
    settings = read_config(path) if config is not None or path.exists() else None
    folder = path.resolve().parent
    address = store or default_store()
    try:
        with open_service(store, gold=gold, config=config, create=False) as service:
            sets = service.gold_sets
    except NoStore:
        if store:
            raise
        address, sets = "", sets_of(settings, gold, folder)
    with scratch_beside(target) as scratch:
        made = scratch / "backup"
        with tarfile.open(made, "w:gz", compresslevel=1) as archive:
            writer = _Writer(archive)
            copied = _add_sets(writer, sets, folder, address, scratch / "store")
            for file in _named_files(path, settings):
                writer.add(_name_of(file, folder), file)
            for file in _files_below(scratch / "store"):
                writer.add(f"store/{file.name}", file)
            _add_workspace(writer, indexes)
            known = (name for name, file in sets.items() if file.exists() or formats.is_irds(file))
            whole = Backup(
                assay=__version__,
                at=datetime.now(UTC).isoformat(timespec="seconds"),
                store=copied,
                gold=sorted(known),
                parts=writer.parts,
                left_out=writer.left_out + _foreign_files(sets, settings),
            )
            content = msgspec.json.format(msgspec.json.encode(whole), indent=1)
            manifest = tarfile.TarInfo(MANIFEST)
            manifest.size = len(content)
            archive.addfile(manifest, io.BytesIO(content))
        made.chmod(0o600)  # the store in it is private
        with made.open("rb") as stream:
            os.fsync(stream.fileno())
        _rename_into_place(made, target)
    return BackupSummary(
        store=f"{copied.backend}, schema {copied.schema}" if copied else "none",
        gold_sets=whole.gold,
        files=dict(Counter(name.partition("/")[0] for name in whole.parts)),
        bytes=sum(part.size for part in whole.parts.values()),
        left_out=whole.left_out,
    )


def _add_sets(
    writer: _Writer, sets: Mapping[str, Path], folder: Path, store: str, copies: Path
) -> StoreCopy | None:
    """Add the gold sets and copy the store into the folder `copies`, while nobody writes a set."""
    copies.mkdir()
    with contextlib.ExitStack() as held:
        for place in sorted({path.resolve() for path in sets.values()}):
            if place.exists() and os.access(place.parent, os.W_OK):
                held.enter_context(lock_gold_set(place, wait=LOCK_SECONDS))
        copied = copy_store_out(store, copies) if store else None
        for path in sets.values():
            _add_set(writer, path.resolve(), folder)
    return copied


def _add_set(writer: _Writer, gold: Path, folder: Path) -> None:
    """Add a gold set, which may be a folder, and everything beside it that belongs to it: files
    under its stem (log, pool, policy, receipts), the usual baseline and its own rubrics."""
    if gold.is_file() and not is_carried(_name_of(gold, folder)):
        raise InputError(
            "a gold set of this name cannot be backed up",
            where=str(gold),
            hint="Rename it: use an extension such as .jsonl or .qrels, and no \\ and :.",
        )
    near = gold.parent
    beside = sorted(near.glob(f"{glob.escape(gold.stem)}.*"))
    rubrics = sorted([*near.glob("*.toml"), *near.glob("rubrics/*.toml")])
    rubrics = [file for file in rubrics if file.name not in {CONFIG_NAME, *FOREIGN}]
    for file in (*_files_below(gold), *beside, near / "baseline.json", *rubrics):
        if file.is_file():
            writer.add(_name_of(file.resolve(), folder), file.resolve())


def _named_files(config: Path, settings: Config | None) -> list[Path]:
    """The configuration, the people, the project's rubrics, and the baselines, saved results and
    corpora that the configuration names."""
    folder = config.resolve().parent
    chosen = [config, folder / "people.toml", *sorted(folder.glob("rubrics/*.toml"))]
    if settings is not None:
        chosen += [Path(gold.baseline) for gold in settings.gold.values() if gold.baseline]
        for engine in _engines(settings.engines):
            chosen += [Path(path) for path in (engine.run, engine.corpus) if path]
    return [file.resolve() for path in chosen for file in _files_below(path)]


def _engines(engines: Mapping[str, EngineConfig]) -> Iterator[EngineConfig]:
    """Engines, and the engines that these route to."""
    for engine in engines.values():
        yield engine
        yield from _engines(engine.routes)


def _foreign_files(sets: Mapping[str, Path], settings: Config | None) -> list[str]:
    """Files that the configuration names and that no backup holds: gold sets that are missing, the
    code and databases of engines, the databases of backlogs."""
    named = [path for path in sets.values() if not formats.is_irds(path)]
    missing = [f"{path} (missing)" for path in named if not path.exists()]
    if settings is None:
        return missing
    addresses = [source.url for source in settings.backlog.values()]
    for engine in _engines(settings.engines):
        keys = kind_of(engine.kind).files if engine.kind else ()
        addresses += [str(engine.own[key]) for key in keys if engine.own.get(key)]
        if engine.search_module:
            addresses.append(str(Path(engine.folder, engine.search_module.partition(":")[0])))
    there = (one for one in addresses if conninfo.is_path(one) and Path(one).exists())
    return missing + list(dict.fromkeys(there))


def _add_workspace(writer: _Writer, indexes: bool) -> None:
    """Add the workspace without its database, which is copied separately."""
    home = workspace().absolute()
    database = Path(default_store()).absolute()
    skipped = {database.with_name(f"{database.name}{ending}") for ending in ("", "-wal", "-shm")}
    for file in _files_below(home):
        inside = file.relative_to(home)
        if file not in skipped and (indexes or inside.parts[0] != "indexes"):
            writer.add(f"workspace/{inside.as_posix()}", file)


def _files_below(path: Path) -> Iterator[Path]:
    """A file; or the files in a folder and in the folders that it links to, none of them hidden.
    Each folder is listed when it is its turn: others may be working there."""
    if path.is_file():
        yield path
    for name in glob.iglob("**", root_dir=path, recursive=True):
        if (path / name).is_file():
            yield path / name


def _name_of(path: Path, folder: Path) -> str:
    """The name of a project file in a backup. A file in a hidden folder counts as outside the
    project, and comes back in a folder that is not hidden."""
    if path.is_relative_to(folder):
        inside = path.relative_to(folder)
        if not any(step.startswith(".") for step in inside.parts[:-1]):
            return f"project/{inside.as_posix()}"
    *folders, file = path.relative_to(path.anchor).parts
    return "/".join(["outside", *(step.lstrip(".") for step in folders), file])


# ── restoring it ──────────────────────────────────────────────────────────────────────────────────


def restore_backup(archive: Path, folder: Path, *, store: str = "") -> RestoreSummary:
    """Restore a backup into a folder, its workspace and its store. Nothing is overwritten, and
    nothing is put in place before every member was read and verified."""
    home = workspace().absolute() if os.environ.get(HOME) else folder.absolute() / DEFAULT
    address = store or os.environ.get(STORE, "") or str(home / DATABASE)
    places = {"project": folder, "outside": folder / "outside", "workspace": home}
    with contextlib.ExitStack() as undo:
        _undo_folders(folder, undo)
        with scratch_beside(folder / "restore") as scratch:
            if home.exists() and any(home.iterdir()):
                raise _occupied(home)
            whole = _unpack(archive, scratch)
            targets = {
                name: places[kind] / rest
                for name, (kind, _, rest) in ((name, name.partition("/")) for name in whole.parts)
                if kind in places
            }
            database = None
            if whole.store is not None:
                database = prepare_store(scratch / "store", whole.store, address)
            for target in (*targets.values(), *([database] if database else [])):
                if os.path.lexists(target):
                    raise _occupied(target)
            for name, target in targets.items():
                _put_in_place(scratch / name, target, undo)
            # The store comes last: a folder that has it has everything.
            if database is not None:
                _put_in_place(scratch / "store" / DATABASE, database, undo)
            elif whole.store is not None:
                address = load_store_copy(scratch / "store", whole.store, address)
            undo.pop_all()  # all is in place
    return RestoreSummary(
        folder=str(folder),
        workspace=str(home),
        store=str(database or address) if whole.store is not None else "",
        files=len(targets),
        outside=[str(target) for name, target in targets.items() if name.startswith("outside/")],
    )


def _occupied(path: Path) -> InputError:
    hint = "Restore into an empty folder with --to. Nothing was restored."
    return InputError("this path is already in use", where=str(path), hint=hint)


def _unpack(archive: Path, scratch: Path) -> Backup:
    """Unpack an archive into `scratch` and compare every file with the manifest."""
    try:
        digests: dict[str, str] = {}
        for name, size, source in _members(archive):
            if len(digests) > MOST_MEMBERS:
                raise ValueError(f"it has more than {MOST_MEMBERS:,} files")
            digests[name] = _unpack_member(name, size, source, scratch)
        if digests.pop(MANIFEST, None) is None:
            raise ValueError(f"it has no {MANIFEST}")
        raw = msgspec.json.decode((scratch / MANIFEST).read_bytes())
        if isinstance(raw, dict) and raw.get("format") not in range(FORMAT + 1):
            made_by = f"a newer Assay ({raw.get('assay')}). Upgrade Assay first"
            raise ValueError(f"it has format {raw.get('format')}, made by {made_by}")
        whole = msgspec.convert(raw, thread_safe(Backup))
        if digests.keys() != whole.parts.keys():
            raise ValueError("its files do not match the backup")
        for name, part in whole.parts.items():
            if digests[name] != part.sha256:
                raise ValueError(f"{name} does not match the backup")
    except Exception as error:  # tarfile and zipfile have many errors for a damaged file
        why = os_message(error) if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot be restored: {why or type(error).__name__}",
            where=str(archive),
            hint="Give a file that assay backup wrote. Nothing was restored.",
        ) from error
    return whole


def _unpack_member(name: str, size: int, source: IO[bytes], scratch: Path) -> str:
    """Unpack one member into `scratch`. Returns the SHA-256 of its content."""
    if name != MANIFEST and not is_carried(name):
        raise ValueError(
            f"it holds {name[:200]!r}, and a backup holds only data files, and no hidden ones"
        )
    room = LARGEST_MANIFEST if name == MANIFEST else shutil.disk_usage(scratch).free
    if size > room:
        raise ValueError(
            f"it would unpack to {size / 2**30:,.1f} GiB or more, "
            f"and there is room for {room / 2**30:,.1f} GiB"
        )
    target = scratch / name
    if target.exists():
        raise ValueError(f"it holds {name!r} twice")
    target.parent.mkdir(parents=True, exist_ok=True)
    hashed = _HashedReader(source)
    with target.open("wb") as file:
        shutil.copyfileobj(hashed, file)
        file.flush()
        os.fsync(file.fileno())
    return hashed.digest.hexdigest()


class _SmallReads(gzip.GzipFile):
    """A compressed file that refuses large reads. `tarfile` reads the long names of a member into
    memory at whatever size the archive claims, which a few packed kilobytes can make gigabytes."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= LONGEST_READ:
            raise tarfile.ReadError("the name of a member is too long")
        return super().read(size)


def _members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """The name, size and content of each member, of a tar or of a zip (format 1)."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for entry in zipped.infolist():
                with zipped.open(entry) as source:
                    yield entry.filename, entry.file_size, source
        return
    with _SmallReads(archive) as packed, tarfile.open(fileobj=packed, mode="r:") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is None or member.size < 0:
                raise tarfile.ReadError(f"{member.name!r} is not a regular file")
            yield member.name, member.size, content
        # to the end, where gzip has its checksum: behind the members are a few empty blocks
        behind = iter(partial(packed.read, LONGEST_READ), b"")
        if any(size > LONGEST_READ for size in accumulate(map(len, behind))):
            raise tarfile.ReadError("it goes on behind its last file")


def _undo_folders(folder: Path, undo: contextlib.ExitStack) -> None:
    """Remove on failure the folders that do not exist yet on the way to `folder`."""
    for place in reversed([folder, *folder.parents]):
        if not place.exists():
            undo.callback(_remove, place)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.rmdir() if path.is_dir() else path.unlink()


def _put_in_place(source: Path, target: Path, undo: contextlib.ExitStack) -> None:
    """Put a verified file in place, to be removed again on failure."""
    _undo_folders(target.parent, undo)
    _rename_into_place(source, target)
    undo.callback(_remove, target)


def _rename_into_place(source: Path, target: Path) -> None:
    """Give a finished file its name in one step, and never the name of another file."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:  # another file system, or one without links
            if os.path.lexists(target):
                raise
            unnamed = target.with_name(f".{target.name}.restoring")
            shutil.copy(source, unnamed)
            os.rename(unnamed, target)
        sync_folder(target.parent)
    except OSError as error:
        raise InputError(f"cannot write: {os_message(error)}", where=str(target)) from error


# ── the store in a backup ─────────────────────────────────────────────────────────────────────────


# Everything in a database that can run when it is used: triggers, views and virtual tables. SQLite
# obeys the text of an entry whatever type the entry claims, so the text counts too.
CODE = """SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL
AND NOT (type = 'table' AND sql LIKE 'create table %')
AND NOT (type = 'index' AND (sql LIKE 'create index %' OR sql LIKE 'create unique index %'))"""


class StoreCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A store in files. `tables` are the PostgreSQL tables with their columns, parents before
    children; a SQLite store is one file."""

    backend: Literal["sqlite", "postgresql"]
    schema: str
    tables: dict[str, list[str]] = {}


def copy_store_out(target: str, folder: Path) -> StoreCopy:
    """Copy the store into files in `folder`. `NoStore` if there is none."""
    engine = connect(target, create=False)
    try:
        schema = read(engine, migrate.revision)
        if schema is None:
            raise missing_store(address(engine))
        if engine.dialect.name == "postgresql":
            tables = read(engine, lambda connection: _dump_tables(connection, folder))
            return StoreCopy(backend="postgresql", schema=schema, tables=tables)
        source = str(engine.url.database)
        with contextlib.closing(sqlite3.connect(source, isolation_level=None)) as connection:
            connection.execute("VACUUM INTO ?", [str(folder / DATABASE)])
        return StoreCopy(backend="sqlite", schema=schema)
    except sqlite3.Error as error:
        raise StoreError(f"{address(engine)}: {error}") from error
    finally:
        engine.dispose()


def _dump_tables(connection: Connection, folder: Path) -> dict[str, list[str]]:
    """Our tables; the same database may have tables of other programs."""
    found = inspect(connection)
    tables = {
        name: [column["name"] for column in found.get_columns(name)]
        for name, _ in found.get_sorted_table_and_fkc_names()
        if name and name in {*metadata.tables, *LEGACY}
    }
    driver: Any = connection.connection.driver_connection
    for name, columns in tables.items():
        with (
            driver.cursor().copy(f"COPY {_quoted(name, columns)} TO STDOUT") as rows,
            (folder / f"{name}.copy").open("wb") as file,
        ):
            file.writelines(rows)
    return tables


def _quoted(table: str, columns: list[str]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    return f'"{table}" ({names})'


def prepare_store(folder: Path, copy: StoreCopy, target: str) -> Path | None:
    """Check the copy of a store and where it is to be restored. A SQLite copy is brought up to
    date. Returns the file that it becomes; None for PostgreSQL: see `load_store_copy`."""
    if copy.schema not in migrate.SCHEMAS:
        raise InputError(
            f"the store in it has schema {copy.schema}, which this Assay ({migrate.HEAD}) "
            "does not know",
            hint="It was made by a newer Assay. Upgrade Assay first.",
        )
    url = url_of(target)
    if url.get_backend_name() != copy.backend:
        raise InputError(
            f"the store in it is on {copy.backend} and is restored there",
            hint="Give such a store with --store.",
        )
    if copy.backend == "postgresql":
        return None
    file = folder / DATABASE
    _check_database(file, copy.schema)
    open_store(file, create=False).close()  # brings it up to date
    file.chmod(0o600)
    return Path(str(url.database)).expanduser()


def _check_database(file: Path, schema: str) -> None:
    """Refuse a database that is damaged, or that has a trigger, a view or a virtual table which a
    store of this schema does not have: a backup may come from a stranger."""
    engine = create_engine("sqlite://")
    with engine.begin() as fresh:
        migrate.create_at(fresh, schema)
        own = {tuple(row) for row in fresh.exec_driver_sql(CODE)}
    engine.dispose()
    try:
        with contextlib.closing(sqlite3.connect(file)) as connection:
            if foreign := set(connection.execute(CODE)) - own:
                name = min(str(name) for name, _ in foreign)
                raise InputError(
                    f"cannot be restored: its database has {name!r}, which is not part of a store",
                    hint="A backup holds only data. Do not use this file.",
                )
            state = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        state, version = str(error), None
    if state != "ok" or version != (schema,):
        raise InputError(f"cannot be restored: the database in it is damaged ({state})")


def load_store_copy(folder: Path, copy: StoreCopy, target: str) -> str:
    """Load the files of a PostgreSQL store into a database without one, at the schema they have,
    and bring it up to date, all in one transaction. Returns the address without its password."""
    engine = connect(target)
    try:
        write(engine, lambda connection: _load_tables(connection, folder, copy))
        return address(engine)
    finally:
        engine.dispose()


def _load_tables(connection: Connection, folder: Path, copy: StoreCopy) -> None:
    if migrate.revision(connection) is not None:
        where = address(connection.engine)
        raise InputError(
            "the database already has a store", where=where, hint="Give an empty database."
        )
    migrate.refuse_collision(connection)
    others = set(inspect(connection).get_table_names())
    migrate.create_at(connection, copy.schema)
    found = inspect(connection)
    made = set(found.get_table_names()) - others
    driver: Any = connection.connection.driver_connection
    for name, columns in copy.tables.items():
        known = {column["name"] for column in found.get_columns(name)} if name in made else set()
        if not columns or not known.issuperset(columns):
            raise InputError(f"cannot be restored: a store has no table {name!r}")
        try:
            with (
                driver.cursor().copy(f"COPY {_quoted(name, columns)} FROM STDIN") as rows,
                (folder / f"{name}.copy").open("rb") as file,
            ):
                shutil.copyfileobj(file, rows)
        except (connection.dialect.loaded_dbapi.Error, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"cannot be restored: its table {name!r}: {reason}") from error
    migrate.create_at(connection, migrate.HEAD)

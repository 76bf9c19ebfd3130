"""`assay backup` and `assay restore`: a project in one file, and back into an empty place.

A backup is a compressed tar of data files: a copy of the store, `assay.toml` and the files it
names, every gold set with its log and everything else beside it, and the workspace. The last member
is a manifest with the SHA-256 of every other member. The sets are locked while they and the store
are copied, so that the two belong together.

A backup may come from a stranger, and other programs run what they find under a name they know:
`.git/hooks`, `conftest.py`, `pyproject.toml`. So a backup holds only data files, in folders that
are not hidden (`is_carried`), and restoring applies the same rule. Nothing is extracted by
`tarfile` itself: the content of regular members is copied to names that were checked. Every member
is verified before the first one is put in place."""

from __future__ import annotations

import contextlib
import glob
import gzip
import hashlib
import io
import lzma
import os
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Annotated

import msgspec

from assay import __version__, formats
from assay.core import conninfo
from assay.core.errors import InputError
from assay.core.files import os_message, scratch_beside, sync_folder
from assay.core.workspace import DATABASE, HOME, STORE, default_store, workspace
from assay.engines.engine_table import EngineConfig, kind_of
from assay.formats.gold_jsonl import locked
from assay.store import copying
from assay.workbench.config import CONFIG_NAME, Config, read_config
from assay.workbench.opening import NoStore, open_service, sets_of

FORMAT = 2  # 1 was a zip file with the same members; it can still be restored
MANIFEST = "backup.json"
LARGEST_MANIFEST = 256 * 2**20
BLOCK = 2**20
LOCK_SECONDS = 30.0
PEOPLE = "people.toml"
INDEXES = "indexes"
UNFINISHED = "job"  # in the workspace: the import that was under way
KINDS = ("store", "project", "outside", "workspace")
# Formats that Assay reads and writes, and tables and documents that may lie beside a set.
DATA = frozenset(
    f".{ending}"
    for ending in (
        "json jsonl csv tsv txt trec qrels run toml md html xml xlsx parquet arrow npy db copy pdf "
        "zip gz before-log"
    ).split()
)
FOREIGN = frozenset("pyproject.toml pytest.toml tox.toml uv.toml package.json".split())
# What tarfile, zipfile and msgspec raise on a file that is damaged or not a backup at all.
UNREADABLE = (
    *(OSError, EOFError, RuntimeError, ValueError, LookupError, OverflowError, MemoryError),
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    msgspec.MsgspecError,
)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    size: Annotated[int, msgspec.Meta(ge=0)]
    sha256: str


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest. `parts` are the members by name: the first step of a name is one of KINDS, the
    rest is the path from there. `left_out` are files that were found and that no backup holds."""

    format: int = FORMAT
    assay: str = ""
    at: str = ""
    store: copying.StoreCopy | None = None
    gold: list[str] = []
    parts: dict[str, Part] = {}
    left_out: list[str] = []


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A backup in a few lines: the store, the gold sets, and the number of files of each kind."""

    store: str
    gold_sets: list[str]
    files: dict[str, int]
    bytes: int
    left_out: list[str] = []


def summary(whole: Backup) -> Summary:
    copied = whole.store
    return Summary(
        store=f"{copied.backend}, schema {copied.schema}" if copied else "none",
        gold_sets=whole.gold,
        files=dict(Counter(name.partition("/")[0] for name in whole.parts)),
        bytes=sum(part.size for part in whole.parts.values()),
        left_out=whole.left_out,
    )


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    workspace: str
    store: str  # empty if the backup has no store
    files: int
    outside: list[str] = []  # files that were outside the project, where they are now


def is_carried(name: str) -> bool:
    """Whether a backup may hold a member of this name."""
    kind, *steps = name.split("/")
    if kind not in KINDS or not steps or not all(map(_is_plain, steps)):
        return False
    file = steps[-1].lower()
    ending = PurePosixPath(file).suffix
    known = ending in DATA or (kind == "workspace" and file == UNFINISHED)
    return file not in FOREIGN and (known or formats.is_added(ending))


def _is_plain(step: str) -> bool:
    """Whether one step of a path is neither hidden nor a way up, nor a path of another system."""
    return bool(step) and step.isprintable() and step[0] != "." and not set(step) & {"\\", ":"}


# ── making a backup ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Project:
    """The project to back up. Its configuration file may be missing; `store` is empty if it has
    none."""

    config: Path
    settings: Config | None
    store: str
    sets: Mapping[str, Path]

    @property
    def folder(self) -> Path:
        return self.config.resolve().parent


@dataclass
class _Writer:
    """Adds files to an archive and keeps their digests. A file that no backup holds is named in
    `left_out` instead."""

    archive: tarfile.TarFile
    parts: dict[str, Part] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, name: str, path: Path) -> None:
        if name in self.parts or str(path) in self.left_out:
            return
        if not is_carried(name):
            self.left_out.append(str(path))
            return
        member = tarfile.TarInfo(name)
        member.mode = 0o600
        try:
            with path.open("rb") as file:
                member.size = os.fstat(file.fileno()).st_size
                source = _Hashed(file)
                self.archive.addfile(member, source)
        except OSError as error:
            raise InputError(f"cannot be copied: {os_message(error)}", where=str(path)) from error
        self.parts[name] = Part(size=member.size, sha256=source.digest.hexdigest())


class _Hashed:
    """A file that is hashed as it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        block = self._file.read(size)
        self.digest.update(block)
        return block


def make_backup(
    target: Path,
    *,
    store: str = "",
    gold: Sequence[Path] = (),
    config: Path | None = None,
    indexes: bool = True,
) -> Backup:
    """Write a backup of the project to a new file. Without `indexes`, search indexes are left out:
    they are rebuilt when they are needed."""
    if target.exists():
        raise InputError("the file already exists", where=str(target), hint="Give a new name.")
    project = _opened(store, gold, config)
    with scratch_beside(target) as scratch:
        made = scratch / target.name
        with tarfile.open(made, "w:gz", compresslevel=1) as archive:
            whole = _write(_Writer(archive), scratch, project, indexes)
        made.chmod(0o600)  # the store in it is private
        with made.open("rb") as file:
            os.fsync(file.fileno())
        _place(made, target)
    return whole


def _opened(store: str, gold: Sequence[Path], config: Path | None) -> _Project:
    """The project with its sets. There need not be a store unless one was named."""
    path = config or Path(CONFIG_NAME)
    settings = read_config(path) if config is not None or path.exists() else None
    try:
        with open_service(store, gold=gold, config=config, create=False) as service:
            return _Project(path, settings, store or default_store(), service.gold_sets)
    except NoStore:
        if store:
            raise
        return _Project(path, settings, "", sets_of(settings, gold))


def _write(writer: _Writer, scratch: Path, project: _Project, indexes: bool) -> Backup:
    copies = scratch / "store"
    copies.mkdir()
    with contextlib.ExitStack() as held:
        for path in sorted({path.resolve() for path in project.sets.values()}):
            if path.exists() and os.access(path.parent, os.W_OK):
                held.enter_context(locked(path, wait=LOCK_SECONDS))
        copied = copying.copy_out(project.store, copies) if project.store else None
        for path in project.sets.values():
            _add_set(writer, path, project.folder)
    for path in _named_files(project):
        writer.add(_name_of(path, project.folder), path)
    for path in sorted(copies.iterdir()):
        writer.add(f"store/{path.name}", path)
    home = workspace().absolute()
    for path in _workspace_files(home, Path(default_store()).absolute(), indexes):
        writer.add(f"workspace/{path.relative_to(home).as_posix()}", path)
    whole = Backup(
        assay=__version__,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        store=copied,
        gold=sorted(
            name for name, path in project.sets.items() if path.exists() or formats.is_irds(path)
        ),
        parts=writer.parts,
        left_out=writer.left_out + _foreign_files(project),
    )
    content = msgspec.json.format(msgspec.json.encode(whole), indent=1)
    manifest = tarfile.TarInfo(MANIFEST)
    manifest.size = len(content)
    writer.archive.addfile(manifest, io.BytesIO(content))
    return whole


def _add_set(writer: _Writer, gold: Path, folder: Path) -> None:
    """Add a gold set, which may be a folder, and everything beside it that belongs to it: files
    under its stem (log, pool, policy, receipts), the usual baseline and its own rubrics."""
    place = gold.resolve()
    if place.is_file() and not is_carried(_name_of(place, folder)):
        raise InputError(
            "a gold set of this name cannot be backed up",
            where=str(place),
            hint="Give it a usual ending, as in .jsonl or .qrels, and a name without \\ and :.",
        )
    beside = place.parent.glob(f"{glob.escape(place.stem)}.*") if place.parent.is_dir() else ()
    rubrics = [*place.parent.glob("*.toml"), *(place.parent / "rubrics").glob("*.toml")]
    rubrics = [file for file in rubrics if file.name not in {CONFIG_NAME, *FOREIGN}]
    for file in [
        *_below(place),
        *sorted(beside),
        place.with_name("baseline.json"),
        *sorted(rubrics),
    ]:
        if file.is_file():
            writer.add(_name_of(file.resolve(), folder), file.resolve())


def _named_files(project: _Project) -> list[Path]:
    """The configuration, the people, the project's rubrics, and the baselines, saved results and
    corpora that the configuration names."""
    folder = project.folder
    chosen = [project.config, folder / PEOPLE, *sorted((folder / "rubrics").glob("*.toml"))]
    if project.settings is not None:
        chosen += [Path(gold.baseline) for gold in project.settings.gold.values() if gold.baseline]
        for engine in project.settings.engines.values():
            chosen += _of_engine(engine)
    return [file.resolve() for path in chosen for file in _below(path)]


def _of_engine(engine: EngineConfig) -> list[Path]:
    files = [Path(path) for path in (engine.run, engine.corpus) if path]
    return files + [file for route in engine.routes.values() for file in _of_engine(route)]


def _below(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path] if path.is_file() else []


def _foreign_files(project: _Project) -> list[str]:
    """Files that the configuration names and that no backup holds: gold sets that are missing, the
    code and databases of engines, the databases of backlogs."""
    named = [path for path in project.sets.values() if not formats.is_irds(path)]
    missing = [f"{path} (missing)" for path in named if not path.exists()]
    if project.settings is None:
        return missing
    addresses = [source.url for source in project.settings.backlog.values()]
    for engine in project.settings.engines.values():
        keys = kind_of(engine.kind).files if engine.kind else ()
        addresses += [str(engine.own[key]) for key in keys if engine.own.get(key)]
        if engine.search_module:
            addresses.append(str(Path(engine.folder, engine.search_module.partition(":")[0])))
    there = (one for one in addresses if conninfo.is_path(one) and Path(one).exists())
    return missing + list(dict.fromkeys(there))


def _name_of(path: Path, folder: Path) -> str:
    """The name of a project file in a backup. A file in a hidden folder counts as outside the
    project, and comes back in a folder that is not hidden."""
    if path.is_relative_to(folder):
        inside = path.relative_to(folder)
        if not any(step.startswith(".") for step in inside.parts[:-1]):
            return f"project/{inside.as_posix()}"
    *folders, file = path.relative_to(path.anchor).parts
    return "/".join(["outside", *(step.lstrip(".") for step in folders), file])


def _workspace_files(home: Path, database: Path, indexes: bool) -> Iterator[Path]:
    """Everything but the database, which is copied separately, and hidden or unfinished files."""
    own = {database, *(database.with_name(f"{database.name}{end}") for end in ("-wal", "-shm"))}
    seen: set[Path] = set()
    for place, folders, names in os.walk(home, followlinks=True):
        here = Path(place)
        if here.resolve() in seen:  # a link that leads back
            folders[:] = []
            continue
        seen.add(here.resolve())
        skipped = {INDEXES} if here == home and not indexes else set()
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in skipped
        )
        for path in sorted(here / name for name in names if not name.startswith(".")):
            if path not in own and path.is_file():
                yield path


# ── restoring it ──────────────────────────────────────────────────────────────────────────────────


def restore_backup(archive: Path, folder: Path, *, store: str = "") -> Restored:
    """Restore a backup into a folder, its workspace and its store. Nothing is overwritten, and
    nothing is put in place before every member was read and verified."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    whole = _checked_manifest(archive, shutil.disk_usage(there).free)
    home = workspace().absolute() if os.environ.get(HOME) else folder.absolute() / ".assay"
    address = store or os.environ.get(STORE, "") or str(home / DATABASE)
    database = _database_file(whole, address)
    places = {"project": folder, "outside": folder / "outside", "workspace": home}
    targets = {
        name: places[kind] / rest
        for name, (kind, _, rest) in ((name, name.partition("/")) for name in whole.parts)
        if kind in places
    }
    _refuse_existing(home, [*([database] if database else []), *targets.values()])
    with _undone_on_failure(folder) as made:
        _make_folders(folder, made)
        with scratch_beside(folder / "restore") as scratch:
            _unpack(archive, whole, scratch)
            if whole.store is not None and database is not None:
                copying.prepare_file(scratch / "store" / copying.DATABASE, whole.store)
            for name, target in targets.items():
                _put(scratch / name, target, made)
            # The store comes last: a folder that has it has everything.
            if database is not None:
                _put(scratch / "store" / copying.DATABASE, database, made)
            elif whole.store is not None:
                address = copying.copy_in(scratch / "store", whole.store, address)
    return Restored(
        folder=str(folder),
        workspace=str(home),
        store=str(database or address) if whole.store is not None else "",
        files=len(targets),
        outside=[str(target) for name, target in targets.items() if name.startswith("outside/")],
    )


class _SmallReads(gzip.GzipFile):
    """A compressed file that refuses large reads. `tarfile` reads the long names of a member into
    memory at whatever size the archive claims, which a few packed kilobytes can make gigabytes."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= BLOCK:
            raise tarfile.ReadError("the name of a member is too long")
        return super().read(size)


def _members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """The name, size and content of each member, of a tar or of a zip (format 1)."""
    with archive.open("rb") as file:
        if file.read(2) == b"PK":
            with zipfile.ZipFile(file) as zipped:
                for entry in zipped.infolist():
                    with zipped.open(entry) as source:
                        yield entry.filename, entry.file_size, source
            return
        file.seek(0)
        with (
            _SmallReads(fileobj=file, mode="rb") as packed,
            tarfile.open(fileobj=packed, mode="r:") as tar,
        ):
            for member in tar:
                content = tar.extractfile(member) if member.isreg() else None
                if content is None or member.issparse() or member.size < 0:
                    raise tarfile.ReadError(f"{member.name!r} is not a regular file")
                yield member.name, member.size, content
            while packed.read(BLOCK):
                pass  # to the end, where gzip has its checksum


@contextlib.contextmanager
def _reading(archive: Path) -> Iterator[None]:
    """Report an archive that cannot be read, or a disk that cannot be written."""
    try:
        yield
    except UNREADABLE as error:
        said = os_message(error) if isinstance(error, OSError) else str(error)
        raise _refused(archive, said or type(error).__name__) from error


def _refused(archive: Path, why: str) -> InputError:
    hint = "Give a file that assay backup has written. Nothing was restored."
    return InputError(f"cannot be restored: {why}", where=str(archive), hint=hint)


def _checked_manifest(archive: Path, free: int) -> Backup:
    """The manifest of an archive, after the names and sizes of all its members are checked."""
    raw: object = None
    names: Counter[str] = Counter()
    total = 0
    with _reading(archive):
        for name, size, source in _members(archive):
            total += size
            if total > free or (name == MANIFEST and size > LARGEST_MANIFEST):
                raise _refused(
                    archive,
                    f"it would unpack to {total / 2**30:,.1f} GiB or more, "
                    f"and {free / 2**30:,.1f} GiB are free",
                )
            if name == MANIFEST:
                raw = msgspec.json.decode(source.read())
            else:
                names[name] += 1
        if isinstance(raw, dict) and raw.get("format") not in range(FORMAT + 1):
            made_by = f"a newer Assay ({raw.get('assay')}). Upgrade Assay first"
            raise _refused(archive, f"it has format {raw.get('format')}, made by {made_by}")
        whole = msgspec.convert(raw, Backup)
    if bad := next((name for name in (*names, *whole.parts) if not is_carried(name)), ""):
        raise _refused(
            archive, f"it holds {bad!r}, and a backup holds only data, none of it hidden"
        )
    expected = {f"store/{file}" for file in whole.store.files()} if whole.store else set()
    if names != Counter(whole.parts.keys()) or not expected <= names.keys():
        raise _refused(archive, "its files are not those that were backed up")
    return whole


def _database_file(whole: Backup, address: str) -> Path | None:
    """The SQLite file to restore into; None for PostgreSQL and for a backup without a store."""
    if whole.store is None:
        return None
    copying.refuse_unknown_schema(whole.store)
    file = copying.database_file(address)
    if (file is not None) != (whole.store.backend == "sqlite"):
        raise InputError(
            f"the store in it is on {whole.store.backend} and is restored there",
            hint="Give such a store with --store.",
        )
    return file


def _refuse_existing(home: Path, targets: Sequence[Path]) -> None:
    there = [path for path in targets if os.path.lexists(path)]
    if home.exists() and any(home.iterdir()):
        there.insert(0, home)
    if there:
        raise InputError(
            "there is something already",
            where=str(there[0]),
            hint="Restore into an empty folder with --to. Nothing was restored.",
        )


def _unpack(archive: Path, whole: Backup, scratch: Path) -> None:
    """Copy every member into `scratch` and compare it with its digest."""
    with _reading(archive):
        for name, _, source in _members(archive):
            if name == MANIFEST:
                continue
            part, target = whole.parts[name], scratch / name
            digest, size = hashlib.sha256(), 0
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                while size <= part.size and (block := source.read(BLOCK)):
                    digest.update(block)
                    size += len(block)
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
            if (size, digest.hexdigest()) != (part.size, part.sha256):
                raise _refused(archive, f"{name} is not what was backed up")


@contextlib.contextmanager
def _undone_on_failure(folder: Path) -> Iterator[list[Path]]:
    """Give a list for the files and folders that are made, and remove them if the work fails."""
    made: list[Path] = []
    try:
        yield made
    except BaseException as error:
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        if isinstance(error, OSError):
            raise InputError(f"cannot write: {os_message(error)}", where=str(folder)) from error
        raise


def _make_folders(folder: Path, made: list[Path]) -> None:
    for place in reversed([folder, *folder.parents]):
        if not place.exists():
            place.mkdir()
            made.append(place)


def _put(source: Path, target: Path, made: list[Path]) -> None:
    _make_folders(target.parent, made)
    _place(source, target)
    made.append(target)


def _place(source: Path, target: Path) -> None:
    """Give a finished file its name in one step, and never the name of another file."""
    try:
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

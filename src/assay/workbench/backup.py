"""`assay backup` and `assay restore`: store, gold sets with their votes, and workspace in one file,
and back where there is nothing yet.

A decision changes a gold set and the store together, so both are copied while the sets are locked,
once what was interrupted is finished: who decides meanwhile waits. The file is complete or not
there; every part has its digest, and all are looked at before anything is put in its place."""

from __future__ import annotations

import contextlib
import hashlib
import lzma
import os
import shutil
import sqlite3
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Annotated

import msgspec

from assay import __version__
from assay.core.errors import InputError
from assay.core.files import os_message, scratch_beside, sync_folder
from assay.core.workspace import DATABASE, HOME, STORE, default_store, workspace
from assay.formats import is_irds
from assay.formats.gold_jsonl import locked
from assay.review.intents import heal, notes_beside
from assay.store import Store, open_store
from assay.store.copying import StoreCopy, copy_in, copy_out, odd_code, refuse_newer
from assay.workbench.backup_files import (
    Named,
    not_ours,
    project_files,
    workspace_files,
)
from assay.workbench.backup_names import brought_back, is_carried
from assay.workbench.backup_sets import bring_home, named_parts
from assay.workbench.config import CONFIG_NAME, read_config
from assay.workbench.opening import NoStore, open_service, sets_of

FORMAT = 1
MANIFEST = "backup.json"
LARGEST_MANIFEST = 256 * 2**20
BLOCK = 2**20
# what zipfile raises on a file that is no archive, or a damaged one: RuntimeError also where it is
# encrypted, packed in another way, or nested without end
DAMAGED = (
    *(OSError, EOFError, RuntimeError, ValueError, LookupError, OverflowError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    size: Annotated[int, msgspec.Meta(ge=0)]
    sha256: str


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a backup. `parts` are files by their names: of the store, of the project (relative
    to its folder), of gold sets outside it, and of the workspace; `left_out` are files that no
    backup holds, such as code that lies beside a set; `sets` says of the identities that the store
    knows which file is meant."""

    format: int = FORMAT
    assay: str = ""
    at: str = ""
    store: StoreCopy | None = None
    gold: list[str] = []
    parts: dict[str, Part] = {}
    left_out: list[str] = []
    sets: dict[str, str] = {}


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A backup in a few lines: the store, the sets, and how many files of each kind."""

    store: str
    gold_sets: list[str]
    files: dict[str, int]
    bytes: int
    left_out: list[str] = []


def summary(whole: Backup) -> Summary:
    kinds = Counter(name.partition("/")[0] for name in whole.parts)
    copied = whole.store
    return Summary(
        store=f"{copied.backend}, schema {copied.schema}" if copied else "none",
        gold_sets=whole.gold,
        files=dict(kinds),
        bytes=sum(part.size for part in whole.parts.values()),
        left_out=whole.left_out,
    )


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    workspace: str
    store: str  # empty where the backup has none
    files: int
    outside: list[str] = []  # gold sets that were outside the project, and where they are now


# ── making one ────────────────────────────────────────────────────────────────────────────────────


def make_backup(
    target: Path,
    *,
    store: str = "",
    gold: Sequence[Path] = (),
    config: Path | None = None,
    indexes: bool = True,
) -> Backup:
    """Everything that was made with Assay here, in one file that is not there yet. Without
    `indexes`, search indexes are left out: they are built again when they are missed."""
    if target.exists():
        raise InputError("there is a file already", where=str(target), hint="Give a new name.")
    named = _named(store, gold, config)
    home = workspace().absolute()
    with scratch_beside(target) as scratch:
        made = scratch / target.name
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            whole = _write(archive, scratch, store, named, home, indexes)
        made.chmod(0o600)  # it has the store in it, which is nobody else's
        _place(made, target)
    return whole


def _named(store: str, gold: Sequence[Path], config: Path | None) -> Named:
    """What the configuration, the caller and the store name; no store is needed for the others."""
    path = config or Path(CONFIG_NAME)
    settings = read_config(path) if config is not None or path.exists() else None
    try:
        with open_service(store, gold=gold, config=config, create=False) as service:
            sets = dict(service.gold_sets)
    except NoStore:
        if store:
            raise
        sets = sets_of(None, settings, gold)
    return Named(path, sets, settings)


def _write(
    archive: zipfile.ZipFile,
    scratch: Path,
    store: str,
    named: Named,
    home: Path,
    indexes: bool,
) -> Backup:
    parts: dict[str, Part] = {}
    sets = named.sets
    with _whole_sets(store, sets.values()) as (opened, left_out):
        left_out += not_ours(named)
        files = project_files(named)
        known = named_parts(opened, sets, files) if opened is not None else {}
        _refuse_odd_sets(files, sets.values())
        copied = _store_out(store, scratch)
        for name, path in files.items():
            if is_carried(name):
                parts[name] = _add(archive, name, path)
            else:
                left_out.append(str(path))
    if copied is not None:
        for path in sorted((scratch / "store").iterdir()):
            parts[f"store/{path.name}"] = _add(archive, f"store/{path.name}", path)
    database = Path(default_store()).absolute()
    for name, path in workspace_files(home, database, indexes):
        if is_carried(name):
            parts[name] = _add(archive, name, path)
        else:
            left_out.append(str(path))
    whole = Backup(
        assay=__version__,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        store=copied,
        gold=sorted(name for name, path in sets.items() if path.exists() or is_irds(path)),
        parts=parts,
        left_out=left_out,
        sets=known,
    )
    archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(whole), indent=1))
    return whole


@contextlib.contextmanager
def _whole_sets(store: str, sets: Iterable[Path]) -> Iterator[tuple[Store | None, list[str]]]:
    """The sets locked, with all that was decided in their files: a note of what is still to be
    written is in no backup. Gives the store, and the notes of others, which only these can read."""
    notes: list[str] = []
    with contextlib.ExitStack() as held:
        opened = _opened_store(store, held)
        for path in {path.resolve(): path for path in sets}.values():
            begun = notes_beside(path)
            if path.exists() and (begun or os.access(path.resolve().parent, os.W_OK)):
                held.enter_context(locked(path, wait=30.0))
                if opened is not None:
                    heal(opened, path)
                notes += map(str, notes_beside(path))
        yield opened, notes


def _opened_store(store: str, held: contextlib.ExitStack) -> Store | None:
    try:
        opened = open_store(store or default_store(), create=False)
    except NoStore:
        if store:
            raise
        return None
    held.callback(opened.close)
    return opened


def _store_out(store: str, scratch: Path) -> StoreCopy | None:
    (scratch / "store").mkdir()
    try:
        return copy_out(store or default_store(), scratch / "store")
    except NoStore:
        if store:
            raise
        return None


def _refuse_odd_sets(files: dict[str, Path], sets: Iterable[Path]) -> None:
    """A gold set is in the backup, or there is none."""
    places = {path.resolve() for path in sets}
    if odd := next((p for name, p in files.items() if p in places and not is_carried(name)), None):
        raise InputError(
            "a gold set of this name cannot be backed up",
            where=str(odd),
            hint="Give it a usual ending, as in .jsonl or .qrels, and a name without \\ and ':'.",
        )


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> Part:
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as inside:
            while block := source.read(BLOCK):
                digest.update(block)
                size += len(block)
                inside.write(block)
    except OSError as error:
        raise InputError(f"cannot be copied: {os_message(error)}", where=str(path)) from error
    return Part(size=size, sha256=digest.hexdigest())


# ── bringing it back ──────────────────────────────────────────────────────────────────────────────


def restore_backup(archive: Path, folder: Path, *, store: str = "") -> Restored:
    """A backup into a folder, its workspace and its store, where nothing of it is yet. Nothing is
    written over, and nothing is put in place before all of it was read and is what it says."""
    with _opened(archive) as inside:
        whole = _manifest(inside, archive)
        home = workspace().absolute() if os.environ.get(HOME) else folder.absolute() / ".assay"
        address = store or os.environ.get(STORE, "") or str(home / DATABASE)
        targets = {name: target for name in whole.parts if (target := _target(name, folder, home))}
        _refuse_existing(whole, targets, home, address)
        _refuse_flood(whole, folder, archive)
        with _made_or_gone(folder), scratch_beside(folder / "restore") as scratch:
            for name, part in whole.parts.items():
                _unpack(inside, name, part, scratch / name, archive)
            _check_store(whole, scratch, archive)
            _put_all(whole, scratch, targets, address, folder.absolute())
    if whole.store is not None:
        opened = open_store(address, create=False)
        opened.close()
        address = opened.address
    outside = [str(target) for name, target in targets.items() if name.startswith("outside/")]
    return Restored(
        folder=str(folder),
        workspace=str(home),
        store=address if whole.store is not None else "",
        files=len(targets),
        outside=outside,
    )


def _opened(archive: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(archive)
    except DAMAGED as error:
        raise InputError(f"not a backup: {_said(error)}", where=str(archive)) from error


def _said(error: BaseException) -> str:
    if isinstance(error, OSError):
        return os_message(error)
    return f"it has no {error}" if isinstance(error, KeyError) else str(error) or "it is damaged"


@contextlib.contextmanager
def _made_or_gone(folder: Path) -> Iterator[None]:
    """A folder that was not there is not there again where nothing came of it."""
    undo = _made_folders(folder)
    try:
        yield
    except BaseException:
        _undone(undo)
        raise


def _manifest(inside: zipfile.ZipFile, archive: Path) -> Backup:
    hint = "Give a file that assay backup has written."
    try:
        if inside.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
            raise InputError(f"not a backup: its {MANIFEST} is too large", where=str(archive))
        raw = msgspec.json.decode(inside.read(MANIFEST))
        if isinstance(raw, dict) and isinstance(raw.get("format"), int) and raw["format"] > FORMAT:
            raise InputError(
                f"a backup of format {raw['format']}, made by a newer Assay ({raw.get('assay')})",
                where=str(archive),
                hint="Upgrade Assay first.",
            )
        whole = msgspec.convert(raw, Backup)
    except (msgspec.MsgspecError, *DAMAGED) as error:
        raise InputError(f"not a backup: {_said(error)}", where=str(archive), hint=hint) from error
    if bad := next((name for name in whole.parts if not is_carried(name)), ""):
        raise InputError(
            f"not a backup: it names {bad!r}, which no backup holds",
            where=str(archive),
            hint="A backup holds data alone, in no hidden folder. Do not use this file.",
        )
    if whole.store is not None:
        refuse_newer(whole.store)
        if odd := _odd_store(whole, whole.store):
            raise InputError(f"not a backup: {odd}", where=str(archive), hint=hint)
    return whole


def _odd_store(whole: Backup, copied: StoreCopy) -> str:
    """Why the store that a manifest names cannot come from us; empty where it can."""
    if any(not name.isidentifier() for name in copied.tables):
        return "it names strange tables"
    if copied.backend not in ("sqlite", "postgresql"):
        return f"it names a store on {copied.backend!r}"
    files = [DATABASE] if copied.backend == "sqlite" else [f"{name}.copy" for name in copied.tables]
    gone = next((name for name in files if f"store/{name}" not in whole.parts), "")
    return f"it names a store without {gone}" if gone else ""


def _check_store(whole: Backup, scratch: Path, archive: Path) -> None:
    """A database that can be opened, before it is put anywhere."""
    if whole.store is None or whole.store.backend != "sqlite":
        return
    try:
        with contextlib.closing(sqlite3.connect(scratch / "store" / DATABASE)) as connection:
            if odd := odd_code(connection, whole.store.schema):  # before anything of it runs
                raise InputError(
                    f"not a backup: its database has {odd!r}, which no store has",
                    where=str(archive),
                    hint="A backup holds data alone. Do not use this file.",
                )
            said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            schema = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        said, schema = str(error), None
    if said != "ok" or schema != (whole.store.schema,):
        raise InputError(
            f"not a backup: the database in it is damaged ({said})", where=str(archive)
        )


def _target(name: str, folder: Path, home: Path) -> Path | None:
    kind, _, rest = name.partition("/")
    places = {"project": folder, "outside": folder / "outside", "workspace": home}
    return places[kind] / PurePosixPath(brought_back(rest)) if kind in places else None


def _refuse_existing(whole: Backup, targets: dict[str, Path], home: Path, address: str) -> None:
    hint = "Restore into an empty folder with --to. Nothing was written."
    there = [path for path in targets.values() if os.path.lexists(path)]
    if home.exists() and any(home.iterdir()):
        there.insert(0, home)
    if whole.store is not None and "://" not in address and Path(address).exists():
        there.insert(0, Path(address))
    if there:
        raise InputError("there is something already", where=str(there[0]), hint=hint)


def _refuse_flood(whole: Backup, folder: Path, archive: Path) -> None:
    """A small file may unpack to very much, on a disk that others write to."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    wanted, free = sum(part.size for part in whole.parts.values()), shutil.disk_usage(there).free
    if wanted > free:
        sizes = f"{wanted / 2**30:,.1f} GiB, and there is room for {free / 2**30:,.1f} GiB"
        raise InputError(f"it would unpack to {sizes}", where=str(archive))


def _unpack(inside: zipfile.ZipFile, name: str, part: Part, target: Path, archive: Path) -> None:
    """Read no further than it says, and be what it says."""
    digest, size = hashlib.sha256(), 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with inside.open(name) as source, target.open("wb") as file:
            while (block := source.read(BLOCK)) and size <= part.size:
                digest.update(block)
                size += len(block)
                file.write(block)
            _to_disk(file)
    except DAMAGED as error:
        raise InputError(
            f"{name} cannot be read: {_said(error)}",
            where=str(archive),
            hint="The file is damaged: take another backup. Nothing was written.",
        ) from error
    if (size, digest.hexdigest()) != (part.size, part.sha256):
        raise InputError(
            f"{name} is not what was backed up",
            where=str(archive),
            hint="The file is damaged: take another backup. Nothing was written.",
        )


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _put_all(
    whole: Backup, scratch: Path, targets: dict[str, Path], address: str, folder: Path
) -> None:
    """All of it, or none: what was placed is taken away again where something fails. The store
    comes last, and is all there or not: who finds it has the whole."""
    undo: list[Callable[[], None]] = []
    try:
        for name, target in targets.items():
            undo += _made_folders(target.parent)
            _place(scratch / name, target)
            undo.append(target.unlink)
        if whole.store is not None and whole.store.backend == "sqlite":
            place = Path(address.removeprefix("sqlite:///"))
            undo += _made_folders(place.parent)
            (scratch / "store" / DATABASE).chmod(0o600)
            begun = place.with_name(f"{place.name}.restoring")
            _place(scratch / "store" / DATABASE, begun)
            undo.append(begun.unlink)
            _settle(str(begun), whole, folder)
            _place(begun, place)
            undo.append(place.unlink)
            begun.unlink(missing_ok=True)
        elif whole.store is not None:
            copy_in(scratch / "store", whole.store, address)
            _settle(address, whole, folder)
    except BaseException:
        _undone(undo)
        raise


def _settle(address: str, whole: Backup, folder: Path) -> None:
    """Bring an older schema up to date, and have the store be one of its own: what the first
    begins beside a set is not this one's to end, and the sets are those that came back."""
    opened = open_store(address, create=False)
    try:
        opened.renew_identity()
        bring_home(opened, whole.sets, lambda name: _target(name, folder, folder), whole.parts)
    finally:
        opened.close()


def _undone(steps: Sequence[Callable[[], None]]) -> None:
    for step in reversed(steps):
        with contextlib.suppress(OSError):
            step()


def _made_folders(folder: Path) -> list[Callable[[], None]]:
    """Make it, and say how to take away what was not there."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return [place.rmdir for place in reversed(missing)]


def _place(made: Path, target: Path) -> None:
    """Under its name in one step, and over nothing."""
    try:
        try:
            os.link(made, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links, or another one
            if target.exists():
                raise FileExistsError(17, "file exists") from None
            shutil.move(made, target)
        sync_folder(target.parent)
    except FileExistsError as error:
        raise InputError(
            "there is something already", where=str(target), hint="Nothing is written over."
        ) from error
    except OSError as error:
        raise InputError(f"cannot write: {os_message(error)}", where=str(target)) from error

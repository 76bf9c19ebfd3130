"""An open project (`Service`): its store, gold sets, configuration and workspace, with caches of
what is computed from runs and files.

File locks work between the processes of one machine, and not over a network disk. So a running
server writes its host into the workspace, and a server on another host refuses to start."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from assay import formats
from assay.core.decoding import thread_safe
from assay.core.errors import InputError, NotHere
from assay.core.files import looking_once, write_atomic
from assay.core.types import WHOLE_DOCUMENTS, GoldSet
from assay.core.workspace import default_store, workspace
from assay.gold.acts import BEGIN
from assay.gold.log import open_log, read_acts
from assay.store import NoStore, open_store
from assay.telemetry.recorder import Recorder, Recording
from assay.telemetry.spill import FOLDER, Spill
from assay.workbench.project.config import CONFIG_NAME, Config, read_config

if TYPE_CHECKING:
    from assay.store import Store


# ── caches ────────────────────────────────────────────────────────────────────────────────────────


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentValues(Generic[K, V]):
    """The values of the `limit` keys used last. Safe for threads; two threads that ask for a new
    key at the same time may both compute its value, which is the same."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def of(self, key: K, find: Callable[[], V]) -> V:
        """The cached value of a key, or else the result of `find`, which is then cached. An error
        is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = find()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self.limit:
                self._values.popitem(last=False)
        return value


T = TypeVar("T")

MAX_VALUES = 512  # values; comparisons of two runs are the largest (taste)
_values = RecentValues[tuple[Hashable, ...], Any](MAX_VALUES)


def compute_once(key: tuple[Hashable, ...], find: Callable[[], T]) -> T:
    """The value of `find`, computed once for each key. The first part of a key names its kind."""
    value: T = _values.of(key, find)
    return value


__all__ = [
    "NoStore",
    "Recording",
    "Service",
    "SetNotOpen",
    "gold_path",
    "looking_once",
    "open_service",
]


SEPARATOR = ":"  # between folder and file: a name is one part of the address of a page
FIRST_LINES = 1000  # of a log, among which is the one that says whose it is; chosen
DEPTH = 3  # levels of folders below the project that are searched for sets with a log; chosen


def _now() -> datetime:
    return datetime.now(UTC)


def _ignore(message: str) -> None:
    """Discard progress messages."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """An open project: its store, gold sets, configuration and workspace. `gold_sets` are files by
    the name that people use, `clock` tells the time, `recorder` logs searches of a server, and
    `say` is told what takes long."""

    store: Store
    gold_sets: Mapping[str, Path] = field(default_factory=dict)
    config: Config | None = None
    project: Path = field(default_factory=Path.cwd)
    home: Path | None = None
    clock: Callable[[], datetime] = _now
    recorder: Recorder | None = None
    say: Callable[[str], None] = _ignore
    opens_files: bool = True  # whether a gold set may be named by its file: not by strangers

    @cached_property
    def run_names(self) -> dict[Path, list[str]]:
        """The names under which runs on each gold set are stored, by its path: pages look them up
        for every run, and a path takes long to resolve."""
        paths = {*configured_sets(self.config).values(), *self.gold_sets.values()}
        return {path: _run_names(self, path) for path in paths}


@contextlib.contextmanager
def open_service(
    store: str = "",
    *,
    gold: Sequence[Path] = (),
    config: Path | None = None,
    home: Path | None = None,
    recording: Recording | None = None,
    create: bool = True,
    read_only: bool = False,
    say: Callable[[str], None] = _ignore,
) -> Iterator[Service]:
    """A service on a store, with the gold sets and engines of `assay.toml` (where there is one),
    the gold sets given, and those of the project that have a log. With `recording` it logs
    searches. Without `create`, there must be a store; with `read_only`, nothing is written to
    it."""
    target = store or default_store(home)
    path = config or Path(CONFIG_NAME)
    settings = read_config(path) if config is not None or path.exists() else None
    opened = open_store(target, create=create, read_only=read_only)
    recorder = None
    if recording is not None:
        spill = Spill(target, recording.spill_bytes, workspace(home) / FOLDER)
        recorder = Recorder(lambda: open_store(target), recording, spill)
    if opened.created:
        say(f"new store: {opened.address}")
    for note in opened.notes:
        say(f"{opened.address}: {note}")
    project = path.resolve().parent
    try:
        sets = sets_of(settings, gold, project, opened)
        attach_past(opened, sets.values())
        yield Service(
            store=opened,
            gold_sets=sets,
            config=settings,
            project=project,
            home=home,
            recorder=recorder,
            say=say,
        )
    finally:
        if recorder is not None:
            recorder.close()
        opened.close()


def reopen_service(service: Service) -> Service:
    """The service with the gold sets and the configuration that the project has now."""
    path = service.project / CONFIG_NAME
    config = read_config(path) if path.exists() else service.config
    sets = sets_of(config, tuple(service.gold_sets.values()), service.project, service.store)
    return replace(service, config=config, gold_sets=sets)


def attach_past(store: Store, paths: Iterable[Path]) -> None:
    """Sets that have no log yet may have a past in the tables of an earlier version."""
    from assay.store import legacy

    if not legacy.identities(store):
        return
    for path in paths:
        log = open_log(path)
        if not log.path.exists():
            log.earlier.attach(store)


def sets_of(
    config: Config | None,
    paths: Sequence[Path] = (),
    project: Path | None = None,
    store: Store | None = None,
) -> dict[str, Path]:
    """The gold sets of the configuration, those given, and those found in the project, each once.
    Two files of one name are told apart by their folders."""
    sets = configured_sets(config)
    project = project or Path.cwd()
    for path in (
        *paths,
        *_find_sets_with_log(project),
        *_find_answer_sets(project),
        *_find_sets_of_earlier_version(project, store),
    ):
        _add_set(sets, path)
    return sets


def _find_sets_with_log(project: Path) -> Iterator[Path]:
    """The sets of a project that have a log."""
    for depth in range(DEPTH + 1):
        for log in sorted(project.glob("*/" * depth + "*.log.jsonl")):
            if any(part.startswith(".") for part in log.relative_to(project).parts):
                continue
            first = (act for act in islice(read_acts(log), FIRST_LINES) if act.action == BEGIN)
            if (begun := next(first, None)) is not None:
                dataset = log.with_name(Path(begun.subject.get("set", "")).name)
                if dataset.is_file():
                    yield dataset


def _find_answer_sets(project: Path) -> Iterator[Path]:
    """The sets of answers that are ready to judge, also before the first vote."""
    for depth in range(DEPTH + 1):
        for path in sorted(project.glob("*/" * depth + f"*.{WHOLE_DOCUMENTS}")):
            dataset = path.with_name(f"{path.name.removesuffix(f'.{WHOLE_DOCUMENTS}')}.json")
            if dataset.is_file() and not path.relative_to(project).as_posix().startswith("."):
                yield dataset


def _find_sets_of_earlier_version(project: Path, store: Store | None) -> Iterator[Path]:
    """The sets of a project that a store of an earlier version knows."""
    if store is None:
        return
    from assay.store import legacy

    for identity in sorted(legacy.identities(store)):
        path = Path(re.sub(r"^(.*#|\./)", "", identity))
        inside = not path.is_absolute() and ".." not in path.parts
        if inside and (project / path).is_file():
            yield project / path


def _add_set(sets: dict[str, Path], path: Path) -> None:
    place = path.resolve()
    if place in {each.resolve() for each in sets.values()}:
        return
    parts = place.with_suffix("").parts[1:]
    names = (SEPARATOR.join(parts[-some:]) for some in range(1, len(parts) + 1))
    free = (name for name in names if name not in sets)
    sets[next(free, str(place).replace("/", SEPARATOR))] = path


def project_sets() -> dict[str, Path]:
    """The gold sets of the project in this folder."""
    path = Path(CONFIG_NAME)
    return sets_of(read_config(path) if path.exists() else None)


def configured_sets(config: Config | None) -> dict[str, Path]:
    return {name: Path(gold.path) for name, gold in config.gold.items()} if config else {}


# ── gold sets by name ─────────────────────────────────────────────────────────────────────────────


def gold_path(service: Service, name: str) -> Path:
    """The file of a set, by its name or its name in the history."""
    if name in service.gold_sets:
        return service.gold_sets[name]
    for path in service.gold_sets.values():
        if name in run_names(service, path):
            return path
    if service.opens_files and name and Path(name).is_file():
        return Path(name)
    known_names = ", ".join(service.gold_sets)
    hint = f"Known: {known_names or 'none yet. Name one in assay.toml or with --gold'}."
    raise NotHere(f"no gold set {name!r}", hint=hint)


class SetNotOpen(NotHere):
    """A request for something in a gold set that is not open."""


def path_of_stored_name(service: Service, name: str) -> Path:
    """The file of the set that a run was made on."""
    for path in service.gold_sets.values():
        if name in run_names(service, path):
            return path
    raise SetNotOpen(
        f"this belongs to a set that is not open here: {name}",
        hint="Open its file with --gold.",
    )


def read_gold(service: Service, name: str) -> GoldSet:
    return formats.read_gold(gold_path(service, name))


def run_names(service: Service, path: Path) -> list[str]:
    """The names under which runs on a set are stored: its name in assay.toml, and its path in the
    project from before it had one."""
    return service.run_names.get(path) or _run_names(service, path)


def _run_names(service: Service, path: Path) -> list[str]:
    place = path.resolve()
    names = [n for n, file in configured_sets(service.config).items() if file.resolve() == place]
    inside = place.is_relative_to(service.project)
    own = place.relative_to(service.project).as_posix() if inside else str(place)
    return [*names[:1], own]


def run_name(service: Service, path: Path) -> str:
    return run_names(service, path)[0]


def stored_names(service: Service, gold: str) -> list[str]:
    """The names in the history of a set that is open, of a file, or of one that only has runs; none
    for all sets."""
    if not gold:
        return []
    with contextlib.suppress(NotHere):
        return run_names(service, gold_path(service, gold))
    known = service.store.run_golds()
    if gold not in known:
        names = ", ".join(dict.fromkeys([*service.gold_sets, *known]))
        raise NotHere(f"no gold set {gold!r}", hint=f"Known: {names or 'none yet'}.")
    return [gold]


def stored_name(service: Service, gold: str) -> str:
    """The name that runs on a set are kept under; empty for all sets."""
    return next(iter(stored_names(service, gold)), "")


# ── one server ────────────────────────────────────────────────────────────────────────────────────


SERVER_FILE = "server.json"
BEAT_SECONDS = 20.0  # how often a server shows that it is alive; chosen
GONE_SECONDS = 60.0  # without a sign of life for three beats, a server counts as stopped


class _RunningServer(msgspec.Struct, frozen=True):
    host: str
    process: int


@contextlib.contextmanager
def only_on_this_host() -> Iterator[None]:
    """Refuse servers on other hosts for as long as this one runs. A workspace that cannot be
    written tells nobody."""
    file = workspace() / SERVER_FILE
    other = _server_alive(file)
    if other is not None and other.host != socket.gethostname():
        raise InputError(
            f"a server on {other.host} is using this project",
            where=str(file),
            hint="Stop it first. A project is used by one server, on a local disk.",
        )
    stop = threading.Event()
    with contextlib.suppress(InputError, OSError):
        running = _RunningServer(host=socket.gethostname(), process=os.getpid())
        write_atomic(file, msgspec.json.encode(running))
        threading.Thread(target=_beat, args=(file, stop), daemon=True).start()
    try:
        yield
    finally:
        stop.set()
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            if _read_running(file).process == os.getpid():
                file.unlink()


def _server_alive(file: Path) -> _RunningServer | None:
    try:
        found = _read_running(file)
        is_alive = time.time() - file.stat().st_mtime < GONE_SECONDS
    except (OSError, msgspec.MsgspecError):
        return None
    return found if is_alive else None


def _read_running(file: Path) -> _RunningServer:
    return msgspec.json.decode(file.read_bytes(), type=thread_safe(_RunningServer))


def _beat(file: Path, stop: threading.Event) -> None:
    while not stop.wait(BEAT_SECONDS):
        with contextlib.suppress(OSError):
            os.utime(file)

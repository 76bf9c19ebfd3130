"""The health of a project: its store, indexes, engines and gold sets, for Home, the metrics and
`assay doctor`, which also checks the installation; and the plugins of `assay plugins`."""

from __future__ import annotations

import contextlib
import os
import platform
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from assay import __version__, formats
from assay.core import plugins
from assay.core.errors import AssayError
from assay.core.extras import SHOWN_EXTRAS, MissingExtra, installed_versions
from assay.core.files import leftovers, remove_leftovers
from assay.core.plugins import Plugin
from assay.core.types import Query
from assay.core.workspace import STORE, default_store, workspace
from assay.corpus.disk import list_corpora, open_corpus
from assay.corpus.importers.kinds import IMPORTERS
from assay.engines.calling import AllFailed
from assay.engines.engine_table import EngineConfig
from assay.engines.indexed import index_state
from assay.engines.running import ENGINES, ask_engine
from assay.evaluation.measures import FORMULAS
from assay.gold.log import open_log
from assay.gold.projection import state_of_file
from assay.gold.rows import has_log
from assay.judging.machine import JUDGES
from assay.review.backlog import (
    Backlog,
    ExternalBacklog,
    HalachaBacklog,
    backlog_metrics,
    count_external_backlogs,
    external_metrics,
    metric,
)
from assay.review.queue import is_stray, items_of
from assay.search.dense import ENCODERS
from assay.store import NoStore, StoreError, StoreOutdated, open_store
from assay.telemetry.recorder import Counts
from assay.telemetry.spill import FOLDER
from assay.telemetry.spill import count_waiting as waiting_to_be_sent
from assay.workbench.project.config import CONFIG_NAME, Config, read_config
from assay.workbench.project.service import Service, attach_past, sets_of
from assay.workbench.review.queue import BacklogFigures, backlog_figures, recent_external_backlogs
from assay.workbench.review.rebuild import rebuild

if TYPE_CHECKING:
    from assay.store import Store


S = TypeVar("S", bound=msgspec.Struct)


class FailedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A part that cannot be checked, and why."""

    status: str = "failed"
    error: str


class StoreHealth(msgspec.Struct, frozen=True, kw_only=True):
    status: str = "ok"
    backend: str
    version: str
    schema: str
    rows: dict[str, int]
    millis: float
    address: str | UnsetType = UNSET
    note: str | UnsetType = UNSET


class UnopenedStore(msgspec.Struct, frozen=True, kw_only=True):
    """A store that is not open although nothing is wrong: none was named and there is none yet, or
    it is of an earlier version."""

    status: str = "ok"
    note: str = "none yet"


class CorpusHealth(msgspec.Struct, frozen=True, kw_only=True):
    documents: int
    fingerprint: str
    index: str


class UnreadableCorpus(msgspec.Struct, frozen=True, kw_only=True):
    error: str


class IndexHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Every corpus, and whether its search index is `ready`."""

    status: str
    corpora: dict[str, CorpusHealth | UnreadableCorpus]


class EngineHealth(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    error: str | UnsetType = UNSET
    millis: float | UnsetType = UNSET


class EnginesHealth(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    engines: dict[str, EngineHealth]


class GoldHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Whether gold files and their logs agree. A log that is damaged or unreadable is a failure. A
    gold file that is behind its log, or was edited by hand, is corrected by the next command that
    writes to the set."""

    status: str = "ok"
    without_a_query: dict[str, int] = {}  # suggestions whose query has left the set
    notes: list[str] = []  # gold files that are behind their log, or were edited by hand
    damaged: list[str] = []  # lines of logs that were set aside
    unreadable: list[str] = []


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Counts that change by the minute: items to review, searches, and the telemetry of this
    process. `searches` are those in the store, whoever logged them."""

    at: datetime
    review: BacklogFigures
    searches: int
    telemetry: Counts | None


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a project, part by part. There are no `figures` without a store."""

    store: StoreHealth | UnopenedStore | FailedCheck
    index: IndexHealth | FailedCheck
    engines: EnginesHealth | FailedCheck
    gold: GoldHealth | FailedCheck
    backlogs: dict[str, ExternalBacklog]
    figures: Figures | None

    @property
    def is_well(self) -> bool:
        parts = (self.store, self.index, self.engines, self.gold, *self.backlogs.values())
        return all(part.status == "ok" for part in parts)


@dataclass(frozen=True, kw_only=True)
class ClosedProject:
    """A project whose store is not open, and why."""

    store: UnopenedStore | FailedCheck
    config: Config | None
    home: Path | None = None

    @property
    def gold_sets(self) -> dict[str, Path]:
        return sets_of(self.config)


def health(project: Service | ClosedProject, *, probe: bool = False) -> Health:
    """Check the store, indexes, engines and gold sets of a project, each by itself: one that fails
    is named, and does not hide the others. With `probe`, every engine answers one query.

    `assay doctor` and the diagnostics endpoint show all of it; Home and the metrics show the
    figures."""
    store: StoreHealth | UnopenedStore | FailedCheck
    if isinstance(project, ClosedProject):
        store, found = project.store, None
        sources = project.config.backlog if project.config else {}
        backlogs = count_external_backlogs(sources, datetime.now(UTC))
    else:
        opened = project
        store = check(lambda: store_health(opened.store))
        found = figures(opened) if store.status == "ok" else None
        backlogs = found.review.backlogs if found else recent_external_backlogs(opened)
    return Health(
        store=store,
        index=check(lambda: index_health(project.home)),
        engines=check(lambda: engines_health(project.config, probe)),
        gold=check(lambda: gold_health(project.gold_sets)),
        backlogs=backlogs,
        figures=found,
    )


def figures(service: Service) -> Figures:
    """The figures of an open project; an error where its store cannot be read."""
    return Figures(
        at=service.clock(),
        review=backlog_figures(service),
        searches=service.store.search_total(),
        telemetry=service.recorder.counts() if service.recorder is not None else None,
    )


# ── the parts ─────────────────────────────────────────────────────────────────────────────────────


def check(part: Callable[[], S]) -> S | FailedCheck:
    """The health of a part, or why it cannot be told."""
    try:
        return part()
    except AssayError as error:
        return FailedCheck(error=str(error))


def store_health(store: Store) -> StoreHealth:
    started = time.perf_counter()
    facts = msgspec.structs.asdict(store.health())
    return StoreHealth(**facts, millis=(time.perf_counter() - started) * 1000)


def gold_health(gold_sets: Mapping[str, Path]) -> GoldHealth:
    notes, damaged, unreadable = list[str](), list[str](), list[str]()
    lost: Counter[str] = Counter()
    for name, path in sorted(gold_sets.items()):
        if not has_log(path) or not path.exists():
            continue
        try:
            log = open_log(path)
            notes += filter(None, [state_of_file(path)])
            lost[name] = sum(map(is_stray, items_of(name, path)))
        except (AssayError, OSError) as error:
            unreadable.append(f"{name}: {error}")
            continue
        damaged += filter(None, [log.damage()])
        if log.newer:
            unreadable.append(f"{log.path}: it has lines of a newer Assay; upgrade")
    return GoldHealth(
        status="failed" if damaged or unreadable else "ok",
        without_a_query={name: many for name, many in lost.items() if many},
        notes=notes,
        damaged=damaged,
        unreadable=unreadable,
    )


def index_health(home: Path | None) -> IndexHealth:
    """An index that is missing is built at the first search, so that only a corpus or an index that
    is damaged is a failure."""
    corpora: dict[str, CorpusHealth | UnreadableCorpus] = {}
    status = "ok"
    for name in list_corpora(home):
        try:
            corpus = open_corpus(home, name)
            index = index_state(corpus, home)
            corpora[name] = CorpusHealth(
                documents=len(corpus), fingerprint=corpus.fingerprint, index=index
            )
            status = "failed" if "damaged" in index else status
        except AssayError as error:
            corpora[name], status = UnreadableCorpus(error=str(error)), "failed"
    return IndexHealth(status=status, corpora=corpora)


def engines_health(config: Config | None, probe: bool) -> EnginesHealth:
    """The health of the engines. With `probe`, each answers one query."""
    configured = config.engines if config is not None else {}
    not_probed = EngineHealth(status="not probed")
    engines = {name: _probe(engine) if probe else not_probed for name, engine in configured.items()}
    failed = any(engine.status == "failed" for engine in engines.values())
    return EnginesHealth(status="failed" if failed else "ok", engines=engines)


def _probe(engine: EngineConfig) -> EngineHealth:
    if not (engine.search_module or engine.kind or engine.routes):
        source = engine.run or engine.corpus
        if source is not None and not Path(source).exists():
            return EngineHealth(status="failed", error=f"{source} is missing")
        return EngineHealth(status="ok")
    queries = [
        Query(id=corpus or "test", text="test", corpus=corpus) for corpus in engine.routes or [""]
    ]
    try:
        _, results = ask_engine(_without_retries(engine), queries, top_k=1)
    except AllFailed as error:
        return EngineHealth(status="failed", error=error.first)
    except AssayError as error:
        return EngineHealth(status="failed", error=str(error))
    times = [result.millis for result in results if result.millis is not None]
    return EngineHealth(status="ok", millis=max(times, default=0.0))


def _without_retries(engine: EngineConfig) -> EngineConfig:
    """The engine, asked once: a probe does not wait for an engine to come back."""
    calls = msgspec.structs.replace(engine.calls, retries=0, warm_up=0)
    routes = {corpus: _without_retries(part) for corpus, part in engine.routes.items()}
    return msgspec.structs.replace(engine, calls=calls, routes=routes)


# ── the diagnostics endpoint ──────────────────────────────────────────────────────────────────────


class Diagnostics(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a running service: `degraded` when any part is not well. Parts without anything
    to report are left out."""

    status: str
    version: str
    at: str
    store: StoreHealth | UnopenedStore | FailedCheck
    index: IndexHealth | FailedCheck
    engines: EnginesHealth | FailedCheck
    gold: GoldHealth | FailedCheck
    telemetry: Counts | UnsetType = UNSET
    backlog: Backlog | UnsetType = UNSET
    halacha_backlog: HalachaBacklog | UnsetType | None = UNSET
    backlogs: dict[str, ExternalBacklog] = {}


def diagnostics(service: Service, *, probe: bool = False) -> Diagnostics:
    """The health of a running service, for those who watch it."""
    found = health(service, probe=probe)
    review = found.figures.review if found.figures else None
    return Diagnostics(
        status="ok" if found.is_well else "degraded",
        version=__version__,
        at=service.clock().isoformat(),
        store=found.store,
        index=found.index,
        engines=found.engines,
        gold=found.gold,
        telemetry=service.recorder.counts() if service.recorder is not None else UNSET,
        backlog=review.backlog if review else UNSET,
        halacha_backlog=review.halacha_backlog if review else UNSET,
        backlogs=found.backlogs,
    )


# ── Prometheus ────────────────────────────────────────────────────────────────────────────────────


def prometheus(service: Service) -> str:
    """The metrics page. When the store is down it says so, and still reports what telemetry
    knows."""
    try:
        found = figures(service)
        text, up = backlog_metrics(found.review.backlog), 1
        total = [("", float(found.searches))]
        text += metric("assay_searches_kept", "Searches in the store.", total)
    except StoreError:
        text, up = "", 0
    text += metric("assay_store_up", "Whether the store answers.", [("", up)])
    text += external_metrics(recent_external_backlogs(service))
    if service.recorder is None:
        return text
    counts = service.recorder.counts()
    for name in ("accepted", "written", "dropped", "lost", "unreadable"):
        meaning = f"Searches {name} since the start."
        value = [("", float(getattr(counts, name)))]
        text += metric(f"assay_telemetry_{name}_total", meaning, value, "counter")
    meaning = "Searches in a file until the store is back."
    return text + metric("assay_telemetry_spilled", meaning, [("", float(counts.spilled))])


# ── `assay doctor` and `assay plugins` ────────────────────────────────────────────────────────────


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    status: str = "ok"
    assay: str
    python: str
    sqlite: str
    system: str
    processors: int | None


class WorkspaceHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of corpora, indexes and the store; `leftovers` are temporary files of killed
    processes, which the next start of the server removes."""

    status: str
    path: str
    leftovers: list[str] | UnsetType = UNSET
    note: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    status: str = "ok"
    path: str | UnsetType = UNSET
    gold_sets: int | UnsetType = UNSET
    engines: int | UnsetType = UNSET
    note: str | UnsetType = UNSET


class ExternalHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The external backlogs; left out where none is configured."""

    status: str
    tables: dict[str, ExternalBacklog]


class Checkup(msgspec.Struct, frozen=True, kw_only=True):
    """The installation and the health of the project; a part that fails hides no other."""

    status: str
    environment: Environment
    extras: dict[str, str]
    workspace: WorkspaceHealth | FailedCheck
    configuration: Configuration | FailedCheck
    store: StoreHealth | UnopenedStore | FailedCheck
    index: IndexHealth | FailedCheck
    engines: EnginesHealth | FailedCheck
    gold: GoldHealth | FailedCheck
    halacha_backlog: HalachaBacklog | UnsetType | None = UNSET
    backlogs: ExternalHealth | UnsetType = UNSET


def repair_project(store: str = "", *, config: Path | None = None) -> list[str]:
    """Upgrade the store, and write the gold files of this project that are behind their logs. Gives
    a message for everything that was done, or could not be."""
    settings, _ = _read_configuration(config)
    messages: list[str] = []
    target = store or default_store()
    if "://" in target or Path(target).exists():
        try:
            open_store(target, create=False).close()
        except AssayError as error:
            messages.append(str(error))
    for path in sets_of(settings, (), (config or Path(CONFIG_NAME)).resolve().parent).values():
        try:
            messages += filter(None, [rebuild(path)])
        except AssayError as error:
            messages.append(str(error))
    return messages


def examine(store: str = "", *, config: Path | None = None, probe: bool = False) -> Checkup:
    """Check the installation, and then the health of the project here. With `probe`, every engine
    answers one query."""
    settings, configuration = _read_configuration(config)
    place = check(lambda: _workspace(settings))
    with _open_project(store, settings) as project:
        found = health(project, probe=probe)
        state = found.store
        if isinstance(state, StoreHealth) and isinstance(project, Service):
            note = "; ".join(project.store.notes) or UNSET
            state = msgspec.structs.replace(state, address=project.store.address, note=note)
    is_well = found.is_well and "failed" not in (place.status, configuration.status)
    return Checkup(
        status="ok" if is_well else "failed",
        environment=_environment(),
        extras={"status": "ok"} | {extra: installed_versions(extra) for extra in SHOWN_EXTRAS},
        workspace=place,
        configuration=configuration,
        store=state,
        index=found.index,
        engines=found.engines,
        gold=found.gold,
        halacha_backlog=found.figures.review.halacha_backlog if found.figures else UNSET,
        backlogs=_external_health(found.backlogs),
    )


def _external_health(tables: dict[str, ExternalBacklog]) -> ExternalHealth | UnsetType:
    if not tables:
        return UNSET
    failed = any(table.status == "failed" for table in tables.values())
    return ExternalHealth(status="failed" if failed else "ok", tables=tables)


def _environment() -> Environment:
    return Environment(
        assay=__version__,
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        system=f"{platform.system()} {platform.machine()}",
        processors=os.cpu_count(),
    )


def project_leftovers(gold_sets: Mapping[str, Path], home: Path | None = None) -> list[Path]:
    """Temporary files that killed processes left in the workspace and beside the gold sets."""
    place = workspace(home)
    inside = (folder for folder in place.rglob("*") if folder.is_dir())
    folders = {place, *inside, *(path.resolve().parent for path in gold_sets.values())}
    return [path for folder in sorted(folders) for path in leftovers(folder)]


def sweep(service: Service) -> None:
    """Remove what killed processes left behind more than an hour ago."""
    remove_leftovers(project_leftovers(service.gold_sets, service.home))


def _workspace(config: Config | None) -> WorkspaceHealth:
    path = workspace().absolute()
    nearest = next(folder for folder in (path, *path.parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        error = f"{nearest} cannot be written"
        return WorkspaceHealth(status="failed", path=str(path), error=error)
    note: str | UnsetType = UNSET if path.exists() else "not made yet"
    if unsent := waiting_to_be_sent():
        note = f"{unsent} searches wait in {FOLDER} until a program that logs sends them"
    left = [str(found) for found in project_leftovers(sets_of(config))]
    return WorkspaceHealth(status="ok", path=str(path), note=note, leftovers=left or UNSET)


def _read_configuration(config: Path | None) -> tuple[Config | None, Configuration | FailedCheck]:
    path = config or Path(CONFIG_NAME)
    if config is None and not path.exists():
        return None, Configuration(note=f"no {CONFIG_NAME} here")
    try:
        settings = read_config(path)
    except AssayError as error:
        return None, FailedCheck(error=str(error))
    return settings, Configuration(
        path=str(path), gold_sets=len(settings.gold), engines=len(settings.engines)
    )


@contextlib.contextmanager
def _open_project(store: str, config: Config | None) -> Iterator[Service | ClosedProject]:
    """The project with its store, if that can be read; nothing is made or upgraded."""
    try:
        opened = open_store(store or default_store(), read_only=True)
    except AssayError as error:
        state = _state_of_unopened(error, named=bool(store or os.environ.get(STORE)))
        yield ClosedProject(store=state, config=config)
        return
    try:
        sets = sets_of(config, (), None, opened)
        attach_past(opened, sets.values())
        yield Service(store=opened, gold_sets=sets, config=config)
    finally:
        opened.close()


def _state_of_unopened(error: AssayError, *, named: bool) -> UnopenedStore | FailedCheck:
    """A store that nobody has named may be missing, and so may the extra that opens it. A store of
    an earlier version is upgraded by the first command that writes."""
    unwanted = isinstance(error, MissingExtra) and not Path(default_store()).exists()
    missing = (isinstance(error, NoStore) or unwanted) and not named
    if isinstance(error, StoreOutdated):
        return UnopenedStore(note=str(error))
    return UnopenedStore() if missing else FailedCheck(error=str(error))


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────


def list_plugins() -> list[Plugin]:
    """Every importer, engine, measure, encoder, judge and format: its kind, name and origin, and
    whether it loads."""
    kinds = (IMPORTERS, ENGINES, FORMULAS, ENCODERS, JUDGES)
    others = [plugin for kind in kinds for plugin in plugins.listed(kind)]
    return [*formats.listed(), *others]

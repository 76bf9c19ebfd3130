"""`assay doctor` and `assay plugins`: checks of the installation and of the project here, and the
list of plugins."""

from __future__ import annotations

import contextlib
import os
import platform
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from assay import __version__, formats
from assay.core import plugins
from assay.core.errors import AssayError
from assay.core.extras import SHOWN, MissingExtra, installed
from assay.core.plugins import Plugin
from assay.core.workspace import STORE, default_store, workspace
from assay.corpus.importers.kinds import IMPORTERS
from assay.engines.running import ENGINES
from assay.evaluation.measures import FORMULAS
from assay.judging.machine import JUDGES
from assay.review.backlog import ExternalBacklog, HalachaBacklog
from assay.search.dense import ENCODERS
from assay.store import NoStore, StoreOutdated, open_store
from assay.telemetry.spill import FOLDER
from assay.telemetry.spill import waiting as waiting_to_be_sent
from assay.workbench.project.config import CONFIG_NAME, Config, read_config
from assay.workbench.project.health import (
    ClosedProject,
    EnginesHealth,
    Failed,
    GoldHealth,
    IndexHealth,
    StoreHealth,
    UnopenedStore,
    check,
    health,
)
from assay.workbench.project.service import Service, attach_past, sets_of
from assay.workbench.review.rebuild import rebuild


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    status: str = "ok"
    assay: str
    python: str
    sqlite: str
    system: str
    processors: int | None


class WorkspaceHealth(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    path: str
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
    workspace: WorkspaceHealth | Failed
    configuration: Configuration | Failed
    store: StoreHealth | UnopenedStore | Failed
    index: IndexHealth | Failed
    engines: EnginesHealth | Failed
    gold: GoldHealth | Failed
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
    place = check(_workspace)
    settings, configuration = _read_configuration(config)
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
        extras={"status": "ok"} | {extra: installed(extra) for extra in SHOWN},
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


def _workspace() -> WorkspaceHealth:
    path = workspace().absolute()
    nearest = next(folder for folder in (path, *path.parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        error = f"{nearest} cannot be written"
        return WorkspaceHealth(status="failed", path=str(path), error=error)
    note: str | UnsetType = UNSET if path.exists() else "not made yet"
    if unsent := waiting_to_be_sent():
        note = f"{unsent} searches wait in {FOLDER} until a program that logs sends them"
    return WorkspaceHealth(status="ok", path=str(path), note=note)


def _read_configuration(config: Path | None) -> tuple[Config | None, Configuration | Failed]:
    path = config or Path(CONFIG_NAME)
    if config is None and not path.exists():
        return None, Configuration(note=f"no {CONFIG_NAME} here")
    try:
        settings = read_config(path)
    except AssayError as error:
        return None, Failed(error=str(error))
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


def _state_of_unopened(error: AssayError, *, named: bool) -> UnopenedStore | Failed:
    """A store that nobody has named may be missing, and so may the extra that opens it. A store of
    an earlier version is upgraded by the first command that writes."""
    unwanted = isinstance(error, MissingExtra) and not Path(default_store()).exists()
    missing = (isinstance(error, NoStore) or unwanted) and not named
    if isinstance(error, StoreOutdated):
        return UnopenedStore(note=str(error))
    return UnopenedStore() if missing else Failed(error=str(error))


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────


def list_plugins() -> list[Plugin]:
    """Every importer, engine, measure, encoder, judge and format: its kind, name and origin, and
    whether it loads."""
    kinds = (IMPORTERS, ENGINES, FORMULAS, ENCODERS, JUDGES)
    others = [plugin for kind in kinds for plugin in plugins.listed(kind)]
    return [*formats.listed(), *others]

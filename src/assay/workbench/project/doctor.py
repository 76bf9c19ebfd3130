"""`assay doctor` and `assay plugins`: is this installation well, and what is plugged in?"""

from __future__ import annotations

import os
import platform
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from assay import __version__, formats
from assay.core import plugins
from assay.core.errors import AssayError
from assay.core.extras import SHOWN, MissingExtra, installed
from assay.core.plugins import Plugin
from assay.core.workspace import STORE, default_store, workspace
from assay.corpus.importers.kinds import IMPORTERS
from assay.engines.registry import ENGINES
from assay.evaluation.measures import FORMULAS
from assay.judging.machine import JUDGES
from assay.review.backlog import HalachaBacklog
from assay.review.external_backlog import ExternalBacklog, count_external_backlogs
from assay.search.dense import ENCODERS
from assay.store import NoStore, StoreOutdated, open_store
from assay.workbench.project.config import CONFIG_NAME, Config, read_config
from assay.workbench.project.health import (
    EnginesHealth,
    Failed,
    GoldHealth,
    IndexHealth,
    StoreHealth,
    checked,
    diagnostics,
    engines_health,
    gold_health,
    index_health,
)
from assay.workbench.project.service import Service, attach_past, sets_of
from assay.workbench.review.rebuild import rebuild

if TYPE_CHECKING:
    from assay.store import Store


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


class UnopenedStore(msgspec.Struct, frozen=True, kw_only=True):
    """A store that is not open although nothing is wrong: nobody has named one and there is none
    yet, or it is of an earlier version."""

    status: str = "ok"
    note: str = "none yet"


class TheirHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The backlogs of the user's own; left out where none is configured."""

    status: str
    tables: dict[str, ExternalBacklog]


class Checkup(msgspec.Struct, frozen=True, kw_only=True):
    """What the doctor found. Whatever fails is named and hides nothing else."""

    status: str
    environment: Environment
    extras: dict[str, str]
    workspace: WorkspaceHealth | Failed
    configuration: Configuration | Failed
    store: StoreHealth | UnopenedStore | Failed
    index: IndexHealth | Failed
    engines: EnginesHealth | Failed
    gold: GoldHealth | Failed | UnsetType = UNSET
    halacha_backlog: HalachaBacklog | UnsetType | None = UNSET
    backlogs: TheirHealth | UnsetType = UNSET


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What depends on the store, and what does not when there is none."""

    store: StoreHealth | UnopenedStore | Failed
    index: IndexHealth | Failed
    engines: EnginesHealth | Failed
    gold: GoldHealth | Failed | UnsetType = UNSET
    halacha_backlog: HalachaBacklog | UnsetType | None = UNSET
    backlogs: dict[str, ExternalBacklog] = {}

    @property
    def failed(self) -> bool:
        parts = (self.store, self.index, self.engines, self.gold)
        return any(not isinstance(part, UnsetType) and part.status == "failed" for part in parts)


def repair_project(store: str = "", *, config: Path | None = None) -> list[str]:
    """Upgrade the store, write gold files again that are behind their logs, in all sets that are
    known from here, and say what was done. What cannot be written is named."""
    settings, _ = _read_configuration(config)
    said: list[str] = []
    target = store or default_store()
    if "://" in target or Path(target).exists():
        try:
            open_store(target, create=False).close()
        except AssayError as error:
            said.append(str(error))
    for path in sets_of(settings, (), (config or Path(CONFIG_NAME)).resolve().parent).values():
        try:
            said += filter(None, [rebuild(path)])
        except AssayError as error:
            said.append(str(error))
    return said


def examine(
    store: str = "", *, config: Path | None = None, home: Path | None = None, probe: bool = False
) -> Checkup:
    """Environment, extras, workspace, configuration, and then what diagnostics say of store,
    indexes, engines and gold. With `probe`, every engine answers one query."""
    place = checked(lambda: _workspace(home))
    settings, configuration = _read_configuration(config)
    stored = _stored(store, home, settings, probe)
    theirs = _their_health(stored.backlogs)
    parts = [place.status, configuration.status]
    parts += [theirs.status] if isinstance(theirs, TheirHealth) else []
    failed = stored.failed or "failed" in parts
    return Checkup(
        status="failed" if failed else "ok",
        environment=_environment(),
        extras={"status": "ok"} | {extra: installed(extra) for extra in SHOWN},
        workspace=place,
        configuration=configuration,
        store=stored.store,
        index=stored.index,
        engines=stored.engines,
        gold=stored.gold,
        halacha_backlog=stored.halacha_backlog,
        backlogs=theirs,
    )


def _their_health(tables: dict[str, ExternalBacklog]) -> TheirHealth | UnsetType:
    if not tables:
        return UNSET
    failed = any(table.status == "failed" for table in tables.values())
    return TheirHealth(status="failed" if failed else "ok", tables=tables)


def _environment() -> Environment:
    return Environment(
        assay=__version__,
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        system=f"{platform.system()} {platform.machine()}",
        processors=os.cpu_count(),
    )


def _workspace(home: Path | None) -> WorkspaceHealth:
    path = workspace(home).absolute()
    nearest = next(folder for folder in (path, *path.parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        error = f"{nearest} cannot be written"
        return WorkspaceHealth(status="failed", path=str(path), error=error)
    note = UNSET if path.exists() else "not made yet"
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


def _stored(store: str, home: Path | None, config: Config | None, probe: bool) -> Stored:
    try:
        opened = open_store(store or default_store(), read_only=True)
    except AssayError as error:
        return Stored(
            store=_unopened(error, named=bool(store or os.environ.get(STORE))),
            index=checked(lambda: index_health(home)),
            engines=checked(lambda: engines_health(config, probe)),
            gold=checked(lambda: gold_health(sets_of(config))),
            backlogs=count_external_backlogs(config.backlog if config else {}, datetime.now(UTC)),
        )
    try:
        return _with_store(opened, home, config, probe)
    finally:
        opened.close()


def _unopened(error: AssayError, *, named: bool) -> UnopenedStore | Failed:
    """A store that nobody has named may be missing, and so may what opens one. One of an earlier
    version waits for the first command that writes."""
    unwanted = isinstance(error, MissingExtra) and not Path(default_store()).exists()
    missing = (isinstance(error, NoStore) or unwanted) and not named
    if isinstance(error, StoreOutdated):
        return UnopenedStore(note=str(error))
    return UnopenedStore() if missing else Failed(error=str(error))


def _with_store(store: Store, home: Path | None, config: Config | None, probe: bool) -> Stored:
    sets = sets_of(config, (), None, store)
    attach_past(store, sets.values())
    service = Service(store=store, gold_sets=sets, config=config, home=home)
    parts = diagnostics(service, probe=probe)
    opened = parts.store
    if isinstance(opened, StoreHealth):
        note = "; ".join(store.notes) or UNSET
        opened = msgspec.structs.replace(opened, address=store.address, note=note)
    return Stored(
        store=opened,
        index=parts.index,
        engines=parts.engines,
        gold=parts.gold,
        halacha_backlog=parts.halacha_backlog,
        backlogs=parts.backlogs,
    )


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────


def list_plugins() -> list[Plugin]:
    """Everything that has a name and can be added to: kind, name, where it comes from, and whether
    it loads."""
    kinds = (IMPORTERS, ENGINES, FORMULAS, ENCODERS, JUDGES)
    others = [plugin for kind in kinds for plugin in plugins.listed(kind)]
    return [*formats.listed(), *others]

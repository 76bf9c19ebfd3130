"""Is this installation well, and what is plugged in? Part of the service layer."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib import import_module
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

from assay import __version__, formats
from assay.core.errors import AssayError
from assay.core.workspace import default_store, workspace
from assay.corpus.importers.source import ENTRY_POINTS, KINDS
from assay.engines.baselines import BASELINES
from assay.evaluation.measures import MEASURES
from assay.review.identity import known_sets
from assay.store import NoStore, open_store
from assay.workbench import health
from assay.workbench.config import NAME as CONFIG_NAME
from assay.workbench.config import Config, read_config
from assay.workbench.desk import Desk

EXTRAS = {
    "serve": ("starlette", "uvicorn"),
    "mcp": ("mcp",),
    "postgres": ("psycopg",),
    "pdf": ("pypdfium2",),
    "st": ("sentence-transformers",),
}


def examine(
    store: str = "", *, config: Path | None = None, home: Path | None = None, probe: bool = False
) -> dict[str, Any]:
    """Environment, extras, workspace, configuration, and then what diagnostics say of store,
    indexes, engines and gold. Whatever fails is named and hides nothing else. With `probe`, every
    engine answers one query."""
    settings: list[Config] = []
    parts = health.look(
        {
            "environment": _environment,
            "extras": _extras,
            "workspace": lambda: _workspace(home),
            "configuration": lambda: _configuration(config, settings),
        }
    )
    parts |= _stored(store, home, settings[0] if settings else None, probe)
    ok = all(part.get("status", "ok") != "failed" for part in parts.values())
    return {"status": "ok" if ok else "failed", **parts}


def _environment() -> dict[str, Any]:
    return {
        "status": "ok",
        "assay": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }


def _extras() -> dict[str, Any]:
    """The version of what an extra needs, or how to install it. What nobody asked for is no
    failure."""
    return {"status": "ok"} | {
        name: _installed(name, packages) for name, packages in EXTRAS.items()
    }


def _installed(extra: str, packages: tuple[str, ...]) -> str:
    try:
        return ", ".join(f"{package} {version(package)}" for package in packages)
    except PackageNotFoundError:
        return f"not installed: pip install 'assay[{extra}]'"


def _workspace(home: Path | None) -> dict[str, Any]:
    path = workspace(home).absolute()
    nearest = next(folder for folder in (path, *path.parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        return {"status": "failed", "path": str(path), "error": f"{nearest} cannot be written"}
    return {"status": "ok", "path": str(path)} | ({} if path.exists() else {"note": "not made yet"})


def _configuration(config: Path | None, settings: list[Config]) -> dict[str, Any]:
    path = config or Path(CONFIG_NAME)
    if config is None and not path.exists():
        return {"status": "ok", "note": f"no {CONFIG_NAME} here"}
    settings.append(read_config(path))
    return {
        "status": "ok",
        "path": str(path),
        "gold_sets": len(settings[0].gold),
        "engines": len(settings[0].engines),
    }


def _stored(store: str, home: Path | None, config: Config | None, probe: bool) -> dict[str, Any]:
    """What needs the store, and what does not when there is none. One that nobody has named may be
    missing."""
    try:
        opened = open_store(store or default_store(), create=False)
    except AssayError as error:
        missing = isinstance(error, NoStore) and not (store or os.environ.get("ASSAY_STORE"))
        said = (
            {"status": "ok", "note": "none yet"}
            if missing
            else {"status": "failed", "error": str(error)}
        )
        return {"store": said} | health.look(
            {
                "index": lambda: health.index_health(home),
                "engines": lambda: health.engine_health(config, probe),
            }
        )
    try:
        sets = (
            {name: Path(item.path) for name, item in config.gold.items()}
            if config is not None
            else {}
        )
        desk = Desk(store=opened, gold_sets=known_sets(opened) | sets, config=config, home=home)
        found = desk.diagnostics(probe=probe)
        kept = ("store", "index", "engines", "gold", "halacha_backlog")
        return {
            name: found[name] | ({"address": opened.address} if name == "store" else {})
            for name in kept
            if name in found
        }
    finally:
        opened.close()


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────


def plugins() -> list[dict[str, str]]:
    """Everything that has a name and can be swapped: kind, name, where it comes from, and whether
    it loads."""
    tables = {
        "importer": KINDS,
        "gold format": formats.GOLD_FORMATS,
        "run format": formats.RUN_FORMATS,
    }
    found = [
        _loaded(kind, name, path, "built in")
        for kind, table in tables.items()
        for name, path in table.items()
    ]
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        origin = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown"
        shadowed = {"status": "not used: a built-in has this name"} if point.name in KINDS else {}
        found.append(_loaded("importer", point.name, point.value, origin) | shadowed)
    engines = [_loaded("engine", name, "assay.engines.baselines", "built in") for name in BASELINES]
    return (
        found
        + engines
        + [_loaded("measure", name, "assay.evaluation.measures", "built in") for name in MEASURES]
    )


def _loaded(kind: str, name: str, path: str, origin: str) -> dict[str, str]:
    try:
        import_module(path)
        status = "ok"
    except Exception as error:  # whatever a plugin raises is the answer
        status = f"failed: {type(error).__name__}: {error}"
    return {"kind": kind, "name": name, "module": path, "origin": origin, "status": status}

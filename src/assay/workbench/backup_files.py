"""Which files of a project and its workspace a backup looks at: what `assay.toml` names, what lies
beside a gold set under its name, and all of the workspace but the store. By their names, they are
taken or named as left out (backup_names.py)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.core import conninfo
from assay.engines.connecting import kind_of
from assay.engines.described import EngineConfig
from assay.formats import is_irds
from assay.judging import rubrics
from assay.workbench.backup_names import FOREIGN, inside
from assay.workbench.config import Config

INDEXES = "indexes"


@dataclass(frozen=True)
class Named:
    """The configuration's file, whether it is there or not; the gold sets by name; and what the
    configuration says."""

    config: Path
    sets: dict[str, Path]
    settings: Config | None

    @property
    def project(self) -> Path:
        return self.config.resolve().parent


def project_files(named: Named) -> dict[str, Path]:
    """The files that are there, by their names in a backup."""
    chosen = [named.config]
    for path in named.sets.values():
        chosen += _of_set(path)
    if named.settings is not None:
        chosen += [Path(gold.baseline) for gold in named.settings.gold.values() if gold.baseline]
        for engine in named.settings.engines.values():
            chosen += _of_engine(engine)
    chosen += sorted((named.project / "rubrics").glob("*.toml"))
    files = dict.fromkeys(one.resolve() for path in chosen for one in _below(path))
    return {inside(_name_of(path, named.project)): path for path in files}


def _of_set(path: Path) -> list[Path]:
    """The set, all that lies beside it under its name (votes, pool, policy, receipts, topics), the
    usual baseline, and the rubrics that are its own."""
    place = path.resolve()
    beside = place.parent.glob(f"{_escaped(place.stem)}.*") if place.parent.is_dir() else ()
    own = (Path(found.path) for found in rubrics.available(beside=place))
    return [
        place,
        *sorted(file for file in beside if file.is_file()),
        place.with_name("baseline.json"),
        *(file for file in own if _is_own(file, place.parent)),
    ]


def _is_own(rubric: Path, folder: Path) -> bool:
    return rubric.is_relative_to(folder) and rubric.name.lower() not in FOREIGN


def _of_engine(engine: EngineConfig) -> list[Path]:
    """Saved results, and a corpus that is a file."""
    files = [Path(path) for path in (engine.run, engine.corpus) if path]
    return files + [file for route in engine.routes.values() for file in _of_engine(route)]


def _below(path: Path) -> Iterable[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path] if path.is_file() else []


def not_ours(named: Named) -> list[str]:
    """What is named and no backup holds: a set whose file is not there; the code of an engine, or
    its own database; the database of a backlog."""
    gone = [
        f"{path} (not there)"
        for path in named.sets.values()
        if not path.exists() and not is_irds(path)
    ]
    if named.settings is None:
        return gone
    theirs = [Path(one.url) for one in named.settings.backlog.values() if conninfo.is_path(one.url)]
    for engine in named.settings.engines.values():
        keys = kind_of(engine.kind).files if engine.kind else ()
        given = (str(engine.own.get(key, "")) for key in keys)
        theirs += [Path(path) for path in given if path and conninfo.is_path(path)]
        if engine.search_module:
            theirs.append(Path(engine.folder) / engine.search_module.partition(":")[0])
    return gone + list(dict.fromkeys(str(path) for path in theirs if path.exists()))


def _name_of(path: Path, project: Path) -> str:
    """A file in a hidden folder is outside too, and comes back in one that is not hidden."""
    if path.is_relative_to(project):
        inside = path.relative_to(project)
        if not any(step.startswith(".") for step in inside.parts[:-1]):
            return f"project/{inside.as_posix()}"
    return outside_name(path)


def outside_name(path: Path) -> str:
    """The name in a backup of a file that is not in the project."""
    *folders, file = path.relative_to(path.anchor).parts
    return "/".join(["outside", *(folder.lstrip(".") for folder in folders), file])


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def workspace_files(home: Path, database: Path, indexes: bool) -> Iterator[tuple[str, Path]]:
    """All but the database, which is copied by itself, and what is half-written."""
    own = {database, *(database.with_name(f"{database.name}{end}") for end in ("-wal", "-shm"))}
    seen: set[Path] = set()
    for folder, folders, names in os.walk(home, followlinks=True):
        place = Path(folder)
        if place.resolve() in seen:  # a link that leads back
            folders[:] = []
            continue
        seen.add(place.resolve())
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and (indexes or place != home or name != INDEXES)
        )
        for name in sorted(names):
            path = place / name
            if not name.startswith(".") and path not in own and path.is_file():
                yield inside(f"workspace/{path.relative_to(home).as_posix()}"), path

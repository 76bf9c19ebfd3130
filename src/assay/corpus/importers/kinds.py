"""The interface of an importer, and the table of the importers by kind.

An importer is one module with `SCHEME` (what its citations leave out), `VERSION` (raised when it
reads differently), `units(source, options)`, the files to read, and `read(source, unit, options)`,
a generator of documents and problems; a document may come with where it was read, (file:line,
document). `OPTIONS` names the options it has; without it any is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, cast

import msgspec

from assay.core import conninfo, plugins
from assay.core.errors import InputError
from assay.core.types import Document
from assay.law.citation import Scheme

KINDS = {
    "fppc": "assay.corpus.importers.fppc",
    "akn": "assay.corpus.importers.akn",
    "finlex": "assay.corpus.importers.finlex",
    "report": "assay.corpus.importers.annual_report",
    "jsonl": "assay.corpus.importers.tabular",
    "csv": "assay.corpus.importers.tabular",
    "parquet": "assay.corpus.importers.tabular",
    "postgres": "assay.corpus.importers.postgres_rows",
}
IMPORTERS = plugins.Kind(name="importer", group="assay.importers", built_in=KINDS)

# A text or a mapping on the command line; from Python also a number, a choice or a list.
Option = str | int | float | bool | list[str] | Mapping[str, str] | None
Options = Mapping[str, Option]
Placed = tuple[str, Document]  # where it was read, file:line, and the document


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A record that could not be used, or was used only in part: where it is and why."""

    code: str
    where: str
    reason: str


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One file to read. `path` is relative to the source; `id` names a record that has no id of its
    own."""

    path: str
    id: str = ""
    size: int = 0
    mtime_ns: int = 0


class Importer(Protocol):
    """The shape of an importer's module."""

    SCHEME: Scheme
    VERSION: int

    def units(self, source: str, options: Options) -> list[Unit]: ...

    def read(
        self, source: str, unit: Unit, options: Options
    ) -> Iterator[Document | Placed | Problem]: ...


def refuse_unknown(kind: str, options: Options) -> None:
    """Refuse an option that the importer does not have, such as a mistyped one."""
    known: tuple[str, ...] | None = getattr(importer(kind), "OPTIONS", None)
    for key in options:
        if known is not None and key not in known:
            none = f"The importer {kind!r} has no options."
            hint = f"Known: {', '.join(known)}." if known else none
            raise InputError(f"unknown option {key!r} for the importer {kind!r}", hint=hint)


def importer(kind: str) -> Importer:
    """The importer of a kind: a module, or an object with the same names."""
    if not plugins.is_known(IMPORTERS, kind):
        known = plugins.names(IMPORTERS)
        raise InputError(f"unknown kind of source {kind!r}", hint=f"Known: {', '.join(known)}.")
    return cast(Importer, plugins.load(IMPORTERS, kind))


def files_below(source: str, suffixes: tuple[str, ...]) -> list[Unit]:
    """The files of a source, one file or a folder, in name order; ids are the names without suffix,
    made unique."""
    root = Path(source)
    if not root.exists():
        where = source if conninfo.is_path(source) else ""  # an address may hold a password
        raise InputError("no such file or folder", where=where, hint="Check the path.")
    if root.is_file():
        return [_unit(root, root.name, root.stem)]
    fitting = (path for path in root.rglob("*") if path.suffix.lower() in suffixes)
    paths = sorted(path for path in fitting if not _is_hidden(path, root))
    if not paths:
        message = f"no file here ends with {' or '.join(suffixes)}"
        raise InputError(message, where=source, hint="Check the path and the kind.")
    seen: set[str] = set()
    units = []
    for path in paths:
        relative = path.relative_to(root)
        name = path.stem if path.stem not in seen else relative.with_suffix("").as_posix()
        seen.add(path.stem)
        units.append(_unit(path, relative.as_posix(), name))
    return units


def path_of(source: str, unit: Unit) -> Path:
    root = Path(source)
    return root if root.is_file() else root / unit.path


def _unit(path: Path, relative: str, name: str) -> Unit:
    try:
        status = path.stat()
    except OSError:  # a broken link or a file without permission: reading it reports why
        return Unit(path=relative, id=name)
    return Unit(path=relative, id=name, size=status.st_size, mtime_ns=status.st_mtime_ns)


def _is_hidden(path: Path, root: Path) -> bool:
    return any(name.startswith(".") for name in path.relative_to(root).parts)

"""Find and load plugins: formats, importers, engines and other named parts that another package may
add. Each kind keeps its own table of built-ins, beside the code that uses them.

A kind is a literal table of built-ins and one entry-point group. A package adds to a kind with a
line in its own pyproject.toml, and nothing is imported until the name is used:

    [project.entry-points."assay.engines"]
    court = "court_tools.search:CourtEngine"

A built-in cannot be replaced so: what a name means must not depend on what else is installed."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any

import msgspec

from assay.core.errors import AssayError, InputError, describe_error

BUILT_IN = "built in"
_log = logging.getLogger("assay.plugins")


class PluginError(AssayError):
    """A plugin that is installed and does not load."""


class PluginKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of plugin: what one of them is called, its entry-point group, and the built-ins as
    name -> `module` or `module:attribute`. `aliases`, in lower case, are other names of built-ins,
    which are taken too."""

    name: str
    group: str
    built_in: Mapping[str, str]
    aliases: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Whether the name is a built-in's."""
        return name in self.built_in or name.lower() in self.aliases


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `assay plugins`: what it is, where it comes from, and whether it loads."""

    kind: str
    name: str
    module: str
    origin: str
    status: str

    @property
    def failed(self) -> bool:
        return self.status.startswith("failed")


def names(kind: PluginKind) -> list[str]:
    """Every name that can be used, built-ins first. Nothing is loaded."""
    return [*kind.built_in, *sorted(_entry_points(kind))]


def is_known(kind: PluginKind, name: str) -> bool:
    """Whether the name can be used. For a built-in no other package is looked at."""
    return name in kind.built_in or is_added(kind, name)


def is_added(kind: PluginKind, name: str) -> bool:
    """Whether a package that is installed adds this name."""
    return name in _entry_points(kind)


def load(kind: PluginKind, name: str) -> Any:
    """Load the plugin of a name: a module, or an object in it. An unknown name is refused with the
    known ones; a plugin that does not load is named with its package."""
    if name in kind.built_in:
        return _load_target(kind.built_in[name])
    point = _entry_points(kind).get(name)
    if point is None:
        raise InputError(f"unknown {kind.name} {name!r}", hint=f"Known: {', '.join(names(kind))}.")
    try:
        return point.load()
    except Exception as error:  # whatever a plugin raises is the answer
        raise PluginError(
            f"the {kind.name} {name!r} of {_origin(point)} does not load: {describe_error(error)}"
        ) from error


def load_added(kind: PluginKind) -> Iterator[tuple[str, Any]]:
    """(name, object) of every plugin that packages add. One that does not load is logged and left
    out: it must not stop users who never asked for it."""
    for name in sorted(_entry_points(kind)):
        try:
            yield name, load(kind, name)
        except PluginError as error:
            _log.warning("%s", error)


def listed(kind: PluginKind) -> list[Plugin]:
    """Every plugin of a kind, each loaded to see whether it works."""
    own = [_try_loading(kind, name, target, BUILT_IN) for name, target in kind.built_in.items()]
    points = sorted(_installed(kind.group), key=lambda point: point.name)
    return own + [_try_entry_point(kind, point) for point in points]


def _try_entry_point(kind: PluginKind, point: EntryPoint) -> Plugin:
    plugin = _try_loading(kind, point.name, point.value, _origin(point))
    if kind.has(point.name):
        return msgspec.structs.replace(plugin, status="not used: a built-in has this name")
    return plugin


def _try_loading(kind: PluginKind, name: str, target: str, origin: str) -> Plugin:
    from assay.core.extras import MissingExtra, install_command

    try:
        _load_target(target)
        status = "ok"
    except MissingExtra as error:
        status = f"not installed: {install_command(error.extra)}"
    except Exception as error:  # whatever a plugin raises is the answer
        status = f"failed: {describe_error(error)}"
    return Plugin(kind=kind.name, name=name, module=target, origin=origin, status=status)


def _entry_points(kind: PluginKind) -> dict[str, EntryPoint]:
    return {point.name: point for point in _installed(kind.group) if not kind.has(point.name)}


def _installed(group: str) -> EntryPoints:
    return _entry_points_of(group, tuple(sys.path))


@lru_cache(maxsize=64)
def _entry_points_of(group: str, path: tuple[str, ...]) -> EntryPoints:
    """Those of all packages on the path. Reading their files takes milliseconds, and every table of
    an assay.toml needs them."""
    return entry_points(group=group)


def _load_target(target: str) -> Any:
    module, _, attribute = target.partition(":")
    loaded: Any = import_module(module.strip())
    for name in filter(None, attribute.strip().split(".")):
        loaded = getattr(loaded, name)
    return loaded


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown"

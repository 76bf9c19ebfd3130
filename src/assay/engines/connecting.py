"""Kinds of engines that a table of the configuration describes: one key, one kind.

A kind is a value `EngineKind`, named here by the key that says it. Nothing is imported until a
table has the key. Another package adds one with an entry point in `assay.engine_kinds`:

    [project.entry-points."assay.engine_kinds"]
    court = "court_tools.connect:COURT"
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from assay.core import plugins
from assay.core.plugins import PluginError

# the key of the table: where its kind is
BUILT_IN: dict[str, str] = {
    "http": "assay.engines.over_http:HTTP",
    "preset": "assay.engines.over_http:HTTP",
    "postgres": "assay.engines.postgres:POSTGRES",
    "qdrant": "assay.engines.qdrant:QDRANT",
    "milvus": "assay.engines.milvus:MILVUS",
    "chroma": "assay.engines.chroma:CHROMA",
    "lancedb": "assay.engines.lance:LANCE",
    "opensearch": "assay.engines.carry_opensearch:OPENSEARCH",
}
KINDS = plugins.Kind(name="kind of engine", group="assay.engine_kinds", built_in=BUILT_IN)


class EngineKind(msgspec.Struct, frozen=True, kw_only=True):
    """How a table becomes an engine.

    `settings` is a frozen struct with the keys of the table that are the kind's own, the key that
    says the kind among them; the keys of every engine (`described.Common`) are read elsewhere.
    `make` gives the engine for a name and its settings: an object with `search(query, top_k, …)`
    that takes of what a row knows what it has parameters for, and may be called from several
    threads. It connects when it is first asked, so that a table can be looked at without its
    server.

    `check` gives (key, what is wrong), or two empty texts, before anything runs. `files` are the
    keys that name files, relative to the configuration."""

    settings: type[msgspec.Struct]
    make: Callable[[str, Any], Any]
    check: Callable[[Any], tuple[str, str]] | None = None
    files: tuple[str, ...] = ()


def kind_names() -> list[str]:
    return plugins.names(KINDS)


def kind_of(key: str) -> EngineKind:
    kind = plugins.load(KINDS, key)
    if not isinstance(kind, EngineKind):
        raise PluginError(f"the kind of engine {key!r} is not an EngineKind")
    return kind

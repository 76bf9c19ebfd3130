"""The registry of engines by name: a module of the user's, a baseline, a corpus of the workspace, a
table of the configuration, or an engine that another package adds.

An engine that a package adds is a class, or a function that makes one. If it has a parameter
`documents`, it gets those of `--corpus`; otherwise it is called without arguments, as a class in
`--search-module` is. Corpora and Assay's own search take long to import, and are imported where
they are used: an engine over HTTP needs neither."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.core import plugins
from assay.core.errors import EngineError, UsageError
from assay.core.workspace import workspace
from assay.engines.engine_table import EngineConfig, kind_of, settings_of
from assay.engines.module import error_text, load_engine
from assay.engines.retrievers import as_engine, parameters_of

BASELINES = {
    "random": "assay.engines.baselines:RandomEngine",
    "bm25": "assay.engines.baselines:Bm25Engine",
}
Say = Callable[[str], None]
ENGINES = plugins.Kind(name="engine", group="assay.engines", built_in=BASELINES)


def searched(config: EngineConfig) -> Path | None:
    """The corpus that the engine searches, if it is known: the configured one, or the one it is
    named after."""
    if config.corpus is None and config.engine is not None and is_indexed_name(config.engine):
        return Path(config.engine)
    return Path(config.corpus) if config.corpus else None


def is_indexed_name(name: str) -> bool:
    """Whether the name stands for Assay's own engine on a corpus. A baseline's name never does."""
    from assay.corpus.lookup import is_corpus

    return name not in BASELINES and is_corpus(name)


def open_engine(config: EngineConfig, say: Say = lambda text: None) -> Any:
    """The engine of a configuration, ready to search."""
    if config.kind:
        kind = kind_of(config.kind)
        return kind.make(config.name, settings_of(config, kind))
    if config.search_module is not None:
        return load_engine(config.search_module)
    name = config.engine or ""
    if is_indexed_name(name):
        from assay.engines.indexed import open_indexed

        return open_indexed(name, say=say)
    if not plugins.is_known(ENGINES, name):
        from assay.corpus.disk import list_corpora

        known = ", ".join([*plugins.names(ENGINES), *list_corpora()])
        module = "A Python module is a search_module, not an engine. " if ".py" in name else ""
        raise UsageError(
            f"unknown engine {config.engine!r}: no corpus of the workspace "
            f"{workspace().resolve()}, and nothing built in, is called so",
            hint=f"{module}Known: {known}. `assay corpus import` adds one, and so does a table "
            "[engines.NAME] of assay.toml.",
        )
    corpus = Path(config.corpus) if config.corpus else None
    return _make_engine(name, plugins.load(ENGINES, name), corpus)


def _make_engine(name: str, factory: Callable[..., Any], corpus: Path | None) -> Any:
    if not inspect.isclass(factory) and not inspect.isroutine(factory):
        return as_engine(factory)  # an object, not a class
    arguments: list[object] = []
    if "documents" in parameters_of(factory):
        if corpus is None:
            raise UsageError(f"engine {name!r} needs --corpus FILE.jsonl")
        from assay.corpus.lookup import documents

        arguments = [documents(corpus)]
    try:
        made = factory(*arguments)
    except Exception as error:
        reason = error_text(error)
        raise EngineError(f"the engine {name!r} could not be made: {reason}") from error
    return as_engine(made)

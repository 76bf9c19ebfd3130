"""From a name to an engine: a module of the user's, a baseline, a corpus of the workspace, an
engine that a table of the configuration describes, or one that another package adds.

An engine that a package adds is a class, or a function that makes one. Where it has a parameter
called `documents`, it gets those of `--corpus`; otherwise it is called without anything, as a class
in `--search-module` is. Corpora and our own search take long to load, and are loaded where they are
used: an engine over HTTP needs neither."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.core import plugins
from assay.core.errors import EngineError, UsageError
from assay.core.workspace import workspace
from assay.engines.engine_table import EngineConfig, kind_of, settings_of
from assay.engines.module import load_engine
from assay.engines.retrievers import as_engine

BASELINES = {
    "random": "assay.engines.baselines:RandomEngine",
    "bm25": "assay.engines.baselines:Bm25Engine",
}
Say = Callable[[str], None]
ENGINES = plugins.Kind(name="engine", group="assay.engines", built_in=BASELINES)


def searched(config: EngineConfig) -> Path | None:
    """What is searched, where it is known: the corpus given, or the one the engine is named
    after."""
    if config.corpus is None and config.engine is not None and is_indexed_name(config.engine):
        return Path(config.engine)
    return Path(config.corpus) if config.corpus else None


def is_indexed_name(name: str) -> bool:
    """Whether the name stands for Assay's own engine on a corpus. A baseline's name never does."""
    from assay.corpus.named import is_corpus

    return name not in BASELINES and is_corpus(name)


def open_engine(config: EngineConfig, say: Say = lambda text: None) -> Any:
    """The engine that is described, ready to be asked."""
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
        return as_engine(factory)  # one that is made already
    given: list[object] = []
    if "documents" in _parameters(factory):
        if corpus is None:
            raise UsageError(f"engine {name!r} needs --corpus FILE.jsonl")
        from assay.corpus.named import documents

        given = [documents(corpus)]
    try:
        made = factory(*given)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise EngineError(f"the engine {name!r} could not be made: {said}") from error
    return as_engine(made)


def _parameters(factory: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(factory).parameters)
    except (TypeError, ValueError):  # some classes written in C do not say
        return ()

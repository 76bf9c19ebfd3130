"""Is everything well? The parts of the diagnostics that look at one thing each. Part of the service layer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from assay import library
from assay.config import Config, EngineConfig
from assay.corpus.disk import Corpus, list_corpora, open_corpus
from assay.engines.module import load_engine
from assay.errors import AssayError
from assay.search import index as indexes
from assay.store import Store


def store_health(store: Store) -> dict[str, Any]:
    started = time.perf_counter()
    return {"status": "ok", **store.health(), "millis": (time.perf_counter() - started) * 1000}


def index_health(home: Path | None) -> dict[str, Any]:
    """Every corpus, and whether its search index is `ready`; one that is not is built at the first search, so that only
    a corpus or an index that is damaged is a failure."""
    corpora, status = {}, "ok"
    for name in list_corpora(home):
        try:
            opened = open_corpus(home, name)
            index = _index_state(opened, home)
            corpora[name] = {"documents": len(opened), "fingerprint": opened.fingerprint, "index": index}
            status = "failed" if "damaged" in index else status
        except AssayError as error:
            corpora[name], status = {"error": str(error)}, "failed"
    return {"status": status, "corpora": corpora}


def _index_state(corpus: Corpus, home: Path | None) -> str:
    try:
        manifest = indexes.read_manifest(library.index_folder(corpus, home))
    except indexes.IndexProblem as problem:
        return str(problem)
    return "ready" if manifest.corpus == corpus.fingerprint else "the corpus has changed since the index was built"


def engine_health(config: Config | None, probe: bool) -> dict[str, Any]:
    """With `probe`, every engine answers one query."""
    engines = {name: _probed(engine) if probe else {"status": "not probed"}
               for name, engine in (config.engines.items() if config else ())}  # fmt: skip
    failed = any(engine["status"] == "failed" for engine in engines.values())
    return {"status": "failed" if failed else "ok", "engines": engines}


def _probed(engine: EngineConfig) -> dict[str, Any]:
    if engine.search_module is None:
        source = engine.run or engine.corpus
        there = source is None or Path(source).exists()
        return {"status": "ok"} if there else {"status": "failed", "error": f"{source} is missing"}
    started = time.perf_counter()
    try:
        load_engine(engine.search_module).search("test", 1)
    except Exception as error:  # whatever it raises is the answer
        return {"status": "failed", "error": f"{type(error).__name__}: {error}"}
    return {"status": "ok", "millis": (time.perf_counter() - started) * 1000}

"""Is everything well? The parts of the diagnostics that look at one thing each. Part of the service
layer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any

from assay import formats
from assay.core.errors import AssayError, InputError
from assay.corpus.disk import Corpus, list_corpora, open_corpus
from assay.engines.module import load_engine
from assay.formats import gold_jsonl
from assay.review.backlog import Backlog, metric
from assay.review.backlog import prometheus as backlog_metrics
from assay.review.bootstrap import EVERYTHING
from assay.review.identity import name_of
from assay.search import index_files
from assay.store import Store, StoreError
from assay.store.records import ReviewItem
from assay.telemetry.recorder import Counts
from assay.workbench import corpora
from assay.workbench.config import Config, EngineConfig


def store_health(store: Store) -> dict[str, Any]:
    started = time.perf_counter()
    return {"status": "ok", **store.health(), "millis": (time.perf_counter() - started) * 1000}


def look(looks: Mapping[str, Callable[[], dict[str, Any]]]) -> dict[str, Any]:
    """Every part by its name. One that fails is named, and does not hide the others."""
    parts: dict[str, Any] = {}
    for name, one in looks.items():
        try:
            parts[name] = one()
        except AssayError as error:
            parts[name] = {"status": "failed", "error": str(error)}
    return parts


def gold_health(store: Store, gold_sets: Mapping[str, Path]) -> dict[str, Any]:
    """How much waits in each gold set for a row that is not there. It is no failure: the file may
    be elsewhere."""
    return {
        "status": "ok",
        "without_a_row": dict(Counter(item.gold for item in strays(store, gold_sets))),
    }


def strays(store: Store, gold_sets: Mapping[str, Path], *, gold: str = "") -> list[ReviewItem]:
    """What waits and cannot be approved: its row has left the gold set, or the file is not here. A
    file that cannot be read may still have it."""
    paths = {name_of(store, path, claim=False): path for path in gold_sets.values()}
    rows: dict[str, Set[str] | None] = {}
    lost = []
    for item in store.review_items(gold=gold, state="pending_review", limit=EVERYTHING):
        if item.gold not in rows:
            rows[item.gold] = _row_ids(paths.get(item.gold))
        ids = rows[item.gold]
        if ids is not None and item.ref not in ids:
            lost.append(item)
    return lost


def strays_of(
    store: Store, gold_sets: Mapping[str, Path], gold: str, *, gone: bool
) -> list[ReviewItem]:
    """Those of one gold set. A file that cannot be found from here may be elsewhere: it must be
    said to be `gone`."""
    here = any(
        gold == name_of(store, path, claim=False) for path in gold_sets.values() if path.exists()
    )
    if not here and not gone:
        raise InputError(
            f"the file of gold set {gold!r} cannot be found from here",
            hint="Put it back, or say with --gone that it is gone for good.",
        )
    return strays(store, gold_sets, gold=gold)


def _row_ids(path: Path | None) -> Set[str] | None:
    if path is None or not path.exists():
        return frozenset()
    try:
        if path.suffix == ".jsonl":
            return {row.id for row in gold_jsonl.rows(gold_jsonl.read_lines(path))}
        return {query.id for query in formats.read_gold(path).queries}
    except AssayError:
        return None


def index_health(home: Path | None) -> dict[str, Any]:
    """Every corpus, and whether its search index is `ready`; one that is not is built at the first
    search, so that only a corpus or an index that is damaged is a failure."""
    corpora, status = {}, "ok"
    for name in list_corpora(home):
        try:
            opened = open_corpus(home, name)
            index = _index_state(opened, home)
            corpora[name] = {
                "documents": len(opened),
                "fingerprint": opened.fingerprint,
                "index": index,
            }
            status = "failed" if "damaged" in index else status
        except AssayError as error:
            corpora[name], status = {"error": str(error)}, "failed"
    return {"status": status, "corpora": corpora}


def _index_state(corpus: Corpus, home: Path | None) -> str:
    """What is there and how large it is; every byte is checked when the index is opened."""
    folder = corpora.index_folder(corpus, home)
    try:
        manifest = index_files.read_manifest(folder)
    except index_files.IndexProblem as problem:
        return str(problem)
    for name, written in manifest.files.items():
        path = folder / manifest.data / name
        if not path.is_file() or path.stat().st_size != written.bytes:
            return f"the index is damaged: {name} is not what was written; the next search builds it again"
    return (
        "ready"
        if manifest.corpus == corpus.fingerprint
        else "the corpus has changed since the index was built"
    )


def engine_health(config: Config | None, probe: bool) -> dict[str, Any]:
    """With `probe`, every engine answers one query."""
    engines = {
        name: _probed(engine) if probe else {"status": "not probed"}
        for name, engine in (config.engines.items() if config else ())
    }
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


def prometheus(backlog: Callable[[], Backlog], counts: Counts | None) -> str:
    try:
        text, up = backlog_metrics(backlog()), 1
    except StoreError:
        text, up = "", 0
    text += metric("assay_store_up", "Whether the store answers.", [("", up)])
    for name in (
        ("accepted", "written", "dropped", "lost", "unreadable") if counts is not None else ()
    ):
        text += metric(
            f"assay_telemetry_{name}_total",
            f"Searches {name} since the start.",
            [("", getattr(counts, name))],
            "counter",
        )
    return text

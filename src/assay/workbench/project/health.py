"""Is everything well? Store, indexes, engines, gold, telemetry and backlog of a running service,
each looked at by itself: one that fails is named, and does not hide the others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from assay import __version__
from assay.core.errors import AssayError
from assay.core.types import Query, counted
from assay.corpus.disk import list_corpora, open_corpus
from assay.engines.answering import ask_engine
from assay.engines.asking import AllFailed
from assay.engines.described import EngineConfig
from assay.engines.indexed import index_state
from assay.gold.files import has_log
from assay.gold.log import open_log
from assay.gold.projection import state_of_file
from assay.review.backlog import (
    Backlog,
    HalachaBacklog,
    backlog_metrics,
    external_metrics,
    metric,
)
from assay.review.external_backlog import ExternalBacklog
from assay.review.queue import is_stray, items_of
from assay.store import StoreError
from assay.telemetry.recorder import Counts
from assay.workbench.project.config import Config
from assay.workbench.project.service import Service
from assay.workbench.review.backlog import backlog, backlog_figures, recent_external_backlogs

if TYPE_CHECKING:
    from assay.store import Store


S = TypeVar("S", bound=msgspec.Struct)

# ── what is found ─────────────────────────────────────────────────────────────────────────────────


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A part that is not well, and why."""

    status: str = "failed"
    error: str


class StoreHealth(msgspec.Struct, frozen=True, kw_only=True):
    status: str = "ok"
    backend: str
    version: str
    schema: str
    rows: dict[str, int]
    millis: float
    address: str | UnsetType = UNSET
    note: str | UnsetType = UNSET


class CorpusHealth(msgspec.Struct, frozen=True, kw_only=True):
    documents: int
    fingerprint: str
    index: str


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    error: str


class IndexHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Every corpus, and whether its search index is `ready`."""

    status: str
    corpora: dict[str, CorpusHealth | Unreadable]


class EngineHealth(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    error: str | UnsetType = UNSET
    millis: float | UnsetType = UNSET


class EnginesHealth(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    engines: dict[str, EngineHealth]


class GoldHealth(msgspec.Struct, frozen=True, kw_only=True):
    """How the sets stand to their logs. A log with damaged lines, and one that cannot be read, is a
    failure; a gold file that is behind its log, or was edited by hand, is put right by the next
    command that writes."""

    status: str = "ok"
    without_a_query: dict[str, int] = {}  # suggestions whose query has left the set
    notes: list[str] = []  # gold files that are behind their log, or were edited by hand
    damaged: list[str] = []  # lines of logs that were set aside
    unreadable: list[str] = []


class Diagnostics(msgspec.Struct, frozen=True, kw_only=True):
    """`degraded` when any part is not well. What there is nothing to say of is left out."""

    status: str
    version: str
    at: str
    store: StoreHealth | Failed
    index: IndexHealth | Failed
    engines: EnginesHealth | Failed
    gold: GoldHealth | Failed
    telemetry: Counts | UnsetType = UNSET
    backlog: Backlog | UnsetType = UNSET
    halacha_backlog: HalachaBacklog | UnsetType | None = UNSET
    backlogs: dict[str, ExternalBacklog] = {}


# ── looking ───────────────────────────────────────────────────────────────────────────────────────


def diagnostics(service: Service, *, probe: bool = False) -> Diagnostics:
    """Store, indexes, engines, gold, telemetry, backlog. With `probe`, every engine answers one
    query."""
    store = checked(lambda: store_health(service.store))
    index = checked(lambda: index_health(service.home))
    engines = checked(lambda: engines_health(service.config, probe))
    gold = checked(lambda: gold_health(service.gold_sets))
    figures = backlog_figures(service) if store.status == "ok" else None
    theirs = figures.backlogs if figures is not None else recent_external_backlogs(service)
    parts = (store, index, engines, gold, *theirs.values())
    well = all(part.status == "ok" for part in parts)
    return Diagnostics(
        status="ok" if well else "degraded",
        version=__version__,
        at=service.clock().isoformat(),
        store=store,
        index=index,
        engines=engines,
        gold=gold,
        telemetry=service.recorder.counts() if service.recorder is not None else UNSET,
        backlog=figures.backlog if figures is not None else UNSET,
        halacha_backlog=figures.halacha_backlog if figures is not None else UNSET,
        backlogs=theirs,
    )


def checked(check: Callable[[], S]) -> S | Failed:
    """What the check gives, or that it failed."""
    try:
        return check()
    except AssayError as error:
        return Failed(error=str(error))


def store_health(store: Store) -> StoreHealth:
    started = time.perf_counter()
    health = store.health()
    return StoreHealth(
        backend=health.backend,
        version=health.version,
        schema=health.schema,
        rows=health.rows,
        millis=(time.perf_counter() - started) * 1000,
    )


def gold_health(gold_sets: Mapping[str, Path]) -> GoldHealth:
    notes, damaged, unreadable = list[str](), list[str](), list[str]()
    lost: Counter[str] = Counter()
    for name, path in sorted(gold_sets.items()):
        if not has_log(path) or not path.exists():
            continue
        try:
            log = open_log(path)
            notes += filter(None, [state_of_file(path)])
            lost[name] = sum(map(is_stray, items_of(name, path)))
        except (AssayError, OSError) as error:
            unreadable.append(f"{name}: {error}")
            continue
        if log.damaged:
            lines = ", ".join(map(str, log.damaged[:5]))
            said = f"{counted(len(log.damaged), 'damaged line')}, skipped"
            damaged.append(f"{log.path}: {said}: {lines}")
        if log.newer:
            unreadable.append(f"{log.path}: it has lines of a newer Assay; upgrade")
    return GoldHealth(
        status="failed" if damaged or unreadable else "ok",
        without_a_query={name: many for name, many in lost.items() if many},
        notes=notes,
        damaged=damaged,
        unreadable=unreadable,
    )


def index_health(home: Path | None) -> IndexHealth:
    """An index that is missing is built at the first search, so that only a corpus or an index that
    is damaged is a failure."""
    corpora: dict[str, CorpusHealth | Unreadable] = {}
    status = "ok"
    for name in list_corpora(home):
        try:
            corpus = open_corpus(home, name)
            index = index_state(corpus, home)
            corpora[name] = CorpusHealth(
                documents=len(corpus), fingerprint=corpus.fingerprint, index=index
            )
            status = "failed" if "damaged" in index else status
        except AssayError as error:
            corpora[name], status = Unreadable(error=str(error)), "failed"
    return IndexHealth(status=status, corpora=corpora)


def engines_health(config: Config | None, probe: bool) -> EnginesHealth:
    """With `probe`, every engine answers one query."""
    configured = config.engines if config is not None else {}
    not_probed = EngineHealth(status="not probed")
    engines = {
        name: _probed(engine) if probe else not_probed for name, engine in configured.items()
    }
    failed = any(engine.status == "failed" for engine in engines.values())
    return EnginesHealth(status="failed" if failed else "ok", engines=engines)


def _probed(engine: EngineConfig) -> EngineHealth:
    if not (engine.search_module or engine.kind or engine.routes):
        source = engine.run or engine.corpus
        if source is not None and not Path(source).exists():
            return EngineHealth(status="failed", error=f"{source} is missing")
        return EngineHealth(status="ok")
    queries = [
        Query(id=corpus or "test", text="test", corpus=corpus) for corpus in engine.routes or [""]
    ]
    try:
        _, results = ask_engine(_once(engine), queries, top_k=1)
    except AllFailed as error:
        return EngineHealth(status="failed", error=error.first)
    except AssayError as error:
        return EngineHealth(status="failed", error=str(error))
    times = [result.millis for result in results if result.millis is not None]
    return EngineHealth(status="ok", millis=max(times, default=0.0))


def _once(engine: EngineConfig) -> EngineConfig:
    """Asked once and no more: who looks whether it is there does not wait for it to come back."""
    calls = msgspec.structs.replace(engine.calls, retries=0, warm_up=0)
    routes = {corpus: _once(part) for corpus, part in engine.routes.items()}
    return msgspec.structs.replace(engine, calls=calls, routes=routes)


# ── Prometheus ────────────────────────────────────────────────────────────────────────────────────


def prometheus(service: Service) -> str:
    """The metrics page. When the store is down it says so, and still reports what telemetry
    knows."""
    try:
        text, up = backlog_metrics(backlog(service)), 1
        total = [("", float(service.store.search_total()))]
        text += metric("assay_searches_kept", "Searches in the store.", total)
    except StoreError:
        text, up = "", 0
    text += metric("assay_store_up", "Whether the store answers.", [("", up)])
    text += external_metrics(recent_external_backlogs(service))
    if service.recorder is None:
        return text
    counts = service.recorder.counts()
    for name in ("accepted", "written", "dropped", "lost", "unreadable"):
        said = f"Searches {name} since the start."
        value = [("", float(getattr(counts, name)))]
        text += metric(f"assay_telemetry_{name}_total", said, value, "counter")
    return text

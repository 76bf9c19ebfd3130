"""Load a corpus into an engine of the configuration (`assay index NAME --into ENGINE`), and compare
our ranking there with our own index."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl

from assay import formats
from assay.core.errors import InputError
from assay.core.types import GoldSet, Run
from assay.engines.calling import run_engine
from assay.engines.engine_table import kind_of, settings_of
from assay.engines.external_ranking import ExternalRankingEngine, external_store
from assay.engines.indexed import Say, open_indexed, silent
from assay.engines.stores.loading import LoadReport, Tick, load_corpus
from assay.evaluation.graded import evaluate
from assay.workbench.project.config import CONFIG_NAME, read_config
from assay.workbench.scoring.request import measures_of_set

TOP = 20  # results of a query that are compared; taste


class MeasureBeside(msgspec.Struct, frozen=True, kw_only=True):
    """One measure on our own index and on the engine."""

    measure: str
    own: float | None
    there: float | None


class IndexedInto(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of loading a corpus into an engine; with a gold set, its quality and speed beside
    our own index, and the share of the same hits in the first ten."""

    loaded: LoadReport
    beside: tuple[MeasureBeside, ...] = ()
    same_in_ten: float | None = None
    own_millis: float | None = None
    there_millis: float | None = None


def index_into(
    name: str,
    engine: str,
    *,
    config: Path | None = None,
    dataset: Path | None = None,
    tick: Tick = silent,
    say: Say = lambda text: None,
) -> IndexedInto:
    """Load a corpus of the workspace into the engine of this name."""
    file = config or Path(CONFIG_NAME)
    described = read_config(file).engines
    if engine not in described:
        raise InputError(
            f"there is no engine {engine!r}",
            where=str(file),
            hint=f"The file has: {', '.join(described) or 'none'}.",
        )
    gold = formats.read_gold(dataset) if dataset is not None else None
    table = described[engine]
    settings = settings_of(table, kind_of(table.kind)) if table.kind else None
    store = external_store(table.kind, engine, settings)
    loaded = load_corpus(name, store, engine=engine, tick=tick, say=say)
    if gold is None or dataset is None:
        return IndexedInto(loaded=loaded)
    own = run_engine(open_indexed(name, say=say), gold.queries, top_k=TOP)
    there = run_engine(ExternalRankingEngine(engine, store), gold.queries, top_k=TOP)
    return IndexedInto(
        loaded=loaded,
        beside=_measures_beside(own, there, gold, dataset),
        same_in_ten=_shared_hits(own, there, gold),
        own_millis=_millis(own),
        there_millis=_millis(there),
    )


def _measures_beside(
    own_run: Run, their_run: Run, gold: GoldSet, dataset: Path
) -> tuple[MeasureBeside, ...]:
    measures = measures_of_set(gold, dataset)
    figures = [evaluate(run, gold, measures).overall.means for run in (own_run, their_run)]
    return tuple(
        MeasureBeside(measure=measure, own=figures[0][measure], there=figures[1][measure])
        for measure in measures
    )


def _shared_hits(own_run: Run, their_run: Run, gold: GoldSet) -> float | None:
    """The mean share of the first ten hits that both have."""
    shares = []
    for query in gold.query_ids:
        first, second = (set(run.doc_ids(query)[:10]) for run in (own_run, their_run))
        if first or second:
            shares.append(len(first & second) / max(len(first), len(second)))
    return sum(shares) / len(shares) if shares else None


def _millis(run: Run) -> float | None:
    middle = run.queries.select(pl.col("millis").median()).item()
    return None if middle is None else float(middle)

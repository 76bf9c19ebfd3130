"""`assay index NAME --into ENGINE`: a corpus into an engine of the configuration, and how our
ranking does there beside our own index."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl

from assay import formats
from assay.core.errors import InputError
from assay.core.types import GoldSet, Run
from assay.engines.asking import run_engine
from assay.engines.carried import CarriedEngine, carrier_of
from assay.engines.connecting import kind_of
from assay.engines.described import settings_of
from assay.engines.indexed import Say, open_indexed, silent
from assay.engines.loading import Loaded, Tick, load_corpus
from assay.evaluation.graded import evaluate
from assay.workbench.project.config import CONFIG_NAME, read_config
from assay.workbench.scoring.rubric_settings import measures_of_set

TOP = 20


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """One measure on our own index and on the engine."""

    measure: str
    own: float | None
    there: float | None


class Into(msgspec.Struct, frozen=True, kw_only=True):
    """What was loaded; with a gold set the quality beside our own index, how many of the first ten
    hits are the same, and how long a question took."""

    loaded: Loaded
    beside: tuple[Beside, ...] = ()
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
) -> Into:
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
    carrier = carrier_of(table.kind, engine, settings)
    loaded = load_corpus(name, carrier, engine=engine, tick=tick, say=say)
    if gold is None or dataset is None:
        return Into(loaded=loaded)
    own = run_engine(open_indexed(name, say=say), gold.queries, top_k=TOP)
    there = run_engine(CarriedEngine(engine, carrier), gold.queries, top_k=TOP)
    return Into(
        loaded=loaded,
        beside=_beside(own, there, gold, dataset),
        same_in_ten=_same(own, there, gold),
        own_millis=_millis(own),
        there_millis=_millis(there),
    )


def _beside(own: Run, there: Run, gold: GoldSet, dataset: Path) -> tuple[Beside, ...]:
    measures = measures_of_set(gold, dataset)
    figures = [evaluate(run, gold, measures).overall.means for run in (own, there)]
    return tuple(
        Beside(measure=measure, own=figures[0][measure], there=figures[1][measure])
        for measure in measures
    )


def _same(own: Run, there: Run, gold: GoldSet) -> float | None:
    """The mean share of the first ten hits that both have."""
    shares = []
    for query in gold.query_ids:
        first, second = (set(run.doc_ids(query)[:10]) for run in (own, there))
        if first or second:
            shares.append(len(first & second) / max(len(first), len(second)))
    return sum(shares) / len(shares) if shares else None


def _millis(run: Run) -> float | None:
    middle = run.queries.select(pl.col("millis").median()).item()
    return None if middle is None else float(middle)

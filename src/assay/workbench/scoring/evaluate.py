"""Asking engines and scoring runs in memory, for Python, without files or receipts."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core import plugins
from assay.core.errors import EngineError, InputError
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Query, QueryResult, Run, ScoreSheet
from assay.engines.asking import ask_all, run_engine
from assay.engines.engine_table import EngineConfig
from assay.engines.retrievers import as_engine
from assay.evaluation import graded
from assay.evaluation.judged import Qrels, Scored, gold_from_dict
from assay.evaluation.measures import Measure, is_handed, parse_measure, parse_measures
from assay.evaluation.streamed import look_up
from assay.formats import read_gold, read_run
from assay.reports.notebook import shown

__all__ = ["EngineAnswers", "ask", "ask_any", "evaluate", "parse_measure", "read_gold", "read_run"]


def evaluate(
    run: Run | Scored | Path | str,
    gold: GoldSet | Qrels | Path | str,
    measures: Iterable[str | Measure],
) -> ScoreSheet:
    """Score a run against a gold set; in a notebook the sheet shows itself as a table.

    `run` is a Run, or {query_id: {doc_id: score}}; `gold` is a GoldSet, or {query_id: {doc_id:
    grade}}. Either may be the path of a file; a TREC run is then scored while it is read, and never
    in memory as a whole. Every query of the gold set is in the sheet: one that the run lacks scores
    0, one that failed or has no relevant document has no value and says why. `counts` holds
    n_expected, n_run, n_scored and what else was met."""
    known = read_gold(gold) if isinstance(gold, Path | str) else gold
    if not isinstance(run, Path | str):
        return shown(graded.evaluate(run, known, measures))
    wanted = parse_measures(map(str, measures))
    if any(map(is_handed, wanted)):  # they need the whole run
        return shown(graded.evaluate(read_run(run), known, wanted))
    gold_set = known if isinstance(known, GoldSet) else gold_from_dict(known)
    return shown(graded.score_sheet(look_up(Path(run), gold_set, keep=0).prepared, wanted))


def ask(engine: Any, gold: GoldSet | Iterable[Query], *, top_k: int = 20) -> Run:
    """Ask an engine every query of a gold set. `engine` is anything with `search(query, top_k)`, a
    function, either of them async, or a retriever of LangChain, LlamaIndex, Haystack or PyTerrier.
    A call that raises is a failed query of the run, and never an empty answer."""
    queries = gold.queries if isinstance(gold, GoldSet) else tuple(gold)
    return run_engine(as_engine(engine), queries, top_k=top_k)


class EngineAnswers(NamedTuple):
    """The answers of an engine as a run, the same with all fields of their hits, and the corpus
    that it searched, if that is known."""

    run: Run
    answers: list[QueryResult]
    corpus: Path | None


def ask_any(
    engine: Any,
    queries: Sequence[Query],
    *,
    top_k: int = 20,
    corpus: Path | None = None,
    config: Path | None = None,
) -> EngineAnswers:
    """Ask an engine, which is an object or a function, or is named: a table of assay.toml, a
    corpus, a baseline with a corpus, or a Python module. A module is loaded right here."""
    if isinstance(engine, type):
        raise InputError(
            f"{engine.__name__} is a class, and cannot be asked",
            hint=f"Make one: {engine.__name__}().",
        )
    if not isinstance(engine, str | Path):
        name, answers = ask_all(as_engine(engine), queries, top_k=top_k)
        return EngineAnswers(run_from_results(name, answers, top_k=top_k), answers, corpus)
    from assay.engines.answering import ask_engine, opened  # corpora take long to load
    from assay.engines.registry import searched

    described = _engine_config_of(str(engine), corpus, config)
    if described.run is not None:
        raise InputError(
            f"{engine!r} is a saved run, and cannot be asked", hint=f"load_run({described.run!r})"
        )
    if described.routes:
        name, answers = ask_engine(described, queries, top_k=top_k)
    else:
        with opened(described) as made:
            name, answers = ask_all(made, queries, top_k=top_k, calls=described.calls)
    return EngineAnswers(run_from_results(name, answers, top_k=top_k), answers, searched(described))


def _engine_config_of(name: str, corpus: Path | None, config: Path | None) -> EngineConfig:
    """The engine that a name stands for."""
    from assay.engines.registry import BASELINES, ENGINES, is_indexed_name
    from assay.workbench.scoring.engines import find_engine, list_engines

    found = find_engine(name, config, corpus=corpus)
    if found is not None:
        return found
    where = str(corpus) if corpus is not None else None
    if name in BASELINES and corpus is None:
        raise InputError(
            f"the baseline {name!r} needs a corpus",
            hint=f'Give one: run("{name}", gold, corpus="corpus.jsonl").',
        )
    if is_indexed_name(name) or plugins.is_known(ENGINES, name):
        return EngineConfig(name=name, engine=name, corpus=where)
    if name.partition(":")[0].endswith(".py") or ":" in name or _is_module(name):
        return EngineConfig(name=name, search_module=name, corpus=where)
    known = ", ".join(row.name for row in list_engines(config))
    raise InputError(
        f"there is no engine {name!r}",
        hint=f"Known: {known}. Or give a function, an object with search(query, top_k), a module, "
        "or a file: my_engine.py.",
    )


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
    except Exception as error:  # a package above it is loaded by looking
        raise EngineError(f"the module {name!r} cannot be loaded: {error}") from error

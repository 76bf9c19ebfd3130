"""Asking engines, and scoring, comparing and saving values in memory, for the Python API: with the
numbers, the receipt and the words that the commands give for the same files. What is imported here
`as` itself is for the API, which imports the workbench alone."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import msgspec
import numpy as np

from assay.core import plugins
from assay.core.errors import EngineError, InputError, nearest_name
from assay.core.files import write_atomic
from assay.core.results import Entry, GoldenResults, GradedEntry, GradedResults, Results
from assay.core.results_file import encode, to_json
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Query, QueryResult, Run, ScoreSheet, Slice
from assay.engines.calling import ask_all, run_engine
from assay.engines.engine_table import EngineConfig
from assay.engines.python import as_engine
from assay.evaluation import graded
from assay.evaluation.comparison import Comparison as Comparison
from assay.evaluation.golden.scoring import results_of as results_of
from assay.evaluation.graded import graded_results
from assay.evaluation.judged_hits import Qrels, Scored, gold_from_dict, join_saved_run
from assay.evaluation.measures import Measure, is_external, parse_measures
from assay.evaluation.measures import parse_measure as parse_measure
from assay.evaluation.receipts import git_state, versions
from assay.formats import detect_run
from assay.formats import read_gold as read_gold
from assay.formats import read_run as read_run
from assay.formats.results_json import read_answers
from assay.formats.results_json import read_results as read_results
from assay.judging.next import Decision as Decision
from assay.judging.next import next_to_judge
from assay.reports import FORMATS, render, view
from assay.workbench.deciding.compare import ComparisonOptions, compare_with_leaderboard
from assay.workbench.judging.next import refuse_closed, without_voted
from assay.workbench.judging.vote_totals import dataset_of
from assay.workbench.scoring.request import (
    DEFAULT_TOP_K,
    Signature,
    inputs_of,
    sign_results,
)
from assay.workbench.scoring.request import no_common_queries as no_common_queries
from assay.workbench.scoring.score import verdict_against


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The files that the values were read from, for the receipt; None if they were made here."""

    gold: Path | None = None
    run: Path | None = None
    corpus: Path | None = None


# ── scoring ───────────────────────────────────────────────────────────────────────────────────────


def score_graded_run(
    run: Run | Path, gold: GoldSet, measures: Sequence[str], sources: Sources
) -> GradedResults:
    """The results that `assay score` would write. A saved run is read to as many hits as they
    keep."""
    wanted = parse_measures(measures)
    keep = max(DEFAULT_TOP_K, *(measure.cutoff or 0 for measure in wanted))
    if isinstance(run, Path):
        needs_all = any(map(is_external, wanted))
        looked = join_saved_run(run, gold, keep=None if needs_all else keep)
        results = graded_results(looked.run, gold, measures, prepared=looked.joined, keep=keep)
    else:
        results = graded_results(run, gold, measures, keep=keep)
    primary = gold.targets.primary if gold.targets else ""
    if primary and (name := str(parse_measure(primary))) in measures:
        receipt = msgspec.structs.replace(results.receipt, primary=name)
        results = msgspec.structs.replace(results, receipt=receipt)
    return sign_results(results, _signature(sources))


def score_golden_run(
    gold: GoldSet, engine: str, answers: Sequence[QueryResult], sources: Sources
) -> GoldenResults:
    """Every question checked, and the verdict of the suite's own policy."""
    from assay.evaluation.golden.set_checks import check_expectations
    from assay.workbench.scoring.golden import golden_results, places_in

    if not {answer.query_id for answer in answers} & set(gold.query_ids):
        raise no_common_queries(gold, [answer.query_id for answer in answers])
    known = places_in(sources.corpus) if sources.corpus else {}
    findings = check_expectations(
        gold, known.values() if known else None, file=str(sources.gold or "")
    )
    results = golden_results(gold, engine, answers, known, findings=findings)
    results = sign_results(results, _signature(sources))
    verdict = verdict_against(results, (), None, settle=False)
    return msgspec.structs.replace(results, verdict=verdict)


def saved_answers(path: Path) -> list[QueryResult]:
    """The fields of saved hits besides their ids; empty for a TREC or BEIR run."""
    return read_answers(path)[1] if detect_run(path) == "json" else []


def _signature(sources: Sources) -> Signature:
    engine = EngineConfig(corpus=str(sources.corpus) if sources.corpus else None)
    inputs = inputs_of(sources.gold, sources.run, engine)
    return Signature(inputs=inputs, served_by={}, versions=versions(), git=git_state())


# ── results as a sheet ────────────────────────────────────────────────────────────────────────────


def sheet_of(results: Results) -> ScoreSheet:
    """The values of saved results by query and measure, and the means by slice. Of a golden set the
    measures are its figures, which have means and no values of their own by query."""
    entries: Sequence[Entry] = results.per_query
    names = {line.key: line.measure for line in results.receipt.measures}
    overall = {name: value for name, value in results.overall.items() if _is_number(value)}
    if isinstance(results, GoldenResults):
        names = {name: name for name in overall}
    rows = [[_value(entry, key) for key in names] for entry in entries]
    whole = Slice(
        kind="overall",
        name="",
        n=_scored_entries(results),
        means={measure: _mean(results.overall.get(key)) for key, measure in names.items()},
    )
    return ScoreSheet(
        measures=tuple(names.values()),
        queries=tuple(map(_query, entries)),
        values=np.array(rows, np.float64).reshape(len(entries), len(names)),
        judged=np.array([_judged(entry) for entry in entries], np.float64),
        reasons=tuple(entry.reason for entry in entries),
        slices=(whole, *_slices(results, names)),
        counts=results.receipt.counts,
    )


def _slices(results: Results, names: dict[str, str]) -> list[Slice]:
    counts = results.receipt.n.slices if isinstance(results, GradedResults) else {}
    return [
        Slice(
            kind=kind,
            name=name,
            n=counts.get(kind, {}).get(name, 0) or int(means.get("total") or 0),
            means={measure: _mean(means.get(key)) for key, measure in names.items()},
        )
        for kind, parts in results.slices.items()
        for name, means in parts.items()
    ]


def _scored_entries(results: Results) -> int:
    if isinstance(results, GradedResults):
        return results.receipt.n.overall
    return len(results.per_query)


def _query(entry: Entry) -> Query:
    graded = isinstance(entry, GradedEntry)
    category = entry.query_category if isinstance(entry, GradedEntry) else entry.category
    return Query(
        id=entry.query_id,
        text=entry.query_text,
        type=entry.query_type,
        topic=entry.query_topic,
        category=category,
        must=None if graded else entry.must,  # type: ignore[union-attr]
    )


def _value(entry: Entry, key: str) -> float:
    value = entry.metrics.get(key)
    return float("nan") if value is None else float(value)


def _judged(entry: Entry) -> float:
    top = entry.grades[:10]
    return sum(grade is not None for grade in top) / len(top) if top else float("nan")


def _mean(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# ── comparing, judging, saving ────────────────────────────────────────────────────────────────────


def compare_results_in_memory(
    results: Sequence[Results], names: Sequence[str], **options: Unpack[ComparisonOptions]
) -> Comparison:
    """Each against the first; three or more also have a leaderboard."""
    kinds = {isinstance(each, GoldenResults) for each in results}
    if len(kinds) > 1:
        raise InputError(
            "some of these scores are for a golden set and some for a graded one",
            hint="Compare scores on the same gold set.",
        )
    return compare_with_leaderboard(results, names, **options)


def next_pairs_of(
    first: Results, second: Results | None, *, measure: str, threshold: float | None
) -> Decision:
    """The pairs to judge to decide whether the second is better than the first, or whether the
    first reaches the threshold."""
    every = [each for each in (first, second) if each is not None]
    graded = [each for each in every if isinstance(each, GradedResults)]
    if len(graded) < len(every):
        raise InputError("a golden set has no grades to give: its questions pass or fail")
    if second is None and threshold is None:
        hint = "Give the scores of a second engine, or threshold=, the figure to reach."
        raise InputError("there is nothing to decide", hint=hint)
    if len({each.receipt.gold.fingerprint for each in graded}) > 1:
        raise InputError(
            "the two were scored on different gold sets", hint="Score both on the same one."
        )
    refuse_closed(graded)
    if not any(entry.known_grades for each in graded for entry in each.per_query):
        raise InputError("nothing is judged yet, and what to judge next is learnt from judgments")
    entries = [each.per_query for each in graded]
    decision = next_to_judge(*entries, measure=measure, threshold=threshold or 0.0)
    return without_voted(decision, dataset_of(first))


def save_results(results: Results, path: Path, *, language: str = "en") -> None:
    """The results file (.json), or a report in the format of the ending."""
    if path.suffix == ".json":
        write_atomic(path, encode(to_json(results)))
        return
    if path.suffix not in FORMATS:
        known = ", ".join([".json", *FORMATS])
        raise InputError(
            f"scores cannot be written as {path.suffix or 'a file without an ending'}",
            where=str(path),
            hint=f"The file extension sets the format: {known}.",
        )
    write_atomic(path, render(view(results, language=language), path.suffix))


def save_value(value: object, path: Path) -> Path:
    """Save any value as JSON."""
    if path.suffix != ".json":
        raise InputError(
            f"this must be written as .json, not {path.suffix or 'without an ending'}",
            where=str(path),
        )
    write_atomic(path, encode(value))
    return path


# ── asking engines and scoring runs, without receipts ─────────────────────────────────────────────


def evaluate(
    run: Run | Scored | Path | str,
    gold: GoldSet | Qrels | Path | str,
    measures: Iterable[str | Measure],
) -> ScoreSheet:
    """Score a run against a gold set.

    `run` is a Run, or {query_id: {doc_id: score}}; `gold` is a GoldSet, or {query_id: {doc_id:
    grade}}. Either may be the path of a file; a TREC run is then scored while it is read, and never
    in memory as a whole. Every query of the gold set is in the sheet: one that the run lacks scores
    0, one that failed or has no relevant document has no value and says why. `counts` holds
    n_expected, n_run, n_scored and what else was met."""
    known = read_gold(gold) if isinstance(gold, Path | str) else gold
    if not isinstance(run, Path | str):
        return graded.evaluate(run, known, measures)
    wanted = parse_measures(map(str, measures))
    if any(map(is_external, wanted)):  # they need the whole run
        return graded.evaluate(read_run(run), known, wanted)
    gold_set = known if isinstance(known, GoldSet) else gold_from_dict(known)
    return graded.score_sheet(join_saved_run(Path(run), gold_set, keep=0).joined, wanted)


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
            f"{engine.__name__} is a class and cannot be searched",
            hint=f"Make one: {engine.__name__}().",
        )
    if not isinstance(engine, str | Path):
        name, answers = ask_all(as_engine(engine), queries, top_k=top_k)
        return EngineAnswers(run_from_results(name, answers, top_k=top_k), answers, corpus)
    from assay.engines.running import ask_engine, corpus_of, engine_session

    described = _engine_config_of(str(engine), corpus, config)
    if described.run is not None:
        raise InputError(
            f"{engine!r} is a saved run and cannot be searched",
            hint=f"load_run({described.run!r})",
        )
    if described.routes:
        name, answers = ask_engine(described, queries, top_k=top_k)
    else:
        with engine_session(described) as made:
            name, answers = ask_all(made, queries, top_k=top_k, calls=described.calls)
    return EngineAnswers(
        run_from_results(name, answers, top_k=top_k), answers, corpus_of(described)
    )


def _engine_config_of(name: str, corpus: Path | None, config: Path | None) -> EngineConfig:
    """The engine that a name stands for."""
    from assay.engines.running import BASELINES, ENGINES, is_indexed_name
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
    names = [row.name for row in list_engines(config)]
    raise InputError(
        f"there is no engine {name!r}",
        hint=f"{nearest_name(name, names)}Known: {', '.join(names)}. Or give a function, an object "
        "with search(query, top_k), a module, or a file: my_engine.py.",
    )


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
    except Exception as error:  # a package above it is loaded by looking
        raise EngineError(f"the module {name!r} cannot be loaded: {error}") from error

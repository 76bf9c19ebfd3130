"""The service layer: the verbs. Values in, values out; the command line and other adapters call one
verb and render."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import read_json, refuse_unwritable, sha256_of, write_atomic
from assay.core.fingerprints import git_state, gold_fingerprint, versions
from assay.core.types import GoldSet, Query, QueryResult, ResultsFile, Run, ScoreSheet, standing
from assay.engines.asking import ask_all, run_engine, stdout_to_stderr
from assay.engines.registry import EngineChoice, open_engine
from assay.evaluation import statistics
from assay.evaluation.changes import changes
from assay.evaluation.comparison import Comparison, compare, incomparable
from assay.evaluation.expectations import check_expectations
from assay.evaluation.gates import Gate, decide
from assay.evaluation.golden import evaluate_golden
from assay.evaluation.golden_checks import DEFAULT_K, checks_of, results_of
from assay.evaluation.golden_gates import DEFAULT_POLICY, evaluate_gates
from assay.evaluation.graded import evaluate, unjudged
from assay.evaluation.measures import BINARY_SUITE, GRADED_SUITE, parse_measures
from assay.formats import results_json
from assay.formats.schema import record
from assay.law.matching import close_versions, document_fields
from assay.reports import terminal
from assay.reports.exports import export, export_golden
from assay.workbench import corpora

DEFAULT_TOP_K = 20

PASS = {
    "key": "pass",
    "measure": "pass",
    "cutoff": None,
    "formula": "1 when every check of the question holds, else 0",
    "source": "docs/golden.md",
}

Progress = Callable[[Iterable[Query]], Iterable[Query]]


# ── score ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Asked:
    """What `score` was asked for, as the golden path needs it."""

    search_module: str | None
    engine: str | None
    corpus: Path | None
    run_file: Path | None
    top_k: int | None
    k: int | None
    min_score: float | None
    baseline: Path | None


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A scored run: the results object that is printed and saved, and what people should be warned
    about."""

    results: dict[str, Any]
    warnings: tuple[str, ...]
    failed: int


def score(
    dataset: Path,
    *,
    search_module: str | None = None,
    engine: str | None = None,
    corpus: Path | None = None,
    run_file: Path | None = None,
    measures: Sequence[str] = (),
    top_k: int | None = None,
    output: Path | None = None,
    baseline: Path | None = None,
    gates: Sequence[Gate] = (),
    k: int | None = None,
    min_score: float | None = None,
    progress: Progress = lambda queries: queries,
    say: Callable[[str], None] = lambda text: None,
) -> Scored:
    """Score an engine, or saved results, against a gold set; write the results file when `output`
    is given. With a baseline the change against it, with gates the verdict, is part of the
    results."""
    if sum(source is not None for source in (search_module, engine, run_file)) != 1:
        raise UsageError("give exactly one of --search-module, --engine or --run")
    refuse_output(output, dataset, run_file, corpus)
    if corpus is not None:
        corpora.require_corpus(corpus)
    gold = formats.read_gold(dataset)
    if any(query.checks for query in gold.queries):
        if measures:
            raise UsageError(
                "a golden set has measures of its own",
                where=str(dataset),
                hint="Leave --measure out.",
            )
        asked = _Asked(search_module, engine, corpus, run_file, top_k, k, min_score, baseline)
        golden_scored = _score_golden(gold, dataset, asked, progress, say)
        if output is not None:
            write_atomic(output, encode(golden_scored.results))
        return golden_scored
    if k is not None or min_score is not None:
        raise UsageError(
            "--k and --min-score are for golden sets; this one is graded", where=str(dataset)
        )
    if not gold.judgments.height:
        raise InputError("there are no graded judgments to score against", where=str(dataset))
    wanted = tuple(map(str, parse_measures(measures))) or default_measures(gold)
    if run_file is not None:
        run = formats.read_run(run_file)
    else:
        deepest = max((measure.cutoff or 0 for measure in parse_measures(wanted)), default=0)
        depth = top_k or max(DEFAULT_TOP_K, deepest)
        if depth < deepest:
            say(f"warning: the engine is asked for {depth} hits, and a measure looks at {deepest}")
        with stdout_to_stderr():
            run = run_engine(
                open_engine(
                    EngineChoice(search_module=search_module, engine=engine, corpus=corpus), say
                ),
                gold.queries,
                top_k=depth,
                progress=progress,
            )
    inputs = {"dataset": dataset, "run": run_file, "corpus": _corpus_of(engine, corpus)}
    scored = score_run(run, gold, wanted, inputs=inputs)
    scored = _against_baseline(scored, baseline, gates)
    if output is not None:
        write_atomic(output, encode(scored.results))
    return scored


def _against_baseline(scored: Scored, baseline: Path | None, gates: Sequence[Gate]) -> Scored:
    results, warnings = dict(scored.results), list(scored.warnings)
    then = read_results(baseline) if baseline is not None and baseline.exists() else None
    if then is not None:
        differing = incomparable(then["receipt"], results["receipt"])
        if differing:
            warnings.append(f"the baseline is stale: {'; '.join(differing)}")
        results["baseline"] = {
            "path": str(baseline),
            "stale": "; ".join(differing),
            "recorded": then.get("recorded"),
            "gold_status": then["receipt"]["gold"].get("status", ""),
            "delta": _differences(results["overall"], then["overall"]),
        }
        for kind in [key for key in results if key.startswith("by_") and then.get(key)]:
            results["baseline"][kind] = {
                name: _differences(means, then[kind][name])
                for name, means in results[kind].items()
                if name in then[kind]
            }
    if gates:
        stale = results.get("baseline", {}).get("stale", "")
        results["verdict"] = msgspec.to_builtins(decide(results, gates, then, stale=stale))
    return replace(scored, results=results, warnings=tuple(warnings))


def _differences(now: dict[str, float | None], then: dict[str, float | None]) -> dict[str, float]:
    """Where both have a value."""
    return {
        key: value - before
        for key, value in now.items()
        if value is not None and (before := then.get(key)) is not None
    }


def refuse_outputs(*paths: Path | None) -> None:
    """Every file that a command will write at its end can be written."""
    for path in paths:
        if path is not None:
            refuse_unwritable(path)


def read_results(path: Path) -> dict[str, Any]:
    """A results file of Assay, checked for shape."""
    results = read_json(path)
    hint = (
        "It is not a results file of Assay; score results of another tool first: assay score --run."
    )
    record(results, ResultsFile, path, "$", hint)
    return dict(results)


def compare_results(paths: Sequence[Path], *, force: bool = False) -> Comparison:
    """Each results file against the first."""
    if len(paths) < 2:
        raise UsageError("give at least two results files to compare")
    results = [read_results(path) for path in paths]
    engines = [str(item["engine"]) for item in results]
    names = engines if len(set(engines)) == len(engines) else [path.stem for path in paths]
    return compare(
        results,
        names if len(set(names)) == len(names) else [str(path) for path in paths],
        force=force,
    )


def refuse_output(output: Path | None, *inputs: Path | None) -> None:
    if output is None:
        return
    refuse_unwritable(output)
    if any(
        path is not None and path.exists() and output.exists() and output.samefile(path)
        for path in inputs
    ):
        raise UsageError(
            "the output would overwrite an input", where=str(output), hint="Give another file name."
        )


def _score_golden(
    gold: GoldSet, dataset: Path, asked: _Asked, progress: Progress, say: Callable[[str], None]
) -> Scored:
    """Pass or fail for every question of a golden set."""
    known = _known_places(asked)
    wrong = check_expectations(gold, known.values() if known else None, file=str(dataset))
    for finding in wrong:
        say(f"{finding.level}: {finding.where}: {finding.message}")
    then = _golden_baseline(asked.baseline)
    name, answers = _golden_answers(gold, asked, progress, say)
    warnings = list(_golden_warnings(gold, answers, str(asked.run_file or name)))
    if not known and not any(hit.text for answer in answers for hit in answer.hits):
        warnings += _unseen_evidence(gold)
    found = evaluate_golden(
        gold,
        answers,
        locate=known.get if known else None,
        k=asked.k,
        min_score=asked.min_score,
        baseline=then,
    )
    inputs = _inputs(
        {
            "dataset": dataset,
            "run": asked.run_file,
            "corpus": _corpus_of(asked.engine, asked.corpus),
        }
    )
    results = {
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "engine": name,
        **found,
    }
    results["receipt"] = {
        "measures": [PASS],
        "gold": _gold_card(gold),
        "inputs": inputs,
        "versions": versions(),
        "git": git_state(),
        "corpus_fingerprint": inputs.get("corpus", {}).get("sha256"),
        "counts": {
            "n_expected": len(gold.queries),
            "n_failed": found["overall"].get("n_failed", 0),
        },
        "findings": msgspec.to_builtins(wrong),
    }
    failed = int(found["overall"].get("n_failed") or 0)
    return _against_baseline(
        Scored(results=results, warnings=tuple(warnings), failed=failed), asked.baseline, ()
    )


def _golden_baseline(path: Path | None) -> dict[str, Any] | None:
    then = read_results(path) if path is not None and path.exists() else None
    if then is not None and "pass_rate_total" not in then["overall"]:
        raise InputError(
            "the baseline is not of a golden set",
            where=str(path),
            hint="Write one with --update-baseline.",
        )
    return then


def _golden_warnings(gold: GoldSet, answers: Sequence[QueryResult], source: str) -> Iterable[str]:
    """Questions that only the set or only the run has; with none in common the files do not belong
    together."""
    asked, answered = set(gold.query_ids), [answer.query_id for answer in answers]
    if not asked & set(answered):
        hint = f"The gold set has {gold.query_ids[0]!r} and others; the run has {answered[:3]}."
        raise InputError("the run has none of the gold set's questions", where=source, hint=hint)
    if missing := len(asked - set(answered)):
        yield f"{missing} of {len(asked)} questions are missing from the run and count as not passed"
    if extra := len(set(answered) - asked):
        yield f"{extra} questions of the run are not in the gold set and were ignored"


def _unseen_evidence(gold: GoldSet) -> Iterable[str]:
    """No hit has a text, and no corpus gives it one."""
    asked = sum(
        bool(checks.evidence or any(checks.evidence_of)) for checks in map(checks_of, gold.queries)
    )
    if asked:
        who = "1 question asks" if asked == 1 else f"{asked} questions ask"
        yield f"{who} for evidence, and the hits have no text to find it in; give --corpus"


def _golden_answers(
    gold: GoldSet, asked: _Asked, progress: Progress, say: Callable[[str], None]
) -> tuple[str, list[QueryResult]]:
    if asked.run_file is not None:
        if asked.run_file.suffix == ".json" and formats.detect_run(asked.run_file) == "json":
            return results_json.read_results(asked.run_file)
        run = formats.read_run(asked.run_file)
        return run.engine, results_of(run)
    looked_at = asked.k or max((query.k or DEFAULT_K for query in gold.queries), default=0)
    depth = max(
        asked.top_k or DEFAULT_TOP_K, looked_at
    )  # a question must be given the hits it looks at
    with stdout_to_stderr():
        choice = EngineChoice(
            search_module=asked.search_module, engine=asked.engine, corpus=asked.corpus
        )
        engine = open_engine(choice, say)
        return ask_all(engine, gold.queries, top_k=depth, progress=progress)


def _known_places(asked: _Asked) -> dict[str, Any]:
    """What every document of the corpus is, so that a hit with only an id can be placed."""
    source = _corpus_of(asked.engine, asked.corpus)
    documents = corpora.documents(source) if source else ()
    return close_versions({document.id: document_fields(document) for document in documents})


def _corpus_of(engine: str | None, corpus: Path | None) -> Path | None:
    """What was searched, where it is known."""
    return EngineChoice(engine=engine, corpus=corpus).searched


def score_run(
    run: Run, gold: GoldSet, measures: Sequence[str], *, inputs: dict[str, Path | None]
) -> Scored:
    sheet = evaluate(run, gold, measures)
    if not any(query_id in run.rows_by_query for query_id in gold.query_ids):
        raise InputError(
            "the run has none of the gold set's queries",
            where=str(inputs.get("run") or run.engine),
            hint=f"The gold set has {gold.query_ids[0]!r} and others; the run has {list(run.rows_by_query)[:3]}.",
        )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    n = {"overall": sheet.overall.n} | {
        f"by_{gold.slice_name(kind)}": {name: part.n for name, part in sheet.by(kind).items()}
        for kind in dict.fromkeys(part.kind for part in sheet.slices[1:])
    }
    hashes = _inputs(inputs)
    receipt: dict[str, Any] = {
        "measures": terminal.receipt_of_measures(sheet.measures),
        "ties": terminal.TIE_POLICY[run.order],
        "unjudged_policy": terminal.UNJUDGED_POLICY,
        "missing_policy": terminal.MISSING_POLICY,
        "unjudged": {
            name: asdict(values) for name, values in unjudged(run, gold, measures).items()
        },
        "n": n,
        "counts": dict(sheet.counts),
        "latency_ms": latency(run),
        "top_k": run.environment.get("top_k"),
        "gold": _gold_card(gold),
        "corpus_fingerprint": hashes.get("corpus", {}).get("sha256")
        or run.environment.get("corpus_fingerprint"),
        "inputs": hashes,
        "versions": versions(),
        "git": git_state(),
    }
    results = terminal.results_json(sheet, run, gold, timestamp=now, receipt=receipt)
    keys = {line["measure"]: line["key"] for line in receipt["measures"]}
    results["intervals"] = intervals(sheet, keys, gold.slice_name)
    return Scored(
        results=results, warnings=tuple(_warnings(sheet.counts)), failed=sheet.counts["n_failed"]
    )


def _gold_card(gold: GoldSet) -> dict[str, Any]:
    share = gold.approved_rows / len(gold.queries) if gold.from_logs else None
    status = standing(gold.approved_rows, len(gold.queries)) if gold.from_logs else gold.status
    return {
        "name": gold.name,
        "version": gold.version,
        "rubric": gold.rubric,
        "status": status,
        "approved_share": share,
        "queries": len(gold.queries),
        "judgments": gold.judgments.height,
        "fingerprint": gold_fingerprint(gold),
    }


def _inputs(paths: dict[str, Path | None]) -> dict[str, Any]:
    """Every input with its hash; a corpus of the workspace with its fingerprint."""
    found: dict[str, Any] = {}
    for name, path in paths.items():
        if path is not None:
            named = name == "corpus" and corpora.is_corpus(str(path))
            digest = (
                f"corpus:{corpora.corpus_named(str(path)).fingerprint}"
                if named
                else sha256_of(path)
            )
            found[name] = {"path": str(path), "sha256": digest}
    return found


def intervals(
    sheet: ScoreSheet, keys: dict[str, str], slice_name: Callable[[str], str] = lambda kind: kind
) -> dict[str, Any]:
    """The 95% interval of every mean, by slice: {"overall": {key: [low, high]}, "by_type":
    {...}}."""
    found: dict[str, Any] = {}
    scored = ~np.isnan(sheet.values).any(axis=1)
    for part in sheet.slices:
        inside = scored & np.array(
            [part.kind == "overall" or getattr(q, part.kind) == part.name for q in sheet.queries]
        )
        bounds = {
            keys[measure]: [interval.low, interval.high]
            for measure, interval in zip(
                sheet.measures, statistics.mean_intervals(sheet.values[inside]), strict=True
            )
        }
        if part.kind == "overall":
            found["overall"] = bounds
        else:
            found.setdefault(f"by_{slice_name(part.kind)}", {})[part.name] = bounds
    return found


def default_measures(gold: GoldSet) -> tuple[str, ...]:
    """The graded suite where grades reach 2, the binary one where a document is right or not."""
    return GRADED_SUITE if gold.max_grade >= 2 else BINARY_SUITE


def _warnings(counts: Any) -> Iterable[str]:
    if counts.get("duplicates"):
        yield f"duplicate hits were dropped, the first place was kept: {counts['duplicates']}"
    if counts["n_missing"]:
        yield f"{counts['n_missing']} of {counts['n_expected']} queries are missing from the run and score 0"
    if counts["n_extra"]:
        yield f"{counts['n_extra']} queries of the run are not in the gold set and were ignored"
    if counts["n_failed"]:
        yield f"the engine failed on {counts['n_failed']} of {counts['n_expected']} queries; they are not scored"


def latency(run: Run) -> dict[str, float] | None:
    if "millis" not in run.queries.columns:
        return None
    millis = run.queries["millis"].drop_nulls().to_numpy()
    if not len(millis):
        return None
    p50, p95 = np.percentile(millis, [50, 95]).tolist()
    return {"mean": float(millis.mean()), "p50": p50, "p95": p95, "max": float(millis.max())}


def encode(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def golden_gates(
    results: dict[str, Any], policy: Sequence[Any], baseline: Path | None
) -> list[dict[str, Any]]:
    """The gates of a golden set by another policy than the one it was scored with; without one, A
    to D."""
    rows = [msgspec.to_builtins(gate) for gate in policy] or DEFAULT_POLICY
    return evaluate_gates(results, _golden_baseline(baseline), rows)


def report_file(
    results: Path,
    output: Path,
    *,
    against: Path | None = None,
    language: str = "en",
    force: bool = False,
) -> None:
    """Write a report in the format of the output's ending; `against` adds the comparison with
    another results file, and `force` lets that be one on another gold set or corpus."""
    refuse_unwritable(output)
    scored = read_results(results)
    if against is not None and output.suffix in (".csv", ".xml"):
        raise UsageError(
            f"a {output.suffix} report has no comparison",
            where=str(output),
            hint="Leave --against out, or write .html, .md or .tex.",
        )
    if language != "en" and not ("gates" in scored and output.suffix == ".md"):
        raise UsageError(
            f"this report is not written in language {language!r}",
            where=str(output),
            hint="The Markdown report of a golden set is, others are in English.",
        )
    if "gates" in scored and (against is not None or language != "en"):
        changed = _golden_changes(against, results, scored) if against is not None else None
        write_atomic(output, export_golden(scored, output.suffix, changed, language))
        return
    found = (
        msgspec.to_builtins(compare_results([against, results], force=force)) if against else None
    )
    write_atomic(output, export(scored, output.suffix, found))


def _golden_changes(against: Path, path: Path, scored: dict[str, Any]) -> dict[str, Any]:
    """What broke and what was repaired. A set may have grown since: it is compared on what both
    have, and said."""
    compared = compare_results([against, path], force=True)
    return changes(
        read_results(against), scored, name=compared.baseline, warnings=compared.warnings
    )


# ── explain ───────────────────────────────────────────────────────────────────────────────────────


def explain(
    results_file: Path, query_id: str, dataset: Path | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The entry of one query and the measures behind its numbers. A results file of another tool
    needs the gold set."""
    results = (
        score(dataset, run_file=results_file).results if dataset else read_results(results_file)
    )
    entries = msgspec.convert(results, ResultsFile)
    entry = next((entry for entry in entries.per_query if entry.query_id == query_id), None)
    if entry is None:
        known = ", ".join(entry.query_id for entry in entries.per_query[:5])
        raise InputError(
            f"no query {query_id!r}", where=str(results_file), hint=f"It has {known}, …"
        )
    if "gates" in results:  # passing is told in words, from all that a golden entry holds
        return next(dict(raw) for raw in results["per_query"] if raw["query_id"] == query_id), []
    return msgspec.to_builtins(entry), list(entries.receipt["measures"])


# ── demo ──────────────────────────────────────────────────────────────────────────────────────────


def samples() -> Path:
    """The bundled samples: inside the installed package, or beside `src` in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "samples", package.parent.parent / "samples"):
        if (folder / "en" / "dataset.json").exists():
            return folder
    raise InputError("the bundled samples are missing", hint="Install the package again.")


DEMO_CORPUS = "demo-opinions"


def demo(output: Path, progress: Progress = lambda queries: queries) -> dict[str, Scored]:
    """Four engines on the English sample: a floor, one a user would write, plain BM25, and ours.
    The results of ours, with the comparison against BM25, are left as JSON and as a page."""
    english = samples() / "en"
    dataset, corpus = english / "dataset.json", english / "corpus.jsonl"
    corpora.import_corpus("fppc", english / "opinions", name=DEMO_CORPUS)
    corpora.index_corpus(DEMO_CORPUS)
    bm25_results = output.with_name(f"{output.stem}-bm25.json")
    scored = {
        "random": score(dataset, engine="random", corpus=corpus, progress=progress),
        "my_engine.py": score(
            dataset, search_module=str(english / "my_engine.py"), progress=progress
        ),
        "bm25": score(
            dataset, engine="bm25", corpus=corpus, output=bm25_results, progress=progress
        ),
        "assay": score(dataset, engine=DEMO_CORPUS, output=output, progress=progress),
    }
    report_file(output, output.with_suffix(".html"), against=bm25_results)
    return scored

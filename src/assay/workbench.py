"""The service layer: the verbs. Values in, values out; the command line and other adapters call one verb and render."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay import formats, report, stats
from assay.compare import Comparison, compare
from assay.engines.baselines import BASELINES, read_documents
from assay.engines.module import load_engine
from assay.engines.running import run_engine, stdout_to_stderr
from assay.errors import InputError, UsageError
from assay.evaluation import evaluate, unjudged
from assay.exports import export
from assay.files import move_into_place, read_json, scratch_beside, sha256_of, write_atomic
from assay.gates import Gate, decide
from assay.judging import rubric as rubrics
from assay.judging.validate import validate
from assay.measures import BINARY_SUITE, GRADED_SUITE, parse_measures
from assay.types import JUDGMENT_TEXT_COLUMNS, Document, Finding, GoldSet, Query, ResultsFile, Run, ScoreSheet

DEFAULT_TOP_K = 20

Progress = Callable[[Iterable[Query]], Iterable[Query]]


# ── score ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A scored run: the results object that is printed and saved, and what people should be warned about."""

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
    top_k: int = DEFAULT_TOP_K,
    output: Path | None = None,
    baseline: Path | None = None,
    gates: Sequence[Gate] = (),
    progress: Progress = lambda queries: queries,
) -> Scored:
    """Score an engine, or saved results, against a gold set; write the results file when `output` is given. With a
    baseline the change against it, with gates the verdict, is part of the results."""
    if sum(source is not None for source in (search_module, engine, run_file)) != 1:
        raise UsageError("give exactly one of --search-module, --engine or --run")
    if output is not None and output.is_dir():
        raise UsageError("is a folder", where=str(output), hint="Give a file name for the results.")
    gold = formats.read_gold(dataset)
    if not gold.judgments.height:
        raise InputError("there are no graded judgments to score against", where=str(dataset))
    wanted = tuple(map(str, parse_measures(measures))) or default_measures(gold)
    if run_file is not None:
        run = formats.read_run(run_file)
    else:
        depth = max([top_k, *(measure.cutoff or 0 for measure in parse_measures(wanted))])
        with stdout_to_stderr():
            run = run_engine(_engine(search_module, engine, corpus), gold.queries, top_k=depth, progress=progress)
    scored = score_run(run, gold, wanted, inputs={"dataset": dataset, "run": run_file, "corpus": corpus})
    scored = _against_baseline(scored, baseline, gates)
    if output is not None:
        write_atomic(output, encode(scored.results))
    return scored


def _against_baseline(scored: Scored, baseline: Path | None, gates: Sequence[Gate]) -> Scored:
    results, warnings = dict(scored.results), list(scored.warnings)
    then = read_results(baseline) if baseline is not None and baseline.exists() else None
    if baseline is not None and then is None:
        warnings.append(f"no baseline yet at {baseline}; write it with --update-baseline")
    if then is not None:
        stale = then["receipt"]["gold"]["fingerprint"] != results["receipt"]["gold"]["fingerprint"]
        if stale:
            warnings.append("the baseline is stale: it was scored on another version of the gold set")
        results["baseline"] = {
            "path": str(baseline),
            "stale": stale,
            "recorded": then.get("recorded"),
            "delta": {
                key: value - then["overall"][key]
                for key, value in results["overall"].items()
                if value is not None and then["overall"].get(key) is not None
            },
        }
    if gates:
        results["verdict"] = msgspec.to_builtins(decide(results, gates, then))
    return replace(scored, results=results, warnings=tuple(warnings))


def verdict(results: dict[str, Any], gates: Sequence[Gate], baseline: Path | None) -> dict[str, Any]:
    then = read_results(baseline) if baseline is not None and baseline.exists() else None
    decided: dict[str, Any] = msgspec.to_builtins(decide(results, gates, then))
    return decided


def module_fingerprint(spec: str) -> str:
    """The hash of every Python file beside the module, so that a changed engine is run again."""
    name = spec.partition(":")[0]
    path = Path(name) if name.endswith(".py") else Path(*name.split(".")).with_suffix(".py")
    folder = path.parent if path.exists() else Path(*name.split("."))
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.py")) if folder.is_dir() else []:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def update_baseline(results: dict[str, Any], path: Path, *, by: str, why: str) -> None:
    """Record these results as the new baseline: who, when, why and at which commit."""
    recorded = {"by": by, "why": why, "at": datetime.now(UTC).isoformat(timespec="seconds"), "git": git_state()}
    write_atomic(
        path, encode({key: value for key, value in results.items() if key != "baseline"} | {"recorded": recorded})
    )


def read_results(path: Path) -> dict[str, Any]:
    """A results file of Assay, checked for shape."""
    results = read_json(path)
    try:
        msgspec.convert(results, ResultsFile)
    except msgspec.ValidationError as error:
        raise InputError(f"not a results file of Assay: {error}", where=str(path),
                         hint="Results of another tool: score them first, or give --dataset.") from error  # fmt: skip
    return dict(results)


def compare_results(paths: Sequence[Path], *, force: bool = False) -> Comparison:
    """Each results file against the first."""
    if len(paths) < 2:
        raise UsageError("give at least two results files to compare")
    results = [read_results(path) for path in paths]
    engines = [str(item["engine"]) for item in results]
    names = engines if len(set(engines)) == len(engines) else [path.stem for path in paths]
    return compare(results, names if len(set(names)) == len(names) else [str(path) for path in paths], force=force)


def score_run(run: Run, gold: GoldSet, measures: Sequence[str], *, inputs: dict[str, Path | None]) -> Scored:
    sheet = evaluate(run, gold, measures)
    if not any(query_id in run.rows_by_query for query_id in gold.query_ids):
        raise InputError(
            "the run has none of the gold set's queries",
            where=str(inputs.get("run") or run.engine),
            hint=f"The gold set has {gold.query_ids[0]!r} and others; the run has {list(run.rows_by_query)[:3]}.",
        )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    n = {"overall": sheet.overall.n} | {
        f"by_{kind}": {name: part.n for name, part in sheet.by(kind).items()}
        for kind in dict.fromkeys(part.kind for part in sheet.slices[1:])
    }
    receipt: dict[str, Any] = {
        "measures": report.receipt_of_measures(sheet.measures),
        "ties": report.TIE_POLICY[run.order],
        "unjudged_policy": report.UNJUDGED_POLICY,
        "missing_policy": report.MISSING_POLICY,
        "unjudged": {name: asdict(values) for name, values in unjudged(run, gold, measures).items()},
        "n": n,
        "counts": dict(sheet.counts),
        "latency_ms": latency(run),
        "top_k": run.environment.get("top_k"),
        "gold": {"name": gold.name, "version": gold.version, "rubric": gold.rubric, "status": gold.status,
                 "queries": len(gold.queries), "judgments": gold.judgments.height,
                 "fingerprint": gold_fingerprint(gold)},
        "inputs": {name: {"path": str(path), "sha256": sha256_of(path)}
                   for name, path in inputs.items() if path is not None},
        "versions": versions(),
        "git": git_state(),
    }  # fmt: skip
    results = report.results_json(sheet, run, gold, timestamp=now, receipt=receipt)
    results["intervals"] = intervals(sheet, {line["measure"]: line["key"] for line in receipt["measures"]})
    return Scored(results=results, warnings=tuple(_warnings(sheet.counts)), failed=sheet.counts["n_failed"])


def intervals(sheet: ScoreSheet, keys: dict[str, str]) -> dict[str, Any]:
    """The 95% interval of every mean, by slice: {"overall": {key: [low, high]}, "by_type": {...}}."""
    found: dict[str, Any] = {}
    scored = ~np.isnan(sheet.values).any(axis=1)
    for part in sheet.slices:
        inside = scored & np.array(
            [part.kind == "overall" or getattr(q, part.kind) == part.name for q in sheet.queries]
        )
        bounds = {
            keys[measure]: [interval.low, interval.high]
            for measure, interval in zip(sheet.measures, stats.mean_intervals(sheet.values[inside]), strict=True)
        }
        if part.kind == "overall":
            found["overall"] = bounds
        else:
            found.setdefault(f"by_{part.kind}", {})[part.name] = bounds
    return found


def default_measures(gold: GoldSet) -> tuple[str, ...]:
    """The graded suite where grades reach 2, the binary one where a document is right or not."""
    return GRADED_SUITE if gold.max_grade >= 2 else BINARY_SUITE


def _engine(search_module: str | None, engine: str | None, corpus: Path | None) -> Any:
    if search_module is not None:
        return load_engine(search_module)
    if engine not in BASELINES:
        raise UsageError(f"unknown engine {engine!r}", hint=f"Known: {', '.join(BASELINES)}.")
    if corpus is None:
        raise UsageError(f"engine {engine!r} needs --corpus FILE.jsonl")
    return BASELINES[engine](documents(corpus))


def _warnings(counts: Any) -> Iterable[str]:
    if counts.get("duplicates"):
        yield f"{counts['duplicates']} duplicate hits were dropped; the first place was kept"
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


def gold_fingerprint(gold: GoldSet) -> str:
    """The same for the same queries and grades, whatever the file format or order."""
    digest = hashlib.sha256()
    for query in sorted(gold.queries, key=lambda query: query.id):
        digest.update(msgspec.json.encode([query.id, query.text, query.checks]))
    rows = gold.judgments.select("query_id", "doc_id", "grade").cast({"query_id": str, "doc_id": str})
    for row in rows.sort("query_id", "doc_id").iter_rows():
        digest.update(msgspec.json.encode(row))
    return digest.hexdigest()


def versions() -> dict[str, str]:
    names = ("assay", "numpy", "polars", "msgspec")
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in names}


def git_state() -> dict[str, Any] | None:
    """The commit of the folder the command runs in, and whether it has uncommitted changes."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5)
        status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if commit.returncode:
        return None
    return {"commit": commit.stdout.strip(), "dirty": bool(status.stdout.strip())}


def encode(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def report_file(results: Path, output: Path, *, against: Path | None = None) -> None:
    """Write a report in the format of the output's ending; `against` adds the comparison with another results file."""
    found = msgspec.to_builtins(compare_results([against, results])) if against else None
    write_atomic(output, export(read_results(results), output.suffix, found))


# ── explain ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def explain(
    results_file: Path, query_id: str, dataset: Path | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The entry of one query and the measures behind its numbers. A results file of another tool needs the gold set."""
    results = score(dataset, run_file=results_file).results if dataset else read_results(results_file)
    entries = msgspec.convert(results, ResultsFile)
    entry = next((entry for entry in entries.per_query if entry.query_id == query_id), None)
    if entry is None:
        known = ", ".join(entry.query_id for entry in entries.per_query[:5])
        raise InputError(f"no query {query_id!r}", where=str(results_file), hint=f"It has {known}, …")
    return msgspec.to_builtins(entry), entries.receipt["measures"]


# ── demo ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def samples() -> Path:
    """The bundled samples: inside the installed package, or beside `src` in a checkout."""
    package = Path(__file__).parent
    for folder in (package / "samples", package.parent.parent / "samples"):
        if (folder / "en" / "dataset.json").exists():
            return folder
    raise InputError("the bundled samples are missing", hint="Install the package again.")


def demo(output: Path, progress: Progress = lambda queries: queries) -> dict[str, Scored]:
    """Three engines on the English sample: a floor, one a user would write, and plain BM25."""
    english = samples() / "en"
    dataset, corpus = english / "dataset.json", english / "corpus.jsonl"
    return {
        "random": score(dataset, engine="random", corpus=corpus, progress=progress),
        "my_engine.py": score(dataset, search_module=str(english / "my_engine.py"), progress=progress),
        "bm25": score(dataset, engine="bm25", corpus=corpus, output=output, progress=progress),
    }


# ── gold sets ────────────────────────────────────────────────────────────────────────────────────────────────────────


def validate_gold(dataset: Path, *, corpus: Path | None = None) -> tuple[GoldSet, list[Finding]]:
    gold = formats.read_gold(dataset)
    rubric = rubrics.load(gold.rubric or rubrics.DEFAULT)
    ids = {document.id for document in documents(corpus)} if corpus else None
    return gold, validate(gold, rubric, ids)


def gold_stats(dataset: Path) -> dict[str, Any]:
    gold = formats.read_gold(dataset)
    judged = Counter({query.id: 0 for query in gold.queries})
    grades: Counter[int] = Counter()
    with_rationale = 0
    for judgment in gold.iter_judgments():
        judged[judgment.query_id] += 1
        grades[judgment.grade] += 1
        with_rationale += bool(judgment.rationale.strip())
    per_query = sorted(judged.values())
    topics: dict[str, Counter[str]] = {}
    for query in gold.queries:
        topics.setdefault(query.topic or query.category, Counter())[query.type] += 1
    return {
        "name": gold.name,
        "queries": len(gold.queries),
        "judgments": gold.judgments.height,
        "rubric": gold.rubric,
        "rationales": with_rationale / max(gold.judgments.height, 1),
        "types": dict(Counter(query.type for query in gold.queries)),
        "topics": {topic: dict(types) for topic, types in topics.items()},
        "grades": {str(grade): grades[grade] for grade in sorted(grades, reverse=True)},
        "judged_per_query": {
            "min": per_query[0], "median": per_query[len(per_query) // 2], "max": per_query[-1]
        },
        "fingerprint": gold_fingerprint(gold),
    }  # fmt: skip


def convert_gold(
    source: Path, target: Path, *, source_format: str | None = None, target_format: str | None = None
) -> tuple[list[Path], list[str]]:
    """Write `source` in another format; return the files written and, honestly, what that format could not hold."""
    gold = formats.read_gold(source, source_format)
    name = target_format or formats.format_of_name(target)
    # written aside and read back first: what the format refuses must not replace a good file
    with scratch_beside(target) as scratch:
        draft = scratch / target.name
        try:
            written = formats.write_gold(gold, draft, name)
            lost = list(_lost(gold, formats.read_gold(draft, name)))
        except InputError as error:
            raise InputError(
                f"{name} cannot hold this set: {error.message}", where=str(source), hint=error.hint
            ) from error
        return [move_into_place(path, target.parent / path.relative_to(scratch)) for path in written], lost


def _lost(before: GoldSet, after: GoldSet) -> Iterable[str]:
    """What reading the written file back does not give again."""
    then = {query.id: query for query in after.queries}
    for field in Query.__struct_fields__:
        changed = sum(
            1 for query in before.queries
            if getattr(query, field) and getattr(then.get(query.id), field, None) != getattr(query, field)
        )  # fmt: skip
        if changed:
            yield f"{field} of {changed} queries"
    kept = {(judgment.query_id, judgment.doc_id): judgment for judgment in after.iter_judgments()}
    for field in ("grade", *JUDGMENT_TEXT_COLUMNS):
        changed = sum(
            1 for judgment in before.iter_judgments()
            if getattr(judgment, field) not in ("", None)
            and getattr(kept.get((judgment.query_id, judgment.doc_id)), field, None) != getattr(judgment, field)
        )  # fmt: skip
        if changed:
            yield f"{field} of {changed} judgments"
    for field in ("taxonomy", "version", "created_at", "description", "rubric", "status", "extra"):
        if getattr(before, field) and getattr(after, field) != getattr(before, field):
            yield field


def documents(corpus: Path) -> list[Document]:
    """A corpus for baselines and reference checks: a JSONL file, or a folder of opinion files `{year}/*.json`."""
    if not corpus.exists():
        raise InputError("no such file or folder", where=str(corpus), hint="Check the path given to --corpus.")
    if corpus.is_file():
        return read_documents(corpus)
    found = [_opinion(path) for path in sorted(corpus.rglob("*.json"))]
    if not found:
        raise InputError("the folder has no .json files", where=str(corpus))
    return found


class _Content(msgspec.Struct):
    full_text: str = ""


class _Opinion(msgspec.Struct):
    id: str | None = None
    content: _Content | None = None


def _opinion(path: Path) -> Document:
    try:
        opinion = msgspec.json.decode(path.read_bytes(), type=_Opinion)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"not an opinion file: {error}", where=str(path)) from error
    return Document(id=opinion.id or path.stem, text=opinion.content.full_text if opinion.content else "")


def rubric_page(name: str) -> str:
    return rubrics.as_markdown(rubrics.load(name))

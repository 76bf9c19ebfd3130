"""Reports on results, runs for other tools, and the values of one query: `assay report`,
`assay export`, `assay score --report` and `assay explain`."""

from __future__ import annotations

import re
from itertools import chain, count
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from assay import formats
from assay.core.errors import EngineError, InputError, UsageError
from assay.core.extras import imported
from assay.core.files import refuse_unwritable, write_atomic
from assay.core.results import Entry, GoldenResults, GradedResults, MeasureLine, Metrics, Results
from assay.core.results_file import encode, to_json
from assay.core.types import Run
from assay.formats.results_json import is_answer_results, read_results
from assay.reports import ReportView, evaluation_report, render, view
from assay.reports.words import Words
from assay.workbench.project.output_files import refuse_output

if TYPE_CHECKING:
    from assay.evaluation.comparison import Comparison


def report_file(
    results_file: Path,
    output: Path,
    *,
    against: Path | None = None,
    language: str = "en",
    force: bool = False,
) -> None:
    """Write a report in the format of the output's ending; `against` adds the comparison with
    another results file, and `force` lets that be one on another gold set or corpus."""
    refuse_unwritable(output)
    check_language(language)
    if is_answer_results(results_file):
        from assay.workbench.scoring.answers import report_answers

        return report_answers(results_file, output, language=language)
    results = read_results(results_file)
    if against is None:
        report = view(results, language=language)
    else:
        _refuse_comparison(results, output)
        report = _comparison_view(results_file, against, results, language=language, force=force)
    write_atomic(output, render(report, output.suffix))


def _refuse_comparison(results: Results, output: Path) -> None:
    """A format that would leave the comparison out is refused."""
    if output.suffix == ".tex" and isinstance(results, GoldenResults):
        raise UsageError(
            f"a {output.suffix} report has no comparison",
            hint="Write .md or .html, or leave --against out.",
        )


def _comparison_view(
    results_file: Path, against: Path, results: Results, *, language: str, force: bool
) -> ReportView:
    """Loaded here alone: a report without a comparison needs no statistics."""
    from assay.workbench.deciding.compare import compare_results

    # A golden set may have grown since: it is compared on what both have, and said.
    is_golden = isinstance(results, GoldenResults)
    comparison = compare_results([against, results_file], force=force or is_golden)
    return compared_view(
        results, read_results(against), comparison, language=language, where=against
    )


def compared_view(
    results: Results,
    before: Results,
    comparison: Comparison,
    *,
    language: str,
    where: Path | str = "",
) -> ReportView:
    """The results with what is different from those `before`."""
    from assay.evaluation.golden.changes import comparable_values

    then = comparable_values(before, results)
    if not isinstance(results, GoldenResults):
        return view(results, comparison=comparison, before=then, language=language)
    if not isinstance(before, GoldenResults):
        raise UsageError(
            "a golden set can only be compared with another golden set", where=str(where)
        )
    from assay.evaluation.golden.changes import compare_golden

    turned = compare_golden(before, results, name=comparison.baseline, warnings=comparison.warnings)
    return view(results, comparison=comparison, changes=turned, before=then, language=language)


def view_against_baseline(results: Results, baseline: Results | None, path: Path) -> ReportView:
    """A report of `assay run`: with the comparison with the baseline, where there is one. Of one
    that is stale, on the queries that both judge alike, as in the comment and on the pages."""
    if baseline is None or not _has_common(results, baseline):
        return view(results)
    from assay.evaluation.comparison import compare

    name = Words("en")("baseline_of", engine=baseline.engine)
    return compared_view(
        results,
        baseline,
        compare([baseline, results], [name, results.engine], force=True),
        language="en",
        where=path,
    )


def _has_common(results: Results, baseline: Results) -> bool:
    def scored(each: Results) -> set[str]:
        return {
            entry.query_id
            for entry in each.per_query
            if entry.metrics and all(value is not None for value in entry.metrics.values())
        }

    keys = [{line.key for line in each.receipt.measures} for each in (results, baseline)]
    return bool(scored(results) & scored(baseline)) and bool(keys[0] & keys[1])


def check_language(language: str) -> None:
    """Before an engine runs for an hour: is there a report in this language?"""
    Words(language)


def check_report(target: Path, *inputs: Path | None) -> None:
    """Before an engine runs for an hour: could the report be written there, and would it spare the
    inputs?"""
    if target.suffix == ".md":
        refuse_output(target, *inputs)
    elif target.exists() and not target.is_dir():
        raise UsageError(
            "is a file, but not a Markdown file",
            where=str(target),
            hint="Give a folder, or a file name that ends in .md.",
        )
    else:
        refuse_output(target / "eval-report.md" if target.is_dir() else target)


def write_reports(
    results: Results, target: Path, *, language: str = "en", report: ReportView | None = None
) -> list[Path]:
    """A name that ends in .md is one Markdown report. Anything else is a folder, which gets
    eval-report-DATE.json (the results file) and eval-report-DATE.md; those of a second run on the
    same day have -2 after the date, and so on."""
    check_report(target)
    text = evaluation_report(report or view(results, language=language))
    if target.suffix == ".md":
        write_atomic(target, text)
        return [target]
    content, name = encode(to_json(results)), f"eval-report-{results.timestamp[:10]}"
    for stem in chain([name], (f"{name}-{number}" for number in count(2))):
        written = [target / f"{stem}.json", target / f"{stem}.md"]
        if not any(path.exists() for path in written):
            break
    write_atomic(written[0], content)
    write_atomic(written[1], text)
    return written


# ── `assay explain` ───────────────────────────────────────────────────────────────────────────────


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The computation of one query's values, and a note if machines made labels."""

    entry: Entry
    measures: list[MeasureLine]
    note: str = ""


def explain(results_file: Path, query_id: str, dataset: Path | None = None) -> Explanation:
    """A results file of another tool needs the gold set, to be scored on. Of a golden question
    passing is told in words, and no measure is summed."""
    if dataset is not None:
        from assay.workbench.scoring.request import ScoreRequest
        from assay.workbench.scoring.score import score

        results = score(ScoreRequest(dataset=dataset, run=results_file)).results
    else:
        results = read_results(results_file)
    entries: dict[str, Entry] = {entry.query_id: entry for entry in results.per_query}
    if query_id not in entries:
        some = ", ".join(list(entries)[:5])
        hint = f"It has {some}, …" if some else "It has no queries."
        raise InputError(f"no query {query_id!r}", where=str(results_file), hint=hint)
    measures = [] if isinstance(results, GoldenResults) else results.receipt.measures
    note = results.receipt.gold.note
    return Explanation(entry=entries[query_id], measures=measures, note=note)


# ── `assay export`: runs for other tools ──────────────────────────────────────────────────────────


def export_run(source: Path, output: Path, *, format: str | None = None) -> int:
    """Write any run, such as that of a results file, and say how many hits it has."""
    refuse_output(output, source)
    run = formats.read_run(source)
    formats.write_run(run, output, format)
    return run.hits.height


def write_run(run: Run, output: Path) -> Path:
    """A TREC run, or with the ending .json BEIR's results."""
    formats.write_run(run, output)
    return output


def log_to_mlflow(source: Path | Results, uri: str = "", *, experiment: str = "assay") -> str:
    """Log a results file as a run of MLflow: every figure, the slices, what it was made of and the
    file itself. `uri` is a folder or a server; without it MLflow's own setting counts. Gives the
    id of the run."""
    mlflow = imported("mlflow", "logging to MLflow", "mlflow")
    results = read_results(source) if isinstance(source, Path) else source
    try:
        client = mlflow.MlflowClient(tracking_uri=uri or None)
        return _log_run(client, mlflow, results, source, experiment)
    except Exception as error:  # MLflow has errors of its own, and so has its server
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise EngineError(f"MLflow at {uri or 'its usual place'}: {reason}") from error


def _log_run(
    client: Any, mlflow: Any, results: Results, source: Path | Results, experiment: str
) -> str:
    found = client.get_experiment_by_name(experiment)
    number = found.experiment_id if found else client.create_experiment(experiment)
    run = client.create_run(number, run_name=f"{results.engine} on {results.receipt.gold.name}")
    id = str(run.info.run_id)
    entities = mlflow.entities
    at = run.info.start_time
    metrics = [
        entities.Metric(name, value, at, 0) for name, value in named_figures(results).items()
    ]
    params = [
        entities.Param(name, value[:500]) for name, value in _run_params(results).items() if value
    ]
    client.log_batch(id, metrics=metrics, params=params)
    if isinstance(source, Path):
        client.log_artifact(id, str(source))
    client.set_terminated(id)
    return id


def named_figures(results: Results) -> dict[str, float]:
    """Every figure by a name that MLflow takes: ndcg@10 is ndcg_at_10, of a slice
    topic/gifts/ndcg_at_10."""
    means: Metrics = dict(results.overall)
    for kind, parts in results.slices.items():
        for part, figures_of in parts.items():
            means |= {f"{kind}/{part}/{name}": value for name, value in figures_of.items()}
    if isinstance(results, GradedResults) and results.receipt.latency_ms is not None:
        times = msgspec.structs.asdict(results.receipt.latency_ms)
        means |= {f"latency_ms/{name}": value for name, value in times.items()}
    return {plain_name(name): float(value) for name, value in means.items() if _is_number(value)}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def plain_name(name: str) -> str:
    """Letters, digits, _ . - and / are what every tracking server takes."""
    text = name.replace("@", "_at_").replace("(", "_").replace(")", "").replace("=", "_")
    return re.sub(r"[^\w./ -]", "_", text)


def _run_params(results: Results) -> dict[str, str]:
    receipt = results.receipt
    return {
        "engine": results.engine,
        "gold_set": receipt.gold.name,
        "gold_fingerprint": receipt.gold.fingerprint,
        "kind": "golden" if isinstance(results, GoldenResults) else "graded",
        "timestamp": results.timestamp,
        "verdict": results.verdict.status if results.verdict else "",
    }

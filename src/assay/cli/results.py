"""Commands on results: compare, explain, export, report, history and plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.options import StoreUrl, a_number, opened
from assay.cli.output import Json, emit, say, tell, warn
from assay.core.errors import UsageError

RESULTS = "A results file, or an engine that `assay run` has scored."


def _results_file(path: Path) -> Path:
    """The file, or the results that `assay run` kept of an engine of this name."""
    return _results_files([path])[0]


def _results_files(paths: list[Path]) -> list[Path]:
    if all(path.exists() for path in paths):
        return paths
    from assay.workbench.scoring.run import saved_results

    return saved_results(paths)


# ── `assay explain` ───────────────────────────────────────────────────────────────────────────────


def explain(
    results: Annotated[Path, typer.Argument(help=RESULTS)],
    query: Annotated[str, typer.Argument(help="The id of a query.")],
    dataset: Annotated[
        Path | None, typer.Option(help="The gold set, when another tool wrote the results.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the sum behind every number of one query, rank by rank."""
    from assay.core.results_file import entry_to_json
    from assay.reports.terminal import explanation
    from assay.workbench.scoring.report import explain

    found_explanation = explain(_results_file(results), query, dataset)
    emit(
        entry_to_json(found_explanation.entry),
        lambda: explanation(found_explanation.entry, found_explanation.measures),
        json=json,
    )
    if found_explanation.note:
        warn(f"Gold set {found_explanation.note}.")


# ── `assay export` ────────────────────────────────────────────────────────────────────────────────


def export(
    run: Annotated[
        Path,
        typer.Argument(
            help="A results file, a run file, or an engine that `assay run` has scored."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="run.trec (TREC), or run.json (BEIR's results)."),
    ] = None,
    to: Annotated[
        str, typer.Option(help="trec or beir.", show_default="by the ending of the output")
    ] = "",
    mlflow: Annotated[
        str, typer.Option(metavar="URI", help="Log the results in MLflow: a folder or a server.")
    ] = "",
    experiment: Annotated[str, typer.Option(help="With --mlflow: the experiment.")] = "assay",
    json: Json = False,
) -> None:
    """Write a run as a TREC or BEIR file, or log results in MLflow."""
    from assay.workbench.scoring.report import export_run, log_to_mlflow

    if output is None and not mlflow:
        raise UsageError("give --output FILE or --mlflow URI")
    run, done = _results_file(run), dict[str, object]()
    if output is not None:
        hits = export_run(run, output, format=to or None)
        done |= {"output": str(output), "hits": hits}
        say(f"{hits:,} hits written to {output}")
    if mlflow:
        id = log_to_mlflow(run, mlflow, experiment=experiment)
        done |= {"mlflow_run": id, "experiment": experiment}
        say(f"logged as run {id} of the experiment {experiment}")
    if json:
        emit(done, lambda: None, json=True)


# ── `assay report` ────────────────────────────────────────────────────────────────────────────────


def report(
    results: Annotated[Path, typer.Argument(help=RESULTS)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="report.html, .md, .xml (JUnit), .csv or .tex")
    ],
    against: Annotated[
        Path | None, typer.Option(help="Another results file to compare with.")
    ] = None,
    language: Annotated[str, typer.Option(help="The report's language: en, fi or he.")] = "en",
    force: Annotated[
        bool, typer.Option(help="Compare even on different gold sets or corpora.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a report for people or programs. The ending of the output picks the format."""
    from assay.workbench.scoring.report import report_file

    base = None if against is None else _results_file(against)
    report_file(_results_file(results), output, against=base, language=language, force=force)
    tell({"report": str(output)}, f"report written to {output}", json=json)


# ── `assay history` ───────────────────────────────────────────────────────────────────────────────


def history(
    dataset: Annotated[
        str, typer.Option("--dataset", "--gold", help="Only this gold set: a name or a file.")
    ] = "",
    engine: Annotated[str, typer.Option(help="Only this engine.")] = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Show the scores of engines over time, and the runs where their level changed."""
    from assay.reports.terminal_comparison import trend_lines
    from assay.workbench.deciding.run_boards import trends

    with opened(store, read_only=True) as service:
        found = trends(service, gold=dataset, engine=engine)
    emit(found, lambda: trend_lines(found), json=json)


# ── `assay plan` ──────────────────────────────────────────────────────────────────────────────────


def plan(
    a: Annotated[Path, typer.Argument(help="Results of one engine.")],
    b: Annotated[Path, typer.Argument(help="Results of another engine on the same queries.")],
    difference: Annotated[
        float, typer.Option(callback=a_number, help="The smallest difference that matters to you.")
    ] = 0.03,
    power: Annotated[
        float,
        typer.Option(callback=a_number, help="The chance of detecting that difference (power)."),
    ] = 0.8,
    primary: Annotated[
        str, typer.Option(help="The measure that decides. By default nDCG@10, or the pass rate.")
    ] = "",
    agreement: Annotated[
        float | None,
        typer.Option(
            callback=a_number, help="How far two judges agree: kappa or alpha of `gold agreement`."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """How many queries and judgments does a decision take? From a pilot: two engines on the same
    queries."""
    from assay.reports.terminal_comparison import plan_table
    from assay.workbench.deciding.compare import plan_from

    first, second = _results_files([a, b])
    found = plan_from(
        (first, second),
        difference=difference,
        power=power,
        primary=primary,
        agreement=agreement,
    )
    emit(found, lambda: plan_table(found), json=json)


# ── `assay compare` ───────────────────────────────────────────────────────────────────────────────


def _answer_changes(results: list[Path]) -> list[Any]:
    """The changes between two answer checks; nothing where the files are of another kind."""
    from assay.workbench.deciding.compare import are_answers

    if len(results) != 2 or not are_answers(results):
        return []
    from assay.workbench.scoring.answers import compare_files

    return list(compare_files(*results))


def compare(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Results files, or engines that `assay run` has scored; "
            "each is compared with the first."
        ),
    ],
    force: Annotated[
        bool, typer.Option(help="Compare even on different gold sets or corpora.")
    ] = False,
    primary: Annotated[
        str, typer.Option(help="The measure that decides. By default nDCG@10, or the pass rate.")
    ] = "",
    equivalence: Annotated[
        float | None,
        typer.Option(help="Also test whether B is no worse than A by this margin, such as 0.02."),
    ] = None,
    worst_case: Annotated[
        bool,
        typer.Option(
            "--worst-case", help="Use intervals that hold even where a few queries fail completely."
        ),
    ] = False,
    tests: Annotated[
        bool,
        typer.Option(
            "--tests", help="Also show the randomization test, Wilcoxon and Benjamini–Hochberg."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Is B better than A? Differences with intervals and tests, and the queries that moved."""
    from assay.reports.terminal_comparison import comparison_table
    from assay.workbench.deciding.compare import compare_results

    results = _results_files(results)
    if changes := _answer_changes(results):
        from assay.reports.answers import change_table

        return emit(changes, lambda: change_table(changes), json=json)
    comparison = compare_results(
        results,
        force=force,
        primary=primary,
        equivalence=equivalence,
        tests=tests,
        worst_case=worst_case,
    )
    emit(comparison, lambda: comparison_table(comparison), json=json)

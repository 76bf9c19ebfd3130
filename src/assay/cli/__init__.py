"""The command line: parse, call one verb, render. Imports stay inside the commands, so that --help
is instant."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli import backlog, corpus, doctor, gold, logs, mcp, review, serve
from assay.cli.output import Json, emit, progress_bar, say, searching
from assay.cli.output import show as show_
from assay.core.errors import AssayError

app = typer.Typer(
    name="assay",
    help="Know whether legal search works: score engines against gold sets, with numbers you can check.",
    epilog="Exit codes: 0 done, 1 a gate or check failed, 2 bad input, 3 inconclusive, 4 an engine or Assay failed.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(gold.app, name="gold")
app.add_typer(corpus.app, name="corpus")
app.add_typer(logs.app, name="logs")
for command in (
    corpus.index,
    corpus.search,
    corpus.cite,
    backlog.backlog,
    serve.serve,
    mcp.mcp,
    doctor.doctor,
    doctor.plugins,
):
    app.command()(command)
for gold_command in review.GOLD_COMMANDS:
    gold.app.command()(gold_command)


def main() -> None:
    """Run the command line: every expected error is one message and an exit code, never a
    traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows what it can
    try:
        app()
    except AssayError as error:
        say(f"error: {error}", style="red")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("interrupted; nothing was written")
        sys.exit(130)
    except OSError as error:
        say(f"error: {(error.strerror or str(error)).lower()}", style="red")
        sys.exit(4)
    except MemoryError:
        say("error: out of memory", style="red")
        sys.exit(4)
    except Exception as error:
        if os.environ.get("ASSAY_DEBUG"):
            raise
        say(
            f"error: something went wrong inside Assay: {type(error).__name__}: {error}",
            style="red",
        )
        say("  Please report it; ASSAY_DEBUG=1 shows where.")
        sys.exit(4)


@app.command()
def score(
    dataset: Annotated[
        Path, typer.Option(help="The gold set: dataset.json, qrels, BEIR folder, CSV or JSONL.")
    ],
    search_module: Annotated[
        str | None,
        typer.Option(
            help="Your engine: path.to.module, module:Class or file.py.", metavar="MODULE"
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="An indexed corpus, or random or bm25 (with --corpus).")
    ] = None,
    run: Annotated[
        Path | None, typer.Option(help="Saved results: results JSON, TREC run or BEIR JSON.")
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="A JSONL corpus or a folder of opinions, for --engine.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write the results JSON here.")] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", help="A measure such as 'P(rel=2)@5'; repeat for more."),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, help="How many results to ask for.", show_default="20")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="Compare with this baseline file.")] = None,
    update_baseline: Annotated[
        bool, typer.Option(help="Record the results as the new baseline.")
    ] = False,
    by: Annotated[str, typer.Option(help="Who records the baseline.", show_default="you")] = "",
    why: Annotated[str, typer.Option(help="Why the baseline changes.")] = "",
    k: Annotated[
        int | None, typer.Option(min=1, help="Golden sets: look at this many hits.")
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(help="Golden sets: a hit must reach this score.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="A folder for eval-report-DATE.json and .md, or one file name.md."),
    ] = None,
    language: Annotated[
        str, typer.Option(help="The report's language: en, or fi for golden sets.")
    ] = "en",
    json: Json = False,
) -> None:
    """Score an engine, or saved results, against a gold set."""
    from assay.reports import terminal as show
    from assay.workbench import score
    from assay.workbench.baseline import check_language, check_report, who_records, write_reports

    if report is not None:
        check_report(report, dataset, run, corpus, output)
    if language != "en":
        check_language(language, dataset)
    if update_baseline:
        baseline, by = baseline or dataset.with_name("baseline.json"), who_records(by)
        score.refuse_outputs(baseline)
    elif baseline is not None and not baseline.exists():
        say(
            f"warning: no baseline yet at {baseline}; write it with --update-baseline",
            style="yellow",
        )
    scored = score.score(
        dataset,
        search_module=search_module,
        engine=engine,
        corpus=corpus,
        run_file=run,
        measures=measure or (),
        top_k=top_k,
        output=output,
        baseline=baseline,
        k=k,
        min_score=min_score,
        progress=searching,
        say=say,
    )
    for warning in scored.warnings:
        say(f"warning: {warning}", style="yellow")
    is_golden = "gates" in scored.results
    emit(
        scored.results,
        lambda: (show.golden_card if is_golden else show.scorecard)(scored.results),
        json=json,
    )
    if report is not None:
        for path in write_reports(scored.results, report, language=language):
            say(f"report written to {path}")
    if output is not None:
        say(f"results written to {output}")
    if scored.failed:
        if update_baseline:
            say(
                f"warning: the engine failed on queries: {baseline} is left as it was",
                style="yellow",
            )
        sys.exit(4)
    if update_baseline and baseline is not None:
        _record_baseline(scored.results, baseline, dataset, by=by, why=why)
    if failing := [
        str(gate["name"]) for gate in scored.results.get("gates", ()) if gate["status"] == "fail"
    ]:
        say(f"gates failed: {', '.join(failing)}", style="red")
        sys.exit(1)


def _record_baseline(
    results: dict[str, Any], baseline: Path, dataset: Path, *, by: str, why: str
) -> None:
    from assay.reports import terminal as show
    from assay.workbench.baseline import update_baseline

    is_first = not baseline.exists()
    recorded = update_baseline(results, baseline, by=by, why=why)
    say(show.baseline_line(results, baseline, recorded, is_first=is_first))
    if not why:
        say("warning: the baseline does not say why; say it with --why", style="yellow")
    if dataset.suffix == ".jsonl":
        review.publish(dataset, by)


@app.command()
def run(
    config: Annotated[Path, typer.Option(help="The configuration.")] = Path("assay.toml"),
    fresh: Annotated[bool, typer.Option(help="Run every pair again, whatever is cached.")] = False,
    json: Json = False,
) -> None:
    """Score all configured gold sets on all configured engines; report, compare with baselines,
    decide gates."""
    from assay.reports import terminal as show
    from assay.workbench import config as configuration
    from assay.workbench import run

    settings = configuration.read_config(config)
    with progress_bar() as tick:
        seen: list[object] = []

        def done(outcome: run.Outcome, total: int) -> None:
            seen.append(outcome)
            tick("scoring", len(seen), total)
            say(f"{outcome.engine} on {outcome.gold}: {outcome.state}")

        try:
            outcomes = run.run_all(settings, config, fresh=fresh, done=done)
        except KeyboardInterrupt:
            say("interrupted; what was scored is kept, and not run again")
            sys.exit(130)
    data = [
        {
            "gold": o.gold,
            "engine": o.engine,
            "cached": o.cached,
            "error": o.error,
            "overall": o.results and o.results["overall"],
            "verdict": o.results and o.results.get("verdict"),
        }
        for o in outcomes
    ]
    emit(
        data,
        lambda: show.run_summary([(o.gold, o.engine, o.results, o.error) for o in outcomes]),
        json=json,
    )
    say(f"results and reports are in {run.home() / 'results'}")
    sys.exit(run.exit_code(outcomes))


@app.command()
def compare(
    results: Annotated[
        list[Path], typer.Argument(help="Results files; each is compared with the first.")
    ],
    force: Annotated[
        bool, typer.Option(help="Compare even on different gold sets or corpora.")
    ] = False,
    json: Json = False,
) -> None:
    """Is B better than A? Paired differences with intervals, tests and the queries that moved."""
    import msgspec

    from assay.reports import terminal as show
    from assay.workbench import score

    found = msgspec.to_builtins(score.compare_results(results, force=force))
    emit(found, lambda: show.comparison_table(found), json=json)


@app.command()
def explain(
    results: Annotated[Path, typer.Argument(help="A results file written by assay score.")],
    query: Annotated[str, typer.Argument(help="The id of a query.")],
    dataset: Annotated[
        Path | None, typer.Option(help="The gold set, when another tool wrote the results.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the sum behind every number of one query, rank by rank."""
    from assay.reports import terminal as show
    from assay.workbench import score

    entry, measures = score.explain(results, query, dataset)
    emit(entry, lambda: show.explanation(entry, measures), json=json)


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="A results file written by assay score.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="report.html, .md, .xml (JUnit), .csv or .tex")
    ],
    against: Annotated[
        Path | None, typer.Option(help="Another results file to compare with.")
    ] = None,
    language: Annotated[str, typer.Option(help="Golden sets in Markdown: en or fi.")] = "en",
    force: Annotated[
        bool, typer.Option(help="Compare even on different gold sets or corpora.")
    ] = False,
) -> None:
    """Write a report for people or programs; the ending of the output picks the format."""
    from assay.workbench import score

    score.report_file(results, output, against=against, language=language, force=force)
    say(f"report written to {output}")


@app.command()
def rubric(name: Annotated[str, typer.Argument(help="Which rubric.")] = "fppc-relevance-1") -> None:
    """Print the relevance rubric as a page for judges."""
    from assay.workbench import gold

    typer.echo(gold.rubric_page(name))


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Where the results of the last engine go.")] = Path(
        "demo-results.json"
    ),
) -> None:
    """Score four engines on the bundled sample of advisory opinions, and say what to try next."""
    from assay.reports import terminal as show
    from assay.workbench import gold, score

    folder = score.samples() / "en"
    sample, findings = gold.validate_gold(folder / "dataset.json", corpus=folder / "opinions")
    errors = sum(finding.level == "error" for finding in findings)
    say(
        f"1. The gold set: {len(sample.queries)} queries, {sample.judgments.height} judgments, {errors} errors, "
        f"{len(findings) - errors} flags for a person to look at",
        style="bold",
    )
    say(
        "2. Four engines answer the queries (the last is Assay's own; its first run builds an index)",
        style="bold",
    )
    scored = score.demo(output, searching)
    show_(show.comparison({name: result.results for name, result in scored.items()}))
    say("3. The scorecard of Assay's engine", style="bold")
    show_(show.scorecard(scored["assay"].results))
    show_(show.next_steps(output, folder))


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from assay import __version__

        typer.echo(f"assay {__version__}")
        raise typer.Exit


if __name__ == "__main__":
    main()

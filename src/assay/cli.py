"""The command line: parse, call one verb, render. Imports stay inside the commands, so that --help is instant."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.types import Query

app = typer.Typer(
    name="assay",
    help="Know whether legal search works: score engines against gold sets, with numbers you can check.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
gold_app = typer.Typer(help="Gold sets: validate, look at, convert.", no_args_is_help=True)
app.add_typer(gold_app, name="gold")

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of a table.")]


def main() -> None:
    """Run the command line: every expected error is one message and an exit code, never a traceback."""
    try:
        app()
    except AssayError as error:
        _say(f"error: {error}", style="red")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _say("interrupted; nothing was written")
        sys.exit(130)
    except MemoryError:
        _say("error: out of memory", style="red")
        sys.exit(4)


@app.command()
def score(
    dataset: Annotated[Path, typer.Option(help="The gold set: dataset.json, qrels, BEIR folder, CSV or JSONL.")],
    search_module: Annotated[
        str | None, typer.Option(help="Your engine: path.to.module, module:Class or file.py.", metavar="MODULE")
    ] = None,
    engine: Annotated[str | None, typer.Option(help="A built-in engine: random or bm25 (needs --corpus).")] = None,
    run: Annotated[Path | None, typer.Option(help="Saved results: results JSON, TREC run or BEIR JSON.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="A JSONL corpus or a folder of opinions, for --engine.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the results JSON here.")] = None,
    measure: Annotated[
        list[str] | None, typer.Option("--measure", "-m", help="A measure such as 'P(rel=2)@5'; repeat for more.")
    ] = None,
    top_k: Annotated[int, typer.Option(min=1, help="How many results to ask the engine for.")] = 20,
    baseline: Annotated[Path | None, typer.Option(help="Compare with this baseline file.")] = None,
    update_baseline: Annotated[bool, typer.Option(help="Record the results as the new baseline.")] = False,
    by: Annotated[str, typer.Option(help="Who records the baseline.", envvar="USER")] = "",
    why: Annotated[str, typer.Option(help="Why the baseline changes.")] = "",
    json: Json = False,
) -> None:
    """Score an engine, or saved results, against a gold set."""
    from assay import report as show
    from assay import workbench

    if update_baseline and baseline is None:
        baseline = Path("baseline.json")

    scored = workbench.score(
        dataset, search_module=search_module, engine=engine, corpus=corpus, run_file=run, measures=measure or (),
        top_k=top_k, output=output, baseline=baseline, progress=_progress,
    )  # fmt: skip
    for warning in scored.warnings:
        _say(f"warning: {warning}", style="yellow")
    _emit(scored.results, lambda: show.scorecard(scored.results), json=json)
    if output is not None:
        _say(f"results written to {output}")
    if scored.failed:
        sys.exit(4)
    if update_baseline and baseline is not None:
        workbench.update_baseline(scored.results, baseline, by=by, why=why)
        _say(f"baseline written to {baseline}")


@app.command()
def run(
    config: Annotated[Path, typer.Option(help="The configuration.")] = Path("assay.toml"),
    fresh: Annotated[bool, typer.Option(help="Run every pair again, whatever is cached.")] = False,
    json: Json = False,
) -> None:
    """Score all configured gold sets on all configured engines; report, compare with baselines, decide gates."""
    from assay import config as configuration
    from assay import report as show
    from assay import runner

    settings = configuration.read_config(config)
    outcomes = runner.run_all(
        settings, config.resolve().parent, fresh=fresh,
        done=lambda o: _say(f"{o.engine} on {o.gold}: {o.state}"),
    )  # fmt: skip
    data = [{"gold": o.gold, "engine": o.engine, "cached": o.cached, "error": o.error,
             "overall": o.results and o.results["overall"], "verdict": o.results and o.results.get("verdict")}
            for o in outcomes]  # fmt: skip
    _emit(data, lambda: show.run_summary([(o.gold, o.engine, o.results, o.error) for o in outcomes]), json=json)
    _say(f"results and reports are in {runner.home() / 'results'}")
    sys.exit(runner.exit_code(outcomes))


@app.command()
def compare(
    results: Annotated[list[Path], typer.Argument(help="Results files; each is compared with the first.")],
    force: Annotated[bool, typer.Option(help="Compare even on different gold sets or corpora.")] = False,
    json: Json = False,
) -> None:
    """Is B better than A? Paired differences with intervals, tests and the queries that moved."""
    import msgspec

    from assay import report as show
    from assay import workbench

    found = msgspec.to_builtins(workbench.compare_results(results, force=force))
    _emit(found, lambda: show.comparison_table(found), json=json)


@app.command()
def explain(
    results: Annotated[Path, typer.Argument(help="A results file written by assay score.")],
    query: Annotated[str, typer.Argument(help="The id of a query.")],
    dataset: Annotated[Path | None, typer.Option(help="The gold set, when another tool wrote the results.")] = None,
    json: Json = False,
) -> None:
    """Show the sum behind every number of one query, rank by rank."""
    from assay import report as show
    from assay import workbench

    entry, measures = workbench.explain(results, query, dataset)
    _emit(entry, lambda: show.explanation(entry, measures), json=json)


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="A results file written by assay score.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="report.html, .md, .xml (JUnit), .csv or .tex")],
    against: Annotated[Path | None, typer.Option(help="Another results file to compare with.")] = None,
) -> None:
    """Write a report for people or programs; the ending of the output picks the format."""
    from assay import workbench

    workbench.report_file(results, output, against=against)
    _say(f"report written to {output}")


@gold_app.command()
def validate(
    dataset: Annotated[Path, typer.Argument(help="The gold set.")],
    corpus: Annotated[Path | None, typer.Option(help="Check every judged id against this corpus.")] = None,
    strict: Annotated[bool, typer.Option(help="Flags fail too.")] = False,
    json: Json = False,
) -> None:
    """Check a gold set: references, uniqueness, the rubric's checklist, the target distribution."""
    import msgspec

    from assay import report as show
    from assay import workbench

    gold, findings = workbench.validate_gold(dataset, corpus=corpus)
    errors = sum(finding.level == "error" for finding in findings)
    data = {"name": gold.name, "errors": errors, "flags": len(findings) - errors,
            "findings": msgspec.to_builtins(findings)}  # fmt: skip
    _emit(data, lambda: show.findings_table(findings), json=json)
    checked = "" if corpus else " (references not checked: give --corpus)"
    _say(f"{gold.name}: {errors} errors, {len(findings) - errors} flags{checked}")
    if errors:
        sys.exit(2)
    if strict and findings:
        sys.exit(1)


@gold_app.command()
def stats(dataset: Annotated[Path, typer.Argument(help="The gold set.")], json: Json = False) -> None:
    """Show the picture of a gold set: topics, types, grades, judgments per query."""
    from assay import report as show
    from assay import workbench

    data = workbench.gold_stats(dataset)
    _emit(data, lambda: show.stats_table(data), json=json)


@gold_app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="The gold set to read.")],
    target: Annotated[Path, typer.Argument(help="Where to write; the ending names the format.")],
    source_format: Annotated[str | None, typer.Option("--from", help="json, golden, jsonl, csv, trec or beir.")] = None,
    target_format: Annotated[str | None, typer.Option("--to", help="json, golden, jsonl, csv, trec or beir.")] = None,
) -> None:
    """Convert a gold set to another format, and say what that format cannot hold."""
    from assay import workbench

    written, lost = workbench.convert_gold(source, target, source_format=source_format, target_format=target_format)
    for path in written:
        typer.echo(str(path))
    _say(f"not kept by this format: {'; '.join(lost)}" if lost else "nothing lost", style="yellow" if lost else "green")


@app.command()
def rubric(name: Annotated[str, typer.Argument(help="Which rubric.")] = "fppc-relevance-1") -> None:
    """Print the relevance rubric as a page for judges."""
    from assay import workbench

    typer.echo(workbench.rubric_page(name))


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Where the results of the last engine go.")] = Path("demo-results.json"),
) -> None:
    """Score three engines on the bundled sample of advisory opinions, and say what to try next."""
    from assay import report as show
    from assay import workbench

    folder = workbench.samples() / "en"
    gold, findings = workbench.validate_gold(folder / "dataset.json", corpus=folder / "opinions")
    errors = sum(finding.level == "error" for finding in findings)
    _say(f"1. The gold set: {len(gold.queries)} queries, {gold.judgments.height} judgments, {errors} errors, "
         f"{len(findings) - errors} flags for a person to look at", style="bold")  # fmt: skip
    _say("2. Three engines answer the queries", style="bold")
    scored = workbench.demo(output, _progress)
    _show(show.comparison({name: result.results for name, result in scored.items()}))
    _say("3. The scorecard of bm25", style="bold")
    _show(show.scorecard(scored["bm25"].results))
    _show(show.next_steps(output, folder))


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from assay import __version__

        typer.echo(f"assay {__version__}")
        raise typer.Exit


# ── output ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _emit(data: Any, render: Any, *, json: bool) -> None:
    """Data to stdout: JSON for programs, a table for people."""
    if json:
        from assay.workbench import encode

        with _reader_may_leave():
            sys.stdout.buffer.write(encode(data))
            sys.stdout.buffer.flush()
        return
    _show(render())


def _show(renderable: Any) -> None:
    from io import StringIO

    from rich.console import Console

    plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}  # ids and texts are not markup
    console = Console(**plain)
    if not console.is_terminal:
        console = Console(**plain, width=120, file=StringIO())
    console.print(renderable)
    if isinstance(console.file, StringIO):
        with _reader_may_leave():
            sys.stdout.write(console.file.getvalue())
            sys.stdout.flush()


@contextlib.contextmanager
def _reader_may_leave() -> Iterator[None]:
    """The reader of a pipe may go away, as `| head` does: not an error."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _say(message: str, *, style: str = "dim") -> None:
    """Progress, warnings and errors to stderr."""
    from rich.console import Console

    Console(stderr=True, highlight=False, emoji=False).print(message, style=style, markup=False, soft_wrap=True)


def _progress(queries: Iterable[Query]) -> Iterator[Query]:
    from rich.console import Console
    from rich.progress import Progress

    items = list(queries)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Searching", total=len(items))
        for query in items:
            yield query
            bar.advance(task)


if __name__ == "__main__":
    main()

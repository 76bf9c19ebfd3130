"""`assay score`: an engine, or saved results, against a gold set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.output import Json, emit, say, searching

if TYPE_CHECKING:
    from assay.core.results import Results, Verdict


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
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the results JSON here.")
    ] = None,
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
        str, typer.Option(help="The language of what is shown and reported: en, fi or he.")
    ] = "en",
    json: Json = False,
) -> None:
    """Score an engine, or saved results, against a gold set."""
    from assay.core.results_file import to_json
    from assay.workbench import report as reporting
    from assay.workbench import score as scoring
    from assay.workbench.baseline import who_records
    from assay.workbench.outputs import refuse_outputs

    if report is not None:
        reporting.check_report(report, dataset, run, corpus, output)
    if language != "en":
        reporting.check_language(language)
    if update_baseline:
        baseline, by = baseline or dataset.with_name("baseline.json"), who_records(by)
        refuse_outputs(baseline)
    elif baseline is not None and not baseline.exists():
        missing = f"no baseline yet at {baseline}; write it with --update-baseline"
        say(f"warning: {missing}", style="yellow")
    request = scoring.ScoreRequest(
        dataset=dataset,
        search_module=search_module,
        engine=engine,
        run=run,
        corpus=corpus,
        measures=tuple(measure or ()),
        top_k=top_k,
        k=k,
        min_score=min_score,
        output=output,
        baseline=baseline,
    )
    scored = scoring.score(request, progress=searching, say=say)
    for warning in scored.warnings:
        say(f"warning: {warning}", style="yellow")
    emit(to_json(scored.results), lambda: _card(scored.results, language), json=json)
    if report is not None:
        for path in reporting.write_reports(scored.results, report, language=language):
            say(f"report written to {path}")
    if output is not None:
        say(f"results written to {output}")
    if scored.failed:
        if update_baseline:
            left = f"the engine failed on queries: {baseline} is left as it was"
            say(f"warning: {left}", style="yellow")
        sys.exit(4)
    if update_baseline and baseline is not None:
        _record_baseline(scored.results, baseline, dataset, by=by, why=why)
    _leave_with(scored.results.verdict, recorded=update_baseline)


def _card(results: Results, language: str) -> object:
    from assay.reports import terminal, view

    return terminal.card(view(results, language=language))


def _leave_with(verdict: Verdict | None, *, recorded: bool) -> None:
    """The gates decide the exit code. Who records a new baseline has looked at what cannot be told
    against the old one."""
    from assay.core.results import EXIT

    if verdict is None or verdict.status == "pass":
        return
    names = ", ".join(
        check.title for check in verdict.checks if check.status == verdict.status and check.counts
    )
    if verdict.status == "fail":
        say(f"gates failed: {names}", style="red")
    else:
        say(f"gates that cannot be told: {names}", style="yellow")
        if recorded:
            return
    sys.exit(EXIT[verdict.status])


def _record_baseline(results: Results, baseline: Path, dataset: Path, *, by: str, why: str) -> None:
    from assay.cli import desk
    from assay.reports import terminal
    from assay.workbench.baseline import update_baseline

    is_first = not baseline.exists()
    recorded = update_baseline(results, baseline, by=by, why=why)
    say(terminal.baseline_line(results, baseline, recorded, is_first=is_first))
    if not why:
        say("warning: the baseline does not say why; say it with --why", style="yellow")
    if dataset.suffix == ".jsonl":
        desk.publish(dataset, by)

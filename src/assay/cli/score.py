"""`assay score`: an engine, or saved results, against a gold set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.options import CORPUS, On
from assay.cli.output import Json, emit, say, searching

if TYPE_CHECKING:
    from assay.core.results import Results, Verdict
    from assay.workbench.scoring.score import ScoreRequest

Dataset = Annotated[
    Path, typer.Option(help="The gold set: dataset.json, qrels, BEIR folder, CSV or JSONL.")
]
Module = Annotated[
    str | None,
    typer.Option(help="Your engine: path.to.module, module:Class or file.py.", metavar="MODULE"),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        help="An engine of assay.toml, an indexed corpus, or random or bm25 (with --corpus)."
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(help="Where engines are configured.", show_default="assay.toml"),
]
Timeout = Annotated[
    str | None,
    typer.Option(
        help="For one query, such as 5s or 300ms. By default what the engine's table says.",
        show_default="60s",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(min=1, max=256, help="How many queries to ask at once.", show_default="1"),
]
SavedRun = Annotated[
    Path | None, typer.Option(help="Saved results: results JSON, TREC run or BEIR JSON.")
]
CorpusFile = Annotated[
    Path | None, typer.Option(help=f"The documents, for bm25 and random: {CORPUS}.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the results JSON here.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="A measure such as 'P(rel=2)@5'; repeat for more."),
]
TopK = Annotated[
    int | None, typer.Option(min=1, help="How many results to ask for.", show_default="20")
]
BaselineFile = Annotated[Path | None, typer.Option(help="Compare with this baseline file.")]
Update = Annotated[bool, typer.Option(help="Record the results as the new baseline.")]
By = Annotated[str, typer.Option(help="Who records the baseline.", show_default="you")]
Why = Annotated[str, typer.Option(help="Why the baseline changes.")]
LookedAt = Annotated[int | None, typer.Option(min=1, help="Golden sets: look at this many hits.")]
LeastScore = Annotated[float | None, typer.Option(help="Golden sets: a hit must reach this score.")]
ReportTarget = Annotated[
    Path | None,
    typer.Option(help="A folder for eval-report-DATE.json and .md, or one file name.md."),
]
WithMachine = Annotated[
    bool,
    typer.Option(
        "--with-machine-judgments",
        help="Also estimate from machine votes, corrected by what people judged in full.",
    ),
]
Hits = Annotated[
    str,
    typer.Option(
        help="How many hits of a query the results keep, or 'all'.",
        show_default="the deepest cutoff, 20 at least",
        metavar="N",
    ),
]
Language = Annotated[
    str, typer.Option(help="The language of what is shown and reported: en, fi, he.")
]


def score(
    dataset: Dataset,
    search_module: Module = None,
    engine: EngineName = None,
    run: SavedRun = None,
    corpus: CorpusFile = None,
    output: Output = None,
    measure: Measures = None,
    top_k: TopK = None,
    baseline: BaselineFile = None,
    update_baseline: Update = False,
    by: By = "",
    why: Why = "",
    k: LookedAt = None,
    min_score: LeastScore = None,
    report: ReportTarget = None,
    language: Language = "en",
    with_machine_judgments: WithMachine = False,
    config: ConfigFile = None,
    timeout: Timeout = None,
    concurrency: Concurrency = None,
    hits: Hits = "",
    on: On = "",
    json: Json = False,
) -> None:
    """Score an engine, or saved results, against a gold set."""
    from assay.core import cluster
    from assay.workbench.deciding.baseline import who_records
    from assay.workbench.project.output_files import refuse_outputs
    from assay.workbench.scoring.score import ScoreRequest, seconds_of

    if update_baseline:
        baseline, by = baseline or dataset.with_name("baseline.json"), who_records(by)
        refuse_outputs(baseline)
    elif baseline is not None and not baseline.exists():
        missing = f"no baseline yet at {baseline}; write it with --update-baseline"
        say(f"warning: {missing}", style="yellow")
    request = ScoreRequest(
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
        with_machine_judgments=with_machine_judgments,
        config=config,
        timeout=seconds_of(timeout, "--timeout"),
        concurrency=concurrency,
        hits=_hits(hits),
    )
    with cluster.on(on):
        results = _scored(request, report, language, recorded=update_baseline, json=json)
    if update_baseline:
        _record_baseline(results, request, by=by, why=why)
    _leave_with(results.verdict, recorded=update_baseline)


def _hits(given: str) -> int | Literal["all"] | None:
    from assay.core.errors import UsageError

    if given in ("", "all"):
        return "all" if given else None
    if not given.isdecimal() or not int(given):
        raise UsageError(f"--hits is {given!r}, expected a number from 1 or 'all'")
    return int(given)


def _scored(
    request: ScoreRequest, report: Path | None, language: str, *, recorded: bool, json: bool
) -> Results:
    """The results, shown and written; a failed call ends the command."""
    from assay.core.results_file import to_json
    from assay.reports import view
    from assay.reports.terminal import card
    from assay.workbench.scoring.recording import record_here
    from assay.workbench.scoring.report import check_language, check_report, write_reports
    from assay.workbench.scoring.score import score

    check_language(language)
    if report is not None:
        check_report(report, request.dataset, request.run, request.corpus, request.output)
    scored = score(request, progress=searching, say=say)
    for warning in scored.warnings:
        say(f"warning: {warning}", style="yellow")
    answer = to_json(scored.results) if json else None
    emit(answer, lambda: card(view(scored.results, language=language)), json=json)
    if report is not None:
        for path in write_reports(scored.results, report, language=language):
            say(f"report written to {path}")
    if request.output is not None:
        say(f"results written to {request.output}")
    say(record_here([(scored.results, request.dataset, "")]))
    if scored.failed:
        if recorded:
            left = f"the engine failed on queries: {request.baseline} is left as it was"
            say(f"warning: {left}", style="yellow")
        sys.exit(4)
    return scored.results


def _record_baseline(results: Results, request: ScoreRequest, *, by: str, why: str) -> None:
    from assay.cli.review import publishing
    from assay.reports.terminal import baseline_line
    from assay.workbench.deciding.baseline import update_baseline

    path = request.baseline
    if path is None:
        return
    is_first = not path.exists()
    together = request.dataset.suffix == ".jsonl"
    write = {"write": publishing(request.dataset, by)} if together else {}
    recorded = update_baseline(results, path, by=by, why=why, **write)
    say(baseline_line(results, path, recorded, is_first=is_first))
    if not why:
        say("warning: the baseline does not say why; say it with --why", style="yellow")


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
        say(f"gates inconclusive: {names}", style="yellow")
        if recorded:
            return
    sys.exit(EXIT[verdict.status])

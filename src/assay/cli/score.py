"""`assay score`: an engine, or saved results, against a gold set; `assay run`: every configured
gold set on every configured engine; `assay engines`: the engines that have a name; `assay tune` and
`assay benchmark`."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.options import CORPUS, On
from assay.cli.output import Json, emit, progress_bar, put, say, searching, warn
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.core.results import AnswerResults, Results, Verdict
    from assay.reports.words import Words
    from assay.workbench.scoring.request import ScoreRequest
    from assay.workbench.scoring.run import RunOutcome


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
        help="An engine of assay.toml, an indexed corpus, your engine.py, or (with --corpus) "
        "random, bm25 or bm25-forms, which also finds other forms of words."
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(help="The file that configures engines.", show_default="assay.toml"),
]
Timeout = Annotated[
    str | None,
    typer.Option(
        help="The time limit for one query, such as 5s or 300ms. By default, the engine's own.",
        show_default="60s",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(min=1, max=256, help="How many queries to run at once.", show_default="1"),
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
    int | None, typer.Option(min=1, help="The number of results to request.", show_default="20")
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
        help="The number of hits to keep for each query, or 'all'.",
        show_default="the deepest cutoff, 20 at least",
        metavar="N",
    ),
]
LooseIds = Annotated[
    bool,
    typer.Option(
        "--loose-ids",
        help="Accept ids that differ from judged ones in case, spaces, dashes or invisible "
        "characters only.",
    ),
]
WorstCase = Annotated[
    bool,
    typer.Option(
        "--worst-case", help="Use intervals that hold even where a few queries fail completely."
    ),
]
Language = Annotated[str, typer.Option(help="The language of output and reports: en, fi or he.")]


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
    loose_ids: LooseIds = False,
    worst_case: WorstCase = False,
    on: On = "",
    json: Json = False,
) -> None:
    """Score an engine, or saved results, against a gold set."""
    from assay.core import cluster
    from assay.reports.words import Words
    from assay.workbench.deciding.baseline import who_records
    from assay.workbench.project.output_files import refuse_outputs
    from assay.workbench.scoring.request import ScoreRequest, seconds_of

    if engine and search_module is None and engine.partition(":")[0].endswith(".py"):
        search_module, engine = engine, None
    if update_baseline:
        baseline, by = baseline or dataset.with_name("baseline.json"), who_records(by)
        refuse_outputs(baseline)
    elif baseline is not None and not baseline.exists():
        warn(Words(language)("command.no_baseline", path=baseline))
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
        loose_ids=loose_ids,
        worst_case=worst_case,
    )
    with cluster.use_cluster(on):
        results = _score_and_write(request, report, language, recorded=update_baseline, json=json)
    if update_baseline:
        _record_baseline(results, request, by=by, why=why, words=Words(language))
    _leave_with(results.verdict, recorded=update_baseline, words=Words(language))


def _hits(text: str) -> int | Literal["all"] | None:
    from assay.core.errors import UsageError

    if text in ("", "all"):
        return "all" if text else None
    if not text.isdecimal() or not int(text):
        raise UsageError(f"--hits is {text!r}, expected a number from 1 or 'all'")
    return int(text)


def _score_and_write(
    request: ScoreRequest, report: Path | None, language: str, *, recorded: bool, json: bool
) -> Results:
    """The results, shown and written; a failed call ends the command."""
    from assay.core.results_file import to_json
    from assay.reports import view
    from assay.reports.terminal import card
    from assay.reports.words import Words
    from assay.workbench.scoring.recording import record_here
    from assay.workbench.scoring.report import check_language, check_report, write_reports
    from assay.workbench.scoring.score import score

    check_language(language)
    if report is not None:
        check_report(report, request.dataset, request.run, request.corpus, request.output)
    scored = score(request, progress=searching, say=say)
    words = Words(language)
    for warning in scored.warnings:
        text = words.translated("warnings", warning)
        warn(words("command.warning", warning=text))
    answer = to_json(scored.results) if json else None
    emit(answer, lambda: card(view(scored.results, language=language)), json=json)
    if report is not None:
        for path in write_reports(scored.results, report, language=language):
            say(words("command.report_written", path=path))
    if request.output is not None:
        say(words("command.results_written", path=request.output))
    if kept := record_here([(scored.results, request.dataset, "")], language=language):
        say(kept)
    if scored.failed:
        if recorded:
            warn(words("command.baseline_left", path=request.baseline))
        sys.exit(4)
    return scored.results


def _record_baseline(
    results: Results, request: ScoreRequest, *, by: str, why: str, words: Words
) -> None:
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
    say(baseline_line(results, path, recorded, is_first=is_first, words=words))
    if not why:
        warn(words("command.baseline_no_why"))


def _leave_with(verdict: Verdict | None, *, recorded: bool, words: Words) -> None:
    """The gates decide the exit code. Who records a new baseline has looked at what cannot be told
    against the old one."""
    from assay.core.results import EXIT

    if verdict is None or verdict.status == "pass":
        return
    names = ", ".join(
        check.title for check in verdict.checks if check.status == verdict.status and check.counts
    )
    if verdict.status == "fail":
        say(words("command.gates_failed", names=names), style="red")
    else:
        warn(words("command.gates_inconclusive", names=names))
        if recorded:
            return
    sys.exit(EXIT[verdict.status])


# ── `assay run` ───────────────────────────────────────────────────────────────────────────────────


def run(
    config: Annotated[Path, typer.Option(help="The configuration.")] = Path("assay.toml"),
    fresh: Annotated[bool, typer.Option(help="Run every pair again and ignore the cache.")] = False,
    comment: Annotated[
        Path | None, typer.Option(help="Write a short pull-request comment (Markdown) here.")
    ] = None,
    texts: Annotated[
        bool, typer.Option(help="Show the text of queries in the comment, not only their ids.")
    ] = False,
    on: On = "",
    json: Json = False,
) -> None:
    """Score every gold set in assay.toml with every engine, check every file of answers, compare
    with baselines, and decide the gates.

    assay score --update-baseline records a baseline."""
    from assay.core import cluster
    from assay.reports.terminal import run_summary
    from assay.workbench.project.config import read_config
    from assay.workbench.project.output_files import refuse_output
    from assay.workbench.scoring.recording import record_here
    from assay.workbench.scoring.run import (
        check_answer_files,
        exit_code,
        results_folder,
        results_path,
        run_all,
    )

    settings = read_config(config)
    refuse_output(comment, config)
    with cluster.use_cluster(on):
        outcomes = _run_with_progress(
            lambda done: run_all(settings, config, fresh=fresh, done=done, warn=_warn)
        )
    checked = check_answer_files(settings)
    rows: list[dict[str, object]] = [
        {
            "gold": outcome.gold,
            "engine": outcome.engine,
            "cached": outcome.cached,
            "error": outcome.error,
            "overall": outcome.results and outcome.results.overall,
            "verdict": outcome.results and outcome.results.verdict,
        }
        for outcome in outcomes
    ]
    rows += [
        {
            "answers": each.name,
            "system": each.system,
            "error": each.error,
            "overall": each.results and each.results.overall,
            "verdict": each.results and each.results.verdict,
        }
        for each in checked
    ]
    shown = [(each.gold, each.engine, each.results, each.error) for each in outcomes]
    files = {
        (each.gold, each.engine): (
            str(results_path(each.gold, each.engine)),
            settings.gold[each.gold].baseline or "BASELINE",
        )
        for each in outcomes
    }
    answered = [(each.name, each.results, each.error) for each in checked]
    emit(rows, lambda: run_summary(shown, files, answered), json=json)
    say(f"results and reports are in {results_folder()}")
    _say_how_to_compare(files, [(each.gold, each.engine) for each in outcomes if each.results])
    if comment is not None:
        from assay.workbench.scoring.run import write_comment

        write_comment(comment, outcomes, checked, settings, texts=texts)
    scored: list[tuple[Results | AnswerResults, Path, str]] = [
        (each.results, Path(settings.gold[each.gold].path), each.engine)
        for each in outcomes
        if each.results is not None
    ]
    scored += [
        (each.results, Path(settings.answers[each.name].path), each.system)
        for each in checked
        if each.results is not None
    ]
    if scored and (kept := record_here(scored)):
        say(kept)
    sys.exit(exit_code([*outcomes, *checked]))


def _warn(warning: str) -> None:
    warn(f"warning: {warning}")


def _say_how_to_compare(
    files: dict[tuple[str, str], tuple[str, str]], scored: list[tuple[str, str]]
) -> None:
    for gold in dict.fromkeys(gold for gold, _ in scored):
        of_set = [files[pair][0] for pair in scored if pair[0] == gold]
        if len(of_set) > 1:
            say(f"is one better? `assay compare {shlex.join(of_set)}`")


def _run_with_progress(
    run: Callable[[Callable[[RunOutcome, int], None]], list[RunOutcome]],
) -> list[RunOutcome]:
    """Run with a progress bar and a line for every finished pair."""
    with progress_bar() as tick:
        seen: list[RunOutcome] = []

        def done(outcome: RunOutcome, total: int) -> None:
            seen.append(outcome)
            tick("scoring", len(seen), total)
            say(f"{outcome.engine} on {outcome.gold}: {outcome.state}")

        try:
            return run(done)
        except KeyboardInterrupt:
            say("interrupted; what was scored is kept, and not run again")
            sys.exit(130)


# ── `assay engines` ───────────────────────────────────────────────────────────────────────────────


engines_app = typer.Typer(
    help="Engines: list them, show ready tables, try one.",
    no_args_is_help=True,
    add_completion=False,
)


@engines_app.command("list")
def list_engines_command(config: ConfigFile = None, json: Json = False) -> None:
    """List the engines of the configuration and the workspace, and the baselines."""
    from assay.reports import listing
    from assay.workbench.scoring.engines import list_engines

    rows = list_engines(config)
    columns = ("name", "kind", "what", "calls", "environment", "origin")
    emit(rows, lambda: listing.plain_table(rows, columns), json=json)


@engines_app.command("presets")
def show_presets(
    name: Annotated[str, typer.Argument(help="The preset to show.", show_default="all")] = "",
    json: Json = False,
) -> None:
    """Show ready-made tables for well-known engines. Your own keys override theirs."""
    from assay.reports.listing import preset_tables
    from assay.workbench.scoring.engines import list_presets

    every = list_presets()
    rows = [preset for preset in every if name in ("", preset.name)]
    if not rows:
        names = ", ".join(preset.name for preset in every)
        raise UsageError(f"there is no preset {name!r}", hint=f"Known: {names}.")
    if json:
        emit(rows, lambda: "", json=True)
    else:
        put(preset_tables(rows))


@engines_app.command("test")
def try_out(
    name: Annotated[
        str,
        typer.Argument(help="The name of the engine, a Python file, or an address with {{query}}."),
    ],
    query: Annotated[str, typer.Argument(help="What to search for.")],
    config: ConfigFile = None,
    top_k: Annotated[int, typer.Option(min=1, help="How many results to ask for.")] = 10,
    response: Annotated[
        Path | None,
        typer.Option(
            help="With an address: propose a table from this saved answer. No query is sent."
        ),
    ] = None,
    corpus: Annotated[str, typer.Option(help="Search as if a gold row named this corpus.")] = "",
    practice_area: Annotated[
        str, typer.Option(help="Search as if a gold row named this practice area.")
    ] = "",
    language: Annotated[
        str, typer.Option(help="Search as if a gold row were in this language: en, fi or he.")
    ] = "",
    as_of: Annotated[str, typer.Option(help="Search as of this date.")] = "",
    filters: Annotated[str, typer.Option(help="Search with these filters, as JSON.")] = "",
    json: Json = False,
) -> None:
    """Ask one query. Show the request, the answer, what was read from it, and what is wrong. For an
    address, propose the table to write into assay.toml."""
    from assay.reports.listing import proposal, trial
    from assay.workbench.scoring import engines

    if name.startswith(("http://", "https://")):
        answer = response.read_bytes() if response else None
        proposed = engines.propose_table(name, query, answer=answer, top_k=top_k)
        emit(proposed, lambda: proposal(proposed), json=json)
        sys.exit(4 if proposed.wrong else 0)
    fields = {
        "corpus": corpus,
        "practice_area": practice_area,
        "language": language,
        "as_of": as_of,
        "filters": _parse_filters(filters),
    }
    known = {key: value for key, value in fields.items() if value}
    tried = engines.try_named(name, query, config=config, top_k=top_k, known=known)
    emit(tried, lambda: trial(tried), json=json)
    if not tried.ok:
        say(f"{name} cannot be measured yet", style="red")
        sys.exit(4)


def _parse_filters(filters: str) -> object:
    try:
        return jsonlib.loads(filters) if filters else None
    except ValueError as error:
        raise UsageError(f"--filters is not JSON: {error}") from error


# ── assay tune ────────────────────────────────────────────────────────────────────────────────────


def tune(
    name: Annotated[str, typer.Argument(help=r"The table \[tune.NAME] of assay.toml.")],
    config: ConfigFile = None,
    gold: Annotated[
        str, typer.Option(help="The gold set, by name or path.", show_default="the table's")
    ] = "",
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="The most settings to try.", show_default="the table's"),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget the calls of earlier runs of this sweep.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the result here: .html, .csv, .toml or .json."),
    ] = None,
    language: Language = "en",
    json: Json = False,
) -> None:
    """Try many settings of an engine and say which to use. The winner is measured on queries that
    it was not chosen on, and compared with the current setting, corrected for the number tried."""
    from assay.reports.tuning import terminal, view
    from assay.reports.words import Words
    from assay.workbench.deciding.tune import refuse_output, tune, write_output

    words = Words(language)
    if output is not None:
        refuse_output(output)
    try:
        with progress_bar() as tick:
            report = tune(name, config=config, gold=gold, budget=budget, fresh=fresh, tick=tick)
    except KeyboardInterrupt:
        say("interrupted; the calls are kept, and the same command goes on from here")
        raise typer.Exit(130) from None
    emit(report, lambda: terminal(view(report, language)), json=json)
    say(words("tune.files", folder=report.folder))
    if output is not None:
        write_output(report, output, language)


# ── assay benchmark ───────────────────────────────────────────────────────────────────────────────


benchmark_app = typer.Typer(help="Run public benchmarks of legal retrieval.", no_args_is_help=True)


@benchmark_app.command("list")
def show_benchmarks(json: Json = False) -> None:
    """List the benchmarks, with licence and size. Every irds:ID of ir_datasets can be run too."""
    from assay.reports.listing import benchmark_list
    from assay.workbench.scoring.benchmark import list_benchmarks

    found = list_benchmarks()
    emit(found, lambda: benchmark_list(found), json=json)


@benchmark_app.command("run")
def run_on_benchmark(
    name: Annotated[str, typer.Argument(help="A benchmark from the list, or irds:ID.")],
    engine: Annotated[
        str,
        typer.Option(
            help="An engine of assay.toml, bm25, bm25-forms, random, or assay for Assay's own "
            "engine."
        ),
    ],
    path: Annotated[
        Path | None,
        typer.Option(help="A folder with the publisher's files, instead of a download."),
    ] = None,
    config: ConfigFile = None,
    top_k: TopK = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Score an engine on a benchmark and show published scores of other engines."""
    from assay.reports.listing import benchmark_report
    from assay.workbench.scoring.benchmark import run_benchmark

    with progress_bar() as tick:
        report = run_benchmark(
            name,
            engine,
            path=path,
            config=config,
            top_k=top_k,
            output=output,
            progress=searching,
            tick=tick,
            say=say,
        )
    emit(report, lambda: benchmark_report(report), json=json)
    if report.failed:
        say(f"the engine failed on {report.failed} queries", style="red")
        sys.exit(4)

"""`assay run`: every configured gold set on every configured engine."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import On
from assay.cli.output import Json, emit, progress_bar, say

if TYPE_CHECKING:
    from assay.workbench.scoring.run import Outcome


def run(
    config: Annotated[Path, typer.Option(help="The configuration.")] = Path("assay.toml"),
    fresh: Annotated[bool, typer.Option(help="Run every pair again, whatever is cached.")] = False,
    comment: Annotated[
        Path | None, typer.Option(help="Write a short pull-request comment (Markdown) here.")
    ] = None,
    texts: Annotated[
        bool, typer.Option(help="Put the words of queries into the comment, not only ids.")
    ] = False,
    on: On = "",
    json: Json = False,
) -> None:
    """Score every gold set of assay.toml on every engine of it, compare with baselines, and decide
    the gates."""
    from assay.core import cluster
    from assay.reports.terminal import run_summary
    from assay.workbench.project.config import read_config
    from assay.workbench.project.output_files import refuse_output
    from assay.workbench.scoring.recording import record_here
    from assay.workbench.scoring.run import exit_code, results_folder, results_path, run_all

    settings = read_config(config)
    refuse_output(comment, config)
    with cluster.on(on):
        outcomes = _watched(lambda done: run_all(settings, config, fresh=fresh, done=done))
    rows = [
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
    shown = [(each.gold, each.engine, each.results, each.error) for each in outcomes]
    files = {
        (each.gold, each.engine): (
            str(results_path(each.gold, each.engine)),
            settings.gold[each.gold].baseline or "BASELINE",
        )
        for each in outcomes
    }
    emit(rows, lambda: run_summary(shown, files), json=json)
    say(f"results and reports are in {results_folder()}")
    _say_how_to_compare(files, [(each.gold, each.engine) for each in outcomes if each.results])
    if comment is not None:
        from assay.workbench.deciding.pull_request import write_comment

        write_comment(comment, outcomes, settings, texts=texts)
    scored = [
        (each.results, Path(settings.gold[each.gold].path), each.engine)
        for each in outcomes
        if each.results is not None
    ]
    if scored:
        say(record_here(scored))
    sys.exit(exit_code(outcomes))


def _say_how_to_compare(
    files: dict[tuple[str, str], tuple[str, str]], scored: list[tuple[str, str]]
) -> None:
    for gold in dict.fromkeys(gold for gold, _ in scored):
        of_set = [files[pair][0] for pair in scored if pair[0] == gold]
        if len(of_set) > 1:
            say(f"is one better? `assay compare {shlex.join(of_set)}`")


def _watched(run: Callable[[Callable[[Outcome, int], None]], list[Outcome]]) -> list[Outcome]:
    """With a bar and a line for every pair that is done."""
    with progress_bar() as tick:
        seen: list[Outcome] = []

        def done(outcome: Outcome, total: int) -> None:
            seen.append(outcome)
            tick("scoring", len(seen), total)
            say(f"{outcome.engine} on {outcome.gold}: {outcome.state}")

        try:
            return run(done)
        except KeyboardInterrupt:
            say("interrupted; what was scored is kept, and not run again")
            sys.exit(130)

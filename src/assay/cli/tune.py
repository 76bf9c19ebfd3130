"""`assay tune`: many settings of an engine on a gold set, and an honest answer which to use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import Json, emit, progress_bar, say
from assay.cli.score import ConfigFile, Language


def tune(
    name: Annotated[str, typer.Argument(help="The table [tune.NAME] of assay.toml.")],
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

"""`assay engines`: the engines that have a name, and one query on one of them."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import Json, emit, put, say
from assay.core.errors import UsageError

app = typer.Typer(
    help="Engines: list them, show ready tables, try one.",
    no_args_is_help=True,
    add_completion=False,
)

ConfigFile = Annotated[
    Path | None, typer.Option(help="The configuration.", show_default="assay.toml")
]


@app.command("list")
def list_(config: ConfigFile = None, json: Json = False) -> None:
    """The engines of the configuration, of the workspace, and the baselines."""
    from assay.reports import listing
    from assay.workbench.scoring.engines import list_engines

    rows = list_engines(config)
    columns = ("name", "kind", "what", "calls", "environment", "origin")
    emit(rows, lambda: listing.plain_table(rows, columns), json=json)


@app.command()
def presets(
    name: Annotated[str, typer.Argument(help="One of them.", show_default="all")] = "",
    json: Json = False,
) -> None:
    """Show ready tables for well-known engines. Your own keys replace theirs."""
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


@app.command("test")
def try_out(
    name: Annotated[str, typer.Argument(help="The engine, as its table is called.")],
    query: Annotated[str, typer.Argument(help="What to search for.")],
    config: ConfigFile = None,
    top_k: Annotated[int, typer.Option(min=1, help="How many results to ask for.")] = 10,
    corpus: Annotated[str, typer.Option(help="Ask as a row of this corpus would.")] = "",
    practice_area: Annotated[
        str, typer.Option(help="Ask as a row of this practice area would.")
    ] = "",
    language: Annotated[
        str, typer.Option(help="Ask as a row in this language would: en, fi or he.")
    ] = "",
    as_of: Annotated[str, typer.Option(help="Ask as a row of this day would.")] = "",
    filters: Annotated[str, typer.Option(help="Ask as a row with these filters would; JSON.")] = "",
    json: Json = False,
) -> None:
    """Ask one query. Show the request, the answer, what was read from it, and what is wrong."""
    from assay.reports.listing import trial
    from assay.workbench.scoring import engines

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

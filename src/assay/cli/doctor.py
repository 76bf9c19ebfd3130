"""`assay doctor`, `assay plugins`, and the project status that `assay` alone prints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import StoreUrl
from assay.cli.output import Json, emit, say, show

# ── `assay` alone ─────────────────────────────────────────────────────────────────────────────────


def show_status() -> None:
    from assay.reports.terminal_status import project_status
    from assay.workbench.project.status import look_around

    show(project_status(look_around()))


# ── `assay doctor` and `assay plugins` ────────────────────────────────────────────────────────────


def doctor(
    probe: Annotated[bool, typer.Option(help="Ask every configured engine one query.")] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="First upgrade the store, and write gold files that are behind their logs.",
        ),
    ] = False,
    config: Annotated[Path | None, typer.Option(help="The configuration.")] = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Is everything well? Environment, extras, store, corpora and indexes, engines, gold, in one
    screen."""
    from assay.reports import listing
    from assay.workbench.project.doctor import examine, repair_project

    for message in repair_project(store, config=config) if repair else ():
        say(message)
    checkup = examine(store, config=config, probe=probe)
    emit(checkup, lambda: listing.checkup(checkup), json=json)
    if checkup.status != "ok":
        sys.exit(4)


def plugins(json: Json = False) -> None:
    """List what is plugged in (importers, formats, engines, measures, encoders, judges), and
    whether each loads."""
    from assay.reports import listing
    from assay.workbench.project.doctor import list_plugins

    rows = list_plugins()
    columns = ("kind", "name", "origin", "module", "status")
    emit(rows, lambda: listing.plain_table(rows, columns), json=json)
    if any(plugin.failed for plugin in rows):
        sys.exit(4)

"""`assay backup` and `assay restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import StoreUrl, check_gold
from assay.cli.output import Json, emit, say


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, such as backup.tar.gz.")],
    gold: Annotated[
        list[Path] | None,
        typer.Option(help="Another gold set to include; repeat for more."),
    ] = None,
    indexes: Annotated[
        bool, typer.Option(help="Include search indexes, which can be rebuilt.")
    ] = True,
    config: Annotated[Path | None, typer.Option(help="The configuration.")] = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Back up the store, the gold sets with their logs, and the workspace into one file. Others can
    keep working."""
    from assay.reports import listing
    from assay.workbench.project.backup import make_backup

    check_gold(gold)
    done = make_backup(file, store=store, gold=gold or (), config=config, indexes=indexes)
    emit(done, lambda: listing.key_values(done), json=json)
    if done.left_out:
        say("A backup holds only data. Other files were left out.", style="yellow")


def restore(
    file: Annotated[Path, typer.Argument(help="A file written by assay backup.")],
    to: Annotated[
        Path, typer.Option("--to", help="The project's folder; nothing in it is overwritten.")
    ] = Path(),
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Restore a backup into an empty place."""
    from assay.reports import listing
    from assay.workbench.project.backup import restore_backup

    done = restore_backup(file, to, store=store)
    emit(done, lambda: listing.key_values(done), json=json)
    for path in done.outside:
        say(f"A file from outside the project is now in {path}", style="yellow")

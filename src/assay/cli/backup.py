"""`assay backup` and `assay restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import StoreUrl, check_gold
from assay.cli.output import Json, emit, say


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, as backup.zip.")],
    gold: Annotated[
        list[Path] | None,
        typer.Option(help="A gold set that neither assay.toml nor the store knows; repeat."),
    ] = None,
    indexes: Annotated[
        bool, typer.Option(help="With search indexes, which can be built again.")
    ] = True,
    config: Annotated[Path | None, typer.Option(help="The configuration.")] = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Back up the store, the gold sets with their votes, and the workspace into one file. Others
    can go on working."""
    from assay.reports import listing
    from assay.workbench.backup import make_backup, summary

    check_gold(gold)
    done = summary(make_backup(file, store=store, gold=gold or (), config=config, indexes=indexes))
    emit(done, lambda: listing.key_values(done), json=json)
    if done.left_out:
        say("a backup holds data alone, and leaves out the rest", style="yellow")


def restore(
    file: Annotated[Path, typer.Argument(help="What assay backup has written.")],
    to: Annotated[
        Path, typer.Option("--to", help="The project's folder; nothing in it is written over.")
    ] = Path(),
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Bring a backup back, into an empty place."""
    from assay.reports import listing
    from assay.workbench.backup import restore_backup

    done = restore_backup(file, to, store=store)
    emit(done, lambda: listing.key_values(done), json=json)
    for path in done.outside:
        say(f"a gold set that was outside the project is in {path}", style="yellow")

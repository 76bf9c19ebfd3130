"""`assay gold packet`: one file for a judge outside. `cli/gold.py` takes it in by GOLD_COMMANDS;
its verb is in `workbench/packing.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import CORPUS
from assay.cli.output import Json, emit, say


def packet(
    dataset: Annotated[Path, typer.Argument(help="The gold set; its pool is beside it.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The packet: .html, .jsonl or .csv.")
    ],
    judge: Annotated[
        str, typer.Option(help="What is dealt to this judge; else what nobody has judged.")
    ] = "",
    corpus: Annotated[
        str, typer.Option(help=f"Where the documents are: {CORPUS}.", show_default="the pool's")
    ] = "",
    query: Annotated[
        list[str] | None, typer.Option(help="Only this query; repeat for more.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge at most this many pairs.")] = None,
    language: Annotated[
        str,
        typer.Option(help="Of the page: en, fi or he.", show_default="that of the queries"),
    ] = "",
    json: Json = False,
) -> None:
    """Write one self-contained file for a judge: the rubric, the queries and the documents. It is
    blind: no engine, rank, score, or vote of others. HTML works by keyboard, from disk."""
    from assay.core.types import counted
    from assay.reports import listing
    from assay.workbench.packing import write_packet

    packed = write_packet(
        dataset,
        output,
        judge=judge,
        corpus=corpus,
        queries=query or (),
        limit=limit,
        language=language,
    )
    emit(packed, lambda: listing.what_happened(packed, notes=""), json=json)
    for note in packed.notes:
        say(note, style="yellow")
    if not packed.pairs:
        whose = f" for {packed.judge}" if packed.judge else ""
        say(f"nothing is left to judge{whose}: no file was written")
        return
    what = f"{counted(packed.pairs, 'pair')} on {counted(packed.queries, 'query')}"
    say(f"{what} written to {packed.packet}; {packed.left:,} left after them")


GOLD_COMMANDS = (packet,)

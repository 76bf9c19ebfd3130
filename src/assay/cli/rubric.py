"""`assay gold rubric`, and `assay rubric` for short: what the grades mean, for who judges. Rubrics
come with Assay (`judging/rubrics`) or are files of a project."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.output import Json, emit, put


def rubric(
    name: Annotated[
        str,
        typer.Argument(help="A rubric, or its .toml file.", show_default="the newest shipped"),
    ] = "",
    list_: Annotated[
        bool, typer.Option("--list", help="List the rubrics of the project and the shipped ones.")
    ] = False,
    json: Json = False,
) -> None:
    """Print a relevance rubric as a page for judges."""
    from assay.reports import listing
    from assay.workbench import gold

    if list_:
        found = gold.rubric_list()
        emit(found, lambda: listing.plain_table(found, ("name", "origin", "path")), json=json)
    elif json:
        emit(gold.rubric_object(name), lambda: "", json=True)
    else:
        put(gold.rubric_page(name))


GOLD_COMMANDS = (rubric,)

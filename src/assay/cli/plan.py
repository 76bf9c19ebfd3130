"""`assay plan`: how many queries do I need?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import a_number
from assay.cli.output import Json, emit


def plan(
    a: Annotated[Path, typer.Argument(help="Results of one engine.")],
    b: Annotated[Path, typer.Argument(help="Results of another engine on the same queries.")],
    difference: Annotated[
        float, typer.Option(callback=a_number, help="The difference that matters to you.")
    ] = 0.03,
    power: Annotated[
        float, typer.Option(callback=a_number, help="The chance of seeing such a difference.")
    ] = 0.8,
    primary: Annotated[
        str, typer.Option(help="The measure that decides. By default nDCG@10, or the pass rate.")
    ] = "",
    agreement: Annotated[
        float | None,
        typer.Option(
            callback=a_number, help="How two judges agree: kappa or alpha of `gold agreement`."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """How many queries and judgments does a decision take? From a pilot: two engines on the same
    queries."""
    from assay.reports.terminal_plan import plan_table
    from assay.workbench.plan import plan_from

    found = plan_from(
        (a, b), difference=difference, power=power, primary=primary, agreement=agreement
    )
    emit(found, lambda: plan_table(found), json=json)

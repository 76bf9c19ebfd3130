"""`assay rubric`: what the grades mean, for who judges. The rubrics are in `judging/rubrics`."""

from __future__ import annotations

from typing import Annotated

import typer


def rubric(name: Annotated[str, typer.Argument(help="Which rubric.")] = "fppc-relevance-1") -> None:
    """Print the relevance rubric as a page for judges."""
    from assay.workbench import gold

    typer.echo(gold.rubric_page(name))

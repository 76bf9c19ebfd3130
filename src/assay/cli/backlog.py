"""`assay backlog`: what waits for the expert."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import StoreUrl, a_number, opened
from assay.cli.output import Json, emit, say
from assay.core.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.workbench.backlog import Backlog


def backlog(
    max_pending: Annotated[
        int | None, typer.Option(min=0, help="Fail above this many waiting items.")
    ] = None,
    max_age: Annotated[
        float | None,
        typer.Option(min=0, callback=a_number, help="Fail when one waits longer, in days."),
    ] = None,
    webhook: Annotated[str, typer.Option(help="Tell this address when a limit is passed.")] = "",
    gold: Annotated[str, typer.Option(help="Only this gold set.")] = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """What waits for the expert: counts, ages, throughput, and when it will be empty."""
    from assay.reports import listing
    from assay.workbench.backlog import Limits, check_backlog
    from assay.workbench.review import strays

    if webhook and not webhook.startswith(("http://", "https://")):
        raise UsageError("a webhook is an http or https address", where=webhook)
    limits = Limits(max_pending=max_pending, max_age_days=max_age)
    with opened(store, create=False) as service:
        figures, problems = check_backlog(service, limits, gold=gold)
        lost = len(strays(service)) if not gold else 0
    emit(figures, lambda: listing.key_values(figures), json=json)
    if lost:
        say(
            f"warning: {lost} of these have no row in a gold set that is here; "
            "see assay gold withdraw",
            style="yellow",
        )
    for problem in problems:
        say(problem, style="red")
    if problems and webhook:
        _tell(webhook, figures, problems)
    if problems:
        sys.exit(1)


def _tell(webhook: str, figures: Backlog, problems: Sequence[str]) -> None:
    """A webhook that is away is a warning: what is over its limit decides the exit code, told or
    not."""
    from assay.workbench.backlog import tell

    try:
        tell(webhook, figures, problems)
    except AssayError as error:
        say(f"warning: {error}", style="yellow")

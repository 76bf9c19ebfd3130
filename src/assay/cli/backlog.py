"""`assay backlog`: what waits for the expert."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import StoreUrl, a_number, is_named, opened
from assay.cli.output import Json, emit, say, show
from assay.core.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.workbench.backlog import Backlog, TheirBacklog


def backlog(
    max_pending: Annotated[
        int | None, typer.Option(min=0, help="Fail above this many waiting items.")
    ] = None,
    max_age: Annotated[
        float | None,
        typer.Option(
            min=0, callback=a_number, help="Fail if something waits longer than this many days."
        ),
    ] = None,
    webhook: Annotated[str, typer.Option(help="Tell this address if a limit is passed.")] = "",
    gold: Annotated[str, typer.Option(help="Only this gold set.")] = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Show what waits for the expert: how much, how old, how fast it is decided, and when it will
    be empty."""
    from assay.workbench.backlog import (
        Limits,
        NoStore,
        check_backlog,
        configured_backlogs,
        own_backlogs,
    )
    from assay.workbench.review import strays

    if webhook and not webhook.startswith(("http://", "https://")):
        raise UsageError("a webhook is an http or https address", where=webhook)
    limits = Limits(max_pending=max_pending, max_age_days=max_age)
    try:
        with opened(store, read_only=True) as service:
            figures, problems = check_backlog(service, limits, gold=gold)
            lost = len(strays(service)) if not gold else 0
            theirs = own_backlogs(service) if not gold else {}
    except NoStore:
        if is_named(store) or gold or not (theirs := configured_backlogs()):
            raise
        figures, problems, lost = None, [], 0  # only tables of the user's own so far
    _show(figures, theirs, json=json)
    if lost:
        say(
            f"warning: {lost} of these have no row in a gold set that is here; "
            "see assay gold withdraw",
            style="yellow",
        )
    for problem in problems:
        say(problem, style="red")
    if problems and webhook and figures is not None:
        _tell(webhook, figures, problems)
    if problems:
        sys.exit(1)
    if any(table.status == "failed" for table in theirs.values()):
        sys.exit(4)


def _show(figures: Backlog | None, theirs: Mapping[str, TheirBacklog], *, json: bool) -> None:
    """Assay's own queue, then every table of the configuration under its name."""
    from assay.reports import listing
    from assay.workbench.backlog import with_theirs

    if json:
        emit(with_theirs(figures, theirs), lambda: None, json=True)
        return
    if figures is not None:
        show(listing.key_values(figures))
    for name, table in theirs.items():
        if table.status == "failed":
            say(f"error: {table.error}", style="red")
        else:
            show(listing.named_values(f"backlog.{name}", table))


def _tell(webhook: str, figures: Backlog, problems: Sequence[str]) -> None:
    """A webhook that is away is a warning: what is over its limit decides the exit code, told or
    not."""
    from assay.workbench.backlog import tell

    try:
        tell(webhook, figures, problems)
    except AssayError as error:
        say(f"warning: {error}", style="yellow")

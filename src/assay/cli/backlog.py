"""`assay backlog`: how much is pending."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import StoreUrl, a_number, is_named, opened
from assay.cli.output import Json, emit, say, show
from assay.core.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.workbench.review.backlog import Backlog, ExternalBacklog


def backlog(
    max_pending: Annotated[
        int | None, typer.Option(min=0, help="Fail if more items than this are pending.")
    ] = None,
    max_age: Annotated[
        float | None,
        typer.Option(
            min=0,
            callback=a_number,
            help="Fail if an item has been pending for more days than this.",
        ),
    ] = None,
    webhook: Annotated[str, typer.Option(help="Notify this address if a limit is exceeded.")] = "",
    gold: Annotated[str, typer.Option(help="Only this gold set.")] = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Show the review backlog: how much is pending, how old it is, how fast it is decided, and when
    it should be empty."""
    from assay.workbench.review.backlog import (
        Limits,
        NoStore,
        check_backlog,
        configured_backlogs,
        external_backlogs,
        notify,
    )
    from assay.workbench.review.queue import strays

    if webhook and not webhook.startswith(("http://", "https://")):
        raise UsageError("a webhook is an http or https address", where=webhook)
    limits = Limits(max_pending=max_pending, max_age_days=max_age)
    try:
        with opened(store, read_only=True) as service:
            figures, problems = check_backlog(service, limits, gold=gold)
            lost = len(strays(service)) if not gold else 0
            external = external_backlogs(service) if not gold else {}
    except NoStore:
        if is_named(store) or gold or not (external := configured_backlogs()):
            raise
        figures, problems, lost = None, [], 0  # only external backlogs so far
    _show(figures, external, json=json)
    if lost:
        say(
            f"warning: {lost} pending suggestions are for queries that are no longer in their "
            "gold set; remove them with assay gold withdraw",
            style="yellow",
        )
    for problem in problems:
        say(problem, style="red")
    if problems and webhook and figures is not None:
        try:
            notify(webhook, figures, problems)
        except AssayError as error:  # the limit decides the exit code, with or without the notice
            say(f"warning: {error}", style="yellow")
    if problems:
        sys.exit(1)
    if any(table.status == "failed" for table in external.values()):
        sys.exit(4)


def _show(figures: Backlog | None, external: dict[str, ExternalBacklog], *, json: bool) -> None:
    """The review queue, then every external backlog under its name."""
    import msgspec

    from assay.reports import listing

    if json:
        queue = msgspec.to_builtins(figures) if figures is not None else {}
        named = {"backlogs": msgspec.to_builtins(external)} if external else {}
        emit(queue | named, lambda: None, json=True)
        return
    if figures is not None:
        show(listing.key_values(figures))
    for name, table in external.items():
        if table.status == "failed":
            say(f"error: {table.error}", style="red")
        else:
            show(listing.named_values(f"backlog.{name}", table))

"""`assay logs …`: search logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import By, Redact, StoreUrl, a_number, opened
from assay.cli.output import say

app = typer.Typer(
    help="Search logs: import them, feed decisions back, forget by age.", no_args_is_help=True
)


@app.command("import")
def import_searches(
    path: Annotated[Path, typer.Argument(help="Searches, one JSON object a line.")],
    redact: Redact = None,
    store: StoreUrl = "",
) -> None:
    """Import searches from a file."""
    from assay.workbench import logs

    with opened(store, create=True) as service:
        done = logs.import_searches(service, path, redactions=redact or ())
    say(f"{done.read} searches read, {done.new} new")


@app.command()
def decisions(
    path: Annotated[Path, typer.Argument(help="Finalised decisions, one JSON object a line.")],
    corpus: Annotated[str, typer.Option(help="Resolve citations in this corpus.")] = "",
    same_case: Annotated[
        bool, typer.Option(help="Only searches made for the decision's own case.")
    ] = False,
    store: StoreUrl = "",
) -> None:
    """Feed back what decisions cite: searches that showed it get relevance_score 3."""
    from assay.workbench import logs

    with opened(store, create=True) as service:
        done = logs.import_decisions(service, path, corpus=corpus, same_case=same_case)
    say(
        f"{done.read} decisions, {done.feedback} new signs of relevance, "
        f"{done.unresolved} citations unresolved"
    )


@app.command()
def purge(
    older_than: Annotated[float, typer.Option(callback=a_number, help="In days.")],
    keep_cited: Annotated[
        bool, typer.Option(help="Keep searches that a decision confirmed.")
    ] = False,
    by: By = "retention",
    store: StoreUrl = "",
) -> None:
    """Forget searches by age."""
    from assay.workbench import logs

    with opened(store, create=False) as service:
        gone = logs.purge(service, older_than_days=older_than, keep_cited=keep_cited, by=by)
    say(f"searches {gone.searches}, results {gone.results}, feedback {gone.feedback}")

"""`assay logs …`: search logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import CORPUS, By, Redact, StoreUrl, a_number, opened
from assay.cli.output import Json, emit, say, tell

if TYPE_CHECKING:
    from assay.workbench.project.logs import CaseCounts

LISTED = 50  # unresolved citations

app = typer.Typer(
    help="Search logs: import them, say what decisions cite, forget what is old.",
    no_args_is_help=True,
)


@app.command("import")
def import_searches(
    path: Annotated[Path, typer.Argument(help="Searches, one JSON object a line.")],
    redact: Redact = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Import searches from a file."""
    from assay.workbench.project import logs

    with opened(store, create=True) as service:
        done = logs.import_searches(service, path, redactions=redact or ())
    tell(done, f"{done.read} searches read, {done.new} new", json=json)


@app.command()
def decisions(
    path: Annotated[Path, typer.Argument(help="Finalised decisions, one JSON object a line.")],
    corpus: Annotated[
        list[str] | None,
        typer.Option(help=f"Resolve citations in this corpus: {CORPUS}; repeat."),
    ] = None,
    same_case: Annotated[
        bool, typer.Option(help="Only searches made for the decision's own case.")
    ] = False,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Say what decisions cite. Searches that showed it get relevance_score 3."""
    from assay.reports import listing
    from assay.workbench.project import logs
    from assay.workbench.searching.corpus_lookup import corpus_at_hand

    searched = [corpus_at_hand(each, say=say) for each in corpus or ()]
    with opened(store, create=True) as service:
        done = logs.import_decisions(service, path, corpora=searched, same_case=same_case)
    if json or done.citations:
        columns = ("decision", "text", "reason")
        emit(done, lambda: listing.plain_table(done.citations[:LISTED], columns), json=json)
    if len(done.citations) > LISTED and not json:
        say(f"and {len(done.citations) - LISTED} more: --json lists them all")
    say(
        f"{done.read} decisions, {done.feedback} new signs of relevance, "
        f"{done.unresolved} citations unresolved"
    )
    if done.cases is not None and (done.cases.other or done.cases.unknown):
        say(_of_whose_case(done.cases))


def _of_whose_case(cases: CaseCounts) -> str:
    every = cases.own + cases.other + cases.unknown
    return (
        f"of {every} signs from these decisions {cases.own} are on searches made for the "
        f"decision's own case, {cases.other} on searches made for another case, {cases.unknown} "
        "where one of the cases is not known. What was right in another case need not be right in "
        "this one: with --same-case only the first are made, from an empty store."
    )


@app.command()
def purge(
    older_than: Annotated[
        float, typer.Option(callback=a_number, help="Forget what is older than this many days.")
    ],
    keep_cited: Annotated[
        bool, typer.Option(help="Keep searches that a decision confirmed.")
    ] = False,
    by: By = "retention",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Forget searches by age."""
    from assay.workbench.project import logs

    with opened(store, create=False) as service:
        gone = logs.purge(service, older_than_days=older_than, keep_cited=keep_cited, by=by)
    told = f"forgotten: searches {gone.searches}, results {gone.results}, feedback {gone.feedback}"
    tell(gone, told, json=json)

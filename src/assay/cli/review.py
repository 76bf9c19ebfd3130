"""The review commands of `assay gold`: bootstrap a set from logs, then promote, correct, reject or
reopen its rows, and withdraw suggestions. `cli/gold.py` adds them by GOLD_COMMANDS.

`publishing` is not a command: `assay score --update-baseline` calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import GOLD_SET, By, Gold, On, StoreUrl, Why, a_number, is_named, opened
from assay.cli.output import Json, put, say, tell

if TYPE_CHECKING:
    from assay.workbench.review.decisions import Outcome


def bootstrap(
    gold: Annotated[Path, typer.Argument(help="The gold set to write.")] = GOLD_SET,
    min_support: Annotated[
        int, typer.Option(help="How many searches must have confirmed a document.")
    ] = 1,
    recent: Annotated[
        float | None,
        typer.Option(min=0, callback=a_number, help="Only searches of the last N days."),
    ] = None,
    min_grade: Annotated[
        int, typer.Option(help="The weakest sign to use: 3 cited, 2 voted for, 1 clicked.")
    ] = 3,
    dry_run: Annotated[bool, typer.Option(help="Show the difference, write nothing.")] = False,
    store: StoreUrl = "",
    on: On = "",
    json: Json = False,
) -> None:
    """Make gold rows from search logs and the documents that decisions cited. Approved rows stay as
    they are."""
    from assay.core import cluster
    from assay.core.types import counted
    from assay.workbench.judging.gold_sets import bootstrap_gold

    with opened(store, read_only=dry_run) as service, cluster.on(on):
        done = bootstrap_gold(
            service,
            gold,
            min_support=min_support,
            recent_days=recent,
            min_grade=min_grade,
            dry_run=dry_run,
        )
    if dry_run and not json:
        put(done.diff.removesuffix("\n"))
    if not (done.added or done.updated or done.removed or done.unchanged or done.kept):
        say(
            "no decision cites a document that a search has shown; "
            "import citations with assay logs decisions"
        )
    changed = f"{done.added} added, {done.updated} updated, {done.removed} removed"
    others = f"{done.unchanged} unchanged, {counted(done.kept, 'row')} left alone"
    rejected = f", {done.rejected} rejected" if done.rejected else ""
    summary = f"{gold}: {changed}, {others}{rejected}{' (dry run)' if dry_run else ''}"
    tell(done, summary, json=json)
    if done.of_other_cases:
        say(
            f"{counted(done.of_other_cases, 'label')} only from decisions of another case than the "
            "search was made for; the review page marks them, and assay logs decisions --same-case "
            "leaves them out"
        )


def promote(
    ids: Annotated[list[str], typer.Argument(help="Rows of the gold set.")],
    by: By,
    gold: Gold = GOLD_SET,
    why: Why = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Approve rows. A later bootstrap does not change them."""
    from assay.workbench.review.decisions import promote_rows

    with opened(store, create=not is_named(store)) as service:
        done = promote_rows(service, gold, ids, by=by, why=why)
    _say_outcome(done, "approved", json=json)


def reject(
    ids: Annotated[list[str], typer.Argument(help="Rows of the gold set.")],
    by: By,
    why: Why,
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Reject rows. They leave the file, and a later bootstrap does not bring them back."""
    from assay.workbench.review.decisions import reject_rows

    with opened(store, create=not is_named(store)) as service:
        done = reject_rows(service, gold, ids, by=by, why=why)
    _say_outcome(done, "rejected", json=json)


def correct(
    id: Annotated[str, typer.Argument(help="A row of the gold set.")],
    by: By,
    why: Why,
    query: Annotated[str | None, typer.Option(help="The new wording of the query.")] = None,
    note: Annotated[str | None, typer.Option(help="A note on the row.")] = None,
    add: Annotated[
        list[str] | None, typer.Option(help="A relevant document to add. Repeat for more.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="A document to remove. Repeat for more.")
    ] = None,
    allow_unknown: Annotated[
        bool,
        typer.Option(
            "--allow-unknown", help="Add documents even if no corpus, search or run here has them."
        ),
    ] = False,
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Change a row and approve it."""
    from assay.workbench.review.decisions import Correction, correct_row

    change = Correction(query=query, note=note, add=tuple(add or ()), remove=tuple(remove or ()))
    with opened(store, create=not is_named(store)) as service:
        done = correct_row(service, gold, id, change, by=by, why=why, allow_unknown=allow_unknown)
    _say_outcome(done, "corrected and approved", json=json)


def reopen(
    id: Annotated[str, typer.Argument(help="A row of the gold set.")],
    by: By,
    why: Why = "",
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Undo a rejection: the row is in the file again, as it was before."""
    from assay.workbench.review.decisions import reopen_row

    with opened(store, create=False) as service:
        done = reopen_row(service, gold, id, by=by, why=why)
    state = "pending again" if done.state == "pending_review" else "approved again"
    tell(done, f"{gold}: {id} is {state}", json=json)


def withdraw(
    gold: Annotated[str, typer.Argument(help="The gold set: its file or its name.")],
    by: By,
    why: Why = "",
    gone: Annotated[
        bool, typer.Option(help="The file is gone for good: withdraw all its suggestions.")
    ] = False,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Withdraw pending suggestions for queries that are no longer in the gold set."""
    from assay.core.types import counted
    from assay.workbench.review import decisions

    files = [Path(gold)] if Path(gold).is_file() else []
    with opened(store, create=False, gold=files) as service:
        count = decisions.withdraw(service, gold, by=by, why=why, gone=gone)
    tell(
        {"gold": gold, "withdrawn": count},
        f"{gold}: {counted(count, 'suggestion')} withdrawn",
        json=json,
    )


def publishing(gold: Path, by: str) -> Callable[[Path, bytes], None]:
    """A function that writes a baseline and marks the approved rows of its gold set as
    published."""

    def write(baseline: Path, content: bytes) -> None:
        from assay.workbench.project.service import NoStore
        from assay.workbench.review import decisions

        try:
            with opened("", create=False) as service:
                count = decisions.publish(service, gold, baseline, content, by=by)
        except NoStore:  # nobody has reviewed anything there
            count = decisions.publish(None, gold, baseline, content, by=by)
        if count:
            say(f"{count} approved {'row is' if count == 1 else 'rows are'} published")

    return write


def _say_outcome(done: Outcome, verb: str, *, json: bool) -> None:
    changed = f"{verb}: {', '.join(done.ids)}" if done.ids else ""
    already = f"already {done.state}: {', '.join(done.already)}" if done.already else ""
    tell(done, "; ".join(filter(None, (changed, already))), json=json)


GOLD_COMMANDS = (bootstrap, promote, correct, reject, reopen, withdraw)

"""The commands of `assay gold` that are about review: bootstrap, and the chair's word on what it
made: promote, correct, reject, reopen, withdraw. `cli/gold.py` takes them in by GOLD_COMMANDS.

Their verbs are in `workbench/gold.py`, that of withdraw in `workbench/review.py`. `publishing`
is no command: `assay score --update-baseline` calls it. The review page is `assay serve`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import GOLD_SET, By, Gold, On, StoreUrl, Why, a_number, is_named, opened
from assay.cli.output import Json, put, say, tell

if TYPE_CHECKING:
    from assay.workbench.gold import Ruled


def bootstrap(
    gold: Annotated[Path, typer.Argument(help="The gold set to write.")] = GOLD_SET,
    min_support: Annotated[
        int, typer.Option(help="How many searches must have confirmed a document.")
    ] = 1,
    recent: Annotated[
        float | None,
        typer.Option(min=0, callback=a_number, help="Only searches of the last days."),
    ] = None,
    min_grade: Annotated[
        int, typer.Option(help="The weakest sign to use: 3 cited, 2 voted for, 1 clicked.")
    ] = 3,
    dry_run: Annotated[bool, typer.Option(help="Show the difference, write nothing.")] = False,
    store: StoreUrl = "",
    on: On = "",
    json: Json = False,
) -> None:
    """Make gold from search logs and from what decisions cited. Rows of the chair stay as they
    are."""
    from assay.core import cluster
    from assay.core.types import counted
    from assay.workbench.gold import bootstrap_gold

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
            "no decision cites anything that a search has shown; "
            "tell what decisions cite with assay logs decisions"
        )
    changed = f"{done.added} added, {done.updated} updated, {done.removed} removed"
    others = f"{done.unchanged} unchanged, {counted(done.kept, 'row')} left alone"
    rejected = f", {done.rejected} rejected" if done.rejected else ""
    told = f"{gold}: {changed}, {others}{rejected}{' (dry run)' if dry_run else ''}"
    tell(done, told, json=json)
    if done.of_other_cases:
        say(
            f"{counted(done.of_other_cases, 'label')} only from decisions of another case than the "
            "search was made for; the review page marks them, and assay logs decisions --same-case "
            "makes none of these"
        )


def promote(
    ids: Annotated[list[str], typer.Argument(help="Rows of the gold set.")],
    by: By,
    gold: Gold = GOLD_SET,
    why: Why = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Approve rows. From then on they are the chair's."""
    from assay.workbench.gold import promote_rows

    with opened(store, create=not is_named(store)) as service:
        _say_ruled(promote_rows(service, gold, ids, by=by, why=why), json=json)


def reject(
    ids: Annotated[list[str], typer.Argument(help="Rows of the gold set.")],
    by: By,
    why: Why,
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Reject rows. They leave the file, and no later bootstrap brings them back."""
    from assay.workbench.gold import reject_rows

    with opened(store, create=not is_named(store)) as service:
        _say_ruled(reject_rows(service, gold, ids, by=by, why=why), json=json)


def correct(
    id: Annotated[str, typer.Argument(help="A row of the gold set.")],
    by: By,
    why: Why,
    query: Annotated[str | None, typer.Option(help="Another wording.")] = None,
    note: Annotated[str | None, typer.Option(help="A note on the row.")] = None,
    add: Annotated[
        list[str] | None, typer.Option(help="A document that is right. Repeat for more.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="A document that is wrong. Repeat for more.")
    ] = None,
    allow_unknown: Annotated[
        bool,
        typer.Option(
            "--allow-unknown", help="Add documents that no corpus, search or run here has."
        ),
    ] = False,
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Change a row and approve it."""
    from assay.workbench.gold import Correction, correct_row

    change = Correction(query=query, note=note, add=tuple(add or ()), remove=tuple(remove or ()))
    with opened(store, create=not is_named(store)) as service:
        done = correct_row(service, gold, id, change, by=by, why=why, allow_unknown=allow_unknown)
    _say_ruled(done, json=json)


def reopen(
    id: Annotated[str, typer.Argument(help="A row of the gold set.")],
    by: By,
    why: Why = "",
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Take a rejection back: the row is in the file again."""
    from assay.workbench.gold import reopen_row

    with opened(store, create=False) as service:
        _say_ruled(reopen_row(service, gold, id, by=by, why=why), json=json)


def withdraw(
    gold: Annotated[str, typer.Argument(help="The gold set: its file, or its name in the store.")],
    by: By,
    why: Why = "",
    gone: Annotated[
        bool, typer.Option(help="The file is gone for good: withdraw all that waits for it.")
    ] = False,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Take out of the queue what waits for a row that has left the gold set."""
    from assay.workbench import review

    files = [Path(gold)] if Path(gold).is_file() else []
    with opened(store, create=False, gold=files) as service:
        count = review.withdraw(service, gold, by=by, why=why, gone=gone)
    tell({"gold": gold, "withdrawn": count}, f"{count} withdrawn", json=json)


def publishing(gold: Path, by: str) -> Callable[[Path, bytes], None]:
    """How a baseline is written on a gold set: its approved rows become published with it."""

    def write(baseline: Path, content: bytes) -> None:
        from assay.workbench import review
        from assay.workbench.opening import NoStore

        try:
            with opened("", create=False) as service:
                count = review.publish(service, gold, baseline, content, by=by)
        except NoStore:  # nobody has reviewed anything there
            count = review.publish(None, gold, baseline, content, by=by)
        if count:
            say(f"{count} approved {'row is' if count == 1 else 'rows are'} published")

    return write


def _say_ruled(done: Ruled, *, json: bool) -> None:
    already = f", already so: {', '.join(done.already)}" if done.already else ""
    tell(done, f"{done.state}: {', '.join(done.ids) or 'nothing'}{already}", json=json)


GOLD_COMMANDS = (bootstrap, promote, correct, reject, reopen, withdraw)

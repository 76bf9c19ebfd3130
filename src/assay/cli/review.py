"""From search logs to gold: `assay logs`, `assay backlog`, and the review commands of `assay gold`:
bootstrap a set from logs, promote, correct, reject or reopen its rows, and withdraw suggestions.
`cli/gold.py` adds them by GOLD_COMMANDS.

`publishing` is not a command: `assay score --update-baseline` calls it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.options import (
    CORPUS,
    GOLD_SET,
    By,
    Gold,
    On,
    Redact,
    StoreUrl,
    Why,
    a_number,
    is_named,
    opened,
)
from assay.cli.output import Json, emit, put, say, show, tell, warn
from assay.core.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.workbench.project.logs import CaseCounts, ExternalLogs
    from assay.workbench.project.service import Service
    from assay.workbench.review.decisions import RowsOutcome
    from assay.workbench.review.queue import Backlog, ExternalBacklog


def bootstrap(
    gold: Annotated[Path, typer.Argument(help="The gold set to write.")] = GOLD_SET,
    min_support: Annotated[
        int, typer.Option(help="The number of searches that must confirm a document.")
    ] = 1,
    recent: Annotated[
        float | None,
        typer.Option(min=0, callback=a_number, help="Only searches of the last N days."),
    ] = None,
    min_grade: Annotated[
        int, typer.Option(help="The weakest sign to use: 3 cited, 2 voted for, 1 clicked.")
    ] = 3,
    dry_run: Annotated[
        bool, typer.Option(help="Show the difference without writing anything.")
    ] = False,
    store: StoreUrl = "",
    on: On = "",
    json: Json = False,
) -> None:
    """Make gold rows from search logs and the documents that decisions cited. Approved rows stay as
    they are."""
    from assay.core import cluster
    from assay.core.types import counted
    from assay.workbench.judging.gold_sets import bootstrap_gold

    with log_source(store, read_only=dry_run) as source, cluster.use_cluster(on):
        outcome = bootstrap_gold(
            source,
            gold,
            min_support=min_support,
            recent_days=recent,
            min_grade=min_grade,
            dry_run=dry_run,
        )
        _say_read(source)
    if dry_run and not json:
        put(outcome.diff.removesuffix("\n"))
    if not (
        outcome.added or outcome.updated or outcome.removed or outcome.unchanged or outcome.kept
    ):
        say(
            "nothing in the logs says that a document is relevant; "
            "import citations with assay logs decisions, or scores with assay logs feedback"
        )
    changed = f"{outcome.added} added, {outcome.updated} updated, {outcome.removed} removed"
    others = f"{outcome.unchanged} unchanged, {counted(outcome.kept, 'row')} left alone"
    rejected = f", {outcome.rejected} rejected" if outcome.rejected else ""
    summary = f"{gold}: {changed}, {others}{rejected}{' (dry run)' if dry_run else ''}"
    tell(outcome, summary, json=json)
    if outcome.of_other_cases:
        say(
            f"{counted(outcome.of_other_cases, 'label')} only from decisions of another case than "
            "the search was made for; the review page marks them, and assay logs decisions "
            "--same-case leaves them out"
        )


@contextmanager
def log_source(store: str, *, read_only: bool) -> Iterator[Service | ExternalLogs]:
    """The tables that [logs] in assay.toml names, unless a store is given; else the store."""
    from assay.workbench.project.logs import configured_logs

    tables = None if store else configured_logs()
    if tables is not None:
        yield tables
        return
    with opened(store, read_only=read_only) as service:
        yield service


def _say_read(source: Service | ExternalLogs) -> None:
    from assay.workbench.project.logs import ExternalLogs

    if isinstance(source, ExternalLogs):
        lost = f"; {source.without_search} belong to no search" if source.without_search else ""
        say(f"[logs] in assay.toml: {source.read} rows of feedback read{lost}")


def promote(
    ids: Annotated[list[str], typer.Argument(help="Rows of the gold set.")],
    by: By,
    gold: Gold = GOLD_SET,
    why: Why = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Approve rows. A later bootstrap does not change them."""
    _decide_rows(ids, "approved", gold, by, why, store, json)


def reject(
    ids: Annotated[list[str], typer.Argument(help="Rows of the gold set.")],
    by: By,
    why: Why,
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Reject rows: remove them from the file. A later bootstrap does not add them again."""
    _decide_rows(ids, "rejected", gold, by, why, store, json)


def _decide_rows(
    ids: list[str],
    outcome: Literal["approved", "rejected"],
    gold: Path,
    by: str,
    why: str,
    store: str,
    json: bool,
) -> None:
    from assay.workbench.review.decisions import decide_rows

    with opened(store, create=not is_named(store)) as service:
        found = decide_rows(service, gold, ids, outcome, by=by, why=why)
    _say_outcome(found, outcome, json=json)


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
        outcome = correct_row(
            service, gold, id, change, by=by, why=why, allow_unknown=allow_unknown
        )
    _say_outcome(outcome, "corrected and approved", json=json)


def reopen(
    id: Annotated[str, typer.Argument(help="A row of the gold set.")],
    by: By,
    why: Why = "",
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Undo a rejection: restore the row as it was."""
    from assay.workbench.review.decisions import reopen_row

    with opened(store, create=False) as service:
        outcome = reopen_row(service, gold, id, by=by, why=why)
    state = "pending again" if outcome.state == "pending_review" else "approved again"
    tell(outcome, f"{gold}: {id} is {state}", json=json)


def withdraw(
    gold: Annotated[str, typer.Argument(help="The gold set: its file or its name.")],
    by: By,
    why: Why = "",
    gone: Annotated[
        bool, typer.Option(help="Withdraw all suggestions for a file that no longer exists.")
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


def _say_outcome(done: RowsOutcome, verb: str, *, json: bool) -> None:
    changed = f"{verb}: {', '.join(done.ids)}" if done.ids else ""
    already = f"already {done.state}: {', '.join(done.already)}" if done.already else ""
    tell(done, "; ".join(filter(None, (changed, already))), json=json)


GOLD_COMMANDS = (bootstrap, promote, correct, reject, reopen, withdraw)


# ── `assay backlog` ───────────────────────────────────────────────────────────────────────────────


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
    from assay.workbench.review.queue import (
        Limits,
        NoStore,
        check_backlog,
        configured_backlogs,
        external_backlogs,
        notify,
        stray_items,
    )

    if webhook and not webhook.startswith(("http://", "https://")):
        raise UsageError("a webhook must be an http or https address", where=webhook)
    limits = Limits(max_pending=max_pending, max_age_days=max_age)
    try:
        with opened(store, read_only=True) as service:
            figures, problems = check_backlog(service, limits, gold=gold)
            lost = len(stray_items(service)) if not gold else 0
            external = external_backlogs(service) if not gold else {}
    except NoStore:
        if is_named(store) or gold or not (external := configured_backlogs()):
            raise
        figures, problems, lost = None, [], 0  # only external backlogs so far
    _show(figures, external, json=json)
    if lost:
        warn(
            f"warning: {lost} pending suggestions are for queries that are no longer in their "
            "gold set; remove them with assay gold withdraw"
        )
    for problem in problems:
        say(problem, style="red")
    if problems and webhook and figures is not None:
        try:
            notify(webhook, figures, problems)
        except AssayError as error:  # the limit decides the exit code, with or without the notice
            warn(f"warning: {error}")
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


# ── `assay logs` ──────────────────────────────────────────────────────────────────────────────────

LISTED_CITATIONS = 50  # unresolved citations; taste

logs_app = typer.Typer(
    help="Search logs: import searches, feedback and decisions; delete old searches.",
    no_args_is_help=True,
)


@logs_app.command("import")
def import_searches(
    path: Annotated[Path, typer.Argument(help="Searches, one JSON object per line.")],
    redact: Redact = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Import searches from a file."""
    from assay.workbench.project import logs

    with opened(store, create=True) as service:
        counts = logs.import_searches(service, path, redactions=redact or ())
    searches = "search" if counts.read == 1 else "searches"
    tell(counts, f"{counts.read} {searches} read, {counts.new} new", json=json)


@logs_app.command()
def traces(
    path: Annotated[
        Path,
        typer.Argument(help="Spans of OpenTelemetry, Phoenix or Langfuse, one object per line."),
    ],
    answers: Annotated[
        Path | None,
        typer.Option(
            help="Write the questions and answers here (.jsonl), with what was retrieved."
        ),
    ] = None,
    redact: Redact = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Import searches from traces. Every retriever span is one search."""
    from assay.workbench.project import logs

    with opened(store, create=True) as service:
        counts = logs.import_traces(service, path, answers=answers, redactions=redact or ())
    sentence = f"{counts.spans} spans, {counts.read} searches, {counts.new} new"
    sentence += f"; {counts.answers} answers written to {answers}" if answers is not None else ""
    tell(counts, sentence, json=json)


@logs_app.command()
def feedback(
    path: Annotated[
        Path,
        typer.Argument(help="Scores, votes and clicks on logged searches, one object per line."),
    ],
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Import feedback from a file: the search, the document and its relevance_score, 0 to 3."""
    from assay.workbench.project import logs

    with opened(store, create=True) as service:
        counts = logs.import_feedback(service, path)
    sentence = f"{counts.read} rows of feedback read, {counts.new} new"
    tell(counts, sentence, json=json)
    if counts.without_search:
        say(
            f"{counts.without_search} belong to no search in the log; import the searches with "
            "assay logs import, with the same ids"
        )


@logs_app.command()
def decisions(
    path: Annotated[Path, typer.Argument(help="Finalised decisions, one JSON object per line.")],
    corpus: Annotated[
        list[str] | None,
        typer.Option(help=f"Resolve citations in this corpus: {CORPUS}; repeat for more."),
    ] = None,
    same_case: Annotated[
        bool, typer.Option(help="Only searches made for the decision's own case.")
    ] = False,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Import decisions. Earlier searches that showed a cited document get relevance_score 3."""
    from assay.reports import listing
    from assay.workbench.project import logs
    from assay.workbench.searching.corpora import imported_corpus

    searched = [imported_corpus(each, say=say) for each in corpus or ()]
    with opened(store, create=True) as service:
        counts = logs.import_decisions(service, path, corpora=searched, same_case=same_case)
    if json or counts.citations:
        columns = ("decision", "text", "reason")
        emit(
            counts,
            lambda: listing.plain_table(counts.citations[:LISTED_CITATIONS], columns),
            json=json,
        )
    if len(counts.citations) > LISTED_CITATIONS and not json:
        say(f"and {len(counts.citations) - LISTED_CITATIONS} more: --json lists them all")
    say(
        f"{counts.read} decisions, {counts.feedback} new signs of relevance, "
        f"{counts.unresolved} citations unresolved"
    )
    if counts.cases is not None and (counts.cases.other or counts.cases.unknown):
        say(_of_whose_case(counts.cases))


def _of_whose_case(cases: CaseCounts) -> str:
    every = cases.own + cases.other + cases.unknown
    return (
        f"of {every} signs from these decisions {cases.own} are on searches made for the "
        f"decision's own case, {cases.other} on searches made for another case, {cases.unknown} "
        "where one of the cases is not known. A document that was right in another case need not "
        "be right in this one. To keep only the first, import into an empty store with --same-case."
    )


@logs_app.command()
def purge(
    older_than: Annotated[
        float, typer.Option(callback=a_number, help="Delete searches older than this many days.")
    ],
    keep_cited: Annotated[
        bool, typer.Option(help="Keep searches that a decision confirmed.")
    ] = False,
    by: By = "retention",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Delete old searches."""
    from assay.workbench.project import logs

    with opened(store, create=False) as service:
        gone = logs.purge(service, older_than_days=older_than, keep_cited=keep_cited, by=by)
    sentence = (
        f"forgotten: searches {gone.searches}, results {gone.results}, feedback {gone.feedback}"
    )
    tell(gone, sentence, json=json)

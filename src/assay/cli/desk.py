"""Logs, the expert's gate, the backlog, the servers and the doctor: `logs`, `gold bootstrap`,
`backlog`, `serve`, …"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.output import Json, emit, say
from assay.core.errors import AssayError, InputError, UsageError

if TYPE_CHECKING:
    from assay.workbench.desk import Desk

app = typer.Typer(
    help="Search logs: import them, feed decisions back, forget by age.", no_args_is_help=True
)

StoreUrl = Annotated[
    str, typer.Option("--store", help="A database URL; by default one file in the workspace.")
]
Gold = Annotated[Path, typer.Option("--gold", help="The gold set.")]
Redact = Annotated[
    list[str] | None,
    typer.Option(
        help="Hide in queries: email, israeli-id, finnish-id, us-ssn, phone or NAME=PATTERN; repeat."
    ),
]
By = Annotated[str, typer.Option("--by", help="Who decides.")]
Why = Annotated[str, typer.Option("--why", help="The reason, for the record.")]

GOLD_SET = Path("gold-set.jsonl")


def _named(store: str) -> bool:
    """Whether somebody named a store: then it must be there. The default one is made when it is
    needed."""
    return bool(store or os.environ.get("ASSAY_STORE"))


@contextlib.contextmanager
def _desk(store: str, create: bool, **options: Any) -> Iterator[Desk]:
    from assay.workbench.desk import open_desk

    with open_desk(store, create=create, **options) as desk:
        if desk.store.created:
            say(f"new store: {desk.store.address}")
        yield desk


@app.command("import")
def import_searches(
    path: Annotated[Path, typer.Argument(help="Searches, one JSON object a line.")],
    redact: Redact = None,
    store: StoreUrl = "",
) -> None:
    """Import searches from a file."""
    with _desk(store, True) as desk:
        done = desk.import_searches(path, redactions=redact or ())
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
    with _desk(store, True) as desk:
        done = desk.import_decisions(path, corpus=corpus, same_case=same_case)
    say(
        f"{done.read} decisions, {done.feedback} new signs of relevance, {done.unresolved} citations unresolved"
    )


@app.command()
def purge(
    older_than: Annotated[float, typer.Option(help="In days.")],
    keep_cited: Annotated[
        bool, typer.Option(help="Keep searches that a decision confirmed.")
    ] = False,
    by: By = "retention",
    store: StoreUrl = "",
) -> None:
    """Forget searches by age."""
    import msgspec

    with _desk(store, False) as desk:
        gone = msgspec.to_builtins(
            desk.purge(older_than_days=older_than, keep_cited=keep_cited, by=by)
        )
    say(", ".join(f"{key} {value}" for key, value in gone.items()))


# ── under `assay gold` ────────────────────────────────────────────────────────────────────────────


def bootstrap(
    gold: Annotated[Path, typer.Argument(help="The gold set to write.")] = GOLD_SET,
    min_support: Annotated[
        int, typer.Option(help="Searches that must have confirmed a document.")
    ] = 1,
    recent: Annotated[
        float | None, typer.Option(min=0, help="Only what is at most this many days old.")
    ] = None,
    min_grade: Annotated[int, typer.Option(help="3: cited. 2: voted for. 1: clicked.")] = 3,
    dry_run: Annotated[bool, typer.Option(help="Show the difference, write nothing.")] = False,
    store: StoreUrl = "",
) -> None:
    """Make gold from logs and what decisions cited; rows of the chair are never touched."""
    from assay.core.types import counted

    with _desk(store, False) as desk:
        done = desk.bootstrap(
            gold, min_support=min_support, recent_days=recent, min_grade=min_grade, dry_run=dry_run
        )
    if dry_run:
        typer.echo(done.diff, nl=False)
    if not (done.added or done.updated or done.removed or done.unchanged or done.kept):
        say(
            "no decision cites anything that a search has shown; tell what decisions cite with assay logs decisions"
        )
    counts = f"{done.added} added, {done.updated} updated, {done.removed} removed, {done.unchanged} unchanged"
    others = f"{counted(done.kept, 'row')} left alone" + (
        f", {done.rejected} rejected" if done.rejected else ""
    )
    say(f"{gold}: {counts}, {others}{' (dry run)' if dry_run else ''}")


def promote(
    ids: Annotated[list[str], typer.Argument(help="Rows of the gold set.")],
    by: By,
    gold: Gold = GOLD_SET,
    why: Why = "",
    store: StoreUrl = "",
) -> None:
    """Approve rows: they become the chair's."""
    _rule("promote", store, gold, ids, by, why)


def reject(
    ids: Annotated[list[str], typer.Argument(help="Rows of the gold set.")],
    by: By,
    why: Why,
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
) -> None:
    """Turn rows down: they go, and do not come back with the next bootstrap."""
    _rule("reject", store, gold, ids, by, why)


def reopen(
    id: Annotated[str, typer.Argument(help="A row of the gold set.")],
    by: By,
    why: Why = "",
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
) -> None:
    """Take a rejection back: the row is in the file again."""
    with _desk(store, False) as desk:
        _say_ruled(desk.reopen(gold, id, by=by, why=why))


def withdraw(
    gold: Annotated[str, typer.Argument(help="The gold set: its file, or its name in the store.")],
    by: By,
    why: Why = "",
    gone: Annotated[
        bool, typer.Option(help="The file is gone for good: all that waits for it leaves.")
    ] = False,
    store: StoreUrl = "",
) -> None:
    """Take out of the queue what waits for a row that has left the gold set."""
    with _desk(store, False, gold=[Path(gold)] if Path(gold).is_file() else ()) as desk:
        say(f"{desk.withdraw(gold, by=by, why=why, gone=gone)} withdrawn")


def correct(
    id: Annotated[str, typer.Argument(help="A row of the gold set.")],
    by: By,
    why: Why,
    query: Annotated[str | None, typer.Option(help="Another wording.")] = None,
    note: Annotated[str | None, typer.Option(help="A note on the row.")] = None,
    add: Annotated[list[str] | None, typer.Option(help="A document that is right; repeat.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="A document that is wrong; repeat.")
    ] = None,
    gold: Gold = GOLD_SET,
    store: StoreUrl = "",
) -> None:
    """Change a row and approve it."""
    from assay.workbench.desk import Correction

    change = Correction(query=query, note=note, add=tuple(add or ()), remove=tuple(remove or ()))
    with _desk(store, not _named(store)) as desk:
        _say_ruled(desk.correct(gold, id, change, by=by, why=why))


def _rule(verb: str, store: str, gold: Path, ids: list[str], by: str, why: str) -> None:
    with _desk(store, not _named(store)) as desk:
        _say_ruled(getattr(desk, verb)(gold, ids, by=by, why=why))


def _say_ruled(done: Any) -> None:
    already = f", already so: {', '.join(done.already)}" if done.already else ""
    say(f"{done.state}: {', '.join(done.ids) or 'nothing'}{already}")


# ── under `assay` ─────────────────────────────────────────────────────────────────────────────────


def publish(gold: Path, by: str) -> None:
    """Approved rows of a gold set become published when a baseline on it is recorded."""
    from assay.workbench.desk import NoStore

    try:
        with _desk("", False) as desk:
            count = desk.publish(gold, by=by)
    except NoStore:  # nobody has reviewed anything there
        return
    if count:
        say(f"{count} approved {'row is' if count == 1 else 'rows are'} published")


def backlog(
    max_pending: Annotated[
        int | None, typer.Option(min=0, help="Fail above this many waiting items.")
    ] = None,
    max_age: Annotated[
        float | None, typer.Option(min=0, help="Fail when one waits longer, in days.")
    ] = None,
    webhook: Annotated[str, typer.Option(help="Tell this address when a limit is passed.")] = "",
    gold: Annotated[str, typer.Option(help="Only this gold set.")] = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """What waits for the expert: counts, ages, throughput, and when it will be empty."""
    import msgspec

    from assay.reports import listing
    from assay.workbench.desk import Limits

    if webhook and not webhook.startswith(("http://", "https://")):
        raise UsageError("a webhook is an http or https address", where=webhook)
    limits = Limits(max_pending=max_pending, max_age_days=max_age)
    with _desk(store, False) as desk:
        found, problems = desk.check_backlog(limits, gold=gold)
        data = msgspec.to_builtins(found)
        emit(data, lambda: listing.key_values(data), json=json)
        if not gold and (strays := desk.strays()):
            say(
                f"warning: {len(strays)} of these have no row in a gold set that is here; see assay gold withdraw",
                style="yellow",
            )
        for problem in problems:
            say(problem, style="red")
        if problems and webhook:
            _tell(desk, webhook, found, problems)
    if problems:
        sys.exit(1)


def _tell(desk: Desk, webhook: str, found: Any, problems: list[str]) -> None:
    """A webhook that is away is a warning: what is over its limit decides the exit code, told or
    not."""
    try:
        desk.tell(webhook, found, problems)
    except AssayError as error:
        say(f"warning: {error}", style="yellow")


def doctor(
    probe: Annotated[bool, typer.Option(help="Every configured engine answers one query.")] = False,
    config: Annotated[Path | None, typer.Option(help="The configuration.")] = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Is everything well? Environment, extras, store, corpora and indexes, engines, gold, in one
    screen."""
    from assay.reports import listing
    from assay.workbench import doctor as physician

    found = physician.examine(store, config=config, probe=probe)
    emit(found, lambda: listing.checkup(found), json=json)
    if found["status"] != "ok":
        sys.exit(4)


def plugins(json: Json = False) -> None:
    """What is plugged in: importers, formats, engines, measures, and whether each loads."""
    from assay.reports import listing
    from assay.workbench import doctor as physician

    found = physician.plugins()
    columns = ("kind", "name", "origin", "module", "status")
    emit(found, lambda: listing.plain_table(found, columns), json=json)
    if any(one["status"].startswith("failed") for one in found):
        sys.exit(4)


def serve(
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8350,
    gold: Annotated[list[Path] | None, typer.Option(help="A gold set to review; repeat.")] = None,
    token: Annotated[
        str, typer.Option(help="Needed to let other machines in.", envvar="ASSAY_TOKEN")
    ] = "",
    redact: Redact = None,
    retention: Annotated[
        float | None, typer.Option(min=0, help="Forget searches older than this, in days.")
    ] = None,
    store: StoreUrl = "",
) -> None:
    """The dashboard, the review page and the HTTP endpoints."""
    from assay.web import serve as serve_web

    _check_gold(gold)
    _check_port(host, port)
    record = {"redactions": redact or (), "retention_days": retention}
    with _desk(store, True, gold=gold or (), record=record, search_corpus=_search_corpus) as desk:
        say(f"serving on http://{host}:{port}/ (Ctrl-C stops it)")
        serve_web(desk, host=host, port=port, token=token)


def _check_port(host: str, port: int) -> None:
    """Before anything is opened: a port that is taken is the user's to change."""
    import socket

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UsageError(
                (error.strerror or str(error)).lower(),
                where=f"{host}:{port}",
                hint="Give another with --host or --port.",
            ) from error


def _check_gold(paths: list[Path] | None) -> None:
    for path in paths or ():
        if not path.exists():
            raise InputError(
                "no such gold set", where=str(path), hint="Make one with `assay gold bootstrap`."
            )


def mcp(
    http: Annotated[
        bool, typer.Option(help="Streamable HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8351,
    config: Annotated[Path | None, typer.Option(help="The configuration.")] = None,
    gold: Annotated[
        list[Path] | None,
        typer.Option(help="A gold set beside those of the configuration; repeat."),
    ] = None,
    store: StoreUrl = "",
) -> None:
    """The server for agents (Model Context Protocol)."""
    from assay.mcp import server

    _check_gold(gold)
    if http:
        _check_port(host, port)
    with _desk(
        store, not _named(store), config=config, gold=gold or (), search_corpus=_search_corpus
    ) as desk:
        server.run(desk, transport="streamable-http" if http else "stdio", host=host, port=port)


def _search_corpus(corpus: str, query: str, limit: int) -> list[Any]:
    """Hits whose text is the passage that answers, for agents and pages."""
    from assay.core.types import Hit, Locator
    from assay.workbench import corpora

    return [
        Hit(
            doc_id=hit["doc_id"],
            score=hit["score"],
            title=hit["title"],
            text=hit["snippet"],
            locator=Locator(**hit["locator"]) if hit.get("locator") else None,
        )
        for hit in corpora.search(corpus, query, top_k=limit, say=say)["hits"]
    ]

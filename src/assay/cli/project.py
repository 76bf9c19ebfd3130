"""Commands on a project: start, init, doctor, plugins, backup, restore, demo and people, and the
servers `serve` and `mcp`; and the status that `assay` alone prints."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.options import (
    CORPUS,
    Redact,
    StoreUrl,
    Why,
    a_number,
    check_gold,
    check_port,
    is_named,
    opened,
)
from assay.cli.output import Json, emit, put, say, searching, show, tell, warn
from assay.core import extras
from assay.core.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.workbench.project.init import Answers
if TYPE_CHECKING:
    from assay.workbench.project.start import StartAnswers, StartStep


# ── `assay init` ──────────────────────────────────────────────────────────────────────────────────


def init(
    dataset: Annotated[
        str,
        typer.Option(help="The gold set; 'sample' writes one.", show_default="sample"),
    ] = "",
    engine: Annotated[
        str,
        typer.Option(
            help="What to score: a module or file.py, an address with {{query}}, saved results, an "
            "indexed corpus, or bm25 with --corpus.",
            show_default="bm25",
        ),
    ] = "",
    corpus: Annotated[
        str,
        typer.Option(help=f"For bm25 and random: {CORPUS}.", show_default="that of the sample"),
    ] = "",
    minimum: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="The value that the measure must reach.", show_default="0.4"
        ),
    ] = None,
    ci: Annotated[
        str,
        typer.Option(
            help="The CI service to set up: github, gitlab or none.", show_default="github"
        ),
    ] = "",
    layout: Annotated[
        str,
        typer.Option(
            help="Write the project structure of a specification instead: fppc or harness.",
            show_default="assay.toml and a sample",
        ),
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask no questions; use the defaults.")
    ] = False,
    json: Json = False,
) -> None:
    """Begin a project: four questions, then assay.toml, a sample set and a file for CI. No file is
    overwritten."""
    from msgspec.structs import replace

    from assay.workbench.project.init import (
        Answers,
        check_ci,
        check_folder,
        check_set,
        write_starter_files,
    )

    if layout:
        from assay.workbench.project.init import lay_out

        if dataset or engine or corpus or ci or minimum is not None:
            raise UsageError(
                f"--layout {layout} takes no name, gold set or engine: it writes into this folder",
                hint=f"In the folder of the project: assay init --layout {layout}",
            )
        begun = lay_out(layout)
        emit(begun, lambda: "\n".join(begun.files), json=json)
        say(f"next: {begun.next}")
        return
    check_folder()
    ask = not yes and not json and _at_a_terminal()
    usual = Answers(corpus=corpus)
    question = "Which gold set? A file, or a sample"
    chosen = dataset or _prompt_until_valid(ask, question, usual.dataset, check_set)
    check_set(chosen)
    answers = _with_engine(ask, replace(usual, dataset=chosen), engine)
    question = "Where do checks run? github, gitlab or none"
    answers = replace(
        answers,
        minimum=_prompt_threshold(ask, usual.minimum) if minimum is None else minimum,
        ci=ci or _prompt_until_valid(ask, question, usual.ci, check_ci),
    )
    begun = write_starter_files(answers)
    emit(begun, lambda: "\n".join(begun.files), json=json)
    say(f"next: {begun.next}")


def _with_engine(ask: bool, answers: Answers, engine: str) -> Answers:
    """The answers with an engine that exists; for a baseline, also ask for its corpus."""
    from msgspec.structs import replace

    from assay.workbench.project.init import asks_for_corpus, check_engine

    def found(text: str) -> None:
        named = replace(answers, engine=text)
        if not asks_for_corpus(named):
            check_engine(named)

    question = "Which engine? A module, an address, saved results, or"
    chosen = replace(
        answers, engine=engine or _prompt_until_valid(ask, question, answers.engine, found)
    )
    if not ask:
        return chosen
    if asks_for_corpus(chosen):
        question = "Which corpus does it search? A file, or the name of an imported one"
        searched = _prompt_until_valid(
            ask, question, None, lambda text: check_engine(replace(chosen, corpus=text))
        )
        return replace(chosen, corpus=searched)
    check_engine(chosen)
    return chosen


def _at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _prompt_until_valid(
    ask: bool, question: str, usual: str | None, check: Callable[[str], object]
) -> str:
    """Ask a question until `check` accepts the answer; without `ask`, the usual answer."""
    while ask:
        text = str(typer.prompt(question, default=usual, err=True)).strip()
        try:
            check(text)
        except AssayError as error:
            say(str(error), style="red")
        else:
            return text
    return usual or ""


def _prompt_threshold(ask: bool, usual: float) -> float:
    question = "What must it reach at least, 0 to 1?"
    return _parse_share(_prompt_until_valid(ask, question, f"{usual:g}", _parse_share))


def _parse_share(text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise UsageError(f"{text!r} is not a number") from None
    if not 0 <= number <= 1:
        raise UsageError(f"{text} is not between 0 and 1")
    return number


# ── `assay` alone ─────────────────────────────────────────────────────────────────────────────────


def show_status() -> None:
    from assay.reports.listing import project_status
    from assay.workbench.project.status import look_around

    show(project_status(look_around()))


# ── `assay doctor` and `assay plugins` ────────────────────────────────────────────────────────────


def doctor(
    probe: Annotated[bool, typer.Option(help="Send one query to every configured engine.")] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="First upgrade the store and update gold files that are behind their logs.",
        ),
    ] = False,
    config: Annotated[Path | None, typer.Option(help="The configuration.")] = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Check the environment, extras, store, corpora and indexes, engines and gold sets, on one
    screen."""
    from assay.reports import listing
    from assay.workbench.project.health import examine, repair_project

    for message in repair_project(store, config=config) if repair else ():
        say(message)
    checkup = examine(store, config=config, probe=probe)
    emit(checkup, lambda: listing.checkup(checkup), json=json)
    if checkup.status != "ok":
        sys.exit(4)


def plugins(json: Json = False) -> None:
    """List the plugins (importers, formats, engines, measures, encoders, judges), and whether each
    loads."""
    from assay.reports import listing
    from assay.workbench.project.health import list_plugins

    rows = list_plugins()
    columns = ("kind", "name", "origin", "module", "status")
    emit(rows, lambda: listing.plain_table(rows, columns), json=json)
    if any(plugin.failed for plugin in rows):
        sys.exit(4)


# ── `assay backup` and `assay restore` ────────────────────────────────────────────────────────────


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, such as backup.tar.gz.")],
    gold: Annotated[
        list[Path] | None,
        typer.Option(help="Another gold set to include; repeat for more."),
    ] = None,
    indexes: Annotated[
        bool, typer.Option(help="Include search indexes, which can be rebuilt.")
    ] = True,
    config: Annotated[Path | None, typer.Option(help="The configuration.")] = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Back up the store, the gold sets with their logs, and the workspace into one file. Others can
    keep working."""
    from assay.reports import listing
    from assay.workbench.project.backup import make_backup

    check_gold(gold)
    summary = make_backup(file, store=store, gold=gold or (), config=config, indexes=indexes)
    emit(summary, lambda: listing.key_values(summary), json=json)
    if summary.left_out:
        warn("A backup holds only data. Other files were left out.")


def restore(
    file: Annotated[Path, typer.Argument(help="A file written by assay backup.")],
    to: Annotated[
        Path, typer.Option("--to", help="The project's folder; nothing in it is overwritten.")
    ] = Path(),
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Restore a backup where there is no project yet."""
    from assay.reports import listing
    from assay.workbench.project.backup import restore_backup

    summary = restore_backup(file, to, store=store)
    emit(summary, lambda: listing.key_values(summary), json=json)
    for path in summary.outside:
        warn(f"A file from outside the project is now in {path}")


# ── `assay demo` ──────────────────────────────────────────────────────────────────────────────────

TRY = (
    "1. Search: {}search?q=may+a+council+member+accept+concert+tickets",
    "2. Judge, one key per document: {}judge/opinions",
    "3. Decide: rule where judges disagree: {}agreement/opinions",
    "   approve rows: {}review",
    "   see which engine may ship: {}runs",
)


Copied = Annotated[
    Path | None,
    typer.Option(
        "--samples",
        metavar="FOLDER",
        help="Only copy the sample files into this folder.",
    ),
]


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file for the results of the last engine.")
    ] = Path("demo-results.json"),
    copy_to: Copied = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Open the workbench on a judged sample project."),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="With --serve: delete the sample project first.")
    ] = False,
    folder: Annotated[
        Path, typer.Option(help="With --serve: the folder of the sample project.")
    ] = Path("assay-demo"),
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="With --serve: the port on this machine.")
    ] = 8350,
    accounts: Annotated[
        bool, typer.Option("--accounts", help="With --serve: require people to sign in.")
    ] = False,
    json: Json = False,
) -> None:
    """Score engines on the bundled sample of advisory opinions, and say what to try next. With
    --serve, open the workbench on a sample project: three corpora, two invented judges, runs on
    four days."""
    if copy_to is not None:
        _copy(copy_to)
        return
    if serve:
        _serve(folder, port, fresh=fresh, accounts=accounts)
        return
    if fresh or accounts:
        raise UsageError("--fresh and --accounts require --serve")
    _score_sample(output, json=json)


def _score_sample(output: Path, *, json: bool) -> None:
    from assay.core.types import counted
    from assay.reports import terminal, view
    from assay.workbench.judging.gold_sets import validate_gold
    from assay.workbench.project.demo import demo
    from assay.workbench.project.init import samples

    english = samples() / "en"
    gold, findings = validate_gold(english / "dataset.json", corpus=english / "opinions")
    levels = [finding.level for finding in findings]
    errors, flags = levels.count("error"), levels.count("flag")
    say(
        f"1. The gold set: {len(gold.queries)} queries, {gold.judgments.height} judgments, "
        f"{counted(errors, 'error')}, {counted(flags, 'flag')} to look at",
        style="bold",
    )
    own = extras.is_installed("search")
    last_engine = "Assay's own first builds an index" if own else "bm25-forms folds forms of words"
    say(f"2. Four engines answer the queries ({last_engine})", style="bold")
    scored = demo(output, searching)
    if json:
        figures = {name: each.results.overall for name, each in scored.items()}
        emit(figures, lambda: None, json=True)
        return
    show(terminal.comparison({name: view(each.results) for name, each in scored.items()}))
    last = list(scored)[-1]
    say(f"3. The scorecard of {last}", style="bold")
    show(terminal.scorecard(view(scored[last].results)))
    _show_bad_answer()
    install = "" if own else extras.install_command("search")
    show(terminal.next_steps(output, english, install=install))


def _show_bad_answer() -> None:
    """Show one generated answer of the samples, with its faults."""
    from assay.reports.answers import card
    from assay.workbench.project.demo import bad_answer

    say("4. A generated answer, checked against the passages it was given", style="bold")
    show(card(bad_answer()))


def _copy(folder: Path) -> None:
    from assay.workbench.project.demo import copy_samples

    say(f"The samples are in {copy_samples(folder)}/. Everything in them is invented.")


def _serve(folder: Path, port: int, *, fresh: bool, accounts: bool) -> None:
    """The project is made before the port is taken, and served from its own folder: what the user
    has of their own is not touched."""
    from assay.cli.options import check_port

    if not (extras.is_installed("search") and extras.is_installed("serve")):
        raise extras.MissingExtra("the sample project", "search,serve")
    from assay.web import app
    from assay.workbench.project.demo import inside, prepare

    serving = app.Serving(port=port, accounts=accounts)
    check_port(serving.host, port)
    if prepare(folder, fresh=fresh, say=say):
        say(f"the sample project is in {folder}/. Everything in it is invented")
    else:
        say(f"the sample project in {folder}/ is as you left it. --fresh makes a new one")
    say("When you have signed in, try:" if accounts else "Three things to try:")
    if not accounts:
        say("(judging, agreement and review first ask for a name: any will do)")
    for line in TRY:
        say(line.replace("{}", f"{serving.own_address}/"))
    with inside(folder):
        serve(port=port, accounts=accounts)


# ── `assay serve` and `assay mcp` ─────────────────────────────────────────────────────────────────


ProxySecret = Annotated[
    str,
    typer.Option(
        help="A secret shared with a reverse proxy that signs people in with a signed header.",
        envvar="ASSAY_PROXY_SECRET",
    ),
]
Token = Annotated[
    str,
    typer.Option(
        help="One more key for services that log, besides those of `assay people key`.",
        envvar="ASSAY_TOKEN",
    ),
]


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8350,
    gold: Annotated[
        list[Path] | None, typer.Option(help="A gold set to review. Repeat for more.")
    ] = None,
    accounts: Annotated[
        bool,
        typer.Option(
            "--accounts",
            help="Require people to sign in. Other machines need this. It is automatic once "
            "anyone has an account.",
        ),
    ] = False,
    address: Annotated[
        str,
        typer.Option(help="The public address, if a reverse proxy is in front."),
    ] = "",
    behind_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="The IP address or network that the reverse proxy connects from. Required "
            "unless --host is this machine only. Repeat for more.",
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="Another name of the server. Repeat for more.")
    ] = None,
    proxy_secret: ProxySecret = "",
    token: Token = "",
    log_format: Annotated[
        Literal["text", "json"],
        typer.Option(help="json: log every request on stderr, without personal text."),
    ] = "text",
    redact: Redact = None,
    retention: Annotated[
        float | None,
        typer.Option(min=0, callback=a_number, help="Delete searches older than this, in days."),
    ] = None,
    store: StoreUrl = "",
) -> None:
    """Open the workbench in the browser, with calls for programs (/api/docs). On your own machine
    there is nothing to sign in to. For a team, see --accounts and `assay people`."""
    from assay.web import app
    from assay.workbench.project.service import Recording, only_on_this_host
    from assay.workbench.project.start import record_results
    from assay.workbench.review.queue import say_pending

    check_gold(gold)
    check_port(host, port)
    recording = Recording(redactions=tuple(redact or ()), retention_days=retention)
    serving = app.Serving(
        host=host,
        port=port,
        accounts=accounts,
        address=address,
        behind_proxy=tuple(behind_proxy or ()),
        allowed_hosts=tuple(allowed_host or ()),
        log_format=log_format,
        token=token,
        proxy_secret=proxy_secret,
    )
    with (
        only_on_this_host(),
        opened(store, create=True, gold=gold or (), recording=recording) as service,
    ):
        say_pending(service)
        record_results(service)
        app.serve(service, serving, say=say)


def mcp(
    http: Annotated[
        bool, typer.Option(help="Use streamable HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8351,
    config: Annotated[Path | None, typer.Option(help="The configuration.")] = None,
    gold: Annotated[
        list[Path] | None,
        typer.Option(help="A gold set besides those of the configuration. Repeat for more."),
    ] = None,
    store: StoreUrl = "",
) -> None:
    """Start the server for agents (Model Context Protocol)."""
    from assay.mcp import server

    check_gold(gold)
    if http:
        check_port(host, port)
    transport: server.Transport = "streamable-http" if http else "stdio"
    with opened(store, create=not is_named(store), config=config, gold=gold or ()) as service:
        server.run(service, transport=transport, host=host, port=port)


# ── `assay people` ────────────────────────────────────────────────────────────────────────────────


people_app = typer.Typer(
    help="Workbench accounts: list, invite, remove, reset a password, manage keys.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Name = Annotated[str, typer.Argument(help="The person's name, as shown beside their decisions.")]
Address = Annotated[
    str, typer.Option(help="The address of the workbench, for the link.", envvar="ASSAY_ADDRESS")
]
LOCAL = "http://127.0.0.1:8350"


@people_app.command("list")
def list_(store: StoreUrl = "", json: Json = False) -> None:
    """List accounts, open links and keys."""
    from rich.table import Table

    from assay.workbench.project.people import list_people

    with opened(store, read_only=True) as service:
        found = list_people(service)

    def table() -> Table:
        made = Table("name", "role", "since", "state", box=None, pad_edge=False)
        for one in found.people:
            state = f"{one.sessions} signed in" if one.active else "has left"
            made.add_row(one.name, one.role, f"{one.since:%Y-%m-%d}", state)
        for link in found.links:
            state = "invited" if link.kind == "join" else "may set a new password"
            until = f"{state} by {link.by}, until {link.expires_at:%Y-%m-%d %H:%M} UTC"
            made.add_row(link.name or "(the first admin)", link.role, "", until)
        for key in found.keys:
            made.add_row(key.name, f"key: {key.kind}", f"{key.since:%Y-%m-%d}", f"by {key.by}")
        return made

    emit(found, table, json=json)


@people_app.command()
def invite(
    name: Name,
    role: Annotated[str, typer.Argument(help="reader, judge, chair or admin.")],
    address: Address = LOCAL,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Print an invitation link. It works once, within a week."""
    from assay.core.errors import UsageError
    from assay.reports.words import page_words
    from assay.workbench.project import people
    from assay.workbench.project.people import dealt_to_others

    known = next((role_name for role_name in people.ROLES if role_name == role), None)
    if known is None:
        raise UsageError(f"unknown role {role!r}", hint=f"Known: {', '.join(people.ROLES)}.")
    with opened(store, create=not is_named(store)) as service:
        link = people.invite(service, name, known, by=people.AT_THE_TERMINAL)
        others = dealt_to_others(service, link.name, known)
    if others:
        sentence = page_words("en", "people")["not_dealt"]
        warn(sentence.format(name=link.name, names=", ".join(others)))
    _print_link(name, address, link.token, json=json)


@people_app.command()
def reset(name: Name, address: Address = LOCAL, store: StoreUrl = "", json: Json = False) -> None:
    """Print a link to set a new password. It works once, within a day."""
    from assay.workbench.project import people

    with opened(store, create=False) as service:
        link = people.new_password_link(service, name, by=people.AT_THE_TERMINAL)
    _print_link(name, address, link.token, json=json)


def _print_link(name: str, address: str, token: str, *, json: bool) -> None:
    link = f"{address.rstrip('/')}/invite/{token}"
    if json:
        emit({"name": name, "link": link}, lambda: None, json=True)
    else:
        put(link)


@people_app.command()
def remove(name: Name, why: Why = "", store: StoreUrl = "", json: Json = False) -> None:
    """Remove a person's access. Votes and decisions stay."""
    from assay.workbench.project import people

    with opened(store, create=False) as service:
        people.remove(service, name, by=people.AT_THE_TERMINAL, why=why)
    sentence = f"{name} has no access any more; votes and decisions stay"
    tell({"name": name, "removed": True}, sentence, json=json)


@people_app.command()
def key(
    name: Annotated[str, typer.Argument(help="The name of the service.")],
    kind: Annotated[
        str, typer.Option(help="log: may log searches. watch: may read figures.")
    ] = "log",
    end: Annotated[bool, typer.Option("--end", help="Revoke the key instead.")] = False,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Create a key for a service. It may only log searches, or only read figures."""
    from assay.core.errors import UsageError
    from assay.workbench.project import people

    known = next((known_kind for known_kind in people.KEY_KINDS if known_kind == kind), None)
    if known is None:
        raise UsageError(
            f"unknown kind of key {kind!r}", hint=f"Known: {', '.join(people.KEY_KINDS)}."
        )
    with opened(store, create=not is_named(store)) as service:
        if end:
            people.end_key(service, name, by=people.AT_THE_TERMINAL)
            sentence = f"the key of {name} opens nothing any more"
            tell({"name": name, "ended": True}, sentence, json=json)
            return
        made = people.make_key(service, name, known, by=people.AT_THE_TERMINAL)
    if json:
        emit({"name": name, "kind": kind, "key": made}, lambda: None, json=True)
    else:
        put(made)


# ── assay start ───────────────────────────────────────────────────────────────────────────────────


def start(
    documents: Annotated[
        str, typer.Argument(help="A file or folder of documents.", show_default="asked")
    ] = "",
    engine: Annotated[
        list[str] | None,
        typer.Option(
            help="An engine to compare: bm25, bm25-forms (finds forms of words), the name of the "
            "corpus (Assay's own, with the extra search), a Python file, "
            "an address with {{query}}, or saved results. Repeat for more."
        ),
    ] = None,
    judges: Annotated[str, typer.Option(help="The judges, such as ann,ben.")] = "",
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1, help="The approximate number of pairs for each judge.", show_default="60"
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--steps", help="Show all steps and where you are; run nothing.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Run each step that needs no answer.")
    ] = False,
    json: Json = False,
) -> None:
    """Go from your documents to a decision between two engines. Each step is a command that is
    shown before it runs. Press Ctrl-C to stop. Run it again to continue. The exit code is 0 at the
    end or when it waits for a person, and 4 if a step failed."""
    from msgspec.structs import replace

    from assay.reports.words import page_words
    from assay.workbench.project import start as way
    from assay.workbench.project.service import project_sets

    answers = way.known_answers()
    given = {"documents": documents, "judges": judges, "engines": ",".join(engine or ())}
    for asked, text in given.items():
        if text:
            answers = way.answered(answers, asked, text)
    if pairs:
        answers = replace(answers, pairs=pairs)
    way.keep_answers(answers)
    _check_two_engines(answers)
    if show or json:
        found_steps = way.steps(answers)
        emit(found_steps, lambda: _step_lines(found_steps), json=json)
        return
    if way.has_other_sets(answers, project_sets()):
        say(page_words("en", "start")["has_sets"])
        say("To go on with this project: assay run, assay history or assay serve.")
        return
    before = 0
    while (at := way.next_step(answers := way.known_answers())) is not None:
        number, step = at
        every = way.steps(answers)
        for passed in range(before + 1, number) if before else ():
            say(f"\nStep {passed} of {len(every)}: {every[passed - 1].title}: done", style="dim")
        before = number
        say(f"\nStep {number} of {len(every)}: {step.title}", style="bold")
        if step.asks:
            changed = _ask_answers(step, answers)
            if changed is None:
                return
            way.keep_answers(changed)
            _check_two_engines(changed)
        elif not _run(step, yes=yes):
            return
    also = ", and so has assay serve" if extras.is_installed("serve") else ""
    say(
        f"\nDone: report.html has the answer{also}. To judge more, fill in pairs.csv, then: "
        "assay gold merge set.json pairs.csv --judge NAME, and assay start."
    )


def _step_lines(steps: list[StartStep]) -> str:
    lines = []
    for number, step in enumerate(steps, start=1):
        mark = "✓" if step.is_done else "↻" if step.is_stale else " "
        again = ": again, because its input has changed" if mark == "↻" else ""
        lines.append(f"{mark} {number:2} {step.title}{again}")
        lines += [f"       {line}" for line in step.lines]
    return "\n".join(lines)


def _check_two_engines(answers: StartAnswers) -> None:
    from assay.reports.words import page_words

    if len(answers.engines) == 1:
        warn(page_words("en", "start")["note one_engine"])


def _ask_answers(step: StartStep, answers: StartAnswers) -> StartAnswers | None:
    """The answers with the one that the step asks for; None where nobody can be asked."""
    from assay.workbench.project import start as way

    if not _at_a_terminal():
        say(HOW[step.asks])
        return None
    while True:
        if step.asks == "queries":
            say("Paste one query a line, then an empty line. Or write logs, for the search log.")
            if not (text := _pasted_queries()):
                return None
        else:
            text = str(
                typer.prompt(
                    HOW[step.asks], err=True, default=way.usual_answer(step, answers) or None
                )
            )
        try:
            return way.answered(answers, step.asks, text)
        except AssayError as error:
            say(f"{error}", style="red")


HOW = {
    "documents": "Where are your documents? (assay start FOLDER)",
    "queries": "Write queries.txt with one query on each line, then: assay start",
    "engines": "Which two engines? Separate them with a comma. bm25, bm25-forms (finds forms of "
    "words), the name of the corpus (Assay's own, with the extra search), a Python file, an "
    "address with {{query}}, or saved results (assay start --engine A --engine B)",
    "judges": "Who judges, with commas between? (assay start --judges ann,ben)",
}


def _pasted_queries() -> str:
    lines = []
    for line in sys.stdin:
        if not line.strip():
            break
        lines.append(line)
    return "".join(lines)


def _run(step: StartStep, *, yes: bool) -> bool:
    """Show the commands of a step and run them; whether the way goes on."""
    from assay.reports.words import page_words
    from assay.workbench.project import start as way

    words = page_words("en", "start")
    if step.by_hand:
        say(words[f"by_hand {step.by_hand}"])
    if step.awaited:
        say(words["awaited"].format(judges=", ".join(step.awaited)))
    for line in step.lines:
        put(line)
    if not step.commands or (step.by_hand and not _at_a_terminal()):
        say("Then: assay start")
        return False
    if not yes:
        if not _at_a_terminal():
            say("next: run this command, or assay start --yes")
            return False
        if not typer.confirm("Run it?", default=True, err=True):
            return False
    if not way.run_commands(step):
        say("This step failed. Fix that, then: assay start", style="red")
        sys.exit(4)
    now = next(
        next_step for next_step in way.steps(way.known_answers()) if next_step.key == step.key
    )
    if now == step:
        say("This step is not done yet. Then: assay start")
        sys.exit(1)
    return True

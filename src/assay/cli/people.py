"""`assay people`: accounts of the workbench, from the terminal of the machine it runs on. What is
done here is in the audit trail as done at the terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.options import StoreUrl, Why, is_named, opened
from assay.cli.output import Json, emit, put, say, tell

app = typer.Typer(
    help="Accounts of the workbench: list, invite, remove, reset a password, keys of services.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Name = Annotated[str, typer.Argument(help="The person's name, as shown beside their decisions.")]
Address = Annotated[
    str, typer.Option(help="The address of the workbench, for the link.", envvar="ASSAY_ADDRESS")
]
LOCAL = "http://127.0.0.1:8350"


@app.command("list")
def list_(store: StoreUrl = "", json: Json = False) -> None:
    """Everybody with an account, open links and keys."""
    from rich.table import Table

    from assay.workbench.project.people import everybody

    with opened(store, read_only=True) as service:
        found = everybody(service)

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


@app.command()
def invite(
    name: Name,
    role: Annotated[str, typer.Argument(help="reader, judge, chair or admin.")],
    address: Address = LOCAL,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Print a link with which somebody joins; it works once, for a week."""
    from assay.core.errors import UsageError
    from assay.reports.words import page_words
    from assay.workbench.project import people
    from assay.workbench.project.people import dealt_to_others

    known = next((one for one in people.ROLES if one == role), None)
    if known is None:
        raise UsageError(f"no role {role!r}", hint=f"Known: {', '.join(people.ROLES)}.")
    with opened(store, create=not is_named(store)) as service:
        link = people.invite(service, name, known, by=people.AT_THE_TERMINAL)
        others = dealt_to_others(service, link.name, known)
    if others:
        told = page_words("en", "people")["not_dealt"]
        say(told.format(name=link.name, names=", ".join(others)), style="yellow")
    _print_link(name, address, link.token, json=json)


@app.command()
def reset(name: Name, address: Address = LOCAL, store: StoreUrl = "", json: Json = False) -> None:
    """Print a link with which somebody sets a new password; it works once, for a day."""
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


@app.command()
def remove(name: Name, why: Why = "", store: StoreUrl = "", json: Json = False) -> None:
    """Take somebody's access away; votes and decisions stay."""
    from assay.workbench.project import people

    with opened(store, create=False) as service:
        people.remove(service, name, by=people.AT_THE_TERMINAL, why=why)
    told = f"{name} has no access any more; votes and decisions stay"
    tell({"name": name, "removed": True}, told, json=json)


@app.command()
def key(
    name: Annotated[str, typer.Argument(help="The name of the service.")],
    kind: Annotated[str, typer.Option(help="log: it can log. watch: it reads figures.")] = "log",
    end: Annotated[bool, typer.Option("--end", help="End the key instead.")] = False,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Print a key for a service: one that can log, or read figures, and nothing else."""
    from assay.core.errors import UsageError
    from assay.workbench.project import people

    known = next((one for one in people.KEY_KINDS if one == kind), None)
    if known is None:
        raise UsageError(f"no kind of key {kind!r}", hint=f"Known: {', '.join(people.KEY_KINDS)}.")
    with opened(store, create=not is_named(store)) as service:
        if end:
            people.end_key(service, name, by=people.AT_THE_TERMINAL)
            told = f"the key of {name} opens nothing any more"
            tell({"name": name, "ended": True}, told, json=json)
            return
        made = people.make_key(service, name, known, by=people.AT_THE_TERMINAL)
    if json:
        emit({"name": name, "kind": kind, "key": made}, lambda: None, json=True)
    else:
        put(made)

"""Options that several commands share, the project that they open, and the questions before texts
are sent to a language model."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from assay.cli.output import put, say
from assay.core.errors import InputError, UsageError
from assay.core.workspace import STORE

if TYPE_CHECKING:
    from assay.workbench.project.service import Recording, Service

StoreUrl = Annotated[
    str, typer.Option("--store", help="A database URL; by default one file in the workspace.")
]
Gold = Annotated[Path, typer.Option("--gold", help="The gold set.")]
GoldFile = Annotated[Path, typer.Argument(help="The gold set.")]
CORPUS = "a name, a file or folder of documents, or a frozen file"
Redact = Annotated[
    list[str] | None,
    typer.Option(
        help="Hide in queries: email, israeli-id, finnish-id, us-ssn, phone or NAME=PATTERN; "
        "repeat."
    ),
]
By = Annotated[str, typer.Option("--by", help="Who decides.")]
Why = Annotated[str, typer.Option("--why", help="The reason, for the record.")]

On = Annotated[
    str,
    typer.Option(
        "--on", metavar="CLUSTER", help="Work on a Dask cluster: tcp://HOST:PORT, or local:2."
    ),
]

GOLD_SET = Path("gold-set.jsonl")


def a_number(value: float | None) -> float | None:
    """As a callback of an option: "nan" is a float to Python, and no limit to anybody."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a number")
    return value


def is_named(store: str) -> bool:
    """Whether somebody named a store: then it must be there. The default one is made when it is
    needed."""
    return bool(store or os.environ.get(STORE))


@contextlib.contextmanager
def opened(
    store: str,
    *,
    create: bool = False,
    read_only: bool = False,
    gold: Sequence[Path] = (),
    config: Path | None = None,
    recording: Recording | None = None,
) -> Iterator[Service]:
    """The service, which says on stderr what takes long and what it made."""
    from assay.workbench.project.service import open_service

    with open_service(
        store,
        gold=gold,
        config=config,
        recording=recording,
        create=create,
        read_only=read_only,
        say=say,
    ) as service:
        yield service


def check_gold(paths: Sequence[Path] | None) -> None:
    for path in paths or ():
        if not path.exists():
            raise InputError(
                "no such gold set", where=str(path), hint="Make one with `assay gold bootstrap`."
            )


def check_port(host: str, port: int) -> None:
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


# ── sending texts to a language model ─────────────────────────────────────────────────────────────


class Machine(Protocol):
    @property
    def host(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def base_url(self) -> str: ...


class Message(Protocol):
    @property
    def role(self) -> str: ...
    @property
    def content(self) -> str: ...


def announce(what: str, machine: Machine) -> None:
    """Say which texts will be sent, and where; `what` is empty if there are none."""
    if not what:
        say("nothing is to be sent")
        return
    say(f"to be sent: {what}, to {machine.host}, model {machine.model}", style="bold")
    if machine.base_url.startswith("http:"):
        say("the connection is not encrypted (http)", style="yellow")


def show_prompt(messages: Iterable[Message]) -> None:
    """Print the messages of a prompt, for --dry-run."""
    for message in messages:
        put(f"── {message.role} ──\n{message.content}")
    say("dry run: nothing was sent, nothing was written")


def ask_leave() -> None:
    """Ask before texts leave the machine."""
    watched = sys.stdin.isatty() and sys.stderr.isatty()
    if not watched or not typer.confirm("Send them?", err=True):
        raise UsageError(
            "nothing was sent",
            hint="Say --yes to send these texts; --dry-run shows the first prompt.",
        )

"""What is said, and asked, before texts leave the machine for a language model."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Protocol

import typer

from assay.cli.output import put, say
from assay.core.errors import UsageError


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
    """Which texts go where, before anything goes; `what` is empty where nothing does."""
    if not what:
        say("nothing is to be sent")
        return
    say(f"to be sent: {what}, to {machine.host}, model {machine.model}", style="bold")
    if machine.base_url.startswith("http:"):
        say("the connection is not encrypted (http)", style="yellow")


def show_prompt(messages: Iterable[Message]) -> None:
    """What --dry-run shows."""
    for message in messages:
        put(f"── {message.role} ──\n{message.content}")
    say("dry run: nothing was sent, nothing was written")


def ask_leave() -> None:
    """Nothing leaves the machine unless somebody says so."""
    watched = sys.stdin.isatty() and sys.stderr.isatty()
    if not watched or not typer.confirm("Send them?", err=True):
        raise UsageError(
            "nothing was sent",
            hint="Say --yes to send these texts; --dry-run shows the first prompt.",
        )

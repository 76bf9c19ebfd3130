"""The command line: parse, call one verb, render.

The file of a command is loaded when it is called (and for --help), and a command imports what it
needs inside: so `assay --help` is instant, and a report loads no engine.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import re
import sys
from functools import cache
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from assay.cli.options import unify
from assay.cli.output import put, say
from assay.core.errors import AssayError

# command: the module under assay.cli and the function, or group of commands, in it
COMMANDS = {
    "start": "project:start",
    "init": "project:init",
    "index": "corpus:index",
    "search": "corpus:search",
    "calibrate": "corpus:calibrate",
    "cite": "corpus:cite",
    "questions": "machine:questions",
    "backlog": "review:backlog",
    "serve": "project:serve",
    "people": "project:people_app",
    "mcp": "project:mcp",
    "doctor": "project:doctor",
    "backup": "project:backup",
    "restore": "project:restore",
    "plugins": "project:plugins",
    "engines": "score:engines_app",
    "score": "score:score",
    "run": "score:run",
    "answers": "answers:app",
    "compare": "results:compare",
    "tune": "score:tune",
    "benchmark": "score:benchmark_app",
    "history": "results:history",
    "plan": "results:plan",
    "explain": "results:explain",
    "report": "results:report",
    "export": "results:export",
    "rubric": "gold:rubric",
    "demo": "project:demo",
    "gold": "gold:app",
    "corpus": "corpus:app",
    "logs": "review:logs_app",
}


class LazyGroup(TyperGroup):
    """The commands of the table, each loaded when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _command(cmd_name) if cmd_name in COMMANDS else None


@cache
def _command(name: str) -> Any:
    """Made once: who calls `main` many times, as tests do, waits once."""
    module, _, attribute = COMMANDS[name].partition(":")
    part = getattr(importlib.import_module(f"assay.cli.{module}"), attribute)
    if not isinstance(part, typer.Typer):
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name)(part)
        part = single
    command = typer.main.get_command(part)
    command.name = name
    _unwrap_help(command)
    unify(command, name)
    _show_required(command)
    return command


def _show_required(command: Any) -> None:
    """Let the usage line of a command, and of those inside it, show the options that it needs."""
    for inner in getattr(command, "commands", {}).values():
        _show_required(inner)
    needed = [
        option
        for option in command.params
        if option.param_type_name == "option" and option.required
    ]
    usual = command.collect_usage_pieces

    def pieces(ctx: Any) -> list[str]:
        shown = [
            f"{option.opts[0]} {option.metavar or option.name.strip('_').upper()}"
            for option in needed
        ]
        return [*usual(ctx), *shown]

    command.collect_usage_pieces = pieces


def _unwrap_help(command: Any) -> None:
    """A docstring is wrapped for who reads the code; the terminal has lines of its own."""
    if command.help:
        command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", command.help)
    for part in getattr(command, "commands", {}).values():
        _unwrap_help(part)


app = typer.Typer(
    name="assay",
    cls=LazyGroup,
    help=(
        "Know whether legal search works: score engines against gold sets, with numbers you can "
        "check."
    ),
    epilog=(
        "Exit codes: 0 done, 1 a gate or check failed, 2 bad input, 3 inconclusive, 4 an engine or "
        "Assay failed."
    ),
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from assay import __version__

        put(f"assay {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        from assay.cli.project import show_status

        show_status()


def main() -> None:
    """Run the command line: every expected error is one message and an exit code, never a
    traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows what it can
    gc.set_threshold(200_000)  # what a command loads and reads stays until it ends
    atexit.register(gc.freeze)  # and is not looked through then: a fifth of a short command
    try:
        app()
    except AssayError as error:
        say(f"error: {_clipped(str(error))}", style="red")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("interrupted; nothing was written")
        sys.exit(130)
    except OSError as error:
        say(f"error: {(error.strerror or str(error)).lower()}", style="red")
        sys.exit(4)
    except MemoryError:
        say("error: out of memory", style="red")
        sys.exit(4)
    except ModuleNotFoundError as error:
        _missing(error)
    except Exception as error:
        _unexpected(error)


# characters of a line of an error: an id in it may be megabytes long; chosen
MAX_ERROR_LINE = 2_000


def _clipped(text: str) -> str:
    return "\n".join(
        line if len(line) <= MAX_ERROR_LINE else f"{line[:MAX_ERROR_LINE]}…"
        for line in text.split("\n")
    )


def _missing(error: ModuleNotFoundError) -> None:
    """A package that an extra brings is told like any other; all else is a fault of ours."""
    from assay.core.extras import MissingExtra, extra_of_module

    if not (extra := extra_of_module(error.name or "")):
        _unexpected(error)
    say(f"error: {MissingExtra('this', extra)}", style="red")
    sys.exit(2)


def _unexpected(error: Exception) -> NoReturn:
    if os.environ.get("ASSAY_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}"
    say(f"error: something went wrong inside Assay: {what}", style="red")
    say("  Please report it; ASSAY_DEBUG=1 shows where.")
    sys.exit(4)

"""Options that several commands share, the project that they open, and the questions before texts
are sent to a language model."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.output import say
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
        help="Redact these in queries: email, israeli-id, finnish-id, us-ssn, phone or "
        "NAME=PATTERN; repeat for more."
    ),
]
By = Annotated[str, typer.Option("--by", help="Who decides.")]
Why = Annotated[str, typer.Option("--why", help="The reason, for the record.")]

On = Annotated[
    str,
    typer.Option(
        "--on", metavar="CLUSTER", help="Run on a Dask cluster: tcp://HOST:PORT, or local:2."
    ),
]

GOLD_SET = Path("gold-set.jsonl")


def a_number(value: float | None) -> float | None:
    """A callback that refuses "nan" and "inf" as values of an option."""
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


# ── names of options ──────────────────────────────────────────────────────────────────────────────

GOLD = ("--dataset", "--gold")
NAMES = {
    "dataset": GOLD,
    "gold": GOLD,
    "corpus": ("--corpus",),
    "output": ("--output", "-o"),
    "top_k": ("--top-k", "--k", "-k"),
    "primary": ("--primary", "--measure", "-m"),
}
# (command, name of an earlier release): what it is called now
BEFORE = {("gold judge", "--send"): "--yes"}

Parse = Callable[[Any, list[str]], list[str]]


def unify(command: Any, path: str) -> None:
    """Give a command, and those inside it, the names of the table."""
    inside = getattr(command, "commands", None)
    if inside is not None:
        for name, inner in inside.items():
            unify(inner, f"{path} {name}")
        return
    for param in command.params:
        if param.name == "config":
            param.callback = _use_workspace_beside
        names = NAMES.get(param.name, ())
        if not names:
            continue
        if is_argument(param):
            shown = " or ".join(names)
            param.help = f"{(param.help or '').rstrip('.')}; also as {shown}."
        elif not _is_taken(command, param, names):
            param.opts.extend(name for name in names if name not in param.opts)
    command.parse_args = partial(_parse_with_names, command, path, command.parse_args)


def _use_workspace_beside(ctx: Any, param: Any, value: Any) -> Any:
    """The workspace is beside the configuration that a command names."""
    from assay.core.workspace import workspace_beside

    if value is not None and not ctx.resilient_parsing:
        ctx.with_resource(workspace_beside(Path(value)))
    return value


def is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def _is_taken(command: Any, param: Any, names: Sequence[str]) -> bool:
    others = {opt for other in command.params if other is not param for opt in other.opts}
    return bool(others & set(names))


def _parse_with_names(
    command: Any, path: str, parse: Parse, ctx: Any, args: list[str]
) -> list[str]:
    args = _rename_old_options(path, args)
    args = _place_named_arguments(command, args)
    return parse(ctx, _name_gold_set(command, ctx, args))


def _rename_old_options(path: str, args: Sequence[str]) -> list[str]:
    changed = []
    for arg in args:
        name, equals, value = arg.partition("=")
        now = BEFORE.get((path, name))
        if now:
            say(f"note: {name} is now called {now}; the old name goes with the next release")
        changed.append(f"{now}{equals}{value}" if now else arg)
    return changed


def _place_named_arguments(command: Any, args: Sequence[str]) -> list[str]:
    """Put arguments that were written with their names in their places."""
    places = [param for param in command.params if is_argument(param)]
    rest = list(args)
    for place, param in enumerate(places):
        taken = _pop_option_values(rest, NAMES.get(param.name, ()))
        rest = [*taken, *rest] if place == 0 else [*rest, *taken]
    return rest


def _pop_option_values(args: list[str], names: Sequence[str]) -> list[str]:
    """The values of these options, which leave the list."""
    values: list[str] = []
    at = 0
    while at < len(args) and args[at] != "--":
        name, equals, value = args[at].partition("=")
        if name in names and equals:
            values.append(value)
            del args[at]
        elif name in names and at + 1 < len(args):
            values.append(args[at + 1])
            del args[at : at + 2]
        else:
            at += 1
    return values


def _name_gold_set(command: Any, ctx: Any, args: list[str]) -> list[str]:
    """A gold set without its name, in a command whose only names are those of options."""
    option = next((param for param in command.params if param.name in ("dataset", "gold")), None)
    if option is None or any(map(is_argument, command.params)):
        return args
    parser = command.make_parser(ctx)
    with suppress(Exception):  # what is wrong with them is said when they are parsed in earnest
        given, loose, _ = parser.parse_args(list(args))
        if option.name in given or len(loose) != 1:
            return args
        for at in [at for at, arg in enumerate(args) if arg == loose[0]]:
            others = args[:at] + args[at + 1 :]
            with suppress(Exception):
                if command.make_parser(ctx).parse_args(list(others))[:2] == (given, []):
                    return [*others, option.opts[0], loose[0]]
    return args

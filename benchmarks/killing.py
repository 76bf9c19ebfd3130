"""Do something in a group of processes, kill the group at a random moment, and look at what it has
left. Used by kills.py."""

from __future__ import annotations

import contextlib
import io
import os
import random
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "NO_COLOR": "1"}
os.environ.pop("ASSAY_HOME", None)  # every act has a project of its own
os.environ.pop("ASSAY_STORE", None)

import assay.cli
import assay.web.app

Tell = Callable[[str], None]
WAIT = 120.0  # seconds until the first step of an act


class Act(NamedTuple):
    """`prepare` once; `do` in the group that is killed, with the number of the round and the steps
    that were tried in earlier rounds and not acknowledged; `wrong` says what is not as it must be,
    given all that was told.

    A step tells `? TOKEN` before it is done and `! TOKEN` when it is acknowledged."""

    prepare: Callable[[Path], None]
    do: Callable[[Path, int, Tell, Sequence[str]], None]
    wrong: Callable[[Path, Sequence[str]], list[str]]


def forked(*args: object) -> int:
    """Start `assay ARGS` in a process of its own, without waiting for it."""
    child = os.fork()
    if child == 0:
        code: object = 70
        try:
            with (
                contextlib.redirect_stdout(_stream()),
                contextlib.redirect_stderr(_stream()) as err,
            ):
                sys.argv = ["assay", *map(str, args)]
                try:
                    assay.cli.main()
                    code = 0
                except SystemExit as stop:
                    code = stop.code or 0
            if code:
                sys.stderr.write(
                    f"assay {' '.join(sys.argv[1:])}: {err.buffer.getvalue().decode()}"
                )
                sys.stderr.flush()
        except BaseException:
            traceback.print_exc()
        os._exit(code if isinstance(code, int) else 70)
    return child


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def command(*args: object) -> None:
    """Run `assay ARGS` in a process of its own; it must succeed."""
    _, status = os.waitpid(forked(*args), 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise RuntimeError(f"assay {' '.join(map(str, args))}: exit {code}")


class Ended(NamedTuple):
    """What a group of processes told, how it ended ("" is well), and how long after its first
    step."""

    told: list[str]
    how: str
    seconds: float


def apart(work: Callable[[Tell], None], seconds: float | None = None) -> Ended:
    """Work in a group of processes that is killed so many seconds after its first step."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(read)
        try:
            work(lambda said: os.write(write, f"{said}\n".encode()) and None)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(70)
    os.close(write)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.setpgid(child, child)
    content, ended, status, began = b"", "killed", None, 0.0
    limit = time.monotonic() + WAIT  # until the first step
    try:
        while status is None and time.monotonic() < limit:
            if select.select([read], [], [], min(max(limit - time.monotonic(), 0), 0.01))[0]:
                content += os.read(read, 65536)
                if not began:
                    began = time.monotonic()
                    limit = began + (10 * WAIT if seconds is None else seconds)
            found, code = os.waitpid(child, os.WNOHANG)
            status = code if found else None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # servers too, where the work is done
    if status is None:
        _, status = os.waitpid(child, 0)
    else:
        ended = "" if status == 0 else "failed"
    took = time.monotonic() - (began or time.monotonic())
    while block := os.read(read, 65536):  # told before the kill
        content += block
    os.close(read)
    return Ended(content.decode().splitlines(), ended, took)


def all_at_once(work: Sequence[Callable[[], None]]) -> None:
    """Each in a process of its own; all of them must succeed."""
    children = []
    for one in work:
        if (child := os.fork()) == 0:
            try:
                one()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(70)
        children.append(child)
    if any([os.waitpid(child, 0)[1] for child in children]):
        raise RuntimeError("one of them failed")


def looked_at(act: Act, home: Path, told: Sequence[str]) -> list[str]:
    """What the next start finds wrong."""

    def look(tell: Tell) -> None:
        os.chdir(home)
        for said in act.wrong(home, told):
            tell(said)

    told, how, _ = apart(look)
    return told + (["it cannot be opened"] if how else [])


class Killed(NamedTuple):
    kills: int  # that met the act at work
    after: int  # that came when it was done already
    acknowledged: int
    wrong: list[str]


def killed_often(act: Act, kills: int, home: Path, dice: random.Random) -> Killed:
    prepared = home.parent.parent / act.prepare.__name__  # the same for all acts that begin with it
    if not prepared.exists():
        prepared.mkdir(parents=True)
        if apart(lambda tell: act.prepare(prepared)).how:
            raise SystemExit(f"{prepared}: cannot be prepared")
    shutil.copytree(prepared, home)
    told: list[str] = []
    wrong: list[str] = []
    whole, met = 0.0, 0
    for round_ in range(kills + 1):
        answered = {one[2:] for one in told if one.startswith("! ")}
        left = [one[2:] for one in told if one.startswith("? ") and one[2:] not in answered]

        def work(tell: Tell, round_: int = round_, left: list[str] = left) -> None:
            os.chdir(home)
            act.do(home, round_, tell, left)

        seconds = whole * dice.uniform(0.0, 1.05) if round_ else None
        done = apart(work, seconds)
        whole = done.seconds if not round_ else whole
        met += done.how == "killed"
        told += [f"round {round_}", *done.told]
        found = looked_at(act, home, told)
        wrong += [f"after kill {round_}: {said}" for said in found]
        if done.how == "failed":
            wrong.append(f"round {round_} failed by itself")
    return Killed(met, kills - met, sum(one.startswith("! ") for one in told), wrong)

"""Jobs for the tests of workers: each does one thing that an engine or an importer may do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from assay.core.errors import InputError


def add(first: int, second: int) -> int:
    return first + second


def process_id() -> int:
    return os.getpid()


def prints_and_reads() -> str:
    sys.stdout.write("this is no answer\n")
    return sys.stdin.read()


def large(size: int) -> bytes:
    return b"x" * size


def raises() -> NoReturn:
    raise ValueError("no good")


def refuses() -> NoReturn:
    raise InputError("not a record", where="source.json:3", hint="Write one.")


def answers_what_cannot_travel() -> object:
    return lambda: None


def exits() -> NoReturn:
    sys.exit(3)


def exits_at_once() -> NoReturn:
    os._exit(5)


def is_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hangs(note: str = "") -> None:
    """Says who it is, and who it has started."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if note:
        Path(note).with_suffix(".part").write_text(f"{os.getpid()} {child.pid}")
        Path(note).with_suffix(".part").rename(note)
    time.sleep(600)


def leaves_behind(note: str = "") -> int:
    """Starts something that goes on; says so in its answer, or in a note without an answer."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if note:
        Path(note).write_text(str(child.pid))
        os._exit(6)
    return child.pid

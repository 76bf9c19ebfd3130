"""Commands run in this process, and the output that they printed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import assay.cli


@dataclass(frozen=True)
class Outcome:
    """The exit code of a command and the texts that it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Assay = Callable[..., Outcome]  # the fixture `assay_cli`: assay_cli("score", "--help")


def run_command(*args: object) -> Outcome:
    """Run `assay ARGS` in the current folder through the same `main` as the command."""
    out, err = _Stream(), _Stream()
    given, sys.argv = sys.argv, ["assay", *map(str, args)]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            assay.cli.main()
    except SystemExit as stop:
        code = stop.code or 0
    finally:
        sys.argv = given
    return Outcome(code, out.text, err.text)


def run_assay(*args: object) -> int:
    """Run `assay ARGS` in this process, which may be a fork, and return its exit code."""
    sys.argv = ["assay", *map(str, args)]
    try:
        assay.cli.main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def require_mounts() -> None:
    """Skip a test where a process may not mount a disk in a name space of its own."""
    tried = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"]
    if not shutil.which("unshare") or subprocess.run(tried, capture_output=True).returncode:
        pytest.skip("needs the right to mount a disk in a name space (unshare -rm)")


def child_environment() -> dict[str, str]:
    """The environment of a command in a process of its own, with the modules of this one."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"}


class _Stream(io.TextIOWrapper):
    """A text stream in memory. Commands also write to its `buffer`."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def text(self) -> str:
        return self.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined, no-any-return]

"""Refusing a second server on another host: file locks work between the processes of one machine,
and not over a network disk. A running server writes its host into the workspace."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import write_atomic
from assay.core.workspace import workspace

FILE = "server.json"
BEAT_SECONDS = 20.0  # how often a server shows that it is alive
GONE_SECONDS = 60.0  # without a sign of life for three beats, a server counts as stopped


class _RunningServer(msgspec.Struct, frozen=True):
    host: str
    process: int


@contextlib.contextmanager
def only_on_this_host(home: Path | None = None) -> Iterator[None]:
    """For as long as a server runs. A workspace that cannot be written tells nobody."""
    file = workspace(home) / FILE
    other = _server_alive(file)
    if other is not None and other.host != socket.gethostname():
        raise InputError(
            f"a server on {other.host} is using this project",
            where=str(file),
            hint="Stop it first. A project is used by one server, on a local disk.",
        )
    stop = threading.Event()
    with contextlib.suppress(InputError, OSError):
        running = _RunningServer(host=socket.gethostname(), process=os.getpid())
        write_atomic(file, msgspec.json.encode(running))
        threading.Thread(target=_beat, args=(file, stop), daemon=True).start()
    try:
        yield
    finally:
        stop.set()
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            if _read_running(file).process == os.getpid():
                file.unlink()


def _server_alive(file: Path) -> _RunningServer | None:
    try:
        found = _read_running(file)
        is_alive = time.time() - file.stat().st_mtime < GONE_SECONDS
    except (OSError, msgspec.MsgspecError):
        return None
    return found if is_alive else None


def _read_running(file: Path) -> _RunningServer:
    return msgspec.json.decode(file.read_bytes(), type=_RunningServer)


def _beat(file: Path, stop: threading.Event) -> None:
    while not stop.wait(BEAT_SECONDS):
        with contextlib.suppress(OSError):
            os.utime(file)

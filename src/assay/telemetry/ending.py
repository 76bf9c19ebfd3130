"""The end of a worker process, which skips the handlers of `atexit`: what is queued is written
first."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Protocol


class Ends(Protocol):
    def close(self) -> None: ...

    def patience(self) -> float:
        """How long closing may take (seconds)."""
        ...


_waiting: list[Ends] = []


def at_end_of_worker(one: Ends) -> None:
    """A child of `multiprocessing` has a list of its own, which is run while its threads still do.
    A pool that is used by `with` ends its workers by SIGTERM, which runs nothing at all."""
    context = sys.modules.get("multiprocessing.process")
    if context is None or context.parent_process() is None:
        return
    from multiprocessing.util import Finalize

    Finalize(None, one.close, exitpriority=100)
    _waiting.append(one)
    unheard = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # else the program has its own way
    if unheard and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)


def _terminated(number: int, frame: object) -> None:
    """Write what is queued, then end as asked. In threads of their own: the one that is interrupted
    may hold a lock."""
    closing = [(one, threading.Thread(target=one.close, daemon=True)) for one in _waiting]
    for _, thread in closing:
        thread.start()
    for one, thread in closing:
        thread.join(one.patience())
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)

"""Connections that send nothing, or half of a request, and what becomes of them.

uvicorn waits for the rest of a request as long as the sender likes, and every connection that waits
takes one of the few handles a process has: a thousand half-sent requests keep everybody out before
any token is looked at. Here a request must be whole within `WHOLE_AFTER` seconds, and of more than
`MOST` connections the one that has waited longest without a request is let go."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 400  # connections at a time; the usual limit of handles is 1,024
WHOLE_AFTER = 10.0  # seconds from the first byte to the end of the headers
MOST_HEADERS = 32 * 2**10  # bytes of a request before its body


class Patient(H11Protocol):
    """The protocol of uvicorn, with an end to its patience."""

    waiting: OrderedDict[Patient, None] = OrderedDict()  # without a whole request, oldest first
    open: set[Patient] = set()

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        Patient.open.add(self)
        self._timer: asyncio.TimerHandle | None = None
        self._wait()
        if len(Patient.open) > MOST:
            oldest = next(iter(Patient.waiting), self)  # all others are at work: this one goes
            oldest._let_go()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        Patient.open.discard(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._forget()  # the headers are here: what follows has limits of its own

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self._wait()

    def _wait(self) -> None:
        self._forget()
        Patient.waiting[self] = None
        self._timer = asyncio.get_running_loop().call_later(WHOLE_AFTER, self._let_go)

    def _forget(self) -> None:
        Patient.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _let_go(self) -> None:
        self._forget()
        self.transport.abort()


def raise_handles() -> None:
    """As many open files as the system lets this process have."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

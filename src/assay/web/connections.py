"""Connections that wait for whoever opened them, and what becomes of them.

uvicorn waits for the rest of a request, and for somebody to read the answer, as long as the other
side likes. Every connection that waits takes one of the few handles a process has: a thousand
half-sent requests keep everybody out before any token is looked at. Here each kind of waiting has
an end. Of more than `MOST` connections one that waits is let go: that of the address which has most
of them, and of its connections the one that has waited longest. So whoever comes last comes in.
Where none waits, the one goes that has asked most.

Requests are answered one at a time: a connection that sends the next before it has the answer is
closed after that answer, as HTTP lets a server do."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.web.visitors import network

MOST = 400  # connections at a time; the usual limit of handles is 1,024
ROOM = 100  # more, where all of those are at work, for addresses that have few
FEW = 8
MOST_HEADERS = 32 * 2**10  # bytes of a request before its body
# seconds: from the first byte to the end of the headers; for a body, which has stricter limits of
# its own where it is read; for somebody to read what was sent; for the last of it
PATIENCE = {"request": 10.0, "body": 60.0, "reading": 20.0, "leaving": 10.0}


class Opening(uvicorn.Server):
    """Calls `opened` when visitors can come in: who is told the address may use it at once."""

    def __init__(self, config: uvicorn.Config, opened: Callable[[], None]) -> None:
        super().__init__(config)
        self.opened = opened

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.opened()


class Patient(H11Protocol):
    """The protocol of uvicorn, with an end to its patience."""

    waiting: OrderedDict[Patient, None] = OrderedDict()  # for the other side, oldest first
    open: set[Patient] = set()
    held: Counter[str] = Counter()  # how many of them an address has
    _timer: asyncio.TimerHandle | None = None
    _awaited = ""  # one of PATIENCE; "" while we are at work
    _address = ""
    _asked = 0  # requests that were answered

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._address = network(self.client[0] if self.client else "")
        Patient.open.add(self)
        Patient.held[self._address] += 1
        self._look()
        if len(Patient.open) > MOST:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_for("")
        if self in Patient.open:
            Patient.open.remove(self)
            Patient.held[self._address] -= 1
            if not Patient.held[self._address]:
                del Patient.held[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        self._asked += 1
        if self.conn.trailing_data[0].strip():
            self.transport.close()
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def _look(self) -> None:
        if self.transport.is_closing():
            self._wait_for("leaving")
        elif self.flow.write_paused:
            self._wait_for("reading")
        elif self.cycle is None or self.cycle.response_complete:
            self._wait_for("request")
        else:
            self._wait_for("body" if self.cycle.more_body else "")

    def _wait_for(self, awaited: str) -> None:
        """What comes in small pieces moves no deadline."""
        if awaited == self._awaited:
            return
        self._awaited = awaited
        Patient.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if awaited and self in Patient.open:
            Patient.waiting[self] = None
            self._timer = self.loop.call_later(PATIENCE[awaited], self._let_go)

    def _let_go(self) -> None:
        self._wait_for("")
        self.transport.abort()

    def _make_room(self) -> None:
        waiting = [one for one in Patient.waiting if one is not self]
        if waiting:  # the first of several that have most is the oldest
            max(waiting, key=lambda one: Patient.held[one._address])._let_go()
            return
        reading = [one for one in Patient.open if one.cycle and one.scope["method"] != "POST"]
        most = max(reading, key=lambda one: (Patient.held[one._address], one._asked), default=self)
        if most._asked > FEW:
            most._let_go()
        elif Patient.held[self._address] > FEW or len(Patient.open) > MOST + ROOM:
            self._let_go()


def raise_handles() -> None:
    """As many open files as the system lets this process have."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

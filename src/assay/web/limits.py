"""Rate limits and thread pools of the server: a token bucket for each visitor, and separate threads
for reading, deciding and watching. Buckets are kept in memory: that is enough against guessing."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from assay.web.visitors import Refusal, User, access_of, identify, network_of

MOST_BUCKETS = 20_000
LONGEST_LINE = 64  # requests that wait for one desk
T = TypeVar("T")


@dataclass(frozen=True)
class Rate:
    """How many requests may come at once, and how many a second after that."""

    burst: float
    per_second: float


# signing in: by name and address together, by address, by name from anywhere
AT_THE_DOOR = (Rate(6, 1 / 60), Rate(30, 1 / 5), Rate(60, 1 / 20))
OF_A_PERSON = Rate(200, 40)
OF_A_SERVICE = Rate(2000, 500)


class Limiter:
    """The token buckets of all visitors."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}  # key -> (left, when)
        self.known: set[bytes] = set()  # keys of services that were right, as digests

    def take(self, key: str, rate: Rate) -> None:
        """Take one token; `Refusal` if none is left."""
        with self._lock:
            now = self._clock()
            left, when = self._buckets.pop(key, (rate.burst, now))
            left = min(rate.burst, left + (now - when) * rate.per_second)
            if len(self._buckets) >= MOST_BUCKETS:  # the one that was quiet for longest
                del self._buckets[next(iter(self._buckets))]
            self._buckets[key] = (max(left - 1, 0) if left >= 1 else left, now)
            if left < 1:
                raise Refusal(429, "too_often")

    def give_back(self, key: str) -> None:
        """Return a token, for an attempt that was no guess."""
        with self._lock:
            if key in self._buckets:
                left, when = self._buckets[key]
                self._buckets[key] = (left + 1, when)

    def forget(self, key: str) -> None:
        with self._lock:
            self._buckets.pop(key, None)


class Desks:
    """Thread limits by kind of work, so that decisions that wait for a locked store leave threads
    for reading and for monitoring. Static files have the rest."""

    def __init__(self) -> None:
        self.watching = CapacityLimiter(4)
        self.deciding = CapacityLimiter(12)
        self.reading = CapacityLimiter(24)

    def desk(self, method: str, *, watching: bool) -> CapacityLimiter:
        if watching:
            return self.watching
        return self.reading if method in ("GET", "HEAD") else self.deciding


async def at_desk(desk: CapacityLimiter, work: Callable[[Request], T], request: Request) -> T:
    """Run `work` in a thread of this desk. Where a long line waits already, nobody joins it."""
    if desk.statistics().tasks_waiting >= LONGEST_LINE:
        raise Refusal(503, "too_busy")
    return await to_thread.run_sync(work, request, limiter=desk)


def limiter_of(request: Request) -> Limiter:
    limiter: Limiter = request.app.state.limiter
    return limiter


def check_call(request: Request, user: User) -> None:
    """Count one call of a user or a service against its rate."""
    limiter = limiter_of(request)
    if user.key:
        limiter.take(f"key {user.name}", OF_A_SERVICE)
    else:
        limiter.take(f"user {user.name}", OF_A_PERSON)


def check_door(request: Request, name: str) -> str:
    """Count an attempt to sign in; gives the key of the bucket to empty if it succeeds."""
    address = network_of(request)
    keys = (f"door {name} {address}", f"door from {address}", f"door of {name}")
    for key, rate in zip(keys, AT_THE_DOOR, strict=True):
        limiter_of(request).take(key, rate)
    return keys[0]


def identify_at_rate(request: Request) -> User | None:
    """Who calls. Keys of services can be tried as often as passwords; one that was right before is
    not held up by those who guess from its address."""
    offered = request.headers.get("authorization", "")
    if not offered or not access_of(request).accounts:
        return identify(request)
    limiter, mark = limiter_of(request), hashlib.sha256(offered.encode()).digest()
    tried = f"keys from {network_of(request)}"
    is_new = mark not in limiter.known
    if is_new:
        limiter.take(tried, AT_THE_DOOR[1])
    user = identify(request)
    if user is None:
        limiter.known.discard(mark)
    elif is_new:
        limiter.known.add(mark)
        limiter.give_back(tried)
    return user

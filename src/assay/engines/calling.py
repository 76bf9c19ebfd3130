"""Calls to an engine: concurrency, a rate limit, a time limit for each call, and retries.

The latency of a query is that of the call that answered. Waiting for a thread, for the rate limit
or between two attempts is not the engine's, and is not counted. Answers come in the order of the
queries, however many run at once."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Generic, TypeVar

from assay.core.errors import EngineError
from assay.engines.engine_table import Calls

T = TypeVar("T")
Work = Callable[[int], T]  # the number of a query -> what its call gave

FIRST_WAIT = 0.25  # seconds before the first retry; doubled each time, and shortened by chance
LONGEST_WAIT = 8.0
WAITS = 30.0  # seconds that the waits of one query may take together
LATE = "no answer in"  # how the error of a call begins that took too long
SLACK = 1.0  # seconds before a thread that should have answered is left behind


class Temporary(EngineError):
    """An error that may pass. `wait` is how many seconds the engine asks for, if it does."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class Late(Temporary):
    """No answer within the limit of time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{LATE} {seconds:g} s")


class Answer(list[T]):
    """The answer of an engine that measures its own time."""

    millis: float | None = None
    abstained: bool = False


class Overdue(BaseException):
    """Raised inside a call of an engine when its time is over, past its own handlers."""


# ── one query ─────────────────────────────────────────────────────────────────────────────────────

TEMPORARY = (Temporary, TimeoutError, ConnectionError)


def patiently(attempt: Callable[[], T], calls: Calls, pace: RateLimit) -> tuple[T, int]:
    """The result of an attempt, and the number of retries it took. After a temporary failure the
    attempt is repeated, after a wait that doubles; the wait that an engine asks for is respected
    while all waits together stay within `WAITS`."""
    waited = 0.0
    for retry in range(calls.retries + 1):
        pace.wait()
        try:
            return attempt(), retry
        except TEMPORARY as error:
            asked = getattr(error, "wait", None) or 0.0
            wait = max(asked, _backoff(retry))
            if retry == calls.retries:
                raise
            if waited + wait > WAITS:
                asks = f" and asks to wait {asked:,.0f} s" if asked else ""
                raise EngineError(f"{error}{asks}") from error
            waited += wait
            time.sleep(wait)
    raise AssertionError("there is always a last attempt")


def _backoff(retry: int) -> float:
    return float(min(LONGEST_WAIT, FIRST_WAIT * 2**retry) * (0.5 + random.random() / 2))


class RateLimit:
    """At most `rate` calls a second, evenly, from however many threads."""

    def __init__(self, rate: float | None) -> None:
        self._between = 1 / rate if rate else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        if not self._between:
            return
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self._between
        time.sleep(max(0.0, turn - time.monotonic()))


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `Late` after the limit. It interrupts the main thread if the system can; for other
    threads, `QueryThreads` watches the time."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise Overdue

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except Overdue:
        raise Late(seconds) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def longest(calls: Calls) -> float:
    """Seconds after which a query should have been answered or given up: its attempts, the waits
    between them, and its turns."""
    attempts = calls.retries + 1
    turns = attempts * calls.concurrency / calls.rate if calls.rate else 0.0
    waits = WAITS if calls.retries else 0.0
    return attempts * calls.timeout + waits + turns + SLACK


# ── many queries ──────────────────────────────────────────────────────────────────────────────────


class QueryThreads(Generic[T]):
    """Threads that run several queries at once. A thread that is stuck in a call is abandoned, and
    another takes its place."""

    def __init__(self, work: Work[T], late: Work[T], calls: Calls) -> None:
        self._work, self._late, self._calls = work, late, calls
        self._limit = longest(calls)
        self._waiting: SimpleQueue[int] = SimpleQueue()
        self._done: SimpleQueue[tuple[int, T | BaseException]] = SimpleQueue()
        self._started: dict[int, float] = {}

    def done(self, numbers: Sequence[int]) -> Iterator[tuple[int, T]]:
        """Yield (number, answer) as each query is done."""
        for number in numbers:
            self._waiting.put(number)
        for _ in range(min(self._calls.concurrency, len(numbers))):
            self._start_thread()
        left = set(numbers)
        try:
            while left:
                for number, answer in self._next():
                    if number not in left:
                        continue  # it came after all, too late
                    left.remove(number)
                    if isinstance(answer, BaseException):
                        raise answer
                    yield number, answer
        finally:
            with contextlib.suppress(Empty):
                while True:
                    self._waiting.get_nowait()

    def _start_thread(self) -> None:
        threading.Thread(target=self._work_through_queue, daemon=True, name="asking").start()

    def _work_through_queue(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                number = self._waiting.get_nowait()
                self._started[number] = time.monotonic()
                try:
                    answer: T | BaseException = self._work(number)
                except BaseException as error:  # done() raises it
                    answer = error
                self._started.pop(number, None)
                self._done.put((number, answer))

    def _next(self) -> list[tuple[int, T | BaseException]]:
        try:
            return [self._done.get(timeout=0.5)]
        except Empty:
            now = time.monotonic()
            stuck = [at for at, since in list(self._started.items()) if now - since > self._limit]
            for number in stuck:
                self._started.pop(number, None)
                self._start_thread()
            return [(number, self._late(number)) for number in stuck]

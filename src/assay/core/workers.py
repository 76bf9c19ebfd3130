"""Run jobs in separate processes and collect an answer or a failure for each.

What runs here may crash, exit, hang or be killed without harm to the command: an engine of somebody
else, an importer on a broken file. A worker is a fresh interpreter with a pipe in and a pipe out.
It is neither of the two that `multiprocessing` offers:

- a *fork* copies a process whose other threads hold locks (polars has a pool of them): it can hang;
- a *spawn* runs the caller's script again in each worker, so that a script without
  `if __name__ == "__main__"` starts itself without end.

So a job is a function that can be imported. It, its arguments and its answer travel as pickles,
which is safe here: both ends are one program, and no file is involved. A worker has a session of
its own, so that Ctrl-C reaches the command alone, which then stops its workers. A worker goes with
all that it started: when it is not needed any more, once it has ended in good order; and when the
command ends, in whatever way, since it listens to its input all the time, and an input that ends
without a farewell says so. What a job prints goes to the error stream, since the output carries
answers.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import IO, Any, Generic, Literal, TypeVar

from assay.core import cluster
from assay.core.errors import AssayError, describe_error

T = TypeVar("T")
Answer = TypeVar("Answer", covariant=True)

# seconds, by taste: nothing measured depends on them
GRACE = 10.0  # for a worker to end by itself when it is no longer needed
LOOK = 1.0  # between checks of silent workers
LEFTOVER_GRACE = 0.5  # for the processes that a worker started to notice its end and clean up

# messages on the pipes, a format of our own: before each one stands how many bytes it has
LENGTH_BYTES = 8  # of an unsigned 64-bit number
FAREWELL = b""  # the message that says that there are no more jobs
# The worker looks for modules where the command does, which need not be where a new Python would.
START = "import sys; sys.path[:] = sys.argv[1:]; from assay.core.workers import serve; serve()"


@dataclass(frozen=True)
class Job(Generic[Answer]):
    """A function that can be imported, what it is called with, and how many seconds it may take.

    `quiet` is how many seconds it may say nothing, where it says with `note` how far it is: before
    the first note, and between two. `memory` is how many bytes its process may hold, where the
    system can limit that."""

    function: Callable[..., Answer]
    arguments: tuple[Any, ...] = ()
    seconds: float | None = None
    quiet: tuple[float, float] | None = None
    memory: int | None = None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a job has no answer: it `raised`, was not done in time (`late`), said nothing for too
    long (`silent`), needed more `memory` than it may, or its process `ended`.

    `error` is what it raised where that is an error of ours: it says itself what to do. `noted` is
    the last value that it noted."""

    kind: Literal["raised", "late", "silent", "memory", "ended"]
    message: str
    error: AssayError | None = None
    noted: Any = None


@dataclass(frozen=True)
class WorkerMessage:
    """A progress value that a job reports before it is done."""

    value: Any


def run_jobs(
    jobs: Sequence[Job[T]],
    *,
    at_once: int,
    fresh: bool = False,
    stop: threading.Event | None = None,
    heard: Callable[[int, Any], None] = lambda number, value: None,
) -> Generator[tuple[int, T | Failure]]:
    """(the job's number, its answer or failure) as each job ends, with `at_once` of them running.
    Within a second of `stop` being set no more come, and running jobs are ended. `heard` gets the
    number of a job and each value that it notes.

    A worker takes one job after another; with `fresh`, every job gets a new process. Use it with
    `contextlib.closing`, so that no job goes on when the caller stops.

    On a cluster the jobs go to its workers, which also run fresh jobs in processes of their own."""
    if cluster.is_on():
        yield from _on_cluster(jobs, fresh, stop)
        return
    events: SimpleQueue[Event] = SimpleQueue()
    waiting = list(enumerate(jobs))
    idle: list[Worker] = []
    busy: list[Worker] = []
    try:
        while (waiting or busy) and not (stop is not None and stop.is_set()):
            while waiting and len(busy) < at_once:
                worker = idle.pop() if idle else Worker(events)
                busy.append(worker)
                worker.give(*waiting.pop(0))
            for worker, answer in _next_events(events, busy):
                if isinstance(answer, WorkerMessage):
                    worker.heard_from(answer.value)
                    heard(worker.number, answer.value)
                    continue
                busy.remove(worker)
                if isinstance(answer, Failure):
                    answer = replace(answer, noted=worker.noted)
                if isinstance(answer, Failure) and answer.kind != "raised":
                    worker.kill()
                elif fresh:
                    worker.stop()
                else:
                    idle.append(worker)
                yield worker.number, answer
    finally:
        for worker in busy:
            worker.kill()
        for worker in idle:
            worker.stop()


def _on_cluster(
    jobs: Sequence[Job[T]], fresh: bool, stop: threading.Event | None
) -> Generator[tuple[int, T | Failure]]:
    apart = [(job, fresh or job.seconds or job.quiet or job.memory) for job in jobs]
    calls: list[cluster.Call] = [
        (run_apart, (job,)) if is_apart else (job.function, job.arguments)
        for job, is_apart in apart
    ]
    with contextlib.closing(cluster.as_done(calls)) as done:
        for number, future in done:
            if stop is not None and stop.is_set():
                return
            error = future.exception()
            if error is None:
                yield number, future.result()
            elif type(error).__name__ == "KilledWorker":
                yield number, Failure(kind="ended", message=str(error))
            else:
                ours = error if isinstance(error, AssayError) else None
                yield number, Failure(kind="raised", message=describe_error(error), error=ours)


def run_apart(job: Job[T]) -> T | Failure:
    """One job in a process of its own, wherever this is called."""
    with contextlib.closing(run_jobs([job], at_once=1, fresh=True)) as answers:
        return next(answers)[1]


# ── in the command ────────────────────────────────────────────────────────────────────────────────


class Worker:
    """A worker process as the command sees it."""

    def __init__(self, events: SimpleQueue[Event]) -> None:
        self.number = -1
        self._seconds = math.inf
        self._limit = math.inf
        self._quiet: tuple[float, float] = (math.inf, math.inf)
        self._silent_until = math.inf
        self.noted: Any = None
        command = [sys.executable, "-c", START, *(os.path.abspath(place) for place in sys.path)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._listener = threading.Thread(target=self._listen, args=(events,), daemon=True)
        self._listener.start()

    def give(self, number: int, job: Job[Any]) -> None:
        self.number = number
        self._seconds = job.seconds or math.inf
        self._limit = time.monotonic() + self._seconds
        self._quiet = job.quiet or (math.inf, math.inf)
        self._silent_until = time.monotonic() + self._quiet[0]
        self.noted = None
        payload = pickle.dumps((job.function, job.arguments, job.memory))
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, and will be found to have
            _send(self._process.stdin, payload)

    def heard_from(self, value: Any) -> None:
        self.noted = value
        self._silent_until = time.monotonic() + self._quiet[1]

    def seconds_left(self) -> float:
        return max(0.0, min(self._limit, self._silent_until) - time.monotonic())

    def failure(self) -> Failure | None:
        """The reason why no answer will come; None while one may still come."""
        if self._limit <= time.monotonic():
            return Failure(kind="late", message=f"not done after {self._seconds:g} s")
        if self._silent_until <= time.monotonic():
            return Failure(kind="silent", message="it does not respond")
        return None if self._process.poll() is None else self._ended()

    def stop(self) -> None:
        """Let it end in good order, so that its exit handlers run; then end the processes it
        left."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            _send(self._process.stdin, FAREWELL)
        self._close_input()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
        else:
            self._wait_for_group()
            self._kill_group()
            self._close_output()

    def kill(self) -> None:
        """End it now, with all the processes it started."""
        self._kill_group()
        self._process.kill()
        self._process.wait()
        self._close_input()
        self._close_output()

    def _wait_for_group(self) -> None:
        """Wait for processes that end with the worker, like the resource tracker of
        `multiprocessing`, so that they can clean up."""
        limit = time.monotonic() + LEFTOVER_GRACE
        while self._signal_group(0) and time.monotonic() < limit:
            time.sleep(LEFTOVER_GRACE / 50)

    def _kill_group(self) -> None:
        if hasattr(signal, "SIGKILL"):
            self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: int) -> bool:
        """Whether a process of the group was there to receive the signal. The group keeps the
        number of its worker, which no other process gets while the group has a member."""
        if not hasattr(os, "killpg"):
            return False
        try:
            os.killpg(self._process.pid, number)
        except OSError:
            return False
        return True

    def _listen(self, events: SimpleQueue[Event]) -> None:
        """In a thread: put every answer on the queue, and the end."""
        assert self._process.stdout is not None
        while (payload := _receive(self._process.stdout)) is not None:
            try:
                answer = pickle.loads(payload)
            except Exception as error:
                answer = Failure(
                    kind="raised", message=f"its answer cannot be read: {describe_error(error)}"
                )
            events.put((self, answer))
        events.put((self, self._ended()))

    def _ended(self) -> Failure:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(LOOK)
            how = f"signal {-status}" if status < 0 else f"status {status}"
            return Failure(kind="ended", message=f"its process ended with {how}")
        return Failure(kind="ended", message="its process no longer answers")

    def _close_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _close_output(self) -> None:
        """Close the output, unless a process that the job left behind still holds the pipe."""
        assert self._process.stdout is not None
        self._listener.join(LOOK)
        if not self._listener.is_alive():
            self._process.stdout.close()


Event = tuple[Worker, Any]  # who, and its answer or failure


def _next_events(events: SimpleQueue[Event], busy: list[Worker]) -> list[Event]:
    """The next message of a worker; or, after a while without one, the workers that are late or
    gone. An answer counts if it came before its job was found to be late."""
    left = min(worker.seconds_left() for worker in busy)
    try:
        worker, answer = events.get(timeout=min(LOOK, left))
    except Empty:
        failures = [(worker, worker.failure()) for worker in busy]
        return [(worker, failure) for worker, failure in failures if failure is not None]
    is_news = worker in busy  # the end of one that was stopped is none
    return [(worker, answer)] if is_news else []


# ── in the worker ─────────────────────────────────────────────────────────────────────────────────


_sending: list[IO[bytes]] = []  # in a worker: where its answers go
_turn = threading.Lock()


def is_worker() -> bool:
    """Whether this process is a worker: what runs here does no harm to the command."""
    return bool(_sending)


def note(value: Any) -> None:
    """From inside a job: report progress. Nothing happens outside a worker."""
    if _sending:
        with contextlib.suppress(OSError), _turn:
            _send(_sending[0], pickle.dumps(WorkerMessage(value)))


def serve() -> None:
    """Take jobs and answer them until there are no more."""
    requests, answers = _own_streams()
    _sending.append(answers)
    jobs: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive_jobs, args=(requests, jobs), daemon=True).start()
    while (payload := jobs.get()) != FAREWELL:
        answer = _run_payload(payload)
        sys.stdout.flush()
        with contextlib.suppress(OSError), _turn:  # the command may have gone, and so will this
            _send(answers, answer)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes, out of reach of what a job reads and prints."""
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return requests, answers


def _receive_jobs(requests: IO[bytes], jobs: SimpleQueue[bytes]) -> None:
    """In a thread: the end of the input without a farewell says that the command has gone."""
    while (payload := _receive(requests)) is not None:
        jobs.put(payload)
        if payload == FAREWELL:
            return
    _exit_with_group()


def _exit_with_group() -> None:
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _run_payload(payload: bytes) -> bytes:
    try:
        function, arguments, memory = pickle.loads(payload)
        _limit_memory(memory)
        return pickle.dumps(function(*arguments))
    except SystemExit:
        sys.stdout.flush()
        _exit_with_group()
        raise
    except AssayError as error:
        failure = Failure(kind="raised", message=str(error), error=error)
        with contextlib.suppress(Exception):  # an error class of a plugin may not travel
            return pickle.dumps(failure)
        return pickle.dumps(Failure(kind="raised", message=str(error)))
    except MemoryError:
        return pickle.dumps(Failure(kind="memory", message="it needs more memory than allowed"))
    except Exception as error:
        return pickle.dumps(Failure(kind="raised", message=describe_error(error)))


def _limit_memory(size: int | None) -> None:
    """Let this process hold so many bytes of data and no more; without a size, what it could hold
    at first. A system without such limits has none here."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        within = most if size is None else size
        if most != resource.RLIM_INFINITY:
            within = min(within, most)
        resource.setrlimit(resource.RLIMIT_DATA, (within, most))


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def _send(stream: IO[bytes], payload: bytes) -> None:
    stream.write(len(payload).to_bytes(LENGTH_BYTES, "big"))
    stream.write(payload)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes | None:
    """The next message, or None when there are no more: a message cut short is none."""
    length = _read_exactly(stream, LENGTH_BYTES)
    return None if length is None else _read_exactly(stream, int.from_bytes(length, "big"))


def _read_exactly(stream: IO[bytes], size: int) -> bytes | None:
    blocks: list[bytes] = []
    while size > 0:
        block = stream.read(size)
        if not block:
            return None
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)

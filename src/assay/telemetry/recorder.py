"""The recorder of the search log: a bounded queue, and one thread that writes batches, so that a
search never waits for the store.

The caller pays for one small record and one append, and takes no lock. Only if the queue is full
does it write a few records to the file itself. Whatever goes wrong behind
that (a full queue, a store that is down, a result that cannot be read) is counted and reported,
never raised. While the store is away, a second thread moves the queue into a file (`spill.py`).

The writer shares the interpreter with the callers. So it works in small pieces and steps aside
between them, as long as the queue is short; as the queue fills, the pieces grow."""

from __future__ import annotations

import atexit
import logging
import math
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from assay.store import StoreUnavailable
from assay.store.records import CLICK_SCORE, VOTE_SCORE, AuditEntry, Feedback, SearchLog
from assay.telemetry.records import (
    MAX_READ,
    Redaction,
    check_names,
    days_before,
    new_id,
    number,
    redact_search,
    redactor,
    shown_results,
)
from assay.telemetry.spill import Spill

if TYPE_CHECKING:
    from assay.store import Store

# ── the end of a worker process ───────────────────────────────────────────────────────────────────


class ClosesAtExit(Protocol):
    def close(self) -> None: ...

    def patience(self) -> float:
        """How long closing may take (seconds)."""
        ...


_waiting: list[ClosesAtExit] = []


def at_end_of_worker(one: ClosesAtExit) -> None:
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
        signal.signal(signal.SIGTERM, _write_then_end)


def _write_then_end(number: int, frame: object) -> None:
    """Write what is queued, then end as asked. In threads of their own: the one that is interrupted
    may hold a lock."""
    closing = [(one, threading.Thread(target=one.close, daemon=True)) for one in _waiting]
    for _, thread in closing:
        thread.start()
    for one, thread in closing:
        thread.join(one.patience())
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


# ── the recorder ──────────────────────────────────────────────────────────────────────────────────

# records written before callers get a chance (taste): a millisecond or so of the interpreter
PIECE = 16
ASIDE = 0.001  # seconds between two pieces; benchmarks/log_latency.py has the times
# seconds that a fork waits for the writer (taste): while it loads the database's modules, and later
LOADING, WRITING = 10.0, 1.0
_log = logging.getLogger("assay.telemetry")
_recorders: list[Recorder] = []
_held = threading.local()  # which recorders this thread holds for its fork


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What became of everything that was logged: accepted = written + queued + spilled + lost;
    dropped never got that far."""

    accepted: int = 0
    written: int = 0
    queued: int = 0
    spilled: int = 0  # in a file, until the store is back
    dropped: int = 0  # the queue was full: the store was down, or too slow
    lost: int = 0  # accepted, and then the store refused it, or it was down until the end
    unreadable: int = 0  # the call gave something that is no search
    last_error: str = ""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """How searches are recorded: how many may wait (`capacity`), how many are written at once
    (`batch`) and how often one looks (`interval`, seconds); what is taken out of queries, and after
    how many days a search is forgotten; how long closing may take (seconds); and how many bytes may
    wait in files while the store is away (`spill_bytes`, 0 for none)."""

    capacity: int = 10_000
    batch: int = 500
    interval: float = 0.25
    redactions: Sequence[str | Redaction] = ()
    retention_days: float | None = None
    close_timeout: float = 5.0
    spill_bytes: int = 256 * 2**20


class Recorder:
    """`open_store` is called in the writer's thread, at the first record, and again after a fork.
    With a `spill`, nothing is lost while the store is away, and what an earlier process could not
    send is sent."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        recording: Recording = Recording(),  # noqa: B008 - frozen
        spill: Spill | None = None,
    ) -> None:
        self._open_store = open_store
        self._spill = spill
        self._capacity, self._batch = recording.capacity, recording.batch
        self._interval, self._close_timeout = recording.interval, recording.close_timeout
        self._rules = redactor(recording.redactions)
        self._retention = None
        if recording.retention_days is not None:
            now = datetime.now(UTC)
            self._retention = now - days_before(now, recording.retention_days)
        self.start_anew()
        atexit.register(self.close)
        _recorders.append(self)
        if spill is not None and spill.files():
            self._start()

    def start_anew(self) -> None:
        """As at the beginning. Also in a forked child: a fork copies the queue and not the thread,
        and the parent writes what is in there."""
        # append and popleft are safe without a lock
        self._queue: deque[SearchLog | Feedback] = deque()
        self._lock = threading.Lock()  # of the counts; a caller takes it only for what is dropped
        self._writing = threading.Lock()  # held while modules load and the store is written
        self._thread: threading.Thread | None = None
        self._mover: threading.Thread | None = None
        self._store: Store | None = None
        self._closing = threading.Event()
        self._wake = threading.Event()
        if self._spill is not None:
            self._spill.after_fork()
        self._spills = threading.Event()  # something may have to go into the file
        self._in_hand: list[SearchLog | Feedback] = []  # what the writer is writing
        self._away = False  # the store did not answer the last time
        self._unsent = self._spill is not None  # files may wait, also of an earlier process
        self._taken = self._written = self._dropped = self._lost = self._unreadable = 0
        self._spilled = 0
        self._refused = 0  # of the unreadable, those of which nothing is written
        self._seen_dropped = self._told_dropped = self._told_failed = 0
        self._deadline = math.inf
        self._next_purge = 0.0
        self._last_error = ""

    # ── the caller's side: never raises, never waits ──────────────────────────────────────────────

    def log_search(
        self,
        query: str,
        results: Sequence[Any] = (),
        *,
        id: str = "",
        at: datetime | None = None,
        millis: float | None = None,
        **fields: Any,
    ) -> str:
        """Log one search; returns its id, for clicks and votes. `results` are ids, hits or (id,
        score) pairs in rank order; `fields` are corpus, practice_area, engine, case_id, by and
        error."""
        log_id = id or new_id()
        try:
            text = {name: "" if value is None else str(value) for name, value in fields.items()}
            record = SearchLog(
                id=str(log_id),
                at=at or datetime.now(UTC),
                query="" if query is None else str(query),
                millis=number(millis),
                results=shown_results(results),
                **text,
            )
        except Exception as error:
            self._refuse(error)
            return log_id
        self.put(record)
        return log_id

    def log_click(self, log_id: str, doc_id: str, *, rank: int | None = None, by: str = "") -> None:
        self._put_feedback(log_id, doc_id, "click", CLICK_SCORE, rank, by)

    def log_vote(
        self, log_id: str, doc_id: str, *, relevant: bool, rank: int | None = None, by: str = ""
    ) -> None:
        self._put_feedback(log_id, doc_id, "vote", VOTE_SCORE if relevant else 0, rank, by)

    def _put_feedback(
        self, log_id: str, doc_id: str, kind: Any, score: int, rank: int | None, by: str
    ) -> None:
        try:
            record = Feedback(
                log_id=str(log_id),
                doc_id=str(doc_id),
                kind=kind,
                relevance_score=score,
                at=datetime.now(UTC),
                rank=rank,
                by=str(by),
            )
        except Exception as error:
            self._refuse(error)
            return
        self.put(record)

    def put(self, record: SearchLog | Feedback) -> bool:
        """Queue a finished record; False when it was dropped."""
        try:
            check_names(record)
            if self._thread is None:
                self._start()
            full = len(self._queue) >= self._capacity
            if self._closing.is_set() or (full and not self._move_piece_to_file(PIECE)):
                self._drop()
                return False
            self._queue.append(_cut(record))
            if len(self._queue) >= self._batch and not self._wake.is_set():
                self._wake.set()
            if len(self._queue) * 2 >= self._capacity and not self._spills.is_set():
                self._spills.set()
        except Exception as error:
            self._refuse(error)
            return False
        return True

    def _drop(self) -> None:
        with self._lock:
            self._dropped += 1
            first = self._dropped == 1
        if first:
            _log.warning(
                "the telemetry queue is full: searches are served, and not logged (%s)",
                self._last_error or "the store is slow",
            )

    def _refuse(self, error: Exception) -> None:
        self.count_unreadable(error)
        self._refused += 1

    def count_unreadable(self, error: Exception) -> None:
        with self._lock:
            self._unreadable += 1
            self._last_error = f"{type(error).__name__}: {error}"

    # ── the writer's side ─────────────────────────────────────────────────────────────────────────

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                at_end_of_worker(self)
                self._thread = threading.Thread(
                    target=self._run, name="assay-telemetry", daemon=True
                )
                self._thread.start()
                if self._spill is not None:
                    self._mover = threading.Thread(
                        target=self._move_to_file, name="assay-telemetry-spill", daemon=True
                    )
                    self._mover.start()

    def _run(self) -> None:
        pause = self._interval
        waiting = self._in_hand
        while True:
            waiting += self._take_batch(self._piece() - len(waiting))
            if not waiting and not self._unsent:
                if self._closing.is_set():
                    return
                self._wake.wait(self._interval)
                self._wake.clear()
                continue
            try:
                with self._writing:
                    if self._unsent:
                        self._send_spilled()
                    if waiting:
                        self._write(waiting)
                pause, self._away = self._interval, False
                if self._piece() == PIECE:
                    time.sleep(ASIDE)
            except StoreUnavailable as error:
                self._last_error = str(error)
                self._away = True
                if self._spill is not None and self._closing.is_set():
                    waiting += self._take_batch(len(self._queue))
                if self._keep_in_file(waiting):
                    waiting.clear()
                    self._spills.set()
                    if self._closing.is_set():
                        return
                if time.monotonic() > self._deadline:
                    self._lose(len(waiting) + len(self._take_batch(len(self._queue))))
                    return
                if self._closing.is_set():
                    time.sleep(0.1)
                else:
                    self._closing.wait(pause)  # longer and longer; cut short by the end
                    pause = min(pause * 2, 30.0)

    # ── the file for when the store is away ───────────────────────────────────────────────────────

    def _move_to_file(self) -> None:
        """The second thread: while the store is away or too slow, the queue goes into the file. The
        writer may hang in a connection meanwhile."""
        while not self._closing.is_set():
            self._spills.wait(self._interval if self._away else None)
            self._spills.clear()
            while self._queue and (self._away or len(self._queue) * 2 >= self._capacity):
                if not self._move_piece_to_file(self._piece()):
                    break
                if len(self._queue) * 2 < self._capacity:
                    time.sleep(ASIDE)

    def _move_piece_to_file(self, size: int) -> bool:
        """Move the oldest queued records into the file; False if the file cannot take them. A
        caller that finds the queue full does this too: callers in a tight loop are faster than any
        thread that shares the interpreter with them."""
        if self._spill is None:
            return False
        taken = self._take_batch(size)
        kept = self._keep_in_file(taken)
        if not kept:
            with self._lock:
                self._queue.extendleft(reversed(taken))
                self._taken -= len(taken)
        return kept

    def _keep_in_file(self, records: Sequence[SearchLog | Feedback]) -> bool:
        """Put records into the file, as they may be stored; False if there is no room for them."""
        if self._spill is None or not records:
            return self._spill is not None
        try:
            if not self._spill.has_room():
                return False
            self._spill.append([self._storable(record) for record in records])
        except Exception as error:  # a full disk: the queue is all there is
            self._last_error = f"{type(error).__name__}: {error}"
            return False
        with self._lock:
            first, self._spilled = not self._spilled, self._spilled + len(records)
        self._unsent = True
        if first:
            why, where = self._last_error or "the store is slow", self._spill.folder
            _log.warning("telemetry: searches are kept in %s until they are sent (%s)", where, why)
        return True

    def _send_spilled(self) -> None:
        """Send the files that wait, of this process and of earlier ones. Where the store is away,
        the files stay."""
        if self._spill is None or not self._spill.files():
            self._unsent = False
            return
        store = self._connected()
        self._unsent = False  # set again by what comes meanwhile
        try:
            sent = self._spill.send(lambda records: self._write_stored(store, records))
        except BaseException:
            self._unsent = True
            raise
        with self._lock:
            self._spilled -= sent.own
            self._written += sent.own
            self._unreadable += sent.unreadable
        if sent.own or sent.others:
            count = sent.own + sent.others
            _log.warning("telemetry: %d searches that had waited in a file are written", count)

    def _write_stored(self, store: Store, records: list[SearchLog | Feedback]) -> None:
        """Write records that are storable already; one that the store refuses is left out."""
        try:
            self._add(store, records)
        except StoreUnavailable:
            raise
        except Exception:
            for record in records:
                try:
                    self._add(store, [record])
                except StoreUnavailable:
                    raise
                except Exception as error:
                    self.count_unreadable(error)

    def _storable(self, record: SearchLog | Feedback) -> SearchLog | Feedback:
        return redact_search(record, self._rules) if isinstance(record, SearchLog) else record

    def _piece(self) -> int:
        """How much to write at once: little while the queue is short, up to a whole batch as it
        fills."""
        if self._closing.is_set():
            return self._batch
        return min(max(PIECE, len(self._queue) // 20), self._batch)

    def _take_batch(self, most: int) -> list[SearchLog | Feedback]:
        with self._lock:
            taken = [self._queue.popleft() for _ in range(min(most, len(self._queue)))]
            self._taken += len(taken)
        return taken

    def _write(self, records: list[SearchLog | Feedback]) -> None:
        """Write all of `records` and empty the list; what is left in it when the store goes away
        was not written."""
        store = self._connected()
        try:
            self._write_batch(store, records)
            self._count_written(len(records))
            records.clear()
        except StoreUnavailable:
            raise
        except Exception:
            while records:  # one bad record must not take the others with it
                self._write_one(store, records[0])
                del records[0]
        self._report_drops(store)
        self._forget_old(store)

    def _write_one(self, store: Store, record: SearchLog | Feedback) -> None:
        try:
            self._write_batch(store, [record])
            self._count_written(1)
        except StoreUnavailable:
            raise
        except Exception as error:
            self._last_error = f"{type(error).__name__}: {error}"
            self._lose(1)

    def _write_batch(self, store: Store, records: Sequence[SearchLog | Feedback]) -> None:
        self._add(store, [self._storable(record) for record in records])

    def _add(self, store: Store, records: Sequence[SearchLog | Feedback]) -> None:
        searches = [record for record in records if isinstance(record, SearchLog)]
        if searches:
            store.add_searches(searches)
        feedback = [record for record in records if isinstance(record, Feedback)]
        if feedback:
            store.add_feedback(feedback)

    def _count_written(self, count: int) -> None:
        with self._lock:
            self._written += count

    def _connected(self) -> Store:
        if self._store is None:
            try:
                self._store = self._open_store()
            except StoreUnavailable:
                raise
            except Exception as error:
                # a wrong URL or a newer schema: a person must act, and may, while we run
                raise StoreUnavailable(str(error)) from error
        return self._store

    def _lose(self, count: int) -> None:
        with self._lock:
            self._lost += count

    def _report_drops(self, store: Store) -> None:
        """Once nothing more is dropped the store is told what it missed, so that a gap in the log
        can be seen in it."""
        over = self._dropped == self._seen_dropped or self._closing.is_set()
        self._seen_dropped = self._dropped
        missing = self._dropped - self._told_dropped
        if not missing or not over:
            return
        entry = AuditEntry(
            id=new_id(),
            at=datetime.now(UTC),
            by="telemetry",
            action="telemetry.dropped",
            subject="search_logs",
            reason=self._last_error,
            after={"dropped": missing},
        )
        try:
            store.append_audit([entry])
        except StoreUnavailable:
            raise
        except Exception as error:  # the log goes on, and this is tried again
            self._last_error = f"{type(error).__name__}: {error}"
            return
        self._told_dropped += missing
        _log.warning(
            "%d searches were not logged: the queue was full (%s)",
            missing,
            self._last_error or "the store is slow",
        )

    def _forget_old(self, store: Store) -> None:
        """Retention, once an hour. That it fails must not stop the log; the next hour tries
        again."""
        if self._retention is None or time.monotonic() < self._next_purge:
            return
        self._next_purge = time.monotonic() + 3600
        try:
            gone = store.purge(datetime.now(UTC) - self._retention)
        except Exception as error:
            _log.warning("old searches could not be removed: %s", error)
        else:
            _log.info("%d searches older than %s removed", gone.searches, self._retention)

    # ── ending ────────────────────────────────────────────────────────────────────────────────────

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all that was logged before is written. False when it is not by then, or when
        anything since the last call never will be; the log says how many and why."""
        counts = self.drain(timeout)
        failed = counts.lost + counts.dropped + self._refused
        new, self._told_failed = failed - self._told_failed, failed
        why = counts.last_error or "the store is slow"
        waiting = counts.queued + counts.spilled
        if waiting:
            _log.warning("telemetry: %d searches are not written yet (%s)", waiting, why)
        if new:
            _log.warning("telemetry: %d searches could not be written (%s)", new, why)
        return not waiting and not new

    def drain(self, timeout: float = 5.0) -> Counts:
        deadline = time.monotonic() + timeout
        while (counts := self.counts()).queued and time.monotonic() < deadline:
            self._wake.set()
            time.sleep(0.005)
        return counts

    def close(self) -> None:
        """Write what is queued, for as long as `close_timeout`; called at exit. What is left then
        is lost where the process ends, and said."""
        thread = self._thread
        if thread is None:
            return
        if self._closing.is_set():  # as when the signal to end comes in the middle of the end
            left = self._deadline - self._close_timeout - time.monotonic() + self.patience()
            thread.join(max(left, 0.0))
            return
        self._deadline = time.monotonic() + self._close_timeout
        self._closing.set()
        self._wake.set()
        self._spills.set()
        thread.join(self.patience())
        if self._mover is not None:
            self._mover.join(WRITING)  # what it has taken from the queue is in no file yet
        if thread.is_alive():  # it hangs: sending a search twice is harmless
            self._keep_in_file([*self._in_hand, *self._take_batch(len(self._queue))])
        if self._spill is not None:
            self._spill.release()
        counts = self.counts()
        if counts.lost or counts.dropped or counts.queued or counts.spilled:
            _log.warning(
                "telemetry: %d searches written, %d not yet, %d kept in a file, %d dropped, "
                "%d lost (%s)",
                counts.written,
                counts.queued,
                counts.spilled,
                counts.dropped,
                counts.lost,
                counts.last_error or "the store is slow",
            )
        if self._store is not None and not thread.is_alive():
            self._store.close()

    @property
    def closed(self) -> bool:
        return self._closing.is_set()

    def hold(self) -> bool:
        """Keep the writer from what a fork must not break in two: a module half loaded, a lock
        taken by a thread that the child does not have. Not for long: its store may be away."""
        return self._writing.acquire(timeout=LOADING if self._loads() else WRITING)

    def patience(self) -> float:
        """How long the end waits for the writer (seconds); longer while it loads the modules."""
        return self._close_timeout + (LOADING if self._loads() else WRITING)

    def _loads(self) -> bool:
        return self._thread is not None and self._store is None and not self._last_error

    def let_go(self) -> None:
        self._writing.release()

    def counts(self) -> Counts:
        with self._lock:
            accepted = self._taken + len(self._queue)
            queued = accepted - self._written - self._lost - self._spilled
            return Counts(
                accepted=accepted,
                written=self._written,
                queued=max(queued, 0),
                spilled=self._spilled,
                dropped=self._dropped,
                lost=self._lost,
                unreadable=self._unreadable,
                last_error=self._last_error,
            )


def _cut(record: SearchLog | Feedback) -> SearchLog | Feedback:
    """The writer redacts a search and keeps what a person could have typed; the queue holds no more
    than it reads for that."""
    if isinstance(record, Feedback) or max(len(record.query), len(record.error)) <= MAX_READ:
        return record
    query, error = record.query[:MAX_READ], record.error[:MAX_READ]
    return msgspec.structs.replace(record, query=query, error=error)


def _before_fork() -> None:
    """Several threads may fork at once: each lets go of what it holds itself."""
    _held.mine = [recorder for recorder in list(_recorders) if recorder.hold()]


def _after_in_parent() -> None:
    held, _held.mine = _held.mine, []
    for recorder in held:
        recorder.let_go()


def _after_in_child() -> None:
    _held.mine = []
    for recorder in list(_recorders):
        recorder.start_anew()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)

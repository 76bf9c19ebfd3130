"""Runs an engine on every query of a gold set, with concurrency, a rate limit, retries and a time
limit for each call, and checks its answers against the contract.

The latency of a query is that of the call that answered. Waiting for a thread, for the rate limit
or between two attempts is not the engine's, and is not counted. Answers come in the order of the
queries, however many run at once."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Real
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Generic, TypeVar

from assay.core.errors import AssayError, EngineError
from assay.core.extras import MissingExtra
from assay.core.types import Hit, Query, QueryResult, Run
from assay.engines.engine_table import ROW, Calls
from assay.engines.python import engine_name, error_text, is_text, settled

T = TypeVar("T")
Work = Callable[[int], T]  # the number of a query -> what its call gave

# Waits and limits are chosen, not measured.
FIRST_WAIT = 0.25  # seconds before the first retry; doubled each time, and shortened by chance
LONGEST_WAIT = 8.0  # seconds between two attempts
WAITS = 30.0  # seconds that the waits of one query may take together
SLACK = 1.0  # seconds before a thread that should have answered is left behind
OUT_OF_TIME = "no answer in"  # how the error of a call begins that took too long


class Temporary(EngineError):
    """An error that may pass. `wait` is how many seconds the engine asks for, if it does."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class OutOfTime(Temporary):
    """No answer within the limit of time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{OUT_OF_TIME} {seconds:g} s")


class Answer(list[T]):
    """The answer of an engine that measures its own time."""

    millis: float | None = None
    abstained: bool = False


class Overdue(BaseException):
    """Raised inside a call of an engine when its time is over, past its own handlers."""


# ── one query ─────────────────────────────────────────────────────────────────────────────────────

TEMPORARY = (Temporary, TimeoutError, ConnectionError)


def with_retries(attempt: Callable[[], T], calls: Calls, pace: RateLimit) -> tuple[T, int]:
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
    """Raise `OutOfTime` after the limit. It interrupts the main thread if the system can; for other
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
        raise OutOfTime(seconds) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def longest_wait(calls: Calls) -> float:
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
        self._limit = longest_wait(calls)
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


# ── an engine on every query ──────────────────────────────────────────────────────────────────────


Progress = Callable[[Iterable[Query]], Iterable[Query]]


def run_engine(
    engine: Any,
    queries: Sequence[Query],
    *,
    top_k: int,
    calls: Calls | None = None,
    progress: Progress = lambda queries: queries,
) -> Run:
    """Search every query. A call that raises is recorded as failed and the run goes on; an answer
    that breaks the contract (None, not a list, ids that are not strings) stops it, since every
    number after it would be wrong."""
    from assay.core.runs import run_from_results

    name, results = ask_all(engine, queries, top_k=top_k, calls=calls, progress=progress)
    return run_from_results(name, results, top_k=top_k)


def ask_all(
    engine: Any,
    queries: Sequence[Query],
    *,
    top_k: int,
    calls: Calls | None = None,
    progress: Progress = lambda queries: queries,
) -> tuple[str, list[QueryResult]]:
    """The engine's name and its answers, with everything the hits carry, in the order of the
    queries. Without `calls` one is asked after the other, without a limit of time."""
    asker = QueryRunner(engine, top_k, calls)
    results = asker.all(queries, progress)
    refuse_all_failed(asker.name, results)
    return asker.name, results


class AllFailed(EngineError):
    """No query was answered; `first` says why the first was not, `results` has every failure."""

    def __init__(
        self, message: str, first: str = "", name: str = "", results: Sequence[QueryResult] = ()
    ) -> None:
        super().__init__(message)
        self.first = first
        self.name = name
        self.results = tuple(results)


def refuse_all_failed(name: str, results: Sequence[QueryResult]) -> None:
    """Raise `AllFailed` if no query was answered."""
    if results and all(result.error for result in results):
        first = results[0].error or ""
        message = f"engine {name!r} failed on all {len(results)} queries; the first: {first}"
        raise AllFailed(message, first, name, results)


class QueryRunner:
    """An engine, and how it is called."""

    def __init__(self, engine: Any, top_k: int, calls: Calls | None) -> None:
        self.name = engine_name(engine)
        self._engine, self._top_k = engine, top_k
        self._calls, self._limited = calls or Calls(), calls is not None
        self._pace = RateLimit(self._calls.rate)
        self._accepts = accepted_parameters(engine.search)
        # an engine that keeps to the time limit itself gets it, any other is interrupted
        self._keeps_time = bool(getattr(engine, "keeps_time", False))
        at_once = self._calls.concurrency
        self._patience = max(5, 2 * at_once) if self._keeps_time else 2 * at_once

    def all(
        self,
        queries: Sequence[Query],
        progress: Progress,
        done: Callable[[Query, QueryResult], None] = lambda query, result: None,
    ) -> list[QueryResult]:
        """The answers in the order of the queries; `done` hears of each as it comes."""
        if queries and self._calls.warm_up:
            cycled = [queries[at % len(queries)] for at in range(self._calls.warm_up)]
            for _ in self._ask_each(cycled, lambda queries: queries):
                pass
        results: dict[int, QueryResult] = {}
        late = 0
        for number, result in self._ask_each(queries, progress):
            results[number] = result
            done(queries[number], result)
            late = late + 1 if (result.error or "").startswith(OUT_OF_TIME) else 0
            if late >= self._patience and self._limited:
                raise EngineError(
                    f"engine {self.name!r} hangs: {late} queries in a row had {result.error}"
                )
        return [results[number] for number in range(len(queries))]

    def _ask_each(
        self, queries: Sequence[Query], progress: Progress
    ) -> Iterator[tuple[int, QueryResult]]:
        if self._calls.concurrency == 1:
            for number, query in enumerate(progress(queries)):
                yield number, self.ask(query)
            return

        def late(number: int) -> QueryResult:
            return QueryResult(
                query_id=queries[number].id, error=str(OutOfTime(self._calls.timeout))
            )

        crew = QueryThreads(lambda number: self.ask(queries[number]), late, self._calls)
        done = crew.done(range(len(queries)))
        for _ in progress(queries):
            yield next(done)

    def ask(self, query: Query) -> QueryResult:
        took = 0.0

        def attempt() -> tuple[Any, Any, float]:
            nonlocal took
            started = time.perf_counter()
            try:
                with self._limit():
                    answer = self._engine.search(query.text, self._top_k, **self._arguments(query))
                    answer = settled(answer)
                    ranked = _is_ranked(answer)
                    hits = list(itertools.islice(answer, self._top_k)) if ranked else answer
            finally:
                took = (time.perf_counter() - started) * 1000
            own = getattr(answer, "millis", None)
            return answer, hits, took if own is None else own

        try:
            (answer, hits, millis), retries = with_retries(attempt, self._calls, self._pace)
        except (KeyboardInterrupt, MissingExtra):
            raise  # no query can be answered, which one error says
        except BaseException as error:
            return QueryResult(query_id=query.id, error=_message(error), millis=took)
        return self._to_query_result(query, answer, hits, millis, retries)

    def _limit(self) -> contextlib.AbstractContextManager[None]:
        if not self._limited or self._keeps_time:
            return contextlib.nullcontext()
        return time_limit(self._calls.timeout)

    def _arguments(self, query: Query) -> Mapping[str, object]:
        more = {name: value for name, value in row_values(query).items() if name in self._accepts}
        # a required parameter without a value is empty
        more |= {name: "" for name in self._accepts.required if name not in more}
        return more | {"timeout": self._calls.timeout} if self._keeps_time else more

    def _to_query_result(
        self, query: Query, answer: Any, hits: Any, millis: float, retries: int
    ) -> QueryResult:
        name = self.name
        if not isinstance(hits, list):
            raise EngineError(
                f"engine {name!r} returned {type(answer).__name__} on query {query.id!r}, "
                "expected a list of document ids"
            )
        read = tuple(_hit(each, name, query, rank) for rank, each in enumerate(hits, start=1))
        return QueryResult(
            query_id=query.id,
            hits=read,
            millis=millis,
            abstained=bool(getattr(answer, "abstained", False)),
            calibrated=getattr(answer, "calibrated", None),
            retries=retries,
        )


def row_values(query: Query) -> dict[str, object]:
    """The values of a gold set's row beside its text, without empty ones. A value for which the
    format has no field is in `extra`."""
    own: dict[str, object] = {
        "corpus": query.corpus,
        "practice_area": query.extra.get("practice_area") or query.topic,
        "language": query.language,
        "as_of": query.as_of,
        "filters": {},
    }
    return {
        name: value
        for name, said in own.items()
        if (value := said or query.extra.get(name)) not in ("", None, {}, [])
    }


class AcceptedParameters(frozenset[str]):
    """The values of a row for which an engine has parameters; those in `required` have no
    default."""

    required: frozenset[str] = frozenset()


def accepted_parameters(search: Callable[..., Any]) -> AcceptedParameters:
    try:
        parameters = inspect.signature(search).parameters.values()
    except (TypeError, ValueError):  # some functions written in C do not say
        return AcceptedParameters()
    named = [each for each in parameters if each.kind is not each.POSITIONAL_ONLY]
    every = any(each.kind is each.VAR_KEYWORD for each in named)
    names = AcceptedParameters(ROW if every else [each.name for each in named if each.name in ROW])
    names.required = frozenset(
        each.name for each in named if each.name in ROW and each.default is each.empty
    )
    return names


def _message(error: BaseException) -> str:
    return str(error) if isinstance(error, AssayError) else error_text(error)


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send what engines print, from Python or C, to stderr: stdout is for data."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # no stdout at all
        yield
        return
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _is_ranked(answer: Any) -> bool:
    """Whether the answer has an order: a list, a tuple, an array or a generator, not a set or a
    string."""
    return isinstance(answer, Iterable) and not isinstance(answer, str | bytes | Mapping | Set)


def _hit(answered: Any, name: str, query: Query, rank: int) -> Hit:
    """The hit for a string, a Hit, an object or mapping with an id, or an (id, score) pair."""
    if isinstance(answered, str):
        hit = Hit(doc_id=answered)
    elif isinstance(answered, Hit):
        hit = answered
    elif (
        isinstance(answered, tuple)
        and len(answered) == 2
        and isinstance(answered[0], str)
        and _is_number(answered[1])
    ):
        hit = Hit(doc_id=answered[0], score=float(answered[1]))
    elif isinstance(answered, Mapping):
        hit = _from_mapping(answered, name, query, rank)
    elif isinstance(getattr(answered, "doc_id", None), str):
        own = {"doc_id": answered.doc_id, "score": getattr(answered, "score", None)}
        hit = _from_mapping({**getattr(answered, "__dict__", {}), **own}, name, query, rank)
    else:
        raise _contract_error(name, query, rank, f"{type(answered).__name__} {answered!r:.60}")
    if not hit.doc_id:
        raise _contract_error(name, query, rank, "an empty id")
    if not is_text(hit.doc_id):
        raise _contract_error(name, query, rank, f"an id that is not text, {hit.doc_id!r:.60},")
    if hit.score is not None and math.isnan(hit.score):
        raise _contract_error(name, query, rank, f"the score NaN for {hit.doc_id!r}")
    return hit


def _from_mapping(fields: Mapping[str, object], name: str, query: Query, rank: int) -> Hit:
    for key in ("doc_id", "id", "_id", "opinion_id", "node_id"):
        doc_id = fields.get(key)
        if isinstance(doc_id, str):
            own = (key, "score", "title", "text")
            return Hit(
                doc_id=doc_id,
                score=_score(fields.get("score")),
                title=str(fields.get("title") or ""),
                text=str(fields.get("text") or ""),
                metadata={name: value for name, value in fields.items() if name not in own},
            )
    raise _contract_error(name, query, rank, f"an object without an id: {dict(fields)!r:.60}")


def _score(value: Any) -> float | None:
    return float(value) if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _contract_error(name: str, query: Query, rank: int, returned: str) -> EngineError:
    return EngineError(
        f"engine {name!r} returned {returned} at rank {rank} of query {query.id!r}, "
        "expected a document id"
    )

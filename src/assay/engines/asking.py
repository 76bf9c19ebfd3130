"""Runs an engine on every query of a gold set, and checks its answers against the contract."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Real
from typing import Any

from assay.core.errors import AssayError, EngineError
from assay.core.extras import MissingExtra
from assay.core.types import Hit, Query, QueryResult, Run
from assay.engines.calling import LATE, Late, QueryThreads, RateLimit, patiently, time_limit
from assay.engines.engine_table import Calls
from assay.engines.module import engine_name, error_text, is_text
from assay.engines.retrievers import settled
from assay.engines.templates import ROW

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
    failed = [result for result in results if result.error]
    if results and len(failed) == len(results):
        first = failed[0].error or ""
        message = f"engine {asker.name!r} failed on all {len(results)} queries; the first: {first}"
        raise AllFailed(message, first, asker.name, results)
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


class QueryRunner:
    """An engine, and how it is called."""

    def __init__(self, engine: Any, top_k: int, calls: Calls | None) -> None:
        self.name = engine_name(engine)
        self._engine, self._top_k = engine, top_k
        self._calls, self._limited = calls or Calls(), calls is not None
        self._pace = RateLimit(self._calls.rate)
        self._accepts = accepted(engine.search)
        # an engine that keeps to the time limit itself gets it, any other is interrupted
        self._keeps_time = bool(getattr(engine, "keeps_time", False))
        at_once = self._calls.concurrency
        self._patience = max(5, 2 * at_once) if self._keeps_time else 2 * at_once

    def all(self, queries: Sequence[Query], progress: Progress) -> list[QueryResult]:
        if queries and self._calls.warm_up:
            cycled = [queries[at % len(queries)] for at in range(self._calls.warm_up)]
            for _ in self._each(cycled, lambda queries: queries):
                pass
        results: dict[int, QueryResult] = {}
        late = 0
        for number, result in self._each(queries, progress):
            results[number] = result
            late = late + 1 if (result.error or "").startswith(LATE) else 0
            if late >= self._patience and self._limited:
                raise EngineError(
                    f"engine {self.name!r} hangs: {late} queries in a row had {result.error}"
                )
        return [results[number] for number in range(len(queries))]

    def _each(
        self, queries: Sequence[Query], progress: Progress
    ) -> Iterator[tuple[int, QueryResult]]:
        if self._calls.concurrency == 1:
            for number, query in enumerate(progress(queries)):
                yield number, self.ask(query)
            return

        def late(number: int) -> QueryResult:
            return QueryResult(query_id=queries[number].id, error=str(Late(self._calls.timeout)))

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
                    answer = self._engine.search(query.text, self._top_k, **self._more(query))
                    answer = settled(answer)
                    ranked = _is_ranked(answer)
                    hits = list(itertools.islice(answer, self._top_k)) if ranked else answer
            finally:
                took = (time.perf_counter() - started) * 1000
            own = getattr(answer, "millis", None)
            return answer, hits, took if own is None else own

        try:
            (answer, hits, millis), retries = patiently(attempt, self._calls, self._pace)
        except (KeyboardInterrupt, MissingExtra):
            raise  # no query can be answered, which one error says
        except BaseException as error:
            return QueryResult(query_id=query.id, error=_message(error), millis=took)
        return self._read(query, answer, hits, millis, retries)

    def _limit(self) -> contextlib.AbstractContextManager[None]:
        if not self._limited or self._keeps_time:
            return contextlib.nullcontext()
        return time_limit(self._calls.timeout)

    def _more(self, query: Query) -> Mapping[str, object]:
        more = {name: value for name, value in known_of(query).items() if name in self._accepts}
        # a required parameter without a value is empty
        more |= {name: "" for name in self._accepts.required if name not in more}
        return more | {"timeout": self._calls.timeout} if self._keeps_time else more

    def _read(
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
            retries=retries,
        )


def known_of(query: Query) -> dict[str, object]:
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


def accepted(search: Callable[..., Any]) -> AcceptedParameters:
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
        raise _broken(name, query, rank, f"{type(answered).__name__} {answered!r:.60}")
    if not hit.doc_id:
        raise _broken(name, query, rank, "an empty id")
    if not is_text(hit.doc_id):
        raise _broken(name, query, rank, f"an id that is not text, {hit.doc_id!r:.60},")
    if hit.score is not None and math.isnan(hit.score):
        raise _broken(name, query, rank, f"the score NaN for {hit.doc_id!r}")
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
    raise _broken(name, query, rank, f"an object without an id: {dict(fields)!r:.60}")


def _score(value: Any) -> float | None:
    return float(value) if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _broken(name: str, query: Query, rank: int, returned: str) -> EngineError:
    return EngineError(
        f"engine {name!r} returned {returned} at rank {rank} of query {query.id!r}, "
        "expected a document id"
    )

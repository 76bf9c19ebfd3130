"""Asking an engine every query of a gold set, and holding it to its contract."""

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

from assay.core.errors import EngineError
from assay.core.runs import run_from_results
from assay.core.types import Hit, Query, QueryResult, Run
from assay.engines.module import engine_name, is_text


def run_engine(
    engine: Any,
    queries: Sequence[Query],
    *,
    top_k: int,
    progress: Callable[[Iterable[Query]], Iterable[Query]] = lambda queries: queries,
) -> Run:
    """Search every query. A call that raises is recorded as failed and the run goes on; an answer
    that breaks the contract (None, not a list, ids that are not strings) stops it, since every
    number after it would be wrong."""
    name, results = ask_all(engine, queries, top_k=top_k, progress=progress)
    return run_from_results(name, results, top_k=top_k)


def ask_all(
    engine: Any,
    queries: Sequence[Query],
    *,
    top_k: int,
    progress: Callable[[Iterable[Query]], Iterable[Query]] = lambda queries: queries,
) -> tuple[str, list[QueryResult]]:
    """The engine's name and its answers with everything the hits carry."""
    name = engine_name(engine)
    dated = _takes_date(engine)
    results = []
    for query in progress(queries):
        results.append(
            _ask(
                engine, name, query, top_k, {"as_of": query.as_of} if dated and query.as_of else {}
            )
        )
    failed = [result for result in results if result.error]
    if results and len(failed) == len(results):
        raise EngineError(
            f"engine {name!r} failed on all {len(results)} queries; the first: {failed[0].error}"
        )
    return name, results


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Engines print, from Python or from C; stdout is for data."""
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


def _takes_date(engine: Any) -> bool:
    """Whether `search` has a parameter `as_of`: the law as it stood on the day of the question."""
    try:
        return "as_of" in inspect.signature(engine.search).parameters
    except (TypeError, ValueError):
        return False


def _ask(engine: Any, name: str, query: Query, top_k: int, more: Mapping[str, str]) -> QueryResult:
    started = time.perf_counter()
    try:
        answer = engine.search(query.text, top_k, **more)
        hits = list(itertools.islice(answer, top_k)) if _is_ranked(answer) else answer
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return QueryResult(
            query_id=query.id, error=message, millis=(time.perf_counter() - started) * 1000
        )
    millis = (time.perf_counter() - started) * 1000
    if inspect.iscoroutine(answer):
        answer.close()
        raise EngineError(
            f"engine {name!r}: search is async; wrap it in a plain method that returns the list"
        )
    if not isinstance(hits, list):
        raise EngineError(
            f"engine {name!r} returned {type(answer).__name__} on query {query.id!r}, "
            "expected a list of document ids"
        )
    read = tuple(_hit(answered, name, query, rank) for rank, answered in enumerate(hits, start=1))
    return QueryResult(
        query_id=query.id,
        hits=read,
        millis=millis,
        abstained=bool(getattr(answer, "abstained", False)),
    )


def _is_ranked(answer: Any) -> bool:
    """Anything with an order: a list, a tuple, an array, a generator. A set has none, a string is
    not a ranking."""
    return isinstance(answer, Iterable) and not isinstance(answer, str | bytes | Mapping | Set)


def _hit(answered: Any, name: str, query: Query, rank: int) -> Hit:
    """A string, a Hit, an object or mapping with an id, or an (id, score) pair."""
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

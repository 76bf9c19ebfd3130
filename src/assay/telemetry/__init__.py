"""The search log of a running service.

    from assay import telemetry

    telemetry.configure("postgresql://…/assay", redactions=["israeli-id", "email"])

    @telemetry.logged(corpus="precedent_library")
    def search(query, top_k=10): ...

or, by hand, `log_id = telemetry.log_search(query, hits, corpus=…)`. Neither ever raises or waits
for the store. Without `configure`, the store is `$ASSAY_STORE`, or `assay.db` in `$ASSAY_HOME` (by
default `.assay/`)."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from assay.core.workspace import default_store
from assay.store import load, open_store
from assay.telemetry.recorder import Counts, Recorder, Recording
from assay.telemetry.redact import Redaction

__all__ = [
    "Counts",
    "Recorder",
    "Recording",
    "Redaction",
    "configure",
    "counts",
    "flush",
    "log_click",
    "log_search",
    "log_vote",
    "logged",
]

P = ParamSpec("P")
R = TypeVar("R")
_recorder: Recorder | None = None
_made_for: object = None  # what `_recorder` was configured with
_lock = threading.Lock()


def _new_lock() -> None:
    """In a forked child: another thread of the parent may have had it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_new_lock)


def configure(
    store: str | Path = "", *, redactions: Iterable[str | Redaction] = (), **options: Any
) -> Recorder:
    """Say where searches are logged. `options` are those of `Recording`: retention_days, capacity,
    batch, … Saying the same again keeps the recorder, and waits for what it has to write."""
    global _recorder, _made_for
    target = store or default_store()
    with contextlib.suppress(Exception):  # the writer says what is missing
        load()
    recording = Recording(redactions=tuple(redactions), **options)
    here = os.stat(".")  # a path may be relative
    asked = (here.st_dev, here.st_ino, str(target), recording)
    with _lock:
        old = _recorder
        kept = old if _made_for == asked and old is not None and not old.closed else None
        made = _recorder = kept or Recorder(lambda: open_store(target), recording)
        _made_for = asked
    if kept is not None:
        kept.drain()
    elif old is not None:
        old.close()
    return made


def current() -> Recorder:
    global _recorder
    recorder = _recorder
    if recorder is None:
        with _lock:  # two threads that search first at the same time share one
            recorder = _recorder = _recorder or Recorder(lambda: open_store(default_store()))
    return recorder


def log_search(query: str, results: Any = (), **fields: Any) -> str:
    """Log one search; see `Recorder.log_search`."""
    return current().log_search(query, results, **fields)


def log_click(log_id: str, doc_id: str, **fields: Any) -> None:
    current().log_click(log_id, doc_id, **fields)


def log_vote(log_id: str, doc_id: str, *, relevant: bool, **fields: Any) -> None:
    current().log_vote(log_id, doc_id, relevant=relevant, **fields)


def flush(timeout: float = 5.0) -> bool:
    return current().flush(timeout)


def counts() -> Counts:
    return current().counts()


def logged(
    *, recorder: Recorder | None = None, results: Callable[[Any], Any] | None = None, **fields: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Log every call of a search function or method, sync or async: its query, its results, how
    long it took. The answer and the errors of the function go through untouched; a failed search is
    logged with its error.

    `results` finds the list in an answer that is not one: `results=lambda answer: answer.hits`.
    Where there is none the search is logged without results, and counted as unreadable."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        query_of = _query_reader(function)

        def shown_by(answer: Any, target: Recorder) -> Any:
            try:
                shown = results(answer) if results is not None else answer
                if shown is None or isinstance(shown, list | tuple):
                    return shown or ()
                raise TypeError(f"a search gave {type(shown).__name__}, expected a list of results")
            except Exception as problem:
                target.count_unreadable(problem)
                return ()

        def record(started: float, args: Any, kwargs: Any, answer: Any, error: str) -> None:
            target = recorder or current()
            target.log_search(
                query_of(args, kwargs),
                shown_by(answer, target) if not error else (),
                error=error,
                millis=(time.perf_counter() - started) * 1000,
                **fields,
            )

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def asynchronous(*args: P.args, **kwargs: P.kwargs) -> Any:
                with _Watch(record, args, kwargs) as watch:
                    watch.answer = await function(*args, **kwargs)
                return watch.answer

            return cast(Callable[P, R], asynchronous)

        @functools.wraps(function)
        def synchronous(*args: P.args, **kwargs: P.kwargs) -> R:
            with _Watch(record, args, kwargs) as watch:
                watch.answer = function(*args, **kwargs)
            return cast(R, watch.answer)

        return synchronous

    return decorate


class _Watch:
    """Times a call and records it, whichever way it ends."""

    def __init__(self, record: Callable[..., None], args: Any, kwargs: Any) -> None:
        self.answer: Any = None
        self._record, self._args, self._kwargs = record, args, kwargs

    def __enter__(self) -> _Watch:
        self._started = time.perf_counter()
        return self

    def __exit__(self, _type: Any, error: BaseException | None, _trace: Any) -> None:
        # an object that cannot be printed must not break a search
        with contextlib.suppress(Exception):
            message = f"{type(error).__name__}: {error}" if error is not None else ""
            self._record(self._started, self._args, self._kwargs, self.answer, message)


def _query_reader(function: Callable[..., Any]) -> Callable[[Any, Any], str]:
    """The argument named `query`, wherever it stands; else the first text."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some functions written in C do not say
        names = []
    place = names.index("query") if "query" in names else None

    def read(args: tuple[Any, ...], kwargs: dict[str, object]) -> str:
        if "query" in kwargs:
            return str(kwargs["query"])
        if place is not None and place < len(args):
            return str(args[place])
        return next((value for value in (*args, *kwargs.values()) if isinstance(value, str)), "")

    return read

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
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast
from uuid import UUID

from assay.core.workspace import default_store
from assay.store import load, open_store
from assay.telemetry.recorder import Counts, Recorder, Recording
from assay.telemetry.records import Redaction
from assay.telemetry.spill import Spill

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
        made = _recorder = kept or _recorder_on(target, recording)
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
            recorder = _recorder = _recorder or _recorder_on(default_store(), Recording())
    return recorder


def _recorder_on(target: str | Path, recording: Recording) -> Recorder:
    spill = Spill(target, recording.spill_bytes) if recording.spill_bytes else None
    return Recorder(lambda: open_store(target), recording, spill)


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

    Arguments of the call named practice_area, corpus and case_id are logged too; `fields` say what
    is logged where a call does not.

    `results` finds the list in an answer that is not one: `results=lambda answer: answer.hits`.
    Where there is none the search is logged without results, and counted as unreadable."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        arguments = _argument_reader(function)

        def shown_by(answer: Any, target: Recorder) -> Any:
            try:
                shown = results(answer) if results is not None else answer
                if shown is None or isinstance(shown, list | tuple):
                    return shown or ()
                raise TypeError(
                    f"a search returned {type(shown).__name__}, expected a list of results"
                )
            except Exception as problem:
                target.count_unreadable(problem)
                return ()

        def record(started: float, args: Any, kwargs: Any, answer: Any, error: str) -> None:
            target = recorder or current()
            query, named = arguments(args, kwargs)
            target.log_search(
                query,
                shown_by(answer, target) if not error else (),
                error=error,
                millis=(time.perf_counter() - started) * 1000,
                **{**fields, **named},
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


LOGGED_ARGUMENTS = ("practice_area", "corpus", "case_id")


def _argument_reader(
    function: Callable[..., Any],
) -> Callable[[tuple[Any, ...], Mapping[str, Any]], tuple[str, dict[str, str]]]:
    """Reads the query and the arguments that are logged from a call, by name. The query is the
    argument named `query`, else the first text."""
    parameters: Mapping[str, inspect.Parameter] = {}
    with contextlib.suppress(TypeError, ValueError):  # some functions written in C do not say
        parameters = inspect.signature(function).parameters
    places = {name: place for place, name in enumerate(parameters)}
    defaults = {
        name: each.default for name, each in parameters.items() if each.default is not each.empty
    }

    def value_of(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if name in kwargs:
            return kwargs[name]
        place = places.get(name, len(args))
        return args[place] if place < len(args) else defaults.get(name)

    def read(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        query = value_of("query", args, kwargs)
        if query is None:
            texts = (value for value in (*args, *kwargs.values()) if isinstance(value, str))
            query = next(texts, "")
        given = {name: _name_in(value_of(name, args, kwargs)) for name in LOGGED_ARGUMENTS}
        return str(query), {name: text for name, text in given.items() if text}

    return read


def _name_in(value: Any) -> str:
    """A name or an id that a call was given; empty if it is neither."""
    value = value.value if isinstance(value, Enum) else value
    is_name = isinstance(value, str | int | UUID) and not isinstance(value, bool)
    return str(value) if is_name else ""

"""Calls of one engine with many settings, each call kept in a file the moment it is answered.

A call is known by the engine, its parameters, the query with the values of its row, and the number
of hits. A sweep that was killed goes on where it stopped: no call that was answered is made again.
A call that failed is not kept. Settings are asked one after the other, each with the concurrency,
rate, retries and time limits of the engine's table. A Python module runs in a process of its own,
so that one setting that crashes or hangs is the failure of that setting alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AssayError, InputError
from assay.core.types import Hit, JsonObject, Query, QueryResult
from assay.core.workers import Failure, Job, note, run_jobs
from assay.core.workspace import workspace
from assay.engines.calling import QueryRunner, known_of, stdout_to_stderr
from assay.engines.engine_table import EngineConfig, with_parameters
from assay.engines.python import with_keywords
from assay.engines.running import failed_process, is_indexed_name, opened, quiet_of

Tick = Callable[[], None]


class KeptCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answered call: its key, the ranked ids with their scores, and how long it took."""

    key: str
    hits: tuple[tuple[str, float | None], ...] = ()
    millis: float | None = None


class CallFile:
    """The calls of a sweep in a file, one line each. A line that was cut short by a kill is
    dropped."""

    def __init__(self, path: Path, engine: str, top_k: int) -> None:
        self.path, self._engine, self._top_k = path, engine, top_k
        self._kept: dict[str, KeptCall] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.read_bytes() if path.exists() else b""
        whole = written[: written.rfind(b"\n") + 1]
        if len(whole) < len(written):
            os.truncate(path, len(whole))
        for line in whole.splitlines():
            try:
                call = msgspec.json.decode(line, type=KeptCall)
            except msgspec.DecodeError as error:
                raise InputError(
                    f"a call cannot be read: {error}",
                    where=str(path),
                    hint="Delete the file, or run again with --fresh: the calls are made anew.",
                ) from error
            self._kept[call.key] = call

    def key(self, parameters: Mapping[str, object], query: Query) -> str:
        """Of one call: the engine, its parameters, the query and the number of hits."""
        parts = [self._engine, sorted(parameters.items()), query.text, known_of(query), self._top_k]
        written = msgspec.json.encode(parts, order="sorted")
        return hashlib.blake2b(written, digest_size=16).hexdigest()

    def get(self, parameters: Mapping[str, object], query: Query) -> QueryResult | None:
        call = self._kept.get(self.key(parameters, query))
        if call is None:
            return None
        hits = tuple(Hit(doc_id=doc_id, score=score) for doc_id, score in call.hits)
        return QueryResult(query_id=query.id, hits=hits, millis=call.millis)

    def add(self, parameters: Mapping[str, object], query: Query, result: QueryResult) -> None:
        hits = tuple((str(hit.doc_id), hit.score) for hit in result.hits)
        call = KeptCall(self.key(parameters, query), hits, result.millis)
        with self.path.open("ab") as stream:
            stream.write(msgspec.json.encode(call) + b"\n")
        self._kept[call.key] = call


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """An engine to ask with many settings. `fingerprint` tells it from the same engine with other
    code, another index or another table; `path` is the file of calls."""

    config: EngineConfig
    fingerprint: str
    path: Path
    top_k: int

    def calls(self) -> CallFile:
        return CallFile(self.path, self.fingerprint, self.top_k)


def ask_settings(
    sweep: Sweep,
    settings: Sequence[JsonObject],
    queries: Sequence[Query],
    *,
    tick: Tick = lambda: None,
) -> Iterator[tuple[int, list[QueryResult]]]:
    """(number of the setting, its answers) for each setting, those that are known first. What
    stops a whole setting is the error of each of its queries that has no answer."""
    calls = sweep.calls()
    settings = [{**sweep.config.parameters, **setting} for setting in settings]
    waiting = []
    for number, setting in enumerate(settings):
        known = sum(calls.get(setting, query) is not None for query in queries)
        for _ in range(known):
            tick()
        if known == len(queries):
            yield number, _answers(calls, setting, queries, {})
        else:
            waiting.append(number)
    if sweep.config.search_module is None:
        for number in waiting:
            try:
                errors = ask_missing(sweep, settings[number], queries, calls, tick)
            except AssayError as problem:
                errors = {"": str(problem)}
            yield number, _answers(calls, settings[number], queries, errors)
        return
    home = str(workspace().resolve())
    jobs = [
        Job(
            _ask_in_worker,
            (sweep, settings[number], tuple(queries), home),
            quiet=quiet_of(sweep.config),
        )
        for number in waiting
    ]

    def heard(number: int, made: int) -> None:
        if made:
            tick()

    with closing(run_jobs(jobs, at_once=1, heard=heard)) as answers:
        for place, answer in answers:
            if isinstance(answer, Failure):
                answer = {"": str(answer.error or failed_process(answer))}
            setting = settings[waiting[place]]
            yield waiting[place], _answers(sweep.calls(), setting, queries, answer)


def ask_missing(
    sweep: Sweep, setting: JsonObject, queries: Sequence[Query], calls: CallFile, tick: Tick
) -> dict[str, str]:
    """Make the calls of one setting that are not in the file; {query: error} of those that
    failed."""
    missing = [query for query in queries if calls.get(setting, query) is None]
    errors: dict[str, str] = {}
    if not missing:
        return errors

    def keep(query: Query, result: QueryResult) -> None:
        if result.error is None:
            calls.add(setting, query, result)
        else:
            errors[query.id] = result.error
        tick()

    config = with_parameters(sweep.config, setting)
    with stdout_to_stderr(), _opened_once(config) as engine:
        QueryRunner(engine, sweep.top_k, config.calls).all(missing, list, keep)
    return errors


def _answers(
    calls: CallFile, setting: JsonObject, queries: Sequence[Query], errors: Mapping[str, str]
) -> list[QueryResult]:
    """The answers of a setting; an error under the empty id is that of all other queries."""

    def failed(query: Query) -> QueryResult:
        why = errors.get(query.id) or errors.get("") or "the call was not made"
        return QueryResult(query_id=query.id, error=why)

    return [calls.get(setting, query) or failed(query) for query in queries]


def _ask_in_worker(
    sweep: Sweep, setting: JsonObject, queries: Sequence[Query], home: str
) -> dict[str, str]:
    """In a worker, from the folder of the configuration, where its modules are."""
    os.environ["ASSAY_HOME"] = home
    if sweep.config.folder:
        os.chdir(sweep.config.folder)
    note(0)
    return ask_missing(sweep, setting, queries, sweep.calls(), lambda: note(1))


# ── Assay's own index, which is opened once for all settings ──────────────────────────────────────


def _opened_once(config: EngineConfig) -> Any:
    if config.engine is None or not is_indexed_name(config.engine):
        return opened(config)
    engine = _own_engine(config.engine).with_weights(config.parameters)
    return nullcontext(with_keywords(engine, {"texts": False}))


@lru_cache(maxsize=1)
def _own_engine(name: str) -> Any:
    from assay.engines.indexed import open_indexed

    return open_indexed(name)

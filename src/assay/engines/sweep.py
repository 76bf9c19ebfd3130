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

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, InputError
from assay.core.types import Hit, JsonObject, Query, QueryResult
from assay.core.workers import Failure, Job, note, run_jobs
from assay.core.workspace import workspace
from assay.engines.calling import QueryRunner, row_values, stdout_to_stderr
from assay.engines.engine_table import EngineConfig, with_parameters
from assay.engines.python import with_keywords
from assay.engines.running import engine_session, failed_process, is_indexed_name, quiet_of

Tick = Callable[[], None]


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """An engine to ask with many settings. `fingerprint` tells it from the same engine with other
    code, another index or another table; `path` is the file of calls. `whole_hits` are kept for
    golden questions, which look at more than ids and scores."""

    config: EngineConfig
    fingerprint: str
    path: Path
    top_k: int
    whole_hits: bool = False

    def key(self, parameters: Mapping[str, object], query: Query) -> str:
        """Of one call."""
        engine = [self.fingerprint, self.whole_hits, self.top_k, sorted(parameters.items())]
        written = msgspec.json.encode([engine, query.text, row_values(query)], order="sorted")
        return hashlib.blake2b(written, digest_size=16).hexdigest()


class KeptCall(msgspec.Struct, frozen=True):
    """One answered call."""

    key: str
    result: QueryResult


class CallFile:
    """The calls of a sweep in a file, one line each. A line that was cut short by a kill is
    dropped."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        path = sweep.path
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.read_bytes() if path.exists() else b""
        whole = written[: written.rfind(b"\n") + 1]
        if len(whole) < len(written):
            os.truncate(path, len(whole))
        try:
            decode = msgspec.json.Decoder(thread_safe(KeptCall)).decode
            calls = [decode(line) for line in whole.splitlines()]
        except msgspec.DecodeError as error:
            raise InputError(
                f"a call cannot be read: {error}",
                where=str(path),
                hint="Delete the file, or run again with --fresh: the calls are made again.",
            ) from error
        self._kept = {call.key: call.result for call in calls}

    def get(self, parameters: Mapping[str, object], query: Query) -> QueryResult | None:
        result = self._kept.get(self._sweep.key(parameters, query))
        return result and msgspec.structs.replace(result, query_id=query.id)

    def add(self, parameters: Mapping[str, object], query: Query, result: QueryResult) -> None:
        if not self._sweep.whole_hits:
            hits = tuple(Hit(doc_id=hit.doc_id, score=hit.score) for hit in result.hits)
            result = msgspec.structs.replace(result, hits=hits)
        call = KeptCall(self._sweep.key(parameters, query), result)
        with self._sweep.path.open("ab") as stream:
            stream.write(msgspec.json.encode(call) + b"\n")
        self._kept[call.key] = result

    def answers(
        self, parameters: Mapping[str, object], queries: Sequence[Query], errors: Mapping[str, str]
    ) -> list[QueryResult]:
        """Of one setting; an error under the empty id is that of all queries without an answer."""
        return [
            self.get(parameters, query)
            or QueryResult(
                query_id=query.id, error=errors.get(query.id) or errors.get("") or "never asked"
            )
            for query in queries
        ]


def ask_settings(
    sweep: Sweep,
    settings: Sequence[JsonObject],
    queries: Sequence[Query],
    *,
    tick: Tick = lambda: None,
) -> Iterator[tuple[int, list[QueryResult]]]:
    """(number of the setting, its answers) for each setting, those that are known first."""
    calls = CallFile(sweep)
    settings = [{**sweep.config.parameters, **setting} for setting in settings]
    waiting = []
    for number, setting in enumerate(settings):
        known = sum(calls.get(setting, query) is not None for query in queries)
        for _ in range(known):
            tick()
        if known == len(queries):
            yield number, calls.answers(setting, queries, {})
        else:
            waiting.append(number)
    if sweep.config.search_module is None:
        for number in waiting:
            try:
                errors = _ask_missing(sweep, settings[number], queries, calls, tick)
            except AssayError as problem:
                errors = {"": str(problem)}
            yield number, calls.answers(settings[number], queries, errors)
        return
    home, quiet = str(workspace().resolve()), quiet_of(sweep.config)
    jobs = [
        Job(_ask_in_worker, (sweep, settings[number], tuple(queries), home), quiet=quiet)
        for number in waiting
    ]

    def heard(number: int, made: int) -> None:
        if made:
            tick()

    with closing(run_jobs(jobs, at_once=1, heard=heard)) as found:
        for place, answer in found:
            if isinstance(answer, Failure):
                answer = {"": str(answer.error or failed_process(answer))}
            number = waiting[place]
            yield number, CallFile(sweep).answers(settings[number], queries, answer)


def _ask_missing(
    sweep: Sweep, setting: JsonObject, queries: Sequence[Query], calls: CallFile, tick: Tick
) -> dict[str, str]:
    """Make the calls of one setting that are not in the file; {query: error} of those that
    failed."""
    missing = [query for query in queries if calls.get(setting, query) is None]
    errors: dict[str, str] = {}

    def keep(query: Query, result: QueryResult) -> None:
        if result.error is None:
            calls.add(setting, query, result)
        else:
            errors[query.id] = result.error
        tick()

    config = with_parameters(sweep.config, setting)
    with stdout_to_stderr(), _opened_once(config, sweep.whole_hits) as engine:
        QueryRunner(engine, sweep.top_k, config.calls).all(missing, list, keep)
    return errors


def _ask_in_worker(
    sweep: Sweep, setting: JsonObject, queries: Sequence[Query], home: str
) -> dict[str, str]:
    """In a worker, from the folder of the configuration, where its modules are."""
    os.environ["ASSAY_HOME"] = home
    if sweep.config.folder:
        os.chdir(sweep.config.folder)
    note(0)
    return _ask_missing(sweep, setting, queries, CallFile(sweep), lambda: note(1))


# ── Assay's own index, which is opened once for all settings ──────────────────────────────────────


def _opened_once(config: EngineConfig, whole_hits: bool) -> Any:
    if config.engine is None or not is_indexed_name(config.engine):
        return engine_session(config)
    engine = _own_engine(config.engine).with_weights(config.parameters)
    return nullcontext(engine if whole_hits else with_keywords(engine, {"texts": False}))


@lru_cache(maxsize=1)
def _own_engine(name: str) -> Any:
    from assay.engines.indexed import open_indexed

    return open_indexed(name)

"""`assay run`: every configured gold set on every configured engine, cached by fingerprint, gates
decided."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import msgspec

from assay import __version__, formats
from assay.core.errors import AssayError, EngineError, InputError
from assay.core.files import read_json, sha256_of, write_atomic
from assay.core.fingerprints import gold_fingerprint, module_fingerprint
from assay.core.workspace import workspace
from assay.evaluation.gates import Gate
from assay.evaluation.golden_gates import is_golden_measure
from assay.reports.exports import export
from assay.workbench import baseline, corpora, judge, score
from assay.workbench.config import Config, EngineConfig, GateConfig, GoldConfig

WORKERS = 2  # engines may be heavy
VERDICT_EXIT = {"pass": 0, "fail": 1, "inconclusive": 3}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One engine on one gold set: results, or the error that stopped it."""

    gold: str
    engine: str
    results: dict[str, Any] | None
    cached: bool
    error: str = ""
    error_exit: int = 0

    @property
    def state(self) -> str:
        return "failed" if self.error else "unchanged" if self.cached else "scored"


def home() -> Path:
    return workspace()


def run_all(
    config: Config,
    file: Path,
    *,
    fresh: bool = False,
    done: Callable[[Outcome, int], None] = lambda outcome, total: None,
) -> list[Outcome]:
    """Score every pair of the configuration read from `file`; unchanged pairs come from the cache.
    `done` hears of each pair, and how many there are."""
    pairs, folder = list(_pairs(config)), file.resolve().parent
    outcomes: dict[tuple[str, str], Outcome] = {}
    waiting = []
    for gold_name, engine_name in pairs:
        cached = None if fresh else _cached(config, folder, gold_name, engine_name)
        if cached is not None:
            outcomes[gold_name, engine_name] = Outcome(
                gold=gold_name, engine=engine_name, results=cached, cached=True
            )
            done(outcomes[gold_name, engine_name], len(pairs))
        else:
            waiting.append((gold_name, engine_name))
    for pair, outcome in _scored(config, folder, waiting):
        outcomes[pair] = outcome
        _keep(outcome)  # whatever comes after, it need not be run again
        done(outcome, len(pairs))
    finished = [
        _with_verdict(outcomes[pair], config, file, list(outcomes.values())) for pair in pairs
    ]
    for outcome in finished:
        _keep(outcome)
        _report(outcome)
    return finished


def _scored(
    config: Config, folder: Path, waiting: list[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], Outcome]]:
    """Each pair as it is done, every one in a process of its own: an engine that crashes, hangs or
    leaves something behind is named, and the others have their results."""
    context, queue, running = get_context("spawn"), list(waiting), dict[Any, _Job]()
    try:
        while queue or running:
            while queue and len(running) < WORKERS:
                pair = queue.pop(0)
                answer, sending = context.Pipe(duplex=False)
                process = context.Process(
                    target=_work, args=(sending, config, folder, home().resolve(), *pair)
                )
                process.start()
                # the worker has it: when it ends, there is nothing more to wait for
                sending.close()
                seconds = config.engines[pair[1]].timeout
                running[answer] = _Job(
                    pair, process, time.monotonic() + seconds if seconds else math.inf
                )
            next_limit = min(job.limit for job in running.values())
            ready = wait(
                list(running),
                None if next_limit == math.inf else max(next_limit - time.monotonic(), 0),
            )
            late = [
                answer
                for answer, job in running.items()
                if answer not in ready and job.limit <= time.monotonic()
            ]
            for answer in (*ready, *late):
                job = running.pop(answer)
                yield (
                    job.pair,
                    _received(
                        answer, job, config.engines[job.pair[1]].timeout if answer in late else None
                    ),
                )
    finally:
        for job in running.values():
            _stop(job)


@dataclass(frozen=True)
class _Job:
    pair: tuple[str, str]
    process: BaseProcess
    limit: float


def _received(answer: Any, job: _Job, over: float | None) -> Outcome:
    """What a worker sent, or why it sent nothing."""
    error = "the engine ended its process: it crashed, exited, or ran out of memory"
    if over is not None:
        error = f"the engine was not done after {over:g} s, the timeout in the configuration"
    else:
        with contextlib.suppress(EOFError):
            found: Outcome = answer.recv()
            job.process.join()
            return found
    _stop(job)
    return _failed(*job.pair, error, EngineError.exit_code)


def _stop(job: _Job) -> None:
    job.process.kill()  # an engine may not listen to less
    job.process.join()


def _work(
    sending: Any, config: Config, folder: Path, workspace: Path, gold_name: str, engine_name: str
) -> None:
    """In a worker process. It goes when the command does, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command hears of it, and stops the workers
    threading.Thread(target=_leave_with, args=(parent_process(),), daemon=True).start()
    try:
        outcome = _score(config, folder, workspace, gold_name, engine_name)
    except Exception as error:
        outcome = _failed(
            gold_name,
            engine_name,
            f"something went wrong: {type(error).__name__}: {error}",
            AssayError.exit_code,
        )
    sending.send(outcome)


def _leave_with(parent: Any) -> None:
    wait([parent.sentinel])
    os._exit(1)


def _failed(gold_name: str, engine_name: str, error: str, error_exit: int) -> Outcome:
    return Outcome(
        gold=gold_name,
        engine=engine_name,
        results=None,
        cached=False,
        error=error,
        error_exit=error_exit,
    )


def exit_code(outcomes: list[Outcome]) -> int:
    """The worst of all: an error of the tool or engine, a failed gate, an inconclusive one."""
    codes = {outcome.error_exit for outcome in outcomes if outcome.error}
    verdicts = [outcome.results.get("verdict") for outcome in outcomes if outcome.results]
    codes |= {VERDICT_EXIT[verdict["status"]] for verdict in verdicts if verdict}
    golden_gates = [
        gate for outcome in outcomes if outcome.results for gate in outcome.results.get("gates", ())
    ]
    codes |= {1} if any(gate["status"] == "fail" for gate in golden_gates) else set()
    return next((code for code in (4, 2, 1, 3) if code in codes), 0)


def _pairs(config: Config) -> Iterator[tuple[str, str]]:
    for gold_name, gold in config.gold.items():
        for engine_name in gold.engines or config.engines:
            yield gold_name, engine_name


def _score(
    config: Config, folder: Path, workspace: Path, gold_name: str, engine_name: str
) -> Outcome:
    """In a worker process, from the folder of the configuration, so that search modules are found;
    the workspace stays that of the folder the command was given in."""
    os.environ["ASSAY_HOME"] = str(workspace)
    os.chdir(folder)
    gold, engine = config.gold[gold_name], config.engines[engine_name]
    try:
        scored = score.score(
            Path(gold.path),
            search_module=engine.search_module,
            engine=engine.engine,
            corpus=Path(engine.corpus) if engine.corpus else None,
            run_file=Path(engine.run) if engine.run else None,
            measures=gold.measures,
            top_k=engine.top_k,
            baseline=Path(gold.baseline) if gold.baseline else None,
        )
    except AssayError as error:
        return _failed(gold_name, engine_name, str(error), error.exit_code)
    results = scored.results | {"cache_key": _cache_key(gold, engine, folder)}
    return Outcome(gold=gold_name, engine=engine_name, results=results, cached=False)


def _with_verdict(outcome: Outcome, config: Config, file: Path, every: list[Outcome]) -> Outcome:
    """Gates are cheap and their policy changes often, so they are decided anew even on cached
    results."""
    if outcome.results is None:
        return outcome
    own = is_golden(outcome.results)
    gates = [
        _gate(gate)
        for gate in config.gates
        if gate.gold in ("", outcome.gold)
        and gate.engine in ("", outcome.engine)
        and (gate.gold or _concerns(gate, own, every))
    ]
    stated = config.gold[outcome.gold].baseline
    baseline = Path(stated) if stated else None
    decided: dict[str, Any] = {}
    try:
        if own:
            decided = {"gates": score.golden_gates(outcome.results, gates, baseline)}
        elif gates:
            decided = {"verdict": judge.verdict(outcome.results, gates, baseline)}
    except InputError as error:
        if error.where:
            raise  # a baseline that cannot be read names itself
        raise InputError(error.message, where=str(file), hint=error.hint) from error
    return Outcome(
        gold=outcome.gold,
        engine=outcome.engine,
        cached=outcome.cached,
        results=outcome.results | decided,
    )


def _concerns(gate: GateConfig, own: bool, every: list[Outcome]) -> bool:
    """A gate that names no gold set is for the sets that have its measure; where all sets are of
    one kind it is for them, so that a measure written wrong is refused and not passed over."""
    kinds = {is_golden(outcome.results) for outcome in every if outcome.results is not None}
    return len(kinds) == 1 or is_golden_measure(gate.measure) == own


def _gate(gate: GateConfig) -> Gate:
    return Gate(**{field: getattr(gate, field) for field in Gate.__struct_fields__})


def _path(gold_name: str, engine_name: str) -> Path:
    return home() / "results" / f"{gold_name}--{engine_name}.json"


def _keep(outcome: Outcome) -> None:
    if outcome.results is not None:
        write_atomic(_path(outcome.gold, outcome.engine), score.encode(outcome.results))


def _report(outcome: Outcome) -> None:
    if outcome.results is not None:
        path = _path(outcome.gold, outcome.engine)
        if is_golden(outcome.results):
            baseline.write_reports(outcome.results, path.with_suffix(".md"))
        write_atomic(path.with_suffix(".html"), export(outcome.results, ".html"))


def is_golden(results: dict[str, Any]) -> bool:
    return "gates" in results


def checks_of(results: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(name, status, message) of every gate, and of every MUST question of a golden set."""
    for check in results.get("verdict", {}).get("checks", ()):
        name = check["gate"]["name"] or f"{check['gate']['measure']} {check['gate']['slice']}"
        yield name, check["status"], check["message"]
    for number, gate in enumerate(results.get("gates", ())):
        yield (
            str(gate.get("name") or f"gate {number + 1}"),
            gate["status"],
            str(gate.get("message", "")),
        )
    for entry in results["per_query"]:
        if entry.get("must"):
            reason = str(entry.get("reason") or "")
            yield (
                entry["query_id"],
                "pass" if entry["passed"] else "fail",
                f"{entry['query_text']}: {reason}",
            )


def _cached(
    config: Config, folder: Path, gold_name: str, engine_name: str
) -> dict[str, Any] | None:
    path = _path(gold_name, engine_name)
    if not path.exists():
        return None
    try:
        results = read_json(path)
        key = _cache_key(config.gold[gold_name], config.engines[engine_name], folder)
    except (InputError, EngineError):
        return None  # it will be reported when the pair is scored
    if not isinstance(results, dict) or results.get("cache_key") != key:
        return None
    failed = results.get("receipt", {}).get("counts", {}).get("n_failed", 0)
    return None if failed else results  # a call that failed may succeed now


def _cache_key(gold: GoldConfig, engine: EngineConfig, folder: Path) -> str:
    """Everything the results depend on: the gold set, the engine's settings, its corpus and its
    source. Modules and frozen corpora are found from `folder`, that of the configuration."""
    parts: list[Any] = [__version__, msgspec.to_builtins(engine), gold.measures, gold.baseline]
    parts.append(gold_fingerprint(formats.read_gold(Path(gold.path))))
    parts.append(sha256_of(Path(gold.path)))  # topics and types shape the slices
    parts += [
        sha256_of(folder / path)
        for path in (engine.corpus, engine.run, gold.baseline)
        if path and (folder / path).exists()
    ]
    named = [name for name in (engine.engine, engine.corpus) if name]
    for name in (str(folder / name) if (folder / name).is_file() else name for name in named):
        if corpora.is_corpus(name):
            parts.append(
                corpora.corpus_named(name).fingerprint
            )  # it may have been imported or frozen again
    if engine.search_module:
        parts.append(module_fingerprint(engine.search_module, folder))
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()

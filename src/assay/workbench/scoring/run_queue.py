"""The queue of runs that are started from a page: one at a time, each in its own process, with its
progress, and kept in the history when it is done."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from assay import formats
from assay.core.errors import AssayError, InputError, NotHere
from assay.core.extras import is_installed
from assay.core.files import stamp_of
from assay.core.results import GoldenResults, Results
from assay.core.types import Query
from assay.core.workers import Failure, Job, run_jobs
from assay.core.workspace import workspace
from assay.engines.engine_table import EngineConfig
from assay.engines.running import failed_process, quiet_of
from assay.judging.labels import read_policy
from assay.judging.pool import is_answer_set, pool_path
from assay.telemetry.records import new_id
from assay.workbench.deciding.run_boards import (
    configured_name,
    run_line,
    verdict_risk,
    verdict_today,
)
from assay.workbench.deciding.single_judge_risk import ask_second_judge
from assay.workbench.judging.vote_totals import set_progress
from assay.workbench.judging.votes_to_labels import recompute_outdated_labels
from assay.workbench.project.audit_trail import note
from assay.workbench.project.config import GoldConfig, refuse_unlisted_engine
from assay.workbench.project.service import Service, compute_once, gold_path, stored_name
from assay.workbench.scoring.graded import refuse_other_documents
from assay.workbench.scoring.history import StoredRun, latest_runs, run_records, store_run
from assay.workbench.scoring.request import request_for
from assay.workbench.scoring.run import gates_on
from assay.workbench.scoring.score import score, verdict_on
from assay.workbench.searching.corpora import CorpusRow, readable_corpora

__all__ = ["RunChoices", "RunJob", "RunQueue", "choices", "engines_again"]

State = Literal["waiting", "running", "done", "failed", "cancelled"]

# None of these is measured: they keep a page and its memory small.
MAX_WAITING = 20  # jobs that may wait
REMEMBERED = 200  # finished jobs that are listed
STOPS = 5.0  # seconds that a cancelled run has to end
LOOK = 0.2  # seconds between two notes on progress
RAN = 500  # newest runs of a set that are searched for the latest of each engine


class RunJob(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was asked for: `done` of `total` queries, and when it is over the run that came of
    it, or why there is none. `counted` documents were labelled by newer votes before it."""

    id: str
    gold: str
    engine: str
    by: str
    at: datetime
    state: State = "waiting"
    done: int = 0
    total: int = 0
    ahead: int = 0  # jobs before it
    counted: int = 0
    seconds: float | None = None
    run: str = ""
    error: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")


class _Cancelled(Exception):
    """Somebody stopped the run."""


class RunChoices(msgspec.Struct, frozen=True, kw_only=True):
    """The sets and engines that a run can combine."""

    gold: list[str]
    engines: list[str]
    corpora: list[str]


def choices(service: Service) -> RunChoices:
    """Engines that a person configured, and corpora that are imported, where our own engine is
    installed: a page names no code."""
    engines = list(service.config.engines) if service.config else []
    searchable = readable_corpora(service.home) if is_installed("search") else []
    return RunChoices(
        gold=[name for name, path in service.gold_sets.items() if not is_answer_set(path)],
        engines=engines,
        corpora=[row.name for row in searchable if row.name not in engines],
    )


def engines_again(service: Service, gold: str) -> list[str]:
    """The engines that ran on a set before it was as it is now, and can be run here. Where votes
    wait to be counted these are all that ran."""
    standing = set_progress(gold, gold_path(service, gold))
    latest = latest_runs(run_records(service, gold=gold, limit=RAN), lambda run: run.engine)
    old = [
        record.engine
        for record in latest
        if standing.uncounted or run_line(service, record).fingerprint != standing.fingerprint
    ]
    corpora = readable_corpora(service.home) if old else []
    known = {*(service.config.engines if service.config else ()), *(row.name for row in corpora)}
    return [engine for engine in old if engine in known and _fits(service, gold, engine, corpora)]


@dataclass(frozen=True, kw_only=True)
class _ScoreOrder:
    """An order to a worker: score one engine on one set."""

    name: str  # of the set
    gold: GoldConfig
    engine: EngineConfig
    home: str
    folder: str
    notes: str  # the file in which it says how far it is


class RunQueue:
    """The queue of runs of one server. Jobs that run when it closes end with the process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._jobs: OrderedDict[str, RunJob] = OrderedDict()
        self._notes: Path | None = None  # a folder for what runs say of how far they are
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._stop = threading.Event()  # for the one that runs

    def follow(self, service: Service) -> None:
        """Use the engines and sets that the project has now for what starts from here on."""
        self._service = service

    def start(self, gold: str, engine: str, *, by: str) -> RunJob:
        """Ask for a run. The same one that waits already is not asked for twice."""
        path = gold_path(self._service, gold)
        _refuse_misfit(self._service, gold, engine)
        total = len(formats.read_gold(path).queries)
        with self._lock:
            if self._closed:
                raise InputError("the server is stopping", hint="Try again when it is back.")
            waits = [job for job in self._jobs.values() if not job.is_over]
            for job in waits:
                if (job.gold, job.engine, job.state) == (gold, engine, "waiting"):
                    return self._with_progress(job)
            if len(waits) >= MAX_WAITING:
                raise InputError(
                    f"{MAX_WAITING} runs are already waiting", hint="Wait until some are done."
                )
            job = RunJob(
                id=new_id(), gold=gold, engine=engine, by=by, at=self._service.clock(), total=total
            )
            self._jobs[job.id] = job
            self._forget()
            if self._thread is None:
                self._notes = Path(tempfile.mkdtemp(prefix="assay-runs-"))
                self._thread = threading.Thread(target=self._work, daemon=True, name="runs")
                self._thread.start()
            self._lock.notify_all()
            return self._with_progress(job)

    def run_again(self, gold: str, *, by: str) -> list[RunJob]:
        """Count what was judged since, and run the engines again whose latest run on a set is
        older than that: one press for what would be four."""
        dataset = gold_path(self._service, gold)
        engines = engines_again(self._service, gold)
        if not engines:
            recompute_outdated_labels(dataset, by=by)
        return [self.start(gold, engine, by=by) for engine in engines]

    def cancel(self, job_id: str, *, by: str) -> RunJob:
        """Stop a run that waits or runs: nothing of it is kept. One that is over stays as it is."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                raise NotHere(f"no run {job_id!r} was started here")
            if job.is_over:
                return job
            if job.state == "waiting":
                self._jobs[job.id] = msgspec.structs.replace(job, state="cancelled")
                self._lock.notify_all()
            else:
                self._stop.set()
        note(self._service, by, "run.cancelled", f"{job.gold} {job.engine}")
        return self.wait(job_id, STOPS)

    def job(self, job_id: str) -> RunJob | None:
        with self._lock:
            job = self._jobs.get(job_id)
            return self._with_progress(job) if job else None

    def jobs(self) -> list[RunJob]:
        """The newest first."""
        with self._lock:
            return [self._with_progress(job) for job in reversed(self._jobs.values())]

    def wait(self, job_id: str, seconds: float = 60.0) -> RunJob:
        """Wait until a job is over; for tests and scripts."""
        limit = time.monotonic() + seconds
        with self._lock:
            while not self._jobs[job_id].is_over and (left := limit - time.monotonic()) > 0:
                self._lock.wait(left)
            return self._jobs[job_id]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        if self._thread is not None:
            self._thread.join(1.0)
        if self._notes is not None:
            shutil.rmtree(self._notes, ignore_errors=True)

    # ── inside ────────────────────────────────────────────────────────────────────────────────────

    def _with_progress(self, job: RunJob) -> RunJob:
        if job.state == "waiting":
            before = 0
            for other in self._jobs.values():
                if other.id == job.id:
                    break
                before += not other.is_over
            return msgspec.structs.replace(job, ahead=before)
        if job.state == "running":
            return msgspec.structs.replace(job, done=min(_read_notes(self._note(job)), job.total))
        return job

    def _note(self, job: RunJob) -> Path:
        return (self._notes or Path()) / job.id

    def _forget(self) -> None:
        for job in [job for job in self._jobs.values() if job.is_over][: -REMEMBERED or None]:
            del self._jobs[job.id]

    def _work(self) -> None:
        while (job := self._next()) is not None:
            started = time.monotonic()
            try:
                job = self._with_votes(job)
                run = self._run(job)
                over = {"state": "done", "run": run, "done": job.total}
            except _Cancelled:
                over = {"state": "cancelled"}
            except AssayError as error:
                over = {"state": "failed", "error": str(error)}
            except Exception as error:  # a page must not wait for ever
                over = {"state": "failed", "error": f"{type(error).__name__}: {error}"}
            with self._lock:
                took = time.monotonic() - started
                self._jobs[job.id] = msgspec.structs.replace(job, seconds=took, **over)
                self._lock.notify_all()

    def _next(self) -> RunJob | None:
        with self._lock:
            while not self._closed:
                for job in self._jobs.values():
                    if job.state == "waiting":
                        self._stop.clear()
                        self._jobs[job.id] = msgspec.structs.replace(job, state="running")
                        return self._jobs[job.id]
                self._lock.wait()
        return None

    def _with_votes(self, job: RunJob) -> RunJob:
        """A run is scored with everything that was judged before it."""
        counted = recompute_outdated_labels(gold_path(self._service, job.gold), by=job.by)
        if counted:
            with self._lock:
                job = self._jobs[job.id] = msgspec.structs.replace(job, counted=counted)
        return job

    def _run(self, job: RunJob) -> str:
        """The id of the run that was kept."""
        service = self._service
        path = gold_path(service, job.gold)
        name = configured_name(service, stored_name(service, job.gold))
        gold = (service.config.gold if service.config else {}).get(name)
        settings = engine_settings(service, job.engine)
        order = _ScoreOrder(
            name=name,
            gold=gold or GoldConfig(path=str(path.resolve())),
            engine=settings,
            home=str(workspace(service.home).resolve()),
            folder=os.getcwd(),
            notes=str(self._note(job)),
        )
        task = Job(score_order, (order,), settings.run_timeout, quiet_of(settings))
        results = self._answer(task)
        results = _with_gates(service, results, name, job.engine, order.gold)
        stored = store_run(service, results, path, job.engine)
        self._ask_second(stored, path, by=job.by)
        return stored.id

    def _ask_second(self, run: StoredRun, path: Path, *, by: str) -> None:
        """Ask a second judge if the policy wants one and the verdict depends on one judge."""
        with contextlib.suppress(AssayError):
            if read_policy(path).second == "never":
                return
            if found := verdict_risk(
                self._service, run, verdict_today(self._service, run, settle=False)
            ):
                ask_second_judge(self._service, path, found.pairs, by=by)

    def _answer(self, job: Job[Results]) -> Results:
        answers = run_jobs([job], at_once=1, fresh=True, stop=self._stop)
        with contextlib.closing(answers):
            for _, answer in answers:
                if isinstance(answer, Failure):
                    raise answer.error or failed_process(answer)
                return answer
        raise _Cancelled


def engine_settings(service: Service, name: str) -> EngineConfig:
    """The settings of a configured engine, or of our own on a corpus of the workspace."""
    configured_engines = service.config.engines if service.config else {}
    if name in configured_engines:
        return configured_engines[name]
    if any(row.name == name for row in readable_corpora(service.home)):
        return EngineConfig(engine=name)
    known = ", ".join([*choices(service).engines, *choices(service).corpora])
    raise InputError(
        f"no engine {name!r} is configured",
        hint=f"Known: {known or 'none: write an assay.toml, or import a corpus'}.",
    )


def _refuse_misfit(service: Service, gold: str, engine: str) -> None:
    """Refuse a run that could measure nothing: see `refuse_other_documents`."""
    settings, path = engine_settings(service, engine), gold_path(service, gold)
    name = configured_name(service, stored_name(service, gold))
    refuse_unlisted_engine(service.config, name, engine)
    refuse_other_documents(settings, formats.read_gold(path), path, service.home)


def _fits(service: Service, gold: str, engine: str, corpora: Sequence[CorpusRow]) -> bool:
    """Found again when the set, its pool, the engine or the corpora are others: pages ask for it
    after every vote."""
    path = gold_path(service, gold)
    configured = service.config.engines.get(engine) if service.config else None
    settings = msgspec.json.encode(configured)
    counts = tuple((row.name, row.documents) for row in corpora)
    state = (stamp_of(path), stamp_of(pool_path(path)), settings, counts)

    def fits() -> bool:
        try:
            _refuse_misfit(service, gold, engine)
        except InputError:
            return False
        return True

    return compute_once(("fits", service.store.address, path, engine, state), fits)


def _with_gates(
    service: Service, results: Results, gold: str, engine: str, settings: GoldConfig
) -> Results:
    """The results with the verdict of the configured gates, and what to judge if it is
    inconclusive."""
    gates = gates_on(service.config, gold, engine, results) if service.config and gold else []
    if not gates and not isinstance(results, GoldenResults):
        return results
    baseline = Path(settings.baseline) if settings.baseline else None
    verdict = verdict_on(results, gates, baseline)
    return msgspec.structs.replace(results, verdict=verdict)


# ── in the worker ─────────────────────────────────────────────────────────────────────────────────


def score_order(order: _ScoreOrder) -> Results:
    """Score an order in a worker process, from the server's folder, so that search modules are
    found."""
    os.environ["ASSAY_HOME"] = order.home
    os.chdir(order.folder)
    request = msgspec.structs.replace(
        request_for(order.engine, Path(order.gold.path), order.name),
        measures=order.gold.measures,
        baseline=Path(order.gold.baseline) if order.gold.baseline else None,
    )

    def noted(queries: Iterable[Query]) -> Iterator[Query]:
        last = 0.0
        for place, query in enumerate(queries):
            if time.monotonic() - last > LOOK:
                last = time.monotonic()
                with contextlib.suppress(OSError):
                    Path(order.notes).write_text(str(place), encoding="ascii")
            yield query

    return score(request, progress=noted).results


def _read_notes(notes: Path) -> int:
    try:
        return int(notes.read_text(encoding="ascii") or 0)
    except (OSError, ValueError):
        return 0

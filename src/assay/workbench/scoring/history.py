"""The history of runs in the store: evaluating an engine, keeping its results with the line that
sums them up and the verdict, and listing, comparing and explaining runs."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Protocol

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, InputError, NotHere
from assay.core.files import stamp_of
from assay.core.results import AnswerResults, GoldenResults, Results, Status, Verdict
from assay.core.results_file import from_json, to_json
from assay.core.types import Page, page_of, page_size
from assay.engines.engine_table import EngineConfig
from assay.evaluation.comparison import Comparison, compare
from assay.reports.answers import HEADLINE_SHARE, NO_SPAN
from assay.reports.view import failed_musts
from assay.store.records import ANSWERS as ANSWERS  # for pages
from assay.store.records import RunRecord
from assay.workbench.project.audit_trail import note
from assay.workbench.project.config import Config, refuse_unlisted_engine
from assay.workbench.project.service import (
    RecentValues,
    Service,
    gold_path,
    read_gold,
    run_name,
    run_names,
    stored_names,
)
from assay.workbench.scoring.report import Explanation
from assay.workbench.scoring.request import request_for
from assay.workbench.scoring.score import score

SEARCHED_RUNS = 500  # newest runs that are searched for the name of an engine; chosen
LONGEST_NAME = 80  # characters of the name of a run: one line of a page; taste
READ = 32  # runs whose results stay in memory: those that one page looks at (taste)


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation in the history: what was measured on what, when, and its results."""

    id: str
    at: datetime
    engine: str
    gold: str
    results: Results


class StoredAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a file of answers in the history. `gold` is the name of the file after
    `answers:`."""

    id: str
    at: datetime
    engine: str
    gold: str
    results: AnswerResults


def evaluate(service: Service, gold: str, engine: str) -> StoredRun:
    """Score a configured engine on a configured gold set, and keep the run."""
    path = gold_path(service, gold)
    chosen = _configured_engine(service.config, engine)
    refuse_unlisted_engine(service.config, gold, engine)
    results = score(request_for(chosen, path, gold)).results
    return store_run(service, results, path, engine)


def store_run(service: Service, results: Results, path: Path, engine: str) -> StoredRun:
    """Keep results in the history."""
    made = record(service, results, path, engine=engine, at=service.clock())
    return _stored_run_of(made, results)


def _stored_run_of(record: RunRecord, results: Results) -> StoredRun:
    return StoredRun(
        id=record.id, at=record.at, engine=record.engine, gold=record.gold, results=results
    )


def _configured_engine(config: Config | None, name: str) -> EngineConfig:
    """A configured engine; an agent may not name other code to load."""
    if config is None or name not in config.engines:
        known = ", ".join(config.engines) if config else "none: write an assay.toml"
        raise InputError(f"no engine {name!r} is configured", hint=f"Known: {known}.")
    return config.engines[name]


def known_engine(service: Service, name: str) -> None:
    """An engine that is configured, or has a run in the history."""
    ran = {run.engine for run in run_records(service, limit=SEARCHED_RUNS)}
    if name not in ran:
        _configured_engine(service.config, name)


def runs(service: Service, *, gold: str = "", limit: int = 20, offset: int = 0) -> Page[RunRecord]:
    """Runs without their results, the newest first."""
    size = page_size(limit)
    return page_of(run_records(service, gold=gold, limit=size + 1, offset=offset), offset, size)


def run_records(
    service: Service,
    *,
    gold: str = "",
    engine: str = "",
    answers: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> list[RunRecord]:
    """Runs on a set, or on all, the newest first; or the checks of every file of answers. A set
    that got its name in assay.toml later has runs under its path too: all of them are told under
    its name."""
    found = service.store.runs(
        gold=stored_names(service, gold) or "",
        engine=engine,
        answers=answers,
        limit=limit,
        offset=offset,
    )
    return [_with_current_name(service, record) for record in found]


def latest_runs(
    records: Iterable[RunRecord], key: Callable[[RunRecord], Hashable]
) -> list[RunRecord]:
    """The newest run of each key, such as an engine; the records have the newest first."""
    latest: dict[Hashable, RunRecord] = {}
    for run in records:
        latest.setdefault(key(run), run)
    return list(latest.values())


def _with_current_name(service: Service, record: RunRecord) -> RunRecord:
    for path in service.gold_sets.values():
        if record.gold in (names := run_names(service, path)):
            is_current = record.gold == names[0]
            return record if is_current else msgspec.structs.replace(record, gold=names[0])
    return record


def stored_run(service: Service, run_id: str) -> StoredRun:
    if not run_id:
        raise InputError("no run is named")
    read = _runs.get((service.store.address, run_id))
    record = read[0] if read is not None else service.store.run(run_id)
    if record is None:
        newest = run_records(service, limit=5)
        known = ", ".join(f"{run.id} ({run.engine!r} on {run.gold!r})" for run in newest)
        raise NotHere(f"no run {run_id!r}", hint=f"The newest: {known or 'none yet'}.")
    if record.gold.startswith(ANSWERS):
        hint = "Compare checks of answers with `assay compare A.json B.json`."
        raise InputError(f"{run_id!r} is a check of answers, and not a run of an engine", hint=hint)
    return _stored_run_of(_with_current_name(service, record), _results_of(service, record))


def stored_answers(service: Service, run_id: str) -> StoredAnswers | None:
    """The check of answers with an id; None where the id is that of another run, or of none."""
    known = _runs.get((service.store.address, run_id)) is not None
    record = service.store.run(run_id) if run_id and not known else None
    if record is None or not record.gold.startswith(ANSWERS):
        return None
    return StoredAnswers(
        id=record.id,
        at=record.at,
        engine=record.engine,
        gold=record.gold,
        results=msgspec.convert(record.results, thread_safe(AnswerResults)),
    )


def latest_answers(service: Service) -> list[RunLine]:
    """The newest check of every file of answers by each system, the newest first."""
    records = run_records(service, answers=True, limit=SEARCHED_RUNS)
    latest = latest_runs(records, lambda run: (run.gold, run.engine))
    return [msgspec.convert(record.summary, thread_safe(RunLine)) for record in latest]


_runs = RecentValues[tuple[str, str], tuple[RunRecord, Results]](READ)


def _results_of(service: Service, whole: RunRecord) -> Results:
    """A run never changes: pages that look at the same few read them once."""
    record = msgspec.structs.replace(whole, results={})
    key = (service.store.address, record.id)
    return _runs.of(key, lambda: (record, from_json(whole.results)))[1]


def read_ahead(service: Service, run_ids: Iterable[str]) -> None:
    """Read the results of several runs in one statement, for a page that looks at all of them."""
    unread = [id for id in run_ids if _runs.get((service.store.address, id)) is None]
    for whole in service.store.whole_runs(unread[:READ]) if unread else ():
        with contextlib.suppress(AssayError):  # a run that cannot be read says so on its page
            _results_of(service, whole)


RUN_NAMED = "run.named"  # the action, in the audit trail
NAMED_RUNS = 1_000  # newest names that are looked at; chosen


def name_run(service: Service, run_id: str, name: str, *, by: str) -> str:
    """Give a run a name to find it by, such as a release. A run never changes, so that the name
    stands for a state of the engine and of the set; an empty name takes it away."""
    name = " ".join(name.split())
    if len(name) > LONGEST_NAME:
        raise InputError(f"the name has {len(name)} characters", hint=f"At most {LONGEST_NAME}.")
    note(service, by, RUN_NAMED, stored_run(service, run_id).id, after={"name": name})
    return name


def names_of_runs(service: Service) -> dict[str, str]:
    """The names that people gave to runs: the last one of each holds."""
    names: dict[str, str] = {}
    for entry in service.store.audit(action=RUN_NAMED, limit=NAMED_RUNS):
        names.setdefault(entry.subject, str((entry.after or {}).get("name", "")))
    return {run: name for run, name in names.items() if name}


def compare_stored(service: Service, run_ids: Sequence[str], *, force: bool = False) -> Comparison:
    """Each run against the first. Where their gold set has changed in between, over the queries
    that are judged alike; other sets, and other documents, are compared only if forced."""
    stored = [stored_run(service, run_id) for run_id in run_ids]
    if len(stored) < 2:
        raise InputError("give at least two runs to compare")
    corpora = {run.results.receipt.corpus_fingerprint for run in stored}
    one_set = len({run.gold for run in stored}) == 1 and len(corpora) == 1
    try:
        return compare(
            [run.results for run in stored], _distinct_names(stored), force=force or one_set
        )
    except InputError as error:
        hint = "Score both on one set with run_evaluation, or compare anyway with force."
        if not force and "different" in error.message:
            raise InputError(error.message, hint=hint) from None
        raise


def _distinct_names(runs: Sequence[StoredRun]) -> list[str]:
    """The name of each run: its engine, with day or time if one ran twice."""
    for name_of in (
        "{0.engine}",
        "{0.engine} of {0.at:%Y-%m-%d}",
        "{0.engine} of {0.at:%Y-%m-%d %H:%M}",
    ):
        names = [name_of.format(run) for run in runs]
        if len(set(names)) == len(names):
            return names
    return [run.id for run in runs]


def explain(service: Service, run_id: str, query_id: str) -> Explanation:
    """The entry of one query of a run: its ranking with grades, its values, and the formulas."""
    results = stored_run(service, run_id).results
    entry = next((entry for entry in results.per_query if entry.query_id == query_id), None)
    if entry is None:
        known = ", ".join(entry.query_id for entry in results.per_query[:5])
        raise NotHere(f"no query {query_id!r} in run {run_id!r}", hint=f"It has {known}, …")
    return Explanation(entry=entry, measures=results.receipt.measures)


def relevant_to(service: Service, run_id: str, query_id: str) -> dict[str, int]:
    """The documents that the gold set of a run, as it is today, calls relevant to a query, the best
    first, each with its grade; none where the set is not configured."""
    gold = stored_run(service, run_id).gold
    names = [name for name, path in service.gold_sets.items() if gold in run_names(service, path)]
    grades = {
        judgment.doc_id: judgment.grade
        for name in names[:1]
        for judgment in read_gold(service, name).iter_judgments()
        if judgment.query_id == query_id and judgment.grade > 0
    }
    return dict(sorted(grades.items(), key=lambda pair: -pair[1]))


# ── runs as the store keeps them ──────────────────────────────────────────────────────────────────

HEADLINES = ("ndcg@10", "pass_rate_total")  # the figure shown for a run, the first that it has


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a line: what it is known by, with the interval. `error` where it cannot be read."""

    id: str
    at: datetime
    engine: str
    gold: str
    kind: str = "graded"
    measure: str = ""
    key: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    queries: int = 0
    judged: float | None = None  # share of the top ten
    status: Status | None = None
    open_gates: int = 0  # gates that fail or cannot tell
    to_judge: int = 0  # judgments expected to settle them
    judge_first: bool = False  # or those that it takes before anything can be expected
    failed: int = 0  # calls
    musts: tuple[str, ...] = ()  # golden questions that must pass and did not
    fingerprint: str = ""
    corpus: str = ""
    commit: str = ""
    error: str = ""


class StoredVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a run, as far as the store keeps it."""

    status: Status | None = None
    open_gates: int = 0
    to_judge: int = 0
    judge_first: bool = False


def gates_digest(service: Service, gold: str) -> str:
    """A digest of the gates and the baseline that decide on the runs of a set now."""
    name = configured_name(service, gold)
    if service.config is None or not name:
        return "none"
    baseline = service.config.gold[name].baseline
    stamp = stamp_of(Path(baseline)) if baseline else None
    parts = [service.config.gates, baseline, stamp[1:] if stamp else None]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


class _AnyRun(Protocol):
    """A run, with its results or without."""

    @property
    def id(self) -> str: ...
    @property
    def at(self) -> datetime: ...
    @property
    def engine(self) -> str: ...
    @property
    def gold(self) -> str: ...


def line_of(run: _AnyRun, results: Results, verdict: Verdict | None = None) -> RunLine:
    """`verdict` is that of today, where it is another than the run was kept with."""
    verdict = verdict or results.verdict
    key, measure = headline(results)
    low, high = results.intervals.overall.get(key) or (None, None)
    value = results.overall.get(key)
    receipt = results.receipt
    golden = isinstance(results, GoldenResults)
    queries = int(results.overall.get("total") or 0) if golden else receipt.counts.get("n_scored")
    return RunLine(
        id=run.id,
        at=run.at,
        engine=run.engine,
        gold=run.gold,
        kind="golden" if golden else "graded",
        measure=measure,
        key=key,
        value=None if value is None else float(value),
        low=low,
        high=high,
        queries=queries if queries is not None else len(results.per_query),
        judged=judged_share(results),
        status=verdict.status if verdict and verdict.checks else None,
        open_gates=_open_gates(verdict),
        to_judge=len(verdict.judge_next or ()) if verdict else 0,
        judge_first=verdict is not None and verdict.judge_first,
        failed=receipt.counts.get("n_failed", 0),
        musts=failed_musts(results),
        fingerprint=receipt.gold.fingerprint,
        corpus=receipt.corpus_fingerprint or "",
        commit=receipt.git.commit[:8] if receipt.git else "",
    )


def _line_of_answers(run: _AnyRun, results: AnswerResults) -> RunLine:
    low, high = results.intervals.overall.get(HEADLINE_SHARE, NO_SPAN)
    verdict, git = results.verdict, results.receipt.git
    return RunLine(
        id=run.id,
        at=run.at,
        engine=run.engine,
        gold=run.gold,
        kind="answers",
        measure=HEADLINE_SHARE,
        key=HEADLINE_SHARE,
        value=results.overall[HEADLINE_SHARE],
        low=low,
        high=high,
        queries=len(results.per_answer),
        status=verdict.status if verdict else None,
        open_gates=_open_gates(verdict),
        corpus=results.receipt.corpus_fingerprint or "",
        commit=git.commit[:8] if git else "",
    )


def headline(results: Results) -> tuple[str, str]:
    """(key, name) of the figure that a run is known by."""
    if isinstance(results, GoldenResults):
        return "pass_rate_total", "pass_rate_total"
    names = {line.key: line.measure for line in results.receipt.measures}
    for key, measure in names.items():
        if measure == results.receipt.primary:
            return key, measure
    key = next((key for key in HEADLINES if key in names), next(iter(names), ""))
    return key, names.get(key, "")


def judged_share(results: Results, depth: int = 10) -> float | None:
    """How much of the top ten somebody has judged, on the average query, as in reports; a golden
    question needs nobody."""
    if isinstance(results, GoldenResults):
        return None
    tops = [entry.grades[:depth] for entry in results.per_query if entry.grades]
    shares = [sum(grade is not None for grade in top) / len(top) for top in tops]
    return fmean(shares) if shares else None


def _open_gates(verdict: Verdict | None) -> int:
    checks = verdict.checks if verdict else ()
    return sum(check.counts and check.status != "pass" for check in checks)


def configured_name(service: Service, gold: str) -> str:
    """The configured name of a set that the history has under this name; empty if it has none."""
    sets = service.config.gold if service.config else {}
    for name, settings in sets.items():
        if gold in run_names(service, Path(settings.path)):
            return name
    return ""


def with_summary(record: RunRecord, line: RunLine, gates: str) -> RunRecord:
    """The run with its summary and verdict, as the store keeps it."""
    verdict = {
        name: msgspec.to_builtins(getattr(line, name)) for name in StoredVerdict.__struct_fields__
    }
    return msgspec.structs.replace(
        record, summary=msgspec.to_builtins(line), verdict=verdict, asked=gates
    )


def _record_answers(service: Service, results: AnswerResults, path: Path) -> RunRecord:
    """Keep a check of answers under the name of its file in assay.toml, or of the file itself. The
    same findings on the same commit are kept once."""
    tables = service.config.answers if service.config else {}
    named = (name for name, each in tables.items() if Path(each.path).resolve() == path.resolve())
    gold, kept = f"{ANSWERS}{next(named, path.name)}", msgspec.to_builtins(results)
    findings = {key: value for key, value in kept.items() if key != "timestamp"}
    made = RunRecord(
        id=hashlib.sha256(msgspec.json.encode([findings, gold])).hexdigest()[:24],
        at=datetime.now(UTC),
        engine=results.engine,
        gold=gold,
        results=kept,
        corpus_fingerprint=results.receipt.corpus_fingerprint or "",
    )
    line = _line_of_answers(made, results)
    made = with_summary(made, line, gates_digest(service, gold))
    service.store.put_run(made)
    return made


def record(
    service: Service,
    results: Results | AnswerResults,
    dataset: Path,
    *,
    engine: str = "",
    at: datetime | None = None,
) -> RunRecord:
    """Keep results under the name of their set, with their summary. Without `at` it is now, and the
    same results are kept once: `assay run` brings what is unchanged again and again. The verdict is
    final where no gates are configured for the set; else the first page that shows the run asks the
    gates of today, which may not be those that the run was scored with."""
    if isinstance(results, AnswerResults):
        return _record_answers(service, results, dataset)
    stored = to_json(results)
    made = RunRecord(
        id=hashlib.sha256(msgspec.json.encode([stored, engine, at])).hexdigest()[:24],
        at=at or datetime.now(UTC),
        engine=engine or results.engine,
        gold=run_name(service, dataset),
        results=stored,
        gold_fingerprint=results.receipt.gold.fingerprint,
        corpus_fingerprint=results.receipt.corpus_fingerprint or "",
    )
    is_final = not configured_name(service, made.gold)
    gates = gates_digest(service, made.gold) if is_final else ""
    made = with_summary(made, line_of(made, results), gates)
    service.store.put_run(made)
    return made

"""Runs as the store keeps them: results, with the line that sums a run up and its verdict."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from assay.core.files import stamp_of
from assay.core.results import GoldenResults, Results, Status, Verdict
from assay.core.results_file import to_json
from assay.reports.view import failed_musts
from assay.store.records import RunRecord
from assay.workbench.project.service import Service, run_name, run_names

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
    """How much of the top ten somebody has judged; a golden question needs nobody."""
    if isinstance(results, GoldenResults):
        return None
    tops = [entry.grades[:depth] for entry in results.per_query]
    seen = sum(map(len, tops))
    judged = sum(grade is not None for top in tops for grade in top)
    return judged / seen if seen else None


def _open_gates(verdict: Verdict | None) -> int:
    checks = verdict.checks if verdict else ()
    return sum(check.counts and check.status != "pass" for check in checks)


def configured_name(service: Service, gold: str) -> str:
    """What the configuration calls a set that the history knows under this name; empty where it
    names none."""
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


def record(
    service: Service,
    results: Results,
    dataset: Path,
    *,
    engine: str = "",
    at: datetime | None = None,
) -> RunRecord:
    """Keep results under the name of their set, with their summary. Without `at` it is now, and the
    same results are kept once: `assay run` brings what is unchanged again and again. The verdict is
    final where no gates are configured for the set; else the first page that shows the run asks the
    gates of today, which may not be those that the run was scored with."""
    kept = to_json(results)
    made = RunRecord(
        id=hashlib.sha256(msgspec.json.encode([kept, engine, at])).hexdigest()[:24],
        at=at or datetime.now(UTC),
        engine=engine or results.engine,
        gold=run_name(service, dataset),
        results=kept,
        gold_fingerprint=results.receipt.gold.fingerprint,
        corpus_fingerprint=results.receipt.corpus_fingerprint or "",
    )
    is_final = not configured_name(service, made.gold)
    gates = gates_digest(service, made.gold) if is_final else ""
    made = with_summary(made, line_of(made, results), gates)
    service.store.put_run(made)
    return made

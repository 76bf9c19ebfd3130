"""The runs in the history as somebody who decides reads them: one figure with its interval, over
time and side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from assay.core.errors import AssayError
from assay.core.remembered import Remembered
from assay.core.results import Gate, GoldenResults, Results, Status, Verdict
from assay.evaluation.gates import DEFAULT_POLICY
from assay.reports.sentences import ERRORS
from assay.reports.view import failed_musts
from assay.store.records import RunRecord
from assay.workbench.baseline import read_baseline
from assay.workbench.desk import stamp_of
from assay.workbench.history import KeptRun, kept_run, run_records
from assay.workbench.one_judge import Rests, rests
from assay.workbench.opening import Service, kept_path, run_names
from assay.workbench.paging import Page, page_of, page_size
from assay.workbench.run import gates_on
from assay.workbench.score import verdict_against

__all__ = [
    "Board",
    "RunLine",
    "Track",
    "baseline_of",
    "board_of",
    "boards",
    "configured_name",
    "decided",
    "line_of",
    "rests_on",
    "run_at_hand",
    "run_line",
    "run_lines",
    "run_page",
]

HEADLINES = ("ndcg@10", "pass_rate_total")  # what a run is known by, where it has it
KNOWN = 4_000  # runs whose figures are kept at hand
SHOWN = 60  # runs of a set that are drawn


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


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one engine on one set, the oldest first."""

    engine: str
    runs: list[RunLine]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """One set: its runs over time by engine, and the latest of each engine, the best first. Those
    in `older` were scored on an earlier state of the set, and are not compared."""

    gold: str
    measure: str
    tracks: list[Track]
    leaders: list[RunLine]
    older: list[RunLine]
    more: int = 0  # runs that are not shown


# ── one run ───────────────────────────────────────────────────────────────────────────────────────

_lines = Remembered[tuple[object, ...], RunLine](KNOWN)


def run_line(service: Service, record: RunRecord) -> RunLine:
    """A run never changes: its results are read once, and the gates of today asked once."""
    asked = msgspec.json.encode(service.config.gates) if service.config else b""
    sets = service.config.gold.values() if service.config else ()
    baselines = tuple((one.baseline, stamp_of(Path(one.baseline))) for one in sets if one.baseline)

    def line() -> RunLine:
        try:
            kept = kept_run(service, record.id)
            verdict = decided(service, kept, settle=False)
            return line_of(kept, record.corpus_fingerprint, verdict=verdict)
        except AssayError as error:
            return RunLine(
                id=record.id, at=record.at, engine=record.engine, gold=record.gold, error=str(error)
            )

    return _lines.of((service.store.address, record.id, asked, baselines), line)


def line_of(run: KeptRun, corpus: str = "", *, verdict: Verdict | None = None) -> RunLine:
    """`verdict` is that of today, where it is another than the run was kept with."""
    results = run.results
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
        corpus=corpus,
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


AT_HAND = 16  # runs that are kept with their results
_runs = Remembered[tuple[str, str], KeptRun](AT_HAND)


def run_at_hand(service: Service, run_id: str) -> KeptRun:
    """A run with its results, which never change; those that pages look at are not read again."""
    return _runs.of((service.store.address, run_id), lambda: kept_run(service, run_id))


# ── many runs ─────────────────────────────────────────────────────────────────────────────────────


def run_page(
    service: Service, *, gold: str = "", engine: str = "", limit: int = 30, offset: int = 0
) -> Page[RunLine]:
    """The newest first; `gold` is the name that the history has for a set."""
    size = page_size(limit)
    records = run_records(service, gold=gold, engine=engine, limit=size + 1, offset=offset)
    return page_of([run_line(service, record) for record in records], offset, size)


def run_lines(service: Service, *, gold: str = "", limit: int = SHOWN) -> list[RunLine]:
    return [run_line(service, record) for record in run_records(service, gold=gold, limit=limit)]


def boards(service: Service, *, gold: str = "") -> list[Board]:
    """Every set that has runs, the one that was run last first."""
    records = run_records(service, gold=gold, limit=KNOWN)
    by_gold: dict[str, list[RunRecord]] = {}
    for record in records:
        by_gold.setdefault(record.gold, []).append(record)
    return [
        board_of(name, [run_line(service, one) for one in some[:SHOWN]], more=len(some) - SHOWN)
        for name, some in by_gold.items()
    ]


def board_of(gold: str, lines: Sequence[RunLine], *, more: int = 0) -> Board:
    """From the runs of one set, the newest first. A figure is drawn with others of its name."""
    readable = [line for line in lines if not line.error and line.value is not None]
    measure = readable[0].measure if readable else ""
    drawn = [line for line in readable if line.measure == measure]
    by_engine: dict[str, list[RunLine]] = {}
    for line in reversed(drawn):
        by_engine.setdefault(line.engine, []).append(line)
    latest = [runs[-1] for runs in by_engine.values()]
    now = drawn[0].fingerprint if drawn else ""
    return Board(
        gold=gold,
        measure=measure,
        tracks=[Track(engine=name, runs=runs) for name, runs in by_engine.items()],
        leaders=_best_first(line for line in latest if line.fingerprint == now),
        older=_best_first(line for line in latest if line.fingerprint != now),
        more=max(more, 0),
    )


def _best_first(lines: Iterable[RunLine]) -> list[RunLine]:
    return sorted(lines, key=lambda line: (-(line.value or 0.0), line.engine))


# ── the gates of today ────────────────────────────────────────────────────────────────────────────


def configured_name(service: Service, gold: str) -> str:
    """What the configuration calls a set that the history knows under this name; empty where it
    names none."""
    sets = service.config.gold if service.config else {}
    for name, settings in sets.items():
        if gold in run_names(service, Path(settings.path)):
            return name
    return ""


VERDICTS = 256  # kept: a run does not change, and what would settle it takes a while to find
_verdicts = Remembered[tuple[object, ...], Verdict](VERDICTS)


def decided(service: Service, run: KeptRun, *, settle: bool = True) -> Verdict | None:
    """What the gates of today say of a run: where the configuration has any for it, these, else
    those that it was scored with; the usual ones of a golden set are asked again where a baseline
    is named. With `settle` also what to judge where they cannot tell."""
    gates, baseline = _asked_today(service, run)
    if not gates and not (baseline and _held_to_usual(run.results)):
        return run.results.verdict
    key = (*_question(service, run, gates, baseline), settle)
    try:
        return _verdicts.of(key, lambda: _verdict(run.results, gates, baseline, settle=settle))
    except AssayError:  # a gate on what the run did not measure
        return run.results.verdict


def _held_to_usual(results: Results) -> bool:
    """A golden set that nobody gave gates: the one on a drop could not tell without a baseline."""
    checks = results.verdict.checks if results.verdict else ()
    asked = [check.gate for check in checks if check.gate.measure not in ERRORS]
    return isinstance(results, GoldenResults) and all(gate in DEFAULT_POLICY for gate in asked)


def _verdict(
    results: Results, gates: Sequence[Gate], baseline: Path | None, *, settle: bool
) -> Verdict:
    """With a baseline that cannot be read it is as without one, and never as without the gates:
    those on a drop cannot tell, and the others decide."""
    try:
        then = read_baseline(baseline, golden=isinstance(results, GoldenResults))
    except AssayError:
        then = None
    return verdict_against(results, gates, then, settle=settle)


def _asked_today(service: Service, run: KeptRun) -> tuple[list[Gate], Path | None]:
    """The gates that the configuration has for a run, and its baseline."""
    name = configured_name(service, run.gold)
    if service.config is None or not name:
        return [], None
    return gates_on(service.config, name, run.engine, run.results), baseline_of(service, run)


def baseline_of(service: Service, run: KeptRun) -> Path | None:
    """The file that the configuration names as the baseline of the run's set."""
    name = configured_name(service, run.gold)
    named = service.config.gold[name].baseline if service.config and name else None
    return Path(named) if named else None


def _question(
    service: Service, run: KeptRun, gates: Sequence[Gate], baseline: Path | None
) -> tuple[object, ...]:
    """What a verdict depends on."""
    state = stamp_of(baseline) if baseline else None
    return service.store.address, run.id, msgspec.json.encode(gates), str(baseline or ""), state


def rests_on(service: Service, run: KeptRun, verdict: Verdict | None) -> Rests | None:
    """Whether the verdict rests on what one judge said and nobody has checked."""
    if verdict is None or verdict.status == "inconclusive" or not verdict.checks:
        return None
    gates, baseline = _asked_today(service, run)
    gates = gates or [check.gate for check in verdict.checks if check.gate.measure != "errors"]
    try:
        dataset = kept_path(service, run.gold)
    except AssayError:  # a set that is not open here
        return None
    key = _question(service, run, gates, baseline)
    return rests(
        [run.results],
        dataset,
        lambda runs: _verdict(runs[0], gates, baseline, settle=False).status,
        key,
    )

"""Boards of runs, for the pages that decide between engines: the headline figure of each run with
its interval and verdict, whether an engine may ship, and its trend over commits."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, NotHere
from assay.core.files import Stamp, stamp_of
from assay.core.results import (
    Check,
    Gate,
    GitState,
    GoldenResults,
    GradedEntry,
    GradedResults,
    Results,
    Status,
    Verdict,
    is_variant,
)
from assay.core.types import GoldSet, Page, page_of, page_size
from assay.evaluation import graded
from assay.evaluation.gate_values import (
    entries_in_slice,
    has_too_few_judged,
    judged_share_of_gate,
    measure_line,
)
from assay.evaluation.gates import DEFAULT_POLICY
from assay.evaluation.receipts import git
from assay.evaluation.trends import Commit, Event, PastRun, Trend, steps
from assay.formats import read_gold
from assay.reports.answers import HEADLINE_SHARE
from assay.reports.wording import ERRORS, SHOWN_MUSTS, Sentences
from assay.reports.words import Words
from assay.store.records import ANSWERS, RunRecord
from assay.workbench.deciding.baseline import read_baseline
from assay.workbench.deciding.single_judge_risk import SingleJudgeRisk, find_single_judge_risk
from assay.workbench.project.service import (
    Service,
    compute_once,
    path_of_stored_name,
    run_names,
    stored_name,
)
from assay.workbench.scoring.history import (
    RunLine,
    StoredRun,
    StoredVerdict,
    configured_name,
    gates_digest,
    headline,
    judged_share,
    line_of,
    read_ahead,
    run_records,
    stored_answers,
    stored_run,
    with_summary,
)
from assay.workbench.scoring.run import gates_on
from assay.workbench.scoring.score import verdict_against

__all__ = [
    "Board",
    "RunLine",
    "Ship",
    "ShipAnswer",
    "Track",
    "Trend",
    "baseline_of",
    "board_of",
    "boards",
    "configured_name",
    "headline",
    "judged_share",
    "line_of",
    "line_of_record",
    "may_ship",
    "run_line",
    "run_lines",
    "run_page",
    "ship_answer",
    "ship_of",
    "summarise",
    "trends",
    "trends_by_set",
    "verdict_risk",
    "verdict_today",
]

KNOWN = 4_000  # newest runs that boards and trends look at; chosen
CHARTED_RUNS = 60  # newest runs of a set that a chart draws: more cannot be told apart (taste)


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one engine on one set, the oldest first."""

    engine: str
    runs: list[RunLine]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one gold set over time by engine, and the latest run of each engine, the best
    first. Runs in `older` were scored on an earlier state of the set and are not compared."""

    gold: str
    measure: str
    tracks: list[Track]
    leaders: list[RunLine]
    older: list[RunLine]
    more: int = 0  # runs that are not shown


# ── one run ───────────────────────────────────────────────────────────────────────────────────────


def run_line(service: Service, record: RunRecord) -> RunLine:
    """The summary and verdict of a run. Both are stored with the run: its results are read only if
    the gates or the baseline have changed since."""
    return line_of_record(*summarise(service, [record]))


def line_of_record(record: RunRecord) -> RunLine:
    """The line of a run that `summarise` gave."""
    summary = msgspec.convert(record.summary, thread_safe(RunLine))
    verdict = msgspec.convert(record.verdict or {}, thread_safe(StoredVerdict))
    return msgspec.structs.replace(
        summary,
        gold=record.gold,
        status=verdict.status,
        open_gates=verdict.open_gates,
        to_judge=verdict.to_judge,
        judge_first=verdict.judge_first,
    )


def summarise(service: Service, records: Sequence[RunRecord]) -> list[RunRecord]:
    """Runs with their summary and their verdict under today's gates. Missing ones (runs of an
    earlier version, changed gates) are computed and, in a store that was opened for writing, stored
    in one statement."""
    gates = {gold: gates_digest(service, gold) for gold in {record.gold for record in records}}
    old = [r for r in records if r.summary is None or r.asked != gates[r.gold]]
    if not old:
        return list(records)
    read_ahead(service, [record.id for record in old])
    made = {record.id: _with_summary_today(service, record, gates[record.gold]) for record in old}
    if not service.store.read_only:
        readable = [one for one in made.values() if not (one.summary or {})["error"]]
        service.store.keep_summaries(readable)
    return [made.get(record.id, record) for record in records]


def _with_summary_today(service: Service, record: RunRecord, gates: str) -> RunRecord:
    try:
        run = stored_run(service, record.id)
        line = line_of(record, run.results, verdict_today(service, run, settle=False))
    except AssayError as error:
        line = RunLine(
            id=record.id, at=record.at, engine=record.engine, gold=record.gold, error=str(error)
        )
    return with_summary(record, line, gates)


# ── many runs ─────────────────────────────────────────────────────────────────────────────────────


def run_page(
    service: Service, *, gold: str = "", engine: str = "", limit: int = 30, offset: int = 0
) -> Page[RunLine]:
    """A page of runs, the newest first; `gold` is the name of a set in the history."""
    size = page_size(limit)
    records = run_records(service, gold=gold, engine=engine, limit=size + 1, offset=offset)
    lines = list(map(line_of_record, summarise(service, records)))
    return page_of(lines, offset, size)


def run_lines(service: Service, *, gold: str) -> list[RunLine]:
    records = summarise(service, run_records(service, gold=gold, limit=CHARTED_RUNS))
    return list(map(line_of_record, records))


def boards(service: Service, *, gold: str = "") -> list[Board]:
    """The board of every gold set that has runs, the last one that was run first."""
    records = run_records(service, gold=gold, limit=KNOWN)
    by_gold: dict[str, list[RunRecord]] = {}
    for record in records:
        by_gold.setdefault(record.gold, []).append(record)
    return [
        board_of(
            name,
            list(map(line_of_record, summarise(service, some[:CHARTED_RUNS]))),
            more=len(some) - CHARTED_RUNS,
        )
        for name, some in by_gold.items()
    ]


def board_of(gold: str, lines: Sequence[RunLine], *, more: int = 0) -> Board:
    """The board of one gold set, from its runs, the newest first. Only runs with the measure of the
    newest are drawn."""
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


def verdict_today(service: Service, run: StoredRun, *, settle: bool = True) -> Verdict | None:
    """The verdict on a run under today's gates: those of the configuration if it has any for the
    run, else those that it was scored with. The default gates of a golden set are checked again if
    a baseline is named. With `settle`, the verdict also says what to judge if it is
    inconclusive."""
    gates, baseline = _gates_today(service, run)
    if not gates and not (baseline and _has_default_gates(run.results)):
        return run.results.verdict
    key = ("verdict", *_cache_key(service, run, gates, baseline), settle)
    try:
        return compute_once(key, lambda: _verdict(run.results, gates, baseline, settle=settle))
    except AssayError:  # a gate on what the run did not measure
        return run.results.verdict


def _has_default_gates(results: Results) -> bool:
    """Whether a golden set was scored with the default gates: those on a drop are inconclusive
    without a baseline."""
    checks = results.verdict.checks if results.verdict else ()
    asked = [check.gate for check in checks if check.gate.measure not in ERRORS]
    return isinstance(results, GoldenResults) and all(gate in DEFAULT_POLICY for gate in asked)


def _verdict(
    results: Results, gates: Sequence[Gate], baseline: Path | None, *, settle: bool
) -> Verdict:
    """The verdict under these gates. If the baseline cannot be read, gates on a drop are
    inconclusive, and the others decide."""
    try:
        recorded = read_baseline(baseline, golden=isinstance(results, GoldenResults))
    except AssayError:
        recorded = None
    return verdict_against(results, gates, recorded, settle=settle)


def _gates_today(service: Service, run: StoredRun) -> tuple[list[Gate], Path | None]:
    """The gates that the configuration has for a run, and its baseline."""
    name = configured_name(service, run.gold)
    if service.config is None or not name:
        return [], None
    return gates_on(service.config, name, run.engine, run.results), baseline_of(service, run)


def baseline_of(service: Service, run: StoredRun) -> Path | None:
    """The file that the configuration names as the baseline of the run's set."""
    name = configured_name(service, run.gold)
    named = service.config.gold[name].baseline if service.config and name else None
    return Path(named) if named else None


def _cache_key(
    service: Service, run: StoredRun, gates: Sequence[Gate], baseline: Path | None
) -> tuple[Hashable, ...]:
    """The values that a verdict depends on, as the key of a cache."""
    state = stamp_of(baseline) if baseline else None
    return service.store.address, run.id, msgspec.json.encode(gates), str(baseline or ""), state


def verdict_risk(
    service: Service, run: StoredRun, verdict: Verdict | None
) -> SingleJudgeRisk | None:
    """Whether the verdict rests on the votes of one judge that nobody has checked."""
    if verdict is None or verdict.status == "inconclusive" or not verdict.checks:
        return None
    gates, baseline = _gates_today(service, run)
    gates = gates or [check.gate for check in verdict.checks if check.gate.measure != "errors"]
    try:
        dataset = path_of_stored_name(service, run.gold)
    except AssayError:  # a set that is not open here
        return None
    key = _cache_key(service, run, gates, baseline)
    return find_single_judge_risk(
        [run.results],
        dataset,
        lambda runs: _verdict(runs[0], gates, baseline, settle=False).status,
        key,
    )


# ── may it ship ───────────────────────────────────────────────────────────────────────────────────


Ship = Literal["yes", "no", "not_yet", "no_gates"]
STATUSES: dict[Status, Ship] = {"pass": "yes", "fail": "no", "inconclusive": "not_yet"}
WORST_FIRST = ("fail", "inconclusive", "pass")
GATES_SHOWN = 4  # gates that are told in full; taste


class ShipAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer in a sentence, and what every gate found, the worst first."""

    text: str
    gates: tuple[str, ...] = ()
    verdict: Verdict | None = None

    def summarize(self) -> str:
        return " ".join([self.text, *self.gates[:GATES_SHOWN]])


def ship_of(verdict: Verdict | None) -> Ship:
    if verdict is None or not any(check.counts for check in verdict.checks):
        return "no_gates"
    return STATUSES[verdict.status]


def ship_answer(service: Service, run: StoredRun) -> tuple[Ship, str]:
    """The answer alone and why it is not yes, for a list of runs; whom it rests on takes longer to
    find."""
    verdict, musts = _verdict_and_musts(service, run)
    answer = ship_of(verdict)
    if answer == "yes" and musts:
        return "not_yet", f"{_english().failed_musts(musts, SHOWN_MUSTS)}."
    checks = [each for each in verdict.checks if each.counts] if verdict else []
    worst = min(checks, key=lambda each: WORST_FIRST.index(each.status), default=None)
    return answer, _word_check(worst, run) if worst and worst.status != "pass" else ""


def _verdict_and_musts(service: Service, run: StoredRun) -> tuple[Verdict | None, tuple[str, ...]]:
    """The verdict of today's gates, and the failed questions that must pass."""
    verdict = verdict_today(service, run, settle=False)
    return verdict, line_of(run, run.results, verdict).musts


def may_ship(service: Service, run: StoredRun) -> ShipAnswer:
    verdict, musts = _verdict_and_musts(service, run)
    answer = ship_of(verdict)
    checks = [check for check in verdict.checks if check.counts] if verdict else []
    risk = verdict_risk(service, run, verdict)
    return ShipAnswer(
        text=_english().may_ship(
            run.engine,
            answer,
            musts=musts,
            judge=risk.on.judge if risk else "",
            built_in=any(check.gate in DEFAULT_POLICY for check in checks),
        ),
        gates=tuple(
            _word_check(check, run)
            for check in sorted(checks, key=lambda check: WORST_FIRST.index(check.status))
        ),
        verdict=verdict,
    )


def _english() -> Sentences:
    return Sentences(Words("en"))


def _word_check(check: Check, run: StoredRun) -> str:
    """The sentence on one gate."""
    to_judge = 0
    if check.status == "inconclusive" and isinstance(run.results, GradedResults):
        to_judge = _still_to_judge(check, run.results)
    return _english().gate_found(run.results, check, to_judge=to_judge)


def _still_to_judge(check: Check, results: GradedResults) -> int:
    """How many of its first hits must be judged before the gate decides, at most."""
    needed = check.gate.min_judged
    if needed is None or not has_too_few_judged(check.gate, results):
        return 0
    cutoff = measure_line(check.gate, results).cutoff or 10
    short = (
        (needed - judged_share_of_gate(check.gate, results))
        * len(entries_in_slice(check.gate, results))
        * cutoff
    )
    return ceil(round(short, 6))


# ── trends ────────────────────────────────────────────────────────────────────────────────────────


def trends(service: Service, *, gold: str = "", engine: str = "") -> list[Trend]:
    """The trends of every set and engine, or of those given, the latest run first; files of answers
    come after the sets."""
    name = stored_name(service, gold)
    tracks = trends_by_set(service, gold=name)
    tracks |= {} if name else trends_by_set(service, answers=True)
    found = [
        trend for some in tracks.values() for trend in some if not engine or trend.engine == engine
    ]
    if not found and (gold or engine):
        known = sorted({f"{record.engine} on {record.gold}" for record in run_records(service)})
        raise NotHere("no run of that is kept", hint=f"Kept: {', '.join(known) or 'none yet'}.")
    return found


def trends_by_set(
    service: Service, *, gold: str = "", answers: bool = False
) -> dict[str, list[Trend]]:
    """`gold` is the name that the history has for a set. The newest runs of each engine."""
    tracks: dict[tuple[str, str], list[RunRecord]] = {}
    for record in run_records(service, gold=gold, answers=answers, limit=KNOWN):
        tracks.setdefault((record.gold, record.engine), []).append(record)
    found: dict[str, list[Trend]] = {}
    for (name, engine), runs in tracks.items():
        events = _events(service, name, reversed(runs[:CHARTED_RUNS]))
        found.setdefault(name, []).append(Trend(gold=name, engine=engine, events=events))
    return found


def _events(service: Service, gold: str, records: Iterable[RunRecord]) -> list[Event]:
    """Runs that cannot be read, or measured something else than the newest, are left out."""
    labels = _graded_set(service, gold)
    readable = [
        (record, past) for record in records if (past := _values_then(service, record, labels))
    ]
    lines = [run_line(service, record) for record, _ in readable]
    chosen = [place for place, line in enumerate(lines) if line.measure == lines[-1].measure]
    known = (service.store.address, labels.stamp if labels else None)
    ids = tuple(readable[place][0].id for place in chosen)
    pasts = [readable[place][1] for place in chosen]
    found = compute_once(("steps", *known, ids), lambda: steps(pasts))
    return [
        Event(
            id=lines[place].id,
            at=lines[place].at,
            measure=lines[place].measure,
            value=lines[place].value,
            low=lines[place].low,
            high=lines[place].high,
            today=_mean(readable[place][1]),
            queries=lines[place].queries,
            step=step,
            commit=_commit(readable[place][1].git),
        )
        for place, step in zip(chosen, found, strict=True)
    ]


def _mean(past: PastRun) -> float | None:
    """The mean with today's labels; None if the run was not scored with them."""
    values = past.values.values()
    return sum(values) / len(values) if past.rescored and values else None


class _GradedSet(NamedTuple):
    """A graded set as its file is now."""

    stamp: Stamp
    gold: GoldSet


def _graded_set(service: Service, gold: str) -> _GradedSet | None:
    sets = service.gold_sets.values()
    path = next((each for each in sets if gold in run_names(service, each)), None)
    stamp = stamp_of(path) if path is not None else None
    if path is None or stamp is None:
        return None
    return compute_once(("labels", path, stamp), lambda: _read_graded_set(path, stamp))


def _read_graded_set(path: Path, stamp: Stamp) -> _GradedSet | None:
    try:
        known = read_gold(path)
    except AssayError:
        return None
    return None if known.is_golden else _GradedSet(stamp, known)


def _values_then(service: Service, record: RunRecord, labels: _GradedSet | None) -> PastRun | None:
    """A run never changes: with the same labels its values are computed once."""

    def values() -> PastRun | None:
        checked = stored_answers(service, record.id) if record.gold.startswith(ANSWERS) else None
        if checked is not None:
            each = {
                id: figures[HEADLINE_SHARE] for id, figures in checked.results.per_query.items()
            }
            git = checked.results.receipt.git
            return PastRun(fingerprint="", values=_without_missing(each), git=git)
        try:
            return _values_today(stored_run(service, record.id).results, labels)
        except AssayError:
            return None

    stamp = labels.stamp if labels else None
    return compute_once(("past", service.store.address, record.id, stamp), values)


def _values_today(results: Results, labels: _GradedSet | None) -> PastRun:
    """Scored again with the labels of today where the hits that are kept are enough for it, so that
    judging more changes no level; else as they were."""
    key, measure = headline(results)
    if isinstance(results, GoldenResults):
        ids = {entry.query_id for entry in results.per_query}
        own = [entry for entry in results.per_query if not is_variant(entry, ids)]
        values = {entry.query_id: entry.metrics.get("pass") for entry in own}
    elif labels is not None and _has_every_hit(results, measure):
        hits = {
            entry.query_id: {doc: -float(rank) for rank, doc in enumerate(entry.results)}
            for entry in results.per_query
            if entry.error is None
        }
        sheet = graded.evaluate(hits, labels.gold, [measure])
        again = zip(sheet.queries, sheet.values[:, 0].tolist(), strict=True)
        value_of = {
            query.id: value for query, value in again if query.id in hits and value == value
        }
        return PastRun(fingerprint="", values=value_of, rescored=True, git=results.receipt.git)
    else:
        values = {entry.query_id: entry.metrics.get(key) for entry in results.per_query}
    receipt = results.receipt
    return PastRun(
        fingerprint=receipt.gold.fingerprint, values=_without_missing(values), git=receipt.git
    )


def _without_missing(values: Mapping[str, float | None]) -> dict[str, float]:
    return {query: float(value) for query, value in values.items() if value is not None}


def _has_every_hit(results: Results, measure: str) -> bool:
    """Whether every hit that the measure looks at is in the file."""
    cutoff = next(
        (line.cutoff for line in results.receipt.measures if line.measure == measure), None
    )
    entries = [entry for entry in results.per_query if isinstance(entry, GradedEntry)]
    return all(
        len(entry.results) >= min(cutoff or entry.returned, entry.returned) for entry in entries
    )


def _commit(git: GitState | None) -> Commit | None:
    if git is None or not re.fullmatch(r"[0-9a-f]{7,64}", git.commit):
        return None
    key = ("commit", git.commit, Path.cwd())
    by, _, subject = compute_once(
        key, lambda: _author_and_subject(git.commit, Path.cwd())
    ).partition("\0")
    return Commit(id=git.commit, dirty=git.dirty, by=by, subject=subject)


def _author_and_subject(commit: str, folder: Path) -> str:
    """Author and subject of a commit of this repository."""
    asked = ("log", "-1", "--format=%an%x00%s", "--end-of-options", commit)
    return git(*asked, folder=folder) or ""

"""The Home page: the gold sets, the engines, the items that people have to judge or review, the
latest verdicts and recent activity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.errors import AssayError
from assay.core.results import Pair, Status
from assay.judging.pool import is_answer_set, pool_path
from assay.review.backlog import Backlog, ExternalBacklog
from assay.store.records import AuditEntry, RunRecord
from assay.telemetry.recorder import Counts
from assay.workbench.deciding.run_boards import (
    RunLine,
    configured_name,
    line_of_record,
    summarise,
    verdict_risk,
    verdict_today,
)
from assay.workbench.deciding.run_comparison import pairs_by_votes
from assay.workbench.deciding.single_judge_risk import SingleJudgeRisk
from assay.workbench.judging.session import open_session
from assay.workbench.judging.vote_totals import PairsByVotes, SetProgress, set_progress
from assay.workbench.project.audit_trail import trail
from assay.workbench.project.health import figures
from assay.workbench.project.service import Service, run_name
from assay.workbench.review.queue import pending_items, stray_items
from assay.workbench.scoring.history import latest_runs, read_ahead, run_records, stored_run
from assay.workbench.searching.corpora import readable_corpora

RECENT_LINES = 8  # activities and verdicts shown: what fits beside the other cards (taste)
OPEN_TO_ALL = ("gold.", "review.", "run.")  # actions on gold sets and runs, not on people
# newest entries of the audit trail that are searched for actions open to all; chosen
SEARCHED_ENTRIES = 500
# newest runs that are searched for the latest of every set and engine; chosen
SEARCHED_RUNS = 2_000

Headline = Literal[
    "empty",
    "no_engines",
    "no_runs",
    "failing",
    "changed",
    "judged",
    "needs_judging",
    "needs_ruling",
    "being_judged",
    "inconclusive",
    "ship",
    "ran",
]


class SetLine(msgspec.Struct, frozen=True, kw_only=True):
    """A gold set, and the latest run of the engine that leads on it. `kept` is its name in the
    history; `changed` says that its queries or labels have changed since the last run."""

    standing: SetProgress
    kept: str
    run: RunLine | None = None
    runs: int = 0
    changed: bool = False


class EngineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """An engine that is configured, our own on a corpus, or another one that has a run; and its
    latest run."""

    name: str
    kind: Literal["configured", "corpus", "ran"]
    documents: int | None = None
    indexed: bool = True
    run: RunLine | None = None


class PendingWork(msgspec.Struct, frozen=True, kw_only=True):
    """The items that people have to judge or review. `rows` are pending approval: as many as the
    files have, or the queue if it has more. `strays` belong to rows that are not in a set any more,
    and are in no other count."""

    total: int
    judge: int
    disputes: int
    rows: int
    strays: int
    suggestions: int = 0


class Overview(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"single_judge_risk": "rests", "single_judges": "alone"},
):
    """`headline` names the first sentence, `subject` is the run that it is about,
    `to_judge` are the remaining documents that would settle it, `rulings` those on which judges
    disagree, and `single_judge_risk` says whether it depends on unchecked votes of one judge."""

    headline: Headline
    subject: RunLine | None
    to_judge: list[Pair]
    rulings: list[Pair]
    single_judge_risk: SingleJudgeRisk | None
    single_judges: dict[str, str]  # run: the judge on whose unchecked votes its verdict depends
    waiting: PendingWork
    backlog: Backlog
    backlogs: dict[str, ExternalBacklog]
    sets: list[SetLine]
    engines: list[EngineStatus]
    verdicts: list[RunLine]
    latest: RunLine | None
    runs: int
    lately: list[AuditEntry]
    searches: int  # in the store, whoever logged them
    telemetry: Counts | None  # of this process
    at: datetime


def overview(service: Service, *, whole_trail: bool = False) -> Overview:
    """The contents of Home. With `whole_trail`, recent activity includes all actions."""
    records = _latest_summarised(service, run_records(service, limit=SEARCHED_RUNS))
    every = set_lines(service, records)
    answers = {name for name, path in service.gold_sets.items() if is_answer_set(path)}
    sets = [line for line in every if line.standing.name not in answers]  # they have a page
    current = figures(service)
    engines = _engine_lines(service, records)
    # a store may have runs on sets that are elsewhere: what comes first is about those here
    open_sets = {line.kept for line in sets}
    own = [record for record in records if record.gold in open_sets] if sets else records
    latest = line_of_record(own[0]) if own else None
    newest = latest_runs(own, _set_and_engine)[:RECENT_LINES]
    verdicts = list(map(line_of_record, newest))
    headline, subject = _headline(sets, engines, _without_unlisted(service, verdicts), latest)
    to_judge: list[Pair] = []
    rulings: list[Pair] = []
    if headline == "inconclusive" and subject is not None:
        asked, first = _judgments_to_settle(service, subject)
        found = pairs_by_votes(service, subject.gold, asked)
        to_judge, rulings = found.left, found.rulings
        subject = msgspec.structs.replace(subject, to_judge=len(to_judge), judge_first=first)
        if asked:
            headline = _headline_of(found)
        if any(line.changed and line.kept == subject.gold for line in sets):
            headline = "changed"
    return Overview(
        headline=headline,
        subject=subject,
        to_judge=to_judge,
        rulings=rulings,
        single_judge_risk=run_risk(service, subject) if headline in ("ship", "failing") else None,
        single_judges=_single_judges(
            service, [*verdicts, *(line.run for line in sets if line.run)]
        ),
        waiting=_pending_work(service, every, current.review.backlog),
        backlog=current.review.backlog,
        backlogs=current.review.backlogs,
        sets=sets,
        engines=engines,
        verdicts=verdicts,
        latest=latest,
        runs=len(records),
        lately=trail(service, limit=RECENT_LINES) if whole_trail else _recent_for_all(service),
        searches=current.searches,
        telemetry=current.telemetry,
        at=current.at,
    )


def _latest_summarised(service: Service, records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records, where the latest of every engine on every set has its summary."""
    latest = latest_runs(records, _set_and_engine)
    made = {record.id: record for record in summarise(service, latest)}
    return [made.get(record.id, record) for record in records]


def _set_and_engine(record: RunRecord) -> tuple[str, str]:
    return record.gold, record.engine


def set_lines(service: Service, records: Sequence[RunRecord]) -> list[SetLine]:
    lines = []
    for name, path in service.gold_sets.items():
        stored_name = run_name(service, path)
        runs_of_set = [record for record in records if record.gold == stored_name]
        standing = set_progress(name, path)
        latest = list(map(line_of_record, latest_runs(runs_of_set, lambda run: run.engine)))
        ran_on = latest[0].fingerprint if latest else ""
        lines.append(
            SetLine(
                standing=standing,
                kept=stored_name,
                run=_leading(latest),
                runs=len(runs_of_set),
                changed=bool(ran_on and standing.fingerprint) and ran_on != standing.fingerprint,
            )
        )
    return lines


def _leading(latest: Sequence[RunLine]) -> RunLine | None:
    """The best of the runs on the newest state of a set, as in the headline."""
    now = [line for line in latest if line.fingerprint == latest[0].fingerprint]
    return max(now, key=lambda line: line.value or 0.0, default=None)


def _pending_work(service: Service, sets: Sequence[SetLine], queue: Backlog) -> PendingWork:
    judge = sum(line.standing.to_judge for line in sets)
    disputes = sum(line.standing.disputes for line in sets)
    lost = stray_items(service)
    lost_suggestions = sum(item.kind == "judgment" for item in lost)
    waits = queue.pending_review - len(lost)
    suggested = sum(item.kind == "judgment" for item in pending_items(service))
    suggestions = min(suggested - lost_suggestions, waits)
    queued = waits - suggestions
    rows = max(sum(line.standing.to_approve for line in sets), queued)
    return PendingWork(
        total=judge + disputes + rows + suggestions,
        judge=judge,
        disputes=disputes,
        rows=rows,
        strays=len(lost),
        suggestions=suggestions,
    )


def _recent_for_all(service: Service) -> list[AuditEntry]:
    """Recent actions on gold sets and runs, without their reasons: those, and actions on people,
    are for readers of the audit trail."""
    return [
        msgspec.structs.replace(entry, reason="", before=None, after=None)
        for entry in trail(service, limit=SEARCHED_ENTRIES)
        if entry.action.startswith(OPEN_TO_ALL)
    ][:RECENT_LINES]


# ── engines ───────────────────────────────────────────────────────────────────────────────────────


def _engine_lines(service: Service, records: Sequence[RunRecord]) -> list[EngineStatus]:
    latest = {run.engine: run for run in latest_runs(records, lambda run: run.engine)}

    def last(name: str) -> RunLine | None:
        return line_of_record(latest[name]) if name in latest else None

    configured = service.config.engines if service.config else {}
    lines = [EngineStatus(name=name, kind="configured", run=last(name)) for name in configured]
    lines += [
        EngineStatus(
            name=row.name,
            kind="corpus",
            documents=row.documents,
            indexed=row.indexed,
            run=last(row.name),
        )
        for row in readable_corpora(service.home)
        if row.name not in configured
    ]
    named = {line.name for line in lines}
    tried = [name for name in latest if name not in named]
    return lines + [EngineStatus(name=name, kind="ran", run=last(name)) for name in tried]


# ── the headline ──────────────────────────────────────────────────────────────────────────────────


def _without_unlisted(service: Service, verdicts: Sequence[RunLine]) -> list[RunLine]:
    """The verdicts without those of engines that the configuration does not list for the set: a run
    that somebody tried does not change the headline."""
    sets = service.config.gold if service.config else {}

    def listed(line: RunLine) -> Sequence[str]:
        name = configured_name(service, line.gold)
        return sets[name].engines if name else ()

    return [line for line in verdicts if line.engine in (listed(line) or (line.engine,))]


def _headline_of(pairs: PairsByVotes) -> Headline:
    """The next step for the documents that would settle the gates."""
    if pairs.left:
        return "needs_judging"
    if pairs.rulings:
        return "needs_ruling"
    return "being_judged" if pairs.dealt else "judged"


def _judgments_to_settle(service: Service, line: RunLine) -> tuple[list[Pair], bool]:
    """The judgments that are expected to settle the gates of a run, and whether they have to come
    first."""
    verdict = verdict_today(service, stored_run(service, line.id))
    return (list(verdict.judge_next or ()), verdict.judge_first) if verdict else ([], False)


def run_risk(service: Service, line: RunLine | None) -> SingleJudgeRisk | None:
    """Whether the verdict on a run rests on one judge, whom nobody has checked."""
    if line is None or line.status not in ("pass", "fail") or line.kind == "answers":
        return None
    run = stored_run(service, line.id)
    return verdict_risk(service, run, verdict_today(service, run))


def _single_judges(service: Service, lines: Iterable[RunLine]) -> dict[str, str]:
    shown = {line.id: line for line in lines}
    read_ahead(service, [id for id, line in shown.items() if line.status in ("pass", "fail")])
    return {
        run: found.on.judge for run, line in shown.items() if (found := run_risk(service, line))
    }


def _best(verdicts: Sequence[RunLine]) -> list[RunLine]:
    """The run of the leading engine of every set."""
    best: dict[str, RunLine] = {}
    for line in verdicts:
        known = best.get(line.gold)
        if line.status and (known is None or (line.value or 0) > (known.value or 0)):
            best[line.gold] = line
    return list(best.values())


def _headline(
    sets: Sequence[SetLine],
    engines: Sequence[EngineStatus],
    verdicts: Sequence[RunLine],
    latest: RunLine | None,
) -> tuple[Headline, RunLine | None]:
    """The headline, and the run that it is about. What matters most comes first."""
    if not sets and latest is None:
        return "empty", None
    if latest is None:
        return ("no_runs" if engines else "no_engines"), None
    headlines: dict[Status, Headline] = {
        "fail": "failing",
        "inconclusive": "inconclusive",
        "pass": "ship",
    }
    best = _best(verdicts)
    for status, headline in headlines.items():
        found = next((line for line in best if line.status == status), None)
        if found is not None:
            return headline, found
    return "ran", latest


# ── the badge of every page ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PendingBadge:
    """The pairs that one judge has to judge, and the items that the chair has to review."""

    judge: int
    review: int
    oldest_days: int  # of the items to review


def pending_badge(service: Service, judge: str = "") -> PendingBadge | None:
    """The badge at the top of every page; None if nothing is pending."""
    pending = pending_items(service)
    review, oldest = len(pending), min((i.created_at for i in pending), default=None)
    to_judge = sum(_left_to_judge(path, judge) for path in service.gold_sets.values())
    if not to_judge and not review:
        return None
    days = (service.clock() - oldest).days if oldest is not None else 0
    return PendingBadge(judge=to_judge, review=review, oldest_days=days)


def _left_to_judge(dataset: Path, judge: str) -> int:
    """A set that cannot be read says so on its own page."""
    if not pool_path(dataset).exists():
        return 0
    try:
        return open_session(dataset).left(judge)
    except (AssayError, OSError):
        return 0

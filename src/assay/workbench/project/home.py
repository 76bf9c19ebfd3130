"""Today's state at a glance: the sets and where they stand, the engines, what waits for people, the
latest verdicts, and what was done lately."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.errors import AssayError
from assay.core.results import Pair, Status
from assay.review.backlog import Backlog
from assay.review.external_backlog import ExternalBacklog
from assay.store.records import AuditEntry, RunRecord
from assay.telemetry.recorder import Counts
from assay.workbench.deciding.next_judgments import left_to_judge
from assay.workbench.deciding.run_boards import (
    RunLine,
    configured_name,
    decided,
    rests_on,
    run_line,
    summarise,
)
from assay.workbench.deciding.single_judge_risk import Rests
from assay.workbench.judging.progress import SetStanding, set_standing
from assay.workbench.project.audit_trail import trail
from assay.workbench.project.health import figures
from assay.workbench.project.service import Service, run_name
from assay.workbench.review.queue import pending, strays
from assay.workbench.scoring.history import kept_run, read_ahead, run_records
from assay.workbench.searching import corpora

__all__ = [
    "EngineLine",
    "Headline",
    "Overview",
    "PendingWork",
    "SetLine",
    "overview",
    "rests_of",
    "set_lines",
]

RECENT = 8  # changes and verdicts that are shown
OPEN_TO_ALL = ("gold.", "review.", "run.")  # what was done to gold and runs, not to people
TRAIL = 500  # entries of the audit trail among which those for everybody are
LOOKED_AT = 2_000  # runs among which the latest of every set and engine are
CORPORA_SECONDS = 5.0  # how long the list of corpora stands

Headline = Literal[
    "empty",
    "no_engines",
    "no_runs",
    "failing",
    "changed",
    "judged",
    "needs_judging",
    "inconclusive",
    "ship",
    "ran",
]


class SetLine(msgspec.Struct, frozen=True, kw_only=True):
    """A set, and the latest run of the engine that leads on it; `kept` is its name in the history.
    It has `changed` where its queries or labels are others than when it was last run."""

    standing: SetStanding
    kept: str
    run: RunLine | None = None
    runs: int = 0
    changed: bool = False


class EngineLine(msgspec.Struct, frozen=True, kw_only=True):
    """An engine that is configured, a corpus that is indexed, or one that ran here all the same;
    and its latest run."""

    name: str
    kind: Literal["configured", "corpus", "ran"]
    documents: int | None = None
    indexed: bool = True
    run: RunLine | None = None


class PendingWork(msgspec.Struct, frozen=True, kw_only=True):
    """What people have to do. `rows` are to be approved: as many as the files have, or the queue
    where that has more; `suggestions` of documents wait beside them. `strays` are of rows that are
    not here, wait for nobody, and are in no other number."""

    total: int
    judge: int
    disputes: int
    rows: int
    strays: int
    suggestions: int = 0


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """`headline` says which sentence comes first; `subject` is the run that it is about, `to_judge`
    what is left of the documents that would settle it, and `rests` the judge whom it rests on,
    where nobody has checked what that judge said."""

    headline: Headline
    subject: RunLine | None
    to_judge: list[Pair]
    rests: Rests | None
    alone: dict[str, str]  # run: the judge whom its verdict rests on alone, and nobody has checked
    waiting: PendingWork
    backlog: Backlog
    backlogs: dict[str, ExternalBacklog]
    sets: list[SetLine]
    engines: list[EngineLine]
    verdicts: list[RunLine]
    latest: RunLine | None
    runs: int
    lately: list[AuditEntry]
    searches: int  # in the store, whoever logged them
    telemetry: Counts | None  # of this process
    at: datetime


def overview(service: Service, *, whole_trail: bool = False) -> Overview:
    """With `whole_trail`, for those who may read the audit trail, what was done lately is all of
    it."""
    records = _latest_summarised(service, run_records(service, limit=LOOKED_AT))
    sets = set_lines(service, records)
    current = figures(service)
    engines = _engines(service, records)
    # a store may have runs on sets that are elsewhere: what comes first is about those here
    here = {line.kept for line in sets}
    own = [record for record in records if record.gold in here] if sets else records
    latest = run_line(service, own[0]) if own else None
    verdicts = _verdicts(service, own)
    headline, subject = _headline(sets, engines, _of_listed(service, verdicts), latest)
    to_judge: list[Pair] = []
    if headline == "inconclusive" and subject is not None:
        asked, first = _settling(service, subject)
        to_judge = left_to_judge(service, subject.gold, asked)
        subject = msgspec.structs.replace(subject, to_judge=len(to_judge), judge_first=first)
        if asked:
            headline = "needs_judging" if to_judge else "judged"
        if any(line.changed and line.kept == subject.gold for line in sets):
            headline = "changed"
    return Overview(
        headline=headline,
        subject=subject,
        to_judge=to_judge,
        rests=rests_of(service, subject) if headline in ("ship", "failing") else None,
        alone=_alone(service, [*verdicts, *(line.run for line in sets if line.run)]),
        waiting=_pending_work(service, sets, current.review.backlog),
        backlog=current.review.backlog,
        backlogs=current.review.backlogs,
        sets=sets,
        engines=engines,
        verdicts=verdicts,
        latest=latest,
        runs=len(records),
        lately=trail(service, limit=RECENT) if whole_trail else _open_to_all(service),
        searches=current.searches,
        telemetry=current.telemetry,
        at=current.at,
    )


def _latest_summarised(service: Service, records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records, where the latest of every engine on every set has its summary."""
    latest: dict[tuple[str, str], RunRecord] = {}
    for record in records:
        latest.setdefault((record.gold, record.engine), record)
    made = {record.id: record for record in summarise(service, list(latest.values()))}
    return [made.get(record.id, record) for record in records]


def set_lines(service: Service, records: Sequence[RunRecord]) -> list[SetLine]:
    lines = []
    for name, path in service.gold_sets.items():
        kept = run_name(service, path)
        mine = [record for record in records if record.gold == kept]
        standing, latest = set_standing(name, path), _latest(service, mine)
        ran_on = latest[0].fingerprint if latest else ""
        lines.append(
            SetLine(
                standing=standing,
                kept=kept,
                run=_leading(latest),
                runs=len(mine),
                changed=bool(ran_on and standing.fingerprint) and ran_on != standing.fingerprint,
            )
        )
    return lines


def _latest(service: Service, records: Sequence[RunRecord]) -> list[RunLine]:
    """The latest of each engine, the newest first."""
    latest: dict[str, RunRecord] = {}
    for record in records:
        latest.setdefault(record.engine, record)
    return [run_line(service, record) for record in latest.values()]


def _leading(latest: Sequence[RunLine]) -> RunLine | None:
    """Of those on the newest state of the set: what is said of a set is said of its best engine,
    here as in the sentence that comes first."""
    now = [line for line in latest if line.fingerprint == latest[0].fingerprint]
    return max(now, key=lambda line: line.value or 0.0, default=None)


def _pending_work(service: Service, sets: Sequence[SetLine], queue: Backlog) -> PendingWork:
    judge = sum(line.standing.to_judge for line in sets)
    disputes = sum(line.standing.disputes for line in sets)
    lost = strays(service)
    lost_suggestions = sum(item.kind == "judgment" for item in lost)
    waits = queue.pending_review - len(lost)
    suggestions = min(_suggestions(service) - lost_suggestions, waits)
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


def _open_to_all(service: Service) -> list[AuditEntry]:
    """What was done to gold and runs, and who did it: people, accounts and reasons are for those
    who may read the audit trail."""
    return [
        msgspec.structs.replace(entry, reason="", before=None, after=None)
        for entry in trail(service, limit=TRAIL)
        if entry.action.startswith(OPEN_TO_ALL)
    ][:RECENT]


def _suggestions(service: Service) -> int:
    """Documents that somebody suggests, which wait in the same queue as rows."""
    return sum(item.kind == "judgment" for item in pending(service))


# ── engines ───────────────────────────────────────────────────────────────────────────────────────

_corpora: dict[Path | None, tuple[float, list[corpora.CorpusRow]]] = {}
_lock = threading.Lock()


def _engines(service: Service, records: Sequence[RunRecord]) -> list[EngineLine]:
    latest: dict[str, RunRecord] = {}
    for record in records:
        latest.setdefault(record.engine, record)

    def last(name: str) -> RunLine | None:
        return run_line(service, latest[name]) if name in latest else None

    configured = service.config.engines if service.config else {}
    lines = [EngineLine(name=name, kind="configured", run=last(name)) for name in configured]
    lines += [
        EngineLine(
            name=row.name,
            kind="corpus",
            documents=row.documents,
            indexed=row.indexed,
            run=last(row.name),
        )
        for row in known_corpora(service)
        if row.name not in configured
    ]
    named = {line.name for line in lines}
    tried = [name for name in latest if name not in named]
    return lines + [EngineLine(name=name, kind="ran", run=last(name)) for name in tried]


def known_corpora(service: Service) -> list[corpora.CorpusRow]:
    """The corpora of the workspace; the folder is looked at every few seconds."""
    with _lock:
        at, rows = _corpora.get(service.home, (-CORPORA_SECONDS, []))
    now = time.monotonic()
    if now - at > CORPORA_SECONDS:
        try:
            rows = corpora.corpus_rows(service.home)
        except (AssayError, OSError):  # `assay doctor` says what is wrong with it
            rows = []
        with _lock:
            _corpora[service.home] = now, rows
    return rows


# ── the sentence ──────────────────────────────────────────────────────────────────────────────────


def _verdicts(service: Service, records: Sequence[RunRecord]) -> list[RunLine]:
    """The latest of every engine on every set."""
    latest: dict[tuple[str, str], RunRecord] = {}
    for record in records:
        latest.setdefault((record.gold, record.engine), record)
    return [run_line(service, record) for record in list(latest.values())[:RECENT]]


def _of_listed(service: Service, verdicts: Sequence[RunLine]) -> list[RunLine]:
    """Without those of engines that the configuration does not name for the set: what comes first
    is not moved by a run that somebody tried."""
    sets = service.config.gold if service.config else {}

    def listed(line: RunLine) -> Sequence[str]:
        name = configured_name(service, line.gold)
        return sets[name].engines if name else ()

    return [line for line in verdicts if line.engine in (listed(line) or (line.engine,))]


def _settling(service: Service, line: RunLine) -> tuple[list[Pair], bool]:
    """The judgments that are expected to settle its gates, or that come first."""
    verdict = decided(service, kept_run(service, line.id))
    return (list(verdict.judge_next or ()), verdict.judge_first) if verdict else ([], False)


def rests_of(service: Service, line: RunLine | None) -> Rests | None:
    """Whether the verdict on a run rests on one judge, whom nobody has checked."""
    if line is None or line.status not in ("pass", "fail"):
        return None
    kept = kept_run(service, line.id)
    return rests_on(service, kept, decided(service, kept))


def _alone(service: Service, lines: Iterable[RunLine]) -> dict[str, str]:
    shown = {line.id: line for line in lines}
    read_ahead(service, [id for id, line in shown.items() if line.status in ("pass", "fail")])
    return {
        run: found.on.judge for run, line in shown.items() if (found := rests_of(service, line))
    }


def _best(verdicts: Sequence[RunLine]) -> list[RunLine]:
    """The leading engine of every set: whether the one behind it may ship is nobody's question."""
    best: dict[str, RunLine] = {}
    for line in verdicts:
        known = best.get(line.gold)
        if line.status and (known is None or (line.value or 0) > (known.value or 0)):
            best[line.gold] = line
    return list(best.values())


def _headline(
    sets: Sequence[SetLine],
    engines: Sequence[EngineLine],
    verdicts: Sequence[RunLine],
    latest: RunLine | None,
) -> tuple[Headline, RunLine | None]:
    """What matters most comes first."""
    if not sets and latest is None:
        return "empty", None
    if latest is None:
        return ("no_runs" if engines else "no_engines"), None
    sentences: dict[Status, Headline] = {
        "fail": "failing",
        "inconclusive": "inconclusive",
        "pass": "ship",
    }
    best = _best(verdicts)
    for status, said in sentences.items():
        found = next((line for line in best if line.status == status), None)
        if found is not None:
            return said, found
    return "ran", latest

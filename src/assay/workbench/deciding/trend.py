"""The trend of an engine on a set: every run in the history, its change against the runs before it,
and the commit that was measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import AssayError, NotHere
from assay.core.files import Stamp, stamp_of
from assay.core.fingerprints import git
from assay.core.results import GitState, GoldenResults, GradedEntry, Results, is_variant
from assay.core.types import GoldSet
from assay.evaluation import graded
from assay.evaluation.trends import Commit, Event, Past, Trend, steps
from assay.formats import read_gold
from assay.reports.answers import HEADLINE
from assay.store.records import ANSWERS, RunRecord
from assay.workbench.deciding.run_boards import KNOWN, SHOWN, headline, run_line
from assay.workbench.project.service import Service, compute_once, run_names, stored_name
from assay.workbench.scoring.history import run_records, stored_answers, stored_run

__all__ = ["Trend", "trends", "trends_by_set"]


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
        events = _events(service, name, reversed(runs[:SHOWN]))
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


def _mean(past: Past) -> float | None:
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


def _values_then(service: Service, record: RunRecord, labels: _GradedSet | None) -> Past | None:
    """A run never changes: with the same labels its values are computed once."""

    def values() -> Past | None:
        checked = stored_answers(service, record.id) if record.gold.startswith(ANSWERS) else None
        if checked is not None:
            each = {id: figures[HEADLINE] for id, figures in checked.results.per_query.items()}
            git = checked.results.receipt.git
            return Past(fingerprint="", values=_without_missing(each), git=git)
        try:
            return _values_today(stored_run(service, record.id).results, labels)
        except AssayError:
            return None

    stamp = labels.stamp if labels else None
    return compute_once(("past", service.store.address, record.id, stamp), values)


def _values_today(results: Results, labels: _GradedSet | None) -> Past:
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
        return Past(fingerprint="", values=value_of, rescored=True, git=results.receipt.git)
    else:
        values = {entry.query_id: entry.metrics.get(key) for entry in results.per_query}
    receipt = results.receipt
    return Past(
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

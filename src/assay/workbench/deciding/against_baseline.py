"""The comparison of a run with the baseline that the configuration names for its set: whether it is
better, and by how much in each figure."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.core.errors import AssayError
from assay.core.files import stamp_of
from assay.core.results import Baseline, GoldenResults, Recorded, Results, Verdict
from assay.evaluation.comparison import Comparison, Difference, compare
from assay.reports.view import failed_musts
from assay.reports.wording import (
    Sentences,
    as_sentence,
    gold_change,
    headlines,
    hidden_loss,
    risk_in_words,
)
from assay.reports.words import Words
from assay.workbench.deciding.baseline import change_from_baseline, read_baseline
from assay.workbench.deciding.run_boards import baseline_of, verdict_risk, verdict_today
from assay.workbench.deciding.run_comparison import Lead, lead_by
from assay.workbench.deciding.ship_gate import Ship, ship_of
from assay.workbench.deciding.single_judge_risk import SingleJudgeRisk
from assay.workbench.project.cache import compute_once
from assay.workbench.project.service import Service
from assay.workbench.scoring.history import StoredRun

__all__ = [
    "BaselineComparison",
    "BaselineSummary",
    "RunToday",
    "baseline_summary",
    "compare_with_baseline",
    "run_today",
    "with_baseline_name",
]


class BaselineComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A run compared with the baseline `before`. `change` has every figure, over the queries that
    both have and judge alike."""

    before: Results
    comparison: Comparison
    change: Baseline


class BaselineSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run is better than the baseline, in the words of the pages: the deciding measure,
    the caveats, who recorded the baseline, and the change of every figure."""

    lead: Lead
    head: Difference
    lost: str
    changed: str
    risk: str
    recorded: Recorded | None
    change: Baseline


class RunToday(StoredRun, frozen=True, kw_only=True):
    """A run as its page shows it. `results` are as they were recorded, with the verdict and the
    baseline of that day; everything else is of today."""

    ship: Ship
    verdict: Verdict | None
    musts: tuple[str, ...]  # questions that must pass and did not
    rests: SingleJudgeRisk | None
    since: BaselineSummary | None


def run_today(service: Service, run: StoredRun, language: str) -> RunToday:
    verdict, since = verdict_today(service, run), compare_with_baseline(service, run)
    return RunToday(
        **{field: getattr(run, field) for field in StoredRun.__struct_fields__},
        ship=ship_of(verdict),
        verdict=verdict,
        musts=failed_musts(run.results),
        rests=verdict_risk(service, run, verdict),
        since=baseline_summary(since, language) if since else None,
    )


def baseline_summary(since: BaselineComparison, language: str) -> BaselineSummary:
    compared, sentences = with_baseline_name(since, language), Sentences(Words(language))
    head = headlines(compared)[0]
    return BaselineSummary(
        lead=lead_by((compared.baseline, head.system), head),
        head=head,
        lost=as_sentence(hidden_loss(head, compared, sentences)),
        changed=as_sentence(gold_change(head, compared, sentences)),
        risk=risk_in_words(head, sentences),
        recorded=since.before.recorded,
        change=since.change,
    )


def with_baseline_name(since: BaselineComparison, language: str) -> Comparison:
    """The comparison, in which the baseline is called so."""
    name = Words(language)("baseline_of", engine=since.before.engine)
    return msgspec.structs.replace(since.comparison, baseline=name)


def compare_with_baseline(service: Service, run: StoredRun) -> BaselineComparison | None:
    """Compare a run with the baseline of its set. None if no baseline is named, or if it has no
    query of the run."""
    path = baseline_of(service, run)
    if path is None:
        return None
    key = ("since baseline", service.store.address, run.id, str(path), stamp_of(path))
    return compute_once(key, lambda: _compare_with_file(run, path))


def _compare_with_file(run: StoredRun, path: Path) -> BaselineComparison | None:
    try:
        baseline = read_baseline(path, golden=isinstance(run.results, GoldenResults))
        if baseline is None:
            return None
        return BaselineComparison(
            before=baseline,
            comparison=compare([baseline, run.results], [baseline.engine, run.engine], force=True),
            change=change_from_baseline(run.results, baseline, path),
        )
    except AssayError:  # it cannot be read, or has no query in common
        return None

"""A run against the baseline that the configuration names for its set: is it better, and by how
much in each figure."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.core.errors import AssayError
from assay.core.files import stamp_of
from assay.core.results import Baseline, GoldenResults, Recorded, Results, Verdict
from assay.evaluation.comparison import Comparison, Difference, compare
from assay.reports.view import failed_musts
from assay.reports.wording import Sentences, as_sentence, gold_change, headlines, hidden_loss
from assay.reports.words import Words
from assay.workbench.deciding.baseline import against, read_baseline
from assay.workbench.deciding.run_boards import baseline_of, decided, rests_on
from assay.workbench.deciding.run_comparison import Lead, lead_by
from assay.workbench.deciding.ship_gate import Ship, ship_of
from assay.workbench.deciding.single_judge_risk import Rests
from assay.workbench.project.cache import computed
from assay.workbench.project.service import Service
from assay.workbench.scoring.history import KeptRun

__all__ = ["Seen", "Since", "Told", "named", "seen", "since_baseline", "told"]


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """`change` has every figure, over the queries that both have and judge alike."""

    before: Results
    comparison: Comparison
    change: Baseline


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Is the run better than the baseline, in the words of the pages; the measure that decides;
    what the answer hangs on; who recorded the baseline; and the change of every figure."""

    lead: Lead
    head: Difference
    lost: str
    changed: str
    recorded: Recorded | None
    change: Baseline


class Seen(KeptRun, frozen=True, kw_only=True):
    """A run as its page tells of it. `results` stay as they were recorded, with the verdict and the
    baseline of that day; what stands beside them is of today."""

    ship: Ship
    verdict: Verdict | None
    musts: tuple[str, ...]  # questions that must pass and did not
    rests: Rests | None
    since: Told | None


def seen(service: Service, run: KeptRun, language: str) -> Seen:
    verdict, since = decided(service, run), since_baseline(service, run)
    return Seen(
        **{field: getattr(run, field) for field in KeptRun.__struct_fields__},
        ship=ship_of(verdict),
        verdict=verdict,
        musts=failed_musts(run.results),
        rests=rests_on(service, run, verdict),
        since=told(since, language) if since else None,
    )


def told(since: Since, language: str) -> Told:
    compared, tell = named(since, language), Sentences(Words(language))
    head = headlines(compared)[0]
    return Told(
        lead=lead_by((compared.baseline, head.system), head),
        head=head,
        lost=as_sentence(hidden_loss(head, compared, tell)),
        changed=as_sentence(gold_change(head, compared, tell)),
        recorded=since.before.recorded,
        change=since.change,
    )


def named(since: Since, language: str) -> Comparison:
    """The comparison with the baseline called so."""
    name = Words(language)("baseline_of", engine=since.before.engine)
    return msgspec.structs.replace(since.comparison, baseline=name)


def since_baseline(service: Service, run: KeptRun) -> Since | None:
    """None where no baseline is named, or it is of nothing that this run has."""
    path = baseline_of(service, run)
    if path is None:
        return None
    key = ("since baseline", service.store.address, run.id, str(path), stamp_of(path))
    return computed(key, lambda: _since(run, path))


def _since(run: KeptRun, path: Path) -> Since | None:
    try:
        then = read_baseline(path, golden=isinstance(run.results, GoldenResults))
        if then is None:
            return None
        return Since(
            before=then,
            comparison=compare([then, run.results], [then.engine, run.engine], force=True),
            change=against(run.results, then, path),
        )
    except AssayError:  # it cannot be read, or has no query in common
        return None

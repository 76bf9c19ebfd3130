"""Whether an engine may ship: the verdict of today's gates on a run, in the words of the pages, for
agents, which see no page."""

from __future__ import annotations

from math import ceil
from typing import Literal

import msgspec

from assay.core.results import Check, GradedResults, Status, Verdict
from assay.evaluation.gate_values import (
    entries_in_slice,
    has_too_few_judged,
    judged_share_of_gate,
    measure_line,
)
from assay.evaluation.gates import DEFAULT_POLICY
from assay.reports.wording import SHOWN_MUSTS, Sentences
from assay.reports.words import Words
from assay.workbench.deciding.run_boards import line_of, verdict_risk, verdict_today
from assay.workbench.project.service import Service
from assay.workbench.scoring.history import StoredRun

__all__ = ["Ship", "ShipAnswer", "may_ship", "ship_answer", "ship_of"]

Ship = Literal["yes", "no", "not_yet", "no_gates"]
STATUSES: dict[Status, Ship] = {"pass": "yes", "fail": "no", "inconclusive": "not_yet"}
WORST_FIRST = ("fail", "inconclusive", "pass")
SHOWN = 4  # gates that are told in full


class ShipAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer in a sentence, and what every gate found, the worst first."""

    text: str
    gates: tuple[str, ...] = ()
    verdict: Verdict | None = None

    def summarize(self) -> str:
        return " ".join([self.text, *self.gates[:SHOWN]])


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
    rests = verdict_risk(service, run, verdict)
    return ShipAnswer(
        text=_english().may_ship(
            run.engine,
            answer,
            musts=musts,
            judge=rests.on.judge if rests else "",
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

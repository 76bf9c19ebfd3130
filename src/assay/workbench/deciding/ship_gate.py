"""Whether an engine may ship: the verdict of today's gates on a run, in the words of the pages, for
agents, which see no page."""

from __future__ import annotations

from math import ceil
from typing import Literal

import msgspec

from assay.core.results import Check, GradedResults, Status, Verdict
from assay.core.types import counted
from assay.evaluation.gate_values import judged_of, measure_line, members, too_few_judged
from assay.evaluation.gates import DEFAULT_POLICY
from assay.reports.sentences import Sentences
from assay.reports.words import Words, page_counts, page_words
from assay.workbench.deciding.run_boards import line_of, verdict_risk, verdict_today
from assay.workbench.project.service import Service
from assay.workbench.scoring.history import KeptRun

__all__ = ["Ship", "ShipAnswer", "may_ship", "ship_answer", "ship_of"]

Ship = Literal["yes", "no", "not_yet", "no_gates"]
STATUSES: dict[Status, Ship] = {"pass": "yes", "fail": "no", "inconclusive": "not_yet"}
WORST_FIRST = ("fail", "inconclusive", "pass")
SHOWN = 4  # gates in a summary, the worst first
BUILT_IN = " (the project names no gates for this set; these are the usual ones)"


class ShipAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer in a sentence, and what every gate found, the worst first."""

    text: str
    gates: tuple[str, ...] = ()
    verdict: Verdict | None = None

    @property
    def told(self) -> str:
        return " ".join([self.text, *self.gates[:SHOWN]])


def ship_of(verdict: Verdict | None) -> Ship:
    if verdict is None or not any(check.counts for check in verdict.checks):
        return "no_gates"
    return STATUSES[verdict.status]


def ship_answer(service: Service, run: KeptRun) -> tuple[Ship, str]:
    """The answer alone and why it is not yes, for a list of runs; whom it rests on takes longer to
    find."""
    verdict, musts = _verdict_and_musts(service, run)
    answer = ship_of(verdict)
    if answer == "yes" and musts:
        return "not_yet", f"every gate passes, but not what must pass: {', '.join(musts[:3])}"
    checks = [each for each in verdict.checks if each.counts] if verdict else []
    worst = min(checks, key=lambda each: WORST_FIRST.index(each.status), default=None)
    return answer, _word_check(worst, run) if worst and worst.status != "pass" else ""


def _verdict_and_musts(service: Service, run: KeptRun) -> tuple[Verdict | None, tuple[str, ...]]:
    """What the gates of today say, and the questions that must pass and did not."""
    verdict = verdict_today(service, run, settle=False)
    return verdict, line_of(run, run.results, verdict).musts


def may_ship(service: Service, run: KeptRun) -> ShipAnswer:
    verdict, musts = _verdict_and_musts(service, run)
    answer = ship_of(verdict)
    checks = [check for check in verdict.checks if check.counts] if verdict else []
    words, counts = page_words("en", "decide"), page_counts("en", "decide")
    rests = verdict_risk(service, run, verdict)
    if answer == "yes" and musts:
        said = counts["ship_but"][len(musts) > 1].format(n=len(musts), which=", ".join(musts[:3]))
    elif rests:
        said = words[f"ship {answer} one"].format(judge=rests.on.judge)
    else:
        said = words[f"ship {answer}"]
    usual = BUILT_IN if any(check.gate in DEFAULT_POLICY for check in checks) else ""
    return ShipAnswer(
        text=f"{words['may_ship'].format(engine=run.engine)} {said}{usual}.",
        gates=tuple(
            _word_check(check, run)
            for check in sorted(checks, key=lambda check: WORST_FIRST.index(check.status))
        ),
        verdict=verdict,
    )


def _word_check(check: Check, run: KeptRun) -> str:
    """What a gate found. A share of judged hits counts queries without judgments as well, and says
    how many judgments are missing."""
    found = f"{check.status.upper()}: {Sentences(Words('en')).check_of(run.results, check)}"
    if check.status == "inconclusive" and isinstance(run.results, GradedResults):
        notes = [_still_to_judge(check, run.results), _count_unjudged(run.results, found)]
        said = "; ".join(note for note in notes if note)
        found += f" ({said})" if said else ""
    return f"{found}."


def _still_to_judge(check: Check, results: GradedResults) -> str:
    """How many of its first hits must be judged before the gate decides, at most."""
    needed = check.gate.min_judged
    if needed is None or not too_few_judged(check.gate, results):
        return ""
    cutoff = measure_line(check.gate, results).cutoff or 10
    short = (needed - judged_of(check.gate, results)) * len(members(check.gate, results)) * cutoff
    return f"that takes {counted(ceil(round(short, 6)), 'more judgment')} of these hits"


def _count_unjudged(results: GradedResults, found: str) -> str:
    bare = sum(not entry.judged for entry in results.per_query)
    if not bare or "is judged" not in found:
        return ""
    return f"over all {len(results.per_query)} queries; {bare} have no judgments"

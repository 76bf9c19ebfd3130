"""Is one system better than another, in sentences that carry the doubt: one wording for every
format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.core.results import Status
from assay.core.verdicts import WIDE
from assay.reports.numbers import PASS
from assay.reports.sentences import ALPHA, BESIDE, FALL, Sentences
from assay.reports.shapes import Answer

if TYPE_CHECKING:
    from assay.evaluation.differences import Comparison, Difference, Found
    from assay.evaluation.doubts import Doubt

COMMAND = "assay gold next"
PLAN = "assay plan"
FIRST = 20  # judgments, before which nothing is said of unjudged hits
STATUSES: dict[Found, Status] = {"better": "pass", "worse": "fail"}


def answers(comparison: Comparison, tell: Sentences) -> Iterator[Answer]:
    """Each system against the baseline, by the measure that decides."""
    for row in headlines(comparison):
        key = {"no difference": "no_difference"}.get(row.verdict, row.verdict)
        text = tell.words(key, system=row.system, baseline=comparison.baseline)
        yield Answer(
            text=text + caveats(row, comparison, tell),
            change=_change_found(row, comparison.tests, tell),
            status=STATUSES.get(row.verdict, "inconclusive"),
            verdict=row.verdict,
            notes=(*_notes(row, tell), *more_queries(row, comparison, tell)),
        )


def headlines(comparison: Comparison) -> list[Difference]:
    """The differences in the measure that decides, one a system."""
    return [row for row in comparison.differences if row.measure == comparison.headline]


def caveats(head: Difference, comparison: Comparison, tell: Sentences) -> str:
    """What the sentence on top has to carry beside its verdict."""
    called = head.here_only and head.verdict in STATUSES
    here = tell.words("proven_here", n=head.n) if called else ""
    return here + hidden_loss(head, comparison, tell) + gold_change(head, comparison, tell)


def gold_change(head: Difference, comparison: Comparison, tell: Sentences) -> str:
    """That the set changed between the runs; empty where it did not."""
    changed = comparison.gold_changed
    return tell.words(f"gold_changed_{changed}", n=head.n) if changed else ""


def hidden_loss(head: Difference, comparison: Comparison, tell: Sentences) -> str:
    """Of a golden set: what a pass hides, where the first hit or the first right one fell. Every
    question may pass, and none have its answer on top."""
    beside = [row for row in comparison.differences if row.key in BESIDE]
    fell = [row for row in beside if row.system == head.system and row.difference <= -FALL]
    if not fell:
        return ""
    worst = min(fell, key=lambda row: row.difference)
    share = worst.key == "top1_rate"
    before, now = (
        tell.numbers.percent(value, 0) if share else tell.numbers.decimal(value)
        for value in (worst.baseline, worst.value)
    )
    shown = "loss_shown" if worst.p_holm <= ALPHA else "loss_not_shown"
    figure, p = tell.words.figure(worst.key), tell.numbers.p_value(worst.p_holm)
    inside = figure[0].lower() + figure[1:] if figure[1:2].islower() else figure
    return tell.words(shown, figure=inside, before=before, now=now, p=p)


def is_golden(comparison: Comparison) -> bool:
    """A golden set is closed: its hits have no grades, and none is unjudged."""
    return any(row.key == PASS for row in comparison.differences)


def as_sentence(caveat: str) -> str:
    """What hangs on the answer on top where that is one line, and stands below it on a page."""
    said = caveat.removeprefix("; ")
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _change_found(row: Difference, tests: int, tell: Sentences) -> str:
    numbers = tell.numbers
    figures = (
        _in_points(row, tell)
        if row.key == PASS
        else {
            "measure": row.measure,
            "before": numbers.decimal(row.baseline),
            "now": numbers.decimal(row.value),
            "change": numbers.signed(row.difference),
            "between": numbers.change_span(row.low, row.high),
        }
    )
    return tell.words(
        "change_found",
        **figures,
        p=numbers.p_value(row.p_holm),
        together=tell.words("tested_together", tests=tests) if tests > 1 else "",
        wins=tell.words.counted(row.wins, "query"),
        ties=row.ties,
        losses=row.losses,
    )


def _in_points(row: Difference, tell: Sentences) -> dict[str, str]:
    """A pass rate is told in per cent, as everywhere; its change in points."""
    numbers = tell.numbers
    return {
        "measure": tell.words.figure("pass_rate_total"),
        "before": numbers.figure(PASS, row.baseline),
        "now": numbers.figure(PASS, row.value),
        "change": numbers.change(PASS, row.difference, "+"),
        "between": numbers.change_between(PASS, row.low, row.high),
    }


def _notes(row: Difference, tell: Sentences) -> Iterator[str]:
    if row.doubt is not None:
        settle = tell.words("doubt_settle", command=COMMAND)
        called = row.verdict in ("better", "worse") and row.doubt.ahead is not None
        why = f" {tell.words('doubt_called')}" if called else ""
        yield _doubt(row.doubt, tell) + (f" {settle}" if row.verdict == "open" else why)
    if row.disagree:  # which says that more queries are needed, too
        yield tell.words("test_alone" if row.here_only else "interval_alone")
    elif row.low is not None and row.high is not None and row.high - row.low > WIDE:
        yield tell.words("change_too_wide")


def more_queries(row: Difference, comparison: Comparison, tell: Sentences) -> Iterator[str]:
    """What would show a difference that is not proven, as `assay plan` reckons it; nothing where
    the queries do not tell."""
    from assay.evaluation.planning import MATTERS, queries_to_show

    if row.verdict != "no difference":
        return
    needed = queries_to_show(row, MATTERS, tests=comparison.tests)
    if needed is None:
        return
    numbers = tell.numbers
    golden = row.key == PASS
    change = numbers.change(PASS, MATTERS) if golden else numbers.decimal(MATTERS, 2)
    yield tell.words(
        "more_needed" if needed > row.n else "enough_here",
        change=change,
        n=numbers.whole(row.n),
        needed=numbers.whole(needed),
        more=numbers.whole(needed - row.n),
        command=PLAN,
    )


def powers(comparison: Comparison, tell: Sentences) -> list[str]:
    """By system, the smallest change that the test that decides would show on so many queries, or
    why it can show none."""
    from assay.evaluation.statistics import fewest_changes

    fewest = fewest_changes(ALPHA / comparison.tests)
    return [_power(row, fewest, tell) for row in headlines(comparison)]


def _power(row: Difference, fewest: int, tell: Sentences) -> str:
    say, changed = tell.words, row.wins + row.losses
    if row.n < fewest:
        return say("few_power", queries=say.counted(row.n, "query"), fewest=fewest)
    if 0 < changed < fewest:
        facts = {"changed": changed, "n": row.n, "measure": row.measure, "fewest": fewest}
        return say("few_changed", **facts)
    if row.detectable is None:
        return say("no_power", measure=row.measure)
    numbers = tell.numbers
    rate = row.key == PASS
    change = numbers.change(PASS, row.detectable) if rate else numbers.decimal(row.detectable)
    return say("power", n=row.n, change=change, measure=row.measure)


def _doubt(doubt: Doubt, tell: Sentences) -> str:
    numbers = tell.numbers
    hits = {"unjudged": doubt.unjudged, "hits": doubt.unjudged + doubt.judged}
    facts: dict[str, object] = {name: numbers.whole(count) for name, count in hits.items()}
    if doubt.stands is None:
        first = min(max(FIRST - doubt.judged, 0), doubt.unjudged)
        return tell.words("doubt_unknown", **facts, n=first or FIRST)
    if doubt.expected is None:
        return tell.words("doubt_none", **facts)
    facts |= {
        "expected": numbers.signed(doubt.expected),
        "between": numbers.change_span(doubt.low, doubt.high),
    }
    facts |= {name: chance(getattr(doubt, name), tell) for name in ("ahead", "up", "down")}
    return tell.words("doubt", **facts)


def chance(value: float | None, tell: Sentences) -> str:
    """A chance by draws is never none or all."""
    if value is None:
        return "–"
    if value < 0.01:
        return f"<{tell.numbers.percent(0.01, 0)}"
    return f">{tell.numbers.percent(0.99, 0)}" if value > 0.99 else tell.numbers.percent(value, 0)

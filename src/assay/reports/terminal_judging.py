"""Terminal pages for judging: disagreements, the policy of a set, and spot checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from assay.core.types import Labelling, counted
from assay.reports.grids import headed, plain

if TYPE_CHECKING:
    from assay.judging.labels import Dispute
    from assay.judging.policy import Policy
    from assay.judging.spot_checks import Draw, ErrorRate, SpotCheck

SHOWN = 20


def disputes_page(found: Sequence[Dispute]) -> RenderableType:
    """Each pair with what every judge said of it."""
    from assay.judging.labels import opinion_line

    if not found:
        return Text("no pairs need a ruling")
    lines = list[Text]()
    for dispute in found[:SHOWN]:
        far = f", {counted(dispute.apart, 'grade')} apart" if dispute.apart else ""
        head = f"{dispute.query_id} {dispute.doc_id} ({dispute.why}{far})"
        lines += [Text(head, style="bold"), Text(f"  {dispute.query}")]
        lines += [Text(f"  - {opinion_line(said)}") for said in dispute.votes]
    if len(found) > SHOWN:
        lines.append(Text(f"… and {len(found) - SHOWN} more: --json or --output has them all"))
    return Group(*lines)


def policy_page(policy: Policy, labelling: Labelling, labels: int, status: str) -> RenderableType:
    table = plain()
    table.add_row("policy", policy.name)
    table.add_row("counts", ", ".join(policy.counts))
    if policy.seniors:
        table.add_row("seniors", ", ".join(policy.seniors))
    table.add_row("second judge", policy.second)
    for name, count in (("labels", labels), ("open", labelling.open)):
        table.add_row(name, f"{count:,}")
    table.add_row("by machines alone", f"{labelling.by_machine:,}")
    if status:
        table.add_row("status", status)
    return table


def draw_page(drawn: Draw) -> RenderableType:
    counts = Counter(pair.grade for pair in drawn.pairs)
    table = headed("grade", "labels", "drawn")
    for grade, labels in drawn.labels.items():
        table.add_row(str(grade), f"{labels:,}", str(counts[grade]))
    return table


def spot_check_page(checked: SpotCheck) -> RenderableType:
    """The error rate of the set, by grade, and the labels that were found wrong."""
    table = headed("grade", "labels", "judged", "wrong", "error rate", "95% interval")
    for part in checked.by_grade:
        counts = (f"{part.labels:,}", str(part.judged), str(part.wrong))
        table.add_row(str(part.grade), *counts, *_rate(part.error_rate))
    table.add_row(
        "all",
        f"{sum(part.labels for part in checked.by_grade):,}",
        str(checked.judged),
        str(checked.wrong),
        *_rate(checked.error_rate),
    )
    differ = [
        Text(
            f"{pair.query_id} {pair.doc_id}: label {pair.label}, found {pair.found}"
            + (f", now {'none' if pair.now is None else pair.now}" * (pair.now != pair.label))
        )
        for pair in checked.differ[:SHOWN]
    ]
    return Group(table, Text(f"intervals: {checked.method}", style="dim"), *differ)


def _rate(rate: ErrorRate) -> tuple[str, str]:
    low, high = rate.interval
    value = "–" if rate.value is None else f"{rate.value:.1%}"
    return value, f"{low:.1%} to {high:.1%}"

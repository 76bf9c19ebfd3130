"""The plan of `assay plan` on a terminal: how many queries and judgments a decision takes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from assay.evaluation.planning import MOST, Need, Plan
from assay.evaluation.statistics import SMALL
from assay.reports.grids import headed


def plan_table(plan: Plan) -> RenderableType:
    return Group(*_answer(plan), *_gates(plan), *_judges(plan))


def _answer(plan: Plan) -> Iterator[RenderableType]:
    asked = plan.needs[0]
    yield Text.assemble(
        "To show a difference of ",
        (f"{asked.difference:g} in {plan.measure}", "bold"),
        f" with {plan.power:.0%} power you need ",
        (_queries(asked.queries), "bold"),
        ".",
    )
    yield Text(_compared_with(plan, asked))
    if plan.pilot < SMALL:
        yield Text(
            f"A pilot of {plan.pilot} queries says little about how much queries vary: "
            f"{_range(asked)} is likely. Ten queries or more make a better pilot.",
            style="yellow",
        )
    elif plan.changed is not None and plan.changed < SMALL:
        yield Text(
            f"Only {plan.changed} of {plan.pilot} questions changed, which says little about how "
            f"many do: {_range(asked)} queries is likely. A pilot in which ten or more change "
            "says more.",
            style="yellow",
        )
    yield Text(
        f"From the differences of {plan.system} and {plan.baseline} on {plan.pilot} queries, whose "
        f"standard deviation is {plan.spread:.3f}. The range says how uncertain that is.",
        style="dim",
    )
    if plan.unjudged:
        yield Text(_guessed(plan), style="yellow")
    yield Text()
    table = headed("difference", right=("queries", "likely range"))
    for need in sorted(plan.needs, key=lambda need: need.difference):
        style = "bold" if need is asked else None
        table.add_row(f"{need.difference:g}", _count(need.queries), _range(need), style=style)
    yield from (table, Text())


def _guessed(plan: Plan) -> str:
    """What the unjudged hits do to the answer."""
    said = (
        f"{plan.unjudged:,} of the {plan.hits:,} results that affect the score have no judgment, "
        "and count as not relevant here."
    )
    if plan.believed is None:
        return f"{said} Too few are judged to predict the rest."
    return (
        f"{said} With all of them judged the standard deviation is expected to be "
        f"{plan.believed:.3f}, and you would need {_queries(plan.queries_believed)}."
    )


def _compared_with(plan: Plan, asked: Need) -> str:
    have = f"You have {plan.pilot:,}"
    if asked.queries is None:
        return f"{have}."
    if asked.queries > plan.pilot:
        return f"{have}: {asked.queries - plan.pilot:,} more."
    if asked.high is None or asked.high > plan.pilot:
        return f"{have}, which is enough if queries vary as the pilot says, but up to " + (
            f"{_queries(asked.high)} may be needed."
        )
    return f"{have}, which is enough."


def _gates(plan: Plan) -> Iterator[RenderableType]:
    """What gates take that ask for as much."""
    yield Text(f"For a gate with significance {1 - plan.level:.2g} to pass", style="bold")
    table = headed("gate", "if the engine", right=("queries",))
    for need in plan.gates:
        still = need.condition != "minimum"
        what = "does not change on average" if still else f"keeps its mean, {plan.mean:.3f}"
        table.add_row(f"{need.condition} = {need.limit:g}", what, _count(need.queries))
    yield table
    if plan.documents is not None and plan.judgments is not None:
        yield Text(
            f"Judging the top results of both takes {plan.documents:.1f} documents a query, "
            f"{plan.judgments:,} judgments in all.",
            style="dim",
        )
    yield Text()


def _judges(plan: Plan) -> Iterator[RenderableType]:
    if not plan.crowds:
        return
    yield Text(f"With judges who agree to {plan.agreement:g}", style="bold")
    table = headed("judges a pair", right=("queries", "judgments in all"))
    for row in plan.crowds:
        table.add_row(str(row.judges), _count(row.queries), _count(row.judgments))
    yield table


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _queries(value: int | None) -> str:
    return f"more than {MOST:,} queries" if value is None else f"{value:,} queries"


def _range(need: Need) -> str:
    return f"{_count(need.low)} to {_count(need.high)}"

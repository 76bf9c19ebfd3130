"""What the pages that decide draw and count: figures over time, what moved between two rankings,
how long ago something was."""

from __future__ import annotations

from datetime import datetime

import msgspec

from assay.reports.charts import Line, Point, time_chart
from assay.reports.numbers import Numbers
from assay.reports.words import Words
from assay.workbench.decisions import Board
from assay.workbench.side_by_side import TwoRankings

LINES = 6  # engines that are drawn in a chart


def since(at: datetime, now: datetime) -> tuple[str, int]:
    """(key of the words, how many) of how long ago something was."""
    seconds = max((now - at).total_seconds(), 0.0)
    for key, length in (("days_ago", 86_400), ("hours_ago", 3_600), ("minutes_ago", 60)):
        if seconds >= length:
            return key, int(seconds // length)
    return "minutes_ago", 0


def grade_class(grade: int | None) -> str:
    return "gq" if grade is None else f"g{min(max(grade, 0), 2)}"


def chart_of(board: Board, words: Words) -> object:
    """The tracks of a set in the order of time."""
    numbers = Numbers(words)
    runs_in_order = sorted(
        (line for track in board.tracks for line in track.runs), key=lambda line: (line.at, line.id)
    )
    first = runs_in_order[0].at if runs_in_order else None
    lines = [
        Line(
            name=track.engine,
            points=[
                Point(
                    place=(line.at - (first or line.at)).total_seconds(),
                    value=line.value or 0.0,
                    low=line.low,
                    high=line.high,
                    label=f"{line.engine} {line.at:%Y-%m-%d}: {numbers.decimal(line.value)}",
                    link=f"/runs/{line.id}",
                )
                for line in track.runs
            ],
        )
        for track in board.tracks[:LINES]
    ]
    if not runs_in_order:
        return ""
    name = words.figure(board.measure) if words.has("figures", board.measure) else board.measure
    ends = (f"{runs_in_order[0].at:%Y-%m-%d}", f"{runs_in_order[-1].at:%Y-%m-%d}")
    return time_chart(lines, label=f"{board.gold}: {name}", ends=ends, rtl=words.direction == "rtl")


def is_share(key: str) -> bool:
    return not any(part in key for part in ("latency", "score", "total", "n_"))


def weakness(line: object) -> tuple[float, str]:
    values: dict[str, float | None] = dict(getattr(line, "values", {}))
    outcome = getattr(line, "outcome", None)
    if outcome is not None:
        return float(outcome.passed), getattr(line, "query_id", "")
    value = values.get("ndcg@10", next(iter(values.values()), None))
    return (2.0 if value is None else value), getattr(line, "query_id", "")


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """How many documents of B stand higher and lower than in A, are new, and of A are gone."""

    up: int
    down: int
    new: int
    out: int


def moved(found: TwoRankings) -> Moved:
    now = found.b.documents
    return Moved(
        up=sum(placed.moved > 0 for placed in now),
        down=sum(placed.moved < 0 for placed in now),
        new=sum(placed.other_rank is None for placed in now),
        out=sum(placed.other_rank is None for placed in found.a.documents),
    )

"""A leaderboard for a terminal: places with intervals drawn, groups, and slices that differ."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from assay.evaluation.differences import Leaderboard, SliceLead
from assay.reports.grids import headed, unbroken
from assay.reports.numbers import Numbers, is_rate, signed
from assay.reports.words import Words

WIDE = 25  # of the drawing, in characters: from 0 to 1


def board_lines(board: Leaderboard) -> Iterator[RenderableType]:
    table = headed("", "system", right=(board.measure, "95% interval"))
    table.add_column("0 … 1", no_wrap=True)
    table.add_column("group", no_wrap=True)
    unbroken(table, board.measure, "95% interval")
    table.columns[1].overflow = "fold"  # a name is never cut short
    numbers = Numbers(Words("en"))
    told = numbers.percents if is_rate(board.measure) else numbers.span
    for place, row in enumerate(board.places, start=1):
        between = "" if row.low is None else told((row.low, row.high))
        value, drawn = (
            numbers.figure(board.measure, row.value),
            drawing(row.value, row.low, row.high),
        )
        table.add_row(str(place), row.system, value, between, Text(drawn), row.letters)
    yield from (Text(f"{board.measure}, {board.n} queries", style="bold"), Text(), table, Text())
    yield Text(
        "Systems that share a letter cannot be told apart. All "
        f"{len(board.pairs)} pairs are tested together, corrected once by Holm; the headlines "
        "below go by the same tests.",
        style="dim",
    )
    if waiting := sum(pair.verdict == "open" for pair in board.pairs):
        yield Text(
            f"{waiting} of {len(board.pairs)} pairs cannot be told yet: unjudged documents could "
            "turn them.",
            style="yellow",
        )
    yield from _slices(board)
    yield Text()


def drawing(value: float, low: float | None, high: float | None) -> str:
    """An interval in characters, with the mean in it."""
    cells = [" "] * WIDE
    if low is not None and high is not None:
        for cell in range(_cell(low), _cell(high) + 1):
            cells[cell] = "─"
    cells[_cell(value)] = "●"
    return "".join(cells)


def _cell(value: float) -> int:
    return min(max(int(value * WIDE), 0), WIDE - 1)


def _slices(board: Leaderboard) -> Iterator[Text]:
    told = [each for each in board.slices if each.told]
    if not board.slices:
        return
    best = board.places[0].system
    if not told:
        yield Text(f"No slice is shown to differ from {best} in either direction.", style="dim")
        return
    yield Text(
        f"By slice, against {best}, drawn towards the difference over all queries. The chance that "
        "any of these is a false alarm is 5% at most:"
    )
    for each in sorted(told, key=lambda one: (one.system, one.shrunk)):
        yield Text(f"  {_said(each)}")


def _said(each: SliceLead) -> str:
    way = "better" if each.shrunk > 0 else "worse"
    return (
        f"{each.system} is {way} for {each.slice}: {signed(each.shrunk)} ({signed(each.low)} to "
        f"{signed(each.high)}; {signed(each.difference)} as it is, {each.n} queries)"
    )

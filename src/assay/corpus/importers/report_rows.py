"""Turn the rows of a report's tables into documents, so that a figure is found by its row and shown
with its column.

**Idea.** A question on a report asks for one row ("Mikä oli vuosikate?"), and a table of sixty rows
says everything at once. So every row is a document of its own, whose text says what a reader of the
page knows without thinking: the town and year, the headings above, whose table it is, what it is
called, the group of rows it stands in, its label, and every figure with its column and unit. The
table stays a document as well, to be shown whole.

**Columns.** A heading of several lines is joined from the top down. A table without a heading is
that of the report's year, and where it has two columns of figures the second is the year before:
that is how statements are set. Each column gets its year, and whether it holds the budget, the
outcome or a change.

**Groups.** A row without figures is the heading of those below it. One in capitals begins anew;
another takes the place of the one before it, unless both stand together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Literal

import msgspec

from assay.language.amounts import MONEY, number_in, stated_unit, unit_in, without_unit

YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
SHORT_YEAR = re.compile(r"\b(?:TP|TA|LTA|KS|TOT)\.?\s?(\d\d)\b")
# headings of columns: a change, a budget, an outcome
CHANGE = re.compile(
    r"muuto|poikkeam|erotus|\bero\b|tot\w*\s?-?\s?%|käyttö\w*\s?-?\s?%|\bindeksi", re.I
)
BUDGET = re.compile(
    r"\b(?:TA|LTA|MTA|KS|TS)\b|\bTA\d|talousarvio|budjet|määräraha|suunnitel|enna?ust", re.I
)
ACTUAL = re.compile(r"\bTP\b|toteu|tilinpäätös|\btot\b", re.I)
_STEP = re.compile(r"(?:Alkup(?:eräinen|\.)?|Muuto(?:s|kset)|Yhteensä|Yht\.)", re.I)
LONGEST_HEADING = 90  # characters of a row that heads the rows below it (taste)

Kind = Literal["actual", "budget", "change"]

NO_SHARE = 10_000.0  # taste: from here on a figure is no percentage, whatever its heading says


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cell of a row: what stands there, what number that is, and what its column says."""

    column: str
    text: str
    value: float | None = None
    unit: str = ""
    year: int | None = None
    kind: Kind = "actual"


class FigureTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table with its columns named: `columns` and `units` have one text for each column, the
    labels' among them."""

    columns: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[str, ...], ...]


class RowText(msgspec.Struct, frozen=True, kw_only=True):
    """A row that says something: its number in the table, its label, the groups it stands in."""

    number: int
    label: str
    parents: tuple[str, ...]
    figures: tuple[Figure, ...]
    stub: str = ""  # the heading of the labels' column, where it says something


def grid_of(
    header: Sequence[Sequence[str]],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    year: int | None = None,
) -> FigureTable:
    """From the cells alone; `year` is that of the report."""
    width = max((len(row) for row in (*header, *rows)), default=0)
    body = tuple((*row, *[""] * (width - len(row))) for row in rows)
    columns = _columns(header, body, width, title, year)
    whole = stated_unit(title) or unit_in(" ".join(columns[:1]))
    units = tuple(
        unit_in(column) or (whole if place else "") for place, column in enumerate(columns)
    )
    columns = tuple(map(without_unit, columns))
    return FigureTable(columns=columns, units=units, rows=body, parents=tuple(_groups(body)))


def rows_of(grid: FigureTable) -> Iterator[RowText]:
    """The rows that have something beside their label; a budget and its changes, which stand under
    each other, are one row."""
    row: RowText | None = None
    for found in _iter_rows(grid):
        step = _budget_step(grid, found.number)
        if row is not None and step and not _names_row(grid.rows[found.number - 1][0]):
            row = msgspec.structs.replace(
                row, figures=(*row.figures, *_figures_of_step(found, step))
            )
            continue
        if row is not None:
            yield row
        row = found
        if step:
            row = msgspec.structs.replace(found, figures=_figures_of_step(found, step))
    if row is not None:
        yield row


def _names_row(label: str) -> bool:
    """Whether a label says what a row is of; a decision is cited with its section."""
    return bool(label.strip()) and "§" not in label


def _budget_step(grid: FigureTable, number: int) -> str:
    """The step of a budget that the second column of a row names: the first budget, a change, the
    sum; with the decision, where it stands beside it."""
    label, *rest = grid.rows[number - 1]
    step = rest[0].strip() if rest else ""
    if not _STEP.fullmatch(step):
        return ""
    return step if _names_row(label) else f"{step} {label.strip()}".strip()


def _figures_of_step(row: RowText, step: str) -> tuple[Figure, ...]:
    """The figures of a row, the budget's under the name of the step."""
    budget = next((figure for figure in row.figures if figure.value is not None), None)
    return tuple(
        msgspec.structs.replace(figure, column=f"{figure.column} {step}".strip())
        if figure is budget
        else figure
        for figure in row.figures
        if figure.value is not None or figure.text != step.partition(" ")[0]
    )


def _iter_rows(grid: FigureTable) -> Iterator[RowText]:
    for number, (cells, parents) in enumerate(zip(grid.rows, grid.parents, strict=True), start=1):
        label, place = _label(cells, grid.columns)
        figures = tuple(
            _figure(grid, column, cell, (*parents, label))
            for column, cell in enumerate(cells)
            if cell.strip() and column != place
        )
        if not figures or (not label and all(figure.value is None for figure in figures)):
            continue
        stub = grid.columns[place] if place >= 0 else ""
        yield RowText(number=number, label=label, parents=parents, figures=figures, stub=stub)


def _label(cells: Sequence[str], columns: Sequence[str]) -> tuple[str, int]:
    """The first text that is no figure, or a year that stands first under no heading, and its
    place; a row may have none."""
    for place, cell in enumerate(cells):
        if cell.strip():
            is_text = number_in(cell) is None and re.search(r"[^\W\d_]", cell)
            if YEAR.fullmatch(cell.strip()) and (place == 0 or not columns[place]):
                return cell.strip(), place
            return (" ".join(cell.split()), place) if is_text else ("", -1)
    return "", -1


def _figure(grid: FigureTable, column: int, cell: str, labels: Sequence[str]) -> Figure:
    """`labels` are what the row stands under, and last its own."""
    heading = grid.columns[column]
    value = number_in(cell)
    unit = ""
    if value is not None:
        # days or a number of inhabitants are no euros, whatever stands over the column
        unit = unit_in(cell) or unit_in(labels[-1]) or _unit_above(labels) or grid.units[column]
        if unit == "%" and abs(value) >= NO_SHARE and not unit_in(cell):
            unit = ""  # what a change of a rate comes to, say
    return Figure(
        column=heading,
        text=" ".join(cell.split()),
        value=value,
        unit=unit,
        year=year_of(heading) or (int(labels[-1]) if YEAR.fullmatch(labels[-1]) else None),
        kind=kind_of(heading),
    )


def _unit_above(labels: Sequence[str]) -> str:
    """The unit of money that a label above says: Takaukset (1 000 €)."""
    return next((unit for label in labels[-2::-1] if (unit := stated_unit(label)) in MONEY), "")


def figure_text(figure: Figure) -> str:
    """A figure as the text of a row has it: 2023: 3 400 (1 000 €)."""
    unit = f" ({figure.unit})" if figure.unit and figure.unit not in figure.text else ""
    return f"{figure.column}: {figure.text}{unit}" if figure.column else f"{figure.text}{unit}"


def year_of(heading: str) -> int | None:
    """The one year a heading names, the last of a period."""
    years = YEAR.findall(heading)
    if years:
        return int(years[-1])
    short = SHORT_YEAR.search(heading)
    return 2000 + int(short[1]) if short else None


def kind_of(heading: str) -> Kind:
    if CHANGE.search(heading):
        return "change"
    if BUDGET.search(heading) and not ACTUAL.search(heading):
        return "budget"
    return "actual"


def _columns(
    header: Sequence[Sequence[str]],
    body: Sequence[Sequence[str]],
    width: int,
    title: str,
    year: int | None,
) -> tuple[str, ...]:
    named = [""] * width
    for row in header:
        for column, (before, text) in enumerate(zip_longest(named, row, fillvalue="")):
            words = " ".join(text.split())
            if column < width and words and words not in before:
                named[column] = f"{before} {words}".strip()
    figures = [column for column in range(1, width) if _has_figures(body, column)]
    if figures and not any(named[column] for column in figures):
        stated = year_of(title) or year
        by_year = sum(bool(YEAR.fullmatch(row[0].strip())) for row in body) * 2 > len(body)
        if stated is not None and len(figures) <= 2 and not by_year:
            for back, column in enumerate(figures):
                named[column] = str(stated - back)
    for left, column in pairwise(figures):
        # a year may stand over two columns, parts and sums
        if not named[column] and YEAR.search(named[left]):
            named[column] = named[left]
    return tuple(named)


def _has_figures(body: Sequence[Sequence[str]], column: int) -> bool:
    cells = [row[column] for row in body if row[column].strip()]
    return bool(cells) and sum(number_in(cell) is not None for cell in cells) * 2 >= len(cells)


def _groups(body: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """For each row the headings it stands under."""
    group: list[str] = []
    after_heading = False
    for row in body:
        cells = [cell.strip() for cell in row if cell.strip()]
        is_alone = len(cells) == 1 and bool(row[0].strip())
        heading = cells[0] if is_alone and number_in(cells[0]) is None else ""
        if not heading or len(heading) > LONGEST_HEADING:
            yield tuple(group)
            after_heading = False
            continue
        if heading.isupper():
            group = [heading]
        elif after_heading:
            group = [*group[-2:], heading]
        else:
            group = [*[above for above in group[:1] if above.isupper()], heading]
        yield tuple(group[:-1])
        after_heading = True

"""A table's cells: a line cut into cells, the columns they fall into, and rows out of lines.

**Columns.** Vertical rulings that stand along nearly half of the table's height are the columns,
where there are any and no row has two numbers between two of them. Else numbers tell: figures are
set flush right, so that the right edges of a column's numbers come together within a few points,
and what lies left of the first such column is the label. This is the stream and lattice distinction
of Nurminen (2013, "Algorithmic Extraction of Data in Tables in PDF Documents"), on which Tabula and
Camelot are built; here it is for statements in annual reports, where figures are never centred.

**Rows.** In a grid, a line that no ruling parts from the line above goes on with its cells. Without
one, a label that ends in a hyphen, or goes on in lower case, is one label over two lines. The rows
above the first figure that is no year are the heading, and the line above them may be the title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.corpus.importers.pdf import SHY, Box, Line, Page, Word, around

NUMBER = re.compile(
    r"[-–−+±]?\(?\d{1,3}(?:[  .]?\d{3})*(?:[,.]\d+)?\)?\s?(?:%|€|kpl|pv|htv)?|[-–−—]|\d+(?:,\d+)?%?"
)
YEARLIKE = re.compile(
    r"(?:TP|TA|KS|LTA)?\s?(?:19|20)\d\d"
    r"|\d{1,2}\.\d{1,2}\.?\s?[-–]\s?\d{1,2}\.\d{1,2}\.\d{4}"
    r"|\d{1,2}\.\d{1,2}\.(?:19|20)?\d\d"
    r"|1\s?000\s?€?"
)
NEAR = 3.0  # points within which two edges are one column

Bound = tuple[float, float]  # the left and right edge of a column
Rows = list[list[str]]


@dataclass(frozen=True)
class Cell:
    text: str
    box: Box

    @property
    def is_number(self) -> bool:
        return bool(NUMBER.fullmatch(self.text.strip()))


@dataclass(frozen=True)
class Table:
    """Rows of cell texts, of equal length, the heading rows first."""

    title: str
    header: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    box: Box
    first: int  # the lines of the page it takes
    last: int


def cut(line: Line) -> list[Cell]:
    """A line's words in cells: a gap of more than two spaces parts them, and so does a number that
    is complete."""
    cells: list[list[Word]] = []
    for word in line.words:
        gap = word.box.x0 - cells[-1][-1].box.x1 if cells else 0.0
        if not cells or gap > 0.55 * max(word.size, 6.0) or _is_next_number(cells[-1], word, gap):
            cells.append([word])
        else:
            cells[-1].append(word)
    return [_cell(words) for words in cells]


def _is_next_number(cell: list[Word], word: Word, gap: float) -> bool:
    """Two numbers side by side: the next word cannot carry on the number before it."""
    before = " ".join(earlier.text for earlier in cell)
    if not NUMBER.fullmatch(before) or not re.match(r"[-–−+]?\d", word.text):
        return False
    begun = re.fullmatch(r"[-–−+]?\d{1,3}", cell[-1].text)
    goes_on = begun and re.fullmatch(r"\d{3}(?:,\d+)?%?", word.text)
    return not goes_on and gap > 0.2 * word.size


def _cell(words: Sequence[Word]) -> Cell:
    return Cell(" ".join(word.text for word in words), around(word.box for word in words))


def is_year_row(row: list[Cell]) -> bool:
    """A row of years alone: the heading of a table."""
    return len(row) >= 2 and all(YEARLIKE.fullmatch(cell.text) for cell in row)


def table_in(page: Page, cells: list[list[Cell]], first: int, last: int, free: int) -> Table | None:
    """The table in these lines of a page, if there is one; lines from `free` on may be its
    title."""
    rows = cells[first : last + 1]
    box = around(line.box for line in page.lines[first : last + 1])
    grid = _grid_columns(page, box)
    bounds = _number_columns(rows) if not grid or _is_crowded(rows, grid) else grid
    if len(bounds) < 2:
        bounds = grid
    if len(bounds) < 2:
        return None
    placed = [_place(row, bounds) for row in rows]
    if bounds is grid:
        placed = _wrapped(placed, rows, page, first)
    used = [column for column in range(len(bounds)) if any(row[column] for row in placed)]
    placed = _labelled([[row[column] for column in used] for row in placed])
    if len(placed[0]) < 2:
        return None
    heading = _heading_rows(placed)
    title, header = _titled(page, first, free, placed[:heading])
    body = placed[heading:]
    if sum(1 for row in body for text in row if text) < (3 if grid else 4):
        return None
    return Table(title, tuple(map(tuple, header)), tuple(map(tuple, body)), box, first, last)


def _grid_columns(page: Page, box: Box) -> list[Bound]:
    """Columns between vertical rulings that stand along most of the table's height."""
    spans: dict[float, float] = {}
    for ruling in page.rulings:
        if ruling.height > ruling.width and ruling.y0 < box.y1 and ruling.y1 > box.y0:
            edge = next((known for known in spans if abs(known - ruling.x0) <= NEAR), ruling.x0)
            spans[edge] = spans.get(edge, 0.0) + min(ruling.y1, box.y1) - max(ruling.y0, box.y0)
    edges = sorted(edge for edge, height in spans.items() if height >= 0.45 * box.height)
    if len(edges) < 3:
        return []
    if box.x0 < edges[0] - 6:
        edges = [box.x0 - 1, *edges]
    if box.x1 > edges[-1] + 6:
        edges = [*edges, box.x1 + 1]
    return list(pairwise(edges))


def _labelled(placed: Rows) -> Rows:
    """One column of labels: steps of indentation are no columns, and a label over two lines is one
    label."""
    first = _first_of_numbers(placed)
    single = sum(sum(map(bool, row[:first])) <= 1 for row in placed)  # rows with one label or none
    if first > 1 and single >= 0.9 * len(placed):
        placed = [[" ".join(filter(None, row[:first])), *row[first:]] for row in placed]
    joined: Rows = []
    for row in placed:
        if joined and _carries_on(joined[-1], row):
            row = [_unbroken(joined.pop()[0], row[0]), *row[1:]]
        joined.append(row)
    return [[text.replace(SHY, "") for text in row] for row in joined]


def _first_of_numbers(placed: Rows) -> int:
    """The first column in which at least two rows have a number."""
    for column in range(len(placed[0])):
        if sum(bool(NUMBER.fullmatch(row[column])) for row in placed) >= 2:
            return column
    return 0


def _carries_on(before: list[str], row: list[str]) -> bool:
    """The row before is a label alone, and this one goes on with it."""
    if not before[0] or any(before[1:]):
        return False
    return before[0].endswith(SHY) or (any(row[1:]) and row[0][:1].islower())


def _unbroken(first: str, second: str) -> str:
    return first[:-1] + second if first.endswith(SHY) else f"{first} {second}"


def _is_crowded(rows: list[list[Cell]], bounds: list[Bound]) -> bool:
    """Two numbers of a row fall into one column: the rulings do not part all columns."""
    for row in rows:
        columns = [_column_of(cell, bounds) for cell in row if cell.is_number]
        if len(columns) != len(set(columns)):
            return True
    return False


def _number_columns(rows: list[list[Cell]]) -> list[Bound]:
    """A label column, then one for every place where the right edges of numbers come together."""
    groups = _flush_right(rows)
    if not groups:
        return []
    merged: list[Bound] = []
    for group in groups:
        left = min(box.x0 for box in group)
        right = max(box.x1 for box in group)
        if merged and left < merged[-1][1] - 1 and _centre(left, right) < merged[-1][1]:
            merged[-1] = (min(left, merged[-1][0]), max(right, merged[-1][1]))
        else:
            merged.append((left, right))
    margin = min((cell.box.x0 for row in rows for cell in row), default=0.0)
    if margin < merged[0][0] - 6:
        merged = [(margin, merged[0][0] - 1), *merged]
    return merged


def _flush_right(rows: list[list[Cell]]) -> list[list[Box]]:
    """Numbers whose right edges are near each other, if there are enough of them for a column."""
    numbers = [cell.box for row in rows for cell in row if cell.is_number]
    groups: list[list[Box]] = []
    for box in sorted(numbers, key=lambda box: box.x1):
        if groups and box.x1 - groups[-1][-1].x1 <= 2 * NEAR:
            groups[-1].append(box)
        else:
            groups.append([box])
    needed = max(2, 0.15 * len(rows))
    return [group for group in groups if len(group) >= needed]


def _centre(left: float, right: float) -> float:
    return (left + right) / 2


def _place(row: list[Cell], bounds: list[Bound]) -> list[str]:
    texts = [""] * len(bounds)
    for cell in row:
        column = _column_of(cell, bounds)
        texts[column] = f"{texts[column]} {cell.text}".strip()
    return texts


def _column_of(cell: Cell, bounds: list[Bound]) -> int:
    """A number by its right edge, a text by its middle."""
    if cell.is_number:
        far = [min(abs(bound[1] - cell.box.x1), _outside(cell, bound)) for bound in bounds]
        return far.index(min(far))
    middle = _centre(cell.box.x0, cell.box.x1)
    for column, (left, right) in enumerate(bounds):
        if left - 3 <= middle <= right + 3:
            return column
    if cell.box.x0 <= bounds[0][1]:
        return 0
    far = [abs(_centre(*bound) - middle) for bound in bounds]
    return far.index(min(far))


def _outside(cell: Cell, bound: Bound) -> float:
    """0 when the cell lies within the column."""
    return max(0.0, bound[0] - cell.box.x0) + max(0.0, cell.box.x1 - bound[1])


def _wrapped(placed: Rows, rows: list[list[Cell]], page: Page, first: int) -> Rows:
    """In a grid, a line that no ruling parts from the one above carries on its cells, if rulings
    part rows at all."""
    levels = [box for box in page.rulings if box.width > box.height and box.width > 20]
    boxes = [line.box for line in page.lines[first : first + len(rows)]]
    parted = [True]
    for above, below in pairwise(boxes):
        parted.append(any(_is_between(level, above, below) for level in levels))
    if sum(parted) < 0.3 * len(parted):
        return placed
    joined: Rows = []
    for texts, row, apart in zip(placed, rows, parted, strict=True):
        has_number = any(cell.is_number for cell in row)
        if not joined or apart or has_number or _is_next_label(joined[-1], texts):
            joined.append(list(texts))
        else:
            pairs = zip(joined[-1], texts, strict=True)
            joined[-1] = [f"{above} {below}".strip() for above, below in pairs]
    return joined


def _is_next_label(before: list[str], texts: list[str]) -> bool:
    """A label alone, under a row that has its figures already, begins a row."""
    alone = bool(texts[0]) and not any(texts[1:]) and not texts[0][0].islower()
    return alone and any(NUMBER.fullmatch(text) for text in before[1:])


def _is_between(ruling: Box, above: Box, below: Box) -> bool:
    if not above.middle < ruling.y0 <= below.middle:
        return False
    return ruling.x1 > below.x0 and ruling.x0 < below.x1


def _heading_rows(placed: Rows) -> int:
    """How many rows at the top are headings: no number in them but years and units."""
    for index, row in enumerate(placed):
        values = [text for text in row[1:] if text]
        if any(NUMBER.fullmatch(text) and not YEARLIKE.fullmatch(text) for text in values):
            return index
    return min(1, len(placed) - 1)


def _titled(page: Page, first: int, free: int, heading: Rows) -> tuple[str, Rows]:
    """The title: a heading row with words in its first cell alone, or the line right above the
    table."""
    if heading and sum(map(bool, heading[0])) == 1:
        only = next(text for text in heading[0] if text)
        if heading[0][0] or len(only) > 25:
            return only, heading[1:]
    if first > free:
        line = page.lines[first - 1]
        is_near = page.lines[first].box.y0 - line.box.y1 < 4 * max(line.box.height, 8.0)
        is_sentence = line.text.endswith(".") and not line.text.startswith("Taulukko")
        if is_near and len(line.text) < 110 and not is_sentence:
            return line.text, heading
    return "", heading

"""Find the cells of a table that is drawn with rulings as a grid.

**Idea.** Every ruling lies on one of a few lines across and down, which cut the table into small
rectangles. Two neighbours with no ruling between them are one cell, so that merged cells come out
as they are drawn, over columns or over rows. This is the lattice of Tabula, Camelot and pdfplumber.

A cell over several rows stands in each of them, and a heading over several columns in each of
those; any other cell over several columns stands in the first. Where rectangles hold several
numbers under each other, the rulings part the columns only, and from the first figure on every line
is a row. Where a line of a rectangle holds two numbers, they do not part all columns, and there is
no grid.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from assay.corpus.importers.pdf.file import lines_of
from assay.corpus.importers.pdf.page import (
    NEAR,
    NUMBER,
    YEARLIKE,
    Box,
    PdfPage,
    TextLine,
    Word,
    cut,
    join_lines,
    signed,
)

# set by hand on the annual reports of two Finnish towns (decision 20)
COVERED = 0.6  # of a side: a ruling along more of it parts two cells
NARROW = 5.0  # points: rulings that are nearer are one line
MAX_CELLS = 8_000  # a grid of more is a picture

Interval = tuple[float, float]


class Span(NamedTuple):
    """A cell by its rows and columns, the first and the last."""

    top: int
    bottom: int
    left: int
    right: int


@dataclass(frozen=True)
class GridRow:
    """The texts of a row by column; `starts` has only those that begin in their column here."""

    texts: dict[int, str]
    starts: dict[int, str]
    spans: dict[int, int]  # of a text that begins here: over how many columns
    at: float  # its height on the page
    indent: float  # where its first text begins
    bold: bool
    is_line: bool  # one of several lines between two rulings


@dataclass(frozen=True)
class RuledGrid:
    box: Box
    columns: tuple[Interval, ...]
    rows: tuple[GridRow, ...]
    words: frozenset[Word]


def grids_in(page: PdfPage, box: Box, rulings: Sequence[Box]) -> list[RuledGrid]:
    """The grids that these rulings draw, one under the other, if they part the words in them into
    cells."""
    lattice = _lattice(box, rulings)
    if lattice is None:
        return []
    words = [word for line in page.lines for word in line.words if box.holds(word.box, 1)]
    words += [word for word in page.sideways if box.holds(word.box, 1)]
    cells = _split_merged_labels(lattice, lattice.fill(words))
    if _is_crowded(cells):
        return []
    inner = _undrawn_rulings(lattice, cells)
    if inner:
        lattice = _lattice(box, [*rulings, *inner]) or lattice
        cells = _split_merged_labels(lattice, lattice.fill(words))
    grids = []
    for first, last in _split_stacked(lattice, cells):
        inside = {span: held for span, held in cells.items() if first <= span.top <= last}
        is_lined = any(
            lattice.ys[first] <= ruling.middle <= lattice.ys[last + 1] for ruling in inner
        )
        grid = _grid(lattice, inside, first, last, is_lined=is_lined)
        if grid is None:
            return []
        grids.append(grid)
    return grids


def _grid(
    lattice: Lattice, cells: dict[Span, list[Word]], first: int, last: int, *, is_lined: bool
) -> RuledGrid | None:
    """The grid between two rows of the lattice."""
    if is_lined or _is_lined(cells):
        rows = _lined_rows(lattice, cells, first)
    else:
        rows = [row for number in range(first, last + 1) for row in _row_between(cells, number)]
    used = _columns(rows, lattice.width)
    if not rows or len(set(used)) < 2:
        return None
    words = frozenset(word for held in cells.values() for word in held)
    box = Box(lattice.xs[0], lattice.ys[first], lattice.xs[-1], lattice.ys[last + 1])
    return RuledGrid(box, lattice.bounds(used), _renumbered(rows, used), words)


def _split_stacked(lattice: Lattice, cells: dict[Span, list[Word]]) -> list[tuple[int, int]]:
    """Rows, the first and the last, of tables that touch: where the columns of a row are neither
    among those above nor all of them, another table begins."""
    filled = {span.top for span, words in cells.items() if words}
    tables: list[tuple[int, int]] = []
    first = 0
    known: set[int] = set()
    for number in range(lattice.height):
        here = lattice.walls(number)
        is_other = not here <= known and not known <= here
        if is_other and number in filled and any(row in filled for row in range(first, number)):
            tables.append((first, number - 1))
            first, known = number, set()
        known |= here
    return [*tables, (first, lattice.height - 1)]


@dataclass(frozen=True)
class Lattice:
    xs: list[float]
    ys: list[float]
    spans: list[Span]
    owner: list[list[int]]  # which span a rectangle is of, by row and column

    @property
    def width(self) -> int:
        return len(self.xs) - 1

    @property
    def height(self) -> int:
        return len(self.ys) - 1

    def fill(self, words: Iterable[Word]) -> dict[Span, list[Word]]:
        filled: dict[Span, list[Word]] = defaultdict(list)
        for word in words:
            row = min(max(bisect_right(self.ys, word.box.middle) - 1, 0), self.height - 1)
            inset = 0.25 * word.box.width if YEARLIKE.fullmatch(word.text) else word.box.width / 2
            # a year right over a ruling is that of the columns on both sides
            for number in {
                self._cell(row, word.box.x0 + inset),
                self._cell(row, word.box.x1 - inset),
            }:
                filled[self.spans[number]].append(word)
        return filled

    def _cell(self, row: int, x: float) -> int:
        column = min(max(bisect_right(self.xs, x) - 1, 0), self.width - 1)
        return self.owner[row][column]

    def walls(self, row: int) -> set[int]:
        """The columns after which a ruling stands in this row."""
        owners = self.owner[row]
        return {column for column in range(self.width - 1) if owners[column] != owners[column + 1]}

    def bounds(self, used: list[int]) -> tuple[Interval, ...]:
        """The edges of the columns, those with one number taken together."""
        edges: dict[int, Interval] = {}
        for column, number in enumerate(used):
            left = edges[number][0] if number in edges else self.xs[column]
            edges[number] = (left, self.xs[column + 1])
        return tuple(edges[number] for number in sorted(edges))


def _lattice(box: Box, rulings: Sequence[Box]) -> Lattice | None:
    upright = [line for line in rulings if line.height > line.width and line.height >= 4]
    level = [line for line in rulings if line.width >= line.height and line.width >= 8]
    xs = levels([(line.x0 + line.x1) / 2 for line in upright], NARROW)
    ys = levels([line.middle for line in level], NEAR)
    if len(xs) < 2 or len(ys) < 2:
        return None
    xs = _with_ends(xs, box.x0 + 2, box.x1 - 2)
    ys = _with_ends(ys, box.y0 + 2, box.y1 - 2)
    if (len(xs) - 1) * (len(ys) - 1) > MAX_CELLS:
        return None
    down = _stretches_along(xs, ((line.centre, (line.y0, line.y1)) for line in upright), NARROW)
    across = _stretches_along(ys, ((line.middle, (line.x0, line.x1)) for line in level), NEAR)
    owner = _number_cells(xs, ys, down, across)
    spans = _spans(owner)
    return Lattice(xs, ys, spans, owner)


def levels(values: Iterable[float], near: float) -> list[float]:
    """Distinct positions, near ones taken together."""
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > near:
            found.append(value)
    return found


def _with_ends(places: list[float], first: float, last: float) -> list[float]:
    """Sides that are not drawn are where the rulings across them end."""
    before = [first] if first < places[0] - 2 * NARROW else []
    after = [last] if last > places[-1] + 2 * NARROW else []
    return [*before, *places, *after]


def _stretches_along(
    places: list[float], rulings: Iterable[tuple[float, Interval]], near: float
) -> list[list[Interval]]:
    """The stretches of each line of the lattice along which a ruling is drawn."""
    stretches: list[list[Interval]] = [[] for _ in places]
    for place, stretch in rulings:
        number = max(bisect_right(places, place + 0.01) - 1, 0)
        if abs(places[number] - place) <= near + 0.01:
            stretches[number].append(stretch)
    return [_merge_overlapping(found) for found in stretches]


def _merge_overlapping(stretches: list[Interval]) -> list[Interval]:
    united: list[Interval] = []
    for start, end in sorted(stretches):
        if united and start <= united[-1][1] + NEAR:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((start, end))
    return united


def _is_drawn(stretches: list[Interval], start: float, end: float) -> bool:
    covered = sum(max(0.0, min(end, last) - max(start, first)) for first, last in stretches)
    return covered >= COVERED * (end - start)


def _number_cells(
    xs: list[float], ys: list[float], down: list[list[Interval]], across: list[list[Interval]]
) -> list[list[int]]:
    """For every rectangle the number of the cell it is part of."""
    width, height = len(xs) - 1, len(ys) - 1
    parent = list(range(width * height))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for row in range(height):
        for column in range(width):
            here = row * width + column
            if column + 1 < width and not _is_drawn(down[column + 1], ys[row], ys[row + 1]):
                parent[root(here + 1)] = root(here)
            if row + 1 < height and not _is_drawn(across[row + 1], xs[column], xs[column + 1]):
                parent[root(here + width)] = root(here)
    numbers: dict[int, int] = {}
    return [
        [numbers.setdefault(root(row * width + column), len(numbers)) for column in range(width)]
        for row in range(height)
    ]


def _spans(owner: list[list[int]]) -> list[Span]:
    spans: dict[int, Span] = {}
    for row, numbers in enumerate(owner):
        for column, number in enumerate(numbers):
            known = spans.get(number, Span(row, row, column, column))
            left, right = min(known.left, column), max(known.right, column)
            spans[number] = Span(known.top, row, left, right)
    return [spans[number] for number in range(len(spans))]


def _split_merged_labels(lattice: Lattice, cells: dict[Span, list[Word]]) -> dict[Span, list[Word]]:
    """Labels that no ruling parts from each other, beside rows that are ruled, are one for each
    row: nearly every row beside them has a line of its own there, and figures."""
    parted: dict[Span, list[Word]] = defaultdict(list)
    for span, words in cells.items():
        if span.bottom - span.top < 2:
            for column, held in _by_column(lattice, span, words).items():
                parted[column] += held
            continue
        by_row: dict[int, list[Word]] = defaultdict(list)
        for word in words:
            by_row[min(max(bisect_right(lattice.ys, word.box.middle) - 1, 0), span.bottom)] += [
                word
            ]
        beside = {
            other.top
            for other, held in cells.items()
            if other.left > span.right and other.top == other.bottom
            if span.top <= other.top <= span.bottom and _is_figure(join_lines(w.text for w in held))
        }
        shared = len(beside & by_row.keys())
        if shared < 3 or shared < 0.8 * len(by_row):
            parted[span] += words
            continue
        for row, held in by_row.items():
            parted[Span(row, row, span.left, span.right)] += held
    return parted


def _by_column(lattice: Lattice, span: Span, words: list[Word]) -> dict[Span, list[Word]]:
    """A cell over several columns with as many years in it, each in a column of its own: the
    ruling between them is not drawn."""
    columns = {bisect_right(lattice.xs, word.box.centre) - 1: word for word in words}
    is_row = span.left < span.right and set(columns) == set(range(span.left, span.right + 1))
    if not is_row or len(words) > len(columns):
        return {span: words}
    if not all(YEARLIKE.fullmatch(word.text) for word in words):
        return {span: words}
    return {span._replace(left=at, right=at): [word] for at, word in columns.items()}


def _is_crowded(cells: dict[Span, list[Word]]) -> bool:
    """Lines with two numbers in one cell: the rulings do not part all columns."""
    crowded = 0
    for words in cells.values():
        for line in lines_of(words):
            crowded += sum(cell.is_number for cell in cut(line)) >= 2
    return crowded >= 2


def _undrawn_rulings(lattice: Lattice, cells: dict[Span, list[Word]]) -> list[Box]:
    """Rulings that are not drawn, between the labels and the figures of a cell whose lines have
    both: *Alkuperäinen 813 800* over *Muutos 15 000*. Beside it figures stand under each other."""
    stacks = sum(
        span.left > 0 and sum(_is_figure(line.text) for line in lines_of(words)) >= 2
        for span, words in cells.items()
    )
    found: list[Box] = []
    for span, words in cells.items():
        lines = [cut(line) for line in lines_of(words)]
        ends = [line[-1] for line in lines if _is_figure(line[-1].text)]
        labels = [line[0] for line in lines if len(line) == 2 and line[-1] in ends]
        if not span.left or not stacks or len(labels) < 2 or len(ends) < len(lines):
            continue
        if any(len(line) > 2 or line[0].is_number != (len(line) == 1) for line in lines):
            continue
        left, right = max(cell.box.x1 for cell in labels), min(cell.box.x0 for cell in ends)
        if left < right:
            middle = (left + right) / 2
            found.append(Box(middle, lattice.ys[span.top], middle, lattice.ys[span.bottom + 1]))
    return found


def _is_lined(cells: dict[Span, list[Word]]) -> bool:
    """Cells right of the labels hold numbers under each other, and hardly anything else."""
    lines = {
        span: [line.text for line in lines_of(words)]
        for span, words in cells.items()
        if span.left > 0
    }
    figures = {span: sum(map(_is_figure, texts)) for span, texts in lines.items()}
    first = min((span.top for span, found in figures.items() if found), default=0)
    numbers = sum(figures.values())
    below = sum(len(texts) for span, texts in lines.items() if span.top >= first)
    stacks = sum(found >= 2 for found in figures.values())
    is_lined = stacks >= 2 or _are_labels_lined(cells)
    return is_lined and numbers >= 0.75 * below


def _are_labels_lined(cells: dict[Span, list[Word]]) -> bool:
    """A cell of labels beside several rows that has more lines than they are, each of their figures
    beside one of its lines: the labels are ruled less than the figures."""
    for span, words in cells.items():
        if span.left > 0 or span.top == span.bottom:
            continue
        lines = [line.box for line in lines_of(words)]
        beside = [
            held
            for other, held in cells.items()
            if other.left > span.right and held and span.top <= other.top <= span.bottom
        ]
        figures = [line for held in beside for line in lines_of(held) if _is_figure(line.text)]
        near = [any(abs(line.middle - f.box.middle) <= NEAR for line in lines) for f in figures]
        rows = {round(figure.box.middle / NEAR) for figure in figures}
        if len(lines) > span.bottom - span.top + 1 and len(rows) >= 2 and all(near):
            return True
    return False


def _is_figure(text: str) -> bool:
    return bool(NUMBER.fullmatch(signed(text))) and not YEARLIKE.fullmatch(text)


def _lined_rows(lattice: Lattice, cells: dict[Span, list[Word]], first: int) -> list[GridRow]:
    """Rows by lines from the rectangle with the first figure on, by rulings above it."""
    figures = [
        line.box
        for span, words in cells.items()
        if span.left > 0
        for line in lines_of(words)
        if _is_figure(line.text)
    ]
    top = min(box.middle for box in figures)
    begin = max(first, bisect_right(lattice.ys, top) - 1)
    start = lattice.ys[begin] if begin > first else 0.0
    above = {
        span: [word for word in words if word.box.middle < start] for span, words in cells.items()
    }
    rows = [row for number in range(first, begin) for row in _row_between(above, number)]
    column_of = {word: span for span, words in cells.items() for word in words}
    below = (word for word in column_of if word.box.middle >= start)
    for line in lines_of(below):
        parts: dict[Span, list[Word]] = defaultdict(list)
        for word in line.words:
            parts[column_of[word]].append(word)
        rows.append(_row(parts, line))
    return rows


def _row_between(cells: dict[Span, list[Word]], number: int) -> list[GridRow]:
    """The row between two rulings, if it holds anything."""
    here = {span: words for span, words in cells.items() if span.top <= number <= span.bottom}
    row = _row({span: words for span, words in here.items() if words}, None)
    return [row] if row.texts else []


def _row(here: dict[Span, list[Word]], line: TextLine | None) -> GridRow:
    texts: dict[int, str] = {}
    starts: dict[int, str] = {}
    spans: dict[int, int] = {}
    shown: list[Word] = []
    for span, words in here.items():
        parts = [part.text for part in lines_of(words)]
        text = join_lines(parts) if line is None else " ".join(parts)
        shown += words
        text = f"{starts.get(span.left, '')} {text}".strip()  # two where cells are no rectangles
        starts[span.left] = text
        spans[span.left] = span.right - span.left + 1
        texts |= dict.fromkeys(range(span.left, span.right + 1), text)
    first = min(shown, key=lambda word: word.box.x0, default=None)
    at = line.box.middle if line else min((word.box.middle for word in shown), default=0.0)
    return GridRow(
        texts=texts,
        starts=starts,
        spans=spans,
        at=at,
        indent=first.box.x0 if first else 0.0,
        bold=first.bold if first else False,
        is_line=line is not None,
    )


def _columns(rows: list[GridRow], width: int) -> list[int]:
    """A number for each column of the lattice. A line that parts no two texts of any row (a heading
    ruled a little aside, a double ruling) makes no column."""
    used = [0] * width
    for column in range(1, width):
        group = [other for other in range(column) if used[other] == used[column - 1]]
        is_apart = any(
            column in row.starts and any(other in row.starts for other in group) for row in rows
        )
        used[column] = used[column - 1] + is_apart
    return used


def _renumbered(rows: list[GridRow], used: list[int]) -> tuple[GridRow, ...]:
    renumbered = []
    for row in rows:
        texts: dict[int, str] = {}
        starts: dict[int, str] = {}
        spans: dict[int, int] = {}
        for column in sorted(row.texts):
            texts.setdefault(used[column], row.texts[column])
        for column in sorted(row.starts):
            last = column + row.spans[column] - 1
            text = f"{starts.get(used[column], '')} {row.starts[column]}".strip()
            starts[used[column]] = text
            texts[used[column]] = text
            spans[used[column]] = used[last] - used[column] + 1
        renumbered.append(replace(row, texts=texts, starts=starts, spans=spans))
    return tuple(renumbered)

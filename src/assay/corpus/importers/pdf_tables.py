"""Where the tables of a page are, from where its words and rulings are.

**Idea.** Two signs of a table are looked for. Rulings that cross make a grid: touching rulings are
merged into outlines until nothing changes, and an outline with at least three vertical and three
horizontal rulings and words inside is a table; a chart has scattered numbers, a frame one column.
Numbers whose right edges stand under each other make columns, which is how annual reports set their
statements, mostly without rulings. Lines with a label and a number, or several numbers, make a row;
rows near each other, with few short lines between, a run; a run in which half of the rows have a
number at one edge, a table, and short lines over its columns are its heading. Where both signs are
on one place they are one table, and a row of years alone in the middle begins another.

The two signs are those of Tabula and Camelot, which call them lattice and stream; edges of text as
a sign of columns are from A. Nurminen, Algorithmic Extraction of Data in Tables in PDF Documents
(thesis, Tampere University of Technology, 2013). Our own is that only the right edges of numbers
count: a statement sets its figures flush right, and numbers in running text stand anywhere.

What the cells are is told in pdf_cells.py. All measures are in points or in heights of a line, and
were set on the annual reports of Finnish municipalities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assay.corpus.importers.pdf import Box, Page
from assay.corpus.importers.pdf_cells import NEAR, Cell, Table, cut, is_year_row, table_in

Region = tuple[int, int]  # the first line and the last


def find_tables(page: Page) -> list[Table]:
    cells = [cut(line) for line in page.lines]
    grids = _grids(page, cells)
    merged = _merged([*grids, *_columns(page, cells, grids)])
    regions = [region for whole in merged for region in _split(page, cells, *whole)]
    tables: list[Table] = []
    for first, last in sorted(regions):
        free = tables[-1].last + 1 if tables else 0
        table = table_in(page, cells, first, last, free)
        if table is not None:
            tables.append(table)
    return tables


def _columns(page: Page, cells: list[list[Cell]], grids: list[Region]) -> list[Region]:
    """Runs of lines with numbers under each other, (first line, last line). Two grids are two
    tables, and a grid has its headings inside."""
    runs: list[list[int]] = []
    grid_of: dict[int, int] = {}  # the grid of a line
    top_of: dict[int, int] = {}  # its first line
    for number, (first, last) in enumerate(grids):
        lines = range(first, last + 1)
        grid_of |= dict.fromkeys(lines, number)
        top_of |= dict.fromkeys(lines, first)
    for index, row in enumerate(cells):
        if not _is_row(row):
            continue
        if runs:
            before = runs[-1][-1]
            in_grids = before in grid_of and index in grid_of
            apart = in_grids and grid_of[before] != grid_of[index]
            if not apart and _joined(page, cells, before, index):
                runs[-1].append(index)
                continue
        runs.append([index])
    regions = []
    for run in runs:
        if _is_aligned(cells, run):
            top = top_of.get(run[0], _with_heading(page, cells, run[0]))
            regions.append((top, run[-1]))
    return regions


def _is_row(row: list[Cell]) -> bool:
    """A label and a number at a distance, or several numbers."""
    numbers = [cell for cell in row if cell.is_number]
    if len(numbers) >= 2:
        return True
    return len(numbers) == 1 and len(row) >= 2 and row[-1].is_number and len(row[0].text) < 90


def _joined(page: Page, cells: list[list[Cell]], before: int, index: int) -> bool:
    """The rows between are few and short: a heading inside a table, not a paragraph of text."""
    between = range(before + 1, index)
    if is_year_row(cells[index]):
        return False  # the heading of the next table
    gap = page.lines[index].box.y0 - page.lines[before].box.y1
    height = max(page.lines[index].box.height, page.lines[before].box.height, 6.0)
    if gap > (len(between) + 1) * 2.6 * height + 14:
        return False
    return len(between) <= 5 and not any(_is_prose(page, cells[line]) for line in between)


def _is_prose(page: Page, row: list[Cell]) -> bool:
    return len(row) == 1 and row[0].box.width > 0.52 * page.width


def _is_aligned(cells: list[list[Cell]], run: list[int]) -> bool:
    """At least three rows, and a column in which most of them have a number."""
    numbers = [[cell for cell in cells[line] if cell.is_number] for line in run]
    if len(run) < 3:
        return len(run) == 2 and all(len(row) >= 3 for row in numbers)
    edges = [cell.box.x1 for row in numbers for cell in row]
    near = [sum(1 for other in edges if abs(other - edge) <= NEAR) for edge in edges]
    return max(near, default=0) >= max(3, 0.5 * len(run))


def _with_heading(page: Page, cells: list[list[Cell]], first: int) -> int:
    """Up over the lines of column headings: short pieces that stand over the columns of numbers."""
    columns = [cell.box for cell in cells[first] if cell.is_number]
    top = first
    reached = first
    while reached > 0 and first - reached < 5:
        row = cells[reached - 1]
        line = page.lines[reached - 1]
        gap = page.lines[reached].box.y0 - line.box.y1
        if gap > 3.2 * line.box.height + 4 or _is_prose(page, row) or not _is_short(row):
            break
        is_over = any(_is_over(cell.box, column) for cell in row for column in columns)
        is_label = len(row) <= 2 and reached == first  # one may stand between headings and figures
        if not is_over and not is_label:
            break
        reached -= 1
        if is_over:
            top = reached
    return top


def _is_short(row: list[Cell]) -> bool:
    return all(len(cell.text) <= 45 for cell in row)


def _is_over(box: Box, column: Box) -> bool:
    return box.x0 < column.x1 + 12 and box.x1 > column.x0 - 12


def _grids(page: Page, cells: list[list[Cell]]) -> list[Region]:
    """Runs of lines inside rulings that cross."""
    regions = []
    for box in _crossing(page.rulings):
        inside = [number for number, line in enumerate(page.lines) if _is_within(line.box, box)]
        if len(inside) >= 2 and _is_tabular(page, box, [cells[number] for number in inside]):
            regions.append((inside[0], inside[-1]))
    return regions


def _is_within(line: Box, box: Box) -> bool:
    return box.y0 - 1 <= line.middle <= box.y1 + 1 and line.x1 > box.x0 and line.x0 < box.x1


def _is_tabular(page: Page, box: Box, rows: list[list[Cell]]) -> bool:
    """A grid holds text in at least two columns. A chart holds scattered numbers, a framed
    paragraph one column."""
    if box.width < 0.25 * page.width:
        return False
    rulings = [ruling for ruling in page.rulings if _is_inside(ruling, box)]
    upright = [line.x0 for line in rulings if line.height > line.width and line.height >= 6]
    level = [line.y0 for line in rulings if line.width >= line.height and line.width >= 20]
    if len(_levels(upright)) < 3 or len(_levels(level)) < 3:
        return False
    worded = sum(1 for row in rows if any(re.search(r"[^\W\d]{3}", cell.text) for cell in row))
    return worded >= max(2, 0.4 * len(rows))


def _is_inside(ruling: Box, box: Box) -> bool:
    across = ruling.x0 >= box.x0 - 2 and ruling.x1 <= box.x1 + 2
    return across and ruling.y0 >= box.y0 - 2 and ruling.y1 <= box.y1 + 2


def _crossing(rulings: Iterable[Box]) -> list[Box]:
    """The outlines of groups of rulings that touch."""
    places = {
        (round(ruling.x0), round(ruling.y0), round(ruling.x1), round(ruling.y1))
        for ruling in rulings
    }
    from_the_top = sorted(places, key=lambda place: place[1])
    groups = [Box(x0 - 2, y0 - 2, x1 + 2, y1 + 2) for x0, y0, x1, y1 in from_the_top]
    changed = True
    while changed:
        merged: list[Box] = []
        for box in groups:
            near = [group for group in merged if _touch(group, box)]
            for group in near:
                merged.remove(group)
                box = box.with_(group)
            merged.append(box)
        changed = len(merged) < len(groups)
        groups = merged
    return [group for group in groups if group.height > 12 and group.width > 40]


def _touch(first: Box, second: Box) -> bool:
    across = first.x0 <= second.x1 and second.x0 <= first.x1
    return across and first.y0 <= second.y1 and second.y0 <= first.y1


def _levels(values: list[float]) -> list[float]:
    """Distinct positions, near ones taken together."""
    levels: list[float] = []
    for value in sorted(values):
        if not levels or value - levels[-1] > NEAR:
            levels.append(value)
    return levels


def _merged(regions: list[Region]) -> list[Region]:
    merged: list[Region] = []
    for first, last in sorted(regions):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _split(page: Page, cells: list[list[Cell]], first: int, last: int) -> list[Region]:
    """A row of years alone, after rows of figures, is the heading of another table; its title
    stands above it."""
    for index in range(first + 3, last):
        if not is_year_row(cells[index]):
            continue
        if sum(_is_row(row) for row in cells[first:index]) < 3:
            continue
        start = index
        while start > first and index - start < 2 and not _is_row(cells[start - 1]):
            start -= 1
        return [(first, start - 1), *_split(page, cells, start, last)]
    return [(first, last)]

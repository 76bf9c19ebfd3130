"""Find the tables of a PDF page from the positions of its words and rulings.

**Idea.** Two signs of a table are looked for. Rulings that cross make a grid: touching rulings are
merged into outlines until nothing changes, and an outline with at least three vertical and three
horizontal rulings and words inside is a table; a chart has scattered numbers, a frame one column.
The words of a grid are its own, so that a table beside it is another.
Numbers whose right edges stand under each other make columns, which is how annual reports set their
statements, mostly without rulings. Lines with a label and a number, or several numbers, make a row;
rows near each other, with few short lines between, a run; a run in which half of the rows have a
number at one edge, a table, and short lines over its columns are its heading. A row of years alone
in the middle begins another table, and labels right of figures, with figures of their own, a table
beside the first.

The two signs are those of Tabula and Camelot, which call them lattice and stream; edges of text as
a sign of columns are from A. Nurminen, Algorithmic Extraction of Data in Tables in PDF Documents
(thesis, Tampere University of Technology, 2013). Our own is that only the right edges of numbers
count: a statement sets its figures flush right, and numbers in running text stand anywhere.

grid.py and cells.py cut the tables into cells. All measures are in points or in heights
of a line, and were set on the annual reports of Finnish municipalities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from assay.corpus.importers.pdf.cells import (
    PdfTable,
    stands_over,
    table_of,
    tables_of_grid,
    with_heading,
)
from assay.corpus.importers.pdf.grid import grids_in, levels
from assay.corpus.importers.pdf.page import (
    NEAR,
    SHY,
    Box,
    PdfPage,
    TextCell,
    TextLine,
    Word,
    cut,
    is_year_row,
    join_lines,
)

# set by hand on the annual reports of two Finnish towns (decision 20)
HEADING = 1.15  # the size of a heading over that of what is in a table
MOST_ABOVE = 4  # lines of headings over a grid

Region = tuple[int, int]  # the first line and the last


@dataclass(frozen=True)
class Tables:
    """The tables of a page, and the lines that are in none."""

    tables: tuple[PdfTable, ...]
    lines: tuple[TextLine, ...]
    sideways: tuple[Word, ...]


def find_tables(page: PdfPage) -> Tables:
    """First what rulings draw, then columns of numbers, then areas filled like cells."""
    tables: list[PdfTable] = []
    loose = _add_ruled_tables(page, page.rulings, tables)
    tables = list(_with_headings(tables, _without_tables(page, tables).lines))
    tables += _aligned_tables(_without_tables(page, tables), loose)
    _add_ruled_tables(_without_tables(page, tables), (*page.rulings, *page.edges), tables)
    rest = _without_tables(page, tables)
    tables.sort(key=lambda table: (round(table.box.y0), table.box.x0))
    return Tables(tuple(_add_titles(tables, rest.lines)), rest.lines, rest.sideways)


def _add_ruled_tables(page: PdfPage, rulings: Sequence[Box], tables: list[PdfTable]) -> list[Box]:
    """Adds the tables that these rulings draw; the outlines whose rulings part no columns."""
    loose: list[Box] = []
    for box in _ruling_outlines(rulings):
        found = _tables_in_box(page, box, rulings)
        tables += found
        if not found:
            loose.append(box)
    return loose


def _with_headings(tables: Sequence[PdfTable], lines: Sequence[TextLine]) -> Iterator[PdfTable]:
    """Tables with the lines right above their rulings that stand over their columns, and are not
    set larger than what is in them: those are headings."""
    for table in tables:
        top = table.box.y0
        size = max((word.size for word in table.words), default=0.0)
        taken: list[TextLine] = []
        for line in reversed(lines):
            if line.box.middle > table.box.y0 or len(taken) == MOST_ABOVE:
                continue
            if top - line.box.y1 > 0.8 * line.box.height or not stands_over(line, table.bounds):
                break
            if line.size >= HEADING * size:
                break
            taken.insert(0, line)
            top = min(top, line.box.y0)
        yield with_heading(table, taken) if taken else table


def _without_tables(page: PdfPage, tables: Iterable[PdfTable]) -> PdfPage:
    """The page without the words of these tables."""
    taken = {word for table in tables for word in table.words}
    sideways = tuple(word for word in page.sideways if word not in taken)
    return replace(page, lines=_without_words(page.lines, taken), sideways=sideways)


def _without_words(lines: Iterable[TextLine], taken: set[Word]) -> tuple[TextLine, ...]:
    kept = []
    for line in lines:
        words = tuple(word for word in line.words if word not in taken)
        if words:
            kept.append(line if len(words) == len(line.words) else TextLine(words))
    return tuple(kept)


def _tables_in_box(page: PdfPage, box: Box, drawn: Sequence[Box]) -> list[PdfTable]:
    inside = [line for line in page.lines if any(box.holds(word.box, 1) for word in line.words)]
    rulings = [ruling for ruling in drawn if _is_inside(ruling, box)]
    if len(inside) < 2 or not _is_tabular(page, box, rulings, [cut(line) for line in inside]):
        return []
    found = grids_in(page, box, rulings)
    return [table for grid in found for table in tables_of_grid(grid)]


def _aligned_tables(page: PdfPage, loose: list[Box]) -> Iterator[PdfTable]:
    """Tables by their columns of numbers."""
    cells = [cut(line) for line in page.lines]
    outlines = [region for box in loose if (region := _lines_in(page, box)) is not None]
    for whole in _merge_regions(_number_regions(page, cells, outlines)):
        for first, last in _split_at_years(cells, *whole):
            for lines in _split_side_by_side(page.lines[first : last + 1]):
                table = table_of(lines)
                if table is not None:
                    yield table


def _lines_in(page: PdfPage, box: Box) -> Region | None:
    inside = [number for number, line in enumerate(page.lines) if _is_within(line.box, box)]
    return (inside[0], inside[-1]) if len(inside) >= 2 else None


def _split_side_by_side(lines: Sequence[TextLine]) -> list[Sequence[TextLine]]:
    """The lines of one table, or of several that stand side by side: labels that begin at one place
    right of figures, with figures of their own."""
    starts = [place for line in lines if (place := _second_label(cut(line))) is not None]
    numbered = sum(_is_row(cut(line)) for line in lines)
    if len(starts) < max(3, 0.4 * numbered):
        return [lines]
    edge = min(starts) - 2
    left: list[TextLine] = []
    right: list[TextLine] = []
    for line in lines:
        for side, words in (
            (left, tuple(word for word in line.words if word.box.x0 < edge)),
            (right, tuple(word for word in line.words if word.box.x0 >= edge)),
        ):
            if words:
                side.append(TextLine(words))
    crossing = sum(1 for line in lines if any(_crosses(cell.box, edge) for cell in cut(line)))
    if crossing > 0.15 * len(lines) or len(left) < 3 or len(right) < 3:
        return [lines]
    return [left, *_split_side_by_side(right)]


def _crosses(box: Box, edge: float) -> bool:
    return box.x0 < edge - 1 and box.x1 > edge + 3


def _second_label(row: list[TextCell]) -> float | None:
    """The left edge of the words that stand between the figures of a row."""
    for number, cell in enumerate(row):
        is_words = len(re.findall(r"[^\W\d]", cell.text)) >= 3 and not cell.is_number
        before = any(other.is_number and not other.is_dash for other in row[:number])
        after = any(other.is_number for other in row[number + 1 :])
        if is_words and before and after:
            return cell.box.x0
    return None


def _add_titles(tables: Sequence[PdfTable], lines: Sequence[TextLine]) -> Iterator[PdfTable]:
    """Tables with the line right above them as title, where they have none of their own."""
    for table in tables:
        title = table.title or _title_above(table, tables, lines)
        yield replace(table, title=title)


def _title_above(table: PdfTable, tables: Sequence[PdfTable], lines: Sequence[TextLine]) -> str:
    above = [line for line in lines if line.box.middle < table.box.y0 and _is_above(line, table)]
    if not above:
        return ""
    line = above[-1]
    is_near = table.box.y0 - line.box.y1 < 4 * max(line.box.height, 8.0)
    ends = [other.box.y1 for other in tables if other.box.y1 <= table.box.y0 + 2]
    is_free = all(end <= line.box.middle for end in ends)
    is_sentence = line.text.endswith(".") and not line.text.startswith("Taulukko")
    if not is_near or not is_free or is_sentence or len(line.text) >= 110:
        return ""
    begun = [line.text]
    for before in reversed(above[:-1]):
        if not before.text.endswith(SHY):
            break
        begun.insert(0, before.text)
    return join_lines(begun)


def _is_above(line: TextLine, table: PdfTable) -> bool:
    return line.box.x0 < table.box.x1 and line.box.x1 > table.box.x0


def _number_regions(
    page: PdfPage, cells: list[list[TextCell]], grids: list[Region]
) -> list[Region]:
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
            if not apart and _are_one_run(page, cells, before, index):
                runs[-1].append(index)
                continue
        runs.append([index])
    regions = []
    for run in runs:
        if _is_aligned(cells, run):
            top = top_of.get(run[0], _heading_top(page, cells, run))
            regions.append((top, run[-1]))
    return regions


def _is_row(row: list[TextCell]) -> bool:
    """A label and a number at a distance, or several numbers."""
    numbers = [cell for cell in row if cell.is_number]
    if len(numbers) >= 2:
        return True
    return len(numbers) == 1 and len(row) >= 2 and row[-1].is_number and len(row[0].text) < 90


def _are_one_run(page: PdfPage, cells: list[list[TextCell]], before: int, index: int) -> bool:
    """The rows between are few and short: a heading inside a table, not a paragraph of text."""
    between = range(before + 1, index)
    if is_year_row(cells[index]):
        return False  # the heading of the next table
    gap = page.lines[index].box.y0 - page.lines[before].box.y1
    height = max(page.lines[index].box.height, page.lines[before].box.height, 6.0)
    if gap > (len(between) + 1) * 2.6 * height + 14:
        return False
    if any(_is_larger(page.lines[line], page.lines[before]) for line in between):
        return False  # the heading of a section
    return len(between) <= 5 and not any(_is_prose(page, cells[line]) for line in between)


def _is_prose(page: PdfPage, row: list[TextCell]) -> bool:
    return len(row) == 1 and row[0].box.width > 0.52 * page.width


def _is_aligned(cells: list[list[TextCell]], run: list[int]) -> bool:
    """At least three rows, and a column in which most of them have a number."""
    numbers = [[cell for cell in cells[line] if cell.is_number] for line in run]
    if len(run) < 3:
        return len(run) == 2 and all(len(row) >= 3 for row in numbers)
    edges = [cell.box.x1 for row in numbers for cell in row]
    near = [sum(1 for other in edges if abs(other - edge) <= NEAR) for edge in edges]
    return max(near, default=0) >= max(3, 0.5 * len(run))


def _is_larger(line: TextLine, row: TextLine) -> bool:
    return line.size >= 1.3 * row.size


def _heading_top(page: PdfPage, cells: list[list[TextCell]], run: list[int]) -> int:
    """Up over the lines of column headings: short pieces that stand over the columns of numbers."""
    first = run[0]
    columns = [cell.box for number in run[:4] for cell in cells[number] if cell.is_number]
    top = first
    reached = first
    while reached > 0 and first - reached < 5:
        row = cells[reached - 1]
        line = page.lines[reached - 1]
        gap = page.lines[reached].box.y0 - line.box.y1
        if gap > 3.2 * line.box.height + 4 or _is_prose(page, row) or not _is_short(row):
            break
        if _is_larger(line, page.lines[first]):
            break
        is_over = any(_is_over(cell.box, column) for cell in row for column in columns)
        is_label = len(row) <= 2 and reached > first - 2  # they may stand before the figures
        if not is_over and not is_label:
            break
        reached -= 1
        if is_over:
            top = reached
    return top


def _is_short(row: list[TextCell]) -> bool:
    return all(len(cell.text) <= 45 for cell in row)


def _is_over(box: Box, column: Box) -> bool:
    return box.x0 < column.x1 + 12 and box.x1 > column.x0 - 12


def _is_within(line: Box, box: Box) -> bool:
    return box.y0 - 1 <= line.middle <= box.y1 + 1 and line.x1 > box.x0 and line.x0 < box.x1


def _is_tabular(page: PdfPage, box: Box, rulings: list[Box], rows: list[list[TextCell]]) -> bool:
    """A grid holds text in at least two columns. A chart holds scattered numbers, a framed
    paragraph one column."""
    if box.width < 0.15 * page.width:
        return False
    upright = [line.x0 for line in rulings if line.height > line.width and line.height >= 6]
    level = [line.y0 for line in rulings if line.width >= line.height and line.width >= 20]
    if len(levels(upright, NEAR)) < 3 or len(levels(level, NEAR)) < 3:
        return False
    worded = sum(1 for row in rows if any(re.search(r"[^\W\d]{3}", cell.text) for cell in row))
    return worded >= max(2, 0.4 * len(rows))


def _is_inside(ruling: Box, box: Box) -> bool:
    across = ruling.x0 >= box.x0 - 2 and ruling.x1 <= box.x1 + 2
    return across and ruling.y0 >= box.y0 - 2 and ruling.y1 <= box.y1 + 2


def _ruling_outlines(rulings: Iterable[Box]) -> list[Box]:
    """The outlines of groups of rulings that touch."""
    places = {
        (round(ruling.y0), round(ruling.x0), round(ruling.y1), round(ruling.x1))
        for ruling in rulings
    }
    groups = [Box(x0 - 2, y0 - 2, x1 + 2, y1 + 2) for y0, x0, y1, x1 in places]
    changed = True
    while changed:
        merged = _merge_touching(groups)
        changed = len(merged) < len(groups)
        groups = merged
    return [group for group in groups if group.height > 12 and group.width > 40]


def _merge_touching(boxes: list[Box]) -> list[Box]:
    """Boxes from the top down, each merged with those above that it touches."""
    done: list[Box] = []
    near: list[Box] = []  # those that still reach down to where we are
    for box in sorted(boxes, key=lambda box: (box.y0, box.x0)):
        done += [group for group in near if group.y1 < box.y0]
        near = [group for group in near if group.y1 >= box.y0]
        touching = [group for group in near if _touch(group, box)]
        if touching:
            near = [group for group in near if not _touch(group, box)]
            for group in touching:
                box = box.with_(group)
        near.append(box)
    return [*done, *near]


def _touch(first: Box, second: Box) -> bool:
    across = first.x0 <= second.x1 and second.x0 <= first.x1
    return across and first.y0 <= second.y1 and second.y0 <= first.y1


def _merge_regions(regions: list[Region]) -> list[Region]:
    merged: list[Region] = []
    for first, last in sorted(regions):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _split_at_years(cells: list[list[TextCell]], first: int, last: int) -> list[Region]:
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
        return [(first, start - 1), *_split_at_years(cells, start, last)]
    return [(first, last)]

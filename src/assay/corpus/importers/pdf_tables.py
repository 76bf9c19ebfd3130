"""Tables on a page, from where its words and rulings are.

Two signs of a table are looked for. Rulings that cross make a grid. Numbers whose right edges stand
under each other make columns, which is how annual reports set their statements. Where both are
found on one place they are one table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.corpus.importers.pdf import Box, Line, Page, Word

NUMBER = re.compile(
    r"[-–−+±]?\(?\d{1,3}(?:[  .]?\d{3})*(?:[,.]\d+)?\)?\s?(?:%|€|kpl|pv|htv)?|[-–−—]|\d+(?:,\d+)?%?"
)
YEARLIKE = re.compile(
    r"(?:TP|TA|KS|LTA)?\s?(?:19|20)\d\d|\d{1,2}\.\d{1,2}\.?\s?[-–]\s?\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}\.\d{1,2}\.(?:19|20)?\d\d|1\s?000\s?€?"
)
NEAR = 3.0  # points within which two edges are one column


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


def find_tables(page: Page) -> list[Table]:
    cells = [cut(line) for line in page.lines]
    grids = _grids(page, cells)
    merged = _merged([*grids, *_columns(page, cells, grids)])
    regions = [part for region in merged for part in _split(page, cells, *region)]
    tables: list[Table] = []
    for first, last in sorted(regions):
        free = tables[-1].last + 1 if tables else 0
        table = _table(page, cells, first, last, free)
        if table is not None:
            tables.append(table)
    return tables


def cut(line: Line) -> list[Cell]:
    """A line's words in cells: a gap of more than two spaces parts them, and so does a number that
    is complete."""
    cells: list[list[Word]] = []
    for word in line.words:
        gap = word.box.x0 - cells[-1][-1].box.x1 if cells else 0.0
        if not cells or gap > 0.55 * max(word.size, 6.0) or _parts(cells[-1], word, gap):
            cells.append([word])
        else:
            cells[-1].append(word)
    return [_cell(words) for words in cells]


def _parts(cell: list[Word], word: Word, gap: float) -> bool:
    """Two numbers side by side: the next word cannot carry on the number before it."""
    before, last = " ".join(w.text for w in cell), cell[-1].text
    if not NUMBER.fullmatch(before) or not re.match(r"[-–−+]?\d", word.text):
        return False
    goes_on = re.fullmatch(r"\d{3}(?:,\d+)?%?", word.text) and re.fullmatch(r"[-–−+]?\d{1,3}", last)
    return not goes_on and gap > 0.2 * word.size


def _cell(words: Sequence[Word]) -> Cell:
    box = words[0].box
    for word in words[1:]:
        box = box.with_(word.box)
    return Cell(" ".join(word.text for word in words), box)


# ── where tables are ──────────────────────────────────────────────────────────────────────────────


def _columns(
    page: Page, cells: list[list[Cell]], grids: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Runs of lines with numbers under each other, (first line, last line). Two grids are two
    tables, and a grid has its headings inside."""
    runs: list[list[int]] = []
    grid_of = {
        line: number
        for number, (first, last) in enumerate(grids)
        for line in range(first, last + 1)
    }
    for index, row in enumerate(cells):
        if not _is_row(row, page):
            continue
        apart = (
            runs
            and grid_of.get(runs[-1][-1]) != grid_of.get(index)
            and {runs[-1][-1], index} <= set(grid_of)
        )
        if runs and not apart and _joined(page, cells, runs[-1][-1], index):
            runs[-1].append(index)
        else:
            runs.append([index])
    tops = {line: first for first, last in grids for line in range(first, last + 1)}
    aligned = [run for run in runs if _aligned(cells, run)]
    return [(tops.get(run[0], _with_heading(page, cells, run[0])), run[-1]) for run in aligned]


def _is_row(row: list[Cell], page: Page) -> bool:
    """A label and a number at a distance, or several numbers."""
    numbers = [cell for cell in row if cell.is_number]
    if len(numbers) >= 2:
        return True
    return len(numbers) == 1 and len(row) >= 2 and row[-1].is_number and len(row[0].text) < 90


def _joined(page: Page, cells: list[list[Cell]], before: int, index: int) -> bool:
    """The rows between are few and short: a heading inside a table, not a paragraph of text."""
    between = range(before + 1, index)
    if len(cells[index]) >= 2 and all(YEARLIKE.fullmatch(cell.text) for cell in cells[index]):
        return False  # a row of years alone is the heading of the next table
    gap = page.lines[index].box.y0 - page.lines[before].box.y1
    height = max(page.lines[index].box.height, page.lines[before].box.height, 6.0)
    if gap > (len(between) + 1) * 2.6 * height + 14:
        return False
    return len(between) <= 5 and not any(_is_prose(page, cells[i]) for i in between)


def _is_prose(page: Page, row: list[Cell]) -> bool:
    return len(row) == 1 and row[0].box.width > 0.52 * page.width


def _aligned(cells: list[list[Cell]], run: list[int]) -> bool:
    """At least three rows, and a column in which most of them have a number."""
    if len(run) < 3:
        return len(run) == 2 and all(sum(cell.is_number for cell in cells[i]) >= 3 for i in run)
    edges = [cell.box.x1 for i in run for cell in cells[i] if cell.is_number]
    best = max(
        (sum(1 for other in edges if abs(other - edge) <= NEAR) for edge in edges), default=0
    )
    return best >= max(3, 0.5 * len(run))


def _with_heading(page: Page, cells: list[list[Cell]], first: int) -> int:
    """Up over the lines of column headings: short pieces that stand over the columns of numbers."""
    columns = [cell.box for cell in cells[first] if cell.is_number]
    top, reached = first, first
    while reached > 0 and first - reached < 5:
        row, line = cells[reached - 1], page.lines[reached - 1]
        gap = page.lines[reached].box.y0 - line.box.y1
        over = any(_over(cell.box, column) for cell in row for column in columns)
        label = (
            len(row) <= 2 and reached == first
        )  # one line with a label may stand between headings and figures
        if (
            gap > 3.2 * line.box.height + 4
            or _is_prose(page, row)
            or not (over or label)
            or not _short(row)
        ):
            break
        reached -= 1
        top = reached if over else top
    return top


def _short(row: list[Cell]) -> bool:
    return all(len(cell.text) <= 45 for cell in row)


def _over(box: Box, column: Box) -> bool:
    return box.x0 < column.x1 + 12 and box.x1 > column.x0 - 12


def _grids(page: Page, cells: list[list[Cell]]) -> list[tuple[int, int]]:
    """Runs of lines inside rulings that cross."""
    regions = []
    for box in _crossing(page.rulings):
        inside = [i for i, line in enumerate(page.lines) if _middle_in(line.box, box)]
        if len(inside) >= 2 and _tabular(page, box, [cells[i] for i in inside]):
            regions.append((inside[0], inside[-1]))
    return regions


def _middle_in(line: Box, box: Box) -> bool:
    middle = (line.y0 + line.y1) / 2
    return box.y0 - 1 <= middle <= box.y1 + 1 and line.x1 > box.x0 and line.x0 < box.x1


def _tabular(page: Page, box: Box, rows: list[list[Cell]]) -> bool:
    """A grid holds text in at least two columns. A chart holds scattered numbers, a framed
    paragraph one column."""
    if box.width < 0.25 * page.width:
        return False
    vertical = _levels(
        [r.x0 for r in page.rulings if r.height > r.width and r.height >= 6 and _inside(r, box)]
    )
    horizontal = _levels(
        [r.y0 for r in page.rulings if r.width >= r.height and r.width >= 20 and _inside(r, box)]
    )
    worded = sum(1 for row in rows if any(re.search(r"[^\W\d]{3}", cell.text) for cell in row))
    return len(vertical) >= 3 and len(horizontal) >= 3 and worded >= 2 and worded >= 0.4 * len(rows)


def _inside(ruling: Box, box: Box) -> bool:
    return (
        ruling.x0 >= box.x0 - 2
        and ruling.x1 <= box.x1 + 2
        and ruling.y0 >= box.y0 - 2
        and ruling.y1 <= box.y1 + 2
    )


def _crossing(rulings: Iterable[Box]) -> list[Box]:
    """The outlines of groups of rulings that touch."""
    boxes = sorted(
        {(round(r.x0), round(r.y0), round(r.x1), round(r.y1)) for r in rulings}, key=lambda b: b[1]
    )
    groups = [Box(x0 - 2, y0 - 2, x1 + 2, y1 + 2) for x0, y0, x1, y1 in boxes]
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


def _touch(one: Box, other: Box) -> bool:
    return one.x0 <= other.x1 and other.x0 <= one.x1 and one.y0 <= other.y1 and other.y0 <= one.y1


def _levels(values: list[float]) -> list[float]:
    """Distinct positions, near ones taken together."""
    levels: list[float] = []
    for value in sorted(values):
        if not levels or value - levels[-1] > NEAR:
            levels.append(value)
    return levels


def _merged(regions: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(regions):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _split(page: Page, cells: list[list[Cell]], first: int, last: int) -> list[tuple[int, int]]:
    """A row of years alone, after rows of figures, is the heading of another table; its title
    stands above it."""
    for index in range(first + 3, last):
        years = len(cells[index]) >= 2 and all(
            YEARLIKE.fullmatch(cell.text) for cell in cells[index]
        )
        if not years or sum(_is_row(row, page) for row in cells[first:index]) < 3:
            continue
        start = index
        while start > first and index - start < 2 and not _is_row(cells[start - 1], page):
            start -= 1
        return [(first, start - 1), *_split(page, cells, start, last)]
    return [(first, last)]


# ── what is in them ───────────────────────────────────────────────────────────────────────────────


def _table(page: Page, cells: list[list[Cell]], first: int, last: int, free: int) -> Table | None:
    rows = cells[first : last + 1]
    box = page.lines[first].box
    for line in page.lines[first + 1 : last + 1]:
        box = box.with_(line.box)
    grid = _grid_columns(page, box)
    bounds = _number_columns(rows) if not grid or _crowded(rows, grid) else grid
    if len(bounds) < 2:
        bounds = grid
    if len(bounds) < 2:
        return None
    placed = [_place(row, bounds) for row in rows]
    if bounds is grid:
        placed = _wrapped(placed, rows, page, first)
    used = [i for i in range(len(bounds)) if any(row[i] for row in placed)]
    placed = _labelled([[row[i] for i in used] for row in placed])
    if len(placed[0]) < 2:
        return None
    heading = _heading_rows(placed)
    title, header = _titled(page, first, free, placed[:heading])
    body = placed[heading:]
    if sum(1 for row in body for text in row if text) < (3 if grid else 4):
        return None
    return Table(title, tuple(map(tuple, header)), tuple(map(tuple, body)), box, first, last)


def _grid_columns(page: Page, box: Box) -> list[tuple[float, float]]:
    """Columns between vertical rulings that stand along most of the table's height."""
    spans: dict[float, float] = {}
    for ruling in page.rulings:
        if ruling.height > ruling.width and ruling.y0 < box.y1 and ruling.y1 > box.y0:
            level = next((x for x in spans if abs(x - ruling.x0) <= NEAR), ruling.x0)
            spans[level] = spans.get(level, 0.0) + min(ruling.y1, box.y1) - max(ruling.y0, box.y0)
    edges = sorted(x for x, height in spans.items() if height >= 0.45 * box.height)
    if len(edges) < 3:
        return []
    if box.x0 < edges[0] - 6:
        edges = [box.x0 - 1, *edges]
    if box.x1 > edges[-1] + 6:
        edges = [*edges, box.x1 + 1]
    return list(pairwise(edges))


def _labelled(placed: list[list[str]]) -> list[list[str]]:
    """One column of labels: steps of indentation are no columns, and a label over two lines is one
    label."""
    numeric = next(
        (
            i
            for i in range(len(placed[0]))
            if sum(bool(NUMBER.fullmatch(row[i])) for row in placed) >= 2
        ),
        0,
    )
    if numeric > 1 and sum(sum(map(bool, row[:numeric])) <= 1 for row in placed) >= 0.9 * len(
        placed
    ):
        placed = [[" ".join(filter(None, row[:numeric])), *row[numeric:]] for row in placed]
    joined: list[list[str]] = []
    for row in placed:
        begun = joined and joined[-1][0] and not any(joined[-1][1:])
        if begun and (joined[-1][0].endswith("\u00ad") or (any(row[1:]) and row[0][:1].islower())):
            row = [_unbroken(joined.pop()[0], row[0]), *row[1:]]
        joined.append(row)
    return [[text.replace("\u00ad", "") for text in row] for row in joined]


def _unbroken(first: str, second: str) -> str:
    return first[:-1] + second if first.endswith("\u00ad") else f"{first} {second}"


def _crowded(rows: list[list[Cell]], bounds: list[tuple[float, float]]) -> bool:
    """Two numbers of a row fall into one column: the rulings do not part all columns."""
    for row in rows:
        columns = [_column_of(cell, bounds) for cell in row if cell.is_number]
        if len(columns) != len(set(columns)):
            return True
    return False


def _number_columns(rows: list[list[Cell]]) -> list[tuple[float, float]]:
    """A label column, then one for every place where the right edges of numbers come together."""
    numbers = sorted(
        (cell.box for row in rows for cell in row if cell.is_number), key=lambda box: box.x1
    )
    groups: list[list[Box]] = []
    for box in numbers:
        if groups and box.x1 - groups[-1][-1].x1 <= 2 * NEAR:
            groups[-1].append(box)
        else:
            groups.append([box])
    needed = max(2, 0.15 * len(rows))
    groups = [group for group in groups if len(group) >= needed]
    if not groups:
        return []
    columns = [(min(box.x0 for box in group), max(box.x1 for box in group)) for group in groups]
    merged: list[tuple[float, float]] = []
    for left, right in columns:
        if merged and left < merged[-1][1] - 1 and _centre(left, right) < merged[-1][1]:
            merged[-1] = (min(left, merged[-1][0]), max(right, merged[-1][1]))
        else:
            merged.append((left, right))
    left = min((cell.box.x0 for row in rows for cell in row), default=0.0)
    if left < merged[0][0] - 6:
        merged = [(left, merged[0][0] - 1), *merged]
    return merged


def _centre(left: float, right: float) -> float:
    return (left + right) / 2


def _place(row: list[Cell], bounds: list[tuple[float, float]]) -> list[str]:
    texts = [""] * len(bounds)
    for cell in row:
        column = _column_of(cell, bounds)
        texts[column] = f"{texts[column]} {cell.text}".strip()
    return texts


def _column_of(cell: Cell, bounds: list[tuple[float, float]]) -> int:
    if cell.is_number:
        return min(
            range(len(bounds)),
            key=lambda i: min(abs(bounds[i][1] - cell.box.x1), _outside(cell, bounds[i])),
        )
    middle = _centre(cell.box.x0, cell.box.x1)
    inside = [i for i, (left, right) in enumerate(bounds) if left - 3 <= middle <= right + 3]
    if inside:
        return inside[0]
    if cell.box.x0 <= bounds[0][1]:
        return 0
    return min(range(len(bounds)), key=lambda i: abs(_centre(*bounds[i]) - middle))


def _outside(cell: Cell, bound: tuple[float, float]) -> float:
    """0 when the cell lies within the column."""
    return max(0.0, bound[0] - cell.box.x0) + max(0.0, cell.box.x1 - bound[1])


def _wrapped(
    placed: list[list[str]], rows: list[list[Cell]], page: Page, first: int
) -> list[list[str]]:
    """In a grid, a line that no ruling parts from the one above carries on its cells, if rulings
    part rows at all."""
    levels = [r for r in page.rulings if r.width > r.height and r.width > 20]
    boxes = [line.box for line in page.lines[first : first + len(rows)]]
    parted = [
        True,
        *(any(_between(r, above, below) for r in levels) for above, below in pairwise(boxes)),
    ]
    if sum(parted) < 0.3 * len(parted):
        return placed
    joined: list[list[str]] = []
    for texts, row, apart in zip(placed, rows, parted, strict=True):
        if (
            joined
            and not apart
            and not any(cell.is_number for cell in row)
            and not _next_label(joined[-1], texts)
        ):
            joined[-1] = [
                f"{old} {new}".strip() for old, new in zip(joined[-1], texts, strict=True)
            ]
        else:
            joined.append(list(texts))
    return joined


def _next_label(before: list[str], texts: list[str]) -> bool:
    """A label alone, under a row that has its figures already, begins a row."""
    alone = bool(texts[0]) and not any(texts[1:]) and not texts[0][0].islower()
    return alone and any(NUMBER.fullmatch(text) for text in before[1:])


def _between(ruling: Box, above: Box, below: Box) -> bool:
    return (
        (above.y0 + above.y1) / 2 < ruling.y0 <= (below.y0 + below.y1) / 2
        and ruling.x1 > below.x0
        and ruling.x0 < below.x1
    )


def _heading_rows(placed: list[list[str]]) -> int:
    """How many rows at the top are headings: no number in them but years and units."""
    for index, row in enumerate(placed):
        values = [text for text in row[1:] if text]
        if any(NUMBER.fullmatch(text) and not YEARLIKE.fullmatch(text) for text in values):
            return index
    return min(1, len(placed) - 1)


def _titled(
    page: Page, first: int, free: int, heading: list[list[str]]
) -> tuple[str, list[list[str]]]:
    """The title: a heading row with words in its first cell alone, or the line right above the
    table."""
    if heading and sum(map(bool, heading[0])) == 1:
        only = next(text for text in heading[0] if text)
        if heading[0][0] or len(only) > 25:
            return only, heading[1:]
    if first > free:
        line, top = page.lines[first - 1], page.lines[first].box
        near = top.y0 - line.box.y1 < 4 * max(line.box.height, 8.0)
        if (
            near
            and len(line.text) < 110
            and (not line.text.endswith(".") or line.text.startswith("Taulukko"))
        ):
            return line.text, heading
    return "", heading

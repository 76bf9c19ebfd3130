"""Cut tables into header, rows and cells, both tables that columns of numbers form and tables drawn
as a grid.

**Columns.** Figures are set flush right, so that the right edges of a column's numbers come
together within a few points, and what lies left of the first such column is the label. This is the
stream of Nurminen (2013, "Algorithmic Extraction of Data in Tables in PDF Documents"), on which
Tabula and Camelot are built; here it is for statements in annual reports, where figures are never
centred.

**Rows.** A label that ends in a hyphen, or goes on in lower case, is one label over two lines. The
rows above the first figure that is no year are the heading; a heading over several columns stands
in each of them.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from assay.corpus.importers.pdf.grid import GridRow, RuledGrid
from assay.corpus.importers.pdf.page import (
    NEAR,
    NUMBER,
    SHY,
    Box,
    TextCell,
    TextLine,
    Word,
    cut,
    enclosing_box,
    is_value,
    join_lines,
    signed,
    with_signs,
)

# set by hand on the annual reports of two Finnish towns (decision 20)
MAX_HEADING = 6  # rows
SENTENCE = 40  # letters: a longer text may be a sentence

_SHARE = re.compile(r"[-–−+]?\s?\d{1,2}(?:,\d+)?\s?%")

Bound = tuple[float, float]  # the left and right edge of a column


@dataclass(frozen=True)
class TableRow:
    """The texts of a row, one for each column; where its label begins, whether it is bold, and its
    height on the page."""

    cells: tuple[str, ...]
    indent: float
    bold: bool
    at: float = 0.0

    @property
    def is_label(self) -> bool:
        return bool(self.cells[0]) and not any(self.cells[1:])


@dataclass(frozen=True)
class PdfTable:
    title: str
    header: tuple[tuple[str, ...], ...]
    rows: tuple[TableRow, ...]
    box: Box
    bounds: tuple[Bound, ...]
    words: frozenset[Word]  # those it takes from the page


# ── columns of numbers ────────────────────────────────────────────────────────────────────────────


def table_of(lines: Sequence[TextLine]) -> PdfTable | None:
    """The table in these lines, if there is one."""
    rows = with_signs([cut(line) for line in lines])
    bounds = _number_columns(rows)
    if len(bounds) < 2:
        return None
    placed = [_row_of_cells(row, bounds) for row in rows]
    bounds, placed = _one_label(bounds, placed)
    heading = _last_heading([row.cells for row in placed])
    over = _with_labels(bounds, rows[heading:])
    header = [_spread(_recut(line, over), over) for line in lines[:heading]]
    body = carried_on(placed[heading:])
    if len(bounds) < 2 or sum(1 for row in body for text in row.cells if text) < 4:
        return None
    words = frozenset(word for line in lines for word in line.words)
    box = enclosing_box(line.box for line in lines)
    title, header = _title_row(_join_broken_headings(header))
    return PdfTable(title, tuple(header), tuple(body), box, tuple(bounds), words)


def _number_columns(rows: list[list[TextCell]]) -> list[Bound]:
    """A label column, then one for every place where the right edges of numbers come together."""
    merged: list[Bound] = []
    for group in _flush_right(rows):
        left = min(box.x0 for box in group)
        right = max(box.x1 for box in group)
        if merged and left < merged[-1][1] - 1 and (left + right) / 2 < merged[-1][1]:
            merged[-1] = (min(left, merged[-1][0]), max(right, merged[-1][1]))
        else:
            merged.append((left, right))
    margin = min((cell.box.x0 for row in rows for cell in row), default=0.0)
    if merged and margin < merged[0][0] - 6:
        merged = [(margin, merged[0][0] - 1), *merged]
    return merged


def _flush_right(rows: list[list[TextCell]]) -> list[list[Box]]:
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


def _row_of_cells(row: list[TextCell], bounds: list[Bound]) -> TableRow:
    texts = [""] * len(bounds)
    for cell in row:
        column = _column_of(cell, bounds)
        texts[column] = f"{texts[column]} {cell.text}".strip()
    return TableRow(tuple(texts), row[0].box.x0, row[0].bold, row[0].box.middle)


def _column_of(cell: TextCell, bounds: list[Bound]) -> int:
    """A number by its right edge, a text by its middle."""
    if cell.is_number:
        far = [min(abs(bound[1] - cell.box.x1), _overhang(cell, bound)) for bound in bounds]
        return far.index(min(far))
    middle = cell.box.centre
    for column, (left, right) in enumerate(bounds):
        if left - 3 <= middle <= right + 3:
            return column
    if cell.box.x0 <= bounds[0][1]:
        return 0
    far = [abs((left + right) / 2 - middle) for left, right in bounds]
    return far.index(min(far))


def _overhang(cell: TextCell, bound: Bound) -> float:
    """0 when the cell lies within the column."""
    return max(0.0, bound[0] - cell.box.x0) + max(0.0, cell.box.x1 - bound[1])


def _one_label(bounds: list[Bound], placed: list[TableRow]) -> tuple[list[Bound], list[TableRow]]:
    """One column of labels: steps of indentation are no columns. Columns that no row uses go."""
    used = [column for column in range(len(bounds)) if any(row.cells[column] for row in placed)]
    bounds = [bounds[column] for column in used]
    placed = [_with_cells(row, [row.cells[column] for column in used]) for row in placed]
    first = _first_of_numbers(placed)
    single = sum(sum(map(bool, row.cells[:first])) <= 1 for row in placed)
    if first > 1 and single >= 0.9 * len(placed):
        bounds = [(bounds[0][0], bounds[first - 1][1]), *bounds[first:]]
        placed = [
            _with_cells(row, [" ".join(filter(None, row.cells[:first])), *row.cells[first:]])
            for row in placed
        ]
    return bounds, placed


def _with_cells(row: TableRow, cells: Sequence[str]) -> TableRow:
    return replace(row, cells=tuple(cells))


def _first_of_numbers(placed: list[TableRow]) -> int:
    """The first column in which at least two rows have a number."""
    for column in range(len(placed[0].cells)):
        if sum(bool(NUMBER.fullmatch(row.cells[column])) for row in placed) >= 2:
            return column
    return 0


def carried_on(placed: list[TableRow]) -> list[TableRow]:
    """Labels and numbers over two lines put together."""
    pitch = _pitch(placed)
    joined: list[TableRow] = []
    for row in placed:
        if joined and _is_broken_number(joined[-1], row, pitch):
            row = _with_numbers(joined.pop(), row)
        elif joined and _continues_label(joined[-1], row, pitch):
            before = joined.pop()
            label = join_lines((before.cells[0], row.cells[0]))
            figures = row.cells[1:] if any(row.cells[1:]) else before.cells[1:]
            row = replace(before, cells=(label, *figures), at=row.at)
        joined.append(row)
    return [_with_cells(row, [text.replace(SHY, "") for text in row.cells]) for row in joined]


def _pitch(placed: list[TableRow]) -> float:
    """How far rows are apart."""
    steps = [below.at - above.at for above, below in pairwise(placed)]
    return statistics.median(steps) if steps else 0.0


def _is_broken_number(before: TableRow, row: TableRow, pitch: float) -> bool:
    """The row before has nothing but numbers, and maybe a label, and each goes on below with three
    digits: "11 635" over "000". Two labels as far from each other as rows are make two rows."""
    broken = [column for column, text in enumerate(before.cells) if column and text]
    are_rows = bool(before.cells[0] and row.cells[0]) and row.at - before.at >= 0.8 * pitch
    return (
        bool(broken)
        and not are_rows
        and not any(re.fullmatch(r"[-–]?0", before.cells[column]) for column in broken)
        and all(
            before.cells[column][-1:].isdigit()
            and "," not in before.cells[column]
            and re.fullmatch(r"\d{3}", row.cells[column])
            for column in broken
        )
        and sum(map(bool, row.cells[1:])) > len(broken)
    )


def _with_numbers(before: TableRow, row: TableRow) -> TableRow:
    cells = [
        f"{above} {below}".strip()
        for above, below in zip(before.cells[1:], row.cells[1:], strict=True)
    ]
    label = join_lines(filter(None, (before.cells[0], row.cells[0])))
    return replace(row, cells=(label, *cells))


def _continues_label(before: TableRow, row: TableRow, pitch: float) -> bool:
    """A label alone that this row goes on with, or figures whose label goes on here: it cannot end
    there, or the lines are nearer to each other than rows are."""
    if not before.cells[0] or not row.cells[0] or (before.is_label and row.is_label):
        return before.is_label and before.cells[0].endswith(SHY)
    is_lower = row.cells[0][:1].islower()
    is_near = row.at - before.at < 0.8 * pitch
    if before.is_label:
        return before.cells[0].endswith(SHY) or is_lower or is_near
    return row.is_label and (is_near or is_lower or row.cells[0].startswith("("))


def _last_heading(rows: Sequence[Sequence[str]]) -> int:
    """How many rows at the top are headings: no number in them but years and units. A label alone
    between them and the figures is that of a group of rows."""
    heading = 0
    for index, row in enumerate(rows[:MAX_HEADING]):
        values = [text for text in row[1:] if text]
        is_valued = any(map(is_value, values))
        if is_valued and not (0 < heading == index and _are_shares(row, rows[index + 1 :])):
            break
        if values:
            heading = index + 1
    return min(heading, len(rows) - 1)


def _are_shares(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Shares without a label, over figures that are none: *-1 %*, *0 %*, *1 %* head columns."""
    figures = [text for other in below for text in other[1:] if text]
    return (
        not row[0]
        and all(_SHARE.fullmatch(text) for text in row[1:] if text)
        and any(map(is_value, figures))
        and not any("%" in text for text in figures)
    )


def _with_labels(bounds: list[Bound], rows: list[list[TextCell]]) -> list[Bound]:
    """The columns, that of the labels as wide as they are."""
    labels = [row[0].box for row in rows if not row[0].is_number]
    right = max((box.x1 for box in labels if box.x1 <= bounds[0][1]), default=bounds[0][1])
    return [(bounds[0][0], right), *bounds[1:]]


def _recut(line: TextLine, bounds: list[Bound]) -> list[TextCell]:
    """A heading row in cells: where a word ends as the figures of a column do, its heading ends."""
    edges = [right for _, right in bounds[1:]]
    parts: list[list[Word]] = [[]]
    for word in line.words:
        parts[-1].append(word)
        if any(abs(word.box.x1 - edge) <= NEAR for edge in edges):
            parts.append([])
    return [cell for part in parts if part for cell in cut(TextLine(tuple(part)))]


def _spread(row: list[TextCell], bounds: list[Bound]) -> tuple[str, ...]:
    """A heading row with every heading in all the columns that it stands over. One that ends where
    the figures do is that column's; another may be that of a group of columns, and begins where the
    group does or stands over its middle."""
    texts = [""] * len(bounds)
    over = [_columns_under(cell, bounds) for cell in row]
    taken = {column for columns in over for column in columns}
    for number, cell in enumerate(row):
        columns = over[number]
        is_flush = abs(cell.box.x1 - bounds[columns[-1]][1]) <= 2 * NEAR
        if 0 not in columns and not is_flush:
            columns = _columns_of_group(cell.box, columns, taken, bounds)
        for column in columns:
            texts[column] = f"{texts[column]} {cell.text}".strip()
    return tuple(texts)


def _columns_under(cell: TextCell, bounds: list[Bound]) -> list[int]:
    """The columns right under a heading."""
    for column, (_, right) in enumerate(bounds):
        if column and abs(cell.box.x1 - right) <= NEAR and cell.box.x0 > bounds[column - 1][1] - 12:
            return [column]
    found = [column for column, bound in enumerate(bounds) if _stands_over(cell.box, bound)]
    if not found:
        shared = [min(cell.box.x1, right) - max(cell.box.x0, left) for left, right in bounds]
        found = [shared.index(max(shared))] if max(shared) > 0 else [_column_of(cell, bounds)]
    return found


def _stands_over(box: Box, bound: Bound) -> bool:
    shared = min(box.x1, bound[1]) - max(box.x0, bound[0])
    return shared >= 0.5 * min(box.width, bound[1] - bound[0])


def _columns_of_group(
    box: Box, columns: list[int], taken: set[int], bounds: list[Bound]
) -> list[int]:
    """The columns of the group that a heading stands over, as far as they have no other: those over
    whose middle it stands, or else all to the right of where it begins."""
    first, last = columns[0], columns[-1]
    best = columns
    far = abs((bounds[first][0] + bounds[last][1]) / 2 - box.centre)
    for left in range(first, 0, -1):
        if left < first and left in taken:
            break
        for right in range(last, len(bounds)):
            if right > last and right in taken:
                break
            off = abs((bounds[left][0] + bounds[right][1]) / 2 - box.centre)
            if off < far - NEAR and off <= 3 * NEAR:
                best, far = list(range(left, right + 1)), off
    if best == columns and box.x0 <= bounds[first][0] + 2 * NEAR and far > 2 * NEAR:
        end = next((other for other in range(last + 1, len(bounds)) if other in taken), len(bounds))
        return list(range(first, end))
    return best


def _join_broken_headings(header: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Heading rows of which a word goes on in the next are one row."""
    joined: list[tuple[str, ...]] = []
    for row in header:
        if joined and any(text.endswith(SHY) for text in joined[-1]):
            pairs = zip(joined.pop(), row, strict=True)
            row = tuple(_join_headings(above, below) for above, below in pairs)
        joined.append(row)
    return [tuple(join_lines([text]) for text in row) for row in joined]


def _join_headings(above: str, below: str) -> str:
    return above if above == below else "\n".join(filter(None, (above, below)))


def _title_row(header: list[tuple[str, ...]]) -> tuple[str, list[tuple[str, ...]]]:
    """A first heading row with one text in it, over the labels or long, is the title."""
    if header and len(header) > 1:
        only = {text for text in header[0] if text}
        if len(only) == 1:
            (text,) = only
            if header[0][0] or len(text) > 25:
                return text, header[1:]
    return "", header


# ── grids ─────────────────────────────────────────────────────────────────────────────────────────


def tables_of_grid(grid: RuledGrid) -> list[PdfTable]:
    """The tables of a grid: one, or several where headings follow on figures, or on the end of a
    text that began on the page before."""
    begun = _count_running_rows(grid.rows)
    starts = [0, *_other_headings(grid.rows, len(grid.columns))]
    starts = sorted({*starts, begun})
    tables = []
    for start, end in zip(starts, [*starts[1:], len(grid.rows)], strict=True):
        top = grid.box.y0 if start == 0 else grid.rows[start].at
        part = replace(
            grid,
            rows=grid.rows[start:end],
            box=Box(grid.box.x0, top, grid.box.x1, grid.box.y1),
            words=grid.words if start == 0 else frozenset(),
        )
        tables.append(_table_of_grid(part))
    return tables


def _count_running_rows(rows: Sequence[GridRow]) -> int:
    """How many rows at the top are running text, with a heading of several columns and more rows
    below: a heading is no sentence."""
    number = 0
    while number < len(rows) and any(map(_is_running, rows[number].starts.values())):
        number += 1
    if not 0 < number < len(rows) - 1:
        return 0
    parted = max(len(row.starts) for row in rows[:number])
    return number if len(rows[number].starts) > max(2, parted) else 0


def _is_running(text: str) -> bool:
    is_open = text[:1].islower() or text.endswith(".")
    return len(text) >= SENTENCE and is_open


def _other_headings(rows: Sequence[GridRow], width: int) -> list[int]:
    """Rows of several texts, and no figure, between rows of figures; a text over all columns above
    them is theirs."""
    texts = [[row.starts.get(column, "") for column in range(1, width)] for row in rows]
    valued = [any(map(is_value, row)) for row in texts]
    filled = [text for row in texts for text in row if text]
    if sum(map(is_value, filled)) < 0.6 * len(filled):
        return []
    found: list[int] = []
    for number in range(1, len(rows) - 1):
        several = sum(column > 0 for column in rows[number].starts) >= 2
        if not several or valued[number] or not any(valued[number : number + MAX_HEADING]):
            continue
        first = number
        while first > 0 and not valued[first - 1] and rows[first - 1].spans.get(0) == width:
            first -= 1
        if first > (found[-1] if found else 0) and valued[first - 1]:
            found.append(first)
    return found


def _table_of_grid(grid: RuledGrid) -> PdfTable:
    rows = list(grid.rows)
    width = len(grid.columns)
    title = ""
    if len(rows) > 2 and rows[0].spans.get(0) == width and len(rows[0].starts) == 1:
        title = rows.pop(0).starts[0]
    heading = _grid_heading(rows, width)
    header = [tuple(row.texts.get(column, "") for column in range(width)) for row in rows[:heading]]
    body = _grid_body(rows[heading:], width)
    return PdfTable(
        title, tuple(_join_broken_headings(header)), tuple(body), grid.box, grid.columns, grid.words
    )


def _grid_body(rows: Sequence[GridRow], width: int) -> list[TableRow]:
    """Rows of a grid; where one rectangle holds several of them, labels over two lines are put
    together."""
    body: list[TableRow] = []
    for is_line, group in groupby(rows, key=lambda row: row.is_line):
        placed = [
            TableRow(
                tuple(signed(row.starts.get(column, "")) for column in range(width)),
                row.indent,
                row.bold,
                row.at,
            )
            for row in group
        ]
        body += carried_on(placed) if is_line else placed
    return body


def _grid_heading(rows: Sequence[GridRow], width: int) -> int:
    """How many rows of a grid are headings. Where it holds figures, those above the first of them;
    where it holds words, the first row, and the next ones while a heading over several columns, or
    over several rows, stands above them."""
    texts = [[row.texts.get(column, "") for column in range(width)] for row in rows]
    above = _last_heading(texts)
    cells = [text for row in texts[above:] for text in row[1:] if text]
    if above and sum(bool(NUMBER.fullmatch(text)) for text in cells) >= 0.6 * len(cells):
        return above
    if any(map(is_value, texts[0][1:])):
        return 0
    heading = 1
    while heading < min(len(rows) - 1, MAX_HEADING):
        before, row = rows[heading - 1], rows[heading]
        is_under_span = any(1 < span < width for span in before.spans.values())
        is_same_label = row.texts.get(0, "") in ("", before.texts.get(0, ""))
        if not (is_under_span and is_same_label):
            break
        heading += 1
    return min(heading, len(rows) - 1)


def stands_over(line: TextLine, bounds: Sequence[Bound]) -> bool:
    """Whether the words of a line stand over columns, in several pieces; running text is one."""
    columns = {_column_at(word, bounds) for word in line.words}
    return len(cut(line)) >= 2 and None not in columns and len(columns) >= 2


def _column_at(word: Word, bounds: Sequence[Bound]) -> int | None:
    for column, (left, right) in enumerate(bounds):
        if left - NEAR <= word.box.centre <= right + NEAR:
            return column
    return None


def with_heading(table: PdfTable, lines: Sequence[TextLine]) -> PdfTable:
    """A table with lines above it as the first rows of its heading."""
    rows: list[tuple[str, ...]] = []
    for line in lines:
        texts = [""] * len(table.bounds)
        for word in line.words:
            column = _column_at(word, table.bounds) or 0
            texts[column] = f"{texts[column]} {word.text}".strip()
        rows.append(tuple(texts))
    words = table.words | {word for line in lines for word in line.words}
    box = enclosing_box([table.box, *(line.box for line in lines)])
    return replace(
        table, header=(*_join_broken_headings(rows), *table.header), words=words, box=box
    )

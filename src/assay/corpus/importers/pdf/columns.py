"""Put the lines of a page set in two columns into reading order.

**Idea.** Lines are made of words at one height, so that a line of a page in two columns is one of
the left column and one of the right. Where lines that follow each other are all parted by the same
white strip, and what stands on both sides of it is running text, the left sides are read first. A
list of names and offices is parted too, but its sides are short: it is read as rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

from assay.corpus.importers.pdf.page import Box, Line, Word

# set on the annual reports of Finnish municipalities
LEAST = 4  # lines with words on both sides of the strip
STRIP = 0.8  # of the height of a line: the least width of the strip
WORDS = 3  # of a side of a line, for running text
FULL = 0.7  # of the width of its column, for running text

Sides = tuple[Line | None, Line | None]


def in_reading_order(lines: Sequence[Line], tables: Iterable[Box]) -> tuple[Line, ...]:
    """The lines of a page that are in no table, columns one after the other."""
    tops = sorted(box.y0 for box in tables)
    ordered: list[Line] = []
    for block in _blocks_between(lines, tops):
        ordered += _order_block(block)
    return tuple(ordered)


def _blocks_between(lines: Sequence[Line], tops: Sequence[float]) -> Iterator[list[Line]]:
    """Blocks of lines with no table between them."""
    block: list[Line] = []
    for line in lines:
        if block and any(block[-1].box.middle < top <= line.box.middle for top in tops):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _order_block(lines: list[Line]) -> list[Line]:
    ordered: list[Line] = []
    first = 0
    while first < len(lines):
        last, strip = _find_columns(lines, first)
        if strip is None:
            ordered.append(lines[first])
            first += 1
            continue
        sides = [_sides(line, strip) for line in lines[first:last]]
        ordered += [left for left, _ in sides if left is not None]
        ordered += [right for _, right in sides if right is not None]
        first = last
    return ordered


def _find_columns(lines: list[Line], first: int) -> tuple[int, float | None]:
    """How far the lines from this one on are set in two columns, and the strip between them."""
    for strip in _strips(lines[first]):
        last = first
        while last < len(lines) and not _crosses(lines[last], strip):
            last += 1
        if _are_running_text([_sides(line, strip) for line in lines[first:last]]):
            return last, strip
    return first, None


def _strips(line: Line) -> list[float]:
    """Right before what stands after the white places of a line that are wide enough, the widest
    first: the lines of the right column begin at one place."""
    gaps = [
        (after.box.x0 - before.box.x1, after.box.x0 - 0.55 * STRIP * line.size)
        for before, after in zip(line.words, line.words[1:], strict=False)
    ]
    return [place for gap, place in sorted(gaps, reverse=True) if gap >= STRIP * line.size][:2]


def _crosses(line: Line, strip: float) -> bool:
    """Whether words stand over the strip, or so near to it on both sides that there is none."""
    half = STRIP * line.size / 2
    return any(word.box.x0 < strip + half and word.box.x1 > strip - half for word in line.words)


def _sides(line: Line, strip: float) -> Sides:
    return (
        _line(word for word in line.words if word.box.centre < strip),
        _line(word for word in line.words if word.box.centre >= strip),
    )


def _line(words: Iterable[Word]) -> Line | None:
    kept = tuple(words)
    return Line(kept) if kept else None


def _are_running_text(sides: list[Sides]) -> bool:
    """Both columns are running text: lines have several words, reach the end of their column, and
    begin inside of a sentence."""
    both = [(left, right) for left, right in sides if left is not None and right is not None]
    if len(both) < LEAST:
        return False
    return all(_is_running([pair[side] for pair in both]) for side in (0, 1))


def _is_running(lines: list[Line]) -> bool:
    left = min(line.box.x0 for line in lines)
    width = max(line.box.x1 for line in lines) - left
    full = sum(line.box.x1 - left >= FULL * width for line in lines)
    words = statistics.median(len(line.words) for line in lines)
    inside = sum(line.text[:1].islower() for line in lines)  # of a sentence
    return words >= WORDS and full >= 0.5 * len(lines) and inside >= 0.4 * len(lines)

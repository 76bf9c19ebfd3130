"""Put the lines of a PDF page into reading order, and find the headings of a report and their
levels. All constants were set on the annual reports of Finnish municipalities.

**Columns.** Lines are made of words at one height, so that a line of a page in two columns is one
of the left column and one of the right. Where lines that follow each other are all parted by the
same white strip, and what stands on both sides of it is running text, the left sides are read
first. A list of names and offices is parted too, but its sides are short: it is read as rows.

**Headings.** What is a heading depends on the size of the running text, so that is found first: the
size of most letters in lines that read as sentences, over a sample of pages. Lines in a larger
size, in bold, or numbered, are headings; several lines in one style that go on like a paragraph are
not. A heading over two lines is one heading.

**Levels.** A numbered heading says its own level (3.1 is of the second; under chapters in Roman
numbers, of the third). Headings in a style that is mostly numbered share its level; others in that
style are one below; other sizes are ranked, the largest first. A goal in a list that is numbered
(*3. Kaavoitus*) is no chapter: headings of a lower level are set larger than it is.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from assay.corpus.importers.pdf.page import Box, TextLine, Word, join_lines

# ── columns ───────────────────────────────────────────────────────────────────────────────────────

# set by hand on the annual reports of two Finnish towns (decision 20)
LEAST = 4  # lines with words on both sides of the strip
STRIP = 0.8  # of the height of a line: the least width of the strip
WORDS = 3  # of a side of a line, for running text
FULL = 0.7  # of the width of its column, for running text

Sides = tuple[TextLine | None, TextLine | None]


def in_reading_order(lines: Sequence[TextLine], tables: Iterable[Box]) -> tuple[TextLine, ...]:
    """The lines of a page that are in no table, columns one after the other."""
    tops = sorted(box.y0 for box in tables)
    ordered: list[TextLine] = []
    for block in _blocks_between(lines, tops):
        ordered += _order_block(block)
    return tuple(ordered)


def _blocks_between(lines: Sequence[TextLine], tops: Sequence[float]) -> Iterator[list[TextLine]]:
    """Blocks of lines with no table between them."""
    block: list[TextLine] = []
    for line in lines:
        if block and any(block[-1].box.middle < top <= line.box.middle for top in tops):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _order_block(lines: list[TextLine]) -> list[TextLine]:
    ordered: list[TextLine] = []
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


def _find_columns(lines: list[TextLine], first: int) -> tuple[int, float | None]:
    """How far the lines from this one on are set in two columns, and the strip between them."""
    for strip in _strips(lines[first]):
        last = first
        while last < len(lines) and not _crosses(lines[last], strip):
            last += 1
        if _are_running_text([_sides(line, strip) for line in lines[first:last]]):
            return last, strip
    return first, None


def _strips(line: TextLine) -> list[float]:
    """Right before what stands after the white places of a line that are wide enough, the widest
    first: the lines of the right column begin at one place."""
    gaps = [
        (after.box.x0 - before.box.x1, after.box.x0 - 0.55 * STRIP * line.size)
        for before, after in zip(line.words, line.words[1:], strict=False)
    ]
    return [place for gap, place in sorted(gaps, reverse=True) if gap >= STRIP * line.size][:2]


def _crosses(line: TextLine, strip: float) -> bool:
    """Whether words stand over the strip, or so near to it on both sides that there is none."""
    half = STRIP * line.size / 2
    return any(word.box.x0 < strip + half and word.box.x1 > strip - half for word in line.words)


def _sides(line: TextLine, strip: float) -> Sides:
    return (
        _line(word for word in line.words if word.box.centre < strip),
        _line(word for word in line.words if word.box.centre >= strip),
    )


def _line(words: Iterable[Word]) -> TextLine | None:
    kept = tuple(words)
    return TextLine(kept) if kept else None


def _are_running_text(sides: list[Sides]) -> bool:
    """Both columns are running text: lines have several words, reach the end of their column, and
    begin inside of a sentence."""
    both = [(left, right) for left, right in sides if left is not None and right is not None]
    if len(both) < LEAST:
        return False
    return all(_is_running([pair[side] for pair in both]) for side in (0, 1))


def _is_running(lines: list[TextLine]) -> bool:
    left = min(line.box.x0 for line in lines)
    width = max(line.box.x1 for line in lines) - left
    full = sum(line.box.x1 - left >= FULL * width for line in lines)
    words = statistics.median(len(line.words) for line in lines)
    inside = sum(line.text[:1].islower() for line in lines)  # of a sentence
    return words >= WORDS and full >= 0.5 * len(lines) and inside >= 0.4 * len(lines)


# ── headings ──────────────────────────────────────────────────────────────────────────────────────

# set by hand on the same reports
LARGER = 1.14  # the size of a heading over that of the text
HEADING_LETTERS = 160  # letters of a heading
DEEPEST = 6  # level of headings, as in HTML
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2})*)\.?\s+[A-ZÅÄÖ]")
_ROMAN = re.compile(r"[IVX]+\.?\s+[A-ZÅÄÖ][A-ZÅÄÖ ,-]{4,}")
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}|…{2,}|_{4,}")
_TO_PAGE = re.compile(r"\s\d{1,3}$")

Style = tuple[float, bool]  # size in half points, bold


@dataclass(frozen=True)
class Typography:
    """The typography of a report: the size of its text, and the level of each style of headings."""

    body: float
    styles: dict[Style, int] = field(default_factory=dict)
    has_chapters: bool = False  # in Roman numbers
    numbered: dict[float, int] = field(default_factory=dict)  # the level of numbers in each size

    def level(self, text: str, style: Style) -> int:
        depth = _stated_level(text, self.has_chapters)
        if depth and _fits_level(depth, style, self.numbered):
            return depth
        near = [known for known in self.styles if abs(known[0] - style[0]) <= 0.5]
        same = [known for known in near if known[1] == style[1]] or near
        if same:
            return self.styles[min(same, key=lambda known: abs(known[0] - style[0]))]
        larger = [level for known, level in self.styles.items() if known[0] > style[0]]
        return min(max(larger, default=0) + 1, DEEPEST)


@dataclass(frozen=True)
class PageHeading:
    """A heading on a page: its text, and the first and last of its lines."""

    text: str
    style: Style
    first: int
    last: int


def _stated_level(text: str, has_chapters: bool) -> int:
    """The level that a heading states by its number; 0 where it states none."""
    if has_chapters and _ROMAN.match(text):
        return 1
    found = _NUMBERED.match(text)
    return min(found[1].count(".") + 1 + has_chapters, DEEPEST) if found else 0


def style_of(line: TextLine) -> Style:
    return round(2 * line.size) / 2, line.bold


def setting_of(pages: Iterable[Sequence[TextLine]]) -> Typography:
    """The typography of a report, from the lines of a sample of pages."""
    pages = list(pages)
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            if _is_sentence_like(line):
                sizes[round(2 * line.size) / 2] += len(line.text)
    if not sizes:
        for lines in pages:
            for line in lines:
                sizes[round(2 * line.size) / 2] += len(line.text)
    body = max(sizes, key=lambda size: (sizes[size], size)) if sizes else 10.0
    chapters = sum(bool(_ROMAN.match(line.text)) for lines in pages for line in lines) >= 3
    found = [heading for lines in pages for heading in headings_in(lines, Typography(body))]
    levels, numbered = _levels_of_styles(found, chapters)
    return Typography(body, levels, chapters, numbered)


def _fits_level(depth: int, style: Style, numbered: dict[float, int]) -> bool:
    """Whether no lower level is set larger than this style."""
    return all(level <= depth for size, level in numbered.items() if size > style[0] + 0.5)


def _levels_of_styles(
    found: Iterable[PageHeading], has_chapters: bool
) -> tuple[dict[Style, int], dict[float, int]]:
    """A level for each style: that of the numbered headings in it, or its rank; and that of
    numbered headings for each size."""
    depths: dict[Style, list[int]] = {}
    counts: Counter[Style] = Counter()
    for heading in found:
        counts[heading.style] += 1
        if depth := _stated_level(heading.text, has_chapters):
            depths.setdefault(heading.style, []).append(depth)
    levels: dict[Style, int] = {}
    numbered: dict[float, int] = {}
    above = 0
    for style in sorted(counts, key=lambda style: (-style[0], not style[1])):
        known = sorted(
            depth for depth in depths.get(style, []) if _fits_level(depth, style, numbered)
        )
        is_smaller = style[0] not in {other[0] for other in levels}
        level = above + is_smaller
        if len(known) >= 2:
            level = known[len(known) // 2] + (2 * len(known) < counts[style])
            numbered[style[0]] = known[len(known) // 2]
        levels[style] = min(max(level, 1), DEEPEST)
        above = max(above, levels[style])
    return levels, numbered


def _is_sentence_like(line: TextLine) -> bool:
    letters = sum(letter.isalpha() for letter in line.text)
    return len(line.words) >= 6 and letters >= 0.75 * len(line.text.replace(" ", ""))


def headings_in(lines: Sequence[TextLine], setting: Typography) -> list[PageHeading]:
    """The headings among the lines of a page."""
    return [
        PageHeading(
            text=join_lines(lines[number].text for number in group),
            style=style_of(lines[group[0]]),
            first=group[0],
            last=group[-1],
        )
        for group in _group_heading_lines(lines, setting)
    ]


def _group_heading_lines(lines: Sequence[TextLine], setting: Typography) -> list[list[int]]:
    groups: list[list[int]] = []
    for run in _heading_runs(lines, setting):
        text = sum(len(lines[number].text) for number in run)
        if len(run) >= 4 and text > HEADING_LETTERS:
            continue  # a paragraph in larger type
        group = [run[0]]
        for before, number in pairwise(run):
            if _continues_heading(lines[before], lines[number], lines):
                group.append(number)
            else:
                groups.append(group)
                group = [number]
        groups.append(group)
    return [
        group
        for group in groups
        if sum(len(lines[number].text) for number in group) <= HEADING_LETTERS
    ]


def _heading_runs(lines: Sequence[TextLine], setting: Typography) -> list[list[int]]:
    """Lines that look like headings, those in one style right under each other together."""
    runs: list[list[int]] = []
    for number, line in enumerate(lines):
        follows = bool(runs) and runs[-1][-1] == number - 1
        before = lines[number - 1]
        is_below = line.box.y0 > before.box.y0  # the top of the next column is not
        same = follows and is_below and style_of(before) == style_of(line)
        is_close = same and line.box.y0 - before.box.y1 < 0.7 * line.box.height
        if is_close and (_looks_like_heading(line, setting) or line.text[:1].islower()):
            runs[-1].append(number)
        elif _looks_like_heading(line, setting) and not _is_sentence(number, lines, setting):
            runs.append([number])
    return runs


def _is_sentence(number: int, lines: Sequence[TextLine], setting: Typography) -> bool:
    """A line in bold that goes on below in the type of the text."""
    line = lines[number]
    if line.size >= LARGER * setting.body or number + 1 >= len(lines):
        return False
    below = lines[number + 1]
    is_close = below.box.y0 - line.box.y1 < 0.7 * line.box.height
    return is_close and not below.bold and below.text[:1].islower()


def _continues_heading(before: TextLine, line: TextLine, lines: Sequence[TextLine]) -> bool:
    """The second line of a heading: the first is full, or cannot end there."""
    if _NUMBERED.match(line.text):
        return False
    if line.text[:1].islower() or before.text.endswith(("-", "\u00ad", ",", " ja", " sekä")):
        return True
    left = min(other.box.x0 for other in lines)
    right = max(other.box.x1 for other in lines)
    first = line.words[0].box.width
    return before.box.x1 + first > right - 0.02 * (right - left)


def _looks_like_heading(line: TextLine, setting: Typography) -> bool:
    """Larger than the text, or bold, short, and numbered or without a full stop."""
    text = line.text
    if not 3 <= len(text) <= 130 or _LEADERS.search(text):
        return False
    if not re.search(r"[^\W\d]{3}", text):
        return False
    is_numbered = bool(_NUMBERED.match(text))
    if is_numbered and _TO_PAGE.search(text):
        return False  # of a table of contents
    if line.size >= LARGER * setting.body:
        return not text.endswith((".", ",", ";")) or is_numbered
    if line.size < 0.9 * setting.body:
        return False
    ends_open = not text.endswith((".", ",", ";", ":"))
    if is_numbered and "." in text.split()[0].rstrip(".") and ends_open and len(text) < 80:
        return True
    return line.bold and ends_open and len(text) < 80

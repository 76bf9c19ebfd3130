"""The value types of a PDF page (boxes, words, lines, rulings and cells), with the rules that cut
lines into cells and join them into text.

Places are in points from the top left corner of the page as it is read, whichever way the file
stores it. `file.py` reads them from a PDF.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

SHY = "\u00ad"  # a hyphen at the end of a line


@dataclass(frozen=True, slots=True)
class Box:
    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def middle(self) -> float:
        """The vertical middle."""
        return (self.y0 + self.y1) / 2

    @property
    def centre(self) -> float:
        """The horizontal middle."""
        return (self.x0 + self.x1) / 2

    def with_(self, other: Box) -> Box:
        return Box(
            min(self.x0, other.x0),
            min(self.y0, other.y0),
            max(self.x1, other.x1),
            max(self.y1, other.y1),
        )

    def holds(self, other: Box, margin: float = 0.0) -> bool:
        """Whether the middle of the other box is inside."""
        across = self.x0 - margin <= other.centre <= self.x1 + margin
        return across and self.y0 - margin <= other.middle <= self.y1 + margin


def enclosing_box(boxes: Iterable[Box]) -> Box:
    """The smallest box that holds all of these."""
    return reduce(Box.with_, boxes)


@dataclass(frozen=True)
class Frame:
    """The rotation of a page: converts positions of the file (from the bottom left, `bounds` is the
    page) to positions from the top left of the page after so many quarter turns clockwise."""

    turns: int
    bounds: Box

    @property
    def width(self) -> float:
        return self.bounds.height if self.turns % 2 else self.bounds.width

    @property
    def height(self) -> float:
        return self.bounds.width if self.turns % 2 else self.bounds.height

    def box(self, stored: Box) -> Box:
        """A box of the file (left, bottom, right, top) on the page as it is read."""
        x, y = self.bounds.x0, self.bounds.y1
        flipped = Box(stored.x0 - x, y - stored.y1, stored.x1 - x, y - stored.y0)
        return Frame(0, self.bounds).turned(flipped, self.turns)

    def turned(self, box: Box, turns: int) -> Box:
        """A box of this page after so many more quarter turns clockwise."""
        height, other = self.height, self.width
        for _ in range(turns % 4):
            box = Box(height - box.y1, box.x0, height - box.y0, box.x1)
            height, other = other, height
        return box


@dataclass(frozen=True, eq=False)  # each is itself, and quickly looked up
class Word:
    text: str
    box: Box
    size: float
    bold: bool = False


@dataclass(frozen=True, eq=False)
class TextLine:
    """Words on one baseline, from left to right."""

    words: tuple[Word, ...]

    @cached_property
    def box(self) -> Box:
        return enclosing_box(word.box for word in self.words)

    @cached_property
    def size(self) -> float:
        return statistics.median(word.size for word in self.words)

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def bold(self) -> bool:
        return all(word.bold for word in self.words)


@dataclass(frozen=True)
class PdfPage:
    number: int
    width: float
    height: float
    lines: tuple[TextLine, ...]
    rulings: tuple[Box, ...] = ()
    edges: tuple[Box, ...] = ()  # of filled areas
    images: int = 0
    sideways: tuple[Word, ...] = ()  # what runs up or down the page, a line each


# ── cells and text ────────────────────────────────────────────────────────────────────────────────

NUMBER = re.compile(
    r"[-–−+±]?\(?\d{1,3}(?:[  .]?\d{3})*(?:[,.]\d+)?\)?\s?(?:%|€|kpl|pv|htv)?|[-–−—]|\d+(?:,\d+)?%?"
)
# figures that head columns: a year, a period, a date, the unit "1 000 €"
YEARLIKE = re.compile(
    r"(?:TP|TA|KS|LTA)?\s?(?:19|20)\d\d"
    r"|\d{1,2}\.\d{1,2}\.?\s?[-–]\s?\d{1,2}\.\d{1,2}\.\d{4}"
    r"|\d{1,2}\.\d{1,2}\.(?:19|20)?\d\d"
    r"|1\s?000\s?€?"
)
NEAR = 3.0  # points within which two edges are one column (set on the reports, as in layout.py)
MINUS = frozenset("-–−—")
_KEPT = re.compile(  # TY-tonttia, 2020-luku; Etelä-Pohjanmaa; vapaa-aika
    rf"(?:(?<=[A-ZÅÄÖ0-9])[{SHY}\u2010-]\n(?=[a-zåäö])"
    rf"|(?<=[a-zåäö])[{SHY}\u2010-]\n(?=[A-ZÅÄÖ][a-zåäö])"
    rf"|(?<=([aeiouyäö]))[{SHY}\u2010-]\n(?=\1))"
)
_PARTED = re.compile(r"(?<=[^\W\d_A-ZÅÄÖ])[-\u2010]\n(?=[^\W\d_A-ZÅÄÖ])")


@dataclass(frozen=True)
class TextCell:
    text: str
    box: Box
    bold: bool = False

    @property
    def is_number(self) -> bool:
        return bool(NUMBER.fullmatch(self.text.strip()))

    @property
    def is_dash(self) -> bool:
        return self.text in MINUS

    @property
    def is_unsigned(self) -> bool:
        """A number that a minus may belong to."""
        return self.text[:1].isdigit() and self.is_number


def cut(line: TextLine) -> list[TextCell]:
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
    if before in MINUS:
        return False
    begun = re.fullmatch(r"[-–−+]?\(?\d{1,3}", cell[-1].text)
    goes_on = begun and re.match(r"\d{3}(?!\d)", word.text)
    return not goes_on and gap > 0.2 * word.size


def _cell(words: Sequence[Word]) -> TextCell:
    text = signed(" ".join(word.text for word in words))
    return TextCell(
        text, enclosing_box(word.box for word in words), all(word.bold for word in words)
    )


def signed(text: str) -> str:
    """A number with its minus right before it: "- 10 %" is "-10 %"."""
    if text[:1] in MINUS and text[1:2].isspace():
        joined = f"{text[0]}{text[1:].lstrip()}"
        return joined if NUMBER.fullmatch(joined) else text
    return text


def with_signs_from_above(lines: Sequence[TextLine]) -> tuple[TextLine, ...]:
    """A line of nothing but minus signs, where a narrow column broke between the sign and the
    number, goes to the numbers right under them."""
    kept: list[TextLine] = []
    signs: TextLine | None = None
    for line in lines:
        if signs is not None:
            joined = _signed_below(signs, line)
            kept += [signs] if joined is None else []
            line = joined or line
            signs = None
        if all(word.text in MINUS for word in line.words):
            signs = line
        else:
            kept.append(line)
    return (*kept, signs) if signs is not None else tuple(kept)


def _signed_below(signs: TextLine, line: TextLine) -> TextLine | None:
    """The line with the signs above it, if each stands over a number without one."""
    if line.box.middle - signs.box.middle > 1.6 * line.box.height:
        return None
    numbers = [cell for cell in cut(line) if cell.is_unsigned]
    first: dict[float, str] = {}  # where the number begins, and its sign
    for sign in signs.words:
        over = [cell for cell in numbers if cell.box.x0 - 2 <= sign.box.centre <= cell.box.x1 + 2]
        if len(over) != 1:
            return None
        first[over[0].box.x0] = sign.text
    words = (
        replace(word, text=first[word.box.x0] + word.text) if word.box.x0 in first else word
        for word in line.words
    )
    return TextLine(tuple(words))


def with_signs(rows: list[list[TextCell]]) -> list[list[TextCell]]:
    """A minus that stands apart from its number, at the left edge of the column, is put before it.
    A dash that stands where numbers of its column end is no sign: it says that there is none."""
    ends = [cell.box.x1 for row in rows for cell in row if cell.is_unsigned]
    return [_with_signs_in_row(row, ends) for row in rows]


def _with_signs_in_row(row: list[TextCell], ends: list[float]) -> list[TextCell]:
    joined: list[TextCell] = []
    for cell in row:
        if (
            joined
            and cell.is_unsigned
            and joined[-1].is_dash
            and not _stands_at_column_end(joined[-1], ends)
        ):
            dash = joined.pop()
            cell = TextCell(dash.text + cell.text, dash.box.with_(cell.box), cell.bold)
        joined.append(cell)
    return joined


def _stands_at_column_end(dash: TextCell, ends: list[float]) -> bool:
    """At least two numbers end where the dash does, or under its middle."""
    return sum(abs(end - dash.box.x1) <= 2 * NEAR for end in ends) >= 2


def is_value(text: str) -> bool:
    """Whether a cell holds figures, one or several, that are not years."""
    if re.search(r"[^\W\d_]", text):
        return bool(NUMBER.fullmatch(text)) and not YEARLIKE.fullmatch(text)
    rest = YEARLIKE.sub("", text)
    return bool(re.search(r"\d", rest)) or text in MINUS


def is_year_row(row: list[TextCell]) -> bool:
    """A row of years alone: the heading of a table."""
    return len(row) >= 2 and all(YEARLIKE.fullmatch(cell.text) for cell in row)


def join_lines(lines: Iterable[str], between: str = " ") -> str:
    """Lines as one text: a word parted at the end of a line is put together again. The hyphen stays
    after capitals, before a name, and between two vowels that are the same."""
    text = "\n".join(line for line in lines if line)
    text = _KEPT.sub("-", text).replace(f"{SHY}\n", "").replace(SHY, "-" if text == SHY else "")
    return _PARTED.sub("", text).replace("\n", between)

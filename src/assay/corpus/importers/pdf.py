"""Words, lines and rulings of a PDF page, by their places on it.

Places are in points from the top left corner. Reading needs pypdfium2, the extra `pdf`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

from assay.core.errors import InputError

BOLD = 500  # font weights above this
SHY = "\u00ad"  # a hyphen at the end of a line
MAX_RULINGS = 20_000  # of a page: a drawing of more is a picture


@dataclass(frozen=True)
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
        """Its height on the page."""
        return (self.y0 + self.y1) / 2

    def with_(self, other: Box) -> Box:
        return Box(
            min(self.x0, other.x0),
            min(self.y0, other.y0),
            max(self.x1, other.x1),
            max(self.y1, other.y1),
        )


def around(boxes: Iterable[Box]) -> Box:
    """The smallest box that holds all of these."""
    return reduce(Box.with_, boxes)


@dataclass(frozen=True)
class Word:
    text: str
    box: Box
    size: float
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """Words on one baseline, from left to right."""

    words: tuple[Word, ...]

    @cached_property
    def box(self) -> Box:
        return around(word.box for word in self.words)

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
class Page:
    number: int
    width: float
    height: float
    lines: tuple[Line, ...]
    rulings: tuple[Box, ...] = ()
    images: int = 0

    @cached_property
    def body_size(self) -> float:
        sizes = [word.size for line in self.lines for word in line.words]
        return statistics.median(sizes) if sizes else 10.0


@dataclass(frozen=True)
class Report:
    pages: int
    _document: Any = field(repr=False)

    def page(self, number: int) -> Page:
        return _page(self._document, number)

    def __iter__(self) -> Iterator[Page]:
        return (self.page(number) for number in range(1, self.pages + 1))


def open_pdf(path: Path) -> Report:
    try:
        import pypdfium2  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        hint = "pip install 'assay-ir[pdf]'"
        raise InputError("reading PDF needs pypdfium2", where=str(path), hint=hint) from error
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        reason = f"not a readable PDF: {error}"
        hint = "Check that the file is complete."
        if "assword" in str(error):
            reason = "it is encrypted and needs a password"
            hint = "Save a copy without the password."
        raise InputError(reason, where=str(path), hint=hint) from error
    return Report(len(document), document)


def _page(document: Any, number: int) -> Page:
    import pypdfium2.raw as raw  # type: ignore[import-untyped, unused-ignore]

    page = document[number - 1]
    width, height = page.get_size()
    text = page.get_textpage()
    words = list(_words(text, raw, height))
    rulings, images = _drawn(page, raw, width, height)
    return Page(number, width, height, tuple(_lines(words)), tuple(rulings), images)


def _words(textpage: Any, raw: Any, height: float) -> Iterator[Word]:
    """Letters between spaces. The boxes are the font's own, as high for an "a" as for an "A", so
    that lines are even; their height stands for the size, since the size a PDF states may be scaled
    afterwards."""
    letters: list[str] = []
    box: Box | None = None
    weight = 0.0
    for index in range(textpage.count_chars()):
        letter = chr(raw.FPDFText_GetUnicode(textpage.raw, index))
        if letter in "\x02\ufffe":  # how PDFium marks a hyphen at the end of a line
            letter = SHY
        is_blank = letter.isspace() or ord(letter) < 32 or letter == "\uffff"
        here = None if is_blank else _letter_box(textpage, raw, index, height)
        if box is not None and (here is None or _jumps(box, here)):
            yield Word("".join(letters), box, box.height, weight > BOLD)
            letters = []
            box = None
        if here is None:
            continue
        letters.append(letter)
        if box is None:
            weight = float(raw.FPDFText_GetFontWeight(textpage.raw, index))
            box = here
        else:
            box = Box(box.x0, min(box.y0, here.y0), max(box.x1, here.x1), max(box.y1, here.y1))
    if box is not None:
        yield Word("".join(letters), box, box.height, weight > BOLD)


def _letter_box(textpage: Any, raw: Any, index: int, height: float) -> Box:
    place = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(textpage.raw, index, place)
    return Box(place.left, height - place.top, place.right, height - place.bottom)


def _jumps(word: Box, letter: Box) -> bool:
    """A letter that jumps, to the side or to another line, begins a word without a space."""
    to_the_right = letter.x0 - word.x1 > 0.5 * word.height
    to_the_left = letter.x0 < word.x0 - 1
    return to_the_right or to_the_left or letter.y0 > word.y0 + 0.6 * word.height


def _lines(words: list[Word]) -> Iterator[Line]:
    """Words whose middles are at one height, in reading order."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (word.box.middle, word.box.x0)):
        if rows and _is_on_line(word, rows[-1]):
            rows[-1].append(word)
        else:
            rows.append([word])
    for row in rows:
        yield Line(tuple(sorted(row, key=lambda word: word.box.x0)))


def _is_on_line(word: Word, row: list[Word]) -> bool:
    middle = sum(other.box.middle for other in row) / len(row)
    height = max(row[0].box.height, word.box.height, 4.0)
    return abs(word.box.middle - middle) <= 0.35 * height


def _drawn(page: Any, raw: Any, width: float, height: float) -> tuple[list[Box], int]:
    """Thin boxes and the edges of filled cells, as rulings; how many images there are."""
    rulings: list[Box] = []
    images = 0
    for drawn in page.get_objects(max_depth=4):
        if drawn.type == raw.FPDF_PAGEOBJ_IMAGE:
            images += 1
        if drawn.type == raw.FPDF_PAGEOBJ_PATH and len(rulings) <= MAX_RULINGS:
            x0, y0, x1, y1 = drawn.get_bounds() if hasattr(drawn, "get_bounds") else drawn.get_pos()
            rulings += _rulings_of(Box(x0, height - y1, x1, height - y0), width, height)
    return rulings, images


def _rulings_of(box: Box, width: float, height: float) -> list[Box]:
    if box.width > 0.95 * width and box.height > 0.5 * height:
        return []  # the page's background
    if min(box.width, box.height) <= 2.5:
        return [box] if max(box.width, box.height) >= 4 else []
    if box.height >= 0.4 * height:
        return []
    return [
        Box(box.x0, box.y0, box.x1, box.y0 + 0.5),
        Box(box.x0, box.y1 - 0.5, box.x1, box.y1),
        Box(box.x0, box.y0, box.x0 + 0.5, box.y1),
        Box(box.x1 - 0.5, box.y0, box.x1, box.y1),
    ]

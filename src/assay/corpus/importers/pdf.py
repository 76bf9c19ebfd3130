"""Words, lines and rulings of a PDF page, by their places on it.

Places are in points from the top left corner. Reading needs pypdfium2, the extra `pdf`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.core.errors import InputError


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

    def with_(self, other: Box) -> Box:
        return Box(
            min(self.x0, other.x0),
            min(self.y0, other.y0),
            max(self.x1, other.x1),
            max(self.y1, other.y1),
        )

    def overlap(self, other: Box) -> float:
        """The share of the smaller box that lies in the other."""
        wide = min(self.x1, other.x1) - max(self.x0, other.x0)
        high = min(self.y1, other.y1) - max(self.y0, other.y0)
        if wide <= 0 or high <= 0:
            return 0.0
        return wide * high / max(1e-6, min(self.width * self.height, other.width * other.height))


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
        box = self.words[0].box
        for word in self.words[1:]:
            box = box.with_(word.box)
        return box

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
        raise InputError(
            "reading PDF needs pypdfium2", where=str(path), hint="pip install 'assay[pdf]'"
        ) from error
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        reason = (
            "it is encrypted and needs a password"
            if "assword" in str(error)
            else f"not a readable PDF: {error}"
        )
        hint = (
            "Save a copy without the password."
            if "assword" in str(error)
            else "Check that the file is complete."
        )
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
    place = raw.FS_RECTF()
    letters: list[str] = []
    box: Box | None = None
    weight = 0.0
    for index in range(textpage.count_chars()):
        letter = chr(raw.FPDFText_GetUnicode(textpage.raw, index))
        letter = (
            "\u00ad" if letter in "\x02\ufffe" else letter
        )  # how PDFium marks a hyphen at the end of a line
        blank = letter.isspace() or ord(letter) < 32 or letter == "\uffff"
        apart = False
        if not blank:
            raw.FPDFText_GetLooseCharBox(textpage.raw, index, place)
            here = Box(place.left, height - place.top, place.right, height - place.bottom)
            if (
                box is not None
            ):  # a letter that jumps, to the side or to another line, begins a word without a space
                apart = (
                    here.x0 - box.x1 > 0.5 * box.height
                    or here.x0 < box.x0 - 1
                    or here.y0 > box.y0 + 0.6 * box.height
                )
        if box is not None and (blank or apart):
            yield Word("".join(letters), box, box.height, weight > 500)
            letters, box = [], None
        if not blank:
            if box is None:
                weight = float(raw.FPDFText_GetFontWeight(textpage.raw, index))
            letters.append(letter)
            box = (
                here
                if box is None
                else Box(box.x0, min(box.y0, here.y0), max(box.x1, here.x1), max(box.y1, here.y1))
            )
    if box is not None:
        yield Word("".join(letters), box, box.height, weight > 500)


def _lines(words: list[Word]) -> Iterator[Line]:
    """Words whose middles are at one height, in reading order."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: ((word.box.y0 + word.box.y1) / 2, word.box.x0)):
        middle = (word.box.y0 + word.box.y1) / 2
        if rows and abs(middle - _middle(rows[-1])) <= 0.35 * max(
            rows[-1][0].box.height, word.box.height, 4.0
        ):
            rows[-1].append(word)
        else:
            rows.append([word])
    for row in rows:
        yield Line(tuple(sorted(row, key=lambda word: word.box.x0)))


def _middle(row: list[Word]) -> float:
    return sum((word.box.y0 + word.box.y1) / 2 for word in row) / len(row)


def _drawn(page: Any, raw: Any, width: float, height: float) -> tuple[list[Box], int]:
    """Thin boxes and the edges of filled cells, as rulings; how many images there are."""
    rulings: list[Box] = []
    images = 0
    for item in page.get_objects(max_depth=4):
        if item.type == raw.FPDF_PAGEOBJ_IMAGE:
            images += 1
        if item.type != raw.FPDF_PAGEOBJ_PATH or len(rulings) > 20000:
            continue
        x0, y0, x1, y1 = item.get_bounds() if hasattr(item, "get_bounds") else item.get_pos()
        box = Box(x0, height - y1, x1, height - y0)
        if box.width > 0.95 * width and box.height > 0.5 * height:
            continue  # the page's background
        if min(box.width, box.height) <= 2.5:
            if max(box.width, box.height) >= 4:
                rulings.append(box)
        elif box.height < 0.4 * height:
            rulings += [
                Box(box.x0, box.y0, box.x1, box.y0 + 0.5),
                Box(box.x0, box.y1 - 0.5, box.x1, box.y1),
                Box(box.x0, box.y0, box.x0 + 0.5, box.y1),
                Box(box.x1 - 0.5, box.y0, box.x1, box.y1),
            ]
    return rulings, images

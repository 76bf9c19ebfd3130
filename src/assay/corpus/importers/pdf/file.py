"""Open a PDF file and read its pages, letters and drawn rulings, one page at a time. Needs
pypdfium2, the extra `pdf`.

A file may store a page on its side, with `/Rotate` or with text that runs upwards. What counts is
the direction in which most letters run: the page is turned until they stand upright. What runs
another way then (a heading up the side of a column) is a word of its own, on its side."""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.corpus.importers.pdf.page import (
    SHY,
    Box,
    Frame,
    PdfPage,
    TextLine,
    Word,
    with_signs_from_above,
)

# set by hand on the annual reports of two Finnish towns (decision 20)
MAX_RULINGS = 20_000  # of a page: a drawing of more is a picture
MAX_SEGMENTS = 2_000  # of one path
THIN = 2.5  # points: what is thicker is an area and not a ruling
SHORT = 4.0  # points: what is shorter is no ruling


@dataclass(frozen=True)
class PdfFile:
    path: Path
    pages: int
    _document: Any = field(repr=False)

    def page(self, number: int) -> PdfPage:
        """Read a page, counted from 1. A page that cannot be read is an InputError; the others
        still can."""
        import pypdfium2  # type: ignore[import-untyped, unused-ignore]

        try:
            return _read_page(self._document, number)
        except (pypdfium2.PdfiumError, OSError, ValueError) as error:
            where = f"{self.path}: page {number}"
            raise InputError(f"the page cannot be read: {error}", where=where) from error

    def __iter__(self) -> Iterator[PdfPage]:
        return (self.page(number) for number in range(1, self.pages + 1))

    def close(self) -> None:
        self._document.close()


def open_pdf(path: Path) -> PdfFile:
    pypdfium2 = imported("pypdfium2", "reading PDF", "pdf", where=str(path))
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        reason = f"not a readable PDF: {error}"
        hint = "Check that the file is complete."
        if "assword" in str(error):
            reason = "it is encrypted and needs a password"
            hint = "Save a copy without the password."
        raise InputError(reason, where=str(path), hint=hint) from error
    return PdfFile(path, len(document), document)


def _read_page(document: Any, number: int) -> PdfPage:
    import pypdfium2.raw as raw  # type: ignore[import-untyped, unused-ignore]

    page = document[number - 1]
    textpage = page.get_textpage()
    try:
        bounds = Box(*page.get_bbox())
        text = page_text(textpage, raw, bounds, page.get_rotation() // 90)
        frame = text.frame
        drawings = page_drawings(page, raw, frame)
        return PdfPage(
            number=number,
            width=frame.width,
            height=frame.height,
            lines=text.lines,
            rulings=drawings.rulings,
            edges=drawings.edges,
            images=drawings.images,
            sideways=text.sideways,
        )
    finally:
        textpage.close()
        page.close()


# ── rulings and images ────────────────────────────────────────────────────────────────────────────


class Drawings(NamedTuple):
    rulings: tuple[Box, ...]
    edges: tuple[Box, ...]  # of filled areas, which may be cells
    images: int


def page_drawings(page: Any, raw: Any, frame: Frame) -> Drawings:
    rulings: list[Box] = []
    edges: list[Box] = []
    images = 0
    for item in page.get_objects(max_depth=4):
        if item.type == raw.FPDF_PAGEOBJ_IMAGE:
            images += 1
        if item.type == raw.FPDF_PAGEOBJ_PATH and len(rulings) + len(edges) <= MAX_RULINGS:
            for stored in _path_boxes(item, raw):
                box = frame.box(stored)
                if min(box.width, box.height) <= THIN:
                    rulings += [box] if max(box.width, box.height) >= SHORT else []
                else:
                    edges += _edges_of(box, frame.width, frame.height)
    return Drawings(tuple(rulings), tuple(edges), images)


def _path_boxes(item: Any, raw: Any) -> Iterator[Box]:
    """The boxes of a path in positions of the file: its outline, or each of its strokes where a
    whole grid is drawn at once."""
    count = raw.FPDFPath_CountSegments(item.raw)
    if 6 <= count <= MAX_SEGMENTS:
        yield from _stroke_boxes(item, raw, count)
    else:
        left, bottom, right, top = (
            item.get_bounds() if hasattr(item, "get_bounds") else item.get_pos()
        )
        yield _transformed(Box(left, bottom, right, top), _form_matrices(item))


def _stroke_boxes(item: Any, raw: Any, count: int) -> Iterator[Box]:
    """The boxes of a path's parts, each begun by a move; a part that bends is left out."""
    matrices = [item.get_matrix(), *_form_matrices(item)]
    x, y = ctypes.c_float(), ctypes.c_float()
    part: list[tuple[float, float]] = []
    straight = True
    for number in range(count):
        segment = raw.FPDFPath_GetPathSegment(item.raw, number)
        kind = raw.FPDFPathSegment_GetType(segment)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            if straight and len(part) > 1:
                yield _transformed(_outline(part), matrices)
            part = []
            straight = True
        straight = straight and kind != raw.FPDF_SEGMENT_BEZIERTO
        part.append((x.value, y.value))
    if straight and len(part) > 1:
        yield _transformed(_outline(part), matrices)


def _outline(points: list[tuple[float, float]]) -> Box:
    across = [x for x, _ in points]
    upwards = [y for _, y in points]
    return Box(min(across), min(upwards), max(across), max(upwards))


def _form_matrices(item: Any) -> list[Any]:
    """The matrices of the forms around a path, the nearest first."""
    matrices = []
    while (item := getattr(item, "container", None)) is not None:
        matrices.append(item.get_matrix())
    return matrices


def _transformed(box: Box, matrices: list[Any]) -> Box:
    for matrix in matrices:
        corners = [matrix.on_point(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)]
        box = _outline(corners)
    return box


def _edges_of(box: Box, width: float, height: float) -> list[Box]:
    if box.width > 0.95 * width and box.height > 0.5 * height:
        return []  # the page's background
    if box.height >= 0.4 * height:
        return []
    return [
        Box(box.x0, box.y0, box.x1, box.y0 + 0.5),
        Box(box.x0, box.y1 - 0.5, box.x1, box.y1),
        Box(box.x0, box.y0, box.x0 + 0.5, box.y1),
        Box(box.x1 - 0.5, box.y0, box.x1, box.y1),
    ]


# ── letters, words and lines ──────────────────────────────────────────────────────────────────────

BOLD = 500  # font weights above this: 400 is regular, 700 bold (OpenType)
HYPHENS = "\x02\ufffe"  # how PDFium marks a hyphen at the end of a line


@dataclass(frozen=True)
class PageText:
    """The text of a page: its rotation, its lines, and the words that run sideways."""

    frame: Frame
    lines: tuple[TextLine, ...]
    sideways: tuple[Word, ...]


def page_text(textpage: Any, raw: Any, bounds: Box, turns: int) -> PageText:
    """The words of a page that the file turns `turns` times."""
    words: dict[int, list[Word]] = {}
    letters: Counter[int] = Counter()
    for turned, word in _iter_words(textpage, raw, bounds):
        words.setdefault(turned, []).append(word)
        letters[turned] += len(word.text)
    main = max(letters, key=lambda way: (letters[way], way == turns)) if letters else turns
    frame = Frame(main, bounds)
    sideways = [
        Word(line.text, Frame(way, bounds).turned(line.box, main - way), line.size, line.bold)
        for way, others in words.items()
        if way != main
        for line in lines_of(others)
    ]
    lines = with_signs_from_above(list(lines_of(words.get(main, []))))
    return PageText(frame, lines, tuple(sideways))


def _iter_words(textpage: Any, raw: Any, bounds: Box) -> Iterator[tuple[int, Word]]:
    """Letters between spaces. The boxes are the font's own, as high for an "a" as for an "A", so
    that lines are even; their height stands for the size, since the size a PDF states may be scaled
    afterwards. A word runs the way its first letter does."""
    places = _LetterBoxes(textpage.raw, raw, bounds)
    begun: list[str] = []
    first = turns = 0
    x0 = y0 = x1 = y1 = 0.0
    for index, text in enumerate(_iter_letters(textpage, raw)):
        place = places.at(index, turns) if text and begun else None
        if begun and (place is None or _begins_word((x0, y0, x1, y1), place)):
            yield turns, places.word("".join(begun), first, Box(x0, y0, x1, y1))
            begun = []
        if not text:
            continue
        if not begun or place is None:
            first, turns = index, places.turns(index)
            x0, y0, x1, y1 = places.at(index, turns)
        else:
            x0, y0 = min(x0, place[0]), min(y0, place[1])
            x1, y1 = max(x1, place[2]), max(y1, place[3])
        begun.append(text)
    if begun:
        yield turns, places.word("".join(begun), first, Box(x0, y0, x1, y1))


def _iter_letters(textpage: Any, raw: Any) -> Iterator[str]:
    """Every letter, and "" for a space."""
    handle = textpage.raw
    read = raw.FPDFText_GetUnicode
    known: dict[int, str] = {}
    for index in range(textpage.count_chars()):
        code = read(handle, index)
        if code not in known:
            text = "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)  # half a letter is none
            text = SHY if text in HYPHENS else text
            known[code] = "" if text.isspace() or ord(text) < 32 or text == "\uffff" else text
        yield known[code]


Edges = tuple[float, float, float, float]


class _LetterBoxes:
    """The boxes of the letters of a page."""

    def __init__(self, handle: Any, raw: Any, bounds: Box) -> None:
        self._handle, self._raw, self._bounds = handle, raw, bounds
        self._frames = [Frame(turns, bounds) for turns in range(4)]
        self._matrix = raw.FS_MATRIX()
        self._place = raw.FS_RECTF()

    def turns(self, index: int) -> int:
        """Quarter turns, clockwise, that make a letter stand upright."""
        self._raw.FPDFText_GetMatrix(self._handle, index, self._matrix)
        return _turns(self._matrix.a, self._matrix.b)

    def at(self, index: int, turns: int) -> Edges:
        """The edges of a letter on the page turned that way."""
        if turns:
            return self._turned_edges(index, self._frames[turns])
        place, bounds = self._place, self._bounds
        self._raw.FPDFText_GetLooseCharBox(self._handle, index, place)
        return (
            place.left - bounds.x0,
            bounds.y1 - place.top,
            place.right - bounds.x0,
            bounds.y1 - place.bottom,
        )

    def word(self, text: str, first: int, box: Box) -> Word:
        weight = float(self._raw.FPDFText_GetFontWeight(self._handle, first))
        return Word(text, box, box.height, weight > BOLD)

    def _turned_edges(self, index: int, frame: Frame) -> Edges:
        """PDFium's even boxes are for upright letters; here the baseline and the size make one."""
        raw, handle, matrix = self._raw, self._handle, self._matrix
        raw.FPDFText_GetMatrix(handle, index, matrix)
        size = raw.FPDFText_GetFontSize(handle, index) * math.hypot(matrix.c, matrix.d)
        left, right, bottom, top, x, y = (ctypes.c_double() for _ in range(6))
        raw.FPDFText_GetCharBox(handle, index, left, right, bottom, top)
        raw.FPDFText_GetCharOrigin(handle, index, x, y)
        drawn = frame.box(Box(left.value, bottom.value, right.value, top.value))
        baseline = frame.box(Box(x.value, y.value, x.value, y.value)).y0
        return drawn.x0, baseline - 0.75 * size, drawn.x1, baseline + 0.25 * size


def _turns(across: float, up: float) -> int:
    """Quarter turns from the direction in which a line runs."""
    if abs(across) >= abs(up):
        return 0 if across >= 0 else 2
    return 1 if up > 0 else 3


def _begins_word(word: Edges, letter: Edges) -> bool:
    """Whether a letter begins a new word without a space: it is set aside, or on another line."""
    height = word[3] - word[1]
    to_the_right = letter[0] - word[2] > 0.5 * height
    to_the_left = letter[0] < word[0] - 1
    return to_the_right or to_the_left or abs(letter[1] - word[1]) > 0.6 * height


def lines_of(words: Iterable[Word]) -> Iterator[TextLine]:
    """Words whose middles are at one height, in reading order."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (word.box.middle, word.box.x0)):
        if rows and _is_on_line(word, rows[-1]):
            rows[-1].append(word)
        else:
            rows.append([word])
    for row in rows:
        yield TextLine(tuple(sorted(row, key=lambda word: word.box.x0)))


def _is_on_line(word: Word, row: list[Word]) -> bool:
    middle = sum(other.box.middle for other in row) / len(row)
    height = max(row[0].box.height, word.box.height, 4.0)
    return abs(word.box.middle - middle) <= 0.35 * height

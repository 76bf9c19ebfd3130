"""The words of a page from its letters, whichever way the page is held.

A file may store a page on its side, with `/Rotate` or with text that runs upwards. What counts is
the direction in which most letters run: the page is turned until they stand upright. What runs
another way then (a heading up the side of a column) is a word of its own, on its side.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.corpus.importers.pdf_page import SHY, Box, Frame, Line, Word
from assay.corpus.importers.pdf_words import with_signs_from_above

BOLD = 500  # font weights above this
HYPHENS = "\x02\ufffe"  # how PDFium marks a hyphen at the end of a line


class Letter(NamedTuple):
    text: str
    turns: int  # quarter turns, clockwise, that make it stand upright
    box: Box  # on the page turned that way
    number: int  # of the letter on the page


@dataclass(frozen=True)
class Written:
    """What is written on a page: how it is held, its lines, and what stands on its side."""

    frame: Frame
    lines: tuple[Line, ...]
    sideways: tuple[Word, ...]


def written(textpage: Any, raw: Any, bounds: Box, turns: int) -> Written:
    """The words of a page that the file turns `turns` times."""
    words: dict[int, list[Word]] = {}
    letters: Counter[int] = Counter()
    for turned, word in _words(textpage, raw, bounds):
        words.setdefault(turned, []).append(word)
        letters[turned] += len(word.text)
    main = max(letters, key=lambda way: (letters[way], way == turns)) if letters else turns
    frame = Frame(main, bounds)
    sideways = [
        Word(line.text, frame.box(Frame(way, bounds).back(line.box)), line.size, line.bold)
        for way, others in words.items()
        if way != main
        for line in lines_of(others)
    ]
    lines = with_signs_from_above(list(lines_of(words.get(main, []))))
    return Written(frame, lines, tuple(sideways))


def _words(textpage: Any, raw: Any, bounds: Box) -> Iterator[tuple[int, Word]]:
    """Letters between spaces. The boxes are the font's own, as high for an "a" as for an "A", so
    that lines are even; their height stands for the size, since the size a PDF states may be scaled
    afterwards."""
    begun: list[Letter] = []
    box: Box | None = None
    for letter in _letters(textpage, raw, bounds):
        if box is not None and (
            letter is None or letter.turns != begun[0].turns or _jumps(box, letter.box)
        ):
            yield begun[0].turns, _word(textpage, raw, begun, box)
            begun = []
            box = None
        if letter is None:
            continue
        begun.append(letter)
        box = letter.box if box is None else box.with_(letter.box)
    if box is not None:
        yield begun[0].turns, _word(textpage, raw, begun, box)


def _word(textpage: Any, raw: Any, letters: list[Letter], box: Box) -> Word:
    weight = float(raw.FPDFText_GetFontWeight(textpage.raw, letters[0].number))
    text = "".join(letter.text for letter in letters)
    return Word(text, box, box.height, weight > BOLD)


def _letters(textpage: Any, raw: Any, bounds: Box) -> Iterator[Letter | None]:
    """Every letter, and None for a space."""
    handle = textpage.raw
    frames = [Frame(turns, bounds) for turns in range(4)]
    matrix = raw.FS_MATRIX()
    place = raw.FS_RECTF()
    for index in range(textpage.count_chars()):
        code = raw.FPDFText_GetUnicode(handle, index)
        text = "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)  # half a letter is none
        if text in HYPHENS:
            text = SHY
        if text.isspace() or ord(text) < 32 or text == "\uffff":
            yield None
            continue
        raw.FPDFText_GetMatrix(handle, index, matrix)
        turns = _turns(matrix.a, matrix.b)
        if turns == 0:
            raw.FPDFText_GetLooseCharBox(handle, index, place)
            stored = Box(place.left, place.bottom, place.right, place.top)
            yield Letter(text, 0, frames[0].box(stored), index)
        else:
            size = raw.FPDFText_GetFontSize(handle, index) * math.hypot(matrix.c, matrix.d)
            yield Letter(text, turns, _turned_box(handle, raw, index, frames[turns], size), index)


def _turns(across: float, up: float) -> int:
    """Quarter turns from the direction in which a line runs."""
    if abs(across) >= abs(up):
        return 0 if across >= 0 else 2
    return 1 if up > 0 else 3


def _turned_box(handle: Any, raw: Any, index: int, frame: Frame, size: float) -> Box:
    """PDFium's even boxes are for upright letters; here the baseline and the size make one."""
    left, right, bottom, top, x, y = (ctypes.c_double() for _ in range(6))
    raw.FPDFText_GetCharBox(handle, index, left, right, bottom, top)
    raw.FPDFText_GetCharOrigin(handle, index, x, y)
    drawn = frame.box(Box(left.value, bottom.value, right.value, top.value))
    baseline = frame.box(Box(x.value, y.value, x.value, y.value)).y0
    return Box(drawn.x0, baseline - 0.75 * size, drawn.x1, baseline + 0.25 * size)


def _jumps(word: Box, letter: Box) -> bool:
    """A letter that jumps, to the side or to another line, begins a word without a space."""
    to_the_right = letter.x0 - word.x1 > 0.5 * word.height
    to_the_left = letter.x0 < word.x0 - 1
    return to_the_right or to_the_left or abs(letter.y0 - word.y0) > 0.6 * word.height


def lines_of(words: Iterable[Word]) -> Iterator[Line]:
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

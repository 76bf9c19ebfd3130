"""The value types of a PDF page: boxes, words, lines and rulings, with their positions.

Places are in points from the top left corner of the page as it is read, whichever way the file
stores it. `file.py` reads them from a PDF.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
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


def around(boxes: Iterable[Box]) -> Box:
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
        left, bottom = stored.x0 - self.bounds.x0, stored.y0 - self.bounds.y0
        right, top = stored.x1 - self.bounds.x0, stored.y1 - self.bounds.y0
        width, height = self.bounds.width, self.bounds.height
        if self.turns == 0:
            return Box(left, height - top, right, height - bottom)
        if self.turns == 1:
            return Box(bottom, left, top, right)
        if self.turns == 2:
            return Box(width - right, bottom, width - left, top)
        return Box(height - top, width - right, height - bottom, width - left)

    def back(self, box: Box) -> Box:
        """The box of the file that stands at this place."""
        width, height = self.bounds.width, self.bounds.height
        x, y = self.bounds.x0, self.bounds.y0
        if self.turns == 0:
            return Box(box.x0 + x, height - box.y1 + y, box.x1 + x, height - box.y0 + y)
        if self.turns == 1:
            return Box(box.y0 + x, box.x0 + y, box.y1 + x, box.x1 + y)
        if self.turns == 2:
            return Box(width - box.x1 + x, box.y0 + y, width - box.x0 + x, box.y1 + y)
        return Box(width - box.y1 + x, height - box.x1 + y, width - box.y0 + x, height - box.x0 + y)


@dataclass(frozen=True, eq=False)  # each is itself, and quickly looked up
class Word:
    text: str
    box: Box
    size: float
    bold: bool = False


@dataclass(frozen=True, eq=False)
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
    edges: tuple[Box, ...] = ()  # of filled areas
    images: int = 0
    sideways: tuple[Word, ...] = ()  # what runs up or down the page, a line each

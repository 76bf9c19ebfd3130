"""Open a PDF file and read its pages, letters and drawn rulings, one page at a time. Needs
pypdfium2, the extra `pdf`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.corpus.importers.pdf.letters import page_text
from assay.corpus.importers.pdf.page import Box, Frame, Page

# set on the annual reports of Finnish municipalities
MAX_RULINGS = 20_000  # of a page: a drawing of more is a picture
MAX_SEGMENTS = 2_000  # of one path
THIN = 2.5  # points: what is thicker is an area and not a ruling
SHORT = 4.0  # points: what is shorter is no ruling


@dataclass(frozen=True)
class PdfFile:
    path: Path
    pages: int
    _document: Any = field(repr=False)

    def page(self, number: int) -> Page:
        """Read a page, counted from 1. A page that cannot be read is an InputError; the others
        still can."""
        import pypdfium2  # type: ignore[import-untyped, unused-ignore]

        try:
            return _read_page(self._document, number)
        except (pypdfium2.PdfiumError, OSError, ValueError) as error:
            where = f"{self.path}: page {number}"
            raise InputError(f"the page cannot be read: {error}", where=where) from error

    def __iter__(self) -> Iterator[Page]:
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


def _read_page(document: Any, number: int) -> Page:
    import pypdfium2.raw as raw  # type: ignore[import-untyped, unused-ignore]

    page = document[number - 1]
    textpage = page.get_textpage()
    try:
        bounds = Box(*page.get_bbox())
        text = page_text(textpage, raw, bounds, page.get_rotation() // 90)
        frame = text.frame
        drawings = page_drawings(page, raw, frame)
        return Page(
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

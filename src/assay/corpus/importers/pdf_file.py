"""Reading the pages of a PDF file, one at a time. Needs pypdfium2, the extra `pdf`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.corpus.importers.pdf_letters import written
from assay.corpus.importers.pdf_page import Box, Page
from assay.corpus.importers.pdf_rulings import drawn


@dataclass(frozen=True)
class PdfFile:
    path: Path
    pages: int
    _document: Any = field(repr=False)

    def page(self, number: int) -> Page:
        """A page, from 1 on. One that cannot be read is an InputError; the others still can."""
        import pypdfium2  # type: ignore[import-untyped, unused-ignore]

        try:
            return _page(self._document, number)
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


def _page(document: Any, number: int) -> Page:
    import pypdfium2.raw as raw  # type: ignore[import-untyped, unused-ignore]

    page = document[number - 1]
    textpage = page.get_textpage()
    try:
        bounds = Box(*page.get_bbox())
        text = written(textpage, raw, bounds, page.get_rotation() // 90)
        frame = text.frame
        drawings = drawn(page, raw, frame)
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

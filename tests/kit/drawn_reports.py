"""Small PDF reports drawn for the tests: texts at places from the top left corner of the page, in
any size, with rulings, and pages stored on their side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kit.sources import pdf_file

WIDTH, HEIGHT = 595.0, 842.0
_WIDTHS = {" ": 278, ",": 278, ".": 278, "-": 333}  # of Helvetica, in thousandths


def width_of(text: str, size: float = 10) -> float:
    """Near enough for figures: a digit of Helvetica is 556 thousandths wide."""
    return sum(_WIDTHS.get(letter, 556) for letter in text) * size / 1000


@dataclass
class Sheet:
    """A page to draw on. One that is stored on its side is read as a wide page."""

    turned: bool = False
    shown: list[bytes] = field(default_factory=list)

    def text(self, x: float, y: float, text: str, *, size: float = 10, bold: bool = False) -> None:
        font = b"/F2" if bold else b"/F1"
        letters = text.encode("cp1252").replace(b"(", rb"\(").replace(b")", rb"\)")
        place = (
            b"0 1 -1 0 %.1f %.1f" % (y, x) if self.turned else b"1 0 0 1 %.1f %.1f" % self._at(x, y)
        )
        self.shown.append(b"BT %s %.1f Tf %s Tm (%s) Tj ET" % (font, size, place, letters))

    def figure(self, right: float, y: float, text: str, *, size: float = 10) -> None:
        """A text that ends at a place, as figures do."""
        self.text(right - width_of(text, size), y, text, size=size)

    def row(
        self, y: float, label: str, figures: Iterable[tuple[float, str]], x: float = 60
    ) -> None:
        self.text(x, y, label)
        for right, text in figures:
            self.figure(right, y, text)

    def line(self, x0: float, y0: float, x1: float, y1: float) -> None:
        first = (y0, x0) if self.turned else self._at(x0, y0)
        last = (y1, x1) if self.turned else self._at(x1, y1)
        self.shown.append(b"%.1f %.1f m %.1f %.1f l S" % (*first, *last))

    def image(self) -> None:
        self.shown.append(b"q 500 0 0 700 50 50 cm /Im1 Do Q")

    @staticmethod
    def _at(x: float, y: float) -> tuple[float, float]:
        return x, HEIGHT - y


def drawn(sheets: Iterable[Sheet]) -> bytes:
    sheets = list(sheets)
    kids = b" ".join(b"%d 0 R" % (6 + 2 * number) for number in range(len(sheets)))
    image = b"\xff\x00\x00"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d /MediaBox [0 0 595 842] >>" % (kids, len(sheets)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceRGB"
        b" /BitsPerComponent 8 /Length %d >>\nstream\n%s\nendstream" % (len(image), image),
    ]
    for number, sheet in enumerate(sheets):
        rotate = b" /Rotate 90" if sheet.turned else b""
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R%s /Resources << /Font <<"
            b" /F1 3 0 R /F2 4 0 R >> /XObject << /Im1 5 0 R >> >> >>" % (7 + 2 * number, rotate)
        )
        content = b"\n".join(sheet.shown)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    return pdf_file(objects)

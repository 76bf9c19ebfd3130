"""Read a PDF report page by page into passages and tables under their headings.

Every word of a page's text layer is in one of its parts or in its running lines. Pages are read one
after another and let go, so that a report of any length needs the memory of a few pages; what holds
for the whole of it (the size of its text, the lines that stand on many pages, how its pages are
numbered) is found on a sample of pages beforehand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.extras import MissingExtra
from assay.corpus.importers.foreign_json import unreadable
from assay.corpus.importers.kinds import Problem
from assay.corpus.importers.pdf.cells import PdfTable, TableRow
from assay.corpus.importers.pdf.file import PdfFile, open_pdf
from assay.corpus.importers.pdf.layout import Typography, headings_in, in_reading_order, setting_of
from assay.corpus.importers.pdf.page import PdfPage, TextLine, cut, join_lines
from assay.corpus.importers.pdf.tables import find_tables
from assay.language.amounts import MONEY, stated_unit, unit_in

# set by hand on the annual reports of two Finnish towns (decision 20)
SURVEYED_PAGES = 48  # pages that a report is surveyed on
DEEPEST_CHAPTER = 3  # of headings: a name holds under deeper ones
EDGE = 0.14  # of a page's height: where running lines stand
SAME_COLUMN = 12.0  # points between the columns of a table and those it goes on with
_NUMBERS = re.compile(r"(?<![\d.,])\d{1,4}(?![\d.,]*\d)")
_LISTED = re.compile(r"(?:[A-ZÅÄÖ]|[IVX]+|\d+)[ .)]")
_NUMBER_OF_PAGE = re.compile(
    r"[-–—\s]*(?:s\.|sivu|page|עמוד)?\s*\d{1,4}(?:\s*(?:/|\(|of)\s*\d{1,4}\)?)?[-–—\s]*",
    re.IGNORECASE,
)
_COMPANY = re.compile(
    r"(?:[A-ZÅÄÖ][\w&.:-]*\s(?:[\w&.:-]+\s){0,5}?)?"
    r"(?:Oyj?|Ab|Ky|[\w-]*[Ss]äätiö(?: sr)?|[\w-]*kuntayhtymä|[\w-]*liikelaitos|[\w-]*lautakunta)\b"
)

# what a unit or company is, then its name: "Tytäryhtiö: Kaupungin Vesi Oy"
_NAMES = re.compile(
    r"(?:Tytäryhteisö|Tytäryhtiö|Osakkuusyhteisö|Osakkuusyhtiö|Konserniyhtiö|Yhtiö|Yhteisö"
    r"|Kuntayhtymä|Liikelaitos|Tulosalue|Tehtäväalue|Palvelualue|Palvelukeskus|Tulosyksikkö"
    r"|Toimielin|Lautakunta)\s*:?\s+((?:\d+\s+)?[A-ZÅÄÖ].{2,70})"
)


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    level: int  # 1 is a chapter


Trail = tuple[Heading, ...]


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """Running text under one heading on one page. `number` counts those of the page."""

    number: int
    trail: Trail
    text: str


class ReadRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table: one text per column, the label first. `parents` are the labels of the
    groups it stands under, outermost first."""

    cells: tuple[str, ...]
    parents: tuple[str, ...] = ()


class ReadTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table. `header` are its heading rows, a heading over several columns in each of them;
    `units` what its figures count, for each column."""

    number: int
    title: str
    trail: Trail
    header: tuple[tuple[str, ...], ...]
    rows: tuple[ReadRow, ...]
    units: tuple[str, ...]
    entity: str = ""


class ReadPage(msgspec.Struct, frozen=True, kw_only=True):
    """`number` counts the pages of the file; `printed` is the number that stands on the page."""

    number: int
    printed: str
    running: tuple[str, ...]
    parts: tuple[Passage | ReadTable, ...]


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of a whole report."""

    pages: int
    words: str
    setting: Typography
    running: frozenset[str]
    offsets: frozenset[int]  # printed page numbers less the number of the page
    seen: dict[int, PdfPage]  # those it was made from, so that they are read once


# ── the whole report ──────────────────────────────────────────────────────────────────────────────


def survey(path: Path) -> Survey | Problem:
    """Survey a sample of pages. A file that cannot be read is a problem; that the extra `pdf` is
    missing is raised."""
    try:
        file = open_pdf(path)
    except MissingExtra:
        raise
    except InputError as error:
        return Problem(code="unreadable-pdf", where=str(path), reason=error.message)
    except OSError as error:
        return unreadable(path, error)
    try:
        return _survey_pages(file)
    finally:
        file.close()


def read_pages(path: Path, known: Survey) -> Iterator[ReadPage | Problem]:
    """The pages of a report, in order; a page without text or one that cannot be read is a problem,
    and the next one is read."""
    file = open_pdf(path)
    try:
        state = _ReadingState(known)
        for number in range(1, file.pages + 1):
            yield from state.page(file, number)
    finally:
        file.close()


def _survey_pages(file: PdfFile) -> Survey:
    pages: list[PdfPage] = []
    for number in _sample(file.pages):
        try:
            pages.append(file.page(number))
        except InputError:
            continue  # reported when its turn comes
    shapes = Counter(
        shape for page in pages for shape in {_shape(line, page) for line in _edge_lines(page)}
    )
    running = frozenset(
        shape for shape, count in shapes.items() if shape and count >= max(3, 0.06 * len(pages))
    )
    offsets = Counter(
        offset for page in pages for offset in {int(n) - page.number for n in _page_numbers(page)}
    )
    inner = [[line for line in page.lines if _shape(line, page) not in running] for page in pages]
    return Survey(
        pages=file.pages,
        words=" ".join(line.text for lines in inner[:30] for line in lines),
        setting=setting_of(inner),
        running=running,
        offsets=frozenset(offset for offset, count in offsets.items() if count >= 3),
        seen={page.number: page for page in pages},
    )


def _sample(pages: int) -> list[int]:
    """Page numbers in pairs, so that left and right pages are both seen, spread over the report."""
    if pages <= SURVEYED_PAGES:
        return list(range(1, pages + 1))
    pairs = SURVEYED_PAGES // 2
    firsts = {1 + round(number * (pages - 2) / (pairs - 1)) for number in range(pairs)}
    return sorted({page for first in firsts for page in (first, first + 1)})


def _edge_lines(page: PdfPage) -> list[TextLine]:
    """The lines near the top and the bottom of a page."""
    return [line for line in page.lines if _side(line, page)]


def _side(line: TextLine, page: PdfPage) -> str:
    if line.box.y1 < EDGE * page.height:
        return "top"
    return "bottom" if line.box.y0 > 0.9 * page.height else ""


def _shape(line: TextLine, page: PdfPage) -> str:
    """The part of a running line that is the same on every page; "" for a line in the middle."""
    side = _side(line, page)
    worded = [cell for cell in cut(line) if re.search(r"[^\W\d]", cell.text)]
    if len(worded) > 1 or "%" in line.text:
        return ""  # the heading or a row of a table
    return f"{side} {re.sub(r'[0-9]+', '9', line.text)[:60]}" if side else ""


def _is_number_of(page: PdfPage, line: TextLine) -> bool:
    """Whether a line at the edge is nothing but the number of its page."""
    return bool(_side(line, page) and _NUMBER_OF_PAGE.fullmatch(line.text))


def _page_numbers(page: PdfPage) -> list[str]:
    """Numbers at the edges of a page that may be its own."""
    lines = _edge_lines(page)
    outermost = [*lines[:2], *lines[-2:]]
    return [
        number
        for line in outermost
        if len(line.text) < 90
        for number in _NUMBERS.findall(line.text)
    ]


# ── page by page ──────────────────────────────────────────────────────────────────────────────────


@dataclass
class _OpenHeading:
    """A heading that the text stands under; `is_used` when a part of its own page has it."""

    heading: Heading
    is_used: bool = False


@dataclass
class _LastTable:
    """The table at the end of the page before."""

    page: int
    table: PdfTable
    read: ReadTable


@dataclass
class _ReadingState:
    """The state between two pages."""

    known: Survey
    trail: list[_OpenHeading] = field(default_factory=list)
    last: _LastTable | None = None
    offset: int | None = None
    named: str = ""  # whom a line names that the tables after it are about
    named_under: Trail = ()  # the headings it stands under

    def page(self, file: PdfFile, number: int) -> Iterator[ReadPage | Problem]:
        try:
            page = self.known.seen.pop(number, None) or file.page(number)
        except InputError as error:
            self.last = None
            yield Problem(code="bad-page", where=error.where, reason=error.message)
            return
        lines = [line for line in page.lines if _shape(line, page) in self.known.running]
        inner = tuple(line for line in page.lines if line not in lines)
        if page.images and all(_is_number_of(page, line) for line in inner):
            reason = "the page is an image without a text layer; run OCR"
            yield Problem(code="no-text-layer", where=f"{file.path}: page {number}", reason=reason)
        running = tuple(line.text for line in lines)
        parts = tuple(_page_parts(self, replace(page, lines=inner)))
        if running and not parts:  # so that no word is lost
            parts = (Passage(number=1, trail=self.headings, text="\n".join(running)),)
        yield ReadPage(number=number, printed=self._printed(page), running=running, parts=parts)

    def _printed(self, page: PdfPage) -> str:
        """The number at the edge of the page that goes on from the page before; pages without one,
        such as those that part chapters, may or may not be counted."""
        found = _page_numbers(page)
        for offset in (self.offset, *sorted(self.known.offsets)):
            if offset is not None and str(page.number + offset) in found:
                self.offset = offset
                return str(page.number + offset)
        for number in found:
            if self.offset is not None and abs(int(number) - page.number - self.offset) <= 3:
                self.offset = int(number) - page.number
                return number
        return ""

    @property
    def headings(self) -> Trail:
        return tuple(opened.heading for opened in self.trail)


def _page_parts(state: _ReadingState, page: PdfPage) -> Iterator[Passage | ReadTable]:
    """The parts of a page in reading order. A heading that no part of its own page carries is a
    passage by itself, so that its words are on their page."""
    found = find_tables(page)
    lines = in_reading_order(found.lines, (table.box for table in found.tables))
    setting = state.known.setting
    headings = {heading.first: heading for heading in headings_in(lines, setting)}
    inside = {n for heading in headings.values() for n in range(heading.first, heading.last + 1)}
    tables = list(found.tables)
    numbers = Counter[str]()
    texts: list[str] = []

    def passage() -> Iterator[Passage]:
        if texts:
            numbers["s"] += 1
            text = join_lines(texts, "\n")
            texts.clear()
            yield Passage(number=numbers["s"], trail=state.headings, text=text)
            _mark_headings_used(state)

    def table(drawn: PdfTable) -> Iterator[Passage | ReadTable]:
        yield from passage()
        numbers["t"] += 1
        is_first = sum(numbers.values()) == 1
        read = _read_table(state, page.number, numbers["t"], drawn, is_first=is_first)
        state.last = _LastTable(page.number, drawn, read)
        _mark_headings_used(state)
        yield read

    _mark_headings_used(state)
    for number, line in enumerate(lines):
        while tables and tables[0].box.y0 < line.box.middle:
            yield from table(tables.pop(0))
        if number in headings:
            yield from passage()
            heading = headings[number]
            texts += _open_heading(state, heading.text, setting.level(heading.text, heading.style))
            yield from passage()
        elif number not in inside:
            texts.append(line.text)
        _note_name(state, line.text)
    for drawn in tables:
        yield from table(drawn)
    texts += [word.text for word in found.sideways]
    texts += [opened.heading.text for opened in state.trail if not opened.is_used]
    if texts:
        state.last = None
    yield from passage()


def _note_name(state: _ReadingState, text: str) -> None:
    """A line such as "Tytäryhteisö Seinäjoen Työterveys Oy" or "Tulosalue 130 Yleishallinto" names
    what the tables after it are about, until the next one, or the end of its chapter."""
    if found := _NAMES.match(text):
        state.named = found[1].strip()
        state.named_under = _chapters(state)


def _chapters(state: _ReadingState) -> Trail:
    return tuple(heading for heading in state.headings if heading.level <= DEEPEST_CHAPTER)


def _mark_headings_used(state: _ReadingState) -> None:
    for opened in state.trail:
        opened.is_used = True


def _open_heading(state: _ReadingState, text: str, level: int) -> list[str]:
    """Open a heading. Returns the texts of the closed headings that no part has used."""
    unused: list[str] = []
    while state.trail and state.trail[-1].heading.level >= level:
        closed = state.trail.pop()
        if not closed.is_used:
            unused.insert(0, closed.heading.text)
    state.trail.append(_OpenHeading(Heading(text=text, level=level)))
    state.last = None
    if _chapters(state) != state.named_under:
        state.named = ""
    return unused


# ── tables ────────────────────────────────────────────────────────────────────────────────────────


def _read_table(
    state: _ReadingState, page: int, number: int, drawn: PdfTable, *, is_first: bool
) -> ReadTable:
    trail = state.headings
    before = state.last if is_first else None
    header = drawn.header
    title = drawn.title
    if before is not None and before.page == page - 1 and _continues_table(before, drawn):
        header = header or before.read.header
        title = title or before.read.title
    return ReadTable(
        number=number,
        title=title,
        trail=trail,
        header=header,
        rows=tuple(_rows_with_parents(drawn.rows)),
        units=_units(header, title, trail, drawn.rows),
        entity=_entity(title, trail) or state.named,
    )


def _continues_table(before: _LastTable, drawn: PdfTable) -> bool:
    """The same columns at the same places, and no other heading."""
    if len(before.table.bounds) != len(drawn.bounds):
        return False
    if drawn.header and drawn.header != before.read.header:
        return False
    pairs = zip(before.table.bounds[1:], drawn.bounds[1:], strict=True)
    return all(abs(old[1] - new[1]) <= SAME_COLUMN for old, new in pairs)


def _rows_with_parents(rows: Sequence[TableRow]) -> Iterator[ReadRow]:
    """Rows with the labels they stand under: a label alone heads the rows after it, and a row heads
    those that are set further in."""
    above: list[TableRow] = []
    for row in rows:
        if row.cells[0]:
            while above and not _is_under(row, above[-1]):
                above.pop()
        yield ReadRow(cells=row.cells, parents=tuple(parent.cells[0] for parent in above))
        if row.cells[0]:
            above.append(row)


def _is_under(row: TableRow, parent: TableRow) -> bool:
    if row.indent > parent.indent + 2:
        return True
    if row.indent < parent.indent - 2 or not parent.is_label or row.is_label:
        return False
    label, above = row.cells[0], parent.cells[0]
    is_heavier = (row.bold and not parent.bold) or (label.isupper() and not above.isupper())
    are_listed = bool(_LISTED.match(label)) and bool(_LISTED.match(above))
    return not is_heavier and not are_listed


def _units(
    header: Sequence[Sequence[str]], title: str, trail: Trail, rows: Sequence[TableRow]
) -> tuple[str, ...]:
    """The unit of each column: from its heading, from its cells, or else that of the table."""
    stated = [*(row[0] for row in header), title, *(one.text for one in reversed(trail[-2:]))]
    general = next((unit for text in stated if (unit := stated_unit(text)) in MONEY), "")
    units = []
    for column in range(len(rows[0].cells)):
        of_heading = next((unit for row in header if (unit := unit_in(row[column]))), "")
        cells = [row.cells[column] for row in rows if row.cells[column]]
        own = Counter(unit_in(cell) for cell in cells).most_common(1)
        of_cells = own[0][0] if own and own[0][1] > 0.5 * len(cells) else ""
        units.append(of_heading or of_cells or (general if column else ""))
    return tuple(units)


def _entity(title: str, trail: Trail) -> str:
    """The company, board or foundation that a table is about, or the group."""
    for text in (title, *(heading.text for heading in reversed(trail))):
        if found := _COMPANY.search(text):
            return found[0].strip()
        if re.search(r"\bkonserni", text, re.I):
            return "konserni"
    return ""

"""Annual reports by page, section, table and row: from PDF (the extra `pdf`) or from parsed JSON.

A document is the text of one section on one page, one table, or one row of a table. A table keeps
its cells in `metadata["table"]` (`header` and `rows`), and its text repeats them row by row; a row
has its figures in `metadata["figures"]` (report_rows.py). The locator carries the report, the page,
the table's id and the row's label.

Parsed JSON: `{"city", "year", "title", "pages": [{"page_num", "sections": [{"title", "level",
"paragraphs", "tables": [{"title", "rows": [{"cells": […]}]}], "subsections": […]}]}]}`; `metrics`,
where there are any, are a table as well."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.errors import InputError
from assay.core.files import read_json
from assay.core.types import Document, Locator
from assay.corpus.importers import pdf
from assay.corpus.importers.foreign_json import unreadable
from assay.corpus.importers.kinds import Options, Problem, Unit, files_below, path_of
from assay.corpus.importers.pdf import Line, Page
from assay.corpus.importers.pdf_tables import find_tables
from assay.corpus.importers.report_rows import RowText, grid_of, rows_of, told
from assay.language.detect import detect
from assay.language.finnish import without_dots
from assay.language.towns import towns_in
from assay.law.citation import PLAIN

SCHEME = PLAIN
VERSION = 2
OPTIONS = ("language", "title", "town")
LARGER = 1.14  # a heading's size over that of the text
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
REPORTS = ("tilinpäätös", "talousarvio", "toimintakertomus", "osavuosikatsaus", "arviointikertomus")
_LETTERS = re.compile(r"[^\W\d_]+")
FIRST_WORDS = 3_000  # characters of a report that name its town


class Source(NamedTuple):
    """What holds for every document of a report."""

    id: str
    title: str
    year: int | None
    language: str
    metadata: dict[str, str | int]

    @property
    def name(self) -> str:
        """As it is told beside a figure: Lapua, tilinpäätös 2023."""
        said = (self.metadata.get("town"), self.metadata.get("report"))
        return ", ".join(str(part) for part in said if part) or self.title


class Section(NamedTuple):
    """The text of one section on one page."""

    page: int
    number: int
    title: str
    text: str


class TableText(NamedTuple):
    """One table: its cells as texts, the heading rows apart."""

    page: int
    number: int
    section: str
    title: str
    header: Sequence[Sequence[str]]
    rows: Sequence[Sequence[str]]

    @property
    def id(self) -> str:
        return f"p{self.page}-t{self.number}"


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, (".pdf", ".json"))


def read(source: str, unit: Unit, options: Options) -> Iterator[Document | Problem]:
    path = path_of(source, unit)
    read_file = _read_pdf if path.suffix.lower() == ".pdf" else _read_parsed
    is_empty = True
    for record in read_file(path, unit.id, options):
        is_empty = False
        yield record
    if is_empty:
        reason = "nothing to read: no text on any page, no table"
        yield Problem(code="no-text", where=str(path), reason=reason)


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def _section_document(report: Source, section: Section) -> Document:
    place = f"{report.title}, s. {section.page}"
    return Document(
        id=f"{report.id}:p{section.page}:s{section.number}",
        title=f"{place} – {section.title}" if section.title else place,
        text=section.text,
        fields={"section_title": section.title} if section.title else {},
        locator=Locator(doc_id=report.id, page=section.page, section=section.title or None),
        language=report.language,
        valid_from=str(report.year or ""),
        metadata={"type": "section", "year": report.year, **report.metadata},
    )


def _table_document(report: Source, table: TableText) -> Document:
    name = table.title or table.section
    lines = [" | ".join(row) for row in (*table.header, *table.rows)]
    cells = {
        "id": table.id,
        "title": table.title,
        "header": [list(row) for row in table.header],
        "rows": [list(row) for row in table.rows],
    }
    return Document(
        id=f"{report.id}:p{table.page}:t{table.number}",
        title=f"{report.title}, s. {table.page} – {name or table.id}",
        text="\n".join([name, *lines] if name else lines),
        fields={"section_title": table.section} if table.section else {},
        locator=Locator(
            doc_id=report.id, page=table.page, section=table.section or None, table=table.id
        ),
        language=report.language,
        valid_from=str(report.year or ""),
        metadata={"type": "table", "year": report.year, **report.metadata, "table": cells},
    )


def _table_documents(report: Source, table: TableText) -> Iterator[Document]:
    """The table, and then its rows."""
    yield _table_document(report, table)
    heading = " ".join((table.section, table.title))
    grid = grid_of(table.header, table.rows, title=table.title or heading, year=report.year)
    for row in rows_of(grid):
        yield _row_document(report, table, row)


def _row_document(report: Source, table: TableText, row: RowText) -> Document:
    """Its text is the line `town year | headings | table | group | label | column: figure unit`."""
    statement = (table.title or table.section.rpartition(" / ")[2]).rstrip(" :")
    place = " ".join(str(part) for part in (report.metadata.get("town"), report.year) if part)
    parent = " / ".join(row.parents)
    name = row.label or parent
    said = (place, table.section, table.title, row.stub, parent, row.label)
    line = [*(part for part in said if part), *map(told, row.figures)]
    fields = {
        "label": row.label,
        "parent": parent,
        "statement": statement,
        "section_title": table.section,
        "stub": row.stub,
    }
    return Document(
        id=f"{report.id}:p{table.page}:t{table.number}:r{row.number}",
        title=f"{report.title}, s. {table.page} – {statement or table.id}: {name}".rstrip(": "),
        text=" | ".join(line),
        fields={name: text for name, text in fields.items() if text},
        locator=Locator(
            doc_id=report.id,
            page=table.page,
            section=table.section or None,
            table=table.id,
            row=name or None,
        ),
        language=report.language,
        valid_from=str(report.year or ""),
        metadata={
            "type": "row",
            "year": report.year,
            **report.metadata,
            "figures": msgspec.to_builtins(row.figures),
        },
    )


# ── parsed JSON ───────────────────────────────────────────────────────────────────────────────────


Metrics = dict[str, object] | list[object] | None  # nested in any way


class Row(msgspec.Struct):
    cells: list[str | int | float | None]


class ParsedTable(msgspec.Struct):
    rows: list[Row]
    title: str = ""
    header: list[str] = []


class ParsedSection(msgspec.Struct):
    title: str = ""
    level: int = 1
    paragraphs: list[str] = []
    tables: list[ParsedTable] = []
    subsections: list[ParsedSection] = []


class ParsedPage(msgspec.Struct):
    page_num: int
    sections: list[ParsedSection] = []


class Parsed(msgspec.Struct):
    pages: list[ParsedPage]
    title: str = ""
    city: str = ""
    year: int | None = None
    metrics: Metrics = None


def _read_parsed(path: Path, name: str, options: Options) -> Iterator[Document | Problem]:
    try:
        parsed = msgspec.convert(read_json(path), Parsed)
    except InputError as error:
        yield Problem(code="bad-json", where=error.where, reason=error.message)
        return
    except msgspec.ValidationError as error:
        yield Problem(code="bad-record", where=str(path), reason=f"not a parsed report: {error}")
        return
    sections = [section for page in parsed.pages for section in page.sections]
    words = " ".join(text for section in sections for text in section.paragraphs)
    said = (parsed.city.capitalize(), parsed.title, name)
    report = Source(
        id=name,
        title=parsed.title or name,
        year=parsed.year,
        language=str(options.get("language") or detect(words) or "fi"),
        metadata=_about(options, said, parsed.year, parsed.city)
        | ({"city": parsed.city} if parsed.city else {}),
    )
    for page in parsed.pages:
        yield from _parsed_page(report, page)
    if parsed.metrics:
        yield _metrics_document(report, parsed)


def _about(
    options: Options, said: Sequence[str], year: int | None, city: str = ""
) -> dict[str, str | int]:
    """The town, as it is stated or as the first of these texts that names one has it; and what the
    report is called."""
    about: dict[str, str | int] = {}
    towns = next((found for text in said if (found := towns_in(text[:FIRST_WORDS]))), [])
    town = str(options.get("town") or "") or (towns[0] if towns else city.capitalize())
    if town:
        about["town"] = town
    lower = without_dots(" ".join(said)[:FIRST_WORDS].lower())
    kinds = (kind for kind in REPORTS if re.search(without_dots(kind)[:-1], lower))
    if kind := next(kinds, ""):
        about["report"] = f"{kind} {year}" if year else kind
    return about


def _metrics_document(report: Source, parsed: Parsed) -> Document:
    return Document(
        id=f"{report.id}:metrics",
        title=f"{report.title} – tunnusluvut",
        text="\n".join(_metric_lines(parsed.metrics)),
        locator=Locator(doc_id=report.id, table="metrics"),
        language=report.language,
        metadata={
            "type": "metrics",
            "year": parsed.year,
            "city": parsed.city,
            "metrics": parsed.metrics,
        },
    )


def _parsed_page(report: Source, page: ParsedPage) -> Iterator[Document]:
    sections = 0
    tables = 0
    for parsed, trail in _nested(page.sections, ()):
        title = " / ".join((*trail, parsed.title))
        if parsed.paragraphs:
            sections += 1
            text = "\n".join(parsed.paragraphs)
            yield _section_document(report, Section(page.page_num, sections, title, text))
        for table in parsed.tables:
            tables += 1
            rows = [["" if cell is None else str(cell) for cell in row.cells] for row in table.rows]
            header = [table.header] if table.header else []
            cells = TableText(page.page_num, tables, title, table.title, header, rows)
            yield from _table_documents(report, cells)


def _nested(
    sections: list[ParsedSection], trail: tuple[str, ...]
) -> Iterator[tuple[ParsedSection, tuple[str, ...]]]:
    for section in sections:
        yield section, trail
        yield from _nested(section.subsections, (*trail, section.title))


def _metric_lines(metrics: object, name: str = "") -> Iterator[str]:
    if isinstance(metrics, dict):
        for key, value in metrics.items():
            yield from _metric_lines(value, f"{name} {key}".strip())
    elif isinstance(metrics, list):
        for value in metrics:
            yield from _metric_lines(value, name)
    else:
        yield f"{name}: {metrics}" if name else str(metrics)


# ── PDF ───────────────────────────────────────────────────────────────────────────────────────────


def _read_pdf(path: Path, name: str, options: Options) -> Iterator[Document | Problem]:
    try:
        opened = pdf.open_pdf(path)
    except InputError as error:
        if "needs pypdfium2" in error.message:
            raise
        yield Problem(code="unreadable-pdf", where=str(path), reason=error.message)
        return
    except OSError as error:
        yield unreadable(path, error)
        return
    pages = list(opened)
    for page in pages:
        if not page.lines and page.images:
            where = f"{path}: page {page.number}"
            reason = "the page is an image without a text layer; run OCR"
            yield Problem(code="no-text-layer", where=where, reason=reason)
    running = _running_lines(pages)
    words = " ".join(line.text for page in pages[:30] for line in page.lines)
    stated = _YEAR.search(name) or _YEAR.search(words[:400])
    year = int(stated[0]) if stated else None
    about = _about(options, (" ".join(map(str.capitalize, _LETTERS.findall(name))), words), year)
    report = Source(
        id=name,
        title=str(options.get("title") or name),
        year=year,
        language=str(options.get("language") or detect(words)),
        metadata={"pages": opened.pages, **about},
    )
    section = ""
    for page in pages:
        documents, section = _pdf_page(report, _without(page, running), section)
        yield from documents


def _running_lines(pages: list[Page]) -> set[str]:
    """Headings and page numbers that stand at the top or bottom of many pages."""
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update({_shape(line) for line in (*page.lines[:3], *page.lines[-2:])})
    return {shape for shape, count in seen.items() if count >= max(4, 0.04 * len(pages))}


def _shape(line: Line) -> str:
    place = "top" if line.box.y0 < 110 else "bottom"
    return f"{place} {re.sub(r'[0-9]+', '9', line.text)[:60]}"


def _without(page: Page, running: set[str]) -> Page:
    edge = set(page.lines[:3]) | set(page.lines[-2:])
    lines = tuple(line for line in page.lines if not (line in edge and _shape(line) in running))
    return Page(page.number, page.width, page.height, lines, page.rulings, page.images)


def _pdf_page(report: Source, page: Page, section: str) -> tuple[list[Document], str]:
    """The sections and tables of a page, and the section it ends in; a section goes on until the
    next heading, over page ends."""
    tables = find_tables(page)
    numbers = {table.first: number for number, table in enumerate(tables, start=1)}
    inside = {line for table in tables for line in range(table.first, table.last + 1)}
    documents: list[Document] = []
    texts: list[str] = []
    count = 0

    def close() -> None:
        nonlocal count
        if texts:
            count += 1
            text = _prose(texts)
            documents.append(_section_document(report, Section(page.number, count, section, text)))
            texts.clear()

    for index, line in enumerate(page.lines):
        if index in numbers:
            number = numbers[index]
            table = tables[number - 1]
            cells = TableText(page.number, number, section, table.title, table.header, table.rows)
            documents += _table_documents(report, cells)
        elif index not in inside:
            if _is_heading(line, page):
                close()
                section = line.text
            else:
                texts.append(line.text)
    close()
    return documents, section


def _is_heading(line: Line, page: Page) -> bool:
    """Larger than the text around it, or bold, short, and numbered or without a full stop."""
    text = line.text
    if not 4 <= len(text) <= 110 or text.endswith((",", ";")):
        return False
    if not re.search(r"[^\W\d]{3}", text):
        return False
    if line.size >= LARGER * page.body_size:
        return True
    ends_open = not text.endswith(".")
    if re.match(r"\d+(?:\.\d+)+\.?\s+[A-ZÅÄÖ]", text) and ends_open:
        return len(text) < 80
    is_numbered = bool(re.match(r"(?:\d+\.?|[IVX]+)\s+[A-ZÅÄÖ]", text))
    return line.bold and (is_numbered or ends_open) and len(text) < 80


def _prose(lines: list[str]) -> str:
    """Lines as running text: a word parted at the end of a line is put together again."""
    text = "\n".join(lines)
    text = re.sub(r"(?<=[a-zåäö])[-\u00ad\u2010]\n(?=[a-zåäö])", "", text)
    return text.replace("\u00ad", "")

"""Import annual reports as pages, sections, tables and table rows, from PDF (the extra `pdf`) or
from parsed JSON.

A document is the text of one section on one page, one table, or one row of a table. A table keeps
its cells in `metadata["table"]` (`header` and `rows`), and its text repeats them row by row; a row
has its figures in `metadata["figures"]` (report_rows.py). The locator carries the report, the page,
the table's id and the row's label.

Parsed JSON: `{"city", "year", "title", "pages": [{"page_num", "sections": [{"title", "level",
"paragraphs", "tables": [{"title", "rows": [{"cells": […]}]}], "subsections": […]}]}]}`; `metrics`,
where there are any, are a table as well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.extras import require_extra
from assay.core.files import read_json
from assay.core.types import Document, Locator
from assay.corpus.importers.kinds import Options, Problem, Unit, files_below, path_of
from assay.corpus.importers.pdf.report import Passage, ReadPage, read_pages, survey
from assay.corpus.importers.report_rows import RowText, figure_text, grid_of, rows_of
from assay.language.detect import detect
from assay.language.finnish import without_dots
from assay.language.towns import towns_in
from assay.law.citation import PLAIN

SCHEME = PLAIN
VERSION = 9  # raised when the same source gives other documents
OPTIONS = ("language", "title", "town")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
REPORTS = ("tilinpäätös", "talousarvio", "toimintakertomus", "osavuosikatsaus", "arviointikertomus")
_LETTERS = re.compile(r"[^\W\d_]+")
FIRST_WORDS = 3_000  # characters at the start of a report that name its town (taste)


class Report(NamedTuple):
    """The properties that every document of a report shares."""

    id: str
    title: str
    year: int | None
    language: str
    metadata: dict[str, str | int]


class PageContext(NamedTuple):
    """The printed number of a page, and its running lines."""

    printed: str = ""
    running: tuple[str, ...] = ()

    @property
    def metadata(self) -> dict[str, str]:
        known = {"printed_page": self.printed, "running": "\n".join(self.running)}
        return {key: value for key, value in known.items() if value}


class ReportSection(NamedTuple):
    """The text of one section on one page."""

    page: int
    number: int
    title: str
    text: str
    context: PageContext = PageContext()


class TableText(NamedTuple):
    """One table: its cells as texts, the heading rows apart."""

    page: int
    number: int
    section: str
    title: str
    header: Sequence[Sequence[str]]
    rows: Sequence[Sequence[str]]
    units: tuple[str, ...] = ()  # of each column, where they are known
    parents: tuple[tuple[str, ...], ...] = ()  # the groups of each row, where they are known
    entity: str = ""  # whose table it is
    context: PageContext = PageContext()

    @property
    def id(self) -> str:
        return f"p{self.page}-t{self.number}"


def units(source: str, options: Options) -> list[Unit]:
    found = files_below(source, (".pdf", ".json"))
    if any(unit.path.lower().endswith(".pdf") for unit in found):
        require_extra("pdf", "reading PDF")
    return found


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


def _section_document(report: Report, section: ReportSection) -> Document:
    place = f"{report.title}, s. {section.context.printed or section.page}"
    return Document(
        id=f"{report.id}:p{section.page}:s{section.number}",
        title=f"{place} – {section.title}" if section.title else place,
        text=section.text,
        fields={"section_title": section.title} if section.title else {},
        locator=Locator(doc_id=report.id, page=section.page, section=section.title or None),
        language=report.language,
        valid_from=str(report.year or ""),
        metadata={
            "type": "section",
            "year": report.year,
            **report.metadata,
            **section.context.metadata,
        },
    )


def _table_document(report: Report, table: TableText) -> Document:
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
        title=f"{report.title}, s. {table.context.printed or table.page} – {name or table.id}",
        text="\n".join([name, *lines] if name else lines),
        fields={"section_title": table.section} if table.section else {},
        locator=Locator(
            doc_id=report.id, page=table.page, section=table.section or None, table=table.id
        ),
        language=report.language,
        valid_from=str(report.year or ""),
        metadata={
            "type": "table",
            "year": report.year,
            **report.metadata,
            **table.context.metadata,
            "table": cells,
        },
    )


def _table_documents(report: Report, table: TableText) -> Iterator[Document]:
    """The table, and then its rows."""
    yield _table_document(report, table)
    heading = " ".join((table.section, table.title))
    grid = grid_of(table.header, table.rows, title=table.title or heading, year=report.year)
    if table.parents:  # read from the page, where more is known than from the cells
        units = zip(table.units, grid.units, strict=True)
        units_read = tuple(read or guessed for read, guessed in units)
        grid = msgspec.structs.replace(grid, units=units_read, parents=table.parents)
    for row in rows_of(grid):
        yield _row_document(report, table, row)


def _row_document(report: Report, table: TableText, row: RowText) -> Document:
    """Its text is the line `town year | headings | whose it is | table | group | label | column:
    figure (unit)`."""
    statement = (table.title or table.section.rpartition(" / ")[2]).rstrip(" :")
    place = " ".join(str(part) for part in (report.metadata.get("town"), report.year) if part)
    parent = " / ".join(row.parents)
    name = row.label or parent
    context = (place, table.section, table.entity, table.title, row.stub, parent, row.label)
    line = [*(part for part in context if part), *map(figure_text, row.figures)]
    fields = {
        "label": row.label,
        "parent": parent,
        "statement": statement,
        "section_title": table.section,
        "stub": row.stub,
        "entity": table.entity,
    }
    page = table.context.printed or table.page
    title = f"{report.title}, s. {page} – {statement or table.id}"
    return Document(
        id=f"{report.id}:p{table.page}:t{table.number}:r{row.number}",
        title=f"{title}: {name}".rstrip(": "),
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
            **table.context.metadata,
            "figures": msgspec.to_builtins(row.figures),
        },
    )


# ── parsed JSON ───────────────────────────────────────────────────────────────────────────────────


Metrics = dict[str, object] | list[object] | None  # nested in any way


class ParsedRow(msgspec.Struct):
    cells: list[str | int | float | None]


class ParsedTable(msgspec.Struct):
    rows: list[ParsedRow]
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


class ParsedReport(msgspec.Struct):
    pages: list[ParsedPage]
    title: str = ""
    city: str = ""
    year: int | None = None
    metrics: Metrics = None


def _read_parsed(path: Path, name: str, options: Options) -> Iterator[Document | Problem]:
    try:
        parsed = msgspec.convert(read_json(path), thread_safe(ParsedReport))
    except InputError as error:
        yield Problem(code="bad-json", where=error.where, reason=error.message)
        return
    except msgspec.ValidationError as error:
        yield Problem(code="bad-record", where=str(path), reason=f"not a parsed report: {error}")
        return
    sections = [section for page in parsed.pages for section in page.sections]
    words = " ".join(text for section in sections for text in section.paragraphs)
    texts = (parsed.city.capitalize(), parsed.title, name)
    report = Report(
        id=name,
        title=parsed.title or name,
        year=parsed.year,
        language=str(options.get("language") or detect(words) or "fi"),
        metadata=_town_and_kind(options, texts, parsed.year, parsed.city)
        | ({"city": parsed.city} if parsed.city else {}),
    )
    for page in parsed.pages:
        yield from _parsed_page(report, page)
    if parsed.metrics:
        yield _metrics_document(report, parsed)


def _town_and_kind(
    options: Options, texts: Sequence[str], year: int | None, city: str = ""
) -> dict[str, str | int]:
    """The town of a report, as stated or as the first of these texts names it, and the kind of
    report."""
    about: dict[str, str | int] = {}
    towns = next((found for text in texts if (found := towns_in(text[:FIRST_WORDS]))), [])
    town = str(options.get("town") or "") or (towns[0] if towns else city.capitalize())
    if town:
        about["town"] = town
    lower = without_dots(" ".join(texts)[:FIRST_WORDS].lower())
    kinds = (kind for kind in REPORTS if re.search(without_dots(kind)[:-1], lower))
    if kind := next(kinds, ""):
        about["report"] = f"{kind} {year}" if year else kind
    return about


def _metrics_document(report: Report, parsed: ParsedReport) -> Document:
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


def _parsed_page(report: Report, page: ParsedPage) -> Iterator[Document]:
    sections = 0
    tables = 0
    for parsed, trail in _nested(page.sections, ()):
        title = " / ".join((*trail, parsed.title))
        if parsed.paragraphs:
            sections += 1
            text = "\n".join(parsed.paragraphs)
            yield _section_document(report, ReportSection(page.page_num, sections, title, text))
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
    known = survey(path)
    if isinstance(known, Problem):
        yield known
        return
    stated = _YEAR.search(name) or _YEAR.search(known.words[:400])
    year = int(stated[0]) if stated else None
    called = " ".join(map(str.capitalize, _LETTERS.findall(name)))
    about = _town_and_kind(options, (called, known.words), year)
    report = Report(
        id=name,
        title=str(options.get("title") or name),
        year=year,
        language=str(options.get("language") or detect(known.words)),
        metadata={"pages": known.pages, **about},
    )
    for page in read_pages(path, known):
        if isinstance(page, Problem):
            yield page
        else:
            yield from _pdf_page(report, page)


def _pdf_page(report: Report, page: ReadPage) -> Iterator[Document]:
    context = PageContext(page.printed, page.running)
    for part in page.parts:
        section = " / ".join(heading.text for heading in part.trail)
        if isinstance(part, Passage):
            passage = ReportSection(page.number, part.number, section, part.text, context)
            yield _section_document(report, passage)
        else:
            table = TableText(
                page=page.number,
                number=part.number,
                section=section,
                title=part.title,
                header=part.header,
                rows=[row.cells for row in part.rows],
                units=part.units,
                parents=tuple(row.parents for row in part.rows),
                entity=part.entity,
                context=context,
            )
            yield from _table_documents(report, table)

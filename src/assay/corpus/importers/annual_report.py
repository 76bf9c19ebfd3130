"""Annual reports by page, section and table: from PDF (the extra `pdf`) or from parsed JSON.

A document is the text of one section on one page, or one table. A table keeps its cells in
`metadata["table"]` (`header` and `rows`), and its text repeats them row by row. The locator carries
the report, the page and the table's id.

Parsed JSON: `{"city", "year", "title", "pages": [{"page_num", "sections": [{"title", "level",
"paragraphs", "tables": [{"title", "rows": [{"cells": […]}]}], "subsections": […]}]}]}`; `metrics`,
where there are any, are a table as well."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import InputError
from assay.core.files import read_json
from assay.core.types import Document, Locator
from assay.corpus.importers import pdf
from assay.corpus.importers.jsonl import unreadable
from assay.corpus.importers.pdf import Line, Page
from assay.corpus.importers.pdf_tables import find_tables
from assay.corpus.importers.source import Options, Problem, Unit, files_below, path_of
from assay.language.detect import detect
from assay.law.citation import PLAIN

SCHEME = PLAIN
VERSION = 1
OPTIONS = ("language", "title")


class Source(NamedTuple):
    """What holds for every document of a report."""

    id: str
    title: str
    year: int | None
    language: str
    metadata: dict[str, Any]


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, (".pdf", ".json"))


def read(source: str, unit: Unit, options: Options) -> Iterator[Document | Problem]:
    path = path_of(source, unit)
    found = False
    for record in (_read_pdf if path.suffix.lower() == ".pdf" else _read_parsed)(
        path, unit.id, options
    ):
        found = True
        yield record
    if not found:
        yield Problem(
            code="no-text", where=str(path), reason="nothing to read: no text on any page, no table"
        )


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def _section(report: Source, page: int, number: int, title: str, text: str) -> Document:
    return Document(
        id=f"{report.id}:p{page}:s{number}",
        title=f"{report.title}, s. {page} – {title}" if title else f"{report.title}, s. {page}",
        text=text,
        fields={"section_title": title} if title else {},
        locator=Locator(doc_id=report.id, page=page, section=title or None),
        language=report.language,
        valid_from=str(report.year or ""),
        metadata={"type": "section", "year": report.year, **report.metadata},
    )


def _table(
    report: Source,
    page: int,
    number: int,
    section: str,
    title: str,
    header: Sequence[Sequence[str]],
    rows: Sequence[Sequence[str]],
) -> Document:
    table_id = f"p{page}-t{number}"
    name = title or section or table_id
    lines = [" | ".join(row) for row in (*header, *rows)]
    return Document(
        id=f"{report.id}:p{page}:t{number}",
        title=f"{report.title}, s. {page} – {name}",
        text="\n".join([*([name] if name != table_id else []), *lines]),
        fields={"section_title": section} if section else {},
        locator=Locator(doc_id=report.id, page=page, section=section or None, table=table_id),
        language=report.language,
        valid_from=str(report.year or ""),
        metadata={
            "type": "table",
            "year": report.year,
            **report.metadata,
            "table": {
                "id": table_id,
                "title": title,
                "header": [list(r) for r in header],
                "rows": [list(r) for r in rows],
            },
        },
    )


# ── parsed JSON ───────────────────────────────────────────────────────────────────────────────────


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
    metrics: dict[str, Any] | list[Any] | None = None


def _read_parsed(path: Path, name: str, options: Options) -> Iterator[Document | Problem]:
    try:
        parsed = msgspec.convert(read_json(path), Parsed)
    except InputError as error:
        yield Problem(code="bad-json", where=error.where, reason=error.message)
        return
    except msgspec.ValidationError as error:
        yield Problem(code="bad-record", where=str(path), reason=f"not a parsed report: {error}")
        return
    words = " ".join(
        text for page in parsed.pages for section in page.sections for text in section.paragraphs
    )
    language = str(options.get("language") or detect(words) or "fi")
    title = parsed.title or name
    metadata = (
        {"city": parsed.city, "metrics": parsed.metrics}
        if parsed.metrics
        else {"city": parsed.city}
    )
    report = Source(
        name, title, parsed.year, language, {"city": parsed.city} if parsed.city else {}
    )
    for page in parsed.pages:
        yield from _parsed_page(report, page)
    if parsed.metrics:
        yield Document(
            id=f"{name}:metrics",
            title=f"{title} – tunnusluvut",
            text="\n".join(_metric_lines(parsed.metrics)),
            locator=Locator(doc_id=name, table="metrics"),
            language=language,
            metadata={"type": "metrics", "year": parsed.year, **metadata},
        )


def _parsed_page(report: Source, page: ParsedPage) -> Iterator[Document]:
    counts: Counter[str] = Counter()
    for section, trail in _nested(page.sections, ()):
        title = " / ".join((*trail, section.title))
        if section.paragraphs:
            counts["section"] += 1
            yield _section(
                report, page.page_num, counts["section"], title, "\n".join(section.paragraphs)
            )
        for table in section.tables:
            counts["table"] += 1
            rows = [["" if cell is None else str(cell) for cell in row.cells] for row in table.rows]
            header = [table.header] if table.header else []
            yield _table(report, page.page_num, counts["table"], title, table.title, header, rows)


def _nested(
    sections: list[ParsedSection], trail: tuple[str, ...]
) -> Iterator[tuple[ParsedSection, tuple[str, ...]]]:
    for section in sections:
        yield section, trail
        yield from _nested(section.subsections, (*trail, section.title))


def _metric_lines(metrics: Any, name: str = "") -> Iterator[str]:
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
    pages: list[Page] = []
    for number in range(1, opened.pages + 1):
        page = opened.page(number)
        pages.append(page)
        if not page.lines and page.images:
            where = f"{path}: page {number}"
            yield Problem(
                code="no-text-layer",
                where=where,
                reason="the page is an image without a text layer; run OCR",
            )
    running = _running_lines(pages)
    words = " ".join(line.text for page in pages[:30] for line in page.lines)
    year = re.search(r"(?<!\d)(?:19|20)\d\d(?!\d)", name) or re.search(
        r"(?<!\d)(?:19|20)\d\d(?!\d)", words[:400]
    )
    report = Source(
        name,
        str(options.get("title") or name),
        int(year[0]) if year else None,
        str(options.get("language") or detect(words)),
        {"pages": opened.pages},
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
    """The sections and tables of a page; a section goes on until the next heading, over page
    ends."""
    tables = find_tables(page)
    starts = {table.first: number for number, table in enumerate(tables, start=1)}
    inside = {line for table in tables for line in range(table.first, table.last + 1)}
    documents: list[Document] = []
    texts: list[str] = []
    count = 0

    def close() -> None:
        nonlocal count
        if texts:
            count += 1
            documents.append(_section(report, page.number, count, section, _prose(texts)))
            texts.clear()

    for index, line in enumerate(page.lines):
        if index in starts:
            table = tables[starts[index] - 1]
            documents.append(
                _table(
                    report,
                    page.number,
                    starts[index],
                    section,
                    table.title,
                    table.header,
                    table.rows,
                )
            )
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
    words = line.text
    if (
        len(words) > 110
        or len(words) < 4
        or words.endswith((",", ";"))
        or not re.search(r"[^\W\d]{3}", words)
    ):
        return False
    if line.size >= 1.14 * page.body_size:
        return True
    if re.match(r"\d+(?:\.\d+)+\.?\s+[A-ZÅÄÖ]", words) and not words.endswith("."):
        return len(words) < 80
    numbered = re.match(r"(?:\d+\.?|[IVX]+)\s+[A-ZÅÄÖ]", words)
    return line.bold and (bool(numbered) or not words.endswith(".")) and len(words) < 80


def _prose(lines: list[str]) -> str:
    """Lines as running text: a word parted at the end of a line is put together again."""
    text = "\n".join(lines)
    text = re.sub(r"(?<=[a-zåäö])[-\u00ad\u2010]\n(?=[a-zåäö])", "", text)
    return text.replace("\u00ad", "")

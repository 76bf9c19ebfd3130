"""A document of a report as its ranking sees it: label, context and prose; what can be asked of it
beside words (which town, which years, whose accounts, budget or outcome); and the passages of its
prose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from assay.core.decoding import thread_safe
from assay.core.types import Document
from assay.corpus.importers.report_rows import kind_of, year_of
from assay.language.towns import towns_in
from assay.search.arrays import Array
from assay.search.reports.cells import BUDGET, GROUP, OWN_CITY, ROW, YEAR, kinds_of

TABLE, PROSE = "table", "prose"
K = TypeVar("K", int, str)
SPAN = re.compile(r"(?<!\d)((?:19|20)\d\d)\s?[-–—]\s?((?:19|20)\d\d)(?!\d)")
LONGEST_SPAN = 30  # years (taste)
PAGE_WORDS = 80  # of the prose around a table (by hand)
# titles that say the kind of a table alone: "Tunnusluvut", "Talousarvion toteutuminen"
_GENERIC = re.compile(
    r"(?:[\d.]+\s*)?(?:talousarvion? toteu|tavoittei|tavoite\b|toiminta-ajatus|toiminnan tunnus"
    r"|toiminnalli|taloudelli|tunnusluvut|mittari|kapasiteetti|määräraho|taulukko\b)",
    re.I,
)
_AT_START = re.compile(r"(?<![\d.])1\.1\.(?!\s?[-–])")
_SENTENCE = re.compile(r"(?<=[.?!;:])\s+|\n\s*\n")


class DocumentMarks(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a document beside its words."""

    kind: str
    town: str = ""
    years: tuple[int, ...] = ()
    group: bool = False  # of the town and its companies together
    own: bool = True  # of the town itself
    budget: bool = False  # has a column of the budget
    table: str = ""  # the report and table it is of
    page: str = ""  # the report and page
    year: int = 0  # of the report
    budgets: tuple[int, ...] | None = None  # the years of its budgets; None in an older index
    kinds: tuple[str, ...] = ()  # of its columns: a change, a deviation, a percentage
    tells_group: bool = False  # prose that speaks of the group
    at_start: bool = False  # of a year
    compared: tuple[str, ...] = ()  # the towns that a row is called after


def page_texts(reports: Sequence[ReportTexts]) -> list[str]:
    """For each row and table the first words of the prose on its page: what a heading leaves unsaid
    may stand there."""
    words: dict[str, list[str]] = {}
    for report in reports:
        if report.body and report.page:
            words.setdefault(report.page, []).extend(report.body.split()[:PAGE_WORDS])
    return [
        "" if report.body else " ".join(words.get(report.page, [])[:PAGE_WORDS])
        for report in reports
    ]


class ReportTexts(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    context: str
    body: str
    page: str  # the report and page it stands on
    subject: str  # what the table of a row is about
    marks: str  # as the index keeps them


def reported(document: Document) -> ReportTexts:
    kind = _kind(document)
    fields = document.fields
    heading = fields.get("section_title", "")
    label, body, subject = "", "", ""
    if kind == ROW:
        subject = _table_name(fields)
        label = _label(fields)
        figures = _figures(document)
        words = [str(figure["text"]) for figure in figures if figure.get("value") is None]
        columns = dict.fromkeys(str(figure["column"]) for figure in figures)
        context = [
            heading,
            _subject(fields),
            *_filled_fields(fields, "statement", "stub", "parent", "entity"),
            *columns,
            *words,
        ]
    elif kind == TABLE:
        cells = document.metadata["table"]
        label = " ".join(row[0] for row in cells["rows"] if row)
        context = [heading, cells.get("title", "")]
        context += [text for row in cells["header"] for text in row]
    else:
        body = document.text
        context = [heading]
    marks = _marks(document, kind)
    return ReportTexts(
        label=label,
        context=" ".join(dict.fromkeys(part for part in context if part)),
        body=body,
        page=marks.page,
        subject=subject,
        marks=msgspec.json.encode(marks).decode(),
    )


def passages_of(document: Document, *, sentences_of_budget: bool = False) -> list[str]:
    """What is read at one glance: of a row or a table the whole of it, of prose two sentences,
    with the heading above them; or each sentence that speaks of a budget."""
    if _kind(document) != PROSE:
        view = reported(document)
        return [f"{view.label} {view.context}"]
    heading = document.fields.get("section_title", "")
    if sentences_of_budget:
        sentences = sentences_in(document.text)
        return [f"{heading} {sentence}" for sentence in sentences if BUDGET.search(sentence)]
    return [f"{heading} {pair}" for pair in pairs_in(document.text)]


def sentences_in(prose: str) -> list[str]:
    return _SENTENCE.split(prose)


def pairs_in(prose: str) -> list[str]:
    """Each sentence with the next."""
    sentences = sentences_in(prose)
    return [" ".join(sentences[at : at + 2]) for at in range(len(sentences))]


class MarkColumns:
    """The marks of all documents as columns: the name and place of each, and masks."""

    def __init__(self, lines: Iterable[str]) -> None:
        decode = msgspec.json.Decoder(thread_safe(DocumentMarks)).decode
        every = [decode(line) for line in lines]
        towns = {marks.town for marks in every}
        self.towns = tuple(sorted(towns - {""}))  # that have a report
        compared = {town for marks in every for town in marks.compared}
        self.compared = tuple(sorted(compared - towns))  # towns that rows are called after
        self.kinds = np.array([marks.kind for marks in every])
        self.town_of = np.array([marks.town for marks in every])
        self.year_of = np.array([marks.year for marks in every], np.int64)  # of the report
        self.table_of = _numbered([marks.table for marks in every])  # -1 for none
        self.page_of = _numbered([marks.page for marks in every])
        self.group = np.array([marks.group for marks in every])
        self.own = np.array([marks.own for marks in every])
        self.budget = np.array([marks.budget for marks in every])
        self.tells_group = np.array([marks.tells_group for marks in every])
        self.at_start = np.array([marks.at_start for marks in every])
        self.with_year = _masks([marks.years for marks in every])
        self.with_budget = _masks([marks.budgets or () for marks in every])
        self.with_kind = _masks([marks.kinds for marks in every])


def _masks(held: Sequence[tuple[K, ...]]) -> dict[K, Array]:
    """For each year or kind the mask of the documents that have it."""
    masks: dict[K, Array] = {}
    for row, keys in enumerate(held):
        for key in keys:
            masks.setdefault(key, np.zeros(len(held), bool))[row] = True
    return masks


def _numbered(names: Sequence[str]) -> Array:
    """The same number for the same name, -1 for none."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] if name else -1 for name in names], np.int64)


def _label(fields: dict[str, str]) -> str:
    """Where rows are towns or years, what they are of stands at the head of the table."""
    label = fields.get("label", "")
    if label and (YEAR.fullmatch(label) or towns_in(label)):
        return f"{label} {fields.get('stub') or fields.get('statement', '')}"
    return label or fields.get("parent", "")


def _subject(fields: dict[str, str]) -> str:
    """Of a table that is called by its kind alone (*Talousarvion toteutuminen*), what the heading
    above it names, twice: it is about that, and those further down are about parts of it."""
    if not _GENERIC.match(fields.get("statement", "")):
        return ""
    name = _table_name(fields)
    return f"{name} {name}"


def _table_name(fields: dict[str, str]) -> str:
    """What a table is called, or where that says its kind alone, the heading above it."""
    names = fields.get("statement", ""), *reversed(fields.get("section_title", "").split(" / "))
    return next((name for name in names if name and not _GENERIC.match(name)), "")


def is_prose(document: Document) -> bool:
    return _kind(document) == PROSE


def _kind(document: Document) -> str:
    kind = document.metadata.get("type")
    if kind == TABLE and not isinstance(document.metadata.get("table"), dict):
        return PROSE
    return kind if kind in (ROW, TABLE) else PROSE


def _filled_fields(fields: dict[str, str], *names: str) -> list[str]:
    return [fields[name] for name in names if fields.get(name)]


def _figures(document: Document) -> list[dict[str, object]]:
    figures = document.metadata.get("figures")
    return figures if isinstance(figures, list) else []


def _marks(document: Document, kind: str) -> DocumentMarks:
    metadata = document.metadata
    fields = document.fields
    place = document.locator
    headings = " ".join(_filled_fields(fields, "section_title", "statement", "parent", "label"))
    columned = [str(figure["column"]) for figure in _figures(document)]
    if kind == TABLE:
        cells = metadata["table"]
        headings += f" {cells.get('title', '')}"
        columned = [" ".join(texts) for texts in zip(*cells["header"], strict=False)]
    columns = " ".join(columned)
    text = document.text if kind == PROSE else f"{headings} {columns}"
    report_year = metadata.get("year")
    stated = (figure.get("year") for figure in _figures(document))
    years = {year for year in stated if isinstance(year, int)}
    if not years:  # no column is of a year: what stands around it tells
        years = {int(year) for year in YEAR.findall(text)}
        years.add(report_year if isinstance(report_year, int) else 0)
    if kind == PROSE:
        for first, last in SPAN.findall(text):
            years.update(range(int(first), min(int(last), int(first) + LONGEST_SPAN) + 1))
    group = bool(GROUP.search(f"{headings} {columns}")) or fields.get("entity") == "konserni"
    source = place.doc_id if place and place.doc_id else document.id
    budgets = {year_of(column) or report_year for column in columned if kind_of(column) == "budget"}
    if kind == PROSE and BUDGET.search(text):
        budgets = {*years}
    return DocumentMarks(
        kind,
        str(metadata.get("town") or ""),
        tuple(sorted(years - {0})),
        group,
        not group or bool(OWN_CITY.search(columns)),
        bool(budgets) and kind != PROSE,
        f"{source} {place.table}" if place and place.table else "",
        f"{source} {place.page}" if place and place.page is not None else "",
        report_year if isinstance(report_year, int) else 0,
        tuple(sorted(year for year in budgets if isinstance(year, int))),
        tuple(sorted(set().union(*map(kinds_of, columned)) - {"budget"})),
        kind == PROSE and bool(GROUP.search(text)),
        kind == ROW and bool(_AT_START.search(fields.get("label", ""))),
        tuple(towns_in(fields.get("label", ""))) if kind == ROW else (),
    )

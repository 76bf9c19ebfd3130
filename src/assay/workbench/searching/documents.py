"""The page of a document: the answer before the letterhead, an act by section and moment, a
report by page with its tables, the words of a query marked, and what it cites and is cited by.

**Parts.** A moment is read in its section and a table on its page. The documents of one section, or
of one page, are the parts of one *unit*; units of one act or report follow each other in the order
of the corpus, which is the order of the source, so that the unit before and after is where the
place changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np

from assay.core.decoding import thread_safe
from assay.core.types import Document
from assay.corpus.in_force import statuses_of_open_corpus, today
from assay.corpus.lookup import corpus_named
from assay.judging.passages import WORD, passages
from assay.language.detect import detect
from assay.law.versions import IN_FORCE, valid_periods
from assay.workbench.project.service import Service
from assay.workbench.searching.filters import STATUTES, Columns, Numbers, columns_of
from assay.workbench.searching.open_corpora import OpenCorpus
from assay.workbench.searching.search import (
    NotHere,
    Similar,
    corpus_for,
    first_field,
    similar,
    statutes_of,
)

# ── sections and pages that are read together ─────────────────────────────────────────────────────


class ReadingUnit(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one section or page, and where those before and after begin."""

    is_page: bool
    rows: list[int]
    before: int | None
    after: int | None


def source_rows(columns: Columns, row: int) -> Numbers:
    """The rows of the same version of the same act or report."""
    places = columns.places
    same = np.ones(places.height, bool)
    for name in ("locator.doc_id", "locator.version"):
        same &= places[name].eq_missing(places[name][row]).to_numpy()
    return np.flatnonzero(same)


def unit_of(columns: Columns, row: int, source: Numbers) -> ReadingUnit | None:
    """The table or section that a row belongs to; None if it stands alone."""
    places = columns.places.select(
        "locator.page", "locator.part", "locator.chapter", "locator.schedule", "locator.section"
    )[source]
    at = int(np.searchsorted(source, row))
    page, *_, section = places.row(at)
    is_law = bool(columns.laws.numbers[row] or columns.law_ids.numbers[row])
    if page is None and not (section and is_law):
        return None
    keys = [key[0] if page is not None else key[1:] for key in places.iter_rows()]
    first, last = at, at
    while first > 0 and keys[first - 1] == keys[at]:
        first -= 1
    while last + 1 < len(keys) and keys[last + 1] == keys[at]:
        last += 1
    before = first - 1
    while before > 0 and keys[before - 1] == keys[before]:
        before -= 1
    return ReadingUnit(
        is_page=page is not None,
        rows=[int(other) for other in source[first : last + 1]],
        before=int(source[before]) if before >= 0 else None,
        after=int(source[last + 1]) if last + 1 < len(keys) else None,
    )


def rest_of_section(service: Service, corpus: str, doc_id: str) -> list[Document]:
    """The other moments of the section that a moment stands in; nothing of what stands alone."""
    opened = corpus_named(corpus, service.home)
    row = opened.row(doc_id)
    if row is None:
        return []
    columns = columns_of(opened)
    unit = unit_of(columns, row, source_rows(columns, row))
    if unit is None or unit.is_page:
        return []
    return [opened.at(other) for other in unit.rows if other != row]


def when_in_force(service: Service, corpus: str, doc_id: str) -> str:
    """Whether a provision is in force today, since when, and what is unknown about that."""
    opened = corpus_named(corpus, service.home)
    row = opened.row(doc_id)
    found = statuses_of_open_corpus(str(opened.data_folder))
    status = found.status(row, today()) if row is not None else ""
    if row is None or not status:
        return ""
    begins, ends = found.periods[row]
    if not begins:
        return f"{status}; since when is not known"
    until = f" until {ends}" if ends else ""
    if found.is_dated(row) or status != IN_FORCE:
        return f"{status}: from {begins}{until}"
    return f"{status}; its act from {begins}{until}; since when it stands so itself is not known"


# ── the page of a document ────────────────────────────────────────────────────────────────────────

# Limits of what a page shows, and of what is read as an address or a heading: taste.
MOST_LINKS = 200  # in each direction
MOST_QUERY = 4_000  # characters
NARROW = 45  # the middle line of an address or a list is shorter than this
HEADING = 80  # characters of a heading at most
LANGUAGE_CHARACTERS = 2_000  # characters that tell the language

# Sections of an opinion in the order they are read, and the fields that have them.
OPINION = {
    "question": ("question", "question_synthetic"),
    "conclusion": ("conclusion", "conclusion_synthetic"),
    "summary": ("summary",),
    "facts": ("facts",),
    "analysis": ("analysis",),
}
SHOWN_ELSEWHERE = {
    "qa_text",
    "section_title",
    *(name for names in OPINION.values() for name in names),
}

Form = Literal["opinion", "act", "report", "text"]
Shape = Literal["text", "lines", "heading"]


class LinkedText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run of text: plain, marked as a word of the query, or a citation that leads on."""

    text: str
    marked: bool = False
    to: str = ""  # the id of the document it cites


class Paragraph(msgspec.Struct, frozen=True, kw_only=True):
    """`lines` keeps its line breaks: an address, a list."""

    shape: Shape
    pieces: tuple[LinkedText, ...]


class DocumentTable(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    header: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    here: int = -1  # the row that was asked for


class DocumentSection(msgspec.Struct, frozen=True, kw_only=True):
    """A named part of the document itself. `derived`: a summary by those who made the corpus, not
    the words of the source."""

    name: str
    paragraphs: tuple[Paragraph, ...]
    derived: bool = False


class DocumentPart(msgspec.Struct, frozen=True, kw_only=True):
    """A document of the same section or page; `here` is the one that was asked for."""

    doc_id: str
    label: str  # the number of the moment; empty for what has none
    here: bool
    paragraphs: tuple[Paragraph, ...] = ()
    table: DocumentTable | None = None


class DocumentLink(msgspec.Struct, frozen=True, kw_only=True):
    doc_id: str
    title: str
    date: str = ""


class UnresolvedCitation(msgspec.Struct, frozen=True, kw_only=True):
    """A citation that leads to no document here."""

    text: str
    kind: str
    status: str


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """A version of the same provision at another time."""

    doc_id: str
    valid_from: str
    valid_to: str
    here: bool


class DocumentPage(msgspec.Struct, frozen=True, kw_only=True):
    corpus: str
    id: str
    title: str
    form: Form
    language: str
    direction: Literal["ltr", "rtl"]
    date: str = ""
    topic: str = ""
    original: str = ""  # its address on the web
    path: tuple[str, ...] = ()  # law, part, chapter, section: where it stands
    sections: tuple[DocumentSection, ...] = ()
    parts: tuple[DocumentPart, ...] = ()
    statutes: tuple[str, ...] = ()
    cites: tuple[DocumentLink, ...] = ()
    cited_by: tuple[DocumentLink, ...] = ()
    cited_by_count: int = 0
    unresolved: tuple[UnresolvedCitation, ...] = ()
    versions: tuple[Version, ...] = ()
    before: DocumentLink | None = None
    after: DocumentLink | None = None
    similar: tuple[Similar, ...] = ()
    words: tuple[str, ...] = ()  # of the query, as they stand here


def document_page(service: Service, corpus: str, doc_id: str, query: str = "") -> DocumentPage:
    """A document with everything around it; the words of `query` are marked."""
    opened = corpus_for(service, corpus)
    row = opened.corpus.row(doc_id)
    if row is None:
        raise NotHere(f"no document {doc_id!r} in corpus {corpus!r}")
    document = opened.get(doc_id)
    columns = opened.columns
    source = source_rows(columns, row)
    unit = unit_of(columns, row, source)
    around = [row] if unit is None else unit.rows
    members = [document if other == row else opened.at(other) for other in around]
    words = _words(query, opened, document, members)
    language = document.language or detect(document.text[:LANGUAGE_CHARACTERS])
    cited, cited_by = opened.corpus.cites(doc_id), opened.corpus.cited_by(doc_id)
    return DocumentPage(
        corpus=opened.corpus.name,
        id=doc_id,
        title=document.title or doc_id,
        form=_form(document, unit),
        language=language,
        direction="rtl" if language in ("he", "ar") else "ltr",
        date=columns.dates[row],
        topic=columns.topics.names[columns.topics.numbers[row]],
        original=_web_address(document.metadata.get("url")),
        path=_path(document),
        sections=_sections(document, words, _targets(opened, row), cited[:MOST_LINKS])
        if unit is None
        else (),
        parts=_parts(opened, unit, members, row, words) if unit is not None else (),
        statutes=statutes_of(columns, row),
        cites=tuple(_link(opened, other) for other in cited[:MOST_LINKS]),
        cited_by=tuple(_link(opened, other) for other in cited_by[:MOST_LINKS]),
        cited_by_count=len(cited_by),
        unresolved=_unresolved(columns, row),
        versions=_versions(opened, row),
        before=_neighbour(opened, unit.before) if unit else None,
        after=_neighbour(opened, unit.after) if unit else None,
        similar=similar(service, corpus, doc_id),
        words=tuple(sorted(words)),
    )


# ── the text ──────────────────────────────────────────────────────────────────────────────────────

Words = frozenset[str]
Target = tuple[int, int, str]  # from, to, the id of what is cited there
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _words(
    query: str, corpus: OpenCorpus, document: Document, members: Sequence[Document]
) -> Words:
    """The words of the query in the forms that the page has them, and those that the search showed
    beside the result."""
    asked = query[:MOST_QUERY]
    if not asked.strip():
        return frozenset()
    shown = [text for member in members for text in (member.text, *member.fields.values())]
    _, found = corpus.engine.snippet(asked, document)
    return frozenset((*passages(asked, document, shown_texts=shown).words, *found))


def _sections(
    document: Document, words: Words, targets: Sequence[Target], cited: Sequence[str]
) -> tuple[DocumentSection, ...]:
    """The separate sections of the source, then the whole text. A summary stands in for an answer.
    `cited` documents are links even if only their number is named."""
    sections = []
    for name, fields in OPINION.items():
        text = first_field(document, *fields)
        if not text or (name == "summary" and first_field(document, *OPINION["conclusion"])):
            continue
        derived = name == "summary" or not document.fields.get(fields[0], "").strip()
        paragraphs = tuple(_paragraphs(text, words, _named_documents(text, cited)))
        sections.append(DocumentSection(name=name, paragraphs=paragraphs, derived=derived))
    for name, text in document.fields.items():
        if name not in SHOWN_ELSEWHERE and text.strip():
            paragraphs = tuple(_paragraphs(text, words, _named_documents(text, cited)))
            sections.append(DocumentSection(name=name, paragraphs=paragraphs))
    if document.text.strip():
        whole = tuple(
            _paragraphs(document.text, words, _named_documents(document.text, cited, targets))
        )
        sections.append(DocumentSection(name="text", paragraphs=whole))
    return tuple(sections)


def _paragraphs(text: str, words: Words, targets: Sequence[Target] = ()) -> Iterator[Paragraph]:
    """Lines that were broken to fit a page are joined; short ones are kept as they stand."""
    clean = CONTROL.sub(" ", text.replace("\r", "\n"))
    for found in re.finditer(r"\S(?:.|\n(?!\s*\n))*", clean):
        start, end = found.span()
        end = start + len(found[0].rstrip())
        lines = clean[start:end].split("\n")
        shape = _shape(lines)
        if shape != "lines":
            clean = clean[:start] + clean[start:end].replace("\n", " ") + clean[end:]
        yield Paragraph(shape=shape, pieces=tuple(_pieces(clean, (start, end), words, targets)))


def _shape(lines: Sequence[str]) -> Shape:
    if len(lines) == 1:
        line = lines[0].strip()
        return "heading" if len(line) <= HEADING and line.isupper() else "text"
    lengths = sorted(len(line.strip()) for line in lines)
    return "lines" if lengths[len(lengths) // 2] < NARROW else "text"


def _pieces(
    text: str, span: tuple[int, int], words: Words, targets: Sequence[Target]
) -> Iterator[LinkedText]:
    """The text from end to end, cut where a mark or a link begins or ends."""
    at, end = span
    for begins, ends, doc_id in targets:
        if at <= begins and ends <= end:
            yield from _marked(text[at:begins], words)
            yield LinkedText(text=text[begins:ends], to=doc_id)
            at = ends
    yield from _marked(text[at:end], words)


def _marked(text: str, words: Words) -> Iterator[LinkedText]:
    at = 0
    for word in WORD.finditer(text) if words else ():
        if word[0].lower() in words:
            if word.start() > at:
                yield LinkedText(text=text[at : word.start()])
            yield LinkedText(text=word[0], marked=True)
            at = word.end()
    if at < len(text):
        yield LinkedText(text=text[at:])


def marked(text: str, words: Sequence[str]) -> tuple[LinkedText, ...]:
    """A passage with these words marked, whatever their case."""
    return tuple(_marked(CONTROL.sub(" ", text), frozenset(word.lower() for word in words)))


def _targets(corpus: OpenCorpus, row: int) -> list[Target]:
    """The citations of documents in the corpus, in the order of the text, without overlaps."""
    cited = corpus.columns.citations_of(row).filter(status="resolved").sort("start")
    targets: list[Target] = []
    for begins, ends, rows in cited.select("start", "end", "targets").iter_rows():
        if begins >= (targets[-1][1] if targets else 0) and rows:
            targets.append((begins, ends, corpus.at(rows[0]).id))
    return targets


def _named_documents(text: str, cited: Sequence[str], known: Sequence[Target] = ()) -> list[Target]:
    """The known links and the places where the number of a cited document stands, such as
    "(83-116)"."""
    ids = sorted((id for id in cited if re.search(r"\d\W\d", id)), key=len, reverse=True)
    if not ids:
        return list(known)
    numbers = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, ids))})(?![\w-])")
    found = [(*match.span(), match.group()) for match in numbers.finditer(text)]
    apart = [
        place
        for place in found
        if not any(place[0] < end and begin < place[1] for begin, end, _ in known)
    ]
    return sorted([*known, *apart])


# ── where it stands ───────────────────────────────────────────────────────────────────────────────


def _form(document: Document, unit: ReadingUnit | None) -> Form:
    if unit is not None:
        return "report" if unit.is_page else "act"
    return "opinion" if any(first_field(document, *names) for names in OPINION.values()) else "text"


def _path(document: Document) -> tuple[str, ...]:
    """The path from the law down to its section."""

    def said(*keys: str) -> str:
        texts = (document.metadata.get(key) for key in keys)
        return " ".join(text.strip() for text in texts if isinstance(text, str) and text.strip())

    law = said("law_title") or said("law")
    number = said("law_id")
    place = document.locator
    return tuple(
        step
        for step in (
            f"{law} ({number})" if law and number else law or number,
            said("part", "part_title"),
            said("chapter", "chapter_title"),
            (place.schedule or "") if place and law else "",
        )
        if step
    )


def _parts(
    corpus: OpenCorpus, unit: ReadingUnit, members: Sequence[Document], row: int, words: Words
) -> tuple[DocumentPart, ...]:
    """A row of a table is read in its table."""
    parts = []
    asked = next(member for other, member in zip(unit.rows, members, strict=True) if other == row)
    own_table = asked.locator.table if _is_row(asked) and asked.locator else None
    for other, member in zip(unit.rows, members, strict=True):
        if _is_row(member):
            continue
        place = member.locator
        is_own = own_table is not None and place is not None and place.table == own_table
        table = _table(member)
        if table and is_own:
            table = msgspec.structs.replace(table, here=_row_number(asked) - 1)
        targets = _targets(corpus, other)
        moment = member.locator.moment if member.locator else None
        parts.append(
            DocumentPart(
                doc_id=member.id,
                label=moment or "",
                here=other == row or is_own,
                paragraphs=() if table else tuple(_paragraphs(member.text, words, targets)),
                table=table,
            )
        )
    return tuple(parts)


def _is_row(document: Document) -> bool:
    return document.metadata.get("type") == "row"


def _row_number(document: Document) -> int:
    """The number of a row in its table, from its id: p15:t1:r3."""
    found = re.search(r":r(\d+)$", document.id)
    return int(found[1]) if found else 0


class _Cells(msgspec.Struct):
    rows: list[list[str]]
    header: list[list[str]] = []
    title: str = ""


def _table(document: Document) -> DocumentTable | None:
    """The cells that the importer kept, in full rows."""
    try:
        cells = msgspec.convert(document.metadata.get("table"), thread_safe(_Cells))
    except msgspec.ValidationError:
        return None
    width = max((len(row) for row in (*cells.header, *cells.rows)), default=0)

    def filled(rows: list[list[str]]) -> tuple[tuple[str, ...], ...]:
        return tuple((*row, *[""] * (width - len(row))) for row in rows)

    return DocumentTable(title=cells.title, header=filled(cells.header), rows=filled(cells.rows))


def _neighbour(corpus: OpenCorpus, row: int | None) -> DocumentLink | None:
    return None if row is None else _link(corpus, corpus.at(row).id)


# ── what is around it ─────────────────────────────────────────────────────────────────────────────


def _link(corpus: OpenCorpus, doc_id: str) -> DocumentLink:
    row = corpus.corpus.row(doc_id)
    assert row is not None, doc_id
    columns = corpus.columns
    return DocumentLink(doc_id=doc_id, title=columns.titles[row] or doc_id, date=columns.dates[row])


def _unresolved(columns: Columns, row: int) -> tuple[UnresolvedCitation, ...]:
    """Statutes have chips; what remains is other people's letters, opinions and cases."""
    cited = columns.citations_of(row).select("normal", "kind", "status")
    return tuple(
        UnresolvedCitation(text=normal, kind=kind, status=status)
        for normal, kind, status in cited.iter_rows()
        if status in ("missing", "ambiguous", "no-document") and kind not in STATUTES
    )


def _versions(corpus: OpenCorpus, row: int) -> tuple[Version, ...]:
    """The versions of the same moment at other times, the newest first; empty if there is only
    one."""
    columns = corpus.columns
    places = columns.places
    if not places["locator.section"][row] or not columns.law_ids.numbers[row]:
        return ()
    same = columns.law_ids.numbers == columns.law_ids.numbers[row]
    for name in ("chapter", "schedule", "section", "moment"):
        column = places[f"locator.{name}"]
        same &= column.eq_missing(column[row]).to_numpy()
    rows = np.flatnonzero(same).tolist()
    if len(rows) < 2:
        return ()
    held = valid_periods(
        ("here", places["valid_from"][other], places["valid_to"][other]) for other in rows
    )
    versions = [
        Version(doc_id=corpus.at(other).id, valid_from=begins, valid_to=ends, here=other == row)
        for other, (begins, ends) in zip(rows, held, strict=True)
    ]
    return tuple(sorted(versions, key=lambda version: version.valid_from, reverse=True))


def _web_address(value: object) -> str:
    is_one = isinstance(value, str) and re.match(r"https?://[\w.-]+(?:[/:]|$)", value)
    return str(value) if is_one else ""

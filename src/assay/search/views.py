"""A document as the engine sees it: named texts for the lexical indexes, parts for the encoder."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from assay.core.types import Document, Locator
from assay.law.places import Cited, normal_chapter
from assay.law.versions import status_of_text
from assay.search.arrays import Array
from assay.search.reports.documents import ReportTexts, reported
from assay.search.sentence_index import shown_texts

# titles of provisions that say from when on an act applies
TRANSITIONAL = re.compile(
    r"siirtymäsään|voimaantulo|kumottav"
    r"|transitional|entry into force|commencement"
    r"|הוראות? מעבר|הוראת מעבר|^תחילה",
    re.I,
)
# a question about these
ASKS_WHEN = re.compile(
    r"siirtym|voimaan|kumot|transition|into force|repeal|הורא\w+ מעבר|תחולה|תחיל|בוטל", re.I
)
SEPARATOR = "\t"  # between the steps of a place
SHORT_FIELDS = ("question", "question_synthetic", "conclusion", "conclusion_synthetic", "summary")


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Texts with the most tokens of each, cut together at `most`; then what the document cites.
    `act` is the name of the act that a provision belongs to."""

    texts: tuple[tuple[str, int], ...]
    most: int
    cited: str = ""
    act: str = ""


class View(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    body: str
    short: str
    tags: str
    group: str  # the section this moment belongs to, or nothing
    section: str  # section, moment, chapter and schedule: what a question may name
    act: str
    is_transitional: bool  # says from when on the act applies, or that it is repealed
    dense: Parts  # what the encoder reads
    shown: list[str]  # what a passage is shown of
    reported: ReportTexts | None = None  # of a report


NO_PARTS = Parts(texts=(), most=0)


def body_length(document: Document) -> int:
    """Characters of the body of its view."""
    intro = document.fields.get("intro", "")
    return len(document.text) + (len(intro) + 1 if intro else 0)


def view_of(document: Document, *, dense: bool = True, report: bool = False) -> View:
    """Without `dense`, nothing is prepared for an encoder; `report` for a collection of them."""
    fields = document.fields
    metadata = document.metadata
    locator = document.locator
    group = ""
    section = ""
    act = ""
    if locator and locator.section:
        place = (locator.doc_id, metadata.get("schedule"), metadata.get("chapter"), locator.section)
        group = "\0".join(str(step or "") for step in place)
        section = _named_place(locator, metadata.get("chapter"), metadata.get("schedule"))
        act = locator.doc_id or ""
    heading = fields.get("section_title") or metadata.get("section_title") or ""
    title = str(heading) if group else document.title
    body = f"{fields['intro']} {document.text}" if fields.get("intro") else document.text
    tags = metadata.get("tags")
    is_later = TRANSITIONAL.search(title) or status_of_text(document.text)
    return View(
        id=document.id,
        title=title,
        body=body,
        short=" ".join(fields[name] for name in SHORT_FIELDS if fields.get(name)),
        tags=" ".join(map(str, tags)) if isinstance(tags, list) else "",
        group=group,
        section=section,
        act=str(metadata.get("law") or act),
        is_transitional=bool(group and is_later),
        dense=_dense_parts(document, title, body) if dense else NO_PARTS,
        shown=shown_texts(document),
        reported=reported(document) if report else None,
    )


def _named_place(locator: Locator, chapter: object, schedule: object) -> str:
    """A corpus of an earlier version has chapter and schedule in its metadata alone."""
    steps = (
        locator.section,
        locator.moment,
        locator.chapter or normal_chapter(chapter),
        locator.schedule or schedule,
    )
    return SEPARATOR.join(str(step or "").replace(SEPARATOR, " ") for step in steps)


def section_key(sections: Sequence[str], act_of: Array, row: int) -> tuple[object, ...]:
    """What tells the sections of a collection apart, from the places and acts of its documents; a
    document that has no section is one itself."""
    place = sections[row] if sections else ""
    if not place:
        return (row,)
    section, _, *chapter_and_schedule = place.split(SEPARATOR)
    return (int(act_of[row]), section, *chapter_and_schedule)


def section_starts(sections: Sequence[str], act_of: Array, size: int) -> Array:
    """The first row of each section: its documents stand together."""
    keys = [section_key(sections, act_of, row) for row in range(size)]
    return np.array([row for row in range(size) if not row or keys[row] != keys[row - 1]])


def section_texts(parts: Sequence[tuple[str, str, str]]) -> list[str]:
    """For each moment the text of its whole section: what one moment leaves unsaid stands in its
    neighbour. `parts` are the section (group), title and body of each moment."""
    texts: dict[str, list[str]] = {}
    for group, _, body in parts:
        if group:
            texts.setdefault(group, []).append(body)
    return [" ".join([title, *texts[group]]) if group else "" for group, title, _ in parts]


def _dense_parts(document: Document, title: str, body: str) -> Parts:
    """An opinion by its question and conclusion, then what it cites; anything else by title and
    text."""
    fields = document.fields
    asked = _clean(fields.get("question_synthetic", ""), 500)
    question = _clean(fields.get("question", ""), 700)
    concluded = _clean(fields.get("conclusion") or fields.get("conclusion_synthetic") or "", 700)
    if not (asked or question or concluded):
        if not fields.get("summary"):
            act = str(document.metadata.get("law") or "")
            return Parts(texts=((f"{title} {body[:4_000]}".strip(), 254),), most=254, act=act)
        summary = _clean(f"{fields['summary']} {document.text[250:1_800]}", 2_300)
        return Parts(texts=((summary, 160),), most=230, cited=_cited(document))
    texts = [(asked, 80), (question, 90 if asked else 120), (concluded, 90)]
    if sum(len(text.split()) for text, _ in texts) < 45:
        texts.append((_clean(fields.get("summary", ""), 500), 60))
        texts.append((_clean(fields.get("analysis", ""), 900), 100))
    filled = tuple((text, most) for text, most in texts if text)
    return Parts(texts=filled, most=230, cited=_cited(document))


def _cited(document: Document) -> str:
    lists = [document.metadata.get(key, [])[:8] for key in ("government_code", "regulations")]
    return ", ".join(str(name) for names in lists for name in names)


def _clean(text: str, most: int) -> str:
    return re.sub(r"\s+", " ", text).strip()[:most]


def is_place_named(place: str, named: list[Cited]) -> float:
    """1 for the moment that is named, or any of a named section; half for another moment of it, and
    half for one in a schedule where none is named: a bare number is one of the act's body.
    `place` is as an index keeps it; a chapter or schedule that is not known refutes nothing."""
    if not place:
        return 0.0
    section, moment, chapter, schedule = place.split(SEPARATOR)
    shares = [
        (1.0 if cited.has_moment(moment) else 0.5) * (0.5 if schedule and not cited.schedule else 1)
        for cited in named
        if cited.has_section(section)
        and (not cited.chapter or not chapter or cited.chapter == chapter)
        and (not cited.schedule or cited.schedule == schedule)
    ]
    return max(shares, default=0.0)

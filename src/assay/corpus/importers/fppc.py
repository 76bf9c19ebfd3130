"""Advisory opinions as `{year}/*.json`, one document an opinion.

The record's own id is the document's id; a record without one is named by its file, with the folder
before it where two files have the same name. `metadata["numbers"]` are the file numbers the letter
carries itself, in its heading, its title or its id: what other letters cite it by."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.core.files import decode
from assay.core.types import Document, Locator
from assay.corpus.importers.jsonl import unreadable
from assay.corpus.importers.source import Options, Problem, Unit, files_below, path_of
from assay.law import en
from assay.law.citation import Scheme

SCHEME = Scheme(language="en", code="Gov. Code", regulation=r"18\d{3}")
VERSION = 1
OPTIONS: tuple[str, ...] = ()
SECTIONS = (
    "question",
    "question_synthetic",
    "conclusion",
    "conclusion_synthetic",
    "facts",
    "analysis",
)
# Where the specification's coverage table finds each of its fields in a document.
COVERAGE = {
    "sections.question": "fields.question",
    "sections.question_synthetic": "fields.question_synthetic",
    "sections.conclusion": "fields.conclusion",
    "sections.conclusion_synthetic": "fields.conclusion_synthetic",
    "sections.facts": "fields.facts",
    "sections.analysis": "fields.analysis",
    "content.full_text": "text",
    "embedding.qa_text": "fields.qa_text",
    "embedding.summary": "fields.summary",
    "citations.government_code": "metadata.government_code",
    "citations.prior_opinions": "metadata.prior_opinions",
    "classification.topic_primary": "metadata.topic_primary",
    "parsed.date": "metadata.date",
    "extraction.quality_score": "metadata.quality_score",
}
LABELS = {"opinion": "Opinion", "correspondence": "Correspondence"}
HEAD = 2500  # a letter's own number stands in its heading

_OWN = re.compile(r"(?i)\b(?:our\s+)?file\s+n[o0]s?\b\.?|\bre\s?:|\bno\.\s*(?=[A-Z]-\d\d-\d)")
_STOP = re.compile(
    r"(?i)\bdear\b|\n\s*\n\s*\n|\bthis (?:letter|is)\b|\byou (?:have|are)\b|advice letter,"
)
_BARE = re.compile(r"(?<![\w-])(?:19|20)?\d\d-\d{3}(?:[a-zA-Z]\b|\([a-z]\))?(?![\w-]*\d)")
_MATTER = re.compile(
    r"(?is)\bbefore\s+the\s+[a-z ]{3,60}commission\b.{0,80}?in\s+the\s+matter\s+of"
)
_REQUESTED = re.compile(r"(?i)opinions?\s+requested\s+by\s*:?")
_REPORTED = re.compile(r"(?<!\d)(\d{1,2})\s+F[^\s\d]{1,5}\s*OPINION\S{0,2}\s+/?(\d{1,3})(?!\d)")
_AGENCY = re.compile(r"(?i)fair\s+political\s+practices?|public\s+integrity\s+commission")
_SENDER = re.compile(
    r"(?i)\b(?:from|rom|by)\s*:?\s*$"
)  # a memorandum of the Commission's own staff
_DEAR = re.compile(r"\bDear\b|\bGentlemen\b|\bLadies\b")
_DATE = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d{1,2},?\s+\d{4}"
)
_NAME_WORD = re.compile(r"[A-Z][A-Za-z’']+(?:-[A-Z][a-z]+)?")


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, (".json",))


def read(source: str, unit: Unit, options: Options) -> Iterator[Document | Problem]:
    path = path_of(source, unit)
    try:
        data = path.read_bytes()
        decode(data, path)
        record = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        yield unreadable(path, error)
        return
    except InputError as error:
        yield Problem(code="bad-encoding", where=error.where, reason=error.message)
        return
    except (msgspec.DecodeError, RecursionError) as error:
        reason = "the file is empty" if not data.strip() else f"not valid JSON: {error}"
        yield Problem(code="bad-json", where=str(path), reason=reason)
        return
    if not isinstance(record, dict) or not isinstance(record.get("content"), dict):
        yield Problem(
            code="bad-record", where=str(path), reason="not an opinion: no `content` in the record"
        )
        return
    yield _document(record, unit)


def _document(record: dict[str, Any], unit: Unit) -> Document:
    parsed, sections, embedding = (
        _object(record, key) for key in ("parsed", "sections", "embedding")
    )
    text = _text(_object(record, "content").get("full_text"))
    title = html.unescape(_text(_object(record, "source_metadata").get("title_raw")))
    fields = {name: _text(sections.get(name)) for name in SECTIONS}
    fields |= {name: _text(embedding.get(name)) for name in ("qa_text", "summary")}
    doc_id = _text(record.get("id")) or unit.id
    metadata = _metadata(record, title, text, doc_id)
    year = metadata.get("year")
    return Document(
        id=doc_id,
        title=_title(metadata, doc_id),
        text=text,
        fields={name: value for name, value in fields.items() if value},
        locator=Locator(doc_id=doc_id),
        citations=_citations(_object(record, "citations")),
        language="en",
        valid_from=_text(parsed.get("date")) or (str(year) if year else ""),
        metadata=metadata,
    )


def _metadata(record: dict[str, Any], title: str, text: str, doc_id: str) -> dict[str, Any]:
    parsed, cited, extraction, classes = (
        _object(record, key) for key in ("parsed", "citations", "extraction", "classification")
    )
    matter = _MATTER.search(text, 0, HEAD)
    printed = printed_numbers(text, matter)
    metadata: dict[str, Any] = {
        "type": _text(parsed.get("document_type")),
        "year": record.get("year"),
        "date": _text(parsed.get("date")),
        "topic_primary": _text(classes.get("topic_primary")),
        "topic_secondary": _text(classes.get("topic_secondary")),
        "quality_score": extraction.get("quality_score"),
        "word_count": extraction.get("word_count"),
        "page_count": extraction.get("page_count"),
        "extraction_method": _text(extraction.get("method")),
        "requestor_name": " ".join(_text(parsed.get("requestor_name")).split()),
        "requestor_title": " ".join(_text(parsed.get("requestor_title")).split()),
        "requestor_city": _text(parsed.get("requestor_city")),
        "title_raw": title,
        "url": _text(record.get("pdf_url")),
        "numbers": printed,
        "title_numbers": _title_numbers(title, record.get("year")),
        "names": _names(title, _text(parsed.get("requestor_name")), text, matter),
        "addressed_to": _addressed_to(text),
        "reported_at": _reported_at(text) if matter or "OPINION" in text[:200] else "",
        "commission_opinion": bool(matter),
        "request": _is_request(text),
    }
    metadata |= {
        key: _strings(cited.get(key))
        for key in ("government_code", "regulations", "prior_opinions", "external")
    }
    return {key: value for key, value in metadata.items() if value not in (None, "", [], False)}


def printed_numbers(text: str, matter: re.Match[str] | None = None) -> list[str]:
    """The file numbers in a letter's heading, or in the caption of a Commission opinion."""
    if matter:
        caption = text[matter.end() : matter.end() + 500]
        found = re.search(
            r"N[oO]\.?\s*(\d\d-\d{3})(?:-([A-Z]))?", re.split(r"BY THE COMMISSION", caption)[0]
        )
        return [found[1] + (found[2] or "").lower()] if found else []
    numbers: list[str] = []
    for mark in _OWN.finditer(text[:HEAD]):
        window = text[mark.start() : mark.start() + 220]
        stop = _STOP.search(window, 4)
        window = window[: stop.start()] if stop else window
        for citation in en.parse(window, SCHEME):
            if citation.kind == "letter":
                numbers.append(citation.normal.removeprefix("No. "))
        if mark[0].lower().startswith(("our", "file")):
            numbers += [
                number
                for number in _BARE.findall(window)
                if not any(number in other for other in numbers)
            ]
        if numbers:
            break
    return list(dict.fromkeys(numbers))


def _title_numbers(title: str, year: object) -> list[str]:
    """Numbers in the title a site gave the letter: 'A-20-131', '91-506.pdf', '1991-91115-Brokaw,
    Barry'."""
    numbers = [c.normal.removeprefix("No. ") for c in en.parse(title, SCHEME) if c.kind == "letter"]
    if named := re.match(r"(\d\d-\d{3}[a-z]?)\.pdf$", title):
        numbers.append(named[1])
    if filed := re.match(r"(?:19|20)(\d\d)-\1(\d{3})\b", title):
        numbers.append(f"{filed[1]}{filed[2]}")  # without a dash, as the ids of requests are
    return list(dict.fromkeys(numbers))


def _names(title: str, requestor: str, text: str, matter: re.Match[str] | None) -> list[str]:
    """Surnames the letter may be cited by."""
    names = []
    if listed := re.match(r"(?:\d{4}-\d{5}-)?([A-Z][A-Za-z’' -]+),", title):
        names.append(listed[1])
    elif leading := re.match(r"([A-Z][^-–\d]{3,40}?)\s+-\s", title):
        names.append(leading[1].split()[-1])
    if requestor:
        names.append(requestor.split()[-1])
    if matter and (asked := _REQUESTED.search(text, matter.end(), matter.end() + 300)):
        names += _NAME_WORD.findall(text[asked.end() : asked.end() + 90])
    return list(dict.fromkeys(name.strip().title() for name in names if len(name) > 2))


def _addressed_to(text: str) -> list[str]:
    """The names in the address and the salutation, people and places alike: what a citation may
    call the letter."""
    date, dear = _DATE.search(text[:HEAD]), _DEAR.search(text[:HEAD])
    if not dear:
        return []
    start = date.end() if date and date.end() < dear.start() else max(0, dear.start() - 300)
    address = re.split(r"\bR[eE]\s?:|\bRE\b", text[max(start, dear.start() - 400) : dear.start()])[
        0
    ]
    salutation = text[dear.end() : dear.end() + 60].split("\n")[0]
    words = _NAME_WORD.findall(f"{address} {salutation}")
    return list(dict.fromkeys(word for word in words if len(word) > 2))


def _is_request(text: str) -> bool:
    """A letter to the Commission has its name in the address, under a date or somebody else's
    letterhead; an answer begins with it."""
    agency, dear, date = (pattern.search(text[:HEAD]) for pattern in (_AGENCY, _DEAR, _DATE))
    if (
        not agency
        or (dear and dear.start() < agency.start())
        or _SENDER.search(text[: agency.start()])
    ):
        return False
    return agency.start() > 150 or bool(date and date.start() < agency.start())


def _reported_at(text: str) -> str:
    found = _REPORTED.search(text[:400])
    return f"{found[1]} FPPC Ops. {found[2]}" if found else ""


def _title(metadata: Mapping[str, Any], doc_id: str) -> str:
    label = LABELS.get(str(metadata.get("type")), "Advice Letter")
    number = next(iter(metadata.get("numbers", ())), doc_id)
    name = metadata.get("requestor_name") or next(iter(metadata.get("names", ())), "")
    return f"{name} {label}, No. {number}".strip()


def _citations(cited: Mapping[str, Any]) -> tuple[str, ...]:
    """The record's citations, each said in full: a bare '87103(a)' is a section of the code its
    list is named for."""
    found = [f"Gov. Code § {value}" for value in _strings(cited.get("government_code"))]
    found += [f"Regulation {value}" for value in _strings(cited.get("regulations"))]
    found += [f"No. {value}" for value in _strings(cited.get("prior_opinions"))]
    found += [
        re.sub(r"\s*\((\d{4})\)\s*", r" (\1) ", value) for value in _strings(cited.get("external"))
    ]
    return tuple(found)


def _object(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

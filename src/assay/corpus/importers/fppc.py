"""Import advisory opinions of the FPPC from `{year}/*.json`, one document for each opinion.

The record's own id is the document's id; a record without one is named by its file, with the folder
before it where two files have the same name. `metadata["numbers"]` are the file numbers the letter
carries itself, in its heading, its title or its id: what other letters cite it by.

A record with something odd is read all the same and reported: no id, an id with spaces or a
number for one, a date that is none or lies in the future or in another year than the record says, a
folder of another year, HTML in a text, a field of another kind. What can be mended is: tags are
taken out of the texts, and what is no date is not taken for one.
"""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import NamedTuple, TypeVar

import msgspec

from assay.core.errors import InputError
from assay.core.files import decode
from assay.core.types import Document, Locator
from assay.corpus.importers.foreign_json import convert_fitting_fields, unreadable
from assay.corpus.importers.kinds import Options, Problem, Unit, files_below, path_of
from assay.law import en
from assay.law.citation import Scheme

S = TypeVar("S", bound=msgspec.Struct)
# how often a text has each number, by its decimals and its subdivisions
Written = dict[str, Counter[tuple[str, str]]]
SCHEME = Scheme(language="en", code="Gov. Code", regulation=r"18\d{3}")
VERSION = 7  # raised when the same source gives other documents
WHOLE_SERIES = True  # a file number that no document carries does not exist
OPTIONS: tuple[str, ...] = ()
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
COMMISSION = "Commission Opinion"
_TAG = re.compile(
    r"<(?P<code>script|style)\b[^<>]*>.*?</(?P=code)\s*>|<!--.*?-->"
    r"|</?(?:p|br|div|span|b|i|u|em|strong|sup|sub|table|tbody|thead|tr|td|th|li|ul|ol|a|h[1-6]"
    r"|font|html|head|body|script|style|img|hr)\b[^<>]{0,200}>",
    re.IGNORECASE | re.DOTALL,
)
_ENTITY = re.compile(
    r"&(?:amp|lt|gt|quot|apos|nbsp|sect|[lr][sd]quo|[mn]dash|#\d{2,5}|#[xX][\da-fA-F]{2,5});"
)
_TEXTS = ("content", "sections", "embedding", "parsed", "source_metadata")
_ODD_ID = re.compile(r"\s|[^\w.()~&,+'/-]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[^\W\d_]+")
# what is left of a heading ("QUESTIONS, please call"), or a letterhead in the place of the part
_FRAGMENT = re.compile(
    r"s?[.,;:]|s\s|.{0,200}?(?:\bP\.\s?O\.\s?Box|\(916\)\s*\d|\bOur\s+File\s+No)", re.DOTALL
)
MISREAD = 0.1  # share of words (taste); of 40 such questions drawn at random, five were clean
HEAD = 2500  # characters: a letter's own number stands in its heading (taste)

_OWN = re.compile(r"(?i)\b(?:our\s+)?file\s+n[o0]s?\b\.?|\bre\s?:|\bno\.\s*(?=[A-Z]-\d\d-\d)")
# where the heading of a letter ends
_STOP = re.compile(
    r"(?i)\bdear\b|\n\s*\n\s*\n|\bthis (?:letter|is)\b|\byou (?:have|are)\b|advice letter,"
)
_BARE = re.compile(r"(?<![\w-])(?:19|20)?\d\d-\d{3}(?:[a-zA-Z]\b|\([a-z]\))?(?![\w-]*\d)")
_SECTION = re.compile(
    r"(?<![\d.])(?P<base>\d{4,5})(?P<decimals>\.\d{1,2})?(?!\d)(?P<rest>(?:\s?\(\w{1,4}\))*)"
)
_MATTER = re.compile(
    r"(?is)\bbefore\s+the\s+[a-z ]{3,60}commission\b.{0,80}?in\s+the\s+matter\s+of"
)
_REQUESTED = re.compile(r"(?i)opinions?\s+requested\s+by\s*:?")
_REPORTED = re.compile(r"(?<!\d)(\d{1,2})\s+F[^\s\d]{1,5}\s*OPINION\S{0,2}\s+/?(\d{1,3})(?!\d)")
_AGENCY = re.compile(r"(?i)fair\s+political\s+practices?|public\s+integrity\s+commission")
_COMMISSION_STREET = re.compile(
    r"\bFPPC\b|(?i:political\s+practices\s+comm)|\b428\s+[\"“']?J[\"”']?\s+St|\b1100\s+K\s+St"
)
# a memorandum of the Commission's own staff
_SENDER = re.compile(r"(?i)\b(?:from|rom|by)\s*:?\s*$")
_DEAR = re.compile(r"\bDear\b|\bGentlemen\b|\bLadies\b")
_DATE = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"\s+\d{1,2},?\s+\d{4}"
)
_NAME_WORD = re.compile(r"[A-Z][A-Za-z’']+(?:-[A-Z][a-z]+)?")
# "Dear Ms. de la Cruz:", "Dear Council Member Smith Jones:"; scans run the next sentence on
_HONORIFIC = (
    r"(?:Messe?rs|Mr|Mrs|Ms|Miss|Dr|Prof(?:essor)?|Hon(?:orable)?|Judge|Justice|Senator|Mayor"
    r"|Supervisor|Commissioner|Chair(?:man|woman|person)?|Trustee|Director|President|Treasurer"
    r"|Controller|Sheriff|Chief|Secretary|Governor|Vice|Member|Pro\s+Tem(?:pore)?"
    r"|(?:Assembly|Council|Congress)[ -]?(?:[Mm]an|[Ww]oman|[Mm]ember|[Pp]erson))"
)
_PARTICLES = (
    r"(?:(?:[Vv]an|[Vv]on|[Dd]el?|[Dd]al?|[Dd]i|[Dd]u|[Ll]a|[Ll]e|[Ll]os|[Dd]e[rn]|St\.|Ma?c)\s+)*"
)
_CAPITALISED = r"[A-ZÀ-Þ][A-Za-zÀ-ɏ]*(?:[’'][A-Za-zÀ-ɏ]+)?(?:-[A-ZÀ-Þ][A-Za-zÀ-ɏ]+)*"
_SALUTATION = re.compile(
    rf"\bDear\s+(?:{_HONORIFIC}\b[.,]?\s*)+(?:[A-Z]\.\s*)*"
    rf"(?P<name>{_PARTICLES}{_CAPITALISED}(?P<last>[ \t]+{_CAPITALISED}(?=\s*[:,;]))?)"
)
_SURNAME = re.compile(
    r"Ng|(?!(?:van|von|del?|la|le|mc|mac|i+)$)(?=.*[aeiouyà-ÿ])[A-ZÀ-Þ][A-Za-zÀ-ɏ’'-]+",
    re.IGNORECASE,
)
_CAPTION_NUMBER = re.compile(r"N[oO]\.?\s*(\d\d-\d{3})(?:-([A-Z]))?")


class Content(msgspec.Struct, frozen=True):
    full_text: str = ""


class Sections(msgspec.Struct, frozen=True):
    question: str = ""
    question_synthetic: str = ""
    conclusion: str = ""
    conclusion_synthetic: str = ""
    facts: str = ""
    analysis: str = ""
    extraction_method: str = ""


class Embedding(msgspec.Struct, frozen=True):
    qa_text: str = ""
    summary: str = ""


class Header(msgspec.Struct, frozen=True):
    """The fields that were extracted from a letter's heading."""

    document_type: str = ""
    date: object = ""
    requestor_name: str = ""
    requestor_title: str = ""
    requestor_city: str = ""


class Citations(msgspec.Struct, frozen=True):
    government_code: list[object] | str = []
    regulations: list[object] | str = []
    prior_opinions: list[object] | str = []
    external: list[object] | str = []


class Extraction(msgspec.Struct, frozen=True):
    method: str = ""
    quality_score: object = None
    word_count: object = None
    page_count: object = None


class Classification(msgspec.Struct, frozen=True):
    topic_primary: str = ""
    topic_secondary: str = ""


class SourceMetadata(msgspec.Struct, frozen=True):
    title_raw: str = ""


class Opinion(msgspec.Struct, frozen=True):
    """A record, as far as it is read."""

    id: str | int = ""
    year: object = None
    pdf_url: str = ""
    content: Content = Content()
    sections: Sections = Sections()
    embedding: Embedding = Embedding()
    parsed: Header = Header()
    citations: Citations = Citations()
    extraction: Extraction = Extraction()
    classification: Classification = Classification()
    source_metadata: SourceMetadata = SourceMetadata()


def units(source: str, options: Options) -> list[Unit]:
    return files_below(source, (".json",))


def read(source: str, unit: Unit, options: Options) -> Iterator[Document | Problem]:
    path = path_of(source, unit)
    content = b""
    try:
        content = path.read_bytes()
        decode(content, path)
        record = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        yield unreadable(path, error)
        return
    except InputError as error:
        yield Problem(code="bad-encoding", where=error.where, reason=error.message)
        return
    except (msgspec.DecodeError, RecursionError) as error:
        reason = "the file is empty" if not content.strip() else f"not valid JSON: {error}"
        yield Problem(code="bad-json", where=str(path), reason=reason)
        return
    if not isinstance(record, dict) or not isinstance(record.get("content"), dict):
        reason = "not an opinion: no `content` in the record"
        yield Problem(code="bad-record", where=str(path), reason=reason)
        return
    opinion, unfit = convert_fitting_fields(record, Opinion)
    lost = [name for name in unfit if name != "id"]
    odd = [*_find_oddities(opinion, unit), *_find_unread_fields(lost, opinion.citations)]
    plain = msgspec.structs.replace(
        opinion, **{name: _without_tags(getattr(opinion, name)) for name in _TEXTS}
    )
    if plain != opinion:
        odd.append(("html", "tags or signs of HTML were taken out of it"))
    elif lone := next(_lone_tags(plain), ""):
        odd.append(("html", f"{lone!r} stands in it, and was left: a scanner may have written it"))
    yield _document(_with_written_sections(plain), unit)
    yield from (Problem(code=code, where=str(path), reason=why) for code, why in odd)


def _without_tags(texts: S) -> S:
    """The same texts without tags and entities. One tag alone may be a slip of the scanner."""
    plain = {
        name: html.unescape(_TAG.sub(" ", text))
        for name, text in _items(texts)
        if isinstance(text, str)
        and (_ENTITY.search(text) or sum(1 for _ in _TAG.finditer(text)) > 1)
    }
    return msgspec.structs.replace(texts, **plain) if plain else texts


def _lone_tags(opinion: Opinion) -> Iterator[str]:
    for name in _TEXTS:
        for _, text in _items(getattr(opinion, name)):
            if isinstance(text, str) and (tag := _TAG.search(text)):
                yield tag[0]


def _with_written_sections(opinion: Opinion) -> Opinion:
    """The record with its sections and regulations as the text writes them: records cut 84305.5 to
    84305, which is another section."""
    written: Written = defaultdict(Counter)
    for found in _SECTION.finditer(opinion.content.full_text):
        written[found["base"]][found["decimals"] or "", found["rest"].replace(" ", "")] += 1
    cited = opinion.citations
    lists = {
        name: [
            form for section in _strings(getattr(cited, name)) for form in _forms(section, written)
        ]
        for name in ("government_code", "regulations")
    }
    unique = {name: list(dict.fromkeys(forms)) for name, forms in lists.items()}
    return msgspec.structs.replace(opinion, citations=msgspec.structs.replace(cited, **unique))


def _forms(section: str, written: Written) -> list[str]:
    """A section as it is, where the text has it, and with its decimals. Decimals that stand once
    beside the bare number may be the mark of a footnote."""
    found = _SECTION.match(section)
    if not found or found["decimals"]:
        return [section]
    base, rest = found["base"], section[found.end("base") :]
    counts: Counter[str] = Counter()
    for (form, subdivision), count in written.get(base, {}).items():
        counts[form] += count if subdivision.startswith(rest) else 0
    decimals = [form for form, count in counts.items() if form and (count > 1 or not counts[""])]
    bare = [section] if counts[""] or not decimals else []
    return bare + [f"{base}{form}{rest}" for form in decimals if counts[form]]


def _find_unread_fields(lost: list[str], cited: Citations) -> Iterator[tuple[str, str]]:
    """Fields of a record that have a shape that is not read: (code, why)."""
    if lost:
        yield "bad-field", f"not read, because it has the wrong type: {', '.join(lost)}"
    values = [value for _, values in _items(cited) for value in _as_list(values)]
    if odd := [value for value in values if _as_text(value) is None]:
        yield "bad-field", f"{len(odd)} of its citations are no text, the first {odd[0]!r}"


def _find_oddities(opinion: Opinion, unit: Unit) -> Iterator[tuple[str, str]]:
    """Oddities of a record: (code, why)."""
    doc_id = str(opinion.id)
    if not doc_id.strip():
        yield "no-id", f"the record has no id; it is called {unit.id}, as its file is"
    elif _ODD_ID.search(doc_id) or len(doc_id) > 60 or not isinstance(opinion.id, str):
        yield "odd-id", f"the id is {opinion.id!r}"
    year = int(str(opinion.year)) if str(opinion.year or "").isdecimal() else None
    if opinion.year is not None and year is None:
        yield "bad-date", f"the year is {opinion.year!r}"
    elif year and year > _today().year:
        yield "future-date", f"the year {year} is still to come"
    day = _parse_day(opinion.parsed.date)
    folder = next(
        (part for part in reversed(unit.path.split("/")[:-1]) if _YEAR.fullmatch(part)), ""
    )
    stated = year or (day.year if day else None)
    if folder and stated and int(folder) != stated:
        yield "wrong-folder", f"the folder is {folder}, and the record says {stated}"
    if opinion.parsed.date in ("", None):
        return
    if day is None:
        yield "bad-date", f"the date is {opinion.parsed.date!r}"
    elif day > _today():
        yield "future-date", f"the date {day} is still to come"
    elif year and abs(day.year - year) > 1:
        yield "bad-date", f"the date is {day}, and the record says {year}"


def _today() -> date:
    return datetime.now(tz=UTC).date()


def _parse_day(value: object) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _document(opinion: Opinion, unit: Unit) -> Document:
    doc_id = str(opinion.id).strip() or unit.id
    parts = [part for part in _items(opinion.sections) if part[0] != "extraction_method"]
    texts = [*parts, *_items(opinion.embedding)]
    header = _own_header(opinion)
    metadata = _metadata(opinion, header)
    year, day = metadata.get("year"), _parse_day(opinion.parsed.date)
    return Document(
        id=doc_id,
        title=_title(opinion, header, doc_id),
        text=opinion.content.full_text,
        fields={name: str(text) for name, text in texts if text},
        locator=Locator(doc_id=doc_id),
        citations=_citations(opinion.citations),
        language="en",
        valid_from=day.isoformat() if day and day <= _today() else str(year or ""),
        metadata=metadata,
    )


def _items(struct: msgspec.Struct) -> list[tuple[str, object]]:
    return [(name, getattr(struct, name)) for name in struct.__struct_fields__]


class OwnHeader(NamedTuple):
    """The names and numbers in a letter by which others cite it."""

    title: str
    numbers: list[str]
    title_numbers: list[str]
    names: list[str]
    addressed_to: list[str]
    reported_at: str
    is_commission_opinion: bool
    is_request: bool


def _own_header(opinion: Opinion) -> OwnHeader:
    text = opinion.content.full_text
    title = html.unescape(opinion.source_metadata.title_raw)
    matter = _MATTER.search(text, 0, HEAD)
    return OwnHeader(
        title=title,
        numbers=printed_numbers(text, matter),
        title_numbers=_title_numbers(title),
        names=_names(title, opinion.parsed.requestor_name, text, matter),
        addressed_to=_addressed_to(text),
        reported_at=_reported_at(text) if matter or "OPINION" in text[:200] else "",
        is_commission_opinion=bool(matter),
        is_request=_is_request(text),
    )


def _metadata(opinion: Opinion, header: OwnHeader) -> dict[str, object]:
    metadata: dict[str, object] = {
        "type": opinion.parsed.document_type,
        "year": opinion.year,
        "date": opinion.parsed.date,
        "topic_primary": opinion.classification.topic_primary,
        "topic_secondary": opinion.classification.topic_secondary,
        "quality_score": opinion.extraction.quality_score,
        "word_count": opinion.extraction.word_count,
        "page_count": opinion.extraction.page_count,
        "extraction_method": opinion.extraction.method,
        "requestor_name": _one_line(opinion.parsed.requestor_name),
        "requestor_title": _one_line(opinion.parsed.requestor_title),
        "requestor_city": opinion.parsed.requestor_city,
        "title_raw": header.title,
        "url": opinion.pdf_url,
        "numbers": header.numbers,
        "title_numbers": header.title_numbers,
        "names": header.names,
        "addressed_to": header.addressed_to,
        "reported_at": header.reported_at,
        "commission_opinion": header.is_commission_opinion,
        "request": header.is_request,
        "misread": _misread_parts(opinion),
    }
    for name in opinion.citations.__struct_fields__:
        metadata[name] = _strings(getattr(opinion.citations, name))
    return {key: value for key, value in metadata.items() if value not in (None, "", [], False)}


def _misread_parts(opinion: Opinion) -> list[str]:
    """The parts of a letter that cannot be shown as they are: cut from a worse scan, so that many
    of their words are not in the text, or cut in the wrong place."""
    known = set(_WORD.findall(opinion.content.full_text.lower()))
    reworded = opinion.sections.extraction_method == "llm"
    misread = []
    for name in ("question", "conclusion", "facts", "analysis"):
        text = getattr(opinion.sections, name).strip()
        words = _WORD.findall(text.lower())
        strange = 0 if reworded else sum(word not in known for word in words)
        if _FRAGMENT.match(text) or strange >= max(2, MISREAD * len(words)):
            misread.append(name)
    return misread


def _one_line(text: str) -> str:
    return " ".join(text.split())


def printed_numbers(text: str, matter: re.Match[str] | None = None) -> list[str]:
    """The file numbers in a letter's heading, or in the caption of a Commission opinion."""
    if matter:
        caption = text[matter.end() : matter.end() + 500].split("BY THE COMMISSION")[0]
        number = _CAPTION_NUMBER.search(caption)
        return [number[1] + (number[2] or "").lower()] if number else []
    numbers: list[str] = []
    for mark in _OWN.finditer(text[:HEAD]):
        window = text[mark.start() : mark.start() + 220]
        stop = _STOP.search(window, 4)
        window = window[: stop.start()] if stop else window
        numbers += _letters_cited(window)
        if mark[0].lower().startswith(("our", "file")):
            bare = _BARE.findall(window)
            numbers += [number for number in bare if not any(number in known for known in numbers)]
        if numbers:
            break
    return list(dict.fromkeys(numbers))


def _letters_cited(text: str) -> list[str]:
    cited = (citation for citation in en.parse(text, SCHEME) if citation.kind == "letter")
    return [citation.normal.removeprefix("No. ") for citation in cited]


def _title_numbers(title: str) -> list[str]:
    """Numbers in the title a site gave the letter: 'A-20-131', '91-506.pdf', '1991-91115-Brokaw,
    Barry'."""
    numbers = _letters_cited(title)
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
    if matter:
        names.append(_requestor_in_caption(text, matter.end()))
    if matter and (asked := _REQUESTED.search(text, matter.end(), matter.end() + 300)):
        words = _NAME_WORD.findall(text[asked.end() : asked.end() + 90])
        names += [word for word in words if not _is_month_or_office(word)]
    return list(dict.fromkeys(name.strip().title() for name in names if len(name) > 2))


def _addressed_to(text: str) -> list[str]:
    """The names in the address and the salutation, people and places alike: what a citation may
    call the letter."""
    dear = _DEAR.search(text[:HEAD])
    if not dear:
        return []
    address = _address(text, dear.start())
    salutation = text[dear.end() : dear.end() + 60].split("\n")[0]
    words = _NAME_WORD.findall(f"{address} {salutation}")
    return list(dict.fromkeys(word for word in words if len(word) > 2))


def _address(text: str, dear: int) -> str:
    """The lines between the date of a letter and its salutation, which stands at `dear`."""
    date = _DATE.search(text[:HEAD])
    start = date.end() if date and date.end() < dear else max(0, dear - 300)
    return re.split(r"\bR[eE]\s?:|\bRE\b", text[max(start, dear - 400) : dear])[0]


def _is_request(text: str) -> bool:
    """Whether a letter is a request to the Commission and not its answer. A request has the
    Commission's name in the address, under a date or somebody else's letterhead; an answer begins
    with it."""
    agency, dear, date = (pattern.search(text[:HEAD]) for pattern in (_AGENCY, _DEAR, _DATE))
    if not agency or (dear and dear.start() < agency.start()):
        return False
    if _SENDER.search(text[: agency.start()]):
        return False
    return agency.start() > 150 or bool(date and date.start() < agency.start())


def _reported_at(text: str) -> str:
    page = _REPORTED.search(text[:400])
    return f"{page[1]} FPPC Ops. {page[2]}" if page else ""


def _title(opinion: Opinion, header: OwnHeader, doc_id: str) -> str:
    """The letter as lawyers cite it: "Smith Advice Letter, No. A-90-123", or without a name where
    the text does not say one that can be read."""
    label = LABELS.get(opinion.parsed.document_type, "Advice Letter")
    if header.is_commission_opinion:
        label = COMMISSION
    number = next(iter(header.numbers), doc_id)
    return f"{_cited_name(opinion, header)} {label}, No. {number}".strip()


def _cited_name(opinion: Opinion, header: OwnHeader) -> str:
    """The surname of the addressee, from the salutation, or of the one who asked. Scans seldom
    spoil a name twice in the same way: it must stand twice in the text, or once and in the
    record."""
    text, asked = opinion.content.full_text, _one_line(opinion.parsed.requestor_name)
    if header.is_commission_opinion:
        name = asked or next(iter(header.names), "")
        return name.title() if name.isupper() else name
    found = _SALUTATION.search(text[:HEAD])
    greeted = _greeted_surname(found, text) if found else ""
    recorded = [*asked.partition(",")[0].split()[-1:], *header.names]
    names = [greeted, *recorded]
    if header.is_request or (found and _greets_staff(text, found.start())):
        names = [name for name in recorded if name.lower() not in greeted.lower().split()]
    name = next((name for name in names if _is_legible(name, greeted, recorded, text)), "")
    return name.title() if name.isupper() else name


def _greets_staff(text: str, dear: int) -> bool:
    """Whether a letter without the Commission's own heading is addressed to it."""
    return not _AGENCY.search(text[:200]) and bool(_COMMISSION_STREET.search(_address(text, dear)))


def _greeted_surname(found: re.Match[str], text: str) -> str:
    """The surname after "Dear Ms." or the like."""
    name = re.sub(r"\b(Ma?c)\s+(?=[A-Z])", r"\1", _one_line(found["name"]))
    if not found["last"]:
        return name
    # a surname of two words, if a first name stands before both in the address
    above = text[: found.start()]
    first = rf"(?<![\w.])(?!{_HONORIFIC}\b)[^\W\d_][\w.]*[ \t]+(?:[A-Z]\.?[ \t]+)?"
    is_double = re.search(first + re.escape(found["name"]), above)
    return name if is_double else name.split()[-1]


def _is_legible(name: str, greeted: str, recorded: list[str], text: str) -> bool:
    """Whether two readings agree on a name, and it is not a common word of the text."""
    surname = name.split()[-1] if name else ""
    if not _SURNAME.fullmatch(surname) or surname.title() in _OFFICES:
        return False
    if name != greeted and (
        surname.title() in _MONTHS
        or re.search(rf"(?<![\w.@]){re.escape(surname.lower())}(?![\w@])", text)
    ):
        return False
    written = re.sub(r"^(Ma?c)", r"\1\\s?", re.escape(surname))
    times = len(re.findall(rf"(?<![\w’'-]){written}(?!\w)", text))
    return times > 1 or (times == 1 and surname in recorded)


def _citations(cited: Citations) -> tuple[str, ...]:
    """The record's citations, each said in full: a bare '87103(a)' is a section of the code its
    list is named for."""
    in_full = [f"Gov. Code § {section}" for section in _strings(cited.government_code)]
    in_full += [f"Regulation {number}" for number in _strings(cited.regulations)]
    in_full += [f"No. {number}" for number in _strings(cited.prior_opinions)]
    for other in _strings(cited.external):
        in_full.append(re.sub(r"\s*\((\d{4})\)\s*", r" (\1) ", other))
    return tuple(in_full)


def _strings(values: object) -> list[str]:
    return [text for value in _as_list(values) if (text := _as_text(value))]


def _as_list(values: object) -> list[object]:
    return values if isinstance(values, list) else [values]


def _as_text(value: object) -> str | None:
    """A number of a section may be written as one; None where it is neither."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if value < 10**6 else str(value)
    return value.strip() if isinstance(value, str) else None


# ── the caption of an opinion of the Commission ───────────────────────────────────────────────────

_MONTHS = (
    "January February March April May June July August September October November December "
    "Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec"
).split()
_CAPTION_DATE = rf"(?:{'|'.join(_MONTHS)})\b\.?\s+\d{{1,2}},?\s*(?:\d{{4}})?"
# the other column, and the lines between them
_OTHER_COLUMN = re.compile(rf"(?i:\bN[o0]s?\.)\s*[\d-]+(?:-?[A-Za-z]\b)?|\b{_CAPTION_DATE}|[)_]+")
_CAPTION_NAME = re.compile(r"[A-Z][A-Za-z’'-]*\.?(?:[ \t]+[A-Z][A-Za-z’'-]*\.?)*")
_OFFICES = frozenset(
    (
        "State City County Comptroller Controller Assemblyman Assemblywoman Senator Mayor Clerk "
        "Deputy Attorney Manager Director Member Members President Treasurer Honorable Hon Mr Mrs "
        "Ms Dr The Executive Secretary Legislative General Counsel Board Supervisor Councilman "
        "Councilwoman Judge Administrative Law Special Chairman Chief Assistant District Vice "
        "Representing And Of Speaker"
    ).split()
)
_BODIES = frozenset(
    "Federation Association Committee League Council Company Union Institute Coalition".split()
)
_SUFFIXES = frozenset("Jr Sr II III Esq".split())


def _requestor_in_caption(text: str, start: int) -> str:
    """The last name of the first person in a caption, or the name of a body; empty where there is
    neither."""
    asked = _REQUESTED.search(text, start, start + 300)
    if asked is None:
        return ""
    caption = text[asked.end() : asked.end() + 300].split("BY THE COMMISSION")[0]
    for found in _CAPTION_NAME.finditer(_OTHER_COLUMN.sub(" ,", caption)):
        words = [word.strip(".,") for word in found[0].split()]
        if any(word in _BODIES for word in words):
            return " ".join(words)
        while words and words[0].title() in _OFFICES:
            del words[0]
        ends = (at for at, word in enumerate(words) if word.title() in _OFFICES)
        words = [word for word in words[: next(ends, len(words))] if word not in _SUFFIXES]
        if len(words) > 1 and len(words[-1]) > 2:
            return words[-1]
    return ""


def _is_month_or_office(word: str) -> bool:
    """Whether a word of a caption is a month or an office, and not a name."""
    return word.title() in _OFFICES or word.title() in _MONTHS

"""Where a hit stands and where it should: normal forms of sections, moments, laws, pages and
tables, and matching.

`110a`, `110 a` and `110 A §` are one section; an expectation without a moment takes any moment. A
hit may say where it stands in many ways (section_num with section_suffix, section_id, a Locator, a
node id alone): all become one Place."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from assay.core.types import Document, Hit, Locator

Locate = Callable[[str], Mapping[str, Any] | None]

DOC_KEYS = ("doc_id", "node_id", "document_id", "opinion_id", "id")
LAW_KEYS = ("law", "law_id", "law_key", "law_name", "law_names", "statute")
SECTION_KEYS = ("section_num", "section_id", "section")
TABLE_KEYS = ("table", "table_id")
FROM_KEYS = ("valid_from", "effective_from")
TO_KEYS = ("valid_to", "effective_to")
VERSION_KEYS = ("version", "finlex_version")
EXPECTATION_KEYS = frozenset(
    (
        *DOC_KEYS,
        *LAW_KEYS,
        "chapter",
        *SECTION_KEYS,
        "section_suffix",
        "moment",
        "page",
        *TABLE_KEYS,
        "row",
        *VERSION_KEYS,
    )
)

SECTION = re.compile(r"\d+[a-zåäö]*")
CHAPTER = re.compile(r"(\d+[a-z]?)(?:l|luku)?\.?")
ACT_NUMBER = re.compile(r"(?<!\d)(\d{1,4})[/_-](\d{4})(?!\d)")
MOMENT = re.compile(r"\(?(?:mom[^\W\d]*\.?)?(\d+)\.?\)?(?:mom\w*\.?)?")
GENITIVES = (("lain", "laki"), ("kaaren", "kaari"), ("asetuksen", "asetus"))

# A section as people write it, in lower case with single spaces: '110a', '§ 110 a', '5:21', '5 luku
# 21 §', '110a(3)',
# '110 a §:n 3 mom.', '110.3 §', 'kuntalaki (410/2015) 110 a §'. An item of a moment is read over.
CITED = re.compile(
    r"(?:(?P<law>[^§]*?[^§\s,:])[\s,:]+)??"
    r"(?:(?P<chapter>\d+ ?[a-z]?) ?(?::|luku\w*|luvu\w*) ?)?"
    r"(?P<before>§+|pykälä\w*|section|sec\.?|s\.|s(?= )|סעיף)? ?"
    r"0*(?P<section>\d+(?:\.\d+)*(?: ?[^\W\d_](?![^\W\d_])|[^\W\d_]{2,3}(?![^\W\d_]))?\d*)"
    r"(?P<sign> ?(?:§+|pykälä\w*)(?: ?: ?\w+)?)?"
    r"(?:(?P<parts>(?: ?\([^()]+\))+)|[ ,]*(?:mom\w*\.? )?(?P<moment>\d+)\.? ?(?P<word>mom\w*)?)?\.?"
    r"(?:[ ,]*\d+\.? ?(?:koh\w*|k\.?))?[.: ]*"
)
A_LAW = re.compile(
    r"\d{1,4}/\d{4}\)?$|(?:laki|lain|laissa|kaari|kaaren|asetus|asetuksen|act|code)$|^חוק|^פקודת"
)
LONGEST = 300  # characters that are read of a section; a law with a long name is shorter
SEVERAL = re.compile(r"\d+\w*\s*(?:[,–-]|/|ja |tai |and |or |to )\s*\d")
LISTED = re.compile(
    r"§|\d\s*[a-zåäö]?\s*(?:[,–-]|ja|tai|sekä|and|or|to)$"
)  # 'kuntalain 110 a ja' before 111 is no law
STRANGE = re.compile(
    rf"{SEVERAL.pattern}|§|\bmom|\bluku|\bluvu|pykälä|^\d+\w* |^\d+[a-z]\.\d|(?:laki|lain|kaari|asetus)$"
)
PAGE = re.compile(r"(?:s|p|sivu|page)\.?(\d+)")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A Locator in normal form. Empty means unknown in a hit and any in an expectation."""

    doc_ids: frozenset[str] = frozenset()
    act_numbers: frozenset[str] = frozenset()
    law_names: frozenset[str] = frozenset()
    chapter: str = ""
    section: str = ""
    moment: str = ""
    page: str = ""
    table: str = ""
    row: str = ""
    version: str = ""
    valid_from: str = ""
    valid_to: str = ""

    @property
    def names_law(self) -> bool:
        return bool(self.act_numbers or self.law_names)


NOWHERE = Place()


# ── normal forms ──────────────────────────────────────────────────────────────────────────────────


class Cited(NamedTuple):
    """What a section written as text says."""

    section: str
    moment: str = ""
    chapter: str = ""
    law: str = ""


def read_section(value: Any) -> Cited | None:
    """'Kuntalaki 110 a § 3 mom.' taken apart; a label of another kind ('liite 1', 'IV') as it is.
    None where it looks like a section and cannot be read: '110–112 §', '110 3'."""
    return _read_section(" ".join(str(_whole(value))[:LONGEST].split()).casefold())


@lru_cache(maxsize=100_000)
def _read_section(text: str) -> Cited | None:
    found = CITED.fullmatch(text)
    if not found:
        return None if STRANGE.search(text) else Cited("".join(text.split()).strip("."))
    law, sign, moment = found["law"] or "", found["sign"], found["moment"]
    if law and not (
        A_LAW.search(law)
        or ((sign or found["before"]) and not re.match(r"[\d(]|mom|luku|luvu", law))
    ):
        return None if STRANGE.search(text) else Cited("".join(text.split()))
    if LISTED.search(law):
        return None
    if moment and not (sign or found["word"]):
        return None  # '110 3' might be anything
    section = "".join(found["section"].split())
    parts = re.findall(r"\(([^()]+)\)", found["parts"] or "")
    if sign and not found["before"] and re.fullmatch(r"\d+\.\d+", section):
        section, _, moment = section.partition(".")  # 110.3 § is how lawyers write the third moment
    return Cited(
        section, normal_moment(moment or "".join(parts)), normal_chapter(found["chapter"]), law
    )


def normal_section(value: Any) -> str:
    """'110 A §', '110 a' and '110a' are '110a'; 110 and 110.0 are '110'."""
    cited = read_section(value) if value is not None else None
    return cited.section if cited else _squeezed(value)


def normal_chapter(value: Any) -> str:
    """'17 a luku', '17a' and the '17al' of node ids are '17a'."""
    text = _squeezed(value)
    found = CHAPTER.fullmatch(text)
    return found[1].removesuffix("l") if found else text


def normal_moment(value: Any) -> str:
    """2, '2', '2.', '2 mom.' and 'mom. 2' are '2'."""
    text = _squeezed(value)
    found = MOMENT.fullmatch(text)
    return found[1].lstrip("0") or "0" if found else text


def normal_page(value: Any) -> str:
    """5, '5', 's. 5' and 'page 5' are '5'."""
    text = _squeezed(value)
    found = PAGE.fullmatch(text)
    return found[1] if found else text


def normal_date(value: Any) -> str:
    """ISO, from '2015-05-01T00:00', '20150501', '2015-W18-5' or the Finnish '1.5.2015'."""
    text = "" if value is None else str(value).strip()
    if found := re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", text):
        return f"{found[3]}-{int(found[2]):02}-{int(found[1]):02}"
    try:
        return date.fromisoformat(text.partition("T")[0]).isoformat()
    except ValueError:
        return text[:10]


def normal_version(value: Any) -> str:
    """'fin@20230780' and '20230780' are one version."""
    return _squeezed(value).rpartition("@")[2]


def normal_laws(values: Iterable[Any]) -> tuple[frozenset[str], frozenset[str]]:
    """(act numbers, names): 'kuntalaki_410-2015', 'Kuntalaki (410/2015)' and 'fi:act:410/2015' are
    one act."""
    numbers: set[str] = set()
    names: set[str] = set()
    for value in values:
        text = " ".join(str(value).casefold().split())
        numbers.update(f"{int(number)}/{year}" for number, year in ACT_NUMBER.findall(text))
        name = ACT_NUMBER.sub("", text).removeprefix("fi:act:").strip(" ()_-:,")
        for genitive, nominative in GENITIVES:
            name = name.removesuffix(genitive) + nominative if name.endswith(genitive) else name
        if name:
            names.add(name)
    return frozenset(numbers), frozenset(names)


def _squeezed(value: Any) -> str:
    return "" if value is None else "".join(str(_whole(value)).split()).casefold()


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


# ── from what a file or an engine says to a Place ─────────────────────────────────────────────────


def place_of(parts: Mapping[str, Any] | Locator) -> Place:
    """The Place of an expectation, of a record of the corpus, or of the fields of a hit."""
    raw: Mapping[str, Any] = msgspec.to_builtins(parts) if isinstance(parts, Locator) else parts
    if not raw:
        return NOWHERE
    cited = _section(raw)
    numbers, names = normal_laws((*_values(raw, LAW_KEYS), *([cited.law] if cited.law else [])))
    return Place(
        doc_ids=frozenset(str(value) for value in _values(raw, DOC_KEYS)),
        act_numbers=numbers,
        law_names=names,
        chapter=cited.chapter or normal_chapter(raw.get("chapter")),
        section=cited.section,
        moment=normal_moment(raw.get("moment")) or cited.moment,
        page=normal_page(raw.get("page", raw.get("page_num"))),
        table=_squeezed(next(_values(raw, TABLE_KEYS), None)),
        row=_squeezed(raw.get("row")),
        version=normal_version(next(_values(raw, VERSION_KEYS), None)),
        valid_from=normal_date(next(_values(raw, FROM_KEYS), None)),
        valid_to=normal_date(next(_values(raw, TO_KEYS), None)),
    )


def _values(raw: Mapping[str, Any], keys: Iterable[str]) -> Any:
    for key in keys:
        value = raw.get(key)
        yield from (
            item
            for item in (value if isinstance(value, list | tuple) else (value,))
            if item not in (None, "")
        )


def _section(raw: Mapping[str, Any]) -> Cited:
    """The fullest form wins: the number 110 beside the suffix a, or beside the id 110a, is section
    110a."""
    stated = [raw[key] for key in SECTION_KEYS if raw.get(key) not in (None, "")]
    forms = [read_section(value) or Cited(_squeezed(value)) for value in stated]
    suffix = _squeezed(raw.get("section_suffix"))
    plain = [
        form._replace(section=form.section + suffix) if form.section.isdigit() else form
        for form in forms
        if SECTION.fullmatch(form.section)
    ]
    return (
        max(plain, key=lambda form: len(form.section))
        if plain
        else (forms[0] if forms else Cited(""))
    )


def unreadable(parts: Mapping[str, Any]) -> tuple[str, str]:
    """(key, why) of what an expectation states and nothing can meet; empty where all can be
    read."""
    moment = normal_moment(parts.get("moment"))
    for key in SECTION_KEYS:
        if (value := parts.get(key)) in (None, ""):
            continue
        cited = read_section(value)
        if cited is None:
            return key, f"{value!r} is not one section"
        if moment and cited.moment not in ("", moment):
            return "moment", f"{parts['moment']!r} is not the moment in {value!r}"
    if SEVERAL.match(str(parts.get("moment") or "").casefold()):
        return "moment", f"{parts['moment']!r} is not one moment"
    for key in LAW_KEYS:
        if "§" in str(parts.get(key) or ""):
            return key, f"{parts[key]!r} is more than a law"
    return "", ""


def parse_node_id(node_id: str) -> dict[str, str]:
    """The parts in an id such as '410/2015:fin@20230780:110a:2' or '624/2006:fin@20250561:5l:21:1'
    (chapter 5): the last ones are section and moment."""
    parts = [part for part in node_id.partition("#")[0].split(":") if part]
    if len(parts) < 2 or not SECTION.fullmatch(normal_section(parts[-1])):
        return {}
    found = {"version": next((part for part in parts if "@" in part), "")}
    if len(parts) > 2 and parts[-1].isdigit() and SECTION.fullmatch(normal_section(parts[-2])):
        found["moment"] = parts.pop()
    found["section"] = parts.pop()
    if len(parts) > 1 and CHAPTER.fullmatch(parts[-1]):
        found["chapter"] = parts.pop()
    found["law"] = ":".join(part for part in parts if "@" not in part)
    return {key: value for key, value in found.items() if value}


@lru_cache(maxsize=100_000)
def _place_in_id(doc_id: str) -> Place:
    return place_of(parse_node_id(doc_id))


def document_fields(document: Document) -> dict[str, Any]:
    """What `locate` and `check_expectations` need of a document: its place by id, metadata and
    Locator, its text."""
    stated = (*LAW_KEYS, "chapter", *SECTION_KEYS, *VERSION_KEYS, "section_suffix", "moment")
    locator = msgspec.to_builtins(document.locator) if document.locator else {}
    ids = [document.id, *([locator.pop("doc_id")] if locator.get("doc_id") else [])]
    return {
        **parse_node_id(document.id),
        **{
            key: document.metadata[key]
            for key in stated
            if document.metadata.get(key) not in (None, "")
        },
        **locator,
        "doc_id": ids,
        "valid_from": document.valid_from,
        "valid_to": document.valid_to,
        "text": document.text,
    }


def hit_fields(hit: Hit) -> Mapping[str, Any]:
    """What a hit carries beside its id, score, title and text: law, section_num, page, … as its
    source named them."""
    found = getattr(hit, "metadata", None) or hit.explanation.get("fields")
    return found if isinstance(found, Mapping) else {}


def hit_place(hit: Hit, locate: Locate | None = None) -> Place:
    """Everything known of where a hit stands: its own fields, its Locator, the corpus, and last its
    id."""
    own = place_of(hit_fields(hit))
    sources = [place_of(hit.locator)] if hit.locator else []
    if locate is not None and (known := locate(hit.doc_id)):
        sources.append(place_of(known))
    sources.append(_place_in_id(hit.doc_id))
    for source in sources:
        own = _filled(own, source)
    # The id of a whole act is its number, so a Locator's doc_id may be all that names the law.
    numbers, _ = normal_laws(own.doc_ids if not own.act_numbers else ())
    return replace(own, doc_ids=own.doc_ids | {hit.doc_id}, act_numbers=own.act_numbers | numbers)


def _filled(own: Place, other: Place) -> Place:
    """`own` with its gaps filled from `other`; names and ids are gathered from both."""
    values: dict[str, Any] = {}
    for field in fields(Place):
        mine, theirs = getattr(own, field.name), getattr(other, field.name)
        values[field.name] = mine | theirs if isinstance(mine, frozenset) else mine or theirs
    if own.section and other.section and own.section != other.section:
        values["moment"] = own.moment  # the moment of another section is not ours
    return Place(**values)


# ── matching ──────────────────────────────────────────────────────────────────────────────────────


def matches(wanted: Place, got: Place, *, any_version: bool = False) -> bool:
    """Whether a hit at `got` is what the expectation `wanted` asks for. Parts the expectation
    leaves out are free, but one that states nothing matches nothing."""
    return (
        wanted != NOWHERE
        and same_law(wanted, got)
        and _same_chapter(wanted, got)
        and wanted.doc_ids <= got.doc_ids
        and all(
            not getattr(wanted, part) or getattr(wanted, part) == getattr(got, part)
            for part in ("section", "moment", "page", "table", "row")
        )
        and (any_version or not wanted.version or wanted.version == got.version)
    )


def same_law(wanted: Place, got: Place) -> bool:
    """By number where both have one, since two acts in time may share a name; else by name."""
    if not wanted.names_law:
        return True
    if wanted.act_numbers and got.act_numbers:
        return bool(wanted.act_numbers & got.act_numbers)
    return bool(wanted.law_names & got.law_names)


def _same_chapter(wanted: Place, got: Place) -> bool:
    """A hit need not say its chapter, since most acts number their sections through."""
    return not wanted.chapter or not got.chapter or wanted.chapter == got.chapter


def in_force(place: Place, as_of: str) -> bool:
    """Whether the version at `place` was in force on the day. Only what is known can refute it."""
    return holds_on(normal_date(as_of), place.valid_from, place.valid_to)


def holds_on(day: str, valid_from: str, valid_to: str) -> bool:
    """ISO dates; of a date that is a year alone, the whole year counts."""
    return not (
        day[: len(valid_from)] < valid_from or (valid_to and day[: len(valid_to)] > valid_to)
    )


def validity(versions: Iterable[tuple[Hashable, Any, Any]]) -> list[tuple[str, str]]:
    """(valid_from, valid_to) of each (place, valid_from, valid_to) in ISO dates. A version that
    does not say when it ends has ended the day before the next version of its place began; None is
    no place."""
    read = [(place, normal_date(begins), normal_date(ends)) for place, begins, ends in versions]
    starts: dict[Hashable, set[str]] = {}
    for place, begins, _ in read:
        if place is not None and begins:
            starts.setdefault(place, set()).add(begins)
    return [
        (begins, ends or _day_before(starts.get(place, set()), begins))
        for place, begins, ends in read
    ]


def _day_before(starts: Set[str], begins: str) -> str:
    following = min((start for start in starts if start > begins), default="")
    try:
        return (date.fromisoformat(following) - timedelta(days=1)).isoformat()
    except ValueError:
        return ""  # none follows, or it tells only the year


def close_versions(known: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The fields of documents, by id, with the end of each version where the next one tells it."""
    keys = []
    for parts in known.values():
        place = place_of(parts)
        law = place.act_numbers or place.law_names
        key = (law, place.chapter, place.section, place.moment) if law and place.section else None
        keys.append((key, parts.get("valid_from"), parts.get("valid_to")))
    return {
        name: {**parts, "valid_from": begins, "valid_to": ends}
        for (name, parts), (begins, ends) in zip(known.items(), validity(keys), strict=True)
    }


def is_near(wanted: Place, got: Place) -> bool:
    """A near miss: the right section in a wrong moment, a neighbouring section; or the right page
    or the next one of the right document with another table."""
    if matches(wanted, got) or not same_law(wanted, got) or not wanted.doc_ids <= got.doc_ids:
        return False
    if not _same_chapter(wanted, got):
        return False
    if wanted.section:
        return bool(got.section) and _neighbours(wanted.section, got.section)
    return bool(wanted.page and got.page) and _neighbours(wanted.page, got.page)


def _neighbours(wanted: str, got: str) -> bool:
    numbers = [re.match(r"\d+", text) for text in (wanted, got)]
    if not numbers[0] or not numbers[1]:
        return wanted == got
    return abs(int(numbers[0][0]) - int(numbers[1][0])) <= 1


def label(parts: Mapping[str, Any] | Place) -> str:
    """A Place as people cite it: '410/2015 110a § 3 mom.', 'lapua-tilinpaatos-2023 p. 15, table
    tuloslaskelma'."""
    place = parts if isinstance(parts, Place) else place_of(parts)
    law = min(place.law_names or place.act_numbers, default="")
    source = (
        law
        if place.section
        else min(place.doc_ids, key=lambda text: (len(text), text), default=law)
    )
    words = [
        source,
        f"{place.chapter} luku" if place.chapter and not isinstance(parts, Place) else "",
        f"{place.section} §" if place.section else "",
        f"{place.moment} mom." if place.moment else "",
        f"p. {place.page}" if place.page else "",
        f"table {place.table}" if place.table else "",
        f"row {place.row}" if place.row else "",
        f"version {place.version}" if place.version and not isinstance(parts, Place) else "",
    ]
    return " ".join(word for word in words if word) or "?"

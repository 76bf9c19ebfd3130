"""Where a hit stands and where it should: normal forms of sections, moments, laws, pages and tables, and matching.

`110a`, `110 a` and `110 A §` are one section; an expectation without a moment takes any moment. A hit may say where it
stands in many ways (section_num with section_suffix, section_id, a Locator, a node id alone): all become one Place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from functools import lru_cache
from typing import Any

import msgspec

from assay.types import Document, Hit, Locator

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
CHAPTERED = re.compile(r"(\d+[a-z]?)(?::|luku|luvun)(\d+[a-zåäö]*)")  # '5:21' and '5 luku 21 §'
CHAPTER = re.compile(r"(\d+[a-z]?)(?:l|luku)?\.?")
ACT_NUMBER = re.compile(r"(?<!\d)(\d{1,4})[/_-](\d{4})(?!\d)")
SECTION_WORDS = re.compile(r"^(?:section|sec\.?|s\.|pykälä|§)|(?:§|pykälä).*$")
MOMENT = re.compile(r"\(?(?:mom[^\W\d]*\.?)?(\d+)\.?\)?(?:mom\w*\.?)?")
# '110 § 3 mom.' written whole as the section; a number after the sign is the moment too
MOMENT_IN_SECTION = re.compile(r"(\d+)\.?mom|(?<=[\da-zåäö])§[^\d§]*(\d+)\)?\.?$")


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


# ── normal forms ─────────────────────────────────────────────────────────────────────────────────────────────────────


def normal_section(value: Any) -> str:
    """'110 A §', '110 a' and '110a' are '110a'; 110 and 110.0 are '110'."""
    text = _squeezed(value)
    text = SECTION_WORDS.sub("", text).strip(".:") or text
    return text.lstrip("0") or text


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
    """(act numbers, names): 'kuntalaki_410-2015', 'Kuntalaki (410/2015)' and 'fi:act:410/2015' are one act."""
    numbers: set[str] = set()
    names: set[str] = set()
    for value in values:
        text = " ".join(str(value).casefold().split())
        numbers.update(f"{int(number)}/{year}" for number, year in ACT_NUMBER.findall(text))
        name = ACT_NUMBER.sub("", text).removeprefix("fi:act:").strip(" ()_-:,")
        if name:
            names.add(name)
    return frozenset(numbers), frozenset(names)


def _squeezed(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "".join(str(value).split()).casefold()


# ── from what a file or an engine says to a Place ────────────────────────────────────────────────────────────────────


def place_of(parts: Mapping[str, Any] | Locator) -> Place:
    """The Place of an expectation, of a record of the corpus, or of the fields of a hit."""
    raw: Mapping[str, Any] = msgspec.to_builtins(parts) if isinstance(parts, Locator) else parts
    if not raw:
        return NOWHERE
    numbers, names = normal_laws(_values(raw, LAW_KEYS))
    section = _section(raw)
    both = CHAPTERED.fullmatch(section)
    return Place(
        doc_ids=frozenset(str(value) for value in _values(raw, DOC_KEYS)),
        act_numbers=numbers,
        law_names=names,
        chapter=both[1] if both else normal_chapter(raw.get("chapter")),
        section=both[2] if both else section,
        moment=normal_moment(raw.get("moment")) or _moment_in_section(raw),
        page=_squeezed(raw.get("page", raw.get("page_num"))),
        table=_squeezed(next(_values(raw, TABLE_KEYS), None)),
        row=_squeezed(raw.get("row")),
        version=normal_version(next(_values(raw, VERSION_KEYS), None)),
        valid_from=normal_date(next(_values(raw, FROM_KEYS), None)),
        valid_to=normal_date(next(_values(raw, TO_KEYS), None)),
    )


def _values(raw: Mapping[str, Any], keys: Iterable[str]) -> Any:
    for key in keys:
        value = raw.get(key)
        yield from (item for item in (value if isinstance(value, list | tuple) else (value,)) if item not in (None, ""))


def _section(raw: Mapping[str, Any]) -> str:
    """The fullest form wins: the number 110 beside the suffix a, or beside the id 110a, is section 110a."""
    forms = [form for form in (normal_section(raw.get(key)) for key in SECTION_KEYS) if form]
    suffix = _squeezed(raw.get("section_suffix"))
    plain = [form + suffix if form.isdigit() else form for form in forms if SECTION.fullmatch(form)]
    return max(plain, key=len) if plain else (forms[0] if forms else "")


def _moment_in_section(raw: Mapping[str, Any]) -> str:
    found = (MOMENT_IN_SECTION.search(_squeezed(raw.get(key))) for key in SECTION_KEYS)
    return next((match[1] or match[2] for match in found if match), "")


def parse_node_id(node_id: str) -> dict[str, str]:
    """The parts in an id such as '410/2015:fin@20230780:110a:2' or '624/2006:fin@20250561:5l:21:1' (chapter 5): the
    last ones are section and moment."""
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
    """What `locate` and `check_expectations` need of a document: its place by id, metadata and Locator, its text."""
    stated = (*LAW_KEYS, "chapter", *SECTION_KEYS, *VERSION_KEYS, "section_suffix", "moment")
    locator = msgspec.to_builtins(document.locator) if document.locator else {}
    ids = [document.id, *([locator.pop("doc_id")] if locator.get("doc_id") else [])]
    return {
        **parse_node_id(document.id),
        **{key: document.metadata[key] for key in stated if document.metadata.get(key) not in (None, "")},
        **locator,
        "doc_id": ids,
        "valid_from": document.valid_from,
        "valid_to": document.valid_to,
        "text": document.text,
    }


def hit_fields(hit: Hit) -> Mapping[str, Any]:
    """What a hit carries beside its id, score, title and text: law, section_num, page, … as its source named them."""
    found = getattr(hit, "metadata", None) or hit.explanation.get("fields")
    return found if isinstance(found, Mapping) else {}


def hit_place(hit: Hit, locate: Locate | None = None) -> Place:
    """Everything known of where a hit stands: its own fields, its Locator, the corpus, and last its id."""
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


# ── matching ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def matches(wanted: Place, got: Place, *, any_version: bool = False) -> bool:
    """Whether a hit at `got` is what the expectation `wanted` asks for. Parts the expectation leaves out are free, but
    one that states nothing matches nothing."""
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
    day = normal_date(as_of)
    return not ((place.valid_from and day < place.valid_from) or (place.valid_to and day > place.valid_to))


def is_near(wanted: Place, got: Place) -> bool:
    """A near miss: the right section in a wrong moment, a neighbouring section; or the right page or the next one of
    the right document with another table."""
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
    """A Place as people cite it: '410/2015 110a § 3 mom.', 'lapua-tilinpaatos-2023 p. 15, table tuloslaskelma'."""
    place = parts if isinstance(parts, Place) else place_of(parts)
    law = min(place.law_names or place.act_numbers, default="")
    source = law if place.section else min(place.doc_ids, key=lambda text: (len(text), text), default=law)
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

"""Compare the place of a hit with the place that a golden question expects, in laws and in the
tables of reports.

An expectation without a moment takes any moment. A hit may say where it stands in many ways
(section_num with section_suffix, section_id, a Locator, a node id alone): all become one Place.
Sections are read by `assay.law.places`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import NamedTuple

import msgspec

from assay.core.types import Document, Hit, Locator
from assay.law.en_names import place_name
from assay.law.he import schedule_name
from assay.law.parse import law_name
from assay.law.places import (
    CHAPTER,
    SECTION,
    SEVERAL,
    Cited,
    normal_chapter,
    normal_moment,
    normal_page,
    normal_part,
    normal_section,
    read_section,
    short_law,
    without_spaces,
)
from assay.law.spellings import SHORT_NAMES
from assay.law.versions import cited_version, holds_on, normal_date, normal_version, valid_periods

DOC_KEYS = ("doc_id", "node_id", "document_id", "opinion_id", "id")
LAW_NAME_KEYS = ("law", "law_name", "statute")  # names that people write
LAW_KEYS = (*LAW_NAME_KEYS, "law_id", "law_key", "law_names")
SECTION_KEYS = ("section_num", "section_id", "section")
TABLE_KEYS = ("table", "table_id")
TABLE_NAMES = ("table_title", "table_name")
FROM_KEYS = ("valid_from", "effective_from")
TO_KEYS = ("valid_to", "effective_to")
VERSION_KEYS = ("version", "finlex_version")
EXPECTATION_KEYS = frozenset(
    (
        *DOC_KEYS,
        *LAW_KEYS,
        *("part", "chapter", "schedule"),
        *SECTION_KEYS,
        *("section_suffix", "moment", "page", "printed_page"),
        *TABLE_KEYS,
        *("row", "column"),
        *VERSION_KEYS,
    )
)

HEBREW = re.compile("[א-ת]")
FINNISH_ACT = re.compile(r"(?:laki|kaari|asetus)\b|^laki\b")
NUMBER_ALONE = re.compile(r"\d+/\d{4}")  # as Finnish acts are cited
ACT_NUMBER = re.compile(r"(?<!\d)(\d{1,4})[/_-](\d{4})(?!\d)")


class AsWritten(NamedTuple):
    """The names in a place as they are written, for people; matching ignores them."""

    table: str = ""
    row: str = ""
    column: str = ""
    law: str = ""
    section_title: str = ""


@dataclass(frozen=True, kw_only=True)
class PlaceKey:
    """A Locator in normal form. Empty means unknown in a hit and any in an expectation."""

    doc_ids: frozenset[str] = frozenset()
    act_numbers: frozenset[str] = frozenset()
    law_names: frozenset[str] = frozenset()
    part: str = ""
    chapter: str = ""
    schedule: str = ""
    section: str = ""
    moment: str = ""
    page: str = ""
    printed: str = ""  # the number that stands on the page
    table: str = ""
    row: str = ""
    column: str = ""
    table_names: frozenset[str] = frozenset()  # what the table is called, beside its id
    row_names: frozenset[str] = frozenset()  # a row with what it stands under
    columns: frozenset[str] = frozenset()  # those of a row that is given whole
    year: str = ""  # of a report, which the heading of a column may leave out
    version: str = ""
    valid_from: str = ""
    valid_to: str = ""
    written: AsWritten = field(default=AsWritten(), compare=False)
    language: str = field(default="", compare=False)  # in which it is cited, where that is known

    @property
    def names_law(self) -> bool:
        return bool(self.act_numbers or self.law_names)


NOWHERE = PlaceKey()


@dataclass(frozen=True)
class KnownDocument:
    """A document of a corpus: its place, the text to find evidence in, and the cells of a table
    row."""

    place: PlaceKey
    text: str = ""
    language: str = ""
    cells: tuple[CellText, ...] = ()


def one_language(documents: Iterable[KnownDocument]) -> str:
    """The language that all documents of a corpus are in; empty where there are several."""
    languages = {document.language for document in documents}
    return languages.pop() if len(languages) == 1 else ""


Locate = Callable[[str], KnownDocument | None]  # by a document's id


def normal_laws(values: Iterable[object]) -> tuple[frozenset[str], frozenset[str]]:
    """(act numbers, names): 'kuntalaki_410-2015', 'Kuntalaki (410/2015)' and 'fi:act:410/2015' are
    one act."""
    numbers: set[str] = set()
    names: set[str] = set()
    for value in values:
        text = " ".join(str(value).casefold().split())
        numbers.update(f"{int(number)}/{year}" for number, year in ACT_NUMBER.findall(text))
        name = ACT_NUMBER.sub("", text).removeprefix("fi:act:").strip(" ()_-:,")
        if name:
            names.add(law_name(name).casefold())
    return frozenset(numbers), frozenset(names)


# ── reading places ────────────────────────────────────────────────────────────────────────────────


def place_of(parts: Mapping[str, object] | Locator, language: str = "") -> PlaceKey:
    """The Place of an expectation, of a record of the corpus, or of a hit's own fields; in the
    given language where languages write alike."""
    raw = msgspec.to_builtins(parts) if isinstance(parts, Locator) else parts
    if not raw:
        return NOWHERE

    def values_under(keys: Iterable[str]) -> Iterator[object]:
        return _flat_values(map(raw.get, keys))

    cited = _fullest_section(
        map(raw.get, SECTION_KEYS), without_spaces(raw.get("section_suffix")), language
    )
    cited_laws = [name for name in (cited.law, cited.law_id) if name]
    numbers, names = normal_laws((*values_under(LAW_KEYS), *cited_laws))
    return PlaceKey(
        doc_ids=frozenset(map(str, values_under(DOC_KEYS))),
        act_numbers=numbers,
        law_names=names,
        part=normal_part(raw.get("part")),
        chapter=cited.chapter or normal_chapter(raw.get("chapter")),
        schedule=cited.schedule or without_spaces(raw.get("schedule")),
        section=cited.section,
        moment=normal_moment(raw.get("moment")) or cited.moment,
        page=normal_page(raw.get("page", raw.get("page_num"))),
        printed=normal_page(raw.get("printed_page")),
        table=normal_name(next(values_under(TABLE_KEYS), None)),
        row=normal_row(raw.get("row")),
        column=normal_name(raw.get("column")),
        table_names=frozenset(
            one for name in values_under(TABLE_NAMES) for one in table_names(name)
        ),
        columns=frozenset(map(normal_name, values_under(("columns",)))),
        written=AsWritten(
            *(
                _one_line(next(values_under(keys), ""))
                for keys in (TABLE_KEYS, ("row",), ("column",), LAW_NAME_KEYS, ("section_title",))
            )
        ),
        version=normal_version(next(values_under(VERSION_KEYS), None)),
        valid_from=normal_date(next(values_under(FROM_KEYS), None)),
        valid_to=normal_date(next(values_under(TO_KEYS), None)),
        language=language,
    )


def _one_line(name: object) -> str:
    """A name on one line, for people."""
    return " ".join(str(name).split())


def _flat_values(values: Iterable[object]) -> Iterator[object]:
    """Values that may be lists, without the empty ones."""
    for value in values:
        several = value if isinstance(value, list | tuple) else (value,)
        yield from (stated for stated in several if stated not in (None, ""))


def _fullest_section(values: Iterable[object], suffix: str, language: str) -> Cited:
    """The fullest form wins: the number 110 beside the suffix a, or beside the id 110a, is section
    110a."""
    stated = (value for value in values if value not in (None, ""))
    forms = [read_section(value, language) or Cited(without_spaces(value)) for value in stated]
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


def unreadable(parts: Mapping[str, object], language: str = "") -> tuple[str, str]:
    """(key, why) of a part of an expectation that nothing can meet; empty where all parts can be
    read."""
    moment = normal_moment(parts.get("moment"))
    for key in SECTION_KEYS:
        if (value := parts.get(key)) in (None, ""):
            continue
        cited = read_section(value, language)
        if cited is None:
            unknown = short_law(value, language)
            if unknown and unknown not in SHORT_NAMES:
                return key, f"{value!r} begins with {unknown}, a short name of no law known here"
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
    stated = {"version": next((part for part in parts if "@" in part), "")}
    if len(parts) > 2 and parts[-1].isdecimal() and SECTION.fullmatch(normal_section(parts[-2])):
        stated["moment"] = parts.pop()
    stated["section"] = parts.pop()
    if len(parts) > 1 and CHAPTER.fullmatch(parts[-1]):
        stated["chapter"] = parts.pop()
    stated["law"] = ":".join(part for part in parts if "@" not in part)
    return {key: value for key, value in stated.items() if value}


@lru_cache(maxsize=100_000)
def _place_in_id(doc_id: str) -> PlaceKey:
    return place_of(parse_node_id(doc_id))


def known_document(document: Document) -> KnownDocument:
    """A document's place by its id, its metadata and its Locator, with its text."""
    places = ("part", "chapter", "schedule", *SECTION_KEYS, "section_suffix", "moment")
    stated = (*LAW_KEYS, *places, "section_title", "printed_page", *VERSION_KEYS)
    locator = msgspec.to_builtins(document.locator) if document.locator else {}
    ids = [document.id, *([locator.pop("doc_id")] if locator.get("doc_id") else [])]
    parts = {
        **parse_node_id(document.id),
        **{
            key: document.metadata[key]
            for key in stated
            if document.metadata.get(key) not in (None, "")
        },
        **locator,
        **_table_facts(document),
        "doc_id": ids,
        "valid_from": document.valid_from,
        "valid_to": document.valid_to,
    }
    place = place_of(parts, document.language)
    if place.row:
        fields = document.fields
        above = [fields.get("entity", ""), *fields.get("parent", "").split(" / ")]
        year = str(document.metadata.get("year") or "")
        place = replace(place, row_names=row_names(fields.get("label", ""), above), year=year)
    return KnownDocument(place, document.text, document.language, _cells(document))


def _table_facts(document: Document) -> dict[str, object]:
    """The names of a report's table, with its year and without, and the columns of a row."""
    cells = document.metadata.get("table")
    title = cells.get("title") if isinstance(cells, Mapping) else None
    if document.locator is None or not document.locator.table:
        return {}
    heading = document.fields.get("section_title", "").rpartition(" / ")[2]
    names = [name for name in (title, document.fields.get("statement"), heading) if name]
    year = document.metadata.get("year")
    dated = [f"{name} {year}" for name in names if year and not YEAR.search(str(name))]
    columns = [cell.column for cell in _cells(document)]
    return {"table_title": [*names, *dated], "columns": columns}


def _cells(document: Document) -> tuple[CellText, ...]:
    figures = document.metadata.get("figures")
    return tuple(
        CellText(*(str(figure.get(key) or "") for key in CellText._fields))
        for figure in (figures if isinstance(figures, list) else ())
        if isinstance(figure, Mapping)
    )


def hit_place(hit: Hit, locate: Locate | None = None, language: str = "") -> PlaceKey:
    """The place of a hit: from its own fields, its Locator, the corpus, and last its id."""
    own = place_of(hit.metadata, language)
    sources = [place_of(hit.locator, language)] if hit.locator else []
    if locate is not None and (known := locate(hit.doc_id)):
        sources.append(known.place)
    sources.append(_place_in_id(hit.doc_id))
    for source in sources:
        own = _fill_gaps(own, source)
    # The id of a whole act is its number, so a Locator's doc_id may be all that names the law.
    numbers, _ = normal_laws(own.doc_ids if not own.act_numbers else ())
    return replace(own, doc_ids=own.doc_ids | {hit.doc_id}, act_numbers=own.act_numbers | numbers)


def _fill_gaps(own: PlaceKey, other: PlaceKey) -> PlaceKey:
    """`own` with its gaps filled from `other`; names and ids are gathered from both."""
    values = {}
    for each in fields(PlaceKey):
        mine, theirs = getattr(own, each.name), getattr(other, each.name)
        values[each.name] = mine | theirs if isinstance(mine, frozenset) else mine or theirs
    names = zip(own.written, other.written, strict=True)
    values["written"] = AsWritten(*(mine or theirs for mine, theirs in names))
    if own.section and other.section and own.section != other.section:
        values["moment"] = own.moment  # the moment of another section is not ours
    return PlaceKey(**values)


# ── comparing places ──────────────────────────────────────────────────────────────────────────────


def matches(wanted: PlaceKey, got: PlaceKey, *, any_version: bool = False) -> bool:
    """Whether a hit at `got` is what the expectation `wanted` asks for. Parts the expectation
    leaves out are free, but one that states nothing matches nothing."""
    return (
        wanted != NOWHERE
        and same_law(wanted, got)
        and _same_chapter(wanted, got)
        and wanted.doc_ids <= got.doc_ids
        and all(
            not getattr(wanted, part) or getattr(wanted, part) == getattr(got, part)
            for part in ("schedule", "section", "moment", "page", "printed")
        )
        and wanted.row in ("", got.row, *got.row_names)
        and wanted.table in ("", got.table, *got.table_names)
        and _same_column(wanted.column, got)
        and (any_version or not wanted.version or wanted.version == got.version)
    )


def _same_column(wanted: str, got: PlaceKey) -> bool:
    """A hit that gives a whole row has all its columns."""
    columns = (got.column,) if got.column else got.columns
    return not wanted or any(is_column(wanted, column, got.year) for column in columns)


def same_law(wanted: PlaceKey, got: PlaceKey) -> bool:
    """By number where both have one, since two acts in time may share a name; else by name."""
    if not wanted.names_law:
        return True
    if wanted.act_numbers and got.act_numbers:
        return bool(wanted.act_numbers & got.act_numbers)
    return bool(wanted.law_names & got.law_names)


def _same_chapter(wanted: PlaceKey, got: PlaceKey) -> bool:
    """A hit need not say its chapter or part, since most acts number their sections through."""
    stated = ((wanted.chapter, got.chapter), (wanted.part, got.part))
    return all(not asked or not given or asked == given for asked, given in stated)


def in_force(place: PlaceKey, as_of: str) -> bool:
    """Whether the version at `place` was in force on the day. Only what is known can refute it."""
    return holds_on(normal_date(as_of), place.valid_from, place.valid_to)


def close_versions(known: Mapping[str, KnownDocument]) -> dict[str, KnownDocument]:
    """Documents, by id, with the end of each version where the next one tells it."""
    keys = []
    for document in known.values():
        place = document.place
        law = place.act_numbers or place.law_names
        where = (law, place.chapter, place.schedule, place.section, place.moment)
        key = where if law and place.section else None
        keys.append((key, place.valid_from, place.valid_to))
    return {
        name: replace(document, place=replace(document.place, valid_from=begins, valid_to=ends))
        for (name, document), (begins, ends) in zip(known.items(), valid_periods(keys), strict=True)
    }


def is_near(wanted: PlaceKey, got: PlaceKey) -> bool:
    """A near miss: the right section in a wrong moment, a neighbouring section; the right row in
    a wrong column; or the right page or the next one of the right document with another table."""
    if matches(wanted, got) or not same_law(wanted, got) or not wanted.doc_ids <= got.doc_ids:
        return False
    if wanted.column and wanted.row and matches(replace(wanted, column=""), got):
        return True
    if not _same_chapter(wanted, got):
        return False
    if wanted.section:
        return bool(got.section) and _neighbours(wanted.section, got.section)
    if wanted.page:
        return bool(got.page) and _neighbours(wanted.page, got.page)
    return bool(wanted.printed and got.printed) and _neighbours(wanted.printed, got.printed)


def _neighbours(wanted: str, got: str) -> bool:
    numbers = [re.match(r"\d+", text) for text in (wanted, got)]
    if not numbers[0] or not numbers[1]:
        return wanted == got
    return abs(int(numbers[0][0]) - int(numbers[1][0])) <= 1


# ── places as people cite them ────────────────────────────────────────────────────────────────────


def _hebrew_label(place: PlaceKey, law: str, *, in_full: bool) -> str:
    """'סעיף 197(א) לתוספת השלישית לחוק התכנון והבניה'."""
    words = [
        f"סעיף {place.section}" + (f"({place.moment})" if place.moment else ""),
        schedule_name(place.schedule).strip(),
        f"פרק {place.chapter}'" if place.chapter and in_full else "",
        f"ל{law}" if HEBREW.search(law) else law,
        f"גרסה {place.version}" if place.version and in_full else "",
    ]
    return " ".join(word for word in words if word)


def is_english(place: PlaceKey) -> bool:
    """Whether it is cited in English: a Finnish act is not, whoever asks."""
    named = any(map(FINNISH_ACT.search, place.law_names))
    by_number = not place.law_names and any(map(NUMBER_ALONE.fullmatch, place.act_numbers))
    return place.language == "en" and not named and not by_number


def law_of(place: PlaceKey) -> str:
    """The act as it is written where the place says so, else its name or number."""
    return place.written.law or min(place.law_names or place.act_numbers, default="")


def label(place: PlaceKey, *, in_full: bool = False) -> str:
    """A Place as people cite it: '410/2015 110a § 3 mom.', 'lapua-tilinpaatos-2023 p. 15, table
    Tuloslaskelma'; in full with its chapter and version."""
    law = law_of(place)
    letters = HEBREW.search(f"{law}{place.section}{place.moment}")
    if place.section and (letters or place.language == "he"):
        return _hebrew_label(place, law, in_full=in_full)
    source = (
        law
        if place.section and not place.page
        else min(place.doc_ids, key=lambda text: (len(text), text), default=law)
    )
    if place.section and not place.page and is_english(place):
        section = place_name(place.section, place.moment, chapter=place.chapter if in_full else "")
        version = f"version {place.version}" if place.version and in_full else ""
        return " ".join(filter(None, (source, section, version)))
    written = place.written
    words = [
        source,
        f"{place.chapter} luku" if place.chapter and in_full else "",
        # the section of a report is a heading
        f"{place.section} §" if place.section and not place.page else "",
        f"{place.moment} mom." if place.moment else "",
        f"p. {place.page}" if place.page else "",
        f"printed p. {place.printed}" if place.printed and not place.page else "",
        f"table {written.table or place.table}" if place.table else "",
        f"row {written.row or place.row}" if place.row else "",
        f"column {written.column or place.column}" if place.column else "",
        f"version {cited_version(place.version)}" if place.version and in_full else "",
    ]
    return " ".join(word for word in words if word) or "?"


# ── rows, columns and tables of reports ───────────────────────────────────────────────────────────

YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# what stands before the name of a row: "A I 2 Rakennukset"
_COUNTER = re.compile(r"^(?:(?:[IVX]+|[A-H]|\d+(?:\.\d+)*)[.)]?\s+)+(?=[^\W\d]{3})")
# the number that a table or its heading is cited by: "Taulukko 5.", "Table 5:", "3.1"
_NUMBERED = re.compile(
    r"^(?P<number>(?:taulukko|taulu|kuvio|table)\s+\d+(?:\.\d+)*|\d+(?:\.\d+)+)[.:)]?\s+(?=\S)",
    re.IGNORECASE,
)
# a column that is not the figure of its year: the budget, a change
_NOT_OUTCOME = re.compile(r"^[lm]?ta\d|talousarvio|budjet|budget|muuto|poikkeam|change|%")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_MONEY = re.compile(r"\(?(?:1[.]?000)?(?:€|t€|k€|milj\.?€|m€|euroa?|eur)\)?$")
_CONTENT = (
    ("tp", re.compile(r"^(?:tilinpäätös|toteutuma|toteuma|tot\.|tp)-?(?=\d{4}$|$)")),
    ("ta", re.compile(r"^(?:talousarvio|budjetti|ta)-?(?=\d{4}$|$)")),
)


class CellText(NamedTuple):
    """One cell of a row: the heading of its column, what stands there, and in what unit."""

    column: str
    text: str
    unit: str = ""


def normal_name(name: object) -> str:
    """Without case and spaces, and with one kind of dash."""
    return without_spaces(name).translate(_DASHES)


def table_names(name: object) -> set[str]:
    """A name as it is written, without its number, and the number alone."""
    text = " ".join(str(name).translate(_DASHES).split())
    names = {text, _COUNTER.sub("", text) or text}
    if found := _NUMBERED.match(text):
        names |= {found["number"], text[found.end() :]}
    return set(map(normal_name, names))


def normal_row(label: object) -> str:
    """The label of a row without what counts it: "I Peruspääoma" is peruspääoma. Commas do not
    count, and "Saamiset / Lainasaamiset" is a row with what it stands under."""
    if not isinstance(label, str):
        return without_spaces(label)
    return "/".join(map(_row_part, re.split(r"\s+/\s+", " ".join(label.split()))))


def _row_part(label: str) -> str:
    bare = normal_name(_COUNTER.sub("", label).rstrip(":") or label)
    return re.sub(r",(?!\d)", "", bare) or bare


def row_names(label: str, above: Sequence[str]) -> frozenset[str]:
    """A row with what it stands under: one of the labels above it, or all of them from one on."""
    row, groups = normal_row(label), [normal_row(one) for one in above if one]
    trails = ["/".join(groups[start:]) for start in range(len(groups))]
    return frozenset(f"{group}/{row}" for group in (*groups, *trails))


def is_column(wanted: str, heading: str, year: str = "") -> bool:
    """Both as a Place has them; `year` is that of the report, which a heading may leave out. A
    year is the column of its outcome, whatever else the heading says."""
    is_year = YEAR.findall(heading) == [wanted] and not _NOT_OUTCOME.search(heading)
    return (
        heading == wanted
        or is_year
        or _column_content(wanted, "")
        in (_column_content(heading, ""), _column_content(heading, year))
    )


def _column_content(heading: str, year: str) -> str:
    """The content of a column in one spelling: tp2024, ta2024; without the unit of money."""
    bare = _MONEY.sub("", heading) or heading
    if YEAR.fullmatch(bare):
        return f"tp{bare}"
    for kind, pattern in _CONTENT:
        if found := pattern.match(bare):
            return f"{kind}{bare[found.end() :] or year}"
    return bare


def in_column(wanted: str, cells: Iterable[CellText], year: str = "") -> list[CellText]:
    """The cells of the column that a Place names; one with that very heading comes alone."""
    there = [cell for cell in cells if is_column(wanted, normal_name(cell.column), year)]
    return [cell for cell in there if normal_name(cell.column) == wanted] or there

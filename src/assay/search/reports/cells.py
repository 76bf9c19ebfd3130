"""The cell of a row that a question asks for, and how it is told: "Vuosikate 2023: 12 345
(1 000 €), Lapua, tilinpäätös 2023, s. 15, Tuloslaskelma".

Beside the outcome of a year a table has columns of other **kinds**: the budget, as it was first and
after its changes, a change, a deviation, a percentage. Headings and questions say them in their own
ways (*Poikkeama*; *paljonko poikkesi*). A column of the asked kind wins; one of a kind that nobody
asked for loses. Any other heading is asked for by its **words** (*Sijaiset*; *montako sijaista*),
in any form; what names the row (*rahavarojen muutos*) does not ask for a column. A year, the group
or the town alone, and the unit decide the rest; a column without a year is of the report's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from assay.core.decoding import thread_safe
from assay.core.types import Document, Hit, Locator
from assay.corpus.importers import report_rows
from assay.corpus.importers.report_rows import Figure
from assay.language.amounts import factor_of
from assay.language.finnish import STOP, by_rule, may_be_form

ROW = "row"
LONGEST_LABEL = 90  # characters; taste
MAX_ROW_CHARACTERS = 280  # characters of a told row; chosen
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# the accounts of the town and its companies together; the town's own central services are not that
GROUP = re.compile(
    r"konserni(?:n|lla|ssa|sta|in|a|t|en)?(?![\wäö])"
    r"|(?:kaupunki|kunta)konserni|konserni(?:tas|tulos|rahoitus|laskelm|tilinp)",
    re.I,
)
OWN_CITY = re.compile(
    r"\b(?:emo)?(?:kaupun[gk]i|kunta|kunna)(?:n|lla|t|na|ssa|sta)?(?![\wäö])", re.I
)
# but not *osallistuva budjetointi* or *asukasbudjetti*, which are something that people do
BUDGET = re.compile(r"(?<!asukas)budjet(?!oin[tn])|talousarvio|\bTA\b|määräraha|budget", re.I)
_WORD = re.compile(r"[^\W\d_]+")
# a kind of column, how a heading says it, and how a question does
KINDS = tuple(
    (kind, re.compile(heading, re.I), re.compile(question, re.I))
    for kind, heading, question in (
        (
            "revised",
            r"muutosten jälkeen|muutettu|tarkistett|\bMTA\b|TA\s?\+\s?muuto",
            r"muutosten jälkeen|muutetun|muutetussa|muutettuun|tarkistet",
        ),
        (
            "deviation",
            r"poikkeam|\berotus|\bero\b|ylitys|alitus",
            r"poikke|\berotu|\bero(?:a|aa|si|n)?\b|\bylitt[iy]|\balitt[iu]|\bylity|\balitu",
        ),
        (
            "change",
            r"muuto[sk]|kasvu",
            r"muuto[sk]|muuttu|muutett|kasv[uo](?!n?tu)|kasvan|lisäänty|vähen[ie]\b|vähenty"
            r"|\blaski(?:vat)?\b|laskenut|\bnousi|nouss|pienen[it]|suuren[it]|supistu|\bchange",
        ),
        ("target", r"tavoite|lähtötaso|nykyarvo", r"tavoit|lähtötaso|nykyarvo|\btarget"),
        ("original", r"alkup", r"alkup|\boriginal"),
        ("percent", r"%|prosent|\bpros\.", r"%|prosent|\bpercent"),
    )
)
_VERBS = re.compile(
    r"poikkes|poiken|erosi|ylitti|alitti|muuttui|muuttun|muutett|toteut(?:ui|um|un)|toteum", re.I
)
_CARRIED_OUT = re.compile(r"(?:talousarvio|budjeti)\w*\s+toteu", re.I)
_UNITS = (
    ("milj. €", re.compile(r"miljoon|\bM€|\bmilj\b", re.I)),
    ("1 000 €", re.compile(r"tuhan[ns]|\b1 ?000 ?(?:€|euro)|\bt€", re.I)),
    ("€/asukas", re.compile(r"asukas\w* koh|/\s?as|asukaskoht", re.I)),
    ("€", re.compile(r"\beuro(?:a|ina|issa)\b|€", re.I)),
)
SUMS = frozenset("yhteensä yht kaikki kaikkiaan total".split())
# what each thing counts for a column: set by hand (research/reports.md, experiment 19), not fitted
OF_KIND = 3.0
UNASKED_KIND = 1.0
HAS_WORD = 1.5
LOOKS_LIKE = 1.2
OTHER_WORD = 0.3
OTHER_WORDS = 0.9
A_NUMBER = 1.0
ASKED_YEAR = 1.5
OWN_YEAR = 0.5
OTHER_GROUP = 2.0
ASKED_UNIT = 0.75
ALIKE = 0.6  # of the longer word, for two that begin alike


class Cell(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cell of a table: its row and column, what stands there, and the number in the unit.
    `amount` is the number in full, where the unit is thousands or millions."""

    row: str
    column: str
    text: str
    value: float | None = None
    unit: str = ""
    amount: float | None = None
    table: str = ""  # what the table is called


def cell_of(document: Document, question: str) -> Cell | None:
    """The cell of this row that the question asks for: of the column it names, of its year or
    the report's; the outcome, unless it asks for something else. None for what is no row."""
    figures = _figures(document)
    if not figures:
        return None
    year = document.metadata.get("year")
    label = " ".join(document.fields.get(name, "") for name in ("label", "parent"))
    best = best_column(figures, question, label, year if isinstance(year, int) else None)
    factor = factor_of(best.unit)
    place = document.locator
    return Cell(
        row=(place.row if place else None) or document.fields.get("label", ""),
        column=best.column,
        text=best.text,
        value=best.value,
        unit=best.unit,
        amount=None if best.value is None or factor == 1 else best.value * factor,
        table=document.fields.get("statement", ""),
    )


def sentence(document: Document, cell: Cell) -> str:
    """The cell in words: what it is, and where it stands."""
    metadata = document.metadata
    place = document.locator
    page = metadata.get("printed_page") or (place.page if place else None)
    label = cell.row if len(cell.row) <= LONGEST_LABEL else f"{cell.row[:LONGEST_LABEL]} …"
    head = " ".join(part for part in (label, cell.column) if part)
    unit = f" ({cell.unit})" if cell.unit and cell.unit not in cell.text else ""
    sign = "s." if document.language == "fi" else "p."
    source = metadata.get("town"), metadata.get("report")
    where = (
        *(source if any(source) else (place.doc_id if place else "",)),
        f"{sign} {page}" if page is not None else "",
        _entity_name(document.fields.get("entity", ""), f"{label} {cell.column} {cell.table}"),
        cell.table,
    )
    told = ", ".join(str(part) for part in where if part)
    room = max(MAX_ROW_CHARACTERS - len(head) - len(told), 40)
    text = cell.text if len(cell.text) <= room else f"{cell.text[:room].rsplit(' ', 1)[0]} …"
    return f"{head}: {text}{unit}, {told}"


def _entity_name(entity: str, said: str) -> str:
    """The board, company or group that a table is about, where nothing else says it."""
    name = entity.lstrip("0123456789 ")
    return "" if name.lower() in said.lower() else name


def located(document: Document, cell: Cell | None) -> Locator | None:
    """Where the cell stands."""
    place = document.locator
    if place is None or cell is None or not cell.column:
        return place
    return msgspec.structs.replace(place, column=cell.column)


def with_cell(hit: Hit, document: Document, question: str) -> Hit:
    """A hit on a row says its column, and what stands there."""
    cell = cell_of(document, question)
    if cell is None:
        return hit
    return msgspec.structs.replace(
        hit,
        locator=located(document, cell),
        metadata={**hit.metadata, "cell": msgspec.to_builtins(cell)},
    )


def is_row(document: Document) -> bool:
    return document.metadata.get("type") == ROW


def _figures(document: Document) -> list[Figure]:
    if not is_row(document):
        return []
    try:
        return msgspec.convert(document.metadata.get("figures"), thread_safe(list[Figure]))
    except msgspec.ValidationError:
        return []


# ── columns ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class WantedColumn:
    """What a question says of the column it wants."""

    kinds: frozenset[str]
    words: tuple[str, ...]
    years: frozenset[int]
    group: bool
    unit: str


def wanted(question: str, label: str = "") -> WantedColumn:
    """Of the row that is called `label`; without one, of any row."""
    named = _words(label)
    rest = " ".join(
        word
        for word in re.findall(r"[\w%€+/.-]+", question)
        if YEAR.search(word) or not any(_is_said(own, word.lower()) for own in named)
    )
    return WantedColumn(
        kinds=kinds_asked(rest),
        words=tuple(word for word in _words(rest) if word not in STOP),
        years=frozenset(int(year) for year in YEAR.findall(question)),
        group=bool(GROUP.search(question)),
        unit=next((unit for unit, pattern in _UNITS if pattern.search(rest)), ""),
    )


def kinds_asked(question: str) -> frozenset[str]:
    kinds = {kind for kind, _, pattern in KINDS if pattern.search(question)}
    if BUDGET.search(question) and not _CARRIED_OUT.search(question):
        kinds.add("budget")
    return _of_both(kinds)


@lru_cache(maxsize=4096)
def kinds_of(heading: str) -> frozenset[str]:
    kinds = {kind for kind, pattern, _ in KINDS if pattern.search(heading)}
    if report_rows.BUDGET.search(heading) and not report_rows.ACTUAL.search(heading):
        kinds.add("budget")
    return _of_both(kinds)


def _of_both(kinds: set[str]) -> frozenset[str]:
    if "revised" in kinds:
        kinds -= {"change"}
        kinds |= {"budget"}
    if "original" in kinds:
        kinds |= {"budget"}
    if "deviation" in kinds:  # from the budget
        kinds -= {"budget", "original", "revised"}
    return frozenset(kinds)


def is_verb_of_kind(word: str) -> bool:
    """Whether a word asks for a kind of column and for nothing else: poikkesi."""
    return bool(_VERBS.match(word))


def best_column(
    figures: Sequence[Figure], question: str, label: str, own_year: int | None
) -> Figure:
    """The cell whose column the question asks for, the first of those that fit as well."""
    asked = wanted(question, label)
    return max(figures, key=lambda figure: _fit(asked, figure, own_year))


def _fit(asked: WantedColumn, figure: Figure, own_year: int | None) -> float:
    kinds = kinds_of(figure.column)
    fit = OF_KIND * len(kinds & asked.kinds) - UNASKED_KIND * len(kinds - asked.kinds)
    fit += _by_words(asked.words, figure.column)
    fit += A_NUMBER * (figure.value is not None)
    if not asked.years:
        fit += OWN_YEAR * _sign(figure.year, figure.year == own_year)
    elif figure.year is None:
        fit -= 0 if own_year in asked.years else OWN_YEAR
    else:
        fit += ASKED_YEAR * _sign(figure.year, figure.year in asked.years)
        # of several years the last is meant, or the report's
        fit += 0.01 * (figure.year == max(asked.years))
    is_group = bool(GROUP.search(figure.column)) and not OWN_CITY.search(figure.column)
    fit -= OTHER_GROUP * (is_group != asked.group)
    fit += ASKED_UNIT * (bool(asked.unit) and figure.unit == asked.unit)
    return fit


def _sign(year: int | None, fits: bool) -> int:
    return 0 if year is None else 1 if fits else -1


def _by_words(asked: Sequence[str], heading: str) -> float:
    """What the words of a heading that tell no kind add."""
    fit, others = 0.0, 0.0
    for word in _own_words(heading):
        if any(is_form(word, other) or is_form(other, word) for other in asked):
            fit += HAS_WORD
        elif any(_begin_alike(word, other) for other in asked):
            fit += LOOKS_LIKE
        elif word not in SUMS:
            others += OTHER_WORD
    return fit - min(others, OTHER_WORDS)


@lru_cache(maxsize=4096)
def _own_words(heading: str) -> tuple[str, ...]:
    telling = (report_rows.BUDGET, *(pattern for _, pattern, _ in KINDS))
    return tuple(
        word
        for word in _words(heading)
        if len(word) >= 3 and word not in STOP
        if not any(pattern.search(word) for pattern in telling)
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.lower() for word in _WORD.findall(text)))


@lru_cache(maxsize=8192)
def is_form(base: str, word: str) -> bool:
    if base == word:
        return True
    if min(len(base), len(word)) < 3 or base[:2] != word[:2]:
        return False
    return by_rule(base, word) or may_be_form(base, word)


def _is_said(own: str, word: str) -> bool:
    return is_form(own, word) or _begin_alike(own, word)


def _begin_alike(one: str, other: str) -> bool:
    longest = max(len(one), len(other))
    pairs = enumerate(zip(one, other, strict=False))
    common = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    return common >= 5 and common >= ALIKE * longest

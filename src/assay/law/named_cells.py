"""What tables, rows and columns of reports are called, and whether one name is the other.

People name a table with or without its number (3.1 Tuloslaskelma), a row with or without what it
stands under (Saamiset / Lainasaamiset), and a column by its year or by what it holds: TA 2024 is
Talousarvio 2024, and TP 2024, Tilinpäätös 2024 and Toteutuma 2024 are the outcome of 2024. A row
or a year beside the named one is never it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay.law.places import squeezed

YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# what stands before the name of a row: "A I 2 Rakennukset"
_COUNTED = re.compile(r"^(?:(?:[IVX]+|[A-H]|\d+(?:\.\d+)*)[.)]?\s+)+(?=[^\W\d]{3})")
# the number that a table or its heading is cited by: "Taulukko 5.", "Table 5:", "3.1"
_NUMBERED = re.compile(
    r"^(?P<number>(?:taulukko|taulu|kuvio|table)\s+\d+(?:\.\d+)*|\d+(?:\.\d+)+)[.:)]?\s+(?=\S)",
    re.IGNORECASE,
)
# a column that is not the figure of its year: the budget, a change
_NOT_OUTCOME = re.compile(r"^[lm]?ta\d|talousarvio|budjet|budget|muuto|poikkeam|change|%")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_MONEY = re.compile(r"\(?(?:1[.]?000)?(?:€|t€|k€|milj\.?€|m€|euroa?|eur)\)?$")
_HELD = (
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
    return squeezed(name).translate(_DASHES)


def table_names(name: object) -> set[str]:
    """A name as it is written, without its number, and the number alone."""
    text = " ".join(str(name).translate(_DASHES).split())
    names = {text, _COUNTED.sub("", text) or text}
    if found := _NUMBERED.match(text):
        names |= {found["number"], text[found.end() :]}
    return set(map(normal_name, names))


def normal_row(label: object) -> str:
    """The label of a row without what counts it: "I Peruspääoma" is peruspääoma. Commas do not
    count, and "Saamiset / Lainasaamiset" is a row with what it stands under."""
    if not isinstance(label, str):
        return squeezed(label)
    return "/".join(map(_row_part, re.split(r"\s+/\s+", " ".join(label.split()))))


def _row_part(label: str) -> str:
    bare = normal_name(_COUNTED.sub("", label).rstrip(":") or label)
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
        or _held(wanted, "") in (_held(heading, ""), _held(heading, year))
    )


def _held(heading: str, year: str) -> str:
    """What a column holds, in one spelling: tp2024, ta2024; without the unit of money."""
    bare = _MONEY.sub("", heading) or heading
    if YEAR.fullmatch(bare):
        return f"tp{bare}"
    for kind, pattern in _HELD:
        if found := pattern.match(bare):
            return f"{kind}{bare[found.end() :] or year}"
    return bare


def in_column(wanted: str, cells: Iterable[CellText], year: str = "") -> list[CellText]:
    """The cells of the column that a Place names; one with that very heading comes alone."""
    there = [cell for cell in cells if is_column(wanted, normal_name(cell.column), year)]
    return [cell for cell in there if normal_name(cell.column) == wanted] or there

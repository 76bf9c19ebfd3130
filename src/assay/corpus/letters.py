"""Letters by file number, and reported opinions by volume and page or by name.

Several documents may lay claim to one number: the answer that carries it in its heading, the
request that was filed under it, a letter whose heading quotes it. Claims are weighed by where the
number stands, and the addressee that a citation names decides what is left."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from assay.law import en
from assay.law.citation import Citation, Facts, Resolution, narrowed

# How much a claim to a number is worth, by where the number stands.
HEADING, TITLE, ID, FILED, DOUBTFUL = 4, 2, 2, 1, 1
_NO_NAMES = {
    "and",
    "the",
    "van",
    "von",
    "advice",
    "letter",
    "opinion",
    "informal",
    "this",
    "see",
    "also",
}
# A page is taken from how others cite it by name when this many do, and nearly all of them mean the
# same document.
VOTES, AGREEMENT = 5, 0.9

Number = tuple[str, str]  # year, number


class Claim(NamedTuple):
    row: int
    weight: int
    series: str
    extension: str


class Letters:
    """Who carries which number, and who is called what."""

    def __init__(self) -> None:
        self.read_text: Callable[[int], str] | None = (
            None  # for the few citations that only the text can settle
        )
        self.claims: dict[Number, list[Claim]] = defaultdict(list)
        self.by_name: dict[tuple[str, str], set[int]] = defaultdict(set)
        self.numbers_of: dict[int, set[Number]] = defaultdict(set)
        self.names_of: dict[int, frozenset[str]] = {}
        self.addressed_to: dict[int, frozenset[str]] = {}
        self.reported: dict[str, list[int]] = defaultdict(list)
        self.votes: dict[str, Counter[int]] = defaultdict(Counter)
        self.opinions: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.years: set[str] = set()
        self.requests: set[int] = set()
        self.id_of: dict[int, Number] = {}

    def add(self, row: int, doc_id: str, facts: Facts, year: int | None) -> None:
        if year:
            self.years.add(f"{year % 100:02d}")
        for (yy, number, extension), (weight, series) in _claims(doc_id, facts, year).items():
            self.claims[(yy, number)].append(Claim(row, weight, series, extension))
            self.numbers_of[row].add((yy, number))
        for number, _ in _id_numbers(doc_id)[:1]:
            if parts := en.letter_parts(number):
                self.id_of[row] = (parts["year"], parts["number"])
        self.names_of[row] = frozenset(name for full in facts.names for name in _surnames(full))
        if facts.addressed_to:
            self.addressed_to[row] = frozenset(word.lower() for word in facts.addressed_to)
        for yy in {yy for yy, _ in self.numbers_of.get(row, ())}:
            for name in self.names_of[row]:
                self.by_name[(name, yy)].add(row)
        if facts.request:
            self.requests.add(row)
        if facts.reported_at:
            self.reported[facts.reported_at].append(row)
        if facts.commission_opinion:
            for name in self.names_of[row]:
                self.opinions[name].append((year or 0, row))

    def letter(self, citation: Citation, source: int | None) -> Resolution:
        parts = citation.parts
        key = (parts["year"], parts["number"])
        if source is not None and self._answers_too(source, key):
            return Resolution("self", (), "a number of the document itself")
        surnames = _surnames(citation.name)
        claims = _fitting(self.claims.get(key, []), parts.get("ext", ""))
        if claims and all(claim.row in self.requests for claim in claims):
            return Resolution(
                "missing", (), "the corpus has the request filed under this number, not the answer"
            )
        claims = [claim for claim in claims if self._is_to(claim.row, surnames)] or claims
        best = [claim for claim in claims if claim.weight == max(other.weight for other in claims)]
        rows = list(dict.fromkeys(claim.row for claim in best))
        if len(rows) > 1:
            same = [claim for claim in best if claim.series == parts.get("series", "")] or best
            rows = list(dict.fromkeys(claim.row for claim in same))
        if len(rows) == 1:
            return self._named_otherwise(rows[0], key, surnames) or Resolution(
                "resolved", (rows[0],), "number"
            )
        if rows:
            return Resolution("ambiguous", tuple(rows), f"{len(rows)} documents carry this number")
        return self._by_name(key, surnames) or self._missing(citation, key)

    def _answers_too(self, source: int, key: Number) -> bool:
        """One answer to several requests carries all their numbers in its heading: those are not
        citations."""
        if key == self.id_of.get(source):
            return False  # a supplement may cite the letter it adds to
        return any(
            claim.row == source and claim.weight >= HEADING for claim in self.claims.get(key, ())
        )

    def _is_to(self, row: int, surnames: frozenset[str]) -> bool:
        known = self.names_of[row] | self.addressed_to.get(row, frozenset())
        return any(_alike(one, other) for one in surnames for other in known)

    def _named_otherwise(
        self, row: int, key: Number, surnames: frozenset[str]
    ) -> Resolution | None:
        """The number leads to a letter to somebody else: one digit away may be a letter to the one
        named, or else the citation is in doubt."""
        known = self.names_of[row] | self.addressed_to.get(row, frozenset())
        if not surnames or not known or self._is_to(row, surnames):
            return None
        if self.read_text and _speaks_of(self.read_text(row), surnames):
            return None  # named after the official it is about, and not the lawyer who asked
        names = " and ".join(sorted(name.title() for name in surnames))
        reason = f"the number is that of another letter than one to {names}"
        return self._by_name(key, surnames) or Resolution("ambiguous", (row,), reason)

    def _by_name(self, key: Number, surnames: frozenset[str]) -> Resolution | None:
        """One letter to that addressee whose number or year is one slip away."""
        year, number = key
        rows = set()
        for name in surnames:
            for yy in _years_near(year):
                for row in self.by_name.get((name, yy), ()):
                    if any(_one_slip((year, number), other) for other in self.numbers_of[row]):
                        rows.add(row)
        if len(rows) == 1:
            return Resolution("resolved", tuple(rows), "addressee, number one digit off")
        return None

    def _missing(self, citation: Citation, key: Number) -> Resolution:
        if self.claims.get(key):
            there = ", ".join(
                sorted({claim.extension or "the letter itself" for claim in self.claims[key]})
            )
            wanted = citation.parts.get("ext") or "the letter itself"
            return Resolution("missing", (), f"of this number the corpus has {there}, not {wanted}")
        if key[0] not in self.years and not any(yy == key[0] for yy, _ in self.claims):
            return Resolution("missing", (), f"no document of the year '{key[0]} is in the corpus")
        return Resolution("missing", (), "no document carries this number")

    def opinion(self, citation: Citation) -> Resolution:
        parts = citation.parts
        page = f"{parts['volume']} {parts['reporter']} {parts['page']}"
        rows = self.reported.get(page, [])
        surnames = _surnames(parts.get("name", ""))
        if len(rows) == 1 and (not surnames or surnames & self.names_of[rows[0]]):
            return Resolution("resolved", (rows[0],), "volume and page")
        year = int(parts.get("year", 0))
        named = {
            row
            for name in surnames
            for at, row in self.opinions.get(name, [])
            if not year or abs(at - year) <= 1
        }
        both = named & set(rows)
        if len(both or named) == 1:
            return Resolution("resolved", tuple(both or named), "name and year")
        if named:
            return narrowed(sorted(both or named), "name and year")
        voted = self.votes[page].most_common(1) if page in self.votes else []
        if voted and voted[0][1] >= max(VOTES, AGREEMENT * self.votes[page].total()):
            return Resolution(
                "resolved", (voted[0][0],), "volume and page, as other documents cite it by name"
            )
        if rows and not surnames:
            return narrowed(rows, "volume and page")
        return Resolution(
            "missing", (), "no opinion at this volume and page, and none by this name and year"
        )

    def learn(self, citations: Iterable[tuple[str, str, list[int]]]) -> None:
        """Take the pages of opinions from citations that name them: the heading of an old scan
        seldom has its page."""
        for normal, status, rows in citations:
            page = re.search(r"\d+ [A-Z]+ Ops\. \d+$", normal)
            if page and status == "resolved" and len(rows) == 1:
                self.votes[page[0]][rows[0]] += 1


_ID = re.compile(
    r"(?:(?P<series>[A-Z])-)?(?P<yy>\d\d)(?P<mark>ADV-\d\d-|ADV-|A-|A|-)?(?P<nn>\d{2,3})(?!\d)(?P<rest>.*)"
)
_EXT = re.compile(r"\(?-?([a-zA-Z])\)?(-1090)?$|(-1090)")


def _claims(
    doc_id: str, facts: Facts, year: int | None
) -> dict[tuple[str, str, str], tuple[int, str]]:
    """(year, number, extension) of every number a document lays claim to, with its weight and
    series."""
    own = _id_numbers(doc_id)
    claims: dict[tuple[str, str, str], tuple[int, str]] = {}

    def add(number: str, weight: int) -> None:
        if parts := en.letter_parts(number):
            key = (parts["year"], parts["number"], parts.get("ext", ""))
            before, series = claims.get(key, (0, ""))
            claims[key] = (before + weight, series or parts.get("series", ""))

    trusted = any(_trusted(number, own, year) for number in facts.numbers)
    for number in facts.numbers:
        add(number, HEADING if trusted else DOUBTFUL)
    for number in facts.title_numbers:
        add(number, TITLE if "-" in number else FILED)
    printed = {key[:2] for key in claims}
    for number, weight in own:
        # a filing number of another series than the one in the heading is not what the letter is
        # cited by
        parts = en.letter_parts(number)
        if (
            weight == ID
            or not facts.numbers
            or (parts and (parts["year"], parts["number"]) in printed)
        ):
            add(number, weight)
    return claims


def _id_numbers(doc_id: str) -> list[tuple[str, int]]:
    """The numbers in an id: '89-142', 'A-24-003' and '80A001' are file numbers; '75003' and
    '77ADV-77-001' say where a paper was filed; '92-481-523-614' answers three requests."""
    match = _ID.fullmatch(doc_id)
    if not match:
        return []
    weight = FILED if match["mark"] is None or match["mark"].startswith("ADV") else ID
    extension = _EXT.match(match["rest"])
    suffix = "".join(part for part in extension.groups() if part).lower() if extension else ""
    series = f"{match['series']}-" if match["series"] else ""
    numbers = [(f"{series}{match['yy']}-{match['nn'].zfill(3)}{suffix}", weight)]
    return numbers + [
        (f"{match['yy']}-{more}", FILED) for more in re.findall(r"-(\d{3})(?!\d)", match["rest"])
    ]


def _trusted(number: str, own: list[tuple[str, int]], year: int | None) -> bool:
    """A heading may quote another letter's number. It is believed where the id says the same as one
    of its numbers, or says nothing and the year fits."""
    parts = en.letter_parts(number)
    if parts is None:
        return False
    stem = f"{parts['year']}-{parts['number']}"
    if any(stem in name for name, _ in own):
        return True
    near = year is None or (year - int(parts["year"])) % 100 in (0, 1, 99)
    return near and not any(weight == ID for _, weight in own)


def _fitting(claims: list[Claim], extension: str) -> list[Claim]:
    """Claims whose supplement letter is the one cited. "-1090" tells what a letter is about, and is
    often left out."""
    exact = [claim for claim in claims if claim.extension == extension]
    if exact:
        return exact
    if not extension:
        return [claim for claim in claims if claim.extension == "-1090"]
    if extension == "-1090":
        return [claim for claim in claims if not claim.extension]
    return []


def _surnames(name: str) -> frozenset[str]:
    words = (word.lower() for word in re.findall(r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ’']+", name))
    return frozenset(word for word in words if len(word) > 2 and word not in _NO_NAMES)


def _speaks_of(text: str, surnames: frozenset[str]) -> bool:
    """A letter is about somebody whom it names other than as the addressee of another letter."""
    return any(
        re.search(rf"(?i)\b{re.escape(name)}\b(?!,?\s+(?:advice|letter|opinion))", text)
        for name in surnames
    )


@lru_cache(maxsize=65536)
def _alike(one: str, other: str) -> bool:
    """The same name, or one as a scanner or a typist may have spoiled it."""
    return (
        one == other
        or (one[0] == other[0] and SequenceMatcher(None, one, other).ratio() >= 0.5)
        or (SequenceMatcher(None, one, other).ratio() >= 0.66)
    )


def _years_near(year: str) -> set[str]:
    """The year, the years beside it, and those with another first digit: '87 for '97."""
    beside = {f"{(int(year) + step) % 100:02d}" for step in (-1, 0, 1)}
    return beside | {f"{decade}{year[1]}" for decade in range(10)}


def _one_slip(cited: Number, real: Number) -> bool:
    """One digit differs, two neighbours changed places, or the number is right and the year one
    slip away."""
    (year, number), (real_year, real_number) = cited, real
    if year != real_year:
        return number == real_number
    if len(number) != len(real_number):
        return number.startswith(real_number) or real_number.startswith(number)
    wrong = [i for i, (a, b) in enumerate(zip(number, real_number, strict=True)) if a != b]
    swapped = len(wrong) == 2 and wrong[1] == wrong[0] + 1 and sorted(number) == sorted(real_number)
    return len(wrong) == 1 or swapped

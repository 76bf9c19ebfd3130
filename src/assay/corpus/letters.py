"""Resolve citations of advice letters by file number, and of reported opinions by volume and page
or by name.

**Claims.** Several documents may lay claim to one number: the answer that carries it in its
heading, the request that was filed under it, a letter whose heading quotes it, a scan whose id was
typed from the folder. Each claim has a weight by where the number stands (`HEADING` and the rest
below), claims of one document on one number add up, and the heaviest wins. A heading is believed
only where the id agrees or says nothing, since a heading may quote. A request never stands for its
answer.

**Names.** A citation usually names the addressee too ("the Smith Advice Letter, No. A-90-123"),
which is evidence of its own: two facts about one letter, each with its slips, as in record linkage
(Fellegi & Sunter 1969), here with rules in place of probabilities, because each must give a reason
that a person can check. Among equal claims the addressee decides. Where the number leads to
somebody else, a letter to the one named whose number is one slip away (a digit, a swap, the year)
is taken instead, if there is exactly one; names are compared loosely, as scans spoil them. Else the
citation is ambiguous, never guessed.

**Pages.** Old opinions are cited by volume and page, which their scans seldom show. But others cite
them by name and page together. Those that resolve by name vote on what stands at the page, and a
page that five citations and nine in ten agree on is then known also to citations without a name.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from assay.core.types import Document
from assay.law import en
from assay.law.citation import Citation, Facts, Resolution, resolution_of_rows
from assay.law.en import OPINION

# How much a claim to a number is worth, by where the number stands: set by hand on the FPPC's
# opinions, as are the numbers below.
HEADING = 4
TITLE = 2
ID = 2
FILED = 1
DOUBTFUL = 1
_NO_NAMES = set("and the van von advice letter opinion informal this see also".split())
# A page is taken from how others cite it by name when this many do, and nearly all of them mean the
# same document.
VOTES = 5
AGREEMENT = 0.9
FIRST_YEAR = 70  # of the century before ('69 is 2069): the FPPC began in 1975
LATER = "number, of a later year than what cites it"  # a stamp such as "superseded by"
REPAIRED = "addressee, number one digit off"
# How alike two names must be (SequenceMatcher's ratio), by hand: less where they begin with the
# same letter.
SAME_BEGINNING = 0.5
ANY_BEGINNING = 0.66
NAME_SIMILARITY = 0.8  # of a name that somebody typed, beside one from a scan (taste)

Number = tuple[str, str]  # year, number
# The heading of an answer, which names the file in the Commission's own series; that of a note in
# which staff writes down what was told by telephone; or a letter that writes down such advice.
_ANSWER = re.compile(
    r"(?i)\bour\s+(?:file|advice)\s+n[o0]s?\b[.:\s]*[A-Z]?\s?-?\s?\d\d\s?-\s?\d{2,3}"
    r"|\bre\s?:?\s+your\s+(?:letter|request)"
    r"|\bmemo(?:randum)?\s+to\s+(?:the\s+)?file\b"
    r"|\byou\s+(?:have\s+|had\s+)?(?:advised|told|informed)\s+(?:me|us)\b"
    r"|\bconfirm(?:s|ing|ation\s+of)?\s+(?:our|the|my|your)\s+(?:\S+\s+){0,3}"
    r"(?:conversation|discussion|advice|call)\b"
)


def only_asks(document: Document) -> bool:
    """Whether a letter to the agency, by what its importer says, has no answer with it: neither the
    agency's reply nor the advice that its sender was given."""
    return bool(document.metadata.get("request")) and not _ANSWER.search(document.text)


def readable_part(document: Document, *names: str) -> str:
    """The first of these parts of a document that says something and was not misread by a scanner;
    its name, or nothing."""
    misread = document.metadata.get("misread") or ()
    return next(
        (name for name in names if document.fields.get(name, "").strip() and name not in misread),
        "",
    )


class IdClaim(NamedTuple):
    """One document's claim to a number."""

    row: int
    weight: int
    series: str
    extension: str


class LetterIndex:
    """Who carries which number, and who is called what."""

    def __init__(self) -> None:
        # for the few citations that only the text can settle
        self.read_text: Callable[[int], str] | None = None
        self.claims: dict[Number, list[IdClaim]] = defaultdict(list)
        self.by_name: dict[tuple[str, str], set[int]] = defaultdict(set)
        self.numbers_of: dict[int, set[Number]] = defaultdict(set)
        self.names_of: dict[int, frozenset[str]] = {}
        self.addressed_to: dict[int, frozenset[str]] = {}
        self.reported: dict[str, list[int]] = defaultdict(list)
        self.votes: dict[str, Counter[int]] = defaultdict(Counter)
        self.opinions: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.years: set[str] = set()
        self.requests: set[int] = set()
        self.commission: set[int] = set()
        self.id_of: dict[int, Number] = {}
        self.year_of: dict[int, int] = {}

    def add(self, row: int, doc_id: str, facts: Facts, year: int | None) -> None:
        if year:
            self.years.add(f"{year % 100:02d}")
            self.year_of[row] = year
        for (yy, number, extension), (weight, series) in _claims(doc_id, facts, year).items():
            self.claims[(yy, number)].append(IdClaim(row, weight, series, extension))
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
            self.commission.add(row)
            for name in self.names_of[row]:
                self.opinions[name].append((year or 0, row))

    def letter(self, citation: Citation, source: int | None) -> Resolution:
        cited = citation.parts
        key = (cited["year"], cited["number"])
        if source is not None and self._answers_too(source, key):
            return Resolution("self", (), "a number of the document itself")
        is_later = self._is_later(source, key[0])
        if is_later and not cited.get("series"):  # a contract, a bill, a slip of the scanner
            return Resolution("missing", (), "the number is of a later year than what cites it")
        surnames = _surnames(citation.name)
        claims = _claims_with_extension(self.claims.get(key, []), cited.get("ext", ""))
        if citation.name.startswith(OPINION):
            claims = [claim for claim in claims if claim.row in self.commission]
            if not claims:
                reason = "the number is that of an opinion of the Commission, which is not here"
                return Resolution("missing", (), reason)
        if claims and all(claim.row in self.requests for claim in claims):
            reason = "the corpus has the request filed under this number, not the answer"
            return Resolution("missing", (), reason)
        rows = self._best_rows(claims, surnames, cited.get("series", ""))
        if _is_only_filed(claims, citation):
            reason = "only a paper that was filed under it fits, and nobody is named"
            return Resolution("ambiguous", tuple(rows), reason)
        latest = self.year_of.get(source, 0) if source is not None else 0
        if len(rows) == 1:
            doubt = self._named_otherwise(rows[0], key, surnames, latest)
            return doubt or Resolution("resolved", (rows[0],), LATER if is_later else "number")
        if rows:
            return Resolution("ambiguous", tuple(rows), f"{len(rows)} documents carry this number")
        return self._by_name(key, surnames, latest) or self._missing(citation, key)

    def _is_later(self, source: int | None, year: str) -> bool:
        """Whether a letter would cite one of the years after it."""
        own = self.year_of.get(source) if source is not None else None
        if not own or not year.isdecimal():
            return False
        century = 1900 if int(year) >= FIRST_YEAR else 2000
        return century + int(year) > own + 1

    def _best_rows(self, claims: list[IdClaim], surnames: frozenset[str], series: str) -> list[int]:
        """The documents with the heaviest claims: to the one named, if there are any, and of the
        series cited, if that decides."""
        claims = [claim for claim in claims if self._is_to(claim.row, surnames)] or claims
        heaviest = max((claim.weight for claim in claims), default=0)
        best = [claim for claim in claims if claim.weight == heaviest]
        rows = _rows_of_claims(best)
        if len(rows) > 1:
            rows = _rows_of_claims([claim for claim in best if claim.series == series] or best)
        return rows

    def is_named(self, row: int, name: str) -> bool:
        """Whether a document is called by a name: its addressee has it, nearly as it is written, or
        its text is about somebody of that name."""
        surnames = _surnames(name)
        known = self._known_names(row)
        if not surnames or not known:
            return True
        if any(_is_nearly_same(surname, other) for surname in surnames for other in known):
            return True
        return bool(self.read_text and _speaks_of(self.read_text(row), surnames))

    def is_addressed_to(self, row: int, name: str) -> bool:
        """Whether the one who asked for a document has this name."""
        surnames = _surnames(name)
        return any(_is_nearly_same(one, other) for one in surnames for other in self.names_of[row])

    def has_opinion(self, name: str) -> bool:
        """Whether an opinion of the Commission is called nearly so."""
        surnames = _surnames(name)
        return any(_is_nearly_same(one, other) for one in surnames for other in self.opinions)

    def _answers_too(self, source: int, key: Number) -> bool:
        """One answer to several requests carries all their numbers in its heading: those are not
        citations."""
        if key == self.id_of.get(source):
            return False  # a supplement may cite the letter it adds to
        own = (claim for claim in self.claims.get(key, ()) if claim.row == source)
        return any(claim.weight >= HEADING for claim in own)

    def _known_names(self, row: int) -> frozenset[str]:
        return self.names_of[row] | self.addressed_to.get(row, frozenset())

    def _is_to(self, row: int, surnames: frozenset[str]) -> bool:
        known = self._known_names(row)
        return any(_is_same_name(surname, name) for surname in surnames for name in known)

    def _named_otherwise(
        self, row: int, key: Number, surnames: frozenset[str], latest: int
    ) -> Resolution | None:
        """The number leads to a letter to somebody else: one digit away may be a letter to the one
        named, or else the citation is in doubt."""
        if not surnames or not self._known_names(row) or self._is_to(row, surnames):
            return None
        if self.read_text and _speaks_of(self.read_text(row), surnames):
            return None  # named after the official it is about, and not the lawyer who asked
        names = " and ".join(sorted(name.title() for name in surnames))
        reason = f"the number is that of another letter than one to {names}"
        return self._by_name(key, surnames, latest) or Resolution("ambiguous", (row,), reason)

    def _by_name(self, key: Number, surnames: frozenset[str], latest: int) -> Resolution | None:
        """One letter to that addressee whose number or year is one slip away."""
        rows = set()
        for name in surnames:
            for year in _years_near(key[0]):
                for row in self.by_name.get((name, year), ()):
                    own = self.year_of.get(row)
                    if own and latest and own > latest + 1:
                        continue  # it was not written yet
                    if any(_one_slip(key, number) for number in self.numbers_of[row]):
                        rows.add(row)
        if len(rows) == 1:
            return Resolution("resolved", tuple(rows), REPAIRED)
        return None

    def _missing(self, citation: Citation, key: Number) -> Resolution:
        if self.claims.get(key):
            extensions = {claim.extension or "the letter itself" for claim in self.claims[key]}
            there = ", ".join(sorted(extensions))
            wanted = citation.parts.get("ext") or "the letter itself"
            return Resolution("missing", (), f"of this number the corpus has {there}, not {wanted}")
        year = key[0]
        if year not in self.years and not any(claimed == year for claimed, _ in self.claims):
            return Resolution("missing", (), f"no document of the year '{year} is in the corpus")
        return Resolution("missing", (), "no document carries this number")

    def opinion(self, citation: Citation) -> Resolution:
        cited = citation.parts
        page = f"{cited['volume']} {cited['reporter']} {cited['page']}"
        rows = self.reported.get(page, [])
        surnames = _surnames(cited.get("name", ""))
        if len(rows) == 1 and (not surnames or surnames & self.names_of[rows[0]]):
            return Resolution("resolved", (rows[0],), "volume and page")
        named = self._opinions_named(surnames, int(cited.get("year", 0)))
        named = named & set(rows) or named
        if len(named) == 1:
            return Resolution("resolved", tuple(named), "name and year")
        elected = self._opinion_at_page(page)
        if named and elected not in named:
            return resolution_of_rows(sorted(named), "name and year")
        if elected is not None:
            reason = "volume and page, as other documents cite it by name"
            return Resolution("resolved", (elected,), reason)
        if rows and not surnames:
            return resolution_of_rows(rows, "volume and page")
        reason = "no opinion at this volume and page, and none by this name and year"
        return Resolution("missing", (), reason)

    def _opinions_named(self, surnames: frozenset[str], year: int) -> set[int]:
        """Opinions requested by one of these, of the year or one beside it, if it is known."""
        dated = [pair for name in surnames for pair in self.opinions.get(name, [])]
        return {row for at, row in dated if not year or abs(at - year) <= 1}

    def _opinion_at_page(self, page: str) -> int | None:
        """The opinion that citations by name put at a page, if they agree."""
        if page not in self.votes:
            return None
        row, votes = self.votes[page].most_common(1)[0]
        return row if votes >= max(VOTES, AGREEMENT * self.votes[page].total()) else None

    def learn_pages(self, citations: Iterable[tuple[str, str, list[int]]]) -> None:
        """Take the pages of opinions from citations that name them: the heading of an old scan
        seldom has its page."""
        for normal, status, rows in citations:
            page = re.search(r"\d+ [A-Z]+ Ops\. \d+$", normal)
            if page and status == "resolved" and len(rows) == 1:
                self.votes[page[0]][rows[0]] += 1


_ID = re.compile(
    r"(?:(?P<series>[A-Z])-)?(?P<yy>\d\d)(?P<mark>ADV-\d\d-|ADV-|A-|A|-)?"
    r"(?P<nn>\d{2,3})(?!\d)(?P<rest>.*)"
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

    trusted = any(_trusted_number(number, own, year) for number in facts.numbers)
    for number in facts.numbers:
        add(number, HEADING if trusted else DOUBTFUL)
    for number in facts.title_numbers:
        add(number, TITLE if "-" in number else FILED)
    printed = {key[:2] for key in claims}
    for number, weight in own:
        # a filing number other than the one in the heading is not what the letter is cited by
        parts = en.letter_parts(number)
        is_printed = parts is not None and (parts["year"], parts["number"]) in printed
        if weight == ID or not facts.numbers or is_printed:
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
    suffix = "".join(filter(None, extension.groups())).lower() if extension else ""
    series = f"{match['series']}-" if match["series"] else ""
    year = match["yy"]
    own = (f"{series}{year}-{match['nn'].zfill(3)}{suffix}", weight)
    also_answered = re.findall(r"-(\d{3})(?!\d)", match["rest"])
    return [own, *((f"{year}-{number}", FILED) for number in also_answered)]


def _trusted_number(number: str, own: list[tuple[str, int]], year: int | None) -> bool:
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


def _claims_with_extension(claims: list[IdClaim], extension: str) -> list[IdClaim]:
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


def _is_only_filed(claims: list[IdClaim], citation: Citation) -> bool:
    """Whether all claims only say where a paper was filed, and the citation gives no further
    evidence. Opinions, letters, resolutions and bills were numbered alike."""
    is_said = citation.parts.get("series") or citation.name or "Letter" in citation.text
    return bool(claims) and not is_said and all(claim.weight <= FILED for claim in claims)


def _rows_of_claims(claims: list[IdClaim]) -> list[int]:
    return list(dict.fromkeys(claim.row for claim in claims))


def _surnames(name: str) -> frozenset[str]:
    words = (word.lower() for word in re.findall(r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ’']+", name))
    return frozenset(word for word in words if len(word) > 2 and word not in _NO_NAMES)


def _speaks_of(text: str, surnames: frozenset[str]) -> bool:
    """A letter is about somebody whom it names other than as the addressee of another letter."""
    names = "|".join(map(re.escape, sorted(surnames)))
    return bool(re.search(rf"(?i)\b(?:{names})\b(?!,?\s+(?:advice|letter|opinion))", text))


@lru_cache(maxsize=65536)
def _is_same_name(cited: str, known: str) -> bool:
    """The same name, or one as a scanner or a typist may have spoiled it."""
    needed = SAME_BEGINNING if cited[0] == known[0] else ANY_BEGINNING
    return cited == known or SequenceMatcher(None, cited, known).ratio() >= needed


def _is_nearly_same(cited: str, known: str) -> bool:
    return cited == known or SequenceMatcher(None, cited, known).ratio() >= NAME_SIMILARITY


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
    digits = enumerate(zip(number, real_number, strict=True))
    wrong = [at for at, (digit, real_digit) in digits if digit != real_digit]
    if len(wrong) == 2:
        return wrong[1] == wrong[0] + 1 and sorted(number) == sorted(real_number)
    return len(wrong) == 1

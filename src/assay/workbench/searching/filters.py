"""Search filters: the columns of a corpus that people filter by (topic, law, statute, language,
year), the documents that pass, and the choices that a page offers."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from typing import Any

import msgspec
import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.types import Hit
from assay.corpus.disk import Corpus
from assay.corpus.in_force import statuses_of_open_corpus
from assay.language.detect import detect
from assay.law.he import law_key
from assay.law.matching import normal_laws
from assay.law.parse import parse
from assay.law.versions import NOT_YET, SUPERSEDED, normal_date
from assay.workbench.project.service import RecentValues

Mask = np.ndarray[Any, np.dtype[np.bool_]]  # which rows of a corpus
Numbers = np.ndarray[Any, np.dtype[np.int64]]

TOPIC_KEYS = ("topic_primary", "topic", "practice_area")
LAW_KEYS = ("law", "law_id")
STATUTES = ("statute", "regulation", "reference", "section")  # kinds of citations of the law
# A whole code ("§§ 81000–91014") and a bare moment ("3 mom.") are no places to look for, and the
# address of an act in its own markup ("/akn/il/act/…") is not a name.
NO_PLACE = re.compile(r"\d\s*[–-]\s*[\d.]+$|^\d[\d\s,–-]*mom\.|#|^/")
# documents that the language is told from, where they do not state it; chosen
LANGUAGE_DOCUMENTS = 20
# Chosen: what one server has in use at a time, and what fits on a page.
KEPT_COLUMNS = 8  # corpora whose columns are kept in memory
KEPT_MASKS = 64  # combinations of filters, for each corpus
MOST_CHOICES = 12  # values of a filter that a page offers
MOST_YEARS = 400  # years that are drawn


AMONG = "Nothing among the documents that pass the filters answers the question."


class NothingPasses(InputError):
    """The filters leave nothing."""


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which documents a search may return."""

    topic: str = ""
    statute: str = ""
    law: str = ""
    language: str = ""
    years: tuple[int, int] | None = None
    as_of: str = ""  # what was in force on this day

    def any(self) -> bool:
        return self != NO_FILTERS


NO_FILTERS = Filters()


SPAN = re.compile(r"(\d{4})(?:\s*[-–]\s*(\d{4}))?")


def read_filters(*, year: str = "", as_of: str = "", **filters: str) -> Filters:
    """Filters as people write them: a year or a span of years, and a day."""
    known = ("topic", "statute", "law", "language")
    if unknown := next((name for name in filters if name not in known), None):
        raise InputError(
            f"there is no filter {unknown!r}", hint=f"Known: {', '.join(known)}, year, as_of."
        )
    years = None
    if year:
        span = SPAN.fullmatch(str(year).strip())
        first, last = (int(span[1]), int(span[2] or span[1])) if span else (1, 0)
        if first > last:
            raise InputError(f"{year!r} is not a year, or a span such as 2010-2020")
        years = first, last
    try:
        day = date.fromisoformat(normal_date(as_of)).isoformat() if as_of else ""
    except ValueError:
        raise InputError(f"{as_of!r} is not a date such as 2020-01-31") from None
    return Filters(years=years, as_of=day, **filters)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A value to filter by, and how many of the documents found have it."""

    value: str
    documents: int
    chosen: bool = False


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """The values to filter by. A kind that would exclude nothing is empty."""

    topics: tuple[Choice, ...] = ()
    statutes: tuple[Choice, ...] = ()
    laws: tuple[Choice, ...] = ()
    languages: tuple[Choice, ...] = ()
    years: tuple[Choice, ...] = ()  # every year from the first to the last, also the empty ones
    first_year: int | None = None  # of the corpus
    last_year: int | None = None
    versions: bool = False  # whether documents say from when on they held


@dataclass(frozen=True, kw_only=True)
class TextColumn:
    """A column of texts, stored as numbers into the distinct ones; 0 is none."""

    names: tuple[str, ...]
    numbers: Numbers

    def counts(self, rows: Mask | Numbers) -> list[tuple[str, int]]:
        """How many of the rows have each, the most frequent first, and by name."""
        counts = np.bincount(self.numbers[rows], minlength=len(self.names))
        counts[0] = 0
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        return [(self.names[at], int(counts[at])) for at in order]

    def holding(self, text: str) -> Mask:
        """The rows that have it, whatever its case."""
        folded = text.casefold()
        held = [bool(name) and name.casefold() == folded for name in self.names]
        return np.asarray(np.array(held, bool)[self.numbers])


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a corpus in memory, one value per row."""

    corpus: Corpus
    titles: list[str]
    dates: list[str]
    years: Numbers  # -1 where none is said
    topics: TextColumn
    laws: TextColumn
    law_ids: TextColumn
    law_names: TextColumn  # what else an act is called, a list in JSON
    languages: TextColumn
    places: pl.DataFrame  # the locators, and from when to when a version held
    citations: pl.DataFrame  # every citation of every document, in the order of rows
    cited: TextColumn  # what each of them cites
    citing: Numbers  # the row of each of them
    of_law: Mask  # whether a place of the law is cited
    degrees: dict[str, Numbers]  # how many documents each `cites` and is `cited_by`
    _masks: RecentValues[Filters, Mask] = field(default_factory=lambda: RecentValues(KEPT_MASKS))

    def citations_of(self, row: int) -> pl.DataFrame:
        start, end = np.searchsorted(self.citing, [row, row + 1])
        return self.citations.slice(int(start), int(end - start))

    def allowed(self, filters: Filters) -> Mask | None:
        """The rows that pass every filter; None where there is none. It is an error when no row
        passes."""
        if not filters.any():
            return None
        mask = self._masks.of(filters, lambda: _mask(self, filters))
        if not mask.any():
            raise NothingPasses(
                "no document of the corpus passes these filters",
                hint=_filter_hint(self, filters),
            )
        return mask


# ── reading them ──────────────────────────────────────────────────────────────────────────────────

_kept = RecentValues[tuple[str, str], Columns](KEPT_COLUMNS)
_one_at_a_time = threading.Lock()


def columns_of(corpus: Corpus) -> Columns:
    """Read at the first asking, and kept as long as the corpus is the same."""
    key = (str(corpus.data_folder), corpus.fingerprint)
    with _one_at_a_time:
        return _kept.of(key, lambda: _read_columns(corpus))


def language_of(corpus: Corpus) -> str:
    """The language of most of its documents: as they state it, else as the first ones read."""
    languages = columns_of(corpus).languages
    counts = languages.counts(np.arange(len(languages.numbers)))
    return (
        counts[0][0]
        if counts
        else detect(each.text for each in islice(corpus.iter(), LANGUAGE_DOCUMENTS))
    )


def acts_of(corpus: Corpus) -> list[str]:
    """The acts that it holds, each with its number, the one with most provisions first."""
    columns = columns_of(corpus)
    pairs = zip(columns.laws.numbers.tolist(), columns.law_ids.numbers.tolist(), strict=True)
    acts = Counter(pair for pair in pairs if pair[0])
    names, ids = columns.laws.names, columns.law_ids.names
    return [
        f"{names[law]} ({ids[number]})" if ids[number] else names[law]
        for (law, number), _ in acts.most_common()
    ]


def _read_columns(corpus: Corpus) -> Columns:
    citations_of_document = [
        pl.col("metadata").str.json_path_match(f"$.{key}").alias(f"said.{key}")
        for key in (*TOPIC_KEYS, *LAW_KEYS, "law_names", "date")
    ]
    located = [name for name in corpus.frame.collect_schema() if name.startswith("locator.")]
    frame = corpus.frame.select(
        "title", "language", "year", "valid_from", "valid_to", *located, *citations_of_document
    ).collect()
    citations = corpus.citations.collect()
    cited = _text_column(citations["normal"])
    is_place = np.array([not NO_PLACE.search(name) for name in cited.names], bool)
    of_law = citations["kind"].is_in(STATUTES).to_numpy() & is_place[cited.numbers]
    dates = pl.coalesce(
        pl.when(pl.col(name) != "").then(pl.col(name)) for name in ("said.date", "valid_from")
    )
    return Columns(
        corpus=corpus,
        titles=frame["title"].to_list(),
        dates=frame.select(dates.fill_null("").str.slice(0, 10))["said.date"].to_list(),
        years=frame["year"].fill_null(-1).to_numpy().astype(np.int64),
        topics=_first_value(frame, TOPIC_KEYS),
        laws=_first_value(frame, ("law",)),
        law_ids=_first_value(frame, ("law_id",)),
        law_names=_first_value(frame, ("law_names",)),
        languages=_text_column(frame["language"]),
        places=frame.select(*located, "valid_from", "valid_to", "said.law", "said.law_id"),
        citations=citations,
        cited=cited,
        citing=citations["row"].to_numpy(),
        of_law=of_law,
        degrees={name: np.diff(corpus.graph(name)[0]) for name in ("cites", "cited_by")},
    )


def _first_value(frame: pl.DataFrame, keys: Sequence[str]) -> TextColumn:
    """The value of the first key that has one."""
    first = frame.select(pl.coalesce(f"said.{key}" for key in keys).alias("first"))["first"]
    return _text_column(first)


def _text_column(values: pl.Series) -> TextColumn:
    texts = values.fill_null("")
    names = ["", *sorted(set(texts.unique()) - {""})]
    number_of = {name: number for number, name in enumerate(names)}
    numbers = np.fromiter((number_of[text] for text in texts), np.int64, len(texts))
    return TextColumn(names=tuple(names), numbers=numbers)


def _of_law(columns: Columns, law: str) -> Mask:
    """The rows of a law in any spelling: 'kuntalain', 'KuntaL', 'kuntalaki (410/2015)'; or by what
    else it is called, as 'hankintalaki'."""
    numbers, names = normal_laws((law,))
    key = law_key(law)

    def fits(name: str) -> bool:
        own_numbers, own_names = normal_laws((name,))
        by_name = names & own_names or (key and law_key(name) == key)
        return bool(name) and bool(numbers & own_numbers if numbers else by_name)

    def called(listed: str) -> bool:
        others = msgspec.json.decode(listed) if listed.startswith("[") else [listed]
        return any(fits(name) for name in others if isinstance(name, str))

    held = [
        np.array([test(name) for name in named.names], bool)[named.numbers]
        for named, test in (
            (columns.laws, fits),
            (columns.law_ids, fits),
            (columns.law_names, called),
        )
    ]
    return np.asarray(np.any(held, axis=0))


# ── masks ─────────────────────────────────────────────────────────────────────────────────────────


def _mask(columns: Columns, filters: Filters) -> Mask:
    mask = np.ones(len(columns.titles), bool)
    if filters.years:
        first, last = filters.years
        mask &= (columns.years >= first) & (columns.years <= last)
    if filters.topic:
        mask &= columns.topics.holding(filters.topic)
    if filters.law:
        of_law = columns.laws.holding(filters.law) | columns.law_ids.holding(filters.law)
        mask &= of_law if of_law.any() else _of_law(columns, filters.law)
    if filters.language:
        mask &= columns.languages.holding(filters.language)
    if filters.statute:
        mask &= _citing(columns, filters.statute)
    if filters.as_of:
        mask &= statuses_of_open_corpus(str(columns.corpus.data_folder)).holding(filters.as_of)
    return mask


def _citing(columns: Columns, statute: str) -> Mask:
    """The rows that cite it, in their record or in their text."""
    names = columns.cited.names
    held = _naming_any(names, [statute])
    if not held.any():  # as letters write it: "Section 4503(b)" is "§ 4503(b)" in the citations
        held = _naming_any(names, [citation.normal for citation in parse(statute)])
    mask = np.zeros(len(columns.titles), bool)
    mask[columns.citing[held[columns.cited.numbers]]] = True
    return mask


def _naming_any(names: Sequence[str], statutes: Sequence[str]) -> Mask:
    tests = [names_statute(statute) for statute in statutes]
    held = (bool(name) and any(test(name) for test in tests) for name in names)
    return np.fromiter(held, bool, len(names))


def _filter_hint(columns: Columns, filters: Filters) -> str:
    """For every filter that no document passes, the values that some would pass."""
    every = np.arange(len(columns.titles))
    known = {
        "topic": columns.topics.counts(every),
        "law": columns.laws.counts(every),
        "language": columns.languages.counts(every),
        "statute": _statutes(columns, every),
    }
    sentences = []
    for name, counts in known.items():
        wanted = getattr(filters, name)
        if wanted and not _mask(columns, Filters(**{name: wanted})).any():
            values = ", ".join(value for value, _ in counts[:MOST_CHOICES])
            sentences.append(f"Known for {name}: {values or 'none'}.")
    years = columns.years[columns.years >= 0]
    if filters.years and not _mask(columns, Filters(years=filters.years)).any():
        sentences.append(
            f"Years here: {years.min()} to {years.max()}." if len(years) else "No years."
        )
    if filters.as_of and not sentences:
        sentences.append(_outside_validity(columns, filters))
    return " ".join(sentences) or "Leave out some of topic, law, statute, year, language and day."


def _outside_validity(columns: Columns, filters: Filters) -> str:
    """A sentence on provisions that only the day excludes: not yet or no longer in force."""
    rows = np.flatnonzero(_mask(columns, replace(filters, as_of="")))
    periods = statuses_of_open_corpus(str(columns.corpus.data_folder)).periods
    first = min((begins for row in rows if (begins := periods[row][0])), default="")
    last = max((ends for row in rows if (ends := periods[row][1])), default="")
    if first and filters.as_of < first:
        return f"It was not yet in force then: it begins on {first}."
    return f"It was no longer in force then: it ended on {last}." if last else ""


def what_is_hidden(columns: Columns, answering: Sequence[Hit], filters: Filters) -> str:
    """The note on hidden answers if no document that passes the filters answers, but others do. It
    names what the day has hidden, since that is often what was asked."""
    row = columns.corpus.row(answering[0].doc_id) if answering else None
    if row is None:
        return AMONG
    found = statuses_of_open_corpus(str(columns.corpus.data_folder))
    status = found.status(row, filters.as_of) if filters.as_of else ""
    begins, ends = found.periods[row]
    if status == NOT_YET:
        when = f"was not yet in force then: it begins on {begins}."
    elif status == SUPERSEDED and ends:
        when = f"was no longer in force then: it ended on {ends}."
    else:
        return f"{AMONG} Without the filters something may."
    return f"{AMONG} {columns.titles[row]}, which may, {when}"


def names_statute(statute: str) -> Callable[[str], object]:
    """Whether a citation names this statute or a part of it: 87103 is in 87103(a), and not in
    87103.5 or 187103."""
    words = r"\s+".join(map(re.escape, statute.split()))
    return re.compile(rf"(?<![\w.]){words}(?!\w|\.\d)", re.IGNORECASE).search


# ── what there is to choose from ──────────────────────────────────────────────────────────────────


def choices(
    columns: Columns, rows: Mask | Numbers, filters: Filters, *, passing: bool = True
) -> Choices:
    """The filter values of the rows, with active filters marked even if no row has them. Without
    `passing` the rows are the whole corpus, and none passes the filters."""
    years = columns.years[columns.years >= 0]
    found = len(columns.years[rows]) if passing else 0
    return Choices(
        topics=_offered_choices(columns.topics.counts(rows), filters.topic, found),
        statutes=_offered_choices(_statutes(columns, rows), filters.statute, found),
        laws=_offered_choices(columns.laws.counts(rows), filters.law, found),
        languages=_offered_choices(columns.languages.counts(rows), filters.language, found),
        years=_by_year(columns.years[rows], years, filters),
        first_year=int(years.min()) if len(years) else None,
        last_year=int(years.max()) if len(years) else None,
        versions=bool((columns.places["valid_from"] != "").any()),
    )


def _offered_choices(
    counts: Sequence[tuple[str, int]], chosen: str, matching: int
) -> tuple[Choice, ...]:
    """`matching` rows pass the filters, so all of them have what is chosen: also where it is
    written otherwise than in the documents, or in too few of them to be offered."""
    known = [
        Choice(value=value, documents=count, chosen=value.casefold() == chosen.casefold())
        for value, count in counts
    ]
    offered = known[:MOST_CHOICES]
    if chosen and not any(choice.chosen for choice in offered):
        of_it = next((choice for choice in known if choice.chosen), None)
        offered.insert(0, of_it or Choice(value=chosen, documents=matching, chosen=True))
    return tuple(offered) if len(offered) > 1 or chosen else ()


def _statutes(columns: Columns, rows: Mask | Numbers) -> list[tuple[str, int]]:
    """The law that several documents cite, each document counted once."""
    mask = np.zeros(len(columns.titles), bool)
    mask[rows] = True
    counts = columns.cited.counts(columns.of_law & mask[columns.citing])
    return [(name, count) for name, count in counts if count > 1]


def _by_year(matching: Numbers, known: Numbers, filters: Filters) -> tuple[Choice, ...]:
    if not len(known) or known.min() == known.max():
        return ()
    first, last = int(known.min()), int(known.max())
    if last - first > MOST_YEARS:
        return ()
    counts = np.bincount(matching[matching >= 0] - first, minlength=last - first + 1)
    begin, end = filters.years or (first, last)
    return tuple(
        Choice(value=str(year), documents=int(counts[year - first]), chosen=begin <= year <= end)
        for year in range(first, last + 1)
    )

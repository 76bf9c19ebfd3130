"""Ranking in reports: rows of tables and passages of prose in one list.

**Features.** A score is a weighted sum of features, as for other documents (profile.py).
`training/reports_ranker.py` fits the weights, one set for questions that ask for a text and one for
all others.

**Words.** A document has three fields: the label of a row, its context (headings, table, group,
columns), and prose. A word of the question is compared with index words by their looks
(fuzzy_bm25.py), and its soft frequencies in the fields are added with weights, the label's the
heaviest, before they saturate: BM25F (Robertson, Zaragoza & Taylor 2004). So a row that says a word
in its label and another in its heading is as good as a paragraph that says both, and rows and prose
stand on one scale, the share of the attainable score.

**Readings.** A question says *taseen loppusumma* where accounts say *vastaavaa yhteensä*. Each row
of data/fi.rows.tsv whose words are all in the question gives another reading of it, and a document
counts by the reading that fits it best.

**What is not a word.** A town that is named is a filter: figures of another town are no answer. A
town that has no report here leaves what names it. That a document lacks the asked year or budget,
or is of other accounts than those that are asked for, counts against it.

**Spread.** The rows of one table look alike, and a reader wants to see where else a figure stands:
each further hit of a table and of a page counts a little less than the one before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay.core.types import Document
from assay.language.analysis import grams
from assay.language.finnish import without_dots
from assay.language.towns import FORMER, is_town
from assay.search.arrays import TINY, Array, Doubles, best_rows, cosines
from assay.search.fuzzy_bm25 import Similar
from assay.search.index import Index
from assay.search.profile import ranked, weights_of
from assay.search.reports.documents import (
    PROSE,
    TABLE,
    is_prose,
    pairs_in,
    passages_of,
    sentences_in,
)
from assay.search.reports.question import Question, question_of, readings, similar_words
from assay.search.signals import asked_vector

# what a word counts in each: label and context of research/reports.md, the others chosen
FIELDS = {"label": 4.0, "context": 1.2, "body": 1.0, "page": 0.5}
# what an n-gram counts in each; chosen
GRAMS = {"label": 1.0, "context": 0.15, "body": 0.8}
# how much its length counts: that of prose (body) of research/reports.md, the others chosen
LENGTHS = {"label": 0.5, "context": 0.3, "body": 0.75, "page": 0.0}
K1 = 1.2  # BM25, the usual value
_HYPHENED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# set by hand: training/reports_ranker.py fits the features that these make, not these
READ = 0.95  # what a reading counts beside the question as it is
RECENT_YEARS = 4  # years that the prose of a report looks back
SAYS_BUDGET = 0.6  # of a question, from where on a sentence on a budget says it
ONLY_REPORT = 0.5  # as if it had been named, in part
OWN_WORDS = 0.5  # of a sentence, where one is to be shown
OWN_VECTOR = 0.5  # of its cosine, where one is to be shown; chosen
SPREAD = 40  # first hits that are spread
NO_NAME = 0.4  # what says all but the name that is asked for
SAME_NAME = 0.7  # how alike a name must be
SAME_WORD = 0.4  # how alike another word, to say something of what is asked for
MOST_SAID = 4.0  # words: more that are said together prove nothing more (research/reports.md, 29)
PASSAGE_HITS = 5  # first hits whose passages are looked at
SAME_TABLE = 0.8  # what is left of a score for each earlier hit of its table; chosen
SAME_PAGE = 0.92  # and of its page; chosen
Signals = dict[str, Array]
Lookup = Callable[[str], Document]


def report_signals(index: Index, text: str, lookup: Lookup | None = None) -> Signals:
    """`lookup` gives the document of an id, to see whether one passage of the first hits says it
    all."""
    read = read_question(index, text)
    asked = read.asked
    here = of_towns(index, asked, FIELDS)
    size = len(index)
    signals: Signals = {
        name: np.zeros(size) for name in ("attained", "coverage", "grams", "about", "named")
    }
    for number, reading in enumerate(read.readings):
        share = READ if number else 1.0
        for name, values in read.features(reading).items():
            signals[name] = np.maximum(signals[name], share * values)
    signals["least"] = np.full(size, read.least_known())
    signals["said"] = np.minimum(MOST_SAID, signals["coverage"] * len(asked.words))
    signals["oneself"] = np.full(size, float(asked.for_oneself))
    if index.vectors is not None:
        signals["dense"] = _cosines(index, asked, text)
        on_prose = index.marked.kinds == PROSE
        near = np.maximum(signals["dense"], 0.0)
        signals["dense_prose"], signals["dense_rows"] = near * on_prose, near * ~on_prose
    signals |= _missing_parts(index, asked)
    way = "text" if asked.asks == "text" else "figure"
    fused = np.maximum(0.0, ranked(signals, weights_of(f"reports-{way}")))
    signals["town"] = np.full(size, _town(index, asked, here))
    signals["in_town"] = here
    signals["fused"] = spread(index, np.where(here, fused, 0.0))
    if lookup is not None:
        signals |= {"close": np.zeros(size), "said": np.zeros(size)}
        for row in best_rows(signals["fused"], PASSAGE_HITS):
            _look_at(int(row), lookup(index.ids[int(row)]), signals, read)
    return signals


def _look_at(row: int, document: Document, signals: Signals, read: ReadQuestion) -> None:
    """How much of the question the closest passage of a first hit says."""
    asked = read.asked
    is_told = asked.budget and is_prose(document) and asked.asks != "text"
    close, said, names = read.closest(passages_of(document, sentences_of_budget=is_told))
    if is_told and close < SAYS_BUDGET:
        signals["holds"][row] = False
    signals["close"][row] = close
    signals["said"][row] = min(MOST_SAID, said)
    signals["attained"][row] *= names
    if asked.owners:  # likeness, and what is known, say nothing of whose it is
        for name in signals.keys() & {"dense", "least"}:
            signals[name][row] *= names
    # a name that only they have
    if asked.names and names == 1.0 and not (asked.asks == "text" and asked.towns):
        signals["town"][row] = max(signals["town"][row], ONLY_REPORT)


def _town(index: Index, asked: Question, here: Array) -> float:
    """Whether a town is named whose report is here; one is named that has none."""
    if any(town in index.marked.towns for town in asked.towns):
        return 1.0
    if asked.towns or (asked.of_country and not asked.places):
        return -1.0
    if any(place in FORMER for place in asked.places) and here.any():
        return 1.0
    if asked.places:
        return 0.0  # what has the name of another town
    return ONLY_REPORT if len(index.marked.towns) == 1 else 0.0


def _cosines(index: Index, asked: Question, text: str) -> Doubles:
    """Of the documents with the question; of prose, of the passage that is closest to it."""
    assert index.vectors is not None
    if index.prose is None:
        return cosines(index.vectors, asked_vector(index, text)).astype(float)
    vector = asked_vector(index, " ".join(asked.words))
    near = cosines(index.vectors, vector).astype(float)
    near[index.prose.documents] = -1.0
    np.maximum.at(near, index.prose.documents, cosines(index.prose.vectors, vector))
    return near


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


class AskedWord(NamedTuple):
    """A word of a question: how often and whether it stands in each document, in what its table is
    about, and how rare it is."""

    frequency: Doubles
    presence: Doubles
    in_subject: Doubles
    rarity: float


class ReadQuestion:
    """A question with what its words are in an index."""

    def __init__(self, index: Index, asked: Question) -> None:
        self._index = index
        self.asked = asked
        self.readings = list(readings(asked.words, asked.light, asked.parts))
        self._known: dict[str, AskedWord] = {}
        self._by_word: dict[str, dict[str, float]] = {}

    def similar(self, word: str) -> Similar:
        return similar_words(self._index, word, self.asked.meant.get(word, ()))

    def least_known(self) -> float:
        """How well that word is known here which is known the least, apart from light verbs."""
        words = [word for word in self.asked.words if word not in self.asked.light]
        known = (max(self.similar(word)[1], default=0.0) for word in words)
        return min(1.0, min(known, default=0.0))

    def features(self, words: Mapping[str, float]) -> Signals:
        """`words` are those of a reading, and what each counts. `about` is how much of what a table
        is about is asked for, where the rest of the question fits."""
        size = len(self._index)
        scores, covered, in_subject = np.zeros(size), np.zeros(size), np.zeros(size)
        total = TINY
        for word, share in words.items():
            found = self._word(word)
            weight = share * found.rarity
            scores += weight * found.frequency / (found.frequency + K1)
            covered += weight * found.presence
            in_subject += found.in_subject
            total += weight
        most = FIELDS["label"] / (FIELDS["label"] + K1)  # a label that is the word alone
        coverage = covered / total
        subject = self._index.soft.get("subject")  # where some table is about something
        different = 1 if subject is None else np.maximum(subject.different, 1)
        return {
            "attained": np.minimum(1.0, scores / total / most),
            "coverage": coverage,
            "grams": self._by_grams(words),
            "about": coverage * np.minimum(1.0, in_subject / different),
        }

    def _word(self, word: str) -> AskedWord:
        if word in self._known:
            return self._known[word]
        index = self._index
        similar = self.similar(word)
        frequency = np.zeros(len(index))
        presence = np.zeros(len(index))
        for name, weight in FIELDS.items():
            if name in index.soft:
                own = index.soft[name].frequency(similar)
                frequency += (
                    weight * own / (index.soft[name].lengths * LENGTHS[name] + 1 - LENGTHS[name])
                )
                presence = np.maximum(presence, np.minimum(1.0, own))
        held = float(presence.sum())
        rarity = float(np.log1p((len(index) - held + 0.5) / (held + 0.5)))
        subject = index.soft.get("subject")
        in_subject = np.minimum(1.0, subject.frequency(similar)) if subject else 0.0 * presence
        self._known[word] = AskedWord(frequency, presence, in_subject, rarity)
        return self._known[word]

    def _by_grams(self, words: Iterable[str]) -> Doubles:
        """BM25 over the n-grams of labels, and of prose, as a share of what is attainable."""
        asked = grams(map(without_dots, words), self._index.analyzer.gram)
        total = np.zeros(len(self._index))
        for name, weight in GRAMS.items():
            field = self._index.fields.get(f"{name}.grams")
            if field is not None and asked:
                scores = field.scores(field.query(asked)).astype(float)
                total = total + weight * scores / max(field.attainable(asked), TINY)
        return total

    def closest(self, passages: Sequence[str]) -> tuple[float, float, float]:
        """How much of the question one of these passages says, in one of its readings: by how rare
        words are, how many of them, and how much less both are for lack of a name."""
        found = [(0.0, 0.0, NO_NAME if self.asked.names else 1.0)]
        for words in self.readings:
            found += self.said_in(words, passages)
        return max(found, key=lambda one: (one[0], one[2], one[1]))

    def said_in(
        self, words: Mapping[str, float], passages: Sequence[str]
    ) -> list[tuple[float, float, float]]:
        """The same of every passage, by one reading."""
        weights = {word: share * self._word(word).rarity for word, share in words.items()}
        total = max(sum(weights.values()), TINY)
        names = [name for name in self.asked.names if name in words]
        if len(names) < len(self.asked.names):  # what stands in its place must be there as well
            names += [word for word in words if word not in self.asked.words]
        alike = [(word, self.index_words(word)) for word in words]
        found = []
        for passage in passages:
            told = self._index.analyzer.words(passage)
            held = {
                word: max((known.get(t, 0.0) for t in told), default=0.0) for word, known in alike
            }
            held = {word: min(share, 1.0) for word, share in held.items() if share >= SAME_WORD}
            is_theirs = all(held.get(name, 0.0) >= SAME_NAME for name in names) and all(
                self._stands_in(owner, passage) for owner in self.asked.owners
            )
            less = 1.0 if is_theirs else NO_NAME
            said = sum(weights[word] * share for word, share in held.items()) / total
            plain = sum(words[word] * share for word, share in held.items())
            found.append((less * said, less * plain, less))
        return found

    def _stands_in(self, owner: str, passage: str) -> bool:
        """Whether both words of a name stand together: Etelä-Pohjanmaan is not Pohjanmaan."""
        first, last = (name.split("-") for name in owner.split())
        words = [word.lower().split("-") for word in _HYPHENED.findall(passage)]
        return any(
            self._same_words(before, first) and self._same_words(after[-1:], last[-1:])
            for before, after in pairwise(words)
        )

    def _same_words(self, told: Sequence[str], asked: Sequence[str]) -> bool:
        if len(told) != len(asked):
            return False
        pairs = zip(told, asked, strict=True)
        return all(
            self.index_words(other).get(one, one == other) >= SAME_NAME for one, other in pairs
        )

    def index_words(self, word: str) -> dict[str, float]:
        """The index words that a word of the question is, and how much."""
        if word not in self._by_word:
            assert self._index.words is not None
            pairs = zip(*self.similar(word), strict=True)
            known = self._index.words.words
            self._by_word[word] = {known[int(number)]: float(share) for number, share in pairs}
        return self._by_word[word]


def read_question(index: Index, text: str) -> ReadQuestion:
    return ReadQuestion(index, question_of(index, text))


def best_sentences(index: Index, read: ReadQuestion, document: Document) -> tuple[str, set[str]]:
    """The prose of a report from the sentence on that answers best: by its words and those of the
    next, by its own, and by its vector. And which index words are asked for."""
    sentences = sentences_in(document.text)
    heading = document.fields.get("section_title", "")  # what it says, every sentence is about
    texts = [f"{heading} {text}" for text in (*pairs_in(document.text), *sentences)]
    scores = np.zeros(len(sentences))
    for reading in read.readings:
        said = np.array([share for share, _, _ in read.said_in(reading, texts)])
        pairs, singles = said.reshape(2, -1)
        scores = np.maximum(scores, pairs + OWN_WORDS * singles)
    row = index.row_of.get(document.id, -1)
    if index.prose is not None and (own := index.prose.documents == row).sum() == len(sentences):
        vector = asked_vector(index, " ".join(read.asked.words))
        scores = scores + OWN_VECTOR * cosines(index.prose.vectors[own], vector)
    alike = [share for word in read.asked.words for share in read.index_words(word).items()]
    said_words = {word for word, share in alike if share >= SAME_WORD}
    return " ".join(" ".join(sentences[int(scores.argmax()) :]).split()), said_words


# ── what is not a word ────────────────────────────────────────────────────────────────────────────


def _missing_parts(index: Index, asked: Question) -> Signals:
    """What a document lacks that is asked for: a year, of prose one that is near the report's; the
    group's figures or a budget of that year (`holds` it); the accounts, and columns of a kind; or
    it is of the start of a year. A table holds the answer in one of its rows."""
    marks = index.marked
    size = len(index)
    none = np.zeros(size, bool)
    is_text = asked.asks == "text"
    on_prose = marks.kinds == PROSE
    held = []
    for asked_year in asked.years:
        back = marks.year_of - asked_year
        is_far = (marks.year_of > 0) & ((back < 0) | (back > RECENT_YEARS))
        mentions = on_prose & is_far & (not is_text)
        held.append(marks.with_year.get(asked_year, none) & ~mentions)
    year = np.mean(held, axis=0) if held else np.ones(size)
    holds = np.ones(size, bool)
    if asked.group and not is_text:
        holds &= marks.group | marks.tells_group
    if asked.budget and not is_text:
        years = asked.years or tuple(marks.with_budget)
        holds &= np.any([none, *(marks.with_budget.get(year, none) for year in years)], axis=0)
    is_group = marks.group & ~marks.own
    other = ~on_prose & ~marks.budget if asked.budget else none
    for kind in asked.kinds & marks.with_kind.keys():
        other = other | (~on_prose & ~marks.with_kind[kind])
    if not asked.at_start:
        other = other | marks.at_start
    is_unasked = not (is_text or asked.group or asked.own)
    return {
        "holds": (year > 0) & holds,
        "no_year": 1.0 - year,
        "not_held": (year > 0) & ~holds,
        "other_accounts": ~marks.group if asked.group else is_group & asked.own,
        "unasked_group": is_group & is_unasked,
        "other_column": other,
        "whole_table": marks.kinds == TABLE,
    }


def spread(index: Index, fused: Doubles) -> Doubles:
    """The first hits, with less for each further one of the same table or page."""
    spread = fused.copy()
    left = [int(row) for row in best_rows(fused, SPREAD)]
    values = {row: float(fused[row]) for row in left}
    while left:
        best = max(left, key=values.__getitem__)
        left.remove(best)
        spread[best] = values[best]
        table, page = int(index.marked.table_of[best]), int(index.marked.page_of[best])
        for row in left:
            if table >= 0 and index.marked.table_of[row] == table:
                values[row] *= SAME_TABLE
            if page >= 0 and index.marked.page_of[row] == page:
                values[row] *= SAME_PAGE
    return spread


# ── towns ─────────────────────────────────────────────────────────────────────────────────────────

COMPANY = frozenset({"oy", "oyj", "ab", "ky", "osuuskunta", "säätiö", "ry"})


def of_towns(index: Index, asked: Question, fields: Iterable[str]) -> Array:
    """The mask of what may answer: the reports of the towns that are named. Where none of them has
    one, rows whose label names them; and where no figure is asked for, what else
    names them in these fields."""
    every = np.ones(len(index), bool)
    for place in asked.places:
        every &= _documents_naming(index, (place,), fields)
    if not asked.towns:
        return every
    reports = np.isin(index.marked.town_of, [town for town in asked.towns])
    if reports.any():
        return every & reports
    if asked.asks == "text":
        return _documents_naming(index, asked.towns, fields)
    return _documents_naming(index, asked.towns, ("label",)) & ~_other_companies(index, asked)


def _other_companies(index: Index, asked: Question) -> Array:
    """Rows of companies, where the question has no word of their labels but the name of a town:
    Lapuan Jätevesi Oy has not the accounts of Lapua."""
    label = index.soft["label"]
    said = np.zeros(len(index), bool)
    for word in asked.words:
        if not any(is_town(town, word) for town in asked.towns):
            numbers, shares = similar_words(index, word)
            said |= label.frequency((numbers[shares >= 1.0], shares[shares >= 1.0])) > 0
    assert index.words is not None
    forms = [number for number, word in enumerate(index.words.words) if word in COMPANY]
    companies = label.frequency((np.array(forms, np.int64), np.ones(len(forms)))) > 0
    return np.asarray(companies & ~said)


def _documents_naming(index: Index, towns: Sequence[str], fields: Iterable[str]) -> Array:
    """The documents that name one of these towns in one of these fields."""
    named = np.zeros(len(index), bool)
    assert index.words is not None
    for town in towns:
        start = town[:2].lower()
        forms = [
            number
            for number, word in enumerate(index.words.words)
            if word.startswith(start) and is_town(town, word)
        ]
        similar: Similar = (np.array(forms, np.int64), np.ones(len(forms)))
        for name in fields:
            if name != "page" and name in index.soft and forms:
                named |= index.soft[name].frequency(similar) > 0
    return named

"""Ranking in reports: rows of tables and passages of prose in one list.

**Features.** A score is a weighted sum of features, as for other documents (ranker.py).
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
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.core.types import Document
from assay.language.analysis import grams
from assay.language.finnish import without_dots
from assay.language.towns import FORMER
from assay.search.arrays import TINY, Array, Doubles, best_rows, cosines
from assay.search.fuzzy_bm25 import Similar
from assay.search.index import Index
from assay.search.ranker import ranked, weights_of
from assay.search.reports.fields import PROSE, TABLE, is_prose, passages_of, sentences_in
from assay.search.reports.query import Question, question_of, readings, similar_words
from assay.search.reports.towns import of_towns
from assay.search.signals import asked_vector

FIELDS = {"label": 4.0, "context": 1.2, "body": 1.0, "page": 0.5}  # what a word counts in each
LENGTHS = {"label": 0.5, "context": 0.3, "body": 0.75, "page": 0.0}  # how much its length counts
K1 = 1.2
READ = 0.95  # what a reading counts beside the question as it is
RECENT = 4  # years that the prose of a report looks back
SAYS_BUDGET = 0.6  # of a question, from where on a sentence on a budget says it
ONLY_REPORT = 0.5  # as if it had been named, in part
OWN_WORDS = 0.5  # of a sentence, where one is to be shown
OWN_VECTOR = 0.5
SPREAD = 40  # first hits that are spread
NO_NAME = 0.4  # what says all but the name that is asked for
SAME_NAME = 0.7  # how alike a name must be
SAME_WORD = 0.4  # how alike another word, to say something of what is asked for
MOST_SAID = 4.0  # words; where so many are said together, more prove nothing more
LOOKED_AT = 5  # first hits whose passages are looked at
SAME_TABLE = 0.8
SAME_PAGE = 0.92
_HYPHENED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
Signals = dict[str, Array]
Readings = Sequence[dict[str, float]]
Lookup = Callable[[str], Document]


def row_signals(index: Index, text: str, lookup: Lookup | None = None) -> Signals:
    """`lookup` gives the document of an id, to see whether one passage of the first hits says it
    all."""
    asked = question_of(index, text)
    here = of_towns(index, asked, FIELDS)
    fields = _Fields(index, asked)
    size = len(index)
    signals: Signals = {
        name: np.zeros(size) for name in ("attained", "coverage", "grams", "about", "named")
    }
    every = list(readings(asked.words, asked.light, asked.parts))
    for number, reading in enumerate(every):
        share = 1.0 if not number else READ
        for name, values in fields.features(reading).items():
            signals[name] = np.maximum(signals[name], share * values)
    similar = [fields.similar(word) for word in asked.words]
    signals["least"] = np.full(size, _least_known(asked, similar))
    signals["said"] = np.minimum(MOST_SAID, signals["coverage"] * len(asked.words))
    signals["oneself"] = np.full(size, float(asked.for_oneself))
    if index.vectors is not None:
        signals["dense"] = _cosines(index, asked, text, similar)
        on_prose = index.marked.kinds == PROSE
        signals["dense_prose"] = np.where(on_prose, np.maximum(signals["dense"], 0.0), 0.0)
        signals["dense_rows"] = np.where(on_prose, 0.0, np.maximum(signals["dense"], 0.0))
    signals["year"] = _years(index, asked)
    has_year = signals["year"] > 0
    signals["holds"] = has_year & _holds(index, asked)
    signals["no_year"] = 1.0 - signals["year"]
    signals["not_held"] = has_year & ~signals["holds"]
    signals |= _other(index, asked)
    kind = "text" if asked.asks == "text" else "figure"
    fused = np.maximum(0.0, ranked(signals, weights_of(f"reports-{kind}")))
    signals["town"] = np.full(size, _town(index, asked, here))
    signals["in_town"] = here
    signals["fused"] = spread(index, np.where(here, fused, 0.0))
    if lookup is not None:
        signals |= {name: np.zeros(size) for name in ("close", "plain", "said")}
        for row in best_rows(signals["fused"], LOOKED_AT):
            _look_at(int(row), lookup(index.ids[int(row)]), signals, fields, every)
    return signals


def _look_at(
    row: int, document: Document, signals: Signals, fields: _Fields, every: Readings
) -> None:
    """How much of the question the closest passage of a first hit says."""
    asked = fields.asked
    is_text = asked.asks == "text"
    is_told = asked.budget and is_prose(document) and not is_text
    passages = passages_of(document, sentences_of_budget=is_told)
    close, names, said = max(fields.close(reading, passages, asked) for reading in every)
    if is_told and close < SAYS_BUDGET:
        signals["holds"][row] = False
    signals["close"][row] = close
    signals["said"][row] = min(MOST_SAID, said)
    signals["plain"][row] = said / max(sum(every[0].values()), TINY)
    signals["attained"][row] *= names
    if asked.owners:  # likeness, and what is known, say nothing of whose it is
        for name in signals.keys() & {"dense", "least"}:
            signals[name][row] *= names
    # a name that only they have
    if asked.names and names == 1.0 and not (is_text and asked.towns):
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


def _least_known(asked: Question, similar: Sequence[Similar]) -> float:
    """How well that word of the question is known here which is known the least; light verbs are
    none of them."""
    pairs = zip(similar, asked.words, strict=True)
    known = (max(shares, default=0.0) for (_, shares), word in pairs if word not in asked.light)
    return min(1.0, min(known, default=0.0))


def _cosines(index: Index, asked: Question, text: str, similar: list[Similar]) -> Doubles:
    """Of the documents with the question; of prose, of the passage that is closest to it."""
    if index.vectors is None:
        return np.zeros(len(index))
    if index.said is None:
        return cosines(index.vectors, asked_vector(index, text)).astype(float)
    vector = asked_vector(index, " ".join(asked.words))
    near = cosines(index.vectors, vector).astype(float)
    near[index.said.documents] = -1.0
    np.maximum.at(near, index.said.documents, cosines(index.said.vectors, vector))
    return near


@dataclass(frozen=True)
class Read:
    """A question as it was read, for the documents that are shown."""

    asked: Question
    fields: _Fields
    similar: list[Similar]


def read(index: Index, text: str) -> Read:
    asked = question_of(index, text)
    fields = _Fields(index, asked)
    return Read(asked, fields, [fields.similar(word) for word in asked.words])


def passage_for(index: Index, question: Read, document: Document) -> tuple[str, Container[str]]:
    """Of the prose of a report, from the sentence on that answers best: by its words and those of
    the next, by its own, and by its vector. And which index words are asked for."""
    asked, fields = question.asked, question.fields
    sentences = sentences_in(document.text)
    heading = document.fields.get("section_title", "")  # what it says, every sentence is about
    pairs = [f"{heading} {' '.join(sentences[at : at + 2])}" for at in range(len(sentences))]
    singles = [f"{heading} {sentence}" for sentence in sentences]
    scores = np.zeros(len(sentences))
    for reading in readings(asked.words, asked.light, asked.parts):
        both, alone = (fields.each(reading, texts, asked)[1:] for texts in (pairs, singles))
        by_words = [pair[0] + OWN_WORDS * one[0] for pair, one in zip(both, alone, strict=True)]
        scores = np.maximum(scores, by_words)
    row = index.row_of.get(document.id, -1)
    if index.said is not None and (own := index.said.documents == row).sum() == len(sentences):
        vector = asked_vector(index, " ".join(asked.words))
        scores = scores + OWN_VECTOR * cosines(index.said.vectors[own], vector)
    assert index.words is not None
    said = {
        index.words.words[n]
        for numbers, shares in question.similar
        for n in numbers[shares >= SAME_WORD]
    }
    return " ".join(" ".join(sentences[int(scores.argmax()) :]).split()), said


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Word:
    """A word of a question: how often and whether it stands in each document, in what its table is
    about, and how rare it is."""

    frequency: Doubles
    presence: Doubles
    in_subject: Doubles
    rarity: float


class _Fields:
    """The fields of an index, for the words of one question."""

    def __init__(self, index: Index, asked: Question) -> None:
        self._index = index
        self.asked = asked
        self._known: dict[str, _Word] = {}
        self._heard: dict[tuple[str, ...], dict[str, dict[str, float]]] = {}

    def similar(self, word: str) -> Similar:
        return similar_words(self._index, word, self.asked.meant.get(word, ()))

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
        subject = self._index.soft.get("subject")  # not in an older index
        different = np.ones(size) if subject is None else np.maximum(subject.different, 1)
        return {
            "attained": np.minimum(1.0, scores / total / most),
            "coverage": coverage,
            "grams": self.by_grams(tuple(words)),
            "about": coverage * np.minimum(1.0, in_subject / different),
        }

    def _word(self, word: str) -> _Word:
        if word in self._known:
            return self._known[word]
        index = self._index
        similar = self.similar(word)
        frequency = np.zeros(len(index))
        presence = np.zeros(len(index))
        subject = index.soft.get("subject")
        in_subject = presence if subject is None else np.minimum(1.0, subject.frequency(similar))
        for name, weight in FIELDS.items():
            if name in index.soft:
                own = index.soft[name].frequency(similar)
                norm = index.soft[name].lengths * LENGTHS[name] + 1 - LENGTHS[name]
                frequency += weight * own / norm
                presence = np.maximum(presence, np.minimum(1.0, own))
        held = float(presence.sum())
        size = len(index)
        rarity = float(np.log1p((size - held + 0.5) / (held + 0.5)))
        self._known[word] = _Word(frequency, presence, in_subject, rarity)
        return self._known[word]

    def close(
        self, words: Mapping[str, float], passages: Sequence[str], asked: Question
    ) -> tuple[float, float, float]:
        """How much of the question one of these passages says, less where it lacks a name; by how
        much less; and how many of its words, rare or not."""
        return max(self.each(words, passages, asked))

    def each(
        self, words: Mapping[str, float], passages: Sequence[str], asked: Question
    ) -> list[tuple[float, float, float]]:
        """The same of nothing, and of every passage."""
        assert self._index.words is not None
        weights = {word: share * self._word(word).rarity for word, share in words.items()}
        shares = self._shares(tuple(words))
        names = [name for name in asked.names if name in words]
        if len(names) < len(asked.names):  # what stands in the place of one must be there as well
            names += [word for word in words if word not in asked.words]
        found = [(0.0, NO_NAME if names else 1.0, 0.0)]
        total = max(sum(weights.values()), TINY)
        for passage in passages:
            held: dict[str, float] = {}
            for told in self._index.analyzer.words(passage):
                for word, likeness in shares.get(told, {}).items():
                    if likeness >= SAME_WORD:
                        held[word] = max(held.get(word, 0.0), min(likeness, 1.0))
            lacks = any(held.get(name, 0.0) < SAME_NAME for name in names)
            lacks = lacks or not all(_stands_in(owner, passage, shares) for owner in asked.owners)
            said = sum(weights[word] * likeness for word, likeness in held.items()) / total
            less = NO_NAME if lacks else 1.0
            plain = sum(words[word] * likeness for word, likeness in held.items())
            found.append((said * less, less, less * plain))
        return found

    def _shares(self, words: tuple[str, ...]) -> dict[str, dict[str, float]]:
        """Of each word of a text, the asked words that it is, and how much."""
        if words not in self._heard:
            shares: dict[str, dict[str, float]] = {}
            assert self._index.words is not None
            for word in words:
                numbers, alike = self.similar(word)
                for number, likeness in zip(numbers.tolist(), alike.tolist(), strict=True):
                    shares.setdefault(self._index.words.words[number], {})[word] = likeness
            self._heard[words] = shares
        return self._heard[words]

    def by_grams(self, words: Sequence[str]) -> Doubles:
        """BM25 over the n-grams of labels, and of prose, as a share of what is attainable."""
        index = self._index
        asked = grams(map(without_dots, words), index.analyzer.gram)
        total = np.zeros(len(index))
        for name, weight in (("label", 1.0), ("context", 0.15), ("body", 0.8)):
            field = index.fields.get(f"{name}.grams")
            if field is not None and asked:
                scores = field.scores(field.query(asked)).astype(float)
                total = total + weight * scores / max(field.attainable(asked), TINY)
        return total


def _stands_in(owner: str, passage: str, shares: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether both words of a name stand together: Etelä-Pohjanmaan is not Pohjanmaan."""
    first, last = (name.split("-") for name in owner.split())
    words = [word.lower().split("-") for word in _HYPHENED.findall(passage)]
    return any(
        _are(before, first, shares) and _are(after[-1:], last[-1:], shares)
        for before, after in pairwise(words)
    )


def _are(
    told: Sequence[str], asked: Sequence[str], shares: Mapping[str, Mapping[str, float]]
) -> bool:
    if len(told) != len(asked):
        return False
    pairs = zip(told, asked, strict=True)
    return all(
        one == other or shares.get(one, {}).get(other, 0) >= SAME_NAME for one, other in pairs
    )


# ── what is not a word ────────────────────────────────────────────────────────────────────────────


def _years(index: Index, asked: Question) -> Doubles:
    """The share of the asked years that a document has; 1 where none is asked for. Prose that only
    mentions a year far from the report's has no figure of it."""
    if not asked.years:
        return np.ones(len(index))
    none = np.zeros(len(index), bool)
    held = []
    for year in asked.years:
        has = index.marked.with_year.get(year, none)
        if asked.asks != "text":
            back = index.marked.year_of - year
            is_far = (index.marked.year_of > 0) & ((back < 0) | (back > RECENT))
            has = has & ~((index.marked.kinds == PROSE) & is_far)
        held.append(has)
    return np.asarray(np.mean(held, axis=0))


def _holds(index: Index, asked: Question) -> Array:
    """What may have the figure: of the group, where it is asked for; the budget of a year that is
    asked for. Where no figure is asked for, anything."""
    marks = index.marked
    holds = np.ones(len(index), bool)
    if asked.asks == "text":
        return holds
    if asked.group:
        holds &= marks.group | marks.tells_group
    if asked.budget and marks.with_budget is not None:
        years = asked.years or tuple(marks.with_budget)
        none = np.zeros(len(index), bool)
        holds &= np.any([none, *(marks.with_budget.get(year, none) for year in years)], axis=0)
    return holds


def _other(index: Index, asked: Question) -> Signals:
    """What is of other accounts than those that are asked for, of the group where nobody asked for
    a group, rows without a column, or of another moment, than is asked for, and tables, which
    hold the answer in one of their rows."""
    marks = index.marked
    is_group = marks.group & ~marks.own
    nothing = np.zeros(len(index), bool)
    is_table = marks.kinds != PROSE
    other = is_table & ~marks.budget if asked.budget else nothing
    for kind in asked.kinds & marks.with_kind.keys():
        other = other | (is_table & ~marks.with_kind[kind])
    if not asked.at_start:
        other = other | marks.at_start
    is_unasked = asked.asks != "text" and not asked.group and not asked.own
    return {
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

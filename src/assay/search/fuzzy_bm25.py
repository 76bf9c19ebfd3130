"""Words that look alike: BM25 in which a query word stands for every index word with like character
n-grams.

**Idea.** In Finnish and Hebrew a word has hundreds of forms, compounds hide words inside others,
and people mistype. Stemmers miss much of it, and a short provision offers no second chance to
match. So a word of the question is compared with every *index word*, not with texts: the n-grams of
both, 3 to 5 letters with marks at both ends, of the word as written and of its lemma. n-grams of
words as terms are the established remedy for inflected languages (McNamee & Mayfield 2004);
comparing words by them first, and counting words afterwards, keeps the rarity of words that BM25
lives on.

**Likeness** is .6 cosine + .4 containment, over n-grams weighted by their rarity among index words.
Cosine asks for the same length, containment finds a word inside a compound. The same lemma is the
same word, whatever the letters say. Below `THRESHOLD` a word is another word.

**Counting.** The soft frequency of a word in a document is the sum over its look-alikes of likeness
squared times their frequency: squaring leaves near forms nearly whole and far ones little. Document
frequency is the sum of soft frequencies, each cut at 1. Both go into BM25 in place of the counts.
The weights and the threshold are from research.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile

import numpy as np

from assay.language.analysis import Analyzer
from assay.language.finnish import without_dots
from assay.search.arrays import TINY, Array, Doubles, offsets_of, places_of
from assay.search.lexical import TermCounter, TermCounts

Similar = tuple[Array, Doubles]  # numbers of index words, and how much each counts
Held = tuple[Array, Doubles]  # documents that have a word, and how often
# chosen on 80 questions, not fitted: research/finnish.md, experiment 5
THRESHOLD = 0.45
COSINE = 0.6
CONTAINMENT = 0.4
SIZES = (3, 4, 5)  # n-grams: fewer sizes pass less
UNSEEN_SHARE = 0.5  # by hand, of the rarest n-gram's weight, for one that no index word has
CACHE = 4096  # words whose look-alikes are kept; chosen
NO_HOLDERS = np.empty(0, np.int32)
# taste: times fewer postings than documents, from which on those alone are looked at
MANY_TIMES_FEWER = 4
# set by hand on questions on reports, not fitted (research/reports.md, experiments 19 and 29)
BEGINNING = 3  # letters that the forms of a word have in common
SHORT = 5  # letters of a word whose third may change
ROOT = 5  # letters that derived words have in common
AKIN = 0.55  # cosine from which on they mean something alike
DERIVED = 0.6  # what such a word counts
LONG_ROOT = 6  # letters in common from which on no vector is asked,
LONG_SHARE = 0.6  # and so much of the shorter word
ENDING = 5  # letters after them, at the most
SAME_ROOT = 0.8  # what such a word counts; set by hand
K1 = 1.2  # BM25, the usual value
B = 0.6  # BM25; chosen


class Lookalikes:
    """Which index words look like a given one.

    `grams` are the n-grams of all words; those that hold the n-gram number i are
    holders[starts[i]:starts[i+1]]. They and the lemmas are stored, so that opening is fast;
    `unseen` gives the lemma of a word the index does not have, and `forms` that of forms which no
    rule makes."""

    def __init__(
        self,
        words: list[str],
        lemmas: list[str],
        grams: list[str],
        starts: Array,
        holders: Array,
        unseen: Callable[[str], str],
        forms: dict[str, str] | None = None,
    ) -> None:
        self.forms = forms or {}
        self.words = words
        self.lemmas = lemmas
        self.grams = grams
        self.starts = starts
        self.holders = holders
        self._lemma_of_unseen = unseen
        self._number_of_gram = {gram: number for number, gram in enumerate(grams)}
        size = max(1, len(words))
        held_by = np.diff(starts)
        self._idf = np.log1p(size / np.maximum(held_by, 1))
        weights = np.repeat(self._idf, held_by)
        self._weight = np.maximum(np.bincount(holders, weights, minlength=len(words)), TINY)
        self._least = THRESHOLD * self._weight
        self._unseen_weight = UNSEEN_SHARE * float(np.log1p(size))
        self.lemma_of = dict(zip(words, lemmas, strict=True))
        self._by_lemma: dict[str, list[int]] = {}
        for number, lemma in enumerate(lemmas):
            self._by_lemma.setdefault(lemma, []).append(number)
        self._cache: dict[str, Similar] = {}

    def lemma(self, word: str) -> str:
        """As it was when the index was built, or by rules. No dictionary is loaded to search: the
        look-alikes of a word stand for it."""
        return self.lemma_of[word] if word in self.lemma_of else self._lemma_of_unseen(word)

    def knows(self, word: str) -> bool:
        """Whether it stands in the index, or is a form of what does."""
        return word in self.lemma_of or word in self.forms

    def is_base(self, word: str) -> bool:
        """Whether it stands in the index, or is the base form of what does."""
        return word in self.lemma_of or word in self._by_lemma

    def base(self, word: str) -> str:
        """The base form of a word, where the dictionary had it when the index was built."""
        return self.forms.get(word) or self.lemma(word)

    def same(self, word: str) -> Similar:
        """The numbers of the word's own forms."""
        numbers = np.array(self._by_lemma.get(self.lemma(word), []), np.int64)
        return numbers, np.ones(len(numbers))

    def nearly(self, lemma: str, least: float) -> Iterator[str]:
        """The index words whose lemma is this one, or more alike than `least`."""
        for place in nearly(lemma, self._sorted, least):
            yield from (self.words[number] for number in self._by_lemma[self._sorted[place]])

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._by_lemma)

    def inflected(
        self,
        word: str,
        is_form: Callable[[str, str], bool],
        likeness: Callable[[str, str], float] | None = None,
    ) -> Similar:
        """As `similar`, with every form of the same word in full: those whose lemma the rules of a
        language make into this one. Where there is none, with what `forms` say, and then with words
        that begin alike and by `likeness` mean something alike: *ehkäistään* and *ehkäiseminen*; or
        that have all but an ending in common: *hinnoittelee* and *hinnoittelu*."""
        key = f"\0{word}"
        if key in self._cache:
            return self._cache[key]
        numbers, shares = self.similar(word)
        best = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
        best |= {
            number: 1.0
            for number in best
            if is_form(self.words[number], word) or is_form(word, self.words[number])
        }
        for lemma in self._beginning.get(without_dots(word[:BEGINNING]), ()):
            if is_form(lemma, word):
                best |= dict.fromkeys(self._by_lemma[lemma], 1.0)
        for lemma in self._short.get(without_dots(word[: BEGINNING - 1]), ()):
            if is_form(lemma, word):
                best |= dict.fromkeys(self._by_lemma[lemma], 1.0)
        if word in self.forms and max(best.values(), default=0.0) < 1.0:
            best |= dict.fromkeys(self._by_lemma.get(self.forms[word], ()), 1.0)
        if max(best.values(), default=0.0) < 1.0:
            for number in self._akin(word):
                if _differ_in_ending(word, self.words[number]):
                    best[number] = max(best.get(number, 0.0), SAME_ROOT)
                elif likeness is not None and likeness(word, self.words[number]) >= AKIN:
                    best[number] = max(best.get(number, 0.0), DERIVED)
        found = np.array(list(best), np.int64), np.array(list(best.values()))
        if len(self._cache) < CACHE:
            self._cache[key] = found
        return found

    def has_form(self, word: str, is_form: Callable[[str, str], bool]) -> bool:
        """Whether an index word is the same word in any form, by the rules of a language."""
        return max(self.inflected(word, is_form)[1].tolist(), default=0.0) >= 1.0

    def _akin(self, word: str) -> list[int]:
        """The index words that may be derived from the same root as this one, but are no compound
        that begins with it: *kirkkoranta* is not about a *kirkko*."""
        same = self._by_root.get(word[:ROOT], []) if len(word) > ROOT else []
        return [number for number in same if not self.words[number].startswith(word)]

    @cached_property
    def _by_root(self) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for number, word in enumerate(self.words):
            numbers.setdefault(word[:ROOT], []).append(number)
        return numbers

    @cached_property
    def _beginning(self) -> dict[str, list[str]]:
        """Lemmas by their first letters, which no ending changes."""
        lemmas: dict[str, list[str]] = {}
        for lemma in self._by_lemma:
            if len(lemma) >= BEGINNING and lemma.isalpha():
                lemmas.setdefault(without_dots(lemma[:BEGINNING]), []).append(lemma)
        return lemmas

    @cached_property
    def _short(self) -> dict[str, list[str]]:
        """Lemmas whose third letter may change by theirs: vesi, vedellä."""
        lemmas: dict[str, list[str]] = {}
        for lemma in self._by_lemma:
            if BEGINNING < len(lemma) <= SHORT and lemma.isalpha():
                lemmas.setdefault(without_dots(lemma[: BEGINNING - 1]), []).append(lemma)
        return lemmas

    def similar(self, word: str) -> Similar:
        """The numbers of the words that look like this one, and how much each counts."""
        if word in self._cache:
            return self._cache[word]
        lemma = self.lemma(word)
        forms = np.array(self._by_lemma.get(lemma, []), np.int64)
        numbers, likeness = self._likeness(word, lemma)
        others = ~np.isin(numbers, forms)
        numbers = np.concatenate([numbers[others], forms])
        shares = np.concatenate([np.minimum(likeness[others], 1.0) ** 2, np.ones(len(forms))])
        order = np.argsort(numbers)
        lookalikes_of_word = (numbers[order], shares[order])
        if len(self._cache) < CACHE:
            self._cache[word] = lookalikes_of_word
        return lookalikes_of_word

    def _likeness(self, word: str, lemma: str) -> Similar:
        """Of every index word that is alike enough. The likeness is at most the containment, so
        that most words with an n-gram in common are passed over by that alone."""
        total = TINY
        held: list[int] = []
        for gram in sorted(word_grams(word, lemma)):
            number = self._number_of_gram.get(gram)
            total += self._unseen_weight if number is None else float(self._idf[number])
            if number is not None:
                held.append(number)
        lists = [self.holders[self.starts[number] : self.starts[number + 1]] for number in held]
        holders = np.concatenate([NO_HOLDERS, *lists])
        each = np.repeat(self._idf[held], [len(holders) for holders in lists])
        overlap = np.bincount(holders, each, minlength=len(self.words))
        near = np.flatnonzero(overlap >= np.minimum(THRESHOLD * total, self._least))
        overlap, weights = overlap[near], self._weight[near]
        contained = overlap / np.minimum(total, weights)
        cosine = overlap / np.sqrt(total * weights)
        likeness = COSINE * cosine + CONTAINMENT * contained
        alike = likeness > THRESHOLD
        return near[alike], likeness[alike]


def lookalikes(
    words: list[str],
    analyzer: Analyzer,
    lemma_of: Callable[[str], str] | None = None,
    forms_of: Callable[[set[str]], dict[str, str]] = lambda lemmas: {},
) -> Lookalikes:
    """`lemma_of` in the place of the analyzer's own; `forms_of` gives more forms of lemmas."""
    lemmas = [*map(lemma_of or analyzer.lemma, words)]
    known = {*words}
    pairs = [*zip(words, lemmas, strict=True)]
    # sorted: the order of a set is another in every process, and so would be the index
    counter: TermCounter[tuple[str, str]] = TermCounter(lambda pair: sorted(word_grams(*pair)))
    counts = counter.count(pairs)
    order = np.argsort(counts.terms, kind="stable")
    holders = np.repeat(np.arange(len(words), dtype=np.int32), np.diff(counts.offsets))[order]
    starts = offsets_of(np.bincount(counts.terms, minlength=len(counter.numbers)))
    forms = {form: lemma for form, lemma in forms_of({*lemmas}).items() if form not in known}
    return Lookalikes(words, lemmas, [*counter.numbers], starts, holders, unseen(analyzer), forms)


def _differ_in_ending(one: str, other: str) -> bool:
    """Whether two words have a long beginning in common, and each has a little after it."""
    root = len([*takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))])
    shorter, longer = sorted((len(one), len(other)))
    is_long = root >= max(LONG_ROOT, LONG_SHARE * shorter)
    return is_long and root < shorter and longer - root <= ENDING


def unseen(analyzer: Analyzer) -> Callable[[str], str]:
    """How the lemma of a word outside the index is found; the Finnish dictionary takes seconds to
    load."""
    return str if analyzer.language == "fi" else analyzer.lemma


def word_grams(word: str, lemma: str) -> set[str]:
    grams: set[str] = set()
    for marked in {f"_{without_dots(word)}_", f"_{without_dots(lemma)}_"}:
        for size in SIZES:
            starts = range(max(1, len(marked) - size + 1))
            grams.update(marked[start : start + size] for start in starts)
    return grams


class SoftView:
    """One text of every document, by words."""

    def __init__(self, counts: TermCounts) -> None:
        self.counts = counts
        self.documents = counts.documents
        self.different = np.diff(counts.offsets)  # words of each text

    @cached_property
    def lengths(self) -> Doubles:
        """Of each text, the mean is one."""
        ends = np.concatenate([[0], np.cumsum(self.counts.frequencies, dtype=np.int64)])
        lengths = np.diff(ends[self.counts.offsets]).astype(np.float64)
        average = float(lengths[lengths > 0].mean()) if (lengths > 0).any() else 1.0
        return np.asarray(lengths / average)

    @cached_property
    def held_by(self) -> Array:
        """How many documents have each word."""
        return np.bincount(self.counts.terms, minlength=len(self.counts.vocabulary))

    @cached_property
    def _starts(self) -> Array:
        return offsets_of(self.held_by)

    @cached_property
    def _postings(self) -> tuple[Array, Array]:
        """The documents that have each word, word by word, and how often."""
        order = np.argsort(self.counts.terms, kind="stable")
        row = np.repeat(np.arange(self.documents, dtype=np.int32), self.different)
        return row[order], self.counts.frequencies[order]

    @cached_property
    def _norm(self) -> Doubles:
        return np.asarray(K1 * (1 - B + B * self.lengths))

    def frequency(self, similar: Similar) -> Doubles:
        """How often the word, or one like it, stands in each document."""
        numbers, shares = similar
        places, sizes = places_of(self._starts, numbers)
        rows, frequencies = self._postings
        weights = np.repeat(shares, sizes) * frequencies[places]
        frequency = np.bincount(rows[places], weights, minlength=self.documents)
        return np.asarray(frequency, np.float64)

    def held(self, similar: Similar) -> Held:
        """The documents that have the word, or one like it, and how often."""
        numbers, shares = similar
        places, sizes = places_of(self._starts, numbers)
        if len(places) * MANY_TIMES_FEWER > self.documents:
            frequency = self.frequency(similar)
            rows = np.flatnonzero(frequency > 0)
            return rows, frequency[rows]
        every, frequencies = self._postings
        rows = every[places]
        weights = np.repeat(shares, sizes) * frequencies[places]
        if len(numbers) == 1:
            return rows, np.asarray(weights, np.float64)
        own = np.arange(len(rows), dtype=np.int32)
        place = np.empty(self.documents, np.int32)
        place[rows] = own  # of several postings of a document, the last stands for it
        place = place[rows]
        last = np.flatnonzero(place == own)
        every_frequency = np.bincount(place, weights, minlength=len(rows))
        return rows[last], np.asarray(every_frequency[last], np.float64)

    def scores(self, words: Sequence[Held]) -> tuple[Doubles, float]:
        """BM25 over the soft frequencies of words, and the score of a document that holds every one
        of them without end."""
        scores = np.zeros(self.documents)
        attainable = 0.0
        for rows, frequency in words:
            weight = self.idf(frequency)
            scores[rows] += weight * frequency * (K1 + 1) / (frequency + self._norm[rows])
            attainable += weight * (K1 + 1)
        return scores, attainable

    def idf(self, frequency: Doubles) -> float:
        """Of a word by its frequency in documents; those that do not have it may be left out."""
        holding = float(np.minimum(1.0, frequency).sum())
        return float(np.log1p((self.documents - holding + 0.5) / (holding + 0.5)))


# ── likeness of words ─────────────────────────────────────────────────────────────────────────────

ALIKE = 4  # letters that two words must have in common before they part (by hand)


def alike(first: str, second: str) -> float:
    """Share of a common beginning: 1 for the same lemma, high for forms and compounds of one."""
    if first == second:
        return 1.0
    common = _common_beginning(first, second)
    return common / max(len(first), len(second)) if common >= ALIKE else 0.0


def nearly(lemma: str, lemmas: list[str], least: float) -> Iterator[int]:
    """Of sorted lemmas the places of those that are more alike than `least`: they begin alike for
    most of their length."""
    begins = lemma[: max(ALIKE, int(least * len(lemma)) + 1)]  # what they have in common at least
    at = bisect_left(lemmas, begins)
    if len(lemma) < ALIKE:  # then no other one is alike
        yield from (at,) if lemmas[at : at + 1] == [lemma] else ()
        return
    while at < len(lemmas) and lemmas[at].startswith(begins):
        if alike(lemmas[at], lemma) > least:
            yield at
        at += 1


def within(words: Iterable[str], others: list[str]) -> float:
    """How well the worst of these words is matched by one of the others."""
    best = (max((alike(word, other) for other in others), default=0.0) for word in words)
    return min(best, default=1.0)


def _common_beginning(first: str, second: str) -> int:
    """How many letters two words have in common before they part."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))


def by_act(acts: Sequence[str]) -> tuple[list[str], Array]:
    """The acts of documents in order, and the number of each document's own."""
    different = sorted(set(acts))
    number_of = {act: number for number, act in enumerate(different)}
    return different, np.array([number_of[act] for act in acts], np.int32)

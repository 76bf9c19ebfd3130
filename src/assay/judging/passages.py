"""The passages of a document that are closest to a query, for a judge who has not read it.

A passage is a run of sentences of at most ninety words; the first has a word of the query. It is
worth the different words of the query in it, a word that stands all over the document being worth
little; a second passage is worth what the first does not have. No index
and no engine is asked: what a judge sees must not depend on the systems that are judged."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache

import msgspec

from assay.core.extras import is_installed
from assay.core.types import Document
from assay.language.analysis import Analyzer, analyzer, finnish_stem
from assay.language.detect import detect
from assay.language.terms import fold, same_by_rule, same_word

PASSAGE_WORDS = 90  # words of a passage; taste
MAX_PASSAGES = 3  # passages of a document; taste
MAX_TEXT = 200_000  # characters of a document that are looked through; taste
# characters that tell the language of a document that does not say; taste
LANGUAGE_CHARACTERS = 2_000
AGAIN = 0.35  # what a word of the query is worth that another passage has; taste
OFTEN = 0.1  # what words that come again are worth: enough to settle a tie; taste
BARE = re.compile(r"\W+")

# A word as the page marks it, with vowel points and inner quotes: תב"ע, official's. The page has
# the same pattern.
_LETTERS = r"[\w\u0300-\u036f\u0591-\u05c7]+"
WORD = re.compile(rf"{_LETTERS}(?:[\"'״׳’]{_LETTERS})*")
# The head of a letter, and lines of an address: nobody judges by them.
_SALUTATION = re.compile(
    r"(?:\bDear\s[^\n:]{2,80}|\bHyvä[ \t][^\n:,]{2,60}|לכבוד[^\n:,]{0,60})[:,]\s"
)
LETTERHEAD = 2_500  # characters in which a letter has said to whom it is; taste
_ADDRESS = re.compile(
    r"(?m)^(?=.{1,80}$)(?:.*(?:\b(?:Suite|P\.?\s?O\.? Box|Tel(?:ephone)?\.?:|Fax:?"
    r"|puh\.|PL \d|טל[.׳':]|פקס)"
    r"|\b[A-Z]{2} \d{5}\b|\S@\S+\.\w).*|\s*\d{5,7} [A-ZÄÖ][\w-]+\s*)$"
)
_END = re.compile(r"(?<=[.?!;:])\s+|\n\s*\n")


class NearestPassages(msgspec.Struct, frozen=True, kw_only=True):
    """The passages in the order of the document. `words` are the query's words in the forms that
    the document has, in lower case."""

    texts: tuple[str, ...]
    words: tuple[str, ...]


class _Sentence(msgspec.Struct, frozen=True):
    text: str
    length: int  # in words
    held: frozenset[str]  # of the query
    forms: frozenset[str]  # in which they stand here


class _Run(msgspec.Struct, frozen=True):
    start: int
    end: int
    held: frozenset[str]
    hits: int


def passages(query: str, document: Document, *, shown_texts: Sequence[str] = ()) -> NearestPassages:
    """The best passages; none of them stands in `shown_texts`, which the judge reads anyway.
    Without a word of the query anywhere, and without anything shown, how the text begins."""
    text = _without_letterhead(document.text[:MAX_TEXT])
    asked = _query_words(
        query, document.language or detect(f"{query} {text[:LANGUAGE_CHARACTERS]}")
    )
    known = " ".join(map(_bare, shown_texts))
    sentences = [_sentence(part, asked) for part in _sentences(text)]
    unseen = [
        msgspec.structs.replace(sentence, held=frozenset())
        if sentence.held and _bare(sentence.text) in known
        else sentence
        for sentence in sentences
    ]
    texts = _best(unseen)
    if not texts and not any(shown_texts):
        texts = _opening(sentences)
    words = {word for place in (document.title, *shown_texts) for word in _words(place)}
    forms = {word for word in words if asked.held(word)}
    forms.update(*(sentence.forms for sentence in sentences))
    return NearestPassages(texts=texts, words=tuple(sorted(forms)))


# ── the words of the query ────────────────────────────────────────────────────────────────────────


class _QueryWords:
    """Which word of the query a document's word is a form of. Remembers what it was asked: the
    documents of a query share most of their words."""

    def __init__(self, query: str, language: str) -> None:
        self.language = language
        self._analyzer: Analyzer = analyzer(language)
        words = dict.fromkeys(self._analyzer.words(query))
        has_dictionary = is_installed("words")
        self._same = same_word if has_dictionary else same_by_rule
        self._lemma: Callable[[str], str] = self._analyzer.lemma
        if language == "fi" and not has_dictionary:
            self._lemma = finnish_stem
        self._folded = {self._lemma(word): fold(word) for word in words}
        self.held = cache(self._held)

    def _held(self, word: str) -> str:
        """The lemma of the query, or nothing."""
        for part in self._analyzer.words(word):
            lemma = self._lemma(part)
            if lemma in self._folded:
                return lemma
            if self.language == "en":  # the stem is enough
                continue
            folded = fold(part)
            for asked, form in self._folded.items():
                if self._same(form, folded, self.language):
                    return asked
        return ""


@lru_cache(maxsize=4)
def _query_words(query: str, language: str) -> _QueryWords:
    return _QueryWords(query, language)


# ── sentences and runs of them ────────────────────────────────────────────────────────────────────


def _without_letterhead(text: str) -> str:
    """The text from the words after the salutation of a letter, without lines of an address."""
    salutation = _SALUTATION.search(text[:LETTERHEAD])
    body = _ADDRESS.sub("", text[salutation.end() :] if salutation else text)
    return body if body.strip() else text


def _sentences(text: str) -> Iterable[str]:
    """The sentences of a text, each on one line; longer ones are cut to a passage."""
    for part in _END.split(text):
        words = part.split()
        for start in range(0, len(words), PASSAGE_WORDS):
            yield " ".join(words[start : start + PASSAGE_WORDS])


def _sentence(text: str, query_words: _QueryWords) -> _Sentence:
    forms = {word: held for word in set(_words(text)) if (held := query_words.held(word))}
    return _Sentence(text, len(text.split()), frozenset(forms.values()), frozenset(forms))


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def _best(sentences: Sequence[_Sentence]) -> tuple[str, ...]:
    seen_in = Counter(word for sentence in sentences for word in sentence.held)
    worth = {word: math.log1p(len(sentences) / count) for word, count in seen_in.items()}
    runs = list(_runs(sentences))
    taken: list[_Run] = []
    known: set[str] = set()
    while runs and len(taken) < MAX_PASSAGES:
        best = max(runs, key=lambda run: (_value(run, worth, known), -run.start))
        taken.append(best)
        known |= best.held
        runs = [run for run in runs if run.end <= best.start or run.start >= best.end]
    return tuple(
        " ".join(sentence.text for sentence in sentences[run.start : run.end])
        for run in sorted(taken, key=lambda run: run.start)
    )


def _runs(sentences: Sequence[_Sentence]) -> Iterable[_Run]:
    """The possible passages: from every sentence with a query word, as far as a passage may go."""
    for start, first in enumerate(sentences):
        if not first.held:
            continue
        length, hits, held, end = 0, 0, frozenset[str](), start
        while end < len(sentences) and length + sentences[end].length <= PASSAGE_WORDS:
            length += sentences[end].length
            hits += len(sentences[end].held)
            held |= sentences[end].held
            end += 1
        yield _Run(start, end, held, hits)


def _value(run: _Run, worth: Mapping[str, float], known: Collection[str]) -> float:
    different = sum(worth[word] * (AGAIN if word in known else 1.0) for word in run.held)
    return different + OFTEN * math.log1p(run.hits)


def _opening(sentences: Sequence[_Sentence]) -> tuple[str, ...]:
    words = " ".join(sentence.text for sentence in sentences).split()
    return (" ".join(words[:PASSAGE_WORDS]),) if words else ()


def _bare(text: str) -> str:
    return BARE.sub(" ", text.lower()).strip()

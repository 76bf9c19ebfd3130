"""The sentences of every document as numbers of words: the one to show is found without reading the
text.

A sentence is kept as where it stands and as the lemmas of its words, in order, over one sorted
vocabulary. A question marks the lemmas it asks for; the best sentence is then a matter of a few
array operations, and only the sentence that is shown is read as text. Where a document is long this
is a hundred times quicker than splitting it into sentences and words again.

    offsets    of each document: its first sentence
    starts     of each sentence: its first word
    words      the lemma of each word, as a number
    spans      of each sentence: where it begins and ends in the texts of `shown_texts`, joined
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.types import Document
from assay.language.analysis import English
from assay.search.arrays import Array, offsets_of, places_of

MAX_TEXT = 60_000  # characters of a document that are looked through (taste)
FIRST_FIELDS = ("conclusion", "question", "summary")  # where the answer of an opinion stands
LEAST = 30  # characters of a sentence that says something (taste)
SHORT_TEXT = 60  # characters of a text that is shown whatever it says (taste)
NO_WORD = -1  # the number of what is no word
PADDING = 8  # words that every sentence is taken to have beside its own (by hand)
# after these a sentence goes on: "No. A-90-123", "v. Smith", "ks. 3 mom. 2 kohta"
_SHORTENED = "No Nos Mr Mrs Ms Dr St v vs cf Sec Secs Art subd Gov nro ks esim mom".split()
END = re.compile(
    r"(?<=[.?!;:])" + "".join(rf"(?<!\b{word}\.)" for word in _SHORTENED) + r"\s+|\n{2,}"
)


@dataclass(frozen=True, kw_only=True)
class Passages:
    lemmas: list[str]  # sorted
    offsets: Array
    starts: Array
    words: Array
    spans: Array

    def best(self, row: int, weights: Array, until: int = 0) -> tuple[int, int] | None:
        """Where the sentence stands that has most of the asked lemmas for its length, the first of
        several; None where there is no sentence. `weights` are over lemmas, 0 where one is not
        asked for. With `until`, of the sentences that end there or before."""
        first, last = int(self.offsets[row]), int(self.offsets[row + 1])
        if until:
            last = first + int(np.searchsorted(self.spans[first:last, 1], until, side="right"))
        if first == last:
            return None
        starts = self.starts[first : last + 1]
        words = self.words[starts[0] : starts[-1]]
        held = np.flatnonzero(weights[words])
        sentences = np.searchsorted(starts - starts[0], held, side="right") - 1
        different = np.unique(sentences * len(self.lemmas) + words[held])
        counts = np.bincount(
            different // len(self.lemmas),
            weights=weights[different % len(self.lemmas)],
            minlength=last - first,
        )
        best = first + int(np.argmax(counts / np.sqrt(PADDING + np.diff(starts))))
        return int(self.spans[best, 0]), int(self.spans[best, 1])


def shown_texts(document: Document) -> list[str]:
    """What a passage is looked for in: the answer of an opinion first, then its text."""
    fields = [document.fields[name] for name in FIRST_FIELDS if document.fields.get(name)]
    return [*fields, document.text[:MAX_TEXT]]


def sentence_spans(texts: Sequence[str], least: int = LEAST) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends in the texts joined."""
    base = 0
    for text in texts:
        begin = 0
        for separator in [*END.finditer(text), None]:
            end = separator.start() if separator else len(text)
            if end - begin > least or len(text) <= SHORT_TEXT:
                yield base + begin, base + end
            begin = separator.end() if separator else end
        base += len(text)


# ── building ──────────────────────────────────────────────────────────────────────────────────────


def passages_of(shown: Iterable[Sequence[str]], language: English) -> Passages:
    """Of the `shown_texts` of some documents, with a vocabulary of their own."""
    lemma_of = _Lemmas(language)
    words: list[int] = []  # of each token the number of its lemma, or NO_WORD
    lengths: list[int] = []
    spans: list[tuple[int, int]] = []
    sentences: list[int] = []
    for texts in shown:
        whole = "".join(texts)
        before = len(spans)
        for begin, end in sentence_spans(texts):
            tokens = language.tokens(whole[begin:end])
            words += map(lemma_of.__getitem__, tokens)
            lengths.append(len(tokens))
            spans.append((begin, end))
        sentences.append(len(spans) - before)
    every = np.array(words, np.int64)
    is_word = every != NO_WORD
    kept = offsets_of(is_word)  # how many words stand before each token
    return _sorted(
        Passages(
            lemmas=list(lemma_of.numbers),
            offsets=offsets_of(sentences),
            starts=kept[offsets_of(lengths)],
            words=every[is_word].astype(np.uint32),
            spans=np.array(spans, np.int32).reshape(-1, 2),
        )
    )


class _Lemmas(dict[str, int]):
    """The number of a token's lemma, found when it is first asked for; NO_WORD if it is no word."""

    def __init__(self, language: English) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}
        self._language = language

    def __missing__(self, token: str) -> int:
        word = self._language.word(token)
        number = NO_WORD
        if word:
            number = self.numbers.setdefault(self._language.lemma(word), len(self.numbers))
        self[token] = number
        return number


def _sorted(passages: Passages) -> Passages:
    lemmas = sorted(passages.lemmas)
    place = {lemma: number for number, lemma in enumerate(lemmas)}
    rank = np.array([place[lemma] for lemma in passages.lemmas], np.uint32)
    words = rank[passages.words] if len(rank) else passages.words
    return Passages(
        lemmas=lemmas,
        offsets=passages.offsets,
        starts=passages.starts,
        words=words,
        spans=passages.spans,
    )


def joined(blocks: Sequence[Passages]) -> Passages:
    """One after the other, over one vocabulary."""
    lemmas = sorted({lemma for block in blocks for lemma in block.lemmas})
    place = {lemma: number for number, lemma in enumerate(lemmas)}
    words = np.empty(sum(len(block.words) for block in blocks), np.uint32)
    done = 0
    for block in blocks:
        rank = np.array([place[lemma] for lemma in block.lemmas], np.uint32)
        if len(block.words):
            words[done : done + len(block.words)] = rank[block.words]
        done += len(block.words)
    return Passages(
        lemmas=lemmas,
        offsets=offsets_of(np.concatenate([np.diff(block.offsets) for block in blocks])),
        starts=offsets_of(np.concatenate([np.diff(block.starts) for block in blocks])),
        words=words,
        spans=np.concatenate([block.spans for block in blocks]),
    )


def taken(passages: Passages, rows: Array) -> Passages:
    """Those of some documents, in this order, with the lemmas that they have."""
    sentences = places_of(passages.offsets, rows)[0]
    held, words = np.unique(
        passages.words[places_of(passages.starts, sentences)[0]], return_inverse=True
    )
    return Passages(
        lemmas=[passages.lemmas[number] for number in held],
        offsets=offsets_of(np.diff(passages.offsets)[rows]),
        starts=offsets_of(np.diff(passages.starts)[sentences]),
        words=words.astype(np.uint32),
        spans=np.asarray(passages.spans[sentences]),
    )

"""The passage of a document that a lawyer reads first, and the words of the question it holds.

Every sentence is scored by the different words of the question it has, each by how rare it is, over
the square root of its length (plus eight, so that a heading of two words does not win by being
short). What counted in the search counts here: the same lemma, a look-alike, a term of the
thesaurus. A short text is shown whole, and an item of a list with the words that begin the list.
In a provision the rule stands before its special cases: of two sentences that say about as much,
the first is shown, and where the passage would say about as much if it began earlier, it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from assay.core.types import Document
from assay.language import finnish, hebrew
from assay.language.questions import is_filler
from assay.search.arrays import Array, Floats
from assay.search.fuzzy_bm25 import ALIKE, alike, nearly
from assay.search.index import Index, question_terms
from assay.search.sentence_index import (
    END,
    FIRST_FIELDS,
    LEAST,
    PADDING,
    Passages,
    sentence_spans,
    shown_texts,
)
from assay.search.signals import MAX_WORDS, similar_words, statutory_terms, words_searched
from assay.search.thesaurus import Term, thesaurus

# taste, unless a note is named
PASSAGE_CHARACTERS = 280  # characters of a passage,
ROOM = 400  # and so many where a sentence ends there
SHOWN_LOOKALIKE = 0.3  # how much a look-alike must count to be shown as a word of the question
MEANT = 0.5  # and how much to be named as what it stands for
SAME_WORD = 0.85  # how alike two lemmas must be
COMMON = 0.2  # the least weight of a word, that of one which most documents have
RARE = 5.0  # the idf from which on a word counts in full
# how much more a later sentence of a provision must say than an earlier one (research/shown.md, 26)
AS_MUCH = 1.25
LEAST_ITEM = 8  # characters of an item of a list in a provision
LEAD = 110  # characters of the words before a list
# a sentence that only goes on: "3) …", "(ב) …", "and …"
_ITEM = re.compile(r"\W*(?:\d{1,2}[).]|\(?[\wא-ת]{1,3}\))\s|[a-zåäö]")
# what a dot does not end
_SHORTENED = re.compile(
    r"(?:\b(?:Mr|Ms|Mrs|Dr|Jr|Sr|St|Nos?|Inc|Co|Corp|Ltd|vs?|Secs?|Regs?|Gov|Cal|Art|Ch|Ops?|subds?"
    r"|pp?|cf|seq|Adm|Stats|Hon|Gen|Atty)|\b[A-Z]|e\.g|i\.e)\.$"
)
ENDS = re.compile(r"[.?!;](?=\s|$)")
_AROUND = 250  # characters in which the other half of a sentence is looked for (taste)


@dataclass(frozen=True, kw_only=True)
class QueryWords:
    """What a question asks for: the words that stand for its own `among` those of a document, and
    which of its own one of them looks like, with whether it is a form of it; `meant`: what some of
    its words mean by the thesaurus, the forms of each word of a term; what a lemma weighs; the
    weights of those lemmas that the index keeps sentences with, where it does; and how alike each
    question is that was written for a document, where there are any. `telling` are the words of the
    question with what they tell, those that tell most first, without those that only fill it."""

    among: Callable[[Iterable[str]], list[str]]
    looks_like: Callable[[str], dict[str, bool]]
    meant: list[tuple[Term, list[frozenset[str]]]]
    telling: dict[str, float]
    weight: Callable[[str], float]
    lemmas: Array | None
    likeness: Floats | None = None


def best_passage(index: Index, asked: QueryWords, document: Document) -> tuple[str, list[str]]:
    """The passage with most of the question's words, and those words."""
    texts = shown_texts(document)
    whole = " ".join(document.text.split()) if len(document.text) <= ROOM + _AROUND else ""
    lead = " ".join(document.fields.get("intro", "").split())
    if len(texts) == 1 and 0 < len(whole) <= ROOM:
        return with_words(index, asked, _with_lead(lead, whole))
    row = index.row_of.get(document.id)
    if index.passages is not None and asked.lemmas is not None and row is not None:
        span = index.passages.best(row, asked.lemmas)
    else:
        span = _best_span(index, asked, texts)
    if span is None:
        return shortened(document.text[:PASSAGE_CHARACTERS]), []
    text = "".join(texts)
    if index.profile.kind == "stems":
        best = " ".join(text[slice(*_whole_sentence(text, *span))].split())
    else:  # of a provision as much as there is room for: an item says nothing without its list
        best = _around(text, span[0])
        first = END.split(document.text[: LEAD * 2].strip(), maxsplit=1)[0]
        opens = first.endswith((":", "–", "-")) or not _ITEM.match(first)
        lead = lead or (" ".join(first.split()) if opens else "")
        best = _with_lead("" if lead and best.startswith(lead[:40]) else lead, best)
    best, words = with_words(index, asked, best)
    return shortened(best), words


def _around(text: str, begin: int) -> str:
    """From a sentence on, and back as far as there is room."""
    starts = [start for start, _ in sentence_spans([text]) if start < begin]
    while starts and len(text) - starts[-1] <= ROOM:
        begin = starts.pop()
    return " ".join(text[begin : begin + PASSAGE_CHARACTERS * 2].split())[: PASSAGE_CHARACTERS * 2]


def best_of_field(index: Index, asked: QueryWords, document: Document, name: str) -> str:
    """A field from where it says most of what is asked for, where it is the first that is kept in
    sentences; from its beginning otherwise."""
    text, begin = document.fields.get(name, ""), 0
    row = (
        index.row_of.get(document.id)
        if name == FIRST_FIELDS[0] and len(text) > PASSAGE_CHARACTERS
        else None
    )
    if index.passages is not None and asked.lemmas is not None and row is not None:
        span = index.passages.best(row, asked.lemmas, until=len(text))
        begin = _whole_sentence(text, *span)[0] if span else 0
    shown = shortened(" ".join(text[begin : begin + 2 * PASSAGE_CHARACTERS].split()))
    return f"… {shown}" if begin else shown


def _with_lead(lead: str, item: str) -> str:
    """An item of a list after the words that begin it."""
    if not lead or not _ITEM.match(item):
        return item
    short = lead if len(lead) <= LEAD else lead[:LEAD].rsplit(" ", 1)[0] + " …"
    return f"{short} {item}" if short.endswith((":", "–", "…", "-")) else f"{short} … {item}"


def _whole_sentence(text: str, begin: int, end: int) -> tuple[int, int]:
    """A sentence that was cut at "Mr." or "Sec.", with its other half."""
    before = text[max(0, begin - _AROUND) : begin].rstrip()
    if _SHORTENED.search(before):
        cuts = [cut.end() for cut in END.finditer(before)]
        begin = max(0, begin - _AROUND) + cuts[-1] if cuts else begin
    if _SHORTENED.search(text[max(begin, end - 20) : end]):
        after = END.search(text, end + 1, end + _AROUND)
        end = after.start() if after else min(len(text), end + _AROUND)
    return begin, end


def with_words(index: Index, asked: QueryWords, text: str) -> tuple[str, list[str]]:
    """A text, and those of its words that are asked for."""
    return text, asked.among(dict.fromkeys(index.analyzer.words(text)))


def _best_span(index: Index, asked: QueryWords, texts: list[str]) -> tuple[int, int] | None:
    """By reading them: short texts, whose words count by their looks too."""
    text = "".join(texts)
    said: list[tuple[int, int, set[str]]] = []
    best = 0
    best_score = -1.0
    least = LEAST if index.profile.kind == "stems" else LEAST_ITEM
    margin = 1.0 if index.profile.kind == "stems" else AS_MUCH
    for begin, end in sentence_spans(texts, least):
        words = index.analyzer.words(text[begin:end])
        held = {index.lemma(word) for word in asked.among(words)}
        score = sum(map(asked.weight, held)) / (PADDING + len(words)) ** 0.5
        if score > best_score * margin:
            best = len(said)
            best_score = score
        said.append((begin, end, held))
    if best and index.profile.kind == "soft":
        best = _earlier(index, asked, text, said, best)
    return said[best][:2] if said else None


def _earlier(
    index: Index, asked: QueryWords, text: str, said: list[tuple[int, int, set[str]]], best: int
) -> int:
    """The first sentence from which on a passage says about as much as from the best one on."""

    def says(number: int) -> float:
        until = said[number][0] + PASSAGE_CHARACTERS
        shown: set[str] = set()
        for begin, end, held in said[number:]:
            if begin >= until:
                break
            if end > until:
                words = index.analyzer.words(text[begin:until])
                held = {index.lemma(word) for word in asked.among(words)}
            shown |= held
        return sum(map(asked.weight, shown))

    enough = says(best) / AS_MUCH
    return next((number for number in range(best) if says(number) >= enough), best)


def asked_for(index: Index, question: str) -> QueryWords:
    """It remembers which words it was asked about: the documents found share most of theirs."""
    words = list(dict.fromkeys(index.analyzer.words(question)))[:MAX_WORDS]
    lemmas: dict[str, list[str]] = {}
    for word in words:
        lemmas.setdefault(index.lemma(word), []).append(word)
    beginnings: dict[str, list[str]] = {}  # what is alike begins alike
    for lemma in lemmas:
        beginnings.setdefault(lemma[:ALIKE], []).append(lemma)
    weights = _weights(index, words)
    meant = _meant_words(index, words)
    of_meant: dict[str, float] = {}
    for word, stands in meant.items():
        counts = max(share * weights[index.lemma(asked)] for asked, share in stands.items())
        of_meant[index.lemma(word)] = max(counts, of_meant.get(index.lemma(word), 0.0))

    def same(lemma: str) -> list[str]:
        """The words of the question that have this lemma, or nearly so."""
        near = beginnings.get(lemma[:ALIKE], ())
        return [word for each in near if alike(lemma, each) > SAME_WORD for word in lemmas[each]]

    # what the index has is gone through once; another word when it is asked about
    here = index.words.lemma_of if index.words is not None else {}
    found = {*meant}
    if index.words is not None:
        found.update(*(index.words.nearly(lemma, SAME_WORD) for lemma in lemmas))

    @cache
    def is_elsewhere(word: str) -> bool:
        return bool(same(index.lemma(word)))

    def among(words: Iterable[str]) -> list[str]:
        return [one for one in words if one in found or (one not in here and is_elsewhere(one))]

    @cache
    def lookalikes() -> dict[str, list[str]]:
        return _lookalikes(index, words)

    @cache
    def looks_like(word: str) -> dict[str, bool]:
        others = dict.fromkeys(lookalikes().get(word, ()), False)
        return others | dict.fromkeys(same(index.lemma(word)), True)

    @cache
    def weight(lemma: str) -> float:
        near = beginnings.get(lemma[:ALIKE], ())
        alikes = [weights[each] for each in near if each == lemma or alike(lemma, each) > SAME_WORD]
        return max(alikes, default=of_meant.get(lemma, 1.0))

    likeness = None
    if index.written is not None:
        likeness = index.written.likeness(question_terms(index.profile, question))
    return QueryWords(
        among=among,
        looks_like=looks_like,
        meant=_by_thesaurus(index, words, lambda word: not same(index.lemma(word))),
        telling=_telling_words(index, words, weights),
        weight=weight,
        lemmas=_asked_lemmas(index.passages, weights),
        likeness=likeness,
    )


def _rarity(index: Index, word: str) -> float:
    """How rare a word is in what people ask, up to 1, by its rarest n-gram; where no questions were
    written, in the texts. In a statute "please" is rare, too."""
    field = index.fields["main.grams"] if index.written is None else index.written.postings
    rarity = field.rarity
    return max(map(rarity, index.analyzer.terms(word)), default=0.0) / rarity("\0")


def _telling_words(index: Index, words: list[str], weights: dict[str, float]) -> dict[str, float]:
    """A word tells most that is rare in the texts and in what people ask: "may I" is rare in a
    statute, too."""
    language = index.analyzer.language
    saying = [word for word in reversed(words) if not is_filler(word, language)]
    forms = {index.lemma(word): word for word in saying}  # of each the first
    told = {word: weights[lemma] for lemma, word in forms.items()}
    if index.written is not None and index.profile.kind == "soft":
        known = [word for word in told if index.analyzer.terms(word)]
        told |= {word: told[word] * _rarity(index, word) for word in known}
    return dict(sorted(told.items(), key=lambda one: -one[1]))


def _meant_words(index: Index, words: list[str]) -> dict[str, dict[str, float]]:
    """The index words that words of a question stand for, with each of these and its share."""
    meant: dict[str, dict[str, float]] = {}
    if index.words is None:
        return meant
    terms = statutory_terms(index, words)
    for word in words:
        numbers, shares = similar_words(index, word, terms.get(word, []))
        shown = shares > SHOWN_LOOKALIKE
        for number, share in zip(numbers[shown].tolist(), shares[shown].tolist(), strict=True):
            meant.setdefault(index.words.words[number], {})[word] = share
    return meant


def _lookalikes(index: Index, words: list[str]) -> dict[str, list[str]]:
    """The index words that look so much like words of a question that they are named, with
    these."""
    found: dict[str, list[str]] = {}
    if index.words is not None:
        for word in words_searched(index, " ".join(words)):
            numbers, shares = similar_words(index, word, [])
            for number in numbers[shares > MEANT].tolist():
                found.setdefault(index.words.words[number], []).append(word)
    return found


def _by_thesaurus(
    index: Index, words: list[str], is_other: Callable[[str], bool]
) -> list[tuple[Term, list[frozenset[str]]]]:
    """Words of a question that are an entry of the thesaurus, each with the forms in which the
    index has the words of a term; all of a term must be here."""
    known = thesaurus(index.analyzer.language)
    if known is None or index.words is None:
        return []
    found = []
    for said, term in known.own(words):
        forms = [frozenset(form for form in _forms(index, word) if is_other(form)) for word in term]
        if all(forms):
            found.append((said, forms))
    return found


def _forms(index: Index, term: str) -> Iterator[str]:
    """The index words that are forms of a term. Where endings were cut off, others may have the
    same letters left (מועד, ועדה); a compound that the dictionary does not have is given as a form
    of its first word (*hankintameno* of hankinta)."""
    assert index.words is not None
    lemma, language = index.lemma(term), index.analyzer.language
    every = map(index.words.words.__getitem__, index.words.same(term)[0].tolist())
    if language == "he":
        return (word for word in every if hebrew.same_word(term, word))
    if language == "fi" and finnish.goes_on(lemma, term):
        return (word for word in every if finnish.may_be_form(term, word))
    return every


def _weights(index: Index, words: list[str]) -> dict[str, float]:
    """What each lemma of a question weighs: a rare word in full, one that is everywhere little. One
    that is nowhere weighs in full, too."""
    weights = {index.lemma(word): 1.0 for word in words}
    full, main = index.fields.get("full"), index.soft.get("main")
    for word in words:
        idf: list[float] = []
        if full is not None:
            terms = index.analyzer.terms(word)
            idf = [float(full.idf[full.numbers[term]]) for term in terms if term in full.numbers]
        elif main is not None and index.words is not None and len(index.words.same(word)[0]):
            idf = [main.idf(main.held(index.words.same(word))[1])]
        if idf:
            weights[index.lemma(word)] = min(1.0, max(COMMON, max(idf) / RARE))
    return weights


def _asked_lemmas(passages: Passages | None, weights: dict[str, float]) -> Array | None:
    """The weights of the lemmas that are one of these, or nearly so; 0 for others. None where no
    sentences are kept."""
    if passages is None:
        return None
    kept = np.zeros(len(passages.lemmas), np.float32)
    for asked, weight in weights.items():
        for number in nearly(asked, passages.lemmas, SAME_WORD):
            kept[number] = max(kept[number], weight)
    return kept


def shortened(text: str) -> str:
    """To the end of the sentence that the room ends in, where that is near; else to a word."""
    if len(text) <= PASSAGE_CHARACTERS:
        return text
    end = ENDS.search(text, PASSAGE_CHARACTERS - 1, ROOM)
    if end is None:
        return text[:PASSAGE_CHARACTERS].rsplit(" ", 1)[0] + " …"
    return text[: end.end()] + (" …" if text[end.end() :].strip() else "")

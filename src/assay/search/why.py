"""Why a hit is here, in facts that a reader can check.

A score says how far to trust a hit, not why it was found. So each hit has what found it: the words
of the question that it has, and the telling ones that it has not; that another moment of its
section came before it, or a provision that it refers to, or one of its chapter. Where it has none
of the words, that is said, too: then its meaning alone was near.

A provision of another section that is well behind the first hit is *less likely*: of these, one or
two in a hundred were in a section that answers (research/shown.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from assay.core.types import Document, Hit
from assay.law.citing import section_name
from assay.law.places import Cited, sections_named
from assay.search.index import Index
from assay.search.signals import HELD
from assay.search.snippets import QueryWords
from assay.search.views import section_key

# of the first score: what another section must have not to be less likely (research/shown.md, 31)
BEHIND = 0.92
FIRST = 10  # hits that a page shows at once, and whose scores are read beside each other
# taste
MOST_WORDS = 5  # of the question that are named
MOST_MISSING = 3  # words that are named
TELLING = 0.4  # the least weight of a word that is missed
LEADING = 3  # hits whose chapter may be that of another
READ = 2_000  # characters of a text
LEADING_NUMBER = re.compile(r"\d+")
NUMBER = re.compile(r"(?<![\d:/])\d+(?![\d/])")  # that may be one of a section
# set by hand
NAMED_DOCUMENT = 0.1  # of the signal that says that the question names a document
CITED = 0.9  # of the signal that says that it is the provision cited
LEAST_ROOT = 3  # letters
ENDING = 2  # letters of a word that may be others where it is part of a longer one
PART = 0.7  # of the letters of a word: what has so many may mean the same, or not


class Why(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`words` are those of the question that the document has, the most telling first, several in
    one where they mean a term together; `instead` what it says for one where that is another word;
    `missing` are telling words it has not, without those that only ask or fill a sentence.
    `section`, `refers_to`, `referred_by` and `near` are the rank of a hit before it: of the same
    section, one that it refers to, one that refers to it, one of the same chapter; `place` is the
    section of that hit, or the heading of the chapter. `named` where the question names it,
    `meaning` where it has none of the words."""

    named: bool = False
    words: tuple[str, ...] = ()
    instead: dict[str, str] = {}
    missing: tuple[str, ...] = ()
    section: int = 0
    refers_to: int = 0
    referred_by: int = 0
    near: int = 0
    place: str = ""
    meaning: bool = False


def less_likely(index: Index, hits: Sequence[Hit]) -> list[bool]:
    """Of provisions, best first: whether one is far behind the first and of no section that was
    not. In the first ten, none with a higher score than one that counts as likely by its section is
    less likely. Of other documents nothing is known to tell it by."""
    if not index.has_sections or not hits or not hits[0].score:
        return [False] * len(hits)
    least = BEHIND * hits[0].score
    likely: set[tuple[object, ...]] = set()
    behind = []
    for hit in hits:
        section = section_key(index.sections, index.act_of, index.row_of[hit.doc_id])
        if (hit.score or 0.0) >= least:
            likely.add(section)
        behind.append(section not in likely)
    first = list(zip(hits[:FIRST], behind[:FIRST], strict=True))
    least = min((hit.score or 0.0) for hit, is_behind in first if not is_behind)
    return [is_behind and (hit.score or 0.0) < least for hit, is_behind in first] + behind[FIRST:]


def _named_hits(index: Index, asked: QueryWords, hits: Sequence[Hit]) -> set[str]:
    """The hits that the question names. One word names the only provision that has it, and
    otherwise the one that it is the title of."""
    strength = {hit.doc_id: hit.explanation.get("named", 0.0) for hit in hits}
    named = {doc_id for doc_id, value in strength.items() if value >= NAMED_DOCUMENT}
    if index.profile.kind != "soft":
        return named
    if len(asked.telling) == 1 and len(named) > 1:
        named = {doc_id for doc_id in named if strength[doc_id] >= HELD}
    return named | {hit.doc_id for hit in hits if hit.explanation.get("citation", 0.0) >= CITED}


def why_each(
    index: Index, asked: QueryWords, hits: Sequence[Hit], documents: Sequence[Document], first: int
) -> list[Why]:
    """Of these hits and their documents; `first` is the rank of the first of them."""
    if index.profile.kind == "stems":
        held = _by_postings(index, asked, hits)
    else:
        held = [_by_reading(index, asked, document) for document in documents]
    related = _related(index, hits, documents, first)
    named = _named_hits(index, asked, hits)
    return [
        msgspec.structs.replace(
            one,
            named=hit.doc_id in named,
            words=(most := words[:MOST_WORDS]),
            instead={word: instead[word] for word in most if word in instead},
            missing=missing[:MOST_MISSING],
            meaning=bool(asked.telling) and not words,
        )
        for hit, one, (words, instead, missing) in zip(hits, related, held, strict=True)
    ]


# ── words ─────────────────────────────────────────────────────────────────────────────────────────

Held = tuple[tuple[str, ...], dict[str, str], tuple[str, ...]]  # words, instead, missing


def _by_postings(index: Index, asked: QueryWords, hits: Sequence[Hit]) -> list[Held]:
    """Long texts are not read again: the index says which of them have a word."""
    full = index.fields["full"]
    rows = np.array([index.row_of[hit.doc_id] for hit in hits], np.int64)
    has: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for word in asked.telling:
        has[word] = np.zeros(len(rows), bool)
        for term in index.analyzer.terms(word):
            if term in full.numbers:
                postings = full.postings(full.numbers[term])
                places = np.minimum(np.searchsorted(postings, rows), len(postings) - 1)
                has[word] |= postings[places] == rows
    return [
        (
            tuple(word for word in asked.telling if has[word][number]),
            {},
            tuple(word for word in asked.telling if not has[word][number] and _tells(asked, word)),
        )
        for number in range(len(hits))
    ]


def _by_reading(index: Index, asked: QueryWords, document: Document) -> Held:
    text = f"{document.title} {document.text[:READ]}"
    running = index.analyzer.words(text)
    said = dict.fromkeys(running)
    has: dict[str, str] = {}
    for word in asked.among(said):
        stands = asked.looks_like(word)
        for question, is_same in stands.items():
            if is_same or not any(stands.values()):
                has[question] = "" if is_same else has.get(question, word)
    phrases = _by_thesaurus(asked, running, has)
    missing = []
    folded = " ".join(said)
    for word in asked.telling:
        if word in has or word in phrases:
            continue
        if known := _in_part(index, word, folded):
            has[word] = known
        elif _tells(asked, word) and not _may_be_there(index, word, text):
            missing.append(word)
    held = (word if word in has else phrases.get(word) for word in asked.telling)
    words = tuple(dict.fromkeys(word for word in held if word))
    return words, {word: has[word] for word in words if has[word]}, tuple(missing)


def _by_thesaurus(asked: QueryWords, running: list[str], has: dict[str, str]) -> dict[str, str]:
    """Adds what a document says for words of the question to what it `has`: a term, where it has
    not the words themselves. Gives the words of several that mean a term together, with these in
    one."""
    phrases: dict[str, str] = {}
    said = set(running)
    for words, term in asked.meant:
        together = " ".join(words)
        if together in has or all(word in has for word in words) or any(map(said.isdisjoint, term)):
            continue
        rows = zip(*(running[at:] for at in range(len(term))), strict=False)
        here = (row for row in rows if all(word in of for word, of in zip(row, term, strict=True)))
        if found := next(here, None):
            has[together] = " ".join(found)
            if len(words) > 1:
                phrases |= {word: together for word in words if word not in has}
    return phrases


def _in_part(index: Index, word: str, said: str) -> str:
    """The first word that has another one in it, as compounds do: at its beginning, or after a
    word that is known here. Hebrew joins other things than words."""
    lemma, gram = index.lemma(word), index.analyzer.gram
    part = lemma[: max(gram, len(lemma) - ENDING)]
    if len(part) < gram or index.analyzer.language == "he" or part not in said:
        return ""
    return next((one for one in said.split() if part in one and _joins_words(index, one, part)), "")


def _joins_words(index: Index, word: str, part: str) -> bool:
    before = word[: word.index(part)]
    return not before or (index.words is not None and index.words.knows(before))


def _may_be_there(index: Index, word: str, text: str) -> bool:
    """What has most of a word is not said to lack it. A Hebrew word is conjugated at both ends:
    without them it may stand there still."""
    lemma, gram = index.lemma(word), index.analyzer.gram
    if index.analyzer.language == "he":
        root = lemma[1:]
        return len(root) >= LEAST_ROOT and root in text
    part = lemma[: max(gram, int(PART * len(lemma)))]
    return len(part) >= gram and part in text.casefold()


def _tells(asked: QueryWords, word: str) -> bool:
    return asked.telling[word] >= TELLING


# ── other hits ────────────────────────────────────────────────────────────────────────────────────


def _related(
    index: Index, hits: Sequence[Hit], documents: Sequence[Document], first: int
) -> list[Why]:
    """What each hit has to do with those before it, the closest alone."""
    if not index.has_sections:
        return [Why()] * len(hits)
    sections = [section_key(index.sections, index.act_of, index.row_of[hit.doc_id]) for hit in hits]
    read = _SectionReader()
    every = []
    for number, document in enumerate(documents):
        place = sections.index(sections[number])
        if place < number:
            every.append(Why(section=first + place))
            continue
        chapter = _chapter(document)
        leading = range(min(number, LEADING))
        near = next((at for at in leading if _chapter(documents[at]) == chapter), None)
        if number and _refers(document, documents[0], read):
            every.append(Why(refers_to=first, place=section_name(documents[0])))
        elif number and _refers(documents[0], document, read):
            every.append(Why(referred_by=first, place=section_name(documents[0])))
        elif chapter is not None and near is not None:
            every.append(Why(near=first + near, place=chapter[-1]))
        else:
            every.append(Why())
    return every


class _SectionReader:
    """What documents say of sections, each read once: the numbers in it, and what it cites."""

    def __init__(self) -> None:
        self._numbers: dict[str, set[str]] = {}
        self._cited: dict[str, list[Cited]] = {}

    def numbers(self, document: Document) -> set[str]:
        if document.id not in self._numbers:
            self._numbers[document.id] = set(NUMBER.findall(document.text[:READ]))
        return self._numbers[document.id]

    def cited(self, document: Document) -> list[Cited]:
        if document.id not in self._cited:
            named = sections_named(document.text[:READ], document.language)
            self._cited[document.id] = named
        return self._cited[document.id]


def _refers(citing: Document, cited: Document, read: _SectionReader) -> bool:
    """Whether a provision names the section of another of the same act. Most do not have its
    number, and are not read."""
    here, there = citing.locator, cited.locator
    if here is None or there is None or not there.section or here.doc_id != there.doc_id:
        return False
    number = LEADING_NUMBER.match(there.section)
    if number is None or number[0] not in read.numbers(citing):
        return False
    by_chapter = bool(citing.metadata.get("by_chapter"))
    return any(
        one.has_section(there.section.casefold())
        and not (one.law or one.law_id)
        and (one.schedule or "") == (there.schedule or "")
        and (not by_chapter or (one.chapter or here.chapter) == there.chapter)
        for one in read.cited(citing)
    )


def _chapter(document: Document) -> tuple[str, ...] | None:
    """The act, and the number and heading of the chapter in it; None where it has none."""
    heading = document.metadata.get("chapter_title")
    if not isinstance(heading, str) or not heading or document.locator is None:
        return None
    number = str(document.metadata.get("chapter") or "")
    return str(document.locator.doc_id), number, heading

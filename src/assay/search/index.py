"""The index of a corpus in memory, and how it is built from documents.

What each kind holds. *Stems*: counts of terms by document (the forward side, kept so that a changed
corpus is not analysed again), BM25 postings made from them, and vectors. *Soft*: up to four views
of each document (its text with its title, its title, its tags, the whole section it stands in),
counted over one vocabulary so that a word of a question is compared with the index words once for
all views; for each view n-grams as well; and of each document its act, section and whether it is
transitional.

A build takes over what it can from the index before: rows of counts and vectors of documents whose
digest is the same. Analysis and encoding are nearly all of the work, so that a small change costs
little; postings are made anew, which is quick.

`index_files` keeps an index on disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from assay.core.errors import EngineError, InputError
from assay.core.types import Document
from assay.language.analysis import (
    Analyzer,
    English,
    analyzer,
    grams,
)
from assay.language.detect import detect, is_foreign, language_code
from assay.search.arrays import Array, Floats
from assay.search.encoding import encoded
from assay.search.learned import LEARNED, document_vectors, word_vectors
from assay.search.lexical import Bm25, Counts, bm25, count_terms, no_counts
from assay.search.profile import Profile, choose, with_encoder
from assay.search.shown import Passages, joined, passages_of, taken
from assay.search.soft import Lookalikes, SoftView, lookalikes
from assay.search.views import Parts, View, section_texts, view_of

VIEWS = {"main": 1.0, "title": 0.3, "tags": 0.5, "section": 0.3}  # soft views and what each counts
GRAM_K1 = 1.2  # BM25 over the n-grams of a view
GRAM_B = 0.6
TOLD_EVERY = 200  # texts between two reports of progress
Tick = Callable[[str, int, int], None]  # (what, done, of)
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Index:
    """`fields` are BM25 postings: full, short and characters, or NAME.grams of a soft view."""

    profile: Profile
    ids: list[str]
    digests: list[str]
    fields: dict[str, Bm25] = field(default_factory=dict)
    counts: dict[str, Counts] = field(default_factory=dict)
    soft: dict[str, SoftView] = field(default_factory=dict)
    words: Lookalikes | None = None
    vectors: Floats | None = None
    acts: list[str] = field(default_factory=list)
    act_of: Array = field(default_factory=lambda: np.empty(0, np.int32))
    sections: list[str] = field(default_factory=list)  # of each document, as views.py writes it
    transitional: Array = field(default_factory=lambda: np.empty(0, np.bool_))
    word_vectors: Floats | None = None  # of index words, where they were learned from the corpus
    passages: Passages | None = None  # of longer texts
    awaited: str = ""  # the encoder whose vectors are still missing

    @cached_property
    def row_of(self) -> dict[str, int]:
        return {doc_id: row for row, doc_id in enumerate(self.ids)}

    @property
    def analyzer(self) -> Analyzer:
        return analyzer(self.profile.language)

    def lemma(self, word: str) -> str:
        return self.analyzer.lemma(word) if self.words is None else self.words.lemma(word)

    def __len__(self) -> int:
        return len(self.ids)


def is_citation(term: str) -> bool:
    return English.is_citation(term)


def letters_of(text: str) -> list[str]:
    """The words of a text as runs of letters and digits, for character n-grams."""
    return "".join(character if character.isalnum() else " " for character in text.lower()).split()


@dataclass(frozen=True, kw_only=True)
class _Sources:
    """What an index is built from: the profile, the documents, and what an index before has."""

    profile: Profile
    views: list[View]
    digests: list[str]
    previous: Index | None
    tick: Tick

    @property
    def language(self) -> Analyzer:
        return analyzer(self.profile.language)

    @property
    def ids(self) -> list[str]:
        return [view.id for view in self.views]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An index that can be searched by words, and what is left to encode: the texts of the rows
    `fresh`; the others have `vectors` already."""

    index: Index
    encoder: str = ""
    fresh: Array = field(default_factory=lambda: np.empty(0, np.int64))
    texts: Sequence[Parts] = ()
    vectors: Floats | None = None


def build(
    documents: Iterable[tuple[Document, str]],
    *,
    dense: bool = True,
    encoder: str = "",
    previous: Index | None = None,
    tick: Tick = lambda what, done, of: None,
) -> Index:
    """An index of (document, digest) pairs, with the encoder that suits it or another one. Raises
    InputError on an empty corpus."""
    made = draft(documents, dense=dense, encoder=encoder, previous=previous, tick=tick)
    return replace(made.index, vectors=vectors_of(made, None, tick))


def draft(
    documents: Iterable[tuple[Document, str]],
    *,
    dense: bool = True,
    encoder: str = "",
    previous: Index | None = None,
    tick: Tick = lambda what, done, of: None,
) -> Draft:
    """All of an index but the vectors that must be encoded for it."""
    views: list[View] = []
    digests: list[str] = []
    languages: list[str] = []
    asked = 0
    for document, digest in documents:
        views.append(view_of(document))
        digests.append(digest)
        languages.append(document.language)
        asked += any(document.fields.get(name) for name in ("question", "question_synthetic"))
    if not views:
        raise InputError("the corpus has no documents", hint="Import documents first.")
    language = _language(languages, views)
    profile = choose(language, [len(view.body) for view in views], opinions=asked > len(views) / 2)
    if encoder or not dense:
        profile = with_encoder(profile, encoder if dense else "")
    is_usable = previous is not None and read_alike(previous.profile, profile)
    sources = _Sources(
        profile=profile,
        views=views,
        digests=digests,
        previous=previous if is_usable else None,
        tick=tick,
    )
    index = _build_soft(sources) if profile.kind == "soft" else _build_stems(sources)
    if index.vectors is not None or not profile.encoder:
        return Draft(index=index)
    return _to_encode(sources, index)


def read_alike(one: Profile, other: Profile) -> bool:
    """Whether documents are read the same way for both, so that what was counted can be taken
    over; vectors can where the encoder is the same too."""
    return (one.kind, one.language) == (other.kind, other.language)


def _language(stated: Sequence[str], views: Sequence[View]) -> str:
    known = Counter(language_code(language) for language in stated if language.strip())
    sample = [f"{view.title} {view.body}"[:2_000] for view in views[:200]]
    if known:
        most = min(known, key=lambda code: (-known[code], code))
        return detect(sample) if is_foreign(" ".join(sample), most) else most
    return detect(sample)


# ── stems ─────────────────────────────────────────────────────────────────────────────────────────


def _build_stems(sources: _Sources) -> Index:
    profile = sources.profile
    views = sources.views
    reuse = _reuse(sources.digests, sources.previous)
    texts = {
        "full": [f"{view.title} {view.body}" for view in views],
        "short": [view.short for view in views],
    }
    counts: dict[str, Counts] = {}
    for name, field_texts in texts.items():
        if name == "full" or (profile.short and any(field_texts)):
            before = sources.previous.counts.get(name) if sources.previous else None
            told = _reporting_progress(field_texts, f"reading {name}", sources.tick)
            rows = reuse if before else None
            counts[name] = count_terms(told, sources.language.terms, before, rows)
    fields = {name: bm25(counted, k1=profile.k1, b=profile.b) for name, counted in counts.items()}
    if profile.characters:
        size = sources.language.gram
        told = _reporting_progress(texts["full"], "reading characters", sources.tick)
        counted = count_terms(told, lambda text: grams(letters_of(text), size))
        fields["characters"] = bm25(counted, k1=profile.k1, b=profile.b)
    return Index(
        profile=profile,
        ids=sources.ids,
        digests=sources.digests,
        fields=fields,
        counts=counts,
        passages=_passages(sources, reuse),
    )


def _passages(sources: _Sources, reuse: Sequence[int]) -> Passages:
    """Those of the index before for documents it has, and the rest read now."""
    before = sources.previous.passages if sources.previous is not None else None
    if before is None:
        told = _reporting_progress(
            [view.shown for view in sources.views], "reading sentences", sources.tick
        )
        return passages_of(told, sources.language)
    old = np.array(reuse, np.int64)
    fresh = np.flatnonzero(old < 0)
    kept = np.flatnonzero(old >= 0)
    read = passages_of((sources.views[row].shown for row in fresh), sources.language)
    both = joined([taken(before, old[kept]), read])
    return taken(both, np.argsort(np.concatenate([kept, fresh]), kind="stable"))


def _reuse(digests: Sequence[str], previous: Index | None) -> list[int]:
    """For each document its row in the index before, or -1."""
    rows = {digest: row for row, digest in enumerate(previous.digests)} if previous else {}
    return [rows.get(digest, -1) for digest in digests]


def _reporting_progress(texts: Sequence[T], step: str, tick: Tick) -> Iterable[T]:
    for done, text in enumerate(texts, start=1):
        yield text
        if done % TOLD_EVERY == 0 or done == len(texts):
            tick(step, done, len(texts))


# ── soft ──────────────────────────────────────────────────────────────────────────────────────────


def _build_soft(sources: _Sources) -> Index:
    profile = sources.profile
    views = sources.views
    counts, fields = _counted_views(sources)
    words = lookalikes(counts["main"].vocabulary, sources.language)
    learned: Floats | None = None
    vectors: Floats | None = None
    if profile.encoder == LEARNED:
        learned = word_vectors(counts["main"], words)
        vectors = document_vectors(counts["main"], learned)
    acts = sorted({view.act for view in views})
    number_of = {act: number for number, act in enumerate(acts)}
    return Index(
        profile=profile,
        ids=sources.ids,
        digests=sources.digests,
        fields=fields,
        counts=counts,
        soft={name: SoftView(counted) for name, counted in counts.items()},
        words=words,
        word_vectors=learned,
        transitional=np.array([view.is_transitional for view in views]),
        acts=acts,
        act_of=np.array([number_of[view.act] for view in views], np.int32),
        sections=[view.section for view in views],
        vectors=vectors,
    )


def _counted_views(sources: _Sources) -> tuple[dict[str, Counts], dict[str, Bm25]]:
    """The words of each view that has any, over one vocabulary, and postings of its n-grams."""
    views = sources.views
    texts = {
        # a word of the title counts twice
        "main": [f"{view.title} {view.title} {view.body}" for view in views],
        "title": [view.title for view in views],
        "tags": [view.tags for view in views],
        "section": section_texts(views),
    }
    vocabulary: list[str] = []
    counts: dict[str, Counts] = {}
    fields: dict[str, Bm25] = {}
    for name, view_texts in texts.items():
        if name == "main" or any(text.strip() for text in view_texts):
            # a view begins with the words of the views before it, so that numbers stay the same
            counts[name] = count_terms(view_texts, sources.language.words, no_counts(vocabulary))
            vocabulary = counts[name].vocabulary
            in_grams = count_terms(view_texts, sources.language.terms)
            fields[f"{name}.grams"] = bm25(in_grams, k1=GRAM_K1, b=GRAM_B)
    whole = {
        name: Counts(vocabulary, counted.offsets, counted.terms, counted.frequencies)
        for name, counted in counts.items()
    }
    return whole, fields


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────


def _to_encode(sources: _Sources, index: Index) -> Draft:
    """The vectors of the index before are taken over for documents that it has."""
    encoder = sources.profile.encoder
    before = sources.previous
    is_same = before is not None and before.profile.encoder == encoder
    kept = before.vectors if before is not None and is_same else None
    reuse = np.array(_reuse(sources.digests, before if kept is not None else None), np.int64)
    fresh = np.flatnonzero(reuse < 0)
    vectors = None
    if kept is not None:
        vectors = np.zeros((len(reuse), kept.shape[1]), np.float32)
        vectors[reuse >= 0] = kept[reuse[reuse >= 0]]
    texts = [sources.views[row].dense for row in fresh]
    return Draft(index=index, encoder=encoder, fresh=fresh, texts=texts, vectors=vectors)


def vectors_of(made: Draft, keep: Path | None, tick: Tick) -> Floats | None:
    """All vectors of a draft; `keep` as in encoding.py. None where it has no encoder."""
    if not made.encoder:
        return made.index.vectors
    if made.vectors is not None and not len(made.fresh):
        return made.vectors
    fresh = encoded(made.encoder, made.texts, keep, partial(tick, "encoding"))
    if made.vectors is None:
        return fresh
    if fresh.shape[1] != made.vectors.shape[1]:
        raise EngineError(
            f"{made.encoder} gives {fresh.shape[1]} numbers a text, before "
            f"{made.vectors.shape[1]}: another model; "
            "`assay index NAME --fresh` encodes everything again"
        )
    vectors = made.vectors.copy()
    vectors[made.fresh] = fresh
    return vectors

"""The loader of a corpus into an external store: the terms of Assay's analysis with their BM25
impacts, and the vectors of the corpus's index.

The documents are read twice: once to count how many documents have a term and how long the fields
are, once to load them. So a corpus need not fit in memory; the vectors are those of the index,
which are memory-mapped."""

from __future__ import annotations

import base64
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core.errors import InputError
from assay.corpus.disk import Corpus
from assay.corpus.lookup import corpus_named
from assay.engines.external_ranking import ExternalStore, LoadedCorpus, LoadedDocument
from assay.engines.indexed import index_folder, open_indexed
from assay.language.analysis import analyzer, grams
from assay.search import index_files
from assay.search.index import GRAM_B, GRAM_K1, Index, letters_of
from assay.search.lexical import MOST_COUNTED
from assay.search.profile import Profile
from assay.search.views import View, section_texts, view_of

BATCH = 256  # documents in one request; chosen
# vectors that stand for all where the median of their similarity is needed (taste)
SAMPLED_VECTORS = 128
Tick = Callable[[str, int, int], None]  # (what, done, of)
Terms = dict[str, list[str]]


class LoadReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of loading a corpus into an engine."""

    corpus: str
    engine: str
    documents: int
    fields: tuple[str, ...]
    encoder: str
    dimensions: int


@dataclass
class _FieldCounts:
    """The counts of a field: documents by term, documents that have the field, and its length."""

    holding: Counter[str] = field(default_factory=Counter)
    filled: int = 0
    length: int = 0


def load_corpus(
    name: str,
    store: ExternalStore,
    *,
    engine: str,
    home: Path | None = None,
    tick: Tick = lambda what, done, of: None,
    say: Callable[[str], None] = lambda text: None,
) -> LoadReport:
    """Load a corpus into a store; its index is built first if it is missing or outdated."""
    open_indexed(name, home=home, tick=tick, say=say)
    corpus = corpus_named(name, home)
    index = index_files.load(index_folder(corpus, home), corpus.fingerprint)
    if index.awaited:
        raise InputError(
            f"the vectors of {corpus.name} are still being computed",
            hint=f"Finish them first: assay index {corpus.name}",
        )
    _refuse_others(store, engine)
    vectors = index.vectors
    counted = _count_fields(corpus, index.profile, tick)
    about = _manifest(corpus, index, tuple(counted), vectors)
    store.begin(about)
    of = len(corpus)
    documents = _documents(corpus, index.profile, counted, vectors)
    done = 0
    while batch := list(itertools.islice(documents, BATCH)):
        store.add(batch)
        done += len(batch)
        tick("loading", done, of)
    store.finish(msgspec.structs.replace(about, ready=True))
    return LoadReport(
        corpus=corpus.name,
        engine=engine,
        documents=of,
        fields=about.fields,
        encoder=index.profile.encoder if vectors is not None else "",
        dimensions=about.dimensions,
    )


def _refuse_others(store: ExternalStore, engine: str) -> None:
    """Refuse to replace what Assay did not load."""
    if not store.exists() or store.about() is not None:
        return
    noun, name, key = store.target()
    article = "an" if noun == "index" else "a"
    raise InputError(
        f"there is {article} {noun} {name!r} already, and it was not loaded from here",
        where=f"engines.{engine}.{key}",
        hint=f"Name another {noun}: it is created, and recreated each time.",
    )


def _manifest(corpus: Corpus, index: Index, fields: tuple[str, ...], vectors: Any) -> LoadedCorpus:
    sample = ""
    if vectors is not None:
        order = np.random.default_rng(0).permutation(len(vectors))[:SAMPLED_VECTORS]
        chosen = np.asarray(vectors[np.sort(order)], np.float16)
        sample = base64.b64encode(chosen.tobytes()).decode()
    return LoadedCorpus(
        corpus=corpus.name,
        fingerprint=corpus.fingerprint,
        documents=len(corpus),
        profile=index.profile,
        fields=fields,
        dimensions=0 if vectors is None else int(vectors.shape[1]),
        sample=sample,
    )


def _count_fields(corpus: Corpus, profile: Profile, tick: Tick) -> dict[str, _FieldCounts]:
    fields: dict[str, _FieldCounts] = {}
    of = len(corpus)
    for done, terms in enumerate(_terms(_views(corpus, profile), profile), start=1):
        for name, words in terms.items():
            counted = fields.setdefault(name, _FieldCounts())
            counted.holding.update(set(words))
            counted.filled += 1
            counted.length += len(words)
        if done % BATCH == 0 or done == of:
            tick("counting", done, of)
    return fields


def _documents(
    corpus: Corpus, profile: Profile, counted: dict[str, _FieldCounts], vectors: Any
) -> Iterator[LoadedDocument]:
    every = zip(corpus.iter(), _terms(_views(corpus, profile), profile), strict=True)
    for number, (document, terms) in enumerate(every):
        yield LoadedDocument(
            row=number,
            doc_id=document.id,
            title=document.title,
            text=document.text,
            terms=terms,
            impacts={
                f"{name}:{term}": impact
                for name, words in terms.items()
                for term, impact in _impacts(words, counted[name], profile)
            },
            vector=None if vectors is None else np.asarray(vectors[number], np.float32),
        )


def _impacts(
    words: list[str], counted: _FieldCounts, profile: Profile
) -> Iterator[tuple[str, float]]:
    """The BM25 impact of each term of a document, as bm25() of lexical.py computes it."""
    soft = profile.kind != "stems"
    k1, b = (GRAM_K1, GRAM_B) if soft else (profile.k1, profile.b)
    norm = k1 * (1 - b + b * len(words) * counted.filled / max(counted.length, 1))
    for term, times in Counter(words).items():
        holding = counted.holding[term]
        idf = math.log1p((counted.filled - holding + 0.5) / (holding + 0.5))
        frequency = min(times, MOST_COUNTED)
        yield term, idf * frequency * (k1 + 1) / (frequency + norm)


# ── fields ────────────────────────────────────────────────────────────────────────────────────────


def _views(corpus: Corpus, profile: Profile) -> Iterable[tuple[View, str]]:
    """Each document as the index sees it; for short texts with the text of its whole section, for
    which all views are held in memory."""
    if profile.kind == "stems":
        return ((view_of(document), "") for document in corpus.iter())
    views = [view_of(document) for document in corpus.iter()]
    parts = [(view.group, view.title, view.body) for view in views]
    return zip(views, section_texts(parts), strict=True)


def _terms(views: Iterable[tuple[View, str]], profile: Profile) -> Iterator[Terms]:
    """The terms of each field that is not empty, from the same texts as the index has."""
    language = analyzer(profile.language)
    for view, section in views:
        if profile.kind != "stems":
            texts = {
                "main": f"{view.title} {view.title} {view.body}",
                "title": view.title,
                "tags": view.tags,
                "section": section,
            }
            terms = {f"{name}.grams": language.terms(text) for name, text in texts.items()}
        else:
            full = f"{view.title} {view.body}"
            terms = {"full": language.terms(full)}
            if profile.weights.get("short"):
                terms["short"] = language.terms(view.short)
            if profile.weights.get("characters"):
                terms["characters"] = grams(letters_of(full), language.gram)
        yield {name: words for name, words in terms.items() if words}

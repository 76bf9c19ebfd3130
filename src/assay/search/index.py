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

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import msgspec
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
from assay.language.finnish import irregular_forms, lemma_of_all
from assay.search.act_names import by_act
from assay.search.arrays import Array, Floats, offsets_of
from assay.search.dense import named_encoder
from assay.search.document_questions import Asked, Written, asked_of
from assay.search.encoding import encoded
from assay.search.fuzzy_bm25 import Lookalikes, SoftView, lookalikes
from assay.search.lexical import Bm25, Counts, TermCounter, count_terms, joined_counts, no_counts
from assay.search.postings import Inverter, bm25
from assay.search.profile import REPORTS, ROWS, Profile, choose, read_alike, with_encoder
from assay.search.reports.fields import Marked, is_row, marked, page_texts
from assay.search.reports.passages import Said, said_in
from assay.search.sentence_index import Passages, joined, passages_of, taken
from assay.search.views import Parts, View, body_length, section_starts, section_texts, view_of
from assay.search.windows import LONG, SHARE, Windows, cut, later_parts, window_offsets

VIEWS = {"main": 1.0, "title": 0.3, "tags": 0.5, "section": 0.3}  # soft views and what each counts
GRAM_K1 = 1.2  # BM25 over the n-grams of a view
GRAM_B = 0.6
TOGETHER = 3  # documents of one title, on average, from which on a title is the name of a work
BLOCK = 2_000  # documents read at a time
SAMPLE = 200  # documents that the language is told from
Tick = Callable[[str, int, int], None]  # (what, done, of)
_RUNS = re.compile(r"[^\W_]+")
_ASCII_RUNS = re.compile(r"[a-z0-9]+")


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
    marks: list[str] = field(default_factory=list)  # of each document of a report
    passages: Passages | None = None  # of longer texts
    said: Said | None = None  # of the prose of reports
    windows: Windows | None = None  # where many documents are long
    works: list[str] = field(default_factory=list)  # names that several documents share: titles
    work_of: Array = field(default_factory=lambda: np.empty(0, np.int32))
    asked: Asked | None = None  # questions that were written for documents
    awaited: str = ""  # the encoder whose vectors are still missing
    is_older: bool = False  # built by a version that read texts in another way

    @cached_property
    def row_of(self) -> dict[str, int]:
        return {doc_id: row for row, doc_id in enumerate(self.ids)}

    @cached_property
    def section_starts(self) -> Array:
        return section_starts(self.sections, self.act_of, len(self))

    @cached_property
    def act_names(self) -> list[list[str]]:
        """Of each act the words of its name, as lemmas."""
        return [self.lemmas(act) for act in self.acts]

    @cached_property
    def act_is_asked(self) -> Array:
        """Whether questions were written for documents of an act, for each act."""
        written = np.zeros(max(1, len(self.acts)), np.bool_)
        if self.asked is not None:
            written[self.act_of[self.asked.documents]] = True
        return written

    @cached_property
    def marked(self) -> Marked:
        return marked(self.marks)

    @property
    def analyzer(self) -> Analyzer:
        return analyzer(self.profile.language)

    def lemma(self, word: str) -> str:
        return self.analyzer.lemma(word) if self.words is None else self.words.lemma(word)

    def lemmas(self, text: str) -> list[str]:
        """Of the words of a text, each once."""
        return list(dict.fromkeys(map(self.lemma, self.analyzer.words(text))))

    def __len__(self) -> int:
        return len(self.ids)


def is_citation(term: str) -> bool:
    return English.is_citation(term)


def letters_of(text: str) -> list[str]:
    """The words of a text as runs of letters and digits, for character n-grams."""
    lower = text.lower()
    return (_ASCII_RUNS if lower.isascii() else _RUNS).findall(lower)


def question_terms(profile: Profile, text: str) -> list[str]:
    """The n-grams by which questions are compared with one another."""
    language = analyzer(profile.language)
    if profile.kind == "stems":
        return grams(letters_of(text), language.gram)
    return language.terms(text)


def with_questions(index: Index, ships: Iterable[Written], given: Iterable[Written]) -> Index:
    """The index with questions that were written for its documents: those that ship with the
    package and those of a file."""
    terms_of = partial(question_terms, index.profile)
    asked = asked_of(index.ids, ships, given, terms_of)
    if asked is not None and index.profile.encoder:
        vectors = named_encoder(index.profile.encoder).queries(asked.texts)
        asked = replace(asked, vectors=vectors.astype(np.float16))
    return replace(index, asked=asked)


Pairs = Iterable[tuple[Document, str]]  # documents with their digests


@dataclass(frozen=True, kw_only=True)
class _Sources:
    """What an index is built from: the profile, the documents, and what an index before has."""

    profile: Profile
    pairs: Pairs
    size: int
    previous: Index | None
    tick: Tick
    spill: Path | None

    @property
    def language(self) -> Analyzer:
        return analyzer(self.profile.language)

    def views(self) -> Iterator[tuple[list[View], list[str]]]:
        """Documents and their digests, some at a time."""
        has_encoder = bool(self.profile.encoder)
        is_report = self.profile.kind == ROWS
        pairs = iter(self.pairs)
        done = 0
        while block := list(islice(pairs, BLOCK)):
            yield (
                [view_of(document, dense=has_encoder, report=is_report) for document, _ in block],
                [digest for _, digest in block],
            )
            done += len(block)
            self.tick("reading", done, self.size)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An index that can be searched by words, and what is left to encode: the texts of the rows
    `fresh`, documents and then windows; the others have `vectors` already."""

    index: Index
    encoder: str = ""
    fresh: Array = field(default_factory=lambda: np.empty(0, np.int64))
    texts: Sequence[Parts] = ()
    vectors: Floats | None = None


def build(
    documents: Pairs,
    *,
    dense: bool = True,
    encoder: str = "",
    previous: Index | None = None,
    tick: Tick = lambda what, done, of: None,
) -> Index:
    """An index of (document, digest) pairs, with the encoder that suits it or another one. Raises
    InputError on an empty corpus."""
    made = draft(documents, dense=dense, encoder=encoder, previous=previous, tick=tick)
    return with_vectors(made.index, vectors_of(made, None, tick))


def draft(
    documents: Pairs,
    *,
    dense: bool = True,
    encoder: str = "",
    previous: Index | None = None,
    tick: Tick = lambda what, done, of: None,
    spill: Path | None = None,
) -> Draft:
    """All of an index but the vectors that must be encoded for it. Documents are gone through
    twice: what kind of collection it is, and then what is in it. `spill` is a folder for what is
    too large for memory; postings of longer texts stay there until the index is saved."""
    pairs = list(documents) if isinstance(documents, Iterator) else documents
    profile, size = _profile(document for document, _ in pairs)
    if encoder or not dense:
        profile = with_encoder(profile, encoder if dense else "")
    is_usable = previous is not None and read_alike(previous.profile, profile)
    sources = _Sources(
        profile=profile,
        pairs=pairs,
        size=size,
        previous=previous if is_usable else None,
        tick=tick,
        spill=spill,
    )
    return _draft_stems(sources) if profile.kind == "stems" else _draft_soft(sources)


def _profile(documents: Iterable[Document]) -> tuple[Profile, int]:
    """The profile that suits them, and how many they are."""
    stated: Counter[str] = Counter()
    sample: list[str] = []
    size = characters = asked = rows = long = 0
    for document in documents:
        if document.language.strip():
            stated[language_code(document.language)] += 1
        if len(sample) < SAMPLE:
            view = view_of(document, dense=False)
            sample.append(f"{view.title} {view.body}"[:2_000])
        characters += body_length(document)
        long += body_length(document) > LONG
        asked += any(document.fields.get(name) for name in ("question", "question_synthetic"))
        rows += is_row(document)
        size += 1
    if not size:
        raise InputError("the corpus has no documents", hint="Import documents first.")
    language = detect(sample)
    if stated:
        most = min(stated, key=lambda code: (-stated[code], code))
        language = most if not is_foreign(" ".join(sample), most) else language
    profile = choose(
        language, characters / size, size, opinions=asked > size / 2, reports=rows > size / 4
    )
    if profile.kind != ROWS and asked <= size / 2 and long >= SHARE * size:
        profile = msgspec.structs.replace(profile, windows=True)
    return profile, size


# ── stems ─────────────────────────────────────────────────────────────────────────────────────────


def _draft_stems(sources: _Sources) -> Draft:
    """A block of documents at a time: what is kept of it are numbers."""
    profile = sources.profile
    before = sources.previous
    reading = _Reading(sources)
    ids: list[str] = []
    digests: list[str] = []
    texts: list[Parts] = []
    shown: list[Passages] = []
    sections: list[str] = []
    of_acts: list[str] = []
    titles: list[str] = []
    later: list[Parts] = []
    known = {digest: row for row, digest in enumerate(before.digests)} if before else {}
    for views, own_digests in sources.views():
        reuse = np.array([known.get(digest, -1) for digest in own_digests], np.int64)
        reading.count(views, reuse)
        shown.append(_passages(views, reuse, before.passages if before else None))
        ids += [view.id for view in views]
        digests += own_digests
        texts += [view.dense for view in views] if profile.encoder else []
        sections += [view.section for view in views]
        of_acts += [view.act for view in views]
        titles += [view.title for view in views]
        later += reading.count_windows(views)
    index = Index(
        profile=profile,
        ids=ids,
        digests=digests,
        fields=reading.fields(),
        counts=reading.counts(),
        passages=joined(shown),
        windows=reading.windows(),
    )
    if any(sections):
        acts, act_of = by_act(of_acts)
        index = replace(index, sections=sections, acts=acts, act_of=act_of)
    return _to_encode(sources, _with_works(index, titles), texts, later)


class _Reading:
    """The fields of longer texts, while documents are read."""

    def __init__(self, sources: _Sources) -> None:
        self._profile = sources.profile
        self._before = sources.previous.counts if sources.previous is not None else {}
        english = English()
        names = ["full", *(["short"] if self._profile.short else [])]
        self._counters = {
            name: TermCounter(
                english.tokens,
                english.token_terms,
                self._before[name].vocabulary if name in self._before else (),
            )
            for name in names
        }
        self._forward: dict[str, list[Counts]] = {name: [] for name in names}
        if self._profile.characters:
            self._counters["characters"] = TermCounter(
                letters_of, lambda word: grams([word], english.gram)
            )
        self._inverters = {name: Inverter(sources.spill, name) for name in self._counters}
        self._sizes: list[int] = []  # how many windows each document has
        self._window = TermCounter(english.tokens, english.token_terms)
        self._windows = Inverter(sources.spill, "window")

    def count_windows(self, views: Sequence[View]) -> list[Parts]:
        """Count the windows of the next documents; what the encoder reads of them."""
        if not self._profile.windows:
            return []
        cuts = [cut(view.body) for view in views]
        self._sizes += map(len, cuts)
        self._windows.add(self._window.count([text for texts in cuts for text in texts]))
        pairs = zip(views, cuts, strict=True)
        return [part for view, texts in pairs for part in later_parts(view, texts)]

    def windows(self) -> Windows | None:
        if not self._profile.windows:
            return None
        k1, b = self._profile.k1, self._profile.b
        postings = self._windows.bm25(list(self._window.numbers), k1=k1, b=b)
        return Windows(offsets=offsets_of(self._sizes), postings=postings)

    def count(self, views: Sequence[View], reuse: Array) -> None:
        texts = {"full": [f"{view.title} {view.body}" for view in views]}
        texts["short"] = [view.short for view in views]
        texts["characters"] = texts["full"]
        for name, counter in self._counters.items():
            before = self._before.get(name) if name in self._forward else None
            counted = counter.count(texts[name], reuse.tolist(), before)
            self._inverters[name].add(counted)
            if name in self._forward:
                self._forward[name].append(counted)

    def _vocabulary(self, name: str) -> list[str]:
        return list(self._counters[name].numbers)

    def _has(self, name: str) -> bool:
        """Every collection has a full text; another field only where some document has one."""
        return name == "full" or any(len(block.terms) for block in self._forward.get(name, ()))

    def fields(self) -> dict[str, Bm25]:
        k1, b = self._profile.k1, self._profile.b
        return {
            name: inverter.bm25(self._vocabulary(name), k1=k1, b=b)
            for name, inverter in self._inverters.items()
            if name == "characters" or self._has(name)
        }

    def counts(self) -> dict[str, Counts]:
        return {
            name: joined_counts(self._vocabulary(name), blocks)
            for name, blocks in self._forward.items()
            if self._has(name)
        }


def _passages(views: Sequence[View], reuse: Array, before: Passages | None) -> Passages:
    """Those of the index before for documents it has, and the rest read now."""
    if before is None:
        return passages_of((view.shown for view in views), English())
    fresh = np.flatnonzero(reuse < 0)
    kept = np.flatnonzero(reuse >= 0)
    read = passages_of((views[int(row)].shown for row in fresh), English())
    both = joined([taken(before, reuse[kept]), read])
    return taken(both, np.argsort(np.concatenate([kept, fresh]), kind="stable"))


def _reuse(digests: Sequence[str], previous: Index | None) -> list[int]:
    """For each document its row in the index before, or -1."""
    rows = {digest: row for row, digest in enumerate(previous.digests)} if previous else {}
    return [rows.get(digest, -1) for digest in digests]


# ── soft ──────────────────────────────────────────────────────────────────────────────────────────


def _draft_soft(sources: _Sources) -> Draft:
    profile = sources.profile
    views: list[View] = []
    digests: list[str] = []
    for own_views, own_digests in sources.views():
        views += own_views
        digests += own_digests
    is_report = profile.kind == ROWS
    texts = _report_texts(views) if is_report else _view_texts(views)
    cuts = [cut(view.body) for view in views] if profile.windows else []
    if cuts:
        texts["window"] = [text for own in cuts for text in own]
    counts, fields = _counted_views(texts, sources.language)
    windows = None
    if cuts:
        windows = Windows(
            offsets=window_offsets(cuts),
            postings=fields.pop("window.grams"),
            counts=counts.pop("window"),
        )
    first = next(iter(counts.values()))
    more = (lemma_of_all, irregular_forms) if is_report and profile.language == "fi" else ()
    words = lookalikes(first.vocabulary, sources.language, *more)
    reports = [view.reported for view in views]
    may_say = is_report and profile.encoder == REPORTS.encoder  # others take long, or cost
    acts, act_of = by_act([view.act for view in views])
    index = Index(
        profile=profile,
        ids=[view.id for view in views],
        digests=digests,
        fields=fields,
        counts=counts,
        soft={name: SoftView(counted) for name, counted in counts.items()},
        words=words,
        transitional=np.array([view.is_transitional for view in views]),
        acts=acts,
        act_of=act_of,
        sections=[] if is_report else [view.section for view in views],
        marks=[view.reported.marks for view in views if view.reported],
        said=said_in(reports, profile.encoder) if may_say else None,
        windows=windows,
    )
    pairs = zip(views, cuts, strict=True) if cuts else ()
    later = [part for view, own in pairs for part in later_parts(view, own)]
    if not is_report:
        index = _with_works(index, [view.title for view in views])
    return _to_encode(sources, index, [view.dense for view in views], later)


def _with_works(index: Index, titles: Sequence[str]) -> Index:
    """The index with the titles that its documents share, where most do and they are of no act:
    passages of one contract have its name."""
    if any(index.sections) or len(titles) < TOGETHER * len(set(titles)):
        return index
    works, work_of = by_act(titles)
    return replace(index, works=works, work_of=work_of)


def _view_texts(views: Sequence[View]) -> dict[str, list[str]]:
    return {
        # a word of the title counts twice
        "main": [f"{view.title} {view.title} {view.body}" for view in views],
        "title": [view.title for view in views],
        "tags": [view.tags for view in views],
        "section": section_texts(views),
    }


def _report_texts(views: Sequence[View]) -> dict[str, list[str]]:
    reports = [view.reported for view in views if view.reported]
    return {
        "label": [report.label for report in reports],
        "context": [report.context for report in reports],
        "body": [report.body for report in reports],
        "page": page_texts(reports),
        "subject": [report.subject for report in reports],
    }


def _counted_views(
    texts: dict[str, list[str]], language: Analyzer
) -> tuple[dict[str, Counts], dict[str, Bm25]]:
    """The words of each view that has any, over one vocabulary, and postings of its n-grams."""
    vocabulary: list[str] = []
    counts: dict[str, Counts] = {}
    fields: dict[str, Bm25] = {}
    for name, view_texts in texts.items():
        if not counts or any(text.strip() for text in view_texts):
            # a view begins with the words of the views before it, so that numbers stay the same
            counts[name] = count_terms(view_texts, language.words, no_counts(vocabulary))
            vocabulary = counts[name].vocabulary
            in_grams = count_terms(view_texts, language.terms)
            fields[f"{name}.grams"] = bm25(in_grams, k1=GRAM_K1, b=GRAM_B)
    whole = {
        name: Counts(vocabulary, counted.offsets, counted.terms, counted.frequencies)
        for name, counted in counts.items()
    }
    return whole, fields


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────


def _to_encode(
    sources: _Sources, index: Index, texts: Sequence[Parts], later: Sequence[Parts]
) -> Draft:
    """The vectors of the index before are taken over for documents that it has. `texts` are those
    of all documents, `later` those of their windows after the first."""
    encoder = sources.profile.encoder
    if index.vectors is not None or not encoder:
        return Draft(index=index)
    before = sources.previous
    kept = None
    is_same = before is not None and before.profile.encoder == encoder and not before.is_older
    if before is not None and is_same:
        kept = all_vectors(before)
    reuse = np.array(_reuse(index.digests, before if kept is not None else None), np.int64)
    if index.windows is not None:
        reuse = np.concatenate([reuse, _reuse_windows(index.windows, reuse, before)])
    fresh = np.flatnonzero(reuse < 0)
    vectors = None
    if kept is not None:
        vectors = np.zeros((len(reuse), kept.shape[1]), np.float32)
        vectors[reuse >= 0] = kept[reuse[reuse >= 0]]
    every = [*texts, *later]
    left = [every[int(row)] for row in fresh]
    return Draft(index=index, encoder=encoder, fresh=fresh, texts=left, vectors=vectors)


def _reuse_windows(windows: Windows, reuse: Array, before: Index | None) -> Array:
    """For each window after the first of its document, its row among all vectors before, or -1."""
    old = before.windows if before is not None else None
    if old is None or before is None or old.vectors is None:
        return np.full(len(windows.later), -1)
    starts = offsets_of(np.diff(old.offsets) - 1)
    own = offsets_of(np.diff(windows.offsets) - 1)
    document = reuse[windows.later]
    place = np.arange(len(windows.later)) - own[windows.later]
    return np.where(document < 0, -1, len(before) + starts[document] + place)


def all_vectors(index: Index) -> Floats | None:
    """Of documents, then of their windows after the first."""
    if index.vectors is None or index.windows is None or index.windows.vectors is None:
        return index.vectors
    return np.concatenate([index.vectors, index.windows.vectors])


def with_vectors(index: Index, vectors: Floats | None) -> Index:
    """The index with vectors as `all_vectors` gives them."""
    if vectors is None or index.windows is None or len(vectors) == len(index):
        return replace(index, vectors=vectors)
    windows = replace(index.windows, vectors=vectors[len(index) :])
    return replace(index, vectors=vectors[: len(index)], windows=windows)


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

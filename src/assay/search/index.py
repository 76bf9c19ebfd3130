"""The index of a corpus in memory, and how it is built from documents.

**What each kind holds.** *Stems*: counts of terms by document (the forward side, kept so that a
changed corpus is not analysed again), BM25 postings made from them, and vectors. *Soft*: up to four
views of each document (its text with its title, its title, its tags, the whole section it stands
in), counted over one vocabulary so that a word of a question is compared with the index words once
for all views; for each view n-grams as well; and of each document its act, section and whether it
is transitional.

**Building** takes over what it can from the index before: rows of counts and vectors of documents
whose digest is the same. Analysis and encoding are nearly all of the work, so that a small change
costs little; postings are made anew, which is quick. `index_files` keeps an index on disk.

**Windows** are stretches of about 200 words. A long document says many things, and what answers a
question is a small part of it. Counted whole, that part drowns, and an encoder reads only the
beginning. So where many documents are long, each is also compared window by window, and its best
window counts beside the whole (Callan 1994, "Passage-Level Evidence in Document Retrieval").
research/ranking.md has what it gives.
"""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

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
from assay.search.arrays import TINY, Array, Floats, cosines, offsets_of
from assay.search.dense import (
    PassageVectors,
    context_size,
    named_encoder,
    vectors_of_passages,
)
from assay.search.document_questions import DocumentQuestions, WrittenQuestions, asked_of
from assay.search.encoding import encoded
from assay.search.fuzzy_bm25 import Lookalikes, SoftView, by_act, lookalikes
from assay.search.lexical import Bm25, Inverter, TermCounter, TermCounts, joined_counts
from assay.search.profile import REPORTS, ROWS, Profile, choose, read_alike, with_encoder
from assay.search.reports.cells import is_row
from assay.search.reports.documents import MarkColumns, ReportTexts, page_texts
from assay.search.sentence_index import Passages, joined, passages_of, taken
from assay.search.views import Parts, View, body_length, section_starts, section_texts, view_of

# set by hand; research/ranking.md, "Long documents by windows", has what windows give
WINDOW_WORDS = 200  # words
MOST_WINDOWS = 60  # windows of one document; the last one has the rest
LONG_TEXT = 2_000  # characters of a text that is long, about 300 words
LONG_SHARE = 0.25  # of documents that are long, from which on a collection has windows
WINDOW_TOKENS = 254  # of a window that the encoder reads: 256 with two marks


@dataclass(frozen=True, kw_only=True)
class Windows:
    """`offsets`: of each document its first window; every document has one. `postings` are of terms
    or n-grams, `counts` of words that look alike; `vectors` are those of every window but the first
    of a document, which the document's own vector stands for."""

    offsets: Array
    postings: Bm25
    counts: TermCounts | None = None
    vectors: Floats | None = None

    @cached_property
    def view(self) -> SoftView:
        assert self.counts is not None
        return SoftView(self.counts)

    @cached_property
    def later(self) -> Array:
        """The document of every window but the first of each."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets) - 1)

    def best(self, values: Array) -> Array:
        """Of each document the best of its windows."""
        return np.asarray(np.maximum.reduceat(values, self.offsets[:-1]))

    def nearest(self, own: Floats, query: Floats) -> Floats:
        """The cosine of each document, by its own vector or by its best window."""
        if self.vectors is None or not len(self.vectors):
            return own
        best = own.copy()
        np.maximum.at(best, self.later, cosines(self.vectors, query))
        return best


def cut(text: str) -> list[str]:
    """Windows of about the same length; a text that is not much longer than one is one."""
    words = text.split()
    count = min(MOST_WINDOWS, max(1, round(len(words) / WINDOW_WORDS)))
    if count == 1:
        return [text]
    ends = [round(number * len(words) / count) for number in range(count + 1)]
    return [" ".join(words[begin:end]) for begin, end in itertools.pairwise(ends)]


def later_parts(view: View, texts: list[str]) -> list[Parts]:
    """What the encoder reads of the windows after the first: the title and the window."""
    return [
        msgspec.structs.replace(
            view.dense,
            texts=((f"{view.title} {text}".strip(), WINDOW_TOKENS),),
            most=WINDOW_TOKENS,
            cited="",
        )
        for text in texts[1:]
    ]


# ── the index ─────────────────────────────────────────────────────────────────────────────────────

# soft views and what each counts: chosen on 80 questions, not fitted (research/finnish.md, 5)
VIEWS = {"main": 1.0, "title": 0.3, "tags": 0.5, "section": 0.3}
REPORT_VIEWS = ("label", "context", "body", "page", "subject")
GRAM_K1 = 1.2  # BM25 over the n-grams of a view, the usual value
GRAM_B = 0.6  # BM25; chosen
TOGETHER = 3  # documents of one title, on average, from which on a title names a work (by hand)
BLOCK_DOCUMENTS = 2_000  # documents read at a time (taste)
LANGUAGE_DOCUMENTS = 200  # documents that the language is told from (taste)
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
    counts: dict[str, TermCounts] = field(default_factory=dict)
    soft: dict[str, SoftView] = field(default_factory=dict)
    words: Lookalikes | None = None
    vectors: Floats | None = None
    acts: list[str] = field(default_factory=list)
    act_of: Array = field(default_factory=lambda: np.empty(0, np.int32))
    sections: list[str] = field(default_factory=list)  # of each document, as views.py writes it
    transitional: Array = field(default_factory=lambda: np.empty(0, np.bool_))
    marks: list[str] = field(default_factory=list)  # of each document of a report
    passages: Passages | None = None  # of longer texts
    prose: PassageVectors | None = None  # of reports
    windows: Windows | None = None  # where many documents are long
    works: list[str] = field(default_factory=list)  # names that several documents share: titles
    work_of: Array = field(default_factory=lambda: np.empty(0, np.int32))
    written: WrittenQuestions | None = None  # questions that were written for documents
    awaited: str = ""  # the encoder whose vectors are still missing
    is_older: bool = False  # built by a version that read texts in another way

    @cached_property
    def row_of(self) -> dict[str, int]:
        return {doc_id: row for row, doc_id in enumerate(self.ids)}

    @cached_property
    def has_sections(self) -> bool:
        """Whether some document is a provision."""
        return any(self.sections)

    @cached_property
    def section_starts(self) -> Array:
        return section_starts(self.sections, self.act_of, len(self))

    @cached_property
    def section_norms(self) -> Floats:
        """Of each section the length of the sum of its documents' vectors, of the half that reads
        words in their context."""
        assert self.vectors is not None
        context = self.vectors[:, : context_size(self.profile.encoder)]
        sums = np.add.reduceat(context, self.section_starts, axis=0, dtype=np.float32)
        return np.asarray(np.maximum(np.linalg.norm(sums, axis=1), TINY), np.float32)

    @cached_property
    def act_names(self) -> list[list[str]]:
        """Of each act the words of its name, as lemmas."""
        return [self.lemmas(act) for act in self.acts]

    @cached_property
    def act_has_questions(self) -> Array:
        """Whether questions were written for documents of an act, for each act."""
        written = np.zeros(max(1, len(self.acts)), np.bool_)
        if self.written is not None:
            written[self.act_of[self.written.documents]] = True
        return written

    @cached_property
    def marked(self) -> MarkColumns:
        return MarkColumns(self.marks)

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


def with_questions(
    index: Index, ships: Iterable[DocumentQuestions], given: Iterable[DocumentQuestions]
) -> Index:
    """The index with questions that were written for its documents: those that ship with the
    package and those of a file."""
    terms_of = partial(question_terms, index.profile)
    asked = asked_of(index.ids, ships, given, terms_of)
    if asked is not None and index.profile.encoder:
        vectors = named_encoder(index.profile.encoder).queries(asked.texts)
        asked = replace(asked, vectors=vectors.astype(np.float16))
    return replace(index, written=asked)


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
        while block := list(islice(pairs, BLOCK_DOCUMENTS)):
            yield (
                [view_of(document, dense=has_encoder, report=is_report) for document, _ in block],
                [digest for _, digest in block],
            )
            done += len(block)
            self.tick("reading", done, self.size)


@dataclass(frozen=True, kw_only=True)
class DraftIndex:
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
) -> DraftIndex:
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
    return _draft(sources)


def _profile(documents: Iterable[Document]) -> tuple[Profile, int]:
    """The profile that suits them, and how many they are."""
    stated: Counter[str] = Counter()
    sample: list[str] = []
    size = characters = asked = rows = long = 0
    for document in documents:
        if document.language.strip():
            stated[language_code(document.language)] += 1
        if len(sample) < LANGUAGE_DOCUMENTS:
            view = view_of(document, dense=False)
            sample.append(f"{view.title} {view.body}"[:2_000])
        characters += body_length(document)
        long += body_length(document) > LONG_TEXT
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
    if profile.kind != ROWS and asked <= size / 2 and long >= LONG_SHARE * size:
        profile = msgspec.structs.replace(profile, windows=True)
    return profile, size


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def _draft(sources: _Sources) -> DraftIndex:
    """A block of documents at a time: what is kept of it are numbers, and what is encoded later."""
    profile = sources.profile
    before = sources.previous
    is_stems, is_report = profile.kind == "stems", profile.kind == ROWS
    reading = _Stems(sources) if is_stems else _Views(sources)
    ids: list[str] = []
    digests: list[str] = []
    texts: list[Parts] = []
    later: list[Parts] = []
    shown: list[Passages] = []
    sections: list[str] = []
    of_acts: list[str] = []
    titles: list[str] = []
    transitional: list[bool] = []
    reports: list[ReportTexts | None] = []
    known = {digest: row for row, digest in enumerate(before.digests)} if before else {}
    for views, own_digests in sources.views():
        reuse = np.array([known.get(digest, -1) for digest in own_digests], np.int64)
        reading.count(views, reuse)
        later += reading.count_windows(views)
        if is_stems:
            shown.append(_passages(views, reuse, before.passages if before else None))
        ids += [view.id for view in views]
        digests += own_digests
        texts += [view.dense for view in views] if profile.encoder else []
        sections += [view.section for view in views]
        of_acts += [view.act for view in views]
        titles += [view.title for view in views]
        transitional += [view.is_transitional for view in views]
        reports += [view.reported for view in views] if is_report else []
    reading.finish()
    counts = reading.counts()
    acts, act_of = by_act(of_acts)
    index = Index(
        profile=profile,
        ids=ids,
        digests=digests,
        fields=reading.fields(),
        counts=counts,
        windows=reading.windows(),
        passages=joined(shown) if is_stems else None,
    )
    if not is_stems or any(sections):
        kept = [] if is_report else sections
        index = replace(index, acts=acts, act_of=act_of, sections=kept)
    if not is_stems:
        more = (lemma_of_all, irregular_forms) if is_report and profile.language == "fi" else ()
        may_say = is_report and profile.encoder == REPORTS.encoder  # others take long, or cost
        index = replace(
            index,
            soft={name: SoftView(counted) for name, counted in counts.items()},
            words=lookalikes(next(iter(counts.values())).vocabulary, sources.language, *more),
            transitional=np.array(transitional),
            marks=[report.marks for report in reports if report],
            prose=vectors_of_passages(reports, profile.encoder) if may_say else None,
        )
    if not is_report:
        index = _with_works(index, titles)
    return _to_encode(sources, index, texts, later)


class _Field:
    """One text of every document, while documents are read: the counts of its terms, their
    postings, or both."""

    def __init__(
        self, counter: TermCounter[Any], *, keep: bool = True, inverter: Inverter | None = None
    ) -> None:
        self.counter = counter
        self.is_filled = False
        self.is_kept = keep
        self._inverter = inverter
        self._blocks: list[TermCounts] = []

    def add(
        self, texts: Sequence[Any], reuse: Sequence[int] = (), before: TermCounts | None = None
    ) -> None:
        counted = self.counter.count(texts, reuse, before)
        self.is_filled |= len(counted.terms) > 0
        if self.is_kept:
            self._blocks.append(counted)
        if self._inverter is not None:
            self._inverter.add(counted)

    def counts(self) -> TermCounts:
        return joined_counts(list(self.counter.numbers), self._blocks)

    def postings(self, k1: float, b: float) -> Bm25:
        assert self._inverter is not None
        return self._inverter.bm25(list(self.counter.numbers), k1=k1, b=b)


class _Reading(ABC):
    """The fields of an index, while documents are read."""

    def __init__(self, sources: _Sources) -> None:
        self._profile = sources.profile
        self._spill = sources.spill
        self._sizes: list[int] = []  # how many windows each document has

    def count_windows(self, views: Sequence[View]) -> list[Parts]:
        """Count the windows of the next documents; what the encoder reads of them."""
        if not self._profile.windows:
            return []
        cuts = [cut(view.body) for view in views]
        self._sizes += map(len, cuts)
        self._add_windows([text for own in cuts for text in own])
        pairs = zip(views, cuts, strict=True)
        return [part for view, own in pairs for part in later_parts(view, own)]

    @abstractmethod
    def _add_windows(self, texts: list[str]) -> None:
        """Count the texts of windows."""

    @abstractmethod
    def finish(self) -> None:
        """After the last document."""


class _Stems(_Reading):
    """Longer texts, by stems. Counts of documents that an index before has are taken over."""

    def __init__(self, sources: _Sources) -> None:
        super().__init__(sources)
        self._before = sources.previous.counts if sources.previous is not None else {}
        self._fields = {"full": self._by_stems("full")}
        if self._profile.weights.get("short"):
            self._fields["short"] = self._by_stems("short")
        if self._profile.weights.get("characters"):
            counter = TermCounter(letters_of, lambda word: grams([word], English.gram))
            inverter = Inverter(self._spill, "characters")
            self._fields["characters"] = _Field(counter, keep=False, inverter=inverter)
        self._window = self._by_stems("window", keep=False)

    def _by_stems(self, name: str, *, keep: bool = True) -> _Field:
        english = English()
        known = self._before[name].vocabulary if name in self._before else ()
        counter = TermCounter(english.tokens, english.token_terms, known)
        return _Field(counter, keep=keep, inverter=Inverter(self._spill, name))

    def count(self, views: Sequence[View], reuse: Array) -> None:
        texts = {"full": [f"{view.title} {view.body}" for view in views]}
        texts["short"] = [view.short for view in views]
        texts["characters"] = texts["full"]
        for name, counted in self._fields.items():
            counted.add(texts[name], reuse.tolist(), self._before.get(name))

    def _add_windows(self, texts: list[str]) -> None:
        self._window.add(texts)

    def finish(self) -> None:
        """No field is made of several documents."""

    def _held(self) -> dict[str, _Field]:
        """Every collection has a full text; a short one only where some document has one."""
        return {n: f for n, f in self._fields.items() if n != "short" or f.is_filled}

    def fields(self) -> dict[str, Bm25]:
        k1, b = self._profile.k1, self._profile.b
        return {name: field.postings(k1, b) for name, field in self._held().items()}

    def counts(self) -> dict[str, TermCounts]:
        return {name: field.counts() for name, field in self._held().items() if field.is_kept}

    def windows(self) -> Windows | None:
        if not self._profile.windows:
            return None
        postings = self._window.postings(self._profile.k1, self._profile.b)
        return Windows(offsets=offsets_of(self._sizes), postings=postings)


class _Views(_Reading):
    """Short texts: the words of each view, all over one vocabulary, and their n-grams."""

    def __init__(self, sources: _Sources) -> None:
        super().__init__(sources)
        self._language = sources.language
        self._counter: TermCounter[list[str]] = TermCounter(list)
        names = REPORT_VIEWS if self._profile.kind == ROWS else VIEWS
        self._views = {name: self._view(name) for name in names}
        self._window = self._view("window")
        self._in_sections: list[tuple[str, str, str]] = []  # of documents: section, title, body
        self._reports: list[ReportTexts] = []

    def _view(self, name: str) -> tuple[_Field, _Field]:
        in_grams: TermCounter[list[str]] = TermCounter(list, self._language.token_terms)
        inverter = Inverter(self._spill, f"{name}.grams")
        return _Field(self._counter), _Field(in_grams, keep=False, inverter=inverter)

    def _add(self, view: tuple[_Field, _Field], texts: Iterable[str]) -> None:
        words = [self._language.words(text) for text in texts]
        for counted in view:
            counted.add(words)

    def count(self, views: Sequence[View], reuse: Array) -> None:
        if self._profile.kind == ROWS:
            reports = [view.reported for view in views if view.reported]
            self._reports += reports
            for name in ("label", "context", "body", "subject"):
                self._add(self._views[name], [getattr(report, name) for report in reports])
            return
        # a word of the title counts twice
        main = (f"{view.title} {view.title} {view.body}" for view in views)
        self._add(self._views["main"], main)
        self._add(self._views["title"], [view.title for view in views])
        self._add(self._views["tags"], [view.tags for view in views])
        self._in_sections += [
            (view.group, view.title, view.body) if view.group else ("", "", "") for view in views
        ]

    def _add_windows(self, texts: list[str]) -> None:
        self._add(self._window, texts)

    def finish(self) -> None:
        """Count the view that is made of several documents."""
        if self._profile.kind == ROWS:
            self._add(self._views["page"], page_texts(self._reports))
        else:
            self._add(self._views["section"], section_texts(self._in_sections))

    def _held(self) -> dict[str, tuple[_Field, _Field]]:
        """The views that say something, and the first."""
        first = next(iter(self._views))
        return {n: view for n, view in self._views.items() if n == first or view[0].is_filled}

    def fields(self) -> dict[str, Bm25]:
        held = self._held().items()
        return {f"{name}.grams": in_grams.postings(GRAM_K1, GRAM_B) for name, (_, in_grams) in held}

    def counts(self) -> dict[str, TermCounts]:
        return {name: words.counts() for name, (words, _) in self._held().items()}

    def windows(self) -> Windows | None:
        if not self._profile.windows:
            return None
        words, in_grams = self._window
        postings = in_grams.postings(GRAM_K1, GRAM_B)
        return Windows(offsets=offsets_of(self._sizes), postings=postings, counts=words.counts())


def _passages(views: Sequence[View], reuse: Array, before: Passages | None) -> Passages:
    """Those of the index before for documents it has, and the rest read now."""
    if before is None:
        return passages_of((view.shown for view in views), English())
    fresh = np.flatnonzero(reuse < 0)
    kept = np.flatnonzero(reuse >= 0)
    read = passages_of((views[int(row)].shown for row in fresh), English())
    both = joined([taken(before, reuse[kept]), read])
    return taken(both, np.argsort(np.concatenate([kept, fresh]), kind="stable"))


def _with_works(index: Index, titles: Sequence[str]) -> Index:
    """The index with the titles that its documents share, where most do and they are of no act:
    passages of one contract have its name. What most documents are called is no name of a work, but
    of a court or a firm."""
    most = max(Counter(titles).values(), default=0)
    is_shared = len(titles) >= TOGETHER * len(set(titles)) and 2 * most <= len(titles)
    if index.has_sections or not is_shared:
        return index
    works, work_of = by_act(titles)
    return replace(index, works=works, work_of=work_of)


def _reuse(digests: Sequence[str], previous: Index | None) -> list[int]:
    """For each document its row in the index before, or -1."""
    rows = {digest: row for row, digest in enumerate(previous.digests)} if previous else {}
    return [rows.get(digest, -1) for digest in digests]


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────


def _to_encode(
    sources: _Sources, index: Index, texts: Sequence[Parts], later: Sequence[Parts]
) -> DraftIndex:
    """The vectors of the index before are taken over for documents that it has. `texts` are those
    of all documents, `later` those of their windows after the first."""
    encoder = sources.profile.encoder
    if index.vectors is not None or not encoder:
        return DraftIndex(index=index)
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
    return DraftIndex(index=index, encoder=encoder, fresh=fresh, texts=left, vectors=vectors)


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


def vectors_of(made: DraftIndex, keep: Path | None, tick: Tick) -> Floats | None:
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
            f"{made.encoder} returns vectors of {fresh.shape[1]} numbers, but the index has "
            f"{made.vectors.shape[1]}, so the model is another one; "
            "`assay index NAME --fresh` encodes everything again"
        )
    vectors = made.vectors.copy()
    vectors[made.fresh] = fresh
    return vectors

"""Assay's ranking on an external store: PostgreSQL, Qdrant or OpenSearch holds the terms and the
vectors, and the signals are fused here as search/signals.py fuses them.

**The store** finds the best documents of one signal: the inner product of a sparse vector, in which
each term of a document has its BM25 impact (OpenSearch counts the terms itself), or the similarity
of a vector. It also gives that value for documents that are named.

**Fusion.** The best `DEPTH` documents of every signal are the candidates. Each gets its value of
every signal from the store, scaled to the query's best document and summed with the weights of the
profile. So the order among candidates is that of Assay's own index, and a document is lost only if
no signal has it among its best. The median of all similarities, which one profile needs, is that of
a sample that is kept with the collection.

**Only on Assay's own index:** spelling of unknown words, scores that mean a probability and
abstaining; and for short texts in inflected languages similar words, the thesaurus, and sections
that a query names."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from assay.core import plugins
from assay.core.errors import EngineError, InputError
from assay.core.types import Hit, SearchEngine
from assay.engines.stores.vector_store import query_vector
from assay.language.analysis import analyzer, grams
from assay.search.arrays import TINY, Doubles, Floats
from assay.search.index import VIEWS, is_citation, letters_of
from assay.search.profile import Profile
from assay.search.signals import FEEDBACK_HITS, FIRST_DENSE, TEMPERATURE, spread, to_best

OURS = "assay"  # the value of `ranking` in a table
FORMAT = 1  # of a loaded corpus: another one must be loaded again
DEPTH = 200  # candidates of one signal; chosen, docs/measured/stores-quality.csv has the effect
DENSE = "dense"
MAX_QUERY = 20_000  # characters of a query that are read, as in search/engine.py

TermWeights = Mapping[str, float]  # "field:term" -> weight in the query
RowValues = dict[int, float]  # row -> the value of a signal
EXTERNAL_STORES = plugins.PluginKind(
    name="engine to load a corpus into",
    group="assay.carriers",
    built_in={
        "postgres": "assay.engines.postgres:PostgresCorpus",
        "qdrant": "assay.engines.stores.qdrant:QdrantStore",
        "milvus": "assay.engines.stores.deprecated:MilvusStore",
        "opensearch": "assay.engines.stores.opensearch:OpenSearchCorpus",
    },
)


class LoadedCorpus(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a loaded corpus. It is kept in the store, so that a search needs nothing
    but the store's address."""

    format: int = FORMAT
    ready: bool = False
    corpus: str
    fingerprint: str
    documents: int
    profile: Profile
    fields: tuple[str, ...]
    dimensions: int = 0
    sample: str = ""  # vectors in float16, in base64


class LoadedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document to load: its terms by field, and the BM25 impact of each term."""

    row: int
    doc_id: str
    title: str
    text: str
    terms: dict[str, list[str]]
    impacts: dict[str, float]  # "field:term" -> BM25 impact
    vector: Any = None


class ExternalStore(Protocol):
    """A store that a corpus is loaded into and searched in."""

    def target(self) -> tuple[str, str, str]:
        """What is loaded into: the word for it, its name, and the key of the table that says so."""

    def exists(self) -> bool:
        """Whether the target exists, loaded by Assay or not."""

    def begin(self, about: LoadedCorpus) -> None:
        """Create the target, empty, in place of one that exists."""

    def add(self, documents: Sequence[LoadedDocument]) -> None: ...
    def finish(self, about: LoadedCorpus) -> None: ...
    def about(self) -> LoadedCorpus | None: ...

    def best(
        self, field: str, terms: TermWeights, depth: int, among: Sequence[int] | None = None
    ) -> RowValues:
        """The best rows by the terms of one field, best first, or the values of the rows `among`
        which to look."""

    def nearest(
        self, vector: Floats, depth: int, among: Sequence[int] | None = None
    ) -> RowValues: ...

    def vectors(self, rows: Sequence[int]) -> Mapping[int, Sequence[float]]: ...

    def names(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """The id and the title of each row."""


def external_store(kind: str, name: str, table: Any) -> ExternalStore:
    """The store of this kind that the table of an engine describes."""
    if not plugins.is_known(EXTERNAL_STORES, kind):
        known = ", ".join(plugins.names(EXTERNAL_STORES))
        raise InputError(
            f"nothing can be loaded into an engine of the kind {kind or 'that it is'}",
            where=f"engines.{name}",
            hint=f"Known: {known}.",
        )
    make: Callable[[str, Any], ExternalStore] = plugins.load(EXTERNAL_STORES, kind)
    return make(name, table)


def own_or_external_ranking(kind: str, own: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """The maker of an engine: the store's `own` search, or with `ranking = "assay"` Assay's ranking
    on what `assay index --into` loaded."""

    def make(name: str, table: Any) -> Any:
        if table.ranking != OURS:
            return own(name, table)
        return ExternalRankingEngine(name, external_store(kind, name, table))

    return make


def check_ranking(ranking: str) -> tuple[str, str] | None:
    """The mistake in the key `ranking` of a table, if there is one."""
    if ranking in ("", OURS):
        return None
    return "ranking", f"{ranking!r} is not {OURS!r}: leave it out for the store's own"


class ExternalRankingEngine(SearchEngine):
    """The engine that ranks the documents of an external store as Assay's own index would."""

    def __init__(self, name: str, store: ExternalStore) -> None:
        self._name = name
        self._store = store
        self._about: LoadedCorpus | None = None

    def name(self) -> str:
        return self._name

    def search(self, query: str, top_k: int = 20) -> list[Hit]:
        text = " ".join(query[:MAX_QUERY].replace("\0", " ").split())
        if not text or top_k < 1:
            return []
        fusion = _Fusion(self._store, self._loaded(), max(DEPTH, top_k))
        rows, scores = fusion.ranked(text)
        best = [at for at in np.argsort(-scores, kind="stable")[:top_k] if scores[at] > 0]
        names = self._store.names([rows[at] for at in best]) if best else {}
        return [
            Hit(doc_id=names[rows[at]][0], title=names[rows[at]][1], score=float(scores[at]))
            for at in best
            if rows[at] in names
        ]

    def _loaded(self) -> LoadedCorpus:
        if self._about is None:
            about = self._store.about()
            if about is None or not about.ready or about.format != FORMAT:
                why = "nothing was loaded into it" if about is None else "loading was not finished"
                raise EngineError(
                    f"{self._name}: {why}; load a corpus: assay index NAME --into {self._name}"
                )
            self._about = about
        return self._about


class _Signal:
    """One signal of a query: the values that the store has given so far, by row."""

    def __init__(
        self, find: Callable[[int, Sequence[int] | None], RowValues], depth: int, *, sparse: bool
    ) -> None:
        self._find = find
        self.values = find(depth, None)
        # by terms, rows beyond a list that is not full have none of them
        self._is_complete = sparse and len(self.values) < depth
        self._known = set(self.values)

    def of(self, rows: Sequence[int]) -> Doubles:
        """The value of each row. No row is asked for twice."""
        missing = [row for row in rows if row not in self._known]
        if missing and not self._is_complete:
            self.values |= self._find(len(missing), missing)
        self._known.update(missing)
        return np.array([self.values.get(row, 0.0) for row in rows])


class _Fusion:
    """The signals of one query on one collection, and their weighted sum."""

    def __init__(self, store: ExternalStore, about: LoadedCorpus, depth: int) -> None:
        self._store = store
        self._about = about
        self._depth = depth
        self._language = analyzer(about.profile.language)

    def ranked(self, text: str) -> tuple[list[int], Doubles]:
        """The candidates in the order of their rows, and the score of each."""
        vector = None
        if self._about.dimensions:
            vector = np.array(query_vector(self._about.profile.encoder, text), np.float32)
        by_stems = self._about.profile.kind == "stems"
        return self._stems(text, vector) if by_stems else self._soft(text, vector)

    def _stems(self, text: str, vector: Floats | None) -> tuple[list[int], Doubles]:
        """The sum of stem_signals in signals.py."""
        profile = self._about.profile
        weights = profile.weights
        words = self._language.terms(text)
        terms = {"full": words, "short": words}
        if "characters" in self._about.fields:
            terms["characters"] = grams(letters_of(text), self._language.gram)
        fields = {
            name: self._by_terms(name, Counter(terms[name]))
            for name in self._about.fields
            if weights.get(name)
        }
        signals = dict(fields)
        if vector is not None:
            signals[DENSE] = self._by_vector(vector)
            if weights.get("feedback"):
                rows = _union(signals.values())
                by_words = to_best(_weighted(fields, weights, rows))
                first = by_words + FIRST_DENSE * signals[DENSE].of(rows)
                signals["feedback"] = self._by_vector(self._centroid(rows, first))
        rows = _union(signals.values())
        fused = _weighted(fields, weights, rows)
        if vector is not None:
            likeness = signals[DENSE].of(rows)
            if profile.spread:
                likeness = self._spread(likeness, vector)
            fused += weights["dense"] * likeness
        if "feedback" in signals:
            fused += weights["feedback"] * signals["feedback"].of(rows)
        cited = [word for word in dict.fromkeys(words) if is_citation(word)]
        if cited and rows:
            fused += weights.get("citation", 0.0) * self._citations(cited, rows)
        return rows, fused

    def _soft(self, text: str, vector: Floats | None) -> tuple[list[int], Doubles]:
        """The n-grams of every view, and the encoder, as soft_signals in signals.py has them."""
        counts = Counter(self._language.terms(text))
        dampened = {term: 1 + math.log(times) for term, times in counts.items()}
        fields = {name: self._by_terms(name, dampened) for name in self._about.fields}
        weights = {name: VIEWS[name.removesuffix(".grams")] for name in fields}
        dense = [] if vector is None else [self._by_vector(vector)]
        rows = _union([*fields.values(), *dense])
        fused = to_best(_weighted(fields, weights, rows))
        for signal in dense:
            fused = fused + self._about.profile.dense * signal.of(rows)
        return rows, fused

    # ── signals ───────────────────────────────────────────────────────────────────────────────────

    def _by_terms(self, field: str, weights: Mapping[str, float]) -> _Signal:
        terms = {f"{field}:{term}": float(weight) for term, weight in weights.items()}

        def find(depth: int, among: Sequence[int] | None) -> RowValues:
            return self._store.best(field, terms, depth, among) if terms else {}

        return _Signal(find, self._depth, sparse=True)

    def _by_vector(self, vector: Floats) -> _Signal:
        def find(depth: int, among: Sequence[int] | None) -> RowValues:
            return self._store.nearest(vector, depth, among)

        return _Signal(find, self._depth, sparse=False)

    def _centroid(self, rows: Sequence[int], first: Doubles) -> Floats:
        """The centroid of the first hits, each weighted by the softmax of its score: Rocchio in the
        encoder's space."""
        top = np.argsort(-first, kind="stable")[:FEEDBACK_HITS]
        scores = first[top].astype(np.float32)
        weights = np.exp((scores - scores.max()) / np.float32(TEMPERATURE))
        found = self._store.vectors([rows[at] for at in top])
        vectors = np.array([found[rows[at]] for at in top], np.float32)
        centroid = (weights / weights.sum()) @ vectors
        return np.asarray(centroid / (float(np.linalg.norm(centroid)) + TINY), np.float32)

    def _spread(self, likeness: Doubles, vector: Floats) -> Doubles:
        """As on an own index, with the median of the sample."""
        sample = np.frombuffer(base64.b64decode(self._about.sample), np.float16)
        vectors = sample.reshape(-1, self._about.dimensions).astype(np.float32)
        middle = float(np.median(vectors @ vector))
        return np.asarray(spread(likeness, self._about.profile.spread, middle))

    def _citations(self, cited: Sequence[str], rows: Sequence[int]) -> Doubles:
        """The share of the query's citations that each candidate has."""
        share = np.zeros(len(rows))
        for term in cited:
            held = self._store.best("full", {f"full:{term}": 1.0}, len(rows), rows)
            share += [(held.get(row, 0.0) > 0) / len(cited) for row in rows]
        return share


def _union(signals: Iterable[_Signal]) -> list[int]:
    return sorted({row for signal in signals for row in signal.values})


def _weighted(
    signals: Mapping[str, _Signal], weights: Mapping[str, float], rows: Sequence[int]
) -> Doubles:
    """The sum of the signals, each scaled to the query's best document."""
    total = np.zeros(len(rows))
    for name, signal in signals.items():
        total += weights[name] * to_best(signal.of(rows))
    return total

"""Our ranking on an engine that scales: PostgreSQL, Milvus, Qdrant or OpenSearch holds the postings
and the vectors, and this adds them up as signals.py does.

**What the store does.** It finds the best documents of one signal: the inner product of a sparse
vector, in which each term of a document has its BM25 impact (OpenSearch counts the terms itself),
or the likeness of a vector. And it gives that value for documents that are named.

**What is done here.** The best `DEPTH` of every signal are the candidates. Each gets its value of
every signal from the store, scaled to the question's best document and summed with the weights of
the profile, as on our own index: the order among candidates is the same, and a document is lost
only where no signal has it among its best. The middle of all likenesses, which one profile asks
for, is that of a sample that is kept with the collection.

**What is left to our own index.** Spelling of unknown words, scores that mean a probability and the
decision to abstain; and for short texts in inflected languages look-alikes of words, the thesaurus,
and sections that a question names."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from assay.core import plugins
from assay.core.errors import EngineError, InputError
from assay.core.types import Hit, SearchEngine
from assay.engines.vector_store import query_vector
from assay.language.analysis import analyzer, grams
from assay.search.arrays import TINY, Floats
from assay.search.index import VIEWS, is_citation, letters_of
from assay.search.profile import Profile
from assay.search.signals import FEEDBACK_HITS, FIRST_DENSE, TEMPERATURE

FORMAT = 1
DEPTH = 200  # candidates of one signal
DENSE = "dense"
SAMPLE = 128  # vectors that stand for all where the middle of their likeness is asked for
MAX_QUERY = 20_000  # characters that are read of a question

Asked = Mapping[str, float]  # "field:term" -> how often
Values = dict[int, float]  # row -> the value of a signal
CARRIERS = plugins.Kind(
    name="engine to load a corpus into",
    group="assay.carriers",
    built_in={
        "postgres": "assay.engines.carry_postgres:carrier",
        "qdrant": "assay.engines.carry_qdrant:carrier",
        "milvus": "assay.engines.carry_milvus:carrier",
        "opensearch": "assay.engines.carry_opensearch:carrier",
    },
)


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What was loaded, kept beside it: whoever has the address needs nothing else."""

    format: int = FORMAT
    ready: bool = False
    corpus: str
    fingerprint: str
    documents: int
    profile: Profile
    fields: tuple[str, ...]
    dimensions: int = 0
    sample: str = ""  # float16, in base64


class LoadedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A document as it is loaded: its terms by field, and what each adds to a score."""

    row: int
    doc_id: str
    title: str
    text: str
    terms: dict[str, list[str]]
    impacts: dict[str, float]  # "field:term" -> BM25 impact
    vector: Any = None


class Carrier(Protocol):
    """A place that a corpus is loaded into."""

    def begin(self, about: About) -> None:
        """An empty collection. One that is there and is not ours is refused."""

    def add(self, rows: Sequence[LoadedRow]) -> None: ...
    def finish(self, about: About) -> None: ...
    def about(self) -> About | None: ...

    def best(
        self, field: str, asked: Asked, depth: int, among: Sequence[int] | None = None
    ) -> Values:
        """The best rows by the terms of one field, best first, or the values of those named."""

    def nearest(self, vector: Floats, depth: int, among: Sequence[int] | None = None) -> Values: ...

    def vectors(self, rows: Sequence[int]) -> Floats: ...

    def shown(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """The id and the title of each row."""


def carrier_of(kind: str, name: str, settings: Any) -> Carrier:
    if not plugins.is_known(CARRIERS, kind):
        known = ", ".join(plugins.names(CARRIERS))
        raise InputError(
            f"nothing can be loaded into an engine of the kind {kind or 'that it is'}",
            where=f"engines.{name}",
            hint=f"Known: {known}.",
        )
    make: Callable[[str, Any], Carrier] = plugins.load(CARRIERS, kind)
    return make(name, settings)


class CarriedEngine(SearchEngine):
    def __init__(self, name: str, carrier: Carrier) -> None:
        self._name = name
        self._carrier = carrier
        self._about: About | None = None

    def name(self) -> str:
        return self._name

    def search(self, query: str, top_k: int = 20) -> list[Hit]:
        text = " ".join(query[:MAX_QUERY].replace("\0", " ").split())
        if not text or top_k < 1:
            return []
        about = self._loaded()
        depth = max(DEPTH, top_k)
        soft = about.profile.kind != "stems"
        question = _Question(self._carrier, about, depth)
        fused = question.soft(text) if soft else question.stems(text)
        best = sorted(fused, key=lambda row: (-fused[row], row))
        best = [row for row in best if fused[row] > 0][:top_k]
        shown = self._carrier.shown(best)
        return [
            Hit(doc_id=shown[row][0], title=shown[row][1], score=fused[row])
            for row in best
            if row in shown
        ]

    def _loaded(self) -> About:
        if self._about is None:
            about = self._carrier.about()
            if about is None or not about.ready or about.format != FORMAT:
                why = "nothing was loaded into it" if about is None else "loading was not finished"
                raise EngineError(
                    f"{self._name}: {why}; load a corpus: assay index NAME --into {self._name}"
                )
            self._about = about
        return self._about


class _Question:
    """One question on one collection."""

    def __init__(self, carrier: Carrier, about: About, depth: int) -> None:
        self._carrier = carrier
        self._about = about
        self._depth = depth
        self._language = analyzer(about.profile.language)
        self._known: dict[str, Values] = {}  # of each signal, as the store has it
        self._looked: dict[str, set[int]] = {}  # for which rows it was asked

    def stems(self, text: str) -> Values:
        """The sum of stem_signals in signals.py, on the candidates."""
        profile = self._about.profile
        words = self._language.terms(text)
        asked = {"full": words, "short": words}
        if "characters" in self._about.fields:
            asked["characters"] = grams(letters_of(text), self._language.gram)
        weights = {"full": 1.0, "short": profile.short, "characters": profile.characters}
        fields = [name for name in self._about.fields if weights.get(name)]
        counted = {name: _counted(name, asked[name]) for name in fields}
        found = {name: self._best(name, counted[name]) for name in fields}
        vector = self._vector(text)
        if vector is not None:
            found[DENSE] = self._carrier.nearest(vector, self._depth)
        values = self._filled(found, counted, vector, _union(found))
        if vector is not None and profile.feedback:
            by_words = _summed({name: values[name] for name in fields}, weights)
            centre = self._centre(by_words, values[DENSE])
            near = self._carrier.nearest(centre, self._depth)
            every = _union(found | {"feedback": near})
            values = self._filled(found, counted, vector, every)
            values["feedback"] = near | self._carrier.nearest(
                centre, len(every), [row for row in every if row not in near]
            )
        if vector is not None and profile.spread:
            values[DENSE] = self._spread(values[DENSE], vector, found[DENSE])
        cited = [word for word in dict.fromkeys(words) if is_citation(word)]
        if cited:
            values["citation"] = self._citations(cited, _union(values))
        weights |= {
            DENSE: profile.dense,
            "feedback": profile.feedback,
            "citation": profile.citation,
        }
        return _summed(values, weights)

    def soft(self, text: str) -> Values:
        """N-grams of every view, and the encoder, as soft_signals in signals.py has them."""
        profile = self._about.profile
        terms = self._language.terms(text)
        fields = list(self._about.fields)
        counted = {
            name: {key: 1 + math.log(times) for key, times in _counted(name, terms).items()}
            for name in fields
        }
        found = {name: self._best(name, counted[name]) for name in fields}
        vector = self._vector(text)
        if vector is not None:
            found[DENSE] = self._carrier.nearest(vector, self._depth)
        values = self._filled(found, counted, vector, _union(found))
        weights = {name: VIEWS[name.removesuffix(".grams")] for name in fields}
        by_words = _to_best(_summed({name: values[name] for name in fields}, weights))
        if vector is None:
            return by_words
        return _summed(
            {"words": by_words, DENSE: values[DENSE]}, {"words": 1.0, DENSE: profile.dense}
        )

    # ── signals ───────────────────────────────────────────────────────────────────────────────────

    def _vector(self, text: str) -> Floats | None:
        if not self._about.dimensions:
            return None
        return np.array(query_vector(self._about.profile.encoder, text), np.float32)

    def _best(self, field: str, asked: Asked) -> Values:
        return self._carrier.best(field, asked, self._depth) if asked else {}

    def _filled(
        self,
        found: Mapping[str, Values],
        counted: Mapping[str, Asked],
        vector: Floats | None,
        every: Sequence[int],
    ) -> dict[str, Values]:
        """Every signal of every candidate; by words scaled to the question's best document. No row
        is asked for twice."""
        values: dict[str, Values] = {}
        for name, best in found.items():
            known = self._known.setdefault(name, dict(best))
            looked = self._looked.setdefault(name, set(best))
            missing = [row for row in every if row not in looked]
            looked.update(missing)
            if name == DENSE and vector is not None:
                known |= self._carrier.nearest(vector, len(missing), missing) if missing else {}
                values[name] = dict(known)
            else:
                # fewer than were asked for: the others have none of the words
                if missing and len(best) == self._depth:
                    known |= self._carrier.best(name, counted[name], len(missing), missing)
                values[name] = _to_best(known)
        return values

    def _centre(self, by_words: Values, dense: Values) -> Floats:
        """Of the first hits, each by the softmax of its score: Rocchio in the encoder's space."""
        first = _summed(
            {"words": _to_best(by_words), DENSE: dense}, {"words": 1.0, DENSE: FIRST_DENSE}
        )
        top = sorted(first, key=lambda row: (-first[row], row))[:FEEDBACK_HITS]
        scores = np.array([first[row] for row in top], np.float32)
        weights = np.exp((scores - scores.max()) / np.float32(TEMPERATURE))
        centroid = (weights / weights.sum()) @ self._carrier.vectors(top)
        return np.asarray(centroid / (float(np.linalg.norm(centroid)) + TINY), np.float32)

    def _spread(self, values: Values, vector: Floats, found: Values) -> Values:
        sample = np.frombuffer(base64.b64decode(self._about.sample), np.float16)
        likeness = sample.reshape(-1, self._about.dimensions).astype(np.float32) @ vector
        middle = float(np.median(likeness))
        best = max(found.values(), default=middle)
        width = max(best - middle, TINY)
        return {row: max(value - middle, 0.0) / width for row, value in values.items()}

    def _citations(self, cited: Sequence[str], every: Sequence[int]) -> Values:
        """The share of the question's citations that each candidate has."""
        share: Values = dict.fromkeys(every, 0.0)
        for term in cited:
            held = self._carrier.best("full", {f"full:{term}": 1.0}, len(every), every)
            for row, value in held.items():
                share[row] += (value > 0) / len(cited)
        return share


def _counted(field: str, terms: Sequence[str]) -> dict[str, float]:
    return {f"{field}:{term}": float(times) for term, times in Counter(terms).items()}


def _union(found: Mapping[str, Values]) -> list[int]:
    return sorted({row for values in found.values() for row in values})


def _to_best(values: Values) -> Values:
    best = max(values.values(), default=0.0)
    return {row: value / best for row, value in values.items()} if best > 0 else values


def _summed(values: Mapping[str, Values], weights: Mapping[str, float]) -> Values:
    total: Values = {}
    for name, by_row in values.items():
        for row, value in by_row.items():
            total[row] = total.get(row, 0.0) + weights[name] * value
    return total

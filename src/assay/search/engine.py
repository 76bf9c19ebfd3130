"""Searching an index: signals, fusion, calibrated scores, abstention, and why a hit is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from assay.core.types import Document, Hit, SearchEngine
from assay.language.analysis import UNSEEN, grams
from assay.search.dense import encoder
from assay.search.index import VIEWS, Index, is_citation
from assay.search.learned import query_vector
from assay.search.lexical import Array, Bm25, Floats
from assay.search.soft import Doubles
from assay.search.thesaurus import thesaurus
from assay.search.views import ASKS_WHEN

MAX_QUERY = 20_000  # characters that are read of a query
MAX_WORDS = (
    400  # different words of a query that look-alikes, spelling and the passage are sought for
)
FEEDBACK_HITS, TEMPERATURE = 8, 0.1
LIKE_TERMS = 40
FIRST_HITS = 10  # that are looked at to see whether they are of one act
USUAL_ACT = 0.65  # their share where there is only one act to be of
MAX_SPELLED = 40  # unknown words of a query that are read as their neighbours
MEANT = 0.6  # what a term of the thesaurus counts beside the word itself
EXPANDED = 0.3  # the question with these terms, by n-grams
TITLED = 0.5  # for the document whose title is the question
HELD = 1.0  # for the only document that has the one word asked for; the more have it, the less
NAMED = 4.0  # for the section that is all that is asked for: more than all other signals together
FOUND = 0.6  # what it means at least that the title, word or section asked for is here
LATER = 0.2  # taken off a transitional provision, unless the question asks for one
SNIPPET = 280
Signals = dict[str, Any]


class Hits(list[Hit]):
    """Hits, best first; `abstained` when nothing here answers the question."""

    abstained: bool = False

    @classmethod
    def none(cls) -> Hits:
        """Nothing was found, so nothing answers."""
        hits = cls()
        hits.abstained = True
        return hits


class Engine(SearchEngine):
    """The engine on one index. `lookup` gives the document of an id, for titles, texts and
    snippets; `in_force` the mask over rows of what was in force on a day."""

    def __init__(
        self,
        index: Index,
        name: str = "assay",
        lookup: Callable[[str], Document] | None = None,
        in_force: Callable[[str], Any] | None = None,
    ) -> None:
        self._index, self._name, self._lookup, self._in_force = index, name, lookup, in_force

    def name(self) -> str:
        return self._name

    def search(
        self,
        query: str,
        top_k: int = 20,
        *,
        allowed: Any = None,
        explain: bool = False,
        as_of: str = "",
    ) -> Hits:
        """The best `top_k` documents with scores in [0, 1]; `allowed` is a boolean mask over rows,
        `as_of` a day: what was not in force then is left out."""
        text = _printable(query)
        if as_of and self._in_force is not None:
            valid = self._in_force(as_of)
            allowed = valid if allowed is None else allowed & valid
        if not text.strip() or top_k < 1:
            return Hits.none()
        words = self._index.analyzer.terms(text) if self._index.profile.kind == "stems" else []
        return self._rank(text, self._signals(text, words), top_k, allowed, explain)

    def like(self, doc_id: str, top_k: int = 10, *, allowed: Any = None) -> Hits:
        """More like this: the document's most telling terms and its own vector as the query."""
        row = self._index.ids.index(doc_id)
        if self._index.profile.kind == "soft":
            document = self._lookup(doc_id) if self._lookup else None
            text = without_sections(f"{document.title} {document.text}"[:2_000]) if document else ""
            found = self.search(text, top_k + 1, allowed=allowed)
        else:
            counted, full = self._index.counts["full"], self._index.fields["full"]
            start, end = counted.offsets[row], counted.offsets[row + 1]
            terms = counted.terms[start:end]
            best = np.argsort(-np.log1p(counted.frequencies[start:end]) * full.idf[terms])[
                :LIKE_TERMS
            ]
            words = [counted.vocabulary[terms[place]] for place in best]
            vector = None if self._index.vectors is None else self._index.vectors[row]
            found = self._rank("", self._signals("", words, vector), top_k + 1, allowed, False)
        return Hits([hit for hit in found if hit.doc_id != doc_id][:top_k])

    # ── signals ───────────────────────────────────────────────────────────────────────────────────

    def _signals(self, text: str, words: list[str], vector: Any = None) -> Signals:
        return (
            self._soft_signals(text)
            if self._index.profile.kind == "soft"
            else self._stem_signals(text, words, vector)
        )

    def _stem_signals(self, text: str, words: list[str], vector: Any) -> Signals:
        index, profile = self._index, self._index.profile
        full = index.fields["full"]
        words = self._spelled(words, full)
        raw = full.scores(full.query(words))
        signals: Signals = {
            "full": to_best(raw),
            "attained": raw / max(full.attainable(words), 1e-9),
        }
        first = signals["full"]
        for name, weight in (("short", profile.short), ("characters", profile.characters)):
            if name in index.fields and (name == "short" or text):
                found = index.fields[name]
                asked = words if name == "short" else _characters(text, index.analyzer.gram)
                signals[name] = to_best(found.scores(found.query(asked)))
                first = first + np.float32(weight) * signals[name]
        if index.vectors is not None and (text or vector is not None):
            query = vector if vector is not None else encoder(profile.encoder).queries([text])[0]
            signals["dense"] = index.vectors @ query
            if profile.feedback:
                signals["feedback"] = _feedback(
                    index.vectors, to_best(first) + np.float32(0.5) * signals["dense"]
                )
        cited = [
            full.numbers[word]
            for word in dict.fromkeys(words)
            if word in full.numbers and is_citation(word)
        ]
        if cited:
            share = np.zeros(len(index), np.float32)
            for number in cited:
                share[full.postings(number)] += np.float32(1 / len(cited))
            signals["citation"] = share
        signals["fused"] = signals["full"] + sum(
            np.float32(getattr(profile, name))
            * (_spread(signals[name]) if name == "dense" and profile.spread else signals[name])
            for name in ("short", "characters", "dense", "feedback", "citation")
            if name in signals
        )
        return signals

    def _soft_signals(self, text: str) -> Signals:
        index, language = self._index, self._index.analyzer
        words = list(dict.fromkeys(language.words(text)))[:MAX_WORDS]
        said = thesaurus(language.language)
        terms = said.expand(words) if said else {}
        similar = [self._similar(word, terms.get(word, [])) for word in words]
        found = {
            name: [view.frequency(pair) for pair in similar] for name, view in index.soft.items()
        }
        signals: Signals = {"coverage": self._coverage(found)}
        by_words, signals["attained"] = self._by_words(found)
        signals["fused"] = to_best(by_words + self._by_grams(language.terms(text)))
        if terms:
            meant = " ".join(
                dict.fromkeys(
                    word for word_terms in terms.values() for t in word_terms for word in t
                )
            )
            expanded = to_best(self._by_grams(language.terms(f"{text} {meant}")))
            signals["fused"] = signals["fused"] + EXPANDED * expanded
        if len(index.acts) > 1:
            signals["act"] = self._act_prior(words, found["main"])[index.act_of]
            signals["fused"] = signals["fused"] + index.profile.act * signals["act"]
        if index.vectors is not None:
            signals["dense"] = index.vectors @ self._query_vector(text, similar)
            signals["fused"] = signals["fused"] + index.profile.dense * signals["dense"]
        if index.transitional.any() and not ASKS_WHEN.search(text):
            signals["fused"] = signals["fused"] * np.where(index.transitional, 1 - LATER, 1.0)
        signals["named"] = self._named(words)
        named = sections_named(text)
        if named and any(index.sections):
            signals["citation"] = np.array(
                [_is_named(section, named) for section in index.sections]
            )
            signals["fused"] = signals["fused"] + index.profile.citation * signals["citation"]
            signals["named"] = NAMED * signals["citation"] * self._acts_named(text)[index.act_of]
        signals["fused"] = signals["fused"] + signals["named"]
        return signals

    def _named(self, words: list[str]) -> Doubles:
        """Documents that the question names rather than asks for: by their title, or by one word
        that they hold. What only sounds like it comes after."""
        index, named = self._index, np.zeros(len(self._index))
        assert index.words is not None
        if not words:
            return named
        forms = [index.words.same(word) for word in words]
        if len(words) == 1:
            view = index.soft["main"]
            frequency = view.frequency(forms[0])
            named += HELD * (frequency > 0) * view.idf(frequency) / view.idf(named)
        if title := index.soft.get("title"):
            held = np.logical_and.reduce([title.frequency(pair) > 0 for pair in forms])
            named += TITLED * (held & (title.different == len(words)))
        return named

    def _acts_named(self, text: str) -> Any:
        """The acts whose name fits best what the question says beside a section: nothing else, or
        the name in full."""
        rest = self._lemmas(without_sections(text))
        names = [self._lemmas(act) for act in self._index.acts]
        fit = np.array(
            [max(_within(rest, name), _within(name, rest) if name else 0.0) for name in names]
        )
        return (fit > _SAME_ACT) & (fit == fit.max())

    def _lemmas(self, text: str) -> list[str]:
        return list(dict.fromkeys(self._lemma(word) for word in self._index.analyzer.words(text)))[
            :MAX_WORDS
        ]

    def _similar(self, word: str, terms: list[tuple[str, ...]]) -> tuple[Array, Doubles]:
        """The index words a word of the question stands for: those that look like it, and the terms
        it may mean."""
        assert self._index.words is not None
        numbers, shares = self._index.words.similar(word)
        if not terms:
            return numbers, shares
        best = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
        for term in terms:
            for part in term:
                for number, share in zip(*self._index.words.similar(part), strict=True):
                    best[int(number)] = max(
                        best.get(int(number), 0.0), float(share) * MEANT / len(term) ** 0.5
                    )
        return np.array(list(best), np.int64), np.array(list(best.values()))

    def _by_words(self, found: dict[str, list[Doubles]]) -> tuple[Doubles, Doubles]:
        total = np.zeros(len(self._index))
        share = total
        for name, view in self._index.soft.items():
            scores, attainable = view.scores(found[name])
            total = total + VIEWS[name] * to_best(scores)
            if name == "main":
                share = scores / max(attainable, 1e-9)
        return total, share

    def _by_grams(self, asked: list[str]) -> Doubles:
        total = np.zeros(len(self._index))
        for name in self._index.soft:
            field = self._index.fields[f"{name}.grams"]
            weights = {
                number: 1 + float(np.log(times)) for number, times in field.query(asked).items()
            }
            total = total + VIEWS[name] * to_best(field.scores(weights).astype(float))
        return total

    def _query_vector(self, text: str, similar: list[tuple[Array, Doubles]]) -> Any:
        if self._index.word_vectors is None:
            return encoder(self._index.profile.encoder).queries([text])[0]
        return query_vector(self._index.word_vectors, similar)

    def _coverage(self, found: dict[str, list[Doubles]]) -> Doubles:
        """The idf-weighted share of the question's words that a document, its section, title or
        tags hold."""
        size = len(self._index)
        rarest = float(np.log1p((size + 0.5) / 0.5))
        total, covered = 1e-9, np.zeros(size)
        for frequencies in zip(*found.values(), strict=True):
            held = np.minimum(1.0, np.maximum.reduce(frequencies))
            holding = float(held.sum())
            idf = (
                float(np.log1p((size - holding + 0.5) / (holding + 0.5)))
                if holding > 0.2
                else rarest
            )
            covered += idf * held
            total += idf
        return covered / total

    def _act_prior(
        self, words: list[str], frequencies: list[Doubles], strength: float = 30.0
    ) -> Doubles:
        """Which act the question is about: how much more often its words stand there than on
        average, and whether the act's own name has them."""
        index = self._index
        sizes = np.bincount(index.act_of, minlength=len(index.acts))
        names = [self._lemmas(act) for act in index.acts]
        score = np.zeros(len(index.acts))
        for word, frequency in zip(words, frequencies, strict=True):
            held = np.minimum(1.0, frequency)
            if held.sum() < 0.5:
                continue
            by_act = np.bincount(index.act_of, weights=held, minlength=len(index.acts))
            usual = float((by_act / np.maximum(sizes, 1)).mean())
            score += np.log((by_act + strength * usual) / (sizes + strength) / max(usual, 1e-6))
            score += np.array(
                [
                    max((_alike(self._lemma(word), other) for other in name), default=0.0)
                    for name in names
                ]
            )
        share = np.exp(score - score.max())
        return np.asarray(share / share.sum())

    def _lemma(self, word: str) -> str:
        return (
            self._index.words.lemma(word)
            if self._index.words is not None
            else self._index.analyzer.lemma(word)
        )

    def _spelled(self, words: list[str], full: Bm25) -> list[str]:
        """A word the collection does not have is read as the most frequent one a letter away, when
        there is one."""
        strange = [
            word for word in dict.fromkeys(words) if word.isalpha() and not _is_held(word, full)
        ]
        meant = {word: _nearest(word, full) for word in strange[:MAX_SPELLED]}
        return [meant.get(word, word) for word in words]

    # ── ranking ───────────────────────────────────────────────────────────────────────────────────

    def _rank(self, text: str, signals: Signals, top_k: int, allowed: Any, explain: bool) -> Hits:
        fused = signals["fused"]
        if allowed is not None:
            fused = np.where(allowed, fused, -1.0)
        size = min(max(top_k, FIRST_HITS), len(fused))
        top = np.argpartition(-fused, size - 1)[:size]
        top = top[np.lexsort((top, -fused[top]))]
        top = top[fused[top] > 0]
        if not len(top):
            return Hits.none()
        head = self._head(signals, top)
        scope = self._index.profile.calibration.scope(head)
        if head.get("named"):
            scope = max(scope, FOUND)
        hits = Hits()
        for row in top[:top_k]:
            explanation = (
                {name: round(float(values[row]), 4) for name, values in signals.items()}
                if explain
                else {}
            )
            ratio = float(fused[row]) / float(fused[top[0]])
            hits.append(self._hit(int(row), scope * self._share(head, ratio), explanation))
        hits.abstained = scope < self._index.profile.calibration.abstain
        return hits

    def _head(self, signals: Signals, top: Any) -> dict[str, float]:
        """What the first hit shows of the whole question: the same for all hits, so that scores
        fall with rank."""
        head = {name: float(values[top[0]]) for name, values in signals.items()}
        if "coverage" in signals:
            head["coverage"] = float(signals["coverage"][top[:3]].max())
            first = self._index.act_of[top[:FIRST_HITS]]
            head["one_act"] = (
                float(np.bincount(first).max()) / len(first)
                if len(self._index.acts) > 1
                else USUAL_ACT
            )
            if not head["coverage"] and not head["named"]:
                return {}  # no word of the question is here: what the encoder hears is chance
        if "citation" in signals and self._index.sections and not signals["citation"].any():
            return {}  # the question names a section that is not here
        return head

    def _share(self, head: dict[str, float], ratio: float) -> float:
        calibration = self._index.profile.calibration
        return (
            ratio**calibration.power
            if calibration.hit is None
            else calibration.hit(head | {"ratio": ratio})
        )

    def _hit(self, row: int, score: float, explanation: dict[str, Any]) -> Hit:
        doc_id = self._index.ids[row]
        if self._lookup is None:
            return Hit(doc_id=doc_id, score=score, explanation=explanation)
        document = self._lookup(doc_id)
        return Hit(
            doc_id=doc_id,
            score=score,
            locator=document.locator,
            title=document.title,
            text=document.text,
            explanation=explanation,
        )

    def _asked(self, words: Iterable[str]) -> Callable[[str], bool]:
        """Whether a document's word is one of the question's: what counted in the search counts
        here."""
        lemmas = {self._lemma(word) for word in words}
        index = self._index
        meant: set[str] = set()
        if index.words is not None:
            said = thesaurus(index.analyzer.language)
            terms = said.expand(list(words)) if said else {}
            for word in words:
                numbers, shares = self._similar(word, terms.get(word, []))
                meant.update(index.words.words[number] for number in numbers[shares > _SHOWN])

        @cache
        def is_asked(word: str) -> bool:
            lemma = self._lemma(word)
            return (
                word in meant
                or lemma in lemmas
                or any(_alike(lemma, other) > 0.85 for other in lemmas)
            )

        return is_asked

    def snippet(self, query: str, document: Document) -> tuple[str, list[str]]:
        """The passage of a document with most of the query's words, and those words: what a lawyer
        reads first."""
        language = self._index.analyzer
        words = list(dict.fromkeys(language.words(_printable(query))))[:MAX_WORDS]
        asked = self._asked(words)
        best, best_score, found = document.text[:SNIPPET], -1.0, []
        for sentence in _sentences(document):
            words = language.words(sentence)
            held = [word for word in dict.fromkeys(words) if asked(word)]
            score = len({self._lemma(word) for word in held}) / (8 + len(words)) ** 0.5
            if score > best_score:
                best, best_score, found = sentence, score, held
        return _shorten(best), found


_SAME_ACT = 0.6  # how alike a word and one of an act's name must be
_SHOWN = 0.3  # how much a look-alike must count to be shown as a word of the question
_FINNISH_SECTION = re.compile(r"(\d+)\s?([a-z]?)\s?§(?::?\w*)(?:\s+(\d+)\s+mom\w*)?", re.IGNORECASE)
_HEBREW_SECTION = re.compile(
    r"(?:^|[^\u05d0-\u05ea])[\u05d5\u05d1\u05dc\u05de\u05e9\u05d4]{0,2}סעי(?:ף|פים)\s+"
    r"(\d+[\u05d0-\u05ea]{0,3}\d*)(?:\(([\u05d0-\u05ea]\d?|\d+)\))?"
)


def sections_named(text: str) -> list[tuple[str, str]]:
    """(section, moment) of each section the question names: "110 a §:n 3 momentti", "סעיף 197"."""
    found = [(f"{m[1]}{m[2].lower()}", m[3] or "") for m in _FINNISH_SECTION.finditer(text)]
    found += [(m[1], m[2] or "") for m in _HEBREW_SECTION.finditer(text)]
    return list(dict.fromkeys(found))


def without_sections(text: str) -> str:
    return _HEBREW_SECTION.sub(" ", _FINNISH_SECTION.sub(" ", text))


def _is_named(section: str, named: list[tuple[str, str]]) -> float:
    """1 for the moment that is named, or any of a named section; half for another moment of it."""
    number, _, moment = section.partition(":")
    return max((1.0 if not m or m == moment else 0.5 for n, m in named if n == number), default=0.0)


def to_best(scores: Any) -> Any:
    """Scaled to the query's best document."""
    best = float(scores.max()) if scores.size else 0.0
    return scores / best if best > 0 else scores


def _spread(scores: Any) -> Any:
    """From 0 for the middle document and all behind it to 1 for the best."""
    middle = np.median(scores)
    return np.maximum(scores - middle, 0) / max(float(scores.max() - middle), 1e-9)


def _feedback(vectors: Floats, first: Floats) -> Any:
    """Cosine with the centroid of the first hits; the sharper the lead of the best, the more it
    counts."""
    size = min(FEEDBACK_HITS, len(first))
    top = np.argpartition(-first, size - 1)[:size]
    weights = np.exp((first[top] - first[top].max()) / np.float32(TEMPERATURE))
    centroid = (weights / weights.sum()) @ vectors[top]
    return vectors @ (centroid / (float(np.linalg.norm(centroid)) + 1e-9)).astype(np.float32)


def _characters(text: str, size: int) -> list[str]:
    return grams("".join(c if c.isalnum() else " " for c in text.lower()).split(), size)


def _printable(query: str) -> str:
    """Control characters and bytes that are no text become spaces, unseen ones go; beyond any
    question it is cut."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", " ", query[:MAX_QUERY].translate(UNSEEN))


def _is_held(word: str, field: Bm25) -> bool:
    """Some document has it; an updated index may still list a word whose last document is gone."""
    number = field.numbers.get(word)
    return number is not None and int(field.starts[number + 1]) > int(field.starts[number])


def _nearest(word: str, field: Bm25) -> str:
    if len(word) < 4:
        return word
    best, held = word, 0
    for other, number in field.numbers.items():
        if other[0] == word[0] and abs(len(other) - len(word)) <= 1:
            frequency = int(field.starts[number + 1] - field.starts[number])
            first = frequency > held or (frequency == held and other < best)
            if frequency > 1 and first and _one_edit_apart(word, other):
                best, held = other, frequency
    return best


def _one_edit_apart(a: str, b: str) -> bool:
    """One letter added, dropped, changed, or two neighbours swapped."""
    if len(a) > len(b):
        a, b = b, a
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) == len(b):
        swapped = (
            at + 1 < len(a)
            and a[at] == b[at + 1]
            and a[at + 1] == b[at]
            and a[at + 2 :] == b[at + 2 :]
        )
        return a[at + 1 :] == b[at + 1 :] or swapped
    return len(b) - len(a) == 1 and a[at:] == b[at + 1 :]


def _alike(a: str, b: str) -> float:
    """Share of a common beginning: 1 for the same lemma, high for forms and compounds of one."""
    if a == b:
        return 1.0
    common = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    return common / max(len(a), len(b)) if common >= 4 else 0.0


def _within(words: list[str], others: list[str]) -> float:
    """How well the worst of these words is matched by one of the others."""
    return min(
        (max((_alike(word, other) for other in others), default=0.0) for word in words), default=1.0
    )


def _sentences(document: Document) -> Iterable[str]:
    texts = [
        document.fields[name]
        for name in ("conclusion", "question", "summary")
        if document.fields.get(name)
    ]
    for text in [*texts, document.text[:60_000]]:
        for part in re.split(r"(?<=[.?!;:])\s+|\n{2,}", text):
            if len(part) > 30 or len(text) <= 60:
                yield " ".join(part.split())


def _shorten(text: str) -> str:
    return text if len(text) <= SNIPPET else text[:SNIPPET].rsplit(" ", 1)[0] + " …"

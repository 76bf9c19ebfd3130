"""The engine on one index: rank by the fused signals, say what a score means, and when to abstain.

A score is the product of two probabilities: that the collection answers the question at all, read
from what the first hits show (their share of the attainable score, the encoder's cosine, how many
of the question's words are covered), and that this hit is relevant, read from its share of the best
fused score. Both are logistic models fitted on judged questions, some of them from outside the
collection (Platt 1999; profile.py has the coefficients). The first is the same for all hits, so
that scores fall with rank; where it is low, the engine abstains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial

import msgspec
import numpy as np

from assay.core.types import Document, Hit, SearchEngine
from assay.corpus.in_force import Standings, today
from assay.language.analysis import UNSEEN
from assay.language.questions import without_excluded
from assay.law.parse import Scheme, laws_named
from assay.law.places import (
    Cited,
    sections_named,
    without_sections,
    words_beside,
)
from assay.search import cells, snippets
from assay.search.apart import acts_elsewhere, is_headed, section_of, stands_out
from assay.search.arrays import Array, best_rows
from assay.search.asked_of_reports import towns_missing
from assay.search.closer import look_closer
from assay.search.elsewhere import Elsewhere
from assay.search.index import Index
from assay.search.looked_up import FEW_BESIDE, MANY_BESIDE, look_up, work_named
from assay.search.profile import ROWS, Calibration, weighted
from assay.search.reported import is_prose
from assay.search.rows import passage_for, read, row_signals
from assay.search.signals import (
    Signals,
    SoftQuestion,
    acts_called,
    acts_named,
    soft_signals,
    stem_signals,
)
from assay.search.views import ASKS_WHEN, is_place_named

MAX_QUERY = 20_000  # characters that are read of a query
LIKE_TERMS = 40  # of a document, when it stands as a question
LIKE_CHARACTERS = 2_000
FIRST_HITS = 10  # that are looked at to see whether they are of one act
NAME_WORDS = 8  # of a question that may be the name of a document
COVERING_HITS = 3  # of which the best says how many of the question's words are here
HOLDING_HITS = 5  # of reports: what of them is of the asked year, accounts and budget
FIRST_SECTIONS = 5  # hits that are looked at to see whether they are of one section
USUAL_GAP = 1.0  # between the first two sections, where there is only one
USUAL_ACT = 0.65  # the share of first hits of one act, where there is only one act
NOT_IN_FORCE = 0.5  # what is left of the fused score of a provision that does not hold
BEHIND = 0.999  # and at most so much of that of the version that does
WORK = 3.0  # what it counts to be a passage of the work that a question names
KNOWN_ITEM = 0.6  # what it means at least that the title, word or section asked for is here


class Hits(list[Hit]):
    """Hits, best first; `abstained` when nothing here answers the question. Of reports: the towns
    that are asked for and have none, and those that have one. `elsewhere` are acts, not here, that
    a question which is not answered seems to be about. `named` when the title, word or section
    asked for is here."""

    abstained: bool = False
    named: bool = False
    elsewhere: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    here: tuple[str, ...] = ()

    @classmethod
    def none(cls) -> Hits:
        """Nothing fits, so nothing answers."""
        hits = cls()
        hits.abstained = True
        return hits


def _only_latin(text: str) -> bool:
    """Whether a question has Latin letters and not one Hebrew letter."""
    is_hebrew = any("\u05d0" <= letter <= "\u05ea" for letter in text)
    return not is_hebrew and any(letter.isalpha() and letter.isascii() for letter in text)


class Engine(SearchEngine):
    """The engine on one index. `lookup` gives the document of an id, for titles, texts and
    snippets; `standings` says what is in force on a day."""

    def __init__(
        self,
        index: Index,
        name: str = "assay",
        lookup: Callable[[str], Document] | None = None,
        standings: Callable[[], Standings] | None = None,
    ) -> None:
        self._index = index
        self._name = name
        self._lookup = lookup
        self._standings = standings if any(index.sections) else None
        self._lowered = lru_cache(maxsize=8)(self._not_in_force)
        self._asked_for = lru_cache(maxsize=8)(partial(snippets.asked_for, index))
        self._read = lru_cache(maxsize=8)(partial(read, index))

    @cached_property
    def _elsewhere(self) -> Elsewhere:
        return Elsewhere(self._index)

    def name(self) -> str:
        return self._name

    def with_weights(self, weights: Mapping[str, object]) -> Engine:
        """The engine on the same index, with other weights of its signals."""
        index = replace(self._index, profile=weighted(self._index.profile, weights))
        return Engine(index, self._name, self._lookup, self._standings)

    @property
    def is_by_words(self) -> bool:
        """Vectors are still to be made: until then words alone decide."""
        return bool(self._index.awaited)

    @property
    def is_older(self) -> bool:
        """The index was built by an older version, and does worse than one built now."""
        return self._index.is_older

    def search(
        self,
        query: str,
        top_k: int = 20,
        *,
        allowed: Array | None = None,
        explain: bool = False,
        as_of: str = "",
        texts: bool = True,
    ) -> Hits:
        """The best `top_k` documents with scores in [0, 1]; `allowed` is a boolean mask over rows,
        `as_of` a day: what was not in force then is left out. Without `texts` no document is
        read."""
        text = _printable(query)
        if as_of and self._standings is not None:
            valid = self._standings().holding(as_of)
            allowed = valid if allowed is None else allowed & valid
        if not text.strip() or top_k < 1:
            return Hits.none()
        words: list[str] = []
        question = None
        work = work_named(self._index, text)
        if self._index.profile.kind == "soft":
            question = self._soft_question(text if work is None else work.rest)
            words = self._index.analyzer.words(question.text)
            signals = soft_signals(self._index, question)
            look_closer(self._index, signals, question.text, words, allowed)
        elif self._index.profile.kind == ROWS:
            signals = row_signals(self._index, text, self._lookup)
        else:
            wanted = text
            if "short" not in self._index.fields:  # opinions discuss what they set apart
                wanted = without_excluded(text, self._index.profile.language).wanted
            if work is not None:
                wanted = work.rest
            signals = stem_signals(self._index, wanted, self._index.analyzer.terms(wanted), None)
            look_up(self._index, signals, text)
        if work is not None:
            signals["work"] = work.works
            signals["fused"] = signals["fused"] + WORK * work.works
        if self._standings is not None:
            self._in_force_first(signals, text, as_of or today())
        hits = self._ranked(signals, top_k, allowed, explain, texts, words)
        if self._index.profile.language == "he" and not hits.named and _only_latin(text):
            hits.abstained = True  # its words and its encoder know no other letters
        if hits.abstained and question and question.acts is not None:
            # the act that is named says nothing of it: another one may
            others = self.search(
                question.text, top_k, allowed=allowed, explain=explain, as_of=as_of, texts=texts
            )
            if not others.abstained:
                return others
        if hits.abstained and words:
            hits.elsewhere = acts_elsewhere(self._index, words, self._elsewhere)
        if hits.abstained and self._index.profile.kind == "stems":
            hits = self._titled(hits, text)
        if self._index.profile.kind == ROWS:
            self._of_reports(hits, text, texts)
        return hits

    def _of_reports(self, hits: Hits, text: str, texts: bool) -> None:
        """Rows with their cells; where nothing answers, whether that is since a town is not
        here."""
        if self._lookup is not None and texts:
            hits[:] = [cells.with_cell(hit, self._lookup(hit.doc_id), text) for hit in hits]
        if hits.abstained:
            hits.missing = towns_missing(self._index, text)
            hits.here = self._index.marked.towns

    def like(
        self, doc_id: str, top_k: int = 10, *, allowed: Array | None = None, texts: bool = True
    ) -> Hits:
        """More like this: the document's most telling terms and its own vector as the question."""
        row = self._index.ids.index(doc_id)
        if self._index.profile.kind != "stems":
            document = self._lookup(doc_id) if self._lookup else None
            text = f"{document.title} {document.text}"[:LIKE_CHARACTERS] if document else ""
            question = without_sections(text, self._index.profile.language)
            hits = self.search(question, top_k + 1, allowed=allowed, texts=texts)
        else:
            vector = None if self._index.vectors is None else self._index.vectors[row]
            signals = stem_signals(self._index, "", self._telling_terms(row), vector)
            hits = self._ranked(signals, top_k + 1, allowed, False, texts)
        return Hits([hit for hit in hits if hit.doc_id != doc_id][:top_k])

    def snippet(self, query: str, document: Document) -> tuple[str, list[str]]:
        """The passage of a document with most of the query's words, and those words; of a row its
        cell."""
        if cell := cells.cell_of(document, query):
            return snippets.with_words(
                self._index, self._asked_for(_printable(query)), cells.sentence(document, cell)
            )
        if self._index.profile.kind == ROWS and is_prose(document):
            best, asked = passage_for(self._index, self._read(_printable(query)), document)
            shown = snippets.shortened(best)
            words = dict.fromkeys(self._index.analyzer.words(shown))
            return shown, [word for word in words if word in asked]
        return snippets.best_passage(self._index, self._asked_for(_printable(query)), document)

    def asked(self, query: str) -> tuple[Index, snippets.Asked]:
        """What a question asks of the index, for all that is told of a hit."""
        return self._index, self._asked_for(_printable(query))

    def status(self, doc_id: str, as_of: str = "") -> str:
        """Whether a provision is in force, today or on a day; nothing for what is none."""
        if self._standings is None or doc_id not in self._index.row_of:
            return ""
        return self._standings().status(self._index.row_of[doc_id], as_of or today())

    def is_dated(self, doc_id: str) -> bool:
        """Whether it is known since when a provision itself holds, and not its act alone."""
        row = self._index.row_of.get(doc_id)
        return self._standings is None or row is None or self._standings().is_dated(row)

    def _not_in_force(self, day: str) -> tuple[Array, Array]:
        assert self._standings is not None
        return self._standings().lowered(day)

    def _in_force_first(self, signals: Signals, text: str, day: str) -> None:
        """What is not in force counts less, unless it is cited or what is repealed is asked for;
        and it never comes before the version that is in its place."""
        gone, current = self._lowered(day)
        if not gone.any():
            return
        fused = signals["fused"].copy()
        rows = np.flatnonzero(gone)
        if not ASKS_WHEN.search(text):
            cited = signals["citation"][rows] > 0 if "citation" in signals else np.False_
            fused[rows] *= np.where(cited, 1.0, NOT_IN_FORCE)
        later = current[rows] != rows
        fused[rows[later]] = np.minimum(fused[rows[later]], BEHIND * fused[current[rows[later]]])
        signals["fused"] = fused

    def _titled(self, hits: Hits, text: str) -> Hits:
        """Where nothing seems to answer, and yet all that is said stands in the title of one of the
        first hits, that document is what was asked for."""
        said = set(self._index.analyzer.terms(text))
        if self._lookup is None or not 0 < len(said) <= NAME_WORDS:
            return hits
        first = (self._lookup(hit.doc_id) for hit in hits[:COVERING_HITS])
        if not any(said <= set(self._index.analyzer.terms(each.title)) for each in first):
            return hits
        best = hits[0].score or 1.0
        lift = max(KNOWN_ITEM / best, 1.0)
        lifted = Hits(msgspec.structs.replace(hit, score=(hit.score or 0.0) * lift) for hit in hits)
        lifted.named = True
        return lifted

    def _telling_terms(self, row: int) -> list[str]:
        """The terms of a document that are frequent in it and rare elsewhere."""
        counts = self._index.counts["full"]
        start, end = counts.offsets[row], counts.offsets[row + 1]
        terms = counts.terms[start:end]
        weights = np.log1p(counts.frequencies[start:end]) * self._index.fields["full"].idf[terms]
        best = np.argsort(-weights)[:LIKE_TERMS]
        return [counts.vocabulary[terms[place]] for place in best]

    def _soft_question(self, text: str) -> SoftQuestion:
        language = self._index.profile.language
        asked = without_excluded(text, language)
        cited = sections_named(asked.wanted, language)
        if not cited or not any(self._index.sections):
            wanted, acts = self._by_act(asked.wanted)
            return SoftQuestion(text=wanted, acts=acts, excluded=asked.excluded)
        named = [section for section in cited if self._may_be_here(section)]
        here = np.array([is_place_named(section, named) for section in self._index.sections])
        beside = words_beside(asked.wanted, language)
        if not here.any() and beside >= FEW_BESIDE + bool(named):  # more where the act is here
            # what is cited is not here: its words are words like others
            return SoftQuestion(text=asked.wanted, excluded=asked.excluded)
        return SoftQuestion(
            text=asked.wanted,
            sections_named=here,
            rest=without_sections(asked.wanted, language),
            asks_more=beside >= MANY_BESIDE,
            excluded=asked.excluded,
        )

    def _by_act(self, text: str) -> tuple[str, Array | None]:
        """The acts of the index by which a question asks, and the question without their names: a
        name attracts what mentions the act, and the act itself does not."""
        asked = np.zeros(len(self._index.acts), bool)
        rest = text
        known = Scheme(laws=tuple(self._index.acts))
        for law, start, end in reversed(laws_named(text, self._index.profile.language, known)):
            meant = acts_called(self._index, law)
            if meant.any():
                asked |= meant
                rest = f"{rest[:start]} {rest[end:]}"
        if not asked.any() or not self._index.analyzer.words(rest):
            return text, None
        return rest, asked

    def _may_be_here(self, cited: Cited) -> bool:
        """Whether the law that is cited may be one of this collection; where none is named, it
        is."""
        law = cited.law if not cited.law_id else ""
        return not law or bool(acts_named(self._index, law).any())

    # ── ranking ───────────────────────────────────────────────────────────────────────────────────

    def _ranked(
        self,
        signals: Signals,
        top_k: int,
        allowed: Array | None,
        explain: bool,
        texts: bool,
        words: Sequence[str] = (),
    ) -> Hits:
        fused = signals["fused"]
        if allowed is not None:
            fused = np.where(allowed, fused, -1.0)
        top = best_rows(fused, max(top_k, FIRST_HITS))
        top = top[fused[top] > 0]
        if not len(top):
            return Hits.none()
        calibration = self._calibration
        head = self._head(signals, top)
        if words and head:
            head |= stands_out(self._index, signals, words, top, allowed, self._elsewhere)
        scope = calibration.scope(head)
        if head.get("named") or (
            head
            and words
            and scope < calibration.abstain
            and is_headed(self._index, words, int(top[0]))
        ):
            scope = max(scope, KNOWN_ITEM)
        sure = calibration.sure(head, scope)
        hits = Hits()
        told = [(name, values) for name, values in signals.items() if name != "known"]
        for row in top[:top_k]:
            explanation = {}
            if explain:
                explanation = {name: round(float(values[row]), 4) for name, values in told}
            ratio = float(fused[row]) / float(fused[top[0]])
            score = sure * self._share(head, ratio)
            hits.append(self._hit(int(row), score, explanation, texts))
        hits.abstained = scope < calibration.abstain
        hits.named = bool(head.get("named"))
        return hits

    @property
    def _calibration(self) -> Calibration:
        return self._index.profile.calibration

    def _head(self, signals: Signals, top: Array) -> dict[str, float]:
        """What the first hits show of the whole question: the same for all hits, so that scores
        fall with rank. Nothing, when there is no sign that the question is about what is here."""
        index = self._index
        head = {name: float(values[top[0]]) for name, values in signals.items()}
        first = top[:COVERING_HITS]
        if "holds" in signals:
            first = top[:HOLDING_HITS]
            first = first[signals["holds"][first]]
            if not len(first):
                return {}  # a year, the group or a budget is asked for that is not here
        if "coverage" in signals:
            head["coverage"] = float(signals["coverage"][first].max())
            if index.profile.kind == ROWS:
                head["attained"] = float(signals["attained"][first].max())
                close = signals.get("close", signals["coverage"])
                head["close"] = float(close[first].max())
                head["plain"] = float(signals.get("plain", close)[first].max())
                head["said"] = float(signals["said"][first].max())
            if index.profile.kind != ROWS:
                head |= self._lead(signals, top)
            if not head["coverage"] and not head["named"]:
                return {}  # no word of the question is here: what the encoder hears is chance
        if "citation" in signals and index.sections and not signals["citation"].any():
            return {}  # the question names a section that is not here
        return head

    def _lead(self, signals: Signals, top: Array) -> dict[str, float]:
        """Whether the first hits agree on where the answer stands, and how far the best is ahead of
        the next section."""
        index = self._index
        fused = signals["fused"]
        acts = index.act_of[top[:FIRST_HITS]]
        one_act = float(np.bincount(acts).max()) / len(acts) if len(index.acts) > 1 else USUAL_ACT
        first = section_of(index, int(top[0]))
        same = [section_of(index, int(row)) == first for row in top]
        others = [float(fused[row]) for row, is_same in zip(top, same, strict=True) if not is_same]
        covering = top[:COVERING_HITS]
        return {
            "one_act": one_act,
            "one_section": sum(same[:FIRST_SECTIONS]) / FIRST_SECTIONS,
            "gap": float(fused[top[0]]) - others[0] if others else USUAL_GAP,
            "attained": float(signals["attained"][covering].max()),
            "asked": float(signals["asked"][covering].max()) if "asked" in signals else 0.0,
        }

    def _share(self, head: dict[str, float], ratio: float) -> float:
        """The probability that a hit is relevant, given that something here is."""
        calibration = self._calibration
        if calibration.hit is None:
            return float(ratio**calibration.power)
        return calibration.hit(head | {"ratio": ratio})

    def _hit(self, row: int, score: float, explanation: dict[str, float], texts: bool) -> Hit:
        doc_id = self._index.ids[row]
        if self._lookup is None or not texts:
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


@lru_cache(maxsize=8)
def _printable(query: str) -> str:
    """Control characters and bytes that are no text become spaces, unseen ones go; beyond any
    question it is cut."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", " ", query[:MAX_QUERY].translate(UNSEEN))

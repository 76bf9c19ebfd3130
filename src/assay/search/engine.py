"""The engine on one index: rank by the fused signals, say how sure each hit is, or abstain.

What a score means, and when the engine abstains, is confidence.py.

What a question to longer texts names comes first: a document by its number, what cites the one
thing that it says, or a provision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import msgspec
import numpy as np

from assay.core.types import Document, Hit, SearchEngine
from assay.corpus.in_force import ProvisionStatuses, today
from assay.language.analysis import UNSEEN, English
from assay.language.english import STOP
from assay.language.finnish import may_be_form
from assay.language.questions import is_filler, without_excluded
from assay.law.en_names import with_code_capitals, words_of_codes
from assay.law.parse import Scheme, laws_named
from assay.law.places import (
    Cited,
    citations_of_sections,
    sections_named,
    without_sections,
    words_beside,
    words_of_sections,
)
from assay.search import snippets
from assay.search.arrays import TINY, Array, Floats, best_rows
from assay.search.confidence import (
    ABSTAIN,
    LATER,
    Calibration,
    EverydayReach,
    Evidence,
    calibration_of,
    corrections,
    everyday,
    evidence,
    is_headed,
    models_of,
    read_words,
    shipped,
    sureness,
)
from assay.search.index import Index
from assay.search.profile import ROWS, weighted
from assay.search.reports import cells
from assay.search.reports.documents import is_prose
from assay.search.reports.features import best_sentences, read_question, report_signals
from assay.search.reports.question import towns_missing
from assay.search.signals import (
    NAMED_SECTION,
    Signals,
    SoftQuestion,
    acts_called,
    acts_named,
    look_closer,
    soft_signals,
    spelled,
    stem_signals,
    words_searched,
)
from assay.search.views import ASKS_WHEN, is_place_named

# taste: how much is read
MAX_QUERY = 20_000  # characters that are read of a query
LIKE_TERMS = 40  # of a document, when it stands as a question
LIKE_CHARACTERS = 2_000  # of a document that stands as a question
NAME_WORDS = 8  # of a question that may be the name of a document
TITLED_HITS = 3  # whose titles may be all that is asked
# set by hand: training/ranker.py fits none of them
NOT_IN_FORCE = 0.5  # of the fused score of a provision that does not hold (decision 26)
BEHIND = 0.999  # and at most so much of that of the version that does
WORK = 3.0  # what it counts to be a passage of the work that a question names
KNOWN_ITEM = 0.6  # least score of the title, word or section asked for: spec 002's usual min_score


class Hits(list[Hit]):
    """Hits, best first. `abstained` where nothing here seems to answer; `answers` is the
    probability that something does, `calibrated` whether it and the scores were fitted to this
    corpus, and `evidence` what they were read from. `unknown` are words of the question that no
    document has, `corrected` those that were read as another word. `named` where the title, word
    or section asked for is here. Of reports, `missing` are towns that are asked for and have none,
    and `here` those that have one."""

    abstained: bool = False
    answers: float = 0.0
    calibrated: bool = False
    evidence: Evidence | None = None
    unknown: tuple[str, ...] = ()
    corrected: dict[str, str] | None = None
    named: bool = False
    missing: tuple[str, ...] = ()
    here: tuple[str, ...] = ()

    @classmethod
    def none(cls, *, calibrated: bool) -> Hits:
        """Nothing fits, so nothing answers."""
        hits = cls()
        hits.abstained, hits.calibrated = True, calibrated
        return hits


class Engine(SearchEngine):
    """The engine on one index. `lookup` gives the document of an id, for titles, texts and
    snippets; `standings` says what is in force on a day; `calibration` is what was fitted to this
    corpus, and by default what ships for it."""

    def __init__(
        self,
        index: Index,
        name: str = "assay",
        lookup: Callable[[str], Document] | None = None,
        standings: Callable[[], ProvisionStatuses] | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self._index = index
        self._calibration = calibration or calibration_of(index)
        self._name = name
        self._lookup = lookup
        self._standings = standings if index.has_sections else None
        self._lowered = lru_cache(maxsize=8)(self._not_in_force)
        self._asked_for = lru_cache(maxsize=8)(partial(snippets.asked_for, index))
        self._read = lru_cache(maxsize=8)(partial(read_question, index))

    @cached_property
    def _everyday(self) -> EverydayReach | None:
        return everyday(self._index)

    def name(self) -> str:
        return self._name

    def with_weights(self, weights: Mapping[str, object]) -> Engine:
        """The engine on the same index, with other weights of its signals."""
        index = replace(self._index, profile=weighted(self._index.profile, weights))
        return Engine(index, self._name, self._lookup, self._standings)

    @property
    def language(self) -> str:
        return self._index.profile.language

    def logits(self, found: Evidence) -> tuple[float, float]:
        """What the shipped models make of evidence, before calibration."""
        return shipped().logits(found, self._index.profile)

    @property
    def models(self) -> str:
        """What a calibration of this engine belongs to."""
        return models_of(self._index)

    def document(self, doc_id: str) -> Document:
        assert self._lookup is not None
        return self._lookup(doc_id)

    @property
    def is_calibrated(self) -> bool:
        """Whether scores were fitted to this corpus."""
        return self._calibration is not None

    @property
    def is_by_words(self) -> bool:
        """Vectors are still to be made: until then words alone decide."""
        return bool(self._index.awaited)

    @property
    def is_older(self) -> bool:
        """The index was built by an older version, and does worse than one built now."""
        return self._index.is_older

    def has_content(self, query: str) -> bool:
        """Whether a query has a word that can be searched for: one that is no stop word."""
        return any(word not in STOP for word in self._index.analyzer.words(_printable(query)))

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
        if not self.has_content(text) or top_k < 1:
            return Hits.none(calibrated=self.is_calibrated)
        question = None
        work = work_named(self._index, text)
        wanted = text
        guessed: set[str] = set()
        if self._index.profile.kind == "soft":
            question = self._soft_question(text if work is None else work.rest)
            words = words_searched(self._index, question.text)
            signals = soft_signals(self._index, question)
            look_closer(self._index, signals, question.text, words, allowed)
        elif self._index.profile.kind == ROWS:
            words = self._index.analyzer.words(text)
            signals = report_signals(self._index, text, self._lookup)
        else:
            if "short" not in self._index.fields:  # opinions discuss what they set apart
                wanted = without_excluded(text, self._index.profile.language).wanted
            if work is not None:
                wanted = work.rest
            terms = self._index.analyzer.terms(wanted)
            words = spelled(terms, self._index.fields["full"])
            guessed = {*words} - {*terms}
            signals = stem_signals(self._index, wanted, words, None)
            look_up(self._index, signals, text)
        if work is not None:
            signals["work"] = work.works
            signals["fused"] = signals["fused"] + WORK * work.works
        if self._standings is not None:
            self._in_force_first(signals, text, as_of or today())
        hits = self._ranked(signals, top_k, allowed, explain, texts, words, guessed)
        self._say_words(hits, words, wanted)
        if hits.abstained and question and question.acts is not None:
            # the act that is named says nothing of it: another one may
            others = self.search(
                question.text, top_k, allowed=allowed, explain=explain, as_of=as_of, texts=texts
            )
            if not others.abstained:
                return others
        if hits.abstained and self._index.profile.kind == "stems":
            hits = self._answer_by_title(hits, text)
        if self._index.profile.kind == ROWS:
            self._of_reports(hits, text, texts)
        return hits

    def _say_words(self, hits: Hits, words: Sequence[str], text: str) -> None:
        """Which words are nowhere here, and which were read as another: both as they are written,
        not as their stems. One that was read as another form of itself is not named."""
        language = self._index.profile.language
        if self._index.words is not None:
            hits.corrected = corrections(self._index.words, words)
            if language == "fi":  # to find them, what looks alike is enough; to deny them, not
                forms = self._index.words
                hits.unknown = tuple(
                    word for word in hits.unknown if not forms.has_form(word, may_be_form)
                )
        else:
            written = _words_by_stem(text)
            pairs = zip(self._index.analyzer.terms(text), words, strict=True)
            other = {written.get(stem, stem): read for stem, read in pairs if stem != read}
            read_as = self._as_documents_write(set(other.values()), hits)
            hits.corrected = {word: read_as.get(read, word) for word, read in other.items()}
            hits.unknown = tuple(dict.fromkeys(written.get(stem, stem) for stem in hits.unknown))
        read = hits.corrected
        hits.corrected = {
            word: other for word, other in read.items() if word not in other and other not in word
        }
        cited = words_of_sections(text, language)
        if language == "en":  # documents may write out the code that a question shortens
            cited |= words_of_codes(text)
        hits.unknown = tuple(
            word
            for word in hits.unknown
            if word not in read and word not in cited and not is_filler(word, language)
        )

    def _as_documents_write(self, stems: set[str], hits: Hits) -> dict[str, str]:
        """A word for each stem, from the first hits or else from a document that has the stem."""
        written: dict[str, str] = {}
        if not stems or self._lookup is None:
            return written
        full = self._index.fields["full"]
        holders = (self._index.ids[full.postings(full.numbers[stem])[0]] for stem in stems)
        for doc_id in (*(hit.doc_id for hit in hits[:TITLED_HITS]), *holders):
            if stems <= written.keys():
                break
            document = self._lookup(doc_id)
            written |= _words_by_stem(f"{document.title} {document.text}")
        return {stem: word for stem, word in written.items() if stem in stems}

    def _of_reports(self, hits: Hits, text: str, texts: bool) -> None:
        """Rows with their cells; where nothing answers, whether that is since a town is not
        here."""
        if self._lookup is not None and texts:
            hits[:] = [cells.with_cell(hit, self._lookup(hit.doc_id), text) for hit in hits]
        if hits.abstained:
            hits.missing = towns_missing(self._index, text)
            hits.here = self._index.marked.towns

    def more_like(
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
            best, asked = best_sentences(self._index, self._read(_printable(query)), document)
            shown = snippets.shortened(best)
            words = dict.fromkeys(self._index.analyzer.words(shown))
            return shown, [word for word in words if word in asked]
        return snippets.best_passage(self._index, self._asked_for(_printable(query)), document)

    def query_words(self, query: str) -> tuple[Index, snippets.QueryWords]:
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

    def _answer_by_title(self, hits: Hits, text: str) -> Hits:
        """Where nothing seems to answer, and yet all that is said stands in the title of one of the
        first hits, that document is what was asked for."""
        said = set(self._index.analyzer.terms(text))
        if self._lookup is None or not 0 < len(said) <= NAME_WORDS:
            return hits
        first = (self._lookup(hit.doc_id) for hit in hits[:TITLED_HITS])
        if not any(said <= set(self._index.analyzer.terms(each.title)) for each in first):
            return hits
        best = hits[0].score or 1.0
        lift = max(KNOWN_ITEM / best, 1.0)
        lifted = Hits(msgspec.structs.replace(hit, score=(hit.score or 0.0) * lift) for hit in hits)
        lifted.__dict__.update(hits.__dict__, named=True, abstained=False)
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
        if not cited or not self._index.has_sections:
            wanted, acts = self._by_act(asked.wanted)
            return SoftQuestion(text=wanted, acts=acts, excluded=asked.excluded)
        named = [section for section in cited if self._may_be_here(section)]
        here = np.array([is_place_named(section, named) for section in self._index.sections])
        beside = words_beside(asked.wanted, language)
        if not here.any() and beside >= (MANY_BESIDE if named else FEW_BESIDE):
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
        guessed: Collection[str] = (),
    ) -> Hits:
        fused = signals["fused"]
        if allowed is not None:
            fused = np.where(allowed, fused, -1.0)
        top = best_rows(fused, top_k)
        top = top[fused[top] > 0]
        asked = read_words(self._index, words, signals, guessed)
        if not len(top):
            nothing = Hits.none(calibrated=self.is_calibrated)
            nothing.unknown = asked.unknown
            return nothing
        hits = Hits()
        hits.evidence = evidence(self._index, asked, signals, allowed, self._everyday)
        hits.answers, first = sureness(hits.evidence, self._calibration, self._index.profile)
        hits.named = "named" in signals and bool(signals["named"][top[0]] > 0)
        if hits.named or is_headed(self._index, words, int(top[0])):
            hits.answers = max(hits.answers, KNOWN_ITEM)
        if hits.named:
            first = max(first, KNOWN_ITEM)
        hits.abstained = hits.answers < ABSTAIN
        first *= hits.answers if hits.abstained else 1.0
        hits.calibrated = self.is_calibrated
        hits.unknown = asked.unknown
        for row in top:
            explanation = {}
            if explain:
                explanation = {
                    name: round(float(values[row]), 4) for name, values in signals.items()
                }
            behind = float(fused[row]) / float(fused[top[0]])
            hits.append(self._hit(int(row), first * behind**LATER, explanation, texts))
        return hits

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


def _words_by_stem(text: str) -> dict[str, str]:
    """The words of an English text by their stems."""
    english = English()
    return {stem: word for word in english.tokens(text) for stem in english.token_terms(word)}


@lru_cache(maxsize=8)
def _printable(query: str) -> str:
    """Control characters and bytes that are no text become spaces, unseen ones go; beyond any
    question it is cut. Codes are capitalised as in citations."""
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", " ", query[:MAX_QUERY].translate(UNSEEN))
    return with_code_capitals(text)


# ── questions that name a document ────────────────────────────────────────────────────────────────

NUMBER = re.compile(r"\b(?=\w*-*\d)\w+(?:-\w+)+\b")  # of a document, such as A-05-044
BARE_SECTION = re.compile(r"§\s*\d[\w.()]*|\d{3,}(?:\.\d+|\(\w{1,3}\))+|\d{5}")  # alone
# Set by hand: training/ranker.py fits none of these. research/hebrew.md has the reason of
# MANY_BESIDE, research/ranking.md the effect of the last two.
FEW_BESIDE = 2  # words beside a section, below which it is all that is asked for
MANY_BESIDE = 4  # words beside a section, with which it is cited in passing
BESIDE = 1.5  # what it counts then

FEWEST_WORKS = 3  # that one can stand out of (taste)
# by hand: research/ranking.md has the effect of the rule that these two are in
STANDS_OUT = 0.15  # of its score, by which a work that is named is ahead of the next
NAMES_FEW = 0.06  # of all works: a word that so few of them have may be a name
_PIECE = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class NamedWork:
    """A question that names what it asks of: `rest` is the question without the name, `works` how
    well each document's work is the one that is named, 1 for the best."""

    rest: str
    works: Floats


def work_named(index: Index, text: str) -> NamedWork | None:
    """The work, of which documents are passages, that a question names; None where no work stands
    out, or nothing is asked beside the name.

    Works are ranked by the question's words, as if each were one document: BM25 in which passages
    that have a word are counted. Words of the best work that next to no other has, or that stand in
    its title, are taken for the name. The rest of the question then finds the passage."""
    works, work_of = index.works, index.work_of
    if index.profile.kind == "stems" and not works:
        works, work_of = index.acts, index.act_of
    if len(works) < FEWEST_WORKS:
        return None
    pieces = dict.fromkeys(_PIECE.findall(text))
    held = {piece: rows for piece in pieces if len(rows := _documents_with(index, piece))}
    sizes = np.bincount(work_of, minlength=len(works))
    norm = 0.6 * (1 + sizes / sizes.mean())
    counts = {
        piece: np.bincount(work_of[rows], minlength=len(works)) for piece, rows in held.items()
    }
    scores = np.zeros(len(works))
    for count in counts.values():
        holding = int((count > 0).sum())
        rarity = np.log1p((len(works) - holding + 0.5) / (holding + 0.5))
        scores += rarity * count * 2.2 / (count + norm)
    second, first = np.sort(scores)[-2:]
    if first - second < max(STANDS_OUT * first, TINY):
        return None
    best = int(scores.argmax())
    title = set(_terms(index, works[best]))
    few = max(1.0, NAMES_FEW * len(works))
    names = {
        piece
        for piece, count in counts.items()
        if count[best] and (int((count > 0).sum()) <= few or set(_terms(index, piece)) <= title)
    }
    rest = _PIECE.sub(lambda found: "" if found[0] in names else found[0], text)
    if len(_terms(index, rest)) < FEW_BESIDE:
        return None
    return NamedWork(rest, (scores[work_of] / first).astype(np.float32))


def _terms(index: Index, text: str) -> list[str]:
    """The terms of a text as an index of either kind counts them."""
    return index.analyzer.terms(text) if index.words is None else index.lemmas(text)


def _documents_with(index: Index, piece: str) -> Array:
    """The documents that have a word of a question."""
    if index.words is not None:
        view = index.soft["main"]
        words = index.analyzer.words(piece)
        lists = [np.flatnonzero(view.frequency(index.words.same(word)) > 0) for word in words]
    else:
        full = index.fields["full"]
        terms = [term for term in index.analyzer.terms(piece) if term in full.numbers]
        lists = [full.postings(full.numbers[term]) for term in terms]
    return lists[0] if lists else np.empty(0, np.int64)


def look_up(index: Index, signals: Signals, text: str) -> None:
    """Add to the signals what documents gain by being named."""
    written = [
        number
        for found in NUMBER.findall(text)
        for number in (found, found.upper(), found.partition("-")[2])  # A-05-044 is 05-044 too
    ]
    rows = [index.row_of[number] for number in written if number in index.row_of]
    if not index.has_sections:  # a provision is cited by its place, not by what it cites
        rows += _citing(index, text)
    named = np.zeros(len(index), np.float32)
    named[rows] = NAMED_SECTION
    cited = sections_named(text, index.profile.language) if index.has_sections else []
    places = _places(index, cited)
    beside = words_beside(text, index.profile.language) if cited else 0
    if cited and not places.any() and beside < FEW_BESIDE:
        signals["citation"] = places  # what is asked for is not here
    elif places.any():
        signals["citation"] = np.maximum(signals.get("citation", 0), places)
        if beside < MANY_BESIDE:
            named = np.maximum(named, NAMED_SECTION * places)
        else:
            signals["fused"] = signals["fused"] + BESIDE * places
    if named.any():
        signals["named"] = named
        signals["fused"] = signals["fused"] + named


def _citing(index: Index, text: str) -> list[int]:
    """The documents that hold every number of a citation which is all that is asked."""
    language, full = index.profile.language, index.fields["full"]
    is_bare = BARE_SECTION.fullmatch(text.strip()) is not None
    if not is_bare and (not citations_of_sections(text, language) or words_beside(text, language)):
        return []
    asked = [term for term in index.analyzer.terms(text) if term[0].isdigit()]
    held = [
        set(full.postings(full.numbers[term]).tolist()) for term in asked if term in full.numbers
    ]
    return sorted(set.intersection(*held)) if held and len(held) == len(asked) else []


def _places(index: Index, named: list[Cited]) -> Array:
    """How well each provision is one of those that are named, of the act that is named with it."""
    best = np.zeros(len(index), np.float32)
    for cited in named:
        fits = np.array([is_place_named(place, [cited]) for place in index.sections])
        if cited.law and any(index.acts):
            fits = fits * acts_called(index, cited.law)[index.act_of]
        best = np.maximum(best, fits.astype(np.float32))
    return best

"""How sure a search is: whether the collection answers the question, and whether a hit is right.

Two logistic models (Platt 1999) read the same evidence. `answers` is the probability that the
collection answers the question at all: below one half, the engine abstains. `right` is the
probability that the first hit is right. A later hit has the first hit's score, reduced by how far
its ranking score lies behind.

**Evidence that travels.** The models are fitted on several collections and used on others, so that
no number may depend on the scale of one encoder, language or collection. Leads are measured in
standard deviations over the documents, ranks as reciprocal ranks, words by their rarity here. The
cosine of a question with its best document means little by itself. So it is compared with that of
everyday questions (data/everyday.json), which hardly any collection answers.

**Calibration.** `assay calibrate` fits a shift and a slope of both models on questions of one
corpus. Without it, the score is that of the shipped models, and marked as not calibrated.

`training/confidence.py` makes data/confidence.json and prints how well it does on collections that
were left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from importlib import resources
from typing import NamedTuple
from zlib import crc32

import msgspec
import numpy as np

from assay.core.decoding import thread_safe
from assay.search.arrays import TINY, Array, best_rows, cosines
from assay.search.fuzzy_bm25 import Lookalikes
from assay.search.index import Index
from assay.search.profile import OPINIONS, REPORTS, ROWS, Profile
from assay.search.signals import Signals, asked_vector, similar_words, statutory_terms

# Set by hand. training/confidence.py fits weights over the evidence that these make.
ABSTAIN = 0.5  # the probability that the collection answers, below which the engine abstains
LATER = 0.3  # the power of a later hit's share of the first ranking score
FIRST_HITS = 30  # that are looked at for the next section
ACT_HITS = 10  # first hits that may be of one act
USUAL_ACT = 0.65  # the share of them that usually is
USUAL_ACT_GAP = 1.5  # how far the first act usually is ahead
AGREEING = 5  # first hits that may be of one section
STEADY = 0.03  # added to the deviation of everyday cosines: twenty questions tell it roughly
MOST_WORDS = 60  # of a question that are looked up
SLIP = 5  # letters of a word that may be a slip of another
ALIKE = 0.8  # how alike both must be
ENDING = 2  # letters at the end that may differ in forms of one word
USUAL_LIKENESS = 0.4  # of a question with one that was written for a document
MISSING = 0.1  # that a collection answers a question on a section or year that is not here
GUESSED = 0.5  # how well a word is known that was read as another: research/scores.md
KNOWN = 0.5  # how alike an index word must be for a word of the question to be known
SHIFT = 1.0  # the deviation of the shift of a corpus from none, before any of its questions is seen
SLOPE = 0.3  # and of its slope from one
LEAST_SLOPE = 0.1  # more evidence never means less
STEPS = 20  # of Newton's method at the most; chosen
READ = ("least", "said", "close", "oneself")  # signals of reports that are evidence
Evidence = dict[str, float]


class Logistic(msgspec.Struct, frozen=True, kw_only=True):
    """A probability from named evidence."""

    bias: float
    weights: dict[str, float]

    def logit(self, evidence: Mapping[str, float]) -> float:
        return self.bias + sum(
            weight * evidence.get(name, 0.0) for name, weight in self.weights.items()
        )


class Scale(msgspec.Struct, frozen=True):
    """A shift and a slope of a logit: what is fitted to one corpus."""

    shift: float = 0.0
    slope: float = 1.0

    def probability(self, logit: float) -> float:
        total = self.shift + self.slope * logit
        return 1 / (1 + math.exp(-max(min(total, 30.0), -30.0)))


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What was fitted to one corpus, and on how many questions. `own` is a model of its own that
    the collection answers, where enough questions are known for one."""

    answers: Scale = Scale()
    right: Scale = Scale()
    own: Logistic | None = None
    questions: int = 0
    fitted_to: str = ""  # the encoder and the models that it is a calibration of


class ScoredPair(msgspec.Struct, frozen=True, kw_only=True):
    """The two models: that the collection answers, and that the first hit is right."""

    answers: Logistic
    right: Logistic


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """The shipped models: with an encoder, by words alone, and those of encoders of law, which also
    know what a cosine of theirs is worth; and calibrations of the acts that ship with written
    questions, by encoder."""

    dense: ScoredPair
    words: ScoredPair
    encoders: dict[str, ScoredPair] = {}
    limits: dict[str, float] = {}  # of `answers` by language: a logit below is refused
    calibrations: dict[str, Calibration] = {}

    def logits(self, found: Evidence, profile: Profile) -> tuple[float, float]:
        """That the collection answers, and that the first hit is right. Words alone decide where no
        everyday question can be compared."""
        if "unusual" not in found:
            return self.words.answers.logit(found), self.words.right.logit(found)
        if own := self.encoders.get(fitted_as(profile)):
            return own.answers.logit(found), own.right.logit(found)
        limit = self.limits.get(profile.language, 0.0)
        return self.dense.answers.logit(found) - limit, self.dense.right.logit(found)


def fitted_as(profile: Profile) -> str:
    """What the models and the calibration of an index are filed under: its encoder, but the name of
    its profile for reports, which share theirs with statutes."""
    is_report = profile.kind == ROWS and profile.encoder == REPORTS.encoder
    return REPORTS.name if is_report else profile.encoder


@cache
def shipped() -> Models:
    file = resources.files("assay.search") / "data" / "confidence.json"
    return msgspec.json.decode(file.read_bytes(), type=thread_safe(Models))


def models_of(index: Index) -> str:
    """The encoder of an index and the shipped models: a calibration of others means nothing."""
    return f"{index.profile.encoder or 'words'}:{crc32(msgspec.json.encode(shipped())):08x}"


def calibration_of(index: Index) -> Calibration | None:
    """The shipped calibration: of advisory opinions, of annual reports, and where questions were
    written for every act of an index."""
    is_home = index.written is not None and any(index.acts) and bool(index.act_has_questions.all())
    if not is_home and index.profile.name not in (OPINIONS.name, REPORTS.name):
        return None
    return shipped().calibrations.get(fitted_as(index.profile))


def sureness(
    found: Evidence, calibration: Calibration | None, profile: Profile
) -> tuple[float, float]:
    """The probabilities that the collection answers and that the first hit is right."""
    answers, right = shipped().logits(found, profile)
    fitted = calibration or Calibration()
    if fitted.own is not None and "unusual" in found:
        answers = fitted.own.logit(found)
    sure = fitted.answers.probability(answers)
    supported = found["known"] if "near" in found else found["cover"]
    is_unknown = not supported and not found["names"]  # what an encoder hears then is chance
    if found["names_missing"] or is_unknown:  # whatever else speaks for it
        sure = min(sure, MISSING)
    return sure, fitted.right.probability(right)


# ── everyday questions ────────────────────────────────────────────────────────────────────────────


class EverydayReach(NamedTuple):
    """What everyday questions reach in an index: the best cosine and the mean one, each with its
    middle value and its deviation."""

    best: tuple[float, float] = (0.0, 1.0)
    mean: tuple[float, float] = (0.0, 1.0)


@cache
def everyday_questions(language: str) -> list[str]:
    """Those of a language; none where nobody has written any."""
    file = resources.files("assay.search") / "data" / "everyday.json"
    return msgspec.json.decode(file.read_bytes(), type=dict[str, list[str]]).get(language, [])


def everyday(index: Index) -> EverydayReach | None:
    """What everyday questions reach here; None without vectors or such questions."""
    questions = everyday_questions(index.profile.language)
    if index.vectors is None or not questions:
        return None
    found = [cosines(index.vectors, asked_vector(index, text)) for text in questions]
    best = np.array([values.max() for values in found])
    mean = np.array([values.mean() for values in found])
    return EverydayReach(_middle(best), _middle(mean))


def _middle(values: Array) -> tuple[float, float]:
    """The median, which a few questions that are answered here do not move, and the deviation."""
    return float(np.median(values)), float(values.std()) + STEADY


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


class KnownWords(NamedTuple):
    """The different words of a question: how well each is known here, how rare it is from 0 to 1,
    and the rarity-weighted share of them that each document has."""

    words: list[str]
    known: Array
    rarity: Array
    cover: Array

    @property
    def unknown(self) -> tuple[str, ...]:
        """The words that no document has."""
        pairs = zip(self.words, self.known, strict=True)
        return tuple(word for word, known in pairs if known < KNOWN)


def read_words(
    index: Index, words: Sequence[str], signals: Signals, guessed: Collection[str] = ()
) -> KnownWords:
    """`guessed` are words that were read in the place of unknown ones: they are half known, and as
    rare as an unknown word."""
    asked = list(dict.fromkeys(words))[:MOST_WORDS]
    size = len(index)
    rarest = math.log1p((size + 0.5) / 0.5)
    if index.words is None:
        full = index.fields["full"]
        rows = [
            full.postings(full.numbers[word]) if word in full.numbers else np.empty(0, np.int64)
            for word in asked
        ]
        holding = np.array([len(each) for each in rows], float)
        known = (holding > 0) * np.array([GUESSED if word in guessed else 1.0 for word in asked])
    else:
        terms = statutory_terms(index, asked)
        similar = [similar_words(index, word, terms.get(word, [])) for word in asked]
        known = np.array([min(1.0, max(shares, default=0.0)) for _, shares in similar])
        holding = np.array([_documents_with(index, *pair) for pair in similar], float)
    rarity = np.log1p((size - holding + 0.5) / (holding + 0.5)) / rarest
    rarity[[word in guessed for word in asked]] = 1.0
    if "coverage" in signals:
        is_read = index.profile.kind == ROWS and "close" in signals  # by passages
        return KnownWords(asked, known, rarity, signals["close" if is_read else "coverage"])
    cover = np.zeros(size)
    for each, weight in zip(rows if index.words is None else (), rarity, strict=True):
        cover[each] += weight
    return KnownWords(asked, known, rarity, cover / (rarity.sum() + TINY))


def _documents_with(index: Index, numbers: Array, shares: Array) -> float:
    """About how many documents have one of these index words, each by what it counts."""
    held = max(float((shares * view.held_by[numbers]).sum()) for view in index.soft.values())
    return min(held, float(len(index)))


def corrections(known: Lookalikes, words: Sequence[str]) -> dict[str, str]:
    """The words of a question that were read as another one, which looks alike: a slip, and no
    other form of the word, since more than the ending differs."""
    found: dict[str, str] = {}
    for word in dict.fromkeys(words):
        if len(word) < SLIP or known.knows(word) or len(known.same(word)[0]):
            continue
        numbers, shares = known.similar(word)
        other = known.words[int(numbers[int(shares.argmax())])] if len(numbers) else ""
        least = min(len(word), len(other)) - ENDING
        if word[:least] != other[:least]:
            found |= {word: other} if SequenceMatcher(None, word, other).ratio() >= ALIKE else {}
    return found


def is_headed(index: Index, words: Sequence[str], row: int) -> bool:
    """Whether all that is asked stands in the heading of a section: then that section is meant,
    whatever else the words may be about."""
    title = index.soft.get("title")
    if title is None or index.words is None or not words:
        return False
    own = section_of(index, row)
    held = (title.frequency(index.words.same(word))[own] for word in words)
    return all(bool((each > 0).any()) for each in held)


# ── evidence ──────────────────────────────────────────────────────────────────────────────────────


def evidence(
    index: Index,
    words: KnownWords,
    signals: Signals,
    allowed: Array | None,
    usual: EverydayReach | None,
) -> Evidence:
    """What the first hit and the words of a question show.

    `here` and `missing`: the rarity of the words that the collection has and has not, in all;
    `known`: the share of the first; `rarity`: how rare a word is on average. `cover`: the share
    that the first hit has, and `cover_ahead` how much more that is than in any other section.
    `lead` and `gap`: how far the first hit is above the mean document and above the next section,
    in deviations of the ranking score. `near` and `near_ahead`: the same of the cosine,
    and `cosine` its best. `agree_near`, `agree_words`: the reciprocal rank of its section by cosine
    and by words. `one_section`: the share of the first hits of its section. `unusual` and `about`:
    the best and the mean cosine against those of everyday questions. `asked`: how alike a question
    is that was written for one of the first hits, where there are any. `one_act` and `act_gap`: how
    many of the first hits are of one act, and how far it is ahead of all others, where there are
    several. Of reports, READ: how well the least known word is known; how many words the closest
    passage says, and which share of them, and of their rarity; and whether somebody asks for
    himself. `names`: the question names a section, title or town that is here; `names_missing`: one
    that is not."""
    fused = signals["fused"]
    fused = fused if allowed is None else np.where(allowed, fused, 0.0)
    top = best_rows(fused, FIRST_HITS)
    first = int(top[0])
    own = section_of(index, first)
    chance = math.sqrt(2 * math.log(max(len(index), 2)))  # about the best of as many at random
    deviation = float(fused.std()) + TINY
    total = float(words.rarity.sum()) + TINY
    here = float((words.rarity * words.known).sum())
    found = {
        "known": here / total,
        "here": here,
        "missing": total - here,
        "rarity": float(words.rarity.mean()) if len(words.rarity) else 1.0,
        "cover": float(words.cover[own].max()),
        "cover_ahead": _lead_of_section(words.cover, own, allowed),
        "lead": (float(fused[first]) - float(fused.mean())) / deviation - chance,
        "gap": math.log1p(4 * max(0.0, _lead_of_section(fused, own, allowed)) / deviation),
        "agree_words": _agreement(_by_words(signals), own, allowed),
        "one_section": float(own[top[1:AGREEING]].mean()) if len(top) > 1 else 0.0,
    }
    if "dense" in signals:
        near = signals["dense"].astype(float)
        mean, spread = float(near.mean()), float(near.std()) + TINY
        best = float(near[own].max())
        found["cosine"] = best
        found["near"] = (best - mean) / spread - chance
        found["near_ahead"] = _lead_of_section(near, own, allowed) / spread
        found["agree_near"] = _agreement(near, own, allowed)
        if usual is not None:
            found["unusual"] = (best - usual.best[0]) / usual.best[1]
            found["about"] = (mean - usual.mean[0]) / usual.mean[1]
    if index.written is not None and "question_likeness" in signals:
        found["asked"] = float(signals["question_likeness"][top[:AGREEING]].max()) - USUAL_LIKENESS
    if len(index.acts) > 1 and index.profile.kind != ROWS:
        act = np.asarray(index.act_of == index.act_of[first])
        found["one_act"] = float(act[top[:ACT_HITS]].mean()) - USUAL_ACT
        ahead = max(0.0, _lead_of_section(fused, act, allowed)) / deviation
        found["act_gap"] = math.log1p(4 * ahead) - USUAL_ACT_GAP
    if index.profile.kind == ROWS:
        found |= {name: float(signals[name][first]) for name in READ if name in signals}
    found |= _names(signals, top)
    return {name: float(np.clip(value, -4.0, 8.0)) for name, value in found.items()}


def _names(signals: Signals, top: Array) -> Evidence:
    """Whether what a question names is here: a section, a title, a town, a year."""
    first = top[0]
    town = float(signals["town"][first]) if "town" in signals else 0.0
    cited = signals.get("citation")
    is_missing = cited is not None and not cited.any()
    if "holds" in signals and not signals["holds"][top[:AGREEING]].any():
        is_missing = True
    named = "named" in signals and bool(signals["named"][first] > 0)
    is_here = named or town >= 1 or (cited is not None and bool(cited[first] > 0))
    return {"names": float(is_here), "names_missing": float(is_missing or town < 0)}


def _by_words(signals: Signals) -> Array:
    """The signal of words alone, by the kind of index."""
    return next(signals[name] for name in ("words", "full", "attained") if name in signals)


def _lead_of_section(values: Array, own: Array, allowed: Array | None) -> float:
    """How far the best of a section is above the best of all others."""
    others = _values_elsewhere(values, own, allowed)
    return float(values[own].max() - others.max()) if len(others) else 0.0


def _agreement(values: Array, own: Array, allowed: Array | None) -> float:
    """The reciprocal rank of a section among documents, by one signal."""
    better = _values_elsewhere(values, own, allowed) > values[own].max()
    return 1 / (1 + float(better.sum()))


def _values_elsewhere(values: Array, own: Array, allowed: Array | None) -> Array:
    return values[~own if allowed is None else ~own & allowed]


def section_of(index: Index, row: int) -> Array:
    """The mask of the documents that stand in the section of a document, or on its page of a
    report; a document without either is its own."""
    own = np.zeros(len(index), bool)
    if index.profile.kind == ROWS and (page := index.marked.page_of[row]) >= 0:
        return np.asarray(index.marked.page_of == page)
    if not index.has_sections:
        own[row] = True
        return own
    starts = index.section_starts
    place = int(np.searchsorted(starts, row, side="right"))
    own[starts[place - 1] : starts[place] if place < len(starts) else len(index)] = True
    return own


# ── fitting to one corpus ─────────────────────────────────────────────────────────────────────────


def fit_scale(logits: Array, labels: Array) -> Scale:
    """The shift and slope under which the labels are most likely, with a normal prior around no
    change: few questions move little. Newton's method; the function is convex."""
    design = np.stack([np.ones(len(logits)), logits], axis=1)
    middle, precision = np.array([0.0, 1.0]), np.array([1 / SHIFT**2, 1 / SLOPE**2])
    found = middle.copy()
    for _ in range(STEPS):
        sure = 1 / (1 + np.exp(-np.clip(design @ found, -30.0, 30.0)))
        gradient = design.T @ (sure - labels) + precision * (found - middle)
        curvature = (design.T * (sure * (1 - sure))) @ design + np.diag(precision)
        found = found - np.linalg.solve(curvature, gradient)
    return Scale(float(found[0]), max(float(found[1]), LEAST_SLOPE))

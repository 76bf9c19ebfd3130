"""The signals of a question, one number a document each, and their sum.

**Fusion.** Each lexical signal is scaled to the question's best document and added with its weight
(profile.py): CombSUM with maximum normalisation (Fox & Shaw 1994; Lee 1997, "Analyses of Multiple
Evidence Combination"). A weighted sum keeps how far the best is ahead, which ranks alone
(reciprocal rank fusion) throw away, and calibration needs it. The weights were fitted on judged
sets; research has the figures.

**Two kinds.** `stem_signals` is for longer texts: BM25 over stems, over the fields that say the
question and the answer, over character n-grams, the encoder's cosine, likeness to the first hits,
and citations in common. `soft_signals` is for short texts in inflected languages: words that look
alike (fuzzy_bm25.py), n-grams, the thesaurus, which act is meant, the encoder, and provisions that
the question names. Both also match it with questions that were written for documents
(document_questions.py).

**Feedback.** The first hits are taken for relevant and their centroid for a better question:
Rocchio (1971) in the encoder's space. Each counts by the softmax of its score, so that a clear
leader decides and a flat beginning changes little.

**A closer look.** Which documents come first is decided by signals that are quick to have for all
of them. Of the few that lead, more is asked (research/hebrew.md):

- How much of the question's words stand in a document or in a question that was written for it:
  people's words and the statute's together.
- How near in meaning the best of these questions is, or the text, where none was written.
- Which moment of a section comes first: the one that says more of the question; and an earlier one
  before a later one, since the rule stands before what is added to it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from assay.language.analysis import grams
from assay.language.keyboards import neighbours
from assay.law.he import is_called
from assay.search.arrays import TINY, Array, Doubles, Floats, best_rows, cosines
from assay.search.dense import context_size, named_encoder
from assay.search.fuzzy_bm25 import Held, Similar, within
from assay.search.index import VIEWS, Index, Windows, is_citation, letters_of, question_terms
from assay.search.lexical import Bm25
from assay.search.profile import ranked
from assay.search.thesaurus import Term, thesaurus
from assay.search.views import ASKS_WHEN

BY_WORDS = ("full", "short", "characters")  # features that choose the first hits, for feedback
# taste
MAX_WORDS = 400  # different words of a question or a name that are compared with others
SEARCHED = 32  # words of a question, those that fewest documents have: research/ranking.md
FREQUENT = 100  # documents with a word, from which on no other is taken for it; research/ranking.md
# the Finnish keyboard has the keys of the English one
MISTYPED = {
    pair
    for language in ("fi", "he")
    for key, near in neighbours(language).items()
    for other in near
    for pair in ((key, other), (other, key))
}
MAX_SPELLED = 40  # unknown words of a question that are read as their neighbours
# Set by hand: training/ranker.py weights the features that these make, and fits none of these.
FEEDBACK_HITS = 8  # research/opinions.md: 3 to 25 are all within .005
TEMPERATURE = 0.1  # of the softmax over their scores
FIRST_DENSE = 0.5  # what the encoder counts in choosing them
MEANT = 0.6  # a thesaurus term, beside the word (research/finnish.md, experiment 12)
TITLED = 1.0  # for the document whose title is the question
HELD = 1.0  # for the only document that has the one word asked for; the more have it, the less
# for the section that is all that is asked for: more than all other signals together
NAMED_SECTION = 4.0
SUBJECT_LETTERS = 5  # such a word has at least (taste)
# of the provisions with a word, at least USUAL, the part that one act has: the word is then its own
# (research/finnish.md, experiment 21)
OWNED = 0.75
USUAL = 20
SAME_NAME = 0.8  # how alike the words of two names of one act must be
SAME_ACT = 0.6  # how alike a word and one of an act's name must be
# of the attainable score: then written questions are not needed (research/hebrew.md)
WELL_HELD = 0.6
SCALE = 2**0.5  # a half of a unit vector has the length 1 / SCALE
VOTING = 5  # documents of an act whose written questions speak for it (research/hebrew.md)
VOTES_READ = 300  # of all documents, those whose written questions are most alike
LEAST_HELD = 0.2  # documents that must hold a word for its rarity to be believed

Signals = dict[str, Array]  # name -> a number for each document; `fused` is what ranks them


# ── stems: longer texts ───────────────────────────────────────────────────────────────────────────


def stem_signals(index: Index, text: str, words: list[str], vector: Floats | None) -> Signals:
    """`words` are the stems of the question; `vector` is one that stands for it, or None to have
    its text encoded."""
    profile = index.profile
    full = index.fields["full"]
    words = spelled(words, full)
    raw = full.scores(full.query(words))
    signals: Signals = {
        "full": to_best(raw),
        "attained": raw / max(full.attainable(words), TINY),
    }
    if index.windows is not None:
        postings = index.windows.postings
        signals["windows"] = to_best(index.windows.best(postings.scores(postings.query(words))))
    for name in ("short", "characters"):
        if name in index.fields and (name == "short" or text):
            field = index.fields[name]
            asked = words if name == "short" else grams(letters_of(text), index.analyzer.gram)
            signals[name] = to_best(field.scores(field.query(asked)))
    features = dict(signals)
    if index.vectors is not None and (text or vector is not None):
        query = vector if vector is not None else named_encoder(profile.encoder).queries([text])[0]
        signals["dense"] = near = _nearness(index, index.vectors, query)
        features["dense"] = spread(near, profile.spread) if profile.spread else near
        if profile.weights.get("feedback"):
            by_words = {name: features[name] for name in BY_WORDS if name in features}
            first = to_best(ranked(by_words, profile.weights)) + FIRST_DENSE * near
            signals["feedback"] = features["feedback"] = _feedback(index.vectors, first)
    if index.written is not None and text:
        signals["question_likeness"] = _question_scores(index, text)
        needed = max(0.0, 1 - float(signals["attained"].max()) / WELL_HELD)
        features["questions"] = needed * signals["question_likeness"] ** 2
    if cited := _citations_of(words, full):
        signals["citation"] = features["citation"] = _shared_citations(cited, full, len(index))
    signals["fused"] = ranked(features, profile.weights)
    return signals


def _nearness(index: Index, vectors: Floats, query: Floats) -> Floats:
    """The encoder's cosine with each document, or with its best window."""
    own = cosines(vectors, query)
    return own if index.windows is None else index.windows.nearest(own, query)


def _citations_of(words: list[str], full: Bm25) -> list[int]:
    known = (word for word in dict.fromkeys(words) if word in full.numbers)
    return [full.numbers[word] for word in known if is_citation(word)]


def _shared_citations(cited: list[int], full: Bm25, size: int) -> Floats:
    """The share of the question's citations that each document has."""
    share = np.zeros(size, np.float32)
    for number in cited:
        share[full.postings(number)] += np.float32(1 / len(cited))
    return share


def _feedback(vectors: Floats, first: Floats) -> Array:
    """Cosine with the centroid of the first hits; the sharper the lead, the more the best
    counts."""
    top = best_rows(first, FEEDBACK_HITS)
    weights = np.exp((first[top] - first[top].max()) / np.float32(TEMPERATURE))
    centroid = (weights / weights.sum()) @ vectors[top]
    unit = (centroid / (float(np.linalg.norm(centroid)) + TINY)).astype(np.float32)
    return cosines(vectors, unit)


def to_best(scores: Any) -> Any:
    """Scaled to the question's best document."""
    best = float(scores.max()) if scores.size else 0.0
    return scores / best if best > 0 else scores


def spread(scores: Array, how: str | bool, middle: float | None = None) -> Array:
    """From 0 for the middle document and all behind it; with "best" to 1 for the best."""
    from_middle = scores - (np.median(scores) if middle is None else middle)
    width = max(float(from_middle.max(initial=0.0)), TINY) if how != "middle" else 1.0
    return np.asarray(np.maximum(from_middle, 0) / width)


# ── spelling ──────────────────────────────────────────────────────────────────────────────────────


def spelled(words: list[str], full: Bm25) -> list[str]:
    """A word the collection does not have is read as the most frequent one a slip away, when there
    is one: four of five misspellings are one edit (Damerau 1964). A question of several words that
    are all unknown is about something else, and is left as it is."""
    different = list(dict.fromkeys(words))
    unknown = [word for word in different if word.isalpha() and not _is_held(word, full)]
    if 1 < len(different) == len(unknown):
        return words
    meant = {word: _nearest(word, full) for word in unknown[:MAX_SPELLED]}
    return [meant.get(word, word) for word in words]


def _is_held(word: str, field: Bm25) -> bool:
    """Some document has it; an updated index may still list a word whose last document is gone."""
    number = field.numbers.get(word)
    return number is not None and int(field.starts[number + 1]) > int(field.starts[number])


def _nearest(word: str, field: Bm25) -> str:
    if len(word) < 4:
        return word
    best = word
    best_frequency = 1  # of a word that may itself be a slip
    for other in _slips(word, field.letters):
        number = field.numbers.get(other)
        if number is None:
            continue
        frequency = int(field.starts[number + 1] - field.starts[number])
        is_tie = frequency == best_frequency and best_frequency > 1 and other < best
        if frequency > best_frequency or is_tie:
            best = other
            best_frequency = frequency
    return best


def _slips(word: str, letters: str) -> Iterator[str]:
    """One letter added, dropped or mistyped, or two neighbours swapped; the first letter is taken
    to be right. A mistyped letter is one beside it on the keyboard, or the same without its
    accent: `bread` is not `break`."""
    for at in range(1, len(word) + 1):
        before, after = word[:at], word[at:]
        yield from (before + letter + after for letter in letters)
        if after:
            yield before + after[1:]
            meant = (letter for letter in letters if _is_slip(after[0], letter))
            yield from (before + letter + after[1:] for letter in meant)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


def _is_slip(typed: str, meant: str) -> bool:
    same = unicodedata.normalize("NFD", typed)[0] == unicodedata.normalize("NFD", meant)[0]
    return same or (typed, meant) in MISTYPED


# ── look-alikes: short texts ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class SoftQuestion:
    """A question, and what it says of provisions: `sections_named` is None where it names none,
    else how well each document is one of them; `rest` is what it says beside them, and `asks_more`
    whether that is much. `acts` are those by which it asks, a mask over the acts of the index or
    None; `excluded` is what it does not want."""

    text: str
    sections_named: Doubles | None = None
    rest: str = ""
    asks_more: bool = False
    acts: Array | None = None
    excluded: str = ""


def soft_signals(index: Index, question: SoftQuestion, *, every: bool = False) -> Signals:
    """With `every`, also features that have no weight, for whoever fits them."""
    language = index.analyzer
    profile = index.profile
    words = words_searched(index, question.text)
    asked_grams = language.terms(
        " ".join(word for word in language.words(question.text) if word in words)
    )
    terms = statutory_terms(index, words)
    similar = [similar_words(index, word, terms.get(word, [])) for word in words]
    held = {name: [view.held(pair) for pair in similar] for name, view in index.soft.items()}
    signals: Signals = {"coverage": _coverage(index, held)}
    by_words, signals["attained"] = _by_words(index, held)
    by_grams = _by_grams(index, asked_grams)
    signals["words"] = to_best(by_words + by_grams)
    weights = profile.weights
    if index.windows is not None:
        signals["windows"] = _by_windows(index.windows, similar, asked_grams)
    if terms and (every or "expanded" in weights):
        signals["expanded"] = to_best(by_grams + _by_terms(index, terms))
    if len(index.acts) > 1:
        signals |= _of_acts(index, question, words, terms, held["main"])
    if index.vectors is not None:
        asked = asked_vector(index, question.text)
        signals |= vector_signals(index, index.vectors, asked)
    if index.written is not None:
        signals |= _by_questions(index, question.text, signals)
    if index.transitional.any() and not ASKS_WHEN.search(question.text):
        signals["later"] = index.transitional.astype(float)
    if question.excluded:
        signals["excluded"] = _left_out(index, question.excluded, words)
    if question.sections_named is not None:
        signals["citation"] = question.sections_named
    fused = ranked(signals, weights)
    signals["named"] = _named_documents(index, words)
    if question.sections_named is not None:
        of_act = acts_named(index, question.rest)[index.act_of]
        if not (signals["citation"] * of_act).any():
            # no act is named: a section that is here is meant, if it is all that is asked for
            of_act = np.full(len(index), not question.asks_more)
        signals["named"] = NAMED_SECTION * signals["citation"] * of_act
    signals["fused"] = fused + signals["named"]
    return signals


def words_searched(index: Index, text: str) -> list[str]:
    """The different words of a question; of many, those that fewest documents have."""
    words = list(dict.fromkeys(index.analyzer.words(text)))
    if len(words) <= SEARCHED:
        return words
    assert index.words is not None
    held_by, same = index.soft["main"].held_by, index.words.same
    holding = {word: int(held_by[same(word)[0]].sum()) for word in words}
    rarest = set(sorted(words, key=holding.__getitem__)[:SEARCHED])
    return [word for word in words if word in rarest]


def statutory_terms(index: Index, words: Sequence[str]) -> dict[str, list[Term]]:
    """What the thesaurus says that words of a question may mean."""
    known = thesaurus(index.analyzer.language)
    return known.expand(list(words)) if known else {}


def similar_words(index: Index, word: str, terms: list[Term]) -> Similar:
    """The index words a word of the question stands for: those that look like it, and the terms it
    may mean, each by what it counts."""
    found = _similar_words(index, word)
    if not terms:
        return found
    parts = [found]
    for term in terms:
        for term_word in term:
            numbers, shares = _similar_words(index, term_word)
            parts.append((numbers, shares * MEANT / len(term) ** 0.5))
    numbers = np.concatenate([each for each, _ in parts])
    shares = np.concatenate([each for _, each in parts])
    order = np.lexsort((-shares, numbers))
    different, first = np.unique(numbers[order], return_index=True)
    return different, shares[order][first]


def _similar_words(index: Index, word: str) -> Similar:
    """The words that look like one; of a frequent word its forms alone, since what looks like it
    is another word."""
    assert index.words is not None
    same = index.words.same(word)
    held = max((view.held_by[same[0]].sum() for view in index.soft.values()), default=0)
    return same if held >= FREQUENT else index.words.similar(word)


def _by_words(index: Index, held: dict[str, list[Held]]) -> tuple[Doubles, Doubles]:
    """All views together, and the share of the attainable score in the main one."""
    total = np.zeros(len(index))
    share = total
    for name, view in index.soft.items():
        scores, attainable = view.scores(held[name])
        total = total + VIEWS[name] * to_best(scores)
        if name == "main":
            share = scores / max(attainable, TINY)
    return total, share


def _by_windows(windows: Windows, similar: Sequence[Similar], asked: list[str]) -> Doubles:
    """By words and n-grams of each document's best window."""
    scores, _ = windows.view.scores([windows.view.held(pair) for pair in similar])
    by_grams = _gram_scores(windows.postings, asked)
    return np.asarray(to_best(windows.best(to_best(scores) + to_best(by_grams))))


def _by_grams(index: Index, asked: list[str]) -> Doubles:
    total = np.zeros(len(index))
    for name in index.soft:
        field = index.fields[f"{name}.grams"]
        total = total + VIEWS[name] * to_best(_gram_scores(field, asked))
    return total


def _gram_scores(field: Bm25, asked: list[str]) -> Doubles:
    query = field.query(asked)
    weights = {number: 1 + float(np.log(times)) for number, times in query.items()}
    return field.scores(weights).astype(float)


def _by_terms(index: Index, terms: dict[str, list[Term]]) -> Doubles:
    """The terms that a question may mean, by n-grams."""
    term_words = (word for choices in terms.values() for term in choices for word in term)
    return _by_grams(index, index.analyzer.terms(" ".join(dict.fromkeys(term_words))))


def vector_signals(index: Index, vectors: Floats, asked: Floats) -> Signals:
    """The cosine of each document. Where half of a vector reads words in their context, also how
    near its section is by that half: the mean of its documents' vectors."""
    size = context_size(index.profile.encoder)
    context = cosines(vectors[:, :size], asked[:size])
    own = context + cosines(vectors[:, size:], asked[size:])
    signals: Signals = {
        "dense": own if index.windows is None else index.windows.nearest(own, asked)
    }
    if size:
        sums = np.add.reduceat(context, index.section_starts)
        lengths = np.diff(np.append(index.section_starts, len(index)))
        signals["section_dense"] = np.repeat(SCALE * sums / index.section_norms, lengths)
    return signals


def asked_vector(index: Index, text: str) -> Floats:
    """The vector of a question."""
    return _encoded(index.profile.encoder, text)


@lru_cache(maxsize=4)
def _encoded(encoder: str, text: str) -> Floats:
    """Once for all that one search compares with it."""
    return np.asarray(named_encoder(encoder).queries([text])[0])


def _question_scores(index: Index, text: str) -> Floats:
    """How alike a document's best written question is."""
    assert index.written is not None
    return index.written.scores(question_terms(index.profile, text), len(index))


def _by_questions(index: Index, text: str, signals: Signals) -> Signals:
    """What written questions say. `questions`: how alike a document's best one is, squared, so that
    a poor match adds next to nothing; and the more of the question's own words a document holds,
    the less, so that legal wording is left alone. `act_questions`: how much they speak for its act.
    `no_questions` and `act_no_questions` are the best of these values for documents whose act has
    no written questions."""
    assert index.written is not None
    likeness = _question_scores(index, text)
    needed = max(0.0, 1 - float(signals["attained"].max()) / WELL_HELD)
    found: Signals = {"question_likeness": likeness, "questions": needed * likeness**2}
    bare = ~index.act_has_questions[index.act_of]
    found["no_questions"] = float(found["questions"].max()) * bare
    if len(index.acts) > 1:
        votes = act_questions(index, likeness)
        if (
            subject := signals["subject"] + signals["act_named"]
        ).any():  # an act that is named decides
            votes = np.where(subject > 0, votes, 0.0)
        found["act_questions"] = votes
        found["act_no_questions"] = float(votes.max()) * bare
    return found


def act_questions(index: Index, asked: Array) -> Array:
    """For each document how much written questions speak for its act."""
    rows = best_rows(asked, VOTES_READ)
    by_act = rows[np.argsort(index.act_of[rows], kind="stable")]  # of each act the best first
    acts = index.act_of[by_act]
    voting = np.arange(len(acts)) - np.searchsorted(acts, acts) < VOTING
    votes = np.bincount(acts[voting], asked[by_act[voting]] / VOTING, len(index.acts))
    return np.asarray(votes[index.act_of])


def _coverage(index: Index, held: dict[str, list[Held]]) -> Doubles:
    """The idf-weighted share of the question's words that a document, its section, title or tags
    hold."""
    size = len(index)
    rarest = float(np.log1p((size + 0.5) / 0.5))
    total = TINY
    covered = np.zeros(size)
    best = np.zeros(size)
    for by_view in zip(*held.values(), strict=True):
        parts = []
        for rows, frequency in by_view:
            parts.append(rows[best[rows] == 0])
            best[rows] = np.maximum(best[rows], frequency)
        rows = np.concatenate(parts)
        share = np.minimum(1.0, best[rows])
        best[rows] = 0.0
        holding = float(share.sum())
        idf = rarest
        if holding > LEAST_HELD:
            idf = float(np.log1p((size - holding + 0.5) / (holding + 0.5)))
        covered[rows] += idf * share
        total += idf
    return covered / total


# ── what a question names ─────────────────────────────────────────────────────────────────────────


def _named_documents(index: Index, words: list[str]) -> Doubles:
    """Documents that the question names rather than asks for: by their title, or by one word that
    they hold. What only sounds like it comes after."""
    named = np.zeros(len(index))
    assert index.words is not None
    same = index.words.same
    if len(words) == 1:
        view = index.soft["main"]
        frequency = view.frequency(same(words[0]))
        named += HELD * (frequency > 0) * view.idf(frequency) / view.idf(named)
    title = index.soft.get("title")
    if words and title:
        rows = np.flatnonzero(title.different == len(words))
        for word in words:
            if len(rows):
                rows = np.intersect1d(rows, title.held(same(word))[0])
        named[rows] += TITLED
    return named


def acts_named(index: Index, rest: str) -> Array:
    """The acts whose name fits best what the question says beside a section: nothing else, or the
    name in full."""
    said = index.lemmas(rest)[:MAX_WORDS]
    fit = np.array(
        [max(within(said, name), within(name, said) if name else 0.0) for name in index.act_names]
    )
    return np.asarray((fit > SAME_ACT) & (fit == fit.max()))


def acts_called(index: Index, name: str) -> Array:
    """The acts of that very name, or, where none has it, those whose name fits; in Hebrew only the
    former, since many laws begin alike."""
    if index.profile.language == "he":
        return np.array([is_called(act, name) for act in index.acts])
    said = index.lemmas(name)[:MAX_WORDS]
    fit = np.array([min(within(said, own), within(own, said)) for own in index.act_names])
    whole = (fit > SAME_NAME) & (fit == fit.max())
    return np.asarray(whole) if whole.any() else acts_named(index, name)


def _of_acts(
    index: Index,
    question: SoftQuestion,
    words: list[str],
    terms: dict[str, list[Term]],
    held: list[Held],
) -> Signals:
    """What a document gains by its act. `act_named`: the question asks by it; `subject`: its name
    is a word of the question or the one term that such a word stands for, or it has a word of the
    question nearly to itself where another act is named so."""
    found: Signals = dict.fromkeys(("act_named", "subject"), np.zeros(len(index)))
    if question.acts is not None:
        found["act_named"] = question.acts[index.act_of].astype(float)
        return found
    meant = [choices[0][0] for choices in terms.values() if len(choices) == len(choices[0]) == 1]
    subject = _subjects(index, [index.lemma(word) for word in (*words, *meant)])
    if subject.any():
        found["subject"] = np.maximum(subject, _act_owns_word(index, held))
    return found


def _subjects(index: Index, lemmas: list[str]) -> Doubles:
    """1 for the provisions of acts whose name is one word that begins with one of these: a question
    on a municipality (kunta) is one on the Municipal Act (kuntalaki)."""
    is_meant = [
        len(name) == 1
        and any(
            SUBJECT_LETTERS <= len(lemma) < len(name[0]) and name[0].startswith(lemma)
            for lemma in lemmas
        )
        for name in index.act_names
    ]
    return np.asarray(is_meant, float)[index.act_of]


def _act_owns_word(index: Index, held: list[Held]) -> Doubles:
    """1 for the provisions of acts that have a word of the question nearly to themselves: one on a
    city's call for tenders is as much one on procurement."""
    owners = np.zeros(len(index.acts))
    for rows, frequency in held:
        by_act = np.bincount(index.act_of[rows], np.minimum(1.0, frequency), len(index.acts))
        if by_act.sum() >= USUAL:
            owners[by_act >= OWNED * by_act.sum()] = 1.0
    return np.asarray(owners[index.act_of])


def _left_out(index: Index, excluded: str, words: list[str]) -> Doubles:
    """How much of what the question does not want, and not also wants, a document's title or act is
    named after."""
    assert index.words is not None
    wanted = {index.lemma(word) for word in words}
    others = [word for word in index.analyzer.words(excluded) if index.lemma(word) not in wanted]
    share = _subjects(index, [index.lemma(word) for word in others])
    if (title := index.soft.get("title")) and others:
        held = [np.minimum(1.0, title.frequency(index.words.same(word))) for word in others]
        share = np.maximum(share, np.maximum.reduce(held))
    return share


# ── features of the first documents ───────────────────────────────────────────────────────────────

CONSIDERED_DOCUMENTS = 40  # documents: 20 and 30 gave no more (research/hebrew.md, experiment 28)
LATEST = 5  # places in a section from which on a moment is simply late (by hand)


def look_closer(
    index: Index, signals: Signals, text: str, words: Sequence[str], allowed: Array | None
) -> None:
    """Add features of the first documents to their score: those of `features_of`, and `repeated`,
    how many better moments of the same section there are, unless a moment is named: four moments
    of one section would hide the next one."""
    fused = signals["fused"].astype(np.float64)
    rows = best_rows(
        fused if allowed is None else np.where(allowed, fused, -1.0), CONSIDERED_DOCUMENTS
    )
    rows = rows[fused[rows] > 0]
    found = features_of(index, signals, text, words, rows)
    weights = index.profile.weights
    fused[rows] += ranked(found, weights)
    if "place_in_section" in found and "repeated" in weights:
        found["repeated"] = _better_in_section(index, rows, fused[rows])
        fused[rows] += weights["repeated"] * found["repeated"]
    signals["fused"] = fused
    signals |= {name: _at_rows(rows, values, len(index)) for name, values in found.items()}


def features_of(
    index: Index, signals: Signals, text: str, words: Sequence[str], rows: Array
) -> Signals:
    """`words_held`: the share of the question's words that a document or a question written for it
    has;
    `question_dense`: the cosine of its nearest written question, or its own where it has none;
    `place_in_section`: how late in its section a moment stands, unless a moment is named."""
    found: Signals = {"words_held": _own_shares(index, words, rows)}
    if index.written is not None and index.written.vectors is not None and "dense" in signals:
        near = index.written.nearest(asked_vector(index, text), rows)
        found["question_dense"] = np.where(np.isnan(near), signals["dense"][rows], near)
    if "citation" not in signals and index.has_sections:
        starts = index.section_starts
        sections = np.searchsorted(starts, rows, side="right") - 1
        found["place_in_section"] = np.minimum(rows - starts[sections], LATEST) / LATEST
    return found


def _better_in_section(index: Index, rows: Array, scores: Array) -> Array:
    """How many documents of its section score higher than each, at most LATEST."""
    sections = np.searchsorted(index.section_starts, rows, side="right")
    better = (scores[:, None] < scores) | ((scores[:, None] == scores) & (rows[:, None] > rows))
    same = sections[:, None] == sections
    return np.asarray(np.minimum((better & same).sum(axis=1), LATEST), float)


def _own_shares(index: Index, words: Sequence[str], rows: Array) -> Array:
    """How much of the words each document says, not counting what the rest of its section does."""
    places = np.full(len(index), -1)
    places[rows] = np.arange(len(rows))
    own = [view for view in index.soft if view != "section"]
    shares = shares_of(index, words, places, len(rows), own)
    return np.mean(list(shares.values()), axis=0) if shares else np.zeros(len(rows))


def shares_of(
    index: Index, words: Sequence[str], places: Array, count: int, views: Iterable[str]
) -> dict[str, Array]:
    """Of each word the share of its n-grams that some texts have, or questions written for them.
    `places` says for each document which of these texts it is part of, from 0, or -1; `views` what
    is read of it."""
    grams = {word: index.analyzer.terms(word) for word in dict.fromkeys(words)}
    numbers = {gram: number for number, gram in enumerate(dict.fromkeys(chain(*grams.values())))}
    found = np.zeros((len(numbers), count), bool)
    fields = [(index.fields[f"{name}.grams"], places) for name in views]
    if index.written is not None:
        fields.append((index.written.postings, places[index.written.documents]))
    for field, place_of in fields:
        rows = np.flatnonzero(place_of >= 0)  # few, and looked for in each list
        known = {field.numbers[gram]: at for gram, at in numbers.items() if gram in field.numbers}
        grams_held, rows_held = field.held_among([*known], rows).nonzero()
        found[np.array([*known.values()], int)[grams_held], place_of[rows[rows_held]]] = True
    return {
        word: found[[numbers[gram] for gram in held]].mean(axis=0)
        for word, held in grams.items()
        if held
    }


def _at_rows(rows: Array, values: Array, size: int) -> Floats:
    """Nothing for all documents but these."""
    every = np.zeros(size, np.float32)
    every[rows] = values
    return every

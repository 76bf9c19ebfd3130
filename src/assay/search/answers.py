"""What a search gives a person: every hit with the passage that answers, and what put it there."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

import msgspec

from assay.core.results import rounded
from assay.core.types import Document, Locator
from assay.corpus.letters import readable_part
from assay.law.citing import title_of
from assay.law.en_names import with_code_capitals, words_of_codes
from assay.law.parse import parse
from assay.law.versions import with_status_mark
from assay.search.engine import Engine, Hits
from assay.search.index import Index
from assay.search.reports.cells import Cell, cell_of, located
from assay.search.snippets import QueryWords, best_of_field, with_words
from assay.search.why import Why, less_likely, why_each

Get = Callable[[str], Document]
LANGUAGES = {"en": "English", "fi": "Finnish", "he": "Hebrew"}
# taste: the probability that the first hit is right, below which the match is called weak
WEAK = 0.5
QUESTIONS = ("question", "question_synthetic")
ANSWERS = ("conclusion", "conclusion_synthetic", "summary")
MAX_SHOWN_QUESTION = 200  # characters of a question
MOST_STATUTES = 4  # of a hit that are shown; taste
WORD = re.compile(r"\w+")
LIKE_IT = 0.2  # what a written question has in common with the one asked, to be shown
# of the opinions of a commission: who wrote a letter of this type
WRITERS = {
    "advice_letter": "advice of the Commission's staff",
    "informal_advice": "informal advice of the Commission's staff",
    "opinion": "opinion of the Commission",
}
REQUEST = "a request letter to the Commission, not its advice"


class HitFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`answer` is what the document concludes, `question` what it was asked; `answers` is a
    question that was written for it and is like the one asked; `statutes` are those of its record,
    `by` who wrote it. Empty where it does not say."""

    answer: str = ""
    question: str = ""
    answers: str = ""
    statutes: tuple[str, ...] = ()
    date: str = ""
    by: str = ""


class FoundDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hit for a person: what the document answers, the passage that says most of what is asked,
    the asked words in it, and what put it there."""

    rank: int
    doc_id: str
    score: float | None
    title: str
    snippet: str
    words: list[str]
    signals: dict[str, float]
    node_id: str = ""  # of a provision: its place under the names of golden sets
    chapter: str = ""
    section_num: str = ""
    moment: str = ""
    section_title: str = ""
    in_title: list[str] = []  # the asked words in the title
    locator: Locator | None = None
    citations: list[str] = []  # those that the question and the document share
    cell: Cell | None = None  # of a row of a table
    # its answer and question, statutes, date, writer
    facts: HitFacts = msgspec.field(name="told", default=HitFacts())
    why: Why = Why()  # what found it
    less_likely: bool = False  # to answer: far behind the first hit, and of another section
    status: str = ""  # of a provision: in force, repealed, superseded, …


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`abstained` when nothing here answers the question; the hits are then only the nearest.
    `answers` is the probability that something here answers it. `calibrated` says whether it and
    the scores were fitted to this corpus; if not, trust the order more than the numbers.
    `unknown` are words of the question that no document has, `corrected` those that were read as
    another word. `note` is what to know before the hits are used: see `note_of`."""

    query: str
    corpus: str
    abstained: bool
    calibrated: bool
    hits: list[FoundDocument]
    answers: float | None = None
    unknown: list[str] = []
    corrected: dict[str, str] = {}
    note: str = ""


def note_of(hits: Hits, spoken: str = "", asked_in: str = "") -> str:
    """What to know before the hits are used: the corpus is in another language (`spoken`) than the
    question (`asked_in`, empty where they agree), the town asked for has no report here, or the
    match is weak."""
    if hits.abstained and asked_in:
        language = LANGUAGES.get(spoken, spoken)
        return (
            f"This corpus is in {language}; ask in {language}. For a question in another "
            "language, Assay cannot tell whether anything here answers it."
        )
    if hits.missing:
        here = f", only of {', '.join(hits.here)}" if hits.here else ""
        return f"There is no report of {', '.join(hits.missing)} here{here}."
    if is_weak(hits) and hits.calibrated:
        score = rounded(hits[0].score or 0.0, lambda shown: shown < WEAK)
        return (
            f"The match is weak: the estimated probability that the first hit is right is {score}. "
            "Read before you cite."
        )
    if is_weak(hits):
        return "The match is weak. Read before you cite."
    return ""


def is_weak(hits: Hits) -> bool:
    """Whether it is told as an answer, and often is none. What was asked for by its name is found
    or not."""
    best = hits[0].score if hits and not hits.abstained and not hits.named else None
    return best is not None and best < WEAK


def words_nowhere(hits: Hits, found: Sequence[FoundDocument]) -> tuple[str, ...]:
    """The words that no document contains, without those that a result has in another form."""
    said = {part for hit in found for word in hit.why.words for part in word.split()}
    return tuple(word for word in hits.unknown if word not in said)


def _as_read(query: str, corrected: Mapping[str, str]) -> str:
    """The query with its misspelt words as they were read."""
    return WORD.sub(lambda word: corrected.get(word[0].casefold(), word[0]), query)


def _as_marked(why: Why, asked: QueryWords, marked: Sequence[str], codes: Collection[str]) -> Why:
    """The reasons of a hit, in agreement with its marked words: no word is missing that is marked
    in another form or belongs to the name of a code, and a form that contains the word needs no
    mention."""
    there = {word for mark in marked for word in asked.looks_like(mark)} | {*codes}
    there |= {word for word in why.missing if any(word in mark for mark in marked)}
    instead = {word: other for word, other in why.instead.items() if word not in other}
    missing = tuple(word for word in why.missing if word not in there)
    return msgspec.structs.replace(why, instead=instead, missing=missing)


def found_documents(
    hits: Hits,
    engine: Engine,
    query: str,
    get: Get,
    *,
    start: int = 0,
    stop: int | None = None,
    as_of: str = "",
) -> list[FoundDocument]:
    """Of the hits from `start` on, before `stop`. `get` reads a document; `as_of` is the day on
    which it is asked whether a provision is in force, today where there is none."""
    cited = {citation.normal for citation in parse(with_code_capitals(query))}
    codes = words_of_codes(query)
    query = _as_read(query, hits.corrected or {})
    index, asked = engine.query_words(query)
    shown = hits[start:stop]
    documents = [get(hit.doc_id) for hit in shown]
    whys = why_each(index, asked, shown, documents, start + 1)
    behind = [False] * len(hits) if hits.abstained else less_likely(index, hits)
    found = []
    for rank, (hit, document, why) in enumerate(
        zip(shown, documents, whys, strict=True), start=start + 1
    ):
        snippet, words = engine.snippet(query, document)
        cell = cell_of(document, query)
        status = engine.status(hit.doc_id, as_of)
        title = with_status_mark(title_of(document), status, document.language)
        in_title = with_words(index, asked, title)[1]
        each = FoundDocument(
            rank=rank,
            doc_id=hit.doc_id,
            score=hit.score,
            title=title,
            snippet=snippet,
            words=words,
            in_title=in_title,
            signals=hit.explanation,
            locator=located(document, cell),
            cell=cell,
            citations=_cited_by_both(cited, document),
            status=status,
            facts=facts_of(index, asked, document, cited),
            why=_as_marked(why, asked, (*words, *in_title), codes),
            less_likely=behind[rank - 1],
            **_place_names(document),
        )
        found.append(each)
    return found


def _place_names(document: Document) -> dict[str, str]:
    """The place of a provision under the names of golden sets; empty for other documents."""
    place = document.locator
    if place is None or not place.section or place.page is not None:
        return {}
    return {
        "node_id": document.id,
        "chapter": place.chapter or "",
        "section_num": place.section,
        "moment": place.moment or "",
        "section_title": str(document.metadata.get("section_title") or ""),
    }


def _cited_by_both(asked: set[str], document: Document) -> list[str]:
    if not asked:
        return []
    cited = {citation.normal for text in document.citations for citation in parse(text)}
    return sorted(asked & cited)


# ── facts of a hit ────────────────────────────────────────────────────────────────────────────────


def facts_of(index: Index, asked: QueryWords, document: Document, cited: set[str]) -> HitFacts:
    """`cited` are the citations of the question: statutes among them come first."""
    fields, metadata = document.fields, document.metadata
    answer = readable_part(document, *ANSWERS)
    question = fields.get(readable_part(document, *QUESTIONS), "")
    return HitFacts(
        answer=best_of_field(index, asked, document, answer) if answer else "",
        question=cut_at_word(question),
        answers=_like_it(index, asked, document),
        statutes=_statutes(document, cited, f"{fields.get(answer, '')} {question}"),
        date=str(metadata.get("date") or document.valid_from)[:10],
        by=written_by(document),
    )


def _like_it(index: Index, asked: QueryWords, document: Document) -> str:
    """The question written for a document that is most like the one asked, where it is like it."""
    row = index.row_of.get(document.id)
    if index.written is None or asked.likeness is None or row is None:
        return ""
    text, likeness = index.written.best_question(asked.likeness, row)
    return cut_at_word(text) if likeness >= LIKE_IT else ""


def written_by(document: Document) -> str:
    """Who wrote it: a court or an author of its record; of letters, whether it is advice or asks
    for it."""
    metadata = document.metadata
    if metadata.get("request") is True:
        return REQUEST
    for key in ("author", "court", "issued_by"):
        if isinstance(metadata.get(key), str) and metadata[key]:
            return str(metadata[key])
    writer = WRITERS.get(str(metadata.get("type") or ""), "")
    name = str(metadata.get("requestor_name") or "")
    return f"{writer} to {name}" if writer and name and "opinion of" not in writer else writer


def _statutes(document: Document, cited: set[str], said: str) -> tuple[str, ...]:
    """Those that the question cites, then those that the answer or the question names."""
    lists = {"government_code": "Gov. Code § ", "regulations": "Regulation "}
    every = [
        (f"{sign}{number}" not in cited, str(number) not in said, f"{sign}{number}")
        for key, sign in lists.items()
        if isinstance(numbers := document.metadata.get(key), list)
        for number in numbers
    ]
    ordered = sorted(every, key=lambda one: one[:2])
    return tuple(name for *_, name in ordered[:MOST_STATUTES])


def cut_at_word(text: str, longest: int = MAX_SHOWN_QUESTION) -> str:
    whole = " ".join(text.split())
    return whole if len(whole) <= longest else whole[:longest].rsplit(" ", 1)[0] + " …"


# ── signals as reasons ────────────────────────────────────────────────────────────────────────────

Strength = Literal["strong", "some", "little"]


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A reason for a result: a kind of signal of the engine, its strength, and its words or
    citations. The sentence for each kind is in `reports/words/pages/why.*.toml`."""

    kind: str
    strength: Strength
    value: float
    words: tuple[str, ...] = ()


# A signal of the engine, its kind, and the values from which it says some and much; taste.
SIGNALS = {
    "full": ("words", 0.4, 0.8),
    "coverage": ("words", 0.4, 0.8),
    "attained": ("words", 0.4, 0.8),
    "short": ("answers", 0.4, 0.8),
    "dense": ("meaning", 0.3, 0.5),
    "citation": ("citations", 0.3, 0.9),
    "named": ("named", 0.1, 0.5),
    "subject": ("act", 0.5, 1.0),
    "work": ("act", 0.9, 1.0),
    "feedback": ("company", 0.6, 0.9),
}


def reasons(hit: FoundDocument) -> tuple[Reason, ...]:
    """One reason of each kind, the strongest first. Weak ones are left out, unless all are weak."""
    every: dict[str, Reason] = {}
    found = {"words": tuple(hit.words[:8]), "citations": tuple(hit.citations[:8])}
    order: list[Strength] = ["strong", "some", "little"]
    for signal, (kind, some, strong) in SIGNALS.items():
        value = hit.signals.get(signal, 0.0)
        strength: Strength = "strong" if value >= strong else "some" if value >= some else "little"
        known = every.get(kind)
        if value > 0 and (known is None or order.index(strength) < order.index(known.strength)):
            every[kind] = Reason(
                kind=kind, strength=strength, value=round(value, 2), words=found.get(kind, ())
            )
    telling = [reason for reason in every.values() if reason.strength != "little"]
    telling = telling or [*every.values()][:1]
    return tuple(sorted(telling, key=lambda reason: order.index(reason.strength)))

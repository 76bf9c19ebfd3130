"""What a search gives a person: every hit with the passage that answers, and what put it there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from assay.core.types import Document, Hit, Locator
from assay.core.verdicts import rounded
from assay.law.citing import title_of
from assay.law.parse import parse
from assay.law.versions import marked
from assay.search.cells import Cell, cell_of, located
from assay.search.engine import Engine, Hits
from assay.search.told import Told

Get = Callable[[str], Document]
LANGUAGES = {"en": "English", "fi": "Finnish", "he": "Hebrew"}
# Of questions outside a corpus that were not refused, these have less: 17 of 21 on 73 Hebrew acts,
# 10 of 29 on five Finnish ones, 8 of 8 on opinions; of those inside, 25%, 6% and 43%.
WEAK = 0.8


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
    locator: Locator | None = None
    citations: list[str] = []  # those that the question and the document share
    cell: Cell | None = None  # of a row of a table
    told: Told = Told()  # its answer and question, statutes, date, writer
    status: str = ""  # of a provision: in force, repealed, superseded, …


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`abstained` when nothing here answers the question; the hits are then only the nearest.
    `note` is what to know before the hits are used: see `note_of`."""

    query: str
    corpus: str
    abstained: bool
    hits: list[FoundDocument]
    note: str = ""


def note_of(hits: Hits, spoken: str = "", asked_in: str = "") -> str:
    """What to know before the hits are used: the corpus is in another language (`spoken`) than the
    question (`asked_in`, empty where they agree), another law is meant, the town asked for has no
    report here, or the match is weak."""
    if hits.abstained and asked_in:
        language = LANGUAGES.get(spoken, spoken)
        return (
            f"This corpus is in {language}; ask in {language}. Whether anything here answers "
            "cannot be told from the question as it was asked."
        )
    if hits.elsewhere:
        laws = " or ".join(hits.elsewhere)
        return f"Nothing here seems to answer this. Another law may, such as {laws}."
    if hits.missing:
        here = f"; here are {', '.join(hits.here)}" if hits.here else ""
        return f"No report of {', '.join(hits.missing)} is here{here}."
    if is_weak(hits):
        score = rounded(hits[0].score or 0.0, lambda shown: shown < WEAK)
        return (
            f"The match is weak: the best hit has {score}. Below {WEAK:g}, it often happens that "
            "nothing here answers. Read before you cite."
        )
    return ""


def is_weak(hits: Hits) -> bool:
    """Whether it is told as an answer, and often is none. What was asked for by its name is found
    or not."""
    best = hits[0].score if hits and not hits.abstained and not hits.named else None
    return best is not None and best < WEAK


def found_documents(
    hits: Sequence[Hit], engine: Engine, query: str, get: Get, *, first: int = 1, as_of: str = ""
) -> list[FoundDocument]:
    """`get` reads a document; `first` is the rank of the first of these hits; `as_of` the day on
    which it is asked whether a provision is in force, today where there is none."""
    asked = {citation.normal for citation in parse(query)}
    found = []
    for rank, hit in enumerate(hits, start=first):
        document = get(hit.doc_id)
        snippet, words = engine.snippet(query, document)
        cell = cell_of(document, query)
        status = engine.status(hit.doc_id, as_of)
        each = FoundDocument(
            rank=rank,
            doc_id=hit.doc_id,
            score=hit.score,
            title=marked(title_of(document), status, document.language),
            snippet=snippet,
            words=words,
            signals=hit.explanation,
            locator=located(document, cell),
            cell=cell,
            citations=_cited_by_both(asked, document),
            status=status,
            told=engine.told(query, document, asked),
        )
        found.append(each)
    return found


def _cited_by_both(asked: set[str], document: Document) -> list[str]:
    if not asked:
        return []
    cited = {citation.normal for text in document.citations for citation in parse(text)}
    return sorted(asked & cited)

"""What a person is told of a document beside the passage: its answer and its question, the law it
is about, its date, and who wrote it."""

from __future__ import annotations

import msgspec

from assay.core.types import Document
from assay.corpus.letters import readable_part
from assay.search.index import Index
from assay.search.snippets import Asked, best_of_field

QUESTIONS = ("question", "question_synthetic")
ANSWERS = ("conclusion", "conclusion_synthetic", "summary")
LONGEST = 200  # characters of a question
MOST_STATUTES = 4
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


def facts_of(index: Index, asked: Asked, document: Document, cited: set[str]) -> HitFacts:
    """`cited` are the citations of the question: statutes among them come first."""
    fields, metadata = document.fields, document.metadata
    answer = readable_part(document, *ANSWERS)
    question = fields.get(readable_part(document, *QUESTIONS), "")
    return HitFacts(
        answer=best_of_field(index, asked, document, answer) if answer else "",
        question=_cut(question),
        answers=_like_it(index, asked, document),
        statutes=_statutes(document, cited, f"{fields.get(answer, '')} {question}"),
        date=str(metadata.get("date") or document.valid_from)[:10],
        by=written_by(document),
    )


def _like_it(index: Index, asked: Asked, document: Document) -> str:
    """The question written for a document that is most like the one asked, where it is like it."""
    row = index.row_of.get(document.id)
    if index.written is None or asked.likeness is None or row is None:
        return ""
    text, likeness = index.written.likest(asked.likeness, row)
    return _cut(text) if likeness >= LIKE_IT else ""


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


def _cut(text: str) -> str:
    whole = " ".join(text.split())
    return whole if len(whole) <= LONGEST else whole[:LONGEST].rsplit(" ", 1)[0] + " …"

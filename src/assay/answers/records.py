"""The values that a check of answers starts from: an answer, and the passages that its model was
given."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

LONGEST = 50_000  # characters of an answer, some 20 pages; more is no answer (taste)
MOST_GIVEN = 2_000_000  # characters of all passages of one answer
MOST_PASSAGES = 1_000
MOST_CITED = 1_000  # signs of a citation in one answer


class Reason(NamedTuple):
    """Why a check found what it did: the key of the sentence in reports/words, and its facts."""

    why: str
    facts: dict[str, str]


def because(why: str, **facts: str) -> Reason:
    return Reason(why, facts)


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A text that the model was given, with the id that the search engine knows it by."""

    id: str = ""
    text: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A generated answer. `passages` is None where a file does not tell what was retrieved."""

    id: str
    question: str = ""
    answer: str
    passages: tuple[Passage, ...] | None = None
    as_of: str = ""
    language: str = ""
    marked: tuple[tuple[int, tuple[int, ...]], ...] = ()  # TREC: end of a sentence, its passages

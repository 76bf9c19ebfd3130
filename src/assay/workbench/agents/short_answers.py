"""Shorten the answers of tools: agents pay for every word, and the tools promise 2,000 characters
where no limit is given."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

MAX_LINES = 50  # lines of a list that are considered; taste
DEFAULT_CHARACTERS = 1_950  # characters of an answer without a limit; 2,000 are promised
LEAST = 60  # characters of a passage, however many share the room; taste
AROUND = 20  # characters that a passage takes beside its text: its name, quotes and dots; chosen
Limit = Annotated[
    int,
    Meta(
        ge=0, le=200, description="The maximum number; 0 means as many as fit in 2,000 characters."
    ),
]
Offset = Annotated[
    int,
    Meta(ge=0, le=10**9, description="Where to start: the next_offset of the last answer."),
]
Answer = TypeVar("Answer", bound=msgspec.Struct)
SENTENCE = re.compile(r"(?<=[.;:?!…])\s+(?=\S)")


def encode_answer(answer: msgspec.Struct) -> str:
    """An answer as the text that an agent reads."""
    return json.dumps(msgspec.to_builtins(answer), ensure_ascii=False)


def fit_answer(answer: Answer, lines: str, offset: int) -> Answer:
    """The answer with as many of its lines as fit in `DEFAULT_CHARACTERS`, at least one; the
    others are on the next page."""
    every = getattr(answer, lines)
    kept = len(every)
    while kept > 1 and len(encode_answer(answer)) > DEFAULT_CHARACTERS:
        kept -= 1
        shorter = {lines: every[:kept], "next_offset": offset + kept}
        answer = msgspec.structs.replace(answer, **shorter)
    return answer


def room_for(answer: msgspec.Struct, passages: int, usual: int, least: int = LEAST) -> int:
    """How many characters each passage may have in an answer that has none yet. A list that is
    longer than usual gets a longer answer, not thinner passages."""
    whole = DEFAULT_CHARACTERS * max(passages, usual) // usual
    return max(least, (whole - len(encode_answer(answer))) // max(passages, 1) - AROUND)


def shorten_passage(passage: str, room: int, words: Sequence[str] = ()) -> str:
    """A passage in at most `room` characters, from the sentence with most of these words on."""
    if len(passage) <= room or not room:
        return passage if room else ""
    asked = [word.casefold() for word in words]

    def count_words(start: int, end: int) -> int:
        return sum(word in passage[start:end].casefold() for word in asked)

    cuts = [0, *(found.end() for found in SENTENCE.finditer(passage)), len(passage)]
    starts = [start for start, end in pairwise(cuts) if count_words(start, end)] or [0]
    begin = max(starts, key=lambda start: (count_words(start, start + room), -start))
    shown = passage[begin:]
    if len(shown) > room:
        shown = shown[:room].rsplit(" ", 1)[0].rstrip(" …") + " …"
    return f"… {shown}" if begin and not shown.startswith("…") else shown


def round_figure(value: float | None) -> float | None:
    """A figure with three decimals."""
    return None if value is None else round(value, 3)

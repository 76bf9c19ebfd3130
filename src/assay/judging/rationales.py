"""Checks of the reasons that judges write: long enough to be one, beyond the start of a sentence
that the rubric offers, and not too long to keep."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assay.core.errors import Declined

LONGEST = 4_000  # characters of a reason; taste
FEWEST, LETTERS = 3, 10  # words of a reason, and letters in them
LONG = 20  # letters of two words that say as much, in languages that write words together
ADDED = 3  # letters that follow a start that the rubric offers: "Another area of the law: tax"
GONE_ON = 5  # or, where its colon is gone: "Another area of the law entirely"
EXPECTED = (
    f"at least {FEWEST} words that name the rule or the fact; after a sentence that the rubric "
    "offers, what it means here"
)
_WORD = re.compile(r"[^\W_][\w'’׳״-]*")


def too_long(text: str, what: str = "the reason") -> str:
    """The problem with a reason that is too long; empty for others."""
    if len(text) <= LONGEST:
        return ""
    return f"{what} has {len(text):,} characters, and at most {LONGEST:,} are kept"


def refuse_long(text: str, what: str = "the reason") -> None:
    """Refuse a reason that is too long; it is never cut."""
    if told := too_long(text, what):
        raise Declined("text_long", told, hint="Say it shorter.", n=len(text), most=LONGEST)


def is_reason(text: str, starts: Iterable[str] = ()) -> bool:
    """Whether a text is a reason; `starts` are the starts of sentences that the page offers."""
    told = " ".join(text.split())
    if told.endswith(":"):
        return False
    for start in starts:
        bare = start.strip().rstrip(":")
        if bare and told.startswith(bare):
            added = told[len(bare) :]
            return _words_and_letters(added)[1] >= (ADDED if added.startswith(":") else GONE_ON)
    words, letters = _words_and_letters(told)
    return letters >= (LETTERS if words >= FEWEST else LONG) and words > 1


def _words_and_letters(text: str) -> tuple[int, int]:
    words = _WORD.findall(text)
    return len(words), sum(map(len, words))

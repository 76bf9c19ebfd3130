"""Whether what a judge wrote is a reason: a few words of their own, not a letter or the mere start
of a sentence that the rubric offers."""

from __future__ import annotations

import re
from collections.abc import Iterable

FEWEST, LETTERS = 3, 10  # words of a reason, and letters in them
LONG = 20  # letters of two words that say as much, in languages that write words together
ADDED, ADDED_LETTERS = 2, 5  # that follow a start of the rubric's
EXPECTED = (
    f"at least {FEWEST} words that name the rule or the fact; a start of a sentence needs its end"
)
_WORD = re.compile(r"[^\W_][\w'’׳״-]*")


def says_why(text: str, starts: Iterable[str] = ()) -> bool:
    """`starts` are those that the page offers for the grade."""
    told = " ".join(text.split())
    if told.endswith(":"):
        return False
    for start in starts:
        bare = start.strip().rstrip(":")
        if bare and told.startswith(bare):
            words, letters = _counted(told[len(bare) :])
            return words >= ADDED and letters >= ADDED_LETTERS
    words, letters = _counted(told)
    return letters >= (LETTERS if words >= FEWEST else LONG) and words > 1


def _counted(text: str) -> tuple[int, int]:
    words = _WORD.findall(text)
    return len(words), sum(map(len, words))

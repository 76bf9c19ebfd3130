"""Whether what a judge wrote is a reason: a few words of their own, not a letter or the mere start
of a sentence that the rubric offers."""

from __future__ import annotations

import re
from collections.abc import Iterable

FEWEST = 3  # words of a reason
LONG = 20  # letters of two words that say as much, in languages that write words together
ADDED = 2  # words that follow a start of the rubric's
EXPECTED = (
    f"at least {FEWEST} words that name the rule or the fact; a start of a sentence needs its end"
)
_WORD = re.compile(r"[^\W_][\w'’׳״-]+")


def says_why(text: str, starts: Iterable[str] = ()) -> bool:
    """`starts` are those that the page offers for the grade."""
    told = " ".join(text.split())
    if told.endswith(":"):
        return False
    for start in starts:
        bare = start.strip().rstrip(":")
        if bare and told.startswith(bare):
            return len(_WORD.findall(told[len(bare) :])) >= ADDED
    words = _WORD.findall(told)
    return len(words) >= FEWEST or (len(words) == 2 and sum(map(len, words)) >= LONG)

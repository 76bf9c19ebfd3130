"""Compare texts as a careful reader would: white space, hyphenation, typographic marks and the line
breaks of a scan make no difference, a changed word, number or negation does."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

_POINTS = re.compile("[\u0591-\u05c7\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_DECIMAL = re.compile(r"(?<=\d)[.,](?=\d{1,2}(?!\d))")
_BETWEEN = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+(?:[.,'’\"״׳][^\W_]+)*")
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\s*\n\s*(?=[^\W\d_])")
ELLIPSIS = re.compile(
    r"(?<!\s)\s*(?:[\[(]\s*)?(?:…|\.\s?\.\s?\.(?:\s?\.)?|[-–—]\s[-–—]\s?[-–—]?|---+)(?:\s*[\])])?\s*"
    r"|(?<!\s)\s*\[(?:--?|–|—)\]\s*"
)
_INSERTED = re.compile(r"\[([^\[\]]{1,60})\]")


@lru_cache(maxsize=2_000)
def letters_and_digits(text: str) -> str:
    """The letters and digits of a text alone, in lower case; a decimal point is kept."""
    plain = _POINTS.sub("", unicodedata.normalize("NFKC", text))
    return _BETWEEN.sub("", _DECIMAL.sub("ʻ", plain)).casefold()


def words(text: str) -> list[str]:
    """The words of a text with the breaks of a scan undone."""
    return _WORD.findall(_BROKEN.sub("", _POINTS.sub("", unicodedata.normalize("NFKC", text))))


def fragments(quote: str) -> list[str]:
    """The pieces of a quotation between its ellipses and the editor's insertions; one letter in
    brackets ("[T]he") belongs to its word."""
    whole = _INSERTED.sub(lambda m: m[1] if len(m[1].strip()) < 2 else " … ", quote)
    return [piece for piece in ELLIPSIS.split(whole) if letters_and_digits(piece)]


def stands_in(pieces: list[str], text: str) -> bool:
    """Whether pieces (flat) stand in a text (flat) in their order."""
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


class NearestText(NamedTuple):
    """The stretch of a text that is most like a quotation: the share of its words found there in
    order, and the difference word by word."""

    share: float
    diff: str
    source: str = ""


_MARGIN = 12  # words that may be missing from a quotation or be put into it (taste)
NO_TEXT = NearestText(0.0, "")
_MOST_COMPARED = 300  # words of a quotation: the comparison takes their square (taste)
_COMPARED = 3  # texts with most words of a quotation; the others are not compared with it (taste)


@lru_cache(maxsize=500)
def _fold_words(text: str) -> tuple[list[str], list[str], frozenset[str]]:
    """The words of a text, the same in lower case, and each once."""
    source = words(text)
    there = [word.casefold() for word in source]
    return source, there, frozenset(there)


def nearest_text(quote: str, texts: Iterable[tuple[str, str]]) -> NearestText:
    """The text, of several with their names, that has most of a quotation in its order; the first
    of those that are alike."""
    quoted = [word for piece in fragments(quote) for word in words(piece)][:_MOST_COMPARED]
    wanted = {word.casefold() for word in quoted}
    unique = {text: name for name, text in reversed(list(texts))}
    ranked = sorted(reversed(unique.items()), key=lambda one: -len(wanted & _fold_words(one[0])[2]))
    found = (
        _nearest_stretch(quoted, text)._replace(source=name) for text, name in ranked[:_COMPARED]
    )
    return max(found, key=lambda one: one.share, default=NO_TEXT)


def _nearest_stretch(quoted: list[str], text: str) -> NearestText:
    """Find where most words of a quotation stand close together in a text, and compare there."""
    source, there, _ = _fold_words(text)
    if not quoted or not source:
        return NO_TEXT
    folded = [word.casefold() for word in quoted]
    begin = _densest_window(folded, there)
    window = there[begin : begin + len(folded) + _MARGIN + len(folded) // 2]
    matcher = SequenceMatcher(None, window, folded, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return NO_TEXT
    share = sum(block.size for block in blocks) / len(folded)
    low, high = blocks[0].a - blocks[0].b, blocks[-1].a + blocks[-1].size
    low, high = max(0, low), high + len(folded) - blocks[-1].b - blocks[-1].size
    return NearestText(share, _word_diff(source[begin + low : begin + high], quoted))


def _densest_window(quoted: list[str], source: list[str]) -> int:
    """The start of the window, as long as the quotation, with most of its words."""
    wanted = Counter(quoted)
    size = len(quoted) + 2
    have: Counter[str] = Counter()
    best, best_at, score = -1, 0, 0
    for at, word in enumerate(source):
        if word in wanted:
            have[word] += 1
            score += have[word] <= wanted[word]
        if at >= size and (left := source[at - size]) in wanted:
            score -= have[left] <= wanted[left]
            have[left] -= 1
        if score > best:
            best, best_at = score, at
    return max(0, best_at - size - _MARGIN // 2)


def _word_diff(source: list[str], quoted: list[str]) -> str:
    """The difference in the notation of `wdiff`: [-in the source-] {+in the answer+}."""
    one, two = [w.casefold() for w in source], [w.casefold() for w in quoted]
    pieces = []
    for what, a, b, c, d in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if what == "equal":
            pieces.append(" ".join(quoted[c:d]))
            continue
        if b > a:
            pieces.append(f"[-{' '.join(source[a:b])}-]")
        if d > c:
            pieces.append(f"{{+{' '.join(quoted[c:d])}+}}")
    return " ".join(pieces)

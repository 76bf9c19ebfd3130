"""Queries that ask nearly the same thing: each counts in a mean as if it were another need.

Two queries are near-duplicates when their sets of words, or of four-letter pieces, share at least
`SIMILAR` of what both have together (Jaccard). Words see through their order, pieces through
spelling and endings. Pairs are found by prefix filtering (Chaudhuri, Ganti & Kaushik 2006): sets
that share so much must share one of their rarest few members, so only those are looked up."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.core.types import Query

SIMILAR = 0.8
PIECE = 4  # letters


class Twins(NamedTuple):
    """The later query, the earlier one it is like, and how much they share."""

    query: Query
    like: Query
    share: float


def near_duplicates(queries: Sequence[Query]) -> list[Twins]:
    """Every pair once, in the order of the set. A variant and what it was made from are alike by
    intent, and a text that is the same is another finding."""
    texts = [_normal(query.text) for query in queries]
    shares: dict[tuple[int, int], float] = {}
    for members in (_words, _pieces):
        for early, late, share in _alike([members(text) for text in texts]):
            shares[early, late] = max(share, shares.get((early, late), 0.0))
    return [
        Twins(queries[late], queries[early], share)
        for (early, late), share in sorted(shares.items(), key=lambda row: row[0][::-1])
        if texts[early] != texts[late] and _family(queries[early]) != _family(queries[late])
    ]


def _normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _family(query: Query) -> str:
    return str(query.extra.get("parent") or query.id)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pieces(text: str) -> frozenset[str]:
    joined = text.replace(" ", "")
    return frozenset(joined[at : at + PIECE] for at in range(max(1, len(joined) - PIECE + 1)))


def _alike(sets: Sequence[frozenset[str]]) -> Iterator[tuple[int, int, float]]:
    how_many = Counter(member for one in sets for member in one)

    def rarest(member: str) -> tuple[int, str]:
        return how_many[member], member

    seen_with: dict[str, list[int]] = defaultdict(list)
    for late, mine in enumerate(sets):
        if not mine:
            continue
        needed = math.ceil(SIMILAR * len(mine) - 1e-9)  # a float may be a hair above its whole
        prefix = sorted(mine, key=rarest)[: len(mine) - needed + 1]
        for early in sorted({early for member in prefix for early in seen_with[member]}):
            share = len(mine & sets[early]) / len(mine | sets[early])
            if share >= SIMILAR:
                yield early, late, share
        for member in prefix:
            seen_with[member].append(late)

"""The same inputs give the same bytes: nothing in an index follows the order of a set, which is
another in every process. The whole way, with other threads and hashes, is tried by
`benchmarks/reproducible.py`."""

from __future__ import annotations

from assay.language.analysis import analyzer
from assay.search.soft import lookalikes, word_grams


def test_grams_stand_in_an_order_of_their_own() -> None:
    words = ["היטל", "השבחה", "תכנית"]
    made = lookalikes(words, analyzer("he"))
    lemmas = [analyzer("he").lemma(word) for word in words]
    in_order: dict[str, None] = {}
    for word, lemma in zip(words, lemmas, strict=True):
        in_order |= dict.fromkeys(sorted(word_grams(word, lemma)))
    assert made.grams == list(in_order)

"""Postings made in blocks and ranges, on disk or in memory, are those of the formula."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Document
from assay.language.analysis import English
from assay.search import index, lexical
from assay.search.arrays import best_rows
from assay.search.lexical import Bm25, Inverter, TermCounter, count_terms, joined_counts

K1, B = 2.5, 0.9
texts = st.lists(st.text("abcd  ", max_size=14), min_size=1, max_size=30)


def in_blocks(drawn: list[str], size: int, folder: Path | None) -> tuple[Bm25, list[str]]:
    counter = TermCounter(str.split, lambda token: [token])
    inverter = Inverter(folder, "full")
    for start in range(0, len(drawn), size):
        inverter.add(counter.count(drawn[start : start + size]))
    vocabulary = list(counter.numbers)
    return inverter.bm25(vocabulary, k1=K1, b=B), vocabulary


@given(texts, st.integers(1, 7), st.integers(1, 9), st.booleans())
def test_every_posting_has_the_weight_of_the_formula(
    drawn: list[str], size: int, span: int, is_spilled: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(lexical, "BLOCK_POSTINGS", 1)
        patch.setattr(lexical, "RANGE", span)
        field, vocabulary = in_blocks(drawn, size, Path(folder) if is_spilled else None)
        counted = [Counter(text.split()) for text in drawn]
        lengths = np.array([sum(each.values()) for each in counted], float)
        filled = lengths[lengths > 0]
        average = filled.mean() if len(filled) else 1.0
        assert vocabulary == list(dict.fromkeys(term for each in counted for term in each))
        for number, term in enumerate(vocabulary):
            holding = [row for row, each in enumerate(counted) if term in each]
            assert field.postings(number).tolist() == holding
            idf = np.log1p((len(filled) - len(holding) + 0.5) / (len(holding) + 0.5))
            start = field.starts[number]
            for place, row in enumerate(holding, start=start):
                times = counted[row][term]
                norm = K1 * (1 - B + B * lengths[row] / average)
                assert field.impacts[place] == pytest.approx(
                    idf * times * (K1 + 1) / (times + norm), rel=1e-5
                )


@given(texts)
def test_counting_in_blocks_is_counting_at_once(drawn: list[str]) -> None:
    counter = TermCounter(str.split, lambda token: [token])
    blocks = [counter.count([text]) for text in drawn]
    together = joined_counts(list(counter.numbers), blocks)
    at_once = count_terms(drawn, str.split)
    assert together.vocabulary == at_once.vocabulary
    assert together.terms.tolist() == at_once.terms.tolist()
    assert together.frequencies.tolist() == at_once.frequencies.tolist()


def test_postings_on_disk_are_the_files_of_the_index(tmp_path: Path) -> None:
    from assay.search import index_files

    spill = tmp_path / "building"
    spill.mkdir()
    pairs = [
        (Document(id=str(n), text=f"the council voted on item {n % 7}", language="en"), str(n))
        for n in range(50)
    ]
    made = index.draft(pairs, dense=False, spill=spill).index
    index_files.save(made, tmp_path / "i", "")
    for path in spill.iterdir():
        path.unlink()
    opened = index_files.load(tmp_path / "i")
    in_memory = index.draft(pairs, dense=False).index
    for name in ("full", "characters"):
        assert (opened.fields[name].rows == in_memory.fields[name].rows).all()
        assert (opened.fields[name].impacts == in_memory.fields[name].impacts).all()


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(0, 9), st.integers(1, 3))
def test_the_best_rows_are_those_of_sorting(values: list[int], size: int, blocks: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.search.arrays.BLOCKS", blocks)
        found = best_rows(np.array(values, np.float32), size).tolist()
    expected = sorted(range(len(values)), key=lambda row: (-values[row], row))[:size]
    assert found == expected


@given(st.text("aZ'’§$9.,(b)é \u00ad_", max_size=40))
def test_a_token_is_the_same_in_ascii_and_beyond(text: str) -> None:
    english = English()
    folded = text.lower().translate(english._FOLD)
    assert english.tokens(text) == english._TOKEN.findall(folded)


@given(st.text("aZ'’9._é ²½", max_size=40))
def test_letters_are_what_is_a_letter_or_digit(text: str) -> None:
    spaced = "".join(each if each.isalnum() else " " for each in text.lower())
    assert index.letters_of(text) == spaced.split()

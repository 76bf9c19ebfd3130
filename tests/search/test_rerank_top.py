"""A closer look at the first documents: which moment comes first, which question is nearest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.core.types import Document, Locator
from assay.search import index, index_files
from assay.search.document_questions import DocumentQuestions, asked_of
from assay.search.index import Index
from assay.search.signals import look_closer

RULE = "Valtuusto päättää hallintosäännöstä."
ADDED = "Valtuusto päättää hallintosäännöstä vuosittain."


def act(*moments: str) -> Index:
    """One section with these moments, and another."""
    documents = [
        Document(
            id=str(number),
            title=f"Kuntalaki 90 § {number} mom.",
            text=text,
            language="fi",
            locator=Locator(section="90", moment=str(number)),
            metadata={"law": "Kuntalaki"},
        )
        for number, text in enumerate(moments, start=1)
    ]
    other = Document(
        id="other",
        title="Kuntalaki 95 §",
        text="Lautakunta kokoontuu kuukausittain.",
        language="fi",
        locator=Locator(section="95"),
        metadata={"law": "Kuntalaki"},
    )
    built = index.build([(each, each.id) for each in [*documents, other]], dense=False)
    return index.with_questions(built, [], [DocumentQuestions("2", ["kuka maksaa palkkion"])])


def ranked(made: Index, fused: Sequence[float], query: str, **signals: np.ndarray) -> list[str]:
    known = {"fused": np.array(fused), **signals}
    look_closer(made, known, query, made.analyzer.words(query), None)
    return [made.ids[row] for row in np.argsort(-known["fused"], kind="stable")]


def test_of_two_moments_that_say_as_much_the_earlier_comes_first() -> None:
    made = act(RULE, ADDED)
    query = "valtuusto päättää hallintosäännöstä"
    assert ranked(made, [1.0, 1.05, 0.2], query) == ["1", "2", "other"]
    assert ranked(made, [1.0, 1.5, 0.2], query) == ["2", "1", "other"]  # it is well ahead


def test_the_moment_that_says_more_of_the_question_comes_first() -> None:
    made = act(RULE, ADDED)
    query = "päättää hallintosäännöstä vuosittain"
    assert ranked(made, [1.05, 1.0, 0.2], query) == ["2", "1", "other"]
    asked = "kuka maksaa palkkion hallintosäännöstä"  # a question that was written for it says it
    assert ranked(made, [1.05, 1.0, 0.2], asked) == ["2", "1", "other"]


def test_a_section_well_ahead_and_a_named_moment_keep_their_places() -> None:
    made = act(RULE, ADDED)
    query = "valtuusto päättää hallintosäännöstä"
    assert ranked(made, [1.0, 1.05, 2.0], query) == ["other", "1", "2"]
    cited = np.array([0.5, 1.0, 0.0])
    assert ranked(made, [1.0, 1.05, 0.2], query, citation=cited) == ["2", "1", "other"]
    assert ranked(replace(made, written=None), [1.0, 1.05, 0.2], query) == ["1", "2", "other"]


def test_the_nearest_question_of_each_document() -> None:
    many = [DocumentQuestions("a", ["x", "y"]), DocumentQuestions("c", ["z"])]
    asked = asked_of(["a", "b", "c"], [], many, str.split)
    assert asked is not None
    known = replace(asked, vectors=np.array([[1, 0], [0, 1], [-1, 0]], np.float16))
    near = known.nearest(np.array([0.6, 0.8], np.float32), np.array([2, 1, 0]))
    assert near[[0, 2]] == pytest.approx([-0.6, 0.8], abs=1e-3)
    assert np.isnan(near[1])


def test_an_index_keeps_what_was_asked(tmp_path: Path) -> None:
    made = act(RULE, ADDED)
    assert made.written is not None
    vectors = np.array([[0.5, 0.5]], np.float16)
    kept = replace(made, written=replace(made.written, vectors=vectors))
    index_files.save(kept, tmp_path, "f")
    opened = index_files.load(tmp_path, "f").written
    assert opened is not None
    assert list(opened.texts) == ["kuka maksaa palkkion"]
    assert opened.vectors is not None
    assert np.array_equal(opened.vectors, vectors)

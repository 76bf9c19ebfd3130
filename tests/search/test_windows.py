"""Long documents by windows, and questions that name the work whose passage they ask for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.core.types import Document
from assay.search import index, index_files
from assay.search.engine import Engine, work_named
from assay.search.index import WINDOW_WORDS, cut

FILLER = (
    "The committee met in spring and heard what the departments had to say about roads schools "
    "water forests and harbours before it turned to other matters of the year "
)


def _long(name: str, inside: str) -> Document:
    """A document of some nine hundred words with one sentence in its second half."""
    text = FILLER * 26 + inside + " " + FILLER * 6
    return Document(id=name, text=text, language="en")


def _ids(built: index.Index, question: str) -> list[str]:
    return [hit.doc_id for hit in Engine(built).search(question, 3)]


def _longs() -> list[tuple[Document, str]]:
    parts = ("beacon ", "keeper ", "stipend ", "beacon ")
    scattered = "".join(FILLER * 8 + part for part in parts)
    documents = [
        Document(id="scattered", text=scattered, language="en"),
        _long("together", "The keeper of the beacon receives a stipend."),
        _long("other", "Nets are mended in the winter."),
        _long("last", "Bread is baked at dawn."),
    ]
    return [(document, document.id) for document in documents]


def test_windows_are_of_about_the_same_length_and_lose_no_word() -> None:
    words = [f"w{number}" for number in range(1_130)]
    windows = cut(" ".join(words))
    assert " ".join(windows).split() == words
    assert {len(window.split()) for window in windows} <= set(
        range(WINDOW_WORDS - 20, WINDOW_WORDS + 20)
    )
    assert cut("a short text") == ["a short text"]


def test_words_that_stand_together_count_more_than_words_far_apart() -> None:
    built = index.build(_longs(), dense=False)
    assert built.windows is not None
    question = "stipend of the beacon keeper"
    assert _ids(built, question)[0] == "together"
    assert _ids(replace(built, windows=None), question)[0] == "scattered"


def test_short_documents_have_no_windows() -> None:
    built = index.build([(Document(id="a", text="A rule.", language="en"), "a")], dense=False)
    assert built.windows is None


def test_the_encoder_reads_every_window_and_an_index_on_disk_has_them(tmp_path: Path) -> None:
    built = index.build(_longs())
    assert built.windows is not None
    assert built.windows.vectors is not None
    assert len(built.windows.vectors) == int(built.windows.offsets[-1]) - len(built)
    index_files.save(built, tmp_path, "same")
    opened = index_files.load(tmp_path, "same")
    assert opened.windows is not None
    assert opened.vectors is not None
    np.testing.assert_array_equal(opened.windows.vectors, built.windows.vectors)
    np.testing.assert_array_equal(opened.vectors, built.vectors)
    question = "stipend of the beacon keeper"
    assert _ids(opened, question) == _ids(built, question)


def test_vectors_of_windows_are_taken_over_from_the_index_before() -> None:
    before = index.build(_longs())
    more = [*_longs()[::-1], (_long("new", "A new harbour is dug."), "new")]
    made = index.draft(more, previous=before)
    assert {len(part.texts) for part in made.texts} == {1}
    new = len(cut(more[-1][0].text))
    assert len(made.texts) == new, "only the new document is encoded"
    fresh = index.build(more)
    again = index.build(more, previous=before)
    assert fresh.windows is not None
    assert again.windows is not None
    np.testing.assert_allclose(again.windows.vectors, fresh.windows.vectors, atol=1e-6)


# ── works ─────────────────────────────────────────────────────────────────────────────────────────

CLAUSES = (
    "This agreement is made between {} and {}.",
    "Either party may end the agreement with thirty days of notice.",
    "What was disclosed stays confidential for five years after the end.",
    "Disputes are settled by the courts of the capital.",
)
PARTIES = {
    "c1": ("Harkwell Mills", "Osprey Trading"),
    "c2": ("Lindqvist Foods", "Norwold Ferries"),
    "c3": ("Pellinore Glass", "Quayside Timber"),
    "c4": ("Ravelston Ink", "Sandhythe Salt"),
}


def _contracts(titled: bool, language: str = "en") -> index.Index:
    documents = [
        Document(
            id=f"{name}-{number}",
            title=f"Agreement of {PARTIES[name][0]}" if titled else f"{name}.pdf",
            text=clause.format(*PARTIES[name]),
            language=language,
        )
        for name in PARTIES
        for number, clause in enumerate(CLAUSES)
    ]
    return index.build([(document, document.id) for document in documents], dense=False)


QUESTION = "Consider the agreement of Pellinore Glass; how long does it stay confidential?"


def test_a_question_that_names_its_document_is_answered_by_a_passage_of_it() -> None:
    """The name stands in the first passage alone, and the answer in another."""
    built = _contracts(titled=False)
    assert _ids(built, QUESTION)[0] == "c3-2"
    assert _ids(replace(built, works=[]), QUESTION)[0] != "c3-2"
    assert _ids(_contracts(titled=True), QUESTION)[0] == "c3-2"


def test_the_rest_of_the_question_is_what_is_not_the_name() -> None:
    named = work_named(_contracts(titled=True), QUESTION)
    assert named is not None
    assert "Pellinore" not in named.rest
    assert "confidential" in named.rest


def test_no_document_is_named_by_words_that_all_have_or_by_a_name_alone() -> None:
    built = _contracts(titled=True)
    assert work_named(built, "how long does it stay confidential?") is None
    assert work_named(built, "Pellinore Glass") is None


def test_titles_that_differ_name_no_work() -> None:
    documents = [Document(id=name, title=name, text="A rule.", language="en") for name in PARTIES]
    assert not index.build([(each, each.id) for each in documents], dense=False).works


def test_the_title_of_most_documents_names_no_work() -> None:
    def works(*titles: str) -> list[str]:
        documents = [Document(id=str(n), title=one, text="A rule.") for n, one in enumerate(titles)]
        return index.build([(each, each.id) for each in documents], dense=False).works

    others = ["Orders"] * 4 + ["Letters"] * 2
    assert not works(*["Tribunal"] * 7, *others)
    assert works(*["Tribunal"] * 6, *others) == ["Letters", "Orders", "Tribunal"]

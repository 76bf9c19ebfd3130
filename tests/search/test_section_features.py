"""What a moment gains by its section, and a provision by its act."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.core.types import Document, Locator
from assay.search import index
from assay.search.arrays import unit_rows
from assay.search.confidence import is_headed
from assay.search.signals import (
    SEARCHED,
    VOTING,
    act_questions,
    vector_signals,
    words_searched,
)

PLACES = [("A", "1", "1"), ("A", "1", "2"), ("A", "2", "1"), ("B", "1", "1"), ("B", "1", "2")]


def made() -> index.Index:
    documents = [
        Document(
            id=f"{law}:{section}:{moment}",
            title=f"{law}-laki {section} § {moment} mom.",
            text=f"Valtuusto päättää asiasta {law} {section} {moment} kokouksessa.",
            language="fi",
            locator=Locator(doc_id=law, section=section, moment=moment),
            metadata={"law": f"{law}-laki"},
        )
        for law, section, moment in PLACES
    ]
    return index.build([(document, document.id) for document in documents], dense=False)


def test_a_section_is_as_near_as_the_mean_of_its_moments() -> None:
    built = made()
    assert built.section_starts.tolist() == [0, 2, 3]  # 1 § of one act is not 1 § of another
    documents = [(Document(id="1", title="", text="x", language="fi"), "1")]
    profile = index.build(documents, encoder="law-fi-1").profile
    drawn = np.random.default_rng(0).standard_normal((6, 256 + 192)).astype(np.float32)
    halves = [unit_rows(drawn[:, :256]), unit_rows(drawn[:, 256:])]
    *vectors, asked = unit_rows(np.hstack(halves))
    built = replace(built, profile=profile, vectors=np.array(vectors))
    signals = vector_signals(built, built.vectors, asked)
    assert signals["dense"] == pytest.approx(np.array(vectors) @ asked, abs=1e-6)
    context = halves[0]
    means = unit_rows([context[:2].mean(0), context[2], context[3:5].mean(0)])
    expected = (means @ context[5])[[0, 0, 1, 2, 2]]
    assert signals["section_dense"] == pytest.approx(expected, abs=1e-6)


def test_the_best_few_questions_speak_for_an_act() -> None:
    built = made()
    asked = np.array([0.5, 0.5, 0.0, 0.9, 0.0], np.float32)
    votes = act_questions(built, asked)
    assert np.allclose(votes, [1.0 / VOTING] * 3 + [0.9 / VOTING] * 2)


def test_documents_without_a_section_are_their_own() -> None:
    documents = [
        (Document(id=str(number), title="", text=f"Teksti {number}.", language="fi"), str(number))
        for number in range(3)
    ]
    built = index.build(documents, dense=False)
    assert built.section_starts.tolist() == [0, 1, 2]


def test_what_a_heading_says_is_what_is_asked_for() -> None:
    heading, text = "Tilinpäätöksen ja toimintakertomuksen rekisteröinti", "Jäljennös ilmoitetaan."
    document = Document(
        id="1",
        title=heading,
        text=text,
        language="fi",
        locator=Locator(section="9"),
        metadata={"law": "Kirjanpitolaki", "section_title": heading},
    )
    built = index.build([(document, "1")], dense=False)

    def headed(question: str) -> bool:
        return is_headed(built, built.analyzer.words(question), 0)

    assert headed("tilinpäätöksen rekisteröinti")
    assert not headed("auton rekisteröinti")
    assert not headed("jäljennös ilmoitetaan")  # the text alone
    assert not headed("")


def test_of_many_words_those_that_fewest_documents_have_are_searched_for() -> None:
    usual = [f"yleinen{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    rare = [f"harva{letter}" for letter in "abcdefghij"]
    texts = [*[" ".join(usual)] * 3, " ".join(rare)]
    documents = [
        Document(id=str(number), text=text, language="fi") for number, text in enumerate(texts)
    ]
    made = index.build([(each, each.id) for each in documents], dense=False)
    asked = words_searched(made, " ".join([*usual, *rare, "tuntematon"]))
    assert asked == [*usual[: SEARCHED - 11], *rare, "tuntematon"]
    assert words_searched(made, "yleinena harvaa yleinena") == ["yleinena", "harvaa"]

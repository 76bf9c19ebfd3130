"""An act that a question names or is about decides, and what it excludes does not attract."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.core.types import Document, Locator
from assay.law.parse import Scheme, laws_named
from assay.search import index
from assay.search.document_questions import DocumentQuestions, asked_of
from assay.search.engine import Engine
from assay.search.signals import SoftQuestion, soft_signals

TEXTS = {
    "Kuntalaki": [
        ("Tilinpäätös", "Kunnanhallituksen on laadittava tilinpäätös maaliskuun loppuun mennessä."),
        ("Kunnanhallitus", "Kunnanhallitus vastaa kunnan hallinnosta ja taloudenhoidosta."),
        ("Alijäämä", "Kunnan taseeseen kertynyt alijäämä tulee kattaa neljässä vuodessa."),
    ],
    "Osakeyhtiölaki": [
        ("Tilinpäätös", "Osakeyhtiön tilinpäätös laaditaan kirjanpitolain ja kuntalain estämättä."),
        ("Hallitus", "Hallitus huolehtii yhtiön hallinnosta ja toiminnan järjestämisestä."),
        ("Konkurssi", "Yhtiön omaisuus voidaan luovuttaa konkurssiin hallituksen päätöksellä."),
    ],
}


@pytest.fixture(scope="module")
def engine() -> Engine:
    documents = [
        Document(
            id=f"{law}:{number}",
            title=title,
            text=text,
            language="fi",
            locator=Locator(doc_id=law, section=str(number)),
            metadata={"law": law, "section_title": title},
        )
        for law, provisions in TEXTS.items()
        for number, (title, text) in enumerate(provisions, 1)
    ]
    return Engine(index.build([(one, one.id) for one in documents], dense=False))


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Milloin tilinpäätös laaditaan kuntalain mukaan?", "Kuntalaki:1"),
        ("Milloin tilinpäätös laaditaan OYL:n mukaan?", "Osakeyhtiölaki:1"),
        ("Mitä KuntaL:ssa sanotaan hallinnosta?", "Kuntalaki:2"),
        ("Kuka vastaa hallinnosta (EI kunnanhallitus)", "Osakeyhtiölaki:2"),
        ("Kuka vastaa hallinnosta, ei osakeyhtiön hallitus", "Kuntalaki:2"),
    ],
)
def test_the_act_that_is_named_and_what_is_excluded(
    engine: Engine, question: str, first: str
) -> None:
    assert engine.search(question, 3, texts=False)[0].doc_id == first


def test_a_section_is_all_that_is_asked_for_or_one_thing_among_others(engine: Engine) -> None:
    def found(question: str) -> list[str]:
        return [hit.doc_id for hit in engine.search(question, 3, texts=False)]

    assert {*found("Mitä 3 §:ssä sanotaan?")[:2]} == {"Kuntalaki:3", "Osakeyhtiölaki:3"}
    asked = "Missä ajassa kunnan taseeseen kertynyt alijäämä tulee kattaa 1 §:n estämättä?"
    assert "Kuntalaki:3" in found(asked)[:2]  # and not the first sections of both acts


def test_where_the_act_that_is_named_says_nothing_another_may(engine: Engine) -> None:
    hits = engine.search("Omaisuus luovutettu konkurssiin kuntalain mukaan", 3, texts=False)
    assert (hits[0].doc_id, hits.abstained) == ("Osakeyhtiölaki:3", False)


def test_a_section_that_an_act_here_does_not_have_is_not_answered(engine: Engine) -> None:
    def score(question: str) -> float:
        return engine.search(question, 1, texts=False)[0].score or 0.0

    assert score("Kunnan tilinpäätös, kuntalain 200 §") < 0.1
    assert score("Kunnan tilinpäätös, hallintolain 200 §") > 0.1  # a word like others


@pytest.mark.parametrize("question", ["voiko kunta mennä konkurssiin?", "kaupungin konkurssi?"])
def test_an_act_is_named_by_its_subject(engine: Engine, question: str) -> None:
    assert engine.search(question, 1, texts=False)[0].doc_id.startswith("Kuntalaki")


def test_a_word_that_one_act_has_to_itself_stands_beside_the_subject() -> None:
    provisions = [("Kuntalaki", "Valitus", "Kunnan päätöksestä saa valittaa hallinto-oikeuteen.")]
    provisions += [
        ("Laki julkisista hankinnoista", "Tarjouskilpailu", f"Tarjouskilpailu, kohta {number}.")
        for number in range(24)
    ]
    built = index.build([(one, one.id) for one in _acts(provisions)], dense=False)

    def subject(question: str) -> list[bool]:
        gains = soft_signals(built, SoftQuestion(text=question))["subject"]
        return [bool(gains[0] > 0), bool((gains[1:] > 0).all()), bool((gains[1:] > 0).any())]

    assert subject("Mihin kaupungin tarjouskilpailusta valitetaan?") == [True, True, True]
    assert subject("Mihin kaupungin päätöksestä valitetaan?") == [True, False, False]


def test_written_questions_do_not_outvote_the_act_that_is_named() -> None:
    provisions = [("Kuntalaki", "Alijäämä", "Kunnan alijäämä tulee kattaa.")]
    provisions += [("Osakeyhtiölaki", "Konkurssi", f"Konkurssi {number}.") for number in range(6)]
    built = index.build([(one, one.id) for one in _acts(provisions)], dense=False)
    questions = [
        DocumentQuestions(id=one.id, questions=["voiko mennä konkurssiin"])
        for one in _acts(provisions)[1:]
    ]
    asked = asked_of(built.ids, questions, [], built.analyzer.terms)
    made = replace(built, written=asked)
    question = SoftQuestion(text="voiko kunta mennä konkurssiin?")
    votes = soft_signals(made, question)["act_questions"]
    assert votes[0] >= votes[1:].max()


def _acts(provisions: list[tuple[str, str, str]]) -> list[Document]:
    return [
        Document(
            id=f"{law}:{number}",
            title=title,
            text=text,
            language="fi",
            locator=Locator(doc_id=law, section=str(number)),
            metadata={"law": law, "section_title": title},
        )
        for number, (law, title, text) in enumerate(provisions)
    ]


def test_a_law_that_is_only_spoken_of_is_not_the_one_asked_by() -> None:
    assert laws_named("Kuntalain mukaan kuka päättää?", "fi") == [("kuntalaki", 0, 9)]
    assert laws_named("Sovelletaanko hankintalakia kunnassa?", "fi") == []
    assert [name for name, _, _ in laws_named("kuka päättää kuntalain mukaan", "fi")] == [
        "kuntalaki"
    ]
    assert laws_named("mitä sanoo חוק", "en") == []
    assert [name for name, _, _ in laws_named("לפי חוק המקרקעין מי הבעלים?", "he")] == [
        "חוק המקרקעין"
    ]
    assert laws_named("קיבלתי צו הריסה", "he") == []


def test_a_question_mark_ends_the_name_of_a_law_and_a_known_name_goes_on() -> None:
    def named(text: str, *known: str) -> list[str]:
        return [name for name, _, _ in laws_named(text, "he", Scheme(laws=known))]

    assert named("על מי נטל ההוכחה לפי חוק המחשבים?") == ["חוק המחשבים"]
    ill = "חוק החולה הנוטה למות"
    assert named(f"מי מחליט לפי {ill}, ומה אם הדעות שקולות?", ill) == [ill]

"""Words of other subjects: what they are, and when a subject is here."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assay.core.types import Document
from assay.search import elsewhere, index
from assay.search.answers import note_of
from assay.search.elsewhere import Elsewhere
from assay.search.engine import Hits

COUNCIL = ["Valtuusto kokoontuu neljä kertaa vuodessa.", "Lautakunta päättää asiasta."]
WILLS = [
    "Testamentti on tehtävä kirjallisesti.",
    "Perillinen saa perinnön, ja leski pitää kodin.",
    "Perintö jaetaan, kun perukirja on tehty; rintaperillinen saa lakiosan.",
]


def made(
    texts: Sequence[str], law: str, language: str = "fi", headings: Sequence[str] = ("", "", "")
) -> Elsewhere:
    documents = [
        Document(
            id=f"{law}:{number}",
            title=f"{law} {number} § {headings[number - 1]}",
            text=text,
            language=language,
            metadata={"law": law},
        )
        for number, text in enumerate(texts, start=1)
    ]
    pairs = [(document, document.id) for document in documents]
    return Elsewhere(index.build(pairs, dense=False))


def share(subjects: Elsewhere, *words: str) -> float:
    return subjects.best(dict.fromkeys(words, 1.0)) / len(words)


def test_the_words_of_one_subject_add_up_and_those_of_several_do_not() -> None:
    council = made(COUNCIL, "Kuntalaki")
    assert share(council, "testamentin", "perillinen") > 0.6
    assert share(council, "testamentti", "ajokortti") <= 0.6
    assert share(council, "kokoontuu", "neljä") < 0.3
    assert council.best({}) == 0


def test_the_acts_of_a_clear_subject_are_named() -> None:
    council = made(COUNCIL, "Kuntalaki")
    assert council.acts({"testamentti": 1.0, "tehdään": 1.0}) == ("Perintökaari",)
    assert council.acts({"testamentti": 0.1, "kokoontuu": 1.0, "neljä": 1.0}) == ()
    assert council.acts({"kakku": 1.0}) == ()  # no act is about it
    assert council.acts({}) == ()


def test_what_the_collection_is_about_is_not_elsewhere() -> None:
    assert share(made(COUNCIL, "Kuntalaki"), "valtuusto", "lautakunta") < 0.3
    assert share(made(COUNCIL, "Muu laki"), "valtuusto", "lautakunta") > 0.6  # by its name alone
    assert share(made(WILLS, "Perintökaari"), "testamentti", "leski") < 0.3
    assert share(made(COUNCIL, "Osakeyhtiölaki"), "taloyhtiö", "yhtiövastike") > 0.6


def test_a_subject_is_also_here_where_an_act_has_its_words_in_headings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["testamentti", "perillinen", "leski", "perintö", "perukirja"]
    few = [(["Perintökaari"], [(word,) for word in words])]
    monkeypatch.setattr(elsewhere, "_subjects", lambda language: few)
    elsewhere._words.cache_clear()
    headings = ["Testamentti", "Perillinen ja leski", "Perukirja"]
    try:
        assert share(made(WILLS, "Muu laki"), "testamentti", "leski") == 1  # in the text alone
        assert share(made(WILLS, "Muu laki", headings=headings), "testamentti", "leski") == 0
        few[0] = (few[0][0], few[0][1][:4])  # too few words to tell
        assert share(made(WILLS, "Muu laki", headings=headings), "testamentti", "leski") == 1
    finally:
        elsewhere._words.cache_clear()


def test_hebrew_words_are_found_with_their_prefixes() -> None:
    plans = made(["ועדה מקומית תדון בתכנית."], "חוק התכנון והבניה", "he")
    assert share(plans, "הצוואה", "לירושה") > 0.6
    assert share(plans, "תכנית", "ועדה") < 0.3


def test_a_phrase_counts_as_a_whole_and_half_in_part() -> None:
    plans = made(["ועדה מקומית תדון בתכנית."], "חוק התכנון והבניה", "he")
    assert plans.best({"שיעורי": 1.0, "בית": 1.0}) == 2  # homework
    assert plans.best({"שיעור": 1.0, "היטל": 1.0}) <= 0.5  # the rate of a levy


@pytest.mark.parametrize("language", ["fi", "he"])
def test_each_line_has_words_and_no_subject_stands_twice(language: str) -> None:
    subjects = elsewhere._subjects(language)
    names = [act for acts, _ in subjects for act in acts]
    assert len(subjects) > 100
    assert all(words for _, words in subjects)
    assert len(names) == len(set(names))


def test_a_language_without_a_list_has_nothing_elsewhere() -> None:
    assert elsewhere._subjects("sv") == []


def test_a_refusal_names_the_law_that_may_answer() -> None:
    hits = Hits.none()
    assert note_of(hits) == ""
    hits.elsewhere = ("Perintökaari", "Holhoustoimilaki")
    assert "such as Perintökaari or Holhoustoimilaki" in note_of(hits)

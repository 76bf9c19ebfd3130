"""What a question leaves out (in few forms, never by the *not* of a verb), and its filler words."""

from __future__ import annotations

import pytest

from assay.language.questions import is_filler, without_excluded


@pytest.mark.parametrize(
    ("language", "question", "excluded"),
    [
        ("fi", "Hallituksen tehtävät (EI kunnanhallitus)", "kunnanhallitus"),
        ("fi", "Oikaisuvaatimus kunnassa, ei kunnallisvalitus", "kunnallisvalitus"),
        ("fi", "Ei osakeyhtiön vaan kunnan tilinpäätös", "osakeyhtiön"),
        ("fi", "Kynnysarvot lukuun ottamatta EU-kynnysarvoja", "EU-kynnysarvoja"),
        ("fi", "EU-kynnysarvoja lukuun ottamatta kynnysarvot", "EU-kynnysarvoja"),
        ("fi", "Osakeanti, paitsi maksuton osakeanti: kuka päättää?", "maksuton osakeanti"),
        ("fi", "Mitä tilinpäätökseen kuuluu muualla kuin kunnassa?", "kunnassa"),
        ("en", "Gift limits (not travel)", "travel"),
        ("en", "conflict of interest, not campaign rules", "campaign rules"),
        ("en", "reporting of gifts except meals", "meals"),
        ("he", "זכויות השוכר (לא המשכיר)", "המשכיר"),
        ("he", "כל העובדים למעט עובדי מדינה, מי זכאי?", "עובדי מדינה"),
        ("he", "מי משלם, לא המוכר אלא הקונה?", "המוכר"),
    ],
)
def test_what_is_excluded_is_told_apart(language: str, question: str, excluded: str) -> None:
    asked = without_excluded(question, language)
    assert asked.excluded == excluded
    assert excluded not in asked.wanted


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("fi", "Eikö kunta ole velvollinen maksamaan?"),
        ("fi", "Mitä jos kunta ei maksa laskua?"),
        ("fi", "Kunta maksaa, ei tarvitse hakea"),
        ("fi", "Onko pakko, jos ei ole rahaa, tehdä budjetti"),
        ("en", "May a member who did not vote take part?"),
        ("en", "When is a gift, except as provided by law, reported?"),
        ("he", "קניתי דירה, לא קיבלתי חשבונית"),
        ("he", "חוץ מזה מה מגיע לי?"),
        ("sv", "inte detta (inte det)"),
    ],
)
def test_the_not_of_a_verb_excludes_nothing(language: str, question: str) -> None:
    assert without_excluded(question, language) == (question, "")


def test_something_is_always_asked_for() -> None:
    assert without_excluded("(ei mikään muu)", "fi").wanted == "(ei mikään muu)"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("fi", "montako paljonko mulla pääseekö saanko tarvitaanko kenelle tehdä of"),
        ("he", "מהו וכמה כשאני שצריכים ללא"),
        ("en", "someone happens getting"),
    ],
)
def test_what_asks_or_fills_is_told(language: str, words: str) -> None:
    assert [word for word in words.split() if not is_filler(word, language)] == []


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("fi", "menettely toimielin jäävi saatava tulos kunta antolaina otto"),
        ("he", "שמאי שכן מלא לאשר היתר"),
        ("en", "gift council tie"),
        ("", "something"),
    ],
)
def test_what_is_asked_for_is_none(language: str, words: str) -> None:
    assert [word for word in words.split() if is_filler(word, language)] == []

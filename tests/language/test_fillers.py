"""Words that ask or fill a sentence."""

from __future__ import annotations

import pytest

from assay.language.fillers import is_filler


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

"""One guesser of languages, and everybody who guesses asks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.types import Document
from assay.corpus import import_corpus, open_corpus
from assay.judging.perturb import language_of
from assay.language import terms
from assay.language.detect import detect
from assay.search import index

SENTENCE = "Kunnanvaltuusto päättää talousarviosta"
TABLE = [
    # Finnish: no word that only holds a sentence together, no ä, one long word, spoken language
    (SENTENCE, "fi"),
    ("alijäämän kattaminen", "fi"),
    ("kuntalain 110 §", "fi"),
    ("varhaiskasvatuksen palvelut", "fi"),
    ("Tilinpäätöksen tase ja tuloslaskelma", "fi"),
    ("Milloin kunta saa ottaa lainaa?", "fi"),
    ("mita laki vaatii jos kunta on pahassa jamassa", "fi"),
    ("paatos valtuustossa", "fi"),
    ("Kunnan talous", ""),
    # English
    ("The council adopts the budget", "en"),
    ("conflict of interest", "en"),
    ("Section 87103(a)", "en"),
    ("campaign disclosure statements", "en"),
    ("May a council member vote on a contract?", "en"),
    ("lobbyist registration", "en"),
    # Hebrew, by its letters
    ("היטל השבחה", "he"),
    ("סעיף 197", "he"),
    ("סעיף 197 (section 197)", "he"),
    # neither, or too little to say
    ("", ""),
    ("2024 2023", ""),
    ("kunta", ""),
    ("lawn", ""),
    ("Kommunfullmäktige beslutar om budgeten", ""),
    ("Der Gemeinderat beschließt über den Haushalt", ""),
    ("Le conseil municipal adopte le budget", ""),
]


@pytest.mark.parametrize(("text", "language"), TABLE)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert detect(text) == language
    assert detect([text]) == language
    assert detect(text.upper()) == language


def test_everybody_who_guesses_says_the_same(tmp_path: Path) -> None:
    """An index, an imported table, the variants of a question and the evidence of a golden test."""
    source = tmp_path / "table.jsonl"
    source.write_text(f'{{"id": "a", "text": "{SENTENCE}"}}\n', encoding="utf-8")
    import_corpus("jsonl", source, name="c", home=tmp_path)
    guesses = {
        open_corpus(tmp_path, "c").get("a").language,
        index.build([(Document(id="a", text=SENTENCE), "a")], dense=False).profile.language,
        language_of(SENTENCE),
        detect(terms.fold(SENTENCE)),
    }
    assert guesses == {"fi"}
    assert terms.contains_term(SENTENCE, "talousarvio")

"""Text that others send is read in time that grows with its length, whatever is in it."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable
from itertools import product

import pytest

from assay.answers import check, mentions, texts
from assay.core.redaction import without_password
from assay.language import amounts, figures
from assay.language.detect import detect
from assay.law.authorities import acts_named, authorities
from assay.law.parse import law_name, laws_named, parse
from assay.law.queries import normal_query
from assay.law.spellings import SPELLINGS
from assay.telemetry.records import BUILT_IN, redact, redactor

Reader = Callable[[str], object]
LANGUAGES = ("fi", "en", "he")
READERS: dict[str, Reader] = {
    **{f"citations, {name}": lambda text, name=name: parse(text, name) for name in LANGUAGES},
    **{f"laws, {name}": lambda text, name=name: laws_named(text, name) for name in LANGUAGES},
    "name of a law": law_name,
    "normal form": normal_query,
    "authorities": lambda text: list(authorities(text, "en")),
    "acts": lambda text: list(acts_named(text)),
    "passwords": without_password,
    "redaction": lambda text: redact(text, redactor(list(BUILT_IN))),
    "amounts": amounts.numbers_in,
    "language": detect,
    "figures": figures.figures_in,
    "values": figures.values_in,
    "quotations": mentions.find_quotes,
    "sentences": lambda text: mentions.sentence_ends(text, []),
    "refusal": lambda text: check.refusal_in([text], cites=False),
    "fragments": texts.fragments,
    "nearest text": lambda text: texts.nearest_text(text, [("a", f"{text} b")]),
}
# repeated without end: each is the beginning of something that a reader looks for the end of
HOSTILE = [
    *("1-", "1, ", "1 ja ", "§ 1 ", "1 § ", "(a)", "1 mom. ", "annetun lain ", "KuntaL ", "6:21 "),
    *("Section 1(a)", "s. ", "Act ", "The A. ", "Code ", "v. ", "חוק ", "סעיף 1 ", "(א)", "-1965 "),
    *(
        " ",
        "\n",
        "a",
        "1",
        "1.",
        '"',
        "“",
        "[1",
        "[",
        ">\n",
        "...",
        "://a",
        "a=",
        "password='",
        "a@",
    ),
    *("twenty ", "kaksi", "€1 ", "1 000 ", "1 (", "5§", "OYL 6:21, ", "lain 13 luku ", "\r\n"),
    *(
        "section 5 of the Act ",
        "section 5 of that Act ",
        "Water Act 2030, s. 5 of the 2030 Act ",
        "„a",
    ),
]
# what a few thousand characters do not show, since each step is a quick one over all of them
LONG = [
    ("amounts", "(1) "),
    ("figures", "1.1.2020 5 € "),
    ("sentences", "\r\n"),
    ("quotations", "„a"),
    ("quotations", '> "a" b\n\n'),
]
CHARACTERS = 400_000
# what stands beside sections and points to other citations
BESIDE = {
    "en": ("No. 78-44", "Smith, supra,", "Id. at 3", "In re Smith (1990) 12 FPPC Ops. 3", "Letter"),
    "fi": ("annetun", "laki", "(410/2015)", "1, 2,"),
    "he": ('(להלן: "החוק")', 'ע"א 123/45', 'התשכ"ה-1965', "לחוק"),
}
FEW_PAIRS = 15
SHORTEST, LONGEST = 2_000, 8_000  # characters
NOTICED = 0.03  # seconds of the processor, below which a clock says nothing
GROWTH = 2.6  # at most, where the text is twice as long


def seconds(read: Reader, text: str) -> float:
    """The least time of three of this thread, since other programs slow single ones down. Each text
    differs, so that nothing is remembered."""
    least = float("inf")
    for turn in range(3):
        begin = time.thread_time()
        read(f"{text}{'x' * turn}")
        least = min(least, time.thread_time() - begin)
        if least < NOTICED:
            break
    return least


@pytest.mark.parametrize("reader", list(READERS))
def test_twice_the_text_takes_twice_the_time(reader: str) -> None:
    for unit in HOSTILE:
        _check_growth(READERS[reader], unit)


@pytest.mark.parametrize("language", LANGUAGES)
def test_any_two_words_of_citations_again_and_again(language: str) -> None:
    """All pairs of what stands beside sections, and some of all others, chosen once: ASSAY_PAIRS
    says how many others to try."""
    words = sorted(
        {
            word
            for spelling in SPELLINGS
            if spelling.language == language
            for example in spelling.examples
            for word in re.findall(r"\d+|[^\W\d_]+['’\".]?|[^\w\s]", example)
        }
    )
    beside = list(product(BESIDE[language], repeat=2))
    pairs = list(product([*words, *BESIDE[language]], repeat=2))
    many = int(os.environ.get("ASSAY_PAIRS", "0"))
    chosen = random.Random(many).sample(pairs, min(many or FEW_PAIRS, len(pairs)))
    for pair in [*beside, *chosen]:
        _check_growth(READERS[f"citations, {language}"], " ".join((*pair, "")))


@pytest.mark.parametrize(("reader", "unit"), LONG)
def test_a_long_text_takes_no_square_of_its_length(reader: str, unit: str) -> None:
    _check_growth(READERS[reader], unit, shortest=25_000, longest=100_000)


@pytest.mark.parametrize(
    ("language", "unit"), [("en", "5§"), ("fi", "OYL 6:21, "), ("he", "סעיף 1 לחוק ")]
)
def test_a_text_made_of_citations_is_read_up_to_a_number_of_them(language: str, unit: str) -> None:
    found = parse(unit * (CHARACTERS // len(unit)), language)
    assert 3_000 < len(found) <= 6_600, "5,000, and one for each 250 characters"
    again = parse(unit * 100, language)
    assert [(one.start, one.normal) for one in found[: len(again) - 1]] == [
        (one.start, one.normal) for one in again[:-1]
    ], "what is read is read as ever"


def test_a_long_document_is_read_to_its_end() -> None:
    sentence = "The duty follows from section 5 of the Ferries Act 2030. "
    many = 6_000
    text = (sentence + "It binds the operator of every line and whoever acts for it. " * 4) * many
    assert len(parse(text, "en")) == many


def _check_growth(
    read: Reader, unit: str, shortest: int = SHORTEST, longest: int = LONGEST
) -> None:
    length = shortest
    before = seconds(read, unit * (length // len(unit)))
    while length < longest and before < 0.2:
        length *= 2
        for _ in range(3):  # what another program slowed down is measured again
            now = seconds(read, unit * (length // len(unit)))
            if now < max(GROWTH * before, NOTICED):
                break
            before = seconds(read, unit * (length // 2 // len(unit)))
        assert now < max(GROWTH * before, NOTICED), (unit, length, before, now)
        before = now
    assert before < 0.5 * length / shortest, (unit, length, before)

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
from assay.language import figures
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
    *("twenty ", "kaksi", "€1 ", "1 000 "),
]
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


def _check_growth(read: Reader, unit: str) -> None:
    length = SHORTEST
    before = seconds(read, unit * (length // len(unit)))
    while length < LONGEST and before < 0.2:
        length *= 2
        for _ in range(3):  # what another program slowed down is measured again
            now = seconds(read, unit * (length // len(unit)))
            if now < max(GROWTH * before, NOTICED):
                break
            before = seconds(read, unit * (length // 2 // len(unit)))
        assert now < max(GROWTH * before, NOTICED), (unit, length, before, now)
        before = now
    assert before < 0.5 * length / SHORTEST, (unit, length, before)

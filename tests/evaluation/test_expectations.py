from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.types import GoldSet, Locator, Query
from assay.evaluation.golden.set_checks import check_expectations
from assay.law.matching import KnownDocument, place_of
from kit.golden_cases import question

CORPUS = [
    {
        "law": "Kuntalaki",
        "law_id": "410/2015",
        "section_num": 110,
        "section_suffix": None,
        "moment": "3",
        "text": "Taseen alijäämä on katettava neljän vuoden kuluessa.",
    },
    {
        "law": "Kuntalaki",
        "law_id": "410/2015",
        "section_num": 110,
        "section_suffix": "a",
        "moment": "1",
        "text": "-",
    },
]


def _known(corpus: Any) -> list[KnownDocument] | None:
    """Records, or Locators, as what is known of documents."""
    if corpus is None:
        return None
    texts = ["" if isinstance(parts, Locator) else parts.get("text", "") for parts in corpus]
    return [KnownDocument(place_of(parts), text) for parts, text in zip(corpus, texts, strict=True)]


def _codes(*queries: Query, corpus: Any = CORPUS) -> list[tuple[str, str, str]]:
    found = check_expectations(GoldSet(name="g", queries=queries), _known(corpus))
    return [(finding.level, finding.code, finding.where) for finding in found]


def test_a_section_that_does_not_exist_is_flagged() -> None:
    assert _codes(question("ok", expected_any=[{"section": "110 A §", "moment": 1}])) == []
    assert _codes(question("no", expected_any=[{"section": "999"}])) == [
        ("error", "no-such-place", "no")
    ]
    assert (
        _codes(question("moment", expected_any=[{"section": "110", "moment": "7"}]))[0][1]
        == "no-such-place"
    )
    assert (
        _codes(question("law", expected_any=[{"law": "Osakeyhtiölaki", "section": "110"}]))[0][0]
        == "error"
    )


def test_one_wrong_place_beside_a_right_one_is_a_flag() -> None:
    one = question("q", expected_any=[{"section": "110"}, {"section": "999"}])
    assert _codes(one) == [("flag", "no-such-place", "q")]
    assert _codes(question("n", expected_none=[{"section": "999"}])) == [
        ("flag", "no-such-place", "n")
    ]


def test_evidence_that_the_text_lacks_is_flagged() -> None:
    assert _codes(question("q", expected_any=[{"section": "110"}], evidence=["alijäämät"])) == []
    assert _codes(question("q", expected_any=[{"section": "110"}], evidence=["laina"])) == [
        ("flag", "no-such-evidence", "q")
    ]


def test_locators_will_do_for_a_corpus() -> None:
    pages = [Locator(doc_id="lapua", page=15, table="tase")]
    assert _codes(question("q", expected_any=[{"doc_id": "lapua", "page": 15}]), corpus=pages) == []
    assert (
        _codes(question("q", expected_any=[{"doc_id": "lapua", "page": 16}]), corpus=pages)[0][0]
        == "error"
    )


def test_expectations_that_fight_or_say_nothing() -> None:
    both = question(
        "b", expected_any=[{"section": "110", "moment": "3"}], expected_none=[{"section": "110"}]
    )
    assert _codes(both) == [("flag", "contradiction", "b")]
    assert _codes(question("m", must_abstain=True, expected_any=[{"section": "110"}])) == [
        ("flag", "contradiction", "m")
    ]
    assert _codes(question("e", expected_any=[]), corpus=None) == [
        ("flag", "nothing-expected", "e")
    ]


def test_unknown_keys_are_reported() -> None:
    odd = question(
        "q",
        expected_any=[{"section": "110", "pykälä": "x"}],
        extra={"owner": "liisa", "parent": "p"},
    )
    assert _codes(odd) == [("flag", "unknown-key", "q"), ("flag", "unknown-key", "q")]


def test_any_wrong_law_cannot_be_told_without_the_right_one() -> None:
    assert _codes(question("alone", confusion=True)) == [("flag", "nothing-expected", "alone")]
    unnamed = question("unnamed", expected_any=[{"section": "110"}], confusion=True)
    assert _codes(unnamed) == [("flag", "no-law", "unnamed")]
    assert (
        _codes(
            question("named", expected_any=[{"law": "Kuntalaki", "section": "110"}], confusion=True)
        )
        == []
    )


def test_a_check_that_cannot_be_read_is_named_with_its_set() -> None:
    with pytest.raises(
        InputError, match=r"g: \$\[0\].expected_any\[0\].evidence \(q\): \[\] is not a search term"
    ):
        _codes(question("q", expected_any=[{"section": "110", "evidence": [[]]}]))

"""What counts as a reason, in three languages."""

from __future__ import annotations

import pytest

from assay.judging.rationales import is_reason

STARTS = [
    "The same kind of decision, but another kind of interest: ",
    "Another area of the law: ",
]


@pytest.mark.parametrize(
    "text",
    [
        "The same ticket rule.",
        "Sama esteellisyysperuste asunnosta",
        "Eri hankintalakisäännös",
        "אותו כלל של מתנה",
        f"{STARTS[0]}a source of income",
        "The same kind of decision about a lease",
        "Another area of the law entirely",
        "Another area of the law: gifts",
        "Another area of the law: lobbying",
        "Another area of the law: tax",
    ],
)
def test_a_few_words_are_a_reason(text: str) -> None:
    assert is_reason(text, STARTS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "Other",
        "no no",
        "a b c d",
        "1 0 1 0",
        "...",
        "עניין אחר",
        STARTS[0],
        STARTS[0].rstrip(": "),
        f"{STARTS[0]}x",
        "Another area of the law too.",
        "It is decided by the following rule:",
    ],
)
def test_a_letter_or_a_bare_start_is_none(text: str) -> None:
    assert not is_reason(text, STARTS)

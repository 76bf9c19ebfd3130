"""What a provision says that is no more."""

from __future__ import annotations

import pytest

from assay.law.versions import PLACEHOLDER, REPEALED, status_of_text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[Repealed by the Fisheries Act 2015, s. 3]", REPEALED),
        ("Revoked.", REPEALED),
        ("[Spent]", PLACEHOLDER),
        ("The levy is repealed by this Act; what was paid is not returned.", ""),
        ("A licence that was revoked by the Minister may be applied for again.", ""),
    ],
)
def test_english_texts_that_only_say_what_became_of_them(text: str, said: str) -> None:
    assert status_of_text(text) == said

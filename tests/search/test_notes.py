"""What a reader is told before the hits are used."""

import pytest

from assay.core.types import Hit
from assay.search.answers import WEAK, is_weak, note_of
from assay.search.engine import Hits


def hits_at(score: float | None, *, abstained: bool = False, named: bool = False) -> Hits:
    hits = Hits([Hit(doc_id="d", score=score)])
    hits.abstained, hits.named, hits.calibrated = abstained, named, True
    return hits


@pytest.mark.parametrize(
    ("hits", "weak"),
    [
        (hits_at(WEAK - 0.01), True),
        (hits_at(WEAK), False),
        (hits_at(None), False),
        (Hits(), False),
        (hits_at(WEAK - 0.01, abstained=True), False),
        (hits_at(WEAK - 0.01, named=True), False),
    ],
)
def test_a_low_score_is_weak_unless_it_is_refused_or_asked_for_by_name(
    hits: Hits, weak: bool
) -> None:
    assert is_weak(hits) is weak
    assert ("The match is weak" in note_of(hits)) is weak


def test_a_weak_score_is_not_rounded_up_to_what_is_not_weak() -> None:
    assert f"is {WEAK - 0.004:.3f}. Read" in note_of(hits_at(WEAK - 0.004))


def test_a_score_that_is_not_calibrated_is_not_told() -> None:
    hits = hits_at(WEAK - 0.1)
    hits.calibrated = False
    assert note_of(hits) == "The match is weak. Read before you cite."


def test_the_language_is_said_where_it_may_be_why_nothing_answers() -> None:
    refused = hits_at(0.1, abstained=True)
    assert note_of(refused, "fi", "en").startswith("This corpus is in Finnish; ask in Finnish.")
    assert note_of(refused, "fi", "") == ""
    assert note_of(hits_at(0.9), "fi", "en") == ""

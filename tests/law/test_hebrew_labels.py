"""How a Hebrew place is cited: a fault in it was let through (benchmarks/mutants.py)."""

from __future__ import annotations

from assay.law.matching import label, place_of

PLACE = place_of({"law": "חוק התכנון והבנייה", "section": "197", "chapter": "ט"})


def test_a_hebrew_place_is_cited_in_hebrew() -> None:
    assert label(PLACE) == "סעיף 197 לחוק התכנון והבנייה"
    assert label(PLACE, in_full=True) == "סעיף 197 פרק ט' לחוק התכנון והבנייה"


def test_a_number_alone_is_cited_in_the_language_of_its_collection() -> None:
    parts = {"law_id": "148069", "section": "4", "moment": "2"}
    assert label(place_of(parts, "he")) == "סעיף 4(2) 148069"
    assert label(place_of(parts, "fi")) == "148069 4 § 2 mom."

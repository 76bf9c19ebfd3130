"""How a Hebrew place is cited: a fault in it was let through (benchmarks/mutants.py)."""

from __future__ import annotations

from assay.law.matching import label, place_of

PLACE = place_of({"law": "חוק התכנון והבנייה", "section": "197", "chapter": "ט"})


def test_a_hebrew_place_is_cited_in_hebrew() -> None:
    assert label(PLACE) == "סעיף 197 לחוק התכנון והבנייה"
    assert label(PLACE, in_full=True) == "סעיף 197 פרק ט' לחוק התכנון והבנייה"

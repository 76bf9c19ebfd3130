"""What the scores of statutes are made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from assay.core.types import Document
from assay.search import index, index_files
from assay.search.profile import FINNISH, HEBREW, Profile, as_now, with_encoder

GOOD = {
    **{"dense": 0.7, "asked": 0.8, "known": 1.0, "one_act": 0.95, "one_section": 0.8},
    **{"worded": 0.9, "says_more": 0.2, "agree": 2.0, "sole": 0.9, "close": 0.7, "closer": 0.1},
    "act_ahead": 4.0,
}
POOR = {
    **{"dense": 0.2, "asked": 0.1, "known": 0.3, "one_act": 0.4, "one_section": 0.2},
    **{"worded": 0.3, "says_more": -0.1, "agree": 0.0, "sole": 0.2, "close": 0.3, "closer": -0.1},
    "act_ahead": 0.3,
}


@pytest.mark.parametrize("profile", [FINNISH, HEBREW])
def test_what_is_ahead_scores_higher_and_what_is_refused_lower(profile: Profile) -> None:
    calibration = profile.calibration

    def score(signals: dict[str, float], sole: float) -> float:
        head = signals | {"sole": sole, "attained": 0.4}
        return calibration.sure(head, calibration.scope(head))

    assert calibration.scope(GOOD) >= calibration.abstain
    assert score(GOOD, 0.9) > score(GOOD, 0.1) >= 0.55
    assert calibration.scope(POOR) < calibration.abstain
    assert score(POOR, 0.1) < 0.5
    assert calibration.scope(GOOD | {"known": 0.2}) < calibration.scope(GOOD)
    other = calibration.scope(GOOD | {"elsewhere": 0.4})
    assert calibration.scope(GOOD | {"elsewhere": 0.4, "foreign": 0.4}) <= other
    assert other < calibration.scope(GOOD)


def test_an_index_means_by_a_score_what_this_version_does(tmp_path: Path) -> None:
    document = Document(id="1", title="סעיף 1", text="ועדה מקומית תדון בתכנית.", language="he")
    built = index.build([(document, "1")])
    older = msgspec.structs.replace(built.profile, calibration=FINNISH.calibration)
    index_files.save(replace(built, profile=older), tmp_path, "f")
    assert index_files.load(tmp_path, "f").profile == built.profile == HEBREW
    by_words = with_encoder(HEBREW, "")
    assert as_now(by_words) == by_words

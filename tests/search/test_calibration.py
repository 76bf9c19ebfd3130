"""What the scores of statutes are made of."""

from __future__ import annotations

import pytest

from assay.search.profile import FINNISH, HEBREW, UNASKED, Profile

GOOD = {
    **{"dense": 0.7, "asked": 0.8, "known": 1.0, "one_act": 0.95, "one_section": 0.8, "lead": 5.0},
    **{"worded": 0.9, "ahead": 0.2, "agree": 2.0},
}
POOR = {
    **{"dense": 0.2, "asked": 0.1, "known": 0.3, "one_act": 0.4, "one_section": 0.2, "lead": 5.0},
    **{"worded": 0.3, "ahead": -0.1, "agree": 0.0},
}


@pytest.mark.parametrize("profile", [FINNISH, HEBREW])
def test_what_is_ahead_scores_higher_and_what_is_refused_lower(profile: Profile) -> None:
    calibration = profile.calibration

    def score(signals: dict[str, float], gap: float) -> float:
        head = signals | {"gap": gap, "attained": 0.4}
        return calibration.sure(head, calibration.scope(head))

    assert calibration.scope(GOOD | {"gap": 1.0}) >= calibration.abstain
    assert score(GOOD, 1.5) > score(GOOD, 0.1) >= 0.55
    assert calibration.scope(POOR | {"gap": 0.1}) < calibration.abstain
    assert score(POOR, 0.1) < 0.5
    assert calibration.scope(GOOD | {"worded": 0.2}) < calibration.scope(GOOD)
    other = calibration.scope(GOOD | {"elsewhere": 0.4})
    assert calibration.scope(GOOD | {"elsewhere": 0.4, "foreign": 0.4}) < other
    assert other < calibration.scope(GOOD)
    assert UNASKED[profile.name].first is None

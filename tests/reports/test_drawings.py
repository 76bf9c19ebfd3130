"""Drawings of a report: what they hold is what was measured."""

from __future__ import annotations

import re

import pytest

from assay.reports.drawings import score_bands, sorted_bars


def test_bars_are_sorted_and_point_the_right_way() -> None:
    drawn = str(sorted_bars([0.1, -0.4, 0.2, 0.0]))
    bars = re.findall(
        r'<rect x="([\d.]+)%" y="([\d.]+)" .*?height="([\d.]+)" fill="var\((.*?)\)', drawn
    )
    assert [float(x) for x, *_ in bars] == sorted(float(x) for x, *_ in bars)
    assert [float(height) for _, _, height, _ in bars] == [15.5, 7.8, 0.0, 31.0]
    assert [colour for *_, colour in bars] == ["--good", "--good", "--bad", "--bad"]
    assert [float(y) for _, y, _, _ in bars][2:] == [32.0, 32.0]


def test_bands_hold_every_first_hit_once() -> None:
    hits = [(0.95, True)] * 6 + [(0.85, False)] * 2 + [(1.0, True), (0.05, False), (0.2, True)]
    bands = score_bands(hits)
    assert [(band.low, band.n, band.right) for band in bands] == [
        (0, 1, 0),
        (0.2, 1, 1),
        (0.8, 9, 7),
    ]
    assert bands[-1].stated == pytest.approx((6 * 0.95 + 2 * 0.85 + 1) / 9)
    assert bands[-1].bounds[0] < 7 / 9 < bands[-1].bounds[1]


def test_scores_that_are_no_shares_are_not_drawn() -> None:
    assert not score_bands([(12.0, True)] * 20)
    assert not score_bands([(0.5, True)] * 9)

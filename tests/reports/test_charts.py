"""Figures over time: where they stand, in both directions of reading."""

from __future__ import annotations

import re

from assay.reports.drawings import ChartLine, ChartPoint, time_chart


def places(rtl: bool) -> list[float]:
    points = [
        ChartPoint(place=place, value=0.5, low=None, high=None, label="", link="/")
        for place in (0.0, 1.0, 4.0)
    ]
    drawn = time_chart([ChartLine(name="e", points=points)], label="", ends=("old", "new"), rtl=rtl)
    return [float(place) for place in re.findall(r'<circle cx="([\d.]+)%', drawn)]


def test_time_goes_the_way_of_reading() -> None:
    forward, backward = places(rtl=False), places(rtl=True)
    assert forward == sorted(forward)
    assert backward == sorted(backward, reverse=True)
    assert [round(100 - place, 2) for place in backward] == forward
    assert forward[1] - forward[0] < forward[2] - forward[1], "as far apart as the days"

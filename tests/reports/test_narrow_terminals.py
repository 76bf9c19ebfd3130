"""Eighty columns: no interval is broken over two lines, and a run of a history takes few lines."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console, RenderableType

from assay.evaluation.trends import Commit, Event, Kind, Step, Trend
from assay.reports.terminal_comparison import comparison_table, trend_lines
from assay.workbench.deciding.compare import compare_results
from kit.commands import Assay

NAMES = ("bm25-baseline", "fusion-of-everything", "third-engine")


def lines(shown: RenderableType) -> list[str]:
    written = io.StringIO()
    Console(file=written, width=80).print(shown)
    return [line.rstrip() for line in written.getvalue().splitlines()]


def test_intervals_of_a_golden_comparison_and_of_a_board_stay_whole(
    assay_cli: Assay, tmp_path: Path
) -> None:
    asked = [
        {"id": f"q{n}", "query": f"{n}?", "must": False, "expected_any": [{"section": str(n)}]}
        for n in range(24)
    ]
    (tmp_path / "gold.json").write_text(json.dumps(asked))
    for name, lost in zip(NAMES, (2, 5, 9), strict=True):
        rows = [
            {"id": f"q{n}", "hits": [{"section_num": at, "node_id": at, "score": 0.9}]}
            for n in range(24)
            for at in (str(99 if n < lost else n),)
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps({"metrics": {}, "results": rows}))
        assay_cli("score", "gold.json", "--run", f"{name}.json", "-o", f"{name}.out")
    shown = lines(comparison_table(compare_results([tmp_path / f"{name}.out" for name in NAMES])))
    assert max(map(len, shown)) <= 80
    assert any("91.7%     74% to 98%" in line for line in shown), "of the board"
    assert any(re.search(r"-12\.5 +-\d+\.\d to \+\d", line) for line in shown), "of a rate"
    assert any(re.search(r"-0\.125 +-0\.\d{3} to \+0", line) for line in shown), "of a measure"
    assert not [line for line in shown if "…" in line and "0 … 1" not in line], "nothing is cut"
    assert "shows a change of 0." not in " ".join(shown), "a rate changes in points"


def test_a_run_in_a_history_takes_a_line_of_figures_and_what_it_did_below() -> None:
    began = datetime(2026, 11, 1, 2, 30, tzinfo=UTC)
    step = Step(kind=Kind.DOWN, since=0, n=33, change=-0.04, p=0.012, fell=("q12", "q7", "q30"))
    commit = Commit(id="0123456789", dirty=True, by="Somebody", subject="Ranks by something else")
    events = [
        Event(
            id=f"r{day}",
            at=began + timedelta(days=day),
            measure="nDCG@10",
            value=0.7,
            low=0.6,
            high=0.8,
            today=0.69,
            queries=33,
            step=step,
            commit=commit,
        )
        for day in range(3)
    ]
    shown = lines(trend_lines([Trend(gold="set", engine="mine", events=events)]))
    assert max(map(len, shown)) <= 80
    figures = [line for line in shown if line.startswith("▼")]
    whole = "▼  2026-11-01 02:30    0.700  0.600 to 0.800            0.690  -0.040"
    assert figures[0] == whole
    first, second = (shown.index(line) for line in figures[:2])
    assert second - first <= 3, "two lines of what it did at the most"
    assert shown[first + 1].startswith("  p 0.012 over 33 queries; fell: q12, q7, q30; 01234567")

"""The pass/fail rule of the golden suite's published runner, kept as an oracle. Nothing here is
ours to improve."""

from __future__ import annotations

from typing import Any


def hit_matches_expected(hit: dict[str, Any], expected: dict[str, Any]) -> bool:
    sec = str(hit.get("section_num", "")).replace(" ", "").lower()
    mom = str(hit.get("moment", "")).strip()
    exp_sec = str(expected.get("section", "")).replace(" ", "").lower()
    exp_mom = str(expected.get("moment", "")).strip()
    return sec == exp_sec and (exp_mom == "" or mom == exp_mom)


def eval_one(q: dict[str, Any], hits: list[dict[str, Any]]) -> dict[str, Any]:
    min_score = float(q.get("min_score", 0.60))
    first_rank = None
    for i, h in enumerate(hits, start=1):
        if float(h.get("score", 0.0)) < min_score:
            continue
        if any(hit_matches_expected(h, exp) for exp in q["expected_any"]):
            first_rank = i
            break
    return {
        "passed": first_rank is not None,
        "first_rank": first_rank,
        "rr": 0.0 if first_rank is None else 1.0 / first_rank,
    }

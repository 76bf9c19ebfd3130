"""How many queries: against scipy's noncentral t, and what a pilot cannot tell."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from assay.core.errors import InputError
from assay.evaluation.planning import Goal, crowds_of, queries_for
from assay.workbench.agents.runs import verdicts
from assay.workbench.deciding.compare import compare_results
from kit.commands import Assay

QRELS = "".join(
    f"q{n} 0 {doc} {grade}\n" for n in range(12) for doc, grade in (("a", 2), ("b", 1), ("c", 0))
)


def goal(difference: float, spread: float = 0.2) -> Goal:
    return Goal(difference=difference, spread=spread, power=0.8, level=0.95)


@pytest.mark.parametrize("difference", [0.02, 0.05, 0.1, 0.2])
def test_so_many_queries_have_the_power_asked_for(difference: float) -> None:
    n = queries_for(goal(difference))
    assert n is not None
    powers = []
    for size in (n - 1, n, n + 3):
        critical = scipy.stats.t.ppf(0.975, size - 1)
        error = np.sqrt(((size - 1) * 0.2**2 + 0.125) / ((size + 1) * size))
        powers.append(1 - scipy.stats.nct.cdf(critical, size - 1, difference / error))
    assert powers[0] < 0.81
    assert 0.78 < powers[1] < 0.86  # of ten queries one more is five points
    assert powers[2] > 0.79


def test_a_difference_too_small_has_no_number() -> None:
    assert queries_for(goal(1e-5)) is None
    assert queries_for(goal(0.5, spread=1e-6)) == 4


def test_judges_who_agree_perfectly_cost_only_themselves() -> None:
    one, two, three = crowds_of(1.0, goal(0.05), None)
    assert one.queries == two.queries == three.queries == queries_for(goal(0.05))
    noisy = crowds_of(0.6, goal(0.05), None)
    counts = [row.queries or 0 for row in noisy]
    assert counts == sorted(counts, reverse=True)
    # one judge sees the difference shrunk by the root of 0.6
    assert noisy[0].queries == pytest.approx((one.queries or 0) / 0.6, rel=0.02)
    with pytest.raises(InputError, match="between 0 and 1"):
        crowds_of(1.2, goal(0.05), None)


def runs(folder: Path, queries: int = 12) -> None:
    """Engine one has the best document first on two queries of three; engine two on one of two."""
    (folder / "x.qrels").write_text("".join(QRELS.splitlines(True)[: 3 * queries]))
    for name, good in (("one", 3), ("two", 2)):
        lines = []
        for n in range(queries):
            order = ("a", "b", "c") if n % good else ("c", "b", "a")
            lines += [f"q{n} Q0 {doc} {r} {9 - r} {name}\n" for r, doc in enumerate(order, 1)]
        (folder / f"{name}.run").write_text("".join(lines))


def test_from_two_results_to_a_plan(assay_cli: Assay, tmp_path: Path) -> None:
    runs(tmp_path)
    for name in ("one", "two"):
        given = ("--run", f"{name}.run", "--dataset", "x.qrels", "-o", f"{name}.json")
        assert assay_cli("score", *given).code == 0
    found = assay_cli("plan", "one.json", "two.json", "--difference", "0.07", "--json").json
    assert found["needs"][0]["difference"] == 0.07
    assert found["needs"][0]["low"] <= found["needs"][0]["queries"] <= found["needs"][0]["high"]
    entries = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "two")]
    moves = [
        b["metrics"]["ndcg@10"] - a["metrics"]["ndcg@10"]
        for a, b in zip(entries[0]["per_query"], entries[1]["per_query"], strict=True)
    ]
    assert found["spread"] == pytest.approx(np.std(moves, ddof=1))
    queries = found["needs"][0]["queries"]
    assert (found["documents"], found["judgments"]) == (3, 3 * queries)
    gates = {need["condition"]: need for need in found["gates"]}
    assert gates["max_drop"]["queries"] == queries
    assert gates["no_worse_than"]["queries"] < queries
    assert gates["minimum"]["limit"] == pytest.approx(found["mean"] - 0.07, abs=5e-4)
    assert gates["minimum"]["queries"] > 12
    shown = assay_cli("plan", "one.json", "two.json", "--agreement", "0.8").out
    assert "you need" in shown
    assert "max_drop = 0.03" in shown
    assert "With judges who agree to 0.8" in shown


def test_a_pilot_of_five_is_worth_little(assay_cli: Assay, tmp_path: Path) -> None:
    runs(tmp_path, queries=5)
    for name in ("one", "two"):
        given = ("--run", f"{name}.run", "--dataset", "x.qrels", "-o", f"{name}.json")
        scored = assay_cli("score", *given)
        assert re.search(r"intervals? of .* too\s+wide to be useful", scored.out)
    plan = assay_cli("plan", "one.json", "two.json")
    assert "A pilot of 5 queries says little" in plan.out
    assert "which is enough" not in plan.out
    compared = assay_cli("compare", "one.json", "two.json").out
    assert "The interval of the change is too wide to be useful." in compared
    assay_cli("report", "two.json", "--against", "one.json", "-o", "r.html")
    page = (tmp_path / "r.html").read_text()
    for said in ("the change is too wide", "too wide to be useful"):
        assert said in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--difference", "0"), "--difference must be between 0 and 1"),
        (("--power", "1"), "--power must be between"),
        (("--primary", "AP"), "AP"),
        (("--agreement", "2"), "between 0 and 1"),
    ],
)
def test_what_cannot_be_planned(
    assay_cli: Assay, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    runs(tmp_path)
    for name in ("one", "two"):
        assay_cli("score", "--run", f"{name}.run", "--dataset", "x.qrels", "-o", f"{name}.json")
    refused = assay_cli("plan", "one.json", "two.json", *options)
    assert refused.code == 2
    assert said in refused.err
    alike = assay_cli("plan", "one.json", "one.json")
    assert alike.code == 2
    assert "do not differ" in alike.err


def test_a_plan_says_what_is_unjudged_and_what_that_would_change(
    assay_cli: Assay, tmp_path: Path
) -> None:
    runs(tmp_path)
    judged = [line for line in QRELS.splitlines(True) if " b " not in line]
    (tmp_path / "x.qrels").write_text("".join(judged))
    for name in ("one", "two"):
        given = ("--run", f"{name}.run", "--dataset", "x.qrels", "-o", f"{name}.json")
        assert assay_cli("score", *given).code == 0
    found = assay_cli("plan", "one.json", "two.json", "--difference", "0.07", "--json").json
    assert (found["unjudged"], found["hits"]) == (len(judged) // 2, len(judged) * 3 // 2)
    assert found["believed"] != pytest.approx(found["spread"])
    more = found["queries_believed"] > found["needs"][0]["queries"]
    assert more == (found["believed"] > found["spread"])
    shown = " ".join(assay_cli("plan", "one.json", "two.json").out.split())
    assert f"{found['unjudged']} of the {found['hits']} results that affect the score" in shown
    assert "With all of them judged" in shown


def questions(folder: Path, *, total: int, changed: int) -> None:
    """Results base.json and now.json of a golden set: `changed` questions fail now."""
    asked = [
        {"id": f"q{n}", "query": f"{n}?", "must": False, "expected_any": [{"section": str(n)}]}
        for n in range(1, total + 1)
    ]
    (folder / "gold.json").write_text(json.dumps(asked))
    for name, lost in (("base", 0), ("now", changed)):
        rows = [
            {"id": f"q{n}", "hits": [{"section_num": at, "node_id": at, "score": 0.9}]}
            for n in range(1, total + 1)
            for at in (str(999 if n <= lost else n),)
        ]
        (folder / f"{name}.run.json").write_text(json.dumps({"metrics": {}, "results": rows}))


def test_a_plan_for_pass_rates_reckons_with_what_a_difference_means(
    assay_cli: Assay, tmp_path: Path
) -> None:
    questions(tmp_path, total=24, changed=2)
    for name in ("base", "now"):
        given = ("--run", f"{name}.run.json", "-o", f"{name}.json")
        assert assay_cli("score", "gold.json", *given).code in (0, 1)
    found = assay_cli("plan", "base.json", "now.json", "--json").json
    assert found["changed"] == 2
    for need in found["needs"]:
        difference = need["difference"]
        least = queries_for(goal(difference, spread=(difference * (1 - difference)) ** 0.5))
        assert least <= need["low"] <= need["queries"] <= need["high"]
    asked = found["needs"][0]
    assert asked["high"] < 10 * asked["low"], "a range that can be planned with"
    shown = " ".join(assay_cli("plan", "base.json", "now.json").out.split())
    assert "Only 2 of 24 questions changed, which says little about how many do" in shown


def test_a_plan_names_no_option_that_it_does_not_have(assay_cli: Assay, tmp_path: Path) -> None:
    for total, name in ((12, "base"), (13, "now")):
        questions(tmp_path, total=total, changed=2)
        assay_cli("score", "gold.json", "--run", f"{name}.run.json", "-o", f"{name}.json")
    refused = assay_cli("plan", "base.json", "now.json")
    assert (refused.code, "different gold sets" in refused.err) == (2, True), refused.err
    assert "--force" not in refused.err


@pytest.mark.parametrize("golden", [True, False])
def test_what_is_not_proven_says_how_many_queries_would_show_it(
    assay_cli: Assay, tmp_path: Path, golden: bool
) -> None:
    if golden:
        questions(tmp_path, total=24, changed=2)
        for name in ("base", "now"):
            assay_cli("score", "gold.json", "--run", f"{name}.run.json", "-o", f"{name}.json")
    else:
        runs(tmp_path)
        for name, run in (("base", "one"), ("now", "two")):
            assay_cli("score", "--run", f"{run}.run", "--dataset", "x.qrels", "-o", f"{name}.json")
    need = assay_cli("plan", "base.json", "now.json", "--json").json["needs"][0]
    have = 24 if golden else 12
    size = "3.0 points" if golden else "0.03"
    said = (
        f"Showing a difference of {size} with 80% power takes about {need['queries']:,} queries, "
        f"{need['queries'] - have:,} more than these. Use assay plan"
    )
    assert said in " ".join(assay_cli("compare", "base.json", "now.json").out.split())
    agents = verdicts(compare_results([tmp_path / "base.json", tmp_path / "now.json"]))
    assert said in agents[0], "and to agents"
    for ending in ("html", "md", "xml"):
        assay_cli("report", "now.json", "--against", "base.json", "-o", f"r.{ending}")
        assert said in (tmp_path / f"r.{ending}").read_text(), ending

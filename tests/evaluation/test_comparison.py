"""Whether unjudged documents could turn a difference around, checked against every possible
assignment of grades."""

from __future__ import annotations

import itertools
import random
from io import StringIO

import msgspec
import pytest
from rich.console import Console

from assay import evaluate
from assay.core.errors import InputError
from assay.core.results import GoldCard, GradedEntry, GradedReceipt, GradedResults, MeasureLine
from assay.evaluation.comparison import compare
from assay.evaluation.receipts import measure_lines
from assay.evaluation.unjudged import could_overturn
from assay.reports.terminal_comparison import comparison_table

MEASURES = ["nDCG@4", "P@3", "R@4", "RR", "AP", "RBP(rel=1)", "Success@2", "ERR(max=2)@4"]

Grades = dict[str, dict[str, int]]


def results(runs: dict[str, list[str]], grades: Grades, measures: list[str]) -> GradedResults:
    """The results of these rankings."""
    scored = {
        query: {doc: float(-place) for place, doc in enumerate(docs)}
        for query, docs in runs.items()
    }
    sheet = evaluate(scored, grades, measures)
    lines = measure_lines(sheet.measures)
    entries = [
        GradedEntry(
            query_id=query,
            query_text=query,
            results=docs,
            grades=[grades[query].get(doc) for doc in docs],
            known_grades=sorted(grades[query].values(), reverse=True),
            metrics={line.key: float(sheet.values[row][place]) for place, line in enumerate(lines)},
        )
        for row, (query, docs) in enumerate(runs.items())
    ]
    return GradedResults(
        timestamp="",
        engine="e",
        overall={},
        per_query=entries,
        receipt=GradedReceipt(measures=lines, gold=GoldCard(fingerprint="g")),
    )


def lowest(a: dict[str, list[str]], b: dict[str, list[str]], grades: Grades, measure: str) -> float:
    """The least mean of a - b over all grades 0 and 2 of what is unjudged in either."""
    found = []
    for query in a:
        seen = [doc for doc in dict.fromkeys(a[query] + b[query]) if doc not in grades[query]]
        leads = []
        for values in itertools.product((0, 2), repeat=len(seen)):
            full = {query: grades[query] | dict(zip(seen, values, strict=True))}
            one, two = (
                results({query: run[query]}, full, [measure]).per_query[0].metrics for run in (a, b)
            )
            leads.append(next(iter(one.values())) - next(iter(two.values())))
        found.append(min(leads))
    return sum(found) / len(found)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_star_stands_where_some_grades_turn_it_around(measure: str) -> None:
    draw = random.Random(measure)
    seen = set()
    for _ in range(12):
        queries = ("q1", "q2")
        docs = [f"d{n}" for n in range(7)]
        runs = [{query: draw.sample(docs, 4) for query in queries} for _ in range(2)]
        grades = {
            query: {doc: draw.choice((0, 1, 2)) for doc in draw.sample(docs, 4)} | {"x": 2}
            for query in queries
        }
        first, second = (results(run, grades, [measure]) for run in runs)
        row = compare([first, second], ["a", "b"]).differences[0]
        if abs(row.difference) > 1e-9:
            better, worse = (runs[1], runs[0]) if row.difference > 0 else (runs[0], runs[1])
            least = lowest(better, worse, grades, measure)
            if abs(least) > 1e-9:
                seen.add(row.could_flip)
                assert row.could_flip == (least < 0), (runs, grades)
    assert True in seen


def test_what_both_return_at_the_same_rank_turns_nothing_around() -> None:
    grades = {f"q{n}": {"good": 2, "bad": 0} for n in range(5)}
    rankings = [[f"u{n}" for n in range(4)] + [last] for last in ("bad", "good")]
    first, second = (
        results(dict.fromkeys(grades, docs), grades, ["P@5", "nDCG@5"]) for docs in rankings
    )
    found = compare([first, second], ["a", "b"]).differences
    assert [row.could_flip for row in found] == [False, False]
    assert [row.effect_size for row in found] == [
        None,
        None,
    ]  # every query changed by the same amount


def test_hits_that_only_the_loser_returns_can_turn_it_around() -> None:
    entry = GradedEntry(query_id="q", metrics={}, known_grades=[2], results=["good"], grades=[2])
    other = GradedEntry(
        query_id="q", metrics={}, known_grades=[2], results=["u1", "u2"], grades=[None, None]
    )
    assert could_overturn("P@5", [entry], [other], 0.2)
    assert not could_overturn("P@5", [entry] * 3, [other, entry, entry], 0.5)
    assert not could_overturn("Bpref", [entry], [other], 0.2)


# ── the measure that decides ──────────────────────────────────────────────────────────────────────


def _moved(moves: dict[str, list[float]], base: float = 0.4) -> tuple[GradedResults, GradedResults]:
    """Results whose measures differ by these moves, by key."""
    lines = [MeasureLine(key=key, measure=key) for key in moves]
    n = len(next(iter(moves.values())))
    made = []
    for factor in (0, 1):
        entries = [
            GradedEntry(
                query_id=f"q{row}",
                metrics={key: base + factor * moves[key][row] for key in moves},
                results=[],
                grades=[],
                known_grades=[],
            )
            for row in range(n)
        ]
        receipt = GradedReceipt(measures=lines, gold=GoldCard(fingerprint="g"))
        made.append(
            GradedResults(
                timestamp="", engine=f"e{factor}", overall={}, per_query=entries, receipt=receipt
            )
        )
    return made[0], made[1]


SURE = [0.3, 0.15, 0.24, 0.3, -0.06, 0.15, 0.3, 0.06, -0.03, 0.09]
UNSURE = [0.1, -0.1] * 5


def test_the_primary_measure_is_not_corrected_for_those_that_inform() -> None:
    before, after = _moved({"ndcg@10": SURE, **{f"p@{n}": UNSURE for n in range(1, 7)}})
    found = compare([before, after], ["a", "b"])
    head = found.differences[0]
    assert found.headline == "ndcg@10"
    assert head.p_adjusted == head.p < 0.05
    assert (head.low_adjusted, head.high_adjusted) == (head.low, head.high)
    assert all(row.p_adjusted == 1 for row in found.differences[1:])


def test_the_primary_measure_is_corrected_over_the_systems_shown() -> None:
    before, after = _moved({"ndcg@10": SURE, "p@5": UNSURE})
    found = compare([before, after, after], ["a", "b", "c"])
    heads = [row for row in found.differences if row.key == "ndcg@10"]
    assert [row.p_adjusted for row in heads] == [pytest.approx(2 * heads[0].p)] * 2
    alone = compare([before, after], ["a", "b"]).differences[0]
    assert heads[0].detectable is not None
    assert alone.detectable is not None
    assert heads[0].detectable > alone.detectable  # by the rule that decides
    for row in heads:
        assert row.p == alone.p
        assert (row.low, row.high) == (alone.low, alone.high)
        assert None not in (row.low, row.low_adjusted)
        assert (row.low_adjusted or 0) < (row.low or 0)
        assert (row.p_adjusted <= 0.05) == ((row.low_adjusted or 0) > 0)


@pytest.mark.parametrize(
    ("moves", "verdict"),
    [
        ([0.1, 0.05] * 10, "better"),
        ([-0.1, -0.05] * 10, "worse"),
        ([0.3, -0.2] * 10, "probably better"),
        ([0.2, -0.3] * 10, "probably worse"),
        ([0.3, -0.29] * 10, "not significant"),
        ([0.0] * 20, "not significant"),
    ],
)
def test_a_verdict_follows_p_and_the_probability_of_the_sign(
    moves: list[float], verdict: str
) -> None:
    before, after = _moved({"ndcg@10": moves})
    (row,) = compare([before, after], ["a", "b"]).differences
    assert row.verdict == verdict
    assert row.sure is not None
    assert row.sure == pytest.approx(1 - row.p / 2 if row.difference >= 0 else row.p / 2)
    assert (row.verdict in ("better", "worse")) == (row.p <= 0.05)
    assert ("probably" in verdict) == (row.p > 0.05 and not 0.3 < row.sure < 0.7)


def test_a_query_that_makes_the_difference_is_named() -> None:
    before, after = _moved({"ndcg@10": [0.01, -0.01] * 10 + [0.6]})
    comparison = compare([before, after], ["a", "b"])
    (row,) = comparison.differences
    assert row.risk is not None
    assert (row.risk.kind, row.risk.queries) == ("extreme", ["q20"])
    told = StringIO()
    Console(file=told, width=200).print(comparison_table(comparison))
    assert "Most of this difference comes from one query: q20." in told.getvalue()
    assert "--worst-case" in told.getvalue()


def test_the_worst_case_is_wider_and_agrees_with_its_p() -> None:
    before, after = _moved({"ndcg@10": SURE})
    plain = compare([before, after], ["a", "b"]).differences[0]
    worst = compare([before, after], ["a", "b"], worst_case=True).differences[0]
    assert None not in (plain.low, worst.low)
    assert (worst.low or 0) < (plain.low or 0)
    assert worst.p > plain.p
    assert (worst.p <= 0.05) == ((worst.low or 0) > 0)


def test_other_tests_come_on_request() -> None:
    before, after = _moved({"ndcg@10": SURE, "p@5": UNSURE})
    plain = compare([before, after], ["a", "b"]).differences[0]
    assert (plain.p_randomization, plain.p_wilcoxon, plain.p_bh) == (None, None, None)
    asked = compare([before, after], ["a", "b"], tests=True).differences[0]
    assert asked.p_randomization == pytest.approx(14 / 1024)
    assert None not in (asked.p_wilcoxon, asked.p_bh)


@pytest.mark.parametrize(("judgments", "said"), [(9, "in common"), (0, "nothing is judged yet")])
def test_results_without_a_common_query_are_not_compared(judgments: int, said: str) -> None:
    before, after = (
        msgspec.structs.replace(
            each,
            per_query=each.per_query[part],
            receipt=msgspec.structs.replace(
                each.receipt, gold=msgspec.structs.replace(each.receipt.gold, judgments=judgments)
            ),
        )
        for each, part in zip(
            _moved({"ndcg@10": UNSURE}), (slice(None, 4), slice(4, None)), strict=True
        )
    )
    with pytest.raises(InputError, match=rf"{said}($|\n)"):
        compare([before, after], ["a", "b"])


def test_the_primary_measure_can_be_chosen_and_has_to_be_there() -> None:
    before, after = _moved({"ndcg@10": UNSURE, "p@5": SURE})
    assert compare([before, after], ["a", "b"], primary="P@5").headline == "p@5"
    with pytest.raises(InputError, match="do not all have the measure RBP"):
        compare([before, after], ["a", "b"], primary="RBP")


def test_the_results_may_name_the_measure_that_decides() -> None:
    before, after = _moved({"ndcg@10": UNSURE, "p@5": SURE})
    receipt = msgspec.structs.replace(after.receipt, primary="p@5")
    named = msgspec.structs.replace(after, receipt=receipt)
    assert compare([before, named], ["a", "b"]).headline == "p@5"
    assert compare([before, named], ["a", "b"], primary="nDCG@10").headline == "ndcg@10"


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ([0.0] * 300, "equivalent"),
        ([0.1, 0.05] * 100, "no worse"),
        ([-0.1, -0.05] * 100, "worse"),
        ([0.3, -0.3] * 10, "not shown"),
    ],
)
def test_equivalence_has_to_be_shown(moves: list[float], said: str) -> None:
    before, after = _moved({"ndcg@10": moves})
    (row,) = compare([before, after], ["a", "b"], equivalence=0.02).differences
    assert row.equivalence == said
    assert compare([before, after], ["a", "b"]).differences[0].equivalence is None
    with pytest.raises(InputError, match="a margin must be between"):
        compare([before, after], ["a", "b"], equivalence=-0.02)


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ("corpus:aaaa", "corpus:bbbb", True),
        ("corpus:aaaa", "corpus:aaaa", False),
        ("aaaa", "bbbb", True),
        ("corpus:aaaa", "bbbb", False),  # a corpus and a file: the same may have two fingerprints
        ("", "bbbb", False),  # a run does not say what it searched
        ("", "", False),
    ],
)
def test_results_of_different_corpora_are_not_compared(
    first: str, second: str, refused: bool
) -> None:
    grades = {f"q{n}": {"good": 2} for n in range(5)}
    scored = [results(dict.fromkeys(grades, docs), grades, ["P@1"]) for docs in (["good"], ["bad"])]
    scored = [
        msgspec.structs.replace(
            each, receipt=msgspec.structs.replace(each.receipt, corpus_fingerprint=corpus)
        )
        for each, corpus in zip(scored, (first, second), strict=True)
    ]
    if not refused:
        compare(scored, ["a", "b"])
        return
    with pytest.raises(InputError, match="searched different corpora"):
        compare(scored, ["a", "b"])

"""What unjudged documents could turn is not decided: one belief for gates, comparisons and `gold
next`, no guess where nothing is known, and nothing unjudged in a closed set."""

from __future__ import annotations

from itertools import product

import msgspec
import numpy as np
import pytest

from assay.api.values import printed
from assay.core.errors import InputError
from assay.core.results import Gate, GoldCard, GradedEntry, GradedReceipt, GradedResults
from assay.evaluation.comparison import compare
from assay.evaluation.gates import decide
from assay.evaluation.graded import score_sheet
from assay.evaluation.judged_hits import join_run
from assay.evaluation.measures import parse_measures
from assay.evaluation.receipts import measure_lines
from assay.evaluation.unjudged import unjudged_bounds
from assay.evaluation.unjudged.relevance_model import COLUMNS, fit_relevance, relevance_chances
from assay.evaluation.unjudged.verdict_stability import hit_table, impute, is_closed, sampled_values
from assay.judging.next import next_to_judge, with_judgments
from assay.reports.listing import decision_page
from assay.reports.terminal import verdict_lines
from assay.reports.wording import Sentences
from assay.reports.words import Words

Grades = dict[str, dict[str, int]]
GATE = Gate(measure="P@5", minimum=0.5)


def scored(lists: dict[str, list[str]], grades: Grades, *, rubric: str = "") -> GradedResults:
    run = {query: _as_run(docs) for query, docs in lists.items()}
    sheet = score_sheet(join_run(run, grades), parse_measures(["P@5", "nDCG@5"]))
    lines = measure_lines(sheet.measures)
    entries = [
        GradedEntry(
            query_id=query,
            results=docs,
            num_results=len(docs),
            grades=[grades[query].get(doc) for doc in docs],
            known_grades=sorted(grades[query].values(), reverse=True),
            metrics={line.key: float(value) for line, value in zip(lines, row, strict=True)},
        )
        for (query, docs), row in zip(lists.items(), sheet.values, strict=True)
    ]
    return GradedResults(
        timestamp="",
        engine="e",
        overall={},
        per_query=entries,
        receipt=GradedReceipt(measures=lines, gold=GoldCard(fingerprint="g", rubric=rubric)),
    )


def engine(judged: int, *, relevant: int = 4, queries: int = 12) -> GradedResults:
    """Five hits a query, the first `judged` of them judged, `relevant` of these relevant; and two
    documents that it did not find."""
    lists = {f"q{n}": [f"d{rank}" for rank in range(5)] for n in range(queries)}
    grades = {
        query: {doc: int(rank < relevant) for rank, doc in enumerate(docs[:judged])}
        | {"good": 1, "bad": 0}
        for query, docs in lists.items()
    }
    return scored(lists, grades)


def test_a_gate_that_unjudged_hits_could_turn_is_inconclusive() -> None:
    (check,) = decide(engine(3, relevant=2), [GATE]).checks  # .4 as judged, and more to come
    assert check.status == "inconclusive"
    assert check.value == pytest.approx(0.4)
    assert "24 of the 60 results that affect the score have no judgment" in check.message
    assert "which passes with" in check.message
    assert decide(engine(5), [GATE]).status == "pass"  # .8, and nothing is left to judge


def test_a_gate_far_from_what_the_unjudged_can_do_is_decided() -> None:
    assert decide(engine(4, queries=20), [GATE]).status == "pass"  # .8 already
    low = engine(4, relevant=0, queries=20)
    assert decide(low, [Gate(measure="P@5", minimum=0.9)]).status == "fail"


def test_counting_the_unjudged_as_wrong_is_asked_for_by_name() -> None:
    gate = Gate(measure="P@5", minimum=0.5, unjudged="count as wrong")
    assert decide(engine(2), [gate]).status == "fail"
    with pytest.raises(InputError, match='unjudged is "count as wrong" or left out'):
        decide(engine(2), [Gate(measure="P@5", minimum=0.5, unjudged="wrong")])


def test_where_nothing_is_known_any_grading_counts_as_possible() -> None:
    few = engine(2, queries=5)  # ten judged hits
    (check,) = decide(few, [GATE]).checks
    assert check.status == "inconclusive"
    assert "nothing is known about them" in check.message
    assert decide(few, [Gate(measure="P@5", minimum=0.3)]).status == "pass"  # whatever they are


def _bare(rng: np.random.Generator, grades: Grades) -> GradedResults:
    """Lists of four in any order, of which some documents are judged."""
    return scored({query: rng.permutation(list("abcdef"))[:4].tolist() for query in grades}, grades)


def _judged(rng: np.random.Generator) -> Grades:
    pick = rng.permutation(list("abcdef")).tolist()
    return {"q0": {pick[0]: 2, pick[1]: 0}, "q1": {pick[2]: 1, pick[3]: 2, pick[4]: 0}}


def _outermost(before: GradedResults, after: GradedResults, grades: Grades) -> list[float]:
    """The least and the most that any grading makes of nDCG@5, and of its change."""
    found = []
    for entries in zip(before.per_query, after.per_query, strict=True):
        query, lists = entries[0].query_id, [entry.results for entry in entries]
        unknown = sorted({doc for docs in lists for doc in docs} - set(grades[query]))
        values = []
        for drawn in product((0, 1, 2), repeat=len(unknown)):
            full = {query: grades[query] | dict(zip(unknown, drawn, strict=True))}
            then, now = (
                score_sheet(join_run({query: _as_run(docs)}, full), parse_measures(["nDCG@5"]))
                for docs in lists
            )
            value, change = now.values[0][0], now.values[0][0] - then.values[0][0]
            values.append([value, change])
        found.append(np.concatenate([np.min(values, axis=0), np.max(values, axis=0)]))
    return np.mean(found, axis=0).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_below_twenty_judged_hits_no_grading_turns_what_a_gate_says(seed: int) -> None:
    """Every kind of gate, against every grading there is; and a minimum above the least value that
    the scorecard prints never passes."""
    rng = np.random.default_rng(seed)
    grades = _judged(rng)
    before, after = _bare(rng, grades), _bare(rng, grades)
    least, lowest, most, highest = _outermost(before, after, grades)
    run = {entry.query_id: _as_run(entry.results) for entry in after.per_query}
    (printed,) = unjudged_bounds(join_run(run, grades), ["nDCG@5"]).values()
    assert printed.worst is not None
    for bound in np.linspace(0.05, 1, 20).tolist():
        gates = [
            Gate(measure="nDCG@5", minimum=bound),
            Gate(measure="nDCG@5", maximum=bound),
            Gate(measure="nDCG@5", max_drop=bound),
        ]
        floor, ceiling, drop = (each.status for each in decide(after, gates, before).checks)
        assert floor != "pass" or least >= bound - 1e-6
        assert floor != "fail" or most < bound
        assert floor != "pass" or printed.worst >= bound - 1e-6
        assert ceiling != "pass" or most <= bound + 1e-6
        assert ceiling != "fail" or least > bound
        assert drop != "pass" or lowest >= -bound - 1e-6
        assert drop != "fail" or highest < -bound


def _as_run(docs: list[str]) -> dict[str, float]:
    return {doc: -float(rank) for rank, doc in enumerate(docs)}


def test_a_drop_is_doubted_too() -> None:
    before = engine(5)
    known = {entry.query_id: {"e0": 1, "e1": 1, "d0": 1, "bad": 0} for entry in before.per_query}
    after = scored({query: [f"e{rank}" for rank in range(5)] for query in known}, known)
    gate = Gate(measure="P@5", max_drop=0.1)
    assert decide(after, [gate], before).status == "inconclusive"
    assert decide(engine(5, relevant=1), [gate], before).status == "fail"


def test_a_set_that_lists_relevant_documents_alone_is_closed() -> None:
    lists = {f"q{n}": [f"d{rank}" for rank in range(5)] for n in range(8)}
    grades = {query: {"d0": 1} for query in lists}
    assert is_closed(scored(lists, grades))
    assert not is_closed(scored(lists, grades, rubric="two-grades"))  # others may yet be judged
    assert decide(scored(lists, grades), [GATE]).status == "fail"


def test_no_judgment_is_asked_for_in_a_closed_set() -> None:
    """`gold next` refuses such a set: a gate lists nothing there, and says what can be done."""
    lists = {f"q{n}": [f"d{rank}" for rank in range(5)] for n in range(8)}
    closed = scored(lists, {query: {"d0": 1} for query in lists})
    share = Gate(measure="P@5", minimum=0.1, min_judged=0.5)
    found = with_judgments(decide(closed, [share]), closed, None)
    assert (found.status, found.judge_next) == ("inconclusive", None)
    assert "20% of the top 5 is judged, 50% needed; the set is closed" in found.checks[0].message
    for language, word in (("fi", "suljettu"), ("he", "סגורה")):
        assert word in Sentences(Words(language)).check(found.checks[0])
    sure = Gate(measure="P@5", minimum=0.2, significance=0.05)
    found = with_judgments(decide(closed, [sure]), closed, None)
    assert (found.status, found.judge_next) == ("inconclusive", [])  # more queries, not judgments


def test_the_verdict_of_a_comparison_is_open_while_the_unjudged_could_turn_it() -> None:
    before, after = engine(5, relevant=1), engine(5, relevant=4)
    row = compare([before, after], ["a", "b"], primary="P@5").differences[0]
    assert (row.verdict, row.stability) == ("better", None)
    lists = {f"q{n}": [f"u{rank}" for rank in range(5)] for n in range(12)}
    grades = {
        entry.query_id: dict(zip(entry.results, entry.grades, strict=True)) | {"good": 1}
        for entry in after.per_query
    }
    unseen = scored(lists, {query: dict(known) for query, known in grades.items()})  # type: ignore[arg-type]
    (row,) = [
        each
        for each in compare([after, unseen], ["a", "b"], primary="P@5").differences
        if each.verdict
    ]
    assert row.p_adjusted < 0.05
    assert row.verdict in ("open", "probably worse")
    assert row.stability is not None
    assert row.stability.unjudged == 60
    closed, unsure = (
        compare([after, each], ["a", "b"], primary="P@5", equivalence=0.02).differences[0]
        for each in (before, unseen)
    )
    assert (closed.equivalence, unsure.equivalence) == ("worse", "open")


@pytest.mark.parametrize(("seen", "said"), [(2, "probably better"), (6, "better")])
def test_no_belief_says_better_or_worse_where_the_test_does_not(seen: int, said: str) -> None:
    """One engine finds what is relevant wherever somebody looked, the other never. The belief is
    sure all along; the verdict waits for the test, either way round."""
    queries = [f"q{n}" for n in range(12)]
    grades: Grades = {
        query: {f"a{rank}": 0 for rank in range(5)}
        | {"elsewhere": 1}
        | ({f"b{rank}": 1 for rank in range(5)} if place < seen else {})
        for place, query in enumerate(queries)
    }
    poor, good = (
        scored({query: [f"{name}{rank}" for rank in range(5)] for query in queries}, grades)
        for name in "ab"
    )
    row = compare([poor, good], ["poor", "good"], primary="P@5").differences[0]
    back = compare([good, poor], ["good", "poor"], primary="P@5").differences[0]
    for each in (row, back):
        assert each.stability is not None
        assert max(each.stability.up or 0, each.stability.down or 0) > 0.9
        assert (each.p_adjusted <= 0.05) == (seen == 6)
    assert row.verdict == said
    assert back.verdict == said.replace("better", "worse")


@pytest.mark.parametrize(("queries", "misses"), [(12, 1), (30, 1), (30, 7), (30, 15), (60, 30)])
def test_an_engine_of_which_nothing_is_judged_is_not_worse(queries: int, misses: int) -> None:
    """All hits of the other are judged. Of some queries the last one is not relevant: a fair share,
    or so few that somebody listed what is relevant, and then no percentage is given."""
    lists = {f"q{n}": [f"d{rank}" for rank in range(5)] for n in range(queries)}
    grades = {
        query: {doc: int(n >= misses or doc != "d4") for doc in docs} | {"good": 1}
        for n, (query, docs) in enumerate(lists.items())
    }
    unseen = {query: [f"u{rank}" for rank in range(5)] for query in lists}
    pair = [scored(each, grades, rubric="r") for each in (lists, unseen)]
    told = compare(pair, ["a", "b"], primary="nDCG@5").differences
    (row,) = [each for each in told if each.verdict]
    assert row.p_adjusted < 0.05
    assert row.stability is not None
    listed = misses < 0.05 * 5 * queries
    assert (row.sure is None) == listed
    assert row.verdict == ("open" if listed else "probably worse")
    assert row.stability.one_sided != listed


def half_judged(misses: int, *, on_request: int = 0) -> list[list[GradedEntry]]:
    """Two engines with other documents, the first two of each list judged, 80 in all, of which
    `misses` are not relevant; and `on_request` more judged hits, not relevant."""
    first = {f"q{n}": [f"d{rank}" for rank in range(5)] for n in range(20)}
    second = {query: [f"e{rank}" for rank in range(5)] for query in first}
    grades: Grades = {
        query: {"d0": 1, "e0": 1, "d1": int(2 * n >= misses), "e1": int(2 * n + 1 >= misses)}
        for n, query in enumerate(first)
    }
    asked = list(first)[:on_request]
    for query in asked:
        grades[query] |= {"d2": 0, "e2": 0}
    return [
        [
            msgspec.structs.replace(
                entry, judged_on_request=[doc for doc in ("d2", "e2") if entry.query_id in asked]
            )
            for entry in scored(lists, grades, rubric="r").per_query
        ]
        for lists in (first, second)
    ]


def test_judged_hits_that_were_picked_leave_more_doubt_about_two_engines() -> None:
    """Less than one in twenty of them is not relevant: somebody knew them, and they say little of
    what else an engine returns. Judging on request does not change how the set began."""
    picked, fair = (half_judged(misses) for misses in (3, 4))
    wide, narrow = (next_to_judge(*each, measure="P@5").deviation for each in (picked, fair))
    assert wide > 1.05 * narrow
    picked, fair = (half_judged(misses, on_request=3) for misses in (3, 4))
    wide, narrow = (next_to_judge(*each, measure="P@5").deviation for each in (picked, fair))
    assert wide > 1.05 * narrow


def test_compare_and_next_believe_the_same() -> None:
    before, after = engine(3), engine(2)
    shifted = scored(
        {entry.query_id: [f"e{rank}" for rank in range(5)] for entry in after.per_query},
        {entry.query_id: {"e0": 1, "e1": 0, "good": 1} for entry in after.per_query},
    )
    row = compare([before, shifted], ["a", "b"], primary="P@5", force=True).differences[0]
    told = next_to_judge(before.per_query, shifted.per_query, measure="P@5")
    assert row.stability is not None
    assert row.stability.expected == pytest.approx(told.expected)
    assert row.stability.ahead is not None
    # next asks about these queries alone, compare about others too
    assert told.confidence >= max(row.stability.ahead, 1 - row.stability.ahead) - 0.01


def test_next_asks_for_twenty_judgments_before_it_forecasts() -> None:
    few = next_to_judge(engine(3, relevant=2, queries=5).per_query, measure="P@5", threshold=0.5)
    assert (few.first, few.needed) == (5, 5)
    enough = engine(3, relevant=2)
    assert next_to_judge(enough.per_query, measure="P@5", threshold=0.5).first == 0


def test_where_all_that_was_picked_is_relevant_nothing_is_known_of_the_rest() -> None:
    """24 judged hits, all of them relevant: those that were asked for count alone."""
    picked = engine(2)
    assert next_to_judge(picked.per_query, measure="P@5", threshold=0.5).first == 20
    (check,) = decide(picked, [GATE]).checks
    assert "nothing is known about them" in check.message
    asked = [
        msgspec.structs.replace(each, judged_on_request=each.results[:1])
        for each in picked.per_query
    ]
    assert next_to_judge(asked, measure="P@5", threshold=0.5).first == 20 - len(asked)


def test_what_was_chosen_says_less_for_the_rest() -> None:
    """Half of a rank is judged and all of that is relevant: the rest is believed to be worse, and
    better again once hits that were asked for turn out well."""
    known = np.zeros((40, len(COLUMNS)))
    known[:, COLUMNS.index("chosen")] = -0.5
    rest = np.zeros((1, len(COLUMNS)))
    rest[:, COLUMNS.index("chosen")] = 0.5
    query = np.arange(40)
    chosen = fit_relevance(known, query, np.ones(40, np.int64), np.ones(40), 40, 1)
    asked = fit_relevance(
        np.vstack([known, np.repeat(rest, 40, axis=0)]),
        np.tile(query, 2),
        np.ones(80, np.int64),
        np.ones(80),
        40,
        1,
    )
    before, after = (
        relevance_chances(each, rest, np.zeros(1, np.int64))[0] for each in (chosen, asked)
    )
    judged = relevance_chances(chosen, known[:1], np.zeros(1, np.int64))[0]
    assert before < judged
    assert after > before


def test_who_ranks_the_relevant_higher_says_something_of_the_rest() -> None:
    """Both engines return the same documents. The second has the relevant ones on top wherever that
    is known, so what it ranks higher is believed to be relevant where it is not."""
    lists = {f"q{n}": [f"d{rank}" for rank in range(6)] for n in range(16)}
    grades = {query: {f"d{rank}": int(rank > 2) for rank in range(6)} for query in lists}
    for query in list(lists)[8:]:
        grades[query] = {"good": 1, "bad": 0}
    turned = {query: docs[::-1] for query, docs in lists.items()}
    pair = scored(lists, grades).per_query, scored(turned, grades).per_query
    table = hit_table(*pair, parse_measures(["nDCG@10"])[0])
    guess = impute(table)
    chance = relevance_chances(guess.belief, guess.features, guess.spots[:, 0])
    by_document = {
        (table.entries[row].query_id, table.documents[row][column]): value
        for (row, column), value in zip(guess.spots.tolist(), chance.tolist(), strict=True)
    }
    assert by_document["q9", "d5"] > 0.6 > 0.4 > by_document["q9", "d0"]


def test_below_twenty_judged_hits_nothing_is_forecast() -> None:
    """Gates and `gold next` ask for the same judgments first, and neither says that they are
    enough."""
    few = engine(3, relevant=2, queries=5)  # fifteen judged hits
    told = next_to_judge(few.per_query, measure="P@5", threshold=0.5)
    assert (told.first, told.needed) == (5, 5)
    verdict = with_judgments(decide(few, [GATE]), few, None)
    assert verdict.judge_first
    assert verdict.judge_next == told.pairs[:5]
    assert "should settle" not in printed(verdict_lines(verdict))
    assert "Judge at least 5 documents first" in printed(verdict_lines(verdict))
    assert "Judge at least 5 documents first" in printed(decision_page(told, 20))
    enough = engine(3, relevant=2)  # 36 of them
    assert not with_judgments(decide(enough, [GATE]), enough, None).judge_first


def listed(relevant: int, *, on_request: bool) -> list[GradedEntry]:
    """Twelve queries with eight hits, six of them judged, of which the first are relevant."""
    entries = [
        GradedEntry(
            query_id=f"q{n}",
            results=[f"d{rank}" for rank in range(8)],
            num_results=8,
            grades=[int(rank < relevant) if rank < 6 else None for rank in range(8)],
            known_grades=[1] * relevant + [0] * (6 - relevant),
            metrics={},
            judged_on_request=[f"d{rank}" for rank in range(1, 6) if on_request],
        )
        for n in range(12)
    ]
    first = msgspec.structs.replace(entries[0], grades=[1, 0, *entries[0].grades[2:]])
    return [first, *entries[1:]]


def test_what_no_list_has_is_told_by_the_hits_at_its_end() -> None:
    """Where the last hits of a list are relevant there is more to find, and the value is lower than
    the list alone says. That stays so while judging on request goes on, and fades where the hits
    were judged before."""
    measure = parse_measures(["nDCG@8"])[0]
    tables = {
        (relevant, on_request): hit_table(listed(relevant, on_request=on_request), None, measure)
        for relevant, on_request in product((2, 6), (True, False))
    }
    found = {}
    for case, table in tables.items():
        guess = impute(table, with_unseen=True)
        assert guess.unseen is not None
        found[case] = guess.unseen.mean()
    assert found[6, True] > 2 * found[2, True]
    assert found[6, False] < found[6, True] / 1.5
    rich = tables[6, True]
    alone, beside = impute(rich), impute(rich, with_unseen=True)
    assert np.array_equal(alone.drawn, beside.drawn)
    low, high = (sampled_values(rich, measure, each)[0].mean() for each in (beside, alone))
    assert low < high


@pytest.mark.parametrize("better", [0, 1])
def test_the_engine_that_returns_more_of_a_list_is_expected_to_be_better(better: int) -> None:
    """Somebody listed what is relevant: two hits of one engine a query and one of the other, and
    once a document that is not. What is not listed of the other is not given back to it."""
    queries = [f"q{n}" for n in range(20)]
    lists = [{query: [f"{name}{rank}" for rank in range(6)] for query in queries} for name in "ab"]
    grades: Grades = {
        query: {f"{'ab'[better]}0": 1, f"{'ab'[better]}1": 1, f"{'ba'[better]}0": 1}
        for query in queries
    }
    grades["q0"]["a4"] = 0
    pair = [scored(each, grades, rubric="r") for each in lists]
    found = compare(pair, ["a", "b"], primary="nDCG@5").differences
    (row,) = [each for each in found if each.verdict]
    assert row.sure is not None
    assert (row.sure > 0.7) == bool(better)
    assert (row.sure < 0.3) != bool(better)
    assert row.verdict.startswith("probably") or row.verdict in ("better", "worse")
    assert row.pool is not None
    assert row.pool.depth == 3

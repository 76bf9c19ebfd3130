"""What unjudged documents could turn is not decided: one belief for gates, comparisons and `gold
next`, no guess where nothing is known, and nothing unjudged in a closed set."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.results import Gate, GoldCard, GradedEntry, GradedReceipt, GradedResults
from assay.evaluation.belief import COLUMNS, chances, learn
from assay.evaluation.comparison import compare
from assay.evaluation.doubts import is_closed
from assay.evaluation.gates import decide
from assay.evaluation.graded import score_sheet
from assay.evaluation.guessed import guessed, tabled
from assay.evaluation.judged import prepare
from assay.evaluation.measures import parse_measures
from assay.evaluation.receipts import measure_lines
from assay.judging.next import next_to_judge

Grades = dict[str, dict[str, int]]
GATE = Gate(measure="P@5", minimum=0.5)


def scored(lists: dict[str, list[str]], grades: Grades, *, rubric: str = "") -> GradedResults:
    run = {
        query: {doc: -float(rank) for rank, doc in enumerate(docs)} for query, docs in lists.items()
    }
    sheet = score_sheet(prepare(run, grades), parse_measures(["P@5", "nDCG@5"]))
    lines = measure_lines(sheet.measures)
    entries = [
        GradedEntry(
            query_id=query,
            results=docs,
            num_results=len(docs),
            grades=[grades[query].get(doc) for doc in docs],
            judged=sorted(grades[query].values(), reverse=True),
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
    (check,) = decide(engine(2), [GATE]).checks  # .4 as judged, 1 where the others are like them
    assert check.status == "inconclusive"
    assert check.value == pytest.approx(0.4)
    assert "36 of 60 hits that count are unjudged" in check.message
    assert "it would hold with" in check.message
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
    assert "nothing is known of them" in check.message
    assert decide(few, [Gate(measure="P@5", minimum=0.3)]).status == "pass"  # whatever they are


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


def test_the_verdict_of_a_comparison_is_open_while_the_unjudged_could_turn_it() -> None:
    before, after = engine(5, relevant=1), engine(5, relevant=4)
    row = compare([before, after], ["a", "b"], primary="P@5").differences[0]
    assert (row.verdict, row.doubt) == ("better", None)
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
    assert row.p_holm < 0.05
    assert row.verdict == "open"
    assert row.doubt is not None
    assert row.doubt.unjudged == 60


def test_compare_and_next_believe_the_same() -> None:
    before, after = engine(3), engine(2)
    shifted = scored(
        {entry.query_id: [f"e{rank}" for rank in range(5)] for entry in after.per_query},
        {entry.query_id: {"e0": 1, "e1": 0, "good": 1} for entry in after.per_query},
    )
    row = compare([before, shifted], ["a", "b"], primary="P@5", force=True).differences[0]
    told = next_to_judge(before.per_query, shifted.per_query, measure="P@5")
    assert row.doubt is not None
    assert row.doubt.expected == pytest.approx(told.expected)
    assert row.doubt.ahead is not None
    assert told.confidence == pytest.approx(max(row.doubt.ahead, 1 - row.doubt.ahead))


def test_next_asks_for_twenty_judgments_before_it_forecasts() -> None:
    few = next_to_judge(engine(2, queries=5).per_query, measure="P@5", threshold=0.5)
    assert few.first == 10
    assert few.needed >= 10
    assert next_to_judge(engine(2).per_query, measure="P@5", threshold=0.5).first == 0


def test_what_was_chosen_says_less_for_the_rest() -> None:
    """Half of a rank is judged and all of that is relevant: the rest is believed to be worse, and
    better again once hits that were asked for turn out well."""
    known = np.zeros((40, len(COLUMNS)))
    known[:, COLUMNS.index("chosen")] = -0.5
    rest = np.zeros((1, len(COLUMNS)))
    rest[:, COLUMNS.index("chosen")] = 0.5
    query = np.arange(40)
    chosen = learn(known, query, np.ones(40, np.int64), 40, 1)
    asked = learn(
        np.vstack([known, np.repeat(rest, 40, axis=0)]),
        np.tile(query, 2),
        np.ones(80, np.int64),
        40,
        1,
    )
    before, after = (chances(each, rest, np.zeros(1, np.int64))[0] for each in (chosen, asked))
    judged = chances(chosen, known[:1], np.zeros(1, np.int64))[0]
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
    table = tabled(*pair, parse_measures(["nDCG@10"])[0])
    guess = guessed(table)
    chance = chances(guess.belief, guess.features, guess.spots[:, 0])
    by_document = {
        (table.entries[row].query_id, table.documents[row][column]): value
        for (row, column), value in zip(guess.spots.tolist(), chance.tolist(), strict=True)
    }
    assert by_document["q9", "d5"] > 0.6 > 0.4 > by_document["q9", "d0"]

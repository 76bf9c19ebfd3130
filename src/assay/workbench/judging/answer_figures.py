"""What judges say of answers: support of their sentences, nuggets, and whether each answer is
correct and grounded.

Labels come from people's votes by the policy of the set. Machine votes enter only through the
prediction-powered estimate, which people's votes correct; without enough of those they give no
figure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec
import numpy as np

from assay.answers.measures import nugget_recall, weighted_support
from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.results import MIN_QUERIES
from assay.core.types import counted
from assay.evaluation.prediction_powered import estimate
from assay.evaluation.statistics import mean_intervals
from assay.gold.votes import current_votes
from assay.judging.labels import read_policy
from assay.judging.pool import is_answer_set
from assay.judging.votes import read_votes
from assay.workbench.judging.answer_page import record_of
from assay.workbench.judging.answer_pool import AnswerRecord, Claim, kind_of
from assay.workbench.judging.session import open_session
from assay.workbench.scoring.graded import grades_by_machines, grades_by_people
from assay.workbench.searching.open_corpora import reader_of

Values = dict[str, float | None]
QUESTION_KINDS = ("support", "nugget", "correct", "grounded")
ASSIGNED = {2: "support", 1: "partial_support", 0: "not_support"}
MEASURES = (
    *("support_precision", "support_recall"),
    *("strict_vital", "weighted_vital", "strict_all", "weighted_all"),
    *("correct", "grounded", "correct_and_grounded"),
)


class JudgedFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over questions, with its 95% interval. `people` judged so many of them in full; `by`
    says whether machine votes, corrected, are in it. Without a value `reason` says why."""

    value: float | None
    people: int
    questions: int
    interval: tuple[float, float] | None = None
    by: str = "people"
    reason: str = ""


class JudgedSystem(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one system. `verdicts` count answers: correct or not, and grounded or not."""

    system: str
    answers: int
    figures: dict[str, JudgedFigure]
    verdicts: dict[str, int]


class JudgedAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The judged figures of a set of answers. `checked` is the share of judged claims that people
    judged."""

    gold: str
    claims: int
    by_people: int
    by_machines: int
    checked: float | None
    systems: list[JudgedSystem]


def judged_answers(dataset: Path, home: Path | None = None) -> JudgedAnswers:
    """The figures of a set of answers from the votes that hold now."""
    if not is_answer_set(dataset):
        raise InputError(
            "this is not a set of answers",
            where=str(dataset),
            hint="Make one: assay answers pool RESULTS -o ANSWERS.json",
        )
    session = open_session(dataset)
    reader = reader_of(session.pool, dataset, home)
    votes = [
        vote
        for vote in current_votes(read_votes(dataset))
        if vote.query_id in session.pool_by_query
    ]
    people, machines = grades_by_people(votes, read_policy(dataset)), grades_by_machines(votes)
    systems: dict[str, list[_AnswerValues]] = defaultdict(list)
    for query in session.gold.queries:
        kept = reader.get(query.id)
        if kept is None:
            raise InputError(f"the answer {query.id!r} is gone", where=reader.corpus)
        record, claims = record_of(kept), dict[str, Claim]()
        for pair in session.pool_by_query.get(query.id, ()):
            document = reader.get(pair.doc_id)
            if document is not None and kind_of(document):
                claim = document.metadata["claim"]
                claims[pair.doc_id] = msgspec.convert(claim, thread_safe(Claim))
        both_kinds = (people.get(query.id, {}), machines.get(query.id, {}))
        by_people, by_machines = (values_of(record, claims, grades) for grades in both_kinds)
        judged = _AnswerValues(query.text, by_people, by_machines)
        systems[record.system].append(judged)
    asked = {pair.key for pairs in session.pool_by_query.values() for pair in pairs}
    graded = [
        asked & {(query, doc) for query, docs in grades.items() for doc in docs}
        for grades in (people, machines)
    ]
    anybody = graded[0] | graded[1]
    return JudgedAnswers(
        gold=session.gold.name,
        claims=len(asked),
        by_people=len(graded[0]),
        by_machines=len(graded[1]),
        checked=len(graded[0]) / len(anybody) if anybody else None,
        systems=[_system(name, judged) for name, judged in sorted(systems.items())],
    )


class _AnswerValues(NamedTuple):
    """One answer: its question, and its values by people and by machines."""

    question: str
    people: Values
    machines: Values


# ── one answer ────────────────────────────────────────────────────────────────────────────────────


def values_of(
    record: AnswerRecord, claims: Mapping[str, Claim], grades: Mapping[str, int]
) -> Values:
    """The value of each measure; None where a claim that it needs is not judged, or where there is
    nothing to measure."""
    values: Values = dict.fromkeys(MEASURES)
    kinds = {kind: [id for id in claims if claims[id].kind == kind] for kind in QUESTION_KINDS}
    is_judged = {kind: all(id in grades for id in ids) for kind, ids in kinds.items()}
    if is_judged["support"]:
        precision, recall = weighted_support(_support(record, grades))
        values |= {"support_precision": precision, "support_recall": recall}
    if is_judged["nugget"] and kinds["nugget"]:
        values |= nugget_recall(
            ("vital" if claims[id].vital else "okay", ASSIGNED[grades[id]])
            for id in kinds["nugget"]
        )
    for kind in ("correct", "grounded"):
        if kinds[kind] and is_judged[kind]:
            values[kind] = float(grades[kinds[kind][0]] == 2)
    if values["correct"] is not None and values["grounded"] is not None:
        values["correct_and_grounded"] = values["correct"] * values["grounded"]
    return values


def _support(record: AnswerRecord, grades: Mapping[str, int]) -> Iterator[list[int | None]]:
    """The grades of the sources that each sentence cites; 0 for a citation with a fault. A sentence
    is left out where there is no text to judge any of its citations by."""
    for number in range(len(record.sentences)):
        cited = [citation for citation in record.cited if citation.sentence == number]
        judged = {citation.claim: grades[citation.claim] for citation in cited if citation.claim}
        given: list[int | None] = [
            *judged.values(),
            *(0 for citation in cited if citation.is_fault),
        ]
        if given or not cited:
            yield given


# ── one system ────────────────────────────────────────────────────────────────────────────────────


def _system(name: str, judged: Sequence[_AnswerValues]) -> JudgedSystem:
    verdicts = Counter(
        f"{'correct' if answer.people['correct'] else 'not correct'}, "
        f"{'grounded' if answer.people['grounded'] else 'not grounded'}"
        for answer in judged
        if answer.people["correct_and_grounded"] is not None
    )
    figures = {measure: _figure(measure, judged) for measure in MEASURES}
    return JudgedSystem(
        system=name, answers=len(judged), figures=figures, verdicts=dict(sorted(verdicts.items()))
    )


def _figure(measure: str, judged: Sequence[_AnswerValues]) -> JudgedFigure:
    people = _by_question((answer.question, answer.people[measure]) for answer in judged)
    machines = _by_question((answer.question, answer.machines[measure]) for answer in judged)
    both = [question for question in people if question in machines]
    others = [question for question in machines if question not in people]
    figure = JudgedFigure(value=None, people=len(people), questions=len(people) + len(others))
    replace = msgspec.structs.replace
    if len(both) >= MIN_QUERIES and others:
        given = np.array([people[answer] for answer in both])
        machine_values = np.array([machines[answer] for answer in (*both, *others)])
        found = estimate(given[None], machine_values[None])
        interval = (float(found.low[0]), float(found.high[0]))
        return replace(figure, value=float(found.value[0]), interval=interval, by="corrected")
    reason = ""
    if others:
        reason = (
            f"machine votes on {counted(len(others), 'more question')} are not counted: people "
            f"judged {counted(len(both), 'question')} that machines judged too, and {MIN_QUERIES} "
            "are needed to correct them"
        )
    if not people:
        return replace(figure, reason=reason or "nothing to measure is judged")
    (bounds,) = mean_intervals(np.array([[value] for value in people.values()]))
    mean = replace(figure, value=fmean(people.values()), reason=reason)
    if bounds.low is None or bounds.high is None:
        return mean
    return replace(mean, interval=(bounds.low, bounds.high))


def _by_question(values: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """The mean value of each question: several answers to one question are not independent."""
    grouped: dict[str, list[float]] = defaultdict(list)
    for question, value in values:
        if value is not None:
            grouped[question].append(value)
    return {question: fmean(given) for question, given in grouped.items()}

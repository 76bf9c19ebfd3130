"""Count what the check of answers found: totals, the share of each answer that is right, required
authorities, abstention, and the comparison of two runs. Support and nuggets of judged
answers are at the end.

Citations of one answer are not independent, so that every interval is over answers, and answers to
one question are one value."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import msgspec
import numpy as np

from assay.core.errors import InputError
from assay.core.results import (
    ANSWER_COUNTS,
    ANSWER_SHARES,
    AnswerEntry,
    AnswerNote,
    AnswerResults,
    AuthorityEntry,
    Gate,
    Intervals,
    Metrics,
)
from assay.evaluation.gate_values import answer_mistake, answer_values_by_question
from assay.evaluation.statistics import change_intervals, change_tests, mean_intervals

# Counts that a gate can hold at 0, each with the check and the values that it counts.
COUNTS = {
    "missing_citations": ("exists", {"not_found"}),
    "unreadable_citations": ("exists", {"unreadable"}),
    "wrong_names": ("name", {"differs"}),
    "missing_pinpoints": ("pinpoint", {"missing"}),
    "not_in_force": ("in_force", {"not_yet", "no_longer"}),
    "not_retrieved": ("retrieved", {"neither"}),
}
QUOTE_COUNTS = {
    "altered_quotes": {"altered"},
    "misattributed_quotes": {"other_source"},
    "quotes_found_nowhere": {"nowhere"},
}
FAULTS = tuple({**COUNTS, **QUOTE_COUNTS, "unsupported_figures": ()}.keys() - {"not_retrieved"})
SHARES, AUTHORITIES = ANSWER_SHARES[:4], ANSWER_SHARES[4:]
MEASURES = (*ANSWER_COUNTS, *ANSWER_SHARES)


def figures_of(entry: AnswerEntry, authority: AuthorityEntry | None = None) -> Metrics:
    """The figures of one answer; a share of nothing has no value."""
    figures: Metrics = {
        name: sum(getattr(one, check) in values for one in entry.citations)
        for name, (check, values) in COUNTS.items()
    }
    for name, statuses in QUOTE_COUNTS.items():
        figures[name] = sum(one.status in statuses for one in entry.quotes)
    figures["unsupported_figures"] = sum(one.status == "unsupported" for one in entry.figures)
    checked = [one for one in entry.citations if one.exists in ("found", "not_found")]
    right = [one for one in checked if not any(getattr(one, c) in v for c, v in _FAULT_VALUES)]
    quotes = [one for one in entry.quotes if one.status != "too_short"]
    exact = [one for one in quotes if one.status in ("verbatim", "ellipsis")]
    figures["citations_right"] = len(right) / len(checked) if checked else None
    figures["quotes_right"] = len(exact) / len(quotes) if quotes else None
    supported = len(entry.figures) - (figures["unsupported_figures"] or 0)
    figures["figures_right"] = supported / len(entry.figures) if entry.figures else None
    figures["faultless"] = float(not any(figures[name] for name in FAULTS))
    if authority is not None:
        figures |= {
            "authority_recall": authority.recall,
            "authority_precision": authority.precision,
        }
    return figures


_FAULT_VALUES = [pair for name, pair in COUNTS.items() if name != "not_retrieved"]


def unchecked_of(entries: Iterable[AnswerEntry]) -> dict[str, int]:
    """How many citations and quotations could not be checked, by reason."""
    counts: Counter[str] = Counter()
    for entry in entries:
        counts.update(
            one.exists for one in entry.citations if one.exists not in ("found", "not_found")
        )
        counts["too_short"] += sum(one.status == "too_short" for one in entry.quotes)
    return {reason: count for reason, count in sorted(counts.items()) if count}


def summarize_answers(
    entries: Sequence[AnswerEntry],
    authorities: Sequence[AuthorityEntry] = (),
    questions: Mapping[str, str] | None = None,
) -> tuple[Metrics, Intervals, dict[str, Metrics]]:
    """The figures over all answers, their intervals, and those of each answer. Answers to one
    question (by its text) are averaged first."""
    by_id = {one.id: one for one in authorities}
    each = {entry.id: figures_of(entry, by_id.get(entry.id)) for entry in entries}
    overall: Metrics = {
        "answers": len(entries),
        "refused": sum(entry.refused for entry in entries),
        "citations": sum(len(entry.citations) for entry in entries),
        "citations_checked": sum(
            one.exists in ("found", "not_found") for entry in entries for one in entry.citations
        ),
        "quotes": sum(len(entry.quotes) for entry in entries),
        "figures": sum(len(entry.figures) for entry in entries),
    }
    intervals = {}
    for name in MEASURES:
        values = answer_values_by_question(each, name, questions or {})
        if name in (*SHARES, *AUTHORITIES):
            overall[name] = fmean(values.values()) if values else None
            if len(values) > 1:
                (found,) = mean_intervals(np.array([[value] for value in values.values()]))
                intervals[name] = (found.low, found.high)
        else:
            overall[name] = sum(int(figures[name] or 0) for figures in each.values())
    return overall, Intervals(overall=intervals), each


def shared_questions(questions: Mapping[str, str]) -> dict[str, str]:
    """Each answer whose question has several answers, with the first of them."""
    answers: dict[str, list[str]] = defaultdict(list)
    for id, question in questions.items():
        answers[question].append(id)
    return {id: ids[0] for ids in answers.values() if len(ids) > 1 for id in ids}


# ── required authorities ──────────────────────────────────────────────────────────────


def authority_of(
    entry: AnswerEntry, retrieved: Iterable[str], required: Iterable[str], answerable: bool | None
) -> AuthorityEntry:
    """Which required documents an answer cites, and whether search or writing lost the others."""
    wanted = list(dict.fromkeys(required))
    given = set(retrieved)
    cited = list(dict.fromkeys(target for one in entry.citations for target in one.targets))
    found = [target for target in wanted if target in cited]
    return AuthorityEntry(
        id=entry.id,
        required=wanted,
        cited=cited,
        not_retrieved=[one for one in wanted if one not in given and one not in cited],
        retrieved_not_cited=[one for one in wanted if one in given and one not in cited],
        cited_not_retrieved=[one for one in wanted if one in cited and one not in given],
        recall=len(found) / len(wanted) if wanted else None,
        precision=len(found) / len(cited) if cited and wanted else None,
        answerable=answerable,
    )


# ── gates ─────────────────────────────────────────────────────────────────────────────────────────

_GATE = re.compile(r"\s*(?P<name>[a-z_]+)\s*(?P<sign><=|>=|=|≤|≥)\s*(?P<limit>\d+(?:\.\d+)?)\s*")


def gate_of(text: str) -> Gate:
    """A gate from its text: `missing_citations=0`, `authority_recall>=0.8`."""
    match = _GATE.fullmatch(text)
    if match is None or match["name"] not in MEASURES:
        raise InputError(
            f"{text!r} is not a gate on answers",
            hint=f"Write NAME=0 or NAME>=0.8: {', '.join(MEASURES)}.",
        )
    limit = float(match["limit"])
    gate = Gate(measure=match["name"], maximum=limit)
    if match["sign"] in (">=", "≥") or match["name"] in ANSWER_SHARES:
        gate = Gate(measure=match["name"], minimum=limit)
    wrong, hint = answer_mistake(gate)
    if wrong:
        raise InputError(wrong, hint=hint)
    return gate


# ── two runs ──────────────────────────────────────────────────────────────────────────────────────


class AnswerChange(msgspec.Struct, frozen=True, kw_only=True):
    """The mean change of one measure from run A to run B, over the questions that both have."""

    measure: str
    n: int
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    p: float
    moved: dict[str, float] = {}  # the answers that changed most


def compare_answers(a: AnswerResults, b: AnswerResults) -> list[AnswerChange]:
    """Every measure of two runs, paired by answer, with the answers to one question averaged first;
    a measure that fewer than two questions have in both runs is left out."""
    changes = []
    for name in MEASURES:
        both = [
            id
            for id, figures in a.per_query.items()
            if figures.get(name) is not None and b.per_query.get(id, {}).get(name) is not None
        ]
        before, after = (
            answer_values_by_question({id: run.per_query[id] for id in both}, name, a.questions)
            for run in (a, b)
        )
        if len(before) < 2:
            continue
        pairs = {question: (before[question], after[question]) for question in before}
        moves = {id: two - one for id, (one, two) in pairs.items()}
        column = np.array([[move] for move in moves.values()])
        (interval,) = change_intervals(column)
        most = sorted((id for id in moves if moves[id]), key=lambda id: -abs(moves[id]))[:10]
        changes.append(
            AnswerChange(
                measure=name,
                n=len(pairs),
                a=fmean(one for one, _ in pairs.values()),
                b=fmean(two for _, two in pairs.values()),
                difference=fmean(moves.values()),
                low=interval.low,
                high=interval.high,
                p=float(change_tests(column)[0]),
                moved={id: moves[id] for id in most},
            )
        )
    return changes


def faults_of(results: AnswerResults) -> dict[str, list[AnswerNote]]:
    """The notes on faults, by answer, in the order of the answers."""
    by_answer: dict[str, list[AnswerNote]] = {entry.id: [] for entry in results.per_answer}
    for note in results.notes:
        if note.is_fault:
            by_answer[note.id].append(note)
    return {id: notes for id, notes in by_answer.items() if notes}


# ── judged answers ────────────────────────────────────────────────────────────────────────────────


def weighted_support(grades: Iterable[Sequence[int | None]]) -> tuple[float | None, float | None]:
    """Weighted precision and recall of support (TREC RAG 2024): for each sentence the grades of its
    citations, 2 full, 1 partial, 0 none. Precision is over graded citations, recall over sentences
    by their best citation; a sentence that cites nothing counts in recall alone."""
    listed = [[grade for grade in sentence if grade is not None] for sentence in grades]
    graded = [grade / 2 for sentence in listed for grade in sentence]
    best = [max(sentence, default=0) / 2 for sentence in listed]
    return (fmean(graded) if graded else None), (fmean(best) if best else None)


def nugget_recall(nuggets: Iterable[tuple[str, str]]) -> dict[str, float | None]:
    """Recall of nuggets, each a pair of importance (vital, okay) and assignment (support,
    partial_support, not_support), as castorini/nuggetizer counts it: strict counts full support
    alone, weighted half for partial support, and `all` weighs okay nuggets half. Without vital
    nuggets there is no vital value."""
    worth = {"support": (1.0, 1.0), "partial_support": (0.0, 0.5), "not_support": (0.0, 0.0)}
    listed = [(importance, *worth[assignment]) for importance, assignment in nuggets]
    vital = [(strict, weighted) for importance, strict, weighted in listed if importance == "vital"]
    okay = [(strict, weighted) for importance, strict, weighted in listed if importance == "okay"]
    total = len(vital) + 0.5 * len(okay)
    found: dict[str, float | None] = {}
    for at, name in enumerate(("strict", "weighted")):
        score = sum(one[at] for one in vital) + 0.5 * sum(one[at] for one in okay)
        found[f"{name}_vital"] = fmean(one[at] for one in vital) if vital else None
        found[f"{name}_all"] = score / total if total else None
    return found

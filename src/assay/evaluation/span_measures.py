"""Measures of spans and of sets, which public benchmarks define for themselves.

Precision and recall of LegalBench-RAG count characters (Pipitone and Houir Alami 2024): of the
characters of the spans that were retrieved, the share inside a span that answers; of the characters
of the spans that answer, the share that was retrieved. As in its script, each retrieved span counts
by itself, so that characters retrieved twice count twice.

Precision, recall and F2 of COLIEE's statute task are of the whole list that an engine returns, by
query, and then averaged (macro-average, as from 2024 on)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

Span = tuple[str, int, int]  # file, first character, character after the last


def span_precision_recall(found: Sequence[Span], answers: Sequence[Span]) -> tuple[float, float]:
    """Of one query."""
    common = sum(
        max(0, min(high, last) - max(low, first))
        for file, low, high in found
        for other, first, last in answers
        if file == other
    )
    retrieved = sum(high - low for _, low, high in found)
    relevant = sum(last - first for _, first, last in answers)
    return common / retrieved if retrieved else 0.0, common / relevant if relevant else 0.0


def set_measures(found: Sequence[str], relevant: Collection[str]) -> tuple[float, float, float]:
    """Precision, recall and F2 of one query."""
    right = len(set(found) & set(relevant))
    precision = right / len(found) if found else 0.0
    recall = right / len(relevant) if relevant else 0.0
    below = 4 * precision + recall
    return precision, recall, 5 * precision * recall / below if below else 0.0

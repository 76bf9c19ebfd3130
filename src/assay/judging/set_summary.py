"""The summary of a gold set for `assay gold stats`: its queries by topic and type, its judgments by
grade, and how they spread over queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from assay.core.fingerprints import gold_fingerprint
from assay.core.types import GoldSet, Vote, machine_note_of
from assay.judging.validate import versions_used


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest, the middle and the largest of some counts."""

    min: int
    median: int
    max: int


class GoldPicture(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`topics` are counts of queries by topic and type; `rationales` is the share of judgments that
    have one, `rubric_versions` how many votes, or judgments where nobody voted, were given under
    each version of a rubric. `note` says that labels rest on machines alone."""

    name: str
    queries: int
    judgments: int
    rubric: str
    rubric_versions: dict[str, int]
    rationales: float
    types: dict[str, int]
    topics: dict[str, dict[str, int]]
    grades: dict[str, int]
    judged_per_query: Spread
    fingerprint: str
    note: str = ""


def picture_of(gold: GoldSet, votes: Sequence[Vote] = ()) -> GoldPicture:
    judged = Counter({query.id: 0 for query in gold.queries})
    grades: Counter[int] = Counter()
    with_rationale = 0
    for judgment in gold.iter_judgments():
        judged[judgment.query_id] += 1
        grades[judgment.grade] += 1
        with_rationale += bool(judgment.rationale.strip())
    counts = sorted(judged.values()) or [0]  # a set may have no queries yet
    topics: dict[str, Counter[str]] = {}
    for query in gold.queries:
        topics.setdefault(query.topic or query.category, Counter())[query.type] += 1
    return GoldPicture(
        name=gold.name,
        queries=len(gold.queries),
        judgments=gold.judgments.height,
        rubric=gold.rubric,
        rubric_versions=versions_used(gold, votes),
        rationales=with_rationale / max(gold.judgments.height, 1),
        types=dict(Counter(query.type for query in gold.queries)),
        topics={topic: dict(types) for topic, types in topics.items()},
        grades={str(grade): grades[grade] for grade in sorted(grades, reverse=True)},
        judged_per_query=Spread(min=counts[0], median=counts[len(counts) // 2], max=counts[-1]),
        fingerprint=gold_fingerprint(gold),
        note=machine_note_of(gold),
    )

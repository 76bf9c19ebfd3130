"""Checks on a gold set: errors make it unusable, flags ask a person to look.

Reading already refuses what is malformed. Here: references, uniqueness of texts, the calibration
checklist of the rubric, and how the set is spread over topics, types and grades."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from assay.core.types import Finding, GoldSet, Judgment, Query
from assay.judging.rubrics import Rubric, span

INFLATED_SHARE = 0.75  # more than this share of grade-2 judgments on a query asks for a second look
MIN_RATIONALE_WORDS = 3


def validate(
    gold: GoldSet, rubric: Rubric, corpus_ids: Collection[str] | None = None
) -> list[Finding]:
    """Every finding, errors first, in the order of the file."""
    judged: dict[str, list[Judgment]] = defaultdict(list)
    for judgment in gold.iter_judgments():
        judged[judgment.query_id].append(judgment)
    findings = [
        *_references(gold, judged, corpus_ids),
        *_scale(judged, rubric),
        *_texts(gold),
        *_taxonomy(gold),
    ]
    graded = gold.judgments.height > 0 and gold.max_grade >= rubric.highly_relevant_from
    if graded:
        for query in gold.queries:
            findings += _checklist(query, judged[query.id], rubric)
        findings += _distribution(gold, rubric)
    if graded and not gold.rubric:
        message = f"the set does not name its rubric; assuming {rubric.id}"
        findings.append(_flag("no-rubric", gold.name, message))
    return sorted(findings, key=lambda finding: finding.level != "error")


def _error(code: str, where: str, message: str) -> Finding:
    return Finding(level="error", code=code, where=where, message=message)


def _flag(code: str, where: str, message: str) -> Finding:
    return Finding(level="flag", code=code, where=where, message=message)


def _references(
    gold: GoldSet, judged: dict[str, list[Judgment]], corpus_ids: Collection[str] | None
) -> Iterator[Finding]:
    if corpus_ids is None:
        return
    known = set(corpus_ids)
    for query_id, judgments in judged.items():
        for judgment in judgments:
            if judgment.doc_id not in known:
                message = f"judged document {judgment.doc_id!r} is not in the corpus"
                yield _error("unknown-document", query_id, message)
    for topic_id, topic in gold.taxonomy.items():
        for issue in topic.issues:
            for doc_id in issue.example_opinion_ids:
                if doc_id and doc_id not in known:
                    where = f"taxonomy.{topic_id}.{issue.id}"
                    message = f"example opinion {doc_id!r} is not in the corpus"
                    yield _error("unknown-example", where, message)


def _scale(judged: dict[str, list[Judgment]], rubric: Rubric) -> Iterator[Finding]:
    allowed = {grade.value for grade in rubric.grades}
    for query_id, judgments in judged.items():
        for judgment in judgments:
            if judgment.grade not in allowed:
                grade = f"grade {judgment.grade} of {judgment.doc_id!r}"
                message = f"{grade} is not on the scale of {rubric.id}"
                yield _error("off-scale", query_id, message)


def _texts(gold: GoldSet) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for query in gold.queries:
        text = " ".join(query.text.casefold().split())
        if not text:
            yield _flag("no-text", query.id, "the query has no text")
        elif text in seen and query.extra.get("parent") != seen[text]:
            # a variant of the other may differ in case alone
            yield _error("repeated-text", query.id, f"the same text as query {seen[text]!r}")
        seen.setdefault(text, query.id)


def _taxonomy(gold: GoldSet) -> Iterator[Finding]:
    if not gold.taxonomy:
        return
    pairs = [(issue.id, topic) for topic, entry in gold.taxonomy.items() for issue in entry.issues]
    home = dict(pairs)
    seen = Counter(issue_id for issue_id, _ in pairs)
    for issue_id, count in seen.items():
        if count > 1:
            message = f"the issue id stands {count} times in the taxonomy"
            yield _flag("repeated-issue", f"taxonomy.{issue_id}", message)
    for query in gold.queries:
        if not query.topic:
            yield _flag("no-topic", query.id, "the query has no topic")
        if not query.type:
            yield _flag("no-type", query.id, "the query has no type")
        if query.issue and query.issue not in home:
            yield _error("unknown-issue", query.id, f"issue {query.issue!r} is not in the taxonomy")
        elif query.issue and seen[query.issue] == 1 and home[query.issue] != query.topic:
            belongs = f"issue {query.issue!r} belongs to topic {home[query.issue]!r}"
            message = f"{belongs}, the query says {query.topic!r}"
            yield _flag("issue-topic", query.id, message)


def _checklist(query: Query, judgments: list[Judgment], rubric: Rubric) -> Iterator[Finding]:
    """The rubric's calibration checklist for one query."""
    yield from _counts(query.id, judgments, rubric)
    yield from _rationales(query.id, judgments)


def _counts(query_id: str, judgments: list[Judgment], rubric: Rubric) -> Iterator[Finding]:
    """Numbers of judgments that are not as expected."""
    rules = rubric.checklist
    expected = rubric.expected_per_query
    total = len(judgments)
    high = sum(judgment.grade >= rubric.highly_relevant_from for judgment in judgments)
    relevant = sum(judgment.grade >= rubric.relevant_from for judgment in judgments)
    middle = relevant - high
    if total < rules.min_judged:
        wanted = f"at least {rules.min_judged} wanted"
        yield _flag(
            "too-narrow", query_id, f"{total} judged, {wanted}: the query may be too narrow"
        )
    if high < rules.min_highly_relevant:
        wanted = f"at least {rules.min_highly_relevant} wanted"
        yield _flag(
            "few-highly-relevant",
            query_id,
            f"{high} with grade 2, {wanted}: is the issue in the corpus?",
        )
    if high > expected.highly_relevant[1]:
        usual = f"{span(expected.highly_relevant)} expected"
        yield _flag(
            "too-broad", query_id, f"{high} with grade 2, {usual}: the query may be too broad"
        )
    if total >= rules.min_judged and high / total > INFLATED_SHARE:
        yield _flag(
            "inflated", query_id, f"{high} of {total} judgments are grade 2: check for inflation"
        )
    is_usual = expected.relevant[0] <= middle <= expected.relevant[1]
    if high >= rules.min_highly_relevant and not is_usual:
        yield _flag(
            "grade-1-spread", query_id, f"{middle} with grade 1, {span(expected.relevant)} expected"
        )
    if total > expected.judged[1]:
        yield _flag("many-judged", query_id, f"{total} judged, {span(expected.judged)} expected")


def _rationales(query_id: str, judgments: list[Judgment]) -> Iterator[Finding]:
    """Rationales that a reader cannot check."""
    words = {judgment.doc_id: len(judgment.rationale.split()) for judgment in judgments}
    bare = [doc_id for doc_id, count in words.items() if count == 0]
    if bare:
        yield _flag("no-rationale", query_id, f"{len(bare)} without a rationale: {_some(bare)}")
    short = [doc_id for doc_id, count in words.items() if 0 < count < MIN_RATIONALE_WORDS]
    if short:
        message = f"{len(short)} with a rationale too short to check: {_some(short)}"
        yield _flag("thin-rationale", query_id, message)
    stated = (judgment.rationale.strip() for judgment in judgments)
    for text, count in Counter(rationale for rationale in stated if rationale).items():
        if count > 2:
            yield _flag(
                "copied-rationale",
                query_id,
                f"{count} judgments share one rationale: {text[:60]!r}",
            )


def _distribution(gold: GoldSet, rubric: Rubric) -> Iterator[Finding]:
    targets = rubric.targets
    if targets is None:
        return
    total = len(gold.queries)
    if not targets.queries[0] <= total <= targets.queries[1]:
        yield _flag("set-size", gold.name, f"{total} queries, {span(targets.queries)} wanted")
    by_topic = Counter(query.topic for query in gold.queries)
    for topic, bounds in targets.topics.items():
        if topic in gold.taxonomy and not bounds[0] <= by_topic[topic] <= bounds[1]:
            yield _flag("topic-spread", topic, f"{by_topic[topic]} queries, {span(bounds)} wanted")
    for topic, count in by_topic.items():
        types = Counter(query.type for query in gold.queries if query.topic == topic)
        even = count / len(targets.types)
        for name in targets.types:
            if count >= len(targets.types) and abs(types[name] - even) > max(1.0, even * 0.5):
                message = f"{types[name]} of {count} queries are {name}, about {even:.0f} wanted"
                yield _flag("type-spread", topic or gold.name, message)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

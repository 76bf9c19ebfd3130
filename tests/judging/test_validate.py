"""Gold validation: every finding fires on a minimal set and not on a sound one; and the rubric it
reads."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import InputError
from assay.core.types import (
    Document,
    Expected,
    GoldSet,
    Issue,
    Judgment,
    Query,
    Targets,
    Topic,
    Vote,
    judgments_to_frame,
)
from assay.judging import rubrics
from assay.judging.validate import KnownDocuments, near_duplicates, validate
from assay.judging.votes import document_fingerprint
from kit.votes import vote as kit_vote

RUBRIC = rubrics.load("fppc-relevance-3")
TARGETS = rubrics.load("fppc-relevance-1").targets or Targets()  # stated once in a rubric
TYPES = ("keyword", "natural_language", "fact_pattern")

SPREAD = {2: 4, 1: 6, 0: 3}  # a sound query: 4 with grade 2, 6 with grade 1, 13 judged


def judged(query_id: str, spread: dict[int, int] = SPREAD) -> list[Judgment]:
    return [
        Judgment(
            query_id=query_id,
            doc_id=f"{grade}-{number}",
            grade=grade,
            rationale=f"applies test {number} of grade {grade} here",
        )
        for grade, count in spread.items()
        for number in range(count)
    ]


def sound_queries() -> list[Query]:
    """Within every target: 63 queries, types even in each topic."""
    counts = {
        "conflicts_of_interest": 27,
        "campaign_finance": 12,
        "gifts_honoraria": 6,
        "lobbying": 3,
        "other": 9,
    }
    counts["conflicts_of_interest"] += 3
    return [
        Query(
            id=f"{topic}-{number}",
            text=f"{topic} {number}",
            type=TYPES[number % 3],
            topic=topic,
            issue=f"{topic}-i",
        )
        for topic, count in counts.items()
        for number in range(count)
    ]


def sound(**changes: Any) -> GoldSet:
    queries = changes.pop("queries", sound_queries())
    judgments = changes.pop(
        "judgments", [judgment for query in queries for judgment in judged(query.id)]
    )
    taxonomy = {
        topic: Topic(
            name=topic,
            description=topic,
            issues=(Issue(id=f"{topic}-i", name="i", description="i", key_statutes=("87100",)),),
        )
        for topic in TARGETS.topics
    }
    base: dict[str, Any] = {"name": "sound", "taxonomy": taxonomy, "rubric": RUBRIC.id}
    base |= {"targets": TARGETS, "top_grade": 2}
    return GoldSet(
        queries=tuple(queries), judgments=judgments_to_frame(judgments), **(base | changes)
    )


def codes(
    gold: GoldSet, corpus: KnownDocuments | None = None, votes: Sequence[Vote] = ()
) -> set[tuple[str, str, str]]:
    found = validate(gold, RUBRIC, corpus, votes)
    return {(finding.level, finding.code, finding.where) for finding in found}


def first_query(**changes: Any) -> GoldSet:
    """The sound set with its first query changed."""
    queries = sound_queries()
    queries[0] = msgspec.structs.replace(queries[0], **changes)
    return sound(queries=queries)


def first_judgments(judgments: list[Judgment]) -> GoldSet:
    """The sound set with other judgments on its first query."""
    queries = sound_queries()
    rest = [judgment for query in queries[1:] for judgment in judged(query.id)]
    return sound(judgments=[*judgments, *rest])


FIRST = "conflicts_of_interest-0"
EVERY_ID = {f"{grade}-{number}" for grade in SPREAD for number in range(20)}
CORPUS = KnownDocuments(
    ids=EVERY_ID,
    statutes=frozenset({"87100"}),
    requests=frozenset({"2-3", "1-0"}),
    judged={"2-0": Document(id="2-0", title="t", text="as it reads now")},
    examples={"2-1": frozenset({"87103.5"})},
)


def test_a_sound_set_has_no_findings() -> None:
    answers = KnownDocuments(ids=EVERY_ID, statutes=CORPUS.statutes)
    assert codes(sound(), answers, [vote(), vote(id="2", judge="b", grade=None)]) == set()


def vote(**changes: Any) -> Vote:
    base = {"id": "1", "query_id": FIRST, "doc_id": "2-0", "grade": 2}
    return kit_vote(**(base | changes))


def with_issue(times: int = 1, **changes: Any) -> GoldSet:
    """The sound set with another issue of lobbying."""
    base: dict[str, Any] = {"id": "lobbying-i", "name": "i", "description": "i"}
    issue = Issue(**(base | {"key_statutes": ("87100",)} | changes))
    topic = Topic(name="lobbying", description="lobbying", issues=(issue,) * times)
    return sound(taxonomy=dict(sound().taxonomy) | {"lobbying": topic})


def unjudged_first() -> GoldSet:
    return first_judgments([])


def bare(count: int, rationale: str) -> list[Judgment]:
    """The sound judgments of the first query, `count` of them with this rationale."""
    rows = judged(FIRST)
    return [msgspec.structs.replace(row, rationale=rationale) for row in rows[:count]] + rows[
        count:
    ]


FIRES = {
    # code: (set, finding)
    "off-scale": (
        first_judgments(
            [*judged(FIRST), Judgment(query_id=FIRST, doc_id="2-9", grade=3, rationale="a b c")]
        ),
        ("error", "off-scale", FIRST),
    ),
    "repeated-text": (
        first_query(text="  Conflicts_of_Interest   1 "),
        ("error", "repeated-text", "conflicts_of_interest-1"),
    ),
    "unknown-issue": (first_query(issue="nowhere"), ("error", "unknown-issue", FIRST)),
    "issue-topic": (first_query(issue="lobbying-i"), ("flag", "issue-topic", FIRST)),
    "no-queries": (
        sound(queries=[], targets=None, taxonomy={}),
        ("flag", "no-queries", "sound"),
    ),
    "no-text": (first_query(text=""), ("flag", "no-text", FIRST)),
    "no-topic": (first_query(topic="", issue=""), ("flag", "no-topic", FIRST)),
    "no-type": (first_query(type=""), ("flag", "no-type", FIRST)),
    "repeated-issue": (with_issue(times=2), ("flag", "repeated-issue", "taxonomy.lobbying-i")),
    "too-narrow": (
        first_judgments(judged(FIRST, {2: 3, 1: 5, 0: 1})),
        ("flag", "too-narrow", FIRST),
    ),
    "few-highly-relevant": (
        first_judgments(judged(FIRST, {2: 1, 1: 8, 0: 3})),
        ("flag", "few-highly-relevant", FIRST),
    ),
    "too-broad": (first_judgments(judged(FIRST, {2: 9, 1: 5, 0: 3})), ("flag", "too-broad", FIRST)),
    "inflated": (first_judgments(judged(FIRST, {2: 8, 1: 2})), ("flag", "inflated", FIRST)),
    "few-relevant": (
        first_judgments(judged(FIRST, {2: 4, 1: 5, 0: 3})),
        ("flag", "few-relevant", FIRST),
    ),
    "targets-replaced": (
        sound(targets=Targets(expected_per_query=Expected(judged=(5, 60)))),
        ("note", "targets-replaced", "sound"),
    ),
    "grade-1-spread": (
        first_judgments(judged(FIRST, {2: 4, 1: 4, 0: 3})),
        ("flag", "grade-1-spread", FIRST),
    ),
    "many-judged": (
        first_judgments(judged(FIRST, {2: 4, 1: 6, 0: 11})),
        ("flag", "many-judged", FIRST),
    ),
    "no-rationale": (first_judgments(bare(1, "  ")), ("flag", "no-rationale", FIRST)),
    "thin-rationale": (first_judgments(bare(1, "on point")), ("flag", "thin-rationale", FIRST)),
    "copied-rationale": (
        first_judgments(bare(3, "the same words again")),
        ("flag", "copied-rationale", FIRST),
    ),
    "set-size": (sound(queries=sound_queries()[:59]), ("flag", "set-size", "sound")),
    "topic-spread": (
        sound(queries=[q for q in sound_queries() if q.id != "lobbying-0"]),
        ("flag", "topic-spread", "lobbying"),
    ),
    "type-spread": (
        sound(
            queries=[
                msgspec.structs.replace(q, type="keyword") if q.topic == "lobbying" else q
                for q in sound_queries()
            ]
        ),
        ("flag", "type-spread", "lobbying"),
    ),
    "no-rubric": (sound(rubric=""), ("flag", "no-rubric", "sound")),
    "unknown-document": (
        first_judgments(
            [*judged(FIRST), Judgment(query_id=FIRST, doc_id="gone", grade=0, rationale="a b c")]
        ),
        ("error", "unknown-document", FIRST),
    ),
    "unknown-example": (
        with_issue(example_opinion_ids=("gone",)),
        ("error", "unknown-example", "taxonomy.lobbying.lobbying-i"),
    ),
    "unknown-statute": (
        with_issue(key_statutes=("87100", "99999(a)")),
        ("flag", "unknown-statute", "taxonomy.lobbying.lobbying-i"),
    ),
    "statute-not-in-examples": (
        with_issue(key_statutes=("87100", "87103.5(a)"), example_opinion_ids=("2-1",)),
        ("flag", "statute-not-in-examples", "taxonomy.lobbying.lobbying-i"),
    ),
    "no-statute": (
        with_issue(key_statutes=("87100", " ")),
        ("flag", "no-statute", "taxonomy.lobbying.lobbying-i"),
    ),
    "nothing-judged": (sound(judgments=[]), ("flag", "nothing-judged", "sound")),
    "not-judged": (unjudged_first(), ("flag", "not-judged", FIRST)),
    "similar-text": (
        first_query(text="Lobbying 2, 2 lobbying?!"),
        ("flag", "similar-text", "lobbying-2"),
    ),
    "request-as-answer": (sound(), ("flag", "request-as-answer", FIRST)),
    "top-score": (sound(top_grade=3), ("flag", "top-score", "sound")),
    "older-rubric": (sound(rubric=f"{RUBRIC.id}@0123456789ab"), ("flag", "older-rubric", "sound")),
    "stale-votes": (sound(), ("flag", "stale-votes", FIRST)),
    "votes-off-scale": (sound(), ("error", "votes-off-scale", RUBRIC.id)),
}
VOTES = {
    "stale-votes": [vote(document="as it read")],
    "votes-off-scale": [vote(grade=7)],
}


@pytest.mark.parametrize("code", FIRES)
def test_finding(code: str) -> None:
    """Each change to the sound set gives its finding, at its place."""
    gold, finding = FIRES[code]
    assert finding in codes(gold, CORPUS, VOTES.get(code, ()))


def test_every_code_of_the_source_is_tested() -> None:
    """A new finding needs a case above."""
    source = (Path(rubrics.__file__).parents[1] / "validate.py").read_text()
    made = re.findall(r'_(?:flag|error|note)\(\s*"([a-z0-9-]+)"', source)
    assert set(made) == set(FIRES)


def test_references_are_not_checked_without_a_corpus() -> None:
    gold, finding = FIRES["unknown-document"]
    assert finding not in codes(gold)


def test_errors_come_before_flags() -> None:
    gold = sound(
        queries=[msgspec.structs.replace(query, text="the same") for query in sound_queries()[:3]]
    )
    levels = [finding.level for finding in validate(gold, RUBRIC)]
    assert levels == sorted(levels)  # "error" before "flag"
    assert set(levels) == {"error", "flag"}


def test_a_binary_set_is_not_held_to_the_graded_checklist() -> None:
    """One right document a query is how gold-set.jsonl looks."""
    rows = [Judgment(query_id="q", doc_id="d", grade=1)]
    gold = GoldSet(
        name="binary", queries=(Query(id="q", text="x"),), judgments=judgments_to_frame(rows)
    )
    assert codes(gold, KnownDocuments(ids={"d"})) == set()


def test_an_unjudged_set_says_so_once_and_not_by_query() -> None:
    assert codes(sound(judgments=[])) == {("flag", "nothing-judged", "sound")}


def test_a_query_that_nobody_judged_is_not_called_narrow_too() -> None:
    assert codes(unjudged_first()) == {("flag", "not-judged", FIRST)}


def test_a_set_without_targets_is_not_held_to_any() -> None:
    assert codes(sound(queries=sound_queries()[:4], targets=None)) == set()


WIDE = Expected(highly_relevant=(1, 20), relevant=(0, 40), judged=(5, 60))


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("zeros", [3, 9])
def test_raising_every_0_is_flagged_whatever_the_set_expects(zeros: int, wide: bool) -> None:
    raised = [
        msgspec.structs.replace(judgment, grade=max(judgment.grade, 1))
        for query in sound_queries()
        for judgment in judged(query.id, {2: 6, 1: 9, 0: zeros})
    ]
    targets = msgspec.structs.replace(TARGETS, expected_per_query=WIDE if wide else None)
    gold = sound(judgments=raised, targets=targets)
    found = {where for _, code, where in codes(gold) if code == "inflated"}
    assert "sound" in found
    assert (FIRST in found) == (6 + 9 + zeros > 20)  # few judgments may all be relevant


def test_the_checklist_holds_below_what_the_set_expects() -> None:
    targets = msgspec.structs.replace(TARGETS, expected_per_query=WIDE)
    gold = dataclasses.replace(first_judgments(judged(FIRST, {2: 1, 1: 5, 0: 2})), targets=targets)
    found = {code for _, code, where in codes(gold) if where == FIRST}
    assert found == {"few-highly-relevant", "too-narrow"}


def test_the_spread_that_the_set_expects_goes_before_the_rubrics() -> None:
    gold = first_judgments(judged(FIRST, {2: 12, 1: 0}))
    assert {code for _, code, _ in codes(gold)} == {"too-broad", "inflated", "grade-1-spread"}
    targets = msgspec.structs.replace(TARGETS, expected_per_query=WIDE)
    found = validate(dataclasses.replace(gold, targets=targets), RUBRIC)
    assert [(one.level, one.code) for one in found] == [
        ("flag", "inflated"),  # no target switches that off
        ("note", "targets-replaced"),
    ]
    assert found[1].message == (
        f"its targets replace those of {RUBRIC.id}: highly_relevant 1 to 20 (3 to 8), "
        "relevant 0 to 40 (5 to 15), judged 5 to 60 (10 to 20)"
    )
    strict = Targets(expected_per_query=Expected(highly_relevant=(13, 20), judged=(15, 60)))
    found = {code for _, code, _ in codes(dataclasses.replace(gold, targets=strict))}
    assert {"few-highly-relevant", "too-narrow"} <= found


def test_votes_under_another_version_of_the_rubric_are_counted() -> None:
    votes = [vote(rubric=f"{RUBRIC.id}@0123456789ab"), vote(id="2", judge="b", rubric=RUBRIC.id)]
    found = [one for one in validate(sound(), RUBRIC, votes=votes) if one.code == "older-rubric"]
    assert [one.message.split(",")[0] for one in found] == [
        f"1 vote under {RUBRIC.id}@0123456789ab"
    ]


def test_votes_of_an_earlier_rubric_that_still_hold_are_noted() -> None:
    older = [vote(rubric="fppc-relevance-2@0123456789ab")]
    reason = "the change leaves these grades as they are"
    gold = sound(extra={"earlier_rubrics": {"fppc-relevance-2": reason}})
    (found,) = validate(gold, RUBRIC, votes=older)
    assert (found.level, found.code) == ("note", "older-rubric")
    assert found.message.endswith(f"they still hold: {reason}")


def test_a_stale_vote_says_what_changed() -> None:
    read = Document(id="2-0", title="t", text="x", fields={"conclusion": "yes"})
    now = Document(id="2-0", title="another", text="x", fields={"conclusion": "no"})
    given = [vote(document=document_fingerprint(read))]
    for document, said in ((now, "2-0 (conclusion)"), (read, "")):
        known = KnownDocuments(ids=EVERY_ID, judged={"2-0": document})
        found = [one for one in validate(sound(), RUBRIC, known, given) if "stale" in one.code]
        assert [one.message.rpartition(": ")[2] for one in found] == ([said] if said else [])


ALIKE = {
    "must a mayor file form 700 late?": "Must a mayor file Form 700, late",
    "may a council member vote on a zoning change near the home he rents": (
        "may a councilmember vote on a zonning change near the home he rents"
    ),
}
NOT_ALIKE = {
    "campaign statement deadline section 84200": "campaign statement deadline section 84203",
    "gift limit": "gift limit travel",
    "§§": "…",
}


@pytest.mark.parametrize(("one", "other"), [*ALIKE.items(), *NOT_ALIKE.items()])
def test_near_duplicates(one: str, other: str) -> None:
    pair = (Query(id="a", text=one), Query(id="b", text=other))
    assert bool(near_duplicates(pair)) == (one in ALIKE)


def test_a_variant_may_be_like_what_it_was_made_from() -> None:
    text = next(iter(ALIKE))
    pair = (Query(id="a", text=text), Query(id="b", text=text + " x", extra={"parent": "a"}))
    assert not near_duplicates(pair)


# ── the rubric ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", rubrics.names())
def test_every_rubric_loads_and_is_sound(name: str) -> None:
    rubric = rubrics.load(name)
    values = [grade.value for grade in rubric.grades]
    assert rubric.id == name
    assert len(set(values)) == len(values)
    assert {rubric.relevant_from, rubric.highly_relevant_from} <= set(values)
    assert all(grade.label and grade.definition for grade in rubric.grades)
    assert all(grade.criteria or grade.all_examples for grade in rubric.grades)
    assert rubric.edge_cases
    assert rubric.checklist.items


def test_the_default_rubric_has_the_numbers_of_the_suite() -> None:
    assert [grade.value for grade in RUBRIC.grades] == [2, 1, 0]
    checklist = RUBRIC.checklist
    least = (checklist.min_judged, checklist.min_relevant, checklist.min_highly_relevant)
    assert least == (10, 10, 2)
    assert (RUBRIC.expected_per_query.highly_relevant, RUBRIC.expected_per_query.relevant) == (
        (3, 8),
        (5, 15),
    )
    assert RUBRIC.targets is None  # they stand in the set


def test_an_unknown_rubric_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=RUBRIC.id):
        rubrics.load("nonsense")

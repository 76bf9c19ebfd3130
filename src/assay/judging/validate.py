"""Checks on a gold set, and its summary for `assay gold stats`. Errors make a set unusable, flags
ask a person to look.

Reading a set already refuses malformed files. These checks cover references, repeated texts,
queries without judgments, the calibration checklist of the rubric, the targets that the set
states, and votes on another rubric version, text or scale. A set is not held to targets that it
does not state. Its own targets may replace what the rubric expects of a query, which a note says;
they switch off neither the checklist nor the check for inflation."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from assay.core.types import (
    Document,
    Expected,
    Finding,
    GoldSet,
    Judgment,
    Query,
    Targets,
    Vote,
    counted,
    machine_note_of,
)
from assay.evaluation.receipts import gold_fingerprint
from assay.gold.votes import current_votes
from assay.judging.rubrics import Rubric, span, version
from assay.judging.votes import MIN_WORDS, stale

# ── queries that ask nearly the same thing ────────────────────────────────────────────────────────

SIMILAR = 0.8  # share of words or pieces of two nearly equal queries; taste
PIECE = 4  # letters of a piece; taste
MAX_BY_PIECES = 2000  # queries, chosen: with more, many share pieces, and words find most pairs


class SimilarQueries(NamedTuple):
    """The later query, the earlier one it is like, and how much they share."""

    query: Query
    like: Query
    share: float


def near_duplicates(queries: Sequence[Query]) -> list[SimilarQueries]:
    """Every pair once, in the order of the set. A variant and what it was made from are alike by
    intent, and a text that is the same is another finding."""
    texts = [_normal(query.text) for query in queries]
    shares: dict[tuple[int, int], float] = {}
    for members in (_words, _pieces) if len(queries) <= MAX_BY_PIECES else (_words,):
        for early, late, share in _similar_sets([members(text) for text in texts]):
            if members is _pieces and _numbers(texts[early]) != _numbers(texts[late]):
                continue
            shares[early, late] = max(share, shares.get((early, late), 0.0))
    return [
        SimilarQueries(queries[late], queries[early], share)
        for (early, late), share in sorted(shares.items(), key=lambda row: row[0][::-1])
        if not _is_same_query(queries[early], queries[late])
    ]


def _normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _is_same_query(one: Query, other: Query) -> bool:
    written = [query.text.casefold().split() for query in (one, other)]
    return written[0] == written[1] or _family(one) == _family(other)


def _family(query: Query) -> str:
    return str(query.extra.get("parent") or query.id)


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pieces(text: str) -> frozenset[str]:
    joined = text.replace(" ", "")
    if not joined:
        return frozenset()
    return frozenset(joined[at : at + PIECE] for at in range(max(1, len(joined) - PIECE + 1)))


def _similar_sets(sets: Sequence[frozenset[str]]) -> Iterator[tuple[int, int, float]]:
    how_many = Counter(member for one in sets for member in one)

    def rarest(member: str) -> tuple[int, str]:
        return how_many[member], member

    seen_with: dict[str, list[int]] = defaultdict(list)
    for late, mine in enumerate(sets):
        if not mine:
            continue
        needed = math.ceil(SIMILAR * len(mine) - 1e-9)  # a float may be a hair above its whole
        prefix = sorted(mine, key=rarest)[: len(mine) - needed + 1]
        for early in sorted({early for member in prefix for early in seen_with[member]}):
            if not SIMILAR * len(mine) <= len(sets[early]) <= len(mine) / SIMILAR:
                continue  # sets of such sizes cannot share so much
            share = len(mine & sets[early]) / len(mine | sets[early])
            if share >= SIMILAR:
                yield early, late, share
        for member in prefix:
            seen_with[member].append(late)


# ── the checks ────────────────────────────────────────────────────────────────────────────────────

# The key of a set that names rubrics whose votes still hold under its own, each with the reason.
EARLIER_RUBRICS = "earlier_rubrics"
LEVELS = ("error", "flag", "note")
INFLATED_SHARE = 0.75  # more than this share of the highest judgments is flagged; taste
MIN_QUERIES = 5  # of a set that is checked for having no 0 at all; taste
MIN_OF_A_TYPE = 1.0  # queries that a type may always be away from its even share; taste
NUMBER = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True, kw_only=True)
class KnownDocuments:
    """The facts of a corpus: its ids, the sections and rules that it cites (None if unknown), the
    documents that only ask, those voted on, and the numbers in the examples of a taxonomy."""

    ids: Collection[str]
    name: str = ""  # of the corpus, where a set has rows of several
    statutes: frozenset[str] | None = None
    requests: frozenset[str] = frozenset()
    judged: Mapping[str, Document] = field(default_factory=dict)
    examples: Mapping[str, frozenset[str]] = field(default_factory=dict)


def validate(
    gold: GoldSet,
    rubric: Rubric,
    known: KnownDocuments | None = None,
    votes: Sequence[Vote] = (),
    corpora: Mapping[str, KnownDocuments] | None = None,
) -> list[Finding]:
    """Every finding, errors first, in the order of the file. `known` is what is known of all
    documents; `corpora` of those of each row, by the query's id, where a set has rows of several
    corpora: a row that it lacks is not checked."""
    judged: dict[str, list[Judgment]] = defaultdict(list)
    for judgment in gold.iter_judgments():
        judged[judgment.query_id].append(judgment)
    unknown = not gold.rubric and gold.top_grade > rubric.top  # another scale than the usual one
    findings = [
        *([] if unknown else (*_scale(judged, rubric), *votes_off_scale(rubric, votes))),
        *_texts(gold),
        *_taxonomy(gold),
        *_unjudged(gold, judged),
    ]
    if known is not None:
        findings += _references(gold, judged, known, corpora)
        findings += _requests(judged, rubric, known)
        findings += stale_votes(votes, known.judged)
    graded = (
        not unknown and gold.judgments.height > 0 and gold.max_grade >= rubric.highly_relevant_from
    )
    if graded:
        for query in gold.queries:
            findings += _checklist(query, judged[query.id], rubric, gold.targets)
        findings += _replaced_targets(gold, rubric)
        findings += _without_zeros(gold)
    if gold.targets is not None:
        findings += _distribution(gold, gold.targets)
    if unknown:
        message = (
            f"the set does not name its rubric, and has grades up to {gold.max_grade}: what they "
            "mean is not checked (the key `rubric`, or gold convert --rubric)"
        )
        findings.append(_flag("no-rubric", gold.name, message))
    if graded and not gold.rubric:
        message = f"the set does not name its rubric; assuming {rubric.id}"
        findings.append(_flag("no-rubric", gold.name, message))
    if gold.rubric and gold.top_grade and gold.top_grade != rubric.top:
        message = f"top_score is {gold.top_grade}, the highest grade of {rubric.id} {rubric.top}"
        findings.append(_flag("top-score", gold.name, message))
    findings += [] if unknown else older_rubrics(gold, rubric, votes)
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))


def _error(code: str, where: str, message: str) -> Finding:
    return Finding(level="error", code=code, where=where, message=message)


def _flag(code: str, where: str, message: str) -> Finding:
    return Finding(level="flag", code=code, where=where, message=message)


def _note(code: str, where: str, message: str) -> Finding:
    return Finding(level="note", code=code, where=where, message=message)


def _unjudged(gold: GoldSet, judged: Mapping[str, list[Judgment]]) -> Iterator[Finding]:
    """Queries that say neither what is relevant nor what must be found."""
    if not gold.queries:
        message = "there are no queries: assay gold add puts them in"
        yield _flag("no-queries", gold.name, message)
    bare = [query for query in gold.queries if not judged.get(query.id) and not query.checks]
    if bare and len(bare) == len(gold.queries):
        message = f"none of {len(bare)} queries has a judgment: assay gold pool says what to judge"
        yield _flag("nothing-judged", gold.name, message)
        return
    for query in bare:
        yield _flag("not-judged", query.id, "the query has no judgments: no figure counts it")


def _references(
    gold: GoldSet,
    judged: Mapping[str, list[Judgment]],
    known: KnownDocuments,
    corpora: Mapping[str, KnownDocuments] | None,
) -> Iterator[Finding]:
    ids = known.ids
    for query_id, judgments in judged.items():
        searched = known if corpora is None else corpora.get(query_id)
        for judgment in judgments if searched is not None else ():
            if searched is not None and judgment.doc_id not in searched.ids:
                where = f"the corpus {searched.name}" if corpora is not None else "the corpus"
                message = f"judged document {judgment.doc_id!r} is not in {where}"
                yield _error("unknown-document", query_id, message)
    for topic_id, topic in gold.taxonomy.items():
        for issue in topic.issues:
            where = f"taxonomy.{topic_id}.{issue.id}"
            for doc_id in issue.example_opinion_ids:
                if doc_id and doc_id not in ids:
                    message = f"example opinion {doc_id!r} is not in the corpus"
                    yield _error("unknown-example", where, message)
            for statute in filter(str.strip, issue.key_statutes):
                number = NUMBER.search(statute)
                if known.statutes is not None and not (number and number[0] in known.statutes):
                    message = f"key statute {statute!r} is cited nowhere in the corpus"
                    yield _flag("unknown-statute", where, message)
                elif number and _is_unmentioned(number[0], issue.example_opinion_ids, known):
                    message = f"key statute {statute!r} is in none of the example opinions"
                    yield _flag("statute-not-in-examples", where, message)


def _is_unmentioned(number: str, examples: Iterable[str], known: KnownDocuments) -> bool:
    """Whether none of the examples that the corpus has mentions a section."""
    texts = [known.examples[doc_id] for doc_id in examples if doc_id in known.examples]
    return bool(texts) and not any(number in text for text in texts)


def _requests(
    judged: Mapping[str, list[Judgment]], rubric: Rubric, known: KnownDocuments
) -> Iterator[Finding]:
    """A letter that asks holds no answer, and cannot be one."""
    for query_id, judgments in judged.items():
        asking = [
            judgment.doc_id
            for judgment in judgments
            if judgment.grade >= rubric.highly_relevant_from and judgment.doc_id in known.requests
        ]
        if asking:
            message = f"{len(asking)} that only ask are graded as answers: {_some_names(asking)}"
            yield _flag("request-as-answer", query_id, message)


def _scale(judged: Mapping[str, list[Judgment]], rubric: Rubric) -> Iterator[Finding]:
    for query_id, judgments in judged.items():
        for judgment in judgments:
            if judgment.grade not in rubric.values:
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
    for twins in near_duplicates(gold.queries):
        message = f"nearly the text of query {twins.like.id!r} ({twins.share:.0%} shared)"
        yield _flag("similar-text", twins.query.id, message)


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
    for topic_id, topic in gold.taxonomy.items():
        for issue in topic.issues:
            if not issue.key_statutes or not all(map(str.strip, issue.key_statutes)):
                what = "a key statute is empty" if issue.key_statutes else "there is no key statute"
                yield _flag("no-statute", f"taxonomy.{topic_id}.{issue.id}", what)
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


def _checklist(
    query: Query, judgments: list[Judgment], rubric: Rubric, targets: Targets | None
) -> Iterator[Finding]:
    """The rubric's calibration checklist for one query, with the spread that the set expects."""
    if not judgments:
        return
    stated = (targets.expected_per_query if targets else None) or Expected()
    yield from _highly_relevant(query.id, judgments, rubric, stated)
    yield from _counts(query.id, judgments, rubric, stated)
    if rubric.rationale != "optional":
        yield from _rationales(query.id, judgments)


def _highly_relevant(
    query_id: str, judgments: list[Judgment], rubric: Rubric, expected: Expected
) -> Iterator[Finding]:
    high = sum(judgment.grade >= rubric.highly_relevant_from for judgment in judgments)
    usual = expected.highly_relevant or rubric.expected_per_query.highly_relevant
    least = max(rubric.checklist.min_highly_relevant, (expected.highly_relevant or (0, 0))[0])
    found = f"{high} with {_grade_range(rubric.highly_relevant_from, rubric.top)}"
    if high < least:
        message = f"{found}, at least {least} wanted: is the issue in the corpus?"
        yield _flag("few-highly-relevant", query_id, message)
    if usual and high > usual[1]:
        message = f"{found}, {span(usual)} expected: the query may be too broad"
        yield _flag("too-broad", query_id, message)
    enough = 0 < rubric.checklist.min_judged <= len(judgments)
    if enough and high / len(judgments) > INFLATED_SHARE:
        message = f"{found} of {len(judgments)}: check for inflation"
        yield _flag("inflated", query_id, message)


def _counts(
    query_id: str, judgments: list[Judgment], rubric: Rubric, expected: Expected
) -> Iterator[Finding]:
    total = len(judgments)
    least = max(rubric.checklist.min_judged, (expected.judged or (0, 0))[0])
    if total < least:
        message = f"{total} judged, at least {least} wanted: the query may be too narrow"
        yield _flag("too-narrow", query_id, message)
    most = expected.judged or rubric.expected_per_query.judged
    if most and total > most[1]:
        yield _flag("many-judged", query_id, f"{total} judged, {span(most)} expected")
    yield from _relevant(query_id, judgments, rubric)
    lower = range(rubric.relevant_from, rubric.highly_relevant_from)
    usual = expected.relevant or rubric.expected_per_query.relevant
    middle = sum(judgment.grade in lower for judgment in judgments)
    if usual and lower and not usual[0] <= middle <= usual[1]:
        message = f"{middle} with {_grade_range(lower[0], lower[-1])}, {span(usual)} expected"
        yield _flag("grade-1-spread", query_id, message)


def _relevant(query_id: str, judgments: list[Judgment], rubric: Rubric) -> Iterator[Finding]:
    """Too few relevant documents, or a pool that has nothing else."""
    total = len(judgments)
    relevant = sum(judgment.grade >= rubric.relevant_from for judgment in judgments)
    least = rubric.checklist.min_relevant
    if relevant < least <= total:
        found = f"{relevant} with {_grade_range(rubric.relevant_from, rubric.top)}"
        message = f"{found}, at least {least} wanted: the query may be too narrow"
        yield _flag("few-relevant", query_id, message)
    usual = rubric.expected_per_query.judged
    if usual and relevant == total > usual[1]:
        message = f"none of {total} has a grade below {rubric.relevant_from}: check for inflation"
        yield _flag("inflated", query_id, message)


def _without_zeros(gold: GoldSet) -> Iterator[Finding]:
    """A set in which no document was found irrelevant. A single query may have none."""
    if len(gold.queries) >= MIN_QUERIES and not gold.judgments["grade"].eq(0).any():
        message = f"not one of {gold.judgments.height} judgments is 0: check for inflation"
        yield _flag("inflated", gold.name, message)


def _replaced_targets(gold: GoldSet, rubric: Rubric) -> Iterator[Finding]:
    """The targets of the set that replace those of its rubric."""
    stated = (gold.targets.expected_per_query if gold.targets else None) or Expected()
    usual = rubric.expected_per_query
    changes = [
        f"{name} {span(now)} ({span(before)})"
        for name in Expected.__struct_fields__
        if (now := getattr(stated, name)) and (before := getattr(usual, name)) and now != before
    ]
    if changes:
        message = f"its targets replace those of {rubric.id}: {', '.join(changes)}"
        yield _note("targets-replaced", gold.name, message)


def _grade_range(lowest: int, highest: int) -> str:
    return f"grade {lowest}" if lowest == highest else f"grades {lowest} to {highest}"


def _rationales(query_id: str, judgments: list[Judgment]) -> Iterator[Finding]:
    """Rationales that a reader cannot check."""
    words = {judgment.doc_id: len(judgment.rationale.split()) for judgment in judgments}
    bare = [doc_id for doc_id, count in words.items() if count == 0]
    if bare:
        yield _flag(
            "no-rationale", query_id, f"{len(bare)} without a rationale: {_some_names(bare)}"
        )
    short = [doc_id for doc_id, count in words.items() if 0 < count < MIN_WORDS]
    if short:
        message = f"{len(short)} with a rationale too short to check: {_some_names(short)}"
        yield _flag("thin-rationale", query_id, message)
    stated = (judgment.rationale.strip() for judgment in judgments)
    for text, count in Counter(rationale for rationale in stated if rationale).items():
        if count > 2:
            yield _flag(
                "copied-rationale",
                query_id,
                f"{count} judgments share one rationale: {text[:60]!r}",
            )


def _distribution(gold: GoldSet, targets: Targets) -> Iterator[Finding]:
    total, wanted = len(gold.queries), targets.queries
    if wanted and not wanted[0] <= total <= wanted[1]:
        yield _flag("set-size", gold.name, f"{total} queries, {span(wanted)} wanted")
    by_topic = Counter(query.topic for query in gold.queries)
    for topic, bounds in targets.topics.items():
        if not bounds[0] <= by_topic[topic] <= bounds[1]:
            yield _flag("topic-spread", topic, f"{by_topic[topic]} queries, {span(bounds)} wanted")
    for topic, count in by_topic.items() if targets.types else ():
        types = Counter(query.type for query in gold.queries if query.topic == topic)
        even = count / len(targets.types)
        for name in targets.types:
            far = abs(types[name] - even) > max(MIN_OF_A_TYPE, even * 0.5)
            if count >= len(targets.types) and far:
                message = f"{types[name]} of {count} queries are {name}, about {even:.0f} wanted"
                yield _flag("type-spread", topic or gold.name, message)


def _some_names(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# ── whether votes still hold ──────────────────────────────────────────────────────────────────────


def versions_used(gold: GoldSet, votes: Sequence[Vote]) -> dict[str, int]:
    """The rubric versions under which votes were given or, where there are none, judgments were
    made; empty where a judge did not say."""
    given = [vote.rubric for vote in current_votes(votes)]
    if not given and "rubric" in gold.judgments.columns:
        given = [str(name or "") for name in gold.judgments["rubric"]]
    if not given:
        given = [""] * gold.judgments.height
    return dict(Counter(given).most_common())


def older_rubrics(gold: GoldSet, rubric: Rubric, votes: Sequence[Vote]) -> Iterator[Finding]:
    now = version(rubric)
    if gold.rubric not in ("", rubric.id, now):
        message = f"the set was judged under {gold.rubric}; that rubric reads {now} now"
        yield _flag("older-rubric", gold.name, message)
    noun = "vote" if votes else "judgment"
    reasons = gold.extra.get(EARLIER_RUBRICS)
    for name, count in versions_used(gold, votes).items():
        if name in ("", rubric.id, now, gold.rubric):
            continue
        message = f"{counted(count, noun)} under {name}, the rubric of the set is {now}"
        reason = reasons.get(name.partition("@")[0]) if isinstance(reasons, dict) else None
        if reason:
            yield _note("older-rubric", gold.name, f"{message}; they still hold: {reason}")
        else:
            yield _flag("older-rubric", gold.name, message)


def votes_off_scale(rubric: Rubric, votes: Sequence[Vote]) -> Iterator[Finding]:
    """A rubric that lost a grade on which people have voted cannot be used."""
    lost = Counter(
        vote.grade
        for vote in current_votes(votes)
        if vote.grade is not None and vote.grade not in rubric.values
    )
    for grade, count in sorted(lost.items()):
        message = f"{counted(count, 'vote')} with grade {grade}, which {rubric.id} does not have"
        yield _error("votes-off-scale", rubric.id, message)


def stale_votes(votes: Iterable[Vote], documents: Mapping[str, Document]) -> Iterator[Finding]:
    """Votes on documents that read otherwise now, with the parts that changed."""
    holding = list(current_votes(votes))
    changed = stale(holding, documents)
    by_query: dict[str, list[str]] = defaultdict(list)
    for vote in holding:
        if vote.id in changed:
            by_query[vote.query_id].append(f"{vote.doc_id} ({', '.join(changed[vote.id])})")
    for query_id, named in by_query.items():
        votes_on = counted(len(named), "vote")
        message = f"{votes_on} on a document that changed since: {', '.join(dict.fromkeys(named))}"
        yield _flag("stale-votes", query_id, message)


# ── the summary of a set ──────────────────────────────────────────────────────────────────────────


class CountSpread(msgspec.Struct, frozen=True, kw_only=True):
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
    judged_per_query: CountSpread
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
        judged_per_query=CountSpread(
            min=counts[0], median=counts[len(counts) // 2], max=counts[-1]
        ),
        fingerprint=gold_fingerprint(gold),
        note=machine_note_of(gold),
    )

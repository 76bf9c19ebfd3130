"""Review: what is pending, what supports it, suggested judgments, publishing, and what to look at
next. A gold set changes only by a chair's decision."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import timedelta
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import InputError, NotHere
from assay.core.files import write_atomic
from assay.core.results import GradedResults
from assay.core.types import ASKED, Document
from assay.corpus.disk import list_corpora, open_corpus
from assay.evaluation.doubts import is_closed
from assay.gold.acts import SUGGEST, Act, CastVote, new_id
from assay.gold.files import is_rows
from assay.gold.log import writing
from assay.judging.next import next_to_judge
from assay.judging.reasons import LONGEST, refuse_long
from assay.judging.votes import Pair, document_fingerprint
from assay.review import decisions
from assay.review.decisions import Word
from assay.review.queue import ReviewItem, is_stray, items_of
from assay.store.records import Feedback
from assay.telemetry.feedback import signs_for
from assay.workbench.history import KeptRun, kept_run, runs
from assay.workbench.known_ids import refuse_unknown
from assay.workbench.opening import Service, gold_path, read_gold, run_names
from assay.workbench.paging import MAX_PAGE, Page, page_of, page_size
from assay.workbench.review_queue import find_item, items, pending
from assay.workbench.voting import first_acts, rubric_version

__all__ = [
    "LONGEST",
    "AskedPair",
    "Evidence",
    "ReviewItem",
    "ToJudge",
    "changes_the_set",
    "evidence",
    "publish",
    "queue",
    "queue_pairs",
    "rule_suggestion",
    "strays",
    "suggest",
    "top_grade",
    "withdraw",
    "worth_looking_at",
]

LITTLE = 0.005  # of the doubt: less than this is shown as less than 1%
FIRST_HITS = 10  # of a query that has no judgment
TOP_GRADE = 4  # of sets whose format does not say
SHOWN_DECISIONS = 5
KNOWN = "Give an id that search or next_to_judge has shown, or allow_unknown."
LONGEST_NAME = 500  # characters
LOST = "its query is no longer in the gold set"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What an expert needs to see of one document: its text where a corpus has it, the decisions
    that rely on it, and which kinds of signs there are."""

    doc_id: str
    document: Document | None
    decisions: list[Feedback]
    kinds: list[str]


# ── looking ───────────────────────────────────────────────────────────────────────────────────────


def queue(
    service: Service,
    *,
    gold: str = "",
    state: str = "pending_review",
    kind: str = "",
    limit: int = 50,
    offset: int = 0,
) -> Page[ReviewItem]:
    """What is pending, or was decided, the oldest first."""
    size = page_size(limit)
    found = [
        item
        for item in items(service, gold)
        if (not state or item.state == state) and (not kind or item.kind == kind)
    ]
    return page_of(found[offset : offset + size + 1], offset, size)


def evidence(service: Service, item: ReviewItem) -> list[Evidence]:
    """What speaks for each document of an item."""
    return [_evidence(service, item, doc_id) for doc_id in item.doc_ids]


def _evidence(service: Service, item: ReviewItem, doc_id: str) -> Evidence:
    signs = signs_of(service, item, doc_id)
    decisions = {sign.decision_id: sign for sign in signs if sign.decision_id}
    return Evidence(
        doc_id=doc_id,
        document=document_of(service, item.corpus, doc_id),
        decisions=list(decisions.values())[:SHOWN_DECISIONS],
        kinds=sorted({sign.kind for sign in signs}),
    )


def signs_of(service: Service, item: ReviewItem, doc_id: str) -> list[Feedback]:
    """What people's searches and decisions say for a document of an item."""
    key = item.key if item.kind == "gold_row" else ""
    return signs_for(service.store, item.query, doc_id, MAX_PAGE, key=key)


def document_of(service: Service, corpus: str, doc_id: str) -> Document | None:
    """The document from the corpus of that name, else from any that has it."""
    known = list_corpora(service.home)
    for name in [corpus] if corpus in known else known:
        opened = open_corpus(service.home, name)
        if doc_id in opened:
            return opened.get(doc_id)
    return None


def top_grade(service: Service, item: ReviewItem) -> int:
    """The highest grade on the scale of the item's gold set."""
    return formats.read_gold(gold_path(service, item.gold)).top_grade or TOP_GRADE


def changes_the_set(service: Service, item: ReviewItem) -> bool:
    """Whether accepting an item changes the gold set itself; else it is a vote, which `gold merge`
    brings in."""
    return is_rows(gold_path(service, item.gold))


# ── suggesting ────────────────────────────────────────────────────────────────────────────────────


def suggest(
    service: Service,
    gold: str,
    pair: Pair,
    grade: int,
    *,
    rationale: str,
    by: str,
    allow_unknown: bool = False,
) -> ReviewItem:
    """Put a judgment before the expert. It is never in a gold set until an expert says so. The
    document must be one that is known here, unless `allow_unknown`."""
    query_id, doc_id = pair
    refuse_long(rationale, "the rationale")
    for what, text in (("name", by), ("document", doc_id)):
        if len(text) > LONGEST_NAME:
            raise InputError(
                f"the {what} has {len(text):,} characters, at most {LONGEST_NAME:,} are kept"
            )
    gold_set = read_gold(service, gold)
    query = next((query for query in gold_set.queries if query.id == query_id), None)
    if query is None:
        raise NotHere(f"no query {query_id!r} in gold set {gold!r}")
    top = gold_set.top_grade or TOP_GRADE
    if not 0 <= grade <= top or not by.strip() or not doc_id.strip():
        raise InputError(
            f"a suggestion needs a document, a grade from 0 to {top}, and who makes it"
        )
    if not allow_unknown:
        refuse_unknown(service, gold_path(service, gold), query.corpus, [doc_id], hint=KNOWN)
    act = _suggested(service, gold_path(service, gold), [(query_id, doc_id)], grade, rationale, by)
    kept = next(item for item in items(service, gold) if item.id == act[0].id)
    if kept.grade != grade:
        raise _suggested_before(kept)
    return kept


def _suggested(
    service: Service,
    dataset: Path,
    pairs: Sequence[Pair],
    grade: int | None,
    rationale: str | Sequence[str],
    by: str,
) -> list[Act]:
    """Suggestions in the log, in this order. One person suggests a pair once: what was suggested
    before stays as it is."""
    texts = [rationale] * len(pairs) if isinstance(rationale, str) else rationale
    with writing(dataset) as log:
        who = log.people.known_id(by)
        known = {
            (act.subject["query"], act.subject["doc"]): act
            for act in log.acts.values()
            if act.action == SUGGEST and act.who in (who, by)
        }
        new = [
            log.act(
                SUGGEST,
                who=by,
                kind="machine",
                # the queue is in the order of time
                at=service.clock() + timedelta(microseconds=place),
                subject={"query": pair[0], "doc": pair[1]},
                grade=grade,
                rationale=text,
            )
            for place, (pair, text) in enumerate(zip(pairs, texts, strict=True))
            if pair not in known
        ]
        log.append(new)
    made = known | {(act.subject["query"], act.subject["doc"]): act for act in new}
    return [made[pair] for pair in pairs]


def _suggested_before(item: ReviewItem) -> InputError:
    """What an expert reads does not change while it is read: the first word stays."""
    told = "is pending" if item.state == "pending_review" else "was decided on already"
    return InputError(
        f"a suggestion of {item.suggested_by!r} for this document and query {told}, with grade "
        f"{item.grade}; the new grade was not taken",
        hint="Tell the expert that you think otherwise now, and why.",
    )


# ── deciding ──────────────────────────────────────────────────────────────────────────────────────


def rule_suggestion(
    service: Service,
    item_id: str,
    *,
    accept: bool,
    by: str,
    why: str = "",
    grade: int | None = None,
    act: str = "",
) -> ReviewItem:
    """Decide on a suggestion; `grade` where the suggestion has none, or another one. Accepted, it
    is a vote; in a gold-set.jsonl the document joins the row, or leaves it at grade 0. The other
    documents stay as they are: a row that is pending stays pending."""
    item = find_item(service, item_id)
    if item is None or item.kind != "judgment":
        raise NotHere(f"no suggestion {item_id!r}")
    if not by.strip():
        raise InputError("say who decides")
    final = grade if grade is not None else item.grade
    top = top_grade(service, item) if accept else 0
    if accept and (final is None or not 0 <= final <= top):
        raise InputError(f"give the document a grade from 0 to {top}")
    word = Word(by=by, why=why.strip(), rationale=why.strip(), at=service.clock(), act=act)
    path = gold_path(service, item.gold)
    if accept:
        vote = _vote(service, item, final)
        decisions.accept(path, item, vote, word, lambda log: first_acts(path, log))
    else:
        decisions.decline(path, item, word)
    decided = find_item(service, item_id)
    assert decided is not None
    return decided


def _vote(service: Service, item: ReviewItem, grade: int | None) -> CastVote:
    """The chair's own vote on a suggested document."""
    doc_id = item.doc_ids[0]
    document = document_of(service, item.corpus, doc_id)
    return CastVote(
        id=new_id(),
        query=item.ref,
        doc=doc_id,
        grade=grade,
        rubric=rubric_version(gold_path(service, item.gold)),
        document=document_fingerprint(document) if document is not None else "",
        source=item.suggested_by if item.grade is None else f"suggested by {item.suggested_by}",
    )


def publish(service: Service | None, gold: Path, baseline: Path, content: bytes, *, by: str) -> int:
    """Write a baseline; the approved rows that it was scored on are published from then on."""
    write_atomic(baseline, content)
    if service is None or not is_rows(gold) or not gold.exists():
        return 0
    name = next((key for key, path in service.gold_sets.items() if path == gold), "")
    found = items_of(name or gold.stem, gold)
    approved = [i.ref for i in found if i.state == "approved" and i.kind == "gold_row"]
    if approved:
        word = Word(by=by, why="in the committed baseline", at=service.clock())
        decisions.publish(gold, approved, word)
    return len(approved)


# ── suggestions without a query ───────────────────────────────────────────────────────────────────


def strays(service: Service, gold: str = "") -> list[ReviewItem]:
    """Suggestions that cannot be accepted, since their query has left the set."""
    return [item for item in pending(service, gold) if is_stray(item)]


def withdraw(service: Service, gold: str, *, by: str, why: str = "", gone: bool = False) -> int:
    """Take suggestions out of the queue whose query has left the set; the log keeps them. With
    `gone`, all of them: the set itself is gone."""
    if not gold or not by.strip():
        raise InputError("say which gold set, and who withdraws")
    path = gold_path(service, gold)
    if not path.exists() and not gone:
        raise InputError(
            f"the file of gold set {gold!r} is not here",
            hint="Put it back, or say with --gone that it is gone for good.",
        )
    lost = pending(service, gold) if gone else strays(service, gold)
    word = Word(by=by, why=why or LOST, at=service.clock())
    return decisions.withdraw(path, [item for item in lost if item.kind == "judgment"], word)


# ── what a comparison asks for, and what experts voted ────────────────────────────────────────────


class AskedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A document that a query should be judged on; `narrowing` is the share of the doubt that its
    grade takes away, where that is known."""

    query_id: str
    doc_id: str
    narrowing: float | None = None


def queue_pairs(
    service: Service, gold: Path, pairs: Sequence[AskedPair], *, source: str = ASKED
) -> int:
    """Put pairs before the expert, the most useful first; the grade is the expert's to give.
    Returns how many are new: a pair that waits already, or was decided, is not asked twice."""
    queries = set(formats.read_gold(gold).query_ids)
    if missing := next((pair for pair in pairs if pair.query_id not in queries), None):
        raise InputError(
            f"no query {missing.query_id!r} in the gold set",
            where=str(gold),
            hint="Give the gold set that the results were scored on.",
        )
    known = [(pair.query_id, pair.doc_id) for pair in pairs]
    why = [_doubt(pair.narrowing) for pair in pairs]
    before = service.clock()
    made = _suggested(service, gold, known, None, why, source)
    return sum(act.moment >= before for act in made)


def _doubt(narrowing: float | None) -> str:
    return f"its grade takes away {narrowing:.1%} of the doubt" if narrowing is not None else ""


# ── what to judge next ────────────────────────────────────────────────────────────────────────────


class ToJudge(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A query and documents that an expert should judge, and why. `item_id` is set if it is in the
    review queue."""

    query_id: str
    query: str
    doc_ids: list[str]
    reason: str
    item_id: str = ""
    corpus: str = ""


def worth_looking_at(
    service: Service, gold: str, limit: int = 10, offset: int = 0, *, run_ids: Sequence[str] = ()
) -> Page[ToJudge]:
    """First what waits in the queue, the oldest first; then unjudged documents of these runs, else
    of the newest, the one that narrows the decision between them most first; and last what waits
    with a grade that somebody has suggested already. Runs that are named come before the queue."""
    wanted = offset + limit + 1
    queued_items = pending(service, gold)
    waiting = [_waiting(item) for item in queued_items if item.grade is None]
    suggested = [_waiting(item) for item in queued_items if item.grade is not None]
    queued = {(item.ref, doc_id) for item in queued_items for doc_id in item.doc_ids}
    room = wanted if run_ids else wanted - len(waiting)
    more = _worth_judging(_runs_of(service, gold, run_ids), room, queued)
    every = [*more, *waiting, *suggested] if run_ids else [*waiting, *more, *suggested]
    return page_of(every[offset : offset + limit + 1], offset, limit)


def _runs_of(service: Service, gold: str, run_ids: Sequence[str]) -> list[KeptRun]:
    """These runs, or else the newest of two engines, or of one."""
    if run_ids:
        asked = [kept_run(service, run_id) for run_id in run_ids]
        names = run_names(service, gold_path(service, gold))
        if other := next((run for run in asked if run.gold not in names), None):
            raise InputError(f"run {other.id!r} is not on the gold set {gold!r}")
        return asked
    newest: dict[str, str] = {}
    for record in runs(service, gold=gold, limit=MAX_PAGE).items:
        newest.setdefault(record.engine, record.id)
    return [kept_run(service, run_id) for run_id in list(newest.values())[:2]]


def _waiting(item: ReviewItem) -> ToJudge:
    given = "" if item.grade is None else f": grade {item.grade} suggested by {item.suggested_by}"
    return ToJudge(
        item_id=item.id,
        query_id=item.ref,
        query=item.query,
        doc_ids=list(item.doc_ids),
        corpus=item.corpus,
        reason=f"waits for an expert since {item.created_at:%Y-%m-%d}{given}",
    )


def _worth_judging(
    kept: Sequence[KeptRun], limit: int, queued: Set[tuple[str, str]]
) -> list[ToJudge]:
    """Of two runs, or of one."""
    results = [run.results for run in kept]
    graded = [scored for scored in results if isinstance(scored, GradedResults)]
    if limit < 1 or not graded or not graded[0].per_query or any(map(is_closed, results)):
        return []  # closed sets have no grades to give
    between = " against ".join(run.engine for run in kept)
    told: list[ToJudge] = []
    little: list[ToJudge] = []
    for pair in next_to_judge(*(run.per_query for run in graded)).pairs:
        is_little = pair.narrowing < LITTLE
        share = "less than 1%" if is_little else f"{pair.narrowing:.0%}"
        reason = f"unjudged, and {share} of the doubt about {between}"
        one = ToJudge(
            query_id=pair.query_id, query=pair.query_text, doc_ids=[pair.doc_id], reason=reason
        )
        (little if is_little else told).append(one)
    every = [*told, *_never_judged(graded[0], kept[0].engine), *little]
    return [one for one in every if (one.query_id, one.doc_ids[0]) not in queued][:limit]


def _never_judged(results: GradedResults, engine: str) -> list[ToJudge]:
    """The first hits of queries that have no judgment at all: these count in no comparison."""
    bare = [entry for entry in results.per_query if not entry.judged]
    return [
        ToJudge(
            query_id=entry.query_id,
            query=entry.query_text,
            doc_ids=[entry.results[rank]],
            reason="nothing is judged for this query, so it does not count yet; "
            f"rank {rank + 1} of {engine}",
        )
        for rank in range(FIRST_HITS)
        for entry in bare
        if rank < len(entry.results)
    ]

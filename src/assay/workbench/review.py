"""The expert's verbs: what waits, what speaks for it, suggestions and the word on them, what is
taken out of the queue. The gold set changes by an expert's word alone."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import UTC, timedelta
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import InputError, NotHere
from assay.core.files import write_atomic
from assay.core.results import GradedResults
from assay.core.types import ASKED, Document, Vote
from assay.corpus.disk import list_corpora, open_corpus
from assay.evaluation.doubts import is_closed
from assay.judging.next import next_to_judge
from assay.judging.reasons import LONGEST, refuse_long
from assay.judging.votes import Pair, document_fingerprint
from assay.review import rulings
from assay.review.identity import name_of
from assay.review.one_step import record_alone, record_with
from assay.review.pairs import settle_pair
from assay.review.queue import judgment_item, stray_items, stray_items_of
from assay.review.rulings import Word
from assay.store.records import (
    EVERYTHING,
    LOST,
    Feedback,
    ReviewItem,
    ReviewState,
    Ruling,
)
from assay.telemetry.feedback import signs_for
from assay.telemetry.recorder import new_id
from assay.workbench.history import KeptRun, kept_run, runs
from assay.workbench.known_ids import refuse_unknown
from assay.workbench.opening import NotOpen, Service, gold_path, kept_path, read_gold, stored_name
from assay.workbench.paging import MAX_PAGE, Page, page_of, page_size
from assay.workbench.voting import give_with_record, rubric_version

__all__ = [
    "LONGEST",
    "AskedPair",
    "Evidence",
    "ReviewItem",
    "ToJudge",
    "changes_the_set",
    "evidence",
    "item_of",
    "publish",
    "queue",
    "queue_pairs",
    "reject_item",
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
    """What waits, or was decided, the oldest first."""
    size = page_size(limit)
    items = service.store.review_items(
        gold=stored_name(service, gold), state=state, kind=kind, limit=size + 1, offset=offset
    )
    return page_of(items, offset, size)


def item_of(service: Service, item_id: str) -> ReviewItem | None:
    """One item, whatever its state; None where there is no such item."""
    items = service.store.review_items(ids=[item_id])
    return items[0] if items else None


def evidence(service: Service, item: ReviewItem) -> list[Evidence]:
    """What speaks for each document of an item."""
    return [_evidence(service, item, doc_id) for doc_id in item.doc_ids]


def _evidence(service: Service, item: ReviewItem, doc_id: str) -> Evidence:
    signs = signs_for(service.store, item, doc_id, MAX_PAGE)
    decisions = {sign.decision_id: sign for sign in signs if sign.decision_id}
    return Evidence(
        doc_id=doc_id,
        document=document_of(service, item.corpus, doc_id),
        decisions=list(decisions.values())[:SHOWN_DECISIONS],
        kinds=sorted({sign.kind for sign in signs}),
    )


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
    return formats.read_gold(kept_path(service, item.gold)).top_grade or TOP_GRADE


def changes_the_set(service: Service, item: ReviewItem) -> bool:
    """Whether accepting an item changes the gold set itself; else it is a vote, which `gold merge`
    brings in."""
    return kept_path(service, item.gold).suffix == ".jsonl"


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
    name, at = name_of(service.store, gold_path(service, gold)), service.clock()
    item = judgment_item(name, query, doc_id, by=by, at=at, grade=grade, rationale=rationale)
    service.store.add_review_items([item])
    queued = service.store.review_items(gold=name, kind="judgment", limit=EVERYTHING)
    kept = next(known for known in queued if known.key == item.key)
    if kept.grade != grade:
        raise _suggested_before(kept)
    return kept


def _suggested_before(item: ReviewItem) -> InputError:
    """What an expert reads does not change while it is read: the first word stays."""
    told = "waits for the expert" if item.state == "pending_review" else "was decided on already"
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
) -> ReviewItem:
    """An expert's word on a suggestion; `grade` where the suggestion has none, or another one.
    Accepted, it is a vote; in a gold-set.jsonl the document joins the row, or leaves it at grade 0.
    Nothing is said of the other documents: a row that waits goes on waiting."""
    item = item_of(service, item_id)
    if item is None or item.kind != "judgment":
        raise NotHere(f"no suggestion {item_id!r}")
    if not by.strip():
        raise InputError("say who decides")
    final = grade if grade is not None else item.grade
    top = top_grade(service, item) if accept else 0
    if accept and (final is None or not 0 <= final <= top):
        raise InputError(f"give the document a grade from 0 to {top}")
    word = Word(by=by, why=why.strip(), rationale=why.strip(), at=service.clock())
    # without a file a vote alone would leave the row as it was, unsaid
    path = kept_path(service, item.gold) if accept else None
    votes = (_vote(service, item, word, final),) if accept else ()
    state: ReviewState = "approved" if accept else "rejected"
    ruling = Ruling(item=item, state=state, by=by, at=word.at, reason=word.why, votes=votes)
    if path is not None and final is not None and path.suffix == ".jsonl":
        settle_pair(service.store, path, ruling, final)
    elif path is not None:
        give_with_record(service.store, path, ruling)
    else:
        record_alone(service.store, ruling)
    return service.store.review_items(ids=[item_id])[0]


def _vote(service: Service, item: ReviewItem, word: Word, grade: int | None) -> Vote:
    """The person's vote, in the person's own words or without any."""
    doc_id = item.doc_ids[0]
    document = document_of(service, item.corpus, doc_id)
    return Vote(
        id=new_id(),
        query_id=item.ref,
        doc_id=doc_id,
        grade=grade,
        judge=word.by,
        kind="human",
        at=word.at.astimezone(UTC).isoformat(),
        rationale=word.rationale or "",
        rubric=rubric_version(kept_path(service, item.gold)),
        document=document_fingerprint(document) if document is not None else "",
        source=item.suggested_by if item.grade is None else f"suggested by {item.suggested_by}",
    )


def reject_item(service: Service, item: ReviewItem, word: Word) -> None:
    """Turn a row in the queue down. One that is no longer in a file here is turned down in the
    record alone."""
    try:
        path = kept_path(service, item.gold)
        rulings.reject(service.store, path, [item.ref], word, [item])
    except NotOpen:  # the row may be in its file, elsewhere
        raise
    except InputError:
        if item not in strays(service, item.gold):
            raise
        ruling = Ruling(item=item, state="rejected", by=word.by, at=word.at, reason=word.why)
        record_alone(service.store, ruling)


def publish(service: Service | None, gold: Path, baseline: Path, content: bytes, *, by: str) -> int:
    """Approved rows become published together with the baseline that has them: both, or neither.
    Without a service there are none."""
    if service is None:
        write_atomic(baseline, content)
        return 0
    name, at = name_of(service.store, gold), service.clock()
    items = service.store.review_items(gold=name, state="approved", limit=EVERYTHING)
    why = "in the committed baseline"
    made = [Ruling(item=item, state="published", by=by, at=at, reason=why) for item in items]
    if made:
        record_with(service.store, gold, made, baseline, content)
    else:
        write_atomic(baseline, content)
    return len(items)


# ── what has lost its row ─────────────────────────────────────────────────────────────────────────


def strays(service: Service, gold: str = "") -> list[ReviewItem]:
    """What waits and cannot be approved: its row has left the gold set, or the file is not here."""
    return stray_items(service.store, service.gold_sets, gold=gold)


def withdraw(service: Service, gold: str, *, by: str, why: str = "", gone: bool = False) -> int:
    """What waits for a row that has left the gold set leaves the queue; the audit trail keeps it.
    Of a set whose file cannot be found from here, all that waits, and only when it is said to be
    `gone`."""
    if not gold or not by.strip():
        raise InputError("say which gold set, and who withdraws")
    name = stored_name(service, gold)
    lost = stray_items_of(service.store, service.gold_sets, name, gone=gone)
    return service.store.withdraw(lost, by=by, at=service.clock(), reason=why or LOST)


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
    queries = {query.id: query for query in formats.read_gold(gold).queries}
    name, now = name_of(service.store, gold), service.clock()
    items = []
    for place, pair in enumerate(pairs):
        query = queries.get(pair.query_id)
        if query is None:
            raise InputError(
                f"no query {pair.query_id!r} in the gold set",
                where=str(gold),
                hint="Give the gold set that the results were scored on.",
            )
        # the queue is in the order of time: the most useful first
        at = now + timedelta(microseconds=place)
        why = _doubt(pair.narrowing)
        item = judgment_item(name, query, pair.doc_id, by=source, at=at, rationale=why)
        items.append(item)
    return service.store.add_review_items(items)


def _doubt(narrowing: float | None) -> str:
    return f"its grade takes away {narrowing:.1%} of the doubt" if narrowing is not None else ""


# ── what to judge next ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class ToJudge:
    """Something that an expert should look at, and why. `item_id` where it waits in the queue."""

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
    items = service.store.review_items(
        gold=stored_name(service, gold), state="pending_review", limit=EVERYTHING
    )
    waiting = [_waiting(item) for item in items if item.grade is None]
    suggested = [_waiting(item) for item in items if item.grade is not None]
    queued = {(item.ref, doc_id) for item in items for doc_id in item.doc_ids}
    room = wanted if run_ids else wanted - len(waiting)
    more = _worth_judging(_runs_of(service, gold, run_ids), room, queued)
    every = [*more, *waiting, *suggested] if run_ids else [*waiting, *more, *suggested]
    return page_of(every[offset : offset + limit + 1], offset, limit)


def _runs_of(service: Service, gold: str, run_ids: Sequence[str]) -> list[KeptRun]:
    """These runs, or else the newest of two engines, or of one."""
    if run_ids:
        asked = [kept_run(service, run_id) for run_id in run_ids]
        if other := next((run for run in asked if run.gold != stored_name(service, gold)), None):
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

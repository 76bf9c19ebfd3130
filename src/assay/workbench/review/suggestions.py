"""Suggested judgments: documents that a program, or a comparison of runs, puts before the expert,
and what is worth judging next. A suggestion changes a gold set only when a chair accepts it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence, Set
from datetime import timedelta
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import AssayError, InputError, NotHere
from assay.core.results import GradedResults
from assay.core.types import ASKED_BY_NEXT, MAX_PAGE, Page, page_of
from assay.corpus.disk import list_corpora, open_corpus
from assay.evaluation.unjudged.verdict_stability import is_closed
from assay.gold.acts import SUGGEST, Act
from assay.gold.log import writing
from assay.gold.votes import PairKey
from assay.judging.next import next_to_judge
from assay.judging.votes import LONGEST_REASON as LONGEST_REASON
from assay.judging.votes import refuse_long
from assay.review.queue import ReviewItem
from assay.workbench.judging.vote_totals import split_by_votes
from assay.workbench.project.service import Service, gold_path, read_gold, run_names
from assay.workbench.review.item import TOP_GRADE
from assay.workbench.review.queue import items, pending_items
from assay.workbench.scoring.history import StoredRun, runs, stored_run

LITTLE = 0.005  # of the uncertainty: smaller shares are shown as less than 1%; chosen
FIRST_HITS = 10  # of a query without judgments: what nDCG@10 looks at
KNOWN = "Give an id that search or next_to_judge has shown, or allow_unknown."
LONGEST_NAME = 500  # characters, as in the search log (`MAX_NAME` in telemetry/records.py)
RUNS = 20  # the newest runs on a set whose results are looked through for a document; taste


def suggest(
    service: Service,
    gold: str,
    pair: PairKey,
    grade: int,
    *,
    rationale: str,
    by: str,
    allow_unknown: bool = False,
) -> ReviewItem:
    """Suggest a judgment to the chair. The document must be known here, unless `allow_unknown`."""
    query_id, doc_id = pair
    refuse_long(rationale, "the rationale")
    for noun, text in (("name", by), ("document", doc_id)):
        if len(text) > LONGEST_NAME:
            raise InputError(
                f"the {noun} has {len(text):,} characters, the limit is {LONGEST_NAME:,}"
            )
    gold_set = read_gold(service, gold)
    query = next((query for query in gold_set.queries if query.id == query_id), None)
    if query is None:
        raise NotHere(f"no query {query_id!r} in gold set {gold!r}")
    top = gold_set.top_grade or TOP_GRADE
    if not 0 <= grade <= top or not by.strip() or not doc_id.strip():
        raise InputError(f"a suggestion needs a document, a grade from 0 to {top}, and a name")
    path = gold_path(service, gold)
    if not allow_unknown:
        refuse_unknown(service, path, query.corpus, [doc_id], hint=KNOWN)
    (act,) = _append_suggestions(service, path, [pair], grade, [rationale], by)
    item = next(item for item in items(service, gold) if item.id == act.id)
    if item.grade != grade:  # a suggestion never changes while somebody reads it
        state = "is pending" if item.state == "pending_review" else "was already decided"
        raise InputError(
            f"a suggestion of {item.suggested_by!r} for this document and query {state}, with "
            f"grade {item.grade}; the new grade was not recorded",
            hint="Tell the expert that you changed your mind, and why.",
        )
    return item


def _append_suggestions(
    service: Service,
    dataset: Path,
    pairs: Sequence[PairKey],
    grade: int | None,
    rationales: Sequence[str],
    by: str,
) -> list[Act]:
    """The suggestions of these pairs, in this order. One person suggests a pair once: an earlier
    suggestion stays as it is."""
    with writing(dataset) as log:
        who = log.people.known_id(by)
        known = {
            (act.subject["query"], act.subject["doc"]): act
            for act in log.acts.values()
            if act.action == SUGGEST and act.who in (who, by)
        }
        new = {
            pair: log.act(
                SUGGEST,
                who=by,
                kind="machine",
                # the queue is in the order of time
                at=service.clock() + timedelta(microseconds=place),
                subject={"query": pair[0], "doc": pair[1]},
                grade=grade,
                rationale=rationale,
            )
            for place, (pair, rationale) in enumerate(zip(pairs, rationales, strict=True))
            if pair not in known
        }
        log.append(list(new.values()))
    return [(known | new)[pair] for pair in pairs]


class AskedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A document that should be judged for a query; `narrowing` is the share of the uncertainty
    that its grade removes, if that is known."""

    query_id: str
    doc_id: str
    narrowing: float | None = None


def queue_pairs(
    service: Service, gold: Path, pairs: Sequence[AskedPair], *, source: str = ASKED_BY_NEXT
) -> int:
    """Put pairs without a grade into the review queue, the most useful first. Returns how many are
    new: a pair that is pending or decided is not queued again."""
    queries = set(formats.read_gold(gold).query_ids)
    if missing := next((pair for pair in pairs if pair.query_id not in queries), None):
        raise InputError(
            f"no query {missing.query_id!r} in the gold set",
            where=str(gold),
            hint="Give the gold set that the results were scored on.",
        )
    rationales = [
        f"its grade takes away {pair.narrowing:.1%} of the doubt"
        if pair.narrowing is not None
        else ""
        for pair in pairs
    ]
    before = service.clock()
    named = [(pair.query_id, pair.doc_id) for pair in pairs]
    made = _append_suggestions(service, gold, named, None, rationales, source)
    return sum(act.time >= before for act in made)


# ── what to judge next ────────────────────────────────────────────────────────────────────────────


class ToJudge(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Documents that an expert should judge, and why. `item_id` is their item in the queue, if
    they are queued."""

    query_id: str
    query: str
    doc_ids: list[str]
    reason: str
    item_id: str = ""
    corpus: str = ""


def worth_looking_at(
    service: Service, gold: str, limit: int = 10, offset: int = 0, *, run_ids: Sequence[str] = ()
) -> Page[ToJudge]:
    """First the pending items without a grade, the oldest first; then the unjudged documents of
    these runs, or of the newest, by how much they narrow the decision between them; last the
    pending items with a suggested grade. Documents of runs that are named come first."""
    wanted = offset + limit + 1
    items_pending = pending_items(service, gold)
    ungraded = [_pending_to_judge(item) for item in items_pending if item.grade is None]
    graded = [_pending_to_judge(item) for item in items_pending if item.grade is not None]
    queued = {(item.ref, doc_id) for item in items_pending for doc_id in item.doc_ids}
    room = wanted if run_ids else wanted - len(ungraded)
    unjudged = _unjudged_in(
        _runs_of(service, gold, run_ids), room, gold_path(service, gold), queued
    )
    first = [*unjudged, *ungraded] if run_ids else [*ungraded, *unjudged]
    return page_of([*first, *graded][offset:wanted], offset, limit)


def _runs_of(service: Service, gold: str, run_ids: Sequence[str]) -> list[StoredRun]:
    """The named runs, or else the newest of two engines, or of one."""
    if run_ids:
        named = [stored_run(service, run_id) for run_id in run_ids]
        names = run_names(service, gold_path(service, gold))
        if other := next((run for run in named if run.gold not in names), None):
            raise InputError(f"run {other.id!r} is not on the gold set {gold!r}")
        return named
    newest: dict[str, str] = {}
    for record in runs(service, gold=gold, limit=MAX_PAGE).items:
        newest.setdefault(record.engine, record.id)
    return [stored_run(service, run_id) for run_id in list(newest.values())[:2]]


def _pending_to_judge(item: ReviewItem) -> ToJudge:
    grade = "" if item.grade is None else f": grade {item.grade} suggested by {item.suggested_by}"
    return ToJudge(
        item_id=item.id,
        query_id=item.ref,
        query=item.query,
        doc_ids=list(item.doc_ids),
        corpus=item.corpus,
        reason=f"pending since {item.created_at:%Y-%m-%d}{grade}",
    )


def _unjudged_in(
    runs: Sequence[StoredRun], limit: int, dataset: Path, queued: Set[PairKey]
) -> list[ToJudge]:
    """The unjudged documents of one run, or of two, that are not in the queue and that nobody is
    judging."""
    results = [run.results for run in runs]
    graded = [scored for scored in results if isinstance(scored, GradedResults)]
    if limit < 1 or not graded or not graded[0].per_query or any(map(is_closed, results)):
        return []  # closed sets have no grades to give
    engines = " against ".join(run.engine for run in runs)
    useful: list[ToJudge] = []
    little: list[ToJudge] = []
    for pair in split_by_votes(
        dataset, next_to_judge(*(run.per_query for run in graded)).pairs
    ).left:
        is_little = pair.narrowing < LITTLE
        share = "less than 1%" if is_little else f"{pair.narrowing:.0%}"
        suggestion = ToJudge(
            query_id=pair.query_id,
            query=pair.query_text,
            doc_ids=[pair.doc_id],
            reason=f"unjudged, and {share} of the doubt about {engines}",
        )
        (little if is_little else useful).append(suggestion)
    every = [*useful, *_never_judged(graded[0], runs[0].engine), *little]
    return [
        suggestion
        for suggestion in every
        if (suggestion.query_id, suggestion.doc_ids[0]) not in queued
    ][:limit]


def _never_judged(results: GradedResults, engine: str) -> list[ToJudge]:
    """The first hits of queries that have no judgment at all: these count in no comparison."""
    bare = [entry for entry in results.per_query if not entry.known_grades]
    return [
        ToJudge(
            query_id=entry.query_id,
            query=entry.query_text,
            doc_ids=[entry.results[rank]],
            reason="this query has no judgments, so it does not count yet; "
            f"rank {rank + 1} of {engine}",
        )
        for rank in range(FIRST_HITS)
        for entry in bare
        if rank < len(entry.results)
    ]


# ── documents that exist ──────────────────────────────────────────────────────────────────────────


def unknown_ids(service: Service, gold: Path, corpus: str, doc_ids: Sequence[str]) -> list[str]:
    """The documents that are in no corpus (the row's own if it is in the workspace, else any), no
    logged search, no label of the set and no recent run on it. A mistyped id costs every engine
    recall, and nobody sees why."""
    unknown = [doc_id for doc_id in dict.fromkeys(doc_ids) if doc_id.strip()]
    every = list_corpora(service.home)
    for name in [corpus] if corpus in every else every:
        if unknown:
            opened = open_corpus(service.home, name)
            unknown = [doc_id for doc_id in unknown if doc_id not in opened]
    for known in (_shown_in_searches, _judged_in_set, _found_in_runs):
        if unknown:
            found = known(service, gold, unknown)
            unknown = [doc_id for doc_id in unknown if doc_id not in found]
    return unknown


def refuse_unknown(
    service: Service, gold: Path, corpus: str, doc_ids: Sequence[str], *, hint: str
) -> None:
    """Refuse ids of documents that nothing here has; the error names the first."""
    if unknown := unknown_ids(service, gold, corpus, doc_ids):
        of_it = corpus in list_corpora(service.home)
        where = f"neither the corpus {corpus!r} nor a" if of_it else "no corpus,"
        raise InputError(
            f"{where} search, label or run here has the document {unknown[0]!r}",
            where=str(gold),
            hint=hint,
        )


def _shown_in_searches(service: Service, gold: Path, doc_ids: Sequence[str]) -> Set[str]:
    return service.store.shown_documents(doc_ids)


def _judged_in_set(service: Service, gold: Path, doc_ids: Sequence[str]) -> Set[str]:
    return {judgment.doc_id for judgment in formats.read_gold(gold).iter_judgments()}


def _found_in_runs(service: Service, gold: Path, doc_ids: Sequence[str]) -> Set[str]:
    """The documents that engines recently found on this set."""
    found: set[str] = set()
    for record in service.store.runs(gold=run_names(service, gold), limit=RUNS):
        with contextlib.suppress(AssayError):  # a run that cannot be read tells nothing
            results = stored_run(service, record.id).results
            found.update(doc_id for entry in results.per_query for doc_id in entry.results)
    return found

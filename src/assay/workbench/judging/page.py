"""The judging page: sets to judge, the queries and documents of a set, and the votes of a judge.

Judging is blind. Every judge has a random order of their own, and nothing shows which engine found
a document, at which rank, or how anybody else voted."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, timedelta
from typing import Literal

import msgspec

from assay.core.errors import AssayError, InputError, NotHere
from assay.core.types import Document, Query, Topic, Vote
from assay.formats.gold_jsonl import lock_gold_set
from assay.gold.votes import WITHDRAWN, not_before
from assay.judging.packets import PacketRow, packet_row
from assay.judging.pool import PooledPair, after_unsure, is_answer_set, read_pool, write_pool
from assay.judging.rubrics import Rubric as Rubric
from assay.judging.rubrics import translated
from assay.judging.votes import EXPECTED_REASON, document_fingerprint, is_reason, refuse_long
from assay.judging.votes import LONGEST_REASON as LONGEST_REASON
from assay.reports.words import LANGUAGES
from assay.workbench.judging.answer_page import marks_in
from assay.workbench.judging.answer_pool import kind_of
from assay.workbench.judging.session import (
    JudgeCount,
    JudgingSession,
    VoteChanged,
    open_session,
    write_vote,
)
from assay.workbench.judging.set_edits import Flag, flags_of, notes_of
from assay.workbench.project.service import RecentValues, Service, gold_path
from assay.workbench.searching.open_corpora import reader_of

LATEST = timedelta(days=30)  # how long a page may hold a vote back while offline; taste
VOTE_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
STARTS = 90  # characters of a start of a sentence; taste
BEFORE, AFTER = 4, 15  # queries listed around the one being judged; taste

# ── values of the page ────────────────────────────────────────────────────────────────────────────


class SetRow(msgspec.Struct, frozen=True, kw_only=True):
    """A set in the list. `asked` and `judged` are this judge's; `error` says why it cannot be
    judged."""

    name: str
    title: str
    queries: int = 0
    asked: int = 0
    judged: int = 0
    pooled: bool = False
    from_logs: bool = False  # its rows are approved, not judged
    golden: bool = False  # its questions name what is to be found
    dealt_to: tuple[str, ...] = ()
    first: str = ""  # the first query with documents left
    error: str = ""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The rubric's checklist on one query. `grades`, `unsure` and `without_reason` are of this
    judge's votes; `judged_by_anybody` counts documents and tells nothing of grades."""

    asked: int
    judged: int
    unsure: int
    grades: dict[str, int]
    judged_by_anybody: int
    pooled: int  # documents of the query that anybody is asked for, or has judged
    without_reason: int
    again: int  # documents that somebody else judges too
    min_judged: int
    min_high: int
    high: int  # of this judge's, from `high_from` on
    high_from: int
    flag: Flag | None = None


class QueryRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    text: str
    type: str
    topic: str
    issue: str
    asked: int
    judged: int
    unsure: int = 0
    flag: Flag | None = None
    note: str = ""  # of a chair, for everybody who judges it


class SetToJudge(msgspec.Struct, frozen=True, kw_only=True):
    """A set with its queries; those with something asked of this judge come first."""

    name: str
    title: str
    rubric: str
    pooled: bool
    from_logs: bool
    golden: bool
    dealt_to: tuple[str, ...]
    asked: int
    judged: int
    queries: list[QueryRow]
    topics: dict[str, Topic]


class JudgedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A document of a query, and what this judge says of it now."""

    doc_id: str
    title: str = ""
    vote: str = ""  # its id; empty where the judge has not voted
    grade: int | None = None
    rationale: str = ""
    at: str = ""


class QueryToJudge(msgspec.Struct, frozen=True, kw_only=True):
    """One query of a set. `asked` and `judged` are of the whole set; `nearby` are the queries
    around this one, itself too, and `queries` says how many there are in all for this judge."""

    set: str
    title: str
    asked: int
    judged: int
    queries: int
    nearby: list[QueryRow]
    query: QueryRow
    topic: str  # its name
    issue: str
    pairs: list[JudgedPair]
    progress: Progress
    before: str  # the id of the query before it, for the keys
    after: str  # and of the next one that waits for this judge; empty where none does


class PairToRead(msgspec.Struct, frozen=True, kw_only=True):
    """One document as a judge reads it; `words` are marked. In the source of a claim, `marks` are
    what the answer quotes, or `near` is the closest passage."""

    row: PacketRow
    words: tuple[str, ...]
    language: str
    facts: tuple[str, ...]
    corpus: str
    marks: tuple[tuple[int, int], ...] = ()
    near: tuple[int, int] | None = None


class VoteForm(msgspec.Struct, frozen=True, kw_only=True):
    """A vote as a page sends it. The page makes the id, so that sending it again is harmless;
    `ago` are the seconds since it was given. Without a grade the judge is unsure, or takes back
    what they said. `seen` is the id of the vote that the page showed, empty where it showed none:
    where another one holds by now, nothing is taken. Without `seen` the later vote holds."""

    id: str
    set: str
    query_id: str
    doc_id: str
    grade: int | None = None
    rationale: str = ""
    withdrawn: bool = False
    document: str = ""
    seconds: float | None = None
    ago: float = 0.0
    seen: str | None = None


class VoteConflict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a vote that was refused because its judge has voted again since: `now`."""

    error: str
    now: JudgedPair


class SavedVote(msgspec.Struct, frozen=True, kw_only=True):
    """A vote that is on disk. `holds` is false if the judge has voted again since; the progress
    does not say whether the query is flagged."""

    id: str
    at: str
    already: bool
    holds: bool
    progress: Progress


# ── sets and queries ──────────────────────────────────────────────────────────────────────────────


def sets_to_judge(service: Service, judge: str) -> list[SetRow]:
    """The sets, those with documents left for this judge first."""
    rows = [_set_row(service, name, judge) for name in service.gold_sets]
    return sorted(rows, key=lambda row: (row.judged >= row.asked, not row.asked))


def _set_row(service: Service, name: str, judge: str) -> SetRow:
    try:
        session = open_session(gold_path(service, name))
        counts = session.counts(judge, session.gold.query_ids)
    except AssayError as error:
        return SetRow(name=name, title=name, error=str(error))
    return SetRow(
        name=name,
        title=session.gold.name,
        queries=len(session.gold.queries),
        asked=sum(count.assigned for count in counts.values()),
        judged=sum(count.judged for count in counts.values()),
        first=next(
            (id for id in session.pool_by_query if counts[id].judged < counts[id].assigned), ""
        ),
        pooled=session.pool is not None,
        from_logs=session.gold.from_logs,
        golden=session.gold.is_golden,
        dealt_to=session.pool.judges if session.pool is not None else (),
    )


def set_to_judge(service: Service, name: str, judge: str, chair: bool = False) -> SetToJudge:
    session = open_session(gold_path(service, name))
    flags = flags_of(session.dataset, judge, chair)
    counts = session.counts(judge, session.gold.query_ids)
    notes = notes_of(session.dataset)
    rows = [_query_row(query, counts[query.id], flags, notes) for query in session.gold.queries]
    places = {query_id: place for place, query_id in enumerate(session.pool_by_query)}
    rows.sort(key=lambda row: (not row.asked, places.get(row.id, len(places))))
    return SetToJudge(
        name=name,
        title=session.gold.name,
        rubric=session.version,
        pooled=session.pool is not None,
        from_logs=session.gold.from_logs,
        golden=session.gold.is_golden,
        dealt_to=session.pool.judges if session.pool is not None else (),
        asked=sum(row.asked for row in rows),
        judged=sum(row.judged for row in rows),
        queries=rows,
        topics=dict(session.gold.taxonomy),
    )


def _query_row(
    query: Query, count: JudgeCount, flags: dict[str, Flag], notes: dict[str, str]
) -> QueryRow:
    return QueryRow(
        id=query.id,
        text=query.text,
        type=query.type,
        topic=query.topic,
        issue=query.issue,
        asked=count.assigned,
        judged=count.judged,
        unsure=count.unsure,
        flag=flags.get(query.id),
        note=notes.get(query.id, ""),
    )


class QueryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which queries of a set are listed, in which order, and from which on."""

    q: str = ""  # words of the query, or its id
    show: Literal["", "left", "unsure", "flagged", "noted"] = ""
    type: str = ""
    sort: Literal["", "text", "left"] = ""
    offset: int = 0


def listed_queries(rows: Sequence[QueryRow], query_filter: QueryFilter) -> list[QueryRow]:
    """The queries that pass a filter, in its order; by default those asked of the judge first."""
    wanted = query_filter.q.casefold().split()
    keep: dict[str, Callable[[QueryRow], bool]] = {
        "": lambda row: True,
        "left": lambda row: row.judged < row.asked,
        "unsure": lambda row: row.unsure > 0,
        "flagged": lambda row: row.flag is not None,
        "noted": lambda row: bool(row.note),
    }
    found = [
        row
        for row in rows
        if keep[query_filter.show](row)
        and (not query_filter.type or row.type == query_filter.type)
        and all(word in f"{row.id} {row.text}".casefold() for word in wanted)
    ]
    if query_filter.sort == "text":
        found.sort(key=lambda row: row.text.casefold())
    elif query_filter.sort == "left":
        found.sort(key=lambda row: row.judged - row.asked)
    return found


def query_to_judge(
    service: Service, name: str, query_id: str, judge: str, chair: bool = False
) -> QueryToJudge:
    """The documents of a query that are asked of a judge, in an order of the judge's own."""
    session = open_session(gold_path(service, name))
    query = session.query(query_id)
    flags, notes = flags_of(session.dataset, judge, chair), notes_of(session.dataset)
    with session.log.reading:
        judge_pairs = _in_own_order(session.pairs_for(judge, query_id), judge)
        if is_answer_set(session.dataset):
            judge_pairs.sort(key=lambda pair: pair.doc_id)
        vote_of = session.votes.current_vote_of
        pairs = [_judged_pair(pair.doc_id, vote_of(judge, pair.key)) for pair in judge_pairs]
        counts = session.counts(judge, session.gold.query_ids)
    queries = [each for each in session.pool_by_query if counts[each].assigned]
    at = queries.index(query_id) if query_id in queries else -1
    others = [*queries[at + 1 :], *queries[: max(at, 0)]]
    near = queries[max(at - BEFORE, 0) : at + 1 + AFTER]
    by_id = {each.id: each for each in session.gold.queries}
    topic = session.gold.taxonomy.get(query.topic)
    issues = {issue.id: issue.name for issue in topic.issues} if topic is not None else {}
    return QueryToJudge(
        set=name,
        title=session.gold.name,
        asked=sum(count.assigned for count in counts.values()),
        judged=sum(count.judged for count in counts.values()),
        queries=len(queries),
        nearby=[
            _query_row(by_id[each], counts[each], flags, notes)
            for each in (near if at >= 0 else [query_id, *near])
        ],
        query=_query_row(query, counts[query_id], flags, notes),
        topic=topic.name if topic is not None else query.topic,
        issue=issues.get(query.issue, query.issue),
        pairs=pairs,
        progress=progress_of(session, query_id, judge, flags),
        before=queries[at - 1] if at > 0 else "",
        after=next((each for each in others if counts[each].judged < counts[each].assigned), ""),
    )


def _in_own_order(pairs: Iterable[PooledPair], judge: str) -> list[PooledPair]:
    """Every judge reads in an order of their own, always the same; the claims of an answer in the
    order of the answer, as their ids are."""

    def lot(pair: PooledPair) -> str:
        return hashlib.sha256("\n".join((judge, *pair.key)).encode()).hexdigest()

    return sorted(pairs, key=lot)


def _judged_pair(doc_id: str, vote: Vote | None) -> JudgedPair:
    if vote is None:
        return JudgedPair(doc_id=doc_id)
    return JudgedPair(
        doc_id=doc_id,
        vote=vote.id,
        grade=vote.grade,
        rationale=vote.rationale,
        at=vote.at,
    )


def with_titles(service: Service, query_page: QueryToJudge) -> QueryToJudge:
    """The query with the titles of its documents."""
    session = open_session(gold_path(service, query_page.set))
    reader = reader_of(session.pool, session.dataset, service.home)
    titled = []
    for pair in query_page.pairs:
        document = reader.get(pair.doc_id)
        title = document.title if document is not None else ""
        titled.append(msgspec.structs.replace(pair, title=title))
    return msgspec.structs.replace(query_page, pairs=titled)


def progress_of(
    session: JudgingSession, query_id: str, judge: str, flags: dict[str, Flag]
) -> Progress:
    rubric = session.rubric
    with session.log.reading:
        pairs = list(session.pairs_for(judge, query_id))
        votes = [vote for pair in pairs if (vote := session.votes.current_vote_of(judge, pair.key))]
        anybody = sum(
            bool(session.votes.votes_in_memory(pair.key)) or pair.key in session.labelled
            for pair in session.pool_by_query.get(query_id, ())
        )
    grades = Counter(vote.grade for vote in votes if vote.grade is not None)
    return Progress(
        asked=len(pairs),
        judged=len(votes),
        unsure=sum(vote.grade is None for vote in votes),
        grades={str(value): grades[value] for value in rubric.values},
        judged_by_anybody=anybody,
        pooled=max(len(session.pool_by_query.get(query_id, ())), len(pairs)),
        without_reason=sum(vote.grade is not None and not vote.rationale for vote in votes),
        again=sum(len(pair.judges) > 1 for pair in pairs),
        min_judged=rubric.checklist.min_judged,
        min_high=rubric.checklist.min_highly_relevant,
        high=sum(count for grade, count in grades.items() if grade >= rubric.highly_relevant_from),
        high_from=rubric.highly_relevant_from,
        flag=flags.get(query_id),
    )


def rubric_in_use(
    service: Service, name: str, language: str = ""
) -> tuple[Rubric, dict[int, list[str]]]:
    """The rubric of a set, and for each grade some starts of sentences for a rationale; in a
    language, where somebody has translated it."""
    session = open_session(gold_path(service, name))
    rubric = (
        translated(session.rubric, language, beside=session.dataset) if language else session.rubric
    )
    return rubric, _starts(rubric)


def _starts(rubric: Rubric) -> dict[int, list[str]]:
    return {grade.value: [_start(text) for text in grade.criteria][:4] for grade in rubric.grades}


def _start(criterion: str) -> str:
    """The first clause of a criterion, to go on from."""
    clause = re.split(r"[.;:](?:\s|$)", criterion.strip(), maxsplit=1)[0]
    while len(clause) > STARTS and "," in clause:
        clause = clause.rpartition(",")[0]
    return f"{clause}: "


# ── one document ──────────────────────────────────────────────────────────────────────────────────


def open_set_for_judging(service: Service, name: str) -> None:
    """The set, its votes and the corpus of its pool are opened, and a document of it is read."""
    set_to_judge(service, name, "")
    session = open_session(gold_path(service, name))
    if session.pool is not None and session.pool.pairs:
        first = session.pool.pairs[0]
        read_pair(service, name, first.query_id, first.doc_id)


_rows = RecentValues[tuple[str, ...], tuple[PacketRow, tuple[str, ...]]](2048)  # pairs; taste


def read_pair(service: Service, name: str, query_id: str, doc_id: str) -> PairToRead:
    session = open_session(gold_path(service, name))
    query = session.query(query_id)
    reader = reader_of(session.pool, session.dataset, service.home)
    document = reader.get(doc_id)
    if document is None:
        raise NotHere(f"the corpus has no document {doc_id!r}", where=reader.corpus)
    fingerprint = document_fingerprint(document)
    key = (query.id, query.text, query.type, document.id, fingerprint)
    row, words = _rows.of(key, lambda: packet_row(query, document, fingerprint))
    marks, near = marks_in(document) if kind_of(document) else ([], None)
    return PairToRead(
        marks=tuple(marks),
        near=near,
        row=row,
        words=words,
        language=document.language,
        facts=_facts(document),
        corpus=reader.corpus,
    )


def _facts(document: Document) -> tuple[str, ...]:
    """When it was written, and the places of the law that it cites first."""
    date = document.metadata.get("date") or document.metadata.get("year") or document.valid_from
    return (str(date), *document.citations[:5]) if date else document.citations[:5]


# ── votes ─────────────────────────────────────────────────────────────────────────────────────────


def save_vote(service: Service, form: VoteForm, judge: str) -> SavedVote | VoteConflict:
    """Save a vote: it is on disk when this returns, and may be sent any number of times. If the
    judge has since changed it in another window, it is refused and the judge is told."""
    session = open_session(gold_path(service, form.set))
    vote = _vote_of(service, session, form, judge)
    try:
        kept, already = write_vote(session, vote, form.seen)
    except VoteChanged as error:
        return VoteConflict(error=str(error), now=_judged_pair(form.doc_id, error.now))
    if kept.grade is None and kept.source != WITHDRAWN and not already:
        _ask_another(session, kept)
        session = open_session(session.dataset)
    held = session.votes.votes_to_supersede(judge, (kept.query_id, kept.doc_id))
    return SavedVote(
        id=kept.id,
        at=kept.at,
        already=already,
        holds=kept.id in {vote.id for vote in held},
        progress=progress_of(session, kept.query_id, judge, {}),
    )


def _vote_of(service: Service, session: JudgingSession, form: VoteForm, judge: str) -> Vote:
    if not VOTE_ID.fullmatch(form.id):
        raise InputError(f"{form.id[:80]!r} is not a valid vote id")
    refuse_long(form.rationale)
    if form.withdrawn and form.grade is not None:
        raise InputError("a withdrawn vote cannot have a grade")
    ago = min(max(form.ago, 0.0), LATEST.total_seconds())
    now = service.clock().astimezone(UTC)
    pair = (form.query_id, form.doc_id)
    last = session.votes.votes_to_supersede(judge, pair)
    _refuse_no_reason(session, form, last[-1] if last else None)
    earlier = [*session.votes.current_votes(pair), *last]
    at = not_before(now - timedelta(seconds=ago), earlier, now)
    return Vote(
        id=form.id,
        query_id=form.query_id,
        doc_id=form.doc_id,
        grade=form.grade,
        judge=judge,
        kind="human",
        at=at.isoformat(timespec="milliseconds"),
        rationale=form.rationale.strip(),
        rubric=session.version,
        document=form.document[:64],
        seconds=_seconds(form.seconds),
        source=WITHDRAWN if form.withdrawn else "",
    )


def _refuse_no_reason(session: JudgingSession, form: VoteForm, before: Vote | None) -> None:
    """Refuse a vote without a real reason if the rubric asks for one. Undoing restores an earlier
    vote as it was."""
    rationale = form.rationale.strip()
    if form.grade is None or not rationale or session.rubric.rationale != "required":
        return  # one that is missing is refused with the rest of what does not fit
    translations = (
        translated(session.rubric, language, beside=session.dataset) for language in LANGUAGES
    )
    starts = [start for each in translations for start in _starts(each).get(form.grade, ())]
    if is_reason(rationale, starts) or form.id in session.votes.ids:
        return
    while before is not None:
        if (before.grade, before.rationale) == (form.grade, rationale):
            return
        earlier = before.supersedes.split()
        before = session.votes.vote(earlier[0]) if earlier else None
    raise InputError(
        f"{rationale[:80]!r} is not a full reason yet", hint=f"Expected: {EXPECTED_REASON}."
    )


def _seconds(seconds: float | None) -> float | None:
    return round(min(seconds, 86_400.0), 1) if seconds is not None and seconds >= 0 else None


def _ask_another(session: JudgingSession, vote: Vote) -> None:
    """Ask one more judge if all who were asked are unsure."""
    if session.pool is None or not session.pool.judges:
        return
    with session.log.reading:
        votes = session.votes.current_votes_by_judges((vote.query_id, vote.doc_id))
    with lock_gold_set(session.dataset):
        pool = read_pool(session.dataset)
        if pool is not None and (asked := after_unsure(pool, votes)) != pool:
            write_pool(session.dataset, asked)

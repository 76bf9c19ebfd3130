"""The bootstrap: rows of a `gold-set.jsonl` made from search logs and the documents that decisions
cited, grouped by query.

A document that a decision cites after a search had shown it is close to a relevance judgment (grade
3). A person's vote (2) and a click (1) are weaker evidence, and come mostly from the top of the
list, so both are weighed by the chance that their rank was looked at (`telemetry/records.py`, the
position-based model). Searches are grouped by the normal form of their query, and the documents of
a group are those with enough support.

People edit the same file, so the bootstrap changes only its own rows (`source` bootstrap). It
regenerates them in their place, drops those without support, adds new ones at the end, and keeps
every other line byte for byte. A query always keeps its id: the log of the set has the ids of
removed rows. An approved row covers its query, also in its original wording, and a rejected query
does not come back. The same logs give the same file, and a second run changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from assay.core import cluster
from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import Approval, GoldRow, Line
from assay.gold.acts import BEGIN, BOOTSTRAP, DISMISS
from assay.gold.log import Log, open_log
from assay.gold.projection import GoldRows, open_rows, row_of
from assay.gold.rows import content_of
from assay.gold.votes import RULING
from assay.law.queries import row_key
from assay.review.queue import open_suggestions, rejections
from assay.store.records import CITATION_SCORE, CLICK_SCORE, VOTE_SCORE, FeedbackKind, Support
from assay.telemetry.records import position_weight

EMPTY: Mapping[str, str] = {}
CLICK_RATE = 0.3  # corrected clicks a showing that make a document right; chosen
OTHER_CASES = "from_other_cases"  # in the log: labels that only another case's decision gave


class Evidence(Protocol):
    """The source of bootstrapped rows: the logs of a store, or the team's own tables."""

    def support(self, *, min_score: int, since: datetime | None) -> list[Support]:
        """Count feedback by spelling and document."""
        ...

    def showings(
        self, queries: Sequence[str], *, since: datetime | None
    ) -> Mapping[tuple[str, str, str], int]:
        """Count the searches that showed each document: (query, corpus, doc_id) -> searches."""
        ...


class BootstrapOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`min_support`: in how many searches a document must have been found right for a query.
    `since`: only searches made after this. `min_grade`: 3 takes citations, 2 votes too, 1 clicks
    too."""

    min_support: int = 1
    since: datetime | None = None
    min_grade: int = CITATION_SCORE


class QueryGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One query in all its spellings, and the documents that are right for it."""

    key: str
    query: str
    corpus: str
    practice_area: str
    doc_ids: tuple[str, ...]
    of_other_cases: tuple[str, ...] = ()  # those that only decisions of another case support


class BootstrapOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that a bootstrap made to a gold set, or would make."""

    path: str
    changed: bool
    dry_run: bool
    added: int
    updated: int
    removed: int
    unchanged: int
    kept: int  # rows that the bootstrap did not make
    rejected: int  # queries that a chair has rejected
    of_other_cases: int  # labels that only decisions of another case support
    approval: Approval
    diff: str = ""  # of a dry run


def bootstrap(
    evidence: Evidence,
    path: Path,
    options: BootstrapOptions,
    *,
    dry_run: bool = False,
    now: datetime | None = None,
) -> BootstrapOutcome:
    """Regenerate the bootstrap rows of a gold set. A dry run writes nothing."""
    if path.suffix != ".jsonl":
        raise InputError(
            "a gold set from logs must be a .jsonl file",
            where=str(path),
            hint="Give gold-set.jsonl.",
        )
    if dry_run:
        outcome, lines, _ = _plan(evidence, GoldRows(open_log(path), content_of(path)), options)
        diff = gold_jsonl.unified_diff(path, content_of(path), gold_jsonl.assemble(lines))
        return msgspec.structs.replace(outcome, dry_run=True, diff=diff)
    with open_rows(path) as rows:
        outcome, lines, groups = _plan(evidence, rows, options)
        others = {id: marks for id, marks in _of_other_cases(lines, groups).items() if marks}
        del groups  # of a large log they take as much memory as the append does
        if outcome.changed or rows.edited:
            more = {OTHER_CASES: others} if others else {}
            act = rows.log.act(BOOTSTRAP, who="bootstrap", kind="citation", at=now, more=more)
            rows.commit(act, lines)
        _dismiss_lost(rows.log, {row.id for row in gold_jsonl.rows(lines)}, now)
    return outcome


def _dismiss_lost(log: Log, ids: Set[str], now: datetime | None) -> None:
    """Take suggestions out of the queue whose row has left the set."""
    lost = [act.id for act in open_suggestions(log) if act.subject["query"] not in ids]
    if lost:
        why = "its row is no longer in the gold set"
        named = tuple(lost)
        act = log.act(
            DISMISS, who="bootstrap", kind="citation", at=now, rationale=why, supersedes=named
        )
        log.append([act])


def _plan(
    evidence: Evidence, rows: GoldRows, options: BootstrapOptions
) -> tuple[BootstrapOutcome, list[Line], list[QueryGroup]]:
    log, old = rows.log, rows.lines
    past = _QueryHistory(log)
    ids = past.issued | {row.key: row.id for row in gold_jsonl.rows(old)}
    groups = with_decided_documents(groups_of(evidence, options), ids, log.book.all_current_votes())
    lines = merge(old, groups, past.issued, past.rejected, queued=past.queued)
    before = {row.id: row for row in gold_jsonl.rows(old) if row.source == "bootstrap"}
    after = {row.id: row for row in gold_jsonl.rows(lines) if row.source == "bootstrap"}
    outcome = BootstrapOutcome(
        path=str(log.dataset),
        changed=content_of(log.dataset) != gold_jsonl.assemble(lines),
        dry_run=False,
        added=len(after.keys() - before.keys()),
        removed=len(before.keys() - after.keys()),
        updated=sum(before[id] != after[id] for id in before.keys() & after.keys()),
        unchanged=sum(before[id] == after[id] for id in before.keys() & after.keys()),
        kept=len(gold_jsonl.rows(lines)) - len(after),
        rejected=sum(group.key in past.rejected for group in groups),
        of_other_cases=sum(map(len, _of_other_cases(lines, groups).values())),
        approval=gold_jsonl.approval(gold_jsonl.rows(lines)),
    )
    return outcome, lines, groups


def _of_other_cases(
    lines: Sequence[Line], groups: Sequence[QueryGroup]
) -> dict[str, tuple[str, ...]]:
    """The labels that only decisions of another case support, by row."""
    marked = {group.key: group.of_other_cases for group in groups}
    rows = [row for row in gold_jsonl.rows(lines) if row.source == "bootstrap"]
    return {row.id: marked.get(row.key, ()) for row in rows}


class _QueryHistory:
    """The queries that a set has ever had, by key: the id that each was issued, those that were
    rejected, and the row that each became."""

    def __init__(self, log: Log) -> None:
        self.issued: dict[str, str] = {}
        self.queued: dict[str, str] = {}
        for act in log.acts.values():
            if act.action == BEGIN:
                self.issued |= act.more.get("issued", {})
        for (id, _), entries in log.rows.history.items():
            changes = [entry.change for entry in entries]
            texts = dict.fromkeys(s for one in changes for s in (one.before, one.after) if s)
            queued = [row.key for text in texts if (row := row_of(text)).source == "bootstrap"]
            self.issued |= dict.fromkeys(queued, id)
            self.queued |= dict.fromkeys(queued, id)
        self.rejected = {row_of(change.before or "").key for _, change in rejections(log)}
        self.queued = {k: id for k, id in self.queued.items() if k not in self.rejected}


# ── from feedback to groups ───────────────────────────────────────────────────────────────────────


def groups_of(evidence: Evidence, options: BootstrapOptions) -> list[QueryGroup]:
    """Queries with at least one relevant document, in a fixed order."""
    found = evidence.support(min_score=options.min_grade, since=options.since)
    support = [_as_sign(row) for row in found]
    shown: Mapping[tuple[str, str, str], int] = {}
    if options.min_grade <= CLICK_SCORE:
        shown = evidence.showings(
            [row.query for row in support if row.kind == "click"], since=options.since
        )
    by_key: dict[str, list[Support]] = {}
    for row in support:
        by_key.setdefault(row_key(row.query, row.corpus), []).append(row)
    every = [pair for pair in sorted(by_key.items()) if not pair[0].endswith("\t")]
    made = cluster.map_on_cluster(_groups, enumerate(cluster.even_parts(every)), shown, options)
    return [group for _, groups in made for group in groups if group.doc_ids]


def _as_sign(row: Support) -> Support:
    """Feedback that came with its score counts as the kind of sign that gives such a score."""
    if row.kind != "score":
        return row
    if row.relevance_score == CITATION_SCORE:
        return msgspec.structs.replace(row, kind="citation", rank=None)
    kind: FeedbackKind = "click" if row.relevance_score == CLICK_SCORE else "vote"
    return msgspec.structs.replace(row, kind=kind)


def _groups(
    pairs: Sequence[tuple[str, Sequence[Support]]],
    showings: Mapping[tuple[str, str, str], int],
    options: BootstrapOptions,
) -> list[QueryGroup]:
    """The groups of some of the queries, here or on a worker."""
    return [_group(key, rows, showings, options) for key, rows in pairs]


def _group(
    key: str,
    rows: Sequence[Support],
    showings: Mapping[tuple[str, str, str], int],
    options: BootstrapOptions,
) -> QueryGroup:
    spellings: Counter[str] = Counter()
    areas: Counter[str] = Counter()
    documents: dict[str, list[Support]] = {}
    for row in rows:
        documents.setdefault(row.doc_id, []).append(row)
        spellings[" ".join(row.query.split())] += row.searches
        if row.practice_area:
            areas[row.practice_area] += row.searches
    right = sorted(
        doc_id for doc_id, signs in documents.items() if _is_right(signs, showings, options)
    )
    return QueryGroup(
        key=key,
        query=_most_common(spellings),
        corpus=rows[0].corpus.strip(),
        practice_area=_most_common(areas),
        doc_ids=tuple(right),
        of_other_cases=tuple(doc for doc in right if _is_of_other_cases(documents[doc])),
    )


def _is_of_other_cases(signs: Sequence[Support]) -> bool:
    """Whether only decisions support a document, all of another case than its searches."""
    cited = [row for row in signs if row.kind == "citation"]
    others = all(row.other_case == row.searches for row in cited)
    return bool(cited) and len(cited) == len(signs) and others


def _most_common(counted: Counter[str]) -> str:
    """The most common text. Ties go to the first in order: the same logs give the same file."""
    return min(counted, key=lambda text: (-counted[text], text), default="")


def _is_right(
    signs: Sequence[Support], shown: Mapping[tuple[str, str, str], int], options: BootstrapOptions
) -> bool:
    if sum(row.searches for row in signs if row.kind == "citation") >= options.min_support:
        return True
    votes = [row for row in signs if row.kind == "vote"]
    net = sum(_weight(row) * (1 if row.relevance_score else -1) for row in votes)
    if net < 0:
        return False
    in_favour = sum(row.searches for row in votes if row.relevance_score == VOTE_SCORE)
    if in_favour >= options.min_support and net > 0:
        return True
    clicks = [row for row in signs if row.kind == "click"]
    if sum(row.searches for row in clicks) < options.min_support:
        return False
    showings = sum(
        shown.get(place, 0) for place in {(row.query, row.corpus, row.doc_id) for row in clicks}
    )
    return sum(map(_weight, clicks)) >= CLICK_RATE * max(showings, 1)


def _weight(row: Support) -> float:
    return position_weight(row.rank) * row.searches


def with_decided_documents(
    groups: Sequence[QueryGroup], ids: Mapping[str, str], votes: Iterable[Vote]
) -> list[QueryGroup]:
    """The groups with the experts' votes on single documents applied: a relevant one is in, another
    is out. `ids` are those of the rows, by key. Rulings on a whole row are not votes on one
    document."""
    latest: dict[str, dict[str, Vote]] = {}
    for vote in sorted(votes, key=lambda vote: vote.at):
        if vote.kind == "human" and vote.source != RULING:
            latest.setdefault(vote.query_id, {})[vote.doc_id] = vote
    settled = []
    for group in groups:
        grades = {doc: vote.grade for doc, vote in latest.get(ids.get(group.key, ""), {}).items()}
        right = [doc for doc in group.doc_ids if grades.get(doc) != 0]
        right += [doc for doc, grade in grades.items() if grade and doc not in right]
        if right:
            # a document that an expert has graded rests on that grade, not on decisions
            others = tuple(
                doc for doc in group.of_other_cases if doc in right and not grades.get(doc)
            )
            settled.append(
                msgspec.structs.replace(group, doc_ids=tuple(right), of_other_cases=others)
            )
    return settled


# ── from groups to lines ──────────────────────────────────────────────────────────────────────────


def merge(
    old: Sequence[Line],
    groups: Sequence[QueryGroup],
    issued: Mapping[str, str],
    rejected: Iterable[str],
    *,
    queued: Mapping[str, str] = EMPTY,
) -> list[Line]:
    """The new file: lines in their place, regenerated rows in theirs, rows without support gone,
    new rows at the end.

    A query keeps its id by its normal form and corpus: first from the file, then from memory, else
    the next number. A row of the chair settles its query, and the query it was made from: `queued`
    says which, by key and id. Where the chair has taken the id of a row that is still there, that
    row gets another id."""
    theirs = [row for row in gold_jsonl.rows(old) if row.source != "bootstrap"]
    taken = {row.id for row in theirs}
    there = {row.key for row in gold_jsonl.rows(old) if row.source == "bootstrap"}
    reworded = {key for key, id in queued.items() if id in taken and key not in there}
    settled = {row.key for row in theirs} | reworded | set(rejected)
    wanted = {group.key: group for group in groups if group.key not in settled}
    lines: list[Line] = []
    end = gold_jsonl.line_end(old)
    for line in old:
        row = line.row
        if row is None or not line.is_bootstrap:
            lines.append(line)
            taken |= {row.id} if row is not None else set()
        elif row.key in wanted and row.id not in taken:
            group = wanted.pop(row.key)
            lines.append(_regenerated_line(line, _regenerated(group, row.id, row.note), end))
            taken.add(row.id)
    return lines + _new_lines(wanted.values(), taken, issued, end)


def _regenerated_line(line: Line, row: GoldRow, end: bytes) -> Line:
    """The line of a regenerated row. An unchanged row keeps its bytes; keys that are not ours
    stay."""
    if OTHER_CASES.encode() in line.raw:  # earlier versions wrote it into the row
        return gold_jsonl.row_line(row, end)
    return line if line.row == row else gold_jsonl.edited_line(line, **msgspec.structs.asdict(row))


def _regenerated(group: QueryGroup, id: str, note: str = "") -> GoldRow:
    """The row of a group. A note that somebody wrote on it stays."""
    return GoldRow(
        id=id,
        query=group.query,
        practice_area=group.practice_area,
        corpus=group.corpus,
        relevant_case_law_ids=group.doc_ids,
        source="bootstrap",
        note=note,
    )


def _new_lines(
    groups: Iterable[QueryGroup], taken: set[str], issued: Mapping[str, str], end: bytes
) -> list[Line]:
    number = gold_jsonl.highest_number([*taken, *issued.values()])
    lines = []
    for group in groups:
        id = issued.get(group.key, "")
        if not id or id in taken:
            number += 1
            id = gold_jsonl.row_id(number)
        taken.add(id)
        lines.append(gold_jsonl.row_line(_regenerated(group, id), end))
    return sorted(lines, key=_by_number)


def _by_number(line: Line) -> tuple[int, str]:
    id = line.row.id if line.row is not None else ""
    return gold_jsonl.highest_number([id]), id

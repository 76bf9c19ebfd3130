"""A gold set from what decisions cited: feedback joined with the logs, grouped by query, into
`gold-set.jsonl`.

The idea: what a court relied on, in public, after a search had shown it, is the nearest there is to
a judgment nobody had to ask for (grade 3). A person's vote (2) and a click (1) say less, and say it
about the top of the list, so both are weighed by the chance that the rank was looked at at all
(`telemetry/feedback.py`, the position-based model). People spell one question in many ways:
searches are grouped by the normal form of the query, and a group's documents are those with enough
support.

The file is shared with people, so the bootstrap owns only its own rows (`source` bootstrap): it
regenerates them in their place, drops those without support, adds new ones at the end, and keeps
every other line byte for byte. A query keeps its id for ever; the store remembers ids of rows that
are gone. What the chair has decided is settled: an approved row covers its query, also the wording
it was made from, and a rejected query does not come back. The same logs give the same file, and a
second run changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core import cluster
from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import Approval, GoldRow, Line
from assay.formats.vote_order import current
from assay.formats.votes_jsonl import RULING
from assay.law.queries import row_key
from assay.review.identity import name_of
from assay.review.intents import heal
from assay.review.queue import sync_review
from assay.store import Store
from assay.store.records import (
    CITATION_SCORE,
    CLICK_SCORE,
    EVERYTHING,
    VOTE_SCORE,
    Support,
)
from assay.telemetry.feedback import ETA, position_weight

EMPTY: Mapping[str, str] = {}
MARK = "from_other_cases"  # the key, in a row of ours, of labels that another case's decision gave
MARK_BYTES = MARK.encode()


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`min_support`: in how many searches a document must have been found right for a query.
    `since`: only searches made after this. `min_grade`: 3 takes citations, 2 votes too, 1 clicks
    too. `click_rate`: the corrected clicks a showing that make a document right."""

    min_support: int = 1
    since: datetime | None = None
    corpora: tuple[str, ...] = ()
    min_grade: int = CITATION_SCORE
    click_rate: float = 0.3
    eta: float = ETA


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One query in all its spellings, and the documents that are right for it."""

    key: str
    query: str
    corpus: str
    practice_area: str
    doc_ids: tuple[str, ...]
    of_other_cases: tuple[str, ...] = ()  # those that only decisions of another case speak for


class Bootstrapped(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    changed: bool
    dry_run: bool
    added: int
    updated: int
    removed: int
    unchanged: int
    kept: int  # rows that are not ours
    rejected: int  # queries an expert has turned down
    of_other_cases: int  # labels that only decisions of another case speak for
    approval: Approval
    diff: str


def bootstrap(
    store: Store,
    path: Path,
    options: Options,
    *,
    dry_run: bool = False,
    wait: float = 5.0,
    now: datetime | None = None,
) -> Bootstrapped:
    """Regenerate the bootstrap rows of a gold set. A dry run changes neither the file nor the
    store."""
    if path.suffix != ".jsonl":
        raise InputError(
            "a gold set from logs is a .jsonl file", where=str(path), hint="Give gold-set.jsonl."
        )
    if dry_run:
        return _plan(store, path, options, name_of(store, path, claim=False))[0]
    with gold_jsonl.locked(path, wait=wait):
        heal(store, path)
        # a file that cannot be read does not become a gold set of the store
        gold_jsonl.read_lines(path)
        gold = name_of(store, path)
        outcome, lines = _plan(store, path, options, gold)
        changed = gold_jsonl.save(path, lines)
        # After the file: if this is never reached, the next run finds the file as it should be and
        # queues its rows.
        sync_review(store, gold, lines, now=now or datetime.now(UTC))
    return msgspec.structs.replace(outcome, changed=changed, dry_run=False)


def _plan(store: Store, path: Path, options: Options, gold: str) -> tuple[Bootstrapped, list[Line]]:
    old = gold_jsonl.read_lines(path)
    gold_jsonl.refuse_same_ids(old, path)
    items = store.review_items(gold=gold, kind="gold_row", limit=EVERYTHING)
    rejected = {item.key for item in items if item.state == "rejected"}
    queued = {item.key: item.ref for item in items if item.state != "rejected"}
    ids = store.issued_ids(gold) | {row.key: row.id for row in gold_jsonl.rows(old)}
    groups = with_settled(groups_of(store, options), ids, store.votes(gold))
    lines = merge(old, groups, store.issued_ids(gold), rejected, options.corpora, queued=queued)
    before = {row.id: row for row in gold_jsonl.rows(old) if row.source == "bootstrap"}
    after = {row.id: row for row in gold_jsonl.rows(lines) if row.source == "bootstrap"}
    old_file, new_file = gold_jsonl.assemble(old), gold_jsonl.assemble(lines)
    outcome = Bootstrapped(
        path=str(path),
        changed=old_file != new_file,
        dry_run=True,
        added=len(after.keys() - before.keys()),
        removed=len(before.keys() - after.keys()),
        updated=sum(before[id] != after[id] for id in before.keys() & after.keys()),
        unchanged=sum(before[id] == after[id] for id in before.keys() & after.keys()),
        kept=len(gold_jsonl.rows(lines)) - len(after),
        rejected=sum(group.key in rejected for group in groups),
        of_other_cases=sum(len(marked_ids(line)) for line in lines if line.is_bootstrap),
        approval=gold_jsonl.approval(gold_jsonl.rows(lines)),
        diff=gold_jsonl.diff(path, old_file, new_file),
    )
    return outcome, lines


# ── from feedback to groups ───────────────────────────────────────────────────────────────────────


def groups_of(store: Store, options: Options) -> list[Group]:
    """Queries with at least one document that is right for them, in a fixed order."""
    support = store.support(
        min_score=options.min_grade, since=options.since, corpora=options.corpora
    )
    shown: Mapping[tuple[str, str, str], int] = {}
    if options.min_grade <= CLICK_SCORE:
        shown = store.showings(
            [row.query for row in support if row.kind == "click"], since=options.since
        )
    by_key: dict[str, list[Support]] = {}
    for row in support:
        by_key.setdefault(row_key(row.query, row.corpus), []).append(row)
    every = [pair for pair in sorted(by_key.items()) if not pair[0].endswith("\t")]
    made = cluster.each(_groups, enumerate(cluster.parts(every)), shown, options)
    return [group for _, groups in made for group in groups if group.doc_ids]


def _groups(
    pairs: Sequence[tuple[str, Sequence[Support]]],
    shown: Mapping[tuple[str, str, str], int],
    options: Options,
) -> list[Group]:
    """One part of the queries, here or on a worker."""
    return [_group(key, rows, shown, options) for key, rows in pairs]


def _group(
    key: str, rows: Sequence[Support], shown: Mapping[tuple[str, str, str], int], options: Options
) -> Group:
    spellings: Counter[str] = Counter()
    areas: Counter[str] = Counter()
    documents: dict[str, list[Support]] = {}
    for row in rows:
        documents.setdefault(row.doc_id, []).append(row)
        spellings[" ".join(row.query.split())] += row.searches
        if row.practice_area:
            areas[row.practice_area] += row.searches
    right = sorted(
        doc_id for doc_id, signs in documents.items() if _is_right(signs, shown, options)
    )
    return Group(
        key=key,
        query=_most_common(spellings),
        corpus=rows[0].corpus.strip(),
        practice_area=_most_common(areas),
        doc_ids=tuple(right),
        of_other_cases=tuple(doc for doc in right if _is_of_other_cases(documents[doc])),
    )


def _is_of_other_cases(signs: Sequence[Support]) -> bool:
    """Decisions speak for it, all of them of another case than the searches were made for."""
    cited = [row for row in signs if row.kind == "citation"]
    others = all(row.other_case == row.searches for row in cited)
    return bool(cited) and len(cited) == len(signs) and others


def _most_common(counted: Counter[str]) -> str:
    """Ties go to the first in order, so that the same logs give the same file."""
    return min(counted, key=lambda text: (-counted[text], text), default="")


def _is_right(
    signs: Sequence[Support], shown: Mapping[tuple[str, str, str], int], options: Options
) -> bool:
    if sum(row.searches for row in signs if row.kind == "citation") >= options.min_support:
        return True
    votes = [row for row in signs if row.kind == "vote"]
    net = sum(_weight(row, options) * (1 if row.relevance_score else -1) for row in votes)
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
    return sum(_weight(row, options) for row in clicks) >= options.click_rate * max(showings, 1)


def _weight(row: Support, options: Options) -> float:
    return position_weight(row.rank, options.eta) * row.searches


def with_settled(
    groups: Sequence[Group], ids: Mapping[str, str], votes: Iterable[Vote]
) -> list[Group]:
    """The groups with what experts have said of single documents: one that they found right is in,
    one that they found wrong is out. `ids` are those of the rows, by key; a ruling on a whole row
    is not about one document."""
    said: dict[str, dict[str, Vote]] = {}
    for vote in sorted(current(votes), key=lambda vote: vote.at):
        if vote.kind == "human" and vote.source != RULING:
            said.setdefault(vote.query_id, {})[vote.doc_id] = vote
    settled = []
    for group in groups:
        grades = {doc: vote.grade for doc, vote in said.get(ids.get(group.key, ""), {}).items()}
        right = [doc for doc in group.doc_ids if grades.get(doc) != 0]
        right += [doc for doc, grade in grades.items() if grade and doc not in right]
        if right:
            # what an expert has graded rests on that, whatever decisions say
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
    groups: Sequence[Group],
    issued: Mapping[str, str],
    rejected: Iterable[str],
    corpora: Sequence[str] = (),
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
        if row is None or not line.is_bootstrap or (corpora and row.corpus not in corpora):
            lines.append(line)
            taken |= {row.id} if row is not None else set()
        elif row.key in wanted and row.id not in taken:
            group = wanted.pop(row.key)
            lines.append(_line(group, _regenerated(group, row.id, row.note), end))
            taken.add(row.id)
    return lines + _new_lines(wanted.values(), taken, issued, end)


def _line(group: Group, row: GoldRow, end: bytes) -> Line:
    """The row, with a mark on labels that another case's decision gave."""
    marks = {MARK: group.of_other_cases} if group.of_other_cases else {}
    return gold_jsonl.row_line(row, end, **marks)


def marked_ids(line: Line) -> list[str]:
    """The labels of a row of ours that only decisions of another case speak for."""
    marked: list[str] = (
        msgspec.json.decode(line.raw).get(MARK, []) if MARK_BYTES in line.raw else []
    )
    return marked


def _regenerated(group: Group, id: str, note: str = "") -> GoldRow:
    """A note that somebody wrote on a row stays with it."""
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
    groups: Iterable[Group], taken: set[str], issued: Mapping[str, str], end: bytes
) -> list[Line]:
    number = gold_jsonl.highest_number([*taken, *issued.values()])
    lines = []
    for group in groups:
        id = issued.get(group.key, "")
        if not id or id in taken:
            number += 1
            id = gold_jsonl.numbered(number)
        taken.add(id)
        lines.append(_line(group, _regenerated(group, id), end))
    return sorted(lines, key=_by_number)


def _by_number(line: Line) -> tuple[int, str]:
    id = line.row.id if line.row is not None else ""
    return gold_jsonl.highest_number([id]), id

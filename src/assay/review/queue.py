"""The review queue: the pending and decided items of a gold set, computed from its file and log.

Rows that the bootstrap made are pending until a chair approves or rejects them. So are suggested
judgments, and rows on which two copies of a project decided differently. The queue itself is not
stored: the file has the rows, and the log has what happened to them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from assay import formats
from assay.core.errors import AssayError
from assay.core.files import stamp_of
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line
from assay.gold.acts import (
    APPROVE,
    BEGIN,
    BOOTSTRAP,
    CORRECT,
    DISMISS,
    EDIT,
    PUBLISH,
    REJECT,
    SUGGEST,
    UNDO,
    Act,
)
from assay.gold.log import Log, open_log
from assay.gold.projection import as_logged, row_of
from assay.gold.rows import RowAct, RowChange, content_of, has_rows
from assay.law.queries import row_key

ReviewState = Literal["pending_review", "approved", "rejected", "published"]
ReviewKind = Literal["gold_row", "judgment"]
REVIEW_STATES: tuple[ReviewState, ...] = ("pending_review", "approved", "rejected", "published")
# the acts that decide on a row, and on a suggestion; other acts on them decide nothing
ROW_DECISIONS = (APPROVE, CORRECT, REJECT, PUBLISH, UNDO, EDIT)
SUGGESTION_DECISIONS = (APPROVE, REJECT, DISMISS)
BY_HAND = "source=chair was set in the file by hand"


class ReviewItem(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a gold-set.jsonl, or a suggested judgment, that is pending or decided. `ref` is the
    row or the query that it is about; `act` is the act that decided on it last."""

    id: str
    gold: str
    kind: ReviewKind
    ref: str
    query: str
    created_at: datetime
    corpus: str = ""
    practice_area: str = ""
    doc_ids: tuple[str, ...] = ()
    grade: int | None = None
    rationale: str = ""
    suggested_by: str = ""
    state: ReviewState = "pending_review"
    decided_at: datetime | None = None
    decided_by: str = ""
    reason: str = ""
    act: str = ""

    @property
    def key(self) -> str:
        """The query in its normal form, with its corpus."""
        return row_key(self.query, self.corpus)


def items_of(gold: str, dataset: Path) -> list[ReviewItem]:
    """Every item of a gold set, the oldest first. `gold` is the name of the set."""
    log = open_log(dataset)
    with log.reading:
        state = (gold, log.generation, len(log.acts), stamp_of(dataset))
        with _lock:
            known = _known.get(log.path)
        if known is None or known[0] != state:
            known = state, _find_items(gold, dataset, log)
            with _lock:
                _known[log.path] = known
    return known[1]


_known: dict[Path, tuple[object, list[ReviewItem]]] = {}
_lock = threading.Lock()


def _find_items(gold: str, dataset: Path, log: Log) -> list[ReviewItem]:
    lines: list[Line] = []
    if has_rows(dataset):  # a file that is behind its log is shown as it will be written
        content = content_of(dataset)
        lines, _ = as_logged(log, content, gold_jsonl.lines_of(content, dataset))
    found = [*row_items(gold, dataset, log, lines), *_suggestions(gold, dataset, log, lines)]
    return sorted(found, key=lambda item: (item.created_at, item.ref, item.id))


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────


def row_items(
    gold: str, dataset: Path, log: Log, lines: Sequence[Line], only: Container[str] | None = None
) -> Iterator[ReviewItem]:
    """The items of the rows of a set; with `only`, of the rows with these ids."""
    row_ids = set[str]()
    for row in gold_jsonl.rows(lines):
        row_ids.add(row.id)
        if only is not None and row.id not in only:
            continue
        if (item := _row_item(gold, dataset, log, row)) is not None:
            yield item
    for act, change in rejections(log, only):
        row = row_of(change.before or "")
        if (item := _item(gold, dataset, log, row)).ref in row_ids:
            id = hashlib.sha256(f"{gold}\n{row.id}\n{act.id}".encode()).hexdigest()[:16]
            item = msgspec.structs.replace(item, id=id)
        yield _with_decision(item, log, act, "rejected")


def rejections(log: Log, only: Container[str] | None = None) -> Iterator[tuple[Act, RowChange]]:
    """The rejections that were not undone, row by row. A new row under the id of a rejected one is
    another row and does not count as its return."""
    for row_id_and_doc, entries in log.rows.history.items():
        if row_id_and_doc[1] or (only is not None and row_id_and_doc[0] not in only):
            continue  # a label, or another row
        disputed = log.rows.heads(row_id_and_doc) if log.rows.is_disputed(row_id_and_doc) else []
        found: dict[str, tuple[Act, RowChange]] = {}  # two copies may have rejected the same row
        for entry in entries:
            act = log.acts[entry.act]
            if act.action == REJECT and entry.change.before and entry not in disputed:
                key = row_of(entry.change.before).key
                if not _came_back(entry, key, entries):
                    found[key] = act, entry.change
        yield from found.values()


def _came_back(rejected: RowAct, key: str, entries: Sequence[RowAct]) -> bool:
    later = [entry.change.after for entry in entries if rejected.act in entry.supersedes]
    return any(after is not None and row_of(after).key == key for after in later)


def _row_item(gold: str, dataset: Path, log: Log, row: GoldRow) -> ReviewItem | None:
    """The item of a row; None if a person wrote the row, so that it never was pending."""
    key = (row.id, "")
    item = _item(gold, dataset, log, row)
    heads = [log.acts[entry.act] for entry in log.rows.heads(key)]
    if log.rows.is_disputed(key):
        differ = [log.acts[entry.act] for entry in log.rows.distinct_heads(key)]
        people = " and ".join(f"{log.who(act)} ({act.action})" for act in differ)
        return msgspec.structs.replace(item, reason=f"decided differently by {people}")
    if row.source == "bootstrap":
        return item
    changes = [entry.change for entry in log.rows.history.get(key, ())]
    states = [state for change in changes for state in (change.before, change.after)]
    if not any(state is not None and row_of(state).source == "bootstrap" for state in states):
        return None
    act = deciding_act(log, row.id) or heads[-1]
    after = log.rows.projected(key)
    if act.action == EDIT or after is None or row_of(after).source == "bootstrap":
        at = act.time if act.action == EDIT else _modified_at(dataset)
        return msgspec.structs.replace(
            item, state="approved", decided_by="file", decided_at=at, reason=BY_HAND, act=act.id
        )
    if act.action not in (*ROW_DECISIONS, BEGIN, BOOTSTRAP):
        return msgspec.structs.replace(item, reason=f"changed by an unknown act: {act.action}")
    return _with_decision(item, log, act, "published" if act.action == PUBLISH else "approved")


def deciding_act(log: Log, row: str) -> Act | None:
    """The last act that decided on a row. An act on one of its documents does not, nor does an edit
    by hand that leaves the source of the row as it is, nor an act that this version does not
    know."""
    for entry in reversed(log.rows.history.get((row, ""), [])):
        act, change = log.acts[entry.act], entry.change
        before, after = (row_of(s).source if s else "" for s in (change.before, change.after))
        is_other_edit = act.action == EDIT and before == after
        if act.action in ROW_DECISIONS and "doc" not in act.subject and not is_other_edit:
            return act
    return None


def _item(gold: str, dataset: Path, log: Log, row: GoldRow) -> ReviewItem:
    entries = log.rows.history.get((row.id, ""), ())
    first = log.acts[entries[0].act].time if entries else _modified_at(dataset)
    return ReviewItem(
        id=row_item_id(gold, row.id),
        gold=gold,
        kind="gold_row",
        ref=row.id,
        query=row.query,
        created_at=first,
        corpus=row.corpus,
        practice_area=row.practice_area,
        doc_ids=row.relevant_case_law_ids,
        suggested_by="bootstrap",
    )


def row_item_id(gold: str, row: str) -> str:
    return hashlib.sha256(f"{gold}\n{row}".encode()).hexdigest()[:16]


def _with_decision(item: ReviewItem, log: Log, act: Act, state: ReviewState) -> ReviewItem:
    return msgspec.structs.replace(
        item,
        state=state,
        decided_by=log.who(act),
        decided_at=act.time,
        reason=act.rationale,
        act=act.id,
    )


def _modified_at(dataset: Path) -> datetime:
    return datetime.fromtimestamp(dataset.stat().st_mtime, UTC)


# ── suggestions ───────────────────────────────────────────────────────────────────────────────────


class _QueryText(msgspec.Struct, frozen=True):
    """The parts of a query that its suggestions show."""

    text: str
    corpus: str = ""
    topic: str = ""


def _suggestions(gold: str, dataset: Path, log: Log, lines: Sequence[Line]) -> Iterator[ReviewItem]:
    made = [act for act in log.acts.values() if act.action == SUGGEST]
    if not made:
        return
    queries = _queries(dataset, lines)
    standing = decisions_on(log)
    for act in made:
        query = queries.get(act.subject["query"]) or _QueryText(act.more.get("text", ""))
        item = ReviewItem(
            id=act.id,
            gold=gold,
            kind="judgment",
            ref=act.subject["query"],
            query=query.text,
            created_at=act.time,
            corpus=query.corpus,
            practice_area=query.topic,
            doc_ids=(act.subject["doc"],),
            grade=act.grade,
            rationale=act.rationale,
            suggested_by=log.who(act),
        )
        decided = standing.get(act.id, [])
        if any(one.action == DISMISS for one in decided):
            continue
        if len({one.action for one in decided}) == 1:
            state: ReviewState = "rejected" if decided[0].action == REJECT else "approved"
            item = _with_decision(item, log, decided[-1], state)
        yield item


def decisions_on(log: Log) -> dict[str, list[Act]]:
    """The acts that decide on each suggestion, without those that were undone."""
    decided: dict[str, list[Act]] = {}
    for act in log.acts.values():
        for id in act.supersedes if act.action in SUGGESTION_DECISIONS else ():
            if id in log.acts and log.acts[id].action == SUGGEST:
                decided.setdefault(id, []).append(act)
    undoing = [act for act in log.acts.values() if act.action == UNDO]
    undone = {(id, act.subject.get("doc")) for act in undoing for id in act.supersedes}
    for id, made in decided.items():
        doc = log.acts[id].subject["doc"]
        later = {other for act in made for other in act.supersedes}
        decided[id] = [a for a in made if a.id not in later and (a.id, doc) not in undone]
    return {id: made for id, made in decided.items() if made}


def is_stray(item: ReviewItem) -> bool:
    """Whether a suggestion is pending whose query has left the set."""
    return item.kind == "judgment" and item.state == "pending_review" and not item.query


def open_suggestions(log: Log) -> list[Act]:
    """The suggestions that are pending: undecided, or decided differently in two copies."""
    decided = decisions_on(log)
    return [
        act
        for act in log.acts.values()
        if act.action == SUGGEST
        and len({decision.action for decision in decided.get(act.id, ())}) != 1
    ]


def _queries(dataset: Path, lines: Sequence[Line]) -> Mapping[str, _QueryText]:
    if has_rows(dataset):
        rows = gold_jsonl.rows(lines)
        return {row.id: _QueryText(row.query, row.corpus, row.practice_area) for row in rows}
    try:
        queries = formats.read_gold(dataset).queries
    except AssayError:
        return {}
    return {query.id: _QueryText(query.text, query.corpus, query.topic) for query in queries}

"""The expert's queue: what is put into it, and what in it has lost the row it waits for. Plain
functions on a store and the gold sets that can be found from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import AssayError, InputError
from assay.core.types import Query
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line
from assay.review.identity import name_of
from assay.store import Store
from assay.store.records import EVERYTHING, LOST, ReviewItem, Ruling
from assay.telemetry.recorder import new_id

GoldSets = Mapping[str, Path]


def judgment_item(
    gold: str,
    query: Query,
    doc_id: str,
    *,
    by: str,
    at: datetime,
    grade: int | None = None,
    rationale: str = "",
) -> ReviewItem:
    """One document on one query, put before the expert by somebody, with a grade or without. The
    same person asking again asks once."""
    return ReviewItem(
        id=new_id(),
        gold=gold,
        kind="judgment",
        key=f"{query.id}\t{doc_id}\t{by}",
        ref=query.id,
        query=query.text,
        created_at=at,
        corpus=query.corpus,
        practice_area=query.topic,
        doc_ids=(doc_id,),
        grade=grade,
        rationale=rationale,
        suggested_by=by,
    )


def sync_review(store: Store, gold: str, lines: Sequence[Line], *, now: datetime) -> None:
    """Make the review queue say what the file says: bootstrap rows wait, rows made `chair` by hand
    are approved, and what waited for a row that is gone is withdrawn."""
    waiting = [row for row in gold_jsonl.rows(lines) if row.source == "bootstrap"]
    # a query with a row of its own was not the one that became the chair's
    keys = {row.key for row in waiting}
    chair = {row.id: row for row in gold_jsonl.rows(lines) if row.source == "chair"}
    by_hand = [
        Ruling(
            item=item,
            state="approved",
            by="file",
            at=now,
            reason="source=chair was set in the file by hand",
            after=msgspec.to_builtins(chair[item.ref]),
        )
        for item in store.review_items(
            gold=gold, kind="gold_row", state="pending_review", limit=EVERYTHING
        )
        if item.ref in chair and item.key not in keys
    ]
    if by_hand:
        store.rule(by_hand)
    store.sync_gold_rows([item_of(row, gold, now) for row in waiting], gold=gold, at=now)
    ids = {row.id for row in gold_jsonl.rows(lines)}
    suggested = store.review_items(
        gold=gold, kind="judgment", state="pending_review", limit=EVERYTHING
    )
    lost = [item for item in suggested if item.ref not in ids]
    if lost:
        store.withdraw(lost, by="bootstrap", at=now, reason=LOST)


def item_of(row: GoldRow, gold: str, now: datetime) -> ReviewItem:
    return ReviewItem(
        id=new_id(),
        gold=gold,
        kind="gold_row",
        key=row.key,
        ref=row.id,
        query=row.query,
        created_at=now,
        corpus=row.corpus,
        practice_area=row.practice_area,
        doc_ids=row.relevant_case_law_ids,
        suggested_by="bootstrap",
    )


def stray_items(store: Store, gold_sets: GoldSets, *, gold: str = "") -> list[ReviewItem]:
    """What waits and cannot be approved: its row has left the gold set, or the file is not here. A
    file that cannot be read may still have it."""
    paths = {name_of(store, path, claim=False): path for path in gold_sets.values()}
    rows_of_set: dict[str, Set[str] | None] = {}
    lost = []
    for item in store.review_items(gold=gold, state="pending_review", limit=EVERYTHING):
        if item.gold not in rows_of_set:
            rows_of_set[item.gold] = _row_ids(paths.get(item.gold))
        row_ids = rows_of_set[item.gold]
        if row_ids is not None and item.ref not in row_ids:
            lost.append(item)
    return lost


def differing_rows(store: Store, path: Path) -> list[ReviewItem]:
    """What was decided, and the file has as if it were not: rows that are approved or rejected and
    still the bootstrap's there. A row that a person has made their own is theirs."""
    if path.suffix != ".jsonl" or not path.exists():
        return []
    open_rows = {
        (row.id, row.key)
        for row in gold_jsonl.rows(gold_jsonl.read_lines(path))
        if row.source == "bootstrap"
    }
    gold = name_of(store, path, claim=False)
    items = store.review_items(gold=gold, kind="gold_row", limit=EVERYTHING) if open_rows else []
    return [
        item
        for item in items
        if item.state != "pending_review" and (item.ref, item.key) in open_rows
    ]


def stray_items_of(store: Store, gold_sets: GoldSets, gold: str, *, gone: bool) -> list[ReviewItem]:
    """Those of one gold set. A file that cannot be found from here may be elsewhere: it must be
    said to be `gone`."""
    existing = (path for path in gold_sets.values() if path.exists())
    here = any(gold == name_of(store, path, claim=False) for path in existing)
    if not here and not gone:
        raise InputError(
            f"the file of gold set {gold!r} cannot be found from here",
            hint="Put it back, or say with --gone that it is gone for good.",
        )
    return stray_items(store, gold_sets, gold=gold)


def _row_ids(path: Path | None) -> Set[str] | None:
    """The ids in a gold set; none when it is not here, and unknown when it cannot be read."""
    if path is None or not path.exists():
        return frozenset()
    try:
        if path.suffix == ".jsonl":
            return {row.id for row in gold_jsonl.rows(gold_jsonl.read_lines(path))}
        return {query.id for query in formats.read_gold(path).queries}
    except AssayError:
        return None

"""The expert's word on one document of a row. It joins the row or leaves it, and nothing else of
the row changes: who stands behind its other documents stays as it is, so a row that waits goes on
waiting, with the document that is settled in it. The bootstrap keeps what was settled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.types import Query
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow
from assay.review.one_step import record, refuse_overtaken
from assay.review.rulings import locked_set, place_of, refuse_reworded
from assay.store import Store
from assay.store.records import Ruling

Documents = Callable[[GoldRow], tuple[str, ...]]


def settle_pair(store: Store, path: Path, ruling: Ruling, grade: int) -> None:
    """Record a ruling on a pair of a gold-set.jsonl, and make its row say so."""
    (doc_id,) = ruling.item.doc_ids
    _change_row(store, path, ruling, lambda row: _with(row, doc_id, right=grade > 0))


def unsettle_pair(store: Store, path: Path, ruling: Ruling, before: GoldRow) -> None:
    """Take a ruling on a pair back: the document is in the row again, or is not, as `before`."""
    (doc_id,) = ruling.item.doc_ids
    was = before.relevant_case_law_ids

    def change(row: GoldRow) -> tuple[str, ...]:
        ids = _with(row, doc_id, right=doc_id in was)
        return tuple(sorted(ids, key=lambda id: was.index(id) if id in was else len(was)))

    _change_row(store, path, ruling, change)


def _change_row(store: Store, path: Path, ruling: Ruling, change: Documents) -> None:
    with locked_set(store, path):
        refuse_overtaken(store, [ruling.item])
        lines = gold_jsonl.read_lines(path)
        place = place_of(lines, path, ruling.item.ref)
        row = lines[place].row
        assert row is not None
        if ruling.state == "approved":
            now = Query(id=row.id, text=row.query, corpus=row.corpus, topic=row.practice_area)
            refuse_reworded(store, ruling.item, now)
        ids, new = change(row), list(lines)
        if ids != row.relevant_case_law_ids:
            new[place] = gold_jsonl.edited_line(lines[place], relevant_case_law_ids=ids)
        told = msgspec.structs.replace(
            ruling, before=msgspec.to_builtins(row), after=msgspec.to_builtins(new[place].row)
        )
        record(store, path, [told], lines, new)


def _with(row: GoldRow, doc_id: str, *, right: bool) -> tuple[str, ...]:
    there = row.relevant_case_law_ids
    ids = (*there, doc_id) if right else tuple(id for id in there if id != doc_id)
    if not ids:
        raise InputError("no document would be left", where=row.id, hint="Reject the row instead.")
    return tuple(dict.fromkeys(ids))

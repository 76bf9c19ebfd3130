"""The rows that a decision changes, in a set that somebody may have edited since it was worked out.
Only these rows are looked at: what else changed in the file is not the decision's."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line

Lines = Sequence[Line]


def merge_rows(
    now: Lines, before: Lines, after: Lines, *, without: Collection[str] = ()
) -> tuple[list[Line], list[str]]:
    """The lines with what a decision made of its rows, and the ids of those rows that read
    otherwise by now: they stay as they are. Rows `without` are left alone."""
    lines, edited = list(now), []
    old, new = _by_id(before), _by_id(after)
    for id in dict.fromkeys([*old, *new]):
        if id in without or old.get(id) == new.get(id):
            continue
        merged = _merged(lines, old.get(id), new.get(id), id)
        if merged is None:
            edited.append(id)
        else:
            lines = merged
    return lines, edited


def _by_id(lines: Lines) -> dict[str, Line]:
    return {line.row.id: line for line in lines if line.row is not None}


def _merged(lines: list[Line], old: Line | None, new: Line | None, id: str) -> list[Line] | None:
    places = [n for n, line in enumerate(lines) if line.row is not None and line.row.id == id]
    if not places:
        if new is None:
            return lines
        return [*lines, new] if old is None else None
    place, row = places[0], lines[places[0]].row
    if len(places) == 1 and row is not None and new is not None and row == new.row:
        return lines
    if len(places) > 1 or row is None or old is None or old.row is None:
        return None
    if new is None or new.row is None:
        return [*lines[:place], *lines[place + 1 :]] if _reads_alike(row, old.row) else None
    changes = _changes(row, old.row, new.row)
    if changes is None:
        return None
    return [*lines[:place], gold_jsonl.edited_line(lines[place], **changes), *lines[place + 1 :]]


def _reads_alike(row: GoldRow, old: GoldRow) -> bool:
    """What a person is shown of it, and how it stood."""
    return _shown(row) == _shown(old)


def _shown(row: GoldRow) -> tuple[object, ...]:
    read = row.query, row.corpus, row.practice_area, row.relevant_case_law_ids, row.note
    return *read, row.source


def _changes(row: GoldRow, old: GoldRow, new: GoldRow) -> dict[str, str | tuple[str, ...]] | None:
    """What the decision changes on a row. A word on a document changes the documents alone, and
    asks only that the question is the same; nothing where the row is another by now."""
    changes = {
        name: value
        for name in GoldRow.__struct_fields__
        if (value := getattr(new, name)) != getattr(old, name)
    }
    if _reads_alike(row, old):
        return changes
    if set(changes) != {"relevant_case_law_ids"} or row.query != old.query:
        return None
    then, given = old.relevant_case_law_ids, new.relevant_case_law_ids
    kept = [id for id in row.relevant_case_law_ids if id in given or id not in then]
    ids = tuple(dict.fromkeys([*kept, *(id for id in given if id not in then)]))
    return {"relevant_case_law_ids": ids} if ids else None

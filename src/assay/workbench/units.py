"""What is read together: the moments of a section, the tables of a page."""

from __future__ import annotations

import msgspec
import numpy as np

from assay.core.types import Document
from assay.corpus.in_force import standings_of, today
from assay.corpus.lookup import corpus_named
from assay.law.versions import IN_FORCE
from assay.workbench.filtering import Columns, Numbers, columns_of
from assay.workbench.opening import Service


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one section or page, and where those before and after begin."""

    is_page: bool
    rows: list[int]
    before: int | None
    after: int | None


def source_rows(columns: Columns, row: int) -> Numbers:
    """The rows of the same version of the same act or report."""
    places = columns.places
    same = np.ones(places.height, bool)
    for name in ("locator.doc_id", "locator.version"):
        same &= places[name].eq_missing(places[name][row]).to_numpy()
    return np.flatnonzero(same)


def unit_of(columns: Columns, row: int, source: Numbers) -> Unit | None:
    """None for what stands alone."""
    places = columns.places.select(
        "locator.page", "locator.part", "locator.chapter", "locator.schedule", "locator.section"
    )[source]
    at = int(np.searchsorted(source, row))
    page, *_, section = places.row(at)
    is_law = bool(columns.laws.numbers[row] or columns.law_ids.numbers[row])
    if page is None and not (section and is_law):
        return None
    keys = [key[0] if page is not None else key[1:] for key in places.iter_rows()]
    first, last = at, at
    while first > 0 and keys[first - 1] == keys[at]:
        first -= 1
    while last + 1 < len(keys) and keys[last + 1] == keys[at]:
        last += 1
    before = first - 1
    while before > 0 and keys[before - 1] == keys[before]:
        before -= 1
    return Unit(
        is_page=page is not None,
        rows=[int(other) for other in source[first : last + 1]],
        before=int(source[before]) if before >= 0 else None,
        after=int(source[last + 1]) if last + 1 < len(keys) else None,
    )


def rest_of_section(service: Service, corpus: str, doc_id: str) -> list[Document]:
    """The other moments of the section that a moment stands in; nothing of what stands alone."""
    opened = corpus_named(corpus, service.home)
    row = opened.row(doc_id)
    if row is None:
        return []
    columns = columns_of(opened)
    unit = unit_of(columns, row, source_rows(columns, row))
    if unit is None or unit.is_page:
        return []
    return [opened.at(other) for other in unit.rows if other != row]


def when_in_force(service: Service, corpus: str, doc_id: str) -> str:
    """Of a provision: whether it is in force today, since when, and what is not known of that."""
    opened = corpus_named(corpus, service.home)
    row = opened.row(doc_id)
    found = standings_of(str(opened.data_folder))
    status = found.status(row, today()) if row is not None else ""
    if row is None or not status:
        return ""
    begins, ends = found.periods[row]
    if not begins:
        return f"{status}; since when is not known"
    until = f" until {ends}" if ends else ""
    if found.is_dated(row) or status != IN_FORCE:
        return f"{status}: from {begins}{until}"
    return f"{status}; its act from {begins}{until}; since when it stands so itself is not known"

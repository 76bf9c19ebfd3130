"""Whether a hit has the evidence that a question asks for.

Evidence is looked for in the text. Where an expectation names the column of a row, its figures are
looked for in that column alone: the figure of another year is no evidence. What the hit itself
gives as its cell is believed before the corpus; where neither has cells, the text is all there
is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.core.types import Hit
from assay.language.amounts import amount_in, factor_of, unit_in
from assay.language.terms import contains_term, has_number, number_of_term
from assay.law.matching import CellText, Known, Locate, in_column


class Evidence(NamedTuple):
    """Where evidence is looked for; `beside` is the text without the cells."""

    text: str
    cells: tuple[CellText, ...] = ()
    beside: str = ""
    year: str = ""  # of the report


def evidence_of(hit: Hit, locate: Locate | None) -> Evidence:
    """Of a hit; its title does not count."""
    known = locate(hit.doc_id) if locate is not None else None
    text = hit.text or str(hit.metadata.get("text") or "") or (known.text if known else "")
    own = _own_cell(hit)
    others = known.cells if known else ()
    cells = (*own, *(cell for cell in others if cell.column not in {one.column for one in own}))
    year = known.place.year if known else ""
    return Evidence(text, cells, _beside(text, others or cells), year)


def in_document(known: Known) -> Evidence:
    beside = _beside(known.text, known.cells)
    return Evidence(known.text, known.cells, beside, known.place.year)


def _own_cell(hit: Hit) -> tuple[CellText, ...]:
    cell = hit.metadata.get("cell")
    if not isinstance(cell, Mapping) or not cell.get("column") or not cell.get("text"):
        return ()
    return (CellText(*(str(cell.get(key) or "") for key in CellText._fields)),)


def _beside(text: str, cells: Sequence[CellText]) -> str:
    """The text of a row up to its first cell."""
    if not cells:
        return text
    parts = text.split(" | ")
    return " | ".join(parts[: -len(cells)])


def lacking(terms: Sequence[str], column: str, found: Evidence) -> tuple[str, ...]:
    """The terms that are not there; with a column, a figure that is not in it."""
    if not column or not found.cells:
        return tuple(term for term in terms if not contains_term(found.text, term))
    cells = in_column(column, found.cells, found.year)
    return tuple(term for term in terms if not _is_in(term, cells, found.beside))


def stands_there(column: str, found: Evidence) -> str:
    """What the asked column says, for a reader."""
    return "; ".join(told(cell) for cell in in_column(column, found.cells, found.year))


def misplaced(terms: Sequence[str], column: str, found: Evidence) -> list[str]:
    """Where the terms stand that the asked column lacks."""
    if not column:
        return []
    return [
        f"{term} stands in the column {cell.column}"
        for term in terms
        for cell in found.cells
        if cell.column and _is_in(term, [cell], "")
    ]


def _is_in(term: str, cells: Sequence[CellText], beside: str) -> bool:
    """A figure stands in the cell, as it is printed or in full; a word may stand beside it."""
    number = number_of_term(term)
    if number is not None:
        return any(has_number(cell.text, number, {1, factor_of(cell.unit)}) for cell in cells)
    if amount_in(term) is not None:
        return any(contains_term(told(cell), term) for cell in cells)
    return contains_term(" | ".join((beside, *map(told, cells))), term)


def told(cell: CellText) -> str:
    """A cell with its unit, as the text of a row has it."""
    return f"{cell.text} ({cell.unit})" if cell.unit and not unit_in(cell.text) else cell.text

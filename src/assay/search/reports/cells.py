"""The cell of a row that a question asks for, and how it is told: "Vuosikate 2023: 12 345
(1 000 €), Lapua, tilinpäätös 2023, s. 15, Tuloslaskelma"."""

from __future__ import annotations

import msgspec

from assay.core.types import Document, Hit, Locator
from assay.language.amounts import factor_of
from assay.search.reports.columns import best_column
from assay.search.reports.fields import is_row

LONGEST_LABEL = 90
LONGEST = 280


class _Figure(msgspec.Struct, frozen=True):
    column: str
    text: str
    value: float | None = None
    unit: str = ""
    year: int | None = None


class Cell(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cell of a table: its row and column, what stands there, and the number in the unit.
    `amount` is the number in full, where the unit is thousands or millions."""

    row: str
    column: str
    text: str
    value: float | None = None
    unit: str = ""
    amount: float | None = None
    table: str = ""  # what the table is called


def cell_of(document: Document, question: str) -> Cell | None:
    """The cell of this row that the question asks for: of the column it names, of its year or
    the report's; the outcome, unless it asks for something else. None for what is no row."""
    figures = _figures(document)
    if not figures:
        return None
    year = document.metadata.get("year")
    label = " ".join(document.fields.get(name, "") for name in ("label", "parent"))
    best = best_column(figures, question, label, year if isinstance(year, int) else None)
    factor = factor_of(best.unit)
    place = document.locator
    return Cell(
        row=(place.row if place else None) or document.fields.get("label", ""),
        column=best.column,
        text=best.text,
        value=best.value,
        unit=best.unit,
        amount=None if best.value is None or factor == 1 else best.value * factor,
        table=document.fields.get("statement", ""),
    )


def sentence(document: Document, cell: Cell) -> str:
    """The cell in words: what it is, and where it stands."""
    metadata = document.metadata
    place = document.locator
    page = metadata.get("printed_page") or (place.page if place else None)
    label = cell.row if len(cell.row) <= LONGEST_LABEL else f"{cell.row[:LONGEST_LABEL]} …"
    head = " ".join(part for part in (label, cell.column) if part)
    unit = f" ({cell.unit})" if cell.unit and cell.unit not in cell.text else ""
    sign = "s." if document.language == "fi" else "p."
    source = metadata.get("town"), metadata.get("report")
    where = (
        *(source if any(source) else (place.doc_id if place else "",)),
        f"{sign} {page}" if page is not None else "",
        _whose(document.fields.get("entity", ""), f"{label} {cell.column} {cell.table}"),
        cell.table,
    )
    told = ", ".join(str(part) for part in where if part)
    room = max(LONGEST - len(head) - len(told), 40)
    text = cell.text if len(cell.text) <= room else f"{cell.text[:room].rsplit(' ', 1)[0]} …"
    return f"{head}: {text}{unit}, {told}"


def _whose(entity: str, said: str) -> str:
    """The board, company or group that a table is about, where nothing else says it."""
    name = entity.lstrip("0123456789 ")
    return "" if name.lower() in said.lower() else name


def located(document: Document, cell: Cell | None) -> Locator | None:
    """Where the cell stands."""
    place = document.locator
    if place is None or cell is None or not cell.column:
        return place
    return msgspec.structs.replace(place, column=cell.column)


def with_cell(hit: Hit, document: Document, question: str) -> Hit:
    """A hit on a row says its column, and what stands there."""
    cell = cell_of(document, question)
    if cell is None:
        return hit
    return msgspec.structs.replace(
        hit,
        locator=located(document, cell),
        metadata={**hit.metadata, "cell": msgspec.to_builtins(cell)},
    )


def _figures(document: Document) -> list[_Figure]:
    if not is_row(document):
        return []
    try:
        return msgspec.convert(document.metadata.get("figures"), list[_Figure])
    except msgspec.ValidationError:
        return []

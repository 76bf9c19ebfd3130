"""CSV files of docs/measured, written from the Markdown tables that the benchmarks print."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path("docs/measured")


def write_table(path: Path, lines: Iterable[str]) -> None:
    """Write the rows of a Markdown table, without its line of dashes and its emphasis."""
    rows = [_cells(row) for line in lines for row in line.splitlines() if row.startswith("|")]
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows[:1] + rows[2:])


def _cells(row: str) -> list[str]:
    plain = row.replace("**", "").replace("`", "")
    return [cell.strip() for cell in plain.strip().removeprefix("|").removesuffix("|").split("|")]

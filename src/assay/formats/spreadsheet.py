"""Read and write tables for spreadsheets, and protect cells that a spreadsheet would take for a
formula.

A cell that begins with = + - @, a tab or a return is computed when the file is opened, also behind
blanks, and what a document or a query says may be anything. Such a cell gets an apostrophe in
front, as people type it in a spreadsheet themselves; so does one that begins with apostrophes and
such a character, so that taking one away always gives the text back.

Spreadsheets of most of Europe divide a line at semicolons, and quotes within a line do not keep
them from it. So whatever begins behind a semicolon, a tab or a line end is guarded as well. A dash
or plus there is left alone where nothing is called: lists of points are written so."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

# nothing to see: control characters, all kinds of spaces, marks without a width
_BLANKS = (
    r" \x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u08e2"
    r"\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800"
    r"\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_BLANK = f"[{_BLANKS}]"
_BEGINS = rf"{_BLANK}*[=+\-@\t\r\n＝＋－＠﹦﹢﹣﹫]"  # the wide ones in East Asian editions
_FORMULA = re.compile(rf"'*{_BEGINS}")
_GUARDED = re.compile(rf"'+{_BEGINS}")
_CALLS = r"[+\-＋－﹢﹣](?=[^;\t\r\n]*[(|!])"
# a quote behind a semicolon is written twice, and read as nothing where semicolons divide
_WITHIN = rf'["{_BLANKS}]*(?:[=@＝＠﹦﹫]|{_CALLS})'
_FORMULA_WITHIN = re.compile(rf"(?<=[;\t\r\n])(?='*{_WITHIN})")
_GUARDED_WITHIN = re.compile(rf"(?<=[;\t\r\n])'(?='*{_WITHIN})")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


def guard_cell(cell: str) -> str:
    cell = _FORMULA_WITHIN.sub("'", cell)
    return f"'{cell}" if _FORMULA.match(cell) else cell


def guarded_row(cells: Iterable[object]) -> list[object]:
    """A row of a table that people open: texts are guarded, numbers stay numbers."""
    return [
        guard_cell(cell) if isinstance(cell, str) and not _NUMBER.fullmatch(cell) else cell
        for cell in cells
    ]


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """A table as the text of a CSV file."""
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def unguard_cell(cell: str) -> str:
    cell = cell[1:] if _GUARDED.match(cell) else cell
    return _GUARDED_WITHIN.sub("", cell)


_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?\r?\n', re.IGNORECASE)


def table_and_separator(text: str) -> tuple[str, str, int]:
    """The table, what separates its cells, and how many lines stand before it. Spreadsheets
    separate by commas, semicolons or tabs, as their language has it, and may say so in a first
    line."""
    if said := _SEPARATOR.match(text):
        return text[said.end() :], said[1], 1
    return text, max(",;\t", key=text.partition("\n")[0].count), 0


def row_place(path: Path, line: int, row: int) -> str:
    """The place of a row: its line, and its row number in a spreadsheet where a cell above has line
    breaks."""
    return f"{path}:{line}" if line == row else f"{path}:{line} (row {row})"

"""Cells that a spreadsheet must not take for a formula.

A cell that begins with = + - @, a tab or a return is computed when the file is opened, and what a
document or a query says may be anything. Such a cell gets an apostrophe in front, as people type it
in a spreadsheet themselves; so does one that begins with apostrophes and such a character, so that
taking one away always gives the text back."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


def guarded(cell: str) -> str:
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    return cell[1:] if _GUARDED.match(cell) else cell

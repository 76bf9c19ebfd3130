"""Drawings and printed pages for a notebook."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.workbench.project.output_files import write_text

WIDTH = 100  # columns of a printed page


class Picture:
    """A drawing. A notebook shows it; `str(picture)` is the SVG."""

    def __init__(self, svg: str, title: str) -> None:
        self.svg = svg
        self.title = title

    def save(self, path: str | Path) -> Path:
        """Write it as .svg.

        >>> assay.evaluate({"q1": ["A"]}, {"q1": {"A": 1}}, ["P@1"]).plot().save("p1.svg").name
        'p1.svg'
        """
        where = Path(path)
        if where.suffix != ".svg":
            raise InputError(
                f"a picture is written as .svg, not {where.suffix or 'without an ending'}",
                where=str(path),
            )
        return write_text(self.svg, where)

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture: {self.title}"

    def _repr_html_(self) -> str:
        return self.svg


class Shown(str):
    """A text that a notebook shows as it would be printed."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"


def printed(renderable: Any) -> str:
    """A page of the terminal as plain text."""
    from io import StringIO

    from rich.console import Console

    page = StringIO()
    Console(file=page, width=WIDTH, color_system=None, markup=False, highlight=False).print(
        renderable
    )
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()).strip("\n")

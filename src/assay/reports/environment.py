"""The Jinja template environment that reports and web pages share."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

HERE = Path(__file__).parent / "templates"


@cache
def template_environment(*folders: Path) -> Environment:
    """Templates of the reports, and of other folders, which are looked at first. What a template
    lacks is an error, and what it is given is text, not markup."""
    made = Environment(
        loader=FileSystemLoader([*folders, HERE]), autoescape=True, undefined=StrictUndefined
    )
    made.filters |= {"day": _day, "number": _number}
    return made


def compile_templates(*folders: Path) -> None:
    """All of them ahead of time, for a server whose first reader should not wait for it."""
    made = template_environment(*folders)
    for name in made.list_templates(["html", "j2"] if not folders else ["html"]):
        made.get_template(name)


def _day(at: datetime | str | None) -> str:
    return f"{at:%Y-%m-%d}" if isinstance(at, datetime) else str(at or "–")[:10]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")

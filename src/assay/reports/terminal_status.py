"""The project status that `assay` shows when it is called alone."""

from __future__ import annotations

from datetime import datetime

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from assay.reports.grids import plain

SHOWN = 8  # names in a line
STATUS = {"pass": "passed", "fail": "failed"}
STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


class LastVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the gates said of the newest results, and where these are."""

    results: str
    status: str
    at: datetime


class ProjectStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`waiting` is how many pairs and rows wait for people; None where nobody has asked for any.
    `problem` says why the configuration cannot be read."""

    folder: str
    configured: bool
    sets: list[str]
    engines: list[str]
    corpora: list[str]
    verdict: LastVerdict | None
    waiting: int | None
    next: list[str]
    problem: str = ""


def project_status(place: ProjectStatus) -> RenderableType:
    table = plain()
    if place.configured:
        table.add_row("gold sets", _names(place.sets))
        table.add_row("engines", _names(place.engines))
    if place.corpora or place.configured:
        table.add_row("corpora", _names(place.corpora))
    if place.configured:
        table.add_row("last verdict", _verdict(place.verdict))
        pending = f"{place.waiting:,} to judge or review" if place.waiting else "nothing"
        table.add_row("pending", pending)
    lines: list[RenderableType] = [Text.assemble("Assay in ", (place.folder, "bold"))]
    if place.problem:
        lines.append(Text(place.problem, style="red"))
    elif not place.configured and not place.corpora:
        lines.append(Text("No project here yet."))
    lines += [table] if table.row_count else []
    lines += [Text(), Text.assemble("next: ", (" or ".join(place.next), "cyan"))]
    return Group(*lines, Text("all commands: assay --help", style="dim"))


def _names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if names else "none"


def _verdict(verdict: LastVerdict | None) -> Text:
    if verdict is None:
        return Text("none yet")
    shown = STATUS.get(verdict.status, verdict.status), STYLES.get(verdict.status, "")
    return Text.assemble(shown, f", {verdict.at:%Y-%m-%d %H:%M} UTC, {verdict.results}")

"""Terminal output of `assay engines test` and `assay engines presets`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from assay.reports.grids import headed

if TYPE_CHECKING:
    from assay.engines.dry_run import Trial
    from assay.engines.http_table import Preset

SHOWN_ANSWER = 1_600  # characters


def trial(trial: Trial) -> RenderableType:
    """The request, the answer, what was read, and what is wrong."""
    parts: list[RenderableType] = []
    if trial.request is not None:
        lines = [f"{trial.request.method} {trial.request.url}"]
        lines += [f"{name}: {value}" for name, value in trial.request.headers.items()]
        parts += _section("Request", [*lines, *_body(trial.request.body)])
    if trial.answer is not None:
        took = f", {trial.millis:.1f} ms" if trial.millis is not None else ""
        head = f"status {trial.answer.status}, {trial.answer.bytes:,} bytes{took}"
        parts += _section("Answer", [head, *_body(trial.answer.text)])
    elif trial.millis is not None:
        parts += _section("Answer", [f"{trial.millis:.1f} ms"])
    if trial.ok:
        parts += [Text(f"Read: {len(trial.hits)} of at most {trial.top_k} hits", style="bold")]
        parts += [_hits(trial)] if trial.hits else []
    parts += [Text(f"note: {note}", style="yellow") for note in trial.notes]
    parts += [Text(f"wrong: {wrong}", style="red") for wrong in trial.wrong]
    if trial.ok:
        parts.append(Text(f"{trial.engine} can be measured", style="green"))
    return Group(*parts)


def _section(title: str, lines: Sequence[str]) -> Iterator[RenderableType]:
    yield Text(title, style="bold")
    yield Text(textwrap.indent("\n".join(lines), "  "))


def _body(text: str) -> list[str]:
    """JSON laid out, anything else as it is; the start of it."""
    try:
        laid = msgspec.json.format(text.encode(), indent=2).decode()
    except msgspec.DecodeError:
        laid = text
    if len(laid) > SHOWN_ANSWER:
        laid = f"{laid[:SHOWN_ANSWER]}\n… (--json shows more)"
    return laid.splitlines()


def _hits(trial: Trial) -> RenderableType:
    table = headed("rank", "id", "score", "title")
    for rank, hit in enumerate(trial.hits, start=1):
        score = "" if hit.score is None else f"{hit.score:.4g}"
        table.add_row(str(rank), hit.doc_id, score, hit.title)
    return table


def preset_tables(presets: Sequence[Preset]) -> str:
    """As they stand in a file, to be pasted into one."""
    tables = []
    for preset in presets:
        lines = [f"[engines.{preset.name}]", f'http = "{preset.example}"']
        lines += [f"{key} = {_in_toml(value)}" for key, value in preset.table.items()]
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _in_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_in_toml(text)}" for key, text in value.items()) + " }"
    if isinstance(value, str) and "'" not in value:
        return f"'{value}'"
    return msgspec.json.encode(value).decode()

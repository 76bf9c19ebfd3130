"""Corpora, documents, hits and citations for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.core.types import counted


def plain_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name)
    for row in rows:
        table.add_row(*(str(row[name]) for name in columns))
    return table if rows else Text("nothing here yet", style="dim")


def key_values(data: Mapping[str, Any]) -> RenderableType:
    """Names and values, with inner tables one level deep."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for key, value in data.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{name} {_figure(item)}" for name, item in list(value.items())[:60])
            table.add_row(Text(key, style="bold"), inner)
        elif not isinstance(value, list) or len(value) < 20:
            table.add_row(Text(key, style="bold"), _figure(value))
    return table


def _figure(value: Any) -> str:
    if value is None or value == "":
        return "–"
    return (
        f"{value:,.3f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def checkup(data: Mapping[str, Any]) -> RenderableType:
    """Every part in a line or two; corpora and engines in a line each."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, part in data.items():
        if not isinstance(part, dict):
            continue
        status = part.get("status", "ok")
        inner: dict[str, Any] = (
            part.get("corpora") or (part.get("engines") if name == "engines" else None) or {}
        )
        said = {key: value for key, value in part.items() if key != "status" and value is not inner}
        style = "red" if status == "failed" else "green"
        table.add_row(
            Text(name.replace("halacha_", ""), style="bold"),
            Text(status, style=style),
            _in_words(said),
        )
        for one, about in inner.items():
            table.add_row("", "", Text.assemble((one, "bold"), ": ", _in_words(about)))
    return table


def _in_words(part: Mapping[str, Any]) -> str:
    flat: dict[str, Any] = {}
    for key, value in part.items():
        flat |= value if isinstance(value, dict) else {key: value}
    shown = (
        f"{key.replace('_', ' ')} {_figure(value)}"
        for key, value in flat.items()
        if key != "fingerprint"
    )
    return ", ".join(shown) or "–"


def import_summary(data: Mapping[str, Any]) -> RenderableType:
    done = "unchanged" if data["unchanged"] else "imported"
    cited = ", ".join(f"{name} {count:,}" for name, count in data["citations"].items())
    bad = ", ".join(f"{name} {count:,}" for name, count in data["problems"].items()) or "none"
    return Group(
        Text.assemble(
            (data["name"], "bold"),
            f": {counted(data['documents'], 'document')} {done} in {data['seconds']:.1f} s",
        ),
        Text(f"citations: {cited}" if cited else "citations: none", style="dim"),
        Text(f"problems: {bad}", style="dim" if bad == "none" else "yellow"),
        Text(f"next: assay index {data['name']}", style="dim"),
    )


def document_page(data: Mapping[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [Text.assemble((data["id"], "bold"), "  ", data.get("title", ""))]
    for name, ids in (("cites", data["cites"]), ("cited by", data["cited_by"])):
        parts.append(Text(f"{name} {len(ids)}: {', '.join(ids[:12])}", style="dim"))
    parts += [Text(), Text(data.get("text", "")[:4_000])]
    return Group(*parts)


def search_page(data: Mapping[str, Any]) -> RenderableType:
    """Hits for a lawyer: score, title, the passage with the asked words marked, and what put it
    there."""
    parts: list[RenderableType] = []
    if data["abstained"] and data["hits"]:
        parts += [
            Text(
                "Nothing here seems to answer this question; the nearest are below.", style="yellow"
            ),
            Text(),
        ]
    for hit in data["hits"]:
        head = Text.assemble(
            (f"{hit['rank']:>2}. ", "dim"),
            (f"{hit['score']:.2f}  ", "bold cyan"),
            (hit["title"], "bold"),
        )
        snippet = Text("    " + hit["snippet"])
        snippet.highlight_words(hit["words"], style="underline", case_sensitive=False)
        why = [hit["doc_id"]]
        why += [f"words: {', '.join(hit['words'][:8])}"] if hit["words"] else []
        why += [f"citations: {', '.join(hit['citations'])}"] if hit.get("citations") else []
        why += [
            f"{name} {value:.2f}"
            for name, value in hit["signals"].items()
            if name not in ("fused",) and value
        ]
        parts += [head, snippet, Text(f"    {' · '.join(why)}", style="dim"), Text()]
    return Group(*parts) if parts else Text("nothing found", style="yellow")


def decision_page(data: Mapping[str, Any], limit: int) -> RenderableType:
    """How sure the decision is, and the judgments that would settle it soonest."""
    what = "the change" if data["systems"] == 2 else "the distance"
    of = f"of {data['measure']}" + (f" from {data['threshold']:g}" if data["threshold"] else "")
    spread = f"{data['expected']:+.4f} ± {data['deviation']:.4f}"
    sure = "more than 99%" if data["confidence"] > 0.99 else f"{data['confidence']:.0%}"
    head = Text(
        f"With all hits judged, {what} {of} is expected at {spread}; its sign is {sure} sure."
    )
    if not data["pairs"]:
        return Group(head, Text("Nothing unjudged could change it.", style="green"))
    need = f"That is enough: {data['level']:.0%} was asked for. These would narrow it most."
    if data["needed"]:
        count = counted(data["needed"], "judgment")
        need = f"About {count}, in this order, would make it {data['level']:.0%} sure."
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in ("query", "document", "rank A", "rank B", "narrows by"):
        table.add_column(name)
    for pair in data["pairs"][:limit]:
        ranks = [str(pair[key]) if pair[key] else "–" for key in ("rank_a", "rank_b")]
        table.add_row(pair["query_id"], pair["doc_id"], *ranks, f"{pair['narrowing']:.1%}")
    return Group(head, Text(need, style="dim"), Text(), table)


def citations_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in ("span", "text", "normal form", "status", "target or reason"):
        table.add_column(name)
    for row in rows:
        cited = row["citation"]
        target = ", ".join(row["targets"][:5]) + (
            f" +{len(row['targets']) - 5}" if len(row["targets"]) > 5 else ""
        )
        if row["status"] != "resolved":
            target = f"{row['reason']}{'; candidates: ' + target if target else ''}"
        table.add_row(
            f"{cited['start']}–{cited['end']}",
            cited["text"],
            cited["normal"],
            row["status"],
            target or row["reason"],
        )
    return table

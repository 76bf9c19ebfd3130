"""Corpora, documents, hits, citations, gold sets and decisions for a terminal.

Each page is a small struct; a verb may return it, or what `--json` prints of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from assay.core.types import Finding, counted
from assay.reports.grids import headed, plain

SHOWN_LINKS = 12  # of the documents that one cites, or that cite it
SHOWN_TEXT = 4_000
SHOWN_TARGETS = 5
SHOWN_NAMES = 60  # of a table inside a value

Page = TypeVar("Page", bound=msgspec.Struct)


class ImportPage(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    documents: int
    seconds: float
    unchanged: bool
    citations: dict[str, int] = {}
    problems: dict[str, int] = {}


class DocumentPage(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str = ""
    text: str = ""
    cites: list[str] = []
    cited_by: list[str] = []


class ShownHit(msgspec.Struct, frozen=True, kw_only=True):
    rank: int
    doc_id: str
    score: float
    title: str
    snippet: str
    words: list[str] = []
    citations: list[str] = []
    signals: dict[str, float | None] = {}


class SearchPage(msgspec.Struct, frozen=True, kw_only=True):
    abstained: bool
    hits: list[ShownHit]


class Cited(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    start: int
    end: int
    normal: str


class CitationRow(msgspec.Struct, frozen=True, kw_only=True):
    citation: Cited
    status: str
    targets: list[str] = []
    reason: str = ""


class NextPair(msgspec.Struct, frozen=True, kw_only=True):
    query_id: str
    doc_id: str
    narrowing: float
    rank_a: int | None = None
    rank_b: int | None = None


class DecisionPage(msgspec.Struct, frozen=True, kw_only=True):
    """How sure a decision is, and the judgments that would settle it."""

    systems: int
    measure: str
    expected: float
    deviation: float
    confidence: float
    level: float
    threshold: float | None = None
    needed: int | None = None
    pairs: list[NextPair] = []


class GoldPage(msgspec.Struct, frozen=True, kw_only=True):
    """The picture of a gold set; `topics` is topic -> type -> queries."""

    name: str
    queries: int
    judgments: int
    rubric: str
    rationales: float
    types: dict[str, int]
    topics: dict[str, dict[str, int]]
    grades: dict[str, int]
    judged_per_query: dict[str, int]


def _read(shown: object, kind: type[Page]) -> Page:
    """The page itself, or what `--json` prints of it."""
    return msgspec.convert(shown, kind, from_attributes=True)


# ── tables of anything ────────────────────────────────────────────────────────────────────────────


def plain_table(rows: Sequence[msgspec.Struct], columns: Sequence[str]) -> RenderableType:
    if not rows:
        return Text("nothing here yet", style="dim")
    table = headed(*columns)
    for row in rows:
        table.add_row(*(str(getattr(row, name)) for name in columns))
    return table


def key_values(page: msgspec.Struct, **counts: int) -> RenderableType:
    """Names and values, with inner tables one level deep; `counts` stand in for lists of the same
    names."""
    table = plain()
    for name, value in (msgspec.to_builtins(page) | counts).items():
        if isinstance(value, dict):
            shown = list(value.items())[:SHOWN_NAMES]
            inner = ", ".join(f"{key} {_figure(figure)}" for key, figure in shown)
            table.add_row(Text(name, style="bold"), inner)
        elif not isinstance(value, list) or len(value) < 20:
            table.add_row(Text(name, style="bold"), _figure(value))
    return table


def _figure(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        return f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def checkup(page: msgspec.Struct) -> RenderableType:
    """Every part in a line or two; corpora and engines in a line each."""
    table = plain()
    for name, part in msgspec.to_builtins(page).items():
        if not isinstance(part, dict):
            continue
        status = part.get("status", "ok")
        engines = part.get("engines") if name == "engines" else None
        members = part.get("corpora") or engines or {}
        said = {
            key: value for key, value in part.items() if key != "status" and value is not members
        }
        style = "red" if status == "failed" else "green"
        title = Text(name.replace("halacha_", ""), style="bold")
        table.add_row(title, Text(status, style=style), _in_words(said))
        for member, about in members.items():
            table.add_row("", "", Text.assemble((member, "bold"), ": ", _in_words(about)))
    return table


def _in_words(part: Mapping[str, object]) -> str:
    flat: dict[str, object] = {}
    for key, value in part.items():
        flat |= value if isinstance(value, dict) else {key: value}
    shown = (
        f"{key.replace('_', ' ')} {_figure(value)}"
        for key, value in flat.items()
        if key != "fingerprint"
    )
    return ", ".join(shown) or "–"


def findings_table(findings: Sequence[Finding]) -> RenderableType:
    table = plain()
    for finding in findings:
        style = "bold red" if finding.level == "error" else "yellow"
        level, code = Text(finding.level, style=style), Text(finding.code, style="dim")
        table.add_row(level, code, finding.where, finding.message)
    return table


# ── corpora ───────────────────────────────────────────────────────────────────────────────────────


def import_summary(shown: object) -> RenderableType:
    page = _read(shown, ImportPage)
    done = "unchanged" if page.unchanged else "imported"
    cited = ", ".join(f"{name} {count:,}" for name, count in page.citations.items())
    bad = ", ".join(f"{name} {count:,}" for name, count in page.problems.items()) or "none"
    what = f": {counted(page.documents, 'document')} {done} in {page.seconds:.1f} s"
    return Group(
        Text.assemble((page.name, "bold"), what),
        Text(f"citations: {cited}" if cited else "citations: none", style="dim"),
        Text(f"problems: {bad}", style="dim" if bad == "none" else "yellow"),
        Text(f"next: assay index {page.name}", style="dim"),
    )


def document_page(shown: object) -> RenderableType:
    """One document with what it cites and what cites it."""
    page = _read(shown, DocumentPage)
    links = {"cites": page.cites, "cited by": page.cited_by}
    lines = [
        Text(f"{name} {len(ids)}: {', '.join(ids[:SHOWN_LINKS])}", style="dim")
        for name, ids in links.items()
    ]
    head = Text.assemble((page.id, "bold"), "  ", page.title)
    return Group(head, *lines, Text(), Text(page.text[:SHOWN_TEXT]))


def search_page(shown: object) -> RenderableType:
    """Hits for a lawyer: score, title, the passage with the asked words marked, and what put it
    there."""
    page = _read(shown, SearchPage)
    if not page.hits:
        return Text("nothing found", style="yellow")
    lines: list[RenderableType] = []
    if page.abstained:
        nearest = "Nothing here seems to answer this question; the nearest are below."
        lines += [Text(nearest, style="yellow"), Text()]
    for hit in page.hits:
        lines += _hit_lines(hit)
    return Group(*lines)


def _hit_lines(hit: ShownHit) -> list[Text]:
    rank, score = (f"{hit.rank:>2}. ", "dim"), (f"{hit.score:.2f}  ", "bold cyan")
    snippet = Text("    " + hit.snippet)
    snippet.highlight_words(hit.words, style="underline", case_sensitive=False)
    why = [hit.doc_id]
    why += [f"words: {', '.join(hit.words[:8])}"] if hit.words else []
    why += [f"citations: {', '.join(hit.citations)}"] if hit.citations else []
    signals = {name: value for name, value in hit.signals.items() if name != "fused"}
    why += [f"{name} {value:.2f}" for name, value in signals.items() if value]
    head = Text.assemble(rank, score, (hit.title, "bold"))
    return [head, snippet, Text(f"    {' · '.join(why)}", style="dim"), Text()]


def citations_table(shown: Sequence[object]) -> RenderableType:
    table = headed("span", "text", "normal form", "status", "target or reason")
    for row in msgspec.convert(shown, list[CitationRow], from_attributes=True):
        cited, more = row.citation, len(row.targets) - SHOWN_TARGETS
        target = ", ".join(row.targets[:SHOWN_TARGETS]) + (f" +{more}" if more > 0 else "")
        if row.status != "resolved":
            target = f"{row.reason}{'; candidates: ' + target if target else ''}"
        span = f"{cited.start}–{cited.end}"
        table.add_row(span, cited.text, cited.normal, row.status, target or row.reason)
    return table


# ── gold sets ─────────────────────────────────────────────────────────────────────────────────────


def stats_table(shown: object) -> RenderableType:
    """The picture of a gold set: queries by topic and type, judgments by grade, and how they spread
    over queries."""
    page = _read(shown, GoldPage)
    spread = ", ".join(f"{name} {value}" for name, value in page.judged_per_query.items())
    size = f"  {page.queries} queries, {page.judgments:,} judgments"
    about = f"{size}, rubric {page.rubric or 'not named'}, {page.rationales:.0%} with a rationale"
    grades = plain()
    for grade, count in page.grades.items():
        share = count / max(page.judgments, 1)
        bar = Text("█" * round(share * 40), style="cyan")
        grades.add_row(f"grade {grade}", str(count), bar, f"{share:.0%}")
    return Group(
        Text.assemble((page.name, "bold"), about),
        Text(),
        _topics_by_type(page),
        Text(),
        grades,
        Text(f"judged per query: {spread}", style="dim"),
    )


def _topics_by_type(page: GoldPage) -> RenderableType:
    types = list(page.types) or [""]
    grid = headed("queries by topic", right=[name or "no type" for name in types])
    grid.add_column("all", justify="right", style="bold")
    for topic, row in page.topics.items():
        counts = [str(row.get(name, 0)) for name in types]
        grid.add_row(topic or "no topic", *counts, str(sum(row.values())))
    totals = [str(page.types.get(name, 0)) for name in types]
    grid.add_row("all", *totals, str(page.queries), style="bold")
    return grid


def decision_page(shown: object, limit: int) -> RenderableType:
    """How sure the decision is, and the judgments that would settle it soonest."""
    page = _read(shown, DecisionPage)
    what = "the change" if page.systems == 2 else "the distance"
    of = f"of {page.measure}" + (f" from {page.threshold:g}" if page.threshold else "")
    spread = f"{page.expected:+.4f} ± {page.deviation:.4f}"
    sure = "more than 99%" if page.confidence > 0.99 else f"{page.confidence:.0%}"
    head = Text(
        f"With all hits judged, {what} {of} is expected at {spread}; its sign is {sure} sure."
    )
    if not page.pairs:
        return Group(head, Text("Nothing unjudged could change it.", style="green"))
    need = f"That is enough: {page.level:.0%} was asked for. These would narrow it most."
    if page.needed:
        count = counted(page.needed, "judgment")
        need = f"About {count}, in this order, would make it {page.level:.0%} sure."
    table = headed("query", "document", "rank A", "rank B", "narrows by")
    for pair in page.pairs[:limit]:
        ranks = [str(rank) if rank else "–" for rank in (pair.rank_a, pair.rank_b)]
        table.add_row(pair.query_id, pair.doc_id, *ranks, f"{pair.narrowing:.1%}")
    return Group(head, Text(need, style="dim"), Text(), table)

"""Terminal pages for corpora, documents, search hits, citations, gold sets and decisions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from assay.core.types import Finding, counted
from assay.law.versions import mark_of
from assay.reports.grids import Hanging, headed, plain
from assay.reports.hit_reasons import told_why
from assay.reports.numbers import Numbers
from assay.reports.wording import Sentences
from assay.reports.words import Words

if TYPE_CHECKING:
    from assay.corpus.build import ImportReport
    from assay.corpus.citations import Resolved
    from assay.corpus.disk import LinkedDocument
    from assay.judging.machine import Spent
    from assay.judging.next import Decision
    from assay.judging.set_summary import GoldPicture
    from assay.review.backlog import Backlog
    from assay.review.external_backlog import ExternalBacklog
    from assay.search.answers import FoundDocument, SearchAnswer

INDENT = 4  # of what stands below the title of a hit
SHOWN_LINKS = 12  # of the documents that one cites, or that cite it
SHOWN_TEXT = 4_000
SHOWN_TARGETS = 5
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*")
SHOWN_NAMES = 60  # of a table inside a value


# ── tables of anything ────────────────────────────────────────────────────────────────────────────


def plain_table(rows: Sequence[msgspec.Struct], columns: Sequence[str]) -> RenderableType:
    if not rows:
        return Text("nothing here yet", style="dim")
    table = headed(*map(said, columns))
    for row in rows:
        values = (getattr(row, name) for name in columns)
        table.add_row(*("" if value in (None, "") else _figure(value) for value in values))
    return table


# keys that are no English once their underscores are gone; all others are
SAID = {
    "age_days": "age in days",
    "bytes": "size in bytes",
    "by_machine": "by machines alone",
    "doc_id": "document",
    "edges": "links",
    "forecast_empty_at": "empty by, at this pace",
    "halacha_backlog": "backlog",
    "left": "still left",
    "mtime_ns": "changed",
    "no-document": "outside",
    "oldest_pending_at": "oldest pending since",
    "p50": "median",
    "query_id": "query",
    "self": "to itself",
    "unknown_ids": "ids that are not here",
    "without_grade": "without a grade",
    "without_text": "without a text",
}


def said(key: str) -> str:
    """A key of the data as a person would say it; the path of a field stays a path."""
    return SAID.get(key) or (key if "." in key else key.replace("_", " "))


def key_values(
    page: msgspec.Struct | Backlog | ExternalBacklog, **instead: int | str
) -> RenderableType:
    """Names and values, with inner tables one level deep; what is given `instead` stands in for the
    values of the same names."""
    return _named(msgspec.to_builtins(page) | instead)


def what_happened(page: msgspec.Struct, **instead: int | str) -> RenderableType:
    """The same, without what is nought or empty."""
    return _named(
        {name: value for name, value in (msgspec.to_builtins(page) | instead).items() if value}
    )


def _named(values: Mapping[str, object]) -> RenderableType:
    table = plain()
    for name, value in values.items():
        if isinstance(value, dict) and value and all(one is None for one in value.values()):
            continue
        if isinstance(value, dict):
            shown = list(value.items())[:SHOWN_NAMES]
            inner = ", ".join(f"{said(key)} {_figure(figure)}" for key, figure in shown)
            table.add_row(Text(said(name), style="bold"), inner)
        elif not isinstance(value, list) or len(value) < 20:
            table.add_row(Text(said(name), style="bold"), _figure(value))
    return table


def named_values(name: str, page: ExternalBacklog) -> RenderableType:
    return Group(Text(), Text(name, style="bold"), key_values(page))


def loaded_into(
    loaded: msgspec.Struct, beside: Sequence[tuple[str, float | None, float | None]]
) -> RenderableType:
    """What was loaded into an engine, and each measure on our own index and there."""
    if not beside:
        return key_values(loaded)
    table = headed("measure", "our index", "there")
    for measure, own, there in beside:
        table.add_row(measure, _figure(own), _figure(there))
    return Group(key_values(loaded), Text(), table)


def _figure(value: object) -> str:
    if value is None or value in ("", [], (), {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_figure, value))
    if isinstance(value, dict):
        inner = ", ".join(f"{said(key)} {_figure(figure)}" for key, figure in value.items())
        return f"({inner})"
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, str) and MOMENT.fullmatch(value):
        return Numbers(Words("en")).moment(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def spending(spent: Spent) -> str:
    """What a machine judge used. Without prices the cost is not known, which is not 0."""
    cost = "not known" if spent.cost is None else f"{spent.cost:,.4f}"
    guessed = f", guessed {spent.guessed:,}" if spent.guessed else ""
    tokens = f"tokens in {spent.tokens_in:,}, out {spent.tokens_out:,}"
    return f"requests {spent.requests:,}, {tokens}{guessed}, cost {cost}"


def checkup(page: msgspec.Struct) -> RenderableType:
    """Every part in a line or two; extras, corpora and engines in a line each."""
    table = plain()
    for name, health in msgspec.to_builtins(page).items():
        if not isinstance(health, dict):
            continue
        status = health.get("status", "ok")
        if name == "extras":
            health = {
                "tables": {one: {"": said} for one, said in health.items() if one != "status"}
            }
        engines = health.get("engines") if name == "engines" else None
        members = health.get("corpora") or health.get("tables") or engines or {}
        figures = {
            key: value for key, value in health.items() if key != "status" and value is not members
        }
        style = "red" if status == "failed" else "green"
        title = Text(said(name), style="bold")
        told = "" if name == "extras" else _in_words(figures)
        table.add_row(title, Text(status, style=style), told)
        for member, member_figures in members.items():
            table.add_row("", "", Text.assemble((member, "bold"), ": ", _in_words(member_figures)))
    return table


def _in_words(figures: Mapping[str, object]) -> str:
    flat: dict[str, object] = {}
    for key, value in figures.items():
        flat |= value if isinstance(value, dict) else {key: value}
    shown = (
        f"{said(key)} {_figure(value)}".strip()
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


def import_summary(report: ImportReport) -> RenderableType:
    done = "unchanged" if report.unchanged else "imported"
    cited = ", ".join(f"{name} {count:,}" for name, count in report.citations.items())
    bad = ", ".join(f"{name} {count:,}" for name, count in report.problems.items()) or "none"
    what = f": {counted(report.documents, 'document')} {done} in {report.seconds:.1f} s"
    return Group(
        Text.assemble((report.name, "bold"), what),
        Text(f"citations: {cited}" if cited else "citations: none", style="dim"),
        Text(f"problems: {bad}", style="dim" if bad == "none" else "yellow"),
        Text(f"next: assay index {report.name}", style="dim"),
    )


def document_page(document: LinkedDocument) -> RenderableType:
    """One document with what it cites and what cites it."""
    links = {"cites": document.cites, "cited by": document.cited_by}
    lines = [
        Text(f"{name} {len(ids)}: {', '.join(ids[:SHOWN_LINKS])}", style="dim")
        for name, ids in links.items()
    ]
    head = Text.assemble((document.id, "bold"), "  ", document.title)
    return Group(head, *lines, Text(), Text(document.text[:SHOWN_TEXT]))


def search_page(answer: SearchAnswer, *, explain: bool = False) -> RenderableType:
    """Hits for a lawyer: score, title, the answer with the asked words marked, statutes, date and
    who wrote it. With `explain`, what put each hit there, in words."""
    if not answer.hits:
        return Text(answer.note or "nothing found", style="yellow")
    lines: list[RenderableType] = []
    note = answer.note
    if answer.abstained:
        unknown = "Nothing here seems to answer this question; the nearest are below."
        note = f"{note} The nearest are below." if note else unknown
    if note:
        lines += [Text(note, style="yellow"), Text()]
    for hit in answer.hits:
        if not hit.less_likely:
            lines += _hit_lines(hit, explain)
    behind = [hit for hit in answer.hits if hit.less_likely]
    if behind:
        lines += [Text("Less likely to answer:", style="yellow"), Text()]
    for hit in behind:
        lines += _hit_lines(hit, explain)
    return Group(*lines)


def _hit_lines(hit: FoundDocument, explain: bool) -> list[RenderableType]:
    rank = (f"{hit.rank:>2}. ", "dim")
    score = ("" if hit.score is None else f"{hit.score:.2f}  ", "bold cyan")
    title = Text(hit.title, style="bold")
    texts = [Text(f"{' ' * INDENT}{text}") for text in shown_of(hit)]
    for line in (title, *texts):
        line.highlight_words([*hit.words, *hit.in_title], style="underline", case_sensitive=False)
    lines = [Text.assemble(rank, score, title), *texts]
    if why := told_why(hit.why):
        lines.append(Text(f"    Why: {why}", style="italic"))
    told = hit.told
    about = [*told.statutes, told.date, told.by, hit.doc_id]
    lines.append(Text(f"    {' · '.join(filter(None, about))}", style="dim"))
    if explain:
        lines += [Text(f"      {reason}", style="dim") for reason in _why(hit)]
    return [*(Hanging(line, INDENT) for line in lines), Text()]


def shown_of(hit: FoundDocument) -> list[str]:
    """The answer first, then what was asked, then the passage where it says more of the question
    than they do; the passage alone where there is neither. Last, a question like the one asked that
    the document is known to answer: of what is less likely, this alone."""
    told = hit.told
    if hit.less_likely:
        return [f"Answers: {told.answers}"] if told.answers else []
    shown = [told.answer, f"Asked: {told.question}" if told.question else ""]
    said = " ".join(shown).casefold()
    says_more = any(word not in said for word in hit.words)
    if hit.snippet and (not said.strip() or says_more):
        bare = hit.snippet.removesuffix(" …").casefold()
        repeated = bare in said or bare.startswith(told.question[:SAME].casefold() or "\0")
        shown.append("" if repeated else hit.snippet)
    shown.append(f"Answers: {told.answers}" if told.answers else "")
    return [text for text in shown if text]


SAME = 80  # letters in which a passage begins like the question that stands there already
# a signal of the engine, what it says, and from where on it says some and much of it
SIGNALS = {
    "full": ("words of the question stand in the text", 0.4, 0.8),
    "coverage": ("words of the question stand in the text", 0.4, 0.8),
    "attained": ("the rarer words of the question are there", 0.4, 0.8),
    "short": ("its question and answer use the same words", 0.4, 0.8),
    "dense": ("its meaning is close", 0.3, 0.5),
    "asked": ("people ask for it in such words", 0.5, 1.0),
    "citation": ("it cites or is the provision named in the question", 0.3, 0.9),
    "named": ("it is what the question names", 0.1, 0.5),
    "act": ("the act is about this", 0.3, 0.6),
    "subject": ("the question names what the act is about", 0.5, 1.0),
    "feedback": ("it is like the other first hits", 0.6, 0.9),
    "close": ("the words stand close together", 0.4, 0.8),
}


def _why(hit: FoundDocument) -> list[str]:
    """What put a hit there, one reason a line, with how strongly."""
    reasons = [f"words in common: {', '.join(hit.words[:8])}"] if hit.words else []
    reasons += [f"citations in common: {', '.join(hit.citations)}"] if hit.citations else []
    for signal, (says, some, much) in SIGNALS.items():
        value = hit.signals.get(signal, 0.0)
        if value >= some:
            strength = "strongly" if value >= much else "somewhat"
            reasons.append(f"{says}: {strength} ({value:.2f})")
    return reasons or ["nothing says much for it; it is the nearest there is"]


def citations_table(citations: Sequence[Resolved]) -> RenderableType:
    table = headed("span", "text", "normal form", "status", "target or reason")
    for row in citations:
        cited, more = row.citation, len(row.targets) - SHOWN_TARGETS
        named = [_with_status(target, row) for target in row.targets[:SHOWN_TARGETS]]
        target = ", ".join(named) + (f" +{more}" if more > 0 else "")
        if row.status != "resolved":
            target = f"{row.reason}{'; candidates: ' + target if target else ''}"
        span = f"{cited.start}–{cited.end}"
        table.add_row(span, cited.text, cited.normal, row.status, target or row.reason)
    return table


def _with_status(target: str, row: Resolved) -> str:
    """A document, and why it does not hold, in the language of the citation."""
    mark = mark_of(row.not_in_force.get(target, ""), row.citation.language)
    return f"{target} ({mark})" if mark else target


# ── gold sets ─────────────────────────────────────────────────────────────────────────────────────


def stats_table(picture: GoldPicture) -> RenderableType:
    """The picture of a gold set: queries by topic and type, judgments by grade, and how they spread
    over queries."""
    judged = picture.judged_per_query
    spread = f"min {judged.min}, median {judged.median}, max {judged.max}"
    size = f"  {picture.queries} queries, {picture.judgments:,} judgments"
    rubric = f"rubric {picture.rubric or 'not named'}"
    about = f"{size}, {rubric}, {picture.rationales:.0%} with a rationale"
    grades = plain()
    for grade, count in picture.grades.items():
        share = count / max(picture.judgments, 1)
        bar = Text("█" * round(share * 40), style="cyan")
        grades.add_row(f"grade {grade}", str(count), bar, f"{share:.0%}")
    note = [Text(f"Gold set {picture.note}.", style="yellow")] if picture.note else []
    return Group(
        Text.assemble((picture.name, "bold"), about),
        *note,
        Text(),
        _topics_by_type(picture),
        Text(),
        grades,
        Text(f"judged per query: {spread}", style="dim"),
        *_rubric_versions(picture),
    )


def _rubric_versions(picture: GoldPicture) -> list[Text]:
    """Nothing where no judge said which rubric was used."""
    used = picture.rubric_versions
    if not any(used):
        return []
    listed = ", ".join(f"{name or 'not said'} ({count:,})" for name, count in used.items())
    return [Text(f"judged under: {listed}", style="dim")]


def _topics_by_type(picture: GoldPicture) -> RenderableType:
    types = list(picture.types) or [""]
    grid = headed("queries by topic", right=[name or "no type" for name in types])
    grid.add_column("all", justify="right", style="bold")
    for topic, row in picture.topics.items():
        counts = [str(row.get(name, 0)) for name in types]
        grid.add_row(topic or "no topic", *counts, str(sum(row.values())))
    totals = [str(picture.types.get(name, 0)) for name in types]
    grid.add_row("all", *totals, str(picture.queries), style="bold")
    return grid


def decision_page(decision: Decision, limit: int) -> RenderableType:
    """How sure the decision is, and the judgments that would settle it soonest."""
    what = "the change" if decision.systems == 2 else "the distance"
    of = f"of {decision.measure}" + (f" from {decision.threshold:g}" if decision.threshold else "")
    spread = f"{decision.expected:+.4f} ± {decision.deviation:.4f}"
    sure = "more than 99%" if decision.confidence > 0.99 else f"{decision.confidence:.0%}"
    head = Text(
        f"With all results judged, {what} {of} is expected at {spread}; its sign is {sure} certain."
    )
    if not decision.pairs:
        return Group(head, Text("No unjudged document could change it.", style="green"))
    need = f"That is enough: {decision.level:.0%} is required. These would narrow it most."
    if decision.first:
        needed = Sentences(Words("en")).judgments_needed(decision.needed, first=True)
        head = Text(f"{needed}.")
        need = "After that, the decision can be predicted."
    elif decision.needed:
        count = counted(decision.needed, "judgment")
        need = f"About {count}, in this order, should make it {decision.level:.0%} certain."
    table = headed("query", "document", "rank A", "rank B", "narrows by")
    for pair in decision.pairs[:limit]:
        ranks = [str(rank) if rank else "–" for rank in (pair.rank_a, pair.rank_b)]
        table.add_row(pair.query_id, pair.doc_id, *ranks, f"{pair.narrowing:.1%}")
    return Group(head, Text(need, style="dim"), Text(), table)

"""Reports on checked answers: the terminal card, HTML, Markdown, JUnit and CSV, and the comparison
of two runs. How much could not be checked comes first, beside what could."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from markupsafe import escape

from assay.answers.measures import (
    AUTHORITIES,
    MEASURES,
    SHARES,
    AnswerChange,
    faults_of,
)
from assay.core.errors import InputError
from assay.core.results import AnswerNote, AnswerResults
from assay.core.types import counted
from assay.formats.spreadsheet import guarded_row
from assay.reports.junit import NOT_XML
from assay.reports.wording import Sentences
from assay.reports.words import Words

HEADLINE_SHARE = "faultless"  # the share of answers without a fault: every answer has a value
NO_SPAN = (None, None)
CARD_FAULTS = 30  # faults on a card; the results file has all; taste
TOTALS = ("answers", "refused", "citations", "citations_checked", "quotes", "figures")


def coverage_line(results: AnswerResults, words: Words) -> str:
    """The first sentence of every report: how many citations could not be checked, and why."""
    citations = int(results.overall["citations"] or 0)
    unchecked = citations - int(results.overall["citations_checked"] or 0)
    if not citations:
        return words("answers.no_citations")
    if not unchecked:
        return words("answers.all_checked", citations=citations)
    why = ", ".join(
        words(f"answers.why_{reason}", n=n)
        for reason, n in results.unchecked.items()
        if reason != "too_short"
    )
    return words("answers.unchecked_first", n=unchecked, citations=citations, why=why)


def figure_rows(results: AnswerResults, words: Words) -> list[tuple[str, str]]:
    """Every total and measure with its value, and the interval of a share."""
    rows = []
    for name in (*TOTALS, *MEASURES):
        value = results.overall.get(name)
        if name in AUTHORITIES and not results.authorities:
            continue
        if name not in (*SHARES, *AUTHORITIES):
            rows.append((words(f"answers.{name}"), f"{int(value or 0)}"))
            continue
        text = "–" if value is None else f"{value:.3f}"
        low, high = results.intervals.overall.get(name, (None, None))
        if low is not None and high is not None:
            text += f" [{low:.3f}, {high:.3f}]"
        rows.append((words(f"answers.{name}"), text))
    return rows


def headline(results: AnswerResults) -> str:
    """The figure that a check is known by, with its interval, in English."""
    value, (low, high) = (
        results.overall[HEADLINE_SHARE],
        results.intervals.overall.get(HEADLINE_SHARE, NO_SPAN),
    )
    asked = int(results.overall["answers"] or 0)
    shown = "–" if value is None else f"{value:.3f}"
    between = "" if low is None or high is None else f" ({low:.3f} to {high:.3f})"
    return f"{HEADLINE_SHARE} {shown}{between}, {counted(asked, 'answer')}"


def fault_rows(results: AnswerResults, words: Words) -> list[tuple[str, str, str, str]]:
    """Each fault: the answer, what was found, in which words, and why."""
    return [_fault(note, words) for note in _faults(results)]


def check_rows(results: AnswerResults, words: Words) -> list[tuple[str, str]]:
    """Each gate: its status, and what it found in words."""
    sentences = Sentences(words)
    checks = results.verdict.checks if results.verdict else ()
    return [(check.status, sentences.check(check)) for check in checks]


def _faults(results: AnswerResults) -> list[AnswerNote]:
    return [note for notes in faults_of(results).values() for note in notes]


def _fault(note: AnswerNote, words: Words) -> tuple[str, str, str, str]:
    return note.id, words(f"answers.fault_{note.value}"), note.text, reason_of(note, words)


def reason_of(note: AnswerNote, words: Words) -> str:
    """The reason behind a finding, in the language of a report."""
    return words(f"answers.reason_{note.why}", **note.facts) if note.why else note.reason


def card(results: AnswerResults, language: str = "en") -> Any:
    """The terminal card."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    words = Words(language)
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in figure_rows(results, words):
        table.add_row(name, value)
    parts: list[Any] = [
        Text(words("answers.title", name=results.engine), style="bold"),
        Text(coverage_line(results, words)),
        table,
    ]
    faults = _faults(results)
    if not faults:
        parts.append(Text(words("answers.no_faults")))
    for note in faults[:CARD_FAULTS]:
        id, what, text, reason = _fault(note, words)
        line = Text(f"{id}  ", style="bold")
        line.append(what, style="red")
        line.append(f"  {text[:80]}")
        line.append(f"  {reason[:160]}" if reason else "", style="dim")
        parts.append(line)
    if len(faults) > CARD_FAULTS:
        parts.append(Text(words("answers.more", n=len(faults) - CARD_FAULTS), style="dim"))
    for check in results.verdict.checks if results.verdict else ():
        style = {"pass": "green", "fail": "red"}.get(check.status, "yellow")
        status = words(f"statuses.{check.status}")
        parts.append(Text(f"{status}: {Sentences(words).check(check)}", style=style))
    return Group(*parts)


def render(results: AnswerResults, suffix: str, language: str = "en") -> str:
    """A report in the format of a file's ending."""
    words = Words(language)
    formats = {".html": _html, ".md": _markdown, ".xml": _junit, ".csv": _csv}
    if suffix not in formats:
        raise InputError(
            f"a report on answers has no format {suffix!r}", hint=f"Known: {', '.join(formats)}."
        )
    return formats[suffix](results, words)


def _markdown(results: AnswerResults, words: Words) -> str:
    lines = [f"## {_cell(words('answers.title', name=results.engine))}", ""]
    lines += [_cell(coverage_line(results, words)), ""]
    lines += [f"| {words('answers.measure')} | {words('answers.value')} |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in figure_rows(results, words)]
    if results.verdict:
        lines += ["", f"### {words('answers.gates')}", ""]
        lines += [
            f"- **{words(f'statuses.{status}')}**: {_cell(sentence)}"
            for status, sentence in check_rows(results, words)
        ]
    lines += ["", f"### {words('answers.faults')}", ""]
    faults = fault_rows(results, words)
    if not faults:
        lines.append(words("answers.no_faults"))
    else:
        heads = [words(f"answers.{key}") for key in ("answer", "finding", "text", "reason")]
        lines += [f"| {' | '.join(heads)} |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in faults]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    plain = " ".join(text.split())
    return str(escape(plain)).replace("|", "\\|").replace("`", "\\`").replace("*", "\\*")


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}table{border-collapse:collapse;margin:1rem 0}"
    "td,th{padding:.3rem .6rem;text-align:start;border-bottom:1px solid #ccc;vertical-align:top}"
    ".fail{color:#a40000}.pass{color:#00611c}.inconclusive{color:#6b4e00}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#16181b}td,th{border-color:#444}"
    ".fail{color:#ff9d9d}.pass{color:#8fe3a5}.inconclusive{color:#f0cf7a}}"
)


def _html(results: AnswerResults, words: Words) -> str:
    title = escape(words("answers.title", name=results.engine))
    rows = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in figure_rows(results, words)
    )
    checks = "".join(
        f"<li class={status}>{escape(words(f'statuses.{status}'))}: {escape(sentence)}</li>"
        for status, sentence in check_rows(results, words)
    )
    heads = "".join(
        f"<th scope=col>{escape(words(f'answers.{key}'))}</th>"
        for key in ("answer", "finding", "text", "reason")
    )
    faults = "".join(
        "<tr>" + "".join(f"<td>{escape(part)}</td>" for part in row) + "</tr>"
        for row in fault_rows(results, words)
    )
    table = f"<table><tr>{heads}</tr>{faults}</table>" if faults else ""
    gates = f"<h2>{escape(words('answers.gates'))}</h2><ul>{checks}</ul>" if checks else ""
    nothing = "" if faults else f"<p>{escape(words('answers.no_faults'))}</p>"
    return (
        f'<!doctype html>\n<html lang="{words.language}" dir="{words.direction}">'
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style><main><h1>{title}</h1>"
        f"<p>{escape(coverage_line(results, words))}</p><table>{rows}</table>{gates}"
        f"<h2>{escape(words('answers.faults'))}</h2>{table}{nothing}</main></html>\n"
    )


def _junit(results: AnswerResults, words: Words) -> str:
    """A test case for each gate and each answer. Where gates were set, they decide, and a fault
    that no gate fails for is skipped with its reason."""
    suite = ElementTree.Element("testsuite", name=_xml(results.engine))
    tags = {"fail": "failure", "inconclusive": "error"}
    for check in results.verdict.checks if results.verdict else ():
        case = ElementTree.SubElement(suite, "testcase", classname="gates", name=check.title)
        if tag := tags.get(check.status):
            ElementTree.SubElement(case, tag, message=_xml(Sentences(words).check(check)))
    faults = faults_of(results)
    passes = results.verdict is not None and results.verdict.status == "pass"
    for entry in results.per_answer:
        case = ElementTree.SubElement(suite, "testcase", classname="answers", name=_xml(entry.id))
        if notes := faults.get(entry.id):
            message = "; ".join(f"{_fault(note, words)[1]}: {note.text[:120]}" for note in notes)
            tag = "skipped" if passes else "failure"
            ElementTree.SubElement(case, tag, message=_xml(message))
    suite.set("tests", str(len(suite)))
    for total, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(total, str(len(suite.findall(f"testcase/{tag}"))))
    ElementTree.indent(suite, space="")
    body = ElementTree.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _xml(text: str) -> str:
    return NOT_XML.sub("�", text)


def _csv(results: AnswerResults, words: Words) -> str:
    """A line for every citation, quotation and figure; a cell never begins a formula."""
    reasons = {(note.id, note.start, note.check): note.reason for note in results.notes}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    checks = "exists name pinpoint retrieved in_force"
    writer.writerow(f"answer what start end text {checks} status source reason".split())
    for entry in results.per_answer:
        rows: list[tuple[object, ...]] = []
        for citation in entry.citations:
            found = (
                citation.exists,
                citation.name,
                citation.pinpoint,
                citation.retrieved,
                citation.in_force,
            )
            found_reasons = (
                reasons.get((entry.id, citation.start, check)) for check in checks.split()
            )
            why = "; ".join(reason for reason in found_reasons if reason)
            at = (citation.kind, citation.start, citation.end, citation.text)
            rows.append((*at, *found, "", " ".join(citation.targets[:3]), why))
        for quote in entry.quotes:
            place = ("quote", quote.start, quote.end, quote.text, *[""] * 5)
            rows.append((*place, quote.status, quote.source, quote.diff))
        for figure in entry.figures:
            place = ("figure", figure.start, figure.end, figure.text, *[""] * 5)
            rows.append((*place, figure.status, "", ""))
        writer.writerows(guarded_row((entry.id, *row)) for row in rows)
    return out.getvalue()


def change_table(changes: Sequence[AnswerChange]) -> Any:
    """A table of two answer runs side by side, with the interval of each change."""
    from rich.table import Table

    words = Words("en")
    table = Table(box=None, pad_edge=False)
    for key in ("measure", "before", "after", "change"):
        table.add_column(words(f"answers.{key}"))
    table.add_column(words("interval"))
    table.add_column("p")
    for change in changes:
        bounds = "–" if change.low is None else f"[{change.low:+.3f}, {change.high:+.3f}]"
        style = "" if change.p > 0.05 else "bold"
        table.add_row(
            words(f"answers.{change.measure}"),
            f"{change.a:.3f}",
            f"{change.b:.3f}",
            f"{change.difference:+.3f}",
            bounds,
            f"{change.p:.3f}",
            style=style,
        )
    return table

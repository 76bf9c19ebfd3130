"""A report as a JUnit file, for the CI systems that show them: gates and queries as test cases.

A gate that counts and cannot be told is an error, not a skipped test: CI shows skipped tests in
green. With other results to compare with, a system that is worse fails and one that cannot be told
yet is skipped. Without gates or other results a graded set cannot fail, and a skipped test says so.
A query that found something relevant before and finds nothing now fails, and so does a question
that passed before. Any other question that does not pass fails where the gates fail; where they do
not it is skipped and says why: the file is as red as the exit code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from assay.reports.shapes import CheckLine, ComparisonAnswer, ReportQuery, ReportView

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TOTALS = {"failures": "failure", "errors": "error", "skipped": "skipped"}  # attributes, elements
GATES = {"fail": "failure", "inconclusive": "error"}
NO_GATE = "no gate is set"
UNDECIDED = "Nothing here can fail: set [[gates]] in assay.toml, or compare with other results."
ALLOWED = "not passed, and no gate fails for it"
ANSWERS = {"worse": "failure", "open": "skipped"}


def render(report: ReportView) -> str:
    suite = ElementTree.Element("testsuite", name=_text(report.engine))
    names = _distinct([_gate_name(check, report) for check in report.checks])
    for check, name in zip(report.checks, names, strict=True):
        _add_gate(suite, check, name, report)
    for system, answer in zip(_systems(report), report.answers, strict=True):
        _add_answer(suite, system, answer)
    if report.kind == "graded" and not len(suite):
        case = ElementTree.SubElement(suite, "testcase", classname="gates", name=NO_GATE)
        ElementTree.SubElement(case, "skipped", message=UNDECIDED)
    broke = {turned.query_id for turned in report.changes.broke} if report.changes else set()
    for line in report.queries:
        lost = _lost_value(report, line) or line.query_id in broke
        _add_query(suite, line, lost, fails=report.status in ("fail", None))
    suite.set("tests", str(len(suite)))
    for total, tag in TOTALS.items():
        suite.set(total, str(len(suite.findall(f"testcase/{tag}"))))
    if report.standing and report.kind == "graded":
        properties = ElementTree.Element("properties")
        ElementTree.SubElement(
            properties, "property", name="gold set", value=_text(report.standing)
        )
        suite.insert(0, properties)
    ElementTree.indent(suite, space="")
    body = ElementTree.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _gate_name(check: CheckLine, report: ReportView) -> str:
    """The name of a gate with its limit, since two gates may be on one measure."""
    if report.kind == "golden":
        return f"gate {check.title}"
    return f"{check.title}: {check.limit}" if check.limit else check.title


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with repeated ones numbered: CI systems keep one test case of each name."""
    seen = Counter[str]()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return found


def _systems(report: ReportView) -> list[str]:
    if report.comparison is None:
        return [f"{report.engine} against {report.changes.baseline}"] if report.changes else []
    head, base = report.comparison.headline, report.comparison.baseline
    return [f"{head}: {system} against {base}" for system in report.comparison.systems]


def _add_answer(suite: ElementTree.Element, name: str, answer: ComparisonAnswer) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname="comparison", name=_text(name))
    sentence = f"{answer.text}. {answer.change}"
    if answer.verdict in ANSWERS:
        ElementTree.SubElement(case, ANSWERS[answer.verdict], message=_text(sentence))
    ElementTree.SubElement(case, "system-out").text = _text("\n".join((sentence, *answer.notes)))


def _lost_value(report: ReportView, line: ReportQuery) -> bool:
    """Whether a query of a graded set had a value in the measure that decides, and has none now."""
    before = report.before.get(line.query_id, {}).get(report.deciding)
    return bool(before) and line.values.get(report.deciding) == 0


def _add_gate(suite: ElementTree.Element, check: CheckLine, name: str, report: ReportView) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname="gates", name=_text(name))
    if check.status in GATES:
        tag = GATES[check.status] if check.counts else "skipped"
        ElementTree.SubElement(case, tag, message=_text(check.message))
    if report.proviso:
        ElementTree.SubElement(case, "system-out").text = _text(report.proviso)


def _add_query(suite: ElementTree.Element, line: ReportQuery, broke: bool, *, fails: bool) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_group(line), name=_text(line.query_id)
    )
    if line.latency_ms is not None or line.outcome is None:
        case.set("time", f"{(line.latency_ms or 0) / 1000:.6f}")
    if line.error:
        ElementTree.SubElement(case, "error", message=_text(line.error))
    elif line.outcome is None and all(value is None for value in line.values.values()):
        ElementTree.SubElement(case, "skipped", message=_text(line.reason))
    elif line.outcome and not line.outcome.entry.passed:
        if broke or fails:
            reason = f"{line.reason}; it passed before" if broke else line.reason
            ElementTree.SubElement(case, "failure", message=_text(reason))
        else:
            message = _text(f"{ALLOWED}: {line.reason}")
            ElementTree.SubElement(case, "skipped", message=message)
    elif broke:
        gone = "nothing relevant is found any more"
        ElementTree.SubElement(case, "failure", message=gone)


def _group(line: ReportQuery) -> str:
    if line.outcome is None:
        return "queries"
    if line.outcome.is_variant:
        return "variants"
    return "MUST" if line.outcome.entry.must else "SHOULD"


def _text(text: str) -> str:
    """Characters that XML cannot hold, such as those of terminal colours, become �."""
    return NOT_XML.sub("\ufffd", text)

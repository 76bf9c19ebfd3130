"""A report as a JUnit file, for the CI systems that show them: gates and queries as test cases."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from assay.reports.shapes import CheckLine, QueryLine, ReportView

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TOTALS = {"failures": "failure", "errors": "error", "skipped": "skipped"}  # attributes, elements
GATES = {"fail": "failure", "inconclusive": "skipped"}


def render(report: ReportView) -> str:
    suite = ElementTree.Element("testsuite", name=_text(report.engine))
    for check in report.checks:
        _add_gate(suite, check, report)
    for line in report.queries:
        _add_query(suite, line)
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


def _add_gate(suite: ElementTree.Element, check: CheckLine, report: ReportView) -> None:
    name = f"gate {check.title}" if report.kind == "golden" else check.title
    case = ElementTree.SubElement(suite, "testcase", classname="gates", name=_text(name))
    if check.status in GATES:
        ElementTree.SubElement(case, GATES[check.status], message=_text(check.message))
    if report.proviso:
        ElementTree.SubElement(case, "system-out").text = _text(report.proviso)


def _add_query(suite: ElementTree.Element, line: QueryLine) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_group(line), name=_text(line.query_id)
    )
    if line.latency_ms is not None or line.outcome is None:
        case.set("time", f"{(line.latency_ms or 0) / 1000:.6f}")
    if line.error:
        ElementTree.SubElement(case, "error", message=_text(line.error))
    elif line.outcome is None and all(value is None for value in line.values.values()):
        ElementTree.SubElement(case, "skipped", message=_text(line.reason))
    elif line.outcome and not line.outcome.passed:
        ElementTree.SubElement(case, "failure", message=_text(line.reason))


def _group(line: QueryLine) -> str:
    if line.outcome is None:
        return "queries"
    if line.outcome.is_variant:
        return "variants"
    return "MUST" if line.outcome.must else "SHOULD"


def _text(text: str) -> str:
    """Characters that XML cannot hold, such as those of terminal colours, become �."""
    return NOT_XML.sub("\ufffd", text)

"""A results object as a file for others: one-file HTML, Markdown for a pull request, JUnit, CSV, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from html import escape
from importlib import resources
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec

from assay.errors import InputError
from assay.types import standing_line

HEADINGS = {"type": "By query type", "topic": "By topic", "category": "By category", "corpus": "By corpus",
            "practice_area": "By practice area", "language": "By language"}  # fmt: skip

Results = Mapping[str, Any]


def export(results: Results, suffix: str, comparison: Mapping[str, Any] | None = None) -> str:
    """The file's text; `suffix` (.html, .md, .xml, .csv, .tex) picks the format."""
    if suffix not in FORMATS:
        raise InputError(f"unknown report format {suffix!r}", hint=f"Known: {', '.join(FORMATS)}.")
    return FORMATS[suffix](results, comparison)


def _title(line: Mapping[str, Any]) -> str:
    return "MRR" if line["key"] == "mrr" else str(line["measure"])


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}"


def _span(bounds: list[float | None] | None) -> str:
    if not bounds or bounds[0] is None or bounds[1] is None:
        return "too few queries for an interval"
    return f"{bounds[0]:.3f} to {bounds[1]:.3f}"


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def html(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    """One self-contained page: no network, light and dark, printable."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"dec": _decimal, "signed": _signed, "span": _span, "gradeclass": _grade_class}
    source = (resources.files("assay") / "pages" / "report.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source).render(**_page(results, comparison))


def _page(results: Results, comparison: Mapping[str, Any] | None) -> dict[str, Any]:
    receipt = results["receipt"]
    kinds = [key.removeprefix("by_") for key in results if key.startswith("by_") and results[key]]
    unjudged = receipt.get("unjudged", {})
    shown = unjudged.get("nDCG@10") or next(iter(unjudged.values()), None)
    cutoffs = {line["measure"]: line["cutoff"] for line in receipt["measures"]}
    queries = [
        {"query_type": "", "query_topic": "", "reason": "", **entry,
         "hits": list(zip(entry["results"][:20], entry["grades"][:20], strict=True))}
        for entry in results["per_query"]
    ]  # fmt: skip
    head = None
    if comparison:
        head = next(row for row in comparison["differences"] if row["measure"] == comparison["headline"])
    return {
        "engine": results["engine"], "timestamp": results["timestamp"], "overall": results["overall"],
        "gold": receipt["gold"], "standing": standing_line(receipt["gold"]),
        "counts": receipt["counts"], "measures": receipt["measures"], "n": receipt["n"],
        "bounds": results["intervals"], "delta": results.get("baseline", {}).get("delta", {}),
        "verdict": results.get("verdict"), "latency": receipt.get("latency_ms"), "receipt": receipt,
        "slice_kinds": [(kind, HEADINGS.get(kind, f"By {kind}")) for kind in kinds],
        "slices": {kind: results[f"by_{kind}"] for kind in kinds},
        "shown_unjudged": shown, "shown_cutoff": cutoffs.get(shown["measure"] if shown else "") or "list",
        "forest": _forest(results), "queries": queries, "comparison": comparison, "head": head,
        "receipt_json": msgspec.json.format(msgspec.json.encode(receipt), indent=2).decode(),
    }  # fmt: skip


def _grade_class(grade: int | None) -> str:
    return "" if grade is None else f"g{min(max(grade, 0), 2)}"


def _forest(results: Results) -> str:
    """Every measure as a dot on a line from 0 to 1, with its interval and the baseline's tick."""
    lines, row_height, left, width = results["receipt"]["measures"], 26, 110, 560
    height = row_height * len(lines) + 24
    delta = results.get("baseline", {}).get("delta", {})
    parts = [f'<svg viewBox="0 0 {left + width + 90} {height}" role="img" width="100%" style="max-width:48rem" '
             'aria-label="Mean and 95% interval of each measure">']  # fmt: skip
    for tick in range(0, 11, 2):
        x = left + width * tick / 10
        parts.append(f'<line x1="{x}" y1="4" x2="{x}" y2="{height - 20}" stroke="var(--line)"/>')
        parts.append(f'<text class="soft" x="{x}" y="{height - 4}" text-anchor="middle">{tick / 10:g}</text>')
    for row, line in enumerate(lines):
        y = 14 + row * row_height
        value, (low, high) = results["overall"][line["key"]], results["intervals"]["overall"][line["key"]]
        parts.append(f'<text x="{left - 12}" y="{y + 5}" text-anchor="end">{escape(_title(line))}</text>')
        if value is None:
            continue
        if low is not None and high is not None:
            parts.append(f'<line x1="{left + width * low:.1f}" y1="{y}" x2="{left + width * high:.1f}" y2="{y}" '
                         'stroke="var(--dot)" stroke-width="3" stroke-linecap="round" opacity=".55"/>')  # fmt: skip
        if line["key"] in delta:
            x = left + width * (value - delta[line["key"]])
            parts.append(
                f'<line x1="{x:.1f}" y1="{y - 8}" x2="{x:.1f}" y2="{y + 8}" stroke="var(--fg)" stroke-width="2"/>'
            )
        parts.append(f'<circle cx="{left + width * value:.1f}" cy="{y}" r="6" fill="var(--dot)"/>'
                     f'<text x="{left + width + 14}" y="{y + 5}">{value:.3f}</text>')  # fmt: skip
    return "".join(parts) + "</svg>"


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def markdown(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    """Short enough for a pull-request comment."""
    receipt, lines = results["receipt"], results["receipt"]["measures"]
    delta = results.get("baseline", {}).get("delta", {})
    verdict = results.get("verdict")
    out = [f"### {verdict['status'].upper()}: " if verdict else "### "]
    out[0] += f"{results['engine']} on {receipt['gold']['name']}"
    out += ["", f"{receipt['counts']['n_scored']} of {receipt['counts']['n_expected']} queries scored.", ""]
    if note := standing_line(receipt["gold"]):
        out += [f"Gold set {note}.", ""]
    if verdict:
        out += [f"- **{check['status'].upper()}** {check['message']}" for check in verdict["checks"]] + [""]
    out += ["| measure | value | 95% interval |" + (" vs baseline |" if delta else "")]
    out += ["|---|---:|---:|" + ("---:|" if delta else "")]
    for line in lines:
        row = f"| {_title(line)} | {_decimal(results['overall'][line['key']])} "
        row += f"| {_span(results['intervals']['overall'][line['key']])} |"
        out.append(row + (f" {_signed(delta.get(line['key']))} |" if delta else ""))
    if comparison:
        out += ["", f"Against {comparison['baseline']}, queries that moved most ({comparison['headline']}):", ""]
        out += [f"- {row['query_id']} {row['value'] - row['baseline']:+.3f}" for row in comparison["moved"][:5]]
    return "\n".join(out) + "\n"


def eval_report(results: Results) -> str:
    """The report that goes with a change: every measure overall and by slice, each with its change against the
    baseline."""
    receipt = results["receipt"]
    gold, counts, baseline = receipt["gold"], receipt["counts"], results.get("baseline", {})
    out = [f"# Evaluation of {results['timestamp'][:10]}: {results['engine']} on {gold['name']}", ""]
    if note := standing_line(gold):
        out += [f"**Gold set {note}.**", ""]
    out += [f"{counts['n_scored']} of {counts['n_expected']} queries scored"
            + (f", {counts['n_failed']} failed" if counts["n_failed"] else "")
            + (f", {counts['n_missing']} missing (scored 0)" if counts["n_missing"] else "") + ".", ""]  # fmt: skip
    out += [_baseline_line(baseline), ""]
    out += ["## Overall", "", *_measure_table([("Overall", receipt["n"]["overall"], results["overall"],
                                                baseline.get("delta", {}))], receipt["measures"]), ""]  # fmt: skip
    for key in [key for key in results if key.startswith("by_") and results[key]]:
        kind = key.removeprefix("by_")
        rows = [(name, receipt["n"][key][name], means, baseline.get(key, {}).get(name, {}))
                for name, means in results[key].items()]  # fmt: skip
        out += [f"## {HEADINGS.get(kind, f'By {kind}')}", "", *_measure_table(rows, receipt["measures"]), ""]
    if baseline:
        out += ["In brackets: the change against the baseline.", ""]
    commit = (receipt.get("git") or {}).get("commit", "")
    out += [f"Gold set {gold['fingerprint'][:12]}" + (f", commit {commit[:12]}" if commit else "") + ".", ""]
    return "\n".join(out)


def _baseline_line(baseline: Mapping[str, Any]) -> str:
    if not baseline:
        return "No baseline was given."
    recorded = baseline.get("recorded") or {}
    by = f", recorded {recorded['at'][:10]} by {recorded['by']}" if recorded.get("at") else ""
    by += f" ({recorded['why']})" if recorded.get("why") else ""
    standing = f", {baseline['gold_status']}" if baseline.get("gold_status") else ""
    stale = " It was scored on another version of the gold set." if baseline.get("stale") else ""
    return f"Baseline {baseline['path']}{by}{standing}.{stale}"


def _measure_table(
    rows: list[tuple[str, int, Mapping[str, Any], Mapping[str, float]]], lines: list[Mapping[str, Any]]
) -> list[str]:
    out = ["| | n | " + " | ".join(map(_title, lines)) + " |", "|---|---:|" + "---:|" * len(lines)]
    for name, n, means, delta in rows:
        cells = [
            _decimal(means[line["key"]]) + (f" ({_signed(delta[line['key']])})" if line["key"] in delta else "")
            for line in lines
        ]
        label = name.replace("|", "\\|").replace("\n", " ")
        out.append(f"| {label} | {n} | " + " | ".join(cells) + " |")
    return out


# ── JUnit, CSV, LaTeX ────────────────────────────────────────────────────────────────────────────────────────────────


def junit(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    """Gates and failed queries as test cases, for the CI systems that show JUnit files."""
    checks = results.get("verdict", {}).get("checks", [])
    cases = []
    for check in checks:
        name = check["gate"]["name"] or f"{check['gate']['measure']} {check['gate']['slice']}"
        inner = ""
        if check["status"] == "fail":
            inner = f"<failure message={quoteattr(check['message'])}/>"
        elif check["status"] == "inconclusive":
            inner = f"<skipped message={quoteattr(check['message'])}/>"
        cases.append(f'<testcase classname="gates" name={quoteattr(name)}>{inner}</testcase>')
    for entry in results["per_query"]:
        error = f"<error message={quoteattr(str(entry['error']))}/>" if entry.get("error") else ""
        seconds = (entry.get("latency_ms") or 0) / 1000
        cases.append(f"<testcase classname=\"queries\" name={quoteattr(entry['query_id'])} "
                     f"time=\"{seconds:.6f}\">{error}</testcase>")  # fmt: skip
    failures = sum(check["status"] == "fail" for check in checks)
    skipped = sum(check["status"] == "inconclusive" for check in checks)
    errors = sum(bool(entry.get("error")) for entry in results["per_query"])
    head = (f"<testsuite name={quoteattr(str(results['engine']))} tests=\"{len(cases)}\" failures=\"{failures}\" "
            f"errors=\"{errors}\" skipped=\"{skipped}\">")  # fmt: skip
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"


def by_query_csv(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    keys = [line["key"] for line in results["receipt"]["measures"]]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["query_id", "query_text", "query_type", "query_topic", "num_results", *keys, "reason"])
    for entry in results["per_query"]:
        values = ["" if entry["metrics"][key] is None else repr(entry["metrics"][key]) for key in keys]
        fixed = [entry.get(name, "") for name in ("query_id", "query_text", "query_type", "query_topic", "num_results")]
        writer.writerow([*fixed, *values, entry.get("reason", "")])
    return stream.getvalue()


def latex(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    lines = results["receipt"]["measures"]
    rows = [
        f"{_tex(_title(line))} & {_decimal(results['overall'][line['key']])} & "
        f"{_tex(_span(results['intervals']['overall'][line['key']]))} \\\\"
        for line in lines
    ]
    caption = (
        f"{results['engine']} on {results['receipt']['gold']['name']} ({results['receipt']['n']['overall']} queries)"
    )
    head = ["\\begin{table}", "\\centering", "\\begin{tabular}{lrr}", "\\hline", "Measure & Mean & 95\\% interval \\\\",
            "\\hline"]  # fmt: skip
    return "\n".join([*head, *rows, "\\hline", "\\end{tabular}", f"\\caption{{{_tex(caption)}}}", "\\end{table}", ""])


def _tex(text: str) -> str:
    for character in "&%$#_{}":
        text = text.replace(character, f"\\{character}")
    return text.replace("–", "--")


FORMATS: dict[str, Callable[[Results, Mapping[str, Any] | None], str]] = {
    ".html": html,
    ".md": markdown,
    ".xml": junit,
    ".csv": by_query_csv,
    ".tex": latex,
}

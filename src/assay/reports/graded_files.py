"""Graded results as files for others."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.types import counted, standing_line
from assay.reports import drawings
from assay.reports.numbers import change_span, decimal, p_value, signed

HEADINGS = {
    "type": "By query type",
    "topic": "By topic",
    "category": "By category",
    "corpus": "By corpus",
    "practice_area": "By practice area",
    "language": "By language",
}

Results = Mapping[str, Any]


def _title(line: Mapping[str, Any]) -> str:
    return "MRR" if line["key"] == "mrr" else str(line["measure"])


# ── HTML ──────────────────────────────────────────────────────────────────────────────────────────


def html(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    receipt = results["receipt"]
    kinds = [key.removeprefix("by_") for key in results if key.startswith("by_") and results[key]]
    delta = results.get("baseline", {}).get("delta", {})
    bounds = results["intervals"]["overall"]
    rows = [
        {
            "title": _title(line),
            "key": key,
            "value": value,
            "bounds": bounds[key],
            "mark": drawings.range_mark(
                value, bounds[key], value - delta[key] if key in delta else None
            ),
        }
        for line in receipt["measures"]
        if (value := results["overall"][key := line["key"]]) is not None
    ]
    return drawings.render(
        "report.html.j2",
        engine=results["engine"],
        timestamp=results["timestamp"],
        overall=results["overall"],
        gold=receipt["gold"],
        standing=standing_line(receipt["gold"]),
        counts=receipt["counts"],
        measures=receipt["measures"],
        n=receipt["n"],
        bounds=results["intervals"],
        delta=delta,
        stale=results.get("baseline", {}).get("stale"),
        verdict=results.get("verdict"),
        judge_next=(results.get("verdict") or {}).get("judge_next"),
        receipt=receipt,
        rows=rows,
        slice_kinds=[(kind, HEADINGS.get(kind, f"By {kind}")) for kind in kinds],
        slices={kind: results[f"by_{kind}"] for kind in kinds},
        unjudged=[{"residual": None, **item} for item in receipt.get("unjudged", {}).values()],
        queries=[_query(entry) for entry in results["per_query"]],
        latency=drawings.latency(results["per_query"]),
        comparison=comparison and _compared(comparison),
        receipt_json=msgspec.json.format(msgspec.json.encode(receipt), indent=2).decode(),
    )


def _query(entry: Mapping[str, Any]) -> dict[str, Any]:
    hits = list(zip(entry["results"][:20], entry["grades"][:20], strict=True))
    return {
        "query_type": "",
        "query_topic": "",
        "reason": "",
        **entry,
        "hits": hits,
        "judged_share": judged_at_10(entry),
    }


def judged_at_10(entry: Mapping[str, Any]) -> float | None:
    top = entry["grades"][:10]
    return sum(grade is not None for grade in top) / len(top) if top else None


def _compared(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """The comparison with its drawings, and each system's answer in one sentence."""
    rows = comparison["differences"]
    reach = max(
        [
            abs(bound)
            for row in rows
            for bound in (row["low"], row["high"], row["difference"])
            if bound
        ]
        or [1.0]
    )
    drawn = [
        {**row, "mark": drawings.change_mark(row["difference"], row["low"], row["high"], reach)}
        for row in rows
    ]
    heads = [row for row in rows if row["measure"] == comparison["headline"]]
    said = [_answer(row, comparison["baseline"], len(rows)) for row in heads]
    return {**comparison, "differences": drawn, "answers": said, "heads": heads}


def _answer(row: Mapping[str, Any], before: str, tests: int) -> dict[str, str]:
    sure = row["p_holm"] <= 0.05
    if not sure:
        text = f"No proven difference between {row['system']} and {before}"
    else:
        text = f"{row['system']} is {'better' if row['difference'] > 0 else 'worse'} than {before}"
    between = change_span(row["low"], row["high"])
    change = (
        f"{row['measure']} {decimal(row['baseline'])} → {decimal(row['value'])} "
        f"({signed(row['difference'])}; 95% interval {between}; "
        f"p {p_value(row['p_holm'])} after correction over {tests} tests). "
        f"{counted(row['wins'], 'query')} better, {row['ties']} the same, {row['losses']} worse."
    )
    status = ("pass" if row["difference"] > 0 else "fail") if sure else "inconclusive"
    return {"text": text, "change": change, "status": status}


# ── Markdown ──────────────────────────────────────────────────────────────────────────────────────


def markdown(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    """Short enough for a pull-request comment."""
    receipt, lines = results["receipt"], results["receipt"]["measures"]
    delta = results.get("baseline", {}).get("delta", {})
    verdict = results.get("verdict")
    out = [f"### {verdict['status'].upper()}: " if verdict else "### "]
    out[0] += drawings.marked(f"{results['engine']} on {receipt['gold']['name']}")
    out += [
        "",
        f"{receipt['counts']['n_scored']} of {receipt['counts']['n_expected']} queries scored.",
        "",
    ]
    if note := standing_line(receipt["gold"]):
        out += [f"Gold set {note}.", ""]
    if verdict:
        out += [
            f"- **{check['status'].upper()}** {drawings.marked(check['message'])}"
            for check in verdict["checks"]
        ] + [""]
        out += _settling(verdict)
    if stale := results.get("baseline", {}).get("stale"):
        out += [f"**The baseline is stale:** {stale}.", ""]
    out += ["| measure | value | 95% interval |" + (" vs baseline |" if delta else "")]
    out += ["|---|---:|---:|" + ("---:|" if delta else "")]
    for line in lines:
        row = f"| {_title(line)} | {decimal(results['overall'][line['key']])} "
        row += f"| {drawings.span(results['intervals']['overall'][line['key']])} |"
        out.append(row + (f" {signed(delta.get(line['key']))} |" if delta else ""))
    if comparison:
        answers = _compared(comparison)["answers"]
        out += [
            "",
            *(f"**{drawings.marked(answer['text'])}.** {answer['change']}" for answer in answers),
        ]
        out += [
            line
            for warning in comparison["warnings"]
            for line in ("", f"**{drawings.marked(warning)}**")
        ]
        if any(
            row["could_flip"]
            for row in comparison["differences"]
            if row["measure"] == comparison["headline"]
        ):
            out += [
                "",
                "Judging the unjudged documents could turn this around; `assay gold next` says which.",
            ]
        before = drawings.marked(comparison["baseline"])
        out += ["", f"Against {before}, queries that moved most ({comparison['headline']}):", ""]
        out += [
            f"- {drawings.marked(row['query_id'])} {signed(row['value'] - row['baseline'])}"
            for row in comparison["moved"][:5]
        ]
    return "\n".join(out) + "\n"


def _settling(verdict: Mapping[str, Any]) -> list[str]:
    """What would settle an inconclusive verdict, in one line."""
    if "judge_next" not in verdict:
        return []
    pairs = [
        drawings.marked(f"{pair['query_id']} {pair['doc_id']}") for pair in verdict["judge_next"]
    ]
    if not pairs:
        return ["More queries would settle it, not more judgments.", ""]
    more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
    return [
        f"{counted(len(pairs), 'judgment')} would settle it, these first: {', '.join(pairs[:5])}{more}.",
        "",
    ]


def eval_report(results: Results) -> str:
    """The report that goes with a change: every measure overall and by slice, each with its change
    against the baseline."""
    receipt = results["receipt"]
    gold, counts, baseline = receipt["gold"], receipt["counts"], results.get("baseline", {})
    out = [
        f"# Evaluation of {results['timestamp'][:10]}: {results['engine']} on {gold['name']}",
        "",
    ]
    if note := standing_line(gold):
        out += [f"**Gold set {note}.**", ""]
    out += [
        f"{counts['n_scored']} of {counts['n_expected']} queries scored"
        + (f", {counts['n_failed']} failed" if counts["n_failed"] else "")
        + (f", {counts['n_missing']} missing (scored 0)" if counts["n_missing"] else "")
        + ".",
        "",
    ]
    out += [_baseline_line(baseline), ""]
    out += [
        "## Overall",
        "",
        *_measure_table(
            [("Overall", receipt["n"]["overall"], results["overall"], baseline.get("delta", {}))],
            receipt["measures"],
        ),
        "",
    ]
    for key in [key for key in results if key.startswith("by_") and results[key]]:
        kind = key.removeprefix("by_")
        rows = [
            (name, receipt["n"][key][name], means, baseline.get(key, {}).get(name, {}))
            for name, means in results[key].items()
        ]
        out += [
            f"## {HEADINGS.get(kind, f'By {kind}')}",
            "",
            *_measure_table(rows, receipt["measures"]),
            "",
        ]
    if baseline:
        out += ["In brackets: the change against the baseline.", ""]
    commit = (receipt.get("git") or {}).get("commit", "")
    out += [
        f"Gold set {gold['fingerprint'][:12]}"
        + (f", commit {commit[:12]}" if commit else "")
        + ".",
        "",
    ]
    return "\n".join(out)


def _baseline_line(baseline: Mapping[str, Any]) -> str:
    if not baseline:
        return "No baseline was given."
    recorded = baseline.get("recorded") or {}
    by = f", recorded {recorded['at'][:10]} by {recorded['by']}" if recorded.get("at") else ""
    by += f" ({recorded['why']})" if recorded.get("why") else ""
    standing = f", {baseline['gold_status']}" if baseline.get("gold_status") else ""
    stale = f" It is stale: {baseline['stale']}." if baseline.get("stale") else ""
    return f"Baseline {baseline['path']}{by}{standing}.{stale}"


def _measure_table(
    rows: list[tuple[str, int, Mapping[str, Any], Mapping[str, float]]],
    lines: list[Mapping[str, Any]],
) -> list[str]:
    out = ["| | n | " + " | ".join(map(_title, lines)) + " |", "|---|---:|" + "---:|" * len(lines)]
    for name, n, means, delta in rows:
        cells = [
            decimal(means[line["key"]])
            + (f" ({signed(delta[line['key']])})" if line["key"] in delta else "")
            for line in lines
        ]
        out.append(f"| {drawings.marked(name)} | {n} | " + " | ".join(cells) + " |")
    return out


# ── JUnit, CSV, LaTeX ─────────────────────────────────────────────────────────────────────────────


def junit(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    """Gates and failed queries as test cases, for the CI systems that show JUnit files."""
    checks = results.get("verdict", {}).get("checks", [])
    cases = []
    for check in checks:
        name = check["gate"]["name"] or f"{check['gate']['measure']} {check['gate']['slice']}"
        inner = ""
        if check["status"] == "fail":
            inner = f"<failure message={drawings.attribute(check['message'])}/>"
        elif check["status"] == "inconclusive":
            inner = f"<skipped message={drawings.attribute(check['message'])}/>"
        cases.append(
            f'<testcase classname="gates" name={drawings.attribute(name)}>{inner}</testcase>'
        )
    for entry in results["per_query"]:
        error = (
            f"<error message={drawings.attribute(str(entry['error']))}/>"
            if entry.get("error")
            else ""
        )
        seconds = (entry.get("latency_ms") or 0) / 1000
        cases.append(
            f'<testcase classname="queries" name={drawings.attribute(entry["query_id"])} '
            f'time="{seconds:.6f}">{error}</testcase>'
        )
    failures = sum(check["status"] == "fail" for check in checks)
    skipped = sum(check["status"] == "inconclusive" for check in checks)
    errors = sum(bool(entry.get("error")) for entry in results["per_query"])
    head = (
        f'<testsuite name={drawings.attribute(str(results["engine"]))} tests="{len(cases)}" failures="{failures}" '
        f'errors="{errors}" skipped="{skipped}">'
    )
    note = standing_line(results["receipt"]["gold"])
    if note:
        cases.insert(
            0,
            f'<properties><property name="gold set" value={drawings.attribute(note)}/></properties>',
        )
    return (
        "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"
    )


def by_query_csv(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    keys = [line["key"] for line in results["receipt"]["measures"]]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    note = (
        [text] if (text := standing_line(results["receipt"]["gold"])) else []
    )  # a column where rows are approved
    last = ["judged@10", "reason", *["gold_set" for _ in note]]
    writer.writerow(
        ["query_id", "query_text", "query_type", "query_topic", "num_results", *keys, *last]
    )
    for entry in results["per_query"]:
        values = [
            "" if entry["metrics"][key] is None else repr(entry["metrics"][key]) for key in keys
        ]
        fixed = [
            entry.get(name, "")
            for name in ("query_id", "query_text", "query_type", "query_topic", "num_results")
        ]
        share = judged_at_10(entry)
        writer.writerow(
            [*fixed, *values, "" if share is None else repr(share), entry.get("reason", ""), *note]
        )
    return stream.getvalue()


def latex(results: Results, comparison: Mapping[str, Any] | None = None) -> str:
    gold, n = results["receipt"]["gold"]["name"], results["receipt"]["n"]["overall"]
    names: tuple[str, ...]
    rows: list[tuple[str, ...]]
    if comparison:
        names = ("Measure", "Before", "Now", "Change", "95% interval", "p (Holm)")
        rows = [
            (
                _title(row),
                decimal(row["baseline"]),
                decimal(row["value"]),
                signed(row["difference"]),
                change_span(row["low"], row["high"]),
                p_value(row["p_holm"]),
            )
            for row in comparison["differences"]
        ]
        caption = f"{results['engine']} against {comparison['baseline']} on {gold} ({n} queries)"
    else:
        names, caption = (
            ("Measure", "Mean", "95% interval"),
            f"{results['engine']} on {gold} ({n} queries)",
        )
        means, bounds = results["overall"], results["intervals"]["overall"]
        lines = results["receipt"]["measures"]
        rows = [
            (_title(line), decimal(means[line["key"]]), drawings.span(bounds[line["key"]]))
            for line in lines
        ]
    if note := standing_line(results["receipt"]["gold"]):
        caption += f"; gold set {note}"
    body = [" & ".join(map(drawings.tex, row)) + r" \\" for row in (names, *rows)]
    head = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{l{'r' * (len(names) - 1)}}}",
        r"\hline",
    ]
    tail = [
        r"\hline",
        r"\end{tabular}",
        rf"\caption{{{drawings.tex(caption)}}}",
        r"\end{table}",
        "",
    ]
    return "\n".join([*head, body[0], r"\hline", *body[1:], *tail])

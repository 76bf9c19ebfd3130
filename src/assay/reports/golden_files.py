"""Golden results, pass or fail, as files for others. The Markdown report, in two languages, is
`golden_report`."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.types import is_variant, standing_line
from assay.reports import drawings
from assay.reports.golden_report import failed_entries
from assay.reports.numbers import decimal, signed

RATES = {
    "pass_rate_total": "passed",
    "pass_rate_must": "MUST",
    "pass_rate_should": "SHOULD",
    "top1_rate": "first hit right",
    "mrr_at_k": "MRR@k",
    "recall_at_k": "Recall@k",
    "near_miss_rate": "near misses",
    "confusion_rate": "wrong law on top",
    "negative_violation_rate": "negatives violated",
    "negative_in_top_k_rate": "negatives in the top k",
    "correct_abstention_rate": "right abstentions",
    "false_abstention_rate": "wrong abstentions",
    "wrong_version_rate": "wrong version",
}
TOTALS = {
    "failures": "failure",
    "errors": "error",
    "skipped": "skipped",
}  # JUnit's attributes and elements
SLICES = {
    "category": "By category",
    "test_type": "By test type",
    "language": "By language",
    "perturbation": "By perturbation",
}


def html(results: Mapping[str, Any], changed: Mapping[str, Any] | None = None) -> str:
    """`changed` is what `golden_report.changes` says against other results."""
    receipt, overall = results["receipt"], results["overall"]
    bounds, counts = (results.get(name, {}).get("overall", {}) for name in ("intervals", "n"))
    delta, stale = ((results.get("baseline") or {}).get(name) for name in ("delta", "stale"))
    rows = [
        _rate(key, overall[key], bounds.get(key) or (None, None), (delta or {}).get(key))
        | {"n": counts.get(key)}
        for key in RATES
        if overall.get(key) is not None
    ]
    shown = [kind for kind in SLICES if results.get(f"by_{kind}")]
    if results.get("robustness"):
        shown.remove("perturbation")  # it says more of them
    statuses = {gate["status"] for gate in results["gates"]}
    return drawings.render(
        "golden.html.j2",
        engine=results["engine"],
        timestamp=results["timestamp"],
        gold=receipt["gold"],
        standing=standing_line(receipt["gold"]),
        delta=delta,
        stale=stale,
        status="fail" if "fail" in statuses else "pass" if "pass" in statuses else "",
        gates=results["gates"],
        rows=rows,
        overall=overall,
        failed=receipt["counts"].get("n_failed", 0),
        variants=int(overall.get("n_variants") or 0),
        findings=receipt.get("findings", ()),
        slices=[(SLICES[kind], results[f"by_{kind}"]) for kind in shown],
        robustness=_drawn(results.get("robustness")),
        latency=drawings.latency(results["per_query"]),
        questions=[*map(_question, _failed_first(results))],
        changed=changed,
        moved=[(RATES[key], *pair) for key, pair in changed["figures"].items()] if changed else [],
        receipt_json=msgspec.json.format(msgspec.json.encode(receipt), indent=2).decode(),
    )


def _rate(
    key: str, value: float, bounds: Sequence[float | None], delta: float | None
) -> dict[str, Any]:
    """One row of the rates: a share in percent, with its change in points; MRR as it is."""
    share = key != "mrr_at_k"
    change = "" if delta is None else signed(100 * delta, 1) if share else signed(delta)
    return {
        "title": RATES[key],
        "value": value,
        "bounds": bounds,
        "mark": drawings.range_mark(value, bounds),
        "text": drawings.percent(value) if share else decimal(value),
        "change": change,
        "between": drawings.percents(bounds) if share else drawings.span(bounds),
    }


def _failed_first(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The questions that failed, then variants of questions that did, then what passed."""
    failed = [*failed_entries(results), *failed_entries(results, variants=True)]
    return [*failed, *(entry for entry in results["per_query"] if entry["passed"])]


def _question(entry: Mapping[str, Any]) -> dict[str, Any]:
    names = ("query_id", "query_text", "category", "first_rank", "reason", "perturbation")
    asked = {name: entry.get(name) for name in names}
    hits = [
        {
            "title": hit.get("title") or hit["doc_id"],
            "score": hit.get("score"),
            "right": hit.get("match") == "expected",
        }
        for hit in (entry.get("hits") or [])[:10]
    ]
    return asked | {
        "must": bool(entry.get("must")),
        "passed": bool(entry.get("passed")),
        "hits": hits,
    }


def _drawn(robustness: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not robustness:
        return None
    rows = sorted(
        robustness["by_perturbation"].items(), key=lambda item: (-item[1]["drop"], item[0])
    )
    drawn = [
        {
            "name": name,
            **row,
            "mark": drawings.range_mark(
                row["pass_rate"], (row["low"], row["high"]), row["parent_pass_rate"]
            ),
        }
        for name, row in [*rows, ("all", robustness["overall"])]
    ]
    return {**robustness, "rows": drawn}


def junit(results: Mapping[str, Any]) -> str:
    """Gates and questions as test cases, for the CI systems that show JUnit files."""
    cases, counts = [], {"failure": 0, "error": 0, "skipped": 0}
    for place, gate in enumerate(results["gates"]):
        kind = {"fail": "failure", "inconclusive": "skipped"}.get(gate["status"], "")
        name = str(gate.get("name") or place + 1)
        cases.append(
            _case("gates", f"gate {name}", kind, str(gate.get("message", "")), None, counts)
        )
    known = {entry["query_id"] for entry in results["per_query"]}
    for entry in results["per_query"]:
        kind = "error" if entry.get("error") else "failure" if entry.get("passed") is False else ""
        group = (
            "variants" if is_variant(entry, known) else "MUST" if entry.get("must") else "SHOULD"
        )
        said = str(entry.get("error") or entry.get("reason") or "")
        cases.append(_case(group, entry["query_id"], kind, said, entry.get("latency_ms"), counts))
    figures = " ".join(f'{name}="{counts[kind]}"' for name, kind in TOTALS.items())
    head = f'<testsuite name={drawings.attribute(str(results["engine"]))} tests="{len(cases)}" {figures}>'
    return (
        "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"
    )


def _case(
    group: str, name: str, kind: str, said: str, millis: float | None, counts: dict[str, int]
) -> str:
    if kind:
        counts[kind] += 1
    inner = f"<{kind} message={drawings.attribute(said)}/>" if kind else ""
    time = f' time="{millis / 1000:.6f}"' if millis is not None else ""
    return f'<testcase classname="{group}" name={drawings.attribute(name)}{time}>{inner}</testcase>'


def by_question_csv(results: Mapping[str, Any]) -> str:
    names = (
        "query_id",
        "query_text",
        "category",
        "must",
        "passed",
        "first_rank",
        "expected_rank",
        "rr",
        "parent",
        "perturbation",
        "failure",
        "reason",
    )
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for entry in results["per_query"]:
        writer.writerow(["" if entry.get(name) is None else entry[name] for name in names])
    return stream.getvalue()


def latex(results: Mapping[str, Any]) -> str:
    overall, bounds = results["overall"], results.get("intervals", {}).get("overall", {})
    rows = [
        f"{title} & {decimal(overall[key])} & {drawings.span(bounds.get(key))} \\\\"
        for key, title in RATES.items()
        if overall.get(key) is not None
    ]
    head = [
        "\\begin{table}",
        "\\centering",
        "\\begin{tabular}{lrr}",
        "\\hline",
        "Rate & Value & 95\\% interval \\\\",
        "\\hline",
    ]
    asked = overall.get("total", len(results["per_query"]))
    caption = drawings.tex(
        f"{results['engine']} on {results['receipt']['gold']['name']} ({asked} questions)"
    )
    return "\n".join(
        [*head, *rows, "\\hline", "\\end{tabular}", f"\\caption{{{caption}}}", "\\end{table}", ""]
    )

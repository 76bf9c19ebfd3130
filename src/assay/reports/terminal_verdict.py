"""Pass or fail, for a terminal: the golden card and the verdict of the gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.core.types import counted, standing_line
from assay.reports.golden_report import Words, expected_text, failed_entries, hit_text
from assay.reports.numbers import short


def golden_card(results: Mapping[str, Any]) -> RenderableType:
    """The pass/fail card: rates with intervals, gates, and what failed, MUST first."""
    overall, bounds = results["overall"], results.get("intervals", {}).get("overall", {})
    table = Table(box=None, pad_edge=False, show_header=False)
    for key, title in GOLDEN_ROWS.items():
        if overall.get(key) is not None:
            share = key not in ("avg_latency_ms", "avg_top1_score", "mrr_at_k")
            value = (
                f"{overall[key]:.1%}"
                if share
                else f"{overall[key]:.3f}"
                if "latency" not in key
                else f"{overall[key]:.1f} ms"
            )
            low, high = bounds.get(key) or (None, None)
            between = (
                f"{low:.0%} to {high:.0%}" if share and low is not None and high is not None else ""
            )
            table.add_row(title, Text(value, style="bold"), Text(between, style="dim"))
    gates = Table(box=None, pad_edge=False, show_header=False)
    styles = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
    for gate in results["gates"]:
        gates.add_row(
            Text(gate["status"].upper(), style=styles.get(gate["status"], "")),
            str(gate.get("message", "")),
        )
    failed = failed_entries(results)
    fails = Table(box=None, pad_edge=False, show_header=False)
    for entry in failed[:20]:
        fails.add_row(
            Text("MUST" if entry.get("must") else "", style="bold red"),
            Text(entry["query_id"], style="bold"),
            short(entry["query_text"], 50),
            Text(str(entry.get("reason", "")), style="dim"),
        )
    more = [Text(f"and {len(failed) - 20} more", style="dim")] if len(failed) > 20 else []
    gold = results["receipt"]["gold"]
    variants = int(overall.get("n_variants") or 0)
    apart = f", {counted(variants, 'variant')} of them apart" if variants else ""
    head = Text.assemble(
        (str(results["engine"]), "bold"),
        " on ",
        (gold["name"], "bold"),
        f"  ({counted(gold['queries'] - variants, 'question')}{apart})",
    )
    heading: list[RenderableType] = (
        [Text(), Text("What failed", style="bold"), fails, *more] if failed else []
    )
    note = standing_line(gold)
    parts: list[RenderableType] = [Text(f"Gold set {note}.", style="yellow")] if note else []
    return Group(
        head,
        Text(),
        table,
        *parts,
        Text(),
        gates,
        *_robustness(results.get("robustness")),
        *heading,
    )


def golden_explanation(entry: Mapping[str, Any]) -> RenderableType:
    """One question of a golden set: what it asked for, and every hit with whether it was that."""
    say = Words("en")
    verdict = Text(
        "PASSED" if entry["passed"] else "FAILED",
        style="bold green" if entry["passed"] else "bold red",
    )
    stated = {
        "expected": expected_text(entry, say),
        "looked at": f"the top {entry['k']}, with a score of at least {entry['min_score']:g}",
        "evidence": ", ".join(map(str, entry["evidence"]))
        if isinstance(entry.get("evidence"), list)
        else entry.get("evidence"),
        "as of": entry.get("as_of"),
    }
    asked = Table(box=None, pad_edge=False, show_header=False)
    for name, value in stated.items():
        if value:
            asked.add_row(Text(name, style="dim"), str(value))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in ("rank", "hit", "what it is"):
        table.add_column(name, justify="right" if name == "rank" else "left")
    for rank, hit in enumerate(entry["hits"][: max(entry["k"], 20)], start=1):
        style = "dim" if rank > entry["k"] else {"expected": "green"}.get(hit.get("match", ""), "")
        table.add_row(str(rank), hit_text(hit, say), str(hit.get("match") or ""), style=style)
    need = " [MUST]" if entry.get("must") else ""
    head = Text.assemble((entry["query_id"], "bold"), f"{need}  {entry['query_text']}")
    return Group(
        head,
        Text(),
        Text.assemble(verdict, f"  {entry.get('reason') or ''}"),
        Text(),
        asked,
        Text(),
        table,
    )


def _robustness(found: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    """How variants of the questions fare against the questions themselves."""
    if not found:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("perturbation")
    for name in ("n", "passed", "95% interval", "unperturbed", "drop"):
        table.add_column(name, justify="right")
    for name, row in [*found["by_perturbation"].items(), ("all", found["overall"])]:
        table.add_row(
            name,
            str(row["n"]),
            f"{row['pass_rate']:.1%}",
            f"{row['low']:.0%} to {row['high']:.0%}",
            f"{row['parent_pass_rate']:.1%}",
            Text(f"{100 * row['drop']:.1f}"),
        )
    yield from (Text(), Text("Robustness", style="bold"), table)
    for title, names in (
        ("Worst", found["worst_families"]),
        ("Questions that break most", found["worst_parents"]),
    ):
        if names:
            yield Text(f"{title}: {', '.join(names)}.", style="yellow")


GOLDEN_ROWS = {
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
    "wrong_version_rate": "wrong version",
    "avg_top1_score": "mean top score",
    "avg_latency_ms": "mean latency",
}


def _next_command(gate: Mapping[str, Any]) -> str:
    """What writes the judgments for a gate that cannot be told."""
    bound = next(
        (gate[name] for name in ("minimum", "maximum", "below") if gate[name] is not None), None
    )
    what = f"RESULTS --threshold {bound:g}" if bound is not None else "BASELINE RESULTS"
    return f"assay gold next {what} --measure '{gate['measure']}' -o pairs.csv"


def verdict_lines(verdict: Mapping[str, Any]) -> RenderableType:
    """The verdict on top, then every gate with what it found."""
    styles = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
    table = Table(box=None, pad_edge=False, show_header=False)
    for check in sorted(
        verdict["checks"], key=lambda check: ("fail", "inconclusive", "pass").index(check["status"])
    ):
        table.add_row(
            Text(check["status"].upper(), style=styles[check["status"]]), check["message"]
        )
    parts: list[RenderableType] = [
        Text(verdict["status"].upper(), style=styles[verdict["status"]]),
        table,
    ]
    if pairs := verdict.get("judge_next"):
        shown = ", ".join(f"{pair['query_id']} {pair['doc_id']}" for pair in pairs[:5])
        more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
        parts.append(
            Text(
                f"Judgments that would settle it ({len(pairs)}), these first: {shown}{more}",
                style="yellow",
            )
        )
        asked = next(
            check["gate"] for check in verdict["checks"] if check["status"] == "inconclusive"
        )
        parts.append(Text(f"A list to fill in: {_next_command(asked)}", style="yellow"))
    elif "judge_next" in verdict:
        parts.append(Text("More queries would settle it, not more judgments.", style="yellow"))
    return Group(*parts)

"""What people and programs see of a scored run: results JSON, the terminal scorecard, and the sum
behind a number."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.core.types import ASKED, Finding, GoldSet, Run, ScoreSheet, Slice, counted, standing_line
from assay.evaluation.measures import MEASURES, Measure, parse_measure, result_key
from assay.reports.numbers import decimal, signed
from assay.reports.terminal_comparison import comparison_table
from assay.reports.terminal_verdict import golden_card, golden_explanation, verdict_lines

__all__ = [
    "baseline_line",
    "comparison",
    "comparison_table",
    "explanation",
    "findings_table",
    "golden_card",
    "next_steps",
    "results_json",
    "run_summary",
    "scorecard",
    "stats_table",
    "verdict_lines",
]

TIE_POLICY = {
    "engine": "the engine's own order; a document returned twice keeps its first place",
    "score": "score descending, then document id descending (as trec_eval); a repeated document keeps its first place",
}
UNJUDGED_POLICY = (
    "an unjudged document counts as not relevant; judged-only values and bounds stand beside"
)
OTHER_SLICES = ("category", "corpus", "language")  # said of a query that has them
MISSING_POLICY = (
    "a query missing from the run scores 0; a failed query has no score; a query without relevant documents is a "
    "negative test and not ranked"
)

# ── results JSON ──────────────────────────────────────────────────────────────────────────────────


def results_json(
    sheet: ScoreSheet, run: Run, gold: GoldSet, *, timestamp: str, receipt: Mapping[str, Any]
) -> dict[str, Any]:
    """The results file: scorecard, every query with its ranked ids and grades, and the receipt."""
    measures = [parse_measure(name) for name in sheet.measures]
    keys = {str(measure): result_key(measure, measures) for measure in measures}
    results: dict[str, Any] = {"timestamp": timestamp, "engine": run.engine}
    results["overall"] = _renamed(sheet.overall, keys)
    kinds = dict.fromkeys(("type", "topic", *(part.kind for part in sheet.slices[1:])))
    for kind in kinds:
        results[f"by_{gold.slice_name(kind)}"] = {
            name: _renamed(part, keys) for name, part in sheet.by(kind).items()
        }
    results["per_query"] = list(_per_query(sheet, run, gold, keys))
    results["receipt"] = dict(receipt)
    return results


def _renamed(part: Slice, keys: Mapping[str, str]) -> dict[str, float | None]:
    return {keys[name]: value for name, value in part.means.items()}


def _per_query(
    sheet: ScoreSheet, run: Run, gold: GoldSet, keys: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    grades: dict[str, dict[str, int]] = {query_id: {} for query_id in gold.query_ids}
    for query_id, doc_id, grade in gold.judgments.select("query_id", "doc_id", "grade").iter_rows():
        grades[query_id][doc_id] = grade
    asked = _asked(gold)
    millis = run.queries["millis"].to_list() if "millis" in run.queries.columns else None
    for row, query in enumerate(sheet.queries):
        doc_ids = run.doc_ids(query.id)
        values = sheet.values[row].tolist()
        entry: dict[str, Any] = {
            "query_id": query.id,
            "query_text": query.text,
            "query_type": query.type,
            "query_topic": query.topic,
            **{f"query_{kind}": value for kind in OTHER_SLICES if (value := getattr(query, kind))},
            **({"query_practice_area": query.topic} if gold.from_logs else {}),
            "num_results": len(doc_ids),
            "results": doc_ids,
            "metrics": {
                keys[m]: None if math.isnan(v) else v
                for m, v in zip(sheet.measures, values, strict=True)
            },
            "grades": [grades[query.id].get(doc_id) for doc_id in doc_ids],
            "judged": sorted(grades[query.id].values(), reverse=True),
        }
        if on_request := [doc_id for doc_id in doc_ids if (query.id, doc_id) in asked]:
            entry["asked"] = on_request
        if sheet.reasons[row]:
            entry["reason"] = sheet.reasons[row]
        at = run.rows_by_query.get(query.id)
        if millis is not None and at is not None and millis[at] is not None:
            entry["latency_ms"] = millis[at]
        if sheet.reasons[row].startswith("failed: "):
            entry["error"] = sheet.reasons[row].removeprefix("failed: ")
        yield entry


def _asked(gold: GoldSet) -> set[tuple[str, str]]:
    if "source" not in gold.judgments.columns:
        return set()
    found = gold.judgments.filter(gold.judgments["source"] == ASKED).select("query_id", "doc_id")
    return {(query_id, doc_id) for query_id, doc_id in found.iter_rows()}


def receipt_of_measures(names: Sequence[str]) -> list[dict[str, Any]]:
    """Each measure with its formula, threshold, gain and cutoff, so that a number can be recomputed
    by hand."""
    measures = [parse_measure(name) for name in names]
    lines = []
    for measure in measures:
        formula = MEASURES[measure.name]
        params = {
            key: measure.param(key) for key in formula.params if measure.param(key) is not None
        }
        lines.append(
            {
                "key": result_key(measure, measures),
                "measure": str(measure),
                "cutoff": measure.cutoff,
                **params,
                "formula": formula.text,
                "source": formula.source,
            }
        )
    return lines


# ── terminal ──────────────────────────────────────────────────────────────────────────────────────

HEADINGS = {
    "type": "By query type",
    "topic": "By topic",
    "category": "By category",
    "corpus": "By corpus",
    "practice_area": "By practice area",
    "language": "By language",
}


FEW = 10  # a slice with fewer queries is marked


def scorecard(results: Mapping[str, Any]) -> RenderableType:
    """The scorecard for a terminal, from a results object (so a saved file shows the same)."""
    receipt = results["receipt"]
    lines = receipt["measures"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("", min_width=18)
    table.add_column("n", justify="right", style="dim")
    for line in lines:
        table.add_column(_heading(line), justify="right", no_wrap=True)
    few = any(
        n < FEW for kind, parts in receipt["n"].items() if kind != "overall" for n in parts.values()
    )
    _add_row(
        table, "Overall", receipt["n"]["overall"], results["overall"], lines, style="bold cyan"
    )
    if bounds := results.get("intervals", {}).get("overall"):
        table.add_row(
            "  95% interval", "", *(_span(bounds[line["key"]]) for line in lines), style="dim"
        )
    if delta := results.get("baseline", {}).get("delta"):
        table.add_row(
            "  vs baseline",
            "",
            *(signed(delta.get(line["key"])) for line in lines),
            style="magenta",
        )
    for key in [key for key in results if key.startswith("by_") and results[key]]:
        kind = key.removeprefix("by_")
        table.add_section()
        table.add_row(Text(HEADINGS.get(kind, f"By {kind}"), style="bold"))
        for name, means in results[key].items():
            n = receipt["n"][key][name]
            _add_row(table, f"  {name}{' *' if n < FEW else ''}", n, means, lines)
    gold = receipt["gold"]
    size = f"  ({counted(gold['queries'], 'query')}, {counted(gold['judgments'], 'judgment')})"
    title = Text.assemble((str(results["engine"]), "bold"), " on ", (gold["name"], "bold"), size)
    note = (
        [Text(f"* fewer than {FEW} queries: too few to conclude from.", style="dim")] if few else []
    )
    return Group(title, Text(), table, *([Text(), *note] if note else []), *_footnotes(receipt))


def comparison(results: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """The overall row of several engines on one gold set."""
    lines = next(iter(results.values()))["receipt"]["measures"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("engine", min_width=18)
    table.add_column("n", justify="right", style="dim")
    for line in lines:
        table.add_column(_heading(line), justify="right", no_wrap=True)
    for name, result in results.items():
        _add_row(table, name, result["receipt"]["n"]["overall"], result["overall"], lines)
        if delta := result.get("baseline", {}).get("delta"):
            table.add_row(
                "  vs baseline",
                "",
                *(signed(delta.get(line["key"])) for line in lines),
                style="magenta",
            )
    return Group(table, Text())


def next_steps(output: Path, samples: Path) -> RenderableType:
    """What a new user can do with the files the demo left."""
    here = Path.cwd()
    samples = samples.relative_to(here) if samples.is_relative_to(here) else samples
    dataset, assay = f"{samples / 'dataset.json'}", _how_called()
    table = Table(
        box=None,
        pad_edge=False,
        show_header=False,
        title="What to try next",
        title_justify="left",
        title_style="bold",
    )
    table.add_row(
        "why is q001 at that value?", Text(f"{assay} explain {output} q001", style="cyan")
    )
    table.add_row("look at the gold set", Text(f"{assay} gold stats {dataset}", style="cyan"))
    table.add_row(
        "check it against the rubric", Text(f"{assay} gold validate {dataset}", style="cyan")
    )
    mine = f"{assay} score --search-module {samples / 'my_engine.py'} --dataset {dataset}"
    table.add_row("score your own engine", Text(mine, style="cyan"))
    table.add_row(
        "search the sample",
        Text(f'{assay} search demo-opinions "gift of concert tickets"', style="cyan"),
    )
    table.add_row("a page to look at", Text(f"{output.with_suffix('.html')}", style="cyan"))
    return Group(Text(), table)


def _how_called() -> str:
    """`assay` when the shell finds it, else the path this program was started by."""
    return "assay" if shutil.which("assay") else os.path.relpath(sys.argv[0])


def _heading(line: Mapping[str, Any]) -> str:
    return "MRR" if line["key"] == "mrr" else str(line["measure"])


def _add_row(
    table: Table,
    name: str,
    n: int,
    means: Mapping[str, float | None],
    lines: Sequence[Any],
    *,
    style: str = "",
) -> None:
    cells = [decimal(means[line["key"]]) for line in lines]
    table.add_row(name, str(n), *cells, style=style)


def _span(bounds: Sequence[float | None]) -> str:
    low, high = bounds
    return "–" if low is None or high is None else f"{low:.2f}–{high:.2f}".replace("0.", ".")


def run_summary(
    outcomes: Sequence[tuple[str, str, Mapping[str, Any] | None, str]],
) -> RenderableType:
    """One table a gold set, one row an engine; below it what the gates say."""
    parts: list[RenderableType] = []
    for gold in dict.fromkeys(outcome[0] for outcome in outcomes):
        parts.append(Text(gold, style="bold"))
        mine = [
            (engine, results, error) for name, engine, results, error in outcomes if name == gold
        ]
        parts += [golden_card(results) for _, results, _ in mine if results and "gates" in results]
        good = {
            engine: results for engine, results, _ in mine if results and "gates" not in results
        }
        if good:
            parts.append(comparison(good))
            cards = [results["receipt"]["gold"] for results in good.values()]
            notes = {
                f"Gold set {standing_line(card)}."
                for card in cards
                if (card.get("approved_share") or 0) < 1 and standing_line(card)
            }
            notes |= {
                f"{engine}: the baseline is stale: {stale}."
                for engine, results in good.items()
                if (stale := results.get("baseline", {}).get("stale"))
            }
            parts += [Text(note, style="yellow") for note in sorted(notes)]
        parts += [Text(f"{engine}: {error}", style="red") for engine, _, error in mine if error]
        for engine, results in good.items():
            if results.get("verdict"):
                parts += [
                    Text.assemble((engine, "bold"), ": "),
                    verdict_lines(results["verdict"]),
                    Text(),
                ]
    return Group(*parts)


def _footnotes(receipt: Mapping[str, Any]) -> Iterator[Text]:
    counts = receipt["counts"]
    yield Text()
    if mrr := next(
        (line for line in receipt["measures"] if line["key"] == "mrr" and line["measure"] != "RR"),
        None,
    ):
        yield Text(
            f"MRR is {mrr['measure']}: 1/rank of the first hit with grade {mrr['rel']} or more.",
            style="dim",
        )
    shown = "nDCG@10" if "nDCG@10" in receipt["unjudged"] else next(iter(receipt["unjudged"]), "")
    cutoff = next(
        (line["cutoff"] for line in receipt["measures"] if line["measure"] == shown), None
    )
    looked_at = f"the top {cutoff}" if cutoff else "all hits"
    for name, values in receipt["unjudged"].items():
        if values["judged"] is not None and values["judged"] < 1 and name == shown:
            only, worst, best = (decimal(values[key]) for key in ("judged_only", "worst", "best"))
            yield Text(
                f"{values['judged']:.0%} of {looked_at} is judged. {name} counts the rest as not relevant; over judged "
                f"documents alone it is {only}, and with every possible grade of the rest between {worst} and {best}.",
                style="dim",
            )
        if values.get("residual") is not None:
            most = decimal(values["worst"] + values["residual"])
            yield Text(
                f"{name} has a residual of {decimal(values['residual'])}: what is unjudged or ranked deeper "
                f"could raise it from {decimal(values['worst'])} to {most}.",
                style="dim",
            )
    if note := standing_line(receipt["gold"]):
        yield Text(
            f"Gold set {note}.", style="dim" if receipt["gold"]["approved_share"] == 1 else "yellow"
        )
    parts = [f"{counts['n_scored']} of {counts['n_expected']} queries scored"]
    parts += [f"{counts[key]} {label}" for key, label in COUNT_LABELS.items() if counts.get(key)]
    if latency := receipt.get("latency_ms"):
        parts.append(f"latency p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms")
    yield Text("; ".join(parts) + ".", style="dim")


def baseline_line(
    results: Mapping[str, Any], path: Path, recorded: Mapping[str, Any], *, is_first: bool
) -> str:
    """What was recorded, so that nobody commits a baseline unseen."""
    git, note = recorded["git"] or {}, standing_line(results["receipt"]["gold"])
    commit = (
        f"at commit {git['commit'][:12]}{' with uncommitted changes' if git['dirty'] else ''}"
        if git
        else ""
    )
    said = [
        f"by {recorded['by']}",
        commit or "outside a git repository",
        f"gold set {note}" if note else "",
    ]
    return f"{'first baseline' if is_first else 'baseline'} written to {path}: {', '.join(filter(None, said))}"


COUNT_LABELS = {
    "n_missing": "missing from the run (scored 0)",
    "n_failed": "failed (not scored)",
    "n_negative": "without relevant documents (not scored)",
    "n_extra": "in the run but not in the gold set (ignored)",
    "duplicates": "duplicate hits dropped",
    "ties": "hits tied in score",
}


def findings_table(findings: Sequence[Finding]) -> RenderableType:
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        style = "bold red" if finding.level == "error" else "yellow"
        table.add_row(
            Text(finding.level, style=style),
            Text(finding.code, style="dim"),
            finding.where,
            finding.message,
        )
    return table


def stats_table(stats: Mapping[str, Any]) -> RenderableType:
    """The picture of a gold set: queries by topic and type, judgments by grade, and how they spread
    over queries."""
    types = list(stats["types"]) or [""]
    grid = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        header_style="bold",
        title_justify="left",
    )
    grid.add_column("queries by topic")
    for name in types:
        grid.add_column(name or "no type", justify="right")
    grid.add_column("all", justify="right", style="bold")
    for topic, row in stats["topics"].items():
        grid.add_row(
            topic or "no topic", *(str(row.get(name, 0)) for name in types), str(sum(row.values()))
        )
    grid.add_row(
        "all",
        *(str(stats["types"].get(name, 0)) for name in types),
        str(stats["queries"]),
        style="bold",
    )
    grades = Table(box=None, pad_edge=False, show_header=False)
    for grade, count in stats["grades"].items():
        share = count / max(stats["judgments"], 1)
        grades.add_row(
            f"grade {grade}",
            str(count),
            Text("█" * round(share * 40), style="cyan"),
            f"{share:.0%}",
        )
    spread = ", ".join(f"{name} {value}" for name, value in stats["judged_per_query"].items())
    size = f"  {stats['queries']} queries, {stats['judgments']:,} judgments, rubric {stats['rubric'] or 'not named'}"
    head = Text.assemble(
        (stats["name"], "bold"), f"{size}, {stats['rationales']:.0%} with a rationale"
    )
    return Group(
        head, Text(), grid, Text(), grades, Text(f"judged per query: {spread}", style="dim")
    )


# ── explain ───────────────────────────────────────────────────────────────────────────────────────


def explanation(entry: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The sum behind every number of one query, rank by rank; of a golden question why it passed or
    failed."""
    if "passed" in entry:
        return golden_explanation(entry)
    grades, judged = entry["grades"], entry["judged"]
    deepest = max([line["cutoff"] or len(grades) for line in lines], default=10)
    parts: list[RenderableType] = [
        Text.assemble((entry["query_id"], "bold"), "  ", entry["query_text"]),
        Text(),
    ]
    if entry.get("reason"):
        parts.append(Text(entry["reason"], style="yellow"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in ("rank", "document", "grade", "1/log2(rank+1)", "grade/log2(rank+1)", "sum"):
        table.add_column(name, justify="left" if name == "document" else "right")
    total = 0.0
    for rank, (doc_id, grade) in enumerate(
        zip(entry["results"][:deepest], grades, strict=False), start=1
    ):
        discount = 1 / math.log2(rank + 1)
        gain = max(grade or 0, 0) * discount
        total += gain
        shown = "unjudged" if grade is None else str(grade)
        style = "dim" if not grade else ("bold green" if grade >= 2 else "green")
        table.add_row(
            str(rank), doc_id, shown, f"{discount:.4f}", f"{gain:.4f}", f"{total:.4f}", style=style
        )
    parts += [
        table,
        Text(),
        Text("judged for this query, best first: " + " ".join(map(str, judged)), style="dim"),
        Text(),
    ]
    sums = Table(box=None, pad_edge=False, show_header=False)
    for line in lines:
        value = entry["metrics"].get(line["key"])
        sums.add_row(
            Text(str(line["measure"]), style="bold"),
            "=",
            _decimal_long(value),
            _derivation(line, grades, judged),
        )
    return Group(*parts, sums)


def _decimal_long(value: float | None) -> str:
    return "no value" if value is None else f"{value:.6f}"


def _derivation(
    line: Mapping[str, Any], grades: Sequence[int | None], judged: Sequence[int]
) -> str:
    """The arithmetic of one measure in words and figures; the formula itself where it is not a
    simple ratio."""
    measure = parse_measure(str(line["measure"]))
    top = [grade if grade is not None else 0 for grade in grades[: measure.cutoff]]
    threshold = measure.param("rel") or 1
    found = sum(grade >= threshold for grade in top)
    if measure.name == "nDCG":
        dcg, ideal = _dcg(top, measure), _dcg(judged[: measure.cutoff], measure)
        return f"{dcg:.6f} / {ideal:.6f}  (sum over the ranking / sum over the best order)"
    if measure.name == "P":
        return f"{found} / {measure.cutoff}  (grade >= {threshold} in the top {measure.cutoff})"
    if measure.name == "R":
        known = sum(grade >= threshold for grade in judged)
        return f"{found} / {known}  (found in the top {measure.cutoff} / all with grade >= {threshold})"
    if measure.name == "RR":
        first = next((rank for rank, grade in enumerate(top, start=1) if grade >= threshold), None)
        return (
            f"1 / {first}  (first hit with grade >= {threshold})"
            if first
            else f"no hit with grade >= {threshold}"
        )
    return MEASURES[measure.name].text


def _dcg(grades: Sequence[int], measure: Measure) -> float:
    values = np.maximum(np.array(grades, np.float64), 0)
    gains = np.exp2(values) - 1 if measure.param("gain") == "exp2" else values
    return float((gains / np.log2(np.arange(len(gains)) + 2)).sum())

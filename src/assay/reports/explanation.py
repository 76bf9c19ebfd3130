"""Explanations on a terminal: the arithmetic behind each measure of a query, and why a golden
question passed or failed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.core.results import Entry, GoldenEntry, GradedEntry, MeasureLine
from assay.evaluation.measures import MEASURES, Measure, parse_measure
from assay.reports.grids import headed, plain
from assay.reports.wording import Sentences
from assay.reports.words import Words

SHOWN_HITS = 20


def explanation(entry: Entry, lines: Sequence[MeasureLine]) -> RenderableType:
    if isinstance(entry, GoldenEntry):
        return _golden(entry)
    return _graded(entry, lines)


# ── a graded query ────────────────────────────────────────────────────────────────────────────────


def _graded(entry: GradedEntry, lines: Sequence[MeasureLine]) -> RenderableType:
    deepest = max([line.cutoff or len(entry.grades) for line in lines], default=10)
    head = Text.assemble((entry.query_id, "bold"), "  ", entry.query_text)
    reason = [Text(entry.reason, style="yellow")] if entry.reason else []
    grades = " ".join(map(str, entry.judged)) or "nothing yet"
    judged = f"judged for this query, best first: {grades}"
    sums = plain()
    for line in lines:
        value = entry.metrics.get(line.key)
        sums.add_row(
            Text(line.measure, style="bold"),
            "=",
            "no value" if value is None else f"{value:.6f}",
            _derivation(line, entry) if entry.judged else "",
        )
    ranking = _ranking(entry, deepest)
    return Group(head, Text(), *reason, ranking, Text(), Text(judged, style="dim"), Text(), sums)


def _ranking(entry: GradedEntry, deepest: int) -> Table:
    """Rank by rank, what each hit adds to DCG."""
    table = headed()
    for name in ("rank", "document", "grade", "1/log2(rank+1)", "grade/log2(rank+1)", "sum"):
        table.add_column(name, justify="left" if name == "document" else "right")
    total = 0.0
    ranked = zip(entry.results[:deepest], entry.grades, strict=False)
    for rank, (doc_id, grade) in enumerate(ranked, start=1):
        discount = 1 / math.log2(rank + 1)
        gain = max(grade or 0, 0) * discount
        total += gain
        style = "dim" if not grade else "bold green" if grade >= 2 else "green"
        sums = (f"{gain:.4f}", f"{total:.4f}") if entry.judged else ("–", "–")
        figures = (f"{discount:.4f}", *sums)
        shown = "unjudged" if grade is None else str(grade)
        table.add_row(str(rank), doc_id, shown, *figures, style=style)
    return table


def _derivation(line: MeasureLine, entry: GradedEntry) -> str:
    """The arithmetic of one measure in words and figures; the formula itself where it is not a
    simple ratio."""
    measure = parse_measure(line.measure)
    grades, judged, returned = entry.grades, entry.judged, entry.returned
    top = [grade if grade is not None else 0 for grade in grades[: measure.cutoff]]
    threshold, cutoff = measure.param("rel") or 1, measure.cutoff
    relevant = [rank for rank, grade in enumerate(top, start=1) if grade >= threshold]
    looked_at = min(cutoff or returned, returned)
    if looked_at > len(grades) and not (measure.name == "RR" and relevant):
        return f"it looks at {looked_at:,} hits, of which the results keep the top {len(grades)}"
    if measure.name == "nDCG":
        dcg, ideal = _dcg(top, measure), _dcg(judged[:cutoff], measure)
        return f"{dcg:.6f} / {ideal:.6f}  (sum over the ranking / sum over the best order)"
    if measure.name == "P":
        return f"{len(relevant)} / {cutoff}  (grade >= {threshold} in the top {cutoff})"
    if measure.name == "R":
        known = sum(grade >= threshold for grade in judged)
        share = f"{len(relevant)} / {known}"
        return f"{share}  (found in the top {cutoff} / all with grade >= {threshold})"
    if measure.name == "RR":
        if not relevant:
            return f"no hit with grade >= {threshold}"
        return f"1 / {relevant[0]}  (first hit with grade >= {threshold})"
    return MEASURES[measure.name].text


def _dcg(grades: Sequence[int], measure: Measure) -> float:
    has_powers = measure.param("gain") == "exp2"
    gains = [2.0 ** max(grade, 0) - 1 if has_powers else max(grade, 0) for grade in grades]
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


# ── a golden question ─────────────────────────────────────────────────────────────────────────────


def _golden(entry: GoldenEntry) -> RenderableType:
    """What it asked for, and every hit with whether it was that."""
    tell = Sentences(Words("en"))
    evidence = entry.stated.get("evidence")
    stated = {
        "expected": tell.expected(entry),
        "looked at": f"the top {entry.k}, with a score of at least {entry.min_score:g}",
        "answered": "nothing: the engine abstained" if entry.abstained else "",
        "evidence": ", ".join(map(str, evidence)) if isinstance(evidence, list) else evidence,
        "as of": entry.as_of,
    }
    asked = plain()
    for name, value in stated.items():
        if value:
            asked.add_row(Text(name, style="dim"), str(value))
    table = headed()
    for name in ("rank", "hit", "what it is"):
        table.add_column(name, justify="right" if name == "rank" else "left")
    for rank, hit in enumerate(entry.hits[: max(entry.k, SHOWN_HITS)], start=1):
        style = "dim" if rank > entry.k else "green" if hit.match == "expected" else ""
        table.add_row(str(rank), tell.hit(hit), hit.match, style=style)
    need = " [MUST]" if entry.must else ""
    head = Text.assemble((entry.query_id, "bold"), f"{need}  {entry.query_text}")
    verdict = Text.assemble(
        Text("PASSED", style="bold green") if entry.passed else Text("FAILED", style="bold red"),
        f"  {entry.reason}",
    )
    return Group(head, Text(), verdict, Text(), asked, Text(), table)

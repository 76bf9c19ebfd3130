"""Is B better than A, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.reports.numbers import change_span, p_value, short, signed


def comparison_table(found: Mapping[str, Any]) -> RenderableType:
    """Is B better than A: by measure, then the queries that moved most."""
    parts: list[RenderableType] = [Text(warning, style="yellow") for warning in found["warnings"]]
    if found["gold_status"]:
        parts += [Text(f"Gold set {found['gold_status']}.", style="yellow"), Text()]
    for system in found["systems"]:
        rows = [row for row in found["differences"] if row["system"] == system]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for name in (
            "measure",
            "n",
            found["baseline"],
            system,
            "change",
            "95% interval",
            "p",
            "p Holm",
            "d",
            "w/t/l",
        ):
            table.add_column(name, justify="left" if name == "measure" else "right", no_wrap=True)
        apart = [
            {**row, "measure": f"{row['measure']} of variants"}
            for row in found["variants"]
            if row["system"] == system
        ]
        for row in [*rows, *apart]:
            style = ("green" if row["difference"] > 0 else "red") if row["p_holm"] <= 0.05 else ""
            flip = " *" if row["could_flip"] else ""
            table.add_row(
                row["measure"] + flip,
                str(row["n"]),
                f"{row['baseline']:.3f}",
                f"{row['value']:.3f}",
                signed(row["difference"]),
                change_span(row["low"], row["high"]),
                p_value(row["p_randomization"]),
                p_value(row["p_holm"]),
                signed(row["effect_size"], 2),
                f"{row['wins']}/{row['ties']}/{row['losses']}",
                style=style,
            )
        parts += [
            Text.assemble((system, "bold"), " against ", (found["baseline"], "bold")),
            Text(),
            table,
            Text(),
        ]
        parts += _comparison_notes(found, rows)
        if apart:
            parts += [
                Text(
                    "Variants are compared apart, each question by the mean of its variants.",
                    style="dim",
                ),
                Text(),
            ]
        parts += _moved_table(found, system)
    return Group(*parts)


def _comparison_notes(
    found: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> Iterator[Text]:
    head = next(row for row in rows if row["measure"] == found["headline"])
    sure = "significant" if head["p_holm"] <= 0.05 else "not significant"
    yield Text(
        f"{found['headline']} changed by {signed(head['difference'])}: {sure} after Holm's correction over "
        f"{len(found['differences'])} tests (p {p_value(head['p_holm'])})."
    )
    others = [
        f"t {p_value(head['p_t'])}",
        f"Wilcoxon {p_value(head['p_wilcoxon'])}",
        f"Benjamini–Hochberg {p_value(head['p_bh'])}",
    ]
    yield Text(
        f"Beside it: {', '.join(others)}; those of every measure are in --json and in the report.",
        style="dim",
    )
    yield Text(_power(head, found["headline"]), style="dim")
    for row in rows:
        if row["residuals"]:
            before, after = (f"{value:.3f}" for value in row["residuals"])
            yield Text(
                f"{row['measure']}: the residual, what unjudged hits and deeper ranks could add, is {before} "
                f"for {found['baseline']} and {after} for {row['system']}.",
                style="dim",
            )
    if any(row["could_flip"] for row in rows):
        yield Text(
            "* judging the unjudged documents could turn this difference around.", style="yellow"
        )
    yield Text(
        "p: paired randomization test. d: effect size. w/t/l: queries better, equal, worse.",
        style="dim",
    )
    yield Text()


def _power(row: Mapping[str, Any], measure: str) -> str:
    if row["n"] == 1:
        return "One query cannot show whether a change is more than chance."
    if row["detectable"] is None:
        seen = (
            "No query changed"
            if not row["difference"]
            else "Every query changed by the same amount"
        )
        return f"{seen} in {measure}, so what change {row['n']} queries could show cannot be estimated."
    return (
        f"With {row['n']} queries you can see a change of {row['detectable']:.3f} in {measure} with 80% power; "
        "smaller ones can pass unseen."
    )


def _moved_table(found: Mapping[str, Any], system: str) -> Iterator[RenderableType]:
    moved = [row for row in found["moved"] if row["system"] == system]
    if not moved:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in ("query", found["headline"], "entered the top 10 (grade)", "left it (grade)"):
        table.add_column(name)
    for row in moved:
        change = row["value"] - row["baseline"]
        text = Text.assemble((row["query_id"], "bold"), " ", short(row["query_text"], 44))
        table.add_row(
            text,
            Text(signed(change), style="green" if change > 0 else "red"),
            _documents(row["entered"]),
            _documents(row["left"]),
        )
    yield Text("The queries that moved most", style="bold")
    yield table


def _documents(items: Sequence[Sequence[Any]]) -> str:
    shown = [f"{doc_id} ({'?' if grade is None else grade})" for doc_id, grade in items[:4]]
    return ", ".join(shown) + (f" +{len(items) - 4}" if len(items) > 4 else "")

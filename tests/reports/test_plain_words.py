"""Keys, times and ids of the program do not reach a reader of a report or a terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
from rich.console import Console

from assay.reports import listing
from assay.reports.numbers import Numbers
from assay.reports.words import Words
from kit.commands import Assay

QUERIES = [
    {"id": f"q{n}", "text": f"words {n}", "type": kind, "topic": "conflicts_of_interest"}
    for n, kind in enumerate(("natural_language", "fact_pattern") * 4)
]


def graded(folder: Path) -> None:
    judged = [
        {"opinion_id": doc, "score": grade, "rationale": "It says so."}
        for doc, grade in (("a", 2), ("b", 0))
    ]
    queries = [{**query, "relevance_judgments": judged} for query in QUERIES]
    content = {"version": "1", "created_at": "", "description": "", "queries": queries}
    (folder / "gold.json").write_text(json.dumps(content))
    for name, order in (("one", "ab"), ("two", "ba")):
        lines = [
            f"{query['id']} Q0 {doc} {rank} {9 - rank} {name}\n"
            for query in QUERIES
            for rank, doc in enumerate(order, 1)
        ]
        (folder / f"{name}.run").write_text("".join(lines))


def test_a_report_and_a_comparison_say_names_that_people_use(
    assay_cli: Assay, tmp_path: Path
) -> None:
    graded(tmp_path)
    given = ("--dataset", "gold.json", "-o")
    assert assay_cli("score", "--run", "two.run", *given, "two.json").code == 0
    again = assay_cli("score", "--run", "one.run", "--baseline", "two.json", *given, "one.json")
    assert "vs baseline: nDCG@10: +" in " ".join(again.out.split())
    compared = assay_cli("compare", "two.json", "one.json").out
    assert "RR(rel=2)" in compared
    assay_cli("report", "one.json", "--against", "two.json", "-o", "r.html")
    page = (tmp_path / "r.html").read_text().partition("how-made")[0].partition('"receipt"')[0]
    shown = page.partition("<main")[2].partition("<pre")[0]
    for raw in ("natural_language", "fact_pattern", "conflicts_of_interest", "tested together"):
        assert raw not in shown, raw
    for said in ("question · ", "facts · ", "Conflicts of interest"):
        assert said in shown, said


def test_times_and_tables_of_a_terminal_are_words() -> None:
    assert Numbers(Words("en")).moment("2026-11-16T10:56:49+00:00") == "2026-11-16 10:56 UTC"

    class Page(msgspec.Struct):
        forecast_empty_at: str
        age_days: dict[str, float | None]
        citations: dict[str, int]

    page = Page("2026-11-16T10:57:47.711708Z", {"p50": None, "max": None}, {"self": 0, "edges": 4})
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(listing.key_values(page))
    told = console.export_text()
    assert "empty by, at this pace  2026-11-16 10:57 UTC" in told
    assert "to itself 0, links 4" in told
    assert "p50" not in told

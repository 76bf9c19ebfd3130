"""`assay demo`: everything on the bundled samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import say, searching, show


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the results of the last engine go.")
    ] = Path("demo-results.json"),
) -> None:
    """Score four engines on the bundled sample of advisory opinions, and say what to try next."""
    from assay.reports import terminal, view
    from assay.workbench.demo import demo, samples
    from assay.workbench.gold import validate_gold

    folder = samples() / "en"
    gold, findings = validate_gold(folder / "dataset.json", corpus=folder / "opinions")
    errors = sum(finding.level == "error" for finding in findings)
    say(
        f"1. The gold set: {len(gold.queries)} queries, {gold.judgments.height} judgments, "
        f"{errors} errors, {len(findings) - errors} flags for a person to look at",
        style="bold",
    )
    say(
        "2. Four engines answer the queries (the last is Assay's own; its first run builds an "
        "index)",
        style="bold",
    )
    scored = demo(output, searching)
    show(terminal.comparison({name: view(each.results) for name, each in scored.items()}))
    say("3. The scorecard of Assay's engine", style="bold")
    show(terminal.scorecard(view(scored["assay"].results)))
    show(terminal.next_steps(output, folder))

"""`assay gold agreement` and `assay gold export`; `cli/gold.py` takes them in by GOLD_COMMANDS."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import CORPUS, GoldFile
from assay.cli.output import Json, emit, say


class Compared(StrEnum):
    human = "human"
    machine = "machine"
    across = "across"


def agreement(
    dataset: Annotated[Path, typer.Argument(help="The gold set, with its votes beside it.")],
    judges: Annotated[
        str, typer.Option(help="Compare these judges only, as in ada,ben; of any kind.")
    ] = "",
    kind: Annotated[
        Compared | None,
        typer.Option(
            help="human, machine, or across: people against machines. Else the first "
            "of these that share a pair."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a page as .md.")
    ] = None,
    json: Json = False,
) -> None:
    """How far judges agree who judged apart: exact, kappas, Krippendorff's alpha, with intervals;
    by judge, topic, type and grade; who is strict, and who drifts."""
    from assay.reports.agreement import agreement_page
    from assay.workbench.agreeing import judges_agreement, stale_count, write_agreement
    from assay.workbench.outputs import refuse_output

    refuse_output(output, dataset)
    named = [name.strip() for name in judges.split(",") if name.strip()]
    agreed = judges_agreement(dataset, kind=kind.value if kind else None, judges=named)
    if output is not None:
        write_agreement(agreed, output)
        say(f"written to {output}")
    emit(agreed, lambda: agreement_page(agreed), json=json)
    if stale := stale_count(dataset):
        say(stale, style="yellow")


def export(
    dataset: GoldFile,
    to: Annotated[str, typer.Option(help="quepid, quepid-book, label-studio or argilla.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")],
    corpus: Annotated[
        Path | None, typer.Option(help=f"Where the texts of the documents are: {CORPUS}.")
    ] = None,
    judge: Annotated[str, typer.Option(help="Only what is dealt to this judge.")] = "",
    with_votes: Annotated[
        bool, typer.Option(help="Send every pair with its votes. Without this the file is blind.")
    ] = False,
    json: Json = False,
) -> None:
    """Write pairs for another tool to judge; `gold merge` brings back what was judged there."""
    from assay.core.types import counted
    from assay.workbench.exchanging import export_pairs

    done = export_pairs(dataset, output, to=to, corpus=corpus, judge=judge, with_votes=with_votes)
    emit(done, lambda: "\n".join(done.files), json=json)
    say(f"{counted(done.pairs, 'pair')} for {to}")
    if done.without_text:
        missing = counted(done.without_text, "pair")
        say(f"the corpus does not have the documents of {missing}", style="yellow")


GOLD_COMMANDS = (agreement, export)

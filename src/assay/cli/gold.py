"""`assay gold …`: gold sets.

Here are validate, stats, convert and perturb, whose verbs are in `workbench/gold.py`, and next,
whose verb is in `workbench/judge.py`; what it puts in a review queue goes through
`workbench/review.py`. The commands of the experts (bootstrap, promote, …) are in `cli/review.py`,
those that make a set (init, add, pool) in `cli/gold_making.py`, those of votes and labels (merge,
policy, adjudicate, sample) in `cli/gold_votes.py`; they come in by GOLD_COMMANDS."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import (
    gold_agreement,
    gold_machine,
    gold_making,
    gold_packet,
    gold_votes,
    review,
    rubric,
)
from assay.cli.options import CORPUS, GoldFile, On, StoreUrl
from assay.cli.output import Json, emit, put, say, tell

if TYPE_CHECKING:
    from assay.core.results import Pair
    from assay.workbench.suggestions import AskedPair

app = typer.Typer(
    help="Gold sets: make, judge, check, look at, convert, perturb.", no_args_is_help=True
)


@app.command()
def validate(
    dataset: GoldFile,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Check every id and expectation against this corpus: {CORPUS}. ROWS=CORPUS "
            "for the rows of one corpus, repeat.",
            metavar="CORPUS",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit with 1 if there are flags.")] = False,
    json: Json = False,
) -> None:
    """Check a gold set: references, texts, what is unjudged, the rubric's checklist, targets."""
    import msgspec

    from assay.core.types import counted
    from assay.reports import listing
    from assay.workbench import gold

    pooled = None if corpus else gold.corpus_pooled_from(dataset)
    checked_set, findings = gold.validate_gold(dataset, corpus=pooled, corpora=corpus or ())
    note = gold.machine_note_of(checked_set)
    errors = sum(finding.level == "error" for finding in findings)
    summary = {
        "name": checked_set.name,
        "errors": errors,
        "flags": len(findings) - errors,
        "findings": msgspec.to_builtins(findings),
    } | ({"note": note} if note else {})
    emit(summary, lambda: listing.findings_table(findings), json=json)
    checked = gold.is_checked(dataset, checked_set, corpus or ())
    unchecked = "" if checked else " (references not checked: give --corpus)"
    counts = f"{counted(errors, 'error')}, {counted(len(findings) - errors, 'flag')}"
    say(f"{checked_set.name}: {counts}{unchecked}")
    if note:
        say(f"note: the set is {note}", style="yellow")
    if errors:
        sys.exit(2)
    if strict and findings:
        sys.exit(1)


@app.command()
def stats(dataset: GoldFile, json: Json = False) -> None:
    """Show what is in a gold set: topics, types, grades, judgments per query."""
    from assay.reports import listing
    from assay.workbench import gold

    stats = gold.gold_stats(dataset)
    emit(stats, lambda: listing.stats_table(stats), json=json)
    if stale := gold.stale_count(dataset):
        say(stale, style="yellow")


@app.command()
def convert(
    dataset: Annotated[Path, typer.Argument(help="The gold set to read.")],
    output: Annotated[Path, typer.Argument(help="Where to write; the ending names the format.")],
    source_format: Annotated[
        str | None, typer.Option("--from", help="json, golden, jsonl, csv, trec, beir or quepid.")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="json, golden, jsonl, csv, trec, beir or quepid.")
    ] = None,
    rubric: Annotated[
        str,
        typer.Option(
            help="The rubric it was judged by, if the set does not say: a name or a file."
        ),
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite even judgments that the set does not have.")
    ] = False,
    json: Json = False,
) -> None:
    """Convert a gold set to another format, and say what that format cannot hold."""
    from assay.workbench import gold

    written, lost = gold.convert_gold(
        dataset,
        output,
        source_format=source_format,
        target_format=target_format,
        rubric=rubric,
        replace_judgments=replace,
    )
    if json:
        answer = {"files": [str(path) for path in written], "not_kept": list(lost)}
        emit(answer, lambda: None, json=True)
    else:
        put("\n".join(map(str, written)))
    say(
        f"not kept by this format: {'; '.join(lost)}" if lost else "nothing lost",
        style="yellow" if lost else "green",
    )


@app.command("next")
def next_(
    first: Annotated[Path, typer.Argument(help="A results file.")],
    second: Annotated[
        Path | None, typer.Argument(help="Another one: is it better than the first?")
    ] = None,
    primary: Annotated[str, typer.Option(help="The measure that decides.")] = "nDCG@10",
    threshold: Annotated[
        float | None, typer.Option(help="With one file: does it reach this value?")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many pairs to show, or to queue.")] = 20,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all pairs as .csv or .json.")
    ] = None,
    queue: Annotated[
        Path | None, typer.Option(help="Put the pairs shown in the review queue of this gold set.")
    ] = None,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """List the documents whose judgment would settle a decision soonest."""
    from assay.reports import listing
    from assay.workbench import judge, suggestions
    from assay.workbench.opening import open_service
    from assay.workbench.outputs import refuse_outputs
    from assay.workbench.sparing import spare_judgments

    refuse_outputs(output)
    if output is not None and output.suffix == ".csv":
        spare_judgments(output)
    decision = judge.next_pairs(first, second, measure=primary, threshold=threshold)
    if output is not None:
        judge.write_pairs(decision, output)
        say(f"{len(decision.pairs)} pairs written to {output}")
    if queue is not None:
        pairs = _asked(decision.pairs[:limit])
        with open_service(store, gold=[queue]) as service:
            new = suggestions.queue_pairs(service, queue, pairs)
        say(f"{new} new pairs wait for review; `assay serve --gold {queue}` shows them")
    emit(decision, lambda: listing.decision_page(decision, limit), json=json)


def _asked(pairs: Sequence[Pair]) -> list[AskedPair]:
    from assay.workbench.suggestions import AskedPair

    return [
        AskedPair(query_id=pair.query_id, doc_id=pair.doc_id, narrowing=pair.narrowing)
        for pair in pairs
    ]


@app.command()
def perturb(
    dataset: Annotated[Path, typer.Argument(help="A golden set.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the set with its variants goes.")
    ],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="A perturbation or family; repeat for more. Default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same variants.")] = 0,
    language: Annotated[
        str | None, typer.Option(help="fi, en or he. By default the language of the questions.")
    ] = None,
    only_variants: Annotated[
        bool, typer.Option(help="Leave the questions themselves out.")
    ] = False,
    on: On = "",
    json: Json = False,
) -> None:
    """Make adversarial variants: typos, split compounds, mixed language, colloquial wording,
    prefixes."""
    from assay.core import cluster
    from assay.workbench import gold

    with cluster.on(on):
        questions, variants = gold.perturb_gold(
            dataset,
            output,
            kinds=kind or (),
            seed=seed,
            language=language,
            parents=not only_variants,
        )
    asked = f" and {questions} questions" if questions else ""
    made = {"output": str(output), "variants": variants, "questions": questions}
    tell(made, f"{variants} variants{asked} written to {output}", json=json)


for commands in (
    gold_agreement,
    gold_machine,
    gold_making,
    gold_packet,
    gold_votes,
    review,
    rubric,
):
    for command in commands.GOLD_COMMANDS:
        app.command()(command)

"""`assay gold …`: gold sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import desk
from assay.cli.output import Json, emit, say
from assay.core.errors import UsageError

app = typer.Typer(
    help="Gold sets: validate, look at, convert, judge, perturb.", no_args_is_help=True
)

GoldFile = Annotated[Path, typer.Argument(help="The gold set.")]


@app.command()
def validate(
    dataset: GoldFile,
    corpus: Annotated[
        Path | None, typer.Option(help="Check every id and expectation against this corpus.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Flags fail too.")] = False,
    json: Json = False,
) -> None:
    """Check a gold set: references, uniqueness, the rubric's checklist, the target distribution."""
    import msgspec

    from assay.core.types import counted
    from assay.reports import listing
    from assay.workbench import gold

    checked_set, findings = gold.validate_gold(dataset, corpus=corpus)
    errors = sum(finding.level == "error" for finding in findings)
    data = {
        "name": checked_set.name,
        "errors": errors,
        "flags": len(findings) - errors,
        "findings": msgspec.to_builtins(findings),
    }
    emit(data, lambda: listing.findings_table(findings), json=json)
    checked = "" if corpus else " (references not checked: give --corpus)"
    say(
        f"{checked_set.name}: {counted(errors, 'error')}, {counted(len(findings) - errors, 'flag')}{checked}"
    )
    if errors:
        sys.exit(2)
    if strict and findings:
        sys.exit(1)


@app.command()
def stats(dataset: GoldFile, json: Json = False) -> None:
    """Show the picture of a gold set: topics, types, grades, judgments per query."""
    from assay.reports import listing
    from assay.workbench import gold

    data = gold.gold_stats(dataset)
    emit(data, lambda: listing.stats_table(data), json=json)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="The gold set to read.")],
    target: Annotated[Path, typer.Argument(help="Where to write; the ending names the format.")],
    source_format: Annotated[
        str | None, typer.Option("--from", help="json, golden, jsonl, csv, trec or beir.")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="json, golden, jsonl, csv, trec or beir.")
    ] = None,
) -> None:
    """Convert a gold set to another format, and say what that format cannot hold."""
    from assay.workbench import gold

    written, lost = gold.convert_gold(
        source, target, source_format=source_format, target_format=target_format
    )
    for path in written:
        typer.echo(str(path))
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
    measure: Annotated[
        str, typer.Option("--measure", "-m", help="Decide by this measure.")
    ] = "nDCG@10",
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
    store: desk.StoreUrl = "",
    json: Json = False,
) -> None:
    """The pairs whose judgment is worth most for the decision at hand."""
    from msgspec import to_builtins

    from assay.reports import listing
    from assay.workbench import judge
    from assay.workbench.desk import open_desk
    from assay.workbench.outputs import refuse_outputs

    refuse_outputs(output)
    data = judge.next_pairs(first, second, measure=measure, threshold=threshold)
    if output is not None:
        judge.write_pairs(data, output)
        say(f"{len(data.pairs)} pairs written to {output}")
    if queue is not None:
        with open_desk(store, gold=[queue]) as desk:
            new = judge.queue_pairs(desk, queue, data.pairs[:limit])
        say(f"{new} new pairs wait for review; `assay serve --gold {queue}` shows them")
    emit(data, lambda: listing.decision_page(to_builtins(data), limit), json=json)


@app.command()
def pool(
    results: Annotated[list[Path], typer.Argument(help="Results files on one gold set.")],
    depth: Annotated[int, typer.Option(min=1, help="How deep to look into each run.")] = 10,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the pairs as .csv or .json.")
    ] = None,
    queue: Annotated[
        Path | None, typer.Option(help="Put the pairs in the review queue of this gold set.")
    ] = None,
    store: desk.StoreUrl = "",
    json: Json = False,
) -> None:
    """Pool the top of several runs: the unjudged pairs to judge so that all of them are scored
    alike."""
    from msgspec import to_builtins

    from assay.reports import listing
    from assay.workbench import judge
    from assay.workbench.desk import open_desk
    from assay.workbench.outputs import refuse_outputs

    refuse_outputs(output)
    data = judge.pool_pairs(results, depth=depth)
    if output is not None:
        judge.write_pairs(data, output, source="gold pool")
        say(f"{len(data.pairs)} pairs written to {output}")
    if queue is not None:
        with open_desk(store, gold=[queue]) as desk:
            new = judge.queue_pairs(desk, queue, data.pairs, source="gold pool")
        say(f"{new} new pairs wait for review; `assay serve --gold {queue}` shows them")
    emit(
        data,
        lambda: listing.plain_table(to_builtins(data.pairs), ("query_id", "doc_id", "runs")),
        json=json,
    )
    if output is None and queue is None:
        say(f"{len(data.pairs)} unjudged pairs; --output or --queue gives them to a judge")


@app.command()
def merge(
    dataset: GoldFile,
    judgments: Annotated[
        list[Path] | None,
        typer.Argument(help="CSV files of `gold next`, filled in; none: the review page's votes."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="Who judged, where a file does not say.", show_default="you")
    ] = "",
    replace: Annotated[
        bool, typer.Option(help="A new grade takes the place of a known one, and names it.")
    ] = False,
    store: desk.StoreUrl = "",
    json: Json = False,
) -> None:
    """Bring what was judged into the gold set: new pairs are added, disagreements are reported."""
    from msgspec import to_builtins

    from assay.reports import listing
    from assay.workbench import baseline, judge
    from assay.workbench.desk import NoStore, open_desk

    if judgments:
        data = judge.merge_judgments(
            dataset, judgments, by=baseline.who_records(by), replace=replace
        )
    else:
        try:
            with open_desk(store, create=False) as desk:
                data = judge.merge_votes(desk, dataset, replace=replace)
        except NoStore as error:
            raise UsageError(
                "nobody has voted on a review page here, and no file of judgments is given",
                hint="assay gold next writes one to fill in.",
            ) from error
    emit(
        data,
        lambda: listing.key_values(to_builtins(data) | {"conflicts": len(data.conflicts)}),
        json=json,
    )
    for conflict in data.conflicts:
        say(f"conflict: {conflict}", style="yellow")
    if data.conflicts:
        say(
            "nothing was written for these; correct the file, or let the new grades stand with --replace"
        )
        sys.exit(1)


@app.command()
def perturb(
    source: Annotated[Path, typer.Argument(help="A golden set.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the set with its variants goes.")
    ],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="A perturbation or family; repeat for more. Default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same variants.")] = 0,
    language: Annotated[
        str | None, typer.Option(help="fi, en or he; else what the questions say.")
    ] = None,
    only_variants: Annotated[
        bool, typer.Option(help="Leave the questions themselves out.")
    ] = False,
) -> None:
    """Make adversarial variants: typos, split compounds, mixed language, colloquial wording,
    prefixes."""
    from assay.workbench import gold

    questions, variants = gold.perturb_gold(
        source, output, kinds=kind or (), seed=seed, language=language, parents=not only_variants
    )
    say(
        f"{variants} variants{f' and {questions} questions' if questions else ''} written to {output}"
    )


for expert_command in (
    desk.bootstrap,
    desk.promote,
    desk.correct,
    desk.reject,
    desk.reopen,
    desk.withdraw,
):
    app.command()(expert_command)


def rubric(name: Annotated[str, typer.Argument(help="Which rubric.")] = "fppc-relevance-1") -> None:
    """Print the relevance rubric as a page for judges."""
    from assay.workbench import gold

    typer.echo(gold.rubric_page(name))

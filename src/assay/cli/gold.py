"""`assay gold …`: commands on gold sets.

Here are the commands that make a set, check it, convert it and pass it on. Commands of votes and
labels are in `gold_votes.py`, `judge` in `machine.py`, and those of the review queue in
`review.py`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import gold_votes, machine, review
from assay.cli.options import (
    CORPUS,
    GoldFile,
    On,
    StoreUrl,
    opened,
)
from assay.cli.output import Json, emit, is_in_start, put, say, searching, tell, warn
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.workbench.judging.pool import PoolRequest
    from assay.workbench.judging.set_edits import ChangedSet, LocatedQuery

# ── `assay gold agreement` and `assay gold export` ────────────────────────────────────────────────


class ComparedKind(StrEnum):
    human = "human"
    machine = "machine"
    across = "across"


def agreement(
    dataset: Annotated[Path, typer.Argument(help="The gold set, with its votes beside it.")],
    judges: Annotated[
        str, typer.Option(help="Compare only these judges, of any kind, such as ada,ben.")
    ] = "",
    kind: Annotated[
        ComparedKind | None,
        typer.Option(
            help="human, machine, or across (people against machines). By default, the "
            "first that share a pair."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a Markdown page (.md).")
    ] = None,
    json: Json = False,
) -> None:
    """Show how far independent judges agree: exact, kappas, Krippendorff's alpha, with intervals;
    by judge, topic, type and grade; and which judges are strict or drift."""
    from assay.reports.agreement import AgreementPage
    from assay.workbench.judging.agreement import judges_agreement, write_agreement
    from assay.workbench.project.output_files import refuse_output
    from assay.workbench.scoring.request import stale_count

    refuse_output(output, dataset)
    named = [name.strip() for name in judges.split(",") if name.strip()]
    agreed = judges_agreement(dataset, kind=kind.value if kind else None, judges=named)
    if output is not None:
        write_agreement(agreed, output)
        say(f"written to {output}")
    emit(agreed, lambda: AgreementPage(agreed), json=json)
    if stale := stale_count(dataset):
        warn(stale)


def export(
    dataset: GoldFile,
    to: Annotated[str, typer.Option(help="quepid, quepid-book, label-studio or argilla.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    corpus: Annotated[
        Path | None, typer.Option(help=f"Where the texts of the documents are: {CORPUS}.")
    ] = None,
    judge: Annotated[str, typer.Option(help="Only pairs assigned to this judge.")] = "",
    with_votes: Annotated[
        bool, typer.Option(help="Send every pair with its votes. Without this the file is blind.")
    ] = False,
    json: Json = False,
) -> None:
    """Write pairs for another tool to judge; `gold merge` imports the votes."""
    from assay.core.types import counted
    from assay.workbench.judging.packets import export_pairs

    done = export_pairs(dataset, output, to=to, corpus=corpus, judge=judge, with_votes=with_votes)
    emit(done, lambda: "\n".join(done.files), json=json)
    say(f"{counted(done.pairs, 'pair')} for {to}")
    if done.without_text:
        missing = counted(done.without_text, "pair")
        warn(f"the corpus does not have the documents of {missing}")


# ── `assay gold packet` ───────────────────────────────────────────────────────────────────────────


def packet(
    dataset: Annotated[Path, typer.Argument(help="The gold set; its pool is beside it.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The packet: .html, .jsonl or .csv.")
    ],
    judge: Annotated[
        str,
        typer.Option(
            help="Only pairs assigned to this judge. By default, pairs that nobody has judged."
        ),
    ] = "",
    corpus: Annotated[
        str, typer.Option(help=f"Where the documents are: {CORPUS}.", show_default="the pool's")
    ] = "",
    query: Annotated[
        list[str] | None, typer.Option(help="Only this query; repeat for more.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge at most this many pairs.")] = None,
    language: Annotated[
        str,
        typer.Option(
            help="The language of the page: en, fi or he.", show_default="that of the queries"
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Write one self-contained file for a judge: the rubric, the queries and the documents. It is
    blind: no engine, rank, score, or vote of others. HTML works by keyboard, from disk."""
    from assay.core.types import counted
    from assay.reports import listing
    from assay.workbench.judging.packets import write_packet

    packed = write_packet(
        dataset,
        output,
        judge=judge,
        corpus=corpus,
        queries=query or (),
        limit=limit,
        language=language,
    )
    emit(packed, lambda: listing.nonzero_values(packed, notes=""), json=json)
    for note in packed.notes:
        warn(note)
    if not packed.pairs:
        whose = f" for {packed.judge}" if packed.judge else ""
        say(f"nothing is left to judge{whose}: no file was written")
        return
    what = f"{counted(packed.pairs, 'pair')} on {counted(packed.queries, 'query')}"
    say(f"{what} written to {packed.packet}; {packed.left:,} left after them")


# ── `assay gold rubric` ───────────────────────────────────────────────────────────────────────────


def rubric(
    name: Annotated[
        str,
        typer.Argument(
            help="A rubric, or its .toml file; 'new' copies one to edit.",
            show_default="relevance-1",
        ),
    ] = "",
    copy: Annotated[str, typer.Argument(help="With 'new': the name of the copy.")] = "",
    from_: Annotated[
        str, typer.Option("--from", help="With 'new': the rubric to copy.")
    ] = "relevance-1",
    list_: Annotated[
        bool, typer.Option("--list", help="List the rubrics of the project and the shipped ones.")
    ] = False,
    json: Json = False,
) -> None:
    """Print a relevance rubric as a page for judges, list them, or copy one to edit."""
    from assay.reports import listing
    from assay.workbench.judging import gold_sets

    if name == "new":
        path = gold_sets.new_rubric(copy, from_)
        note = f"{path} written. Edit it; then: assay gold init set.json --rubric {copy}"
        tell({"rubric": copy, "path": str(path)}, note, json=json)
    elif copy:
        raise UsageError(f"only 'new' takes a second name, not {name!r}")
    elif list_:
        found = gold_sets.rubric_list()
        emit(found, lambda: listing.plain_table(found, ("name", "origin", "about")), json=json)
    elif json:
        emit(gold_sets.rubric_object(name), lambda: "", json=True)
    else:
        put(gold_sets.rubric_page(name))


# ── `assay gold validate`, `stats`, `convert`, `next` and `perturb` ───────────────────────────────

app = typer.Typer(
    help="Gold sets: create, judge, check, inspect, convert, perturb.", no_args_is_help=True
)


@app.command()
def validate(
    dataset: GoldFile,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Check every id and expectation against this corpus: {CORPUS}. ROWS=CORPUS "
            "for the rows of one corpus; repeat for more.",
            metavar="CORPUS",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit with 1 if there are flags.")] = False,
    json: Json = False,
) -> None:
    """Check a gold set: references, texts, unjudged documents, the rubric's checklist, targets."""
    import msgspec

    from assay.core.types import counted
    from assay.reports import listing
    from assay.workbench.judging import gold_sets

    pooled = None if corpus else gold_sets.pooled_corpus(dataset)
    checked_set, findings = gold_sets.validate_gold(dataset, corpus=pooled, corpora=corpus or ())
    note = gold_sets.machine_note_of(checked_set)
    levels = [finding.level for finding in findings]
    errors, flags = levels.count("error"), levels.count("flag")
    summary = {
        "name": checked_set.name,
        "errors": errors,
        "flags": flags,
        "findings": msgspec.to_builtins(findings),
    } | ({"note": note} if note else {})
    emit(summary, lambda: listing.findings_table(findings), json=json)
    checked = gold_sets.is_checked(dataset, checked_set, corpus or ())
    unchecked = "" if checked else " (references not checked: give --corpus)"
    counts = f"{counted(errors, 'error')}, {counted(flags, 'flag')}"
    say(f"{checked_set.name}: {counts}{unchecked}")
    for warning in gold_sets.log_warnings(dataset):
        warn(warning)
    if note:
        warn(f"note: the set is {note}")
    if errors:
        sys.exit(2)
    if strict and flags:
        sys.exit(1)


@app.command()
def stats(dataset: GoldFile, json: Json = False) -> None:
    """Summarize a gold set: topics, types, grades, judgments per query."""
    from assay.reports import listing
    from assay.workbench.judging import gold_sets

    stats = gold_sets.gold_stats(dataset)
    emit(stats, lambda: listing.stats_table(stats), json=json)
    if stale := gold_sets.stale_count(dataset):
        warn(stale)


@app.command()
def convert(
    dataset: Annotated[Path, typer.Argument(help="The gold set to read.")],
    output: Annotated[
        Path, typer.Argument(help="The file to write. Its extension sets the format.")
    ],
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
    """Convert a gold set to another format, and report what that format cannot hold."""
    from assay.workbench.judging import gold_sets

    written, lost = gold_sets.convert_gold(
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
        Path | None, typer.Argument(help="Another results file, to test whether it is better.")
    ] = None,
    primary: Annotated[str, typer.Option(help="The measure that decides.")] = "nDCG@10",
    threshold: Annotated[
        float | None, typer.Option(help="With one file: the value to reach.")
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
    from assay.workbench.judging import next
    from assay.workbench.judging.packets import spare_judgments
    from assay.workbench.project.output_files import refuse_outputs
    from assay.workbench.project.service import open_service
    from assay.workbench.review import suggestions

    refuse_outputs(output)
    if output is not None and output.suffix == ".csv":
        spare_judgments(output)
    decision = next.next_pairs(first, second, measure=primary, threshold=threshold)
    if output is not None:
        next.write_pairs(decision, output)
        say(f"{len(decision.pairs)} pairs written to {output}")
    if queue is not None:
        pairs = [
            suggestions.AskedPair(
                query_id=pair.query_id, doc_id=pair.doc_id, narrowing=pair.narrowing
            )
            for pair in decision.pairs[:limit]
        ]
        with open_service(store, gold=[queue]) as service:
            new = suggestions.queue_pairs(service, queue, pairs)
        say(f"{new} new pairs wait for review; `assay serve --gold {queue}` shows them")
    emit(decision, lambda: listing.decision_page(decision, limit), json=json)


@app.command()
def perturb(
    dataset: Annotated[Path, typer.Argument(help="A golden set.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file for the set with its variants.")
    ],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="A perturbation or family; repeat for more. Default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same variants.")] = 0,
    language: Annotated[
        str | None, typer.Option(help="fi, en or he. By default the language of the questions.")
    ] = None,
    only_variants: Annotated[bool, typer.Option(help="Leave out the original questions.")] = False,
    on: On = "",
    json: Json = False,
) -> None:
    """Make adversarial variants: typos, split compounds, mixed language, colloquial wording,
    prefixes."""
    from assay.core import cluster
    from assay.workbench.judging import gold_sets

    with cluster.use_cluster(on):
        questions, variants = gold_sets.perturb_gold(
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


# ── `assay gold init`, `add` and `pool` ───────────────────────────────────────────────────────────

LOGS = "logs"
LOGGED = 50  # queries taken from the search log, where nothing else is asked; taste

Corpus = Annotated[Path | None, typer.Option(help=f"Where the documents are: {CORPUS}.")]


Pooled = Annotated[list[Path], typer.Argument(help="The gold set. It need not be judged.")]
Engines = Annotated[
    list[str] | None,
    typer.Option(
        help="An indexed corpus, bm25, bm25-forms or random (with --corpus), or an engine of "
        "assay.toml; "
        "repeat for more."
    ),
]
Runs = Annotated[
    list[Path] | None,
    typer.Option(help="Saved results: results JSON, TREC run or BEIR JSON; repeat for more."),
]
Modules = Annotated[
    list[str] | None,
    typer.Option(help="Your engine: path.to.module, module:Class or file.py; repeat for more."),
]
Cited = Annotated[
    bool, typer.Option(help="Also pool documents that the top results cite or are cited by.")
]
Depth = Annotated[int, typer.Option(min=1, help="How many results to take from each system.")]
Judges = Annotated[str, typer.Option(help="Assign the pairs to these judges, such as anna,bertil.")]
Overlap = Annotated[
    float | None,
    typer.Option(help="The share of pairs that goes to two judges, 0 to 1.", show_default="0"),
]
Seed = Annotated[
    int | None,
    typer.Option(help="The seed of the random order and the assignment.", show_default="0"),
]
Pairs = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the pairs to judge as .csv or .json.")
]
Queued = Annotated[bool, typer.Option("--queue", help="Add the pending pairs to the review queue.")]


def init(
    dataset: Annotated[Path, typer.Argument(help="The set to make, a .json.")],
    rubric: Annotated[
        str, typer.Option(help="The rubric it is judged by: a name or a file.")
    ] = "relevance-1",
    taxonomy: Annotated[
        Path | None, typer.Option(help="A JSON file of topics and their legal issues.")
    ] = None,
    queries: Annotated[
        str,
        typer.Option(help="A .txt with one query per line, a .csv, or 'logs' for logged searches."),
    ] = "",
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="With logs: how many queries.", show_default=str(LOGGED)),
    ] = None,
    name: Annotated[
        str, typer.Option(help="The name of the set.", show_default="the file name")
    ] = "",
    description: Annotated[str, typer.Option(help="The purpose of the set.")] = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Create a gold set of queries without judgments."""
    from assay.workbench.judging import set_edits

    if limit is not None and queries != LOGS:
        raise UsageError("--limit requires --queries logs")
    found = _queries(queries, limit or LOGGED, store)
    made = set_edits.init_gold(
        dataset, found, rubric=rubric, taxonomy=taxonomy, name=name, description=description
    )
    _print_made(made, json=json)


def _queries(source: str, limit: int, store: str) -> list[LocatedQuery]:
    from assay.workbench.judging import set_edits

    if not source:
        return []
    if source == LOGS:
        with review.log_source(store, read_only=True) as logs:
            return set_edits.logged_queries(logs, limit=limit)
    return set_edits.read_queries(Path(source))


def _print_made(made: ChangedSet, *, json: bool) -> None:
    from assay.core.types import counted

    emit(made, lambda: " ".join(made.added) or "no queries", json=json)
    if made.queries:
        then = "" if is_in_start() else f"; next: assay gold pool {made.gold} …"
        say(f"{made.gold}: {counted(made.queries, 'query')}{then}")
    else:
        say(f"{made.gold}: no queries yet; next: assay gold add {made.gold} --query TEXT")


def add(
    dataset: GoldFile,
    query: Annotated[str, typer.Option(help="The text of a query to add.")] = "",
    source: Annotated[
        Path | None, typer.Option("--from", help="Add the queries of a .txt or .csv.")
    ] = None,
    id: Annotated[
        str, typer.Option(help="The id of the query.", show_default="the next number")
    ] = "",
    type: Annotated[
        str, typer.Option(help="The type of the query: keyword, natural_language or fact_pattern.")
    ] = "",
    topic: Annotated[str, typer.Option(help="The topic of the query.")] = "",
    issue: Annotated[str, typer.Option(help="The legal issue of the query.")] = "",
    notes: Annotated[str, typer.Option(help="What the query tests. Judges do not see it.")] = "",
    document: Annotated[str, typer.Option(help="A document to have judged.")] = "",
    for_query: Annotated[
        str, typer.Option("--for", help="With --document: the id of the query.")
    ] = "",
    why: Annotated[
        str, typer.Option(help="With --document: the reason. Judges do not see it.")
    ] = "",
    remove: Annotated[
        bool, typer.Option("--remove", help="With --document: remove the pair.")
    ] = False,
    corpus: Corpus = None,
    json: Json = False,
) -> None:
    """Add a query to a set (--query, or several with --from), or a document to judge (--document
    and --for)."""
    from assay.core.types import Query
    from assay.workbench.judging import set_edits

    if sum(map(bool, (query, source, document))) != 1:
        raise UsageError("give one of --query TEXT, --from FILE, or --document ID --for QUERY_ID")
    if not query:
        about = {"id": id, "type": type, "topic": topic, "issue": issue, "notes": notes}
        _refuse_foreign(about, "--query")
    if not document:
        pair_of = {"for": for_query, "why": why, "corpus": corpus, "remove": remove}
        _refuse_foreign(pair_of, "--document")
        new_query = Query(id=id, text=query, type=type, topic=topic, issue=issue, notes=notes)
        found = set_edits.read_queries(source) if source is not None else [("--query", new_query)]
        _print_made(set_edits.add_queries(dataset, found), json=json)
        return
    if not for_query:
        raise UsageError("name the query: --for QUERY_ID")
    if remove:
        gone = set_edits.remove_document(dataset, for_query, document)
        emit(gone, lambda: f"{document} on {for_query}", json=json)
        say("no longer asked for")
        return
    pair = set_edits.add_document(dataset, for_query, document, why=why, corpus=corpus, say=say)
    emit(pair, lambda: f"{document} on {for_query}", json=json)
    asked = f", of {', '.join(pair.judges)}" if pair.judges else ""
    say(f"asked for{asked}; judges see it among the others")


def _refuse_foreign(options: Mapping[str, object], owner: str) -> None:
    for name, value in options.items():
        if value:
            raise UsageError(f"--{name} goes with {owner}")


def pool(
    dataset: Pooled,
    engine: Engines = None,
    run: Runs = None,
    search_module: Modules = None,
    corpus: Corpus = None,
    citations: Cited = False,
    depth: Depth = 10,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The approximate number of pairs for each judge. Results are taken as deep as "
            "this needs, and at most --depth.",
            show_default="all to --depth",
        ),
    ] = None,
    judges: Judges = "",
    overlap: Overlap = None,
    seed: Seed = None,
    output: Pairs = None,
    queue: Queued = False,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Pool the top results of several systems, so that all are scored by the same judgments. The
    pool is blind, stays beside the set, and is divided among the judges that you name."""
    from assay.workbench.judging import pool as pooling

    for path in dataset:
        pooling.refuse_results(path)
    if len(dataset) > 1:
        raise UsageError("give one gold set", hint="Saved results are given with --run.")
    request = pooling.PoolRequest(
        dataset=dataset[0],
        engines=tuple(engine or ()),
        search_modules=tuple(search_module or ()),
        runs=tuple(run or ()),
        corpus=corpus,
        citations=citations,
        depth=depth,
        pairs=pairs,
        judges=tuple(name.strip() for name in judges.split(",")) if judges else (),
        overlap=overlap,
        seed=seed,
        output=output,
    )
    _run_pool(request, queue=queue, store=store, json=json)


def _run_pool(request: PoolRequest, *, queue: bool, store: str, json: bool) -> None:
    from assay.reports import listing
    from assay.workbench.judging import pool as pooling

    pooled = pooling.pool_gold(request, progress=searching, say=say)
    emit(pooled, lambda: listing.key_values(pooled, pairs=len(pooled.pairs)), json=json)
    if request.output is not None:
        say(f"{pooled.waiting} pairs written to {request.output}")
    if queue:
        with opened(store, create=True, gold=[request.dataset]) as service:
            new = pooling.queue_pool(service, request.dataset, pooled)
        say(f"{new} new pairs wait for review; `assay serve --gold {request.dataset}` shows them")
    if not pooled.waiting:
        say("everything in the pool is judged")
    elif request.output is None and not queue and not is_in_start():
        whose = "--judge NAME -o NAME.html" if pooled.by_judge else "-o packet.html"
        say(f"next: assay gold packet {request.dataset} {whose}")


for command in (
    *(agreement, export, packet, rubric, init, add, pool, machine.judge),
    *gold_votes.GOLD_COMMANDS,
    *review.GOLD_COMMANDS,
):
    app.command()(command)

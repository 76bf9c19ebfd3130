"""The commands of `assay gold` that make a set: init, add and pool. `cli/gold.py` takes them in by
GOLD_COMMANDS; their verbs are in `workbench/making.py` and `workbench/pooling.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import CORPUS, GoldFile, StoreUrl, opened
from assay.cli.output import Json, emit, say, searching
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.workbench.making import Found, Made
    from assay.workbench.pooling import PoolRequest

LOGS = "logs"
LOGGED = 50  # queries taken from the search log, where nothing else is asked

Corpus = Annotated[Path | None, typer.Option(help=f"Where the documents are: {CORPUS}.")]


Pooled = Annotated[list[Path], typer.Argument(help="The gold set; nothing in it need be judged.")]
Engines = Annotated[
    list[str] | None,
    typer.Option(
        help="An indexed corpus, bm25 or random (with --corpus), or an engine of assay.toml; "
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
    bool, typer.Option(help="Also take what the documents on top cite, or are cited by.")
]
Depth = Annotated[int, typer.Option(min=1, help="How deep to look into each system.")]
Judges = Annotated[str, typer.Option(help="Deal the pairs to these, as in anna,bertil.")]
Overlap = Annotated[
    float | None,
    typer.Option(help="The share of pairs that goes to two judges, 0 to 1.", show_default="0"),
]
Seed = Annotated[
    int | None, typer.Option(help="Fixes the random order and the deal.", show_default="0")
]
Pairs = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the pairs to judge as .csv or .json.")
]
Queued = Annotated[bool, typer.Option("--queue", help="Put what waits in the review queue.")]


def init(
    dataset: Annotated[Path, typer.Argument(help="The set to make, a .json.")],
    rubric: Annotated[str, typer.Option(help="The rubric it is judged by: a name or a file.")],
    taxonomy: Annotated[
        Path | None, typer.Option(help="A JSON of topics and their legal issues.")
    ] = None,
    queries: Annotated[
        str,
        typer.Option(
            help="A .txt with one query a line, a .csv, or 'logs' for what people searched."
        ),
    ] = "",
    limit: Annotated[
        int | None, typer.Option(min=1, help="With logs: how many.", show_default=str(LOGGED))
    ] = None,
    name: Annotated[str, typer.Option(help="What to call it.", show_default="the file name")] = "",
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Make a gold set: queries, and nothing judged yet."""
    from assay.workbench import making

    if limit is not None and queries != LOGS:
        raise UsageError("--limit goes with --queries logs")
    found = _queries(queries, limit or LOGGED, store)
    made = making.init_gold(
        dataset, found, rubric=rubric, taxonomy=taxonomy, name=name, description=description
    )
    _tell(made, json=json)


def _queries(source: str, limit: int, store: str) -> list[Found]:
    from assay.workbench import making

    if not source:
        return []
    if source == LOGS:
        with opened(store, read_only=True) as service:
            return making.logged_queries(service, limit=limit)
    return making.listed(Path(source))


def _tell(made: Made, *, json: bool) -> None:
    from assay.core.types import counted

    emit(made, lambda: " ".join(made.added) or "no queries", json=json)
    if made.queries:
        say(f"{made.gold}: {counted(made.queries, 'query')}; next: assay gold pool {made.gold} …")
    else:
        say(f"{made.gold}: no queries yet; next: assay gold add {made.gold} --query TEXT")


def add(
    dataset: GoldFile,
    query: Annotated[str, typer.Option(help="The text of a query to add.")] = "",
    source: Annotated[
        Path | None, typer.Option("--from", help="Add the queries of a .txt or .csv.")
    ] = None,
    id: Annotated[str, typer.Option(help="Its id.", show_default="the next number")] = "",
    type: Annotated[
        str, typer.Option(help="Its type: keyword, natural_language or fact_pattern.")
    ] = "",
    topic: Annotated[str, typer.Option(help="Its topic.")] = "",
    issue: Annotated[str, typer.Option(help="Its legal issue.")] = "",
    notes: Annotated[str, typer.Option(help="What it tests; judges do not see it.")] = "",
    document: Annotated[str, typer.Option(help="A document to have judged.")] = "",
    for_query: Annotated[
        str, typer.Option("--for", help="With --document: the id of the query.")
    ] = "",
    why: Annotated[str, typer.Option(help="With --document: why; judges do not see it.")] = "",
    remove: Annotated[
        bool, typer.Option("--remove", help="With --document: take the pair out again.")
    ] = False,
    corpus: Corpus = None,
    json: Json = False,
) -> None:
    """Add a query to a set (--query, or several with --from), or a document to judge (--document
    and --for)."""
    from assay.core.types import Query
    from assay.workbench import making

    if sum(map(bool, (query, source, document))) != 1:
        raise UsageError("give one of --query TEXT, --from FILE, or --document ID --for QUERY_ID")
    if not query:
        about = {"id": id, "type": type, "topic": topic, "issue": issue, "notes": notes}
        _refuse_foreign(about, "--query")
    if not document:
        pair_of = {"for": for_query, "why": why, "corpus": corpus, "remove": remove}
        _refuse_foreign(pair_of, "--document")
        one = Query(id=id, text=query, type=type, topic=topic, issue=issue, notes=notes)
        found = making.listed(source) if source is not None else [("--query", one)]
        _tell(making.add_queries(dataset, found), json=json)
        return
    if not for_query:
        raise UsageError("say for which query: --for QUERY_ID")
    if remove:
        gone = making.remove_document(dataset, for_query, document)
        emit(gone, lambda: f"{document} on {for_query}", json=json)
        say("no longer asked for")
        return
    pair = making.add_document(dataset, for_query, document, why=why, corpus=corpus, say=say)
    emit(pair, lambda: f"{document} on {for_query}", json=json)
    asked = f", of {', '.join(pair.judges)}" if pair.judges else ""
    say(f"asked for{asked}; judges see it among the others")


def _refuse_foreign(given: Mapping[str, object], owner: str) -> None:
    for name, value in given.items():
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
    judges: Judges = "",
    overlap: Overlap = None,
    seed: Seed = None,
    output: Pairs = None,
    queue: Queued = False,
    store: StoreUrl = "",
    json: Json = False,
) -> None:
    """Pool what several systems have on top: the pairs to judge so that all are scored alike. Kept
    beside the set, blind, and dealt to judges where they are named."""
    from assay.workbench import pooling

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
        judges=tuple(name.strip() for name in judges.split(",")) if judges else (),
        overlap=overlap,
        seed=seed,
        output=output,
    )
    _pooled(request, queue=queue, store=store, json=json)


def _pooled(request: PoolRequest, *, queue: bool, store: str, json: bool) -> None:
    from assay.reports import listing
    from assay.workbench import pooling

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
    elif request.output is None and not queue:
        say(f"next: assay gold packet {request.dataset} gives what waits to the judges")


GOLD_COMMANDS = (init, add, pool)

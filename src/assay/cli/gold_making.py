"""The commands of `assay gold` that make a set and have a machine judge it: init, add, pool and
judge."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import CORPUS, GoldFile, StoreUrl, announce, ask_leave, opened, show_prompt
from assay.cli.output import Json, emit, progress_bar, say, searching
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.workbench.judging.machine_judges import JudgingOutcome, JudgingPlan
    from assay.workbench.judging.new_sets import ChangedSet, Found
    from assay.workbench.judging.pool import PoolRequest


# ── `assay gold judge` ────────────────────────────────────────────────────────────────────────────

EXIT = {"": 0, "refused": 2, "ceiling": 3, "outage": 4, "unusable": 4, "interrupted": 130}


def judge(
    dataset: GoldFile,
    by: Annotated[str, typer.Option("--by", help="The judge, by its name in assay.toml.")],
    judged: Annotated[
        bool, typer.Option(help="Judge what people have judged, to see how far they agree.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Ask once more where no answer was usable before.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge at most this many pairs.")] = None,
    corpus: Annotated[
        str,
        typer.Option(help=f"Where the documents are: {CORPUS}.", show_default="what was pooled"),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Send the texts without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the first prompt and the cost, send nothing.")
    ] = False,
    config: Annotated[Path | None, typer.Option(help="By default assay.toml.")] = None,
    json: Json = False,
) -> None:
    """Let a machine judge vote on the pairs of the pool that it has not judged.

    Its votes are kept apart from people's, and make no label unless the policy counts machines."""
    from assay.reports import listing
    from assay.workbench.deciding import baseline
    from assay.workbench.judging import machine_judges

    plan = machine_judges.plan_judging(
        dataset, by, config=config, corpus=corpus, judged=judged, again=again, limit=limit
    )
    _announce(plan)
    if dry_run:
        show_prompt(plan.to_send[0].request.messages if plan.to_send else ())
        return
    if plan.to_send and not yes:
        ask_leave()
    with progress_bar() as bar:
        done = machine_judges.judge_pairs(
            plan, by=baseline.who_records(""), tick=lambda n, of: _progress(bar, n, of)
        )
    emit(
        done,
        lambda: listing.key_values(
            done, unusable=len(done.unusable), spent=listing.spending(done.spent)
        ),
        json=json,
    )
    _say_end(done, plan)
    sys.exit(4 if done.unusable and not done.stopped else EXIT[done.stopped])


def _announce(plan: JudgingPlan) -> None:
    from assay.core.types import counted

    if plan.gone:
        say(f"{counted(plan.gone, 'pair')} left out: the set has their queries no more")
    in_vain = len(plan.unusable_before)
    if known := len(plan.items) - len(plan.to_send) - in_vain:
        say(f"{counted(known, 'answer')} known from before: nothing is sent for them")
    if in_vain:
        say(
            f"{counted(in_vain, 'pair')} got no usable answer before: nothing is sent for them; "
            "--again asks once more"
        )
    if plan.again:
        say(f"{plan.again} judged before, with another document, rubric or model: judged again")
    if not plan.to_send:
        announce("", plan.machine)
        return
    texts = f"{counted(plan.documents, 'document')} of corpus {plan.corpus}"
    pairs = f"{texts} for {counted(len(plan.to_send), 'pair')}"
    announce(f"{pairs}, {counted(plan.characters, 'character')} with the rubric", plan.machine)
    price = "without prices its cost is not known"
    if plan.cost is not None:
        price = f"about {plan.cost:,.4f} by the prices of the table"
    ceiling = plan.machine.max_cost
    most = f", at most {ceiling:,g}" if ceiling is not None else ""
    say(f"about {plan.tokens:,} tokens: {price}{most}")


def _progress(bar: Callable[[str, int, int], None], done: int, of: int) -> None:
    """A bar where somebody watches, else a line for every tenth."""
    if sys.stderr.isatty():
        bar("judging", done, of)
    elif done % max(1, of // 10) == 0 or done == of:
        say(f"{done} of {of} pairs")


def _say_end(done: JudgingOutcome, plan: JudgingPlan) -> None:
    from assay.core.types import counted

    for pair in done.unusable:
        say(f"no vote on {pair.doc_id} for {pair.query_id}: {pair.why}", style="yellow")
    kept = f"{counted(done.votes, 'vote')} kept, {counted(done.left, 'pair')} left"
    if done.stopped:
        worst = done.stopped in ("outage", "refused", "unusable")
        say(f"{'error: ' if worst else ''}stopped: {done.why}", style="red" if worst else "yellow")
        first = ""
        if done.stopped == "refused":
            first = f"mend the key or the table [judges.{done.judge}] in assay.toml; then "
        say(f"{kept}; {first}the same command goes on from there")
    else:
        say(kept)
    if done.changed_labels is not None:
        say(f"the policy counts machines: {counted(done.changed_labels, 'label')} changed")
    if done.votes and plan.people:
        say(f"assay gold agreement {plan.dataset} shows how far they agree with people's, by topic")


# ── `assay gold init`, `add` and `pool` ───────────────────────────────────────────────────────────

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
    from assay.workbench.judging import new_sets

    if limit is not None and queries != LOGS:
        raise UsageError("--limit goes with --queries logs")
    found = _queries(queries, limit or LOGGED, store)
    made = new_sets.init_gold(
        dataset, found, rubric=rubric, taxonomy=taxonomy, name=name, description=description
    )
    _print_made(made, json=json)


def _queries(source: str, limit: int, store: str) -> list[Found]:
    from assay.workbench.judging import new_sets

    if not source:
        return []
    if source == LOGS:
        with opened(store, read_only=True) as service:
            return new_sets.logged_queries(service, limit=limit)
    return new_sets.read_queries(Path(source))


def _print_made(made: ChangedSet, *, json: bool) -> None:
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
    from assay.workbench.judging import new_sets

    if sum(map(bool, (query, source, document))) != 1:
        raise UsageError("give one of --query TEXT, --from FILE, or --document ID --for QUERY_ID")
    if not query:
        about = {"id": id, "type": type, "topic": topic, "issue": issue, "notes": notes}
        _refuse_foreign(about, "--query")
    if not document:
        pair_of = {"for": for_query, "why": why, "corpus": corpus, "remove": remove}
        _refuse_foreign(pair_of, "--document")
        one = Query(id=id, text=query, type=type, topic=topic, issue=issue, notes=notes)
        found = new_sets.read_queries(source) if source is not None else [("--query", one)]
        _print_made(new_sets.add_queries(dataset, found), json=json)
        return
    if not for_query:
        raise UsageError("say for which query: --for QUERY_ID")
    if remove:
        gone = new_sets.remove_document(dataset, for_query, document)
        emit(gone, lambda: f"{document} on {for_query}", json=json)
        say("no longer asked for")
        return
    pair = new_sets.add_document(dataset, for_query, document, why=why, corpus=corpus, say=say)
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
        judges=tuple(name.strip() for name in judges.split(",")) if judges else (),
        overlap=overlap,
        seed=seed,
        output=output,
    )
    _pooled(request, queue=queue, store=store, json=json)


def _pooled(request: PoolRequest, *, queue: bool, store: str, json: bool) -> None:
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
    elif request.output is None and not queue:
        say(f"next: assay gold packet {request.dataset} gives what waits to the judges")


GOLD_COMMANDS = (init, add, pool, judge)

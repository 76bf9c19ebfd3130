"""`assay gold pool`: pool the top results of several systems for judges.

Everything is asked and checked before anything is written: a pool that lacks what one system found
would be unfair to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import EngineError, InputError, UsageError
from assay.core.files import read_json, sha256_of, write_atomic
from assay.core.results_file import encode
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Run, counted
from assay.corpus.disk import Corpus
from assay.corpus.lookup import FileIds, corpus_named, documents, is_corpus, require_corpus
from assay.engines.engine_table import EngineConfig
from assay.engines.running import BASELINES, ask_engine, corpus_of
from assay.formats.gold_jsonl import lock_gold_set
from assay.formats.spreadsheet import csv_text, guarded_row
from assay.gold.votes import PairKey
from assay.judging.labels import read_policy
from assay.judging.pool import (
    PEOPLE_ONLY,
    Pool,
    PooledPair,
    after_unsure,
    judged_pairs,
    pairs_left,
    pool_path,
    read_pool,
    with_judges,
    with_pairs,
    write_pool,
)
from assay.judging.votes import read_votes
from assay.workbench.judging.packets import spare_judgments
from assay.workbench.project.config import CONFIG_NAME, read_config
from assay.workbench.project.output_files import refuse_output, refuse_outputs
from assay.workbench.project.service import Service
from assay.workbench.review.suggestions import AskedPair, queue_pairs
from assay.workbench.scoring.request import Progress, Say, ignore_message, show_no_progress

SOURCE = "gold pool"
CITATIONS = "citations"


class PoolRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The systems to pool for a set, no deeper than `depth`, and with `pairs` only as deep as gives
    each judge so many. Judges, overlap and seed stay as they were unless given."""

    dataset: Path
    engines: tuple[str, ...] = ()
    search_modules: tuple[str, ...] = ()
    runs: tuple[Path, ...] = ()
    corpus: Path | None = None
    citations: bool = False
    depth: int = 10
    pairs: int | None = None
    judges: tuple[str, ...] = ()
    overlap: float | None = None
    seed: int | None = None
    output: Path | None = None


class PoolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of pooling. `found` pairs are in the top of any system; `judged` of them have a
    grade, `new` were not in the pool. `pairs` are all that are left to judge."""

    gold: str
    pool: str
    systems: list[str]
    depth: int
    found: int
    judged: int
    new: int
    waiting: int
    by_judge: dict[str, int]
    by_two: int
    pairs: list[PooledPair]


@dataclass(frozen=True, kw_only=True)
class _System:
    """An engine or saved run to pool, by its name in the pool."""

    name: str
    choice: EngineConfig | None = None
    run: Path | None = None


def pool_gold(
    request: PoolRequest,
    *,
    progress: Progress = show_no_progress,
    say: Say = ignore_message,
) -> PoolOutcome:
    """Pool, deal, and write STEM.pool.json (and the pairs that wait, where an output is given)."""
    refuse_results(request.dataset)
    _refuse_request(request)
    gold = formats.read_gold(request.dataset)
    if not gold.queries:
        raise InputError(
            "the set has no queries",
            where=str(request.dataset),
            hint=f"Add them first: assay gold add {request.dataset} --query TEXT",
        )
    systems = list(_systems(request))
    corpus = _corpus_searched(request, systems)
    known = known_ids(corpus) if corpus is not None else None
    tops = [(each.name, _top_documents(each, gold, request, progress, say)) for each in systems]
    if request.pairs is not None:
        request = msgspec.structs.replace(request, depth=_depth_for(request, tops, known))
        tops = _cut_tops(tops, request.depth)
    if request.citations:
        tops.append((CITATIONS, _cited_documents([top for _, top in tops], corpus, request.depth)))
    found = _found_pairs(tops, known, say)
    with lock_gold_set(request.dataset):
        described = _describe_pool(request, tops, corpus, say)
        if known is not None:
            described = _without_unknown(described, known, request.dataset, say)
        return _write_pooled(request, gold, found, described)


# ── what is asked for ─────────────────────────────────────────────────────────────────────────────


def refuse_results(path: Path) -> None:
    """Refuse a results file, which the command once took in place of the set."""
    if path.suffix != ".json" or not path.is_file():
        return
    content = read_json(path)
    if isinstance(content, dict) and "per_query" in content:
        raise UsageError(
            "this is a results file, but a gold set is expected here",
            where=str(path),
            hint=f"Give results with --run: assay gold pool DATASET --run {path}",
        )


def _refuse_request(request: PoolRequest) -> None:
    if not (request.engines or request.search_modules or request.runs):
        raise UsageError(
            "there is nothing to pool",
            hint="Name the engines to pool: --engine NAME, --search-module MODULE or --run FILE.",
        )
    if request.depth < 1:
        raise UsageError("the depth must be 1 or more")
    if request.overlap is not None and not 0 <= request.overlap <= 1:
        raise UsageError(
            f"the overlap must be a share from 0 to 1, not {request.overlap:g}",
            hint="--overlap 0.2 assigns every fifth pair to two judges.",
        )
    before = read_pool(request.dataset)
    judges = request.judges or (before.judges if before else ())
    if len(set(judges)) < len(judges) or any(not name.strip() for name in judges):
        raise UsageError(f"every judge needs a different name: {', '.join(judges)}")
    kept_overlap = before.overlap if before else 0.0
    overlap = request.overlap if request.overlap is not None else kept_overlap
    if overlap and len(judges) < 2:
        raise UsageError(
            f"an overlap of {overlap:g} needs two judges or more",
            hint="Name them, as in --judges anna,bertil, or give --overlap 0.",
        )
    if request.output is not None and request.output.suffix not in (".csv", ".json"):
        ending = request.output.suffix or "without an ending"
        raise UsageError(
            f"pairs must be written as .csv or .json, not {ending}", where=str(request.output)
        )
    refuse_output(request.output, request.dataset, request.corpus, *request.runs)
    if request.output is not None and request.output.suffix == ".csv":
        spare_judgments(request.output)
    refuse_outputs(pool_path(request.dataset))
    if request.corpus is not None:
        require_corpus(request.corpus)


def _systems(request: PoolRequest) -> Iterator[_System]:
    """Every system once, by a name of its own."""
    config = read_config(Path(CONFIG_NAME)) if Path(CONFIG_NAME).exists() else None
    named: dict[str, _System] = {}
    for name in dict.fromkeys(request.engines):
        # a corpus that is given is for the baselines: they are not those of the configuration
        is_baseline = name in BASELINES and request.corpus is not None
        settings = config.engines.get(name) if config and not is_baseline else None
        named[name] = _configured(name, settings) or _System(
            name=name,
            choice=EngineConfig(
                engine=name, corpus=str(request.corpus) if request.corpus is not None else None
            ),
        )
    for module in dict.fromkeys(request.search_modules):
        named[module] = _System(name=module, choice=EngineConfig(search_module=module))
    for path in dict.fromkeys(request.runs):
        name = path.stem if path.stem not in named else str(path)
        named[name] = _System(name=name, run=path)
    yield from named.values()


def _configured(name: str, settings: EngineConfig | None) -> _System | None:
    if settings is None:
        return None
    if settings.run:
        return _System(name=name, run=Path(settings.run))
    return _System(name=name, choice=settings)


# ── asking ────────────────────────────────────────────────────────────────────────────────────────

Top = Mapping[str, Sequence[str]]  # query -> the documents that a system puts on top
Tops = list[tuple[str, Top]]


def _depth_for(request: PoolRequest, tops: Tops, known: Container[str] | None) -> int:
    """The least depth at which each judge has the pairs that are wanted, else the depth asked."""
    before = read_pool(request.dataset)
    judges = request.judges or (before.judges if before else ())
    kept_overlap = before.overlap if before else 0.0
    overlap = kept_overlap if request.overlap is None else request.overlap
    share = (1 + overlap) / len(judges) if judges else 1.0  # of all pairs, for one judge
    for depth in range(1, request.depth):
        pairs = {
            (query_id, doc_id)
            for _, top in _cut_tops(tops, depth)
            for query_id, doc_ids in top.items()
            for doc_id in doc_ids
            if known is None or doc_id in known
        }
        if len(pairs) * share >= (request.pairs or 0):
            return depth
    return request.depth


def _cut_tops(tops: Tops, depth: int) -> Tops:
    return [(name, {query: docs[:depth] for query, docs in top.items()}) for name, top in tops]


def _top_documents(
    system: _System, gold: GoldSet, request: PoolRequest, progress: Progress, say: Say
) -> Top:
    if system.run is not None:
        run = formats.read_run(system.run)
        _check_run(run, gold, system, request.depth, say)
    else:
        if untold := next((query.id for query in gold.queries if not query.text), None):
            raise InputError(f"query {untold!r} has no text to search for")
        say(f"asking {system.name}")
        choice = system.choice or EngineConfig()
        name, answers = ask_engine(
            choice, gold.queries, top_k=request.depth, progress=progress, say=say
        )
        run = run_from_results(name, answers, top_k=request.depth)
    for query_id, error in _errors(run):
        if error and query_id in gold.query_ids:
            raise EngineError(
                f"{system.name} failed on query {query_id!r}: {error}\n"
                "  Nothing was written: a pool without it would be unfair to it."
            )
    return {query_id: run.doc_ids(query_id)[: request.depth] for query_id in gold.query_ids}


def _errors(run: Run) -> list[tuple[str, str | None]]:
    if "error" not in run.queries.columns:
        return []
    return run.queries.select("query_id", "error").rows()


def _check_run(run: Run, gold: GoldSet, system: _System, depth: int, say: Say) -> None:
    missing = [query_id for query_id in gold.query_ids if query_id not in run.rows_by_query]
    if len(missing) == len(gold.query_ids):
        raise InputError(
            "the run has none of the set's queries",
            where=str(system.run),
            hint=f"The set has {gold.query_ids[0]!r} and others; "
            f"the run has {list(run.rows_by_query)[:3]}.",
        )
    if missing:
        say(f"warning: {system.name} lacks {counted(len(missing), 'query')}, {missing[0]} first")
    deepest = max(len(run.doc_ids(query_id)) for query_id in gold.query_ids)
    if deepest < depth:
        say(f"warning: {system.name} has at most {deepest} hits a query, not {depth}")


def _cited_documents(tops: Sequence[Top], corpus: Path | None, depth: int) -> Top:
    """Documents that no system found but the top documents cite or are cited by, most linked
    first."""
    graph = _citation_graph(corpus)
    every: dict[str, list[str]] = {}
    for query_id in tops[0]:
        on_top = {doc_id for top in tops for doc_id in top[query_id] if doc_id in graph}
        links: Counter[str] = Counter()
        for doc_id in on_top:
            links.update({*graph.cites(doc_id), *graph.cited_by(doc_id)} - on_top)
        ranked = sorted(links, key=lambda doc_id: (-links[doc_id], doc_id))
        every[query_id] = ranked[:depth]
    return every


def _citation_graph(corpus: Path | None) -> Corpus:
    if corpus is None or not is_corpus(str(corpus)):
        raise UsageError(
            "--citations needs a corpus of the workspace, which records citations",
            hint="Give it with --corpus NAME; `assay corpus import` makes one.",
        )
    return corpus_named(str(corpus))


# ── the corpus ────────────────────────────────────────────────────────────────────────────────────


def _corpus_searched(request: PoolRequest, systems: Sequence[_System]) -> Path | None:
    """The corpus given, or the one that all engines search."""
    if request.corpus is not None:
        return request.corpus
    every = {corpus_of(each.choice) for each in systems if each.choice is not None} - {None}
    return every.pop() if len(every) == 1 else None


def known_ids(corpus: Path) -> Container[str]:
    """The ids of the documents in a corpus."""
    if is_corpus(str(corpus)):
        return corpus_named(str(corpus))
    return {document.id for document in documents(corpus)}


def _fingerprint(corpus: Path | None) -> str:
    if corpus is None:
        return ""
    name = str(corpus)
    return corpus_named(name).fingerprint if is_corpus(name) else sha256_of(corpus)


def _found_pairs(
    tops: Sequence[tuple[str, Top]], known: Container[str] | None, say: Say
) -> dict[PairKey, PooledPair]:
    """Every pair once. A document that is not in the corpus cannot be read, nor judged."""
    found: dict[PairKey, PooledPair] = {}
    for name, top in tops:
        strange = list[str]()
        for query_id, doc_ids in top.items():
            for doc_id in doc_ids:
                if known is not None and doc_id not in known:
                    strange.append(doc_id)
                    continue
                pair = PooledPair(query_id=query_id, doc_id=doc_id)
                found[pair.key] = pair
        if strange:
            hits = f"{counted(len(strange), 'hit')} of {name} not in the corpus"
            say(f"warning: {hits}, such as {strange[0]!r}: nobody can judge them, left out")
            if isinstance(known, Corpus) and any(map(FileIds(known).is_cut, strange)):
                say("warning: these files were cut into parts; import them with --option by=file")
    if not found:
        raise InputError("the systems found nothing", hint="Is it the right corpus?")
    return found


# ── what is kept ──────────────────────────────────────────────────────────────────────────────────


def _describe_pool(
    request: PoolRequest, tops: Sequence[tuple[str, Top]], corpus: Path | None, say: Say
) -> Pool:
    """The pool as it was, with what this pooling says of itself."""
    pool = read_pool(request.dataset) or Pool()
    names, fingerprint = [name for name, _ in tops], _fingerprint(corpus)
    if pool.corpus_fingerprint and fingerprint not in ("", pool.corpus_fingerprint):
        say("warning: the corpus is another than when this set was pooled before")
    whole = set(names) >= set(pool.systems)  # else the depth that all of them reach
    return msgspec.structs.replace(
        pool,
        depth=request.depth if whole else min(pool.depth or request.depth, request.depth),
        systems=tuple(dict.fromkeys((*pool.systems, *names))),
        corpus=str(corpus) if corpus is not None else pool.corpus,
        corpus_fingerprint=fingerprint or pool.corpus_fingerprint,
        seed=request.seed if request.seed is not None else pool.seed,
        judges=request.judges or pool.judges,
        overlap=request.overlap if request.overlap is not None else pool.overlap,
    )


def _without_unknown(pool: Pool, known: Container[str], dataset: Path, say: Say) -> Pool:
    """The pool without pairs that are not in its corpus, unless somebody voted on them or they come
    from another corpus."""
    strange = [pair for pair in pool.pairs if pair.doc_id not in known]
    if not strange:
        return pool
    names = ", ".join(sorted({pair.doc_id for pair in strange})[:3])
    pairs = f"{counted(len(strange), 'pair')} asked for before ({names})"
    before = read_pool(dataset)
    if before is not None and before.corpus not in ("", pool.corpus):
        say(f"warning: {pairs} not in this corpus; `assay gold add --remove` takes a pair out")
        return pool
    voted = {(vote.query_id, vote.doc_id) for vote in read_votes(dataset)}
    gone = {pair.key for pair in strange} - voted
    say(f"warning: {pairs} not in the corpus: nobody can judge them, {len(gone)} left out")
    kept = tuple(pair for pair in pool.pairs if pair.key not in gone)
    return msgspec.structs.replace(pool, pairs=kept)


def _write_pooled(
    request: PoolRequest, gold: GoldSet, pooled_pairs: Mapping[PairKey, PooledPair], described: Pool
) -> PoolOutcome:
    """Add what is new and unjudged, deal what is nobody's, write, and say what waits."""
    votes = read_votes(request.dataset)
    counts = read_policy(request.dataset).counts
    # people who are named judge what no person has, also where machines count
    judged = judged_pairs(gold, votes, PEOPLE_ONLY if described.judges else counts)
    before = read_pool(request.dataset)
    fresh = [pair for key, pair in pooled_pairs.items() if key not in judged]
    pool = with_pairs(described, fresh)
    pool = with_judges(
        pool,
        pool.keys - judged,
        same_share=before is None or before.overlap == pool.overlap,
    )
    pool = after_unsure(pool, votes)
    left = pairs_left(pool, gold, votes, counts)
    write_pool(request.dataset, pool)
    if request.output is not None:
        write_pairs(left, gold, request.output)
    by_judge = Counter(judge for pair in left for judge in pair.judges)
    return PoolOutcome(
        gold=str(request.dataset),
        pool=str(pool_path(request.dataset)),
        systems=list(pool.systems),
        depth=pool.depth,
        found=len(pooled_pairs),
        judged=len(judged & pooled_pairs.keys()),
        new=len(pool.keys - (before.keys if before else set())),
        waiting=len(left),
        by_judge={judge: by_judge[judge] for judge in sorted(by_judge)},
        by_two=sum(len(pair.judges) > 1 for pair in pool.pairs),
        pairs=left,
    )


def judged_now(dataset: Path, gold: GoldSet) -> set[PairKey]:
    """The pairs with a label, or with a vote that the policy counts."""
    votes = read_votes(dataset)
    return judged_pairs(gold, votes, read_policy(dataset).counts)


def write_pairs(pairs: Sequence[PooledPair], gold: GoldSet, output: Path) -> None:
    """The pairs that wait, as CSV for a spreadsheet (fill in grade and rationale) or as JSON for
    programs; one judge's stand together."""
    texts = {query.id: query.text for query in gold.queries}
    dealt = [(judge, pair) for pair in pairs for judge in pair.judges or ("",)]
    dealt.sort(key=lambda row: row[0])
    columns = ("query_id", "query", "doc_id", "judge")
    rows = [(pair.query_id, texts[pair.query_id], pair.doc_id, judge) for judge, pair in dealt]
    if output.suffix == ".json":
        write_atomic(output, encode([dict(zip(columns, row, strict=True)) for row in rows]))
        return
    table = [guarded_row([*row, "", "", SOURCE]) for row in rows]
    write_atomic(output, csv_text([[*columns, "grade", "rationale", "source"], *table]))


def queue_pool(service: Service, dataset: Path, pooled: PoolOutcome) -> int:
    """Put what waits into the review queue; returns how many pairs are new there."""
    pairs = [AskedPair(query_id=pair.query_id, doc_id=pair.doc_id) for pair in pooled.pairs]
    return queue_pairs(service, dataset, pairs, source=SOURCE)

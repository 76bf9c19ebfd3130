"""Join a run with the judgments of a gold set: which hits are judged, and at which rank.

Runs and judgments are columns (or plain dicts), and joined once for all measures.
`pack` then hands the judged hits out as padded matrices, a block of queries at a time, so that a
formula is a few array operations whether there are sixty queries or a million.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay import formats
from assay.core.errors import InputError
from assay.core.results import GradedResults
from assay.core.runs import (
    Block,
    Hashes,
    RankedColumns,
    blocks_of,
    has_equal,
    has_split_query,
    pair_hashes,
    ranked,
    repeated_pairs,
    run_from_ranked,
)
from assay.core.types import GoldSet, Query, Run, judgment_frame
from assay.evaluation.measures import NO_GRADE, NO_RANK, Integers, JudgedHits

# taste: queries are scored in blocks of at most this many matrix cells, to bound memory
BLOCK_CELLS = 8_000_000
MOST_COUNTED = 250  # different grades (taste): with more, sorting them is quicker

NEGATIVE = "no relevant document is known: a negative test, not a ranking query"
UNJUDGED_QUERY = "no judgments"
MISSING = "missing from the run: counted as 0"

Qrels = Mapping[str, Mapping[str, int]]
Scored = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, kw_only=True)
class JoinedRun:
    queries: tuple[Query, ...]
    scorable: np.ndarray[Any, np.dtype[np.bool_]]
    reasons: tuple[str, ...]
    counts: Mapping[str, int]
    returned: Integers
    hit_query: Integers  # the judged hits of all queries, by query and rank
    hit_rank: Integers
    hit_grade: Integers
    gold_query: Integers  # every judgment, by query, best grade first
    gold_grade: Integers
    max_grade: int


def join_run(run: Run | Scored, gold: GoldSet | Qrels) -> JoinedRun:
    gold_set = gold if isinstance(gold, GoldSet) else gold_from_dict(gold)
    judgments = judgments_of(gold_set)
    if isinstance(run, Run):
        joined = _join_columns(run, judgments)
        return assemble_joined(judgments, joined, run.rows_by_query, run.counts, _errors(run))
    joined = _join_dicts(run, _as_dict(gold) if isinstance(gold, GoldSet) else gold, judgments.rows)
    return assemble_joined(judgments, joined, run)


def assemble_joined(
    judgments: Judgments,
    joined: RankedJudgments,
    in_run: Collection[str],
    counts: Mapping[str, int] = {},
    errors: Mapping[str, str] = {},
) -> JoinedRun:
    """What the formulas need, from judgments and the judged hits of a run; `in_run` are the run's
    queries."""
    rows, gold_query, gold_grade = judgments.rows, judgments.query, judgments.grade
    has_relevant = np.zeros(len(rows), bool)
    has_relevant[gold_query[gold_grade >= 1]] = True
    has_any = np.zeros(len(rows), bool)
    has_any[gold_query] = True
    reasons, scorable = _query_states(
        judgments.gold.query_ids, has_relevant, has_any, errors, in_run
    )
    answered = sum(1 for query_id in rows if query_id in in_run)
    states = {"n_expected": len(rows), "n_run": answered, "n_scored": int(scorable.sum())}
    states |= {
        "n_missing": reasons.count(MISSING),
        "n_negative": reasons.count(NEGATIVE) + reasons.count(UNJUDGED_QUERY),
    }
    if unjudged := reasons.count(UNJUDGED_QUERY):  # of the negative
        states["n_unjudged"] = unjudged
    states |= {
        "n_failed": sum(query_id in errors for query_id in rows),
        "n_extra": len(in_run) - answered,
    }
    return JoinedRun(
        queries=judgments.gold.queries,
        scorable=scorable,
        reasons=reasons,
        counts=states | {"ties": joined.ties} | dict(counts),
        returned=joined.returned,
        hit_query=joined.query,
        hit_rank=joined.rank,
        hit_grade=joined.grade,
        gold_query=gold_query,  # as before: judgments are by query
        gold_grade=_best_first(gold_query, gold_grade),
        max_grade=judgments.gold.max_grade,
    )


def _best_first(query: Integers, grade: Integers) -> Integers:
    """The grades of each query, best first, where they are by query. Grades are few, so that they
    are counted and not sorted."""
    top = int(grade.max(initial=0))
    grades = top - int(grade.min(initial=0)) + 1
    if grades > MOST_COUNTED:
        return grade[np.lexsort((-grade, query))]
    counts = np.bincount(query * grades + (top - grade))
    return top - np.repeat(np.arange(len(counts)) % grades, counts)


def _query_states(
    query_ids: list[str],
    has_relevant: Any,
    has_any: Any,
    errors: Mapping[str, str],
    run: Collection[str],
) -> tuple[tuple[str, ...], np.ndarray[Any, np.dtype[np.bool_]]]:
    reasons = []
    for row, query_id in enumerate(query_ids):
        if query_id in errors:
            reasons.append(f"failed: {errors[query_id]}")
        elif not has_any[row]:
            reasons.append(UNJUDGED_QUERY)
        elif not has_relevant[row]:
            reasons.append(NEGATIVE)
        else:
            reasons.append("" if query_id in run else MISSING)
    return tuple(reasons), np.array([reason in ("", MISSING) for reason in reasons], bool)


def _errors(run: Run) -> dict[str, str]:
    if "error" not in run.queries.columns:
        return {}
    failed = run.queries.filter(pl.col("error").is_not_null())
    return dict(zip(failed["query_id"].to_list(), failed["error"].to_list(), strict=True))


def _rows_of(query_ids: pl.Series, rows: Mapping[str, int]) -> Integers:
    """The gold row of each query id (interned), -1 where the gold set has no such query."""
    coded = query_ids.rle().struct.unnest()  # most sets have the judgments of a query together
    heads = [rows.get(query_id, -1) for query_id in coded["value"].to_list()]
    return np.repeat(np.array(heads, np.int64), coded["len"].to_numpy())


class RankedJudgments(NamedTuple):
    """The judged hits by query and rank; how many hits each query returned; how many share their
    score."""

    query: Integers
    rank: Integers
    grade: Integers
    returned: Integers
    ties: int


# ── the join ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Judgments:
    """The judgments of a gold set, ready to be looked up.

    A run has a hundred hits for every one that is judged. So the hits of a block are looked up by
    a number in a small table of what is judged on its queries, which leaves those that are judged
    and a few more; these are looked for among the judged pairs' numbers, of which no two are equal,
    and only what is found there is compared by its id."""

    gold: GoldSet
    rows: Mapping[str, int]  # query id -> row
    query: Integers  # of every judgment, its query's row; judgments are by query
    grade: Integers
    documents: pl.Series
    starts: Integers  # where each query's judgments begin, with the end as last element


def judgments_of(gold: GoldSet) -> Judgments:
    """Raises InputError for a pair that is judged twice, and for a query that the set lacks."""
    rows = {query_id: row for row, query_id in enumerate(gold.query_ids)}
    query = _rows_of(gold.judgments["query_id"], rows)
    if (query < 0).any():
        stray = gold.judgments["query_id"][int(np.argmin(query))]
        raise InputError(
            f"the gold set {gold.name!r} judges query {stray!r}, which is not among its queries"
        )
    documents = gold.judgments["doc_id"].cast(pl.String).rechunk()
    grade = gold.judgments["grade"].to_numpy().astype(np.int64)
    if (query[1:] < query[:-1]).any():
        by_query = np.argsort(query, kind="stable")
        query, grade, documents = query[by_query], grade[by_query], documents[by_query]
    counts = np.bincount(query, minlength=len(rows))
    again = repeated_pairs(gold.query_ids, counts, documents)
    if again.size:
        first = int(again[0])
        raise InputError(
            f"document {documents[first]!r} is judged twice on query "
            f"{gold.query_ids[query[first]]!r}",
            hint="Keep one judgment per pair.",
        )
    return Judgments(
        gold=gold,
        rows=rows,
        query=query,
        grade=grade,
        documents=documents,
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )


class JudgedRows(NamedTuple):
    """The judged rows of a block: their queries, ranks and grades."""

    query: Integers
    rank: Integers
    grade: Integers


def judged_rows(block: Block, judgments: Judgments, hashes: Hashes | None = None) -> JudgedRows:
    """Which rows of a ranked block are judged, in the block's order; `hashes` are the numbers of
    its pairs by the first seed, where they are known."""
    asked = np.array([judgments.rows.get(query_id, -1) for query_id in block.queries], np.int64)
    pairs = _pairs_of(judgments.starts, np.unique(asked[asked >= 0]))
    if not pairs.size:
        return JudgedRows(*[np.empty(0, np.int64)] * 3)
    documents = judgments.documents[_as_slice(pairs)]
    seed, wanted = _distinct_hashes(judgments, pairs, documents)
    if hashes is None or seed:
        hashes = pair_hashes(block.queries, block.lengths, block.documents, seed=seed)
    at, found = _find_hashes(hashes, wanted)
    ends = np.cumsum(block.lengths)
    of = np.searchsorted(ends, at, side="right")
    judgment = pairs[found]
    same = (block.documents[at] == documents[found]).to_numpy() & (
        asked[of] == judgments.query[judgment]
    )
    at, of, judgment = at[same], of[same], judgment[same]
    return JudgedRows(
        query=asked[of],
        rank=at - (ends - block.lengths)[of] + 1,
        grade=judgments.grade[judgment],
    )


def _as_slice(rows: Integers) -> slice | Integers:
    """Rising rows as a slice, which copies nothing, where none is left out."""
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == len(rows) else rows


def _distinct_hashes(
    judgments: Judgments, pairs: Integers, documents: pl.Series
) -> tuple[int, Hashes]:
    """A number for each of these pairs, by the first seed that gives each its own. No two of them
    are the same pair, so that one is found."""
    heads = np.flatnonzero(np.diff(judgments.query[pairs], prepend=-1))
    names = [judgments.gold.query_ids[row] for row in judgments.query[pairs[heads]].tolist()]
    lengths = np.diff(heads, append=len(pairs))
    for seed in count():
        hashes = pair_hashes(names, lengths, documents, seed=seed)
        if not has_equal(hashes):
            break
    return seed, hashes


def _find_hashes(hashes: Hashes, wanted: Hashes) -> tuple[Integers, Integers]:
    """(at, of) where hashes[at] == wanted[of]; no two of the wanted are equal."""
    table = np.full(2 ** (16 * len(wanted)).bit_length(), -1, np.int32)
    places = wanted & (len(table) - 1)
    table[places] = np.arange(len(wanted), dtype=np.int32)
    found = table[(hashes & (len(table) - 1)).view(np.int64)]
    at = np.flatnonzero(found >= 0)
    found, hashes = found[at], hashes[at]
    lost = np.flatnonzero(table[places] != np.arange(len(wanted)))  # their place to another
    if lost.size:
        lost = lost[np.argsort(wanted[lost])]
        others = np.flatnonzero(wanted[found] != hashes)
        found[others] = lost[np.searchsorted(wanted[lost[:-1]], hashes[others])]
    same = wanted[found] == hashes
    return at[same], found[same]


def _pairs_of(starts: Integers, queries: Integers) -> Integers:
    """The judged pairs of these queries."""
    lengths = starts[queries + 1] - starts[queries]
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts[queries] - before, lengths) + np.arange(lengths.sum())


def join_parts(parts: Sequence[JudgedRows]) -> JudgedRows:
    """The judged rows of all blocks, by query; each query is in one of them."""
    every = [
        np.concatenate([np.empty(0, np.int64), *columns]) for columns in zip(*parts, strict=True)
    ]
    query, rank, grade = every or [np.empty(0, np.int64)] * 3
    if not (query[1:] < query[:-1]).any():
        return JudgedRows(query, rank, grade)
    order = np.argsort(query, kind="stable")  # the run has the queries in another order
    return JudgedRows(query[order], rank[order], grade[order])


def _join_columns(run: Run, judgments: Judgments) -> RankedJudgments:
    names, lengths = run.queries["query_id"].to_list(), np.diff(run.offsets)
    whole = Block(names, lengths, run.hits["doc_id"], run.hits["score"])
    found = join_parts([judged_rows(block, judgments) for block in blocks_of(whole)])
    returned = np.zeros(len(judgments.rows), np.int64)
    for query_id, length in zip(names, lengths.tolist(), strict=True):
        if query_id in judgments.rows:
            returned[judgments.rows[query_id]] = length
    return RankedJudgments(*found, returned=returned, ties=run.counts.get("ties", 0))


def _join_dicts(run: Scored, qrels: Qrels, rows: Mapping[str, int]) -> RankedJudgments:
    """The same join for dicts: look each judged document up and count the scores above it. No
    string is copied."""
    returned = np.zeros(len(rows), np.int64)
    ties = 0
    judged_rows: list[int] = []
    ranks, grades = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for query_id, row in rows.items():
        scored = run.get(query_id)
        if not scored:
            continue
        returned[row] = len(scored)
        judged = {
            doc_id: grade for doc_id, grade in qrels.get(query_id, {}).items() if doc_id in scored
        }
        query_ranks, query_ties = _ranks_of(judged, scored, query_id)
        ties += query_ties
        judged_rows.extend([row] * len(judged))
        ranks.append(query_ranks)
        grades.append(np.fromiter(judged.values(), np.int64, len(judged)))
    hit_query, hit_rank = np.array(judged_rows, np.int64), np.concatenate(ranks)
    order = np.lexsort((hit_rank, hit_query))
    return RankedJudgments(
        hit_query[order], hit_rank[order], np.concatenate(grades)[order], returned, ties
    )


def _ranks_of(
    wanted: Collection[str], scored: Mapping[str, float], query_id: str
) -> tuple[Integers, int]:
    """The rank of each wanted document by (score, id), both descending; and how many hits share
    their score."""
    every = np.fromiter(scored.values(), np.float64, len(scored))
    scores = np.fromiter((scored[doc_id] for doc_id in wanted), np.float64, len(wanted))
    if (every[1:] < every[:-1]).all() and every[0] == every[0]:  # as most runs are written
        return len(every) - np.searchsorted(every[::-1], scores), 0
    every.sort()
    if every[-1] != every[-1]:  # NaN sorts last
        raise InputError(
            f"query {query_id!r}: a score is NaN", hint="Every score must be a number."
        )
    from_top = len(every) - np.searchsorted(every, scores)
    equal = every[1:] == every[:-1]
    if not equal.any():
        return from_top, 0
    ties = int(np.count_nonzero(np.append(equal, False) | np.append(False, equal)))
    if (
        np.searchsorted(every, scores, side="right") + from_top == len(every) + 1
    ).all():  # none of the wanted is tied
        return from_top, ties
    order = sorted(scored, key=lambda doc_id: (scored[doc_id], doc_id), reverse=True)
    place = {doc_id: rank for rank, doc_id in enumerate(order, start=1)}
    return np.fromiter((place[doc_id] for doc_id in wanted), np.int64, len(wanted)), ties


def gold_from_dict(qrels: Qrels) -> GoldSet:
    """A gold set from {query_id: {doc_id: grade}}."""
    lengths = [len(grades) for grades in qrels.values()]
    frame = judgment_frame(
        pl.Series(list(qrels), dtype=pl.String).gather(np.repeat(np.arange(len(qrels)), lengths)),
        list(chain.from_iterable(qrels.values())),
        list(chain.from_iterable(grades.values() for grades in qrels.values())),
    )
    return GoldSet(
        name="", queries=tuple(Query(id=query_id, text="") for query_id in qrels), judgments=frame
    )


def _as_dict(gold: GoldSet) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in gold.judgments.select("query_id", "doc_id", "grade").iter_rows():
        qrels.setdefault(query_id, {})[doc_id] = grade
    return qrels


def pack(prepared: JoinedRun) -> Iterator[tuple[Integers, JudgedHits]]:
    """Blocks of queries as padded matrices; queries of like width share a block."""
    total = len(prepared.queries)
    hit_counts = np.bincount(prepared.hit_query, minlength=total)
    gold_counts = np.bincount(prepared.gold_query[prepared.gold_query >= 0], minlength=total)
    widths = np.maximum(np.maximum(hit_counts, gold_counts), 1)
    order = np.argsort(widths, kind="stable")
    start = 0
    while start < total:
        end = start + 1
        while end < total and (end + 1 - start) * widths[order[end]] <= BLOCK_CELLS:
            end += 1
        rows = np.sort(order[start:end])
        yield (
            rows,
            JudgedHits(
                ranks=_matrix(prepared.hit_query, prepared.hit_rank, hit_counts, rows, NO_RANK),
                grades=_matrix(prepared.hit_query, prepared.hit_grade, hit_counts, rows, NO_GRADE),
                ideal=_matrix(
                    prepared.gold_query, prepared.gold_grade, gold_counts, rows, NO_GRADE
                ),
                returned=prepared.returned[rows],
                max_grade=prepared.max_grade,
            ),
        )
        start = end


def _matrix(
    query: Integers, value: Integers, counts: Integers, rows: Integers, padding: int
) -> Integers:
    """Values sorted by query, as one padded row for each of `rows`."""
    starts = np.searchsorted(query, rows)
    columns = np.arange(counts[rows].max(initial=0))
    inside = columns < counts[rows][:, None]
    source = np.where(inside, starts[:, None] + columns, 0)
    return (
        np.where(inside, value[source], padding)
        if value.size
        else np.full(source.shape, padding, np.int64)
    )


# ── judged hits of runs that are read in parts ────────────────────────────────────────────────────


class TopAndJudged(NamedTuple):
    """A run of which the top of every list is kept, and the judged hits of the whole."""

    run: Run
    joined: JoinedRun


class _BlockPart(NamedTuple):
    top: RankedColumns
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]
    judged: JudgedRows


def join_saved_run(path: Path, gold: GoldSet, *, keep: int | None) -> TopAndJudged:
    """The saved run against the gold set, with the top `keep` hits of every query, or all."""
    scan = formats.scanner(path) if keep is not None else None
    if scan is None or keep is None:
        run = formats.read_run(path)
        return TopAndJudged(run, join_run(run, gold))
    parts: list[_BlockPart] = []
    lengths: dict[str, int] = {}
    seen: set[str] = set()
    tag = ""
    aside = ThreadPoolExecutor(max_workers=1)
    asked = aside.submit(judgments_of, gold)  # while the first blocks are read
    aside.shutdown(wait=False)
    for said, part in scan(path, lambda block: _block_part(block, asked, keep)):
        names = part.top.block.queries
        if has_split_query(names, seen):
            run = formats.read_run(path)
            return TopAndJudged(run, join_run(run, gold))
        lengths.update(zip(names, part.lengths.tolist(), strict=True))
        tag = tag or said
        parts.append(part)
    run, judgments = run_from_ranked(tag, [part.top for part in parts]), asked.result()
    returned = np.array([lengths.get(query_id, 0) for query_id in judgments.rows], np.int64)
    found = join_parts([part.judged for part in parts])
    joined = RankedJudgments(*found, returned=returned, ties=run.counts["ties"])
    return TopAndJudged(run, assemble_joined(judgments, joined, lengths, run.counts))


def _block_part(block: Block, judgments: Future[Judgments], keep: int) -> _BlockPart:
    whole, ties, duplicates, hashes = ranked(block)
    judged = judged_rows(whole, judgments.result(), hashes)
    return _BlockPart(
        RankedColumns(_top_hits(whole, keep), ties, duplicates), whole.lengths, judged
    )


def _top_hits(block: Block, keep: int) -> Block:
    kept = np.minimum(block.lengths, keep)
    begins = np.cumsum(block.lengths) - block.lengths
    rows = np.repeat(begins - (np.cumsum(kept) - kept), kept) + np.arange(kept.sum())
    # texts made anew: a part of a column would hold the whole of it in memory
    documents = pl.Series(block.documents[rows].to_list(), dtype=pl.String)
    return Block(block.queries, kept, documents, block.scores[rows])


# ── ids that almost match ─────────────────────────────────────────────────────────────────────────
# An engine that lowers the case of its ids finds nothing that is judged under them.

DROPPED = ("Cc", "Cf", "Zs", "Zl", "Zp")  # controls, invisible characters, spaces
DASH = "Pd"


class AlmostMatch(NamedTuple):
    """A result whose id almost matches one that is judged on its query."""

    query_id: str
    returned: str
    judged: str


def almost_matches(results: GradedResults, gold: GoldSet) -> Iterator[AlmostMatch]:
    """The unjudged results of each query that almost match a document judged on it, which is not
    itself among the results."""
    judged: dict[str, dict[str, str]] = {}
    for query_id, doc_id in gold.judgments.select("query_id", "doc_id").iter_rows():
        judged.setdefault(query_id, {})[folded_id(doc_id)] = doc_id
    for entry in results.per_query:
        known = judged.get(entry.query_id, {})
        for doc_id, grade in zip(entry.results, entry.grades, strict=True):
            meant = known.get(folded_id(doc_id)) if grade is None else None
            if meant is not None and meant not in entry.results:
                yield AlmostMatch(entry.query_id, doc_id, meant)


def with_judged_ids(run: Run, gold: GoldSet) -> Run:
    """The run with the judged id in place of every id that almost matches it; a document that then
    appears twice for a query keeps its first place."""
    known = _judged_ids(gold)
    judged = set(known.values())
    ids = run.hits["doc_id"].to_list()
    meant = [id if id in judged else known.get(folded_id(id), id) for id in ids]
    row = np.repeat(np.arange(run.queries.height), run.queries["n"].to_numpy())
    hits = run.hits.with_columns(doc_id=pl.Series(meant, dtype=pl.String), row=row)
    hits = hits.unique(["row", "doc_id"], keep="first", maintain_order=True)
    lengths = np.bincount(hits["row"].to_numpy(), minlength=run.queries.height)
    counts = dict(run.counts) | {"loose_ids": sum(map(str.__ne__, ids, meant))}
    return replace(
        run,
        queries=run.queries.with_columns(n=pl.Series(lengths, dtype=run.queries["n"].dtype)),
        hits=hits.drop("row"),
        counts=counts,
    )


def _judged_ids(gold: GoldSet) -> Mapping[str, str]:
    """The judged id of each loose form; none for a form that two judged ids share."""
    found: dict[str, str] = {}
    shared = set()
    for doc_id in gold.judgments["doc_id"].unique().to_list():
        form = folded_id(doc_id)
        if form in found:
            shared.add(form)
        found[form] = doc_id
    return {form: doc_id for form, doc_id in found.items() if form not in shared}


@lru_cache(maxsize=100_000)
def folded_id(doc_id: str) -> str:
    """An id without case, spaces and invisible characters, with one kind of dash."""
    plain = unicodedata.normalize("NFKC", doc_id).casefold()
    kinds = ((char, unicodedata.category(char)) for char in plain)
    return "".join("-" if kind == DASH else char for char, kind in kinds if kind not in DROPPED)

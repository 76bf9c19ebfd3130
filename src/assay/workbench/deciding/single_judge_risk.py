"""Verdicts that depend on one judge, and asking a second one: a verdict is decided again without
the documents that only this judge has judged and nobody has checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from assay.core.errors import AssayError
from assay.core.results import GradedResults, OneJudge, Results, Verdict
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Hit, QueryResult
from assay.evaluation.graded import graded_results
from assay.evaluation.receipts import gold_fingerprint
from assay.gold.acts import ASK_SECOND
from assay.gold.log import writing
from assay.gold.rows import has_log
from assay.gold.votes import PairKey
from assay.judging.pool import Pool, pool_path, read_pool, with_one_more_judge, write_pool
from assay.workbench.judging.session import JudgingSession, open_session
from assay.workbench.judging.vote_totals import vote_totals
from assay.workbench.project.output_files import or_undone
from assay.workbench.project.service import compute_once

if TYPE_CHECKING:
    from assay.workbench.project.service import Service

__all__ = [
    "SingleJudgeRisk",
    "ask_second_judge",
    "find_single_judge_risk",
    "second_judge_asked",
    "with_single_judge_risk",
]

JUDGES = 5  # judges that are tried, most documents first; each is scored again (taste)

Decide = Callable[[Sequence[GradedResults]], str]  # the verdict on some results, in a word


class SingleJudgeRisk(msgspec.Struct, frozen=True, kw_only=True):
    """The judge on whom a verdict depends, and the documents that this judge alone has judged."""

    on: OneJudge
    pairs: tuple[PairKey, ...]


def with_single_judge_risk(
    verdict: Verdict, results: Results, dataset: Path, decide: Callable[[Results], Verdict]
) -> Verdict:
    """The verdict of a command, with the judge on whom it depends, if it does."""
    if verdict.status == "inconclusive" or not has_log(dataset):
        return verdict
    found = find_single_judge_risk([results], dataset, lambda runs: decide(runs[0]).status)
    return msgspec.structs.replace(verdict, one_judge=found.on) if found else verdict


def find_single_judge_risk(
    runs: Sequence[Results], dataset: Path, decide: Decide, key: Hashable = None
) -> SingleJudgeRisk | None:
    """Whether what `decide` says of runs on a set would change without the votes that one judge
    alone gave. None if it would not, if newer labels change it anyway, or if nobody voted. With a
    `key`, which stands for the runs and for `decide`, the answer is cached."""
    graded = [run for run in runs if isinstance(run, GradedResults)]
    if len(graded) < len(runs) or not has_log(dataset):
        return None
    try:
        session = open_session(dataset)
        if session.gold.from_logs:
            return None
        with vote_totals(session) as totals:
            alone = totals.unchecked.by_judge()
        # votes that are in no label yet change nothing, and come every second
        alone = {judge: pairs & session.labelled for judge, pairs in alone.items()}
        alone = {judge: pairs for judge, pairs in alone.items() if pairs}
        if not alone:
            return None
        if key is None:
            return _find_risk(graded, session, alone, decide)
        state = (frozenset(alone.items()), session.stamps)
        asked = ("one judge", key, dataset, state)
        return compute_once(asked, lambda: _find_risk(graded, session, alone, decide))
    except AssayError:  # a set that cannot be judged, or a measure that cannot be computed again
        return None


def _find_risk(
    runs: Sequence[GradedResults],
    session: JudgingSession,
    alone: dict[str, frozenset[PairKey]],
    decide: Decide,
) -> SingleJudgeRisk | None:
    print_now = gold_fingerprint(session.gold)
    now = decide(runs)
    if any(run.receipt.gold.fingerprint != print_now for run in runs):
        runs = [_score_again(run, session.gold) for run in runs]
        if decide(runs) != now:  # the labels of today change it anyway
            return None
    hits = {
        (entry.query_id, doc_id)
        for run in runs
        for entry in run.per_query
        for doc_id, grade in zip(entry.results, entry.grades, strict=False)
        if grade is not None
    }
    counted = sorted(alone.items(), key=lambda each: (-len(each[1] & hits), each[0]))
    for judge, pairs in counted[:JUDGES]:
        behind = pairs & hits
        if not behind:
            break
        gold = _gold_without(session.gold, pairs)
        then = decide([_score_again(run, gold) for run in runs])
        if then != now:
            on = OneJudge(judge=judge, documents=len(behind), without=then)
            return SingleJudgeRisk(on=on, pairs=tuple(sorted(behind)))
    return None


def _gold_without(gold: GoldSet, pairs: Collection[PairKey]) -> GoldSet:
    labelled = zip(gold.judgments["query_id"], gold.judgments["doc_id"], strict=True)
    stays = pl.Series([pair not in pairs for pair in labelled], dtype=pl.Boolean)
    return replace(gold, judgments=gold.judgments.filter(stays))


def _score_again(results: GradedResults, gold: GoldSet) -> GradedResults:
    """Score the same answers with other judgments."""
    answers = [
        QueryResult(
            query_id=entry.query_id,
            hits=tuple(Hit(doc_id=doc_id) for doc_id in entry.results),
            error=entry.error,
        )
        for entry in results.per_query
    ]
    run = run_from_results(results.engine, answers)
    scored = graded_results(run, gold, [line.measure for line in results.receipt.measures])
    receipt = msgspec.structs.replace(
        scored.receipt,
        primary=results.receipt.primary,
        latency_ms=results.receipt.latency_ms,
        corpus_fingerprint=results.receipt.corpus_fingerprint,
    )
    return msgspec.structs.replace(scored, receipt=receipt)


# ── a second judge ────────────────────────────────────────────────────────────────────────────────


def second_judge_asked(dataset: Path, pairs: Collection[PairKey]) -> bool:
    """Whether somebody else is asked for these already."""
    try:
        asked = open_session(dataset).asked_twice
    except AssayError:
        return False
    return bool(pairs) and all(pair in asked for pair in pairs)


def ask_second_judge(
    service: Service, dataset: Path, pairs: Collection[PairKey], *, by: str
) -> int:
    """Ask one more judge for these documents; how many that are."""
    with writing(dataset) as log:
        pool = read_pool(dataset) or Pool()
        asked = with_one_more_judge(pool, pairs)
        before = {pair.key: pair for pair in pool.pairs}
        new = sum(before.get(pair.key) != pair for pair in asked.pairs)
        if new:
            more = {"documents": new}
            with or_undone(pool_path(dataset)):
                write_pool(dataset, asked)
                log.append([log.act(ASK_SECOND, who=by, at=service.clock(), more=more)])
    return new

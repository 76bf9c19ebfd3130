"""The documents to judge next on a gold set, because they would settle whether its best engine may
ship or is better than the next. Home, the judging pages, runs and comparisons lead to this list."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.errors import AssayError
from assay.core.results import Pair, Verdict
from assay.workbench.deciding.run_boards import (
    RunLine,
    board_of,
    run_line,
    verdict_risk,
    verdict_today,
)
from assay.workbench.deciding.run_comparison import pairs_that_decide
from assay.workbench.deciding.single_judge_risk import second_judge_asked
from assay.workbench.judging.session import open_session
from assay.workbench.judging.vote_totals import PairsByVotes, by_votes
from assay.workbench.project.service import Service, gold_path, path_of_stored_name, stored_name
from assay.workbench.scoring.history import StoredRun, run_records, stored_run

__all__ = ["OpenQuestion", "PairToJudge", "left_to_judge", "open_question"]

LOOKED_AT = 60  # newest runs of a set: those that its board draws


class PairToJudge(msgspec.Struct, frozen=True, kw_only=True):
    """A document to judge for a query."""

    query_id: str
    doc_id: str


class OpenQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The run in question, the run that it is compared with, if any, and the pairs left to judge. A
    `second` judge is wanted if the verdict depends on one judge."""

    run: RunLine
    other: RunLine | None
    pairs: list[PairToJudge]
    second: bool = False


def open_question(service: Service, name: str, judge: str = "") -> OpenQuestion | None:
    """The open question about the best engine on a set: whether it may ship, or else whether it is
    better than the next. If its verdict depends on one judge, another `judge` is first asked for
    the documents that this one judged alone. None if nothing is open, or judging cannot help."""
    try:
        gold = stored_name(service, name)
        records = run_records(service, gold=gold, limit=LOOKED_AT)
        leaders = board_of(gold, [run_line(service, record) for record in records]).leaders
        if not leaders or open_session(gold_path(service, name)).gold.from_logs:
            return None
        run, other = leaders[0], leaders[1] if len(leaders) > 1 else None
        stored = stored_run(service, run.id)
        verdict = verdict_today(service, stored)
        if pairs := _pairs_for_second_judge(service, stored, verdict, judge):
            return OpenQuestion(run=run, other=other, pairs=pairs, second=True)
        wanted = list(verdict.judge_next or ()) if verdict else []
        if not wanted and other is not None:
            wanted = pairs_that_decide(service, other.id, run.id)
    except AssayError:  # the pages of its runs say what is wrong
        return None
    left = left_to_judge(service, name, wanted, judge).left
    open_pairs = [PairToJudge(query_id=pair.query_id, doc_id=pair.doc_id) for pair in left]
    return OpenQuestion(run=run, other=other, pairs=open_pairs) if open_pairs else None


def _pairs_for_second_judge(
    service: Service, run: StoredRun, verdict: Verdict | None, judge: str
) -> list[PairToJudge]:
    """The documents on which the verdict depends, if this judge is asked for them and has not
    judged them."""
    found = verdict_risk(service, run, verdict) if judge else None
    path = path_of_stored_name(service, run.gold)
    if found is None or found.on.judge == judge or not second_judge_asked(path, found.pairs):
        return []
    session = open_session(path)
    with session.log.reading:
        left = [pair for pair in found.pairs if session.votes.of(judge, pair) is None]
    return [PairToJudge(query_id=query, doc_id=doc) for query, doc in left]


def left_to_judge(
    service: Service, name: str, pairs: Sequence[Pair], judge: str = ""
) -> PairsByVotes:
    """The pairs by what their votes ask for: a judge, a ruling, or nothing more."""
    try:
        path = gold_path(service, name)
    except AssayError:
        return PairsByVotes(left=list(pairs), rulings=[], dealt=[], judged=[])
    return by_votes(path, pairs, judge)

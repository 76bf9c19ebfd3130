"""Disputes between judges, and the rulings that settle them.

A ruling is a vote too: it is kept beside the others with its reason, and under the policy
`adjudicated` it makes the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core.errors import AssayError, InputError
from assay.core.types import Vote
from assay.formats.ballots import Ballot, Ballots, BlankBallot, read_ballots, write_blank
from assay.gold.acts import ActId as ActId
from assay.gold.acts import new_id
from assay.gold.log import open_log
from assay.gold.votes import RULING, WITHDRAWN, not_before
from assay.judging.incoming_votes import MergeDefaults, merge_ballots
from assay.judging.labels import Dispute as Dispute
from assay.judging.labels import (
    Label,
    compute_labels,
    dispute_of,
    disputed_labels,
    label_of,
    list_disputes,
    opinion_line,
)
from assay.judging.pool import corpus_texts, stale_votes
from assay.workbench.judging.session import JudgingSession, open_session
from assay.workbench.judging.vote_totals import vote_totals
from assay.workbench.judging.votes_to_labels import (
    asked_pairs,
    commit_votes,
    judge_kind,
    open_voted_set,
    read_voted_set,
    require_signed,
)


class RulingOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of rulings: how many are new, the number of labels, and how many pairs are still
    open. `overruled` rulings make no label under the policy; `left_out` explains rejected rows."""

    gold: str
    ruled: int
    already: int
    labels: int
    open: int
    overruled: int = 0
    policy: str = ""
    left_out: list[str] = []
    edited: str = ""  # a sentence about labels that were edited by hand


# ── disputes ──────────────────────────────────────────────────────────────────────────────────────


def disputes(dataset: Path, *, blind: bool = False, corpus: Path | None = None) -> list[Dispute]:
    """Every pair that needs a ruling, most apart first. `blind` hides the names of the judges."""
    voted = read_voted_set(dataset)
    texts = corpus_texts(dataset, corpus)
    stale = {vote.id for vote in stale_votes(voted.votes, texts)} if texts is not None else set()
    made = compute_labels(voted.votes, voted.policy).values()
    return list_disputes(voted.gold, made, stale=stale, blind=blind)


def write_disputes(
    dataset: Path, disputes: Sequence[Dispute], output: Path, *, corpus: Path | None = None
) -> None:
    """Write disputes to a file in which rulings can be filled in, for `--from`. It has the titles
    of the documents if their corpus is available."""
    texts = corpus_texts(dataset, corpus)
    wanted = {dispute.doc_id for dispute in disputes}
    titles = {each.id: each.title for each in texts.some(wanted)} if texts is not None else {}
    rows = [
        BlankBallot(
            query_id=dispute.query_id,
            query=dispute.query,
            doc_id=dispute.doc_id,
            title=titles.get(dispute.doc_id, ""),
            said=tuple(map(opinion_line, dispute.votes)),
            source=RULING,
        )
        for dispute in disputes
    ]
    write_blank(output, rows, name=dataset.stem)


def open_disputes(
    dataset: Path, home: Path | None = None, most: int | None = None
) -> list[Dispute]:
    """The disputes of an open set, for pages: only disputed pairs are read from the log."""
    session = open_session(dataset)
    with vote_totals(session) as totals:
        made = [_label(session, *pair) for pair in totals.disputes()]
    waiting = disputed_labels(session.gold, made)[:most]
    return list_disputes(session.gold, waiting, stale=_stale_votes(session, waiting, home))


def ruled_pair(dataset: Path, query_id: str, doc_id: str) -> Dispute | None:
    """A pair that was ruled on, to rule on it again; None if nobody has."""
    session = open_session(dataset)
    with session.log.reading:
        label = _label(session, query_id, doc_id)
    is_ruled = any(vote.source == RULING for vote in label.votes)
    return dispute_of(session.gold, label) if is_ruled else None


def _label(session: JudgingSession, query_id: str, doc_id: str) -> Label:
    pair = (query_id, doc_id)
    return label_of(pair, session.votes.current_votes(pair), session.policy)


def _stale_votes(session: JudgingSession, waiting: Sequence[Label], home: Path | None) -> set[str]:
    """The votes on documents that have changed since; none if the corpus is not available."""
    from assay.workbench.searching.open_corpora import reader_of  # loads the search engine

    try:
        corpus = reader_of(session.pool, session.dataset, home)
    except AssayError:
        return set()
    return {
        vote.id
        for label in waiting
        for vote in label.votes
        if vote.document and corpus.changed(vote.doc_id, vote.document)
    }


# ── rulings ───────────────────────────────────────────────────────────────────────────────────────


def rule(
    dataset: Path,
    query_id: str,
    doc_id: str,
    grade: int,
    *,
    rationale: str,
    by: str,
    kind: str = "",
    act: str = "",
    seen: str | None = None,
) -> RulingOutcome:
    """Rule on one pair, with a reason. `act` is an id that the client makes: the same ruling, sent
    again, changes nothing. `seen` has the ids of the rulings that the chair saw, empty for
    none: if somebody has ruled since, nothing is ruled. Without it the later ruling holds."""
    known = open_log(dataset).book.vote(act) if act else None
    if known is not None:
        sent = (query_id, doc_id, grade, by.strip(), RULING)
        if (known.query_id, known.doc_id, known.grade, known.judge, known.source) != sent:
            raise InputError(
                f"the id {act!r} belongs to another ruling",
                where=f"{query_id} {doc_id}",
                hint="Give every ruling its own id.",
            )
    ballot = Ballot(
        id=act,
        where=f"{query_id} {doc_id}",
        query_id=query_id,
        doc_id=doc_id,
        grade=grade,
        rationale=rationale.strip(),
        judge=by.strip(),
    )
    return _rule_all(dataset, Ballots(rows=[ballot]), by=by, kind=kind, seen=seen)


def rulings_on(dataset: Path, query_id: str, doc_id: str) -> list[Vote]:
    """The rulings that hold on a pair: several if two copies of the project ruled differently."""
    held = open_log(dataset).book.current_votes((query_id, doc_id))
    return [vote for vote in held if vote.source == RULING]


def withdraw_ruling(
    dataset: Path, query_id: str, doc_id: str, *, by: str, seen: str | None = None
) -> RulingOutcome:
    """Withdraw the ruling on a pair, and compute the labels without it. `seen` has the ids
    of the rulings that the chair was shown: if somebody has ruled since, nothing is withdrawn."""
    with open_voted_set(dataset) as voted:
        held = rulings_on(dataset, query_id, doc_id)
        if not held:
            raise InputError("no ruling holds on this pair", where=f"{query_id} {doc_id}")
        if seen is not None:
            _refuse_ruled_meanwhile(dataset, query_id, doc_id, seen)
        now = datetime.now(UTC).replace(microsecond=0)
        withdrawal = Vote(
            id=new_id(),
            query_id=query_id,
            doc_id=doc_id,
            grade=None,
            judge=by,
            kind="human",
            at=not_before(now, held, now).isoformat(),
            supersedes=" ".join(vote.id for vote in held),
            source=WITHDRAWN,
        )
        labelled = commit_votes(voted, [withdrawal], by=by)
    return RulingOutcome(
        gold=str(dataset),
        ruled=0,
        already=0,
        labels=len(labelled.judgments),
        open=len(labelled.open),
        policy=voted.policy.name,
        edited=voted.edits_sentence,
    )


def _refuse_ruled_meanwhile(
    dataset: Path, query_id: str, doc_id: str, seen: str, act: str = ""
) -> None:
    now = rulings_on(dataset, query_id, doc_id)
    if {vote.id for vote in now} == set(seen.split()) or act in {vote.id for vote in now}:
        return
    last = f"{now[-1].judge} ruled grade {now[-1].grade}" if now else "the ruling was withdrawn"
    raise InputError(
        f"{last} on this pair after you opened it",
        where=f"{query_id} {doc_id}",
        hint="Nothing was changed. Open the pair again to see the ruling.",
    )


def rule_from(
    dataset: Path, file: Path, *, by: str = "", kind: str = "", partial: bool = False
) -> RulingOutcome:
    """Rule on many pairs, from a file of disputes that was filled in."""
    ballots = read_ballots(file)
    require_signed(file, ballots, by, "--by")
    return _rule_all(dataset, ballots, by=by, kind=kind, partial=partial)


def _rule_all(
    dataset: Path,
    ballots: Ballots,
    *,
    by: str,
    kind: str,
    partial: bool = False,
    seen: str | None = None,
) -> RulingOutcome:
    with open_voted_set(dataset) as voted:
        if seen is not None:
            row = ballots.rows[0]
            _refuse_ruled_meanwhile(dataset, row.query_id, row.doc_id, seen, row.id)
        now = datetime.now(UTC).replace(microsecond=0)  # rulings have times to the second
        ruled_on = {(row.query_id, row.doc_id) for row in ballots.rows}
        earlier = [vote for vote in voted.votes if (vote.query_id, vote.doc_id) in ruled_on]
        defaults = MergeDefaults(
            judge=by, kind=judge_kind(kind), source=RULING, at=not_before(now, earlier, now)
        )
        # a ruling is on a pair of the pool, or on one that somebody has voted on
        limits = replace(voted.limits, allowed_pairs=asked_pairs(dataset) or frozenset())
        merged_votes = merge_ballots([ballots], limits, defaults, partial=partial)
        labelled = commit_votes(voted, merged_votes.new, by=by)
    ruled = {(vote.query_id, vote.doc_id) for vote in merged_votes.new}
    return RulingOutcome(
        gold=str(dataset),
        ruled=len(merged_votes.new),
        already=merged_votes.already,
        labels=len(labelled.judgments),
        open=len(labelled.open),
        overruled=len(ruled & {(each.query_id, each.doc_id) for each in labelled.overruled}),
        policy=voted.policy.name,
        left_out=[f"{each.where}: {each.message}" for each in merged_votes.left_out],
        edited=voted.edits_sentence,
    )

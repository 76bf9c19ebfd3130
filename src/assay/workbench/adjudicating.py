"""Where judges do not agree, and the ruling. A ruling is a vote too: it is kept beside the others,
with what its judge wrote, and by the policy `adjudicated` it makes the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.formats.ballots import Ballot, Ballots, BlankBallot, read_ballots, write_blank
from assay.judging.disputes import Dispute, Opinion, find_disputes, one_line
from assay.judging.merge import Bounds, Said, cast
from assay.judging.votes import RULING, Pair, not_before
from assay.workbench.texts import known_texts, stale_votes
from assay.workbench.voting import (
    Voted,
    asked_pairs,
    kind_of,
    opened_set,
    read_voted,
    require_signed,
    save,
)

__all__ = [
    "Dispute",
    "Opinion",
    "Ruled",
    "disputes",
    "rule",
    "rule_from",
    "write_disputes",
]


class Ruled(msgspec.Struct, frozen=True, kw_only=True):
    """What rulings did: how many are new, labels now, and how many pairs still wait. `overruled`
    are those that make no label by the policy; `left_out` says what was not taken."""

    gold: str
    ruled: int
    already: int
    labels: int
    open: int
    overruled: int = 0
    policy: str = ""
    left_out: list[str] = []
    edited: str = ""  # labels that somebody edited by hand, in a sentence


# ── looking ───────────────────────────────────────────────────────────────────────────────────────


def disputes(dataset: Path, *, blind: bool = False, corpus: Path | None = None) -> list[Dispute]:
    """Every pair that waits for a ruling, most apart first. `blind` hides who said what."""
    voted = read_voted(dataset)
    texts = known_texts(dataset, corpus)
    stale = {vote.id for vote in stale_votes(voted.votes, texts)} if texts is not None else set()
    return find_disputes(voted.gold, voted.votes, voted.policy, stale=stale, blind=blind)


def write_disputes(
    dataset: Path, found: Sequence[Dispute], output: Path, *, corpus: Path | None = None
) -> None:
    """The disputes as a file to fill in with rulings, for `--from`; with the titles of the
    documents, where their corpus is here."""
    texts = known_texts(dataset, corpus)
    wanted = {dispute.doc_id for dispute in found}
    titles = {each.id: each.title for each in texts.some(wanted)} if texts is not None else {}
    rows = [
        BlankBallot(
            query_id=dispute.query_id,
            query=dispute.query,
            doc_id=dispute.doc_id,
            title=titles.get(dispute.doc_id, ""),
            said=tuple(map(one_line, dispute.votes)),
            source=RULING,
        )
        for dispute in found
    ]
    write_blank(output, rows, name=dataset.stem)


# ── ruling ────────────────────────────────────────────────────────────────────────────────────────


def rule(
    dataset: Path,
    query_id: str,
    doc_id: str,
    grade: int,
    *,
    rationale: str,
    by: str,
    kind: str = "",
) -> Ruled:
    """One ruling, by somebody who says why."""
    ballot = ballot_of((query_id, doc_id), grade, rationale, by)
    return rule_all(dataset, Ballots(rows=[ballot]), by=by, kind=kind)


def ballot_of(pair: Pair, grade: int, rationale: str, by: str) -> Ballot:
    return Ballot(
        where=" ".join(pair),
        query_id=pair[0],
        doc_id=pair[1],
        grade=grade,
        rationale=rationale.strip(),
        judge=by.strip(),
    )


def rule_from(
    dataset: Path, file: Path, *, by: str = "", kind: str = "", partial: bool = False
) -> Ruled:
    """Many rulings from a file of disagreements that was filled in."""
    ballots = read_ballots(file)
    require_signed(file, ballots, by, "--by")
    return rule_all(dataset, ballots, by=by, kind=kind, partial=partial)


def rule_all(
    dataset: Path,
    ballots: Ballots,
    *,
    by: str,
    kind: str,
    partial: bool = False,
) -> Ruled:
    """Rulings in one step."""
    with opened_set(dataset) as voted:
        now = datetime.now(UTC).replace(microsecond=0)  # rulings say no more than the second
        ruled_on = {(row.query_id, row.doc_id) for row in ballots.rows}
        earlier = [vote for vote in voted.votes if (vote.query_id, vote.doc_id) in ruled_on]
        at = not_before(now, earlier, now)
        said = Said(judge=by, kind=kind_of(kind), source=RULING, at=at)
        done = cast([ballots], _limits(voted), said, partial=partial)
        labelled = save(voted, done.new, by=by)
    ruled = {(vote.query_id, vote.doc_id) for vote in done.new}
    return Ruled(
        gold=str(dataset),
        ruled=len(done.new),
        already=done.already,
        labels=len(labelled.judgments),
        open=len(labelled.open),
        overruled=len(ruled & {(each.query_id, each.doc_id) for each in labelled.overruled}),
        policy=voted.policy.name,
        left_out=[f"{each.where}: {each.message}" for each in done.left_out],
        edited=voted.said,
    )


def _limits(voted: Voted) -> Bounds:
    """A ruling is on a pair that was asked for, or that somebody has voted on."""
    return replace(voted.limits, asked=asked_pairs(voted.dataset) or frozenset())

"""The standing of a gold set: how much is judged, approved and agreed on, and what is pending."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import AssayError, InputError
from assay.core.fingerprints import gold_fingerprint
from assay.core.types import GoldSet, standing
from assay.judging.policy import read_policy
from assay.judging.pool import read_pool
from assay.judging.votes import by_pair, current, read_votes
from assay.workbench.judging.session import open_session
from assay.workbench.judging.vote_totals import VoteTotals, vote_totals


class SetStanding(msgspec.Struct, frozen=True, kw_only=True):
    """How far a gold set has come. `approved` is None if the set has no rows to approve, `kappa` if
    no two people graded the same document. `to_judge` counts pairs of the pool that still need a
    judge, `disputes` pairs that need a ruling."""

    name: str
    path: str
    queries: int = 0
    judgments: int = 0
    golden: bool = False
    status: str = ""
    approved: int | None = None
    to_approve: int = 0
    kappa: float | None = None
    shared: int = 0  # documents that two people graded
    judges: int = 0
    to_judge: int = 0
    disputes: int = 0
    uncounted: int = 0  # documents judged since the labels were computed
    fingerprint: str = ""  # of the queries and labels, as the receipt of a run has it
    by_machine: int = 0
    right_to_left: bool = False
    error: str = ""


def set_standing(name: str, path: Path) -> SetStanding:
    """The standing of a gold set, under the name that people use."""
    try:
        return msgspec.structs.replace(_read_standing(path), name=name)
    except (AssayError, OSError) as error:
        return SetStanding(name=name, path=str(path), error=str(error))


def _read_standing(path: Path) -> SetStanding:
    try:
        session = open_session(path)
    except InputError:  # its rubric is missing: nobody can judge it, but it can be shown
        gold, totals = formats.read_gold(path), VoteTotals(read_policy(path))
        totals.compare(gold, read_pool(path))
        for pair, votes in by_pair(current(read_votes(path))).items():
            totals.update(pair, votes)
        totals.uncounted.clear()
        return _standing(path, gold, gold_fingerprint(gold), totals)
    with vote_totals(session) as totals:
        return _standing(path, session.gold, session.fingerprint, totals)


def _standing(path: Path, gold: GoldSet, fingerprint: str, totals: VoteTotals) -> SetStanding:
    approved = gold.approved_rows if gold.from_logs else None
    total = len(gold.queries)
    return SetStanding(
        name=gold.name,
        path=str(path),
        queries=total,
        judgments=gold.judgments.height,
        golden=gold.is_golden,
        status=standing(approved, total) if approved is not None else gold.status or "unknown",
        approved=approved,
        to_approve=total - approved if approved is not None else 0,
        kappa=totals.people.kappa,
        shared=totals.people.shared,
        judges=totals.people.judges,
        to_judge=len(totals.wanted),
        disputes=len(totals.disputes()),
        uncounted=0 if gold.from_logs else len(totals.uncounted),
        fingerprint=fingerprint,
        by_machine=gold.labelling.by_machine if gold.labelling else 0,
        right_to_left=_is_rtl(gold),
    )


def _is_rtl(gold: GoldSet) -> bool:
    some = "".join(query.text for query in gold.queries[:20])
    letters = [letter for letter in some if letter.isalpha()]
    return sum("\u0590" <= letter <= "\u07ff" for letter in letters) * 2 > len(letters) > 0

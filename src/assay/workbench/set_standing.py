"""Where a gold set stands: how much is judged, approved and agreed on, and what is pending."""

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
from assay.workbench.desk import desk_of
from assay.workbench.tallied import Tally, tallied


class SetStanding(msgspec.Struct, frozen=True, kw_only=True):
    """`approved` of `queries` rows, where the set has rows to approve; `kappa` where two people
    graded the same documents. `to_judge` are pairs of the pool, `disputes` wait for a ruling."""

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
    uncounted: int = 0  # documents judged since the labels were made
    fingerprint: str = ""  # of its queries and labels, as the receipt of a run has it
    by_machine: int = 0
    right_to_left: bool = False
    error: str = ""


def set_standing(name: str, path: Path) -> SetStanding:
    try:
        return msgspec.structs.replace(_read(path), name=name)
    except (AssayError, OSError) as error:
        return SetStanding(name=name, path=str(path), error=str(error))


def _read(path: Path) -> SetStanding:
    try:
        desk = desk_of(path)
    except InputError:  # a rubric that is not here: it can be looked at all the same
        return _unopened(path)
    with tallied(desk) as tally:
        return _stands(path, desk.gold, desk.fingerprint, tally)


def _unopened(path: Path) -> SetStanding:
    gold, tally = formats.read_gold(path), Tally(read_policy(path))
    tally.hold(gold, read_pool(path))
    for pair, said in by_pair(current(read_votes(path))).items():
        tally.take(pair, said)
    return msgspec.structs.replace(_stands(path, gold, gold_fingerprint(gold), tally), uncounted=0)


def _stands(path: Path, gold: GoldSet, fingerprint: str, tally: Tally) -> SetStanding:
    approved = gold.approved_rows if gold.from_logs else None
    total, ids = len(gold.queries), set(gold.query_ids)
    return SetStanding(
        name=gold.name,
        path=str(path),
        queries=total,
        judgments=gold.judgments.height,
        golden=any(query.checks for query in gold.queries),
        status=standing(approved, total) if approved is not None else gold.status or "unknown",
        approved=approved,
        to_approve=total - approved if approved is not None else 0,
        kappa=tally.agreed.kappa,
        shared=tally.agreed.shared,
        judges=tally.agreed.judges,
        to_judge=len(tally.wanted),
        disputes=sum(pair[0] in ids for pair in tally.disputed),
        uncounted=0 if gold.from_logs else len(tally.uncounted),
        fingerprint=fingerprint,
        by_machine=gold.labelling.by_machine if gold.labelling else 0,
        right_to_left=_is_rtl(gold),
    )


def _is_rtl(gold: GoldSet) -> bool:
    some = "".join(query.text for query in gold.queries[:20])
    letters = [letter for letter in some if letter.isalpha()]
    return sum("\u0590" <= letter <= "\u07ff" for letter in letters) * 2 > len(letters) > 0

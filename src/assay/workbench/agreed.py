"""Agreement and adjudication on a page: the figures in a few facts first, the disagreements with
the texts, the ruling, and the labels that follow."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from assay.core.errors import AssayError, InputError
from assay.formats.ballots import Ballots
from assay.judging.agreement_figures import Figure
from assay.judging.disputes import Dispute
from assay.judging.votes import RULING
from assay.workbench import adjudicating, voting
from assay.workbench.adjudicating import Ruled
from assay.workbench.agreeing import Agreement, agreement_between
from assay.workbench.desk import Desk, desk_of
from assay.workbench.disputed import disputes_of, open_labels, pair_as_it_stands, uncounted
from assay.workbench.grading import read_pair
from assay.workbench.grading_views import Reading
from assay.workbench.kept import Kept
from assay.workbench.opening import Service, gold_path
from assay.workbench.voting import Merged

__all__ = [
    "Agreement",
    "AgreementRow",
    "Dispute",
    "Fact",
    "Figure",
    "Merged",
    "Ruled",
    "RulingGiven",
    "agreement_list",
    "agreement_of",
    "compute_labels",
    "count_votes",
    "dispute_count",
    "dispute_text",
    "facts_of",
    "give_ruling",
    "newer_votes",
    "open_disputes",
    "ruled_pair",
    "waiting_votes",
]

Strength = Literal["none", "minimal", "weak", "moderate", "strong", "almost perfect"]
# McHugh (2012), Interrater reliability: the kappa statistic
STRENGTHS: tuple[tuple[float, Strength], ...] = (
    (0.20, "none"),
    (0.39, "minimal"),
    (0.59, "weak"),
    (0.79, "moderate"),
    (0.90, "strong"),
    (1.00, "almost perfect"),
)


class AgreementRow(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    votes: int = 0
    judges: int = 0
    disputes: int = 0  # that wait for a ruling
    error: str = ""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Two judges in a sentence. `lenient` is the one who gives higher grades, where that is
    certain."""

    judges: tuple[str, str]
    pairs: int
    exact: float | None
    kappa: float | None
    strength: Strength | None
    lenient: str = ""


class RulingGiven(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    query_id: str
    doc_id: str
    grade: int
    rationale: str


# ── figures ───────────────────────────────────────────────────────────────────────────────────────


def agreement_list(service: Service) -> list[AgreementRow]:
    return [_row(service, name) for name in service.gold_sets]


def _row(service: Service, name: str) -> AgreementRow:
    try:
        desk = desk_of(gold_path(service, name))
    except AssayError as error:
        return AgreementRow(name=name, title=name, error=str(error))
    with desk.log.reading:
        votes, judges = len(desk.votes.ids), len(desk.votes.kinds)
    return AgreementRow(
        name=name,
        title=desk.gold.name,
        votes=votes,
        judges=judges,
        disputes=len(open_labels(desk)),
    )


def agreement_of(service: Service, name: str) -> Agreement:
    """The figures. With thousands of votes they may be a moment old: `newer_votes` says it."""
    return _kept(desk_of(gold_path(service, name)))[0]


def newer_votes(service: Service, name: str, agreed: Agreement) -> int:
    """How many votes were given since the figures were computed."""
    desk = desk_of(gold_path(service, name))
    figures, votes = _kept(desk)
    return max(len(desk.votes.ids) - votes, 0) if figures is agreed else 0


def _computed(dataset: Path) -> tuple[Agreement, int]:
    desk = desk_of(dataset)
    with desk.log.reading:
        votes = desk.log.votes()
    return agreement_between(desk.gold, votes, dataset), len(votes)


def _kept(desk: Desk) -> tuple[Agreement, int]:
    state = desk.stamps, desk.log.life, len(desk.votes.ids)
    return _figures.get(desk.dataset, state, lambda: _computed(desk.dataset))


_figures: Kept[Path, tuple[Agreement, int]] = Kept()


def facts_of(agreed: Agreement) -> list[Fact]:
    """Every two judges who share documents, those with most first."""
    found = []
    for two in agreed.by_pair:
        kappa = two.agreement.weighted_kappa.value
        found.append(
            Fact(
                judges=two.judges,
                pairs=two.agreement.pairs,
                exact=two.agreement.exact.value,
                kappa=kappa,
                strength=strength_of(kappa),
                lenient=_lenient(agreed, two.judges),
            )
        )
    return sorted(found, key=lambda fact: -fact.pairs)


def strength_of(kappa: float | None) -> Strength | None:
    if kappa is None:
        return None
    return next(name for limit, name in STRENGTHS if round(kappa, 2) <= limit)


def _lenient(agreed: Agreement, judges: tuple[str, str]) -> str:
    one, other = (
        agreed.consensus[judge].leaning if judge in agreed.consensus else "" for judge in judges
    )
    if "lenient" == one != other or "strict" == other != one:
        return judges[0]
    return judges[1] if other == "lenient" or one == "strict" else ""


# ── disagreements ─────────────────────────────────────────────────────────────────────────────────


def open_disputes(service: Service, name: str, most: int | None = None) -> list[Dispute]:
    return disputes_of(desk_of(gold_path(service, name)), service.home, most)


def dispute_count(service: Service, name: str) -> int:
    return len(open_labels(desk_of(gold_path(service, name))))


def ruled_pair(service: Service, name: str, query_id: str, doc_id: str) -> Dispute | None:
    """A pair that was ruled on, to rule on it again; none where nobody has."""
    found = pair_as_it_stands(desk_of(gold_path(service, name)), (query_id, doc_id))
    if found is None or not any(vote.source == RULING for vote in found.votes):
        return None
    return found


def dispute_text(service: Service, name: str, query_id: str, doc_id: str) -> Reading | None:
    """The document, where its corpus is here."""
    try:
        return read_pair(service, name, query_id, doc_id)
    except InputError:
        return None


def give_ruling(service: Service, given: RulingGiven, by: str) -> Ruled:
    """A ruling, and the set with the label that follows."""
    dataset, pair = gold_path(service, given.set), (given.query_id, given.doc_id)
    ballot = adjudicating.ballot_of(pair, given.grade, given.rationale, by)
    return adjudicating.rule_all(dataset, Ballots(rows=[ballot]), by=by, kind="human")


def compute_labels(service: Service, name: str, *, by: str) -> Merged:
    """The labels of the set, computed again from the votes."""
    return voting.label_again(gold_path(service, name), by=by)


def waiting_votes(service: Service, name: str) -> int:
    """How many documents were judged since the labels were made."""
    return uncounted(desk_of(gold_path(service, name)))


def count_votes(service: Service, name: str, *, by: str) -> int:
    """Labels again where votes are newer; how many documents that changed. A set that cannot be
    labelled keeps its labels: home says how many votes wait, and Agreement why."""
    try:
        waits = waiting_votes(service, name)
        return len(compute_labels(service, name, by=by).changed) if waits else 0
    except AssayError:
        return 0

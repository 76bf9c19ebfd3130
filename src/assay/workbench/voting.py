"""Votes and labels: what judges sent back becomes votes beside the set, and the labels are computed
from the votes by the policy. Votes are on disk before the set is written, so that nothing a judge
said can be lost; whatever stops in between is made good by the next merge."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.types import GoldSet, Labelling, Vote, VoteKind
from assay.formats.ballots import Ballots, read_ballots
from assay.formats.exchange import identified
from assay.formats.gold_jsonl import locked
from assay.formats.relabel import relabelled, require_writable
from assay.judging import rubrics
from assay.judging.labelling import Change, Labelled, relabel
from assay.judging.merge import Bounds, Cast, Said, bounds, cast
from assay.judging.policy import (
    Policy,
    PolicyName,
    Second,
    checked,
    read_policy,
    write_policy,
)
from assay.judging.pool import Pool, read_pool
from assay.judging.sample import Draw, read_samples
from assay.judging.votes import (
    SAMPLE,
    Pair,
    append,
    read_votes,
    votes_of_labels,
    votes_path,
)
from assay.review.identity import name_of
from assay.review.intents import FileChange, votes_to_come
from assay.review.one_step import record_votes
from assay.review.rulings import refuse_reworded
from assay.store import Store
from assay.store.records import Ruling
from assay.workbench.opening import Service
from assay.workbench.texts import Texts, known_texts, stale_votes

__all__ = [
    "Allowed",
    "Merged",
    "PolicyView",
    "Voted",
    "give",
    "give_with_record",
    "label_again",
    "merge_files",
    "merge_store",
    "opened_set",
    "require_signed",
    "rubric_version",
    "set_policy",
    "show_policy",
]


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """What merging did. `added` and `already` count votes, `without_grade` rows that nobody has
    filled in, `outdated` rows that repeat what their judge has changed since, `spot_checks` votes
    that measure labels; `judges` says whose votes were added, and how many of each. `left_out` are
    sentences about what was not taken."""

    gold: str
    votes: int
    added: int
    judges: dict[str, int]
    already: int
    labels: int
    changed: list[Change]
    open: int
    second: int = 0  # pairs whose only judge was unsure
    spot_checks: int = 0
    without_grade: int = 0
    outdated: int = 0
    stale: int | None = None  # None where the corpus is not known
    not_counted: int = 0
    by_machine: int = 0
    left_out: list[str] = []


@dataclass(frozen=True, kw_only=True)
class Voted:
    """A set with its votes, locked: `first` are the votes that its labels become, not yet on
    disk, and `votes` is all of them."""

    dataset: Path
    gold: GoldSet
    votes: list[Vote]
    first: list[Vote]
    policy: Policy
    limits: Bounds


@contextlib.contextmanager
def opened_set(dataset: Path) -> Iterator[Voted]:
    """The set and its votes, for the only writer."""
    if not dataset.exists():
        raise InputError("no such gold set", where=str(dataset), hint="Check the path.")
    require_writable(dataset)
    with locked(dataset):
        yield read_voted(dataset)


def read_voted(dataset: Path) -> Voted:
    """The set and its votes as they are, for somebody who only looks."""
    gold = formats.read_gold(dataset)
    votes = read_votes(votes_path(dataset))
    first = [] if gold.from_logs else votes_of_labels(gold, votes)
    if not votes and gold.labelling is not None and gold.judgments.height:
        made = gold.labelling.by_machine
        raise InputError(
            f"machines made {made} labels of this set, and their votes are gone"
            if made
            else "the labels of this set were made of votes, and the votes are gone",
            where=str(votes_path(dataset)),
            hint="Put the file back: without it the labels would pass for votes of somebody.",
        )
    limits = replace(bounds(gold, [*votes, *first]), coming=votes_to_come(dataset))
    if gold.rubric:
        rubric = rubrics.find(gold.rubric, beside=dataset)
        limits = replace(
            limits,
            grades={
                grade.value
                for grade in rubric.grades
                if not gold.top_grade or grade.value <= gold.top_grade
            },
            needs_rationale=rubric.rationale == "required",
            rubric=rubrics.version(rubric),
        )
    return Voted(
        dataset=dataset,
        gold=gold,
        votes=[*votes, *first],
        first=first,
        policy=read_policy(dataset),
        limits=limits,
    )


@dataclass(frozen=True, kw_only=True)
class Saving:
    """What is to be written: the votes beside a set, of which `new` were given now, and its file,
    where the labels that follow change it."""

    dataset: Path
    votes: list[Vote]
    new: Sequence[Vote]
    labelled: Labelled
    change: FileChange


Keep = Callable[[Saving], None]


def plainly(saving: Saving) -> None:
    append(votes_path(saving.dataset), saving.votes)
    if saving.change.after != saving.change.before:
        write_atomic(saving.dataset, saving.change.after)


def save(
    voted: Voted,
    new: Sequence[Vote] = (),
    policy: Policy | None = None,
    keep: Keep = plainly,
) -> Labelled:
    """New votes on disk, then the set with the labels that follow. What cannot be labelled is
    refused before anything is written."""
    chosen, before = policy or voted.policy, voted.dataset.read_bytes()
    labelled = relabel(voted.gold, [*voted.votes, *new], chosen, grades=voted.limits.grades)
    content = relabelled(
        voted.dataset,
        labelled.judgments,
        labelling=labelled.labelling,
        status=labelled.status,
    )
    if policy is not None:
        write_policy(voted.dataset, policy)
    keep(
        Saving(
            dataset=voted.dataset,
            votes=[*voted.first, *new],
            new=new,
            labelled=labelled,
            change=FileChange(voted.dataset, before, before if content is None else content),
        )
    )
    return labelled


# ── merging ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """What is taken that is refused else: pairs nobody was asked for; a file of which some rows
    cannot be taken, without these."""

    unasked: bool = False
    partial: bool = False


NOTHING_MORE = Allowed()


def merge_files(
    dataset: Path,
    files: Sequence[Path],
    *,
    judge: str = "",
    kind: str = "",
    corpus: Path | None = None,
    sample: Set[Pair] | None = None,
    allow: Allowed = NOTHING_MORE,
) -> Merged:
    """Take in what judges sent back. A row that cannot be of this set stops everything, unless
    `allow` says that the rest is taken. `sample` are the pairs of a spot check, whose votes measure
    labels and make none; a file with the pairs of a draw is one also where nobody says so."""
    draws, pool = read_samples(dataset).draws, read_pool(dataset)
    ballots = [_as_drawn(read_ballots(path), draws, pool) for path in files]
    for path, file in zip(files, ballots, strict=True):
        require_signed(path, file, judge, "--judge")
    said = Said(
        judge=judge,
        kind=kind_of(kind),
        source=SAMPLE if sample is not None else "",
        at=datetime.now(UTC),
    )
    texts = known_texts(dataset, corpus)
    with opened_set(dataset) as voted:
        asked = sample if sample is not None else asked_pairs(dataset)
        judged = frozenset[Pair]() if sample is not None else voted.limits.judged
        limits = replace(
            voted.limits,
            asked=None if allow.unasked else asked,
            judged=judged,
            documents=None if texts is None else texts.ids,
        )
        with_ids = [identified(file, voted.gold.queries) for file in ballots]
        done = cast(with_ids, limits, said, partial=allow.partial)
        labelled = save(voted, done.new)
    return _merged(voted, ballots, done, labelled, texts)


def require_signed(path: Path, file: Ballots, judge: str, option: str) -> None:
    """Votes never change, so that nobody's are booked on who happens to bring them in."""
    if unsigned := next((row for row in file.rows if not (row.judge or judge).strip()), None):
        raise UsageError(
            "the file does not say who judged",
            where=unsigned.where or str(path),
            hint=f"Say it with {option} NAME. Nothing was changed.",
        )


def _as_drawn(file: Ballots, draws: Sequence[Draw], pool: Pool | None) -> Ballots:
    """A file that has the pairs of a draw, and as many, is the spot check: as votes they would
    change the labels that they are to measure. What was dealt to its judge is no spot check."""
    pairs = {(row.query_id, row.doc_id) for row in file.rows}
    if not pairs or not any(
        file.size == len(draw.pairs) and pairs <= {pair.key for pair in draw.pairs}
        for draw in draws
    ):
        return file
    dealt = {(pair.key, judge) for pair in (pool.pairs if pool else ()) for judge in pair.judges}
    if all(((row.query_id, row.doc_id), row.judge) in dealt for row in file.rows):
        return file
    rows = [msgspec.structs.replace(row, source=SAMPLE) for row in file.rows]
    return msgspec.structs.replace(file, rows=rows)


def _merged(
    voted: Voted,
    ballots: Sequence[Ballots],
    done: Cast,
    labelled: Labelled,
    texts: Texts | None,
) -> Merged:
    votes = [*voted.votes, *done.new]
    return Merged(
        gold=str(voted.dataset),
        votes=len(votes),
        added=len(done.new),
        judges=dict(sorted(Counter(vote.judge for vote in done.new).items())),
        spot_checks=sum(vote.source == SAMPLE for vote in done.new),
        already=done.already,
        labels=len(labelled.judgments),
        changed=labelled.changes,
        open=len(labelled.open),
        second=len(labelled.second),
        without_grade=sum(file.blank for file in ballots),
        outdated=done.outdated,
        stale=None if texts is None else len(stale_votes(votes, texts)),
        not_counted=labelled.not_counted,
        by_machine=labelled.labelling.by_machine,
        left_out=[f"{each.where}: {each.message}" for each in done.left_out],
    )


def merge_store(
    service: Service, dataset: Path, *, corpus: Path | None = None, keep: Keep = plainly
) -> Merged:
    """Labels anew, with the votes that only the store has. One that cannot be of this set any more
    is reported."""
    given = service.store.votes(name_of(service.store, dataset, claim=False))
    return label_again(dataset, given, corpus=corpus, keep=keep)


def label_again(
    dataset: Path,
    given: Sequence[Vote] = (),
    *,
    corpus: Path | None = None,
    keep: Keep = plainly,
) -> Merged:
    """Labels anew from the votes that there are, and those given that are not among them."""
    with opened_set(dataset) as voted:
        known = {vote.id for vote in voted.votes}
        new = [vote for vote in given if vote.id not in known]
        problems = {vote.id: said for vote in new if (said := _misfit(voted.limits, vote))}
        fitting = [vote for vote in new if vote.id not in problems]
        if not fitting and not problems and voted.votes == voted.first:
            raise UsageError(
                "nobody has voted on a review page here, and no file of judgments is given",
                hint="assay gold next and assay gold packet write some to fill in.",
            )
        labelled = save(voted, fitting, keep=keep)
    there = len(given) - len(new)
    done = Cast(new=fitting, already=there, outdated=0)
    merged = _merged(voted, (), done, labelled, known_texts(dataset, corpus))
    left_out = [f"the vote of {v.judge}: {problems[v.id]}" for v in new if v.id in problems]
    return msgspec.structs.replace(merged, left_out=left_out)


def _misfit(limits: Bounds, vote: Vote) -> str:
    """Why a vote cannot be of this set; empty when it can."""
    if vote.query_id not in limits.queries:
        return f"no query {vote.query_id!r} in the gold set {limits.gold.name!r}"
    if vote.grade is not None and limits.grades and vote.grade not in limits.grades:
        return f"grade {vote.grade} of {vote.doc_id} on query {vote.query_id} is off the scale"
    return ""


def give(dataset: Path, votes: Sequence[Vote]) -> None:
    """Votes given one by one, as on the review page: on disk when this returns. Labels that the
    set has on these pairs become votes first; the set itself changes with the next merge."""
    with locked(dataset):
        append(
            votes_path(dataset), [*_labels_as_votes(dataset, formats.read_gold(dataset)), *votes]
        )


def give_with_record(store: Store, dataset: Path, ruling: Ruling) -> None:
    """As `give`, for a ruling that the store records: both, or neither. Refused where the question
    reads otherwise than it was shown."""

    def first() -> list[Vote]:
        gold = formats.read_gold(dataset)
        asked = (query for query in gold.queries if query.id == ruling.item.ref)
        if ruling.state == "approved" and (query := next(asked, None)) is not None:
            refuse_reworded(store, ruling.item, query)
        return _labels_as_votes(dataset, gold)

    record_votes(store, dataset, ruling, first)


def _labels_as_votes(dataset: Path, gold: GoldSet) -> list[Vote]:
    known = read_votes(votes_path(dataset))
    return [] if gold.from_logs else votes_of_labels(gold, known)


def rubric_version(dataset: Path) -> str:
    """The version of the rubric that the set names; empty where it names none."""
    name = formats.read_gold(dataset).rubric
    return rubrics.version(rubrics.find(name, beside=dataset)) if name else ""


def kind_of(text: str) -> VoteKind | None:
    if text not in _KINDS:
        raise UsageError(f"no kind of judge {text!r}", hint="Expected human or machine.")
    return _KINDS[text]


_KINDS: dict[str, VoteKind | None] = {"": None, "human": "human", "machine": "machine"}


def asked_pairs(dataset: Path) -> Set[Pair] | None:
    pool = read_pool(dataset)
    return pool.keys if pool is not None else None


# ── the policy ────────────────────────────────────────────────────────────────────────────────────


class PolicyView(msgspec.Struct, frozen=True, kw_only=True):
    """The policy, and what it makes of the votes."""

    gold: str
    policy: Policy
    votes: int
    labels: int
    labelling: Labelling
    status: str
    not_counted: int
    overruled: int  # pairs whose label is another grade than somebody has ruled
    changed: list[Change]


def show_policy(dataset: Path) -> PolicyView:
    voted = read_voted(dataset)
    labelled = relabel(voted.gold, voted.votes, voted.policy, grades=voted.limits.grades)
    return _view(voted, voted.policy, labelled)


def set_policy(
    dataset: Path,
    name: str = "",
    *,
    counts: Sequence[str] = (),
    seniors: Sequence[str] = (),
    second: str = "",
) -> PolicyView:
    """Another policy, and the labels that follow from it. What is not given stays."""
    with opened_set(dataset) as voted:
        before = voted.policy
        chosen = name or ("senior" if seniors else before.name)
        kept = before.seniors if chosen == "senior" else ()
        try:
            policy = Policy(
                name=msgspec.convert(chosen, PolicyName),
                counts=msgspec.convert(tuple(counts) or before.counts, tuple[VoteKind, ...]),
                seniors=tuple(seniors) or kept,
                second=msgspec.convert(second or before.second, Second),
            )
        except msgspec.ValidationError:
            counting = f" counting {', '.join(counts)}" if counts else ""
            raise UsageError(
                f"no such policy: {' '.join(filter(None, (chosen, second)))}{counting}",
                hint="It is adjudicated, majority, senior or latest; human and machine count; a "
                "second judge is asked where it is deciding, or never.",
            ) from None
        checked(policy)
        labelled = save(voted, policy=policy)
    return _view(voted, policy, labelled)


def _view(voted: Voted, policy: Policy, labelled: Labelled) -> PolicyView:
    return PolicyView(
        gold=str(voted.dataset),
        policy=policy,
        votes=len(voted.votes),
        labels=len(labelled.judgments),
        labelling=labelled.labelling,
        status=labelled.status,
        not_counted=labelled.not_counted,
        overruled=len(labelled.overruled),
        changed=labelled.changes,
    )

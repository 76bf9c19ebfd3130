"""Votes and labels: what judges sent back becomes votes in the log of the set, and the labels are
computed from the votes by the policy. The log is on disk before the gold file is written; where
something stops in between, the next command that writes makes it good."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.types import GoldSet, Judgment, Labelling, Vote, VoteKind
from assay.formats.ballots import Ballots, read_ballots
from assay.formats.exchange import identified
from assay.formats.relabel import relabelled, require_writable
from assay.gold.acts import EDIT, LABEL, RULE, Act, CastVote, new_id
from assay.gold.files import content_of, digest_of, label_digest, labels_in, log_path
from assay.gold.log import Log, open_log, writing
from assay.gold.people import BY_HAND
from assay.gold.projection import compared, project, said_of_edits
from assay.gold.rows import RowChange
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
from assay.judging.votes import EDITED, RULING, SAMPLE, Pair, votes_of_labels
from assay.workbench.texts import Texts, known_texts, stale_votes

__all__ = [
    "Allowed",
    "Merged",
    "PolicyView",
    "Voted",
    "first_acts",
    "give",
    "label_again",
    "merge_files",
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
    sentences about what was not taken, and `edited` about labels that somebody edited by hand."""

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
    edited: str = ""


@dataclass(frozen=True, kw_only=True)
class Voted:
    """A graded set with its votes. `first` are acts that must be in the log before others: labels
    that nobody has voted on become votes, and so do labels that somebody edited by hand. `votes`
    is all of them."""

    dataset: Path
    gold: GoldSet
    content: bytes
    log: Log
    votes: list[Vote]
    first: list[Vote]
    edited: list[RowChange]
    policy: Policy
    limits: Bounds

    @property
    def said(self) -> str:
        """What was edited by hand, in a sentence."""
        return said_of_edits(self.dataset, self.edited) if self.edited else ""


@contextlib.contextmanager
def opened_set(dataset: Path) -> Iterator[Voted]:
    """The set and its votes, for the only writer."""
    if not dataset.exists():
        raise InputError("no such gold set", where=str(dataset), hint="Check the path.")
    require_writable(dataset)
    with writing(dataset):
        yield read_voted(dataset)


def read_voted(dataset: Path) -> Voted:
    """The set and its votes as they are, for somebody who only looks."""
    content, gold, log = content_of(dataset), formats.read_gold(dataset), open_log(dataset)
    votes = log.votes()
    if not votes and gold.labelling is not None and gold.judgments.height:
        made = gold.labelling.by_machine
        raise InputError(
            f"machines made {made} labels of this set, and their votes are gone"
            if made
            else "the labels of this set were made of votes, and the votes are gone",
            where=str(log_path(dataset)),
            hint="Put the file back: without it the labels would pass for votes of somebody.",
        )
    first = [] if gold.from_logs else votes_of_labels(gold, log.book)
    new = {(vote.query_id, vote.doc_id) for vote in first}
    found = [] if gold.from_logs else compared(log, content, lambda: labels_in(gold)).edited
    edited = [one for one in found if one.key not in new]
    by_hand = _edits_as_votes(gold, log, edited)
    every = [*votes, *first, *by_hand]
    limits = bounds(gold, every)
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
        content=content,
        log=log,
        votes=every,
        first=[*first, *by_hand],
        edited=edited,
        policy=read_policy(dataset),
        limits=limits,
    )


def _edits_as_votes(gold: GoldSet, log: Log, edited: Sequence[RowChange]) -> list[Vote]:
    """Labels that somebody changed in the gold file. They stand until somebody rules."""
    if not edited:
        return []
    labels = {(row.query_id, row.doc_id): row for row in gold.iter_judgments()}
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    return [_edit_as_vote(log, one.key, labels.get(one.key), at) for one in edited]


def _edit_as_vote(log: Log, pair: Pair, label: Judgment | None, at: str) -> Vote:
    held = [v.id for v in log.book.everything(pair) if v.source in (RULING, EDITED)]
    return Vote(
        id=new_id(),
        query_id=pair[0],
        doc_id=pair[1],
        grade=label.grade if label is not None else None,
        judge=BY_HAND,
        kind="human",
        at=at,
        rationale=label.rationale if label is not None else "",
        supersedes=" ".join(held),
        source=EDITED,
    )


def save(
    voted: Voted,
    new: Sequence[Vote] = (),
    policy: Policy | None = None,
    *,
    by: str = "terminal",
    at: datetime | None = None,
) -> Labelled:
    """New votes in the log, then the gold file with the labels that follow. What cannot be labelled
    is refused before anything is written."""
    log, gold, chosen = voted.log, voted.gold, policy or voted.policy
    every = [*voted.votes, *new]
    relabel(gold, every, chosen, grades=voted.limits.grades)
    given = [log.act_of(vote) for vote in new]
    called = log.people.id_of
    labelled = relabel(gold, every, chosen, grades=voted.limits.grades, called=called)
    content = relabelled(
        voted.dataset, labelled.judgments, labelling=labelled.labelling, status=labelled.status
    )
    content = voted.content if content is None else content
    first, rows = _first_acts(voted), _changed_rows(voted, labelled.judgments)
    if policy is not None:
        write_policy(voted.dataset, policy)
    is_upgrade = bool(log.before.acts) and not log.path.exists()
    same = content == voted.content and not rows and policy is None
    if not given and not voted.first and same and not is_upgrade:
        return labelled
    file, replaced = digest_of(content), _replaced(voted, rows, first)
    if len(given) == 1 and given[0].action == RULE:
        named = tuple(dict.fromkeys([*given[0].supersedes, *replaced]))
        given = [msgspec.structs.replace(given[0], rows=rows, file=file, supersedes=named)]
    else:
        counts = {"labels": len(labelled.judgments), "changed": len(labelled.changes)}
        label = log.act(LABEL, who=by, at=at, rows=rows, file=file, more=counts)
        given.append(msgspec.structs.replace(label, supersedes=replaced))
    log.append([*first, *given])
    if content == voted.content or project(voted.dataset, content, voted.content):
        log.settle(file)
        return labelled
    return save(read_voted(voted.dataset))  # somebody saved the file meanwhile: labels follow both


def _first_acts(voted: Voted) -> list[Act]:
    log = voted.log
    plain = [log.act_of(vote) for vote in voted.first if vote.source != EDITED]
    by_hand = [vote for vote in voted.first if vote.source == EDITED]
    if not by_hand:
        return plain
    votes = tuple(
        CastVote(
            id=vote.id,
            query=vote.query_id,
            doc=vote.doc_id,
            grade=vote.grade,
            rationale=vote.rationale,
            source=EDITED,
            supersedes=vote.supersedes,
        )
        for vote in by_hand
    )
    rows = tuple(voted.edited)
    named = _replaced(voted, rows)
    edit = log.act(EDIT, who=BY_HAND, kind="human", rows=rows, votes=votes, supersedes=named)
    return [*plain, edit]


def _replaced(
    voted: Voted, rows: Sequence[RowChange], first: Sequence[Act] = ()
) -> tuple[str, ...]:
    """The acts on these labels that stand until now; edits by hand among `first` come after
    them."""
    edited = {row.key: act.id for act in first for row in act.rows}
    heads = (
        [edited[row.key]] if row.key in edited else [w.act for w in voted.log.rows.heads(row.key)]
        for row in rows
    )
    return tuple(dict.fromkeys(id for ids in heads for id in ids))


def _changed_rows(voted: Voted, judgments: Sequence[Judgment]) -> tuple[RowChange, ...]:
    """The labels that are not what the log knows them as."""
    book = voted.log.rows
    edited = {one.key: one.after for one in voted.edited}
    after = {(row.query_id, row.doc_id): label_digest(row) for row in judgments}
    keys = dict.fromkeys([*after, *edited, *book.history])
    states = ((key, edited.get(key, book.wanted(key)), after.get(key)) for key in keys)
    return tuple(
        RowChange(row=key[0], doc=key[1], before=before, after=now)
        for key, before, now in states
        if before != now
    )


# ── merging ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """Overrides that accept otherwise invalid votes: on pairs that nobody was asked for, and the
    valid rows of a file in which others are not."""

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
        edited=voted.said,
    )


def label_again(dataset: Path, *, corpus: Path | None = None, by: str = "terminal") -> Merged:
    """Compute the labels again from the votes that there are."""
    with opened_set(dataset) as voted:
        if len(voted.votes) == len(voted.first):
            raise UsageError(
                "nobody has voted on this set, and no file of judgments is given",
                hint="assay gold next and assay gold packet write some to fill in.",
            )
        labelled = save(voted, by=by)
    done = Cast(new=[], already=0, outdated=0)
    return _merged(voted, (), done, labelled, known_texts(dataset, corpus))


def give(dataset: Path, votes: Sequence[Vote]) -> None:
    """Votes given one by one: on disk when this returns. The labels change with the next merge."""
    with writing(dataset) as log:
        named = [_after_others(log, vote) for vote in votes]
        first = [] if log.path.exists() else first_acts(dataset, log)
        log.append([*first, *(log.act_of(vote) for vote in named)])


def _after_others(log: Log, vote: Vote) -> Vote:
    before = [v.id for v in log.book.last_of(vote.judge, (vote.query_id, vote.doc_id))]
    named = dict.fromkeys([*vote.supersedes.split(), *before])
    return msgspec.structs.replace(vote, supersedes=" ".join(named))


def first_acts(dataset: Path, log: Log) -> list[Act]:
    """The labels of a graded set on which nobody has voted, as votes."""
    gold = formats.read_gold(dataset)
    first = [] if gold.from_logs else votes_of_labels(gold, log.book)
    return [log.act_of(vote) for vote in first]


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

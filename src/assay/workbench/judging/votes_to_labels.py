"""From votes to labels: votes go into the log of a set, and its labels are computed from them.

`open_voted_set` reads a set with its votes under the lock. `commit_votes` writes the log,
then the gold file; after a crash in between, the next command that writes completes the file."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay import formats
from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, InputError, UsageError
from assay.core.types import GoldSet, Judgment, Labelling, Vote, VoteKind
from assay.formats import content_with_labels, require_labels
from assay.formats.ballots import Ballots, identified, read_ballots
from assay.gold.acts import EDIT, LABEL, RULE, Act, CastVote, new_id
from assay.gold.log import Log, open_log, writing
from assay.gold.people import BY_HAND
from assay.gold.projection import compare_with_log, edits_sentence, replace_gold_file
from assay.gold.rows import RowChange, content_of, digest_of, label_digest, labels_in, log_path
from assay.gold.votes import EDITED, RULING, SPOT_CHECK, PairKey
from assay.judging import rubrics
from assay.judging.incoming_votes import (
    MergeDefaults,
    MergedVotes,
    VoteLimits,
    limits_of_set,
    merge_ballots,
)
from assay.judging.labels import (
    LabelChange,
    LabelledSet,
    Policy,
    PolicyName,
    Second,
    check_policy,
    compute_labelled_set,
    read_policy,
    write_policy,
)
from assay.judging.pool import CorpusTexts, Pool, corpus_texts, read_pool, stale_votes
from assay.judging.spot_checks import Draw, read_samples
from assay.judging.votes import label_votes_of
from assay.workbench.judging.session import limits_under
from assay.workbench.judging.vote_totals import uncounted


@dataclass(frozen=True, kw_only=True)
class VotedSet:
    """A graded set with its votes. `label_votes` are among them and must be in the log before
    new votes: labels that nobody has voted on, and labels that were edited by hand."""

    dataset: Path
    gold: GoldSet
    content: bytes
    log: Log
    votes: list[Vote]
    label_votes: list[Vote]
    edited: list[RowChange]
    policy: Policy
    limits: VoteLimits

    @property
    def edits_sentence(self) -> str:
        """A sentence about labels that were edited by hand; empty if none were."""
        return edits_sentence(self.dataset, self.edited) if self.edited else ""


@contextlib.contextmanager
def open_voted_set(dataset: Path) -> Iterator[VotedSet]:
    """The set and its votes, under the lock: nobody else writes inside the block."""
    if not dataset.exists():
        raise InputError("no such gold set", where=str(dataset), hint="Check the path.")
    require_labels(dataset)
    with writing(dataset):
        yield read_voted_set(dataset)


def read_voted_set(dataset: Path) -> VotedSet:
    """The set and its votes, without the lock: for commands that only read."""
    content, gold, log = content_of(dataset), formats.read_gold(dataset), open_log(dataset)
    votes = log.votes()
    if not votes and gold.labelling is not None and gold.judgments.height:
        raise _votes_are_gone(dataset, gold.labelling)
    first = [] if gold.from_logs else label_votes_of(gold, log.book)
    new = {(vote.query_id, vote.doc_id) for vote in first}
    found = [] if gold.from_logs else compare_with_log(log, content, lambda: labels_in(gold)).edited
    edited = [change for change in found if change.key not in new]
    first += _edits_as_votes(gold, log, edited)
    votes += first
    rubric = rubrics.find(gold.rubric, beside=dataset) if gold.rubric else None
    return VotedSet(
        dataset=dataset,
        gold=gold,
        content=content,
        log=log,
        votes=votes,
        label_votes=first,
        edited=edited,
        policy=read_policy(dataset),
        limits=limits_under(rubric, gold, votes) if rubric else limits_of_set(gold, votes),
    )


def _votes_are_gone(dataset: Path, labelling: Labelling) -> InputError:
    made = labelling.by_machine
    return InputError(
        f"machines made {made} labels of this set, but their votes are missing"
        if made
        else "the labels of this set were computed from votes, and the votes are missing",
        where=str(log_path(dataset)),
        hint="Restore the log: without it the labels would count as somebody's votes.",
    )


def _edits_as_votes(gold: GoldSet, log: Log, edited: Sequence[RowChange]) -> list[Vote]:
    """Labels that somebody changed in the gold file, as votes. They hold until somebody rules."""
    if not edited:
        return []
    labels = {(row.query_id, row.doc_id): row for row in gold.iter_judgments()}
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    return [_edit_as_vote(log, change.key, labels.get(change.key), at) for change in edited]


def _edit_as_vote(log: Log, pair: PairKey, label: Judgment | None, at: str) -> Vote:
    replaced = [v.id for v in log.book.current_votes(pair) if v.source in (RULING, EDITED)]
    return Vote(
        id=new_id(),
        query_id=pair[0],
        doc_id=pair[1],
        grade=label.grade if label is not None else None,
        judge=BY_HAND,
        kind="human",
        at=at,
        rationale=label.rationale if label is not None else "",
        supersedes=" ".join(replaced),
        source=EDITED,
    )


# ── saving ────────────────────────────────────────────────────────────────────────────────────────


def commit_votes(
    voted: VotedSet,
    new: Sequence[Vote] = (),
    policy: Policy | None = None,
    *,
    by: str = "terminal",
) -> LabelledSet:
    """Compute the labels, append new votes to the log, then write the gold file. Votes that cannot
    be labelled are refused before anything is written."""
    log = voted.log
    labelled = compute_labelled_set(
        voted.gold,
        [*voted.votes, *new],
        policy or voted.policy,
        grades=voted.limits.grades,
        called=log.people.id_of,
    )
    content = content_with_labels(
        voted.dataset, labelled.judgments, labelling=labelled.labelling, status=labelled.status
    )
    content = voted.content if content is None else content
    acts = [log.act_of(vote) for vote in new]
    first, rows = _label_vote_acts(voted), _changed_rows(voted, labelled.judgments)
    if policy is not None:
        write_policy(voted.dataset, policy)
    is_upgrade = bool(log.earlier.acts) and not log.path.exists()
    is_same = content == voted.content and not rows and policy is None
    if is_same and not acts and not voted.label_votes and not is_upgrade:
        return labelled
    file, replaced = digest_of(content), _replaced_votes(voted, rows, first)
    if len(acts) == 1 and acts[0].action == RULE:  # the ruling itself records the labels
        superseded = tuple(dict.fromkeys([*acts[0].supersedes, *replaced]))
        acts = [msgspec.structs.replace(acts[0], rows=rows, file=file, supersedes=superseded)]
    else:
        counts = {"labels": len(labelled.judgments), "changed": len(labelled.changes)}
        acts.append(log.act(LABEL, who=by, rows=rows, file=file, more=counts, supersedes=replaced))
    log.append([*first, *acts])
    if content == voted.content or replace_gold_file(voted.dataset, content, voted.content):
        log.mark_matching(file)
        return labelled
    # somebody edited the file meanwhile
    return commit_votes(read_voted_set(voted.dataset), by=by)


def _label_vote_acts(voted: VotedSet) -> list[Act]:
    """The acts that must be in the log before new votes. All edits by hand are one act."""
    log = voted.log
    acts = [log.act_of(vote) for vote in voted.label_votes if vote.source != EDITED]
    if voted.edited:
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
            for vote in voted.label_votes
            if vote.source == EDITED
        )
        rows = tuple(voted.edited)
        named = _replaced_votes(voted, rows)
        edit = log.act(EDIT, who=BY_HAND, kind="human", rows=rows, votes=votes, supersedes=named)
        acts.append(edit)
    return acts


def _replaced_votes(
    voted: VotedSet, rows: Sequence[RowChange], first: Sequence[Act] = ()
) -> tuple[str, ...]:
    """The ids of the acts that a change of these labels replaces; edits by hand in `first` come
    after what the log has."""
    edited = {row.key: act.id for act in first for row in act.rows}
    heads = (
        [edited[row.key]] if row.key in edited else [w.act for w in voted.log.rows.heads(row.key)]
        for row in rows
    )
    return tuple(dict.fromkeys(id for ids in heads for id in ids))


def _changed_rows(voted: VotedSet, judgments: Sequence[Judgment]) -> tuple[RowChange, ...]:
    """The labels that differ from what the log has."""
    book = voted.log.rows
    edited = {change.key: change.after for change in voted.edited}
    after = {(row.query_id, row.doc_id): label_digest(row) for row in judgments}
    keys = dict.fromkeys([*after, *edited, *book.history])
    states = ((key, edited.get(key, book.projected(key)), after.get(key)) for key in keys)
    return tuple(
        RowChange(row=key[0], doc=key[1], before=before, after=now)
        for key, before, now in states
        if before != now
    )


# ── merging ───────────────────────────────────────────────────────────────────────────────────────


class MergeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a merge. `added` and `already` count votes, `without_grade` rows that nobody
    has filled in, `outdated` rows that repeat a vote that the judge has changed since, and
    `spot_checks` votes that only measure labels; `judges` counts the new votes of each judge.
    `left_out` are sentences about rejected rows, `edited` one about labels edited by hand."""

    gold: str
    votes: int
    added: int
    judges: dict[str, int]
    already: int
    labels: int
    changed: list[LabelChange]
    open: int
    second: int = 0  # pairs whose only judge was unsure
    spot_checks: int = 0
    without_grade: int = 0
    outdated: int = 0
    stale: int | None = None  # None if the corpus is not known
    not_counted: int = 0
    by_machine: int = 0
    left_out: list[str] = []
    edited: str = ""


@dataclass(frozen=True, kw_only=True)
class MergeOverrides:
    """Overrides that accept otherwise invalid votes: on pairs that nobody was asked for, and the
    valid rows of a file in which others are not."""

    unasked: bool = False
    partial: bool = False


NO_OVERRIDES = MergeOverrides()


def merge_files(
    dataset: Path,
    files: Sequence[Path],
    *,
    judge: str = "",
    kind: str = "",
    corpus: Path | None = None,
    sample: Set[PairKey] | None = None,
    allow: MergeOverrides = NO_OVERRIDES,
) -> MergeOutcome:
    """Merge the files that judges sent back. One invalid row rejects everything, unless `allow`
    accepts the rest. `sample` are the pairs of a spot check, whose votes measure labels and make
    none; a file that has the pairs of a draw counts as one too."""
    draws, pool = read_samples(dataset).draws, read_pool(dataset)
    ballots = [_mark_spot_checks(read_ballots(path), draws, pool) for path in files]
    for path, file in zip(files, ballots, strict=True):
        require_signed(path, file, judge, "--judge")
    defaults = MergeDefaults(
        judge=judge,
        kind=judge_kind(kind),
        source=SPOT_CHECK if sample is not None else "",
        at=datetime.now(UTC),
    )
    texts = corpus_texts(dataset, corpus)
    with open_voted_set(dataset) as voted:
        sampled = sample if sample is not None else asked_pairs(dataset)
        judged = frozenset[PairKey]() if sample is not None else voted.limits.judged
        limits = replace(
            voted.limits,
            allowed_pairs=None if allow.unasked else sampled,
            judged=judged,
            documents=None if texts is None else texts.ids,
        )
        with_ids = [identified(file, voted.gold.queries) for file in ballots]
        merged_votes = merge_ballots(with_ids, limits, defaults, partial=allow.partial)
        labelled = commit_votes(voted, merged_votes.new)
    return _merge_outcome(voted, ballots, merged_votes, labelled, texts)


def require_signed(path: Path, file: Ballots, judge: str, option: str) -> None:
    """Refuse a file without the names of its judges: votes never change, so none may be booked to
    the person who happens to merge them."""
    if unsigned := next((row for row in file.rows if not (row.judge or judge).strip()), None):
        raise UsageError(
            "the file does not say who judged",
            where=unsigned.where or str(path),
            hint=f"Name the judge with {option} NAME. Nothing was changed.",
        )


def _mark_spot_checks(file: Ballots, draws: Sequence[Draw], pool: Pool | None) -> Ballots:
    """Mark a file that has exactly the pairs of a draw as a spot check: as votes they would change
    the labels that they measure. A file whose pairs were dealt to its judge is not one."""
    pairs = {(row.query_id, row.doc_id) for row in file.rows}
    if not pairs or not any(
        file.size == len(draw.pairs) and pairs <= {pair.key for pair in draw.pairs}
        for draw in draws
    ):
        return file
    dealt = {(pair.key, judge) for pair in (pool.pairs if pool else ()) for judge in pair.judges}
    if all(((row.query_id, row.doc_id), row.judge) in dealt for row in file.rows):
        return file
    rows = [msgspec.structs.replace(row, source=SPOT_CHECK) for row in file.rows]
    return msgspec.structs.replace(file, rows=rows)


def _merge_outcome(
    voted: VotedSet,
    ballots: Sequence[Ballots],
    done: MergedVotes,
    labelled: LabelledSet,
    texts: CorpusTexts | None,
) -> MergeOutcome:
    votes = [*voted.votes, *done.new]
    return MergeOutcome(
        gold=str(voted.dataset),
        votes=len(votes),
        added=len(done.new),
        judges=dict(sorted(Counter(vote.judge for vote in done.new).items())),
        spot_checks=sum(vote.source == SPOT_CHECK for vote in done.new),
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
        edited=voted.edits_sentence,
    )


def recompute_labels(
    dataset: Path, *, corpus: Path | None = None, by: str = "terminal"
) -> MergeOutcome:
    """Compute the labels from the votes in the log, and write them into the gold file."""
    with open_voted_set(dataset) as voted:
        if len(voted.votes) == len(voted.label_votes):
            raise UsageError(
                "nobody has voted on this set yet",
                hint="Write judging files with assay gold next or assay gold packet.",
            )
        labelled = commit_votes(voted, by=by)
    no_votes = MergedVotes(new=[], already=0, outdated=0)
    return _merge_outcome(voted, (), no_votes, labelled, corpus_texts(dataset, corpus))


def recompute_outdated_labels(dataset: Path, *, by: str) -> int:
    """Write the labels if votes are newer, and return how many labels changed. A set that cannot
    be labelled keeps its labels: Home shows the uncounted votes, Agreement the reason."""
    try:
        return len(recompute_labels(dataset, by=by).changed) if uncounted(dataset) else 0
    except AssayError:
        return 0


def append_votes(dataset: Path, votes: Sequence[Vote]) -> None:
    """Append votes to the log, on disk when this returns. A later merge computes the labels."""
    with writing(dataset) as log:
        acts = [] if log.path.exists() else label_vote_acts(dataset, log)
        for vote in votes:
            before = log.book.votes_to_supersede(vote.judge, (vote.query_id, vote.doc_id))
            superseded = dict.fromkeys(
                [*vote.supersedes.split(), *(earlier.id for earlier in before)]
            )
            vote = msgspec.structs.replace(vote, supersedes=" ".join(superseded))
            acts.append(log.act_of(vote))
        log.append(acts)


def label_vote_acts(dataset: Path, log: Log) -> list[Act]:
    """The labels of a graded set on which nobody has voted, as votes for its log."""
    gold = formats.read_gold(dataset)
    first = [] if gold.from_logs else label_votes_of(gold, log.book)
    return [log.act_of(vote) for vote in first]


def rubric_version(dataset: Path) -> str:
    """The version of the rubric that the set names; empty if it names none."""
    name = formats.read_gold(dataset).rubric
    return rubrics.version(rubrics.find(name, beside=dataset)) if name else ""


def judge_kind(text: str) -> VoteKind | None:
    """The kind of judge that an option names; None if it names none."""
    if text not in _KINDS:
        raise UsageError(f"unknown kind of judge: {text!r}", hint="Use human or machine.")
    return _KINDS[text]


_KINDS: dict[str, VoteKind | None] = {"": None, "human": "human", "machine": "machine"}


def asked_pairs(dataset: Path) -> Set[PairKey] | None:
    """The pairs of the pool; None if the set has no pool."""
    pool = read_pool(dataset)
    return pool.keys if pool is not None else None


# ── the policy ────────────────────────────────────────────────────────────────────────────────────


class PolicyView(msgspec.Struct, frozen=True, kw_only=True):
    """A policy, and the labels that follow from it."""

    gold: str
    policy: Policy
    votes: int
    labels: int
    labelling: Labelling
    status: str
    not_counted: int
    overruled: int  # pairs whose label differs from the last ruling
    changed: list[LabelChange]


def show_policy(dataset: Path) -> PolicyView:
    voted = read_voted_set(dataset)
    policy, grades = voted.policy, voted.limits.grades
    labelled = compute_labelled_set(voted.gold, voted.votes, policy, grades=grades)
    return _policy_view(voted, policy, labelled)


def set_policy(
    dataset: Path,
    name: str = "",
    *,
    counts: Sequence[str] = (),
    seniors: Sequence[str] = (),
    second: str = "",
) -> PolicyView:
    """Change the policy and recompute the labels. Options that are not given stay as they are."""
    with open_voted_set(dataset) as voted:
        before = voted.policy
        chosen = name or ("senior" if seniors else before.name)
        kept = before.seniors if chosen == "senior" else ()
        try:
            policy = Policy(
                name=msgspec.convert(chosen, thread_safe(PolicyName)),
                counts=msgspec.convert(
                    tuple(counts) or before.counts, thread_safe(tuple[VoteKind, ...])
                ),
                seniors=tuple(seniors) or kept,
                second=msgspec.convert(second or before.second, thread_safe(Second)),
            )
        except msgspec.ValidationError:
            counting = f" counting {', '.join(counts)}" if counts else ""
            raise UsageError(
                f"no such policy: {' '.join(filter(None, (chosen, second)))}{counting}",
                hint="Policies: adjudicated, majority, senior, latest. --counts takes human and "
                "machine, --second takes deciding and never.",
            ) from None
        check_policy(policy)
        labelled = commit_votes(voted, policy=policy)
    return _policy_view(voted, policy, labelled)


def _policy_view(voted: VotedSet, policy: Policy, labelled: LabelledSet) -> PolicyView:
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

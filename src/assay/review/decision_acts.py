"""A chair's decisions as acts in the log of a set: approve, correct, reject and undo rows of a
gold-set.jsonl and suggested judgments.

Each decision is one act in the log of the set, on one row or on many; the gold file is written from
it (`GoldRows.commit`). The act keeps each row as it was before, so that undoing brings its line
back byte for byte. It also holds the chair's vote on each document of the row: approving a row says
that its documents are relevant."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import Approval, GoldRow, Line
from assay.gold.acts import APPROVE, CORRECT, DISMISS, PUBLISH, REJECT, UNDO, Act, CastVote, new_id
from assay.gold.log import Log, writing
from assay.gold.projection import GoldRows, open_rows, row_of, with_line
from assay.gold.rows import RowChange, comparable_state, content_of, has_rows, text_of
from assay.gold.votes import RULING, WITHDRAWN
from assay.review.queue import ReviewItem, ReviewState, decisions_on, row_items

DECISIONS = (APPROVE, CORRECT, REJECT)
NO_REASON = "approved, no reason given"

EditLine = Callable[[Line], Line | None]  # the line of a row after a decision; None removes it


class ReviewDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Who decides, why and when. `vote_rationale` is the rationale of the votes, where it is not
    the `reason`. `seen` are the items as the person saw them, and `note_seen` the note of the row:
    if one of them has changed, or somebody else decided on it, nothing is decided. `act_id` is the
    id that the client gave the act, so that sending it again does nothing."""

    by: str
    reason: str = ""
    vote_rationale: str | None = None
    seen: tuple[ReviewItem, ...] = ()
    note_seen: str | None = None
    act_id: str = ""
    at: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))


class RowsOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The state that a decision gave rows: the ids that it changed, those that were `already` in
    that state, and how much of the set is approved now."""

    state: ReviewState
    ids: tuple[str, ...]
    already: tuple[str, ...]
    approval: Approval


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a chair to a row. None leaves a value as it is; `add` and `remove` change the
    documents."""

    query: str | None = None
    practice_area: str | None = None
    note: str | None = None
    relevant: tuple[str, ...] | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class ChangedMeanwhile(InputError):
    """Rows are not as the person saw them."""

    def __init__(self, refs: Sequence[str]) -> None:
        self.refs = refs
        super().__init__(
            "the row changed since you saw it",
            where=", ".join(refs),
            hint="Nothing was decided. Look at the row again, then decide.",
        )


class DecidedMeanwhile(InputError):
    """Somebody else decided first: `items` as they are now."""

    def __init__(self, items: Sequence[ReviewItem]) -> None:
        self.items = items
        first = items[0]
        pending = first.state == "pending_review"
        now = "is pending again" if pending else f"is already {first.state}"
        super().__init__(f"{first.ref} {now}, by {first.decided_by or 'somebody'}")


# ── decisions on rows ─────────────────────────────────────────────────────────────────────────────


def approve(path: Path, ids: Sequence[str], decision: ReviewDecision) -> RowsOutcome:
    """Approve rows: their source becomes the chair."""
    if not decision.reason:
        decision = msgspec.structs.replace(decision, reason=NO_REASON, vote_rationale="")
    return _decide(
        path, ids, lambda line: gold_jsonl.edited_line(line, source="chair"), APPROVE, decision
    )


def correct(path: Path, id: str, correction: Correction, decision: ReviewDecision) -> RowsOutcome:
    """Change a row and approve it. An approved row can be corrected again."""
    _require_reason(path, decision, "correct")
    return _decide(
        path, [id], lambda line: _corrected_line(line, correction, path), CORRECT, decision
    )


def reject(path: Path, ids: Sequence[str], decision: ReviewDecision) -> RowsOutcome:
    """Remove rows from the gold set. The bootstrap does not bring a rejected query back."""
    _require_reason(path, decision, "reject")
    return _decide(path, ids, lambda line: None, REJECT, decision)


def _decide(
    path: Path, ids: Sequence[str], edit: EditLine, action: str, decision: ReviewDecision
) -> RowsOutcome:
    """Change the rows with these ids, in one act. A row that would stay the same keeps its bytes,
    and is `already` so; unless it is disputed: then the decision ends the dispute."""
    _require_name(path, decision)
    with _open_set(path) as rows:
        _refuse_decided_meanwhile(rows, decision.seen)
        places = {id: place_of(rows.lines, path, id) for id in dict.fromkeys(ids)}
        _refuse_changed_meanwhile([_row(rows.lines[n]) for n in places.values()], decision)
        lines: list[Line | None] = list(rows.lines)
        already, unchanged, votes = list[str](), list[RowChange](), list[CastVote]()
        for id, place in places.items():
            old, new = rows.lines[place], edit(rows.lines[place])
            if new is not None and new.row == old.row and not rows.log.rows.is_disputed((id, "")):
                already.append(id)
                continue
            lines[place] = new
            votes += _votes_on_row(rows.log, _row(old), new, decision)
            if new == old:
                unchanged.append(_unchanged(old))
        decided = tuple(id for id in places if id not in already)
        kept = [line for line in lines if line is not None]
        if decided:
            act = _act(rows.log, action, decision, votes=tuple(votes), rows=tuple(unchanged))
            rows.commit(act, kept)
        else:
            rows.rebuild()  # the gold file may be behind: the process died after it had decided
    return RowsOutcome(
        state="rejected" if action == REJECT else "approved",
        ids=decided,
        already=tuple(already),
        approval=gold_jsonl.approval(gold_jsonl.rows(kept)),
    )


def publish(path: Path, ids: Sequence[str], decision: ReviewDecision) -> None:
    """Mark approved rows as published: a committed baseline was scored on them."""
    with _open_set(path) as rows:
        changes = [_unchanged(x) for x in rows.lines if x.row is not None and x.row.id in ids]
        if changes:
            rows.commit(_act(rows.log, PUBLISH, decision, rows=tuple(changes)), rows.lines)


@contextlib.contextmanager
def _open_set(path: Path) -> Iterator[GoldRows]:
    """Lock a gold set that exists. A mistyped name must not create a log."""
    _require_file(path)
    with open_rows(path) as rows:
        yield rows


def _require_file(path: Path) -> None:
    if not path.exists():
        hint = "Check the path after --gold, or make the set with `assay gold bootstrap`."
        raise InputError("no such gold set", where=str(path), hint=hint)
    if not has_rows(path):
        hint = "In a set with grades, use `assay serve` or `assay gold adjudicate`."
        raise InputError("only rows of a .jsonl gold set are reviewed", where=str(path), hint=hint)


def _require_name(path: Path, decision: ReviewDecision) -> None:
    if not decision.by.strip():
        raise InputError(
            "the name of the person who decides is missing",
            where=str(path),
            hint="Give the name with --by.",
        )


def _require_reason(path: Path, decision: ReviewDecision, verb: str) -> None:
    if not decision.reason.strip():
        hint = "Give the reason with --why."
        raise InputError(f"a reason is needed to {verb} a row", where=str(path), hint=hint)


def _act(log: Log, action: str, decision: ReviewDecision, **more: Any) -> Act:
    if decision.act_id:
        more["id"] = decision.act_id
    return log.act(action, who=decision.by, at=decision.at, rationale=decision.reason, **more)


def _row(line: Line) -> GoldRow:
    assert line.row is not None
    return line.row


def _unchanged(line: Line) -> RowChange:
    """A row that an act is about and does not change."""
    return RowChange(row=_row(line).id, before=text_of(line), after=text_of(line))


def place_of(lines: Sequence[Line], path: Path, id: str) -> int:
    """The place of the row with this id among the lines of a gold set."""
    places = [n for n, line in enumerate(lines) if line.row is not None and line.row.id == id]
    if len(places) == 1:
        return places[0]
    if places:
        others = ", ".join(str(place + 1) for place in places[1:])
        raise InputError(
            f"id {id!r} is also on line {others}",
            where=f"{path}:{places[0] + 1}",
            hint="Give each row its own id first; `assay gold bootstrap` renumbers its own rows.",
        )
    ids = [row.id for row in gold_jsonl.rows(lines)]
    near = difflib.get_close_matches(id, ids, n=3, cutoff=0.4)
    hint = f"See its rows with `assay serve --gold {path}`, or name another set with --gold."
    raise InputError(
        f"no row {id!r} in this gold set",
        where=str(path),
        hint=f"Did you mean {', '.join(near)}?" if near else hint,
    )


# ── lines ─────────────────────────────────────────────────────────────────────────────────────────


def _corrected_line(line: Line, correction: Correction, path: Path) -> Line:
    row, where = _row(line), f"{path}: {_row(line).id}"
    texts = {
        name: value
        for name in ("query", "practice_area", "note")
        if (value := getattr(correction, name)) is not None
    }
    if not texts.get("query", "x").strip():
        raise InputError("a row needs a query", where=where, hint="Give its text with --query.")
    unknown = [id for id in correction.remove if id not in row.relevant_case_law_ids]
    if unknown:
        raise InputError(
            f"the row has no document {unknown[0]!r} to remove",
            where=where,
            hint=f"It has {', '.join(row.relevant_case_law_ids)}.",
        )
    before = row.relevant_case_law_ids if correction.relevant is None else correction.relevant
    wanted = dict.fromkeys((*before, *correction.add))
    ids = tuple(id for id in wanted if id.strip() and id not in correction.remove)
    _require_document(ids, where)
    return gold_jsonl.edited_line(line, **texts, relevant_case_law_ids=ids, source="chair")


def _with_documents(
    lines: Sequence[Line], path: Path, place: int, ids: Sequence[str]
) -> list[Line]:
    """The lines with these documents in one row."""
    row, ids = _row(lines[place]), tuple(dict.fromkeys(ids))
    _require_document(ids, f"{path}: {row.id}")
    if ids == row.relevant_case_law_ids:
        return list(lines)
    line = gold_jsonl.edited_line(lines[place], relevant_case_law_ids=ids)
    return [*lines[:place], line, *lines[place + 1 :]]


def _require_document(ids: Sequence[str], where: str) -> None:
    if not ids:
        raise InputError("no document would be left", where=where, hint="Reject the row instead.")


# ── what the person saw ───────────────────────────────────────────────────────────────────────────


def _refuse_decided_meanwhile(rows: GoldRows, shown_items: Sequence[ReviewItem]) -> None:
    if not shown_items:
        return
    refs = {item.ref for item in shown_items}
    found = row_items(shown_items[0].gold, rows.log.dataset, rows.log, rows.lines, refs)
    now = {item.id: item for item in found}
    others = [
        now[item.id]
        for item in shown_items
        if item.id in now and (now[item.id].state, now[item.id].act) != (item.state, item.act)
    ]
    if others:
        raise DecidedMeanwhile(others)


def _refuse_changed_meanwhile(rows: Sequence[GoldRow], decision: ReviewDecision) -> None:
    shown = {item.ref: item for item in decision.seen}
    changed = [row.id for row in rows if row.id in shown and not _is_as_shown(row, shown[row.id])]
    if decision.note_seen is not None:
        changed += [row.id for row in rows if row.note != decision.note_seen]
    if changed:
        raise ChangedMeanwhile(list(dict.fromkeys(changed)))


def _is_as_shown(row: GoldRow, item: ReviewItem) -> bool:
    now = row.query, row.corpus, row.practice_area, row.relevant_case_law_ids
    return now == (item.query, item.corpus, item.practice_area, item.doc_ids)


# ── votes on documents ────────────────────────────────────────────────────────────────────────────


def _votes_on_row(
    log: Log, before: GoldRow, after: Line | None, decision: ReviewDecision
) -> Iterator[CastVote]:
    """The chair's votes on each document that the row has or had, also in the other decisions of a
    dispute: grade 1 for those that it has now, else 0."""
    relevant = _row(after).relevant_case_law_ids if after is not None else ()
    key = (before.id, "")
    heads = log.rows.heads(key) if log.rows.is_disputed(key) else []
    states = [head.change.after for head in heads if head.change.after is not None]
    disputed = [doc for state in states for doc in row_of(state).relevant_case_law_ids]
    for doc in dict.fromkeys((*before.relevant_case_law_ids, *relevant, *disputed)):
        rulings = [v.id for v in log.book.current_votes((before.id, doc)) if v.source == RULING]
        yield CastVote(
            id=new_id(),
            query=before.id,
            doc=doc,
            grade=int(doc in relevant),
            rationale=decision.vote_rationale,
            source=RULING,
            supersedes=" ".join(rulings),
        )


def _undo_votes(log: Log, act: Act, query: str) -> Iterator[CastVote]:
    """Votes that undo those of an act on one row: each is withdrawn, or if it replaced an earlier
    vote of the same judge, that one is cast again. Votes that were replaced since stay."""
    for vote in _votes_of(log, act, query):
        if (current := _current_vote(log, vote)) is None:
            continue
        replaced = [v for id in vote.supersedes.split() if (v := log.book.vote(id)) is not None]
        own = [v for v in replaced if v.judge == vote.judge and v.source != WITHDRAWN]
        yield _cast_again(log, current, own[-1] if own else None)


def _current_vote(log: Log, vote: Vote) -> Vote | None:
    """The vote that counts today and says the same: the vote itself, or one that repeats it."""
    content = (vote.judge, vote.grade, vote.rationale, vote.source)
    votes = log.book.current_votes((vote.query_id, vote.doc_id))
    return next((v for v in votes if (v.judge, v.grade, v.rationale, v.source) == content), None)


def _cast_again(log: Log, vote: Vote, earlier: Vote | None) -> CastVote:
    new = CastVote(
        id=new_id(), query=vote.query_id, doc=vote.doc_id, rationale="", supersedes=vote.id
    )
    if earlier is None:
        return msgspec.structs.replace(new, source=WITHDRAWN)
    return msgspec.structs.replace(
        new,
        grade=earlier.grade,
        who=log.people.id_of(earlier.judge, earlier.kind),
        rationale=earlier.rationale,
        rubric=earlier.rubric,
        document=earlier.document,
        source=earlier.source,
    )


def _votes_of(log: Log, act: Act, query: str) -> list[Vote]:
    """The votes that an act cast on a row. Earlier versions wrote them as lines of their own, with
    the time of the act."""
    if act.votes:
        found = [log.book.vote(vote.id) for vote in act.votes]
        return [vote for vote in found if vote is not None and vote.query_id == query]
    judge = log.who(act)
    own = [v.id for v in log.book.ids.values() if (v.query_id, v.judge) == (query, judge)]
    votes = (vote for id in own if (vote := log.book.vote(id)) is not None)
    return [vote for vote in votes if vote.at == act.at and vote.source != WITHDRAWN]


# ── undo ──────────────────────────────────────────────────────────────────────────────────────────


def undo(path: Path, items: Sequence[ReviewItem], decision: ReviewDecision) -> None:
    """Undo the decisions on rows, on all of them or on none: the rows are what they were before."""
    _require_name(path, decision)
    with _open_set(path) as rows:
        _refuse_decided_meanwhile(rows, items)
        _undo(rows, items, decision)


def reopen(path: Path, id: str, decision: ReviewDecision) -> RowsOutcome:
    """Undo the rejection of a row, by its id."""
    _require_name(path, decision)
    with _open_set(path) as rows:
        row_ids = {row.id for row in gold_jsonl.rows(rows.lines)}
        found = row_items("", rows.log.dataset, rows.log, rows.lines, {id})
        item = next((x for x in found if x.ref == id and x.state == "rejected"), None)
        if item is None or id in row_ids:
            hint = "Only a rejected row can be reopened. Undo an approval on the review page."
            raise InputError(f"row {id!r} is not rejected", where=str(path), hint=hint)
        lines = _undo(rows, [item], decision)
    row = _row(lines[place_of(lines, path, id)])
    return RowsOutcome(
        state="approved" if row.source == "chair" else "pending_review",
        ids=(id,),
        already=(),
        approval=gold_jsonl.approval(gold_jsonl.rows(lines)),
    )


def _undo(rows: GoldRows, items: Sequence[ReviewItem], decision: ReviewDecision) -> list[Line]:
    """Append the act that undoes the decisions on these rows; return the lines of the file."""
    lines, votes, undone = list(rows.lines), list[CastVote](), list[str]()
    for item in items:
        act, change = _decision_on(rows, item)
        lines = _line_undone(lines, rows.log.dataset, item, change)
        others = [rows.log.acts[id] for id in rows.heads((item.ref, "")) if id != act.id]
        same = [x for x in others if x.action in DECISIONS and "doc" not in x.subject]
        for each in (act, *same):  # two copies of the project may have decided the same
            votes += _undo_votes(rows.log, each, item.ref)
        undone.append(act.id)
    decision = _with_undo_reason(decision, rejection=items[0].state == "rejected")
    act = _act(rows.log, UNDO, decision, votes=tuple(votes), supersedes=tuple(undone))
    rows.commit(act, lines)
    return lines


def _with_undo_reason(decision: ReviewDecision, *, rejection: bool) -> ReviewDecision:
    undone = "rejection undone" if rejection else "approval undone"
    return msgspec.structs.replace(decision, reason=decision.reason or undone)


def _decision_on(rows: GoldRows, item: ReviewItem) -> tuple[Act, RowChange]:
    for entry in reversed(rows.log.rows.history.get((item.ref, ""), [])):
        act = rows.log.acts[entry.act]
        if act.id == item.act and act.action in DECISIONS:
            return act, entry.change
    raise InputError(
        "this row was not approved on the review page or by a command",
        where=item.ref,
        hint="It was approved by an edit of the file. Undo it in the file.",
    )


def _line_undone(
    lines: Sequence[Line], path: Path, item: ReviewItem, change: RowChange
) -> list[Line]:
    """The lines with one row as it was before a decision changed it."""
    assert change.before is not None
    if change.after is None:
        return with_line(lines, change.before, change)
    place = place_of(lines, path, item.ref)
    line, after = lines[place], row_of(change.after)
    if line.row != after:
        raise InputError("the row was changed after it was approved", where=item.ref)
    if comparable_state(text_of(line)) == comparable_state(change.after):
        end = line.raw[len(line.raw.rstrip(b"\r\n")) :]
        restored = gold_jsonl.line_of(change.before.encode() + end)
    else:  # somebody edited other keys of the line since: they stay
        before = row_of(change.before)
        names = [n for n in GoldRow.__struct_fields__ if getattr(before, n) != getattr(after, n)]
        restored = gold_jsonl.edited_line(line, **{name: getattr(before, name) for name in names})
    return [*lines[:place], restored, *lines[place + 1 :]]


# ── suggestions ───────────────────────────────────────────────────────────────────────────────────


def accept_suggestion(
    path: Path,
    item: ReviewItem,
    vote: CastVote,
    decision: ReviewDecision,
    first_acts: Callable[[Log], Sequence[Act]],
) -> None:
    """Accept a suggested judgment, with the chair's own grade in `vote`. In a gold-set.jsonl the
    document joins its row, or leaves it at grade 0; the row stays pending or approved as it was. In
    a graded set it is a vote, and the label follows with the next merge; `first_acts` are the
    labels of a set that nobody has voted on yet."""
    with _open_log(path) as log:
        _refuse_decided(log, item)
        earlier = log.book.votes_to_supersede(decision.by, (item.ref, vote.doc))
        vote = msgspec.structs.replace(vote, supersedes=" ".join(v.id for v in earlier))
        act = _suggestion_act(log, APPROVE, item, decision, vote)
        if not has_rows(path):
            log.append([*first_acts(log), act])
            return
        rows = GoldRows(log, content_of(path))
        place = place_of(rows.lines, path, item.ref)
        now = _row(rows.lines[place]).relevant_case_law_ids
        ids = [*now, vote.doc] if vote.grade else [id for id in now if id != vote.doc]
        rows.commit(act, _with_documents(rows.lines, path, place, ids))


def reject_suggestion(path: Path, item: ReviewItem, decision: ReviewDecision) -> None:
    """Reject a suggested judgment: the gold set stays as it is."""
    with writing(path) as log:
        _refuse_decided(log, item)
        log.append([_suggestion_act(log, REJECT, item, decision)])


def undo_suggestion(path: Path, items: Sequence[ReviewItem], decision: ReviewDecision) -> None:
    """Undo the decision on one suggestion: it is pending again, and in a gold-set.jsonl the
    document is in the row again, or is not, as before."""
    _require_name(path, decision)
    (item,) = items
    with _open_log(path) as log:
        act = _suggestion_undo(log, item, decision)
        if not has_rows(path):
            log.append([act])
            return
        rows, changes = GoldRows(log, content_of(path)), log.acts[item.act].rows
        lines = _document_undone(rows, path, item, changes[0]) if changes else rows.lines
        rows.commit(act, lines)


def dismiss_suggestions(path: Path, items: Sequence[ReviewItem], decision: ReviewDecision) -> int:
    """Take suggestions out of the queue; the log keeps them. Returns how many were pending."""
    with writing(path) as log:
        decided = decisions_on(log)
        pending = tuple(item.id for item in items if item.id not in decided)
        if pending:
            log.append([_act(log, DISMISS, decision, supersedes=pending)])
    return len(pending)


@contextlib.contextmanager
def _open_log(path: Path) -> Iterator[Log]:
    if has_rows(path):
        _require_file(path)
    with writing(path) as log:
        yield log


def _document_undone(rows: GoldRows, path: Path, item: ReviewItem, change: RowChange) -> list[Line]:
    """The lines with one document in its row, or not, as before the suggestion was accepted."""
    (doc,), place = item.doc_ids, place_of(rows.lines, path, item.ref)
    before = row_of(change.before).relevant_case_law_ids if change.before else ()
    now = _row(rows.lines[place]).relevant_case_law_ids
    ids = [*now, doc] if doc in before else [id for id in now if id != doc]
    ids.sort(key=lambda id: before.index(id) if id in before else len(before))
    return _with_documents(rows.lines, path, place, ids)


def _suggestion_act(
    log: Log, action: str, item: ReviewItem, decision: ReviewDecision, vote: CastVote | None = None
) -> Act:
    earlier = [act.id for act in decisions_on(log).get(item.id, ())]  # those of a dispute
    return _act(
        log,
        action,
        decision,
        subject={"query": item.ref, "doc": item.doc_ids[0]},
        supersedes=(item.id, *earlier),
        votes=(vote,) if vote is not None else (),
    )


def _suggestion_undo(log: Log, item: ReviewItem, decision: ReviewDecision) -> Act:
    decided = [act for act in decisions_on(log).get(item.id, ()) if act.id == item.act]
    if not decided:
        raise DecidedMeanwhile([item])
    (act,) = decided
    cast = _votes_of(log, act, item.ref) if act.action == APPROVE else []
    votes = [vote for vote in cast if vote.doc_id in item.doc_ids]
    if any(_current_vote(log, vote) is None for vote in votes):
        raise InputError(
            "the document was judged again since",
            where=item.ref,
            hint="Nothing was changed. Undo the newer judgment first.",
        )
    return _act(
        log,
        UNDO,
        _with_undo_reason(decision, rejection=act.action != APPROVE),
        subject={"query": item.ref, "doc": item.doc_ids[0]},
        supersedes=(act.id,),
        votes=tuple(_undo_votes(log, act, item.ref)) if votes else (),
    )


def _refuse_decided(log: Log, item: ReviewItem) -> None:
    decided = decisions_on(log).get(item.id, [])
    if len({act.action for act in decided}) == 1:  # two different ones are a dispute
        act = decided[-1]
        state: ReviewState = "rejected" if act.action in (REJECT, DISMISS) else "approved"
        now = msgspec.structs.replace(item, state=state, decided_by=log.who(act), act=act.id)
        raise DecidedMeanwhile([now])

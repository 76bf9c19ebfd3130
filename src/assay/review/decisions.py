"""A chair's decisions on the rows of a gold-set.jsonl and on suggested judgments: approve, correct,
reject, and undo.

Each is one act in the log of the set, on one row or on many; the file follows from it. An act says
of each row what it was before, so that undoing brings the line back byte for byte. It also has a
vote on each document of the row: approving says that its documents are right."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import Approval, GoldRow, Line
from assay.gold import acts
from assay.gold.acts import APPROVE, CORRECT, DISMISS, REJECT, UNDO, Act, CastVote, new_id
from assay.gold.files import is_rows, text_of
from assay.gold.log import Log, writing
from assay.gold.projection import GoldRows, open_rows, row_of, with_line
from assay.gold.rows import RowChange, meaning
from assay.gold.votes import RULING, WITHDRAWN
from assay.review.queue import ReviewItem, decisions_on, row_items


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """A decision: who makes it, why, and when. `rationale` is what that person wrote, where `why`
    was written for them; `note_seen` is the note of the row that they were shown, if any. `act` is
    the id that the client gave the act, so that sending it again does nothing."""

    by: str
    why: str = ""
    rationale: str | None = None
    note_seen: str | None = None
    act: str = ""
    at: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))


class Ruled(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision did: the rows that it changed, those that were so already, and how much of
    the set is approved now."""

    state: str
    ids: tuple[str, ...]
    already: tuple[str, ...]
    approval: Approval


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """What a chair changes on a row. None leaves a value as it is; `add` and `remove` change the
    documents."""

    query: str | None = None
    practice_area: str | None = None
    note: str | None = None
    relevant: tuple[str, ...] | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Stale(InputError):
    """The row is not what the person saw."""

    def __init__(self, refs: Sequence[str]) -> None:
        self.refs = refs
        super().__init__(
            "the row changed since you saw it",
            where=", ".join(refs),
            hint="Nothing was decided. Look at it as it is now, and decide again.",
        )


class Overtaken(InputError):
    """Somebody else decided first: `items` as they are now."""

    def __init__(self, items: Sequence[ReviewItem]) -> None:
        self.items = items
        first = items[0]
        pending = first.state == "pending_review"
        said = "is pending again" if pending else f"is {first.state} already"
        super().__init__(f"{first.ref} {said}, by {first.decided_by or 'somebody'}")


Change = Callable[[Line], Line | None]
Seen = Sequence[ReviewItem]  # the items that a person decides on, as they were shown


def promote(path: Path, ids: Sequence[str], word: Word, seen: Seen = ()) -> Ruled:
    """Approve rows: they become the chair's own. Where items are `seen`, each of them is decided,
    or nothing is."""
    given = (
        word
        if word.why
        else msgspec.structs.replace(word, why="approved, no reason given", rationale="")
    )
    return _decide(path, ids, _promoted, APPROVE, given, seen)


def correct(path: Path, id: str, correction: Correction, word: Word, seen: Seen = ()) -> Ruled:
    """Change a row and approve it. A chair's row can be corrected again."""
    _require_reason(word, "correct")
    return _decide(path, [id], lambda line: _corrected(line, correction), CORRECT, word, seen)


def reject(path: Path, ids: Sequence[str], word: Word, seen: Seen = ()) -> Ruled:
    """Take rows out of the gold set. The bootstrap does not bring a rejected query back."""
    _require_reason(word, "reject")
    return _decide(path, ids, lambda line: None, REJECT, word, seen)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[GoldRows]:
    """Only a file that is there has rows to decide on; a mistyped one leaves nothing behind."""
    if not path.exists():
        raise InputError(
            "no such gold set", where=str(path), hint="Make one with `assay gold bootstrap`."
        )
    with open_rows(path) as rows:
        yield rows


def _require_name(word: Word) -> None:
    if not word.by.strip():
        raise InputError("say who decides", hint="Give the name with --by.")


def _require_reason(word: Word, what: str) -> None:
    if not word.why.strip():
        raise InputError(f"to {what} a row, say why", hint="Give the reason with --why.")


# ── changes ───────────────────────────────────────────────────────────────────────────────────────


def _promoted(line: Line) -> Line:
    return gold_jsonl.edited_line(line, source="chair")


def _corrected(line: Line, correction: Correction) -> Line:
    assert line.row is not None
    texts = {
        name: value
        for name in ("query", "practice_area", "note")
        if (value := getattr(correction, name)) is not None
    }
    if not texts.get("query", "x").strip():
        raise InputError("a gold row needs a query", where=line.row.id)
    ids = _corrected_ids(line.row, correction)
    return gold_jsonl.edited_line(line, **texts, relevant_case_law_ids=ids, source="chair")


def _corrected_ids(row: GoldRow, correction: Correction) -> tuple[str, ...]:
    unknown = [id for id in correction.remove if id not in row.relevant_case_law_ids]
    if unknown:
        raise InputError(
            f"the row has no document {unknown[0]!r} to remove",
            where=row.id,
            hint=f"It has {', '.join(row.relevant_case_law_ids)}.",
        )
    before = row.relevant_case_law_ids if correction.relevant is None else correction.relevant
    wanted = dict.fromkeys((*before, *correction.add))
    ids = tuple(id for id in wanted if id.strip() and id not in correction.remove)
    return _some(ids, row)


def _some(ids: tuple[str, ...], row: GoldRow) -> tuple[str, ...]:
    if not ids:
        raise InputError("no document would be left", where=row.id, hint="Reject the row instead.")
    return ids


# ── deciding on rows ──────────────────────────────────────────────────────────────────────────────


def _decide(
    path: Path, ids: Sequence[str], change: Change, action: str, word: Word, seen: Seen
) -> Ruled:
    """Change the rows with these ids, in one act. A row that would stay the same keeps its bytes
    and is named as `already` so."""
    _require_name(word)
    with _opened(path) as rows:
        lines = rows.lines
        _refuse_overtaken(rows, seen)
        places = {id: place_of(lines, path, id) for id in dict.fromkeys(ids)}
        before = {id: _row(lines[place]) for id, place in places.items()}
        _refuse_stale(before, word, seen)
        changed = {place: change(lines[place]) for place in places.values()}
        already = tuple(
            id
            for id, place in places.items()
            if (after := changed[place]) is not None
            and after.row == before[id]
            and not rows.log.rows.is_disputed((id, ""))
        )
        changed |= {places[id]: lines[places[id]] for id in already}  # byte for byte
        kept = [line for n, old in enumerate(lines) if (line := changed.get(n, old)) is not None]
        done = tuple(id for id in places if id not in already)
        if done:
            votes = [
                vote
                for id in done
                for vote in _votes_on(rows.log, before[id], changed[places[id]], word)
            ]
            same = [id for id in done if changed[places[id]] == lines[places[id]]]
            act = _act(rows.log, action, word, votes=tuple(votes), rows=_same_rows(rows, same))
            rows.commit(act, kept)
        else:
            rows.rebuild()  # the file may be behind: its writer died, and the same is sent again
    state = "rejected" if action == REJECT else "approved"
    approval = gold_jsonl.approval(gold_jsonl.rows(kept))
    return Ruled(state=state, ids=done, already=already, approval=approval)


def _same_rows(rows: GoldRows, ids: Sequence[str]) -> tuple[RowChange, ...]:
    """Disputed rows that a decision leaves as they are: it ends the dispute all the same."""
    texts = {line.row.id: text_of(line) for line in rows.lines if line.row is not None}
    return tuple(RowChange(row=id, before=texts[id], after=texts[id]) for id in ids)


def _act(log: Log, action: str, word: Word, **more: Any) -> Act:
    given = {"id": word.act} if word.act else {}
    return log.act(action, who=word.by, at=word.at, rationale=word.why, **given, **more)


def _row(line: Line) -> GoldRow:
    assert line.row is not None
    return line.row


def _refuse_overtaken(rows: GoldRows, seen: Seen) -> None:
    """Each item is as the person saw it, decided by the same act or by none."""
    if not seen:
        return
    refs = {item.ref for item in seen}
    found = row_items(seen[0].gold, rows.log.dataset, rows.log, rows.lines, refs)
    now = {item.id: item for item in found}
    others = [
        now[item.id]
        for item in seen
        if item.id in now and (now[item.id].state, now[item.id].act) != (item.state, item.act)
    ]
    if others:
        raise Overtaken(others)


def _refuse_stale(before: Mapping[str, GoldRow], word: Word, seen: Seen) -> None:
    shown = {item.ref: item for item in seen}
    stale = [id for id, row in before.items() if id in shown and not _is_shown(row, shown[id])]
    if word.note_seen is not None:
        stale += [id for id, row in before.items() if row.note != word.note_seen]
    if stale:
        raise Stale(list(dict.fromkeys(stale)))


def _is_shown(row: GoldRow, item: ReviewItem) -> bool:
    now = row.query, row.corpus, row.practice_area, row.relevant_case_law_ids
    return now == (item.query, item.corpus, item.practice_area, item.doc_ids)


def place_of(lines: Sequence[Line], path: Path, id: str) -> int:
    places = [
        place for place, line in enumerate(lines) if line.row is not None and line.row.id == id
    ]
    if len(places) == 1:
        return places[0]
    if places:
        on = ", ".join(str(place + 1) for place in places[1:])
        hint = "Give each row its own id first; `assay gold bootstrap` renumbers its own rows."
        raise InputError(
            f"id {id!r} is also on line {on}", where=f"{path}:{places[0] + 1}", hint=hint
        )
    near = difflib.get_close_matches(
        id, [row.id for row in gold_jsonl.rows(lines)], n=3, cutoff=0.4
    )
    raise InputError(
        f"no row {id!r}", where=str(path), hint=f"Did you mean {', '.join(near)}?" if near else ""
    )


# ── votes on documents ────────────────────────────────────────────────────────────────────────────


def _votes_on(log: Log, before: GoldRow, after: Line | None, word: Word) -> Iterator[CastVote]:
    """What a decision says of each document that the row has or had, also in the other decisions
    of a dispute; in a rejected row none is right."""
    right = after.row.relevant_case_law_ids if after is not None and after.row is not None else ()
    key = (before.id, "")
    heads = log.rows.heads(key) if log.rows.is_disputed(key) else []
    states = [head.change.after for head in heads if head.change.after is not None]
    others = [doc for state in states for doc in row_of(state).relevant_case_law_ids]
    for doc in dict.fromkeys((*before.relevant_case_law_ids, *right, *others)):
        ruled = [v.id for v in log.book.everything((before.id, doc)) if v.source == RULING]
        yield CastVote(
            id=new_id(),
            query=before.id,
            doc=doc,
            grade=int(doc in right),
            rationale=word.rationale,
            source=RULING,
            supersedes=" ".join(ruled),
        )


def _votes_back(log: Log, act: Act, query: str) -> Iterator[CastVote]:
    """What undoes the votes of an act on one row: each is withdrawn, or where it replaced an
    earlier vote of the same judge, that one is given again."""
    for vote in _votes_of(log, act, query):
        if (held := _held_as(log, vote)) is None:
            continue  # something else was said since
        before = [v for id in vote.supersedes.split() if (v := log.book.vote(id)) is not None]
        mine = [v for v in before if v.judge == vote.judge and v.source != WITHDRAWN]
        yield _again(log, held, mine[-1] if mine else None)


def _held_as(log: Log, vote: Vote) -> Vote | None:
    """The vote that holds and says what this one said: itself, or one that repeats it."""
    said = (vote.judge, vote.grade, vote.rationale, vote.source)
    held = log.book.everything((vote.query_id, vote.doc_id))
    return next((v for v in held if (v.judge, v.grade, v.rationale, v.source) == said), None)


def _again(log: Log, vote: Vote, before: Vote | None) -> CastVote:
    new = CastVote(
        id=new_id(), query=vote.query_id, doc=vote.doc_id, rationale="", supersedes=vote.id
    )
    if before is None:
        return msgspec.structs.replace(new, source=WITHDRAWN)
    return msgspec.structs.replace(
        new,
        grade=before.grade,
        who=log.people.id_of(before.judge, before.kind),
        rationale=before.rationale,
        rubric=before.rubric,
        document=before.document,
        source=before.source,
    )


def _votes_of(log: Log, act: Act, query: str) -> list[Vote]:
    """The votes that an act gave on a row. Those of earlier versions stand in lines of their own,
    at the same moment."""
    if act.votes:
        found = [log.book.vote(vote.id) for vote in act.votes]
        return [vote for vote in found if vote is not None and vote.query_id == query]
    judge = log.who(act)
    mine = [v.id for v in log.book.ids.values() if (v.query_id, v.judge) == (query, judge)]
    votes = (vote for id in mine if (vote := log.book.vote(id)) is not None)
    return [vote for vote in votes if vote.at == act.at and vote.source != WITHDRAWN]


_DECISIONS = (APPROVE, CORRECT, REJECT)

# ── taking back ───────────────────────────────────────────────────────────────────────────────────


def take_back(path: Path, items: Sequence[ReviewItem], word: Word) -> None:
    """Undo decisions on rows, all of them or none: the rows are what they were before."""
    _require_name(word)
    with _opened(path) as rows:
        _refuse_overtaken(rows, items)
        lines, votes, named = list(rows.lines), list[CastVote](), list[str]()
        for item in items:
            act, change = _decision_on(rows, item)
            lines = _undone(lines, path, item, change)
            others = [rows.log.acts[id] for id in rows.heads((item.ref, "")) if id != act.id]
            same = [x for x in others if x.action in _DECISIONS and "doc" not in x.subject]
            for each in (act, *same):  # two copies may have decided the same
                votes += _votes_back(rows.log, each, item.ref)
            named.append(act.id)
        why = word.why or (
            "rejection undone" if items[0].state == "rejected" else "approval undone"
        )
        given = msgspec.structs.replace(word, why=why)
        act = _act(rows.log, UNDO, given, votes=tuple(votes), supersedes=tuple(named))
        rows.commit(act, lines)


def reopen(path: Path, id: str, word: Word) -> Ruled:
    """Undo the rejection of a row, by its id."""
    with _opened(path) as rows:
        here = {line.row.id for line in rows.lines if line.row is not None}
        found = row_items("", rows.log.dataset, rows.log, rows.lines, {id})
        item = next((x for x in found if x.ref == id and x.state == "rejected"), None)
        if item is None or id in here:
            raise InputError(f"row {id!r} is not rejected", where=str(path))
    take_back(path, [item], word)
    lines = gold_jsonl.read_lines(path)
    row = _row(lines[place_of(lines, path, id)])
    state = "approved" if row.source == "chair" else "pending_review"
    approval = gold_jsonl.approval(gold_jsonl.rows(lines))
    return Ruled(state=state, ids=(id,), already=(), approval=approval)


def _decision_on(rows: GoldRows, item: ReviewItem) -> tuple[Act, RowChange]:
    for word in reversed(rows.log.rows.history.get((item.ref, ""), [])):
        act = rows.log.acts[word.act]
        if act.id == item.act and act.action in _DECISIONS:
            return act, word.change
    raise InputError(
        "the approval was not given on this page",
        where=item.ref,
        hint="A row that was made the chair's in the file is changed there.",
    )


def _undone(lines: list[Line], path: Path, item: ReviewItem, change: RowChange) -> list[Line]:
    assert change.before is not None
    if change.after is None:
        return with_line(lines, change.before, change)
    place = place_of(lines, path, item.ref)
    line, then = lines[place], row_of(change.after)
    if line.row != then:
        raise InputError("the row was changed after it was approved", where=item.ref)
    if meaning(text_of(line)) == meaning(change.after):
        end = line.raw[len(line.raw.rstrip(b"\r\n")) :]
        back = gold_jsonl.line_of(change.before.encode() + end)
    else:  # keys that are not ours were edited since: they stay
        before = row_of(change.before)
        names = [n for n in GoldRow.__struct_fields__ if getattr(before, n) != getattr(then, n)]
        back = gold_jsonl.edited_line(line, **{name: getattr(before, name) for name in names})
    return [*lines[:place], back, *lines[place + 1 :]]


# ── suggestions ───────────────────────────────────────────────────────────────────────────────────


def accept(
    path: Path,
    item: ReviewItem,
    vote: CastVote,
    word: Word,
    first: Callable[[Log], Sequence[Act]] = lambda log: (),
) -> None:
    """Accept a suggested judgment, with the chair's own grade in `vote`. In a gold-set.jsonl the
    document joins its row, or leaves it at grade 0; nothing else of the row changes, so a row that
    waits goes on waiting. In a graded set it is a vote, and the label follows with the next merge.
    `first` are acts that come before it: the labels of a set that nobody has voted on yet."""
    if not is_rows(path):
        with writing(path) as log:
            _refuse_decided(log, item)
            held = log.book.last_of(word.by, (item.ref, vote.doc))
            given = msgspec.structs.replace(vote, supersedes=" ".join(v.id for v in held))
            log.append([*first(log), _settling(log, APPROVE, item, word, given)])
        return
    with _opened(path) as rows:
        _refuse_decided(rows.log, item)
        place = place_of(rows.lines, path, item.ref)
        row, lines = _row(rows.lines[place]), list(rows.lines)
        there = row.relevant_case_law_ids
        ids = (*there, vote.doc) if vote.grade else tuple(id for id in there if id != vote.doc)
        ids = _some(tuple(dict.fromkeys(ids)), row)
        if ids != there:
            lines[place] = gold_jsonl.edited_line(lines[place], relevant_case_law_ids=ids)
        held = rows.log.book.last_of(word.by, (item.ref, vote.doc))
        given = msgspec.structs.replace(vote, supersedes=" ".join(v.id for v in held))
        rows.commit(_settling(rows.log, APPROVE, item, word, given), lines)


def decline(path: Path, item: ReviewItem, word: Word) -> None:
    """Turn a suggested judgment down: nothing changes but the queue."""
    with writing(path) as log:
        _refuse_decided(log, item)
        log.append([_settling(log, REJECT, item, word)])


def take_back_suggestion(path: Path, item: ReviewItem, word: Word) -> None:
    """Undo what was decided on a suggestion: it is open again, and in a gold-set.jsonl the document
    is in the row again, or is not, as before."""
    _require_name(word)
    if not is_rows(path):
        with writing(path) as log:
            log.append([_unsettling(log, item, word)])
        return
    with _opened(path) as rows:
        act, lines = rows.log.acts[item.act], list(rows.lines)
        undo = _unsettling(rows.log, item, word)
        if act.rows:
            lines = _pair_undone(rows, path, item, act.rows[0])
        rows.commit(undo, lines)


def _pair_undone(rows: GoldRows, path: Path, item: ReviewItem, change: RowChange) -> list[Line]:
    (doc,), lines = item.doc_ids, list(rows.lines)
    place = place_of(lines, path, item.ref)
    before = gold_jsonl.line_of((change.before or "").encode()).row
    was = before.relevant_case_law_ids if before is not None else ()
    there = _row(lines[place]).relevant_case_law_ids
    ids = (*there, doc) if doc in was else tuple(id for id in there if id != doc)
    ordered = sorted(dict.fromkeys(ids), key=lambda x: was.index(x) if x in was else len(was))
    ids = _some(tuple(ordered), _row(lines[place]))
    if ids != there:
        lines[place] = gold_jsonl.edited_line(lines[place], relevant_case_law_ids=ids)
    return lines


def withdraw(path: Path, items: Sequence[ReviewItem], word: Word) -> int:
    """Take suggestions out of the queue; the log keeps them."""
    with writing(path) as log:
        open_ids = [item.id for item in items if item.id not in decisions_on(log)]
        if open_ids:
            log.append([_act(log, DISMISS, word, supersedes=tuple(open_ids))])
    return len(open_ids)


def _settling(
    log: Log, action: str, item: ReviewItem, word: Word, vote: CastVote | None = None
) -> Act:
    before = [act.id for act in decisions_on(log).get(item.id, ())]  # in two copies, differently
    return _act(
        log,
        action,
        word,
        subject={"query": item.ref, "doc": item.doc_ids[0]},
        supersedes=(item.id, *before),
        votes=(vote,) if vote is not None else (),
    )


def _unsettling(log: Log, item: ReviewItem, word: Word) -> Act:
    decided = [act for act in decisions_on(log).get(item.id, ()) if act.id == item.act]
    if not decided:
        raise Overtaken([item])
    act = decided[0]
    given = _votes_of(log, act, item.ref) if act.action == APPROVE else []
    said = [vote for vote in given if vote.doc_id in item.doc_ids]
    if any(_held_as(log, vote) is None for vote in said):
        raise InputError(
            "something else was said of the same document since",
            where=item.ref,
            hint="Nothing was changed. Undo that first.",
        )
    why = "approval undone" if act.action == APPROVE else "rejection undone"
    return _act(
        log,
        UNDO,
        msgspec.structs.replace(word, why=word.why or why),
        subject={"query": item.ref, "doc": item.doc_ids[0]},
        supersedes=(act.id,),
        votes=tuple(_votes_back(log, act, item.ref)) if said else (),
    )


def _refuse_decided(log: Log, item: ReviewItem) -> None:
    decided = decisions_on(log).get(item.id, [])
    if len({act.action for act in decided}) == 1:
        act = decided[-1]
        state = {REJECT: "rejected", DISMISS: "rejected"}.get(act.action, "approved")
        now = msgspec.structs.replace(item, state=state, decided_by=log.who(act), act=act.id)
        raise Overtaken([now])


# ── publishing ────────────────────────────────────────────────────────────────────────────────────


def publish(path: Path, rows_approved: Sequence[str], word: Word) -> None:
    """Approved rows are published: a committed baseline has them."""
    with _opened(path) as rows:
        texts = {x.row.id: x.raw.decode().rstrip("\r\n") for x in rows.lines if x.row is not None}
        changes = [
            RowChange(row=id, before=texts[id], after=texts[id])
            for id in rows_approved
            if id in texts
        ]
        if changes:
            rows.commit(_act(rows.log, acts.PUBLISH, word, rows=tuple(changes)), rows.lines)

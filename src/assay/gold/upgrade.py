"""The acts of a log from what earlier versions kept elsewhere: the votes file `STEM.votes.jsonl`,
which `assay gold export-votes` still writes, and the review tables of the store.

A set without a log is read so; the first command that writes makes a log of it, and puts the votes
file away as `STEM.votes.jsonl.before-log`. Ids and times stay. Earlier versions went by time where
a log goes by `supersedes`, so every act is told here which one it replaced."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, InputError
from assay.core.files import iter_json_lines, stamp_of
from assay.core.types import Vote
from assay.core.workspace import default_store
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow
from assay.gold import acts
from assay.gold.acts import FORMAT, Act, act_of
from assay.gold.people import BY_HAND
from assay.gold.rows import Key, RowChange, content_of, earlier_votes_path, has_rows, rows_in
from assay.gold.votes import RULING, WITHDRAWN, role_of

if TYPE_CHECKING:
    from assay.store import Store
    from assay.store.records import AuditEntry


Item = Mapping[str, Any]  # a row of the table review_items
ARCHIVE_ENDING = ".before-log"


class EarlierVersion:
    """The votes and decisions from before a set had a log. They name people directly; the log
    replaces names by ids when it is written."""

    def __init__(self, dataset: Path) -> None:
        self._dataset = dataset
        self._store: Store | None = None
        self._state: object = None
        self.acts: list[Act] = []
        self.issued: dict[str, str] = {}  # ids that rows once had, by the key of their query

    def attach(self, store: Store) -> None:
        """The store that an earlier version kept reviews in."""
        self._store = store

    def refresh(self) -> bool:
        """Read again what has changed; tell whether anything has."""
        file = earlier_votes_path(self._dataset)
        state = (stamp_of(file), self._store)
        if state == self._state:
            return False
        self._state = state
        votes = read_votes_file(file) if file.exists() else []
        self.acts = [act_of(vote, vote.judge) for vote in in_order(votes)]
        if self._store is not None:
            self._add_store(self._store, votes)
        return True

    def ask_store(self) -> None:
        """Also read the store of the workspace, before the first line of a log is written. A store
        that cannot be opened stops the write, since a log without its decisions would hide them."""
        if self._store is not None:
            return
        target = default_store()
        if "://" not in target and not Path(target).exists():
            return
        from assay.store import open_store

        try:
            store = open_store(target, create=False, read_only=True)
        except AssayError as error:
            raise InputError(
                f"the store may have decisions on this set but cannot be opened: {error}",
                where=str(self._dataset),
                hint="Nothing was written. Make the store available, or move it away.",
            ) from error
        try:
            self._store = store
            self.refresh()
        finally:
            store.close()

    def later_votes(self, known: Container[str]) -> list[Act]:
        """The votes of a votes file beside a log that the log does not have: somebody went back to
        an earlier version for a while."""
        file = earlier_votes_path(self._dataset)
        votes = in_order(read_votes_file(file)) if file.exists() else []
        return [act_of(vote, vote.judge) for vote in votes if vote.id not in known]

    def put_away(self, log: Path) -> str:
        """Rename the votes file once the log has everything. Returns a sentence if anything was
        done."""
        file, reviewed = earlier_votes_path(self._dataset), any(act.rows for act in self.acts)
        self.acts, self.issued = [], {}
        message = f"{log.name} has the votes and decisions of earlier versions now"
        if not file.exists():
            return message if reviewed else ""
        kept = file.with_name(f"{file.name}{ARCHIVE_ENDING}")
        number = 1
        while kept.exists():
            number += 1
            kept = file.with_name(f"{file.name}{ARCHIVE_ENDING}-{number}")
        with contextlib.suppress(OSError):
            file.rename(kept)
        return f"{message}; {file.name} is kept as {kept.name}"

    def _add_store(self, store: Store, votes: Sequence[Vote]) -> None:
        from assay.store import legacy

        name = old_name(legacy.identities(store), self._dataset)
        if not name:
            return
        known = {vote.id for vote in votes}
        every = [*votes, *(v for v in legacy.votes(store, name) if v.id not in known)]
        items, trail = legacy.review_items(store, name), legacy.audit(store, name)
        past = _EarlierReview(self._dataset, name, items, trail)
        given = [act_of(vote, vote.judge) for vote in in_order(every)]
        self.acts = sorted([*given, *past.acts()], key=lambda act: act.at)
        rows = {change.row for act in self.acts for change in act.rows}
        issued = legacy.issued_ids(store, name)
        self.issued = {key: id for key, id in issued.items() if id not in rows}


def old_name(identities: Mapping[str, str], dataset: Path) -> str:
    """The name that an earlier store has for a set. It knew a set by the address of its git
    remote and a path, by a path in the project, or by a whole path."""
    place, best = dataset.resolve().as_posix(), ("", "")
    for identity, name in identities.items():
        path = re.sub(r"^(.*#|\./)", "", identity)
        if place.endswith("/" + path.lstrip("/")) and len(path) > len(best[0]):
            best = path, name
    return best[1]


# ── votes ─────────────────────────────────────────────────────────────────────────────────────────


def in_order(votes: Sequence[Vote]) -> list[Vote]:
    """The votes, each naming the one that it replaced by the rule of earlier versions: of what one
    judge said of a document the last by time stands, and of rulings the last of anybody. A
    withdrawal comes after what it takes back."""
    known = {vote.id: vote for vote in votes}
    seats: dict[tuple[str, ...], list[Vote]] = {}
    for vote in votes:
        whose = _withdrawn_vote(vote, known)
        role = role_of(whose.source)
        judge = "" if role == RULING else whose.judge
        seats.setdefault((whose.query_id, whose.doc_id, role, judge), []).append(vote)
    named: dict[str, str] = {}
    for given in seats.values():
        line = sorted(given, key=lambda vote: max(vote.at, _withdrawn_vote(vote, known).at))
        for before, vote in pairwise(line):
            ids = dict.fromkeys([vote.supersedes, before.id])
            named[vote.id] = " ".join(id for id in ids if id in known)
    return [msgspec.structs.replace(vote, supersedes=named.get(vote.id, "")) for vote in votes]


def _withdrawn_vote(vote: Vote, known: Mapping[str, Vote]) -> Vote:
    seen: set[str] = set()
    while vote.source == WITHDRAWN and vote.supersedes in known and vote.id not in seen:
        seen.add(vote.id)
        vote = known[vote.supersedes]
    return vote


# ── review ────────────────────────────────────────────────────────────────────────────────────────

# the actions of stores of earlier versions: a new action needs no row here
_ACTIONS = {
    "review.approved": acts.APPROVE,
    "review.rejected": acts.REJECT,
    "review.published": acts.PUBLISH,
    "review.pending_review": acts.UNDO,
    "review.withdrawn": acts.DISMISS,
    "gold.labelled": acts.LABEL,
    "gold.query_added": acts.ADD_QUERY,
    "gold.issue_edited": acts.EDIT_ISSUE,
    "gold.document_added": acts.ADD_DOCUMENT,
    "gold.second_asked": acts.ASK_SECOND,
    "flag query": acts.FLAG,
    "unflag query": acts.UNFLAG,
}


class _EarlierReview:
    """The review of a set as an earlier store has it: its queue and its audit trail."""

    def __init__(
        self, dataset: Path, name: str, items: Sequence[Item], trail: Sequence[AuditEntry]
    ) -> None:
        self._name, self._items, self._trail = name, items, trail
        content = content_of(dataset) if has_rows(dataset) else b""
        lines = gold_jsonl.lines_of(content, dataset) if content else []
        self._file = {key[0]: text for key, text in rows_in(lines).items()}
        self._now: dict[str, str | None] = {}  # rows, as far as the trail was read
        self._heads: dict[Key, str] = {}  # the last act on a row
        self._flags: dict[tuple[str, str], str] = {}

    def acts(self) -> Iterator[Act]:
        yield from self._queued()
        yield from self._suggestions()
        moment = attrgetter("at", "by", "action")
        for _, step in groupby(sorted(self._trail, key=moment), key=moment):
            yield from self._of_step(list(step))

    def _queued(self) -> Iterator[Act]:
        """Rows that came into the queue, by the moment they did."""
        rows = sorted(
            (queued for queued in self._items if queued["kind"] == "gold_row"), key=_created
        )
        for at, some in groupby(rows, key=_created):
            changes = []
            for item in some:
                text = self._first_text(item)
                self._now[item["ref"]] = text
                changes.append(RowChange(row=item["ref"], after=text))
            act = self._act(acts.BOOTSTRAP, at, "bootstrap", "citation", rows=tuple(changes))
            self._heads |= {change.key: act.id for change in changes}
            yield act

    def _first_text(self, item: Item) -> str:
        """The row as it was before the first decision on it, else as the file has it, else as the
        queue does."""
        subject = f"{self._name}/{item['ref']}"
        for entry in self._trail:
            if entry.subject == subject and entry.before and "query" in entry.before:
                return _line_text(entry.before)
        if item["ref"] in self._file:
            line = gold_jsonl.line_of(self._file[item["ref"]].encode())
            if line.row is not None and line.row.source != "bootstrap":
                line = gold_jsonl.edited_line(line, source="bootstrap")
            return line.raw.decode()
        row = GoldRow(
            id=item["ref"],
            query=item["query"],
            practice_area=item["practice_area"],
            corpus=item["corpus"],
            relevant_case_law_ids=tuple(item["doc_ids"]),
            source="bootstrap",
        )
        return msgspec.json.encode(row).decode()

    def _suggestions(self) -> Iterator[Act]:
        for item in self._items:
            if item["kind"] == "judgment":
                yield self._suggestion(item)
        for entry in self._trail:
            gone = entry.before or {}
            if entry.action == "review.withdrawn" and gone.get("kind") == "judgment":
                yield self._suggestion(gone)

    def _suggestion(self, item: Item) -> Act:
        return self._act(
            acts.SUGGEST,
            _moment(item["created_at"]),
            item["suggested_by"],
            "machine",
            id=item["id"],
            subject=_pair(item),
            grade=item["grade"],
            rationale=item["rationale"],
        )

    def _of_step(self, step: Sequence[AuditEntry]) -> Iterator[Act]:
        """One act of what one person did in one moment, on one or many rows."""
        first = step[0]
        action = _ACTIONS.get(first.action)
        if action is None:
            return
        if first.action.startswith("review."):
            changes = [change for entry in step if (change := self._change(entry)) is not None]
            named = [self._heads[c.key] for c in changes if c.key in self._heads]
            subject, suggestion = self._suggested(first)
            supersedes = tuple(dict.fromkeys([*named, *suggestion]))
            by_hand = first.by == BY_HAND and action == acts.APPROVE
            action = acts.EDIT if by_hand else action
            act = self._step(
                action, first, subject=subject, rows=tuple(changes), supersedes=supersedes
            )
            self._heads |= {change.key: act.id for change in changes}
            yield act
            return
        for entry in step:
            yield from self._other_acts(action, entry)

    def _suggested(self, entry: AuditEntry) -> tuple[dict[str, str], list[str]]:
        """The suggestion that an entry decided on or withdrew: what it is about, and its id."""
        ref = entry.subject.removeprefix(f"{self._name}/")
        if entry.action == "review.withdrawn" and (gone := entry.before or {}):
            is_row = gone["kind"] != "judgment"
            return ({"query": ref}, []) if is_row else (_pair(gone), [gone["id"]])
        for item in self._items:
            decided = item["decided_at"] and _moment(item["decided_at"])
            by = (item["ref"], item["decided_by"], decided) == (ref, entry.by, entry.at)
            if by and item["kind"] == "judgment" and item["state"] != "pending_review":
                return _pair(item), [item["id"]]
        return {"query": ref}, []

    def _step(self, action: str, entry: AuditEntry, **more: Any) -> Act:
        reason = entry.reason
        return self._act(action, entry.at, entry.by, id=entry.id, rationale=reason, **more)

    def _change(self, entry: AuditEntry) -> RowChange | None:
        """A row of the file before and after; nothing where the entry is on a suggestion alone."""
        ref = entry.subject.removeprefix(f"{self._name}/")
        if entry.action == "review.withdrawn" and (entry.before or {}).get("kind") == "judgment":
            return None
        before = self._now.get(ref)
        if entry.action == "review.published":
            return RowChange(row=ref, before=before, after=before) if before else None
        if entry.before and "query" in entry.before and "source" in entry.before:
            before = _line_text(entry.before) if before is None else before
        after = _edited_line(before, entry.after)
        if entry.action not in ("review.rejected", "review.withdrawn") and after is None:
            return None
        if before is None and after is None:
            return None
        self._now[ref] = after
        place = (entry.before or {}).get("line") or {}
        where = {name: place[name] for name in ("number", "above", "below") if name in place}
        return RowChange(row=ref, before=before, after=after, **(where if after is None else {}))

    def _other_acts(self, action: str, entry: AuditEntry) -> Iterator[Act]:
        rest = entry.subject.removeprefix(self._name).strip("/")
        subject = {"query": rest} if rest else {}
        kind, supersedes = "chair", tuple[str, ...]()
        more = {k: v for k, v in (("before", entry.before), ("after", entry.after)) if v}
        if action == acts.ADD_DOCUMENT:
            subject["doc"] = str((entry.after or {}).get("doc_id", ""))
        elif action == acts.EDIT_ISSUE:
            topic, _, issue = rest.partition("/")
            subject = {"topic": topic, "issue": issue}
        elif action == acts.FLAG:
            kind, more = "human", {}
            self._flags[rest, entry.by] = entry.id
        elif action == acts.UNFLAG:
            kind, more = "human", {}
            whose = (entry.before or {}).get("by")
            off = [k for k in self._flags if k[0] == rest and whose in (None, k[1])]
            supersedes = tuple(self._flags.pop(key) for key in off)
        reason = entry.reason
        yield self._act(
            action,
            entry.at,
            entry.by,
            kind,
            id=entry.id,
            subject=subject,
            rationale=reason,
            supersedes=supersedes,
            more=more,
        )

    def _act(
        self, action: str, at: datetime, who: str, kind: str = "chair", *, id: str = "", **more: Any
    ) -> Act:
        moment = at.astimezone(UTC).isoformat()
        name = id or acts.new_id()
        return Act(v=FORMAT, id=name, at=moment, who=who, kind=kind, action=action, **more)


def _created(item: Item) -> datetime:
    return _moment(item["created_at"])


def _moment(at: Any) -> datetime:
    given = at if isinstance(at, datetime) else datetime.fromisoformat(str(at))
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given


def _pair(item: Item) -> dict[str, str]:
    return {"query": item["ref"], "doc": next(iter(item["doc_ids"]), "")}


def _line_text(entry: Mapping[str, Any]) -> str:
    """The line of a row as the audit trail kept it."""
    line = entry.get("line")
    if line:
        return str(line["text"]).rstrip("\r\n")
    return msgspec.json.encode(msgspec.convert(entry, thread_safe(GoldRow))).decode()


def _edited_line(before: str | None, after: Mapping[str, Any] | None) -> str | None:
    """The line with the values that a decision gave it: keys that are not ours stay."""
    if after is None:
        return None
    row = msgspec.convert(dict(after), thread_safe(GoldRow))
    if before is None:
        return msgspec.json.encode(row).decode()
    line = gold_jsonl.line_of(before.encode())
    changes = {
        name: getattr(row, name)
        for name in GoldRow.__struct_fields__
        if line.row is None or getattr(row, name) != getattr(line.row, name)
    }
    return gold_jsonl.edited_line(line, **changes).raw.decode() if changes else before


def plain(votes: Iterable[Vote]) -> bytes:
    """Votes in the form of earlier versions, for a team that goes back to one."""
    return b"".join(msgspec.json.encode(vote) + b"\n" for vote in votes)


# ── STEM.votes.jsonl, the votes of a set before the log ───────────────────────────────────────────


_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NORMAL = re.compile(r"\d{4}(-\d\d)?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")
_CONTROL = re.compile(rb"[\x01-\x1f]")


def read_votes_file(path: Path) -> list[Vote]:
    """Every vote ever given, in the order of the file; none where there is no file."""
    if not path.exists() or not path.stat().st_size:
        return []
    votes, seen = list[Vote](), dict[str, int]()
    torn = _lines(path) if _is_torn(_tail(path)) else None
    try:
        for number, value in iter_json_lines(path, strict=True):
            vote = _vote(value, f"{path}:{number}")
            if vote.id in seen:
                first = seen[vote.id]
                raise InputError(
                    f"the vote {vote.id!r} is already on line {first}",
                    where=f"{path}:{number}",
                    hint="Every vote needs its own id. Check whether the file was merged by hand.",
                )
            seen[vote.id] = number
            votes.append(vote)
    except InputError as error:
        if torn is None or not error.where.endswith(f":{torn}"):
            raise
    return votes


def _vote(value: object, where: str) -> Vote:
    try:
        return _in_utc(msgspec.convert(value, thread_safe(Vote)))
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        raise InputError(
            f"not a vote: {error}",
            where=where,
            hint="Expected id, query_id, doc_id, grade, judge, kind, at and other fields.",
        ) from error


def _in_utc(vote: Vote) -> Vote:
    """Times compare as text."""
    if not vote.at or _NORMAL.fullmatch(vote.at):
        return vote
    return msgspec.structs.replace(vote, at=_time_in_utc(vote.at))


def _time_in_utc(at: str) -> str:
    """A time in UTC; a day stays a day."""
    if _DAY.fullmatch(at):
        return date.fromisoformat(at).isoformat()
    given = datetime.fromisoformat(at)
    moment = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    return moment.isoformat()


# ── the end of the file ───────────────────────────────────────────────────────────────────────────


def _tail(path: Path) -> bytes:
    """The bytes after the last line end; empty in a file that was written whole."""
    with path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) == b"\n":
            return b""
    return path.read_bytes().rpartition(b"\n")[2]


def _is_torn(tail: bytes) -> bool:
    """The beginning of one vote, and no more: what a write leaves that was cut."""
    left = tail.rstrip(b"\0")  # a file system may have made room for the rest
    if not left:
        return bool(tail)
    if not left.startswith(b"{") or _CONTROL.search(left):
        return False  # as with the line ends of another system: a file that somebody has edited
    try:
        left.decode("utf-8")
    except UnicodeDecodeError as error:  # cut within a letter; elsewhere it is no text at all
        if error.end < len(left):
            return False
        left = left[: error.start]
    try:
        msgspec.json.decode(left)
        return False
    except RecursionError:  # nested without end: nothing of ours
        return False
    except msgspec.DecodeError:
        return True


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") + 1

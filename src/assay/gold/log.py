"""The log of a gold set, `STEM.log.jsonl`: everything that people and machines did to it, one act
a line. It is the one truth of a set; the gold file follows from it.

An act is done when its line is synced to the disk (`append`, under the lock of the set); nothing
is acknowledged before that. Lines are never changed. What comes from two copies of a project is
merged by git, line by line: `supersedes` says which act replaces which, never the order of lines.

A line that cannot be read is set aside: skipped, left in the file, counted, and reported by
`assay doctor`. A line of a newer format stops writing."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError, NotWritten
from assay.core.files import Stamp, glance_at, os_message, resolved, stamp_of, write_atomic
from assay.core.types import Vote, counted
from assay.formats.gold_jsonl import lock_gold_set
from assay.gold.acts import BEGIN, FORMAT, VOTE, WITHDRAW, Act, VoteReader, act_of, new_id
from assay.gold.people import BY_HAND, People
from assay.gold.rows import RowBook, digest_of, first_rows, log_path
from assay.gold.upgrade import EarlierVersion
from assay.gold.votes import VoteBook

Record = TypeVar("Record", Act, Vote)
_log = logging.getLogger("assay.gold")
VOTES = 5_000  # whole votes of a set that stay in memory: those of its pages in use; taste
_ENDS = 200  # bytes before the end that was read, compared to know the file again; taste

# ── reading ───────────────────────────────────────────────────────────────────────────────────────


class Log:
    """The log of one set, read as far as it goes, and what follows from it: the votes that hold,
    the rows, and the acts that are not plain votes."""

    def __init__(self, dataset: Path) -> None:
        self.dataset, self.path = dataset, log_path(dataset)
        self.people = People(dataset)
        self.reading, self.writing = threading.RLock(), threading.Lock()
        self._draft: list[Act] = []  # of a log that is about to be written
        self.generation = 0  # grows when the file was replaced and is read again from the start
        self._renamed = 0  # how often people were renamed, when the log was read
        self._reported_damage: list[int] = []  # damaged lines that were reported
        self.earlier = EarlierVersion(dataset)  # what an earlier version kept elsewhere
        self._start_over_empty()

    def _start_over_empty(self) -> None:
        self._stamp: Stamp | None = None
        self._read_to, self._tail_read, self._lines = 0, b"", 0
        self._start_over([])

    def _start_over(self, acts: Iterable[Act]) -> None:
        """Forget what was read, and apply these acts."""
        self.generation += 1
        # votes are read from the file when a page shows them: a line never changes
        self.book = VoteBook(lru_cache(maxsize=VOTES)(self._read_vote))
        self.rows = RowBook()
        self.acts: dict[str, Act] = {}  # those that are not plain votes
        self.files: set[str] = set()  # digests of the gold file, as acts left it
        self._matching = ("", 0)  # a gold file that was found to agree with so many acts on rows
        self.damaged: list[int] = []  # numbers of lines that cannot be read
        self.newer = 0  # the format of a line that this version does not know
        self._superseded_early: set[str] = set()  # superseded by acts that were read first
        self._reader = VoteReader(self.people, self.book)
        for act in acts:
            self._apply(act, -1)

    def refresh(self) -> None:
        """Read what was appended since; all of it where the file is another one."""
        names, stamp = self.people.renamed(), glance_at(self.path)
        if stamp is not None and (stamp, names) == (self._stamp, self._renamed):
            return  # without the lock: most find nothing new
        with self.reading:
            names, stamp = self.people.renamed(), stamp_of(self.path)
            renamed, self._renamed = names != self._renamed, names
            if stamp is None:
                if self.earlier.refresh() or renamed or self._stamp is not None:
                    self._start_over_empty()
                    self._start_over(self.earlier.acts)
                return
            if stamp == self._stamp and not renamed:
                return
            with self.path.open("rb") as stream:
                if self._stamp is None or renamed or not self._was_extended(stamp, stream):
                    self._start_over_empty()
                self._read_new_lines(stream)
                self._tail_read = self._tail(stream)
            self._stamp = stamp

    def _was_extended(self, stamp: Stamp, stream: BinaryIO) -> bool:
        same = self._stamp is not None and stamp[0] == self._stamp[0]
        longer = stamp[1] >= self._read_to
        return same and longer and self._tail(stream) == self._tail_read

    def _tail(self, stream: BinaryIO) -> bytes:
        """The bytes before the place where reading stopped."""
        start = max(self._read_to - _ENDS, 0)
        stream.seek(start)
        return stream.read(self._read_to - start)

    def _read_new_lines(self, stream: BinaryIO) -> None:
        """The lines from where reading stopped. A last line without an end is read too, where it
        is whole: an editor may have taken its end away."""
        late = False
        self.damaged = [number for number in self.damaged if number <= self._lines]
        stream.seek(self._read_to)
        for raw in stream:
            place, act = self._read_to, _decode_act(raw)
            version = act.v if act is not None else _format_of(raw)
            if version > FORMAT:
                self.newer = max(self.newer, version)
            elif (act is None and raw.strip()) or (act is not None and self._is_forged(act)):
                self.damaged.append(self._lines + 1)
            if raw.endswith(b"\n"):
                self._read_to += len(raw)
                self._lines += 1
            if act is not None:
                late = late or act.id in self._superseded_early
                self._apply(act, place)
        if late:  # an act came after one that supersedes it, as lines of two copies may
            self._start_over_in_order()

    def _is_forged(self, act: Act) -> bool:
        """Whether a line has the id of one before it, and says something else: the first counts."""
        if act.id in self.acts:
            return self.acts[act.id] != act
        is_vote = act.action == VOTE and act.id in self.book.ids
        return is_vote and self.book.vote(act.id) != next(self._reader.votes(act), None)

    def _start_over_in_order(self) -> None:
        acts = _by_first_id(read_acts(self.path))
        damaged, newer, placed = self.damaged, self.newer, dict[str, Act]()
        opened: set[str] = set()
        for each in acts.values():
            waiting = [each]
            while waiting:
                act = waiting[-1]
                new = [acts[id] for id in act.supersedes if id in acts and id not in opened]
                opened.add(act.id)
                waiting += new
                if not new:
                    placed.setdefault(act.id, waiting.pop())
        self._start_over(placed.values())
        self.damaged, self.newer, self._superseded_early = damaged, newer, set()

    def _read_vote(self, place: int) -> Vote:
        with self.path.open("rb") as stream:
            stream.seek(place)
            act = _ACT.decode(stream.readline())
        return self._reader.vote(act)

    def _apply(self, act: Act, place: int) -> None:
        if act.id in self.acts or act.id in self.book.ids or act.v > FORMAT:
            return  # the same act, merged from another copy; or one that is not understood
        for id in act.supersedes:
            if id not in self.acts and id not in self.book.ids:
                self._superseded_early.add(id)
        plain = act.action == VOTE
        for vote in self._reader.votes_in_memory(act, place):
            plain = plain or (act.action == WITHDRAW and vote.id == act.id)
            self.book.add(vote)
        if act.file:
            self.files.add(act.file)
        if not plain:
            self.acts[act.id] = act
            self.rows.add(act.id, act.supersedes, act.rows)

    def matches(self, digest: str) -> bool:
        """Whether a gold file was found to agree with the log as it is now."""
        return self._matching == (digest, self.rows.count)

    def mark_matching(self, digest: str) -> None:
        """Remember that a gold file agrees with the log as it is now."""
        self._matching = digest, self.rows.count

    def votes(self) -> list[Vote]:
        """Every vote ever given, in the order of the log."""
        with self.reading:
            if not self.path.exists():
                return [vote for id in self.book.ids if (vote := self.book.vote(id)) is not None]
            every = (v for act in read_acts(self.path) for v in self._reader.votes(act))
            return list(_by_first_id(vote for vote in every if vote.id in self.book.ids).values())

    def damage(self) -> str:
        """A sentence about the lines that cannot be read; empty if there are none."""
        if not self.damaged:
            return ""
        lines = ", ".join(map(str, self.damaged[:5]))
        return f"{self.path}: {counted(len(self.damaged), 'damaged line')}, skipped: {lines}"

    def who(self, act: Act) -> str:
        return self.people.name_of(act.who)

    # ── writing ───────────────────────────────────────────────────────────────────────────────────

    def require_writable(self) -> None:
        """Refuse before anything is done where nothing could be written."""
        begun = next((act for act in self.acts.values() if act.action == BEGIN), None)
        owner = begun.subject.get("set", "") if begun is not None else self.dataset.name
        renamed = self.dataset.with_suffix(Path(owner).suffix)  # a set and its log, renamed
        here = {self.dataset.with_name(owner), renamed} - {self.dataset}
        other = next((path for path in here if path.exists()), None)
        if owner != self.dataset.name and other is not None:
            raise InputError(
                f"{self.path.name} is the log of {other.name}",
                where=str(self.dataset),
                hint="Two sets in one folder need names that differ before the dot. Rename one.",
            )
        if self.newer:
            raise InputError(
                f"the log has lines of format {self.newer}, and this Assay writes {FORMAT}",
                where=str(self.path),
                hint="Upgrade Assay. Nothing was written.",
            )
        if self.damaged and self.damaged != self._reported_damage:
            self._reported_damage = list(self.damaged)
            _log.warning("%s", self.damage())
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise NotWritten(
                "the log cannot be written", where=str(self.path), hint="Nothing was changed."
            )

    def append(self, acts: Sequence[Act]) -> None:
        """Write acts at the end, all of them or none, under the lock of the set: they are on disk
        when this returns."""
        if not acts:
            return
        self.refresh()
        self.require_writable()
        is_new = not self.path.exists()
        if is_new and not self._draft:
            self.open_draft()
        first = self._draft if is_new else self.earlier.later_votes(self.book.ids)
        self._append([*map(self._by_id, first), *acts], is_new)

    def open_draft(self) -> None:
        """Compute the first lines of a new log without writing them, so that the first act can name
        the acts that it replaces. The caller has the set's lock."""
        if not self.path.exists():
            self._draft = self._first_lines()
            self._start_over(self._draft)

    def discard_draft(self) -> None:
        """Drop first lines that were computed and not written."""
        if self._draft and not self.path.exists():
            self._start_over_empty()
            self._start_over(self.earlier.acts)
        self._draft = []

    def _append(self, lines: Sequence[Act], is_new: bool) -> None:
        payload = b"".join(msgspec.json.encode(act) + b"\n" for act in lines)
        try:
            # a new log is there with all that it begins with, or not at all
            (write_atomic if is_new else _write)(self.path, payload)
        except OSError as error:
            raise NotWritten(
                f"cannot write: {os_message(error)}",
                where=str(self.path),
                hint="Nothing was changed.",
            ) from error
        if problem := self.earlier.put_away(self.path):
            _log.warning("%s", problem)
        self.refresh()

    def _first_lines(self) -> list[Act]:
        """The first lines of a new log: an act that names the set and records the rows of its
        file, and the acts of an earlier version, which it kept elsewhere."""
        self.earlier.ask_store()
        digest, rows = first_rows(
            self.dataset, {row.key for act in self.earlier.acts for row in act.rows}
        )
        begun = self.act(
            BEGIN,
            who=BY_HAND,
            kind="human",
            at=_written_at(self.dataset),
            subject={"set": self.dataset.resolve().name},
            rows=rows,
            file="" if self.earlier.acts else digest,
            more={"issued": self.earlier.issued} if self.earlier.issued else {},
        )
        return [begun, *self.earlier.acts]

    def _by_id(self, act: Act) -> Act:
        """The act with ids of people in place of their names."""
        votes = [
            msgspec.structs.replace(vote, who=self.people.id_of(vote.who, act.kind))
            for vote in act.votes
        ]
        who = self.people.id_of(act.who, act.kind)
        return msgspec.structs.replace(act, who=who, votes=tuple(votes))

    def act(
        self, action: str, *, who: str, kind: str = "chair", at: datetime | None = None, **more: Any
    ) -> Act:
        """A new act. `who` is a name."""
        moment = (at or datetime.now(UTC)).astimezone(UTC)
        values: dict[str, Any] = {"v": FORMAT, "id": new_id(), "at": moment.isoformat(), **more}
        return Act(who=self.people.id_of(who, kind), kind=kind, action=action, **values)

    def act_of(self, vote: Vote) -> Act:
        return act_of(vote, self.people.id_of(vote.judge, vote.kind))


def _by_first_id(records: Iterable[Record]) -> dict[str, Record]:
    """By id; of those that share one, the first."""
    first: dict[str, Record] = {}
    for record in records:
        first.setdefault(record.id, record)
    return first


_ACT = msgspec.json.Decoder(thread_safe(Act))


def read_acts(path: Path) -> Iterator[Act]:
    """The acts of a log in the order of its lines, without those that cannot be read."""
    with path.open("rb") as stream:
        yield from (act for raw in stream if (act := _decode_act(raw)) is not None)


def _decode_act(raw: bytes) -> Act | None:
    try:
        return _ACT.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _format_of(raw: bytes) -> int:
    """The format of a line that cannot be read, which may be one of a newer version."""
    try:
        return msgspec.json.decode(raw, type=thread_safe(_Format)).v
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return 0


class _Format(msgspec.Struct):
    v: int = 0


def _written_at(dataset: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(dataset.stat().st_mtime, UTC)
    except OSError:
        return None


def _write(path: Path, payload: bytes) -> None:
    """Append and sync. A last line without its end gets one first. If writing fails, the file is
    cut back to its old length."""
    with path.open("a+b", buffering=0) as stream:
        size = stream.seek(0, os.SEEK_END)
        rest = memoryview((b"" if _ends_whole(stream, size) else b"\n") + payload)
        try:
            while rest:
                rest = rest[stream.write(rest) or 0 :]
            os.fsync(stream.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(path, size)
            raise


def _ends_whole(stream: RawIOBase, size: int) -> bool:
    if not size:
        return True
    stream.seek(size - 1)
    return stream.read(1) == b"\n"


# ── the logs that are open ────────────────────────────────────────────────────────────────────────

_logs: dict[Path, Log] = {}
_opening = threading.Lock()


def open_log(dataset: Path) -> Log:
    """The log of a set as it is now. It stays open: the next reader reads what is new."""
    place = resolved(dataset)
    with _opening:
        log = _logs.get(place)
        if log is None:
            log = _logs[place] = Log(place)
    log.refresh()
    return log


@contextlib.contextmanager
def writing(dataset: Path, *, wait: float = 5.0) -> Iterator[Log]:
    """The log of a set for its only writer."""
    with lock_gold_set(dataset, wait=wait):
        log = open_log(dataset)
        log.require_writable()
        log.open_draft()
        try:
            yield log
        finally:
            log.discard_draft()


def votes_since(dataset: Path, content: bytes) -> int | None:
    """How many votes and rulings the log has since the gold file had this content; None where the
    log does not know the file so. It looks at the bytes alone: scoring loads no log."""
    lines = log_path(dataset).read_bytes()
    place = lines.rfind(f'"file":"{digest_of(content)}"'.encode())
    if place < 0:
        return None
    actions = (b'"action":"vote"', b'"action":"rule"', b'"action":"withdraw"')
    end = lines.find(b"\n", place)
    return sum(lines.count(action, end) for action in actions)

"""The rows of a gold file: what the file on disk says, what the log has of each row, and how the
two compare.

A row is a line of `gold-set.jsonl`, known by its id, or a label of a graded set, known by its query
and document. The log has each row before and after every act on it. The file is a projection of
that; but people edit it too, and an old version of it may come back from git or a crash. So each
row of the file is compared with what the log wrote:

- as the last act left it: nothing to do;
- as an earlier act left it: the row is behind, and is written again;
- anything else: somebody edited it by hand. That wins: the row stays, and the edit joins the log;
- not there: deleted by hand where the rest of the file is as one projection had it, else behind."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay import formats
from assay.core.errors import InputError
from assay.core.files import os_message
from assay.core.types import GoldSet, Judgment
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import Line

Key = tuple[str, str]  # of a row: its id; of a label: query and document
State = str | None  # of a row: its line; of a label: a digest of it. None where there is none


class RowChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row before and after an act: a row of a gold-set.jsonl, or with `doc` the label of a
    document, and then `row` is the id of its query. `number`, `above` and `below` say where a line
    was that left the file, and `unended` that it had no line end, so that it can come back as it
    was."""

    row: str
    doc: str = ""
    before: State = None
    after: State = None
    number: int = -1
    above: str = ""
    below: str = ""
    unended: bool = False

    @property
    def key(self) -> Key:
        return self.row, self.doc


class RowAct(NamedTuple):
    """An act on a row: its id, what it changed, and the acts that it replaces."""

    act: str
    change: RowChange
    supersedes: Sequence[str] = ()


class RowBook:
    """Every row that the log knows: what was done to it, and which acts stand."""

    def __init__(self) -> None:
        self.history: dict[Key, list[RowAct]] = {}
        self._heads: dict[Key, list[RowAct]] = {}
        self._acts: list[tuple[str, tuple[RowChange, ...]]] = []  # in order: one projection each

    def add(self, act: str, supersedes: Sequence[str], rows: Sequence[RowChange]) -> None:
        for change in rows:
            row_act = RowAct(act, change, supersedes)
            self.history.setdefault(change.key, []).append(row_act)
            heads = self._heads.get(change.key, [])
            self._heads[change.key] = [h for h in heads if h.act not in supersedes] + [row_act]
        if rows:
            self._acts.append((act, tuple(rows)))

    @property
    def count(self) -> int:
        return len(self._acts)

    def heads(self, key: Key) -> list[RowAct]:
        """The acts on a row that no other replaces: several where two copies of a project decided
        without each other."""
        return self._heads.get(key, [])

    def distinct_heads(self, key: Key) -> list[RowAct]:
        """The heads without those that only record how a copy found the row.

        Example: clones A and B each begin a log and record row g1 as they find it. A then approves
        g1. After the merge both heads are left, A's approval and B's finding; only the approval
        decides anything."""
        heads = self.heads(key)
        if len(heads) < 2:
            return heads
        passed = {comparable_state(state) for head in heads for state in self._past(key, head)}
        found = [
            h
            for h in heads
            if h.change.before is None and comparable_state(h.change.after) in passed
        ]
        return [head for head in heads if head not in found]

    def is_disputed(self, key: Key) -> bool:
        """Whether acts that know nothing of each other say different things of a row."""
        heads = self.distinct_heads(key)
        return len(heads) > 1 and len({comparable_state(head.change.after) for head in heads}) > 1

    def projected(self, key: Key) -> State:
        """The state of a row that the gold file should have. A disputed row stays as it was before
        the dispute. Two rows that got the same id have no such past, and one of them stays."""
        heads = self.distinct_heads(key)
        if not heads:
            return None
        if not self.is_disputed(key):
            return heads[-1].change.after
        first, *others = sorted(heads)
        pasts = [{comparable_state(state) for state in self._past(key, other)} for other in others]
        shared = (
            s for s in self._past(key, first) if all(comparable_state(s) in past for past in pasts)
        )
        return next(shared, None) or first.change.after

    def _past(self, key: Key, head: RowAct) -> Iterator[str]:
        """The states of a row before an act, the last first."""
        row_acts, waiting = {each.act: each for each in self.history[key]}, [head]
        while waiting:
            row_act = waiting.pop(0)
            if row_act.change.before is not None:
                yield row_act.change.before
            waiting += [row_acts.pop(id) for id in row_act.supersedes if id in row_acts]

    def known_states(self, key: Key) -> set[str | None]:
        """The states of a row that the log has ever written, in comparable form."""
        row_acts = self.history.get(key, ())
        return {
            comparable_state(s)
            for row_act in row_acts
            for s in (row_act.change.before, row_act.change.after)
        }

    def origin_rows(self, file: Mapping[Key, str]) -> set[Key]:
        """The rows of the projection that this file (rows by their meaning) comes from.

        Example: the log wrote g1 and g2, later g3. A file with g1 alone, as written then, comes
        from the first projection, so its g2 was deleted by hand; g3 was never in it. Empty if the
        file comes from no single projection."""
        known = {key: now for key, now in file.items() if now in self.known_states(key)}
        now: dict[Key, str | None] = {}
        matched, best, at = 0, 0, -1  # the first of those that fit: later rows were not there yet
        for number, (_, rows) in enumerate(self._acts):
            for change in rows:
                key = change.key
                matched -= key in known and now.get(key) == known[key]
                now[key] = comparable_state(change.after)
                matched += key in known and now[key] == known[key]
            if matched > best:
                best, at = matched, number
        if best < len(known) or at < 0:
            return set()
        had: dict[Key, State] = {}
        for _, rows in self._acts[: at + 1]:
            had |= {change.key: change.after for change in rows}
        return {key for key, state in had.items() if state is not None}


def comparable_state(state: State) -> str | None:
    """A line in a form that ignores spacing and the order of keys, for comparing."""
    if state is None or not state.startswith(("{", "\ufeff")):
        return state
    try:
        value = msgspec.json.decode(state.removeprefix("\ufeff"))
    except msgspec.MsgspecError:
        return state
    return msgspec.json.encode(value, order="deterministic").decode()


class RowComparison(NamedTuple):
    """How a file stands to its log: `behind` are rows as they should be, `edited` changes that
    somebody made by hand."""

    behind: dict[Key, State]
    edited: list[RowChange]


def compare(book: RowBook, file: Mapping[Key, str], *, exact: bool, damaged: bool) -> RowComparison:
    """Compare the rows of a file with its log. `exact` says that the file is a projection to the
    byte: nothing in it was edited by hand. In a `damaged` log the act that made a row what it is
    may be lost, so a row that differs stays as the file has it."""
    behind: dict[Key, State] = {}
    edited: list[RowChange] = []
    for key, state in file.items():
        wanted = book.projected(key)
        if state == wanted or comparable_state(state) == comparable_state(wanted):
            continue
        if key not in book.history and exact:
            continue  # the act that made it is lost: a row is never removed for that
        if exact or (not damaged and comparable_state(state) in book.known_states(key)):
            behind[key] = wanted
        else:
            edited.append(RowChange(row=key[0], doc=key[1], before=wanted, after=state))
    missing = [key for key in book.history if key not in file and book.projected(key) is not None]
    now = {key: comparable_state(state) or "" for key, state in file.items()} if missing else {}
    had = book.origin_rows(now) if missing and not exact else set[Key]()
    for key in missing:
        if key in had:
            edited.append(RowChange(row=key[0], doc=key[1], before=book.projected(key), after=None))
        else:
            behind[key] = book.projected(key)
    return RowComparison(behind, edited)


# ── the file on disk ──────────────────────────────────────────────────────────────────────────────


def sibling_path(dataset: Path, ending: str) -> Path:
    """`eval/dataset.json` has `eval/dataset.log.jsonl` and its like beside it."""
    place = dataset.resolve() if dataset.is_symlink() else dataset
    return place.with_name(f"{place.stem}.{ending}")


def log_path(dataset: Path) -> Path:
    return sibling_path(dataset, "log.jsonl")


def earlier_votes_path(dataset: Path) -> Path:
    """The votes file of earlier versions."""
    return sibling_path(dataset, "votes.jsonl")


def has_log(dataset: Path) -> bool:
    """Whether anybody has judged or decided on a set; also where an earlier version kept that."""
    return log_path(dataset).exists() or earlier_votes_path(dataset).exists()


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def content_of(dataset: Path) -> bytes:
    try:
        return dataset.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(os_message(error), where=str(dataset)) from error


def has_rows(dataset: Path) -> bool:
    """Whether a set is a gold-set.jsonl, whose rows are approved one by one; else it has labels."""
    return dataset.suffix == ".jsonl"


def rows_in(lines: Sequence[Line]) -> dict[Key, str]:
    return {(line.row.id, ""): text_of(line) for line in lines if line.row is not None}


def labels_in(gold: GoldSet) -> dict[Key, str]:
    return {(row.query_id, row.doc_id): label_digest(row) for row in gold.iter_judgments()}


def rows_of_file(dataset: Path, content: bytes) -> dict[Key, str]:
    if has_rows(dataset):
        lines = gold_jsonl.lines_of(content, dataset)
        gold_jsonl.refuse_same_ids(lines, dataset)
        return rows_in(lines)
    return labels_in(formats.read_gold(dataset))


def text_of(line: Line) -> str:
    return line.raw.decode().rstrip("\r\n")


def label_digest(label: Judgment) -> str:
    values = [label.grade, label.rationale, label.judge, label.source, label.rubric, label.at]
    return hashlib.sha256(msgspec.json.encode(values)).hexdigest()[:12]


def first_rows(dataset: Path, known: Container[Key]) -> tuple[str, tuple[RowChange, ...]]:
    """The file as a new log finds it: its digest, and the rows that no act knows yet."""
    content = content_of(dataset)
    if not content:
        return "", ()
    found = rows_of_file(dataset, content)
    rows = [
        RowChange(row=k[0], doc=k[1], after=state) for k, state in found.items() if k not in known
    ]
    return digest_of(content), tuple(rows)

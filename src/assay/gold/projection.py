"""The gold file as it follows from the log.

A decision, a ruling, a merge or a bootstrap appends its act first, with the digest of the file that
follows, and then replaces the file in one step. If the process dies in between, the file is behind;
the next command that writes finds that out and writes it again (`rows.compare`). A vote writes the
log alone, and nothing that only reads writes anything."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import NotWritten
from assay.core.files import OURS, os_message
from assay.core.types import counted
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line
from assay.gold.acts import EDIT, REFRESH_FILE, Act
from assay.gold.log import Log, open_log, writing
from assay.gold.people import BY_HAND
from assay.gold.rows import (
    Key,
    RowBook,
    RowChange,
    RowComparison,
    State,
    compare,
    content_of,
    digest_of,
    has_rows,
    rows_in,
    rows_of_file,
)

_log = logging.getLogger("assay.gold")


class GoldFileNotWritten(NotWritten):
    """The act is done and in the log; the gold file follows with the next command that writes."""


# ── the file against the log ──────────────────────────────────────────────────────────────────────


def compare_with_log(
    log: Log, content: bytes, read_found: Callable[[], Mapping[Key, str]]
) -> RowComparison:
    """The file against the log. A row that no act knows was there before the log began."""
    digest = digest_of(content)
    if log.matches(digest) or not log.rows.history:
        return RowComparison({}, [])
    damaged = bool(log.damaged)
    exact = not damaged and digest in log.files
    result = compare(log.rows, read_found(), exact=exact, damaged=damaged)
    if not result.behind and not result.edited:
        log.mark_matching(digest)
    if log.path.exists():
        return result
    known = [change for change in result.edited if change.key in log.rows.history]
    return RowComparison(result.behind, known)


def state_of_file(dataset: Path) -> str:
    """Whether the gold file is behind its log, or was edited by hand since, in a sentence; empty
    where it is neither. Nothing is written."""
    log, content = open_log(dataset), content_of(dataset)
    if not dataset.exists() or not log.path.exists():
        return ""
    behind, edited = compare_with_log(log, content, lambda: rows_of_file(dataset, content))
    noun = "row" if has_rows(dataset) else "label"
    if behind:
        return (
            f"{dataset}: {counted(len(behind), noun)} of the file "
            f"{'is' if len(behind) == 1 else 'are'} behind its log; "
            f"`assay gold rebuild {dataset}` writes it again"
        )
    if edited and log.damaged:
        many = "differs" if len(edited) == 1 else "differ"
        count = counted(len(edited), noun)
        return f"{dataset}: {count} {many} from the log, which has damaged lines"
    return edits_sentence(dataset, edited) if edited else ""


def edits_sentence(dataset: Path, edited: Sequence[RowChange]) -> str:
    noun = "row" if has_rows(dataset) else "label"
    named = ", ".join(" ".join(filter(None, change.key)) for change in edited[:3])
    more = ", …" if len(edited) > 3 else ""
    return f"{dataset}: {counted(len(edited), noun)} edited by hand: {named}{more}"


# ── rows of a gold-set.jsonl ──────────────────────────────────────────────────────────────────────


def as_logged(log: Log, content: bytes, lines: list[Line]) -> tuple[list[Line], list[RowChange]]:
    """The lines of a file, with rows that are behind as the log has them, and the edits by hand."""
    behind, edited = compare_with_log(log, content, lambda: rows_in(lines))
    return _with_rows(lines, behind, log.rows), edited


class GoldRows:
    """A gold-set.jsonl for its only writer: its lines with what was behind written again, and the
    edits by hand that the next commit records."""

    def __init__(self, log: Log, content: bytes) -> None:
        self.log, self._content = log, content
        lines = gold_jsonl.lines_of(content, log.dataset)
        gold_jsonl.refuse_same_ids(lines, log.dataset)
        self.lines, self.edited = as_logged(log, content, lines)
        self._redone = self.lines != lines

    def commit(self, act: Act, lines: Sequence[Line]) -> None:
        """Append the act with the rows that it changes, then replace the file."""
        edit = self._edit()
        old, new = rows_in(self.lines), rows_in(lines)
        heads = {change.key: (edit.id,) for change in self.edited} if edit else {}
        rows = [*act.rows, *self._changes(old, new, {change.key for change in act.rows})]
        superseded = [
            id for change in rows for id in heads.get(change.key) or self.heads(change.key)
        ]
        content = gold_jsonl.assemble(lines)
        done = msgspec.structs.replace(
            act,
            rows=tuple(rows),
            supersedes=tuple(dict.fromkeys([*act.supersedes, *superseded])),
            file=digest_of(content),
        )
        self.log.append([*([edit] if edit else []), done])
        if self.edited:
            _log.warning("%s. The log has it now", edits_sentence(self.log.dataset, self.edited))
        if self._redone and act.action != REFRESH_FILE:
            _log.warning("%s was behind its log and is written again", self.log.dataset)
        if content == self._content or replace_gold_file(self.log.dataset, content, self._content):
            self.log.mark_matching(done.file)
        else:  # somebody saved the file meanwhile: their edit is recorded, the rest written again
            GoldRows(self.log, content_of(self.log.dataset)).rebuild()

    def heads(self, key: Key) -> tuple[str, ...]:
        return tuple(row_act.act for row_act in self.log.rows.heads(key))

    def rebuild(self) -> bool:
        """Write the file as the log wants it; tell whether anything changed."""
        content = gold_jsonl.assemble(self.lines)
        if content == self._content and not self.edited:
            return False
        self.commit(self.log.act(REFRESH_FILE, who=BY_HAND, kind="human"), self.lines)
        return True

    def _edit(self) -> Act | None:
        """The edits by hand as an act; None if there are none."""
        if not self.edited:
            return None
        superseded = [id for change in self.edited for id in self.heads(change.key)]
        return self.log.act(
            EDIT,
            who=BY_HAND,
            kind="human",
            rows=tuple(self.edited),
            supersedes=tuple(dict.fromkeys(superseded)),
        )

    def _changes(
        self, old: Mapping[Key, str], new: Mapping[Key, str], given_keys: set[Key]
    ) -> Iterator[RowChange]:
        names = _names(self.lines)
        numbers = {x.row.id: n for n, x in enumerate(self.lines) if x.row is not None}
        for key in dict.fromkeys([*old, *new]):
            before, after = old.get(key), new.get(key)
            if before == after or key in given_keys:
                continue
            if after is not None:
                yield RowChange(row=key[0], before=before, after=after)
                continue
            at = numbers[key[0]]
            yield RowChange(
                row=key[0],
                before=before,
                number=at,
                above=names[at],
                below=names[at + 2],
                unended=not self.lines[at].raw.endswith(b"\n"),
            )


@contextlib.contextmanager
def open_rows(dataset: Path) -> Iterator[GoldRows]:
    """A gold-set.jsonl, locked."""
    with writing(dataset) as log:
        yield GoldRows(log, content_of(dataset))


def _with_rows(lines: list[Line], behind: Mapping[Key, State], book: RowBook) -> list[Line]:
    end = gold_jsonl.line_end(lines)
    for (id, _), text in behind.items():
        place = next((n for n, x in enumerate(lines) if x.row is not None and x.row.id == id), None)
        if place is None and text is not None:
            lines = with_line(lines, text, removal_of(book, (id, "")))
        elif place is not None and text is None:
            lines = [*lines[:place], *lines[place + 1 :]]
        elif place is not None and text is not None:
            was = lines[place].raw
            raw = text.encode() + (was[len(was.rstrip(b"\r\n")) :] or end)
            lines = [*lines[:place], gold_jsonl.line_of(raw), *lines[place + 1 :]]
    return lines


def removal_of(book: RowBook, key: Key) -> RowChange | None:
    """The last act that took a row out of the file: it says where the row was."""
    acts = reversed(book.history.get(key, []))
    return next((each.change for each in acts if each.change.after is None), None)


def with_line(lines: Sequence[Line], text: str, was: RowChange | None) -> list[Line]:
    """The lines with one that comes back: where it was, else last."""
    names = _names(lines)

    def fits(number: int) -> tuple[int, bool, int]:
        assert was is not None
        above, below = names[number] == was.above, names[number + 1] == was.below
        return above + below, below, -abs(number - was.number)

    number = len(lines) if was is None else max(range(len(lines) + 1), key=fits)
    # a byte order mark stands only at the beginning of a file
    raw = (text.removeprefix("\ufeff") if number else text).encode()
    unended = was is not None and was.unended and number == len(lines)
    line = gold_jsonl.line_of(raw + (b"" if unended else gold_jsonl.line_end(lines)))
    return [*lines[:number], line, *lines[number:]]


def _names(lines: Sequence[Line]) -> list[str]:
    """The ids of lines while others change, with a name above the first and below the last."""
    return ["", *(x.row.id if x.row else x.raw.decode() for x in lines), ""]


def row_of(text: str) -> GoldRow:
    row = gold_jsonl.line_of(text.encode()).row
    assert row is not None
    return row


# ── writing ───────────────────────────────────────────────────────────────────────────────────────


def replace_gold_file(dataset: Path, content: bytes, was: bytes | None = None) -> bool:
    """Replace the gold file in one step. It is synced once; its name is not, since a file that is
    behind is written again. If the file no longer has the content `was`, it is left alone, and the
    answer is False."""
    place = dataset.resolve()
    try:
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}{OURS}")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, _mode(place))
            if was is not None and content_of(place) != was:
                os.unlink(temporary)
                return False
            os.replace(temporary, place)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise GoldFileNotWritten(
            f"this is recorded, but the file cannot be written: {os_message(error)}",
            where=str(dataset),
            hint="Nothing is lost. The file follows with the next command that writes.",
        ) from error
    return True


def _mode(place: Path) -> int:
    try:
        return place.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


# ── after a merge of git ──────────────────────────────────────────────────────────────────────────

_MARKS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")


def merge_sides(content: bytes) -> tuple[bytes, bytes]:
    """The two sides of a file in which git left conflicts; the same twice where it left none."""
    ours, theirs = list[bytes](), list[bytes]()
    side = ""
    for line in content.splitlines(keepends=True):
        if line.startswith(_MARKS):
            side = {b"<": "ours", b"|": "base", b"=": "theirs", b">": ""}[line[:1]]
            continue
        if side in ("", "ours"):
            ours.append(line)
        if side in ("", "theirs"):
            theirs.append(line)
    return b"".join(ours), b"".join(theirs)

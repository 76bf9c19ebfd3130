"""Files that keep searches while the store is away, until some process can send them.

Every process appends to a file of its own and holds a lock on it, which the kernel frees when the
process ends. A file that nobody holds is sent by whoever finds the store back. Sending a search
twice is harmless, since it has an id."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from assay.core import conninfo
from assay.core.decoding import thread_safe
from assay.core.redaction import without_password
from assay.core.workspace import workspace
from assay.store.records import Feedback, SearchLog

FOLDER = "unsent"  # in the workspace
BATCH = 500  # records that are sent at once (taste)
# seconds for which the size of the files of other processes is remembered (taste)
MEASURED_FOR = 1.0

Record = SearchLog | Feedback


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    search: SearchLog | None = None
    feedback: Feedback | None = None


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent: records of this process, records of others, and lines that cannot be read,
    such as the last line of a process that was killed."""

    own: int = 0
    others: int = 0
    unreadable: int = 0


class Spill:
    """The files with the unsent searches of one store. `most` is how many bytes they may have
    together."""

    def __init__(self, store: str | Path, most: int, folder: Path | None = None) -> None:
        named = str(store)
        is_file = conninfo.is_path(named.removeprefix("sqlite:///"))
        target = os.path.abspath(named) if is_file else without_password(named)
        digest = hashlib.sha256(target.encode()).hexdigest()[:12]
        self.folder = (folder or workspace() / FOLDER).absolute()
        self._prefix, self._most = f"{digest}-", most
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._handle = -1
        self._path: Path | None = None
        self._own: dict[Path, int] = {}  # how many records this process put into which file
        self._size, self._measured = 0, -math.inf  # bytes in all files, and when they were counted

    def after_fork(self) -> None:
        """In a forked child: the file belongs to the parent, which holds its lock."""
        if self._handle >= 0:
            os.close(self._handle)
        self._start()

    def files(self) -> list[Path]:
        return sorted(self.folder.glob(f"{self._prefix}*.jsonl"))

    def has_room(self) -> bool:
        now = time.monotonic()
        if now - self._measured > MEASURED_FOR:
            size = 0
            for path in self.files():
                with contextlib.suppress(OSError):
                    size += path.stat().st_size
            self._size, self._measured = size, now
        return self._size < self._most

    def append(self, records: Sequence[Record]) -> None:
        """Keep records in the file of this process; `OSError` if that cannot be done."""
        content = b"".join(map(_encoded, records))
        with self._lock:
            if self._path is None:
                self._open()
            assert self._path is not None
            written = 0
            while written < len(content):
                written += os.write(self._handle, content[written:])
            self._size += len(content)
            self._own[self._path] = self._own.get(self._path, 0) + len(records)

    def _open(self) -> None:
        """Make a file that only its owner can read. Somebody who sends files may have taken it
        before it was locked: then another one is made."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            name = f"{self._prefix}{os.getpid()}-{os.urandom(4).hex()}.jsonl"
            path = self.folder / name
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
            handle = os.open(path, flags, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if path.exists():
                self._handle, self._path = handle, path
                return
            os.close(handle)

    def release(self) -> None:
        """Let anybody send the file of this process; what comes later goes into another one."""
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
            self._handle, self._path = -1, None

    def send(self, write: Callable[[list[Record]], None]) -> Sent:
        """Send every file that no living process holds. `write` raises if the store is away; then
        the rest stays."""
        self.release()
        own = others = unreadable = 0
        for path in self.files():
            with _lines_to_send(path) as lines:
                rest = iter(lines)
                while some := list(islice(rest, BATCH)):
                    records = [record for line in some if (record := _decoded(line)) is not None]
                    unreadable += len(some) - len(records)
                    write(records)
                    others += 0 if path in self._own else len(records)
        with self._lock:
            self._measured = -math.inf
            for path in [path for path in self._own if not path.exists()]:
                own += self._own.pop(path)
        return Sent(own=own, others=others, unreadable=unreadable)


@contextlib.contextmanager
def _lines_to_send(path: Path) -> Iterator[Iterable[bytes]]:
    """The lines of a file that no process holds; none of one that is held or gone. The file is
    removed when all is sent."""
    try:
        file = path.open("rb")
    except OSError:
        yield ()
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield ()
            return
        if path.exists():  # else another process has sent it meanwhile
            yield file
            path.unlink(missing_ok=True)
        else:
            yield ()


def _encoded(record: Record) -> bytes:
    line = _Line(feedback=record) if isinstance(record, Feedback) else _Line(search=record)
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair
        return msgspec.json.encode(_with_writable_texts(line)) + b"\n"


def _with_writable_texts(value: Any) -> Any:
    """A record whose texts can be written."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, tuple):
        return tuple(map(_with_writable_texts, value))
    if isinstance(value, msgspec.Struct):
        fields = {
            name: _with_writable_texts(getattr(value, name)) for name in value.__struct_fields__
        }
        return type(value)(**fields)
    return value


def _decoded(line: bytes) -> Record | None:
    try:
        found = msgspec.json.decode(line, type=thread_safe(_Line))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found.search or found.feedback


def count_waiting(home: Path | None = None) -> int:
    """How many searches wait in the workspace to be sent to a store."""
    count = 0
    for path in (workspace(home) / FOLDER).glob("*.jsonl"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            count += sum(1 for _ in file)
    return count

"""Read and write files: strict UTF-8, JSON, JSON lines and TOML in, atomic replacement out, and
errors that name the file and the line."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import InputError, NotWritten

MAX_LINE_BYTES = 64 * 2**20  # taste: far beyond any document; a file without line ends is not text
OURS = ".assay-"  # in the names of temporary files, so that those left behind are known for ours
_TEMPORARY = re.compile(rf"\..+{re.escape(OURS)}[a-z0-9_]{{8}}")
HUGE_INTEGER = re.compile(rb"[0-9]{309}")  # floats end below 2e308; it may stand in a string too


def read_bytes(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise unreadable_file(path, error) from error
    if not content.strip():
        raise empty_file(path)
    return content.removeprefix(b"\xef\xbb\xbf")


def decode(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start}",
            where=f"{path}:{line}",
            hint="Save the file as UTF-8.",
        ) from error


def read_json(path: Path) -> Any:
    """The file as plain Python values; a syntax error names line and column."""
    content = read_bytes(path)
    decode(content, path)
    try:
        value = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise InputError(
            f"not valid JSON: {_json_message(error, content)}",
            where=f"{path}:{_json_line(error, content)}",
            hint="Check that the file is complete and is JSON.",
        ) from error
    except RecursionError as error:
        raise InputError("not usable JSON: nested too deeply", where=str(path)) from error
    if HUGE_INTEGER.search(content) and (place := _find_huge_integer(value)) is not None:
        raise InputError("the number is too large to compute with", where=f"{path}: ${place}"[:500])
    return value


def read_toml(path: Path) -> dict[str, object]:
    import tomllib  # most who read files read no TOML

    text = decode(read_bytes(path), path)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise InputError("not usable TOML: nested too deeply", where=str(path)) from error
    except ValueError as error:  # also a number with more digits than Python reads
        raise InputError(f"not valid TOML: {error}", where=str(path)) from error


def _find_huge_integer(value: object) -> str | None:
    """The path of an integer that no float can hold, like `.per_query[0].latency_ms`. Python reads
    such a number and fails at the first sum, or when it is printed."""
    if isinstance(value, int):
        return "" if abs(value) > sys.float_info.max else None
    members: Iterator[tuple[str, object]] = iter(())
    if isinstance(value, dict):
        members = ((f".{key}", member) for key, member in value.items())
    elif isinstance(value, list):
        members = ((f"[{index}]", member) for index, member in enumerate(value))
    for step, member in members:
        if (rest := _find_huge_integer(member)) is not None:
            return f"{step}{rest}"
    return None


def read_strict_json(path: Path) -> Any:
    """Read JSON that people write by hand: a key that an object has twice is an error, because one
    of the two values would be lost."""
    value = read_json(path)
    text = decode(read_bytes(path), path)
    if (repeated := _find_repeated(text)) is not None:
        raise _twice(*repeated, path)
    return value


def refuse_repeated_keys(line: str, value: Any, path: Path, number: int) -> None:
    """Refuse a repeated key in one line of valid JSON. An object with as many colons as keys has
    each key once, which is quick to check; only other lines are parsed again."""
    if isinstance(value, dict) and line.count(":") <= len(value):
        return
    if (repeated := _find_repeated(line)) is not None:
        raise _twice(repeated[0], number, path)


def _twice(key: str, line: int, path: Path) -> InputError:
    return InputError(
        f"the key {key!r} appears twice in one object",
        where=f"{path}:{line}",
        hint="Keep one of the two.",
    )


class _RepeatedKey(Exception):
    pass


def _unique_keys(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _RepeatedKey


_STRICT = json.JSONDecoder(object_pairs_hook=_unique_keys)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\]]')


def _find_repeated(text: str) -> tuple[str, int] | None:
    """The first repeated key of valid JSON, and the line where it comes again."""
    try:
        _STRICT.decode(text)
        return None
    except _RepeatedKey:
        pass
    objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            objects.append(set())
        elif token[0] in "}]":
            objects.pop()
        elif token[1] is not None:
            key = json.loads(token[0][: token.start(1) - token.start()])
            if key in objects[-1]:
                return key, text.count("\n", 0, token.start()) + 1
            objects[-1].add(key)
    return None


def iter_json_lines(path: Path, *, strict: bool = False) -> Iterator[tuple[int, Any]]:
    """(line number, value) for every non-empty line; with `strict`, a key that an object has twice
    is an error, as in `read_strict_json`."""
    for number, line in iter_lines(path):
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(
                f"not valid JSON: {_json_message(error, line.encode())}",
                where=f"{path}:{number}",
                hint="Every line must be one JSON object.",
            ) from error
        if strict:
            refuse_repeated_keys(line, value, path, number)
        yield number, value


def iter_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number, text) for every line that is not blank, reading a bounded amount at a time."""
    number = 0
    seen = False
    try:
        with path.open("rb") as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise too_long(path, number)
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    seen = True
                    yield number, decode_line(line, path, number)
    except OSError as error:
        raise unreadable_file(path, error) from error
    if not seen:
        raise empty_file(path)


def refuse_long_lines(path: Path) -> None:
    """Refuse a file with a line over the limit before the whole file is read."""
    for _ in iter_lines(path):
        pass


def unreadable_file(path: Path, error: OSError) -> InputError:
    return InputError(os_message(error), where=str(path), hint="Check the path.")


def empty_file(path: Path) -> InputError:
    hint = "Expected content; was the export interrupted?"
    return InputError("the file is empty", where=str(path), hint=hint)


def too_long(path: Path, line: int) -> InputError:
    return InputError(
        f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB",
        where=f"{path}:{line}",
        hint="This does not look like a line-based file; check how it was written.",
    )


def write_atomic(path: Path, content: bytes | str) -> None:
    """Replace `path` in one step: readers see the old file or the new one, never a part."""
    payload = content.encode() if isinstance(content, str) else content
    if path.is_symlink():
        path = path.resolve()  # the link stays, what it names is replaced
    if path.exists() and not path.is_file():
        raise InputError("is not a regular file", where=str(path), hint="Give a file name.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}{OURS}")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(payload)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
            sync_folder(path.parent)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise NotWritten(f"cannot write: {os_message(error)}", where=str(path)) from error


def write_json(path: Path, value: object) -> None:
    """Replace `path` with the value as indented JSON."""
    write_atomic(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def sync_folder(folder: Path) -> None:
    """Flush a folder, so that a new name in it survives a crash. Some file systems have no such
    operation."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def refuse_unwritable(path: Path) -> None:
    """Raise before the work, not after it, if `path` cannot be written."""
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise InputError(f"is {kind}", where=str(path), hint="Give a file name.")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise NotWritten(
            f"cannot write: {os_message(error)}",
            where=str(path),
            hint="Give a place that can be written.",
        ) from error


LEFT_AFTER = 3600.0  # seconds, by taste; a writer of ours needs its temporary files for moments


def leftovers(folder: Path) -> list[Path]:
    """Temporary files and folders of ours that a killed process left in a folder, where nothing has
    changed in them for an hour."""
    before = time.time() - LEFT_AFTER
    try:
        found = [path for path in sorted(folder.iterdir()) if _TEMPORARY.fullmatch(path.name)]
        return [path for path in found if _changed_at(path) < before]
    except OSError:  # it cannot be read, or somebody else sweeps too
        return []


def _changed_at(path: Path) -> float:
    """When a file, or anything in a folder, was changed last."""
    return max(one.lstat().st_mtime for one in (path, *path.rglob("*")))


def remove_leftovers(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@contextlib.contextmanager
def scratch_beside(target: Path) -> Iterator[Path]:
    """A temporary folder on the file system of `target`, so that its files can be renamed into
    place."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=target.parent, prefix=f".{target.name}{OURS}"
        ) as folder:
            yield Path(folder)
    except OSError as error:
        raise NotWritten(f"cannot write: {os_message(error)}", where=str(target)) from error


def move_into_place(source: Path, target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(source, target)
    except OSError as error:
        raise NotWritten(f"cannot write: {os_message(error)}", where=str(target)) from error
    return target


Stamp = tuple[int, int, int]

# what a request has looked at: see `looking_once`
_looked: ContextVar[dict[Path, Stamp | None] | None] = ContextVar("looked", default=None)
_resolved: dict[str, tuple[tuple[int, int], Path]] = {}


def resolved(path: Path) -> Path:
    """`path.resolve()` in two calls to the system, for a file that is looked up again and again:
    the place of its folder is remembered for as long as the folder is the same one."""
    whole = os.path.join(os.getcwd(), path)
    try:
        if stat.S_ISLNK(os.lstat(whole).st_mode) or path.name in ("", ".."):
            return path.resolve()
        folder = os.stat(os.path.dirname(whole))
    except OSError:
        return path.resolve()
    known = _resolved.get(whole)
    if known is None or known[0] != (folder.st_dev, folder.st_ino):
        known = _resolved[whole] = (folder.st_dev, folder.st_ino), path.resolve()
    return known[1]


def stamp_of(path: Path) -> Stamp | None:
    """The identity of a file's content: inode, size and time; None where there is no file."""
    try:
        found = os.stat(path)
        stamp = found.st_ino, found.st_size, found.st_mtime_ns
    except OSError:
        stamp = None
    if (looked := _looked.get()) is not None:
        looked[path] = stamp
    return stamp


def glance_at(path: Path) -> Stamp | None:
    """`stamp_of`, or what it said before in this `looking_once`. It may say that a file is as it
    was; where it says otherwise, look again with `stamp_of` before anything is read."""
    looked = _looked.get()
    return looked[path] if looked is not None and path in looked else stamp_of(path)


@contextlib.contextmanager
def looking_once() -> Iterator[None]:
    """Look at a file once, however often `glance_at` asks. A page asks for some files fifty times,
    and each time its thread has to wait until the others let it go on."""
    token = _looked.set({})
    try:
        yield
    finally:
        _looked.reset(token)


def sha256_of(path: Path) -> str:
    """The hash of a file, or of every file below a folder in name order."""
    digest = hashlib.sha256()
    below = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    for file in below:
        if path.is_dir():
            digest.update(str(file.relative_to(path)).encode() + b"\0")
        with file.open("rb") as stream:
            while block := stream.read(2**20):
                digest.update(block)
    return digest.hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def decode_line(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8: byte 0x{line[error.start]:02x} in column {error.start + 1}",
            where=f"{path}:{number}",
            hint="Save the file as UTF-8.",
        ) from error


def _json_line(error: Exception, content: bytes) -> int:
    return content.count(b"\n", 0, _byte_offset(error, content)) + 1


def _json_message(error: Exception, content: bytes) -> str:
    offset = _byte_offset(error, content)
    column = offset - (content.rfind(b"\n", 0, offset) + 1) + 1
    return f"{str(error).split(' (byte')[0]} (column {column})"


def _byte_offset(error: Exception, content: bytes) -> int:
    """msgspec ends a syntax error with '(byte N)' and says 'truncated' at the end of the data."""
    _, mark, tail = str(error).rpartition("(byte ")
    return int(tail.rstrip(")")) if mark else max(len(content) - 1, 0)


def os_message(error: OSError) -> str:
    """The system's error message, as the end of a sentence."""
    return (error.strerror or str(error)).lower()

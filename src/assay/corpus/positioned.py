"""Every document once more, a JSON line each, so that one document is one positioned read.

The Arrow files of a corpus are columns: good for reading one thing of every document, and slow for
reading everything of one (milliseconds, of which a search needs twenty). `documents.jsonl` holds
the same documents in row order, `documents.offsets.npy` where each begins. It is mapped, so that
what is read often stays in memory as long as the machine has room.

It can be made from the Arrow files at any time, so a corpus of an earlier version opens without it,
a frozen one travels without it, and `assay index` writes it where it is missing.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from assay.core.errors import InputError
from assay.core.types import Document

LINES = "documents.jsonl"
OFFSETS = "documents.offsets.npy"
FILES = frozenset({LINES, OFFSETS})
T = TypeVar("T")
Offsets = np.ndarray[Any, np.dtype[np.int64]]

_document: msgspec.json.Decoder[Document] = msgspec.json.Decoder(Document)


class _Id(msgspec.Struct, frozen=True):
    id: str


_id: msgspec.json.Decoder[_Id] = msgspec.json.Decoder(_Id)


@dataclass(frozen=True)
class Lines:
    """The documents of an open corpus, by row."""

    path: Path
    lines: mmap.mmap
    offsets: Offsets

    def at(self, row: int) -> Document:
        return self._decoded(row, _document)

    def has_id(self, row: int, doc_id: str) -> bool:
        """Whether this is its document: a line begins with the id."""
        begin = b'{"id":' + msgspec.json.encode(doc_id)
        start = self.offsets[row]
        return self.lines[start : start + len(begin)] == begin

    def id_at(self, row: int) -> str:
        return self._decoded(row, _id).id

    def _decoded(self, row: int, decoder: msgspec.json.Decoder[T]) -> T:
        try:
            return decoder.decode(self.lines[self.offsets[row] : self.offsets[row + 1]])
        except msgspec.MsgspecError as error:
            raise InputError(
                f"cannot read document {row} of the corpus: {error}",
                where=str(self.path),
                hint=f"Delete {LINES}; `assay index` writes it again.",
            ) from error


def open_lines(folder: Path, documents: int) -> Lines | None:
    """None where there are none, or not those of all documents."""
    try:
        # an array of its own: a mapped one costs more to look into than the number is worth
        offsets = np.array(np.load(folder / OFFSETS, allow_pickle=False), np.int64)
        with (folder / LINES).open("rb") as stream:
            lines = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError, EOFError):
        return None
    is_whole = len(offsets) == documents + 1 and int(offsets[-1]) == len(lines)
    return Lines(folder / LINES, lines, offsets) if is_whole else None


def write_lines(folder: Path, documents: Iterable[Document]) -> None:
    """The offsets come last and in one step: with them, the lines are whole."""
    encode = msgspec.json.Encoder().encode
    offsets = [0]
    temporary = folder / f".{LINES}.{os.getpid()}"
    try:
        with temporary.open("wb") as stream:
            for document in documents:
                offsets.append(offsets[-1] + stream.write(encode(document) + b"\n"))
            stream.flush()
            os.fsync(stream.fileno())
        (folder / OFFSETS).unlink(missing_ok=True)
        temporary.replace(folder / LINES)
        with temporary.open("wb") as stream:
            np.save(stream, np.array(offsets, np.int64), allow_pickle=False)
        temporary.replace(folder / OFFSETS)
    finally:
        temporary.unlink(missing_ok=True)

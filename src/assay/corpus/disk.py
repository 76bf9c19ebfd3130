"""A corpus on disk: documents as columns in Arrow files, with an index of ids and the citation
graph as mapped arrays.

    <home>/corpora/<name>/
      corpus.json              the manifest: replaced in one step, so that readers see old or new
      data-<build>/
        part-*.arrow           documents, one row each, a few thousand a file
        ids.hash.npy           sorted 64-bit hashes of the ids
        ids.row.npy            the row of each
        cites.*.npy            the graph, row to rows: offsets and rows
        cited_by.*.npy         the same the other way
        citations.arrow        every citation of every document once, with its target or reason
        sources.arrow          the files read: path, size, time, hash
        problems.jsonl         records that could not be read
        documents.*            the documents once more, so that one is one read (`DocumentLines`)
      building/                an import under way; a later import takes up what is finished

Opening reads the manifest and maps the arrays; a document is read when it is asked for. A corpus
of an earlier version has no documents.*, and reads one from the Arrow files: much slower.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
import polars as pl

from assay.core import conninfo
from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.files import Stamp, read_json, stamp_of
from assay.core.types import Document, Locator, counted
from assay.core.workspace import workspace
from assay.corpus.importers.kinds import Options, Problem
from assay.law.citation import Scheme

FORMAT = 1  # of a corpus on disk; raised when older readers cannot read it
MANIFEST = "corpus.json"
LINES = "documents.jsonl"
OFFSETS = "documents.offsets.npy"
FILES = frozenset({LINES, OFFSETS})
T = TypeVar("T")
Rows = np.ndarray[Any, np.dtype[np.int64]]

LOCATOR_COLUMNS = {name: f"locator.{name}" for name in Locator.__struct_fields__}
# Parts that a Locator got later. They repeat what the metadata says, and are left out of a
# document's digest, so that a corpus keeps the fingerprint that earlier results name.
LATER_PARTS = ("part", "chapter", "schedule", "column")
TEXT_COLUMNS = ("id", "title", "text", "language", "valid_from", "valid_to")
SCHEMA = pl.Schema(
    {
        **{name: pl.String() for name in TEXT_COLUMNS},
        **{
            name: pl.Int64() if key == "page" else pl.String()
            for key, name in LOCATOR_COLUMNS.items()
        },
        "citations": pl.List(pl.String()),
        "metadata": pl.String(),
        "type": pl.String(),
        "year": pl.Int32(),
        "source": pl.String(),
        "digest": pl.String(),
    }
)


Count = Annotated[int, msgspec.Meta(ge=0)]


class PartFile(msgspec.Struct, frozen=True):
    file: str
    rows: Count


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `corpus.json`."""

    format: int
    name: str
    kind: str
    source: str
    options: Options
    versions: dict[str, int]
    scheme: Scheme
    fingerprint: str
    documents: Count
    data_folder: str = msgspec.field(name="data")
    parts: tuple[PartFile, ...]
    fields: tuple[str, ...]
    problems: dict[str, Count]
    citations: dict[str, Count]
    seconds: float
    created_at: str


class LinkedDocument(Document, frozen=True, kw_only=True, omit_defaults=True):
    """A document with what it cites and what cites it."""

    cites: list[str]
    cited_by: list[str]


@dataclass(frozen=True)
class Corpus:
    """An open corpus. Cheap to make: everything is read when it is first asked for."""

    path: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content: ids and documents, in no particular order, and not where or when
        they came from."""
        return self.manifest.fingerprint

    @property
    def data_folder(self) -> Path:
        return self.path / self.manifest.data_folder

    def __len__(self) -> int:
        return self.manifest.documents

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and self.row(doc_id) is not None

    @cached_property
    def frame(self) -> pl.LazyFrame:
        """All documents as columns, not read until collected: id, title, text, `fields.*`,
        `locator.*`, metadata as JSON, type and year. A field that no document of a part has is null
        there."""
        parts = [pl.scan_ipc(self.data_folder / part.file) for part in self.manifest.parts]
        return pl.concat(parts, how="diagonal")

    @cached_property
    def ids(self) -> list[str]:
        """The ids in row order."""
        return list(self.frame.select("id").collect()["id"])

    def get(self, doc_id: str) -> Document:
        return self.at(self._require_row(doc_id))

    def at(self, row: int) -> Document:
        if self.lines is not None:
            return self.lines.at(row)
        part, offset = self._part_and_offset(row)
        return next(documents_of(pl.scan_ipc(self._file(part)).slice(offset, 1).collect()))

    @property
    def is_complete(self) -> bool:
        """Whether the corpus has every file that this version writes."""
        return self.lines is not None

    def complete(self) -> None:
        """Write the files that a corpus of an earlier version lacks. A corpus that cannot be
        written to stays as it is: it can be read all the same."""
        if self.lines is None:
            with suppress(OSError):
                write_lines(self.data_folder, self.iter())
                del self.__dict__["lines"]

    def iter(self) -> Iterator[Document]:
        """Every document in row order, with one part in memory at a time."""
        for part in range(len(self.manifest.parts)):
            yield from documents_of(read_arrow(self._file(part)))

    def row(self, doc_id: str) -> int | None:
        """The row of an id, by binary search in the mapped hashes; the id itself settles a
        collision."""
        hashes, rows = self._index
        wanted = id_hash(doc_id)
        at = int(np.searchsorted(hashes, wanted))
        while at < len(hashes) and hashes[at] == wanted:
            row = int(rows[at])
            is_it = self.lines.has_id(row, doc_id) if self.lines else self._id_at(row) == doc_id
            if is_it:
                return row
            at += 1
        return None

    def cites(self, doc_id: str) -> list[str]:
        """The documents of this corpus that a document cites."""
        return self._neighbours("cites", doc_id)

    def cited_by(self, doc_id: str) -> list[str]:
        return self._neighbours("cited_by", doc_id)

    def linked(self, doc_id: str) -> LinkedDocument:
        own = msgspec.structs.asdict(self.get(doc_id))
        return LinkedDocument(**own, cites=self.cites(doc_id), cited_by=self.cited_by(doc_id))

    def graph(self, direction: str = "cites") -> tuple[Rows, Rows]:
        """(offsets, rows): the neighbours of row i are rows[offsets[i]:offsets[i + 1]]."""
        return self._array(f"{direction}.offsets.npy"), self._array(f"{direction}.rows.npy")

    @cached_property
    def citations(self) -> pl.LazyFrame:
        """One row for a citation in a document: row, normal, kind, language, text, start, end,
        count, in_record, name, own, status, reason, targets (rows)."""
        return pl.scan_ipc(self.data_folder / "citations.arrow")

    def citations_of(self, doc_id: str) -> pl.DataFrame:
        return self.citations.filter(pl.col("row") == self._require_row(doc_id)).collect()

    def citing(self, normal: str) -> list[str]:
        """The documents that cite this normal form, whether or not it is a document here: "Gov.
        Code § 1090"."""
        rows = self.citations.filter(pl.col("normal") == normal).select("row").collect()["row"]
        return [self._id_at(row) for row in rows.unique().sort()]

    def problems(self) -> list[Problem]:
        path = self.data_folder / "problems.jsonl"
        decode = msgspec.json.Decoder(thread_safe(Problem)).decode
        lines = path.read_bytes().splitlines() if path.exists() else []
        try:
            return [decode(line) for line in lines]
        except (msgspec.MsgspecError, RecursionError) as error:
            raise InputError(f"not a list of problems: {error}", where=str(path)) from error

    @cached_property
    def _index(self) -> tuple[np.ndarray[Any, np.dtype[np.uint64]], Rows]:
        hashes: Any = self._array("ids.hash.npy")
        return np.asarray(hashes), np.asarray(self._array("ids.row.npy"))

    @cached_property
    def lines(self) -> DocumentLines | None:
        """The documents as lines, for quick reading; None in a corpus of an earlier version."""
        return open_lines(self.data_folder, len(self))

    @cached_property
    def _starts(self) -> Rows:
        return np.cumsum([0, *(part.rows for part in self.manifest.parts)], dtype=np.int64)[:-1]

    @cached_property
    def _part_ids(self) -> dict[int, pl.Series]:
        return {}

    def _require_row(self, doc_id: str) -> int:
        row = self.row(doc_id)
        if row is None:
            raise InputError(
                f"no document {doc_id!r} in the corpus {self.name!r}",
                hint=f"It has {counted(len(self), 'document')}.",
            )
        return row

    def _file(self, part: int) -> Path:
        return self.data_folder / self.manifest.parts[part].file

    def _part_and_offset(self, row: int) -> tuple[int, int]:
        """The part that holds a row, and where in it."""
        part = int(np.searchsorted(self._starts, row, side="right")) - 1
        return part, row - int(self._starts[part])

    def _id_at(self, row: int) -> str:
        if self.lines is not None:
            return self.lines.id_at(row)
        part, offset = self._part_and_offset(row)
        if part not in self._part_ids:
            self._part_ids[part] = read_arrow(self._file(part), ["id"])["id"]
        return str(self._part_ids[part][offset])

    def _array(self, name: str) -> Rows:
        path = self.data_folder / name
        try:
            array: Rows = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError, OverflowError) as error:
            raise InputError(
                f"the corpus is damaged: {name} cannot be read ({error})",
                where=str(path),
                hint="Import it again, or restore it from a backup.",
            ) from error
        return array

    def _neighbours(self, direction: str, doc_id: str) -> list[str]:
        row = self._require_row(doc_id)
        offsets, rows = self.graph(direction)
        return [self._id_at(int(other)) for other in rows[offsets[row] : offsets[row + 1]]]


_SAFE_NAME = re.compile(r"\w[\w.-]*")  # what can only be a file or folder right here
LONGEST_NAME = 200  # bytes (taste): file systems take 255, and a name gets an ending
_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")


def _is_safe_name(name: str) -> bool:
    return _SAFE_NAME.fullmatch(name) is not None and len(name.encode()) <= LONGEST_NAME


def corpus_path(home: Path | None, name: str) -> Path:
    if not _is_safe_name(name):
        hint = "Use letters, digits, '-', '_' and '.', begin with a letter or digit, and be brief."
        raise InputError(f"{name[:LONGEST_NAME]!r} cannot be the name of a corpus", hint=hint)
    return workspace(home) / "corpora" / name


def open_corpus(home: Path | None, name: str) -> Corpus:
    path = corpus_path(home, name)
    if not (path / MANIFEST).exists():
        known = ", ".join(list_corpora(home)) or "none yet"
        raise InputError(
            f"no corpus {name!r}",
            where=str(path),
            hint=f"Known: {known}. `assay corpus import` makes one.",
        )
    return open_path(path)


def open_path(path: Path) -> Corpus:
    where = path / MANIFEST
    return Corpus(path, _read_manifest(where, stamp_of(where)))


@lru_cache(maxsize=64)  # pages open every corpus; a manifest is replaced and never changed
def _read_manifest(where: Path, stamp: Stamp | None) -> Manifest:
    raw = read_json(where)
    version = raw.get("format") if isinstance(raw, dict) else None
    if version != FORMAT:
        newer = isinstance(version, int) and version > FORMAT
        message = f"corpus format {version!r}, this version reads {FORMAT}"
        hint = "A newer Assay wrote it: upgrade Assay." if newer else "Import it again."
        raise InputError(message, where=str(where), hint=hint)
    try:
        manifest = refuse_unsafe(msgspec.convert(raw, thread_safe(Manifest)), where)
    except msgspec.ValidationError as error:
        raise InputError(f"not a corpus manifest: {error}", where=str(where)) from error
    # one of an earlier version may have kept a password
    source = conninfo.without_secrets(manifest.source)
    return msgspec.structs.replace(manifest, source=source)


def refuse_unsafe(manifest: Manifest, where: Path) -> Manifest:
    """Refuse a manifest whose names or numbers could lead outside the corpus: names become parts of
    paths, and numbers positions in files."""
    names = {"name": manifest.name, "data": manifest.data_folder}
    names |= {f"parts[{row}].file": part.file for row, part in enumerate(manifest.parts)}
    wrong = [f"{key} is {name!r}" for key, name in names.items() if not _is_safe_name(name)]
    if not _FINGERPRINT.fullmatch(manifest.fingerprint):
        wrong.append(f"fingerprint is {manifest.fingerprint!r}")
    if (rows := sum(part.rows for part in manifest.parts)) != manifest.documents:
        wrong.append(f"its parts have {rows:,} rows, and it has {manifest.documents:,} documents")
    if wrong:
        raise InputError(
            f"not a corpus manifest: {wrong[0][:200]}",
            where=str(where),
            hint="This file was not written by Assay. Do not use it.",
        )
    return manifest


def list_corpora(home: Path | None = None) -> list[str]:
    folder = str(workspace(home) / "corpora")
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(name for name in names if os.path.exists(f"{folder}/{name}/{MANIFEST}"))


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────


def document_frame(documents: list[Document], sources: list[str]) -> pl.DataFrame:
    """Documents as a frame, one row each, with where each was read."""
    columns: dict[str, list[Any]] = {}
    for name in TEXT_COLUMNS:
        columns[name] = [getattr(doc, name) for doc in documents]
    for key, name in LOCATOR_COLUMNS.items():
        columns[name] = [getattr(doc.locator, key) if doc.locator else None for doc in documents]
    columns["citations"] = [list(doc.citations) for doc in documents]
    columns["metadata"] = [_encode(doc.metadata).decode() for doc in documents]
    columns["type"] = [_string(doc.metadata.get("type")) for doc in documents]
    columns["year"] = [year_of(doc) for doc in documents]
    columns["source"] = sources
    columns["digest"] = [digest_of(doc) for doc in documents]
    schema = pl.Schema(SCHEMA)
    for name in sorted({name for doc in documents for name in doc.fields}):
        columns[f"fields.{name}"] = [doc.fields.get(name) for doc in documents]
        schema[f"fields.{name}"] = pl.String()
    return pl.DataFrame(columns, schema=schema)


def _without_later_parts(document: Document) -> Document:
    if document.locator is None:
        return document
    locator = msgspec.structs.replace(document.locator, **dict.fromkeys(LATER_PARTS))
    return msgspec.structs.replace(document, locator=locator)


_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def digest_of(document: Document) -> str:
    """SHA-256 of a document's content."""
    return hashlib.sha256(_encode(_without_later_parts(document))).hexdigest()


def documents_of(frame: pl.DataFrame) -> Iterator[Document]:
    """The documents of a frame; null means that a value is absent."""
    columns = [name for name in frame.columns if name.startswith("fields.")]
    field_of = {name: name.removeprefix("fields.") for name in columns}
    for row in frame.iter_rows(named=True):
        located = {key: row.get(name) for key, name in LOCATOR_COLUMNS.items()}
        locator = {key: value for key, value in located.items() if value is not None}
        yield Document(
            **{name: row[name] for name in TEXT_COLUMNS},
            fields={key: row[name] for name, key in field_of.items() if row[name] is not None},
            locator=Locator(**locator) if locator else None,
            citations=tuple(row["citations"]),
            metadata=_decode(row["metadata"]),
        )


def read_arrow(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    try:
        return pl.read_ipc(path, columns=columns)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"cannot read this part of the corpus: {error}",
            where=str(path),
            hint="Import the corpus again.",
        ) from error


def id_hash(doc_id: str) -> np.uint64:
    digest = hashlib.blake2b(doc_id.encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def write_ids(folder: Path, ids: list[str]) -> None:
    """The index from an id to its row."""
    hashes = np.array([id_hash(doc_id) for doc_id in ids], dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    np.save(folder / "ids.hash.npy", hashes[order])
    np.save(folder / "ids.row.npy", order.astype(np.int64))


def fingerprint_of(ids: list[str], digests: list[str]) -> str:
    digest = hashlib.sha256()
    for doc_id, content in sorted(zip(ids, digests, strict=True)):
        digest.update(f"{doc_id}\0{content}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def year_of(document: Document) -> int | None:
    year = document.metadata.get("year")
    if isinstance(year, int) and not isinstance(year, bool) and abs(year) < 2**31:
        return year
    begins = document.valid_from[:4]
    return int(begins) if begins.isdecimal() else None


# ── documents as lines ────────────────────────────────────────────────────────────────────────────

_document: msgspec.json.Decoder[Document] = msgspec.json.Decoder(thread_safe(Document))


class _OnlyId(msgspec.Struct, frozen=True):
    id: str


_id: msgspec.json.Decoder[_OnlyId] = msgspec.json.Decoder(thread_safe(_OnlyId))


@dataclass(frozen=True)
class DocumentLines:
    """The documents of an open corpus, by row."""

    path: Path
    lines: mmap.mmap
    offsets: Rows

    def at(self, row: int) -> Document:
        return self._decoded(row, _document)

    def has_id(self, row: int, doc_id: str) -> bool:
        """Whether the document of a row has this id: a line begins with the id."""
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


def open_lines(folder: Path, documents: int) -> DocumentLines | None:
    """The lines of a corpus; None where there are none, or not those of all documents."""
    try:
        # an array of its own: a mapped one costs more to look into than the number is worth
        offsets = np.array(np.load(folder / OFFSETS, allow_pickle=False), np.int64)
        with (folder / LINES).open("rb") as stream:
            lines = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError, EOFError):
        return None
    is_whole = len(offsets) == documents + 1 and int(offsets[-1]) == len(lines)
    return DocumentLines(folder / LINES, lines, offsets) if is_whole else None


def write_lines(folder: Path, documents: Iterable[Document]) -> None:
    """Write the documents as lines. The offsets come last and in one step: with them, the lines are
    complete."""
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

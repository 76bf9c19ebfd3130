"""Pack a corpus into one portable file, and open such a file elsewhere.

A ZIP archive with the manifest first and every file's SHA-256 in it. The same corpus always gives
the same bytes. Opening unpacks it once into the workspace and checks every file, every name and
every document: the file may come from anybody. Its digests are stored beside the documents, so
they are computed again from the documents (`disk.open_path` checks the names in a manifest, whoever
wrote it).
"""

from __future__ import annotations

import hashlib
import lzma
import mmap
import re
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.files import OURS, os_message, sha256_of, write_atomic
from assay.core.workspace import workspace
from assay.corpus import disk
from assay.corpus.disk import (
    MANIFEST,
    SCHEMA,
    TEXT_COLUMNS,
    Corpus,
    Manifest,
    digest_of,
    documents_of,
    fingerprint_of,
    open_path,
    read_arrow,
    refuse_unsafe,
    write_ids,
    year_of,
)

SUMS = "SHA256SUMS.json"
_NAME = re.compile(r"\w[\w.-]*")
MAX_ENTRY_BYTES = 64 * 2**20  # of the manifest, and of the sums (taste)
# Measured: a corpus packs to a quarter or less of its size; one that unpacks to a hundred times its
# size is a decompression bomb.
SMALL, MOST_PACKED = 256 * 2**20, 100
# what reading a file raises that is no frozen corpus, or not all of one; RuntimeError also where it
# is encrypted, packed in another way, or nested without end
_NO_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    pl.exceptions.PolarsError,
    LookupError,
    ValueError,
    TypeError,
    RuntimeError,
    OverflowError,
    msgspec.MsgspecError,
)


def freeze(corpus: Corpus, path: Path) -> Path:
    """Write the corpus to `path`, in one step."""
    files = sorted(
        file
        for file in corpus.data_folder.iterdir()
        if file.is_file() and file.name not in disk.FILES
    )
    manifest = msgspec.structs.replace(
        corpus.manifest, data_folder="data", seconds=0.0, created_at="", source=""
    )
    sums = {file.name: sha256_of(file) for file in files}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
            shown = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
            archive.writestr(_entry(MANIFEST), shown)
            archive.writestr(_entry(SUMS), msgspec.json.encode(sums, order="deterministic"))
            for file in files:
                with (
                    archive.open(_entry(f"data/{file.name}"), "w", force_zip64=True) as target,
                    file.open("rb") as source,
                ):
                    shutil.copyfileobj(source, target, 2**20)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"cannot write: {os_message(error)}", where=str(path)) from error
    return path


def open_frozen(path: Path, *, home: Path | None = None) -> Corpus:
    """Open a frozen corpus. It is unpacked under `<home>/frozen/` the first time."""
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise InputError("is not a regular file", where=str(path), hint="Check the path.")
    try:
        with zipfile.ZipFile(path) as archive:
            manifest_bytes, sums_bytes = (
                _read_entry(archive, MANIFEST, path),
                _read_entry(archive, SUMS, path),
            )
            manifest = msgspec.json.decode(manifest_bytes, type=thread_safe(Manifest))
            refuse_unsafe(manifest, path)
            sums = msgspec.json.decode(sums_bytes, type=dict[str, str])
            # where it came from is nobody's to say: `freeze` leaves it out
            manifest = msgspec.structs.replace(manifest, source="", created_at="", seconds=0.0)
            # by the documents and by all else: the same documents with another manifest or graph
            # are another corpus
            rest = hashlib.sha256(manifest_bytes + b"\0" + sums_bytes).hexdigest()[:16]
            name = f"{manifest.fingerprint.removeprefix('sha256:')}-{rest}"
            folder = workspace(home) / "frozen" / name
            if (folder / MANIFEST).exists():
                return open_path(folder)
            return _unpack(archive, path, folder, manifest, sums)
    except _NO_ARCHIVE as error:
        message = f"not a frozen corpus: {error}"
        raise InputError(message, where=str(path), hint="Was it copied completely?") from error
    except OSError as error:
        raise InputError(os_message(error), where=str(path), hint="Check the path.") from error


def _read_entry(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    if archive.getinfo(name).file_size > MAX_ENTRY_BYTES:
        raise _too_large(path, f"{name} alone is larger than {MAX_ENTRY_BYTES // 2**20} MiB")
    return archive.read(name)


def _refuse_bomb(archive: zipfile.ZipFile, path: Path, files: Iterable[str]) -> None:
    """`zipfile` reads no more of a file than its entry states, so that the entries can be added."""
    whole = sum(archive.getinfo(f"data/{file}").file_size for file in files)
    if whole > max(SMALL, MOST_PACKED * path.stat().st_size):
        raise _too_large(path, f"it would unpack to {whole / 2**30:.1f} GiB")


def _too_large(path: Path, what: str) -> InputError:
    return InputError(what, where=str(path), hint="This is not a frozen corpus.")


def _unpack(
    archive: zipfile.ZipFile, path: Path, folder: Path, manifest: Manifest, sums: dict[str, str]
) -> Corpus:
    """Beside the folder first: it is there whole and checked, or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".unpacking{OURS}") as name:
        inside = Path(name) / "corpus"
        data = inside / "data"
        data.mkdir(parents=True)
        manifest = msgspec.structs.replace(manifest, data_folder=data.name)
        files = {file: digest for file, digest in sums.items() if file not in disk.FILES}
        _refuse_bomb(archive, path, files)
        for file, digest in files.items():
            _unpack_file(archive, path, data, file, digest)
            if file.endswith(".arrow"):
                refuse_swollen(data / file)
        shown = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        write_atomic(inside / MANIFEST, shown)
        corpus = open_path(inside)
        _refuse_altered(corpus, path)
        write_ids(data, corpus.ids)
        corpus.complete()
        if not folder.exists():
            inside.rename(folder)
    return open_path(folder)


def _refuse_altered(corpus: Corpus, path: Path) -> None:
    for part in corpus.manifest.parts:
        refuse_odd_columns(corpus.data_folder / part.file)
    for found in find_alterations(corpus):
        name = f"document {found.doc_id!r}: " if found.doc_id else ""
        raise InputError(f"{name}{found.what}", where=str(path), hint="Do not use this file.")
    refuse_bad_graph(corpus, path)
    refuse_bad_citations(corpus, path)
    corpus.problems()


def _unpack_file(
    archive: zipfile.ZipFile, path: Path, folder: Path, file: str, digest: str
) -> None:
    if not _NAME.fullmatch(file):  # a name with a folder in it could be written anywhere
        message = f"a file with the name {file!r}"
        raise InputError(message, where=str(path), hint="This is not a frozen corpus.")
    with archive.open(f"data/{file}") as source, (folder / file).open("wb") as target:
        shutil.copyfileobj(source, target, 2**20)
    if sha256_of(folder / file) != digest:
        raise InputError(f"{file} is damaged", where=str(path), hint="Copy the file again.")


def _entry(name: str) -> zipfile.ZipInfo:
    """A time and mode of no matter, so that the same corpus gives the same bytes."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


# ── checks of the documents ───────────────────────────────────────────────────────────────────────

_MAGIC = b"ARROW1"
_KINDS = (pl.String, pl.Int64, pl.Int32, pl.Boolean)  # of columns, and of lists in them
FILLED = (*TEXT_COLUMNS, "citations", "metadata", "digest")
CITED = {name: pl.String() for name in ("normal", "kind", "language", "text", "status")} | {
    "row": pl.Int64(),
    "targets": pl.List(pl.Int64()),
}
# times its size that the texts of a file may have (taste); ours, measured, have less than one
MOST = 4


class Alteration(msgspec.Struct, frozen=True):
    """A document that does not match the values stored beside it; an empty id means the whole
    corpus."""

    doc_id: str
    what: str


def find_alterations(corpus: Corpus) -> Iterator[Alteration]:
    """Find every document whose digest, type or year does not match its content, or whose line for
    quick reading differs; and check the fingerprint of the whole."""
    ids: list[str] = []
    digests: list[str] = []
    lines = corpus.lines
    for part in corpus.manifest.parts:
        frame = read_arrow(corpus.data_folder / part.file)
        if frame.height != part.rows:
            yield Alteration("", f"{part.file} has {frame.height:,} rows, and not {part.rows:,}")
        kept = frame.select("digest", "type", "year").rows()
        for document, (digest, kind, year) in zip(documents_of(frame), kept, strict=True):
            found = digest_of(document)
            if digest != found:
                yield Alteration(document.id, "its content is not what its digest says")
            said = document.metadata.get("type")
            if (kind, year) != (said if isinstance(said, str) else None, year_of(document)):
                yield Alteration(document.id, "its type or year is not what its metadata says")
            if lines is not None and lines.at(len(ids)) != document:
                yield Alteration(document.id, "its copy in documents.jsonl says something else")
            if not document.id.strip() or "\0" in document.id:
                yield Alteration(document.id, "an id is blank, or has a null character")
            ids.append(document.id)
            digests.append(found)
    if len(set(ids)) < len(ids):
        yield Alteration("", "an id appears twice")
    if fingerprint_of(ids, digests) != corpus.fingerprint or len(ids) != len(corpus):
        yield Alteration("", "its content does not have the fingerprint it states")


def refuse_bad_graph(corpus: Corpus, where: Path) -> None:
    """Refuse a citation graph with a neighbour that is not a row of this corpus."""
    for direction in ("cites", "cited_by"):
        try:
            offsets, rows = corpus.graph(direction)
            plain = all(array.ndim == 1 and array.dtype.kind in "iu" for array in (offsets, rows))
            whole = len(offsets) == len(corpus) + 1 and offsets[0] == 0 and offsets[-1] == len(rows)
            inside = bool(np.all(offsets[1:] >= offsets[:-1]))
            inside &= not len(rows) or (rows.min() >= 0 and rows.max() < len(corpus))
        except (OSError, ValueError, TypeError, IndexError) as error:
            raise InputError(f"its graph cannot be read: {error}", where=str(where)) from error
        if not (plain and whole and inside):
            raise InputError("its citation graph does not match this corpus", where=str(where))


def refuse_bad_citations(corpus: Corpus, where: Path) -> None:
    """Refuse citations from or to rows that are not in this corpus."""
    path = corpus.data_folder / "citations.arrow"
    schema = pl.read_ipc_schema(path)
    odd = next((name for name, kind in CITED.items() if schema.get(name) != kind), "")
    if odd:
        message = f"citations.arrow: the column {odd!r} is missing or has the wrong type"
        raise InputError(message, where=str(where))
    kept = read_arrow(path, ["row", "targets"])
    named = pl.concat([kept["row"], kept["targets"].explode().drop_nulls()])
    if named.null_count() or not named.is_between(0, len(corpus) - 1).all():
        raise InputError("its citations do not match this corpus", where=str(where))


# ── Arrow files ───────────────────────────────────────────────────────────────────────────────────


def refuse_swollen(path: Path) -> None:
    """Refuse an Arrow file that would take far more memory than it has bytes: compressed columns,
    columns of a type that needs no bytes, or texts that many rows share. We write none of these."""
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=1) as content:
            packed = any(_is_packed(content, at) for at in _batches(content))
        schema = pl.read_ipc_schema(path)
        odd = [name for name, kind in schema.items() if not _is_plain(kind)]
        swollen = not packed and not odd and _decoded(path, schema) > MOST * path.stat().st_size
    except (OSError, ValueError, struct.error, IndexError, pl.exceptions.PolarsError) as error:
        raise InputError(f"not an Arrow file: {error}", where=str(path)) from error
    if packed or odd or swollen:
        what = "its columns are packed" if packed else "its texts are far longer than the file"
        what = f"the column {odd[0]!r} is of an odd kind" if odd else what
        raise InputError(what, where=str(path), hint="This is not a frozen corpus.")


def _is_plain(kind: pl.DataType) -> bool:
    return (kind.inner if isinstance(kind, pl.List) else kind) in _KINDS


def _decoded(path: Path, schema: Mapping[str, pl.DataType]) -> int:
    """The bytes of all texts in a file. Small files may store the text of many rows once; the rows
    are counted here without being copied."""
    texts = [name for name, kind in schema.items() if kind == pl.String]
    lists = [name for name, kind in schema.items() if kind == pl.List(pl.String)]
    asked = [pl.col(name).str.len_bytes().sum() for name in texts]
    asked += [pl.col(name).explode().str.len_bytes().sum() for name in lists]
    return sum(pl.scan_ipc(path).select(asked).collect().row(0)) if asked else 0


def refuse_odd_columns(path: Path) -> None:
    """Refuse documents whose columns are missing, of another type, or empty where every document
    has a value."""
    schema = pl.read_ipc_schema(path)
    wanted = {name: SCHEMA[name] for name in (*FILLED, "type", "year")}
    wanted |= {name: kind for name, kind in SCHEMA.items() if name in schema}
    wanted |= {name: pl.String() for name in schema if name.startswith("fields.")}
    for name, kind in wanted.items():
        if schema.get(name) != kind:
            raise InputError(
                f"the column {name!r} is missing or has the wrong type", where=str(path)
            )
    missing = [pl.col(name).null_count().alias(name) for name in FILLED]
    missing.append(pl.col("citations").explode(empty_as_null=False).null_count().alias("listed"))
    for name, count in pl.scan_ipc(path).select(missing).collect().row(0, named=True).items():
        if count:
            column = "citations" if name == "listed" else name
            raise InputError(f"the column {column!r} is empty in some rows", where=str(path))


def _batches(content: mmap.mmap) -> Iterator[int]:
    """The offsets of the record batches and dictionaries, from the footer (Arrow's columnar
    format)."""
    if content[:6] != _MAGIC or content[-6:] != _MAGIC:
        raise ValueError("no Arrow file")
    (length,) = struct.unpack_from("<i", content, len(content) - 10)
    footer = content[len(content) - 10 - length : len(content) - 10]
    (root,) = struct.unpack_from("<I", footer, 0)
    for field in (2, 3):  # dictionaries, record batches
        place = _field(footer, root, field)
        if not place:
            continue
        start = place + struct.unpack_from("<I", footer, place)[0]
        (count,) = struct.unpack_from("<I", footer, start)
        for number in range(count):
            yield struct.unpack_from("<q", footer, start + 4 + 24 * number)[0]


def _is_packed(content: mmap.mmap, at: int) -> bool:
    """Whether a record batch names a compression. A dictionary has its batch one level down."""
    mark, length = struct.unpack_from("<Ii", content, at)
    begin = at + (8 if mark == 0xFFFFFFFF else 4)
    message = content[begin : begin + (length if mark == 0xFFFFFFFF else mark)]
    (root,) = struct.unpack_from("<I", message, 0)
    kind, header = _field(message, root, 1), _field(message, root, 2)
    batch = header + struct.unpack_from("<I", message, header)[0]
    if kind and message[kind] == 2:  # a dictionary: its second field is the batch
        inner = _field(message, batch, 1)
        batch = inner + struct.unpack_from("<I", message, inner)[0]
    return _field(message, batch, 3) != 0


def _field(buffer: bytes, table: int, number: int) -> int:
    """The offset of a field of a flatbuffers table; 0 where the table does not have it."""
    (back,) = struct.unpack_from("<i", buffer, table)
    vtable = table - back
    (size,) = struct.unpack_from("<H", buffer, vtable)
    if 4 + 2 * number + 2 > size:
        return 0
    (offset,) = struct.unpack_from("<H", buffer, vtable + 4 + 2 * number)
    return table + offset if offset else 0

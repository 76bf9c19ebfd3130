"""Check a corpus that somebody else made before it is used: the size of its Arrow files, the range
of its citation graph, and the digests of its documents.

A frozen corpus comes from anybody. Its digests are stored beside the documents, so they are
computed again from the documents: a fingerprint says what is in a corpus only if it is.
(`disk.open_path` checks the names in a manifest, whoever wrote it.)
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.corpus.disk import (
    SCHEMA,
    TEXT_COLUMNS,
    Corpus,
    digest_of,
    documents_of,
    fingerprint_of,
    read_arrow,
    year_of,
)

_MAGIC = b"ARROW1"
_KINDS = (pl.String, pl.Int64, pl.Int32, pl.Boolean)  # of columns, and of lists in them
FILLED = (*TEXT_COLUMNS, "citations", "metadata", "digest")
CITED = {name: pl.String() for name in ("normal", "kind", "language", "text", "status")} | {
    "row": pl.Int64(),
    "targets": pl.List(pl.Int64()),
}
MOST = 4  # times its size that the texts of a file may have; ours have less than one


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


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
        yield Alteration("", "an id comes twice")
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
            raise InputError("its graph of citations is not that of this corpus", where=str(where))


def refuse_bad_citations(corpus: Corpus, where: Path) -> None:
    """Refuse citations from or to rows that are not in this corpus."""
    path = corpus.data_folder / "citations.arrow"
    schema = pl.read_ipc_schema(path)
    odd = next((name for name, kind in CITED.items() if schema.get(name) != kind), "")
    if odd:
        message = f"citations.arrow: the column {odd!r} is missing or of another kind"
        raise InputError(message, where=str(where))
    kept = read_arrow(path, ["row", "targets"])
    named = pl.concat([kept["row"], kept["targets"].explode().drop_nulls()])
    if named.null_count() or not named.is_between(0, len(corpus) - 1).all():
        raise InputError("its citations are not those of this corpus", where=str(where))


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
        raise InputError(what, where=str(path), hint="This is no frozen corpus.")


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
            raise InputError(f"the column {name!r} is missing or of another kind", where=str(path))
    missing = [pl.col(name).null_count().alias(name) for name in FILLED]
    missing.append(pl.col("citations").explode(empty_as_null=False).null_count().alias("listed"))
    for name, count in pl.scan_ipc(path).select(missing).collect().row(0, named=True).items():
        if count:
            raise InputError(f"the column {name!r} has nothing in some rows", where=str(path))


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

"""Pack a corpus into one portable file, and open such a file elsewhere.

A ZIP archive with the manifest first and every file's SHA-256 in it. The same corpus always gives
the same bytes. Opening unpacks it once into the workspace and checks every file, every name and
every document (validation.py): the file may come from anybody.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
import polars as pl

from assay.core.errors import InputError
from assay.core.files import os_message, sha256_of, write_atomic
from assay.core.workspace import workspace
from assay.corpus import disk
from assay.corpus.disk import MANIFEST, Corpus, Manifest, open_path, refuse_unsafe, write_ids
from assay.corpus.validation import (
    find_alterations,
    refuse_bad_citations,
    refuse_bad_graph,
    refuse_odd_columns,
    refuse_swollen,
)

SUMS = "SHA256SUMS.json"
_NAME = re.compile(r"\w[\w.-]*")
MAX_ENTRY_BYTES = 64 * 2**20  # of the manifest, and of the sums
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
            _add(archive, MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
            _add(archive, SUMS, msgspec.json.encode(sums, order="deterministic"))
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
            manifest = msgspec.json.decode(manifest_bytes, type=Manifest)
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
    return InputError(what, where=str(path), hint="This is no frozen corpus.")


def _unpack(
    archive: zipfile.ZipFile, path: Path, folder: Path, manifest: Manifest, sums: dict[str, str]
) -> Corpus:
    """Beside the folder first: it is there whole and checked, or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpacking-") as name:
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
        raise InputError(message, where=str(path), hint="This is no frozen corpus.")
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


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(_entry(name), content)

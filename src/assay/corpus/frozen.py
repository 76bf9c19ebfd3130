"""One portable file with a corpus in it, and opening it elsewhere.

A ZIP archive with the manifest first and every file's SHA-256 in it. The same corpus always gives
the same bytes. Opening unpacks it once into the workspace and checks every file.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
import zlib
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import os_message, sha256_of, write_atomic
from assay.core.workspace import workspace
from assay.corpus import positioned
from assay.corpus.disk import MANIFEST, Corpus, Manifest, fingerprint_of, open_path

SUMS = "SHA256SUMS.json"
_NAME = re.compile(r"[\w.-]+")
# what reading a file raises that is no frozen corpus, or not all of one
_NO_ARCHIVE = (zipfile.BadZipFile, KeyError, msgspec.MsgspecError, EOFError, zlib.error)


def freeze(corpus: Corpus, path: Path) -> Path:
    """Write the corpus to `path`, in one step."""
    files = sorted(
        file
        for file in corpus.data_folder.iterdir()
        if file.is_file() and file.name not in positioned.FILES
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
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
            sums = msgspec.json.decode(archive.read(SUMS), type=dict[str, str])
            folder = workspace(home) / "frozen" / manifest.fingerprint.removeprefix("sha256:")[:24]
            if (folder / MANIFEST).exists():
                return open_path(folder)
            return _unpack(archive, path, folder, manifest, sums)
    except _NO_ARCHIVE as error:
        message = f"not a frozen corpus: {error}"
        raise InputError(message, where=str(path), hint="Was it copied completely?") from error
    except OSError as error:
        raise InputError(os_message(error), where=str(path), hint="Check the path.") from error


def _unpack(
    archive: zipfile.ZipFile, path: Path, folder: Path, manifest: Manifest, sums: dict[str, str]
) -> Corpus:
    """Beside the folder first: it is there whole and checked, or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpacking-") as name:
        inside = Path(name) / "corpus"
        (inside / "data").mkdir(parents=True)
        for file, digest in sums.items():
            _unpack_file(archive, path, inside / "data", file, digest)
        shown = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        write_atomic(inside / MANIFEST, shown)
        corpus = open_path(inside)
        columns = corpus.frame.select("id", "digest").collect()
        if fingerprint_of(list(columns["id"]), list(columns["digest"])) != manifest.fingerprint:
            raise InputError("its content does not have the fingerprint it states", where=str(path))
        corpus.complete()
        if not folder.exists():
            inside.rename(folder)
    return open_path(folder)


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

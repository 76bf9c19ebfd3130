"""An index on disk: plain arrays, memory-mapped, versioned and checksummed.

    <home>/indexes/<name>/          (of a frozen corpus: by what is in it)
      index.json      format, corpus fingerprint, profile, and size and checksum of every file
      data-<id>/      NAME.npy arrays and NAME.txt word lists; no pickle anywhere

A new index is written into a folder of its own, and then `index.json` is replaced in one step: a
reader has the old index or the new one, and one that has the old open keeps it. Whoever opens an
index reads every file once for its checksum, so that a damaged one is built again and not searched.
"""

from __future__ import annotations

import os
import shutil
import time
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import msgspec
import numpy as np

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, InputError
from assay.core.files import os_message, read_json, write_atomic
from assay.language.analysis import analyzer
from assay.search import document_questions
from assay.search.arrays import Array, Floats
from assay.search.dense import PassageVectors
from assay.search.document_questions import WrittenQuestions
from assay.search.fuzzy_bm25 import Lookalikes, SoftView, unseen
from assay.search.index import GRAM_K1, Index, Windows, all_vectors, with_vectors
from assay.search.lexical import Bm25, TermCounts
from assay.search.profile import Profile, with_encoder
from assay.search.sentence_index import Passages

# Grows with what an index holds, with how texts are read into it and with the profile that is kept
# in it: tests/search/test_same_bytes.py tells when. One of an older format opens, and whoever
# searches it is told to build it again.
FORMAT = 20  # the twentieth; raised by one with each change
# 6 has no passages: the sentence to show is then found by reading; 7 has no written questions
READABLE = (*range(6, 20), FORMAT)
MANIFEST = "index.json"
VECTORS = "vectors"
QUESTIONS_PREFIX = "asked"
WINDOW = "window"
LEARNED = "learned"  # the encoder of an index up to format 15: vectors of the collection itself
WRITTEN = "document_questions.txt"  # the end mark of a data folder
STALE = 3_600.0  # taste: seconds after which a folder without the end mark is given up

Arrays = dict[str, Array]
Lists = dict[str, list[str]]


class IndexProblem(AssayError):
    """The index on disk is missing, outdated or damaged; the message says which. Build it again."""

    exit_code = 2


class FileMark(msgspec.Struct, frozen=True):
    """What a file must be to be the one that was written."""

    bytes: int
    crc32: int


class IndexManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What `index.json` holds."""

    format: int
    corpus: str
    profile: Profile
    documents: int
    data: str
    files: dict[str, FileMark]

    @property
    def is_older(self) -> bool:
        return self.format < FORMAT

    @property
    def has_vectors(self) -> bool:
        """Or needs none."""
        return not self.profile.encoder or f"{VECTORS}.npy" in self.files


# ── writing ───────────────────────────────────────────────────────────────────────────────────────


def save(index: Index, folder: Path, corpus_fingerprint: str) -> str:
    """Write beside, flush, then switch; the name of the data folder. An index whose profile has an
    encoder and that has no vectors yet is searched by words until `add_vectors`."""
    name = f"data-{uuid4().hex[:12]}"
    try:
        files = _write_files(index, folder / name)
        manifest = IndexManifest(
            format=FORMAT,
            corpus=corpus_fingerprint,
            profile=index.profile,
            documents=len(index),
            data=name,
            files=files,
        )
        _write_manifest(folder, manifest)
    except BaseException as error:
        shutil.rmtree(folder / name, ignore_errors=True)
        if not isinstance(error, OSError):
            raise
        message = f"cannot write the index: {os_message(error)}"
        raise InputError(message, where=str(folder), hint="Is the disk full?") from error
    for old in (*folder.glob("data-*"), *folder.glob("building-*")):
        if old.name != name and _is_done_with(old):
            shutil.rmtree(old, ignore_errors=True)
    return name


def add_vectors(folder: Path, data: str, vectors: Floats) -> None:
    """To an index that was saved without. Another one may have been written meanwhile: it stays."""
    manifest = read_manifest(folder)
    if manifest.data != data:
        return
    path = folder / data / f"{VECTORS}.npy"
    try:
        np.save(path, vectors, allow_pickle=False)
        mark = _mark(path)
    except OSError as error:
        message = f"cannot write the vectors: {os_message(error)}"
        raise InputError(message, where=str(folder), hint="Is the disk full?") from error
    files = manifest.files | {path.name: mark}
    _write_manifest(folder, msgspec.structs.replace(manifest, files=files))


def _write_manifest(folder: Path, manifest: IndexManifest) -> None:
    shown = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    write_atomic(folder / MANIFEST, shown)


def _mark(path: Path) -> FileMark:
    """Of a file that is on the disk from now on."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())
    return FileMark(path.stat().st_size, _checksum(path))


def _is_done_with(folder: Path) -> bool:
    """What another process writes now is left alone: it has no end mark yet and is young."""
    try:
        return (folder / WRITTEN).exists() or time.time() - folder.stat().st_mtime > STALE
    except OSError:
        return False


def _write_files(index: Index, folder: Path) -> dict[str, FileMark]:
    folder.mkdir(parents=True)
    for name, array in _arrays_of(index).items():
        _write_array(folder / f"{name}.npy", array)
    for name, lines in _lists_of(index).items():
        (folder / f"{name}.txt").write_bytes(msgspec.json.encode(lines))
    files = {path.name: _mark(path) for path in sorted(folder.iterdir())}
    (folder / WRITTEN).touch()
    return files


def _write_array(path: Path, array: Array) -> None:
    """One that was made in a file is that file."""
    if isinstance(array, np.memmap) and array.filename is not None:
        with suppress(OSError):  # another file system, or one without links
            os.link(array.filename, path)
            return
    np.save(path, array, allow_pickle=False)


def _arrays_of(index: Index) -> Arrays:
    arrays: Arrays = {"act_of": index.act_of}
    for name, field in index.fields.items():
        arrays |= _postings(name, field)
    for name, counted in index.counts.items():
        arrays |= _count_arrays(name, counted)
    if index.words is not None:
        arrays["gram.starts"] = index.words.starts
        arrays["gram.holders"] = index.words.holders
    vectors = all_vectors(index)
    if vectors is not None:
        arrays[VECTORS] = vectors
    if index.windows is not None:
        arrays |= _postings(WINDOW, index.windows.postings)
        arrays[f"{WINDOW}.documents"] = index.windows.offsets
        if index.windows.counts is not None:
            arrays |= _count_arrays(WINDOW, index.windows.counts)
    if index.works:
        arrays["work_of"] = index.work_of
    if len(index.transitional):
        arrays["transitional"] = index.transitional
    if index.written is not None:
        arrays |= _postings(QUESTIONS_PREFIX, index.written.postings)
        arrays[f"{QUESTIONS_PREFIX}.documents"] = index.written.documents
        if index.written.vectors is not None:
            arrays[f"{QUESTIONS_PREFIX}.vectors"] = index.written.vectors
    if index.prose is not None:
        arrays |= {"said": index.prose.vectors, "said.documents": index.prose.documents}
    if index.passages is not None:
        arrays |= {
            "passage.documents": index.passages.offsets,
            "passage.starts": index.passages.starts,
            "passage.words": index.passages.words,
            "passage.spans": index.passages.spans,
        }
    return arrays


def _count_arrays(name: str, counts: TermCounts) -> Arrays:
    return {
        f"{name}.offsets": counts.offsets,
        f"{name}.counted": counts.terms,
        f"{name}.frequencies": counts.frequencies,
    }


def _postings(name: str, field: Bm25) -> Arrays:
    return {
        f"{name}.starts": field.starts,
        f"{name}.rows": field.rows,
        f"{name}.impacts": field.impacts,
        f"{name}.idf": field.idf,
    }


def _lists_of(index: Index) -> Lists:
    lists: Lists = {
        "ids": index.ids,
        "digests": index.digests,
        "acts": index.acts,
        "sections": index.sections,
    }
    if index.marks:
        lists["marks"] = index.marks
    if index.works:
        lists["works"] = index.works
    if index.windows is not None:
        lists[f"{WINDOW}.terms"] = list(index.windows.postings.numbers)
    for name, field in index.fields.items():
        lists[f"{name}.terms"] = list(field.numbers)
    if index.words is not None:
        lists["words"] = index.words.words
        lists["lemmas"] = index.words.lemmas
        lists["grams"] = index.words.grams
        if index.words.forms:
            lists["forms"] = [f"{form} {lemma}" for form, lemma in index.words.forms.items()]
    if index.written is not None:
        lists[f"{QUESTIONS_PREFIX}.terms"] = list(index.written.postings.numbers)
        lists[f"{QUESTIONS_PREFIX}.texts"] = list(index.written.texts)
    if index.passages is not None:
        lists["passage.lemmas"] = index.passages.lemmas
    return lists


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def load(folder: Path, corpus_fingerprint: str | None = None) -> Index:
    """Open an index. Raises IndexProblem when it is missing, of another version, for another
    corpus, or damaged."""
    manifest = read_manifest(folder)
    if corpus_fingerprint is not None and manifest.corpus != corpus_fingerprint:
        raise IndexProblem("the corpus has changed since the index was built")
    data_folder = folder / manifest.data
    for name, expected in manifest.files.items():
        if not _is_as_written(data_folder / name, expected):
            raise IndexProblem(f"the index is damaged: {name} is not what was written")
    try:
        return _opened(data_folder, manifest)
    except (OSError, ValueError, KeyError, msgspec.MsgspecError) as error:
        raise IndexProblem(f"the index is damaged: {error}") from error


def read_manifest(folder: Path) -> IndexManifest:
    path = folder / MANIFEST
    if not path.exists():
        raise IndexProblem("there is no index yet")
    try:
        manifest = read_json(path)
        if not isinstance(manifest, dict) or manifest.get("format") not in READABLE:
            raise IndexProblem("the index was built by another version")
        return msgspec.convert(manifest, thread_safe(IndexManifest))
    except (InputError, msgspec.ValidationError) as error:
        raise IndexProblem(f"the index is damaged: {MANIFEST} cannot be read ({error})") from error


def _opened(data_folder: Path, manifest: IndexManifest) -> Index:
    arrays: Arrays = {
        # a plain array over the mapped file: numpy's own class for it is slow to slice
        name.removesuffix(".npy"): np.asarray(
            np.load(data_folder / name, mmap_mode="r", allow_pickle=False)
        )
        for name in manifest.files
        if name.endswith(".npy")
    }
    lists: Lists = {
        name.removesuffix(".txt"): msgspec.json.decode(
            (data_folder / name).read_bytes(), type=list[str]
        )
        for name in manifest.files
        if name.endswith(".txt")
    }
    return replace(_assembled(manifest.profile, arrays, lists), is_older=manifest.is_older)


def _assembled(profile: Profile, arrays: Arrays, lists: Lists) -> Index:
    fields = {
        key.removesuffix(".terms"): _field(key.removesuffix(".terms"), profile, arrays, lists)
        for key in lists
        if key.endswith(".terms") and key not in (f"{QUESTIONS_PREFIX}.terms", f"{WINDOW}.terms")
    }
    is_soft = profile.kind != "stems"
    if profile.encoder == LEARNED:
        profile = with_encoder(profile, "")
        arrays.pop(VECTORS, None)
    awaited = "" if VECTORS in arrays else profile.encoder
    counts = {
        name: TermCounts(
            lists["words"] if is_soft else list(fields[name].numbers),
            arrays[f"{name}.offsets"],
            arrays[f"{name}.counted"],
            arrays[f"{name}.frequencies"],
        )
        for name in (key.removesuffix(".offsets") for key in arrays if key.endswith(".offsets"))
        if name != WINDOW
    }
    index = Index(
        profile=with_encoder(profile, "") if awaited else profile,
        awaited=awaited,
        ids=lists["ids"],
        digests=lists["digests"],
        fields=fields,
        counts=counts,
        soft={name: SoftView(counted) for name, counted in counts.items()} if is_soft else {},
        words=_lookalikes(profile, arrays, lists) if is_soft else None,
        windows=_windows(profile, arrays, lists) if f"{WINDOW}.documents" in arrays else None,
        works=lists.get("works", []),
        work_of=arrays.get("work_of", np.empty(0, np.int32)),
        acts=lists["acts"],
        act_of=arrays["act_of"],
        sections=lists["sections"],
        marks=lists.get("marks", []),
        transitional=arrays.get("transitional", np.empty(0, np.bool_)),
        passages=_passages(arrays, lists) if "passage.words" in arrays else None,
        prose=PassageVectors(arrays["said"], arrays["said.documents"])
        if "said" in arrays
        else None,
        written=_written_questions(profile, arrays, lists)
        if f"{QUESTIONS_PREFIX}.documents" in arrays
        else None,
    )
    return with_vectors(index, arrays.get(VECTORS))


def _windows(profile: Profile, arrays: Arrays, lists: Lists) -> Windows:
    offsets = arrays[f"{WINDOW}.documents"]
    k1 = profile.k1 if profile.kind == "stems" else GRAM_K1
    postings = replace(_field(WINDOW, profile, arrays, lists), documents=int(offsets[-1]), k1=k1)
    counts = None
    if f"{WINDOW}.offsets" in arrays:
        counts = TermCounts(
            lists["words"],
            arrays[f"{WINDOW}.offsets"],
            arrays[f"{WINDOW}.counted"],
            arrays[f"{WINDOW}.frequencies"],
        )
    return Windows(offsets=offsets, postings=postings, counts=counts)


def _field(name: str, profile: Profile, arrays: Arrays, lists: Lists) -> Bm25:
    return Bm25(
        numbers={term: number for number, term in enumerate(lists[f"{name}.terms"])},
        starts=arrays[f"{name}.starts"],
        rows=arrays[f"{name}.rows"],
        impacts=arrays[f"{name}.impacts"],
        idf=arrays[f"{name}.idf"],
        documents=len(lists["ids"]),
        k1=profile.k1,
    )


def _written_questions(profile: Profile, arrays: Arrays, lists: Lists) -> WrittenQuestions:
    documents = arrays[f"{QUESTIONS_PREFIX}.documents"]
    postings = replace(
        _field(QUESTIONS_PREFIX, profile, arrays, lists),
        documents=len(documents),
        k1=document_questions.K1,
    )
    return WrittenQuestions(
        postings=postings,
        documents=documents,
        texts=lists.get(f"{QUESTIONS_PREFIX}.texts", []),
        vectors=arrays.get(f"{QUESTIONS_PREFIX}.vectors"),
    )


def _passages(arrays: Arrays, lists: Lists) -> Passages:
    return Passages(
        lemmas=lists["passage.lemmas"],
        offsets=arrays["passage.documents"],
        starts=arrays["passage.starts"],
        words=arrays["passage.words"],
        spans=arrays["passage.spans"],
    )


def _lookalikes(profile: Profile, arrays: Arrays, lists: Lists) -> Lookalikes:
    return Lookalikes(
        lists["words"],
        lists["lemmas"],
        lists["grams"],
        arrays["gram.starts"],
        arrays["gram.holders"],
        unseen(analyzer(profile.language)),
        dict(line.split(" ", 1) for line in lists.get("forms", [])),
    )


def _is_as_written(path: Path, expected: FileMark) -> bool:
    try:
        return path.stat().st_size == expected.bytes and _checksum(path) == expected.crc32
    except OSError:
        return False


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            checksum = zlib.crc32(block, checksum)
    return checksum

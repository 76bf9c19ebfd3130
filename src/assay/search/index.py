"""The index: built from documents, kept on disk as plain arrays, memory-mapped, versioned and
checksummed.

    <home>/indexes/<name>/
      index.json      format, corpus fingerprint, profile, and size and checksum of every file; replaced in one step
      data-<id>/      NAME.npy arrays and NAME.txt word lists; no pickle anywhere

Counts and vectors of unchanged documents are taken over from the index before, so that a small
change costs little."""

from __future__ import annotations

import os
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import numpy as np

from assay.core.errors import AssayError, EngineError, InputError
from assay.core.files import read_json, write_atomic
from assay.core.types import Document
from assay.language.analysis import (
    Analyzer,
    English,
    analyzer,
    grams,
)
from assay.language.detect import detect, is_foreign, language_code
from assay.search.dense import encoder as named_encoder
from assay.search.learned import LEARNED, document_vectors, word_vectors
from assay.search.lexical import Array, Bm25, Counts, Floats, bm25, count_terms
from assay.search.profile import Profile, choose, with_encoder
from assay.search.soft import Lookalikes, SoftView, lookalikes, unseen
from assay.search.views import View, section_texts, view_of

FORMAT = 5
MANIFEST = "index.json"
WRITTEN, STALE = (
    "written.txt",
    3_600.0,
)  # the end mark of a data folder; seconds after which one without it is given up
VIEWS = {"main": 1.0, "title": 0.3, "tags": 0.5, "section": 0.3}  # soft views and what each counts
Tick = Callable[[str, int, int], None]  # (what, done, of)


class IndexProblem(AssayError):
    """The index on disk is missing, outdated or damaged; the message says which. Build it again."""

    exit_code = 2


@dataclass(frozen=True, kw_only=True)
class Index:
    profile: Profile
    ids: list[str]
    digests: list[str]
    fields: dict[str, Bm25] = field(
        default_factory=dict
    )  # full, short, characters; or NAME.grams of a soft view
    counts: dict[str, Counts] = field(default_factory=dict)
    soft: dict[str, SoftView] = field(default_factory=dict)
    words: Lookalikes | None = None
    vectors: Floats | None = None
    acts: list[str] = field(default_factory=list)
    act_of: Array = field(default_factory=lambda: np.empty(0, np.int32))
    sections: list[str] = field(default_factory=list)  # "110a:3" of each document of an act
    transitional: Array = field(default_factory=lambda: np.empty(0, np.bool_))
    word_vectors: Floats | None = (
        None  # of each index word, where the vectors were learned from the corpus
    )

    @property
    def analyzer(self) -> Analyzer:
        return analyzer(self.profile.language)

    def __len__(self) -> int:
        return len(self.ids)


# ── build ─────────────────────────────────────────────────────────────────────────────────────────


def build(
    documents: Iterable[tuple[Document, str]],
    *,
    dense: bool = True,
    encoder: str = "",
    previous: Index | None = None,
    tick: Tick = lambda what, done, of: None,
) -> Index:
    """An index of (document, digest) pairs, with the encoder that suits it or another one. Raises
    InputError on an empty corpus."""
    views: list[View] = []
    digests: list[str] = []
    languages: list[str] = []
    asked = 0
    for document, digest in documents:
        views.append(view_of(document))
        digests.append(digest)
        languages.append(document.language)
        asked += any(document.fields.get(name) for name in ("question", "question_synthetic"))
    if not views:
        raise InputError("the corpus has no documents", hint="Import documents first.")
    language = _language(languages, views)
    chosen = choose(language, [len(view.body) for view in views], opinions=asked > len(views) / 2)
    chosen = with_encoder(chosen, encoder if dense else "") if encoder or not dense else chosen
    usable = previous if previous is not None and previous.profile == chosen else None
    if chosen.kind == "soft":
        return _build_soft(chosen, views, digests, usable, tick)
    return _build_stems(chosen, views, digests, usable, tick)


def _language(stated: Sequence[str], views: Sequence[View]) -> str:
    known = Counter(language_code(language) for language in stated if language.strip())
    sample = [f"{view.title} {view.body}"[:2_000] for view in views[:200]]
    if known:
        most = min(known, key=lambda code: (-known[code], code))
        return detect(sample) if is_foreign(" ".join(sample), most) else most
    return detect(sample)


def _build_stems(
    profile: Profile, views: list[View], digests: list[str], previous: Index | None, tick: Tick
) -> Index:
    language = analyzer(profile.language)
    reuse = _reuse(digests, previous)
    counts: dict[str, Counts] = {}
    sources = {
        "full": [f"{view.title} {view.body}" for view in views],
        "short": [view.short for view in views],
    }
    for name, texts in sources.items():
        if name == "full" or (profile.short and any(texts)):
            before = previous.counts.get(name) if previous else None
            told = _telling(texts, f"reading {name}", tick)
            counts[name] = count_terms(told, language.terms, before, reuse if before else None)
    fields = {name: bm25(counted, k1=profile.k1, b=profile.b) for name, counted in counts.items()}
    if profile.characters:
        plain = _telling(sources["full"], "reading characters", tick)
        counted = count_terms(plain, lambda text: grams(_letters(text), language.gram))
        fields["characters"] = bm25(counted, k1=profile.k1, b=profile.b)
    vectors = _vectors(profile, views, reuse, previous, tick) if profile.encoder else None
    return Index(
        profile=profile,
        ids=[view.id for view in views],
        digests=digests,
        fields=fields,
        counts=counts,
        vectors=vectors,
    )


def _reuse(digests: Sequence[str], previous: Index | None) -> list[int]:
    """For each document its row in the index before, or -1."""
    rows = {digest: row for row, digest in enumerate(previous.digests)} if previous else {}
    return [rows.get(digest, -1) for digest in digests]


def _letters(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text.lower()).split()


def _telling(texts: Sequence[str], what: str, tick: Tick) -> Iterable[str]:
    for done, text in enumerate(texts, start=1):
        yield text
        if done % 200 == 0 or done == len(texts):
            tick(what, done, len(texts))


def _vectors(
    profile: Profile,
    views: Sequence[View],
    reuse: Sequence[int],
    previous: Index | None,
    tick: Tick,
) -> Floats:
    kept = previous.vectors if previous is not None else None
    fresh = [row for row, old in enumerate(reuse) if kept is None or old < 0]
    done = 0

    def tock(number: int) -> None:
        nonlocal done
        done += number
        tick("encoding", done, len(fresh))

    if not fresh and kept is not None:
        return np.asarray(kept[np.array(reuse, np.int64)])
    encoded = named_encoder(profile.encoder).documents([views[row].dense for row in fresh], tock)
    if kept is None:
        return encoded
    if encoded.shape[1] != kept.shape[1]:
        raise EngineError(
            f"{profile.encoder} gives {encoded.shape[1]} numbers a text, before {kept.shape[1]}: another model; "
            "`assay index NAME --fresh` encodes everything again"
        )
    vectors = np.zeros((len(views), kept.shape[1]), np.float32)
    old = np.array([row for row in range(len(views)) if reuse[row] >= 0], np.int64)
    vectors[old] = kept[np.array([reuse[row] for row in old], np.int64)]
    vectors[fresh] = encoded
    return vectors


def _build_soft(
    profile: Profile, views: list[View], digests: list[str], previous: Index | None, tick: Tick
) -> Index:
    language = analyzer(profile.language)
    reuse = _reuse(digests, previous)
    texts = {
        "main": [f"{view.title} {view.title} {view.body}" for view in views],
        "title": [view.title for view in views],
        "tags": [view.tags for view in views],
        "section": section_texts(views),
    }
    vocabulary: dict[str, int] = {}
    counts: dict[str, Counts] = {}
    fields: dict[str, Bm25] = {}
    for name, view_texts in texts.items():
        if name != "main" and not any(text.strip() for text in view_texts):
            continue
        shared = Counts(
            list(vocabulary), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint16)
        )
        counts[name] = count_terms(view_texts, language.words, shared)
        vocabulary = {word: number for number, word in enumerate(counts[name].vocabulary)}
        fields[f"{name}.grams"] = bm25(count_terms(view_texts, language.terms), k1=1.2, b=0.6)
    words = list(vocabulary)
    counts = {name: Counts(words, c.offsets, c.terms, c.frequencies) for name, c in counts.items()}
    lookalike = lookalikes(words, language)
    learned = word_vectors(counts["main"], lookalike) if profile.encoder == LEARNED else None
    acts = sorted({view.act for view in views})
    place = {act: number for number, act in enumerate(acts)}
    return Index(
        profile=profile,
        ids=[view.id for view in views],
        digests=digests,
        fields=fields,
        counts=counts,
        soft={name: SoftView(counted) for name, counted in counts.items()},
        words=lookalike,
        word_vectors=learned,
        transitional=np.array([view.transitional for view in views]),
        acts=acts,
        act_of=np.array([place[view.act] for view in views], np.int32),
        sections=[view.section for view in views],
        vectors=document_vectors(counts["main"], learned)
        if learned is not None
        else _vectors(profile, views, reuse, previous, tick)
        if profile.encoder
        else None,
    )


def is_citation(term: str) -> bool:
    return English.is_citation(term)


# ── disk ──────────────────────────────────────────────────────────────────────────────────────────


class _File(msgspec.Struct, frozen=True):
    bytes: int
    crc32: int


class _Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    corpus: str
    profile: Profile
    documents: int
    data: str
    files: dict[str, _File]


def save(index: Index, folder: Path, corpus_fingerprint: str) -> None:
    """Write beside, flush, then switch: a reader has the old index or the new one."""
    data = f"data-{uuid4().hex[:12]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / data).mkdir()
        try:
            files = _write_files(index, folder / data)
        except BaseException:
            shutil.rmtree(folder / data, ignore_errors=True)
            raise
    except OSError as error:
        message = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot write the index: {message}", where=str(folder), hint="Is the disk full?"
        ) from error
    manifest = _Manifest(
        format=FORMAT,
        corpus=corpus_fingerprint,
        profile=index.profile,
        documents=len(index),
        data=data,
        files=files,
    )
    try:
        write_atomic(
            folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        )
    except BaseException:
        shutil.rmtree(folder / data, ignore_errors=True)
        raise
    for old in folder.glob("data-*"):
        if old.name != data and _is_done_with(old):
            shutil.rmtree(old, ignore_errors=True)


def _is_done_with(folder: Path) -> bool:
    """What another process writes now is left alone: it has no end mark yet and is young."""
    try:
        return (folder / WRITTEN).exists() or time.time() - folder.stat().st_mtime > STALE
    except OSError:
        return False


def _write_files(index: Index, folder: Path) -> dict[str, _File]:
    arrays, lists = _parts(index)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    for name, lines in lists.items():
        (folder / f"{name}.txt").write_bytes(msgspec.json.encode(lines))
    files = {}
    for path in sorted(folder.iterdir()):
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        files[path.name] = _File(path.stat().st_size, _checksum(path))
    (folder / WRITTEN).touch()
    return files


def _parts(index: Index) -> tuple[dict[str, Array], dict[str, list[str]]]:
    arrays: dict[str, Array] = {"act_of": index.act_of}
    lists: dict[str, list[str]] = {
        "ids": index.ids,
        "digests": index.digests,
        "acts": index.acts,
        "sections": index.sections,
    }
    for name, found in index.fields.items():
        arrays |= {
            f"{name}.starts": found.starts,
            f"{name}.rows": found.rows,
            f"{name}.impacts": found.impacts,
            f"{name}.idf": found.idf,
        }
        lists[f"{name}.terms"] = list(found.numbers)
    for name, counted in index.counts.items():
        arrays |= {
            f"{name}.offsets": counted.offsets,
            f"{name}.counted": counted.terms,
            f"{name}.frequencies": counted.frequencies,
        }
    if index.words is not None:
        arrays |= {"gram.starts": index.words.starts, "gram.holders": index.words.holders}
        lists |= {
            "words": index.words.words,
            "lemmas": index.words.lemmas,
            "grams": index.words.grams,
        }
    if index.vectors is not None:
        arrays["vectors"] = index.vectors
    if index.word_vectors is not None:
        arrays["word_vectors"] = index.word_vectors
    if len(index.transitional):
        arrays["transitional"] = index.transitional
    return arrays, lists


def load(folder: Path, corpus_fingerprint: str | None = None) -> Index:
    """Open an index. Raises IndexProblem when it is missing, of another version, for another
    corpus, or damaged."""
    manifest = read_manifest(folder)
    if corpus_fingerprint is not None and manifest.corpus != corpus_fingerprint:
        raise IndexProblem("the corpus has changed since the index was built")
    data = folder / manifest.data
    for name, expected in manifest.files.items():
        path = data / name
        if not _is_as_written(path, expected):
            raise IndexProblem(f"the index is damaged: {name} is not what was written")
    try:
        return _opened(data, manifest)
    except (OSError, ValueError, KeyError, msgspec.MsgspecError) as error:
        raise IndexProblem(f"the index is damaged: {error}") from error


def _opened(data: Path, manifest: _Manifest) -> Index:
    arrays = {
        name.removesuffix(".npy"): np.load(data / name, mmap_mode="r", allow_pickle=False)
        for name in manifest.files
        if name.endswith(".npy")
    }
    lists: dict[str, list[str]] = {
        name.removesuffix(".txt"): msgspec.json.decode((data / name).read_bytes(), type=list[str])
        for name in manifest.files
        if name.endswith(".txt")
    }
    return _assemble(manifest.profile, arrays, lists)


def read_manifest(folder: Path) -> _Manifest:
    path = folder / MANIFEST
    if not path.exists():
        raise IndexProblem("there is no index yet")
    try:
        data = read_json(path)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise IndexProblem("the index was built by another version")
        return msgspec.convert(data, _Manifest)
    except (InputError, msgspec.ValidationError) as error:
        raise IndexProblem(f"the index is damaged: {MANIFEST} cannot be read ({error})") from error


def _assemble(profile: Profile, arrays: dict[str, Any], lists: dict[str, list[str]]) -> Index:
    documents = len(lists["ids"])
    fields = {
        name: Bm25(
            numbers={term: number for number, term in enumerate(lists[f"{name}.terms"])},
            starts=arrays[f"{name}.starts"],
            rows=arrays[f"{name}.rows"],
            impacts=arrays[f"{name}.impacts"],
            idf=arrays[f"{name}.idf"],
            documents=documents,
            k1=profile.k1,
        )
        for name in (key.removesuffix(".terms") for key in lists if key.endswith(".terms"))
    }
    soft = profile.kind == "soft"
    counts = {
        name: Counts(
            lists["words"] if soft else list(fields[name].numbers),
            arrays[f"{name}.offsets"],
            arrays[f"{name}.counted"],
            arrays[f"{name}.frequencies"],
        )
        for name in (key.removesuffix(".offsets") for key in arrays if key.endswith(".offsets"))
    }
    return Index(
        profile=profile,
        ids=lists["ids"],
        digests=lists["digests"],
        fields=fields,
        counts=counts,
        soft={name: SoftView(counted) for name, counted in counts.items()} if soft else {},
        words=Lookalikes(
            lists["words"],
            lists["lemmas"],
            lists["grams"],
            arrays["gram.starts"],
            arrays["gram.holders"],
            unseen(analyzer(profile.language)),
        )
        if soft
        else None,
        vectors=arrays.get("vectors"),
        acts=lists["acts"],
        act_of=arrays["act_of"],
        sections=lists["sections"],
        transitional=arrays.get("transitional", np.empty(0, np.bool_)),
        word_vectors=arrays.get("word_vectors"),
    )


def _is_as_written(path: Path, expected: _File) -> bool:
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

"""Assay's own engine on a corpus of the workspace: its index, and how the index is kept up to
date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.extras import require_extra
from assay.core.files import os_message, write_atomic
from assay.core.types import Document
from assay.core.workspace import workspace
from assay.corpus.citations import OLDER, imported_by_older
from assay.corpus.disk import Corpus
from assay.corpus.in_force import statuses_of_open_corpus
from assay.corpus.lookup import corpus_named
from assay.search import encoding, index, index_files
from assay.search.confidence import Calibration, models_of
from assay.search.dense import SHIPPED, named_encoder
from assay.search.document_questions import DocumentQuestions, read_written, shipped
from assay.search.engine import Engine
from assay.search.index import Index, Tick
from assay.search.index_files import IndexProblem
from assay.search.profile import ROWS, read_alike

CALIBRATION = "calibration.json"  # beside the index: what was fitted to the corpus
QUESTIONS = "questions.jsonl"  # beside the index: the questions of a file
SHIPS = "shipped"
NO_ENCODER = "none"
# from this number of texts to encode, the index can first be searched by words (taste)
AWAITED = 200
Say = Callable[[str], None]


def silent(what: str, done: int, of: int) -> None:
    """Ignore progress."""


class Questions(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the questions that were written for documents of the index: shipped with the
    package, given in a file, documents that have any, and ids of the file that are unknown."""

    shipped: int
    given: int
    documents: int
    unknown_ids: int


class Indexed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of indexing: the documents, and how many were reused from the previous index."""

    corpus: str
    documents: int
    reused: int
    profile: str
    language: str
    encoder: str
    folder: str
    questions: Questions | None = None


class IndexRecipe(msgspec.Struct, frozen=True, kw_only=True):
    """How to build an index: with or without vectors, by which encoder, whether from scratch."""

    dense: bool = True
    encoder: str = ""
    fresh: bool = False


def index_folder(corpus: Corpus, home: Path | None = None) -> Path:
    """The folder of the corpus's index, by the corpus's folder in the workspace: the name that a
    frozen corpus states may be that of another."""
    return workspace(home) / "indexes" / corpus.path.name


def is_indexed(corpus: Corpus, home: Path | None = None) -> bool:
    return (index_folder(corpus, home) / index_files.MANIFEST).exists()


def is_current(corpus: Corpus, home: Path | None = None) -> bool:
    """Whether the corpus has an index, made of what it has now."""
    try:
        manifest = index_files.read_manifest(index_folder(corpus, home))
    except IndexProblem:
        return False
    return manifest.corpus == corpus.fingerprint


def index_corpus(
    name: str,
    *,
    home: Path | None = None,
    dense: bool = True,
    encoder: str = "",
    fresh: bool = False,
    questions: str = "",
    tick: Tick = silent,
) -> Indexed:
    """Build the index of a corpus, or bring it up to date. `questions` is a file of questions that
    were written for documents, SHIPS for those of the package alone, NO_ENCODER for none, or empty
    for the last choice."""
    require_extra("search", "the search engine")
    corpus = corpus_named(name, home)
    corpus.complete()
    if encoder:
        named_encoder(encoder)  # an unknown name is refused before the work begins
    if questions:
        _choose_questions(index_folder(corpus, home), questions)
    recipe = IndexRecipe(dense=dense, encoder=encoder, fresh=fresh)
    built, reused = _build(corpus, home, recipe, tick)
    return Indexed(
        corpus=corpus.name,
        documents=len(built),
        reused=reused,
        profile=built.profile.name,
        language=built.profile.language,
        encoder=built.profile.encoder,
        questions=_questions_of(built, index_folder(corpus, home)),
        folder=str(index_folder(corpus, home)),
    )


def open_indexed(
    name: str,
    *,
    home: Path | None = None,
    tick: Tick = silent,
    say: Say = lambda text: None,
    weights: Mapping[str, object] = {},
) -> Engine:
    """The engine on a corpus. An index that is missing, outdated or damaged is built again, and
    `say` tells why. `weights` replace those of its profile that are meant to be chosen."""
    require_extra("search", "the search engine")
    corpus = corpus_named(name, home)
    folder = index_folder(corpus, home)
    if not corpus.is_complete:
        say(f"{corpus.name}: imported by an earlier version; preparing its documents, once")
        corpus.complete()
    try:
        opened = index_files.load(folder, corpus.fingerprint)
    except IndexProblem as problem:
        say(f"{corpus.name}: {problem}; building the index")
        opened, _ = _build(corpus, home, _as_before(folder, name), tick)
    if opened.awaited:
        say(f"{corpus.name}: {_awaiting(folder, len(opened))}")
    if opened.is_older:
        say(f"{corpus.name}: {_older(name)}")
    if imported_by_older(corpus.manifest):
        say(f"{corpus.name}: {OLDER}")
    engine = Engine(
        opened,
        name=corpus.name,
        lookup=lru_cache(maxsize=4096)(corpus.get),
        standings=partial(statuses_of_open_corpus, str(corpus.data_folder)),
        calibration=_calibration(opened, folder, say),
    )
    return engine.with_weights(weights) if weights else engine


def keep_calibration(name: str, calibration: Calibration, home: Path | None = None) -> Path:
    """Store a calibration beside the index of a corpus, for every search from now on."""
    path = index_folder(corpus_named(name, home), home) / CALIBRATION
    write_atomic(path, msgspec.json.format(msgspec.json.encode(calibration), indent=1) + b"\n")
    return path


def _calibration(opened: Index, folder: Path, say: Say) -> Calibration | None:
    """What `assay calibrate` stored, unless it was fitted to another encoder or version."""
    path = folder / CALIBRATION
    if not path.exists():
        return None
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=thread_safe(Calibration))
    except (OSError, msgspec.MsgspecError) as error:
        say(f"{path} cannot be read ({error}); scores are not calibrated")
        return None
    if kept.fitted_to != models_of(opened):
        say(
            "scores were calibrated for another encoder or version and count as not calibrated; "
            "run assay calibrate again"
        )
        return None
    return kept


def _build(corpus: Corpus, home: Path | None, recipe: IndexRecipe, tick: Tick) -> tuple[Index, int]:
    """The index, saved, and how many documents it reused from the previous one. It can be searched
    by words while its vectors are made."""
    folder = index_folder(corpus, home)
    if recipe.fresh:
        encoding.forget(folder)
    previous = None if recipe.fresh else _readable(folder)
    digests = corpus.frame.select("digest").collect()["digest"].to_list()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="building-", dir=folder) as spill:
            pairs = _Pairs(corpus, digests)
            return _build_draft(pairs, folder, Path(spill), previous, recipe, tick)
    except OSError as error:
        message = f"cannot build the index: {os_message(error)}"
        raise InputError(message, where=str(folder), hint="Is the disk full?") from error


@dataclass(frozen=True)
class _Pairs:
    """The documents with their digests, which can be iterated several times."""

    corpus: Corpus
    digests: list[str]

    def __iter__(self) -> Iterator[tuple[Document, str]]:
        return zip(self.corpus.iter(), self.digests, strict=True)


def _build_draft(
    pairs: _Pairs,
    folder: Path,
    spill: Path,
    previous: Index | None,
    recipe: IndexRecipe,
    tick: Tick,
) -> tuple[Index, int]:
    """Build the index in `folder`; `spill` is a folder for what is too large for memory."""
    fingerprint = pairs.corpus.fingerprint
    draft = index.draft(
        pairs,
        encoder=recipe.encoder,
        dense=recipe.dense,
        previous=previous,
        tick=tick,
        spill=spill,
    )
    draft = replace(draft, index=_with_questions(draft.index, folder))
    known: set[str] = set()
    if previous is not None and read_alike(previous.profile, draft.index.profile):
        known = set(previous.digests)
    early = len(draft.texts) >= AWAITED and not _has_vectors(folder)
    data = index_files.save(draft.index, folder, fingerprint) if early else ""
    vectors = index.vectors_of(draft, folder / encoding.FOLDER, tick)
    built = index.with_vectors(draft.index, vectors)
    if data and vectors is not None:
        index_files.add_vectors(folder, data, vectors)
    else:
        index_files.save(built, folder, fingerprint)
    encoding.forget(folder)
    return built, sum(digest in known for digest in pairs.digests)


def _choose_questions(folder: Path, questions: str) -> None:
    """Keep the choice of questions beside the index for the next build: no file for those of the
    package, an empty file for no questions."""
    kept = folder / QUESTIONS
    if questions == SHIPS:
        kept.unlink(missing_ok=True)
        return
    lines = read_written(Path(questions)) if questions != NO_ENCODER else []
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(kept, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def _questions_given(folder: Path) -> list[DocumentQuestions] | None:
    """The questions of the file; none if they are not wanted; None if no choice was made."""
    kept = folder / QUESTIONS
    if not kept.exists():
        return None
    return read_written(kept) if kept.stat().st_size else []


def _with_questions(built: Index, folder: Path) -> Index:
    given = _questions_given(folder)
    if built.profile.kind == ROWS or given == []:
        return built
    return index.with_questions(built, shipped(built.profile.language), given or [])


def _questions_of(built: Index, folder: Path) -> Questions | None:
    given = _questions_given(folder) or []
    if built.written is None and not given:
        return None
    here = [line for line in given if line.id in built.row_of]
    asked = built.written.documents if built.written is not None else np.empty(0)
    count = sum(len(line.questions) for line in here) if len(asked) else 0
    return Questions(
        shipped=max(0, len(asked) - count),
        given=count,
        documents=len(np.unique(asked)),
        unknown_ids=len({line.id for line in given} - built.row_of.keys()),
    )


def _has_vectors(folder: Path) -> bool:
    """Whether there is an index with vectors, which stays until the new one has them too."""
    try:
        manifest = index_files.read_manifest(folder)
    except IndexProblem:
        return False
    return bool(manifest.profile.encoder) and manifest.has_vectors


def _readable(folder: Path) -> Index | None:
    """The previous index, if it can be reused."""
    try:
        opened = index_files.load(folder)
    except IndexProblem:
        return None
    return None if opened.is_older else opened


def _older(name: str) -> str:
    return f"the index was built by an older version; run `assay index {name}` again"


def _awaiting(folder: Path, documents: int) -> str:
    made = min(encoding.vectors_kept(folder), documents)
    return (
        f"searched by words alone, vectors are still missing ({made:,} of {documents:,} made); "
        "`assay index` makes the rest"
    )


def _as_before(folder: Path, name: str) -> IndexRecipe:
    """The recipe of the previous index: without an encoder, or with the user's own. Which of the
    shipped encoders suits the documents is chosen again."""
    try:
        encoder = index_files.read_manifest(folder).profile.encoder
    except IndexProblem:
        return IndexRecipe()
    if encoder in (*SHIPPED, index_files.LEARNED):
        return IndexRecipe()
    try:
        return IndexRecipe(dense=bool(encoder and named_encoder(encoder)), encoder=encoder)
    except InputError as error:
        raise InputError(
            f"the index must be built again with the encoder {encoder!r}: {error.message}",
            where=str(folder),
            hint=f"Install what it needs, or build with another encoder: assay index {name}",
        ) from error


def index_state(corpus: Corpus, home: Path | None = None) -> str:
    """`ready`, or the problem with the index. Only the presence and size of files are checked; the
    content is checked when the index is opened."""
    folder = index_folder(corpus, home)
    try:
        manifest = index_files.read_manifest(folder)
    except IndexProblem as problem:
        return str(problem)
    for name, written in manifest.files.items():
        path = folder / manifest.data / name
        if not path.is_file() or path.stat().st_size != written.bytes:
            return (
                f"the index is damaged: {name} is not what was written; "
                "the next search builds it again"
            )
    if manifest.corpus != corpus.fingerprint:
        return "the corpus has changed since the index was built"
    if manifest.is_older:
        return _older(corpus.path.name)
    if imported_by_older(corpus.manifest):
        return OLDER
    return "ready" if manifest.has_vectors else _awaiting(folder, len(corpus))

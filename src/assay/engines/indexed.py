"""Assay's own engine on a corpus of the workspace: where its index is, and how it is kept fresh."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from assay.core.workspace import workspace
from assay.corpus.disk import Corpus
from assay.corpus.named import corpus_named
from assay.law.versions import holds_on, normal_date, validity
from assay.search import index_files
from assay.search.dense import SHIPPED, named_encoder
from assay.search.engine import Engine
from assay.search.index import Index, Tick, build, read_alike
from assay.search.index_files import IndexProblem

Say = Callable[[str], None]


def silent(what: str, done: int, of: int) -> None:
    """Progress that nobody watches."""


class Indexed(msgspec.Struct, frozen=True, kw_only=True):
    """What indexing did: of how many documents, how many it took over from the index before."""

    corpus: str
    documents: int
    reused: int
    profile: str
    language: str
    encoder: str
    folder: str


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How an index is built: with vectors or without, by which encoder, and whether from
    nothing."""

    dense: bool = True
    encoder: str = ""
    fresh: bool = False


def index_folder(corpus: Corpus, home: Path | None = None) -> Path:
    return workspace(home) / "indexes" / corpus.name


def is_indexed(corpus: Corpus, home: Path | None = None) -> bool:
    return (index_folder(corpus, home) / index_files.MANIFEST).exists()


def index_corpus(
    name: str,
    *,
    home: Path | None = None,
    dense: bool = True,
    encoder: str = "",
    fresh: bool = False,
    tick: Tick = silent,
) -> Indexed:
    """Build the index of a corpus, or bring it up to date; says what it did."""
    corpus = corpus_named(name, home)
    corpus.complete()
    if encoder:
        named_encoder(encoder)  # an unknown name is refused before the work begins
    recipe = Recipe(dense=dense, encoder=encoder, fresh=fresh)
    built, reused = _build(corpus, home, recipe, tick)
    return Indexed(
        corpus=corpus.name,
        documents=len(built),
        reused=reused,
        profile=built.profile.name,
        language=built.profile.language,
        encoder=built.profile.encoder,
        folder=str(index_folder(corpus, home)),
    )


def open_indexed(
    name: str,
    *,
    home: Path | None = None,
    tick: Tick = silent,
    say: Say = lambda text: None,
) -> Engine:
    """The engine on a corpus. An index that is missing, outdated or damaged is built again, and
    `say` tells why."""
    corpus = corpus_named(name, home)
    folder = index_folder(corpus, home)
    if not corpus.is_complete:
        say(f"{corpus.name}: imported by an earlier version; preparing its documents, once")
        corpus.complete()
    try:
        index = index_files.load(folder, corpus.fingerprint)
    except IndexProblem as problem:
        say(f"{corpus.name}: {problem}; building the index")
        index, _ = _build(corpus, home, _as_before(folder), tick)
    return Engine(
        index,
        name=corpus.name,
        lookup=lru_cache(maxsize=4096)(corpus.get),
        in_force=lru_cache(maxsize=64)(partial(in_force, corpus)),
    )


def _build(corpus: Corpus, home: Path | None, recipe: Recipe, tick: Tick) -> tuple[Index, int]:
    """The index, saved; and how many documents it took over from the one before."""
    folder = index_folder(corpus, home)
    previous = None if recipe.fresh else _readable(folder)
    digests = corpus.frame.select("digest").collect()["digest"].to_list()
    built = build(
        zip(corpus.iter(), digests, strict=True),
        encoder=recipe.encoder,
        dense=recipe.dense,
        previous=previous,
        tick=tick,
    )
    index_files.save(built, folder, corpus.fingerprint)
    same = previous is not None and read_alike(previous.profile, built.profile)
    known = set(previous.digests) if previous is not None and same else set()
    return built, sum(digest in known for digest in digests)


def _readable(folder: Path) -> Index | None:
    try:
        return index_files.load(folder)
    except IndexProblem:
        return None


def _as_before(folder: Path) -> Recipe:
    """Whoever built without an encoder, or with one of their own, wants it rebuilt so."""
    try:
        encoder = index_files.read_manifest(folder).profile.encoder
    except IndexProblem:
        return Recipe()
    return Recipe(dense=bool(encoder), encoder="" if encoder in SHIPPED else encoder)


def index_state(corpus: Corpus, home: Path | None = None) -> str:
    """`ready`, or what is wrong. Only what is there and how large it is is looked at; every byte is
    checked when the index is opened."""
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
    if manifest.corpus == corpus.fingerprint:
        return "ready"
    return "the corpus has changed since the index was built"


def in_force(corpus: Corpus, as_of: str) -> Any:
    """Which rows were in force on a day: of several versions of a place, the last one that had
    begun. What does not say when it began or ended is not left out."""
    day = normal_date(as_of)
    said = [
        pl.col("metadata").str.json_path_match(f"$.{key}").alias(key)
        for key in ("law_id", "law", "chapter")
    ]
    place = [pl.col(f"locator.{name}") for name in ("doc_id", "section", "moment")]
    rows = corpus.frame.select("valid_from", "valid_to", *said, *place).collect().rows()
    versions = [
        ((number or law or source, chapter, section, moment) if section else None, begins, ends)
        for begins, ends, number, law, chapter, source, section, moment in rows
    ]
    return np.array([holds_on(day, *period) for period in validity(versions)], bool)

"""Corpora that are open to be searched. A command opens one and is gone; a server keeps them, since
opening takes longer than a hundred searches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from assay.core.types import Document
from assay.corpus.disk import MANIFEST, Corpus, documents_of, read_arrow
from assay.corpus.named import corpus_named
from assay.engines.indexed import Say, index_folder, open_indexed, silent
from assay.search.engine import Engine
from assay.search.index import Tick
from assay.workbench.filtering import Columns, Filters, Mask, columns_of

KEPT = 8  # corpora
KEPT_BYTES = 512 * 2**20  # of documents in memory, of all corpora together
Stamp = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """A corpus, the engine on it, and how to read its documents, by row or by id."""

    corpus: Corpus
    engine: Engine
    at: Callable[[int], Document]

    def get(self, doc_id: str) -> Document:
        row = self.corpus.row(doc_id)
        return self.corpus.get(doc_id) if row is None else self.at(row)

    @property
    def columns(self) -> Columns:
        return columns_of(self.corpus)

    def allowed(self, filters: Filters) -> Mask | None:
        """The rows that pass; None where nothing is filtered, and the columns are not read."""
        return self.columns.allowed(filters) if filters.any() else None


def open_shelf(
    name: str,
    *,
    home: Path | None = None,
    tick: Tick = silent,
    say: Say = lambda text: None,
) -> Shelf:
    """An index that is missing, outdated or damaged is built first."""
    engine = open_indexed(name, home=home, tick=tick, say=say)
    corpus = corpus_named(name, home)
    return Shelf(corpus=corpus, engine=engine, at=corpus.at)


_kept: OrderedDict[tuple[str, str], tuple[tuple[Stamp, ...], Shelf]] = OrderedDict()
_opening: dict[tuple[str, str], threading.Lock] = {}
_table = threading.Lock()


def kept_shelf(name: str, *, home: Path | None = None, say: Say = lambda text: None) -> Shelf:
    """Opened at the first asking. A corpus or an index that was replaced since is opened anew; of
    many who ask at once, one opens."""
    key = (str(home or ""), name)
    with _table:
        lock = _opening.setdefault(key, threading.Lock())
    with lock:
        corpus = corpus_named(name, home)
        now = _stamps(corpus, home)
        with _table:
            before = _kept.get(key)
        if before is not None and before[0] == now:
            shelf = before[1]
        else:
            shelf = open_shelf(name, home=home, say=say)
            shelf = replace(shelf, at=partial(_kept_at, shelf.corpus))
            now = _stamps(corpus, home)
        with _table:
            _kept[key] = (now, shelf)
            _kept.move_to_end(key)
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        return shelf


# ── documents in memory ───────────────────────────────────────────────────────────────────────────

_parts: OrderedDict[Path, tuple[pl.DataFrame, int]] = OrderedDict()  # with their bytes
_reading = threading.Lock()


def _kept_at(corpus: Corpus, row: int) -> Document:
    """From the part in memory: a tenth of a millisecond and not several. What would not fit is
    read from disk."""
    if corpus.size > KEPT_BYTES:
        return corpus.at(row)
    path, offset = corpus.part_of(row)
    with _reading:
        kept = _parts.get(path)
        if kept is None:
            part = read_arrow(path)
            kept = _parts[path] = (part, int(part.estimated_size()))
            while len(_parts) > 1 and sum(size for _, size in _parts.values()) > KEPT_BYTES:
                _parts.popitem(last=False)
        else:
            _parts.move_to_end(path)
    return next(documents_of(kept[0].slice(offset, 1)))


# ── what was replaced ─────────────────────────────────────────────────────────────────────────────


def _stamps(corpus: Corpus, home: Path | None) -> tuple[Stamp, ...]:
    """Of both manifests: a writer replaces them last, and in one step."""
    folder = index_folder(corpus, home)
    return tuple(_stamp(path) for path in (corpus.path / MANIFEST, *sorted(folder.glob("*.json"))))


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_mtime_ns, found.st_size)

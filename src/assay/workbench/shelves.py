"""Corpora that are open to be searched. A command opens one and is gone; a server keeps them, since
opening takes longer than a hundred searches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from assay.core.types import Document
from assay.corpus.disk import MANIFEST, Corpus
from assay.corpus.named import corpus_named
from assay.engines.indexed import Say, index_folder, open_indexed, silent
from assay.search.engine import Engine
from assay.search.index import Tick
from assay.workbench.filtering import Columns, Filters, Mask, columns_of

KEPT = 8  # corpora
Stamp = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """A corpus, and the engine on it."""

    corpus: Corpus
    engine: Engine

    def at(self, row: int) -> Document:
        return self.corpus.at(row)

    def get(self, doc_id: str) -> Document:
        return self.corpus.get(doc_id)

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
    return Shelf(corpus=corpus_named(name, home), engine=engine)


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
            now = _stamps(corpus, home)
        with _table:
            _kept[key] = (now, shelf)
            _kept.move_to_end(key)
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        return shelf


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

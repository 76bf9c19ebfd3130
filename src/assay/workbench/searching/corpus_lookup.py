"""The corpus that a command names: a name of the workspace, a frozen file, or a file or folder of
documents that is not imported yet."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.workspace import workspace
from assay.corpus.build import import_corpus
from assay.corpus.disk import open_corpus
from assay.corpus.frozen import freeze
from assay.corpus.lookup import is_corpus

_UNUSUAL = re.compile(r"[^\w.-]|^[^\w]")
KINDS = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def corpus_at_hand(
    corpus: str, *, home: Path | None = None, say: Callable[[str], None] = lambda text: None
) -> str:
    """A name, or the path of a frozen file, that every verb understands. Documents that lie in a
    file or folder are read into the workspace, beside its corpora and not among them, and read
    again when they have changed."""
    path = Path(corpus)
    if not corpus or is_corpus(corpus, home) or not path.exists():
        return corpus  # an unknown name is the verb's to refuse
    kind = "fppc" if path.is_dir() else KINDS.get(path.suffix.lower())
    if kind is None:
        raise UsageError(
            "this file is no corpus",
            where=corpus,
            hint=f"Read as one are {', '.join(KINDS)}, a folder of opinions, and what "
            "`assay corpus freeze` wrote; `assay corpus import` reads other kinds.",
        )
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    folder, name = workspace(home) / "files", f"{_UNUSUAL.sub('-', path.stem)}-{digest}"
    report = import_corpus(kind, path, name=name, home=folder)
    frozen = folder / f"{name}.assay"
    if not report.unchanged or not frozen.exists():
        freeze(open_corpus(folder, name), frozen)
        say(f"{corpus}: {report.documents:,} documents read")
    return str(frozen)

"""`assay corpus`, `assay index`, `assay search`, `assay cite`: import documents, look at them,
index and search them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from assay.core.errors import AssayError, InputError, NotHere
from assay.core.files import write_atomic
from assay.core.types import Document, Finding
from assay.core.workspace import workspace
from assay.corpus.build import Limits as Limits
from assay.corpus.build import import_corpus as import_corpus
from assay.corpus.citations import Resolved, cite
from assay.corpus.disk import Manifest, list_corpora, open_corpus
from assay.corpus.frozen import freeze
from assay.corpus.importers.kinds import Options as Options
from assay.corpus.importers.kinds import guess_kind as guess_kind
from assay.corpus.lookup import corpus_named as corpus_named
from assay.corpus.lookup import documents as documents
from assay.corpus.lookup import is_corpus as is_corpus
from assay.corpus.quality import Stats, check, stats
from assay.engines.indexed import Indexed as Indexed
from assay.engines.indexed import Say, is_indexed, silent
from assay.engines.indexed import index_corpus as index_corpus
from assay.engines.indexed import open_indexed as open_indexed
from assay.law.citing import citation_of as citation_of
from assay.search.answers import FoundDocument as FoundDocument
from assay.search.answers import SearchAnswer as SearchAnswer
from assay.search.answers import found_documents, note_of, words_nowhere
from assay.search.index import Tick
from assay.workbench.searching.filters import NO_FILTERS
from assay.workbench.searching.filters import Filters as Filters
from assay.workbench.searching.open_corpora import open_with_engine

if TYPE_CHECKING:
    from assay.workbench.project.service import Service


# ── documents from memory ─────────────────────────────────────────────────────────────────────────


def keep_documents(
    rows: Sequence[Mapping[str, object]], name: str, home: Path | None = None
) -> Path:
    if not rows:
        raise InputError("there are no documents to import")
    without = next((place for place, row in enumerate(rows) if not row.get("id")), None)
    if without is not None:
        has = ", ".join(map(str, rows[without])) or "nothing"
        raise InputError(
            f"document {without + 1} has no id; it has {has}",
            hint='A document is {"id": …, "title": …, "text": …}.',
        )
    if not name or Path(name).name != name:
        raise InputError(
            f"{name!r} cannot be the name of a corpus", hint="Use letters, digits and dashes."
        )
    path = (home or workspace()) / "sources" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


# ── corpora of the workspace ──────────────────────────────────────────────────────────────────────


class CorpusRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `assay corpus list`."""

    name: str
    kind: str
    documents: int
    indexed: bool
    fingerprint: str
    source: str


def corpus_rows(home: Path | None = None) -> list[CorpusRow]:
    rows = []
    for name in list_corpora(home):
        corpus = open_corpus(home, name)
        manifest = corpus.manifest
        row = CorpusRow(
            name=name,
            kind=manifest.kind,
            documents=manifest.documents,
            indexed=is_indexed(corpus, home),
            fingerprint=manifest.fingerprint,
            source=manifest.source,
        )
        rows.append(row)
    return rows


def readable_corpora(home: Path | None) -> list[CorpusRow]:
    """The corpora of the workspace, for pages; none where it cannot be read."""
    try:
        return corpus_rows(home)
    except (AssayError, OSError):  # `assay doctor` says what is wrong with it
        return []


def known_manifest(name: str) -> Manifest | None:
    """The manifest of a corpus, if there is one of this name."""
    return corpus_named(name).manifest if is_corpus(name) else None


class CutFiles(NamedTuple):
    """How many files of a corpus are several documents, and how many those are."""

    files: int
    parts: int


def cut_files(name: str) -> CutFiles | None:
    """The files that were cut into documents; None where every file is one document."""
    corpus = corpus_named(name)
    if corpus.manifest.kind != "documents":
        return None
    files = {doc_id.partition(":")[0] for doc_id in corpus.ids if ":" in doc_id}
    parts = sum(doc_id.partition(":")[0] in files for doc_id in corpus.ids)
    return CutFiles(len(files), parts) if files else None


def corpus_stats(name: str) -> Stats:
    return stats(corpus_named(name))


def check_corpus(name: str, home: Path | None = None) -> list[Finding]:
    return check(corpus_named(name, home))


def freeze_corpus(name: str, output: Path) -> Path:
    return freeze(corpus_named(name), output)


def one_document(name: str, doc_id: str, home: Path | None = None) -> Document:
    """A document by its id."""
    corpus = corpus_named(name, home)
    if doc_id not in corpus:
        raise NotHere(f"no document {doc_id!r} in corpus {name!r}")
    return corpus.get(doc_id)


def document(service: Service, corpus: str, doc_id: str) -> Document:
    """One document of a corpus of the service's workspace."""
    opened = open_corpus(service.home, corpus)
    if doc_id not in opened:
        raise InputError(f"no document {doc_id!r} in corpus {corpus!r}")
    return opened.get(doc_id)


def citations_in(
    text: str, corpus: str | None, *, language: str | None = None, home: Path | None = None
) -> list[Resolved]:
    """The citations in a text, resolved in a corpus where one is named."""
    return cite(text, corpus_named(corpus, home) if corpus else None, language=language)


# ── searching ─────────────────────────────────────────────────────────────────────────────────────


def search(
    name: str,
    query: str,
    *,
    top_k: int = 10,
    filters: Filters = NO_FILTERS,
    home: Path | None = None,
    tick: Tick = silent,
    say: Say = lambda text: None,
) -> SearchAnswer:
    """Hits with titles, snippets and why each is there."""
    if not query.strip():
        raise InputError(
            "the query is empty", hint="Give a question, keywords or a description of facts."
        )
    opened = open_with_engine(name, home=home, tick=tick, say=say)
    allowed = opened.allowed(filters)
    day = filters.as_of
    hits = opened.engine.search(query, top_k, allowed=allowed, explain=True, as_of=day, texts=False)
    found = found_documents(hits, opened.engine, query, opened.get, as_of=day)
    spoken, asked_in = (opened.language, opened.asked_in(query)) if hits.abstained else ("", "")
    return SearchAnswer(
        query=query,
        corpus=opened.corpus.name,
        abstained=hits.abstained,
        calibrated=hits.calibrated,
        hits=found,
        answers=round(hits.answers, 4),
        unknown=list(words_nowhere(hits, found)),
        corrected=hits.corrected or {},
        note=note_of(hits, spoken, asked_in),
    )


def more_like(
    name: str,
    doc_id: str,
    *,
    top_k: int = 10,
    filters: Filters = NO_FILTERS,
    home: Path | None = None,
    say: Say = lambda text: None,
) -> SearchAnswer:
    opened = open_with_engine(name, home=home, say=say)
    title = opened.get(doc_id).title
    hits = opened.engine.more_like(doc_id, top_k, allowed=opened.allowed(filters), texts=False)
    found = [
        msgspec.structs.replace(one, less_likely=False)  # what is like another has no such measure
        for one in found_documents(hits, opened.engine, title, opened.get)
    ]
    name = opened.corpus.name
    return SearchAnswer(
        query=f"like {doc_id}",
        corpus=name,
        abstained=False,
        calibrated=opened.engine.is_calibrated,
        hits=found,
    )


# ── the corpus that a command names ───────────────────────────────────────────────────────────────


_UNUSUAL = re.compile(r"[^\w.-]|^[^\w]")


def imported_corpus(corpus: str, *, say: Say = lambda text: None) -> str:
    """A name, or the path of a frozen file, that every verb understands. Documents that lie in a
    file or folder are read into the workspace, beside its corpora and not among them, and read
    again when they have changed."""
    path = Path(corpus)
    if not corpus or is_corpus(corpus) or not path.exists():
        return corpus  # an unknown name is the verb's to refuse
    kind = guess_kind(corpus)
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    folder, name = workspace() / "files", f"{_UNUSUAL.sub('-', path.stem)}-{digest}"
    report = import_corpus(kind, path, name=name, home=folder)
    frozen = folder / f"{name}.assay"
    if not report.unchanged or not frozen.exists():
        freeze(open_corpus(folder, name), frozen)
        say(f"{corpus}: {report.documents:,} documents read")
    return str(frozen)

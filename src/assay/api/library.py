"""Corpora: documents to index, search and read, and the citations between them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.api.values import small_table
from assay.core.errors import InputError
from assay.core.types import Document, counted
from assay.workbench.scoring import notebook_input
from assay.workbench.searching import corpora
from assay.workbench.searching.calibration import CalibrationReport, calibrate
from assay.workbench.searching.corpora import (
    FoundDocument,
    Indexed,
    SearchAnswer,
    citation_of,
    guess_kind,
    keep_documents,
)
from assay.workbench.searching.filters import read_filters

MOST_WARNINGS = 5  # of records that cannot be used; taste
__all__ = ["Citations", "Corpus", "Hits", "import_corpus", "open_corpus"]


class Hits(list[FoundDocument]):
    """What a search found, the best first. `abstained` is true where nothing answers, and these are
    only the nearest. `calibrated` says whether scores were fitted to this corpus; `unknown` are
    words of the query that no document has, `corrected` those that were read as another."""

    def __init__(self, answer: SearchAnswer) -> None:
        super().__init__(answer.hits)
        self.query = answer.query
        self.corpus = answer.corpus
        self.abstained = answer.abstained
        self.calibrated = answer.calibrated
        self.unknown = answer.unknown
        self.corrected = answer.corrected

    def __repr__(self) -> str:
        lead = "nothing answers; the nearest: " if self.abstained else ""
        return f"Hits for {self.query!r}: {lead}{', '.join(hit.doc_id for hit in self) or 'none'}"

    def _repr_html_(self) -> str:
        head = f"{self.query}: nothing here answers this" if self.abstained else self.query
        rows = [
            (hit.doc_id, f"{hit.score or 0:.2f}", hit.title, hit.snippet[:200]) for hit in self[:10]
        ]
        return small_table(head, ("document", "score", "title", "passage"), rows, len(self))


class Citations(list[Any]):
    """The citations in a text: each with its normal form, and the documents it names."""

    def __repr__(self) -> str:
        each = [f"{one.citation.normal} → {', '.join(one.targets) or one.reason}" for one in self]
        return "; ".join(each) or "no citations"


class Corpus:
    """A corpus of the workspace, or a frozen one.

    >>> corpus = assay.open_corpus("letters")
    >>> corpus
    Corpus letters: 2 documents
    >>> corpus.get("A").title
    'Gifts'
    """

    def __init__(self, name: str, home: Path | None = None) -> None:
        self.name = name
        self.home = home
        self._manifest = corpora.corpus_named(name, home).manifest

    def index(self, *, dense: bool = True, fresh: bool = False) -> Indexed:
        """Build the index, or bring it up to date. Without `dense` words alone decide, and it is
        quick. `search` does this by itself where there is no index yet.

        >>> assay.open_corpus("letters").index(dense=False).documents
        2
        """
        return corpora.index_corpus(self.name, home=self.home, dense=dense, fresh=fresh)

    def search(
        self, query: str, top_k: int = 10, *, year: str = "", as_of: str = "", **filters: str
    ) -> Hits:
        """Search. `year` is "2015" or "2010-2020", `as_of` a day on which it was in force; other
        filters are topic, statute, law and language.

        >>> hits = assay.open_corpus("letters").search("concert tickets")
        >>> hits[0].doc_id
        'A'
        """
        chosen = read_filters(year=year, as_of=as_of, **filters)
        if not isinstance(query, str):
            raise InputError(f"a query must be a text, not a {type(query).__name__}")
        answer = corpora.search(self.name, query, top_k=top_k, filters=chosen, home=self.home)
        return Hits(answer)

    def calibrate(self, dataset: str | Path) -> CalibrationReport:
        """Fit scores to the questions of a gold or golden set, keep that with the index, and say
        how reliable they are. It needs 30 questions with a known answer."""
        return calibrate(self.name, Path(dataset), home=self.home)

    def cite(self, text: str) -> Citations:
        """The citations in a text, and the documents of this corpus that they name.

        >>> assay.open_corpus("letters").cite("See Section 89503.")[0].citation.normal
        '§ 89503'
        """
        return Citations(corpora.citations_in(text, self.name, home=self.home))

    def get(self, doc_id: str) -> Document:
        """One document."""
        return corpora.one_document(self.name, doc_id, self.home)

    def citation(self, doc_id: str) -> str:
        """How a lawyer would cite a document.

        >>> assay.open_corpus("letters").citation("A")
        'Gifts'
        """
        return citation_of(self.get(doc_id))

    def __iter__(self) -> Iterator[Document]:
        return iter(corpora.corpus_named(self.name, self.home).iter())

    def __len__(self) -> int:
        return self._manifest.documents

    def __repr__(self) -> str:
        return f"Corpus {self.name}: {counted(len(self), 'document')}"

    def _repr_html_(self) -> str:
        first = [(document.id, document.title) for document, _ in zip(self, range(5), strict=False)]
        return small_table(repr(self), ("document", "title"), list(first), len(self))


def open_corpus(name: str | Path, *, home: str | Path | None = None) -> Corpus:
    """A corpus by its name in the workspace, or a frozen one by its file.

    >>> len(assay.open_corpus("letters"))
    2
    """
    if not isinstance(name, str | Path):
        raise InputError(f"a corpus must be opened by its name, not by a {type(name).__name__}")
    return Corpus(str(name), Path(home) if home is not None else None)


def import_corpus(
    source: Any,
    name: str,
    *,
    kind: str = "",
    home: str | Path | None = None,
    options: Mapping[str, str | dict[str, str]] | None = None,
) -> Corpus:
    """Import documents: a file or a folder, a list of dictionaries or documents, or a frame of
    pandas or polars. `kind` is fppc, akn, finlex, report, jsonl, csv, parquet or postgres; for a
    file that ends in .jsonl, .csv or .parquet it need not be said.

    >>> assay.import_corpus([{"id": "A", "title": "Gifts", "text": "Concert tickets."}], "one")
    Corpus one: 1 document
    """
    folder = Path(home) if home is not None else None
    if isinstance(source, str | Path):
        kind = kind or guess_kind(str(source))
    elif kind:
        raise InputError(f"documents in memory have no kind {kind!r}", hint="Leave kind out.")
    else:
        rows = notebook_input.rows_of(source)
        kind, source = "jsonl", keep_documents(rows, name, folder)
    corpora.import_corpus(kind, source, name=name, home=folder, options=dict(options or {}))
    for problem in corpora.corpus_named(name, folder).problems()[:MOST_WARNINGS]:
        warnings.warn(f"{problem.code}: {problem.where}: {problem.reason}", stacklevel=2)
    return Corpus(name, folder)

"""The corpus that a set is judged on: its ids, and the texts of the documents in a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from assay.core.errors import InputError, UsageError
from assay.core.types import Document, Vote
from assay.corpus.disk import Corpus, documents_of
from assay.corpus.lookup import corpus_named, documents, is_corpus, require_corpus
from assay.gold.votes import Pair
from assay.judging.pool import pool_path, read_pool
from assay.judging.votes import stale_in


@dataclass(frozen=True, kw_only=True)
class CorpusTexts:
    ids: Set[str]
    some: Callable[[Set[str]], list[Document]]  # the documents with these ids


def corpus_texts(dataset: Path, corpus: Path | None) -> CorpusTexts | None:
    """The texts of the named corpus, else of the pool's corpus; None if neither is here."""
    corpus = corpus or pooled_corpus(dataset)
    if corpus is None:
        return None
    require_corpus(corpus)
    if is_corpus(str(corpus)):
        return _imported(corpus_named(str(corpus)))
    every = documents(corpus)
    return CorpusTexts(
        ids={document.id for document in every},
        some=lambda ids: [document for document in every if document.id in ids],
    )


def pooled_corpus(dataset: Path) -> Path | None:
    """The corpus that the pool of a set is from, where it is here."""
    pool = read_pool(dataset)
    if pool is None or not pool.corpus:
        return None
    path = Path(pool.corpus)
    return path if path.exists() or is_corpus(pool.corpus) else None


def texts_of(
    pairs: Iterable[Pair], dataset: Path, corpus: Path | str | None
) -> dict[str, Document]:
    """The documents of these pairs, from the corpus that is named or the pool's; one that the
    corpus lacks is an error."""
    wanted = {doc_id: query_id for query_id, doc_id in pairs}
    texts = corpus_texts(dataset, Path(corpus) if corpus else None)
    if texts is None:
        raise UsageError(
            "the corpus of the documents is unknown",
            where=str(pool_path(dataset)),
            hint="Name it with --corpus.",
        )
    found = {document.id: document for document in texts.some(wanted.keys())}
    if missing := [doc_id for doc_id in wanted if doc_id not in found]:
        first = f"{missing[0]!r}, which query {wanted[missing[0]]!r} asks for"
        more = f", and {len(missing) - 1} more" if missing[1:] else ""
        raise InputError(
            f"the corpus has no document {first}{more}",
            where=str(corpus or pool_path(dataset)),
            hint="Were they pooled from another corpus? Name it with --corpus. "
            f"Or remove one: assay gold add {dataset} --remove --document ID --for QUERY",
        )
    return {doc_id: found[doc_id] for doc_id in wanted}


def _imported(corpus: Corpus) -> CorpusTexts:
    def some(ids: Set[str]) -> list[Document]:
        return list(documents_of(corpus.frame.filter(pl.col("id").is_in(list(ids))).collect()))

    return CorpusTexts(ids=set(corpus.ids), some=some)


def stale_votes(votes: Iterable[Vote], texts: CorpusTexts) -> list[Vote]:
    """The votes on documents that have changed since they were read."""
    given = list(votes)
    return stale_in(given, texts.some({vote.doc_id for vote in given if vote.document}))

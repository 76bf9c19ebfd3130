"""Whether an engine searches the documents that a gold set is about. One that searches other
documents scores 0 on every query, which does not measure how well it searches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import Declined, InputError
from assay.core.results import GradedResults
from assay.core.types import GoldSet
from assay.engines.engine_table import EngineConfig
from assay.engines.running import BASELINES
from assay.reports.wording import warning

if TYPE_CHECKING:  # corpora take long to load, and most engines search none of ours
    from assay.corpus.disk import Corpus

SAMPLE = 200  # documents of a set that are looked up in each corpus: enough to find the corpus


def refuse_other_documents(
    engine: EngineConfig, gold: GoldSet, dataset: Path, home: Path | None = None
) -> None:
    """Before a run, refuse an engine of ours whose corpus has no document that the set names, and
    no place that its questions expect. It is not known what other engines search."""
    corpora = _searched_corpora(engine, home)
    if not corpora:
        return
    named = _documents_of_set(gold, dataset)
    if named:
        if _any_in(named, corpora):
            return
    else:
        from assay.workbench.scoring.golden import expects_place_in

        if expects_place_in(gold, corpora):
            return
    name, where = engine.name or engine.engine, " and ".join(corpus.name for corpus in corpora)
    right = " or ".join(corpus.name for corpus in _corpora_holding(named, home))
    what = f"document that {gold.name} names" if named else f"place that {gold.name} expects"
    raise Declined(
        "engine_elsewhere",
        f"{name} searches {where}, and no {what} is there",
        hint=f"Choose an engine on {right}." if right else "Choose an engine on its documents.",
        gold=gold.name,
        engine=name,
        where=where,
    )


def check_documents_known(
    results: GradedResults, gold: GoldSet, dataset: Path, home: Path | None = None
) -> Iterator[str]:
    """After a run, refuse one that returned no document of the set, where the corpus of the set is
    in the workspace and has none of them either; otherwise warn."""
    found = {doc_id for entry in results.per_query for doc_id in entry.results}
    named = _documents_of_set(gold, dataset)
    if not found or not named or found & named:
        return
    corpora = _corpora_holding(named, home)
    if not corpora:
        yield warning("other_documents", engine=results.engine, gold=gold.name)
    elif not _any_in(found, corpora):
        where = " and ".join(corpus.name for corpus in corpora)
        raise InputError(
            f"{results.engine} returned no document of {gold.name} or of {where}, "
            "where the documents of the set are: nothing was measured",
            hint="Check which corpus the engine searches and which ids it uses.",
        )


def _documents_of_set(gold: GoldSet, dataset: Path) -> set[str]:
    """The documents of a set: those with a label, and those in its pool."""
    from assay.judging.pool import read_pool

    pool = read_pool(dataset)
    pooled = (pair.doc_id for pair in pool.pairs) if pool is not None else ()
    return {*gold.judgments["doc_id"].unique(), *pooled}


def _searched_corpora(engine: EngineConfig, home: Path | None) -> list[Corpus]:
    """The corpora that an engine of ours searches; none where one of them is not known."""
    found: dict[str, Corpus] = {}
    for part in engine.routes.values() or [engine]:
        name = (part.corpus if part.engine in BASELINES else part.engine) or ""
        if not name:
            return []
        from assay.corpus.lookup import corpus_named, is_corpus

        if not is_corpus(name, home):
            return []
        found[name] = corpus_named(name, home)
    return list(found.values())


def _corpora_holding(named: Collection[str], home: Path | None) -> list[Corpus]:
    """The corpora of the workspace that have documents of a set."""
    from assay.corpus.disk import list_corpora
    from assay.corpus.lookup import corpus_named

    some = sorted(named)[:SAMPLE]
    opened = (corpus_named(name, home) for name in list_corpora(home))
    return [corpus for corpus in opened if _any_in(some, [corpus])]


def _any_in(documents: Iterable[str], corpora: Collection[Corpus]) -> bool:
    return any(doc_id in corpus for doc_id in documents for corpus in corpora)

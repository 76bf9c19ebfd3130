"""Whether an engine searches what a set asks about. One that searches other documents scores 0 on
every query, and that says nothing of how well it searches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import Declined, InputError
from assay.core.results import GradedResults
from assay.core.types import GoldSet
from assay.engines.engine_table import EngineConfig
from assay.engines.registry import BASELINES
from assay.evaluation.golden_checks import checks_of
from assay.judging.pool import read_pool
from assay.law.matching import NOWHERE, Place, known_document, matches
from assay.workbench.project.config import CONFIG_NAME, Config

if TYPE_CHECKING:  # corpora take long to load, and most engines search none of ours
    from assay.corpus.disk import Corpus

LOOKED_AT = 200  # documents of a set, when corpora are searched for it


def refuse_unlisted(config: Config | None, gold: str, engine: str) -> None:
    """A set of the configuration that says which engines it is for."""
    listed = config.gold[gold].engines if config is not None and gold in config.gold else ()
    if listed and config is not None and engine in config.engines and engine not in listed:
        known = ", ".join(listed)
        raise Declined(
            "engine_unlisted",
            f"{gold} is run with {known}, and not with {engine}",
            hint=f"If it searches the same documents, add it to the engines of [gold.{gold}] in "
            f"{CONFIG_NAME}.",
            gold=gold,
            engines=known,
            engine=engine,
            file=CONFIG_NAME,
        )


def refuse_elsewhere(
    engine: EngineConfig, gold: GoldSet, dataset: Path, home: Path | None = None
) -> None:
    """Before a run: an engine of ours whose corpus has no document that the set names, and no place
    that its questions expect. Of others it is not known what they search."""
    corpora = _searched(engine, home)
    if not corpora:
        return
    named = _named(gold, dataset)
    if _any_in(named, corpora) if named else _any_place_in(gold, corpora):
        return
    name, where = engine.name or engine.engine, " and ".join(corpus.name for corpus in corpora)
    right = " or ".join(corpus.name for corpus in _holding(named, home))
    what = f"document that {gold.name} names" if named else f"place that {gold.name} expects"
    raise Declined(
        "engine_elsewhere",
        f"{name} searches {where}, and no {what} is there",
        hint=f"Choose an engine on {right}." if right else "Choose an engine on its documents.",
        gold=gold.name,
        engine=name,
        where=where,
    )


def measured(
    results: GradedResults, gold: GoldSet, dataset: Path, home: Path | None = None
) -> Iterator[str]:
    """After a run: one in which no document is known to the set is no measurement. It is refused
    where the corpus of the set is here, and has none of them; else it is a warning."""
    found = {doc_id for entry in results.per_query for doc_id in entry.results}
    named = _named(gold, dataset)
    if not found or not named or found & named:
        return
    told = f"no document that {results.engine} returned is known to {gold.name}"
    corpora = _holding(named, home)
    if not corpora:
        yield f"{told}: it may search others than the set is about, and a figure of 0 tells nothing"
    elif not _any_in(found, corpora):
        where = " and ".join(corpus.name for corpus in corpora)
        raise InputError(
            f"{told}, nor in {where}, where its documents are: nothing was measured",
            hint="Does the engine search another corpus, or call its documents by other ids?",
        )


def _named(gold: GoldSet, dataset: Path) -> set[str]:
    """The documents that a set knows of: those with a label, and those that are to be judged."""
    pool = read_pool(dataset)
    pooled = (pair.doc_id for pair in pool.pairs) if pool is not None else ()
    return {*gold.judgments["doc_id"].unique(), *pooled}


def _searched(engine: EngineConfig, home: Path | None) -> list[Corpus]:
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


def _holding(named: Collection[str], home: Path | None) -> list[Corpus]:
    """The corpora of the workspace that have documents of a set."""
    from assay.corpus.disk import list_corpora
    from assay.corpus.lookup import corpus_named

    some = sorted(named)[:LOOKED_AT]
    opened = (corpus_named(name, home) for name in list_corpora(home))
    return [corpus for corpus in opened if _any_in(some, [corpus])]


def _any_in(documents: Iterable[str], corpora: Collection[Corpus]) -> bool:
    return any(doc_id in corpus for doc_id in documents for corpus in corpora)


# ── golden sets ───────────────────────────────────────────────────────────────────────────────────


def _any_place_in(gold: GoldSet, corpora: Collection[Corpus]) -> bool:
    """Whether a document is of a law, a section or an id that the questions expect. Moments, pages
    and rows are left to the run: a hit may name them more exactly than its document. True where
    the questions expect none."""
    own = _expected(gold, "")
    read_in = {"": own}  # a place is read in the language of the corpus, where they write alike
    if not own or NOWHERE in own:
        return True
    for corpus in corpora:
        for document in corpus.iter():
            wanted = read_in.get(document.language)
            if wanted is None:
                wanted = read_in[document.language] = own | _expected(gold, document.language)
            place = known_document(document).place
            if any(matches(each, place) for each in wanted):
                return True
    return False


def _expected(gold: GoldSet, language: str) -> set[Place]:
    """The places of all questions, each as wide as its law, its section or its document."""
    found = set()
    for query in gold.queries:
        try:
            places = checks_of(query, language=language).expected
        except InputError:  # the run says what cannot be read
            places = ()
        for place in places:
            found.add(
                Place(
                    doc_ids=place.doc_ids,
                    act_numbers=place.act_numbers,
                    law_names=place.law_names,
                    section=place.section,
                )
            )
    return found

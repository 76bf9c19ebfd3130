"""The two rankings of one query in two runs: documents with texts and grades, how they moved, and
why each is at its rank."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from assay.core.errors import AssayError, NotHere
from assay.core.results import Entry, GoldenEntry, Results
from assay.core.types import Document
from assay.engines.indexed import is_indexed
from assay.search.answers import Reason, found_documents, reasons
from assay.workbench.deciding.run_boards import RunLine, headline, line_of
from assay.workbench.deciding.run_comparison import names_of
from assay.workbench.project.service import Service
from assay.workbench.scoring.history import StoredRun, stored_run
from assay.workbench.searching import corpora
from assay.workbench.searching.open_corpora import OpenCorpus, open_cached

__all__ = ["RankedDocument", "Ranking", "TwoRankings", "decisive_documents", "two_rankings"]

COUNTED = 10  # ranks that the deciding figure of a graded set counts
DECISIVE = 3  # documents that a page names as the cause of a change; taste
DEPTH = 20  # ranks shown: as many as results keep by default
WORDED = 8  # first ranks that show which words they share with the question: it takes time; taste
EXCERPT = 240  # characters of a text: a few lines; taste
PARTS = ("question", "conclusion", "summary")  # fields of an opinion that are read first
MAX_CORPUS_BYTES = 64 * 2**20  # bytes of a corpus file that a page reads, else it shows ids; chosen


class RankedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document at its rank. `other_rank` is where the other run has it, None where it does not
    show it; `why` is what put it there, the strongest first."""

    rank: int
    doc_id: str
    grade: int | None
    title: str = ""
    excerpt: str = ""
    corpus: str = ""  # where it can be read
    other_rank: int | None = None
    moved: int = 0  # ranks up (positive) against the other run
    score: float | None = None
    why: tuple[Reason, ...] = ()


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    run: RunLine
    name: str
    value: float | None
    documents: list[RankedDocument]
    returned: int
    error: str = ""
    note: str = ""  # why a golden question passed or failed
    explained: bool = False


class TwoRankings(msgspec.Struct, frozen=True, kw_only=True):
    query_id: str
    query_text: str
    measure: str
    a: Ranking
    b: Ranking
    previous: str = ""  # the queries before and after it in the run
    next: str = ""


def two_rankings(service: Service, first: str, second: str, query_id: str) -> TwoRankings:
    runs = stored_run(service, first), stored_run(service, second)
    entries = [_entry(run, query_id) for run in runs]
    orders = [list(entry.results) for entry in entries]
    names = names_of(runs)
    wanted = list(dict.fromkeys([*orders[0][:DEPTH], *orders[1][:DEPTH]]))
    texts = [_documents_of_run(service, run.results, wanted) for run in runs]
    both = texts[0] | texts[1]
    both |= {doc_id: found for doc_id, found in texts[0].items() if found[1].title}
    sides = [
        _ranking(service, runs[side], names[side], entries[side], orders[1 - side], both)
        for side in (0, 1)
    ]
    ids = [entry.query_id for entry in runs[1].results.per_query]
    place = ids.index(query_id)
    return TwoRankings(
        query_id=query_id,
        query_text=entries[1].query_text,
        measure=headline(runs[1].results)[1],
        a=sides[0],
        b=sides[1],
        previous=ids[place - 1] if place else "",
        next=ids[place + 1] if place + 1 < len(ids) else "",
    )


def decisive_documents(found: TwoRankings) -> list[tuple[RankedDocument, int | None, int | None]]:
    """The graded documents that moved the figure most in the direction in which it changed, with
    their ranks before and after, the weightiest first. Each counts for its grade, discounted by
    rank, as in nDCG; for other figures there are none."""
    before, after = found.a.value, found.b.value
    if not found.measure.startswith("nDCG") or before is None or after is None:
        return []
    moves: list[tuple[RankedDocument, int | None, int | None]] = [
        (one, one.rank, one.other_rank) for one in found.a.documents
    ]
    moves += [(one, None, one.rank) for one in found.b.documents if one.other_rank is None]
    sign = 1 if after > before else -1

    def weight(move: tuple[RankedDocument, int | None, int | None]) -> float:
        one, old, new = move
        return sign * (one.grade or 0) * (_discount(new) - _discount(old))

    return sorted((move for move in moves if weight(move) > 0), key=weight, reverse=True)[:DECISIVE]


def _discount(rank: int | None) -> float:
    """The weight of a rank in nDCG, 0 for one that is not counted."""
    return 1 / math.log2(1 + rank) if rank is not None and rank <= COUNTED else 0.0


def _entry(run: StoredRun, query_id: str) -> Entry:
    for entry in run.results.per_query:
        if entry.query_id == query_id:
            return entry
    known = ", ".join(entry.query_id for entry in run.results.per_query[:5])
    raise NotHere(f"no query {query_id!r} in this run", hint=f"It has {known}, …")


def _ranking(
    service: Service,
    run: StoredRun,
    name: str,
    entry: Entry,
    other: Sequence[str],
    texts: Mapping[str, tuple[str, Document]],
) -> Ranking:
    elsewhere = {doc_id: rank for rank, doc_id in enumerate(other, 1)}
    hits = {hit.doc_id: hit for hit in entry.hits} if isinstance(entry, GoldenEntry) else {}
    why = _explain_ranking(service, run, entry.query_text)
    placed = []
    for rank, doc_id in enumerate(entry.results[:DEPTH], 1):
        corpus, document = texts.get(doc_id, ("", None))
        hit, reasons_of_hit = hits.get(doc_id), why.get(doc_id)
        there = elsewhere.get(doc_id)
        placed.append(
            RankedDocument(
                rank=rank,
                doc_id=doc_id,
                grade=entry.grades[rank - 1] if rank <= len(entry.grades) else None,
                title=(hit.title if hit else "") or (document.title if document else ""),
                excerpt=_excerpt((hit.text if hit else "") or _opening_text(document)),
                corpus=corpus,
                other_rank=there,
                moved=there - rank if there else 0,
                score=hit.score if hit else None,
                why=reasons(reasons_of_hit) if reasons_of_hit else (),
            )
        )
    value = entry.metrics.get(headline(run.results)[0])
    if isinstance(entry, GoldenEntry):
        value = float(entry.passed)
    return Ranking(
        run=line_of(run, run.results),
        name=name,
        value=None if value is None else float(value),
        documents=placed,
        returned=entry.returned,
        error=entry.error or "",
        note=entry.reason,
        explained=bool(why),
    )


def _opening_text(document: Document | None) -> str:
    """The part of a document that says most at once, such as its conclusion, else its text."""
    if document is None:
        return ""
    return next((document.fields[part] for part in PARTS if document.fields.get(part)), "") or (
        document.text
    )


def _excerpt(text: str) -> str:
    flat = " ".join(text[: 4 * EXCERPT].split())
    return flat if len(flat) <= EXCERPT else f"{flat[:EXCERPT].rsplit(' ', 1)[0]} …"


# ── texts and signals ─────────────────────────────────────────────────────────────────────────────


def _corpus_of_run(results: Results) -> str:
    corpus = results.receipt.inputs.get("corpus")
    return corpus.path if corpus else ""


def _documents_of_run(
    service: Service, results: Results, ids: Sequence[str]
) -> dict[str, tuple[str, Document]]:
    """The documents that the corpus of the run has, with the name they can be read under."""
    name = _corpus_of_run(results)
    if not name:
        return {}
    try:
        if corpora.is_corpus(name, service.home):
            opened = corpora.corpus_named(name, service.home)
            get = (
                open_cached(name, home=service.home).get
                if is_indexed(opened, service.home)
                else None
            )
            known = [doc_id for doc_id in ids if doc_id in opened]
            return {doc_id: (name, (get or opened.get)(doc_id)) for doc_id in known}
        path = Path(name)
        if path.is_file() and path.stat().st_size <= MAX_CORPUS_BYTES:
            status = path.stat()
            every = _documents_in_file(path, status.st_mtime_ns, status.st_size)
            return {doc_id: ("", every[doc_id]) for doc_id in ids if doc_id in every}
    except (AssayError, OSError):  # the ids are shown without their texts
        return {}
    return {}


@lru_cache(maxsize=4)
def _documents_in_file(path: Path, _changed: int, _size: int) -> dict[str, Document]:
    return {document.id: document for document in corpora.documents(path)}


def _explain_ranking(
    service: Service, run: StoredRun, query: str
) -> dict[str, corpora.FoundDocument]:
    """Our own engine is asked again, where its corpus is the one that was searched and is indexed;
    other engines say nothing of why."""
    name = _corpus_of_run(run.results)
    try:
        if not name or not query.strip() or not corpora.is_corpus(name, service.home):
            return {}
        opened = corpora.corpus_named(name, service.home)
        was = run.results.receipt.corpus_fingerprint or ""
        if was.removeprefix("corpus:") != opened.fingerprint or not _is_own_engine(
            service, run, name
        ):
            return {}
        if not is_indexed(opened, service.home):
            return {}
        return _search_again(open_cached(name, home=service.home), query)
    except (AssayError, OSError):
        return {}


def _search_again(corpus: OpenCorpus, query: str) -> dict[str, corpora.FoundDocument]:
    """The first ones with the words that they share with the question, for which their text is
    looked through; the others with what put them there alone."""
    hits = corpus.engine.search(query, DEPTH, explain=True, texts=False)
    found = found_documents(hits, corpus.engine, query, corpus.get, stop=WORDED)
    for rank, hit in enumerate(hits[WORDED:], start=WORDED + 1):
        found.append(
            corpora.FoundDocument(
                rank=rank,
                doc_id=hit.doc_id,
                score=hit.score,
                title="",
                snippet="",
                words=[],
                signals=hit.explanation,
            )
        )
    return {each.doc_id: each for each in found}


def _is_own_engine(service: Service, run: StoredRun, corpus: str) -> bool:
    engines = service.config.engines if service.config else {}
    asked = engines.get(run.engine)
    return run.results.engine == corpus or (asked is not None and asked.engine == corpus)

"""Contract suites for people who write engines, importers, stores or formats for Assay.

    from assay.testing import check_engine

    def test_my_engine():
        check_engine(MyEngine())

Each check raises AssertionError with what was got and what was expected, so that it works in
pytest, in unittest and in a script. `docs/extending.md` says how each kind is written and
registered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError, InputError
from assay.core.types import Document, GoldSet, Hit, Judgment, Query, judgments_to_frame
from assay.corpus.build import import_corpus
from assay.corpus.disk import open_corpus
from assay.corpus.importers.kinds import IMPORTERS, Importer, Options, Problem, Unit, importer
from assay.engines.calling import ask_all
from assay.engines.python import engine_name
from assay.store import StoreUnavailable, open_store
from assay.testing.store import STORE_CHECKS, check_store

__all__ = [
    "STORE_CHECKS",
    "StoreUnavailable",
    "check_engine",
    "check_format",
    "check_importer",
    "check_store",
    "open_store",
]

# Questions, citations, other scripts, and what people paste by mistake.
QUERIES = (
    "may a council member vote on a contract with a relative",
    "Section 87103(a)",
    "kuntalaki 110 § 3 mom.",
    "היטל השבחה",
    "§",
    "?!",
    "a " * 5_000,
    "\x00",
)
NO_OPTIONS: Options = {}


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


# ── engines ───────────────────────────────────────────────────────────────────────────────────────


def check_engine(engine: Any, *, queries: Sequence[str] = QUERIES, top_k: int = 5) -> None:
    """An engine answers every query without failing: a list of at most `top_k` hits, each document
    once, scores that fall, and the same list when it is asked again."""
    _require(callable(getattr(engine, "search", None)), "an engine has search(query, top_k)")
    name = engine_name(engine)
    _require(bool(name.strip()), "the name of the engine is empty")
    asked = [Query(id=f"q{number}", text=text) for number, text in enumerate(queries)]
    first, again = (_answers(engine, asked, top_k) for _ in range(2))
    for query, hits, repeated in zip(asked, first, again, strict=True):
        about = f"{name} on {query.text[:60]!r}"
        _check_ranking(about, hits)
        count = len(list(engine.search(query.text, top_k)))
        _require(count <= top_k, f"{about}: {count} hits, at most {top_k} were asked for")
        ids = [[hit.doc_id for hit in ranking] for ranking in (hits, repeated)]
        _require(ids[0] == ids[1], f"{about}: {ids[0]}, and when asked again {ids[1]}")


def _answers(engine: Any, queries: Sequence[Query], top_k: int) -> list[tuple[Hit, ...]]:
    try:
        _, results = ask_all(engine, queries, top_k=top_k)
    except AssayError as error:
        raise AssertionError(str(error)) from error
    for query, result in zip(queries, results, strict=True):
        _require(not result.error, f"search failed on {query.text[:60]!r}: {result.error}")
    return [result.hits for result in results]


def _check_ranking(about: str, hits: Sequence[Hit]) -> None:
    ids = [hit.doc_id for hit in hits]
    _require(len(set(ids)) == len(ids), f"{about}: a document appears twice in {ids}")
    scores = [hit.score for hit in hits if hit.score is not None]
    _require(len(scores) in (0, len(hits)), f"{about}: some hits have a score, and some have none")
    _require(all(map(math.isfinite, scores)), f"{about}: a score is not a number in {scores}")
    _require(scores == sorted(scores, reverse=True), f"{about}: scores rise in {scores}")


# ── importers ─────────────────────────────────────────────────────────────────────────────────────


def check_importer(
    written: Importer | str, source: Path | str, home: Path, *, options: Options = NO_OPTIONS
) -> None:
    """An importer, or the kind it is registered under, reads a source: the same documents each
    time, every one with an id of its own. By its kind it is imported for real too, into the
    workspace `home`."""
    reader = importer(written) if isinstance(written, str) else written
    _require(isinstance(getattr(reader, "VERSION", None), int), "VERSION is a whole number")
    _require(hasattr(reader, "SCHEME"), "an importer has a SCHEME")
    units = reader.units(str(source), options)
    _require(bool(units), f"units() gave nothing to read in {source}")
    _require(units == reader.units(str(source), options), "units() gives others when asked again")
    paths = [unit.path for unit in units]
    _require(len(set(paths)) == len(paths), f"a path appears twice among the units: {paths}")
    first, again = (_documents(reader, str(source), units, options) for _ in range(2))
    _require(bool(first), f"no document was read from {source}")
    _require(first == again, "reading twice gives different documents")
    ids = [document.id for document in first]
    _require(all(ids), "a document has no id")
    _require(len(set(ids)) == len(ids), "an id appears twice")
    if isinstance(written, str):
        _check_import(written, source, home, options, ids)


def _documents(
    reader: Importer, source: str, units: Sequence[Unit], options: Options
) -> list[Document]:
    documents = []
    for unit in units:
        for record in reader.read(source, unit, options):
            if isinstance(record, Problem):
                is_complete = all((record.code, record.where, record.reason))
                _require(is_complete, f"a problem says what, where and why, not {record!r}")
                continue
            document = record[1] if isinstance(record, tuple) else record
            kind = type(document).__name__
            _require(isinstance(document, Document), f"read() gave {kind}, expected a Document")
            documents.append(document)
    return documents


def _check_import(
    kind: str, source: Path | str, home: Path, options: Options, ids: Sequence[str]
) -> None:
    _require(kind in IMPORTERS.built_in or bool(importer(kind)), f"{kind} is not registered")
    import_corpus(kind, source, name="checked", home=home, options=options)
    corpus = open_corpus(home, "checked")
    kept = {document.id for document in corpus.iter()}
    _require(kept == set(ids), f"the corpus has {sorted(kept)[:5]}, …; read were {ids[:5]}, …")
    if getattr(importer(kind), "OPTIONS", None) is None:
        return
    try:
        import_corpus(kind, source, name="checked", home=home, options={"no such option": "x"})
    except InputError:
        return
    raise AssertionError("an option that is not in OPTIONS was taken")


# ── formats ───────────────────────────────────────────────────────────────────────────────────────


def check_format(module: Any, path: Path) -> None:
    """A format of gold sets gives back what was written to `path`, and names the file it cannot
    read. A format of runs alone has nothing to give back, and no suite."""
    for name in ("read_gold", "write_gold"):
        _require(
            callable(getattr(module, name, None)),
            f"a format of gold sets has read_gold and write_gold, and this one has no {name}",
        )
    gold = GoldSet(
        name="checked",
        queries=(Query(id="q1", text="lahja"), Query(id="q2", text="היטל השבחה")),
        judgments=judgments_to_frame(
            [
                Judgment(query_id="q1", doc_id="a", grade=1),
                Judgment(query_id="q1", doc_id="b", grade=1),
                Judgment(query_id="q2", doc_id="a", grade=1),
            ]
        ),
    )
    written = module.write_gold(gold, path)
    _require(bool(written) and all(file.exists() for file in written), "write_gold says its files")
    read = module.read_gold(path)
    texts = [[(query.id, query.text) for query in each.queries] for each in (gold, read)]
    _require(texts[0] == texts[1], f"wrote the queries {texts[0]}, read {texts[1]}")
    pairs = [_judged(each) for each in (gold, read)]
    _require(pairs[0] == pairs[1], f"wrote the judgments {pairs[0]}, read {pairs[1]}")
    for file in written:
        file.write_bytes(b"\xff\xfe not a gold set")
    try:
        module.read_gold(path)
    except InputError as error:
        named = any(file.name in str(error) for file in written)
        _require(named, f"the complaint names no file: {error}")
        return
    raise AssertionError("a file that is not a gold set was read")


def _judged(gold: GoldSet) -> list[tuple[str, str, int]]:
    judgments = gold.iter_judgments()
    return sorted((judged.query_id, judged.doc_id, judged.grade) for judged in judgments)

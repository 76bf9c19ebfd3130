"""The contract suites hold for our own engines, importers, stores and formats, and name what breaks
them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay import formats
from assay.core import plugins
from assay.core.types import Document, Hit
from assay.corpus.build import import_corpus
from assay.corpus.importers import tabular
from assay.engines.baselines import Bm25Engine, Bm25FormsEngine, RandomEngine
from assay.engines.indexed import index_corpus, open_indexed
from assay.engines.python import load_engine
from assay.law.citation import Scheme
from assay.store import Store, open_store
from assay.testing import check_engine, check_format, check_importer, check_store

SAMPLES = Path(__file__).parents[1] / "samples"
DATA = Path(__file__).parent / "corpus" / "data"
DOCUMENTS = [Document(id=f"d{n}", text=f"may a council member vote {n}") for n in range(9)]


# ── engines ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("make", [Bm25Engine, Bm25FormsEngine, RandomEngine])
def test_our_baselines_are_engines(make: Callable[[list[Document]], Any]) -> None:
    check_engine(make(DOCUMENTS))


def test_forms_of_words_are_found_in_the_language_of_the_documents() -> None:
    for asked, texts in (
        ("terminating leases", ["The lease was terminated.", "A ferry sank."]),
        ("vuokrasopimuksen irtisanominen", ["Vuokrasopimus irtisanotaan.", "Lautta upposi."]),
    ):
        documents = [Document(id=f"d{n}", text=text) for n, text in enumerate(texts)]
        assert Bm25Engine(documents).search(asked) == []
        assert [hit.doc_id for hit in Bm25FormsEngine(documents).search(asked)] == ["d0"]


def test_our_own_engine_is_one(tmp_path: Path) -> None:
    import_corpus("jsonl", SAMPLES / "he" / "precedents.jsonl", name="precedents", home=tmp_path)
    index_corpus("precedents", home=tmp_path, dense=False)
    check_engine(open_indexed("precedents", home=tmp_path))


def test_the_engine_of_the_samples_is_one(imports_restored: None) -> None:
    check_engine(load_engine(str(SAMPLES / "en" / "my_engine.py")))


def engine(search: Callable[[str, int], Any], name: str = "mine") -> Any:
    return SimpleNamespace(search=search, name=lambda: name)


ANSWERS: dict[str, tuple[Callable[[str, int], Any], str]] = {
    "fails": (lambda query, top_k: 1 / 0, "failed on"),
    "none": (lambda query, top_k: None, "expected a list"),
    "numbers": (lambda query, top_k: [1], "expected a document id"),
    "twice": (lambda query, top_k: ["a", "a"], "appears twice"),
    "too many": (lambda query, top_k: [f"d{n}" for n in range(top_k + 1)], "6 hits, at most 5"),
    "rising": (lambda query, top_k: [Hit(doc_id="a", score=1), Hit(doc_id="b", score=2)], "rise"),
    "other each time": (lambda query, top_k: [uuid.uuid4().hex], "when asked again"),
    "some scores": (lambda query, top_k: [Hit(doc_id="a", score=1), "b"], "some have none"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_an_engine_that_breaks_its_contract_is_told_how(case: str) -> None:
    search, said = ANSWERS[case]
    with pytest.raises(AssertionError, match=said):
        check_engine(engine(search))


# ── importers ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("jsonl", SAMPLES / "he" / "precedents.jsonl"),
        ("jsonl", SAMPLES / "fi" / "saaristokuntalaki.jsonl"),
        ("fppc", SAMPLES / "en" / "opinions"),
        ("akn", DATA / "act.xml"),
    ],
)
def test_our_importers_are_importers(kind: str, source: Path, tmp_path: Path) -> None:
    check_importer(kind, source, tmp_path)


def test_the_importer_of_tables(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("id,text\na,one\nb,two\n")
    check_importer("csv", tmp_path / "cases.csv", tmp_path / "home")
    check_importer(tabular, tmp_path / "cases.csv", tmp_path / "home")


def test_an_importer_that_breaks_its_contract_is_told_how(tmp_path: Path) -> None:
    def broken(read: Callable[..., Any], **more: Any) -> Any:
        given = {"VERSION": 1, "SCHEME": Scheme(), "read": read, "units": tabular.units}
        return SimpleNamespace(**{**given, **more})

    same_id = [Document(id="a"), Document(id="a")]
    cases: list[tuple[Any, str]] = [
        (broken(lambda *_: iter(()), units=lambda *_: []), "nothing to read"),
        (broken(lambda *_: iter(())), "no document was read"),
        (broken(lambda *_: iter(same_id)), "an id appears twice"),
        (broken(lambda *_: iter([Document(id=uuid.uuid4().hex)])), "reading twice"),
        (broken(lambda *_: iter(["text"])), "expected a Document"),
        (broken(lambda *_: iter(()), VERSION="new"), "VERSION is a whole number"),
    ]
    (tmp_path / "a.csv").write_text("id,text\na,one\n")
    for written, said in cases:
        with pytest.raises(AssertionError, match=said):
            check_importer(written, tmp_path / "a.csv", tmp_path)


# ── stores and formats ────────────────────────────────────────────────────────────────────────────


def test_our_store_is_a_store(tmp_path: Path) -> None:
    """Promise by promise, on both databases: tests/store/test_store_contract.py."""
    check_store(lambda: open_store(tmp_path / f"{uuid.uuid4().hex}.db"))


def test_a_store_that_breaks_a_promise_is_told_which(tmp_path: Path) -> None:
    class Forgetful:
        def __init__(self) -> None:
            self._kept = open_store(tmp_path / f"{uuid.uuid4().hex}.db")

        def __getattr__(self, name: str) -> Any:
            return getattr(self._kept, name)

        def add_searches(self, searches: Any) -> int:
            return len(searches)

    def forgetful() -> Store:
        return Forgetful()  # type: ignore[return-value]

    with pytest.raises(AssertionError, match="searches_come_back_as_given: got \\[\\], expected"):
        check_store(forgetful)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("json", "g.json"),
        ("jsonl", "g.jsonl"),
        ("csv", "g.csv"),
        ("trec", "g.qrels"),
        ("beir", "g"),
    ],
)
def test_our_formats_give_back_what_they_were_given(name: str, file: str, tmp_path: Path) -> None:
    check_format(plugins.load(formats.GOLD, name), tmp_path / file)


def test_a_format_of_runs_alone_is_told_that_the_suite_is_for_gold_sets(tmp_path: Path) -> None:
    of_runs = plugins.load(formats.RUN, "json")
    assert not hasattr(of_runs, "write_gold")
    with pytest.raises(AssertionError, match="and this one has no read_gold"):
        check_format(of_runs, tmp_path / "g.json")
    half = SimpleNamespace(read_gold=lambda path: None)
    with pytest.raises(AssertionError, match="and this one has no write_gold"):
        check_format(half, tmp_path / "g.json")

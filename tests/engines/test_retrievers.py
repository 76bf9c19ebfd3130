"""What can be asked, by its shape. The retrievers are those of the real packages, where they are
installed; the light ones beside them have the shape alone."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.core.errors import EngineError, InputError
from assay.core.types import Query
from assay.engines.calling import ask_all
from assay.engines.python import as_engine, engine_name, is_engine, load_engine

TEXTS = {
    "gifts": "An official may not accept a gift above the limit.",
    "recusal": "A commissioner must leave the room when the hearing concerns her home.",
    "tickets": "Free tickets are a gift, and the limit counts their face value.",
    "travel": "Travel paid by a city is no gift to its official.",
}
ASKED = [Query(id="q1", text="Is a free ticket a gift?"), Query(id="q2", text="hearing about home")]


def answers(engine: Any, top_k: int = 3) -> list[list[str]]:
    _, results = ask_all(as_engine(engine), ASKED, top_k=top_k)
    assert not [result.error for result in results if result.error]
    return [[hit.doc_id for hit in result.hits] for result in results]


def by_words(query: str, top_k: int) -> list[str]:
    """The documents that share the most words with the query."""
    asked = set(query.lower().strip("?").split())
    shared = {id: len(asked & set(text.lower().split())) for id, text in TEXTS.items()}
    ranked = sorted(TEXTS, key=lambda id: (-shared[id], id))
    return [id for id in ranked if shared[id]][:top_k]


EXPECTED = [by_words(query.text, 3) for query in ASKED]


class Plain:
    def search(self, query: str, top_k: int = 20) -> list[str]:
        return by_words(query, top_k)


class Waiting:
    def name(self) -> str:
        return "slow court"

    async def search(self, query: str, top_k: int = 20, as_of: str = "") -> list[str]:
        await asyncio.sleep(0)
        return by_words(query, top_k)


async def waited(query: str, k: int) -> list[str]:
    await asyncio.sleep(0)
    return by_words(query, k)


def query_alone(query: str) -> list[str]:
    return by_words(query, len(TEXTS))


def with_corpus(query: str, corpus: str = "") -> list[str]:
    assert not corpus
    return by_words(query, len(TEXTS))


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def plain(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return plain


async def yielded(query: str, top_k: int) -> AsyncIterator[str]:
    for id in by_words(query, top_k):
        yield id


class ByName:
    def search(self, question: str, *, limit: int = 5) -> list[str]:
        return by_words(question, limit)


class Alone:
    async def search(self, query: str) -> list[str]:
        return by_words(query, len(TEXTS))


class Called:
    def __call__(self, query: str, limit: int = 5) -> list[str]:
        return by_words(query, limit)


@pytest.mark.parametrize(
    "engine",
    [
        Plain(),
        Waiting(),
        by_words,
        waited,
        query_alone,
        with_corpus,
        Called(),
        ByName(),
        Alone(),
        decorated(waited),
        functools.partial(waited),
        yielded,
        lambda text, n: by_words(text, n),
    ],
    ids=lambda engine: getattr(engine, "__name__", type(engine).__name__),
)
def test_objects_and_functions_plain_and_async(engine: Any) -> None:
    assert EXPECTED[0]
    assert answers(engine) == EXPECTED


def test_names_and_parameters_are_those_of_what_was_given() -> None:
    waiting = as_engine(Waiting())
    assert engine_name(waiting) == "slow court"
    assert "as_of" in inspect.signature(waiting.search).parameters
    assert engine_name(as_engine(waited)) == "waited"
    assert "corpus" in inspect.signature(as_engine(with_corpus).search).parameters


def test_an_async_engine_keeps_its_loop_between_calls() -> None:
    loops = []

    async def search(query: str, top_k: int) -> list[str]:
        loops.append(asyncio.get_running_loop())
        return ["a"]

    engine = as_engine(search)
    assert [engine.search("x", 1), engine.search("y", 1)] == [["a"], ["a"]]
    assert loops[0] is loops[1]


def test_what_an_async_engine_raises_is_a_failed_call() -> None:
    async def search(query: str, top_k: int) -> list[str]:
        if "gift" in query:
            raise ValueError("no gifts")
        return ["a"]

    _, results = ask_all(as_engine(search), ASKED, top_k=3)
    assert [result.error for result in results] == ["ValueError: no gifts", None]


class NoQuery:
    def run(self, embedding: list[float]) -> dict[str, list[str]]:
        return {"documents": []}


@pytest.mark.parametrize(
    "thing",
    [None, 7, "engine", {"a": 1}, [1], Plain, NoQuery(), lambda: [], lambda a, b, c: [], object()],
    ids=lambda thing: type(thing).__name__,
)
def test_anything_else_is_refused_with_what_was_expected(thing: Any) -> None:
    assert not is_engine(thing)
    with pytest.raises(InputError) as refused:
        as_engine(thing)
    assert "cannot be searched" in str(refused.value)
    assert "LangChain, LlamaIndex or Haystack" in refused.value.hint


# ── light ones with the shape alone ───────────────────────────────────────────────────────────────


class Chain:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def invoke(self, query: str) -> Any:
        return self.answer

    async def ainvoke(self, query: str) -> Any:
        return self.answer


def passage(id: str | None, text: str = "", **metadata: Any) -> Any:
    return SimpleNamespace(id=id, page_content=text, metadata=metadata)


def test_passages_of_one_document_are_one_hit_by_its_id() -> None:
    found = [
        passage("chunk-1", "first", doc_id="a", title="A"),
        passage("chunk-2", "second", doc_id="a"),
        passage("b"),
    ]
    hits = as_engine(Chain(found)).search("x", 5)
    assert [(hit.doc_id, hit.title, hit.text) for hit in hits] == [
        ("a", "A", "first"),
        ("b", "", ""),
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("text of a model", "expected a list of documents"),
        ({"answer": 1}, "expected a list of documents"),
        (["a string"], "expected documents"),
        ([passage(None, source="x.pdf")], "has no id"),
    ],
)
def test_a_chain_that_gives_no_documents_is_named(answer: Any, said: str) -> None:
    with pytest.raises((EngineError, InputError), match=said):
        as_engine(Chain(answer)).search("x", 5)


# ── the real packages ─────────────────────────────────────────────────────────────────────────────


def test_a_langchain_retriever() -> None:
    core = pytest.importorskip("langchain_core", reason="needs the package langchain-core")
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    assert core.__version__

    class Words(BaseRetriever):
        k: int = 1

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(id=id, page_content=TEXTS[id]) for id in by_words(query, self.k)]

    assert answers(Words()) == EXPECTED


def test_a_retriever_of_a_langchain_vector_store_is_asked_for_as_many_as_are_wanted() -> None:
    pytest.importorskip("langchain_core", reason="needs the package langchain-core")
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_texts(list(TEXTS.values()), [{"doc_id": id} for id in TEXTS])
    retriever = store.as_retriever(search_kwargs={"k": 1})
    exact = [
        [document.metadata["doc_id"] for document in store.similarity_search(query.text, k=3)]
        for query in ASKED
    ]
    assert answers(retriever) == exact
    assert retriever.search_kwargs == {"k": 1}
    assert answers(store) == exact  # the store itself, which is asked through its retriever


def test_a_llama_index_retriever() -> None:
    pytest.importorskip("llama_index.core", reason="needs the package llama-index-core")
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

    class Words(BaseRetriever):
        similarity_top_k = 1

        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            found = by_words(query_bundle.query_str, self.similarity_top_k)
            nodes = [TextNode(id_=f"chunk of {id}", text=TEXTS[id]) for id in found]
            for id, node in zip(found, nodes, strict=True):
                node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=id)
            return [NodeWithScore(node=node, score=1 / (n + 1)) for n, node in enumerate(nodes)]

    retriever = Words()
    assert answers(retriever) == EXPECTED
    assert retriever.similarity_top_k == 1
    assert as_engine(retriever).search("a gift", 1)[0].score == 1.0


def haystack_store() -> Any:
    pytest.importorskip("haystack", reason="needs the package haystack-ai")
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents(
        [Document(content=text, meta={"doc_id": id}) for id, text in TEXTS.items()]
    )
    return store


def test_a_haystack_retriever_and_a_pipeline_with_one() -> None:
    store = haystack_store()
    from haystack import Pipeline
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

    exact = [
        [found.meta["doc_id"] for found in store.bm25_retrieval(query.text, top_k=3)]
        for query in ASKED
    ]
    assert exact[0] != exact[1]
    assert answers(InMemoryBM25Retriever(document_store=store, top_k=1)) == exact
    pipeline = Pipeline()
    pipeline.add_component("words", InMemoryBM25Retriever(document_store=store, top_k=1))
    assert answers(pipeline) == exact


def test_a_haystack_retriever_that_wants_a_vector_is_refused() -> None:
    store = haystack_store()
    from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever

    with pytest.raises(InputError, match="cannot be searched"):
        as_engine(InMemoryEmbeddingRetriever(document_store=store))


# ── from a module ─────────────────────────────────────────────────────────────────────────────────

MODULE = """
async def search(query, top_k):
    return ["a", "b"][:top_k]

async def other(query):
    return ["c"]

class Chain:
    def invoke(self, query): return []
    async def ainvoke(self, query): return []

NUMBER = 7
"""


def module(folder: Path, text: str, name: str = "shaped") -> str:
    path = folder / f"{name}.py"
    path.write_text(text)
    return str(path)


def test_a_module_may_have_a_function_or_a_retriever(tmp_path: Path) -> None:
    spec = module(tmp_path, MODULE)
    assert load_engine(spec).search("x", 1) == ["a"]
    assert engine_name(load_engine(spec)) == "shaped"
    assert load_engine(f"{spec}:other").search("x", 1) == ["c"]
    assert load_engine(f"{spec}:Chain").search("x", 1) == []
    alone = module(
        tmp_path, MODULE.split("class")[1].join(["class", "\nrag = Chain()\n"]), "shaped_alone"
    )
    assert engine_name(load_engine(alone)) == "Chain"


def test_a_name_in_a_module_that_is_no_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be searched") as refused:
        load_engine(f"{module(tmp_path, MODULE)}:NUMBER")
    assert "search(query, top_k)" in refused.value.hint


def test_a_module_with_several_that_could_be_meant_names_them(tmp_path: Path) -> None:
    file = tmp_path / "several_engines.py"
    file.write_text("from glob import glob\ndef one(query): ...\ndef other(query, k): ...\n")
    with pytest.raises(InputError, match="candidates for the engine: one, other") as refused:
        load_engine(str(file))
    assert refused.value.hint.endswith("several_engines.py:one.")


def test_in_python_a_function_becomes_a_run() -> None:
    import assay

    run = assay.ask(waited, ASKED, top_k=3)
    assert [run.doc_ids(query.id) for query in ASKED] == EXPECTED
    assert run.engine == "waited"

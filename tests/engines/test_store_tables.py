"""Vector and SQL stores by a table of assay.toml, on the real thing: PostgreSQL with pgvector,
Qdrant in a folder, Milvus in a file, LanceDB, and Chroma in a folder and on its server."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import AssayError, EngineError, InputError
from assay.core.extras import MissingExtra
from assay.engines import engine_table
from assay.engines.running import open_engine
from assay.engines.stores.vector_store import query_vector
from assay.search.dense import named_encoder
from assay.testing import check_engine
from assay.workbench.project.config import read_config
from kit.commands import Assay

TEXTS = {
    "gifts": "An official may not accept a gift above the limit.",
    "recusal": "A commissioner must leave the room when the hearing concerns her home.",
    "tickets": "Free tickets are a gift, and the limit counts their face value.",
    "travel": "Travel paid by a city is no gift to its official.",
    "reports": "Each committee files a report of contributions twice a year.",
    "lobbying": "A lobbyist registers before the first meeting with an agency.",
}
YEARS = {id: 2000 + number % 2 for number, id in enumerate(TEXTS)}
QUESTION = "May the mayor take concert tickets for free?"
EXAMPLES = (Path(__file__).parents[2] / "docs" / "examples-stores.md").read_text()

pytestmark = pytest.mark.filterwarnings("ignore")  # of the packages, on their own use of others


def vectors() -> dict[str, list[float]]:
    made = named_encoder("minilm-l6").queries(list(TEXTS.values()))
    return {id: row.tolist() for id, row in zip(TEXTS, made, strict=True)}


def nearest(question: str, among: set[str] | None = None) -> list[str]:
    asked = np.array(query_vector("minilm-l6", question))
    likeness = {id: float(np.dot(asked, row)) for id, row in vectors().items()}
    return [id for id in sorted(likeness, key=lambda id: -likeness[id]) if not among or id in among]


# ── filling each of them, as a team would have ────────────────────────────────────────────────────


def fill_qdrant(place: str) -> None:
    client_module = pytest.importorskip("qdrant_client", reason="needs the package qdrant-client")
    models = client_module.models
    client = client_module.QdrantClient(path=place)
    size = models.VectorParams(size=384, distance=models.Distance.COSINE)
    client.create_collection("opinions", vectors_config=size)
    points = [
        models.PointStruct(
            id=number,
            vector=vectors()[id],
            payload={"doc_id": id, "text": text, "title": id, "year": YEARS[id]},
        )
        for number, (id, text) in enumerate(TEXTS.items())
    ]
    client.upsert("opinions", points)
    client.close()


def fill_milvus(place: str) -> None:
    pymilvus = pytest.importorskip("pymilvus", reason="needs the package pymilvus")
    pytest.importorskip("milvus_lite", reason="needs the package milvus-lite")
    client = pymilvus.MilvusClient(place)
    client.create_collection("opinions", dimension=384, metric_type="COSINE")
    rows = [
        {"id": number, "vector": vectors()[id], "doc_id": id, "text": text, "year": YEARS[id]}
        for number, (id, text) in enumerate(TEXTS.items())
    ]
    client.insert("opinions", [row | {"title": row["doc_id"]} for row in rows])
    client.close()


def release_milvus(place: str) -> None:
    """Let another process open the file: the server inside this one holds it until the end."""
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_server(place)


def fill_lancedb(place: str) -> None:
    lancedb = pytest.importorskip("lancedb", reason="needs the package lancedb")
    rows = [
        {"id": id, "vector": vectors()[id], "text": text, "title": id, "year": YEARS[id]}
        for id, text in TEXTS.items()
    ]
    lancedb.connect(place).create_table("opinions", rows)


def add_to_chroma(client: Any) -> None:
    collection = client.create_collection(
        "opinions", embedding_function=None, metadata={"hnsw:space": "cosine"}
    )
    collection.add(
        ids=list(TEXTS),
        embeddings=list(vectors().values()),
        documents=list(TEXTS.values()),
        metadatas=[{"title": id, "year": YEARS[id]} for id in TEXTS],
    )


def fill_chroma(place: str) -> None:
    chromadb = pytest.importorskip("chromadb", reason="needs the package chromadb")
    settings = chromadb.Settings(anonymized_telemetry=False)
    add_to_chroma(chromadb.PersistentClient(path=place, settings=settings))


FILLED: dict[str, Callable[[str], None]] = {
    "qdrant": fill_qdrant,
    "milvus": fill_milvus,
    "lancedb": fill_lancedb,
    "chroma": fill_chroma,
}
FILTER = {
    "qdrant": '{ must = [{ key = "year", match = { value = 2000 } }] }',
    "milvus": '"year == 2000"',
    "lancedb": '"year = 2000"',
    "chroma": "{ year = 2000 }",
}


def place_of(kind: str, folder: Path) -> str:
    return str(folder / ("store.db" if kind == "milvus" else "store"))


def table(folder: Path, kind: str, place: str, more: str = "") -> Any:
    """The engine that a file with this table describes."""
    file = folder / "assay.toml"
    (folder / "gold.json").write_text("{}")
    file.write_text(
        f'[gold.g]\npath = "gold.json"\n\n[engines.mine]\n{kind} = "{place}"\n'
        f'collection = "opinions"\n{more}\n'
    )
    return open_engine(read_config(file).engines["mine"])


@pytest.fixture(params=FILLED)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    FILLED[request.param](place_of(request.param, tmp_path))
    return str(request.param)


def test_a_table_gives_the_nearest_documents(kind: str, tmp_path: Path) -> None:
    engine = table(tmp_path, kind, Path(place_of(kind, tmp_path)).name)  # found from the file
    hits = engine.search(QUESTION, 4)
    assert [hit.doc_id for hit in hits] == nearest(QUESTION)[:4]
    assert (hits[0].title, hits[0].text) == ("tickets", TEXTS["tickets"])
    assert hits[0].metadata["year"] == YEARS["tickets"]
    check_engine(engine)
    even = {id for id, year in YEARS.items() if year == 2000}
    filtered = table(tmp_path, kind, place_of(kind, tmp_path), f"filter = {FILTER[kind]}")
    close(engine)
    assert [hit.doc_id for hit in filtered.search(QUESTION, 6)] == nearest(QUESTION, even)
    odd = {id for id, year in YEARS.items() if year == 2001}
    close(filtered)
    of_row = table(tmp_path, kind, place_of(kind, tmp_path))
    asked = [hit.doc_id for hit in of_row.search(QUESTION, 6, filters={"year": 2001})]
    assert asked == nearest(QUESTION, odd)
    close(of_row)


def close(engine: Any) -> None:
    with contextlib.suppress(AttributeError):
        engine._opened.close()


def test_another_encoder_than_the_vectors_are_of_is_named(kind: str, tmp_path: Path) -> None:
    engine = table(tmp_path, kind, place_of(kind, tmp_path), 'encoder = "static-fi-1"')
    with pytest.raises(EngineError, match=r"mine: .*384.*the encoder static-fi-1 gives 192"):
        engine.search("lahjat", 3)
    close(engine)


def test_what_is_not_there_is_named(kind: str, tmp_path: Path) -> None:
    engine = table(tmp_path, kind, place_of(kind, tmp_path))
    missing = open_engine_with(tmp_path, 'collection = "opinions"', 'collection = "other-one"')
    with pytest.raises(InputError, match=r"no (collection|table) 'other-one'") as refused:
        missing.search(QUESTION, 3)
    assert refused.value.hint == "There is: opinions."
    del refused  # which holds a store in a folder open
    by_id = open_engine_with(tmp_path, 'collection = "other-one"', 'collection = "opinions"')
    close(missing)
    assert by_id.search(QUESTION, 1)
    close(by_id)
    close(engine)


def test_an_empty_collection_cannot_be_measured(assay_cli: Assay, tmp_path: Path) -> None:
    client_module = pytest.importorskip("qdrant_client", reason="needs the package qdrant-client")
    models = client_module.models
    client = client_module.QdrantClient(path=place_of("qdrant", tmp_path))
    size = models.VectorParams(size=384, distance=models.Distance.COSINE)
    client.create_collection("opinions", vectors_config=size)
    client.close()
    table(tmp_path, "qdrant", place_of("qdrant", tmp_path))
    tried = assay_cli("engines", "test", "mine", QUESTION)
    assert tried.code == 4
    assert "the collection 'opinions' is empty" in tried.out + tried.err


def test_a_store_that_is_not_there_is_not_made(kind: str, tmp_path: Path) -> None:
    place = Path(place_of(kind, tmp_path / "elsewhere"))
    with pytest.raises(InputError, match="there is nothing at") as refused:
        table(tmp_path, kind, str(place)).search(QUESTION, 3)
    assert refused.value.where == f"engines.mine.{kind}"
    assert not place.exists()
    assert not place.parent.exists()


def open_engine_with(folder: Path, before: str, after: str) -> Any:
    file = folder / "assay.toml"
    file.write_text(file.read_text().replace(before, after))
    return open_engine(read_config(file).engines["mine"])


@pytest.mark.parametrize(
    ("kind", "module"),
    [
        ("qdrant", "qdrant_client"),
        ("milvus", "pymilvus"),
        ("lancedb", "lancedb"),
        ("chroma", "chromadb"),
    ],
)
def test_a_missing_extra_is_one_sentence(
    kind: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"needs the extra .*\[{kind}\]") as refused:
        table(tmp_path, kind, place_of(kind, tmp_path)).search(QUESTION, 3)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('encoder = "none-such"', "unknown encoder"),
        ("colection = 1", "Did you mean collection"),
    ],
)
def test_a_table_is_checked_before_anything_is_opened(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=said):
        table(tmp_path, "qdrant", "store", more)


def test_lancedb_knows_three_distances(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of cosine, dot and l2"):
        table(tmp_path, "lancedb", "store", 'distance = "far"')


# ── deprecated tables, and the examples that replace them ─────────────────────────────────────────


@pytest.mark.parametrize("kind", ["chroma", "lancedb", "milvus"])
def test_a_deprecated_table_warns_once_and_names_the_example(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine_table._warn_deprecated.cache_clear()
    with caplog.at_level(logging.WARNING):
        table(tmp_path, kind, "store")
        table(tmp_path, kind, "store")
    assert [record.getMessage() for record in caplog.records] == [
        f"engines.mine: the key {kind} is deprecated and will be removed in the next release; "
        f"use a Python engine instead: docs/examples-stores.md#{kind}"
    ]
    assert kind in re.findall(r"^## (.*)$", EXAMPLES.lower(), flags=re.MULTILINE)


@pytest.mark.parametrize("kind", ["chroma", "lancedb", "milvus"])
def test_the_example_of_a_store_is_a_whole_engine(
    kind: str, tmp_path: Path, assay_cli: Assay
) -> None:
    FILLED[kind](place_of(kind, tmp_path))
    if kind == "milvus":
        release_milvus(place_of(kind, tmp_path))
    name = f"{kind}_engine"
    code = next(
        block
        for block in re.findall(r"```python\n(.*?)```", EXAMPLES, flags=re.DOTALL)
        if block.startswith(f"# {name}.py\n")
    )
    assert len([line for line in code.splitlines()[1:] if line]) <= 10
    (tmp_path / f"{name}.py").write_text(code)
    (tmp_path / "assay.toml").write_text(f'[engines.mine]\nsearch_module = "{name}"\n')
    tried = assay_cli("engines", "test", "mine", QUESTION, "--json")
    assert (tried.code, tried.json["wrong"]) == (0, []), tried.err
    assert [hit["doc_id"] for hit in tried.json["hits"]] == nearest(QUESTION)
    scores = [hit["score"] for hit in tried.json["hits"]]
    assert scores == sorted(scores, reverse=True)


# ── Chroma's server ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def chroma_server(tmp_path: Path) -> Iterator[str]:
    chromadb = pytest.importorskip("chromadb", reason="needs the package chromadb")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(tmp_path / "c")]
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1)
                break
            time.sleep(0.1)
        settings = chromadb.Settings(anonymized_telemetry=False)
        add_to_chroma(chromadb.HttpClient(host="127.0.0.1", port=port, settings=settings))
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def test_chroma_on_its_server(chroma_server: str, tmp_path: Path) -> None:
    engine = table(tmp_path, "chroma", chroma_server)
    assert [hit.doc_id for hit in engine.search(QUESTION, 4)] == nearest(QUESTION)[:4]


def test_a_server_that_is_away_is_an_error_of_the_engine(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client", reason="needs the package qdrant-client")
    engine = table(tmp_path, "qdrant", "http://127.0.0.1:9")
    with pytest.raises(EngineError, match="mine: "):
        engine.search(QUESTION, 3)


# ── PostgreSQL ────────────────────────────────────────────────────────────────────────────────────


def test_postgres_by_a_table(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    psycopg = pytest.importorskip("psycopg", reason="needs the package psycopg[binary]")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE opinions (id text, body text, embedding vector(384))")
        for id, text in TEXTS.items():
            row = (id, text, str(vectors()[id]))
            connection.execute("INSERT INTO opinions VALUES (%s, %s, %s)", row)
    monkeypatch.setenv("COURT_DATABASE", postgres_url)
    more = (
        'table = "opinions"\ntext = "body"\nvector = "embedding"\nfull_text_weight = 0.0\n'
        "trigram_weight = 0.0"
    )
    file = tmp_path / "assay.toml"
    (tmp_path / "gold.json").write_text("{}")
    start = '[gold.g]\npath = "gold.json"\n[engines.sql]\npostgres = "env:COURT_DATABASE"\n'
    file.write_text(start + more)
    engine = open_engine(read_config(file).engines["sql"])
    assert engine.name() == "sql"
    assert [hit.doc_id for hit in engine.search(QUESTION, 4)] == nearest(QUESTION)[:4]
    file.write_text(start + 'table = "opinions"\ntext = "body"\nconfig = "english"')
    by_words = open_engine(read_config(file).engines["sql"])
    assert by_words.search("lobbyists registering", 3)[0].doc_id == "lobbying"
    file.write_text(start)
    with pytest.raises(InputError, match="name a table"):
        read_config(file)

"""Our ranking on other engines: PostgreSQL with pgvector, Qdrant in a folder and Milvus in a file
are the real thing; OpenSearch is its documented protocol, replayed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opensearch_replay import Replay, served

from assay.core.errors import EngineError, InputError
from assay.engines.engine_table import kind_of
from assay.engines.external_ranking import ExternalRankingEngine, external_store
from assay.engines.indexed import open_indexed
from assay.engines.stores import qdrant
from assay.engines.stores.loading import load_corpus
from assay.formats import read_gold
from assay.search import engine, index, signals
from assay.search.profile import OPINIONS
from assay.testing import check_engine
from assay.workbench.searching.corpora import import_corpus, index_corpus
from assay.workbench.searching.engine_loading import index_into
from kit.corpora import SAMPLES, made_once, sample_home

__all__ = ["sample_home"]

pytestmark = pytest.mark.filterwarnings("ignore")  # of the packages, on their own use of others

QUESTIONS = {
    "opinions": [query.text for query in read_gold(SAMPLES / "en" / "dataset.json").queries][::3],
    "act": ["kunnanhallituksen tehtävät", "veroprosentti", "kuka päättää maksuista"],
    "precedents": ["היטל השבחה", "פטור מארנונה"],
}


@pytest.fixture(params=["postgres", "qdrant", "milvus", "opensearch"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """(kind, its settings) of an empty place."""
    kind = request.param
    if kind == "postgres":
        pytest.importorskip("psycopg", reason="needs the package psycopg[binary]")
        own = {"postgres": request.getfixturevalue("postgres_url"), "table": "loaded"}
    elif kind == "qdrant":
        pytest.importorskip("qdrant_client", reason="needs the package qdrant-client")
        own = {"qdrant": str(tmp_path / "q"), "collection": "loaded"}
    elif kind == "milvus":
        pytest.importorskip("pymilvus", reason="needs the package pymilvus")
        pytest.importorskip("milvus_lite", reason="needs the package milvus-lite")
        own = {"milvus": str(tmp_path / "m.db"), "collection": "loaded"}
    else:
        with served(Replay()) as address:
            own = {"opensearch": address, "collection": "loaded"}
            yield kind, msgspec.convert(own, kind_of(kind).settings)
        return
    yield kind, msgspec.convert(own, kind_of(kind).settings)


def same_in_ten(first: Any, second: Any, questions: list[str]) -> float:
    shares = []
    for question in questions:
        ids = [{hit.doc_id for hit in engine.search(question, 10)} for engine in (first, second)]
        shares.append(len(ids[0] & ids[1]) / max(len(ids[0]), len(ids[1]), 1))
    return sum(shares) / len(shares)


@pytest.mark.parametrize("corpus", ["opinions", "act", "precedents"])
def test_the_ranking_there_is_that_of_our_own_index(
    corpus: str, place: Any, sample_home: Path
) -> None:
    kind, settings = place
    store = external_store(kind, "there", settings)
    loaded = load_corpus(corpus, store, engine="there", home=sample_home)
    own = open_indexed(corpus, home=sample_home)
    assert loaded.documents == store.about().documents  # type: ignore[union-attr]
    there = ExternalRankingEngine(
        "there", external_store(kind, "there", settings) if kind != "qdrant" else store
    )
    # short texts in inflected languages have signals there that no engine holds
    least = 0.97 if corpus == "opinions" else 0.5
    assert same_in_ten(own, there, QUESTIONS[corpus]) >= least
    if corpus == "act":  # once a kind will do
        check_engine(there)


@pytest.fixture(scope="session")
def as_if_large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The opinions with the profile of a large collection."""

    def make(home: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(index, "choose", lambda *about, **more: OPINIONS)
            import_corpus("fppc", SAMPLES / "en" / "opinions", name="opinions", home=home)
            index_corpus("opinions", home=home)

    return made_once(tmp_path_factory, "as-if-large", make)


def test_feedback_and_fields_count_as_on_our_own_index(
    place: Any, as_if_large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile of large collections of opinions, on the sample: every signal of it. Spelling is
    left to our own index, so it is left out here."""
    monkeypatch.setattr(index, "choose", lambda *about, **more: OPINIONS)
    for module in (engine, signals):
        monkeypatch.setattr(module, "spelled", lambda words, field: words)
    kind, settings = place
    store = external_store(kind, "there", settings)
    loaded = load_corpus("opinions", store, engine="there", home=as_if_large)
    assert loaded.encoder == "opinions-en-1"
    own, there = open_indexed("opinions", home=as_if_large), ExternalRankingEngine("there", store)
    cited = [*QUESTIONS["opinions"], "Section 87103(a) and 82015"]
    same = 0
    for question in cited:
        hits = own.search(question, 10, explain=True)
        fused = {hit.doc_id: hit.explanation["fused"] for hit in hits}
        found = {hit.doc_id: hit.score for hit in there.search(question, 20)}
        shared = [id for id in fused if id in found]
        same += len(shared)
        near = 0.05 if kind == "opensearch" else 0.002  # which counts the terms itself
        assert [id for id in shared if abs(fused[id] - found[id]) > near * fused[id]] == []
    assert same >= 0.97 * 10 * len(cited)


def test_a_folder_of_qdrant_is_asked_as_its_client_would_answer(
    sample_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vectors are read once, page by page, and compared here. A document may lack a field."""
    pytest.importorskip("qdrant_client", reason="needs the package qdrant-client")
    monkeypatch.setattr(qdrant, "PAGE", 7)
    own_table = {"qdrant": str(tmp_path / "q"), "collection": "loaded"}
    table = msgspec.convert(own_table, kind_of("qdrant").settings)
    store = qdrant.QdrantStore("there", table)
    load_corpus("opinions", store, engine="there", home=sample_home)
    about = store.about()
    assert about is not None
    field = about.fields[0]
    client, models = store._client(), store._models()
    client.upsert("loaded", [models.PointStruct(id=9_999, vector={}, payload={})])
    asked = {f"{field}:gift": 1.0, f"{field}:travel": 2.0, f"{field}:nowhere": 1.0}
    own = store._best_on_server(field, asked, 10_000, None)
    assert own
    assert store.best(field, asked, 10_000) == pytest.approx(own)
    assert store.best(field, asked, 3) == pytest.approx(dict(list(own.items())[:3]))
    among = [*list(own)[2:4], 9_999]
    assert list(store.best(field, asked, 10, among)) == among[:2]


def test_what_is_there_and_not_ours_is_left_alone(place: Any, sample_home: Path) -> None:
    kind, settings = place
    if kind == "postgres":
        import psycopg

        with psycopg.connect(settings.postgres, autocommit=True) as connection:
            connection.execute("CREATE TABLE loaded (id text)")
        store = external_store(kind, "there", settings)
    elif kind == "opensearch":
        store = external_store(kind, "there", settings)
        mapping = {"settings": {"index": {}}, "mappings": {"properties": {}}}
        store._request("PUT", "", mapping)  # type: ignore[attr-defined]
    else:
        store = external_store(kind, "there", settings)
        client = store._client()  # type: ignore[attr-defined]
        if kind == "qdrant":
            client.create_collection("loaded", vectors_config={})
        else:
            client.create_collection("loaded", dimension=3)
    with pytest.raises(InputError, match="was not loaded from here"):
        load_corpus("opinions", store, engine="there", home=sample_home)


def test_a_place_that_nothing_was_loaded_into_says_so(place: Any) -> None:
    kind, settings = place
    engine = ExternalRankingEngine("there", external_store(kind, "there", settings))
    with pytest.raises(EngineError, match="assay index NAME --into there"):
        engine.search("gifts", 3)


def test_loading_again_replaces_and_a_broken_load_is_not_asked(
    place: Any, sample_home: Path
) -> None:
    kind, settings = place
    store = external_store(kind, "there", settings)
    load_corpus("opinions", store, engine="there", home=sample_home)
    load_corpus("hostile", store, engine="there", home=sample_home)
    found = ExternalRankingEngine("there", store).search("gift", 20)
    assert {"..", "50%?x=1#y&z"} <= {hit.doc_id for hit in found}
    about = store.about()
    assert about is not None
    assert about.corpus == "hostile"
    if kind != "postgres":  # there it is one transaction, and what was there stays
        store.begin(msgspec.structs.replace(about, ready=False))
        with pytest.raises(EngineError, match="not finished"):
            ExternalRankingEngine("there", store).search("gift", 3)


# ── OpenSearch ────────────────────────────────────────────────────────────────────────────────────


def test_opensearch_is_asked_by_its_documented_protocol(
    sample_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay()
    replay.key = "Basic c2VhcmNoOmtleQ=="
    monkeypatch.setenv("SEARCH_KEY", replay.key)
    with served(replay) as address:
        table = {"opensearch": address, "collection": "op 1"}
        secret = {**table, "headers": {"Authorization": "env:SEARCH_KEY"}}
        settings = msgspec.convert(secret, kind_of("opensearch").settings)
        store = external_store("opensearch", "there", settings)
        load_corpus("opinions", store, engine="there", home=sample_home)
        paths = [(method, path) for method, path, _ in replay.requests]
        assert ("PUT", "/op%201") in paths
        assert paths.count(("POST", "/op%201/_bulk")) == 1
        assert paths[-1] == ("PUT", "/op%201/_mapping")
        assert replay.settings["knn"] is True
        replay.refused = {"3", "5"}
        with pytest.raises(EngineError, match="2 documents were not taken; the first: failed"):
            load_corpus("opinions", store, engine="there", home=sample_home)
        monkeypatch.setenv("SEARCH_KEY", "wrong-secret-key")
        with pytest.raises(EngineError, match="401") as refused:
            store.about()
        assert "wrong-secret" not in str(refused.value)


# ── the command ───────────────────────────────────────────────────────────────────────────────────


def test_quality_is_shown_beside_our_own_index(
    sample_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("qdrant_client", reason="needs the package qdrant-client")
    monkeypatch.setenv("ASSAY_HOME", str(sample_home))
    file = tmp_path / "assay.toml"
    file.write_text(
        '[engines.q]\nqdrant = "store"\ncollection = "opinions"\nranking = "assay"\n'
        '[engines.bm25]\nengine = "bm25"\ncorpus = "opinions"\n'
    )
    done = index_into("opinions", "q", config=file, dataset=SAMPLES / "en" / "dataset.json")
    figures = {row.measure: (row.own, row.there) for row in done.beside}
    own, there = figures["nDCG@10"]
    assert own is not None
    assert there == pytest.approx(own, abs=0.01)
    assert done.same_in_ten is not None
    assert done.same_in_ten > 0.95
    with pytest.raises(InputError, match="no engine 'x'"):
        index_into("opinions", "x", config=file)
    with pytest.raises(InputError, match="Known: postgres, qdrant, milvus, opensearch"):
        index_into("opinions", "bm25", config=file)


def test_what_was_loaded_is_asked_by_another_process(sample_home: Path, tmp_path: Path) -> None:
    """Milvus forgets with the process that a collection is to be searched."""
    pytest.importorskip("pymilvus", reason="needs the package pymilvus")
    pytest.importorskip("milvus_lite", reason="needs the package milvus-lite")
    (tmp_path / "assay.toml").write_text(
        '[engines.m]\nmilvus = "m.db"\ncollection = "opinions"\nranking = "assay"\n'
    )
    for arguments in (["index", "opinions", "--into", "m"], ["engines", "test", "m", "gift limit"]):
        done = subprocess.run(
            [sys.executable, "-m", "assay", *arguments],
            cwd=tmp_path,
            env={**os.environ, "ASSAY_HOME": str(sample_home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "m can be measured" in done.stdout + done.stderr


def test_an_engine_with_another_ranking_is_refused(tmp_path: Path) -> None:
    from assay.workbench.project.config import read_config

    file = tmp_path / "assay.toml"
    file.write_text('[engines.q]\nqdrant = "s"\ncollection = "c"\nranking = "best"\n')
    with pytest.raises(InputError, match="leave it out"):
        read_config(file)

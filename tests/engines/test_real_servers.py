"""Servers that other people wrote, measured over HTTP as a team would: Groonga, and Lucene behind
Anserini's REST server. What is not installed is skipped, and named."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from assay.corpus.lookup import documents
from kit.commands import Assay

ROOT = Path(__file__).parents[2]
ENGLISH = ROOT / "samples" / "en"
sys.path.append(str(ROOT / "benchmarks"))

import servers  # noqa: E402


@pytest.fixture(scope="module", params=sorted(servers.SERVERS))
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """(name, its table) of a server with the opinions of the sample in it."""
    name = request.param
    corpus = documents(ENGLISH / "corpus.jsonl")
    try:
        with servers.SERVERS[name](tmp_path_factory.mktemp(name), corpus) as table:
            yield name, table
    except servers.NotHere as why:
        pytest.skip(str(why))


def test_a_real_server_is_measured_by_its_table(
    engine: tuple[str, str], assay_cli: Assay, tmp_path: Path
) -> None:
    name, table = engine
    (tmp_path / "assay.toml").write_text(table)
    tried = assay_cli("engines", "test", name, 'gift "limit" & 50% (or 100)', "--json")
    assert (tried.code, tried.json["wrong"]) == (0, [])
    assert tried.json["hits"]
    for at_once in ("1", "4"):
        outcome = assay_cli(
            "score",
            "--dataset",
            ENGLISH / "dataset.json",
            "--engine",
            name,
            "--concurrency",
            at_once,
            "-o",
            f"{at_once}.json",
        )
        assert outcome.code == 0, outcome.err
    one, four = (json.loads((tmp_path / f"{at}.json").read_text()) for at in ("1", "4"))
    assert [entry["results"] for entry in one["per_query"]] == [
        entry["results"] for entry in four["per_query"]
    ]
    assert one["receipt"]["counts"]["n_failed"] == 0
    floor = assay_cli(
        "score",
        "--dataset",
        ENGLISH / "dataset.json",
        "--engine",
        "random",
        "--corpus",
        ENGLISH / "corpus.jsonl",
        "--json",
    ).json
    assert one["overall"]["ndcg@10"] > floor["overall"]["ndcg@10"] + 0.1


def test_its_own_errors_are_shown(
    engine: tuple[str, str], assay_cli: Assay, tmp_path: Path
) -> None:
    """A table or an index that is not there."""
    name, table = engine
    broken = table.replace("Opinions", "Nothing").replace("/search", "/find")
    (tmp_path / "assay.toml").write_text(broken)
    outcome = assay_cli("engines", "test", name, "gift", "--json")
    assert outcome.code == 4
    expected = {
        "groonga": "invalid name: <Nothing>",
        "lucene": "Expected route",
        "tantivy": "no such index [Nothing]",
    }[name]
    assert expected in outcome.json["wrong"][0]


def test_its_table_is_proposed_from_its_address(
    engine: tuple[str, str], assay_cli: Assay, tmp_path: Path
) -> None:
    name, table = engine
    keys = tomllib.loads(table)["engines"][name]
    address = keys["http"]
    if params := keys.get("params"):
        parts = [f"{key}={_quoted(value)}" for key, value in params.items()]
        address += "?" + "&".join(parts)
    outcome = assay_cli("engines", "test", address, "gift", "--json")
    assert outcome.code == 0, outcome.err
    proposed = outcome.json
    (tmp_path / "assay.toml").write_text(f"{table}\n[engines.service]\n{proposed['table']}\n")
    ids = [
        [hit["doc_id"] for hit in assay_cli("engines", "test", one, "gift", "--json").json["hits"]]
        for one in (name, "service")
    ]
    assert ids[0]
    assert ids[0] == ids[1]


def _quoted(value: str) -> str:
    """The value of a parameter as it stands in an address; places for the query stay."""
    pieces = re.split(r"({{.*?}})", value)
    return "".join(piece if piece.startswith("{{") else quote(piece) for piece in pieces)


@pytest.mark.parametrize("preset", ["elasticsearch", "opensearch"])
def test_presets_read_what_the_official_clients_read(
    preset: str, assay_cli: Assay, tmp_path: Path
) -> None:
    library = pytest.importorskip(
        {"opensearch": "opensearchpy"}.get(preset, preset), reason=f"needs the package of {preset}"
    )
    try:
        started = servers.tantivy(tmp_path, documents(ENGLISH / "corpus.jsonl"))
        with started as table:
            url = tomllib.loads(table)["engines"]["tantivy"]["http"]
            kind = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}[preset]
            body = {"size": 10, "query": {"multi_match": {"query": "gift limit"}}}
            with contextlib.closing(
                getattr(library, kind)(url.partition("/Opinions")[0])
            ) as client:
                answer = client.search(index="Opinions", body=body)
            (tmp_path / "assay.toml").write_text(
                f'[engines.one]\npreset = "{preset}"\nhttp = "{url}"\n'
            )
            tried = assay_cli("engines", "test", "one", "gift limit", "--json").json
    except servers.NotHere as why:
        pytest.skip(str(why))
    theirs = [(hit["_id"], hit["_score"]) for hit in answer["hits"]["hits"]]
    assert theirs
    assert [(hit["doc_id"], hit["score"]) for hit in tried["hits"]] == theirs


STARTED = """
import contextlib, pathlib, sys
import servers

@contextlib.contextmanager
def one(folder, corpus):
    try:
        yield "[engines.one]"
    finally:
        pathlib.Path("ended").touch()

servers.SERVERS = {"one": one}
servers.main()
"""


def test_servers_end_with_the_program_that_started_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTED, str(ENGLISH / "corpus.jsonl")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "benchmarks"), *sys.path])
    }
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert any("Ctrl-C ends the servers" in line for line in program.stdout)
        program.terminate()
    assert (tmp_path / "ended").exists()

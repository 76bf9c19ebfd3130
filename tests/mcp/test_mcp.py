"""The MCP server through the SDK's own client, over stdio and over streamable HTTP."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from assay.core.errors import InputError
from assay.corpus.build import import_corpus
from assay.mcp.server import OUTPUT_SCHEMAS, build_server, run
from assay.store import open_store
from assay.store.records import Decision, SearchLog, ShownResult
from assay.workbench.judging.gold_sets import bootstrap_gold
from assay.workbench.project.service import Service, open_service
from assay.workbench.scoring.history import Comparison
from assay.workbench.searching import corpora
from kit.commands import Assay

pytest.importorskip("mcp", reason="needs the package mcp")
from mcp import Client, MCPError, StdioServerParameters, stdio_client

SAMPLES = Path(__file__).parents[2] / "samples"
VERSION_ONE = Path(sys.prefix) / "mcp-1"  # the old SDK, which no environment holds beside the new
NOW = datetime(2026, 5, 31, tzinfo=UTC)
TOOLS = {
    "list_corpora",
    "search",
    "get_document",
    "cite",
    "check_answer",
    "list_queries",
    "list_waiting",
    "get_rubric",
    "list_engines",
    "list_runs",
    "get_metrics",
    "list_gold_sets",
    "run_evaluation",
    "compare_runs",
    "explain_score",
    "list_failures",
    "next_to_judge",
    "suggest_judgment",
    "tune_engine",
}
CONFIG = f"""
[gold.opinions]
path = "dataset.json"
[gold.gold-set]
path = "gold-set.jsonl"
[engines.bm25]
engine = "bm25"
corpus = "{SAMPLES}/en/corpus.jsonl"
[engines.random]
engine = "random"
corpus = "{SAMPLES}/en/corpus.jsonl"
"""
Connect = Callable[[], AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    import_corpus("jsonl", SAMPLES / "he" / "precedents.jsonl", name="precedents", home=home)
    return home


@pytest.fixture
def workspace(store_url: str, tmp_path: Path, indexed: Path) -> Path:
    store = open_store(store_url)
    store.add_searches(
        [
            SearchLog(
                id="l",
                at=NOW,
                query="היטל",
                corpus="c",
                results=(ShownResult("a", 1), ShownResult("b", 2)),
            )
        ]
    )
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a",))])
    (tmp_path / "assay.toml").write_text(CONFIG)
    shutil.copy(SAMPLES / "en" / "dataset.json", tmp_path)
    shutil.copytree(indexed, tmp_path, dirs_exist_ok=True)
    bootstrap_gold(Service(store=store), tmp_path / "gold-set.jsonl")
    store.close()
    return tmp_path


@pytest.fixture(params=["stdio", "http", "stdio mcp 1.x", "http mcp 1.x"])
def connect(
    request: pytest.FixtureRequest,
    workspace: Path,
    store_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Connect]:
    """The real command in a process of its own, beside either version of the SDK; its client."""
    transport, _, old = request.param.partition(" ")
    if old:
        if not VERSION_ONE.is_dir():
            pytest.skip("needs mcp 1.x: make .venv/mcp-1")
        monkeypatch.setenv("PYTHONPATH", str(VERSION_ONE))
    command = [
        sys.executable,
        "-m",
        "assay",
        "mcp",
        "--config",
        str(workspace / "assay.toml"),
        "--store",
        store_url,
    ]
    if transport == "stdio":
        yield lambda: over_stdio(command, workspace)
        return
    with served([*command, "--http"], workspace) as url:
        yield lambda: over_http(url)


def twenty_five(workspace: Path) -> None:
    """A corpus of 25 documents, each with a long sentence."""
    source = workspace / "levies.jsonl"
    long = "The levy is due when the plan is approved, and not before, " * 10
    rows = [{"id": f"d{n}", "text": f"{long}{'levy ' * (25 - n)}."} for n in range(25)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpora.import_corpus("jsonl", source, name="opinions", home=workspace)
    corpora.index_corpus("opinions", home=workspace, dense=False)


@asynccontextmanager
async def over_stdio(command: list[str], workspace: Path) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=command[0], args=command[1:], env=environment(workspace), cwd=workspace
    )
    async with Client(stdio_client(server)) as client:
        yield client


def environment(workspace: Path) -> dict[str, str]:
    return {**os.environ, "ASSAY_HOME": str(workspace)}


@asynccontextmanager
async def over_http(url: str) -> AsyncIterator[Client]:
    async with Client(url) as client:
        yield client


@contextmanager
def served(command: list[str], workspace: Path) -> Iterator[str]:
    """The command on a free port, until it answers; then it is asked to end, and must."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (workspace / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=workspace,
            env=environment(workspace),
            stdout=log,
            stderr=log,
        )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, (workspace / "server.log").read_text()
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured result; the text must say the same."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return str(answer.content[0].text)


@pytest.mark.parametrize(
    ("connect", "store_url"),
    [
        ("stdio", "sqlite"),
        ("http", "postgresql"),
        ("stdio mcp 1.x", "sqlite"),
        ("http mcp 1.x", "sqlite"),
    ],
    indirect=True,
)
def test_a_whole_session(connect: Connect, workspace: Path) -> None:
    """One server for everything: it takes seconds to start."""
    (workspace / "act.jsonl").write_text('{"id": "410/2015 110 §", "text": "Alijäämä katetaan."}')
    corpora.import_corpus("jsonl", workspace / "act.jsonl", name="Laki", home=workspace)

    async def talk() -> None:
        async with connect() as client:
            await use_tools(client, workspace)
            await meet_errors(client)
            await read_resources_and_prompts(client)

    anyio.run(talk)


async def use_tools(client: Client, workspace: Path) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == TOOLS
    assert all(tool.output_schema and tool.description for tool in tools.values())

    sets = (await call(client, "list_gold_sets"))["gold_sets"]
    assert [(one["name"], one["queries"]) for one in sets] == [
        ("opinions", 21),
        ("gold-set", 1),
    ]
    assert sets[1]["status"] == "provisional (bootstrap-only)"
    assert (await call(client, "list_gold_sets", limit=1))["next_offset"] == 1

    runs = [
        (await call(client, "run_evaluation", gold="opinions", engine=engine))
        for engine in ("random", "bm25")
    ]
    assert runs[1]["overall"]["ndcg@10"] > runs[0]["overall"]["ndcg@10"]
    compared = await call(client, "compare_runs", run_ids=[run["run_id"] for run in runs])
    assert compared["baseline"] == "random"
    assert compared["verdict"].startswith("bm25 is significantly better than random. nDCG@10 ")
    assert compared["changes"][0]["measure"] == "nDCG@10"
    assert compared["changes"][0]["change"] > 0
    explained = await call(client, "explain_score", run_id=runs[1]["run_id"], query_id="q001")
    assert explained["results"][0] == "81-027"
    assert len(explained["grades"]) == len(explained["results"])

    before = (workspace / "gold-set.jsonl").read_bytes()
    given = {
        "gold": "gold-set",
        "query_id": "g001",
        "doc_id": "b",
        "grade": 3,
        "rationale": "on point",
        "by": "agent",
    }
    suggested = await call(client, "suggest_judgment", **given)
    assert suggested["state"] == "pending_review"
    assert (await call(client, "suggest_judgment", **given))["item_id"] == suggested["item_id"]
    assert (workspace / "gold-set.jsonl").read_bytes() == before
    metrics = await call(client, "get_metrics")
    counts = metrics["halacha_backlog"]
    assert [
        counts[state] for state in ("pending_review", "approved", "rejected", "published", "total")
    ] == [
        2,
        0,
        0,
        0,
        2,
    ]
    assert {name: metrics["backlog"][name] for name in counts} == counts
    queued = (await call(client, "next_to_judge", gold="gold-set"))["items"]
    assert {(one["query_id"], *one["doc_ids"]) for one in queued} == {
        ("g001", "a"),
        ("g001", "b"),
    }
    pages = [
        await call(client, "next_to_judge", gold="gold-set", limit=1, offset=n) for n in (0, 1)
    ]
    assert [(page["items"], page["next_offset"]) for page in pages] == [
        (queued[:1], 1),
        (queued[1:], None),
    ]
    worth = (await call(client, "next_to_judge", gold="opinions", limit=3))["items"]
    assert len(worth) == 3
    assert all("of the doubt about bm25 against random" in one["reason"] for one in worth)

    hits = await call(client, "search", corpus="precedents", query="היטל השבחה", limit=2)
    assert (len(hits["hits"]), hits["next_offset"]) == (2, 2)
    read = await call(
        client,
        "get_document",
        corpus="precedents",
        doc_id=hits["hits"][0]["doc_id"],
        characters=9,
    )
    assert (len(read["text"]), read["next_offset"]) == (9, 9)


async def meet_errors(client: Client) -> None:
    assert "no corpus 'none'" in await refused(client, "get_document", corpus="none", doc_id="x")
    assert "no engine 'os:system' is configured" in await refused(
        client, "run_evaluation", gold="opinions", engine="os:system"
    )
    assert "no gold set 'x'" in await refused(client, "next_to_judge", gold="x")
    assert "no run 'r'" in await refused(client, "explain_score", run_id="r", query_id="q")
    given = {
        "gold": "gold-set",
        "query_id": "g001",
        "doc_id": "b",
        "grade": 9,
        "rationale": "r",
        "by": "a",
    }
    assert "grade 9 is not on the scale of 'gold-set'" in await refused(
        client, "suggest_judgment", **given
    )
    assert "no query 'g9'" in await refused(
        client, "suggest_judgment", **given | {"grade": 1, "query_id": "g9"}
    )
    assert (
        await refused(client, "search", corpus="c")
        == "query is missing. search takes corpus, query, limit, offset, filters, details."
    )
    assert "unknown argument 'top_k'" in await refused(
        client, "search", corpus="c", query="q", top_k=3
    )
    assert "there is no tool 'find'. Known: list_corpora, search" in await refused(client, "find")
    assert "no gold set 'x'" in await refused(client, "get_metrics", gold="x")


async def read_resources_and_prompts(client: Client) -> None:
    templates = (await client.list_resource_templates()).resource_templates
    assert {each.uri_template for each in templates} == {
        "rubric://gold/{name}",
        "document://{corpus}/{+doc_id}",
        "report://{run_id}",
    }

    async def read(uri: str) -> str:
        return str((await client.read_resource(uri)).contents[0].text)

    assert len(await read("rubric://default")) > 500
    assert "Alijäämä katetaan." in await read("document://Laki/410/2015 110 §")
    assert "Alijäämä katetaan." in await read("document://Laki/410%2F2015%20110%20%C2%A7")
    with pytest.raises(MCPError, match=r"^no document 'x'"):
        await read("document://Laki/x")
    with pytest.raises(MCPError, match=r"(?i)unknown resource"):
        await read("nothing://here")
    asked = {"gold": "opinions", "engine_a": "random", "engine_b": "bm25"}
    told = await client.get_prompt("is_b_better", asked)
    assert "compare_runs" in told.messages[0].content.text
    with pytest.raises(MCPError, match=r"^no engine 'none' is configured"):
        await client.get_prompt("is_b_better", asked | {"engine_b": "none"})


def test_search_pages(workspace: Path, store_url: str) -> None:
    with open_service(store_url, config=workspace / "assay.toml", home=workspace) as service:
        anyio.run(no_corpus, build_server(service))
        twenty_five(workspace)
        anyio.run(pages, build_server(service))


async def pages(server: Any) -> None:
    async with Client(server) as client:
        first = await call(client, "search", corpus="opinions", query="levy", limit=20)
        assert (len(first["hits"]), first["next_offset"]) == (20, 20)
        assert 200 < len(first["hits"][0]["snippet"]) <= 400
        last = await call(client, "search", corpus="opinions", query="levy", limit=20, offset=20)
        assert (len(last["hits"]), last["next_offset"]) == (5, None)
        seen = {hit["doc_id"] for page in (first, last) for hit in page["hits"]}
        assert seen == {f"d{n}" for n in range(25)}


async def no_corpus(server: Any) -> None:
    async with Client(server) as client:
        assert "no corpus 'opinions'" in await refused(
            client, "search", corpus="opinions", query="levy"
        )
        assert "the query is empty" in await refused(client, "search", corpus="opinions", query=" ")


def test_an_agent_gets_the_whole_comparison() -> None:
    schema = OUTPUT_SCHEMAS["compare_runs"]
    assert schema["type"] == "object"
    whole = schema["$defs"]["Comparison"]["properties"]
    assert list(whole) == list(Comparison.__struct_fields__)


def test_other_machines_are_not_let_in(workspace: Path, store_url: str) -> None:
    with (
        open_service(store_url, home=workspace) as service,
        pytest.raises(InputError, match="other machines"),
    ):
        run(service, transport="streamable-http", host="0.0.0.0")


def test_a_version_of_the_sdk_without_schemas_of_answers_is_refused(
    assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("assay.mcp", "assay.mcp.server"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.9.4")
    done = assay_cli("mcp")
    assert (done.code, "version 1.9.4, and assay mcp needs 1.10" in done.err) == (2, True), done.err
    assert "pipx install" in done.err

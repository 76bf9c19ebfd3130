"""The MCP server through the SDK's own client, over stdio and over streamable HTTP."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from assay.desk import Desk, open_desk
from assay.errors import InputError
from assay.mcp import build_server, run
from assay.store import open_store
from assay.store.records import Decision, SearchLog, Shown
from assay.types import Hit

pytest.importorskip("mcp", reason="needs the package mcp")
from mcp import Client, StdioServerParameters, stdio_client

SAMPLES = Path(__file__).parents[2] / "samples"
NOW = datetime(2026, 5, 31, tzinfo=UTC)
TOOLS = {"search", "get_document", "get_metrics", "list_gold_sets", "run_evaluation", "compare_runs", "explain_score",
         "next_to_judge", "suggest_judgment"}  # fmt: skip
CONFIG = f"""
[gold.opinions]
path = "{SAMPLES}/en/dataset.json"
[gold.gold-set]
path = "gold-set.jsonl"
[engines.bm25]
engine = "bm25"
corpus = "{SAMPLES}/en/corpus.jsonl"
[engines.random]
engine = "random"
corpus = "{SAMPLES}/en/corpus.jsonl"
"""
SERVER = """
import sys
from pathlib import Path
from assay.desk import open_desk
from assay.mcp import run
print("a library that prints must not break the protocol", file=sys.stderr)
with open_desk(sys.argv[1], config=Path(sys.argv[2]), home=Path(sys.argv[3])) as desk:
    run(desk)
"""
Connect = Callable[[], AbstractAsyncContextManager[Client]]


@pytest.fixture
def workspace(store_url: str, tmp_path: Path) -> Path:
    store = open_store(store_url)
    store.add_searches([SearchLog(id="l", at=NOW, query="היטל", corpus="c", results=(Shown("a", 1), Shown("b", 2)))])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a",))])
    (tmp_path / "assay.toml").write_text(CONFIG)
    Desk(store=store).bootstrap(tmp_path / "gold-set.jsonl")
    store.close()
    return tmp_path


@pytest.fixture(params=["stdio", "http"])
def connect(request: pytest.FixtureRequest, workspace: Path, store_url: str) -> Iterator[Connect]:
    if request.param == "stdio":
        yield lambda: over_stdio(workspace, store_url)
        return
    with (
        open_desk(store_url, config=workspace / "assay.toml", home=workspace, search_corpus=found) as desk,
        served(desk) as url,
    ):
        yield lambda: over_http(url)


def found(corpus: str, query: str, k: int) -> list[Hit]:
    if corpus != "opinions":
        raise InputError(f"no corpus {corpus!r}", hint="Known: opinions.")
    return [Hit(doc_id=f"d{n}", score=1 / (n + 1), text=query * 200) for n in range(min(k, 25))]


@asynccontextmanager
async def over_stdio(workspace: Path, store_url: str) -> AsyncIterator[Client]:
    arguments = ["-c", SERVER, store_url, str(workspace / "assay.toml"), str(workspace)]
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments))) as client:
        yield client


@asynccontextmanager
async def over_http(url: str) -> AsyncIterator[Client]:
    async with Client(url) as client:
        yield client


class served:
    """The HTTP transport on a free port, in a thread."""

    def __init__(self, desk: Desk) -> None:
        import uvicorn

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        app = build_server(desk).streamable_http_app()
        self.server = uvicorn.Server(uvicorn.Config(app, port=self.port, log_level="error"))
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> str:
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{self.port}/mcp"

    def __exit__(self, *_: Any) -> None:
        self.server.should_exit = True
        self.thread.join(5)


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


def test_a_whole_session(connect: Connect, workspace: Path) -> None:
    anyio.run(whole_session, connect, workspace)


async def whole_session(connect: Connect, workspace: Path) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS
        assert all(tool.output_schema and tool.description for tool in tools.values())

        sets = (await call(client, "list_gold_sets"))["gold_sets"]
        assert [(one["name"], one["queries"]) for one in sets] == [("opinions", 21), ("gold-set", 1)]
        assert sets[1]["status"] == "provisional (bootstrap-only)"
        assert (await call(client, "list_gold_sets", limit=1))["next_offset"] == 1

        runs = [(await call(client, "run_evaluation", gold="opinions", engine=engine)) for engine in ("random", "bm25")]
        assert runs[1]["overall"]["ndcg@10"] > runs[0]["overall"]["ndcg@10"]
        compared = await call(client, "compare_runs", run_ids=[run["run_id"] for run in runs])
        assert compared["baseline"] == "random"
        assert any(row["measure"] == "nDCG@10" and row["difference"] > 0 for row in compared["differences"])
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
        assert [counts[state] for state in ("pending_review", "approved", "rejected", "published", "total")] == [
            2,
            0,
            0,
            0,
            2,
        ]
        assert {name: metrics["backlog"][name] for name in counts} == counts
        queued = (await call(client, "next_to_judge", gold="gold-set"))["items"]
        assert {(one["query_id"], *one["doc_ids"]) for one in queued} == {("g001", "a"), ("g001", "b")}


def test_errors_are_clear(connect: Connect) -> None:
    anyio.run(errors, connect)


async def errors(connect: Connect) -> None:
    async with connect() as client:
        assert "no corpus 'none'" in await refused(client, "get_document", corpus="none", doc_id="x")
        assert "no engine 'os:system' is configured" in await refused(
            client, "run_evaluation", gold="opinions", engine="os:system"
        )
        assert "no gold set 'x'" in await refused(client, "next_to_judge", gold="x")
        assert "no run 'r'" in await refused(client, "explain_score", run_id="r", query_id="q")
        assert "grade" in await refused(
            client, "suggest_judgment", gold="gold-set", query_id="g001", doc_id="b", grade=9, rationale="r", by="a"
        )


def test_search_pages(workspace: Path, store_url: str) -> None:
    with open_desk(store_url, config=workspace / "assay.toml", home=workspace, search_corpus=found) as desk:
        anyio.run(pages, build_server(desk))
    with open_desk(store_url, config=workspace / "assay.toml", home=workspace) as desk:
        anyio.run(no_index, build_server(desk))


async def pages(server: Any) -> None:
    async with Client(server) as client:
        first = await call(client, "search", corpus="opinions", query="levy", limit=20)
        assert (len(first["hits"]), first["next_offset"], first["hits"][0]["doc_id"]) == (20, 20, "d0")
        assert len(first["hits"][0]["snippet"]) == 400
        last = await call(client, "search", corpus="opinions", query="levy", limit=20, offset=20)
        assert ([hit["doc_id"] for hit in last["hits"]], last["next_offset"]) == (
            [f"d{n}" for n in range(20, 25)],
            None,
        )
        assert "the query is empty" in await refused(client, "search", corpus="opinions", query=" ")


async def no_index(server: Any) -> None:
    async with Client(server) as client:
        assert "Index a corpus first" in await refused(client, "search", corpus="opinions", query="levy")


def test_other_machines_are_not_let_in(workspace: Path, store_url: str) -> None:
    with open_desk(store_url, home=workspace) as desk, pytest.raises(InputError, match="other machines"):
        run(desk, transport="streamable-http", host="0.0.0.0")

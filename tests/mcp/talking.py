"""A project, and an agent that talks to its server: in process, through the SDK's own client."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp", reason="needs the package mcp")
from assay.mcp.server import build_server
from assay.workbench.project.service import open_service
from assay.workbench.searching import corpora
from mcp import Client

SAMPLES = Path(__file__).parents[2] / "samples"
CONFIG = f"""
[gold.opinions]
path = "opinions.json"
[gold.questions]
path = "{SAMPLES}/fi/questions_golden.json"
engines = ["act"]
[[gates]]
gold = "opinions"
measure = "nDCG@10"
minimum = 0.3
min_judged = 0.9
[[gates]]
gold = "questions"
measure = "pass_rate_total"
minimum = 0.1
[engines.bm25]
engine = "bm25"
corpus = "{SAMPLES}/en/corpus.jsonl"
[engines.random]
engine = "random"
corpus = "{SAMPLES}/en/corpus.jsonl"
[engines.act]
engine = "act"
"""
Session = Callable[[Client], Awaitable[None]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two corpora, a graded set and a golden one, and a run of each engine."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "assay.toml").write_text(CONFIG)
    (folder / "opinions.json").write_bytes((SAMPLES / "en" / "dataset.json").read_bytes())
    for kind, source, name in (
        ("fppc", SAMPLES / "en" / "opinions", "letters"),
        ("finlex", SAMPLES / "fi" / "saaristokuntalaki.jsonl", "act"),
    ):
        corpora.import_corpus(kind, source, name=name, home=folder)
        corpora.index_corpus(name, home=folder, dense=False)
    return folder


@pytest.fixture
def talk(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Session], None]:
    monkeypatch.setenv("ASSAY_HOME", str(home))

    def spoken(session: Session) -> None:
        with serving(home) as server:
            anyio.run(functools.partial(connected, server, session))

    return spoken


@contextmanager
def serving(home: Path) -> Iterator[Any]:
    store = f"sqlite:///{home / 'store.db'}"
    with open_service(store, config=home / "assay.toml", home=home) as service:
        yield build_server(service)


async def connected(server: Any, session: Session) -> None:
    async with Client(server) as client:
        await session(client)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return answer.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.structured_content
    said = str(answer.content[0].text)
    assert "/" not in said.replace("and/or", ""), said
    assert not {"assay.toml", "--"} & set(said.split()), said
    return said

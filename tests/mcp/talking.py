"""A project, and an agent that talks to its server: in process, through the SDK's own client."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

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
def agent(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolClient]:
    """An agent of the project; the server starts with its first word."""
    monkeypatch.setenv("ASSAY_HOME", str(home))
    with ExitStack() as opened:
        yield ToolClient(home, opened)


class ToolClient:
    """The SDK's client, from code that is not async: `call`, `refused`, and its own methods."""

    def __init__(self, home: Path, opened: ExitStack) -> None:
        self._home = home
        self._opened = opened

    @cached_property
    def _portal(self) -> BlockingPortal:
        return self._opened.enter_context(start_blocking_portal())

    @cached_property
    def _client(self) -> Client:
        store, config = f"sqlite:///{self._home / 'store.db'}", self._home / "assay.toml"
        service = self._opened.enter_context(open_service(store, config=config, home=self._home))
        client = Client(build_server(service))
        return self._opened.enter_context(self._portal.wrap_async_context_manager(client))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(self._portal.call, getattr(self._client, name))

    def call(self, tool: str, **arguments: Any) -> Any:
        answer = self.call_tool(tool, arguments)
        assert not answer.is_error, answer.content
        return answer.structured_content

    def text_of(self, tool: str, **arguments: Any) -> str:
        answer = self.call_tool(tool, arguments)
        assert not answer.is_error, answer.content
        return str(answer.content[0].text)

    def refused(self, tool: str, **arguments: Any) -> str:
        answer = self.call_tool(tool, arguments)
        assert answer.is_error, answer.structured_content
        said = str(answer.content[0].text)
        assert "/" not in said.replace("and/or", ""), said
        assert not {"assay.toml", "--"} & set(said.split()), said
        return said

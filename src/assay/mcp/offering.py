"""Resources (rubrics, documents, reports) and prompts that a client offers its user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS

from assay.core.errors import AssayError
from assay.workbench.agents.gold_sets import get_rubric
from assay.workbench.agents.runs import report_of
from assay.workbench.judging import gold_sets as gold
from assay.workbench.project.service import Service
from assay.workbench.scoring.history import known_engine
from assay.workbench.searching import corpora

Words = Callable[[AssayError], str]
MARKDOWN = "text/markdown"
MOST = 10  # documents of a prompt


def offer(server: MCPServer[Any], service: Service, words: Words) -> None:
    _resources(server, service, words)
    _prompts(server, service, words)


def _resources(server: MCPServer[Any], service: Service, words: Words) -> None:
    def read_or_refuse(read: Callable[[], str]) -> str:
        try:
            return read()
        except AssayError as error:
            raise ResourceError(words(error)) from error

    @server.resource(
        "rubric://default", name="rubric", title="The usual rubric", mime_type=MARKDOWN
    )
    def usual_rubric() -> str:
        """When to give which grade, if a set names no rubric of its own."""
        return gold.rubric_page()

    @server.resource("rubric://gold/{name}", name="rubric of a gold set", mime_type=MARKDOWN)
    def rubric(name: str) -> str:
        """The rubric of a gold set, by the name of the set."""
        return read_or_refuse(lambda: get_rubric(service, unquote(name)).text)

    @server.resource("document://{corpus}/{+doc_id}", name="document", mime_type="text/plain")
    def document(corpus: str, doc_id: str) -> str:
        """The whole text of a document of a corpus."""

        def read() -> str:
            found = corpora.document(service, unquote(corpus), unquote(doc_id))
            return f"{found.title}\n\n{found.text}".strip()

        return read_or_refuse(read)

    @server.resource("report://{run_id}", name="report of a run", mime_type=MARKDOWN)
    def report(run_id: str) -> str:
        """The report of a run: every measure with its interval, slices, queries."""
        return read_or_refuse(lambda: report_of(service, run_id))


def _prompts(server: MCPServer[Any], service: Service, words: Words) -> None:
    @server.prompt(title="Judge these")
    def judge_these(gold: str, how_many: str = "3") -> str:
        """Judge the next documents of a gold set by its rubric, for an expert to decide on."""
        count = min(int(how_many), MOST) if how_many.isdecimal() else 3
        return (
            f"Judge the next {count} documents of the gold set {gold!r}.\n"
            f"1. Call get_rubric with gold={gold!r} and read it.\n"
            f"2. Call next_to_judge with gold={gold!r} and limit={count}.\n"
            "3. For each document read the passage; where it does not settle the grade, read on "
            "with get_document.\n"
            "4. Call suggest_judgment for each, with a grade on the scale and a rationale that "
            "quotes the passage it rests on. If a pair is refused, say why and go on.\n"
            "5. End with a table: query, document, grade, why. Say that an expert decides."
        )

    @server.prompt(title="Is B better?")
    def is_b_better(gold: str, engine_a: str, engine_b: str) -> str:
        """Is one engine better than another on a gold set?"""
        _refuse_unknown(service, (engine_a, engine_b), words)
        return (
            f"Is {engine_b!r} better than {engine_a!r} on the gold set {gold!r}?\n"
            f"1. Call list_runs with gold={gold!r}. Where an engine has no run, call "
            "run_evaluation.\n"
            f"2. Call compare_runs with the run of {engine_a!r} first and that of {engine_b!r} "
            "second.\n"
            "3. Give its verdict as it is, with the figure that decides and its interval. Where it "
            "is open, say that it cannot be told yet, and what next_to_judge with these run_ids "
            "would have judged. Do not call a difference that is not proven an improvement.\n"
            "4. Explain the query that moved most with explain_score on both runs."
        )


def _refuse_unknown(service: Service, engines: tuple[str, ...], words: Words) -> None:
    for engine in engines:
        try:
            known_engine(service, engine)
        except AssayError as error:
            raise MCPError(INVALID_PARAMS, words(error)) from error

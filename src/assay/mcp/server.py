"""The MCP server: what an agent may ask of Assay. It can search, read, measure and suggest; it
cannot put anything into a gold set. Every tool is one verb, with a structured result that has a
schema."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar, cast

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import ToolAnnotations
from pydantic import Field, ValidationError

from assay import __version__
from assay.core.errors import AssayError, InputError
from assay.mcp.models import (
    DocumentText,
    Evaluation,
    Explanation,
    GoldSets,
    Metrics,
    NextToJudge,
    RunComparison,
    SearchResults,
    Suggested,
)
from assay.workbench import backlog, corpora, gold, history, review, searching
from assay.workbench.opening import Service

INSTRUCTIONS = (
    "Assay measures legal search and runs it. Use search and get_document to find and read "
    "precedents; list_gold_sets, run_evaluation, compare_runs and explain_score to see how good a "
    "search engine is and why; get_metrics for the expert's review backlog. suggest_judgment asks "
    "an expert to look: nothing enters a gold set without one."
)

F = TypeVar("F", bound=Callable[..., Any])
Transport = Literal["stdio", "streamable-http"]
Limit = Annotated[int, Field(ge=1, le=200, description="How many at most.")]
Offset = Annotated[
    int,
    Field(ge=0, le=10**9, description="Where to begin; give the next_offset of the last answer."),
]


class Server(MCPServer[Any]):
    """The SDK's server, with errors that say what to do."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        tools = {
            tool.name: list(tool.input_schema["properties"]) for tool in await self.list_tools()
        }
        if name not in tools:
            raise ToolError(f"there is no tool {name!r}. Known: {', '.join(tools)}.")
        takes = f"{name} takes {', '.join(tools[name])}."
        unknown = [key for key in arguments if key not in tools[name]]
        if unknown:
            raise ToolError(f"unknown argument {unknown[0]!r}. {takes}")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(
                    f"{'; '.join(map(_said, error.__cause__.errors()))}. {takes}"
                ) from None
            raise ToolError(str(error).removeprefix(f"Error executing tool {name}: ")) from error


def _said(error: Any) -> str:
    """One wrong argument: which, what is wrong, what was given."""
    place = ".".join(map(str, error["loc"]))
    if error["type"] == "missing":
        return f"{place} is missing"
    wrong = error["msg"].replace("Input should be", "should be").replace("String should", "should")
    given = repr(error["input"])
    wrong = wrong.replace("List should", "should")
    return f"{place} {wrong}, got {given[:80]}{'…' * (len(given) > 80)}"


def build_server(service: Service) -> Server:
    service = replace(service, opens_files=False)
    server = Server("assay", title="Assay", version=__version__, instructions=INSTRUCTIONS)
    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writing = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    for make in (_search_tools, _gold_tools, _run_tools):
        for tool in make(service):
            changes = tool.__name__ in ("suggest_judgment", "run_evaluation")
            server.tool(annotations=writing if changes else reading, structured_output=True)(
                _with_clear_errors(tool)
            )
    return server


def run(
    service: Service,
    *,
    transport: Transport = "stdio",
    host: str = "127.0.0.1",
    port: int = 8351,
) -> None:
    """Serve until the client goes away (stdio) or the server is interrupted (HTTP, at /mcp)."""
    server = build_server(service)
    if transport == "stdio":
        server.run("stdio")
        return
    if host not in ("127.0.0.1", "localhost", "::1"):
        raise InputError(
            f"the MCP server has no login and would let other machines in on {host}",
            hint="Serve on 127.0.0.1, behind a proxy that knows who may come in.",
        )
    server.run("streamable-http", host=host, port=port)


def _with_clear_errors(tool: F) -> F:
    """An expected error is an answer the model can read; anything else is the server's to log."""

    @functools.wraps(tool)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return tool(*args, **kwargs)
        except AssayError as error:
            raise ToolError(str(error)) from error

    call.__signature__ = inspect.signature(tool, eval_str=True)  # type: ignore[attr-defined]
    return cast(F, call)


# ── tools ─────────────────────────────────────────────────────────────────────────────────────────


def _search_tools(service: Service) -> tuple[Callable[..., Any], ...]:
    def search(corpus: str, query: str, limit: Limit = 10, offset: Offset = 0) -> SearchResults:
        """Search an indexed corpus; the most relevant documents first."""
        page = searching.found_page(service, corpus, query, limit, offset)
        return SearchResults.of(corpus, query, page)

    def get_document(
        corpus: str,
        doc_id: str,
        offset: Offset = 0,
        characters: Annotated[
            int, Field(ge=1, le=100_000, description="How much of the text.")
        ] = 20_000,
    ) -> DocumentText:
        """Read a document, a part at a time."""
        return DocumentText.of(corpora.document(service, corpus, doc_id), offset, characters)

    return search, get_document


def _gold_tools(service: Service) -> tuple[Callable[..., Any], ...]:
    def get_metrics(gold: str = "") -> Metrics:
        """The expert's review backlog, of one gold set or of all."""
        return Metrics.of(backlog.backlog_figures(service, gold=gold))

    def list_gold_sets(limit: Limit = 50, offset: Offset = 0) -> GoldSets:
        """The gold sets there are, how large they are, and how much of each an expert has
        approved."""
        return GoldSets.of(gold.gold_list(service), offset, limit)

    def next_to_judge(gold: str, limit: Limit = 10, offset: Offset = 0) -> NextToJudge:
        """What an expert should judge next on a gold set."""
        return NextToJudge.of(review.worth_looking_at(service, gold, limit, offset))

    def suggest_judgment(
        gold: str,
        query_id: str,
        doc_id: str,
        grade: Annotated[int, Field(ge=0, le=4, description="0 is not relevant; see the rubric.")],
        rationale: Annotated[
            str,
            Field(
                min_length=1,
                max_length=review.LONGEST_RATIONALE,
                description="Why, in a sentence or two, for the expert.",
            ),
        ],
        by: Annotated[
            str,
            Field(
                min_length=1,
                max_length=review.LONGEST_NAME,
                description="Who suggests: your name and version.",
            ),
        ],
        allow_unknown: Annotated[
            bool,
            Field(description="The document may be one that no corpus, search or run here has."),
        ] = False,
    ) -> Suggested:
        """Suggest a judgment. It waits in the review queue for an expert, and does not change the
        gold set."""
        put = review.suggest_unknown if allow_unknown else review.suggest
        item = put(service, gold, query_id, doc_id, grade, rationale=rationale, by=by)
        return Suggested.of(item, gold)

    return get_metrics, list_gold_sets, next_to_judge, suggest_judgment


def _run_tools(service: Service) -> tuple[Callable[..., Any], ...]:
    def run_evaluation(gold: str, engine: str) -> Evaluation:
        """Score a configured engine on a gold set. The run is kept under its run_id."""
        return Evaluation.of(history.evaluate(service, gold, engine), gold)

    def compare_runs(
        run_ids: Annotated[
            list[str], Field(min_length=2, description="The first is the baseline.")
        ],
        force: Annotated[
            bool, Field(description="Compare even where gold sets or corpora differ.")
        ] = False,
    ) -> RunComparison:
        """Is one run better than another? Paired differences with intervals and tests, and which
        queries moved."""
        return RunComparison.of(history.compare_runs(service, run_ids, force=force))

    def explain_score(run_id: str, query_id: str) -> Explanation:
        """The numbers of one query of a run: its ranking with grades, and the formula behind each
        value."""
        return Explanation.of(history.explain(service, run_id, query_id))

    return run_evaluation, compare_runs, explain_score

"""The MCP server: what an agent may ask of Assay. It can search, read, measure and suggest; it
cannot put anything into a gold set. An adapter over `assay.desk`: every tool is one verb, with a
structured result that has a schema."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay import __version__
from assay.core.errors import AssayError, InputError
from assay.workbench.desk import Desk

INSTRUCTIONS = """Assay measures legal search and runs it. Use search and get_document to find and read precedents;
list_gold_sets, run_evaluation, compare_runs and explain_score to see how good a search engine is and why; get_metrics
for the expert's review backlog. suggest_judgment asks an expert to look: nothing enters a gold set without one."""
SNIPPET = 400

F = TypeVar("F", bound=Callable[..., Any])
Limit = Annotated[int, Field(ge=1, le=200, description="How many at most.")]
Offset = Annotated[
    int,
    Field(ge=0, le=10**9, description="Where to begin; give the next_offset of the last answer."),
]


class Answer(BaseModel):
    """Results may gain fields; they do not lose any."""

    model_config = ConfigDict(extra="forbid")


class Found(Answer):
    doc_id: str
    score: float | None = None
    title: str = ""
    snippet: str = Field("", description="The beginning of the text.")
    locator: dict[str, Any] = Field(
        {}, description="Section, moment, page: what a lawyer would cite."
    )


class SearchResults(Answer):
    corpus: str
    query: str
    hits: list[Found]
    next_offset: int | None = Field(
        None, description="Where the next page begins; none when this was the last."
    )


class DocumentText(Answer):
    doc_id: str
    title: str
    text: str = Field(description="From the offset on, as many characters as asked for.")
    characters: int = Field(description="The length of the whole text.")
    next_offset: int | None = None
    language: str = ""
    citations: list[str] = []
    locator: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class BacklogBlock(Answer):
    """How many wait for an expert, and since when. The counts sum to total."""

    pending_review: int
    approved: int
    rejected: int
    published: int
    total: int
    oldest_pending_at: str | None


class Metrics(Answer):
    halacha_backlog: BacklogBlock
    backlog: dict[str, Any] = Field(
        description="The same, with ages in days, throughput a week and forecast."
    )


class GoldSetInfo(Answer):
    name: str
    path: str
    queries: int = 0
    judgments: int = 0
    status: str = Field(
        "", description="provisional (bootstrap-only): no row approved; partly approved; approved."
    )
    approved_share: float | None = Field(
        None, description="Of a set from logs: the share of approved rows."
    )
    error: str = ""


class GoldSets(Answer):
    gold_sets: list[GoldSetInfo]
    next_offset: int | None = None


class Evaluation(Answer):
    run_id: str = Field(description="For compare_runs and explain_score.")
    engine: str
    gold: str
    gold_status: str
    queries: int
    overall: dict[str, float | None] = Field(description="Mean of every measure over all queries.")
    intervals: dict[str, Any] = Field({}, description="95 % interval of every mean.")


class RunComparison(Answer):
    baseline: str
    systems: list[str]
    headline: str
    differences: list[dict[str, Any]] = Field(
        description="By measure: values, difference, interval, p-values, wins."
    )
    moved: list[dict[str, Any]] = Field(
        description="The queries that moved most, and what entered and left."
    )
    warnings: list[str]
    gold_status: str = Field(
        "", description="How far the gold set is approved; empty where that is not recorded."
    )
    variants: list[dict[str, Any]] = Field(
        [], description="The same for perturbed variants of golden questions."
    )


class Explanation(Answer):
    query_id: str
    query: str
    results: list[str] = Field(description="The ranking.")
    grades: list[int | None] = Field(
        description="The grade at every rank; none where nobody has judged."
    )
    metrics: dict[str, float | None]
    measures: list[dict[str, Any]] = Field(description="The formula behind every number.")


class ToJudge(Answer):
    query_id: str
    query: str
    doc_ids: list[str]
    reason: str
    item_id: str = ""


class NextToJudge(Answer):
    items: list[ToJudge]
    next_offset: int | None = None


class Suggested(Answer):
    item_id: str
    state: str = Field(description="pending_review until an expert decides.")
    gold: str
    query_id: str
    doc_id: str
    grade: int
    note: str = "An expert decides; the gold set is unchanged."


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
    return f"{place} {wrong.replace('List should', 'should')}, got {given[:80]}{'…' * (len(given) > 80)}"


def build_server(desk: Desk) -> Server:
    server = Server("assay", title="Assay", version=__version__, instructions=INSTRUCTIONS)
    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writing = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    for make in (_search_tools, _gold_tools, _run_tools):
        for tool in make(desk):
            changes = tool.__name__ in ("suggest_judgment", "run_evaluation")
            server.tool(annotations=writing if changes else reading, structured_output=True)(
                _with_clear_errors(tool)
            )
    return server


def run(
    desk: Desk,
    *,
    transport: Literal["stdio", "streamable-http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = 8351,
) -> None:
    """Serve until the client goes away (stdio) or the server is interrupted (HTTP, at /mcp)."""
    server = build_server(desk)
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


def _search_tools(desk: Desk) -> tuple[Callable[..., Any], ...]:
    def search(corpus: str, query: str, limit: Limit = 10, offset: Offset = 0) -> SearchResults:
        """Search an indexed corpus; the most relevant documents first."""
        page = desk.search(corpus, query, limit, offset)
        hits = [
            Found(
                doc_id=hit.doc_id,
                score=hit.score,
                title=hit.title,
                snippet=hit.text[:SNIPPET],
                locator=msgspec.to_builtins(hit.locator) if hit.locator else {},
            )
            for hit in page.items
        ]
        return SearchResults(corpus=corpus, query=query, hits=hits, next_offset=page.next_offset)

    def get_document(
        corpus: str,
        doc_id: str,
        offset: Offset = 0,
        characters: Annotated[
            int, Field(ge=1, le=100_000, description="How much of the text.")
        ] = 20_000,
    ) -> DocumentText:
        """Read a document, a part at a time."""
        found = desk.document(corpus, doc_id)
        end = offset + characters
        return DocumentText(
            doc_id=found.id,
            title=found.title,
            text=found.text[offset:end],
            characters=len(found.text),
            next_offset=end if end < len(found.text) else None,
            language=found.language,
            citations=list(found.citations),
            metadata=found.metadata,
            locator=msgspec.to_builtins(found.locator) if found.locator else {},
        )

    return search, get_document


def _gold_tools(desk: Desk) -> tuple[Callable[..., Any], ...]:
    def get_metrics(gold: str = "") -> Metrics:
        """The expert's review backlog, of one gold set or of all."""
        return Metrics.model_validate(desk.metrics(gold=gold))

    def list_gold_sets(limit: Limit = 50, offset: Offset = 0) -> GoldSets:
        """The gold sets there are, how large they are, and how much of each an expert has
        approved."""
        found = desk.gold_list()
        more = len(found) > offset + limit
        page = [GoldSetInfo.model_validate(entry) for entry in found[offset : offset + limit]]
        return GoldSets(gold_sets=page, next_offset=offset + limit if more else None)

    def next_to_judge(gold: str, limit: Limit = 10, offset: Offset = 0) -> NextToJudge:
        """What an expert should judge next on a gold set."""
        page = desk.next_to_judge(gold, limit, offset)
        return NextToJudge.model_validate({"items": page.items, "next_offset": page.next_offset})

    def suggest_judgment(
        gold: str,
        query_id: str,
        doc_id: str,
        grade: Annotated[int, Field(ge=0, le=4, description="0 is not relevant; see the rubric.")],
        rationale: Annotated[
            str, Field(min_length=1, description="Why, in a sentence or two, for the expert.")
        ],
        by: Annotated[str, Field(min_length=1, description="Who suggests: your name and version.")],
    ) -> Suggested:
        """Suggest a judgment. It waits in the review queue for an expert, and does not change the
        gold set."""
        item = desk.suggest(gold, query_id, doc_id, grade, rationale=rationale, by=by)
        return Suggested(
            item_id=item.id,
            state=item.state,
            gold=gold,
            query_id=item.ref,
            doc_id=item.doc_ids[0],
            grade=item.grade or 0,
        )

    return get_metrics, list_gold_sets, next_to_judge, suggest_judgment


def _run_tools(desk: Desk) -> tuple[Callable[..., Any], ...]:
    def run_evaluation(gold: str, engine: str) -> Evaluation:
        """Score a configured engine on a gold set. The run is kept under its run_id."""
        run = desk.evaluate(gold, engine)
        results = run.results
        return Evaluation(
            run_id=run.id,
            engine=engine,
            gold=gold,
            gold_status=results["receipt"]["gold"]["status"] or "unknown",
            queries=len(results["per_query"]),
            overall=results["overall"],
            intervals=results.get("intervals", {}).get("overall", {}),
        )

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
        return RunComparison.model_validate(
            msgspec.to_builtins(desk.compare_runs(run_ids, force=force))
        )

    def explain_score(run_id: str, query_id: str) -> Explanation:
        """The numbers of one query of a run: its ranking with grades, and the formula behind each
        value."""
        found = desk.explain(run_id, query_id)
        entry = found["entry"]
        return Explanation(
            query_id=entry["query_id"],
            query=entry["query_text"],
            results=entry["results"],
            grades=entry["grades"],
            metrics=entry["metrics"],
            measures=found["measures"],
        )

    return run_evaluation, compare_runs, explain_score

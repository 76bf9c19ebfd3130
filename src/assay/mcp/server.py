"""The MCP server: agents can search, read, measure and suggest, but put nothing into a gold set.

Tools are functions of `workbench.agents`. The SDK reads their arguments with pydantic, so the
constraints of msgspec are handed on to it; the schemas of their answers are made from structs.
Errors are in words that an agent can act on."""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints
from urllib.parse import unquote

import msgspec
from mcp.types import INVALID_PARAMS, CallToolResult, Tool, ToolAnnotations
from pydantic import Field, ValidationError

from assay import __version__
from assay.core.errors import AssayError, InputError
from assay.mcp import VERSION_ONE
from assay.workbench.agents import TOOLS, WRITING
from assay.workbench.agents.documents import SearchFilters
from assay.workbench.agents.gold_sets import get_rubric
from assay.workbench.agents.runs import report_of
from assay.workbench.agents.short_answers import encode_answer
from assay.workbench.judging import gold_sets as gold
from assay.workbench.project.service import Service
from assay.workbench.scoring.history import known_engine
from assay.workbench.searching import corpora

if TYPE_CHECKING or not VERSION_ONE:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError, UnexpectedToolError
    from mcp.shared.exceptions import MCPError
else:
    from assay.mcp.sdk_v1 import (
        MCPError,
        MCPServer,
        ResourceError,
        ToolError,
        UnexpectedToolError,
    )

INSTRUCTIONS = (
    "Assay measures legal search and runs it. To find the law: list_corpora, then search in the "
    "language of the corpus; when `answered` is false, say that nothing answers. A hit that is "
    "near the question need not answer it: read it with get_document, and cite it, with its "
    "`citation`, only if it says what was asked. Look a citation up with cite. To see how good an "
    "engine is: list_gold_sets, list_engines and list_runs, then run_evaluation, compare_runs "
    "(report its verdict as it is), list_failures and explain_score. To help an expert: "
    "list_waiting says what waits, next_to_judge what to judge, get_rubric how; suggest_judgment "
    "puts a grade before the expert. Nothing enters a gold set without one."
)

Transport = Literal["stdio", "streamable-http"]

READING_HINTS = {"readOnlyHint": True, "openWorldHint": False}
WRITING_HINTS = {
    "readOnlyHint": False,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
MOST_TEXT = 100_000  # characters of an argument; chosen
MOST_QUOTED = 80  # characters of a wrong argument that an error repeats; taste
MOST_ERROR = 2_000  # characters of an error; the promised length of an answer
FILTERS = tuple(field.name for field in fields(SearchFilters))
SURROGATES = re.compile("[\ud800-\udfff]")
COMMANDS = re.compile(r"`|\bassay [a-z]|--[a-z]|assay\.toml|pip install")
FOLDERS = re.compile(r"(?:\b[A-Za-z]:)?(?<![\w:/.])(?:[~.]{0,2}/[^\s/:'\"]+)*/(?=[^\s/:'\"]+)")


# ── from a function of the workbench to a tool of the protocol ────────────────────────────────────

BOUNDS = ("description", "ge", "le", "min_length", "max_length")


def output_schema(function: Callable[..., msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of the answer of a tool, with an object at its root as the protocol wants."""
    answer = get_type_hints(function)["return"]
    _, schemas = msgspec.json.schema_components([answer], ref_template="#/$defs/{name}")
    return {**schemas.pop(answer.__name__), "$defs": schemas}


def as_result(answer: msgspec.Struct) -> CallToolResult:
    """An answer as structured content, and as text without the indentation that the SDK adds."""
    text = encode_answer(answer)
    return CallToolResult.model_validate(
        {"content": [{"type": "text", "text": text}], "structuredContent": json.loads(text)}
    )


def signature_without_service(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a tool except the first, the open project, as the SDK reads them."""
    hints = get_type_hints(function, include_extras=True)
    _, *parameters = inspect.signature(function).parameters.values()
    return inspect.Signature(
        [each.replace(annotation=_for_pydantic(hints[each.name])) for each in parameters]
    )


def _for_pydantic(hint: Any) -> Any:
    """A type with the bounds and the description of its `msgspec.Meta` as a field of pydantic."""
    bounds = {
        name: value
        for meta in getattr(hint, "__metadata__", ())
        for name in BOUNDS
        if (value := getattr(meta, name)) is not None
    }
    return Annotated[hint.__origin__, Field(**bounds)] if bounds else hint


OUTPUT_SCHEMAS = {tool.__name__: output_schema(tool) for tool in TOOLS}
ARGUMENTS = {tool.__name__: list(signature_without_service(tool).parameters) for tool in TOOLS}


# ── the server ────────────────────────────────────────────────────────────────────────────────────


class Server(MCPServer[Any]):
    """The SDK's server, with output schemas made from structs and errors that say what to do."""

    async def list_tools(self) -> list[Tool]:
        return [
            Tool.model_validate(
                tool.model_dump(by_alias=True) | {"outputSchema": OUTPUT_SCHEMAS[tool.name]}
            )
            for tool in await super().list_tools()
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        if name not in ARGUMENTS:
            known = ", ".join(ARGUMENTS)
            raise ToolError(f"there is no tool {name[:MOST_QUOTED]!r}. Known: {known}.")
        takes = f"{name} takes {', '.join(ARGUMENTS[name])}."
        unknown = [key for key in arguments if key not in ARGUMENTS[name]]
        if unknown:
            raise ToolError(f"unknown argument {unknown[0][:MOST_QUOTED]!r}. {takes}")
        if wrong := _unreadable(arguments):
            raise ToolError(f"{wrong}. {takes}")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(
                    f"{'; '.join(map(_wrong_argument, error.__cause__.errors()))}. {takes}"
                ) from None
            raise ToolError(str(error).removeprefix(f"Error executing tool {name}: ")) from error


def _unreadable(value: Any) -> str:
    """The reason why no tool can read these arguments, nested ones included; empty if all can be
    read."""
    if isinstance(value, str):
        if len(value) > MOST_TEXT:
            return f"a text of more than {MOST_TEXT:,} characters"
        whole = value.isascii() or not SURROGATES.search(value)
        return "" if whole else "a text with half a character in it"
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    if not isinstance(parts, list):
        return ""
    return next(filter(None, map(_unreadable, parts)), "")


def _wrong_argument(error: Any) -> str:
    """A sentence on one wrong argument: its name, what is wrong, and its value."""
    place = ".".join(map(str, error["loc"]))
    if error["type"] == "missing":
        return f"{place} is missing"
    if error["type"] == "unexpected_keyword_argument":
        return f"there is no filter {error['loc'][-1]!r}; filters has {', '.join(FILTERS)}"
    if error["loc"] == ("filters",):
        return f"filters should be an object with {', '.join(FILTERS)}, got {error['input']!r:.80}"
    wrong = error["msg"].replace("Input should be", "should be").replace("String should", "should")
    given = repr(error["input"])
    wrong = wrong.replace("List should", "should")
    return f"{place} {wrong}, got {given[:80]}{'…' * (len(given) > 80)}"


def build_server(service: Service) -> Server:
    service = replace(service, opens_files=False)
    server = Server("assay", title="Assay", version=__version__, instructions=INSTRUCTIONS)
    reading, writing = map(ToolAnnotations.model_validate, (READING_HINTS, WRITING_HINTS))
    for tool in TOOLS:
        server.add_tool(
            _callable_by_agents(tool, service),
            description=" ".join((tool.__doc__ or "").split()),
            annotations=writing if tool in WRITING else reading,
            structured_output=False,
        )
    offer(server, service, in_agents_words)
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
            hint="Serve on 127.0.0.1, behind a proxy that controls access.",
        )
    server.run("streamable-http", host=host, port=port)


def in_agents_words(error: AssayError) -> str:
    """An error and what to do about it, without commands that an agent cannot run and without the
    folders of this machine."""
    if not isinstance(error, InputError):
        return FOLDERS.sub("", str(error))
    message = f"{error.where}: {error.message}" if error.where else error.message
    advice = re.split(r"(?<=[.;])\s+", error.hint)
    useful = " ".join(part for part in advice if part and not COMMANDS.search(part))
    return FOLDERS.sub("", f"{message}. {useful}".strip() if useful else message)


def _callable_by_agents(
    tool: Callable[..., msgspec.Struct], service: Service
) -> Callable[..., CallToolResult]:
    """A tool on an open project. An expected error is an answer that a model can read; the SDK logs
    any other."""

    @functools.wraps(tool)
    def call(**arguments: Any) -> CallToolResult:
        try:
            return as_result(tool(service, **arguments))
        except AssayError as error:
            raise ToolError(in_agents_words(error)[:MOST_ERROR]) from error

    call.__signature__ = signature_without_service(tool)  # type: ignore[attr-defined]
    return call


# ── resources and prompts ─────────────────────────────────────────────────────────────────────────

Words = Callable[[AssayError], str]
MARKDOWN = "text/markdown"
MAX_PROMPT_DOCUMENTS = 10  # documents of a prompt; taste


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
        count = min(int(how_many), MAX_PROMPT_DOCUMENTS) if how_many.isdecimal() else 3
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

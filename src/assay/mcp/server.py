"""The MCP server: agents can search, read, measure and suggest, but put nothing into a gold set.

Tools are functions of `workbench.agents`; resources and prompts are in `offering`. Here are the
server and its errors, in words that an agent can act on."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Literal

import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, Tool, ToolAnnotations
from pydantic import ValidationError

from assay import __version__
from assay.core.errors import AssayError, InputError
from assay.mcp.offering import offer
from assay.mcp.tools import as_result, output_schema, signature_without_service
from assay.workbench.agents import TOOLS, WRITING
from assay.workbench.agents.documents import SearchFilters
from assay.workbench.project.service import Service

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

MOST_TEXT = 100_000  # characters of an argument
MOST_QUOTED = 80  # characters of a wrong argument that an error repeats
MOST_ERROR = 2_000  # characters of an error
FILTERS = tuple(field.name for field in fields(SearchFilters))
OUTPUT_SCHEMAS = {tool.__name__: output_schema(tool) for tool in TOOLS}
SURROGATES = re.compile("[\ud800-\udfff]")
COMMANDS = re.compile(r"`|\bassay [a-z]|--[a-z]|assay\.toml|pip install")
FOLDERS = re.compile(r"(?:\b[A-Za-z]:)?(?<![\w:/.])(?:[~.]{0,2}/[^\s/:'\"]+)*/(?=[^\s/:'\"]+)")


class Server(MCPServer[Any]):
    """The SDK's server, with output schemas made from structs and errors that say what to do."""

    async def list_tools(self) -> list[Tool]:
        return [
            tool.model_copy(update={"output_schema": OUTPUT_SCHEMAS[tool.name]})
            for tool in await super().list_tools()
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        tools = {
            tool.name: list(tool.input_schema["properties"]) for tool in await self.list_tools()
        }
        if name not in tools:
            raise ToolError(f"there is no tool {name[:MOST_QUOTED]!r}. Known: {', '.join(tools)}.")
        takes = f"{name} takes {', '.join(tools[name])}."
        unknown = [key for key in arguments if key not in tools[name]]
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
    """Why no tool can read these arguments, nested ones included; empty if all can be read."""
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
    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writing = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
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
            hint="Serve on 127.0.0.1, behind a proxy that knows who may come in.",
        )
    server.run("streamable-http", host=host, port=port)


def in_agents_words(error: AssayError) -> str:
    """An error and what to do about it, without commands that an agent cannot run and without the
    folders of this machine."""
    if not isinstance(error, InputError):
        return FOLDERS.sub("", str(error))
    told = f"{error.where}: {error.message}" if error.where else error.message
    advice = re.split(r"(?<=[.;])\s+", error.hint)
    useful = " ".join(part for part in advice if part and not COMMANDS.search(part))
    return FOLDERS.sub("", f"{told}. {useful}".strip() if useful else told)


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

"""The interface of the SDK `mcp` 2.x on top of 1.x, for services that still run 1.x. It goes when
1.x has no more releases.

It has only the names that `server` uses. Where the two versions behave differently, it does what
2.x does: a tool runs in a thread, the text of a crash stays here, and ids may contain slashes."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from typing import Any

from anyio import to_thread
from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ResourceError, ToolError
from mcp.shared.exceptions import McpError
from mcp.types import INTERNAL_ERROR, CallToolResult, ErrorData, ResourceTemplate
from pydantic import ValidationError

LOG = logging.getLogger(__name__)
Run = Callable[..., Any]


class UnexpectedToolError(ToolError):
    """A crash in a tool; its text is not for the client."""


class MCPError(McpError):
    """An error of the protocol, with a code and a message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(ErrorData(code=code, message=message))


class MCPServer(FastMCP):
    """The server of 1.x, called as that of 2.x."""

    def __init__(self, name: str, *, title: str, version: str, instructions: str) -> None:
        super().__init__(name, instructions=instructions)  # 1.x has no title
        self._mcp_server.version = version

    def __class_getitem__(cls, lifespan: Any) -> type[MCPServer]:
        return cls

    def add_tool(self, fn: Run, **options: Any) -> None:
        @functools.wraps(fn)
        async def in_thread(**arguments: Any) -> Any:
            return await to_thread.run_sync(functools.partial(fn, **arguments))

        super().add_tool(in_thread, **options)

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            answer: CallToolResult = await self._tool_manager.call_tool(name, arguments)
        except ToolError as error:
            if isinstance(error.__cause__, ToolError | ValidationError):
                raise
            LOG.exception("Tool %r raised an unexpected exception", name)
            raise UnexpectedToolError(f"Error executing tool {name}") from error
        return answer.content, answer.structuredContent

    def resource(self, uri: str, **options: Any) -> Callable[[Run], Run]:
        return super().resource(uri.replace("{+", "{"), **options)

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        return [
            template.model_copy(update={"uriTemplate": _rest_with_slashes(template.uriTemplate)})
            for template in await super().list_resource_templates()
        ]

    async def read_resource(self, uri: Any) -> Iterable[Any]:
        scheme, _, path = str(uri).partition("://")
        first, slash, rest = path.partition("/")
        try:
            quoted = f"{scheme}://{first}{slash}{rest.replace('/', '%2F')}"
            return await super().read_resource(quoted)
        except Exception as error:
            expected = _first_of(error, ResourceError)
            if expected is None and not str(error).startswith("Unknown resource"):
                LOG.exception("Resource %r raised an unexpected exception", str(uri))
                raise MCPError(INTERNAL_ERROR, f"Error reading resource {uri}") from error
            raise MCPError(INTERNAL_ERROR, str(expected or error)) from error

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        try:
            return await super().get_prompt(name, arguments)
        except ValueError as error:
            raise _first_of(error, MCPError) or error from None

    def run(self, transport: str = "stdio", *, host: str = "127.0.0.1", port: int = 8000) -> None:
        self.settings.host, self.settings.port = host, port
        super().run(transport)


def _rest_with_slashes(template: str) -> str:
    """A template as 2.x lists it: its second part is the rest of the address."""
    return template.replace("}/{", "}/{+")


def _first_of(error: BaseException | None, kind: type[Exception]) -> Any:
    """The first error of a kind among those that led to this one; none if there is none."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error

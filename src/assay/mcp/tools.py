"""How a function of the workbench becomes a tool of the protocol.

The SDK reads arguments with pydantic, so constraints of msgspec are handed on to it. Answers are
structs: the output schema is made from the type, and the structured content from the value."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import msgspec
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from assay.workbench.agents.short_answers import written

BOUNDS = ("description", "ge", "le", "min_length", "max_length")


def output_schema(function: Callable[..., msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of the answer of a tool, with an object at its root as the protocol wants."""
    answer = get_type_hints(function)["return"]
    _, schemas = msgspec.json.schema_components([answer], ref_template="#/$defs/{name}")
    return {**schemas.pop(answer.__name__), "$defs": schemas}


def as_result(answer: msgspec.Struct) -> CallToolResult:
    """An answer as structured content, and as text without the indentation that the SDK adds."""
    text = written(answer)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=json.loads(text)
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

"""Assay for AI agents, over the Model Context Protocol."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from assay.core.errors import InputError
from assay.core.extras import require_extra

OLDEST = (1, 10)  # the first version of the SDK whose tools have schemas of their answers


def _version() -> tuple[int, ...]:
    """The version of the SDK that is installed; none if it has no metadata."""
    try:
        found = version("mcp")
    except PackageNotFoundError:
        return ()
    if (numbers := tuple(map(int, found.split(".")[:2]))) < OLDEST:
        raise InputError(
            f"the package mcp has version {found}, and assay mcp needs "
            f"{'.'.join(map(str, OLDEST))} or newer",
            hint="Run pip install --upgrade 'assay-ir[mcp]', or give Assay an environment of its "
            "own: pipx install 'assay-ir[mcp]'.",
        )
    return numbers


require_extra("mcp", "the server for agents")
VERSION_ONE = _version()[:1] == (1,)

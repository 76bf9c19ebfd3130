"""Assay for AI agents, over the Model Context Protocol."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from assay.core.errors import InputError
from assay.core.extras import need

OLDEST = 2  # the first version of the SDK with the interface that `server` uses


def _refuse_old_sdk() -> None:
    try:
        found = version("mcp")
    except PackageNotFoundError:
        return
    if int(found.partition(".")[0]) < OLDEST:
        raise InputError(
            f"the package mcp has version {found}, and assay mcp needs {OLDEST} or newer",
            hint="Give it an environment of its own: pipx install 'assay-ir[mcp]'. All other parts "
            "of Assay work beside mcp 1.x.",
        )


need("mcp", "the server for agents")
_refuse_old_sdk()

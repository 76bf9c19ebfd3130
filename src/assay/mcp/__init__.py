"""Assay for AI agents, over the Model Context Protocol."""

from __future__ import annotations

from assay.core.extras import need

need("mcp", "the server for agents")

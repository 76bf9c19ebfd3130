"""Assay for AI agents, over the Model Context Protocol."""

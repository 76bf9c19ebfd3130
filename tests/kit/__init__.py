"""Helpers for tests that use Assay as its users do: commands, pages, routes, MCP tools and files.

    def test_something(project):
        project.bootstrap()
        with project.serve() as server:
            chair = server.visitor("Dafna")
            chair.approve("g001", reason="right")
        assert project.row("g001")["source"] == "chair"

`Project` is a folder with an `assay.toml`, a gold set from logs and a graded set; `Server` is the
web application on that folder; `Visitor` is one person's browser; `Agent` calls MCP tools. Only
`kit.server` and `kit.surface` import the inside of Assay."""

from kit.commands import Outcome, run_command
from kit.files import write_json_lines
from kit.projects import GOLD, GRADED, Project
from kit.server import Agent, Server, Visitor

__all__ = [
    "GOLD",
    "GRADED",
    "Agent",
    "Outcome",
    "Project",
    "Server",
    "Visitor",
    "run_command",
    "write_json_lines",
]

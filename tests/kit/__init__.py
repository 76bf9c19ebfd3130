"""Helpers for tests that use Assay as its users do: commands, pages, routes, MCP tools and files.

    def test_something(project):
        project.bootstrap()
        with project.serve() as server:
            chair = server.visitor("Dafna")
            chair.approve("g001", reason="right")
        assert project.row("g001")["source"] == "chair"

`Project` is a folder with an `assay.toml`, a gold set from logs and a graded set; `Server` is the
web application on that folder; `Visitor` is one person's browser; `Agent` calls MCP tools.

| module | for |
|---|---|
| `projects`, `commands`, `server` | a project folder, `assay ...` in this process, its web pages |
| `people`, `pages`, `browser` | accounts, every page with content, Chromium |
| `sets`, `runs`, `corpora`, `stores` | graded sets, votes, kept runs, corpora, databases |
| `search_server`, `judge_server` | engines and language models that answer as a test says |
| `golden_cases`, `random_data`, `spec_runner` | questions, random runs, the published golden rule |
| `surface`, `inventory`, `docs_pages`, `docs_world` | the inventory of the surface, docs as tests |

`tests/kit` alone decides how the inside of Assay is opened for a test."""

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

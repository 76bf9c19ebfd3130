"""The page "You already have search_logs", followed on a real PostgreSQL: its SQL, its files, its
commands and its code, as they stand there."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from kit.commands import Assay
from kit.docs_pages import DOCS, Block, blocks
from kit.stores import migrated_file, postgres_server, postgres_url

__all__ = ["migrated_file", "postgres_server", "postgres_url"]

PAGE = blocks(DOCS / "search-logs.md")
QUERIES = {"היטל השבחה": "precedent_library", 'תמ"א 38': "internal_decisions"}
SERVICE = """
ANSWERS = {answers}


async def search_precedent_library(query, *, practice_area, limit):
    return [{{"case_law_id": id}} for id in ANSWERS[query, practice_area]][:limit]


search_internal_decisions = search_precedent_library
"""


def block(language: str, title: str = "") -> Block:
    return next(each for each in PAGE if (each.language, each.title) == (language, title))


def id_of(number: int) -> str:
    return str(uuid.UUID(int=number))


@pytest.fixture
def team(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A service with the tables of the page, and a search that finds one precedent of two."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for statement in block("sql").text.split(";\n"):
            if statement.strip():
                connection.execute(statement)  # type: ignore[call-overload, unused-ignore]
        for number, (query, corpus) in enumerate(QUERIES.items(), start=1):
            made = "2026-05-01T10:00:00Z"
            row = (id_of(number), query, "levy", corpus, made)
            connection.execute("INSERT INTO search_logs VALUES (%s, %s, %s, %s, %s)", row)
            for score in range(4):
                fed = (id_of(10 * number + score), id_of(number), id_of(100 + score), score, made)
                insert = "INSERT INTO search_relevance_feedback VALUES (%s, %s, %s, %s, %s)"
                connection.execute(insert, fed)
        for number, state in enumerate(["pending_review", "approved", "on hold"]):
            item = (id_of(number), state, "2026-05-01T12:00:00Z")
            connection.execute("INSERT INTO halachot VALUES (%s, %s, %s)", item)
    monkeypatch.setenv("LEGAL_DB", postgres_url)
    answers = {("היטל השבחה", "levy"): [id_of(103)], ('תמ"א 38', "levy"): [id_of(7)]}
    package = tmp_path / "legal_mcp" / "services"
    package.mkdir(parents=True)
    (package / "search.py").write_text(SERVICE.format(answers=answers), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def follow(team: Path, line: str) -> subprocess.CompletedProcess[str]:
    """A line of a block, in the team's folder."""
    words = re.sub(r"^python ", f"{sys.executable} ", line)
    run = subprocess.run(words, shell=True, cwd=team, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run


def test_the_page_from_tables_to_a_baseline(team: Path, assay_cli: Assay) -> None:
    assert assay_cli("init", "--layout", "harness").code == 0
    shown = next(each.text for each in PAGE if each.language == "toml")
    written = (team / "assay.toml").read_text()
    for line in shown.splitlines():
        assert line.partition("#")[0].rstrip() in written
    bootstraps, measures = (each.text.splitlines() for each in PAGE if each.language == "sh")
    for line in bootstraps:
        follow(team, line)
    rows = (team / "data/eval/gold-set.jsonl").read_text(encoding="utf-8").splitlines()
    found = {row["query"]: row for row in map(json.loads, rows)}
    assert {query: row["corpus"] for query, row in found.items()} == QUERIES
    assert all(row["relevant_case_law_ids"] == [id_of(103)] for row in found.values())
    search = block("python", "scripts/production_search.py")
    (team / search.title).write_text(search.text)
    for line in measures:
        follow(team, line)
    baseline = json.loads((team / "data/eval/baseline.json").read_text())
    assert baseline["overall"]["recall@5"] == 0.5
    reports = sorted(path.name for path in (team / "data/eval").glob("eval-report-*.md"))
    assert len(reports) == 2, "the second report of a day does not replace the first"
    assert reports[0].endswith("-2.md") or reports[1].endswith("-2.md")


def test_the_page_shows_the_backlog(team: Path, assay_cli: Assay) -> None:
    assay_cli("init", "--layout", "harness")
    names: dict[str, Any] = {"app": FastAPI()}
    for title in ("metrics.py", "app.py"):
        exec(block("python", title).text, names)
    figures = {"pending_review": 1, "approved": 1, "rejected": 0, "published": 0, "other": 1}
    figures |= {"total": 3, "oldest_pending_at": "2026-05-01T12:00:00+00:00"}
    assert asyncio.run(names["get_dashboard"]()) == {"halacha_backlog": figures}
    answer = TestClient(names["app"]).get("/api/system/diagnostics")
    assert (answer.status_code, answer.json()) == (200, {"halacha_backlog": figures})


def test_the_glue_is_as_short_as_the_page_says() -> None:
    code = [each.text for each in PAGE if each.language == "python"]
    lines = [line for text in code for line in text.splitlines() if line.strip()]
    theirs = sum(line.startswith(("async def get_", "async def diag", "@app")) for line in lines)
    said = int(re.findall(r"with (\d+) lines of code", (DOCS / "search-logs.md").read_text())[0])
    assert len(lines) - theirs == said < 15


def test_a_project_that_has_scripts_keeps_them(team: Path, assay_cli: Assay) -> None:
    (team / "scripts").mkdir()
    (team / "scripts/SCRIPTS.md").write_text("# Ours\n")
    assert assay_cli("init", "--layout", "harness").code == 0
    text = (team / "scripts/SCRIPTS.md").read_text()
    assert text.startswith("# Ours\n")
    assert "eval_retrieval.py" in text
    again = assay_cli("init", "--layout", "harness")
    assert (again.code, "here already" in again.err) == (2, True)

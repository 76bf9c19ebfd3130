"""A gold set with two rows that wait and one of the chair, for tests of what an expert decides."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, row_line
from assay.review.queue import sync_review
from assay.review.rulings import Word
from assay.store import Store

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
WORD = Word(by="Dafna", why="right", at=NOW)


def row(id: str, query: str = "q", source: str = "bootstrap", **more: Any) -> GoldRow:
    fields = {"relevant_case_law_ids": ("a", "b"), "corpus": "c"} | more
    return GoldRow(id=id, query=query, source=source, **fields)


@pytest.fixture
def store_url(tmp_path: Path, migrated_file: Path) -> str:
    """One database: what is looked at here is above the store."""
    return str(shutil.copy(migrated_file, tmp_path / "assay.db"))


@pytest.fixture
def gold(store: Store, tmp_path: Path) -> Path:
    """Two rows that wait, and one of the chair."""
    path = tmp_path / "gold-set.jsonl"
    lines = [row_line(row("g001", "one")), row_line(row("g002", "two")),
             row_line(row("g003", "three", "chair"))]  # fmt: skip
    path.write_bytes(gold_jsonl.assemble(lines))
    store.gold_name(str(path.resolve()), ["gold-set"], gone=lambda _: False)
    sync_review(store, "gold-set", lines, now=NOW)
    return path


def by_id(path: Path) -> dict[str, GoldRow]:
    return {each.id: each for each in gold_jsonl.rows(gold_jsonl.read_lines(path))}

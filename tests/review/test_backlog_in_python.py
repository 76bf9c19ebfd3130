"""`assay.backlog`: the figures for a dashboard of the team's own, plain and async."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

import assay
from kit.stores import database

STATES = ["pending_review", "approved", "rejected", "published", "on hold", "Approved", "", None]


@pytest.fixture
def legal(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration for a table of PostgreSQL with random states, in a folder of its own."""
    dice = random.Random(7)
    with database(postgres_url) as connection:
        connection.execute("CREATE TABLE halachot (review_status TEXT, created_at TIMESTAMPTZ)")
        for number in range(300):
            made = f"2026-05-{number % 28 + 1:02}T12:00:00Z"
            row = (dice.choice(STATES), made)
            connection.execute("INSERT INTO halachot VALUES (%s, %s)", row)
    monkeypatch.setenv("LEGAL_DB", postgres_url)
    config = tmp_path / "assay.toml"
    config.write_text('[backlog.halacha]\nurl = "env:LEGAL_DB"\ntable = "halachot"\n')
    return config


def test_the_figures_sum_to_the_total_and_are_json(legal: Path) -> None:
    found = assay.backlog("halacha", config=legal)
    states = ("pending_review", "approved", "rejected", "published", "other")
    assert sum(found[state] for state in states) == found["total"] == 300  # type: ignore[literal-required]
    assert found["other"] > 0
    assert json.loads(json.dumps(found)) == found
    assert str(found["oldest_pending_at"]).startswith("2026-05-0")
    assert asyncio.run(assay.backlog_async("halacha", config=legal)) == found


def test_a_backlog_that_cannot_be_counted_says_why(
    legal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(assay.InputError, match=r"no backlog 'nope'[\s\S]*It has halacha"):
        assay.backlog("nope", config=legal)
    monkeypatch.setenv("LEGAL_DB", "postgresql://u:secret@127.0.0.1:1/none")
    with pytest.raises(assay.AssayError, match=r"backlog\.halacha") as refused:
        asyncio.run(assay.backlog_async("halacha", config=legal))
    assert "secret" not in str(refused.value)

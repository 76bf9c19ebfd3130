"""From a log and decisions to gold, scores and the backlog, by the commands alone, on both
databases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from assay.mcp.server import build_server
from assay.web.app import create_app
from assay.workbench.project.service import open_service
from kit.commands import Assay

mcp = pytest.importorskip("mcp", reason="needs the package mcp")
testclient = pytest.importorskip("starlette.testclient", reason="needs the package httpx")

SIX = ["pending_review", "approved", "rejected", "published", "total", "oldest_pending_at"]
SEARCHES = [
    {
        "at": "2026-05-01",
        "query": 'מועד קובע תב"ע',
        "corpus": "precedent_library",
        "practice_area": "betterment_levy",
        "results": ["p1", "p2", "p3"],
    },
    {
        "at": "2026-05-02",
        "query": "מועד קובע, תב״ע?",
        "corpus": "precedent_library",
        "results": ["p2", "p4"],
    },
    {
        "at": "2026-05-03",
        "query": "costs",
        "corpus": "internal_decisions",
        "practice_area": "procedure",
        "results": ["d1", "d2"],
    },
    {
        "at": "2026-05-04",
        "query": "delay",
        "corpus": "internal_decisions",
        "practice_area": "procedure",
        "results": ["d2", "d3"],
    },
]
DECISIONS = [
    {"id": "ערר 1/26", "at": "2026-05-20", "cites": ["p2", "d2"]},
    {"id": "ערר 2/26", "at": "2026-05-21", "cites": ["p1"]},
]
ENGINE = """
class Production:
    def search(self, query, top_k=20):
        return ["p2", "p1"] if "מועד" in query else ["d1", "d2"]
"""


def lines(name: str, rows: list[dict[str, Any]]) -> str:
    Path(name).write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return name


def rows() -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in Path("gold-set.jsonl").read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture
def to_gold(store_url: str, assay_cli: Assay, monkeypatch: pytest.MonkeyPatch) -> Assay:
    monkeypatch.setenv("ASSAY_STORE", store_url)
    assert "4 searches read, 4 new" in assay_cli("logs", "import", lines("log.jsonl", SEARCHES)).err
    done = assay_cli("logs", "decisions", lines("decisions.jsonl", DECISIONS))
    assert "2 decisions, 5 new signs of relevance" in done.err
    assert assay_cli("gold", "bootstrap").code == 0
    return assay_cli


def test_bootstrap_is_idempotent_and_leaves_the_chair_alone(to_gold: Assay) -> None:
    found = {row["query"]: row["relevant_case_law_ids"] for row in rows()}
    assert found == {"costs": ["d2"], "delay": ["d2"], 'מועד קובע תב"ע': ["p1", "p2"]}
    to_gold("gold", "promote", "g001", "--by", "Dafna")
    before = Path("gold-set.jsonl").read_bytes()
    assert (
        "0 added, 0 updated, 0 removed, 2 unchanged, 1 row left alone"
        in to_gold("gold", "bootstrap").err
    )
    assert Path("gold-set.jsonl").read_bytes() == before


def test_the_harness_and_the_baseline(to_gold: Assay) -> None:
    Path("production.py").write_text(ENGINE, encoding="utf-8")
    scoring = ("score", "--dataset", "gold-set.jsonl", "--search-module", "production.py")
    to_gold("gold", "promote", "g001", "--by", "Dafna")
    assert (
        to_gold(
            *scoring, "--update-baseline", "--by", "Dafna", "--why", "first", "--report", "eval"
        ).code
        == 0
    )
    (report,) = Path("eval").glob("eval-report-*.json")
    results = json.loads(report.read_text())
    assert results["overall"]["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert results["by_corpus"]["internal_decisions"]["precision@5"] == pytest.approx(1 / 5)
    assert results["by_practice_area"]["betterment_levy"]["recall@5"] == 1
    assert results["receipt"]["gold"]["status"] == "partly approved"
    again = to_gold(*scoring, "--baseline", "baseline.json", "--json").json
    assert set(again["baseline"]["delta"].values()) == {0.0}
    assert to_gold("backlog", "--json").json["published"] == 1


def test_every_place_gives_the_same_numbers(to_gold: Assay, store_url: str) -> None:
    to_gold("gold", "promote", "g001", "--by", "Dafna")
    to_gold("gold", "reject", "g002", "--by", "Dafna", "--why", "nobody asks this")
    told = to_gold("backlog", "--json").json
    assert [told[name] for name in SIX[:5]] == [1, 1, 1, 0, 3]
    assert sum(told[name] for name in SIX[:4]) == told["total"]
    with (
        open_service(store_url) as service,
        testclient.TestClient(create_app(service, hosts=["testserver"])) as client,
    ):
        assert moments(client.get("/api/system/diagnostics").json()["halacha_backlog"]) == moments(
            told
        )
        assert moments(client.get("/api/backlog").json()["halacha_backlog"]) == moments(told)
        assert (
            f'assay_review_items{{state="pending_review"}} {told["pending_review"]}\n'
            in client.get("/metrics").text
        )
        assert f'data-state="total"><b>{told["total"]}</b>' in client.get("/").text
        assert moments(anyio.run(metrics, build_server(service))) == moments(told)


def moments(block: dict[str, Any]) -> dict[str, Any]:
    return {name: str(block[name]).replace("+00:00", "Z") for name in SIX}


async def metrics(server: Any) -> dict[str, Any]:
    async with mcp.Client(server) as client:
        answer = await client.call_tool("get_metrics", {})
        block: dict[str, Any] = answer.structured_content["halacha_backlog"]
        return block

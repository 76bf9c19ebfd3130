"""An agent pays for every word: what is not asked to be long stays under 2,000 characters, and has
what the next step takes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the package mcp")
from talking import ToolClient

from assay.core.errors import InputError
from assay.mcp.server import in_agents_words
from assay.workbench.agents.short_answers import shorten_passage
from assay.workbench.scoring.history import _distinct_names

SHORT = 2_000


def test_answers_are_short_by_default(agent: ToolClient) -> None:
    run, other = [
        agent.call("run_evaluation", gold="opinions", engine=engine)["run_id"]
        for engine in ("bm25", "random")
    ]
    golden = agent.call("run_evaluation", gold="questions", engine="act")["run_id"]
    failed = agent.call("list_failures", run_id=golden)["failures"][0]["query_id"]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("search", {"corpus": "letters", "query": "may a mayor accept tickets as a gift?"}),
        ("search", {"corpus": "act", "query": "Milloin valtuusto on päätösvaltainen?"}),
        ("next_to_judge", {"gold": "opinions"}),
        ("list_queries", {"gold": "opinions"}),
        ("list_waiting", {}),
        ("list_runs", {}),
        ("list_gold_sets", {}),
        ("list_corpora", {}),
        ("run_evaluation", {"gold": "opinions", "engine": "bm25"}),
        ("compare_runs", {"run_ids": [run, other]}),
        ("explain_score", {"run_id": run, "query_id": "q001"}),
        ("explain_score", {"run_id": golden, "query_id": failed}),
        ("list_failures", {"run_id": run}),
        ("list_failures", {"run_id": golden}),
    ]
    for tool, arguments in asked:
        assert len(agent.text_of(tool, **arguments)) < SHORT, (tool, arguments)


def test_a_short_hit_has_what_it_takes_to_choose(agent: ToolClient) -> None:
    question = "may a mayor accept tickets to a concert as a gift?"
    found = agent.call("search", corpus="letters", query=question)
    assert found["answered"] is not False
    assert len(found["hits"]) >= 3
    for hit in found["hits"]:
        assert hit["doc_id"]
        assert hit["citation"]
        assert hit["title"]
        assert hit["score"] is not None
        assert len(hit["snippet"]) > 30
    whole = agent.call("search", corpus="letters", query=question, details=True)
    assert [hit["doc_id"] for hit in whole["hits"]] == [hit["doc_id"] for hit in found["hits"]]
    assert any(hit.get("question") for hit in whole["hits"])
    rest = agent.call("search", corpus="letters", query=question, offset=found["next_offset"])
    assert not {hit["doc_id"] for hit in rest["hits"]} & {hit["doc_id"] for hit in found["hits"]}


def test_of_hits_that_do_not_answer_there_are_few(agent: ToolClient) -> None:
    lost = {"corpus": "letters", "query": "how long to bake sourdough bread at home"}
    found = agent.call("search", **lost)
    assert found["answered"] is False
    assert len(found["hits"]) <= 2
    more = agent.call("search", **lost, limit=5)
    assert len(more["hits"]) == 5


def test_every_query_comes_page_by_page(agent: ToolClient) -> None:
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = agent.call("list_queries", gold="opinions", offset=offset)
        seen += [line["query_id"] for line in page["queries"]]
        offset = page["next_offset"]
    assert len(seen) == len(set(seen)) == 21


def test_one_call_tells_what_failed_and_why(agent: ToolClient) -> None:
    ran = agent.call("run_evaluation", gold="questions", engine="act")
    told: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        page = agent.call("list_failures", run_id=ran["run_id"], offset=offset)
        told += page["failures"]
        offset = page["next_offset"]
    assert [line["query_id"] for line in told] == ran["failed"]
    assert all("mom." in line["expected"] or "§" in line["expected"] for line in told)
    assert all(line["outcome"].startswith("Failed: ") for line in told)
    graded = agent.call("run_evaluation", gold="opinions", engine="bm25")
    weak = agent.call("list_failures", run_id=graded["run_id"])
    scores = [line["score"] for line in weak["failures"]]
    assert weak["measure"] == "nDCG@10"
    assert scores == sorted(scores)


def test_a_run_that_may_not_ship_says_why(agent: ToolClient) -> None:
    agent.call("run_evaluation", gold="opinions", engine="bm25")
    run = agent.call("list_runs", gold="opinions")["runs"][0]
    assert run["may_ship"] == "not_yet"
    assert "judged" in run["why"]


def test_a_cut_passage_keeps_the_asked_words() -> None:
    long = "The council met in May. Minutes were kept. A gift of tickets is reported within a week."
    assert (
        shorten_passage(long, 50, ["gift", "tickets"])
        == "… A gift of tickets is reported within a week."
    )
    assert shorten_passage(long, 30) == "The council met in May. …"
    assert shorten_passage(long, 200, ["gift"]) == long


def test_a_changed_set_is_no_error_and_errors_say_what_to_do(home: Path, agent: ToolClient) -> None:
    first = agent.call("run_evaluation", gold="opinions", engine="bm25")["run_id"]
    path = home / "opinions.json"
    before = path.read_bytes()
    changed = json.loads(before)
    judged = next(query for query in changed["queries"] if query["relevance_judgments"])
    judged["relevance_judgments"].pop()
    path.write_text(json.dumps(changed))
    try:
        again = agent.call("run_evaluation", gold="opinions", engine="bm25")
    finally:
        path.write_bytes(before)
    told = agent.call("compare_runs", run_ids=[first, again["run_id"]])
    assert "between bm25 of 20" in told["verdict"] or again["run_id"] in told["verdict"]
    assert "the gold set has changed since" in told["verdict"]
    golden = agent.call("run_evaluation", gold="questions", engine="act")["run_id"]
    lost = agent.refused("list_failures", run_id="x")
    assert "The newest: " in lost
    wrong = agent.refused("search", corpus="act", query="valtuusto", filters="2020")
    assert "filters should be an object with topic, " in wrong
    other = agent.refused("compare_runs", run_ids=[first, golden])
    assert "run_evaluation" in other
    assert "force" in other


def test_runs_are_named_by_engine_and_day() -> None:
    def run(engine: str, day: int) -> Any:
        return SimpleNamespace(
            id=f"{engine}{day}", engine=engine, at=datetime(2026, 11, day, tzinfo=UTC)
        )

    assert _distinct_names([run("a", 1), run("b", 1)]) == ["a", "b"]
    assert _distinct_names([run("a", 1), run("a", 2)]) == ["a of 2026-11-01", "a of 2026-11-02"]
    assert _distinct_names([run("a", 1), run("a", 1)]) == ["a1", "a1"]


def test_an_engine_may_have_the_name_of_the_program() -> None:
    error = InputError("no run 'x'", hint="The newest: 1 ('assay' on 'opinions').")
    assert "'assay' on 'opinions'" in in_agents_words(error)

"""The page of a set and of its runs: filter, order and pages of queries, notes, assignments, names
of runs and their files."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.core.types import Vote
from assay.judging.pool import Pool, PooledPair, read_pool, write_pool
from assay.store import Store
from assay.workbench.judging.votes_to_labels import append_votes
from assay.workbench.project.service import Service
from kit.runs import graded_set, kept, served
from kit.server import local_client
from kit.votes import vote_on

MANY = 120
WAITING = [("q0", "x1"), ("q0", "x2"), ("q1", "x3")]


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    gold = graded_set(tmp_path, queries=MANY)
    pairs = tuple(PooledPair(query_id=query, doc_id=doc) for query, doc in WAITING)
    write_pool(gold, Pool(pairs=pairs))
    return served(store, tmp_path, gold)


@pytest.fixture
def client(service: Service) -> TestClient:
    return local_client(service, "Dora")


def listed(client: TestClient, **asked: str) -> list[str]:
    page = client.get("/judge/set", params=asked)
    assert page.status_code == 200
    return re.findall(r'class="q" href="/judge/set/(\w+)"', page.text)


def test_queries_come_in_pages(client: TestClient) -> None:
    first, second, third = (listed(client, offset=str(start)) for start in (0, 50, 100))
    assert [len(first), len(second), len(third)] == [50, 50, 20]
    assert len({*first, *second, *third}) == MANY
    assert first[:2] == ["q0", "q1"], "those with documents for the reader come first"
    page = client.get("/judge/set").text
    assert f"1–50 of {MANY}" in page
    assert 'rel="next" href="/judge/set?offset=50"' in page


def test_queries_are_filtered_and_sorted(client: TestClient) -> None:
    assert set(listed(client, q="TRAVEL 1")) >= {"q1", "q13"}
    assert all(int(found[1:]) % 6 == 1 for found in listed(client, q="travel"))
    assert listed(client, show="left") == ["q0", "q1"]
    assert listed(client, show="left", sort="left") == ["q0", "q1"], "two are left of the first"
    assert len(listed(client, type="keyword")) == 50
    assert listed(client, q="no such words") == []
    assert client.get("/judge/set?show=nonsense").status_code == 400


def test_what_a_judge_was_unsure_of_is_found_again(client: TestClient, service: Service) -> None:
    append_votes(service.gold_sets["set"], [vote_on("q1", "x3", "Dora", None)])
    assert listed(client, show="unsure") == ["q1"]
    assert 'href="/judge/set?show=unsure">1 unsure</a>' in client.get("/judge/set").text


def test_a_note_is_read_by_all_who_judge_the_query(client: TestClient, service: Service) -> None:
    note = {"set": "set", "query_id": "q0", "note": "Gifts <b>of travel</b> count."}
    assert client.post("/api/notes", json=note).status_code == 200
    assert "Gifts &lt;b&gt;of travel&lt;/b&gt; count." in client.get("/judge/set/q0").text
    assert listed(client, show="noted") == ["q0"]
    assert client.post("/api/notes", json=note | {"note": ""}).status_code == 200
    assert listed(client, show="noted") == []
    assert "Note on a query" in client.get("/").text


def test_what_nobody_judged_is_assigned(client: TestClient, service: Service) -> None:
    gold = service.gold_sets["set"]
    vote = Vote(
        id="a-vote-of-hers",
        query_id="q0",
        doc_id="x1",
        grade=2,
        judge="Ada",
        kind="human",
        at="2026-05-31T10:00:00+00:00",
        rationale="It decides the point.",
    )
    append_votes(gold, [vote])
    sent = {"set": "set", "judges": "Ada, Ben , Ada"}
    assert client.post("/api/pool/assign", json=sent).json()["documents"] == {"Ada": 1, "Ben": 1}
    pool = read_pool(gold)
    assert pool is not None
    assert [pair.judges for pair in pool.pairs] == [(), ("Ada",), ("Ben",)], "the judged one stays"
    one = client.post("/api/pool/assign", json=sent | {"queries": ["q1"], "judges": "Cleo"})
    assert one.json()["documents"] == {"Cleo": 1}
    for wrong in ({"judges": " , "}, {"queries": ["q5"]}):
        assert client.post("/api/pool/assign", json=sent | wrong).status_code == 400


def test_a_run_is_named_and_found_by_its_name(client: TestClient, service: Service) -> None:
    order = [f"d{n}" for n in range(12)]
    run = kept(service, service.gold_sets["set"], "falcon", order, ids=["q0", "q1"])
    assert client.post(f"/runs/{run.id}/name", data={"name": "x" * 81}).status_code == 400
    answer = client.post(f"/api/runs/{run.id}/name", json={"name": "Release  7"})
    assert answer.json() == {"name": "Release 7"}
    for path in ("/runs", f"/runs/{run.id}"):
        assert "Release 7" in client.get(path).text
    assert client.get("/api/runs").json()["names"] == {run.id: "Release 7"}
    assert client.post("/api/runs/nothing/name", json={"name": "x"}).status_code == 404
    rows = list(csv.reader(io.StringIO(client.get(f"/runs/{run.id}/report?format=csv").text)))
    assert any("q0" in row for row in rows)
    assert client.get(f"/runs/{run.id}/report?format=exe").status_code == 400


def test_two_rankings_have_a_line_at_ten_and_grades(client: TestClient, service: Service) -> None:
    gold, order = service.gold_sets["set"], [f"d{n}" for n in range(12)]
    a, b = (kept(service, gold, name, order, days=n) for n, name in enumerate(("a", "b")))
    page = client.get(f"/compare/query?a={a.id}&b={b.id}&query=q0").text
    assert page.count(" tenth") == 2
    assert 'data-set="set"' in page

"""What a judge with documents left sees of runs, on every page and call that a judge may open."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.formats.results_json import read_answer_results
from assay.judging.pool import Pool, PooledPair, write_pool
from assay.store import Store
from assay.web.access import Access
from assay.web.app import TABLES, create_app
from assay.workbench.project import people
from assay.workbench.project.people import ROLES
from assay.workbench.project.service import Service
from assay.workbench.scoring.history import record
from kit.answers import answer_set
from kit.runs import graded_set, kept, served
from kit.server import local_client, take_token

ENGINES = ("falcon", "heron")
LEFT = "d3"  # of q0: both engines find it, it is labelled, and Ada has not judged it
GATES = """
[gold.set]
path = "set.json"

[[gates]]
measure = "nDCG@10"
minimum = 0.1
"""
SEEN_BY_A_JUDGE = {
    row.path
    for rows in TABLES
    for row in rows
    if "GET" in row.methods and row.role in ("reader", "judge")
} - {"/api/system/diagnostics"}  # of the configuration, which says nothing of rankings


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    gold = graded_set(tmp_path)
    service = served(store, tmp_path, gold, GATES)
    pairs = (
        PooledPair(query_id="q0", doc_id=LEFT, judges=("Ada", "Ben")),
        PooledPair(query_id="q1", doc_id="d4", judges=("Ben",)),
    )
    write_pool(gold, Pool(pairs=pairs))
    kept(service, gold, "falcon", [f"d{n}" for n in range(10)])
    kept(service, gold, "heron", [f"d{n}" for n in reversed(range(9))])
    return service


@pytest.fixture
def addresses(service: Service) -> dict[str, str]:
    """What to open of a row of the table."""
    newest = [run.id for run in service.store.runs(limit=2)]
    return {
        "/runs/{run}": f"/runs/{newest[0]}",
        "/api/runs/{run}": f"/api/runs/{newest[0]}",
        "/runs/{run}/report": f"/runs/{newest[0]}/report",
        "/compare": f"/compare?a={newest[1]}&b={newest[0]}",
        "/api/compare": f"/api/compare?a={newest[1]}&b={newest[0]}",
        "/compare/query": f"/compare/query?a={newest[1]}&b={newest[0]}&query=q0",
        "/api/compare/query": f"/api/compare/query?a={newest[1]}&b={newest[0]}&query=q0",
        "/judge/{set}": "/judge/set",
        "/judge/{set}/{query:path}": "/judge/set/q0",
        "/judge/{set}/{query:path}/all": "/judge/set/q0/all",
        "/agreement/{set}": "/agreement/set",
        "/api/judge/set": "/api/judge/set?set=set",
        "/api/judge/query": "/api/judge/query?set=set&query=q0",
        "/api/judge/rubric": "/api/judge/rubric?set=set",
        "/api/agreement": "/api/agreement?set=set",
        "/search": "/search?q=Gift+0",
        "/api/search": "/api/search?q=gift+0",
    }


def signed_in(service: Service, name: str, role: str) -> TestClient:
    people.invite(service, name, role, by=people.AT_THE_TERMINAL)  # type: ignore[arg-type]
    now = service.clock()
    (link,) = [one for one in service.store.invitations(now) if one.name == name]
    service.store.accept_invitation(link.id, name=name, password="", at=now)
    client = TestClient(create_app(service, access=Access(accounts=True)), follow_redirects=False)
    client.cookies.set("assay_session", people.start_session(service, name))
    take_token(client, "/me")
    return client


def judge_it(client: TestClient) -> None:
    vote = {"id": uuid.uuid4().hex, "set": "set", "query_id": "q0", "doc_id": LEFT, "grade": 1}
    answer = client.post("/api/votes", json=vote | {"rationale": "It answers half of it."})
    assert answer.status_code == 200, answer.text


def names_in(text: str) -> list[str]:
    return [name for name in ENGINES if name in text]


def test_no_page_or_call_names_an_engine_to_a_judge(
    service: Service, addresses: dict[str, str]
) -> None:
    ada = signed_in(service, "Ada", "judge")
    for path in SEEN_BY_A_JUDGE:
        answer = ada.get(addresses.get(path, path).replace("{", "").replace("}", ""))
        assert answer.status_code < 500, path
        assert names_in(answer.text) == [], path


@pytest.mark.parametrize(
    "path", ["/compare/query", "/api/compare/query", "/runs/{run}/report", "/search", "/api/search"]
)
def test_rankings_of_a_query_open_once_it_is_judged(
    service: Service, addresses: dict[str, str], path: str
) -> None:
    ada = signed_in(service, "Ada", "judge")
    refused = ada.get(addresses[path])
    assert refused.status_code == 403
    if not path.startswith("/api/"):
        assert "Hidden while you judge" in refused.text
    judge_it(ada)
    assert ada.get(addresses[path]).status_code != 403


def test_a_run_shows_no_grades_of_a_query_that_is_left(
    service: Service, addresses: dict[str, str]
) -> None:
    ada = signed_in(service, "Ada", "judge")

    def rankings() -> dict[str, list[str]]:
        found = ada.get(addresses["/api/runs/{run}"]).json()["results"]["per_query"]
        return {entry["query_id"]: entry["results"] for entry in found}

    assert rankings()["q0"] == []
    assert rankings()["q1"], "she is not asked about it"
    page = ada.get(addresses["/runs/{run}"]).text
    assert page.count("hidden until you have judged it") == 1
    assert "/report" not in page
    judge_it(ada)
    assert rankings()["q0"]
    page = ada.get(addresses["/runs/{run}"]).text
    assert "hidden until" not in page
    assert names_in(page)


def test_engines_of_a_comparison_are_a_and_b(service: Service, addresses: dict[str, str]) -> None:
    ada = signed_in(service, "Ada", "judge")
    found = ada.get(addresses["/api/compare"]).json()
    assert found["names"] == ["A", "B"]
    shown = ada.get(addresses["/compare"])
    assert shown.status_code == 200
    assert "You have 1 document left to judge." in shown.text
    other = addresses["/api/compare/query"].replace("q0", "q1")
    assert ada.get(other).json()["a"]["name"] == "A"


def test_the_figures_are_the_same_as_for_others(
    service: Service, addresses: dict[str, str]
) -> None:
    ada, ida = signed_in(service, "Ada", "judge"), signed_in(service, "Ida", "reader")
    blind, open = (one.get(addresses["/api/compare"]).json() for one in (ada, ida))
    assert blind["change"]["head"]["difference"] == open["change"]["head"]["difference"]
    assert (blind["ship"], blind["change"]["outcome"]) == (open["ship"], open["change"]["outcome"])
    assert names_in(ida.get(addresses["/compare"]).text) == list(ENGINES)


@pytest.mark.parametrize("role", ROLES)
def test_who_sees_names(service: Service, addresses: dict[str, str], role: str) -> None:
    """Readers judge nothing; chairs and admins decide, and are told."""
    client = signed_in(service, "Ben", role)  # who has documents left too
    shown = client.get(addresses["/compare"]).text
    assert names_in(shown) == ([] if role == "judge" else list(ENGINES))
    told = "so your judgments will not be blind" in shown
    assert told == (role in ("chair", "admin"))


def test_who_works_alone_sees_everything_and_is_told(
    service: Service, addresses: dict[str, str]
) -> None:
    alone = local_client(service, "Ada")
    for path in ("/compare", "/compare/query", "/runs/{run}"):
        shown = alone.get(addresses[path])
        assert shown.status_code == 200
        assert names_in(shown.text)
        assert "so your judgment will not be blind" in shown.text
    assert alone.get(addresses["/runs/{run}/report"]).status_code == 200
    judge_it(alone)
    assert "not be blind" not in alone.get(addresses["/compare"]).text


@pytest.fixture
def drafts(store: Store, tmp_path: Path) -> Service:
    """A set of answers with every claim left, and the check of them in the history."""
    dataset = answer_set(tmp_path)
    service = Service(store=store, gold_sets={"drafts": dataset}, home=tmp_path, project=tmp_path)
    record(service, read_answer_results(tmp_path / "results.json"), tmp_path / "answers.jsonl")
    return service


CHECKS = "answers:answers.jsonl"
OF_ANSWERS = ("/answers", "/answers/drafts", "/runs", f"/runs?gold={CHECKS}")


def test_no_system_and_no_figure_of_answers_is_shown_to_a_judge(drafts: Service) -> None:
    ada, chair = signed_in(drafts, "Ada", "judge"), signed_in(drafts, "Ida", "chair")
    (line,) = chair.get("/api/runs").json()["answers"]
    for path in OF_ANSWERS:
        shown = ada.get(path)
        assert shown.status_code == 200
        for hidden in ("secret-model", line["id"], "Judged figures", "Answers without a fault"):
            assert hidden not in shown.text, path
    for path in ("/api/runs", f"/api/runs?gold={CHECKS}"):
        listed = ada.get(path).json()
        assert (listed["page"]["items"], listed["boards"], listed["answers"]) == ([], [], [])
    assert ada.get(f"/runs/{line['id']}").status_code == 403
    assert all("secret-model" in chair.get(path).text for path in OF_ANSWERS[1:])


def test_who_decides_opens_the_figures_of_answers_on_purpose(drafts: Service) -> None:
    """A chair, or whoever works alone, comes by this page on the way to judging."""
    for client in (signed_in(drafts, "Ida", "chair"), local_client(drafts, "Ada")):
        above, _, folded = client.get("/answers/drafts").text.partition("<details>")
        assert "your judgments will not be blind" in above
        assert "secret-model" not in above
        figures, _, below = folded.partition("</details>")
        assert "secret-model" in figures
        assert "secret-model" not in below

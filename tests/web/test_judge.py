"""Judging and agreement over HTTP: three languages, roles, hostile text, votes sent twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.judging.votes import read_votes
from assay.reports.words import LANGUAGES
from assay.store import Store
from assay.web import access, judge_pages
from assay.web.access import Role, User
from assay.web.app import create_app
from assay.workbench.project.service import Service
from kit.runs import golden_set, graded_set
from kit.sets import HOSTILE, both, judged_set

PAGES = ["/judge", "/judge/set", "/judge/set/q1", "/judge/set/q3", "/judge/set/q1/all"]
PAGES += ["/agreement", "/agreement/set", "/agreement/set/q1?doc=d1"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    pairs = both(("q1", "d1"), ("q1", "d2"), ("q3", "d2"))
    return judged_set(tmp_path, pairs, judges=("Ada", "Ben"))


@pytest.fixture
def client(store: Store, dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(access, "identify", lambda request: _user(request.headers))
    service = Service(store=store, gold_sets={"set": dataset}, home=dataset.parent)
    with TestClient(create_app(service), follow_redirects=False) as opened:
        yield opened


def _user(headers: Any) -> User | None:
    name, _, role = headers.get("x-test-user", "Ada admin").partition(" ")
    kept: Role = role
    return User(name, kept) if name else None


def as_user(name: str, role: str = "judge") -> dict[str, str]:
    return {"x-test-user": f"{name} {role}"}


def vote(client: TestClient, user: str, doc: str, grade: int | None, **keys: Any) -> Any:
    sent: dict[str, Any] = {
        "id": f"{user}-{doc}-{grade}-vote",
        "set": "set",
        "query_id": "q1",
        "doc_id": doc,
    }
    sent |= {"grade": grade, "rationale": f"{user} says {HOSTILE}", **keys}
    return client.post("/api/votes", json=sent, headers=as_user(user))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_in_every_language_escapes_what_was_stored(
    client: TestClient, language: str
) -> None:
    for judge, grade in (("Ada", 2), ("Ben", 0)):
        assert vote(client, judge, "d1", grade).status_code == 200
    client.post("/api/flags", json={"set": "set", "query_id": "q1", "reason": HOSTILE})
    for path in PAGES:
        answer = client.get(f"{path}{'&' if '?' in path else '?'}lang={language}")
        assert answer.status_code == 200, (path, answer.text[-600:])
        assert "<img" not in answer.text, path
        assert "onerror=alert(1)>" not in answer.text, path
        assert f'lang="{language}"' in answer.text, path
        assert "built-in method" not in answer.text, path


def test_a_vote_on_what_changed_meanwhile_is_not_taken(client: TestClient, dataset: Path) -> None:
    first = vote(client, "Ada", "d1", 0, seen="").json()
    overtaken = vote(client, "Ada", "d1", 2, seen="")
    assert overtaken.status_code == 412
    said = overtaken.json()
    assert (said["now"]["vote"], said["now"]["grade"]) == (first["id"], 0)
    assert "in another window" in said["error"]
    assert said["now"]["at"][:19] in said["error"]
    assert [kept.grade for kept in read_votes(dataset)] == [0]
    assert vote(client, "Ada", "d1", 0, seen="").json()["already"], "the same one, sent again"
    assert vote(client, "Ada", "d1", 0, id="another-id", seen="").status_code == 200, "no change"
    assert vote(client, "Ada", "d1", 2, seen="another-id").json()["holds"]
    taken_back = {"withdrawn": True, "rationale": "", "id": "taken-back"}
    assert vote(client, "Ada", "d1", None, seen=first["id"], **taken_back).status_code == 412
    assert vote(client, "Ada", "d1", None, seen="Ada-d1-2-vote", **taken_back).status_code == 200
    gone = vote(client, "Ada", "d1", 1, seen="Ada-d1-2-vote")
    assert (gone.status_code, gone.json()["now"]["vote"]) == (412, "")
    assert vote(client, "Ada", "d1", 1, seen="").status_code == 200
    assert vote(client, "Ada", "d1", 2, id="who-does-not-say").status_code == 200, "as before"


def test_what_is_too_long_is_refused_and_never_cut(client: TestClient, dataset: Path) -> None:
    long = "It decides the point. " * 1_000
    told = "has 22,000 characters; the limit is 4,000"
    assert told in vote(client, "Ada", "d1", 2, rationale=long).json()["error"]
    flagged = client.post("/api/flags", json={"set": "set", "query_id": "q1", "reason": long})
    assert (flagged.status_code, told in flagged.json()["error"]) == (400, True)
    for judge, grade in (("Ada", 2), ("Ben", 0)):
        vote(client, judge, "d1", grade)
    ruling = {"set": "set", "query_id": "q1", "doc_id": "d1", "grade": 1, "rationale": long}
    ruled = client.post("/api/rulings", json=ruling)
    assert (ruled.status_code, "at most 4,000" in ruled.json()["error"]) == (400, True)


def test_nobody_votes_for_another(client: TestClient, dataset: Path) -> None:
    """A field never says who decides."""
    assert vote(client, "Ada", "d1", 2, judge="Ben", by="Ben").status_code == 200
    assert [given.judge for given in read_votes(dataset)] == ["Ada"]


def test_a_judge_never_sees_what_another_said(client: TestClient) -> None:
    vote(client, "Ben", "d1", 2)
    for path in (*PAGES[:5], "/api/judge/query?set=set&query=q1", "/api/judge/set?set=set"):
        text = client.get(path, headers=as_user("Ada")).text
        assert "Ben says" not in text
        assert "Ben-d1-2-vote" not in text


def test_a_browser_needs_the_token_of_the_page(client: TestClient) -> None:
    headers = {**as_user("Ada"), "cookie": "x=y"}
    assert client.post("/api/votes", json={}, headers=headers).status_code == 403


def test_figures_are_written_as_the_language_writes_them(client: TestClient) -> None:
    for judge, grade in (("Ada", 2), ("Ben", 0)):
        vote(client, judge, "d1", grade)
        vote(client, judge, "d2", 1)
    finnish = client.get("/agreement/set?lang=fi").text
    assert re.search(r">50\s%<", finnish)
    assert re.search(r">[+-]?\d,\d\d<", finnish)
    assert not re.search(r">[+-]?\d\.\d\d<", finnish)
    assert "painotettu kappa" in finnish
    english = client.get("/agreement/set?lang=en").text
    assert ">50%<" in english
    assert re.search(r">[+-]?\d\.\d\d<", english)


@pytest.mark.parametrize(("lang", "label"), [("fi", "Erittäin relevantti"), ("he", "רלוונטי מאוד")])
def test_the_rubric_is_read_in_the_language_of_the_page(
    client: TestClient, lang: str, label: str
) -> None:
    for address in ("/judge/set/q1", "/judge/set/q1/all"):
        assert label in client.get(f"{address}?lang={lang}").text
    assert label not in client.get("/judge/set/q1?lang=en").text


def test_what_is_not_there_is_said(client: TestClient, tmp_path: Path) -> None:
    assert client.get("/judge/nothing").status_code == 404
    assert client.get("/judge/set/nothing").status_code == 404
    assert client.get("/api/judge/document?set=set&query=q1&doc=x").status_code == 404
    (tmp_path / "set.pool.json").unlink()
    assert client.get("/judge").status_code == 200
    assert client.get("/judge/set").status_code == 200
    assert client.get("/judge/set/q1").status_code == 200


def test_no_page_names_an_engine(client: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "set.pool.json"
    pool = json.loads(path.read_text())
    path.write_text(json.dumps({**pool, "systems": ["secret-engine"]}))
    for page in (*PAGES, "/api/judge/query?set=set&query=q1"):
        assert "secret-engine" not in client.get(page).text


def test_a_judge_is_thanked_and_the_chair_counts(client: TestClient) -> None:
    def page(user: str, role: str) -> str:
        return client.get("/judge/set", headers=as_user(user, role)).text

    for doc, query in (("d1", "q1"), ("d2", "q1"), ("d2", "q3")):
        assert "Done" not in page("Ada", "judge")
        vote(client, "Ada", doc, 1, query_id=query, id=f"Ada-{query}-{doc}-vote")
    assert "Done, thank you. 3 of 3 judged." in page("Ada", "judge")
    assert "not counted yet" not in page("Ada", "judge")
    assert "not counted yet" in page("Ada", "chair")


def test_what_would_settle_it_names_no_engine_to_a_judge(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [SimpleNamespace(query_id="q1", doc_id="d1")]
    for second in (False, True):
        waits = SimpleNamespace(pairs=pairs, second=second, run=SimpleNamespace(engine="ours-v2"))
        monkeypatch.setattr(judge_pages, "open_question", lambda *_, waits=waits: waits)
        for path in ("/judge", "/judge/set"):
            assert "ours-v2" not in client.get(path, headers=as_user("Ada")).text
            assert "ours-v2" in client.get(path, headers=as_user("Ada", "chair")).text


def test_the_pill_says_what_waits_for_whom(client: TestClient) -> None:
    """On every page: how many documents wait for the vote of whoever looks."""

    def pill(user: str, role: str = "judge") -> str:
        found = re.search(r'<a class="pill warn" href="/judge"[^>]*>(.*?)</a>', page(user, role))
        return found[1] if found else ""

    def page(user: str, role: str) -> str:
        return client.get("/search", headers=as_user(user, role)).text

    assert (pill("Ada"), pill("Ben"), pill("Eve")) == ("3 to judge", "3 to judge", "")
    vote(client, "Ada", "d1", 2)
    assert (pill("Ada"), pill("Ben")) == ("2 to judge", "3 to judge")
    vote(client, "Ada", "d2", 1)
    vote(client, "Ada", "d2", 1, query_id="q3", id="Ada-q3-d2-vote")
    assert pill("Ada") == ""
    assert "pill warn" not in page("Ben", "reader"), "a reader does neither"


def test_sets_without_a_pool_say_what_to_do_to_whom_it_concerns(
    store: Store, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command for a judge; rows of searches lead to the review; a golden set asks nothing."""
    monkeypatch.setattr(access, "identify", lambda request: _user(request.headers))
    plain, rows = graded_set(tmp_path, name="plain"), tmp_path / "rows.jsonl"
    row = {"id": "g1", "query": "levy", "relevant_doc_ids": ["a"], "source": "bootstrap"}
    rows.write_text(json.dumps(row) + "\n")
    sets = {"plain": plain, "rows": rows, "golden": golden_set(tmp_path)}
    service = Service(store=store, gold_sets=sets, home=dataset.parent)
    with TestClient(create_app(service), follow_redirects=False) as client:
        for role, is_told in (("judge", False), ("chair", True)):
            page = client.get("/judge?lang=en", headers=as_user("Ada", role)).text
            assert ("assay gold pool plain" in page) is is_told
            assert "assay gold pool rows" not in page
            assert "assay gold pool golden" not in page
            assert 'href="/review?gold=rows"' in page
        assert "list the expected results" in client.get("/judge/golden?lang=en").text
        assert client.get("/review?gold=rows").status_code == 200


def test_a_long_set_lists_the_queries_around_the_one_being_judged(
    client: TestClient, dataset: Path
) -> None:
    kept = json.loads(dataset.read_text())
    kept["queries"] += [
        {"id": f"n{n:02}", "text": f"number {n}", "relevance_judgments": []} for n in range(40)
    ]
    dataset.write_text(json.dumps(kept))
    pool = json.loads(dataset.with_suffix(".pool.json").read_text())
    pool["pairs"] += [
        pool["pairs"][0] | {"query_id": f"n{n:02}", "doc_id": "d1"} for n in range(40)
    ]
    dataset.with_suffix(".pool.json").write_text(json.dumps(pool))
    page = client.get("/judge/set/n20", headers=as_user("Ada")).text
    assert re.findall(r'class="q" href="/judge/set/(\w+)"', page) == [
        f"n{n:02}" for n in range(16, 36)
    ]
    assert "All 42 queries" in page
    assert re.search(r'class="q" href="/judge/set/n20" aria-current="true"', page)

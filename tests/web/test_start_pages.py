"""The page from documents to a decision, and the page that maps the answers of a service."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.reports.words import LANGUAGES, page_table
from assay.web.app import create_app
from assay.workbench.project import people
from assay.workbench.project.service import open_service
from kit.commands import Assay
from kit.server import Access, local_client, take_token

FOUND = {"took": 1, "data": {"found": [{"slug": "lease", "rank": 0.9, "heading": "A lease"}]}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    folder = tmp_path / "memos"
    folder.mkdir()
    for name in ("ferry", "quay", "bakery"):
        (folder / f"{name}.txt").write_text(f"A memo on the {name} and its insurance.")
    return tmp_path


def step(client: TestClient) -> str:
    """The step that the page is at; empty at the end."""
    found = re.search(r'aria-labelledby="step-(\w+)"', client.get("/start").text)
    return found[1] if found else ""


def answer(client: TestClient, asked: str, text: str) -> None:
    sent = client.post("/start", data={"asked": asked, "text": text})
    assert sent.status_code == 303, sent.text


def run(client: TestClient, key: str) -> None:
    assert client.post("/start/run", data={"step": key}).status_code == 303
    limit = time.monotonic() + 60
    while 'id="running"' in client.get("/start").text and time.monotonic() < limit:
        time.sleep(0.2)
    assert step(client) != key, client.get("/start").text


def test_the_page_runs_each_command_and_shows_it(project: Path, assay_cli: Assay) -> None:
    with open_service() as service:
        client = local_client(service)
        assert 'href="/start"' in client.get("/").text
        assert step(client) == "documents"
        wrong = client.post("/start", data={"asked": "documents", "text": "nowhere"})
        assert (wrong.status_code, "nowhere" in wrong.text) == (400, True)
        answer(client, "documents", "memos")
        assert "assay corpus import memos --name memos" in client.get("/start").text
        run(client, "documents")
        if step(client) == "index":
            run(client, "index")
        answer(client, "queries", "ferry insurance\nquay\n")
        run(client, "set")
        answer(client, "engines", "bm25")
        answer(client, "judges", "ann,ben")
        run(client, "pool")
        run(client, "packets")
        assert Path("ann.html").exists()
        assert step(client) == "votes"
        assert "set" in client.get("/judge").text, "the new set is open at once"
        assert client.post("/start/run", data={"step": "pool"}).status_code == 303
        assert step(client) == "votes", "a step that is not the next one does not run"
        pairs = json.loads(Path("set.pool.json").read_text())["pairs"]
        rows = [f"{pair['query_id']},{pair['doc_id']},2,It names it." for pair in pairs]
        Path("grades.csv").write_text("\n".join(["query_id,doc_id,grade,rationale", *rows]))
        assert assay_cli("gold", "merge", "set.json", "grades.csv", "--judge", "ann").code == 0
        assert step(client) == "votes", "ben has not judged yet"
        assert assay_cli("gold", "merge", "set.json", "grades.csv", "--judge", "ben").code == 0
        assert step(client) == "compare"
        run(client, "compare")
        run(client, "next")
        assert step(client) == ""
        assert Path("pairs.csv").exists()


def test_a_server_with_accounts_runs_nothing(project: Path) -> None:
    with open_service() as service:
        people.invite(service, "an admin", "admin", by=people.AT_THE_TERMINAL)
        now = service.clock()
        for link in service.store.invitations(now):
            service.store.accept_invitation(link.id, name=link.name, password="", at=now)
        client = TestClient(create_app(service, access=Access(accounts=True)))
        client.cookies.set("assay_session", people.start_session(service, "an admin"))
        take_token(client, "/start")
        assert "<form" not in client.get("/start").text.partition("<main")[2]
        for path in ("/start", "/start/run"):
            sent = client.post(path, data={"asked": "documents", "text": "memos", "step": "x"})
            assert sent.status_code == 400
        assert not Path(".assay/start.json").exists()


def test_the_list_the_id_and_the_score_are_chosen_by_clicking(project: Path) -> None:
    with open_service() as service:
        client = local_client(service)
        fields = {"address": "http://h/find?q={{query}}", "answer": json.dumps(FOUND)}
        guessed = client.post("/start/map", data=fields).text
        assert "id = &#34;slug&#34;" in guessed
        chosen = {"hits": "data.found", "was": "data.found", "id": "heading", "score": "rank"}
        assert "id = &#34;heading&#34;" in client.post("/start/map", data=fields | chosen).text
        broken = client.post("/start/map", data=fields | {"answer": "<html>"})
        assert (broken.status_code, "web page" in broken.text) == (400, True)


def test_the_words_are_there_in_every_language() -> None:
    english = page_table("start", "en")
    for language in LANGUAGES:
        assert page_table("start", language).keys() == english.keys()

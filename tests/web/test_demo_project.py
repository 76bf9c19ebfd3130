"""`assay demo --serve`, as a user starts it: every page has something to show, a second start keeps
what was done, and nothing of the user's own is touched."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from assay.core.errors import UsageError
from assay.workbench.project.demo import MARK, inside, prepare
from kit.commands import free_port
from kit.server import call_me

COMMAND = [sys.executable, "-m", "assay", "demo", "--serve", "--port"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a user is who has a workspace of their own, and whose first start was broken off."""
    place = tmp_path_factory.mktemp("demo")
    folder = place / "assay-demo"
    folder.mkdir()
    (folder / MARK).write_text('{"state": "making"}')
    (folder / "half").write_text("")
    return place


@contextlib.contextmanager
def started(place: Path, *options: str) -> Iterator[tuple[httpx.Client, str]]:
    """The command until it answers, with what it has said; then Sam, who has chosen a name."""
    port = free_port()
    own = {"ASSAY_HOME": str(place / "own"), "ASSAY_STORE": str(place / "own.db")}
    log = place / "said.txt"
    with log.open("w", encoding="utf-8") as said:
        server = subprocess.Popen(
            [*COMMAND, str(port), *options], cwd=place, env=os.environ | own, stderr=said
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            while not _answers(client):
                assert server.poll() is None, log.read_text(encoding="utf-8")
                time.sleep(0.1)
            call_me(client, "Sam")
            yield client, log.read_text(encoding="utf-8")
    finally:
        server.terminate()
        server.wait(20)


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/me").status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def sample(place: Path) -> Iterator[tuple[httpx.Client, str]]:
    with started(place) as opened:
        yield opened


def test_it_says_what_it_does_and_what_to_try(sample: tuple[httpx.Client, str]) -> None:
    client, said = sample
    for words in (
        "importing and indexing",
        "pooling",
        "invented judges",
        "assay-demo/",
        "invented",
    ):
        assert words in said
    tried = re.findall(rf"{client.base_url}\S*[^\s:;,]", said)
    assert len(tried) >= 4
    for address in tried:
        assert client.get(address).status_code == 200, address


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("/", "Not enough judgments to decide on"),
        ("/search", "precedent_library"),
        ("/search?q=gift+of+concert+tickets", "A-05-044"),
        ("/search?corpus=saaristokuntalaki&q=talousarvio", "Saaristokuntalaki"),
        ("/doc/opinions/A-19-112", "81-027"),
        ("/judge", "/judge/opinions"),
        ("/judge/opinions", "Too narrow"),
        ("/judge/opinions/q021", "data-"),
        ("/agreement", "/agreement/opinions"),
        ("/agreement/opinions", "Ben Okafor"),
        ("/review", "research agent"),
        ("/runs", "assay-he"),
        ("/people", "Ada Lindqvist"),
        ("/people/history", "Ben Okafor"),
    ],
)
def test_every_page_has_something_to_show(
    sample: tuple[httpx.Client, str], page: str, shown: str
) -> None:
    answer = sample[0].get(page, follow_redirects=True)
    assert answer.status_code == 200, answer.text[-800:]
    assert shown in answer.text


def test_the_figures_are_those_of_a_set_in_use(sample: tuple[httpx.Client, str]) -> None:
    client = sample[0]
    home = client.get("/api/overview").json()
    assert home["headline"] == "needs_judging"
    assert {line["standing"]["name"] for line in home["sets"]} == {
        "opinions",
        "saaristokunta",
        "precedents",
    }
    assert home["waiting"]["judge"] > 100
    assert home["waiting"]["disputes"] >= 5
    assert home["waiting"]["rows"] >= 8
    kept = client.get("/api/runs").json()["page"]
    days = {line["at"][:10] for line in kept["items"]}
    assert len(days) >= 4
    agreed = client.get("/api/agreement", params={"set": "opinions"}).json()
    assert "Ada Lindqvist" in str(agreed)
    assert len(client.get("/api/disputes", params={"set": "opinions"}).json()) >= 5


def test_two_runs_are_compared_and_set_side_by_side(sample: tuple[httpx.Client, str]) -> None:
    client = sample[0]
    lines = client.get("/api/runs").json()["page"]["items"]
    newest = {line["engine"]: line["id"] for line in reversed(lines) if line["gold"] == "opinions"}
    asked = {"a": newest["bm25"], "b": newest["assay"]}
    assert client.get("/compare", params=asked).status_code == 200
    rankings = client.get("/compare/query", params=asked | {"query": "q001"})
    assert rankings.status_code == 200
    assert "A-19-112" in rankings.text


def test_a_row_to_approve_is_readable_and_its_corpus_is_searched(
    sample: tuple[httpx.Client, str],
) -> None:
    """Also where the row is of the second Hebrew corpus."""
    client = sample[0]
    rows = client.get("/api/review").json()["items"]
    assert {row["item"]["corpus"] for row in rows} == {"precedent_library", "internal_decisions"}
    for row in rows:
        answer = client.get(f"/api/review/{row['item']['id']}/search", params={"q": "שמאי מכריע"})
        assert answer.status_code == 200
        assert answer.json(), row["item"]["corpus"]


def test_a_second_start_keeps_what_was_done(sample: tuple[httpx.Client, str], place: Path) -> None:
    client = sample[0]
    query = client.get("/api/judge/query", params={"set": "opinions", "query": "q021"}).json()
    doc = query["pairs"][0]["doc_id"]
    vote = {"id": "sam-votes-once", "set": "opinions", "query_id": "q021", "doc_id": doc}
    given = client.post("/api/votes", json={**vote, "grade": 1, "rationale": "It says who files."})
    assert given.status_code == 200, given.text
    votes = place / "assay-demo" / "opinions.log.jsonl"
    assert "sam-votes-once" in votes.read_text(encoding="utf-8")
    with started(place) as (again, said):
        assert "as you left it" in said
        assert "importing" not in said
        seen = again.get("/api/judge/query", params={"set": "opinions", "query": "q021"}).json()
        mine = next(each for each in seen["pairs"] if each["doc_id"] == doc)
        assert mine["grade"] == 1
    assert not (place / "own").exists()
    assert not (place / "own.db").exists()


def test_what_was_half_made_is_made_anew(sample: tuple[httpx.Client, str], place: Path) -> None:
    folder = place / "assay-demo"
    assert not (folder / "half").exists()
    assert (folder / "opinions.pool.json").exists()
    assert not prepare(folder)


@pytest.mark.parametrize("mark", ["", "[]", '{"state": "mine"}'])
def test_a_folder_of_somebody_is_never_taken(tmp_path: Path, mark: str) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    if mark:
        (tmp_path / MARK).write_text(mark)
    with pytest.raises(UsageError, match="not the sample project"):
        prepare(tmp_path, fresh=True)
    assert (tmp_path / "thesis.txt").exists()


def test_inside_leaves_the_environment_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", "mine")
    before = Path.cwd()
    with inside(tmp_path):
        assert "ASSAY_HOME" not in os.environ
        assert Path.cwd() == tmp_path.resolve()
    assert os.environ["ASSAY_HOME"] == "mine"
    assert Path.cwd() == before

"""An item belongs to one gold set: what is said of it changes that file and its state, or it is
refused. Two files of one name, a project that was copied, a project that was moved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.workbench.decisions import configured_name
from assay.workbench.opening import Service, open_service
from assay.workbench.review_queue import fill_queue
from web_client import local_client


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sets of one file name, with the same ids, that the store in it knows both."""
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    folder = tmp_path / "project"
    for name in "ab":
        write(folder / name / "gold.jsonl", f"matter of {name}")
    monkeypatch.chdir(folder)
    with served("a/gold.jsonl"):
        pass
    with served("a/gold.jsonl", "b/gold.jsonl") as (client, _):
        assert {item["gold"] for item in items(client)} == {"gold", "b/gold"}
    return folder


def write(path: Path, about: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "id": f"g00{n}",
            "query": f"{about} {n}",
            "relevant_case_law_ids": ["d1"],
            "source": "bootstrap",
        }
        for n in range(1, 6)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@contextmanager
def served(*gold: str, store: str = "") -> Iterator[tuple[TestClient, Service]]:
    with open_service(store, gold=[Path(name) for name in gold]) as service:
        fill_queue(service)
        yield local_client(service), service


def items(client: TestClient, gold: str = "") -> list[dict[str, Any]]:
    found = client.get("/api/review", params={"limit": "100"}).json()["items"]
    return [line["item"] for line in found if gold in ("", line["item"]["gold"])]


def chairs(path: Path) -> list[str]:
    rows = map(json.loads, path.read_text().splitlines())
    return [row["id"] for row in rows if row["source"] == "chair"]


def say(client: TestClient, item: dict[str, Any], word: str = "approve") -> Any:
    return client.post(f"/api/review/{item['id']}/{word}", json={"reason": "seen"})


def state(client: TestClient, item: dict[str, Any]) -> str:
    found: str = client.get(f"/api/review/{item['id']}").json()["item"]["state"]
    return found


class TestTwoSetsOfOneName:
    @pytest.mark.parametrize("by", ["option", "configuration"])
    def test_a_decision_goes_to_the_set_of_its_item(self, project: Path, by: str) -> None:
        """Also where the one that is opened is called what the other is called in the store."""
        if by == "configuration":
            text = '[gold.gold]\npath = "b/gold.jsonl"\n[engines.e]\nengine = "bm25"\n'
            (project / "assay.toml").write_text(text)
        with served(*(["b/gold.jsonl"] if by == "option" else [])) as (client, service):
            assert len(service.gold_sets) == 2
            if by == "configuration":  # nor are runs of the one decided by gates of the other
                assert [configured_name(service, name) for name in ("gold", "b/gold")] == [
                    "",
                    "gold",
                ]
            first, second, third, *_ = items(client, "gold")
            for item in (first, second):
                assert say(client, item).json()["outcome"] == "approved"
                assert state(client, item) == "approved"
            assert say(client, third, "reject").status_code == 200
            assert chairs(project / "a" / "gold.jsonl") == ["g001", "g002"]
            assert "g003" not in (project / "a" / "gold.jsonl").read_text()
            assert chairs(project / "b" / "gold.jsonl") == []
            assert [item["ref"] for item in items(client, "b/gold")] == [
                f"g00{n}" for n in range(1, 6)
            ]
            say(client, items(client, "b/gold")[4])
            assert chairs(project / "b" / "gold.jsonl") == ["g005"]
            back = client.post("/api/review/undo", json={"ids": [first["id"], third["id"]]})
            assert sorted(back.json()["done"]) == sorted([first["id"], third["id"]])
            assert chairs(project / "a" / "gold.jsonl") == ["g002"]
            assert chairs(project / "b" / "gold.jsonl") == ["g005"]

    @pytest.mark.parametrize("word", ["approve", "reject"])
    def test_what_belongs_to_a_set_that_is_not_open_is_refused(
        self, project: Path, word: str
    ) -> None:
        with served("b/gold.jsonl") as (client, service):
            waits = items(client, "gold")[0]
            alone = {name: path for name, path in service.gold_sets.items() if "b" in path.parts}
            other = Service(store=service.store, gold_sets=alone)
            before = (project / "b" / "gold.jsonl").read_bytes()
            visitor = local_client(other)
            answer = say(visitor, waits, word)
            assert answer.status_code == 404
            assert "belongs to a set that is not open here: gold." in answer.json()["error"]
            assert str(project) not in answer.text
            assert state(visitor, waits) == "pending_review"
            assert (project / "b" / "gold.jsonl").read_bytes() == before

    def test_many_at_once_stay_in_their_sets(self, project: Path) -> None:
        with served("b/gold.jsonl") as (client, _):
            ids = [item["id"] for item in items(client) if item["ref"] == "g002"]
            shown = client.get("/api/review/bulk", params={"id": ids}).json()["lines"]
            picks = [{"id": line["item"]["id"], "seen": line["seen"]} for line in shown]
            done = client.post("/api/review/bulk", json={"items": picks}).json()
            assert sorted(done["done"]) == sorted(ids)
        for name in "ab":
            assert chairs(project / name / "gold.jsonl") == ["g002"]


class TestProjects:
    @pytest.mark.parametrize("given", [(), ("b/gold.jsonl",)], ids=["remembered", "given"])
    @pytest.mark.parametrize("how", ["copied", "moved"])
    def test_a_project_takes_its_sets_along(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, how: str, given: tuple[str, ...]
    ) -> None:
        there = project.with_name("elsewhere")
        monkeypatch.chdir(project.parent)
        (shutil.copytree if how == "copied" else shutil.move)(project, there)
        monkeypatch.chdir(there)
        with served(*given) as (client, _):
            waiting = items(client)
            assert sorted({item["gold"] for item in waiting}) == ["b/gold", "gold"]
            assert len(waiting) == 10
            for item in waiting:
                assert say(client, item).status_code == 200
                assert state(client, item) == "approved"
            assert items(client) == []
        for name in "ab":
            assert len(chairs(there / name / "gold.jsonl")) == 5
            if how == "copied":
                assert chairs(project / name / "gold.jsonl") == []

    def test_sets_that_moved_away_from_their_store(self, project: Path) -> None:
        """What the rows say decides which is which, and a stranger inherits nothing."""
        shutil.move(project / "a", project / "c")
        shutil.rmtree(project / "b")
        write(project / "d" / "gold.jsonl", "quite another matter")
        with served("d/gold.jsonl", "c/gold.jsonl") as (client, _):
            assert {item["gold"] for item in items(client)} == {"gold", "b/gold", "d/gold"}
            for item in items(client):
                refused = item["gold"] == "b/gold"
                assert say(client, item).status_code == (404 if refused else 200)
                assert state(client, item) == ("pending_review" if refused else "approved")
        for name in "cd":
            assert len(chairs(project / name / "gold.jsonl")) == 5

    def test_copies_whose_folders_were_renamed_too_are_not_guessed(self, project: Path) -> None:
        shutil.copy(project / "a" / "gold.jsonl", project / "b" / "gold.jsonl")
        with served():
            pass
        shutil.move(project / "a", project / "c")
        shutil.move(project / "b", project / "d")
        with served("c/gold.jsonl", "d/gold.jsonl") as (client, _):
            names = {item["gold"] for item in items(client)}
            assert names == {"gold", "b/gold", "c/gold", "d/gold"}
            assert say(client, items(client, "gold")[0]).status_code == 404
            assert say(client, items(client, "c/gold")[0]).status_code == 200
        assert (chairs(project / "c" / "gold.jsonl"), chairs(project / "d" / "gold.jsonl")) == (
            ["g001"],
            [],
        )


def test_a_row_that_was_replaced_under_its_id_is_not_approved_for_another(project: Path) -> None:
    with served() as (client, _):
        waits = items(client, "gold")[0]
        path = project / "a" / "gold.jsonl"
        # the query that waits has another row by now, and its id belongs to the chair's own
        path.write_text(
            path.read_text().replace('"g001"', '"g009"')
            + '{"id":"g001","query":"own","relevant_case_law_ids":["d1"],"source":"chair"}\n'
        )
        before = path.read_bytes()
        answer = say(client, waits)
        assert (answer.status_code, state(client, waits)) == (400, "pending_review")
        assert path.read_bytes() == before

"""Sets that earlier versions judged get a log, and can go back.

tests/review/test_before_log.py has a whole project of an earlier version."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kit import Project

EVAL = Path(__file__).parents[2] / "eval"
VOTES = 6_601


@pytest.fixture
def opinions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of the set of opinions with its votes file."""
    for name in ("ASSAY_HOME", "ASSAY_STORE"):
        monkeypatch.delenv(name, raising=False)
    for file in EVAL.glob("dataset.*"):
        shutil.copy(file, tmp_path / file.name)
    return Project(tmp_path)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def plain(votes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Votes by id, without what they replace: earlier versions went by time."""
    return {vote.pop("id"): {k: v for k, v in vote.items() if k != "supersedes"} for vote in votes}


def test_the_first_command_that_writes_makes_the_log(opinions: Project) -> None:
    """Ids and times stay, the labels are the same to the byte, and the votes file is kept."""
    dataset, votes = opinions.folder / "dataset.json", opinions.folder / "dataset.votes.jsonl"
    labels, before = dataset.read_bytes(), lines(votes)
    assert opinions.json("gold", "stats", dataset)
    assert not (opinions.folder / "dataset.log.jsonl").exists(), "reading writes nothing"
    done = opinions.run("gold", "merge", dataset)
    assert done.code == 0
    log = lines(opinions.folder / "dataset.log.jsonl")
    found = [act for act in log if act["action"] in ("vote", "rule")]
    assert {act["id"]: act["at"] for act in found} == {vote["id"]: vote["at"] for vote in before}
    assert len(found) == VOTES
    assert dataset.read_bytes() == labels
    assert not votes.exists()
    kept = opinions.folder / "dataset.votes.jsonl.before-log"
    assert plain(lines(kept)) == plain(before)
    opinions.do("gold", "export-votes", dataset)
    assert plain(lines(votes)) == plain(lines(kept)), "the way back"


def test_votes_that_an_earlier_version_took_meanwhile_join_the_log(opinions: Project) -> None:
    """A team that went back for a while loses nothing when it returns."""
    dataset, votes = opinions.folder / "dataset.json", opinions.folder / "dataset.votes.jsonl"
    opinions.do("gold", "merge", dataset)
    opinions.do("gold", "export-votes", dataset)
    new = lines(votes)[0] | {"id": "given-meanwhile", "judge": "reader-3"}
    with votes.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(new) + "\n")
    opinions.do("gold", "policy", dataset, "majority")
    log = lines(opinions.folder / "dataset.log.jsonl")
    assert [act["who"] for act in log if act["id"] == "given-meanwhile"] == ["reader-3"]
    assert not votes.exists()
    assert (opinions.folder / "dataset.votes.jsonl.before-log-2").exists()

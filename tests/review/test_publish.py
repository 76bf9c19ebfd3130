"""Recording a baseline on a gold set publishes its approved rows."""

from __future__ import annotations

import json

from kit import Project


def record(project: Project, *options: object) -> str:
    run = project.folder / "run.trec"
    run.write_text("g001 Q0 a 1 9 x\ng002 Q0 c 1 9 x\ng003 Q0 b 1 9 x\n", "utf-8")
    words = ("--update-baseline", "--by", "ci", "--why", "first")
    return project.do("score", project.gold, "--run", run, *words, *options).err


def test_approved_rows_are_published_with_the_baseline(reviewed: Project) -> None:
    """They count as published, say by whom, and cannot be undone any more."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        for ref in ("g001", "g003"):
            chair.approve(ref)
    before = reviewed.gold.read_bytes()
    assert "2 approved rows are published" in record(reviewed)
    assert json.loads((reviewed.folder / "baseline.json").read_text("utf-8"))
    assert reviewed.gold.read_bytes() == before
    assert reviewed.counts() == (1, 0, 0, 2)
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = chair.item("g001")
        assert (item["state"], item["decided_by"]) == ("published", "ci")
        entries = chair.audit(action="review.published")
        assert {(entry["by"], entry["subject"]) for entry in entries} == {
            ("ci", "gold-set/g001"),
            ("ci", "gold-set/g003"),
        }
        undone = chair.undo(item["id"])
        assert list(undone["refused"]) == [item["id"]]
        assert chair.by_id(item["id"])["state"] == "published"
    assert reviewed.gold.read_bytes() == before
    assert "published" not in record(reviewed), "nothing new was approved"
    assert not reviewed.bootstrap()["changed"]


def test_a_baseline_without_approved_rows_publishes_nothing(reviewed: Project) -> None:
    """The baseline is written, and every row stays pending."""
    assert "published" not in record(reviewed)
    assert (reviewed.folder / "baseline.json").exists()
    assert reviewed.counts() == (3, 0, 0, 0)


def test_a_published_row_can_be_corrected_and_published_again(reviewed: Project) -> None:
    """A correction makes it approved; the next baseline publishes it."""
    reviewed.do("gold", "promote", "g001", "--by", "Dafna")
    record(reviewed)
    words = ("--by", "Dafna", "--why", "c too", "--add", "c")
    reviewed.do("gold", "correct", "g001", *words)
    assert reviewed.counts() == (2, 1, 0, 0)
    assert "1 approved row is published" in record(reviewed)
    assert reviewed.counts() == (2, 0, 0, 1)


def test_scoring_alone_writes_nothing(reviewed: Project) -> None:
    """`score` without a baseline leaves the set, its queue and its neighbours as they are."""
    reviewed.do("gold", "promote", "g001", "--by", "Dafna")
    run = reviewed.folder / "run.trec"
    run.write_text("g001 Q0 a 1 9 x\n", "utf-8")
    before = {path.name: path.read_bytes() for path in reviewed.folder.iterdir() if path.is_file()}
    reviewed.do("score", reviewed.gold, "--run", run)
    after = {path.name: path.read_bytes() for path in reviewed.folder.iterdir() if path.is_file()}
    assert after == before
    assert reviewed.counts() == (2, 1, 0, 0)

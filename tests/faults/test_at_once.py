"""Servers, commands and people at work on one folder at the same time, each in a process of its
own: no update is lost, and whoever comes second is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from kit import Project, Visitor
from kit.commands import child_environment, free_port
from kit.server import call_me

ROWS = [f"g{n:03}" for n in range(1, 13)]
WHY = "It decides the point that the query asks about."


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Twelve rows that wait, and a graded set with pairs that are dealt to Ada and Ben."""
    project = Project.make(tmp_path / "project")
    project.searches([{"query": f"question {n}", "results": ["a", "b"]} for n in range(12)])
    project.cite("D-1", "a", "b")
    project.bootstrap()
    project.grade_set(*[(q, f"d{n}") for q in ("q1", "q2") for n in range(1, 6)])
    return project


@contextmanager
def server(project: Project) -> Iterator[Callable[[str], Visitor]]:
    """`assay serve` in a process of its own; gives browsers by the name of who uses them."""
    port = free_port()
    started = subprocess.Popen(
        [sys.executable, "-m", "assay", "serve", "--port", str(port)],
        cwd=project.folder,
        env=child_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    visitors: list[Visitor] = []

    def visit(name: str) -> Visitor:
        visitors.append(_visitor(f"http://127.0.0.1:{port}", name))
        return visitors[-1]

    try:
        yield visit
    finally:
        for visitor in visitors:
            visitor.client.close()
        started.terminate()
        started.wait(30)


def _visitor(address: str, name: str) -> Visitor:
    client: Any = httpx.Client(base_url=address, timeout=60)
    for _ in range(600):
        try:
            client.get("/me")
            break
        except httpx.TransportError:
            time.sleep(0.05)
    call_me(client, name)
    return Visitor(client, name)


def acts(project: Project, name: str = "gold-set", *actions: str) -> list[dict[str, Any]]:
    """The lines of a log: all of them whole, none twice."""
    text = (project.folder / f"{name}.log.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert len({line["id"] for line in lines}) == len(lines)
    return [line for line in lines if not actions or line["action"] in actions]


def agrees(project: Project) -> None:
    """Each file is what its log says, and nothing is left to write."""
    for path in (project.gold, project.graded):
        if path.with_name(f"{path.stem}.log.jsonl").exists():
            before = path.read_bytes()
            project.do("gold", "rebuild", path)
            assert path.read_bytes() == before
    assert project.json("doctor")["gold"]["status"] == "ok"


def test_four_chairs_at_two_servers_decide_each_row_once(project: Project) -> None:
    """Two approve and two reject, all on the same rows. Who comes second hears who was first."""
    with server(project) as first, server(project) as second:
        chairs = [at(name) for name, at in zip("ABCD", (first, second) * 2, strict=True)]
        ids = {ref: chairs[0].id(ref) for ref in ROWS}

        def decide(chair: Visitor, ref: str) -> tuple[str, str, str]:
            verb = "approve" if chair.name in "AB" else "reject"
            path = f"/api/review/{ids[ref]}/{verb}"
            answer = chair.client.post(path, json={"reason": f"by {chair.name}"})
            said = "" if answer.status_code == 200 else str(answer.json()["error"])
            assert answer.status_code in (200, 400), answer.text
            return chair.name, ref, said

        with ThreadPoolExecutor(4) as pool:
            work = [pool.submit(decide, chair, ref) for ref in ROWS for chair in chairs]
            done = [each.result() for each in work]
    won = {ref: name for name, ref, said in done if not said}
    assert len([1 for _, _, said in done if not said]) == len(won) == 12
    for name, ref, said in done:
        if said:
            assert f"by {won[ref]}" in said, (name, ref, said)
    decided = acts(project, "gold-set", "approve", "reject")
    assert {a["rows"][0]["row"]: a["rationale"] for a in decided} == {
        ref: f"by {name}" for ref, name in won.items()
    }
    assert len(decided) == 12
    assert project.sources() == {ref: "chair" for ref, name in won.items() if name in "AB"}
    agrees(project)


def test_one_judge_in_two_windows_overwrites_nothing_unseen(project: Project) -> None:
    """The same judge at two servers: of two votes that saw the same, one is taken."""
    with server(project) as first, server(project) as second:
        windows = [first("Ada"), second("Ada")]

        def vote(n: int, window: int) -> int:
            body = {"id": f"vote-{n:03}-{window}", "set": "dataset", "query_id": "q1", "seen": ""}
            body |= {"doc_id": f"d{n}", "grade": window, "rationale": WHY}
            return windows[window].client.post("/api/votes", json=body).status_code

        with ThreadPoolExecutor(2) as pool:
            told = [tuple(pool.map(lambda w, n=n: vote(n, w), (0, 1))) for n in range(1, 6)]  # type: ignore[misc]
    assert {tuple(sorted(each)) for each in told} == {(200, 412)}
    held = {n: each.index(200) for n, each in enumerate(told, 1)}
    assert project.grades() == {("q1", f"d{n}"): {"Ada": won} for n, won in held.items()}
    assert len(acts(project, "dataset", "vote")) == 5


def test_a_server_beside_commands(project: Project) -> None:
    """Votes and approvals on pages while commands merge, rule, promote and rebuild."""
    with server(project) as visit:
        ada, chair = visit("Ada"), visit("Dafna")

        def votes() -> None:
            for n in range(1, 6):
                for query in ("q1", "q2"):
                    ada.vote("dataset", query, f"d{n}", n % 3, WHY)

        def approvals() -> None:
            for ref in ROWS[:6]:
                chair.approve(ref, reason="on the page")

        def commands() -> None:
            packet = project.packet("Ben", {("q1", f"d{n}"): 2 for n in range(1, 6)})
            for args in (
                ("merge", project.graded, packet),
                ("promote", *ROWS[6:9], "--by", "Moshe"),
                ("rebuild", project.gold),
                ("reject", *ROWS[9:], "--by", "Moshe", "--why", "nobody asks this"),
                ("merge", project.graded),
            ):
                done = subprocess.run(
                    [sys.executable, "-m", "assay", "gold", *map(str, args)],
                    cwd=project.folder,
                    env=child_environment(),
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, done.stderr

        with ThreadPoolExecutor(3) as pool:
            for each in [pool.submit(work) for work in (votes, approvals, commands)]:
                each.result()
    assert project.sources() == dict.fromkeys(ROWS[:9], "chair")
    assert len(acts(project, "gold-set", "approve", "reject")) == 8
    given = {(q, f"d{n}"): n % 3 for q in ("q1", "q2") for n in range(1, 6)}
    held = project.grades()
    assert {pair: held[pair]["Ada"] for pair in given} == given
    assert all(held["q1", f"d{n}"]["Ben"] == 2 for n in range(1, 6))
    project.do("gold", "merge", project.graded)
    agrees(project)


def test_somebody_edits_the_file_while_rows_are_decided(project: Project) -> None:
    """An editor that reads the file, thinks, and saves all of it: its notes stay, and so does every
    decision."""
    decided, edited = ROWS[:8], ROWS[8:]
    with server(project) as visit:
        chair = visit("Dafna")

        def decide() -> None:
            for ref in decided:
                answer = chair.approve(ref, reason="on the page")
                assert answer["outcome"] == "approved"

        def edit() -> None:
            for n in range(6):
                for ref in edited:
                    _save_note(project, ref, f"note {n}")

        with ThreadPoolExecutor(2) as pool:
            for each in [pool.submit(decide), pool.submit(edit)]:
                each.result()
    project.do("gold", "rebuild", project.gold)
    rows = project.rows()
    assert {ref: rows[ref]["source"] for ref in ROWS} == {
        ref: "chair" if ref in decided else "bootstrap" for ref in ROWS
    }
    assert {ref: rows[ref]["note"] for ref in edited} == dict.fromkeys(edited, "note 5")
    assert len(acts(project, "gold-set", "approve")) == len(decided)
    agrees(project)


@pytest.mark.parametrize("name", ["gold-set", "dataset"])
def test_an_edit_between_an_act_and_its_file_stays(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Somebody saves the file after the act is in the log and before the file follows."""
    both = [project.packet(judge, {("q1", "d1"): 2, ("q1", "d2"): 0}) for judge in ("Ada", "Ben")]
    project.do("gold", "merge", project.graded, *both)
    sync, synced = os.fsync, list[int]()

    def edit_after_sync(handle: int) -> None:
        sync(handle)
        synced.append(handle)
        if len(synced) == 2 and name == "gold-set":  # the log is synced, and the file to be
            _save_note(project, "g002", "by hand")
        elif len(synced) == 2:
            text = project.graded.read_text()
            project.graded.write_text(text.replace('"score": 0', '"score": 1'))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", edit_after_sync)
        if name == "gold-set":
            project.do("gold", "promote", "g001", "--by", "Dafna")
        else:
            ruling = ("--grade", 1, "--rationale", "on reflection", "--by", "Dafna")
            project.do("gold", "adjudicate", project.graded, "q1", "d1", *ruling)
    if name == "gold-set":
        assert (project.row("g001")["source"], project.row("g002")["note"]) == ("chair", "by hand")
    else:
        assert project.labels() == {("q1", "d1"): 1, ("q1", "d2"): 1}
    assert len(acts(project, name, "edit")) == 1
    agrees(project)


def _save_note(project: Project, ref: str, note: str) -> None:
    rows = project.rows()
    time.sleep(0.01)
    rows[ref]["note"] = note
    draft = project.folder / "draft"
    draft.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values()))
    draft.replace(project.gold)

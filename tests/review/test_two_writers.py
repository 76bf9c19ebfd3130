"""Several writers on one project: commands, servers and people who edit the file."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from kit import Project
from kit.commands import child_environment


def started(project: Project, *args: str) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    command = [sys.executable, "-c", "from assay.cli import main; main()", *args]
    inside = child_environment()
    return subprocess.Popen(
        command, cwd=project.folder, env=inside, text=True, stderr=subprocess.PIPE
    )


def test_commands_at_once_lose_no_decision(reviewed: Project) -> None:
    """Each waits for the other; the file has what all of them decided."""
    acts = [
        ("promote", "g001", "--by", "Dafna"),
        ("reject", "g002", "--by", "Moshe", "--why", "nobody asks this"),
        ("correct", "g003", "--by", "Noa", "--why", "see c", "--add", "c"),
    ]
    running = [started(reviewed, "gold", *act) for act in acts]
    for process in running:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert reviewed.sources() == {"g001": "chair", "g003": "chair"}
    assert reviewed.row("g003")["relevant_case_law_ids"] == ["a", "b", "c"]
    assert reviewed.counts() == (0, 2, 1, 0)
    assert reviewed.rulings() == 7


def test_two_servers_on_one_folder_see_each_other(reviewed: Project) -> None:
    """What one decides the other shows; whoever comes second is told; undo works from either."""
    before = reviewed.gold.read_bytes()
    with reviewed.serve() as first, reviewed.serve() as second:
        dafna, moshe = first.visitor("Dafna"), second.visitor("Moshe")
        item = moshe.id("g001")
        form = moshe.filled(item) | {"action": "approve"}
        dafna.approve("g001")
        assert moshe.by_id(item)["decided_by"] == "Dafna"
        refused = moshe.post(f"/review/{item}", data=form)
        assert (refused.status_code, "by Dafna" in refused.text) == (400, True)
        moshe.approve("g002")
        decided = {item: moshe.by_id(item)["decided_at"]}
        assert moshe.undo(decided=decided)["done"] == [item]
        assert dafna.by_id(item)["state"] == "pending_review"
        assert dafna.states()["g002"] == "approved"
        moshe.undo(moshe.id("g002"))
    assert reviewed.gold.read_bytes() == before


def test_votes_through_two_servers_are_all_kept(project: Project) -> None:
    """Twenty votes of two judges at once, and a packet that is merged meanwhile."""
    pairs = [(query, f"d{n}") for query in ("q1", "q2") for n in range(1, 6)]
    project.grade_set(*pairs)
    with project.serve() as first, project.serve() as second:
        judges = [first.visitor("Ada"), second.visitor("Ben")]

        def vote(n: int) -> bool:
            query, doc = pairs[n % 10]
            why = "tickets are gifts under the rule"
            return bool(judges[n // 10].vote("dataset", query, doc, n % 3, why)["holds"])

        with ThreadPoolExecutor(4) as pool:
            holds = pool.map(vote, range(20))
            packet = project.packet("Noa", {("q3", "d1"): 1})
            project.do("gold", "merge", project.graded, packet, "--unasked")
            assert all(holds)
        assert judges[1].pairs("dataset", "q2")["d5"]["grade"] == 1
    held = project.grades()
    assert {pair: held[pair] for pair in pairs} == {
        pair: {"Ada": n % 3, "Ben": (n + 10) % 3} for n, pair in enumerate(pairs)
    }
    assert held["q3", "d1"] == {"Noa": 1}


def test_a_command_beside_a_server(reviewed: Project) -> None:
    """Pages show what commands decided, and commands see what pages decided."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        reviewed.do("gold", "reject", "g001", "--by", "Moshe", "--why", "w")
        assert chair.states()["g001"] == "rejected"
        chair.approve("g002")
        done = reviewed.json("gold", "promote", "g002", "--by", "Moshe")
        assert (done["ids"], done["already"]) == ([], ["g002"])
        reviewed.log("fourth", "a")
        reviewed.cite("D-2", "a")
        assert reviewed.bootstrap()["added"] == 1
        assert chair.states()["g004"] == "pending_review"
        assert chair.approve("g004")["outcome"] == "approved"
    assert reviewed.sources() == {"g002": "chair", "g003": "bootstrap", "g004": "chair"}
    assert reviewed.counts() == (1, 2, 1, 0)


def test_doctor_finds_a_reviewed_project_well(reviewed: Project) -> None:
    """After decisions and undos there is nothing to repair, and repairing changes nothing."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        chair.approve("g001")
        chair.reject("g002")
        chair.undo()
        assert chair.ask("/api/system/diagnostics")["gold"]["status"] == "ok"
    before = reviewed.gold.read_bytes()
    assert reviewed.json("doctor")["gold"]["status"] == "ok"
    reviewed.do("doctor", "--repair")
    assert reviewed.gold.read_bytes() == before
    assert reviewed.counts() == (2, 1, 0, 0)

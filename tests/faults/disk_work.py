"""Started by test_disks.py on a small disk of its own: works until it is full or read-only, then
goes on. Prints what happened as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kit import Project, Server, Visitor

DISK = Path(sys.argv[1])
WHY = "It decides the point that the query asks about. "


def prepare() -> Project:
    """Forty rows that wait, and a graded set on which two judges differ; a baseline and a corpus
    with its index."""
    project = Project.make(DISK / "project")
    project.searches([{"query": f"question {n}", "results": [f"c{n}"]} for n in range(40)])
    for n in range(40):
        project.cite(f"D{n}", f"c{n}")
    project.do("gold", "bootstrap")
    project.grade_set(*[("q1", f"d{n}") for n in range(1, 6)], judges=("Ada", "Ben", "Cy"))
    both = [
        project.packet(judge, {("q1", "d1"): grade}) for judge, grade in (("Ada", 0), ("Ben", 2))
    ]
    project.do("gold", "merge", project.graded, *both)
    (project.folder / "run.trec").write_text("q1 Q0 d1 1 1.0 run\n")
    project.do("corpus", "import", "jsonl", "corpus.jsonl", "--name", "c")
    return project


class Work:
    """Every act, and whether what it acknowledged is there. A vote that was refused is sent again
    with its id."""

    def __init__(self, project: Project) -> None:
        self.project, self.round, self.unsent = project, 0, list[dict[str, Any]]()
        self.visitors: dict[str, Visitor] = {}
        self.done: dict[str, set[str]] = {}
        self.before: dict[str, bytes] = {}  # the files, as the last act that was done left them

    def acts(self) -> dict[str, Callable[[], str]]:
        return {
            "vote": self._vote,
            "rule": self._rule,
            "approve": self._approve,
            "promote": self._promote,
            "log": self._log,
            "bootstrap": self._bootstrap,
            "baseline": self._baseline,
            "import": self._import,
        }

    def visit(self, server: Server | None) -> None:
        """Work with this server from now on."""
        self.visitors = {name: server.visitor(name) for name in ("Cy", "Dafna")} if server else {}

    def all_once(self) -> dict[str, str]:
        self.round += 1
        told = {}
        for name, act in self.acts().items():
            self.before = self._files()
            try:
                self.done.setdefault(name, set()).add(act())
                told[name] = "done"
            except Refused as refused:
                told[name] = f"refused: {refused}"
                if self._files() != self.before:
                    told[name] = f"refused, and changed: {refused}"
        return told

    def _files(self) -> dict[str, bytes]:
        """The sets and their logs."""
        found = [*self.project.folder.glob("*.log.jsonl"), self.project.gold, self.project.graded]
        return {path.name: path.read_bytes() for path in found}

    def _command(self, *args: object) -> None:
        outcome = self.project.run(*args)
        if outcome.code:
            assert outcome.code in (2, 4), outcome  # 4: the store cannot be used
            raise Refused(outcome.err)

    def _send(self, name: str, path: str, body: dict[str, Any]) -> Any:
        if name not in self.visitors:
            raise Refused("no server runs")
        answer = self.visitors[name].client.post(path, json=body)
        if answer.status_code != 200:
            assert answer.status_code == 503, answer.text
            assert str(DISK) not in answer.text  # where files lie on the server
            raise Refused(answer.json()["error"])
        return answer.json()

    def _vote(self) -> str:
        vote = {"id": f"vote-{self.round:04}", "set": "dataset", "query_id": "q1"}
        vote |= {"doc_id": f"d{self.round % 5 + 1}", "grade": 1, "rationale": WHY * 80}
        self.unsent.append(vote)
        while self.unsent:
            self._send("Cy", "/api/votes", self.unsent[0])
            self.done.setdefault("vote", set()).add(self.unsent.pop(0)["id"])
            self.before = self._files()
        return str(vote["id"])

    def _rule(self) -> str:
        given = ("--grade", self.round % 3, "--rationale", f"{self.round} " * 1200, "--by", "Dafna")
        self._command("gold", "adjudicate", self.project.graded, "q1", "d1", *given)
        return str(self.round)

    def _waiting(self) -> str:
        return next(id for id, source in self.project.sources().items() if source == "bootstrap")

    def _approve(self) -> str:
        ref = self._waiting()
        body = {"reason": "right " * 600}
        item = self.visitors["Dafna"].id(ref) if self.visitors else ""
        self._send("Dafna", f"/api/review/{item}/approve", body)
        return ref

    def _promote(self) -> str:
        ref = self._waiting()
        self._command("gold", "promote", ref, "--by", "Moshe", "--why", "right " * 600)
        return ref

    def _log(self) -> str:
        rows = [{"id": f"s{self.round}-{n}", "query": f"q {n}", "results": [f"c{n}"],
                 "at": "2026-05-01T12:00:00Z", "corpus": "c"} for n in range(300)]  # fmt: skip
        source = DISK.parent / f"searches{self.round}.jsonl"  # on the disk that has room
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self._command("logs", "import", source)
        return str(self.round)

    def _bootstrap(self) -> str:
        name, searches = DISK.parent / "decisions.jsonl", DISK.parent / "searches.jsonl"
        at = "2026-05-01T12:00:00Z"
        search = {"query": f"new {self.round}", "results": ["n"], "at": at, "corpus": "c"}
        searches.write_text(json.dumps(search) + "\n")
        name.write_text(json.dumps({"id": f"E{self.round}", "at": "2026-05-03", "cites": ["n"]}))
        self._command("logs", "import", searches)
        self._command("logs", "decisions", name)
        self._command("gold", "bootstrap")
        return f"new {self.round}"

    def _baseline(self) -> str:
        scored = ("--run", "run.trec", "--baseline", "baseline.json", "--update-baseline")
        why = ("--by", "Dafna", "--why", str(self.round))
        self._command("score", "--dataset", self.project.graded, *scored, *why)
        return str(self.round)

    def _import(self) -> str:
        rows = [{"id": f"d{n}", "text": f"gift {n} {self.round} " * 50} for n in range(30)]
        source = DISK.parent / f"corpus{self.round}.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self._command("corpus", "import", "jsonl", source, "--name", "c")
        return str(self.round)

    def lost(self) -> list[str]:
        """What was acknowledged and is not there once, file by file."""
        graded, rows = (self._acts(self.project.folder / name)
                        for name in ("dataset.log.jsonl", "gold-set.log.jsonl"))  # fmt: skip
        ruled = [act["rationale"].split()[0] for act in graded if act["action"] == "rule"]
        approved = [c["row"] for act in rows if act["action"] == "approve" for c in act["rows"]]
        there = {
            "vote": [act["id"] for act in graded if act["action"] == "vote"],
            "rule": ruled,
            "approve": approved,
            "promote": approved,
            "bootstrap": [row["query"] for row in self.project.rows().values()],
        }
        lost = [f"{name}: {one}" for name, found in there.items() for one in self.done[name]
                if found.count(one) != 1]  # fmt: skip
        sources = self.project.sources()
        chair = {id for id, source in sources.items() if source == "chair"}
        return lost + ([] if chair == set(approved) else [f"rows of the chair: {chair}"])

    def _acts(self, log: Path) -> list[dict[str, Any]]:
        """Every line of a log: none is damaged, none is there twice."""
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert len({line["id"] for line in lines}) == len(lines)
        return lines


class Refused(Exception):
    """An act that was not done."""


def fill(room: int) -> None:
    """Until nothing goes on it but so many bytes."""
    filler = DISK / "filler"
    with filler.open("wb", buffering=0) as stream:
        for size in (65536, 4096):
            with contextlib.suppress(OSError):
                while True:
                    stream.write(b"x" * size)
    os.truncate(filler, max(filler.stat().st_size - room, 0))


def mount(*options: str) -> None:
    subprocess.run(["mount", *options], check=True)


@contextlib.contextmanager
def made(state: str, project: Project, room: int) -> Iterator[None]:
    """The disk is full, or cannot be written; or the logs on it cannot."""
    logs = [str(path) for path in project.folder.glob("*.log.jsonl")]
    if state == "full":
        fill(room)
    elif state == "read-only":
        mount("-o", "remount,ro", str(DISK))
    for log in logs if state == "read-only-logs" else ():
        mount("--bind", log, log)
        mount("-o", "remount,bind,ro", log)
    yield
    if state == "full":
        (DISK / "filler").unlink()
    elif state == "read-only":
        mount("-o", "remount,rw", str(DISK))
    for log in logs if state == "read-only-logs" else ():
        subprocess.run(["umount", log], check=True)


def tried(work: Work, state: str) -> list[dict[str, str]]:
    """Everything once on a disk with no room, and with a little; or on one that cannot be written.
    A disk with a server at work on it does not become read-only."""
    told = []
    for room in (0, 8192, 65536, 262144) if state == "full" else (0,):
        with made(state, work.project, room):
            told.append(work.all_once())
            if work.visitors:
                probe = work.visitors["Cy"].client.get("/healthz")
                assert probe.status_code == (503 if state == "full" else 200), (room, probe.text)
    return told


def main() -> None:
    project, state = prepare(), sys.argv[2]
    work = Work(project)
    told: dict[str, Any] = {}
    with project.serve() as server:
        work.visit(server)
        told["before"] = work.all_once()
        if state != "read-only":
            told["during"] = tried(work, state)
    if state == "read-only":
        work.visit(None)
        told["during"] = tried(work, state)
    with project.serve() as server:
        work.visit(server)
        told["after"] = work.all_once()
    for path in (project.gold, project.graded):
        project.do("gold", "rebuild", path)
    told |= {"lost": work.lost(), "doctor": project.json("doctor")["status"]}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()

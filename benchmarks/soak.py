"""Twenty minutes of a server at a steady rate: searching, logging, judging, and the index built
anew underneath. Does the memory stay flat, is every answer right, is all there at the end?

    python benchmarks/soak.py [--minutes 20] [--rate 2] [--rebuild 60] [--output soak.json]

The server is a process of its own. So many times a second somebody searches, a search is logged or
a vote is given, in turn. Every `--rebuild` seconds the corpus is imported in another edition, in
which another document is the best, and indexed, while searching goes on: an answer must be that of
the one edition or the other, whole. The memory of the server is read every ten seconds. It counts
as flat when the last quarter of the time has at most 5% more than the second quarter. Exits with 1
where an answer is wrong, a request fails, something acknowledged is lost, or memory grows."""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from judge_load import SECRET, Server, make_set

from assay.gold.log import open_log
from assay.store import open_store
from assay.web.access import NAME_COOKIE, Access, name_cookie, signed

GROWTH = 1.05
EDITIONS = ("first", "second")
QUERY = "gift%20limit%20of%20a%20lobbyist"


def serve(folder: Path, port: int) -> None:
    import uvicorn

    from assay.telemetry.recorder import Recording
    from assay.web.app import create_app
    from assay.workbench.project.service import open_service

    store = f"sqlite:///{folder}/store.db"
    with open_service(store, gold=[folder / "set.json"], home=folder, recording=Recording()) as own:
        app = create_app(own, access=Access(secret=SECRET))
        uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def write_editions(folder: Path) -> None:
    """Three hundred opinions; which one is the best for the query differs."""
    rng = random.Random(0)
    words = (
        "gift limit lobbyist travel official report statement source income city council".split()
    )
    rows = [
        {"id": f"d{n}", "title": f"Opinion {n}", "text": " ".join(rng.choices(words[3:], k=300))}
        for n in range(300)
    ]
    for place, edition in enumerate(EDITIONS):
        best = {"title": "Gift limit of a lobbyist", "text": "The gift limit of a lobbyist. " * 30}
        changed = [*rows[: place + 1], rows[place + 1] | best, *rows[place + 2 :]]
        lines = "".join(json.dumps(row) + "\n" for row in changed)
        (folder / f"{edition}.jsonl").write_text(lines, encoding="utf-8")


def rebuild(folder: Path, edition: str) -> None:
    """As somebody does it on the command line beside the server."""
    from assay.workbench.searching.corpora import import_corpus, index_corpus

    import_corpus("jsonl", folder / f"{edition}.jsonl", name="soak", home=folder)
    index_corpus("soak", home=folder, dense=False)


class Visitor:
    """One connection that asks in turn, and what came of it."""

    def __init__(self, port: int, pairs: list[tuple[str, str]]) -> None:
        access = Access(secret=SECRET)
        cookie = f"{NAME_COOKIE}={name_cookie(access, 'judge')}"
        self._headers = {"cookie": cookie, "x-csrf-token": signed(access, "form")}
        self._port, self._pairs = port, pairs
        self._link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.answers: Counter[str] = Counter()
        self.logged: set[str] = set()
        self.voted: set[str] = set()
        self.failed: list[str] = []
        self.millis: list[float] = []

    def ask(self, method: str, path: str, value: Any = None) -> Any:
        sent = None if value is None else json.dumps(value)
        began = time.perf_counter()
        try:
            self._link.request(method, path, sent, self._headers)
            answer = self._link.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.failed.append(f"{path}: {error!r}")
            self._link.close()
            return None
        self.millis.append((time.perf_counter() - began) * 1000)
        if answer.status >= 300:
            self.failed.append(f"{path}: {answer.status} {said[:200]!r}")
            return None
        return json.loads(said)

    def search(self) -> str:
        said = self.ask("GET", f"/api/search?corpus=soak&q={QUERY}")
        hits = [hit["doc_id"] for hit in said["results"]] if said else []
        best = hits[0] if hits else said["state"] if said else "failed"
        self.answers[best] += 1
        return best

    def log(self) -> None:
        name = str(uuid.uuid4())
        shown = [{"doc_id": f"d{n}", "rank": n + 1} for n in range(10)]
        row = {"id": name, "query": "gift limit", "corpus": "soak", "results": shown}
        if self.ask("POST", "/api/log", row):
            self.logged.add(name)

    def vote(self, number: int) -> None:
        query, doc = self._pairs[number % len(self._pairs)]
        vote = {"id": str(uuid.uuid4()), "set": "set", "query_id": query, "doc_id": doc,
                "grade": number % 3, "rationale": "It decides the point."}  # fmt: skip
        if self.ask("POST", "/api/votes", vote):
            self.voted.add(vote["id"])  # type: ignore[arg-type]


def memory_of(pid: int) -> float:
    """MiB that are the process's own or its share."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def soaked(args: argparse.Namespace, folder: Path, server: Server) -> dict[str, Any]:
    pool = json.loads((folder / "set.pool.json").read_text())["pairs"]
    visitor = Visitor(server.port, [(row["query_id"], row["doc_id"]) for row in pool])
    began, number, rebuilt, wrong = time.monotonic(), 0, 0, 0
    memory: list[tuple[float, float]] = []
    builder: subprocess.Popen[bytes] | None = None
    last_build, edition = began, 0
    while (now := time.monotonic() - began) < 60 * args.minutes:
        if number % 3 == 0:
            best = visitor.search()
            settled = builder is None and time.monotonic() - last_build > 10
            wrong += best not in ("d1", "d2")
            wrong += settled and best != f"d{edition + 1}"
        elif number % 3 == 1:
            visitor.log()
        else:
            visitor.vote(number // 3)
        if builder is None and time.monotonic() - last_build > args.rebuild:
            edition = 1 - edition
            command = [sys.executable, __file__, "--build", EDITIONS[edition], str(folder)]
            builder = subprocess.Popen(command)
        elif builder is not None and builder.poll() is not None:
            wrong += builder.returncode != 0
            builder, last_build, rebuilt = None, time.monotonic(), rebuilt + 1
        if not memory or now - memory[-1][0] >= 10:
            memory.append((now, memory_of(server._process.pid)))
        number += 1
        time.sleep(max(began + number / args.rate - time.monotonic(), 0))
    if builder is not None:
        builder.wait()
    return told(folder, visitor, memory, server) | {"rebuilt": rebuilt, "wrong_answers": wrong}


def told(
    folder: Path, visitor: Visitor, memory: list[tuple[float, float]], server: Server
) -> dict[str, Any]:
    server._process.terminate()  # in good order: what it accepted is written
    server._process.wait(30)
    store = open_store(folder / "store.db")
    there = {log.id for log in store.searches(sorted(visitor.logged))}
    store.close()
    votes = Counter(vote.id for vote in open_log(folder / "set.json").votes())
    sizes = [size for _, size in memory]
    quarter = max(len(sizes) // 4, 1)
    second, last = (
        statistics.median(part) for part in (sizes[quarter : 2 * quarter], sizes[-quarter:])
    )
    return {
        "requests": len(visitor.millis),
        "failed": visitor.failed[:20],
        "p50_ms": round(statistics.median(visitor.millis), 1),
        "p99_ms": round(sorted(visitor.millis)[int(0.99 * len(visitor.millis))], 1),
        "answers": dict(visitor.answers),
        "logged": len(visitor.logged),
        "logs_lost": len(visitor.logged - there),
        "votes": len(visitor.voted),
        "votes_lost": len(visitor.voted - votes.keys()),
        "memory_mib": [round(size, 1) for size in sizes[:: max(len(sizes) // 20, 1)]],
        "second_quarter_mib": round(second, 1),
        "last_quarter_mib": round(last, 1),
        "flat": last <= GROWTH * second,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--rate", type=float, default=2, help="requests a second")
    parser.add_argument("--rebuild", type=float, default=60, help="seconds between two indexes")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_set(folder, 2000, ["judge", "other"])
        write_editions(folder)
        rebuild(folder, EDITIONS[0])
        server = Server(folder, script=__file__)
        found = soaked(args, folder, server)
    text = json.dumps(found, indent=2)
    sys.stdout.write(text + "\n")
    if args.output:
        args.output.write_text(text, encoding="utf-8")
    lost = found["logs_lost"] + found["votes_lost"] + found["wrong_answers"] + len(found["failed"])
    return int(bool(lost) or not found["flat"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[3]), int(sys.argv[2]))
    elif sys.argv[1:2] == ["--build"]:
        rebuild(Path(sys.argv[3]), sys.argv[2])
    else:
        raise SystemExit(main())

"""Many judges at once on one set, and the server killed in the middle.

    python benchmarks/judge_load.py [--judges 20] [--seconds 120] [--rate 2] [--pairs 10000]

makes a set of so many pairs with a small corpus in a temporary folder, starts a server, and has
every judge read a document and vote, so many actions a second on average: nobody is a clock,
so a pause is between half and one and a half times the mean. Half way the server is killed with
SIGKILL and started again; a vote that was not acknowledged is sent again with the same id, as the
page does. Every acknowledged vote must be in the log, once. Prints a table of times in
milliseconds (those of requests that were answered), how long the server was away, and what holds;
exits with 1 if a vote is missing, or if a p95 is over its limit: 30 ms for a vote on a quiet
machine, 150 ms for a page or a document."""

from __future__ import annotations

import argparse
import http.client
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from assay.gold.acts import VOTE
from assay.gold.log import read_acts
from assay.gold.rows import log_path
from assay.judging.pool import Pool, PooledPair, read_pool, write_pool
from assay.web.access import NAME_COOKIE, Access, name_cookie, signed

SECRET = b"of the benchmark"
LIMITS = {"page": 150.0, "document": 150.0, "vote": 30.0}  # of the p95, in milliseconds
PER_QUERY = 50
WORDS = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8").split()


def make_set(folder: Path, pairs: int, judges: list[str]) -> Path:
    rng = random.Random(0)
    queries = [
        {"id": f"q{n:04}", "text": " ".join(rng.sample(WORDS, 8)), "relevance_judgments": []}
        for n in range(max(pairs // PER_QUERY, 1))
    ]
    dataset = folder / "set.json"
    dataset.write_text(json.dumps({"rubric": "fppc-relevance-2", "queries": queries}))
    corpus = folder / "corpus.jsonl"
    with corpus.open("w") as stream:
        for n in range(1000):
            text = " ".join(rng.choices(WORDS, k=1200))
            stream.write(json.dumps({"id": f"d{n:04}", "text": text}) + "\n")
    asked = []
    for query in queries:
        for doc in rng.sample(range(1000), PER_QUERY):
            two = tuple(rng.sample(judges, 2))
            asked.append(PooledPair(query_id=str(query["id"]), doc_id=f"d{doc:04}", judges=two))
    write_pool(dataset, Pool(corpus=str(corpus), judges=tuple(judges), pairs=tuple(asked)))
    return dataset


def serve(folder: Path, port: int) -> None:
    import uvicorn

    from assay.web.app import create_app
    from assay.workbench.project.service import open_service

    with open_service(f"sqlite:///{folder}/store.db", gold=[folder / "set.json"]) as service:
        app = create_app(service, access=Access(secret=SECRET))
        uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


class Server:
    def __init__(self, folder: Path, script: str = __file__) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._command = [sys.executable, script, "--serve", str(self.port), str(folder)]
        self.cpu = 0.0  # seconds, of both lives
        self.away = 0.0  # seconds from the kill to the next answer
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command)
        for _ in range(600):
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise SystemExit("the server does not start")

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        _, self._process.returncode, used = os.wait4(self._process.pid, 0)
        self.cpu += used.ru_utime + used.ru_stime


class Judge(threading.Thread):
    """Reads and votes at a pace; what is not acknowledged is sent again."""

    def __init__(self, name: str, port: int, asked: list[tuple[str, str]], pace: float) -> None:
        super().__init__(daemon=True)
        self.judge, self._port, self._asked, self._pace = name, port, asked, pace
        self._link: http.client.HTTPConnection | None = None
        self.stop = threading.Event()
        self.acknowledged: set[str] = set()
        self.times: dict[str, list[float]] = {"page": [], "document": [], "vote": []}
        self.resent = 0
        access = Access(secret=SECRET)
        cookie = f"{NAME_COOKIE}={name_cookie(access, name)}"
        self._headers = {"cookie": cookie, "x-csrf-token": signed(access, "form")}

    def run(self) -> None:
        time.sleep(random.random() / self._pace)
        for place, (query, doc) in enumerate(self._asked):
            if self.stop.is_set():
                return
            began = time.monotonic()
            if place % 10 == 0:
                self._timed("page", "GET", f"/judge/set/{query}")
            self._timed("document", "GET", f"/api/judge/document?set=set&query={query}&doc={doc}")
            self._pause(began)
            began = time.monotonic()
            vote: dict[str, Any] = {
                "id": str(uuid.uuid4()),
                "set": "set",
                "query_id": query,
                "doc_id": doc,
            }
            vote |= {"grade": place % 3, "rationale": "It decides the point of the query."}
            while not self._timed("vote", "POST", "/api/votes", vote):
                self.resent += 1
                time.sleep(0.1 + random.random() / 5)
            self.acknowledged.add(vote["id"])
            self._pause(began)

    def _pause(self, began: float) -> None:
        pause = (0.5 + random.random()) / self._pace
        time.sleep(max(pause - (time.monotonic() - began), 0))

    def _timed(self, kind: str, method: str, path: str, value: Any = None) -> bool:
        body = None if value is None else json.dumps(value)
        began = time.perf_counter()
        try:
            if self._link is None:
                self._link = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
            self._link.request(method, path, body, self._headers)
            answer = self._link.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException):
            self._link = None
            return False
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status} {said[:300]!r}")
        self.times[kind].append((time.perf_counter() - began) * 1000)
        return True


def share(times: list[float], part: float) -> float:
    return sorted(times)[max(math.ceil(part * len(times)) - 1, 0)] if times else 0.0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--judges", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--rate", type=float, default=2)
    parser.add_argument("--pairs", type=int, default=10_000)
    asked = parser.parse_args()
    names = [f"judge {n:02}" for n in range(asked.judges)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dataset = make_set(folder, asked.pairs, names)
        pool = read_pool(dataset)
        assert pool is not None
        server = Server(folder)
        judges = []
        for judge in names:
            own = [pair.key for pair in pool.pairs if judge in pair.judges]
            judges.append(Judge(judge, server.port, own, asked.rate))
        warm = Judge(names[0], server.port, [], 1)
        warm._timed("page", "GET", "/judge/set")
        for thread in judges:
            thread.start()
        time.sleep(asked.seconds / 2)
        killed = time.monotonic()
        server.kill()
        server.start()
        server.away = time.monotonic() - killed
        time.sleep(asked.seconds / 2)
        for thread in judges:
            thread.stop.set()
        for thread in judges:
            thread.join(30)
        server.kill()
        kept = Counter(act.id for act in read_acts(log_path(dataset)) if act.action == VOTE)
    return report(judges, kept, server)


def report(judges: list[Judge], kept: Counter[str], server: Server) -> int:
    said = {vote for judge in judges for vote in judge.acknowledged}
    missing, twice = said - kept.keys(), [vote for vote, times in kept.items() if times > 1]
    lines = [f"{'':10}{'count':>8}{'p50':>8}{'p95':>8}{'p99':>8}{'max':>8}"]
    slow, actions = False, 0
    for kind in ("page", "document", "vote"):
        times = [each for judge in judges for each in judge.times[kind]]
        figures = [share(times, part) for part in (0.5, 0.95, 0.99, 1)]
        slow |= figures[1] > LIMITS[kind]
        actions += len(times)
        lines.append(f"{kind:10}{len(times):>8}" + "".join(f"{one:>8.1f}" for one in figures))
    counted = not missing and not twice and len(kept) == len(said)
    lines += [
        f"killed in the middle, away for {server.away:.1f} s; sent again until it was back: "
        f"{sum(judge.resent for judge in judges)} times",
        f"processor time of the server: {1000 * server.cpu / max(actions, 1):.1f} ms an action",
        f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors",
        f"{'holds' if counted else 'FAILS'}: acknowledged {len(said)}, in the log {len(kept)}, "
        f"missing {len(missing)}, twice {len(twice)}",
        f"{'FAILS' if slow else 'holds'}: every p95 is within its limit: "
        f"{', '.join(f'{kind} {limit:.0f} ms' for kind, limit in LIMITS.items())}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(slow or not counted)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[3]), int(sys.argv[2]))
    else:
        raise SystemExit(main())

"""How long every page and every GET call takes, with 10,000 pairs in the set.

    ASSAY_HOME=… python benchmarks/pages.py CORPUS [--pairs 10000] [--rounds 20] [--keep FOLDER]

makes a workspace (see big_workspace.py) on a corpus of yours that is indexed, starts `assay serve`
on it, and asks for every route that the server has, each time for another query, document or row,
and each time right after somebody has voted, so that nothing kept from before can help. Prints the
wall time and the server's processor time in milliseconds; exits with 1 where a p95 is over 150 ms,
an answer is not 200, or a route is not asked. `--keep` uses a folder again."""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from big_workspace import JUDGES, build, environment

from assay.gold.log import open_log
from assay.judging.pool import read_pool
from assay.web.app import TABLES

LIMIT = 150.0  # milliseconds
# what a route says of a visitor who has no account, or has no link: nothing to measure there
ELSEWHERE = {"/sign-in", "/invite/{token}"}


class Served:
    """`assay serve` in a workspace, and somebody who asks."""

    def __init__(self, folder: Path, *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "assay", "serve", "--port", str(self.port), *options]
        self._log = (folder / "serve.log").open("w")
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment(folder), stdout=self._log, stderr=self._log
        )
        self._headers: dict[str, str] = {}
        self._link: http.client.HTTPConnection | None = None
        for _ in range(1200):
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise SystemExit(f"the server does not start: see {folder}/serve.log")

    def cpu(self) -> float:
        """Seconds of processor time, of all its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def settle(self) -> None:
        """Wait until the server has opened what it opens at its start."""
        for _ in range(240):
            before = self.cpu()
            time.sleep(1)
            if self.cpu() - before < 0.1:
                return

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, bytes]:
        if self._link is None:
            self._link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        self._link.request(method, path, body or None, self._headers | headers)
        answer = self._link.getresponse()
        said = answer.read()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                known = self._headers.get("cookie", "")
                new = value.partition(";")[0]
                self._headers["cookie"] = f"{known}; {new}" if known else new
        return answer.status, said

    def be(self, name: str) -> None:
        """Choose a name, as the page asks for it."""
        found = re.search(rb'name="csrf" value="([^"]+)"', self.ask("GET", "/me")[1])
        assert found is not None
        token = found.group(1).decode()
        form = {"content-type": "application/x-www-form-urlencoded"}
        self.ask("POST", "/me", urlencode({"csrf": token, "name": name}), **form)
        found = re.search(rb'name="csrf" value="([^"]+)"', self.ask("GET", "/me")[1])
        assert found is not None
        self._headers["x-csrf-token"] = found.group(1).decode()

    def call(self, path: str) -> Any:
        status, said = self.ask("GET", path)
        if status != 200:
            raise SystemExit(f"{path}: {status} {said[:300]!r}")
        return json.loads(said)

    def post(self, path: str, value: dict[str, object]) -> Any:
        status, said = self.ask("POST", path, json.dumps(value))
        if status not in (200, 202):
            raise SystemExit(f"{path}: {status} {said[:300]!r}")
        return json.loads(said)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


class Votes:
    """Somebody votes before every request."""

    def __init__(self, served: Served, dataset: Path) -> None:
        pool = read_pool(dataset)
        assert pool is not None
        done = {(vote.query_id, vote.doc_id) for vote in open_log(dataset).votes()}
        waits = [pair for pair in pool.pairs if pair.key not in done] or list(pool.pairs)
        self._served, self._next = served, itertools.cycle(waits)
        self._grades = itertools.cycle((0, 1, 2))

    def vote(self) -> None:
        pair = next(self._next)
        vote = {"id": str(uuid.uuid4()), "set": "big", "query_id": pair.query_id}
        vote |= {"doc_id": pair.doc_id, "grade": next(self._grades), "rationale": "On the point."}
        self._served.post("/api/votes", dict(vote))


def addresses(served: Served, dataset: Path, corpus: str) -> dict[str, Iterator[str]]:
    """Addresses of every route that is read, without end; each time another one."""
    pool = read_pool(dataset)
    assert pool is not None
    pairs = list(pool.pairs)[:: max(len(pool.pairs) // 97, 1)]
    queries = json.loads(dataset.read_text())["queries"]
    texts = {query["id"]: query["text"] for query in queries}
    disputes = served.call("/api/disputes?set=big")
    items = [row["item"]["id"] for row in served.call("/api/review?limit=50")["items"]]
    runs = [line["id"] for line in served.call("/api/runs?gold=big")["page"]["items"]]
    job = served.post("/api/runs/jobs", {"gold": "rows", "engine": "own"})["id"]
    while served.call(f"/api/runs/jobs/{job}")["state"] not in ("done", "failed"):
        time.sleep(0.2)
    two = urlencode({"a": runs[1], "b": runs[0]})
    words = [texts[pair.query_id] for pair in pairs]
    ids = [quote(pair.doc_id, safe="") for pair in pairs]
    asked = [{"set": "big", "query": pair.query_id} for pair in pairs]
    of_pair = [{**one, "doc": pair.doc_id} for one, pair in zip(asked, pairs, strict=True)]
    found = [{"corpus": corpus, "q": text} for text in words]
    bulk = [urlencode({"id": item}) for item in items]
    rows = dict[str, list[str]](
        {
            "/": [""],
            "/search": ["?" + urlencode(one) for one in found],
            "/doc/{corpus}/{id:path}": [
                f"/doc/{corpus}/{id}?{urlencode({'q': text})}"
                for id, text in zip(ids, words, strict=True)
            ],
            "/judge/{set}": ["/judge/big"],
            "/judge/{set}/{query:path}": [f"/judge/big/{pair.query_id}" for pair in pairs],
            "/judge/{set}/{query:path}/all": [f"/judge/big/{pair.query_id}/all" for pair in pairs],
            "/agreement/{set}": ["/agreement/big"],
            "/agreement/{set}/{query:path}": [
                f"/agreement/big/{each['query_id']}?{urlencode({'doc': each['doc_id']})}"
                for each in disputes[:100]
            ],
            "/review/{item}": [f"/review/{item}" for item in items],
            "/review/bulk": [f"?{each}" for each in bulk],
            "/runs/{run}": [f"/runs/{run}" for run in runs],
            "/runs/{run}/report": [f"/runs/{run}/report" for run in runs],
            "/runs/jobs/{job}": [f"/runs/jobs/{job}"],
            "/compare": [f"?{two}"],
            "/compare/query": [f"?{two}&query={pair.query_id}" for pair in pairs],
            "/api/search": ["?" + urlencode(one) for one in found],
            "/api/documents/{corpus}/{id:path}": [f"/api/documents/{corpus}/{id}" for id in ids],
            "/api/similar": [f"?corpus={corpus}&id={id}" for id in ids],
            "/api/judge/set": ["?set=big"],
            "/api/judge/rubric": ["?set=big"],
            "/api/judge/query": ["?" + urlencode(one) for one in asked],
            "/api/judge/document": ["?" + urlencode(one) for one in of_pair],
            "/api/judge/search": [
                "?" + urlencode({**one, "q": text}) for one, text in zip(asked, words, strict=True)
            ],
            "/api/agreement": ["?set=big"],
            "/api/disputes": ["?set=big"],
            "/api/review/{item}": [f"/api/review/{item}" for item in items],
            "/api/review/bulk": [f"?{each}" for each in bulk],
            "/api/review/{item}/search": [
                f"/api/review/{item}/search?{urlencode({'q': text})}"
                for item, text in zip(items, words, strict=False)
            ],
            "/api/review/{item}/document": [
                f"/api/review/{item}/document?doc_id={ids[place]}"
                for place, item in enumerate(items)
            ],
            "/api/runs/{run}": [f"/api/runs/{run}" for run in runs],
            "/api/runs/jobs/{job}": [f"/api/runs/jobs/{job}"],
            "/api/compare": [f"?{two}"],
            "/api/compare/query": [f"?{two}&query={pair.query_id}" for pair in pairs],
        }
    )
    read = [row.path for table in TABLES for row in table if "GET" in row.methods]
    return {
        path: itertools.cycle(
            [each if each.startswith("/") else path + each for each in rows.get(path, [""])]
        )
        for path in dict.fromkeys(read)
        if path not in ELSEWHERE
    }


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def share(times: list[float], part: float) -> float:
    return sorted(times)[max(math.ceil(part * len(times)) - 1, 0)]


def measure(served: Served, dataset: Path, corpus: str, rounds: int) -> int:
    routes = addresses(served, dataset, corpus)
    votes = Votes(served, dataset)
    say(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    say(f"{'':42}{'p50':>8}{'p95':>8}{'most':>8}{'cpu':>8}{'kB':>8}")
    slow = []
    for path, every in routes.items():
        times, sizes, used = [], [], 0.0
        for _ in range(rounds):
            votes.vote()
            address = next(every)
            before, begun = served.cpu(), time.perf_counter()
            status, said = served.ask("GET", address)
            times.append((time.perf_counter() - begun) * 1000)
            used += served.cpu() - before
            sizes.append(len(said))
            if status != 200 and (path, status) != ("/runs/again", 303):  # nothing runs: away
                raise SystemExit(f"{address}: {status} {said[:300]!r}")
        p95 = share(times, 0.95)
        slow += [path] if p95 > LIMIT else []
        cells = (share(times, 0.5), p95, max(times), 1000 * used / rounds, max(sizes) / 1000)
        mark = "  SLOW" if p95 > LIMIT else ""
        say(f"{path:42}" + "".join(f"{cell:>8.1f}" for cell in cells) + mark)
    say(f"{len(slow)} of {len(routes)} are over {LIMIT:.0f} ms" + (f": {slow}" if slow else ""))
    say(f"load of the machine: {os.getloadavg()[0]:.1f}")
    return int(bool(slow))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = given.keep or Path(name) / "workspace"
        if not (folder / "big.json").exists():
            build(folder, given.corpus, given.pairs)
        served = Served(folder)
        try:
            served.settle()
            served.be(JUDGES[0])
            return measure(served, folder / "big.json", given.corpus, given.rounds)
        finally:
            served.stop()


if __name__ == "__main__":
    raise SystemExit(main())

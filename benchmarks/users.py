"""Twenty signed-in users of the sample project, who do what a team does in a day all at once.

    python benchmarks/users.py [--users 20] [--rate 20] [--seconds 60] [--servers 1] [--keep FOLDER]

makes the sample project with so many accounts (a quarter of them chairs, one admin, the others
judges), starts `assay serve`, and asks for Home, judging pages, documents, searches and the list of
runs, and votes, so many requests a second all together; nobody is a clock, so a pause is between
half and one and a half times the mean. `--rate 0` asks without a pause; with `--servers 2` half of
the users ask a second server on the same project. Prints how long the server took to start, the
wall time of each kind of request in milliseconds, and how many requests the server answers in a
second of processor time, which other work on the machine changes little. Exits
with 1 if an answer is not 200."""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from urllib.parse import quote, urlencode

from pages import Served, say, share

from assay.judging.pool import read_pool
from assay.workbench.project import people
from assay.workbench.project.demo import prepare
from assay.workbench.project.service import Service, open_service

# of a hundred requests
MIX = {"home": 15, "judge page": 20, "document": 15, "vote": 25, "search": 15, "runs": 10}
QUERIES = (
    "gift limit of a lobbyist", "who may vote on a contract with a spouse's employer",
    "campaign funds for travel", "behested payments", "mass mailing at public expense",
    "is a consultant a public official", "statement of economic interests deadline",
    "rental income near a redevelopment project", "revolving door one year ban",
    "committee with no members",
)  # fmt: skip


def add_accounts(folder: Path, users: int) -> list[tuple[str, str]]:
    """Names and session cookies."""
    with open_service(str(folder / ".assay" / "assay.db")) as service:
        found = [_join(service, number) for number in range(users)]
    return found


def _join(service: Service, number: int) -> tuple[str, str]:
    role: people.Role = "admin" if number == 0 else "chair" if number % 4 == 1 else "judge"
    name, now = f"Reader {number:02}", service.clock()
    link = people.invite(service, name, role, by=people.AT_THE_TERMINAL)
    service.store.accept_invitation(people.digest(link.token), name=name, password="-", at=now)
    return name, people.start_session(service, name)


class Reader(threading.Thread):
    """A signed-in user, on one connection."""

    def __init__(self, port: int, cookie: str, pairs: list[tuple[str, str]], pause: float) -> None:
        super().__init__(daemon=True)
        self._link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"cookie": f"assay_session={cookie}", "accept-language": "en"}
        self._pairs, self._pause = pairs, pause
        self._random = random.Random(cookie)
        self.stop = threading.Event()
        self.times: dict[str, list[float]] = {kind: [] for kind in MIX}
        self.failed: list[str] = []

    def run(self) -> None:
        token = self._ask("GET", "/judge").partition(b'name="csrf" content="')[2]
        self._headers["x-csrf-token"] = token.partition(b'"')[0].decode()
        self.stop.wait(self._random.random() * self._pause)
        while not self.stop.is_set():
            (kind,) = self._random.choices(list(MIX), list(MIX.values()))
            began = time.perf_counter()
            self._do(kind)
            took = time.perf_counter() - began
            self.times[kind].append(took * 1000)
            if self._pause > 2:  # the server ends connections that wait for longer than 5 s
                self._link.close()
            self.stop.wait(max(self._pause * (0.5 + self._random.random()) - took, 0))

    def _do(self, kind: str) -> None:
        query, doc = self._random.choice(self._pairs)
        asked = {"corpus": "opinions", "q": self._random.choice(QUERIES)}
        pages = {
            "home": "/",
            "judge page": f"/judge/opinions/{quote(query)}",
            "document": "/api/judge/document?"
            + urlencode({"set": "opinions", "query": query, "doc": doc}),
            "search": f"/search?{urlencode(asked)}",
            "runs": "/runs",
        }
        if kind != "vote":
            self._ask("GET", pages[kind])
            return
        vote = {"id": str(uuid.uuid4()), "set": "opinions", "query_id": query, "doc_id": doc}
        vote |= {"rationale": "It decides the point."}
        self._ask("POST", "/api/votes", vote | {"grade": self._random.randrange(3)})

    def _ask(self, method: str, path: str, value: object = None) -> bytes:
        try:
            self._link.request(method, path, value and json.dumps(value), self._headers)
            answer = self._link.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.failed.append(f"{path}: {error!r}")
            self._link.close()
            self.stop.wait(1)
            return b""
        # a judge with documents left may not search for their queries, nor see their runs
        if answer.status not in (200, 403):
            self.failed.append(f"{path}: {answer.status} {said[:200]!r}")
        return said


def measure(folder: Path, given: argparse.Namespace) -> int:
    accounts = add_accounts(folder, given.users)
    pool = read_pool(folder / "opinions.json")
    assert pool is not None
    pairs = [pair.key for pair in pool.pairs]
    began = time.perf_counter()
    servers = [Served(folder)]
    started, used_to_start = time.perf_counter() - began, servers[0].cpu()
    servers += [Served(folder) for _ in range(given.servers - 1)]

    def used() -> float:
        return sum(served.cpu() for served in servers)

    try:
        pause = given.users / given.rate if given.rate else 0.0
        ports = itertools.cycle(served.port for served in servers)
        readers = [Reader(next(ports), cookie, pairs, pause) for _, cookie in accounts]
        for reader in readers:
            reader.start()
        time.sleep(given.warm)
        for reader in readers:
            reader.times = {kind: [] for kind in MIX}
        cpu, began = used(), time.perf_counter()
        time.sleep(given.seconds)
        cpu, took = used() - cpu, time.perf_counter() - began
        for reader in readers:
            reader.stop.set()
        for reader in readers:
            reader.join(60)
    finally:
        for served in servers:
            served.stop()
    failed = [each for reader in readers for each in reader.failed]
    for each in failed[:10]:
        say(f"FAILED {each}")
    if failed:
        raise SystemExit((folder / "serve.log").read_text()[-2000:])
    times = {kind: [one for reader in readers for one in reader.times[kind]] for kind in MIX}
    done = sum(map(len, times.values()))
    say(f"started in {started:.1f} s ({used_to_start:.1f} s of the processor)")
    say(f"{'':12}{'count':>8}{'p50':>8}{'p95':>8}{'most':>8}")
    for kind, took_each in times.items():
        figures = [share(took_each, part) for part in (0.5, 0.95, 1)] if took_each else []
        say(f"{kind:12}{len(took_each):>8}" + "".join(f"{one:>8.1f}" for one in figures))
    say(f"{done / took:.1f} requests a second; {100 * cpu / took:.0f}% of a processor")
    say(f"{done / cpu:.1f} requests a second of processor time, {1000 * cpu / done:.1f} ms each")
    say(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm", type=float, default=10)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where the sample project is, or is to be made")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        kept, folder = given.keep or Path(name) / "sample", Path(name) / "project"
        prepare(kept)
        shutil.copytree(kept, folder)
        (folder / "home").symlink_to(".assay")
        return measure(folder, given)


if __name__ == "__main__":
    sys.exit(main())

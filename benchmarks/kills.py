"""Kill judging and review at any moment (SIGKILL), and check what is left.

    python benchmarks/kills.py [--kills 250] [--seed 1] [--act vote] [--keep FOLDER]

Each act is done as a user does it, by commands and by HTTP on `assay serve`, in a group of
processes that reports every step twice: before it is sent, and when it is acknowledged (the command
ended, the answer came). The act is timed once, then the group is killed at a random moment, again
and again, on the same project. After every kill a new process checks that

- every acknowledged step is in the log exactly once, and no step is there more often than it was
  tried, nor any line twice;
- the gold file is whole: as some act left it, or as it was edited by hand;
- after the next command that writes, the gold file agrees with its log, and nothing is doubled;
- the votes that hold, the labels and the states of rows are those of the last steps;
- `assay doctor` finds nothing wrong.

A step over HTTP that was not acknowledged is sent again in the next round with the same id.
`kills_of_files.py` has the acts on corpora, runs and the store. Exits with 1 if a check failed.

A kill ends a process, not the machine: what the system had taken into its memory is still written.
Tests hold that files are synced before anything is acknowledged; this script cannot."""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import kills_of_files
from killing import Act, Tell, all_at_once, command, forked, killed_often
from kills_checks import (
    GRADED,
    MERGED,
    ROWS,
    pending,
    together,
    wrong_begun,
    wrong_project,
    wrong_restored,
)

from assay.formats import gold_jsonl
from assay.gold.rows import digest_of

QUERIES, DOCS = 40, 12  # of the graded set
CHAIR = "Dafna"
CONFIG = f"""\
[gold.gold-set]
path = "{ROWS}"
[gold.dataset]
path = "{GRADED}"
[engines.words]
engine = "bm25"
corpus = "corpus.jsonl"
"""

# ── the project ───────────────────────────────────────────────────────────────────────────────────


def _log_searches(home: Path, numbers: Sequence[int]) -> None:
    rows = [
        {"id": f"s{n}", "at": "2026-05-01T12:00:00Z", "query": f"question {n}", "corpus": "c",
         "results": [f"c{n}", f"e{n}"]} for n in numbers
    ]  # fmt: skip
    cited = [{"id": f"D{n}", "at": "2026-05-02", "cites": [f"c{n}", f"e{n}"]} for n in numbers]
    for name, lines in (("import", rows), ("decisions", cited)):
        file = home / f"{name}-{numbers[0]}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        command("logs", name, file)
        file.unlink()


def _make_rows(home: Path) -> None:
    _make_graded(home)
    _log_searches(home, range(400))
    command("gold", "bootstrap")


def _make_graded(home: Path) -> None:
    """A graded set on which Ada and Bea differ."""
    os.chdir(home)
    (home / "assay.toml").write_text(CONFIG)
    (home / "corpus.jsonl").write_text('{"id": "d0", "text": "A gift."}\n')
    asked = {"type": "keyword", "topic": "t", "issue": "i"}
    queries: list[dict[str, Any]] = [
        {"id": f"q{n}", "text": f"question {n}"} | asked for n in range(QUERIES)
    ]
    issue = {"id": "i", "name": "I", "description": "i"}
    taxonomy = {"t": {"name": "T", "description": "t", "issues": [issue]}}
    whole = {"version": "1", "created_at": "2026-01-01T00:00:00Z", "description": "",
             "rubric": "fppc-relevance-2", "taxonomy": taxonomy, "queries": queries}  # fmt: skip
    (home / GRADED).write_text(json.dumps(whole, indent=1) + "\n")
    for query in queries:
        query["relevance_judgments"] = [{"opinion_id": f"d{n}", "score": n % 3} for n in range(8)]
    (home / "labelled.template").write_text(json.dumps(whole))
    pairs = [(f"q{q}", f"d{d}") for q in range(QUERIES) for d in range(DOCS)]
    pool = {"format": 1, "corpus": "", "judges": [],
            "pairs": [{"query_id": q, "doc_id": d, "wanted": 30} for q, d in pairs]}  # fmt: skip
    (home / "dataset.pool.json").write_text(json.dumps(pool))
    for judge, grade in (("Ada", 0), ("Bea", 2)):
        _merge(home, judge, [(q, d, grade) for q, d in pairs])


def _merge(home: Path, judge: str, votes: Sequence[tuple[str, str, int]]) -> None:
    sent = home / f"{judge}.csv"
    lines = [f"{query},{doc},{grade},{judge} says so\n" for query, doc, grade in votes]
    sent.write_text("query_id,doc_id,grade,rationale\n" + "".join(lines))
    command("gold", "merge", GRADED, sent, "--judge", judge)


# ── servers ───────────────────────────────────────────────────────────────────────────────────────


def served() -> int:
    """Start `assay serve` in a process of its own; returns its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    forked("serve", "--port", port)
    for _ in range(600):
        with socket.socket() as asked:
            there = asked.connect_ex(("127.0.0.1", port)) == 0
            if there and asked.getsockname() != asked.getpeername():  # it may meet itself
                return port
        time.sleep(0.02)
    raise SystemExit("the server does not start")


class Refused(Exception):
    """The server says no."""


class Browser:
    """One person at a server."""

    def __init__(self, port: int, name: str) -> None:
        self._link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._cookies: dict[str, str] = {}
        self._headers: dict[str, str] = {}
        page = self._answer("GET", "/me", "")[1]
        token = re.search(r'name="csrf" content="([^"]+)"', page)
        assert token, page
        self._headers["x-csrf-token"] = token[1]
        self._answer("POST", "/me", f"name={name}", "application/x-www-form-urlencoded")

    def _answer(
        self, method: str, path: str, body: str, kind: str = "application/json"
    ) -> tuple[int, str]:
        cookie = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        headers = self._headers | {"cookie": cookie, "content-type": kind}
        self._link.request(method, path, body or None, headers)
        answer = self._link.getresponse()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self._cookies[key] = rest.partition(";")[0]
        return answer.status, answer.read().decode()

    def ask(self, path: str) -> Any:
        status, said = self._answer("GET", path, "")
        assert status == 200, (path, status, said)
        return json.loads(said)

    def send(self, path: str, **body: Any) -> Any:
        """Send what is accepted."""
        status, said = self._answer("POST", path, json.dumps(body))
        if status in (400, 409):
            raise Refused(said)
        assert status == 200, (path, status, said)
        return json.loads(said)

    def waiting(self) -> list[dict[str, Any]]:
        listed = self.ask("/api/review?state=pending_review&kind=gold_row&limit=40")
        return [line["item"] for line in listed["items"]]

    def decide(self, item: dict[str, Any], verb: str, tell: Tell) -> None:
        token = f"{verb} {item['ref']}"
        tell(f"? {token}")
        self.send(f"/api/review/{item['id']}/{verb}", reason=token)
        tell(f"! {token}")

    def undo(self, items: Sequence[dict[str, Any]], tell: Tell) -> None:
        token = f"undo {together(item['ref'] for item in items)}"
        tell(f"? {token}")
        done = self.send("/api/review/undo", ids=[item["id"] for item in items])
        assert not done["refused"], done
        tell(f"! {token}")

    def vote(self, token: str, tell: Tell) -> None:
        """Send a vote that is written as `vote ID QUERY DOCUMENT GRADE`; without a grade it takes
        the last one back."""
        _, id, query, doc, grade = token.split()
        vote = {"id": id, "set": "dataset", "query_id": query, "doc_id": doc}
        said = {"withdrawn": True} if grade == "-" else {"grade": int(grade), "rationale": WHY}
        tell(f"? {token}")
        self.send("/api/votes", **vote, **said)
        tell(f"! {token}")


WHY = "It decides the very point that the query asks about."


def _vote_token(n: int, grade: int | str) -> str:
    return f"vote {uuid.uuid4()} q{n % QUERIES} d{n // QUERIES % DOCS} {grade}"


# ── acts ──────────────────────────────────────────────────────────────────────────────────────────


def _vote(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    judge = Browser(served(), "Cid")
    for token in left:  # sent, and no answer came: the page sends it again
        judge.vote(token, tell)
    for step in range(60):
        judge.vote(_vote_token(round_ * 60 + step, step % 3), tell)


def _vote_and_undo(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    judge = Browser(served(), "Cid")
    for token in left:
        judge.vote(token, tell)
    for step in range(20):
        for grade in (step % 3, "-", (step + 1) % 3):
            judge.vote(_vote_token(round_ * 20 + step, grade), tell)


def _rule(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    for step in range(4):
        n = round_ * 4 + step
        _one_ruling(n, f"ruling {round_}-{step}", tell)


def _one_ruling(n: int, why: str, tell: Tell) -> None:
    given = ("--grade", n % 3, "--rationale", why, "--by", CHAIR)
    tell(f"? rule {why}")
    command("gold", "adjudicate", GRADED, f"q{n % QUERIES}", f"d{n % DOCS}", *given)
    tell(f"! rule {why}")


def _approve(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    chair = Browser(served(), CHAIR)
    for item in chair.waiting()[:12]:
        chair.decide(item, "approve", tell)


def _reject(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    for ref in pending(home)[:4]:
        tell(f"? reject {ref}")
        command("gold", "reject", ref, "--by", CHAIR, "--why", f"reject {ref}")
        tell(f"! reject {ref}")


def _decide_and_undo(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    chair = Browser(served(), CHAIR)
    for item in chair.waiting()[:4]:
        chair.decide(item, "approve", tell)
        chair.undo([item], tell)
        chair.decide(item, "reject", tell)
        chair.undo([item], tell)
    chair.decide(chair.waiting()[round_ % 5], ("approve", "reject")[round_ % 2], tell)


def _bulk(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    chair = Browser(served(), CHAIR)
    for again in range(3):
        items = chair.waiting()[: 5 if again == 2 else 15]
        asked = "&".join(f"id={item['id']}" for item in items)
        lines = chair.ask(f"/api/review/bulk?{asked}")["lines"]
        picks = [{"id": line["item"]["id"], "seen": line["seen"]} for line in lines]
        token = f"approve {together(item['ref'] for item in items)}"
        tell(f"? {token}")
        assert not chair.send("/api/review/bulk", items=picks, reason="all")["refused"]
        tell(f"! {token}")
        if again < 2:
            chair.undo(items, tell)


def _merge_files(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    for step in range(3):
        judge, n = f"m{round_}-{step}", round_ * 3 + step
        tell(f"? merge {judge}")
        _merge(home, judge, [(f"q{k}", f"d{n % DOCS}", (n + k) % 3) for k in range(MERGED)])
        tell(f"! merge {judge}")


def _bootstrap(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    for step in range(2):
        start = 1000 + (round_ * 2 + step) * 10
        _log_searches(home, range(start, start + 10))
        tell("? bootstrap")
        command("gold", "bootstrap")
        tell("! bootstrap")


def _begin(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    """The first act on a set: it has labels, or votes of an earlier version beside it."""
    for step in range(3):
        name = f"begun-{round_}-{step}"
        shutil.copy(home / "dataset.pool.json", home / f"{name}.pool.json")
        shutil.copy(home / (GRADED if step else "labelled.template"), home / f"{name}.json")
        if step:
            command("gold", "export-votes", GRADED, "--output", home / f"{name}.votes.jsonl")
        given = ("--grade", 1, "--rationale", "the first act", "--by", CHAIR)
        tell(f"? begin {name}")
        command("gold", "adjudicate", f"{name}.json", "q0", "d0", *given)
        tell(f"! begin {name}")


def _edit_by_hand(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    """Notes that somebody writes on rows in the file itself, each followed by a decision on another
    row."""
    for step in range(3):
        edited, decided = random.sample(pending(home), 2)
        note = f"by hand {round_}-{step}"
        _write_note(home, edited, note, tell)
        tell(f"? edit {edited} {note}")
        tell(f"? approve {decided}")
        command("gold", "promote", decided, "--by", CHAIR)
        tell(f"! edit {edited} {note}")
        tell(f"! approve {decided}")


def _write_note(home: Path, ref: str, note: str, tell: Tell) -> None:
    """As an editor saves a file."""
    lines = [
        gold_jsonl.edited_line(line, note=note) if line.row and line.row.id == ref else line
        for line in gold_jsonl.read_lines(home / ROWS)
    ]
    content = gold_jsonl.assemble(lines)
    tell(f"hand {digest_of(content)}")
    (home / "editor").write_bytes(content)
    (home / "editor").replace(home / ROWS)


def _rebuild(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    """An old file comes back, as from git or a copy; `assay gold rebuild` writes it again."""
    for _ in range(3):
        name = (ROWS, GRADED)[round_ % 2]
        old = (home / name).read_bytes()
        if name == ROWS:
            (ref,) = pending(home)[:1]
            tell(f"? approve {ref}")
            command("gold", "promote", ref, "--by", CHAIR)
            tell(f"! approve {ref}")
        else:
            _one_ruling(random.randrange(1000), f"ruling {uuid.uuid4()}", tell)
        (home / "editor").write_bytes(old)
        (home / "editor").replace(home / name)
        command("gold", "rebuild", name)
        tell("rebuilt")


def _backup(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    """Backups beside a chair who decides, and what they restore."""
    port = served()

    def decide() -> None:
        chair = Browser(port, CHAIR)
        for item in chair.waiting():
            chair.decide(item, "approve", tell)

    def back_up() -> None:
        for step in range(2):
            file = home.parent / f"{round_}-{step}.tar.gz"
            tell(f"backup {file.name}")
            command("backup", file)
            to = home.parent / f"back-{round_}-{step}"
            command("restore", file, "--to", to)
            tell(f"restored {to}")

    all_at_once([decide, back_up])


def _judges(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    """Twenty judges at once, who do not wait between votes."""
    port = served()

    def judge(number: int) -> None:
        browser = Browser(port, f"Judge{number}")
        for token in left[number::20]:
            with contextlib.suppress(Refused):  # it may be another judge's
                browser.vote(token, tell)
        for step in range(15):
            browser.vote(_vote_token(round_ * 15 + step, (step + number) % 3), tell)

    all_at_once([partial(judge, number) for number in range(20)])


def _beside(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    """Two servers on one folder, a chair and a judge at each, and commands beside them. Whoever
    comes second on a row is told."""
    ports = [served(), served()]

    def chair(place: int) -> None:
        browser = Browser(ports[place], (CHAIR, "Moshe")[place])
        for item in browser.waiting()[:12]:
            with contextlib.suppress(Refused):  # the other chair was first
                browser.decide(item, "approve", tell)

    def judge(place: int) -> None:
        browser = Browser(ports[place], ("Cid", "Dan")[place])
        for step in range(20):
            browser.vote(_vote_token(round_ * 20 + step, step % 3), tell)

    def commands() -> None:
        _merge_files(home, round_, tell, left)
        _one_ruling(round_, f"ruling {round_}", tell)

    all_at_once([*(partial(who, place) for who in (chair, judge) for place in (0, 1)), commands])


# ── the acts ──────────────────────────────────────────────────────────────────────────────────────

ACTS = {
    "vote": Act(_make_graded, _vote, wrong_project),
    "undo-vote": Act(_make_graded, _vote_and_undo, wrong_project),
    "ruling": Act(_make_graded, _rule, wrong_project),
    "approve": Act(_make_rows, _approve, wrong_project),
    "reject": Act(_make_rows, _reject, wrong_project),
    "undo": Act(_make_rows, _decide_and_undo, wrong_project),
    "bulk": Act(_make_rows, _bulk, wrong_project),
    "merge": Act(_make_graded, _merge_files, wrong_project),
    "begin": Act(_make_graded, _begin, wrong_begun),
    "bootstrap": Act(_make_rows, _bootstrap, wrong_project),
    "hand-edit": Act(_make_rows, _edit_by_hand, wrong_project),
    "rebuild": Act(_make_rows, _rebuild, wrong_project),
    "backup": Act(_make_rows, _backup, wrong_restored),
    "judges": Act(_make_graded, _judges, wrong_project),
    "beside": Act(_make_rows, _beside, wrong_project),
}


def main() -> int:
    every = ACTS | kills_of_files.ACTS
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--act", action="append", choices=list(every))
    parser.add_argument("--keep", type=Path, help="a folder that stays, to look into")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the groups end too
    dice = random.Random(args.seed)
    chosen = args.act or list(ACTS)
    share, more = divmod(args.kills, len(chosen))
    began, totals, wrong = time.monotonic(), [0, 0, 0], 0
    with tempfile.TemporaryDirectory() as scratch:
        for place, name in enumerate(chosen):
            home = (args.keep or Path(scratch)) / name / "project"
            done = killed_often(every[name], share + (place < more), home, dice)
            totals = [a + b for a, b in zip(totals, done[:3], strict=True)]
            wrong += len(done.wrong)
            sys.stdout.write(
                f"{name:10} {done.kills:4} kills at work, {done.after:3} after it, "
                f"{done.acknowledged:6} acknowledged, {len(done.wrong)} wrong\n"
            )
            sys.stdout.writelines(f"    {said}\n" for said in done.wrong[:10])
            sys.stdout.flush()
    sys.stdout.write(
        f"{totals[0]} kills at work, {totals[1]} after it, {totals[2]} acknowledged, "
        f"{wrong} wrong, {time.monotonic() - began:.0f} s\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

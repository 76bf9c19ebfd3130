"""Started by test_disks.py on a small disk of its own: works until it is full or read-only, then
goes on. Prints what happened as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay.core.errors import AssayError
from assay.core.types import Vote
from assay.formats import gold_jsonl
from assay.formats.results_json import read_results
from assay.judging.votes import RULING, read_votes, votes_path
from assay.review import rulings
from assay.review.bootstrap import Options, bootstrap
from assay.store import open_store
from assay.store.records import Decision, SearchLog, Shown
from assay.workbench import adjudicating, voting
from assay.workbench.baseline import update_baseline
from assay.workbench.corpora import import_corpus, index_corpus, open_indexed
from assay.workbench.doctor import examine
from assay.workbench.opening import open_service
from assay.workbench.score import ScoreRequest, score

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
DISK = Path(sys.argv[1])
STORE, GOLD, SET = DISK / "assay.db", DISK / "gold-set.jsonl", DISK / "set.json"


def prepare() -> None:
    store = open_store(STORE)
    store.add_searches([searched(n) for n in range(40)])
    decisions = [
        Decision(id=f"D{n}", at=NOW + timedelta(days=1), cites=(f"c{n}",)) for n in range(40)
    ]
    store.add_decisions(decisions)
    bootstrap(store, GOLD, Options(), now=NOW)
    store.close()
    queries = [{"id": f"q{n}", "text": f"question {n}"} for n in range(20)]
    SET.write_text(json.dumps({"rubric": "fppc-relevance-2", "queries": queries}))
    both = [vote(judge, grade) for judge, grade in (("ada", 0), ("bea", 2))]
    voting.give(SET, both)
    (DISK / "run.trec").write_text("q0 Q0 d1 1 1.0 run\n")
    rows = [{"id": f"d{n}", "text": f"gift {n} " * 50} for n in range(30)]
    (DISK / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_corpus("jsonl", DISK / "corpus.jsonl", name="c", home=DISK)
    index_corpus("c", home=DISK, dense=False)


def searched(n: int) -> SearchLog:
    return SearchLog(id=f"s{n}", at=NOW, query=f"q {n}", corpus="c", results=(Shown(f"c{n}", 1),))


def vote(judge: str, grade: int, doc: str = "d1") -> Vote:
    return Vote(
        id=f"{judge}-{doc}-{grade}",
        query_id="q0",
        doc_id=doc,
        grade=grade,
        judge=judge,
        kind="human",
        at=NOW.isoformat(),
        rationale="It decides the point. " * 200,
    )


class Work:
    """Every act, and whether what it acknowledged is there."""

    def __init__(self) -> None:
        self.round = 0
        self.done: dict[str, set[str]] = {}

    def acts(self) -> dict[str, Callable[[], str]]:
        return {
            "vote": self._vote,
            "rule": self._rule,
            "log": self._log,
            "promote": self._promote,
            "bootstrap": self._bootstrap,
            "baseline": self._baseline,
            "import": self._import,
            "index": self._index,
        }

    def all_once(self) -> dict[str, str]:
        self.round += 1
        told = {}
        for name, act in self.acts().items():
            try:
                self.done.setdefault(name, set()).add(act())
                told[name] = "done"
            except AssayError as error:
                told[name] = f"refused: {error}"
        return told

    def _vote(self) -> str:
        given = vote("cid", 1, f"d{self.round}")
        voting.give(SET, [given])
        return given.id

    def _rule(self) -> str:
        adjudicating.rule(SET, "q0", "d1", 1, rationale=f"{self.round} " * 500, by="chair")
        return str(self.round)

    def _log(self) -> str:
        store = open_store(STORE)
        with contextlib.closing(store):
            logs = [searched(1000 * self.round + n) for n in range(100)]
            store.add_searches(logs)
            return logs[-1].id

    def _promote(self) -> str:
        store = open_store(STORE)
        with contextlib.closing(store):
            rows = gold_jsonl.rows(gold_jsonl.read_lines(GOLD))
            waiting = [row.id for row in rows if row.source != "chair"]
            word = rulings.Word(by="chair", why="right " * 2000, at=NOW)
            rulings.promote(store, GOLD, waiting[:1], word)
            return waiting[0]

    def _bootstrap(self) -> str:
        store = open_store(STORE)
        with contextlib.closing(store):
            store.add_decisions(
                [Decision(id=f"E{self.round}", at=NOW + timedelta(days=2), cites=("c1", "c2"))]
            )
            bootstrap(store, GOLD, Options(), now=NOW)
        return str(self.round)

    def _baseline(self) -> str:
        results = score(ScoreRequest(dataset=SET, run=DISK / "run.trec")).results
        update_baseline(results, DISK / "baseline.json", by="chair", why=str(self.round))
        return str(self.round)

    def _import(self) -> str:
        rows = [{"id": f"d{n}", "text": f"gift {n} {self.round} " * 50} for n in range(30)]
        source = DISK.parent / f"corpus{self.round}.jsonl"  # on the disk that has room
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return import_corpus("jsonl", source, name="c", home=DISK).fingerprint

    def _index(self) -> str:
        index_corpus("c", home=DISK, dense=False, fresh=True)
        return str(self.round)

    def lost(self) -> list[str]:
        votes = read_votes(votes_path(SET))
        ruled = {v.rationale.split()[0] for v in votes if v.source == RULING}
        store = open_store(STORE)
        logged = {log.id for log in store.searches(sorted(self.done["log"]))}
        approved = {i.ref for i in store.review_items(state="approved", kind="gold_row")}
        store.close()
        rows = gold_jsonl.rows(gold_jsonl.read_lines(GOLD))
        chair = {row.id for row in rows if row.source == "chair"}
        there = {"vote": {v.id for v in votes}, "rule": ruled, "log": logged}
        there["promote"] = approved & chair if approved == chair else set()
        lost = [f"{name}: {self.done[name] - there[name]}" for name in there
                if self.done[name] - there[name]]  # fmt: skip
        recorded = read_results(DISK / "baseline.json").recorded
        if recorded is None or recorded.why != max(self.done["baseline"]):
            lost.append(f"baseline: {recorded}")
        hits = open_indexed("c", home=DISK).search("gift 7", 3)
        return lost + ([] if hits[0].doc_id == "d7" else [f"search: {hits}"])


def fill(room: int) -> None:
    """Until nothing goes on it but so many bytes."""
    filler = DISK / "filler"
    with filler.open("wb", buffering=0) as stream:
        for size in (65536, 4096):
            with contextlib.suppress(OSError):
                while True:
                    stream.write(b"x" * size)
    os.truncate(filler, max(filler.stat().st_size - room, 0))


def set_to(state: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{state}", str(DISK)], check=True)


def tried(work: Work, state: str) -> list[dict[str, str]]:
    """Everything once on a disk with no room, and with a little; or on one that cannot be
    written. Afterwards a start with a disk that is well."""
    told = []
    for room in (0, 8192, 65536, 262144) if state == "full" else (0,):
        if state == "full":
            fill(room)
        else:
            set_to("ro")
        told.append(work.all_once())
        if state == "full":
            (DISK / "filler").unlink()
        else:
            set_to("rw")
        with open_service(str(STORE), gold=[GOLD]):
            pass
    return told


def main() -> None:
    os.chdir(DISK)
    prepare()
    work = Work()
    before = work.all_once()
    during = tried(work, sys.argv[2])
    after = work.all_once()
    well = examine(str(STORE), home=DISK).status
    told = {"before": before, "during": during, "after": after, "lost": work.lost(), "doctor": well}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()

"""Processes killed at any moment (SIGKILL), and what is left of their work.

    python benchmarks/kills.py [--kills 200] [--seed 1] [--act judging] [--keep FOLDER]

Each act (import, index, run, bootstrap, judging, adjudication, review, undo, editing, baseline,
migration, logging, and merges, rulings and backups beside a process that takes decisions) is done
in a process of its own that says on a pipe what it has acknowledged. It is timed once, then killed
at a random moment, again and again, on the same files. After every kill another process opens
everything as the next start would: what was acknowledged must be there, what is there must be
whole, and `assay doctor` must be well. Exits with 1 where something is not.

A kill ends a process, not the machine: what the system had taken into its memory is written. That
files and folders are synced before anything is acknowledged is held by tests, not by this."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
os.environ.pop("ASSAY_HOME", None)  # every act has a workspace of its own

from assay.core.types import Vote
from assay.corpus.build import import_corpus
from assay.corpus.disk import open_corpus
from assay.engines.indexed import index_corpus, open_indexed
from assay.formats import gold_jsonl
from assay.formats.results_json import read_results
from assay.judging.votes import RULING, current, read_votes, votes_path
from assay.review import rulings
from assay.review.bootstrap import Options, bootstrap
from assay.store import migrate, open_store
from assay.store.database import connect
from assay.store.records import Decision, SearchLog, Shown
from assay.workbench import adjudicating, review_word, voting
from assay.workbench.backup import make_backup, restore_backup
from assay.workbench.baseline import update_baseline
from assay.workbench.config import read_config
from assay.workbench.corpora import check_corpus
from assay.workbench.doctor import examine
from assay.workbench.editing import NewQuery, add_query
from assay.workbench.opening import open_service
from assay.workbench.run import run_all
from assay.workbench.score import ScoreRequest, score

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
Ack = Callable[[str], None]
STEPS = 60  # of an act that is many small ones
MERGED = 30  # votes of a file that is merged


class Act(NamedTuple):
    """`prepare` once; `do` in the process that is killed, with the number of the round; `wrong`
    says what is not as it must be, given all that was ever acknowledged."""

    prepare: Callable[[Path], None]
    do: Callable[[Path, int, Ack], None]
    wrong: Callable[[Path, list[str]], list[str]]


# ── corpora ───────────────────────────────────────────────────────────────────────────────────────


def _write_corpus(path: Path, word: str) -> None:
    rows = [
        {"id": f"d{n}", "title": f"Opinion {n}", "text": f"{word} number {n} " + "of a gift " * 200}
        for n in range(300)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _two_sources(home: Path) -> None:
    for word in ("alpha", "beta"):
        _write_corpus(home / f"{word}.jsonl", word)
    import_corpus("jsonl", home / "alpha.jsonl", name="killed", home=home)


def _import(home: Path, round_: int, ack: Ack) -> None:
    for step in range(2):
        word = ("alpha", "beta")[(round_ + step) % 2]
        import_corpus("jsonl", home / f"{word}.jsonl", name="killed", home=home)
        ack(word)


def _wrong_corpus(home: Path, acked: list[str]) -> list[str]:
    corpus = open_corpus(home, "killed")
    texts = {document.text.split()[0] for document in corpus.iter()}
    said = [] if texts in ({"alpha"}, {"beta"}) and len(corpus) == 300 else [f"a mixture: {texts}"]
    return said + [
        f"check: {finding.message}"
        for finding in check_corpus("killed", home)
        if finding.level == "error"
    ]


def _index(home: Path, round_: int, ack: Ack) -> None:
    index_corpus("killed", home=home, dense=False, fresh=True)
    ack(str(round_))


def _wrong_index(home: Path, acked: list[str]) -> list[str]:
    engine = open_indexed("killed", home=home)
    found = [hit.doc_id for hit in engine.search("alpha number 7", 3)]
    return [] if found[:1] == ["d7"] else [f"another answer: {found}"]


# ── runs and baselines ────────────────────────────────────────────────────────────────────────────


def _scored_set(home: Path) -> None:
    queries = [
        {"id": f"q{n}", "text": f"question {n}",
         "relevance_judgments": [{"opinion_id": f"d{d}", "score": d % 3} for d in range(20)]}
        for n in range(30)
    ]  # fmt: skip
    (home / "set.json").write_text(json.dumps({"queries": queries}))
    lines = [
        f"q{n} Q0 d{(d * 7 + n) % 20} {d + 1} {20 - d} run" for n in range(30) for d in range(20)
    ]
    (home / "run.trec").write_text("\n".join(lines) + "\n")
    (home / "assay.toml").write_text(
        '[gold.set]\npath = "set.json"\n[engines.saved]\nrun = "run.trec"\n'
    )


def _run(home: Path, round_: int, ack: Ack) -> None:
    os.chdir(home)
    run_all(read_config(Path("assay.toml")), Path())
    ack(str(round_))


def _wrong_results(home: Path, acked: list[str]) -> list[str]:
    found = [
        path for path in home.rglob("*.json") if path.name != "set.json" and path.parent != home
    ]
    whole = [path for path in found if path.suffix == ".json" and not path.name.startswith(".")]
    for path in whole:
        json.loads(path.read_bytes())
    return ["no results file"] if acked and not whole else []


def _baseline(home: Path, round_: int, ack: Ack) -> None:
    results = score(ScoreRequest(dataset=home / "set.json", run=home / "run.trec")).results
    for step in range(STEPS):
        why = f"{round_ * STEPS + step}"
        update_baseline(results, home / "baseline.json", by="chair", why=why)
        ack(why)


def _wrong_baseline(home: Path, acked: list[str]) -> list[str]:
    if not acked:
        return []
    recorded = read_results(home / "baseline.json").recorded
    there = int(recorded.why) if recorded else -1
    return [] if there >= int(acked[-1]) else [f"the baseline of {acked[-1]} is lost: {there}"]


# ── votes ─────────────────────────────────────────────────────────────────────────────────────────


def _judged_set(home: Path) -> None:
    queries = [{"id": f"q{n}", "text": f"question {n}"} for n in range(40)]
    (home / "set.json").write_text(
        json.dumps({"rubric": "fppc-relevance-2", "queries": queries}, indent=1)
    )


def _judge(home: Path, round_: int, ack: Ack) -> None:
    for step in range(STEPS):
        name = f"v{round_}-{step}"
        vote = Vote(
            id=name, query_id=f"q{step % 40}", doc_id=f"d{round_}", grade=step % 3, judge="ada",
            kind="human", at=(NOW + timedelta(seconds=round_ * STEPS + step)).isoformat(),
            rationale="It decides the point.",
        )  # fmt: skip
        voting.give(home / "set.json", [vote])
        ack(name)


def _wrong_votes(home: Path, acked: list[str]) -> list[str]:
    there = {vote.id for vote in read_votes(votes_path(home / "set.json"))}
    if there:
        voting.label_again(home / "set.json")
    return [f"the vote {name} is lost" for name in acked if name not in there]


def _two_judges(home: Path) -> None:
    _judged_set(home)
    voting.give(
        home / "set.json",
        [
            Vote(id=f"{judge}{q}-{d}", query_id=f"q{q}", doc_id=f"d{d}", grade=grade, judge=judge,
                 kind="human", at=NOW.isoformat(), rationale="So.")
            for judge, grade in (("ada", 0), ("bea", 2)) for q in range(40) for d in range(12)
        ],
    )  # fmt: skip


def _adjudicate(home: Path, round_: int, ack: Ack) -> None:
    for step in range(STEPS // 4):
        query, doc, grade = f"q{(round_ * 7 + step) % 40}", f"d{round_ % 12}", (round_ + step) % 3
        adjudicating.rule(
            home / "set.json", query, doc, grade, rationale=f"round {round_}", by="chair"
        )
        ack(f"{query} {doc} {grade}")


def _wrong_rulings(home: Path, acked: list[str]) -> list[str]:
    voting.label_again(home / "set.json")
    last = {tuple(said.split()[:2]): int(said.split()[2]) for said in acked}
    ruled: dict[tuple[str, ...], set[int | None]] = {}
    for vote in read_votes(votes_path(home / "set.json")):
        if vote.source == RULING:
            ruled.setdefault((vote.query_id, vote.doc_id), set()).add(vote.grade)
    return [
        f"the ruling on {pair} is lost" for pair, g in last.items() if g not in ruled.get(pair, ())
    ]


# ── the store ─────────────────────────────────────────────────────────────────────────────────────


def _searched(number: int, moment: datetime = NOW) -> SearchLog:
    shown = (Shown(f"c{number}", 1), Shown("other", 2))
    return SearchLog(
        id=f"s{number}", at=moment, query=f"question {number}", corpus="c", results=shown
    )


def _log(home: Path, round_: int, ack: Ack) -> None:
    store = open_store(home / "assay.db")
    for step in range(STEPS):
        number = round_ * STEPS + step
        store.add_searches([_searched(number)])
        ack(f"s{number}")


def _wrong_log(home: Path, acked: list[str]) -> list[str]:
    store = open_store(home / "assay.db")
    there = {
        search.id
        for start in range(0, len(acked), 500)
        for search in store.searches(acked[start : start + 500])
    }
    store.close()
    return [f"the search {name} is lost" for name in acked if name not in there]


def _decided(store_path: Path, numbers: range) -> None:
    store = open_store(store_path)
    store.add_searches([_searched(number) for number in numbers])
    store.add_decisions(
        [Decision(id=f"D{n}", at=NOW + timedelta(days=1), cites=(f"c{n}",)) for n in numbers]
    )
    store.close()


def _bootstrap(home: Path, round_: int, ack: Ack) -> None:
    for step in range(5):
        numbers = range((round_ * 5 + step) * 10, (round_ * 5 + step) * 10 + 10)
        _decided(home / "assay.db", numbers)
        store = open_store(home / "assay.db")
        bootstrap(store, home / "gold-set.jsonl", Options(), now=NOW)
        store.close()
        ack(f"{numbers[0]}")


def _wrong_gold(home: Path, acked: list[str]) -> list[str]:
    path = home / "gold-set.jsonl"
    if not path.exists():
        return ["the gold set is lost"] if acked else []
    rows = {row.query: row for row in gold_jsonl.rows(gold_jsonl.read_lines(path))}
    wanted = [f"question {int(start) + n}" for start in acked for n in range(10)]
    lost = [f"the row of {query!r} is lost" for query in wanted if query not in rows]
    store = open_store(home / "assay.db")
    ids = {row.query: row.id for row in rows.values()}
    bootstrap(store, path, Options(), now=NOW)
    again = bootstrap(store, path, Options(), now=NOW)
    store.close()
    after = {row.query: row.id for row in gold_jsonl.rows(gold_jsonl.read_lines(path))}
    moved = [f"{query!r} has another id" for query, id in ids.items() if after.get(query) != id]
    return lost + moved + (["a second bootstrap changes the file"] if again.changed else [])


def _review_set(home: Path) -> None:
    _decided(home / "assay.db", range(600))
    store = open_store(home / "assay.db")
    bootstrap(store, home / "gold-set.jsonl", Options(), now=NOW)
    store.close()


def _review(home: Path, round_: int, ack: Ack) -> None:
    path = home / "gold-set.jsonl"
    with open_service(str(home / "assay.db"), gold=[path]) as service:
        waiting = [
            r.id for r in gold_jsonl.rows(gold_jsonl.read_lines(path)) if r.source != "chair"
        ]
        for name in waiting[:20]:
            word = rulings.Word(by="chair", why="right", at=NOW)
            rulings.promote(service.store, path, [name], word)
            ack(name)


def _wrong_review(home: Path, acked: list[str]) -> list[str]:
    path = home / "gold-set.jsonl"
    with open_service(str(home / "assay.db"), gold=[path]) as service:
        chair = {r.id for r in gold_jsonl.rows(gold_jsonl.read_lines(path)) if r.source == "chair"}
        name = path.stem
        items = service.store.review_items(kind="gold_row", state="approved", limit=10**6)
        approved = {item.ref for item in items}
        audited = {
            e.subject.rpartition("/")[2]
            for e in service.store.audit(limit=10**6)
            if e.action == "review.approved"
        }
        voted = {vote.query_id for vote in read_votes(votes_path(path))}
    said = [f"the approval of {row} is lost" for row in acked if row not in chair & approved]
    if not chair == approved == audited or not chair <= voted:
        said.append(
            f"{name}: {len(chair)} in the file, {len(approved)} in the store, "
            f"{len(audited)} audited, {len(voted)} voted on"
        )
    return said


def _undo(home: Path, round_: int, ack: Ack) -> None:
    """Approve, take back, reject and take back, row by row."""
    path = home / "gold-set.jsonl"
    with open_service(str(home / "assay.db"), gold=[path]) as service:
        waiting = service.store.review_items(state="pending_review", limit=5)
        said = review_word.Said(reason="so")
        for item in waiting:
            for step in (review_word.approve, None, review_word.reject, None):
                if step is None:
                    review_word.take_back(service, [item.id], by="chair")
                else:
                    step(service, item.id, said, by="chair")
                ack(item.ref)
        # one that stays as it was decided
        review_word.approve(service, waiting[round_ % 5].id, said, by="chair")
        ack(waiting[round_ % 5].ref)


def _wrong_undone(home: Path, acked: list[str]) -> list[str]:
    path = home / "gold-set.jsonl"
    with open_service(str(home / "assay.db"), gold=[path]) as service:
        rows = {r.id: r.source for r in gold_jsonl.rows(gold_jsonl.read_lines(path))}
        items = service.store.review_items(kind="gold_row", limit=10**6)
        steps = Counter(
            entry.subject.rpartition("/")[2] for entry in service.store.audit(limit=10**6)
        )
    standing = {(vote.query_id, vote.grade) for vote in current(read_votes(votes_path(path)))}
    expected = {
        "pending_review": lambda ref: ("bootstrap", set()),
        "approved": lambda ref: ("chair", {(ref, 1)}),
        "rejected": lambda ref: (None, {(ref, 0)}),
    }
    said = [
        f"{item.ref} is {item.state}, {rows.get(item.ref)} in the file, with {votes}"
        for item in items
        if (rows.get(item.ref), votes := {vote for vote in standing if vote[0] == item.ref})
        != expected[item.state](item.ref)
    ]
    lost = [ref for ref, count in Counter(acked).items() if steps[ref] < count]
    return said + [f"a step on {ref} is lost" for ref in lost]


def _edit(home: Path, round_: int, ack: Ack) -> None:
    """Queries that are added on a page."""
    with open_service(str(home / "assay.db"), gold=[home / "set.json"]) as service:
        for step in range(STEPS // 2):
            text = f"question {step} of round {round_}"
            add_query(service, NewQuery(set="set", text=text), by="chair")
            ack(text)


def _wrong_edits(home: Path, acked: list[str]) -> list[str]:
    with open_service(str(home / "assay.db"), gold=[home / "set.json"]) as service:
        trail = service.store.audit(action="gold.query_added", limit=10**6)
    noted = {entry.after["text"] for entry in trail if entry.after}
    added = {query["text"] for query in json.loads((home / "set.json").read_text())["queries"]}
    said = [f"the query {text!r} is lost" for text in acked if text not in added]
    odd = noted ^ {text for text in added if "round" in text}
    return said + [f"{text!r} is in the file or in the trail alone" for text in odd]


def _old_store(home: Path) -> None:
    """As the first version left it, in the oldest schema."""
    store = open_store(home / "old.db")
    store.add_searches([_searched(number) for number in range(2000)])
    store.close()
    engine = connect(str(home / "old.db"))
    migrate.downgrade(engine, "0001")
    engine.dispose()
    open_store(home / "assay.db").close()


def _migrate(home: Path, round_: int, ack: Ack) -> None:
    for step in range(3):
        place = home / f"{round_}-{step}.db"
        shutil.copy(home / "old.db", place)
        ack(place.name)  # from here on its rows are in our hands
        open_store(place).close()


def _wrong_migrated(home: Path, acked: list[str]) -> list[str]:
    said = []
    for name in acked:
        if not (home / name).exists():
            continue  # looked at and found well before
        store = open_store(home / name)
        facts = store.health()
        if facts.rows["search_logs"] != 2000 or facts.schema != migrate.HEAD:
            said.append(f"{name}: {facts}")
        store.close()
        for left in home.glob(f"{name}*"):
            left.unlink()
    return said


# ── commands beside a server ──────────────────────────────────────────────────────────────────────


def _both_sets(home: Path) -> None:
    _two_judges(home)
    _review_set(home)


def _beside(home: Path, round_: int, ack: Ack) -> None:
    """Merges, rulings and backups while another process takes decisions and votes. That one is
    killed half-way, and a second has its place."""
    os.chdir(home)
    for half in range(2):
        server = os.fork()
        if server == 0:
            try:
                _take_work(home, f"{round_}-{half}", ack)
            finally:
                os._exit(0)
        _command_work(home, f"{round_}-{half}", ack)
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)


def _take_work(home: Path, name: str, ack: Ack) -> None:
    with open_service(str(home / "assay.db"), gold=[home / "gold-set.jsonl"]) as service:
        for step, item in enumerate(service.store.review_items(state="pending_review", limit=500)):
            review_word.approve(service, item.id, review_word.Said(reason="so"), by="chair")
            ack(f"row {item.ref}")
            vote = Vote(
                id=f"eve-{name}-{step}", query_id=f"q{step % 40}", doc_id=f"d{step % 12}", grade=1,
                judge="eve", kind="human", at=datetime.now(UTC).isoformat(), rationale="So.",
            )  # fmt: skip
            voting.give(home / "set.json", [vote])
            ack(f"vote {vote.id}")


def _command_work(home: Path, name: str, ack: Ack) -> None:
    sent = home / "sent.csv"
    rows = [f"q{n},d{n % 12},{n % 3},Because of {name}.\n" for n in range(MERGED)]
    sent.write_text("query_id,doc_id,grade,rationale\n" + "".join(rows))
    allow = voting.Allowed(unasked=True)
    voting.merge_files(home / "set.json", [sent], judge=f"m{name}", allow=allow)
    ack(f"merge m{name}")
    adjudicating.rule(home / "set.json", "q0", "d0", 1, rationale=f"by {name}", by="chair")
    ack(f"rule by {name}")
    sets = [home / "set.json", home / "gold-set.jsonl"]
    make_backup(home / f"{name}.zip", store=str(home / "assay.db"), gold=sets)
    ack(f"backup {name}.zip")


def _wrong_beside(home: Path, acked: list[str]) -> list[str]:
    said = _wrong_review(home, [line[4:] for line in acked if line.startswith("row ")])
    said += _wrong_set(home, acked)
    saved = [at for at, line in enumerate(acked) if line.startswith("backup ")]
    if not saved:
        return said
    own = acked[saved[-1]].removeprefix("backup ").removesuffix(".zip")
    before = acked[: acked.index(f"rule by {own}") + 1]  # what came later may be in it
    to = home / f"back-{own}"
    if not to.exists():
        restore_backup(home / f"{own}.zip", to, store=str(to / "assay.db"))
        os.chdir(to)
        rows = [line[4:] for line in before if line.startswith("row ")]
        said += [f"restored: {one}" for one in _wrong_review(to, rows) + _wrong_set(to, before)]
        os.chdir(home)
    return said


def _wrong_set(home: Path, acked: list[str]) -> list[str]:
    votes = read_votes(votes_path(home / "set.json"))
    by = Counter(vote.judge for vote in votes)
    there = {f"vote {vote.id}" for vote in votes}
    there |= {f"merge {judge}" for judge, count in by.items() if count == MERGED}
    there |= {f"rule {vote.rationale}" for vote in votes if vote.source == RULING}
    half = [judge for judge, count in by.items() if judge[0] == "m" and count != MERGED]
    lost = [line for line in acked if line.split()[0] in ("vote", "merge", "rule")]
    return [f"{line} is lost" for line in lost if line not in there] + [
        f"half of a merge of {judge}" for judge in half
    ]


ACTS = {
    "judging": Act(_judged_set, _judge, _wrong_votes),
    "review": Act(_review_set, _review, _wrong_review),
    "undo": Act(_review_set, _undo, _wrong_undone),
    "editing": Act(_judged_set, _edit, _wrong_edits),
    "bootstrap": Act(lambda home: None, _bootstrap, _wrong_gold),
    "adjudication": Act(_two_judges, _adjudicate, _wrong_rulings),
    "beside": Act(_both_sets, _beside, _wrong_beside),
    "baseline": Act(_scored_set, _baseline, _wrong_baseline),
    "migration": Act(_old_store, _migrate, _wrong_migrated),
    "logging": Act(lambda home: None, _log, _wrong_log),
    "import": Act(_two_sources, _import, _wrong_corpus),
    "index": Act(_two_sources, _index, _wrong_index),
    "run": Act(_scored_set, _run, _wrong_results),
}


# ── killing ───────────────────────────────────────────────────────────────────────────────────────


def apart(work: Callable[[Ack], None], seconds: float = 600.0) -> tuple[list[str], str]:
    """Do something in a process of its own that is killed after so many seconds with all that it
    started: what it acknowledged, and how it ended ("" is well)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(read)
        try:
            work(lambda said: os.write(write, f"{said}\n".encode()) and None)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(70)
    os.close(write)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.setpgid(child, child)
    content, limit, ended = b"", time.monotonic() + seconds, "killed"
    while (left := limit - time.monotonic()) > 0:
        if select.select([read], [], [], left)[0]:
            block = os.read(read, 65536)
            if not block:  # it has come to its end
                ended = ""
                break
            content += block
    if ended:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):  # what it has left behind
        os.killpg(child, signal.SIGKILL)
    while block := os.read(read, 65536):  # acknowledged before the kill
        content += block
    os.close(read)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        ended = "failed"
    return content.decode().splitlines(), ended


def looked_at(act: Act, home: Path, acked: list[str]) -> list[str]:
    """What the next start finds wrong, and what the doctor says."""

    def look(tell: Ack) -> None:
        os.chdir(home)
        for said in act.wrong(home, acked):
            tell(said)
        named = str(home / "assay.db") if (home / "assay.db").exists() else ""
        checkup = examine(named, home=home)
        if checkup.status != "ok":
            tell(f"doctor: {checkup.store} {checkup.index} {checkup.gold}")

    said, ended = apart(look)
    return said + (["it cannot be opened"] if ended else [])


class Killed(NamedTuple):
    kills: int  # that met the act at work
    after: int  # that came when it was done already
    acknowledged: int
    wrong: list[str]


def killed_often(name: str, kills: int, home: Path, dice: random.Random) -> Killed:
    act = ACTS[name]
    home.mkdir(parents=True)
    _, ended = apart(lambda ack: act.prepare(home))
    if ended:
        raise SystemExit(f"{name}: cannot be prepared")
    began = time.monotonic()
    acked, ended = apart(lambda ack: act.do(home, 0, ack))
    whole = time.monotonic() - began
    wrong = looked_at(act, home, acked) + ([f"the act itself {ended}"] if ended else [])
    met = 0
    for round_ in range(1, kills + 1):
        now, ended = apart(
            lambda ack, round_=round_: act.do(home, round_, ack),  # type: ignore[misc]
            whole * dice.uniform(0.0, 1.05),
        )
        met += ended == "killed"
        acked += now
        found = looked_at(act, home, acked)
        wrong += [f"after kill {round_}: {said}" for said in found]
        if ended == "failed":
            wrong.append(f"round {round_} failed by itself")
    return Killed(met, kills - met, len(acked), wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--act", action="append", choices=list(ACTS))
    parser.add_argument("--keep", type=Path, help="a folder that stays, to look into")
    args = parser.parse_args()
    dice = random.Random(args.seed)
    chosen = args.act or list(ACTS)
    share, more = divmod(args.kills, len(chosen))
    began, totals, wrong = time.monotonic(), [0, 0, 0], 0
    with tempfile.TemporaryDirectory() as scratch:
        for place, name in enumerate(chosen):
            home = (args.keep or Path(scratch)) / name
            done = killed_often(name, share + (place < more), home, dice)
            totals = [a + b for a, b in zip(totals, done[:3], strict=True)]
            wrong += len(done.wrong)
            sys.stdout.write(
                f"{name:13} {done.kills:4} kills at work, {done.after:3} after it, "
                f"{done.acknowledged:6} acknowledged, {len(done.wrong)} wrong\n"
            )
            for said in done.wrong[:10]:
                sys.stdout.write(f"    {said}\n")
            sys.stdout.flush()
    sys.stdout.write(
        f"{totals[0]} kills at work, {totals[1]} after it, {totals[2]} acknowledged, "
        f"{wrong} wrong, {time.monotonic() - began:.0f} s\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Acts on corpora, indexes, runs, baselines and the store, for kills.py."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from killing import Act, Tell

from assay.corpus.build import import_corpus
from assay.corpus.disk import open_corpus
from assay.engines.indexed import index_corpus, open_indexed
from assay.formats.results_json import read_results
from assay.store import migrate, open_store
from assay.store.database import connect
from assay.store.records import SearchLog, ShownResult
from assay.workbench.deciding.baseline import update_baseline
from assay.workbench.project.config import read_config
from assay.workbench.scoring.run import run_all
from assay.workbench.scoring.score import ScoreRequest, score
from assay.workbench.searching.corpora import check_corpus

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
STEPS = 60  # of an act that is many small ones


def _acked(told: Sequence[str]) -> list[str]:
    return [one[2:] for one in told if one.startswith("! ")]


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


def _import(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    for step in range(2):
        word = ("alpha", "beta")[(round_ + step) % 2]
        import_corpus("jsonl", home / f"{word}.jsonl", name="killed", home=home)
        tell(f"! {word}")


def _wrong_corpus(home: Path, told: Sequence[str]) -> list[str]:
    corpus = open_corpus(home, "killed")
    texts = {document.text.split()[0] for document in corpus.iter()}
    said = [] if texts in ({"alpha"}, {"beta"}) and len(corpus) == 300 else [f"a mixture: {texts}"]
    return said + [
        f"check: {finding.message}"
        for finding in check_corpus("killed", home)
        if finding.level == "error"
    ]


def _index(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    index_corpus("killed", home=home, dense=False, fresh=True)
    tell(f"! {round_}")


def _wrong_index(home: Path, told: Sequence[str]) -> list[str]:
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


def _run(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    run_all(read_config(Path("assay.toml")), Path())
    tell(f"! {round_}")


def _wrong_results(home: Path, told: Sequence[str]) -> list[str]:
    acked = _acked(told)
    found = [
        path for path in home.rglob("*.json") if path.name != "set.json" and path.parent != home
    ]
    whole = [path for path in found if path.suffix == ".json" and not path.name.startswith(".")]
    for path in whole:
        json.loads(path.read_bytes())
    return ["no results file"] if acked and not whole else []


def _baseline(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    results = score(ScoreRequest(dataset=home / "set.json", run=home / "run.trec")).results
    for step in range(STEPS):
        why = f"{round_ * STEPS + step}"
        update_baseline(results, home / "baseline.json", by="chair", why=why)
        tell(f"! {why}")


def _wrong_baseline(home: Path, told: Sequence[str]) -> list[str]:
    acked = _acked(told)
    if not acked:
        return []
    recorded = read_results(home / "baseline.json").recorded
    there = int(recorded.why) if recorded else -1
    return [] if there >= int(acked[-1]) else [f"the baseline of {acked[-1]} is lost: {there}"]


# ── the store ─────────────────────────────────────────────────────────────────────────────────────


def _searched(number: int, moment: datetime = NOW) -> SearchLog:
    shown = (ShownResult(f"c{number}", 1), ShownResult("other", 2))
    return SearchLog(
        id=f"s{number}", at=moment, query=f"question {number}", corpus="c", results=shown
    )


def _log(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    store = open_store(home / "assay.db")
    for step in range(STEPS):
        number = round_ * STEPS + step
        store.add_searches([_searched(number)])
        tell(f"! {f's{number}'}")


def _wrong_log(home: Path, told: Sequence[str]) -> list[str]:
    acked = _acked(told)
    store = open_store(home / "assay.db")
    there = {
        search.id
        for start in range(0, len(acked), 500)
        for search in store.searches(acked[start : start + 500])
    }
    store.close()
    return [f"the search {name} is lost" for name in acked if name not in there]


def _old_store(home: Path) -> None:
    """As the first version left it, in the oldest schema."""
    store = open_store(home / "old.db")
    store.add_searches([_searched(number) for number in range(2000)])
    store.close()
    engine = connect(str(home / "old.db"))
    migrate.downgrade(engine, "0001")
    engine.dispose()
    open_store(home / "assay.db").close()


def _migrate(home: Path, round_: int, tell: Tell, left: Sequence[str]) -> None:
    for step in range(3):
        place = home / f"{round_}-{step}.db"
        shutil.copy(home / "old.db", place)
        tell(f"! {place.name}")  # from here on its rows are in our hands
        open_store(place).close()


def _wrong_migrated(home: Path, told: Sequence[str]) -> list[str]:
    acked = _acked(told)
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


# ── the acts ──────────────────────────────────────────────────────────────────────────────────────

ACTS = {
    "import": Act(_two_sources, _import, _wrong_corpus),
    "index": Act(_two_sources, _index, _wrong_index),
    "run": Act(_scored_set, _run, _wrong_results),
    "baseline": Act(_scored_set, _baseline, _wrong_baseline),
    "logging": Act(lambda home: None, _log, _wrong_log),
    "migration": Act(_old_store, _migrate, _wrong_migrated),
}

"""A year of a legal search service, simulated: searches in Hebrew and English, decisions that cite
what was found, and the gold set that comes out. Measures the loading, the bootstrap and its
repetition, then kills the bootstrap at random moments and checks that the gold set is always the
old file or the new one.

    python benchmarks/simulate_logs.py
    python benchmarks/simulate_logs.py --store postgresql://…
    python benchmarks/simulate_logs.py --searches 2000 --queries 100 --decisions 50 --kills 3

By default 200,000 searches, 5,000 queries, 2,000 decisions and 50 kills.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assay.gold.rows import log_path
from assay.review import decision_acts as deciding
from assay.review.bootstrap import BootstrapOptions, bootstrap
from assay.store import Store, open_store
from assay.store.records import Decision, SearchLog, ShownResult
from assay.telemetry.records import infer_relevance_from_citations

START = datetime(2025, 6, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
TOPICS = 60
DOCS_PER_TOPIC = 50
HEBREW = (
    'היטל השבחה|מועד קובע|תב"ע|פטור|שומה מכרעת|דירת מגורים|ועדת ערר|מימוש זכויות|הקלה|שווי'
    "|חוכר לדורות|תכנית מתאר|פיצויים|ירידת ערך|שימוש חורג|זכויות בנייה|תשלום ביתר|ריבית"
).split("|")
ENGLISH = (
    "conflict of interest|materiality|gift limit|campaign funds|lobbyist|disclosure|recusal"
    "|real property|source of income|public generally|honoraria|revolving door|mass mailing"
).split("|")
SPELLINGS: tuple[Callable[[str], str], ...] = (
    str,
    str,
    str,
    str.upper,
    lambda text: text + "?",
    lambda text: text.replace('"', "״"),
    lambda text: f"  {text} ",
    lambda text: text.replace(" ", "  "),
)


def make_queries(count: int, dice: random.Random) -> list[tuple[str, int, str, str]]:
    """(text, topic, corpus, practice area); two of three in Hebrew."""
    made: dict[str, tuple[str, int, str, str]] = {}
    while len(made) < count:
        words = HEBREW if dice.random() < 0.66 else ENGLISH
        section = f" {dice.randint(1, 400)}" if dice.random() < 0.7 else ""
        text = " ".join(dice.sample(words, dice.randint(2, 4))) + section
        topic = dice.randrange(TOPICS)
        corpus = "precedent_library" if dice.random() < 0.7 else "internal_decisions"
        made[text] = (text, topic, corpus, f"area-{topic % 7}")
    return list(made.values())


def searches(
    count: int, queries: Sequence[tuple[str, int, str, str]], dice: random.Random
) -> Iterator[SearchLog]:
    """Few queries are asked often and many seldom, as in every log; most results belong to the
    topic."""
    weights = [1 / (rank + 10) for rank in range(len(queries))]
    chosen = dice.choices(queries, weights, k=count - len(queries)) + list(queries)
    dice.shuffle(chosen)
    for n, (text, topic, corpus, area) in enumerate(chosen):
        at = START + YEAR * (n / count)
        topics = [topic if dice.random() < 0.8 else dice.randrange(TOPICS) for _ in range(10)]
        docs = dict.fromkeys(
            f"{corpus[0]}-{t:02d}-{int(dice.random() ** 2 * DOCS_PER_TOPIC):02d}" for t in topics
        )
        results = tuple(ShownResult(doc, rank, 1 / rank) for rank, doc in enumerate(docs, start=1))
        yield SearchLog(
            id=f"{n:09d}",
            at=at,
            query=dice.choice(SPELLINGS)(text),
            corpus=corpus,
            practice_area=area,
            engine="simulated",
            results=results,
        )


def decisions(count: int, dice: random.Random) -> list[Decision]:
    made = []
    for n in range(count):
        topic, kind = dice.randrange(TOPICS), dice.choice("pi")
        cites = {
            f"{kind}-{topic:02d}-{dice.randrange(DOCS_PER_TOPIC):02d}"
            for _ in range(dice.randint(2, 8))
        }
        made.append(
            Decision(
                id=f"decision-{n:05d}", at=START + YEAR * dice.random(), cites=tuple(sorted(cites))
            )
        )
    return made


def load(store: Store, args: argparse.Namespace, dice: random.Random) -> dict[str, Any]:
    queries = make_queries(args.queries, dice)
    started, batch, shown = time.perf_counter(), [], 0
    for search in searches(args.searches, queries, dice):
        batch.append(search)
        shown += len(search.results)
        if len(batch) == 2000:
            store.add_searches(batch)
            batch = []
    store.add_searches(batch)
    logged = time.perf_counter()
    feedback = infer_relevance_from_citations(store, decisions(args.decisions, dice))
    return {
        "searches": args.searches,
        "queries": len(queries),
        "results_shown": shown,
        "decisions": args.decisions,
        "feedback_rows": feedback,
        "load_s": logged - started,
        "citations_s": time.perf_counter() - logged,
    }


def one_bootstrap(target: str, gold: Path, min_support: int) -> None:
    store = open_store(target)
    bootstrap(store, gold, BootstrapOptions(min_support=min_support))
    store.close()


def wait_for_writing(gold: Path, process: Any) -> None:
    """Until the new file is there beside the old one, or was so briefly that it was missed."""
    before, written = set(os.listdir(gold.parent)), gold.stat().st_mtime_ns
    while process.is_alive() and gold.stat().st_mtime_ns == written:
        new = set(os.listdir(gold.parent)) - before
        if any(name.startswith(f".{gold.name}.") and not name.endswith(".lock") for name in new):
            return
        time.sleep(0.0002)


def put_back(gold: Path, old: tuple[bytes, bytes]) -> None:
    gold.write_bytes(old[0])
    log_path(gold).write_bytes(old[1])


def kill_often(
    target: str, gold: Path, old: tuple[bytes, bytes], new: bytes, kills: int
) -> dict[str, int]:
    """Half of the kills at any moment, half as soon as the new file is being written beside the old
    one. The first run is timed, not killed. `old` are the file and its log as they are before
    each."""
    context, dice = multiprocessing.get_context("fork"), random.Random(7)
    outcome = {"kills": kills, "old_file": 0, "new_file": 0, "neither": 0}
    seconds = 0.0
    for n in range(kills + 1):
        put_back(gold, old)
        process = context.Process(target=one_bootstrap, args=(target, gold, 1))
        started = time.perf_counter()
        process.start()
        if n == 0:
            process.join()
            seconds = time.perf_counter() - started
            continue
        if n % 2:
            time.sleep(seconds * dice.uniform(0, 1.1))
        else:
            wait_for_writing(gold, process)
            time.sleep(dice.uniform(0, 0.02))
        process.kill()  # it may have ended just before
        process.join()
        data = gold.read_bytes()
        outcome["old_file" if data == old[0] else "new_file" if data == new else "neither"] += 1
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (
        ("searches", 200_000),
        ("queries", 5_000),
        ("decisions", 2_000),
        ("kills", 50),
        ("seed", 1),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--store", default="", help="a path or URL; by default a new SQLite file")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = simulate(
            args, args.store or str(Path(folder) / "assay.db"), Path(folder) / "gold-set.jsonl"
        )
    print(json.dumps(figures, indent=2))  # noqa: T201
    return 0 if not figures["killed"]["neither"] and figures["second_run_changes"] == 0 else 1


def simulate(args: argparse.Namespace, target: str, gold: Path) -> dict[str, Any]:
    store = open_store(target)
    figures = load(store, args, random.Random(args.seed))
    first = time.perf_counter()
    done = bootstrap(store, gold, BootstrapOptions(min_support=2))
    figures["bootstrap_s"] = time.perf_counter() - first
    chosen = [f"g{n:03d}" for n in range(1, 1 + done.added // 10)]
    deciding.approve(gold, chosen, deciding.ReviewDecision(by="chair"))
    old = gold.read_bytes(), log_path(gold).read_bytes()
    bootstrap(store, gold, BootstrapOptions(min_support=1))
    new = gold.read_bytes()
    again = time.perf_counter()
    repeated = bootstrap(store, gold, BootstrapOptions(min_support=1))
    seconds = time.perf_counter() - again
    figures |= {
        "second_bootstrap_s": seconds,
        "rows": repeated.approval.total,
        "approved_rows": repeated.approval.approved,
        "second_run_changes": int(repeated.changed),
        "store": store.health().backend,
    }
    if target.startswith("/"):
        figures["store_mib"] = round(Path(target).stat().st_size / 2**20)
    store.close()
    figures["killed"] = kill_often(target, gold, old, new, args.kills)
    put_back(gold, old)
    one_bootstrap(target, gold, 1)
    figures["after_the_kills_it_still_works"] = gold.read_bytes() == new
    return figures


if __name__ == "__main__":
    sys.exit(main())

"""How well the engine ranks, on every collection at hand, with and without written questions.

    ASSAY_HOME=… python benchmarks/ranking.py --data FOLDER [--only six,cranfield]

Corpora are looked for in the workspace by name: `fppc`, `six`, `israel`, `reports`, `cranfield`;
what is not there is left out. FOLDER holds judged sets that are not part of the project
(`fppc/dataset-dev.json`, `cranfield/dataset.json`, …). The made-up codes of eval/ are built on the
spot.
Graded sets print nDCG@10 and P(rel=2)@10, golden ones how many questions that the corpus answers
find an expected place first, in five and in k at any score, and at the score they state."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from codes import CODES, gains, indexed, read
from leaderboard import with_more
from msgspec import structs

from assay import evaluate, read_gold, run
from assay.core.results import GoldenResults
from assay.core.types import Document, GoldSet, Hit
from assay.core.workspace import workspace
from assay.corpus.disk import open_corpus
from assay.search import index_files
from assay.search.engine import Engine

EVAL = Path(__file__).parent.parent / "eval"
DEPTH = 20
MEASURES = ("nDCG@10", "P(rel=2)@10")
FACTS = "fact_pattern"


def engine_of(corpus: str, *, written: bool = True) -> Engine | None:
    """The engine on an indexed corpus; None where there is none."""
    try:
        index = index_files.load(workspace() / "indexes" / corpus)
    except index_files.IndexProblem:
        return None
    documents = open_corpus(None, corpus)
    return Engine(index if written else replace(index, written=None), corpus, documents.get)


def graded(engine: Engine, gold: GoldSet) -> str:
    found = {
        query.id: {
            hit.doc_id: float(DEPTH - rank)
            for rank, hit in enumerate(engine.search(query.text, DEPTH, texts=False))
        }
        for query in gold.queries
    }
    sheet = evaluate(found, gold, MEASURES)
    means = np.nanmean(sheet.values, axis=0)
    told = "  ".join(f"{name} {mean:.3f}" for name, mean in zip(MEASURES, means, strict=True))
    facts = [query.type == FACTS for query in gold.queries]
    if any(facts):
        told += f"  fact patterns {np.nanmean(sheet.values[facts, 0]):.3f}"
    return f"{told}  judged {np.nanmean(sheet.judged):.2f}"


def golden(engine: Engine, gold: GoldSet, get: Callable[[str], Document]) -> str:
    def found(query: str, top_k: int = DEPTH) -> list[Hit]:
        hits = engine.search(query, top_k)
        return [structs.replace(hit, metadata=get(hit.doc_id).metadata) for hit in hits]

    results = evaluate(run(found, gold), gold).results
    assert isinstance(results, GoldenResults)
    asked = [entry for entry in results.per_query if entry.expected_any]
    ranks = np.array([entry.expected_rank or DEPTH + 1 for entry in asked])
    within = np.mean([rank <= entry.k for rank, entry in zip(ranks, asked, strict=True)])
    passed = np.mean([entry.passed for entry in asked])
    first, five = (ranks == 1).mean(), (ranks <= 5).mean()
    return (
        f"first {first:.3f}  five {five:.3f}  in k {within:.3f}  pass {passed:.3f}  ({len(asked)})"
    )


def made_codes() -> Iterator[tuple[str, str]]:
    for file in CODES:
        values = gains(indexed(articles := read(file)), articles)
        yield file.stem, f"nDCG@10 {values.mean():.3f}  first {(values == 1).mean():.3f}"


def sets(data: Path) -> Iterator[tuple[str, str, Callable[[], GoldSet]]]:
    """Name, corpus and how its questions are read."""
    pooled = data / "fppc" / "judgments-dev-pooled.jsonl"
    yield (
        "opinions, development",
        "fppc",
        lambda: with_more(read_gold(data / "fppc" / "dataset-dev.json"), pooled),
    )
    yield "opinions, own", "fppc", lambda: read_gold(EVAL / "dataset.json")
    yield "cranfield", "cranfield", lambda: read_gold(data / "cranfield" / "dataset.json")
    for corpus, name in (("six", "finnish"), ("israel", "hebrew"), ("reports", "reports")):
        file = EVAL / f"questions_{name}_golden.json"
        yield name, corpus, lambda file=file: read_gold(file)
    yield "municipal", "reports", lambda: read_gold(EVAL / "questions_municipal_golden.json")
    yield "kuntalaki", "six", lambda: read_gold(EVAL / "questions_kuntalaki_golden.json")


def say(name: str, told: str) -> None:
    sys.stdout.write(f"{name:34} {told}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="", help="corpora, with commas; codes for the made ones")
    args = parser.parse_args(arguments)
    only = set(filter(None, args.only.split(",")))
    for name, corpus, gold_of in sets(args.data):
        if only and corpus not in only:
            continue
        for written in (True, False):
            engine = engine_of(corpus, written=written)
            if engine is None:
                say(name, "no index")
                break
            gold, get = gold_of(), open_corpus(None, corpus).get
            is_golden = gold.judgments is None or not len(gold.judgments)
            told = golden(engine, gold, get) if is_golden else graded(engine, gold)
            say(name if written else f"{name}, no written questions", told)
            if corpus not in ("six", "israel"):
                break
    if not only or "codes" in only:
        for name, told in made_codes():
            say(name, told)


if __name__ == "__main__":
    main()

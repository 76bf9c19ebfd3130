"""One measurement in its own process: `measure.py TASK PEER FOLDER` prints {seconds, processor,
peak_mb, check} as JSON.

`check` is the sum of all values of all measures, so that a peer that is fast and different does not
go unnoticed."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

QUERIES, DEPTH, VOCABULARY, JUDGED_HITS, JUDGED_MISSES = 5_000, 1_000, 200_000, 30, 20
ASSAY = ("RR", "nDCG@5", "nDCG@10", "P@5", "P@10", "R@10", "R@20")
TREC = {"recip_rank", "ndcg_cut.5,10", "P.5,10", "recall.10,20"}
RANX = ["mrr", "ndcg@5", "ndcg@10", "precision@5", "precision@10", "recall@10", "recall@20"]


def make(folder: Path) -> None:
    """A run without ties, sorted as engines write it, and qrels that hit and miss it."""
    import numpy as np

    rng = np.random.default_rng(20)
    with (folder / "run.trec").open("w") as run, (folder / "qrels.trec").open("w") as qrels:
        for query in range(QUERIES):
            documents = rng.choice(VOCABULARY, DEPTH + JUDGED_MISSES, replace=False)
            scores = np.sort(rng.choice(2**24, DEPTH, replace=False))[::-1] / 1024
            run.writelines(
                f"q{query} Q0 doc-{document:07d} {rank} {score} bench\n"
                for rank, (document, score) in enumerate(
                    zip(documents, scores, strict=False), start=1
                )
            )
            judged = [
                *rng.choice(documents[:DEPTH], JUDGED_HITS, replace=False),
                *documents[DEPTH:],
            ]
            grades = rng.integers(0, 3, len(judged))
            qrels.writelines(
                f"q{query} 0 doc-{d:07d} {g}\n" for d, g in zip(judged, grades, strict=True)
            )


def dicts(folder: Path) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.trec").open():
        query, _, document, grade = line.split()
        qrels.setdefault(query, {})[document] = int(grade)
    for line in (folder / "run.trec").open():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    return qrels, run


def memory_assay_dicts(folder: Path) -> Callable[[], Any]:
    from assay import evaluate

    qrels, run = dicts(folder)
    return lambda: evaluate(run, qrels, ASSAY).values.sum()


def memory_assay_columns(folder: Path) -> Callable[[], Any]:
    from assay import evaluate, read_gold, read_run

    gold, run = read_gold(folder / "qrels.trec"), read_run(folder / "run.trec")
    return lambda: evaluate(run, gold, ASSAY).values.sum()


def memory_pytrec_eval(folder: Path) -> Callable[[], Any]:
    import pytrec_eval

    qrels, run = dicts(folder)
    return lambda: sum(
        sum(values.values())
        for values in pytrec_eval.RelevanceEvaluator(qrels, TREC).evaluate(run).values()
    )


def memory_ir_measures(folder: Path) -> Callable[[], Any]:
    import ir_measures

    qrels, run = dicts(folder)
    measures = [ir_measures.parse_measure(name) for name in ASSAY]
    return lambda: sum(value.value for value in ir_measures.iter_calc(measures, qrels, run))


def memory_ranx(folder: Path) -> Callable[[], Any]:
    import warnings

    warnings.simplefilter("ignore")
    from ranx import Qrels, Run, evaluate

    qrels, run = (kind(values) for kind, values in zip((Qrels, Run), dicts(folder), strict=True))
    evaluate(qrels, run, RANX)  # compiles
    return lambda: sum(
        float(v.sum()) for v in evaluate(qrels, run, RANX, return_mean=False).values()
    )


# The files are those of the commands: 10 million lines.


def large(folder: Path) -> tuple[Path, Path]:
    return folder / "10000.run", folder / "10000.qrels"


def files_assay_paths(folder: Path) -> Callable[[], Any]:
    from assay import evaluate

    run, qrels = large(folder)
    return lambda: evaluate(run, qrels, ASSAY).values.sum()


def files_assay_run(folder: Path) -> Callable[[], Any]:
    from assay import evaluate, read_gold, read_run

    run, qrels = large(folder)
    return lambda: evaluate(read_run(run), read_gold(qrels), ASSAY).values.sum()


def files_ir_measures(folder: Path) -> Callable[[], Any]:
    import ir_measures

    run, qrels = map(str, large(folder))
    measures = [ir_measures.parse_measure(name) for name in ASSAY]
    return lambda: sum(
        value.value
        for value in ir_measures.iter_calc(
            measures, ir_measures.read_trec_qrels(qrels), ir_measures.read_trec_run(run)
        )
    )


def files_pytrec_eval(folder: Path) -> Callable[[], Any]:
    import pytrec_eval

    run, qrels = large(folder)

    def score() -> float:
        with qrels.open() as judged, run.open() as ranked:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), TREC)
            found = evaluator.evaluate(pytrec_eval.parse_run(ranked))
        return sum(sum(values.values()) for values in found.values())

    return score


# ── search: one stemmed full-text field, and the whole pipeline, on real opinions ─────────────────


def opinions(folder: Path) -> tuple[list[str], list[str]]:
    """(texts, queries) of the real opinions that $ASSAY_DATA points to."""
    import os
    import tarfile

    data = Path(os.environ["ASSAY_DATA"]) / "fppc"
    unpacked = folder / "extracted"
    if not unpacked.exists():
        with tarfile.open(data / "opinions.tar.xz") as archive:
            archive.extractall(folder, filter="data")
    texts = [
        json.loads(path.read_bytes())["content"]["full_text"] or ""
        for path in sorted(unpacked.rglob("*.json"))
    ]
    queries = json.loads((data / "dataset-dev.json").read_bytes())["queries"]
    return texts, [query["text"] for query in queries]


def search_assay(folder: Path) -> Callable[[], Any]:
    from assay.language.analysis import analyzer
    from assay.search.lexical import bm25, count_terms

    texts, queries = opinions(folder)
    terms = analyzer("en").terms
    field = bm25(count_terms(texts, terms), k1=2.5, b=0.9)
    return lambda: _latencies(lambda text: field.scores(field.query(terms(text))).argmax(), queries)


def search_bm25s(folder: Path) -> Callable[[], Any]:
    import bm25s
    import Stemmer

    texts, queries = opinions(folder)
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25(k1=2.5, b=0.9)
    index.index(
        bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False),
        show_progress=False,
    )

    def ask(text: str) -> Any:
        tokens = bm25s.tokenize([text], stopwords="en", stemmer=stemmer, show_progress=False)
        return index.retrieve(tokens, k=10, show_progress=False)

    return lambda: _latencies(ask, queries)


def _latencies(ask: Callable[[str], Any], queries: list[str]) -> float:
    """Milliseconds a query, the median of five rounds; the first round warms up."""
    times = []
    for turn in range(6):
        for text in queries:
            start = perf_counter()
            ask(text)
            if turn:
                times.append(perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1000


def main() -> None:
    task, peer, folder = sys.argv[1], sys.argv[2].replace("-", "_"), Path(sys.argv[3])
    if task == "make":
        make(folder)
        return
    call = globals()[f"{task}_{peer}"](folder)
    start, used = perf_counter(), process_time()
    check = float(call())
    seconds, processor = perf_counter() - start, process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        json.dumps({"seconds": seconds, "processor": processor, "peak_mb": peak, "check": check})
        + "\n"
    )


if __name__ == "__main__":
    main()

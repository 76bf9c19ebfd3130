"""Fit the weights of English texts and write them to src/assay/search/data/ranker.json.

    python texts_ranker.py --codes eval/made_code_*.jsonl --graded CORPUS=DATASET.json …

Features are BM25 over stems, character 4-grams and the encoder's cosine; BM25 counts as one. A
softmax regression over candidates, every collection with the same weight in it. nDCG@10 is printed
for each collection under weights that were fitted on the others. Statements of made-up codes avoid
the words of their articles, which flatters the encoder; so words count at least `WORDS` of it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ranker import Asked, fit

from assay.core.types import Document
from assay.core.workspace import workspace
from assay.search import index, index_files, ranker
from assay.search.arrays import best_rows
from assay.search.signals import spread, stem_signals

NAMES = ("full", "characters", "dense")
WORDS = 0.1
CANDIDATES = {"fused": 50, "dense": 50, "full": 50}
Question = tuple[str, dict[str, int]]  # with the grades of documents


@dataclass(frozen=True)
class Graded(Asked):
    """A question with the grades of its candidates, and the best ten grades there are."""

    grades: np.ndarray
    ideal: np.ndarray


def asked_of(name: str, here: index.Index, questions: Iterable[Question]) -> list[Graded]:
    found = []
    for text, grades in questions:
        signals = stem_signals(here, text, here.analyzer.terms(text), None)
        signals["dense"] = spread(signals["dense"], "middle")
        rows = np.unique(np.concatenate([best_rows(signals[n], m) for n, m in CANDIDATES.items()]))
        features = np.stack([signals[n][rows] for n in NAMES], 1).astype(float)
        features[:, 2] += WORDS * (features[:, 0] + features[:, 1])
        grade = np.array([grades.get(here.ids[row], 0) for row in rows])
        ideal = sorted(grades.values(), reverse=True)[:10]
        found.append(
            Graded(
                way=name,
                act=name,
                author="",
                features=features,
                rules=np.zeros(len(rows)),
                right=grade > 0,
                grades=grade,
                ideal=np.array(ideal),
            )
        )
    return found


def ndcg(asked: Sequence[Graded], weights: np.ndarray) -> float:
    values = []
    for one in asked:
        best = one.grades[np.argsort(-(one.features @ weights), kind="stable")[:10]]
        gains = [(part / np.log2(np.arange(len(part)) + 2)).sum() for part in (best, one.ideal)]
        values += [gains[0] / gains[1]] if gains[1] else []
    return float(np.mean(values))


def balanced(collections: Sequence[list[Graded]]) -> list[Graded]:
    """As many questions of each collection, repeated where it has few."""
    most = max(map(len, collections))
    return [one for each in collections for one in (each * -(-most // len(each)))[:most]]


def fitted(collections: Sequence[list[Graded]]) -> np.ndarray:
    weights = fit(balanced(collections), names=NAMES)
    weights[:2] += WORDS * weights[2]
    return np.asarray(weights / weights[0])


def own(weights: np.ndarray) -> np.ndarray:
    """Weights of the features as `asked_of` stores them."""
    return np.array([*(weights[:2] - WORDS * weights[2]), weights[2]])


def code(file: Path) -> list[Graded]:
    articles = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    documents = [
        Document(id=one["id"], title=one["title"], text=one["text"], language="en")
        for one in articles
    ]
    here = index.build((document, document.id) for document in documents)
    pairs = [(text, {one["id"]: 1}) for one in articles for text in one["statements"]]
    return asked_of(file.stem, here, pairs)


def graded(corpus: str, file: Path) -> list[Graded]:
    here = index_files.load(workspace() / "indexes" / corpus)
    queries = json.loads(file.read_text(encoding="utf-8"))["queries"]
    pairs = [
        (query["text"], {j["opinion_id"]: max(0, j["score"]) for j in query["relevance_judgments"]})
        for query in queries
    ]
    return asked_of(corpus, here, pairs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--codes", type=Path, nargs="*", default=[])
    parser.add_argument("--graded", nargs="*", default=[], metavar="CORPUS=FILE")
    args = parser.parse_args()
    collections = [code(file) for file in args.codes]
    collections += [
        graded(name, Path(file)) for name, _, file in (g.partition("=") for g in args.graded)
    ]
    for each in collections:
        weights = fitted([other for other in collections if other is not each])
        said = ", ".join(f"{n} {w:.2f}" for n, w in zip(NAMES, weights, strict=True))
        sys.stdout.write(
            f"{each[0].way} left out: nDCG@10 {ndcg(each, own(weights)):.3f} ({said})\n"
        )
    weights = fitted(collections)
    file = Path(ranker.__file__).parent / "data" / "ranker.json"
    known = json.loads(file.read_text(encoding="utf-8"))
    known["texts"] |= {n: round(float(w), 2) for n, w in zip(NAMES[1:], weights[1:], strict=True)}
    file.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

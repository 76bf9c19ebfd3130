"""Fit the weights of longer texts and write them to src/assay/search/data/ranker.json.

    python texts_ranker.py --codes eval/made_code_*.jsonl --graded CORPUS=DATASET.json …
    python texts_ranker.py --opinions CORPUS --data DATA

Features are BM25 over stems, character 4-grams and the encoder's cosine; BM25 counts as one. A
softmax regression over candidates, every collection with the same weight in it. nDCG@10 is printed
for each collection under weights that were fitted on the others. Statements of made-up codes avoid
the words of their articles, which flatters the encoder; so words count at least `WORDS` of it.

Opinions have two sets of graded questions, the development half of one and our own. Their weights
climb from words alone, one feature after the other in steps of .1, to the best mean of nDCG@10 over
both sets (coordinate ascent: Metzler and Croft 2007, "Linear feature-based models for information
retrieval"). A weight is judged together with both its neighbours, since nDCG is made of steps. It
is printed for either set under weights that were fitted on the other one."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ranker import Asked, fit

from assay import read_gold
from assay.core.types import Document, GoldSet
from assay.core.workspace import workspace
from assay.search import index, index_files, profile
from assay.search.arrays import best_rows
from assay.search.signals import spread, stem_signals

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from leaderboard import with_more

NAMES = ("full", "characters", "dense")
WORDS = 0.1
CANDIDATES = {"fused": 50, "dense": 50, "full": 50}
OF_OPINIONS = ("full", "short", "dense", "feedback", "citation")
DEPTH = 100  # candidates by each of them
GRID = np.arange(0.0, 2.55, 0.1)
DISCOUNT = 1 / np.log2(np.arange(10) + 2)
ROOT = Path(__file__).parent.parent
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


# ── opinions ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class OpinionSet:
    """Questions on opinions: the features of candidates, and what each adds to nDCG."""

    name: str
    features: list[np.ndarray]
    gains: list[np.ndarray]
    grades: list[np.ndarray]
    is_fact: np.ndarray

    def ndcg(self, weights: np.ndarray) -> np.ndarray:
        pairs = zip(self.features, self.gains, strict=True)
        return np.array(
            [(gain[_first_ten(each @ weights)] * DISCOUNT).sum() for each, gain in pairs]
        )

    def twos(self, weights: np.ndarray) -> np.ndarray:
        pairs = zip(self.features, self.grades, strict=True)
        return np.array([(grade[_first_ten(each @ weights)] >= 2).mean() for each, grade in pairs])


def _first_ten(scores: np.ndarray) -> np.ndarray:
    return np.argsort(-scores, kind="stable")[:10]


def opinions(name: str, here: index.Index, gold: GoldSet) -> OpinionSet:
    grades_of: dict[str, dict[str, int]] = defaultdict(dict)
    for one in gold.judgments.iter_rows(named=True):
        grades_of[one["query_id"]][one["doc_id"]] = max(0, one["grade"])
    features, gains, every = [], [], []
    for query in gold.queries:
        signals = stem_signals(here, query.text, here.analyzer.terms(query.text), None)
        rows = [best_rows(signals[feature], DEPTH) for feature in ("fused", *OF_OPINIONS[:-1])]
        rows = np.unique(np.concatenate(rows))
        nothing = np.zeros(len(here), np.float32)
        features.append(np.stack([signals.get(n, nothing)[rows] for n in OF_OPINIONS], 1))
        grades = grades_of[query.id]
        ideal = sorted(grades.values(), reverse=True)[:10]
        every.append(np.array([grades.get(here.ids[row], 0) for row in rows]))
        gains.append(every[-1] / max(1e-9, (ideal * DISCOUNT[: len(ideal)]).sum()))
    is_fact = np.array([query.type == "fact_pattern" for query in gold.queries])
    return OpinionSet(name, features, gains, every, is_fact)


def climbed(sets: Sequence[OpinionSet]) -> np.ndarray:
    """The weights that give the best mean of nDCG@10 over the sets."""
    weights = np.array([1.0, *(0.0 for _ in OF_OPINIONS[1:])])
    before = None
    while before is None or (weights != before).any():
        before = weights.copy()
        for place in range(1, len(weights)):
            values = []
            for weight in GRID:
                weights[place] = weight
                values.append(np.mean([each.ndcg(weights).mean() for each in sets]))
            padded = np.array([values[0], *values, values[-1]])
            smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
            weights[place] = GRID[int(smooth.argmax())]
    return weights


def fit_opinions(corpus: str, data: Path) -> dict[str, float]:
    here = index_files.load(workspace() / "indexes" / corpus)
    pooled = data / "fppc" / "judgments-dev-pooled.jsonl"
    sets = [
        opinions("development", here, with_more(read_gold(data / "fppc/dataset-dev.json"), pooled)),
        opinions("own", here, read_gold(ROOT / "eval" / "dataset.json")),
    ]
    fits = [
        (f"{sets[1].name} alone", climbed(sets[1:])),
        (f"{sets[0].name} alone", climbed(sets[:1])),
    ]
    fits.append(("both", climbed(sets)))
    for fitted_on, weights in fits:
        for each in sets:
            ndcg = each.ndcg(weights)
            sys.stdout.write(
                f"fitted on {fitted_on}, {each.name}: nDCG@10 {ndcg.mean():.3f}, fact patterns "
                f"{ndcg[each.is_fact].mean():.3f}, P(rel=2)@10 {each.twos(weights).mean():.3f}\n"
            )
    return dict(zip(OF_OPINIONS, map(float, fits[-1][1].round(2)), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--codes", type=Path, nargs="*", default=[])
    parser.add_argument("--graded", nargs="*", default=[], metavar="CORPUS=FILE")
    parser.add_argument("--opinions", default="", help="the indexed corpus of opinions")
    parser.add_argument("--data", type=Path, help="where fppc/dataset-dev.json is")
    args = parser.parse_args()
    file = Path(profile.__file__).parent / "data" / "ranker.json"
    known = json.loads(file.read_text(encoding="utf-8"))
    if args.opinions:
        known["opinions"] |= fit_opinions(args.opinions, args.data)
        file.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
        return
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
    known["texts"] |= {n: round(float(w), 2) for n, w in zip(NAMES[1:], weights[1:], strict=True)}
    file.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

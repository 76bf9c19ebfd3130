"""The reliability of scores: of hits with a score of .8, are 80% relevant? Cross-validated over
queries.

    python benchmarks/reliability.py CORPUS GOLD [GOLD …] [--judgments MORE.jsonl] [--svg FILE]

CORPUS is indexed; the gold sets are graded. Every judged hit in the top 100 counts, relevant from
grade 1 on. The hit model is fitted anew on ten elevenths of the queries, each gold set weighing the
same, and read off on the rest. Needs scikit-learn."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score

from assay import read_gold
from assay.engines.indexed import open_indexed
from assay.search.engine import Engine

DEPTH, FOLDS, BINS = 100, 11, 10


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


class Hits(NamedTuple):
    signals: np.ndarray  # ratio, the first hit's attained and dense
    relevant: np.ndarray
    query: np.ndarray
    source: np.ndarray


def graded(engine: Engine, golds: Sequence[Path], more: Path | None) -> Hits:
    rows, relevant, query, source = [], [], [], []
    added: dict[str, dict[str, int]] = {}
    for line in more.read_text(encoding="utf-8").splitlines() if more else ():
        judgment = json.loads(line)
        added.setdefault(judgment["query_id"], {})[judgment["opinion_id"]] = judgment["score"]
    number = 0
    for place, path in enumerate(golds):
        gold = read_gold(path)
        given: dict[str, dict[str, int]] = {}
        for query_id, doc_id, grade in gold.judgments.select(
            "query_id", "doc_id", "grade"
        ).iter_rows():
            given.setdefault(query_id, {})[doc_id] = grade
        for asked in gold.queries:
            grades = added.get(asked.id, {}) | given.get(asked.id, {})
            hits = engine.search(asked.text, DEPTH, explain=True)
            number += 1
            for hit in hits:
                if hit.doc_id in grades:
                    first, own = hits[0].explanation, hit.explanation
                    rows.append([own["fused"] / first["fused"], first["attained"], first["dense"]])
                    relevant.append(grades[hit.doc_id] >= 1)
                    query.append(number)
                    source.append(place)
    return Hits(np.array(rows), np.array(relevant), np.array(query), np.array(source))


def cross_validated(hits: Hits) -> np.ndarray:
    size = np.bincount(hits.source)
    weight = size.max() / size[hits.source]
    order = np.random.default_rng(0).permutation(np.unique(hits.query))
    fold = {query: place % FOLDS for place, query in enumerate(order.tolist())}
    folds = np.array([fold[query] for query in hits.query.tolist()])
    predicted = np.zeros(len(folds))
    for held in range(FOLDS):
        fitted = folds != held
        model = LogisticRegression(C=100).fit(
            hits.signals[fitted], hits.relevant[fitted], weight[fitted]
        )
        predicted[~fitted] = model.predict_proba(hits.signals[~fitted])[:, 1]
    whole = LogisticRegression(C=100).fit(hits.signals, hits.relevant, weight)
    say(f"fitted on all: {whole.intercept_.round(2)} {whole.coef_.round(2)}")
    return predicted


def curve(predicted: np.ndarray, relevant: np.ndarray) -> list[tuple[int, float, float]]:
    """(hits, mean predicted, share relevant) of each tenth that has hits."""
    place = np.minimum((predicted * BINS).astype(int), BINS - 1)
    return [
        (int(held.sum()), float(predicted[held].mean()), float(relevant[held].mean()))
        for number in range(BINS)
        if (held := place == number).any()
    ]


def report(
    name: str, predicted: np.ndarray, relevant: np.ndarray
) -> list[tuple[int, float, float]]:
    points = curve(predicted, relevant)
    error = sum(count * abs(said - true) for count, said, true in points) / len(relevant)
    brier = brier_score_loss(relevant, predicted)
    area = roc_auc_score(relevant, predicted)
    say(f"\n{name}: {len(relevant)} hits, {relevant.mean():.1%} relevant;")
    say(f"expected calibration error {error:.3f}, Brier {brier:.3f}, AUC {area:.3f}")
    say("| hits | predicted | relevant |\n|---|---|---|")
    for count, said, true in points:
        say(f"| {count} | {said:.2f} | {true:.2f} |")
    return points


def drawn(points: list[tuple[int, float, float]]) -> str:
    """The curve as SVG; the area of a dot is the number of its hits."""
    most = max(count for count, _, _ in points)
    place = [
        (40 + 300 * said, 320 - 300 * true, 3 + 9 * (count / most) ** 0.5)
        for count, said, true in points
    ]
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y, _ in place)
    dots = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{r:.1f}" fill="#2b6cb0" opacity=".75"/>'
        for x, y, r in place
    )
    ticks = "".join(
        f'<text x="{40 + 300 * t:.0f}" y="338" text-anchor="middle">{t}</text>'
        f'<text x="34" y="{324 - 300 * t:.0f}" text-anchor="end">{t}</text>'
        for t in (0, 0.5, 1)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 370 372" role="img" \
font-family="sans-serif" font-size="12">
<title>Share of relevant hits by predicted probability; the diagonal is perfect</title>
<rect width="370" height="372" fill="#fff"/>
<path d="M40 320H340V20H40Z" fill="none" stroke="#888"/>
<path d="M40 320L340 20" stroke="#bbb" stroke-dasharray="4"/>
<polyline points="{line}" fill="none" stroke="#2b6cb0"/>{dots}{ticks}
<text x="190" y="360" text-anchor="middle">predicted probability</text>
<text x="14" y="170" transform="rotate(-90 14 170)" text-anchor="middle">share relevant</text></svg>
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("golds", type=Path, nargs="+")
    parser.add_argument(
        "--judgments", type=Path, help="more judgments for the gold sets, one a line"
    )
    parser.add_argument("--svg", type=Path)
    args = parser.parse_args()
    engine = open_indexed(args.corpus)
    hits = graded(engine, args.golds, args.judgments)
    predicted = cross_validated(hits)
    for place, path in enumerate(args.golds):
        report(path.name, predicted[hits.source == place], hits.relevant[hits.source == place])
    points = report("all", predicted, hits.relevant)
    if args.svg:
        args.svg.write_text(drawn(points), encoding="utf-8")


if __name__ == "__main__":
    main()

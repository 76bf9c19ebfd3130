"""Fit the weights of annual reports and write them to src/assay/search/data/ranker.json.

    python reports_ranker.py --corpus reports --questions eval/questions_reports_golden.json …

Two sets: for questions that ask for a text, and for all others. Each is a softmax regression over
the first documents by several features; right is what stands on an expected page. Every question is
asked of all reports. It prints how often a right page is first and among the first five, for
reports that are in no fit, and then writes weights fitted on everything."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ranker import TEMPERATURE, Asked, fit

from assay.core.workspace import workspace
from assay.engines.indexed import open_indexed
from assay.search import profile
from assay.search.arrays import best_rows
from assay.search.index import Index
from assay.search.reports.features import report_signals, spread
from assay.search.reports.question import question_of

NAMES = (
    *("attained", "grams", "about", "dense_prose", "dense_rows"),
    *("no_year", "not_held", "other_accounts", "unasked_group", "other_column", "whole_table"),
)
CANDIDATES = {"fused": 80, "attained": 30, "dense": 30}
STRENGTH = 0.006  # of the penalty on weights


@dataclass(frozen=True)
class OfReport(Asked):
    """A question on a report, with the rows of its candidates."""

    rows: np.ndarray


def asked_of(here: Index, entry: dict, lookup: Callable) -> OfReport:
    signals = report_signals(here, entry["query"])
    in_town = signals["in_town"]
    first = [best_rows(np.where(in_town, signals[n], -1.0), m) for n, m in CANDIDATES.items()]
    rows = np.unique(np.concatenate(first))
    rows = rows[in_town[rows]]
    pages = {(place["doc_id"], place["page"]) for place in entry["expected_any"]}
    places = [lookup(here.ids[row]).locator for row in rows]
    return OfReport(
        way="text" if question_of(here, entry["query"]).asks == "text" else "figure",
        act=entry["expected_any"][0]["doc_id"],
        author=str(entry.get("author") or ""),
        features=np.stack([signals[name][rows] for name in NAMES], 1).astype(float),
        rules=np.zeros(len(rows)),
        rows=rows,
        right=np.array([(place.doc_id, place.page) in pages for place in places]),
        sections=here.marked.page_of[rows],
    )


def weights_of(asked: Sequence[OfReport], way: str) -> np.ndarray:
    used = [one for one in asked if one.way == way]
    return fit(used, names=NAMES, strength=STRENGTH) / TEMPERATURE


def left_out(here: Index, asked: Sequence[OfReport]) -> Iterator[tuple[str, int, np.ndarray]]:
    """How often a right page is first and among five, for reports that are in no fit."""
    found = defaultdict(list)
    for report in dict.fromkeys(one.act for one in asked):
        rest = [one for one in asked if one.act != report]
        weights = {way: weights_of(rest, way) for way in ("figure", "text")}
        for one in (one for one in asked if one.act == report):
            scores = np.zeros(len(here))
            scores[one.rows] = np.maximum(0.0, one.features @ weights[one.way])
            best = one.right[np.argsort(-spread(here, scores)[one.rows], kind="stable")]
            found[one.way].append((bool(best[0]), bool(best[:5].any())))
    for way, values in found.items():
        yield way, len(values), np.mean(values, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--questions", type=Path, nargs="+", required=True)
    args = parser.parse_args()
    engine = open_indexed(args.corpus, home=workspace())
    here = engine._index
    entries = [e for file in args.questions for e in json.loads(file.read_text(encoding="utf-8"))]
    asked = [asked_of(here, e, engine.document) for e in entries if e.get("expected_any")]
    for way, number, (first, five) in left_out(here, asked):
        sys.stdout.write(f"{way}, report left out: {number}, {first:.3f} / {five:.3f}\n")
    file = Path(profile.__file__).parent / "data" / "ranker.json"
    known = json.loads(file.read_text(encoding="utf-8"))
    for way in ("figure", "text"):
        known[f"reports-{way}"] = {
            name: round(float(weight), 3)
            for name, weight in zip(NAMES, weights_of(asked, way), strict=True)
            if abs(weight) > 0.0005
        }
    file.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

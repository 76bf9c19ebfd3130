"""Fit the weights of the ranker of provisions and write src/assay/search/data/ranker.json.

    python ranker.py [--ablate] --corpus six-acts --questions eval/questions_finnish_golden.json

Each question is asked four ways: with the written questions of all acts, with none, with those of
its own act left out (the act is new), and with those of other acts left out. The weights are a
softmax regression over the candidates. It prints how often the right moment is first and among the
first five, for acts and authors that are in no fit, and then writes weights fitted on everything.

The static half of the encoders has seen written questions for the home acts, which flatters `dense`
against words there. `--new` gives questions on acts that it has not seen.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from assay.core.workspace import workspace
from assay.engines.indexed import open_indexed
from assay.search import document_questions, index, index_files, profile
from assay.search.arrays import best_rows
from assay.search.engine import Engine
from assay.search.signals import features_of, soft_signals

FOLDS = 6
TOGETHER = 8  # new acts in one index
OTHERS = 80  # questions of other acts, asked where a fold's acts have no written questions
CANDIDATES = {"fused": 40, "dense": 25, "words": 25, "questions": 15, "section_dense": 25}
NEGATIVE = {"later", "excluded", "place_in_section"}
NEGATIVE |= {
    "no_year",
    "not_held",
    "other_accounts",
    "unasked_group",
    "other_column",
    "whole_table",
}
NAMES = (
    *("words", "expanded", "act_named", "subject", "dense", "section_dense"),
    *("questions", "no_questions", "act_questions", "act_no_questions", "later", "excluded"),
    *("words_held", "question_dense", "place_in_section"),
)
FIXED = {"citation": 15.0, "named": 5.0}  # rules: a provision or a title that the question names
# questions on new acts were drawn from all sections, also from those that say from when an act
# applies, which people hardly ask about: the weight is that of the home acts
HELD = {"later": -2.5}
# words count at least so much: golden questions say few rare words, and other collections need them
LEAST = {"words": 1.2}  # taste
# by hand: acts have no windows, and moments that a section repeats are no candidates of their own
# (research/ranking.md)
BY_HAND = {"windows": 0.32, "repeated": -0.2}
# acts that nobody has are what the weights are for, and few questions ask about them: of 1, 3, 6
# and 10 the most that costs home acts nothing (research/ranking.md)
COUNTED = {"new": 3, "new, beside": 3, "new, none": 3}
SPREAD = 0.05  # least deviation by which a feature is scaled
STRENGTH = 0.002  # of the penalty on weights
TEMPERATURE = 5.0  # weights are divided by it, so that a good first hit has a score of about five


def joined(*engines: Engine, rows: Collection[str] | None = None) -> index.Index:
    """One index of the documents of several, or of some of their ids, with the vectors that they
    have, and without written questions."""
    vectors: dict[str, np.ndarray] = {}
    pairs = []
    for engine in engines:
        part = engine._index
        assert engine._lookup is not None
        assert part.vectors is not None
        for row, doc_id in enumerate(part.ids):
            if rows is None or doc_id in rows:
                pairs.append((engine._lookup(doc_id), part.digests[row]))
                vectors[doc_id] = part.vectors[row]
    made = index.build(pairs, dense=False)
    return replace(
        made,
        profile=engines[0]._index.profile,
        vectors=np.stack([vectors[doc_id] for doc_id in made.ids]),
    )


@dataclass(frozen=True)
class Asked:
    """A question asked in one of the four ways: its candidates' features and which are right."""

    way: str
    act: str
    author: str
    features: np.ndarray
    rules: np.ndarray
    right: np.ndarray
    sections: np.ndarray


class Questions:
    """The golden questions that an index answers, and the index with written questions."""

    def __init__(self, built: index.Index, entries: Iterable[dict]) -> None:
        self.full = index.with_questions(
            built, document_questions.shipped(built.profile.language), []
        )
        self._sections: dict[int, list[int]] = defaultdict(list)
        sections = np.searchsorted(built.section_starts, np.arange(len(built)), side="right")
        for row, section in enumerate(sections.tolist()):
            self._sections[section].append(row)
        self._section_of = sections
        self.asked = [(entry, rows) for entry in entries if (rows := self._right(entry))]

    def _right(self, entry: dict) -> set[int]:
        rows: set[int] = set()
        for place in entry.get("expected_any") or []:
            row = self.full.row_of.get(place.get("doc_id"))
            if row is not None:
                is_moment = bool(place.get("moment"))
                rows |= {row} if is_moment else set(self._sections[self._section_of[row]])
        return rows

    def act_of(self, rows: set[int]) -> int:
        return int(self.full.act_of[min(rows)])

    def without(self, acts: Iterable[int]) -> index.Index:
        """The index without the written questions of these acts."""
        asked = self.full.written
        assert asked is not None
        keep = np.flatnonzero(~np.isin(self.full.act_of[asked.documents], list(acts)))
        if not len(keep):
            return replace(self.full, written=None)
        texts = [asked.texts[number] for number in keep]
        terms = partial(index.question_terms, self.full.profile)
        counts = document_questions.count_terms(texts, terms)
        return replace(
            self.full,
            written=replace(
                asked,
                postings=document_questions.bm25(
                    counts, k1=document_questions.K1, b=document_questions.B
                ),
                documents=asked.documents[keep],
                texts=texts,
                vectors=None if asked.vectors is None else asked.vectors[keep],
            ),
        )

    def ask(self, way: str, here: index.Index, entry: dict, right: set[int]) -> Asked:
        question = Engine(here)._soft_question(entry["query"])
        signals = soft_signals(here, question, every=True)
        first = [best_rows(signals[n], most) for n, most in CANDIDATES.items() if n in signals]
        rows = np.unique(np.concatenate(first))
        words = here.analyzer.words(question.text)
        near = features_of(here, signals, question.text, words, rows)
        known = {name: values[rows] for name, values in signals.items()} | near
        nothing = np.zeros(len(rows))
        return Asked(
            way=way,
            act=here.acts[self.act_of(right)],
            author=str(entry.get("author") or ""),
            features=np.stack([known.get(name, nothing) for name in NAMES], 1).astype(float),
            rules=sum(w * known.get(name, nothing) for name, w in FIXED.items()) + nothing,
            right=np.isin(rows, list(right)),
            sections=self._section_of[rows],
        )

    def ask_all(self) -> list[Asked]:
        bare = replace(self.full, written=None)
        found = [self.ask("home", self.full, *one) for one in self.asked]
        found += [self.ask("none", bare, *one) for one in self.asked]
        random = np.random.default_rng(0)
        acts = random.permutation(sorted({self.act_of(rows) for _, rows in self.asked}))
        for fold in range(FOLDS):
            new = set(acts[fold::FOLDS].tolist())
            here = self.without(new)
            own = [one for one in self.asked if self.act_of(one[1]) in new]
            rest = [one for one in self.asked if self.act_of(one[1]) not in new]
            some = random.permutation(len(rest))[:OTHERS]
            found += [self.ask("new act", here, *one) for one in own]
            found += [self.ask("mixed", here, *rest[number]) for number in some]
        return found


def ask_new(corpus: str, home: str, entries: Sequence[dict]) -> list[Asked]:
    """Questions on acts without written ones: eight acts together, and all beside the home acts
    with and without theirs."""
    engine, other = open_indexed(corpus, home=workspace()), open_indexed(home, home=workspace())
    here = engine._index
    act_of = {doc_id: here.acts[here.act_of[row]] for row, doc_id in enumerate(here.ids)}
    acts = np.random.default_rng(0).permutation(
        sorted({act_of[entry["expected_any"][0]["doc_id"]] for entry in entries})
    )
    found: list[Asked] = []
    for group in range(0, len(acts), TOGETHER):
        some = set(acts[group : group + TOGETHER].tolist())
        rows = {doc_id for doc_id, act in act_of.items() if act in some}
        alone = Questions(joined(engine, rows=rows), entries)
        found += [alone.ask("new", alone.full, *one) for one in alone.asked]
    beside = Questions(joined(other, engine), entries)
    found += [beside.ask("new, beside", beside.full, *one) for one in beside.asked]
    bare = replace(beside.full, written=None)
    found += [beside.ask("new, none", bare, *one) for one in beside.asked]
    return found


def fit(
    asked: Sequence[Asked],
    without: Sequence[str] = (),
    names: Sequence[str] = NAMES,
    strength: float = STRENGTH,
) -> np.ndarray:
    """The weights under which the right candidates are most likely; `without` some features."""
    used = [
        one
        for one in asked
        if one.right.any() and not one.right.all()
        for _ in range(COUNTED.get(one.way, 1))
    ]
    every = np.concatenate([one.features for one in used])
    scale = np.maximum(every.std(0), SPREAD)
    matrix = every / scale
    rules = np.concatenate([one.rules for one in used])
    right = np.concatenate([one.right for one in used])
    starts = np.cumsum([0, *(len(one.right) for one in used)])
    group = np.repeat(np.arange(len(used)), np.diff(starts))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = matrix @ weights + rules
        likely = np.exp(scores - np.maximum.reduceat(scores, starts[:-1])[group])
        total = np.add.reduceat(likely, starts[:-1])
        hit = np.add.reduceat(likely * right, starts[:-1]) + 1e-12
        slope = matrix.T @ (likely / total[group] - likely * right / hit[group]) / len(used)
        value = float(np.mean(np.log(total) - np.log(hit)))
        return value + strength * weights @ weights, slope + 2 * strength * weights

    bounds = [
        (0.0, 0.0)
        if name in without
        else (HELD[name] * factor, HELD[name] * factor)
        if name in HELD
        else (None, 0.0)
        if name in NEGATIVE
        else (LEAST.get(name, 0.0) * factor, None)
        for name, factor in zip(names, scale, strict=True)
    ]
    start = np.array([high if low is None else low for low, high in bounds], float)
    solved = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(solved.x / scale)


def shares(asked: Sequence[Asked], weights: np.ndarray) -> dict[str, np.ndarray]:
    """By way of asking: how often a right moment is first, and among the first five."""
    found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for one in asked:
        best = one.right[np.argsort(-(one.features @ weights + one.rules), kind="stable")]
        found[one.way].append((bool(best[0]), bool(best[:5].any())))
    return {way: np.mean(values, axis=0) for way, values in found.items()}


def left_out(
    asked: Sequence[Asked], attribute: str, folds: int, without: Sequence[str] = ()
) -> str:
    """The same for questions whose act, or author, is in no fit; `without` some features."""
    values = np.random.default_rng(1).permutation(sorted({getattr(a, attribute) for a in asked}))
    found: dict[str, list[tuple[int, np.ndarray]]] = defaultdict(list)
    for fold in range(min(folds, len(values))):
        out = set(values[fold::folds].tolist())
        weights = fit([one for one in asked if getattr(one, attribute) not in out], without)
        kept = [one for one in asked if getattr(one, attribute) in out]
        for way, share in shares(kept, weights).items():
            found[way].append((sum(one.way == way for one in kept), share))
    means = {
        way: np.average([share for _, share in parts], axis=0, weights=[n for n, _ in parts])
        for way, parts in found.items()
    }
    return ", ".join(f"{way} {first:.3f} / {five:.3f}" for way, (first, five) in means.items())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument(
        "--new", action="append", default=[], help="CORPUS=QUESTIONS on acts without written ones"
    )
    parser.add_argument("--without", action="append", default=[], help="a feature that is left out")
    parser.add_argument("--ablate", action="store_true", help="print what each feature is worth")
    args = parser.parse_args()
    built = index_files.load(workspace() / "indexes" / args.corpus)
    questions = Questions(built, json.loads(args.questions.read_text(encoding="utf-8")))
    encoder = questions.full.profile.encoder
    asked = questions.ask_all()
    for given in args.new:
        corpus, _, file = given.partition("=")
        entries = json.loads(Path(file).read_text(encoding="utf-8"))
        asked += ask_new(corpus, args.corpus, entries)
    sys.stdout.write(f"act left out: {left_out(asked, 'act', FOLDS)}\n")
    sys.stdout.write(f"author left out: {left_out(asked, 'author', 99)}\n")
    if args.ablate:
        for name in NAMES:
            sys.stdout.write(f"without {name}: {left_out(asked, 'act', FOLDS, [name])}\n")
        return
    weights = fit(asked, args.without) / TEMPERATURE
    file = Path(profile.__file__).parent / "data" / "ranker.json"
    known = json.loads(file.read_text(encoding="utf-8"))
    known[encoder] = {
        name: round(float(weight), 3)
        for name, weight in zip(NAMES, weights, strict=True)
        if abs(weight) > 0.0005
    } | {**BY_HAND, "citation": FIXED["citation"] / TEMPERATURE}
    file.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How good is the belief about unjudged documents, and what comes of it? Real engines, real pools.

    python benchmarks/unjudged_tables.py --data ../shared/data/fppc                 # all tables
    python benchmarks/unjudged_tables.py --data ../shared/data/fppc --only belief   # one of them
    python benchmarks/unjudged_tables.py … --write docs/measured      # unjudged-*.csv there

DATA/runs-dev has what eleven public engines returned for 33 queries. DATA/dataset-dev.json has the
judgments that were published with the queries, DATA/judgments-dev-pooled.jsonl those of the pooled
top tens; where both judge a document, the published grade stands. Documents that neither judges are
taken out of the lists; then everything is judged, and that is the truth. What a set would have had
judged is made by selection, never at random: the pool of all engines or of both to a shallow depth,
of three others, of one other, of the first of the two compared (a baseline that was judged when it
was new), or what was published with the set (17 to 25% of the top tens, nearly all of it relevant).
Depths are chosen so that a given share of the two top tens is judged. The settings of the belief
were chosen on every second pair of engines; the tables are of the others. UNLISTED and LOPSIDED
were chosen with all pairs in view.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from measured_tables import write_table

from assay.core.results import (
    Gate,
    GoldCard,
    GradedEntry,
    GradedReceipt,
    GradedResults,
    MeasureLine,
)
from assay.evaluation.comparison import compare
from assay.evaluation.gates import decide
from assay.evaluation.measures import parse_measure
from assay.evaluation.unjudged import verdict_stability
from assay.judging.next import DecisionState, decision_state, next_to_judge

MEASURES = {"ndcg@10": "nDCG@10", "precision@5": "P@5"}
DEPTH = 10
BATCH = 5
SURE = 0.95
KINDS = (
    "all, shallow",
    "both, shallow",
    "three others",
    "one other",
    "the first's",
    "published",
)
PICKED = ("one other's, picked", "the first's, picked")
ORDERS = ("next", "pool", "pool of all", "random")
Pair = tuple[str, str]


@dataclass(frozen=True)
class World:
    """Every judgment by query, those published with the set, and the lists of the engines."""

    grades: dict[str, dict[str, int]]
    published: set[Pair]
    runs: dict[str, dict[str, list[str]]]

    @property
    def everything(self) -> set[Pair]:
        return {(query, doc) for query, grades in self.grades.items() for doc in grades}

    def results(
        self, engine: str, known: set[Pair], asked: set[Pair] = frozenset()
    ) -> GradedResults:
        """What `assay score` gives when only `known` is judged, `asked` of it on request."""
        entries = self.entries(engine, known, asked)
        scored = [entry for entry in entries if max(entry.known_grades, default=0) > 0]
        columns = {
            key: verdict_stability.values_as_judged(
                verdict_stability.hit_table(scored, None, parse_measure(name)), parse_measure(name)
            )[0]
            for key, name in MEASURES.items()
        }
        metrics = {
            entry.query_id: {key: float(column[row]) for key, column in columns.items()}
            for row, entry in enumerate(scored)
        }
        none = dict.fromkeys(MEASURES)
        return GradedResults(
            timestamp="",
            engine=engine,
            overall={key: float(column.mean()) for key, column in columns.items()},
            per_query=[
                msgspec.structs.replace(entry, metrics=metrics.get(entry.query_id, none))
                for entry in entries
            ],
            receipt=GradedReceipt(
                measures=[
                    MeasureLine(key=key, measure=name, cutoff=parse_measure(name).cutoff)
                    for key, name in MEASURES.items()
                ],
                gold=GoldCard(fingerprint="g", judgments=len(known), rubric="r"),
            ),
        )

    def entries(
        self, engine: str, known: set[Pair], asked: set[Pair] = frozenset()
    ) -> list[GradedEntry]:
        return [self._entry(engine, query, known, asked) for query in self.grades]

    def _entry(self, engine: str, query: str, known: set[Pair], asked: set[Pair]) -> GradedEntry:
        ranking, grades = self.runs[engine].get(query, []), self.grades[query]
        judged = [grade for doc, grade in grades.items() if (query, doc) in known]
        return GradedEntry(
            query_id=query,
            results=ranking,
            num_results=len(ranking),
            metrics={},
            grades=[grades.get(doc) if (query, doc) in known else None for doc in ranking],
            known_grades=sorted(judged, reverse=True),
            judged_on_request=[doc for doc in ranking if (query, doc) in asked],
        )

    def top(self, engines: Sequence[str], depth: int = DEPTH) -> list[Pair]:
        """Depth pooling: rank by rank, query by query."""
        pairs = [
            (query, self.runs[engine][query][rank])
            for rank, query, engine in itertools.product(range(depth), self.grades, engines)
            if rank < len(self.runs[engine].get(query, []))
        ]
        return [pair for pair in dict.fromkeys(pairs) if pair[1] in self.grades[pair[0]]]


def read_world(data: Path) -> World:
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    published = set()
    for line in (data / "judgments-dev-pooled.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        grades[row["query_id"]][row["opinion_id"]] = int(row["score"])
    for query in json.loads((data / "dataset-dev.json").read_text(encoding="utf-8"))["queries"]:
        for row in query["relevance_judgments"]:
            grades[query["id"]][row["opinion_id"]] = int(row["score"])
            published.add((query["id"], row["opinion_id"]))
    runs: dict[str, dict[str, list[str]]] = {}
    for path in sorted((data / "runs-dev").glob("*.run")):
        lists: dict[str, list[str]] = defaultdict(list)
        for line in path.read_text(encoding="utf-8").splitlines():
            query, _, doc, *_ = line.split()
            lists[query].append(doc)
        # what was never judged is left out: the rest is the whole truth
        runs[path.stem] = {
            query: [doc for doc in docs if doc in grades[query]] for query, docs in lists.items()
        }
    return World(dict(grades), published, runs)


def picked(world: World, kind: str, pair: Sequence[str], rng: np.random.Generator) -> set[Pair]:
    """What somebody listed who knew it to be relevant: of the top six of one engine the relevant
    hits, and one in 25 of the others."""
    others = [name for name in world.runs if name not in pair]
    engine = pair[0] if kind == "the first's, picked" else others[rng.integers(len(others))]
    return {
        (query, doc)
        for query, doc in world.top([engine], 6)
        if world.grades[query][doc] > 0 or rng.random() < 0.04
    }


def pooled(
    world: World, kind: str, pair: Sequence[str], share: float, rng: np.random.Generator
) -> set[Pair]:
    """What was judged before: to the depth at which `share` of the pair's top tens is."""
    others = [name for name in world.runs if name not in pair]
    engines = {
        "one other": lambda: [others[rng.integers(len(others))]],
        "three others": lambda: [others[at] for at in rng.permutation(len(others))[:3]],
        "the first's": lambda: [pair[0]],
        "both, shallow": lambda: list(pair),
        "all, shallow": lambda: list(world.runs),
        "published": list,
    }[kind]()
    if kind == "published":
        return set(world.published)
    hits, known = set(world.top(pair)), set[Pair]()
    for found in world.top(engines, 20):
        if len(hits & known) >= share * len(hits):
            break
        known.add(found)
    return known


def pairs_of(world: World, *, chosen: bool = False) -> list[tuple[str, str]]:
    """Every second pair of engines: those the settings were chosen on, or the others; each pair in
    both orders in turn."""
    every = list(itertools.combinations(world.runs, 2))[(0 if chosen else 1) :: 2]
    return [pair if number % 2 else pair[::-1] for number, pair in enumerate(every)]


# ── the belief itself ─────────────────────────────────────────────────────────────────────────────


def distances(
    world: World, kind: str, share: float, pairs: Sequence[Sequence[str]], measure: str
) -> Iterator[tuple[float, float, float, float]]:
    """(z, true, expected, deviation) of the difference of two engines, or of one engine's value."""
    for number, pair in enumerate(pairs):
        rng = np.random.default_rng([number, round(100 * share)])
        two = pair if len(pair) == 2 else (pair[0], pair[0])
        known = pooled(world, kind, two, share, rng)
        now = [world.results(name, known).per_query for name in pair]
        stand = decision_state(*now, measure=measure)
        scored = {entry.query_id for entry in now[0] if max(entry.known_grades, default=0) > 0}
        whole = [
            [entry for entry in world.results(name, world.everything).per_query] for name in pair
        ]
        whole = [[entry for entry in one if entry.query_id in scored] for one in whole]
        true = decision_state(*whole, measure=measure).expected
        if stand.deviation > 0 and not stand.first:  # else nothing is predicted
            z = (true - stand.expected) / stand.deviation
            yield z, true, stand.expected, stand.deviation


def belief_table(world: World, *, chosen: bool = False) -> Iterator[str]:
    yield "| judged before | share | decision | n | sd of z | beyond 1.96 | bias | mean sd |"
    yield "|---|---|---|---|---|---|---|---|"
    every = defaultdict(list)
    pairs = pairs_of(world, chosen=chosen)
    for kind, share in itertools.product(KINDS, (0.1, 0.25, 0.5)):
        if kind == "published" and share != 0.25:
            continue
        alone = [(one,) for one in world.runs]
        for measure, some in (("nDCG@10", pairs), ("nDCG@10", alone), ("P@5", alone)):
            name = f"{'change' if some is pairs else 'value'} of {measure}"
            found = np.array(list(distances(world, kind, share, some, measure))).reshape(-1, 4)
            if not len(found):
                continue
            every[name].append(found)
            yield _belief_row(kind, f"{share:.0%}" if kind != "published" else "", name, found)
    for name, parts in every.items():
        yield _belief_row("all", "", name, np.concatenate(parts))


def _belief_row(kind: str, share: str, name: str, found: np.ndarray) -> str:
    z = found[:, 0]
    beyond = float((np.abs(z) > 1.96).mean())
    bias = float((found[:, 1] - found[:, 2]).mean())
    spread = float(np.sqrt((z**2).mean()))
    cells = (len(z), f"{spread:.2f}", f"{beyond:.0%}", f"{bias:+.3f}", f"{found[:, 3].mean():.3f}")
    return f"| {kind} | {share} | {name} | {' | '.join(map(str, cells))} |"


BANDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


def reliability_table(world: World, *, chosen: bool = False) -> Iterator[str]:
    """How often the sign that is believed is the one that full judgments show, by how sure the
    belief is: on these queries (`gold next`), and over other queries too (`compare`)."""
    yield (
        "| judged before | said by | n | said on average | right | "
        + " | ".join(
            f"{low:.0%} to {high:.0%}: right of n" for low, high in itertools.pairwise(BANDS)
        )
        + " |"
    )
    yield "|---" * (5 + len(BANDS) - 1) + "|"
    every: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for kind in (*KINDS, *PICKED):
        here: dict[str, list[tuple[float, bool]]] = defaultdict(list)
        for share in (0.25,) if kind in ("published", *PICKED) else (0.1, 0.25, 0.5):
            for said_by, told in _signs_told(world, kind, share, pairs_of(world, chosen=chosen)):
                here[said_by].append(told)
        for said_by, told in here.items():
            every[said_by] += told
            yield _reliability_row(kind, said_by, told)
    for said_by, told in every.items():
        yield _reliability_row("all", said_by, told)


def _signs_told(
    world: World, kind: str, share: float, pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, tuple[float, bool]]]:
    """(who says it, (how sure it is of a sign, whether full judgments show that sign))."""
    for number, pair in enumerate(pairs):
        rng = np.random.default_rng([number, round(100 * share)])
        known = (
            picked(world, kind, pair, rng)
            if kind in PICKED
            else pooled(world, kind, pair, share, rng)
        )
        now = [world.results(name, known) for name in pair]
        stand = decision_state(*(each.per_query for each in now))
        scored = {
            entry.query_id for entry in now[0].per_query if max(entry.known_grades, default=0) > 0
        }
        whole = [
            [entry for entry in world.entries(name, world.everything) if entry.query_id in scored]
            for name in pair
        ]
        true = decision_state(*whole).expected
        if stand.first or stand.deviation == 0 or abs(true) < 1e-9:
            continue  # nothing is predicted, or there is nothing to be right about
        yield "gold next", (stand.confidence, (stand.expected > 0) == (true > 0))
        sure = compare(now, pair).differences[0].sure
        if sure is not None:
            yield "compare", (max(sure, 1 - sure), (sure > 0.5) == (true > 0))


def _reliability_row(kind: str, said_by: str, told: Sequence[tuple[float, bool]]) -> str:
    said, right = np.array(told, float).T
    cells = [len(told), f"{said.mean():.0%}", f"{right.mean():.0%}"]
    for low, high in itertools.pairwise(BANDS):
        inside = (said >= low) & ((said < high) | (high == 1.0))
        cells.append(f"{right[inside].mean():.0%} of {inside.sum()}" if inside.any() else "")
    return f"| {kind} | {said_by} | {' | '.join(map(str, cells))} |"


# ── verdicts ──────────────────────────────────────────────────────────────────────────────────────


def _count(said: Sequence[tuple[str, str]], sure: Sequence[str]) -> list[str]:
    """(said, true) -> n, inconclusive, and the share of each sure word that is wrong."""
    open_ = sum(word == "open" for word, _ in said) / max(len(said), 1)
    cells = [str(len(said)), f"{open_:.0%}"]
    for word in sure:
        told = [true for one, true in said if one == word]
        wrong = sum(true != word for true in told)
        cells.append(f"{len(told)}, {wrong} wrong" if told else "0")
    return cells


SAID = ("better", "worse", "probably better", "probably worse")


def compare_table(world: World, share: float = 0.25) -> Iterator[str]:
    """How often each word has the wrong sign, against the difference with everything judged."""
    yield f"| judged before | n | open or not significant | {' | '.join(SAID)} |"
    yield "|---|---|---|---|---|---|---|"
    everything = {name: world.results(name, world.everything) for name in world.runs}
    every: list[tuple[str, str]] = []
    for kind in KINDS:
        said = []
        for number, pair in enumerate(pairs_of(world)):
            rng = np.random.default_rng([number, 7])
            known = pooled(world, kind, pair, share, rng)
            now = compare([world.results(name, known) for name in pair], pair)
            then = compare([everything[name] for name in pair], pair)
            word, up = now.differences[0].verdict, then.differences[0].difference > 0
            way = word.replace("better" if not up else "worse", "worse" if not up else "better")
            said.append((word if word in SAID else "open", way))
        every += said
        yield f"| {kind} | {' | '.join(_count(said, SAID))} |"
    yield f"| all | {' | '.join(_count(every, SAID))} |"


Told = tuple[str, str, bool, float]  # said, true, decidable, distance of the truth from the bound


def gate_table(world: World, share: float = 0.25) -> Iterator[str]:
    """Each of eleven engines has to reach each of six bounds, by two measures. A gate is decidable
    if, with everything judged, the bound lies outside the 95% interval of the mean."""
    yield "| judged before | n | cannot tell | pass | fail | decidable | cannot tell of these |"
    yield "|---|---|---|---|---|---|---|"
    every: list[Told] = []
    for kind in KINDS:
        said = list(_gates_told(world, kind, share))
        every += said
        yield _gate_row(kind, said)
    yield _gate_row("all", every)
    for low, high in itertools.pairwise((0.0, 0.05, 0.1, 0.2, 0.3, 1.0)):
        near = [told for told in every if low <= told[3] < high]
        yield _gate_row(f"all, the bound {low:g} to {high:g} from the true value", near)


def _gates_told(world: World, kind: str, share: float) -> Iterator[Told]:
    words = {"pass": "pass", "fail": "fail", "inconclusive": "open"}
    asked = list(itertools.product(MEASURES.values(), (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)))
    gates = [Gate(measure=measure, minimum=bound) for measure, bound in asked]
    sure = [msgspec.structs.replace(gate, significance=0.05) for gate in gates]
    for number, name in enumerate(world.runs):
        known = pooled(world, kind, (name, name), share, np.random.default_rng([number, 7]))
        whole = world.results(name, world.everything)
        now, then = decide(world.results(name, known), gates), decide(whole, gates)
        in_time = decide(whole, sure)
        for one, other, clear in zip(now.checks, then.checks, in_time.checks, strict=True):
            distance = abs(float(other.value or 0) - float(one.gate.minimum or 0))
            decidable = clear.status != "inconclusive"
            yield words[one.status], words[other.status], decidable, distance


def _gate_row(kind: str, said: Sequence[Told]) -> str:
    cells = _count([told[:2] for told in said], ("pass", "fail"))
    clear = [told for told in said if told[2]]
    open_ = sum(told[0] == "open" for told in clear) / max(len(clear), 1)
    return f"| {kind} | {' | '.join(cells)} | {len(clear)} | {open_:.0%} |"


def threshold_table(world: World, share: float = 0.25) -> Iterator[str]:
    """Each of eleven engines against each of eleven thresholds: of those that `gold next` calls 95%
    sure, how many are on the other side with everything judged?"""
    yield "| judged before | measure | n | at least 20 judgments first | sure | wrong of these |"
    yield "|---|---|---|---|---|---|"
    every: dict[str, list[DecisionState]] = defaultdict(list)
    missed: dict[str, list[bool]] = defaultdict(list)
    for kind, measure in itertools.product(KINDS, MEASURES.values()):
        told, wrong = [], []
        for number, name in enumerate(world.runs):
            known = pooled(world, kind, (name, name), share, np.random.default_rng([number, 7]))
            whole = world.results(name, world.everything).per_query
            true = decision_state(whole, measure=measure).expected
            now = world.results(name, known).per_query
            for threshold in np.arange(0.3, 0.81, 0.05).tolist():
                stand = decision_state(now, measure=measure, threshold=threshold)
                told.append(stand)
                sure = stand.confidence >= SURE and not stand.first
                wrong.append(sure and (stand.expected > 0) != (true > threshold))
        every[measure] += told
        missed[measure] += wrong
        yield _threshold_row(kind, measure, told, wrong)
    for measure, told in every.items():
        yield _threshold_row("all", measure, told, missed[measure])


def _threshold_row(
    kind: str, measure: str, told: Sequence[DecisionState], wrong: Sequence[bool]
) -> str:
    first = sum(stand.first > 0 for stand in told)
    sure = sum(stand.confidence >= SURE and not stand.first for stand in told)
    return f"| {kind} | {measure} | {len(told)} | {first} | {sure} | {sum(wrong)} |"


# ── what to judge next ────────────────────────────────────────────────────────────────────────────


def judgments_to_decide(
    world: World,
    engines: Sequence[str],
    known: set[Pair],
    order: str,
    threshold: float,
    rng: np.random.Generator,
) -> tuple[int, float, int]:
    """Judge in this order until the sign is sure: how many judgments, what is believed then, and
    how many were forecast at the start. The rule to stop is the same for every order."""
    known, asked = set(known), set[Pair]()
    pooled_lists = list(world.runs) if order == "pool of all" else engines
    queue = [pair for pair in world.top(pooled_lists) if pair not in known]
    if order == "random":
        queue = [queue[place] for place in rng.permutation(len(queue))]
    done, forecast = 0, -1
    while True:
        now = [world.entries(name, known, asked) for name in engines]
        if order == "next":
            found = next_to_judge(*now, threshold=threshold)
            forecast = found.needed if forecast < 0 else forecast
            step = [(pair.query_id, pair.doc_id) for pair in found.pairs]
            step = [pair for pair in step if pair[1] in world.grades[pair[0]]][:BATCH]
            stand = found
        else:
            stand, step = decision_state(*now, threshold=threshold), queue[:BATCH]
            queue = queue[BATCH:]
        if (stand.confidence >= SURE and not stand.first) or not step:
            return done, stand.expected, forecast
        known |= set(step)
        asked |= set(step)
        done += len(step)


def next_table(world: World, share: float = 0.25, limit: int = 8) -> Iterator[str]:
    yield (
        "| decision | judged before | n | next | pool | pool of all | random | next : pool "
        "| next : pool of all | wrong (in that order) "
        "| forecast at the start, against what it took (medians) |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for what in ("better", "reaches"):
        every: list[Sequence[tuple[int, bool, int]]] = []
        for kind in KINDS:
            rows = list(_next_rows(world, what, kind, share, limit))
            every += rows
            yield _next_row(what, kind, rows)
        yield _next_row(what, "all", every)


def _next_rows(
    world: World, what: str, kind: str, share: float, limit: int
) -> Iterator[list[tuple[int, bool, int]]]:
    pairs = pairs_of(world)
    pairs = [pairs[at] for at in np.linspace(0, len(pairs) - 1, limit).astype(int)]
    for number, pair in enumerate(pairs):
        engines = pair if what == "better" else pair[:1]
        rng = np.random.default_rng([number, 11])
        known = pooled(
            world, kind, (pair[0], pair[-1]) if what == "better" else pair[:1] * 2, share, rng
        )
        whole = [world.results(name, world.everything).per_query for name in engines]
        true = decision_state(*whole).expected
        threshold = 0.0
        if what == "reaches":
            threshold = true + (0.05 if number % 2 else -0.05)
        outcome = []
        for order in ORDERS:
            count, believed, forecast = judgments_to_decide(
                world, engines, known, order, threshold, np.random.default_rng(number)
            )
            outcome.append((count, (believed > 0) == (true - threshold > 0), forecast))
        yield outcome


def _next_row(what: str, kind: str, rows: Sequence[Sequence[tuple[int, bool, int]]]) -> str:
    counts = np.array([[one[0] for one in row] for row in rows], float)
    right = np.array([[one[1] for one in row] for row in rows])
    forecast = np.median([row[0][2] for row in rows])
    ratios = " | ".join(
        f"{counts[:, 0].sum() / max(counts[:, place].sum(), 1):.2f}" for place in (1, 2)
    )
    wrong = " / ".join(f"{1 - share:.0%}" for share in right.mean(axis=0))
    means = " | ".join(f"{mean:.0f}" for mean in counts.mean(axis=0))
    took = np.median(counts[:, 0])
    return (
        f"| {what} | {kind} | {len(rows)} | {means} | {ratios} | {wrong} "
        f"| {forecast:.0f} / {took:.0f} |"
    )


TABLES: dict[str, tuple[str, Callable[[World], Iterator[str]]]] = {
    "belief": ("How far the truth lies from what is believed", belief_table),
    "reliability": ("How often the believed sign is right, by how sure it is", reliability_table),
    "compare": ("Verdicts of `compare` with 25% judged", compare_table),
    "gates": ("Verdicts of gates with 25% judged", gate_table),
    "thresholds": ("How often `gold next --threshold` is sure and wrong", threshold_table),
    "next": ("Judgments until the decision is 95% sure", next_table),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=TABLES, action="append")
    parser.add_argument("--write", type=Path, help="write unjudged-*.csv into this folder")
    asked = parser.parse_args()
    world = read_world(asked.data)
    for name in asked.only or TABLES:
        title, table = TABLES[name]
        sys.stdout.write(f"\n{title}\n\n")
        lines = []
        for line in table(world):
            lines.append(line)
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        if asked.write:
            write_table(asked.write / f"unjudged-{name}.csv", lines)


if __name__ == "__main__":
    main()

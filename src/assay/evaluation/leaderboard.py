"""Rank three systems or more: which is best, which do not differ significantly, and where the
differences vary by slice.

Every pair is decided as `compare` decides it for two files, and adjusted over all pairs. Systems
that are not significantly different share a letter (Piepho 2004, "An algorithm for a letter-based
representation of all-pairwise comparisons"): those without a letter in common differ.

A slice of five queries shouts: its mean is far from the others by chance alone. So the differences
of a system by slice are drawn towards its difference over all queries, by as much as they scatter
no more than their own spread explains (DerSimonian and Laird 1986; Efron and Morris 1975). That is
what is shown. Whether it is said at all is another question, and the test over all pairs and slices
answers it: drawn wholly towards all queries, a slice would have their difference, and their claim.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from assay.core.errors import InputError
from assay.core.results import SLICE_KINDS, Entry, Results
from assay.evaluation import statistics
from assay.evaluation.comparison import (
    BoardPair,
    BoardRow,
    Comparison,
    Leaderboard,
    SliceLead,
    deciding_values,
    tested_pair,
    with_verdict,
)
from assay.evaluation.golden.changes import with_same_judgments
from assay.evaluation.statistics import adjust_tests, slice_chances

SMALLEST = 3  # queries of a slice that is looked at (taste)
Z = statistics.NORMAL.inv_cdf(1 - statistics.ALPHA / 2)


def leaderboard(
    results: Sequence[Results], names: Sequence[str], comparison: Comparison
) -> Leaderboard:
    """By the measure that decides in `comparison`, over the queries that all have scored; the best
    first."""
    results = with_same_judgments(results)[0]
    tables = deciding_values(results, comparison.headline)
    common = [query for query in tables[0] if all(query in table for table in tables)]
    if not common:
        raise InputError("the results have no scored query in common")
    values = np.array([[table[query] for query in common] for table in tables]).T
    order = sorted(range(len(names)), key=lambda at: (-values[:, at].mean(), names[at]))
    pairs = _compared_pairs(results, names, order, tables, comparison)
    letters = _group_letters(order, names, pairs)
    bounds = statistics.mean_intervals(values, worst_case=comparison.worst_case)
    return Leaderboard(
        measure=comparison.headline,
        n=len(common),
        places=[
            BoardRow(
                system=names[at],
                value=float(values[:, at].mean()),
                low=bounds[at].low,
                high=bounds[at].high,
                letters=letters[at],
            )
            for at in order
        ],
        pairs=pairs,
        slices=_leads_by_slice(
            results[order[0]].per_query,
            common,
            values,
            names,
            _decided_systems(order, names, pairs),
        ),
    )


def _compared_pairs(
    results: Sequence[Results],
    names: Sequence[str],
    order: Sequence[int],
    tables: Sequence[Mapping[str, float]],
    comparison: Comparison,
) -> list[BoardPair]:
    """All of them, the better first, over the queries that both have."""
    pairs = list(combinations(order, 2))
    tested = [
        tested_pair(
            (results[worse], results[better]),
            (tables[worse], tables[better]),
            comparison.headline,
            comparison.worst_case,
        )
        for better, worse in pairs
    ]
    held = adjust_tests([each.row.p for each in tested])
    found = []
    for (better, worse), each, corrected in zip(pairs, tested, held, strict=True):
        row = with_verdict(each, corrected)
        found.append(
            BoardPair(
                system=names[better],
                other=names[worse],
                difference=row.difference,
                low=row.low,
                high=row.high,
                p=row.p,
                low_adjusted=row.low_adjusted,
                high_adjusted=row.high_adjusted,
                p_adjusted=row.p_adjusted,
                verdict=row.verdict,
                sure=row.sure,
                stands=row.stability.stands if row.stability else None,
            )
        )
    return found


def _group_letters(
    order: Sequence[int], names: Sequence[str], pairs: Sequence[BoardPair]
) -> dict[int, str]:
    """Insert and absorb: a group that holds two systems that differ is split, and one that lies
    within another is dropped."""
    groups = [frozenset(order)]
    at = {name: place for place, name in enumerate(names)}
    for pair in pairs:
        if pair.verdict not in ("better", "worse"):
            continue
        one, other = at[pair.system], at[pair.other]
        split = []
        for group in groups:
            held = one in group and other in group
            split += [group - {one}, group - {other}] if held else [group]
        groups = [
            group
            for place, group in enumerate(split)
            if not any(
                group < bigger or (group == bigger and place > before)
                for before, bigger in enumerate(split)
            )
        ]
    groups.sort(key=lambda group: [order.index(each) for each in sorted(group, key=order.index)])
    return {
        system: "".join(_letter(place) for place, group in enumerate(groups) if system in group)
        for system in order
    }


def _letter(place: int) -> str:
    return chr(ord("a") + place) if place < 26 else f"({place + 1})"


def _decided_systems(
    order: Sequence[int], names: Sequence[str], pairs: Sequence[BoardPair]
) -> list[int]:
    """The best, and those that unjudged documents leave no doubt about against it: what they could
    turn over all queries they could turn in a slice."""
    best = names[order[0]]
    waiting = {pair.other for pair in pairs if pair.system == best and pair.awaits_judgments}
    return [at for at in order if names[at] not in waiting]


# ── by slice ──────────────────────────────────────────────────────────────────────────────────────


def _leads_by_slice(
    entries: Sequence[Entry],
    common: Sequence[str],
    values: statistics.Floats,
    names: Sequence[str],
    order: Sequence[int],
) -> list[SliceLead]:
    """Each system against the best over all queries, by every kind of slice that has two parts."""
    by_id = {entry.query_id: entry for entry in entries}
    kinds: dict[str, dict[str, list[int]]] = {}
    for kind in SLICE_KINDS:
        groups: dict[str, list[int]] = {}
        for row, query in enumerate(common):
            if name := by_id[query].in_slice(kind):
                groups.setdefault(name, []).append(row)
        parts = {name: rows for name, rows in groups.items() if len(rows) >= SMALLEST}
        if len(parts) > 1:
            kinds[kind] = parts
    chances = slice_chances(values, [rows for parts in kinds.values() for rows in parts.values()])
    found, before = [], 0
    for kind, parts in kinds.items():
        of_kind = chances[before : before + len(parts)]
        before += len(parts)
        for at in order[1:]:
            moves = values[:, at] - values[:, order[0]]
            found += _shrunk_leads(names[at], kind, parts, moves, of_kind[:, at, order[0]])
    return found


def _shrunk_leads(
    system: str,
    kind: str,
    parts: Mapping[str, list[int]],
    moves: statistics.Floats,
    chances: statistics.Floats,
) -> list[SliceLead]:
    """The spread within slices is taken from all of them together: that of five queries is no
    estimate."""
    rows = [moves[index] for index in parts.values()]
    n = np.array([len(row) for row in rows], float)
    means = np.array([row.mean() for row in rows])
    freedom = max(n.sum() - len(rows), 1)
    within = sum(float(((row - row.mean()) ** 2).sum()) for row in rows) / freedom
    error = np.maximum(within / n, 1e-12)
    weight = 1 / error
    middle = float((weight * means).sum() / weight.sum())
    scatter = float((weight * (means - middle) ** 2).sum()) - (len(rows) - 1)
    between = max(scatter / float(weight.sum() - (weight**2).sum() / weight.sum()), 0.0)
    keep = between / (between + error)
    settled = keep * means + (1 - keep) * middle
    spread = np.sqrt(keep * error + (1 - keep) ** 2 / weight.sum())
    return [
        SliceLead(
            system=system,
            slice=f"{kind}:{name}",
            n=int(count),
            difference=float(mean),
            shrunk=float(centre),
            low=float(centre - Z * width),
            high=float(centre + Z * width),
            p=float(p),
        )
        for name, count, mean, centre, width, p in zip(
            parts, n, means, settled, spread, chances, strict=True
        )
        if math.isfinite(width)
    ]

"""Is B better than A? Paired differences by query, tests with correction, and what moved.

Works on results objects (what `assay score` writes), so that a run of last year can be compared
with one of today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from assay.core.errors import InputError
from assay.core.types import counted, is_variant, standing_line
from assay.evaluation import statistics
from assay.evaluation.overturn import could_overturn

ALPHA = 0.05
TIE = 1e-9  # a difference no larger than this is a tie
MOVED = 10  # how many of the queries that moved most are shown


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of one system against the baseline system, over the queries both have."""

    system: str
    measure: str
    key: str
    n: int
    baseline: float
    value: float
    difference: float
    low: float | None
    high: float | None
    p_randomization: float
    p_t: float
    p_wilcoxon: float
    p_holm: float
    p_bh: float
    effect_size: float | None  # None where every query changed by the same amount
    detectable: float | None  # the smallest change that would show; None where no query changed
    wins: int
    ties: int
    losses: int
    could_flip: bool  # unjudged documents could overturn the sign
    residuals: tuple[float, float] | None = (
        None  # RBP: what the unknown could add, of the baseline and of the system
    )


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A query that moved, and what entered and left its top 10."""

    system: str
    query_id: str
    query_text: str
    baseline: float
    value: float
    entered: list[tuple[str, int | None]]
    left: list[tuple[str, int | None]]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    baseline: str
    systems: list[str]
    headline: str  # the measure that the moved queries are ordered by
    differences: list[Difference]
    moved: list[Moved]
    warnings: list[str]
    gold_status: str = (
        ""  # how far the gold set is approved; empty for a set that has no rows to approve
    )
    variants: list[
        Difference
    ] = []  # perturbed questions apart, each question by the mean of its variants


def compare(
    results: Sequence[Mapping[str, Any]], names: Sequence[str], *, force: bool = False
) -> Comparison:
    """Compare each results object with the first. Raises InputError on other gold sets or corpora
    unless forced. Perturbed questions beside their parents are in `variants` alone."""
    warnings = _incomparable(results, names)
    if warnings and not force:
        raise InputError(
            warnings[0], hint="Score both on the same gold set, or give --force to compare anyway."
        )
    keys = _shared_keys(results)
    base, *others = map(_questions, results)
    varied, *others_varied = (_variants(item, list(keys)) for item in results)
    rows: list[Difference] = []
    apart: list[Difference] = []
    moved: list[Moved] = []
    for other, other_varied, name in zip(others, others_varied, names[1:], strict=True):
        ids, left, right = _paired(base, other, list(keys))
        if not ids:
            raise InputError(f"{names[0]} and {name} have no scored query in common")
        if len(ids) < max(len(base["per_query"]), len(other["per_query"])):
            warnings.append(
                f"{name}: compared on {counted(len(ids), 'query')} that both have scored"
            )
        rows += _differences(name, keys, ids, left, right, base, other)
        moved += _moved(name, _headline(keys), ids, left, right, base, other, list(keys))
        ids, left, right = _paired(varied, other_varied, list(keys))
        apart += _differences(name, keys, ids, left, right, varied, other_varied) if ids else []
    return Comparison(
        baseline=names[0],
        systems=list(names[1:]),
        headline=keys[_headline(keys)],
        differences=_corrected(rows),
        moved=moved,
        warnings=warnings,
        gold_status=_gold_status(results),
        variants=_corrected(apart),
    )


def _questions(results: Mapping[str, Any]) -> dict[str, Any]:
    """The results without perturbed variants of questions that stand there too."""
    known = {entry["query_id"] for entry in results["per_query"]}
    return {
        **results,
        "per_query": [entry for entry in results["per_query"] if not is_variant(entry, known)],
    }


def _variants(results: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """One entry a question, with the means over its variants: variants of one question are not
    independent."""
    known = {entry["query_id"] for entry in results["per_query"]}
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for entry in results["per_query"]:
        if is_variant(entry, known) and None not in [entry["metrics"][key] for key in keys]:
            groups.setdefault(entry["parent"], []).append(entry)
    means = [
        {
            "query_id": parent,
            "metrics": {key: fmean(entry["metrics"][key] for entry in group) for key in keys},
        }
        for parent, group in groups.items()
    ]
    return {**results, "per_query": means}


def incomparable(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Which fingerprints of two receipts differ, in words. Corpora are compared where both are
    files, or both are corpora of the workspace: the same documents have another fingerprint as a
    file."""
    found = []
    golds = [str(receipt.get("gold", {}).get("fingerprint")) for receipt in (first, second)]
    if golds[0] != golds[1]:
        found.append(
            f"scored on different gold sets (fingerprint {golds[0][:12]} and {golds[1][:12]})"
        )
    corpora = [str(receipt.get("corpus_fingerprint") or "") for receipt in (first, second)]
    kinds = {
        fingerprint.partition(":")[0] if ":" in fingerprint else "file" for fingerprint in corpora
    }
    if all(corpora) and len(kinds) == 1 and corpora[0] != corpora[1]:
        shown = [fingerprint.rpartition(":")[2][:12] for fingerprint in corpora]
        found.append(f"searched different corpora (fingerprint {shown[0]} and {shown[1]})")
    return found


def _incomparable(results: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    return [
        f"{names[0]} and {name}: {difference}"
        for other, name in zip(results[1:], names[1:], strict=True)
        for difference in incomparable(results[0].get("receipt", {}), other.get("receipt", {}))
    ]


def _gold_status(results: Sequence[Mapping[str, Any]]) -> str:
    cards = [item["receipt"].get("gold", {}) for item in results]
    return "; ".join(
        dict.fromkeys(filter(None, (standing_line(card) for card in cards if "queries" in card)))
    )


def _shared_keys(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """{result key: measure} of the measures that all results have."""
    tables = [
        {line["key"]: line["measure"] for line in item["receipt"]["measures"]} for item in results
    ]
    shared = {
        key: text
        for key, text in tables[0].items()
        if all(table.get(key) == text for table in tables[1:])
    }
    if not shared:
        raise InputError("the results have no measure in common")
    return shared


def _headline(keys: Mapping[str, str]) -> str:
    return "ndcg@10" if "ndcg@10" in keys else next(iter(keys))


def _paired(
    base: Mapping[str, Any], other: Mapping[str, Any], keys: list[str]
) -> tuple[list[str], statistics.Floats, statistics.Floats]:
    """The values of the queries that both have scored, in the same order."""
    tables = [
        {entry["query_id"]: [entry["metrics"][key] for key in keys] for entry in item["per_query"]}
        for item in (base, other)
    ]
    ids = [
        query_id
        for query_id, values in tables[0].items()
        if query_id in tables[1] and None not in values and None not in tables[1][query_id]
    ]
    left, right = (
        np.array([table[query_id] for query_id in ids], np.float64).reshape(-1, len(keys))
        for table in tables
    )
    return ids, left, right


def _differences(
    name: str,
    keys: Mapping[str, str],
    ids: Sequence[str],
    left: Any,
    right: Any,
    base: Mapping[str, Any],
    other: Mapping[str, Any],
) -> list[Difference]:
    moves = right - left
    intervals = statistics.mean_intervals(moves)
    tests = (
        statistics.randomization_test(moves),
        statistics.t_test(moves),
        statistics.wilcoxon_test(moves),
    )
    effects, detectable = statistics.effect_size(moves), statistics.detectable_difference(moves)
    return [
        Difference(
            system=name,
            measure=measure,
            key=key,
            n=len(moves),
            baseline=float(left[:, i].mean()),
            value=float(right[:, i].mean()),
            difference=float(moves[:, i].mean()),
            low=intervals[i].low,
            high=intervals[i].high,
            p_randomization=float(tests[0][i]),
            p_t=float(tests[1][i]),
            p_wilcoxon=float(tests[2][i]),
            p_holm=1.0,
            p_bh=1.0,
            effect_size=float(effects[i]) if np.isfinite(effects[i]) else None,
            detectable=float(detectable[i]) if 1e-12 < detectable[i] < np.inf else None,
            wins=int((moves[:, i] > TIE).sum()),
            ties=int((np.abs(moves[:, i]) <= TIE).sum()),
            losses=int((moves[:, i] < -TIE).sum()),
            could_flip=_could_flip(measure, ids, float(moves[:, i].mean()), base, other),
            residuals=_residuals(measure, base, other),
        )
        for i, (key, measure) in enumerate(keys.items())
    ]


def _could_flip(
    measure: str, ids: Sequence[str], lead: float, base: Mapping[str, Any], other: Mapping[str, Any]
) -> bool:
    """Whether grades of unjudged documents could turn the difference around, over the queries
    compared. Questions of a golden set pass or fail, whatever is judged."""
    if "gates" in base or "gates" in other:
        return False
    tables = [{entry["query_id"]: entry for entry in item["per_query"]} for item in (base, other)]
    before, after = ([table[query_id] for query_id in ids] for table in tables)
    return (
        could_overturn(measure, after, before, lead)
        if lead > 0
        else could_overturn(measure, before, after, -lead)
    )


def _residuals(
    measure: str, base: Mapping[str, Any], other: Mapping[str, Any]
) -> tuple[float, float] | None:
    found = [
        item["receipt"].get("unjudged", {}).get(measure, {}).get("residual")
        for item in (base, other)
    ]
    return None if None in found else (float(found[0]), float(found[1]))


def _corrected(rows: list[Difference]) -> list[Difference]:
    """Corrected over every measure and system tested together: asking more questions raises the bar
    for each."""
    p_values = [row.p_randomization for row in rows]
    adjusted = zip(
        rows, statistics.holm(p_values), statistics.benjamini_hochberg(p_values), strict=True
    )
    return [
        msgspec.structs.replace(row, p_holm=by_holm, p_bh=by_bh) for row, by_holm, by_bh in adjusted
    ]


def _moved(
    name: str,
    headline: str,
    ids: list[str],
    left: Any,
    right: Any,
    base: Any,
    other: Any,
    keys: list[str],
) -> list[Moved]:
    column = keys.index(headline)
    moves = right[:, column] - left[:, column]
    order = [
        int(i) for i in np.argsort(-np.abs(moves), kind="stable")[:MOVED] if abs(moves[i]) > TIE
    ]
    entries = [{entry["query_id"]: entry for entry in item["per_query"]} for item in (base, other)]
    found = []
    for i in order:
        before, after = (table[ids[i]] for table in entries)
        entered, gone = _exchanged(before, after)
        found.append(
            Moved(
                system=name,
                query_id=ids[i],
                query_text=before["query_text"],
                baseline=float(left[i, column]),
                value=float(right[i, column]),
                entered=entered,
                left=gone,
            )
        )
    return found


def _exchanged(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    tops = [
        dict(zip(entry["results"][:10], entry["grades"][:10], strict=True))
        for entry in (before, after)
    ]
    entered = [(doc_id, grade) for doc_id, grade in tops[1].items() if doc_id not in tops[0]]
    gone = [(doc_id, grade) for doc_id, grade in tops[0].items() if doc_id not in tops[1]]
    return entered, gone

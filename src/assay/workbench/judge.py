"""The verbs of a decision: what the gates say, what to judge to be sure, and what was judged. Part
of the service layer."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.types import ASKED, GoldSet, Judgment
from assay.evaluation import gates as policy
from assay.evaluation.comparison import incomparable
from assay.evaluation.gates import Check, Gate, decide
from assay.formats import csv_gold, gold_jsonl
from assay.judging.merge import merge
from assay.judging.next import Decision, Pair, next_to_judge
from assay.workbench import score

# ── the verdict ───────────────────────────────────────────────────────────────────────────────────


def verdict(
    results: dict[str, Any], gates: Sequence[Gate], baseline: Path | None
) -> dict[str, Any]:
    """What the gates say; when they cannot tell, with the shortest list of judgments expected to
    settle it. No list where judging cannot help, as without a baseline; an empty one where only
    more queries can."""
    then = score.read_results(baseline) if baseline is not None and baseline.exists() else None
    stale = "; ".join(incomparable(then["receipt"], results["receipt"])) if then is not None else ""
    decided = decide(results, gates, then, stale=stale)
    found: dict[str, Any] = msgspec.to_builtins(decided)
    open_checks = [
        check
        for check in decided.checks
        if check.status == "inconclusive" and check.value is not None
    ]
    if decided.status == "inconclusive" and open_checks:
        pairs: dict[tuple[str, str], Pair] = {}
        for check in open_checks:
            for pair in _settling(check, results, then):
                pairs.setdefault((pair.query_id, pair.doc_id), pair)
        found["judge_next"] = [msgspec.to_builtins(pair) for pair in pairs.values()]
    return found


def _settling(
    check: Check, results: Mapping[str, Any], then: Mapping[str, Any] | None
) -> list[Pair]:
    """The judgments expected to settle one gate: first those that make the sign sure, then, where a
    share of judged hits is demanded, as many as it takes."""
    gate = check.gate
    if gate.measure in policy.LATENCY or policy.too_few(gate, results):
        return []  # no judgment makes more queries
    line = policy.measure_line(gate, results)
    inside = {"per_query": policy.members(gate, results)}
    decisions: list[Decision] = []
    if gate.max_drop is not None and then is not None:
        decisions.append(
            next_to_judge(then, inside, measure=line["measure"], threshold=-gate.max_drop)
        )
    for bound in (gate.minimum, gate.maximum, gate.below):
        if bound is not None and gate.max_drop is None:
            decisions.append(next_to_judge(inside, measure=line["measure"], threshold=bound))
    chosen: dict[tuple[str, str], Pair] = {}
    clear = policy.margins(gate, results, then)
    for found in decisions:
        chosen |= {
            (pair.query_id, pair.doc_id): pair
            for pair in _until_told(found, float(check.value or 0), clear)
        }
    if gate.min_judged is not None:
        ranked = [pair for found in decisions for pair in found.pairs]
        for pair in _to_judged_share(
            inside["per_query"], line["cutoff"] or 10, gate.min_judged, ranked, chosen
        ):
            chosen.setdefault((pair.query_id, pair.doc_id), pair)
    return list(chosen.values())


def _until_told(
    decision: Decision, value: float, clear: tuple[float, float] = (0.0, 0.0)
) -> list[Pair]:
    """The pairs that make the sign sure; and where the value stands on the other side, since a gate
    counts what is unjudged as not relevant, those that are expected to bring it over, with the
    interval too where that must be `clear` of the bound. Where all of them are not expected to
    clear it, only more queries can."""
    chosen, distance = decision.pairs[: decision.needed], value - decision.threshold
    way = 1 if decision.expected > 0 else -1
    distance += sum(pair.change for pair in chosen)
    others = sorted(decision.pairs[decision.needed :], key=lambda pair: -way * pair.change)
    gain = sum(max(way * pair.change, 0.0) for pair in others)
    wanted = clear[0] if way > 0 else clear[1]
    wanted = wanted if distance * way + gain >= wanted else 0.0
    for pair in others:
        if distance * way >= wanted or pair.change * way <= 0:
            break
        distance += pair.change
        chosen.append(pair)
    return chosen


def _to_judged_share(
    entries: Sequence[Mapping[str, Any]],
    cutoff: int,
    wanted: float,
    ranked: Sequence[Pair],
    chosen: Mapping[Any, Pair],
) -> list[Pair]:
    """As few more unjudged hits as bring the mean judged share to `wanted`, the most useful
    first."""
    value = {
        (pair.query_id, pair.doc_id): place for place, pair in reversed(list(enumerate(ranked)))
    }
    share, open_hits = 0.0, []
    for entry in entries:
        top = list(zip(entry["results"][:cutoff], entry["grades"][:cutoff], strict=True))
        for rank, (doc_id, grade) in enumerate(top, start=1):
            step = 1 / len(top) / len(entries)
            pair = (entry["query_id"], doc_id)
            if grade is not None or pair in chosen:
                share += step
            else:
                place = value.get(pair, len(value))
                open_hits.append((-step, place, rank, pair, entry.get("query_text", "")))
    more = []
    for step, place, rank, (query_id, doc_id), text in sorted(open_hits):
        if share >= wanted - 1e-12:
            break
        share -= step
        more.append(
            ranked[place]
            if place < len(ranked)
            else Pair(
                query_id=query_id,
                query_text=text,
                doc_id=doc_id,
                rank_a=rank,
                rank_b=None,
                effect=0.0,
                change=0.0,
                narrowing=0.0,
            )
        )
    return more


# ── what to judge next ────────────────────────────────────────────────────────────────────────────


def next_pairs(
    first: Path,
    second: Path | None = None,
    *,
    measure: str = "nDCG@10",
    threshold: float | None = None,
) -> dict[str, Any]:
    """What to judge to know whether the second run is better than the first, or whether the first
    reaches `threshold`."""
    if second is None and threshold is None:
        raise UsageError(
            "there is nothing to decide", hint="Give a second results file, or --threshold."
        )
    if threshold is not None and not math.isfinite(threshold):
        raise UsageError(f"the threshold must be a number, not {threshold}")
    results = [score.read_results(path) for path in (first, second) if path is not None]
    prints = [str(item["receipt"]["gold"]["fingerprint"]) for item in results]
    if len(set(prints)) > 1:
        shown = " and ".join(fingerprint[:12] for fingerprint in prints)
        raise InputError(
            f"the two files were scored on different gold sets (fingerprint {shown})",
            where=str(second),
            hint="Score both on the same one.",
        )
    decision: dict[str, Any] = msgspec.to_builtins(
        next_to_judge(*results, measure=measure, threshold=threshold or 0.0)
    )
    return decision | {"systems": len(results)}


def pool_pairs(paths: Sequence[Path], *, depth: int = 10) -> dict[str, Any]:
    """Pooling, as in TREC: the unjudged documents in the top `depth` of any run, so that none of
    them is scored on what only the others found. In the order of queries and ids, which tells a
    judge nothing of ranks."""
    results = [score.read_results(path) for path in paths]
    prints = {str(item["receipt"]["gold"]["fingerprint"]) for item in results}
    if len(prints) > 1:
        raise InputError(
            "the runs were scored on different gold sets",
            where=", ".join(map(str, paths)),
            hint="Score all on the same one.",
        )
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    places = {entry["query_id"]: place for place, entry in enumerate(results[0]["per_query"])}
    for item in results:
        if any("grades" not in entry for entry in item["per_query"]):
            raise InputError(
                "there are no grades to give on these results",
                hint="Golden sets have expectations.",
            )
        for entry in item["per_query"]:
            top = zip(entry["results"][:depth], entry["grades"], strict=False)
            for doc_id in (doc_id for doc_id, grade in top if grade is None):
                blank = {
                    "query_id": entry["query_id"],
                    "query_text": entry["query_text"],
                    "doc_id": doc_id,
                    "runs": 0,
                }
                pairs.setdefault((entry["query_id"], doc_id), blank)["runs"] += 1
    ordered = sorted(pairs, key=lambda pair: (places.get(pair[0], len(places)), pair))
    return {
        "depth": depth,
        "runs": [str(item["engine"]) for item in results],
        "pairs": [pairs[key] for key in ordered],
    }


def write_pairs(decision: Mapping[str, Any], output: Path, *, source: str = ASKED) -> None:
    """The pairs as CSV for a judge's spreadsheet (fill in grade and rationale), or as JSON for
    programs. `source` tells later calls which judgments were asked for."""
    if output.suffix == ".json":
        write_atomic(output, score.encode(decision))
        return
    if output.suffix != ".csv":
        raise UsageError(
            f"pairs are written as .csv or .json, not {output.suffix or 'without an ending'}",
            where=str(output),
        )
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["query_id", "query", "doc_id", "grade", "rationale", "source", "narrowing"])
    for pair in decision["pairs"]:
        narrowing = f"{pair['narrowing']:.6f}" if "narrowing" in pair else ""
        writer.writerow(
            [pair["query_id"], pair["query_text"], pair["doc_id"], "", "", source, narrowing]
        )
    write_atomic(output, stream.getvalue())


# ── what was judged ───────────────────────────────────────────────────────────────────────────────


class MergedFile(msgspec.Struct, frozen=True, kw_only=True):
    """What merging did to a gold set; conflicts are sentences for a person, and were not written.
    `without_grade` counts the rows of files that nobody has filled in."""

    gold: str
    added: int
    already: int
    conflicts: list[str]
    without_grade: int | UnsetType = UNSET


def merge_judgments(
    gold: Path, files: Sequence[Path], *, by: str = "", replace: bool = False
) -> MergedFile:
    """Bring filled-in CSV files into the gold set. `by` judged where a row does not say who, and
    now where it does not say when. A row that cannot be of this set stops everything."""
    given: list[Judgment] = []
    blank = 0
    now = datetime.now(UTC).isoformat(timespec="seconds")
    gold_set = formats.read_gold(gold)
    for path in files:
        rows, empty = csv_gold.read_judgments(path)
        for where, judgment in rows:
            if problem := misfit(gold_set, judgment):
                hint = "Nothing was changed. Is it the set that was scored?"
                raise InputError(problem, where=where, hint=hint)
            signed = msgspec.structs.replace(
                judgment, judge=judgment.judge or by, at=judgment.at or now
            )
            given.append(signed)
        blank += empty
    merged = merge_into(gold, given, replace=replace)
    return msgspec.structs.replace(merged, without_grade=blank)


def merge_into(path: Path, given: Sequence[Judgment], *, replace: bool) -> MergedFile:
    """All that is new, in one step."""
    with gold_jsonl.locked(path):
        known = {
            (judgment.query_id, judgment.doc_id): judgment
            for judgment in formats.read_gold(path).iter_judgments()
        }
        merged = merge(known, given, replace=replace)
        if merged.new:
            formats.add_judgments(path, merged.new)
    return MergedFile(
        gold=str(path),
        added=len(merged.new),
        already=merged.already,
        conflicts=list(merged.conflicts),
    )


def misfit(gold: GoldSet, judgment: Judgment) -> str:
    """Why a judgment cannot be of this set; empty when it can."""
    if judgment.query_id not in gold.query_ids:
        return f"no query {judgment.query_id!r} in the gold set {gold.name!r}"
    if gold.top_grade and not 0 <= judgment.grade <= gold.top_grade:
        graded = f"grade {judgment.grade} of {judgment.doc_id} on query {judgment.query_id}"
        return f"{graded}: the scale is 0 to {gold.top_grade}"
    return ""

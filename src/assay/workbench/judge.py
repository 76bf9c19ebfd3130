"""The verbs of judging: what to judge next, and bringing what was judged into the gold set. What
several systems leave unjudged is in `pooling`."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.results_file import encode
from assay.core.types import ASKED, GoldSet, Judgment
from assay.formats import csv_gold, gold_jsonl
from assay.formats.results_json import read_results
from assay.judging.merge import merge
from assay.judging.next import Decision, next_to_judge

__all__ = [
    "Decision",
    "MergedFile",
    "merge_into",
    "merge_judgments",
    "misfit",
    "next_pairs",
    "write_pairs",
]

# ── what to judge ─────────────────────────────────────────────────────────────────────────────────


def next_pairs(
    first: Path,
    second: Path | None = None,
    *,
    measure: str = "nDCG@10",
    threshold: float | None = None,
) -> Decision:
    """What to judge to know whether the second run is better than the first, or whether the first
    reaches `threshold`."""
    if second is None and threshold is None:
        raise UsageError(
            "there is nothing to decide", hint="Give a second results file, or --threshold."
        )
    if threshold is not None and not math.isfinite(threshold):
        raise UsageError(f"the threshold must be a number, not {threshold}")
    results = [read_results(path) for path in (first, second) if path is not None]
    prints = [scored.receipt.gold.fingerprint for scored in results]
    if len(set(prints)) > 1:
        shown = " and ".join(fingerprint[:12] for fingerprint in prints)
        raise InputError(
            f"the two files were scored on different gold sets (fingerprint {shown})",
            where=str(second),
            hint="Score both on the same one.",
        )
    entries = [scored.per_query for scored in results]
    return next_to_judge(*entries, measure=measure, threshold=threshold or 0.0)


def write_pairs(decision: Decision, output: Path) -> None:
    """The pairs as CSV for a judge's spreadsheet (fill in grade and rationale), or as JSON for
    programs. The source tells later calls which judgments were asked for."""
    if output.suffix == ".json":
        write_atomic(output, encode(decision))
        return
    if output.suffix != ".csv":
        raise UsageError(
            f"pairs are written as .csv or .json, not {output.suffix or 'without an ending'}",
            where=str(output),
        )
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["query_id", "query", "doc_id", "grade", "rationale", "source", "narrowing"])
    for pair in decision.pairs:
        narrowing = f"{pair.narrowing:.6f}"
        writer.writerow([pair.query_id, pair.query_text, pair.doc_id, "", "", ASKED, narrowing])
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

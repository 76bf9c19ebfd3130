"""`assay gold next`: the pairs to judge next to decide between two runs, or whether a run reaches a
threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.results import Results
from assay.core.results_file import encode
from assay.core.types import ASKED_BY_NEXT
from assay.evaluation.comparison import compare
from assay.evaluation.unjudged.verdict_stability import is_closed
from assay.formats.results_json import read_results
from assay.formats.spreadsheet import csv_text, guarded_row
from assay.judging.next import Decision, next_to_judge
from assay.reports.wording import Sentences, answers
from assay.reports.words import Words
from assay.workbench.deciding.compare import names_of_systems
from assay.workbench.judging.vote_totals import dataset_of, split_by_votes


def next_pairs(
    first: Path,
    second: Path | None = None,
    *,
    measure: str = "nDCG@10",
    threshold: float | None = None,
) -> Decision:
    """The pairs to judge to decide whether the second run is better than the first, or whether the
    first reaches `threshold`."""
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
    refuse_closed(results, str(first))
    if not any(entry.known_grades for scored in results for entry in scored.per_query):
        raise InputError(
            "nothing is judged yet, and what to judge next is learnt from judgments",
            where=str(first),
            hint="Begin with a pool: assay gold pool DATASET --run " + str(first),
        )
    entries = [scored.per_query for scored in results]
    decision = next_to_judge(*entries, measure=measure, threshold=threshold or 0.0)
    decision = without_voted(decision, dataset_of(results[0]))
    if second is None or threshold:
        return decision
    verdict = _verdict(results, names_of_systems(results, (first, second)), decision.measure)
    return msgspec.structs.replace(decision, verdict=verdict)


def without_voted(decision: Decision, dataset: Path | None) -> Decision:
    """The decision without the pairs that are being judged already, and with those that need a
    ruling apart."""
    if dataset is None:
        return decision
    found = split_by_votes(dataset, decision.pairs)
    first = split_by_votes(dataset, decision.pairs[: decision.needed]).left
    return msgspec.structs.replace(
        decision,
        pairs=found.left,
        needed=len(first),
        rulings=found.rulings,
        being_judged=len(found.dealt) + len(found.judged),
    )


def _verdict(results: Sequence[Results], names: Sequence[str], measure: str) -> str:
    """The verdict of `assay compare`; empty if the measure was not scored."""
    try:
        found = compare(results, names, primary=measure, force=True)
    except InputError:
        return ""
    (answer,) = answers(found, Sentences(Words("en")))
    return answer.text


def refuse_closed(results: Sequence[Results], where: str = "") -> None:
    """Refuse closed sets, in which unlisted documents count as not relevant: they need no
    judgments."""
    if all(map(is_closed, results)):
        raise InputError(
            "nothing is unjudged here: the set is closed, and what it does not list counts as not "
            "relevant",
            where=where,
            hint="`assay compare` and gates can already decide. To have more documents judged, "
            "name a rubric in the set and score again.",
        )


def write_pairs(decision: Decision, output: Path) -> None:
    """The pairs as CSV for a judge's spreadsheet (fill in grade and rationale), or as JSON for
    programs. The source tells later calls which judgments were asked for."""
    if output.suffix == ".json":
        write_atomic(output, encode(decision))
        return
    if output.suffix != ".csv":
        raise UsageError(
            f"pairs must be written as .csv or .json, not {output.suffix or 'without an ending'}",
            where=str(output),
        )
    columns = ["query_id", "query", "doc_id", "grade", "rationale", "source", "narrowing"]
    rows = (
        (
            pair.query_id,
            pair.query_text,
            pair.doc_id,
            "",
            "",
            ASKED_BY_NEXT,
            f"{pair.narrowing:.6f}",
        )
        for pair in decision.pairs
    )
    write_atomic(output, csv_text([columns, *map(guarded_row, rows)]))

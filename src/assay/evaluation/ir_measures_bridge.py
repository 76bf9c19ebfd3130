"""Compute measures that are not ours with the package ir_measures: Rprec, IPrec, SetF, infAP,
Accuracy, BPM, INST and the rest of its list, and ours with a parameter that only it knows
(`judged_only=True`, `gains={…}`). The extra `measures` installs it; it is loaded when such a
measure is asked for.

It is given our ranking and not the scores, so that no two measures break a tie differently. Its
values are used for the queries that have one by our rules; where it sums over queries (NumQ,
NumRel, NumRet) so do we."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.types import GoldSet, Run

Floats = np.ndarray[Any, np.dtype[np.float64]]

# Its measures that are not ours, so that they are known by name where it is not installed.
NAMES = frozenset(
    "AP_IA Accuracy BPM Compat ERR_IA INSQ INST IPrec MAP_IA NDCG NERR8 NERR9 NERR10 NERR11 NRBP "
    "NumQ NumRel NumRelRet NumRet P_IA RPrec Rprec SDCG SetAP SetF SetP SetR SetRelP StRecall "
    "alpha_DCG alpha_nDCG infAP nERR_IA nNRBP α_DCG α_nDCG".split()
)
PARAMETERS = ("judged_only", "gains")
SUMMED = ("NumQ", "NumRel", "NumRet")


def parse(text: str) -> tuple[str, int | None] | None:
    """(name with its parameters, cutoff) of a measure of ir_measures; None where it has no such.
    Raises InputError where it is one of its measures, and ir_measures is not installed."""
    measure = _parse_with_package(text)
    if measure is None:
        return None
    known = measure.SUPPORTED_PARAMS
    needed = [name for name in known if known[name].required and name not in measure.params]
    if needed:
        raise InputError(
            f"measure {text!r} needs {' and '.join(needed)}",
            hint=f"Write {measure.NAME}({', '.join(f'{name}=…' for name in needed)}).",
        )
    try:
        measure.validate_params()
    except AssertionError as error:
        raise InputError(f"measure {text!r}: ir_measures says: {error}") from error
    cutoff = measure.params.get("cutoff") if measure.AT_PARAM == "cutoff" else None
    return str(measure).removesuffix(f"@{cutoff}"), cutoff


@cache
def _parse_with_package(text: str) -> Any:
    looks_like = re.match(r"\s*([^\W\d]\w*)", text)
    named = looks_like is not None and looks_like[1] in NAMES
    if not named and not any(re.search(rf"\b{key}\s*=", text) for key in PARAMETERS):
        return None
    ir_measures = imported("ir_measures", f"the measure {text!r}", "measures")
    try:
        return ir_measures.parse_measure(text)
    except (NameError, SyntaxError, TypeError, ValueError) as error:
        raise InputError(f"measure {text!r}: ir_measures says: {error}") from error


def description_of(text: str) -> str | None:
    """What ir_measures calls a measure in words; None where it has no such."""
    measure = _parse_with_package(text)
    return None if measure is None else str(measure.PRETTY_NAME)


def values(
    run: Run | Mapping[str, Mapping[str, float]], gold: GoldSet, measures: Sequence[str]
) -> dict[str, Floats]:
    """The value of every query of the gold set by measure; NaN where ir_measures has none."""
    import ir_measures

    theirs = {name: _parse_with_package(name) for name in measures}
    rows = {query_id: row for row, query_id in enumerate(gold.query_ids)}
    qrels: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in gold.judgments.select("query_id", "doc_id", "grade").iter_rows():
        qrels.setdefault(query_id, {})[doc_id] = grade
    table = {name: np.full(len(rows), np.nan) for name in theirs}
    names = {measure: name for name, measure in theirs.items()}
    ranks = _ranks(run, rows)
    # Asked for together, it sometimes counts NumRet over the judged documents alone, as the order
    # of a Python set decides: so measures of judged documents are asked for by themselves.
    judged_only = [measure for measure in names if measure.params.get("judged_only")]
    others = [measure for measure in names if measure not in judged_only]
    try:
        for asked in filter(None, (others, judged_only)):
            for found in ir_measures.iter_calc(asked, qrels, ranks):
                table[names[found.measure]][rows[found.query_id]] = found.value
    except (ArithmeticError, ImportError, OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"ir_measures cannot compute {', '.join(theirs)}",
            hint=f"It says: {' '.join(str(error).split())}",
        ) from error
    return table


def _ranks(
    run: Run | Mapping[str, Mapping[str, float]], wanted: Iterable[str]
) -> dict[str, dict[str, float]]:
    """Scores that say the ranking and nothing else. All are above 0, which is what Compat takes for
    a document that was not returned."""
    ranked = {}
    for query_id in wanted:
        if isinstance(run, Run):
            doc_ids = run.doc_ids(query_id)
        else:
            scored = run.get(query_id, {})
            doc_ids = sorted(scored, key=lambda doc_id: (scored[doc_id], doc_id), reverse=True)
        if doc_ids:
            last = len(doc_ids)
            ranked[query_id] = {doc_id: float(last - at) for at, doc_id in enumerate(doc_ids)}
    return ranked


def is_summed(name: str) -> bool:
    return name.partition("(")[0] in SUMMED

"""Parse and compute measures: `nDCG@10`, `P(rel=2)@5`, `RR(rel=2)`. The text is the identity; it
parses back to an equal value.

A formula sees judged hits only, packed into a matrix with one row a query: `grades[i, j]` is the
grade of the j-th judged hit of query i and `ranks[i, j]` the rank it stood at. Unjudged hits count
as not relevant and so add nothing to any sum; they show only as gaps between ranks. That makes a
run of ten million rows a small matrix.

To add a measure: its function; its row in MEASURES; its words in [formulas] of each
reports/words/*.toml; its row in docs/measures.md; and its values worked out by hand in
tests/evaluation/test_measures.py. A parameter that no other measure takes is read in
`_param_value`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from assay.core import plugins
from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.types import GoldSet, Run

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Booleans = np.ndarray[Any, np.dtype[np.bool_]]

MAX_CUTOFF = 10**9  # taste: far beyond any list of hits, below NO_RANK
NO_RANK = 2**40  # the rank of padding: beyond every cutoff
NO_GRADE = -(2**30)  # the grade of padding: below every threshold


@dataclass(frozen=True, kw_only=True)
class JudgedHits:
    """The judged part of a ranking, one row a query, padded to the right with NO_RANK and
    NO_GRADE."""

    ranks: Integers
    grades: Integers
    ideal: Integers  # every judged grade of the query, best first
    returned: Integers  # how many hits the engine returned, judged or not
    max_grade: int


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters. Parameters at their default are left out of the text."""

    name: str
    cutoff: int | None = None
    params: tuple[tuple[str, float | int | str], ...] = ()

    def __str__(self) -> str:
        inside = ",".join(f"{key}={value}" for key, value in self.params)
        return (
            self.name
            + (f"({inside})" if inside else "")
            + (f"@{self.cutoff}" if self.cutoff else "")
        )

    def param(self, key: str) -> Any:
        return dict(self.params).get(key, MEASURES[self.name].params.get(key))


@dataclass(frozen=True, kw_only=True)
class Formula:
    """How a measure is computed, and how to say so."""

    compute: Callable[[JudgedHits, Measure], Floats]
    text: str
    source: str
    params: dict[str, float | int | str | None]
    cutoff: Literal["required", "optional", "none"] = "optional"
    ideal_in_bounds: Literal["numerator", "denominator"] = "denominator"


# ── formulas ──────────────────────────────────────────────────────────────────────────────────────


def _in_cutoff(hits: JudgedHits, measure: Measure) -> Booleans:
    """Which cells are judged hits inside the cutoff."""
    return hits.ranks <= (measure.cutoff or NO_RANK - 1)


def _relevant(hits: JudgedHits, measure: Measure) -> Booleans:
    """Which cells are relevant hits inside the cutoff, by the measure's threshold."""
    relevant: Booleans = _in_cutoff(hits, measure) & (hits.grades >= measure.param("rel"))
    return relevant


def _known_relevant(hits: JudgedHits, measure: Measure) -> Integers:
    return np.asarray((hits.ideal >= measure.param("rel")).sum(axis=1))


def _ratio(numerator: Any, denominator: Any) -> Floats:
    """0 where the denominator is 0."""
    numerator, denominator = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    result: Floats = np.divide(
        numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0
    )
    return result


def _gain(grades: Integers, kind: str) -> Floats:
    positive = np.maximum(grades, 0)
    return np.asarray(np.exp2(positive) - 1.0 if kind == "exp2" else positive, np.float64)


def _ndcg(hits: JudgedHits, measure: Measure) -> Floats:
    kind = measure.param("gain")
    gains = _gain(hits.grades, kind) * _in_cutoff(hits, measure)
    dcg = (gains / np.log2(hits.ranks + 1)).sum(axis=1)
    best = _gain(hits.ideal[:, : measure.cutoff], kind)
    ideal_dcg = (best / np.log2(np.arange(best.shape[1]) + 2)).sum(axis=1)
    return _ratio(dcg, ideal_dcg)


def _precision(hits: JudgedHits, measure: Measure) -> Floats:
    return np.asarray(_relevant(hits, measure).sum(axis=1) / float(measure.cutoff or 1), np.float64)


def _recall(hits: JudgedHits, measure: Measure) -> Floats:
    return _ratio(_relevant(hits, measure).sum(axis=1), _known_relevant(hits, measure))


def _success(hits: JudgedHits, measure: Measure) -> Floats:
    return np.asarray(_relevant(hits, measure).any(axis=1), np.float64)


def _reciprocal_rank(hits: JudgedHits, measure: Measure) -> Floats:
    first = np.where(_relevant(hits, measure), hits.ranks, NO_RANK).min(axis=1, initial=NO_RANK)
    return np.asarray(np.where(first < NO_RANK, 1.0 / first, 0.0))


def _average_precision(hits: JudgedHits, measure: Measure) -> Floats:
    relevant = _relevant(hits, measure)
    precision_there = relevant.cumsum(axis=1) / hits.ranks
    return _ratio((precision_there * relevant).sum(axis=1), _known_relevant(hits, measure))


def _judged(hits: JudgedHits, measure: Measure) -> Floats:
    looked_at = np.minimum(hits.returned, measure.cutoff or NO_RANK)
    return _ratio(_in_cutoff(hits, measure).sum(axis=1), looked_at)


def _bpref(hits: JudgedHits, measure: Measure) -> Floats:
    relevant = _relevant(hits, measure)
    known_relevant = _known_relevant(hits, measure)
    known_other = ((hits.ideal >= 0) & (hits.ideal < measure.param("rel"))).sum(axis=1)
    other = _in_cutoff(hits, measure) & (hits.grades >= 0) & ~relevant
    above = np.minimum(other.cumsum(axis=1), known_relevant[:, None])
    penalty = _ratio(
        above, np.broadcast_to(np.minimum(known_relevant, known_other)[:, None], above.shape)
    )
    return _ratio(((1.0 - penalty) * relevant).sum(axis=1), known_relevant)


def _rank_biased_precision(hits: JudgedHits, measure: Measure) -> Floats:
    persistence, threshold = measure.param("p"), measure.param("rel")
    if threshold is None:
        gains = np.maximum(hits.grades, 0) / max(hits.max_grade, 1)
    else:
        gains = (hits.grades >= threshold).astype(np.float64)
    inside = _in_cutoff(hits, measure)
    weights = np.power(float(persistence), np.where(inside, hits.ranks - 1, 0)) * inside
    return np.asarray((1.0 - persistence) * (gains * weights).sum(axis=1))


def rbp_residual(hits: JudgedHits, measure: Measure) -> Floats:
    """What RBP could still gain: the weight of every rank inside the cutoff that holds no judged
    hit, whether what is there is unjudged or the list ended before (Moffat & Zobel 2008, 3.2). The
    true value is at most RBP + residual."""
    persistence = float(measure.param("p"))
    inside = _in_cutoff(hits, measure)
    judged = (np.power(persistence, np.where(inside, hits.ranks - 1, 0)) * inside).sum(axis=1)
    whole = 1.0 - persistence**measure.cutoff if measure.cutoff else 1.0
    return np.asarray(np.maximum(whole - (1.0 - persistence) * judged, 0.0))


def _expected_reciprocal_rank(hits: JudgedHits, measure: Measure) -> Floats:
    top = measure.param("max") or hits.max_grade
    satisfied = (_gain(np.minimum(hits.grades, top), "exp2") / 2.0**top) * _in_cutoff(hits, measure)
    still_looking = np.cumprod(1.0 - satisfied, axis=1) / (1.0 - satisfied)
    return np.asarray((satisfied * still_looking / hits.ranks).sum(axis=1))


def _from_a_whole_run(hits: JudgedHits, measure: Measure) -> Floats:
    raise InputError(
        f"measure {str(measure)!r} is computed by ir_measures, from a whole run",
        hint="Use one of Assay's own here.",
    )


def is_external(measure: Measure) -> bool:
    """Whether it is computed by ir_measures, from a whole run."""
    return measure.name not in OURS and MEASURES[measure.name].compute is _from_a_whole_run


class _FormulaTable(dict[str, Formula]):
    """Our own measures. A name that another package adds is loaded when it is asked for."""

    def __missing__(self, name: str) -> Formula:
        return _load_added(name)


@cache
def _load_added(name: str) -> Formula:
    if not plugins.is_added(FORMULAS, name) and (words := _external_description(name)) is not None:
        return Formula(compute=_from_a_whole_run, text=words, source="ir_measures", params={})
    formula: Formula = plugins.load(FORMULAS, name)
    return formula


MEASURES = _FormulaTable(
    nDCG=Formula(
        compute=_ndcg,
        text=(
            "sum of gain/log2(rank+1) over the top k, divided by the same sum for the best "
            "possible order of all judged documents"
        ),
        source="Järvelin & Kekäläinen 2002",
        params={"gain": "linear"},
    ),
    P=Formula(
        compute=_precision,
        text="relevant hits in the top k, divided by k (also when fewer were returned)",
        source="Manning, Raghavan & Schütze 2008, 8.4",
        params={"rel": 1},
        cutoff="required",
    ),
    R=Formula(
        compute=_recall,
        text="relevant hits in the top k, divided by all documents judged relevant",
        source="Manning, Raghavan & Schütze 2008, 8.3",
        params={"rel": 1},
        cutoff="required",
        ideal_in_bounds="numerator",
    ),
    RR=Formula(
        compute=_reciprocal_rank,
        text="1/rank of the first relevant hit, 0 when there is none",
        source="Kantor & Voorhees 2000",
        params={"rel": 1},
    ),
    AP=Formula(
        compute=_average_precision,
        text=(
            "precision at the rank of each relevant hit, summed and divided by all documents "
            "judged relevant"
        ),
        source="Harman 1992; as trec_eval's map",
        params={"rel": 1},
    ),
    Success=Formula(
        compute=_success,
        text="1 when the top k has a relevant hit, else 0",
        source="trec_eval's success",
        params={"rel": 1},
        cutoff="required",
    ),
    Judged=Formula(
        compute=_judged,
        text="share of the hits in the top k that somebody has judged",
        source="Sakai 2007",
        params={},
    ),
    Bpref=Formula(
        compute=_bpref,
        text=(
            "how often a relevant hit stands above judged not-relevant ones; unjudged hits are "
            "ignored"
        ),
        source="Buckley & Voorhees 2004; as trec_eval's bpref",
        params={"rel": 1},
        cutoff="none",
    ),
    RBP=Formula(
        compute=_rank_biased_precision,
        text="(1-p) * sum of gain * p^(rank-1); gain is grade/max grade, or 0/1 when rel is given",
        source="Moffat & Zobel 2008",
        params={"p": 0.8, "rel": None},
    ),
    ERR=Formula(
        compute=_expected_reciprocal_rank,
        text="expected 1/rank where a reader stops; a grade satisfies with (2^grade-1)/2^max",
        source="Chapelle et al. 2009",
        params={"max": None},
    ),
)

OURS = frozenset(MEASURES)

# In any case a measure is known by its name, and by these.
ALIASES = {name.lower(): name for name in MEASURES} | {
    "precision": "P",
    "recall": "R",
    "mrr": "RR",
    "map": "AP",
    "hit": "Success",
}
FORMULAS = plugins.PluginKind(
    name="measure",
    group="assay.measures",
    built_in=dict.fromkeys(MEASURES, "assay.evaluation.measures"),
    aliases=frozenset(ALIASES),
)

SHAPE = re.compile(r"\s*([A-Za-z]+)\s*(?:\(([^()]*)\))?\s*(?:@\s*([0-9]+))?\s*")

# ── parse ─────────────────────────────────────────────────────────────────────────────────────────


def parse_measure(text: str) -> Measure:
    """Read ir_measures' notation. Raises InputError that names the known measures or parameters.
    What is not ours and ir_measures has is one of its own."""
    try:
        return _parse_ours(text)
    except InputError:
        theirs = _parse_external(text)
        if theirs is None:
            raise
    return Measure(*theirs)


def _parse_ours(text: str) -> Measure:
    match = SHAPE.fullmatch(text)
    name = _name(match[1]) if match else None
    if match is None or name is None:
        known = ", ".join(plugins.names(FORMULAS))
        raise InputError(
            f"unknown measure {text!r}",
            hint=f"{did_you_mean(text)}Known: {known}; "
            "written like nDCG@10, P(rel=2)@5, RR(rel=2). "
            "And those of ir_measures: Rprec, SetF, INST and others.",
        )
    params = _parse_params(text, name, match[2] or "")
    cutoff = int(match[3]) if match[3] else None
    rule = MEASURES[name].cutoff
    if cutoff is not None and cutoff > MAX_CUTOFF:
        raise InputError(f"measure {text!r}: the cutoff is larger than {MAX_CUTOFF:,}")
    if cutoff == 0 or (rule == "required" and cutoff is None):
        raise InputError(
            f"measure {text!r} needs a cutoff of at least 1", hint=f"Write it like {name}@10."
        )
    if rule == "none" and cutoff is not None:
        raise InputError(f"measure {text!r} takes no cutoff", hint=f"Write {name}.")
    return Measure(name, cutoff, params)


def did_you_mean(written: str, known: Iterable[str] = ()) -> str:
    """nDCG@10 for ndcg10, ndcg@l0 or NDGC@10: one of the `known`, or a measure with its cutoff."""
    names = {_plain_name(name): name for name in known}
    parts = re.fullmatch(r"([a-z]+)(\d+)", _plain_name(written))
    if parts and (name := _name(parts[1])):
        names.setdefault(parts[0], f"{name}@{parts[2]}")
    near = difflib.get_close_matches(_plain_name(written), names, n=1, cutoff=0.7)
    return f"Did you mean {names[near[0]]}? " if near else ""


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def is_share(measure: Measure) -> bool:
    """Whether its values are known to lie between 0 and 1."""
    return measure.name in OURS


def _name(written: str) -> str | None:
    """The name of a measure: ours in any case and by its aliases, another package's as it is."""
    if written.lower() in ALIASES:
        return ALIASES[written.lower()]
    return written if plugins.is_added(FORMULAS, written) else None


def parse_measures(texts: Iterable[str]) -> tuple[Measure, ...]:
    """Several measures, without repeats, in the order given."""
    return tuple(dict.fromkeys(parse_measure(text) for text in texts))


def _parse_params(text: str, name: str, inside: str) -> tuple[tuple[str, float | int | str], ...]:
    known = MEASURES[name].params
    given: dict[str, float | int | str] = {}
    for part in filter(None, (part.strip() for part in inside.split(","))):
        key, equals, value = (piece.strip().strip("'\"") for piece in part.partition("="))
        if key == "dcg" and "gain" in known:  # ir_measures' own name for the same choice
            key, value = "gain", {"exp-log2": "exp2", "log2": "linear"}.get(value, value)
        if not equals or key not in known or key in given:
            options = ", ".join(known) or "none"
            raise InputError(
                f"measure {text!r}: unknown parameter {part!r}", hint=f"{name} takes: {options}."
            )
        given[key] = _param_value(text, key, value)
    return tuple((key, given[key]) for key in known if key in given and given[key] != known[key])


def _param_value(text: str, key: str, value: str) -> float | int | str:
    ok: dict[str, Callable[[str], float | int | str | None]] = {
        "rel": lambda v: int(v) if re.fullmatch(r"[1-9][0-9]{0,5}", v) else None,
        "max": lambda v: int(v) if re.fullmatch(r"[1-9][0-9]?", v) else None,
        "p": lambda v: float(v) if re.fullmatch(r"0?\.\d+", v) and float(v) > 0 else None,
        "gain": lambda v: v if v in ("linear", "exp2") else None,
    }
    expected = {
        "rel": "a whole number from 1",
        "max": "a whole number from 1 to 99",
        "p": "a number between 0 and 1",
    }
    if key not in ok:  # a parameter of another package's measure, which knows what it takes
        return value
    parsed = ok[key](value)
    if parsed is None:
        raise InputError(
            f"measure {text!r}: {key}={value} is not {expected.get(key, 'linear or exp2')}"
        )
    return parsed


# ── suites and result names ───────────────────────────────────────────────────────────────────────

GRADED_SUITE = ("RR(rel=2)", "nDCG@10", "nDCG@5", "P@5", "P@10", "R@10", "R@20")
BINARY_SUITE = ("RR", "nDCG@10", "nDCG@5", "P@5", "P@10", "R@5", "R@10")


def suite_of(relevant: int, high: int, *, graded: bool = True) -> tuple[str, ...]:
    """A suite with other thresholds: P and R count from `relevant` on, RR from `high` on."""
    suite = [parse_measure(name) for name in (GRADED_SUITE if graded else BINARY_SUITE)]
    counted = {"P": relevant, "R": relevant, "RR": high}
    return tuple(
        str(parse_measure(f"{measure.name}(rel={counted[measure.name]}){_cutoff_text(measure)}"))
        if measure.name in counted
        else str(measure)
        for measure in suite
    )


def _cutoff_text(measure: Measure) -> str:
    return f"@{measure.cutoff}" if measure.cutoff else ""


_RESULT_NAMES = {"nDCG": "ndcg", "P": "precision", "R": "recall"}


def result_key(measure: Measure, among: Iterable[Measure]) -> str:
    """The key of a measure in results JSON: the graded suite's names where they exist, else the
    measure's own text."""
    if not measure.params and measure.name in _RESULT_NAMES and measure.cutoff:
        return f"{_RESULT_NAMES[measure.name]}@{measure.cutoff}"
    # "mrr" is the suite's own: RR(rel=2) on graded sets; plain RR only within the whole suite for
    # right-or-not sets
    suite = {str(other) for other in among}
    if str(measure) == "RR(rel=2)" or (str(measure) == "RR" and suite >= set(BINARY_SUITE)):
        return "mrr"
    return str(measure)


# ── measures of spans and of sets ─────────────────────────────────────────────────────────────────
# Public benchmarks define these for themselves. Precision and recall of LegalBench-RAG count
# characters (Pipitone and Houir Alami 2024); as in its script, each retrieved span counts by
# itself, so that characters retrieved twice count twice. Precision, recall and F2 of COLIEE's
# statute task are of the whole list that an engine returns, by query, and then averaged
# (macro-average, as from 2024 on).

Span = tuple[str, int, int]  # file, first character, character after the last


def span_precision_recall(found: Sequence[Span], answers: Sequence[Span]) -> tuple[float, float]:
    """Of one query."""
    common = sum(
        max(0, min(high, last) - max(low, first))
        for file, low, high in found
        for other, first, last in answers
        if file == other
    )
    retrieved = sum(high - low for _, low, high in found)
    relevant = sum(last - first for _, first, last in answers)
    return common / retrieved if retrieved else 0.0, common / relevant if relevant else 0.0


def set_measures(found: Sequence[str], relevant: Collection[str]) -> tuple[float, float, float]:
    """Precision, recall and F2 of one query."""
    right = len(set(found) & set(relevant))
    precision = right / len(found) if found else 0.0
    recall = right / len(relevant) if relevant else 0.0
    below = 4 * precision + recall
    return precision, recall, 5 * precision * recall / below if below else 0.0


# ── measures of ir_measures ───────────────────────────────────────────────────────────────────────
#
# Measures that are not ours are computed with the package ir_measures: Rprec, IPrec, SetF, infAP,
# Accuracy, BPM, INST and the rest of its list, and ours with a parameter that only it knows
# (`judged_only=True`, `gains={…}`). The extra `measures` installs it; it is loaded when such a
# measure is asked for.
#
# It is given our ranking and not the scores, so that no two measures break a tie differently. Its
# values are used for the queries that have one by our rules; where it sums over queries (NumQ,
# NumRel, NumRet) so do we.

# Its measures that are not ours, so that they are known by name where it is not installed.
EXTERNAL_NAMES = frozenset(
    "AP_IA Accuracy BPM Compat ERR_IA INSQ INST IPrec MAP_IA NDCG NERR8 NERR9 NERR10 NERR11 NRBP "
    "NumQ NumRel NumRelRet NumRet P_IA RPrec Rprec SDCG SetAP SetF SetP SetR SetRelP StRecall "
    "alpha_DCG alpha_nDCG infAP nERR_IA nNRBP α_DCG α_nDCG".split()
)
EXTERNAL_PARAMETERS = ("judged_only", "gains")
SUMMED = ("NumQ", "NumRel", "NumRet")


def _parse_external(text: str) -> tuple[str, int | None] | None:
    """(name with its parameters, cutoff) of a measure of ir_measures; None where it has no such.
    Raises InputError where it is one of its measures, and ir_measures is not installed."""
    measure = _external_measure(text)
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
def _external_measure(text: str) -> Any:
    looks_like = re.match(r"\s*([^\W\d]\w*)", text)
    named = looks_like is not None and looks_like[1] in EXTERNAL_NAMES
    if not named and not any(re.search(rf"\b{key}\s*=", text) for key in EXTERNAL_PARAMETERS):
        return None
    ir_measures = imported("ir_measures", f"the measure {text!r}", "measures")
    try:
        return ir_measures.parse_measure(text)
    except (NameError, SyntaxError, TypeError, ValueError) as error:
        raise InputError(f"measure {text!r}: ir_measures says: {error}") from error


def _external_description(text: str) -> str | None:
    """What ir_measures calls a measure in words; None where it has no such."""
    measure = _external_measure(text)
    return None if measure is None else str(measure.PRETTY_NAME)


def external_values(
    run: Run | Mapping[str, Mapping[str, float]], gold: GoldSet, measures: Sequence[str]
) -> dict[str, Floats]:
    """The value of every query of the gold set by measure; NaN where ir_measures has none."""
    import ir_measures

    theirs = {name: _external_measure(name) for name in measures}
    rows = {query_id: row for row, query_id in enumerate(gold.query_ids)}
    qrels: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in gold.judgments.select("query_id", "doc_id", "grade").iter_rows():
        qrels.setdefault(query_id, {})[doc_id] = grade
    table = {name: np.full(len(rows), np.nan) for name in theirs}
    names = {measure: name for name, measure in theirs.items()}
    ranks = _ranks_alone(run, rows)
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


def _ranks_alone(
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

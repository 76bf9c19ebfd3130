"""Golden sets: pass/fail checks on what a search must find, must not find, and must say it does not know.

outcomes = check_all(gold, answers)         one Outcome a question: passed, first_rank, failure, reason
results(outcomes)                           overall, by_category, by_test_type, intervals, per_query
evaluate_gates(results, baseline, policy)   the gates, each pass, fail or skipped
check_expectations(gold, known_locators)    what to mend in the set before a run
"""

from assay.golden.checks import DEFAULT_K, DEFAULT_MIN_SCORE, Outcome, check, check_all, checks_of, results_of
from assay.golden.expectations import check_expectations
from assay.golden.gates import DEFAULT_POLICY, evaluate_gates, is_golden_measure
from assay.golden.places import (
    Locate,
    Place,
    close_versions,
    document_fields,
    hit_place,
    holds_on,
    label,
    matches,
    normal_date,
    normal_section,
    place_of,
    validity,
)
from assay.golden.robustness import robustness
from assay.golden.suite import evaluate_golden
from assay.golden.summary import results, summarize
from assay.golden.words import contains_term

__all__ = [
    "DEFAULT_K",
    "DEFAULT_MIN_SCORE",
    "DEFAULT_POLICY",
    "Locate",
    "Outcome",
    "Place",
    "check",
    "check_all",
    "check_expectations",
    "checks_of",
    "close_versions",
    "contains_term",
    "document_fields",
    "evaluate_gates",
    "evaluate_golden",
    "hit_place",
    "holds_on",
    "is_golden_measure",
    "label",
    "matches",
    "normal_date",
    "normal_section",
    "place_of",
    "results",
    "results_of",
    "robustness",
    "summarize",
    "validity",
]

"""Score a golden set: check every question, compute the figures, and robustness where the set has
variants of its questions. `gates.decide` gives the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from assay.core.errors import InputError
from assay.core.results import GoldenEntry, GoldenReceipt, GoldenResults, Robustness, RobustnessRow
from assay.core.types import GoldSet, QueryResult
from assay.evaluation import statistics
from assay.evaluation.golden.figures import build_results
from assay.evaluation.receipts import GOLDEN_POLICY, PASS, gold_card

if TYPE_CHECKING:
    from assay.law.matching import Locate


def evaluate_golden(
    gold: GoldSet,
    answers: Iterable[QueryResult],
    *,
    locate: Locate | None = None,
    k: int | None = None,
    min_score: float | None = None,
    language: str = "",
    worst_case: bool = False,
) -> GoldenResults:
    """Pass or fail for every question. `k` and `min_score` override what the questions state;
    `language` is that of the corpus, and `worst_case` asks for intervals that hold in the worst
    case. When and where it was scored is for the caller to add."""
    from assay.evaluation.golden.scoring import check_questions  # loads law and languages

    outcomes = check_questions(
        gold, answers, locate=locate, k=k, min_score=min_score, language=language
    )
    scored = build_results(outcomes, worst_case=worst_case)
    failed = int(scored.overall.get("n_failed") or 0)
    receipt = GoldenReceipt(
        measures=[PASS],
        gold=gold_card(gold),
        unjudged_policy=GOLDEN_POLICY,
        counts={"n_expected": len(gold.queries), "n_failed": failed},
    )
    answered = [entry for entry in scored.per_query if entry.failure != "error"]
    return msgspec.structs.replace(
        scored, receipt=receipt, robustness=robustness(scored) if _has_variants(answered) else None
    )


def _has_variants(entries: list[GoldenEntry]) -> bool:
    """Whether a question and a variant of it are among them."""
    known = {entry.query_id for entry in entries}
    return any(entry.perturbation and entry.parent in known for entry in entries)


# ── robustness ────────────────────────────────────────────────────────────────────────────────────

MOST_NAMED = 3  # perturbations with the largest drops; taste
# the others are named by how they begin
FAMILIES = {"case": "noise", "punctuation": "noise", "he": "hebrew"}


def perturbation_family(perturbation: str) -> str:
    """typo-keyboard is of the family typo, he-niqqud of hebrew, case of noise."""
    first = perturbation.partition("-")[0]
    return FAMILIES.get(first, first)


def robustness(results: GoldenResults, parents: GoldenResults | None = None) -> Robustness:
    """By perturbation and by family: n, pass rate with its interval, the same questions' rate
    unperturbed, the drop, and which broke. A drop is what is lost, as a share: 0.2 is 20 points
    down, a negative one is a gain. A failed call says nothing of the wording: such a variant, and
    the variants of such a question, are left out.

    The parents are in the same results, or in `parents` when the variants were run alone.
    `worst_families` and `worst_perturbations` name those with the largest drop, `worst_parents` the
    questions that break most often."""
    entries = [entry for entry in results.per_query if entry.failure != "error"]
    parent_entries = (
        [entry for entry in parents.per_query if entry.failure != "error"] if parents else []
    )
    passed = {entry.query_id: entry.passed for entry in (*parent_entries, *entries)}
    variants = [entry for entry in entries if entry.perturbation and entry.parent in passed]
    if not variants:
        raise InputError(
            "there are no perturbed questions with their parents in the results",
            hint="Run a set made by `assay gold perturb`; give the parents' results when they were "
            "run apart.",
        )
    by_perturbation = _rows_by_group(variants, passed, lambda entry: entry.perturbation)
    by_family = _rows_by_group(
        variants, passed, lambda entry: perturbation_family(entry.perturbation)
    )
    broken = Counter(entry.parent for entry in variants if passed[entry.parent] > entry.passed)
    fragile = sorted(broken, key=lambda parent: (-broken[parent], parent))
    return Robustness(
        overall=_robustness_row(variants, passed),
        by_perturbation=by_perturbation,
        by_family=by_family,
        worst_families=_largest_drops(by_family),
        worst_perturbations=_largest_drops(by_perturbation),
        worst_parents=fragile[:MOST_NAMED],
        broken_by_parent={parent: broken[parent] for parent in fragile},
    )


def _rows_by_group(
    variants: Sequence[GoldenEntry],
    passed: Mapping[str, bool],
    name_of: Callable[[GoldenEntry], str],
) -> dict[str, RobustnessRow]:
    groups: dict[str, list[GoldenEntry]] = {}
    for entry in variants:
        groups.setdefault(name_of(entry), []).append(entry)
    return {name: _robustness_row(group, passed) for name, group in sorted(groups.items())}


def _largest_drops(rows: Mapping[str, RobustnessRow]) -> list[str]:
    losing = [name for name in rows if rows[name].drop > 0]
    return sorted(losing, key=lambda name: (-rows[name].drop, name))[:MOST_NAMED]


def _robustness_row(variants: Sequence[GoldenEntry], passed: Mapping[str, bool]) -> RobustnessRow:
    n = len(variants)
    now = sum(entry.passed for entry in variants)
    before = sum(passed[entry.parent] for entry in variants)
    interval = statistics.rate_interval(now, n)
    return RobustnessRow(
        n=n,
        pass_rate=now / n,
        low=interval.low,
        high=interval.high,
        parent_pass_rate=before / n,
        drop=(before - now) / n,
        broken=[entry.query_id for entry in variants if passed[entry.parent] > entry.passed],
        mended=[entry.query_id for entry in variants if passed[entry.parent] < entry.passed],
    )

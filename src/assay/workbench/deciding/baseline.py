"""Reading the committed baseline, comparing results with it, and recording a new one."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.results import Baseline, GoldenResults, Recorded, Results
from assay.core.results_file import encode, to_json
from assay.evaluation.receipts import git_state
from assay.formats.results_json import read_results


def read_baseline(path: Path | None, *, golden: bool) -> Results | None:
    """The baseline where there is one yet: of a golden set for one, of a graded set for one."""
    if path is None or not path.exists():
        return None
    then = read_results(path)
    if golden != isinstance(then, GoldenResults):
        raise InputError(
            f"the baseline was not scored on a {'golden' if golden else 'graded'} set",
            where=str(path),
            hint="Write one with --update-baseline.",
        )
    return then


def stale_reason(results: Results, baseline: Results | None) -> str:
    """The reason why the results cannot be compared with the baseline; empty if they can."""
    if baseline is None:
        return ""
    from assay.evaluation.comparison import differing_fingerprints

    return "; ".join(differing_fingerprints(baseline.receipt, results.receipt))


def change_from_baseline(results: Results, baseline: Results, path: Path) -> Baseline:
    """The change of every figure over the queries both have, overall and in their slices."""
    from assay.evaluation.golden.changes import figure_changes

    found = figure_changes(results, baseline)
    return Baseline(
        path=str(path),
        stale=stale_reason(results, baseline),
        recorded=baseline.recorded,
        gold_status=baseline.receipt.gold.status,
        delta=found.delta,
        slices=found.slices,
        n=found.n,
        n_apart=found.n_apart,
        intervals=found.intervals,
        p=found.p,
    )


def who_records(by: str) -> str:
    """The person named, else the one who is logged in."""
    if by.strip():
        return by.strip()
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise UsageError(
            "the name of the person who records the baseline is missing",
            hint="Give yours with --by NAME.",
        ) from None


def update_baseline(
    results: Results,
    path: Path,
    *,
    by: str,
    why: str,
    write: Callable[[Path, bytes], None] = write_atomic,
) -> Recorded:
    """Record these results as the new baseline: who, when, why and at which commit. The texts of
    hits are left out, because a baseline is committed. `write` is for those who do something else
    in the same step."""
    if not results.receipt.counts.get("n_scored", 1):
        raise InputError(
            "no query is scored, so the baseline would have no figures",
            where=str(path),
            hint="Have the set judged first; `assay gold pool` begins.",
        )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    recorded = Recorded(by=by, why=why, at=now, git=git_state())
    kept = msgspec.structs.replace(_without_texts(results), baseline=None, recorded=recorded)
    write(path, encode(to_json(kept)))
    return recorded


def _without_texts(results: Results) -> Results:
    """Golden results with the ids of the hits alone."""
    if not isinstance(results, GoldenResults):
        return results
    entries = [msgspec.structs.replace(entry, hits=[]) for entry in results.per_query]
    return msgspec.structs.replace(results, per_query=entries)

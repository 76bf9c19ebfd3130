"""Writing the comment on a pull request: the results of `assay run` against the baselines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from assay.core.errors import EngineError, InputError
from assay.core.files import write_atomic
from assay.core.results import GoldenResults, Results
from assay.core.workspace import workspace
from assay.evaluation.comparison import Comparison, compare
from assay.reports.markdown import CommentedRun, comment
from assay.workbench.deciding.baseline import read_baseline
from assay.workbench.project.config import Config
from assay.workbench.scoring.run import CheckedFile, Outcome

KIND = re.compile(r"[A-Za-z_]\w*(?=:|$)")  # the class name of an error, which begins its message


def write_comment(
    target: Path,
    outcomes: Sequence[Outcome],
    checked: Sequence[CheckedFile],
    config: Config,
    *,
    texts: bool = False,
) -> None:
    """Short enough to be read. With `texts`, the words of queries and answers too."""
    pairs = [
        CommentedRun(
            gold=outcome.gold,
            engine=outcome.engine,
            results=outcome.results,
            comparison=_against_baseline(outcome, config),
            error=_public_error(outcome, texts),
        )
        for outcome in outcomes
    ]
    pairs += [
        CommentedRun(
            gold=each.name,
            engine=each.system,
            results=each.results,
            error=_public_error(each, texts),
        )
        for each in checked
    ]
    write_atomic(target, comment(pairs, texts=texts).encode())


def _public_error(outcome: Outcome | CheckedFile, texts: bool) -> str:
    """The error of an engine without paths of this machine, and unless `texts`, without its
    message, which may quote a query."""
    error = outcome.error
    if outcome.error_exit == EngineError.exit_code and not texts:
        ours, _, more = error.partition(": ")
        ours = ours.partition(" returned ")[0]
        kind = KIND.match(more)
        message = f"{ours}: {kind[0]}" if kind else ours
        error = message if message == error else f"{message} (the output of assay run says more)"
    home = workspace().resolve()
    return error.replace(str(home), home.name).replace(f"{Path.cwd().resolve()}/", "")


def _against_baseline(outcome: Outcome, config: Config) -> Comparison | None:
    results: Results | None = outcome.results
    baseline = config.gold[outcome.gold].baseline
    if results is None or not baseline:
        return None
    recorded = read_baseline(Path(baseline), golden=isinstance(results, GoldenResults))
    if recorded is None:
        return None
    try:
        # where the set changed, on the queries that both judge alike, as the pages do
        return compare([recorded, results], ["baseline", outcome.engine], force=True)
    except InputError:  # no query in common: the table says that the baseline is stale
        return None

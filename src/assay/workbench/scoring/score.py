"""`assay score`: scoring an engine or saved results on a gold set, with the change against the
baseline and the verdict of the gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from assay import formats
from assay.core import plugins
from assay.core.errors import InputError, UsageError, nearest_name
from assay.core.files import write_atomic
from assay.core.results import Gate, GoldenResults, Results, Verdict
from assay.core.results_file import encode, to_json
from assay.gold.rows import has_log
from assay.workbench.deciding.baseline import change_from_baseline, read_baseline, stale_reason
from assay.workbench.project.output_files import refuse_output
from assay.workbench.scoring.graded import refuse_other_documents, score_graded
from assay.workbench.scoring.request import (
    Progress,
    Say,
    ScoredRun,
    ScoreRequest,
    ignore_message,
    request_for,
    show_no_progress,
)


def score(
    request: ScoreRequest, *, progress: Progress = show_no_progress, say: Say = ignore_message
) -> ScoredRun:
    """Score, compare with the baseline, decide the gates, and write the results file where one is
    asked for."""
    sources = (request.search_module, request.engine, request.run)
    if sum(source is not None for source in sources) != 1:
        raise UsageError("give exactly one of --search-module, --engine or --run")
    request = _with_configured_engine(request)
    refuse_output(request.output, request.dataset, request.run, request.corpus)
    if request.corpus is not None:
        from assay.corpus.lookup import require_corpus

        require_corpus(request.corpus)
    gold = formats.read_gold(request.dataset)
    gold = replace(gold, name=request.name or gold.name)
    if not gold.queries:
        raise InputError(
            "there are no queries",
            where=str(request.dataset),
            hint=f"Add them first: assay gold add {request.dataset} --query TEXT",
        )
    if request.run is None:
        refuse_other_documents(request.choice, gold, request.dataset)
    if gold.is_golden:
        from assay.workbench.scoring.golden import score_golden  # loads law, languages and corpora

        scored = score_golden(gold, request, progress, say)
    else:
        scored = score_graded(gold, request, progress, say)
    scored = _with_baseline_and_verdict(scored, request)
    if request.output is not None:
        write_atomic(request.output, encode(to_json(scored.results)))
    return scored


def _with_configured_engine(request: ScoreRequest) -> ScoreRequest:
    """The request with the settings of its engine in assay.toml, where it names one. With a corpus
    of its own it names a baseline, which is not configured."""
    if request.engine is None or request.configured is not None:
        return request
    from assay.workbench.scoring.engines import find_engine

    found = find_engine(request.engine, request.config, corpus=request.corpus)
    if found is None:
        _refuse_unknown_engine(request.engine, request.config)
        return request
    own = request_for(found, request.dataset)
    return msgspec.structs.replace(
        request,
        engine=own.engine,
        configured=own.configured,
        run=own.run,
        corpus=request.corpus or own.corpus,
        top_k=request.top_k or own.top_k,
    )


def _refuse_unknown_engine(name: str, config: Path | None) -> None:
    """Refuse a name that assay.toml does not have, and list those that it has. Without a file, the
    engines say which are known."""
    from assay.engines.running import ENGINES, is_indexed_name
    from assay.workbench.project.config import CONFIG_NAME
    from assay.workbench.scoring.engines import list_engines

    if config is None and not Path(CONFIG_NAME).exists():
        return
    if is_indexed_name(name) or plugins.is_known(ENGINES, name):
        return
    names = [row.name for row in list_engines(config)]
    raise UsageError(
        f"unknown engine {name!r}",
        hint=f"{nearest_name(name, names)}Known: {', '.join(names)}. Another needs a table "
        "[engines.NAME] in assay.toml, or its Python file.",
    )


def _with_baseline_and_verdict(scored: ScoredRun, request: ScoreRequest) -> ScoredRun:
    """The results with their change against the baseline and the verdict of the gates."""
    results, warnings = scored.results, list(scored.warnings)
    baseline = read_baseline(request.baseline, golden=isinstance(results, GoldenResults))
    if baseline is not None and request.baseline is not None:
        change = change_from_baseline(results, baseline, request.baseline)
        if change.stale:
            warnings.append(f"the baseline is stale: {change.stale}")
        results = msgspec.structs.replace(results, baseline=change)
    if request.gates or isinstance(results, GoldenResults):
        gates, dataset = request.gates, request.dataset
        verdict = verdict_against(results, gates, baseline, settle=False, dataset=dataset)
        results = msgspec.structs.replace(results, verdict=verdict)
    return ScoredRun(results=results, warnings=tuple(warnings), failed=scored.failed)


def verdict_on(
    results: Results,
    gates: Sequence[Gate],
    baseline: Path | None,
    *,
    dataset: Path | None = None,
) -> Verdict:
    """The verdict of the gates, against the baseline in a file."""
    recorded = read_baseline(baseline, golden=isinstance(results, GoldenResults))
    return verdict_against(results, gates, recorded, dataset=dataset)


def verdict_against(
    results: Results,
    gates: Sequence[Gate],
    baseline: Results | None,
    *,
    settle: bool = True,
    dataset: Path | None = None,
) -> Verdict:
    """The verdict of the gates against the results of a baseline. With `settle`, an inconclusive
    verdict lists the fewest judgments that are expected to decide it. With the `dataset`, the
    verdict says whether it depends on the unchecked votes of one judge."""
    from assay.evaluation.gates import decide
    from assay.judging.next import with_judgments

    verdict = decide(results, gates, baseline, stale=stale_reason(results, baseline))
    if dataset is not None:
        verdict = _with_single_judge_risk(verdict, results, dataset, gates, baseline)
    return with_judgments(verdict, results, baseline) if settle else verdict


def _with_single_judge_risk(
    verdict: Verdict,
    results: Results,
    dataset: Path,
    gates: Sequence[Gate],
    baseline: Results | None,
) -> Verdict:
    """The verdict with the judge on whose votes alone it depends. Most sets have no log of votes,
    and cost nothing."""
    if isinstance(results, GoldenResults) or not has_log(dataset):
        return verdict
    from assay.evaluation.gates import decide
    from assay.workbench.deciding.single_judge_risk import with_single_judge_risk

    stale = stale_reason(results, baseline)
    return with_single_judge_risk(
        verdict, results, dataset, lambda again: decide(again, gates, baseline, stale=stale)
    )

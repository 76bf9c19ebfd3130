"""`assay score`: an engine, or saved results, against a gold set.

`ScoreRequest` says what to score on what; the command line, `assay run` and the MCP server build
one each. Scoring asks the engine, evaluates, and adds what only this layer knows: when it was
scored, on which files, at which commit, and how it stands against the baseline and the gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.results import (
    Gate,
    GoldenResults,
    GradedResults,
    Results,
    Verdict,
)
from assay.core.results_file import encode, to_json
from assay.core.runs import run_from_results
from assay.core.types import Finding, GoldSet, Query, QueryResult, Run
from assay.corpus.lookup import documents
from assay.engines.engine_table import EngineConfig, called, seconds_of
from assay.engines.registry import searched
from assay.evaluation.golden import evaluate_golden
from assay.evaluation.graded import graded_results
from assay.evaluation.judged import UNJUDGED_QUERY, prepare
from assay.evaluation.measures import is_handed, parse_measure, parse_measures
from assay.evaluation.receipts import measure_lines
from assay.evaluation.streamed import Looked, look_up
from assay.law.matching import Known, close_versions, known_document, one_language
from assay.reports.wording import run_warnings
from assay.workbench.deciding.baseline import against, read_baseline, stale_reason
from assay.workbench.project.output_files import refuse_output
from assay.workbench.scoring.receipts import Signature, signature, signed
from assay.workbench.scoring.rubric_settings import doubts, suite

# ── answers to the questions of a golden set ──────────────────────────────────────────────────────


def golden_results(
    gold: GoldSet,
    engine: str,
    answers: Sequence[QueryResult],
    known: Mapping[str, Known],
    *,
    k: int | None = None,
    min_score: float | None = None,
    findings: Sequence[Finding] = (),
) -> GoldenResults:
    """Pass or fail for every question; `findings` are those about the set itself."""
    results = evaluate_golden(
        gold,
        answers,
        locate=known.get if known else None,
        k=k,
        min_score=min_score,
        language=one_language(known.values()),
    )
    receipt = msgspec.structs.replace(results.receipt, findings=list(findings))
    return msgspec.structs.replace(results, engine=engine, receipt=receipt)


def places_of(engine: EngineConfig) -> Mapping[str, Known]:
    """What every document that the engine searches is, so that a hit with only an id can be
    placed; nothing where that is not known."""
    source = searched(engine)
    return places_in(source) if source else {}


def places_in(corpus: Path) -> Mapping[str, Known]:
    return close_versions({each.id: known_document(each) for each in documents(corpus)})


# ── what people should know before they trust the figures of a golden set ─────────────────────────


def golden_warnings(gold: GoldSet, answers: Sequence[QueryResult], source: str) -> Iterable[str]:
    """Questions that only the set or only the run has; with none in common the files do not belong
    together."""
    asked, answered = set(gold.query_ids), [answer.query_id for answer in answers]
    if not asked & set(answered):
        hint = f"The gold set has {gold.query_ids[0]!r} and others; the run has {answered[:3]}."
        raise InputError("the run has none of the gold set's questions", where=source, hint=hint)
    counts = {
        "n_expected": len(asked),
        "n_missing": len(asked - set(answered)),
        "n_extra": len(set(answered) - asked),
    }
    yield from run_warnings(counts, golden=True)


def unseen_evidence(gold: GoldSet) -> Iterable[str]:
    """No hit has a text, and no corpus gives it one."""
    from assay.evaluation.golden_checks import checks_of

    asked = sum(
        bool(checks.evidence or any(checks.evidence_of)) for checks in map(checks_of, gold.queries)
    )
    if asked:
        who = "1 question asks" if asked == 1 else f"{asked} questions ask"
        yield f"{who} for evidence, and the hits have no text to find it in; give --corpus"


# ────────────────────────────────────────────────────────────────────────────────────────────────

__all__ = [
    "ScoreRequest",
    "Scored",
    "configured",
    "score",
    "seconds_of",
    "verdict_against",
    "verdict_on",
]

DEFAULT_TOP_K = 20

Progress = Callable[[Iterable[Query]], Iterable[Query]]
Say = Callable[[str], None]
R = TypeVar("R", GradedResults, GoldenResults)


def in_silence(text: str) -> None:
    """Where nobody listens."""


def unwatched(queries: Iterable[Query]) -> Iterable[Query]:
    """Where nobody watches the progress."""
    return queries


class ScoreRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to score: exactly one of `search_module`, `engine` or `run` (saved results), on the gold
    set `dataset`. `k` and `min_score` override what golden questions state; `measures` are for
    graded sets. With gates the verdict is part of the results. `hits` is how many hits of a query
    the results of a graded set keep: by default as many as the measures' deepest cutoff, and 20 at
    least. `name` is what the configuration calls the set."""

    dataset: Path
    name: str = ""
    search_module: str | None = None
    engine: str | None = None
    configured: EngineConfig | None = None
    run: Path | None = None
    corpus: Path | None = None
    measures: tuple[str, ...] = ()
    primary: str = ""
    top_k: int | None = None
    k: int | None = None
    min_score: float | None = None
    output: Path | None = None
    baseline: Path | None = None
    gates: tuple[Gate, ...] = ()
    with_machine_judgments: bool = False
    config: Path | None = None  # where engines are configured
    timeout: float | None = None  # seconds for one query
    concurrency: int | None = None
    hits: int | Literal["all"] | None = None

    @property
    def choice(self) -> EngineConfig:
        """The engine that is asked, where there are no saved results."""
        choice = self.configured or EngineConfig(
            search_module=self.search_module,
            engine=self.engine,
            corpus=str(self.corpus) if self.corpus is not None else None,
        )
        return called(choice, timeout=self.timeout, concurrency=self.concurrency)


def configured(engine: EngineConfig, dataset: Path, name: str = "") -> ScoreRequest:
    """An engine of the configuration on a gold set."""
    return ScoreRequest(
        dataset=dataset,
        name=name,
        engine=(engine.name or engine.engine or "") if engine.run is None else None,
        configured=engine if engine.run is None else None,
        run=Path(engine.run) if engine.run else None,
        corpus=Path(engine.corpus) if engine.corpus else None,
        top_k=engine.top_k,
    )


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A scored run: the results that are printed and saved, and what people should be warned
    about."""

    results: Results
    warnings: tuple[str, ...]
    failed: int


def score(
    request: ScoreRequest, *, progress: Progress = unwatched, say: Say = in_silence
) -> Scored:
    """Score, compare with the baseline, decide the gates, and write the results file where one is
    asked for."""
    sources = (request.search_module, request.engine, request.run)
    if sum(source is not None for source in sources) != 1:
        raise UsageError("give exactly one of --search-module, --engine or --run")
    request = _resolved(request)
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
        from assay.workbench.scoring.engine_fit import refuse_elsewhere

        refuse_elsewhere(request.choice, gold, request.dataset)
    is_golden = any(query.checks for query in gold.queries)
    score_set = _score_golden if is_golden else _score_graded
    scored = _against_baseline(score_set(gold, request, progress, say), request)
    if request.output is not None:
        write_atomic(request.output, encode(to_json(scored.results)))
    return scored


def _resolved(request: ScoreRequest) -> ScoreRequest:
    """With the engine of the configuration where it is named by its table. A corpus that is given
    is for the baselines: they are not those of the configuration."""
    if request.engine is None or request.configured is not None:
        return request
    from assay.workbench.scoring.engines import find_engine

    found = find_engine(request.engine, request.config, corpus=request.corpus)
    if found is None:
        return request
    own = configured(found, request.dataset)
    return msgspec.structs.replace(
        request,
        engine=own.engine,
        configured=own.configured,
        run=own.run,
        corpus=request.corpus or own.corpus,
        top_k=request.top_k or own.top_k,
    )


def _against_baseline(scored: Scored, request: ScoreRequest) -> Scored:
    results, warnings = scored.results, list(scored.warnings)
    then = read_baseline(request.baseline, golden=isinstance(results, GoldenResults))
    if then is not None and request.baseline is not None:
        change = against(results, then, request.baseline)
        if change.stale:
            warnings.append(f"the baseline is stale: {change.stale}")
        results = msgspec.structs.replace(results, baseline=change)
    if request.gates or isinstance(results, GoldenResults):
        from assay.evaluation.gates import decide

        stale = stale_reason(results, then)
        verdict = decide(results, request.gates, then, stale=stale)
        verdict = _on_whom(verdict, results, request.dataset, request.gates, then)
        results = msgspec.structs.replace(results, verdict=verdict)
    return Scored(results=results, warnings=tuple(warnings), failed=scored.failed)


def verdict_on(
    results: Results,
    gates: Sequence[Gate],
    baseline: Path | None,
    *,
    settle: bool = True,
    dataset: Path | None = None,
) -> Verdict:
    """What the gates say; when they cannot tell, with the shortest list of judgments expected to
    settle it, unless nobody wants to know. With the `dataset` also whether it rests on what one
    judge said unchecked."""
    then = read_baseline(baseline, golden=isinstance(results, GoldenResults))
    return verdict_against(results, gates, then, settle=settle, dataset=dataset)


def verdict_against(
    results: Results,
    gates: Sequence[Gate],
    then: Results | None,
    *,
    settle: bool = True,
    dataset: Path | None = None,
) -> Verdict:
    """The same, with the baseline itself."""
    from assay.evaluation.gates import decide
    from assay.judging.next import with_judgments

    verdict = decide(results, gates, then, stale=stale_reason(results, then))
    verdict = _on_whom(verdict, results, dataset, gates, then) if dataset else verdict
    return with_judgments(verdict, results, then) if settle else verdict


def _on_whom(
    verdict: Verdict,
    results: Results,
    dataset: Path,
    gates: Sequence[Gate],
    then: Results | None,
) -> Verdict:
    """With the judge whom it rests on; sets that nobody voted on are the most, and cost nothing."""
    from assay.gold.log import has_log

    if isinstance(results, GoldenResults) or not has_log(dataset):
        return verdict
    from assay.evaluation.gates import decide
    from assay.workbench.deciding.single_judge_risk import with_one_judge

    stale = stale_reason(results, then)
    return with_one_judge(
        verdict, results, dataset, lambda again: decide(again, gates, then, stale=stale)
    )


# ── graded sets ───────────────────────────────────────────────────────────────────────────────────


def _score_graded(gold: GoldSet, request: ScoreRequest, progress: Progress, say: Say) -> Scored:
    if request.k is not None or request.min_score is not None:
        raise UsageError(
            "--k and --min-score are for golden sets; this one is graded",
            where=str(request.dataset),
        )
    measures = tuple(map(str, parse_measures(request.measures))) or suite(gold, request.dataset)
    primary = primary_of(request, gold, measures)
    with ThreadPoolExecutor(max_workers=1) as beside:
        # hashing a large run takes its time; an engine may start processes, and is left alone
        hashed = beside.submit(_signature_of, request) if request.run is not None else None
        run, graded = _graded(gold, request, measures, progress, say)
        results = signed(graded, hashed.result() if hashed else _signature_of(request))
    if primary:
        receipt = msgspec.structs.replace(results.receipt, primary=primary)
        results = msgspec.structs.replace(results, receipt=receipt)
    counts = results.receipt.counts
    warnings = (
        *run_warnings(counts),
        *_cut_warnings(run, measures),
        *_unjudged_warnings(results, request),
        *_empty_warnings(results),
        *_elsewhere(results, gold, request.dataset),
        *doubts(gold, request.dataset),
        *_log_warnings(gold, request.dataset),
    )
    return Scored(results=results, warnings=warnings, failed=counts["n_failed"])


def _log_warnings(gold: GoldSet, dataset: Path) -> Iterable[str]:
    """Whether the log of the set has moved on since its labels were made. The figures are those of
    the gold file alone."""
    from assay.core.types import counted
    from assay.gold.files import log_path

    if not log_path(dataset).exists():
        return
    from assay.gold.log import votes_since

    since = votes_since(dataset, dataset.read_bytes())
    if since is None:
        yield (
            f"{dataset} is not as its log left it: somebody edited it, or it is behind; "
            "the next command that writes to the set records the edit or writes the file again"
        )
    elif since and not gold.from_logs:
        new = counted(since, "new judgment")
        verb = "is" if since == 1 else "are"
        yield f"{new} {verb} not counted yet: `assay gold merge {dataset}` updates the labels"
    if gold.labelling is not None and gold.labelling.open:
        waiting = counted(gold.labelling.open, "pair")
        verb = "waits" if gold.labelling.open == 1 else "wait"
        yield f"{waiting} {verb} for a ruling: `assay gold adjudicate {dataset}` lists them"


def primary_of(request: ScoreRequest, gold: GoldSet, measures: Sequence[str]) -> str:
    """The measure that decides, by name, where the configuration or the set names one; it has to be
    one of those scored."""
    wanted = request.primary or (gold.targets.primary if gold.targets else "")
    if not wanted:
        return ""
    lines = {line.key: line.measure for line in measure_lines(list(measures))}
    found = lines.get(wanted.casefold()) or str(parse_measure(wanted))
    if found not in measures:
        raise InputError(
            f"the measure that decides, {wanted}, is not one of those scored",
            where=str(request.dataset),
            hint=f"They are {', '.join(measures)}.",
        )
    return found


def _graded(
    gold: GoldSet, request: ScoreRequest, measures: Sequence[str], progress: Progress, say: Say
) -> tuple[Run, GradedResults]:
    run, prepared = _graded_run(gold, request, measures, progress, say)
    if not prepared.counts["n_run"]:
        raise InputError(
            "the run has none of the gold set's queries",
            where=str(request.run or run.engine),
            hint=f"The gold set has {gold.query_ids[0]!r} and others; "
            f"the run has {list(run.rows_by_query)[:3]}.",
        )
    keep = _kept(request, measures)
    graded = graded_results(run, gold, measures, prepared=prepared, keep=keep)
    if request.with_machine_judgments:
        from assay.workbench.scoring.machine_estimate import with_machine_estimate

        graded = with_machine_estimate(graded, run, gold, request.dataset)
    return run, graded


def _kept(request: ScoreRequest, measures: Sequence[str]) -> int | None:
    """How many hits of a query the results keep; None for all."""
    if request.hits == "all":
        return None
    return request.hits or max(DEFAULT_TOP_K, _deepest(measures))


def _deepest(measures: Sequence[str]) -> int:
    return max((measure.cutoff or 0 for measure in parse_measures(measures)), default=0)


def _graded_run(
    gold: GoldSet, request: ScoreRequest, measures: Sequence[str], progress: Progress, say: Say
) -> Looked:
    if request.run is not None:
        # machine votes are on documents that need not be judged: they are looked for in all hits
        # and a measure that is not ours needs the whole run
        needs_all = request.with_machine_judgments or any(
            is_handed(measure) for measure in parse_measures(measures)
        )
        keep = None if needs_all else _kept(request, measures)
        return look_up(request.run, gold, keep=keep)
    deepest = _deepest(measures)
    depth = request.top_k or max(DEFAULT_TOP_K, deepest)
    if depth < deepest:
        say(f"warning: the engine is asked for {depth} hits, and a measure looks at {deepest}")
    name, answers = _ask(request, gold, depth, progress, say)
    run = run_from_results(name, answers, top_k=depth)
    return Looked(run, prepare(run, gold))


def _cut_warnings(run: Run, measures: Sequence[str]) -> Iterable[str]:
    """Saved results may hold the top of each list only."""
    kept = run.environment.get("kept_hits")
    deeper = [
        str(measure)
        for measure in parse_measures(measures)
        if kept and (measure.cutoff or kept + 1) > kept
    ]
    if deeper:
        yield (
            f"the saved results keep the top {kept} hits of each query, and more came: "
            f"{', '.join(deeper)} look deeper and count the rest as not returned; score the run "
            "itself, or save it with --hits all"
        )


def _unjudged_warnings(results: Results, request: ScoreRequest) -> Iterable[str]:
    """A figure says nothing of queries that nobody has judged; without any judgment there is
    none."""
    unjudged = sum(entry.reason == UNJUDGED_QUERY for entry in results.per_query)
    if not results.receipt.gold.judgments:
        yield (
            "nothing is judged yet, so there are no figures; have the top of this and other "
            f"engines judged: assay gold pool {request.dataset} {_asked_again(request)}"
        )
    elif unjudged:
        yield f"{unjudged} of {len(results.per_query)} queries have no judgments and no figures"


def _empty_warnings(results: Results) -> Iterable[str]:
    """A wrong index or filter is no error of the engine, and gives nothing but zeros."""
    asked = results.receipt.counts["n_run"] - results.receipt.counts["n_failed"]
    if asked > 0 and not any(entry.num_results for entry in results.per_query):
        yield "no query has a single hit: is it the right index, and is there anything in it?"


def _elsewhere(results: GradedResults, gold: GoldSet, dataset: Path) -> Iterable[str]:
    """A run that has no judged document at all may be of other documents than the set's."""
    if any(grade is not None for entry in results.per_query for grade in entry.grades):
        return ()
    from assay.workbench.scoring.engine_fit import measured

    return measured(results, gold, dataset)


def _asked_again(request: ScoreRequest) -> str:
    """The same engine or run, as options."""
    named = {
        "--engine": request.engine,
        "--search-module": request.search_module,
        "--run": request.run,
        "--corpus": request.corpus,
    }
    return " ".join(f"{option} {value}" for option, value in named.items() if value)


# ── golden sets ───────────────────────────────────────────────────────────────────────────────────


def _score_golden(gold: GoldSet, request: ScoreRequest, progress: Progress, say: Say) -> Scored:
    """Pass or fail for every question of a golden set."""
    from assay.evaluation.expectations import check_expectations

    pass

    if request.measures or request.with_machine_judgments:
        raise UsageError(
            "a golden set has measures of its own"
            if request.measures
            else "--with-machine-judgments is for graded sets; this one is golden",
            where=str(request.dataset),
            hint=f"Leave {'--measure' if request.measures else 'it'} out.",
        )
    known = places_of(request.choice)
    places = known.values() if known else None
    findings = check_expectations(gold, places, file=str(request.dataset))
    for finding in findings:
        say(f"{finding.level}: {finding.where}: {finding.message}")
    read_baseline(request.baseline, golden=True)  # one that will not do is told before the run
    name, answers = _golden_answers(gold, request, progress, say)
    warnings = list(golden_warnings(gold, answers, str(request.run or name)))
    if not known and not any(hit.text for answer in answers for hit in answer.hits):
        warnings += unseen_evidence(gold)
    results = golden_results(
        gold, name, answers, known, k=request.k, min_score=request.min_score, findings=findings
    )
    return Scored(
        results=signed(results, _signature_of(request)),
        warnings=tuple(warnings),
        failed=results.receipt.counts["n_failed"],
    )


def _golden_answers(
    gold: GoldSet, request: ScoreRequest, progress: Progress, say: Say
) -> tuple[str, list[QueryResult]]:
    from assay.evaluation.golden_checks import DEFAULT_K, results_of
    from assay.formats.results_json import read_answers

    if request.run is not None:
        if formats.detect_run(request.run) == "json":
            return read_answers(request.run)
        run = formats.read_run(request.run)
        return run.engine, results_of(run)
    looked_at = request.k or max((query.k or DEFAULT_K for query in gold.queries), default=0)
    # a question must be given the hits it looks at
    depth = max(request.top_k or DEFAULT_TOP_K, looked_at)
    return _ask(request, gold, depth, progress, say)


def _ask(
    request: ScoreRequest, gold: GoldSet, depth: int, progress: Progress, say: Say
) -> tuple[str, list[QueryResult]]:
    """The answers, under the name that the engine has in the configuration, else its own."""
    from assay.engines.answering import ask_engine

    choice = request.choice
    name, answers = ask_engine(choice, gold.queries, top_k=depth, progress=progress, say=say)
    return choice.name or name, answers


def _signature_of(request: ScoreRequest) -> Signature:
    return signature(request.dataset, request.run, request.choice)

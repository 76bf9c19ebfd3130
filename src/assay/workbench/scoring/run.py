"""`assay run`: scoring every configured gold set with every configured engine, from the cache where
nothing changed, checking every configured file of answers, deciding the gates, and writing the
comment on a pull request."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from assay import __version__, formats
from assay.core.errors import AssayError, EngineError, InputError, UsageError, nearest_name
from assay.core.files import sha256_of, write_atomic
from assay.core.results import (
    EXIT,
    SLICE_KINDS,
    AnswerResults,
    Gate,
    GoldenResults,
    Results,
    Status,
)
from assay.core.results_file import encode, to_json
from assay.core.types import GoldSet, Query
from assay.core.workers import Failure, Job, run_jobs
from assay.core.workspace import workspace
from assay.corpus.lookup import corpus_named, is_corpus
from assay.engines.engine_table import EngineConfig
from assay.engines.running import failed_process, quiet_of
from assay.evaluation.comparison import Comparison, compare
from assay.evaluation.gate_values import (
    ALIASES,
    LATENCY,
    golden_mistake,
    latency_mistake,
    scale_mistake,
    undecidable_reason,
)
from assay.evaluation.gates import is_answer_measure, is_golden_measure
from assay.evaluation.golden.figures import FIGURES
from assay.evaluation.measures import did_you_mean, parse_measure, parse_measures
from assay.evaluation.receipts import gold_fingerprint, measure_lines, module_fingerprint
from assay.formats.results_json import read_results
from assay.reports import render
from assay.reports.markdown import CommentedRun, comment
from assay.reports.view import GOLDEN_SLICES
from assay.workbench.deciding.baseline import read_baseline
from assay.workbench.project.config import (
    Config,
    GateConfig,
    GoldConfig,
    gates_on_answers,
    plain_gate,
    require_pairs,
)
from assay.workbench.scoring import report
from assay.workbench.scoring.request import measures_of_set, request_for, rubric_of
from assay.workbench.scoring.score import score, verdict_on

WORKERS = 2  # pairs scored at the same time (taste): engines may be heavy
WORST_FIRST = (4, 2, EXIT["fail"], EXIT["inconclusive"])  # exit codes, as docs/ci.md lists them

PairName = tuple[str, str]  # (gold set, engine)


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """One engine on one gold set: results, or the error that stopped it."""

    gold: str
    engine: str
    results: Results | None
    cached: bool
    error: str = ""
    error_exit: int = 0

    @property
    def title(self) -> str:
        return f"{self.gold}/{self.engine}"

    @property
    def state(self) -> str:
        return "failed" if self.error else "unchanged" if self.cached else "scored"


@dataclass(frozen=True, kw_only=True)
class CheckedFile:
    """A configured file of answers: its results, or the error that stopped the check."""

    name: str  # of its table
    system: str
    results: AnswerResults | None = None
    error: str = ""
    error_exit: int = 0

    @property
    def title(self) -> str:
        return f"answers/{self.name}"


def run_all(
    config: Config,
    file: Path,
    *,
    fresh: bool = False,
    done: Callable[[RunOutcome, int], None] = lambda outcome, total: None,
    warn: Callable[[str], None] = lambda warning: None,
) -> list[RunOutcome]:
    """Score every pair of the configuration read from `file`; unchanged pairs come from the cache.
    `done` hears of each pair, and how many there are; `warn` of gates that cannot be decided."""
    require_pairs(config, file)
    for warning in check_gates(config, file):
        warn(warning)
    pairs, folder = list(_pairs(config)), file.resolve().parent
    outcomes: dict[PairName, RunOutcome] = {}
    waiting = []
    for gold_name, engine_name in pairs:
        cached = None if fresh else _read_cached(config, folder, gold_name, engine_name)
        if cached is not None:
            outcome = RunOutcome(gold=gold_name, engine=engine_name, results=cached, cached=True)
            outcomes[gold_name, engine_name] = outcome
            done(outcome, len(pairs))
        else:
            waiting.append((gold_name, engine_name))
    with closing(_score_pairs(config, folder, waiting)) as scored:
        for outcome in scored:
            outcomes[outcome.gold, outcome.engine] = outcome
            _write_results(outcome)  # whatever comes after, it need not be run again
            done(outcome, len(pairs))
    every = list(outcomes.values())
    _refuse_idle_gates(config, file, every)
    finished = [_with_verdict(outcomes[pair], config, file, every) for pair in pairs]
    for outcome in finished:
        _write_results(outcome)
        _write_report(outcome, config.gold[outcome.gold].baseline)
    return finished


def check_answer_files(config: Config) -> list[CheckedFile]:
    """Check every configured file of answers, and decide the gates on answers for each. It is done
    anew every time: the check takes seconds, and no engine is asked."""
    return [_check_answer_file(config, name) for name in config.answers]


def _check_answer_file(config: Config, name: str) -> CheckedFile:
    from assay.workbench.scoring.answers import check_file
    from assay.workbench.searching.corpora import imported_corpus

    asked, path = config.answers[name], answers_path(name)
    system = asked.name or name
    try:
        results = check_file(
            Path(asked.path),
            corpus=imported_corpus(asked.corpus),
            as_of=asked.as_of,
            mapping=asked.map,
            dataset=Path(asked.dataset) if asked.dataset else None,
            gates=gates_on_answers(config),
            name=system,
            output=path,
            report=path.with_suffix(".html"),
        )
    except AssayError as error:
        return CheckedFile(name=name, system=system, error=str(error), error_exit=error.exit_code)
    return CheckedFile(name=name, system=system, results=results)


def exit_code(outcomes: Sequence[RunOutcome | CheckedFile]) -> int:
    """The worst of all: an error of the tool or engine, a failed gate, an inconclusive one."""
    codes = {outcome.error_exit for outcome in outcomes if outcome.error}
    codes |= {EngineError.exit_code for outcome in outcomes if _failed_calls(outcome.results)}
    verdicts = [outcome.results.verdict for outcome in outcomes if outcome.results is not None]
    codes |= {EXIT[verdict.status] for verdict in verdicts if verdict is not None}
    return next((code for code in WORST_FIRST if code in codes), 0)


def _failed_calls(results: Results | AnswerResults | None) -> int:
    if results is None or isinstance(results, AnswerResults):
        return 0
    return results.receipt.counts.get("n_failed", 0)


def checks_of(
    results: Results | AnswerResults,
) -> Iterator[tuple[str, Status | Literal["shown"], str]]:
    """(name, status, message) of every gate, and of every MUST question of a golden set. A gate
    that is only shown, because nobody asked for it and it cannot be told, is no part of the
    verdict. A call that failed is a check that fails, where there are no gates to say so."""
    if results.verdict is None and (failed := _failed_calls(results)):
        yield "calls", "fail", f"the engine failed on {failed} queries"
    for check in results.verdict.checks if results.verdict else ():
        yield check.title, check.status if check.counts else "shown", check.message
    if isinstance(results, GoldenResults):
        for entry in results.per_query:
            if entry.must:
                status: Status = "pass" if entry.passed else "fail"
                yield entry.query_id, status, f"{entry.query_text}: {entry.reason}"


# ── scoring ───────────────────────────────────────────────────────────────────────────────────────


def _pairs(config: Config) -> Iterator[PairName]:
    for gold_name, gold in config.gold.items():
        for engine_name in gold.engines or config.engines:
            yield gold_name, engine_name


def _score_pairs(config: Config, folder: Path, pairs: Sequence[PairName]) -> Generator[RunOutcome]:
    """Each pair as it is done, every one in a process of its own: an engine that crashes, hangs or
    leaves something behind is named, and the others have their results."""
    home = workspace().resolve()
    jobs = [
        Job(
            score_pair,
            (config, folder, home, *pair),
            config.engines[pair[1]].run_timeout,
            quiet_of(config.engines[pair[1]]),
        )
        for pair in pairs
    ]
    with closing(run_jobs(jobs, at_once=WORKERS, fresh=True)) as answers:
        for number, answer in answers:
            if isinstance(answer, Failure):
                timeout = config.engines[pairs[number][1]].run_timeout
                answer = _failed_outcome(
                    *pairs[number], _failure_message(answer, timeout), _exit_code_of(answer)
                )
            yield answer


def score_pair(
    config: Config, folder: Path, home: Path, gold_name: str, engine_name: str
) -> RunOutcome:
    """Score one pair in a worker process, from the folder of the configuration, so that search
    modules are found, but with the workspace of the command."""
    os.environ["ASSAY_HOME"] = str(home)
    os.chdir(folder)
    gold, engine = config.gold[gold_name], config.engines[engine_name]
    request = msgspec.structs.replace(
        request_for(engine, Path(gold.path), gold_name),
        measures=gold.measures,
        primary=gold.primary,
        baseline=Path(gold.baseline) if gold.baseline else None,
    )
    try:
        scored = score(request)
    except AssayError as error:
        return _failed_outcome(gold_name, engine_name, str(error), error.exit_code)
    results = msgspec.structs.replace(scored.results, cache_key=_cache_key(gold, engine, folder))
    return RunOutcome(gold=gold_name, engine=engine_name, results=results, cached=False)


def _failure_message(failure: Failure, timeout: float | None) -> str:
    """The reason why a worker gave no answer."""
    if failure.kind == "late":
        return f"the engine was not done after {timeout:g} s, the timeout in the configuration"
    return str(failed_process(failure))


def _exit_code_of(failure: Failure) -> int:
    return AssayError.exit_code if failure.kind == "raised" else EngineError.exit_code


def _failed_outcome(gold_name: str, engine_name: str, error: str, error_exit: int) -> RunOutcome:
    return RunOutcome(
        gold=gold_name,
        engine=engine_name,
        results=None,
        cached=False,
        error=error,
        error_exit=error_exit,
    )


# ── gates ─────────────────────────────────────────────────────────────────────────────────────────


def _with_verdict(
    outcome: RunOutcome, config: Config, file: Path, outcomes: Sequence[RunOutcome]
) -> RunOutcome:
    """Gates are cheap and their policy changes often, so they are decided anew even on cached
    results."""
    if outcome.results is None:
        return outcome
    is_golden = isinstance(outcome.results, GoldenResults)
    gates = [plain_gate(gate) for gate in config.gates if _gate_applies(gate, outcome, outcomes)]
    if not gates and not is_golden:
        return replace(outcome, results=msgspec.structs.replace(outcome.results, verdict=None))
    baseline = config.gold[outcome.gold].baseline
    try:
        baseline_path, dataset = (
            Path(baseline) if baseline else None,
            Path(config.gold[outcome.gold].path),
        )
        verdict = verdict_on(outcome.results, gates, baseline_path, dataset=dataset)
    except InputError as error:
        if error.where:
            raise  # a baseline that cannot be read names itself
        raise InputError(error.message, where=str(file), hint=error.hint) from error
    return replace(outcome, results=msgspec.structs.replace(outcome.results, verdict=verdict))


def _refuse_idle_gates(config: Config, file: Path, outcomes: Sequence[RunOutcome]) -> None:
    """A gate that holds for nothing that was run would pass whatever the results are. One that may
    be for a pair that failed is left: the failure is told."""
    for number, gate in enumerate(config.gates):
        idle = not any(_gate_applies(gate, outcome, outcomes) for outcome in outcomes)
        if idle and not is_answer_measure(gate.measure):  # those decide on files of answers
            raise InputError(
                f"the gate on {gate.measure} applies to no pair of gold set and engine here",
                where=f"{file}: gates[{number}]",
                hint="See which engines a gold set names, and whether the measure is one of its.",
            )


def _gate_applies(gate: GateConfig, outcome: RunOutcome, outcomes: Sequence[RunOutcome]) -> bool:
    """A gate that names no gold set is for the sets that have its measure; where all sets are of
    one kind it is for them, so that a measure written wrong is refused and not passed over."""
    if gate.gold not in ("", outcome.gold) or gate.engine not in ("", outcome.engine):
        return False
    if is_answer_measure(gate.measure):
        return False
    kinds = {
        isinstance(other.results, GoldenResults) for other in outcomes if other.results is not None
    }
    # every set has times, under the same names
    if gate.gold or outcome.results is None or len(kinds) == 1 or gate.measure in ALIASES:
        return True
    return is_golden_measure(gate.measure) == isinstance(outcome.results, GoldenResults)


def gates_on(config: Config, gold: str, engine: str, results: Results) -> list[Gate]:
    """The gates of the configuration that hold for one engine on one set."""
    outcome = RunOutcome(gold=gold, engine=engine, results=results, cached=False)
    golden = isinstance(results, GoldenResults)
    return [
        plain_gate(gate)
        for gate in config.gates
        if _gate_applies(gate, outcome, [outcome])
        and (gate.gold or gate.measure in ALIASES or is_golden_measure(gate.measure) == golden)
    ]


# ── checking gates before anything is scored ──────────────────────────────────────────────────────


def check_gates(config: Config, file: Path) -> list[str]:
    """Check every gate against the gold sets it is for, before an engine is asked. The answer is
    warnings: of gates that ask for more than the queries of a set can show."""
    if not config.gates:
        return []
    warnings: list[str] = []
    sets: dict[str, GoldSet] = {}
    for name, settings in config.gold.items():
        with contextlib.suppress(InputError):  # it is told when the set is scored
            sets[name] = formats.read_gold(Path(settings.path))
    golden = {name: gold.is_golden for name, gold in sets.items()}
    for number, gate in enumerate(config.gates):
        for name in _sets_of(gate, golden):
            wrong, hint = _gate_mistake(gate, sets[name], name, config, is_golden=golden[name])
            if wrong:
                raise InputError(wrong, where=f"{file}: gates[{number}]", hint=hint)
            if hopeless := undecidable_reason(gate, _queries_of(gate, sets[name])):
                warnings.append(f"{name}: {hopeless}")
    return warnings


def _queries_of(gate: GateConfig, gold: GoldSet) -> int:
    """How many queries of a set the gate is about, as far as the set tells."""
    queries = list(gold.queries)
    if gate.slice != "overall":
        name = gate.slice.partition(":")[2]
        queries = [query for query in queries if _slice_of(query, gate, gold) == name]
    needs = {"pass_rate_must": (True,), "pass_rate_should": (False,)}
    asked = needs.get(gate.measure, (True, False))
    return sum(bool(query.must) in asked for query in queries)


def _slice_of(query: Query, gate: GateConfig, gold: GoldSet) -> str:
    kind = gate.slice.partition(":")[0]
    attribute = "topic" if kind == "practice_area" and gold.from_logs else kind
    value = getattr(query, attribute, "") or query.checks.get(kind) or query.extra.get(kind)
    return str(value or "")


def _sets_of(gate: GateConfig, golden: dict[str, bool]) -> Iterator[str]:
    """A gate that names no set is for those that have its measure; where all are of one kind, for
    all."""
    one_kind = len(set(golden.values())) == 1
    for name, is_golden in golden.items():
        if gate.gold not in ("", name) or is_answer_measure(gate.measure):
            continue
        any_kind = gate.gold or one_kind or gate.measure in ALIASES
        if any_kind or is_golden_measure(gate.measure) == is_golden:
            yield name


def _gate_mistake(
    gate: GateConfig, gold: GoldSet, name: str, config: Config, *, is_golden: bool
) -> tuple[str, str]:
    """The mistake in a gate, and a hint; both empty if there is none."""
    if is_golden:
        if ALIASES.get(gate.measure, gate.measure) not in FIGURES:
            problem = f"the golden set {name} has no measure {gate.measure!r}"
            return problem, f"It has {', '.join(FIGURES)}."
        wrong, hint = golden_mistake(gate)
        return (wrong, hint) if wrong else _slice_mistake(gate, gold, name, GOLDEN_SLICES)
    if gate.measure in LATENCY:
        return latency_mistake(gate)
    settings = config.gold[name]
    wanted = parse_measures(settings.measures or measures_of_set(gold, Path(settings.path)))
    lines = measure_lines([str(measure) for measure in wanted])
    known = {each: line.measure for line in lines for each in (line.key, line.measure)}
    names = [line.measure for line in lines]
    hint = f"It has {', '.join(names)}; `measures` of the gold set asks for more."
    try:
        spelt = known.get(gate.measure) or str(parse_measure(gate.measure))
    except InputError as error:
        near = did_you_mean(gate.measure, names)
        return f"gate on {gate.measure}: {error.message}", f"{near}{hint}"
    if spelt not in known:
        return f"gate on {gate.measure}: {name} is not scored by it", hint
    if wrong := scale_mistake(gate, spelt):
        return f"gate on {gate.measure}: {wrong}", "0.6 is 60%, and a drop of 0.02 is two points."
    return _slice_mistake(gate, gold, name, SLICE_KINDS)


def _slice_mistake(
    gate: GateConfig, gold: GoldSet, name: str, kinds: tuple[str, ...]
) -> tuple[str, str]:
    if gate.slice == "overall":
        return "", ""
    kind, _, part = gate.slice.partition(":")
    known = {
        f"{each}:{value}"
        for each in kinds
        for query in gold.queries
        if (value := getattr(query, each, "") or query.checks.get(each) or query.extra.get(each))
    }
    if kind and part in {_slice_of(query, gate, gold) for query in gold.queries}:
        return "", ""
    listed = ", ".join(sorted(known)[:20]) or "no slices in this set"
    return f"gate on slice {gate.slice!r}: no query of {name} is in it", f"There are {listed}."


# ── files of a run ────────────────────────────────────────────────────────────────────────────────


def results_folder() -> Path:
    return workspace() / "results"


def results_path(gold_name: str, engine_name: str) -> Path:
    return results_folder() / f"{gold_name}--{engine_name}.json"


def answers_path(name: str) -> Path:
    """The results of a file of answers; no pair has such a name, which would have two dashes."""
    return results_folder() / f"answers.{name}.json"


def saved_results(paths: Sequence[Path]) -> list[Path]:
    """The paths, where one may be the name of an engine whose results were kept here."""
    named = [path for path in paths if not path.suffix and not path.exists()]
    scored = sorted({file.stem.partition("--")[2] for file in results_folder().glob("*--*.json")})
    if scored and (unknown := [path for path in named if str(path) not in scored]):
        raise UsageError(
            f"{unknown[0]}: no results file, and no engine that assay run has scored",
            hint=f"{nearest_name(str(unknown[0]), scored)}Scored: {', '.join(scored)}.",
        )
    kept = {path: sorted(results_folder().glob(f"*--{path}.json")) for path in named}
    sets = [{found.name.partition("--")[0] for found in each} for each in kept.values() if each]
    common = set.intersection(*sets) if sets else set[str]()
    if len(common) == 1:
        (gold,) = common
        return [results_path(gold, str(path)) if kept.get(path) else path for path in paths]
    if any(kept.values()):
        listed = ", ".join(str(found) for each in kept.values() for found in each)
        wrong = "the engines were scored on several sets" if common else "no set has them all"
        raise UsageError(f"{wrong}; give the files", hint=f"There are {listed}.")
    return list(paths)


def _write_results(outcome: RunOutcome) -> None:
    if outcome.results is not None:
        path = results_path(outcome.gold, outcome.engine)
        write_atomic(path, encode(to_json(outcome.results)))


def _write_report(outcome: RunOutcome, baseline: str | None) -> None:
    results = outcome.results
    if results is None:
        return
    path = results_path(outcome.gold, outcome.engine)
    where = Path(baseline) if baseline else None
    recorded = read_baseline(where, golden=isinstance(results, GoldenResults))
    shown = report.view_against_baseline(results, recorded, where or path)
    if isinstance(results, GoldenResults):
        report.write_reports(results, path.with_suffix(".md"), report=shown)
    write_atomic(path.with_suffix(".html"), render(shown, ".html"))


def _read_cached(config: Config, folder: Path, gold_name: str, engine_name: str) -> Results | None:
    path = results_path(gold_name, engine_name)
    engine = config.engines[engine_name]
    # a service may have changed, and nothing here could tell
    if not path.exists() or engine.kind or engine.routes:
        return None
    try:
        results = read_results(path)
        key = _cache_key(config.gold[gold_name], engine, folder)
    except (InputError, EngineError):
        return None  # it will be reported when the pair is scored
    if results.cache_key != key:
        return None
    return None if _failed_calls(results) else results  # a call that failed may succeed now


def _index_digest(name: str) -> str:
    """A digest of the index of a corpus."""
    from assay.engines.indexed import index_folder
    from assay.search.index_files import MANIFEST

    manifest = index_folder(corpus_named(name)) / MANIFEST
    return sha256_of(manifest) if manifest.exists() else ""


def _cache_key(gold: GoldConfig, engine: EngineConfig, folder: Path) -> str:
    """A digest of all that the results depend on: the gold set, and the engine's settings, corpus
    and source. Modules and frozen corpora are found from `folder`, that of the configuration."""
    parts: list[object] = [__version__, msgspec.to_builtins(engine), gold.measures, gold.baseline]
    parts += [gold.primary] if gold.primary else []
    judged = formats.read_gold(Path(gold.path))
    parts.append(gold_fingerprint(judged))
    if rubric := rubric_of(judged, Path(gold.path)):  # it may say what counts as relevant
        parts += [rubric.relevant_from, rubric.highly_relevant_from]
    if not formats.is_irds(gold.path):
        parts.append(sha256_of(Path(gold.path)))  # topics and types shape the slices
    parts += [
        sha256_of(folder / path)
        for path in (engine.corpus, engine.run, gold.baseline)
        if path and (folder / path).exists()
    ]
    for named in (engine.engine, engine.corpus):
        name = str(folder / named) if named and (folder / named).is_file() else named
        if name and is_corpus(name):  # it may have been imported or frozen again
            parts.append(corpus_named(name).fingerprint)
            parts += [_index_digest(name)] if named == engine.engine else []
    if engine.search_module:
        parts.append(module_fingerprint(engine.search_module, folder))
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


# ── the comment on a pull request ─────────────────────────────────────────────────────────────────


KIND = re.compile(r"[A-Za-z_]\w*(?=:|$)")  # the class name of an error, which begins its message


def write_comment(
    target: Path,
    outcomes: Sequence[RunOutcome],
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


def _public_error(outcome: RunOutcome | CheckedFile, texts: bool) -> str:
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


def _against_baseline(outcome: RunOutcome, config: Config) -> Comparison | None:
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

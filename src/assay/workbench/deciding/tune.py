"""`assay tune`: try many settings of an engine, or of a fusion of saved runs, on a gold set, and
say honestly which to use.

The files of a sweep are in the workspace, under `tune/NAME`: the calls that were answered, the
studies of Optuna, while it runs how far it is (running.json), and after the last setting the result
(tune.json), the trials (trials.csv), the report (report.html), and the results of the current
setting and of the winner, for `assay compare` and `assay gold next`."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
from msgspec.json import decode

from assay import __version__, formats
from assay.core.decoding import thread_safe
from assay.core.errors import EngineError, InputError, NotHere, UsageError
from assay.core.extras import require_extra
from assay.core.files import write_atomic
from assay.core.results import GoldenResults, GradedResults, Pair, Results
from assay.core.results_file import encode, to_json
from assay.core.runs import RRF_K, fuse, run_from_results
from assay.core.types import GoldSet, JsonObject, Query, QueryResult
from assay.core.workspace import workspace
from assay.corpus.lookup import is_corpus
from assay.engines.calling import ask_all
from assay.engines.engine_table import EngineConfig
from assay.engines.python import as_engine, error_text
from assay.engines.running import corpus_of
from assay.engines.sweep import Sweep, ask_settings
from assay.evaluation import tuning
from assay.evaluation.graded import default_measures, evaluate, graded_results
from assay.evaluation.judged_hits import join_run
from assay.evaluation.measures import parse_measure
from assay.evaluation.receipts import is_closed, module_fingerprint
from assay.evaluation.statistics import Floats
from assay.evaluation.tuning import FINALISTS, Trial, search_space
from assay.evaluation.tuning import TuneReport as TuneReport  # for the api
from assay.evaluation.tuning.search_space import Search, Space, TuneTable, read_space
from assay.judging.next import Decision, next_to_judge
from assay.reports import tuning as shown
from assay.workbench.judging.next import write_pairs
from assay.workbench.project.config import CONFIG_NAME, Config, read_config
from assay.workbench.scoring.request import (
    DEFAULT_TOP_K,
    inputs_of,
    measures_of_set,
    sign_results,
    signature,
)

if TYPE_CHECKING:
    from assay.law.matching import KnownDocument

Tick = Callable[[str, int, int], None]  # what, done, of
Kind = TypeVar("Kind")
Answers = list[QueryResult]
Ask = Callable[[Sequence[JsonObject], Sequence[Query]], Iterator[Answers]]  # by setting, in order
PRIMARY = "nDCG@10"
PASS_RATE = "pass_rate_total"
HALVES = 2  # of the queries, for the studies of an adaptive search; the fewest
MOST_PAIRS = 1_000  # to judge next; chosen
OUTPUTS: dict[str, Callable[[TuneReport, str], bytes | str]] = {
    ".html": lambda report, language: shown.page(shown.view(report, language)),
    ".csv": lambda report, language: shown.trials_csv(report),
    ".toml": lambda report, language: shown.toml(report, language) + "\n",
    ".json": lambda report, language: encode(report),
}
RUNNING = "running.json"
SECONDS = 1.0  # between two notes of how far a sweep is; taste


class SweepProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How many calls of a running sweep are answered, and when the last one was. A sweep that was
    killed leaves it behind."""

    done: int
    of: int
    at: datetime


class SweepState(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep in the workspace: its last result, and how far it is if it runs."""

    name: str
    report: TuneReport | None
    running: SweepProgress | None


def sweep_states(home: Path | None) -> list[SweepState]:
    """Every sweep of the workspace, by name."""
    folders = (workspace(home) / "tune").glob("*/")
    return [state for path in sorted(folders) if (state := _state(path)).report or state.running]


def sweep_state(home: Path | None, name: str) -> SweepState:
    found = {state.name: state for state in sweep_states(home)}
    if name not in found:
        raise NotHere(f"there is no sweep {name!r} here", hint=f"Run it: assay tune {name}")
    return found[name]


def _state(folder: Path) -> SweepState:
    return SweepState(
        name=folder.name,
        report=_kept(folder / "tune.json", TuneReport),
        running=_kept(folder / RUNNING, SweepProgress),
    )


def _kept(path: Path, kind: type[Kind]) -> Kind | None:
    return decode(path.read_bytes(), type=thread_safe(kind)) if path.exists() else None


@dataclass(frozen=True, kw_only=True)
class TuneSet:
    """A gold set to tune on, the measure that decides, and for golden questions the place of every
    document of the corpus."""

    gold: GoldSet
    measure: str
    places: Mapping[str, KnownDocument]

    @property
    def depth(self) -> int:
        """How many hits of a query count."""
        if self.gold.is_golden:
            from assay.evaluation.golden.scoring import DEFAULT_K

            return max(query.k or DEFAULT_K for query in self.gold.queries)
        return parse_measure(self.measure).cutoff or 0

    def results(self, answers: Answers, name: str) -> Results:
        if self.gold.is_golden:
            return self._golden(answers, name)
        return graded_results(run_from_results(name, answers), self.gold, [self.measure])

    def _golden(self, answers: Answers, name: str = "") -> GoldenResults:
        from assay.workbench.scoring.golden import golden_results

        return golden_results(self.gold, name, answers, self.places)

    def values(self, answers: Answers) -> Floats:
        """The measure of every query; NaN where it has none. Variants of a golden question are not
        questions of their own."""
        if not self.gold.is_golden:
            run = run_from_results("", answers)
            return np.asarray(evaluate(run, self.gold, [self.measure]).values[:, 0], np.float64)
        known = set(self.gold.query_ids)
        passed = {
            entry.query_id: float(entry.passed)
            for entry in self._golden(answers).per_query
            if not (entry.perturbation and entry.parent in known)
        }
        return np.array([passed.get(query, np.nan) for query in self.gold.query_ids])

    def unjudged(self, answers: Answers) -> int:
        """How many of the hits that the measure looks at have no judgment."""
        if self.gold.is_golden:
            return 0
        joined, depth = join_run(run_from_results("", answers), self.gold), self.depth or 10
        looked_at = int(np.minimum(joined.returned, depth)[joined.scorable].sum())
        judged = joined.scorable[joined.hit_query] & (joined.hit_rank <= depth)
        return looked_at - int(judged.sum())


def tune(
    name: str,
    *,
    config: Path | None = None,
    gold: str = "",
    budget: int | None = None,
    fresh: bool = False,
    home: Path | None = None,
    tick: Tick = lambda what, done, of: None,
) -> TuneReport:
    """Run the sweep of a table `[tune.NAME]`, or go on with one that was interrupted."""
    file = config or Path(CONFIG_NAME)
    read = read_config(file)
    if name not in read.tune:
        hint = "It names parameters and the values to try: rrf_k = [10, 60]. See docs/tuning.md."
        raise _unknown_name(f"table [tune.{name}]", read.tune, str(file), hint)
    table = read.tune[name]
    if budget is not None:
        table = msgspec.structs.replace(table, budget=budget)
    engine = EngineConfig(name=name) if table.fuse else _engine_of(read, table, name, file)
    dataset, on = _tune_set(read, table, gold, file, engine)
    folder = workspace(home) / "tune" / name
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    if table.fuse:
        ask = _ask_fused(table)
        weights = dict.fromkeys((Path(path).stem for path in table.fuse), 1)
        current = {"method": "rrf", "rrf_k": RRF_K, **weights, **table.current}
    else:
        ask, current = _ask_engine(engine, folder, on, tick), dict(engine.parameters)
    try:
        report, results = sweep(name, on, table, current, ask, study_log=folder / "optuna.log")
    except EngineError:
        (folder / RUNNING).unlink(missing_ok=True)  # nothing is left to go on with
        raise
    report = msgspec.structs.replace(
        report,
        engine=table.engine or name,
        fused=[Path(path).stem for path in table.fuse],
        folder=str(folder),
    )
    signed_by = signature(dataset, None, engine)
    for label, number in (("current", 0), ("winner", report.choice.winner)):
        signed: Results = sign_results(results[number], signed_by)
        write_atomic(folder / f"{label}.json", encode(to_json(signed)))
    (folder / "judge-next.csv").unlink(missing_ok=True)
    if decision := judge_next(report, results, on.gold):
        report = msgspec.structs.replace(report, judge_next=decision.pairs)
        write_pairs(decision, folder / "judge-next.csv")
    for output in ("trials.csv", "report.html", "tune.json"):
        write_output(report, folder / output)
    (folder / RUNNING).unlink(missing_ok=True)
    return report


def tune_callable(
    make: Callable[..., object],
    gold: GoldSet,
    parameters: JsonObject,
    *,
    current: JsonObject | None = None,
    measure: str = "",
    budget: int = 40,
    search: Search = "",
) -> TuneReport:
    """A sweep in this process over engines that `make(**setting)` gives; the current setting is
    `current`, or without it `make()`."""
    on = TuneSet(gold=gold, measure=_deciding_measure(gold, measure, default_measures), places={})
    table = TuneTable(parameters=parameters, budget=budget, search=search)
    used, depth = dict(current or {}), max(DEFAULT_TOP_K, on.depth)

    def ask(settings: Sequence[JsonObject], queries: Sequence[Query]) -> Iterator[Answers]:
        for setting in settings:
            try:
                engine = as_engine(make(**{**used, **setting}))
                yield ask_all(engine, queries, top_k=depth)[1]
            except Exception as error:  # reported by setting
                why = getattr(error, "first", "") or error_text(error)
                yield [QueryResult(query_id=query.id, error=why) for query in queries]

    name = getattr(make, "__name__", "engine")
    report, _ = sweep(name, on, table, used, ask)
    return msgspec.structs.replace(report, engine=name)


# ── the sweep ─────────────────────────────────────────────────────────────────────────────────────


def sweep(
    name: str,
    on: TuneSet,
    table: TuneTable,
    current: JsonObject,
    ask: Ask,
    *,
    study_log: Path | None = None,
) -> tuple[TuneReport, dict[int, Any]]:
    """Try the settings of a table and decide. The first setting is the current one. With the report
    come the results of the finalists, by number."""
    where = f"tune.{name}"
    space = read_space(table.parameters, where)
    size = search_space.size_of(space)
    search: Search = table.search or ("grid" if size <= table.budget else "random")
    if search == "grid" and size > table.budget:
        raise InputError(
            f"the grid has {size:,.0f} settings, and the budget is {table.budget}",
            where=where,
            hint='Raise the budget, or try a random sample of them: search = "random".',
        )
    studies: list[tuple[list[int], list[JsonObject]]] = []
    if search == "optuna":
        studies = _studies(name, space, table, on, ask, study_log)
        proposed = [setting for _, tried in studies for setting in tried]
    else:
        proposed = search_space.draw_settings(space, table.budget, table.seed)
    settings = _distinct_settings([{}, *proposed], current)
    answers = list(ask(list(settings.values()), on.gold.queries))
    numbers = {key: number for number, key in enumerate(settings)}
    seen = [(rows, [numbers[_key(each, current)] for each in tried]) for rows, tried in studies]
    parameters = [{**current, **setting} for setting in settings.values()]
    report = _decide(name, on, table, search, parameters, answers, seen)
    results = {
        number: on.results(answers[number], f"{name}-{number}") for number in report.finalists
    }
    return report, results


def _distinct_settings(
    settings: Sequence[JsonObject], current: JsonObject
) -> dict[bytes, JsonObject]:
    """The settings by key, each once; one that is the current setting is that."""
    known: dict[bytes, JsonObject] = {}
    for setting in settings:
        known.setdefault(_key(setting, current), setting)
    return known


def _key(setting: JsonObject, current: JsonObject) -> bytes:
    """The identity of a setting, in which 60 and 60.0 are the same."""
    whole = {**current, **setting}.items()
    plain = {name: float(value) if type(value) is int else value for name, value in whole}
    return msgspec.json.encode(plain, order="sorted")


def _decide(
    name: str,
    on: TuneSet,
    table: TuneTable,
    search: Search,
    parameters: Sequence[JsonObject],
    answers: Sequence[Answers],
    studies: Sequence[tuple[list[int], list[int]]],
) -> TuneReport:
    errors = [[answer.error for answer in own if answer.error is not None] for own in answers]
    answered = np.array([not own for own in errors])
    if len(answers) > 1 and not answered[1:].any():
        raise _unmeasured(parameters, errors, len(on.gold.queries))
    if not answered[0]:
        raise EngineError(f"the current setting failed: {errors[0][0]}")
    values = np.stack([on.values(own) for own in answers], axis=1)
    kept = ~np.isnan(values[:, answered]).any(axis=1)
    if kept.sum() < 2:
        raise InputError("fewer than two queries have a score", hint="Judge more of them.")
    # a setting that failed has gaps; it cannot win, and its values are not read
    scored = np.where(answered, values, 0.0)[kept]
    means = scored.mean(axis=0).tolist()
    trials = []
    for number, own in enumerate(answers):
        times = [answer.millis for answer in own if answer.millis is not None]
        p95 = float(np.percentile(times, 95)) if times else None
        cost = table.cost_of(parameters[number])
        trial = Trial(
            number=number,
            parameters=parameters[number],
            mean=means[number] if answered[number] else None,
            difference=means[number] - means[0] if answered[number] else None,
            unjudged=on.unjudged(own),
            p95_ms=p95,
            cost=cost,
            failed=len(errors[number]),
            excluded=_excluded(errors[number], len(own), p95, cost, table),
        )
        trials.append(trial)
    allowed = np.array([not trial.excluded for trial in trials])
    if studies:
        places = {row: place for place, row in enumerate(np.flatnonzero(kept).tolist())}
        seen = [([places[row] for row in rows if row in places], own) for rows, own in studies]
        choice = tuning.choose_adaptive(scored, seen, allowed=allowed)
    else:
        choice = tuning.choose(scored, allowed=allowed)
    tried = [setting for setting, good in zip(parameters, answered, strict=True) if good]
    best = sorted(np.flatnonzero(allowed).tolist(), key=lambda number: -means[number])[:FINALISTS]
    return TuneReport(
        name=name,
        gold=on.gold.name,
        measure=on.measure,
        search=search,
        choice=choice,
        trials=trials,
        effects=tuning.effects(scored[:, answered], tried, parameters[0]),
        finalists=list(dict.fromkeys([0, choice.winner, *best])),
    )


def _unmeasured(
    parameters: Sequence[JsonObject], errors: Sequence[Sequence[str]], queries: int
) -> EngineError:
    """Every setting failed, or every one but the current: each error once, with a setting."""
    of_error: dict[str, str] = {}
    for setting, own in zip(parameters, errors, strict=True):
        if own:
            failed = f"failed on {len(own)} of {queries} queries: {own[0]}"
            of_error.setdefault(own[0], f"  {shown.setting_text(setting)}: {failed}")
    lines = list(of_error.values())
    more = ["  …"] if len(lines) > shown.LISTED_SETTINGS else []
    which = "" if errors[0] else " besides the current one"
    return EngineError(
        "\n".join([f"no setting could be measured{which}:", *lines[: shown.LISTED_SETTINGS], *more])
    )


def _excluded(
    errors: Sequence[str], queries: int, p95: float | None, cost: float | None, table: TuneTable
) -> str:
    """The reason why a setting cannot win; empty if it can."""
    if errors:
        return f"failed on {len(errors)} of {queries} queries: {errors[0]}"
    if table.max_p95_ms is not None and p95 is not None and p95 > table.max_p95_ms:
        return f"p95 of {p95:.0f} ms is above {table.max_p95_ms:g} ms"
    if table.max_cost is not None and cost is not None and cost > table.max_cost:
        return f"the cost of {cost:g} is above {table.max_cost:g}"
    return ""


def judge_next(
    report: TuneReport, results: Mapping[int, GradedResults], gold: GoldSet
) -> Decision | None:
    """The judgments expected to settle which of the finalists is best, those that matter most
    first; None where all is judged, and for golden questions, which need no judgments."""
    if gold.is_golden or is_closed(gold):
        return None
    winner = results[report.choice.winner].per_query
    decision: Decision | None = None
    pairs: dict[tuple[str, str], Pair] = {}
    for number in set(results) - {report.choice.winner}:
        decision = next_to_judge(results[number].per_query, winner, measure=report.measure)
        for pair in decision.pairs[: decision.needed]:
            known = pairs.get((pair.query_id, pair.doc_id))
            if known is None or pair.narrowing > known.narrowing:
                pairs[pair.query_id, pair.doc_id] = pair
    ordered = sorted(pairs.values(), key=lambda pair: -pair.narrowing)[:MOST_PAIRS]
    return msgspec.structs.replace(decision, pairs=ordered) if decision and ordered else None


# ── what is tuned ─────────────────────────────────────────────────────────────────────────────────


def _unknown_name(what: str, known: Mapping[str, object], where: str, hint: str = "") -> InputError:
    names = ", ".join(known) or "none"
    return InputError(
        f"there is no {what}", where=where, hint=f"The file has: {names}. {hint}".rstrip()
    )


def _tune_set(
    config: Config, table: TuneTable, gold: str, file: Path, engine: EngineConfig
) -> tuple[Path, TuneSet]:
    wanted = gold or table.gold or next(iter(config.gold), "")
    if wanted not in config.gold and not Path(wanted).exists():
        raise _unknown_name(f"gold set {wanted!r}", config.gold, str(file))
    settings = config.gold.get(wanted)
    path = Path(settings.path) if settings is not None else Path(wanted)
    judged = formats.read_gold(path)
    stated = table.measure or (settings.primary if settings is not None else "")
    measure = _deciding_measure(judged, stated, lambda gold: measures_of_set(gold, path))
    places: Mapping[str, KnownDocument] = {}
    if judged.is_golden and (corpus := corpus_of(engine)):
        from assay.workbench.scoring.golden import places_in

        places = places_in(corpus)
    return path, TuneSet(gold=judged, measure=measure, places=places)


def _deciding_measure(
    gold: GoldSet, measure: str, usual_of: Callable[[GoldSet], tuple[str, ...]]
) -> str:
    """The measure that decides: of golden questions always the pass rate."""
    if gold.is_golden:
        if measure not in ("", PASS_RATE):
            raise InputError(
                f"golden questions are tuned by their pass rate, not by {measure}",
                hint="Leave the measure out.",
            )
        return PASS_RATE
    measure = measure or (gold.targets.primary if gold.targets else "")
    usual = () if measure else usual_of(gold)
    return str(parse_measure(measure or (PRIMARY if PRIMARY in usual else usual[0])))


def _engine_of(config: Config, table: TuneTable, name: str, file: Path) -> EngineConfig:
    wanted, where = table.engine or name, f"{file}: tune.{name}"
    engine = config.engines.get(wanted)
    if engine is None and is_corpus(wanted):
        engine = EngineConfig(name=wanted, engine=wanted)
    if engine is None:
        hint = 'Another name is given with engine = "NAME".'
        raise _unknown_name(f"engine {wanted!r}", config.engines, where, hint)
    if engine.run or engine.routes:
        what = "a saved run" if engine.run else "a table of corpora"
        raise InputError(
            f"{wanted!r} is {what}, which has no parameters",
            where=where,
            hint="Saved runs are fused with fuse = [...]; of corpora, tune each engine.",
        )
    return engine


def _ask_engine(engine: EngineConfig, folder: Path, on: TuneSet, tick: Tick) -> Ask:
    asked = Sweep(
        config=engine,
        fingerprint=_fingerprint(engine),
        path=folder / "calls.jsonl",
        top_k=max(engine.top_k, on.depth),
        whole_hits=on.gold.is_golden,
    )

    def ask(settings: Sequence[JsonObject], queries: Sequence[Query]) -> Iterator[Answers]:
        done, of, noted = 0, len(settings) * len(queries), 0.0

        def one() -> None:
            nonlocal done, noted
            done += 1
            tick("searching", done, of)
            if time.monotonic() - noted > SECONDS:
                noted = time.monotonic()
                now = SweepProgress(done=done, of=of, at=datetime.now(UTC))
                write_atomic(folder / RUNNING, msgspec.json.encode(now))

        found = dict(ask_settings(asked, settings, queries, tick=one))
        yield from (found[number] for number in range(len(settings)))

    return ask


def _fingerprint(engine: EngineConfig) -> str:
    """A digest of what an engine's answers depend on besides its parameters: its table, code and
    documents, but not how it is called."""
    table = msgspec.to_builtins(engine)
    own = {key: value for key, value in table["own"].items() if key != "parameters"}
    documents = msgspec.to_builtins(inputs_of(None, None, engine))
    parts: list[object] = [__version__, engine.kind, own, engine.engine, documents]
    if engine.search_module:
        parts.append(module_fingerprint(engine.search_module, Path(engine.folder)))
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def _ask_fused(table: TuneTable) -> Ask:
    """Fuse the saved runs: a parameter with the name of a run is its weight."""
    from assay.evaluation.golden.scoring import results_of

    runs = [formats.read_run(Path(path)) for path in table.fuse]
    names = [Path(path).stem for path in table.fuse]
    unknown = [key for key in table.parameters if key not in (*names, "method", "rrf_k")]
    if unknown:
        raise InputError(
            f"there is no run {unknown[0]!r} to weigh",
            where="tune.fuse",
            hint=f"Parameters are method, rrf_k, and the weights of {', '.join(names)}.",
        )

    def ask(settings: Sequence[JsonObject], queries: Sequence[Query]) -> Iterator[Answers]:
        for setting in settings:
            given: Mapping[str, object] = {**table.current, **setting}
            fused = fuse(
                runs,
                method=str(given.get("method", "rrf")),
                k=_number(given.get("rrf_k", RRF_K), "rrf_k"),
                weights=[_number(given.get(name, 1.0), name) for name in names],
            )
            yield results_of(fused)

    return ask


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} is {value!r}, expected a number", where="tune")
    return float(value)


# ── Optuna ────────────────────────────────────────────────────────────────────────────────────────


def _studies(
    name: str, space: Space, table: TuneTable, on: TuneSet, ask: Ask, log: Path | None
) -> list[tuple[list[int], list[JsonObject]]]:
    """Two resumable studies, each on half of the queries: (the rows it saw, the settings it
    tried)."""
    require_extra("tune", 'search = "optuna"')
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    every = on.gold.queries
    order = np.random.default_rng(table.seed).permutation(len(every)).tolist()
    storage = JournalStorage(JournalFileBackend(str(log))) if log is not None else None
    finished = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    found = []
    for half in range(HALVES):
        rows = sorted(order[half::HALVES])
        queries = [every[row] for row in rows]
        # another space, seed or set of queries is another study
        texts = [query.text for query in queries]
        parts = [name, half, table.parameters, table.seed, on.measure, texts]
        study = optuna.create_study(
            direction="maximize",
            storage=storage,
            study_name=hashlib.sha256(msgspec.json.encode(parts)).hexdigest(),
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(
                seed=table.seed + half, n_startup_trials=max(3, table.budget // 6)
            ),
        )

        def objective(
            trial: optuna.Trial, rows: list[int] = rows, queries: list[Query] = queries
        ) -> float:
            setting = {key: _suggest_setting(trial, key, values) for key, values in space.items()}
            (answers,) = ask([setting], queries)
            values = on.values(answers)[rows]
            if not np.isfinite(values).any() or any(answer.error for answer in answers):
                raise optuna.TrialPruned  # it failed, which the last sweep reports
            return float(np.nanmean(values))

        left = max(1, table.budget // HALVES) - len(study.get_trials(states=finished))
        study.optimize(objective, n_trials=max(0, left))
        found.append((rows, [dict(trial.params) for trial in study.get_trials(states=finished)]))
    return found


def _suggest_setting(trial: Any, name: str, values: search_space.Values) -> object:
    if isinstance(values, tuple):
        return trial.suggest_categorical(name, values)
    suggest = trial.suggest_int if values.whole else trial.suggest_float
    return suggest(name, values.number(values.low), values.number(values.high), log=values.log)


# ── the files of a result ─────────────────────────────────────────────────────────────────────────


def refuse_output(path: Path) -> None:
    """Refuse a kind of file that a result cannot be written as, before the sweep."""
    if path.suffix not in OUTPUTS:
        ending = path.suffix or "without an ending"
        raise UsageError(
            f"a result must be written as {', '.join(OUTPUTS)}, not {ending}", where=str(path)
        )


def write_output(report: TuneReport, path: Path, language: str = "en") -> None:
    """The result as a report, a table of trials, the setting to use as TOML, or JSON."""
    refuse_output(path)
    if path.suffix == ".toml" and not shown.toml(report):
        raise InputError(
            "not written: no setting is better than what you run, whose values are not known",
            where=str(path),
            hint="Values in use are listed under parameters in the engine's table of assay.toml.",
        )
    write_atomic(path, OUTPUTS[path.suffix](report, language))

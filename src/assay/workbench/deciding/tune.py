"""`assay tune`: try many settings of an engine, or of a fusion of saved runs, on a gold set, and
say honestly which to use.

The files of a sweep are in the workspace, under `tune/NAME`: the calls that were answered, the
studies of Optuna, and after the last setting the result (tune.json), the trials (trials.csv), the
page (report.html), and the results of the current setting and of the winner, for `assay compare`
and `assay gold next`."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from assay import __version__, formats
from assay.core.errors import EngineError, InputError, UsageError
from assay.core.extras import need
from assay.core.files import sha256_of, write_atomic
from assay.core.fingerprints import module_fingerprint
from assay.core.results import GradedResults, Pair
from assay.core.results_file import encode, to_json
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, JsonObject, Query, QueryResult, Run
from assay.core.workspace import workspace
from assay.corpus.lookup import corpus_named, is_corpus
from assay.engines.calling import ask_all
from assay.engines.engine_table import EngineConfig
from assay.engines.python import as_engine, error_text
from assay.engines.sweep import Sweep, ask_settings
from assay.evaluation import search_space, tuning
from assay.evaluation.fusion import RRF_K, fuse
from assay.evaluation.graded import default_measures, evaluate, graded_results
from assay.evaluation.judged import prepare
from assay.evaluation.measures import parse_measure
from assay.evaluation.receipts import is_closed, latency
from assay.evaluation.search_space import Search, Space, TuneTable, read_space
from assay.evaluation.statistics import Floats
from assay.evaluation.tuning import FINALISTS, Trial
from assay.evaluation.tuning import TuneReport as TuneReport  # for the api
from assay.judging.next import Decision, next_to_judge
from assay.reports import tuning as shown
from assay.workbench.judging.next import write_pairs
from assay.workbench.project.config import CONFIG_NAME, Config, read_config
from assay.workbench.scoring.request import measures_of_set, sign_results, signature

Tick = Callable[[str, int, int], None]  # what, done, of
# the settings that were asked, as runs by number, with the error of each that has none
Ask = Callable[[Sequence[JsonObject], Sequence[Query]], Iterator[Run]]
PRIMARY = "nDCG@10"
HALVES = 2  # of the queries, for the studies of an adaptive search
MOST_PAIRS = 1_000  # to judge next
OUTPUTS = (".html", ".csv", ".toml", ".json")


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
        known = ", ".join(read.tune) or "none"
        raise InputError(
            f"there is no table [tune.{name}]", where=str(file), hint=f"The file has: {known}."
        )
    table = read.tune[name]
    if budget is not None:
        table = msgspec.structs.replace(table, budget=budget)
    dataset, measure = _gold_and_measure(read, table, gold, file)
    folder = folder_of(name, home)
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    judged = _read_gold(dataset)
    if table.fuse:
        engine, ask = EngineConfig(name=name), _ask_fused(table)
        weights = dict.fromkeys((Path(path).stem for path in table.fuse), 1)
        current = {"method": "rrf", "rrf_k": RRF_K, **weights, **table.current}
    else:
        engine = _engine_of(read, table, name, file)
        current = dict(engine.parameters)
        ask = _ask_engine(engine, folder, _depth(engine, measure), tick)
    started = time.monotonic()
    report = sweep(name, judged, measure, table, current, ask, study_log=folder / "optuna.log")
    report = msgspec.structs.replace(
        report,
        engine=table.engine or name,
        fused=[Path(path).stem for path in table.fuse],
        seconds=time.monotonic() - started,
        folder=str(folder),
    )
    return _write(report, judged, dataset, engine, ask, folder)


def folder_of(name: str, home: Path | None = None) -> Path:
    return workspace(home) / "tune" / name


def tune_made(
    make: Callable[..., object],
    gold: GoldSet,
    parameters: JsonObject,
    *,
    current: JsonObject | None = None,
    measure: str = "",
    budget: int = 40,
    search: Search = "",
    seed: int = 0,
    top_k: int = 20,
) -> TuneReport:
    """A sweep in this process over engines that `make(**setting)` gives; the current setting is
    `current`, or without it `make()`."""
    usual = default_measures(gold)
    deciding = str(parse_measure(measure or (PRIMARY if PRIMARY in usual else usual[0])))
    table = TuneTable(parameters=parameters, budget=budget, search=search, seed=seed)
    depth = max(top_k, parse_measure(deciding).cutoff or 0)
    used = dict(current or {})

    def ask(settings: Sequence[JsonObject], queries: Sequence[Query]) -> Iterator[Run]:
        for setting in settings:
            try:
                engine = as_engine(make(**{**used, **setting}))
                _, answers = ask_all(engine, queries, top_k=depth)
            except Exception as error:  # reported by setting
                why = getattr(error, "first", "") or error_text(error)
                answers = [QueryResult(query_id=query.id, error=why) for query in queries]
            yield run_from_results("tuned", answers, top_k=depth)

    name = getattr(make, "__name__", "engine")
    report = sweep(name, gold, deciding, table, used, ask)
    return msgspec.structs.replace(report, engine=name)


# ── the sweep ─────────────────────────────────────────────────────────────────────────────────────


def sweep(
    name: str,
    gold: GoldSet,
    measure: str,
    table: TuneTable,
    current: JsonObject,
    ask: Ask,
    *,
    study_log: Path | None = None,
) -> TuneReport:
    """Try the settings of a table and decide. The first setting is the current one."""
    space = read_space(table.parameters, f"tune.{name}")
    search: Search = table.search or (
        "grid" if search_space.size_of(space) <= table.budget else "random"
    )
    if search == "grid" and search_space.size_of(space) > table.budget:
        raise InputError(
            f"the grid has {search_space.size_of(space):,.0f} settings, and the budget is "
            f"{table.budget}",
            where=f"tune.{name}",
            hint='Raise the budget, or draw some of them: search = "random".',
        )
    studies: list[tuple[list[int], list[JsonObject]]] = []
    if search == "optuna":
        studies = _studies(name, space, table, gold, measure, ask, study_log)
        proposed = [setting for _, tried in studies for setting in tried]
    elif search == "grid":
        proposed = search_space.grid(space)
    else:
        proposed = search_space.drawn(space, table.budget, table.seed)
    settings = _distinct([{}, *proposed], current)
    runs = list(ask(settings, gold.queries))
    values = np.stack([_values(run, gold, measure) for run in runs], axis=1)
    trials = [
        _trial(number, {**current, **setting}, run, gold, measure, table)
        for number, (setting, run) in enumerate(zip(settings, runs, strict=True))
    ]
    return _decide(
        name, gold, measure, search, values, trials, studies=_numbered(studies, settings, current)
    )


def _distinct(settings: Sequence[JsonObject], current: JsonObject) -> list[JsonObject]:
    """The settings, each once; one that is the current setting is that."""
    known: dict[bytes, JsonObject] = {}
    for setting in settings:
        known.setdefault(_key({**current, **setting}), setting)
    return list(known.values())


def _key(setting: JsonObject) -> bytes:
    """What tells settings apart: 60 and 60.0 are one."""
    plain = {name: float(value) if type(value) is int else value for name, value in setting.items()}
    return msgspec.json.encode(plain, order="sorted")


def _values(run: Run, gold: GoldSet, measure: str) -> Floats:
    return np.asarray(evaluate(run, gold, [measure]).values[:, 0], np.float64)


def _trial(
    number: int, parameters: JsonObject, run: Run, gold: GoldSet, measure: str, table: TuneTable
) -> Trial:
    errors = run.queries["error"].drop_nulls().to_list() if "error" in run.queries else []
    times, cost = latency(run), search_space.cost_of(table, parameters)
    p95 = times.p95 if times is not None else None
    excluded = ""
    if errors:
        excluded = f"failed on {len(errors)} of {len(gold.queries)} queries: {errors[0]}"
    elif table.max_p95_ms is not None and p95 is not None and p95 > table.max_p95_ms:
        excluded = f"p95 of {p95:.0f} ms is above {table.max_p95_ms:g} ms"
    elif table.max_cost is not None and cost is not None and cost > table.max_cost:
        excluded = f"the cost of {cost:g} is above {table.max_cost:g}"
    return Trial(
        number=number,
        parameters=parameters,
        mean=None,
        unjudged=_unjudged(run, gold, parse_measure(measure).cutoff or 10),
        p95_ms=p95,
        cost=cost,
        failed=len(errors),
        excluded=excluded,
    )


def _unjudged(run: Run, gold: GoldSet, depth: int) -> int:
    """How many of the hits that the measure looks at have no judgment."""
    joined = prepare(run, gold)
    looked_at = int(np.minimum(joined.returned, depth)[joined.scorable].sum())
    return looked_at - int((joined.scorable[joined.hit_query] & (joined.hit_rank <= depth)).sum())


def _decide(
    name: str,
    gold: GoldSet,
    measure: str,
    search: Search,
    values: Floats,
    trials: list[Trial],
    *,
    studies: Sequence[tuple[list[int], list[int]]],
) -> TuneReport:
    answered = np.array([not trial.failed for trial in trials])
    if not answered[0]:
        raise EngineError(f"the current setting {trials[0].excluded}")
    kept = ~np.isnan(values[:, answered]).any(axis=1)
    if kept.sum() < 2:
        raise InputError("fewer than two queries have a score", hint="Judge more of them.")
    allowed = np.array([not trial.excluded for trial in trials])
    # a setting that failed has gaps; it cannot win, and its values are not read
    scored = np.where(answered, values, 0.0)[kept]
    if studies:
        places = {row: place for place, row in enumerate(np.flatnonzero(kept).tolist())}
        seen = [([places[row] for row in rows if row in places], own) for rows, own in studies]
        choice = tuning.choose_adaptive(scored, seen, allowed=allowed)
    else:
        choice = tuning.choose(scored, allowed=allowed)
    means = scored.mean(axis=0).tolist()
    told = [
        msgspec.structs.replace(trial, mean=mean, difference=mean - means[0])
        if not trial.failed
        else trial
        for trial, mean in zip(trials, means, strict=True)
    ]
    whole = [trial for trial in told if not trial.failed]
    ranked = sorted(whole, key=lambda trial: -(trial.mean or 0))
    finalists = [trial.number for trial in ranked if not trial.excluded][:FINALISTS]
    return TuneReport(
        name=name,
        gold=gold.name,
        measure=measure,
        search=search or "grid",
        choice=choice,
        trials=told,
        effects=tuning.effects(
            scored[:, [trial.number for trial in whole]],
            [trial.parameters for trial in whole],
            told[0].parameters,
        ),
        finalists=list(dict.fromkeys([0, choice.winner, *finalists])),
    )


# ── who is asked ──────────────────────────────────────────────────────────────────────────────────


def _gold_and_measure(config: Config, table: TuneTable, gold: str, file: Path) -> tuple[Path, str]:
    wanted = gold or table.gold or next(iter(config.gold), "")
    if wanted not in config.gold and not Path(wanted).exists():
        known = ", ".join(config.gold) or "none"
        raise InputError(
            f"there is no gold set {wanted!r}", where=str(file), hint=f"The file has: {known}."
        )
    settings = config.gold.get(wanted)
    path = Path(settings.path) if settings is not None else Path(wanted)
    judged = _read_gold(path)
    stated = table.measure or (settings.primary if settings is not None else "")
    stated = stated or (judged.targets.primary if judged.targets else "")
    usual = measures_of_set(judged, path)
    return path, str(parse_measure(stated or (PRIMARY if PRIMARY in usual else usual[0])))


def _read_gold(path: Path) -> GoldSet:
    gold = formats.read_gold(path)
    if gold.is_golden:
        raise InputError(
            "a sweep needs graded judgments, and this is a set of golden questions",
            where=str(path),
            hint="Name a graded set: --gold NAME.",
        )
    return gold


def _engine_of(config: Config, table: TuneTable, name: str, file: Path) -> EngineConfig:
    wanted = table.engine or name
    engine = config.engines.get(wanted)
    if engine is None and is_corpus(wanted):
        engine = EngineConfig(name=wanted, engine=wanted)
    if engine is None:
        known = ", ".join(config.engines) or "none"
        raise InputError(
            f"there is no engine {wanted!r}",
            where=f"{file}: tune.{name}",
            hint=f'The file has: {known}. Another name is given with engine = "NAME".',
        )
    if engine.run or engine.routes:
        what = "a saved run" if engine.run else "a table of corpora"
        raise InputError(
            f"{wanted!r} is {what}, which has no parameters",
            where=f"{file}: tune.{name}",
            hint="Saved runs are fused with fuse = [...]; of corpora, tune each engine.",
        )
    return engine


def _depth(engine: EngineConfig, measure: str) -> int:
    return max(engine.top_k, parse_measure(measure).cutoff or 0)


def _ask_engine(engine: EngineConfig, folder: Path, top_k: int, tick: Tick) -> Ask:
    asked = Sweep(
        config=engine, fingerprint=_fingerprint(engine), path=folder / "calls.jsonl", top_k=top_k
    )

    def ask(settings: Sequence[JsonObject], queries: Sequence[Query]) -> Iterator[Run]:
        done, of = 0, len(settings) * len(queries)

        def one() -> None:
            nonlocal done
            done += 1
            tick("searching", done, of)

        found = dict(ask_settings(asked, settings, queries, tick=one))
        for number in range(len(settings)):
            yield run_from_results(f"{engine.name}-{number}", found[number], top_k=top_k)

    return ask


def _fingerprint(engine: EngineConfig) -> str:
    """What the answers of an engine depend on beside its parameters: its table, its code and its
    documents. How it is called is no part of it."""
    table = msgspec.to_builtins(engine)
    own = {key: value for key, value in table["own"].items() if key != "parameters"}
    parts: list[object] = [__version__, engine.kind, own, engine.engine, engine.corpus]
    if engine.search_module:
        parts.append(module_fingerprint(engine.search_module, Path(engine.folder)))
    for named in (engine.engine, engine.corpus):
        if named and is_corpus(named):
            parts.append(corpus_named(named).fingerprint)
        elif named and Path(named).is_file():
            parts.append(sha256_of(Path(named)))
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def _ask_fused(table: TuneTable) -> Ask:
    """Fuse the saved runs: a parameter with the name of a run is its weight."""
    runs = [formats.read_run(Path(path)) for path in table.fuse]
    names = [Path(path).stem for path in table.fuse]
    unknown = [key for key in table.parameters if key not in (*names, "method", "rrf_k")]
    if unknown:
        raise InputError(
            f"there is no run {unknown[0]!r} to weigh",
            where="tune.fuse",
            hint=f"Parameters are method, rrf_k, and the weights of {', '.join(names)}.",
        )

    def ask(settings: Sequence[JsonObject], queries: Sequence[Query]) -> Iterator[Run]:
        for number, setting in enumerate(settings):
            given: Mapping[str, object] = {**table.current, **setting}
            weights = [_number(given.get(name, 1.0), name) for name in names]
            yield fuse(
                runs,
                method=str(given.get("method", "rrf")),
                k=_number(given.get("rrf_k", RRF_K), "rrf_k"),
                weights=weights,
                name=f"fused-{number}",
            )

    return ask


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} is {value!r}, expected a number", where="tune")
    return float(value)


# ── Optuna ────────────────────────────────────────────────────────────────────────────────────────


def _studies(
    name: str,
    space: Space,
    table: TuneTable,
    gold: GoldSet,
    measure: str,
    ask: Ask,
    log: Path | None,
) -> list[tuple[list[int], list[JsonObject]]]:
    """Two studies, each on half of the queries: (the rows it saw, the settings it tried). The
    studies are kept in a file, and go on from there."""
    need("tune", 'search = "optuna"')
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    order = np.random.default_rng(table.seed).permutation(len(gold.queries)).tolist()
    storage = JournalStorage(JournalFileBackend(str(log))) if log is not None else None
    found = []
    for half in range(HALVES):
        rows = sorted(order[half::HALVES])
        queries = [gold.queries[row] for row in rows]
        # another space, seed or set of queries is another study
        parts = [name, half, table.parameters, table.seed, measure, [each.text for each in queries]]
        digest = hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]
        study = optuna.create_study(
            direction="maximize",
            storage=storage,
            study_name=f"{name}-{digest}",
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(
                seed=table.seed + half, n_startup_trials=max(3, table.budget // 6)
            ),
        )
        finished = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)

        def objective(
            trial: optuna.Trial, rows: list[int] = rows, queries: list[Query] = queries
        ) -> float:
            setting = {key: _suggested(trial, key, values) for key, values in space.items()}
            (run,) = ask([setting], queries)
            values = _values(run, gold, measure)[rows]
            if not np.isfinite(values).any() or run.queries["error"].drop_nulls().len():
                raise optuna.TrialPruned  # it failed, which the last sweep reports
            return float(np.nanmean(values))

        left = max(1, table.budget // HALVES) - len(study.get_trials(states=finished))
        study.optimize(objective, n_trials=max(0, left))
        found.append((rows, [dict(trial.params) for trial in study.get_trials(states=finished)]))
    return found


def _suggested(trial: object, name: str, values: search_space.Values) -> object:
    if isinstance(values, tuple):
        return trial.suggest_categorical(name, values)  # type: ignore[attr-defined]
    if values.whole:
        low, high = int(values.low), int(values.high)
        return trial.suggest_int(name, low, high, log=values.log)  # type: ignore[attr-defined]
    return trial.suggest_float(name, values.low, values.high, log=values.log)  # type: ignore[attr-defined]


def _numbered(
    studies: Sequence[tuple[list[int], list[JsonObject]]],
    settings: Sequence[JsonObject],
    current: JsonObject,
) -> list[tuple[list[int], list[int]]]:
    number = {_key({**current, **setting}): at for at, setting in enumerate(settings)}
    return [
        (rows, [number[_key({**current, **setting})] for setting in tried])
        for rows, tried in studies
    ]


# ── the files of a result ─────────────────────────────────────────────────────────────────────────


def _write(
    report: TuneReport,
    gold: GoldSet,
    dataset: Path,
    engine: EngineConfig,
    ask: Ask,
    folder: Path,
) -> TuneReport:
    """The report with the judgments that would change the choice, and its files."""
    given = [_given(report.trials[number], report.trials[0]) for number in report.finalists]
    results = {
        number: graded_results(run, gold, [report.measure])
        for number, run in zip(report.finalists, ask(given, gold.queries), strict=True)
    }
    decision = _judge_next(report, results, gold)
    (folder / "judge-next.csv").unlink(missing_ok=True)
    if decision is not None:
        report = msgspec.structs.replace(report, judge_next=decision.pairs)
        write_pairs(decision, folder / "judge-next.csv")
    signed_by = signature(dataset, None, engine)
    for name, number in (("current", 0), ("winner", report.choice.winner)):
        signed = sign_results(results[number], signed_by)
        write_atomic(folder / f"{name}.json", encode(to_json(signed)))
    write_atomic(folder / "trials.csv", shown.trials_csv(report))
    write_atomic(folder / "report.html", shown.page(report))
    write_atomic(folder / "tune.json", encode(report))
    return report


def refuse_output(path: Path) -> None:
    """Refuse a kind of file that a result cannot be written as, before the sweep."""
    if path.suffix not in OUTPUTS:
        ending = path.suffix or "without an ending"
        raise UsageError(
            f"a result must be written as {', '.join(OUTPUTS)}, not {ending}", where=str(path)
        )


def write_output(report: TuneReport, path: Path, language: str = "en") -> None:
    """The result as a page, a table of trials, the best setting as TOML, or JSON."""
    refuse_output(path)
    made: dict[str, Callable[[], bytes | str]] = {
        ".html": lambda: shown.page(report, language),
        ".csv": lambda: shown.trials_csv(report),
        ".toml": lambda: shown.toml(report) + "\n",
        ".json": lambda: encode(report),
    }
    write_atomic(path, made[path.suffix]())


def _given(trial: Trial, current: Trial) -> JsonObject:
    """The parameters of a trial as it was asked: the current setting names none."""
    return {} if trial.number == current.number else trial.parameters


def _judge_next(
    report: TuneReport, results: Mapping[int, GradedResults], gold: GoldSet
) -> Decision | None:
    """The judgments expected to settle which of the finalists is best, those that matter most
    first; None where all is judged."""
    decision: Decision | None = None
    winner = results[report.choice.winner].per_query
    pairs: dict[tuple[str, str], Pair] = {}
    for number, other in results.items():
        if number == report.choice.winner or is_closed(gold):
            continue
        decision = next_to_judge(other.per_query, winner, measure=report.measure)
        for pair in decision.pairs[: decision.needed]:
            known = pairs.get((pair.query_id, pair.doc_id))
            if known is None or pair.narrowing > known.narrowing:
                pairs[pair.query_id, pair.doc_id] = pair
    ordered = sorted(pairs.values(), key=lambda pair: -pair.narrowing)[:MOST_PAIRS]
    return msgspec.structs.replace(decision, pairs=ordered) if decision and ordered else None

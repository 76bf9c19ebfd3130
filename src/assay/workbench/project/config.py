"""Reading `assay.toml`: gold sets, engines, answers, gates, machine judges, external backlogs and
the team's own search log. Unknown keys are refused; paths are relative to the file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import Declined, InputError
from assay.core.files import read_toml
from assay.core.results import Gate
from assay.engines.engine_table import EngineConfig, read_tables
from assay.evaluation.gate_values import answer_mistake
from assay.evaluation.gates import gate_mistake, is_answer_measure
from assay.evaluation.tuning.search_space import TuneTable, read_tune_tables
from assay.formats import is_irds
from assay.judging import machine
from assay.judging.machine import Machine
from assay.review import backlog as review_backlog
from assay.review.backlog import BacklogSource
from assay.telemetry import external_table
from assay.telemetry.external_table import LogsSource, located_address

SourceT = TypeVar("SourceT", BacklogSource, LogsSource)

CONFIG_NAME = "assay.toml"
FILE_NAME = re.compile(
    r"\w(?:[\w .+]|-(?!-))*"
)  # results are kept as GOLD--ENGINE.json: no name has two dashes


class GoldConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    baseline: str | None = None
    measures: tuple[str, ...] = ()
    primary: str = ""  # the measure that decides; else the set's own, or nDCG@10
    engines: tuple[str, ...] = ()  # empty: every engine


class AnswersConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of generated answers that `assay run` checks; the keys are the options of `assay
    answers check`."""

    path: str
    name: str = ""  # the system that wrote them; else the name of the table
    corpus: str = ""
    as_of: str = ""
    dataset: str = ""
    map: dict[str, str] = {}


class GateConfig(Gate, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gate with the gold set and engine it holds for; empty means all."""

    gold: str = ""
    engine: str = ""


def plain_gate(gate: GateConfig) -> Gate:
    return Gate(**{field: getattr(gate, field) for field in Gate.__struct_fields__})


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Sets are judged before they are scored: a file with judges, with engines to try, with a
    backlog or with logs need not have more."""

    gold: dict[str, GoldConfig] = {}
    engines: dict[str, EngineConfig] = {}
    answers: dict[str, AnswersConfig] = {}
    gates: tuple[GateConfig, ...] = ()
    judges: dict[str, Machine] = {}
    backlog: dict[str, BacklogSource] = {}
    logs: LogsSource | None = None
    tune: dict[str, TuneTable] = {}


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tables as the file has them; those of engines have keys of their own kinds."""

    gold: dict[str, GoldConfig] = {}
    engines: object = {}
    answers: dict[str, AnswersConfig] = {}
    gates: tuple[GateConfig, ...] = ()
    judges: dict[str, Machine] = {}
    backlog: dict[str, BacklogSource] = {}
    logs: LogsSource | None = None
    tune: object = {}


def read_config(path: Path) -> Config:
    """The configuration, with every path made absolute."""
    try:
        file = msgspec.convert(read_toml(path), thread_safe(_File))
    except msgspec.ValidationError as error:
        message, hint = _explain_error(str(error))
        raise InputError(message, where=str(path), hint=hint) from error
    folder = path.resolve().parent
    logs = _with_absolute_url(file.logs, folder) if file.logs is not None else None
    config = Config(
        gold={name: _with_absolute_paths(gold, folder) for name, gold in file.gold.items()},
        engines=read_tables(file.engines, path),
        answers={
            name: _with_absolute_path(answers, folder) for name, answers in file.answers.items()
        },
        gates=file.gates,
        judges=file.judges,
        backlog={name: _with_absolute_url(source, folder) for name, source in file.backlog.items()},
        logs=logs,
        tune=read_tune_tables(file.tune, path),
    )
    other = any(getattr(config, key) for key in config.__struct_fields__ if key != "gates")
    if not other and not any(is_answer_measure(gate.measure) for gate in config.gates):
        require_pairs(config, path)
    _check_names(config, path)
    _check_judges(config, path)
    _check_backlogs(file.backlog, path)
    key, wrong = external_table.source_mistake(file.logs) if file.logs is not None else ("", "")
    if wrong:
        raise InputError(wrong, where=f"{path}: logs.{key}", hint=external_table.LOGS_HINT)
    return config


def read_engine(path: Path, name: str) -> EngineConfig | None:
    """One engine of the file, even if other tables are wrong; None if there is none."""
    tables = read_toml(path).get("engines")
    if not isinstance(tables, dict) or not isinstance(table := tables.get(name), dict):
        return None
    routes = table.get("corpora")
    others = set(routes.values()) if isinstance(routes, dict) else set()
    return read_tables({key: tables[key] for key in tables if key in {name, *others}}, path)[name]


def _explain_error(error: str) -> tuple[str, str]:
    """msgspec's complaint with the key as the file has it, and the key that was probably meant."""
    message, _, place = error.rstrip("`").partition(" - at `$.")
    at = f"{place}: " if place else ""
    hint = JUDGE_KEYS if place.startswith("judges") else KEYS
    if (unknown := re.fullmatch(r"Object contains unknown field `(.*)`?", message)) is None:
        return (
            f"{at}{message.replace('`', '').replace('Object', 'table').replace('field', 'key')}",
            hint,
        )
    name = unknown[1].rstrip("`")
    keys = next(
        (kind.__struct_fields__ for start, kind in TABLES if place.startswith(start)),
        Config.__struct_fields__,
    )
    near = difflib.get_close_matches(name, keys, n=1)
    return f"{at}there is no key {name}", f"Did you mean {near[0]}?" if near else hint


KEYS = "See docs/configuration.md for the keys."
JUDGE_KEYS = "See docs/judging/machine.md for the keys."
TABLES = (
    ("gates", GateConfig),
    ("gold", GoldConfig),
    ("answers", AnswersConfig),
    ("judges", Machine),
    ("backlog", BacklogSource),
    ("logs", LogsSource),
)


def require_pairs(config: Config, path: Path) -> None:
    """There is something to score, and something to score it with; or answers to check."""
    if config.answers and not config.gold:
        return
    for kind, names in (("gold", config.gold), ("engines", config.engines)):
        if not names:
            raise InputError(
                f"there is nothing under {kind}",
                where=str(path),
                hint=f"Add a table [{kind}.NAME].",
            )


def _check_names(config: Config, path: Path) -> None:
    for kind, names in (
        ("gold", config.gold),
        ("engines", config.engines),
        ("answers", config.answers),
        ("judges", config.judges),
        ("backlog", config.backlog),
        ("tune", config.tune),
    ):
        if bad := [name for name in names if not FILE_NAME.fullmatch(name)]:
            raise InputError(
                f"{bad[0]!r} cannot be a file name",
                where=f"{path}: {kind}",
                hint="Use letters, digits, spaces, . _ + and single dashes.",
            )
    for name, gold in config.gold.items():
        for engine in gold.engines:
            if engine not in config.engines:
                raise InputError(
                    f"unknown engine {engine!r}",
                    where=f"{path}: gold.{name}.engines",
                    hint=f"The file has: {', '.join(config.engines)}.",
                )
    _check_gates(config, path)


def gates_on_answers(config: Config) -> list[Gate]:
    """The gates that answers are decided by."""
    return [plain_gate(gate) for gate in config.gates if is_answer_measure(gate.measure)]


def _check_gates(config: Config, path: Path) -> None:
    for number, gate in enumerate(config.gates):
        if wrong := gate_mistake(gate):
            raise InputError(wrong, where=f"{path}: gates[{number}]", hint=KEYS)
        if is_answer_measure(gate.measure):
            wrong, hint = answer_mistake(gate)
            if wrong or gate.gold or gate.engine:
                wrong = wrong or "a gate on answers names no gold set and no engine"
                raise InputError(wrong, where=f"{path}: gates[{number}]", hint=hint)
        for kind, name, known in (
            ("gold set", gate.gold, config.gold),
            ("engine", gate.engine, config.engines),
        ):
            if name and name not in known:
                raise InputError(
                    f"unknown {kind} {name!r}",
                    where=f"{path}: gates[{number}]",
                    hint=f"The file has: {', '.join(known)}.",
                )


def _check_judges(config: Config, path: Path) -> None:
    for name, judge in config.judges.items():
        key, wrong = machine.find_mistake(judge)
        if wrong:
            raise InputError(wrong, where=f"{path}: judges.{name}.{key}", hint=JUDGE_KEYS)


def _check_backlogs(sources: Mapping[str, BacklogSource], path: Path) -> None:
    for name, source in sources.items():
        key, wrong = review_backlog.mistake(source)
        if wrong:
            raise InputError(wrong, where=f"{path}: backlog.{name}.{key}", hint=review_backlog.HINT)


def _with_absolute_paths(gold: GoldConfig, folder: Path) -> GoldConfig:
    return msgspec.structs.replace(
        gold,
        path=gold.path if is_irds(gold.path) else str(folder / gold.path),
        baseline=str(folder / gold.baseline) if gold.baseline else gold.baseline,
    )


def _with_absolute_url(source: SourceT, folder: Path) -> SourceT:
    """The source with the path of an SQLite file made absolute."""
    return msgspec.structs.replace(source, url=located_address(source.url, folder))


def _with_absolute_path(answers: AnswersConfig, folder: Path) -> AnswersConfig:
    """The table with absolute paths. A corpus is a file or folder beside the configuration, or a
    name."""
    is_file = answers.corpus and (folder / answers.corpus).exists()
    return msgspec.structs.replace(
        answers,
        path=str(folder / answers.path),
        corpus=str(folder / answers.corpus) if is_file else answers.corpus,
        dataset=str(folder / answers.dataset) if answers.dataset else "",
    )


def refuse_unlisted_engine(config: Config | None, gold: str, engine: str) -> None:
    """Refuse an engine that is configured, and that is not one of those a configured set lists."""
    listed = config.gold[gold].engines if config is not None and gold in config.gold else ()
    if listed and config is not None and engine in config.engines and engine not in listed:
        known = ", ".join(listed)
        raise Declined(
            "engine_unlisted",
            f"{gold} is run with {known}, and not with {engine}",
            hint=f"If it searches the same documents, add it to the engines of [gold.{gold}] in "
            f"{CONFIG_NAME}.",
            gold=gold,
            engines=known,
            engine=engine,
            file=CONFIG_NAME,
        )

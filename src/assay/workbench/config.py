"""`assay.toml`: which gold sets, which engines, which gates, which machine judges. Read strictly;
paths are relative to the file."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import TypeVar

import msgspec

from assay.core.errors import InputError
from assay.core.files import decode, read_bytes
from assay.core.results import Gate
from assay.evaluation.gates import mistake
from assay.judging import machine
from assay.judging.machine import Machine

CONFIG_NAME = "assay.toml"
NAMED = re.compile(
    r"\w(?:[\w .+]|-(?!-))*"
)  # results are kept as GOLD--ENGINE.json: no name has two dashes


class GoldConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    baseline: str | None = None
    measures: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()  # empty: every engine


class EngineConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of `search_module`, `engine` (a built-in, with `corpus`) or `run` (saved
    results)."""

    search_module: str | None = None
    engine: str | None = None
    corpus: str | None = None
    run: str | None = None
    top_k: int = 20
    timeout: float | None = None  # seconds for all its queries


class GateConfig(Gate, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gate with the gold set and engine it holds for; empty means all."""

    gold: str = ""
    engine: str = ""


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sets are judged before they are scored: a file with judges need not have more."""

    gold: dict[str, GoldConfig] = {}
    engines: dict[str, EngineConfig] = {}
    gates: tuple[GateConfig, ...] = ()
    judges: dict[str, Machine] = {}


def read_config(path: Path) -> Config:
    """The configuration, with every path made absolute."""
    text = decode(read_bytes(path), path)
    try:
        config = msgspec.convert(tomllib.loads(text), Config)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", where=str(path)) from error
    except msgspec.ValidationError as error:
        message, hint = _in_words(str(error))
        raise InputError(message, where=str(path), hint=hint) from error
    if not config.judges:
        require_pairs(config, path)
    _check_names(config, path)
    _check_judges(config, path)
    folder = path.resolve().parent
    return msgspec.structs.replace(
        config,
        gold={
            name: _absolute(gold, folder, "path", "baseline") for name, gold in config.gold.items()
        },
        engines={
            name: _absolute(engine, folder, *_files(engine, folder))
            for name, engine in config.engines.items()
        },
    )


def _files(engine: EngineConfig, folder: Path) -> tuple[str, ...]:
    """The keys that name files: a corpus that is none is one of the workspace, by its name."""
    return ("corpus", "run") if (folder / (engine.corpus or "")).exists() else ("run",)


def _in_words(error: str) -> tuple[str, str]:
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
    ("engines", EngineConfig),
    ("judges", Machine),
)


def require_pairs(config: Config, path: Path) -> None:
    """There is something to score, and something to score it with."""
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
        ("judges", config.judges),
    ):
        if bad := [name for name in names if not NAMED.fullmatch(name)]:
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
    for name, engine_config in config.engines.items():
        given = [key for key in ("search_module", "engine", "run") if getattr(engine_config, key)]
        if len(given) != 1:
            raise InputError(
                "give exactly one of search_module, engine or run", where=f"{path}: engines.{name}"
            )
        if engine_config.timeout is not None and not engine_config.timeout > 0:
            raise InputError(
                "the timeout is a number of seconds above 0", where=f"{path}: engines.{name}"
            )
    _check_gates(config, path)


def _check_gates(config: Config, path: Path) -> None:
    for number, gate in enumerate(config.gates):
        if wrong := mistake(gate):
            raise InputError(wrong, where=f"{path}: gates[{number}]", hint=KEYS)
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
        key, wrong = machine.mistake(judge)
        if wrong:
            raise InputError(wrong, where=f"{path}: judges.{name}.{key}", hint=JUDGE_KEYS)


Table = TypeVar("Table", GoldConfig, EngineConfig)


def _absolute(table: Table, folder: Path, *keys: str) -> Table:
    """With the paths under these keys made absolute."""
    paths = {key: str(folder / getattr(table, key)) for key in keys if getattr(table, key)}
    return msgspec.structs.replace(table, **paths)

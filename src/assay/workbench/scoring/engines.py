"""`assay engines`: the engines that have a name, and one query on one of them, step by step."""

from __future__ import annotations

import os
import re
from collections import abc
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from assay.core import conninfo
from assay.core.decoding import thread_safe
from assay.core.errors import EngineError, InputError, UsageError, nearest_name
from assay.engines.engine_table import EngineConfig
from assay.engines.http_table import HttpTable, Preset, complete, mistake, pattern_of, presets
from assay.engines.mapping import Proposal, guess_mapping
from assay.engines.running import BASELINES, Trial, kind_word, try_engine
from assay.engines.secrets import secret_names
from assay.workbench.project.config import CONFIG_NAME, Config, read_config, read_engine


class KnownEngine(msgspec.Struct, frozen=True, kw_only=True):
    """An engine that can be named. `environment` are the variables that its table names, and
    whether each is set."""

    name: str
    kind: str
    what: str
    calls: str = ""
    environment: str = ""
    origin: str = ""


def find_engine(
    name: str, config: Path | None = None, *, corpus: Path | None = None
) -> EngineConfig | None:
    """The engine of the configuration that has this name; None where there is none. A baseline
    with a corpus of its own is not one of the configuration."""
    path = config or Path(CONFIG_NAME)
    if config is None and not path.exists():
        return None
    if name in BASELINES and corpus is not None:
        return None
    return read_config(path).engines.get(name)


def list_engines(config: Path | None = None) -> list[KnownEngine]:
    """The engines of the configuration, then our own on each corpus, then the baselines."""
    from assay.corpus.disk import list_corpora

    path = config or Path(CONFIG_NAME)
    described = read_config(path).engines if config is not None or path.exists() else {}
    rows = [_known_engine(engine, path) for engine in described.values()]
    taken = set(described)
    rows += [
        KnownEngine(name=name, kind="engine", what="Assay's own search", origin="workspace")
        for name in list_corpora()
        if name not in taken
    ]
    rows += [
        KnownEngine(name=name, kind="engine", what="a baseline, with --corpus", origin="built in")
        for name in BASELINES
        if name not in taken
    ]
    return rows


def engine_kinds(config: Config | None) -> list[tuple[str, str, list[str]]]:
    """(name, kind, the gold sets it is for) of every engine that is configured."""
    if config is None:
        return []
    return [
        (
            name,
            str(engine.own.get("preset") or kind_word(engine)),
            [gold for gold, one in config.gold.items() if not one.engines or name in one.engines],
        )
        for name, engine in config.engines.items()
    ]


def list_presets() -> list[Preset]:
    return [
        Preset(
            name=name,
            example=preset.example,
            environment=", ".join(_variables_of(preset)),
            table=_stated_keys(preset),
        )
        for name, preset in presets().items()
    ]


def try_named(
    name: str,
    query: str,
    *,
    config: Path | None = None,
    top_k: int = 10,
    known: abc.Mapping[str, object] | None = None,
) -> Trial:
    """Ask one query of an engine that has a name, and show every step."""
    known = known or {}
    path = config or Path(CONFIG_NAME)
    engine = read_engine(path, name) if config is not None or path.exists() else None
    if engine is None and name.partition(":")[0].endswith(".py"):
        engine = EngineConfig(name=name, search_module=name)
    if engine is None:
        from assay.corpus.disk import list_corpora

        if name not in list_corpora():
            names = [row.name for row in list_engines(config) if row.origin != "built in"]
            raise UsageError(
                f"there is no engine {name!r}",
                hint=f"{nearest_name(name, names)}Known: {', '.join(names) or 'none'}. "
                "Write a table [engines.NAME] in assay.toml, or give a Python file.",
            )
        engine = EngineConfig(name=name, engine=name)
    if engine.run:
        raise UsageError(f"{name!r} is a saved run and cannot be searched")
    if engine.routes:
        engine = _route(engine, str(known.get("corpus", "")))
    return try_engine(engine, query, top_k, known)


PROPOSED = "service"  # the name of its table


def propose_table(
    address: str,
    query: str,
    *,
    answer: bytes | None = None,
    top_k: int = 10,
    chosen: abc.Mapping[str, str] | None = None,
) -> Proposal:
    """A table for the service at an address. It is asked once, unless its `answer` is given.
    `chosen` are paths of its mapping that are not to be guessed."""
    from assay.engines.http import HttpEngine, Response, decode_json, read_hits

    preset = _preset_at(address)
    table = HttpTable(http=address, preset=preset)
    if address:
        key, message = mistake(table)
        if message:
            raise InputError(
                message, where=key, hint="Or give one of its answers with --response FILE."
            )
    if answer is not None:
        response = Response(status=200, headers={}, body=answer, millis=0.0)
    else:
        engine = HttpEngine(PROPOSED, table)
        try:
            response = engine.send(engine.request(query, top_k, {}), 30.0)
        finally:
            engine.close()
    decoded, wrong, _ = decode_json(response)
    if wrong:
        raise EngineError(wrong)
    mapping = guess_mapping(decoded, **(chosen or {}))
    stated = msgspec.to_builtins(complete(HttpTable(preset=preset)))
    keys = {"preset": preset} if preset else {}
    keys |= {"http": address or "http://HOST/PATH?q={{query}}"}
    keys |= {key: path for key, path in mapping.keys.items() if not preset or stated[key] != path}
    lines = [f"{key} = {msgspec.json.encode(text).decode()}" for key, text in keys.items()]
    completed = complete(msgspec.convert(keys, thread_safe(HttpTable)))
    reading = read_hits(response, pattern_of(completed, f"engines.{PROPOSED}"), top_k)
    return Proposal(
        name=PROPOSED,
        table="\n".join(lines),
        mapping=mapping,
        hits=list(reading.hits),
        wrong=list(reading.wrong),
        notes=list(reading.notes),
    )


def _preset_at(address: str) -> str:
    """The preset whose address has this form: OpenSearch and Elasticsearch are asked alike."""
    path = urlsplit(address).path
    for name, preset in presets().items():
        form = re.escape(urlsplit(preset.example).path)
        if re.fullmatch(re.sub(r"[A-Z_]{3,}", "[^/]+", form), path):
            return name
    return ""


def _route(engine: EngineConfig, corpus: str) -> EngineConfig:
    if corpus not in engine.routes:
        problem = f"no engine of {engine.name!r} serves {corpus!r}" if corpus else "name a corpus"
        raise InputError(
            f"{problem}: each has its own engine",
            where=f"engines.{engine.name}.corpora",
            hint=f"Give --corpus, one of: {', '.join(engine.routes)}.",
        )
    return engine.routes[corpus]


def _known_engine(engine: EngineConfig, path: Path) -> KnownEngine:
    names = [name for value in _text_values(engine.own) for name in secret_names(value)]
    if engine.kind in ("http", "preset"):
        preset = presets().get(str(engine.own.get("preset", "")))
        names += [name for name in _variables_of(preset) if name not in names] if preset else []
    states = (f"{name} {'set' if os.environ.get(name) else 'NOT SET'}" for name in names)
    calls = engine.calls
    shown = f"{calls.concurrency} at once, {calls.timeout:g} s a query"
    return KnownEngine(
        name=engine.name,
        kind=str(engine.own.get("preset") or kind_word(engine)),
        what=_what_it_searches(engine),
        calls="" if engine.run or engine.routes else shown,
        environment=", ".join(states),
        origin=str(path),
    )


def _what_it_searches(engine: EngineConfig) -> str:
    if engine.routes:
        return ", ".join(f"{corpus}: {part.name}" for corpus, part in engine.routes.items())
    if engine.kind:
        return conninfo.without_secrets(
            str(engine.own.get("http") or engine.own.get(engine.kind, ""))
        )
    return engine.search_module or engine.run or engine.engine or ""


def _text_values(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in _text_values(part)]
    return [value] if isinstance(value, str) else []


def _variables_of(preset: HttpTable) -> list[str]:
    return [name for value in _text_values(_stated_keys(preset)) for name in secret_names(value)]


def _stated_keys(preset: HttpTable) -> dict[str, object]:
    table: dict[str, object] = msgspec.to_builtins(preset)
    return {key: value for key, value in table.items() if value and key != "example"}

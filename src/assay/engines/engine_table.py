"""Read the tables `[engines.NAME]` of assay.toml into settings from which an engine is opened.

One key says the kind: `search_module` (or `module`), `engine`, `run`, `corpora`, or a key of
`ENGINE_KINDS`, such as `http`. The other keys are those of every engine (`Common`) and those of the
kind. Another package adds a kind with an entry point in `assay.engine_kinds`:

    [project.entry-points."assay.engine_kinds"]
    court = "court_tools.connect:COURT"
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from assay.core import plugins
from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.plugins import PluginError
from assay.core.types import JsonObject

KEYS = "See docs/engines.md for the keys."
# the values of a gold set's row that a request, a query or a parameter of an engine may name
ROW = ("corpus", "practice_area", "language", "as_of", "filters")
SIMPLE_KEYS = ("search_module", "module", "engine", "run")
DEFAULT_TIMEOUT = 60.0  # seconds for one query (taste)
MOST_AT_ONCE = 256  # calls of one engine; chosen: each has a thread and a connection
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_log = logging.getLogger("assay.engines")
Table = TypeVar("Table", bound=msgspec.Struct)

# the key of the table: the kind of engine, which is imported when a table has the key
BUILT_IN: dict[str, str] = {
    "http": "assay.engines.http:HTTP",
    "preset": "assay.engines.http:HTTP",
    "postgres": "assay.engines.postgres:POSTGRES",
    "qdrant": "assay.engines.stores.qdrant:QDRANT",
    "milvus": "assay.engines.stores.deprecated:MILVUS",
    "chroma": "assay.engines.stores.deprecated:CHROMA",
    "lancedb": "assay.engines.stores.deprecated:LANCE",
    "opensearch": "assay.engines.stores.opensearch:OPENSEARCH",
}
ENGINE_KINDS = plugins.PluginKind(
    name="kind of engine", group="assay.engine_kinds", built_in=BUILT_IN
)


class EngineKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of engine: how a table of assay.toml becomes an engine.

    `settings` is a frozen struct with the kind's own keys, among them the key that says the kind;
    the keys of every engine (`Common`) are read elsewhere. `make` gives the engine for a name and
    its settings: an object with `search(query, top_k, …)` that takes the values of a row for which
    it has parameters, and may be called from several threads. It connects when it is first
    searched, so that a table can be shown without its server.

    `check` gives (key, mistake), or two empty texts, before anything runs. `files` are the keys
    that name files, relative to the configuration. `example` is set for a deprecated kind: the page
    with a Python engine to use instead."""

    settings: type[msgspec.Struct]
    make: Callable[[str, Any], Any]
    check: Callable[[Any], tuple[str, str]] | None = None
    files: tuple[str, ...] = ()
    example: str = ""


def kind_names() -> list[str]:
    return plugins.names(ENGINE_KINDS)


def kind_of(key: str) -> EngineKind:
    kind = plugins.load(ENGINE_KINDS, key)
    if not isinstance(kind, EngineKind):
        raise PluginError(f"the kind of engine {key!r} is not an EngineKind")
    return kind


@cache
def _warn_deprecated(engine: str, key: str, example: str) -> None:
    """Warn of a deprecated kind, once in a process for each engine."""
    _log.warning(
        "engines.%s: the key %s is deprecated and will be removed in the next release; "
        "use a Python engine instead: %s",
        engine,
        key,
        example,
    )


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine is called. `timeout` is in seconds, for one call of one query; `rate` in calls
    a second; `warm_up` is the number of queries that are asked first and not measured."""

    timeout: float = DEFAULT_TIMEOUT
    retries: int = 0
    concurrency: int = 1
    rate: float | None = None
    warm_up: int = 0


class Common(msgspec.Struct, frozen=True, kw_only=True):
    """The keys that every table may have."""

    corpus: str | None = None  # what it searches: a file, or a corpus of the workspace
    parameters: JsonObject = {}  # the settings that `assay tune` may change, as they are now
    top_k: int = 20
    timeout: float | str | None = None
    query_timeout: float | str | None = None
    run_timeout: float | str | None = None
    retries: int = 0
    concurrency: int = 1
    rate: float | None = None
    warm_up: int = 0


class EngineConfig(msgspec.Struct, frozen=True, kw_only=True):
    """An engine of the configuration: exactly one of `search_module`, `engine` (a built-in, with
    `corpus`), `run` (saved results), `routes` (each corpus of a set on an engine of its own) or
    `kind`, whose keys `own` holds as the file has them, with secrets by their names.

    `run_timeout` is in seconds, for all its queries."""

    name: str = ""
    folder: str = ""  # of the file, where modules are found
    search_module: str | None = None
    engine: str | None = None
    corpus: str | None = None
    run: str | None = None
    kind: str = ""
    own: JsonObject = {}
    routes: dict[str, EngineConfig] = {}
    parameters: JsonObject = {}
    top_k: int = 20
    run_timeout: float | None = None
    calls: Calls = Calls()


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def read_tables(tables: object, file: Path) -> dict[str, EngineConfig]:
    """Every `[engines.NAME]` of a file, with its paths made absolute and its routes followed."""
    if not isinstance(tables, dict):
        raise InputError("expected tables [engines.NAME]", where=f"{file}: engines", hint=KEYS)
    read = {}
    routed: dict[str, dict[str, str]] = {}
    for name, table in tables.items():
        where = f"{file}: engines.{name}"
        if not isinstance(table, dict):
            raise InputError("expected a table", where=where, hint=KEYS)
        if "corpora" in table:
            routed[name] = _routes(table, where)
            table = {key: value for key, value in table.items() if key != "corpora"}
            read[name] = _common_alone(name, table, where)
        else:
            read[name] = _read_table(name, table, where, file.resolve().parent)
    for name, routes in routed.items():
        read[name] = _with_routes(read, name, routes, f"{file}: engines.{name}.corpora")
    return read


def seconds_of(value: float | str | None, where: str) -> float | None:
    """`5`, `"5"`, `"5s"`, `"300ms"`, `"2m"`: seconds above 0."""
    if value is None:
        return None
    seconds: float | None = None
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        seconds = float(match[1]) * _SECONDS[match[2] or "s"] if match else None
    elif not isinstance(value, bool):
        seconds = float(value)
    if seconds is None or not 0 < seconds < 10**7:
        raise InputError(
            f"{value!r} is not a time",
            where=where,
            hint='Write it as "5s", "300ms" or "2m", or as a number of seconds above 0.',
        )
    return seconds


def settings_of(config: EngineConfig, kind: EngineKind) -> Any:
    """The kind's own keys, as its struct."""
    return convert_table(config.own, kind.settings, f"engines.{config.name}")


def convert_table(
    values: object, shape: type[Table], where: str, more: Iterable[str] = ()
) -> Table:
    """The values as a struct. An unknown key is refused, with the key that was probably meant;
    `more` are keys that are known elsewhere."""
    keys = (*shape.__struct_fields__, *more)
    for key in values if isinstance(values, dict) else ():
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            hint = f"Did you mean {near[0]}?" if near else KEYS
            raise InputError(f"there is no key {key}", where=where, hint=hint)
    try:
        return msgspec.convert(values, thread_safe(shape))
    except msgspec.ValidationError as error:
        message, _, place = str(error).rstrip("`").partition(" - at `$.")
        message = message.replace("`", "").replace("Object", "table").replace("field", "key")
        raise InputError(message, where=f"{where}.{place}".rstrip("."), hint=KEYS) from error


def _read_table(name: str, table: Mapping[str, object], where: str, folder: Path) -> EngineConfig:
    kinds = {key: kind_of(key) for key in kind_names() if key in table}
    given = [key for key in SIMPLE_KEYS if key in table]
    if len(given) + len({id(kind) for kind in kinds.values()}) != 1:
        others = ("corpora", *kind_names())
        raise InputError(
            "give exactly one of search_module, engine or run, or of what connects another engine",
            where=where,
            hint=f"{_suggest_key(table, others)}One key says what the engine is. "
            f"Others: {', '.join(others)}.",
        )
    kind = next(iter(kinds.values()), None)
    common_keys = Common.__struct_fields__
    own = {key: value for key, value in table.items() if key not in common_keys}
    if kind is None:
        plain = convert_table(own, _SimpleKeys, where, common_keys)
        return _simple_engine(name, _common(table, where), plain, where, folder)
    common = _common(table, where)
    own = _with_values(own, kind, common.parameters, where)
    settings = convert_table(own, kind.settings, where, common_keys)
    if kind.check is not None and any(wrong := kind.check(settings)):
        raise InputError(wrong[1], where=f"{where}.{wrong[0]}".rstrip("."), hint=KEYS)
    if kind.example:
        _warn_deprecated(name, next(iter(kinds)), kind.example)
    paths = {key: str(folder / str(own[key])) for key in kind.files if _is_path(own.get(key))}
    config = EngineConfig(
        name=name, folder=str(folder), kind=next(iter(kinds)), own={**own, **paths}
    )
    return _with_common(config, common, where, folder)


def _suggest_key(table: Mapping[str, object], others: Sequence[str]) -> str:
    """A hint with the key that was probably meant by an unknown one."""
    kinds = (*SIMPLE_KEYS, *others)
    for key in table:
        near = difflib.get_close_matches(key, kinds, n=1, cutoff=0.7)
        if near and key not in (*kinds, *Common.__struct_fields__):
            return f"For {key}, did you mean {near[0]}? "
    return ""


def _is_path(value: object) -> bool:
    """Whether this is a path: neither an address nor a variable of the environment."""
    return isinstance(value, str) and bool(value) and "://" not in value and "env:" not in value


class _SimpleKeys(msgspec.Struct, frozen=True, kw_only=True):
    search_module: str | None = None
    module: str | None = None
    engine: str | None = None
    run: str | None = None


def _simple_engine(
    name: str, common: Common, settings: _SimpleKeys, where: str, folder: Path
) -> EngineConfig:
    config = EngineConfig(
        name=name,
        folder=str(folder),
        search_module=settings.search_module or settings.module,
        engine=settings.engine,
        run=str(folder / settings.run) if settings.run else None,
    )
    if not (config.search_module or config.engine or config.run):
        raise InputError("give exactly one of search_module, engine or run", where=where)
    # in these tables `timeout` is for all queries, as it always was
    run_timeout = common.run_timeout if common.run_timeout is not None else common.timeout
    common = msgspec.structs.replace(
        common, timeout=common.query_timeout, query_timeout=None, run_timeout=run_timeout
    )
    return _with_common(config, common, where, folder)


def _common_alone(name: str, table: Mapping[str, object], where: str) -> EngineConfig:
    """The engine of a table of routes, which has only the keys of the whole run."""
    for key in table:
        if key not in ("top_k", "run_timeout"):
            raise InputError(
                f"a table with corpora has no {key}",
                where=where,
                hint="Describe how an engine is called in its own table.",
            )
    common = _common(table, where)
    return _with_common(EngineConfig(name=name), common, where, Path())


def _common(table: Mapping[str, object], where: str) -> Common:
    known = {key: value for key, value in table.items() if key in Common.__struct_fields__}
    common = convert_table(known, Common, where)
    for key, least, most in (  # by taste: what is beyond is a slip of the pen
        ("top_k", 1, 10_000),
        ("retries", 0, 20),
        ("concurrency", 1, MOST_AT_ONCE),
        ("warm_up", 0, 1000),
    ):
        if not least <= getattr(common, key) <= most:
            raise InputError(
                f"{key} must be from {least} to {most:,}, not {getattr(common, key)}",
                where=f"{where}.{key}",
            )
    if common.rate is not None and not 0 < common.rate <= 10**6:
        raise InputError(
            "the rate must be a number of calls a second above 0", where=f"{where}.rate"
        )
    return common


def _with_common(config: EngineConfig, common: Common, where: str, folder: Path) -> EngineConfig:
    if common.timeout is not None and common.query_timeout is not None:
        raise InputError("timeout and query_timeout are the same here: give one", where=where)
    key = "timeout" if common.timeout is not None else "query_timeout"
    timeout = seconds_of(getattr(common, key), f"{where}.{key}")
    corpus = common.corpus
    if corpus and (folder / corpus).exists():
        from assay.corpus.lookup import is_corpus

        corpus = corpus if is_corpus(corpus) else str(folder / corpus)
    return msgspec.structs.replace(
        config,
        corpus=corpus or None,
        parameters=common.parameters,
        top_k=common.top_k,
        run_timeout=seconds_of(common.run_timeout, f"{where}.timeout"),
        calls=Calls(
            timeout=timeout if timeout is not None else DEFAULT_TIMEOUT,
            retries=common.retries,
            concurrency=common.concurrency,
            rate=common.rate,
            warm_up=common.warm_up,
        ),
    )


def with_parameters(config: EngineConfig, values: Mapping[str, object]) -> EngineConfig:
    """The engine with other values of its parameters."""
    parameters, where = {**config.parameters, **values}, f"engines.{config.name}"
    own = config.own
    if config.kind:
        kind = kind_of(config.kind)
        own = _with_values(own, kind, parameters, where)
        if kind.check is not None and any(
            wrong := kind.check(convert_table(own, kind.settings, where))
        ):
            raise InputError(wrong[1], where=f"{where}.{wrong[0]}".rstrip("."), hint=KEYS)
    return msgspec.structs.replace(config, parameters=parameters, own=own)


def _with_values(
    own: JsonObject, kind: EngineKind, parameters: Mapping[str, object], where: str
) -> JsonObject:
    """The keys of a kind with the values of parameters: those of a kind with `parameters` are its
    placeholders, all others are keys of its table."""
    if not parameters:
        return own
    if "parameters" in kind.settings.__struct_fields__:
        return {**own, "parameters": dict(parameters)}
    for name in parameters:
        if name not in kind.settings.__struct_fields__:
            known = ", ".join(kind.settings.__struct_fields__)
            raise InputError(
                f"there is no key {name} to tune",
                where=f"{where}.parameters",
                hint=f"Known: {known}.",
            )
    return {**own, **parameters}


def with_limits(
    config: EngineConfig, *, timeout: float | None = None, concurrency: int | None = None
) -> EngineConfig:
    """The engine with other limits than its table has."""
    if timeout is None and concurrency is None:
        return config
    own = config.calls
    calls = msgspec.structs.replace(
        own,
        timeout=own.timeout if timeout is None else timeout,
        concurrency=own.concurrency if concurrency is None else concurrency,
    )
    routes = {
        corpus: with_limits(part, timeout=timeout, concurrency=concurrency)
        for corpus, part in config.routes.items()
    }
    return msgspec.structs.replace(config, calls=calls, routes=routes)


# ── routes ────────────────────────────────────────────────────────────────────────────────────────


def _routes(table: Mapping[str, object], where: str) -> dict[str, str]:
    try:
        routes = msgspec.convert(table["corpora"], dict[str, str])
    except msgspec.ValidationError:
        routes = {}
    if not routes:
        raise InputError(
            'expected rows such as precedent_library = "ENGINE"', where=f"{where}.corpora"
        )
    kinds = [key for key in (*SIMPLE_KEYS, *kind_names()) if key in table]
    if kinds:
        raise InputError(
            f"a table has corpora or {kinds[0]}, not both",
            where=where,
            hint="Give each engine its own table, and name it under corpora.",
        )
    return routes


def _with_routes(
    read: Mapping[str, EngineConfig], name: str, routes: Mapping[str, str], where: str
) -> EngineConfig:
    for corpus, target in routes.items():
        engine = read.get(target)
        if engine is None:
            known = ", ".join(other for other in read if other != name) or "no other engine"
            raise InputError(
                f"unknown engine {target!r}",
                where=f"{where}.{corpus}",
                hint=f"The file has: {known}.",
            )
        if engine.run or not (engine.kind or engine.search_module or engine.engine):
            what = "a saved run" if engine.run else "a table of corpora itself"
            raise InputError(
                f"{target!r} is {what} and cannot be searched", where=f"{where}.{corpus}"
            )
    return msgspec.structs.replace(
        read[name], routes={corpus: read[target] for corpus, target in routes.items()}
    )

"""List the surface of Assay: commands, routes, MCP tools, keys of assay.toml, formats, measures,
Python names, plugins and packaging.

Each entry is one line of text, computed from the program itself. The lines are kept in
tests/fixtures/surface.txt; `kit.inventory` writes that file and compares with it.

The entry points of the program are imported in the next lines and in `kit.server`, and nowhere
else in this file. Structs and plugin kinds are found by their fields, so that their modules can be
moved and renamed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import shlex
import sys
import tempfile
import tomllib
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import msgspec
import typer

import assay
import assay.corpus
import assay.pytest_plugin
import assay.telemetry
import assay.testing
from assay import formats
from assay.api import verbs
from assay.cli import app as command_line
from assay.cli.options import BEFORE as OPTIONS_BEFORE
from assay.core.plugins import PluginKind
from assay.mcp.server import build_server
from kit.docs_pages import PAGES, blocks
from kit.projects import Project
from kit.server import Server

ROOT = Path(__file__).parents[2]
PACKAGES = (assay.corpus, assay.telemetry, assay.testing)  # documented beside `assay` itself
# modules that act when imported, and one that needs the old SDK
NOT_LOADED = ("assay.__main__", "assay.store.migrations.", "assay.mcp.sdk_v1")
PROBES = ("/healthz", "/readyz")  # answered before any route
ALSO_AS = re.compile(r"; also as (.+)\.$")  # the help of an argument that has option names too

Lines = Iterator[str]


def list_surface() -> dict[str, set[str]]:
    """The lines of each section."""
    load_everything()
    with tempfile.TemporaryDirectory() as folder:
        project = Project.make(Path(folder) / "project")
        with project.serve() as server:
            return {
                "Commands and options": set(commands()),
                "Pages and routes": set(routes(server)),
                "Fields of JSON routes": set(json_fields(server)),
                "MCP": set(mcp(server)),
                "Keys of assay.toml": set(configuration(project)),
                "Formats": set(file_formats()),
                "Measures": set(measures()),
                "Python names": set(python_names()),
                "Plugin groups and built-ins": set(plugins(project)),
                "Packaging": set(packaging()),
            }


def list_docs_commands() -> dict[str, set[str]]:
    """The command lines of pages that tests run (test_docs_commands.py, test_first_set.py)."""
    lines = {
        f"assay {shlex.join(with_long_names(words))}"
        for page in PAGES
        for block in blocks(page)
        if block.runs
        for words in block.commands
    }
    return {"Command lines": lines}


def with_long_names(words: list[str]) -> list[str]:
    """A command line with the first long name of each option: --output in place of -o."""
    command, context = typer.main.get_command(command_line), None
    for word in words:
        context = typer.Context(command, parent=context)
        if not hasattr(command, "get_command") or not command.get_command(context, word):
            break
        command = command.get_command(context, word)
    long = {name: names[0] for names in map(_option_names, command.params) for name in names}
    return [long.get(word, word) for word in words]


# ── finding what has no entry point ───────────────────────────────────────────────────────────────


@cache
def load_everything() -> None:
    """Import every module of Assay, so that structs and plugin kinds can be found."""
    for module in pkgutil.walk_packages(assay.__path__, "assay."):
        if not module.name.startswith(NOT_LOADED):
            importlib.import_module(module.name)


def struct_with(*keys: str) -> type[msgspec.Struct]:
    """The one struct that has these fields and, of several, refuses unknown ones."""
    found = [kind for kind in _subclasses(msgspec.Struct) if {*keys} <= {*kind.__struct_fields__}]
    if len(found) > 1:
        found = [kind for kind in found if kind.__struct_config__.forbid_unknown_fields]
    assert len(found) == 1, f"expected one struct with the fields {keys}, found {found}"
    return found[0]


def _subclasses(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for part in kind.__subclasses__():
        module = sys.modules.get(part.__module__)
        if part.__module__.startswith("assay.") and getattr(module, part.__name__, None) is part:
            yield part
        yield from _subclasses(part)


def plugin_kinds(group: str = "") -> list[PluginKind]:
    """Every kind of plugin, or those of one entry-point group."""
    modules = [module for name, module in sys.modules.items() if name.startswith("assay.")]
    values = {id(value): value for module in modules for value in vars(module).values()}
    kinds = [value for value in values.values() if isinstance(value, PluginKind)]
    return [kind for kind in kinds if group in ("", kind.group)]


# ── commands ──────────────────────────────────────────────────────────────────────────────────────


def commands() -> Lines:
    yield from _command("assay", typer.main.get_command(command_line))
    for (command, name), now in OPTIONS_BEFORE.items():
        yield f"assay {command} {name}, old name of {now}"


def _command(path: str, command: Any) -> Lines:
    """A command or group with its options, and the commands below it."""
    yield path
    context = typer.Context(command, info_name=path, **command.context_settings)
    if path == "assay":
        yield from (f"assay {name}" for name in command.get_help_option_names(context))
    for parameter in command.params:
        yield from _parameter(path, parameter)
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            yield from _command(f"{path} {name}", command.get_command(context, name))


def _parameter(path: str, parameter: Any) -> Lines:
    """A parameter with its other names and its choices."""
    names = _option_names(parameter)
    if not names:
        names = [parameter.human_readable_name.upper()]
        if also := ALSO_AS.search(parameter.help or ""):
            names += also[1].split(" or ")
    first, *others = names + list(parameter.secondary_opts)
    yield f"{path} {first}"
    yield from (f"{path} {name}, beside {first}" for name in others)
    for choice in getattr(parameter.type, "choices", ()):
        yield f"{path} {first} = {getattr(choice, 'value', choice)}"


def _option_names(parameter: Any) -> list[str]:
    """The names of an option, long ones first; an argument has none."""
    if parameter.param_type_name == "argument":
        return []
    return sorted(parameter.opts, key=lambda name: not name.startswith("--"))


# ── pages and routes ──────────────────────────────────────────────────────────────────────────────


def routes(server: Server) -> Lines:
    for route in server.app.routes:
        methods = getattr(route, "methods", None)
        for method in sorted({*methods} - {"HEAD"} if methods else {"GET"}):
            yield f"{method} {route.path}{'' if methods else '/…'}"  # type: ignore[attr-defined]
    visitor = server.visitor()
    yield from (f"GET {path}" for path in PROBES if visitor.get(path).status_code == 200)


def json_fields(server: Server) -> Lines:
    """What JSON routes take and answer, as the OpenAPI document says."""
    document = server.visitor().ask("/api/openapi.json")
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            route = f"{method.upper()} {path}"
            for parameter in call.get("parameters", ()):
                if parameter["in"] != "path":
                    yield f"{route} {parameter['in']} {parameter['name']}"
            for part, content in (
                ("body", call.get("requestBody", {})),
                ("answer", call["responses"].get("2XX", {})),
            ):
                for media in content.get("content", {}).values():
                    yield from (
                        f"{route} {part} {name}"
                        for name in _properties(media.get("schema", {}), schemas)
                    )


def _properties(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    """The fields of an object, of each alternative, or of the items of a list."""
    if "$ref" in schema:
        yield from _properties(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas)
    yield from schema.get("properties", {})
    for part in schema.get("anyOf", ()):
        yield from _properties(part, schemas)
    if isinstance(schema.get("items"), dict):
        yield from (f"[] {name}" for name in _properties(schema["items"], schemas))


# ── MCP ───────────────────────────────────────────────────────────────────────────────────────────


def mcp(server: Server) -> Lines:
    offered = build_server(server.app.state.service)

    async def listing() -> tuple[Any, Any, Any, Any]:
        return (
            await offered.list_tools(),
            await offered.list_resources(),
            await offered.list_resource_templates(),
            await offered.list_prompts(),
        )

    tools, resources, templates, prompts = anyio.run(listing)
    for tool in tools:
        yield f"tool {tool.name}"
        for part, schema in (("argument", tool.input_schema), ("answer", tool.output_schema or {})):
            named = schema.get("$defs", {})
            yield from (f"tool {tool.name} {part} {name}" for name in _properties(schema, named))
            if part == "argument":
                yield from _inner_arguments(tool.name, schema, named)
    yield from (f"resource {resource.uri}" for resource in resources)
    yield from (f"resource {template.uri_template}" for template in templates)
    for prompt in prompts:
        yield f"prompt {prompt.name}"
        yield from (f"prompt {prompt.name} argument {one.name}" for one in prompt.arguments or ())


def _inner_arguments(tool: str, schema: Mapping[str, Any], named: Mapping[str, Any]) -> Lines:
    """The fields of arguments that are objects, such as filters."""
    for name, argument in schema.get("properties", {}).items():
        yield from (f"tool {tool} argument {name}.{key}" for key in _properties(argument, named))


# ── assay.toml ────────────────────────────────────────────────────────────────────────────────────


def configuration(project: Project) -> Lines:
    file = struct_with("gold", "engines", "gates")
    for field in msgspec.structs.fields(file):
        inside = list(_structs(field.type))
        is_one = not _is_table(field.type) and field.default is None
        table = f"[{field.name}.NAME]" if _is_table(field.type) else f"[[{field.name}]]"
        table = f"[{field.name}]" if is_one else table
        for struct in inside:
            yield from _keys(table, struct)
    for struct in (struct_with("search_module", "module"), struct_with("query_timeout", "top_k")):
        yield from _keys("[engines.NAME]", struct)
    for kind in plugin_kinds("assay.engine_kinds"):
        for name, target in kind.built_in.items():
            yield from _keys(f"[engines.NAME] with {name}:", _target(target).settings)
    if _reads_routes(project):
        yield "[engines.NAME] corpora"


def _keys(table: str, struct: type[msgspec.Struct], prefix: str = "") -> Lines:
    """The keys of a table, those of tables inside it, and the choices of a key."""
    for field in msgspec.structs.fields(struct):
        key = f"{prefix}{field.encode_name}"
        yield f"{table} {key}"
        yield from (f"{table} {key} = {choice}" for choice in _choices(field.type))
        for inner in _structs(field.type):
            yield from _keys(table, inner, f"{key}.NAME." if _is_table(field.type) else f"{key}.")


def _is_table(kind: Any) -> bool:
    return kind is object or typing.get_origin(kind) is dict


def _structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for part in typing.get_args(kind):
        yield from _structs(part)


def _choices(kind: Any) -> Lines:
    """The values of the literals that a type is made of."""
    for part in typing.get_args(kind):
        if typing.get_origin(kind) is typing.Literal:
            yield str(part)
        else:
            yield from _choices(part)


def _reads_routes(project: Project) -> bool:
    """Whether an engine can send each corpus to another engine."""
    config = project.folder / "routes.toml"
    config.write_text(
        '[engines.words]\nengine = "bm25"\ncorpus = "corpus.jsonl"\n'
        '[engines.all.corpora]\nc = "words"\n'
    )
    return project.run("engines", "list", "--config", config).code == 0


# ── formats, measures ─────────────────────────────────────────────────────────────────────────────


def file_formats() -> Lines:
    tables = (
        ("gold set", formats.GOLD_FORMATS, {"read_gold": "read", "write_gold": "write"}),
        ("run", formats.RUN_FORMATS, {"read_run": "read", "write_run": "write"}),
        (
            "judging tool",
            formats.EXCHANGE_FORMATS,
            {"read_ballots": "read", "write_tasks": "write"},
        ),
    )
    for kind, modules, abilities in tables:
        for name, module in modules.items():
            able = importlib.import_module(module)
            for function, ability in abilities.items():
                if hasattr(able, function):
                    yield f"{kind} {name}: {ability}"
    for kind, endings in (("gold set", formats.GOLD_ENDINGS), ("run", formats.RUN_ENDINGS)):
        yield from (f"{kind} {name}: ending {ending}" for ending, name in endings.items())
    if formats.is_irds("irds:NAME"):
        yield "gold set irds:NAME: read"


def measures() -> Lines:
    for kind in plugin_kinds("assay.measures"):
        for name, target in kind.built_in.items():
            formula = _target(target).MEASURES[name]
            yield f"measure {name}"
            yield f"measure {name}: cutoff {formula.cutoff}"
            for parameter, default in formula.params.items():
                yield f"measure {name}: parameter {parameter}, default {default}"
        lower = {name.lower() for name in kind.built_in}
        yield from (f"measure by another name: {alias}" for alias in kind.aliases - lower)


def _target(target: str) -> Any:
    """The object that a plugin's target names, as `module` or `module:attribute`."""
    module, _, attribute = target.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


# ── Python ────────────────────────────────────────────────────────────────────────────────────────


def python_names() -> Lines:
    """Names that `assay` gives, with their members, and names of the other documented packages."""
    for name in (*assay.__all__, *verbs.__all__):
        value = getattr(assay, name)
        yield from _python_name(f"assay.{name}", value)
        if isinstance(value, type):
            yield from (f"assay.{name}.{member}" for member in _members(value))
    for package in PACKAGES:
        for name in package.__all__:
            yield from _python_name(f"{package.__name__}.{name}", getattr(package, name))


def _python_name(name: str, value: Any) -> Lines:
    """A name and, of a function, its parameters."""
    yield name
    if inspect.isfunction(value):
        yield from (f"{name}({parameter})" for parameter in inspect.signature(value).parameters)


def _members(value: type) -> Iterator[str]:
    """The public methods and fields of a class, those of its own base classes included."""
    for part in value.__mro__:
        if part.__module__.startswith("assay."):
            members = (*vars(part), *getattr(part, "__annotations__", ()))
            yield from (member for member in members if not member.startswith("_"))


# ── plugins, packaging ────────────────────────────────────────────────────────────────────────────


def plugins(project: Project) -> Lines:
    for kind in plugin_kinds():
        yield f"group {kind.group}"
        yield from (f"group {kind.group}: {name}" for name in kind.built_in)
    presets = project.do("engines", "presets", "--json").json
    yield from (f"engine preset {preset['name']}" for preset in presets)


def packaging() -> Lines:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from (f"extra {name}" for name in project["optional-dependencies"])
    yield from (f"script {name}" for name in project["scripts"])
    for group, points in project["entry-points"].items():
        yield from (f"entry point {group} {name}" for name in points)
    options = _PytestOptions()
    assay.pytest_plugin.pytest_addoption(options)  # type: ignore[arg-type]
    yield from (f"pytest {name}" for name in options.names)


class _PytestOptions:
    """A stand-in for pytest's parser that keeps the names of options."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def getgroup(self, name: str) -> _PytestOptions:
        return self

    def addoption(self, *names: str, **settings: Any) -> None:
        self.names += names

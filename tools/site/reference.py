"""The reference pages of the site, made from the program itself: commands from the command line,
Python from docstrings, `assay.toml` from its structs, formats and measures from their tables, tools
of agents and HTTP calls from what the servers say of themselves, roles from the routes, spellings
of citations and the rubric from their tables, and the glossary in three languages.

    python tools/site/reference.py FOLDER      # writes them as Markdown, to look at

`make docs` puts them into the site while it is built (hooks.py); none of them is kept in git."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
import sys
import tempfile
import tomllib
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import typer

ROOT = Path(__file__).parents[2]
WORDS = ROOT / "src" / "assay" / "reports" / "words"
LANGUAGES = {"en": "English", "fi": "Finnish", "he": "Hebrew"}
UNSET = {"max": "highest in the set"}  # parameters of measures without a value of their own


def page(title: str, intro: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", intro, *parts]) + "\n"


def cell(text: object) -> str:
    """A text in a table, or a dash."""
    flat = re.sub(r"\s+", " ", str(text)).strip().replace("|", "\\|")
    return flat or "–"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(head)
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join(lines)


# ── commands ──────────────────────────────────────────────────────────────────────────────────────


def root_command() -> Any:
    from assay.cli import app

    return typer.main.get_command(app)


def each_command(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its path, groups first."""
    context = typer.Context(command, info_name=" ".join(path))
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            if part is not None and not part.hidden:
                yield (*path, name), part
                yield from each_command(part, (*path, name))


def commands() -> str:
    root = root_command()
    parts = []
    for path, command in each_command(root):
        parts.append("#" * min(1 + len(path), 3) + f" assay {' '.join(path)}")
        parts.append(_plain(command.help or ""))
        if not hasattr(command, "list_commands"):
            parts.append(f"```text\n{_usage(path, command)}\n```")
            if rows := list(_parameters(command)):
                parts.append(table(("name", "what it is", "default"), rows))
    intro = (
        "Every command has `--help` with what stands here. Exit codes: 0 done, 1 a gate or check "
        "failed, 2 bad input, 3 inconclusive, 4 an engine or Assay failed."
    )
    return page("Commands", intro, *filter(None, parts))


def _plain(text: str) -> str:
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text)).replace("<", "&lt;")


def _usage(path: tuple[str, ...], command: Any) -> str:
    context = typer.Context(command, info_name=f"assay {' '.join(path)}")
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _parameters(command: Any) -> Iterator[tuple[str, str, str]]:
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            names = f"`{parameter.human_readable_name.upper()}`"
        yield (
            names,
            (getattr(parameter, "help", "") or "").replace("<", "&lt;"),
            _default(parameter),
        )


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    if parameter.default in (None, "", (), [], False) or callable(parameter.default):
        return ""
    return f"`{parameter.default}`"


# ── Python ────────────────────────────────────────────────────────────────────────────────────────


def python() -> str:
    import assay

    names = [name for name in assay.__all__ if not name.startswith("__")]
    values = {name: getattr(assay, name) for name in names}
    kinds = (
        ("Functions", lambda value: not isinstance(value, type)),
        ("Classes", lambda value: isinstance(value, type) and not issubclass(value, Exception)),
        ("Errors", lambda value: isinstance(value, type) and issubclass(value, Exception)),
    )
    parts = []
    for title, belongs in kinds:
        chosen = {name: value for name, value in values.items() if belongs(value)}
        if chosen:
            parts.append(f"## {title}")
            parts += [_object(name, value) for name, value in chosen.items()]
    intro = "Everything that `import assay` gives. Nothing heavy is loaded before you use it."
    return page("Python", intro, *parts)


def _object(name: str, value: Any) -> str:
    lines = [f"### {name}", f"```text\n{name}{_signature(value)}\n```", _doc(value)]
    if isinstance(value, type):
        for part, member in sorted(vars(value).items()):
            if part.startswith("_") or not _is_documented(member):
                continue
            lines.append(f"**`.{part}{_signature(member)}`** {_doc(member)}")
    return "\n\n".join(filter(None, lines))


def _is_documented(member: Any) -> bool:
    kinds = (property, classmethod, staticmethod)
    return (callable(member) or isinstance(member, kinds)) and bool(_doc(member))


def _signature(value: Any) -> str:
    if isinstance(value, property):
        return ""
    try:
        told = str(inspect.signature(getattr(value, "__func__", value)))
    except (TypeError, ValueError):
        return ""
    told = re.sub(r"\b(?:assay|polars|pathlib|collections)(?:\.\w+)*\.(\w+)", r"\1", told)
    told = re.sub(r"<(?:function|class) '?(?:[\w.<>]*\.)?(\w+)[^>]*>", r"\1", told)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", told)


def _doc(value: Any) -> str:
    if isinstance(value, type) and (value.__doc__ or "").startswith(f"{value.__name__}("):
        return ""  # what a dataclass says of itself
    if not getattr(value, "__doc__", None):
        return ""
    prose, _, example = (inspect.getdoc(value) or "").partition(">>> ")
    if not example:
        return _plain(prose)
    code = re.sub(r" *# doctest: .*", "", f">>> {example}".rstrip())
    return f"{_plain(prose).strip()}\n\n```pycon\n{code}\n```"


# ── assay.toml ────────────────────────────────────────────────────────────────────────────────────


def configuration() -> str:
    from assay.engines.engine_table import Common, kind_names, kind_of
    from assay.evaluation.tuning.search_space import TuneTable
    from assay.judging.machine import Machine
    from assay.review.backlog import BacklogSource
    from assay.telemetry.external_table import LogsSource
    from assay.workbench.project.config import AnswersConfig, GateConfig, GoldConfig

    parts = [
        "## [gold.NAME]\n\nA gold set, and what is done with it.",
        _keys(GoldConfig),
        "## [engines.NAME]\n\nAn engine. One key says which kind it is: `search_module` (a module "
        "of yours), `engine` (one of Assay's, with `corpus`), `run` (saved results), `corpora` "
        f"(another engine for each corpus), or {', '.join(f'`{name}`' for name in kind_names())}. "
        "These keys are the same for every kind:",
        _keys(Common),
    ]
    for name in kind_names():
        if name != "preset":  # the same kind as http
            parts += [f"### Keys of `{name}`", _keys(kind_of(name).settings)]
    parts += [
        "## [answers.NAME]\n\nA file of [generated answers](../tutorials/answers.md) to check.",
        _keys(AnswersConfig),
        "## [[gates]]\n\nOne demand. Write as many as you need.",
        _keys(GateConfig),
        "## [judges.NAME]\n\nA [machine judge](../judging/machine.md).",
        _keys(Machine),
        "## [backlog.NAME]\n\nAn [external backlog](../backlogs.md).",
        _keys(BacklogSource),
        "## [logs]\n\nThe [team's own search log](../search-logs.md).",
        _keys(LogsSource),
        "## [tune.NAME]\n\nA [sweep over settings](../tuning.md). Every other key is a parameter: "
        "a list of values, or a range.",
        _keys(TuneTable),
    ]
    intro = (
        "Every key of the file. [Writing an assay.toml](../configuration.md) shows a whole file "
        "and says what the gates mean."
    )
    return page("assay.toml", intro, *parts)


def _keys(struct: type[msgspec.Struct]) -> str:
    keys = tomllib.loads((Path(__file__).parent / "keys.toml").read_text(encoding="utf-8"))
    known = keys["any"] | keys.get(struct.__name__, {})
    said = _field_comments(struct)
    rows = []
    for field in msgspec.structs.fields(struct):
        default = "required" if field.required else ""
        if field.default not in (msgspec.NODEFAULT, None, "", (), False):
            default = f"`{field.default}`"
        rows.append(
            (
                f"`{field.encode_name}`",
                _type(field.type),
                said.get(field.name) or known.get(field.encode_name, ""),
                default,
            )
        )
    return table(("key", "type", "what it is", "default"), rows)


def _type(kind: Any) -> str:
    """A type as a user of TOML would say it."""
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    arguments = [one for one in typing.get_args(kind) if one not in (type(None), Ellipsis)]
    origin = typing.get_origin(kind)
    if origin in (tuple, list):
        return f"list of {_type(arguments[0])}" if arguments else "list"
    if origin is dict or kind is dict:
        return "table"
    if origin is typing.Literal:
        return " or ".join(map(str, arguments))
    if arguments:
        return " or ".join(dict.fromkeys(map(_type, arguments)))
    return names.get(kind, "value")


def _field_comments(struct: type) -> dict[str, str]:
    """What stands after each field, or in the lines before it, of a struct and those it is built
    on."""
    said: dict[str, str] = {}
    for part in reversed(struct.__mro__):
        if not issubclass(part, msgspec.Struct) or part is msgspec.Struct:
            continue
        above: list[str] = []
        for line in inspect.getsource(part).splitlines():
            if comment := re.fullmatch(r"    # (.*)", line):
                above.append(comment[1])
            elif field := re.match(r"    (\w+): [^#]*(?:# (.*))?$", line):
                said[field[1]] = " ".join([*above, field[2] or ""]).strip()
                above = []
            elif line.strip():
                above = []
    return said


# ── formats, measures ─────────────────────────────────────────────────────────────────────────────


def formats() -> str:
    from assay import formats as known

    def rows(names: dict[str, str], endings: dict[str, str]) -> list[tuple[str, str, str]]:
        shown = []
        for name, module in names.items():
            ends = " ".join(f"`{end}`" for end, of in endings.items() if of == name)
            doc = inspect.getdoc(importlib.import_module(module)) or ""
            shown.append((f"`{name}`", ends, _plain(doc).split("\n\n")[0]))
        return shown

    head = ("name", "ending", "what it is")
    return page(
        "Formats",
        "The ending of a file name picks the format; `--from` and `--to` of `assay gold convert` "
        "name it. [Choosing a format](../formats.md) says what each can hold.",
        "## Gold sets",
        table(head, rows(known.GOLD_FORMATS, known.GOLD_ENDINGS)),
        "## Runs",
        table(head, rows(known.RUN_FORMATS, known.RUN_ENDINGS)),
        "## Tools to judge with",
        table(head, rows(known.EXCHANGE_FORMATS, {})),
        "## Results files\n\nThe [JSON Schema](../results.schema.json) of what `assay score -o` "
        "writes is part of the site.",
    )


def measures() -> str:
    from assay.evaluation.measures import MEASURES

    rows = []
    for name, formula in MEASURES.items():
        params = ", ".join(
            f"`{key}` ({UNSET.get(key, 'none') if value is None else value})"
            for key, value in formula.params.items()
        )
        rows.append((f"`{name}`", params, formula.cutoff, formula.text, formula.source))
    return page(
        "Measures",
        "A measure is written as in ir_measures: `nDCG@10`, `P(rel=2)@5`, `RR(rel=2)`, "
        "`nDCG(gain=exp2)@10`, `RBP(p=0.9,rel=1)`. What you leave out has its default. [The rules "
        "behind each number](../measures.md) says what happens with ties, missing queries and "
        "unjudged documents, and where other tools differ.",
        table(("measure", "parameters (default)", "cutoff", "formula", "source"), rows),
    )


# ── agents, HTTP ──────────────────────────────────────────────────────────────────────────────────


def mcp() -> str:
    from assay.mcp.server import INSTRUCTIONS, build_server
    from assay.workbench.project.service import open_service

    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/assay.db"
        with open_service(store, create=True) as service:
            server = build_server(service)
            tools = asyncio.run(server.list_tools())
    parts = []
    for tool in tools:
        shape = tool.input_schema
        required = shape.get("required", [])
        rows = [
            (
                f"`{name}`",
                _json_type(kind),
                kind.get("description", ""),
                _json_default(name, kind, required),
            )
            for name, kind in shape.get("properties", {}).items()
        ]
        parts.append(f"## {tool.name}\n\n{_plain(tool.description or '')}")
        if rows:
            parts.append(table(("argument", "type", "what it is", "default"), rows))
        answer = ((tool.output_schema or {}).get("properties") or {}).keys()
        if answer:
            parts.append(f"Answers with {', '.join(f'`{name}`' for name in answer)}.")
    intro = (
        f"What `assay mcp` offers to an agent. It tells the agent this first:\n\n> {INSTRUCTIONS}"
    )
    return page("MCP tools", intro, *parts)


def _json_type(shape: Any) -> str:
    if not isinstance(shape, dict):
        return "value"
    if "anyOf" in shape:
        return " or ".join(dict.fromkeys(_json_type(one) for one in shape["anyOf"]))
    if shape.get("type") == "array":
        return f"list of {_json_type(shape.get('items', {}))}"
    if "enum" in shape:
        return " or ".join(f"`{value}`" for value in shape["enum"])
    return str(shape.get("type") or str(shape.get("$ref", "value")).rsplit("/", 1)[-1])


def _json_default(name: str, shape: dict[str, Any], required: list[str]) -> str:
    if name in required:
        return "required"
    return f"`{shape['default']}`" if shape.get("default") not in (None, "", [], False) else ""


def http() -> str:
    from assay import __version__
    from assay.web.api_calls import document
    from assay.web.app import TABLES

    told = document((row for rows in TABLES for row in rows), __version__)
    rooms: dict[str, list[str]] = {}
    for path, methods in told["paths"].items():
        for method, call in methods.items():
            asked = ", ".join(
                f"`{one['name']}`" + ("" if one["required"] else " (optional)")
                for one in call["parameters"]
            )
            sent = _media(call.get("requestBody"))
            answered = _media(call["responses"]["2XX"])
            lines = [
                f"### {method.upper()} {path}".replace("{", "\\{"),
                f"{call['summary']}. {call['description']}",
            ]
            lines += [f"Parameters: {asked}."] if asked else []
            lines += [f"Send: {sent}."] if sent else []
            lines += [f"Answer: {answered}."] if answered else []
            room = path.split("/")[2] if path.startswith("/api/") else "other"
            rooms.setdefault(room, []).append("\n\n".join(lines))
    parts = [f"## {room}\n\n" + "\n\n".join(calls) for room, calls in sorted(rooms.items())]
    schemas = told["components"]["schemas"]
    shapes = []
    for name, shape in sorted(schemas.items()):
        fields = shape.get("properties", {})
        rows = [(f"`{key}`", _json_type(kind)) for key, kind in fields.items()]
        if rows:
            shapes.append(f"### {name}\n\n{table(('field', 'type'), rows)}")
    intro = (
        "The calls of `assay serve`. A running server has the same at `/api/docs`, and for "
        "programs at `/api/openapi.json`. [Who may call what](roles.md) is a table of "
        "its own. A call that is refused answers with `error`, a sentence."
    )
    return page("HTTP", intro, *parts, "## Shapes", *shapes)


def _media(part: dict[str, Any] | None) -> str:
    content = (part or {}).get("content", {}).get("application/json", {})
    return f"`{_json_type(content['schema'])}`" if content else ""


# ── roles, citations, rubric ──────────────────────────────────────────────────────────────────────


def roles() -> str:
    from assay.web.api_calls import role_table
    from assay.web.app import TABLES

    return page(
        "Who may call what",
        "Every page and call of the workbench, with the lowest role that may use it: reader, "
        "judge, chair, admin. *Anyone* needs no account. "
        "[Keys](../workbench/people.md#keys-for-services) are of kind `log` or `watch`. Without "
        "accounts, on this machine alone, everybody is an admin. "
        "`tests/web/test_roles.py` tries every call as every role.",
        role_table(row for rows in TABLES for row in rows).rstrip(),
    )


def citations() -> str:
    from assay.law.spellings import BARE, SPELLINGS

    rows = [
        (LANGUAGES.get(row.language, "in a field"), row.name, " · ".join(row.examples))
        for row in (*SPELLINGS, *BARE)
    ]
    return page(
        "Spellings of citations",
        "How people write a section, and how Assay reads it everywhere. "
        "[Citations](../citations.md) has the normal forms and says how documents are found.",
        table(("language", "spelling", "examples"), rows),
    )


def rubric() -> str:
    from assay.judging import rubrics

    return rubrics.as_markdown(rubrics.load())


# ── glossary ──────────────────────────────────────────────────────────────────────────────────────


GLOSSARIES = {
    "en": ("English", " lang=en"),
    "fi": ("Suomeksi", " lang=fi"),
    "he": ("בעברית", " lang=he dir=rtl"),
}


def glossary() -> str:
    """The words of tools/site/glossary.toml, each language by itself. Where a page of the workbench
    explains the same word, its explanation is taken from there."""
    terms = tomllib.loads((Path(__file__).parent / "glossary.toml").read_text(encoding="utf-8"))
    explained = {
        language: tomllib.loads(
            (WORDS / "pages" / f"glossary.{language}.toml").read_text(encoding="utf-8")
        )
        for language in LANGUAGES
    }
    parts = []
    for language, (heading, mark) in GLOSSARIES.items():
        parts.append(f"## {heading} {{#{language}{mark}}}")
        for key, term in sorted(terms.items(), key=lambda item: item[1][language].casefold()):
            said = term.get(f"means_{language}") or explained[language][f"word {key}"]
            told = said if term[language] == term["en"] else f"{said} ({term['en']})"
            parts.append(f"### {term[language]} {{#{language}-{key}{mark}}}\n\n{told}\n{{:{mark}}}")
    intro = "The words of Assay, in [English](#en), [suomeksi](#fi) and [בעברית](#he)."
    return page("Glossary", intro, *parts)


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands,
    "reference/python.md": python,
    "reference/assay-toml.md": configuration,
    "reference/formats.md": formats,
    "reference/measures.md": measures,
    "reference/mcp.md": mcp,
    "reference/http.md": http,
    "reference/roles.md": roles,
    "reference/citations.md": citations,
    "reference/rubric.md": rubric,
    "reference/glossary.md": glossary,
}


if __name__ == "__main__":
    for path, make in PAGES.items():
        target = Path(sys.argv[1]) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(make(), encoding="utf-8")

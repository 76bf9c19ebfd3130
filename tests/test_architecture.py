"""The import rule and the size rule, read from the source itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "assay"

# What a part may import beside `types` and `errors`. A part that is not listed may import
# `figures`, `files`,
# `runs` and `measures`, and nothing of its own layer.
LOWEST = {
    "types": set[str](),
    "errors": set[str](),
    "figures": set[str](),
    "files": {"errors"},
    "runs": {"types", "errors", "files"},
    "measures": {"types", "errors", "files"},
}
MIDDLE = {"types", "errors", *LOWEST}
EXCEPTIONS = {
    "compare": {"stats", "overturn"},
    "evaluation": {"notebook"},  # what it returns can be shown
    "notebook": {"stats"},
    "gates": {"stats"},
    "golden": {"stats"},
    "report": {"golden_report"},  # failures come in one order everywhere
    "exports": {"golden_report"},
    "config": {"gates"},  # assay.toml holds gates
    "telemetry": {"store"},  # what it records is kept there
    "backlog": {"store"},  # what waits is counted there
}
# The verbs: together they know all.
SERVICES = {
    "workbench",
    "curation",
    "library",
    "runner",
    "desk",
    "deciding",
    "reports",
    "health",
    "doctor",
}
COMMAND_LINE = {"__main__", "cli", "cli_gold", "cli_corpus", "cli_desk", "terminal"}
ADAPTERS = COMMAND_LINE | {"mcp", "web", "pytest_plugin"}
FOR_ADAPTERS = {
    "types",
    "errors",
    "config",
    "report",
    "listing",
}  # beside the verbs: settings in, tables out


def parts() -> dict[str, list[Path]]:
    """Modules and packages right below `assay`, with their files."""
    found: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        found.setdefault(path.relative_to(SOURCE).parts[0].removesuffix(".py"), []).append(path)
    found.pop("__init__")
    return found


def is_module(name: str) -> bool:
    place = SOURCE.parent.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def imported_modules(path: Path) -> Iterator[str]:
    """Every `assay.…` module a file imports, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("assay."))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides what it imports"
            for alias in node.names if node.module and node.module.split(".")[0] == "assay" else ():
                module = f"{node.module}.{alias.name}"
                if is_module(module):
                    yield module
                elif node.module != "assay":
                    yield str(node.module)


def imports_of(part: str) -> set[str]:
    names = {name.split(".")[1] for path in parts()[part] for name in imported_modules(path)}
    return names - {part}


@pytest.mark.parametrize("part", parts())
def test_a_part_imports_only_what_its_layer_allows(part: str) -> None:
    if part in SERVICES:
        allowed = set(parts()) - ADAPTERS
    elif part in ADAPTERS:
        allowed = (
            FOR_ADAPTERS
            | SERVICES
            | (COMMAND_LINE | {"mcp", "web"} if part in COMMAND_LINE else set())
        )
    else:
        allowed = LOWEST.get(part, MIDDLE | EXCEPTIONS.get(part, set()))
    assert imports_of(part) <= allowed, (
        f"{part} may not import {sorted(imports_of(part) - allowed)}"
    )


def test_every_exception_is_used() -> None:
    """An exception that nobody needs any more is taken out of the table."""
    here = parts()
    unused = {
        (part, name)
        for part, names in EXCEPTIONS.items()
        if part in here
        for name in names - imports_of(part)
    }
    assert not unused


def test_there_are_no_cycles_between_modules() -> None:
    modules = {
        ".".join(["assay", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(
            ".__init__"
        ): path
        for path in SOURCE.rglob("*.py")
    }
    del modules["assay"]  # imports nothing by itself; loads on first use
    graph = {
        name: set(imported_modules(path)) & set(modules) - {name} for name, path in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_there_is_no_part_called_utils() -> None:
    assert not {path.stem for path in SOURCE.rglob("*.py")} & {
        "utils",
        "util",
        "helpers",
        "common",
        "misc",
    }


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_files_and_functions_stay_small(path: Path) -> None:
    """A file has at most 500 lines, a function at most 60."""
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 500
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
        if node.end_lineno - node.lineno + 1 > 60
    ]
    assert not long

"""The layers of the house and how much a command loads, read from the source itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "assay"

# One total order, lowest first: a part imports only from lines above its own. Parts on one line
# never import each other. There are no exceptions.
LAYERS = (
    {"core"},
    {"language"},
    {"law"},
    {"formats", "store", "corpus"},
    {"gold"},
    {"search"},
    {"engines"},
    {"telemetry"},
    {"evaluation"},
    {"judging", "review", "answers"},
    {"reports"},
    {"workbench"},
    {"api", "web", "mcp", "pytest_plugin", "testing"},
    {"cli"},  # it starts the servers, so it stands above them
    {"__main__"},
)
ORDER = {part: level for level, layer in enumerate(LAYERS) for part in layer}
ADAPTERS = ("cli", "web", "mcp", "api", "pytest_plugin")
FOR_ADAPTERS = {"core", "reports", "workbench"}  # values, verbs, and what shows them

FILES = {
    ".".join(("assay", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(SOURCE.rglob("*.py"))
}


@cache
def sources() -> dict[str, tuple[Path, str, ast.Module]]:
    """{module: (file, text, tree)} of everything below `assay`; read when the first test asks."""
    texts = {module: path.read_text(encoding="utf-8") for module, path in FILES.items()}
    return {module: (FILES[module], text, ast.parse(text)) for module, text in texts.items()}


def part_of(module: str) -> str:
    return module.split(".")[1]


def used_modules(module: str) -> set[str]:
    """Every `assay.…` module that is imported, or named in a text to be imported by."""
    path, _, tree = sources()[module]
    return {*imported_in(tree, str(path)), *named_in(tree)}


def imported_modules(module: str) -> set[str]:
    path, _, tree = sources()[module]
    return set(imported_in(tree, str(path)))


def imported_in(tree: ast.Module, path: str) -> Iterator[str]:
    """Also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "assay"]
            assert "assay" not in names, f"{path}: `import assay` hides what is used of it"
            yield from names
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides what it imports"
            package = str(node.module)
            if package.split(".")[0] != "assay":
                continue
            for alias in node.names:
                inner = f"{package}.{alias.name}"
                if inner in sources():
                    yield inner
                elif package != "assay":
                    yield package
                elif alias.name not in own_names():
                    yield "assay.api"


@cache
def own_names() -> set[str]:
    """What the package has without loading anything; all else is the front door's."""
    targets = [
        target
        for node in sources()["assay"][2].body
        if isinstance(node, ast.Assign)
        for target in node.targets
    ]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def named_in(tree: ast.Module) -> Iterator[str]:
    """In texts like "assay.core.files", "assay.core.files:decode" and f"assay.core.{name}"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0].strip().rstrip(".")
            if name != "assay" and name in sources():
                yield name
            else:
                assert node.value != "assay.", "a text hides which part it names"


PARTS = sorted({part_of(module) for module in FILES if module != "assay"})


def test_every_part_has_its_layer() -> None:
    assert set(PARTS) == set(ORDER)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_only_from_below(part: str) -> None:
    wrong = {
        f"{module} imports {imported}"
        for module in sources()
        if module != "assay" and part_of(module) == part
        for imported in used_modules(module)
        if part_of(imported) != part and ORDER[part_of(imported)] >= ORDER[part]
    }
    assert not wrong


@pytest.mark.parametrize("part", ADAPTERS)
def test_an_adapter_reaches_neither_the_store_nor_files(part: str) -> None:
    """It parses, calls one verb and renders."""
    started = {"web", "mcp"} if part == "cli" else set()
    wrong = {
        f"{module} imports {imported}"
        for module in sources()
        if module != "assay" and part_of(module) == part
        for imported in used_modules(module)
        if part_of(imported) not in {part, *FOR_ADAPTERS, *started}
        or imported in ("assay.core.files", "assay.core.runs")
    }
    assert not wrong


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("from assay import evaluate", "assay.api"),
        ("from assay import formats", "assay.formats"),
        ("def late():\n    from assay import GoldSet", "assay.api"),
        ('import_module("assay.workbench.scoring.score")', "assay.workbench.scoring.score"),
        ('TABLE = {"x": "assay.workbench.scoring.score:score"}', "assay.workbench.scoring.score"),
        ('import_module(f"assay.workbench.{name}")', "assay.workbench"),
    ],
)
def test_no_way_of_importing_is_overlooked(text: str, module: str) -> None:
    tree = ast.parse(text)
    assert {*imported_in(tree, ""), *named_in(tree)} == {module}


def test_the_bare_package_is_not_imported_inside() -> None:
    assert not set(imported_in(ast.parse("from assay import __version__"), ""))
    with pytest.raises(AssertionError, match="import assay"):
        list(imported_in(ast.parse("import assay\nassay.evaluate"), ""))
    with pytest.raises(AssertionError, match="hides"):
        list(named_in(ast.parse('import_module(f"assay.{part}")')))


def test_the_package_itself_loads_only_its_front_door() -> None:
    _, _, tree = sources()["assay"]
    loaded = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("assay")
    }
    assert loaded <= {"assay.api", "assay.api.verbs"}


def test_there_are_no_cycles_between_modules() -> None:
    modules = set(sources()) - {"assay"}  # imports nothing by itself; loads on first use
    graph = {name: set(imported_modules(name)) & modules - {name} for name in modules}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


# ── names ─────────────────────────────────────────────────────────────────────────────────────────


def test_few_modules_stand_right_under_the_package() -> None:
    assert len([path for path in SOURCE.glob("*.py")]) <= 5


def test_no_two_tests_share_a_file_name() -> None:
    """pytest would collect one of them alone."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert not [name for name, times in names.items() if times > 1]


def test_there_is_no_part_called_utils() -> None:
    stems = {path.stem for path, _, _ in sources().values()}
    assert not stems & {"utils", "util", "helpers", "common", "misc"}


def test_typed_values_are_read_with_types_that_are_safe_in_threads() -> None:
    """See core/decoding.py. Types of Python alone need no preparation."""
    plain = set("Any None bool bytes dict float int list msgspec object str".split())
    found = [
        f"{path.name}:{kind.lineno}: {ast.unparse(kind)}"
        for path, text, tree in sources().values()
        if "msgspec" in text and path.name != "decoding.py"
        for kind in _types_read(tree)
        if not {name.id for name in ast.walk(kind) if isinstance(name, ast.Name)} <= plain
    ]
    assert not found, "\n".join(found)


def _types_read(tree: ast.Module) -> Iterator[ast.expr]:
    """The types that msgspec is told to read values as, without those from `thread_safe`."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or "structs" in ast.unparse(call.func):
            continue
        name = ast.unparse(call.func).rpartition(".")[2]
        named = [keyword.value for keyword in call.keywords if keyword.arg == "type"]
        given = {"convert": call.args[1:2], "Decoder": call.args[:1], "decode": []}
        if name in given:
            kinds = named or given[name]
            yield from (kind for kind in kinds if "thread_safe(" not in ast.unparse(kind))


def test_the_formatter_is_on() -> None:
    off = [
        f"{path.relative_to(SOURCE)}"
        for path, text, _ in sources().values()
        for _ in re.findall(r"fmt: (?:skip|off)", text)
    ]
    assert len(off) <= 10


def modules_loaded_by(*command: object) -> list[str]:
    """The modules of Assay that a command has loaded when it ends."""
    script = (
        "import sys, assay.cli\n"
        "try: assay.cli.main()\n"
        "except SystemExit as stop: assert not stop.code, stop.code\n"
        "loaded = [name for name in sys.modules if name.split('.')[0] == 'assay']\n"
        "print('loaded:', *loaded)\n"
    )
    arguments = [sys.executable, "-c", script, *map(str, command)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return done.stdout.rpartition("loaded:")[2].split()


def test_writing_a_report_loads_little(tmp_path: Path) -> None:
    """`assay report x.json -o x.md` needs the view and one format, not the whole house."""
    results = min((Path(__file__).parent / "fixtures" / "results-0.1").glob("*.json"))
    loaded = modules_loaded_by("report", results, "-o", tmp_path / "x.md")
    assert len(loaded) <= 32, loaded


def test_scoring_a_python_engine_loads_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`assay score` on a graded set needs measures and one engine: no law, languages, corpora,
    store or project."""
    samples = SOURCE.parents[1] / "samples" / "en"
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    engine = f"{samples / 'my_engine.py'}:MyEngine"
    loaded = modules_loaded_by("score", samples / "dataset.json", "--search-module", engine)
    assert len(loaded) <= 80, loaded
    heavy = ("corpus", "language", "law", "search", "store", "review", "telemetry")
    assert not [name for name in loaded if name.split(".")[1:2] and name.split(".")[1] in heavy]


def test_an_engine_of_a_table_is_found_without_our_own_search() -> None:
    """Asking an HTTP engine needs neither corpora nor indexes, which take long to load."""
    script = (
        "import sys\n"
        "import assay.engines.http\n"
        "import assay.workbench.scoring.engines, assay.workbench.scoring.graded\n"
        "print(*(n for n in sys.modules if n.startswith(('assay.search', 'assay.corpus'))))\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

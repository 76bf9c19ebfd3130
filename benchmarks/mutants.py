"""Do the tests notice? Small faults are put into the code that decides or keeps something, one at a
time, and the tests of that part run against each.

    python benchmarks/mutants.py [--mutants 120] [--seed 1] [--part gates] [--output mutants.json]
    python benchmarks/mutants.py --only "gates.py:_passes"     # all faults of one function

A fault is a comparison, an arithmetic sign, a constant, a condition, a returned value or a
statement that is dropped, drawn at random. It lives in the memory of one process: no file changes,
so a test that starts a process of its own does not see it. A fault is caught when a test fails, or
when the tests take three times their time and twenty seconds at least. Tests that reach its line
run first, quick ones before slow ones, and the others after them. Faults that change nothing
that anybody can see are listed with a reason in `equivalent_mutants.toml`. Exits with 1 when fewer
than 92% of the others are caught."""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.machinery
import inspect
import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import threading
import time
import tomllib
import types
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "NO_COLOR": "1"}
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "assay"
WANTED = 0.92
LONGER = 3
BROKEN = "not tried: "  # what could not be put in, or stopped pytest itself, is no answer
HEAVY = "numpy polars msgspec sqlalchemy alembic.command hypothesis scipy.stats jinja2 rich pytest"


class Part(NamedTuple):
    """Source files, and what of the tests runs against them: paths, and words to leave tests out
    by."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    without: str = ""


PARTS = {
    "measures": Part(
        ("evaluation/measures.py", "evaluation/graded.py"),
        (
            "evaluation/test_decisive_results.py",
            "evaluation/test_measures.py",
            "evaluation/test_graded.py",
            "evaluation/test_decisive_edges.py",
        ),
    ),
    "statistics": Part(
        ("evaluation/statistics.py",),
        (
            "evaluation/test_decisive_edges.py",
            "evaluation/test_statistics.py",
        ),
    ),
    "gates": Part(
        ("evaluation/gates.py", "evaluation/gate_values.py"),
        (
            "evaluation/test_decisive_gates.py",
            "evaluation/test_decisive_edges.py",
            "evaluation/test_gates.py",
            "evaluation/test_expectations.py",
            "evaluation/test_golden_figures.py",
            "evaluation/test_verdict_stability.py",
        ),
    ),
    "golden checks": Part(
        ("evaluation/golden/scoring.py",),
        (
            "evaluation/test_decisive_answers.py",
            "evaluation/test_evidence.py",
            "evaluation/test_golden_checks.py",
            "evaluation/test_golden_figures.py",
        ),
    ),
    "votes": Part(
        ("gold/votes.py", "judging/votes.py", "judging/labels.py", "gold/upgrade.py"),
        (
            "judging/test_policy.py",
            "judging/test_votes.py",
            "judging/test_adjudicate.py",
            "formats/test_votes_file.py",
            "judging/test_incoming_votes.py",
            "workbench/test_grading.py",
            "review/test_before_log.py",
            "gold/test_upgrade.py",
            "faults/test_machines.py",
        ),
    ),
    "merge": Part(
        ("judging/incoming_votes.py",),
        (
            "judging/test_incoming_votes.py",
            "judging/test_votes.py",
            "judging/test_merge.py",
            "judging/test_round_trips.py",
            "formats/test_exchange.py",
        ),
    ),
    "next": Part(
        ("judging/next.py",),
        ("judging/test_next.py", "evaluation/test_gates.py", "cli/test_commands.py"),
    ),
    "comparison": Part(
        ("evaluation/comparison.py",),
        (
            "evaluation/test_comparison.py",
            "evaluation/test_deltas.py",
            "evaluation/test_verdict_stability.py",
            "evaluation/test_golden_figures.py",
            "evaluation/test_leaderboard.py",
            "reports/test_rows_that_changed.py",
        ),
    ),
    "answers": Part(
        ("answers/check.py", "answers/measures.py", "answers/mentions.py", "answers/sources.py"),
        (
            "answers/test_answers.py",
            "answers/test_answer_measures.py",
            "workbench/test_answer_runs.py",
        ),
    ),
    "bootstrap": Part(
        ("review/bootstrap.py",),
        (
            "review/test_decisive_support.py",
            "review/test_bootstrap_command.py",
            "workbench/test_decision_texts.py",
        ),
    ),
    "log": Part(
        ("gold/log.py", "gold/rows.py", "gold/projection.py"),
        (
            "gold/test_log.py",
            "gold/test_projection.py",
            "gold/test_clones.py",
            "faults/test_machines.py",
        ),
    ),
    "decisions": Part(
        ("review/decision_acts.py", "review/queue.py"),
        (
            "review/test_approve.py",
            "review/test_correct.py",
            "review/test_reject.py",
            "review/test_undo.py",
            "review/test_bulk.py",
            "review/test_suggestions.py",
            "review/test_queue_page.py",
            "faults/test_machines.py",
        ),
    ),
    "matching": Part(
        ("law/matching.py",),
        (
            "law/test_matching.py",
            "law/test_places.py",
            "evaluation/test_golden_checks.py",
            "evaluation/test_versions.py",
        ),
        "evidence",
    ),
    "resolve": Part(
        ("corpus/citations.py",),
        ("corpus/test_resolve.py", "corpus/test_in_force.py", "corpus/test_corpus.py"),
        "real",
    ),
    "store": Part(
        ("store/store.py", "store/logs.py", "store/accounts.py"),
        (
            "store/test_store_contract.py",
            "store/test_store_file.py",
            "store/test_store_internals.py",
            "store/test_account_races.py",
            "faults/test_machines.py",
        ),
        "postgresql",
    ),
    "gold files": Part(
        ("formats/gold_jsonl.py",),
        (
            "formats/test_gold_jsonl.py",
            "formats/test_gold_formats.py",
            "gold/test_projection.py",
            "review/test_bootstrap_command.py",
        ),
        "postgresql",
    ),
}


# ── faults ────────────────────────────────────────────────────────────────────────────────────────


class Mutant(NamedTuple):
    part: str
    file: str
    line: int
    function: str
    kind: str
    was: str
    now: str
    number: int  # of the fault among those of its file

    @property
    def name(self) -> str:
        return f"{self.file}:{self.function}: {self.was} -> {self.now}"


COMPARED: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COMPUTED: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}


def variants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What a node could be by mistake."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        changed = copy.deepcopy(node)
        changed.ops[0] = COMPARED[type(node.ops[0])]()
        yield "comparison", changed
    if isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
        changed = copy.deepcopy(node)
        changed.op = COMPUTED[type(node.op)]()
        yield "arithmetic", changed
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        flipped = isinstance(node.value, bool)
        yield "constant", ast.Constant(not node.value if flipped else node.value + 1)
    if isinstance(node, ast.BoolOp):
        changed = copy.deepcopy(node)
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "boolean", changed
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "boolean", node.operand
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        changed = copy.deepcopy(node)
        changed.test = ast.UnaryOp(ast.Not(), changed.test)
        yield "boolean", changed
    if isinstance(node, ast.Return) and getattr(node.value, "value", node.value) is not None:
        yield "return", ast.Return(ast.Constant(None))
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if called or isinstance(node, ast.AugAssign | ast.Raise):
        yield "dropped", ast.Pass()


class Finder(ast.NodeVisitor):
    """Every fault of a file; annotations, what an error says, and names are left alone."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str, ast.AST, ast.AST]] = []
        self.around: list[ast.AST] = []  # what each stands in
        self._inside: list[str] = []
        self._above: list[ast.AST] = []

    def visit(self, node: ast.AST) -> None:
        for kind, changed in variants(node):
            self.found.append((".".join(self._inside) or "module", kind, node, changed))
            self.around.append(self._above[-1] if self._above else node)
        self._above.append(node)
        named = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        if named:
            self._inside.append(node.name)  # type: ignore[attr-defined]
        for field, value in ast.iter_fields(node):
            if field in (
                "annotation",
                "returns",
                "type_params",
                "decorator_list",
                "bases",
                "keywords",
            ) and (named or field in ("annotation", "returns")):
                continue
            if isinstance(node, ast.Raise):
                continue
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    self.visit(each)
        self._above.pop()
        if named:
            self._inside.pop()


def faults(tree: ast.AST) -> Finder:
    finder = Finder()
    finder.visit(tree)
    return finder


def one_line(node: ast.AST) -> str:
    """A statement with a body is told by its condition."""
    if isinstance(node, ast.If | ast.While):
        word = "while" if isinstance(node, ast.While) else "if"
        return f"{word} {ast.unparse(node.test)}"
    return " ".join(ast.unparse(node).split())[:200]


def mutants_of(part: str) -> list[Mutant]:
    made = []
    for file in PARTS[part].files:
        tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        seen = faults(tree)
        for number, (function, kind, node, changed) in enumerate(seen.found):
            line: int = node.lineno  # type: ignore[attr-defined]
            said = one_line(ast.fix_missing_locations(changed))
            if kind == "constant":
                said += f" in {one_line(seen.around[number])}"
            made.append(Mutant(part, file, line, function, kind, one_line(node), said, number))
    return made


def mutated(file: str, number: int) -> ast.AST:
    tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
    _, _, node, changed = faults(tree).found[number]

    class Swap(ast.NodeTransformer):
        def visit(self, at: ast.AST) -> ast.AST:
            return ast.copy_location(changed, node) if at is node else self.generic_visit(at)

    return ast.fix_missing_locations(Swap().visit(tree))


# ── running tests against one ─────────────────────────────────────────────────────────────────────


class HitFacts(NamedTuple):
    caught_by: str  # a test, "time", or nothing
    seconds: float  # of the processor


def put_in(mutant: Mutant) -> None:
    """Put a fault into the module that is loaded: everybody who has a function of it has it with
    the fault. What is not inside a function is put in by loading the module with it, before
    anybody else does."""
    name = "assay." + mutant.file.removesuffix(".py").replace("/", ".")
    target, tree = str(PACKAGE / mutant.file), mutated(mutant.file, mutant.number)
    code = compile(tree, target, "exec")  # type: ignore[arg-type]
    if name not in sys.modules:
        plain = importlib.machinery.SourceFileLoader.get_code

        def get_code(self: Any, fullname: str) -> Any:
            return code if self.path == target else plain(self, fullname)

        importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
        return
    fresh = types.ModuleType(name)
    fresh.__file__ = target
    fresh.__package__ = name.rpartition(".")[0]
    exec(code, fresh.__dict__)
    new = dict(functions_of(vars(fresh), name))
    for known, function in functions_of(vars(sys.modules[name]), name):
        if known in new:
            changed = new[known]
            if function.__code__ != changed.__code__:
                function.__code__ = changed.__code__
            if function.__defaults__ != changed.__defaults__:
                function.__defaults__ = changed.__defaults__
            if function.__kwdefaults__ != changed.__kwdefaults__:
                function.__kwdefaults__ = changed.__kwdefaults__


def functions_of(names: Mapping[str, Any], module: str) -> Iterator[tuple[str, Any]]:
    for value in names.values():
        inner = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
        inner = inspect.unwrap(inner) if callable(inner) else inner
        if isinstance(inner, types.FunctionType) and inner.__module__ == module:
            yield inner.__qualname__, inner
        elif isinstance(value, type) and value.__module__ == module:
            yield from functions_of(vars(value), module)


class Reached(NamedTuple):
    seconds: float
    lines: set[tuple[str, int]]


class Reach:
    """Which lines of the files with faults each test reaches. The run without a fault finds it and
    leaves it in a file for the others."""

    def __init__(self, files: Sequence[str], path: Path) -> None:
        self._names, self._path = {str(PACKAGE / file): file for file in files}, path
        self._now: set[tuple[str, int]] = set()
        self._found: dict[str, Reached] = {}

    def begin(self) -> None:
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def _trace(self, frame: types.FrameType, event: str, arg: object) -> Any:
        file = self._names.get(frame.f_code.co_filename)
        if file is None:
            return None
        self._now.add((file, frame.f_lineno))
        return self._trace

    @contextlib.contextmanager
    def of(self, test: str) -> Iterator[None]:
        self._now, began = set(), time.process_time()
        yield
        self._found[test] = Reached(time.process_time() - began, self._now)

    def keep(self) -> None:
        rows = {test: [each.seconds, sorted(each.lines)] for test, each in self._found.items()}
        self._path.write_text(json.dumps(rows), encoding="utf-8")

    def sort(self, tests: list[Any], mutant: Mutant) -> None:
        """The tests that are likely to notice first."""
        rows = json.loads(self._path.read_text(encoding="utf-8"))
        at = [mutant.file, mutant.line]

        def rank(test: Any) -> tuple[int, float]:
            seconds, lines = rows.get(test.nodeid, (0.0, ()))
            near = 0 if at in lines else 1 if any(file == at[0] for file, _ in lines) else 2
            return near, seconds

        tests.sort(key=rank)


class Watcher:
    """Loads and collects the tests once, then runs them in a fork for every fault."""

    def __init__(
        self, chosen: Sequence[Mutant | None], tell: int, limit: float, reach: Reach
    ) -> None:
        self._chosen, self._tell, self._limit, self._reach = chosen, tell, limit, reach
        self._own = -1  # where a fork says what it found
        self._tracing = False

    def pytest_collection_finish(self, session: Any) -> None:
        limit = self._limit
        del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]  # tests of our plugin start pytest
        if len(os.listdir("/proc/self/task")) > 1:  # a fork would wait for them for ever
            self._say(f"{BROKEN}tests start threads when they are loaded")
        for mutant in self._chosen:
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.setpgid(0, 0)
                self._own = write
                if mutant:
                    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
                    try:
                        put_in(mutant)
                    except Exception as error:
                        self._say(f"{BROKEN}{mutant.name}: {error!r}")
                    self._reach.sort(session.items, mutant)
                else:
                    self._tracing = True
                    self._reach.begin()
                return  # and pytest goes on to run the tests
            os.close(write)
            told = waited_for(child, read, limit)
            limit = limit or longest(told)
            os.write(self._tell, (json.dumps(told) + "\n").encode())
        os.kill(os.getpid(), signal.SIGKILL)

    def pytest_internalerror(self, excrepr: Any) -> None:
        self._say(f"{BROKEN}{excrepr}"[:1000])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._say(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._say(report.nodeid or "import")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        with self._reach.of(item.nodeid) if self._tracing else contextlib.nullcontext():
            return (yield)

    def pytest_sessionfinish(self) -> None:
        if self._tracing:
            self._reach.keep()
        self._say("-")

    def _say(self, found: str) -> None:
        os.write(self._own if self._own >= 0 else self._tell, found.encode()[:2000])
        os.kill(os.getpid(), signal.SIGKILL)  # no exit handlers: threads of a broken state may hang


def waited_for(child: int, read: int, limit: float) -> HitFacts:
    """What a fork says, with ten times its limit by the clock."""
    ready, _, _ = select.select([read], [], [], 10 * limit or 900)
    said = os.read(read, 4000).decode() if ready else "time"
    os.close(read)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, _, used = os.wait4(child, 0)
    return HitFacts({"-": "", "": "time"}.get(said, said), used.ru_utime + used.ru_stime)


def longest(base: HitFacts) -> float:
    """How long tests may take that take so long without a fault."""
    return max(20.0, LONGER * base.seconds)


def tried(
    part: Part, chosen: Sequence[Mutant | None], path: Path, limit: float = 0.0
) -> Iterator[HitFacts]:
    """The tests of a part against each fault, in a process of its own; a fault outside functions
    alone in one, with the limit that the others had."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(read)
        _collect(part, Watcher(chosen, write, limit, Reach(part.files, path)), chosen)
    os.close(write)
    with os.fdopen(read) as said:
        for line in said:
            yield HitFacts(*json.loads(line)) if line.startswith("[") else HitFacts(line.strip(), 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _collect(part: Part, watcher: Watcher, chosen: Sequence[Mutant | None]) -> None:
    sys.path.insert(0, str(ROOT / "src"))
    alone = [each for each in chosen if each and is_outside(each)]
    for mutant in alone[:1]:
        put_in(mutant)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    options = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    if part.without:
        options += ["-k", f"not {part.without}"]
    with contextlib.suppress(BaseException):
        pytest.main([*options, *(str(ROOT / "tests" / name) for name in part.tests)], [watcher])
    os.write(watcher._tell, b"import\n")
    os.kill(os.getpid(), signal.SIGKILL)


def is_outside(mutant: Mutant) -> bool:
    """Not inside a function, so that loading the module is what has the fault."""
    last = mutant.function.rpartition(".")[2]
    return mutant.function == "module" or last[:1].isupper() or last[:2].lstrip("_")[:1].isupper()


# ── the report ────────────────────────────────────────────────────────────────────────────────────


def equivalent() -> dict[str, str]:
    path = Path(__file__).with_name("equivalent_mutants.toml")
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def drawn(args: argparse.Namespace) -> list[Mutant]:
    """As many of every part, at random; or all that are named."""
    if args.only:
        every = [each for part in PARTS for each in mutants_of(part)]
        return [each for each in every if any(word in each.name for word in args.only)]
    dice = random.Random(args.seed)
    parts = args.part or list(PARTS)
    share, more = divmod(args.mutants, len(parts))
    chosen = []
    for place, part in enumerate(parts):
        known = mutants_of(part)
        chosen += dice.sample(known, min(share + (place < more), len(known)))
    return chosen


def outcomes(part: Part, chosen: Sequence[Mutant], name: str) -> Iterator[tuple[Mutant, HitFacts]]:
    """Of each fault; those outside functions one by one."""
    inside = [mutant for mutant in chosen if not is_outside(mutant)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reached.json"
        answers = tried(part, [None, *inside], path)
        base = next(answers)
        if base.caught_by.startswith(BROKEN):
            raise SystemExit(f"{name}: {base.caught_by}")
        if base.caught_by:
            raise SystemExit(f"the tests of {name} fail as they are: {base.caught_by}")
        say(f"-- {name}: {base.seconds:.1f} s without a fault")
        yield from zip(inside, answers, strict=True)
        for mutant in chosen:
            if is_outside(mutant):
                yield mutant, next(tried(part, [mutant], path, longest(base)))


def told_of(mutant: Mutant, outcome: str, by: str) -> dict[str, Any]:
    say(f"{outcome:10} {mutant.kind:10} {mutant.name} (line {mutant.line}) {by[-70:]}")
    return mutant._asdict() | {"outcome": outcome, "by": by}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mutants", type=int, default=130)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--only", action="append", help="part of the name of faults to try")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    for name in HEAVY.split():
        __import__(name)
    named = {test for part in PARTS.values() for test in part.tests}
    if gone := sorted(test for test in named if not (ROOT / "tests" / test).exists()):
        raise SystemExit(f"no such tests, which PARTS names: {', '.join(gone)}")
    chosen, known = drawn(args), equivalent()
    rows: list[dict[str, Any]] = []
    began = time.monotonic()
    for part_name in dict.fromkeys(mutant.part for mutant in chosen):
        own = [mutant for mutant in chosen if mutant.part == part_name]
        asked = [mutant for mutant in own if mutant.name not in known]
        for mutant, told in outcomes(PARTS[part_name], asked, part_name):
            if told.caught_by.startswith(BROKEN):
                raise SystemExit(told.caught_by)
            rows.append(told_of(mutant, "caught" if told.caught_by else "SURVIVED", told.caught_by))
        for mutant in own:
            if mutant.name in known:
                rows.append(told_of(mutant, "equivalent", known[mutant.name]))
    count = Counter(row["outcome"] for row in rows)
    real = count["caught"] + count["SURVIVED"]
    for part_name in dict.fromkeys(mutant.part for mutant in chosen):
        each = Counter(row["outcome"] for row in rows if row["part"] == part_name)
        say(f"{part_name:14} {each['caught']:3} caught {each['SURVIVED']:3} survived")
    share = count["caught"] / max(real, 1)
    say(
        f"{len(rows)} mutants, {count['equivalent']} equivalent; {count['caught']} of {real} "
        f"others caught ({share:.0%}), {time.monotonic() - began:.0f} s"
    )
    if args.output:
        args.output.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())

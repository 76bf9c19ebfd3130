"""What a user saw before the source tree was rearranged is what a user sees now.

`fixtures/before/commands.json` lists commands on the three samples; beside it lies what each of
them printed and wrote, and in `fixtures/results-0.1` the results files of version 0.1. Each command
is run again and compared: JSON by keys and values (numbers to 1e-12, scores of the engine to 1e-6;
new keys may appear), XML by its elements, HTML by its tags and texts, everything else line by line.
Times, versions and folders are masked. Results files may differ from those of 0.1 as `ALLOWED`
says, with the reason.

Scores run live; reports, comparisons and explanations are made from the results files of 0.1, so
that every figure in them, also in drawings, is the same on each machine.

The code that the fixtures check does not write them. A change that is wanted is recorded, by a tree
that is known to be right, with `python tests/test_before_and_after.py --record NAME …` (no name:
all of them), and read in the diff. The results files of 0.1 stay as they are.
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import math
import os
import re
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay, Outcome

HERE = Path(__file__).parent
SAMPLES = HERE.parent / "samples"
BEFORE = HERE / "fixtures" / "before"
WRITTEN = HERE / "fixtures" / "results-0.1"
COMMANDS: list[dict[str, Any]] = json.loads((BEFORE / "commands.json").read_text(encoding="utf-8"))


# ── What may differ from the results files of 0.1 ─────────────────────────────────────────────────


@dataclass(frozen=True)
class Allowed:
    """One wanted difference in the results of commands such as `score-fi-*`.

    `before` and `after` are for lines `path = value`: `after` is the replacement text for what the
    regular expression `before` matches. Without `after`, the lines may be gone; with ANY, gone or
    others."""

    commands: str
    reason: str
    before: str
    after: str | None = None


ANY = "any value"
RANKER = "provisions in Finnish and Hebrew are ranked and scored by weights fitted anew"
RANKED = r"^\.(overall|per_query|failures|robustness|groups|by_\w+|gates|baseline|comparison)\b"
ONE_DECIDE = "one `decide`: what cannot be told is inconclusive, also in golden sets"
STATUS = "provisions say whether they are in force: corpora are imported anew"
ACT_NOW = "sha256:0b62f381280b89f7b19944984a625d06394a0b079ca7d59056f919c10b92b7ee"
SAMPLE = "three rationales of the sample say more, and it states its own targets"
SAMPLE_NOW = "3b9bd1ec77a70bb52ed1adeb6419b519f398903206b9edeaea08e2de1c42cb34"
NOT_SEEN = "intervals reckon with queries not seen"
NEEDS = (
    ". Inconclusive: the interval includes that limit; about {n} queries would decide it "
    "(80% power)"
)
ONE_STATISTIC = "one statistic gives the interval, p, the verdict and gates"
BELIEF = "one calibrated belief about unjudged documents decides what they could turn"
CLOSED = "a set that lists relevant documents alone is closed: nothing is unjudged there"
TURN = (
    ". Inconclusive: 64 of the 111 results that affect the score have no judgment; with all of "
    "them judged, 0.001 is expected (-0.069 to 0.073), which passes with 69% probability and fails "
    "with 31%"
)
NO_RAISE = (
    "; the set is closed, so judging cannot raise that share: remove min_judged from the gate, or "
    "name a rubric in the set"
)
ONE_ROUNDING = "a gate rounds a figure as every page does"
SET_NAME = "a run calls a set as the configuration does"
# Results are worded as the field words them, the same everywhere: what was said before, and now.
REWORDED = [
    (r", asked: (?=at |below |down )", ". Required: "),
    (r", ((?:at least|at most|below) [\d.]+) wanted", r". Required: \1"),
    (r", at most ([\d.]+) down allowed", r". Required: a drop of at most \1"),
    (r"\bdown by at most ", "a drop of at most "),
    (r"; cannot tell: ", ". Inconclusive: "),
    (r"the bound is inside the interval", "the interval includes that limit"),
]
AS_WRITTEN = "laws are shown as they are written"
NO_TEXTS = "a baseline of a golden set keeps no hits"

ALLOWED = [
    Allowed("*-fi-*", AS_WRITTEN, r'(law = )"saaristokuntalaki"', r'\1"Saaristokuntalaki"'),
    Allowed("*-fi-*", AS_WRITTEN, r"\bsaaristokuntalaki\b", "Saaristokuntalaki"),
    Allowed("run-golden*", AS_WRITTEN, r"\bsaaristokuntalaki\b", "Saaristokuntalaki"),
    Allowed("score-fi-update-baseline", NO_TEXTS, r"\.hits\[\d+\]"),
    Allowed("score-fi-update-baseline", NO_TEXTS, r"(hits\.length = )\d+", r"\g<1>0"),
    *(Allowed(name, RANKER, RANKED, ANY) for name in ("score-fi-*", "score-he-*", "run-golden")),
    Allowed("score-en-*", SAMPLE, r'(dataset\.sha256 = )"52a658\w+"', rf'\1"{SAMPLE_NOW}"'),
    Allowed("*", STATUS, r"sha256:bd6287\w+", ACT_NOW),
    Allowed("*-fi-*", ONE_DECIDE, r'(gates.*status = )"skipped"', r'\1"inconclusive"'),
    Allowed("run-*", SET_NAME, r'"en-small"$', '"opinions"'),
    Allowed("run-*", SET_NAME, r'"fi-small"$', '"act"'),
    Allowed("score-he-*", CLOSED, r"\.receipt\.unjudged\."),
    Allowed(
        "score-he-*",
        CLOSED,
        r"an unjudged document counts as not relevant; judged-only values and bounds stand beside",
        "the set is closed: it lists relevant documents alone, and a document that it does not "
        "list is not relevant; nothing is unjudged",
    ),
    Allowed("run-graded", NOT_SEEN, r'(checks\[0\].status = )"fail"', r'\1"inconclusive"'),
    *(
        Allowed("run-graded", ONE_STATISTIC, before, after)
        for before, after in (
            (r"(baseline) \(95% interval 0 to 0\)", r"\1: the results are identical"),
            (r'(0\.5577 .*at least 0\.6)"', rf'\1{NEEDS.format(n=35)}"'),
            (r"(0\.5269 .*at least 0\.6).*", rf'\1{NEEDS.format(n=23)}"'),
        )
    ),
    Allowed("run-graded", BELIEF, r'(checks\[4\].status = )"pass"', r'\1"inconclusive"'),
    Allowed("run-graded", BELIEF, r'(checks\[4\].mess.*up.* at most 0.02)"', rf'\1{TURN}"'),
    Allowed("run-graded", CLOSED, r'(18% .* 90% needed)"', rf'\1{NO_RAISE}"'),
    *(
        Allowed("run-graded", ONE_ROUNDING, rf"(message.*){four}", rf"\g<1>{three}")
        for four, three in (
            ("0.5577", "0.558"),
            ("0.8333", "0.833"),
            ("0.0308", "0.031"),
            ("0.5269", "0.527"),
            ("0.7812", "0.781"),
        )
    ),
]


# ── Masks ─────────────────────────────────────────────────────────────────────────────────────────

TIME = r"\d+(?:\.\d+)?(?:e-?\d+)?"
MASKS = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", "<time>"),
    (rf"((?:p50|p95|latency|in) ){TIME} (m?s)\b", r"\1<time> \2"),
    (rf"(latency +){TIME} ms", r"\1<time> ms"),
    (rf"(latency_ms is ){TIME}", r"\1<time>"),
    (r"(data-[0-9a-f]{12}-)[0-9a-f]{16}", r"\1<time>"),
    (r"(seconds +)[\d.]+$", r"\1<time>"),
    (r"(Evaluation of )\d{4}-\d\d-\d\d", r"\1<day>"),
    (r"((?:Latency, average|asteaika, keskiarvo) +)[\d.,]+ ms", r"\1<time> ms"),
    (r"^((?:created at +|- (?:Time|Aika): )).*UTC", r"\1<time>"),
]
# Intervals reckon with queries that were not seen, so that all of 0.1's differ:
# tests/evaluation/test_statistics.py holds theirs.
INTERVAL = re.compile(r"95% interval [-\d.]+ to [-\d.]+")
INTERVAL_KEYS = set("intervals low high p_holm detectable".split())
# What is believed of unjudged documents, and so what to judge: tests/judging/test_next.py.
INTERVAL_KEYS |= set("expected deviation confidence needed pairs judge_next".split())
COUNTED = re.compile(r"(by type|by language|citations by kind|record citations) ")
MASKED_KEYS = set("timestamp created_at at seconds versions git commit data cache_key".split())


def reworded(line: str) -> str:
    """A recorded line in the words of today."""
    for pattern, now in REWORDED:
        line = re.sub(pattern, now, line)
    return line


def is_live(command: dict[str, Any]) -> bool:
    """Whether times are of now. What is made from recorded results shows those of the recording."""
    return command["args"][0] in {"score", "run", "corpus", "index"}


def masked_line(line: str, folder: str, live: bool) -> str:
    for name in {folder, os.path.realpath(folder)}:
        line = line.replace(name, "<folder>")
    if not live:
        return line.rstrip()
    for pattern, mask in MASKS:
        line = re.sub(pattern, mask, line)
    if re.match(r"\|.*(Latency|Vasteaika)", line):  # a row of a Markdown table
        line = re.sub(r"[-+−]?\d+[.,]\d+ ms", "<time> ms", line)
    line = re.sub(r" {3,}", "  ", re.sub("─+", "─", line))  # columns are as wide as their times
    if COUNTED.match(line):  # counted in any order, another one in each run
        line = " ".join(sorted(re.findall(r"[^\s,]+", line)))
    return line.rstrip()


def masked_text(text: str, folder: str, live: bool) -> str:
    return "\n".join(masked_line(line, folder, live) for line in text.split("\n"))


# ── From outputs to lines ─────────────────────────────────────────────────────────────────────────


def json_lines(value: Any, live: bool, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf as (path, value); a list also gives its length. Live times have no value."""
    if isinstance(value, dict):
        yield path, "{}"
        of_time = "latency" in str(value.get("measure", ""))
        for key, inner in value.items():
            hidden = key in MASKED_KEYS or "latency" in key
            hidden = hidden or (of_time and key in {"value", "baseline", "message", "interval"})
            if (live and hidden) or key in INTERVAL_KEYS:
                yield f"{path}.{key}", "<masked>"
            else:
                yield from json_lines(inner, live, f"{path}.{key}")
    elif isinstance(value, list):
        yield f"{path}.length", len(value)
        for place, inner in enumerate(value):
            yield from json_lines(inner, live, f"{path}[{place}]")
    else:
        yield path, value


class Tokens(HTMLParser):
    """Tags with sorted attributes and texts, one a line; white space between them says nothing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = "".join(f' {name}="{value}"' for name, value in sorted(attrs, key=str))
        self.lines.append(f"<{tag}{told}>")

    def handle_endtag(self, tag: str) -> None:
        self.lines.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            self.lines += [stripped for line in data.split("\n") if (stripped := line.strip())]
        elif words := " ".join(data.split()):
            self.lines.append(words)


def html_lines(text: str) -> list[str]:
    tokens = Tokens()
    tokens.feed(text)
    tokens.close()
    return tokens.lines


def xml_lines(text: str) -> list[str]:
    return [
        f"{element.tag} {sorted(element.attrib.items())} {' '.join((element.text or '').split())}"
        for element in ElementTree.fromstring(text).iter()
    ]


LINES: dict[str, Callable[[str], list[str]]] = {".html": html_lines, ".xml": xml_lines}


# ── Comparing ─────────────────────────────────────────────────────────────────────────────────────

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
SCORE = re.compile(r"score$")  # of the engine, which adds in single precision
LONG = 12  # characters: a shorter number was rounded for people and has to be the same


def same_number(before: Any, after: Any, tolerance: float = 1e-12) -> bool:
    return math.isclose(before, after, rel_tol=tolerance, abs_tol=tolerance)


def same_line(before: str, after: str) -> bool:
    if before == after:
        return True
    numbers, others = NUMBER.findall(before), NUMBER.findall(after)
    return (
        NUMBER.sub("#", before) == NUMBER.sub("#", after)
        and len(numbers) == len(others)
        and all(
            one == two or (min(len(one), len(two)) > LONG and same_number(float(one), float(two)))
            for one, two in zip(numbers, others, strict=True)
        )
    )


def text_differences(before: list[str], after: list[str]) -> list[str]:
    if len(before) == len(after):
        pairs = [pair for pair in zip(before, after, strict=True) if not same_line(*pair)]
        return [line for old, new in pairs for line in (f"- {old}", f"+ {new}")]
    return [line for line in difflib.ndiff(before, after) if line[0] in "-+"]


def json_differences(
    before: Any,
    after: Any,
    rows: Sequence[Allowed] = (),
    folder: str = "/nowhere",
    live: bool = True,
) -> list[str]:
    """Keys that were there must be there, with the same values; new keys may appear."""

    def told(path: str, value: Any) -> str:
        return masked_line(f"{path} = {json.dumps(value, ensure_ascii=False)}", folder, live)

    now = dict(json_lines(after, live))
    differences: list[str] = []
    for path, value in json_lines(before, live):
        value = reworded(value) if isinstance(value, str) else value
        was = told(path, value)
        if any(row.after == ANY and re.search(row.before, was) for row in rows):
            continue
        if path not in now:
            if not any(row.after is None and re.search(row.before, was) for row in rows):
                differences.append(f"- {was}")
        elif not same_value(value, now[path], 1e-6 if SCORE.search(path) else 1e-12):
            is_now, wanted = told(path, now[path]), was
            for row in rows:
                if row.after != ANY:
                    wanted = re.sub(row.before, row.after or "", wanted)
            if not same_line(*(INTERVAL.sub("<interval>", line) for line in (wanted, is_now))):
                differences += [f"- {was}", f"+ {is_now}"]
    return differences


def same_value(before: Any, after: Any, tolerance: float) -> bool:
    numbers = (int, float)
    if isinstance(before, numbers) and isinstance(after, numbers):
        same_kind = isinstance(before, bool) == isinstance(after, bool)
        return same_kind and same_number(before, after, tolerance)
    return bool(before == after)


# ── Running the commands ──────────────────────────────────────────────────────────────────────────


@contextmanager
def workspace() -> Iterator[Path]:
    """A fresh current folder with the samples, the inputs and the results files of 0.1 in it.

    Its name is always equally long: the width of a table that shows a path depends on it."""
    short = "/tmp" if os.access("/tmp", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="assay-", dir=short))
    set_before = dict(os.environ)
    cwd, path, modules = Path.cwd(), list(sys.path), set(sys.modules)
    try:
        shutil.copytree(SAMPLES, folder / "samples")
        shutil.copytree(BEFORE / "inputs", folder / "inputs")
        shutil.copytree(WRITTEN, folder / "old")
        (folder / "new").mkdir()
        os.chdir(folder)
        os.environ.pop("COLUMNS", None)
        os.environ.update(NO_COLOR="1", ASSAY_HOME="home", TERM="dumb")
        yield folder
    finally:
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(set_before)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def captured(texts: list[str]) -> Iterator[None]:
    """Standard output and error of this process and its children, into `texts`; no standard input.

    All commands are run before the first test, so pytest's own capture, one a test, will not do."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    kept = [os.dup(number) for number in (0, 1, 2)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(os.devnull) as none:
        try:
            for number, file in enumerate((none, out, err)):
                os.dup2(file.fileno(), number)
            sys.stdin = none
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdin, sys.stdout, sys.stderr = streams
            for number, copy in enumerate(kept):
                os.dup2(copy, number)
                os.close(copy)
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode("utf-8"))


def run_command(args: list[str]) -> Outcome:
    from assay.cli import main

    texts: list[str] = []
    code: Any = 0
    arguments = sys.argv
    with captured(texts):
        sys.argv = ["assay", *args]
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        finally:
            sys.argv = arguments
    return Outcome(code, *texts)


@dataclass
class Seen:
    """What one command left: texts by place, as they are (JSON) or masked (everything else)."""

    folder: str
    texts: dict[str, str] = field(default_factory=dict)


def file_of(folder: Path, name: str) -> Path:
    """`<date>` and `*` stand for what differs from day to day and from tree to tree."""
    paths = sorted(folder.glob(re.sub("<.*?>", "*", name)))
    return paths[0] if paths else folder / name


def see(command: dict[str, Any], folder: Path) -> Seen:
    outcome = run_command(command["args"])
    out, err = outcome.out, outcome.err
    seen, live = Seen(str(folder)), is_live(command)
    if "--json" in command["args"] and out:
        seen.texts["stdout.json"] = out
        out = "(stdout.json)\n"
    if command.get("sorted"):  # pairs that run side by side end in any order
        err = "".join(sorted(err.splitlines(keepends=True)))
    line = " ".join(command["args"])
    shown = f"$ assay {line}\nexit code {outcome.code}\n── stdout\n{out}── stderr\n{err}"
    shown = re.sub(r"eval-report-\d{4}-\d\d-\d\d", "eval-report-<date>", shown)
    seen.texts["terminal"] = masked_text(shown, seen.folder, live)
    for name in command.get("files", []):
        path = file_of(folder, name)
        if path.exists():
            text = path.read_text(encoding="utf-8")
            text = re.sub(r"\d{4}-\d\d-\d\d", "<date>", text) if "<date>" in name else text
            if path.suffix != ".json":
                text = masked_text(text, seen.folder, live)
            seen.texts[name] = text
    for name, path_name in results_of(command).items():
        path = file_of(folder, path_name)
        if path.exists():
            seen.texts[name] = path.read_text(encoding="utf-8")
    return seen


def results_of(command: dict[str, Any]) -> dict[str, str]:
    """Results files by their name in `results-0.1`, with where the command writes them."""
    return {name: f"new/{name}" for name in command.get("results", [])} | command.get("kept", {})


def fixture(command: dict[str, Any], place: str) -> Path:
    if place in results_of(command):
        return WRITTEN / place
    name = place.replace("/", "-").replace("<date>", "DATE")
    return BEFORE / command["name"] / ("terminal.txt" if place == "terminal" else name)


def places(command: dict[str, Any]) -> list[str]:
    json_out = ["stdout.json"] if (BEFORE / command["name"] / "stdout.json").exists() else []
    return ["terminal", *json_out, *command.get("files", []), *results_of(command)]


# ── The tests ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def after() -> Iterator[dict[str, Seen]]:
    """All commands, in their order: later ones use what earlier ones made."""
    with workspace() as folder:
        yield {command["name"]: see(command, folder) for command in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command["name"])
def test_a_command_says_and_writes_what_it_did(
    command: dict[str, Any], after: dict[str, Seen]
) -> None:
    seen = after[command["name"]]
    differences: list[str] = []
    for place in places(command):
        path = fixture(command, place)
        before = path.read_text(encoding="utf-8")
        if place not in seen.texts:
            differences.append(f"{place}: was not written")
            continue
        text = seen.texts[place]
        if path.suffix == ".json":
            rows = [
                row
                for row in ALLOWED
                if path.parent == WRITTEN and fnmatch.fnmatchcase(command["name"], row.commands)
            ]
            told_of = json_differences(
                json.loads(before), json.loads(text), rows, seen.folder, is_live(command)
            )
        else:
            lines = LINES.get(path.suffix, str.splitlines)
            told_of = text_differences(lines(before), lines(text))
        differences += [f"{place}: {line}" for line in told_of]
    terminal = seen.texts["terminal"] if differences else ""
    assert not differences, "\n".join([*differences[:60], "", terminal])


OLD_RESULTS = sorted(path.name for path in WRITTEN.glob("*.json") if "beir" not in path.name)


@pytest.mark.parametrize("name", OLD_RESULTS)
def test_a_results_file_of_0_1_opens(name: str, assay_cli: Assay) -> None:
    path = WRITTEN / name
    results = json.loads(path.read_text(encoding="utf-8"))
    query_id = results["per_query"][0]["query_id"]
    assert query_id in assay_cli("explain", path, query_id).out
    assert assay_cli("compare", path, path).code == 0
    for ending in ("html", "md", "xml", "csv", "tex"):
        outcome = assay_cli("report", path, "-o", f"report.{ending}")
        assert (outcome.code, outcome.err) == (0, f"report written to report.{ending}\n")
        assert results["engine"] in Path(f"report.{ending}").read_text(encoding="utf-8") or (
            ending == "csv"
        )


def test_every_fixture_belongs_to_a_command() -> None:
    known = {fixture(command, place) for command in COMMANDS for place in places(command)}
    kept = {path for path in BEFORE.glob("*/*") if path.parent.name != "inputs"}
    assert kept | set(WRITTEN.iterdir()) == known | {
        WRITTEN / "en-my-engine.run",
        WRITTEN / "en-my-engine-beir.json",
    }


def test_every_allowed_difference_names_a_command_and_a_reason() -> None:
    names = [command["name"] for command in COMMANDS]
    for row in ALLOWED:
        assert row.reason
        assert fnmatch.filter(names, row.commands), row


def test_one_altered_number_is_seen() -> None:
    assert not json_differences({"a": [0.5, 1]}, {"a": [0.5 + 1e-14, 1], "new": 2})
    assert json_differences({"a": [0.5, 1]}, {"a": [0.5 + 1e-9, 1]})
    assert json_differences({"a": [0.5, 1]}, {"a": [0.5]})
    assert json_differences({"a": 1, "b": 2}, {"a": 1})
    assert json_differences({"a": 1}, {"a": True})
    assert text_differences(["nDCG@10 0.668"], ["nDCG@10 0.669"])
    assert text_differences(["one", "two"], ["one"])
    assert text_differences(["one"], ["one", "two"])
    assert not text_differences(["0.12345678901234"], ["0.12345678901235"])
    verdict = [Allowed("*", "why", r"(verdict) = null", r'\1 = "{}"')]
    assert not json_differences({"verdict": None}, {"verdict": {"status": "pass"}}, verdict)
    assert json_differences({"verdict": None}, {"verdict": {"status": "pass"}})
    gone = [Allowed("*", "why", r"^\.b = ")]
    assert not json_differences({"a": 1, "b": 2}, {"a": 1}, gone)
    assert json_differences({"a": 1, "b": 2}, {"b": 2}, gone)


# ── Recording ─────────────────────────────────────────────────────────────────────────────────────


def record(names: list[str]) -> None:
    """All commands run, since later ones use what earlier ones made; the named are kept."""
    with workspace() as folder:
        for command in COMMANDS:
            seen = see(command, folder)
            if names and command["name"] not in names:
                continue
            shutil.rmtree(BEFORE / command["name"], ignore_errors=True)
            for place, text in seen.texts.items():
                if place not in results_of(command):
                    path = fixture(command, place)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text.replace(seen.folder, "<folder>"), encoding="utf-8")


if __name__ == "__main__" and "--record" in sys.argv:
    record(sys.argv[sys.argv.index("--record") + 1 :])

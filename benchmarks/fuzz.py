"""Odd input: whatever stands in a file or comes over the wire is read, or refused with a message.

    python benchmarks/fuzz.py [--seconds 180] [--at-once 3] [--parser votes] [--found FOLDER]
    python benchmarks/fuzz.py --machines 2000      # the state machines of tests/faults, for longer

Every parser gets so many seconds of the processor, and input made by atheris, which follows what
the input reaches in the code (`pip install atheris`). Where atheris is not installed, input is made
by changing samples at random, blind to the code, and the report says so. Only an error with a
message (AssayError) may escape. Each other exception is kept once, with its input, under `--found`;
what was found and repaired is kept in tests/faults/test_found_inputs.py. Exits with 1 where
something was found."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

try:
    import atheris
except ImportError:
    atheris = None

ROOT = Path(__file__).parents[1]
LONGEST = 4096
Parser = Callable[[bytes], object]
SCRATCH = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())


def _file(ending: str, read: Callable[[Path], object]) -> Parser:
    path = SCRATCH / f"assay-fuzz-{os.getpid()}{ending}"

    def parse(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return parse


def _one_of(*parsers: Parser) -> Parser:
    """The first byte chooses."""

    def parse(data: bytes) -> object:
        return parsers[data[0] % len(parsers)](data[1:]) if data else None

    return parse


def _text(read: Callable[[str], object]) -> Parser:
    return lambda data: read(data.decode("utf-8", "replace"))


def parsers() -> dict[str, tuple[Parser, list[bytes]]]:
    """Every parser with samples to begin from."""
    import msgspec

    from assay import read_gold, read_run
    from assay.core.errors import InputError
    from assay.formats.ballots import read_ballots
    from assay.formats.results_json import read_results
    from assay.gold.log import read_acts
    from assay.gold.upgrade import read_votes_file
    from assay.judging import rubrics
    from assay.workbench.judging.set_edits import read_queries
    from assay.workbench.project.config import read_config

    def records(data: bytes) -> None:
        from datetime import UTC, datetime

        from assay.telemetry.records import decision_row, feedback_from, search_from

        try:
            row = msgspec.json.decode(data[1:])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        match data[0] % 3:
            case 0:
                search_from(row)
            case 1:
                feedback_from(row, "", datetime.now(UTC))
            case _:
                decision_row(row, "", None)

    samples = ROOT / "samples"
    votes = (samples / "demo" / "votes.jsonl").read_bytes().splitlines(keepends=True)
    dataset = json.loads((samples / "en" / "dataset.json").read_bytes())
    dataset["queries"] = dataset["queries"][:1]
    golden = [{"id": "1", "query": "x", "must": True, "k": 5, "min_score": 0.5,
               "expected_any": [{"section": "110 §", "moment": "3"}, {"doc_id": "d"}]}]  # fmt: skip
    line = {"id": "g001", "query": "x", "practice_area": "p", "corpus": "c",
            "relevant_case_law_ids": ["1"], "source": "chair"}  # fmt: skip
    answered = {"engine": "e", "per_query": [{"query_id": "q1", "results": [
        "a", {"doc_id": "b", "score": 1.0}], "latency_ms": 1.0, "error": None}]}  # fmt: skip
    search = {"id": "s", "query": "x", "at": "2026-05-31T12:00:00Z", "millis": 1.5,
              "results": [{"doc_id": "a", "rank": 1}]}  # fmt: skip
    act = {"v": 1, "id": "a1", "at": "2026-05-31T12:00:00+00:00", "who": "p-1", "kind": "human",
           "action": "vote", "subject": {"query": "q1", "doc": "a"}, "grade": 2}  # fmt: skip
    table = b"query_id,query,doc_id,grade,rationale,judge\nq1,x,a,2,so,ada\n"
    return {
        "gold sets, JSON": (_file(".json", read_gold), [_json(dataset), _json(golden)]),
        "gold sets, JSONL": (_file(".jsonl", read_gold), [_json(line) + b"\n# note\n"]),
        "gold sets, CSV": (_file(".csv", read_gold), [table, b"query,docid,rating\nx,a,3\n"]),
        "TREC qrels": (_file(".qrels", read_gold), [b"q1 0 a 2\nq1 0 b 0\n"]),
        "TREC runs": (_file(".run", read_run), [b"q1 Q0 a 1 2.5 r\nq1 Q0 b 2 1e-3 r\n"]),
        "runs, JSON": (_file(".json", read_run), [_json(answered), b'{"q1":{"a":1.0,"b":2}}']),
        "votes": (_file(".jsonl", read_votes_file), [b"".join(votes[:2])]),
        "logs": (_file(".jsonl", lambda path: list(read_acts(path))), [_json(act) + b"\n"]),
        "ballots": (
            _one_of(*(_file(end, read_ballots) for end in (".csv", ".jsonl", ".json"))),
            [b"\0" + table, b"\1" + votes[0], b"\2[]"],
        ),
        "results": (_file(".json", read_results), [_json(answered), *_results()]),
        "queries": (
            _one_of(*(_file(end, read_queries) for end in (".txt", ".csv"))),
            [b"\0what is a gift\n", b"\1id,text\nq1,what\n"],
        ),
        "citations": (_text(_citations), [text.encode() for text in TEXTS]),
        "places": (_text(_places), [text.encode() for text in TEXTS]),
        "Akoma Ntoso": (_file(".xml", _imported("akn")), [AKN.encode()]),
        "corpora": (
            _one_of(*(_file(end, _imported(kind)) for kind, end in KINDS)),
            [bytes([n]) + sample for n, sample in enumerate(_records(samples))],
        ),
        "configuration": (
            _one_of(_file(".toml", read_config), _file(".toml", rubrics.read_rubric)),
            [b"\0" + (samples / "demo" / "assay.toml").read_bytes(), b"\1" + _rubric()],
        ),
        "log records": (
            lambda data: records(data) if data else None,
            [b"\0" + _json(search), b"\1" + _json({"log_id": "s", "doc_id": "a", "kind": "click"})],
        ),
        "engine answers": (_answers(InputError), [b'{"hits":[{"id":"a","score":1}]}']),
    }  # fmt: skip


KINDS = (("jsonl", ".jsonl"), ("finlex", ".jsonl"), ("fppc", ".json"), ("csv", ".csv"))
TEXTS = [
    "See Gov. Code § 87103(a)(2), Regulation 18730 and In re Smith (1990) 12 FPPC Ops. 3.",
    "Kuntalain (410/2015) 110 §:n 3 momentin 2 kohta; hallintolaki 6 luku 34 a §",
    'סעיף 197(א) לחוק התכנון והבנייה, התשכ"ה-1965; ע"א 1234/56 פלוני נ\' אלמוני',
    "1 234 567,89 euroa; 12,5 %; 2,3 milj. €; (1 200)",
]
AKN = """<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act><meta>
<identification source="#s"><FRBRWork><FRBRthis value="/akn/fi/act/2015/410"/><FRBRuri value="/x"/>
<FRBRdate date="2015-04-10" name="d"/></FRBRWork></identification></meta><body><chapter eId="c1">
<num>1 luku</num><section eId="s1"><num>1 §</num><heading>H</heading><subsection eId="m1"><content>
<p>Text 110 §</p></content></subsection></section></chapter></body></act></akomaNtoso>"""


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _results() -> Iterable[bytes]:
    for path in sorted((ROOT / "tests" / "fixtures" / "results-0.1").glob("*.json"))[:2]:
        yield path.read_bytes()[:LONGEST]


def _records(samples: Path) -> Iterable[bytes]:
    yield (samples / "he" / "precedents.jsonl").read_bytes().split(b"\n")[0]
    yield (samples / "fi" / "saaristokuntalaki.jsonl").read_bytes().split(b"\n")[0]
    yield next((samples / "en" / "opinions").rglob("*.json")).read_bytes()[:LONGEST]
    yield b"id,title,text\na,T,some text\n"


def _rubric() -> bytes:
    folder = ROOT / "src" / "assay" / "judging" / "rubrics"
    return min((path.read_bytes() for path in folder.glob("*.toml")), key=len)[:LONGEST]


def _citations(text: str) -> None:
    from assay.law.parse import format, parse

    for language in (None, "en", "fi", "he"):
        for citation in parse(text, language):
            assert 0 <= citation.start < citation.end <= len(text)
            format(citation)


def _places(text: str) -> None:
    from assay.core.errors import InputError
    from assay.language.amounts import number_in, numbers_in, unit_in
    from assay.law import places
    from assay.law.citing import parse_locator
    from assay.law.queries import normal_query

    for language in ("", "fi", "he"):
        places.read_section(text, language)
        places.sections_named(text, language)
    places.normal_moment(text)
    once = normal_query(text)
    assert normal_query(once) == once, "a normal form is its own"
    number_in(text), numbers_in(text), unit_in(text)
    with contextlib.suppress(InputError):
        parse_locator(text)


def _imported(kind: str) -> Callable[[Path], object]:
    from assay.corpus.importers.kinds import importer

    reader = importer(kind)

    def read(path: Path) -> list[object]:
        units = reader.units(str(path), {})
        return [each for unit in units for each in reader.read(str(path), unit, {})]

    return read


def _answers(refusal: type[Exception]) -> Parser:
    import jmespath
    import msgspec

    from assay.engines.http import Response, read_hits
    from assay.engines.http_table import Pattern

    found = {name: jmespath.compile(name) for name in ("id", "score", "title", "text", "error")}
    pattern = msgspec.structs.replace(
        Pattern(url=None, body=None, params=(), hits=jmespath.compile("hits"), **found)  # type: ignore[arg-type]
    )

    def parse(data: bytes) -> object:
        return read_hits(Response(status=200, headers={}, body=data, millis=1.0), pattern, 20)

    return parse


# ── one parser ────────────────────────────────────────────────────────────────────────────────────


class Watched:
    """A parser, and every kind of exception that it let through, once."""

    def __init__(self, name: str, parse: Parser, found: Path, seconds: int) -> None:
        from assay.core.errors import AssayError

        self._expected = AssayError
        self._name, self._parse, self._found = name, parse, found
        self._seen: set[str] = set()
        self.runs, self._begun, self._seconds = 0, time.process_time(), seconds

    def __call__(self, data: bytes) -> None:
        self.runs += 1
        if (spent := time.process_time() - self._begun) > self._seconds:
            sys.stdout.write(f"RUNS {self.runs} {spent:.0f}\n")
            sys.stdout.flush()
            os._exit(0)  # the fuzzer counts by the clock, and has no other way to be stopped
        try:
            self._parse(data)
        except self._expected:
            return
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in at if "/assay/" in frame.filename] or list(at)
            where = f"{type(error).__name__} {Path(ours[-1].filename).name}:{ours[-1].lineno}"
            if where not in self._seen:
                self._seen.add(where)
                name = re.sub(r"\W+", "-", f"{self._name}-{where}")
                (self._found / name).write_bytes(data)
                sys.stdout.write(f"FOUND {where}: {str(error)[:200]!r} on {data[:200]!r}\n")


def one(name: str, seconds: int, found: Path) -> None:
    found.mkdir(parents=True, exist_ok=True)
    if atheris is None:
        parse, samples = parsers()[name]
        _blindly(Watched(name, parse, found, seconds), samples)
    corpus = Path(tempfile.mkdtemp(prefix="fuzz"))
    with atheris.instrument_imports(include=["assay"]):
        parse, samples = parsers()[name]
        watched = Watched(name, parse, found, seconds)
        for number, sample in enumerate(samples):
            watched(sample)  # what a parser loads when it is needed is followed too
            (corpus / f"sample{number}").write_bytes(sample[:LONGEST])
    options = [f"-max_len={LONGEST}", "-timeout=60", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={found}/", str(corpus)], watched)
    atheris.Fuzz()


def _blindly(watched: Watched, samples: list[bytes]) -> NoReturn:
    dice = random.Random(0)
    while True:
        watched(changed(dice, samples))


def changed(dice: random.Random, samples: list[bytes]) -> bytes:
    """A sample with bytes changed, cut out, doubled and put in."""
    data = bytearray(dice.choice(samples))
    for _ in range(dice.randint(1, 8)):
        at, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
        match dice.randrange(4):
            case 0 if at < len(data):
                data[at] = dice.randrange(256)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end]
            case _:
                data[at:at] = dice.choice([b"\0", b"\xff", b"9" * 40, b"[" * 99, b"\n", b"-1"])
    return bytes(data[:LONGEST])


# ── all of them ───────────────────────────────────────────────────────────────────────────────────


def every(args: argparse.Namespace) -> int:
    names = args.parser or list(parsers())
    waiting, running, found = list(names), dict[str, subprocess.Popen[str]](), 0
    how = "atheris" if atheris else "samples changed at random, blind to the code"
    sys.stdout.write(f"{len(names)} parsers, {args.seconds} s of the processor each, by {how}\n")
    while waiting or running:
        while waiting and len(running) < args.at_once:
            name = waiting.pop(0)
            command = [sys.executable, __file__, "--one", name, "--seconds", str(args.seconds)]
            command += ["--found", str(args.found)]
            running[name] = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        name, process = next(iter(running.items()))
        said = process.communicate()[0]
        del running[name]
        problems = [line for line in said.splitlines() if line.startswith("FOUND")]
        runs = re.findall(r"RUNS (\d+) (\d+)", said)
        count, cpu = map(int, runs[-1]) if runs else (0, 0)
        if not runs or process.returncode:
            problems.append(f"FOUND it ended with {process.returncode}: {said[-600:]}")
        found += len(problems)
        sys.stdout.write(f"{name:18} {count:9,} inputs, {cpu:4} s of the processor, ")
        sys.stdout.write(f"{len(problems)} found\n" + "".join(f"    {p}\n" for p in problems))
        sys.stdout.flush()
    return int(bool(found))


def machines(examples: int) -> int:
    """The state machines of the tests, with more and other examples."""
    import pytest

    os.environ["ASSAY_MACHINES"] = str(examples)
    return int(pytest.main([str(ROOT / "tests" / "faults" / "test_machines.py"), "-q"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=180, help="of processor, for each parser")
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--parser", action="append")
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"))
    parser.add_argument("--machines", type=int, help="examples of each state machine")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args: Any = parser.parse_args()
    if args.machines:
        return machines(args.machines)
    if args.one:
        one(args.one, args.seconds, args.found)
        return 0
    return every(args)


if __name__ == "__main__":
    sys.exit(main())

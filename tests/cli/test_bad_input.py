"""Bad input gives one clear message on stderr that names file and place, the right exit code, and
leaves no file."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay, Outcome

RESULTS = Path(__file__).parents[1] / "fixtures" / "results-0.1"
DATASET: dict[str, Any] = {
    "version": "1.0",
    "taxonomy": {"gifts": {"name": "Gifts", "description": "Gifts to officials", "issues": []}},
    "queries": [
        {
            "id": "q1",
            "text": "gift limit",
            "type": "keyword",
            "topic": "gifts",
            "relevance_judgments": [
                {"opinion_id": "A-1", "score": 2, "rationale": "on point"},
                {"opinion_id": "A-2", "score": 1, "rationale": "background"},
            ],
        },
        {
            "id": "q2",
            "text": "May I accept a dinner?",
            "type": "natural_language",
            "topic": "gifts",
            "relevance_judgments": [{"opinion_id": "A-3", "score": 2, "rationale": "on point"}],
        },
    ],
}
RUN = "q1 Q0 A-1 1 2.0 mine\nq1 Q0 A-2 2 1.0 mine\nq2 Q0 A-3 1 1.0 mine\n"


def dataset_with(path: str, value: Any) -> str:
    """DATASET with one place changed; `path` is like queries.0.text."""
    data = json.loads(json.dumps(DATASET))
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = data
    for part in parents:
        place = place[part]
    place[last] = value
    return json.dumps(data)


def judgments(*rows: Any) -> str:
    return dataset_with("queries.0.relevance_judgments", list(rows))


@pytest.fixture(autouse=True)
def good_files(tmp_path: Path) -> None:
    """A good gold set, a good run, and results of an earlier day that nobody may touch."""
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET))
    (tmp_path / "good.run").write_text(RUN)
    (tmp_path / "out.json").write_text("results of yesterday")


def write(folder: Path, name: str, content: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def refused(assay_cli: Assay, folder: Path, *args: object, code: int = 2) -> Outcome:
    """The command fails with one message, nothing on stdout, and every file as it was."""
    before = files_below(folder)
    outcome = assay_cli(*args)
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("error: ") == 1
    assert "Traceback" not in outcome.err
    assert files_below(folder) == before
    return outcome


def score_refused(assay_cli: Assay, folder: Path, *args: object, code: int = 2) -> Outcome:
    return refused(assay_cli, folder, "score", *args, "--output", "out.json", code=code)


# ── gold sets ─────────────────────────────────────────────────────────────────────────────────────

GOLD: dict[str, dict[str, tuple[str | bytes, str, str]]] = {
    # file: case: (content, place named, part of the message)
    "bad.json": {
        "truncated": (json.dumps(DATASET)[:200], "bad.json:1", "truncated"),
        "truncated on line 3": ('{\n"version": "1",\n"queries": [', "bad.json:3", "not valid JSON"),
        "not JSON": ("query,doc\n", "bad.json:1", "not valid JSON"),
        "empty": ("", "bad.json", "the file is empty"),
        "blank": (" \n\n ", "bad.json", "the file is empty"),
        "nested too deeply": ('{"queries":' + "[" * 100_000, "bad.json", "nested too deeply"),
        "UTF-16": (json.dumps(DATASET).encode("utf-16"), "bad.json:1", "not UTF-8"),
        "Latin-1": (
            '{"queries": [\n"\xe9"]}'.encode("latin-1"),
            "bad.json:2",
            "not UTF-8: byte 0xe9",
        ),
        "a number": ("7", "bad.json: $", "expected an object"),
        "no queries": (
            '{"version": "1.0"}',
            "bad.json: the key",
            "a golden set a list of questions",
        ),
        "zero queries": ('{"queries": []}', "bad.json", "there are no queries"),
        "queries is an object": (
            dataset_with("queries", {}),
            "$.queries",
            "expected an array, got an object",
        ),
        "taxonomy is null": (dataset_with("taxonomy", None), "$.taxonomy", "got null"),
        "topic without name": (dataset_with("taxonomy.gifts", {}), "$.taxonomy.gifts", "name"),
        "query is a string": (dataset_with("queries.1", "q2"), "$.queries[1]", "got a string"),
        "id is a number": (dataset_with("queries.1.id", 2), "$.queries[1].id", "expected a string"),
        "no text": (dataset_with("queries.1.text", "  "), "$.queries[1].text", "the text is empty"),
        "query id twice": (
            dataset_with("queries.1.id", "q1"),
            "$.queries[1].id",
            "'q1' appears twice",
        ),
        "unknown type": (
            dataset_with("queries.0.type", "chat"),
            "$.queries[0].type",
            "keyword, natural_lang",
        ),
        "unknown topic": (
            dataset_with("queries.0.topic", "tax"),
            "$.queries[0].topic",
            "unknown topic 'tax'",
        ),
        "score 7": (
            judgments({"opinion_id": "A", "score": 7}),
            "relevance_judgments[0].score",
            "score is 7",
        ),
        "score in words": (
            judgments({"opinion_id": "A", "score": "high"}),
            "relevance_judgments[0].score (q1)",
            "a score is 0 to 2",
        ),
        "score -1": (judgments({"opinion_id": "A", "score": -1}), "[0].score", "the score is -1"),
        "score 1.5": (
            judgments({"opinion_id": "A", "score": 1.5}),
            "[0].score",
            "expected a whole number",
        ),
        "score is text": (
            judgments({"opinion_id": "A", "score": "2"}),
            "[0].score",
            "got a string",
        ),
        "score is true": (
            judgments({"opinion_id": "A", "score": True}),
            "[0].score",
            "a whole number",
        ),
        "no opinion": (
            judgments({"score": 1}),
            "$.queries[0].relevance_judgments[0]",
            "opinion_id",
        ),
        "judgment is a list": (judgments(["A", 1]), "relevance_judgments[0]", "expected an object"),
        "judged twice": (
            judgments({"opinion_id": "A", "score": 1}, {"opinion_id": "A", "score": 1}),
            "$.queries[0].relevance_judgments[1].opinion_id",
            "'A' is judged twice on query 'q1'",
        ),
        "key twice": (
            '{"queries": [\n{"id": "q1", "text": "x",\n "id": "q2"}]}',
            "bad.json:3",
            "the key 'id' appears twice",
        ),
        "golden: no questions": ("[]", "bad.json: there are", "expected_any"),
        "golden: key twice": (
            '[{"id": "1", "query": "x",\n\n"query": "y"}]',
            "bad.json:3",
            "the key 'query'",
        ),
        "golden: nothing expected": (
            '[{"id": "1", "query": "x"}]',
            "bad.json: $[0]",
            "this question has no expectation",
        ),
    },
    "bad.jsonl": {
        "jsonl: truncated": (
            '{"id": "a", "query": "x"}\n{"id": "b"',
            "bad.jsonl:2",
            "not valid JSON",
        ),
        "jsonl: an array": ("[1]\n", "bad.jsonl:1", "got an array"),
        "jsonl: key twice": (
            '{"id":"a","query":"x"}\n{"id":"b","id":"c","query":"y"}',
            ":2",
            "the key 'id' appears twice",
        ),
        "jsonl: key twice inside": (
            '{"id":"a","query":"x","more":{"b":1,"b" : 2}}',
            ":1",
            "the key 'b' appears twice",
        ),
        "jsonl: id twice": (
            '{"id":"a","query":"x"}\n{"id":"a","query":"y"}',
            "bad.jsonl:2",
            "appears twice",
        ),
    },
    "bad.csv": {
        "csv: no header": ("q1,A-1,2\n", "bad.csv:1", "the column query_id is missing"),
        "csv: grade": (
            "query_id,doc_id,grade\nq1,A-1,two\n",
            "bad.csv:2",
            "'two' is not a whole number",
        ),
        "csv: grade --5": (
            "query_id,doc_id,grade\nq1,A-1,--5\n",
            "bad.csv:2",
            "'--5' is not a whole number",
        ),
        "csv: grade ²": ("query_id,doc_id,grade\nq1,A-1,²\n", "bad.csv:2", "is not a whole number"),
        "csv: huge grade": (
            "query_id,doc_id,grade\nq1,A-1,99999999999\n",
            "bad.csv:2",
            "99999999999",
        ),
        "csv: judged twice": ("query_id,doc_id,grade\nq,A,1\nq,A,2\n", "bad.csv:3", "judged twice"),
        "csv: open quote": ('query_id,doc_id,grade\n"q1,A-1,2\n', "bad.csv", "not valid CSV"),
        "csv: open quote in header": ('"query_id,doc_id,grade\nq1,A-1,2\n', "bad.csv", "CSV"),
        "csv: too many fields": (
            "query_id,doc_id,grade\nq1,A-1,2,3\n",
            "bad.csv:2",
            "too many fields",
        ),
        "csv: header alone": ("query_id,doc_id,grade\n", "bad.csv", "no rows"),
    },
    "bad.qrels": {
        "trec: fields": ("q1 0 A-1 2\nq1 0 A-2\n", "bad.qrels:2", "3 fields, expected 4"),
        "trec: one field": ("q1\n", "bad.qrels:1", "1 fields, expected 4"),
        "trec: grade": ("q1 0 A-1 2\nq1 0 A-2 1.5\n", "bad.qrels:2", "'1.5' is not a whole number"),
        "trec: huge grade": ("q1 0 A-1 99999999999\n", "bad.qrels:1", "99999999999"),
        "trec: judged twice": ("q1 0 A 2\nq2 0 A 1\nq1 0 A 1\n", "bad.qrels:3", "judged twice"),
        "trec: Latin-1": ("q1 0 A 2\nq1 0 \xe9 1\n".encode("latin-1"), "bad.qrels:2", "not UTF-8"),
    },
    "bad/queries.jsonl": {
        "beir: no qrels": ('{"_id": "q", "text": "x"}', "bad", "no qrels/test.tsv"),
    },
}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name in GOLD for case in GOLD[name]])
def test_bad_gold_set(name: str, case: str, assay_cli: Assay, tmp_path: Path) -> None:
    content, place, says = GOLD[name][case]
    write(tmp_path, name, content)
    outcome = score_refused(
        assay_cli, tmp_path, "--dataset", name.split("/")[0], "--run", "good.run"
    )
    assert name.split("/")[0] in outcome.err
    assert place in outcome.err
    assert says in outcome.err


@pytest.mark.parametrize(
    "line", ["q9\tA\t1", "q\tA\tone", "q\tA", "q\tA\t--1", "q\tA\t99999999999"]
)
def test_bad_beir_qrels(line: str, assay_cli: Assay, tmp_path: Path) -> None:
    write(tmp_path, "bad/queries.jsonl", '{"_id": "q", "text": "x"}\n')
    write(tmp_path, "bad/qrels/test.tsv", f"query-id\tcorpus-id\tscore\nq\tB\t1\n{line}\n")
    outcome = score_refused(assay_cli, tmp_path, "--dataset", "bad", "--run", "good.run")
    assert "test.tsv:3" in outcome.err


@pytest.mark.parametrize("command", ["validate", "stats"])
def test_every_gold_command_refuses_a_truncated_file(
    command: str, assay_cli: Assay, tmp_path: Path
) -> None:
    write(tmp_path, "bad.json", '{"queries": [')
    assert "bad.json:1" in refused(assay_cli, tmp_path, "gold", command, "bad.json").err


def test_missing_files_are_named(assay_cli: Assay, tmp_path: Path) -> None:
    for args in (
        ("--dataset", "none.json", "--run", "good.run"),
        ("--dataset", "dataset.json", "--run", "none.json"),
    ):
        assert "none.json: no such file" in score_refused(assay_cli, tmp_path, *args).err


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────

RUNS: dict[str, dict[str, tuple[str | bytes, str, str]]] = {
    # file: case: (content, place named, part of the message)
    "bad.run": {
        "NaN score": (RUN + "q2 Q0 A-4 2 NaN mine\n", "bad.run:4", "the score is NaN"),
        "nan after comments": (
            "# mine\n\nq1  Q0 A-1 1 nan mine\n",
            "bad.run:3",
            "the score is NaN",
        ),
        "score is text": ("q1 Q0 A-1 1 high mine\n", "bad.run:1", "'high' is not a number"),
        "too few fields": (RUN + "q2 Q0 A-4\n", "bad.run:4", "3 fields, expected 6"),
        "one field": ("q1\n", "bad.run:1", "1 fields, expected 6"),
        "not a run": (
            '{"query_id": "q1"}\n',
            "read as TREC unless",
            "expected 6: query Q0 document",
        ),
        "a field is missing between two spaces": (
            RUN + "q2  Q0 A-4 1 0.5\n",
            "bad.run:4",
            "5 fields, expected 6",
        ),
        "empty": ("", "bad.run", "the file is empty"),
        "comments alone": ("# nothing\n  # here\n", "bad.run", ""),
        "UTF-16": (RUN.encode("utf-16"), "bad.run:1", "not UTF-8"),
        "Latin-1": ((RUN + "q2 Q0 \xe9 2 0.5 mine\n").encode("latin-1"), "bad.run:4", "not UTF-8"),
    },
    "bad.json": {
        "truncated JSON": ('{"per_query": [{"query_id": "q1"', "bad.json:1", "truncated"),
        "NaN in JSON": ('{"q1": {"A-1": NaN}}', "bad.json:1", "not valid JSON"),
        "an array": ("[1, 2]", "bad.json: $", "got an array"),
        "per_query is an object": ('{"per_query": {}}', "$.per_query", "got an object"),
        "no query_id": ('{"per_query": [{"results": []}]}', "$.per_query[0]", "query_id is null"),
        "no results": (
            '{"per_query": [{"query_id": "q1"}]}',
            "$.per_query[0]",
            "results is missing",
        ),
        "results is a string": (
            '{"per_query": [{"query_id": "q1", "results": "A-1"}]}',
            "$.per_query[0].results",
            "got a string",
        ),
        "a hit is a number": (
            '{"per_query": [{"query_id": "q1", "results": ["A-1", 7]}]}',
            "results[1]",
            "got a number",
        ),
        "query twice": (
            '{"per_query": [{"query_id": "q1", "results": []}, {"query_id": "q1", "results": []}]}',
            "$.per_query[1]",
            "'q1' appears twice",
        ),
        "beir score is text": (
            '{"q1": {"A-1": "high"}}',
            "$.q1.A-1",
            "expected a score, got a string",
        ),
        "beir hits are a list": ('{"q1": ["A-1"]}', "$.q1", "got an array"),
        "a number that no float holds": (
            '{"per_query": [{"query_id": "q1", "results": [], "latency_ms": %s}]}' % ("9" * 400),
            "$.per_query[0].latency_ms",
            "the number is too large to compute with",
        ),
        "no query in common": (
            '{"other": {"A-1": 1.0}}',
            "bad.json",
            "none of the gold set's queries",
        ),
    },
}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name in RUNS for case in RUNS[name]])
def test_bad_run(name: str, case: str, assay_cli: Assay, tmp_path: Path) -> None:
    content, place, says = RUNS[name][case]
    write(tmp_path, name, content)
    outcome = score_refused(assay_cli, tmp_path, "--dataset", "dataset.json", "--run", name)
    assert place in outcome.err
    assert says in outcome.err


def test_a_run_of_empty_answers_is_no_error(assay_cli: Assay, tmp_path: Path) -> None:
    """An engine that finds nothing scores 0: that is a result."""
    write(tmp_path, "empty.json", '{"q1": {}, "q2": {}}')
    outcome = assay_cli("score", "--dataset", "dataset.json", "--run", "empty.json", "--json")
    assert (outcome.code, outcome.json["overall"]["ndcg@10"]) == (0, 0.0)


@pytest.mark.parametrize(
    "content",
    [
        "[1]",
        "{}",
        '{"receipt": {}, "per_query": [{}]}',
        '{"receipt": {"measures": []}, "per_query": {}}',
        '{"receipt": 1, "per_query": 2}',
    ],
)
def test_explain_refuses_what_is_not_a_results_file(
    content: str, assay_cli: Assay, tmp_path: Path
) -> None:
    write(tmp_path, "bad.json", content)
    assert "bad.json" in refused(assay_cli, tmp_path, "explain", "bad.json", "q1").err


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("per_query", [], "It has no queries."),
        ("by_category", None, "$.by_category: expected an object, got null"),
        ("by_category", {"gifts": 1}, "$.by_…[...]: expected an object"),
        ("overall", {"mrr": 10**400}, "$.overall.mrr: the number is too large"),
    ],
)
def test_explain_says_what_is_wrong_with_a_results_file(
    key: str, value: object, says: str, assay_cli: Assay, tmp_path: Path
) -> None:
    saved = json.loads((RESULTS / "en-small.json").read_text(encoding="utf-8"))
    write(tmp_path, "bad.json", json.dumps(saved | {key: value}))
    assert says in refused(assay_cli, tmp_path, "explain", "bad.json", "q1").err


# ── very long lines ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("long.jsonl", ""),
        ("long.jsonl", '{"id": "a", "query": "x"}\n'),
        ("long.qrels", ""),
        ("long.qrels", "q 0 A 1\n"),
    ],
)
def test_a_line_over_the_limit_is_refused_with_its_number(
    name: str, head: str, assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import assay.core.files
    import assay.formats.trec

    for module in (assay.core.files, assay.formats.trec):
        monkeypatch.setattr(module, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(assay.formats.trec, "BLOCK_BYTES", 256)
    write(tmp_path, name, head + "x" * 5000)
    outcome = score_refused(assay_cli, tmp_path, "--dataset", name, "--run", "good.run")
    assert f"{name}:{1 + head.count(chr(10))}" in outcome.err
    assert "longer than" in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["long.jsonl", "long.qrels", "long.csv", "long.json"])
def test_a_line_of_70_megabytes(name: str, assay_cli: Assay, tmp_path: Path) -> None:
    write(tmp_path, name, b"x" * 70_000_000)
    outcome = assay_cli("score", "--dataset", name, "--run", "good.run", "--output", "out.json")
    assert outcome.code == 2
    assert f"{name}:1" in outcome.err
    assert len(outcome.err) < 1000
    assert (tmp_path / "out.json").read_text() == "results of yesterday"


# ── engines ───────────────────────────────────────────────────────────────────────────────────────


def engine(body: str, head: str = "") -> str:
    return f"{head}\nclass Engine:\n    def search(self, query, top_k=20):\n        {body}\n"


ENGINES: dict[str, tuple[str, int, str]] = {
    # case: (module, exit code, what is said)
    "raises on import": ("1 / 0", 4, "failed on import: ZeroDivisionError"),
    "exits on import": ("import sys; sys.exit(0)", 4, "failed on import: SystemExit"),
    "imports what is not there": ("import no_such_package", 4, "no_such_package"),
    "syntax error": ("def search(:\n", 4, "SyntaxError"),
    "no engine": ("x = 1\n", 2, "no search engine"),
    "two engines": (
        engine("return []") + engine("return []").replace("Engine", "Other"),
        2,
        "engines: Engine, Other",
    ),
    "raises in __init__": (
        engine("return []") + "    def __init__(self):\n        raise OSError('no index')\n",
        4,
        "OSError: no index",
    ),
    "exits in __init__": (
        engine("return []") + "    def __init__(self):\n        raise SystemExit(3)\n",
        4,
        "() failed: SystemExit",
    ),
    "raises in name": (
        engine("return []") + "    def name(self):\n        1 / 0\n",
        4,
        "name() failed",
    ),
    "exits in name": (
        engine("return []") + "    def name(self):\n        raise SystemExit(3)\n",
        4,
        "name() failed",
    ),
    "returns None": (engine("return None"), 4, "returned NoneType on query 'q1'"),
    "returns a string": (engine("return 'A-1'"), 4, "returned str on query 'q1'"),
    "returns a mapping": (engine("return {'A-1': 2.0}"), 4, "returned dict on query 'q1'"),
    "returns numbers": (engine("return ['A-1', 7]"), 4, "int 7 at rank 2 of query 'q1'"),
    "returns None inside": (engine("return [None]"), 4, "at rank 1 of query 'q1'"),
    "returns an empty id": (engine("return ['']"), 4, "an empty id at rank 1"),
    "returns NaN scores": (engine("return [('A-1', float('nan'))]"), 4, "NaN"),
    "raises on all": (
        engine("raise RuntimeError('down')"),
        4,
        "all 2 queries; the first: RuntimeError: down",
    ),
    "exits on all": (engine("raise SystemExit(0)"), 4, "failed on all 2 queries"),
    "takes no question": (
        "class Engine:\n    def search(self):\n        return []\n",
        4,
        "TypeError",
    ),
}


@pytest.mark.parametrize("case", ENGINES)
def test_bad_engine(case: str, assay_cli: Assay, tmp_path: Path) -> None:
    source, code, says = ENGINES[case]
    write(tmp_path, "bad_engine.py", source)
    args = ("--dataset", "dataset.json", "--search-module", "bad_engine")
    assert says in score_refused(assay_cli, tmp_path, *args, code=code).err


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("path.to.nothing", "no module 'path.to.nothing'"),
        ("some_engine:Other", "has no 'Other'"),
        ("some_engine:Other", "Engine"),
    ],
)
def test_a_module_or_class_that_is_not_there(
    module: str, says: str, assay_cli: Assay, tmp_path: Path
) -> None:
    write(tmp_path, "some_engine.py", engine("return []"))
    args = ("--dataset", "dataset.json", "--search-module", module)
    assert says in score_refused(assay_cli, tmp_path, *args).err


def test_an_engine_that_fails_on_one_query_exits_4_and_the_results_say_which(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """The answers of the others are not lost, the failed one is not scored, and the exit code fails
    the build."""
    write(tmp_path, "shaky.py", engine("return ['A-1'] if 'limit' in query else [][0]"))
    args = ("--dataset", "dataset.json", "--search-module", "shaky", "--output", "new.json")
    outcome = assay_cli("score", *args)
    assert outcome.code == 4
    assert "failed on 1 of 2 queries" in outcome.err
    entries = {
        entry["query_id"]: entry
        for entry in json.loads((tmp_path / "new.json").read_text())["per_query"]
    }
    assert entries["q2"]["error"].startswith("IndexError")
    assert entries["q2"]["metrics"]["mrr"] is None
    assert entries["q1"]["metrics"]["mrr"] == 1.0


def test_duplicates_of_an_engine_are_dropped_and_warned_of(
    assay_cli: Assay, tmp_path: Path
) -> None:
    write(tmp_path, "twice.py", engine("return ['A-1', 'A-1', 'A-3']"))
    outcome = assay_cli("score", "--dataset", "dataset.json", "--search-module", "twice", "--json")
    assert outcome.code == 0
    assert "duplicate hits that were dropped (the first one is kept): 2" in outcome.err
    assert outcome.json["per_query"][0]["results"] == ["A-1", "A-3"]
    assert outcome.json["receipt"]["counts"]["duplicates"] == 2


# ── corpora and options ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("c.jsonl", '{"id": "A"}\n{"id": "A"}\n', "c.jsonl:2"),
        ("c.jsonl", '{"id": "A"}\n{"text": "x"}\n', "c.jsonl:2"),
        ("c.jsonl", "[]\n", "c.jsonl:1"),
        ("c.jsonl", "", "c.jsonl"),
        ("c/1999/a.json", "[1]", "a.json"),
        ("c/1999/a.json", b"\xff\xfe", "a.json"),
        ("c/readme.txt", "x", "c"),
    ],
)
def test_bad_corpus(
    name: str, content: str | bytes, place: str, assay_cli: Assay, tmp_path: Path
) -> None:
    write(tmp_path, name, content)
    corpus = name.split("/")[0]
    args = ("--dataset", "dataset.json", "--engine", "bm25", "--corpus", corpus)
    assert place in score_refused(assay_cli, tmp_path, *args).err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "exactly one of --search-module, --engine or --run"),
        (("--run", "good.run", "--engine", "bm25"), "exactly one of"),
        (("--engine", "bm25"), "needs --corpus"),
        (("--engine", "magic"), "unknown engine 'magic'"),
        (("--engine", "mb25"), "Did you mean bm25?"),
        (("--engine", "typo.py"), "typo.py has no function search; it has serch"),
        (("--engine", "my_engine.py"), "Give the engine's Python file or module name."),
        (("--run", "good.run", "-m", "nDGC@10"), "unknown measure 'nDGC@10'"),
        (("--run", "good.run", "-m", "P@99999999999999999999"), "P@99999999999999999999"),
    ],
)
def test_bad_options(args: tuple[str, ...], says: str, assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "typo.py").write_text("def serch(query, top_k): ...")
    assert says in score_refused(assay_cli, tmp_path, "--dataset", "dataset.json", *args).err


@pytest.mark.parametrize(
    "args", [("score",), ("score", "--nonsense"), ("gold", "convert", "one"), ("nonsense",)]
)
def test_wrong_usage_exits_2(args: tuple[str, ...], assay_cli: Assay) -> None:
    outcome = assay_cli(*args)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Usage" in outcome.err


# ── output ────────────────────────────────────────────────────────────────────────────────────────

SCORE = ("score", "--dataset", "dataset.json", "--run", "good.run", "--output")


def test_a_good_output_replaces_the_old_file_in_one_step_and_leaves_no_other(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """Who has the old file open, or linked, goes on reading the old results and never a part of the
    new ones."""
    os.link(tmp_path / "out.json", tmp_path / "link.json")
    before = set(files_below(tmp_path))
    assert assay_cli(*SCORE, "out.json").code == 0
    assert set(files_below(tmp_path)) == before
    assert json.loads((tmp_path / "out.json").read_text())["engine"] == "mine"
    assert (tmp_path / "link.json").read_text() == "results of yesterday"


@pytest.mark.parametrize("target", ["good.run/out.json", "folder"])
def test_an_output_below_a_file_or_that_is_a_folder_is_refused(
    target: str, assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    assert target in refused(assay_cli, tmp_path, *SCORE, target).err


@pytest.mark.parametrize("option", ["--output", "--report", "--baseline"])
def test_what_cannot_be_written_is_said_before_the_engine_runs(
    option: str, assay_cli: Assay, tmp_path: Path
) -> None:
    write(
        tmp_path,
        "slow.py",
        "from pathlib import Path\nPath('ran').touch()\ndef search(query, top_k): return []\n",
    )
    args = ["score", "--dataset", "dataset.json", "--search-module", "slow"]
    args += [option, "good.run/out.json"]
    args += ["--update-baseline"] if option == "--baseline" else []
    outcome = refused(assay_cli, tmp_path, *args)
    assert "good.run/out.json: cannot write" in outcome.err
    assert not (tmp_path / "ran").exists()


def test_a_full_disk_leaves_the_old_file_and_no_other(
    assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    outcome = refused(assay_cli, tmp_path, *SCORE, "out.json")
    assert "out.json: cannot write: no space left on device" in outcome.err


def test_a_folder_that_cannot_be_written_is_named(assay_cli: Assay, tmp_path: Path) -> None:
    """Root may write everywhere but to what the system shows of itself."""
    (tmp_path / "locked").mkdir(mode=0o500)
    folder = "locked" if os.geteuid() else "/proc"
    outcome = refused(assay_cli, tmp_path, *SCORE, f"{folder}/out.json")
    assert f"{folder}/out.json: cannot write" in outcome.err


@pytest.mark.parametrize(
    ("name", "content", "target"),
    [
        ("bare.qrels", "q1 0 A-1 1\n", "out.json"),  # dataset.json needs the query's text
        ("typed.csv", "query_id,query,type,doc_id,grade\nq,hello,chat,A,1\n", "out.json"),
        ("high.qrels", "q1 0 A-1 4\n", "out.json"),  # off the scale of dataset.json
        ("spaces.csv", "query_id,doc_id,grade\nq 1,A,1\n", "new.qrels"),  # TREC ids have no spaces
    ],
)
def test_a_conversion_that_cannot_be_done_writes_nothing(
    name: str, content: str, target: str, assay_cli: Assay, tmp_path: Path
) -> None:
    write(tmp_path, name, content)
    done = refused(assay_cli, tmp_path, "gold", "convert", name, target, "--replace")
    assert name in done.err


# ── the real process ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("module", "code"), [("broken", 4), ("missing", 2)])
def test_the_process_itself_exits_with_the_code_and_one_message(
    module: str, code: int, tmp_path: Path
) -> None:
    write(tmp_path, "broken.py", "raise RuntimeError('boom')")
    command = [sys.executable, "-m", "assay", "score", "--dataset", "dataset.json"]
    options = ["--search-module", module, "--output", "new.json"]
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "new.json").exists()


def test_a_complaint_is_no_longer_than_a_person_reads(tmp_path: Path) -> None:
    """What it repeats may be megabytes long."""
    long = "x" * 10**6
    write(tmp_path, "g.jsonl", f'{{"id":"{long}","query":"q","relevant_case_law_ids":["d"]}}\n')
    write(tmp_path, "r.trec", "q1 Q0 d 1 1 s\n")
    command = [sys.executable, "-m", "assay", "score", "--gold", "g.jsonl", "--run", "r.trec"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr[:7], len(done.stderr) < 10_000) == (2, "error: ", True)


def test_an_error_names_the_next_step(assay_cli: Assay, tmp_path: Path) -> None:
    assert 'assay search CORPUS "QUESTION"' in assay_cli("search", "gifts").err
    (tmp_path / "qrels.txt").write_text("1 0 a 2\n")
    refused = assay_cli("gold", "convert", tmp_path / "qrels.txt", tmp_path / "set.json")
    assert "NAME.topics.tsv" in refused.err
    (tmp_path / "qrels.topics.tsv").write_text("1\tgifts\n")
    assert assay_cli("gold", "convert", tmp_path / "qrels.txt", tmp_path / "set.json").code == 0

"""Results in and out of files: typed inside, the same keys outside, and files of 0.1 open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import InputError
from assay.core.results import (
    EXIT,
    Check,
    Gate,
    GoldenResults,
    GradedResults,
    Pair,
    Results,
    Verdict,
)
from assay.core.results_file import encode, from_json, to_json
from assay.formats.results_json import read_results

WRITTEN = sorted((Path(__file__).parents[1] / "fixtures" / "results-0.1").glob("*.json"))
FILES = [path for path in WRITTEN if "per_query" in json.loads(path.read_bytes())]


def again(results: Results) -> Results:
    """Through a file and back."""
    return from_json(json.loads(encode(to_json(results))))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_opens_and_keeps_every_key(path: Path) -> None:
    raw = json.loads(path.read_bytes())
    results = read_results(path)
    assert isinstance(results, GoldenResults if "gates" in raw else GradedResults)
    written = json.loads(encode(to_json(results)))
    assert list(_lost(raw, written)) == []
    assert again(results) == results


def _lost(before: Any, after: Any, at: str = "$") -> Any:
    """The places whose value is gone or another. `skipped` is read as inconclusive, and the limit
    of a gate is written in today's words."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                yield f"{at}.{key} is gone"
            else:
                yield from _lost(value, after[key], f"{at}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, pair in enumerate(zip(before, after, strict=True)):
            yield from _lost(*pair, f"{at}[{place}]")
    elif at.endswith(".limit"):
        return
    elif before != after and (before, after) != ("skipped", "inconclusive"):
        yield f"{at}: {before!r} became {after!r}"


def test_slices_and_what_a_gold_set_states_are_flat_in_a_file_alone() -> None:
    entry = {
        "id": "q1",
        "query": "?",
        "query_id": "q1",
        "query_text": "?",
        "expected_none": [{"section": "2"}],
        "owner": "Liisa",
        "parent": "q0",
        "results": ["a"],
        "grades": [None],
        "judged": [1],
        "metrics": {"pass": 1.0},
        "hits": [{"doc_id": "a", "score": 0.5, "law": "Kuntalaki", "page": 7}],
    }
    raw = {
        "timestamp": "",
        "engine": "e",
        "overall": {"total": 1},
        "by_category": {"loans": {"total": 1}},
        "n": {"overall": {"pass_rate_total": 1}, "by_category": {}},
        "per_query": [entry],
        "gates": [],
        "receipt": {"measures": [{"key": "p", "measure": "P@5", "cutoff": 5, "rel": 1}]},
    }
    results = from_json(raw)
    assert isinstance(results, GoldenResults)
    assert results.slices == {"category": {"loans": {"total": 1}}}
    question = results.per_query[0]
    assert (question.stated["owner"], question.parent) == ("Liisa", "q0")
    assert question.hits[0].fields == {"law": "Kuntalaki", "page": 7}
    assert results.receipt.measures[0].params == {"rel": 1}
    assert list(_lost(raw, to_json(results))) == []


def test_a_verdict_goes_through_a_file_unchanged() -> None:
    pair = Pair(
        query_id="q",
        query_text="?",
        doc_id="d",
        rank_a=1,
        rank_b=None,
        effect=0.1,
        change=0.05,
        narrowing=0.5,
    )
    check = Check(
        gate=Gate(measure="P@5", minimum=0.5, min_judged=0.8),
        status="inconclusive",
        value=0.4,
        message="P@5 overall: 0.4",
    )
    verdict = Verdict(
        status="inconclusive",
        checks=[check],
        fingerprints={"gold": "g", "corpus": None},
        judge_next=[pair],
    )
    for path in FILES:
        results = msgspec.structs.replace(read_results(path), verdict=verdict)
        assert again(results).verdict == verdict


def test_gates_of_an_earlier_version_are_a_verdict() -> None:
    """One without a baseline did not count; one with too few questions passes no more."""
    line = {"measure": "pass_rate_must", "name": "A", "kind": "minimum", "bound": 0.95}
    raw = {"timestamp": "", "engine": "e", "overall": {}, "per_query": [], "receipt": {}}

    def status(*lines: dict[str, Any]) -> str:
        verdict = from_json(raw | {"gates": [*lines]}).verdict
        assert verdict is not None
        return verdict.status

    passed = line | {"value": 1.0, "status": "pass"}
    no_baseline = line | {"name": "D", "kind": "max_drop", "status": "skipped"}
    too_few = line | {"name": "B", "status": "skipped"}
    assert status(passed, no_baseline) == "pass"
    assert status(passed, too_few) == "inconclusive"
    assert status(passed, line | {"value": 0.5, "status": "fail"}, too_few) == "fail"


def test_one_table_of_exit_codes() -> None:
    assert EXIT == {"pass": 0, "fail": 1, "inconclusive": 3}


@pytest.mark.parametrize("raw", [[], "text", {"engine": "e"}, {"gates": 7, "per_query": []}])
def test_what_is_no_results_file_is_refused(raw: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        from_json(raw)


@pytest.mark.parametrize("kind", ["graded", "golden", "zebra", None, 3])
def test_a_kind_that_is_not_the_files_is_refused(kind: object, tmp_path: Path) -> None:
    for path in FILES:
        raw = json.loads(path.read_bytes())
        true_kind = "golden" if "gates" in raw else "graded"
        damaged = tmp_path / "damaged.json"
        damaged.write_text(json.dumps(raw | {"kind": kind}))
        if kind == true_kind:
            assert read_results(damaged)
        else:
            with pytest.raises(InputError, match="kind"):
                read_results(damaged)

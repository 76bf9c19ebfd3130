"""A results file that was damaged in any way is read, or refused with its place and what to do: it
never ends in an error of ours."""

from __future__ import annotations

import contextlib
import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.reports import FORMATS
from assay.reports.terminal import explanation
from assay.reports.terminal_comparison import comparison_table
from assay.workbench.deciding.compare import compare_results
from assay.workbench.scoring.report import explain, report_file
from kit.commands import Assay

WRITTEN = Path(__file__).parents[1] / "fixtures" / "results-0.1"
NAMES = ("en-verdict", "fi-verdict", "en-against-baseline", "fi-perturbed", "he-small")
VALUES: list[Any] = [
    *(None, True, -1, 0, 0.5, 1e308, -1e308, 1e-320, 2**62, 10**400),
    *("", "x", "2026-01-01", [], [None], [1, 2, 3], ["a"], {}, {"a": 1}, {"a": {"b": 1}}),
]


@cache
def written(name: str) -> Any:
    raw = json.loads((WRITTEN / f"{name}.json").read_text())
    return raw | {"per_query": raw["per_query"][:4]}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members: Any = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = list(enumerate(value))[:2]
    return [at, *(place for key, member in members for place in places(member, (*at, key)))]


PLACES = {name: places(written(name))[1:] for name in NAMES}


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Any, Any]:
    """A file as it was, and with one or two places taken away, doubled or replaced."""
    name = draw(st.sampled_from(NAMES))
    whole = copy.deepcopy(written(name))
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        *way, last = draw(st.sampled_from(PLACES[name]))
        holder = whole
        try:
            for step in way:
                holder = holder[step]
            match draw(st.sampled_from(["gone", "other", "other", "double"])):
                case "gone":
                    del holder[last]
                case "other":
                    holder[last] = copy.deepcopy(draw(st.sampled_from(VALUES)))
                case "double" if isinstance(holder, list):
                    holder.append(holder[last])
        except (KeyError, IndexError, TypeError):
            pass  # the first damage has taken this place away
    return written(name), whole


@settings(max_examples=50)
@given(damaged(), st.sampled_from(sorted(FORMATS)))
def test_any_damage_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, files: tuple[Any, Any], ending: str
) -> None:
    folder = tmp_path_factory.getbasetemp()
    good, bad = folder / "good.json", folder / "bad.json"
    good.write_text(json.dumps(files[0]))
    bad.write_text(json.dumps(files[1]))

    def compared() -> None:
        comparison_table(compare_results([good, bad], force=True))

    def explained() -> None:
        told = explain(bad, files[0]["per_query"][0]["query_id"], None)
        explanation(told.entry, told.measures)

    for work in (
        lambda: report_file(bad, folder / f"out{ending}"),
        lambda: report_file(good, folder / "out.md", against=bad, force=True),
        compared,
        explained,
    ):
        with contextlib.suppress(InputError):  # whatever else is raised would be exit 4
            work()


@pytest.mark.parametrize(
    ("way", "value", "said"),
    [
        (("receipt", "counts"), {}, "$.receipt.counts: the key n_scored is missing"),
        (("receipt", "gold", "approved_share"), 1e308, "approved_share: the number 1e+308"),
        (("receipt", "gold", "approved_share"), -0.5, "approved_share: -0.5 is not a share"),
        (("per_query", 0, "grades"), [], "$.per_query[0].grades: 0 grades of"),
        (("per_query", 0, "latency_ms"), 2**62, "latency_ms: the number"),
        (("per_query",), None, "$.per_query: expected an array"),
        (("overall",), 7, "$.overall: expected an object"),
    ],
)
def test_the_place_is_said_and_what_to_do(
    assay_cli: Assay, way: tuple[Any, ...], value: Any, said: str
) -> None:
    whole = copy.deepcopy(written("en-verdict"))
    holder = whole
    for step in way[:-1]:
        holder = holder[step]
    holder[way[-1]] = value
    Path("bad.json").write_text(json.dumps(whole))
    Path("good.json").write_text(json.dumps(written("en-verdict")))
    for command in (
        ("report", "bad.json", "-o", "x.md"),
        ("report", "good.json", "-o", "x.md", "--against", "bad.json"),
        ("compare", "good.json", "bad.json"),
        ("explain", "bad.json", whole["per_query"][0]["query_id"] if value is not None else "q"),
    ):
        done = assay_cli(*command)
        assert done.code == 2, (command, done.err)
        assert f"bad.json: {said}" in done.err or said in done.err
        assert "score" in done.err  # the hint

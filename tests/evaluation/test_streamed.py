"""A run that is joined with the judgments while it is read gives what the whole run gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.core.errors import InputError
from assay.core.runs import Block, pair_hashes, ranked, repeated
from assay.evaluation import judged_hits
from assay.evaluation.graded import evaluate, graded_results, score_sheet
from assay.evaluation.judged_hits import join_run, join_saved_run, judged_rows, judgments_of
from assay.evaluation.measures import parse_measures
from assay.formats import read_run, trec
from kit.commands import Assay
from kit.random_data import DOC_IDS, QUERY_IDS, as_gold, qrels

MEASURES = ["RR", "nDCG@5", "AP", "P@3", "Judged@2", "Bpref"]


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """Lines of a run: tied and rising scores, repeated documents, and, often, all lines of a query
    together."""
    written = []
    for query in draw(st.permutations([*QUERY_IDS[:3], "other"])):
        hits = draw(st.lists(st.sampled_from(DOC_IDS), max_size=12))
        written += [
            "\t".join([query, "Q0", doc, "1", str(draw(st.integers(0, 4))), "tag\n"])
            for doc in hits
        ]
    return draw(st.permutations(written)) if draw(st.booleans()) else written


@given(qrels(), lines(), st.integers(1, 4), st.sampled_from([16, 64, 300, 2**20]))
def test_it_equals_the_run_read_whole(
    tmp_path_factory: pytest.TempPathFactory,
    grades: dict[str, dict[str, int]],
    written: list[str],
    keep: int,
    size: int,
) -> None:
    if not written:
        return
    path = tmp_path_factory.mktemp("runs") / "x.run"
    path.write_text("".join(written))
    gold = as_gold(grades)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec, "BLOCK_BYTES", size)
        looked, run = join_saved_run(path, gold, keep=keep), read_run(path)
    here, whole = (
        score_sheet(looked.joined, parse_measures(MEASURES)),
        evaluate(run, gold, MEASURES),
    )
    np.testing.assert_array_equal(here.values, whole.values)
    assert here.counts == whole.counts
    assert here.reasons == whole.reasons
    for one, other in zip(
        graded_results(looked.run, gold, MEASURES, prepared=looked.joined, keep=keep).per_query,
        graded_results(run, gold, MEASURES).per_query,
        strict=True,
    ):
        assert one.num_results == other.num_results == len(other.results)
        assert (one.results, one.grades) == (other.results[:keep], other.grades[:keep])
        assert (one.metrics, one.known_grades) == (other.metrics, other.known_grades)


def block(*documents: str) -> Block:
    import polars as pl

    return Block(["q"], np.array([len(documents)]), pl.Series(documents), pl.Series([1.0] * 3))


def test_numbers_that_are_equal_by_chance_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are looked for by a number. By the first numbers a third of them share theirs, and
    by all others one that is not judged has that of one that is; what counts is the id."""
    seeds = []

    def crowded(queries: list[str], lengths: Any, documents: Any, *, seed: int = 0) -> Any:
        seeds.append(seed)
        numbers = pair_hashes(queries, lengths, documents.replace("other", "d1"), seed=seed)
        return numbers % np.uint64(3) if seed == 0 else numbers

    monkeypatch.setattr(judged_hits, "pair_hashes", crowded)
    found = judgments_of(as_gold({"q": {f"d{number}": number % 3 for number in range(9)}}))
    rows = judged_rows(block("d0", "other", "d2"), found)
    assert (rows.rank.tolist(), rows.grade.tolist()) == ([1, 3], [0, 2])
    assert max(seeds) > 0


def test_judgments_may_come_in_any_order_and_with_any_grades() -> None:
    qrels = {"b": {"x": 2, "y": -1, "z": 900}, "a": {"x": 1, "w": 0}}
    run = {"b": {"y": 3.0, "x": 2.0, "z": 1.0}, "a": {"w": 2.0, "x": 1.0}}
    whole = as_gold(qrels)
    mixed = replace(whole, judgments=whole.judgments[[3, 0, 4, 2, 1]])
    made, again = join_run(run, whole), join_run(run, mixed)
    assert made.gold_grade.tolist() == again.gold_grade.tolist() == [900, 2, -1, 1, 0]
    assert made.gold_query.tolist() == again.gold_query.tolist() == [0, 0, 0, 1, 1]
    few = as_gold({"a": {"x": 1, "y": -1, "z": 3}, "b": {"x": 0, "y": 1}})
    assert join_run({"a": {"x": 1.0}}, few).gold_grade.tolist() == [3, 1, -1, 1, 0]


def test_documents_of_one_number_are_not_taken_for_one() -> None:
    rows = block("a", "b", "a")
    same = np.zeros(3, np.uint64)
    assert repeated(same, rows.documents, rows.lengths).tolist() == [2]
    assert ranked(rows).block.documents.to_list() == ["b", "a"]


# ── what the file keeps ───────────────────────────────────────────────────────────────────────────

QRELS = "".join(f"q 0 d{number:02d} {number % 2}\n" for number in range(40))
RUN = "".join(f"q Q0 d{number:02d} 1 {100 - number} tag\n" for number in range(40))


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ([], 20),
        (["-m", "P@30"], 30),
        (["-m", "P@5"], 20),
        (["--hits", "all"], None),
        (["--hits", "3"], 3),
    ],
)
def test_results_keep_what_is_looked_at(
    options: list[str], kept: int | None, assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "x.qrels").write_text(QRELS)
    (tmp_path / "x.run").write_text(RUN)
    assay_cli("score", "--run", "x.run", "--dataset", "x.qrels", "--output", "o.json", *options)
    results = json.loads((tmp_path / "o.json").read_text())
    entry = results["per_query"][0]
    assert results["receipt"].get("kept_hits") == kept
    assert entry["num_results"] == 40
    assert len(entry["results"]) == len(entry["grades"]) == (kept or 40)


def test_saved_results_that_were_cut_say_so_when_scored_again(
    assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "x.qrels").write_text(QRELS)
    (tmp_path / "x.run").write_text(RUN)
    assay_cli("score", "--run", "x.run", "--dataset", "x.qrels", "--output", "o.json")
    again = ("score", "--run", "o.json", "--dataset", "x.qrels", "--json")
    deep = assay_cli(*again, "-m", "AP", "-m", "P@10")
    assert "hold only the top 20 hits of each query, but AP look deeper" in deep.err
    assert deep.json["receipt"]["kept_hits"] == 20
    assert "look deeper" not in assay_cli(*again, "-m", "P@10").err
    saved = ("score", "--run", "x.run", "--dataset", "x.qrels", "--output", "o.json")
    assay_cli(*saved, "-m", "AP", "-m", "RR")
    told = assay_cli("explain", "o.json", "q").out
    assert "it looks at 40 hits, of which the results keep the top 20" in told
    assert "1 / 2  (first hit" in told


def test_hits_is_a_number_or_all(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "x.qrels").write_text(QRELS)
    (tmp_path / "x.run").write_text(RUN)
    for wrong in ("0", "some", "-1"):
        refused = assay_cli("score", "--run", "x.run", "--dataset", "x.qrels", "--hits", wrong)
        assert (refused.code, "--hits" in refused.err) == (2, True)


def test_a_broken_line_far_down_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec, "BLOCK_BYTES", 64)
    (tmp_path / "x.run").write_text(RUN + "q Q0 d99 1 high tag\n")
    with pytest.raises(InputError, match=r"'high' is not a number") as told:
        join_saved_run(tmp_path / "x.run", as_gold({"q": {"d00": 1}}), keep=20)
    assert told.value.where.endswith("x.run:41")


def test_python_takes_files_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "x.qrels").write_text(QRELS)
    (tmp_path / "x.run").write_text(RUN)
    run, gold = tmp_path / "x.run", tmp_path / "x.qrels"
    for names in (["nDCG@10", "AP"], ["nDCG@10", "Rprec"]):
        in_memory = assay.evaluate(assay.read_run(run), assay.read_gold(gold), names)
        sheet = assay.evaluate(run, str(gold), names)
        assert sheet.overall.means == in_memory.overall.means
        assert sheet.counts == in_memory.counts

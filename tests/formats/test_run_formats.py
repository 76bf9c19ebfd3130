"""Runs in: results JSON of any scorer, TREC runs as they come in the wild, BEIR results."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import formats, read_run
from assay.core.runs import run_from_results
from assay.core.types import Hit, QueryResult, Run
from assay.formats import trec
from kit.commands import Assay
from kit.random_data import Scores, as_run, scores


def ranking(run: Run) -> dict[str, list[str]]:
    return {query_id: run.doc_ids(query_id) for query_id in run.rows_by_query}


def read(folder: Path, name: str, content: str | bytes) -> Run:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return read_run(folder / name)


# ── results JSON ──────────────────────────────────────────────────────────────────────────────────


def test_results_of_another_scorer_need_no_receipt(tmp_path: Path) -> None:
    """The keys of the suite's own scorer; metrics and whatever else it wrote are not looked at."""
    entry = {
        "query_id": "q1",
        "query_text": "x",
        "query_type": "keyword",
        "num_results": 2,
        "results": ["b", "a"],
        "metrics": {"mrr": 1.0},
    }
    run = read(
        tmp_path,
        "theirs.json",
        json.dumps({"timestamp": "", "engine": "Theirs", "per_query": [entry]}),
    )
    assert (run.engine, run.order, ranking(run)) == ("Theirs", "engine", {"q1": ["b", "a"]})


@pytest.mark.parametrize(
    "hit",
    [
        "a",
        {"doc_id": "a"},
        {"id": "a", "score": 1.5},
        {"opinion_id": "a"},
        {"node_id": "a", "title": "A"},
    ],
)
def test_hits_may_be_ids_or_objects(hit: Any, tmp_path: Path) -> None:
    run = read(tmp_path, "r.json", json.dumps({"per_query": [{"query_id": "q", "results": [hit]}]}))
    assert ranking(run) == {"q": ["a"]}


def test_an_error_in_results_is_kept_apart_from_an_empty_list(tmp_path: Path) -> None:
    rows = [{"query_id": "a", "results": [], "error": "timeout"}, {"query_id": "b", "results": []}]
    run = read(tmp_path, "r.json", json.dumps({"per_query": rows}))
    assert run.queries["error"].to_list() == ["timeout", None]


def test_duplicates_in_results_keep_the_first_place(tmp_path: Path) -> None:
    run = read(tmp_path, "r.json", '{"per_query": [{"query_id": "q", "results": ["a", "b", "a"]}]}')
    assert (ranking(run), run.counts["duplicates"]) == ({"q": ["a", "b"]}, 1)


# ── TREC ──────────────────────────────────────────────────────────────────────────────────────────

PLAIN = "q1 Q0 a 1 3.0 tag\nq1 Q0 b 2 2.0 tag\nq2 Q0 a 1 1.0 tag\n"

WRITTEN: dict[str, str | bytes] = {
    "plain": PLAIN,
    "tabs": PLAIN.replace(" ", "\t"),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "tabs and CRLF": PLAIN.replace(" ", "\t").replace("\n", "\r\n"),
    "many spaces": PLAIN.replace(" ", "   "),
    "mixed spaces and tabs": PLAIN.replace(" Q0 ", "\t Q0 \t"),
    "trailing spaces": PLAIN.replace("\n", "  \n"),
    "leading spaces": " " + PLAIN.replace("\n", "\n ").rstrip(" "),
    "comments": "# a run\n" + PLAIN.replace("q2", "# between\nq2"),
    "blank lines": "\n" + PLAIN.replace("\n", "\n\n"),
    "no last line break": PLAIN.rstrip("\n"),
    "byte-order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "ranks are ignored": PLAIN.replace("a 1 3.0", "a 77 3.0"),
    "rows in any order": "q1 Q0 b 2 2.0 tag\nq1 Q0 a 1 3.0 tag\nq2 Q0 a 1 1.0 tag\n",
    "query comes back later": "q1 Q0 b 2 2.0 tag\nq2 Q0 a 1 1.0 tag\nq1 Q0 a 1 3.0 tag\n",
    "exponents": PLAIN.replace("3.0", "3e0").replace("2.0", "+2.0E0"),
    "negative and infinite": PLAIN.replace("3.0", "inf").replace("2.0", "-2"),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_trec_run_is_read_however_it_was_written(how: str, tmp_path: Path) -> None:
    run = read(tmp_path, "x.run", WRITTEN[how])
    assert ranking(run) == {"q1": ["a", "b"], "q2": ["a"]}
    assert (run.engine, run.order) == ("tag", "score")


@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("size", [1, 7, 20, 33])
def test_block_boundaries_change_nothing(
    how: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is read in blocks of whole lines; here a block is smaller than a line, or about
    one."""
    monkeypatch.setattr(trec, "BLOCK_BYTES", size)
    run = read(tmp_path, "x.run", WRITTEN[how])
    assert ranking(run) == {"q1": ["a", "b"], "q2": ["a"]}
    assert run.engine == "tag"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_run_may_come_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "x.run"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(PLAIN,))
    writer.start()
    assert ranking(read_run(pipe)) == {"q1": ["a", "b"], "q2": ["a"]}
    writer.join()


def test_ids_in_any_script_and_with_quotes_are_kept(tmp_path: Path) -> None:
    ids = [
        "תקדים-7",
        "hyväksymispäivä",
        '"quoted"',
        "a,b",
        "§110a",
        "#hash",
        "null",
        "NaN",
        "007",
        "🏛",
    ]
    lines = "".join(f"שאלה Q0 {doc_id} 0 {100 - rank} tag\n" for rank, doc_id in enumerate(ids))
    assert ranking(read(tmp_path, "x.run", lines)) == {"שאלה": ids}


def test_tabs_allow_ids_with_spaces(tmp_path: Path) -> None:
    run = read(tmp_path, "x.run", "q 1\tQ0\tSection 110 a\t1\t1.0\tmy engine\n")
    assert (ranking(run), run.engine) == ({"q 1": ["Section 110 a"]}, "my engine")


def test_a_query_id_that_begins_with_a_hash_is_a_comment(tmp_path: Path) -> None:
    """As in trec_eval 10."""
    assert ranking(read(tmp_path, "x.run", "#q Q0 a 1 1 t\nq Q0 a 1 1 t\n")) == {"q": ["a"]}


def test_ties_and_duplicates_of_a_trec_run_are_counted(tmp_path: Path) -> None:
    run = read(tmp_path, "x.run", "q Q0 a 1 1.0 t\nq Q0 b 2 1.0 t\nq Q0 a 3 0.5 t\n")
    assert (ranking(run), dict(run.counts)) == ({"q": ["b", "a"]}, {"ties": 2, "duplicates": 1})


def test_a_written_run_reads_back_in_the_same_order(tmp_path: Path) -> None:
    """The engine's order is written as scores, since readers order by score."""
    first = read(
        tmp_path,
        "r.json",
        '{"engine": "my engine", "per_query": [{"query_id": "q", "results": ["b", "a"]}]}',
    )
    trec.write_run(first, tmp_path / "out.run")
    again = read_run(tmp_path / "out.run")
    assert (ranking(again), again.engine) == ({"q": ["b", "a"]}, "my_engine")


# ── BEIR ──────────────────────────────────────────────────────────────────────────────────────────


@given(scores())
def test_beir_results_are_ranked_by_score_then_id(
    tmp_path_factory: pytest.TempPathFactory, scored: Scores
) -> None:
    path = tmp_path_factory.getbasetemp() / "beir.json"
    path.write_text(json.dumps(scored))
    expected = {
        query_id: sorted(hits, key=lambda doc_id: (hits[doc_id], doc_id), reverse=True)
        for query_id, hits in scored.items()
    }
    assert ranking(read_run(path)) == ranking(as_run(scored)) == expected


@given(scores(empty=False), st.integers(1, 200))
def test_a_trec_run_and_beir_json_of_the_same_scores_rank_the_same(
    tmp_path_factory: pytest.TempPathFactory, scored: Scores, block: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "same.run"
    path.write_text(
        "".join(
            f"{query_id}\tQ0\t{doc_id}\t0\t{score}\tt\n"
            for query_id, hits in scored.items()
            for doc_id, score in hits.items()
        ),
        encoding="utf-8",
    )
    if not scored:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec, "BLOCK_BYTES", block)
        assert ranking(read_run(path)) == ranking(as_run(scored))


# ── a format more ─────────────────────────────────────────────────────────────────────────────────


def read_lines(path: Path) -> Run:
    """{"query": "q1", "documents": ["a", "b"]} a line."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return run_from_results(
        "lines",
        [
            QueryResult(
                query_id=row["query"], hits=tuple(Hit(doc_id=doc) for doc in row["documents"])
            )
            for row in rows
        ],
    )


def test_a_new_run_format_is_its_module_and_two_rows(
    assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row for its name and one for its ending, as formats/__init__.py says."""
    module = ModuleType("run_lines")
    monkeypatch.setattr(module, "read_run", read_lines, raising=False)
    monkeypatch.setitem(sys.modules, "run_lines", module)
    monkeypatch.setitem(formats.RUN_FORMATS, "lines", "run_lines")
    monkeypatch.setitem(formats.RUN_ENDINGS, ".ndjson", "lines")
    Path("gold.qrels").write_text("q1 0 a 1\n")
    Path("x.ndjson").write_text('{"query": "q1", "documents": ["b", "a"]}\n')
    done = assay_cli("score", "--dataset", "gold.qrels", "--run", "x.ndjson", "--json")
    assert (done.code, done.json["engine"]) == (0, "lines"), done.err
    assert done.json["per_query"][0]["results"] == ["b", "a"]


@pytest.mark.parametrize(
    ("table", "endings"),
    [
        (formats.GOLD_FORMATS, formats.GOLD_ENDINGS),
        (formats.RUN_FORMATS, formats.RUN_ENDINGS),
    ],
)
def test_an_ending_stands_for_a_format_that_there_is(
    table: dict[str, str], endings: dict[str, str]
) -> None:
    assert set(endings.values()) <= set(table)


@pytest.mark.parametrize("name", ["run.txt", "run.trec", "run.tsv", "run.run", "run.csv", "run"])
def test_any_other_ending_is_a_trec_run(name: str, tmp_path: Path) -> None:
    assert ranking(read(tmp_path, name, "q1 Q0 a 1 2.0 mine\n")) == {"q1": ["a"]}

"""Gold sets in and out: every format round-trips what it can hold, and conversion says what it
cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay import read_gold
from assay.core.errors import InputError
from assay.core.types import GoldSet
from assay.formats import write_gold
from kit.commands import Assay
from kit.gold_examples import CSV, DATASET, GOLDEN, JSONL
from kit.sources import write_lines


def content(gold: GoldSet) -> dict[str, Any]:
    """Everything a set holds, whatever the order of its columns."""
    held = {
        key: getattr(gold, key)
        for key in ("version", "created_at", "description", "rubric", "status", "extra")
    }
    held["taxonomy"] = msgspec.to_builtins(dict(gold.taxonomy))
    return held | {"queries": list(gold.queries), "judgments": list(gold.iter_judgments())}


def round_trip(path: Path, target: Path, format: str | None = None) -> tuple[GoldSet, GoldSet]:
    before = read_gold(path, format)
    write_gold(before, target, format)
    return before, read_gold(target, format)


# ── there and back ────────────────────────────────────────────────────────────────────────────────


def test_dataset_json_round_trips_with_every_unknown_key(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text(json.dumps(DATASET))
    (tmp_path / "out").mkdir()
    before, after = round_trip(tmp_path / "dataset.json", tmp_path / "out" / "dataset.json")
    assert content(after) == content(before)
    assert json.loads((tmp_path / "out" / "dataset.json").read_text()) == DATASET


def test_a_row_of_a_dataset_json_says_its_corpus_language_and_day(tmp_path: Path) -> None:
    row = {"id": "q", "text": "?", "corpus": "library", "language": "fi", "as_of": "2020-05-01"}
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps({"queries": [row]}))
    before, after = round_trip(path, tmp_path / "again.json")
    (query,) = before.queries
    assert (query.corpus, query.language, query.as_of) == ("library", "fi", "2020-05-01")
    assert (query.extra, after.queries) == ({}, before.queries)


def test_golden_list_round_trips_with_every_unknown_key(tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text(json.dumps(GOLDEN))
    before, after = round_trip(tmp_path / "golden.json", tmp_path / "out.json", "golden")
    assert content(after) == content(before)
    assert json.loads((tmp_path / "out.json").read_text()) == GOLDEN


def test_a_json_array_is_read_as_a_golden_list(tmp_path: Path) -> None:
    (tmp_path / "any-name.json").write_text("\ufeff \n" + json.dumps(GOLDEN), encoding="utf-8")
    query = read_gold(tmp_path / "any-name.json").queries[0]
    assert (query.must, query.k, query.min_score, query.category) == (True, 5, 0.4, "quorum")
    assert query.checks["expected_any"] == GOLDEN[0]["expected_any"]
    assert query.extra == {"reviewer": "matti"}


def test_gold_set_jsonl_is_written_with_the_keys_of_the_specification(tmp_path: Path) -> None:
    before, after = round_trip(
        write_lines(tmp_path / "gold-set.jsonl", JSONL), tmp_path / "out.jsonl"
    )
    assert [query.text for query in after.queries] == [query.text for query in before.queries]
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    keys = ("id", "query", "practice_area", "corpus", "relevant_case_law_ids", "source", "note")
    assert all(tuple(row) == keys for row in written)
    assert written[0] == {key: JSONL[0][key] for key in keys}


def test_gold_set_jsonl_is_binary_and_approved_only_when_all_is_from_the_chair(
    tmp_path: Path,
) -> None:
    gold = read_gold(write_lines(tmp_path / "mixed.jsonl", JSONL))
    assert [(row.doc_id, row.grade, row.source) for row in gold.iter_judgments()] == [
        ("רע״א 1/20", 1, "chair"),
        ("b", 1, "chair"),
    ]
    assert (gold.queries[0].topic, gold.queries[0].corpus, gold.status) == (
        "נזיקין",
        "precedents",
        "provisional",
    )
    assert read_gold(write_lines(tmp_path / "chair.jsonl", JSONL[:1])).status == "approved"


def test_csv_round_trips_quotes_line_breaks_and_queries_without_judgments(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text(CSV, encoding="utf-8")
    before, after = round_trip(tmp_path / "gold.csv", tmp_path / "out.csv")
    assert content(after) == content(before)
    assert [query.id for query in after.queries] == ["q1", "q2"]
    assert [(row.doc_id, row.grade, row.rationale) for row in after.iter_judgments()] == [
        ("A 1", 2, 'says "yes"\nand more'),
        ("A-2", -1, ""),
    ]


def test_csv_from_a_spreadsheet_is_read(tmp_path: Path) -> None:
    """With a byte-order mark and CRLF."""
    (tmp_path / "gold.csv").write_bytes(b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode())
    assert read_gold(tmp_path / "gold.csv").query_ids == ["q1", "q2"]


def test_csv_with_a_grade_but_no_document_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("query_id,doc_id,grade\nq1,,2\n")
    with pytest.raises(InputError, match=r"gold\.csv:2"):
        read_gold(tmp_path / "gold.csv")


def test_trec_qrels_round_trip_with_the_topics_beside(tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text(
        "# made by hand\nq1 0 A-1 2\nq1\t0\tA-2\t-1\r\nkysymys-ä 0 חוק 1  \n", "utf-8"
    )
    (tmp_path / "gold.topics.tsv").write_text(
        "q1\tgift\tlimit\nkysymys-ä\tlahja\nq3\tunjudged\n", "utf-8"
    )
    before, after = round_trip(tmp_path / "gold.qrels", tmp_path / "out.qrels")
    assert content(after) == content(before) | {"queries": content(after)["queries"]}
    assert [query.id for query in before.queries] == ["q1", "kysymys-ä", "q3"]
    assert [query.text.split() for query in after.queries] == [
        ["gift", "limit"],
        ["lahja"],
        ["unjudged"],
    ]
    assert [(row.query_id, row.doc_id, row.grade) for row in after.iter_judgments()] == [
        ("q1", "A-1", 2),
        ("q1", "A-2", -1),
        ("kysymys-ä", "חוק", 1),
    ]


def test_trec_qrels_without_topics_have_queries_without_text(tmp_path: Path) -> None:
    (tmp_path / "bare.qrels").write_text("q1 0 A 1\nq2 0 A 1\nq1 0 B 1\n")
    gold = read_gold(tmp_path / "bare.qrels")
    assert [(query.id, query.text) for query in gold.queries] == [("q1", ""), ("q2", "")]


def test_tab_separated_qrels_may_have_ids_with_spaces(tmp_path: Path) -> None:
    (tmp_path / "tabs.qrels").write_text("q 1\t0\tSection 110 a\t2\n")
    assert [
        (row.query_id, row.doc_id) for row in read_gold(tmp_path / "tabs.qrels").iter_judgments()
    ] == [("q 1", "Section 110 a")]


def beir(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    rows = [
        {
            "_id": "q 1",
            "text": "lahja",
            "metadata": {"topic": "gifts", "type": "keyword", "year": 2020},
        },
        {"_id": "q2", "text": "", "metadata": {}},
    ]
    write_lines(folder / "queries.jsonl", rows)
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq 1\tA 1\t2\nq 1\tB\t0\n"
    )
    return folder


def test_beir_folder_round_trips_with_metadata(tmp_path: Path) -> None:
    before, after = round_trip(beir(tmp_path / "set"), tmp_path / "out")
    assert content(after) == content(before)
    assert (before.queries[0].topic, before.queries[0].extra) == ("gifts", {"year": 2020})
    assert [(row.doc_id, row.grade) for row in after.iter_judgments()] == [("A 1", 2), ("B", 0)]


def test_beir_split_is_picked_by_its_file(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set")
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq2\tC\t1\n")
    assert [
        row.doc_id for row in read_gold(folder / "qrels" / "train.tsv", "beir").iter_judgments()
    ] == ["C"]
    assert [row.doc_id for row in read_gold(folder).iter_judgments()] == ["A 1", "B"]


def test_beir_keeps_unknown_keys_of_a_query(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set")
    write_lines(folder / "queries.jsonl", [{"_id": "q 1", "text": "lahja", "origin": "forum"}])
    _, after = round_trip(folder, tmp_path / "out")
    assert after.queries[0].extra == {"origin": "forum"}


# ── conversion ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    (tmp_path / "dataset.json").write_text(
        json.dumps(DATASET, ensure_ascii=False).replace("A 1/§", "A-1"), "utf-8"
    )
    return tmp_path / "dataset.json"


LOST = {
    "copy.json": [],
    "gold.csv": ["extra of 1 queries", "taxonomy", "version", "status", "rubric"],
    "gold.qrels": [
        "type of 1 queries",
        "topic of 1 queries",
        "rationale of 1 judgments",
        "judge of 1 judgments",
        "taxonomy",
    ],
    "folder": ["rationale of 1 judgments", "taxonomy", "description"],
    "gold.jsonl": [
        "type of 1 queries",
        "grade of 2 judgments",
        "rationale of 1 judgments",
        "taxonomy",
    ],
}


@pytest.mark.parametrize("target", LOST)
def test_conversion_reports_exactly_what_the_format_cannot_hold(
    target: str, dataset: Path, assay_cli: Assay
) -> None:
    outcome = assay_cli("gold", "convert", dataset, f"new/{target}")
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()
    assert all(Path(line).exists() for line in outcome.out.splitlines())
    assert [said for said in LOST[target] if said not in outcome.err] == []
    assert ("nothing lost" in outcome.err) is (not LOST[target])


def test_conversion_leaves_no_other_file_behind(
    dataset: Path, tmp_path: Path, assay_cli: Assay
) -> None:
    assay_cli("gold", "convert", dataset, "new/gold.qrels")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "gold.qrels",
        "gold.topics.tsv",
    ]


@pytest.mark.parametrize("target", ["copy.json", "gold.csv", "gold.qrels", "folder"])
def test_the_fingerprint_is_the_same_in_every_format_that_keeps_queries_and_grades(
    target: str, dataset: Path, assay_cli: Assay
) -> None:
    assay_cli("gold", "convert", dataset, target)
    prints = {
        assay_cli("gold", "stats", name, "--json").json["fingerprint"] for name in (dataset, target)
    }
    assert len(prints) == 1


def test_graded_judgments_become_expectations_of_a_golden_list(
    dataset: Path, tmp_path: Path, assay_cli: Assay
) -> None:
    """The documents of the best grade the query has. A query without any cannot be asked of a
    golden list."""
    data = json.loads(dataset.read_text("utf-8"))
    dataset.write_text(json.dumps(data | {"queries": data["queries"][:1]}))
    assert assay_cli("gold", "convert", dataset, "golden.json", "--to", "golden").code == 0
    row = json.loads((tmp_path / "golden.json").read_text())[0]
    assert (row["id"], row["expected_any"]) == ("q1", [{"doc_id": "A-1"}])


def test_an_unknown_format_lists_the_known_ones(dataset: Path, assay_cli: Assay) -> None:
    outcome = assay_cli("gold", "convert", dataset, "x", "--to", "excel")
    assert (outcome.code, "json, golden, jsonl, csv, trec, beir" in outcome.err) == (2, True)


def test_a_csv_column_nobody_knows_is_kept(tmp_path: Path) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("query_id,query,doc_id,grade,reviewer\nq1,text,d1,1,Noa\n")
    written = write_gold(read_gold(source), target)
    assert "Noa" in written[0].read_text()
    assert read_gold(target).judgments["extra"].to_list() == ['{"reviewer":"Noa"}']

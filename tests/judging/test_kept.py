"""What people have filled in is not written over, and what cannot be judged is not asked for."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kit.commands import Assay
from kit.sets import write_packet, write_pool, write_set

PAIRS = {("q0", "a"): 2, ("q0", "b"): 0, ("q1", "a"): 1}
OTHER = {**PAIRS, ("q0", "b"): 2}
CORPUS = "".join(f'{{"id": "{name}", "text": "question {name}"}}\n' for name in "abc")


def _voted(assay_cli: Assay, folder: Path) -> Path:
    gold = write_set(folder)
    (folder / "corpus.jsonl").write_text(CORPUS)
    write_pool(folder, [*PAIRS, ("q1", "c")])
    write_packet(folder / "ada.jsonl", "ada", PAIRS)
    write_packet(folder / "ben.jsonl", "ben", OTHER)
    assert assay_cli("gold", "merge", "set.json", "ada.jsonl", "ben.jsonl").code == 0
    return gold


FILLED = "query_id,query,doc_id,grade,rationale,unsure\nq0,question 0,c,1,The same rule.,\n"


@pytest.mark.parametrize(
    "command",
    [
        ("adjudicate", "set.json", "-o", "out.csv"),
        ("sample", "set.json", "--size", "2", "-o", "out.csv"),
        ("pool", "set.json", "--engine", "bm25", "--corpus", "corpus.jsonl", "-o", "out.csv"),
        ("packet", "set.json", "--corpus", "corpus.jsonl", "-o", "out.csv"),
        ("export", "set.json", "--to", "quepid", "-o", "out.csv"),
        ("convert", "set.json", "out.csv"),
    ],
)
def test_a_file_that_was_filled_in_is_not_written_over(
    command: tuple[str, ...], assay_cli: Assay, tmp_path: Path
) -> None:
    _voted(assay_cli, tmp_path)
    out = tmp_path / "out.csv"
    for content in (FILLED, FILLED.replace(",1,The", ",,The")):  # half done is somebody's work too
        out.write_text(content)
        refused = assay_cli("gold", *command)
        assert (refused.code, "1 judgment already" in refused.err) == (2, True), refused.err
        assert "assay gold merge" in refused.err
        assert out.read_text() == content
    out.unlink()
    for _ in range(2):  # what the command itself wrote is nobody's work
        assert assay_cli("gold", *command).code == 0


def test_convert_writes_over_judgments_where_that_is_said(assay_cli: Assay, tmp_path: Path) -> None:
    _voted(assay_cli, tmp_path)
    (tmp_path / "out.csv").write_text(FILLED)
    assert assay_cli("gold", "convert", "set.json", "out.csv", "--replace").code == 0


def test_a_set_from_another_scale_is_given_its_rubric(assay_cli: Assay, tmp_path: Path) -> None:
    rubric = assay_cli("gold", "rubric", "fppc-relevance-2", "--json").json
    assert rubric
    (tmp_path / "case.csv").write_text("query,docid,rating\nwhat counts,a,3\nwhat counts,b,0\n")
    assert assay_cli("gold", "convert", "case.csv", "new.json").code == 0
    assert json.loads((tmp_path / "new.json").read_text())["created_at"]
    checked = assay_cli("gold", "validate", "new.json", "--json")
    assert (checked.code, checked.json["errors"]) == (0, 0), checked.out
    assert "no-rubric" in {finding["code"] for finding in checked.json["findings"]}
    (tmp_path / "case.csv").write_text("query,docid,rating\nwhat counts,a,2\nwhat counts,b,0\n")
    named = ("--rubric", "fppc-relevance-2")
    assert assay_cli("gold", "convert", "case.csv", "named.json", *named).code == 0
    assert json.loads((tmp_path / "named.json").read_text())["rubric"] == "fppc-relevance-2"


# ── what is asked for ─────────────────────────────────────────────────────────────────────────────


def test_a_mistyped_document_blocks_nobody(assay_cli: Assay, tmp_path: Path) -> None:
    write_set(tmp_path)
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    typo = ("gold", "add", "set.json", "--document", "XX-4", "--for", "q0")
    refused = assay_cli(*typo, "--corpus", "corpus.jsonl")
    assert (refused.code, "'XX-4' is not in the corpus" in refused.err) == (2, True)
    assert "it is not checked that XX-4 exists" in assay_cli(*typo).err
    pool = ("gold", "pool", "set.json", "--engine", "bm25", "--corpus", "corpus.jsonl")
    pooled = assay_cli(*pool, "--judges", "ada", "--json")
    assert (pooled.code, "XX-4" in pooled.err) == (0, True)
    assert "XX-4" not in (tmp_path / "set.pool.json").read_text()
    assert assay_cli("gold", "packet", "set.json", "--judge", "ada", "-o", "a.csv").code == 0


def test_a_pair_is_taken_out_unless_somebody_has_voted(assay_cli: Assay, tmp_path: Path) -> None:
    _voted(assay_cli, tmp_path)
    remove = ("gold", "add", "set.json", "--remove", "--for")
    refused = assay_cli(*remove, "q0", "--document", "a")
    assert (refused.code, "ada, ben voted on 'a'" in refused.err) == (2, True)
    assert assay_cli(*remove, "q1", "--document", "c").code == 0
    assert assay_cli(*remove, "q1", "--document", "c").code == 2


def test_people_have_what_only_machines_have_judged(assay_cli: Assay, tmp_path: Path) -> None:
    write_set(tmp_path)
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    write_pool(tmp_path, list(PAIRS), corpus="corpus.jsonl")
    write_packet(tmp_path / "m.jsonl", "bot", PAIRS, kind="machine")
    assert assay_cli("gold", "merge", "set.json", "m.jsonl").code == 0
    assert assay_cli("gold", "policy", "set.json", "--counts", "human,machine").code == 0
    corpus = ("--corpus", "corpus.jsonl")
    nobody = assay_cli("gold", "packet", "set.json", "-o", "x.csv", *corpus)
    assert "3 pairs judged by machines alone: --judge NAME" in nobody.err
    done = assay_cli("gold", "packet", "set.json", "--judge", "ann", "-o", "ann.csv", *corpus)
    assert "3 pairs on 2 queries" in done.err
    pool = ("gold", "pool", "set.json", "--engine", "bm25", *corpus, "--judges", "ann,bob")
    dealt = assay_cli(*pool, "--json").json
    assert {(pair["query_id"], pair["doc_id"]) for pair in dealt["pairs"]} >= set(PAIRS)
    with (tmp_path / "ann.csv").open(newline="", encoding="utf-8-sig") as stream:
        assert {row["pairs"] for row in csv.DictReader(stream)} == {"3"}

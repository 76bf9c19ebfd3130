"""What people send, send twice, or send back from another tool: taken once, signed, and whole."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kit.commands import Assay
from kit.sets import labels, log_of, write_packet, write_pool, write_set

PAIRS = {("q0", "a"): 2, ("q0", "b"): 0, ("q1", "a"): 1}
CORPUS = "".join(f'{{"id": "{name}", "text": "text of {name}"}}\n' for name in "abc")


def _voted(assay_cli: Assay, folder: Path) -> Path:
    gold = write_set(folder)
    (folder / "corpus.jsonl").write_text(CORPUS)
    write_packet(folder / "ada.jsonl", "ada", PAIRS)
    write_packet(folder / "ben.jsonl", "ben", {**PAIRS, ("q1", "c"): "?"})
    write_packet(folder / "bot.jsonl", "bot", PAIRS, kind="machine")
    done = assay_cli("gold", "merge", "set.json", "ada.jsonl", "ben.jsonl", "bot.jsonl", "--json")
    assert done.code == 0, done.err
    assert done.json["judges"] == {"ada": 3, "ben": 4, "bot": 3}
    return gold


@pytest.mark.parametrize(
    ("to", "name"),
    [
        ("quepid-book", "out.csv"),
        ("quepid-book", "out.json"),
        ("label-studio", "out.json"),
        ("argilla", "out.json"),
    ],
)
def test_votes_that_come_back_add_nothing(
    to: str, name: str, assay_cli: Assay, tmp_path: Path
) -> None:
    gold = _voted(assay_cli, tmp_path)
    before = gold.read_bytes(), log_of(gold).read_bytes()
    options = ("--to", to, "-o", name, "--with-votes", "--corpus", "corpus.jsonl")
    assert assay_cli("gold", "export", "set.json", *options).code == 0
    done = assay_cli("gold", "merge", "set.json", name, "--json")
    assert (done.code, done.json["added"], done.json["judges"]) == (0, 0, {}), done.err
    assert (gold.read_bytes(), log_of(gold).read_bytes()) == before


def test_what_was_changed_in_the_other_tool_is_a_new_vote(assay_cli: Assay, tmp_path: Path) -> None:
    _voted(assay_cli, tmp_path)
    options = ("--to", "label-studio", "-o", "out.json", "--with-votes", "--corpus", "corpus.jsonl")
    assert assay_cli("gold", "export", "set.json", *options).code == 0
    tasks = json.loads((tmp_path / "out.json").read_text())
    result = tasks[0]["annotations"][0]["result"]
    result[0]["value"]["choices"] = ["1"]
    (tmp_path / "out.json").write_text(json.dumps(tasks))
    done = assay_cli("gold", "merge", "set.json", "out.json", "--json")
    assert (done.code, done.json["judges"]) == (0, {"ada": 1}), done.err


def test_a_judge_who_judges_again_has_judged_twice(assay_cli: Assay, tmp_path: Path) -> None:
    write_set(tmp_path)
    for name, at in (("one", "2026-01-01T10:00:00Z"), ("two", "2026-02-01T10:00:00Z")):
        write_packet(tmp_path / f"{name}.jsonl", "ada", PAIRS, at=at)
        done = assay_cli("gold", "merge", "set.json", f"{name}.jsonl", "--json")
        assert done.json["added"] == 3


@pytest.mark.parametrize("command", ["merge", "adjudicate"])
def test_a_file_that_does_not_say_who_judged_is_refused(
    command: str, assay_cli: Assay, tmp_path: Path
) -> None:
    gold = write_set(tmp_path)
    before = gold.read_bytes()
    write_pool(tmp_path, list(PAIRS))
    (tmp_path / "p.csv").write_text("query_id,doc_id,grade,rationale\nq0,a,2,On this point.\n")
    given, option = {"merge": ((), "--judge"), "adjudicate": (("--from",), "--by")}[command]
    asked = ("gold", command, "set.json", *given, "p.csv")
    refused = assay_cli(*asked)
    hint = f"Name the judge with {option} NAME"
    assert (refused.code, hint in refused.err) == (2, True), refused.err
    assert gold.read_bytes() == before
    assert assay_cli(*asked, option, "ada").code == 0


def test_all_rows_that_cannot_be_are_named_and_partial_takes_the_rest(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = write_set(tmp_path)
    before = gold.read_bytes()
    rows = [
        "q0,a,2,On this point.",
        "q0,b,0,",
        "q0,c,two,It says.",
        "q1,a,1,Same rule.",
        "q1,a,2,No.",
    ]
    (tmp_path / "p.csv").write_text("\n".join(["query_id,doc_id,grade,rationale", *rows, ""]))
    refused = assay_cli("gold", "merge", "set.json", "p.csv", "--judge", "ada")
    assert refused.code == 2
    for said in ("p.csv:3: b on", "p.csv:4: the grade 'two'", "p.csv:6: ada has"):
        assert said in refused.err
    assert "--partial imports the other 1 row" in refused.err
    assert gold.read_bytes() == before
    done = assay_cli("gold", "merge", "set.json", "p.csv", "--judge", "ada", "--partial", "--json")
    assert (done.code, done.json["added"], len(done.json["left_out"])) == (1, 1, 3), done.err
    assert labels(gold) == {("q0", "a"): 2}  # of two rows on one pair neither


def test_a_packet_from_which_rows_were_taken_out(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path)
    lines = write_packet(tmp_path / "p.jsonl", "ada", PAIRS).read_text().splitlines(keepends=True)
    (tmp_path / "p.jsonl").write_text("".join([*lines[:2], lines[3]]))
    refused = assay_cli("gold", "merge", "set.json", "p.jsonl")
    assert (refused.code, "2 of 3 pairs came" in refused.err) == (2, True)
    done = assay_cli("gold", "merge", "set.json", "p.jsonl", "--partial")
    assert (done.code, "2 of 3 pairs came" in done.err) == (1, True)
    assert labels(gold) == {("q0", "a"): 2, ("q1", "a"): 1}


def test_numbers_that_a_program_gives_its_rows_are_no_ids_of_votes(
    assay_cli: Assay, tmp_path: Path
) -> None:
    write_set(tmp_path)
    write_pool(tmp_path, list(PAIRS))
    for judge in ("ada", "ben"):
        write_packet(tmp_path / "p.jsonl", judge, PAIRS, id="1")
        assert assay_cli("gold", "merge", "set.json", "p.jsonl", "--json").json["added"] == 3
    write_packet(tmp_path / "p.jsonl", "cy", {("q1", "z"): 1}, id="x")
    refused = assay_cli("gold", "merge", "set.json", "p.jsonl")
    assert (refused.code, "'z' on query 'q1' was not assigned" in refused.err) == (2, True)


def test_a_vote_that_was_rewritten_is_refused(assay_cli: Assay, tmp_path: Path) -> None:
    _voted(assay_cli, tmp_path)
    copy = tmp_path / "copy.votes.jsonl"
    assert assay_cli("gold", "export-votes", "set.json", "-o", copy).code == 0
    copy.write_text(copy.read_text().replace('"grade":2', '"grade":1'))
    refused = assay_cli("gold", "merge", "set.json", "copy.votes.jsonl")
    assert (refused.code, "of ada on 'a' for query" in refused.err) == (2, True)


def test_a_packet_cannot_pass_for_a_ruling(assay_cli: Assay, tmp_path: Path) -> None:
    write_set(tmp_path)
    write_packet(tmp_path / "p.jsonl", "mallory", PAIRS, source="adjudication")
    refused = assay_cli("gold", "merge", "set.json", "p.jsonl")
    assert (refused.code, "assay gold adjudicate SET --from" in refused.err) == (2, True)


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-10:00", "0001-01-01T00:00:00+10:00"])
def test_a_time_out_of_all_bounds_is_refused(at: str, assay_cli: Assay, tmp_path: Path) -> None:
    write_set(tmp_path)
    write_packet(tmp_path / "p.jsonl", "ada", PAIRS, at=at)
    assert assay_cli("gold", "merge", "set.json", "p.jsonl").code == 2


def test_a_rubric_that_lost_a_grade_is_seen_also_where_the_vote_makes_no_label(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = _voted(assay_cli, tmp_path)
    content = json.loads(gold.read_text()) | {"top_score": 1}
    for query in content["queries"]:
        query.pop("relevance_judgments", None)
    gold.write_text(json.dumps(content))
    refused = assay_cli("gold", "policy", "set.json", "majority")
    assert (refused.code, "have another grade, first 2 of ada" in refused.err) == (2, True)


def test_under_majority_a_ruling_breaks_the_tie_and_only_that(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = write_set(tmp_path)
    write_packet(tmp_path / "a.jsonl", "ada", {("q0", "a"): 0, ("q0", "b"): 2})
    write_packet(tmp_path / "b.jsonl", "ben", {("q0", "a"): 2, ("q0", "b"): 2})
    assert assay_cli("gold", "merge", "set.json", "a.jsonl", "b.jsonl").code == 0
    why = ("--grade", 1, "--rationale", "The same rule, elsewhere.", "--by", "dora")
    for doc in "ab":
        assert assay_cli("gold", "adjudicate", "set.json", "q0", doc, *why).code == 0
    assert labels(gold) == {("q0", "a"): 1, ("q0", "b"): 1}
    done = assay_cli("gold", "policy", "set.json", "majority")
    assert "1 ruling has no effect under this policy" in done.err
    assert labels(gold) == {("q0", "a"): 1, ("q0", "b"): 2}
    again = ("--grade", 0, "--rationale", "Another point altogether.", "--by", "dora")
    said = assay_cli("gold", "adjudicate", "set.json", "q0", "b", *again).err
    assert "1 ruling without effect under the policy majority" in said


@pytest.mark.parametrize(("name", "said"), [("ada.html", "presses e"), ("a.xlsx", "CSV UTF-8")])
def test_the_wrong_file_says_which_is_the_right_one(
    name: str, said: str, assay_cli: Assay, tmp_path: Path
) -> None:
    write_set(tmp_path)
    (tmp_path / name).write_text("<html>")
    refused = assay_cli("gold", "merge", "set.json", name)
    assert (refused.code, said in refused.err) == (2, True)


def test_tables_as_spreadsheets_of_other_languages_write_them(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = write_set(tmp_path)
    table = (
        'sep=;\nQuery_ID;Doc_ID;Grade;Rationale\nq0;a;2,0;"On\nthis\npoint."\nq1;a;off;Why not.\n'
    )
    (tmp_path / "p.csv").write_text(table)
    refused = assay_cli("gold", "merge", "set.json", "p.csv", "--judge", "ada")
    assert (refused.code, "p.csv:6 (row 3): the grade 'off'" in refused.err) == (2, True)
    (tmp_path / "p.csv").write_text(table.replace(";off;", ";1;"))
    assert assay_cli("gold", "merge", "set.json", "p.csv", "--judge", "ada").code == 0
    assert labels(gold) == {("q0", "a"): 2, ("q1", "a"): 1}


def test_an_unjudged_pool_goes_to_quepid_with_its_pairs(assay_cli: Assay, tmp_path: Path) -> None:
    write_set(tmp_path)
    write_pool(tmp_path, list(PAIRS))
    done = assay_cli("gold", "export", "set.json", "--to", "quepid", "-o", "case.csv")
    assert "3 pairs for quepid" in done.err
    rows = list(csv.reader((tmp_path / "case.csv").read_text().splitlines()))
    assert rows[1:] == [["question 0", "a", ""], ["question 0", "b", ""], ["question 1", "a", ""]]


def test_labels_whose_votes_are_gone_become_nobodys_votes(assay_cli: Assay, tmp_path: Path) -> None:
    log_of(_voted(assay_cli, tmp_path)).unlink()
    refused = assay_cli("gold", "merge", "set.json", "ada.jsonl")
    assert (refused.code, "the votes are missing" in refused.err) == (2, True)

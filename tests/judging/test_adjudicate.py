"""Where judges do not agree: both rationales are shown, and a ruling is a vote that says why."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from assay.judging.labels import JudgeOpinion, opinion_line
from kit.commands import Assay, Outcome
from kit.sets import labels, log_of, votes, write_packet, write_set

ADA = {("q0", "a"): 2, ("q0", "b"): 1, ("q1", "a"): 1, ("q1", "c"): "?"}
BEN = {("q0", "a"): 1, ("q0", "b"): 1, ("q1", "a"): 2, ("q1", "b"): 0, ("q1", "c"): "?"}
CY = {("q1", "b"): 2}


def _disputed(assay_cli: Assay, folder: Path) -> Path:
    gold = write_set(folder)
    for name, grades in (("ada", ADA), ("ben", BEN), ("cy", CY)):
        write_packet(folder / f"{name}.jsonl", name, grades)
    assert assay_cli("gold", "merge", "set.json", "ada.jsonl", "ben.jsonl", "cy.jsonl").code == 0
    return gold


def _listed(assay_cli: Assay, *options: str) -> list[dict[str, Any]]:
    found = assay_cli("gold", "adjudicate", "set.json", "--json", *options)
    assert found.code == 0, found.err
    return list(found.json)


def _rule(assay_cli: Assay, *args: object) -> Outcome:
    return assay_cli("gold", "adjudicate", "set.json", *args)


def test_disagreements_come_most_apart_first_with_what_each_wrote(
    assay_cli: Assay, tmp_path: Path
) -> None:
    _disputed(assay_cli, tmp_path)
    found = _listed(assay_cli)
    assert [(row["query_id"], row["doc_id"], row["why"], row["apart"]) for row in found] == [
        ("q1", "b", "tie", 2),
        ("q0", "a", "tie", 1),
        ("q1", "a", "tie", 1),
        ("q1", "c", "unsure", 0),
    ]
    said = {vote["judge"]: (vote["grade"], vote["rationale"]) for vote in found[0]["votes"]}
    assert said == {"ben": (0, "ben on b"), "cy": (2, "cy on b")}
    blind = json.dumps(_listed(assay_cli, "--blind"))
    assert '"judge": "judge 1"' in blind
    assert '"judge": "ben"' not in blind
    page = assay_cli("gold", "adjudicate", "set.json")
    assert "q1 b (tie, 2 grades apart)" in page.out
    assert "- cy: 2. cy on b" in page.out


def test_the_line_of_a_judge_says_what_is_unusual_and_nothing_else() -> None:
    plain = JudgeOpinion(judge="ben", kind="human", grade=0, rationale="Other duty.")
    assert opinion_line(plain) == "ben: 0. Other duty."
    odd = JudgeOpinion(
        judge="cy", kind="machine", grade=None, rationale="", source="sample", stale=True
    )
    assert opinion_line(odd) == (
        "cy (machine) [sample]: unsure. No rationale. (the document has changed since)"
    )


def test_a_ruling_makes_the_label_and_is_kept_as_a_vote(assay_cli: Assay, tmp_path: Path) -> None:
    gold = _disputed(assay_cli, tmp_path)
    words = ("--rationale", "both decide the same point", "--by", "dora")
    done = _rule(assay_cli, "q1", "b", "--grade", 1, *words, "--json")
    assert (done.code, done.json["ruled"], done.json["open"]) == (0, 1, 3), done.err
    assert labels(gold)["q1", "b"] == 1
    last = votes(gold)[-1]
    assert (last["judge"], last["kind"], last["action"]) == ("dora", "chair", "rule")
    assert (last["grade"], last["rationale"]) == (1, "both decide the same point")
    assert len(_listed(assay_cli)) == 3
    # the judges' own votes stay, and a later vote of theirs does not undo the ruling
    write_packet(tmp_path / "ben.jsonl", "ben", {("q1", "b"): 2})
    assert assay_cli("gold", "merge", "set.json", "ben.jsonl").code == 0
    assert labels(gold)["q1", "b"] == 1


def test_a_ruling_without_a_reason_or_on_a_pair_nobody_knows_is_refused(
    assay_cli: Assay, tmp_path: Path
) -> None:
    log = log_of(_disputed(assay_cli, tmp_path))
    before = log.read_bytes()
    for args, said in (
        (("q1", "b", "--grade", 1, "--by", "dora"), "the ruling has no rationale"),
        (("q1", "b", "--grade", 1, "--rationale", "so"), "a ruling needs"),
        (("q1", "b", "--rationale", "so", "--by", "dora"), "a ruling needs"),
        (
            ("q1", "b", "--grade", 7, "--rationale", "so", "--by", "dora"),
            "on the scale, which is 0 to 2",
        ),
        (
            ("q1", "zz", "--grade", 1, "--rationale", "so", "--by", "dora"),
            "was not assigned to anyone",
        ),
        (("q7", "a", "--grade", 1, "--rationale", "so", "--by", "dora"), "no query 'q7'"),
    ):
        refused = _rule(assay_cli, *args)
        assert (refused.code, said in refused.err) == (2, True), refused.err
    assert log.read_bytes() == before


def test_many_rulings_come_from_a_file(assay_cli: Assay, tmp_path: Path) -> None:
    gold = _disputed(assay_cli, tmp_path)
    assert _rule(assay_cli, "-o", "open.csv", "--blind").code == 0
    with (tmp_path / "open.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert "cy on b" in rows[0]["said"]
    for row in rows[:3]:
        row |= {"grade": "2", "rationale": "decided"}
    with (tmp_path / "ruled.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    done = _rule(assay_cli, "--from", "ruled.csv", "--by", "dora", "--json")
    assert (done.code, done.json["ruled"], done.json["open"]) == (0, 3, 1), done.err
    assert _rule(assay_cli, "--from", "ruled.csv", "--by", "dora", "--json").json["already"] == 3
    assert labels(gold)["q1", "a"] == 2
    assert _rule(assay_cli, "-o", "rest.jsonl").code == 0
    header, row = map(json.loads, (tmp_path / "rest.jsonl").read_text().splitlines())
    assert (header["pairs"], row["doc_id"], row["grade"]) == (1, "c", None)
    filled = {**row, "grade": 0, "rationale": "not on it"}
    (tmp_path / "rest.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(filled)}\n")
    assert _rule(assay_cli, "--from", "rest.jsonl", "--by", "dora").code == 0
    assert "no pairs need a ruling" in _rule(assay_cli).out


def test_who_alone_is_unsure_asks_for_another_judge_and_not_for_a_ruling(
    assay_cli: Assay, tmp_path: Path
) -> None:
    write_set(tmp_path)
    write_packet(tmp_path / "ada.jsonl", "ada", {("q0", "a"): "?", ("q0", "b"): 1})
    merged = assay_cli("gold", "merge", "set.json", "ada.jsonl", "--json")
    assert (merged.json["open"], merged.json["second"]) == (0, 1)
    assert "1 pair needs a second judge" in merged.err
    assert "ruling" not in merged.err
    assert _listed(assay_cli) == []
    write_packet(tmp_path / "ben.jsonl", "ben", {("q0", "a"): "?"})
    assert assay_cli("gold", "merge", "set.json", "ben.jsonl", "--json").json["open"] == 1

"""From an inconclusive gate to a decision: pairs are asked for, judged by people, and brought
back."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay, Outcome
from kit.server import serving
from kit.sets import acts, log_of, named, votes

GATE = '[[gates]]\nmeasure = "P@5"\nminimum = 0.5\nmin_judged = 1.0\n'
CSV = "query_id,doc_id,grade,rationale,judge,at\n"


def _dataset(folder: Path, *, indent: int = 1) -> Path:
    queries = [
        {
            "id": f"q{n}",
            "text": f"question {n}",
            "relevance_judgments": [{"opinion_id": "d0", "score": 2, "rationale": "päätös"}],
        }
        for n in range(4)
    ]
    path = folder / "dataset.json"
    content = {"x_house": {"kept": [1, 2.5]}, "queries": queries}  # a key that is not ours stays
    path.write_text(json.dumps(content, indent=indent, ensure_ascii=False) + "\n")
    return path


def _open(path: Path) -> Path:
    """One document is judged not relevant, so that the set is not closed: more can be judged."""
    data = json.loads(path.read_text())
    data["queries"][3]["relevance_judgments"].append({"opinion_id": "off", "score": 0})
    path.write_text(json.dumps(data, ensure_ascii=False))
    return path


def _judged(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    data = json.loads(path.read_text())
    return {
        (query["id"], row["opinion_id"]): row
        for query in data["queries"]
        for row in query["relevance_judgments"]
    }


def test_an_inconclusive_gate_is_decided_by_what_was_asked_for(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = _open(_dataset(tmp_path))
    (tmp_path / "mine.py").write_text(
        "def search(query, top_k):\n    return [f'd{n}' for n in range(5)]\n"
    )
    (tmp_path / "assay.toml").write_text(
        f'[gold.s]\npath = "dataset.json"\n[engines.e]\nsearch_module = "mine"\n{GATE}'
    )
    first = assay_cli("run", "--json")
    assert (first.code, len(first.json[0]["verdict"]["judge_next"])) == (3, 16)
    asked = assay_cli(
        "gold",
        "next",
        ".assay/results/s--e.json",
        "--measure",
        "P@5",
        "--threshold",
        0.5,
        "-o",
        "p.csv",
    )
    assert asked.code == 0, asked.err
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    for row in rows:
        row |= {"grade": "1" if row["doc_id"] in ("d1", "d2", "d3") else "0", "rationale": "luettu"}
    with (tmp_path / "filled.csv").open(
        "w", encoding="utf-8-sig", newline=""
    ) as stream:  # as a Finnish Excel saves it
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    merged = assay_cli("gold", "merge", "dataset.json", "filled.csv", "--by", "Anna", "--json")
    assert (merged.code, merged.json["added"]) == (0, 16), merged.err
    row = _judged(gold)["q0", "d1"]
    assert (row["score"], row["source"], row["rationale"]) == (1, "gold next", "luettu")
    assert named(gold, row["judge"]) == "Anna"
    assert row["at"].startswith(f"{datetime.now(UTC):%Y-}")
    again = assay_cli("run", "--json")
    assert (again.code, again.json[0]["verdict"]["status"]) == (0, "pass")
    twice = assay_cli("gold", "merge", "dataset.json", "filled.csv", "--by", "Anna", "--json").json
    assert (twice["added"], twice["already"], twice["changed"]) == (0, 16, [])


def test_only_what_was_judged_changes_in_the_file(assay_cli: Assay, tmp_path: Path) -> None:
    gold = _dataset(tmp_path, indent=3)
    before = gold.read_text().splitlines()
    (tmp_path / "p.csv").write_text(CSV + "q1,d9,1,,Ben,2026-01-02\nq2,d9,,,,\n")
    done = assay_cli("gold", "merge", "dataset.json", "p.csv", "--json").json
    assert (done["added"], done["without_grade"]) == (1, 1)
    written = json.loads(gold.read_text())
    assert list(written.pop("labels")) == ["policy", "counts", "by_machine", "open"]
    after = named(gold, json.dumps(written, indent=3, ensure_ascii=False)).splitlines()
    assert [line for line in after if line not in before] == [
        "            },",
        '               "opinion_id": "d9",',
        '               "score": 1,',
        '               "rationale": "",',
        '               "judge": "Ben",',
        '               "at": "2026-01-02"',
    ]


def _merge(assay_cli: Assay, folder: Path, rows: str, *options: str) -> Outcome:
    (folder / "p.csv").write_text(CSV + rows)
    return assay_cli("gold", "merge", "dataset.json", "p.csv", *options)


def test_a_disagreement_waits_for_a_ruling_and_the_rest_is_kept(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = _dataset(tmp_path)
    found = _merge(assay_cli, tmp_path, "q0,d0,0,not at all,Ben,\nq0,d1,1,,Ben,\n")
    assert found.code == 0
    assert "1 pair needs a ruling: assay gold adjudicate dataset.json" in found.err
    assert ("q0", "d0") not in _judged(gold)
    assert _judged(gold)["q0", "d1"]["score"] == 1
    assert json.loads(gold.read_text())["labels"]["open"] == 1


def test_a_later_vote_of_the_same_judge_supersedes(assay_cli: Assay, tmp_path: Path) -> None:
    gold = _dataset(tmp_path)
    _merge(assay_cli, tmp_path, "q0,d1,1,first,Ben,2026-01-02\n")
    _merge(assay_cli, tmp_path, "q0,d1,2,read again,Ben,2026-01-03\n")
    row = _judged(gold)["q0", "d1"]
    assert (row["score"], named(gold, row["judge"])) == (2, "Ben")
    first, second = (vote for vote in votes(gold) if vote["subject"]["doc"] == "d1")
    assert second["supersedes"] == [first["id"]]
    late = _merge(assay_cli, tmp_path, "q0,d1,0,an old file,Ben,2026-01-01\n", "--json").json
    assert (late["added"], late["already"], late["outdated"]) == (0, 1, 1)
    assert _judged(gold)["q0", "d1"]["score"] == 2


def test_what_did_not_happen_is_not_listed(assay_cli: Assay, tmp_path: Path) -> None:
    _dataset(tmp_path)
    done = _merge(assay_cli, tmp_path, "q0,d1,1,it helps,Ben,2026-01-02\nq0,d2,,,Ben,\n")
    listed = {line.split("  ")[0] for line in done.out.splitlines()}
    assert {"added", "without a grade"} <= listed
    assert not listed & {"stale", "outdated", "spot checks", "by machines alone"}
    assert "skipped 1 row without a grade" in done.err


def test_a_vote_that_is_in_two_files_counts_once(assay_cli: Assay, tmp_path: Path) -> None:
    _dataset(tmp_path)
    vote = {"id": "v1", "query_id": "q0", "doc_id": "d1", "grade": 1, "rationale": "on point"}
    line = json.dumps(vote | {"judge": "Ben", "kind": "human", "at": "2026-01-02T10:00:00+00:00"})
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(line + "\n")
    done = assay_cli("gold", "merge", "dataset.json", "a.jsonl", "b.jsonl", "--json")
    assert (done.json["added"], done.json["already"]) == (1, 1), done.err


def test_a_file_that_was_changed_since_is_said_to_be_old(assay_cli: Assay, tmp_path: Path) -> None:
    gold = _dataset(tmp_path)
    _merge(assay_cli, tmp_path, "q0,d1,1,first,Ben,\n")
    _merge(assay_cli, tmp_path, "q0,d1,2,second,Ben,\n")
    old = _merge(assay_cli, tmp_path, "q0,d1,1,first,Ben,\n", "--json")
    assert (old.json["already"], old.json["outdated"]) == (1, 1)
    assert "has changed since" in old.err
    assert _judged(gold)["q0", "d1"]["score"] == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("q0,d1,1,,,\nq9,d1,1,,,\n", "p.csv:3: the gold set 'dataset' has no query 'q9'"),
        (
            "q0,d1,1,,,\nq0,d2,3,,,\n",
            "p.csv:3: grade 3 of d2 on query q0 is not on the scale, which is 0 to 2",
        ),
        ("q0,d1,1,,,\nq0,d2,yes,,,\n", "p.csv:3: the grade 'yes' is not a whole number"),
        (
            "q0,d1,1,,Ben,\nq0,d1,2,,Ben,\n",
            "p.csv:3: Ben has already voted on 'd1' for query 'q0', in line 2",
        ),
        ("q0,d1,1,,,\nq0,,2,,,\n", "p.csv:3: the row has no doc_id"),
        ("q0,d1,1,,,\nq0,d2,2\n", "p.csv:3: the row has 3 of 6 fields; was the file cut?"),
        ("q0,d1,,so good,,\n", "p.csv:2: a rationale without a grade"),
        ("q0,d1,1,,,tomorrow\n", "p.csv:2: 'tomorrow' is not a date or time"),
        ("q0,d1,1,,,2999-01-01\n", "p.csv:2: the vote has a date in the future, 2999-01-01"),
        (
            f"q0,d1,2,{'so ' * 2_000},Anna,\nq0,d2,1,on the point,Anna,\n",
            "p.csv:2: the reason for d1 on query q0 has 5,999 characters, and at most 4,000 are "
            "kept Ask the judge to shorten it. Nothing was changed. --partial imports the other 1",
        ),
        (
            "q0,d1,1,on the point,An\u202ena,\n",
            r"invisible characters: 'An\u202ena' Correct the name",
        ),
        (f"q0,d1,1,on the point,{'A' * 201},\n", "p.csv:2: the name of the judge has 201"),
        (
            "q0,d1,1,on the point,Anna,\nq0,d2,1,on the point,\u0410nna,\n",
            "p.csv:3: the name '\u0410nna' looks like 'Anna', who is another judge",
        ),
    ],
)
def test_a_row_that_cannot_be_stops_everything(
    rows: str, said: str, assay_cli: Assay, tmp_path: Path
) -> None:
    gold = _dataset(tmp_path)
    before = gold.read_bytes()
    found = _merge(assay_cli, tmp_path, rows, "--judge", "ada")
    assert (found.code, said in " ".join(found.err.split())) == (2, True), found.err
    assert gold.read_bytes() == before
    assert not log_of(gold).exists()


def test_votes_of_the_review_page(assay_cli: Assay, tmp_path: Path) -> None:
    gold = _open(_dataset(tmp_path))
    assert "nobody has voted on this set" in assay_cli("gold", "merge", "dataset.json").err
    (tmp_path / "run.json").write_text(
        json.dumps({"per_query": [{"query_id": "q0", "results": ["d0", "d1", "d2"]}]})
    )
    assert (
        assay_cli("score", "--dataset", gold, "--run", "run.json", "--output", "r.json").code == 0
    )
    queued = assay_cli("gold", "next", "r.json", "--threshold", 0.5, "--queue", "dataset.json")
    assert "2 new pairs wait for review" in queued.err
    with serving(gold) as server:
        chair = server.visitor("Ada")
        for item, grade in zip(chair.items(), (1, 0), strict=True):
            refused = chair.refused(f"/api/review/{item['id']}/approve", grade=3)
            assert "a grade from 0 to 2" in refused
            chair.accept(item["id"], grade=grade, reason="read it")
    # on disk when they are given, in the set when they are merged
    assert [vote["judge"] for vote in votes(gold)] == ["imported"] * 5
    approved = [named(gold, act["who"]) for act in acts(gold) if act["action"] == "approve"]
    assert approved == ["Ada", "Ada"]
    done = assay_cli("gold", "merge", "dataset.json", "--json").json
    assert (done["added"], len(done["changed"])) == (0, 2)
    rows = [_judged(gold)["q0", doc] for doc in ("d1", "d2")]
    assert sorted(row["score"] for row in rows) == [0, 1]
    assert {(row["source"], row["rationale"]) for row in rows} == {("gold next", "read it")}
    assert {named(gold, row["judge"]) for row in rows} == {"Ada"}
    assert assay_cli("gold", "merge", "dataset.json", "--json").json["changed"] == []


def test_a_gold_set_as_csv_takes_them_and_one_that_cannot_says_what_to_do(
    assay_cli: Assay, tmp_path: Path
) -> None:
    _dataset(tmp_path)
    (tmp_path / "p.csv").write_text(CSV + "q1,d9,0,no,Ben,2026-01-02\n")
    for name in ("gold.csv", "gold.jsonl"):
        assert assay_cli("gold", "convert", "dataset.json", name).code == 0
    assert assay_cli("gold", "merge", "gold.csv", "p.csv").code == 0
    assert "d9,0,no,Ben," in named(tmp_path / "gold.csv", (tmp_path / "gold.csv").read_text())
    refused = assay_cli("gold", "merge", "gold.jsonl", "p.csv")
    assert (refused.code, "assay gold convert gold.jsonl dataset.json" in refused.err) == (2, True)


def test_a_baseline_is_brought_along_by_its_own_answers(assay_cli: Assay, tmp_path: Path) -> None:
    _open(_dataset(tmp_path))
    for name, answers in (("old", ["d0", "d1"]), ("new", ["d2", "d0"])):
        entries = [{"query_id": f"q{n}", "results": answers} for n in range(4)]
        (tmp_path / f"{name}.json").write_text(json.dumps({"engine": name, "per_query": entries}))
    (tmp_path / "assay.toml").write_text(
        '[gold.s]\npath = "dataset.json"\nbaseline = "baseline.json"\n[engines.e]\n'
        'run = "new.json"\n'
        '[[gates]]\nmeasure = "nDCG@10"\nmax_drop = 0.05\nmin_judged = 0.9\n'
    )
    record = ("--baseline", "baseline.json", "--update-baseline", "--by", "Ada", "--why", "first")
    assert assay_cli("score", "--dataset", "dataset.json", "--run", "old.json", *record).code == 0
    asked = assay_cli("run", "--json")
    pairs = asked.json[0]["verdict"]["judge_next"]
    assert (asked.code, {pair["doc_id"] for pair in pairs}) == (3, {"d1", "d2"})
    grades = {"d1": 0, "d2": 2}
    rows = [
        f"{pair['query_id']},{pair['doc_id']},{grades[pair['doc_id']]},,Ada,\n" for pair in pairs
    ]
    (tmp_path / "p.csv").write_text(CSV + "".join(rows))
    assert assay_cli("gold", "merge", "dataset.json", "p.csv").code == 0
    stale = assay_cli("run", "--json")
    assert (stale.code, "the baseline is stale" in stale.out) == (3, True)
    assert (
        assay_cli("score", "--dataset", "dataset.json", "--run", "baseline.json", *record).code == 0
    )
    found = assay_cli("run", "--json")
    assert found.code == 0, found.out

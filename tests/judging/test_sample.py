"""A spot check: drawn blind and by grade, it measures labels, makes none, and says how sure it
is."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from assay.evaluation.statistics import clopper_pearson
from assay.judging.spot_checks import ErrorRate, Stratum, overall
from kit.commands import Assay
from kit.sets import labels, write_packet, write_set

GRADES = {("q0", f"d{n}"): 2 if n < 6 else 1 if n < 20 else 0 for n in range(100)}


def _drawn(assay_cli: Assay, folder: Path) -> list[dict[str, str]]:
    write_set(folder)
    write_packet(folder / "a.jsonl", "ada", GRADES)
    assert assay_cli("gold", "merge", "set.json", "a.jsonl").code == 0
    done = assay_cli("gold", "sample", "set.json", "--size", 30, "--seed", 7, "-o", "s.csv")
    assert done.code == 0, done.err
    assert "assay gold merge set.json FILE --sample" in done.err
    with (folder / "s.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def _checked(folder: Path, rows: list[dict[str, str]], wrong: set[str]) -> None:
    with (folder / "s.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        for row in rows:
            label = GRADES[row["query_id"], row["doc_id"]]
            grade = (label + 1) % 3 if row["doc_id"] in wrong else label
            writer.writerow(row | {"grade": str(grade), "rationale": "read again"})


def test_the_sample_is_by_grade_blind_and_the_same_for_a_seed(
    assay_cli: Assay, tmp_path: Path
) -> None:
    rows = _drawn(assay_cli, tmp_path)
    grades = [GRADES[row["query_id"], row["doc_id"]] for row in rows]
    # 24 : 4.2 : 1.8 would be even; the rare grades get five first
    assert {grade: grades.count(grade) for grade in (0, 1, 2)} == {0: 20, 1: 5, 2: 5}
    assert {row["grade"] for row in rows} == {""}
    assert grades != sorted(grades)
    first = json.loads((tmp_path / "set.sample.json").read_text())["draws"][0]
    again = assay_cli("gold", "sample", "set.json", "--size", 30, "--seed", 7, "--json").json
    assert again["pairs"] == first["pairs"]


def test_it_measures_labels_and_makes_none(assay_cli: Assay, tmp_path: Path) -> None:
    rows = _drawn(assay_cli, tmp_path)
    before = labels(tmp_path / "set.json")
    wrong = {row["doc_id"] for row in rows if GRADES["q0", row["doc_id"]] == 2}
    wrong = set(sorted(wrong)[:2])
    _checked(tmp_path, rows, wrong)
    merged = assay_cli("gold", "merge", "set.json", "s.csv", "--sample", "--judge", "ben", "--json")
    assert (merged.code, merged.json["changed"]) == (0, []), merged.err
    assert labels(tmp_path / "set.json") == before
    report = assay_cli("gold", "sample", "set.json", "--report", "--json").json
    by_grade = {part["grade"]: part for part in report["by_grade"]}
    # by hand: of the labels 6 in 100 are grade 2, and two of those drawn are wrong
    rate = 0.06 * 2 / by_grade[2]["judged"]
    assert report["error_rate"]["value"] == pytest.approx(rate)
    low, high = report["error_rate"]["interval"]
    assert low < rate < high
    assert {pair["doc_id"] for pair in report["differ"]} == wrong
    page = assay_cli("gold", "sample", "set.json", "--report")
    assert "Korn and Graubard" in page.out
    # what the spot check found waits for a ruling
    listed = assay_cli("gold", "adjudicate", "set.json", "--json").json
    assert {(row["doc_id"], row["why"]) for row in listed} == {(d, "spot check") for d in wrong}
    ruling = ("--grade", 0, "--rationale", "it is not on the question", "--by", "cy")
    for doc_id in wrong:
        assert assay_cli("gold", "adjudicate", "set.json", "q0", doc_id, *ruling).code == 0
    assert assay_cli("gold", "adjudicate", "set.json", "--json").json == []


def test_a_sample_that_is_merged_without_saying_so_is_still_one(
    assay_cli: Assay, tmp_path: Path
) -> None:
    rows = _drawn(assay_cli, tmp_path)
    _checked(tmp_path, rows, {rows[0]["doc_id"]})
    done = assay_cli("gold", "merge", "set.json", "s.csv", "--judge", "ben", "--json")
    assert (done.code, done.json["changed"]) == (0, [])


def test_pairs_that_were_not_drawn_and_checks_by_the_same_judge(
    assay_cli: Assay, tmp_path: Path
) -> None:
    write_set(tmp_path)
    refused = assay_cli("gold", "sample", "set.json", "--report")
    assert (refused.code, "no sample was drawn" in refused.err) == (2, True)
    assert "nothing is labelled yet" in assay_cli("gold", "sample", "set.json").err
    rows = _drawn(assay_cli, tmp_path)
    outside = next(doc for _, doc in GRADES if doc not in {row["doc_id"] for row in rows})
    write_packet(tmp_path / "p.jsonl", "ben", {("q0", outside): 1})
    refused = assay_cli("gold", "merge", "set.json", "p.jsonl", "--sample")
    assert (refused.code, "was not assigned to anyone" in refused.err) == (2, True)
    _checked(tmp_path, rows, set())
    assert assay_cli("gold", "merge", "set.json", "s.csv", "--sample", "--judge", "ada").code == 0
    report = assay_cli("gold", "sample", "set.json", "--report", "--json")
    assert report.json["own"] == 30
    assert "not whether the label is right" in report.err


@pytest.mark.parametrize(
    ("wrong", "n", "low", "high"),
    [  # Clopper and Pearson's, as in published tables
        (0, 30, 0.0, 0.115703),
        (1, 10, 0.002529, 0.445016),
        (5, 20, 0.086571, 0.491046),
        (10, 10, 0.691503, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_the_interval_of_one_grade(wrong: int, n: int, low: float, high: float) -> None:
    assert clopper_pearson(wrong, n, 0.95) == pytest.approx((low, high), abs=1e-6)


def _parts(counts: list[tuple[int, int, int]]) -> list[Stratum]:
    rate = ErrorRate(value=None, interval=(0.0, 1.0))
    return [
        Stratum(grade=g, labels=labels, drawn=n, judged=n, wrong=k, error_rate=rate)
        for g, (labels, n, k) in enumerate(counts)
    ]


def test_one_grade_alone_has_the_plain_interval() -> None:
    rate = overall(_parts([(500, 20, 5)]))
    assert (rate.value, rate.interval) == (0.25, pytest.approx(clopper_pearson(5, 20, 0.95)))
    assert overall(_parts([(500, 0, 0)])).value is None


def test_the_interval_of_a_stratified_sample_holds_what_it_promises() -> None:
    """Small counts, rare errors, unequal weights: the truth is inside at least 95 times of 100."""
    lots = random.Random(3)
    strata = [(800, 25, 0.02), (150, 15, 0.1), (50, 10, 0.3)]
    truth = sum(labels * rate for labels, _, rate in strata) / 1000
    inside = 0
    for _ in range(400):
        counts = [(labels, n, sum(lots.random() < p for _ in range(n))) for labels, n, p in strata]
        low, high = overall(_parts(counts)).interval
        inside += low <= truth <= high
    assert inside >= 380


def test_where_the_corpus_is_known_the_sample_is_a_packet(assay_cli: Assay, tmp_path: Path) -> None:
    rows = _drawn(assay_cli, tmp_path)
    (tmp_path / "c.jsonl").write_text(
        "".join(json.dumps({"id": doc, "text": f"text of {doc}"}) + "\n" for _, doc in GRADES)
    )
    draw = ("gold", "sample", "set.json", "--size", 30, "--seed", 7, "--corpus", "c.jsonl")
    for name in ("s.jsonl", "s.html"):
        done = assay_cli(*draw, "-o", name)
        assert done.code == 0, done.err
        assert f"text of {rows[0]['doc_id']}" in (tmp_path / name).read_text()
    # a packet says nothing of samples, but its pairs are those that were drawn
    header, *lines = map(json.loads, (tmp_path / "s.jsonl").read_text().splitlines())
    filled = [line | {"grade": 0, "rationale": "read again"} for line in lines]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(r) + "\n" for r in (header, *filled)))
    done = assay_cli("gold", "merge", "set.json", "s.jsonl", "--judge", "ben", "--json")
    assert (done.code, done.json["added"], done.json["changed"]) == (0, 30, []), done.err

"""The same gate has the same verdict on a golden and on a graded set, wherever it is asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kit.commands import Assay

QUESTION = {"id": "q1", "category": "a", "must": True, "query": "gift limit", "k": 5}
ENGINE = "def search(query, top_k):\n    return [{'doc_id': 'a', 'score': 0.9}]\n"
CSV = "query_id,query,doc_id,grade\nq1,gift limit,a,1\n"


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    golden = [QUESTION | {"expected_any": [{"doc_id": "a"}]}]
    (tmp_path / "golden.json").write_text(json.dumps(golden))
    (tmp_path / "graded.csv").write_text(CSV)
    (tmp_path / "mine.py").write_text(ENGINE)
    return tmp_path


def configure(folder: Path, name: str, gate: str, baseline: str = "") -> None:
    gold = f'[gold.s]\npath = "{name}"\n' + (f'baseline = "{baseline}"\n' if baseline else "")
    (folder / "assay.toml").write_text(f'{gold}[engines.e]\nsearch_module = "mine"\n{gate}')


MEASURES = {"golden.json": "pass_rate_total", "graded.csv": "P@5"}


DEMANDS = [
    ("minimum = 0.1\nmin_queries = 1000", "INCONCLUSIVE", 3),
    ("min_queries = 1000", "INCONCLUSIVE", 3),
    ("min_queries = 1", "PASS", 0),
    ("max_drop = 0.1", "INCONCLUSIVE", 3),
    ("minimum = 0.1", "PASS", 0),
    ("maximum = 0.01", "FAIL", 1),
]


@pytest.mark.parametrize("name", MEASURES)
def test_one_gate_one_verdict(name: str, assay_cli: Assay, sets: Path) -> None:
    for demand, status, code in DEMANDS:  # the engine is run for the first
        configure(sets, name, f'[[gates]]\nmeasure = "{MEASURES[name]}"\n{demand}\n')
        done = assay_cli("run")
        assert (done.code, status in done.out) == (code, True), (demand, done.out)
        verdict = assay_cli("run", "--json").json[0]["verdict"]
        assert verdict["status"].upper() == status, demand


@pytest.mark.parametrize("name", MEASURES)
def test_pytest_does_not_pass_what_cannot_be_told(name: str, sets: Path) -> None:
    """A skipped test would be a quiet pass."""
    gate = f'[[gates]]\nmeasure = "{MEASURES[name]}"\nmin_queries = 1000\n'
    configure(sets, name, gate)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "assay.toml", "--assay"]
    done = subprocess.run(command, cwd=sets, capture_output=True, text=True)
    assert (done.returncode, "1 failed" in done.stdout) == (1, True), done.stdout
    assert "inconclusive: " in done.stdout
    assert "1000 needed" in done.stdout


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        ('minimum = 0.5\nslice = ""', "slice is empty"),
        ("min_queries = 0", "1 or more, not 0"),
        ("min_queries = -1", "1 or more, not -1"),
    ],
)
@pytest.mark.parametrize("name", MEASURES)
def test_a_demand_that_decides_nothing_is_refused_alike(
    name: str, demand: str, said: str, assay_cli: Assay, sets: Path
) -> None:
    configure(sets, name, f'[[gates]]\nmeasure = "{MEASURES[name]}"\n{demand}\n')
    done = assay_cli("run")
    assert (done.code, said in done.err) == (2, True), done.err


def both(folder: Path, gates: str, graded: str = "", golden: str = "") -> None:
    (folder / "assay.toml").write_text(
        f'[gold.graded]\npath = "graded.csv"\n{graded}\n'
        f'[gold.golden]\npath = "golden.json"\n{golden}\n'
        '[engines.one]\nsearch_module = "mine"\n[engines.two]\nsearch_module = "mine"\n'
        f"{gates}"
    )


def test_a_gate_for_nothing_that_is_run_is_refused(assay_cli: Assay, sets: Path) -> None:
    gate = '[[gates]]\nmeasure = "P@5"\nminimum = 0.99\ngold = "graded"\nengine = "two"\n'
    both(sets, gate, 'engines = ["one"]', 'engines = ["two"]')
    done = assay_cli("run")
    assert (done.code, "no pair of gold set and engine" in done.err) == (2, True), done.err


def test_a_gate_on_times_is_for_both_kinds_of_set(assay_cli: Assay, sets: Path) -> None:
    both(sets, '[[gates]]\nmeasure = "latency_p95"\nmaximum = 60000\n')
    done = assay_cli("run", "--json")
    assert done.code == 0, done.err
    assert [len(pair["verdict"]["checks"]) for pair in done.json] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("name", "gate", "said"),
    [
        ("golden.json", 'measure = "pass_rate_total"\nminimum = 85', "minimum is 85"),
        ("golden.json", 'measure = "pass_rate_must"\nmax_drop = 2', "max_drop is 2"),
        ("golden.json", 'measure = "latency_p95"\nmax_drop = 5', "is better when it falls"),
        (
            "golden.json",
            'measure = "top1_rate"\nminimum = 0.8\nsignificance = 0.05',
            "significance needs a value for every question",
        ),
        (
            "graded.csv",
            'measure = "latency_p95"\nmaximum = 90\nsignificance = 0.05',
            "significance is not for a latency",
        ),
        ("graded.csv", 'measure = "latency_p95"\nmax_drop = 10', "max_drop is not for a latency"),
    ],
)
def test_a_gate_written_wrong_is_told_before_anything_is_asked(
    name: str, gate: str, said: str, assay_cli: Assay, sets: Path
) -> None:
    (sets / "mine.py").write_text(
        "def search(query, top_k):\n    open('asked', 'w').close()\n    return ['a']\n"
    )
    configure(sets, name, f"[[gates]]\n{gate}\n")
    done = assay_cli("run")
    assert (done.code, said in done.err) == (2, True), done.err
    assert "gates[0]" in done.err
    assert not (sets / "asked").exists()


@pytest.mark.parametrize("name", MEASURES)
def test_a_gate_that_so_few_queries_cannot_pass_is_a_warning_before_the_run(
    name: str, assay_cli: Assay, sets: Path
) -> None:
    gate = f'measure = "{MEASURES[name]}"\nmax_drop = 0.02\nsignificance = 0.05'
    configure(sets, name, f"[[gates]]\n{gate}\n")
    done = assay_cli("run")
    said = done.err.index("warning: ")
    assert (
        "max_drop = 0.02 with significance 0.05 cannot clear an unchanged engine" in done.err[said:]
    )
    assert "it takes at least 38" in done.err
    assert said < done.err.index(": scored"), "before any engine is asked"
    assert done.code == 3  # there is no baseline; the run went on


@pytest.mark.parametrize("name", MEASURES)
def test_a_baseline_of_the_other_kind_is_refused(name: str, assay_cli: Assay, sets: Path) -> None:
    other = next(kind for kind in MEASURES if kind != name)
    score = ("score", "--search-module", "mine.py", "--dataset")
    assert assay_cli(*score, other, "--output", "other.results.json").code == 0
    done = assay_cli(*score, name, "--baseline", "other.results.json")
    kind = name.partition(".")[0]
    assert (done.code, f"not scored on a {kind} set" in done.err) == (2, True), done.err


def test_a_first_run_of_a_golden_set_passes_though_it_has_no_baseline(
    assay_cli: Assay, sets: Path
) -> None:
    score = ("score", "--dataset", "golden.json", "--search-module", "mine.py")
    first = assay_cli(*score)
    assert (first.code, "INCONCLUSIVE" in first.out) == (0, True)
    assert assay_cli(*score, "--update-baseline", "--by", "L", "--why", "first").code == 0
    again = assay_cli(*score, "--baseline", "baseline.json")
    assert (again.code, "INCONCLUSIVE" in again.out) == (0, False)
    grown = [QUESTION | {"expected_any": [{"doc_id": "a"}]}]
    (sets / "golden.json").write_text(json.dumps([*grown, {**grown[0], "id": "q2"}]))
    stale = assay_cli(*score, "--baseline", "baseline.json")
    assert (stale.code, "gates inconclusive: D" in stale.err) == (3, True)
    assert assay_cli(*score, "--update-baseline", "--by", "L", "--why", "it grew").code == 0


def test_gates_that_are_not_asked_for_any_more_leave_no_verdict(
    assay_cli: Assay, sets: Path
) -> None:
    configure(sets, "graded.csv", '[[gates]]\nmeasure = "P@5"\nminimum = 0.9\n')
    assert assay_cli("run").code == 1
    configure(sets, "graded.csv", "")
    done = assay_cli("run", "--json")
    assert (done.code, done.json[0]["verdict"], done.json[0]["cached"]) == (0, None, True)


def test_score_prints_worst_case_intervals(assay_cli: Assay, sets: Path) -> None:
    """Those of a rate are Clopper and Pearson's (0.025 ** (1 / n) below n passes of n)."""
    asked = [f"q{number}" for number in range(12)]
    rows = "".join(f"{query},gift limit,a,1\n" for query in asked)
    (sets / "graded.csv").write_text("query_id,query,doc_id,grade\n" + rows)
    golden = [QUESTION | {"id": query, "expected_any": [{"doc_id": "a"}]} for query in asked]
    (sets / "golden.json").write_text(json.dumps(golden))
    notes = {"en": "fail completely", "fi": "pahin tapaus", "he": "המקרה הגרוע ביותר"}
    for name, key in (("graded.csv", "precision@1"), ("golden.json", "pass_rate_total")):
        of_set = ["score", "--dataset", name, "--search-module", "mine"]
        of_set += ["-m", "P@1"] if name == "graded.csv" else []
        usual = assay_cli(*of_set, "--json").json
        worst = assay_cli(*of_set, "--json", "--worst-case").json
        assert "worst_case" not in usual
        assert worst["worst_case"] is True
        low, high = worst["intervals"]["overall"][key]
        assert (low, high) == pytest.approx((0.025 ** (1 / 12), 1.0), abs=0.002)
        assert usual["intervals"]["overall"][key][0] > low
        for language, note in notes.items():
            shown = assay_cli(*of_set, "--worst-case", "--language", language).out
            assert note in " ".join(shown.split())


def test_a_golden_gate_says_by_which_interval_it_decided(assay_cli: Assay, tmp_path: Path) -> None:
    """In per cent and points, without a warning about an exact interval, and for results that are
    those of the baseline that they are."""
    asked = [f"q{number}" for number in range(40)]
    golden = [QUESTION | {"id": id, "expected_any": [{"doc_id": id}]} for id in asked]
    (tmp_path / "golden.json").write_text(json.dumps(golden))
    for name, missed in (("same", asked[:1]), ("one", asked[:2]), ("lost", asked[:9])):
        hits = {id: "x" if id in missed else id for id in asked}
        lines = [f"{id} Q0 {doc} 1 1 {name}" for id, doc in hits.items()]
        (tmp_path / f"{name}.run").write_text("\n".join(lines))
    score = ("score", "--dataset", "golden.json", "--run", "same.run", "--baseline", "base.json")
    assay_cli(*score, "--update-baseline", "--by", "ada", "--why", "first")
    engines = "".join(f'[engines.{name}]\nrun = "{name}.run"\n' for name in ("same", "one", "lost"))
    gates = "".join(
        f'[[gates]]\nmeasure = "pass_rate_total"\nsignificance = 0.05\n{limit}\n'
        for limit in ("minimum = 0.8", "max_drop = 0.02")
    )
    gold = '[gold.g]\npath = "golden.json"\nbaseline = "base.json"\n'
    (tmp_path / "assay.toml").write_text(f"{gold}{engines}{gates}")
    done = assay_cli("run")
    shown = " ".join(done.out.split())
    assert done.code == 1, done.err
    assert "97.5%. The results are identical query by query. Required: a drop" in shown
    assert "97.5% (95% interval 86.8% to 99.9%). Required: at least 80.0% PASS" in shown
    assert "77.5% (95% interval of the change -32.8 to -7.2 points). Required: a drop" in shown
    assert "Only 1 query changed (q1), so the interval may be too narrow" in shown
    assert "makes most of the spread" not in shown

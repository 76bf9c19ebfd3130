"""Files of answers beside gold sets: `assay run` checks them, and the comment, the tests of pytest
and the history have them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from kit.commands import Assay

DEADLINE = "Oikaisuvaatimus on tehtävä 21 päivän kuluessa päätöksen tiedoksisaannista."


def test_assay_run_checks_files_of_answers_beside_gold_sets(
    assay_cli: Assay, tmp_path: Path
) -> None:
    passages = [{"id": "1", "text": DEADLINE}]
    right = [
        {"id": f"r{n}", "answer": "Aikaa on 21 päivää [1].", "retrieved": passages}
        for n in range(6)
    ]
    wrong = {**right[0], "id": "w", "answer": "Salainen lause: aikaa on 21 päivää [7]."}
    for name, rows in (("good", right), ("bad", [*right, wrong])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "gold.csv").write_text("query_id,query,doc_id,grade\nq,?,d,2\n")
    (tmp_path / "e.run").write_text("q Q0 d 1 1.0 e\n")
    sets = '[gold.s]\npath = "gold.csv"\n[engines.e]\nrun = "e.run"\n'
    gates = '[[gates]]\nmeasure = "missing_citations"\nmaximum = 0\n'
    good = '[answers.good]\npath = "good.jsonl"\nname = "ours"\n'
    bad = '[answers.bad]\npath = "bad.jsonl"\n'
    config = tmp_path / "assay.toml"

    config.write_text(sets + gates + good)
    done = assay_cli("run", "--comment", "c.md", "--json")
    assert done.code == 0, done.err
    assert [row.get("gold") or row.get("answers") for row in json.loads(done.out)] == ["s", "good"]
    comment = (tmp_path / "c.md").read_text()
    assert "### Assay: PASS" in comment
    assert "| good | ours | PASS | faultless 1.000 (" in comment
    results = json.loads((tmp_path / ".assay/results/answers.good.json").read_text())
    assert (results["kind"], results["engine"]) == ("answers", "ours")
    assert results["receipt"]["inputs"]["answers"]["sha256"]
    assert (tmp_path / ".assay/results/answers.good.html").exists()

    config.write_text(gates + good + bad)  # no gold set is needed
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--assay", "assay.toml"]
    tested = subprocess.run(
        [*command, "--junitxml=j.xml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "1 failed, 1 passed" in tested.stdout, tested.stdout
    assert "answers/bad: missing_citations" in (tmp_path / "j.xml").read_text()
    done = assay_cli("run", "--comment", "c.md")
    assert done.code == 1
    assert "does not exist" in done.out
    comment = (tmp_path / "c.md").read_text()
    assert "### Assay: FAIL" in comment
    assert "| bad | bad | FAIL |" in comment
    assert "- `w`: does not exist" in comment
    assert "- FAIL: missing\\_citations" in comment or "- FAIL: missing_citations" in comment
    assert "[7]" not in comment, "no words of an answer"
    assay_cli("run", "--comment", "c.md", "--texts")
    assert "[7" in (tmp_path / "c.md").read_text()

    config.write_text(gates + good + '[answers.gone]\npath = "gone.jsonl"\n')
    done = assay_cli("run", "--comment", "c.md")
    assert done.code == 2
    comment = (tmp_path / "c.md").read_text()
    assert "| gone | gone | ERROR | – | – |" in comment
    assert "| good | ours | PASS |" in comment, "the other file is checked"
    assert str(tmp_path) not in comment

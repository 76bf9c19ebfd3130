"""Files of answers beside gold sets: `assay run` checks them, and the comment, the tests of pytest
and the history have them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from assay.core.results import AnswerResults
from assay.reports.answers import coverage_line
from assay.reports.words import LANGUAGES, Words
from assay.reports.words import page_table as words_of
from assay.store import Store
from assay.workbench.project.service import Service
from kit.commands import Assay
from kit.server import local_client

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


GATES = '[[gates]]\nmeasure = "missing_citations"\nmaximum = 0\n'


def _answers(folder: Path, *, faults: int) -> None:
    """Eight answers, of which the first few cite a passage that was never given."""
    rows = [
        {
            "id": f"a{n}",
            "answer": f"Aikaa on 21 päivää [{9 if n < faults else 1}].",
            "retrieved": [{"id": "1", "text": DEADLINE}],
        }
        for n in range(8)
    ]
    (folder / "drafts.jsonl").write_text("\n".join(map(json.dumps, rows)))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_checks_of_answers_are_in_the_history(
    assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    monkeypatch.setenv("ASSAY_STORE", str(tmp_path / "a.db"))
    Store(tmp_path / "a.db").close()
    (tmp_path / "assay.toml").write_text(
        f'[answers.drafts]\npath = "drafts.jsonl"\nname = "ours"\n{GATES}'
    )
    _answers(tmp_path, faults=0)
    assert assay_cli("run").code == 0
    assert assay_cli("run").code == 0, "the same findings are kept once"
    _answers(tmp_path, faults=8)
    checked = assay_cli("answers", "check", "drafts.jsonl", "--name", "ours", "-o", "r.json")
    assert checked.code == 1
    told = json.loads(assay_cli("history", "--json").out)
    assert [(trend["gold"], trend["engine"]) for trend in told] == [("answers:drafts", "ours")]
    events = told[0]["events"]
    assert [(one["measure"], one["value"]) for one in events] == [
        ("faultless", 1),
        ("faultless", 0),
    ]
    assert events[1]["step"]["kind"] == "down"
    assert "ours on answers:drafts" in assay_cli("history", "--gold", "answers:drafts").out

    store = Store(tmp_path / "a.db")
    client = local_client(Service(store=store))
    listed = client.get("/api/runs").json()
    assert (listed["page"]["items"], listed["boards"]) == ([], []), "no gold set was searched"
    (line,) = listed["answers"]
    assert (line["gold"], line["kind"], line["status"]) == ("answers:drafts", "answers", "fail")
    words, page_words = Words(lang), words_of("decide", lang)
    runs = client.get(f"/runs?lang={lang}").text
    assert str(page_words["checked_answers"]) in runs
    assert words("answers.faultless") in runs
    assert f'/runs/{line["id"]}"' in runs
    assert client.get(f"/?lang={lang}").status_code == 200
    over_time = client.get(f"/runs?gold=answers%3Adrafts&lang={lang}")
    assert (over_time.status_code, words("answers.faultless") in over_time.text) == (200, True)

    page = client.get(f"/runs/{line['id']}?lang={lang}")
    assert page.status_code == 200
    whole = client.get(f"/api/runs/{line['id']}").json()
    assert whole["results"]["per_answer"][0]["id"] == "a0"
    kept = msgspec.convert(whole["results"], AnswerResults)
    assert coverage_line(kept, words) in page.text
    assert words("answers.fault_not_found") in page.text
    assert str(page_words["gate_fail"]) in page.text
    report = client.get(f"/runs/{line['id']}/report?lang={lang}")
    assert words("answers.title", name="ours") in report.text
    refused = client.get(f"/compare?a={line['id']}&b=other")
    assert (refused.status_code, "check of answers" in refused.text) == (400, True)
    store.close()

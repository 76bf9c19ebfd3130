"""The comment on a pull request says what the pages say: what a pass leaves in doubt, and a set
that changed, in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from assay.core.results import (
    Check,
    Gate,
    GoldCard,
    GradedReceipt,
    GradedResults,
    OneJudge,
    Verdict,
)
from assay.reports import render, view
from assay.reports.markdown import CommentedRun, comment
from kit.commands import Assay


def _questions(folder: Path, *, found: str) -> None:
    """Two questions that find what they should, and one that must pass and finds it if `found`."""
    asked = [
        {"id": name, "query": f"{name}?", "must": name == "m", "expected_any": [{"section": at}]}
        for name, at in (("m", "1"), ("s", "2"), ("t", "3"))
    ]
    (folder / "gold.json").write_text(json.dumps(asked))
    rows = [
        {"id": name, "latency_ms": 1.0, "hits": [{"section_num": at, "node_id": at, "score": 0.9}]}
        for name, at in (("m", found), ("s", "2"), ("t", "3"))
    ]
    (folder / "run.json").write_text(json.dumps({"metrics": {}, "results": rows}))
    (folder / "assay.toml").write_text(
        '[gold.law]\npath = "gold.json"\n[engines.e]\nrun = "run.json"\n'
        '[[gates]]\nmeasure = "pass_rate_total"\nminimum = 0.5\n'
    )


def test_a_pass_that_hides_a_failed_must_says_so(assay_cli: Assay, tmp_path: Path) -> None:
    _questions(tmp_path, found="9")
    ran = assay_cli("run", "--comment", "c.md")
    written = (tmp_path / "c.md").read_text()
    but = "Not yet: every gate passes, but a question that must pass fails: m."
    assert (ran.code, but in ran.out) == (0, True)
    gate = "PASS rate (TOTAL): 66.7% (95% interval 21% to 94%). Required: at least 50.0%"
    assert gate in " ".join(ran.out.split()), "a rate in per cent, as on the pages"
    assert "### Assay: PASS, but 1 MUST fails\n" in written
    assert "| law | e | PASS, but 1 MUST fails | passed 66.7% (" in written
    assert f"**e on law**\n\n- {but}" in written
    report = (tmp_path / ".assay" / "results" / "law--e.html").read_text()
    assert but in report
    assert gate in report
    assert '<span class="badge inconclusive">NOT YET</span>' in report, "not a green PASS"
    _questions(tmp_path, found="1")
    ran = assay_cli("run", "--comment", "c.md")
    assert "but" not in ran.out + (tmp_path / "c.md").read_text().partition("|")[0]


def test_a_pass_on_one_judges_word_says_so() -> None:
    gate = Gate(measure="P@5", minimum=0.1)
    check = Check(gate=gate, status="pass", message="P@5 0.5", value=0.5)
    verdict = Verdict(
        status="pass",
        checks=[check],
        fingerprints={},
        one_judge=OneJudge(judge="Ada", documents=12, without="inconclusive"),
    )
    results = GradedResults(
        timestamp="2026-01-01",
        engine="e",
        overall={},
        per_query=[],
        receipt=GradedReceipt(
            gold=GoldCard(fingerprint="g"),
            measures=[],
            counts=dict.fromkeys(("n_scored", "n_expected", "n_missing", "n_failed"), 0),
        ),
        verdict=verdict,
    )
    written = comment([CommentedRun(gold="s", engine="e", results=results)])
    assert "### Assay: PASS, depending on one judge\n" in written
    assert (
        "- The verdict depends on one judge: without the documents that only that judge" in written
    )
    assert "Ada" not in written, "everybody may read a comment"
    page = render(view(results), ".html")
    assert '<span class="badge inconclusive">NOT YET</span>' in page, "as the page of the run says"
    assert ">PASS</span></p>" not in page
    sure = msgspec.structs.replace(verdict, one_judge=None)
    page = render(view(msgspec.structs.replace(results, verdict=sure)), ".html")
    assert '<span class="badge pass">PASS</span>' in page


def test_a_set_that_changed_is_told_in_words(assay_cli: Assay, tmp_path: Path) -> None:
    """Only the queries that both judge alike are compared, as on the page; no fingerprint."""
    queries = [{"id": f"q{n}", "text": "?", "type": "keyword"} for n in range(12)]
    graded: list[dict[str, Any]] = [
        {"query_id": query["id"], "doc_id": f"d{rank}", "grade": 2 * (rank == 1)}
        for query in queries
        for rank in range(4)
    ]
    lines = ["query_id,query,doc_id,grade"]
    lines += [f"{row['query_id']},?,{row['doc_id']},{row['grade']}" for row in graded]
    (tmp_path / "gold.csv").write_text("\n".join(lines))
    for name, order in (("old", "0123"), ("new", "1023")):
        ranked = [
            f"{query['id']} Q0 d{doc} {rank} {9 - rank} {name}"
            for query in queries
            for rank, doc in enumerate(order, start=1)
        ]
        (tmp_path / f"{name}.run").write_text("\n".join(ranked) + "\n")
    assert assay_cli("score", "gold.csv", "--run", "old.run", "-o", "base.json").code == 0
    (tmp_path / "assay.toml").write_text(
        '[gold.s]\npath = "gold.csv"\nbaseline = "base.json"\n[engines.e]\nrun = "new.run"\n'
    )
    (tmp_path / "gold.csv").write_text("\n".join([*lines[:-4], *lines[-2:]]))
    assert assay_cli("run", "--comment", "c.md").code == 0
    written = (tmp_path / "c.md").read_text()
    assert "| **better**: +0." in written
    assert ", 11 queries judged alike: the set has changed since the baseline |" in written
    assert "only the 11 queries with the same judgments are compared" in written
    assert "fingerprint" not in written
    report = (tmp_path / ".assay" / "results" / "s--e.html").read_text()
    assert "new is significantly better than old (baseline)" in report, "as in the comment"
    assert "only the 11 queries with the same judgments are compared" in report
    assert report.count("scored on different gold sets") == 1


def test_a_comment_does_not_say_where_things_lie(assay_cli: Assay, tmp_path: Path) -> None:
    _questions(tmp_path, found="1")
    config = tmp_path / "assay.toml"
    engine = '[engines.gone]\nengine = "bm25"\ncorpus = "gone"\n'
    config.write_text(config.read_text().replace("[[gates]]", f"{engine}[[gates]]"))
    assay_cli("run", "--comment", "c.md")
    written = (tmp_path / "c.md").read_text()
    assert "there is no corpus 'gone' in the workspace" in written
    assert str(tmp_path) not in written


def test_a_comment_says_no_words_of_an_engine_that_failed(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def search(query, top_k):\n    raise RuntimeError(f'boom at /secret for {query}')\n"
    )
    (tmp_path / "gold.csv").write_text("query_id,query,doc_id,grade\nq1,client's words,a,1\n")
    (tmp_path / "assay.toml").write_text(
        '[gold.s]\npath = "gold.csv"\n[engines.e]\nsearch_module = "mine"\n'
    )
    assert "client's words" in assay_cli("run", "--comment", "c.md").out
    written = (tmp_path / "c.md").read_text()
    assert "failed on all 1 queries; the first: RuntimeError (the output" in written
    assert "secret" not in written
    assert "client" not in written
    assay_cli("run", "--comment", "c.md", "--texts")
    assert "client's words" in (tmp_path / "c.md").read_text()


def test_hits_of_a_golden_set_are_not_called_unjudged(assay_cli: Assay, tmp_path: Path) -> None:
    _questions(tmp_path, found="1")
    assert assay_cli("score", "gold.json", "--run", "run.json", "-o", "base.json").code == 0
    _questions(tmp_path, found="9")
    config = tmp_path / "assay.toml"
    config.write_text(config.read_text().replace("[engines", 'baseline = "base.json"\n[engines'))
    assay_cli("run", "--comment", "c.md")
    written = (tmp_path / "c.md").read_text()
    assert "`m`: 1.00 to 0.00; in `9`; out `1`" in written
    assert "unjudged" not in written
    assay_cli("score", "gold.json", "--run", "run.json", "-o", "now.json")
    shown = assay_cli("compare", "base.json", "now.json").out
    assert "The queries that moved most" in shown
    assert "(?)" not in shown
    assert "(grade)" not in shown

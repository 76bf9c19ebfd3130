"""`assay start`: every step is an ordinary command, and the way goes on where it was left."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assay.workbench.project import start as way
from kit.commands import Assay


def test_the_way_is_shown_step_by_step_and_resumed(assay_cli: Assay, tmp_path: Path) -> None:
    folder = tmp_path / "memos"
    folder.mkdir()
    for name in ("ferry", "quay", "bakery"):
        (folder / f"{name}.txt").write_text(f"A memo on the {name} and its insurance.")
    first = assay_cli("start", folder, "--engine", "bm25", "--judges", "ann,ben")
    assert f"assay corpus import {folder} --name memos" in first.out
    assert assay_cli("corpus", "import", folder, "--name", "memos").code == 0
    steps = assay_cli("start", "--json").json
    assert next(step["title"] for step in steps if step["is_done"]) == "Import your documents"
    assert "Write queries.txt" in assay_cli("start").err
    Path("queries.txt").write_text("ferry insurance\nquay\n")
    listed = assay_cli("start", "--steps").out
    assert "assay gold init set.json --queries queries.txt" in listed
    assert "assay gold pool set.json --engine bm25 --corpus memos" in listed
    assert assay_cli("gold", "init", "set.json", "--queries", "queries.txt").code == 0
    done = {step["title"]: step["is_done"] for step in assay_cli("start", "--json").json}
    assert done["Make a gold set of them, with nothing judged yet"]
    assert not done["Pool the top results of the engines"]


def test_no_engine_is_tried_before_one_is_named(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "memo.txt").write_text("A memo on the ferry.")
    assert assay_cli("start", tmp_path / "memo.txt", "--steps").code == 0
    done = {step["title"]: step["is_done"] for step in assay_cli("start", "--json").json}
    assert not done["Name the engines to compare"]
    assert not done["Try each engine on a query"]
    assert "''" not in assay_cli("start", "--steps").out


def test_engines_of_ours_are_not_tried(assay_cli: Assay, tmp_path: Path) -> None:
    """A step that would run nothing is not among the steps, and no number is jumped over."""
    (tmp_path / "memo.txt").write_text("A memo on the ferry.")
    engines = ("--engine", "bm25", "--engine", "memo")
    listed = assay_cli("start", tmp_path / "memo.txt", *engines, "--steps").out
    assert "Try each engine" not in listed
    assert "5 Make them searchable" in re.sub(r" +", " ", listed)


def test_steps_that_options_have_answered_are_named_too(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "memo.txt").write_text("A memo on the ferry.")
    Path("queries.txt").write_text("ferry\n")
    engines = ("--engine", "bm25", "--engine", "bm25-forms", "--judges", "ann,ben")
    said = assay_cli("start", tmp_path / "memo.txt", *engines, "--yes").err
    numbers = [int(one) for one in re.findall(r"Step (\d+) of", said)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert re.search(r"Step \d+ of \d+: Name the engines to compare: done", said)


def test_commands_of_the_way_do_not_say_what_is_next(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "memo.txt").write_text("A memo on the ferry.")
    Path("queries.txt").write_text("ferry\n")
    engines = ("--engine", "bm25", "--engine", "bm25-forms")
    assert assay_cli("start", tmp_path / "memo.txt", *engines, "--judges", "ann,ben").code == 0
    with Path("output.txt").open("w") as output:
        for key in ("documents", "set", "pool"):
            step = next(step for step in way.steps(way.known_answers()) if step.key == key)
            assert way.run_commands(step, output.fileno())
    said = Path("output.txt").read_text()
    assert "1 document imported" in said
    assert "next:" not in said


def test_an_engine_that_is_named_again_keeps_its_name(assay_cli: Assay, tmp_path: Path) -> None:
    """Also where its table has been edited; another file gets a name of its own."""
    (tmp_path / "memo.txt").write_text("A memo on the ferry.")
    for file in ("engine.py", "other/engine.py"):
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text(ENGINE)
    assert "''" not in assay_cli("start", "--steps").out
    again = ("start", tmp_path / "memo.txt", "--engine", "engine.py", "--engine", "bm25", "--steps")
    assert assay_cli(*again).code == 0
    config = Path("assay.toml")
    config.write_text(config.read_text().replace('engine.py"', 'engine.py"\ntimeout = 9'))
    assert "--engine engine --engine bm25" in assay_cli(*again).out
    assert config.read_text().count("[engines.") == 2
    assert "--engine engine2" in assay_cli(*again, "--engine", "other/engine.py").out


ENGINE = """
def search(query, limit=10):
    return ["law/lease break.txt", "notes/ferry memo.md"]
"""


def test_an_engine_that_finds_files_is_compared_on_their_documents(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """Its ids are paths. A file that was cut into sections cannot be matched, and it is said how it
    can be imported whole; the next import keeps that option, and only then is the index made."""
    for name, text in (
        ("law/lease break.txt", "The tenant may end the lease."),
        ("notes/ferry memo.md", "# Ferry\n\nA memo.\n\n## Facts\n\nIt sank.\n\n## Advice\n\nBuy."),
    ):
        file = tmp_path / "in" / "תיקים" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    Path("engine.py").write_text(ENGINE)
    Path("queries.txt").write_text("lease\nferry\n")
    engines = ("--engine", "engine.py", "--engine", "bm25", "--engine", "תיקים")
    first = assay_cli("start", "in/תיקים", *engines, "--yes")
    assert first.code == 4, first.err
    assert "This step failed" in first.err
    tried = assay_cli("engines", "test", "engine", "lease")
    assert "documents, such as 'notes/ferry memo.md'" in " ".join(tried.out.split())
    assert tried.code != 0
    Path("engine.py").write_text(ENGINE.replace('"notes/ferry memo.md"', ""))
    one = assay_cli("engines", "test", "engine", "lease")
    assert one.code != 0, "another query may find a file that was cut"
    Path("engine.py").write_text(ENGINE)
    assert (
        assay_cli("corpus", "import", "in/תיקים", "--name", "תיקים", "--option", "by=file").code
        == 0
    )
    Path("in/תיקים/law/lease break.txt").write_text("The tenant may end the lease in May.")
    again = assay_cli("corpus", "import", "in/תיקים", "--name", "תיקים")
    assert "by" in again.err
    assert "2 documents" in again.out
    steps = {step["key"]: step["is_done"] for step in assay_cli("start", "--json").json}
    assert not steps.get("index", False)
    for name in ("engine", "engine.py"):
        assert assay_cli("engines", "test", name, "lease").code == 0
    pooled = assay_cli(
        "gold", "pool", "set.json", "--engine", "engine", "--corpus", "תיקים", "--json"
    ).json
    assert {pair["doc_id"] for pair in pooled["pairs"]} == {"law/lease-break", "notes/ferry-memo"}
    Path("set.csv").write_text("query_id,query,doc_id,grade\nq1,lease,law/lease-break,2\n")
    config = Path("assay.toml").read_text().replace("set.json", "set.csv")
    Path("assay.toml").write_text(config)
    assert re.search(r"^engine +1 +1\.000", assay_cli("run").out, re.MULTILINE)
    assert {"[engines.engine]", '[engines."תיקים"]'} <= set(
        Path("assay.toml").read_text().split("\n")
    )


def test_steps_whose_input_changed_are_to_be_done_again(assay_cli: Assay, tmp_path: Path) -> None:
    """Another import changes what was pooled and scored; judgments that were made stay."""
    folder = tmp_path / "memos"
    folder.mkdir()
    for name in ("ferry", "quay", "bakery"):
        (folder / f"{name}.txt").write_text(f"A memo on the {name} and its insurance.")
    Path("queries.txt").write_text("ferry insurance\nquay\n")
    named = ("--engine", "bm25", "--engine", "bm25-forms", "--judges", "ann,ben")
    assert assay_cli("start", folder, *named, "--yes").code == 0
    for judge in ("ann", "ben"):
        _judge_all(assay_cli, judge)
    assert "Done" in assay_cli("start", "--yes").err
    steps = assay_cli("start", "--json").json
    assert all(step["is_done"] for step in steps)
    (folder / "quay.txt").write_text("A memo on the quay and what insured it.")
    assert assay_cli("corpus", "import", folder, "--name", "memos").code == 0
    again = {step["key"] for step in assay_cli("start", "--json").json if step["is_stale"]}
    assert again == {"pool", "packets", "compare", "next"}
    assert "again, because its input has changed" in assay_cli("start", "--steps").out
    assert assay_cli("start", "--yes").code == 0
    assert "Done" in assay_cli("start", "--yes").err


def _judge_all(assay_cli: Assay, judge: str) -> None:
    pairs = json.loads(Path("set.pool.json").read_text())["pairs"]
    rows = [f"{pair['query_id']},{pair['doc_id']},{len(pair['doc_id']) % 3},So." for pair in pairs]
    Path("grades.csv").write_text("\n".join(["query_id,doc_id,grade,rationale", *rows]))
    assert assay_cli("gold", "merge", "set.json", "grades.csv", "--judge", judge).code == 0


def test_every_judge_is_awaited_and_what_they_gave_is_counted(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """One judge gave their grades elsewhere and the other sends a file: nothing is scored before
    both are merged."""
    folder = tmp_path / "memos"
    folder.mkdir()
    for name in ("ferry", "quay", "bakery"):
        (folder / f"{name}.txt").write_text(f"A memo on the {name} and its insurance.")
    Path("queries.txt").write_text("ferry insurance\nquay\n")
    named = ("--engine", "bm25", "--engine", "bm25-forms", "--judges", "ann,ben")
    assert assay_cli("start", folder, *named, "--yes").code == 0
    _judge_all(assay_cli, "ann")
    waiting = assay_cli("start", "--yes")
    assert "Votes are still missing from: ben." in waiting.err
    assert "assay score" not in waiting.out
    assert assay_cli("gold", "packet", "set.json", "--judge", "ben", "-o", "ben.jsonl").code == 0
    filled = Path("ben.jsonl").read_text().replace('"grade":null', '"grade":1')
    Path("packet-ben.votes.jsonl").write_text(filled)
    assert assay_cli("start", "--yes").out.startswith(
        "assay gold merge set.json packet-ben.votes.jsonl\n"
    )
    steps = {step["key"]: step["is_done"] for step in assay_cli("start", "--json").json}
    assert steps["votes"]
    changed = filled.replace('"grade":1', '"grade":2', 1)
    Path("later.votes.jsonl").write_text(changed)
    steps = {step["key"]: step["is_done"] for step in assay_cli("start", "--json").json}
    assert not steps["votes"], "a file that came later has another vote"


def test_more_pairs_are_pooled_where_more_are_asked_for(assay_cli: Assay, tmp_path: Path) -> None:
    folder = tmp_path / "memos"
    folder.mkdir()
    for number in range(12):
        (folder / f"m{number}.txt").write_text(f"Memo {number} on the ferry and its insurance.")
    Path("queries.txt").write_text("ferry insurance\nferry memo\n")
    named = ("--engine", "bm25", "--engine", "bm25-forms", "--judges", "ann,ben", "--pairs", "6")
    assert assay_cli("start", folder, *named, "--yes").code == 0
    assert len(json.loads(Path("set.pool.json").read_text())["pairs"]) == 6
    assert assay_cli("start", "--pairs", "9", "--yes").code == 0
    assert len(json.loads(Path("set.pool.json").read_text())["pairs"]) == 10


def test_documents_are_imported_again_once_their_package_is_there(
    assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "memos"
    folder.mkdir()
    (folder / "ferry.txt").write_text("A memo on the ferry.")
    for name in "abcd":
        (folder / f"{name}.docx").write_bytes(b"PK")
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    (lacking / "docx.py").write_text('raise ModuleNotFoundError("no docx", name="docx")\n')
    monkeypatch.syspath_prepend(lacking)  # for the processes that read
    done = assay_cli("corpus", "import", folder, "--name", "memos")
    assert "needs-extra: 4 files, such as a.docx: reading Word files needs the extra" in done.err
    assert re.search(r"next: .*install.*\[documents\].*, then assay\s+corpus\s+import", done.out)
    steps = assay_cli("start", folder, "--json").json
    assert steps[0]["is_stale"]
    assert "assay start" in assay_cli().out


def test_one_engine_is_not_compared(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "memo.txt").write_text("A memo on the ferry.")
    one = assay_cli("start", tmp_path / "memo.txt", "--engine", "bm25", "--steps")
    assert "To compare, name two" in one.err
    both = assay_cli("start", "--engine", "bm25", "--engine", "bm25-forms", "--steps")
    assert "To compare, name two" not in both.err


def test_a_project_with_gold_sets_of_its_own_is_not_begun_anew(assay_cli: Assay) -> None:
    Path("mine.json").write_text('{"queries": [{"id": "q1", "text": "lease"}]}')
    Path("assay.toml").write_text('[gold.mine]\npath = "mine.json"\n')
    told = assay_cli("start")
    assert told.code == 0
    assert "already has gold sets" in told.err
    assert "Step 1" not in told.err
    Path("in").mkdir()
    Path("in/lease.txt").write_text("The tenant ends the lease.")
    assert "Step 1 of" in assay_cli("start", "in").err, "unless documents are named"

"""The tutorial of docs/judging is followed to the letter: ten commands, from nothing to a set that
two judges and a chair agree on. Only the judges' reading is played by the test."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from assay import read_gold
from kit.commands import Assay
from kit.corpora import made_once
from kit.docs_world import make_home

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "judging" / "first-set.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    assay (.+)$", PAGE, flags=re.MULTILINE)


def judge(packet: Path, saved: Path, *, strict: bool) -> None:
    """Grades by how many words of the query a document's passages have; a strict judge wants more.
    The file is the one that the page saves: without the texts."""
    head, *rows = [json.loads(line) for line in packet.read_text(encoding="utf-8").splitlines()]
    lines = [head]
    for row in rows:
        words = set(re.findall(r"\w{4,}", row["query"].lower()))
        found = len(words & set(re.findall(r"\w{4,}", " ".join(row["passages"]).lower())))
        grade = min(max(found - 1 - strict, 0), 2)
        kept = {key: row[key] for key in ("query_id", "doc_id", "document")}
        lines.append(kept | {"grade": grade, "rationale": f"{found} words meet the query."})
    saved.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def rule(path: Path) -> int:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert all(row["title"] for row in rows)  # a ruling begins with reading the document
    for row in rows:
        row |= {"grade": "1", "rationale": "The same rule, on other facts."}
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def write_queries() -> None:
    queries = re.search(r"```text title=\"queries.txt\"\n(.*?)```", PAGE, flags=re.DOTALL)
    assert queries
    Path("queries.txt").write_text(queries[1], encoding="utf-8")


def judge_both(assay_cli: Assay) -> None:
    for name in ("ada", "ben"):
        assay_cli("gold", "packet", "set.json", "--judge", name, "-o", f"{name}.jsonl")
        saved = Path(f"packet-{name}.votes.jsonl")
        judge(Path(f"{name}.jsonl"), saved, strict=name == "ben")


@pytest.mark.slow
def test_ten_commands_from_nothing_to_an_agreed_set(assay_cli: Assay) -> None:
    assert len(COMMANDS) == 10
    assert not list(Path.cwd().iterdir())  # an empty folder
    write_queries()
    open_pairs = 0
    for command in COMMANDS:
        if command.startswith("gold merge"):
            judge_both(assay_cli)
        if "--from open.csv" in command:
            open_pairs = rule(Path("open.csv"))
        done = assay_cli(*shlex.split(command))
        assert done.code == 0, (command, done.err)
    gold = read_gold("set.json")
    assert len(gold.queries) == 5
    assert gold.judgments.height >= 50
    assert open_pairs > 0
    assert assay_cli("gold", "export-votes", "set.json").code == 0
    votes = [json.loads(line) for line in Path("set.votes.jsonl").read_text().splitlines()]
    assert {vote["judge"] for vote in votes} == {"ada", "ben", "Dora"}
    assert len(votes) == 2 * gold.judgments.height + open_pairs
    assert all(judgment.rationale for judgment in gold.iter_judgments())


@pytest.mark.slow
def test_the_same_in_python(
    assay_cli: Assay, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The block of the page runs as printed; between its halves the packet is filled in."""
    block = re.search(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert block
    write_queries()
    shutil.copytree(made_once(tmp_path_factory, "docs-home", make_home), tmp_path / ".assay")
    before, mark, after = block[1].partition("assay.merge_files(")
    names: dict[str, object] = {}
    exec(before, names)
    judge(Path("ada.jsonl"), Path("ada.jsonl"), strict=False)
    exec(mark + after, names)
    assert assay_cli("gold", "export-votes", "set.json").code == 0
    votes = [json.loads(line) for line in Path("set.votes.jsonl").read_text().splitlines()]
    assert {vote["judge"] for vote in votes} == {"ada", "Dora"}
    assert votes[-1]["source"] == "adjudication"

"""Packets come back, votes are kept, labels follow; what cannot be is refused with its line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from assay.core.types import Document
from assay.judging.votes import document_fingerprint
from kit.commands import Assay
from kit.sets import labels, log_of, named, votes, write_packet, write_pool, write_set

PAIRS = {("q0", "a"): 2, ("q0", "b"): 0, ("q1", "a"): 1}


def test_two_packets_make_labels_and_the_rest_waits(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path)
    write_packet(tmp_path / "a.jsonl", "ada", PAIRS)
    write_packet(tmp_path / "b.jsonl", "ben", {**PAIRS, ("q0", "b"): 1, ("q1", "c"): "?"})
    done = assay_cli("gold", "merge", "set.json", "a.jsonl", "b.jsonl", "--json")
    assert done.code == 0, done.err
    assert (done.json["added"], done.json["labels"], done.json["open"]) == (7, 2, 1)
    assert done.json["second"] == 1
    assert labels(gold) == {("q0", "a"): 2, ("q1", "a"): 1}
    assert "1 pair needs a ruling: assay gold adjudicate set.json" in done.err
    row = json.loads(gold.read_text())["queries"][0]["relevance_judgments"][0]
    assert named(gold, row["judge"]) == "ada, ben"
    assert "ada" not in row["judge"]  # an id, so that a name can be changed or erased
    assert row["rationale"] == "ada on a · ben on a"
    assert row["rubric"].startswith("fppc-relevance-2@")
    before = gold.read_bytes(), log_of(gold).read_bytes()
    twice = assay_cli("gold", "merge", "set.json", "a.jsonl", "b.jsonl", "--json").json
    assert (twice["added"], twice["already"]) == (0, 7)
    assert (gold.read_bytes(), log_of(gold).read_bytes()) == before


def test_after_a_crash_between_votes_and_set_the_next_merge_makes_it_good(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = write_set(tmp_path)
    before = gold.read_bytes()
    write_packet(tmp_path / "a.jsonl", "ada", PAIRS)
    assert assay_cli("gold", "merge", "set.json", "a.jsonl").code == 0
    gold.write_bytes(before)  # the votes are on disk, the set was not written
    again = assay_cli("gold", "merge", "set.json", "--json")
    assert (again.code, again.json["added"]) == (0, 0), again.err
    assert labels(gold) == PAIRS


def test_votes_of_another_copy_keep_their_ids(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path)
    write_packet(tmp_path / "a.jsonl", "ada", PAIRS)
    assert assay_cli("gold", "merge", "set.json", "a.jsonl").code == 0
    assert assay_cli("gold", "export-votes", "set.json", "-o", "other.votes.jsonl").code == 0
    given = [(vote["id"], vote["at"], vote["judge"]) for vote in votes(gold)]
    log_of(gold).unlink()
    write_set(tmp_path)
    assert assay_cli("gold", "merge", "set.json", "other.votes.jsonl").code == 0
    assert [(vote["id"], vote["at"], vote["judge"]) for vote in votes(gold)] == given
    assert labels(gold) == PAIRS


def test_what_nobody_was_asked_for_is_taken_when_it_is_said(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = write_set(tmp_path)
    write_pool(tmp_path, list(PAIRS))
    write_packet(tmp_path / "p.jsonl", "ada", {("q0", "z"): 1})
    assert "--unasked" in assay_cli("gold", "merge", "set.json", "p.jsonl").err
    assert assay_cli("gold", "merge", "set.json", "p.jsonl", "--unasked").code == 0
    assert labels(gold) == {("q0", "z"): 1}


def test_a_missing_rationale_is_refused_where_the_rubric_asks_for_one(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = write_set(tmp_path)
    write_packet(tmp_path / "p.jsonl", "ada", PAIRS, rationale="")
    refused = assay_cli("gold", "merge", "set.json", "p.jsonl")
    assert (refused.code, "p.jsonl:2: a on query q0 has no rationale" in refused.err) == (2, True)
    # a format without a place for one is imported, and says so
    (tmp_path / "p.csv").write_text("query_id,doc_id,grade\nq0,a,2.0\n")
    assert assay_cli("gold", "merge", "set.json", "p.csv", "--judge", "ada").code == 0
    assert [vote["source"] for vote in votes(gold)] == ["imported"]
    # who is unsure need not say why
    write_packet(tmp_path / "u.jsonl", "ben", {("q0", "b"): "?"})
    assert assay_cli("gold", "merge", "set.json", "u.jsonl").code == 0


def test_a_packet_cut_in_half_says_how_much_came(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path)
    before = gold.read_bytes()
    whole = write_packet(tmp_path / "p.jsonl", "ada", PAIRS).read_text()
    lines = whole.splitlines(keepends=True)
    for content, said in (
        ("".join(lines[:3]), "p.jsonl:3: 2 of 3 pairs came: the file is cut, or rows"),
        (whole[:-20], "p.jsonl:4: the packet is cut: 2 of 3 pairs came, up to line 4, which is"),
    ):
        (tmp_path / "p.jsonl").write_text(content)
        refused = assay_cli("gold", "merge", "set.json", "p.jsonl")
        assert (refused.code, said in refused.err) == (2, True), refused.err
        assert gold.read_bytes() == before


def test_documents_are_checked_where_the_corpus_is_known(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path)
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "text": "new"}\n{"id": "b"}\n')
    write_packet(tmp_path / "p.jsonl", "ada", {("q0", "x"): 1})
    merge = ("gold", "merge", "set.json", "p.jsonl", "--corpus", "corpus.jsonl")
    refused = assay_cli(*merge)
    assert (refused.code, "p.jsonl:2: the corpus has no document 'x'" in refused.err) == (2, True)
    read = document_fingerprint(Document(id="a", text="old"))
    write_packet(tmp_path / "p.jsonl", "ada", {("q0", "a"): 1}, document=read)
    done = assay_cli(*merge, "--json")
    assert (done.code, done.json["stale"]) == (0, 1), done.err
    assert "1 vote on documents that have changed since they were read" in done.err
    assert labels(gold) == {("q0", "a"): 1}


def test_a_machine_cannot_pass_for_a_person(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path)
    write_packet(tmp_path / "m.jsonl", "bot", PAIRS, kind="machine")
    refused = assay_cli("gold", "merge", "set.json", "m.jsonl", "--kind", "human")
    assert (refused.code, "the file has bot as machine" in refused.err) == (2, True)
    done = assay_cli("gold", "merge", "set.json", "m.jsonl", "--json")
    assert (done.json["labels"], done.json["not_counted"]) == (0, 3)
    assert "assay gold policy set.json --counts human,machine" in done.err
    assert labels(gold) == {}
    write_packet(tmp_path / "h.jsonl", "bot", {("q0", "a"): 0})
    refused = assay_cli("gold", "merge", "set.json", "h.jsonl")
    assert (refused.code, "bot has voted as machine before" in refused.err) == (2, True)


def test_a_set_labelled_by_machines_is_provisional_until_people_have_judged(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = write_set(tmp_path, status="approved")
    write_packet(tmp_path / "m.jsonl", "bot", PAIRS, kind="machine")
    assert assay_cli("gold", "merge", "set.json", "m.jsonl").code == 0
    view = assay_cli("gold", "policy", "set.json", "--counts", "human,machine", "--json").json
    assert (view["labels"], view["status"], len(view["changed"])) == (3, "provisional", 3)
    written = json.loads(gold.read_text())
    assert (written["status"], written["labels"]["by_machine"]) == ("provisional", 3)
    (tmp_path / "run.json").write_text(
        json.dumps({"per_query": [{"query_id": "q0", "results": ["a", "b"]}]})
    )
    said = "provisional: labelled by machines, no person has judged"
    score = ("score", "--dataset", "set.json", "--run", "run.json", "--output", "r.json")
    assert said in assay_cli(*score).out
    for page in ("r.md", "r.html"):
        assert assay_cli("report", "r.json", "-o", page).code == 0
        assert said in (tmp_path / page).read_text()
    card = json.loads((tmp_path / "r.json").read_text())["receipt"]["gold"]
    assert (card["status"], card["by_machine"], card["note"]) == ("provisional", 3, said)
    finnish = assay_cli("report", "r.json", "-o", "fi.md", "--language", "fi")
    assert finnish.code == 0, finnish.err
    assert "koneet ovat arvioineet" in (tmp_path / "fi.md").read_text()

    write_packet(tmp_path / "a.jsonl", "ada", {("q0", "a"): 2})
    assert assay_cli("gold", "merge", "set.json", "a.jsonl").code == 0
    assert "provisional: 2 of 3 labels rest on machines alone" in assay_cli(*score).out
    write_packet(tmp_path / "a.jsonl", "ada", PAIRS)
    assert assay_cli("gold", "merge", "set.json", "a.jsonl").code == 0
    after = json.loads(gold.read_text())
    assert ("status" in after, after["labels"]["by_machine"]) == (
        False,
        0,
    )  # never back to approved
    assert "machines" not in assay_cli(*score).out


def test_machine_labels_without_their_votes_are_not_taken_for_a_persons(
    assay_cli: Assay, tmp_path: Path
) -> None:
    gold = write_set(tmp_path)
    write_packet(tmp_path / "m.jsonl", "bot", PAIRS, kind="machine")
    assert assay_cli("gold", "merge", "set.json", "m.jsonl").code == 0
    assert assay_cli("gold", "policy", "set.json", "--counts", "machine").code == 0
    log_of(gold).unlink()
    write_packet(tmp_path / "a.jsonl", "ada", PAIRS)
    refused = assay_cli("gold", "merge", "set.json", "a.jsonl")
    assert (refused.code, "their votes are missing" in refused.err) == (2, True)


def test_another_policy_computes_the_labels_anew(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path)
    write_packet(tmp_path / "a.jsonl", "ada", {("q0", "a"): 2}, at="2026-01-01")
    write_packet(tmp_path / "b.jsonl", "ben", {("q0", "a"): 1}, at="2026-01-02")
    assert assay_cli("gold", "merge", "set.json", "a.jsonl", "b.jsonl").code == 0
    assert labels(gold) == {}
    assert assay_cli("gold", "policy", "set.json", "latest").code == 0
    assert labels(gold) == {("q0", "a"): 1}
    assert assay_cli("gold", "policy", "set.json", "senior", "--senior", "ada").code == 0
    assert labels(gold) == {("q0", "a"): 2}
    shown = assay_cli("gold", "policy", "set.json", "--json").json
    senior = {"name": "senior", "counts": ["human"], "seniors": ["ada"], "second": "deciding"}
    assert shown["policy"] == senior
    alone = assay_cli("gold", "policy", "set.json", "--second", "never", "--json").json
    assert alone["policy"] == senior | {"second": "never"}
    for wrong in (
        ("loudest",),
        ("senior", "--counts", "cats"),
        ("majority", "--senior", "ada"),
        ("--second", "often"),
    ):
        refused = assay_cli("gold", "policy", "set.json", *wrong)
        assert refused.code == 2, refused.out
    assert labels(gold) == {("q0", "a"): 2}


def test_a_rubric_that_lost_a_grade_changes_nothing(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path, rubric="")
    write_packet(tmp_path / "a.jsonl", "ada", PAIRS)
    assert assay_cli("gold", "merge", "set.json", "a.jsonl").code == 0
    (tmp_path / "two.toml").write_text(
        'id = "two"\ntitle = "T"\nprinciple = "P"\nrelevant_from = 1\nhighly_relevant_from = 1\n'
        + "".join(
            f'[[grades]]\nvalue = {n}\nlabel = "{n}"\ndefinition = "d"\ncriteria = ["c"]\n'
            'examples = ["e", "f"]\n'
            for n in (0, 1)
        )
    )
    data = json.loads(gold.read_text()) | {"rubric": "two"}
    gold.write_text(json.dumps(data))
    before = gold.read_bytes(), log_of(gold).read_bytes()
    refused = assay_cli("gold", "merge", "set.json")
    assert (refused.code, "Check whether the rubric lost a grade." in refused.err) == (2, True), (
        refused.err
    )
    assert (gold.read_bytes(), log_of(gold).read_bytes()) == before


MERGER = """
import sys
sys.argv = ["assay", "gold", "merge", "set.json", f"{sys.argv[1]}.jsonl"]
from assay.cli import main
main()
"""


def test_two_who_merge_at_once_lose_no_vote(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path)
    pairs = {("q0", f"d{n}"): n % 3 for n in range(30)}
    names = ("ada", "ben", "cy")
    for name in names:
        write_packet(tmp_path / f"{name}.jsonl", name, pairs)
    started = [
        subprocess.Popen([sys.executable, "-c", MERGER, name], cwd=tmp_path) for name in names
    ]
    assert [merger.wait(60) for merger in started] == [0, 0, 0]
    assert labels(gold) == pairs
    assert len({vote["id"] for vote in votes(gold)}) == len(votes(gold)) == 90
    rows = json.loads(gold.read_text())["queries"][0]["relevance_judgments"]
    assert {frozenset(named(gold, row["judge"]).split(", ")) for row in rows} == {frozenset(names)}

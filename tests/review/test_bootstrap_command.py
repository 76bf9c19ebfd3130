"""`assay gold bootstrap`: a gold set from search logs and from what decisions cite."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from kit import Project

KEYS = ["id", "query", "practice_area", "corpus", "relevant_case_law_ids", "source", "note"]
LEVY = "מועד קובע תב״ע?"


@pytest.fixture
def logged(project: Project) -> Project:
    """Searches in two corpora and one decision; one query is spelt in two ways."""
    levy = {"corpus": "precedents", "practice_area": "levy"}
    project.searches(
        [
            *({"query": 'מועד קובע תב"ע', "results": ["p1", "p2"], "id": f"x{n}", **levy}
              for n in range(2)),
            *({"query": LEVY, "results": ["p2", "p3"], "id": f"y{n}", "corpus": "precedents"}
              for n in range(3)),
            {"query": "Materiality", "results": ["p9", "p1"], "practice_area": "conflicts"},
            {"query": "nobody cited these", "results": ["p7"]},
            {"query": "?!", "results": ["p1"]},
        ]
    )  # fmt: skip
    project.cite("D1", "p1", "p3")
    return project


def ids(project: Project) -> dict[str, str]:
    return {row["query"]: id for id, row in project.rows().items()}


def figures(done: dict[str, Any]) -> tuple[int, ...]:
    """Rows added, updated, removed and unchanged, rows of others, and rejected queries."""
    names = ("added", "updated", "removed", "unchanged", "kept", "rejected")
    return tuple(done[name] for name in names)


def test_rows_have_exactly_the_keys_of_the_specification(logged: Project) -> None:
    """Spellings of one query are one row, with the commonest spelling and practice area."""
    done = logged.bootstrap()
    assert figures(done) == (2, 0, 0, 0, 0, 0)
    assert done["approval"]["status"] == "provisional (bootstrap-only)"
    rows = list(logged.rows().values())
    assert [list(row) for row in rows] == [KEYS, KEYS]
    assert [list(row.values()) for row in rows] == [
        ["g001", "Materiality", "conflicts", "c", ["p1"], "bootstrap", ""],
        ["g002", LEVY, "levy", "precedents", ["p1", "p3"], "bootstrap", ""],
    ]
    assert LEVY in logged.gold.read_text("utf-8"), "Hebrew is written as it is, not escaped"
    assert logged.counts() == (2, 0, 0, 0)


def test_a_second_run_changes_nothing(logged: Project) -> None:
    """Neither the file, nor its time, nor the review queue."""
    logged.bootstrap()
    before, when = logged.gold.read_bytes(), logged.gold.stat().st_mtime_ns
    again = logged.bootstrap()
    assert (again["changed"], figures(again)) == (False, (0, 0, 0, 2, 0, 0))
    assert (logged.gold.read_bytes(), logged.gold.stat().st_mtime_ns) == (before, when)
    assert logged.counts() == (2, 0, 0, 0)


def test_a_dry_run_shows_the_difference_and_writes_nothing(logged: Project) -> None:
    """Neither the file nor the queue changes."""
    shown = logged.do("gold", "bootstrap", "--dry-run")
    assert '+{"id":"g001","query":"Materiality"' in shown.out
    assert "2 added" in shown.err
    assert "dry run" in shown.err
    assert not logged.gold.exists()
    assert logged.counts() == (0, 0, 0, 0)


def test_logs_without_a_cited_document_make_no_file(project: Project) -> None:
    """The command says what to do next."""
    project.log("q", "a")
    outcome = project.do("gold", "bootstrap")
    assert "assay logs decisions" in outcome.err
    assert not project.gold.exists()


OTHERS = [
    b"# reviewed by Dafna, May 2026\n",
    b'{"note": "mine",   "source":"chair", "id":"g007","query":"Materiality", "corpus":"c",'
    b'"extra":{"a":1},"relevant_case_law_ids":["x","x2"]}\r\n',
    b"\n",
    b"// a row by somebody else, without a source\n",
    b'{"id":"own-1","query":"\xd7\x94\xd7\x99\xd7\x98\xd7\x9c","relevant_case_law_ids":[1,null]}\n',
    b'  {"id" : "g003", "query" : "chair\\u2019s own", "source" : "chair"}  \n',
]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0), (1, 5, 0, 4, 2, 3)])
def test_lines_of_other_people_are_kept_byte_for_byte(
    logged: Project, order: tuple[int, ...]
) -> None:
    """Comments, blank lines, unknown keys, spaces, line ends and a byte order mark stay. A row of
    the chair covers its query, and new rows are numbered after the highest id."""
    old = b'{"id":"g005","query":"gone","corpus":"c","relevant_case_law_ids":["q"],'
    old += b'"source":"bootstrap"}\n'
    theirs = [OTHERS[n] for n in order]
    logged.gold.write_bytes(b"\xef\xbb\xbf" + b"".join([*theirs[:3], old, *theirs[3:]])[:-1])
    logged.bootstrap()
    lines = logged.gold.read_bytes().split(b"\n")
    assert b"\n".join(lines[:6]) + b"\n" == b"\xef\xbb\xbf" + b"".join(theirs)
    assert [json.loads(line)["query"] for line in lines[6:] if line] == [LEVY]
    assert [json.loads(line)["id"] for line in lines[6:] if line] == ["g008"]
    before = logged.gold.read_bytes()
    assert not logged.bootstrap()["changed"]
    assert logged.gold.read_bytes() == before


def test_windows_line_ends_and_a_missing_last_one_are_kept(logged: Project) -> None:
    """A row that is added ends as the other lines do."""
    logged.bootstrap()
    written = logged.gold.read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    logged.gold.write_bytes(written)
    logged.log("another", "p1")
    assert figures(logged.bootstrap()) == (1, 0, 0, 2, 0, 0)
    data = logged.gold.read_bytes()
    assert data.startswith(written)
    assert data.count(b"\r\n") == data.count(b"\n") == 3


def test_a_query_keeps_its_id_for_ever(logged: Project) -> None:
    """Through another spelling, through leaving the file, and when the file is deleted."""
    logged.bootstrap()
    first = ids(logged)
    rows = [{"query": "MATERIALITY!", "results": ["p9"], "id": f"m{n}"} for n in range(5)]
    logged.searches([{"query": "aaa sorts first", "results": ["p1"]}, *rows])
    logged.cite("D2", "p9", at="2026-05-03")
    assert figures(logged.bootstrap()) == (1, 1, 0, 1, 0, 0)
    now = {"MATERIALITY!": first["Materiality"], LEVY: first[LEVY], "aaa sorts first": "g003"}
    assert ids(logged) == now
    assert logged.bootstrap("--min-support", 3)["removed"] == 1
    logged.searches([{"query": "another", "results": ["p1"], "id": f"n{n}"} for n in range(4)])
    logged.bootstrap("--min-support", 3)
    assert ids(logged)["another"] == "g004", "the id of a row that left is not given away"
    logged.bootstrap()
    assert ids(logged) == now | {"another": "g004"}
    logged.gold.unlink()
    logged.bootstrap()
    assert ids(logged) == now | {"another": "g004"}


def test_an_id_that_the_chair_takes_leaves_its_query_a_row(logged: Project) -> None:
    """The query gets another id, and waits under that."""
    logged.bootstrap()
    mine = b'{"id":"g001","query":"my own","relevant_case_law_ids":["z"],"source":"chair"}\n'
    logged.gold.write_bytes(mine + logged.gold.read_bytes())
    assert logged.bootstrap()["kept"] == 1
    assert logged.gold.read_bytes().startswith(mine)
    assert ids(logged) == {"my own": "g001", LEVY: "g002", "Materiality": "g003"}
    with logged.serve() as server:
        waiting = {
            item["query"]: item["ref"] for item in server.visitor().items(state="pending_review")
        }
    assert waiting == {LEVY: "g002", "Materiality": "g003"}
    assert not logged.bootstrap()["changed"]


def test_two_rows_of_one_id_are_refused(reviewed: Project) -> None:
    """By bootstrap and by every decision, with the line; nothing is written."""
    line = b'{"id":"g007","query":"%d","relevant_case_law_ids":["z"],"source":"chair"}\n'
    content = line % 1 + line % 2 + reviewed.gold.read_bytes()
    reviewed.gold.write_bytes(content)
    assert "gold-set.jsonl:2: id 'g007' is also on line 1" in reviewed.fail("gold", "bootstrap")
    for command in ("promote", "reject"):
        said = reviewed.fail("gold", command, "g007", "--by", "Dafna", "--why", "w")
        assert "id 'g007' is also on line" in said
    assert reviewed.gold.read_bytes() == content


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id":"g001","source":"chair",}', "trailing comma"),
        (b"[1]", "expected an object, got an array"),
        (b'{"id":"g1","query":7,"source":"bootstrap"}', "expected a string, got a whole number"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_line_that_cannot_be_read_stops_everything(
    logged: Project, line: bytes, message: str
) -> None:
    """The error names the line; the file and the queue stay as they are."""
    content = b"# first\n" + line + b"\n"
    logged.gold.write_bytes(content)
    said = logged.fail("gold", "bootstrap")
    assert "gold-set.jsonl:2: " in said
    assert message in said
    assert logged.gold.read_bytes() == content
    assert "gold-set.jsonl:2: " in logged.fail("backlog"), "a limit must not hold by mistake"


def test_a_path_that_is_no_gold_set_is_refused(logged: Project) -> None:
    """A folder, or a name that does not end in .jsonl."""
    (logged.folder / "folder.jsonl").mkdir()
    assert "jsonl" in logged.fail("gold", "bootstrap", "gold.json")
    assert "directory" in logged.fail("gold", "bootstrap", "folder.jsonl")
    assert not (logged.folder / "gold.json").exists()


def test_a_link_to_the_gold_set_stays_a_link(logged: Project) -> None:
    """The file that it points to is written."""
    real = logged.folder / "real.jsonl"
    real.write_bytes(b"# the real file\n")
    logged.gold.symlink_to(real)
    logged.bootstrap()
    assert logged.gold.is_symlink()
    assert len(logged.rows(real)) == 2


def test_a_row_that_was_made_the_chairs_by_hand_is_left_alone(logged: Project) -> None:
    """Also with another wording: it counts as approved, and its query does not come back."""
    logged.bootstrap()
    text = logged.gold.read_text("utf-8").replace('"Materiality"', '"what is material"')
    edited = text.replace('"bootstrap"', '"chair"', 1)
    logged.gold.write_text(edited, "utf-8")
    done = logged.bootstrap()
    assert (done["changed"], done["kept"], done["approval"]["approved"]) == (False, 1, 1)
    assert done["approval"]["share"] == 0.5
    assert logged.gold.read_text("utf-8") == edited
    assert logged.counts() == (1, 1, 0, 0)


def test_a_note_on_a_pending_row_is_kept(logged: Project) -> None:
    """Also when the row gets other documents."""
    logged.bootstrap()
    text = logged.gold.read_text("utf-8").replace('"note":""', '"note":"look at this"', 1)
    logged.gold.write_text(text, "utf-8")
    assert not logged.bootstrap()["changed"]
    logged.cite("D2", "p9", at="2026-05-03")
    assert logged.bootstrap()["updated"] == 1
    assert logged.row("g001")["note"] == "look at this"


def test_support_and_recency(logged: Project) -> None:
    """Documents need so many searches, and old searches do not count."""
    old = {"query": "old", "results": ["p1"], "at": "2020-01-01T00:00:00Z"}
    logged.searches([old | {"id": f"o{n}"} for n in range(9)])
    logged.cite("D1", "p1", "p3")
    assert logged.bootstrap("--min-support", 3, "--recent", 1000)["added"] == 1
    assert [row["relevant_case_law_ids"] for row in logged.rows().values()] == [["p3"]]
    assert "minimum support" in logged.fail("gold", "bootstrap", "--min-support", 0)


def test_clicks_and_votes_count_only_when_asked_for(project: Project) -> None:
    """A click further down counts for more, and votes against outweigh votes for."""
    with project.serve() as server:
        sender = server.visitor()
        shown = {"query": "q", "corpus": "c", "results": ["top", "x", "y", "v", "low"]}
        sent = [shown | {"id": f"s{n}", "at": "2026-05-01T12:00:00Z"} for n in range(10)]
        assert sender.post("/api/log", json=sent).status_code == 202
    signs = [("s0", "top", "click", True), ("s1", "top", "click", True),
             ("s0", "low", "click", True), ("s1", "low", "click", True),
             ("s0", "v", "vote", True), ("s0", "x", "vote", True),
             ("s1", "x", "vote", False), ("s2", "x", "vote", False)]  # fmt: skip
    with project.serve() as server:
        keys = ("log_id", "doc_id", "kind", "relevant")
        rows = [dict(zip(keys, sign, strict=True)) for sign in signs]
        assert server.visitor().post("/api/feedback", json=rows).status_code in (200, 202)

    def found(least: int) -> list[str]:
        project.bootstrap("--min-grade", least)
        rows = project.rows().values() if project.gold.exists() else []
        return [doc for row in rows for doc in row["relevant_case_law_ids"]]

    assert [found(3), found(2), found(1)] == [[], ["v"], ["low", "v"]]
    project.cite("D", "x")
    assert found(1) == ["low", "v", "x"], "a citation outweighs votes"


def test_labels_from_decisions_of_other_cases_are_marked(project: Project) -> None:
    """They are marked in the row and counted; with --same-case they are not made."""
    project.log("q", "a", "b", case_id="C-1")
    project.cite("D1", "a", case_id="C-1")
    project.cite("D2", "b", case_id="C-2")
    outcome = project.do("gold", "bootstrap")
    assert "1 label only from decisions of another case" in outcome.err
    row = project.row("g001")
    assert row["relevant_case_law_ids"] == ["a", "b"]
    keys = "id query practice_area corpus relevant_case_law_ids source note"
    assert list(row) == keys.split(), "a row has the keys of the specification alone"
    log = (project.folder / "gold-set.log.jsonl").read_text("utf-8")
    assert '"from_other_cases":{"g001":["b"]}' in log
    project.do("gold", "promote", "g001", "--by", "Dafna")
    assert not project.bootstrap()["changed"]


def test_what_was_decided_survives_the_next_bootstrap(reviewed: Project) -> None:
    """Approved rows stay, rejected queries do not come back, and rows without support leave."""
    reviewed.do("gold", "promote", "g002", "--by", "Dafna")
    reviewed.do("gold", "reject", "g001", "--by", "Dafna", "--why", "nobody asks this")
    before = reviewed.gold.read_bytes()
    assert figures(reviewed.bootstrap()) == (0, 0, 0, 1, 1, 1)
    assert reviewed.gold.read_bytes() == before
    reviewed.do("logs", "purge", "--older-than", 1)
    assert figures(reviewed.bootstrap()) == (0, 0, 1, 0, 1, 0)
    assert list(reviewed.rows()) == ["g002"]
    assert reviewed.counts() == (0, 1, 1, 0)


def test_a_reworded_row_covers_the_query_that_it_was_made_from(reviewed: Project) -> None:
    """A correction of the query does not bring the old wording back."""
    words = ("--query", "first, but clearer", "--by", "Dafna", "--why", "clearer")
    reviewed.do("gold", "correct", "g001", *words)
    assert not reviewed.bootstrap()["changed"]
    assert reviewed.row("g001")["query"] == "first, but clearer"


def test_a_lost_store_loses_no_approval(reviewed: Project) -> None:
    """Without the workspace the chair's rows stay, and can be corrected."""
    reviewed.do("gold", "promote", "g001", "--by", "Dafna")
    row = reviewed.row("g001")
    for name in os.listdir(reviewed.folder / ".assay"):
        (reviewed.folder / ".assay" / name).unlink()
    reviewed.log("new", "a")
    reviewed.cite("D-9", "a")
    reviewed.bootstrap()
    assert reviewed.row("g001") == row
    correction = ("--note", "again", "--by", "Dafna", "--why", "to see")
    reviewed.do("gold", "correct", "g001", *correction)
    assert reviewed.row("g001")["note"] == "again"


def test_decisions_that_cannot_be_used_are_refused(project: Project) -> None:
    """A text needs a corpus to find its citations in; a decision needs an id and a date."""
    project.log("q", "a")
    for row, message in (
        ({"id": "D1", "at": "2026-05-31", "text": "see ערר 8011/19"}, "no corpus to resolve"),
        ({"id": "D1", "at": "yesterday", "cites": ["a"]}, "not a date or time"),
        ({"id": " ", "at": "2026-05-31", "cites": ["a"]}, "needs an id"),
    ):
        (project.folder / "d.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        assert message in project.fail("logs", "decisions", "d.jsonl")
    assert not project.bootstrap()["changed"]


def test_a_decision_counts_for_searches_before_it(project: Project) -> None:
    """Not for what was searched after it, nor for documents that the search did not show."""
    project.log("before", "a", at="2026-05-01T12:00:00Z")
    project.log("after", "a", at="2026-06-15T12:00:00Z")
    project.cite("D", "a", "x", at="2026-05-31")
    project.bootstrap()
    assert [(row["query"], row["relevant_case_law_ids"]) for row in project.rows().values()] == [
        ("before", ["a"])
    ]

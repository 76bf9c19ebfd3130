"""Rejecting rows and reopening them: `assay gold reject` and `reopen`, and the review page."""

from __future__ import annotations

import itertools

import pytest

from kit import Project

OWN = (
    '{ "id":"g002", "mine": [1], "query":"two","relevant_case_law_ids":["a","b"],"corpus":"c",'
    '"source":"bootstrap","note":"\u05d0" }'
)
CHAIR = '{"id":"g003","query":"three","relevant_case_law_ids":["a"],"corpus":"c","source":"chair"}'
ONE = (
    '{"id":"g001","query":"one","practice_area":"","corpus":"c","relevant_case_law_ids":["a","b"],'
    '"source":"bootstrap","note":""}'
)


def reject(project: Project, *ids: str, by: str = "Dafna", why: str = "nobody asks this") -> None:
    project.do("gold", "reject", *ids, "--by", by, "--why", why)


def test_a_rejected_query_does_not_come_back_until_it_is_reopened(reviewed: Project) -> None:
    """It leaves the file, bootstrap keeps it out, and reopening restores the file."""
    before = reviewed.gold.read_bytes()
    done = reviewed.json("gold", "reject", "g002", "--by", "Dafna", "--why", "nobody asks this")
    assert (done["state"], done["ids"], done["approval"]["total"]) == ("rejected", ["g002"], 2)
    assert "g002" not in reviewed.rows()
    again = reviewed.bootstrap()
    assert (again["changed"], again["rejected"]) == (False, 1)
    assert (reviewed.counts(), reviewed.rulings()) == ((2, 0, 1, 0), 2)
    back = reviewed.json("gold", "reopen", "g002", "--by", "Noa")
    assert (back["state"], back["ids"]) == ("pending_review", ["g002"])
    assert reviewed.gold.read_bytes() == before
    assert not reviewed.bootstrap()["changed"]
    assert reviewed.counts() == (3, 0, 0, 0)
    assert "not rejected" in reviewed.fail("gold", "reopen", "g002", "--by", "Noa")
    with reviewed.serve() as server:
        entries = server.visitor().audit(subject="gold-set/g002")
    assert [(entry["by"], entry["action"]) for entry in entries] == [
        ("Noa", "review.pending_review"),
        ("Dafna", "review.rejected"),
    ]
    assert entries[1]["reason"] == "nobody asks this"


def test_reopening_says_what_the_row_is_now(reviewed: Project) -> None:
    """Pending, if it was pending when it was rejected; else approved."""
    reject(reviewed, "g002")
    assert "g002 is pending again" in reviewed.do("gold", "reopen", "g002", "--by", "Noa").err
    reviewed.do("gold", "promote", "g002", "--by", "Noa")
    reject(reviewed, "g002")
    assert "g002 is approved again" in reviewed.do("gold", "reopen", "g002", "--by", "Noa").err


def test_only_rows_are_promoted(reviewed: Project) -> None:
    """A set with grades is refused by its name, with the commands that judge it."""
    graded = reviewed.folder / "graded.json"
    graded.write_text('{"queries": [{"id": "q1", "text": "x"}]}', "utf-8")
    said = reviewed.fail("gold", "promote", "q1", "--by", "Noa", "--gold", "graded.json")
    assert "graded.json: only rows of a .jsonl gold set are reviewed" in said
    assert "assay gold adjudicate" in said


def test_reopening_says_who(reviewed: Project) -> None:
    """Without a name nothing is reopened."""
    reject(reviewed, "g002")
    assert "the name of the person who decides is missing" in reviewed.fail(
        "gold", "reopen", "g002", "--by", " "
    )
    assert reviewed.counts() == (2, 0, 1, 0)


def test_an_approved_row_that_was_rejected_comes_back_approved(reviewed: Project) -> None:
    """With the documents and the note that the chair had given it."""
    change = ("--add", "c", "--note", "see c", "--by", "Dafna", "--why", "missing")
    reviewed.do("gold", "correct", "g002", *change)
    before = reviewed.gold.read_bytes()
    reject(reviewed, "g002", why="by mistake")
    done = reviewed.json("gold", "reopen", "g002", "--by", "Noa", "--why", "after all")
    assert done["state"] == "approved"
    assert reviewed.gold.read_bytes() == before
    assert not reviewed.bootstrap()["changed"]
    assert reviewed.counts() == (2, 1, 0, 0)
    with reviewed.serve() as server:
        assert server.visitor().audit(subject="gold-set/g002")[0]["reason"] == "after all"


@pytest.mark.parametrize(("head", "end"), [("", ""), ("\ufeff", "\n"), ("# x\r\n", "")])
@pytest.mark.parametrize("order", list(itertools.permutations(["g001", "g002", "g003"], 2)))
def test_rows_come_back_byte_for_byte_where_they_were(
    project: Project, head: str, end: str, order: tuple[str, str]
) -> None:
    """Among comments and blank lines, with other people's keys, whatever the order."""
    content = head + "\n".join([ONE, "# on the second", OWN, "", "# more", CHAIR]) + end
    project.gold.write_bytes(content.encode())
    for ref in order:
        reject(project, ref)
        assert ref not in project.rows()
    for ref in reversed(order):
        project.do("gold", "reopen", ref, "--by", "Noa")
    assert project.gold.read_bytes() == content.encode()
    reject(project, *order)
    for ref in order:
        project.do("gold", "reopen", ref, "--by", "Noa")
    assert list(project.rows()) == ["g001", "g002", "g003"]


@pytest.mark.parametrize(
    ("then", "now", "place"),
    [
        ("1a2b3", "1cd3", 2),  # both neighbours are gone: as far down as it was
        ("1a2b3", "13ad", 3),  # below the line that it was below
        ("a2b13", "a13b", 3),  # or else above the line that it was above
        ("1a2b3", "b1a3", 0),
    ],
)
def test_a_row_finds_its_place_in_a_file_that_was_edited(
    project: Project, then: str, now: str, place: int
) -> None:
    """Edits by hand between the rejection and the reopening stay."""
    lines = {"1": ONE, "2": OWN, "3": CHAIR} | {name: f"# {name}" for name in "abcd"}
    project.gold.write_text("".join(lines[name] + "\n" for name in then), "utf-8")
    reject(project, "g002")
    project.gold.write_text("".join(lines[name] + "\n" for name in now), "utf-8")
    project.do("gold", "reopen", "g002", "--by", "Noa")
    left = project.gold.read_text("utf-8").splitlines()
    assert left.index(OWN) == place
    assert [line for line in left if line != OWN] == [lines[name] for name in now]


def test_a_byte_order_mark_stays_at_the_beginning(project: Project) -> None:
    """A reopened first row does not bring the mark into the middle of the file."""
    project.gold.write_bytes(b"\xef\xbb\xbf" + "\n".join([ONE, OWN, CHAIR]).encode())
    reject(project, "g001")
    project.gold.write_bytes(b"# mine\n" + project.gold.read_bytes())
    project.do("gold", "reopen", "g001", "--by", "Noa")
    assert project.gold.read_bytes().splitlines()[:2] == [b"# mine", ONE.encode()]


def test_a_new_row_under_a_rejected_id_is_another_row(reviewed: Project) -> None:
    """The rejection stays with its query; the new row is decided on its own."""
    reject(reviewed, "g002")
    reviewed.write_rows({"g002": "another"}, reviewed.folder / "new.jsonl")
    with reviewed.gold.open("ab") as stream:
        stream.write((reviewed.folder / "new.jsonl").read_bytes())
    reviewed.do("gold", "promote", "g002", "--by", "Dafna")
    with reviewed.serve() as server:
        found = [(item["query"], item["state"]) for item in server.visitor().items()]
    assert sorted(found) == [
        ("another", "approved"),
        ("first", "pending_review"),
        ("third", "rejected"),
        ("היטל השבחה", "pending_review"),
    ]


def test_the_page_needs_a_reason_to_reject(reviewed: Project) -> None:
    """Without one the page comes back with what was typed; with one the row leaves the file."""
    before = reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        answer = chair.press("g001", "reject", why=" ", note="see ע״א 1/20")
        assert answer.status_code == 400
        assert 'value="see ע״א 1/20"' in answer.text
        chair.refused(f"/api/review/{chair.id('g001')}/reject", reason="")
        assert reviewed.gold.read_bytes() == before
        assert chair.press("g001", "reject", why="overruled").status_code == 303
        item = chair.item("g001")
    assert (item["state"], item["decided_by"], item["reason"]) == ("rejected", "Dafna", "overruled")
    assert reviewed.gold.read_bytes() == b"".join(before.splitlines(keepends=True)[1:])


def test_rejecting_by_command_withdraws_nothing_of_others(reviewed: Project) -> None:
    """Two rows at once leave in one step; the rest of the file is as it was."""
    text = reviewed.gold.read_bytes()
    content = b"# head\n\n" + text + b"# tail"
    reviewed.gold.write_bytes(content)
    reject(reviewed, "g003", "g001")
    lines = text.splitlines(keepends=True)
    assert reviewed.gold.read_bytes() == b"# head\n\n" + lines[1] + b"# tail"
    assert (reviewed.counts(), reviewed.rulings()) == ((1, 0, 2, 0), 4)

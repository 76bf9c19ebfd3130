"""Votes on a graded set, disagreements and rulings: on pages, from packets and from Python. For
the commands see tests/judging/test_adjudicate.py and test_voting.py."""

from __future__ import annotations

import assay
from kit import Project

PAIR = {"set": "dataset", "query_id": "q1", "doc_id": "d1"}


def test_a_vote_changes_no_labels_until_they_are_computed(project: Project) -> None:
    """Votes are kept with judge, grade, reason and time; the file follows `gold merge`."""
    project.grade_set(("q1", "d1"), ("q1", "d2"), ("q2", "d4"))
    before = project.graded.read_bytes()
    with project.serve() as server:
        ada, ben = server.visitor("Ada"), server.visitor("Ben")
        given = ada.vote("dataset", "q1", "d1", 2, "it decides the point")
        ben.vote("dataset", "q1", "d1", 2, "אותו כלל חל על כרטיסים")
        ben.vote("dataset", "q2", "d4", 0, "another point of procedure")
        assert project.graded.read_bytes() == before
        assert ada.pairs("dataset", "q1")["d1"]["vote"] == given["id"]
        assert ada.pairs("dataset", "q2")["d4"]["vote"] == "", "a judge sees their own alone"
        kept = project.votes()["q1", "d1"]
        assert (kept["Ada"]["id"], kept["Ada"]["at"]) == (given["id"], given["at"])
        assert kept["Ben"]["why"] == "אותו כלל חל על כרטיסים"
        merged = server.visitor("Carl").send("/api/labels", set="dataset")
        assert (merged["labels"], merged["votes"], merged["open"]) == (2, 3, 0)
        assert "Carl" in [entry["by"] for entry in ada.audit(action="gold.labelled")]
    assert project.labels() == {("q1", "d1"): 2, ("q2", "d4"): 0}
    again = project.graded.read_bytes()
    assert project.json("gold", "merge", project.graded)["changed"] == []
    assert project.graded.read_bytes() == again


def test_a_ruling_is_withdrawn(project: Project) -> None:
    """The pair waits for a ruling again, and the label is that of the votes; a ruling that the
    chair has not seen stays."""
    project.grade_set(("q1", "d1"))
    with project.serve() as server:
        for name, grade in (("Ada", 2), ("Ben", 0)):
            server.visitor(name).vote("dataset", "q1", "d1", grade, "it decides the point")
        chair = server.visitor("Dora")
        assert "no ruling" in chair.refused("/api/rulings/withdraw", **PAIR)
        ruling = PAIR | {"grade": 1, "rationale": "a neighbouring rule", "act": "ruling-one"}
        assert chair.send("/api/rulings", **ruling)["open"] == 0
        assert project.labels() == {("q1", "d1"): 1}
        told = chair.refused("/api/rulings/withdraw", **PAIR, seen="another-one")
        assert "Dora ruled grade 1" in told
        done = chair.send("/api/rulings/withdraw", **PAIR, seen="ruling-one")
        assert (done["open"], project.labels()) == (1, {})
        assert chair.send("/api/rulings", **ruling | {"act": "ruling-two"})["open"] == 0
    assert project.labels() == {("q1", "d1"): 1}


def test_a_vote_may_be_sent_twice(project: Project) -> None:
    """The page makes the id: a retry after a lost answer is the same vote, also on another day."""
    project.grade_set(("q1", "d1"))
    with project.serve() as server:
        ada = server.visitor("Ada")
        for already in (False, True):
            told = ada.vote("dataset", "q1", "d1", 2, "it decides the point", id="the-same-id")
            assert (told["already"], told["holds"]) == (already, True)
    with project.serve() as server:
        ada = server.visitor("Ada")
        assert ada.vote("dataset", "q1", "d1", 2, "it decides the point", id="the-same-id")[
            "already"
        ]
        for wrong in (
            {"grade": 9, "rationale": "tickets are gifts too"},
            {"grade": 1, "rationale": ""},
            {"grade": 1, "rationale": "x" * 5_000},
            {"doc_id": "nowhere", "grade": 1, "rationale": "tickets are gifts too"},
        ):
            answer = ada.post("/api/votes", json=PAIR | {"id": "another-id"} | wrong)
            assert answer.status_code in (400, 404), wrong
        other = server.visitor("Zoe").post(
            "/api/votes",
            json=PAIR | {"id": "zoes-own-id", "grade": 1, "rationale": "tickets are gifts too"},
        )
        assert (other.status_code, "assigned" in other.text) == (400, True)
    assert project.grades() == {("q1", "d1"): {"Ada": 2}}
    assert project.json("gold", "merge", project.graded)["votes"] == 1


def test_a_vote_is_changed_withdrawn_and_given_again(project: Project) -> None:
    """The newest word of a judge holds; an old page is told what holds by now (412)."""
    project.grade_set(("q1", "d1"))
    with project.serve() as server:
        ada = server.visitor("Ada")
        first = ada.vote("dataset", "q1", "d1", 0, "loans are no gifts", seen="")
        said = {"id": "late-vote", "grade": 2, "rationale": "tickets are gifts too", "seen": ""}
        late = ada.post("/api/votes", json=PAIR | said)
        assert late.status_code == 412
        assert late.json()["now"]["vote"] == first["id"]
        second = ada.vote("dataset", "q1", "d1", 2, "tickets are gifts too", seen=first["id"])
        assert project.grades()["q1", "d1"] == {"Ada": 2}
        ada.vote("dataset", "q1", "d1", None, withdrawn=True, seen=second["id"])
        assert ada.pairs("dataset", "q1")["d1"]["vote"] == ""
        assert project.grades() == {}
        assert project.json("gold", "merge", project.graded)["labels"] == 0
        ada.vote("dataset", "q1", "d1", 1, "a neighbouring rule", seen="")
    assert project.grades()["q1", "d1"] == {"Ada": 1}
    project.do("gold", "merge", project.graded)
    assert project.labels() == {("q1", "d1"): 1}


def disputed(project: Project) -> None:
    """Ada and Ben agree on d2 and disagree on d1."""
    project.grade_set(("q1", "d1"), ("q1", "d2"))
    with project.serve() as server:
        for judge, grade in (("Ada", 2), ("Ben", 0)):
            visitor = server.visitor(judge)
            visitor.vote("dataset", "q1", "d1", grade, f"{judge} reads tickets as gifts")
            visitor.vote("dataset", "q1", "d2", 1, f"{judge} reads tickets as gifts")


def test_a_chair_rules_on_the_page_and_labels_follow(project: Project) -> None:
    """A ruling needs a reason, decides the pair, and can be replaced by another."""
    disputed(project)
    with project.serve() as server:
        chair = server.visitor("Carl")
        (found,) = chair.ask("/api/disputes", set="dataset")
        assert (found["query_id"], found["doc_id"], found["apart"]) == ("q1", "d1", 2)
        assert {(vote["judge"], vote["grade"]) for vote in found["votes"]} == {
            ("Ada", 2),
            ("Ben", 0),
        }
        assert chair.get("/agreement/dataset").status_code == 200
        assert chair.get("/agreement/dataset/q1?doc=d1").status_code == 200
        ruling = PAIR | {"grade": 2}
        chair.refused("/api/rulings", **ruling, rationale="")
        assert chair.send("/api/rulings", **ruling, rationale="the same rule")["ruled"] == 1
        assert project.labels() == {("q1", "d1"): 2, ("q1", "d2"): 1}
        assert chair.ask("/api/disputes", set="dataset") == []
        again = PAIR | {"grade": 1, "rationale": "on reflection"}
        chair.send("/api/rulings", **again)
        entries = chair.audit(action="gold.ruled")
    assert [(entry["by"], entry["subject"]) for entry in entries] == [
        ("Carl", "dataset/q1"),
        ("Carl", "dataset/q1"),
    ]
    assert project.labels()["q1", "d1"] == 1
    assert project.grades()["q1", "d1"] == {"Ada": 2, "Ben": 0}, "the judges' votes stay"
    assert project.json("gold", "agreement", project.graded)["pairs"] == 2


def test_votes_from_packets_join_those_of_the_page(project: Project) -> None:
    """A packet is merged once, machines count when the policy says so, and spot checks make no
    label."""
    project.grade_set(("q1", "d1"), ("q1", "d2"), ("q2", "d4"))
    with project.serve() as server:
        server.visitor("Ada").vote("dataset", "q1", "d1", 2, "it decides the point")
    packet = project.packet("Ben", {("q1", "d1"): 2, ("q1", "d2"): "?", ("q2", "d4"): None})
    merged = project.json("gold", "merge", project.graded, packet)
    assert (merged["added"], merged["judges"], merged["labels"]) == (2, {"Ben": 2}, 1)
    assert merged["without_grade"] == 1
    again = project.json("gold", "merge", project.graded, packet)
    assert (again["added"], again["already"]) == (0, 2)
    machine = project.packet("gpt", {("q2", "d4"): 1})
    told = project.json("gold", "merge", project.graded, machine, "--kind", "machine", "--unasked")
    assert (told["not_counted"], project.labels()) == (1, {("q1", "d1"): 2})
    project.do("gold", "policy", project.graded, "--counts", "human,machine")
    assert project.labels() == {("q1", "d1"): 2, ("q2", "d4"): 1}
    project.do("gold", "sample", project.graded, "--size", 5, "--output", "check.jsonl")
    checked = project.packet("Eve", {("q1", "d1"): 0})
    spot = project.json("gold", "merge", project.graded, checked, "--sample")
    assert spot["spot_checks"] == 1
    assert "Eve" not in project.grades()["q1", "d1"]
    report = project.json("gold", "sample", project.graded, "--report")
    assert report["drawn"] >= 1


def test_the_python_api_reads_and_rules(project: Project) -> None:
    """`assay.disputes`, `assay.rule`, `assay.merge_files`, `assay.set_policy` and `load_gold`."""
    disputed(project)
    (found,) = assay.disputes(project.graded)
    assert (found.query_id, found.doc_id) == ("q1", "d1")
    done = assay.rule(project.graded, "q1", "d1", 1, rationale="a neighbour", by="Carl")
    assert done.ruled == 1
    assert assay.disputes(project.graded) == []
    packet = project.packet("Ada", {("q1", "d2"): 2})
    assert assay.merge_files(project.graded, [packet]).added == 1
    assert assay.judges_agreement(project.graded).pairs == 2
    assay.set_policy(project.graded, "senior", seniors=["Ada"])
    gold = assay.load_gold(project.graded)
    assert {
        (row["query_id"], row["doc_id"]): row["grade"]
        for row in gold.judgments.iter_rows(named=True)
    } == project.labels()
    assert project.labels()["q1", "d2"] == 2

"""Flags on queries: raised by judges, seen by their author and by chairs."""

from __future__ import annotations

from kit import Project, Server, Visitor


def people(project: Project, server: Server) -> dict[str, Visitor]:
    """Two judges and a chair who have joined by invitation."""
    roles = {"Root": "admin", "Ada": "judge", "Ben": "judge", "Carl": "chair"}
    found = {}
    for name, role in roles.items():
        link = project.do("people", "invite", name, role).out
        found[name] = server.join(link)
    return found


def test_a_judge_sees_and_takes_off_their_own_flag(project: Project) -> None:
    """A chair sees all flags and takes off all; the audit trail has every one."""
    project.grade_set(("q1", "d1"), ("q2", "d4"))
    before = project.graded.read_bytes()
    with project.serve(accounts=True) as server:
        joined = people(project, server)
        ada, ben, chair = (joined[name] for name in ("Ada", "Ben", "Carl"))
        told = ada.flag("dataset", "q1", "too broad")
        assert told == {"by": "Ada", "reason": "too broad"}
        ben.flag("dataset", "q1", "no answer here")
        ben.flag("dataset", "q2")
        assert ada.flags("dataset") == {"q1": {"by": "Ada", "reason": "too broad"}}
        assert set(ben.flags("dataset")) == {"q1", "q2"}
        shown = chair.flags("dataset")
        assert shown["q1"]["by"] == "Ada, Ben"
        assert "Ada: too broad" in shown["q1"]["reason"]
        assert "Ben: no answer here" in shown["q1"]["reason"]
        assert chair.ask("/api/judge/query", set="dataset", query="q1")["query"]["flag"]
        body = {"set": "dataset", "query_id": "q2", "flagged": False}
        assert "not flagged" in ada.refused("/api/flags", **body), "it is Ben's"
        assert ada.flag("dataset", "q1", flagged=False) is None
        assert chair.flags("dataset")["q1"] == {"by": "Ben", "reason": "no answer here"}
        assert chair.flag("dataset", "q1", "it has one", flagged=False) is None
        assert set(chair.flags("dataset")) == {"q2"}
        assert set(ben.flags("dataset")) == {"q2"}
        trail = [
            (entry["by"], entry["action"], entry["subject"], entry["reason"])
            for entry in reversed(chair.audit())
            if "flag" in entry["action"]
        ]
    assert trail == [
        ("Ada", "flag query", "dataset/q1", "too broad"),
        ("Ben", "flag query", "dataset/q1", "no answer here"),
        ("Ben", "flag query", "dataset/q2", ""),
        ("Ada", "unflag query", "dataset/q1", ""),
        ("Carl", "unflag query", "dataset/q1", "it has one"),
    ]
    assert project.graded.read_bytes() == before, "a flag changes no file of the set"


def test_flags_last_and_need_a_query(project: Project) -> None:
    """A second flag replaces the first; an unknown query and an endless reason are refused."""
    project.grade_set(("q1", "d1"))
    with project.serve() as server:
        judge = server.visitor("Ada")
        judge.flag("dataset", "q2", "too narrow")
        judge.flag("dataset", "q2", "מתנה: too narrow")
        body = {"set": "dataset", "query_id": "q9", "reason": "r"}
        assert judge.post("/api/flags", json=body).status_code == 404
        long = body | {"query_id": "q1", "reason": "x" * 10_000}
        assert "characters" in judge.refused("/api/flags", **long)
    with project.serve() as server:
        found = server.visitor("Ada").flags("dataset")
    assert found == {"q2": {"by": "Ada", "reason": "מתנה: too narrow"}}


def test_flags_on_rows_of_a_gold_set_from_logs(reviewed: Project) -> None:
    """A row can be flagged as a query can; its review is not touched."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        chair.flag("gold-set", "g003", "two questions in one")
        assert chair.flags("gold-set") == {
            "g003": {"by": "Dafna", "reason": "two questions in one"}
        }
    assert reviewed.counts() == (3, 0, 0, 0)

"""Approving rows: `assay gold promote`, the page of an item and its route."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import Project


def test_promote_makes_rows_the_chairs(reviewed: Project) -> None:
    """The rows say `chair`, the file is otherwise unchanged, and the record says who and why."""
    content = b"# head\n" + reviewed.gold.read_bytes()
    reviewed.gold.write_bytes(content)
    words = ("--by", "Dafna", "--why", "right answers")
    done = reviewed.json("gold", "promote", "g001", "g003", *words)
    assert (done["state"], done["ids"], done["already"]) == ("approved", ["g001", "g003"], [])
    assert (done["approval"]["approved"], done["approval"]["total"]) == (2, 3)
    expected = [
        line if b'"g002"' in line else line.replace(b'"bootstrap"', b'"chair"')
        for line in content.splitlines(keepends=True)
    ]
    assert reviewed.gold.read_bytes() == b"".join(expected)
    assert reviewed.counts() == (1, 2, 0, 0)
    assert reviewed.rulings() == 4, "one for each document of a row"
    with reviewed.serve() as server:
        chair = server.visitor()
        assert chair.states() == {"g001": "approved", "g002": "pending_review", "g003": "approved"}
        item = chair.item("g001")
        assert (item["decided_by"], item["reason"]) == ("Dafna", "right answers")
        (entry,) = chair.audit(subject="gold-set/g001")
        assert (entry["by"], entry["action"]) == ("Dafna", "review.approved")
        assert (entry["reason"], entry["at"]) == ("right answers", item["decided_at"])
        assert (entry["before"]["source"], entry["after"]["source"]) == ("bootstrap", "chair")
        history = chair.get("/people/history").text
        assert "Dafna" in history
        assert "right answers" in history


def test_promoting_twice_says_so_and_records_once(reviewed: Project) -> None:
    """A row that is approved already is named and left as it is, bytes included."""
    reviewed.do("gold", "promote", "g001", "--by", "Dafna")
    spaced = reviewed.gold.read_bytes().replace(b'{"id":"g001",', b'{ "id" : "g001",')
    reviewed.gold.write_bytes(spaced)
    again = reviewed.json("gold", "promote", "g001", "g001", "--by", "Noa")
    assert (again["ids"], again["already"]) == ([], ["g001"])
    assert reviewed.gold.read_bytes() == spaced
    told = reviewed.do("gold", "promote", "g001", "g002", "--by", "Noa").err
    assert "approved: g002" in told
    assert "already approved: g001" in told
    assert spaced.splitlines()[0] in reviewed.gold.read_bytes()
    with reviewed.serve() as server:
        entries = server.visitor().audit(action="review.approved")
    assert [(entry["subject"], entry["by"]) for entry in entries] == [
        ("gold-set/g002", "Noa"),
        ("gold-set/g001", "Dafna"),
    ]


REFUSED = [
    (("promote", "g01", "--by", "D"), "no row 'g01'"),
    (("promote", "g0001", "--by", "D"), "Did you mean g001"),
    (("promote", "g001", "g999", "--by", "D"), "no row 'g999'"),
    (("promote", "g001", "--by", " "), "the person who decides is missing"),
    (("promote", "g001", "--by", " "), "gold-set.jsonl: "),
    (("promote", "g001", "--by", "D", "--gold", "no.jsonl"), "no such gold set"),
    (("promote", "g001", "--by", "D", "--gold", "no.jsonl"), "assay gold bootstrap"),
    (("promote", "g001", "--by", "D", "--gold", "typo/gold-set.jsonl"), "no such gold set"),
    (("promote", "xyz", "--by", "D"), "assay serve --gold"),
    (("reject", "g001", "--by", "D", "--why", " "), "a reason is needed to reject"),
    (("reject", "g001", "--by", " ", "--why", "w"), "the person who decides is missing"),
    (("reject", "g001", "nope", "--by", "D", "--why", "w"), "no row 'nope'"),
    (("correct", "g001", "--by", "D", "--why", " ", "--note", "n"),
     "a reason is needed to correct"),
    (("correct", "g001", "--by", "D", "--why", "w", "--remove", "x"), "no document 'x'"),
    (("correct", "g001", "--by", "D", "--why", "w", "--remove", "a", "--remove", "b"),
     "no document would be left"),
    (("correct", "g001", "--by", "D", "--why", "w", "--query", " "), "a row needs a query"),
    (("correct", "g001", "--by", "D", "--why", "w", "--add", "nowhere"), "nowhere"),
    (("reopen", "g001", "--by", "D"), "not rejected"),
    (("reopen", "g001", "--by", "D", "--gold", "no.jsonl"), "no such gold set"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "message"), REFUSED)
def test_what_cannot_be_decided_is_said_and_changes_nothing(
    reviewed: Project, command: tuple[str, ...], message: str
) -> None:
    """Exit code 2, a sentence, and neither file, queue nor audit trail changed."""
    before = reviewed.gold.read_bytes()
    assert message in reviewed.fail("gold", *command)
    assert reviewed.gold.read_bytes() == before
    assert (reviewed.counts(), reviewed.rulings()) == ((3, 0, 0, 0), 0)
    with reviewed.serve() as server:
        assert server.visitor().audit() == []
    assert not {"no.jsonl", "typo"} & {path.name for path in reviewed.folder.iterdir()}


def test_a_row_made_the_chairs_by_hand_counts_as_approved(reviewed: Project) -> None:
    """Promoting it says that it is so already, and leaves the file as the person wrote it."""
    text = reviewed.gold.read_text("utf-8").replace('"bootstrap"', '"chair"', 1)
    reviewed.gold.write_text(text, "utf-8")
    for _ in range(2):
        done = reviewed.json("gold", "promote", "g001", "--by", "Dafna")
        assert (done["ids"], done["already"]) == ([], ["g001"])
        assert done["approval"]["approved"] == 1
    assert reviewed.gold.read_text("utf-8") == text
    assert reviewed.counts() == (2, 1, 0, 0)


def test_unknown_keys_and_line_ends_stay_on_an_approved_row(reviewed: Project) -> None:
    """Also in a file with a byte order mark, Windows line ends and no last one."""
    text = reviewed.gold.read_text("utf-8").replace('{"id":"g001",', '{"x":[1],"id":"g001",')
    content = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode().removesuffix(b"\r\n")
    reviewed.gold.write_bytes(content)
    reviewed.do("gold", "promote", "g001", "g003", "--by", "Dafna")
    now = reviewed.gold.read_bytes()
    assert now.startswith(b'\xef\xbb\xbf{"x":[1],"id":"g001"')
    first, second, third = content.split(b"\r\n")
    lines = now.split(b"\r\n")
    assert lines[:3] == [
        first.replace(b'"bootstrap"', b'"chair"'),
        second,
        third.replace(b'"bootstrap"', b'"chair"'),
    ]
    assert lines[3:] in ([], [b""])


def test_the_page_approves_and_goes_on_to_the_next(reviewed: Project) -> None:
    """The vote on each document is in the chair's name, and the next item is opened."""
    with reviewed.serve() as server:
        chair = server.visitor("דפנה")
        first, second, _ = chair.items()
        answer = chair.press(first["ref"], "approve", why="right")
        assert answer.status_code == 303
        assert answer.headers["location"].startswith(f"/review/{second['id']}?")
        assert chair.get(answer.headers["location"]).status_code == 200
        item = chair.item(first["ref"])
        assert (item["state"], item["decided_by"]) == ("approved", "דפנה")
        assert [(e["by"], e["reason"]) for e in chair.audit()] == [("דפנה", "right")]
    assert reviewed.row(first["ref"])["source"] == "chair"
    assert reviewed.rulings() == 2


def test_an_approval_without_a_reason_is_recorded(reviewed: Project) -> None:
    """The page and the route need no reason to approve; the trail still says something."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        assert chair.press("g001", "approve").status_code == 303
        assert chair.approve("g002")["outcome"] == "approved"
        assert {entry["by"] for entry in chair.audit()} == {"Dafna"}
        assert all(entry["reason"] for entry in chair.audit())


def test_the_filter_of_the_list_stays_after_a_decision(project: Project) -> None:
    """The next item is one of the filtered list, and the last one leads back to it."""
    rows = [("one", "c"), ("two", "d"), ("three", "c")]
    project.searches([{"query": q, "results": ["a"], "corpus": c} for q, c in rows])
    project.cite("D", "a")
    project.bootstrap()
    with project.serve() as server:
        chair = server.visitor()
        first, second = chair.items(corpus="c")
        form = {"action": "approve", "doc": ["a"]}
        answer = chair.post(f"/review/{first['id']}?corpus=c", data=form)
        assert answer.headers["location"].startswith(f"/review/{second['id']}?corpus=c")
        answer = chair.post(f"/review/{second['id']}?corpus=c", data=form)
        assert answer.headers["location"].startswith("/review?corpus=c")


def test_pressing_twice_is_harmless(reviewed: Project) -> None:
    """The second press says that it was done already; nothing is recorded twice."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        form = chair.filled(chair.id("g001")) | {"action": "approve", "why": "w"}
        for said in ("approved", "already"):
            answer = chair.post(f"/review/{chair.id('g001')}", data=form)
            assert answer.status_code == 303
            assert f"said={said}" in answer.headers["location"]
        for already in (False, True):
            assert chair.reject("g002")["already"] == already
        assert len(chair.audit()) == 2
    assert reviewed.rulings() == 4
    assert reviewed.counts() == (1, 1, 1, 0)


@pytest.mark.parametrize("first", ["promote", "reject", "correct"])
def test_an_old_page_does_not_override_another_decider(reviewed: Project, first: str) -> None:
    """Whoever comes second is told who decided, and keeps what was typed."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = chair.id("g001")
        form = chair.filled(item) | {"why": "an old page"}
        change = ("--note", "n") if first == "correct" else ()
        reviewed.do("gold", first, "g001", "--by", "Moshe", "--why", "w", *change)
        before = reviewed.gold.read_bytes()
        for action in ("approve", "reject"):
            answer = chair.post(f"/review/{item}", data=form | {"action": action})
            assert answer.status_code == 400
            assert "by Moshe" in answer.text
            assert "an old page" in answer.text
            said = chair.refused(f"/api/review/{item}/{action}", reason="no")
            assert "by Moshe" in said
        assert [entry["by"] for entry in chair.audit()] == ["Moshe"]
    assert reviewed.gold.read_bytes() == before


def test_of_chairs_who_press_at_once_one_decides(reviewed: Project) -> None:
    """The others are told; the row has the documents of the one who was first."""
    with reviewed.serve() as server:
        chairs = [server.visitor(f"e{n}") for n in range(6)]
        item = chairs[0].id("g001")

        def press(n: int) -> int:
            form = {"action": "approve", "doc": ["a", "b"] if n % 2 else ["a"], "seen": ["a", "b"]}
            return int(chairs[n].post(f"/review/{item}", data=form).status_code)

        with ThreadPoolExecutor(6) as pool:
            assert sorted(pool.map(press, range(6))) == [303] + [400] * 5
        (entry,) = chairs[0].audit()
    kept = ["a", "b"] if int(entry["by"][1:]) % 2 else ["a"]
    assert reviewed.row("g001")["relevant_case_law_ids"] == kept


CHANGES = {
    "a document more": ('["a","b"]', '["a","b","x"]'),
    "other words": ('"first"', '"first, but otherwise"'),
    "another area": ('"area 0"', '"another area"'),
    "a note": ('"note":""', '"note":"wait for the appeal"'),
    "the chair's by hand": ('"bootstrap"', '"chair"'),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("action", ["approve", "correct", "reject"])
def test_a_row_that_changed_in_its_file_is_not_decided_from_an_old_page(
    reviewed: Project, change: str, action: str
) -> None:
    """The page and the route refuse it as often as it is sent; a page opened anew decides. A row
    with another query is another item, which an old page may not find."""
    refused = (400, 404)
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = chair.id("g001")
        form = chair.filled(item) | {"why": "so", "action": action}
        if action == "correct":
            form |= {"action": "approve", "doc": ["a"], "note": "mine"}
        old, new = CHANGES[change]
        text = reviewed.gold.read_text("utf-8").replace(old, new, 1)
        reviewed.gold.write_text(text, "utf-8")
        for _ in range(2):
            assert chair.post(f"/review/{item}", data=form).status_code in refused
        said = {"reason": "so", "seen": form["seen"], "row": form["row"]}
        verb = "reject" if action == "reject" else "approve"
        assert chair.post(f"/api/review/{item}/{verb}", json=said).status_code in refused
        assert reviewed.gold.read_text("utf-8") == text
        assert [entry for entry in chair.audit() if entry["by"] == "Dafna"] == []
        if change != "the chair's by hand":
            shown = chair.item("g001")
            held = reviewed.row("g001")
            assert (shown["query"], shown["doc_ids"]) == (
                held["query"],
                held["relevant_case_law_ids"],
            )
            assert chair.press("g001", verb, why="so").status_code == 303


def test_a_command_does_not_lose_an_edit_by_hand(reviewed: Project) -> None:
    """Whether the first try is refused or not, the row keeps what the person wrote."""
    text = reviewed.gold.read_text("utf-8").replace('["a","b"]', '["a","b","x"]', 1)
    reviewed.gold.write_text(text, "utf-8")
    first = reviewed.run("gold", "promote", "g001", "--by", "eve")
    assert first.code == 0 or (first.code == 2 and "changed since" in first.err)
    assert reviewed.row("g001")["relevant_case_law_ids"] == ["a", "b", "x"]
    reviewed.do("gold", "promote", "g001", "--by", "eve")
    assert reviewed.gold.read_text("utf-8") == text.replace('"bootstrap"', '"chair"', 1)


def test_an_edit_elsewhere_in_the_file_is_no_obstacle(reviewed: Project) -> None:
    """A comment added meanwhile stays, and the row is approved from the old page."""
    with reviewed.serve() as server:
        chair = server.visitor()
        form = chair.filled(chair.id("g001")) | {"action": "approve"}
        with reviewed.gold.open("ab") as stream:
            stream.write(b"# a comment of mine\n")
        assert chair.post(f"/review/{chair.id('g001')}", data=form).status_code == 303
    assert reviewed.gold.read_bytes().endswith(b"# a comment of mine\n")


def test_a_row_replaced_under_its_id_is_not_approved_for_another(reviewed: Project) -> None:
    """The query has another id by now, and the id belongs to a row of the chair."""
    with reviewed.serve() as server:
        chair = server.visitor()
        item = chair.id("g001")
        mine = '{"id":"g001","query":"own","relevant_case_law_ids":["a","b"],"source":"chair"}\n'
        text = reviewed.gold.read_text("utf-8").replace('"g001"', '"g009"') + mine
        reviewed.gold.write_text(text, "utf-8")
        assert chair.post(f"/api/review/{item}/approve", json={}).status_code == 400
        assert chair.by_id(item)["decided_by"] == "file", "the row is the chair's by hand"
    assert reviewed.gold.read_text("utf-8") == text


def test_a_row_that_left_the_file_is_no_longer_in_the_queue(reviewed: Project) -> None:
    """Who has its page open still is told, and what was typed comes back."""
    text = reviewed.gold.read_text("utf-8").splitlines(keepends=True)
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = chair.id("g001")
        reviewed.gold.write_text("".join(text[1:]), "utf-8")
        answer = chair.form(item, "approve", why="typed")
        assert answer.status_code == 404
        assert "typed" in answer.text
        assert [line["id"] for line in chair.picks()] == [chair.id("g002"), chair.id("g003")]
    assert reviewed.counts() == (2, 0, 0, 0)


def test_the_same_act_sent_again_does_nothing(reviewed: Project) -> None:
    """A client that lost the answer sends the decision again, even after it was undone."""
    with reviewed.serve() as server:
        chair = server.visitor("Dafna")
        item = chair.id("g001")
        sent = {"act": "act-of-this-client", "reason": "right"}
        first = chair.post(f"/api/review/{item}/approve", json=sent).json()
        assert (first["already"], first["item"]["act"]) == (False, sent["act"])
        assert chair.post(f"/api/review/{item}/approve", json=sent).json()["already"]
        chair.undo(item)
        assert chair.post(f"/api/review/{item}/approve", json=sent).json()["already"]
        assert chair.by_id(item)["state"] == "pending_review"
        bad = chair.post(f"/api/review/{item}/approve", json={"act": "no id"})
        assert bad.status_code == 400


def test_an_unknown_item_is_not_found(reviewed: Project) -> None:
    """The page gives back what was typed; the routes answer 404."""
    with reviewed.serve() as server:
        chair = server.visitor()
        answer = chair.post("/review/none", data={"action": "approve", "why": "typed"})
        assert answer.status_code == 404
        assert ">typed</textarea>" in answer.text
        for action in ("approve", "reject"):
            chair.refused(f"/api/review/none/{action}", 404, reason="so")
        assert chair.get("/review/none").status_code == 404
        assert chair.get("/api/review/none").status_code == 404

"""The review queue: the list with its filters, one item to read, and who may decide."""

from __future__ import annotations

import json

import pytest

from kit import Project
from kit.sets import acts, log_of

HOSTILE = "<script>alert(1)</script> \"'&"


@pytest.fixture
def queued(project: Project) -> Project:
    """Rows in two corpora and three practice areas; searches also showed c."""
    for n, query in enumerate(["היטל השבחה", "materiality <b>", "third"]):
        more = {"corpus": "cd"[n % 2], "practice_area": f"area {n}"}
        project.log(query, "a", "b", "c", **more)
    project.cite("D-1", "a", "b")
    project.bootstrap()
    return project


def with_corpus(project: Project, name: str = "c") -> None:
    """Import a corpus that has the documents."""
    texts = {"a": "betterment levy on the sale", "b": "a levy", "c": "materiality", "z": HOSTILE}
    source = project.folder / "documents.jsonl"
    lines = [
        {"id": id, "title": f"Title {id}", "text": f"{text}.\n\nAnd more of {id}."}
        for id, text in texts.items()
    ]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    project.do("corpus", "import", "jsonl", source, "--name", name)


def test_the_list_is_filtered_and_paged(queued: Project) -> None:
    """By set, corpus, practice area, kind, age and state; the choices say how many there are."""
    with queued.serve() as server:
        chair = server.visitor()
        whole = chair.ask("/api/review")
        assert (whole["total"], whole["waiting"]) == (3, 3)
        assert {one["value"]: one["items"] for one in whole["choices"]["corpus"]} == {
            "c": 2,
            "d": 1,
        }
        for asked, found in (
            ({"corpus": "d"}, 1),
            ({"practice_area": "area 2"}, 1),
            ({"kind": "judgment"}, 0),
            ({"gold": "gold-set", "kind": "gold_row"}, 3),
            ({"age": "new"}, 3),
            ({"age": "week"}, 0),
            ({"state": "rejected"}, 0),
        ):
            assert chair.ask("/api/review", **asked)["total"] == found, asked
        page = chair.ask("/api/review", limit=2)
        assert (len(page["items"]), page["next_offset"]) == (2, 2)
        assert len(chair.ask("/api/review", limit=2, offset=2)["items"]) == 1
        listed = chair.get("/review?corpus=d").text
        assert "materiality &lt;b&gt;" in listed
        assert "היטל השבחה" not in listed
        assert chair.get("/review?practice_area=none").status_code == 200
        for place, status in (
            ("/api/review?gold=none", 404),
            ("/api/review?limit=x", 400),
            ("/review?age=soon", 400),
        ):
            assert chair.get(place).status_code == status


def test_a_set_that_is_served_fills_the_queue_once(project: Project) -> None:
    """Also one that no bootstrap made; a file that cannot be read is told, and stops no other."""
    gold = project.write_rows({"g1": "one", "g2": "two"})
    text = gold.read_text("utf-8").replace('"bootstrap"', '"chair"', 1)
    gold.write_text(text, "utf-8")
    broken = project.folder / "broken.jsonl"
    broken.write_text("{\n", "utf-8")
    for _ in range(2):
        with project.serve("broken.jsonl") as server:
            items = server.visitor().items(state="pending_review")
            assert [item["ref"] for item in items] == ["g2"]
            assert any("broken" in said for said in server.said)
    assert gold.read_text("utf-8") == text


def test_every_document_of_a_row_can_be_read(queued: Project) -> None:
    """With what speaks for it, other documents that searches showed, and a search for more."""
    with queued.serve() as server:
        chair = server.visitor()
        item = next(each["id"] for each in chair.items() if each["query"] == "היטל השבחה")
        assert chair.get(f"/api/review/{item}/search?q=levy").status_code == 400, "no corpus yet"
        with_corpus(queued)
        page = chair.get(f"/review/{item}").text
        for text in ("Title a", "D-1", "Title c"):
            assert text in page
        assert "And more of b" in chair.get(f"/review/{item}?whole=b").text
        view = chair.ask(f"/api/review/{item}")
        assert [one["doc_id"] for one in view["documents"]] == ["a", "b"]
        assert view["documents"][0]["decisions"][0]["decision_id"] == "D-1"
        assert [(one["doc_id"], one["searches"]) for one in view["candidates"]] == [("c", 1)]
        assert (view["total"], view["lost"]) == (3, False)
        text = chair.ask(f"/api/review/{item}/document", doc_id="z")
        assert text["paragraphs"][0] == [[f"{HOSTILE}.", False]]
        assert chair.get(f"/api/review/{item}/document?doc_id=none").status_code == 404
        found = [one["doc_id"] for one in chair.ask(f"/api/review/{item}/search", q="materiality")]
        assert "c" in found
        assert not {"a", "b"} & set(found), "the row has these"
        assert chair.ask(f"/api/review/{item}/search", q="  ") == []
        answer = chair.form(item, "approve", doc=["a", "z"])
        assert answer.status_code == 303, "a document of the corpus can be added"


def test_evidence_is_shown_under_every_spelling(project: Project) -> None:
    """Two spellings of one query are one row; each document shows the decisions that cite it."""
    for query, doc in {'תב"ע': "a", "תב״ע": "b"}.items():
        project.log(query, doc)
    project.cite("D-7", "a", "b")
    project.bootstrap()
    with project.serve() as server:
        chair = server.visitor()
        (item,) = chair.items()
        documents = chair.ask(f"/api/review/{item['id']}")["documents"]
    assert [
        (one["doc_id"], [sign["decision_id"] for sign in one["decisions"]]) for one in documents
    ] == [("a", ["D-7"]), ("b", ["D-7"])]


def test_stored_text_is_never_markup(project: Project) -> None:
    """Queries, corpora, documents, decisions, reasons and names are escaped on every page."""
    project.log(HOSTILE, HOSTILE, "n", corpus=HOSTILE)
    project.cite(f"D {HOSTILE}", HOSTILE)
    project.bootstrap()
    with project.serve() as server:
        chair = server.visitor(HOSTILE)
        suggestion = server.agent(HOSTILE).suggest("g001", "n", 1, why=HOSTILE)
        row = chair.id("g001")
        places = ["/review", f"/review/{row}", f"/review/{suggestion}", "/review/bulk"]
        pages = [chair.get(place) for place in places]
        pages += [chair.get("/review", params={"corpus": HOSTILE})]
        form = {"action": "reject", "why": HOSTILE, "note": HOSTILE, "doc": HOSTILE}
        pages.append(chair.post(f"/review/{row}", data=form | {"seen": "x"}))
        assert chair.post(f"/review/{row}", data=form | {"seen": HOSTILE}).status_code == 303
        pages += [chair.get(f"/review/{row}"), chair.get("/people/history")]
    for page in pages:
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;" in page.text, page.url


def test_a_form_that_is_no_form_is_refused(queued: Project) -> None:
    """Too many fields, or too large a body: 400, and nothing is decided."""
    with queued.serve() as server:
        chair = server.visitor()
        place = f"/review/{chair.id('g001')}"
        for body in (b"a=1&" * 20_000, b"x" * (5 * 2**20)):
            assert chair.post(place, content=body).status_code == 400
    assert queued.counts() == (3, 0, 0, 0)


def test_judges_look_and_chairs_decide(queued: Project) -> None:
    """Readers see nothing of the queue; a form does not say who decides."""
    with queued.serve(accounts=True) as server:
        joined = {}
        for name, role in {"Ro": "admin", "Re": "reader", "Ju": "judge", "Noa": "chair"}.items():
            joined[name] = server.join(queued.do("people", "invite", name, role).out)
        item = joined["Noa"].id("g001")
        form = {"action": "approve", "doc": ["a", "b"], "by": "somebody else"}
        for name, reads, decides in (("Re", 403, 403), ("Ju", 200, 403), ("Noa", 200, 303)):
            visitor = joined[name]
            page = visitor.get(f"/review/{item}")
            assert page.status_code == reads
            assert ('name="action"' in page.text) == (name == "Noa")
            assert visitor.get("/review").status_code == reads
            assert visitor.get("/api/review").status_code == reads
            if name != "Noa":
                for path in (f"{item}/approve", f"{item}/reject", "bulk", "undo"):
                    assert visitor.post(f"/api/review/{path}", json={}).status_code == 403
                assert visitor.get("/review/bulk").status_code == 403
            assert visitor.post(f"/review/{item}", data=form).status_code == decides
        assert joined["Noa"].item("g001")["decided_by"] == "Noa"
        assert joined["Noa"].audit(subject="gold-set/g001")[0]["by"] == "Noa"


def test_deciding_needs_a_name(queued: Project) -> None:
    """Somebody on this machine who has chosen no name is asked for one first."""
    with queued.serve() as server:
        item = server.visitor("Dafna").id("g001")
        nobody = server.visitor("")
        answer = nobody.post(f"/review/{item}", data={"action": "approve", "by": "me"})
        assert (answer.status_code, answer.headers["location"][:4]) == (303, "/me?")
    assert queued.counts() == (3, 0, 0, 0)


def test_looking_changes_no_file(queued: Project) -> None:
    """Pages that are only read leave the gold set, its neighbours and the counts as they are."""
    before = {path.name: path.read_bytes() for path in queued.folder.iterdir() if path.is_file()}
    with queued.serve() as server:
        chair = server.visitor()
        for place in ("/", "/review", f"/review/{chair.id('g001')}", "/review/bulk", "/judge",
                      "/judge/gold-set", "/agreement", "/people/history"):  # fmt: skip
            for language in ("en", "fi", "he"):
                assert chair.get(place, params={"lang": language}).status_code == 200, place
    after = {path.name: path.read_bytes() for path in queued.folder.iterdir() if path.is_file()}
    assert after == before
    assert queued.counts() == (3, 0, 0, 0)


def test_an_act_of_a_newer_version_decides_nothing(reviewed: Project) -> None:
    """Neither on a row, which it may have changed, nor on a suggestion."""
    with reviewed.serve() as server:
        item = server.agent().suggest("g003", "z", 2)
        chair = server.visitor("Dafna")
        chair.approve("g002")
        row = reviewed.gold.read_text("utf-8").splitlines()[0]
        after = row.replace('"bootstrap"', '"chair"')
        log = log_of(reviewed.gold)
        head = next(act["id"] for act in acts(reviewed.gold) if act.get("rows"))
        common = {"v": 1, "at": "2030-01-01T00:00:00Z", "who": "x", "kind": "chair"}
        hum = {
            "id": "n1",
            "action": "hum",
            "rows": [{"row": "g001", "before": row, "after": after}],
        }
        hum |= {"supersedes": [head]}
        whistle = {"id": "n2", "action": "whistle", "supersedes": [item]}
        with log.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(common | act) + "\n" for act in (hum, whistle))
        assert chair.states() | {"g003": ""} == {
            "g001": "pending_review",
            "g002": "approved",
            "g003": "",
        }
        assert chair.by_id(item)["state"] == "pending_review"
        assert "hum" in chair.item("g001")["reason"]

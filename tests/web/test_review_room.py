"""The chair's gate: the list, one item, many rows at once, taking back; on pages and as calls."""

from __future__ import annotations

import errno
import html
import itertools
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.core.errors import InputError
from assay.corpus.build import import_corpus
from assay.formats import votes_jsonl
from assay.formats.votes_jsonl import read_votes, votes_path
from assay.judging.votes import current
from assay.review.rulings import locked_set
from assay.store import Store, StoreUnavailable
from assay.store.records import Decision, Feedback, SearchLog, Shown
from assay.web import limits
from assay.web.access import User
from assay.web.app import create_app
from assay.web.review_api import REVIEW_API_ROUTES
from assay.web.review_pages import REVIEW_ROUTES
from assay.workbench.backlog import backlog
from assay.workbench.gold import bootstrap_gold, promote_rows
from assay.workbench.opening import Service, gold_path
from assay.workbench.review import (
    AskedPair,
    publish,
    queue,
    queue_pairs,
    rule_suggestion,
    strays,
    suggest,
    withdraw,
)
from assay.workbench.review_item import item_view, search_more
from assay.workbench.review_preview import preview
from assay.workbench.review_queue import Asked, fill_queue, listing
from assay.workbench.review_word import (
    Pick,
    Refused,
    Said,
    approve,
    approve_many,
    last_step,
    take_back,
)
from web_client import local_client

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script> \"'&"


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    """Three rows with the documents a and b; searches also showed c. Time goes on."""
    for n, query in enumerate(["היטל השבחה", "materiality <b>", "third"]):
        shown = (Shown("a", 1), Shown("b", 2), Shown("c", 3))
        at = NOW - timedelta(days=9)
        areas = {"corpus": "cd"[n % 2], "practice_area": f"area {n}"}
        store.add_searches([SearchLog(id=f"l{n}", at=at, query=query, results=shown, **areas)])
    store.add_decisions([Decision(id="D-1", at=NOW - timedelta(days=8), cites=("a", "b"))])
    gold, ticks = tmp_path / "gold-set.jsonl", itertools.count()
    made = Service(
        store=store,
        gold_sets={"gold-set": gold},
        home=tmp_path,
        clock=lambda: NOW + timedelta(seconds=next(ticks)),
    )
    bootstrap_gold(made, gold)
    return made


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    with local_client(service) as opened:
        yield opened


def rows(service: Service) -> dict[str, Any]:
    lines = gold_path(service, "gold-set").read_text().splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def file_of(service: Service) -> bytes:
    return gold_path(service, "gold-set").read_bytes()


def refs(service: Service) -> dict[str, str]:
    items = queue(service, state="", kind="gold_row").items
    return {item.ref: item.id for item in items}


def state(service: Service, item_id: str) -> str:
    return service.store.review_items(ids=[item_id])[0].state


def decide(client: TestClient, service: Service, ref: str, action: str, **fields: Any) -> Any:
    form = {"action": action, "doc": ["a", "b"], "seen": ["a", "b"], **fields}
    return client.post(f"/review/{refs(service)[ref]}", data=form)


def votes(service: Service) -> list[tuple[str, str, int | None, str, str]]:
    kept = read_votes(votes_path(gold_path(service, "gold-set")))
    return [(v.query_id, v.doc_id, v.grade, v.judge, v.rationale) for v in kept]


def with_corpus(service: Service, tmp_path: Path, name: str = "c") -> None:
    texts = {"a": "betterment levy on the sale", "b": "a levy", "c": "materiality", "z": HOSTILE}
    source = tmp_path / "documents.jsonl"
    source.write_text(
        "".join(
            json.dumps({"id": id, "title": f"Title {id}", "text": f"{text}.\n\nAnd more of {id}."})
            + "\n"
            for id, text in texts.items()
        )
    )
    import_corpus("jsonl", source, name=name, home=tmp_path)


# ── the list ──────────────────────────────────────────────────────────────────────────────────────


class TestList:
    def test_what_waits_by_what_it_has_in_common(self, service: Service) -> None:
        whole = listing(service, Asked())
        assert (whole.total, whole.waiting) == (3, 3)
        assert [(choice.value, choice.items) for choice in whole.choices.corpus] == [
            ("c", 2),
            ("d", 1),
        ]
        for asked, found in (
            (Asked(corpus="d"), 1),
            (Asked(practice_area="area 2"), 1),
            (Asked(kind="judgment"), 0),
            (Asked(gold="gold-set", kind="gold_row"), 3),
            (Asked(age="new"), 3),
            (Asked(age="week"), 0),
            (Asked(state="rejected"), 0),
        ):
            assert listing(service, asked).total == found, asked
        later = Service(
            store=service.store,
            gold_sets=service.gold_sets,
            clock=lambda: NOW + timedelta(days=20),
        )
        assert [listing(later, Asked(age=age)).total for age in ("new", "week", "month")] == [
            0,
            3,
            0,
        ]
        assert listing(later, Asked()).items[0].days == 20
        page = listing(service, Asked(), limit=2)
        assert (len(page.items), page.next_offset) == (2, 2)
        assert len(listing(service, Asked(), limit=2, offset=2).items) == 1

    def test_the_page_and_the_call_say_the_same(self, client: TestClient) -> None:
        assert "3 wait for you" in client.get("/review").text
        page = client.get("/review?corpus=d").text
        assert "1 waits for you" in page
        assert "materiality &lt;b&gt;" in page
        assert client.get("/api/review?corpus=d").json()["total"] == 1
        assert client.get("/api/review?gold=none").status_code == 404
        assert client.get("/api/review?limit=x").status_code == 400
        assert client.get("/review?age=soon").status_code == 400
        assert "Nothing here" in client.get("/review?practice_area=none").text

    def test_a_set_that_is_served_fills_the_queue_once(self, store: Store, tmp_path: Path) -> None:
        gold, said = tmp_path / "gold-set.jsonl", list[str]()
        lines = [
            {"id": "g1", "query": "one", "relevant_case_law_ids": ["a"], "source": "bootstrap"},
            {"id": "g2", "query": "two", "relevant_case_law_ids": ["a"], "source": "chair"},
        ]
        gold.write_text("".join(json.dumps(line) + "\n" for line in lines))
        broken = tmp_path / "broken.jsonl"
        broken.write_text("{\n")
        sets = {"broken": broken, "gold-set": gold, "gone": tmp_path / "gone.jsonl"}
        made = Service(store=store, gold_sets=sets, say=said.append)
        before = gold.read_bytes()
        for _ in range(2):
            assert [(one.gold, one.waiting) for one in fill_queue(made)] == [("gold-set", 1)]
        assert [item.ref for item in queue(made).items] == ["g1"]
        assert gold.read_bytes() == before
        assert "broken is not in the queue" in said[0]


# ── one item ──────────────────────────────────────────────────────────────────────────────────────


class TestItem:
    def test_every_document_can_be_read(
        self, client: TestClient, service: Service, tmp_path: Path
    ) -> None:
        with_corpus(service, tmp_path)
        item = refs(service)["g001"]
        page = client.get(f"/review/{item}").text
        assert "Title a" in page
        assert "cited by <bdi>D-1</bdi>" in page
        assert "Title c" in page, "what the searches showed beside the row"
        assert "And more of a" not in page or "Best passages" in page
        whole = client.get(f"/review/{item}?whole=b").text
        assert "And more of b" in whole
        text = client.get(f"/api/review/{item}/document?doc_id=z").json()
        assert text["paragraphs"][0] == [[f"{HOSTILE}.", False]]
        assert client.get(f"/api/review/{item}/document?doc_id=none").status_code == 404
        assert client.get("/api/review/none").status_code == 404
        assert client.get("/review/none").status_code == 404

    def test_the_words_of_the_query_are_marked(self, service: Service, tmp_path: Path) -> None:
        with_corpus(service, tmp_path, "d")
        item = next(item for item in queue(service).items if item.corpus == "d")
        view = item_view(service, item, Asked())
        assert [one.doc_id for one in view.candidates] == ["c"]
        assert ("materiality", True) in view.candidates[0].snippet
        assert (view.around.place, view.total) == (2, 3)

    def test_other_candidates_are_what_searches_showed(self, service: Service) -> None:
        again = SearchLog(id="m", at=NOW, query="Third ", corpus="c", results=(Shown("e", 1),))
        service.store.add_searches([again])
        sign = Feedback(log_id="l2", doc_id="c", kind="click", relevance_score=1, at=NOW)
        service.store.add_feedback([sign])
        item = next(item for item in queue(service).items if item.query == "third")
        found = item_view(service, item, Asked()).candidates
        assert [(one.doc_id, one.searches, one.kinds) for one in found] == [("c", 1, ["click"])]

    def test_more_documents_are_found_by_words(
        self, client: TestClient, service: Service, tmp_path: Path
    ) -> None:
        item = refs(service)["g001"]
        refused = client.get(f"/api/review/{item}/search?q=levy")
        assert refused.status_code == 400
        assert "is not here" in refused.json()["error"]
        assert "is not on this server" in client.get(f"/review/{item}").text
        with_corpus(service, tmp_path)
        found = client.get(f"/api/review/{item}/search?q=materiality").json()
        assert "c" in [one["doc_id"] for one in found]
        assert not {"a", "b"} & {one["doc_id"] for one in found}, "the row has these"
        assert "Title c" in client.get(f"/review/{item}?q=materiality").text
        known = queue(service).items[0]
        assert search_more(service, known, "  ") == []

    def test_approve(self, client: TestClient, service: Service) -> None:
        first, second, _ = queue(service).items
        answer = decide(client, service, first.ref, "approve", why="right")
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/review/{second.id}?said=approved"
        page = client.get(answer.headers["location"]).text
        assert "The row is in the gold set" in page
        assert "1 of 2" in page
        assert rows(service)[first.ref]["source"] == "chair"
        assert [(entry.by, entry.reason) for entry in service.store.audit()] == [("דפנה", "right")]
        assert votes(service) == [
            (first.ref, "a", 1, "דפנה", "right"),
            (first.ref, "b", 1, "דפנה", "right"),
        ]

    def test_approve_with_changes(
        self, client: TestClient, service: Service, tmp_path: Path
    ) -> None:
        decide(client, service, "g001", "approve", doc=["b", "c"], note="see c")
        row = rows(service)["g001"]
        assert (row["relevant_case_law_ids"], row["note"], row["source"]) == (
            ["b", "c"],
            "see c",
            "chair",
        )
        assert {vote[1:3] for vote in votes(service)} == {("a", 0), ("b", 1), ("c", 1)}
        assert {vote[4] for vote in votes(service)} == {""}, "nobody wrote a reason"
        said = decide(client, service, "g002", "approve", doc=["a", "nowhere"])
        assert (said.status_code, "There is no document nowhere here" in said.text) == (400, True)
        with_corpus(service, tmp_path)
        assert decide(client, service, "g003", "approve", doc=["a", "z"]).status_code == 303
        assert rows(service)["g003"]["relevant_case_law_ids"] == ["a", "z"]

    def test_the_filter_stays(self, client: TestClient, service: Service) -> None:
        first, second = (item for item in queue(service).items if item.corpus == "c")
        form = {"action": "approve", "doc": ["a", "b"]}
        answer = client.post(f"/review/{first.id}?corpus=c", data=form)
        assert answer.headers["location"] == f"/review/{second.id}?corpus=c&said=approved"
        answer = client.post(f"/review/{second.id}?corpus=c", data=form)
        assert answer.headers["location"] == "/review?corpus=c&said=approved"

    @pytest.mark.parametrize("way", ["page", "api"])
    def test_a_row_that_changed_in_its_file_is_shown_anew(
        self, client: TestClient, service: Service, way: str
    ) -> None:
        """Also when only the area changed, which no list of documents tells."""
        item = refs(service)["g001"]
        path = gold_path(service, "gold-set")
        page = client.get(f"/review/{item}").text
        (row,) = re.findall(r'name="row" value="(\w+)"', page)
        area = re.search(rb'"practice_area":"[^"]*"', path.read_bytes())
        assert area is not None
        path.write_bytes(path.read_bytes().replace(area[0], b'"practice_area":"another"', 1))
        before = file_of(service)
        for _ in range(2):  # the second time the queue has the row as it is, and the page is old
            if way == "page":
                answer = decide(client, service, "g001", "approve", row=row)
            else:
                said = {"seen": ["a", "b"], "row": row}
                answer = client.post(f"/api/review/{item}/approve", json=said)
            assert (answer.status_code, "changed since you saw it" in answer.text) == (400, True)
        assert (file_of(service), votes(service)) == (before, [])
        (row,) = re.findall(r'name="row" value="(\w+)"', client.get(f"/review/{item}").text)
        assert decide(client, service, "g001", "approve", row=row).status_code == 303

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"action": "reject", "why": " "}, "say why"),
            ({"doc": []}, "No document would be left"),
            ({"action": ""}, "approve or reject"),
            ({"seen": ["a"]}, "changed since you saw it"),
        ],
    )
    def test_what_cannot_be_done_is_said_beside_what_was_typed(
        self, client: TestClient, service: Service, fields: Any, message: str
    ) -> None:
        before = file_of(service)
        form = {"why": "overruled <in> 2024", "note": "see ע״א 1/20", "doc": ["b", "c"]} | fields
        answer = decide(client, service, "g001", form.pop("action", "approve"), **form)
        assert (answer.status_code, message in answer.text) == (400, True)
        for value in (form["note"], form["why"]):
            assert f'value="{html.escape(value)}"' in answer.text
        if "doc" not in fields and "seen" not in fields:
            ticks = re.findall(r'name="doc" form="review" value="(\w)"( checked)?', answer.text)
            assert ticks == [("a", ""), ("b", " checked"), ("c", " checked")]
        assert file_of(service) == before

    def test_what_is_not_there(self, client: TestClient) -> None:
        answer = client.post("/review/none", data={"action": "approve", "why": "typed"})
        assert (answer.status_code, "no longer in the queue" in answer.text) == (404, True)
        assert ">typed</textarea>" in answer.text
        for action in ("approve", "reject"):
            answer = client.post(f"/api/review/none/{action}", json={"reason": "so"})
            assert answer.status_code == 404
            assert "no longer in the queue" in answer.json()["error"]

    def test_what_was_typed_outlives_the_store(self) -> None:
        class Gone:
            def __getattr__(self, name: str) -> Any:
                raise StoreUnavailable("connection refused")

        with local_client(Service(store=Gone())) as client:  # type: ignore[arg-type]
            form = {"action": "reject", "why": "two pages of reasons", "doc": "a", "seen": "a"}
            answer = client.post("/review/i", data=form)
        assert (answer.status_code, "connection refused" in answer.text) == (503, True)
        assert ">two pages of reasons</textarea>" in answer.text
        assert 'name="action" value="reject"' in answer.text
        assert 'name="doc" value="a"' in answer.text

    def test_a_form_that_is_no_form(self, client: TestClient, service: Service) -> None:
        place = f"/review/{refs(service)['g001']}"
        for body, message in (
            (b"a=1&" * 20_000, "cannot be read"),
            (b"x" * (5 * 2**20), "larger than 4 MiB"),
        ):
            answer = client.post(place, content=body)
            assert (answer.status_code, message in answer.text) == (400, True)

    def test_stored_text_is_text(self, store: Store, tmp_path: Path) -> None:
        log = SearchLog(
            id="x",
            at=NOW,
            query=HOSTILE,
            corpus=HOSTILE,
            results=(Shown(HOSTILE, 1), Shown("n", 2)),
        )
        store.add_searches([log])
        cited = Decision(id=f"D {HOSTILE}", at=NOW + timedelta(days=1), cites=(HOSTILE,))
        store.add_decisions([cited])
        made = Service(store=store, gold_sets={"gold-set": tmp_path / "gold-set.jsonl"})
        bootstrap_gold(made, tmp_path / "gold-set.jsonl")
        item = suggest(made, "gold-set", ("g001", "n"), 1, rationale=HOSTILE, by=HOSTILE)
        client = local_client(made, name=HOSTILE)
        row = queue(made, kind="gold_row").items[0]
        places = ["/review", f"/review/{row.id}", f"/review/{item.id}", "/review/bulk"]
        places += [f"/review?corpus={HOSTILE}", f"/review/{row.id}?q={HOSTILE}"]
        pages = [client.get(place) for place in places]
        form = {"action": "reject", "why": HOSTILE, "note": HOSTILE, "doc": HOSTILE, "seen": "x"}
        pages.append(client.post(f"/review/{row.id}", data=form))
        client.post(f"/review/{row.id}", data=form | {"seen": HOSTILE})
        pages.append(client.get(f"/review/{row.id}"))
        for page in pages:
            assert "<script>alert" not in page.text
            assert "&lt;script&gt;" in page.text, page.url


# ── twice, late, and at once ──────────────────────────────────────────────────────────────────────


class TestTwice:
    def test_pressing_twice_is_harmless_and_said_kindly(
        self, client: TestClient, service: Service
    ) -> None:
        first, again = (decide(client, service, "g001", "approve", why="w") for _ in range(2))
        assert (first.status_code, again.status_code) == (303, 303)
        assert "said=already" in again.headers["location"]
        assert "a moment ago already" in client.get(again.headers["location"]).text
        assert len(service.store.audit()) == 1
        assert len(votes(service)) == 2
        item = refs(service)["g002"]
        for already in (False, True):
            answer = client.post(f"/api/review/{item}/reject", json={"reason": "no"})
            assert (answer.status_code, answer.json()["already"]) == (200, already)
        for outcome in ("done", "already"):
            answer = client.post("/api/review/undo", json={"ids": [item]}).json()
            assert answer[outcome] == [item]

    def test_an_old_page_does_not_undo_what_another_decided(
        self, client: TestClient, service: Service
    ) -> None:
        promote_rows(service, gold_path(service, "gold-set"), ["g001"], by="Moshe")
        before = file_of(service)
        said = decide(client, service, "g001", "reject", why="an old page").text
        assert "decided already, by Moshe" in said
        assert ">an old page</textarea>" in said
        assert file_of(service) == before
        answer = client.post(f"/api/review/{refs(service)['g001']}/approve", json={})
        assert (answer.status_code, "by Moshe" in answer.json()["error"]) == (400, True)

    def test_of_chairs_who_press_at_once_one_decides(self, service: Service) -> None:
        item, app = refs(service)["g001"], create_app(service)
        chairs = [local_client(service, name=f"e{n}") for n in range(8)]
        assert app is not None

        def press(n: int) -> int:
            form = {"action": "approve", "doc": ["a", "b"] if n % 2 else ["a"], "seen": ["a", "b"]}
            return chairs[n].post(f"/review/{item}", data=form).status_code

        with ThreadPoolExecutor(8) as pool:
            codes = sorted(pool.map(press, range(8)))
        assert codes == [303] + [400] * 7
        (entry,) = service.store.audit()
        kept = ["a", "b"] if int(entry.by[1:]) % 2 else ["a"]
        assert rows(service)["g001"]["relevant_case_law_ids"] == kept


# ── suggestions ───────────────────────────────────────────────────────────────────────────────────


class TestSuggestions:
    def test_it_changes_only_the_pair_that_it_names(
        self, client: TestClient, service: Service
    ) -> None:
        before = rows(service)
        item = suggest(
            service,
            "gold-set",
            ("g003", "z"),
            3,
            rationale="on point",
            by="agent",
            allow_unknown=True,
        )
        assert rows(service) == before
        client.post(f"/review/{item.id}", data={"action": "approve"})
        row = rows(service)["g003"]
        assert (row["relevant_case_law_ids"], row["source"]) == (["a", "b", "z"], "bootstrap")
        assert backlog(service).pending_review == 3, "the row goes on waiting"
        assert votes(service) == [("g003", "z", 3, "דפנה", "")], "and none of the agent's words"
        waiting = next(item for item in queue(service).items if item.ref == "g003")
        assert waiting.doc_ids == ("a", "b", "z"), "the chair sees it in the row"
        bootstrap_gold(service, gold_path(service, "gold-set"))
        assert rows(service)["g003"]["relevant_case_law_ids"] == ["a", "b", "z"], "it is kept"

    def test_its_grade_can_be_changed(self, client: TestClient, service: Service) -> None:
        item = suggest(service, "gold-set", ("g003", "b"), 3, rationale="on point", by="agent")
        page = client.get(f"/review/{item.id}").text
        assert re.search(r'value="3" data-key="3" checked', page)
        form = {"action": "approve", "grade": "0", "why": "overruled"}
        client.post(f"/review/{item.id}", data=form)
        assert rows(service)["g003"]["relevant_case_law_ids"] == ["a"]
        assert votes(service) == [("g003", "b", 0, "דפנה", "overruled")]
        bootstrap_gold(service, gold_path(service, "gold-set"))
        assert rows(service)["g003"]["relevant_case_law_ids"] == ["a"]
        last = suggest(service, "gold-set", ("g003", "a"), 0, rationale="", by="agent")
        with pytest.raises(InputError, match="no document would be left"):
            approve(service, last.id, Said(), by="d")

    def test_on_a_row_of_the_chair(self, service: Service) -> None:
        promote_rows(service, gold_path(service, "gold-set"), ["g003"], by="d")
        item = suggest(
            service, "gold-set", ("g003", "z"), 1, rationale="", by="agent", allow_unknown=True
        )
        approve(service, item.id, Said(), by="d")
        row = rows(service)["g003"]
        assert (row["relevant_case_law_ids"], row["source"]) == (["a", "b", "z"], "chair")
        take_back(service, [item.id], by="d")
        assert rows(service)["g003"]["relevant_case_law_ids"] == ["a", "b"]
        assert rows(service)["g003"]["source"] == "chair"

    def test_a_pair_that_is_asked_for_gets_its_grade_from_the_chair(
        self, client: TestClient, service: Service
    ) -> None:
        pairs = [AskedPair(query_id="g003", doc_id=doc, narrowing=0.1) for doc in ("z", "y")]
        path = gold_path(service, "gold-set")
        assert [queue_pairs(service, path, pairs) for _ in range(2)] == [2, 0]
        first, second = queue(service, kind="judgment").items
        assert (first.doc_ids, first.grade) == (("z",), None), "no grade to lean on"
        assert 'name="grade"' in client.get(f"/review/{first.id}").text
        said = client.post(f"/review/{first.id}", data={"action": "approve", "why": "w"}).text
        assert "Give the document a grade" in said
        client.post(f"/review/{first.id}", data={"action": "approve", "grade": "2"})
        client.post(f"/review/{second.id}", data={"action": "approve", "grade": "0"})
        assert rows(service)["g003"]["relevant_case_law_ids"] == ["a", "b", "z"]
        assert {vote[1:3] for vote in votes(service)} == {("z", 2), ("y", 0)}

    def test_a_declined_one_changes_nothing(self, client: TestClient, service: Service) -> None:
        before = file_of(service)
        item = suggest(
            service,
            "gold-set",
            ("g003", "z"),
            3,
            rationale="on point",
            by="agent",
            allow_unknown=True,
        )
        assert client.post(f"/review/{item.id}", data={"action": "reject"}).status_code == 400
        client.post(f"/review/{item.id}", data={"action": "reject", "why": "off point"})
        assert (file_of(service), state(service, item.id)) == (before, "rejected")

    def test_of_a_set_that_is_not_here(self, service: Service, tmp_path: Path) -> None:
        item = suggest(
            service,
            "gold-set",
            ("g003", "z"),
            3,
            rationale="on point",
            by="agent",
            allow_unknown=True,
        )
        with pytest.raises(InputError, match="a set that is not open here: gold-set"):
            rule_suggestion(Service(store=service.store), item.id, accept=True, by="d")
        assert state(service, item.id) == "pending_review"
        other = tmp_path / "graded.csv"
        other.write_text("query_id,query,doc_id,grade\nq1,one,a,1\n")
        queue_pairs(service, other, [AskedPair(query_id="q1", doc_id="z")])
        pair = next(one for one in queue(service, kind="judgment").items if one.ref == "q1")
        here = local_client(Service(store=service.store, gold_sets={"graded": other}))
        assert "keeps the grade as your vote" in here.get(f"/review/{pair.id}").text
        away = local_client(Service(store=service.store))
        page = away.get(f"/review/{pair.id}")
        assert (page.status_code, "the set is not here" in page.text) == (200, True)
        away.post(f"/review/{pair.id}", data={"action": "reject", "why": "w"})
        assert state(service, pair.id) == "rejected"


# ── taking back, and many ─────────────────────────────────────────────────────────────────────────


class TestBack:
    def test_an_approval(self, client: TestClient, service: Service) -> None:
        before = rows(service)
        decide(client, service, "g001", "approve", doc=["b", "c"], note="n")
        assert [item.ref for item in last_step(service, "דפנה")] == ["g001"]
        assert 'data-key="z"' in client.get("/review").text
        item = refs(service)["g001"]
        answer = client.post("/review/undo", data={"id": item})
        assert answer.headers["location"] == f"/review/{item}?said=taken_back"
        assert rows(service) == before
        assert state(service, item) == "pending_review"
        assert {vote[1:3] for vote in votes(service)[-3:]} == {
            ("a", None),
            ("b", None),
            ("c", None),
        }
        assert decide(client, service, "g001", "approve").status_code == 303, "and again"

    @pytest.mark.parametrize("of", ["row", "suggestion"])
    def test_by_another_chair_its_votes_hold_no_more(self, service: Service, of: str) -> None:
        """As on the judging page: a vote that is taken back is superseded, and counts no more."""
        path = gold_path(service, "gold-set")
        item = refs(service)["g001"]
        if of == "suggestion":
            item = suggest(
                service, "gold-set", ("g001", "z"), 1, rationale="", by="agent", allow_unknown=True
            ).id
        approve(service, item, Said(), by="Dora")
        given = read_votes(votes_path(path))
        assert {vote.judge for vote in current(given)} == {"Dora"}
        (decided,) = service.store.review_items(ids=[item])
        take_back(service, [item], by="Eve", seen={item: decided.decided_at})  # type: ignore[dict-item]
        every = read_votes(votes_path(path))
        assert every[: len(given)] == given, "nothing is deleted"
        assert current(every) == []
        taken = every[len(given) :]
        assert {vote.supersedes for vote in taken} == {vote.id for vote in given}
        assert {(vote.judge, vote.source) for vote in taken} == {("Eve", "withdrawn")}
        approve(service, item, Said(), by="Eve")
        assert {vote.judge for vote in current(read_votes(votes_path(path)))} == {"Eve"}

    @pytest.mark.parametrize("where", ["page", "item", "api"])
    def test_an_old_page_takes_no_newer_decision_back(
        self, client: TestClient, service: Service, where: str
    ) -> None:
        decide(client, service, "g001", "approve")
        item = refs(service)["g001"]
        address = "/review" if where == "page" else f"/review/{item}"
        shown = client.get(address).text
        (said,) = re.findall(r'name="decided" value="([^"]+)"', shown)
        (mine,) = service.store.review_items(ids=[item])
        take_back(service, [item], by=mine.decided_by)
        approve(service, item, Said(), by="Moshe")
        if where == "api":
            sent = {"decided": dict([said.split(" ")])}
            answer = client.post("/api/review/undo", json=sent).json()
            assert (answer["done"], "by Moshe" in answer["refused"][item]) == ([], True)
        else:
            refused = client.post("/review/undo", data={"id": item, "decided": said})
            assert (refused.status_code, "decided anew since" in refused.text) == (400, True)
        (now,) = service.store.review_items(ids=[item])
        assert (now.state, now.decided_by) == ("approved", "Moshe")
        # what another decided, and the page shows, can be taken back
        (said,) = re.findall(r'name="decided" value="([^"]+)"', client.get(f"/review/{item}").text)
        done = client.post("/review/undo", data={"id": item, "decided": said})
        assert "said=taken_back" in done.headers["location"]

    def test_a_page_tells_that_files_follow(
        self, client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        item = refs(service)["g001"]
        for state in ("approved", "pending_review"):
            with monkeypatch.context() as patched:
                patched.setattr(votes_jsonl, "_write", full)
                answer = (
                    decide(client, service, "g001", "approve")
                    if state == "approved"
                    else client.post("/review/undo", data={"id": item})
                )
            assert (answer.status_code, "its files cannot be written" in answer.text) == (503, True)
            (now,) = service.store.review_items(ids=[item])
            assert now.state == state
            with locked_set(service.store, gold_path(service, "gold-set")):
                pass  # whoever comes next

    def test_a_rejection(self, client: TestClient, service: Service) -> None:
        decide(client, service, "g002", "reject", why="not asked")
        assert "g002" not in rows(service)
        client.post("/review/undo", data={"id": refs(service)["g002"]})
        assert rows(service)["g002"]["source"] == "bootstrap"

    def test_what_changed_since_or_is_published_stays(self, service: Service) -> None:
        path = gold_path(service, "gold-set")
        items = refs(service)
        for ref in ("g001", "g002", "g003"):
            approve(service, items[ref], Said(), by="d")
        path.write_text(path.read_text().replace("third", "another", 1))
        changed = next(id for id, row in rows(service).items() if row["query"] == "another")
        undone = take_back(service, [items[changed]], by="d")
        assert "changed after it was approved" in undone.refused[items[changed]]
        publish(service, path, path.with_name("b.json"), b"{}", by="ci")
        undone = take_back(service, [items["g001"], "none"], by="d")
        assert "committed baseline" in undone.refused[items["g001"]]
        assert set(undone.refused) == {items["g001"], "none"}
        with pytest.raises(Refused, match="your name is missing"):
            take_back(service, [], by=" ")

    def test_a_row_that_was_approved_by_hand(self, client: TestClient, service: Service) -> None:
        path = gold_path(service, "gold-set")
        text = path.read_text()
        path.write_text(text.replace('"source":"bootstrap"', '"source":"chair"', 1))
        fill_queue(service)
        (item,) = queue(service, state="approved").items
        said = f"{item.id} {item.decided_at.isoformat()}"  # type: ignore[union-attr]
        answer = client.post("/review/undo", data={"id": item.id, "decided": said})
        assert (answer.status_code, "was not given on this page" in answer.text) == (400, True)


class TestMany:
    def test_the_preview_is_what_happens(self, client: TestClient, service: Service) -> None:
        suggest(
            service,
            "gold-set",
            ("g003", "z"),
            3,
            rationale="on point",
            by="agent",
            allow_unknown=True,
        )
        shown = preview(service, Asked())
        assert [line.item.ref for line in shown.lines] == ["g001", "g002", "g003"]
        assert [(one.gold, one.rows, one.votes) for one in shown.sets] == [("gold-set", 3, 6)]
        assert [item.kind for item in shown.left_out] == ["judgment"]
        page = client.get("/review/bulk").text
        assert "Approve these 3 rows?" in page
        assert "6 votes are written in your name" in page
        before = file_of(service)
        form = {
            "id": [line.item.id for line in shown.lines[:2]],
            "seen": re.findall(r'name="seen" value="([^"]+)"', page),
            "why": "read together",
        }
        answer = client.post("/review/bulk", data=form)
        assert answer.headers["location"] == "/review?said=approved"
        assert {id for id, row in rows(service).items() if row["source"] == "chair"} == {
            "g001",
            "g002",
        }
        assert {vote[4] for vote in votes(service)} == {"read together"}
        again = client.post("/review/bulk", data=form)
        assert again.headers["location"] == "/review?said=already"
        step = [item.id for item in last_step(service, "דפנה")]
        assert len(step) == 2
        answer = client.post("/review/undo", data={"id": step})
        assert answer.headers["location"] == "/review?said=taken_back"
        assert file_of(service) == before

    def test_what_changed_since_the_preview_is_left(
        self, client: TestClient, service: Service
    ) -> None:
        shown = preview(service, Asked())
        picks = [Pick(id=line.item.id, seen=line.seen) for line in shown.lines]
        item = suggest(
            service, "gold-set", ("g002", "z"), 3, rationale="", by="agent", allow_unknown=True
        )
        approve(service, item.id, Said(), by="d")
        promote_rows(service, gold_path(service, "gold-set"), ["g003"], by="Moshe")
        sent = {"items": [{"id": pick.id, "seen": pick.seen} for pick in picks]}
        outcome = client.post("/api/review/bulk", json=sent).json()
        assert outcome["done"] == [refs(service)["g001"]]
        said = {row: outcome["refused"][refs(service)[row]] for row in ("g002", "g003")}
        assert "changed since you saw it" in said["g002"]
        assert "by Moshe" in said["g003"]
        form = {"id": [pick.id for pick in picks], "seen": [f"{p.id}:{p.seen}" for p in picks]}
        page = client.post("/review/bulk", data=form).text
        assert "0 rows were approved. 2 were left as they are:" in page
        assert client.post("/review/bulk", data={}).status_code == 400

    def test_suggestions_are_not_approved_in_passing(self, service: Service) -> None:
        item = suggest(
            service, "gold-set", ("g003", "z"), 3, rationale="", by="agent", allow_unknown=True
        )
        outcome = approve_many(service, [Pick(id=item.id, seen="")], by="d")
        assert "on its own page" in outcome.refused[item.id]
        with pytest.raises(InputError, match="more than 200"):
            approve_many(service, [Pick(id=str(n), seen="") for n in range(201)], by="d")


# ── who, and what is lost ─────────────────────────────────────────────────────────────────────────


class TestRoles:
    def test_judges_look_and_chairs_decide(self) -> None:
        for row in [*REVIEW_ROUTES, *REVIEW_API_ROUTES]:
            decides = row.methods == ("POST",) or row.path.endswith("/bulk")
            assert row.role == ("chair" if decides else "judge"), row

    def test_a_judge_cannot_decide(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        client = local_client(service)
        item = refs(service)["g001"]
        for role, reads, decides in (
            ("reader", 403, 403),
            ("judge", 200, 403),
            ("chair", 200, 303),
        ):
            monkeypatch.setattr(limits, "identify", lambda request, r=role: User("Noa", r))
            page = client.get(f"/review/{item}")
            assert page.status_code == reads
            assert ('name="action"' in page.text) == (decides == 303)
            if reads == 200:
                listed = client.get("/review?lang=en").text
                assert ("wait for a chair" in listed) == (role == "judge")
                assert ("to review" in listed) == (role == "chair"), "nobody else is asked"
            assert client.get("/api/review").status_code == reads
            form = {"action": "approve", "doc": ["a", "b"], "by": "somebody else"}
            assert client.post(f"/review/{item}", data=form).status_code == decides
        assert service.store.audit()[0].by == "Noa", "a form does not say who decides"

    def test_deciding_needs_a_name(self, service: Service) -> None:
        client = local_client(service, name="")
        item = refs(service)["g001"]
        answer = client.post(f"/review/{item}", data={"action": "approve", "by": "me"})
        assert (answer.status_code, answer.headers["location"][:4]) == (303, "/me?")
        with pytest.raises(Refused, match="your name is missing"):
            approve(service, item, Said(), by=" ")


class TestLost:
    def test_what_waits_for_a_row_that_is_gone(self, client: TestClient, service: Service) -> None:
        """It is said, and can be turned down; nothing waits for ever and nothing goes unsaid."""
        gold = gold_path(service, "gold-set")
        suggest(
            service,
            "gold-set",
            ("g002", "z"),
            3,
            rationale="on point",
            by="agent",
            allow_unknown=True,
        )
        lines = gold.read_text().splitlines(keepends=True)
        gold.write_text("".join(line for line in lines if '"g001"' not in line))
        assert client.get("/api/system/diagnostics").json()["gold"]["without_a_row"] == {
            "gold-set": 1
        }
        assert "1 of the pending have no row" in client.get("/").text
        said = decide(client, service, "g001", "approve", why="typed").text
        assert "no longer in its gold set" in said
        assert 'value="typed"' in said
        assert "g001" not in [line.item.ref for line in preview(service, Asked()).lines]
        assert decide(client, service, "g001", "reject", why="not asked").status_code == 303
        assert (backlog(service).rejected, strays(service)) == (1, [])
        gold.unlink()
        assert len(strays(service)) == backlog(service).pending_review == 3
        with pytest.raises(InputError, match="cannot be found from here"):
            withdraw(service, "gold-set", by="d")
        assert withdraw(service, "gold-set", by="d", why="the set was given up", gone=True) == 3
        assert (backlog(service).pending_review, backlog(service).total) == (0, 1)
        gone = service.store.audit(action="review.withdrawn")
        assert {(entry.by, entry.reason) for entry in gone} == {("d", "the set was given up")}
        bootstrap_gold(service, gold)
        assert backlog(service).pending_review == 2, (
            "rows come back with the file, the rejected one does not"
        )

"""The server: other programs log, monitors read, experts decide; all numbers come from one
function."""

from __future__ import annotations

import html
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
from assay.formats.votes_jsonl import read_votes, votes_path
from assay.reports.words import page_words
from assay.store import Store, StoreUnavailable, open_store
from assay.store.records import Decision, SearchLog, Shown
from assay.telemetry.recorder import Recorder, Recording
from assay.web.app import create_app
from assay.workbench.backlog import Limits, backlog, check_backlog
from assay.workbench.gold import bootstrap_gold
from assay.workbench.logs import purge
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
from web_client import local_client

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
STATIC = ("pages.css", "pages.js", "theme.js", "review.js")
SIX = ["pending_review", "approved", "rejected", "published", "total", "oldest_pending_at"]


@pytest.fixture
def service(store: Store, store_url: str, tmp_path: Path) -> Iterator[Service]:
    for n, query in enumerate(["היטל השבחה", "materiality <b>", "third"]):
        shown = (Shown("a", 1), Shown("b", 2))
        store.add_searches(
            [
                SearchLog(
                    id=f"l{n}", at=NOW - timedelta(days=9), query=query, corpus="c", results=shown
                )
            ]
        )
    store.add_decisions([Decision(id="D-1", at=NOW - timedelta(days=8), cites=("a", "b"))])
    recorder = Recorder(lambda: open_store(store_url), Recording(interval=0.01))
    gold = tmp_path / "gold-set.jsonl"
    made = Service(
        store=store,
        gold_sets={"gold-set": gold},
        home=tmp_path,
        clock=lambda: NOW,
        recorder=recorder,
    )
    bootstrap_gold(made, gold)
    yield made
    recorder.close()


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    with local_client(service) as opened:
        yield opened


def rows(service: Service) -> dict[str, Any]:
    return {
        row["id"]: row
        for row in map(json.loads, gold_path(service, "gold-set").read_text().splitlines())
    }


def refs(service: Service) -> dict[str, str]:
    return {item.ref: item.id for item in queue(service, state="").items}


def decide(client: TestClient, service: Service, ref: str, action: str, **fields: Any) -> Any:
    form = {"item": refs(service)[ref], "action": action, "doc": ["a", "b"], **fields}
    return client.post("/review", data=form)


class TestLogging:
    def test_a_search_from_another_language(self, client: TestClient, service: Service) -> None:
        sent = {
            "id": "x1",
            "query": "q",
            "results": [{"doc_id": "a", "score": 1.5}, "b"],
            "at": "2026-05-31T10:00:00Z",
        }
        answer = client.post("/api/log", json=sent)
        assert (answer.status_code, answer.json()) == (202, {"ids": ["x1"], "dropped": 0})
        answer = client.post("/api/log", json=[sent, {"query": "another"}])
        assert service.recorder is not None
        assert service.recorder.flush()
        assert {search.query for search in service.store.searches(answer.json()["ids"])} == {
            "q",
            "another",
        }
        assert service.store.searches(["x1"])[0].results == (Shown("a", 1, 1.5), Shown("b", 2))

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"{", "not JSON"),
            (b"\xff", "not JSON"),
            (b'{"results":[]}', "missing required field `query`"),
            (b'[{"query":"a"},{"query":7}]', r"\[1\]: Expected `str`"),
            (b'{"query":"a","results":[{}]}', "no document id"),
            (b'{"query":"a","at":"soon"}', "not a date"),
            (b'{"query":"a","at":"0001-01-01T00:00:00+12:00"}', "not a date"),
            (b"[" + b"[" * 100_000, "not JSON"),
            (b"[" + b",".join([b'{"query":"q"}'] * 1001) + b"]", "1001 records are more"),
            (b" " * (5 * 2**20), "larger than 4 MiB"),
        ],
    )
    def test_what_is_wrong_is_said(self, client: TestClient, body: bytes, message: str) -> None:
        answer = client.post("/api/log", content=body)
        assert answer.status_code == 400
        assert re.search(message, answer.json()["error"])

    @pytest.mark.parametrize(
        "sent",
        [
            {"rank": 0},
            {"rank": 10**12},
            {"rank": 10**20},
            {"doc_id": ""},
            {"log_id": ""},
            {"at": "soon"},
        ],
    )
    def test_feedback_that_cannot_be(self, client: TestClient, sent: dict[str, Any]) -> None:
        answer = client.post(
            "/api/feedback", json={"log_id": "l0", "doc_id": "a", "kind": "click"} | sent
        )
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("[0]: ")

    def test_a_full_queue_is_told(self, store: Store) -> None:
        def down() -> Store:
            raise StoreUnavailable("down")

        recorder = Recorder(down, Recording(capacity=1, close_timeout=0))
        with TestClient(create_app(Service(store=store, recorder=recorder))) as client:
            answers = [client.post("/api/log", json={"query": "q"}) for _ in range(5)]
        recorder.close()
        assert (answers[-1].status_code, answers[-1].json()["dropped"]) == (503, 1)

    def test_feedback_and_decisions(self, client: TestClient, service: Service) -> None:
        assert (
            client.post(
                "/api/feedback", json={"log_id": "l0", "doc_id": "b", "kind": "click"}
            ).json()["new"]
            == 1
        )
        assert (
            client.post(
                "/api/feedback", json={"log_id": "l0", "doc_id": "b", "kind": "smell"}
            ).status_code
            == 400
        )
        service.store.add_searches(
            [SearchLog(id="n", at=NOW, query="new", results=(Shown("z", 3),))]
        )
        answer = client.post(
            "/api/decisions", json={"id": "D-2", "at": "2026-06-30", "cites": ["z"]}
        )
        assert answer.json() == {"read": 1, "feedback": 1, "unresolved": 0}
        assert (
            client.post(
                "/api/decisions", json={"id": "D-3", "at": "2026-06-30", "text": "see"}
            ).status_code
            == 400
        )


class TestNumbers:
    @pytest.mark.parametrize("store_url", ["sqlite", "postgresql"], indirect=True)
    def test_every_place_says_the_same(self, client: TestClient, service: Service) -> None:
        decide(client, service, "g001", "approve")
        decide(client, service, "g002", "reject", why="no")
        block = client.get("/api/system/diagnostics").json()
        whole = client.get("/api/backlog").json()
        assert block["halacha_backlog"] == whole["halacha_backlog"]
        assert block["backlog"] == whole["backlog"]
        assert list(block["halacha_backlog"]) == SIX
        counts = block["halacha_backlog"]
        assert [counts[name] for name in SIX[:5]] == [1, 1, 1, 0, 3]
        page = client.get("/").text
        assert {
            state: int(n) for state, n in re.findall(r'data-state="(\w+)"><b>(\d+)</b>', page)
        } == {name: counts[name] for name in SIX[:5]}
        text = client.get("/metrics").text
        for name in SIX[:4]:
            assert f'assay_review_items{{state="{name}"}} {counts[name]}\n' in text
        assert f"assay_review_items_all {counts['total']}\n" in text
        oldest = datetime.fromisoformat(counts["oldest_pending_at"]).timestamp()
        assert f"assay_review_oldest_pending_timestamp_seconds {oldest:.17g}\n" in text

    def test_diagnostics(self, client: TestClient, service: Service) -> None:
        found = client.get("/api/system/diagnostics").json()
        assert found["status"] == "ok"
        assert found["store"]["rows"]["search_logs"] == 3
        assert found["index"] == {"status": "ok", "corpora": {}}
        assert found["telemetry"]["dropped"] == 0

    def test_the_store_is_gone(self, service: Service) -> None:
        class Gone:
            def __getattr__(self, name: str) -> Any:
                raise StoreUnavailable("connection refused")

        lost = Service(store=Gone(), recorder=service.recorder)  # type: ignore[arg-type]
        with TestClient(create_app(lost)) as client:
            found = client.get("/api/system/diagnostics")
            assert (found.status_code, found.json()["store"]["error"]) == (
                503,
                "connection refused",
            )
            assert "assay_store_up 0\n" in client.get("/metrics").text
            assert client.post("/api/log", json={"query": "q"}).status_code == 202
            assert client.get("/").status_code == 503

    def test_prometheus_counts_telemetry(self, client: TestClient, service: Service) -> None:
        client.post("/api/log", json={"query": "q"})
        assert service.recorder is not None
        service.recorder.flush()
        page = client.get("/metrics")
        assert "assay_telemetry_written_total 1\n" in page.text
        assert page.headers["content-type"].startswith("text/plain; version=0.0.4")

    def test_a_limit_is_a_gate(self, service: Service) -> None:
        assert check_backlog(service, Limits(max_pending=2))[1] == [
            "3 wait for review, more than 2"
        ]
        assert check_backlog(service, Limits(max_pending=3))[1] == []


class TestReview:
    def test_approve(self, client: TestClient, service: Service) -> None:
        page = client.get("/review")
        assert "1 of 3" in page.text
        answer = decide(client, service, "g001", "approve", why="right")
        assert (answer.status_code, answer.headers["location"]) == (303, "/review?at=0")
        assert rows(service)["g001"]["source"] == "chair"
        assert [(entry.by, entry.reason) for entry in service.store.audit()] == [("דפנה", "right")]
        assert "1 of 2" in client.get("/review").text

    def test_approve_with_changes(self, client: TestClient, service: Service) -> None:
        decide(client, service, "g001", "approve", doc=["b"], add="c\n d \n", note="see c")
        row = rows(service)["g001"]
        assert (row["relevant_case_law_ids"], row["note"], row["source"]) == (
            ["b", "c", "d"],
            "see c",
            "chair",
        )

    def test_reject_and_take_back(self, client: TestClient, service: Service) -> None:
        answer = decide(client, service, "g002", "reject", why="not asked")
        assert "g002" not in rows(service)
        page = client.get(answer.headers["location"]).text
        assert 'value="gold-set/g002"' in page
        client.post("/review", data={"action": "undo", "item": "gold-set/g002"})
        assert rows(service)["g002"]["source"] == "bootstrap"

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"action": "reject", "why": " "}, "say why"),
            ({"item": "gone"}, "no longer in the queue"),
            ({"doc": [], "add": ""}, "No document would be left"),
            ({"action": ""}, "approve or reject"),
            ({"seen": ["a"]}, "have changed since this page was opened"),
        ],
    )
    def test_what_cannot_be_done_is_said_beside_what_was_typed(
        self, client: TestClient, service: Service, fields: Any, message: str
    ) -> None:
        before = gold_path(service, "gold-set").read_bytes()
        typed = {"why": "overruled <in> 2024", "note": "see ע״א 1/20", "add": "c\nd"}
        form = {
            "item": refs(service)["g001"],
            "action": "approve",
            "doc": ["b"],
            **typed,
        } | fields
        answer = client.post("/review", data=form)
        assert answer.status_code == 400
        assert message in answer.text
        for value in (
            typed.values()
            if "item" in fields
            else {"note": typed["note"], "why": form["why"]}.values()
        ):
            assert html.escape(value) in answer.text
        assert gold_path(service, "gold-set").read_bytes() == before

    def test_a_refused_form_comes_back_as_it_was_filled_in(
        self, client: TestClient, service: Service
    ) -> None:
        said = decide(
            client,
            service,
            "g001",
            "approve",
            doc=["b"],
            seen=["b", "a"],
            why="w",
            place="2",
        ).text
        assert re.findall(r'name="doc" value="(\w)"( checked)?', said) == [
            ("a", ""),
            ("b", " checked"),
        ]
        assert 'name="place" value="2"' in said
        said = decide(client, service, "g001", "approve", doc=["z"], seen=["z", "b"], note="n").text
        assert re.findall(r'name="doc" value="(\w)"( checked)?', said) == [
            ("a", " checked"),
            ("b", ""),
        ], "a is new"
        item = suggest(service, "gold-set", "g003", "z", 3, rationale="on point", by="agent")
        said = client.post("/review", data={"item": item.id, "action": "", "why": "mine"}).text
        assert 'name="why" value="mine"' in said
        hebrew = {"accept-language": "he"}
        said = client.post("/review", data={"item": item.id, "action": ""}, headers=hebrew).text
        assert page_words("he")["refused action"] in said

    def test_what_was_typed_outlives_the_store(self, service: Service) -> None:
        class Gone:
            def __getattr__(self, name: str) -> Any:
                raise StoreUnavailable("connection refused")

        with local_client(Service(store=Gone())) as client:  # type: ignore[arg-type]
            form = {
                "item": "i",
                "action": "reject",
                "why": "two pages of reasons",
                "doc": "a",
                "seen": "a",
            }
            answer = client.post("/review", data=form)
        assert (answer.status_code, "connection refused" in answer.text) == (503, True)
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', answer.text))
        assert {name: fields[name] for name in ("item", "action", "doc", "seen")} == {
            name: form[name] for name in ("item", "action", "doc", "seen")
        }
        assert ">two pages of reasons</textarea>" in answer.text

    def test_a_form_that_is_no_form(self, client: TestClient) -> None:
        for body, message in (
            (b"a=1&" * 20_000, "cannot be read"),
            (b"x" * (5 * 2**20), "larger than 4 MiB"),
        ):
            answer = client.post("/review", content=body)
            assert (answer.status_code, message in answer.text) == (400, True)

    def test_an_old_page_does_not_undo_what_another_expert_decided(
        self, client: TestClient, service: Service
    ) -> None:
        decide(client, service, "g001", "approve", seen=["a", "b"])
        before = gold_path(service, "gold-set").read_bytes()
        said = decide(client, service, "g001", "reject", why="an old page").text
        assert "decided already, by דפנה" in said
        assert ">an old page</textarea>" in said
        assert gold_path(service, "gold-set").read_bytes() == before
        item = suggest(service, "gold-set", "g003", "z", 3, rationale="on point", by="agent")
        for action in ("approve", "reject"):
            client.post("/review", data={"item": item.id, "action": action, "why": "w"})
        assert service.store.review_items(ids=[item.id])[0].state == "approved"

    def test_of_experts_who_press_at_once_one_decides(self, service: Service) -> None:
        item = refs(service)["g001"]
        clients = [local_client(service, f"e{n}") for n in range(8)]

        def press(n: int) -> int:
            form = {
                "item": item,
                "action": "approve",
                "by": "somebody else",
                "doc": ["a", "b"],
                "add": f"d{n}",
                "why": "w",
            }
            return clients[n].post("/review", data=form).status_code

        with ThreadPoolExecutor(8) as experts:
            codes = sorted(experts.map(press, range(8)))
        assert codes == [303] + [400] * 7
        (entry,) = service.store.audit()
        assert rows(service)["g001"]["relevant_case_law_ids"] == ["a", "b", f"d{entry.by[1:]}"]

    def test_deciding_needs_a_name(self, service: Service) -> None:
        nobody = local_client(service, "")
        assert nobody.get("/").status_code == 200
        asked = nobody.get("/review?at=1")
        assert asked.headers["location"] == "/me?next=%2Freview%3Fat%3D1"
        answer = decide(nobody, service, "g002", "reject", why="not asked", by="d")
        assert (answer.status_code, answer.headers["location"]) == (303, "/me?next=%2Freview")
        assert "g002" in rows(service)

    def test_a_suggestion_on_a_set_that_is_not_here_is_not_half_accepted(
        self, service: Service
    ) -> None:
        item = suggest(service, "gold-set", "g003", "z", 3, rationale="on point", by="agent")
        with pytest.raises(InputError, match="no gold set 'gold-set'"):
            rule_suggestion(Service(store=service.store), item.id, accept=True, by="d")
        assert service.store.review_items(ids=[item.id])[0].state == "pending_review"

    def test_a_pair_of_a_set_that_is_not_here_can_be_skipped_or_turned_down(
        self, service: Service, tmp_path: Path
    ) -> None:
        other = tmp_path / "graded.csv"
        other.write_text("query_id,query,doc_id,grade\nq1,one,a,1\n")
        queue_pairs(service, other, [AskedPair(query_id="q1", doc_id="z")])
        (item,) = queue(service, kind="judgment").items
        here = local_client(Service(store=service.store, gold_sets={"graded": other}))
        assert "keeps the grade as your vote" in here.get("/review?at=3").text
        away = local_client(Service(store=service.store))
        page = away.get("/review?at=3")
        assert (page.status_code, "the set is not here" in page.text) == (200, True)
        away.post("/review", data={"item": item.id, "action": "reject"})
        assert service.store.review_items(ids=[item.id])[0].state == "rejected"

    def test_the_language_keeps_the_place(self, client: TestClient) -> None:
        assert 'href="?at=1&amp;lang=he"' in client.get("/review?at=1").text

    def test_a_suggestion_waits_and_an_expert_decides(
        self, client: TestClient, service: Service
    ) -> None:
        before = gold_path(service, "gold-set").read_bytes()
        item = suggest(service, "gold-set", "g003", "z", 3, rationale="on point", by="agent")
        assert (
            suggest(service, "gold-set", "g003", "z", 3, rationale="again", by="agent").id
            == item.id
        )
        assert gold_path(service, "gold-set").read_bytes() == before
        assert backlog(service).pending_review == 4
        client.post("/review", data={"item": item.id, "action": "approve"})
        assert rows(service)["g003"]["relevant_case_law_ids"] == ["a", "b", "z"]
        assert backlog(service).pending_review == 2
        votes = service.store.votes("gold-set", query_id="g003")
        # the person's vote, and none of the agent's words in it
        assert [(v.grade, v.judge, v.rationale, v.source) for v in votes if v.doc_id == "z"] == [
            (3, "דפנה", "", "suggested by agent")
        ]
        beside = votes_path(gold_path(service, "gold-set"))
        assert {vote.id for vote in read_votes(beside)} == {vote.id for vote in votes}
        with pytest.raises(InputError, match="no query 'g9'"):
            suggest(service, "gold-set", "g9", "z", 3, rationale="", by="agent")

    def test_a_pair_that_gold_next_asks_for_gets_its_grade_from_the_expert(
        self, client: TestClient, service: Service
    ) -> None:
        pairs = [AskedPair(query_id="g003", doc_id=doc, narrowing=0.1) for doc in ("z", "y")]
        assert [queue_pairs(service, gold_path(service, "gold-set"), pairs) for _ in range(2)] == [
            2,
            0,
        ]
        first, second = queue(service, kind="judgment").items
        assert (first.doc_ids, first.grade) == (
            ("z",),
            None,
        )  # the most useful first, and no grade to lean on
        assert 'name="grade"' in client.get("/review?at=3").text
        said = client.post("/review", data={"item": first.id, "action": "approve", "why": "w"}).text
        assert "Give the document a grade" in said
        client.post("/review", data={"item": first.id, "action": "approve", "grade": "2"})
        client.post("/review", data={"item": second.id, "action": "approve", "grade": "0"})
        assert rows(service)["g003"]["relevant_case_law_ids"] == ["a", "b", "z"]
        votes = [vote for vote in service.store.votes("gold-set") if vote.source == "gold next"]
        assert {(vote.doc_id, vote.grade) for vote in votes} == {("z", 2), ("y", 0)}

    def test_a_declined_suggestion_changes_nothing(
        self, client: TestClient, service: Service
    ) -> None:
        before = gold_path(service, "gold-set").read_bytes()
        item = suggest(service, "gold-set", "g003", "z", 3, rationale="on point", by="agent")
        client.post("/review", data={"item": item.id, "action": "reject", "why": "off point"})
        assert gold_path(service, "gold-set").read_bytes() == before
        assert service.store.review_items(ids=[item.id])[0].state == "rejected"

    def test_published(self, client: TestClient, service: Service) -> None:
        decide(client, service, "g001", "approve")
        assert publish(service, gold_path(service, "gold-set"), by="ci") == 1
        assert backlog(service).published == 1

    def test_what_waits_for_a_row_that_is_gone(self, client: TestClient, service: Service) -> None:
        """It is said, and can be turned down; nothing waits for ever and nothing goes unsaid."""
        gold = gold_path(service, "gold-set")
        suggest(service, "gold-set", "g002", "z", 3, rationale="on point", by="agent")
        gold.write_text(
            "".join(line for line in gold.read_text().splitlines(True) if '"g001"' not in line)
        )
        assert client.get("/api/system/diagnostics").json()["gold"]["without_a_row"] == {
            "gold-set": 1
        }
        assert "1 of the pending have no row" in client.get("/").text
        said = decide(client, service, "g001", "approve", why="typed").text
        assert "no longer in its gold set" in said
        assert 'value="typed"' in said
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

    def test_content_is_text(self, client: TestClient, service: Service) -> None:
        pages = [client.get(f"/review?at={n}").text for n in range(3)]
        assert sum("materiality &lt;b&gt;" in page for page in pages) == 1
        assert all("<b>materiality" not in page for page in pages)
        assert client.get("/review?at=99").status_code == 303
        assert client.get("/review?at=-1%27").status_code == 200

    def test_hebrew_is_right_to_left(self, client: TestClient) -> None:
        page = client.get("/review", headers={"accept-language": "he-IL,en;q=0.5"}).text
        assert '<html lang="he" dir="rtl">' in page
        assert "אישור" in page
        assert '<html lang="fi" dir="ltr">' in client.get("/?lang=fi").text
        assert '<html lang="fi" dir="ltr">' in client.get("/").text, "the choice is remembered"

    def test_the_history_speaks_the_language(self, client: TestClient, service: Service) -> None:
        decide(client, service, "g001", "approve")
        decide(client, service, "g002", "reject", why="overruled")
        client.post("/review", data={"action": "undo", "item": "gold-set/g002"})
        decide(client, service, "g003", "approve", note="n")
        purge(service, older_than_days=1000)
        page = client.get("/?lang=he").text
        for said in (
            "נקרא ואושר",
            "הדחייה בוטלה",
            "תוקן בעמוד הסקירה",
            "overruled",
            "חיפושים ישנים",
            "הוחזר לתור",
        ):
            assert said in page
        assert not re.search("read and approved|taken back|corrected on|review\\.|purged", page)

    def test_the_name_is_remembered(self, client: TestClient) -> None:
        assert "<bdi>דפנה</bdi>" in client.get("/review").text
        assert client.post("/me", data={"name": "  "}).status_code == 400
        answer = client.post("/me", data={"name": "a <b>  c", "next": "//evil.example"})
        assert answer.headers["location"] == "/"
        assert "<bdi>a &lt;b&gt; c</bdi>" in client.get("/").text
        client.cookies.clear()
        client.cookies.set("assay_me", "0" * 64 + "." + b"chair".hex())
        assert client.get("/review").status_code == 303, "nobody writes the cookie but us"


class TestSafety:
    def test_a_form_on_another_site_is_refused(self, client: TestClient, service: Service) -> None:
        for headers in (
            {"sec-fetch-site": "cross-site"},
            {"origin": "http://evil.example"},
            {"host": "evil.example"},
        ):
            assert client.post("/review", data={}, headers=headers).status_code in (400, 403)

    def test_nothing_is_loaded_from_elsewhere(self, client: TestClient) -> None:
        for path in ("/", "/review", *(f"/static/{name}" for name in STATIC)):
            answer = client.get(path)
            assert answer.status_code == 200
            assert not re.search(
                r"(?:https?:)?//\w", re.sub(r"^//.*", "", answer.text, flags=re.MULTILINE)
            )
        assert "default-src 'none'" in client.get("/").headers["content-security-policy"]

    def test_a_change_needs_the_token_of_a_page(self, service: Service) -> None:
        client = local_client(service)
        form = {"item": refs(service)["g001"], "action": "reject", "why": "w"}
        token = client.headers.pop("x-csrf-token")
        assert client.post("/review", data=form).status_code == 403
        assert client.post("/review", data=form | {"csrf": "0" * 64}).status_code == 403
        assert client.post("/api/log", json={"query": "q"}).status_code == 403, "as a browser"
        assert "g001" in rows(service)
        assert client.post("/review", data=form | {"csrf": token}).status_code == 303
        program = TestClient(create_app(service))
        assert program.post("/api/feedback", json=[]).status_code == 202, "not as a browser"

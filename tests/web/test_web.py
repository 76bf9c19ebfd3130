"""The server: other programs log, monitors read, experts decide; all numbers come from one
function."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.reports.words import LANGUAGES, PAGES, page_counts, page_table
from assay.store import Store, StoreUnavailable, open_store
from assay.store.records import SearchLog, ShownResult
from assay.telemetry.recorder import Recorder, Recording
from assay.web.app import create_app
from assay.workbench.project.logs import purge
from assay.workbench.project.service import Service, gold_path
from assay.workbench.review.queue import QueueFilter, filter_items
from kit.runs import bootstrapped
from kit.server import local_client

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
LONG = "x" * 501  # one character more than an id may have
STATIC = ("pages.css", "pages.js", "theme.js", "review.js", "review.css")
SIX = ["pending_review", "approved", "rejected", "published", "total", "oldest_pending_at"]


@pytest.fixture
def service(store: Store, store_url: str, tmp_path: Path) -> Iterator[Service]:
    recorder = Recorder(lambda: open_store(store_url), Recording(interval=0.01))
    gold = tmp_path / "gold-set.jsonl"
    made = Service(
        store=store,
        gold_sets={"gold-set": gold},
        home=tmp_path,
        clock=lambda: NOW,
        recorder=recorder,
    )
    yield bootstrapped(made, ["היטל השבחה", "materiality <b>", "third"], NOW - timedelta(days=9))
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
    return {item.ref: item.id for item in filter_items(service, QueueFilter(state=""))}


def decide(client: TestClient, service: Service, ref: str, action: str, **fields: Any) -> Any:
    form = {"action": action, "doc": ["a", "b"], **fields}
    return client.post(f"/review/{refs(service)[ref]}", data=form)


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
        assert service.store.searches(["x1"])[0].results == (
            ShownResult("a", 1, 1.5),
            ShownResult("b", 2),
        )

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"{", "not JSON"),
            (b"\xff", "not JSON"),
            (b'{"results":[]}', "missing required field `query`"),
            (b'[{"query":"a"},{"query":7}]', r"\[1\]: Expected `str`"),
            (b'{"query":"a","results":[{}]}', "no document id"),
            (b'{"query":"a","at":"soon"}', "not a date"),
            (b'{"query":"a","id":"%s"}' % (b"x" * 501), r"\[0\]: id has 501 characters"),
            (b'{"query":"a","case_id":"%s"}' % (b"x" * 501), "case_id has 501 characters"),
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
        ("path", "name", "sent"),
        [
            ("/api/feedback", "log_id", {"log_id": LONG, "doc_id": "d", "kind": "click"}),
            ("/api/feedback", "doc_id", {"log_id": "1", "doc_id": LONG, "kind": "click"}),
            ("/api/decisions", "id", {"id": LONG, "at": "2026-01-01", "cites": ["a"]}),
            ("/api/decisions", "cites", {"id": "d", "at": "2026-01-01", "cites": [LONG]}),
        ],
    )
    def test_long_ids_of_decisions_and_clicks_are_refused(
        self, client: TestClient, path: str, name: str, sent: dict[str, Any]
    ) -> None:
        answer = client.post(path, json=sent)
        assert answer.status_code == 400
        assert f"{name} has 501 characters" in answer.json()["error"]

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
        over = threading.Event()

        def slow() -> Store:  # the writer holds one record here, and the next fills the queue
            over.wait()
            raise StoreUnavailable("down")

        recorder = Recorder(slow, Recording(capacity=1, close_timeout=0))
        with TestClient(create_app(Service(store=store, recorder=recorder))) as client:
            answers = [client.post("/api/log", json={"query": "q"}) for _ in range(3)]
            over.set()
        recorder.close()
        assert (answers[-1].status_code, answers[-1].json()["dropped"]) == (503, 1)

    def test_feedback_and_decisions(self, client: TestClient, service: Service) -> None:
        click = {"log_id": "l0", "doc_id": "b", "kind": "click"}
        assert client.post("/api/feedback", json=click).json()["new"] == 1
        assert client.post("/api/feedback", json=click | {"kind": "smell"}).status_code == 400
        logged = SearchLog(id="n", at=NOW, query="new", results=(ShownResult("z", 3),))
        service.store.add_searches([logged])
        decision = {"id": "D-2", "at": "2026-06-30", "cites": ["z"]}
        answer = client.post("/api/decisions", json=decision)
        assert answer.json() == {"read": 1, "feedback": 1, "unresolved": 0}
        unread = {"id": "D-3", "at": "2026-06-30", "text": "see"}
        assert client.post("/api/decisions", json=unread).status_code == 400


class TestNumbers:
    @pytest.mark.parametrize("store_url", ["sqlite", "postgresql"], indirect=True)
    def test_every_place_says_the_same(self, client: TestClient, service: Service) -> None:
        decide(client, service, "g001", "approve")
        decide(client, service, "g002", "reject", why="no")
        block = client.get("/api/system/diagnostics").json()
        whole = client.get("/api/backlog").json()
        assert block["halacha_backlog"] == whole["halacha_backlog"]
        assert block["backlog"] == whole["backlog"]
        assert list(block["halacha_backlog"]) == [*SIX, "other"]
        counts = block["halacha_backlog"]
        assert counts["other"] + sum(counts[name] for name in SIX[:4]) == counts["total"]
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


class TestPages:
    def test_hebrew_is_right_to_left(self, client: TestClient) -> None:
        page = client.get("/review", headers={"accept-language": "he-IL,en;q=0.5"}).text
        assert '<html lang="he" dir="rtl">' in page
        assert "ממתינים לכם" in page
        assert '<html lang="fi" dir="ltr">' in client.get("/?lang=fi").text
        assert '<html lang="fi" dir="ltr">' in client.get("/").text, "the choice is remembered"

    def test_the_history_speaks_the_language(self, client: TestClient, service: Service) -> None:
        decide(client, service, "g001", "approve")
        decide(client, service, "g002", "reject", why="overruled")
        client.post("/review/undo", data={"id": refs(service)["g002"]})
        decide(client, service, "g003", "approve", note="n")
        purge(service, older_than_days=1000)
        page = client.get("/?lang=he").text
        for said in (
            "אושר, לא ניתן נימוק",
            "הדחייה בוטלה",
            "תוקן בעמוד הסקירה",
            "overruled",
            "חיפושים ישנים",
            "הוחזר לתור",
        ):
            assert said in page
        assert not re.search("no reason given|taken back|corrected on|review\\.|purged", page)

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
            assert client.post("/review/undo", data={}, headers=headers).status_code in (400, 403)

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
        form, place = {"action": "reject", "why": "w"}, f"/review/{refs(service)['g001']}"
        token = client.headers.pop("x-csrf-token")
        assert client.post(place, data=form).status_code == 403
        assert client.post(place, data=form | {"csrf": "0" * 64}).status_code == 403
        assert client.post("/api/log", json={"query": "q"}).status_code == 403, "as a browser"
        assert "g001" in rows(service)
        assert client.post(place, data=form | {"csrf": token}).status_code == 303
        program = TestClient(create_app(service))
        assert program.post("/api/feedback", json=[]).status_code == 202, "not as a browser"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_word_of_the_frame_is_none_of_a_page(language: str) -> None:
    """The frame counts what waits on every page: a page whose own word has that name breaks it."""
    frame = set(page_counts(language))
    assert {"waits_for_judge", "waits_for_chair", "oldest_days"} <= frame
    names = {path.name.split(".")[0] for path in PAGES.glob("*.en.toml")}
    assert len(names) > 10
    for name in names:
        assert not frame & page_table(name, language).keys(), name

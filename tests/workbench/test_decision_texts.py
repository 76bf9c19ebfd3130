"""Decisions as they come: which citations found nothing, in one corpus or several, and labels that
another case's decision gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.corpus.build import import_corpus
from assay.store import Store
from assay.web import api_calls
from assay.workbench.judging.gold_sets import bootstrap_gold
from assay.workbench.project.logs import import_decisions, import_searches
from assay.workbench.project.service import Service
from assay.workbench.review.queue import queue
from kit.commands import Assay
from kit.server import local_client

TEXT = (
    "כפי שנפסק בערר 8011/19 ובערר 8012/19, ובניגוד לערר 7777/11, וראו סעיף 197 לחוק התכנון והבניה"
)


def corpus(home: Path, name: str, number: str) -> None:
    source = home.parent / f"{name}.jsonl"
    row = {"id": name, "title": f"ערר {number}", "text": "x", "case_number": f"ערר {number}"}
    source.write_text(json.dumps(row, ensure_ascii=False) + "\n")
    import_corpus("jsonl", source, name=name, home=home)


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    corpus(tmp_path / "home", "first", "8011/19")
    corpus(tmp_path / "home", "second", "8012/19")
    return Service(store=store, home=tmp_path / "home")


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    path = tmp_path / "decisions.jsonl"
    path.write_text(json.dumps({"id": "D", "at": "2026-05-31", "text": TEXT}) + "\n")
    return path


def test_citations_that_name_nothing_are_listed(service: Service, decisions: Path) -> None:
    one = import_decisions(service, decisions, corpora=["first"])
    assert one.unresolved == len(one.citations)
    texts = [citation.text for citation in one.citations]
    assert any("8012/19" in text for text in texts)
    assert any("7777/11" in text for text in texts)
    assert not any("8011/19" in text for text in texts)
    assert {citation.decision for citation in one.citations} == {"D"}
    assert all(citation.reason for citation in one.citations)


def test_several_corpora_in_one_import(service: Service, decisions: Path) -> None:
    service.store.add_searches([])
    searches = decisions.with_name("searches.jsonl")
    searches.write_text(
        '{"at":"2026-05-01","query":"q","results":["first","second"]}\n', encoding="utf-8"
    )
    import_searches(service, searches)
    both = import_decisions(service, decisions, corpora=["first", "second", "first"])
    assert both.feedback == 2
    texts = [citation.text for citation in both.citations]
    assert not any("8011/19" in text or "8012/19" in text for text in texts)
    assert sum("7777/11" in text for text in texts) == 1


def test_over_http_and_on_the_command_line(
    service: Service, decisions: Path, assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = json.loads(decisions.read_text())
    answer = local_client(service).post("/api/decisions?corpus=first&corpus=second", json=sent)
    assert answer.status_code == 202
    assert any("7777/11" in one["text"] for one in answer.json()["citations"])
    monkeypatch.setenv("ASSAY_HOME", str(service.home))
    done = assay_cli("logs", "decisions", decisions, "--corpus", "first", "--corpus", "second")
    assert done.code == 0
    assert "7777/11" in done.out
    assert "8012/19" not in done.out
    whole = assay_cli("logs", "decisions", decisions, "--corpus", "first", "--json")
    assert len(whole.json["citations"]) == whole.json["unresolved"] >= 2


@pytest.fixture
def cases(tmp_path: Path) -> tuple[Path, Path]:
    searches, decided = tmp_path / "searches.jsonl", tmp_path / "cases.jsonl"
    rows = [
        {"at": "2026-05-01", "query": "  own   levy ", "case_id": "m1", "results": ["a"]},
        {"at": "2026-05-01", "query": "other levy", "case_id": "m2", "results": ["a"]},
        {"at": "2026-05-01", "query": "no case", "results": ["a"]},
    ]
    searches.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    decided.write_text('{"id":"D","at":"2026-05-31","cites":["a"],"case_id":"m1"}\n')
    return searches, decided


def test_labels_of_another_case_are_marked(
    store: Store, cases: tuple[Path, Path], tmp_path: Path
) -> None:
    service = Service(store=store)
    import_searches(service, cases[0])
    done = import_decisions(service, cases[1])
    assert done.cases is not None
    assert (done.cases.own, done.cases.other, done.cases.unknown) == (1, 1, 1)
    gold = tmp_path / "gold-set.jsonl"
    made = bootstrap_gold(service, gold)
    assert made.of_other_cases == 1
    rows = {row["query"]: row for row in map(json.loads, gold.read_text().splitlines())}
    last = json.loads((tmp_path / "gold-set.log.jsonl").read_text().splitlines()[-1])
    assert last["more"]["from_other_cases"] == {rows["other levy"]["id"]: ["a"]}
    assert "own levy" in rows, "its spaces are tidy"
    again = bootstrap_gold(service, gold)
    assert (again.changed, again.of_other_cases) == (False, 1)


def test_same_case_is_explained_where_they_are_counted(
    assay_cli: Assay, cases: tuple[Path, Path]
) -> None:
    assert assay_cli("logs", "import", cases[0]).code == 0
    done = assay_cli("logs", "decisions", cases[1])
    assert "1 on searches made for another case" in done.err
    assert "--same-case" in done.err
    assert "--same-case" in assay_cli("gold", "bootstrap").err


def test_only_the_own_case_on_request(assay_cli: Assay, cases: tuple[Path, Path]) -> None:
    assert assay_cli("logs", "import", cases[0]).code == 0
    done = assay_cli("logs", "decisions", cases[1], "--same-case")
    assert "1 new signs" in done.err
    assert "another case" not in done.err
    assert "from_other_cases" not in assay_cli("gold", "bootstrap", "--dry-run").out


def test_the_review_page_marks_them(store: Store, cases: tuple[Path, Path], tmp_path: Path) -> None:
    service = Service(store=store, gold_sets={"gold-set": tmp_path / "gold-set.jsonl"})
    import_searches(service, cases[0])
    import_decisions(service, cases[1])
    bootstrap_gold(service, tmp_path / "gold-set.jsonl")
    client = local_client(service)
    for item in queue(service).items:
        page = client.get(f"/review/{item.id}").text
        assert ("from another case" in page) == (item.query == "other levy")


def test_totals_on_the_home_page_are_those_of_the_store(
    store: Store, cases: tuple[Path, Path]
) -> None:
    """Also of searches that another process has logged."""
    service = Service(store=store)
    import_searches(service, cases[0])
    client = local_client(service)
    assert client.get("/api/overview").json()["searches"] == 3
    assert "3 searches" in client.get("/").text
    assert "assay_searches_kept 3\n" in client.get("/metrics").text


def test_long_texts_are_read_apart_and_not_for_ever(
    service: Service, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes long takes no turn from those who read pages, and is given up in time."""
    client = local_client(service)
    sent = {"id": "D", "at": "2026-05-31", "text": TEXT + " 1 § ja 2 §." * 2_000}
    done = client.post("/api/decisions?corpus=first", json=sent)
    assert done.status_code == 202
    assert any("8012/19" in one["text"] for one in done.json()["citations"])
    monkeypatch.setattr(api_calls, "READING_SECONDS", 0.01)
    late = client.post("/api/decisions?corpus=first", json=sent)
    assert late.status_code == 400
    assert (
        "could not be read: not done after 0.01 s\n  Nothing was recorded" in late.json()["error"]
    )

"""`assay gold init` and `assay gold add`: from nothing to a set that can be judged."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.judging import rubrics
from assay.judging.pool import read_pool
from assay.store.records import SearchLog
from assay.workbench.project.service import open_service
from kit.commands import Assay

SET = Path("set.json")
NEW = ("gold", "init", SET, "--rubric", "fppc-relevance-1")
TAXONOMY = {
    "gifts": {
        "name": "Gifts",
        "description": "What may be accepted.",
        "issues": [{"id": "limit", "name": "Limit", "description": "How much."}],
    }
}


def content() -> Any:
    return json.loads(SET.read_text())


def texts() -> list[tuple[str, str]]:
    return [(query["id"], query["text"]) for query in content()["queries"]]


def test_a_list_becomes_a_set(assay_cli: Assay) -> None:
    Path("q.txt").write_text("gift limits\n\n  behested payments  \n")
    done = assay_cli(*NEW, "--queries", "q.txt", "--name", "first", "--description", "A try.")
    assert done.code == 0, done.err
    assert texts() == [("q001", "gift limits"), ("q002", "behested payments")]
    made = content()
    assert (made["version"], made["name"], made["rubric"]) == ("1.0", "first", "fppc-relevance-1")
    assert datetime.fromisoformat(made["created_at"])
    assert all(query["relevance_judgments"] == [] for query in made["queries"])
    before = SET.read_bytes()
    again = assay_cli(*NEW, "--queries", "q.txt")
    assert (again.code, "already exists" in again.err) == (2, True)
    assert SET.read_bytes() == before


def test_a_table_brings_what_is_known_of_its_queries(assay_cli: Assay) -> None:
    Path("t.json").write_text(json.dumps(TAXONOMY))
    Path("q.csv").write_text(
        "id;query;type;topic;issue;notes;language\n"
        ";gift limits;keyword;gifts;limit;the plain case;en\nmy-id;travel, paid;;gifts;;;\n"
    )
    done = assay_cli(*NEW, "--taxonomy", "t.json", "--queries", "q.csv")
    assert done.code == 0, done.err
    assert texts() == [("q001", "gift limits"), ("my-id", "travel, paid")]
    first = content()["queries"][0]
    assert (first["issue"], first["notes"], first["language"]) == ("limit", "the plain case", "en")
    assert content()["taxonomy"]["gifts"]["issues"][0]["id"] == "limit"
    assert assay_cli("gold", "validate", SET).code == 0


def test_what_people_searched_for_most_comes_first(assay_cli: Assay) -> None:
    spellings = ["Gift limits", "gift limits", "gift  limits", "travel", "travel", "loans"]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with open_service() as service:
        service.store.add_searches(
            [SearchLog(id=str(n), at=at, query=text) for n, text in enumerate(spellings)]
        )
    assert assay_cli(*NEW, "--queries", "logs", "--limit", 2).code == 0
    assert texts() == [("q001", "gift limits"), ("q002", "travel")]


def test_a_set_may_begin_empty(assay_cli: Assay) -> None:
    assert assay_cli(*NEW).code == 0
    assert assay_cli("gold", "stats", SET, "--json").json["queries"] == 0
    assert assay_cli("gold", "validate", SET).code in (0, 2)  # whatever it says, it reads it
    for command in (("score", "--dataset", SET), ("gold", "pool", SET)):
        done = assay_cli(*command, "--engine", "random")
        assert (done.code, "gold add" in done.err) == (2, True)
    added = assay_cli("gold", "add", SET, "--query", "gift limits", "--notes", "plain", "--json")
    assert added.json["added"] == ["q001"]
    Path("q.txt").write_text("travel\nloans\n")
    assert assay_cli("gold", "add", SET, "--from", "q.txt").code == 0
    assert assay_cli("gold", "add", SET, "--query", "honoraria", "--id", "h1").code == 0
    assert [id for id, _ in texts()] == ["q001", "q002", "q003", "h1"]


def test_adding_leaves_everything_else_as_it_is_written(assay_cli: Assay) -> None:
    SET.write_text('{\n "own": "ä",\n "queries": [\n  {"id": "q7", "text": "a", "mine": 1}\n ]\n}')
    assert assay_cli("gold", "add", SET, "--query", "b").code == 0
    assert (content()["own"], content()["queries"][0]["mine"]) == ("ä", 1)
    assert [id for id, _ in texts()] == ["q7", "q008"]
    assert '\n "own": "ä"' in SET.read_text()


def test_a_document_is_put_before_the_judges(assay_cli: Assay) -> None:
    Path("q.txt").write_text("gift limits\n")
    Path("corpus.jsonl").write_text('{"id": "d1", "text": "gift"}\n{"id": "d2", "text": "loan"}\n')
    assert assay_cli(*NEW, "--queries", "q.txt").code == 0
    engine = ("--engine", "bm25", "--corpus", "corpus.jsonl", "--depth", 1)
    assert assay_cli("gold", "pool", SET, *engine, "--judges", "anna,bertil").code == 0
    one = ("gold", "add", SET, "--document", "d2", "--for", "q001", "--why", "the leading case")
    done = assay_cli(*one, "--json")
    assert done.code == 0, done.err
    pool = read_pool(SET)
    assert pool
    assert pool.keys == {("q001", "d1"), ("q001", "d2")}
    by_hand = next(pair for pair in pool.pairs if pair.doc_id == "d2")
    assert by_hand.why == "the leading case"
    assert len(by_hand.judges) == 1
    assert {judge for pair in pool.pairs for judge in pair.judges} == {"anna", "bertil"}
    for args, said in (
        (one, "already"),
        (("gold", "add", SET, "--document", "d9", "--for", "q001"), "not in the corpus"),
        (("gold", "add", SET, "--document", "d2", "--for", "q9"), "no query 'q9'"),
        (("gold", "add", SET, "--document", "d2"), "--for"),
    ):
        done = assay_cli(*args)
        assert (done.code, said in done.err) == (2, True), done.err
    assert read_pool(SET) == pool


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("q.txt", "gift limits\nloans\nGIFT  LIMITS\n", "q.txt:3"),
        ("q.txt", "\n\n", "empty"),
        ("q.csv", "query,kind\nx,y\n", "'kind'"),
        ("q.csv", "id,notes\nx,y\n", "text or query"),
        ("q.csv", "query,type\nx,question\n", "q.csv:2"),
        ("q.csv", "query,topic\nx,tax\n", "unknown topic 'tax'"),
        ("q.csv", "query,topic,issue\nx,gifts,none\n", "unknown issue"),
        ("q.csv", "id,query\na,x\na,y\n", "q.csv:3"),
        ("q.csv", "query,id\nx,y,z\n", "q.csv:2"),
        ("q.csv", 'query\n"x\n', "CSV"),
        ("q.xlsx", "x", ".txt or .csv"),
    ],
)
def test_a_list_that_will_not_do_makes_no_set(
    file: str, text: str, said: str, assay_cli: Assay
) -> None:
    Path("t.json").write_text(json.dumps(TAXONOMY))
    Path(file).write_text(text)
    done = assay_cli(*NEW, "--taxonomy", "t.json", "--queries", file)
    assert (done.code, said in done.err) == (2, True), done.err
    assert not SET.exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((*NEW[:3], "--rubric", "nothing"), "unknown rubric"),
        (("gold", "init", "set.csv", "--rubric", "fppc-relevance-1"), ".json"),
        ((*NEW, "--queries", "gone.txt"), "gone.txt"),
        ((*NEW, "--limit", "3"), "--queries logs"),
        (("gold", "add", "x.json"), "give one of"),
        (("gold", "add", "x.json", "--from", "q.txt", "--notes", "x"), "--notes goes with"),
        (("gold", "add", "x.json", "--query", "q", "--why", "x"), "--why goes with"),
    ],
)
def test_options_that_do_not_fit(args: tuple[object, ...], said: str, assay_cli: Assay) -> None:
    done = assay_cli(*args)
    assert (done.code, said in done.err) == (2, True), done.err
    assert not SET.exists()


def test_a_rubric_of_ones_own_is_found_again(assay_cli: Assay) -> None:
    shipped = Path(rubrics.__file__).with_name("fppc-relevance-1.toml").read_text()
    own = shipped.replace('id = "fppc-relevance-1"', 'id = "ours"')
    Path("elsewhere").mkdir()
    Path("elsewhere/ours.toml").write_text(own)
    assert assay_cli("gold", "init", SET, "--rubric", "elsewhere/ours.toml").code == 2
    assert not SET.exists()
    Path("ours.toml").write_text(own)
    for place, name in enumerate(("ours", "ours.toml", "elsewhere/ours.toml")):
        done = assay_cli("gold", "init", f"set{place}.json", "--rubric", name)
        assert done.code == 0, done.err
        assert json.loads(Path(f"set{place}.json").read_text())["rubric"] == "ours"

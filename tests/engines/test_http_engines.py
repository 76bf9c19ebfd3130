"""Engines that a table describes, asked over HTTP: what is sent, what is read, what is shown."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.engines.calling import RateLimit
from assay.engines.secrets import without_secrets
from kit.commands import Assay, Outcome
from kit.search_server import Asked, Reply, SearchServer, found

SECRET = "Bearer s3cr3t-token-4711"
TABLE = """
[engines.prod]
http = "{url}/opinions/_search"
method = "POST"
body = '{{"size": {{{{top_k}}}}, "query": {{"match": {{"text": {{{{query}}}}}}}}}}'
hits = "hits.hits"            # JMESPath to the list
id = "_id"
score = "_score"
headers = {{ Authorization = "env:SEARCH_KEY" }}
timeout = "5s"
retries = 2
concurrency = 8
"""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", SECRET)
    monkeypatch.setattr("assay.engines.calling.FIRST_WAIT", 0.02)


def gold_of(queries: Sequence[str], **more: Any) -> str:
    rows = [
        {"id": f"g{at:03d}", "query": text, "relevant_case_law_ids": ["a"], "source": "chair"}
        for at, text in enumerate(queries)
    ]
    return "".join(json.dumps(row | more) + "\n" for row in rows)


def write(folder: Path, table: str, queries: Sequence[str] = ("levy",), **more: Any) -> None:
    (folder / "assay.toml").write_text(table, encoding="utf-8")
    (folder / "gold-set.jsonl").write_text(gold_of(queries, **more), encoding="utf-8")


def score(assay_cli: Assay, *more: str) -> Outcome:
    return assay_cli(
        "score", "--dataset", "gold-set.jsonl", "--engine", "prod", "-o", "results.json", *more
    )


def results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text())


def short(server: SearchServer, **keys: str) -> str:
    """The table of a server that is asked with GET."""
    own = {
        "http": f'"{server.url}/find?q={{{{query}}}}&n={{{{top_k}}}}"',
        "hits": '"hits.hits"',
        "id": '"_id"',
    }
    return "[engines.prod]\n" + "\n".join(f"{key} = {value}" for key, value in (own | keys).items())


# ── what is sent ──────────────────────────────────────────────────────────────────────────────────


def test_the_table_of_the_documentation(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    asked = ['levy "on" land\\', "היטל השבחה", "two\nlines\tand {{top_k}}", "appeal"]
    write(tmp_path, TABLE.format(url=server.url), asked)
    outcome = score(assay_cli)
    assert outcome.code == 0, outcome.err
    sent = server.bodies()
    assert sorted(body["query"]["match"]["text"] for body in sent) == sorted(asked)
    assert {body["size"] for body in sent} == {20}
    assert {each.headers["authorization"] for each in server.asked} == {SECRET}
    assert {each.headers["content-type"] for each in server.asked} == {"application/json"}
    found = {entry["query_id"]: entry["results"] for entry in results(tmp_path)["per_query"]}
    assert found == {"g000": ["a", "b"], "g001": [], "g002": ["b"], "g003": ["b", "c"]}
    assert results(tmp_path)["engine"] == "prod"


def test_values_are_percent_encoded_in_addresses(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    asked = ["levy & land#1 50%+x?=/", "היטל"]
    write(tmp_path, short(server, params='{ lang = "{{language or he}}", fixed = "a b&c" }'), asked)
    assert score(assay_cli).code == 0
    assert [each.params["q"] for each in server.asked] == [[text] for text in asked]
    assert server.asked[0].params["n"] == ["20"]
    assert server.asked[0].params["lang"] == ["he"]
    assert server.asked[0].params["fixed"] == ["a b&c"]


def test_what_the_row_knows_is_put_into_the_template(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    body = (
        '{"query": {"match": {"text": {{query}}}}, "c": {{corpus}}, "say": "in {{language}}!", '
        '"f": {{filters or []}}, "day": {{as_of or "none"}}, "area": {{practice_area}}}'
    )
    table = f"[engines.prod]\nhttp = '{server.url}'\nbody = '{body}'\nhits = 'hits.hits'\nid='_id'"
    write(
        tmp_path,
        table,
        corpus="precedents",
        practice_area="betterment_levy",
        language='h"e',
        filters={"court": ["district"]},
    )
    assert score(assay_cli).code == 0
    (sent,) = server.bodies()
    assert sent["c"] == "precedents"
    assert sent["say"] == 'in h"e!'
    assert sent["f"] == {"court": ["district"]}
    assert sent["day"] == "none"
    assert sent["area"] == "betterment_levy"
    assert assay_cli("engines", "test", "prod", "levy").code == 0
    assert server.bodies()[1]["c"] is None
    assert server.bodies()[1]["f"] == []


def test_a_form(assay_cli: Assay, tmp_path: Path, server: SearchServer) -> None:
    kind = "application/x-www-form-urlencoded"
    write(
        tmp_path,
        f"[engines.prod]\nhttp = '{server.url}'\nbody = 'q={{{{query}}}}&n={{{{top_k}}}}'\n"
        f"hits = '@'\nid = '@'\nheaders = {{ Content-Type = '{kind}' }}",
        ["a&b c"],
    )
    server.behave = lambda number, asked: Reply(["a", "d"])
    assert score(assay_cli).code == 0
    assert server.asked[0].body == b"q=a%26b%20c&n=20"
    assert results(tmp_path)["per_query"][0]["results"] == ["a", "d"]


# ── what is read ──────────────────────────────────────────────────────────────────────────────────


def test_scores_ids_and_texts_are_read(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    hits = [{"n": 7, "rank": {"s": 2}, "t": "On levies"}, {"n": "x", "rank": {"s": 1.5}}]
    server.behave = lambda number, asked: Reply({"data": [{"items": hits}]})
    table = short(server, hits="'data[0].items'", id="'n'", score="'rank.s'", title="'t'")
    write(tmp_path, table)
    shown = assay_cli("engines", "test", "prod", "levy", "--json").json
    assert [(hit["doc_id"], hit.get("score")) for hit in shown["hits"]] == [("7", 2.0), ("x", 1.5)]
    assert shown["hits"][0]["title"] == "On levies"
    assert (shown["ok"], shown["wrong"]) == (True, [])


def test_more_hits_than_asked_for_are_left_out(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: Reply(
        {"hits": {"hits": [{"_id": str(at)} for at in range(50)]}}
    )
    write(tmp_path, short(server))
    assert score(assay_cli, "--top-k", "7").code == 0
    assert results(tmp_path)["per_query"][0]["results"] == [str(at) for at in range(7)]
    shown = assay_cli("engines", "test", "prod", "levy", "--json").json
    assert any("top_k" in note for note in shown["notes"])


WRONG: list[tuple[Reply, str]] = [
    (Reply({"error": "no"}, status=401), "status 401: it does not accept the key in SEARCH_KEY"),
    (Reply("gone", status=404), "status 404: gone"),
    (Reply("", status=500), "status 500"),
    (Reply("<!doctype html><html>Sign in", headers={"Content-Type": "text/html"}), "a web page"),
    (Reply("id,score\n1,2", headers={"Content-Type": "text/csv"}), "(text/csv) is not JSON"),
    (Reply(""), "the answer is empty"),
    (Reply({"results": [{"_id": "a"}], "took": 1}), "Perhaps hits = 'results'?"),
    (Reply({"results": [{"_id": "a"}], "took": 1}), "the keys results, took"),
    (Reply({"search-hits": [{"_id": "a"}]}), """Perhaps hits = '"search-hits"'?"""),
    (Reply([{"_id": "a"}]), "Perhaps hits = '@'?"),
    (Reply({"hits": {"hits": ["a", "b"]}}), "Perhaps id = '@'?"),
    (Reply({"hits": {"hits": {"a": 1}}}), "which is no list"),
    (Reply({"hits": {"hits": [{"_id": "a"}, {"id": "b", "t": 1}]}}), "nothing at rank 2"),
    (Reply({"hits": {"hits": [{"id": "b", "t": 1}]}}), "Perhaps id = 'id'?"),
    (Reply({"hits": {"hits": [{"_id": True}]}}), "true, which is no id"),
    (Reply({"hits": {"hits": [{"_id": "a", "_score": "high"}]}}), "which is no number"),
    (Reply("", status=302, headers={"Location": "http://else.example/x"}), "http://else.example/x"),
    (Reply({"hits": {"hits": []}}, cut=5), "ends too soon"),
    (Reply(hang_up=True), "no answer from 127.0.0.1"),
    (Reply({"hits": {"hits": []}}, wait=30), "no answer in 0.3 s"),
    (Reply({"hits": {"hits": []}}, drip=0.02), "no answer in 0.3 s"),
]


@pytest.mark.parametrize(("reply", "words"), WRONG, ids=[words for _, words in WRONG])
def test_what_is_wrong_is_said(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, reply: Reply, words: str
) -> None:
    """By `engines test`, and by a run, which has no figure for such a query."""
    server.behave = lambda number, asked: reply
    headers = '{ X-Api-Key = "env:SEARCH_KEY" }'
    limit = "'300ms'" if words.startswith("no answer in") else "'20s'"
    write(tmp_path, short(server, score="'_score'", timeout=limit, headers=headers))
    outcome = assay_cli("engines", "test", "prod", "levy", "--json")
    assert outcome.code == 4
    assert not outcome.json["ok"]
    assert words in outcome.json["wrong"][0]
    assert words in " ".join(assay_cli("engines", "test", "prod", "levy").out.split())
    scored = score(assay_cli)
    assert (scored.code, (tmp_path / "results.json").exists()) == (4, False)
    assert words in scored.err


def test_a_status_that_may_pass_is_said_to_be_asked_again_in_a_run(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: Reply("", status=503)
    write(tmp_path, short(server, retries="2"))
    outcome = assay_cli("engines", "test", "prod", "levy", "--json")
    assert (outcome.code, len(server.asked)) == (4, 1)
    assert outcome.json["notes"] == ["this may pass: a run asks again up to 2 times"]


def test_nobody_answers(assay_cli: Assay, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    write(tmp_path, TABLE.format(url=f"http://127.0.0.1:{port}"))
    outcome = assay_cli("engines", "test", "prod", "levy")
    assert (outcome.code, f"nothing answers at 127.0.0.1:{port}" in outcome.out) == (4, True)


def test_no_hits_is_an_answer(assay_cli: Assay, tmp_path: Path, server: SearchServer) -> None:
    write(tmp_path, TABLE.format(url=server.url), ["nothing", "levy"])
    outcome = score(assay_cli)
    assert (outcome.code, "no query returned a hit" in outcome.err) == (0, False)
    first = results(tmp_path)["per_query"][0]
    assert (first["num_results"], first.get("error")) == (0, None)
    write(tmp_path, TABLE.format(url=server.url), ["nothing"])
    outcome = score(assay_cli)
    assert (outcome.code, "no query returned a hit" in outcome.err) == (0, True)


# ── secrets ───────────────────────────────────────────────────────────────────────────────────────


def test_a_key_appears_nowhere(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server repeats all that it was sent, and a part of it, in good answers and bad."""
    monkeypatch.setenv("LOGIN", "clerk:open sesame/4711")

    def repeat(number: int, asked: Asked) -> Reply:
        told = f"{asked.headers} {asked.path} {asked.params} {SECRET[9:]}"
        if number % 2:
            hit = {"_id": SECRET, "_source": {"title": f"key {SECRET}"}}
            return Reply({"said": told, "hits": {"hits": [{"_id": "a"}, hit]}})
        return Reply({"error": told}, status=(403, 400, 503)[number // 2 % 3])

    server.behave = repeat
    table = TABLE.format(url=server.url).replace("retries = 2", "retries = 0")
    table += 'login = "env:LOGIN"\nparams = { api_key = "env:SEARCH_KEY" }\n'
    table = table.replace("headers = { Authorization", "headers = { X-Key")
    write(tmp_path, table + '[gold.g]\npath = "gold-set.jsonl"\n', ["levy", "land", "x", "y"])
    seen = [score(assay_cli), assay_cli("run"), assay_cli("engines", "list")]
    seen += [assay_cli("engines", "test", "prod", "levy") for _ in range(4)]
    seen += [assay_cli("engines", "test", "prod", "levy", "--json") for _ in range(4)]
    assert {outcome.code for outcome in seen} == {0, 4}
    texts = [outcome.out + outcome.err for outcome in seen]
    texts += [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("***" in text for text in texts)
    for text in texts:
        for part in ("s3cr3t", "token-4711", "sesame", "b3BlbiBz", "Y2xlcms6"):
            assert part not in text
    assert server.asked[0].headers["authorization"].startswith("Basic Y2xlcms6")
    assert server.asked[0].params["api_key"] == [SECRET]
    assert "env:SEARCH_KEY" in texts[3]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key=abcdefghij!", "key=***!"),
        ("key=cdefghi!", "key=***!"),
        ("ab cd abcde", "ab cd abcde"),
        ("abcdefghijabcdefghij", "***"),
        ("nothing", "nothing"),
    ],
)
def test_a_part_of_a_key_is_hidden_too(text: str, shown: str) -> None:
    assert without_secrets(text, ["abcdefghij"]) == shown
    assert without_secrets("xyz: pass!", ["pass"]) == "xyz: ***!"


def test_a_key_that_is_not_set(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEARCH_KEY")
    write(tmp_path, TABLE.format(url=server.url))
    outcome = assay_cli("engines", "test", "prod", "levy")
    assert (outcome.code, "the environment does not set SEARCH_KEY" in outcome.err) == (2, True)
    assert "SEARCH_KEY NOT SET" in assay_cli("engines", "list").out
    scored = score(assay_cli)
    assert (scored.code, "SEARCH_KEY" in scored.err) == (2, True)
    assert not server.asked


# ── calls ─────────────────────────────────────────────────────────────────────────────────────────


def test_what_may_pass_is_tried_again(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    """Each query fails in another way first: busy, overloaded, hung up, cut short, too slow."""
    replies = {
        "busy": Reply("", status=429, headers={"Retry-After": "0"}),
        "down": Reply("", status=503),
        "gone": Reply(hang_up=True),
        "cut": Reply("{", cut=9),
        "slow": Reply("{}", wait=30),
    }
    seen: set[str] = set()

    def behave(number: int, asked: Asked) -> Reply | None:
        (query,) = asked.params["q"]
        first, _ = query not in seen, seen.add(query)
        return replies.get(query) if first else None

    server.behave = behave
    write(tmp_path, short(server, retries="1", timeout="'2s'"), [*replies, "levy"])
    outcome = score(assay_cli)
    assert outcome.code == 0, outcome.err
    assert len(server.asked) == 11
    # a connection that was kept may have been closed before it was asked: that is no retry
    assert results(tmp_path)["receipt"]["counts"]["retried"] == 4
    assert "4 queries were answered after a retry" in outcome.err


@pytest.mark.parametrize(
    ("reply", "calls", "said"),
    [
        (Reply("bad query", status=400), 1, "bad query"),  # this will not pass
        (Reply("", status=502), 4, "status 502"),  # retries end
        (Reply("", status=429, headers={"Retry-After": "3600"}), 1, "asks to wait 3,600 s"),
    ],
)
def test_a_query_that_fails_in_the_end_does_not_stop_the_others(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, reply: Reply, calls: int, said: str
) -> None:
    server.behave = lambda number, asked: reply if asked.params["q"] == ["bad"] else None
    write(tmp_path, short(server, retries="3"), ["bad", "levy"])
    assert score(assay_cli).code == 4
    assert [each.params["q"] for each in server.asked] == [["bad"]] * calls + [["levy"]]
    failed, answered = results(tmp_path)["per_query"]
    assert said in failed["error"]
    assert answered["results"] == ["a", "b"]


def test_a_wait_that_is_asked_for_is_respected(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: (
        Reply("", status=429, headers={"Retry-After": "1"}) if number == 1 else None
    )
    write(tmp_path, short(server, retries="1"))
    assert score(assay_cli).code == 0
    waited = server.asked[1].at - server.asked[0].at
    assert waited >= 1.0
    # the wait is not the engine's time
    assert results(tmp_path)["receipt"]["latency_ms"]["max"] < waited * 1000


def test_results_are_the_same_however_many_are_asked_at_once(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    """The later a query the sooner its answer: they come in another order than they were asked."""

    def behave(number: int, asked: Asked) -> Reply:
        place = int(asked.params["q"][0].split()[-1])
        return Reply(found(asked.params["q"][0], 10), wait=(12 - place) * 0.02)

    server.behave = behave
    write(tmp_path, short(server), [f"levy land {place}" for place in range(12)])
    seen = []
    for at_once in ("1", "8"):
        assert score(assay_cli, "--concurrency", at_once).code == 0
        entries = results(tmp_path)["per_query"]
        seen.append([(entry["query_id"], entry["results"]) for entry in entries])
    assert seen[0] == seen[1]
    assert 1 < server.most_at_once <= 8


def test_as_many_are_asked_at_once_as_the_table_says(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    """Eight calls wait for each other: with fewer at once none would be answered."""
    together = threading.Barrier(8)

    def behave(number: int, asked: Asked) -> None:
        together.wait(timeout=60)

    server.behave = behave
    table = TABLE.format(url=server.url).replace('"5s"', '"60s"')
    write(tmp_path, table, ["levy"] * 16)
    assert score(assay_cli).code == 0
    assert server.most_at_once == 8


def test_the_time_of_a_query_is_without_its_place_in_the_queue(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: Reply(found("levy", 5), wait=0.15)
    write(tmp_path, TABLE.format(url=server.url).replace("= 8", "= 2"), ["levy"] * 12)
    started = time.perf_counter()
    assert score(assay_cli).code == 0
    took = (time.perf_counter() - started) * 1000
    latency = results(tmp_path)["receipt"]["latency_ms"]
    assert latency["p50"] >= 150
    assert latency["max"] < took / 2  # the last one waited for five others
    assert server.most_at_once <= 2


def test_no_more_calls_a_second_than_the_rate(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time at which calls are let go: when they arrive depends on the machine."""
    asked, let_go = [], []

    def watched(pace: RateLimit, wait: Callable[[RateLimit], None] = RateLimit.wait) -> None:
        asked.append(time.monotonic())
        wait(pace)
        let_go.append(time.monotonic())

    monkeypatch.setattr(RateLimit, "wait", watched)
    write(tmp_path, short(server, rate="20", concurrency="4"), ["levy"] * 6)
    assert score(assay_cli).code == 0
    assert len(let_go) == len(server.asked) == 6
    assert max(let_go) - min(asked) >= 5 / 20


def test_warming_up_is_not_counted(assay_cli: Assay, tmp_path: Path, server: SearchServer) -> None:
    server.behave = lambda number, asked: Reply("", status=500) if number <= 3 else None
    write(tmp_path, short(server, warm_up="3"), ["levy", "appeal"])
    assert score(assay_cli).code == 0
    asked = [each.params["q"][0] for each in server.asked]
    assert asked == ["levy", "appeal", "levy", "levy", "appeal"]


def test_a_kept_connection_that_was_closed_is_no_failure(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: Reply(
        found("levy", 5), headers={"Connection": "close"} if number % 2 else {}
    )
    write(tmp_path, short(server), ["levy"] * 6)
    assert score(assay_cli).code == 0
    assert "retried" not in results(tmp_path)["receipt"]["counts"]


def test_a_server_that_answers_none_in_time_is_given_up(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: Reply("{}", wait=5)
    write(tmp_path, short(server, timeout="'100ms'"), ["levy"] * 40)
    outcome = score(assay_cli)
    assert (outcome.code, "hangs: 5 queries in a row" in outcome.err) == (4, True)
    assert len(server.asked) == 5


# ── mistakes in a table ───────────────────────────────────────────────────────────────────────────

MISTAKES = [
    ('http = "x.example/{{query}}"', "http", "begins with http://"),
    ('http = "http://h/{{qury}}"', "http", "{{qury}}"),
    ('http = "http://h/"', "body", "write {{query}}"),
    ('http = "http://me:pw@h/?q={{query}}"', "http", "a password does not belong in a file"),
    ('http = "http://{{corpus}}.h/?q={{query}}"', "http", "use corpora"),
    ('http = "http://h/?q={{query}}"\nheaders = { X-Api-Key = "abc" }', "headers", "env:NAME"),
    ('http = "http://h/?q={{query}}"\nheaders = { Authorization = "abc" }', "headers", "env:NAME"),
    ('http = "http://h/?q={{query}}"\nheaders = { X-Auth = "abc" }', "headers", "env:NAME"),
    ('http = "http://h/?q={{query}}"\nheaders = { X-Credential = "abc" }', "headers", "env:NAME"),
    ('http = "http://h/?q={{query}}"\nlogin = "me:pw"', "login", "env:NAME"),
    ('http = "http://h/?q={{query}}"\nhits = "a["', "hits", "JMESPath"),
    ('http = "http://h/?q={{query}}"\nmethod = "DELETE"', "method", "GET, POST, PUT"),
    ('http = "http://h/?q={{query}}"\nmethod = "GET"\nbody = "{}"', "method", "has no body"),
    ('http = "http://h/"\nbody = \'{"q": {{query}}\'', "body", "it is not JSON"),
    ('http = "http://h/"\nbody = \'{"q": {{query}}, "c": x{{corpus}}}\'', "body", "not JSON"),
    ('http = "http://h/?q={{query}}"\ntimeout = "soon"', "timeout", '"5s"'),
    ('http = "http://h/?q={{query}}"\ntimeout = 0', "timeout", "above 0"),
    ('http = "http://h/?q={{query}}"\nconcurrency = 0', "concurrency", "from 1"),
    ('http = "http://h/?q={{query}}"\nretries = -1', "retries", "from 0"),
    ('http = "http://h/?q={{query}}"\nrate = 0', "rate", "above 0"),
    ('http = "http://h/?q={{query}}"\nhit = "a"', "prod", "Did you mean hits?"),
    ('http = "http://h/?q={{query}}"\nhits = 3', "hits", "Expected str, got int"),
    ('http = "http://h/?q={{query}}"\nengine = "bm25"', "prod", "exactly one"),
    ('preset = "opensearch"', "http", "http://127.0.0.1:9200/INDEX/_search"),
    ('preset = "lucidworks"', "preset", "opensearch, elasticsearch, solr"),
    ('corpora = { a = "b" }', "corpora.a", "unknown engine 'b'"),
    ('corpora = { a = "prod" }', "corpora.a", "a table of corpora itself"),
    ("corpora = {}", "corpora", "precedent_library"),
    ('corpora = { a = "b" }\nhttp = "http://h/"', "prod", "not both"),
    ('corpora = { a = "b" }\nretries = 2', "prod", "in its own table"),
]


@pytest.mark.parametrize(("table", "key", "words"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_a_mistake_in_a_table_is_refused(
    assay_cli: Assay, tmp_path: Path, table: str, key: str, words: str
) -> None:
    write(tmp_path, f"[engines.prod]\n{table}\n")
    for arguments in (("engines", "list"), ("engines", "test", "prod", "x")):
        outcome = assay_cli(*arguments)
        assert outcome.code == 2
        assert f"engines.{key}" in outcome.err or f"engines.prod.{key}" in outcome.err
        assert words in outcome.err


def test_scores_that_are_not_read_are_pointed_out(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: Reply({"hits": [{"id": "a", "score": 2}]})
    write(tmp_path, f"[engines.prod]\nhttp = '{server.url}?q={{{{query}}}}'\nhits = 'hits'")
    shown = assay_cli("engines", "test", "prod", "levy", "--json").json
    assert 'the hits have no scores: write score = "score" to read theirs' in shown["notes"]


def test_a_bad_table_does_not_keep_another_from_being_tried(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: Reply([{"id": "a"}])
    good = f"[engines.prod]\nhttp = '{server.url}?q={{{{query}}}}'\n"
    bad = "[engines.other]\nhttp = 'x'\nhitz = 'y'\n[engines.third]\nhtpp = 'x'\n"
    write(tmp_path, good + bad)
    assert "For htpp, did you mean http?" in assay_cli("engines", "test", "third", "levy").err
    assert assay_cli("engines", "test", "prod", "levy").code == 0
    refused = assay_cli("engines", "test", "other", "levy")
    assert refused.code == 2
    assert "engines.other: there is no key hitz" in refused.err

"""Services that answer in their own way: other letters, packed, cut short, with passages; and keys
in an address or a body."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay
from kit.search_server import Reply, SearchServer

HITS = {"hits": [{"id": "a", "score": 2.5}, {"id": "käräjä", "score": 1}]}
PLAIN = json.dumps(HITS).encode()


def write(folder: Path, server: SearchServer, *more: str, address: str = "?q={{query}}") -> None:
    table = [f'http = "{server.url}/find{address}"', 'hits = "hits"', *more]
    (folder / "assay.toml").write_text("[engines.prod]\n" + "\n".join(table), encoding="utf-8")
    row = {"id": "g1", "query": "levy", "relevant_case_law_ids": ["a"], "source": "chair"}
    (folder / "gold-set.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")


def tried(assay_cli: Assay, query: str = "levy") -> Any:
    return assay_cli("engines", "test", "prod", query, "--json").json


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ODD: dict[str, tuple[bytes, dict[str, str]]] = {
    "a mark before it": (b"\xef\xbb\xbf" + PLAIN, {}),
    "letters that the header names": (
        json.dumps(HITS, ensure_ascii=False).encode("latin-1"),
        {"Content-Type": "application/json; charset=ISO-8859-1"},
    ),
    "two bytes a letter": (json.dumps(HITS).encode("utf-16"), {}),
    "packed, in capitals": (gzip.compress(PLAIN), {"Content-Encoding": "GZIP"}),
    "packed, by its old name": (gzip.compress(PLAIN), {"Content-Encoding": "x-gzip"}),
    "packed in two parts": (
        gzip.compress(PLAIN[:9]) + gzip.compress(PLAIN[9:]),
        {"Content-Encoding": "gzip"},
    ),
    "packed without a head": (bare(PLAIN), {"Content-Encoding": "deflate"}),
    "packed with a head": (zlib.compress(PLAIN), {"Content-Encoding": "deflate"}),
    "scores as text": (PLAIN.replace(b"2.5", b'"2.5"'), {}),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_is_read(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, odd: str
) -> None:
    body, headers = ODD[odd]
    server.behave = lambda number, asked: Reply(body, headers=headers)
    write(tmp_path, server, 'score = "score"')
    read = tried(assay_cli)
    assert [hit["doc_id"] for hit in read["hits"]] == ["a", "käräjä"]
    assert read["hits"][0]["score"] == 2.5


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(PLAIN[:-7]), "ends too soon"),
        (Reply(b'{"hits": [{"id": "a", "score": 2.'), "ends too soon"),
        (Reply({"hits": None}), 'write hits = "hits || `[]`"'),
        (Reply({"hits": [{"id": ["a"]}]}), "Perhaps id = 'id[0]'?"),
        (Reply(b"\x8b\x02", headers={"Content-Encoding": "br"}), "packed by 'br'"),
    ],
)
def test_what_to_change_is_said(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, reply: Reply, said: str
) -> None:
    server.behave = lambda number, asked: reply
    write(tmp_path, server)
    assert said in tried(assay_cli)["wrong"][0]


def test_an_answer_that_is_nested_without_end_is_shown(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    nested = '{"hits": ' + "[" * 100_000 + "]" * 100_000 + "}"
    server.behave = lambda number, asked: Reply(nested)
    write(tmp_path, server)
    outcome = assay_cli("engines", "test", "prod", "levy")
    assert (outcome.code, "is not JSON" in " ".join(outcome.out.split())) == (4, True), outcome.err


@pytest.mark.parametrize("cut", [PLAIN[:-7], gzip.compress(PLAIN)[:-9]], ids=["plain", "packed"])
def test_an_answer_that_was_cut_short_is_asked_for_again(
    assay_cli: Assay,
    tmp_path: Path,
    server: SearchServer,
    monkeypatch: pytest.MonkeyPatch,
    cut: bytes,
) -> None:
    monkeypatch.setattr("assay.engines.calling.FIRST_WAIT", 0.02)
    headers = {} if cut[:1] == b"{" else {"Content-Encoding": "gzip"}
    bad = Reply(cut, headers=headers)
    server.behave = lambda number, asked: bad if number == 1 else Reply(PLAIN)
    write(tmp_path, server, "retries = 1")
    outcome = assay_cli("score", "--dataset", "gold-set.jsonl", "--engine", "prod")
    assert (outcome.code, len(server.asked)) == (0, 2), outcome.err


def test_an_error_in_a_good_answer_is_pointed_out(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: Reply({"error": "no such index", "hits": []})
    write(tmp_path, server)
    assert any('write error = "error"' in note for note in tried(assay_cli)["notes"])
    write(tmp_path, server, 'error = "error"')
    assert tried(assay_cli)["wrong"] == ["the answer says: no such index"]


def test_passages_beyond_the_depth_make_up_for_documents_that_come_twice(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    passages = [{"id": f"d{at // 3}"} for at in range(99)]
    server.behave = lambda number, asked: Reply({"hits": passages})
    write(tmp_path, server)
    read = tried(assay_cli)
    assert [hit["doc_id"] for hit in read["hits"]] == [f"d{at}" for at in range(10)]


# ── keys ──────────────────────────────────────────────────────────────────────────────────────────

SECRET = 's3cr3t/+"4711'


def test_a_key_may_be_named_in_an_address_and_in_a_body(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_KEY", SECRET)
    server.behave = lambda number, asked: Reply(
        {"hits": [], "said": f"{asked.params} {asked.body}"}
    )
    body = """body = '{"q": {{query}}, "api_key": "env:SEARCH_KEY"}'"""
    write(tmp_path, server, body, address="?key=env:SEARCH_KEY")
    shown = assay_cli("engines", "test", "prod", "levy")
    assert shown.code == 0, shown.err
    assert server.asked[0].params["key"] == [SECRET]
    assert server.bodies()[0]["api_key"] == SECRET
    assert not [part for part in ("s3cr3t", "4711") if part in shown.out + shown.err]


def test_a_question_names_no_key(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody asks is not read from the environment: it would be sent to the service."""
    monkeypatch.setenv("SEARCH_KEY", SECRET)
    server.behave = lambda number, asked: Reply({"hits": []})
    asked = "what is env:SEARCH_KEY and env:NOT_SET"
    for address, more in (
        ("", ['params = { q = "{{query}}" }']),
        ("?q={{query}}", []),
        ("", ["""body = '{"q": {{query}}}'"""]),
    ):
        write(tmp_path, server, *more, address=address)
        assert assay_cli("engines", "test", "prod", asked).code == 0
    assert [each.params["q"] for each in server.asked[:2]] == [[asked], [asked]]
    assert server.asked[-1].json == {"q": asked}


@pytest.mark.parametrize(
    ("address", "more"),
    [
        ("?q={{query}}&api_key=sk-123", ()),
        ("", ("""body = '{"q": {{query}}, "auth": [{"apiKey": "sk-123"}]}'""",)),
    ],
)
def test_a_key_itself_is_refused_in_an_address_and_in_a_body(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, address: str, more: tuple[str, ...]
) -> None:
    write(tmp_path, server, *more, address=address)
    outcome = assay_cli("engines", "test", "prod", "levy")
    assert (outcome.code, "env:NAME" in outcome.err) == (2, True)


def test_a_refused_key_is_named_wherever_the_table_names_it(
    assay_cli: Assay, tmp_path: Path, server: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGIN", "clerk:sesame-1")
    server.behave = lambda number, asked: Reply({}, status=401)
    write(tmp_path, server, 'login = "env:LOGIN"')
    assert "does not accept the key in LOGIN" in tried(assay_cli)["wrong"][0]


def test_seconds_may_be_given_as_a_number(
    assay_cli: Assay, tmp_path: Path, server: SearchServer
) -> None:
    server.behave = lambda number, asked: Reply(PLAIN)
    write(tmp_path, server)
    scoring = ("score", "--dataset", "gold-set.jsonl", "--engine", "prod", "--timeout")
    assert assay_cli(*scoring, "2").code == 0
    assert assay_cli(*scoring, "0").code == 2

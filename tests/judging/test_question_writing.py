"""`assay questions`: a model writes questions, against an endpoint on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.judging.machine import UnreadableAnswer
from assay.workbench.judging.machine_judges import read_questions
from kit.commands import Assay
from kit.judge_server import JudgeServer, Reply, Seen, judge_server

KEY = "sk-very-secret-0123456789"
TEXTS = {
    "alpha": "The landlord shall keep the premises in repair.",
    "beta": "A tenancy ends upon the decease of the tenant.",
    "gamma": "Rent is payable in arrears.",
}


def about(seen: Seen) -> str:
    return next(name for name, text in TEXTS.items() if text in seen.texts[1])


def good(number: int, seen: Seen) -> Reply:
    return Reply(json.dumps({"questions": [f"who mends {about(seen)}", f"is {about(seen)} ok?"]}))


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as state:
        state.reply = good
        yield state


@pytest.fixture
def ask(assay_cli: Assay, server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> Assay:
    """`assay questions c --by robot -o q.jsonl` on a corpus of three documents."""
    monkeypatch.setenv("ROBOT_KEY", KEY)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    rows = [{"id": name, "text": text} for name, text in TEXTS.items()]
    Path("c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("assay.toml").write_text(
        f'[judges.robot]\nbase_url = "{server.url}"\nmodel = "m-1"\nkey = "env:ROBOT_KEY"\n'
        "retries = 0\ntimeout = 10\nconcurrency = 1\n"
    )
    assert assay_cli("corpus", "import", "jsonl", "c.jsonl", "--name", "c").code == 0
    return lambda *args: assay_cli("questions", "c", "--by", "robot", "-o", "q.jsonl", *args)


def lines() -> list[dict[str, object]]:
    return [json.loads(line) for line in Path("q.jsonl").read_text().splitlines()]


def test_nothing_is_sent_before_somebody_says_so(ask: Assay, server: JudgeServer) -> None:
    done = ask()
    assert done.code == 2
    assert "to be sent: 3 documents of corpus c" in done.err
    assert server.host in done.err
    assert "--yes" in done.err
    shown = ask("--dry-run")
    assert TEXTS["alpha"] in shown.out
    assert shown.code == 0
    assert server.seen == []
    assert not Path("q.jsonl").exists()


def test_what_is_written_is_indexed_and_found(
    ask: Assay, assay_cli: Assay, server: JudgeServer
) -> None:
    done = ask("--yes", "--count", "2")
    assert done.code == 0, done.err
    assert sorted(str(line["id"]) for line in lines()) == sorted(TEXTS)
    assert all(seen.key == f"Bearer {KEY}" for seen in server.seen)
    assert all("response_format" not in seen.body for seen in server.seen)
    assert KEY not in Path("q.jsonl").read_text() + done.out + done.err
    assert "assay index c --questions q.jsonl" in done.err
    indexed = assay_cli("index", "c", "--no-dense", "--questions", "q.jsonl", "--json")
    assert json.loads(indexed.out)["questions"] == {
        "shipped": 0,
        "given": 6,
        "documents": 3,
        "unknown_ids": 0,
    }


def test_an_interrupted_run_goes_on_where_it_stopped(ask: Assay, server: JudgeServer) -> None:
    server.reply = lambda number, seen: good(number, seen) if number < 1 else Reply(status=503)
    done = ask("--yes")
    assert done.code == 4
    assert "goes on from there" in done.err
    assert len(lines()) == 1
    server.reply = good
    seen_before = len(server.seen)
    assert ask("--yes").code == 0
    assert len(lines()) == 3
    assert len(server.seen) - seen_before == 2
    assert "nothing is to be sent" in ask("--yes").err


def test_an_answer_that_cannot_be_read_is_asked_for_again_and_counted(
    ask: Assay, server: JudgeServer
) -> None:
    server.reply = lambda number, seen: Reply("no idea") if about(seen) == "beta" else good(0, seen)
    done = ask("--yes", "--json")
    found = json.loads(done.out)
    assert (found["documents"], found["unusable"], found["left"]) == (2, 1, 1)
    assert len(server.seen) == 4


def test_a_writer_that_is_not_in_the_file_is_named(ask: Assay, assay_cli: Assay) -> None:
    done = assay_cli("questions", "c", "--by", "nobody", "-o", "q.jsonl")
    assert done.code == 2
    assert "no judge 'nobody'" in done.err


@pytest.mark.parametrize("text", ["", "{}", '{"questions": []}', '{"questions": [" "]}', "[1]"])
def test_no_questions_are_nonsense(text: str) -> None:
    with pytest.raises(UnreadableAnswer):
        read_questions(text)


def test_questions_are_read_from_a_fence_and_once_each() -> None:
    text = 'Here:\n```json\n{"questions": ["may I?", "may  I?", "when"]}\n```'
    assert read_questions(text) == ["may I?", "when"]

"""The commands on a store, as a user types them: where it is, what it says, how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.workbench.judging.gold_sets import gold_list
from assay.workbench.project.service import gold_path, open_service
from kit.commands import Assay, Outcome
from kit.files import write_json_lines

SEARCH = {
    "id": "1",
    "at": "2026-05-01",
    "query": "היטל השבחה",
    "corpus": "precedent_library",
    "results": ["a", "b"],
}
DECISION = {"id": "ערר 1/26", "at": "2026-05-03", "cites": ["b"]}


BOOTSTRAPPED = {
    "id": "g001",
    "query": "q",
    "relevant_case_law_ids": ["a"],
    "source": "bootstrap",
}


def record_baseline(assay_cli: Assay, *options: str) -> Outcome:
    """Score an engine on the set, and record its results as the baseline."""
    Path("engine.py").write_text("def search(query, top_k=20): return ['a', 'b']\n")
    scoring = ("score", "--dataset", "gold-set.jsonl", "--search-module", "engine.py")
    return assay_cli(*scoring, "--update-baseline", *options)


def fill(assay_cli: Assay, *options: object) -> None:
    Path("log.jsonl").write_text(json.dumps(SEARCH))
    Path("decisions.jsonl").write_text(json.dumps(DECISION))
    assert assay_cli("logs", "import", "log.jsonl", *options).code == 0
    assert assay_cli("logs", "decisions", "decisions.jsonl", *options).code == 0
    assert assay_cli("gold", "bootstrap", *options).code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("backlog",),
        ("gold", "bootstrap"),
        ("gold", "bootstrap", "--dry-run"),
        ("logs", "purge", "--older-than", "1"),
        ("gold", "promote", "g001", "--by", "D"),
        ("gold", "reject", "g001", "--by", "D", "--why", "w"),
        ("gold", "correct", "g001", "--by", "D", "--why", "w"),
        ("gold", "reopen", "g001", "--by", "D"),
        ("mcp",),
    ],
)
def test_a_store_that_is_not_there_is_not_made(assay_cli: Assay, command: tuple[str, ...]) -> None:
    done = assay_cli(*command, "--store", "mistyped/assay.db")
    assert done.code == 2
    assert "mistyped/assay.db: there is no store here" in done.err
    assert "assay logs import" in done.err
    assert not Path("mistyped").exists()


def test_the_commands_that_make_a_store_say_so(assay_cli: Assay) -> None:
    Path("log.jsonl").write_text(json.dumps(SEARCH))
    assert "new store: new.db" in assay_cli("logs", "import", "log.jsonl", "--store", "new.db").err
    assert "new store" not in assay_cli("logs", "import", "log.jsonl", "--store", "new.db").err


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("mysql://host/db", "no store on 'mysql'"),
        ("http://host/db", "no store on 'http'"),
        ("://", "not a store URL"),
        (".", "is a folder"),
    ],
)
def test_an_address_of_no_store(assay_cli: Assay, store: str, message: str) -> None:
    done = assay_cli("backlog", "--store", store)
    assert done.code == 2
    assert message in done.err


def test_approving_needs_no_logs(assay_cli: Assay) -> None:
    """A gold set from git, on a machine that has never seen the store."""
    write_json_lines(Path("gold-set.jsonl"), BOOTSTRAPPED)
    assert assay_cli("gold", "promote", "g001", "--by", "Dafna").code == 0
    assert '"source":"chair"' in Path("gold-set.jsonl").read_text()


def test_the_backlog_of_one_set(assay_cli: Assay) -> None:
    fill(assay_cli)
    by_name, by_file = (
        assay_cli("backlog", "--gold", name, "--json").json
        for name in ("gold-set", "gold-set.jsonl")
    )
    assert by_name["pending_review"] == by_file["pending_review"] == 1
    done = assay_cli("backlog", "--gold", "gold-sett")
    assert done.code == 2
    assert "no gold set 'gold-sett'" in done.err


def test_a_bootstrapped_set_needs_no_configuration(assay_cli: Assay) -> None:
    """`assay serve` right after `assay gold bootstrap` lets the expert decide."""
    fill(assay_cli)
    with open_service() as service:
        assert [(one.name, one.status) for one in gold_list(service)] == [
            ("gold-set", "provisional (bootstrap-only)")
        ]
        assert gold_path(service, "gold-set") == Path("gold-set.jsonl").resolve()


def test_an_empty_value_is_a_dash(assay_cli: Assay) -> None:
    fill(assay_cli)
    assay_cli("gold", "promote", "g001", "--by", "Dafna")
    shown = assay_cli("backlog").out
    assert "None" not in shown
    assert ["oldest", "pending", "since", "–"] in [line.split() for line in shown.splitlines()]


def test_a_webhook_that_is_away_is_a_warning(assay_cli: Assay) -> None:
    """The limit decides the exit code: whoever reads it must not mistake a full queue for a broken
    tool."""
    fill(assay_cli)
    done = assay_cli(
        "backlog", "--max-pending", 0, "--webhook", "http://127.0.0.1:9/hook", "--json"
    )
    assert (done.code, done.json["pending_review"]) == (1, 1)
    assert "warning: the webhook http://127.0.0.1:9/hook did not accept the notice" in done.err
    assert (
        assay_cli("backlog", "--max-pending", 1, "--webhook", "http://127.0.0.1:9/hook").code == 0
    ), "nothing to tell"
    refused = assay_cli("backlog", "--max-pending", 9, "--webhook", "file:///etc/passwd")
    assert refused.code == 2
    assert "http or https" in refused.err


def test_what_is_hidden_from_an_import(assay_cli: Assay) -> None:
    Path("log.jsonl").write_text(json.dumps({**SEARCH, "query": "levy of a@b.org in case 12"}))
    hidden = ("--redact", "email", "--redact", r"case=case \d+")
    assay_cli("logs", "import", "log.jsonl", *hidden, "--store", "new.db")
    with open_service("new.db") as service:
        assert [search.query for search in service.store.searches(["1"])] == [
            "levy of [email] in [case]"
        ]
    done = assay_cli("logs", "import", "log.jsonl", "--redact", "case", "--store", "new.db")
    assert done.code == 2
    assert "NAME=PATTERN" in done.err


def test_baselines_publish_what_was_approved(assay_cli: Assay) -> None:
    fill(assay_cli)
    assay_cli("gold", "promote", "g001", "--by", "Dafna")
    scored = record_baseline(assay_cli, "--by", "Dafna", "--why", "first")
    assert "1 approved row is published" in scored.err
    assert assay_cli("backlog", "--json").json["published"] == 1


def test_a_baseline_makes_no_store(assay_cli: Assay) -> None:
    write_json_lines(Path("gold-set.jsonl"), BOOTSTRAPPED)
    assert record_baseline(assay_cli).code == 0
    assert not Path(".assay").exists()


def test_pairs_to_judge_wait_in_the_queue_of_their_own_set(
    assay_cli: Assay, tmp_path: Path
) -> None:
    en = Path(__file__).parents[2] / "samples" / "en"
    for folder, engine in (("one", "bm25"), ("two", "random")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "dataset.json").write_bytes((en / "dataset.json").read_bytes())
        args = ("--engine", engine, "--corpus", en / "corpus.jsonl", "--output", f"{engine}.json")
        assert assay_cli("score", "--dataset", f"{folder}/dataset.json", *args).code == 0
    for folder, limit in (("one", 3), ("two", 2)):
        asked = ("--queue", f"{folder}/dataset.json", "--limit", limit)
        assert (
            f"{limit} new pairs wait"
            in assay_cli("gold", "next", "random.json", "bm25.json", *asked).err
        )
    for folder, limit in (("one", 3), ("two", 2)):
        found = assay_cli("backlog", "--gold", f"{folder}/dataset.json", "--json").json
        assert found["pending_review"] == limit


def test_a_closed_set_has_nothing_to_judge_next(assay_cli: Assay, tmp_path: Path) -> None:
    he = Path(__file__).parents[2] / "samples" / "he"
    args = ("--engine", "bm25", "--corpus", he / "precedents.jsonl", "--output", "bm25.json")
    assert assay_cli("score", "--dataset", he / "gold-set.jsonl", *args).code == 0
    found = assay_cli("gold", "next", "bm25.json", "--threshold", 0.5)
    assert found.code == 2
    assert "nothing is unjudged here: the set is closed" in found.err
    assert "name a rubric" in found.err


@pytest.mark.parametrize(
    "command",
    [
        ("logs", "purge", "--older-than", "nan"),
        ("logs", "purge", "--older-than", "1e12"),
        ("gold", "bootstrap", "--recent", "inf"),
        ("gold", "bootstrap", "gold.txt"),
        ("backlog", "--max-age", "nan"),
        ("backlog", "--max-pending", "-1"),
        ("gold", "promote", "g001", "--by", "D", "--gold", "typo/gold-set.jsonl"),
        ("gold", "reopen", "g001", "--by", " "),
        ("serve", "--retention", "inf"),
    ],
)
def test_a_value_that_cannot_be(assay_cli: Assay, command: tuple[str, ...]) -> None:
    fill(assay_cli)
    before = Path("gold-set.jsonl").read_bytes()
    assert assay_cli(*command).code == 2
    assert Path("gold-set.jsonl").read_bytes() == before
    assert sorted(path.name for path in Path.cwd().iterdir()) == [
        ".assay",
        "decisions.jsonl",
        "gold-set.jsonl",
        "gold-set.log.jsonl",
        "log.jsonl",
    ]

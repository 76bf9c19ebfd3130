"""One thing, one name: the rule of `cli/options.py`, on every command there is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

import assay.cli
from assay.cli.options import BEFORE, CORPUS, GOLD, NAMES, is_argument
from kit.commands import Assay

SAMPLE = Path(__file__).parents[2] / "samples" / "en"
# servers: they print nothing to read
WITHOUT_JSON = {"serve", "mcp"}
# of the row that is asked about, not of a corpus to open
NOT_A_CORPUS = {"engines test"}
LANGUAGES = ("en", "fi", "he")


def commands() -> Iterator[tuple[str, Any]]:
    """(path, command) of all, as a user reaches them."""

    def below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
        inside = getattr(command, "commands", None)
        if inside is None:
            yield path, command
            return
        for name, inner in inside.items():
            yield from below(f"{path} {name}", inner)

    group: Any = typer.main.get_command(assay.cli.app)
    for name in group.list_commands(None):
        yield from below(name, group.get_command(click.Context(group), name))


EVERY = dict(commands())
PARAMS = [(path, param) for path, command in EVERY.items() for param in command.params]


def ids(pairs: list[tuple[str, Any]]) -> list[str]:
    return [f"{path} {param.name}" for path, param in pairs]


NAMED = [(path, param) for path, param in PARAMS if param.name in NAMES]


@pytest.mark.parametrize(("path", "param"), NAMED, ids=ids(NAMED))
def test_every_name_of_the_table_is_taken(path: str, param: Any) -> None:
    """As an option, or in place of the argument."""
    names = NAMES[param.name]
    if path == "score" and param.name == "top_k":
        names = ("--top-k",)  # how deep a golden set looks is --k
    command = EVERY[path]
    values = [arg for name in names for arg in (name, f"VALUE{name}")]
    if is_argument(param):
        assert {f"VALUE{name}" for name in names} <= set(taken(command, values))
        assert all(name in (param.help or "") for name in names)
    else:
        assert set(names) <= set(param.opts)


def taken(command: Any, args: list[str]) -> list[str]:
    """The arguments without a name, when these are given."""
    from assay.cli.options import _place_named_arguments

    return [arg for arg in _place_named_arguments(command, args) if not arg.startswith("-")]


def test_a_path_to_write_to_is_always_o() -> None:
    written = {"--output", "-o"}
    kept = {
        f"{path} {param.name}"
        for path, param in PARAMS
        if written & set(param.opts) and param.name != "output"
    }
    assert not kept


def test_nothing_else_is_called_like_a_gold_set_or_a_corpus() -> None:
    others = {
        f"{path} {param.name}"
        for path, param in PARAMS
        if {*GOLD, "--corpus"} & set(param.opts) and param.name not in NAMES
    }
    assert not others


CORPORA = [
    (path, param) for path, param in PARAMS if param.name == "corpus" and path not in NOT_A_CORPUS
]


@pytest.mark.parametrize(("path", "param"), CORPORA, ids=ids(CORPORA))
def test_a_corpus_is_named_in_the_same_ways_everywhere(path: str, param: Any) -> None:
    assert CORPUS in param.help


@pytest.mark.parametrize("path", sorted(EVERY.keys() - WITHOUT_JSON))
def test_every_command_can_answer_a_program(path: str) -> None:
    assert any("--json" in param.opts for param in EVERY[path].params)


SPOKEN = [(path, param) for path, param in PARAMS if "--language" in param.opts]


@pytest.mark.parametrize(("path", "param"), SPOKEN, ids=ids(SPOKEN))
def test_a_language_is_a_code_everywhere(path: str, param: Any) -> None:
    assert all(code in param.help for code in LANGUAGES), param.help


def test_a_name_from_before_works_and_says_the_new_one(assay_cli: Assay) -> None:
    judge = ("gold", "judge", SAMPLE / "dataset.json", "--by", "nobody")
    before, now = assay_cli(*judge, "--send"), assay_cli(*judge, "--yes")
    note = "note: --send is now called --yes; the old name goes with the next release\n"
    assert before.err == note + now.err
    assert before.code == now.code
    assert {name for _, name in BEFORE} == {"--send"}


@pytest.mark.parametrize("name", ["--dataset", "--gold", "--gold=", ""])
@pytest.mark.parametrize("first", [True, False])
def test_a_gold_set_with_its_name_or_without(assay_cli: Assay, name: str, first: bool) -> None:
    """For an option, where it is required, and for an argument."""
    path = str(SAMPLE / "dataset.json")
    given = [name + path] if name.endswith("=") or not name else [name, path]
    others = ["--engine", "bm25", "--corpus", str(SAMPLE / "corpus.jsonl"), "--json"]
    done = assay_cli("score", *(given + others if first else others + given))
    assert (done.code, done.json["receipt"]["counts"]["n_scored"]) == (0, 21), done.err
    done = assay_cli("gold", "stats", *([*given, "--json"] if first else ["--json", *given]))
    assert (done.code, done.json["queries"]) == (0, 21), done.err


def test_two_loose_words_are_still_refused(assay_cli: Assay) -> None:
    done = assay_cli("score", "a.json", "b.json", "--engine", "bm25")
    assert done.code == 2
    assert "a.json b.json" in done.err or "--dataset" in done.err


def test_an_output_with_its_name_or_without(assay_cli: Assay) -> None:
    path = str(SAMPLE / "dataset.json")
    assert assay_cli("gold", "convert", path, "a.jsonl").code == 0
    assert assay_cli("gold", "convert", "-o", "b.jsonl", "--gold", path).code == 0
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()


def test_a_corpus_is_a_name_a_path_or_a_frozen_file(assay_cli: Assay) -> None:
    Path("docs.jsonl").write_text(
        '{"id": "83-001", "title": "Advice Letter, No. A-83-001", "text": "Gifts."}\n'
    )
    assert assay_cli("corpus", "import", "jsonl", "docs.jsonl", "--name", "docs").code == 0
    assert assay_cli("corpus", "freeze", "docs", "-o", "docs.assay").code == 0
    for corpus in ("docs", "docs.jsonl", "docs.assay"):
        done = assay_cli("corpus", "stats", "--corpus", corpus, "--json")
        assert (done.code, done.json["documents"]) == (0, 1), (corpus, done.err)
        assert assay_cli("cite", "No. A-83-001", "--corpus", corpus).code == 0
    assert [row["name"] for row in assay_cli("corpus", "list", "--json").json] == ["docs"]
    done = assay_cli("corpus", "stats", "README.md")
    assert (done.code, "no corpus 'README.md'" in done.err or "cannot be" in done.err) == (2, True)


def test_a_file_of_documents_is_read_again_when_it_has_changed(assay_cli: Assay) -> None:
    path = Path("docs.jsonl")
    path.write_text('{"id": "a", "title": "A", "text": "one"}\n')
    assert assay_cli("corpus", "stats", "docs.jsonl", "--json").json["documents"] == 1
    path.write_text('{"id": "a", "title": "A", "text": "one"}\n{"id": "b", "text": "two"}\n')
    assert assay_cli("corpus", "stats", "docs.jsonl", "--json").json["documents"] == 2
    assert Path("docs.jsonl").read_text().count("\n") == 2


@pytest.mark.parametrize("redirected", ["", " 2>&1"])
def test_a_closed_pipe_keeps_the_exit_code(tmp_path: Path, redirected: str) -> None:
    """A gate that fails ends with 1, whoever stops reading."""
    (tmp_path / "assay.toml").write_text(
        f'[gold.sample]\npath = "{SAMPLE / "dataset.json"}"\n'
        f'[engines.bm25]\nengine = "bm25"\ncorpus = "{SAMPLE / "corpus.jsonl"}"\n'
        '[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.999\nunjudged = "count as wrong"\n'
    )
    command = f"'{sys.executable}' -m assay run{redirected} | true; exit ${{PIPESTATUS[0]}}"
    env = {**os.environ, "PYTHONPATH": str(SAMPLE.parents[1] / "src")}
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True)
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


def test_no_raw_key_reaches_a_person(assay_cli: Assay) -> None:
    """What prints values by their names says them in words; JSON has the keys."""
    from assay.reports import listing
    from assay.workbench.judging.votes_to_labels import MergeOutcome

    Path("docs.jsonl").write_text('{"id": "a", "title": "A", "text": "about a gift"}\n')
    assert assay_cli("corpus", "import", "jsonl", "docs.jsonl", "--name", "docs").code == 0
    for command in (
        ("corpus", "stats", "docs"),
        ("corpus", "show", "docs"),
        ("corpus", "list"),
        ("engines", "list"),
        ("doctor",),
        ("gold", "stats", SAMPLE / "dataset.json"),
    ):
        shown = assay_cli(*command).out
        words = shown.replace(str(SAMPLE), "").split()
        assert not {"True", "False", "None", "[]", "{}"} & set(words), shown
    keys = [field for field in MergeOutcome.__struct_fields__ if "_" in field]
    assert keys
    assert not [listing.spoken_key(key) for key in keys if "_" in listing.spoken_key(key)]

"""Every command in the documentation exists, with its options; and those of tutorials and how-to
pages run, in the order of the page, in a folder of their own."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import assay.cli
from kit.commands import Assay
from kit.corpora import made_once
from kit.docs_pages import DOCS, PAGES, ROOT, Block, blocks, mentioned
from kit.docs_world import fill_in, make_home, make_world

VERDICTS = ("backlog", "corpus", "gold validate", "run", "score")  # may say no: exit code 1 or 3
EMPTY = ("start", "tutorials")  # pages that begin in an empty folder
FIRST = {  # what a page takes for done
    "docs/judging/agreement.md": (
        "gold merge set.json packet-ada.votes.jsonl packet-ben.votes.jsonl"
    ),
}
ELSEWHERE = "docs/judging/first-set.md"  # followed to the letter by test_first_set.py


def is_run(name: str, block: Block) -> bool:
    """Commands run everywhere, Python in tutorials."""
    python = (
        block.language == "python" and not block.title and bool(set(Path(name).parts) & set(EMPTY))
    )
    return block.runs and (bool(block.commands) or python)


NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
WITH_COMMANDS = [
    name
    for name, page in zip(NAMES, PAGES, strict=True)
    if name != ELSEWHERE and any(is_run(name, block) for block in blocks(page))
]


def root() -> Any:
    return typer.main.get_command(assay.cli.app)


def parse(words: list[str]) -> None:
    """As the command line reads them; nothing is done."""
    command, context, left = root(), None, words
    while True:
        context = command.make_context(command.name or "assay", list(left), parent=context)
        left = _left(context)
        if not hasattr(command, "resolve_command") or not left:
            return
        _, command, left = command.resolve_command(context, left)


def _left(context: Any) -> list[str]:
    return [*getattr(context, "_protected_args", []), *context.args]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_one_that_there_is(name: str) -> None:
    for block in blocks(ROOT / name):
        for words in block.commands:
            try:
                parse(words)
            except typer.Exit:  # --help, --version
                continue
            except Exception as error:  # whatever the parser says
                pytest.fail(f"{name}:{block.line}: assay {' '.join(words)}: {error}")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_that_is_mentioned_has_these_options(name: str) -> None:
    for words in mentioned(ROOT / name):
        command, context = root(), typer.Context(root())
        for word in words:
            if not hasattr(command, "get_command"):
                break
            if not word.replace("-", "").isalpha() or word.startswith("-") or word.isupper():
                break
            found = command.get_command(context, word)
            assert found is not None, f"{name}: assay {' '.join(words)}"
            command = found
        known = {option for parameter in command.params for option in parameter.opts}
        known |= {option for parameter in command.params for option in parameter.secondary_opts}
        for word in words:
            option = re.match(r"\[?(--[a-z][\w-]*)", word)
            if option and not hasattr(command, "get_command"):
                assert option[1] in known | {"--help"}, f"{name}: assay {' '.join(words)}"


def played(words: list[str]) -> None:
    """What people do between two commands: they judge, and fill in what they were given."""
    if words[:2] == ["gold", "merge"]:
        for judge in ("ada", "ben"):
            packet, saved = Path(f"{judge}.jsonl"), Path(f"packet-{judge}.votes.jsonl")
            if packet.exists() and not saved.exists():
                fill_in(packet, saved, 1 if judge == "ada" else 2)
    given = [Path(word) for word in words if word.endswith(".csv") and Path(word).exists()]
    for path in given if words[:2] in (["gold", "merge"], ["gold", "adjudicate"]) else []:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        if not rows or "grade" not in rows[0] or "--output" in words or "-o" in words:
            continue
        for row in rows:
            row["grade"] = row["grade"] or "1"
            row["rationale"] = row["rationale"] or "The same rule, on other facts."
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)


def packets(words: list[str]) -> list[str]:
    """A page of a packet is judged by a person; its lines are what a test can fill in."""
    if words[:2] == ["gold", "packet"] and words[-1].endswith(".html"):
        return [*words[:-1], words[-1].replace(".html", ".jsonl")]
    return words


@pytest.fixture
def folder(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Path]:
    """Empty but for the index of the demo; or, for a how-to page, with the files it speaks of."""
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    name = request.node.callspec.params["name"]
    here = tmp_path / "here"
    if set(Path(name).parts) & set(EMPTY):
        home = made_once(tmp_path_factory, "docs-home", make_home)
        shutil.copytree(home, here / ".assay")
    else:
        home = request.getfixturevalue("sample_home")
        world = made_once(tmp_path_factory, "docs-world", lambda to: make_world(to, home))
        shutil.copytree(world, here, symlinks=True)
    with contextlib.chdir(here):
        yield here


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_the_commands_of_a_page_run(
    name: str, folder: Path, assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    output, names = "", {}
    if name in FIRST:
        assert assay_cli(*FIRST[name].split()).code == 0
    for block in blocks(ROOT / name):
        if block.title:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python" and set(Path(name).parts) & set(EMPTY):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block.text, name, "exec"), names)
            output = printed.getvalue()
        elif block.language == "text" and output:
            shown(block, output, name)
        elif block.runs and block.commands:
            output = ""
            for words in block.commands:
                played(words)
                done = assay_cli(*packets(words))
                allowed = (0, 1, 3) if " ".join(words).startswith(VERDICTS) else (0,)
                said = f"{name}:{block.line}: assay {' '.join(words)}"
                assert done.code in allowed, f"{said}\n{done.out}\n{done.err}"
                output += done.out + done.err


def shown(block: Block, output: str, name: str) -> None:
    """Every line that the page shows is in the output, whatever the spaces."""
    printed = " ".join(output.split())
    for line in block.text.splitlines():
        for part in line.split("…"):
            assert " ".join(part.split()) in printed, f"{name}:{block.line}: {line}\n{output}"


def test_tutorials_are_run_and_not_only_read() -> None:
    """A tutorial that has commands runs at least some of them."""
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        if any(block.commands for block in blocks(page)):
            assert str(page.relative_to(ROOT)) in WITH_COMMANDS, page


def test_json_on_a_page_is_json() -> None:
    for page in PAGES:
        for block in blocks(page):
            if (
                block.language == "json"
                and "…" not in block.text
                and not block.text.startswith('"')
            ):
                for line in (
                    [block.text] if block.text[:2] in ("{\n", "[\n") else block.text.splitlines()
                ):
                    json.loads(line)

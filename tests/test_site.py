"""The pages of the site that are made from the program say all of it, and every page is in the
menu. The site itself is built by `make docs`."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.evaluation.measures import MEASURES
from assay.judging import rubrics
from assay.law.spellings import BARE, SPELLINGS
from assay.web.api_calls import role_table
from assay.web.app import TABLES
from assay.workbench.project import config

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@cache
def loaded(name: str) -> Any:
    """A module of the tools."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def reference() -> Any:
    return loaded("reference")


@cache
def made(name: str) -> str:
    text: str = reference().PAGES[f"reference/{name}.md"]()
    return text


def test_every_command_and_option_is_there() -> None:
    root = reference().root_command()
    for path, command in reference().each_command(root):
        assert f" assay {' '.join(path)}\n" in made("commands")
        for parameter in [] if hasattr(command, "list_commands") else command.params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert f"`{parameter.opts[0]}`" in made("commands"), (path, parameter.name)


@pytest.mark.parametrize("name", [name for name in assay.__all__ if not name.startswith("_")])
def test_every_public_name_is_there(name: str) -> None:
    assert f"### {name}\n" in made("python")


def test_every_key_of_the_configuration_says_what_it_is() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", made("assay-toml"), flags=re.MULTILINE)
    assert len(rows) > 50
    for table in config._File.__struct_fields__:
        assert re.search(rf"\[{table}[.\]]", made("assay-toml")), table
    assert [key for key, said in rows if said.strip() == "–"] == []


@pytest.mark.parametrize(
    "word", ["Moment", "Chair", "Suite", "Pool", "judged@k", "Gold set", "Gate", "MUST question"]
)
def test_the_glossary_explains_it_in_three_languages(word: str) -> None:
    """Each in a part of its own, with the English word beside it."""
    _, english, finnish, hebrew = made("glossary").split("\n## ")
    key = re.search(rf"### {re.escape(word)} {{#en-(\w+)", english)
    assert key
    for language, part in (("fi", finnish), ("he", hebrew)):
        entry = part.split(f"{{#{language}-{key[1]} ")[1].split("\n### ")[0]
        assert f"({word})" in entry


@pytest.mark.parametrize("name", ["formats", "measures", "mcp", "http"])
def test_the_rest_of_the_reference_is_made(name: str) -> None:
    assert made(name).count("\n## ") >= (0 if name == "measures" else 3)


def test_every_role_is_there() -> None:
    rows = [row for rows in TABLES for row in rows]
    assert role_table(rows) in made("roles")


def test_every_spelling_of_a_citation_is_there() -> None:
    for row in (*SPELLINGS, *BARE):
        assert row.name in made("citations")
        for example in row.examples:
            assert example in made("citations"), example


def test_the_page_for_judges_is_the_rubric() -> None:
    assert made("rubric") == rubrics.as_markdown(rubrics.load())


def test_every_measure_has_its_formula_and_defaults_in_words() -> None:
    for name, formula in MEASURES.items():
        row = made("measures").split(f"| `{name}` |")[1].split("\n")[0]
        assert formula.text in row
        assert "None" not in row


def test_calls_are_told_without_the_places_of_types_in_the_source() -> None:
    assert re.findall(r"assay\.[\w.]+", made("http")) == []


def test_guides_are_written_in_short_sentences() -> None:
    """As one would say it: guides had 18 words a sentence when they were hard to read."""
    prose = loaded("prose")
    guides = [page for page in DOCS.rglob("*.md") if page.parent.name != "decisions"]
    lengths = [
        len(sentence.split())
        for page in guides
        for sentence in prose.sentences(page.read_text(encoding="utf-8"))
    ]
    assert len(lengths) > 1000
    assert sum(lengths) / len(lengths) < 15


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    pages |= set(reference().PAGES)
    named = set(re.findall(r"[\w/-]+\.md", menu.split("\nnav:")[1]))
    hidden = {page for page in pages if re.match(r"decisions/0", page)}
    assert pages - named - hidden == set()
    assert named - pages == set()

"""The surface of Assay is the one of tests/fixtures/surface.txt, and every command line of
tests/fixtures/docs_commands.txt still runs in docs. What was removed is listed there with the
sentence of an issue that allows it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from kit import inventory
from kit.inventory import DOCS_COMMANDS, SURFACE, UPDATE, Found, Inventory
from kit.surface import list_docs_commands, list_surface


@cache
def surface() -> Found:
    return list_surface()


def read(path: Path) -> Inventory:
    return inventory.parse(path.read_text(encoding="utf-8"))


def complain(about: str, lines: list[str], advice: str) -> None:
    """Fail with every line and what to do about them."""
    if lines:
        pytest.fail("\n".join([f"{about}:", *(f"  {line}" for line in lines), advice]), False)


def test_nothing_of_the_surface_is_missing() -> None:
    complain(
        "the program no longer has",
        inventory.missing(read(SURFACE), surface()),
        f"Put it back; or, where an issue allows its removal: {UPDATE}, and quote the sentence "
        f"under Removed in {SURFACE.name}.",
    )


def test_everything_new_is_in_the_inventory() -> None:
    complain(
        f"not in {SURFACE.name}",
        inventory.new(read(SURFACE), surface()),
        f"Is it meant for users? Then: {UPDATE}",
    )


def test_every_command_line_that_docs_ran_still_runs_somewhere() -> None:
    complain(
        "no page runs any more",
        inventory.missing(read(DOCS_COMMANDS), list_docs_commands()),
        "Run it on a page again, without a comment that it is not run; or, where an issue allows "
        f"its removal: {UPDATE}, and quote the sentence under Removed in {DOCS_COMMANDS.name}.",
    )


@pytest.mark.parametrize("path", [SURFACE, DOCS_COMMANDS], ids=lambda path: path.name)
def test_every_removal_is_true_and_quotes_the_sentence_that_allows_it(path: Path) -> None:
    found = surface() if path == SURFACE else list_docs_commands()
    complain(path.name, inventory.mistakes(read(path), found), "")


# ── the inventory itself ──────────────────────────────────────────────────────────────────────────

TEXT = """\
# An introduction.

## Commands
assay a
assay b

## Removed
assay c
    "The command c goes with this release." (issue 31)
"""


def test_an_inventory_is_read_and_written_as_it_is() -> None:
    read = inventory.parse(TEXT)
    assert read.sections == {"Commands": ["assay a", "assay b"]}
    assert read.removed == {"assay c": '"The command c goes with this release." (issue 31)'}
    assert inventory.render(read, inventory.introduction(TEXT)) == TEXT


def test_what_is_gone_and_what_is_new_is_named() -> None:
    read = inventory.parse(TEXT)
    found = {"Commands": {"assay b", "assay d"}}
    assert inventory.missing(read, found) == ["Commands: assay a"]
    assert inventory.new(read, found) == ["Commands: assay d"]
    assert inventory.mistakes(read, found) == []


def test_a_line_that_goes_needs_a_sentence_and_must_be_gone() -> None:
    found = {"Commands": {"assay b"}}
    after = inventory.updated(inventory.parse(TEXT), found)
    assert after.sections == {"Commands": ["assay b"]}
    assert list(after.removed) == ["assay a", "assay c"]
    [mistake] = inventory.mistakes(after, found)
    assert mistake == 'removed without a sentence that allows it, "…" (issue N): assay a'
    [mistake] = inventory.mistakes(inventory.parse(TEXT), {"Commands": {"assay c"}})
    assert mistake == "listed as removed, and still there: assay c"


@pytest.mark.parametrize(
    "quote", ["", "It goes. (issue 31)", '"Gone" (issue 31)', '"It just goes."']
)
def test_a_quote_is_a_sentence_and_names_its_issue(quote: str) -> None:
    read = inventory.parse(f"## Commands\n\n## Removed\nassay c\n    {quote}\n")
    assert len(inventory.mistakes(read, {})) == 1

"""One meaning for a key, on every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import assay.web

TEMPLATES = Path(assay.web.__file__).parent / "templates"
# key: the words of the control that has it, on any page
MEANINGS = {
    "a": "approve",
    "b": "back|one_by_one|agreement|search_results",
    "c": "next_chip",
    "d": "next-doc",
    "f": "section text",
    "g": "rubric",
    "j": "next|begin|rule_first|entry",
    "k": "previous",
    "l": "all_documents|bulk_all",
    "m": "note",
    "n": "next|after|begin_all|back_to_set",
    "p": "before",
    "r": "reason|why",
    "s": "skip",
    "t": "take",
    "u": "unsure",
    "v": "previous_chip",
    "x": "reject",
    "z": "undo",
    "!": "flag",
    "/": "add|search",
    "?": "help|keys",
}


def controls() -> list[tuple[str, str, str]]:
    found = []
    for template in sorted(TEMPLATES.glob("*.html")):
        for line in template.read_text(encoding="utf-8").splitlines():
            for match in re.finditer(r'data-key="([^"{]+)"', line):
                start = line.rfind("<", 0, match.start())
                found.append((template.stem, match[1], line[start : match.end() + 160]))
    return found


@pytest.mark.parametrize(("page", "key", "control"), controls())
def test_a_key_means_the_same_on_every_page(page: str, key: str, control: str) -> None:
    assert re.search(MEANINGS[key], control), f"{key} on {page}: {control}"

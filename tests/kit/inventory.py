"""Inventories: text files that list what Assay offers, one line each, and what was removed.

An inventory has sections with a heading (`## Commands and options`) and sorted lines. Its last
section, `## Removed`, keeps every line that is gone, each followed by an indented line with the
sentence that allows the removal:

    ## Removed
    assay corpus frobnicate
        "Nobody uses `frobnicate`: it goes." (issue 31)

`cd tests && python -m kit.inventory` brings both inventories up to date: new lines are added, and
lines that are gone move to `## Removed` without a sentence, so that the test fails until somebody
quotes one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures"
SURFACE = FIXTURES / "surface.txt"
DOCS_COMMANDS = FIXTURES / "docs_commands.txt"

REMOVED = "Removed"
QUOTE = re.compile(r'"\S+ \S+.+" \(issue \d+\)')  # a sentence: more than a word
UPDATE = "cd tests && python -m kit.inventory"

Found = Mapping[str, AbstractSet[str]]  # the lines of each section, as they are now


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """The lines of each section, and the removed lines with the sentences that allow it."""

    sections: dict[str, list[str]] = field(default_factory=dict)
    removed: dict[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        return [line for lines in self.sections.values() for line in lines]


def parse(text: str) -> Inventory:
    """Read an inventory. Lines before the first heading are its introduction."""
    inventory = Inventory()
    section, last = "", ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
            if section != REMOVED:
                inventory.sections[section] = []
        elif not section or not line.strip():
            continue
        elif section != REMOVED:
            inventory.sections[section].append(line)
        elif line.startswith("    "):
            inventory.removed[last] = line.strip()
        else:
            last = line
            inventory.removed.setdefault(last, "")
    return inventory


def missing(inventory: Inventory, found: Found) -> list[str]:
    """Lines of the inventory that are gone, each with its section."""
    return [
        f"{section}: {line}"
        for section, lines in inventory.sections.items()
        for line in lines
        if line not in found.get(section, set())
    ]


def new(inventory: Inventory, found: Found) -> list[str]:
    """Lines that the inventory does not have, each with its section."""
    return [
        f"{section}: {line}"
        for section, lines in found.items()
        for line in sorted(lines - {*inventory.sections.get(section, ())})
    ]


def mistakes(inventory: Inventory, found: Found) -> list[str]:
    """Sections that are not sorted, and removals that are unfounded or not true."""
    now = {line for lines in found.values() for line in lines}
    wrong = [
        f"not sorted, or with a line twice: {section}"
        for section, lines in inventory.sections.items()
        if lines != sorted({*lines})
    ]
    for line, quote in inventory.removed.items():
        if line in now:
            wrong.append(f"listed as removed, and still there: {line}")
        if not QUOTE.fullmatch(quote):
            wrong.append(f'removed without a sentence that allows it, "…" (issue N): {line}')
    return wrong


def updated(inventory: Inventory, found: Found) -> Inventory:
    """The inventory with the lines found now. Lines that are gone are removed, without a sentence;
    removed lines that are back are listed again."""
    now = {line for lines in found.values() for line in lines}
    gone = dict.fromkeys(inventory.lines, "") | inventory.removed
    return Inventory(
        sections={section: sorted(lines) for section, lines in found.items()},
        removed={line: quote for line, quote in gone.items() if line not in now},
    )


def render(inventory: Inventory, introduction: str) -> str:
    """The text of an inventory."""
    parts = [introduction.strip()]
    for section, lines in inventory.sections.items():
        parts.append("\n".join([f"## {section}", *lines]))
    removed = [f"## {REMOVED}"]
    for line, quote in inventory.removed.items():
        removed += [line, *([f"    {quote}"] if quote else [])]
    return "\n\n".join([*parts, "\n".join(removed)]) + "\n"


def introduction(text: str) -> str:
    """The lines of a file before its first heading."""
    return text.partition("\n## ")[0].strip()


def main() -> None:
    """Bring both inventories up to date."""
    for variable in ("ASSAY_HOME", "ASSAY_STORE"):
        os.environ.pop(variable, None)  # what is listed does not depend on a workspace
    from kit.surface import list_docs_commands, list_surface

    for path, found in ((SURFACE, list_surface()), (DOCS_COMMANDS, list_docs_commands())):
        text = path.read_text(encoding="utf-8")
        inventory = updated(parse(text), found)
        path.write_text(render(inventory, introduction(text)), encoding="utf-8")


if __name__ == "__main__":
    main()

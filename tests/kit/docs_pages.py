"""The pages of the documentation as tests see them: their blocks, the files they show and the
commands in them.

A block of commands is fenced (`sh`) or indented. In tests it runs, unless a comment above it says
`<!-- parsed only: why -->` or `<!-- not run: why -->`: then its commands are only held against the
command line. A fenced block with a title is a file, written before the next command runs. A `text`
block after commands shows what they print: each of its lines is in the output, apart from `…`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"^```(\w*)(.*)$")
NOT_RUN = re.compile(r"<!-- (?:parsed only|not run): .+ -->")
COMMANDS = ("sh", "console", "")


@dataclass(frozen=True, kw_only=True)
class Block:
    language: str  # "indented" where it has no fence
    title: str
    text: str
    runs: bool
    line: int

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command of ours, `assay` left out."""
        if self.title or self.language not in (*COMMANDS, "indented"):
            return []
        found = []
        for line in self.text.replace("\\\n", " ").splitlines():
            if re.match(r"\s*(?:\$ )?assay ", line):
                words = shlex.split(line.strip().removeprefix("$ "), comments=True)
                found += list(_apart(words))
        return found


def _apart(words: list[str]) -> Iterator[list[str]]:
    """Commands that stand on one line."""
    one: list[str] = []
    for word in [*words, "&&"]:
        if word != "&&":
            one.append(word)
        elif one[:1] == ["assay"]:
            yield one[1:]
            one = []
        else:
            one = []


def blocks(page: Path) -> list[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    place, runs = 0, True
    while place < len(lines):
        line, start = lines[place], place + 1
        if fence := FENCE.match(line):
            end = next(i for i in range(place + 1, len(lines)) if lines[i].startswith("```"))
            title = re.search(r'title="([^"]+)"', fence[2])
            text = "\n".join(lines[place + 1 : end]) + "\n"
            found.append(
                Block(
                    language=fence[1],
                    title=title[1] if title else "",
                    text=text,
                    runs=runs,
                    line=start,
                )
            )
            place, runs = end + 1, True
        elif line.startswith("    ") and (not place or not lines[place - 1].strip()):
            end = place
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            text = "\n".join(line[4:] for line in lines[place:end]).strip("\n") + "\n"
            found.append(Block(language="indented", title="", text=text, runs=runs, line=start))
            place, runs = end, True
        else:
            if line.strip():
                runs = not NOT_RUN.fullmatch(line.strip())
            place += 1
    return found


def mentioned(page: Path) -> list[list[str]]:
    """Commands that a sentence or a table names, in one pair of backticks."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    prose = re.sub(r"(?<=\n\n)(?: {4}.*\n)+", "", prose)
    found = []
    for code in re.findall(r"(?<!`)`(assay [^`\n]+(?:\n[^`\n]+)?)`(?!`)", prose):
        words = code.replace("\n", " ").replace("|", " ").split()
        found.append(words[1:])
    return found

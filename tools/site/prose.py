"""How long the sentences of a text are: `python tools/site/prose.py docs README.md`."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def sentences(markdown: str) -> list[str]:
    """The sentences of a page: no code, no tables, no headings."""
    text = re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^(?: {4}|\||#|!\[).*$", "", text, flags=re.M)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^\s*(?:[-*>]|\d+\.) ", "\n\n", text, flags=re.M)
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        flat = " ".join(paragraph.split())
        found += [part for part in re.split(r"(?<=[.!?:])\s+(?=[A-Z*`\"(])", flat) if part]
    return [one for one in found if len(one.split()) > 2]


def main(paths: list[str]) -> None:
    rows = []
    for path in map(Path, paths):
        for page in sorted(path.rglob("*.md")) if path.is_dir() else [path]:
            lengths = [len(one.split()) for one in sentences(page.read_text(encoding="utf-8"))]
            if lengths:
                rows.append((sum(lengths) / len(lengths), len(lengths), max(lengths), str(page)))
    words = sum(mean * count for mean, count, _, _ in rows)
    for mean, count, longest, page in sorted(rows, reverse=True):
        sys.stdout.write(f"{mean:5.1f}  {count:4d} sentences, longest {longest:3d}  {page}\n")
    sys.stdout.write(f"{words / sum(count for _, count, _, _ in rows):5.1f}  all\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The words of the pages, in the languages of the experts. A new language is one section in
`words.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

RIGHT_TO_LEFT = frozenset({"he"})
WORDS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)


def language_of(asked: str, accepted: str) -> str:
    """The language asked for, else the first of the browser's that there is, else English."""
    wanted = [asked, *(part.split(";")[0].strip() for part in accepted.split(","))]
    return next((code for name in wanted if (code := name.split("-")[0].lower()) in WORDS), "en")

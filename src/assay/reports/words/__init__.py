"""The words of the reports and the web pages: one table of names and sentences a language.

A language is one file here, `CODE.toml`, with the same keys as the others. The words of one web
page are in `pages/PAGE.CODE.toml`: keys without sections, a text or the two forms of a count.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from assay.core.errors import UsageError

LANGUAGES = ("en", "fi", "he")
PAGES = Path(__file__).with_name("pages")
NAMED_SLICES = ("type", "wording", "test_type")  # their usual names are those of the formats

# Around a fact in a sentence of the other direction, so that its parts keep their order.
ISOLATE, END = "\u2068", "\u2069"

Entry = str | list[str]


@cache
def table(language: str) -> dict[str, dict[str, Entry]]:
    """Every section of a language, as it stands in its file."""
    return tomllib.loads(Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8"))


def language_of(asked: str, accepted: str = "") -> str:
    """The language asked for, else the first of the browser's that there is, else English."""
    wanted = [asked, *(choice.split(";")[0].strip() for choice in accepted.split(","))]
    codes = (name.split("-")[0].lower() for name in wanted)
    return next((code for code in codes if code in LANGUAGES), "en")


def page_words(language: str, *pages: str) -> dict[str, str]:
    """The words that all web pages share, and those of the pages named; one that a language lacks
    is English."""
    entries = _page_entries(language, pages)
    return {key: entry for key, entry in entries.items() if isinstance(entry, str)}


def page_counts(language: str, *pages: str) -> dict[str, list[str]]:
    """Their counts: the form for one and the form for many."""
    entries = _page_entries(language, pages)
    return {key: entry for key, entry in entries.items() if isinstance(entry, list)}


@cache
def _page_entries(language: str, pages: tuple[str, ...]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for code in ("en", language):
        entries |= table(code)["pages"]
        for page in pages:
            entries |= page_table(page, code)
    return entries


@cache
def page_table(page: str, language: str) -> dict[str, Entry]:
    """The words of one page, as they stand in its file; none where it has none."""
    path = PAGES / f"{page}.{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


class Words:
    """Words in one language. A key is `SECTION.KEY`; without a section it is one of `report`."""

    def __init__(self, language: str = "en") -> None:
        if language not in LANGUAGES:
            raise UsageError(
                f"no report in language {language!r}", hint=f"Known: {', '.join(LANGUAGES)}."
            )
        self.language = language

    def __call__(self, key: str, **facts: object) -> str:
        return str(self.entry(key)).format(**self.with_directions(**facts))

    def with_directions(self, **facts: object) -> dict[str, str]:
        """Facts as they stand in a sentence: in Hebrew each keeps its own direction."""
        return {name: self.isolated(str(fact)) for name, fact in facts.items()}

    def isolated(self, text: str) -> str:
        return text if self.direction == "ltr" else self.isolate(text)

    def isolate(self, text: str) -> str:
        """Text that keeps its own direction in a sentence of any."""
        return text if not text or text.startswith(ISOLATE) else f"{ISOLATE}{text}{END}"

    def entry(self, key: str) -> Entry:
        section, _, name = key.rpartition(".")
        return table(self.language)[section or "report"][name]

    @property
    def direction(self) -> str:
        return str(table(self.language)["language"]["direction"])

    @property
    def is_english(self) -> bool:
        """Sentences of the results are English: other languages put them together anew."""
        return self.language == "en"

    def has(self, section: str, name: str) -> bool:
        return name in table(self.language)[section]

    def named(self, section: str, name: str) -> str:
        """The word for a name; one that has none stays as it is."""
        return str(table(self.language)[section].get(name, name))

    def counted(self, n: int, noun: str) -> str:
        """1 query, 2 queries."""
        return self.plural(f"counted.{noun}", n)

    def plural(self, key: str, n: int, **facts: object) -> str:
        forms = self.entry(key)
        separator = self("language.thousands")
        return forms[0 if n == 1 else 1].format(n=f"{n:,}".replace(",", separator), **facts)

    def figure(self, name: str) -> str:
        """The name of a golden figure."""
        return table(self.language)["figures"].get(name, [name])[0]

    def short(self, name: str) -> str:
        """The short name of a figure."""
        return table(self.language)["figures"].get(name, [name])[-1]

    def slice_title(self, kind: str) -> str:
        """The heading of a table of slices."""
        known = table(self.language)["slices"]
        return str(known[kind][0] if kind in known else known["other"][0].format(kind=kind))

    def slice_kind(self, kind: str) -> str:
        known = table(self.language)["slices"]
        return str(known[kind][1] if kind in known else kind)

    def slice_name(self, kind: str, name: str) -> str:
        """A slice in words, if the formats define its name; topics and categories are the set's."""
        if kind == "perturbation":
            return name if self.is_english else self.perturbation(name)
        known = table(self.language)["slice_names"] if kind in NAMED_SLICES else {}
        return str(known.get(name, name))

    def perturbation(self, name: str) -> str:
        """The name of a perturbation in words, with the name at the end of its variants' ids."""
        known = table(self.language)["perturbations"]
        return f"{known[name]} ({name})" if name in known else name

    def translated(self, section: str, text: str) -> str:
        """An English sentence that the results hold, in this language where it is a known one, with
        the facts that it states."""
        if self.is_english:
            return text
        for key, known in table("en")[section].items():
            here = str(table(self.language)[section][key])
            if known == text:
                return here
            if found := _pattern(str(known)).fullmatch(text):
                return here.format(**self.with_directions(**found.groupdict()))
        return text


@cache
def _pattern(sentence: str) -> re.Pattern[str]:
    """An English sentence of the table as a pattern, with a group for each of its facts."""
    parts = re.split(r"\{([a-z]+)\}", sentence)
    return re.compile(
        "".join(f"(?P<{part}>.+?)" if n % 2 else re.escape(part) for n, part in enumerate(parts)),
        re.DOTALL,
    )

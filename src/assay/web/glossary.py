"""Words of the trade, explained where they stand: a word that a newcomer may not know is a button,
which opens a sentence about it. What the words mean is in `reports/words/pages/glossary.*.toml`."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

BUTTON = Markup(
    '<button type="button" class="term" popovertarget="word-{}" title="{}"><bdi>{}</bdi></button>'
)


class Glossary:
    """Of one page: `term("gate", "Gate")` is the button, and `used` what the page has to explain,
    as it called it first."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.used: dict[str, str] = {}

    def __call__(self, key: str, shown: str) -> str:
        if f"word {key}" not in self._texts:
            return shown
        self.used.setdefault(key, shown)
        return BUTTON.format(key, self._texts["what_is_this"], shown)

    def measure(self, name: str, shown: str) -> str:
        """A measure by its name, or by what it is called, without its depth: nDCG@10 is explained
        as nDCG."""
        keys = (_bare(text) for text in (name, shown))
        return self(next((key for key in keys if f"word {key}" in self._texts), ""), shown)

    def meaning(self, key: str) -> str:
        return self._texts[f"word {key}"]


def _bare(measure: str) -> str:
    return measure.partition("@")[0].partition("(")[0].strip().lower()

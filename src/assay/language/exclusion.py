"""Split a question into what it asks for and what it excludes: "Hallituksen tehtävät kunnassa (ei
osakeyhtiön hallitus)".

A question names a thing it does not want in few ways, and each has a form of its own:

- in brackets that begin with *not*: "(EI …)", "(not …)", "(לא …)";
- after a comma or dash, *not* with a noun: ", ei kunnallisvalitus", ", not gifts", ", לא המוכר";
- before its opposite: "not X but Y", "ei X vaan Y", "לא X אלא Y";
- after a word that means it: lukuun ottamatta, paitsi, muu kuin; except, excluding;
  למעט, פרט ל, חוץ מ, מלבד.

The *not* of a verb excludes nothing: "Eikö kunta ole velvollinen", "jos kunta ei maksa", "he did
not pay", "לא שילמתי". So in a sentence *not* must stand at the beginning of a part of it, and what
follows must be no verb that goes with it: in Finnish none of the few that mostly do, in Hebrew a
noun with the article or a preposition.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PART = r"[^,;:()?!.–—\n]"  # of a sentence
_NEXT = r"(?:[,;–—]|\s-)\s*"  # where another part begins
_NO_VERB = r"(?!to\b|be\b|been\b|have\b|only\b|when\b|if\b)"
_NOT_THAT = r"(?!(?:זה|זאת|כך|כן)(?![א-ת]))"
_VERBS = "|".join(
    (
        "ole oo olla olisi ollut saa saada saanut voi voida voisi voinut tarvitse tarvita pidä "
        "pitäisi tule tulla tulisi tehdä tee anna maksa makseta täydy kuulu päätä päätetä "
        "hyväksy hyväksytä noudata noudateta tiedä halua löydy löydä näy toimi riitä koske "
        "sovelleta enää siis kai kuitenkaan edes yhtään ketään mitään koskaan"
    ).split()
)
_RULES = {
    "fi": (
        rf"\(\s*(?:ei|eikä|paitsi)\s+(?!(?:{_VERBS})\b)([^()]+)\)",
        rf"(?:^|{_NEXT})(?:mutta\s+|siis\s+)?ei\s+(?!(?:{_VERBS})\b)({_PART}+?)\s+vaan\b",
        rf"{_NEXT}(?:mutta\s+|siis\s+)?ei\s+(?!(?:{_VERBS})\b)({_PART}+)",
        # from where a word begins: one of thousands of letters would be tried from each of them
        r"(?<![\w-])([\wåäö-]+[aä])\s+lukuun\s+ottamatta\b",
        rf"\blukuun\s+ottamatta\s+({_PART}+)",
        rf"\bpaitsi\s+(?!jos\b|kun\b|että\b|jollei\b)({_PART}+)",
        rf"\bmuu[\wåäö]*\s+(?:[\wåäö-]+\s+)?kuin\s+({_PART}+)",
    ),
    "en": (
        r"\(\s*(?:not|but not|except|excluding)\s+([^()]+)\)",
        rf"{_NEXT}(?:but\s+|and\s+)?not\s+({_PART}+?)\s+but\b",
        rf"{_NEXT}(?:but\s+|and\s+)?not\s+{_NO_VERB}({_PART}+)",
        rf"\b(?:except\s+for|excluding|with\s+the\s+exception\s+of)\s+({_PART}+)",
        rf"\bexcept\s+(?!that\b|when\b|where\b|if\b|as\b|for\b|to\b|in\b)({_PART}+)",
    ),
    "he": (
        r"\(\s*(?:ו?לא|למעט|חוץ\s+מ-?)\s*([^()]+)\)",
        rf"(?:^|{_NEXT})(?:אבל\s+)?לא\s+({_PART}+?)\s+אלא(?![א-ת])",
        rf"{_NEXT}(?:אבל\s+)?ו?לא\s+((?:ה(?!י[אה]\b|ו[אי]\b)|של\s|על\s|לפי\s){_PART}+)",
        rf"(?<![א-ת])למעט\s+({_PART}+)",
        rf"(?<![א-ת])(?:פרט\s+ל|חוץ\s+מ|מלבד\s+)-?{_NOT_THAT}({_PART}+)",
    ),
}
_COMPILED = {
    language: tuple(re.compile(rule, re.IGNORECASE) for rule in rules)
    for language, rules in _RULES.items()
}
LONGEST = 12  # words that are excluded: more is a sentence of its own (taste)


class SplitQuestion(NamedTuple):
    """A question split into what it asks for and what it excludes."""

    wanted: str
    excluded: str = ""


def without_excluded(text: str, language: str) -> SplitQuestion:
    """Split a question; all of it is wanted where nothing else would be left."""
    wanted = text
    left_out: list[str] = []
    for rule in _COMPILED.get(language, ()):
        match = rule.search(wanted)
        if match is None or len(match[1].split()) > LONGEST:
            continue
        rest = f"{wanted[: match.start()]} {wanted[match.end() :]}"
        if not re.search(r"[^\W\d_]{3,}", rest):
            continue
        left_out.append(match[1])
        wanted = rest
    return SplitQuestion(wanted, " ".join(left_out))

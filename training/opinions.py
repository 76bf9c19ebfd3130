"""Opinions as the training sees them: reading, judged ids, index terms, and the texts an encoder
gets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import Stemmer

STOP = frozenset(
    "a an and are as at be by for from has have he her his i if in into is it its of on or "
    "our she so such that the their them there these they this those to was we were will with "
    "you your would not no do does did may can could should must shall been being than then "
    "which who whom whose what when where why how any all each other under upon about against "
    "between both but had him me my also only own same very because until while during before "
    "after above below".split()
)
_FOLD = str.maketrans({"’": "'", "“": '"', "”": '"', "§": " "})
# 87103(a)(1) | 18702.2 | $1,500 | 7 | word
_TOKEN = re.compile(
    r"\d{3,5}(?:\.\d+)?(?:\([a-z0-9]{1,3}\))+|\d+(?:\.\d+)+|\$?\d[\d,]*\d|\d|[a-z]+(?:'[a-z]+)?"
)
_SUBDIVISION = re.compile(r"\([a-z0-9]+\)")
_STEMMER = Stemmer.Stemmer("english", 0)
_STEMS: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Opinion:
    id: str
    file: str  # the file's name; judgments sometimes use it where the id holds ( ) or ~
    named: bool  # False where the JSON has no id
    question: str
    question_synthetic: str
    conclusion: str
    conclusion_synthetic: str
    facts: str
    analysis: str
    full: str
    summary: str
    first_words: str
    sections: tuple[str, ...]  # Government Code sections cited
    regulations: tuple[str, ...]
    prior: tuple[str, ...]  # opinions cited
    quality: float


def read_opinions(folder: Path) -> list[Opinion]:
    """Every YEAR/NAME.json below the folder, in path order."""
    paths = sorted(folder.glob("*/*.json"))
    if not paths:
        raise SystemExit(f"no opinions: expected {folder}/YEAR/NAME.json")
    return [_opinion(path) for path in paths]


def _opinion(path: Path) -> Opinion:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    sections, extra, cites = data["sections"], data["embedding"], data["citations"]
    return Opinion(
        id=data["id"] or f"{path.parent.name}/{path.stem}",
        file=path.stem,
        named=bool(data["id"]),
        question=sections["question"] or "",
        question_synthetic=sections["question_synthetic"] or "",
        conclusion=sections["conclusion"] or "",
        conclusion_synthetic=sections["conclusion_synthetic"] or "",
        facts=sections["facts"] or "",
        analysis=sections["analysis"] or "",
        full=data["content"]["full_text"] or "",
        summary=extra["summary"] or "",
        first_words=extra["first_500_words"] or "",
        sections=tuple(cites["government_code"]),
        regulations=tuple(cites["regulations"]),
        prior=tuple(cites["prior_opinions"]),
        quality=float(data["extraction"]["quality_score"]),
    )


def read_judged(paths: Iterable[Path]) -> set[str]:
    """Opinion ids in gold sets: a .json with queries and relevance_judgments, or a .jsonl with one
    judgment a line."""
    judged: set[str] = set()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            judged.update(
                json.loads(line)["opinion_id"] for line in text.splitlines() if line.strip()
            )
        else:
            queries = json.loads(text)["queries"]
            judged.update(
                judgment["opinion_id"]
                for query in queries
                for judgment in query["relevance_judgments"]
            )
    return judged


def held_out(opinions: Sequence[Opinion], judged: set[str]) -> list[bool]:
    """Judged opinions, by id or by file name, and the ones without an id: they never train
    anything."""
    names = {name for opinion in opinions for name in (opinion.id, opinion.file)}
    if unknown := sorted(judged - names):
        raise SystemExit(
            f"judged, but not among the opinions: {unknown[:10]}. They could not be held out."
        )
    return [
        opinion.id in judged or opinion.file in judged or not opinion.named for opinion in opinions
    ]


def terms(text: str) -> list[str]:
    """Index terms: stems, and sections with their parents: 87103(a)(1) -> 87103, 87103(a),
    87103(a)(1)."""
    stems: list[str] = []
    for token in _TOKEN.findall(text.lower().translate(_FOLD)):
        if token[0].isalpha():
            word = token.removesuffix("'s")
            if word not in STOP and len(word) > 1:
                stems.append(_stem(word))
            continue
        number = token.replace(",", "").lstrip("$")
        base, parts = number.split("(")[0], _SUBDIVISION.findall(number)
        stems.extend(base + "".join(parts[:depth]) for depth in range(len(parts) + 1))
    return stems


def _stem(word: str) -> str:
    if word not in _STEMS:
        _STEMS[word] = _STEMMER.stemWord(word)
    return _STEMS[word]


def clean(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


# the order of the texts in document_parts
ASKED, QUESTION, CONCLUSION, FACTS, ANALYSIS, BODY, SUMMARY, CITED = range(8)


def document_parts(opinion: Opinion) -> list[str]:
    """The eight texts a document's encoded views are cut from."""
    asked = clean(opinion.question_synthetic)[:500]
    question = clean(opinion.question)[:700]
    conclusion = clean(opinion.conclusion or opinion.conclusion_synthetic)[:700]
    body = ""
    if not (asked or question or conclusion):
        body = f"{clean(opinion.summary)} {clean(opinion.first_words[250:1800])}"
    cited = ", ".join(opinion.sections[:8] + opinion.regulations[:8])
    facts, analysis = clean(opinion.facts)[:900], clean(opinion.analysis)[:900]
    return [asked, question, conclusion, facts, analysis, body, clean(opinion.summary)[:500], cited]

"""The data of law_encoder.py: sections, court decisions and words that people use, in one file.

    python law_data.py --language fi --acts acts.jsonl --decisions decisions.jsonl --out fi.json.xz
    python law_data.py --language he --akn FOLDER [--home FOLDER] --out he.json.xz

Sections of the home acts (the six Finnish ones in any version, the 73 Israeli ones) are marked 2
and sections of acts held out at random 1: neither is trained on. Decisions from 2014 on are kept
for development. Section numbers are taken out of what a court says, since they would give away the
provision.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from assay.core.types import Document
from assay.corpus.importers import akn
from assay.language.analysis import analyzer

HOME = ("kuntalaki", "kirjanpitolaki", "kirjanpitoasetus", "tilintarkastuslaki", "osakeyhtiölaki")
PROCUREMENT = "julkisista hankinnoista"
HELD_OUT = {"fi": 300, "he": 150}  # acts
LONGEST = 1_250  # characters of a section
KEPT_FROM = 2014  # year of a decision
CONTEXTS = 12  # citations of one decision
SHORTENED = {
    "rl": "rikoslaki",
    "ok": "oikeudenkäymiskaari",
    "uk": "ulosottokaari",
    "oyl": "osakeyhtiölaki",
    "tsl": "työsopimuslaki",
    "ul": "ulosottolaki",
    "mk": "maakaari",
    "pk": "perintökaari",
    "kk": "kauppakaari",
    "al": "avioliittolaki",
    "hl": "hallintolaki",
    "pl": "perustuslaki",
    "rol": "laki oikeudenkäynnistä rikosasioissa",
    "kl": "kauppalaki",
}
GENITIVES = {
    "laki": "lain",
    "asetus": "asetuksen",
    "kaari": "kaaren",
    "järjestys": "järjestyksen",
    "päätös": "päätöksen",
    "muoto": "muodon",
}
NUMBER = r"\d+(?: ?[a-z](?![a-zåäö]))?"
JOINED = r"(?: ?(?:,|ja|sekä|tai|–|-) ?)?"
SECTIONS = re.compile(rf"({NUMBER}) ?(?:luku|luvun)|((?:{NUMBER}{JOINED})+) ?§")
CITED = re.compile(
    rf"((?:[\wåäö-]+(?:- ja| ja|,) )?[\wåäö-]*(?:lain|asetuksen|kaaren|järjestyksen|muodon))"
    rf"(?: \((\d+/\d{{4}})\))? (?:({NUMBER}) luvun )?({NUMBER}) §",
    re.I,
)
MASKED = re.compile(
    rf"(?:{NUMBER} ?luvun )?(?:{NUMBER}{JOINED})+ ?§(?::\w+)?"
    rf"(?:,? ?(?:\d+{JOINED})+ ?(?:momen\w+|mom\b\.?))?(?:,? ?(?:\d+{JOINED})+ ?koh\w+)?"
    r"(?:,? ?[a-z] ?-?alakoh\w+)?",
    re.I,
)
PARTS = re.compile(r"\b\d+ (?:momen\w+|mom\.|koh(?:dan|ta|dassa|taa))|\(\d+/\d{4}\)|[|§]")


def masked(text: str) -> str:
    """The text without numbers of sections, moments and acts."""
    return re.sub(r"\s+", " ", PARTS.sub(" ", MASKED.sub(" ", text))).strip()


def normal(name: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[^\wåäö/ -]", " ", name.lower())).strip()


class Acts:
    """The sections of all acts, to be found by the name of an act and the number of a section."""

    def __init__(self, path: Path) -> None:
        self.sections: list[dict[str, str]] = []
        self._rows: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        self.titles: dict[str, str] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            read = json.loads(line)
            text = " ".join(moment.strip() for moment in read["moments"] if moment.strip(" -"))
            if len(text) < 20:
                continue
            act = read["act"]
            self.titles.setdefault(act, read["title"].strip())
            number = re.sub(r"\s+", "", read["section"].lower())
            chapter = re.sub(r"[^0-9a-z]", "", read["chapter"].lower().replace("luku", ""))
            for key in ((chapter, number), ("", number)):
                self._rows[act].setdefault(key, len(self.sections))
            self.sections.append(
                {"act": act, "title": self.titles[act], "head": read["heading"], "text": text}
            )
        self.named: dict[str, list[str]] = defaultdict(list)
        for act, title in self.titles.items():
            for name in _names(normal(title)):
                self.named[name].append(act)
        for short, name in SHORTENED.items():
            self.named[short] += self.named.get(name, [])

    def row(self, acts: Iterable[str], chapter: str, number: str, year: int) -> int | None:
        """The section in the newest of these acts that is no younger than the decision."""
        key = (re.sub(r"\s+", "", chapter).lower(), re.sub(r"\s+", "", number).lower())
        ordered = sorted(acts, key=lambda act: (_year(act) > year, -_year(act)))
        found = (self._rows[act].get(key) for act in ordered)
        return next((row for row in found if row is not None), None)


def _year(act: str) -> int:
    year = act.partition("/")[2][:4]
    return int(year) if year.isdigit() else 0


def _names(title: str) -> Iterator[str]:
    """How an act may be called: its title, "X annettu laki" for "laki X", and the genitives."""
    names = [title, title.removeprefix("suomen ")]
    for kind in ("laki", "asetus"):
        if title.startswith(f"{kind} "):
            names.append(f"{title.removeprefix(f'{kind} ')} annettu {kind}")
    for name in dict.fromkeys(names):
        yield name
        for ending, genitive in GENITIVES.items():
            if name.endswith(ending):
                changed = name.removesuffix(ending) + genitive
                yield changed.replace(" annettu ", " annetun ")


def printed(acts: Acts, lines: Iterable[str], year: int) -> list[int]:
    """The sections that a court printed below its abstract."""
    found: set[int] = set()
    for part in (part for line in lines for part in line.split("|")):
        head = re.match(r"\s*([^\d§(]{2,140}?)\s*(?:\(\d+/\d{4}\))?\s*(?=\d)", part)
        if not head:
            continue
        known = acts.named.get(normal(head[1]), [])
        chapter = ""
        for match in SECTIONS.finditer(re.sub(r"\(\d+/\d+\)", "", part[head.end() :])):
            chapter = match[1] or chapter
            for number in re.findall(NUMBER, match[2] or ""):
                row = acts.row(known, chapter, number, year)
                found |= {row} if row is not None else set()
    return sorted(found)


def cited(acts: Acts, body: str, year: int) -> dict[int, list[int]]:
    """The sections that a decision cites, each with where."""
    found: dict[int, list[int]] = defaultdict(list)
    for match in CITED.finditer(body):
        words = normal(body[max(0, match.start() - 160) : match.end(1)]).split()
        names = (" ".join(words[-size:]) for size in range(min(16, len(words)), 0, -1))
        known = next((acts.named[name] for name in names if name in acts.named), [])
        row = acts.row(known, match[3] or "", match[4], year)
        if row is not None:
            found[row].append(match.start())
    return found


def around(body: str, at: int) -> str:
    """The sentences around a citation, masked."""
    start = max(body.rfind(". ", 0, max(0, at - 120)) + 2, at - 420, 0)
    end = body.find(". ", at + 150)
    return masked(body[start : min(end if end >= 0 else at + 350, at + 420)])


def finnish(path: Path, decisions: Path) -> dict[str, Any]:
    acts = Acts(path)
    sizes: dict[str, int] = defaultdict(int)
    for section in acts.sections:
        sizes[section["act"]] += 1
    titles = {act: title.lower().strip(". ") for act, title in acts.titles.items()}
    home = {act for act, title in titles.items() if title in HOME or PROCUREMENT in title}
    others = sorted(act for act, size in sizes.items() if act not in home and size >= 8)
    held = set(random.sample(others, HELD_OUT["fi"]))
    marks = dict.fromkeys(held, 1) | dict.fromkeys(home, 2)
    data: dict[str, Any] = {"court": [], "ctx": [], "para": [], "dev": []}
    data["sections"] = [
        [s["act"], s["title"], "", s["head"].strip(), s["text"][:LONGEST], marks.get(s["act"], 0)]
        for s in acts.sections
    ]

    def trained(row: int) -> bool:
        return acts.sections[row]["act"] not in marks

    for line in decisions.read_text(encoding="utf-8").splitlines():
        read = json.loads(line)
        year = int(read["issued"][:4] or 0)
        headwords, abstract = (masked(" ".join(read[key])) for key in ("headwords", "abstract"))
        rows = printed(acts, read["provisions"], year)
        if year >= KEPT_FROM:
            if rows and read["court"] == "kho" and len(abstract) > 60:
                data["dev"].append([f"{headwords} {abstract[:600]}", rows])
            continue
        rows = list(filter(trained, rows))
        if rows and len(abstract) > 60:
            data["court"].append([headwords, abstract[:1_400], rows])
        if headwords and len(abstract) > 100:
            data["para"].append([headwords, abstract[:900]])
        places = [(row, at) for row, at in cited(acts, read["text"], year).items() if trained(row)]
        for row, at in random.sample(places, min(CONTEXTS, len(places))):
            text = around(read["text"], random.choice(at))
            if len(text) > 80:
                data["ctx"].append([text, row])
    return data


def hebrew(folder: Path, home: Path | None) -> dict[str, Any]:
    rows = [[*row, 0] for row in _sections(folder)]
    sizes: dict[str, int] = defaultdict(int)
    for row in rows:
        sizes[row[0]] += 1
    large = sorted(law for law, size in sizes.items() if size >= 8)
    held = set(random.sample(large, HELD_OUT["he"]))
    for row in rows:
        row[5] = int(row[0] in held)
    rows += [[*row, 2] for row in _sections(home)] if home else []
    return {"sections": rows, "court": [], "ctx": [], "para": [], "dev": []}


def _sections(folder: Path) -> Iterator[list[str]]:
    for unit in akn.units(str(folder), {}):
        texts: dict[tuple[str, ...], list[str]] = {}
        for read in akn.read(str(folder), unit, {}):
            if not isinstance(read, Document) or read.locator is None:
                continue
            facts = {name: str(read.metadata.get(name) or "") for name in ("law", "section_title")}
            place = (read.locator.schedule, read.locator.chapter, read.locator.section)
            key = (facts["law"], facts["section_title"], *map(str, place))
            texts.setdefault(key, []).append(f"{read.fields.get('intro', '')} {read.text}")
        for (law, heading, *_), parts in texts.items():
            text = re.sub(r"\s+", " ", " ".join(parts)).strip()
            if len(text) >= 15:
                yield [law, law, "", heading, text[:LONGEST]]


def said_for(language: str, sections: Iterable[list[Any]]) -> dict[str, list[str]]:
    """Words of the sections with what people say instead, by the thesaurus."""
    reader = analyzer(language)
    said: dict[str, list[str]] = defaultdict(list)
    folder = resources.files("assay.search") / "data"
    for name in (f"{language}.tsv", f"{language}.lay.tsv"):
        lines = (folder / name).read_text(encoding="utf-8") if (folder / name).is_file() else ""
        for line in lines.splitlines()[1:]:
            terms, variants = line.split("\t")[:2]
            for term in (term.strip() for term in terms.split(";")):
                words = reader.words(term)
                if len(term.split()) == len(words) == 1:
                    said[reader.lemma(words[0])] += [v.strip() for v in variants.split(";")]
    begins = {lemma[:4] for lemma in said}
    words = {word for row in sections for word in re.findall(r"[^\W\d_]{3,}", row[4].lower())}
    found = {}
    for word in words:
        read = reader.words(word) if language != "fi" or word[:4] in begins else []
        variants = {one for one in said.get(reader.lemma(read[0]), []) if one} if read else set()
        if variants:
            found[word] = sorted(variants)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--language", choices=HELD_OUT, required=True)
    parser.add_argument("--acts", type=Path)
    parser.add_argument("--decisions", type=Path)
    parser.add_argument("--akn", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    random.seed(7)
    if args.language == "fi":
        data = finnish(args.acts, args.decisions)
    else:
        data = hebrew(args.akn, args.home)
    data["lay"] = said_for(args.language, data["sections"])
    args.out.write_bytes(lzma.compress(json.dumps(data, ensure_ascii=False).encode(), preset=3))
    sys.stdout.write(", ".join(f"{len(rows)} {name}" for name, rows in data.items()) + "\n")


if __name__ == "__main__":
    main()

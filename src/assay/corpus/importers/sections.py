"""Find the sections of a document: its headings by markup, or by the way lines are written.

Word, HTML and Markdown mark their headings. Plain text and PDF do not, so their lines are read by
the rules below, in six languages. A unit is a word or sign with a number: a part, a chapter, a
schedule, or a section (`110 §`, `Section 12`, `Article 3`, `סעיף 5`). A line that begins with a
unit is a heading when a title or nothing follows it; a sentence that begins with a citation
(`Section 12 of the handbook says …`) is not. Where the text of a section follows its number on the
same line (`1 § Denna lag gäller …`), the number must continue the numbers before it. Numbered
headings (`2.1 Notice`), capitals and the usual headings of memos count where text follows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.law.places import printed_number


class Block(NamedTuple):
    """A paragraph, a table or a heading of a document. `level` is 1 to 6 for a heading that is
    marked as one, `strong` a paragraph in bold; `page` counts from 1 where there are pages."""

    text: str
    level: int = 0
    strong: bool = False
    is_table: bool = False
    page: int = 0


class Heading(NamedTuple):
    """A heading: as it is printed, its rank (a lower one encloses a higher one), the kind of its
    unit (`part`, `chapter`, `schedule`, `section`, `number` or none), its number and its title."""

    text: str
    rank: int
    kind: str = ""
    number: str = ""
    title: str = ""


class Section(NamedTuple):
    """The text under one heading. `trail` has the headings that enclose it, outermost first; a text
    before the first heading has no heading."""

    heading: Heading | None
    trail: tuple[Heading, ...]
    paragraphs: tuple[Block, ...]

    @property
    def text(self) -> str:
        """Paragraphs have a blank line between them; the lines of a page follow each other."""
        pieces: list[str] = []
        for block in self.paragraphs:
            pieces += ["\n" if block.page else "\n\n", block.text]
        return "".join(pieces[1:])

    @property
    def page(self) -> int:
        return self.paragraphs[0].page if self.paragraphs else 0


# ── units, by language ────────────────────────────────────────────────────────────────────────────

# taste: a marked heading below it is a line of its section, unless it is a unit or has a number
# of several places
DEEPEST_HEADING = 3
LONGEST_TITLE = 110  # characters of a heading that is not marked as one (taste)
LONGEST_LINE = 300  # characters of a line that are looked at
_N = r"(?:1er|1re|\d{1,4}(?:[.–-]\d{1,3})*(?:\s?[a-zåäö](?![\w’'-]))?|[IVXLC]{1,7}(?:er|re)?|[A-Z])"
_NUMBER = rf"(?P<number>{_N})(?![\w’'/])"
_HE = r"(?P<number>\d{1,4}[א-ת]{0,3}\d{0,2}|[א-ת]{1,3}\d{0,2}(?=['׳\"״:\s–—-]|$))['׳]?"
_SCHEDULE = r"(?:schedule|annexe?|appendix|liite|bilaga|anlage|anhang)"
_FIRST_TO_TENTH = (
    r"(?P<number>Erster?s?|Zweiter?s?|Dritter?s?|Vierter?s?|Fünfter?s?|Sechster?s?"
    r"|Première?|Premier|Deuxième|Troisième|Quatrième|Cinquième)"
)
_HE_ORDINAL = r"(?P<number>ראשונה|שני+ה|שלישית|רביעית|חמישית|שישית|שביעית|שמינית)"
_HE_ORDINALS = {"ראשונה": "1", "שנייה": "2", "שניה": "2", "שלישית": "3", "רביעית": "4"}
_HE_ORDINALS |= {"חמישית": "5", "שישית": "6", "שביעית": "7", "שמינית": "8"}
# only the order counts: a heading ends the units of an equal or higher number
RANKS = {"part": 10, "title": 15, "chapter": 20, "division": 25, "group": 30, "section": 40}
RANKS |= {"schedule": 10, "strong": 50, "roman": 52, "letter": 54, "number": 60}

# (kind, pattern of the unit at the start of a line); en, fi, sv, he, de, fr
UNITS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("part", rf"(?:part|avdelning|avd\.|teil|buch|partie|livre)\s+{_NUMBER}"),
        ("part", r"(?P<number>[IVXLC]{1,7}|\d{1,2})\.?\s+(?:osa|avdelningen|avd\.)(?![\wåäö])"),
        ("part", rf"{_FIRST_TO_TENTH}\s+(?:teil|partie|livre)\b"),
        ("part", rf"חלק\s+{_HE}"),
        ("title", rf"(?:title|titel|titre)\s+{_NUMBER}"),
        ("chapter", rf"(?:chapter|chap\.|kapitel|kap\.|chapitre)\s+{_NUMBER}"),
        ("chapter", r"(?P<number>\d{1,3}(?:\s?[a-zåäö])?)\.?\s+(?:luku|kap\.|kapitlet)(?![\wåäö])"),
        ("chapter", rf"פרק\s+{_HE}"),
        ("division", rf"(?:abschnitt|unterabschnitt|division|subchapter)\s+{_NUMBER}"),
        ("division", rf"{_FIRST_TO_TENTH}\s+(?:abschnitt|kapitel|chapitre|titre)\b"),
        ("division", rf"סימן\s+{_HE}"),
        ("schedule", rf"(?:schedule|annexe?|appendix|liite|bilaga|anlage|anhang)\s+{_NUMBER}"),
        (
            "schedule",
            r"(?:schedule|annexe?|appendix|liite|bilaga|anlage|anhang)(?![\w’'])(?P<number>)",
        ),
        ("schedule", rf"ה?תוספת\s+ה?{_HE_ORDINAL}"),
        ("schedule", rf"נספח\s+{_HE}"),
        ("section", r"(?P<number>\d{1,4}(?:\s?[a-zåäö])?)\.?\s?§(?![\w:§]|\s?\d)"),
        ("section", rf"§\s?{_NUMBER}"),
        ("section", rf"(?:section|sec\.|article|artikel|art\.|clause|rule)\s+{_NUMBER}"),
        ("section", r"article\s+(?P<number>premier|unique|[LRD]\.?\s?\d+(?:-\d+)*)"),
        ("section", r"(?P<number>\d{1,4}(?:\s?[a-zåäö])?)\.?\s+(?:artikla|pykälä)(?![\wåäö])"),
        ("section", rf"(?:סעיף|תקנה)\s+{_HE}"),
    )
)
_SEPARATOR = re.compile(r"[ \t]*[.:)\]]?[ \t]*[–—:-]?[ \t]*")
# What makes a unit at the start of a line a citation: 'Section 12 of …', '§ 1 Absatz 2 …'.
_CITING = re.compile(
    r"(?:of|and|or|to|in|is|are|does|applies|shall|may|ja|tai|sekä|och|eller|gäller|ska|und|oder"
    r"|gilt|bleibt|findet|Abs(?:atz|\.)|Satz|Nr\.|S\.|du|de|des|et|ou|est|alinéa|al\.|mom\w*\.?"
    r"|subsection|paragraph|the\s+\w+\s+shall)\b",
)
_SENTENCES = re.compile(r"[^\W\d_]{4,}\. [^\W\d_]")  # two of them
_ENDS_SENTENCE = re.compile(r"[.;,?!]$|[^:]:$")
_NUMBERED = re.compile(
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})(?:\.|\))?\s+(?=[^\W\d_])(?P<rest>.+)"
)
_ROMAN = re.compile(r"(?P<number>[IVX]{1,5})\.\s+(?=[^\W\d_])(?P<rest>.+)")
_LETTERED = re.compile(r"(?P<number>[A-Z]|[א-ת])\.\s+(?=[^\W\d_])(?P<rest>.+)")
_LETTERS = re.compile(r"[^\W\d_]")
# Headings that memos, letters and decisions have without a number.
USUAL = frozenset(
    " ".join(
        """
    abstract, agreed terms, analysis, answer, background, brief answer, conclusion, conclusions,
    decision, discussion, disposition, executive summary, facts, history, introduction, issue,
    issues, legal analysis, next steps, opinion, order, parties, procedural history, question,
    question presented, questions, questions presented, reasons, recitals, recommendation,
    recommendations, short answer, short answers, statement of facts, summary,
    arviointi, johdanto, johtopäätökset, johtopäätös, kysymys, oikeudellinen arviointi, perustelut,
    ratkaisu, suositus, tausta, tiivistelmä, tosiseikat, yhteenveto,
    bakgrund, bedömning, frågeställning, ikraftträdande, inledning, sammanfattning, skäl, slutsats,
    slutsatser, övergångsbestämmelser,
    begründung, einleitung, entscheidungsgründe, ergebnis, gründe, rechtliche würdigung,
    sachverhalt, tatbestand, zusammenfassung,
    analyse, contexte, faits, motifs, rappel des faits, recommandations, résumé,
    רקע, עובדות, השאלה, השאלה המשפטית, דיון, מסקנה, מסקנות, סיכום, המלצות, תשובה
    """.split()
    ).split(", ")
)


class _Line(NamedTuple):
    """A heading that a line may be: how sure it is, how many further lines its title takes, and
    the text that follows it on its own line."""

    heading: Heading
    extra: int = 0
    run_in: str = ""
    must_follow: bool = False  # counts only where its number continues those before


def _normal_number(text: str) -> str:
    """'3 a' is 3a, '1er' and 'premier' are 1, 'ראשונה' is 1."""
    folded = text.casefold()
    if folded in ("1er", "1re", "ier", "premier", "première"):
        return "1"
    return _HE_ORDINALS.get(text) or printed_number(text)


def unit_of(line: str) -> tuple[str, str, str] | None:
    """(kind, number, rest) of a line that begins with a unit; None where it does not."""
    for kind, pattern in UNITS:
        if (match := pattern.match(line)) is not None:
            return kind, _normal_number(match["number"]), line[match.end() :]
    return None


def marked_heading(text: str, level: int) -> Heading:
    """A heading that the document marks as one."""
    printed = " ".join(text.split())
    if (unit := unit_of(printed)) is not None:
        kind, number, rest = unit
        title = rest[_end_of_separator(rest) :].strip()
        return Heading(printed, level, kind, number, title)
    if (numbered := _NUMBERED.fullmatch(printed)) is not None:
        return Heading(printed, level, "number", numbered["number"], numbered["rest"].strip())
    return Heading(printed, level, title=printed)


def _end_of_separator(rest: str) -> int:
    match = _SEPARATOR.match(rest)
    return match.end() if match else 0


# ── headings by the way a line is written ─────────────────────────────────────────────────────────


def _is_title(text: str) -> bool:
    """Whether a text could be the title of a section: short, one line, begun with a capital or a
    Hebrew letter, and no sentence."""
    first = _LETTERS.search(text)
    if first is None or len(text) > LONGEST_TITLE or "\n" in text or " | " in text:
        return False
    is_sentence = _ENDS_SENTENCE.search(text.rstrip()) or _SENTENCES.search(text)
    return not first[0].islower() and not is_sentence


def _unit_line(lines: Sequence[str], following: str) -> _Line | None:
    """The heading of a block whose first line begins with a unit. `following` is the first line of
    the next block, which may be the title of a unit that stands alone."""
    line = lines[0].strip()
    unit = unit_of(line[:LONGEST_LINE])
    if unit is None:
        return None
    kind, number, _ = unit
    unit_text = line[: len(line) - len(unit[2])] if len(line) <= LONGEST_LINE else ""
    rest = line[len(unit_text) :] if unit_text else unit[2] + line[LONGEST_LINE:]
    end = _end_of_separator(rest)
    separator, title = rest[:end], rest[end:].strip()
    is_separated = bool(separator.strip())
    rank = RANKS[kind]
    if kind == "schedule" and not number and (not is_separated and title):
        return None  # 'Appendix costs are …'
    if not title:
        if len(lines) > 1 and _is_title(lines[1].strip()):
            title = lines[1].strip()
            return _Line(Heading(f"{line} {title}", rank, kind, number, title), extra=1)
        if len(lines) == 1 and _is_title(following) and unit_of(following) is None:
            return _Line(Heading(f"{line} {following}", rank, kind, number, following), extra=-1)
        return _Line(Heading(line, rank, kind, number))
    is_hebrew = "א" <= title[0] <= "ת"
    if (_CITING.match(title) and not is_separated) or (is_hebrew and not is_separated):
        return None
    if _is_title(title) and len(lines) == 1:
        return _Line(Heading(" ".join(line.split()), rank, kind, number, title))
    if _is_title(title) and len(title) < len(line) and len(lines) > 1 and is_separated:
        return _Line(Heading(" ".join(line.split()), rank, kind, number, title), extra=0)
    if kind != "section" or title[0].islower():
        return None
    heading = Heading((line[: len(line) - len(rest)] or unit_text).strip(), rank, kind, number)
    return _Line(heading, run_in="\n".join([title, *lines[1:]]), must_follow=True)


def _plain_line(block: Block, text: str, *, is_first: bool) -> _Line | None:
    """A heading without a unit: numbered, lettered, in capitals, in bold, or a usual one."""
    usual = text.rstrip(":").casefold()
    if usual in USUAL:
        return _Line(Heading(text, RANKS["strong"], "strong", title=text.rstrip(":")))
    if not _is_title(text):
        return None
    for kind, pattern in (("number", _NUMBERED), ("roman", _ROMAN), ("letter", _LETTERED)):
        if (match := pattern.fullmatch(text)) is not None and _is_title(match["rest"]):
            number = match["number"]
            rank = RANKS[kind] + (number.count(".") if kind == "number" else 0)
            return _Line(Heading(text, rank, kind, number, match["rest"].strip()), must_follow=True)
    letters = _LETTERS.findall(text)
    is_capitals = len(letters) > 3 and text.upper() == text and text.lower() != text
    if (is_capitals or block.strong) and not is_first:
        return _Line(Heading(text, RANKS["strong"], "strong", title=text))
    return None


def _follows(number: str, before: str) -> bool:
    """Whether a number continues a list: 1 at its start, 2 after 1, 2a after 2, 2.1 after 2."""
    if number in ("1", "A", "I", "1a", "א"):
        return True
    if not before:
        return False
    if len(number) == 1 and len(before) == 1 and number.isalpha() and before.isalpha():
        return ord(number) == ord(before) + 1
    if _roman(number) and _roman(before):
        return _roman(number) == _roman(before) + 1
    mine, theirs = _pieces(number), _pieces(before)
    if mine[: len(theirs)] == theirs and len(mine) == len(theirs) + 1:
        return mine[-1] in ("1", "a", "א")
    for depth in range(min(len(mine), len(theirs))):
        if mine[depth] != theirs[depth]:
            is_last = depth == len(mine) - 1 or mine[depth + 1 :] in (["a"], ["א"])
            return is_last and _next(mine[depth], theirs[depth])
    return False


def _pieces(number: str) -> list[str]:
    return re.findall(r"\d+|[^\W\d_]+", number)


def _next(number: str, before: str) -> bool:
    if number.isdecimal() and before.isdecimal():
        return 0 < int(number) - int(before) <= 2  # one may be repealed
    return len(number) == len(before) == 1 and number > before


def _roman(number: str) -> int:
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
    if not number or any(letter not in values for letter in number):
        return 0
    figures = [values[letter] for letter in number]
    pairs = zip(figures, [*figures[1:], 0], strict=True)
    return sum(-one if one < other else one for one, other in pairs)


def _written_headings(blocks: Sequence[Block]) -> dict[int, _Line]:
    """The headings among blocks without markup, by the place of the block."""
    found: dict[int, _Line] = {}
    numbers: dict[str, str] = {}  # the last number of each kind
    taken = -1
    for place, block in enumerate(blocks):
        if block.is_table or place == taken or not block.text.strip():
            continue
        lines = block.text.strip().split("\n")
        following = blocks[place + 1].text.strip().split("\n") if place + 1 < len(blocks) else [""]
        alone = following[0] if len(following) == 1 else ""
        line = _unit_line(lines, alone)
        if line is None and len(lines) == 1:
            line = _plain_line(block, lines[0].strip(), is_first=place == 0)
        if line is None:
            continue
        kind = line.heading.kind
        if line.must_follow and block.page and alone[:1].islower():
            continue  # the first line of a paragraph that goes on
        if line.must_follow and not _follows(line.heading.number, numbers.get(kind, "")):
            continue
        if line.heading.number:
            numbers[kind] = line.heading.number
        found[place] = line
        taken = place + 1 if line.extra < 0 else -1
    return _with_groups(blocks, _without_lists(blocks, found))


def _without_lists(blocks: Sequence[Block], found: dict[int, _Line]) -> dict[int, _Line]:
    """Leave out numbered lines that are a list: most have no text under them."""
    for kind in ("number", "roman", "letter"):
        places = [place for place, line in found.items() if line.heading.kind == kind]
        bare = [place for place in places if place + 1 >= len(blocks) or place + 1 in found]
        deeper = [
            place
            for place in bare
            if place + 1 in found and found[place + 1].heading.rank > found[place].heading.rank
        ]
        if 2 * (len(bare) - len(deeper)) > len(places):
            found = {place: line for place, line in found.items() if place not in places}
    return found


def _with_groups(blocks: Sequence[Block], found: dict[int, _Line]) -> dict[int, _Line]:
    """Add the short lines that stand directly before a section of an act: they are the headings of
    a group of sections."""
    sections = [place for place, line in found.items() if line.heading.kind == "section"]
    for place in sections if len(sections) > 1 else ():
        before = place - 1
        text = blocks[before].text.strip() if before > 0 else ""
        is_free = before not in found and not blocks[before].is_table
        if text and is_free and len(text) <= 60 and _is_title(text):
            taken = before - 1 in found and found[before - 1].extra < 0
            if not taken:
                found[before] = _Line(Heading(text, RANKS["group"], "group", title=text))
    return found


# ── sections ──────────────────────────────────────────────────────────────────────────────────────


def find_sections(blocks: Sequence[Block]) -> list[Section]:
    """The sections of a document in their order. A document without headings, or with one alone, is
    one section; a heading without text of its own is in the trail of those under it."""
    marked = [place for place, block in enumerate(blocks) if _is_heading(block)]
    headings = [marked_heading(blocks[place].text, blocks[place].level) for place in marked]
    if len(marked) < 2 or not any(one.kind == "section" for one in headings):
        written = _written_headings(blocks)
        units = sum(line.heading.kind == "section" for line in written.values())
        if len(marked) < 2 or units > 2:
            return _cut_written(blocks, written)
    return _cut(blocks, dict(zip(marked, (_Line(one) for one in headings), strict=True)))


def _is_heading(block: Block) -> bool:
    if block.level <= DEEPEST_HEADING:
        return block.level > 0
    heading = marked_heading(block.text, block.level)
    return heading.kind not in ("", "number") or "." in heading.number


def _cut_written(blocks: Sequence[Block], written: dict[int, _Line]) -> list[Section]:
    lines = dict(written)
    for place, block in enumerate(blocks):
        if _is_heading(block) and place not in lines:  # above whatever is found in the text
            heading = marked_heading(block.text, block.level)
            lines[place] = _Line(heading._replace(rank=block.level))
    return _cut(blocks, lines)


def _cut(blocks: Sequence[Block], lines: dict[int, _Line]) -> list[Section]:
    sections: list[Section] = []
    trail: list[Heading] = []
    current: Heading | None = None
    paragraphs: list[Block] = []

    def close() -> None:
        if any(block.text.strip() for block in paragraphs):
            within = tuple(one for one in trail if one is not current)
            sections.append(Section(current, within, tuple(paragraphs)))
        paragraphs.clear()

    skipped = -1
    for place, block in enumerate(blocks):
        if place == skipped:
            continue
        line = lines.get(place)
        if line is None:
            paragraphs.append(block)
            continue
        close()
        current = line.heading
        trail = [one for one in trail if one.rank < current.rank] + [current]
        paragraphs += _rest_of(block, line)
        skipped = place + 1 if line.extra < 0 else -1
    close()
    return sections


def _rest_of(block: Block, line: _Line) -> Iterator[Block]:
    """The text that follows a heading inside its own block."""
    if line.run_in:
        yield block._replace(text=line.run_in.strip(), level=0)
    elif not block.level:
        rest = "\n".join(block.text.strip().split("\n")[1 + max(line.extra, 0) :])
        if rest.strip():
            yield block._replace(text=rest.strip())

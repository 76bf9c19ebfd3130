"""Find what an answer says that can be checked: markers, citations in prose and quotations, each
with its place in the answer, and the sentences they stand in."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from assay.language.detect import detect
from assay.law.authorities import acts_named, authorities, case_start, numbered_acts, short_forms
from assay.law.citation import Citation, Scheme
from assay.law.parse import law_name, parse

# ── quotations ────────────────────────────────────────────────────────────────────────────────────

_CLOSERS = {
    "“": '”“"',
    "„": '“”"',
    "‟": "”",
    "”": "”“",
    "«": "»",
    "»": "»«",
    '"': '"”',
    "״": "״",
    "‘": "’",
    "‹": "›",
}
_MARK = re.compile(f"[{''.join(_CLOSERS)}]")
_PARAGRAPH_END = "\n\n"
_CLOSING = re.compile(f"[{''.join(sorted(set(''.join(_CLOSERS.values()))))}]|(?={_PARAGRAPH_END})")
_LONGEST_QUOTE = 4_000  # characters (taste)
_MOST_TRIES = 40  # marks that may stand inside one quotation (taste)
_BLOCK = re.compile(r"(?m)^[ \t]*>[ \t]?(?P<line>[^\n]*)(?:\n[ \t]*>[ \t]?[^\n]*)*")


class Quote(NamedTuple):
    """A quotation without its marks."""

    text: str
    start: int
    end: int


def find_quotes(text: str) -> list[Quote]:
    """Every quotation of a text: between marks of the three languages, and block quotations."""
    found: list[Quote] = []
    for block in _BLOCK.finditer(text):
        start = block.start("line")
        written = text[start : block.end()]
        trimmed = written.strip('“”"»« ')
        begin = start + written.find(trimmed) if trimmed else start
        found.append(Quote(trimmed, begin, begin + len(trimmed)))
    begins, ends = [quote.start for quote in found], [quote.end for quote in found]
    places = _places_of_marks(text)
    at = 0
    while mark := _MARK.search(text, at):
        at = mark.end()
        around = bisect_right(begins, mark.start()) - 1
        if around >= 0 and mark.start() < ends[around]:
            continue
        end = _closing_mark(text, mark.start(), places)
        if end > at:
            found.append(Quote(text[at:end], at, end))
            at = end + 1
    return sorted(found, key=lambda quote: quote.start)


def _places_of_marks(text: str) -> dict[str, list[int]]:
    """Where the marks that close a quotation stand, and where paragraphs end."""
    places: dict[str, list[int]] = {}
    for one in _CLOSING.finditer(text):
        places.setdefault(one[0] or _PARAGRAPH_END, []).append(one.start())
    return places


def _next_of(places: list[list[int]], at: int, limit: int) -> int:
    """The first of several kinds of places in a stretch; its end where there is none."""
    for there in places:
        index = bisect_left(there, at)
        if index < len(there) and there[index] < limit:
            limit = there[index]
    return limit


def _closing_mark(text: str, opening: int, places: dict[str, list[int]]) -> int:
    """Where the mark that closes a quotation stands; -1 where none does. Inside a word a mark is
    part of it (תשי"ד), and so is one after a digit (5")."""
    before, after = text[opening - 1 : opening], text[opening + 1 : opening + 2]
    if before.isalnum() or not after or after.isspace():
        return -1
    closers = _CLOSERS[text[opening]]
    limit = min(len(text), opening + _LONGEST_QUOTE)
    if _PARAGRAPH_END in places:
        limit = _next_of([places[_PARAGRAPH_END]], opening, limit)
    closing = [places[mark] for mark in closers if mark in places]
    at = opening + 1
    for _ in range(_MOST_TRIES):
        at = _next_of(closing, at, limit)
        if at == limit:
            return -1
        last, following = text[at - 1], text[at + 1 : at + 2]
        if not following.isalnum() and not last.isspace():
            return at
        at += 1
    return -1


# ── sentences ─────────────────────────────────────────────────────────────────────────────────────

_SENTENCE_END = re.compile(
    r"(?:(?<![\s(]\w)(?<!\bNo)(?<!\bArt)(?<!\bSec)(?<!\bOps)(?<!\bpp)(?<!\bmom)(?<!\bvrt)(?<!\bGov)"
    r"(?<!\besim)(?<!\bInc)(?<!\bCo)(?<!\bLtd)(?<!\bv)(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bCal)"
    r"(?<!\betc)(?<!\bReg)(?<!\bks)(?<!\bem)(?<!\bpara)[.]|[!?])"
    r"[”“»\"’)\]]*(?:\s*(?:\[[\d,;\s–-]{1,20}\]|【[^】]{1,20}】))*(?=\s+[^\sa-zåäö\d(\[]|\s*\n|\s*$)"
)
_LINES_END = re.compile(r"\n+")
_BLANKS = re.compile(r"\s*")
_LIST_ITEM = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s")
_STOP = re.compile(r"[.!?]|\n")


def sentence_ends(text: str, spans: list[tuple[int, int]]) -> list[int]:
    """Where the sentences of a text end; never inside one of the spans given. Markers after the
    full stop belong to the sentence before."""
    starts = [start for start, _ in spans]
    ends = []
    end = item = 0  # of the last sentence; of the blanks after the last line
    for sign in _STOP.finditer(text):
        stop = sign.start()
        if stop < end:
            continue
        if sign[0] == "\n":
            item = item if stop < item else _BLANKS.match(text, stop).end()  # type: ignore[union-attr]
            match = _LINES_END.match(text, stop)
            if match and match.end() == stop + 1 and not _LIST_ITEM.match(text, item):
                continue
        else:
            match = _SENTENCE_END.match(text, stop)
        if match is None:
            continue
        end = match.end()
        at = bisect_right(starts, stop) - 1
        if at >= 0 and stop < spans[at][1] - 1:
            continue
        ends.append(end)
    return [*ends, len(text)] if not ends or ends[-1] < len(text) else ends


# ── citations ─────────────────────────────────────────────────────────────────────────────────────

Kind = Literal["prose", "marker"]


class Mention(msgspec.Struct, frozen=True, kw_only=True):
    """A citation as it stands in an answer. A marker has `numbers` or the `ids` of passages; a
    citation in prose is one or several readings (a list of sections is one citation)."""

    start: int
    end: int
    kind: Kind
    citations: tuple[Citation, ...] = ()
    numbers: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()
    page: int | None = None
    names_act: bool = False  # an act by name and year, without a section


# [1, 2]  【3†source】  [Doc 4]  [chunk-7]
_MARKER = re.compile(
    r"\[\^?(?P<list>\d{1,3}(?:\s?[,;–-]\s?\^?\d{1,3})*)\](?!\()"
    r"|【(?P<cjk>\d{1,3}(?:\s?[,;]\s?\d{1,3})*)(?:[†:][^】]{0,40})?】"
    r"|\[(?P<word>[Dd]oc(?:ument)?|[Ss]ource|[Pp]assage|[Cc]ontext|[Ll]ähde|מקור)\s?"
    r"(?P<named>\d{1,3}(?:\s?[,;]\s?\d{1,3})*)\]"
    r"|\[(?P<id>[^\[\]\n]{2,120})\]"
)
_RANGE = re.compile(r"(\d{1,3})\s?[–-]\s?(\d{1,3})")
# "[2017] UKSC 51 at [66]": a paragraph of the judgment
_JUDGMENT = re.compile(r"\d\)?,?\s(?:\([A-Z]\w+\),?\s)?at\s$|\bparas?\.?\s$")
_TO_NEXT = re.compile(r"\s?(?:[-–]|and)\s?")  # to the next paragraph of that judgment
_UNREADABLE = re.compile(
    r"§+(?:\s?[?x_]+)?|\[(?:\?+|citation needed|source needed|lähde puuttuu|חסר מקור)\]"
)
MASK = "·"  # takes the place of quoted words: neither a letter nor a space


def find_mentions(
    text: str, quotes: list[Quote], *, language: str, scheme: Scheme, ids: frozenset[str]
) -> list[Mention]:
    """Every citation of an answer in its order. References inside a quotation's own words are left
    out; `ids` are those of the passages, which a marker may name."""
    plain, places = _without_emphasis(
        _with_spans_blanked(text, [(quote.start, quote.end) for quote in quotes])
    )
    markers = list(_markers(plain, ids))
    plain = _with_spans_blanked(plain, [(one.start, one.end) for one in markers])
    prose = _prose_citations(plain, language, scheme)
    taken = sorted((one.start, one.end) for one in (*markers, *prose))
    covered = bytearray(len(plain) + 1)
    for start, end in taken:
        covered[start:end] = b"\1" * (end - start)
    lost = [
        Mention(start=match.start(), end=match.end(), kind="prose")
        for match in _UNREADABLE.finditer(plain)
        if covered.find(1, match.start(), match.end()) < 0
    ]
    found = sorted((*markers, *prose, *lost), key=lambda one: one.start)
    if len(plain) == len(text):
        return found
    return [
        msgspec.structs.replace(one, start=places[one.start], end=places[one.end - 1] + 1)
        for one in found
    ]


_ADORNMENT = re.compile("[*\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


def _without_emphasis(text: str) -> tuple[str, Sequence[int]]:
    """A text without emphasis (**Act**) and the invisible marks of direction, which stand in the
    midst of citations, and the place in the answer of each character that is left."""
    if not _ADORNMENT.search(text):
        return text, range(len(text))
    places: list[int] = []
    at = 0
    for mark in _ADORNMENT.finditer(text):
        places += range(at, mark.start())
        at = mark.end()
    return _ADORNMENT.sub("", text), [*places, *range(at, len(text))]


def _with_spans_blanked(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            pieces += [text[at:start], MASK * (end - start)]
            at = end
    return "".join((*pieces, text[at:]))


def _markers(text: str, ids: frozenset[str]) -> Iterator[Mention]:
    """Markers by number or id. Where ids of passages are named, one of their shape that no passage
    has is a marker too."""
    found = list(_MARKER.finditer(text))
    shapes = {_id_shape(match["id"]) for match in found if match["id"] in ids} - {"0"}
    paragraph = len(text)  # where the last paragraph of a judgment ends
    for match in found:
        start, end = match.span()
        listed = match["list"] or match["cjk"] or match["named"]
        goes_on = paragraph < start and _TO_NEXT.fullmatch(text, paragraph, start)
        if listed and (goes_on or _JUDGMENT.search(text, max(0, start - 20), start)):
            paragraph = end
        elif listed:
            yield Mention(start=start, end=end, kind="marker", numbers=_marker_numbers(listed))
        elif named := _ids_in(match["id"], ids):
            yield Mention(start=start, end=end, kind="marker", ids=named)
        elif _DIGIT.search(match["id"]) and _id_shape(match["id"]) in shapes:
            yield Mention(start=start, end=end, kind="marker", ids=(match["id"],))


_DIGIT = re.compile(r"\d")


def _id_shape(id: str) -> str:
    """An id with its numbers and words made alike: `a_b:1:1` is of the shape of `c_d:77:2`."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", id))


def _marker_numbers(listed: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for piece in re.split(r"[,;]", listed.replace("^", "")):
        if row := _RANGE.fullmatch(piece.strip()):
            numbers += range(int(row[1]), min(int(row[2]), int(row[1]) + 50) + 1)
        else:
            numbers.append(int(piece))
    return tuple(dict.fromkeys(numbers))


def _ids_in(written: str, ids: frozenset[str]) -> tuple[str, ...]:
    if written in ids:
        return (written,)
    pieces = tuple(piece.strip() for piece in re.split(r"[;,|]", written))
    return pieces if len(pieces) > 1 and all(piece in ids for piece in pieces) else ()


# ── prose ─────────────────────────────────────────────────────────────────────────────────────────

_JOINER = re.compile(
    r"\s?(?:,|;|–|-|/|&)?\s?(?:(?:and|or|to|through|ja|tai|sekä|taikka|ו[-־]?|או|עד)\s?[-־]?)?\s?"
)
_HEBREW_PREFIX = re.compile(r"(?<![א-ת\"'״׳])[ובלמשהכ]{1,3}-?$")
_HEBREW_NAME = re.compile(
    r"\s+(?!נ')(?:[א-ת][\w\"'״׳.-]*\s+){1,7}?(?:נ'|נ׳|נגד)\s+[א-ת][\w\"'״׳-]*"
    r"(?:\s+(?:ה[\w\"'״׳-]+|בע\"מ|בע״מ|ואח'|ואח׳|[א-ת]{2,}-[א-ת]+))*"
)
_OPINION_PAGE = re.compile(r",\s(?:at\s)?(?P<page>\d{1,4})(?:\s?[-–]\s?\d{1,4})?(?![\d/.,]*\d)")
_PAGE = re.compile(r",?\s+(?:at\s+)?(?:pp?\.|pages?)\s?(?P<page>\d{1,4})(?:\s?[-–]\s?\d{1,4})?")
_LEADING = re.compile(
    r"(?:In(?!\s+[Rr]e\b)|See|The|the|in|see|also|and|our|Our|of|per|Per|Cf\.)\s+"
)
_CASE_PAGE = re.compile(r",\s\d{1,4}(?:[-–]\d{1,4})?(?![\d/.,]*\d)(?:\s\((?:1[789]|20)\d\d\))?")
_ET_SEQ = re.compile(r",?\s+et\.?\s+seq\.?")
_CASE_YEAR = re.compile(r"\s\((?:1[789]|20)\d\d\)")
_OWN_UNIT = re.compile(r"[\d(]")
_OWN_CODE = re.compile(r"\s[A-Z]\w|\.[A-Z]|§")  # "and 42 USC 1983" is no item of the list before it
_SIGN_AT_END = re.compile(r"(?:§\S*|luku\w*|luvu\w*|moment\w*|mom\.?|koh[td]a\w*|artikla\w*)$")
_NAME_BEFORE = re.compile(
    r"(?P<name>[A-Z][A-Za-z’'-]*[a-z](?:\s[A-Z][A-Za-z’'-]*[a-z])?)\s(?:[Aa]dvice\s)?(?:[Ll]etter|[Oo]pinion)"
    r",?\s\(?(?:No\.\s)?$"
)
MOST_ACTS = 1_000  # named in one answer (taste)
_LONGEST_MENTION = 400  # characters (taste)
_AFTER_ACT = re.compile(r",?\s+\(?$")
_BEFORE_ACT = re.compile(r",?\s(?:of|in|under|to)\s(?:the\s)?$")


def _prose_citations(text: str, language: str, scheme: Scheme) -> list[Mention]:
    outside = list(authorities(text, language))
    masked = _with_spans_blanked(text, [(one.start, one.end) for one in outside])
    any_language = msgspec.structs.replace(scheme, language="")
    read = parse(masked, first=language or scheme.language, scheme=any_language)
    groups = _group_lists(masked, [one for one in read if one.text.strip(MASK).strip()])
    found = [_mention(masked, group) for group in groups]
    found += [_is_outside_law(one) for one in outside]
    found.sort(key=lambda one: one.start)
    found = _with_short_forms(masked, found, language)
    return _with_acts(text, found)


def _is_outside_law(citation: Citation) -> Mention:
    return Mention(start=citation.start, end=citation.end, kind="prose", citations=(citation,))


def _group_lists(text: str, citations: list[Citation]) -> list[list[Citation]]:
    """Citations that are one list of sections, together: "130 §:n 1 tai 3 kohdan"."""
    groups: list[list[Citation]] = []
    for one in citations:
        before = groups[-1][-1] if groups else None
        if before is not None and _continues_list(text, before, one):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _continues_list(text: str, before: Citation, one: Citation) -> bool:
    if before.language != one.language or before.kind != one.kind or one.start < before.end:
        return False
    between = text[before.end : one.start]
    if len(between) > 8 or not _JOINER.fullmatch(between) or one.kind in ("letter", "case"):
        return False
    if one.language == "fi":
        return not _SIGN_AT_END.search(before.text)
    return bool(_OWN_UNIT.match(one.text)) and not _OWN_CODE.search(one.text)


def _mention(text: str, group: list[Citation]) -> Mention:
    first, last = group[0], group[-1]
    start, end, page = first.start, last.end, None
    while lead := _LEADING.match(text, start, end):
        start = lead.end()
    if first.language == "he":
        if prefix := _HEBREW_PREFIX.search(text, max(0, start - 4), start):
            start = prefix.start() + prefix[0].startswith("ו")
        group = _with_paragraph(text, start, group)
        start = min(start, *(one.start for one in group))
        if first.kind == "case" and (
            name := _HEBREW_NAME.match(text, end, min(len(text), end + 160))
        ):
            end = name.end()
    elif first.language == "fi" and text.startswith("annet", start):
        start = _title_start(text, start, first.parts.get("law", ""))
    elif first.kind == "case":
        start = case_start(text, start)
        if tail := _CASE_PAGE.match(text, end) or _CASE_YEAR.match(text, end):
            end = tail.end()
    elif first.kind in ("letter", "opinion") and (paged := _PAGE.match(text, end)):
        end, page = paged.end(), int(paged["page"])
    elif first.kind == "opinion" and (paged := _OPINION_PAGE.match(text, end)):
        end = paged.end()
    elif seq := _ET_SEQ.match(text, end):
        return Mention(start=start, end=seq.end(), kind="prose", citations=tuple(group))
    named = None
    if first.kind == "letter" and not first.name:
        named = _NAME_BEFORE.search(text, max(0, start - 60), start)
    if named is not None:
        start = named.start()
        end += named[0].endswith("(") and text[end : end + 1] == ")"
        group = [msgspec.structs.replace(first, name=named["name"]), *group[1:]]
    while end > start and text[end - 1] in " ,;:\n":
        end -= 1
    if text[end - 1] == ")" and "(" not in text[start:end]:
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return Mention(start=start, end=end, kind="prose", citations=tuple(group), page=page)


_PARAGRAPH = re.compile(
    r"(?<![א-ת])[ובלמשהכ]{0,2}(?:פסקת\s+משנה|פסקה|פסקאות|סעיף\s+קטן|ס\"ק|ס״ק)\s+\((?P<step>\w{1,3})\)"
    r"\s+(?:של\s+)?$"
)


def _with_paragraph(text: str, start: int, group: list[Citation]) -> list[Citation]:
    """A Hebrew section with the paragraph named before it: "פסקה (2) לסעיף 6(ב)"."""
    lead = _PARAGRAPH.search(text, max(0, start - 40), start)
    if lead is None or len(group) > 1 or not group[0].parts.get("sub"):
        return group
    first = group[0]
    parts = {**first.parts, "sub": f"{first.parts['sub']}({lead['step']})"}
    return [msgspec.structs.replace(first, start=lead.start(), parts=parts)]


def _with_short_forms(text: str, mentions: list[Mention], language: str) -> list[Mention]:
    """The mentions with those in short forms, which take the place of a part that was read without
    its act ("section 99" of "section 99 ERA")."""
    if language == "fi" and not any(
        "chapter" in c.parts for one in mentions for c in one.citations
    ):
        return mentions
    found = list(mentions)
    for short in short_forms(text, language):
        low = bisect_right(found, short.start, key=lambda one: one.end)
        high = bisect_right(found, short.end - 1, key=lambda one: one.start)
        inside = found[low:high]
        names_act = any("code" in one.parts for each in inside for one in each.citations)
        if inside and (names_act or "code" not in short.parts):
            continue
        if all(short.start <= one.start and one.end <= short.end for one in inside):
            found[low:high] = [_is_outside_law(short)]
    return found


def _title_start(text: str, at: int, law: str) -> int:
    """Where the title before "annetun lain" begins."""
    words = len(law.split()) - 1
    begin = at
    for piece in reversed(
        list(re.finditer(r"\S+", text[max(0, at - 200) : at]))[-words:] if words > 0 else []
    ):
        begin = max(0, at - 200) + piece.start()
    return begin


def _with_acts(text: str, mentions: list[Mention]) -> list[Mention]:
    """The mentions with the acts that the text names by title and year: alone, or as what the
    section right after them is of ("… Regulations 1999, regulation 10")."""
    kept = list(mentions)
    acts = sorted((*acts_named(text), *numbered_acts(text)), key=lambda act: act[2])
    for title, year, start, end in acts[:MOST_ACTS]:
        first = bisect_right([one.start for one in kept], start - _LONGEST_MENTION)
        near = kept[first : first + 2 * _LONGEST_MENTION]
        around = [one for one in near if one.start < end and start < one.end]
        if any(one.start <= start and end <= one.end for one in around):
            continue
        if any(not (start <= one.start and one.end <= end) for one in around):
            continue
        after = next((one for one in near if 0 <= one.start - end <= 3), None)
        before = next((one for one in near if 0 < start - one.end <= 9), None)
        parts = _act_parts(title, year)
        act = Citation(
            text=text[start:end],
            start=start,
            end=end,
            kind="statute",
            language="en",
            normal=f"{title} {year}",
            parts=parts,
        )
        kept = [one for one in kept if one not in around]
        joins = after is not None and _AFTER_ACT.fullmatch(text, end, after.start)
        if after is not None and joins and all(_is_bare(one) for one in after.citations):
            citations = tuple(
                msgspec.structs.replace(one, kind="statute", parts={**one.parts, **parts})
                for one in after.citations
            )
            kept[kept.index(after)] = msgspec.structs.replace(
                after, start=start, citations=citations
            )
        elif (
            before is not None
            and _BEFORE_ACT.fullmatch(text, before.end, start)
            and all(_is_bare(one) and "code" not in one.parts for one in before.citations)
        ):
            citations = tuple(
                msgspec.structs.replace(one, kind="statute", parts={**one.parts, **parts})
                for one in before.citations
            )
            kept[kept.index(before)] = msgspec.structs.replace(before, end=end, citations=citations)
        else:
            kept.append(
                Mention(start=start, end=end, kind="prose", citations=(act,), names_act=True)
            )
        kept.sort(key=lambda one: one.start)
    return kept


def _act_parts(title: str, year: str) -> dict[str, str]:
    if "/" in year:
        return {"law": law_name(title), "id": year}
    if year[:1].isdigit():
        return {"code": f"{title} {year}"}
    return {"law": title, "year": year.removeprefix("ה").replace("–", "-").replace("־", "-")}


def _is_bare(citation: Citation) -> bool:
    sections = citation.kind in ("statute", "regulation") and bool(citation.parts.get("section"))
    return sections and citation.text[:1] in "rRsSaApP§" and "title" not in citation.parts


def language_of(text: str, stated: str) -> str:
    return stated or detect(text)

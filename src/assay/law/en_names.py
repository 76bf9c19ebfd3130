"""Names in English citations, each with its normal form: titles of acts, codes, constitutions and
reporters.

    Ferries Act 2030 § 5(2)         section 5(2) of the Ferries Act, 2030; Ferries Act 2030, s 5(2)
    Ferries Act 2030 Sch. 2 para. 3     paragraph 3 of Schedule 2 to the Ferries Act 2030

The year is part of an act's title, and so is what stands in brackets: the Ferries Act 1998, the
Ferries Act 2030 and the Ferries (Amendment) Act 2031 are three. "That Act" is the one named last
before it, "the 1998 Act" the one of that year, "the Act" the one that the text calls so, or the
only one that it names."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

from assay.law.citation import Kind, Scheme

# ── acts ──────────────────────────────────────────────────────────────────────────────────────────

ORDINALS = tuple("first second third fourth fifth sixth seventh eighth ninth tenth".split())
ORDINAL = "|".join((*ORDINALS, *(word.capitalize() for word in ORDINALS)))
ONLY = "only"  # the schedule of an act that is named without a number
_KIND = r"(?:Act|Ordinance)"
_MADE = r"(?:Regulations|Rules|Order|Decree|Law|Measure)"  # acts only with their year
_TITLE_WORD = rf"(?!(?:{_KIND}|{_MADE}),?\s+(?:and|or)\s)[A-Z](?:[\w’'&-]*|\.(?=\s[A-Z]))"
_BRACKET = r"\([A-Z][^()\n]{1,60}\)"
_LINK = r"(?:(?:of|for|on|in|to|with|by|from|against)(?:\s+the)?|and|&|or)"
_NAME = rf"{_TITLE_WORD}(?:,?\s+(?:{_LINK}\s+)?(?:{_TITLE_WORD}|{_BRACKET})){{0,12}}"
_VOLUME = (
    r",?\s+(?:R\.?\s?)?S\.?\s?[A-Z]{1,3}\.?\s+(?:1[6-9]|20)\d\d,?\s+c(?:h|hap)?\.?\s+[\w.-]*\w"
)
_NUMBERED = r",?\s+(?:No\.?\s+)?\d{1,3}\s+of\s+(?:1[6-9]|20)\d\d"
_YEAR = r",?\s+(?:of\s+)?(?:1[6-9]|20)\d\d(?![\d/.]\d|\d)"
_DATED = rf"(?:{_VOLUME}|{_NUMBERED}|{_YEAR})"
_PLACE = (
    r"(?:\s+\((?:Cth|NSW|Vic|Qld|WA|SA|Tas|ACT|NT|NZ|UK|Imp|Ont|BC|Alta|Can|India|Ireland"
    r"|Scotland|Wales|NI)\))?"
)
_FULL = rf"(?:{_NAME}\s+{_KIND}(?!\w){_DATED}?|{_NAME}\s+{_MADE}{_DATED})"
ACT = rf"{_FULL}{_PLACE}"
MADE = rf"{_NAME}\s+{_MADE}{_DATED}{_PLACE}"
DATED_ACT = rf"{_NAME}\s+(?:{_KIND}|{_MADE}){_DATED}{_PLACE}"
BACK = (
    rf"(?:(?:that|the\s+said|said|the\s+same)\s+(?:{_KIND}|{_MADE})"
    rf"|the\s+(?:1[6-9]|20)\d\d\s+(?:{_KIND}|{_MADE})|the\s+Act)(?!\w)(?!\s+of\s+\d)"
)
SCHEDULE = (
    r"Sch(?:edule|ed)?(?![A-Za-z])\.?"
    r"(?:\s+(?P<number>\d{1,2}[A-Z]{0,2}|[IVX]{1,5}|[A-Z])(?![\w-]))?"
)
_MENTION = re.compile(rf"\b{ACT}")
_CALLED = re.compile(
    r"\s*\((?:hereinafter\s+|in\s+this\s+\w+\s+)?(?:the\s+)?[“\"'‘]?(?:the\s+)?Act\b"
)
_REACH = 400  # characters from a title to "that Act" (taste)
_BEFORE_TITLE = re.compile(
    r"(?:(?:The|Under|See|In|And|Of|This|That|Both|From|Also|Former|Thus|By|If|When|Since|As|To"
    r"|While|Section|Sections|Unlike|Although|Where|Parliament|Congress|Whereas)"
    r"(?:\s+(?:of|in|to|for|by|from|the))*,?\s+)+(?:the\s+)?"
)
_YEAR_OF = re.compile(r"\b(?:1[6-9]|20)\d\d\b")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}  # the only letters that are read


class ActKey(NamedTuple):
    """An act's name for comparison: its words, its year, and the country or state it is of."""

    base: str
    year: str
    place: str


def is_act(name: str) -> bool:
    return re.fullmatch(ACT, name.strip()) is not None


def title_in(text: str, scheme: Scheme) -> str:
    """The title at the end of words that may begin before it: the longest that the corpus knows,
    or all but the words that no title begins with."""
    known = {key_of(law).base for law in scheme.laws}
    begins = [0, *(space.end() for space in re.finditer(r"\s+", text))]
    for begin in begins if known else ():
        if key_of(text[begin:]).base in known:
            return text[begin:]
    return _BEFORE_TITLE.sub("", text, count=1) if _BEFORE_TITLE.match(text) else text


def act_name(text: str) -> str:
    """A title as it is printed: 'the Ferries Act, 2030' is 'Ferries Act 2030'."""
    plain = re.sub(r"^[Tt]he\s+", "", " ".join(text.split()))
    return re.sub(rf"({_KIND}|{_MADE}),\s+((?:of\s+)?(?:1[6-9]|20)\d\d)\b", r"\1 \2", plain)


def meant_by(back: str, text: str, at: int) -> str:
    """The act that "that Act", "the 1998 Act" or "the Act" means at a place in a text; empty where
    that is not plain."""
    acts = _acts_in(text)
    if year := _YEAR_OF.search(back):
        return _only_one(acts.by_year.get(year[0], []), at)
    if re.fullmatch(r"the\s+Act", back):
        is_called = acts.called and acts.called[0].end <= at
        return _only_one(acts.called if is_called else acts.first, at)
    before = bisect_right(acts.ends, at)
    is_near = before > 0 and at - acts.ends[before - 1] <= _REACH
    return acts.titles[before - 1] if is_near else ""


class _NamedAct(NamedTuple):
    """The title of an act, and where it was named."""

    title: str
    end: int


class _Acts(NamedTuple):
    """The acts that a text names: the title and the end of every mention, and the first mentions of
    the first two titles: of all, of each year, and of those that the text calls the Act."""

    titles: list[str]
    ends: list[int]
    first: list[_NamedAct]
    by_year: dict[str, list[_NamedAct]]
    called: list[_NamedAct]


@lru_cache(maxsize=1)  # all that points back in a text is asked about one after another
def _acts_in(text: str) -> _Acts:
    acts = _Acts([], [], [], {}, [])
    for one in _MENTION.finditer(text):
        if _is_back(one):
            continue
        named = _NamedAct(_title(one), one.end())
        acts.titles.append(named.title)
        acts.ends.append(named.end)
        lists = [acts.first]
        if named.title:
            lists.append(acts.by_year.setdefault(key_of(named.title).year, []))
        if _CALLED.match(text, named.end):
            lists.append(acts.called)
        for first in lists:
            if len(first) < 2 and all(other.title != named.title for other in first):
                first.append(named)
    return acts


def _only_one(first: list[_NamedAct], at: int) -> str:
    """The one title named before a place; empty where there are none or several."""
    before = [one for one in first if one.end <= at]
    return before[0].title if len(before) == 1 else ""


def _is_back(mention: re.Match[str]) -> bool:
    return re.fullmatch(r"(?:The|That|Said|This)\s+Act", mention[0]) is not None


def _title(mention: re.Match[str]) -> str:
    return act_name(_BEFORE_TITLE.sub("", mention[0], count=1))


@lru_cache(maxsize=10_000)
def key_of(name: str) -> ActKey:
    plain = act_name(name).replace("&", "and").replace("’", "'").casefold()
    place = re.search(rf"(?i:{_PLACE})$", plain)
    plain = plain[: place.start()] if place else plain
    years = _YEAR_OF.findall(plain)
    base = re.split(rf"(?i){_DATED}$", plain)[0]
    return ActKey(
        base=" ".join(base.replace(",", " ").split()),
        year=years[-1] if years else "",
        place=place[0].strip(" ()") if place else "",
    )


def same_act(cited: ActKey, known: ActKey) -> bool:
    """The same words, and no other year or country."""
    return cited.base == known.base and all(
        not one or not other or one == other
        for one, other in ((cited.year, known.year), (cited.place, known.place))
    )


def schedule_number(ordinal: str, number: str) -> str:
    """The First Schedule and Schedule I are 1; the one of an act that has one is ONLY."""
    if ordinal:
        return str(ORDINALS.index(ordinal.casefold()) + 1)
    if number in ("I", "V", "X") or re.fullmatch(r"[IVX]{2,}", number):
        values = [_ROMAN_VALUES[letter] for letter in number]
        return str(sum(-v if v < max(values[i:]) else v for i, v in enumerate(values)))
    return number or ONLY


# ── codes, constitutions and reporters ────────────────────────────────────────────────────────────

# Long and short names of codes, each with its normal form. A code that is not here keeps its own
# name.
CODES = {
    r"Gov(?:ernment|[’']?t\.?|\.)?": "Gov.",
    r"Pen(?:al|\.)": "Penal",
    r"Elec(?:tions?|\.)": "Elec.",
    r"Civ(?:il|\.)": "Civ.",
    r"Corp(?:orations?|s?\.)": "Corp.",
    r"Bus(?:iness|\.)\s*(?:and|&)\s*Prof(?:essions|\.)": "Bus. & Prof.",
    r"Health\s*(?:and|&)\s*Saf(?:ety|\.)": "Health & Saf.",
    r"Pub(?:lic|\.)\s*Cont(?:ract|\.)": "Pub. Cont.",
    r"Pub(?:lic|\.)\s*Res(?:ources|\.)": "Pub. Res.",
    r"Pub(?:lic|\.)\s*Util(?:ities|\.)": "Pub. Util.",
    r"Welf(?:are|\.)\s*(?:and|&)\s*Inst(?:itutions|\.)": "Welf. & Inst.",
    r"Rev(?:enue|\.)\s*(?:and|&)\s*Tax(?:ation|\.)": "Rev. & Tax.",
    r"Ed(?:ucation|uc?\.)": "Educ.",
    r"Veh(?:icle|\.)": "Veh.",
    r"Lab(?:or|\.)": "Lab.",
    r"Ins(?:urance|\.)": "Ins.",
    r"Fin(?:ancial|\.)": "Fin.",
    r"Fam(?:ily|\.)": "Fam.",
    r"Prob(?:ate|\.)": "Prob.",
    r"Evid(?:ence|\.)": "Evid.",
    r"Water": "Water",
    r"(?:Internal\s+Revenue|Int\.\s*Rev\.|I\.?R\.?)": "Int. Rev.",
}
REPORTERS = {
    r"Cal\.?\s*App\.?\s*(2d|3d|4th|5th)": "Cal.App.{}",
    r"Cal\.?\s*App\.?": "Cal.App.",
    r"Cal\.?\s*Rptr\.?\s*(2d|3d)": "Cal.Rptr.{}",
    r"Cal\.?\s*Rptr\.?": "Cal.Rptr.",
    r"Cal\.?\s*(2d|3d|4th|5th)": "Cal.{}",
    r"Cal\.": "Cal.",
    r"U\.\s*S\.": "U.S.",
    r"S\.\s*Ct\.": "S.Ct.",
    r"F\.\s*Supp\.?\s*(2d|3d)": "F.Supp.{}",
    r"F\.\s*Supp\.?": "F.Supp.",
    r"F\.\s*(2d|3d|4th)": "F.{}",
    r"P\.\s*(2d|3d)": "P.{}",
    r"Ops\.?\s*Cal\.?\s*Att(?:[’']?y|orney)?\.?\s*Gen(?:eral|\.)?": "Ops.Cal.Atty.Gen.",
}
_CODE_NAME = rf"\b(?:{'|'.join(CODES)})\s+code"
_CODE_IN_QUESTION = re.compile(rf"{_CODE_NAME}(?=(?:\s+sec(?:tion|\.))?\s*§*\s*\d)", re.IGNORECASE)
_LONGEST_CODE = 8  # words (taste): more than the name of any code above has
_FEDERAL = r"\d{1,2}\s+(?:U\.?\s?S\.?\s?C\.?(?:\s?A\.)?|C\.?\s?F\.?\s?R\.?)(?![A-Za-z])"
_TITLE_OF_CODE = r"[Tt]itle\s+\d{1,2},?\s+(?:of\s+the\s+)?United\s+States\s+Code"
_ROMAN = r"(?:[IVXL]+|\d{1,2})(?:\s?[A-E](?![A-Za-z]))?"
_CONSTITUTION = (
    r"(?:Cal(?:ifornia|\.)?|U\.\s?S\.|United\s+States|[Ss]tate|[Ff]ederal)\s+[Cc]onst(?:itution|\.)"
    r"|Const(?:itution|\.)"
)
_ARTICLE = rf"(?:[Aa]rt(?:icle|\.)|[Aa]mend(?:ment|\.))\s*{_ROMAN}"
_ROMAN_ARTICLE = r"[Aa]rt(?:icle|\.)\s*[IVXL]+(?:\s?[A-E](?![A-Za-z]))?(?![A-Za-z])"
_WORD = r"[A-Z][A-Za-z.’'&-]*"
CODE = (
    rf"G\.\s?C\.|GC(?=\s*[§\d])|(?:{'|'.join(CODES)})\s+C(?:ode|\.(?=\s*(?:§|[Ss]ec|$)))"
    r"|Code\s+of\s+[A-Z][a-z]+\s+Procedure|Code\s+(?:Civ|Crim)\.\s*Proc\."
    rf"|(?:(?!Adm)[A-Z][A-Za-z.’'&-]*\s+(?:(?:of|and|&)\s+)?){{1,5}}Code(?!\s+(?:of\s*)?Reg)"
)
# What a section may be one of, before it ("Stats. 1984, ch. 931, § 2") or after ("§ 5 of the City
# Charter").
SOURCE = (
    rf"{_FEDERAL}|{_TITLE_OF_CODE}|(?:{_CONSTITUTION}),?\s+{_ARTICLE}|{_ROMAN_ARTICLE}"
    rf"|{_ARTICLE}\s+of\s+the\s+(?:{_CONSTITUTION})"
    r"|Stats?\.\s*(?:of\s+)?\d{4},?\s+[Cc]h(?:apter|ap)?\.?\s*\d+|Prop(?:osition|\.)\s+\d+"
    rf"|(?:{_WORD}\s+){{0,3}}(?:Charter|Ordinance(?:\s+No\.\s?[\w-]+)?|[Bb]y-?laws|Resolution)"
    rf"|{CODE}|{ACT}"
)
AMENDMENTS = {"First": "I", "Fourth": "IV", "Fifth": "V", "Sixth": "VI", "Fourteenth": "XIV"}
AFTER = (
    rf"(?:the|said|its|this)\s+(?:(?:{_WORD}\s+){{0,4}}"
    r"(?:Agreement|Contract|Lease|Charter|Ordinance|[Bb]y-?laws|Resolution|Rules|Policy|MOU|Deed)"
    rf"|(?:{_CONSTITUTION})|{CODE})"
    rf"|[Aa]rticle\s+{_ROMAN}\s+of\s+(?:the\s+)?(?:{_CONSTITUTION})"
    rf"|the\s+(?:{'|'.join(AMENDMENTS)})\s+Amendment"
    rf"|{_ROMAN_ARTICLE}|Proposition\s+\d+|{_TITLE_OF_CODE}"
)
# What has sections and is no law: "section 4 of the lease"; a square mile of land.
NO_LAW = re.compile(
    r",?\s+of\s+(?:the|this|that|your|our|his|her|its|their|an?|said|such)\s+"
    r"(?:(?!(?:act|code|law|statute|regulation|and|or|in|to|for|by|with|that|which)\b)"
    r"[a-z-]+\s+){0,2}?"
    r"(?:lease|agreement|contract|deed|letter|report|form|plan|budget|policy|manual|handbook"
    r"|complaint|petition|brief|memorandum|permit|application|questionnaire|by-?laws)s?\b"
    r"|,?\s+(?:Township|T\.?\s?\d)"
)
# Acts whose sections are those of a code.
ACTS = {
    **dict.fromkeys(("Political Reform", "Ralph M. Brown", "Brown", "Levine"), "Gov. Code"),
    **dict.fromkeys(("Bagley-Keene Open Meeting", "Bagley-Keene", "Public Records"), "Gov. Code"),
    "California Public Records": "Gov. Code",
}
_BEGINNINGS = re.compile(
    r"^(?:(?:The|Under|See|In|And|Of|This|That|Both|From|Also|Former|West[’']s|Cal(?:ifornia|\.)?"
    r"|[Tt]he|[Ss]aid|[Ii]ts|[Tt]his|State|Thus|By|If|When|Since|As|To|While)\s+)+"
)


@lru_cache(maxsize=10_000)
def law_name(text: str) -> str:
    """The normal name of a code: 'Government Code' is 'Gov. Code'."""
    plain = _BEGINNINGS.sub("", " ".join(text.split())) or " ".join(text.split())
    if re.fullmatch(r"G\.?\s?C\.?", plain):
        return "Gov. Code"
    if procedure := re.fullmatch(r"Code (Civ|Crim)\. ?Proc\.", plain):
        return f"Code of {'Civil' if procedure[1] == 'Civ' else 'Criminal'} Procedure"
    if federal := re.fullmatch(_FEDERAL, plain):
        title = plain.split()[0]
        return f"{title} U.S.C." if "S" in federal[0].upper() else f"{title} C.F.R."
    if re.fullmatch(_TITLE_OF_CODE, plain):
        return f"{plain.split()[1].rstrip(',')} U.S.C."
    if constitution := _constitution(text):
        return constitution
    if laws := re.fullmatch(r"Stats?\.\s*(?:of\s+)?(\d{4}),?\s+[Cc]h\w*\.?\s*(\d+)", plain):
        return f"Stats. {laws[1]}, ch. {laws[2]}"
    if is_act(plain):
        titles = {f"{act} act".casefold(): code for act, code in ACTS.items()}
        return titles.get(key_of(plain).base, act_name(plain))
    plain = re.sub(r" C\.$", " Code", plain)
    words = plain.split()
    for begin in range(
        max(len(words) - _LONGEST_CODE, 0), len(words) - 1
    ):  # "Thus Government Code"
        for pattern, name in CODES.items():
            if re.fullmatch(rf"(?:{pattern})\s+Code", " ".join(words[begin:]), re.IGNORECASE):
                return f"{name} Code"
    return plain


def with_code_capitals(question: str) -> str:
    """A question with the codes of its citations as texts write them: 'gov code 4503' is 'Gov Code
    4503'. Without capitals a code is not read as one in a text."""
    return _CODE_IN_QUESTION.sub(
        lambda code: " ".join(word[:1].upper() + word[1:] for word in code[0].split()), question
    )


def words_of_codes(question: str) -> set[str]:
    """The words in small letters of the codes that a question names, such as 'gov' and 'code'."""
    named = " ".join(re.findall(_CODE_NAME, question, re.IGNORECASE))
    return {*re.findall(r"\w+", named.casefold())}


def _constitution(text: str) -> str:
    article = re.search(rf"\b(?:[Aa]rt(?:icle|\.)|([Aa]mend)(?:ment|\.))\s*({_ROMAN})", text)
    name = f"{'amend' if article[1] else 'art'}. {' '.join(article[2].split())}" if article else ""
    if amendment := re.search(rf"({'|'.join(AMENDMENTS)})\s+Amendment", text):
        return f"U.S. Const. amend. {AMENDMENTS[amendment[1]]}"
    if not re.search(r"[Cc]onst(?:itution|\.)", text):
        return name
    whose = "U.S." if re.search(r"U\.\s?S\.|United|[Ff]ederal", text) else "Cal."
    return f"{whose} Const. {name}".rstrip()


def kind_of_source(code: str) -> Kind:
    """The kind of citation that a section of this source is."""
    if code.endswith("C.F.R."):
        return "regulation"
    return "constitution" if re.match(r"(?:Cal|U\.S)\. Const\.", code) else "statute"


@lru_cache(maxsize=10_000)
def reporter(text: str) -> str:
    for pattern, name in REPORTERS.items():
        if match := re.fullmatch(pattern, text.strip(), re.IGNORECASE):
            return name.format(*(group.lower() for group in match.groups()))
    return text


def place_name(section: str, moment: str, *, schedule: str = "", chapter: str = "") -> str:
    """A place as it is printed: 'ch. 3 s. 4(2)'; what a schedule has is a paragraph."""
    sub = moment if not moment or moment.startswith("(") else f"({moment})"
    pieces = [f"Sch. {schedule}"] if schedule else []
    pieces += [f"ch. {chapter}"] if chapter else []
    pieces += [f"{'para.' if schedule else 's.'} {section}{sub}"] if section else []
    return " ".join(pieces) if section else " ".join(filter(None, (*pieces, sub)))

"""Names of codes, constitutions and reporters in English citations, each with its normal form."""

from __future__ import annotations

import re
from functools import cache

from assay.law.citation import Kind
from assay.law.en_acts import ACT, act_name, is_act, key_of

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


@cache
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
    for begin in range(len(words) - 1):  # "Thus Government Code"
        for pattern, name in CODES.items():
            if re.fullmatch(rf"(?:{pattern})\s+Code", " ".join(words[begin:]), re.IGNORECASE):
                return f"{name} Code"
    return plain


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


@cache
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

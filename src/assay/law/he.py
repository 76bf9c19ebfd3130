"""Find Hebrew citations in text: sections of laws and schedules, and cases by number.

    סעיף 197 לחוק התכנון והבנייה         בסעיף 197 לחוק התכנון והבנייה, התשכ"ה-1965
                                           ס' 197 לחוק התכנון והבנייה
    סעיף 4(5) לתוספת השלישית              סעיף 4(5) לתוספת השלישית לחוק
                                           התוספת השלישית לחוק, סעיף 4(5)
    ערר 8011/19                            בערר (מחוז מרכז) 8011/19

Where a law's name ends in running text is settled by its year, by a name the corpus knows, or by
grammar: a noun in the construct state goes on, and so do words with the article or "and". What
stands in brackets is part of the name, and so is the year: they tell laws apart that begin alike.
"The law", "the said law" and a name that the text defines ("להלן: החוק") mean the law named
before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from assay.language.hebrew import PLAIN_QUOTES, PREFIX_LETTERS, number_of, without_points
from assay.law.citation import Citation, Kind, Scheme, Spanned, citation_at, first_matches
from assay.law.spellings import Join, Subdivision, range_end, spelled, subdivisions

# ── names of laws ─────────────────────────────────────────────────────────────────────────────────

# Laws as lawyers shorten them, without the article and the quotation marks.
SHORT_LAWS = {
    "תוב": "חוק התכנון והבניה",
    "הוצלפ": "חוק ההוצאה לפועל",
    "פסדפ": "פקודת סדר הדין הפלילי (מעצר וחיפוש)",
    **dict.fromkeys(("חסדפ", "סדפ"), "חוק סדר הדין הפלילי"),
    **dict.fromkeys(("פמה", "מה"), "פקודת מס הכנסה"),
    "חדלפ": "חוק חדלות פירעון ושיקום כלכלי",
    "פלתד": "חוק הפיצויים לנפגעי תאונות דרכים",
    "מעמ": "חוק מס ערך מוסף",
    **dict.fromkeys(("ביהמש", "בתיהמש"), "חוק בתי המשפט"),
    **dict.fromkeys(("בל", "בטל"), "חוק הביטוח הלאומי"),
    "חוהב": "חוק חוזה הביטוח",
    "ענש": "חוק עבודת נשים",
    "תובנצ": "חוק תובענות ייצוגיות",
    "ניע": "חוק ניירות ערך",
    "לשהר": "חוק איסור לשון הרע",
    "שבכ": "חוק שירות הביטחון הכללי",
    "רמי": "חוק רשות מקרקעי ישראל",
    "הגא": "חוק ההתגוננות האזרחית",
    "צבח": "חוק צער בעלי חיים (הגנה על בעלי חיים)",
    **dict.fromkeys(("ותמל", "וותמל"), "חוק לקידום הבנייה במתחמים מועדפים לדיור (הוראת שעה)"),
    "פקנז": "פקודת הנזיקין",
    "תקסדא": "תקנות סדר הדין האזרחי",
    **dict.fromkeys(("חוע", "חוהע"), "חוק העונשין"),
}
# Those that mean something else alone: a tax, an office, a kind of case.
SHORT_AFTER = {
    "סדא": "תקנות סדר הדין האזרחי",
    "מסש": "חוק מיסוי מקרקעין (שבח ורכישה)",
    "בטלא": "חוק הביטוח הלאומי",
    "פשר": "פקודת פשיטת הרגל",
    **dict.fromkeys(("לשכת עוהד", "עוהד"), "חוק לשכת עורכי הדין"),
}
SHORT_BASIC = {
    "כבוהא": "חוק-יסוד: כבוד האדם וחירותו",
    "חוהע": "חוק-יסוד: חופש העיסוק",
}
# Laws whose name has a bracket that people leave out: any other law is not met without its bracket,
# since "the Sale Law" and "the Sale Law (Apartments)" are two.
WITHOUT_BRACKET = {
    "חוק מיסוי מקרקעין": "חוק מיסוי מקרקעין (שבח ורכישה)",
    "חוק מס שבח": "חוק מיסוי מקרקעין (שבח ורכישה)",
    "חוק מס שבח מקרקעין": "חוק מיסוי מקרקעין (שבח ורכישה)",
    "פקודת סדר הדין הפלילי": "פקודת סדר הדין הפלילי (מעצר וחיפוש)",
    "פקודת המסים": "פקודת המסים (גביה)",
    "פקודת המסים גביה": "פקודת המסים (גביה)",
    "פקודת הגביה": "פקודת המסים (גביה)",
    "חוק התקשורת": "חוק התקשורת (בזק ושידורים)",
    "חוק הבזק": "חוק התקשורת (בזק ושידורים)",
    "חוק המעצרים": "חוק סדר הדין הפלילי (סמכויות אכיפה - מעצרים)",
    "חוק הנוער": "חוק הנוער (שפיטה, ענישה ודרכי טיפול)",
    "חוק צער בעלי חיים": "חוק צער בעלי חיים (הגנה על בעלי חיים)",
    "חוק עשיית עושר": "חוק עשיית עושר ולא במשפט",
    "חוק הכשרות": "חוק הכשרות המשפטית והאפוטרופסות",
    "חוק קופות גמל": "חוק הפיקוח על שירותים פיננסיים (קופות גמל)",
    "חוק קופות הגמל": "חוק הפיקוח על שירותים פיננסיים (קופות גמל)",
    "חוק המכר דירות הבטחת השקעות": ("חוק המכר (דירות) (הבטחת השקעות של רוכשי דירות)"),
    "חוק הבטחת השקעות של רוכשי דירות": ("חוק המכר (דירות) (הבטחת השקעות של רוכשי דירות)"),
}
# Names that grammar alone would cut short.
NAMES = (
    *(*SHORT_LAWS.values(), *SHORT_AFTER.values(), *SHORT_BASIC.values()),
    *WITHOUT_BRACKET.values(),
    *("חוק מס ערך מוסף", "חוק מיסוי מקרקעין", "חוק יסודות התקציב", "חוק רשויות מקומיות"),
    *("פקודת מס הכנסה", "חוק בתי משפט לעניינים מינהליים", "חוק תובענות ייצוגיות"),
    *("חוק חופש המידע", "פקודת העיריות", "חוק חדלות פירעון ושיקום כלכלי", "חוק שמאי מקרקעין"),
    *("חוק בתי דין לעבודה", "חוק שעות עבודה ומנוחה", "חוק פיצויי פיטורים", "חוק חופשה שנתית"),
    *("חוק שכר מינימום", "חוק דמי מחלה", "חוק איסור הלבנת הון", "חוק ניירות ערך"),
    *("חוק כלי הירייה", "חוק עוולות מסחריות", "חוק זכות יוצרים", "חוק סימני מסחר"),
    *("חוק חובת המכרזים", "חוק חובת מכרזים", "חוק מימון מפלגות", "חוק קופות גמל"),
    *("חוק רישוי עסקים", "חוק רישוי בעלי מלאכה", "חוק שירות המדינה", "חוק בתי המשפט"),
    *("חוק לשון הרע", "חוק איסור לשון הרע", "חוק הגנת הצרכן", "חוק הגנת הפרטיות"),
    *("חוק עשיית עושר ולא במשפט", "חוק עיקור מקרקעין", "פקודת בריאות העם", "חוק מס שבח"),
    *("חוק מס רכישה", "חוק מס שבח מקרקעין", "חוק פסיקת ריבית", "חוק פסיקת ריבית והצמדה"),
    *("חוק לימוד חובה", "חוק חינוך מיוחד", "חוק חינוך ממלכתי", "חוק עבודת נשים"),
    *("חוק הסכמים קיבוציים", "חוק יישוב סכסוכי עבודה", "חוק זכויות נפגעי עבירה"),
    *("חוק זכויות החולה", "חוק סדר הדין הפלילי", "חוק סדר הדין האזרחי", "חוק ביטוח בריאות ממלכתי"),
)
# the sign before the last letter, as it is and as people type it
_MARK = r"(?:\"|''?)"
# without its sign it is a year only beside the other one: "תשלום" is a word
_LETTER_YEAR = rf"ה?(?:תש[א-ת]{{0,2}}{_MARK}[א-ת]|תש[א-ת]{{1,3}}(?=\s*-\s*(?:19|20)\d\d))"
YEAR = (
    rf"(?:\s*,?\s*(?P<letters>{_LETTER_YEAR})(?:\s*-\s*(?P<year>(?:19|20)\d\d))?"
    r"|\s*,\s*(?P<alone>(?:18|19|20)\d\d))(?![א-ת\d])"
)
BRACKETS = re.compile(
    r"\s*(?:\((?!להלן|ראו|ראה|ר'|כפי|ב(?:סעי|חוק|פרק|תוספת|צו|תקנ)|\d+\)|[א-ת]\))[^()]{2,130}\)"
    r"|\[[^\][]{2,40}\])"
)
_IN_BRACKETS = re.compile(r"\(([^()]*)\)")


def _any_of(names: Iterable[str]) -> str:
    ordered = sorted(names, key=len, reverse=True)
    return "|".join(rf"{name[:-1]}{_MARK}{name[-1]}" for name in ordered)


_SHORT = _any_of(SHORT_LAWS)
_FORMS = (
    (re.compile(rf"(?:(?:חוק|פקודת|תקנות)\s+)?ה?({_SHORT})(?![א-ת\"])"), SHORT_LAWS),
    (re.compile(rf"(?:חוק|פקודת|תקנות)\s+ה?({_any_of(SHORT_AFTER)})(?![א-ת\"])"), SHORT_AFTER),
    (re.compile(rf"ה?חוק[-\s]\s*יסוד\s*:?\s*ה?({_any_of(SHORT_BASIC)})(?![א-ת\"])"), SHORT_BASIC),
)
SHORT_ALONE = rf"(?:{_SHORT})(?![א-ת\"])"
QUOTES = PLAIN_QUOTES | str.maketrans(dict.fromkeys("־‐‑‒–—―−", "-"))


class LawKey(NamedTuple):
    """A law's name for comparison: the words outside brackets, those inside, and the year."""

    base: str
    inside: str
    year: int


def full_name(text: str) -> tuple[str, int]:
    """The law that a short form at the start of a text means, and how long that form is."""
    for form, laws in _FORMS:
        if match := form.match(text):
            return laws[re.sub("[\"']", "", match[1])], match.end()
    return "", 0


@lru_cache(maxsize=4096)
def key_of(name: str, year: str = "") -> LawKey:
    """Without vowel marks and the edition in square brackets, with either spelling of
    vowels and without articles; a law that people call by less than its name has its whole name."""
    plain = without_points(name.translate(QUOTES))
    plain = re.sub(r"\[[^\]]*\]|\(נוסח (?:חדש|משולב)\)", " ", plain)
    dated = re.search(rf"{YEAR}\s*$", plain)
    stated = year_of(year) or (year_of(dated[0]) if dated else 0)
    plain = plain[: dated.start()] if dated else plain
    base = _words(_IN_BRACKETS.sub(" ", plain))
    inside = _words(" ".join(_IN_BRACKETS.findall(plain)))
    if not inside and base in _WHOLE_NAMES:
        return key_of(_WHOLE_NAMES[base])._replace(year=stated)
    return LawKey(base, inside, stated)


def law_key(name: str) -> str:
    """The words of a law's name, those in brackets too."""
    key = key_of(name)
    return f"{key.base} {key.inside}".strip()


def same_law(cited: LawKey, known: LawKey) -> bool:
    """Whether a citation may mean a law: the same words and brackets, and no other year. A law that
    changed what stands in its brackets is told by its year and by what stayed in them."""
    if cited.base != known.base or not _same_year(cited.year, known.year):
        return False
    shared = set(cited.inside.split()) & set(known.inside.split())
    return cited.inside == known.inside or bool(shared and 0 < cited.year == known.year)


def _words(text: str) -> str:
    spaced = re.sub(r"[,:\"'()-]", " ", text).split()
    words = [word[1:] if word[0] == "ה" and len(word) > 3 else word for word in spaced]
    return " ".join(word[0] + re.sub("[יו](?!$)", "", word[1:]) for word in words)


_WHOLE_NAMES = {_words(short): whole for short, whole in WITHOUT_BRACKET.items()}


def year_of(text: str) -> int:
    """The year that a law's date says: תשכ"ה-1965, 1965 or תשכ"ה alone."""
    if digits := re.search(r"(?:18|19|20)\d\d", text):
        return int(digits[0])
    letters = re.search("תש[א-ת\"']*", text)
    return 1240 + number_of(re.sub("[\"']", "", letters[0])) if letters else 0


def _same_year(first: int, second: int) -> bool:
    """A year of the Jewish calendar begins in autumn, so one more or less is no other law."""
    return not first or not second or abs(first - second) <= 1


ORDINALS = tuple("ראשונה שנייה שלישית רביעית חמישית שישית שביעית שמינית תשיעית עשירית".split())
OTHER_ORDINALS = {"שניה": "שנייה", "ששית": "שישית"}
THIS = "חוק זה"  # the law that a text stands in; an ordinance and an order too
THE_LAW = "חוק"  # one that is pointed to and not named: of the law itself, and not of a schedule
ONLY = "only"  # the schedule of a law that is named without a number
REGULATION = "תקנה"
REGULATIONS = ("תקנות", "צו", "כללי", "הוראות")  # what has regulations for sections
UNITS = {
    **dict.fromkeys(("סעיף", "סעיף קטן", "סעיפים", "סעיפי", "ס'", "סס'", "סע'"), "סעיף"),
    **dict.fromkeys(('ס"ק', 'ס"ס', "סעיפים קטנים"), "סעיף"),
    **dict.fromkeys(("תקנה", "תקנות"), "תקנה"),
    "פרט": "פרט",
}
COURTS = (
    'ע"א רע"א בג"ץ ע"פ רע"פ דנ"א עע"מ בר"ם עת"מ ת"א ת"פ ה"פ עמ"נ ו"ע בש"א עמ"ה ע"ע דנג"ץ ערר ער"ר '
    'ת"ק בב"נ'
).split()

_SUB = r"\([א-ת\d]{1,4}\)"
_BRACKETS = rf"(?:{_SUB}|\s\([א-ת\d]{{1,2}}\)){{0,5}}"
# a letter of the number, and not the "and" or "or" before the next one, which may touch it
_LETTERS = r"(?:(?:(?!ו-\s?\d|או\s\d)[א-ת]){1,3}\d{0,2})?"
_NUMBER = rf"\d{{1,4}}{_LETTERS}{_BRACKETS}(?=ו-|או\s|[^א-ת\d]|$)"
_SEPARATOR = r"(?:\s?,\s?(?:ו-?\s?)?|\s+ו-?\s?|ו-\s?|\s*או\s+|\s+עד\s+|\s?-\s?)"
_SMALL = r"(?:סעיפים\s+קטנים|סעיף\s+קטן|סעיפי\s+משנה|ס\"ק|ס\"קים|פסקאות|פסקה|פיסקה|פס')"
_SUBS = rf"{_SUB}(?:\s?{_SUB})*(?:{_SEPARATOR}{_SUB}(?:\s?{_SUB})*)*"
# 62א(א)(1) ו-(2); 197, סעיף קטן (א)
_ITEM = rf"{_NUMBER}(?:(?<=\))(?:{_SEPARATOR}{_SUB}(?:{_SUB})*)+|,?\s{_SMALL}\s*{_SUBS})?"
PIECES = {"LIST": rf"{_ITEM}(?:{_SEPARATOR}{_ITEM})*"}
_ORDINAL = "|".join((*ORDINALS, *OTHER_ORDINALS))
_ORDERED = rf"(?:ה?(?:{_ORDINAL})(?:\s[א-ד]'?(?![א-ת]))?|[א-י]['׳]|ה-?\d{{1,2}}(?!\d))"
_SCHEDULE = (
    r"(?:\s+(?P<edge>רישא|רישה|סיפא|סיפה)(?![א-ת]))?"
    rf"(?:\s+(?:ל|ש?ב|של\s+)?ה?(?:תוספת|תוס')\s+(?P<schedule>{_ORDERED})(?![א-ת])"
    r"|\s+(?:ל|ש?ב|של\s+ה)(?P<only>תוספת)(?![א-ת]|\s+זו|\s+זאת))?"
)
_LAW_WORD = r"(?:ה?חוק-יסוד:?|ה?חוק\s+יסוד:?|ה?חוק|ה?פקודה|פקודת|ה?תקנות|ה?צו|כללי)(?![א-ת])"
# looked at and not taken: where the name ends is settled later, and the words after it may hold the
# next citation
_LAW = (
    rf"(?:(?=,?\s+(?:של\s+|ש?[לב])(?P<law>(?:{_LAW_WORD}|אותו\s+ה?חוק|אותה\s+פקודה|ה?{SHORT_ALONE})"
    r"[^\n.;?!]{0,170}))|)"
)
_RULES = [
    re.compile(rf"(?<![א-ת])[{PREFIX_LETTERS}]{{0,3}}{core}{_SCHEDULE}{_LAW}")
    for _, core in spelled("he", PIECES)
]
_COURT = "|".join(re.escape(name) for name in sorted(COURTS, key=len, reverse=True))
_CASE = re.compile(
    rf"(?<![א-ת\"'])[{PREFIX_LETTERS}]{{0,2}}?(?P<court>{_COURT})\s*(?:\([^()]{{1,25}}\)\s*)?"
    r"(?P<number>\d{1,6}(?:[/-]\d{2,4}){1,2})(?!\d)"
)
_EACH = re.compile(_ITEM)
# what has sections and is no law: a contract, what is filed in court, a judgment, a plan
_NO_LAW = re.compile(
    r"\s+(?:של\s+ה?|ש?[לב])(?:הסכמ?ים|הסכם|חוזה|חוזים|כתבי?-?\s*(?:ה?תביעה|ה?הגנה|ה?אישום|ה?ערעור"
    r"|ה?תשובה|ה?שיפוי|ה?כמויות|ה?רישיון|ה?ויתור)|תצהיר|פרוטוקול|תקנון|פסק-?\s*(?:ה?דין|דינ)|מכתב"
    r"|חוות\s+ה?דעת|סיכומי|עיקרי\s+ה?טיעון|צוואה|צוואת|נוהל|שטר|אמנה|אמנת"
    r"|נוסח|תיקון|החלטה|החלטת|סעיף)[א-ת]*"
    r"(?![א-ת]|\s+(?:זה|זו)(?![א-ת]))"  # "this protocol" is where it stands
    r"|\s+(?:לסעיף\s+זה|ש[בל][והם]|לחלק\s+[א-ת]')(?![א-ת])"
)
_EACH_SUB = re.compile(rf"(?P<join>{_SEPARATOR}|)(?P<sub>{_SUB}(?:\s?{_SUB})*)")
_THROUGH = re.compile(r"^(?:\s?-\s?|\s+עד\s+)$")
_LEAD = re.compile(
    rf"(?<![א-ת])[{PREFIX_LETTERS}]{{0,2}}{_SMALL}\s*(?P<subs>{_SUBS})\s+(?:של\s+)?$"
)
_SCHEDULE_FIRST = re.compile(
    rf"ה?(?:תוספת|תוס')\s+(?P<schedule>{_ORDERED})(?![א-ת])"
    rf"(?:\s+ל(?P<law>{_LAW_WORD}[^\n;?!]{{0,150}}?))?"
    r"\s*[,:-]?\s*$"
)
_FIRST_WORD = re.compile(rf"(?<![א-ת])[{PREFIX_LETTERS}]{{0,2}}?(?P<law>{_LAW_WORD}|{SHORT_ALONE})")
_SENTENCE = re.compile(r"[^\n;?!]{0,200}")  # as far as a name of a law may reach (taste)
_LONGEST_DEFINED = 45  # characters of a name that a text defines (taste)
_DEFINES = re.compile(rf"\s*\(\s*להלן\s*[:,-]?\s*(?P<name>[^()]{{2,{_LONGEST_DEFINED}}}?)\s*\)")
_CONTINUES = re.compile(r"^(?:[הו][א-ת\"']+,?)$")
# words that no name of a law goes on with
_NO_NAME = re.compile(
    r"^(?:של|על|אשר|לא|או|כי|גם|אם|אינו|הוא|היא|הם|זה|זו|יש|אין|וכן|כאמור|כפי|לפי|ביום|בדבר|לעני?ין"
    r"|(?:עוסק|דן|דנ|שומר|מאפשר|מגדיר|חל|מטיל|פוטר|מתיר|אוסר|מחייב|מסמיך|מפרט|מונה|מסדיר|מעניק|מוסיף"
    r"|מתייחס|מבהיר|מגביל|מתנה|מציין|דורש|נוגע|כולל|מבטל|מחריג|שולל|מבחין|ניתן|רשאי|חייב|זכאי)(?:ת|ים|ות)?"
    r"|יחול\w*|החל(?:ים|ות|ה)?|הסתיימ\w*|שהוענק\w*|יהיה|יהיו|יראו|ייחשב\w*|קובע\w*|מורה|נקבע|שהוחל\w*|שנחקק\w*|שעניינ\w*|בידי|בשל)$"
)
# words of a sentence in which a law and a later date stand, and of no name before its year
_NO_DATED_NAME = re.compile(r"^(?:חלה?|לפני|לפי|ביום|לגבי\w?|שנית\w+)$")
_CONSTRUCT = re.compile(r"(?:י|ת|ות)$")
# "the law", "the said law"; "law" alone where no name follows
_POINTER = re.compile(
    r"(?:החוק|ה?פקודה|התקנות|הצו|(?:חוק|תקנות|צו)(?=\s*(?:$|[.,;:)(·]|-\s)|\s+ה?(?:נ\"ל|אמור\w?)(?![א-ת])"
    rf"|\s+זה(?![א-ת])|\s+(?:{_NO_NAME.pattern[1:-1]})(?![א-ת])))"
    r"(?:\s+(?:ה?נ\"ל|ה?אמור\w?|ה?זה|זה|זו|אלה|העיקרי\w?)(?![א-ת]))?|אותו\s+ה?חוק|אותה\s+פקודה"
)
_REACH = 190  # characters before a section that may name its schedule (taste)


class NamedLaw(NamedTuple):
    """A law's name in a text: how it is called, its year as written, how long it is there, and
    where it begins if it stands before the section."""

    law: str = ""
    year: str = ""
    length: int = 0
    start: int = -1


def parse(text: str, scheme: Scheme) -> Iterator[Citation]:
    plain = text.translate(QUOTES)
    found = first_matches(
        plain, ((rule is _CASE, rule.finditer(plain)) for rule in (*_RULES, _CASE))
    )
    matches = [match for is_case, match in found if not is_case]
    defined = _definitions(plain, scheme) if "להלן" in plain else {}
    last = NamedLaw()
    for match in sorted(matches, key=lambda match: (match.start(), -match.end())):
        named = _find_law(match, scheme, defined, last)
        last = named if named.law not in ("", THIS, THE_LAW) else last
        yield from _statutes(text, match, named, scheme)
    for match in (match for is_case, match in found if is_case):
        start = match.start("court")
        parts = {"court": match["court"], "number": match["number"]}
        yield _citation(text, "case", parts, start, match.end())


def format(kind: Kind, parts: dict[str, str]) -> str:
    if kind == "case":
        return f"{parts['court']} {parts['number']}"
    to = f"-{parts['to']}" if parts.get("to") else ""
    if to.startswith(f"-{parts['section']}("):
        to = f"-{range_end(parts.get('sub', ''), to[len(parts['section']) + 1 :])}"
    law = f" ל{parts['law']}" if parts.get("law") else ""
    year = f", {parts['year']}" if parts.get("year") else ""
    place = f"{parts.get('unit', 'סעיף')} {parts['section']}{parts.get('sub', '')}{to}"
    return f"{place}{schedule_name(parts.get('schedule', ''))}{law}{year}"


_citation = partial(citation_at, "he", format)


def law_name(name: str) -> str:
    """As it is written: `key_of` compares names."""
    return name


def is_called(law: str, name: str) -> bool:
    """Whether a law is called so: the sale law is not the one on the sale of apartments."""
    return same_law(key_of(name), key_of(law))


def without_year(name: str) -> str:
    """A law's name as people say it: חוק התכנון והבנייה, without התשכ"ה-1965."""
    return re.sub(r",?\s*ה?תש[א-ת\"״]+[-–]\d{4}.*$", "", name)


def schedule_number(name: str) -> str:
    """The number of a schedule, from the ordinal in its name: התוספת השלישית is 3; with a letter,
    3א."""
    for number, word in enumerate(ORDINALS, start=1):
        forms = [word, *(old for old, new in OTHER_ORDINALS.items() if new == word)]
        found = re.search(rf"(?<![א-ת])ה?(?:{'|'.join(forms)})(?:\s([א-ד])'?)?(?![א-ת])", name)
        if found:
            return f"{number}{found[1] or ''}"
    if counted := re.fullmatch(r"ה-?(\d{1,2})", name):  # התוספת ה-3
        return counted[1]
    lettered = re.fullmatch(r"([א-י])['׳]", name)  # תוספת ב'
    return lettered[1] if lettered else ""


def schedule_name(number: str) -> str:
    """' לתוספת השלישית', from 3; as it is after a section."""
    if not number:
        return ""
    ordered = re.fullmatch(r"(\d+)([א-ד]?)", number)
    if ordered and 0 < int(ordered[1]) <= len(ORDINALS):
        letter = f" {ordered[2]}'" if ordered[2] else ""
        return f" לתוספת ה{ORDINALS[int(ordered[1]) - 1]}{letter}"
    if re.fullmatch("[א-י]", number):
        return f" לתוספת {number}'"
    return " לתוספת" if number == ONLY else f" לתוספת ({number})"


def place_name(section: str, moment: str, *, schedule: str = "", chapter: str = "") -> str:
    """A place as it is printed: 'סעיף 4(5) לתוספת השלישית'. Where a schedule or a chapter has no
    numbered sections: 'התוספת השלישית (5)'."""
    sub = f"({moment})" if moment else ""
    if section:
        of_chapter = f" לפרק {chapter}" if chapter else ""
        return f"סעיף {section}{sub}{of_chapter}{schedule_name(schedule)}"
    above = schedule_name(schedule).replace(" ל", "ה", 1) or (f"פרק {chapter}" if chapter else "")
    return f"{above} {sub}".strip()


# ── sections ──────────────────────────────────────────────────────────────────────────────────────


def _statutes(
    text: str, match: re.Match[str], named: NamedLaw, scheme: Scheme
) -> Iterator[Citation]:
    plain = match.string
    shared = {"unit": UNITS[match["unit"]]} if UNITS[match["unit"]] != "סעיף" else {}
    in_letters, by_letter = (name in match.re.groupindex for name in ("letters", "letter"))
    listed = "letters" if in_letters else "letter" if by_letter else "list"
    end = max(match.end(listed), match.end("edge"))
    if not named.law and _NO_LAW.match(plain, end):
        return
    first = _SCHEDULE_FIRST.search(plain, max(0, match.start() - _REACH), match.start())
    if match["schedule"] or match["only"]:
        shared["schedule"] = schedule_number(match["schedule"] or "") or ONLY
        end = match.end("schedule" if match["schedule"] else "only")
    elif first and (not first["law"] or named.start >= 0):
        shared["schedule"] = schedule_number(first["schedule"])
        named = named._replace(start=first.start())
    if named.law:
        shared["law"] = named.law
        if named.year:
            shared["year"] = named.year
    if named.length and match["law"]:
        end = match.start("law") + named.length
    if in_letters or by_letter:
        number = match["letter"] if by_letter else str(number_of(match["letters"]))
        yield _citation(text, "statute", shared | {"section": number}, match.start("unit"), end)
        return
    sections = _with_lead(match, _sections(match))
    front = match.start("unit") if named.start < 0 else named.start
    for index, (parts, start, stop) in enumerate(sections):
        begin = min(front, start) if index == 0 else start
        last = end if index == len(sections) - 1 else stop
        yield _citation(text, "statute", shared | parts, begin, last)


def _sections(match: re.Match[str]) -> list[Spanned]:
    text = match.string
    sections: list[Spanned] = []
    items = list(_EACH.finditer(text, *match.span("list")))
    for before, item in zip([None, *items], items, strict=False):
        each = _one_section(text, item)
        if before and _THROUGH.match(text[before.end() : item.start()]):
            parts, start, _ = sections.pop()
            first, _, end = each[0]
            each[0] = (parts | {"to": first["section"] + first.get("sub", "")}, start, end)
        sections += each
    return sections


def _one_section(text: str, item: re.Match[str]) -> list[Spanned]:
    """A section with its brackets, one by one: 197(א) ו-(ב)."""
    number = re.match(rf"\d{{1,4}}{_LETTERS}", item[0])
    section = number[0] if number else item[0]
    at = item.start() + len(section)
    subs = _subdivisions(text[at : item.end()])
    if not subs:
        return [({"section": section}, *item.span())]
    return [
        (
            {"section": section, "sub": first} | ({"to": section + last} if last else {}),
            item.start() if index == 0 else at + start,
            at + end,
        )
        for index, (first, last, start, end) in enumerate(subs)
    ]


def _subdivisions(text: str) -> list[Subdivision]:
    """The subdivisions of a list of brackets: (א)(1) ו-(2)."""
    return subdivisions(
        ("".join(each["sub"].split()), _join_of(each["join"]), each.start("sub"), each.end())
        for each in _EACH_SUB.finditer(text)
    )


def _join_of(text: str) -> Join:
    if _THROUGH.match(text):
        return "to"
    return "and" if text.strip() else "within"


def _with_lead(match: re.Match[str], sections: list[Spanned]) -> list[Spanned]:
    """Sections with the subdivisions that stand before them: "סעיף קטן (ב) לסעיף 197"."""
    lead = _LEAD.search(match.string, max(0, match.start() - 60), match.start())
    if not lead or not sections or sections[0][0].get("sub"):
        return sections
    parts, _, end = sections[0]
    subs = _subdivisions(lead["subs"])
    at = lead.start("subs")
    placed_first = [
        (
            parts | {"sub": first} | ({"to": parts["section"] + last} if last else {}),
            lead.start() if index == 0 else at + start,
            end if index == len(subs) - 1 else at + stop,
        )
        for index, (first, last, start, stop) in enumerate(subs)
    ]
    return placed_first + sections[1:]


# ── the law ───────────────────────────────────────────────────────────────────────────────────────


def _find_law(
    match: re.Match[str], scheme: Scheme, defined: dict[str, NamedLaw], last: NamedLaw
) -> NamedLaw:
    """The law after a section, or else before it."""
    plain = match.string
    if not match["law"]:
        return _law_before(plain, match.start(), scheme)
    text = match["law"]
    for length in range(1, _LONGEST_DEFINED + 1) if defined else ():
        law = defined.get(text[:length])
        if law and not re.match("[א-ת]", text[length:]):
            return law._replace(length=length, start=-1)
    if points := _POINTER.match(text):
        if re.search(r"\sזה$|\sזו$|\sאלה$", points[0]):
            return NamedLaw(THIS, "", points.end())
        word = points[0].split()[0]
        law = defined.get(word) or _mentioned(plain, match.start(), scheme) or last
        if not law.law and word.endswith("פקודה"):
            return NamedLaw("פקודה", "", points.end())  # which one, nobody can say
        return law._replace(length=points.end()) if law.law else NamedLaw(THE_LAW, "", points.end())
    return _read_law_name(text, scheme)


def _law_before(plain: str, at: int, scheme: Scheme) -> NamedLaw:
    """The law that a section follows: "חוק התכנון והבניה, סעיף 145"."""
    window = plain[max(0, at - _REACH) : at]
    for word in reversed(list(_FIRST_WORD.finditer(window))):
        text = window[word.start("law") :]
        named = _read_law_name(text, scheme)
        rest = text[named.length :]
        if named.law and re.fullmatch(r"\s*[,:-]?\s*(?:\(להלן[^()]*\))?\s*[,:-]?\s*", rest):
            return named._replace(length=0, start=at - len(text))
        return NamedLaw()
    return NamedLaw()


def _mentioned(plain: str, at: int, scheme: Scheme) -> NamedLaw | None:
    """The law named last before a place."""
    window = plain[max(0, at - 400) : at]
    for word in reversed(list(_FIRST_WORD.finditer(window))):
        text = window[word.start("law") :]
        if not _POINTER.match(text) and (named := _read_law_name(text, scheme)).law:
            return named
    return None


def laws_named(text: str, scheme: Scheme) -> Iterator[tuple[str, int, int]]:
    """Laws that a text names, and where they stand. An order (צו) may be one of a court: it is no
    name."""
    plain = text.translate(QUOTES)
    for _, match in first_matches(plain, [(None, _FIRST_WORD.finditer(plain))]):
        if "צו" not in match["law"] and not _POINTER.match(plain, match.start("law")):
            sentence = _SENTENCE.match(plain, match.start("law"))
            named = _read_law_name(sentence[0] if sentence else "", scheme)
            if named.law:
                yield named.law, match.start(), match.start("law") + named.length


def _definitions(plain: str, scheme: Scheme) -> dict[str, NamedLaw]:
    """The short names that a text defines for laws: 'להלן: "החוק"' after the name of one."""
    defined = {}
    for match in _DEFINES.finditer(plain):
        law = _law_before(plain, match.start(), scheme)
        law = law._replace(start=-1)
        if law.law:
            defined[match["name"].strip("\"' ").removeprefix("ה")] = law
            defined[match["name"].strip("\"' ")] = law
    return defined


def _read_law_name(text: str, scheme: Scheme) -> NamedLaw:
    """Read the name of a law at the start of a text, with its brackets and its year."""
    short, length = full_name(text)
    if not short:
        length = (
            _dated_name_length(text)
            or _known_name_length(text, scheme)
            or _grammatical_name_length(text)
        )
    if not length:
        return NamedLaw()
    while bracket := BRACKETS.match(text, length):
        length = bracket.end()
    name = re.sub(r"\s*\[[^\]]*\]", "", text[:length]).strip(" ,\"'")
    dated = re.match(YEAR, text[length:])
    year = re.sub(r"\s*-\s*", "-", dated[0].strip(" ,")).removeprefix("ה") if dated else ""
    year = re.sub("''?", '"', year)
    return NamedLaw(short or name, year, length + (dated.end() if dated else 0))


def _dated_name_length(text: str) -> int:
    """The length of a name that a year ends, if no other law begins before the year."""
    year = re.search(YEAR, text)
    if not year:
        return 0
    name = text[: year.start()]
    others = [word for word in _FIRST_WORD.finditer(name) if word.start() > 0]
    outside = name.partition("(")[0].split()  # the words of a bracket are anything
    is_name = (
        not others
        and "סעי" not in name
        and len(name.split()) <= 24
        and not any(map(_NO_DATED_NAME.match, outside))
    )
    return len(name.rstrip(" ,")) if is_name and "(להלן" not in name else 0


def _known_name_length(text: str, scheme: Scheme) -> int:
    """The length of the longest known name at the start of `text`, in either spelling; 0 when none
    is there."""
    lengths = [0]
    for words, keys in _names_by_length(scheme.laws).items():
        if pieces := re.match(rf"(?:\S+\s+){{{words - 1}}}\S+", text):
            start = _without_end(pieces[0])
            lengths += [len(start)] if key_of(start)._replace(year=0) in keys else []
    return max(lengths)


@lru_cache(maxsize=8)
def _names_by_length(laws: tuple[str, ...]) -> dict[int, set[LawKey]]:
    """The names of these laws and of those that are always known, by how many words they have."""
    keys: dict[int, set[LawKey]] = {}
    for name in (*laws, *NAMES):
        words = re.sub(r"\[[^\]]*\]", "", name).split()
        keys.setdefault(len(words), set()).add(key_of(name)._replace(year=0))
    return keys


def _grammatical_name_length(text: str) -> int:
    """The length of a name by grammar: a construct noun continues to the next word, and so do words
    with the article or "and". After a word with the article, or a second "and", the next word has
    an article too, or else another part of the sentence begins."""
    words = list(re.finditer(r"[^\s(\[]+", text.partition("(")[0]))
    if len(words) < 2 or _POINTER.match(text):
        return 0
    kept = words[:2]
    if words[0][0].rstrip(":").endswith("יסוד") and not words[1][0].startswith("ה"):
        kept = words[:3]  # of the basic laws, only names with the article have one word
    for word in words[len(kept) :]:
        last = kept[-1][0]
        if last.endswith((",", ":")) or _NO_NAME.match(word[0]):
            break
        construct = len(kept) == 2 and not last.startswith(("ה", "ל"))
        goes_on = construct or (_CONSTRUCT.search(last) and not last.startswith("ה"))
        if not goes_on and not _CONTINUES.match(word[0]):
            break
        if last.startswith(("ה", "ו")) and re.match("ו(?!ה)", word[0]):
            break
        kept.append(word)
    return len(_without_end(text[: kept[-1].end()]))


def _without_end(name: str) -> str:
    """A name without the marks after it, and without a bracket that closes what stands around it:
    "(סעיף 6 לחוק חוזה הביטוח)"."""
    trimmed = name.rstrip(" ,\"':.;")
    if trimmed.endswith(")") and trimmed.count("(") < trimmed.count(")"):
        return trimmed[:-1].rstrip(" ,\"':.;")
    return trimmed

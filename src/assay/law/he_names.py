"""Names of Israeli laws: short names, full names that people shorten, years, and how two names are
compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from assay.language.hebrew import PLAIN_QUOTES, number_of, without_points

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
_LETTER_YEAR = rf"ה?(?:תש[א-ת]{{0,2}}{_MARK}[א-ת]|תש[א-ת]{{1,3}})"
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

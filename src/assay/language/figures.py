"""Read the figures of a text as values: sums of money, percentages, periods of time and dates, in
digits or in words of three languages, so that "viisi vuotta", "5 years" and "חמש שנים" are one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from typing import NamedTuple

from assay.language.hebrew import without_points


class Figure(NamedTuple):
    """A value with the kind of its unit: `days`, `months`, `money`, `percent` or `date`."""

    kind: str
    value: float | str
    start: int
    end: int


# ── numbers in words ──────────────────────────────────────────────────────────────────────────────


def _table(rows: str) -> dict[str, float]:
    """Number words by their value: each row has a value and its forms."""
    listed = (row.split() for row in rows.split(";"))
    return {form: float(value) for value, *forms in listed for form in forms}


_EN = _table(
    "1 one a an; 2 two; 3 three; 4 four; 5 five; 6 six; 7 seven; 8 eight; 9 nine; 10 ten; 11 eleven"
    "; 12 twelve; 13 thirteen; 14 fourteen; 15 fifteen; 16 sixteen; 17 seventeen; 18 eighteen"
    "; 19 nineteen; 20 twenty; 30 thirty; 40 forty; 50 fifty; 60 sixty; 70 seventy; 80 eighty"
    "; 90 ninety; 100 hundred"
)
_FI = _table(
    "1 yksi yhden yhtä yhdessä yhdestä yhdeksi; 2 kaksi kahden kahta kahdessa kahdesta kahteen"
    " kahdeksi kahdella; 3 kolme kolmen kolmea kolmessa kolmesta kolmeen kolmeksi kolmi; 4 neljä"
    " neljän neljää neljässä neljästä neljään neljäksi neli; 5 viisi viiden viittä viidessä"
    " viidestä viiteen viideksi; 6 kuusi kuuden kuutta kuudessa kuudesta kuuteen kuudeksi"
    "; 7 seitsemän seitsemää seitsemässä seitsemästä seitsemään seitsemäksi; 8 kahdeksan kahdeksaa"
    " kahdeksassa kahdeksasta kahdeksaan kahdeksaksi; 9 yhdeksän yhdeksää yhdeksässä yhdeksästä"
    " yhdeksään yhdeksäksi; 10 kymmenen kymmentä kymmenessä kymmeneen kymmeneksi; 11 yksitoista"
    " yhdentoista yhtätoista; 12 kaksitoista kahdentoista kahtatoista; 13 kolmetoista kolmentoista"
    "; 14 neljätoista neljäntoista; 15 viisitoista viidentoista; 18 kahdeksantoista"
    "; 20 kaksikymmentä kahdenkymmenen; 30 kolmekymmentä kolmenkymmenen; 40 neljäkymmentä"
    " neljänkymmenen; 50 viisikymmentä viidenkymmenen; 60 kuusikymmentä kuudenkymmenen"
    "; 90 yhdeksänkymmentä yhdeksänkymmenen; 100 sata sadan sataa"
)
_HE = _table(
    "1 אחד אחת; 2 שניים שתיים שני שתי שנים שתים; 3 שלוש שלושה שלושת שלשה שלש; 4 ארבע ארבעה ארבעת"
    "; 5 חמש חמישה חמשה חמשת; 6 שש שישה ששה ששת; 7 שבע שבעה שבעת; 8 שמונה שמונת; 9 תשע תשעה תשעת"
    "; 10 עשר עשרה עשרת; 20 עשרים; 30 שלושים שלשים; 40 ארבעים; 50 חמישים חמשים; 60 שישים ששים"
    "; 70 שבעים; 80 שמונים; 90 תשעים; 100 מאה; 200 מאתיים מאתים; 1000 אלף; 2000 אלפיים"
)
_UNITS = {
    "days": r"days?|päiv(?:ä|ää|än|ässä|äksi|ien|iä)|vuorokau\w+|arkipäiv\w+|יום|ימים|יומיים",
    "weeks": r"weeks?|viik(?:ko|koa|on|ossa|oksi|kojen)|שבוע(?:ות|יים)?",
    "months": r"months?|kuukau(?:si|tta|den|teen|dessa|deksi|sien)|חודש(?:ים|יים)?|חדש(?:ים|יים)?",
    "years": r"years?|vuo(?:si|tta|den|teen|dessa|deksi|sien)|vuotis\w*|vuotiaa?\w*"
    r"|tilikau(?:si|tta|den|deksi|teen)"
    r"|שנה|שנים|שנתיים|שנות|שנת",
    "percent": r"%|percent|per\scent|prosent(?:ti|tia|in|issa|iksi|illa|eissa)|אחוז(?:ים|י)?",
    "agorot": r"אגורות|אג'|cents?(?!\w)|senttiä",
    "money": r"euro(?:a|n|s|ina|ksi)?(?!\w)|€|dollars?|pounds?|USD|EUR|NIS|₪"
    r"|שקל(?:ים)?(?:\sחדשים)?|ש\"ח|ש״ח",
}
# Hebrew duals, each of two
_DUALS = {"יומיים": 2, "שבועיים": 2, "חודשיים": 2, "חדשיים": 2, "שנתיים": 2}
# the smallest unit of each kind, and how many of it a unit has
_FACTOR = {
    "days": ("days", 1),
    "weeks": ("days", 7),
    "months": ("months", 1),
    "years": ("months", 12),
}
_UNIT = "|".join(f"(?P<{name}>{pattern})" for name, pattern in _UNITS.items())
_DIGITS = r"\d{1,3}(?:[  \u00a0\u202f.,']\d{3})+(?:[.,]\d{1,2})?|\d{1,9}(?:[.,]\d{1,4})?"
_WORD = r"[^\W\d_]+"
_GAP = r"[\s\u00a0\u202f]{0,2}[-־–]?[\s]?"
_MAGNITUDE = (
    r"(?:\s?(?P<times>million|milj(?:oonaa|oonan|\.)|thousand|tuhatta|מיליון|מיליוני|אלף))?"
)
_NUMBERED = re.compile(
    rf"(?P<sign>[$€£₪])?\s?(?<![\w/:])(?P<digits>{_DIGITS})(?![\d/:]){_MAGNITUDE}{_GAP}"
    rf"(?:(?:{_UNIT})(?![^\W\d_]))?",
    re.IGNORECASE,
)
_SPELLED = re.compile(
    rf"(?<!\w)(?P<words>(?:{_WORD}[\s-]){{0,2}}?{_WORD})[\s\u00a0־-]ה?(?:(?:{_UNIT})(?![^\W\d_]))",
    re.IGNORECASE,
)
_ANY_UNIT = re.compile(rf"(?<![^\W\d_])[והבלמשכ]{{0,2}}(?:{_UNIT})(?![^\W\d_])", re.IGNORECASE)
# what words for large numbers multiply by
_TIMES = {
    "million": 1e6,
    "milj": 1e6,
    "thousand": 1e3,
    "tuhatta": 1e3,
    "מיליון": 1e6,
    "מיליוני": 1e6,
    "אלף": 1e3,
}
_BLANKS = re.compile(r"[  \u00a0\u202f']")
_OF_THOUSANDS = re.compile(r"[.,](?=\d{3}(?:\D|$))")
_MONTH_NAMES = (
    *(
        "january february march april may june july august september october november december "
        "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu "
        "marraskuu joulukuu ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר"
    ).split(),
)
_MONTH_OF = {name: index % 12 + 1 for index, name in enumerate(_MONTH_NAMES)}
_MONTHS = "|".join(_MONTH_NAMES)
_DATE = re.compile(
    rf"(?<!\w)(?:(?P<d1>\d{{1,2}})\.?\s(?:ב|of\s)?(?P<m1>{_MONTHS})(?:ta)?,?\s(?P<y1>(?:1[89]|20)\d\d)"
    rf"|(?P<m2>{_MONTHS})\s(?P<d2>\d{{1,2}}),?\s(?P<y2>(?:1[89]|20)\d\d)"
    r"|(?P<d3>\d{1,2})\.(?P<m3>\d{1,2})\.(?P<y3>(?:1[89]|20)\d\d))(?!\w)",
    re.IGNORECASE,
)


# into how many parts a fraction in words divides
_PARTS = {
    **dict.fromkeys(("half", "halves", "puolet", "puolta", "מחצית"), 2),
    **dict.fromkeys(("third", "thirds", "kolmas", "kolmannes", "kolmannek", "שליש", "שלישים"), 3),
    **dict.fromkeys(("quarter", "quarters", "fourth", "fourths", "neljäs", "רבע", "רבעים"), 4),
    **dict.fromkeys(("fifth", "fifths", "viides"), 5),
    **dict.fromkeys(("tenth", "tenths", "kymmenes"), 10),
}
_FRACTION = re.compile(
    r"(?<!\w)(?:(?P<en>one|two|three|four)[\s-](?P<en_of>half|halves|thirds?|quarters?|fourths?|fifths?"
    r"|tenths?)(?!\sparty|\w)"
    r"|(?:(?P<fi>yksi|yhden|yhtä|kaksi|kahden|kahta|kolme|kolmen|neljä|neljän)\s)?"
    r"(?:(?P<fi_of>kolmas|neljäs|viides|kymmenes)osa\w*|(?P<fi_part>kolmannek)s\w+|(?P<fi_half>puolet))(?!\w)"
    r"|(?:(?P<he>שני|שלושה)[\s־-])?[בלמהכו]?(?P<he_of>מחצית|שלישים|שליש|רבעים|רבע)(?!\w))",
    re.IGNORECASE,
)


def _fractions(text: str) -> Iterator[Figure]:
    """Shares of a whole, as percentages: "kaksi kolmasosaa", "one half", "שני שלישים"."""
    for match in _FRACTION.finditer(text):
        many = match["en"] or match["fi"] or match["he"]
        part = match["en_of"] or match["fi_of"] or match["fi_part"] or match["fi_half"]
        of = _PARTS[(part or match["he_of"]).lower()]
        yield Figure("percent", round(100 * (_value(many or "one") or 1) / of, 1), *match.span())


def figures_in(text: str) -> list[Figure]:
    """Every figure of a text, in order. A unit alone ("within a year") is no figure here."""
    return _figures(text, list(_NUMBERED.finditer(text)))


def _figures(text: str, numbered: list[re.Match[str]]) -> list[Figure]:
    taken = bytearray(len(text))
    found = [*_dates(text), *_fractions(text)]
    for one in found:
        taken[one.start : one.end] = b"\1" * (one.end - one.start)
    for one in (*_numbered(numbered), *_spelled(text)):
        if taken.find(1, one.start, one.end) < 0:
            found.append(one)
    return sorted(found, key=lambda one: one.start)


@lru_cache(maxsize=1_000)
def values_in(text: str) -> frozenset[tuple[str, float | str]]:
    """The figures of a source, each as kind and value; a unit without a number is one of it, and a
    number without a unit has the kind "number"."""
    plain = without_points(text)
    numbered = list(_NUMBERED.finditer(plain))
    values: set[tuple[str, float | str]] = {
        (one.kind, one.value) for one in _figures(plain, numbered)
    }
    values |= {("number", _number(each) or 0.0) for each in {one["digits"] for one in numbered}}
    for unit in _ANY_UNIT.finditer(plain):
        kind, factor = _FACTOR.get(unit.lastgroup or "", ("", 0))
        if kind:
            values.add((kind, float(factor * _DUALS.get(unit[unit.lastgroup or 0], 1))))
    values |= {("number", value) for value in _words(plain)}
    return frozenset(values)


def supports(values: Set[tuple[str, float | str]], figure: Figure) -> bool:
    """Whether a figure stands among the values of a source. A number of a kind that the source has
    none of may stand there without its unit: a table, a list."""
    if (figure.kind, figure.value) in values:
        return True
    if figure.kind == "date":
        return False
    if figure.kind in ("money", "percent"):
        return ("number", figure.value) in values
    kinds = {kind for kind, _ in values}
    return figure.kind not in kinds and ("number", _plain(figure)) in values


def _plain(figure: Figure) -> float:
    assert isinstance(figure.value, float)
    return figure.value / 12 if figure.kind == "months" and not figure.value % 12 else figure.value


def _numbered(matches: Iterable[re.Match[str]]) -> Iterator[Figure]:
    for match in matches:
        unit = match.lastgroup if match.lastgroup in _UNITS else ""
        unit = unit or ("money" if match["sign"] else "")
        value = _number(match["digits"]) if unit else None
        if value is None:
            continue
        if times := match["times"]:
            plain = times.lower().rstrip(".").removesuffix("oonaa").removesuffix("oonan")
            value *= _TIMES.get(plain, 1.0)
        start = match.start("sign") if match["sign"] else match.start("digits")
        yield _figure(unit, value, start, match.end())


def _spelled(text: str) -> Iterator[Figure]:
    at = 0
    while match := _SPELLED.search(text, at):
        at = match.end()
        unit = match.lastgroup or ""
        start, value = _last_number(match["words"])
        if value is not None and unit in _UNITS:
            yield _figure(unit, value, match.start("words") + start, match.end())


def _figure(unit: str, value: float, start: int, end: int) -> Figure:
    kind, factor = _FACTOR.get(unit, (unit, 1))
    return Figure(kind, float(value * factor), start, end)


def _dates(text: str) -> Iterator[Figure]:
    for match in _DATE.finditer(text):
        day = match["d1"] or match["d2"] or match["d3"]
        month = match["m1"] or match["m2"] or match["m3"]
        year = match["y1"] or match["y2"] or match["y3"]
        number = int(month) if month.isdecimal() else _MONTH_OF[month.lower()]
        if 1 <= number <= 12:
            yield Figure("date", f"{year}-{number:02}-{int(day):02}", *match.span())


def _number(digits: str) -> float | None:
    if digits.isdecimal():
        return float(digits)
    plain = _OF_THOUSANDS.sub("", _BLANKS.sub("", digits)).replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None


def _value(word: str) -> float | None:
    """The value of one number word; Hebrew letters before it ("לחמישה") are left out."""
    plain = word.lower()
    for table in (_EN, _FI, _HE):
        if plain in table:
            return table[plain]
    for cut in (1, 2):
        if plain[cut:] in _HE and all(letter in "ולמבהשכ" for letter in plain[:cut]):
            return _HE[plain[cut:]]
    return None


def _last_number(phrase: str) -> tuple[int, float | None]:
    """The number at the end of up to three words, and where it begins: "עשרים ושישה" is 26,
    "חמישה עשר" 15, "twenty-one" 21."""
    pieces = [(match.start(), match[0]) for match in re.finditer(_WORD, phrase)]
    value: float | None = None
    start = 0
    for begin, word in reversed(pieces):
        one = _value(word)
        if one is None or (value is not None and word.lower() in ("a", "an")):
            break
        if value is None:
            value, start = one, begin
        elif (one >= 20 and value < 10) or (one < 10 and value == 10 and word[0] > "z"):
            value, start = one + value, begin
        else:
            break
    return start, value


def _words(text: str) -> Iterator[float]:
    for match in re.finditer(_WORD, text):
        value = _value(match[0])
        if value is not None and match[0].lower() not in ("a", "an"):
            yield value
